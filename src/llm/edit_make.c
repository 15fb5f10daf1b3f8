/* SPDX-License-Identifier: MIT
 * Makes edits from a parent and its child: the lines that differ, each with the fewest context lines that make them unique. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "llm/edit.h"
#include "llm/edit_lines.h"

#define AROUND_MOST 100                /* context lines per difference; without a limit the search takes hours among thousands of equal lines */
#define TOUCH_MOST  8                  /* differences per final edit at most; some touch when widened, and are joined */
#define CELLS_MOST  ((size_t)8 << 20)   /* size of the LCS table; larger texts get one edit from their first to their last difference */

/* Lines [from, to) of the parent become lines [child_from, child_to) of the child. */
typedef struct hunk {
    int from, to, child_from, child_to;
} hunk;

typedef struct making {
    gs_edit_lines parent, child;
    hunk         *list;
    int           count, capacity;
} making;

static gs_status no_memory(gs_error *error) { return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for edits"); }

static gs_status none(const char *why, gs_error *error) { return gs_fail(error, GS_ERROR_UNSUPPORTED, "child", "%s", why); }

static gs_status many(gs_error *error) { return none("differs in too many places", error); }

static bool equal(const making *m, int i, int j)
{
    const gs_edit_line *const a = &m->parent.line[i], *const b = &m->child.line[j];
    return a->hash == b->hash && a->size == b->size && memcmp(a->at, b->at, a->size) == 0;
}

static bool add_hunk(making *m, hunk h)
{
    if (!gs_grow(&m->list, m->count, &m->capacity, sizeof *m->list)) return false;
    m->list[m->count++] = h;
    return true;
}

/* ---- differences ---- */

/* Differences along the longest common subsequence, after removing common lines at both ends. */
static bool compare(making *m, const hunk *all)
{
    const int rows = all->to - all->from, columns = all->child_to - all->child_from;
    const size_t width = (size_t)columns + 1;
    if (rows == 0 || columns == 0 || ((size_t)rows + 1) * width > CELLS_MOST) return add_hunk(m, *all);
    int *const length = calloc(((size_t)rows + 1) * width, sizeof *length);
    if (!length) return false;
    for (int i = rows - 1; i >= 0; i--)
        for (int j = columns - 1; j >= 0; j--) {
            const size_t at = (size_t)i * width + (size_t)j;
            length[at] = equal(m, all->from + i, all->child_from + j) ? length[at + width + 1] + 1 : GS_MAX(length[at + width], length[at + 1]);
        }
    bool whole = true;
    for (int i = 0, j = 0; whole && (i < rows || j < columns);) {
        if (i < rows && j < columns && equal(m, all->from + i, all->child_from + j)) {
            i++, j++;
            continue;
        }
        hunk h = {all->from + i, 0, all->child_from + j, 0};
        while ((i < rows || j < columns) && !(i < rows && j < columns && equal(m, all->from + i, all->child_from + j))) {
            const size_t at = (size_t)i * width + (size_t)j;
            if (j == columns || (i < rows && length[at + width] >= length[at + 1])) i++;
            else j++;
        }
        h.to = all->from + i;
        h.child_to = all->child_from + j;
        whole = add_hunk(m, h);
    }
    free(length);
    return whole;
}

static gs_status find_hunks(making *m, gs_error *error)
{
    hunk all = {0, m->parent.count, 0, m->child.count};
    while (all.from < all.to && all.child_from < all.child_to && equal(m, all.from, all.child_from)) all.from++, all.child_from++;
    while (all.from < all.to && all.child_from < all.child_to && equal(m, all.to - 1, all.child_to - 1)) all.to--, all.child_to--;
    if (all.from == all.to && all.child_from == all.child_to) return none("is the same as its parent", error);
    return compare(m, &all) ? GS_OK : no_memory(error);
}

/* ---- context lines ---- */

/* Whether these lines occur only here in the parent; blank lines alone do not count as unique; -1: no memory. */
static int unique(const making *m, int from, int to)
{
    bool blank = true;
    int at;
    for (int i = from; i < to && blank; i++) blank = m->parent.line[i].bare == 0;
    if (blank) return 0;
    const int times = gs_edit_find(&m->parent, &m->parent.line[from], to - from, &at);
    return times < 0 ? -1 : times == 1;
}

/* Adds context until the lines are unique, then drops what was not needed. Overlaps with other differences are handled by the caller. If AROUND_MOST lines do
 * not suffice, the result stays ambiguous, which check() finds. */
static bool widen(const making *m, hunk *h)
{
    const hunk least = *h;
    int is = unique(m, h->from, h->to);
    for (bool up = true; is == 0 && (h->from > 0 || h->to < m->parent.count) && h->to - h->from < least.to - least.from + AROUND_MOST; up = !up) {
        if (h->from > 0 && (up || h->to == m->parent.count)) h->from--;
        else h->to++;
        is = unique(m, h->from, h->to);
    }
    if (is < 0) return false;
    while (h->from < least.from && (is = unique(m, h->from + 1, h->to)) > 0) h->from++;
    while (is >= 0 && h->to > least.to && (is = unique(m, h->from, h->to - 1)) > 0) h->to--;
    return is >= 0;
}

/* Differences that touch after widening are joined. Between two differences the lines of both texts are equal, so a position outside all differences maps to
 * the child. */
static gs_status widen_all(making *m, gs_error *error)
{
    int kept = 0;
    for (int i = 0; i < m->count; i++) {
        const hunk h = m->list[i];
        hunk wide = h;
        if (!widen(m, &wide)) return no_memory(error);
        wide.child_from = h.child_from - (h.from - wide.from);
        wide.child_to = h.child_to + (wide.to - h.to);
        while (kept > 0 && wide.from <= m->list[kept - 1].to) {
            const hunk last = m->list[--kept];
            const int from = GS_MIN(last.from, wide.from), to = GS_MAX(last.to, wide.to);
            wide = (hunk){from, to, last.child_from - (last.from - from), wide.child_to + (to - wide.to)};
        }
        m->list[kept++] = wide;
    }
    m->count = kept;
    return GS_OK;
}

/* ---- the text ---- */

static bool has_mark(const gs_edit_lines *lines, int signs)
{
    for (int i = 0; i < lines->count; i++)
        for (const char *sign = "<=>"; *sign; sign++)
            if (gs_edit_mark(&lines->line[i], *sign) == signs) return true;
    return false;
}

static void add_lines(gs_text *out, const gs_edit_lines *from, int first, int end)
{
    for (int i = first; i < end; i++) {   /* an empty text has no lines, and line is NULL */
        gs_text_add_bytes(out, from->line[i].at, from->line[i].size);
        gs_text_add(out, "\n");
    }
}

static gs_status write(const making *m, gs_text *out, gs_error *error)
{
    static const int choices[] = {7, 8, 9, 6, 5, 0};
    static const char left[] = "<<<<<<<<<", middle[] = "=========", right[] = ">>>>>>>>>";
    const int *signs = choices;
    while (*signs && (has_mark(&m->parent, *signs) || has_mark(&m->child, *signs))) signs++;
    if (!*signs) return none("has lines like the marks of edits, of every length", error);
    if (m->count > GS_EDITS) return many(error);
    for (int i = 0; i < m->count; i++) {
        const hunk *const h = &m->list[i];
        gs_text_addf(out, "%.*s SEARCH\n", *signs, left);
        add_lines(out, &m->parent, h->from, h->to);
        gs_text_addf(out, "%.*s\n", *signs, middle);
        add_lines(out, &m->child, h->child_from, h->child_to);
        gs_text_addf(out, "%.*s REPLACE\n", *signs, right);
    }
    return out->failed ? no_memory(error) : GS_OK;
}

/* Applies the edits, to find children that edits cannot express. */
static gs_status check(const char *parent, const char *child, const char *edits, gs_error *error)
{
    gs_text got = {0};
    gs_error why = {0};
    gs_status status = gs_edit_apply(&got, parent, edits, "parent", &why);
    if (status == GS_ERROR_MEMORY) status = no_memory(error);
    else if (status != GS_OK || strcmp(gs_text_string(&got), child) != 0) status = none("cannot be made by edits", error);
    gs_text_free(&got);
    return status;
}

gs_status gs_edit_make(gs_text *out, const char *parent, const char *child, gs_error *error)
{
    making m = {0};
    gs_text edits = {0};
    gs_status status = gs_edit_lines_read(&m.parent, parent, error);
    if (status == GS_OK) status = gs_edit_lines_read(&m.child, child, error);
    if (status == GS_OK) status = find_hunks(&m, error);
    if (status == GS_OK && m.count > TOUCH_MOST * GS_EDITS) status = many(error);
    if (status == GS_OK) status = widen_all(&m, error);
    if (status == GS_OK) status = write(&m, &edits, error);
    if (status == GS_OK) status = check(parent, child, gs_text_string(&edits), error);
    if (status == GS_OK) gs_text_add(out, gs_text_string(&edits));
    if (status == GS_OK && out->failed) status = no_memory(error);
    free(m.parent.line);
    free(m.child.line);
    free(m.list);
    gs_text_free(&edits);
    return status;
}

/* The fence is longer than any run of backticks that begins a line of the text. */
static void add_block(gs_text *out, const char *info, const char *text)
{
    size_t ticks = 3;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const size_t its = strspn(at + strspn(at, " "), "`");
        ticks = GS_MAX(ticks, its + 1);
    }
    for (size_t i = 0; i < ticks; i++) gs_text_add(out, "`");
    gs_text_addf(out, "%s\n%s", info, text);
    for (size_t i = 0; i < ticks; i++) gs_text_add(out, "`");
    gs_text_add(out, "\n");
}

gs_status gs_edit_blocks(gs_text *out, const gs_parent *parent, const gs_parent *child, gs_error *error)
{
    const char *const before[] = {parent->source, parent->manifest}, *const after[] = {child->source, child->manifest};
    static const char *const infos[] = {"cuda kernel.cu", "text manifest"};
    gs_text blocks = {0};
    gs_status status = GS_OK;
    for (int i = 0; i < 2 && status == GS_OK; i++) {
        gs_text edits = {0};
        if (strcmp(before[i], after[i]) == 0) continue;
        status = gs_edit_make(&edits, before[i], after[i], error);
        if (status == GS_OK) add_block(&blocks, infos[i], gs_text_string(&edits));
        gs_text_free(&edits);
    }
    if (status == GS_OK && blocks.size == 0 && !blocks.failed) status = none("is the same as its parent", error);
    if (status == GS_OK) gs_text_add(out, gs_text_string(&blocks));
    if (status == GS_OK && (out->failed || blocks.failed)) status = no_memory(error);
    gs_text_free(&blocks);
    return status;
}
