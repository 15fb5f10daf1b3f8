/* SPDX-License-Identifier: MIT
 * The index of notes. A section is a row of an FTS5 table; a query is words joined by OR, ranked by bm25 with titles weighted above texts. Winners are rows
 * of words for layout, type, what bounds the problem and log2 of its extents; the matches are sorted by the distance of their extents. */
#include "notes/note.h"

#include <ctype.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "problem/layout.h"

enum { FILE_BYTES = 1 << 20, WORDS = 40, WORD = 24, OF_FAILURE = 3, SECTIONS = 9, WINNERS = 4 };   /* SECTIONS: at most, OF_FAILURE of them found by a failure's words */

struct gs_notes {
    sqlite3 *db;
};

static gs_status no_memory(gs_error *error) { return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for notes"); }

static gs_status failed(const gs_notes *notes, int code, gs_error *error)
{
    if ((code & 0xff) == SQLITE_NOMEM) return no_memory(error);
    return gs_fail(error, GS_ERROR_STORE, "notes", "%s", sqlite3_errmsg(notes->db));
}

/* ---- building ---- */

static gs_status create(gs_notes *notes, gs_error *error)
{
    static const char sql[] =
        "CREATE VIRTUAL TABLE note USING fts5(title, body, file UNINDEXED);"
        "CREATE VIRTUAL TABLE winner USING fts5(words, line UNINDEXED, m UNINDEXED, n UNINDEXED, k UNINDEXED);";
    const int code = sqlite3_exec(notes->db, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK) return GS_OK;
    if (strstr(sqlite3_errmsg(notes->db), "no such module"))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "fts5", "the SQLite of this machine (%s) has no full-text search: install one that was built with FTS5, as Debian's is", sqlite3_libversion());
    return failed(notes, code, error);
}

/* Inserts one row; the list ends at a NULL text. */
static gs_status insert(gs_notes *notes, const char *sql, const char *const *texts, int count, const double *numbers, int number_count, gs_error *error)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(notes->db, sql, -1, &statement, NULL);
    for (int i = 0; code == SQLITE_OK && i < count; i++) code = sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    for (int i = 0; code == SQLITE_OK && i < number_count; i++) code = sqlite3_bind_double(statement, count + i + 1, numbers[i]);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? GS_OK : failed(notes, code, error);
}

static gs_status add_section(gs_notes *notes, const char *file, const char *title, size_t title_size, const char *body, size_t body_size, gs_error *error)
{
    gs_text texts[2] = {{0}};
    while (body_size > 0 && isspace((unsigned char)body[body_size - 1])) body_size--;
    gs_text_add_bytes(&texts[0], title, title_size);
    gs_text_add_bytes(&texts[1], body, body_size);
    const char *const values[] = {gs_text_string(&texts[0]), gs_text_string(&texts[1]), file};
    gs_status status = texts[0].failed || texts[1].failed ? no_memory(error) : GS_OK;
    if (status == GS_OK && body_size > 0) status = insert(notes, "INSERT INTO note(title, body, file) VALUES (?1, ?2, ?3)", values, 3, NULL, 0, error);
    gs_text_free(&texts[0]);
    gs_text_free(&texts[1]);
    return status;
}

/* A section begins with "## "; text before the first one is ignored. */
static gs_status add_file(gs_notes *notes, const char *name, const char *text, gs_error *error)
{
    const char *at = strncmp(text, "## ", 3) == 0 ? text : strstr(text, "\n## ");
    while (at) {
        const char *const title = at + (*at == '\n') + 3;
        const size_t size = strcspn(title, "\n");
        const char *const body = title + size + (title[size] == '\n'), *const next = strstr(title, "\n## ");
        const char *const end = next ? next : text + strlen(text);
        GS_TRY(add_section(notes, name, title, size, body, end > body ? (size_t)(end - body) : 0, error));
        at = next;
    }
    return GS_OK;
}

