/* SPDX-License-Identifier: MIT
 * wgmma: Hopper's asynchronous warpgroup matrix instructions. Each warp computes its own 16 of the 64 rows. An operation reads shared memory and computes when its
 * task gets a turn, at any time between its commit and the wait for its group. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/isa/wgmma.h"

#define MOST_QUEUED 4096   /* queued operations per warp; with more, the oldest runs at once */
#define UNUSED_BITS 0x3ff1c000c000c000ull   /* bits of a descriptor: 14, 15, 30, 31, 46 to 48, 52 to 61 */

/* ---- state ---- */

static gs_emu_result no_memory(gs_emu_warp *w, const gs_emu_op *op) { return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "no memory to emulate it"); }

static void free_state(struct gs_emu_wgmma_state *s)
{
    while (s->chain) {
        gs_emu_chain *const next = s->chain->next;
        free(s->chain);
        s->chain = next;
    }
    free(s->tag);
    free(s->queue);
    free(s->read);
    free(s);
}

static struct gs_emu_wgmma_state *state_of(gs_emu_warp *w)
{
    if (w->wgmma) return w->wgmma;
    const struct gs_emu_wgmma_code *const code = gs_emu_wgmma_watch(w->code);
    struct gs_emu_wgmma_state *const s = code ? calloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    s->code = code;
    s->tag = calloc(code->slots + 1, sizeof *s->tag);
    s->read_words = w->cluster->launch->shared_bytes / (64 * GS_EMU_PIECE) + 1;
    s->read_low = s->read_words;
    if (w->cluster->check) s->read = calloc(s->read_words, sizeof *s->read);
    if (!s->tag || (w->cluster->check && !s->read)) {
        free_state(s);
        return NULL;
    }
    w->wgmma = s;
    return s;
}

void gs_emu_wgmma_free(gs_emu_warp *w)
{
    if (w->wgmma) free_state(w->wgmma);
    w->wgmma = NULL;
}

/* ---- operations ---- */

static int columns_of(const gs_emu_op *op) { return 8 * op->count; }

static int depth_of(const gs_emu_op *op) { return op->type == GS_PTX_TF32 ? 8 : 16; }

static int pieces_a(const gs_emu_warp *w, const gs_emu_op *op, uint64_t bits, uint32_t *piece)
{
    const gs_emu_descriptor d = gs_emu_descriptor_of(bits);
    return gs_emu_descriptor_pieces(&d, op->flags & GS_EMU_WGMMA_A_MN_MAJOR, (uint32_t)w->index % 4 * GS_EMU_ROWS, GS_EMU_ROWS, piece);
}

static int pieces_b(const gs_emu_op *op, uint64_t bits, uint32_t *piece)
{
    const gs_emu_descriptor d = gs_emu_descriptor_of(bits);
    return gs_emu_descriptor_pieces(&d, op->flags & GS_EMU_WGMMA_B_MN_MAJOR, 0, (uint32_t)columns_of(op), piece);
}

static void load_a(const gs_emu_warp *w, const gs_emu_wgmma_operation *o, float *at)
{
    const gs_emu_op *const op = o->op;
    float rows[GS_EMU_ROWS * 16];
    uint32_t piece[2 * GS_EMU_ROWS];
    if (op->flags & GS_EMU_WGMMA_A_REGISTERS) {
        const uint32_t *const reg[] = {o->a[0], o->a[1], o->a[2], o->a[3]};
        gs_emu_fragment_a(at, reg, 4, (gs_ptx_type)op->type);
    } else if (op->flags & GS_EMU_WGMMA_A_MN_MAJOR) {
        gs_emu_load_pieces(at, w->block->shared, piece, pieces_a(w, op, o->what.a, piece), (gs_ptx_type)op->type);
    } else {
        gs_emu_load_pieces(rows, w->block->shared, piece, pieces_a(w, op, o->what.a, piece), (gs_ptx_type)op->type);
        gs_emu_transpose_rows(at, rows, depth_of(op));
    }
    if (op->flags & GS_EMU_WGMMA_NEGATE)
        for (int i = 0; i < GS_EMU_ROWS * depth_of(op); i++) at[i] = -at[i];
}

