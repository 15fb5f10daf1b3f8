/* SPDX-License-Identifier: MIT
 * mbarriers: arrival counts, transaction bytes, phases. The object is in a table beside the block's shared memory; its eight bytes there hold a mark, so that a store
 * over them is detected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/isa/sync.h"
#include "emu/isa/unseen.h"

#define MOST_COUNT 0xfffffu      /* 2^20 - 1 */
#define FALSE_OF_256 6           /* how often, of 256, a try_wait gives up early, as the hardware may */
#define AGAIN_OF_256 248         /* how often the next try_wait then gives up too: exposes kernels that try only a fixed number of times */
#define STREAK_OF_256 24
#define MOST_BARRIERS 512        /* per block: each has clocks of all warps */
#define MARK 0x726965727261626dull
#define RECENT 64u              /* cache of barriers by offset */

struct gs_emu_mbarrier {
    gs_emu_block  *block;
    uint32_t       offset;
    uint32_t       count;        /* arrivals per phase */
    uint32_t       pending;      /* arrivals missing in the current phase */
    int64_t        bytes;        /* pending transaction bytes; negative: they arrived before they were announced */
    uint32_t       phase;        /* phases completed since the first initialisation at this offset */
    uint32_t       start;        /* value of phase at the last initialisation */
    int            init_warp;
    uint32_t       init_clock;
    bool           live, fenced;
    bool           released;     /* by fence.mbarrier_init */
    uint32_t       announced;    /* generation of the cluster's barrier that makes the initialisation known then; 0: none */
    int            copies;       /* pending copies */
    int            agent;        /* the checker's number, -1 without a checker */
    uint32_t       drop;         /* arrivals by which later phases are reduced */
    gs_emu_vector *now, *done;   /* of the current phase, of the last completed phase */
    uint32_t      *waiting;      /* per warp of the block: phase that it waits for, plus one; 0: none */
};

struct gs_emu_mbarriers {
    gs_emu_mbarrier **table;     /* in order of first initialisation */
    int               size, capacity;
    gs_emu_mbarrier  *recent[RECENT];
};

/* ---- creation, reset ---- */

bool gs_emu_mbarriers_create(gs_emu_block *block)
{
    block->mbarriers = calloc(1, sizeof *block->mbarriers);
    return block->mbarriers != NULL;
}

static void free_one(gs_emu_mbarrier *barrier)
{
    gs_emu_vector_destroy(barrier->now);
    gs_emu_vector_destroy(barrier->done);
    free(barrier->waiting);
    free(barrier);
}

void gs_emu_mbarriers_reset(gs_emu_block *block)
{
    for (int i = 0; i < block->mbarriers->size; i++) free_one(block->mbarriers->table[i]);
    block->mbarriers->size = 0;
    memset(block->mbarriers->recent, 0, sizeof block->mbarriers->recent);
}

void gs_emu_mbarriers_free(gs_emu_block *block)
{
    if (!block->mbarriers) return;
    gs_emu_mbarriers_reset(block);
    free(block->mbarriers->table);
    free(block->mbarriers);
    block->mbarriers = NULL;
}

static gs_emu_mbarrier *at_offset(const gs_emu_block *block, uint32_t offset)
{
    gs_emu_mbarrier **const recent = &block->mbarriers->recent[offset / 8 % RECENT];
    if (*recent && (*recent)->offset == offset) return *recent;
    for (int i = 0; i < block->mbarriers->size; i++)
        if (block->mbarriers->table[i]->offset == offset) return *recent = block->mbarriers->table[i];
    return NULL;
}

static gs_emu_mbarrier *make(gs_emu_block *block, uint32_t offset)
{
    struct gs_emu_mbarriers *const all = block->mbarriers;
    gs_emu_check *const check = block->cluster->check;
    if (all->size == all->capacity) {
        const int capacity = all->capacity ? 2 * all->capacity : 16;
        gs_emu_mbarrier **const table = realloc(all->table, (size_t)capacity * sizeof *table);
        if (!table) return NULL;
        all->table = table;
        all->capacity = capacity;
    }
    gs_emu_mbarrier *const barrier = calloc(1, sizeof *barrier);
    if (!barrier) return NULL;
    *barrier = (gs_emu_mbarrier){.block = block, .offset = offset, .agent = -1};
    barrier->waiting = calloc((size_t)block->warps, sizeof *barrier->waiting);
    if (check) {
        barrier->agent = gs_emu_check_mbarrier(check, block->rank, offset);
        barrier->now = gs_emu_vector_create(check);
        barrier->done = gs_emu_vector_create(check);
    }
    if (!barrier->waiting || (check && (!barrier->now || !barrier->done))) {
        free_one(barrier);
        return NULL;
    }
    all->table[all->size++] = barrier;
    return barrier;
}

