/* SPDX-License-Identifier: MIT
 * Manifests: the text form, and the limits that do not depend on the problem.
 * Internally, errors have the line's keyword as field and the column in the line; gs_manifest_parse adds the line number. */
#include "kernel/manifest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define MAX_THREADS 1024
#define MAX_BLOCK_Z 64
#define MAX_CLUSTER 16
#define MAX_BOX     256
#define MAX_ALIGN   256

/* ---- limits ---- */

static bool is_identifier(const char *name, size_t size)
{
    const size_t length = strnlen(name, size);
    if (length == 0 || length == size || isdigit((unsigned char)name[0])) return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_') return false;
    return true;
}

static gs_status check_align(const int align[4], gs_error *error)
{
    for (int i = 0; i < 4; i++)
        if (align[i] < 1 || align[i] > MAX_ALIGN || (align[i] & (align[i] - 1)))
            return gs_fail(error, GS_ERROR_RANGE, "align", "%c=%d is no power of two from 1 to %d", 'a' + i, align[i], MAX_ALIGN);
    return GS_OK;
}

static gs_status check_name(const gs_entry *entry, gs_error *error)
{
    if (is_identifier(entry->name, sizeof entry->name)) return GS_OK;
    return gs_fail(error, GS_ERROR_RANGE, "entry", "the kernel's name must be a C identifier of at most %d characters",
                   (int)sizeof entry->name - 1);
}

static gs_status check_block(const gs_entry *entry, gs_error *error)
{
    const int *const b = entry->block;
    for (int i = 0; i < 3; i++)
        if (b[i] < 1 || b[i] > (i == 2 ? MAX_BLOCK_Z : MAX_THREADS))
            return gs_fail(error, GS_ERROR_RANGE, "block", "%d threads along %c are not from 1 to %d", b[i], 'x' + i,
                           i == 2 ? MAX_BLOCK_Z : MAX_THREADS);
    if (b[0] * b[1] > MAX_THREADS || b[0] * b[1] * b[2] > MAX_THREADS)
        return gs_fail(error, GS_ERROR_RANGE, "block", "more than %d threads", MAX_THREADS);
    return GS_OK;
}

static gs_status check_cluster(const gs_entry *entry, gs_error *error)
{
    const int *const c = entry->cluster;
    for (int i = 0; i < 3; i++)
        if (c[i] < 1 || c[i] > MAX_CLUSTER)
            return gs_fail(error, GS_ERROR_RANGE, "cluster", "%d blocks along %c are not from 1 to %d", c[i], 'x' + i, MAX_CLUSTER);
    if (c[0] * c[1] * c[2] > MAX_CLUSTER) return gs_fail(error, GS_ERROR_RANGE, "cluster", "more than %d blocks", MAX_CLUSTER);
    return GS_OK;
}

/* The inner extent must be a multiple of 16 bytes: 8 elements for A and B (2 bytes); 4 for C and D, whose elements may have 4 bytes. */
static gs_status check_map(const gs_map *map, gs_error *error)
{
    if (map->operand < 'a' || map->operand > 'd') return gs_fail(error, GS_ERROR_RANGE, "map", "the operand must be a, b, c or d");
    if (map->inner < 1 || map->inner > MAX_BOX || map->outer < 1 || map->outer > MAX_BOX)
        return gs_fail(error, GS_ERROR_RANGE, "map", "a box of %dx%d is not from 1x1 to %dx%d elements", map->inner, map->outer,
                       MAX_BOX, MAX_BOX);
    if (map->swizzle != 0 && map->swizzle != 32 && map->swizzle != 64 && map->swizzle != 128)
        return gs_fail(error, GS_ERROR_RANGE, "map", "the swizzle must be sw0, sw32, sw64 or sw128");
    const int multiple = map->operand <= 'b' ? 8 : 4;
    if (map->inner % multiple)
        return gs_fail(error, GS_ERROR_RANGE, "map", "the box's inner extent %d is no multiple of %d", map->inner, multiple);
    if (map->swizzle && map->inner * 2 > map->swizzle)
        return gs_fail(error, GS_ERROR_RANGE, "map", "a box row of %d elements is longer than the swizzle of %d bytes",
                       map->inner, map->swizzle);
    if (map->turn && (map->operand != 'b' || map->outer % 16 != 0))
        return gs_fail(error, GS_ERROR_RANGE, "map", "only b is read in turn, sixteen rows at a time");
    if (map->eighth && (map->eighth < 0 || map->eighth > 8 || map->operand > 'b' || map->batch || map->turn))
        return gs_fail(error, GS_ERROR_RANGE, "map", "every eighth row, from the first to the eighth on, is read of a or b alone, of one matrix, not in turn");
    return GS_OK;
}

