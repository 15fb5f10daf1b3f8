/* SPDX-License-Identifier: MIT
 * Allocations of the emulated device and the bitmap of their written bytes. Both are mapped lazily: a buffer costs only the pages that are touched. The bitmap
 * consists of 64-bit words; words that two threads may share are changed atomically. */
#include "emu/machine/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/random.h"

#define ALIGN 256ull
#define GAP   4096ull         /* least distance between two allocations */
#define NEAR  (1ull << 20)    /* an address farther than this from every allocation is described without one */
#define TRIES 64              /* random places tried before the first gap is used */
enum { ADDRESS_BITS = 47, WINDOW_BITS = 32 };

struct gs_emu_memory {
    uint64_t capacity, used;
    bool     bitmap;
    bool     scattered;
    gs_random places;
    bool     touched;                    /* allocations record the sectors that a launch accesses */
    uint64_t generation;                 /* of the table: unique among all tables of the process */
    gs_emu_allocation *table;            /* sorted by address */
    size_t   count, room;
};

/* What this thread found last; invalid if the generation has changed. */
static _Thread_local struct {
    uint64_t generation;
    const gs_emu_allocation *found;
} memo;

static atomic_uint_fast64_t generations;

static void changed(gs_emu_memory *memory) { memory->generation = atomic_fetch_add(&generations, 1) + 1; }

/* ---- allocating and freeing ---- */

gs_status gs_emu_memory_create(gs_emu_memory **out, uint64_t capacity, bool bitmap, gs_error *error)
{
    gs_emu_memory *const memory = calloc(1, sizeof *memory);
    *out = memory;
    if (!memory) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an emulated device");
    memory->capacity = capacity;
    memory->bitmap = bitmap;
    changed(memory);
    return GS_OK;
}

/* Bytes of the bitmap, in whole words. */
static size_t bitmap_size(uint64_t size) { return (size_t)((size + 63) / 64 * 8); }

/* The same for the bitmap of sectors. */
static size_t touched_size(uint64_t size) { return (size_t)((size / GS_EMU_SECTOR + 64) / 64 * 8); }

static void unmap(gs_emu_allocation *a)
{
    if (a->bytes) munmap(a->bytes, (size_t)a->size);
    if (a->written) munmap(a->written, bitmap_size(a->size));
    for (int i = 0; i < 2; i++)
        if (a->touched[i]) munmap(a->touched[i], touched_size(a->size));
    a->bytes = a->written = NULL;
    a->touched[0] = a->touched[1] = NULL;
}

static void *map(size_t size)
{
    void *const at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void gs_emu_memory_destroy(gs_emu_memory **memory)
{
    if (!memory || !*memory) return;
    for (size_t i = 0; i < (*memory)->count; i++) unmap(&(*memory)->table[i]);
    free((*memory)->table);
    free(*memory);
    *memory = NULL;
}

static uint64_t round_up(uint64_t value) { return (value + ALIGN - 1) / ALIGN * ALIGN; }

/* The address of the first gap that is large enough, and the index that the allocation will have. */
static uint64_t first_fit(const gs_emu_memory *memory, uint64_t size, size_t *index)
{
    uint64_t at = GS_EMU_GLOBAL_BASE;
    size_t i = 0;
    for (; i < memory->count; i++) {
        const gs_emu_allocation *const a = &memory->table[i];
        if (a->address >= at && a->address - at >= size + GAP) break;
        at = round_up(a->address + a->size + GAP);
    }
    *index = i;
    return at;
}

void gs_emu_memory_scatter(gs_emu_memory *memory, uint64_t seed)
{
    memory->scattered = true;
    memory->places = (gs_random){seed};
}

static size_t below(const gs_emu_memory *memory, uint64_t address);

/* Whether no allocation overlaps; *index: the index that an allocation there will have. */
static bool is_free(const gs_emu_memory *memory, uint64_t at, uint64_t size, size_t *index)
{
    *index = below(memory, at);
    const gs_emu_allocation *const before = *index > 0 ? &memory->table[*index - 1] : NULL, *const after = *index < memory->count ? &memory->table[*index] : NULL;
    return (!before || before->address + before->size + GAP <= at) && (!after || at + size + GAP <= after->address);
}

static uint64_t choose_address(gs_emu_memory *memory, uint64_t size, size_t *index)
{
    const uint64_t window = 1ull << WINDOW_BITS, windows = 1ull << (ADDRESS_BITS - WINDOW_BITS), first = GS_EMU_GLOBAL_BASE / window + 1 + size / window;
    for (int i = 0; memory->scattered && i < TRIES; i++) {
        const uint64_t base = (first + gs_random_below(&memory->places, windows - 2 * first)) * window;
        const bool across = gs_random_below(&memory->places, 2) != 0;
        const uint64_t at = across ? base - round_up(size / 2) : base + gs_random_below(&memory->places, window / ALIGN) * ALIGN;
        if (is_free(memory, at, size, index)) return at;
    }
    return first_fit(memory, size, index);
}

static bool make_room(gs_emu_memory *memory)
{
    if (memory->count < memory->room) return true;
    const size_t room = memory->room ? 2 * memory->room : 32;
    gs_emu_allocation *const table = realloc(memory->table, room * sizeof *table);
    if (!table) return false;
    memory->table = table;
    memory->room = room;
    changed(memory);
    return true;
}

gs_status gs_emu_memory_alloc(gs_emu_memory *memory, uint64_t size, uint64_t *address, gs_error *error)
{
    size_t index;
    *address = 0;
    if (size == 0) return GS_OK;
    if (size > memory->capacity - memory->used)
        return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "%llu bytes asked for, %llu of %llu free", (unsigned long long)size,
                       (unsigned long long)(memory->capacity - memory->used), (unsigned long long)memory->capacity);
    if (!make_room(memory)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the table of allocations");
    gs_emu_allocation a = {.address = choose_address(memory, size, &index), .size = size, .bytes = map((size_t)size)};
    if (a.bytes && memory->bitmap) a.written = map(bitmap_size(size));
    for (int i = 0; i < 2; i++) a.touched[i] = map(touched_size(size));
    if (!a.bytes || (memory->bitmap && !a.written) || !a.touched[0] || !a.touched[1]) {
        unmap(&a);
        return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "the host cannot map %llu bytes", (unsigned long long)size);
    }
    memmove(&memory->table[index + 1], &memory->table[index], (memory->count - index) * sizeof a);
    memory->table[index] = a;
    memory->count++;
    memory->used += size;
    changed(memory);
    *address = a.address;
    return GS_OK;
}

