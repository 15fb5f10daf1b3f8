/* SPDX-License-Identifier: MIT
 * Problems: the text form and its parser, the validity rules, and sizes in bytes and flops.
 * The parser fills a local problem and copies it to the caller only if the whole text is valid. */
#include <gemmsmith/problem.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "problem/layout.h"
#include "problem/sized.h"
#include "problem/words.h"

#define NO_BATCH "groups have no batch"
#define ONE_KIND "groups are of one kind: g, gm or gk"
#define ALONE    "groups along K have no epilogue, and D has no strides"
#define IN_ROOMS "M must be a multiple of masked groups, of which each has as many rows"
#define NEEDS_BOTH "residual needs an activation and a beta that is not 0"
#define NEEDS_ACTIVATION "a gate needs an activation"
#define NEEDS_ALONG_N    "a gate takes a bias along n, not bias_m"
#define NEEDS_RESIDUAL   "with a gate, C is added as a residual only"
#define NO_AUX           "there is no aux"
#define ONE_BIAS         "a batch by pointers has one bias for all"
#define OWN_PLACE        "each matrix of a batch by pointers lies where its pointer says"

#define MAX_BYTES (1ll << 46)   /* largest operand: more than any device's memory, and far from overflow */

_Static_assert(offsetof(gs_problem, reserved) + sizeof((gs_problem *)0)->reserved == sizeof(gs_problem),
               "problems are compared as bytes");

const char *const gs_type_words[GS_TYPE_WORDS] = {[GS_F16] = "f16", [GS_BF16] = "bf16", [GS_F32] = "f32"};

/* The optional fields in the order in which they are printed. */
enum { ACC, D, LDA, LDB, LDC, LDD, LDAUX, BATCH, SA, SB, SC, SD, SE, SAUX, MATRICES, GROUPS, MASKED, ALONG_K, ALPHA, BETA, SCALARS, INV, CONST, EP, FIELDS };
static const char *const field_names[FIELDS] = {"acc", "d", "lda", "ldb", "ldc", "ldd", "ldaux", "b", "sa", "sb", "sc", "sd", "se", "saux", "matrices", "g", "gm", "gk", "alpha", "beta", "scalars", "inv", "const", "ep"};

const char *const gs_activation_words[GS_ACTIVATION_WORDS] = {[GS_ACTIVATION_NONE] = "", [GS_RELU] = "relu", [GS_GELU] = "gelu", [GS_GELU_ERF] = "gelu_erf", [GS_SILU] = "silu",
                                                          [GS_DRELU] = "drelu", [GS_DGELU] = "dgelu", [GS_DGELU_ERF] = "dgelu_erf", [GS_DSILU] = "dsilu"};
static const char *const gate_names[] = {[GS_GATE_NONE] = "", [GS_GATE_STACKED] = "gate", [GS_GATE_INTERLEAVED] = "gate_i"};
static const char *const scale_names[] = {"", "scale_m", "scale_n"};   /* by bit of gs_scales */
static const char *const bias_names[] = {[GS_BIAS_NONE] = "", [GS_BIAS_N] = "bias", [GS_BIAS_M] = "bias_m", [GS_DBIAS] = "dbias"};

static bool valid_type(gs_type type) { return (unsigned)type < GS_COUNT(gs_type_words); }
static bool valid_layout(gs_layout layout) { return (unsigned)layout < GS_LAYOUTS; }

static int64_t least_ld(const gs_problem *problem, char operand) { return GS_MAX(gs_shape_of(problem, operand).row, 1); }

size_t gs_type_size(gs_type type) { return type == GS_F32 ? 4 : 2; }

/* The caller's struct may belong to another version of the library: fields beyond ours are set to zero. */
static void hand_over(gs_problem *problem, size_t size, const gs_problem *made)
{
    const uint32_t own = (uint32_t)size;
    memset(problem, 0, size);
    memcpy(problem, made, GS_MIN(size, sizeof *made));
    memcpy(problem, &own, GS_MIN(size, sizeof own));
}

void gs_problem_init(gs_problem *problem, size_t size, gs_type in, gs_layout layout, int64_t m, int64_t n, int64_t k)
{
    gs_problem made = {.size = (uint32_t)size, .in = in, .acc = GS_F32, .out = in, .layout = layout, .m = m, .n = n, .k = k, .batch = 1, .alpha = 1};
    made.lda = least_ld(&made, 'a');
    made.ldb = least_ld(&made, 'b');
    made.ldc = least_ld(&made, 'c');
    made.ldd = least_ld(&made, 'd');
    hand_over(problem, size, &made);
}