static void perform(const gs_emu_warp *w, const gs_emu_wgmma_operation *o)
{
    const gs_emu_op *const op = o->op;
    const int n = columns_of(op), depth = depth_of(op);
    const bool mn_major = op->flags & GS_EMU_WGMMA_B_MN_MAJOR;
    float at[GS_EMU_ROWS * 16], b[GS_EMU_MOST_N * 16];
    uint32_t piece[GS_EMU_PIECES];
    load_a(w, o, at);
    gs_emu_load_pieces(b, w->block->shared, piece, pieces_b(op, o->what.b, piece), (gs_ptx_type)op->type);
    gs_emu_multiply(o->chain->tile, at, b, n, mn_major ? 1 : depth, mn_major ? n : 1, depth, o->what.accumulate, o->chain->half);
}

/* ---- the queue ---- */

static gs_emu_wgmma_operation *oldest(const struct gs_emu_wgmma_state *s) { return s->count ? &s->queue[s->head] : NULL; }

static bool can_run(const struct gs_emu_wgmma_state *s) { return s->count && oldest(s)->group <= s->committed; }

/* Groups whose operations have all run. */
static uint32_t finished(const struct gs_emu_wgmma_state *s) { return can_run(s) ? oldest(s)->group - 1 : s->committed; }

static void run_oldest(gs_emu_warp *w)
{
    struct gs_emu_wgmma_state *const s = w->wgmma;
    const uint32_t before = finished(s);
    perform(w, oldest(s));
    s->head = (s->head + 1) % s->capacity;
    s->count--;
    if (finished(s) != before) gs_emu_happened(w->cluster);
}

/* Appends an entry; NULL: no memory. */
static gs_emu_wgmma_operation *append(gs_emu_warp *w)
{
    struct gs_emu_wgmma_state *const s = w->wgmma;
    if (s->count == MOST_QUEUED) run_oldest(w);
    if (s->count == s->capacity) {
        const uint32_t capacity = s->capacity ? 2 * s->capacity : 8;
        gs_emu_wgmma_operation *const queue = malloc(capacity * sizeof *queue);
        if (!queue) return NULL;
        for (uint32_t i = 0; i < s->count; i++) queue[i] = s->queue[(s->head + i) % s->capacity];
        free(s->queue);
        s->queue = queue;
        s->head = 0;
        s->capacity = capacity;
    }
    return &s->queue[(s->head + s->count++) % s->capacity];
}

typedef struct pump {
    gs_emu_task  task;
    gs_emu_warp *warp;
} pump;

/* Runs one operation of the warp. task->order identifies the warp's state, which a warp that ended no longer has. */
static bool pump_step(gs_emu_cluster *cluster, gs_emu_task *task)
{
    gs_emu_warp *const w = ((pump *)(void *)task)->warp;
    struct gs_emu_wgmma_state *const s = w->wgmma;
    (void)cluster;
    if (!s || s != task->order) return true;
    if (can_run(s)) run_oldest(w);
    s->armed = can_run(s);
    return !s->armed;
}

static void arm(gs_emu_warp *w)
{
    struct gs_emu_wgmma_state *const s = w->wgmma;
    if (s->armed || !can_run(s)) return;
    pump *const p = malloc(sizeof *p);
    if (p) *p = (pump){.task = {.step = pump_step, .order = s}, .warp = w};
    s->armed = p && gs_emu_task_add(w->cluster, &p->task);
    while (!s->armed && can_run(s)) run_oldest(w);   /* no memory for a task: run it now */
}

/* ---- issue ---- */

static bool same_in_all_lanes(gs_emu_warp *w, uint32_t offset)
{
    const uint64_t *const value = gs_emu_u64(w, offset);
    bool same = true;
    for (int lane = 1; lane < GS_EMU_LANES; lane++) same &= value[lane] == value[0];
    return same;
}