/* Number of allocations that begin at or below the address. */
static size_t below(const gs_emu_memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (memory->table[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void gs_emu_memory_protect(gs_emu_memory *memory, uint64_t address)
{
    const size_t index = below(memory, address);
    if (index > 0 && memory->table[index - 1].address == address) memory->table[index - 1].read_only = true;
}

bool gs_emu_memory_free(gs_emu_memory *memory, uint64_t address)
{
    const size_t index = below(memory, address);
    if (index == 0 || memory->table[index - 1].address != address) return false;
    gs_emu_allocation *const a = &memory->table[index - 1];
    memory->used -= a->size;
    unmap(a);
    memmove(a, a + 1, (memory->count - index) * sizeof *a);
    memory->count--;
    changed(memory);
    return true;
}

uint64_t gs_emu_memory_used(const gs_emu_memory *memory) { return memory->used; }

/* ---- finding ---- */

static bool holds(const gs_emu_allocation *a, uint64_t address, uint64_t size)
{
    return address >= a->address && size <= a->size && address - a->address <= a->size - size;
}

const gs_emu_allocation *gs_emu_memory_find(const gs_emu_memory *memory, uint64_t address, uint64_t size)
{
    if (memo.generation == memory->generation && holds(memo.found, address, size)) return memo.found;
    const size_t index = below(memory, address);
    if (index == 0 || !holds(&memory->table[index - 1], address, size)) return NULL;
    memo.generation = memory->generation;
    memo.found = &memory->table[index - 1];
    return memo.found;
}

static void describe_by(const gs_emu_allocation *a, uint64_t address, char *text, size_t size)
{
    const unsigned long long start = a->address, bytes = a->size, end = start + bytes, at = address;
    if (at < start)
        snprintf(text, size, "%#llx is %llu bytes before the allocation %#llx of %llu bytes", at, start - at, start, bytes);
    else if (at < end)
        snprintf(text, size, "%#llx is %llu bytes before the end of the allocation %#llx of %llu bytes", at, end - at, start, bytes);
    else if (at == end)
        snprintf(text, size, "%#llx is the end of the allocation %#llx of %llu bytes", at, start, bytes);
    else
        snprintf(text, size, "%#llx is %llu bytes past the end of the allocation %#llx of %llu bytes", at, at - end, start, bytes);
}

char *gs_emu_memory_describe(const gs_emu_memory *memory, uint64_t address, char *text, size_t size)
{
    const size_t index = below(memory, address);
    const gs_emu_allocation *const before = index > 0 ? &memory->table[index - 1] : NULL;
    const gs_emu_allocation *const after = index < memory->count ? &memory->table[index] : NULL;
    const uint64_t end = before ? before->address + before->size : 0;
    const uint64_t past = before ? address < end ? 0 : address - end : UINT64_MAX, short_of = after ? after->address - address : UINT64_MAX;
    if (past > NEAR && short_of > NEAR)
        snprintf(text, size, "%#llx is near no allocation", (unsigned long long)address);
    else
        describe_by(past <= short_of ? before : after, address, text, size);
    return text;
}

/* ---- the bitmap ---- */

static uint64_t *word_at(const gs_emu_allocation *a, uint64_t byte) { return (uint64_t *)(void *)a->written + byte / 64; }

/* Bits [first, last] of a word. */
static uint64_t bits_of(uint64_t first, uint64_t last) { return UINT64_MAX << first & UINT64_MAX >> (63 - last); }

static void set_bits(uint64_t *word, uint64_t bits)
{
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) != bits) __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}

static bool has_bits(const uint64_t *word, uint64_t bits) { return (__atomic_load_n(word, __ATOMIC_RELAXED) & bits) == bits; }

void gs_emu_memory_mark(const gs_emu_allocation *allocation, uint64_t address, uint64_t size)
{
    if (!allocation->written || size == 0) return;
    const uint64_t first = address - allocation->address, last = first + size - 1;
    uint64_t *word = word_at(allocation, first), *const end = word_at(allocation, last);
    if (word == end) {
        set_bits(word, bits_of(first % 64, last % 64));
        return;
    }
    set_bits(word++, bits_of(first % 64, 63));
    for (; word < end; word++) __atomic_store_n(word, UINT64_MAX, __ATOMIC_RELAXED);
    set_bits(end, bits_of(0, last % 64));
}

void gs_emu_memory_touch(const gs_emu_allocation *allocation, uint64_t address, uint64_t size, bool store)
{
    const gs_emu_allocation *const a = allocation;
    if (size == 0) return;
    const uint64_t first = (address - a->address) / GS_EMU_SECTOR, last = (address - a->address + size - 1) / GS_EMU_SECTOR;
    for (uint64_t word = first / 64; word <= last / 64; word++)
        set_bits(a->touched[store] + word, bits_of(word == first / 64 ? first % 64 : 0, word == last / 64 ? last % 64 : 63));
}

static uint64_t count_bits(const uint64_t *word, size_t words)
{
    uint64_t count = 0;
    for (size_t i = 0; i < words; i++) count += (unsigned)__builtin_popcountll(word[i]);
    return count;
}

void gs_emu_memory_footprint(gs_emu_memory *memory, uint64_t *loaded, uint64_t *stored)
{
    *loaded = *stored = 0;
    for (size_t i = 0; i < memory->count; i++) {
        const gs_emu_allocation *const a = &memory->table[i];
        *loaded += GS_EMU_SECTOR * count_bits(a->touched[0], touched_size(a->size) / 8);
        *stored += GS_EMU_SECTOR * count_bits(a->touched[1], touched_size(a->size) / 8);
    }
    memory->touched = true;
}

void gs_emu_memory_settle(gs_emu_memory *memory)
{
    if (!memory->touched) return;
    for (size_t i = 0; i < memory->count; i++)
        for (int store = 0; store < 2; store++) memset(memory->table[i].touched[store], 0, touched_size(memory->table[i].size));
    memory->touched = false;
}

bool gs_emu_memory_stored(const gs_emu_memory *memory, uint64_t address, uint64_t size)
{
    const gs_emu_allocation *const a = size ? gs_emu_memory_find(memory, address, size) : NULL;
    if (!a || !memory->touched) return false;
    for (uint64_t sector = (address - a->address) / GS_EMU_SECTOR; sector <= (address - a->address + size - 1) / GS_EMU_SECTOR; sector++)
        if (has_bits(a->touched[1] + sector / 64, bits_of(sector % 64, sector % 64))) return true;
    return false;
}

bool gs_emu_memory_written(const gs_emu_allocation *allocation, uint64_t address, uint64_t size)
{
    if (!allocation->written || size == 0) return true;
    const uint64_t first = address - allocation->address, last = first + size - 1;
    const uint64_t *word = word_at(allocation, first), *const end = word_at(allocation, last);
    if (word == end) return has_bits(word, bits_of(first % 64, last % 64));
    if (!has_bits(word++, bits_of(first % 64, 63))) return false;
    for (; word < end; word++)
        if (!has_bits(word, UINT64_MAX)) return false;
    return has_bits(end, bits_of(0, last % 64));
}

bool gs_emu_memory_written_each(const gs_emu_allocation *allocation, const uint64_t *address, uint32_t size)
{
    if (!allocation->written) return true;
    const uint64_t bits = bits_of(0, size - 1);
    uint64_t missing = 0;
    for (int i = 0; i < 32; i++) {   /* each range is in one word of the bitmap */
        const uint64_t first = address[i] - allocation->address;
        missing |= ~__atomic_load_n(word_at(allocation, first), __ATOMIC_RELAXED) >> first % 64 & bits;
    }
    return missing == 0;
}
