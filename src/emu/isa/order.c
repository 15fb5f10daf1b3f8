/* SPDX-License-Identifier: MIT
 * Ordering of global memory between blocks: the last writer of each byte in this launch, and what each cluster knows.
 *
 * For each four bytes of an allocation that is stored to, a cell holds the number of a segment (a warp, clock and instruction) and the mask of bytes that it wrote.
 * Only the last writer is kept: an access that is ordered after it, but not after an earlier writer, is not reported. */
#include "emu/isa/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/isa/bulk.h"
#include "emu/isa/sights.h"
#include "emu/isa/sync.h"
#include "emu/machine/pool.h"

#define CELL          4u
#define MOST_SEGMENTS (1u << 28)          /* a cell has 28 bits for the segment */
#define MOST_FLAGS    (1u << 16)
#define MOST_WORDS    (64ull << 20)       /* in all that flags and clusters know */
#define UNDER_WAY     UINT32_MAX          /* the clock of a bulk store whose completion was not waited for */

/* Scopes of strong accesses, from narrow to wide. */
enum { WEAK, OF_BLOCK, OF_CLUSTER, OF_DEVICE };

/* A writer. */
typedef struct segment {
    uint32_t cluster, clock;
    uint32_t op;
    uint32_t block[3];
    uint16_t warp;                        /* in the cluster */
    uint8_t  strong;                      /* scope of a strong access (atomic, volatile, relaxed, ...); two strong accesses within both scopes need no order */
} segment;

/* What is known of other clusters: per cluster a clock for each of its warps. Sorted by cluster. */
typedef struct knowledge {
    uint32_t *row;                        /* cluster, clocks */
    uint32_t  rows, capacity;
} knowledge;

typedef struct flag {
    uint64_t  address;                    /* 0: unused */
    bool      wide;                       /* of scope gpu: also for other clusters */
    knowledge carries;                    /* released to other clusters */
    knowledge within;                     /* released by a cluster's warps to its other warps */
} flag;

typedef struct shadow {
    const gs_emu_allocation *allocation;
    uint32_t *cell;                       /* segment << 4 | mask of bytes */
} shadow;

struct gs_emu_order {
    uint32_t warps;                       /* per cluster */
    segment *segment;                     /* numbered from 1 */
    uint32_t segments, segment_capacity;
    shadow  *shadow;
    int      shadows, recent;
    flag    *flag;                        /* open addressing, at most half full */
    uint32_t flags, flag_capacity;
    uint64_t words;
    bool     lost;                        /* out of memory: nothing is reported any more */
};

typedef struct store {
    int      warp, lane;
    uint32_t group, segment;
} store;

/* The latest segment of a warp. */
typedef struct latest {
    uint32_t clock, op, segment;
    uint8_t  strong;
} latest;

struct gs_emu_cluster_order {
    gs_emu_order *order;
    gs_emu_sights *seen;                  /* strong stores that warps have read */
    knowledge     acquired, pending;      /* pending: read from flags by relaxed accesses, acquired by the next fence */
    latest       *latest;                 /* per warp */
    bool          wrote;                  /* whether the cluster has written anything */
    store        *store;                  /* bulk stores whose completion was not waited for */
    int           stores, store_capacity;
};

typedef struct gs_emu_cluster_order part;

/* ---- knowledge ---- */

static size_t width(const gs_emu_order *order) { return 1 + (size_t)order->warps; }