/* Whether all four warps exist, with all their lanes. */
static bool is_whole(const gs_emu_warp *w)
{
    const int first = w->index / 4 * 4;
    if (first + 4 > w->block->warps) return false;
    for (int i = first; i < first + 4; i++)
        if (w->block->warp[i].threads != GS_EMU_FULL) return false;
    return true;
}

static gs_emu_result read_operands(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, gs_emu_wgmma_record *what)
{
    const bool a_in_memory = !(op->flags & GS_EMU_WGMMA_A_REGISTERS);
    const uint32_t scale = *gs_emu_mask(w, op->src[2]) ^ (op->flags & GS_EMU_WGMMA_SCALE_NOT ? GS_EMU_FULL : 0);
    if (lanes != GS_EMU_FULL || !is_whole(w))
        return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "lanes %#x of warp %d execute it; it takes all 128 threads of a warpgroup", lanes,
                             w->index);
    if (scale != 0 && scale != GS_EMU_FULL)
        return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "scale-d is true in some lanes (%#x) and false in others", scale);
    if ((a_in_memory && !same_in_all_lanes(w, op->src[0])) || !same_in_all_lanes(w, op->src[1]))
        return gs_emu_report(w, op, GS_EMU_DESCRIPTOR_FINDING, "the lanes of the warp have different descriptors");
    *what = (gs_emu_wgmma_record){
        .op = gs_emu_index(w, op), .accumulate = scale != 0, .a = a_in_memory ? gs_emu_u64(w, op->src[0])[0] : 0, .b = gs_emu_u64(w, op->src[1])[0]};
    return GS_EMU_NEXT;
}

static gs_emu_result check_pieces(gs_emu_warp *w, const gs_emu_op *op, char name, uint64_t bits, const uint32_t *piece, int pieces)
{
    static const char *const swizzle[] = {"no swizzle", "128-byte swizzle", "64-byte swizzle", "32-byte swizzle"};
    const uint32_t size = w->cluster->launch->shared_bytes;
    uint32_t most = 0, least = UINT32_MAX;
    if (bits & UNUSED_BITS)
        return gs_emu_report(w, op, GS_EMU_DESCRIPTOR_FINDING, "the descriptor of %c has bits in no field: %#llx", name, (unsigned long long)(bits & UNUSED_BITS));
    for (int i = 0; i < pieces; i++) most = GS_MAX(most, piece[i]), least = GS_MIN(least, piece[i]);
    if (most + GS_EMU_PIECE <= size && least >= w->code->reserved) {
        if (w->wgmma->read) gs_emu_wgmma_note_reads(w->wgmma, piece, pieces);
        return GS_EMU_NEXT;
    }
    const gs_emu_descriptor d = gs_emu_descriptor_of(bits);
    return gs_emu_report(w, op, GS_EMU_DESCRIPTOR_FINDING, "%c reaches from %u to %u, shared memory from %u to %u: start %u, leading %u, stride %u, %s", name,
                         least, most + GS_EMU_PIECE, w->code->reserved, size, d.start, d.leading, d.stride, swizzle[bits >> 62]);
}

static gs_emu_result check_descriptors(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_wgmma_record *what)
{
    uint32_t piece[GS_EMU_PIECES];
    if (!(op->flags & GS_EMU_WGMMA_A_REGISTERS)) {
        const gs_emu_result result = check_pieces(w, op, 'A', what->a, piece, pieces_a(w, op, what->a, piece));
        if (result != GS_EMU_NEXT) return result;
    }
    return check_pieces(w, op, 'B', what->b, piece, pieces_b(op, what->b, piece));
}

