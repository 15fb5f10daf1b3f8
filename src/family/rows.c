/* SPDX-License-Identifier: MIT
 * Rows of A and B that tensor copies (TMA) cannot read, or read slowly. */
#include "family/rows.h"

#include <stdio.h>

#include "base/error.h"
#include "problem/layout.h"

const gs_parameter_value gs_rows_values[4] = {{"given", {GS_ROWS_GIVEN}}, {"pack", {GS_ROWS_PACK}}, {"cpasync", {GS_ROWS_CPASYNC}}, {"shift", {GS_ROWS_SHIFT}}};

static int64_t pitch(const gs_problem *problem, char operand) { return gs_rows_unit(problem, operand); }   /* elements, or a value with the same power of two as factor */
static bool is_slow(const gs_problem *problem, char operand) { return pitch(problem, operand) % 16 != 0; }               /* or impossible */

/* Whether gate and up alternate along the rows of B: tensor copies cannot interleave such columns. */
static bool has_turns_along_rows(const gs_problem *problem) { return problem->gate && !gs_is_b_transposed(problem->layout); }

static bool packs(int rows, const gs_problem *problem, char operand)
{
    return rows == GS_ROWS_PACK && (is_slow(problem, operand) || (operand == 'b' && has_turns_along_rows(problem)));
}

bool gs_rows_turn(int rows, const gs_problem *problem) { return problem->gate && !packs(rows, problem, 'b'); }

int gs_rows_feed(int rows, const gs_problem *problem, char operand)
{
    if (rows == GS_ROWS_SHIFT) return GS_FEED_EIGHTHS;
    if (rows != GS_ROWS_CPASYNC || !is_slow(problem, operand)) return GS_FEED_TENSOR;
    return pitch(problem, operand) % 8 == 0 ? GS_FEED_UNITS : GS_FEED_SHIFTED;
}

enum { EIGHTHS = 8 };

/* Both operands must need shifting: if only one did, its shared memory would cost the other's stages, and nothing would be gained. */
static gs_status check_shift(const gs_problem *p, gs_error *error)
{
    if (p->layout != GS_TN || p->batch > 1 || p->groups || p->matrices || p->gate || p->m < EIGHTHS || p->n < EIGHTHS || pitch(p, 'a') % 8 == 0 || pitch(p, 'b') % 8 == 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "what is shifted is A and B stored along K, of eight rows or more that do not start at multiples of 16 bytes");
    return GS_OK;
}

gs_status gs_rows_check(int rows, const gs_problem *problem, gs_error *error)
{
    if (rows != GS_ROWS_GIVEN && !is_slow(problem, 'a') && !is_slow(problem, 'b') && !has_turns_along_rows(problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "rows of A and B start at multiples of 32 bytes: tensor copies take them as they are");
    if (rows == GS_ROWS_SHIFT) return check_shift(problem, error);
    if (rows == GS_ROWS_GIVEN && (pitch(problem, 'a') % 8 || pitch(problem, 'b') % 8))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, problem->lda % 8 ? "lda" : problem->ldb % 8 ? "ldb" : "stride",
                       "tensor copies need rows of A and B that start at multiples of 16 bytes, or that are packed first");
    if (problem->gate && rows == GS_ROWS_CPASYNC) return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "with a gate A and B are read by tensor copies");
    if (has_turns_along_rows(problem) && rows != GS_ROWS_PACK)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "layout", "with a gate tensor copies read B stored N x K, its rows in turn, or a packed copy");
    if (problem->gate && problem->n % 8 != 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "n", "a gated B is read in eights: of the gate, of up");
    return GS_OK;
}

double gs_rows_bytes(int rows, const gs_problem *problem, char operand, const gs_profile *profile)
{
    static const double across = 9.0 / 8;   /* rows of 128 bytes that are not aligned to 32-byte sectors [judgement] */
    if (rows == GS_ROWS_SHIFT) return across;
    if (gs_rows_feed(rows, problem, operand) != GS_FEED_TENSOR) return profile->rates.cpasync_feed;
    return rows == GS_ROWS_GIVEN && is_slow(problem, operand) ? profile->rates.pitch_feed : 1;
}

double gs_rows_port(int rows, const gs_problem *problem, char operand)
{
    const int feed = gs_rows_feed(rows, problem, operand);
    return feed == GS_FEED_SHIFTED ? 4 : feed == GS_FEED_EIGHTHS ? 3 + 1.0 / 8 : 1;   /* written, read with the next unit (of each unit, or only of a row's last), written again */
}

int gs_rows_beside(int rows, const gs_problem *problem, char operand, int extent, int k)
{
    return gs_rows_feed(rows, problem, operand) == GS_FEED_SHIFTED ? extent * k / 4 : 0;   /* 16 bytes per 64 elements */
}