static uint64_t mark_of(const gs_emu_mbarrier *barrier) { return MARK ^ ((uint64_t)barrier->offset << 24); }

gs_emu_mbarrier *gs_emu_mbarrier_find(gs_emu_warp *w, const gs_emu_op *op, gs_emu_block *block, uint32_t offset)
{
    gs_emu_mbarrier *const barrier = at_offset(block, offset);
    uint64_t mark = 0;
    if (!barrier || !barrier->live) {
        gs_emu_report(w, op, GS_EMU_BARRIER_FINDING, "no mbarrier was initialised at %#x of block %d of the cluster", offset, block->rank);
        return NULL;
    }
    memcpy(&mark, block->shared + offset, sizeof mark);
    if (mark == mark_of(barrier)) return barrier;
    gs_emu_report(w, op, GS_EMU_BARRIER_FINDING, "the mbarrier at %#x was overwritten", offset);
    return NULL;
}

enum { INIT, INVAL, EXPECT, COMPLETE, ARRIVE, ARRIVE_DROP, ARRIVE_EXPECT, ARRIVE_DROP_EXPECT, TEST_WAIT, TRY_WAIT, PENDING };
enum { NO_COMPLETE = 1, RELAXED = 2, PARITY = 4, TO_CLUSTER = 8 };   /* flags */

/* ---- phases ---- */

static void finish_phase(gs_emu_cluster *cluster, gs_emu_mbarrier *barrier, gs_emu_warp *w, const gs_emu_op *op)
{
    if (barrier->copies > 0 && w)
        gs_emu_report(w, op, GS_EMU_BYTE_COUNT_FINDING, "phase %u of the mbarrier at %#x ends while %d of its copies are under way: too few bytes were expected",
                      barrier->phase - barrier->start, barrier->offset, barrier->copies);
    if (cluster->check) {
        gs_emu_check_phase(cluster->check, barrier->agent, barrier->phase + 1, barrier->now);
        gs_emu_vector_join(barrier->done, barrier->now);   /* kept from earlier phases: a waiter may be late */
        gs_emu_vector_clear(barrier->now);
    }
    barrier->phase++;
    barrier->count -= barrier->drop;
    barrier->drop = 0;
    barrier->pending = barrier->count;
    gs_emu_happened(cluster);
}

static void check_phase(gs_emu_cluster *cluster, gs_emu_mbarrier *barrier, gs_emu_warp *w, const gs_emu_op *op)
{
    if (barrier->pending == 0 && barrier->bytes == 0 && barrier->count > 0) finish_phase(cluster, barrier, w, op);
}

int gs_emu_mbarrier_agent(const gs_emu_mbarrier *barrier) { return barrier->agent; }
uint32_t gs_emu_mbarrier_clock(const gs_emu_mbarrier *barrier) { return barrier->phase + 1; }

static bool initialisation_visible(gs_emu_warp *w, const gs_emu_mbarrier *barrier)
{
    if (barrier->fenced || !w->cluster->check) return true;
    return gs_emu_check_fenced(w->cluster->check, w->number, barrier->init_warp, barrier->init_clock);
}

/* Reports a use of a barrier by a warp that does not know of its initialisation: a barrier in between is missing. */
static void check_initialised(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_mbarrier *barrier)
{
    const gs_emu_check *const check = w->cluster->check;
    if (!check || gs_emu_check_known(check, w->number, barrier->init_warp, barrier->init_clock)) return;
    if (!barrier->announced || gs_emu_cluster_waited(w) < barrier->announced)
        gs_emu_report(w, op, GS_EMU_BARRIER_FINDING, "no barrier stands between the initialisation of the mbarrier at %#x of block %d and this use",
                      barrier->offset, barrier->block->rank);
}

