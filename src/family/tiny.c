/* SPDX-License-Identifier: MIT
 * Family tiny: a batch of many tiny matrices. Mirrors kernels/tiny.cu; docs/internals/tiny.md explains it. */
#include "family/tiny.h"

#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "problem/layout.h"
#include "schedule/family.h"
#include "schedule/model.h"

/* ---- parameters ---- */

static const gs_parameter_value matrices_values[] = {{"b1", {1}}, {"b2", {2}}, {"b4", {4}}, {"b8", {8}}, {"b16", {16}}, {"b32", {32}}};
static const gs_parameter_value rows_values[] = {{"r16", {16}}, {"r32", {32}}, {"r64", {64}}};
static const gs_parameter_value feed_values[] = {{"direct", {0}}, {"s2", {2}}, {"s3", {3}}, {"s4", {4}}, {"s6", {6}}, {"s8", {8}}};   /* stages */
static const gs_parameter_value warps_values[] = {{"w1", {1}}, {"w2", {2}}, {"w4", {4}}, {"w8", {8}}};

static const gs_parameter parameters[] = {
    [GS_TINY_MATRICES] = {"matrices", GS_VALUES(matrices_values)},
    [GS_TINY_ROWS]     = {"rows",     GS_VALUES(rows_values)},
    [GS_TINY_FEED]     = {"feed",     GS_VALUES(feed_values)},
    [GS_TINY_WARPS]    = {"warps",    GS_VALUES(warps_values)},
};

static int value_of(const gs_schedule *schedule, int parameter) { return gs_parameter_numbers(parameters, schedule, parameter)[0]; }

/* ---- which schedule strings are valid, and their resources ---- */

enum {
    MOST_REGISTERS = 255,    /* per thread */
    RESERVED_SMEM  = 1024,   /* bytes of shared memory that the driver reserves per resident block */
    PARTS          = 4,      /* partitions of a multiprocessor: each has a quarter of the registers, allocated to whole warps */
    MOST_COPY      = 1 << 20 /* most bytes that an mbarrier counts */
};

/* How an operand is stored. */
typedef struct operand {
    int64_t rows, cols, pitch;   /* elements */
    int64_t stride;              /* from one matrix to the next; 0: all share one */
    int     vector;              /* elements per access, chosen so that none crosses the end of a row */
    int     align;               /* the pointer is a multiple of so many elements */
    int64_t place;               /* offset in a stage, bytes */
} operand;

/* A schedule string applied to a problem: the constants of kernels/tiny.cu. */
typedef struct shape {
    int     warps, matrices, tiles, strips, stages;   /* tiles of 16 rows per strip, strips per matrix */
    int     columns;                                  /* tiles of 8 columns */
    int     steps;                                    /* steps of 16 k */
    operand a, b;
    int64_t stage;                                    /* bytes per stage */
} shape;

/* The largest power of two that divides x, at most `most`. */
static int power_in(int64_t x, int most)
{
    int power = 1;
    while (power < most && x % (2 * power) == 0) power *= 2;
    return power;
}

static operand operand_of(const gs_problem *p, char letter, int matrices)
{
    const gs_shape s = gs_shape_of(p, letter);
    const int64_t rows = s.rows, cols = s.row, pitch = s.ld, used = (rows - 1) * pitch + cols;
    const int align = power_in(gs_rows_unit(p, letter), 8);
    const int64_t bytes = (s.stride ? matrices * s.stride * 2 : (used * 2 + 15) / 16 * 16) + (align < 8 ? 16 : 0);
    return (operand){.rows = rows, .cols = cols, .pitch = pitch, .stride = s.stride, .vector = power_in(cols, align), .align = align, .place = (bytes + 127) / 128 * 128};
}