static uint32_t place_of(const gs_emu_order *order, const knowledge *k, uint32_t cluster)
{
    uint32_t low = 0, high = k->rows;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (k->row[middle * width(order)] < cluster)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Known clocks of a cluster's warps; NULL: none. */
static uint32_t *clocks_of(const gs_emu_order *order, const knowledge *k, uint32_t cluster)
{
    const uint32_t at = place_of(order, k, cluster);
    return at < k->rows && k->row[at * width(order)] == cluster ? k->row + at * width(order) + 1 : NULL;
}

static bool grow(gs_emu_order *order, knowledge *k)
{
    if (k->rows < k->capacity) return true;
    const uint32_t capacity = k->capacity ? 2 * k->capacity : 4;
    uint32_t *const row = order->words > MOST_WORDS ? NULL : realloc(k->row, capacity * width(order) * sizeof *row);
    if (!row) {
        order->lost = true;
        return false;
    }
    order->words += (capacity - k->capacity) * width(order);
    k->row = row;
    k->capacity = capacity;
    return true;
}

static void learn(gs_emu_order *order, knowledge *k, uint32_t cluster, const uint32_t *clock)
{
    uint32_t *have = clocks_of(order, k, cluster);
    if (!have) {
        const uint32_t at = place_of(order, k, cluster);
        if (!grow(order, k)) return;
        uint32_t *const row = k->row + at * width(order);
        memmove(row + width(order), row, (k->rows - at) * width(order) * sizeof *row);
        memset(row, 0, width(order) * sizeof *row);
        row[0] = cluster;
        have = row + 1;
        k->rows++;
    }
    for (uint32_t i = 0; i < order->warps; i++)
        if (clock[i] > have[i]) have[i] = clock[i];
}

static void learn_all(gs_emu_order *order, knowledge *to, const knowledge *from)
{
    for (uint32_t i = 0; i < from->rows; i++) {
        const uint32_t *const row = from->row + i * width(order);
        learn(order, to, row[0], row + 1);
    }
}

static bool covers(const gs_emu_order *order, const knowledge *k, const segment *s)
{
    const uint32_t *const clock = clocks_of(order, k, s->cluster);
    return clock && clock[s->warp] >= s->clock;
}

/* ---- flags ---- */

static uint32_t slot_of(const gs_emu_order *order, uint64_t address)
{
    uint32_t at = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 40) & (order->flag_capacity - 1);
    while (order->flag[at].address && order->flag[at].address != address) at = (at + 1) & (order->flag_capacity - 1);
    return at;
}

static flag *find_flag(const gs_emu_order *order, uint64_t address)
{
    flag *const f = order->flag_capacity ? &order->flag[slot_of(order, address)] : NULL;
    return f && f->address ? f : NULL;
}

static bool grow_flags(gs_emu_order *order)
{
    if (2 * order->flags < order->flag_capacity) return true;
    const uint32_t before = order->flag_capacity, capacity = before ? 2 * before : 64;
    flag *const old = order->flag, *const table = capacity > 2 * MOST_FLAGS ? NULL : calloc(capacity, sizeof *table);
    if (!table) {
        order->lost = true;
        return false;
    }
    order->flag = table;
    order->flag_capacity = capacity;
    for (uint32_t i = 0; i < before; i++)
        if (old[i].address) order->flag[slot_of(order, old[i].address)] = old[i];
    free(old);
    return true;
}

static flag *make_flag(gs_emu_order *order, uint64_t address)
{
    flag *f = find_flag(order, address);
    if (f || !grow_flags(order)) return f;
    f = &order->flag[slot_of(order, address)];
    f->address = address;
    order->flags++;
    return f;
}

/* Adds to a flag what the warp has published and what its cluster has acquired. */
static void put_into(gs_emu_warp *w, flag *f)
{
    part *const p = w->cluster->order;
    learn(p->order, &f->carries, w->cluster->id, gs_emu_check_published(w->cluster->check, w->number));
    learn(p->order, &f->within, w->cluster->id, gs_emu_check_released(w->cluster->check, w->number));
    learn_all(p->order, &f->carries, &p->acquired);
}

static bool has_any(const gs_emu_warp *w, const uint32_t *clock)
{
    const part *const p = w->cluster->order;
    uint32_t any = p->acquired.rows;
    for (uint32_t i = 0; i < p->order->warps; i++) any |= clock[i];
    return any != 0;
}