void gs_emu_mbarrier_expect_copy(gs_emu_warp *w, const gs_emu_op *op, gs_emu_mbarrier *barrier)
{
    barrier->copies++;
    check_initialised(w, op, barrier);
    if (!initialisation_visible(w, barrier))
        gs_emu_report(w, op, GS_EMU_PROXY_FENCE_FINDING,
                      "the initialisation of the mbarrier at %#x is not visible to copies: fence.mbarrier_init or fence.proxy.async is missing",
                      barrier->offset);
}

void gs_emu_mbarrier_complete(gs_emu_cluster *cluster, gs_emu_mbarrier *barrier, uint32_t bytes, const gs_emu_op *op)
{
    barrier->copies--;
    barrier->bytes -= bytes;
    check_phase(cluster, barrier, &barrier->block->warp[0], op);
    gs_emu_happened(cluster);
}

void gs_emu_mbarriers_fence(gs_emu_warp *w, bool released)
{
    for (int i = 0; i < w->block->mbarriers->size; i++) {
        gs_emu_mbarrier *const barrier = w->block->mbarriers->table[i];
        if (barrier->init_warp != w->number) continue;
        barrier->fenced = true;
        barrier->released |= released;
    }
}

void gs_emu_mbarriers_announce(gs_emu_warp *w, uint32_t generation)
{
    for (int i = 0; i < w->block->mbarriers->size; i++) {
        gs_emu_mbarrier *const barrier = w->block->mbarriers->table[i];
        if (barrier->init_warp == w->number && barrier->released && !barrier->announced) barrier->announced = generation;
    }
}

/* ---- arrivals ---- */

static bool arrive(gs_emu_warp *w, const gs_emu_op *op, gs_emu_mbarrier *barrier, uint32_t count)
{
    if (op->flags & TO_CLUSTER && !(op->flags & RELAXED)) gs_emu_unseen_show_cluster(w->block);
    if (count > barrier->pending) {
        gs_emu_report(w, op, GS_EMU_ARRIVAL_COUNT_FINDING, "%u arrivals at the mbarrier at %#x of block %d, whose phase %u expects %u more (%u in all)", count,
                      barrier->offset, barrier->block->rank, barrier->phase - barrier->start, barrier->pending, barrier->count);
        return false;
    }
    barrier->pending -= count;
    check_phase(w->cluster, barrier, w, op);
    return true;
}

typedef struct arrival {
    gs_emu_task      task;
    gs_emu_warp     *warp;
    const gs_emu_op *op;
    gs_emu_mbarrier *barrier;
    gs_emu_vector   *clock;
    uint32_t         lanes;
} arrival;

/* cp.async.mbarrier.arrive: the lanes' copies are complete, so they arrive. */
static bool step_arrival(gs_emu_cluster *cluster, gs_emu_task *task)
{
    arrival *const a = (arrival *)task;
    if (!gs_emu_copy_idle(a->warp, a->lanes)) return false;
    if (a->clock) gs_emu_vector_join(a->barrier->now, a->clock);
    gs_emu_vector_destroy(a->clock);
    arrive(a->warp, a->op, a->barrier, (unsigned)__builtin_popcount(a->lanes));
    gs_emu_happened(cluster);
    return true;
}

static void drop_arrival(gs_emu_task *task) { gs_emu_vector_destroy(((arrival *)task)->clock); }

void gs_emu_mbarrier_arrive_later(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, gs_emu_mbarrier *barrier, bool increments)
{
    gs_emu_check *const check = w->cluster->check;
    arrival *const a = calloc(1, sizeof *a);
    if (!a || (check && !(a->clock = gs_emu_vector_create(check)))) {
        free(a);
        gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "no memory");
        return;
    }
    if (increments) barrier->pending += (unsigned)__builtin_popcount(lanes);
    a->task.step = step_arrival;
    a->task.drop = drop_arrival;
    a->warp = w;
    a->op = op;
    a->barrier = barrier;
    a->lanes = lanes;
    if (check) {
        gs_emu_check_release(check, w->number, a->clock);
        gs_emu_check_copies(check, w->number, a->clock);
    }
    gs_emu_task_add(w->cluster, &a->task);
}

/* ---- instructions ---- */

/* The barrier's state as the program sees it: current phase and missing arrivals. */
static uint64_t state_of(const gs_emu_mbarrier *barrier) { return (uint64_t)barrier->phase << 32 | barrier->pending; }

