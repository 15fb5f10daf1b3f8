/* SPDX-License-Identifier: MIT
 * The tuned table: rows in order of insertion, a hash index by problem, and the text form.
 * One description of the columns serves the reader and the writer. Numbers are read and written independently of the C
 * locale, because the program that uses the library may have set one. */
#include "table/table.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/seal.h"
#include "cublas/library.h"
#include "problem/layout.h"

#define MAGIC        "gemmsmith-tuned"
#define VERSION      1
#define SUFFIX       ".tuned"
#define FILE_LIMIT   (64u << 20)   /* bytes; a row takes about 200 */
#define MAX_DISTANCE 3.0
#define BAD          '\x01'       /* replaces NUL bytes of a damaged file, which would end the text; no column accepts it */

typedef struct entry {
    gs_row   row;
    uint64_t hash;
    double   log2_extent[3];
} entry;

struct gs_table {
    entry    *entries;
    int       count, capacity;
    uint32_t *index;        /* entry + 1; 0: empty; linear probing */
    uint32_t  index_size;   /* power of two, at least twice count */
};

gs_status gs_table_create(gs_table **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? GS_OK : GS_ERROR_MEMORY;
}

void gs_table_destroy(gs_table **table)
{
    if (!table || !*table) return;
    free((*table)->entries);
    free((*table)->index);
    free(*table);
    *table = NULL;
}

int gs_table_size(const gs_table *table) { return table->count; }

const gs_row *gs_table_row(const gs_table *table, int index)
{
    return index >= 0 && index < table->count ? &table->entries[index].row : NULL;
}

/* ---- the index ---- */

/* The fields that identify a row, without padding. C's leading dimension matters only if C is read, a constant B only with dependent launches. */
typedef struct key {
    int64_t part[18];
} key;

static key key_of(const gs_problem *p, bool dependent)
{
    const bool reads_c = p->beta != 0;
    const int64_t kinds = (int64_t)p->in | (int64_t)p->acc << 4 | (int64_t)p->out << 8 | (int64_t)p->layout << 12 |
                          (int64_t)reads_c << 16 | (int64_t)p->bias << 17 | (int64_t)p->activation << 20 | (int64_t)p->residual << 24 | (int64_t)p->aux << 25 | (int64_t)p->scales << 26;
    return (key){{kinds, p->m, p->n, p->k, p->lda, p->ldb, reads_c ? p->ldc : 0, p->ldd, p->batch, p->stride_a, p->stride_b, reads_c ? p->stride_c : 0, p->stride_d, p->stride_bias,
                  (int64_t)p->scalars | (int64_t)p->gate << 8 | p->groups << 16 | (int64_t)p->matrices << 40 | (int64_t)p->invariant << 41 | (int64_t)p->grouping << 42, p->ldaux, p->stride_aux, dependent ? 1 + (int64_t)p->constant : 0}};
}

static bool same_key(const key *a, const key *b) { return memcmp(a, b, sizeof *a) == 0; }

static bool same_device(const gs_row *a, const gs_row *b)
{
    return strcmp(a->gpu, b->gpu) == 0 && a->cc == b->cc && a->sms == b->sms;
}

static bool is_of_device(const gs_row *row, const gs_caps *caps)
{
    return !caps || (strcmp(row->gpu, caps->slug) == 0 && row->cc == caps->cc && row->sms == caps->sms);
}

/* The first entry of this problem, and of row's device unless row is NULL; -1: none. */
static int find(const gs_table *table, const key *wanted, uint64_t hash, const gs_row *row)
{
    if (table->index_size == 0) return -1;
    const uint32_t mask = table->index_size - 1;
    for (uint32_t slot = (uint32_t)hash & mask; table->index[slot]; slot = (slot + 1) & mask) {
        const entry *const candidate = &table->entries[table->index[slot] - 1];
        if (candidate->hash != hash) continue;
        const key have = key_of(&candidate->row.problem, gs_row_dependent(&candidate->row));
        if (same_key(&have, wanted) && (!row || same_device(&candidate->row, row))) return (int)table->index[slot] - 1;
    }
    return -1;
}

static void index_add(uint32_t *index, uint32_t size, uint64_t hash, int position)
{
    uint32_t slot = (uint32_t)hash & (size - 1);
    while (index[slot]) slot = (slot + 1) & (size - 1);
    index[slot] = (uint32_t)position + 1;
}

