/* SPDX-License-Identifier: MIT
 * Writing and reading weights files:
 *
 *     gemmsmith-weights 1
 *     about ...
 *     numbers 40 30               features of a problem, of a schedule; older files have fewer: later features get weight 0
 *     hidden 64
 *     nets 4                      networks of the surrogate; the line is missing if there is one
 *     suggestions 50              features of a cuBLASLt suggestion; the line is missing if there is no ranker
 *     tokens 435                  followed by as many lines, each with a name
 *     data 390144 0123456789abcdef 0123456789abcdef   bytes, hash of the data, hash of the lines above; then the data: f32, little endian
 *
 * surrogate, each network: [64] for each feature, then for each token, bias, [64][64], bias, [64], bias. actor: [64] for each feature of a problem, then for each token, bias,
 * [64][64], bias, then for each of 64 hidden units the tokens, bias of tokens. ranker, each of 4 networks: [64] for each feature of a problem, then of a suggestion, bias,
 * [64][64], bias, [64], bias. */
#include "learn/weights.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/installed.h"
#include "base/text.h"

/* Number of features in the oldest files; later ones have more, added at the end. */
enum { FIRST_PROBLEM = 24, FIRST_WORK = 28 };

#define MAGIC "gemmsmith-weights 1"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights are copied as they lie in memory");

gs_status gs_weights_create(gs_weights *weights, int nets, uint64_t seed, gs_error *error)
{
    *weights = (gs_weights){.about = "untrained"};
    GS_TRY(gs_surrogate_create(&weights->surrogate, nets, seed, error));
    const gs_status status = gs_actor_create(&weights->actor, seed + 1, error);
    if (status != GS_OK) gs_surrogate_free(&weights->surrogate);
    return status;
}

void gs_weights_free(gs_weights *weights)
{
    gs_surrogate_free(&weights->surrogate);
    gs_actor_free(&weights->actor);
    gs_ranker_free(&weights->ranker);
    *weights = (gs_weights){0};
}

/* ---- the file's arrays of floats, in order ---- */

/* token[i]: this program's number of the file's i-th token, -1: unknown. visit may change the floats; run is NULL if this program has no place for them. */
typedef void visitor(void *self, float *run, int count);

static void visit_tokens(float *rows, int width, const int *token, int tokens, visitor *visit, void *self)
{
    for (int i = 0; i < tokens; i++) visit(self, token[i] < 0 ? NULL : rows + token[i] * width, width);
}

/* Features come in one or two blocks. A file may have fewer features per block than this program: newer ones are at the end. */
typedef struct block {
    int in_file, here;
} block;

static void visit_net(const gs_net *net, const block *numbers, int blocks, bool says_tokens, const int *token, int tokens, visitor *visit, void *self)
{
    const int hidden = net->width[1], last = net->width[3];
    float *at = net->weights;
    float *number = at;
    for (int i = 0; i < blocks; number += numbers[i++].here * hidden) visit(self, number, numbers[i].in_file * hidden);
    visit_tokens(number, hidden, token, tokens, visit, self);
    at += net->width[0] * hidden;
    visit(self, at, hidden);
    at += hidden;
    visit(self, at, hidden * hidden + hidden);
    at += hidden * hidden + hidden;
    for (int row = 0; row <= hidden; row++, at += last) {   /* the last row is the bias */
        if (says_tokens)
            visit_tokens(at, 1, token, tokens, visit, self);
        else
            visit(self, at, last);
    }
}

/* The features and tokens of a file. */
typedef struct contents {
    block numbers[2], suggestions[2];   /* inputs of the ranker; suggestions[1].in_file 0: the file has no ranker */
    int   nets, token[GS_MOST_TOKENS], tokens;
} contents;

static void visit_all(const gs_weights *weights, const contents *file, visitor *visit, void *self)
{
    for (int i = 0; i < weights->surrogate.nets; i++) visit_net(&weights->surrogate.net[i], file->numbers, 2, false, file->token, file->tokens, visit, self);
    visit_net(&weights->actor.net, file->numbers, 1, true, file->token, file->tokens, visit, self);
    for (int i = 0; i < weights->ranker.nets; i++) visit_net(&weights->ranker.net[i], file->suggestions, 2, false, NULL, 0, visit, self);
}