static bool resolve(gs_emu_warp *w, const gs_emu_op *op, int lane, gs_emu_place *place)
{
    const uint64_t address = gs_emu_lane_address(w, op, 0, lane);
    if (!gs_emu_resolve(w, op, lane, (gs_ptx_space)op->space, address, 8, 8, place)) return false;
    if (place->space == GS_PTX_SHARED) return true;
    gs_emu_report(w, op, GS_EMU_OUT_OF_BOUNDS_FINDING, "%#llx is not in shared memory", (unsigned long long)address);
    return false;
}

/* The `remote` clocks of the block that an address is in; NULL: the address includes no rank. */
static uint32_t *visits_of(const gs_emu_warp *w, uint64_t address)
{
    const uint64_t named = (gs_emu_window_of(address) == GS_EMU_SHARED_WINDOW ? address - GS_EMU_SHARED_WINDOW : address) >> GS_EMU_RANK_SHIFT;
    return named && named <= (uint64_t)w->cluster->blocks ? w->cluster->block[named - 1].remote : NULL;
}

static void touch(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_place *place)
{
    gs_emu_check *const check = w->cluster->check;
    if (check)
        gs_emu_check_access(check, w->number, gs_emu_index(w, op), place->block->rank, place->offset, 8, GS_EMU_SYNC, GS_EMU_AGENT_GENERIC, 0);
}

static gs_emu_result init(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_place *place, uint32_t count)
{
    if (count == 0 || count > MOST_COUNT) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "an mbarrier cannot count to %u", count);
    gs_emu_mbarrier *barrier = at_offset(place->block, place->offset);
    if (!barrier && place->block->mbarriers->size == MOST_BARRIERS)
        return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "more than %d mbarriers in a block: the emulated device has no more", MOST_BARRIERS);
    if (!barrier) barrier = make(place->block, place->offset);
    if (!barrier) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "no memory");
    if (barrier->live && (barrier->pending != barrier->count || barrier->bytes != 0 || barrier->copies))
        gs_emu_report(w, op, GS_EMU_BARRIER_FINDING, "the mbarrier at %#x is initialised again while it is in use", place->offset);
    barrier->count = barrier->pending = count;
    barrier->bytes = 0;
    barrier->drop = 0;
    barrier->phase += barrier->phase & 1;   /* after an initialisation the phase parity is even */
    barrier->start = barrier->phase;
    barrier->live = true;
    barrier->fenced = barrier->released = false;
    barrier->announced = 0;
    barrier->init_warp = w->number;
    barrier->init_clock = w->cluster->check ? gs_emu_check_clock(w->cluster->check, w->number) : 0;
    memset(barrier->waiting, 0, (size_t)place->block->warps * sizeof *barrier->waiting);
    if (barrier->now) gs_emu_vector_clear(barrier->now), gs_emu_vector_clear(barrier->done);
    const uint64_t mark = mark_of(barrier);
    memcpy(place->bytes, &mark, sizeof mark);
    touch(w, op, place);
    return GS_EMU_NEXT;
}

/* Transaction bytes: announced (positive) or arrived (negative). */
static void add_bytes(gs_emu_warp *w, const gs_emu_op *op, gs_emu_mbarrier *barrier, int64_t bytes)
{
    barrier->bytes += bytes;
    if (barrier->bytes > MOST_COUNT || barrier->bytes < -(int64_t)MOST_COUNT)
        gs_emu_report(w, op, GS_EMU_BYTE_COUNT_FINDING, "%lld bytes to come at the mbarrier at %#x, which can count to %u", (long long)barrier->bytes,
                      barrier->offset, MOST_COUNT);
}

/* What an arrival releases. */
static void release(gs_emu_warp *w, const gs_emu_op *op, gs_emu_mbarrier *barrier)
{
    if (op->flags & RELAXED) {
        gs_emu_fence_release(w, barrier->now);
        return;
    }
    if (op->flags & TO_CLUSTER) gs_emu_check_to_cluster(w->cluster->check, w->number);
    gs_emu_check_release(w->cluster->check, w->number, barrier->now);
}