/* Makes room for one more row; leaves the table unchanged on failure. */
static gs_status grow(gs_table *table)
{
    if (!gs_grow(&table->entries, table->count, &table->capacity, sizeof *table->entries)) return GS_ERROR_MEMORY;
    if ((uint32_t)table->count + 1 > table->index_size / 2) {
        const uint32_t size = table->index_size ? table->index_size * 2 : 128;
        uint32_t *const index = calloc(size, sizeof *index);
        if (!index) return GS_ERROR_MEMORY;
        for (int i = 0; i < table->count; i++) index_add(index, size, table->entries[i].hash, i);
        free(table->index);
        table->index = index;
        table->index_size = size;
    }
    return GS_OK;
}

static double log2_extent(int64_t extent) { return extent > 0 ? log2((double)extent) : 0; }

gs_status gs_table_put(gs_table *table, const gs_row *row)
{
    entry added = {.row = *row};
    gs_problem *const problem = &added.row.problem;
    problem->beta = problem->beta != 0 ? 1.0f : 0.0f;
    problem->alpha = 1;
    if (!gs_row_dependent(row)) problem->constant = GS_CONSTANT_NONE;   /* the row is for constant and other B */
    const key wanted = key_of(problem, gs_row_dependent(row));
    added.hash = gs_hash64(&wanted, sizeof wanted);
    added.log2_extent[0] = log2_extent(problem->m);
    added.log2_extent[1] = log2_extent(problem->n);
    added.log2_extent[2] = log2_extent(problem->k);

    const int position = find(table, &wanted, added.hash, row);
    if (position >= 0) {
        table->entries[position] = added;
        return GS_OK;
    }
    GS_TRY(grow(table));
    index_add(table->index, table->index_size, added.hash, table->count);
    table->entries[table->count++] = added;
    return GS_OK;
}

static const gs_row *find_row(const gs_table *table, const gs_problem *problem, bool dependent)
{
    const key wanted = key_of(problem, dependent);
    const int position = find(table, &wanted, gs_hash64(&wanted, sizeof wanted), NULL);
    return position < 0 ? NULL : &table->entries[position].row;
}

const gs_row *gs_table_find_dependent(const gs_table *table, const gs_problem *problem) { return find_row(table, problem, true); }

const gs_row *gs_table_find(const gs_table *table, const gs_problem *problem)
{
    const gs_row *const row = find_row(table, problem, false);
    gs_problem varying = *problem;
    varying.constant = GS_CONSTANT_NONE;
    return row ? row : gs_table_find_dependent(table, &varying);
}

/* Whether a row's problem is of the same kind. Schedules found for problems that are not invariant may also be invariant; rows of invariant problems say little about others. */
static bool same_kind(const gs_problem *row, const gs_problem *problem)
{
    const unsigned differs = gs_problem_wants(row) ^ gs_problem_wants(problem);
    return row->in == problem->in && row->acc == problem->acc && row->out == problem->out && row->layout == problem->layout && (differs & ~(unsigned)GS_WANTS_INVARIANT) == 0 &&
           row->invariant <= problem->invariant;
}

const gs_row *gs_table_nearest(const gs_table *table, const gs_problem *problem, const gs_caps *caps)
{
    if (problem->m <= 0 || problem->n <= 0 || problem->k <= 0) return NULL;
    const double wanted[3] = {log2_extent(problem->m), log2_extent(problem->n), log2_extent(problem->k)};
    const gs_row *best = NULL;
    double best_distance = 0;
    for (int i = 0; i < table->count; i++) {
        const entry *const have = &table->entries[i];
        const gs_row *const row = &have->row;
        if (row->library || row->kernel[0] || row->problem.constant || !same_kind(&row->problem, problem) || !is_of_device(row, caps)) continue;
        if (row->problem.m <= 0 || row->problem.n <= 0 || row->problem.k <= 0) continue;
        double distance = 0;
        for (int axis = 0; axis < 3; axis++) distance += fabs(have->log2_extent[axis] - wanted[axis]);
        if (distance > MAX_DISTANCE || (best && distance >= best_distance)) continue;
        if (gs_schedule_check(&row->schedule, problem, caps, NULL) != GS_OK) continue;
        best = row;
        best_distance = distance;
    }
    return best;
}

/* ---- columns ---- */

typedef enum kind { PROBLEM, SCHEDULE, NUMBER, INTEGER, WORD } kind;

typedef struct table_column {
    const char *title;
    kind        kind;
    size_t      at;      /* offset in gs_row */
    size_t      size;    /* NUMBER: decimals written; WORD: bytes of the field */
} table_column;