/* Elements from the start of the operand to its end; -1: exceeds 64 bits. */
static int64_t reach_of(const gs_shape *s)
{
    const int64_t rows = s->rows - 1, matrices = s->matrices - 1;
    if (rows > (INT64_MAX / 2 - s->row) / s->ld || (matrices > 0 && s->stride > INT64_MAX / 2 / matrices)) return -1;
    return rows * s->ld + matrices * s->stride + s->row;
}

size_t gs_problem_bytes(const gs_problem *problem, char operand)
{
    const gs_shape s = gs_shape_of(problem, operand);
    if (s.rows <= 0 || s.row <= 0 || problem->batch <= 0 || s.ld <= 0) return 0;
    const int64_t reach = reach_of(&s), size = (int64_t)gs_type_size(s.type);
    return reach < 0 || reach > INT64_MAX / size ? SIZE_MAX : (size_t)(reach * size);
}

double gs_problem_flops(const gs_problem *problem)
{
    return 2.0 * (double)problem->m * (double)gs_columns_of_b(problem) * (double)problem->k * (problem->grouping == GS_GROUPS_K ? 1 : (double)problem->batch);
}

/* ---- text ---- */

/* Strides of A to D, the bias and aux, in the order of their fields. */
#define STRIDE_LETTERS "abcdeg"
enum { OF_BIAS = 4, OF_AUX, STRIDES };
typedef struct stride_list {
    int64_t *of[STRIDES];
} stride_list;

static stride_list strides_of(gs_problem *p) { return (stride_list){{&p->stride_a, &p->stride_b, &p->stride_c, &p->stride_d, &p->stride_bias, &p->stride_aux}}; }

typedef struct reader {
    gs_scan     scan;
    gs_problem *problem;
    int         column[FIELDS];   /* of the field's value; 0: absent */
    int64_t     along_k;          /* groups */
    gs_error   *error;
} reader;

/* A decimal integer from least to most. */
static gs_status read_int(reader *r, const char *field, int64_t least, int64_t most, int64_t *value)
{
    const int column = gs_scan_column(&r->scan);
    const char *const at = r->scan.at;
    if (gs_scan_int(&r->scan, value)) {
        if (*value >= least && *value <= most) return GS_OK;
    } else if (at[*at == '-'] < '0' || at[*at == '-'] > '9') {
        return gs_fail_at(r->error, GS_ERROR_PARSE, column, field, "expected a whole number");
    }
    return gs_fail_at(r->error, GS_ERROR_RANGE, column, field, "must be from %lld to %lld", (long long)least, (long long)most);
}

static gs_status read_float(reader *r, const char *field, float *value)
{
    const int column = gs_scan_column(&r->scan);
    double number;
    if (!gs_scan_double(&r->scan, &number))
        return gs_fail_at(r->error, GS_ERROR_PARSE, column, field, "expected a decimal number, such as 1 or 0.5");
    if (!(fabs(number) < 0x1.ffffffp127)) return gs_fail_at(r->error, GS_ERROR_RANGE, column, field, "does not fit a 32-bit float");
    *value = (float)number + 0.0f;   /* -0 becomes 0: one text per problem */
    return GS_OK;
}

/* One of the names; `expected` lists them in the error message. */
static gs_status read_name(reader *r, const char *field, const char *const *names, int count, const char *expected, int *index)
{
    const int column = gs_scan_column(&r->scan);
    char word[16];
    if (gs_scan_word(&r->scan, word, sizeof word))
        for (*index = 0; *index < count; ++*index)
            if (strcmp(word, names[*index]) == 0) return GS_OK;
    return gs_fail_at(r->error, GS_ERROR_PARSE, column, field, "expected %s", expected);
}

static gs_status expect(reader *r, const char *literal, const char *field)
{
    if (gs_scan_take(&r->scan, literal)) return GS_OK;
    return gs_fail_at(r->error, GS_ERROR_PARSE, gs_scan_column(&r->scan), field, "expected '%s'", literal);
}

/* The separator between M and N, and N and K. */
static gs_status expect_extent(reader *r, const char *separator, const char *field)
{
    if (gs_scan_take(&r->scan, separator)) return GS_OK;
    return gs_fail_at(r->error, GS_ERROR_PARSE, gs_scan_column(&r->scan), field, "expected '%s': a problem has M%sN%sK", separator, separator, separator);
}

static gs_status read_extents(reader *r, const char *separator)
{
    gs_problem *const p = r->problem;
    GS_TRY(read_int(r, "m", 0, GS_MAX_EXTENT, &p->m));
    GS_TRY(expect_extent(r, separator, "n"));
    GS_TRY(read_int(r, "n", 0, GS_MAX_EXTENT, &p->n));
    GS_TRY(expect_extent(r, separator, "k"));
    return read_int(r, "k", 0, GS_MAX_EXTENT, &p->k);
}