static gs_status check_formula(const gs_formula *formula, const char *field, bool needed, gs_error *error)
{
    gs_formula copy;
    if (memchr(formula->text, '\0', sizeof formula->text) == NULL)
        return gs_fail(error, GS_ERROR_RANGE, field, "the formula has no end");
    if (needed && formula->text[0] == '\0') return gs_fail(error, GS_ERROR_RANGE, field, "the formula is missing");
    const gs_status status = gs_formula_set(&copy, formula->text, error);
    return status == GS_OK || !error ? status : gs_fail(error, status, field, "formula '%.96s' cannot be read", formula->text);
}

static gs_status check_entry(const gs_entry *entry, gs_error *error)
{
    GS_TRY(check_name(entry, error));
    for (int i = 0; i < 3; i++) GS_TRY(check_formula(&entry->grid[i], "grid", true, error));
    GS_TRY(check_block(entry, error));
    GS_TRY(check_cluster(entry, error));
    GS_TRY(check_formula(&entry->smem, "smem", false, error));
    if (entry->map_count < 0 || entry->map_count > GS_MAX_MAPS)
        return gs_fail(error, GS_ERROR_RANGE, "map", "%d maps are not from 0 to %d", entry->map_count, GS_MAX_MAPS);
    for (int i = 0; i < entry->map_count; i++) GS_TRY(check_map(&entry->map[i], error));
    return GS_OK;
}

static gs_status check_packed(const gs_manifest *manifest, gs_error *error)
{
    if ((manifest->packed[0] || manifest->packed[1]) && (!manifest->workspace.text[0] || manifest->zeroed.text[0]))
        return gs_fail(error, GS_ERROR_RANGE, "pack", "copies need a workspace that does not start with zeros");
    return GS_OK;
}

/* A tensor map needs an address that is a multiple of 16 bytes; copies in the workspace have one. */
static gs_status check_mapped(const gs_manifest *manifest, const gs_map *map, gs_error *error)
{
    const int operand = map->operand - 'a';
    if (manifest->align[operand] >= 16 || (operand < 2 && manifest->packed[operand]) || map->eighth) return GS_OK;
    return gs_fail(error, GS_ERROR_RANGE, "map", "a tensor map of %c needs %c=16 or more in the line align, which says %d", map->operand, map->operand, manifest->align[operand]);
}

gs_status gs_manifest_check(const gs_manifest *manifest, gs_error *error)
{
    if (manifest->accumulator != GS_F32 && manifest->accumulator != GS_F16)
        return gs_fail(error, GS_ERROR_RANGE, "accumulator", "must be f32 or f16");
    GS_TRY(check_align(manifest->align, error));
    GS_TRY(check_formula(&manifest->workspace, "workspace", false, error));
    GS_TRY(check_formula(&manifest->zeroed, "zeroed", false, error));
    if (manifest->zeroed.text[0] && !manifest->workspace.text[0])
        return gs_fail(error, GS_ERROR_RANGE, "zeroed", "there is no workspace that could start with zeros");
    GS_TRY(check_packed(manifest, error));
    if (manifest->entry_count < 1 || manifest->entry_count > GS_MAX_ENTRIES)
        return gs_fail(error, GS_ERROR_RANGE, "entry", "%d entries are not from 1 to %d", manifest->entry_count, GS_MAX_ENTRIES);
    for (int i = 0; i < manifest->entry_count; i++) {
        GS_TRY(check_entry(&manifest->entry[i], error));
        for (int j = 0; j < manifest->entry[i].map_count; j++) GS_TRY(check_mapped(manifest, &manifest->entry[i].map[j], error));
    }
    return GS_OK;
}

void gs_manifest_alignment(const gs_manifest *manifest, const gs_problem *problem, int align[GS_OPERANDS])
{
    for (int i = 0; i < GS_OPERANDS; i++) align[i] = (int)gs_type_size(gs_shape_of(problem, GS_OPERAND_LETTERS[i]).type);
    for (int i = 0; i < 4; i++) align[i] = GS_MAX(align[i], manifest->align[i]);
    if (gs_has_aux(problem)) align[6] = align[problem->aux ? 3 : 2];   /* it is written like D, or read like C */
}

/* ---- reading ---- */

typedef struct reader {
    const char *next;      /* first byte of the line after this one */
    gs_scan     scan;      /* in this line, after its keyword */
    char        keyword[16];
    int         line;      /* from 1 */
    gs_error   *error;
} reader;