#define FIELD(name)       offsetof(gs_row, name)
#define WORD_FIELD(name)  WORD, offsetof(gs_row, name), sizeof((gs_row *)0)->name

/* legend: title, kind, where, size */
static const table_column columns[] = {
    {"problem",    PROBLEM,  FIELD(problem),    0},
    {"schedule",   SCHEDULE, FIELD(schedule),   0},
    {"us",         NUMBER,   FIELD(us),         3},
    {"cublaslt_us", NUMBER,   FIELD(library_us), 3},
    {"ratio",      NUMBER,   FIELD(ratio),      4},
    {"low",        NUMBER,   FIELD(low),        4},
    {"high",       NUMBER,   FIELD(high),       4},
    {"mhz",        INTEGER,  FIELD(mhz),        0},
    {"gpu",        WORD_FIELD(gpu)},
    {"cc",         INTEGER,  FIELD(cc),         0},
    {"sms",        INTEGER,  FIELD(sms),        0},
    {"cublaslt",   INTEGER,  FIELD(cublaslt),   0},
    {"date",       WORD_FIELD(date)},
    {"by",         WORD_FIELD(by)},
};
#define COLUMNS ((int)GS_COUNT(columns))

/* ---- reading ---- */

bool gs_gpu_emulated(const char *gpu) { return strncmp(gpu, GS_EMULATED_SLUG, sizeof GS_EMULATED_SLUG - 1) == 0; }
bool gs_row_alone(const gs_row *row) { return !row->library && !gs_row_predicted(row) && !(row->library_us > 0) && !(row->ratio > 0); }
bool gs_row_predicted(const gs_row *row) { return gs_gpu_emulated(row->gpu); }

void gs_row_sign(gs_row *row, const char *version)
{
    char *const suffix = strstr(row->gpu, GS_DEPENDENT_SUFFIX);
    const char *const how = suffix ? "tune" GS_DEPENDENT_SUFFIX "-" : gs_row_predicted(row) ? "predict-" : "tune-";
    if (suffix) *suffix = '\0';
    snprintf(row->by, sizeof row->by, "%s%s", strchr(version, '-') ? "" : how, version);
}

bool gs_row_dependent(const gs_row *row) { return strstr(row->by, GS_DEPENDENT_SUFFIX "-") != NULL; }

int gs_library_parse(const char *text)
{
    gs_scan scan = gs_scan_from(text);
    int64_t number;
    if (!gs_scan_take(&scan, "cublaslt") && !gs_scan_take(&scan, "library")) return 0;   /* "library": older tables and stores */
    if (gs_scan_end(&scan)) return 1;
    if (!gs_scan_take(&scan, "/") || !gs_scan_int(&scan, &number) || !gs_scan_end(&scan)) return 0;
    return number >= 1 && number <= GS_LIBRARY_MOST ? (int)number : 0;
}

bool gs_kernel_parse(const char *text, char hash[GS_HASH_TEXT])
{
    gs_scan scan = gs_scan_from(text);
    hash[0] = '\0';
    if (!gs_scan_take(&scan, "kernel/") && !gs_scan_take(&scan, "source:")) return false;
    if (strlen(scan.at) != GS_HASH_TEXT - 1 || strspn(scan.at, "0123456789abcdef") != GS_HASH_TEXT - 1) return false;
    memcpy(hash, scan.at, GS_HASH_TEXT);
    return true;
}

char *gs_row_choice(const gs_row *row, char text[GS_SCHEDULE_TEXT])
{
    if (row->kernel[0]) snprintf(text, GS_SCHEDULE_TEXT, "kernel/%s", row->kernel);
    else if (!row->library) gs_schedule_format(&row->schedule, text);
    else snprintf(text, GS_SCHEDULE_TEXT, row->library > 1 ? "cublaslt/%d" : "cublaslt", row->library);
    return text;
}

/* Converts an error in a cell, whose text starts in the middle of the line, to the line's columns. */
static gs_status inner_error(gs_error *error, const gs_error *inner, const char *title, int place)
{
    const char *const field = inner->field[0] ? inner->field : title;
    return gs_fail_at(error, inner->status, place + GS_MAX(inner->column, 1) - 1, field, "%s", inner->text);
}