static gs_status add_folder(gs_notes *notes, const char *folder, gs_error *error)
{
    char **file;
    int count;
    if (gs_folder_list(folder, ".md", &file, &count, NULL) != GS_OK) return gs_fail(error, GS_ERROR_NOT_FOUND, "notes", "there is no folder '%.200s'", folder);
    gs_status status = GS_OK;
    for (int i = 0; i < count; i++) {
        char path[GS_PATH], *text = NULL;
        size_t size;
        const char *const name[] = {file[i]};
        if (status == GS_OK && snprintf(path, sizeof path, "%s/%s", folder, name[0]) >= (int)sizeof path)
            status = gs_fail(error, GS_ERROR_RANGE, "notes", "the path of the folder is too long");
        if (status == GS_OK) status = gs_file_read(path, FILE_BYTES, &text, &size, error);
        if (status == GS_OK) status = insert(notes, "DELETE FROM note WHERE file = ?1", name, 1, NULL, 0, error);
        if (status == GS_OK) status = add_file(notes, name[0], text, error);
        free(text);
    }
    gs_folder_list_free(&file, count);
    return status;
}

gs_status gs_notes_open(gs_notes **out, const char *folder, gs_error *error)
{
    *out = NULL;
    gs_notes *notes = calloc(1, sizeof *notes);
    if (!notes) return no_memory(error);
    gs_status status = sqlite3_open_v2(":memory:", &notes->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY, NULL) == SQLITE_OK
                           ? create(notes, error) : no_memory(error);
    for (const gs_embedded *e = gs_embedded_notes; status == GS_OK && e->name; e++) status = add_file(notes, e->name, e->text, error);
    const char *const more = folder ? folder : getenv(GS_NOTE_FOLDER);
    if (status == GS_OK && more && *more) status = add_folder(notes, more, error);
    if (status != GS_OK) gs_notes_close(&notes);
    *out = notes;
    return status;
}

void gs_notes_close(gs_notes **notes)
{
    if (!notes || !*notes) return;
    sqlite3_close((*notes)->db);
    free(*notes);
    *notes = NULL;
}

/* ---- winners ---- */

/* Words of a problem's type and extents; a query for a similar problem has nearly the same. */
static void add_problem_words(gs_text *out, const gs_problem *p)
{
    gs_text_addf(out, "layout%s %s %s m%d n%d k%d", gs_layout_name(p->layout), p->in == GS_BF16 ? "typebf16" : "typef16", p->acc == GS_F16 ? "sumsf16" : "sumsf32",
                 (int)lround(log2((double)p->m + 1)), (int)lround(log2((double)p->n + 1)), (int)lround(log2((double)p->k + 1)));
}

typedef struct learning {
    gs_notes *notes;
    gs_status status;
    gs_error *error;
} learning;

/* A candidate's name is a schedule, "cublaslt" or "source:<hash>"; anything else in the store is not shown. */
static bool is_plain(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-/:", *c)) return false;
    return *text != '\0';
}

static bool learn(void *self, const gs_trial *trial)
{
    learning *const l = self;
    gs_problem p;
    if (gs_problem_parse(&p, trial->problem, NULL) != GS_OK || !is_plain(trial->candidate) || !(trial->us > 0)) return true;
    char canonical[GS_PROBLEM_TEXT], line[512], speed[64] = "";
    gs_text words = {0};
    add_problem_words(&words, &p);
    if (trial->ratio > 0) snprintf(speed, sizeof speed, ", %.3f times the speed of cuBLASLt", trial->ratio);
    snprintf(line, sizeof line, "%s: %s, %.4g us%s", gs_problem_format(&p, canonical), strncmp(trial->candidate, "source:", 7) == 0 ? "a user kernel" : trial->candidate,
             trial->us, strncmp(trial->candidate, "cublaslt", 8) == 0 ? "" : speed);
    const char *const texts[] = {gs_text_string(&words), line};
    const double numbers[] = {(double)p.m, (double)p.n, (double)p.k};
    l->status = words.failed ? no_memory(l->error)
                             : insert(l->notes, "INSERT INTO winner(words, line, m, n, k) VALUES (?1, ?2, ?3, ?4, ?5)", texts, 2, numbers, 3, l->error);
    gs_text_free(&words);
    return l->status == GS_OK;
}

