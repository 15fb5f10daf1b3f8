/* SPDX-License-Identifier: MIT
 * Addresses of memory instructions: translation of all spaces to host memory, bounds and alignment, reports to the checker, and traffic counters. If all lanes of a
 * warp access one allocation, or the own block's shared memory, they are handled together; otherwise lane by lane, which also identifies the faulty lane. */
#include <stdio.h>
#include <string.h>

#include "emu/isa/order.h"
#include "emu/isa/sync.h"
#include "emu/isa/unseen.h"

#define RANK_BITS  ((1u << GS_EMU_RANK_SHIFT) - 1)
#define EACH       GS_EMU_ACCESS_EACH

/* ---- one lane ---- */

static const char *deed_of(const gs_emu_op *op)
{
    if (strncmp(op->name, "ld", 2) == 0) return "read";
    if (strncmp(op->name, "st", 2) == 0) return "write";
    if (strncmp(op->name, "atom", 4) == 0 || strncmp(op->name, "red", 3) == 0) return "atomic access";
    return "access";
}

static bool report_outside(gs_emu_warp *w, const gs_emu_op *op, int lane, gs_ptx_space space, uint64_t address, uint32_t size, const char *where)
{
    static const char *const names[] = {
        [GS_PTX_GLOBAL] = "", [GS_PTX_SHARED] = "shared address ", [GS_PTX_LOCAL] = "local address ", [GS_PTX_PARAM] = "parameter address ",
    };
    gs_emu_report(w, op, GS_EMU_OUT_OF_BOUNDS_FINDING, "lane %d: %s of %u bytes at %s%#llx: %s", lane, deed_of(op), size, names[space],
                  (unsigned long long)address, where);
    return false;
}

static bool is_aligned(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t address, uint32_t align)
{
    if (align <= 1 || address % align == 0) return true;
    gs_emu_report(w, op, GS_EMU_MISALIGNED_FINDING, "lane %d: %s at %#llx, which must be a multiple of %u", lane, deed_of(op),
                  (unsigned long long)address, align);
    return false;
}

/* A read may include bytes outside of the operand in the same aligned 16 bytes as one of its elements: no page ends within them. */
static bool may_reach(const gs_emu_use *use, uint64_t address, uint64_t size, bool stores)
{
    const uint64_t end = address + size;
    if (!stores) return address >= (use->from & ~15ull) && end <= ((use->to + 15) & ~15ull) && use->from < use->to;
    if (!use->written || address < use->from || end > use->to) return false;
    const uint64_t at = use->period ? (address - use->from) % use->period : address - use->from;
    return (!use->period || at + size <= use->part) && (!use->pitch || at % use->pitch + size <= use->row);
}

const char *gs_emu_forbidden(const gs_emu_launch *launch, const gs_emu_allocation *a, uint64_t address, uint64_t size, bool stores)
{
    bool bounded = false, allowed = false;
    if (stores && a->read_only) return "a variable of the module, which is read only";
    for (size_t i = 0; i < GS_COUNT(launch->reach) && launch->reach[i].from; i++) {
        const gs_emu_use *const use = &launch->reach[i];
        if (use->from < a->address || use->from >= a->address + a->size) continue;
        if (stores && !use->written && address < use->to && address + size > use->from) return "an operand that is only read: a store, or an atomic operation, may not reach it";
        bounded = true;
        allowed = allowed || may_reach(use, address, size, stores);
    }
    if (!bounded || allowed) return NULL;
    return stores ? "outside of what the kernel may write: elements of D and of other outputs, and the workspace" : "outside of all operands and the workspace (where beta is 0 there is no C)";
}