static bool has_published(const gs_emu_warp *w) { return has_any(w, gs_emu_check_published(w->cluster->check, w->number)) || has_any(w, gs_emu_check_released(w->cluster->check, w->number)); }

/* Within the flag's own cluster only the warp that looks learns; of other clusters the whole cluster learns what one warp has seen. */
static void look_at(gs_emu_warp *w, const gs_emu_op *op, const flag *f, bool wide)
{
    part *const p = w->cluster->order;
    const bool acquires = op->flags & GS_EMU_ACCESS_ACQUIRE;
    const uint32_t *const own = f ? clocks_of(p->order, &f->within, w->cluster->id) : NULL;
    if (f && wide) learn_all(p->order, acquires ? &p->acquired : &p->pending, &f->carries);
    if (own) gs_emu_fence_learn(w, own, !acquires);
}

static void release(gs_emu_warp *w, const gs_emu_op *op, bool wide)
{
    if (!(op->flags & GS_EMU_ACCESS_RELEASE)) return;
    gs_emu_check_to_cluster(w->cluster->check, w->number);
    if (wide) gs_emu_check_publish(w->cluster->check, w->number);
}

/* An atomic operation on a flag keeps what it carries. It acquires something only if its result is used. */
static void change_flag(gs_emu_warp *w, const gs_emu_op *op, uint64_t address, bool wide)
{
    part *const p = w->cluster->order;
    flag *const f = make_flag(p->order, address);
    if (!f) return;
    f->wide |= wide;
    if (op->lists2 && !(op->flags & GS_EMU_ACCESS_UNREAD)) look_at(w, op, f, wide);
    release(w, op, wide);
    if (p->wrote || has_published(w)) put_into(w, f);
}

/* A strong store makes a flag only if something was published before it; otherwise it is ordinary data. */
static void store_flag(gs_emu_warp *w, const gs_emu_op *op, uint64_t address, bool wide)
{
    part *const p = w->cluster->order;
    flag *f = find_flag(p->order, address);
    release(w, op, wide);
    if (!f && has_published(w)) f = make_flag(p->order, address);
    if (!f) return;
    f->wide |= wide;
    if (!w->cluster->launch->unseen) f->carries.rows = f->within.rows = 0;   /* with unseen stores a reader may still see the previous store */
    put_into(w, f);
}

/* ---- writers ---- */

static uint32_t new_segment(gs_emu_warp *w, const gs_emu_op *op, uint32_t clock, uint8_t strong)
{
    gs_emu_order *const order = w->cluster->order->order;
    if (order->segments + 1 >= order->segment_capacity) {
        const uint32_t capacity = order->segment_capacity ? 2 * order->segment_capacity : 1024;
        segment *const grown = capacity > MOST_SEGMENTS ? NULL : realloc(order->segment, capacity * sizeof *grown);
        if (!grown) {
            order->lost = true;
            return 0;
        }
        order->segment = grown;
        order->segment_capacity = capacity;
    }
    w->cluster->order->wrote = true;
    order->segment[++order->segments] = (segment){
        .cluster = w->cluster->id, .clock = clock, .op = gs_emu_index(w, op), .warp = (uint16_t)w->number, .strong = strong,
        .block = {w->block->id[0], w->block->id[1], w->block->id[2]},
    };
    return order->segments;
}

static uint32_t segment_of(gs_emu_warp *w, const gs_emu_op *op, uint8_t strong)
{
    latest *const l = &w->cluster->order->latest[w->number];
    const uint32_t clock = gs_emu_check_clock(w->cluster->check, w->number), index = gs_emu_index(w, op);
    if (!l->segment || l->clock != clock || l->op != index || l->strong != strong) *l = (latest){clock, index, new_segment(w, op, clock, strong), strong};
    return l->segment;
}