static shape shape_of(const gs_schedule *schedule, const gs_problem *p)
{
    const bool a_across = gs_is_a_transposed(p->layout), b_along = gs_is_b_transposed(p->layout);
    const int m_tiles = (int)((p->m + 15) / 16), k_rest = (int)(p->k % 32), matrices = value_of(schedule, GS_TINY_MATRICES);
    shape s = {
        .warps = value_of(schedule, GS_TINY_WARPS), .matrices = matrices, .stages = value_of(schedule, GS_TINY_FEED),
        .tiles = GS_MIN(value_of(schedule, GS_TINY_ROWS) / 16, m_tiles), .columns = (int)((p->n + 7) / 8),
        .steps = a_across && !b_along ? (int)((p->k + 15) / 16) : 2 * (int)(p->k / 32 + (k_rest > 16)) + (k_rest > 0 && k_rest <= 16),
        .a = operand_of(p, 'a', matrices), .b = operand_of(p, 'b', matrices),
    };
    s.strips = (m_tiles + s.tiles - 1) / s.tiles;
    s.stage = s.a.place + s.b.place;
    return s;
}

static int64_t smem_of(const shape *s) { return s->stages * (s->stage + 16); }   /* with two mbarriers per stage */

/* Registers for a lane's words of an operand: rows of A or columns of B, `lines` of them. If loads are narrower than a word, or rows run across K, words are assembled
 * from as many registers. */
static int words_of(const shape *s, const operand *o, bool along, int lines)
{
    const int words = lines * (s->stages ? GS_MIN(4, 2 * s->steps) : s->matrices * 2 * s->steps);
    if (o->vector == 1) return 2 * words + 8;
    return along ? words : words + (s->stages ? 3 * lines : words);
}
static int all_words_of(const shape *s, const gs_problem *p)
{
    return words_of(s, &s->a, !gs_is_a_transposed(p->layout), 2 * s->tiles) + words_of(s, &s->b, gs_is_b_transposed(p->layout), s->columns);
}

static bool has_ends(const gs_problem *p) { return p->bias || p->activation || p->scales; }

/* Registers that a thread needs without spilling. Checked against the compiler in tests/family/tiny.c. */
static int registers_of(const shape *s, const gs_problem *p)
{
    const bool singly = s->a.vector == 1 || s->b.vector == 1;
    const int found = !p->matrices ? 0 : !singly ? 8 : p->beta != 0 ? 48 : has_ends(p) ? 16 : 8;   /* pointers to matrices, live together with other values */
    const int pointers = s->stages ? 0 : 4 * s->matrices + found, ends = (p->beta != 0 ? 12 : 0) + (has_ends(p) ? 12 * s->tiles : 0);
    const int odd = p->n % 2 || p->ldd % 2 ? 8 * s->tiles : 0;   /* elements of D are stored one by one */
    return s->tiles * s->columns * 4 + all_words_of(s, p) + pointers + 40 + ends + odd;
}

/* The same for large shares, for which the compiler's instruction order needs more. */
static int most_registers_of(const shape *s, const gs_problem *p)
{
    return registers_of(s, p) + (s->stages ? s->tiles > 2 ? 24 : 0 : 32 + all_words_of(s, p) / 4);
}

static int blocks_of(const shape *s, const gs_problem *p, const gs_caps *caps)
{
    const int threads = s->warps * 32, granted = GS_MIN((registers_of(s, p) + 7) / 8 * 8, 256);
    const int by_registers = caps->registers_sm / PARTS / (granted * 32) * PARTS * 32 / threads;
    const int by_smem = (int)(caps->smem_sm / (smem_of(s) + RESERVED_SMEM));
    const int by_slots = caps->cc == 80 || caps->cc >= 90 ? 32 : caps->cc == 89 ? 24 : 16;
    return GS_MAX(1, GS_MIN(GS_MIN(by_registers, by_smem), GS_MIN(caps->threads_sm / threads, by_slots)));
}