/* The n-th wgmma of all four warps must be the same: each warp compares with those that were faster. */
static gs_emu_result check_peers(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_wgmma_record *what)
{
    const uint64_t n = w->wgmma->issued;
    for (int i = w->index / 4 * 4; i < w->index / 4 * 4 + 4; i++) {
        const gs_emu_warp *const peer = &w->block->warp[i];
        const struct gs_emu_wgmma_state *const s = peer->wgmma;
        if (peer == w || !s || n + GS_EMU_WGMMA_HISTORY < s->issued) continue;
        if (n >= s->issued) {
            if (peer->alive == 0) return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "warp %d of the warpgroup exited without it", i);
            continue;
        }
        const gs_emu_wgmma_record *const other = &s->history[n % GS_EMU_WGMMA_HISTORY];
        if (other->op != what->op)
            return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "warp %d of the warpgroup executed the wgmma of line %d in its place", i,
                                 (int)w->code->op[other->op].line);
        if (other->accumulate != what->accumulate)
            return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "scale-d differs between warps %d and %d of the warpgroup", w->index, i);
        if (other->a != what->a || other->b != what->b)
            return gs_emu_report(w, op, GS_EMU_DESCRIPTOR_FINDING, "the descriptors differ between warps %d and %d of the warpgroup", w->index, i);
    }
    return GS_EMU_NEXT;
}

static void count(gs_emu_warp *w, const gs_emu_op *op)
{
    gs_emu_counters *const c = &w->cluster->counters;
    const uint32_t a = op->flags & GS_EMU_WGMMA_A_REGISTERS ? 0 : 2 * GS_EMU_ROWS * GS_EMU_PIECE;
    const uint32_t b = 2 * GS_EMU_PIECE * (uint32_t)columns_of(op) / 4;   /* B is read once for the four warps */
    c->wgmma++;
    const uint64_t flops = 2ull * GS_EMU_ROWS * (uint32_t)columns_of(op) * (uint32_t)depth_of(op);
    c->matrix_flops += flops;
    c->wgmma_flops += flops;
    c->shared_load += a + b;
    c->shared_passes += (a + b + 127) / 128;
}

static gs_emu_result exec_mma(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const bool watched = gs_emu_wgmma_active(w);
    gs_emu_wgmma_record what = {0};
    gs_emu_result result = read_operands(w, op, lanes, &what);
    if (result != GS_EMU_NEXT) return result;
    struct gs_emu_wgmma_state *const s = state_of(w);
    if (!s) return no_memory(w, op);
    result = check_descriptors(w, op, &what);
    if (result == GS_EMU_NEXT) result = check_peers(w, op, &what);
    if (result != GS_EMU_NEXT) return result;
    if (w->cluster->check) gs_emu_wgmma_check_fence(w, op);
    if (s->count == MOST_QUEUED && !can_run(s))
        return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "%d wgmma of the warp are not committed: wgmma.commit_group is missing", MOST_QUEUED);
    gs_emu_chain *const chain = gs_emu_wgmma_chain(w, op, what.accumulate);
    gs_emu_wgmma_operation *const o = chain ? append(w) : NULL;
    if (!o) return no_memory(w, op);
    o->op = op;
    o->chain = chain;
    o->group = s->committed + 1;
    o->what = what;
    gs_emu_wgmma_hold(w, op, o->a, o->group);
    s->history[s->issued++ % GS_EMU_WGMMA_HISTORY] = what;
    s->read_op = what.op;
    count(w, op);
    return watched ? GS_EMU_NEXT : GS_EMU_YIELD;   /* from the next turn on, the guard is called for this warp */
}

/* ---- fence, commit, wait ---- */

static gs_emu_result partial(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    return gs_emu_report(w, op, GS_EMU_DIVERGED_FINDING, "lanes %#x execute it; it takes all threads of the warp", lanes);
}

static gs_emu_result exec_fence(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const bool watched = gs_emu_wgmma_active(w);
    if (lanes != GS_EMU_FULL) return partial(w, op, lanes);
    struct gs_emu_wgmma_state *const s = state_of(w);
    if (!s) return no_memory(w, op);
    s->fences++;
    return watched == gs_emu_wgmma_active(w) ? GS_EMU_NEXT : GS_EMU_YIELD;
}