static shadow *find_shadow(gs_emu_order *order, const gs_emu_allocation *a)
{
    if (order->recent < order->shadows && order->shadow[order->recent].allocation == a) return &order->shadow[order->recent];
    for (int i = 0; i < order->shadows; i++)
        if (order->shadow[i].allocation == a) return &order->shadow[order->recent = i];
    return NULL;
}

static shadow *make_shadow(gs_emu_order *order, const gs_emu_allocation *a)
{
    shadow *s = find_shadow(order, a);
    if (s) return s;
    s = realloc(order->shadow, (size_t)(order->shadows + 1) * sizeof *s);
    if (s) order->shadow = s;
    uint32_t *const cell = s ? calloc((size_t)(a->size / CELL) + 1, sizeof *cell) : NULL;
    if (!cell) {
        order->lost = true;
        return NULL;
    }
    order->shadow[order->shadows] = (shadow){a, cell};
    return &order->shadow[order->recent = order->shadows++];
}

/* ---- decisions ---- */

static bool is_same_block(const gs_emu_warp *w, const segment *s) { return s->cluster == w->cluster->id && memcmp(s->block, w->block->id, sizeof s->block) == 0; }

/* Whether each of two strong accesses is within the other's scope. */
static bool both_strong(const gs_emu_warp *w, const segment *s, uint8_t strong)
{
    switch (GS_MIN(s->strong, strong)) {
    case OF_DEVICE:  return true;
    case OF_CLUSTER: return s->cluster == w->cluster->id;
    case OF_BLOCK:   return is_same_block(w, s);
    default:         return false;
    }
}

static bool is_ordered(const gs_emu_warp *w, const segment *s, uint8_t strong)
{
    const part *const p = w->cluster->order;
    if (both_strong(w, s, strong)) return true;
    if (s->cluster != w->cluster->id) return covers(p->order, &p->acquired, s) || (strong == OF_DEVICE && covers(p->order, &p->pending, s));   /* a narrower load may find an old line */
    if (s->warp == w->number) return true;   /* lanes of a warp are not distinguished here */
    return s->clock != UNDER_WAY && gs_emu_check_known(w->cluster->check, w->number, s->warp, s->clock) && gs_emu_check_clustered(w->cluster->check, w->number, s->warp, s->clock);
}

static const char *what_is_missing(const gs_emu_warp *w, const segment *s, uint8_t strong)
{
    const part *const p = w->cluster->order;
    if (s->strong && s->strong < OF_DEVICE) return "its scope (.cta, .cluster) does not reach this block";
    if (s->clock == UNDER_WAY) return "that bulk store was never waited for in full (cp.async.bulk.wait_group without .read)";
    if (s->cluster == w->cluster->id && gs_emu_check_known(w->cluster->check, w->number, s->warp, s->clock))
        return "nothing between released it to the cluster: a fence or an arrival has the scope .cta (as an mbarrier's has unless it says .cluster), or is relaxed";
    if (s->cluster == w->cluster->id) return is_same_block(w, s) ? "no barrier is between" : "no barrier of the cluster is between";
    if (covers(p->order, &p->pending, s)) return strong ? "that block's ticket was seen, but no fence (__threadfence) is between that and this, whose scope (.cta, .cluster) does not reach that block" : "that block's ticket was seen, but no fence (__threadfence) is between that and this";
    if (clocks_of(p->order, &p->acquired, s->cluster) || clocks_of(p->order, &p->pending, s->cluster))
        return "that block's ticket was seen, but no fence (__threadfence), or no barrier, is between the store and the ticket";
    return "nothing that this block looked at, a ticket or a flag that was changed behind a fence, says so";
}

static bool is_wide(const flag *f) { return f && f->wide; }

/* Flags have 1 to 8 bytes. */
static bool is_flag(const gs_emu_order *order, uint64_t cell)
{
    bool found = is_wide(find_flag(order, cell - CELL));
    for (uint32_t i = 0; i < CELL && !found; i++) found = is_wide(find_flag(order, cell + i));
    return found;
}