static gs_status read_schedule(gs_row *row, const char *word, int place, gs_error *error)
{
    row->library = gs_library_parse(word);
    if (row->library || gs_kernel_parse(word, row->kernel)) return GS_OK;
    gs_error inner = {0};
    if (gs_schedule_parse(&row->schedule, word, &inner) == GS_OK) return GS_OK;
    return inner_error(error, &inner, "schedule", place);
}

static gs_status read_cell(gs_row *row, const table_column *column, const char *word, int place, gs_error *error)
{
    char *const field = (char *)row + column->at;
    gs_scan scan = gs_scan_from(word);
    gs_error inner = {0};
    int64_t integer;
    double number;
    switch (column->kind) {
    case PROBLEM:
        if (gs_problem_parse(&row->problem, word, &inner) == GS_OK) return GS_OK;
        return inner_error(error, &inner, column->title, place);
    case SCHEDULE:
        return read_schedule(row, word, place, error);
    case NUMBER:
        if (!gs_scan_double(&scan, &number) || !gs_scan_end(&scan) || number < 0 || !(number == 0 || (number >= 1e-6 && number <= 1e12)))
            return gs_fail_at(error, GS_ERROR_PARSE, place, column->title, "must be 0 or a number from 1e-6 to 1e12, not \"%s\"", word);
        memcpy(field, &number, sizeof number);
        return GS_OK;
    case INTEGER:
        if (!gs_scan_int(&scan, &integer) || !gs_scan_end(&scan) || integer < 0 || integer > INT_MAX)
            return gs_fail_at(error, GS_ERROR_PARSE, place, column->title, "must be a whole number, not \"%s\"", word);
        memcpy(field, &(int){(int)integer}, sizeof(int));
        return GS_OK;
    case WORD:
        if (strlen(word) >= column->size) return gs_fail_at(error, GS_ERROR_RANGE, place, column->title, "longer than %zu characters", column->size - 1);
        if (column->at == FIELD(date) && strcmp(word, "-") != 0 && !gs_date_valid(word)) return gs_fail_at(error, GS_ERROR_PARSE, place, column->title, "\"%s\" is no date", word);
        for (const char *p = word; *p; p++)
            if ((unsigned char)*p < ' ') return gs_fail_at(error, GS_ERROR_PARSE, place, column->title, "has a control character");
        snprintf(field, column->size, "%s", strcmp(word, "-") == 0 ? "" : word);
        return GS_OK;
    }
    return GS_ERROR_ARGUMENT;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The next word of a line; "" at the end. place: its column. */
static gs_status next_word(const char *line, const char **at, const char *end, char word[GS_PROBLEM_TEXT], int *place, gs_error *error)
{
    while (*at < end && is_blank(**at)) ++*at;
    const char *const start = *at;
    while (*at < end && !is_blank(**at)) ++*at;
    const size_t size = (size_t)(*at - start);
    *place = (int)GS_MIN(start - line, INT_MAX - 1) + 1;
    if (size >= GS_PROBLEM_TEXT) return gs_fail_at(error, GS_ERROR_RANGE, *place, NULL, "a word of %zu characters", size);
    memcpy(word, start, size);
    word[size] = '\0';
    return GS_OK;
}

static gs_status read_row(gs_row *row, const char *line, const char *end, gs_error *error)
{
    *row = (gs_row){0};
    const char *at = line;
    char word[GS_PROBLEM_TEXT];
    int place;
    for (int i = 0; i < COLUMNS; i++) {
        GS_TRY(next_word(line, &at, end, word, &place, error));
        if (!*word)
            return gs_fail_at(error, GS_ERROR_PARSE, place, columns[i].title, "missing: the row has %d of %d columns", i, COLUMNS);
        GS_TRY(read_cell(row, &columns[i], word, place, error));
    }
    GS_TRY(next_word(line, &at, end, word, &place, error));
    if (*word) return gs_fail_at(error, GS_ERROR_PARSE, place, NULL, "\"%s\" follows the last column", word);
    return GS_OK;
}

static gs_status read_magic(const char *line, const char *end, const char *name, gs_error *error)
{
    char word[GS_PROBLEM_TEXT];
    const char *at = line;
    int place;
    int64_t version = 0;
    if (next_word(line, &at, end, word, &place, NULL) == GS_OK && strcmp(word, MAGIC) == 0 &&
        next_word(line, &at, end, word, &place, NULL) == GS_OK) {
        gs_scan scan = gs_scan_from(word);
        if (gs_scan_int(&scan, &version) && gs_scan_end(&scan) && version == VERSION) return GS_OK;
        return gs_fail_at(error, GS_ERROR_PARSE, place, NULL, "%stuned table of version \"%s\"; this library reads version %d",
                          name, word, VERSION);
    }
    return gs_fail(error, GS_ERROR_PARSE, NULL, "%snot a tuned table: it must begin with \"%s %d\"", name, MAGIC, VERSION);
}

/* Rows of other devices are normal (a MIG slice, or a folder of tables), but a user who misses a row can look in the log. */
static void log_others(const char *name, int count, int line, const gs_row *row, const gs_caps *caps)
{
    if (count > 0) gs_log(GS_LOG_INFO, "%s%d rows of other devices left out; the first, line %d, is of %s, compute capability %d, %d multiprocessors; here: %s, %d, %d",
                                name, count, line, row->gpu, row->cc, row->sms, caps->slug, caps->cc, caps->sms);
}

/* name: "" or "<path>: ". Adds to *skipped; keeps only the first row's error. */
static gs_status read_text(gs_table *table, const char *text, const gs_caps *caps, const char *name, int *skipped, gs_error *error)
{
    bool begun = false;
    int number = 0, others = 0, other_line = 0;
    gs_row other;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        number++;
        end = line + strcspn(line, "\n");
        const char *first = line;
        while (first < end && is_blank(*first)) first++;
        if (first == end || *first == '#') continue;
        if (!begun) {
            GS_TRY(read_magic(line, end, name, error));
            begun = true;
            continue;
        }
        gs_row row;
        gs_error inner = {0};
        if (read_row(&row, line, end, &inner) != GS_OK) {
            if (++*skipped == 1) gs_fail_at(error, inner.status, inner.column, inner.field, "%sline %d: %s", name, number, inner.text);
        } else if (!is_of_device(&row, caps)) {
            if (++others == 1) other = row, other_line = number;
        } else if (gs_table_put(table, &row) != GS_OK) {
            return gs_fail(error, GS_ERROR_MEMORY, NULL, "%sno memory for %d rows", name, table->count + 1);
        }
    }
    log_others(name, others, other_line, &other, caps);
    if (begun && gs_seal_broken(text) && ++*skipped == 1)
        gs_fail(error, GS_ERROR_CORRUPT, NULL, "%sthe rows are not those that were written: the file is damaged, or was edited: if they are right, remove its line '# checksum'", name);
    return begun ? GS_OK : read_magic(text, text, name, error);
}

