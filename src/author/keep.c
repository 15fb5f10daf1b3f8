/* SPDX-License-Identifier: MIT */
#include "author/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

#define MOST_KEPT (256u << 20)   /* bytes of rows */

/* ---- JSON ---- */

static void put_turn(gs_json *json, const char *problem, const gs_author_turn *turn)
{
    gs_json_int(json, "island", turn->island);
    gs_json_int(json, "turn", turn->number);
    gs_json_string(json, "base", turn->base);
    if (turn->got) {
        gs_evaluation shown = *turn->got;
        snprintf(shown.reason, sizeof shown.reason, "%s", turn->reason);
        gs_json_bool(json, "edited", turn->edited);
        gs_json_bool(json, "repeated", turn->again);
        gs_json_bool(json, "improved", turn->improved);
        gs_json_bool(json, "best", turn->best);
        gs_evaluation_put(json, problem, &shown);
    } else {
        gs_json_string(json, "problem", problem);
        gs_text fault = {0};
        gs_text_add_bytes(&fault, turn->fault, strcspn(turn->fault, "\n"));
        gs_json_string(json, "fault", gs_text_string(&fault));
        gs_text_free(&fault);
    }
}

static void put_elite(gs_json *json, const gs_author_kernel *e, bool emulated)
{
    gs_json_string(json, "candidate", e->candidate);
    gs_json_string(json, "base", e->base);
    gs_json_string(json, "kind", e->kind);
    gs_json_double(json, "us", e->us);
    if (emulated) gs_json_bool(json, "predicted", true);
    gs_json_double(json, "ratio", e->ratio);
    gs_json_double(json, "reward", e->reward);
    gs_json_int(json, "registers", e->registers);
    gs_json_int(json, "smem", e->smem);
    gs_json_int(json, "island", e->island);
}

static void put_result(gs_json *json, const char *problem, const gs_caps *caps, const gs_author_result *r, const gs_spent *spent)
{
    gs_json_string(json, "problem", problem);
    gs_json_string(json, "gpu", caps->slug);
    gs_json_string(json, "ended", gs_author_end_name(r->end));
    gs_json_int(json, "turns", r->turns);
    gs_json_int(json, "before", r->before);
    gs_json_int(json, "judged", r->judged);
    gs_json_int(json, "passed", r->passed);
    gs_json_int(json, "unread", r->unread);
    gs_json_int(json, "elites", r->count);
    if (r->count > 0) {
        gs_json_begin(json, "best", '{');
        put_elite(json, &r->elite[0], caps->emulated);
        gs_json_end(json, '}');
    }
    if (r->schedule[0]) {
        gs_json_string(json, "schedule", r->schedule);
        gs_json_double(json, "schedule_us", r->schedule_us);
    }
    if (r->library_us > 0) gs_json_double(json, "cublaslt_us", r->library_us);
    gs_json_double(json, "floor_us", r->floor_us);
    gs_json_double(json, "seconds", r->seconds);
    gs_json_begin(json, "asked", '{');
    gs_json_int(json, "requests", spent->requests);
    gs_json_int(json, "tokens", spent->tokens);
    gs_json_double(json, "seconds", spent->seconds);
    gs_json_double(json, "cost", spent->cost);
    gs_json_end(json, '}');
}

void gs_author_turn_line(gs_text *line, const char *problem, const gs_author_turn *turn)
{
    gs_json json = gs_json_into(line);
    gs_json_begin(&json, NULL, '{');
    put_turn(&json, problem, turn);
    gs_json_end(&json, '}');
    gs_text_add(line, "\n");
}

void gs_author_result_line(gs_text *line, const char *problem, const gs_caps *caps, const gs_author_result *r, const gs_spent *spent)
{
    gs_json json = gs_json_into(line);
    gs_json_begin(&json, NULL, '{');
    put_result(&json, problem, caps, r, spent);
    gs_json_end(&json, '}');
    gs_text_add(line, "\n");
}

/* ---- lines for a person ---- */

static void add_figures(gs_text *line, bool predicted, double us, double ratio, double floor_us)
{
    if (predicted) gs_text_addf(line, "predicted %.2f us, floor %.2f us", us, floor_us);
    else gs_text_addf(line, "%.2f us, %.3f of cuBLASLt's speed", us, ratio);
}

void gs_author_turn_text(gs_text *line, const char *problem, const gs_author_turn *turn)
{
    gs_text_addf(line, "%s  %s  ", problem, turn->got->candidate);
    add_figures(line, turn->got->predicted, turn->got->us, turn->got->ratio.median, turn->got->floor_us);
    gs_text_addf(line, "  (turn %d of %d, %s %s)\n", turn->done, turn->total, turn->edited ? "edits of" : "from", turn->base[0] ? turn->base : GS_AUTHOR_NOTHING);
}

void gs_author_result_text(gs_text *line, const char *problem, const gs_caps *caps, const gs_author_result *r, const char *seconds)
{
    gs_text_addf(line, "%-32s  ", problem);
    if (r->count > 0) {
        gs_text_addf(line, "%s  ", r->elite[0].candidate);
        add_figures(line, caps->emulated, r->elite[0].us, r->elite[0].ratio, r->floor_us);
        if (r->schedule_us > 0) gs_text_addf(line, ", %.3f of the speed of %s", r->schedule_us / r->elite[0].us, r->schedule);
    } else {
        gs_text_add(line, "no kernel passed");
    }
    gs_text_addf(line, "  (%d turns, here %d judged, %d passed, %d answers unreadable, %s)\n", r->turns, r->judged, r->passed, r->unread, seconds);
}