static gs_status check_problem(const gs_problem *p, const gs_caps *caps, gs_error *error)
{
    const struct { const char *name; int64_t value; } extents[] = {{"m", p->m}, {"n", p->n}, {"k", p->k}};
    const struct { const char *name; int64_t value; } pitches[] = {{"lda", p->lda}, {"ldb", p->ldb}, {"ldc", p->ldc}, {"ldd", p->ldd}};
    if (caps->cc < 80)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "tiny needs compute capability 8.0; this device has %d.%d", caps->cc / 10, caps->cc % 10);
    for (size_t i = 0; i < GS_COUNT(extents); i++)
        if (extents[i].value < 1 || extents[i].value > GS_TINY_MOST)
            return gs_fail(error, GS_ERROR_UNSUPPORTED, extents[i].name, "tiny takes matrices of 1 to %d rows and columns", GS_TINY_MOST);
    if (p->batch < GS_TINY_LEAST_BATCH)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "batch", "tiny takes batches of %d matrices and more: of fewer, one is too little for a warp", GS_TINY_LEAST_BATCH);
    for (size_t i = 0; i < GS_COUNT(pitches); i++)
        if (pitches[i].value > INT32_MAX) return gs_fail(error, GS_ERROR_UNSUPPORTED, pitches[i].name, "too large for a constant of the kernel");
    return GS_OK;
}

/* Requirements of bulk copies. */
static gs_status check_ring(const shape *s, const gs_problem *p, const gs_caps *caps, gs_error *error)
{
    if (p->matrices) return gs_fail(error, GS_ERROR_UNSUPPORTED, "feed", "bulk copies bring matrices that lie one behind the other, and these are found by pointers; take direct");
    for (int i = 0; i < 2; i++) {
        const operand *const o = i ? &s->b : &s->a;
        if (o->stride && o->stride < (o->rows - 1) * o->pitch + o->cols)
            return gs_fail(error, GS_ERROR_UNSUPPORTED, "feed", "bulk copies bring matrices that lie one behind the other, and those of %c do not; take direct", i ? 'B' : 'A');
    }
    if (caps->cc < 90) return gs_fail(error, GS_ERROR_UNSUPPORTED, "feed", "bulk copies need compute capability 9.0; take direct");
    if (s->matrices * s->strips < s->warps)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "warps", "%d strips in a stage are too few for %d warps", s->matrices * s->strips, s->warps);
    const int64_t smem = smem_of(s);
    if (smem > caps->smem_block || s->stage >= MOST_COPY)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "feed", "%lld bytes of shared memory, a block has %d", (long long)smem, caps->smem_block);
    return GS_OK;
}

static gs_status check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    GS_TRY(check_problem(problem, caps, error));
    const shape s = shape_of(schedule, problem);
    const int rows = value_of(schedule, GS_TINY_ROWS);
    if (rows > 16 && rows / 2 >= (problem->m + 15) / 16 * 16)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "a matrix has %lld rows", (long long)problem->m);
    if (s.stages) GS_TRY(check_ring(&s, problem, caps, error));
    if (s.tiles > 2 && problem->beta != 0 && has_ends(problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "rows", "a strip of so many rows leaves no registers for C beside a bias or an activation; take less");
    const int registers = most_registers_of(&s, problem);
    if (registers > MOST_REGISTERS)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, s.stages ? "rows" : "matrices", "a warp's share takes about %d registers, a thread has %d; take less", registers, MOST_REGISTERS);
    return GS_OK;
}

static gs_resources resources_of(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const shape s = shape_of(schedule, problem);
    const int blocks = blocks_of(&s, problem, caps);
    const int warps_part = (blocks * s.warps + PARTS - 1) / PARTS;
    const int allowed = caps->registers_sm / PARTS / (warps_part * 32) / 8 * 8;   /* registers per thread that allow so many resident blocks */
    return (gs_resources){.threads = s.warps * 32, .registers = GS_MIN(MOST_REGISTERS, allowed), .smem = (int)smem_of(&s), .blocks_sm = blocks, .cluster = 1};
}

/* ---- the time model ---- */