static void begin_reading(int *skipped, gs_error *error)
{
    *skipped = 0;
    if (error) *error = (gs_error){0};
}

gs_status gs_table_read(gs_table *table, const char *text, const gs_caps *caps, int *skipped, gs_error *error)
{
    int unused;
    if (!skipped) skipped = &unused;
    begin_reading(skipped, error);
    return read_text(table, text, caps, "", skipped, error);
}

static gs_status load_file(gs_table *table, const char *path, const gs_caps *caps, int *skipped, gs_error *error)
{
    char *text;
    size_t size;
    GS_TRY(gs_file_read(path, FILE_LIMIT, &text, &size, error));
    char name[160];   /* of a long path the end is more useful than the beginning */
    const size_t length = strlen(path);
    snprintf(name, sizeof name, "%s: ", length > 150 ? path + length - 150 : path);
    for (char *zero = text; (zero = memchr(zero, '\0', size - (size_t)(zero - text)));) *zero = BAD;
    const gs_status status = read_text(table, text, caps, name, skipped, error);
    free(text);
    return status;
}

static gs_status load_directory(gs_table *table, const char *path, const gs_caps *caps, int *skipped, gs_error *error)
{
    char **files;   /* in byte order: a later file replaces rows of an earlier one */
    int count;
    gs_status status = GS_OK;
    GS_TRY(gs_folder_list(path, SUFFIX, &files, &count, error));
    for (int i = 0; i < count && status == GS_OK; i++) {
        char file[GS_PATH];
        gs_error inner = {0};
        const int before = *skipped;
        gs_status result;
        if ((size_t)snprintf(file, sizeof file, "%s/%s", path, files[i]) < sizeof file)
            result = load_file(table, file, caps, skipped, &inner);
        else
            result = gs_fail(&inner, GS_ERROR_IO, NULL, "%s: path too long", files[i]);
        if (result != GS_OK) ++*skipped;
        if (result == GS_ERROR_MEMORY) status = result;
        if (error && ((before == 0 && *skipped > 0) || status != GS_OK)) *error = inner;
    }
    gs_folder_list_free(&files, count);
    return status;
}

