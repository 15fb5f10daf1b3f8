/* SPDX-License-Identifier: MIT */
#include "torch/form.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "problem/layout.h"

_Static_assert(sizeof(gs_torch_key) == 4 * sizeof(uint32_t) + 12 * sizeof(int64_t), "a key has no padding");

const char *gs_torch_reason_text(gs_torch_reason reason)
{
    static const char *const texts[] = {
#define GS_TORCH_REASON(name, text) text,
#include "torch/reasons.def"
#undef GS_TORCH_REASON
    };
    return (unsigned)reason < GS_TORCH_REASONS ? texts[reason] : "";
}

/* A matrix of rows x cols as the call sees it, with the strides of both dimensions. */
typedef struct matrix {
    int64_t rows, cols, row_step, col_step, batch, step;
} matrix;

/* The last two dimensions, exchanged for a weight; the one before them is the batch. */
static matrix matrix_of(const gs_torch_tensor *t, bool exchanged)
{
    const int64_t last = t->dim - 1, before = t->dim - 2;
    matrix m = {t->size[before], t->size[last], t->stride[before], t->stride[last], 1, 0};
    if (exchanged) m = (matrix){m.cols, m.rows, m.col_step, m.row_step, 1, 0};
    if (t->dim == 3) {
        m.batch = t->size[0];
        m.step = t->stride[0];
    }
    return m;
}

/* Leading dimension if elements of a row are adjacent; 0: they are not. The stride of a dimension of size 1 is ignored. */
static int64_t lead(int64_t rows, int64_t cols, int64_t row_step, int64_t col_step)
{
    if (cols != 1 && col_step != 1) return 0;
    if (rows == 1) return cols;
    return row_step >= cols && row_step <= GS_MAX_LD ? row_step : 0;
}

static int64_t lead_plain(const matrix *m) { return lead(m->rows, m->cols, m->row_step, m->col_step); }
static int64_t lead_exchanged(const matrix *m) { return lead(m->cols, m->rows, m->col_step, m->row_step); }

/* The batch stride as gs_problem has it: 0 if the matrices are packed. false: no problem can have this stride. */
static bool step_of(const matrix *m, int64_t ld, int64_t stored_rows, int64_t *out)
{
    *out = 0;
    if (m->batch == 1 || m->step == ld * stored_rows) return true;
    *out = m->step == 0 ? GS_SAME_MATRIX : m->step;
    return m->step >= 0 && m->step <= GS_MAX_STRIDE;
}

static bool in_range(const matrix *m) { return m->rows >= 1 && m->rows <= GS_MAX_EXTENT && m->cols >= 1 && m->cols <= GS_MAX_EXTENT && m->batch >= 1 && m->batch <= GS_MAX_EXTENT; }

/* Bytes from the first element to the end of the last. */
static int64_t span(const gs_torch_tensor *t)
{
    int64_t elements = 1;
    for (int64_t i = 0; i < t->dim; i++) elements += (t->size[i] - 1) * t->stride[i];
    return elements * (t->type == GS_F32 || t->type == GS_TORCH_INT32 ? 4 : 2);
}

bool gs_torch_overlap(const gs_torch_tensor *x, const gs_torch_tensor *y) { return x->data < y->data + span(y) && y->data < x->data + span(x); }

static bool is_half(int type) { return type == GS_F16 || type == GS_BF16; }

static gs_torch_reason form_a(const matrix *a, gs_torch_key *key)
{
    key->lda = lead_plain(a);
    const bool exchanged = !key->lda;
    if (exchanged) key->lda = lead_exchanged(a);
    if (!key->lda || !step_of(a, key->lda, exchanged ? a->cols : a->rows, &key->stride_a)) return GS_TORCH_STRIDES;
    key->layout |= exchanged ? GS_NT : GS_NN;
    return GS_TORCH_FITS;
}