/* [judgement] cycles per chunk of a block besides its strips: barriers, issuing a copy, one latency each of shared memory, mma and stores; relative cost of bytes that
 * threads load directly: the most similar case that was measured, loads into registers, reached nine tenths of the bandwidth */
static const double chunk_cycles = 300, direct_bytes = 1.1;

/* Bytes read from memory per matrix: bulk copies also read the gaps between and after rows. A shared matrix stays in the caches. */
static double bytes_of(const operand *o, bool bulk) { return !o->stride ? 0 : bulk ? 2.0 * (double)o->stride : 2.0 * (double)o->rows * (double)o->cols; }

/* Loads per lane for its words of an operand, per matrix or strip. lines: its rows of A, or columns of B. */
static double loads_of(const operand *o, bool along, double lines, double words)
{
    const double pieces = along ? fmax(1, 4.0 / o->vector) : 2 / fmin(o->vector, fmin(lines, 4)) * 2;   /* for two words */
    return lines * words / 2 * pieces;
}

static gs_work work_of(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile)
{
    const gs_rates *const r = &profile->rates;
    const shape s = shape_of(schedule, p);
    const bool bulk = s.stages > 0;
    const double words = 2 * s.steps, strips = bulk ? (double)s.matrices * s.strips : (double)s.matrices * s.warps;   /* per block at a time */
    const double resident = blocks_of(&s, p, &profile->caps), matrices = strips / s.strips;
    const double own = strips / s.warps, mmas = (double)s.tiles * s.columns * s.steps;
    const double loads = loads_of(&s.a, !gs_is_a_transposed(p->layout), 2 * s.tiles, words) + loads_of(&s.b, gs_is_b_transposed(p->layout), s.columns, words);
    const double in = bytes_of(&s.a, bulk) + bytes_of(&s.b, bulk), out = (double)(p->m * p->n) * (double)gs_type_size(p->out);
    const double stores = 2.0 * s.tiles * fmax(1, s.columns / 4.0) * (p->beta != 0 ? 2 : 1);
    const double sums = 4.0 * s.tiles * s.columns;
    return (gs_work){
        .blocks = ceil((double)p->batch / (matrices * resident)),   /* the chunks that a multiprocessor works on at a time count as one block */
        .cluster = 1, .resident = (int)resident, .persistent = true,
        .steps   = 1,
        .matrix  = resident * strips * mmas * 2 * 16 * 8 * 16 / (profile->caps.tensor_flops * r->mma_share),
        .port    = resident * (bulk ? matrices * in / r->port_bytes + strips * loads * 2 : strips * loads * r->direct_port),
        .issue   = resident * strips * (2 * loads + mmas + 2 * sums + 4 * stores + 20),
        .feed    = resident * matrices * in,
        .chain   = (bulk ? chunk_cycles : 0) + own * (r->mma_fragment + mmas * r->mma_step),
        .latency = bulk ? r->ws_latency : r->mma_latency,
        .ahead   = bulk ? s.stages - 1 : 1,
        .held    = 1,
        .start   = bulk ? r->mma_start : 0,
        .finish  = own * stores,
        .finish_port = resident * strips * stores * r->direct_port,
        .store   = resident * matrices * out * (p->beta != 0 ? 2 : 1),
        .memory_bytes = (double)p->batch * (in + out * (p->beta != 0 ? 2 : 1)) * (bulk ? 1 : direct_bytes),
    };
}

/* ---- the kernel: kernels/tiny.cu with its defines and manifest ---- */