static gs_emu_result exec_commit(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (lanes != GS_EMU_FULL) return partial(w, op, lanes);
    struct gs_emu_wgmma_state *const s = state_of(w);
    if (!s) return no_memory(w, op);
    gs_emu_wgmma_flush(w);
    s->committed++;
    arm(w);
    return GS_EMU_NEXT;
}

static gs_emu_result exec_wait(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    struct gs_emu_wgmma_state *const s = w->wgmma;
    if (lanes != GS_EMU_FULL) return partial(w, op, lanes);
    if (!s || s->committed <= (uint64_t)op->immediate) return GS_EMU_NEXT;
    const uint32_t needed = s->committed - (uint32_t)op->immediate;
    if (finished(s) < needed) return GS_EMU_WAIT;
    if (needed <= s->waited) return GS_EMU_NEXT;
    s->waited = needed;
    gs_emu_wgmma_release(w);
    if (w->cluster->check) gs_emu_check_done(w->cluster->check, w->number, GS_EMU_AGENT_WGMMA, needed);
    return GS_EMU_NEXT;
}

/* ---- decoding ---- */

static bool has_parts(const gs_ptx_instruction *in, const char *second)
{
    return in->parts == 4 && strcmp(in->part[1], second) == 0 && strcmp(in->part[2], "sync") == 0 && strcmp(in->part[3], "aligned") == 0;
}

/* "m64n128k16" */
static bool read_shape(const char *part, gs_ptx_type type, uint8_t *count)
{
    int m, n, k, end = 0;
    if (sscanf(part, "m%3dn%3dk%3d%n", &m, &n, &k, &end) != 3 || part[end] != '\0') return false;
    *count = (uint8_t)(n / 8);
    return m == 64 && n >= 8 && n <= GS_EMU_MOST_N && n % 8 == 0 && k == (type == GS_PTX_TF32 ? 8 : 16);
}

/* An operand that must be a literal, `low` or `high`. */
static bool literal(gs_emu_decoder *d, int operand, int64_t low, int64_t high, bool *is_high)
{
    const gs_ptx_operand *const o = gs_emu_operand(d, operand);
    if (!o) return false;
    if (o->kind != GS_PTX_INTEGER || ((int64_t)o->bits != low && (int64_t)o->bits != high)) {
        gs_emu_unsupported(d, "operand %d must be %d or %d", operand + 1, (int)low, (int)high);
        return false;
    }
    *is_high = (int64_t)o->bits == high;
    return true;
}

static bool decode_scales(gs_emu_decoder *d, gs_emu_op *op, bool a_in_memory)
{
    const bool transposes = op->type != GS_PTX_TF32;
    const int expected = 6 + (transposes ? a_in_memory ? 2 : 1 : 0);
    bool minus_a = false, minus_b = false, trans_a = false, trans_b = false;
    if (d->in->operands != expected) {
        gs_emu_unsupported(d, "%d operands where %d are expected", (int)d->in->operands, expected);
        return false;
    }
    if (!literal(d, 4, 1, -1, &minus_a) || !literal(d, 5, 1, -1, &minus_b)) return false;
    if (transposes && a_in_memory && !literal(d, 6, 0, 1, &trans_a)) return false;
    if (transposes && !literal(d, expected - 1, 0, 1, &trans_b)) return false;
    op->flags |= (uint16_t)((minus_a != minus_b ? GS_EMU_WGMMA_NEGATE : 0) | (trans_a ? GS_EMU_WGMMA_A_MN_MAJOR : 0) |
                            (trans_b ? GS_EMU_WGMMA_B_MN_MAJOR : 0));
    return true;
}