/* A matrix of one column counts as a weight of one row. */
static gs_torch_reason form_b(const matrix *b, gs_torch_key *key)
{
    int64_t plain = lead_plain(b), exchanged = lead_exchanged(b);
    if (b->cols == 1 && exchanged) plain = 0;
    key->ldb = plain ? plain : exchanged;
    if (!key->ldb || !step_of(b, key->ldb, plain ? b->rows : b->cols, &key->stride_b)) return GS_TORCH_STRIDES;
    key->layout |= plain ? GS_NN : GS_TN;
    return GS_TORCH_FITS;
}

/* Whether all dimensions but the last are 1, and the last is n adjacent elements. */
static bool is_row(const gs_torch_tensor *t, int64_t n)
{
    if (t->dim < 1 || t->size[t->dim - 1] != n || (n != 1 && t->stride[t->dim - 1] != 1)) return false;
    for (int64_t i = 0; i + 1 < t->dim; i++)
        if (t->size[i] != 1) return false;
    return true;
}

/* The added tensor: a row that is added once to every row of D is a bias; a matrix, or one for each matrix of a batch, is C. */
static gs_torch_reason form_c(const gs_torch_call *call, gs_torch_key *key, gs_torch_pointers *pointers)
{
    const gs_torch_tensor *const c = call->c;
    if (!c || call->beta == 0.0f) return GS_TORCH_FITS;
    if (c->type != (int)key->in) return GS_TORCH_TYPE;
    if (call->beta == 1.0f && !call->residual && is_row(c, key->n)) {
        key->epilogue |= GS_BIAS_N << 16;
        pointers->bias = c->data;
        return GS_TORCH_FITS;
    }
    if (c->dim < 2 && !(key->m == 1 && is_row(c, key->n))) return GS_TORCH_ADDED;
    const matrix m = c->dim < 2 ? (matrix){1, key->n, key->n, 1, 1, 0} : matrix_of(c, false);
    if (m.rows != key->m || m.cols != key->n || (m.batch != key->batch && m.batch != 1)) return GS_TORCH_ADDED;
    key->ldc = lead_plain(&m);
    if (!key->ldc || !step_of(&m, key->ldc, m.rows, &key->stride_c)) return GS_TORCH_STRIDES;
    if (m.batch == 1 && key->batch > 1) key->stride_c = GS_SAME_MATRIX;
    key->epilogue |= 1u << 24;
    pointers->c = c->data;
    return GS_TORCH_FITS;
}

static gs_torch_reason form_d(const gs_torch_call *call, gs_torch_key *key, gs_torch_pointers *pointers)
{
    const gs_torch_tensor *const d = call->d;
    key->ldd = key->n;
    if (!d) return GS_TORCH_FITS;
    if (d->type != (int)key->in) return GS_TORCH_TYPE;
    if (d->dim != (call->along_k ? 3 : call->a->dim)) return GS_TORCH_SHAPE;
    const matrix m = matrix_of(d, false);
    if (m.rows != key->m || m.cols != key->n || m.batch != key->batch) return GS_TORCH_SHAPE;
    key->ldd = lead_plain(&m);
    if (!key->ldd || !step_of(&m, key->ldd, m.rows, &key->stride_d) || key->stride_d == GS_SAME_MATRIX) return GS_TORCH_STRIDES;
    if (gs_torch_overlap(d, call->a) || gs_torch_overlap(d, call->b)) return GS_TORCH_OVERLAP;
    if (pointers->bias && gs_torch_overlap(d, call->c)) return GS_TORCH_OVERLAP;
    if (pointers->c && gs_torch_overlap(d, call->c) && (d->data != call->c->data || key->ldc != key->ldd || key->stride_c != key->stride_d)) return GS_TORCH_OVERLAP;
    pointers->d = d->data;
    return GS_TORCH_FITS;
}