bool gs_emu_resolve_target(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t address, uint32_t size, uint32_t align, gs_emu_place *out)
{
    const gs_emu_cluster *const cluster = w->cluster;
    const uint32_t bytes = cluster->launch->shared_bytes, offset = (uint32_t)address & RANK_BITS;
    const uint64_t named = address >> GS_EMU_RANK_SHIFT;
    char where[96];
    if (named > (uint64_t)cluster->blocks) {
        snprintf(where, sizeof where, "names no block of the cluster, which has %d", cluster->blocks);
        return report_outside(w, op, lane, GS_PTX_SHARED, address, size, where);
    }
    gs_emu_block *const block = named ? &cluster->block[named - 1] : w->block;
    const uint32_t reserved = cluster->launch->code->reserved;
    if (size > bytes || offset > bytes - size || offset < reserved) {
        const int length = snprintf(where, sizeof where, "the block has %u bytes of shared memory", bytes - reserved);
        if (reserved) snprintf(where + length, sizeof where - (size_t)length, ", from %#x on", reserved);
        return report_outside(w, op, lane, GS_PTX_SHARED, address, size, where);
    }
    if (!is_aligned(w, op, lane, offset, align)) return false;
    if (block != w->block && block->exited)
        gs_emu_report(w, op, GS_EMU_EXIT_IN_USE_FINDING, "lane %d: %s of shared memory of block %d of the cluster, which has ended", lane,
                      deed_of(op), block->rank);
    gs_emu_cluster_meet(w, op, block);
    *out = (gs_emu_place){.bytes = block->shared + offset, .space = GS_PTX_SHARED, .block = block, .offset = offset};
    return true;
}

static bool resolve_shared(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t address, uint32_t size, uint32_t align, gs_emu_place *out)
{
    if (!gs_emu_resolve_target(w, op, lane, address, size, align, out)) return false;
    gs_emu_visit(w, out->block);
    return true;
}

static bool resolve_global(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t address, uint32_t size, uint32_t align, gs_emu_place *out)
{
    const gs_emu_memory *const memory = w->cluster->launch->memory;
    const gs_emu_allocation *const a = gs_emu_memory_find(memory, address, size);
    char where[160];
    if (!a) return report_outside(w, op, lane, GS_PTX_GLOBAL, address, size, gs_emu_memory_describe(memory, address, where, sizeof where));
    const char *const why = gs_emu_forbidden(w->cluster->launch, a, address, size, op->stores);
    if (why) return report_outside(w, op, lane, GS_PTX_GLOBAL, address, size, why);
    if (!is_aligned(w, op, lane, address, align)) return false;
    *out = (gs_emu_place){.bytes = a->bytes + (address - a->address), .space = GS_PTX_GLOBAL, .address = address, .allocation = a};
    return true;
}

/* Local memory and parameters: offset into a range of host memory. */
static bool resolve_range(gs_emu_warp *w, const gs_emu_op *op, int lane, gs_ptx_space space, uint64_t address, uint32_t size, uint32_t align,
                          gs_emu_place *out)
{
    const bool local = space == GS_PTX_LOCAL;
    const uint32_t bytes = local ? w->code->local_bytes : w->code->entry->parameter_bytes;
    char where[96];
    if (size > bytes || address > bytes - size) {
        snprintf(where, sizeof where, local ? "the thread has %u bytes of local memory" : "the kernel has %u bytes of parameters", bytes);
        return report_outside(w, op, lane, space, address, size, where);
    }
    if (!is_aligned(w, op, lane, address, align)) return false;
    uint8_t *const base = local ? w->local + (size_t)lane * bytes : (uint8_t *)(uintptr_t)w->cluster->launch->params;
    *out = (gs_emu_place){.bytes = base + address, .space = space};
    return true;
}

bool gs_emu_resolve(gs_emu_warp *w, const gs_emu_op *op, int lane, gs_ptx_space space, uint64_t address, uint32_t size, uint32_t align,
                    gs_emu_place *out)
{
    if (space == GS_PTX_GENERIC) {
        const uint64_t window = gs_emu_window_of(address);
        space = window == GS_EMU_SHARED_WINDOW  ? GS_PTX_SHARED
                : window == GS_EMU_LOCAL_WINDOW ? GS_PTX_LOCAL
                : window == GS_EMU_PARAM_WINDOW ? GS_PTX_PARAM : GS_PTX_GLOBAL;
        if (space != GS_PTX_GLOBAL) address -= window;
    }
    switch (space) {
    case GS_PTX_SHARED: return resolve_shared(w, op, lane, address, size, align, out);
    case GS_PTX_LOCAL:
    case GS_PTX_PARAM:  return resolve_range(w, op, lane, space, address, size, align, out);
    default:            return resolve_global(w, op, lane, address, size, align, out);
    }
}