/* Networks with NaN or infinity rank everything alike, which nobody would notice: they are neither written nor read. */
static gs_status need_finite(const gs_weights *weights, gs_error *error)
{
    bool surrogate = true;
    for (int i = 0; i < weights->surrogate.nets; i++) surrogate &= gs_net_finite(&weights->surrogate.net[i]);
    bool ranker = true;
    for (int i = 0; i < weights->ranker.nets; i++) ranker &= gs_net_finite(&weights->ranker.net[i]);
    if (surrogate && ranker && gs_net_finite(&weights->actor.net)) return GS_OK;
    return gs_fail(error, GS_ERROR_CORRUPT, "weights", "some of the %s's numbers are not finite", !surrogate ? "surrogate" : !ranker ? "ranker" : "actor");
}

/* ---- saving ---- */

static void count_floats(void *self, float *run, int count)
{
    (void)run;
    *(size_t *)self += (size_t)count;
}

static void put_floats(void *self, float *run, int count) { gs_text_add_bytes(self, run, (size_t)count * sizeof *run); }

/* The tokens to write: not those of families that the weights do not know. */
static void put_tokens(const gs_weights *weights, contents *file)
{
    for (int family = 0; family <= GS_FAMILIES; family++) {
        const int first = gs_token_of((gs_family_id)family, -1, 0), end = family == GS_FAMILIES ? gs_token_count() : gs_token_of((gs_family_id)(family + 1), -1, 0);
        if (family < GS_FAMILIES && !gs_surrogate_knows(&weights->surrogate, (gs_family_id)family)) continue;
        for (int token = first; token < end; token++) file->token[file->tokens++] = token;
    }
}

/* The families that have no token in the file. */
static uint32_t unknown_in(const contents *file)
{
    uint32_t unknown = (1u << GS_FAMILIES) - 1;
    for (int i = 0; i < file->tokens; i++)
        for (int family = 0; family < GS_FAMILIES; family++)
            if (file->token[i] == gs_token_of((gs_family_id)family, -1, 0)) unknown &= ~(1u << family);
    return unknown;
}

gs_status gs_weights_save(const gs_weights *weights, const char *path, gs_error *error)
{
    const block problem = {GS_PROBLEM_FEATURES, GS_PROBLEM_FEATURES}, schedule = {GS_WORK_FEATURES, GS_WORK_FEATURES}, suggestion = {GS_SUGGESTION_FEATURES, GS_SUGGESTION_FEATURES};
    contents all = {.numbers = {problem, schedule}, .suggestions = {problem, suggestion}};
    gs_text file = {0}, data = {0};
    char name[96];
    GS_TRY(need_finite(weights, error));
    put_tokens(weights, &all);
    visit_all(weights, &all, put_floats, &data);
    gs_text_addf(&file, MAGIC "\nabout %s\nnumbers %d %d\nhidden %d\n", weights->about, GS_PROBLEM_FEATURES, GS_WORK_FEATURES, GS_HIDDEN);
    if (weights->surrogate.nets > 1) gs_text_addf(&file, "nets %d\n", weights->surrogate.nets);
    if (weights->ranker.nets > 0) gs_text_addf(&file, "suggestions %d\n", GS_SUGGESTION_FEATURES);
    gs_text_addf(&file, "tokens %d\n", all.tokens);
    for (int i = 0; i < all.tokens; i++) gs_text_addf(&file, "%s\n", gs_token_name(all.token[i], name));
    gs_text_addf(&file, "data %zu %016llx %016llx\n", data.size, (unsigned long long)gs_hash64(gs_text_string(&data), data.size),
                 (unsigned long long)gs_hash64(gs_text_string(&file), file.size));
    gs_text_add_bytes(&file, data.data, data.size);
    const gs_status status = data.failed || file.failed ? gs_fail(error, GS_ERROR_MEMORY, "weights", "no memory to write %.200s", path)
                                                        : gs_file_write(path, file.data, file.size, error);
    gs_text_free(&data);
    gs_text_free(&file);
    return status;
}

/* ---- loading ---- */