gs_status gs_table_load(gs_table *table, const char *path, const gs_caps *caps, int *skipped, gs_error *error)
{
    int unused;
    if (!skipped) skipped = &unused;
    begin_reading(skipped, error);
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) return load_directory(table, path, caps, skipped, error);
    return load_file(table, path, caps, skipped, error);
}

/* ---- writing ---- */

#define CELL GS_PROBLEM_TEXT

static void write_number(char *text, double value, size_t decimals)
{
    long long scale = 1;
    for (size_t i = 0; i < decimals; i++) scale *= 10;
    const double most = 1e15 / (double)scale;
    const long long scaled = llround((isfinite(value) && value > 0 ? GS_MIN(value, most) : 0) * (double)scale);
    snprintf(text, CELL, "%lld.%0*lld", scaled / scale, (int)decimals, scaled % scale);
}

/* Words are not quoted, so they may not be empty or contain blanks. */
static void write_word(char *text, const char *word)
{
    snprintf(text, CELL, "%s", *word ? word : "-");
    for (char *p = text; *p; p++)
        if ((unsigned char)*p <= ' ') *p = '_';
}

static void write_cell(char text[CELL], const gs_row *row, const table_column *column)
{
    const char *const field = (const char *)row + column->at;
    double number;
    int integer;
    switch (column->kind) {
    case PROBLEM:
        gs_problem_format(&row->problem, text);
        break;
    case SCHEDULE:
        gs_row_choice(row, text);
        break;
    case NUMBER:
        memcpy(&number, field, sizeof number);
        write_number(text, number, column->size);
        break;
    case INTEGER:
        memcpy(&integer, field, sizeof integer);
        snprintf(text, CELL, "%d", GS_MAX(integer, 0));
        break;
    case WORD:
        write_word(text, field);
        break;
    }
}

#define ORDER(a, b) \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

/* Order of the rows in a file: type, layout, accumulator, extents; the other fields only make the order total. */
static int by_problem(const void *left, const void *right)
{
    const gs_row *const a = *(const gs_row *const *)left, *const b = *(const gs_row *const *)right;
    const gs_problem *const p = &a->problem, *const q = &b->problem;
    ORDER(p->in, q->in);
    ORDER(p->layout, q->layout);
    ORDER(p->acc, q->acc);
    ORDER(p->out, q->out);
    ORDER(p->m, q->m);
    ORDER(p->n, q->n);
    ORDER(p->k, q->k);
    const key left_key = key_of(p, gs_row_dependent(a)), right_key = key_of(q, gs_row_dependent(b));
    for (size_t i = 0; i < GS_COUNT(left_key.part); i++) ORDER(left_key.part[i], right_key.part[i]);
    const int gpu = strcmp(a->gpu, b->gpu);
    if (gpu != 0) return gpu;
    ORDER(a->cc, b->cc);
    ORDER(a->sms, b->sms);
    return 0;
}

static void write_line(gs_text *text, const char *cell, int width, int column)
{
    if (column == COLUMNS - 1)
        gs_text_addf(text, "%s\n", cell);
    else
        gs_text_addf(text, "%-*s  ", width, cell);
}

void gs_table_format(const gs_table *table, gs_text *text)
{
    gs_text_addf(text, "%s %d\n", MAGIC, VERSION);
    const gs_row **const rows = malloc(((size_t)table->count + 1) * sizeof *rows);
    if (!rows) {
        text->failed = true;
        return;
    }
    for (int i = 0; i < table->count; i++) rows[i] = &table->entries[i].row;
    qsort(rows, (size_t)table->count, sizeof *rows, by_problem);

    int width[COLUMNS];
    char cell[CELL];
    for (int c = 0; c < COLUMNS; c++) {
        width[c] = (int)strlen(columns[c].title) + (c == 0 ? 2 : 0);
        for (int i = 0; i < table->count; i++) {
            write_cell(cell, rows[i], &columns[c]);
            width[c] = GS_MAX(width[c], (int)strlen(cell));
        }
    }
    gs_text_add(text, "# ");
    for (int c = 0; c < COLUMNS; c++) write_line(text, columns[c].title, width[c] - (c == 0 ? 2 : 0), c);
    for (int i = 0; i < table->count; i++) {
        for (int c = 0; c < COLUMNS; c++) {
            write_cell(cell, rows[i], &columns[c]);
            write_line(text, cell, width[c], c);
        }
    }
    free(rows);
    gs_seal_put(text);
}