enum { PAST = 256 };   /* bytes that a hint may reach beyond an allocation */

/* The allocation that contains the address, or that is so near that its first or last line may contain it; NULL: none. */
static const gs_emu_allocation *allocation_near(const gs_emu_memory *memory, uint64_t address)
{
    const gs_emu_allocation *a = gs_emu_memory_find(memory, address, 1);
    if (!a) a = gs_emu_memory_find(memory, address - PAST, 1);
    return a ? a : gs_emu_memory_find(memory, address + PAST, 1);
}

bool gs_emu_hint_resolve(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t address, uint64_t size)
{
    const gs_emu_memory *const memory = w->cluster->launch->memory;
    const uint64_t last = address + (size > 0 ? size - 1 : 0);
    const gs_emu_allocation *const a = allocation_near(memory, address);
    const uint64_t bad = a ? last : address;
    char where[160];
    if (address < GS_EMU_GLOBAL_BASE - PAST) return true;   /* shared and local memory, which have no lines in L2, and null pointers */
    if (a && allocation_near(memory, last) == a) return true;
    gs_emu_report(w, op, GS_EMU_OUT_OF_BOUNDS_FINDING, "lane %d: a hint about memory that is none of the launch's: %s", lane,
                  gs_emu_memory_describe(memory, bad, where, sizeof where));
    return false;
}

/* ---- reports to the checker ---- */

static void report_unwritten(gs_emu_warp *w, const gs_emu_op *op, uint64_t address, uint32_t size)
{
    char where[160];
    gs_emu_report(w, op, GS_EMU_UNINITIALIZED_FINDING, "%u bytes that nothing wrote: %s", size,
                  gs_emu_memory_describe(w->cluster->launch->memory, address, where, sizeof where));
}

#define BIT(access) (1u << (access))
static const uint32_t reading = BIT(GS_EMU_READ) | BIT(GS_EMU_STRONG_READ) | BIT(GS_EMU_ATOMIC) | BIT(GS_EMU_ASYNC_READ);
static const uint32_t writing = BIT(GS_EMU_WRITE) | BIT(GS_EMU_STRONG_WRITE) | BIT(GS_EMU_ATOMIC) | BIT(GS_EMU_COPY_WRITE) | BIT(GS_EMU_SYNC);

static bool writes(gs_emu_access access) { return writing >> access & 1; }
static bool reads(gs_emu_access access) { return reading >> access & 1; }

void gs_emu_touch(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_place *place, uint32_t size, gs_emu_access access)
{
    gs_emu_check *const check = w->cluster->check;
    if (place->space == GS_PTX_GLOBAL) {
        if (check && reads(access) && !gs_emu_memory_written(place->allocation, place->address, size)) report_unwritten(w, op, place->address, size);
        if (writes(access)) gs_emu_memory_mark(place->allocation, place->address, size);
    } else if (place->space == GS_PTX_SHARED && check) {
        gs_emu_check_access(check, w->number, gs_emu_index(w, op), place->block->rank, place->offset, size, access, GS_EMU_AGENT_GENERIC, 0);
    }
}