/* Reads the head line by line. next_line: false at the end, or if the line is too long. */
typedef struct lines {
    const char *at, *end;
    char        line[512];
} lines;

static bool next_line(lines *l)
{
    const size_t left = (size_t)(l->end - l->at);
    const char *const stop = memchr(l->at, '\n', GS_MIN(left, sizeof l->line));
    if (!stop) return false;
    const size_t length = (size_t)(stop - l->at);
    memcpy(l->line, l->at, length);
    l->line[length] = '\0';
    l->at = stop + 1;
    return strlen(l->line) == length;
}

static bool number_of(const lines *l, const char *word, int64_t *value)
{
    gs_scan scan = gs_scan_from(l->line);
    return gs_scan_take(&scan, word) && gs_scan_int(&scan, value) && gs_scan_end(&scan);
}

static bool number_after(lines *l, const char *word, int64_t *value) { return next_line(l) && number_of(l, word, value); }

static int token_named(const char *name, int guess)
{
    char text[96];
    const int count = gs_token_count();
    for (int i = 0; i < count; i++) {   /* usually the order is the same, so the guess is right */
        const int token = (guess + i) % count;
        if (strcmp(gs_token_name(token, text), name) == 0) return token;
    }
    return -1;
}

static void take_floats(void *self, float *run, int count)
{
    const char **const at = self;
    if (run) memcpy(run, *at, (size_t)count * sizeof *run);
    *at += (size_t)count * sizeof *run;
}

static gs_status corrupt(gs_error *error, const char *what) { return gs_fail(error, GS_ERROR_CORRUPT, "weights", "%s", what); }

/* Reads the head; l->at is at the line "data" afterwards. */
static gs_status read_head(lines *l, char about[256], contents *file, gs_error *error)
{
    int64_t hidden, count, nets = 1, suggestions = 0, numbers[2];
    if (!next_line(l) || strcmp(l->line, MAGIC) != 0) return corrupt(error, "these are no weights");
    if (!next_line(l) || strncmp(l->line, "about ", 6) != 0) return corrupt(error, "'about' is missing");
    snprintf(about, 256, "%.255s", l->line + 6);
    gs_scan scan = gs_scan_from(next_line(l) ? l->line : "");
    const bool read = gs_scan_take(&scan, "numbers ") && gs_scan_int(&scan, &numbers[0]) && gs_scan_take(&scan, " ") && gs_scan_int(&scan, &numbers[1]) && gs_scan_end(&scan);
    if (!read || numbers[0] < FIRST_PROBLEM || numbers[0] > GS_PROBLEM_FEATURES || numbers[1] < FIRST_WORK || numbers[1] > GS_WORK_FEATURES)
        return corrupt(error, "the weights are for other numbers than this program's");
    file->numbers[0] = (block){(int)numbers[0], GS_PROBLEM_FEATURES};
    file->numbers[1] = (block){(int)numbers[1], GS_WORK_FEATURES};
    if (!number_after(l, "hidden ", &hidden) || hidden != GS_HIDDEN) return corrupt(error, "the weights are of another width than this program's");
    const bool several = next_line(l) && number_of(l, "nets ", &nets);
    if (several && (nets < 2 || nets > GS_MOST_NETS)) return corrupt(error, "the weights are of more networks than this program's");
    const bool ranked = (!several || next_line(l)) && number_of(l, "suggestions ", &suggestions);
    if (ranked && (suggestions < 1 || suggestions > GS_SUGGESTION_FEATURES)) return corrupt(error, "the weights are for other suggestions than this program's");
    file->nets = (int)nets;
    file->suggestions[0] = file->numbers[0];
    file->suggestions[1] = (block){(int)suggestions, GS_SUGGESTION_FEATURES};
    if ((ranked && !next_line(l)) || !number_of(l, "tokens ", &count) || count < 1 || count > GS_MOST_TOKENS) return corrupt(error, "the number of tokens is missing");
    for (file->tokens = 0; file->tokens < count; file->token[file->tokens] = token_named(l->line, file->tokens), file->tokens++)
        if (!next_line(l)) return corrupt(error, "a token is missing");
    return GS_OK;
}

static void clear(const gs_net *net) { memset(net->weights, 0, (size_t)net->count * sizeof *net->weights); }