/* releases: the first lane of the instruction to arrive in this phase. */
static void change(gs_emu_warp *w, const gs_emu_op *op, int lane, gs_emu_mbarrier *barrier, bool releases)
{
    const uint32_t value = op->src[1] == GS_EMU_NONE ? 1 : gs_emu_u32(w, op->src[1])[lane];
    const bool arrives = op->count >= ARRIVE && op->count <= ARRIVE_DROP_EXPECT, drops = op->count == ARRIVE_DROP || op->count == ARRIVE_DROP_EXPECT;
    const uint32_t count = op->count == ARRIVE || op->count == ARRIVE_DROP ? value : 1;
    const uint64_t before = state_of(barrier);
    if (op->count == EXPECT || op->count == ARRIVE_EXPECT || op->count == ARRIVE_DROP_EXPECT) add_bytes(w, op, barrier, value);
    if (op->count == COMPLETE) add_bytes(w, op, barrier, -(int64_t)value);
    if (!arrives) {
        check_phase(w->cluster, barrier, w, op);
        return;
    }
    if (releases && w->cluster->check) release(w, op, barrier);
    if ((op->flags & NO_COMPLETE) && count >= barrier->pending)
        gs_emu_report(w, op, GS_EMU_ARRIVAL_COUNT_FINDING, "arrive.noComplete completes the phase of the mbarrier at %#x", barrier->offset);
    if (drops && count <= barrier->pending) barrier->drop += count;
    arrive(w, op, barrier, count);
    if (op->dst != GS_EMU_NONE) gs_emu_u64(w, op->dst)[lane] = before;
}

/* init, inval, expect_tx, complete_tx, arrive...: lane by lane. The checker is called only for the first of several lanes in the same phase. */
static gs_emu_result exec_change(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const gs_emu_mbarrier *last = NULL;
    const uint32_t clock = w->cluster->check ? gs_emu_check_clock(w->cluster->check, w->number) : 0;
    uint32_t phase = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        gs_emu_place place;
        uint32_t *const visits = visits_of(w, gs_emu_lane_address(w, op, 0, lane)), before = visits ? visits[w->number] : 0;
        if (!resolve(w, op, lane, &place)) return GS_EMU_FAILED;
        /* the lanes' accesses are simultaneous; an arrival makes the clock tick, except a relaxed one, which carries what was known before a fence; a waiter knows of
         * the arrival itself */
        if (place.block != w->block && place.block->remote) place.block->remote[w->number] = visits && op->flags & RELAXED ? before : clock;
        if (op->count == INIT) {
            if (init(w, op, &place, gs_emu_u32(w, op->src[1])[lane]) == GS_EMU_FAILED) return GS_EMU_FAILED;
            continue;
        }
        gs_emu_mbarrier *const barrier = gs_emu_mbarrier_find(w, op, place.block, place.offset);
        if (!barrier) continue;
        const bool first = barrier != last || barrier->phase != phase;
        last = barrier;
        phase = barrier->phase;
        if (first) check_initialised(w, op, barrier);
        if (first) touch(w, op, &place);
        if (op->count == INVAL)
            barrier->live = false;
        else
            change(w, op, lane, barrier, first);
    }
    w->cluster->quiet_steps = 0;
    gs_emu_happened(w->cluster);
    return GS_EMU_NEXT;
}

/* What a lane waits for: a parity, or a state. */
static uint64_t question_of(gs_emu_warp *w, const gs_emu_op *op, int lane)
{
    return op->flags & PARITY ? gs_emu_u32(w, op->src[1])[lane] & 1 : gs_emu_u64(w, op->src[1])[lane] >> 32;
}

/* Whether the phase waited for is complete; *phase: its number. */
static bool is_complete(const gs_emu_op *op, const gs_emu_mbarrier *barrier, uint64_t question, uint32_t *phase)
{
    if (op->flags & PARITY) {
        const bool complete = (barrier->phase & 1) != question;
        *phase = complete ? barrier->phase - 1 : barrier->phase;
        return complete;
    }
    *phase = (uint32_t)question;
    return barrier->phase > *phase;
}

/* Reports a warp that still waits for a phase after two others have completed. */
static void check_behind(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_mbarrier *barrier, uint64_t question)
{
    uint32_t *const waiting = &barrier->waiting[w->index];
    if (!*waiting || barrier->phase <= *waiting) return;
    const uint32_t phase = *waiting - 1;
    *waiting = 0;
    if (question != (op->flags & PARITY ? phase & 1 : phase)) return;   /* it only tested that phase, and learned of its end by other means */
    gs_emu_report(w, op, GS_EMU_PHASE_FINDING, "waited for phase %u of the mbarrier at %#x, which is now in phase %u: its parity says nothing any more",
                  phase - barrier->start, barrier->offset, barrier->phase - barrier->start);
}