/* ---- files ---- */

static gs_status keep_text(const char *folder, const char *hash, const char *name, const char *text, gs_error *error)
{
    char path[GS_PATH];
    if (snprintf(path, sizeof path, "%s/%s/%s", folder, hash, name) >= (int)sizeof path) return gs_fail(error, GS_ERROR_ARGUMENT, "keep", "the path is too long");
    *strrchr(path, '/') = '\0';
    GS_TRY(gs_directory_add(path, error));
    path[strlen(path)] = '/';
    return gs_file_write(path, text, strlen(text), error);
}

static gs_status keep_elite(gs_kept *k, const char *problem, const gs_caps *caps, const gs_author_kernel *e, gs_error *error)
{
    char name[GS_CONTENDER_NAME];
    gs_json json = gs_json_into(&k->rows);
    const char *const hash = strchr(gs_submission_name(e->source, e->manifest, name), ':') + 1;   /* the store's name is not used, because this one consists of hexadecimal digits
                                                                                                     only */
    GS_TRY(keep_text(k->folder, hash, "kernel.cu", e->source, error));
    GS_TRY(keep_text(k->folder, hash, "manifest", e->manifest, error));
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", problem);
    gs_json_string(&json, "gpu", caps->slug);
    put_elite(&json, e, caps->emulated);
    gs_json_end(&json, '}');
    gs_text_add(&k->rows, "\n");
    return GS_OK;
}

static gs_status rows_path(const gs_kept *k, char path[GS_PATH], gs_error *error)
{
    if (snprintf(path, GS_PATH, "%s/elites.jsonl", k->folder) >= GS_PATH) return gs_fail(error, GS_ERROR_ARGUMENT, "keep", "the path is too long");
    return GS_OK;
}

/* Whether the line is a row of this problem on this GPU; PARSE: it is not a row of --keep. */
static gs_status is_row_of(const char *line, size_t size, const char *problem, const char *gpu, bool *is, gs_error *error)
{
    json_t *const row = json_loadb(line, size, 0, NULL);
    const char *const its = json_string_value(json_object_get(row, "problem")), *const there = json_string_value(json_object_get(row, "gpu"));
    const gs_status status = its && there ? GS_OK : gs_fail(error, GS_ERROR_PARSE, "keep", "a line of elites.jsonl is none of --keep's: name another folder");
    *is = status == GS_OK && strcmp(its, problem) == 0 && strcmp(there, gpu) == 0;
    json_decref(row);
    return status;
}

/* Removes the rows of this problem on this GPU. */
static gs_status drop_rows(gs_kept *k, const char *problem, const char *gpu, gs_error *error)
{
    gs_text kept = {0};
    gs_status status = GS_OK;
    bool is = false;
    for (const char *line = gs_text_string(&k->rows); status == GS_OK && *line;) {
        const size_t size = strcspn(line, "\n");
        status = is_row_of(line, size, problem, gpu, &is, error);
        if (status == GS_OK && !is) {
            gs_text_add_bytes(&kept, line, size);
            gs_text_add(&kept, "\n");
        }
        line += size + (line[size] == '\n');
    }
    kept.failed = kept.failed || k->rows.failed;
    gs_text_free(&k->rows);
    k->rows = kept;
    return status;
}

/* Reads the folder's current rows. */
static gs_status read_rows(gs_kept *k, gs_error *error)
{
    char path[GS_PATH], *text;
    size_t size;
    gs_text_clear(&k->rows);
    GS_TRY(rows_path(k, path, error));
    const gs_status status = gs_file_read(path, MOST_KEPT, &text, &size, error);
    if (status == GS_ERROR_NOT_FOUND) return GS_OK;
    if (status != GS_OK) return status;
    gs_text_add_bytes(&k->rows, text, size);
    free(text);
    return drop_rows(k, "", "", error);   /* matches no row; checks that all lines are rows */
}

gs_status gs_kept_open(gs_kept *k, const char *folder, gs_error *error)
{
    *k = (gs_kept){.folder = folder};
    GS_TRY(gs_directory_add(folder, error));
    return read_rows(k, error);
}

/* With the folder locked: keeps rows that other processes have added meanwhile. */
static gs_status put_rows(gs_kept *k, const char *problem, const gs_caps *caps, const gs_author_result *r, gs_error *error)
{
    char path[GS_PATH];
    GS_TRY(read_rows(k, error));
    GS_TRY(drop_rows(k, problem, caps->slug, error));
    for (int i = 0; i < r->count; i++) GS_TRY(keep_elite(k, problem, caps, &r->elite[i], error));
    if (k->rows.failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the rows of --keep");
    GS_TRY(rows_path(k, path, error));
    return gs_file_write(path, gs_text_string(&k->rows), k->rows.size, error);
}

gs_status gs_kept_put(gs_kept *k, const char *problem, const gs_caps *caps, const gs_author_result *r, gs_error *error)
{
    const int folder = open(k->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return gs_fail_errno(error, errno, k->folder, "cannot open the folder");
    while (flock(folder, LOCK_EX) != 0 && errno == EINTR) continue;   /* continues without a lock on a file system that has none */
    const gs_status status = put_rows(k, problem, caps, r, error);
    close(folder);
    return status;
}

void gs_kept_free(gs_kept *k) { gs_text_free(&k->rows); }