/* head: start of the file; it ends before the line "data". Older files have no checksum of the head, so a damaged token reads as an unknown one. */
static gs_status read_data(lines *l, const char *head, gs_weights *weights, const contents *file, gs_error *error)
{
    size_t floats = 0;
    visit_all(weights, file, count_floats, &floats);
    const size_t bytes = floats * sizeof(float);
    const size_t head_size = (size_t)(l->at - head);
    char wanted[96], older[64];
    if (!next_line(l) || (size_t)(l->end - l->at) != bytes) return corrupt(error, "the file is cut");
    snprintf(older, sizeof older, "data %zu %016llx", bytes, (unsigned long long)gs_hash64(l->at, bytes));
    snprintf(wanted, sizeof wanted, "%s %016llx", older, (unsigned long long)gs_hash64(head, head_size));
    if (strcmp(l->line, wanted) != 0 && strcmp(l->line, older) != 0) return corrupt(error, "the data are not those that were written");
    /* tokens and features that the file lacks must have weight 0, not random weights */
    for (int i = 0; i < weights->surrogate.nets; i++) clear(&weights->surrogate.net[i]);
    for (int i = 0; i < weights->ranker.nets; i++) clear(&weights->ranker.net[i]);
    clear(&weights->actor.net);
    const char *at = l->at;
    visit_all(weights, file, take_floats, &at);
    return need_finite(weights, error);
}

gs_status gs_weights_parse(gs_weights *weights, const char *data, size_t size, gs_error *error)
{
    contents file = {.tokens = 0};
    char about[256];
    lines l = {.at = data, .end = data + size};
    GS_TRY(read_head(&l, about, &file, error));
    GS_TRY(gs_weights_create(weights, file.nets, 1, error));
    memcpy(weights->about, about, sizeof about);
    weights->surrogate.unknown = unknown_in(&file);
    gs_status status = file.suggestions[1].in_file ? gs_ranker_create(&weights->ranker, 1, error) : GS_OK;
    if (status == GS_OK) status = read_data(&l, data, weights, &file, error);
    if (status != GS_OK) gs_weights_free(weights);
    return status;
}

static char           installed[GS_PATH];
static pthread_once_t placed = PTHREAD_ONCE_INIT;

static void place(void)
{
    if (snprintf(installed, sizeof installed, "%s/tuned/nvidia-h200.weights", gs_installed_folder()) >= (int)sizeof installed) *installed = '\0';
}

const char *gs_weights_path(void)
{
    const char *const asked = getenv("GEMMSMITH_WEIGHTS");
    pthread_once(&placed, place);
    return asked && *asked ? asked : gs_file_exists(installed) ? installed : NULL;
}

const char *gs_weights_path_for(const gs_caps *caps) { return caps->cc == 90 ? gs_weights_path() : NULL; }

gs_status gs_weights_load(gs_weights *weights, const char *path, gs_error *error)
{
    char *data;
    size_t size;
    GS_TRY(gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, error));
    const gs_status status = gs_weights_parse(weights, data, size, error);
    free(data);
    return status;
}

gs_status gs_weights_load_used(gs_weights *weights, const char *path, gs_error *error)
{
    gs_error why = {0};
    const char *const asked = getenv("GEMMSMITH_WEIGHTS");
    const bool named = asked && *asked && strcmp(asked, path) == 0;
    const gs_status status = gs_weights_load(weights, path, &why);
    if (status == GS_OK) return GS_OK;
    const bool says = strncmp(why.text, path, strlen(path)) == 0;
    return gs_fail(error, status, NULL, "%s%.180s%s%.200s", named ? "GEMMSMITH_WEIGHTS: " : "", says ? "" : path, says ? "" : ": ", why.text);
}

gs_status gs_weights_check_named(bool *named, gs_error *error)
{
    gs_weights weights;
    const char *const asked = getenv("GEMMSMITH_WEIGHTS");
    const bool is = asked && *asked;
    if (named) *named = is;
    if (!is) return GS_OK;
    GS_TRY(gs_weights_load_used(&weights, asked, error));
    gs_weights_free(&weights);
    return GS_OK;
}