/* Blocks loop over chunks: the grid has at most as many blocks as are resident at once, and no more than needed for an equal number of chunks each. */
static gs_status set_grid(gs_entry *entry, const shape *s, int blocks, gs_error *error)
{
    char chunks[40], text[GS_FORMULA];
    if (s->stages) snprintf(chunks, sizeof chunks, "cdiv(batch,%d)", s->matrices);
    else snprintf(chunks, sizeof chunks, "cdiv(batch*%d,%d)", s->strips, s->matrices * s->warps);
    snprintf(text, sizeof text, "cdiv(%s,cdiv(%s,sms*%d))", chunks, chunks, blocks);
    GS_TRY(gs_formula_set(&entry->grid[0], text, error));
    GS_TRY(gs_formula_set(&entry->grid[1], "1", error));
    return gs_formula_set(&entry->grid[2], "1", error);
}

static gs_status build(gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    const gs_resources resources = resources_of(schedule, problem, caps);
    const shape s = shape_of(schedule, problem);
    const int out_bytes = (int)gs_type_size(problem->out);
    const int align_c = power_in(gs_rows_unit(problem, 'c'), 16 / out_bytes), align_d = power_in(gs_rows_unit(problem, 'd'), 16 / out_bytes);

    kernel->name = "tiny.cu";
    kernel->source = gs_embedded_find(kernel->name);
    if (!kernel->source) return gs_fail(error, GS_ERROR_NOT_FOUND, kernel->name, "kernel source is not part of this build");
    gs_kernel_define_problem(kernel, problem);
    gs_kernel_define_sizes(kernel, problem);
    gs_kernel_define(kernel, "GS_WARPS", s.warps);
    gs_kernel_define(kernel, "GS_MATRICES", s.matrices);
    gs_kernel_define(kernel, "GS_TILES", s.tiles);
    gs_kernel_define(kernel, "GS_STAGES", s.stages);
    gs_kernel_define(kernel, "GS_BLOCKS", resources.blocks_sm);
    gs_kernel_define(kernel, "GS_VEC_A", s.a.vector);
    gs_kernel_define(kernel, "GS_VEC_B", s.b.vector);
    gs_kernel_define(kernel, "GS_VEC_C", power_in(problem->n, align_c));
    gs_kernel_define(kernel, "GS_VEC_D", power_in(problem->n, align_d));
    gs_kernel_define(kernel, "GS_SHIFT_A", s.a.align < 8);
    gs_kernel_define(kernel, "GS_SHIFT_B", s.b.align < 8);
    if (s.stages && problem->stride_a) gs_kernel_define(kernel, "GS_STRIDE_A", (int)s.a.stride);
    if (s.stages && problem->stride_b) gs_kernel_define(kernel, "GS_STRIDE_B", (int)s.b.stride);

    /* f16 accumulation would save nothing, because memory is the limit; f32 serves both. */
    gs_manifest *const manifest = &kernel->manifest;
    *manifest = (gs_manifest){.accumulator = GS_F32, .bitwise = true, .entry_count = 1,
                              .align = {2 * s.a.align, 2 * s.b.align, (problem->beta != 0 ? align_c : 1) * out_bytes, align_d * out_bytes}};
    gs_entry *const entry = &manifest->entry[0];
    *entry = (gs_entry){.block = {resources.threads, 1, 1}, .cluster = {1, 1, 1}, .dependent = caps->cc >= 90};
    snprintf(entry->name, sizeof entry->name, "gs_tiny");
    char text[GS_FORMULA];
    snprintf(text, sizeof text, "%d", resources.smem);
    if (resources.smem) GS_TRY(gs_formula_set(&entry->smem, text, error));
    return set_grid(entry, &s, resources.blocks_sm, error);
}

/* ---- the family ---- */

const gs_family gs_family_tiny = {
    .name       = "tiny",
    .summary    = "batches of many matrices of at most 64 rows and columns: a warp computes a whole one at the speed of memory",
    .parameters = parameters, .parameter_count = GS_COUNT(parameters),
    .a_transposed = true,
    .many       = true,
    .takes      = GS_WANTS_SCALARS | GS_WANTS_STRIDES | GS_WANTS_POINTERS | GS_WANTS_SCALES,
    .check      = check,
    .resources  = resources_of,
    .work       = work_of,
    .build      = build,
};