gs_status gs_notes_learn(gs_notes *notes, gs_store *store, const char *device, gs_error *error)
{
    learning l = {notes, GS_OK, error};
    int code = sqlite3_exec(notes->db, "BEGIN; DELETE FROM winner", NULL, NULL, NULL);
    gs_status status = code == SQLITE_OK ? gs_store_winners(store, device, learn, &l, error) : failed(notes, code, error);
    if (status == GS_OK) status = l.status;
    if (status == GS_OK && (code = sqlite3_exec(notes->db, "COMMIT", NULL, NULL, NULL)) != SQLITE_OK) status = failed(notes, code, error);
    if (status != GS_OK) sqlite3_exec(notes->db, "ROLLBACK", NULL, NULL, NULL);   /* ROLLBACK may fail when there is no transaction */
    return status;
}

/* ---- finding ---- */

typedef struct words {
    char word[WORDS][WORD];
    int  count;
} words;

/* Words that occur in every message and say nothing. */
static bool is_common(const char *word)
{
    static const char *const common[] = {
        "all", "and", "are", "as", "at", "be", "by", "candidate", "compile", "cu", "does", "elements", "error", "every", "expected", "first", "for", "from", "got", "has", "identifier", "in",
        "is", "it", "kernel", "line", "more", "no", "not", "of", "on", "one", "or", "out", "prepare", "ptx", "than", "that", "the", "this", "to", "undefined", "want", "was", "what", "with",
    };
    for (size_t i = 0; i < GS_COUNT(common); i++)
        if (strcmp(common[i], word) == 0) return true;
    return false;
}

/* Words of letters and digits, each once. */
static void add_words(words *w, const char *text)
{
    for (const char *at = text; *at && w->count < WORDS;) {
        size_t size = 0;
        char *const word = w->word[w->count];
        bool known = false;
        while (isalnum((unsigned char)at[size])) size++;
        if (size >= 2 && size < WORD) {
            for (size_t i = 0; i < size; i++) word[i] = (char)tolower((unsigned char)at[i]);
            word[size] = '\0';
            for (int i = 0; i < w->count; i++) known = known || strcmp(w->word[i], word) == 0;
            if (!known && !is_common(word)) w->count++;
        }
        at += size + (size == 0);
    }
}

/* Words for what bounds the problem, as notes about it use them. */
static void add_bound(words *w, const gs_problem *p, const gs_caps *caps)
{
    const double peak = caps->tensor_flops * caps->sms * caps->clock_mhz, bytes_us = caps->memory_gbs * 1e3;
    const double compute = gs_problem_flops(p) / peak;
    const double moved = (double)p->batch * gs_type_size(p->in) * ((double)p->m * (double)p->k + (double)p->k * (double)p->n) / bytes_us;
    const int64_t thin = p->m < p->n ? p->m : p->n;
    if (fmax(compute, moved) < 5) add_words(w, "microseconds small launch latency round trip cluster split along");
    else if (moved > compute) add_words(w, "memory bandwidth streamed weights tokens rows flight bytes");
    else add_words(w, "large products tensor wgmma registers epilogue tiles power");
    if (thin <= 16) add_words(w, "tokens sixteen rows weights");
    else if (thin < 128) add_words(w, "thin tokens rows weights split");
    if (caps->cc < 90) add_words(w, "async ldmatrix sync");
    if ((p->lda | p->ldb) % 8 != 0) add_words(w, "alignment rows pairs 16 bytes edges");
}

/* "\"a\" OR \"b\"": quoted, so that no word is FTS5 syntax. */
static void add_match(gs_text *out, const words *w)
{
    for (int i = 0; i < w->count; i++) gs_text_addf(out, "%s\"%s\"", i ? " OR " : "", w->word[i]);
}