/* Index of the word in names, from 1; 0 if it is not there. */
static int place_among(const char *word, const char *const *names, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(word, names[i]) == 0) return (int)i;
    return 0;
}

/* "bias+gelu": each part once, in any order. */
static gs_status read_epilogue(reader *r, const char *field)
{
    gs_problem *const p = r->problem;
    do {
        const int column = gs_scan_column(&r->scan);
        char word[16];
        if (!gs_scan_word(&r->scan, word, sizeof word)) word[0] = '\0';
        const int bias = place_among(word, bias_names, GS_COUNT(bias_names)), activation = place_among(word, gs_activation_words, GS_COUNT(gs_activation_words));
        const bool residual = strcmp(word, "residual") == 0;
        const bool aux = strcmp(word, "aux") == 0;
        const int gate = place_among(word, gate_names, GS_COUNT(gate_names)), scale = place_among(word, scale_names, GS_COUNT(scale_names));
        if (!bias && !activation && !gate && !residual && !aux && !scale)
            return gs_fail_at(r->error, GS_ERROR_PARSE, column, field,
                              "expected scale_m, scale_n, bias or bias_m, relu, gelu, gelu_erf or silu, or the gradient of one, drelu and so on, gate or gate_i, residual, aux, dbias, joined by +");
        if ((bias && p->bias) || (activation && p->activation) || (gate && p->gate) || (residual && p->residual) || (aux && p->aux) || (p->scales & (uint32_t)scale))
            return gs_fail_at(r->error, GS_ERROR_PARSE, column, field, "a second %s", scale ? scale_names[scale] : bias ? "bias" : activation ? "activation" : gate ? "gate" : aux ? "aux" : "residual");
        p->scales |= (uint32_t)scale;
        if (gate) p->gate = (uint32_t)gate;
        if (bias) p->bias = (gs_bias)bias;
        if (activation) p->activation = (gs_activation)activation;
        if (residual) p->residual = 1;
        if (aux) p->aux = 1;
    } while (gs_scan_take(&r->scan, "+"));
    return GS_OK;
}

/* Why pointers cannot be combined with the other fields; NULL: they can. Strides are checked elsewhere. */
static const char *refuse_pointers(const gs_problem *p)
{
    if (p->matrices != GS_MATRICES_POINTERS) return NULL;
    if (p->groups || p->grouping) return "groups are not found by pointers";
    return gs_has_aux(p) ? "a batch by pointers takes no aux" : NULL;
}

/* Why a gate cannot be combined with the other fields; NULL: it can. */
static const char *refuse_gate(const gs_problem *p)
{
    if (!p->gate) return NULL;
    if (p->activation == GS_ACTIVATION_NONE) return NEEDS_ACTIVATION;
    if (p->bias == GS_BIAS_M) return NEEDS_ALONG_N;
    return p->beta != 0 && !p->residual ? NEEDS_RESIDUAL : NULL;
}

/* Why aux or a gradient cannot be combined with the other fields; NULL: it can. */
static const char *refuse_aux(const gs_problem *p)
{
    const bool gradient = gs_is_gradient(p->activation);
    if (gradient && gs_adds_bias(p)) return "the gradient of an activation takes no bias";
    if (p->bias == GS_DBIAS && p->gate) return "dbias takes no gate";
    if (gradient && p->aux) return "the gradient of an activation reads aux and writes none";
    if (p->aux && p->activation == GS_ACTIVATION_NONE) return "aux needs an activation: without one it is D";
    return gradient && p->gate ? "the gradient of an activation takes no gate" : NULL;
}

/* Why a row's bits would depend on other rows; NULL: they do not. */
static const char *refuse_invariant(const gs_problem *p)
{
    if (!p->invariant) return NULL;
    if (p->grouping == GS_GROUPS_K) return "groups along K add up other rows of B as offsets say";
    return p->bias == GS_DBIAS ? "the gradient of a bias adds up all rows" : NULL;
}