/* At the end of the line: a line end (LF or CRLF) or a comment. */
static bool line_ended(reader *r)
{
    gs_scan_space(&r->scan);
    if (*r->scan.at == '\r' && (r->scan.at[1] == '\n' || r->scan.at[1] == '\0')) return true;
    return *r->scan.at == '\0' || *r->scan.at == '\n' || *r->scan.at == '#';
}

/* Goes to the next line that is not empty; the keyword is empty after the last line and if the line starts with no word. */
static void next_line(reader *r)
{
    do {
        r->keyword[0] = '\0';
        r->scan = gs_scan_from(r->next);
        r->line++;
        if (*r->next == '\0') return;
        r->next += strcspn(r->next, "\n");
        if (*r->next == '\n') r->next++;
    } while (line_ended(r));
    gs_scan_word(&r->scan, r->keyword, sizeof r->keyword);
}

static bool at_line(const reader *r, const char *keyword) { return strcmp(r->keyword, keyword) == 0; }

static gs_status wrong(const reader *r, const char *field, const char *expected)
{
    return gs_fail_at(r->error, GS_ERROR_PARSE, gs_scan_column(&r->scan), field, "expected %s", expected);
}

/* Checks that nothing else is in the line, and goes to the next one. */
static gs_status end_line(reader *r)
{
    if (!line_ended(r)) return wrong(r, r->keyword, "the end of the line");
    next_line(r);
    return GS_OK;
}

/* Whether the word may be repeated in an error message. Messages go into prompts of language models, so other words of a foreign text must not appear in them. */
static bool is_keyword(const char *word)
{
    static const char *const words[] = {"manifest", "accumulator", "determinism", "align", "workspace", "zeroed", "entry", "grid", "block", "cluster", "smem",
                                        "dependent", "map", "pack"};
    for (size_t i = 0; i < GS_COUNT(words); i++)
        if (strcmp(word, words[i]) == 0) return true;
    return false;
}

static gs_status expect_line(reader *r, const char *keyword)
{
    if (at_line(r, keyword)) return GS_OK;
    const bool known = is_keyword(r->keyword);
    return gs_fail_at(r->error, GS_ERROR_PARSE, 1, keyword, "expected a line '%s' here%s%s", keyword, known ? ", not " : "", known ? r->keyword : "");
}

static gs_status read_int(reader *r, int *value)
{
    int64_t number;
    const int column = gs_scan_column(&r->scan);
    if (!gs_scan_int(&r->scan, &number)) return wrong(r, r->keyword, "a whole number");
    if (number < 0 || number > 65536)
        return gs_fail_at(r->error, GS_ERROR_RANGE, column, r->keyword, "the number is too large or negative");
    *value = (int)number;
    return GS_OK;
}

static gs_status read_ints(reader *r, int values[3])
{
    for (int i = 0; i < 3; i++) {
        gs_scan_space(&r->scan);
        GS_TRY(read_int(r, &values[i]));
    }
    return GS_OK;
}

static gs_status read_choice(reader *r, const char *first, const char *second, bool *is_second)
{
    char word[16] = "";
    gs_scan_space(&r->scan);
    const int column = gs_scan_column(&r->scan);
    gs_scan_word(&r->scan, word, sizeof word);
    *is_second = strcmp(word, second) == 0;
    if (*is_second || strcmp(word, first) == 0) return GS_OK;
    return gs_fail_at(r->error, GS_ERROR_PARSE, column, r->keyword, "expected %s or %s", first, second);
}

static gs_status read_formula(reader *r, gs_formula *formula)
{
    gs_scan_space(&r->scan);
    const int column = gs_scan_column(&r->scan);
    const size_t size = strcspn(r->scan.at, " \t\r\n#");
    char text[GS_FORMULA];
    if (size == 0) return wrong(r, r->keyword, "a formula");
    if (size >= sizeof text)
        return gs_fail_at(r->error, GS_ERROR_RANGE, column, r->keyword, "a formula may have %d characters", GS_FORMULA - 1);
    memcpy(text, r->scan.at, size);
    text[size] = '\0';
    const gs_status status = gs_formula_set(formula, text, r->error);
    if (status != GS_OK) {   /* convert the column in the formula to that in the line */
        r->error->column += column - 1;
        memcpy(r->error->field, r->keyword, sizeof r->keyword);
        return status;
    }
    r->scan.at += size;
    return GS_OK;
}

