/* SPDX-License-Identifier: MIT
 * Reading the lists of PyTorch's TunableOp. */
#include "recorded/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "problem/layout.h"

#define FILE_LIMIT (64u << 20)
#define MARK       "TunableOp"

/* The supported operations. */
static const struct {
    const char *name;
    bool        batch, bias;
} operations[] = {
    {"GemmTunableOp", false, false},
    {"GemmStridedBatchedTunableOp", true, false},
    {"GemmAndBiasTunableOp", false, true},
};

static const struct {
    const char *name;
    gs_type     type;
} types[] = {{"Half", GS_F16}, {"BFloat16", GS_BF16}};

typedef struct asked {
    int       operation;
    gs_type   type;
    gs_layout layout;
} asked;

/* Parses "GemmTunableOp_Half_TN"; false: an operation or type that we do not support. */
static bool read_operation(const char *word, asked *out)
{
    for (size_t i = 0; i < GS_COUNT(operations); i++) {
        for (size_t k = 0; k < GS_COUNT(types); k++) {
            char start[64], letters[3] = "";
            const int length = snprintf(start, sizeof start, "%s_%s_", operations[i].name, types[k].name);
            if (strncmp(word, start, (size_t)length) != 0 || strlen(word) != (size_t)length + 2) continue;
            for (int c = 0; c < 2; c++) letters[c] = word[length + c] == 'T' ? 't' : word[length + c] == 'N' ? 'n' : '?';
            *out = (asked){.operation = (int)i, .type = types[k].type};
            return gs_layout_parse(letters, &out->layout);
        }
    }
    return false;
}

static gs_status bad_key(gs_error *error, const char *key, const char *why) { return gs_fail_at(error, GS_ERROR_PARSE, 1, NULL, "'%.80s' %s", key, why); }

static bool read_numbers(gs_scan *scan, const char *before, int64_t *numbers, int count)
{
    for (int i = 0; i < count; i++)
        if (!gs_scan_take(scan, i == 0 ? before : "_") || !gs_scan_int(scan, &numbers[i]) || numbers[i] < 1) return false;
    return true;
}

/* Parses "tn_4096_16_4096_B_8_ld_4096_4096_4096". It is column-major: its m is our N, its A our B. */
static gs_status read_key(const char *key, const asked *what, gs_problem *out, gs_error *error)
{
    gs_scan scan = gs_scan_from(key);
    int64_t size[3], batch = 1, ld[3] = {0};
    char start[8];
    snprintf(start, sizeof start, "%s_", gs_layout_name(what->layout));
    if (!read_numbers(&scan, start, size, 3)) return bad_key(error, key, "does not begin with the operation's letters and three sizes");
    if (gs_scan_take(&scan, "_B_") && (!gs_scan_int(&scan, &batch) || batch < 1)) return bad_key(error, key, "has no batch behind _B_");
    const bool wide = strncmp(scan.at, "_ld_", 4) == 0;
    if (wide && !read_numbers(&scan, "_ld_", ld, 3)) return bad_key(error, key, "has no three leading dimensions behind _ld_");
    if (!gs_scan_end(&scan)) return bad_key(error, key, "goes on behind what is known of such keys");
    if (batch != 1 && !operations[what->operation].batch) return bad_key(error, key, "has a batch, which its operation has not");
    if (size[0] > GS_MAX_EXTENT || size[1] > GS_MAX_EXTENT || size[2] > GS_MAX_EXTENT) return bad_key(error, key, "has sizes that no problem may have");
    *out = gs_problem_make(what->type, what->layout, size[1], size[0], size[2]);
    out->batch = batch;
    if (operations[what->operation].bias) out->bias = GS_BIAS_N;
    if (wide) {
        out->ldb = ld[0];
        out->lda = ld[1];
        out->ldd = ld[2];
    }
    return gs_problem_check(out, error);
}

static void note_other(gs_import_others *others, const char *operation)
{
    int i = 0;
    others->lines++;
    while (i < others->count && strncmp(others->list[i].operation, operation, sizeof others->list[i].operation - 1) != 0) i++;
    if (i == GS_IMPORT_OTHERS) {
        others->beyond++;
        return;
    }
    if (i == others->count) {
        snprintf(others->list[i].operation, sizeof others->list[i].operation, "%s", operation);
        others->count++;
    }
    others->list[i].lines++;
}

/* line: OPERATION,KEY[,...] */
static gs_status read_line(gs_recorded *sum, gs_import_others *others, char *line, gs_error *error)
{
    asked what;
    gs_problem problem;
    char *const comma = strchr(line, ',');
    if (strncmp(line, "Validator,", 10) == 0) return GS_OK;
    if (!comma || !strstr(line, MARK)) return gs_fail_at(error, GS_ERROR_PARSE, 1, NULL, "'%.40s' is no line of a TunableOp list: an operation, a comma and a key", line);
    *comma = '\0';
    char *const key = comma + 1;
    key[strcspn(key, ",")] = '\0';
    if (!read_operation(line, &what) || strchr(key, '*')) {   /* a star: an entry for any size */
        note_other(others, line);
        return GS_OK;
    }
    gs_status status = read_key(key, &what, &problem, error);
    if (status == GS_OK) return gs_recorded_add(sum, &problem, operations[what.operation].name, 1, error);
    if (error) error->column = (int)(key - line) + GS_MAX(error->column, 1);
    return status;
}

gs_status gs_import_tunableop_text(gs_recorded *recorded, gs_import_others *others, char *text, const char *name, gs_error *error)
{
    gs_recorded sum = {0};
    gs_import_others skipped = *others;
    gs_status status = GS_OK;
    char *line = text, *end;
    for (int number = 1; status == GS_OK && (end = strchr(line, '\n')) != NULL; line = end + 1, number++) {
        *end = '\0';
        if (end > line && end[-1] == '\r') end[-1] = '\0';
        if (*line == '\0') continue;
        status = read_line(&sum, &skipped, line, error);
        if (status != GS_OK) gs_recorded_at_line(error, name, number);
    }
    for (int i = 0; i < sum.count && status == GS_OK; i++) status = gs_recorded_add(recorded, &sum.rows[i].problem, sum.rows[i].via, sum.rows[i].count, error);
    if (status == GS_OK) {
        *others = skipped;
        recorded->files++;
        recorded->cut += *line != '\0';
    }
    gs_recorded_free(&sum);
    return status;
}

gs_status gs_import_tunableop(gs_recorded *recorded, gs_import_others *others, const char *path, gs_error *error)
{
    char *text;
    GS_TRY(gs_file_read_text(path, FILE_LIMIT, &text, error));
    const gs_status status = gs_import_tunableop_text(recorded, others, text, path, error);
    free(text);
    return status;
}