enum { ROW = 128, RING = 2 };   /* bytes of 64 elements of a row; stages of the ring, as GS_SHIFTED */

/* A stage has eight parts, each with a multiple of eight rows. */
int gs_rows_padding(int rows, int extent) { return rows == GS_ROWS_SHIFT ? ((extent / EIGHTHS + 7) / 8 * 8 * EIGHTHS - extent) * ROW : 0; }
int gs_rows_ring(int rows, int extent) { return rows == GS_ROWS_SHIFT ? RING * extent * ROW : 0; }
int gs_rows_more_k(int rows) { return rows == GS_ROWS_SHIFT ? 7 : 0; }

void gs_rows_eighths(gs_entry *entry, int bm, int bn)
{
    for (int i = 0; i < 2 * EIGHTHS; i++)
        entry->map[entry->map_count++] = (gs_map){.operand = i < EIGHTHS ? 'a' : 'b', .inner = 64, .outer = (i < EIGHTHS ? bm : bn) / EIGHTHS, .swizzle = 128, .eighth = i % EIGHTHS + 1};
}

double gs_rows_cycles(int rows, const gs_problem *problem, const gs_profile *profile)
{
    static const double launch_us = 1.2, share = 0.8;   /* gap between that launch and the next; share of the memory bandwidth [judgement] */
    const double a = packs(rows, problem, 'a') ? (double)problem->m * (double)problem->k : 0;
    const double b = packs(rows, problem, 'b') ? (double)gs_columns_of_b(problem) * (double)problem->k : 0;
    if (rows != GS_ROWS_PACK) return 0;
    return (launch_us + (a + b) * 4 / (profile->caps.memory_gbs * 1e3 * share)) * profile->caps.clock_mhz;
}

/* Rows of a packed copy start at multiples of 128 bytes. */
static gs_status set_workspace(gs_manifest *manifest, const gs_problem *problem, gs_error *error)
{
    const char *const a = !manifest->packed[0] ? "" : gs_is_a_transposed(problem->layout) ? "k*cdiv(m,64)*128" : "m*cdiv(k,64)*128", *const twice = problem->gate ? "2*" : "";
    char text[GS_FORMULA], b[GS_FORMULA] = "";
    if (manifest->packed[1]) snprintf(b, sizeof b, gs_is_b_transposed(problem->layout) ? "%sn*cdiv(k,64)*128" : "k*cdiv(%sn,64)*128", twice);
    snprintf(text, sizeof text, "%s%s%s", a, *a && *b ? "+" : "", b);
    return gs_formula_set(&manifest->workspace, text, error);
}

static gs_status set_entry(gs_entry *entry, gs_error *error)
{
    enum { THREADS = 256, BLOCKS_SM = 8 };   /* as in kernels/common/pack.cuh: fills a multiprocessor */
    char text[GS_FORMULA];
    *entry = (gs_entry){.block = {THREADS, 1, 1}, .cluster = {1, 1, 1}, .dependent = true};
    snprintf(entry->name, sizeof entry->name, "gs_pack");
    snprintf(text, sizeof text, "sms*%d", BLOCKS_SM);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "1", error));
    return gs_formula_set(&entry->grid[2], "1", error);
}

bool gs_rows_copied(int rows, const gs_problem *problem)
{
    return rows != GS_ROWS_PACK && !gs_rows_feed(rows, problem, 'a') && !gs_rows_feed(rows, problem, 'b');
}

gs_status gs_rows_build(gs_kernel *kernel, int rows, const gs_problem *problem, gs_error *error)
{
    static const char operands[] = {'a', 'b'}, *const defines[] = {"GS_FEED_A", "GS_FEED_B"};
    gs_manifest *const manifest = &kernel->manifest;
    for (int i = 0; i < 2; i++) {
        const int feed = gs_rows_feed(rows, problem, operands[i]);
        manifest->packed[i] = packs(rows, problem, operands[i]);
        manifest->align[i] = manifest->packed[i] || feed >= GS_FEED_SHIFTED ? 2 : 16;
        gs_kernel_define(kernel, defines[i], feed);
    }
    if (problem->gate) gs_kernel_define(kernel, "GS_TURN", gs_rows_turn(rows, problem));
    if (rows != GS_ROWS_PACK) return GS_OK;
    gs_kernel_define(kernel, "GS_PACK_A", manifest->packed[0]);
    gs_kernel_define(kernel, "GS_PACK_B", manifest->packed[1]);
    GS_TRY(set_workspace(manifest, problem, error));
    return set_entry(&manifest->entry[manifest->entry_count++], error);
}