static gs_status read_field(reader *r)
{
    const int column = gs_scan_column(&r->scan);
    char word[16] = "";
    gs_scan_word(&r->scan, word, sizeof word);
    int field = 0;
    while (field < FIELDS && strcmp(word, field_names[field]) != 0) field++;
    if (field == FIELDS)
        return gs_fail_at(r->error, GS_ERROR_PARSE, column, word[0] ? word : "field",
                          "unknown field; there are acc, d, lda, ldb, ldc, ldd, ldaux, b, sa, sb, sc, sd, se, saux, matrices, g, gm, gk, alpha, beta, scalars, inv, const, ep");
    const char *const name = field_names[field];
    if (r->column[field]) return gs_fail_at(r->error, GS_ERROR_PARSE, column, name, "stands twice");
    GS_TRY(expect(r, "=", name));
    r->column[field] = gs_scan_column(&r->scan);

    gs_problem *const p = r->problem;
    int index = 0;
    switch (field) {
    case ACC:
        GS_TRY(read_name(r, name, (const char *const[]){"f16", "f32"}, 2, "f16 or f32", &index));
        p->acc = index == 0 ? GS_F16 : GS_F32;
        return GS_OK;
    case D:
        GS_TRY(read_name(r, name, gs_type_words, (int)GS_COUNT(gs_type_words), "f16, bf16 or f32", &index));
        p->out = (gs_type)index;
        return GS_OK;
    case LDA:   return read_int(r, name, 1, GS_MAX_LD, &p->lda);
    case LDB:   return read_int(r, name, 1, GS_MAX_LD, &p->ldb);
    case LDC:   return read_int(r, name, 1, GS_MAX_LD, &p->ldc);
    case LDD:   return read_int(r, name, 1, GS_MAX_LD, &p->ldd);
    case LDAUX: return read_int(r, name, 1, GS_MAX_LD, &p->ldaux);
    case BATCH: return read_int(r, name, 1, GS_MAX_EXTENT, &p->batch);
    case SA:
    case SB:
    case SC:
    case SD:
    case SE:
    case SAUX:  return read_int(r, name, 0, GS_MAX_STRIDE, strides_of(p).of[field - SA]);
    case MATRICES:
        GS_TRY(read_name(r, name, (const char *const[]){"strided", "pointers"}, 2, "strided or pointers", &index));
        p->matrices = (uint32_t)index;
        return GS_OK;
    case GROUPS:
    case MASKED:
    case ALONG_K:
        if (p->groups || p->grouping) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[field], name, ONE_KIND);
        p->grouping = (uint32_t)(field - GROUPS);
        return read_int(r, name, 1, GS_MAX_GROUPS, field == ALONG_K ? &r->along_k : &p->groups);
    case ALPHA: return read_float(r, name, &p->alpha);
    case BETA:  return read_float(r, name, &p->beta);
    case SCALARS:
        GS_TRY(read_name(r, name, (const char *const[]){"host", "device"}, 2, "host or device", &index));
        p->scalars = (uint32_t)index;
        return GS_OK;
    case INV: {
        int64_t value = 0;
        GS_TRY(read_int(r, name, 0, 1, &value));
        p->invariant = (uint32_t)value;
        return GS_OK;
    }
    case CONST:
        GS_TRY(read_name(r, name, (const char *const[]){"none", "b"}, 2, "none or b", &index));
        p->constant = (uint32_t)index;
        return GS_OK;
    default:    return read_epilogue(r, name);
    }
}