/* An explicit bias, and the offsets of groups. */
static gs_torch_reason form_more(const gs_torch_call *call, gs_torch_key *key, gs_torch_pointers *pointers)
{
    const gs_torch_tensor *const bias = call->bias, *const offsets = call->offsets;
    if (bias) {
        const int64_t width = call->gate ? 2 * key->n : key->n;
        if (pointers->bias || bias->type != (int)key->in) return GS_TORCH_TYPE;
        const bool rows = key->groups && bias->dim == 2 && bias->size[0] == (int64_t)key->groups && bias->size[1] == width && bias->stride[1] == 1 && bias->stride[0] == width;
        if (key->groups ? !rows : !is_row(bias, width)) return GS_TORCH_SHAPE;
        key->epilogue |= GS_BIAS_N << 16;
        pointers->bias = bias->data;
    }
    if (offsets) {
        if (offsets->type != GS_TORCH_INT32) return GS_TORCH_TYPE;
        const int64_t groups = call->along_k ? key->batch : (int64_t)key->groups;
        if (offsets->dim != 1 || offsets->size[0] != groups + 1 || offsets->stride[0] != 1) return GS_TORCH_SHAPE;
        pointers->offsets = offsets->data;
    }
    return GS_TORCH_FITS;
}

static gs_torch_reason form_aux(const gs_torch_call *call, gs_torch_key *key, gs_torch_pointers *pointers)
{
    const gs_torch_tensor *const aux = call->aux, *const others[] = {call->a, call->b, call->c, call->d, call->bias, call->offsets};
    const int64_t width = call->gate ? 2 * key->n : key->n;
    if (!aux) return gs_is_gradient((gs_activation)call->activation) ? GS_TORCH_SHAPE : GS_TORCH_FITS;
    if (aux->type != (int)key->in) return GS_TORCH_TYPE;
    if (aux->dim != 2 || key->batch != 1 || aux->size[0] != key->m || aux->size[1] != width) return GS_TORCH_SHAPE;
    if (lead(key->m, width, aux->stride[0], aux->stride[1]) != width) return GS_TORCH_STRIDES;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] && gs_torch_overlap(aux, others[i])) return GS_TORCH_OVERLAP;
    if (!gs_is_gradient((gs_activation)call->activation)) key->epilogue |= 1u << 27;
    pointers->aux = aux->data;
    return GS_TORCH_FITS;
}

static bool all_here(const gs_torch_call *call)
{
    const gs_torch_tensor *const all[] = {call->a, call->b, call->c, call->d, call->bias, call->offsets, call->aux};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] && !all[i]->here) return false;
    return true;
}

#define FORM(step)                                                  \
    do {                                                            \
        const gs_torch_reason reason_ = (step);                     \
        if (reason_ != GS_TORCH_FITS) return reason_;               \
    } while (0)

gs_torch_reason gs_torch_form(const gs_torch_call *call, gs_torch_key *key, gs_torch_pointers *pointers)
{
    memset(key, 0, sizeof *key);
    memset(pointers, 0, sizeof *pointers);
    if (!is_half(call->a->type) || call->a->type != call->b->type) return GS_TORCH_TYPE;
    if (!all_here(call)) return GS_TORCH_DEVICE;
    if (call->a->dim < 2 || call->a->dim > 3 || call->b->dim < 2 || call->b->dim > 3) return GS_TORCH_SHAPE;
    const matrix a = matrix_of(call->a, false), b = matrix_of(call->b, call->weight);
    const bool along_k = call->offsets && call->along_k, grouped = call->offsets && !along_k;
    if (!in_range(&a) || !in_range(&b) || a.cols != b.rows) return GS_TORCH_SHAPE;
    if (grouped ? call->a->dim != 2 || call->b->dim != 3 || b.batch > GS_MAX_GROUPS : a.batch != b.batch || call->a->dim != call->b->dim) return GS_TORCH_SHAPE;
    if (along_k && (call->a->dim != 2 || !call->d || call->d->dim != 3 || call->d->size[0] < 1 || call->d->size[0] > GS_MAX_GROUPS)) return GS_TORCH_SHAPE;
    if (call->gate && b.cols % 2 != 0) return GS_TORCH_SHAPE;
    key->in = (uint32_t)call->a->type;
    key->epilogue = (uint32_t)call->activation | (uint32_t)call->gate << 8 | (call->residual ? 1u << 20 : 0);
    key->groups = grouped ? (uint32_t)b.batch : 0;
    key->m = a.rows;
    key->n = call->gate ? b.cols / 2 : b.cols;
    key->k = a.cols;
    key->batch = along_k ? call->d->size[0] : grouped ? 1 : a.batch;
    if (along_k) key->epilogue |= 1u << 28;
    FORM(form_a(&a, key));
    FORM(form_b(&b, key));
    if (grouped && key->stride_b != 0) return GS_TORCH_STRIDES;
    if (call->constant && !call->offsets && key->layout == GS_TN) key->epilogue |= 1u << 26;
    FORM(form_c(call, key, pointers));
    FORM(form_d(call, key, pointers));
    FORM(form_more(call, key, pointers));
    FORM(form_aux(call, key, pointers));
    pointers->a = call->a->data;
    pointers->b = call->b->data;
    return GS_TORCH_FITS;
}