static gs_status read_align(reader *r, int align[4])
{
    static const char *const names[] = {"a=", "b=", "c=", "d="};
    for (int i = 0; i < 4; i++) {
        gs_scan_space(&r->scan);
        if (!gs_scan_take(&r->scan, names[i])) return wrong(r, r->keyword, "a= b= c= d= in this order");
        GS_TRY(read_int(r, &align[i]));
    }
    return check_align(align, r->error);
}

/* Reads "a 64x128 sw128". */
static gs_status read_map(reader *r, const gs_manifest *manifest, gs_entry *entry)
{
    if (entry->map_count == GS_MAX_MAPS)
        return gs_fail_at(r->error, GS_ERROR_RANGE, 1, "map", "an entry has at most %d maps", GS_MAX_MAPS);
    gs_map *const map = &entry->map[entry->map_count++];
    gs_scan_space(&r->scan);
    if (*r->scan.at < 'a' || *r->scan.at > 'd') return wrong(r, "map", "an operand: a, b, c or d");
    map->operand = *r->scan.at++;
    gs_scan_space(&r->scan);
    GS_TRY(read_int(r, &map->inner));
    if (!gs_scan_take(&r->scan, "x")) return wrong(r, "map", "a box such as 64x128");
    GS_TRY(read_int(r, &map->outer));
    gs_scan_space(&r->scan);
    if (!gs_scan_take(&r->scan, "sw")) return wrong(r, "map", "sw0, sw32, sw64 or sw128");
    GS_TRY(read_int(r, &map->swizzle));
    gs_scan_space(&r->scan);
    map->batch = gs_scan_take(&r->scan, "batch");
    gs_scan_space(&r->scan);
    map->turn = gs_scan_take(&r->scan, "turn");
    gs_scan_space(&r->scan);
    if (gs_scan_take(&r->scan, "eighth")) {
        gs_scan_space(&r->scan);
        GS_TRY(read_int(r, &map->eighth));
        if (map->eighth < 1) return wrong(r, "map", "a number from 1 to 8");
    }
    GS_TRY(check_map(map, r->error));
    return check_mapped(manifest, map, r->error);
}

static gs_status read_entry(reader *r, const gs_manifest *manifest, gs_entry *entry)
{
    *entry = (gs_entry){.cluster = {1, 1, 1}};
    gs_scan_space(&r->scan);
    if (!gs_scan_word(&r->scan, entry->name, sizeof entry->name)) return wrong(r, "entry", "the name of a kernel");
    GS_TRY(check_name(entry, r->error));
    GS_TRY(end_line(r));

    GS_TRY(expect_line(r, "grid"));
    for (int i = 0; i < 3; i++) GS_TRY(read_formula(r, &entry->grid[i]));
    GS_TRY(end_line(r));

    GS_TRY(expect_line(r, "block"));
    GS_TRY(read_ints(r, entry->block));
    GS_TRY(check_block(entry, r->error));
    GS_TRY(end_line(r));

    if (at_line(r, "cluster")) {
        GS_TRY(read_ints(r, entry->cluster));
        GS_TRY(check_cluster(entry, r->error));
        GS_TRY(end_line(r));
    }
    if (at_line(r, "smem")) {
        GS_TRY(read_formula(r, &entry->smem));
        GS_TRY(end_line(r));
    }
    if (at_line(r, "dependent")) {
        entry->dependent = true;
        GS_TRY(end_line(r));
    }
    while (at_line(r, "map")) {
        GS_TRY(read_map(r, manifest, entry));
        GS_TRY(end_line(r));
    }
    return GS_OK;
}

static gs_status read_head(reader *r, gs_manifest *manifest)
{
    int version = 0;
    bool second = false;
    GS_TRY(expect_line(r, "manifest"));
    gs_scan_space(&r->scan);
    GS_TRY(read_int(r, &version));
    if (version != 1)
        return gs_fail(r->error, GS_ERROR_PARSE, "manifest", "version %d is not known; this library reads version 1", version);
    GS_TRY(end_line(r));

    GS_TRY(expect_line(r, "accumulator"));
    GS_TRY(read_choice(r, "f32", "f16", &second));
    manifest->accumulator = second ? GS_F16 : GS_F32;
    GS_TRY(end_line(r));

    GS_TRY(expect_line(r, "determinism"));
    GS_TRY(read_choice(r, "none", "bitwise", &manifest->bitwise));
    GS_TRY(end_line(r));

    GS_TRY(expect_line(r, "align"));
    GS_TRY(read_align(r, manifest->align));
    GS_TRY(end_line(r));

    if (!at_line(r, "workspace")) return GS_OK;
    GS_TRY(read_formula(r, &manifest->workspace));
    GS_TRY(end_line(r));

    if (at_line(r, "zeroed")) {
        GS_TRY(read_formula(r, &manifest->zeroed));
        GS_TRY(end_line(r));
    }
    if (!at_line(r, "pack")) return GS_OK;
    gs_scan_space(&r->scan);
    for (int i = 0; i < 2; i++) manifest->packed[i] = gs_scan_take(&r->scan, i ? "b" : "a");
    if (!manifest->packed[0] && !manifest->packed[1]) return wrong(r, "pack", "a, b or ab");
    GS_TRY(check_packed(manifest, r->error));
    return end_line(r);
}