typedef struct request {
    gs_emu_warp     *w;
    const gs_emu_op *op;
    uint64_t         address;
    uint32_t         bytes;
    bool             writes;
    bool             constant;            /* a load of data that may not be written during the launch (.nc) */
    uint8_t          strong;
    uint32_t         segment;             /* valid for writes */
    uint32_t         fine;                /* a segment that needs no further check */
} request;

static void tell(request *r, const segment *s)
{
    char place[96];
    gs_emu_describe_op(r->w->cluster, s->op, place, sizeof place);
    gs_emu_report(r->w, r->op, GS_EMU_UNORDERED_FINDING, "%s of %u bytes at %#llx; written by warp %d of block %u %u %u at %s: %s",
                  r->writes ? r->strong ? "atomic access" : "write" : "read", r->bytes, (unsigned long long)r->address,
                  s->warp % r->w->block->warps, s->block[0], s->block[1], s->block[2], place, what_is_missing(r->w, s, r->strong));
}

/* Reported for any writer, whatever the order: such a load may find an old line in another cache. */
static void tell_constant(request *r, const segment *s)
{
    char place[96];
    gs_emu_describe_op(r->w->cluster, s->op, place, sizeof place);
    gs_emu_report(r->w, r->op, GS_EMU_UNORDERED_FINDING, "read of %u bytes at %#llx as constant (.nc, __ldg, ldu); written in this launch by warp %d of block %u %u %u at %s: only what no thread of a launch writes may be read so",
                  r->bytes, (unsigned long long)r->address, s->warp % r->w->block->warps, s->block[0], s->block[1], s->block[2], place);
    r->constant = false;   /* report once */
}

/* A warp that has seen a strong store by a strong load is ordered after it, also for weak accesses; so is a warp that knows of such a warp. */
static bool has_seen(const gs_emu_warp *w, uint64_t place, uint32_t by)
{
    const gs_emu_cluster *const cluster = w->cluster;
    bool seen = false;
    for (int i = 0; cluster->order->seen && i < (int)cluster->order->order->warps && !seen; i++) {
        const uint32_t clock = gs_emu_sights_when(cluster->order->seen, place, i, by);
        seen = clock && (i == w->number || gs_emu_check_known(cluster->check, w->number, i, clock));
    }
    return seen;
}

/* Checks one cell; `mask`: bytes of it. */
static void visit(request *r, shadow *s, uint64_t index, uint32_t mask)
{
    gs_emu_order *const order = r->w->cluster->order->order;
    uint32_t *const cell = &s->cell[index];
    const uint32_t before = *cell >> 4;
    if (before && r->constant && (*cell & mask)) tell_constant(r, &order->segment[before]);
    if (before && before != r->fine && (*cell & mask)) {
        const segment *const writer = &order->segment[before];
        const uint64_t place = s->allocation->address + index * CELL;
        if (r->strong && !r->writes && both_strong(r->w, writer, r->strong)) {
            const uint32_t clock = gs_emu_check_clock(r->w->cluster->check, r->w->number);
            if (!gs_emu_sights_add(&r->w->cluster->order->seen, place, r->w->number, before, clock)) order->lost = true;
        } else if (is_ordered(r->w, writer, r->strong)) {
            r->fine = before;
        } else if (!is_flag(order, place) && !has_seen(r->w, place, before)) {
            tell(r, writer);
            r->fine = before;   /* report once */
        }
    }
    if (r->writes) *cell = r->segment << 4 | (before == r->segment ? (*cell & 15) | mask : mask);
}

static void visit_range(request *r, const gs_emu_allocation *a, uint64_t address, uint32_t bytes)
{
    gs_emu_order *const order = r->w->cluster->order->order;
    if (order->lost || bytes == 0) return;
    shadow *const s = r->writes ? make_shadow(order, a) : find_shadow(order, a);
    if (!s) return;
    const uint64_t first = address - a->address, last = first + bytes - 1;
    for (uint64_t index = first / CELL; index <= last / CELL; index++) {
        uint32_t mask = 15;
        if (index == first / CELL) mask &= 15u << first % CELL;
        if (index == last / CELL) mask &= 15u >> (CELL - 1 - last % CELL);
        visit(r, s, index, mask);
    }
}