/* Rules that involve several fields: checked after all are read, so that the order of fields does not matter. */
static gs_status join_fields(reader *r)
{
    gs_problem *const p = r->problem;
    if (p->acc == GS_F16 && p->in != GS_F16)
        return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[ACC], "acc", "f16 accumulation needs f16 inputs, not %s",
                          gs_type_words[p->in]);
    if (!r->column[D]) p->out = p->in;
    if (p->residual && (p->activation == GS_ACTIVATION_NONE || p->beta == 0))
        return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[EP], "ep", NEEDS_BOTH);
    if (p->stride_bias && !p->bias) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[SE], "se", "there is no bias");
    if (refuse_gate(p)) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[EP], "ep", "%s", refuse_gate(p));
    if (refuse_aux(p)) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[EP], "ep", "%s", refuse_aux(p));
    for (int field = LDAUX; field <= SAUX && !gs_has_aux(p); field += SAUX - LDAUX)
        if (r->column[field]) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[field], field_names[field], NO_AUX);
    for (int i = 0; p->matrices && i < STRIDES; i++)
        if (r->column[SA + i]) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[SA + i], field_names[SA + i], i == OF_BIAS ? ONE_BIAS : OWN_PLACE);
    if (refuse_pointers(p)) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[MATRICES], "matrices", "%s", refuse_pointers(p));
    if (refuse_invariant(p)) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[INV], "inv", "%s", refuse_invariant(p));
    const int grouping = GROUPS + (int)p->grouping;
    if ((p->groups || p->grouping) && p->batch != 1) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[grouping], field_names[grouping], NO_BATCH);
    for (int i = 0; r->along_k && i < STRIDES; i++)
        if (r->column[SA + i]) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[SA + i], field_names[SA + i], ALONE);
    if (r->along_k && r->column[EP]) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[EP], "ep", ALONE);
    if (r->along_k) p->batch = r->along_k;
    if (p->grouping == GS_GROUPS_MASKED && p->m % p->groups != 0) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[MASKED], field_names[MASKED], IN_ROOMS);
    int64_t *const lds[] = {&p->lda, &p->ldb, &p->ldc, &p->ldd};
    for (int i = 0; i < 4; i++) {
        const int64_t least = least_ld(p, (char)('a' + i));
        if (!r->column[LDA + i]) *lds[i] = least;
        if (*lds[i] < least)
            return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[LDA + i], field_names[LDA + i],
                              "must be at least the row length, %lld", (long long)least);
    }
    if (p->ldaux && p->ldaux < least_ld(p, 'g')) return gs_fail_at(r->error, GS_ERROR_RANGE, r->column[LDAUX], "ldaux", "must be at least the row length, %lld", (long long)least_ld(p, 'g'));
    if (p->ldaux == least_ld(p, 'g')) p->ldaux = 0;
    for (int i = 0; i < STRIDES; i++) {   /* in the text 0 means that all matrices share one; in the struct 0 means the default stride */
        if (!r->column[SA + i]) continue;
        const gs_shape s = gs_shape_of(p, STRIDE_LETTERS[i]);
        int64_t *const stride = strides_of(p).of[i];
        if (*stride == 0) *stride = i == OF_BIAS ? 0 : GS_SAME_MATRIX;
        else if (i != OF_BIAS && *stride == gs_packed_stride(s.ld, s.rows)) *stride = 0;
    }
    return GS_OK;
}

static gs_status read_layout(reader *r)
{
    const int column = gs_scan_column(&r->scan);
    char word[16];
    if (gs_scan_word(&r->scan, word, sizeof word) && gs_layout_parse(word, &r->problem->layout)) return GS_OK;
    return gs_fail_at(r->error, GS_ERROR_PARSE, column, "layout", "expected nn, tn, nt or tt");
}

static gs_status read_long_form(reader *r)
{
    int index = 0;
    GS_TRY(read_name(r, "in", gs_type_words, 2, "a problem: type f16 or bf16, as in f16:64x4096x64:nn", &index));
    r->problem->in = (gs_type)index;
    GS_TRY(expect(r, ":", "m"));
    GS_TRY(read_extents(r, "x"));
    if (!gs_scan_take(&r->scan, ":"))
        return gs_fail_at(r->error, GS_ERROR_PARSE, gs_scan_column(&r->scan), "layout", "expected ':' and a layout: nn, tn, nt or tt");
    GS_TRY(read_layout(r));
    while (gs_scan_take(&r->scan, ":")) GS_TRY(read_field(r));
    return GS_OK;
}

gs_status gs_problem_read(gs_problem *problem, size_t size, const char *text, gs_error *error)
{
    gs_problem read = gs_problem_make(GS_F16, GS_NN, 0, 0, 0);
    if (!problem || !text) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "problem and text must not be NULL");
    if (size < offsetof(gs_problem, reserved)) return gs_fail(error, GS_ERROR_ARGUMENT, "size", "%zu bytes are less than a gs_problem has", size);
    reader r = {gs_scan_from(text), &read, {0}, 0, error};
    const size_t digits = strspn(text, "0123456789");
    if (digits && text[digits] == 'x')
        return gs_fail_at(error, GS_ERROR_PARSE, 1, "in", "expected a type before M x N x K, as in f16:64x4096x64:nn, or 64_4096_64");
    if (digits)
        GS_TRY(read_extents(&r, "_"));
    else
        GS_TRY(read_long_form(&r));
    if (!gs_scan_end(&r.scan))
        return gs_fail_at(error, GS_ERROR_PARSE, gs_scan_column(&r.scan), NULL, "expected ':' or the end of the problem");
    GS_TRY(join_fields(&r));
    hand_over(problem, size, &read);
    return GS_OK;
}

/* Appends up to GS_PROBLEM_TEXT bytes; a problem that passes gs_problem_check always fits. */
static void append(char *text, const char *format, ...) GS_PRINTF(2, 3);
static void append(char *text, const char *format, ...)
{
    const size_t have = strlen(text);
    va_list values;
    va_start(values, format);
    vsnprintf(text + have, GS_PROBLEM_TEXT - have, format, values);
    va_end(values);
}