static void touch_global(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, gs_emu_access access)
{
    const gs_emu_allocation *const a = reach->allocation;
    const bool check = w->cluster->check && reads(access);
    gs_emu_range range[GS_EMU_LANES];
    if (!a->written || (!check && !writes(access))) return;
    if (!reach->straight && !reach->uniform && gs_emu_memory_written_each(a, reach->address, size)) return;
    const int count = gs_emu_reach_ranges(reach, reach->lanes, size, range);
    bool reported = false;
    for (int i = 0; i < count; i++) {
        if (check && !reported && !gs_emu_memory_written(a, range[i].start, range[i].bytes)) {
            report_unwritten(w, op, range[i].start, range[i].bytes);
            reported = true;
        }
        if (writes(access)) gs_emu_memory_mark(a, range[i].start, range[i].bytes);
    }
}

static void touch_shared(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, gs_emu_access access)
{
    gs_emu_range range[GS_EMU_LANES];
    const int count = gs_emu_reach_ranges(reach, reach->lanes, size, range);
    for (int i = 0; i < count; i++)
        gs_emu_check_access(w->cluster->check, w->number, gs_emu_index(w, op), w->block->rank, (uint32_t)range[i].start, range[i].bytes, access,
                            GS_EMU_AGENT_GENERIC, 0);
    if (op->class != GS_EMU_SHARED) return;
    if (access == GS_EMU_WRITE) gs_emu_lanes_wrote(w, op, reach, size);
    if (access == GS_EMU_READ) gs_emu_lanes_read(w, op, reach, size);
}

/* Whether all accesses are in memory that, as the launch was told, is never written. */
static bool is_constant(const gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size)
{
    const gs_emu_span *const span = &w->cluster->launch->constant;
    EACH(l, reach->lanes, if (reach->address[l] < span->from || reach->address[l] + size > span->to) return false);
    return true;
}

void gs_emu_reach_touch(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, gs_emu_access access)
{
    gs_emu_unseen_touch(w, reach, size);
    if (reach->space == GS_PTX_GLOBAL) {
        if (op->space != GS_PTX_CONST && w->early && !(access == GS_EMU_READ && is_constant(w, reach, size))) gs_emu_reach_out(w, op, reach->lanes);
        touch_global(w, op, reach, size, access);
    }
    if (w->cluster->order) gs_emu_order_reach(w, op, reach, size, access);
    if (reach->space == GS_PTX_SHARED && w->cluster->check) touch_shared(w, op, reach, size, access);
    if (reach->space != GS_PTX_GENERIC) return;
    for (uint32_t left = reach->lanes; left; left &= left - 1) {
        const gs_emu_place *const place = &reach->place[__builtin_ctz(left)];
        if (place->space == GS_PTX_GLOBAL && op->space != GS_PTX_CONST) gs_emu_reach_out(w, op, left & -left);
        gs_emu_touch(w, op, place, size, access);
    }
}

/* ---- all lanes ---- */

/* Sets straight and uniform; returns the OR of all addresses. */
static uint64_t measure(uint32_t size, gs_emu_reach *reach)
{
    const uint64_t *const address = reach->address, first = address[0];
    uint64_t astray = 0, differ = 0, bits = 0;
    for (uint32_t l = 0; l < GS_EMU_LANES; l++) {
        astray |= address[l] ^ (first + l * size);
        differ |= address[l] ^ first;
        bits |= address[l];
    }
    reach->straight = astray == 0 && reach->lanes == GS_EMU_FULL;
    reach->uniform = differ == 0;
    return bits;
}

/* Whether all accesses are within `bytes` bytes from base. Without 64-bit comparisons: a negative difference shows in the sign bit. */
static bool lie_in(const gs_emu_reach *reach, uint64_t base, uint64_t bytes, uint32_t size)
{
    if (size > bytes) return false;
    const uint64_t most = bytes - size, first = reach->address[0] - base;
    if (reach->straight || reach->uniform) return first <= most && first + (reach->uniform ? 0 : (GS_EMU_LANES - 1) * size) <= most;
    uint64_t signs = 0;
    for (int l = 0; l < GS_EMU_LANES; l++) {
        const uint64_t offset = reach->address[l] - base;
        signs |= offset | (most - offset);
    }
    return signs >> 63 == 0;
}