/* *complete: whether the phase that one lane waits for is complete. */
static gs_emu_result ask(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t question, bool *complete)
{
    gs_emu_place place;
    uint32_t phase = 0;
    if (!resolve(w, op, lane, &place)) return GS_EMU_FAILED;
    gs_emu_mbarrier *const barrier = gs_emu_mbarrier_find(w, op, place.block, place.offset);
    if (!barrier) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "a wait for what is no mbarrier, at %#x", place.offset);
    if (place.block != w->block) return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "a wait on the mbarrier of another block");
    check_initialised(w, op, barrier);
    touch(w, op, &place);
    check_behind(w, op, barrier, question);
    *complete = is_complete(op, barrier, question, &phase);
    barrier->waiting[w->index] = *complete ? 0 : phase + 1;
    if (*complete && w->cluster->check) gs_emu_fence_acquire(w, barrier->done, op->flags & RELAXED);
    return GS_EMU_NEXT;
}

/* A try_wait gives up at random, and once if nothing else can run in the cluster. */
static bool gives_up(gs_emu_warp *w)
{
    gs_emu_cluster *const cluster = w->cluster;
    gs_emu_fragment *const f = &w->fragment[w->current];
    if (f->impatient && gs_emu_chance(cluster, AGAIN_OF_256)) return true;
    f->impatient = false;
    if (cluster->event != cluster->expired || f->event >= cluster->expired) {
        const bool early = gs_emu_chance(cluster, FALSE_OF_256);
        f->impatient = early && gs_emu_chance(cluster, STREAK_OF_256);
        return early;
    }
    f->event = cluster->expired;
    return true;
}

static void set_lanes(gs_emu_warp *w, uint32_t offset, uint32_t lanes, uint32_t value)
{
    if (offset == GS_EMU_NONE) return;
    uint32_t *const p = gs_emu_mask(w, offset);
    *p = (*p & ~lanes) | (value & lanes);
}

static gs_emu_result exec_wait(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    uint64_t address = 0, question = 0;
    uint32_t done = 0;
    bool complete = false;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint64_t at = gs_emu_lane_address(w, op, 0, lane), what = question_of(w, op, lane);
        if (left == lanes || at != address || what != question) {
            const gs_emu_result result = ask(w, op, lane, what, &complete);
            if (result != GS_EMU_NEXT) return result;
        }
        address = at;
        question = what;
        done |= (uint32_t)complete << lane;
    }
    if (done != lanes && op->count == TRY_WAIT && !gives_up(w)) {
        w->cluster->counters.mbarrier_waits++;
        return GS_EMU_WAIT;
    }
    set_lanes(w, op->dst, lanes, done);
    return done == lanes ? GS_EMU_NEXT : GS_EMU_YIELD;
}

static gs_emu_result exec_pending(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    for (int lane = 0; lane < GS_EMU_LANES; lane++)
        if (lanes >> lane & 1 && op->dst != GS_EMU_NONE) gs_emu_u32(w, op->dst)[lane] = (uint32_t)gs_emu_u64(w, op->src[1])[lane];
    return GS_EMU_NEXT;
}

/* ---- description of waiting warps ---- */

void gs_emu_mbarrier_describe(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_fragment *fragment, char *text, size_t size)
{
    text[0] = '\0';
    if (op->exec != exec_wait) return;
    const int lane = __builtin_ctz(fragment->lanes);
    const uint32_t offset = (uint32_t)gs_emu_lane_address(w, op, 0, lane) & ((1u << GS_EMU_RANK_SHIFT) - 1);
    const gs_emu_mbarrier *const barrier = at_offset(w->block, offset);
    uint32_t phase;
    if (!barrier || is_complete(op, barrier, question_of(w, op, lane), &phase)) return;
    snprintf(text, size, "mbarrier %#x phase %u: %u of %u arrivals, %lld bytes missing", offset, barrier->phase - barrier->start, barrier->pending,
             barrier->count, (long long)barrier->bytes);
}