/* The fewest digits that parse back to the same float, with a decimal point in any locale. */
static void append_float(char *text, const char *name, float value)
{
    char digits[32];
    for (int precision = 6; precision <= 9; precision += 3) {
        snprintf(digits, sizeof digits, "%.*g", precision, (double)value);
        const size_t whole = strspn(digits, "-+0123456789");
        if (digits[whole] && digits[whole] != 'e' && isfinite(value)) {
            const size_t rest = whole + strcspn(digits + whole, "0123456789");
            digits[whole] = '.';
            memmove(digits + whole + 1, digits + rest, strlen(digits + rest) + 1);
        }
        gs_scan scan = gs_scan_from(digits);
        double back;
        if (gs_scan_double(&scan, &back) && fabs(back) < 0x1.ffffffp127 && (float)back == value) break;
    }
    append(text, ":%s=%s", name, digits);
}

static const char *name_of(const char *const *names, size_t count, unsigned index) { return index < count ? names[index] : "?"; }

char *gs_problem_format(const gs_problem *problem, char text[GS_PROBLEM_TEXT])
{
    const gs_problem *const p = problem;
    text[0] = '\0';
    append(text, "%s:%lldx%lldx%lld:%s", valid_type(p->in) ? gs_type_words[p->in] : "?", (long long)p->m, (long long)p->n,
           (long long)p->k, gs_layout_name(p->layout));
    if (p->acc != GS_F32) append(text, ":acc=%s", valid_type(p->acc) ? gs_type_words[p->acc] : "?");
    if (p->out != p->in) append(text, ":d=%s", valid_type(p->out) ? gs_type_words[p->out] : "?");
    const int64_t lds[] = {p->lda, p->ldb, p->ldc, p->ldd};
    for (int i = 0; i < 4; i++)
        if (lds[i] != least_ld(p, (char)('a' + i))) append(text, ":ld%c=%lld", 'a' + i, (long long)lds[i]);
    if (p->ldaux && p->ldaux != gs_columns_of_b(p)) append(text, ":ldaux=%lld", (long long)p->ldaux);
    if (p->batch != 1 && p->grouping != GS_GROUPS_K) append(text, ":b=%lld", (long long)p->batch);
    for (int i = 0; i < STRIDES; i++) {
        const int64_t stride = *strides_of((gs_problem *)p).of[i];
        const gs_shape s = gs_shape_of(p, STRIDE_LETTERS[i]);
        if (stride && (i == OF_BIAS || stride != gs_packed_stride(s.ld, s.rows))) append(text, ":%s=%lld", field_names[SA + i], (long long)(stride == GS_SAME_MATRIX ? 0 : stride));
    }
    if (p->matrices) append(text, ":matrices=%s", p->matrices == GS_MATRICES_POINTERS ? "pointers" : "?");
    if (p->groups || p->grouping) append(text, ":%s=%lld", p->grouping <= GS_GROUPS_K ? field_names[GROUPS + p->grouping] : "g?", (long long)gs_group_count(p));
    if (p->alpha != 1) append_float(text, "alpha", p->alpha + 0.0f);
    if (p->beta != 0) append_float(text, "beta", p->beta);
    if (p->scalars) append(text, ":scalars=device");
    if (p->invariant) append(text, ":inv=1");
    if (p->constant) append(text, ":const=%s", p->constant == GS_CONSTANT_B ? "b" : "?");
    const char *const bias = name_of(bias_names, GS_COUNT(bias_names), p->bias);
    const char *const words[] = {p->scales & GS_SCALE_M ? "scale_m" : "", p->scales & GS_SCALE_N ? "scale_n" : "", p->bias == GS_DBIAS ? "" : bias, name_of(gs_activation_words, GS_COUNT(gs_activation_words), p->activation),
                                 name_of(gate_names, GS_COUNT(gate_names), p->gate), p->residual ? "residual" : "", p->aux ? "aux" : "", p->bias == GS_DBIAS ? bias : ""};
    const char *before = ":ep=";
    for (int i = 0; i < (int)GS_COUNT(words); i++) {
        if (!*words[i]) continue;
        append(text, "%s%s", before, words[i]);
        before = "+";
    }
    return text;
}

/* ---- validity ---- */

static gs_status check_types(const gs_problem *p, gs_error *error)
{
    if (p->in != GS_F16 && p->in != GS_BF16) return gs_fail(error, GS_ERROR_RANGE, "in", "inputs must be f16 or bf16");
    if (p->acc != GS_F16 && p->acc != GS_F32) return gs_fail(error, GS_ERROR_RANGE, "acc", "the accumulator must be f32 or f16");
    if (!valid_type(p->out)) return gs_fail(error, GS_ERROR_RANGE, "d", "the output must be f16, bf16 or f32");
    if (!valid_layout(p->layout)) return gs_fail(error, GS_ERROR_RANGE, "layout", "must be nn, tn, nt or tt");
    if (p->acc == GS_F16 && p->in != GS_F16)
        return gs_fail(error, GS_ERROR_RANGE, "acc", "f16 accumulation needs f16 inputs, not %s", gs_type_words[p->in]);
    if (p->out != p->in && p->out != GS_F32)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "d", "%s inputs give %s or f32, not %s", gs_type_words[p->in], gs_type_words[p->in],
                       gs_type_words[p->out]);
    return GS_OK;
}

