/* SPDX-License-Identifier: MIT
 * The archive: the best kernel of each kind. */
#include "author/archive.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "kernel/manifest.h"

/* Upper bounds of the ranges; above the last one is a further range. Shared memory: by how many blocks fit on a multiprocessor. */
static const int registers_to[] = {64, 96, 128, 168}, smem_to[] = {49152, 76800, 116224, 232448}, threads_to[] = {128, 256, 384};

static int range_of(int value, const int *to, size_t count)
{
    size_t i = 0;
    while (i < count && value > to[i]) i++;
    return (int)i;
}

/* ---- the matrix instruction ---- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The end of the comment that begins here; NULL: no comment begins here. */
static const char *skip_comment(const char *at)
{
    if (at[0] != '/' || (at[1] != '/' && at[1] != '*')) return NULL;
    const char *const end = strstr(at + 2, at[1] == '*' ? "*/" : "\n");
    return end ? end + (at[1] == '*' ? 2 : 0) : at + strlen(at);
}

/* Finds words, also inside inline PTX: mma.sync, gs_mma_..., common/mma_sync.cuh; wgmma.mma_async, gs_wgmma_..., common/wgmma.cuh. */
static gs_matrix matrix_of(const char *source)
{
    gs_matrix found = GS_MATRIX_NONE;
    for (const char *at = source; *at;) {
        const char *const after = skip_comment(at);
        if (after) {
            at = after;
        } else if (!is_word(*at)) {
            at++;
        } else {
            size_t size = 0;
            while (is_word(at[size])) size++;
            for (size_t i = 0; i + 3 <= size; i++) {
                if (strncmp(at + i, "wgmma", 5) == 0) return GS_MATRIX_WGMMA;
                if (strncmp(at + i, "mma", 3) == 0 && (i == 0 || at[i - 1] == '_')) found = GS_MATRIX_MMA;
            }
            at += size;
        }
    }
    return found;
}

/* The value of a metric; -1: there is none. */
static double metric(const char *metrics, const char *name)
{
    const size_t size = strlen(name);
    for (const char *at = metrics; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, name, size) == 0 && at[size] == ' ') return strtod(at + size + 1, NULL);
    return -1;
}

static gs_matrix counted_matrix(const char *source, const char *metrics)
{
    if (metric(metrics, "ptx_other") < 0) return matrix_of(source);
    return metric(metrics, "ptx_wgmma") > 0 ? GS_MATRIX_WGMMA : metric(metrics, "ptx_mma") > 0 ? GS_MATRIX_MMA : GS_MATRIX_NONE;
}

static int threads_of(const char *manifest)
{
    gs_manifest parsed;
    return gs_manifest_parse(&parsed, manifest, NULL) == GS_OK ? gs_manifest_threads(&parsed) : 0;
}

gs_kind gs_kind_of(const char *source, const char *manifest, const char *metrics, int registers, int smem)
{
    return (gs_kind){counted_matrix(source, metrics ? metrics : ""), range_of(registers, registers_to, GS_COUNT(registers_to)),
                     range_of(smem, smem_to, GS_COUNT(smem_to)), range_of(threads_of(manifest), threads_to, GS_COUNT(threads_to))};
}

const char *gs_kind_text(const gs_kind *kind, char text[64])
{
    static const char *const matrix[] = {"none", "mma", "wgmma"};
    const bool registers = kind->registers < (int)GS_COUNT(registers_to), smem = kind->smem < (int)GS_COUNT(smem_to), threads = kind->threads < (int)GS_COUNT(threads_to);
    snprintf(text, 64, "%s %s%d registers %s%d KiB %s%d threads", matrix[kind->matrix],
             registers ? "<=" : ">", registers_to[registers ? kind->registers : (int)GS_COUNT(registers_to) - 1],
             smem ? "<=" : ">", smem_to[smem ? kind->smem : (int)GS_COUNT(smem_to) - 1] / 1024,
             threads ? "<=" : ">", threads_to[threads ? kind->threads : (int)GS_COUNT(threads_to) - 1]);
    return text;
}

/* ---- the best of each kind ---- */

static bool same_kind(const gs_kind *a, const gs_kind *b)
{
    return a->matrix == b->matrix && a->registers == b->registers && a->smem == b->smem && a->threads == b->threads;
}

gs_status gs_archive_put(gs_archive *archive, const gs_elite *elite, gs_error *error)
{
    for (int i = 0; i < archive->count; i++)
        if (same_kind(&archive->list[i].kind, &elite->kind)) {
            if (elite->score > archive->list[i].score) archive->list[i] = *elite;
            return GS_OK;
        }
    if (!gs_grow(&archive->list, archive->count, &archive->capacity, sizeof *archive->list)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the archive");
    archive->list[archive->count++] = *elite;
    return GS_OK;
}

const gs_elite *gs_archive_draw(const gs_archive *archive, int island, bool own, gs_random *random)
{
    int count = 0;
    for (int i = 0; i < archive->count; i++) count += (archive->list[i].island == island) == own;
    if (count == 0) return NULL;
    int left = (int)gs_random_below(random, (uint64_t)count);
    for (int i = 0; i < archive->count; i++)
        if ((archive->list[i].island == island) == own && left-- == 0) return &archive->list[i];
    return NULL;
}

const gs_elite *gs_archive_best(const gs_archive *archive)
{
    const gs_elite *best = NULL;
    for (int i = 0; i < archive->count; i++)
        if (!best || archive->list[i].score > best->score) best = &archive->list[i];
    return best;
}

static int by_score(const void *left, const void *right)
{
    const gs_elite *const a = left, *const b = right;
    return a->score != b->score ? (a->score < b->score) - (a->score > b->score) : a->attempt - b->attempt;
}

void gs_archive_sort(gs_archive *archive)
{
    if (archive->count > 0) qsort(archive->list, (size_t)archive->count, sizeof *archive->list, by_score);
}