/* ---- decoding ---- */

static const struct {
    const char *part[2];
    uint8_t     kind;
} kinds[] = {
    {{"init", NULL}, INIT},     {{"inval", NULL}, INVAL},         {{"expect_tx", NULL}, EXPECT},
    {{"complete_tx", NULL}, COMPLETE}, {{"arrive", "expect_tx"}, ARRIVE_EXPECT}, {{"arrive_drop", "expect_tx"}, ARRIVE_DROP_EXPECT},
    {{"arrive", NULL}, ARRIVE}, {{"arrive_drop", NULL}, ARRIVE_DROP}, {{"test_wait", NULL}, TEST_WAIT},
    {{"try_wait", NULL}, TRY_WAIT}, {{"pending_count", NULL}, PENDING},
};

static gs_status check_parts(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const char *const plain[] = {"release", "acquire", "cta", "cluster", "b64", "expect_tx", "arrive"};
    op->space = GS_PTX_GENERIC;
    for (int i = 2; i < in->parts; i++) {
        const char *const part = in->part[i];
        bool known = false;
        for (size_t j = 0; j < GS_COUNT(plain); j++) known = known || strcmp(part, plain[j]) == 0;
        if (strcmp(part, "shared") == 0 || strcmp(part, "shared::cta") == 0 || strcmp(part, "shared::cluster") == 0)
            op->space = GS_PTX_SHARED, known = true;
        if (strcmp(part, "noComplete") == 0) op->flags |= NO_COMPLETE, known = true;
        if (strcmp(part, "relaxed") == 0) op->flags |= RELAXED, known = true;
        if (strcmp(part, "parity") == 0) op->flags |= PARITY, known = true;
        if (strcmp(part, "cluster") == 0) op->flags |= TO_CLUSTER;
        if (!known) return gs_emu_unsupported(d, "unknown modifier .%s", part);
    }
    return GS_OK;
}

gs_status gs_emu_decode_mbarrier(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[0], "mbarrier") != 0) return GS_ERROR_NOT_FOUND;
    if (in->parts < 3) return gs_emu_unsupported(d, "unknown form");
    size_t at = 0;
    while (at < GS_COUNT(kinds) && (strcmp(in->part[1], kinds[at].part[0]) != 0 || (kinds[at].part[1] && strcmp(in->part[2], kinds[at].part[1]) != 0))) at++;
    if (at == GS_COUNT(kinds)) return gs_emu_unsupported(d, "unknown operation .%s", in->part[1]);
    op->count = kinds[at].kind;
    op->class = GS_EMU_BARRIER;
    GS_TRY(check_parts(d, in, op));
    int next = 0;
    if (op->count == PENDING) {
        op->exec = exec_pending;
        op->dst = gs_emu_destination(d, gs_emu_operand(d, 0), GS_PTX_B32);
        op->src[1] = gs_emu_source(d, gs_emu_operand(d, 1), GS_PTX_B64);
        return d->status;
    }
    if (op->count == TEST_WAIT || op->count == TRY_WAIT) {
        op->exec = exec_wait;
        op->dst = gs_emu_destination(d, gs_emu_operand(d, next++), GS_PTX_PRED);
        gs_emu_address(d, gs_emu_operand(d, next++), 0);
        op->src[1] = gs_emu_source(d, gs_emu_operand(d, next++), op->flags & PARITY ? GS_PTX_B32 : GS_PTX_B64);
        return d->status;   /* the fourth operand is a time hint */
    }
    op->exec = exec_change;
    if (op->count >= ARRIVE && in->operands > 0 && gs_emu_operand(d, 0)->kind != GS_PTX_ADDRESS)
        op->dst = gs_emu_destination(d, gs_emu_operand(d, next++), GS_PTX_B64);
    gs_emu_address(d, gs_emu_operand(d, next++), 0);
    if (in->operands > next) op->src[1] = gs_emu_source(d, gs_emu_operand(d, next++), GS_PTX_B32);
    const bool needs_value = op->count == INIT || op->count == EXPECT || op->count == COMPLETE || op->count == ARRIVE_EXPECT || op->count == ARRIVE_DROP_EXPECT;
    if (needs_value && op->src[1] == GS_EMU_NONE && d->status == GS_OK) return gs_emu_unsupported(d, "the count is missing");
    return d->status;
}