static gs_status check_epilogue(const gs_problem *p, gs_error *error)
{
    if ((unsigned)p->activation >= GS_COUNT(gs_activation_words)) return gs_fail(error, GS_ERROR_RANGE, "activation", "must be none, relu, gelu, gelu_erf or silu, or the gradient of one");
    if ((unsigned)p->bias >= GS_COUNT(bias_names)) return gs_fail(error, GS_ERROR_RANGE, "bias", "must be none, along n or along m, or the gradient of one");
    if (p->scales > (GS_SCALE_M | GS_SCALE_N)) return gs_fail(error, GS_ERROR_RANGE, "scales", "must be GS_SCALE_M, GS_SCALE_N, both or 0");
    if (p->residual > 1) return gs_fail(error, GS_ERROR_RANGE, "residual", "must be 0 or 1");
    if (p->residual && (p->activation == GS_ACTIVATION_NONE || p->beta == 0)) return gs_fail(error, GS_ERROR_RANGE, "residual", NEEDS_BOTH);
    if (refuse_gate(p)) return gs_fail(error, GS_ERROR_RANGE, "gate", "%s", refuse_gate(p));
    if (p->aux > 1) return gs_fail(error, GS_ERROR_RANGE, "aux", "must be 0 or 1");
    if (refuse_aux(p)) return gs_fail(error, GS_ERROR_RANGE, "aux", "%s", refuse_aux(p));
    return GS_OK;
}

/* Whether the matrices of an operand overlap: they lie neither one after the other nor side by side. */
static bool overlap(const gs_problem *p, char operand, int64_t stride)
{
    const gs_shape d = gs_shape_of(p, operand), one = {.rows = d.rows, .row = d.row, .ld = d.ld, .matrices = 1};
    if (d.matrices == 1 || stride == 0 || d.rows == 0) return false;
    const bool beside = d.stride >= d.row && d.stride <= (d.ld - d.row) / (d.matrices - 1);
    return d.stride < reach_of(&one) && !beside;
}

static gs_status check_strides(const gs_problem *p, gs_error *error)
{
    for (int i = 0; i < STRIDES; i++) {
        const int64_t stride = *strides_of((gs_problem *)p).of[i];
        const int64_t least = i < 3 ? GS_SAME_MATRIX : 0;
        if (stride < least || stride > GS_MAX_STRIDE)
            return gs_fail(error, GS_ERROR_RANGE, field_names[SA + i], "%lld is not from %lld to %lld", (long long)stride, (long long)least, (long long)GS_MAX_STRIDE);
    }
    for (int i = 0; p->matrices && i < STRIDES; i++)
        if (*strides_of((gs_problem *)p).of[i]) return gs_fail(error, GS_ERROR_RANGE, field_names[SA + i], i == OF_BIAS ? ONE_BIAS : OWN_PLACE);
    if (p->stride_bias && !p->bias) return gs_fail(error, GS_ERROR_RANGE, "se", "there is no bias");
    if (p->stride_aux && !gs_has_aux(p)) return gs_fail(error, GS_ERROR_RANGE, "saux", NO_AUX);
    if (overlap(p, 'd', p->stride_d))
        return gs_fail(error, GS_ERROR_RANGE, "sd", "matrices of D overlap: they must lie one behind the other or side by side in rows of ldd elements");
    if (p->bias == GS_DBIAS && overlap(p, 'e', p->stride_bias)) return gs_fail(error, GS_ERROR_RANGE, "se", "the gradients of the bias overlap");
    if (overlap(p, 'g', p->stride_aux))
        return gs_fail(error, GS_ERROR_RANGE, "saux", "matrices of aux overlap: they must lie one behind the other or side by side in rows of ldaux elements");
    return GS_OK;
}