/* ---- functions for the machine ---- */

static bool is_float(const gs_emu_op *op) { return op->type >= GS_PTX_F16; }

/* The scope of a strong access. Instructions other than memory instructions have no scope in their flags. */
static uint8_t scope_of(const gs_emu_op *op)
{
    return op->flags & GS_EMU_ACCESS_IN_BLOCK ? OF_BLOCK : op->flags & GS_EMU_ACCESS_IN_CLUSTER ? OF_CLUSTER : OF_DEVICE;
}

static void access_range(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_allocation *a, uint64_t address, uint32_t size, gs_emu_access access)
{
    const bool is_strong = access == GS_EMU_STRONG_READ || access == GS_EMU_STRONG_WRITE || access == GS_EMU_ATOMIC;
    const uint8_t strong = is_strong ? scope_of(op) : WEAK;
    const bool writes = access == GS_EMU_WRITE || access == GS_EMU_STRONG_WRITE || access == GS_EMU_ATOMIC;
    const bool constant = access == GS_EMU_READ && strncmp(op->name, "ld", 2) == 0 && op->flags & GS_EMU_ACCESS_CONSTANT;
    request r = {.w = w, .op = op, .address = address, .bytes = size, .writes = writes, .constant = constant, .strong = strong};
    if (w->cluster->order->order->lost) return;
    const bool wide = strong == OF_DEVICE, flags = wide || strong == OF_CLUSTER;
    if (access == GS_EMU_ATOMIC && !is_float(op) && flags) change_flag(w, op, address, wide);
    if (access == GS_EMU_ATOMIC && !is_float(op) && wide) return;
    if (access == GS_EMU_STRONG_READ && flags) look_at(w, op, find_flag(w->cluster->order->order, address), wide);
    if (writes && !(r.segment = segment_of(w, op, strong))) return;
    visit_range(&r, a, address, size);
    if (access == GS_EMU_STRONG_WRITE && flags) store_flag(w, op, address, wide);
}

void gs_emu_order_place(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_place *place, uint32_t size, gs_emu_access access)
{
    if (!w->cluster->order || place->space != GS_PTX_GLOBAL || op->space == GS_PTX_CONST) return;
    access_range(w, op, place->allocation, place->address, size, access);
}

void gs_emu_order_reach(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, gs_emu_access access)
{
    if (!w->cluster->order || op->space == GS_PTX_CONST) return;
    if (reach->space == GS_PTX_GENERIC) {
        GS_EMU_ACCESS_EACH(l, reach->lanes, gs_emu_order_place(w, op, &reach->place[l], size, access));
    } else if (reach->space == GS_PTX_GLOBAL && (access == GS_EMU_READ || access == GS_EMU_WRITE)) {
        gs_emu_range range[GS_EMU_LANES];
        if (access == GS_EMU_READ && !find_shadow(w->cluster->order->order, reach->allocation)) return;
        const int count = gs_emu_reach_ranges(reach, reach->lanes, size, range);
        for (int i = 0; i < count; i++) access_range(w, op, reach->allocation, range[i].start, range[i].bytes, access);
    } else if (reach->space == GS_PTX_GLOBAL) {
        GS_EMU_ACCESS_EACH(l, reach->lanes, access_range(w, op, reach->allocation, reach->address[l], size, access));
    }
}

void gs_emu_order_fence(gs_emu_warp *w, bool releases, bool acquires)
{
    part *const p = w->cluster->order;
    if (!p) return;
    if (releases) gs_emu_check_publish(w->cluster->check, w->number);
    if (!acquires) return;
    learn_all(p->order, &p->acquired, &p->pending);
    p->pending.rows = 0;
}