static void set_hosts(gs_emu_reach *reach, uint8_t *host, uint64_t base)
{
    for (int l = 0; l < GS_EMU_LANES; l++) reach->at[l] = host + (reach->address[l] - base);
}

/* The own shared memory, whether or not the addresses include the block's rank; `window` and the rank are subtracted from them. */
static bool find_shared(const gs_emu_warp *w, uint64_t window, uint32_t size, gs_emu_reach *reach)
{
    const uint64_t own = ((uint64_t)w->block->rank + 1) << GS_EMU_RANK_SHIFT, named = (reach->address[0] - window) & ~(uint64_t)RANK_BITS;
    const uint64_t base = window + (named == own ? own : 0);
    const gs_emu_launch *const launch = w->cluster->launch;
    if (!lie_in(reach, base + launch->code->reserved, launch->shared_bytes - launch->code->reserved, size)) return false;
    set_hosts(reach, w->block->shared, base);
    if (base)
        for (int l = 0; l < GS_EMU_LANES; l++) reach->address[l] -= base;
    reach->space = GS_PTX_SHARED;
    return true;
}

/* Whether all lanes are in the allocation of the first. */
static bool find_global(const gs_emu_warp *w, uint32_t size, gs_emu_reach *reach)
{
    const gs_emu_allocation *const a = gs_emu_memory_find(w->cluster->launch->memory, reach->address[0], size);
    if (!a || !lie_in(reach, a->address, a->size, size)) return false;
    reach->allocation = a;
    reach->space = GS_PTX_GLOBAL;
    set_hosts(reach, a->bytes, a->address);
    return true;
}

GS_EMU_WIDE static bool find_together(gs_emu_warp *w, gs_ptx_space space, uint32_t size, gs_emu_reach *reach)
{
    if (measure(size, reach) & (size - 1)) return false;
    switch (space) {
    case GS_PTX_SHARED: return find_shared(w, 0, size, reach);
    case GS_PTX_GENERIC:
        if (reach->address[0] >= GS_EMU_GLOBAL_BASE) return find_global(w, size, reach);
        return find_shared(w, GS_EMU_SHARED_WINDOW, size, reach);
    case GS_PTX_LOCAL:
        if (!lie_in(reach, 0, w->code->local_bytes, size)) return false;
        for (int l = 0; l < GS_EMU_LANES; l++) reach->at[l] = w->local + (size_t)l * w->code->local_bytes + reach->address[l];
        break;
    case GS_PTX_PARAM:
        if (!lie_in(reach, 0, w->code->entry->parameter_bytes, size)) return false;
        set_hosts(reach, (uint8_t *)(uintptr_t)w->cluster->launch->params, 0);
        break;
    default: return find_global(w, size, reach);
    }
    reach->space = space;
    return true;
}

static bool find_each(gs_emu_warp *w, const gs_emu_op *op, gs_ptx_space space, uint32_t size, gs_emu_reach *reach)
{
    reach->space = GS_PTX_GENERIC;
    reach->straight = reach->uniform = false;
    for (uint32_t left = reach->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        gs_emu_place *const place = &reach->place[l];
        if (!gs_emu_resolve(w, op, l, space, reach->address[l], size, size, place)) return false;
        if (place->space == GS_PTX_SHARED && place->block != w->block && !(op->flags & GS_EMU_ACCESS_CLUSTER))
            return report_outside(w, op, l, GS_PTX_SHARED, reach->address[l], size, "names another block, which only .shared::cluster can");
        reach->at[l] = place->bytes;
        if (place->space == GS_PTX_GLOBAL) reach->address[l] = place->address;
        if (place->space == GS_PTX_SHARED) reach->address[l] = place->offset;
    }
    const int first = __builtin_ctz(reach->lanes);
    for (int l = 0; l < GS_EMU_LANES; l++)
        if (!(reach->lanes >> l & 1)) reach->at[l] = reach->at[first];
    return true;
}

