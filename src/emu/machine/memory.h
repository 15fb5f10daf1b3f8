/* SPDX-License-Identifier: MIT
 * The emulated device's memory: allocations in an address range of their own, with a bitmap of the bytes that were ever written. Addresses are the same in every run
 * with the same seed. Several threads may access it at once; alloc and free require one thread at a time and no running launch. */
#ifndef GS_EMU_MACHINE_MEMORY_H
#define GS_EMU_MACHINE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#define GS_EMU_GLOBAL_BASE 0x700000000ull   /* first device address */

typedef struct gs_emu_memory gs_emu_memory;

typedef struct gs_emu_allocation {
    uint64_t address, size;   /* 256-byte aligned; at least 4 KiB between two allocations are unused */
    uint8_t *bytes;           /* host memory */
    uint8_t *written;         /* one bit per byte; NULL if the bitmap is off */
    uint64_t *touched[2];     /* one bit per 32-byte sector: loaded, and stored, since the last gs_emu_memory_settle */
    bool     read_only;       /* for kernels */
} gs_emu_allocation;

/* capacity: most bytes allocated at a time. bitmap: record written bytes. */
gs_status gs_emu_memory_create(gs_emu_memory **out, uint64_t capacity, bool bitmap, gs_error *error);
void      gs_emu_memory_destroy(gs_emu_memory **memory);
gs_status gs_emu_memory_alloc(gs_emu_memory *memory, uint64_t size, uint64_t *address, gs_error *error);   /* DEVICE_MEMORY */
bool      gs_emu_memory_free(gs_emu_memory *memory, uint64_t address);   /* false: no allocation starts there */
void      gs_emu_memory_protect(gs_emu_memory *memory, uint64_t address);   /* makes the allocation that starts there read-only for kernels */
uint64_t  gs_emu_memory_used(const gs_emu_memory *memory);

/* From now on allocations are at random places in 47 bits, as in a program that uses much memory: neither a high word nor a distance that fits 32 bits tells where
 * another allocation is, and in every second allocation the middle is a multiple of 4 GiB. Before the call: one after the other. */
void gs_emu_memory_scatter(gs_emu_memory *memory, uint64_t seed);

/* The allocation that contains [address, address + size), NULL if none does. Fast if it is the same as last time (cached per thread). */
const gs_emu_allocation *gs_emu_memory_find(const gs_emu_memory *memory, uint64_t address, uint64_t size);

/* Host address of a range, NULL if no allocation contains all of it. */
static inline uint8_t *gs_emu_memory_at(const gs_emu_memory *memory, uint64_t address, uint64_t size)
{
    const gs_emu_allocation *const a = gs_emu_memory_find(memory, address, size);
    return a ? a->bytes + (address - a->address) : NULL;
}

/* The bitmap, for a range inside one allocation; without a bitmap mark has no effect, and everything counts as written. Threads may mark adjacent bytes at once. */
void gs_emu_memory_mark(const gs_emu_allocation *allocation, uint64_t address, uint64_t size);
bool gs_emu_memory_written(const gs_emu_allocation *allocation, uint64_t address, uint64_t size);

/* For 32 ranges of one size, a power of two up to 32; each address is a multiple of it. */
bool gs_emu_memory_written_each(const gs_emu_allocation *allocation, const uint64_t *address, uint32_t size);

/* The least traffic of a launch with device memory: the sectors that it accesses, each counted once. touch: marks a range inside one allocation; any thread.
 * footprint: bytes since the last settle; no launch may be running. settle: clears the marks, for the next launch or because all work has ended. stored: whether any
 * byte of a range was stored since the last settle, as of the last footprint. */
void gs_emu_memory_touch(const gs_emu_allocation *allocation, uint64_t address, uint64_t size, bool store);
#define GS_EMU_SECTOR 32u
/* The same for an access within one sector. */
static inline void gs_emu_memory_touch_sector(const gs_emu_allocation *allocation, uint64_t address, bool store)
{
    const uint64_t sector = (address - allocation->address) / GS_EMU_SECTOR, bit = 1ull << sector % 64;
    uint64_t *const word = allocation->touched[store] + sector / 64;
    if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)) __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}
void gs_emu_memory_footprint(gs_emu_memory *memory, uint64_t *loaded, uint64_t *stored);
void gs_emu_memory_settle(gs_emu_memory *memory);
bool gs_emu_memory_stored(const gs_emu_memory *memory, uint64_t address, uint64_t size);

/* "0x700000400 is 16 bytes past the end of the allocation 0x700000000 of 1024 bytes": for messages. Returns text. */
char *gs_emu_memory_describe(const gs_emu_memory *memory, uint64_t address, char *text, size_t size);

#endif