static gs_status read_manifest(reader *r, gs_manifest *manifest)
{
    next_line(r);
    GS_TRY(read_head(r, manifest));
    do {
        GS_TRY(expect_line(r, "entry"));
        if (manifest->entry_count == GS_MAX_ENTRIES)
            return gs_fail_at(r->error, GS_ERROR_RANGE, 1, "entry", "a manifest has at most %d entries", GS_MAX_ENTRIES);
        GS_TRY(read_entry(r, manifest, &manifest->entry[manifest->entry_count]));
        manifest->entry_count++;
    } while (*r->scan.at != '\0' || r->keyword[0]);
    return GS_OK;
}

gs_status gs_manifest_parse(gs_manifest *manifest, const char *text, gs_error *error)
{
    gs_error local;
    gs_manifest read = {0};
    const bool marked = strncmp(text, "\xef\xbb\xbf", 3) == 0;   /* UTF-8 byte order mark */
    reader r = {.next = text + (marked ? 3 : 0), .error = error ? error : &local};
    const gs_status status = read_manifest(&r, &read);
    if (status != GS_OK) {
        char keyword[16];
        gs_error *const e = r.error;
        memcpy(keyword, e->field, sizeof keyword - 1);
        keyword[sizeof keyword - 1] = '\0';
        if (e->column == 0) e->column = 1;
        snprintf(e->field, sizeof e->field, "line %d: %s", r.line, keyword);
        return status;
    }
    *manifest = read;
    return GS_OK;
}

/* ---- writing ---- */

static void format_entry(const gs_entry *entry, gs_text *text)
{
    gs_text_addf(text, "entry %s\n", entry->name);
    gs_text_addf(text, "grid %s %s %s\n", entry->grid[0].text, entry->grid[1].text, entry->grid[2].text);
    gs_text_addf(text, "block %d %d %d\n", entry->block[0], entry->block[1], entry->block[2]);
    if (entry->cluster[0] * entry->cluster[1] * entry->cluster[2] != 1)
        gs_text_addf(text, "cluster %d %d %d\n", entry->cluster[0], entry->cluster[1], entry->cluster[2]);
    if (entry->smem.text[0]) gs_text_addf(text, "smem %s\n", entry->smem.text);
    if (entry->dependent) gs_text_add(text, "dependent\n");
    for (int i = 0; i < entry->map_count; i++) {
        const gs_map *const map = &entry->map[i];
        gs_text_addf(text, "map %c %dx%d sw%d%s%s", map->operand, map->inner, map->outer, map->swizzle, map->batch ? " batch" : "",
                     map->turn ? " turn" : "");
        if (map->eighth) gs_text_addf(text, " eighth %d", map->eighth);
        gs_text_add(text, "\n");
    }
}

int gs_manifest_threads(const gs_manifest *manifest)
{
    int most = 0;
    for (const gs_entry *e = manifest->entry; e < manifest->entry + manifest->entry_count; e++) most = GS_MAX(most, e->block[0] * e->block[1] * e->block[2]);
    return most;
}

void gs_manifest_format(const gs_manifest *manifest, gs_text *text)
{
    const int *const align = manifest->align;
    gs_text_add(text, "manifest 1\n");
    gs_text_addf(text, "accumulator %s\n", manifest->accumulator == GS_F16 ? "f16" : "f32");
    gs_text_addf(text, "determinism %s\n", manifest->bitwise ? "bitwise" : "none");
    gs_text_addf(text, "align a=%d b=%d c=%d d=%d\n", align[0], align[1], align[2], align[3]);
    if (manifest->workspace.text[0]) gs_text_addf(text, "workspace %s\n", manifest->workspace.text);
    if (manifest->zeroed.text[0]) gs_text_addf(text, "zeroed %s\n", manifest->zeroed.text);
    if (manifest->packed[0] || manifest->packed[1]) gs_text_addf(text, "pack %s%s\n", manifest->packed[0] ? "a" : "", manifest->packed[1] ? "b" : "");
    for (int i = 0; i < manifest->entry_count; i++) format_entry(&manifest->entry[i], text);
}