/* Whether the accesses of all lanes, which are in one allocation, are allowed: all in one operand, or each in some operand. */
GS_EMU_WIDE static bool all_allowed(const gs_emu_launch *launch, const gs_emu_reach *reach, uint32_t size, bool stores)
{
    for (size_t i = 0; i < GS_COUNT(launch->reach) && launch->reach[i].from; i++) {
        const gs_emu_use *const use = &launch->reach[i];
        if (!may_reach(use, reach->address[0], size, stores) || (stores && (use->pitch || use->period))) continue;
        const uint64_t from = stores ? use->from : use->from & ~15ull, to = stores ? use->to : (use->to + 15) & ~15ull;
        if (lie_in(reach, from, to - from, size)) return true;
    }
    for (int l = 0; l < GS_EMU_LANES; l++)
        if (gs_emu_forbidden(launch, reach->allocation, reach->address[l], size, stores)) return false;
    return true;
}

bool gs_emu_reach_find(gs_emu_warp *w, const gs_emu_op *op, gs_ptx_space space, uint32_t lanes, uint32_t size, gs_emu_reach *reach)
{
    const uint64_t some = reach->address[__builtin_ctz(lanes)];
    for (int l = 0; lanes != GS_EMU_FULL && l < GS_EMU_LANES; l++)
        if (!(lanes >> l & 1)) reach->address[l] = some;
    reach->lanes = lanes;
    if (!find_together(w, space, size, reach)) return find_each(w, op, space, size, reach);
    if (reach->space != GS_PTX_GLOBAL) return true;
    const gs_emu_launch *const launch = w->cluster->launch;
    const bool refused = (op->stores && reach->allocation->read_only) || (launch->reach[0].from && !all_allowed(launch, reach, size, op->stores));
    return !refused || find_each(w, op, space, size, reach);   /* reports the lane */
}

/* ---- traffic ---- */

/* A set of at most 32 numbers. */
typedef struct set {
    uint64_t used;
    uint64_t member[64];
} set;

/* true: it was added. */
static bool set_add(set *s, uint64_t number)
{
    unsigned at = (unsigned)(number * 0x9e3779b97f4a7c15ull >> 58);
    for (; s->used >> at & 1; at = (at + 1) % 64)
        if (s->member[at] == number) return false;
    s->used |= 1ull << at;
    s->member[at] = number;
    return true;
}

static unsigned count_falling(const uint64_t *address, uint32_t lanes)
{
    set seen;
    seen.used = 0;
    unsigned sectors = 0;
    EACH(l, lanes, sectors += set_add(&seen, address[l] / GS_EMU_SECTOR));
    return sectors;
}

/* Number of 32-byte sectors that the lanes access; each access is within one. Usually the addresses ascend. */
static unsigned count_sectors(const uint64_t *address, uint32_t lanes)
{
    uint64_t last = address[__builtin_ctz(lanes)] / GS_EMU_SECTOR;
    unsigned sectors = 1;
    bool falls = false;
    EACH(l, lanes, const uint64_t sector = address[l] / GS_EMU_SECTOR; sectors += sector != last; falls |= sector < last; last = sector);
    return falls ? count_falling(address, lanes) : sectors;
}

/* The same, and marks the sectors in the allocation. */
GS_EMU_WIDE static unsigned touch_sectors(const gs_emu_reach *reach, bool store)
{
    const uint64_t *const address = reach->address;
    uint64_t last = address[__builtin_ctz(reach->lanes)] / GS_EMU_SECTOR;
    unsigned sectors = 1;
    bool falls = false;
    gs_emu_memory_touch_sector(reach->allocation, last * GS_EMU_SECTOR, store);
    EACH(l, reach->lanes, const uint64_t sector = address[l] / GS_EMU_SECTOR; if (sector == last) continue;   /* adjacent lanes often share one */
         gs_emu_memory_touch_sector(reach->allocation, address[l], store); sectors++; falls |= sector < last; last = sector);
    return falls ? count_falling(address, reach->lanes) : sectors;
}