gs_status gs_torch_problem(const gs_torch_key *key, gs_problem *out, gs_error *error)
{
    gs_problem p = gs_problem_make((gs_type)key->in, (gs_layout)key->layout, key->m, key->n, key->k);
    p.lda = key->lda, p.ldb = key->ldb, p.ldd = key->ldd;
    if (key->ldc) p.ldc = key->ldc;
    p.batch = key->batch;
    p.stride_a = key->stride_a, p.stride_b = key->stride_b, p.stride_c = key->stride_c, p.stride_d = key->stride_d;
    p.activation = (gs_activation)(key->epilogue & 0xff);
    p.gate = key->epilogue >> 8 & 0xff;
    p.bias = (gs_bias)(key->epilogue >> 16 & 0xf);
    p.residual = key->epilogue >> 20 & 0xf;
    p.beta = key->epilogue >> 24 & 1 ? 1.0f : 0.0f;
    p.invariant = key->epilogue >> 25 & 1;
    p.constant = key->epilogue >> 26 & 1 ? GS_CONSTANT_B : GS_CONSTANT_NONE;
    p.aux = key->epilogue >> 27 & 1;
    p.grouping = key->epilogue >> 28 & 1 ? GS_GROUPS_K : GS_GROUPS_SORTED;
    p.groups = key->groups;
    *out = p;
    return gs_problem_check(&p, error);
}

gs_status gs_torch_key_of(const gs_problem *p, gs_torch_key *out, gs_error *error)
{
    gs_torch_key key = {(uint32_t)p->in, (uint32_t)p->layout, (uint32_t)p->activation | p->gate << 8 | (uint32_t)p->bias << 16 | p->residual << 20 | (p->beta != 0 ? 1u << 24 : 0) | p->invariant << 25 | p->constant << 26 | p->aux << 27 | (p->grouping == GS_GROUPS_K ? 1u << 28 : 0),
                        (uint32_t)p->groups, p->m, p->n, p->k, p->lda, p->ldb, p->beta != 0 ? p->ldc : 0, p->ldd, p->batch, p->stride_a, p->stride_b, p->stride_c, p->stride_d};
    gs_problem same;
    char asked[GS_PROBLEM_TEXT], made[GS_PROBLEM_TEXT];
    gs_problem plain = *p;
    plain.alpha = 1.0f;
    plain.beta = p->beta != 0 ? 1.0f : 0.0f;
    GS_TRY(gs_problem_check(p, error));
    GS_TRY(gs_torch_problem(&key, &same, error));
    if (strcmp(gs_problem_format(&plain, asked), gs_problem_format(&same, made)) != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "problem", "no call of torch asks for %.300s", asked);
    *out = key;
    return GS_OK;
}