static gs_status check_sizes(const gs_problem *p, gs_error *error)
{
    const struct {
        const char *name;
        int64_t     value, least, most;
    } ranges[] = {
        {"m",   p->m,     0,                GS_MAX_EXTENT},
        {"n",   p->n,     0,                p->gate ? GS_MAX_EXTENT / 2 : GS_MAX_EXTENT},
        {"k",   p->k,     0,                GS_MAX_EXTENT},
        {"b",   p->batch, 1,                GS_MAX_EXTENT},
        {"g",   p->groups, 0,               GS_MAX_GROUPS},
        {"lda", p->lda,   least_ld(p, 'a'), GS_MAX_LD},
        {"ldb", p->ldb,   least_ld(p, 'b'), GS_MAX_LD},
        {"ldc", p->ldc,   least_ld(p, 'c'), GS_MAX_LD},
        {"ldd", p->ldd,   least_ld(p, 'd'), GS_MAX_LD},
        {"ldaux", p->ldaux, p->ldaux ? gs_columns_of_b(p) : 0, gs_has_aux(p) ? GS_MAX_LD : 0},
    };
    for (size_t i = 0; i < GS_COUNT(ranges); i++)
        if (ranges[i].value < ranges[i].least || ranges[i].value > ranges[i].most)
            return gs_fail(error, GS_ERROR_RANGE, ranges[i].name, "%lld is not from %lld to %lld", (long long)ranges[i].value,
                           (long long)ranges[i].least, (long long)ranges[i].most);
    GS_TRY(check_strides(p, error));
    for (const char *operand = "abcdg"; *operand; operand++)
        if (gs_problem_bytes(p, *operand) > MAX_BYTES)
            return gs_fail(error, GS_ERROR_RANGE, (const char[]){*operand, '\0'}, "the matrix is larger than 2^46 bytes");
    return GS_OK;
}

static gs_status check_groups(const gs_problem *p, gs_error *error)
{
    if (p->grouping > GS_GROUPS_K) return gs_fail(error, GS_ERROR_RANGE, "grouping", "must be sorted, masked or along K");
    if (p->grouping == GS_GROUPS_K) {
        if (p->groups || p->batch > GS_MAX_GROUPS) return gs_fail(error, GS_ERROR_RANGE, "gk", "groups along K are the batch, of at most %lld, and groups is 0", (long long)GS_MAX_GROUPS);
        for (int i = 0; i < STRIDES; i++)
            if (*strides_of((gs_problem *)p).of[i]) return gs_fail(error, GS_ERROR_RANGE, field_names[SA + i], ALONE);
        return p->bias || p->activation || p->gate || p->scales ? gs_fail(error, GS_ERROR_RANGE, "gk", ALONE) : GS_OK;
    }
    if (!p->groups) return p->grouping ? gs_fail(error, GS_ERROR_RANGE, "grouping", "there are no groups") : GS_OK;
    if (p->batch != 1) return gs_fail(error, GS_ERROR_RANGE, field_names[GROUPS + p->grouping], NO_BATCH);
    if (p->grouping == GS_GROUPS_MASKED && p->m % p->groups != 0) return gs_fail(error, GS_ERROR_RANGE, field_names[MASKED], IN_ROOMS);
    return GS_OK;
}

gs_status gs_problem_check(const gs_problem *problem, gs_error *error)
{
    if (!problem) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "problem must not be NULL");
    GS_TRY(gs_sized_check(problem, offsetof(gs_problem, reserved), sizeof *problem, "gs_problem", "gs_problem_make", error));
    if (problem->scalars > GS_SCALARS_DEVICE) return gs_fail(error, GS_ERROR_RANGE, "scalars", "must be host or device");
    if (problem->matrices > GS_MATRICES_POINTERS) return gs_fail(error, GS_ERROR_RANGE, "matrices", "must be strided or pointers");
    if (problem->gate >= GS_COUNT(gate_names)) return gs_fail(error, GS_ERROR_RANGE, "gate", "must be none, stacked or interleaved");
    GS_TRY(check_types(problem, error));
    GS_TRY(check_sizes(problem, error));
    GS_TRY(check_groups(problem, error));
    if (!isfinite(problem->alpha)) return gs_fail(error, GS_ERROR_RANGE, "alpha", "must be a finite number");
    if (!isfinite(problem->beta)) return gs_fail(error, GS_ERROR_RANGE, "beta", "must be a finite number");
    if (refuse_pointers(problem)) return gs_fail(error, GS_ERROR_RANGE, "matrices", "%s", refuse_pointers(problem));
    if (problem->invariant > 1) return gs_fail(error, GS_ERROR_RANGE, "inv", "must be 0 or 1");
    if (refuse_invariant(problem)) return gs_fail(error, GS_ERROR_RANGE, "inv", "%s", refuse_invariant(problem));
    if (problem->constant > GS_CONSTANT_B) return gs_fail(error, GS_ERROR_RANGE, "const", "must be none or b");
    return check_epilogue(problem, error);
}