/* Shared memory passes for a group of lanes: the most different words in one bank. A bank is as wide as the access. */
static unsigned group_passes(const uint64_t *address, uint32_t lanes, int shift, uint32_t banks)
{
    uint32_t seen = 0, twice = 0;
    EACH(l, lanes, const uint32_t bank = 1u << ((uint32_t)(address[l] >> shift) & (banks - 1)); twice |= seen & bank; seen |= bank);
    if (!twice) return 1;
    uint8_t depth[GS_EMU_LANES] = {0}, most = 0;
    set words;
    words.used = 0;
    EACH(l, lanes, const uint64_t word = address[l] >> shift; const uint32_t bank = (uint32_t)word & (banks - 1);
         if (set_add(&words, word) && ++depth[bank] > most) most = depth[bank]);
    return most;
}

/* 32 banks of 4 bytes. For accesses of more than 4 bytes, lanes that together access 128 bytes are served at a time. */
static unsigned count_passes(const uint64_t *address, uint32_t lanes, uint32_t size, bool uniform)
{
    const uint32_t unit = size <= 4 ? 4 : size, together = 128 / unit;
    const uint32_t group = together == GS_EMU_LANES ? GS_EMU_FULL : (1u << together) - 1;
    unsigned passes = 0;
    for (uint32_t l = 0; l < GS_EMU_LANES; l += together)
        if (lanes & group << l) passes += uniform ? 1 : group_passes(address, lanes & group << l, __builtin_ctz(unit), together);
    return passes;
}

static void count_global(gs_emu_counters *counters, const uint64_t *address, uint32_t lanes, bool store)
{
    const uint64_t bytes = GS_EMU_SECTOR * (uint64_t)count_sectors(address, lanes);
    *(store ? &counters->global_store : &counters->global_load) += bytes;
}

static void count_shared(gs_emu_counters *counters, unsigned passes, uint32_t lanes, uint32_t size, bool store)
{
    *(store ? &counters->shared_store : &counters->shared_load) += (uint64_t)(unsigned)__builtin_popcount(lanes) * size;
    counters->shared_passes += passes;
}

static void count_each(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size, bool store)
{
    gs_emu_counters *const counters = &w->cluster->counters;
    uint32_t global = 0, own = 0;
    for (uint32_t left = reach->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const gs_emu_place *const place = &reach->place[l];
        if (place->space == GS_PTX_GLOBAL) {
            global |= 1u << l;
            gs_emu_memory_touch(place->allocation, place->address, size, store);
        }
        if (place->space != GS_PTX_SHARED) continue;
        if (place->block == w->block)
            own |= 1u << l;
        else
            counters->distributed += size;
    }
    if (global) count_global(counters, reach->address, global, store);
    if (own) count_shared(counters, count_passes(reach->address, own, size, false), own, size, store);
}

void gs_emu_reach_count(gs_emu_warp *w, const gs_emu_reach *reach, uint32_t size, bool store)
{
    gs_emu_counters *const counters = &w->cluster->counters;
    const uint64_t first = reach->address[0];
    if (reach->space == GS_PTX_GENERIC) {
        count_each(w, reach, size, store);
    } else if (reach->space == GS_PTX_SHARED) {
        const unsigned straight = size <= 4 ? 1 : size / 4;
        const unsigned passes = reach->straight ? straight : count_passes(reach->address, reach->lanes, size, reach->uniform);
        count_shared(counters, passes, reach->lanes, size, store);
    } else if (reach->space == GS_PTX_GLOBAL && (reach->straight || reach->uniform)) {
        const uint64_t last = (reach->uniform ? first + size : first + (uint64_t)size * GS_EMU_LANES) - 1;
        gs_emu_memory_touch(reach->allocation, first, last - first + 1, store);
        *(store ? &counters->global_store : &counters->global_load) += 32 * (last / 32 - first / 32 + 1);
    } else if (reach->space == GS_PTX_GLOBAL) {
        *(store ? &counters->global_store : &counters->global_load) += GS_EMU_SECTOR * (uint64_t)touch_sectors(reach, store);
    }
}