static void visit_tile(request *r, const gs_emu_tile *tile)
{
    for (uint32_t row = 0; row < tile->rows; row++) {
        if (!gs_emu_tile_row(tile, row, &r->address, &r->bytes)) continue;
        const gs_emu_allocation *const a = gs_emu_memory_find(r->w->cluster->launch->memory, r->address, r->bytes);
        if (a) visit_range(r, a, r->address, r->bytes);
    }
}

void gs_emu_order_load(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_tile *tile)
{
    request r = {.w = w, .op = op};
    if (w->cluster->order && w->cluster->order->order->shadows) visit_tile(&r, tile);
}

void gs_emu_order_store(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_tile *tile, int lane, uint32_t group, bool reduces)
{
    part *const p = w->cluster->order;
    if (!p || p->order->lost) return;
    if (p->stores == p->store_capacity) {
        const int capacity = p->store_capacity ? 2 * p->store_capacity : 16;
        store *const grown = realloc(p->store, (size_t)capacity * sizeof *grown);
        p->order->lost = !grown;
        if (!grown) return;
        p->store = grown;
        p->store_capacity = capacity;
    }
    request r = {.w = w, .op = op, .writes = true, .strong = reduces ? OF_DEVICE : WEAK, .segment = new_segment(w, op, UNDER_WAY, reduces ? OF_DEVICE : WEAK)};
    if (!r.segment) return;
    p->store[p->stores++] = (store){w->number, lane, group, r.segment};
    visit_tile(&r, tile);
}

/* The bulk stores of these groups are complete: from now on they count as stores of the warp. */
void gs_emu_order_stored(gs_emu_warp *w, uint32_t lanes, uint32_t pending)
{
    part *const p = w->cluster->order;
    for (int i = 0; p && i < p->stores;) {
        const store s = p->store[i];
        const uint32_t committed = s.warp == w->number ? w->bulk->committed[s.lane] : 0;
        if (s.warp != w->number || !(lanes >> s.lane & 1) || committed < pending || s.group > committed - pending) {
            i++;
            continue;
        }
        p->order->segment[s.segment].clock = gs_emu_check_clock(w->cluster->check, w->number);
        p->store[i] = p->store[--p->stores];
    }
}

/* ---- creation, cleanup ---- */

gs_emu_order *gs_emu_order_create(int warps)
{
    gs_emu_order *const order = calloc(1, sizeof *order);
    if (!order) return NULL;
    order->warps = (uint32_t)warps;
    return order;
}

void gs_emu_order_destroy(gs_emu_order *order)
{
    if (!order) return;
    for (uint32_t i = 0; i < order->flag_capacity; i++) {
        free(order->flag[i].carries.row);
        free(order->flag[i].within.row);
    }
    for (int i = 0; i < order->shadows; i++) free(order->shadow[i].cell);
    free(order->flag);
    free(order->shadow);
    free(order->segment);
    free(order);
}

bool gs_emu_order_join(gs_emu_order *order, gs_emu_cluster *cluster)
{
    part *const p = calloc(1, sizeof *p);
    cluster->order = p;
    if (!p) return false;
    p->order = order;
    p->latest = calloc(order->warps, sizeof *p->latest);
    return p->latest != NULL;
}

void gs_emu_order_start(gs_emu_cluster *cluster)
{
    part *const p = cluster->order;
    if (!p) return;
    p->acquired.rows = p->pending.rows = 0;
    p->stores = 0;
    p->wrote = false;
    gs_emu_sights_clear(p->seen);
    memset(p->latest, 0, p->order->warps * sizeof *p->latest);
}

void gs_emu_order_leave(gs_emu_cluster *cluster)
{
    part *const p = cluster->order;
    if (!p) return;
    free(p->acquired.row);
    free(p->pending.row);
    free(p->latest);
    gs_emu_sights_destroy(p->seen);
    free(p->store);
    free(p);
    cluster->order = NULL;
}
