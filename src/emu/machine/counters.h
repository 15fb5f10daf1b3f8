/* SPDX-License-Identifier: MIT
 * Counters of an emulated launch, summed over its blocks. Plain data, written by the machine, read by the time model and by tests. */
#ifndef GS_EMU_MACHINE_COUNTERS_H
#define GS_EMU_MACHINE_COUNTERS_H

#include <stdint.h>

/* legend: class, text, what it counts */
#define GS_EMU_CLASSES(X)                                                    \
    X(INTEGER,  "integer",  "integer, logic, moves, predicates")             \
    X(FLOAT,    "float",    "f16, bf16, f32 arithmetic and conversions")     \
    X(DOUBLE,   "double",   "f64 arithmetic")                                \
    X(SPECIAL,  "special",  "square roots, exponentials, divisions")         \
    X(CONTROL,  "control",  "branches, exits")                               \
    X(GLOBAL,   "global",   "loads, stores, atomics of global memory")       \
    X(SHARED,   "shared",   "loads, stores, matrix loads of shared memory")  \
    X(OTHER,    "other",    "loads and stores of parameters and local memory") \
    X(COPY,     "copy",     "asynchronous copies issued")                    \
    X(MATRIX,   "matrix",   "mma and wgmma")                                 \
    X(BARRIER,  "barrier",  "barriers, fences, waits")                       \
    X(EXCHANGE, "exchange", "shuffles, votes")

typedef enum gs_emu_class {
#define GS_EMU_CLASS(name, text, what) GS_EMU_##name,
    GS_EMU_CLASSES(GS_EMU_CLASS)
#undef GS_EMU_CLASS
    GS_EMU_CLASS_COUNT
} gs_emu_class;

typedef struct gs_emu_counters {
    uint64_t issued[GS_EMU_CLASS_COUNT];   /* warp instructions */
    uint64_t threads;                      /* thread instructions */
    uint64_t global_load, global_store;    /* L2 traffic in bytes: 32-byte sectors accessed by a warp instruction, and bulk copies */
    uint64_t device_load, device_store;    /* least traffic of device memory in bytes: sectors accessed by the launch, each counted once */
    uint64_t shared_load, shared_store;    /* bytes, without bank conflicts */
    uint64_t shared_passes;                /* passes of 128 bytes that shared memory needs for this, with bank conflicts */
    uint64_t copy_load, copy_store;        /* the part of the global bytes moved by bulk copies */
    uint64_t multicast;                    /* bytes that arrived in shared memory from another block's copy */
    uint64_t distributed;                  /* bytes to and from shared memory of other blocks */
    uint64_t matrix_flops;                 /* multiply and add count separately */
    uint64_t wgmma_flops;                  /* the part of these by wgmma */
    uint64_t wgmma, mma;                   /* operations per warp: a warpgroup's wgmma counts four */
    uint64_t barrier_waits;                /* waits that did not succeed at once */
    uint64_t mbarrier_waits;
    uint64_t blocks, clusters;
} gs_emu_counters;

#endif