static gs_status decode_operands(gs_emu_decoder *d, gs_emu_op *op)
{
    const gs_ptx_operand *const acc = gs_emu_operand(d, 0), *const a = gs_emu_operand(d, 1);
    const gs_ptx_type reg = op->type2 == GS_PTX_F16 ? GS_PTX_B32 : GS_PTX_F32;
    const int expected = op->count * (op->type2 == GS_PTX_F16 ? 2 : 4);
    uint32_t again;
    bool negated = false;
    if (!acc || !a) return d->status;
    const bool a_in_memory = a->kind != GS_PTX_VECTOR;
    op->lists = (uint16_t)gs_emu_destinations(d, acc, reg, &op->list);
    gs_emu_sources(d, acc, reg, &again);   /* the accumulators are read, too */
    if (!a_in_memory) {
        op->flags |= GS_EMU_WGMMA_A_REGISTERS;
        op->lists2 = (uint16_t)gs_emu_sources(d, a, GS_PTX_B32, &op->list2);
    } else {
        op->src[0] = gs_emu_source(d, a, GS_PTX_B64);
    }
    op->src[1] = gs_emu_source(d, gs_emu_operand(d, 2), GS_PTX_B64);
    op->src[2] = gs_emu_source_predicate(d, gs_emu_operand(d, 3), &negated);
    if (negated) op->flags |= GS_EMU_WGMMA_SCALE_NOT;
    GS_TRY(d->status);
    if (op->lists != expected) return gs_emu_unsupported(d, "%d accumulators where %d are expected", (int)op->lists, expected);
    if (!a_in_memory && op->lists2 != 4) return gs_emu_unsupported(d, "%d registers of A where 4 are expected", (int)op->lists2);
    return decode_scales(d, op, a_in_memory) ? GS_OK : d->status;
}

static gs_status decode_mma(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (in->parts != 8 || strcmp(in->part[2], "sync") != 0 || strcmp(in->part[3], "aligned") != 0)
        return gs_emu_unsupported(d, "a modifier is not known");
    const gs_ptx_type result = gs_ptx_type_of(in->part[5]), type = gs_ptx_type_of(in->part[6]);
    const bool known = (type == GS_PTX_F16 && (result == GS_PTX_F16 || result == GS_PTX_F32)) ||
                       ((type == GS_PTX_BF16 || type == GS_PTX_TF32) && result == GS_PTX_F32);
    if (!known || strcmp(in->part[6], in->part[7]) != 0)
        return gs_emu_unsupported(d, "the emulated device has no wgmma of these types");
    if (!read_shape(in->part[4], type, &op->count)) return gs_emu_unsupported(d, "the shape %s is not known", in->part[4]);
    op->exec = exec_mma;
    op->class = GS_EMU_MATRIX;
    op->type = (uint8_t)type;
    op->type2 = (uint8_t)result;
    return decode_operands(d, op);
}

static gs_status decode_wait(gs_emu_decoder *d, gs_emu_op *op)
{
    const gs_ptx_operand *const o = gs_emu_operand(d, 0);
    if (!o) return d->status;
    if (o->kind != GS_PTX_INTEGER || o->bits > INT32_MAX) return gs_emu_unsupported(d, "the number of groups must be a literal");
    op->exec = exec_wait;
    op->immediate = (int64_t)o->bits;
    return GS_OK;
}

gs_status gs_emu_decode_wgmma(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[0], "wgmma") != 0) return GS_ERROR_NOT_FOUND;
    if (!d->code->wgmma) d->code->wgmma = calloc(1, sizeof *d->code->wgmma);
    if (!d->code->wgmma) return d->status = gs_fail(d->error, GS_ERROR_MEMORY, NULL, "no memory for decoded code");
    op->class = GS_EMU_BARRIER;
    if (in->parts > 1 && strcmp(in->part[1], "mma_async") == 0) return decode_mma(d, in, op);
    if (has_parts(in, "wait_group")) return decode_wait(d, op);
    if (has_parts(in, "fence")) return op->exec = exec_fence, GS_OK;
    if (has_parts(in, "commit_group")) return op->exec = exec_commit, GS_OK;
    return gs_emu_unsupported(d, "a modifier is not known");
}