static gs_status add_sections(gs_notes *notes, const char *match, int most, size_t limit, gs_text *out, gs_error *error)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(notes->db, "SELECT title, body FROM note WHERE note MATCH ?1 ORDER BY bm25(note, 4.0, 1.0), rowid LIMIT ?2", -1, &statement, NULL);
    if (code == SQLITE_OK) code = sqlite3_bind_text(statement, 1, match, -1, SQLITE_STATIC);
    if (code == SQLITE_OK) code = sqlite3_bind_int(statement, 2, most);
    while ((code == SQLITE_OK || code == SQLITE_ROW) && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *const title = (const char *)sqlite3_column_text(statement, 0), *const body = (const char *)sqlite3_column_text(statement, 1);
        const size_t size = title && body ? strlen(title) + strlen(body) + strlen("### \n\n\n") : limit;
        char head[200];
        snprintf(head, sizeof head, "### %.180s\n", title ? title : "");
        if (size <= limit && !strstr(gs_text_string(out), head)) {
            gs_text_addf(out, "%s%s\n\n", head, body);
            limit -= size;
        }
    }
    const gs_status status = code == SQLITE_DONE ? GS_OK : failed(notes, code, error);
    sqlite3_finalize(statement);
    return status;
}

static gs_status add_winners(gs_notes *notes, const gs_problem *p, size_t limit, gs_text *out, gs_error *error)
{
    static const char head[] = "### What was fastest for like problems\n";
    static const char sql[] = "SELECT line, m, n, k FROM winner WHERE winner MATCH ?1 ORDER BY bm25(winner), rowid LIMIT 64";
    struct { double far; char line[512]; } best[WINNERS];
    gs_text said = {0}, match = {0};
    words w = {.count = 0};
    int count = 0;
    add_problem_words(&said, p);
    add_words(&w, gs_text_string(&said));
    add_match(&match, &w);
    const bool whole = !said.failed && !match.failed;   /* a truncated query would be another one, or none */
    gs_text_free(&said);
    if (!whole) {
        gs_text_free(&match);
        return no_memory(error);
    }
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(notes->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) code = sqlite3_bind_text(statement, 1, gs_text_string(&match), -1, SQLITE_STATIC);
    while ((code == SQLITE_OK || code == SQLITE_ROW) && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const double size[] = {(double)p->m, (double)p->n, (double)p->k};
        double far = 0;
        int at = count;
        for (int i = 0; i < 3; i++) far += fabs(log2((size[i] + 1) / (sqlite3_column_double(statement, i + 1) + 1)));
        while (at > 0 && best[at - 1].far > far) at--;
        if (at == WINNERS || far > 6) continue;
        count = GS_MIN(count + 1, WINNERS);
        memmove(&best[at + 1], &best[at], (size_t)(count - at - 1) * sizeof best[0]);
        best[at].far = far;
        snprintf(best[at].line, sizeof best[at].line, "%s", (const char *)sqlite3_column_text(statement, 0));
    }
    const gs_status status = code == SQLITE_DONE ? GS_OK : failed(notes, code, error);
    sqlite3_finalize(statement);
    gs_text_free(&match);
    size_t size = strlen(head) + 1;
    for (int i = 0; i < count; i++) {
        size += strlen(best[i].line) + 3;
        if (size > limit) break;
        gs_text_addf(out, "%s- %s\n", i ? "" : head, best[i].line);
    }
    if (out->size > 0) gs_text_add(out, "\n");
    return status;
}

gs_status gs_notes_find(gs_notes *notes, const gs_note_query *query, size_t limit, gs_text *out, gs_error *error)
{
    gs_text found = {0}, match = {0};
    words wrong = {.count = 0}, about = {.count = 0};
    if (query->failure) add_words(&wrong, query->failure);
    if (query->family) add_words(&about, query->family);
    add_bound(&about, query->problem, query->caps);
    gs_status status = add_winners(notes, query->problem, limit, &found, error);
    add_match(&match, &wrong);
    if (status == GS_OK && match.failed) status = no_memory(error);
    if (status == GS_OK && wrong.count > 0) status = add_sections(notes, gs_text_string(&match), OF_FAILURE, limit - found.size, &found, error);
    gs_text_clear(&match);
    add_match(&match, &about);
    if (status == GS_OK && match.failed) status = no_memory(error);
    if (status == GS_OK) status = add_sections(notes, gs_text_string(&match), SECTIONS - OF_FAILURE, limit - found.size, &found, error);
    if (status == GS_OK && found.failed) status = no_memory(error);
    if (status == GS_OK) gs_text_add(out, gs_text_string(&found));
    gs_text_free(&found);
    gs_text_free(&match);
    return status;
}
