/* SPDX-License-Identifier: MIT
 * The instruction set: what its files call of each other, and what decoding and running a launch call of it. */
#ifndef GS_EMU_ISA_ISA_H
#define GS_EMU_ISA_ISA_H

#include "emu/machine/machine.h"

/* A function whose loops over lanes are compiled for AVX2 as well; the loader chooses. Not where a sanitizer runs, whose code the choice would call too soon. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GS_EMU_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define GS_EMU_WIDE
#endif

/* ---- decoding: a function for each group of instructions ---- */

gs_emu_decode gs_emu_decode_alu, gs_emu_decode_convert, gs_emu_decode_access, gs_emu_decode_warp, gs_emu_decode_sync,
              gs_emu_decode_mbarrier, gs_emu_decode_bulk, gs_emu_decode_matrix, gs_emu_decode_wmma, gs_emu_decode_wgmma;

/* ---- memory, from access_reach.c ---- */

/* Resolves an address of a space for one lane; reports out-of-bounds and misaligned (align 0 or 1: any), false then. A shared address may name
 * another block of the cluster (reports EXIT_IN_USE if that has exited). No checker access is recorded. */
bool gs_emu_resolve(gs_emu_warp *w, const gs_emu_op *op, int lane, gs_ptx_space space, uint64_t address, uint32_t size, uint32_t align, gs_emu_place *out);

/* Why the kernel may not reach bytes that the allocation holds; NULL: it may. A kernel that is not a user's may reach all, and store to all but what is read only. */
const char *gs_emu_forbidden(const gs_emu_launch *launch, const gs_emu_allocation *a, uint64_t address, uint64_t size, bool stores);

/* A hint about so many bytes of one allocation of global memory, which may reach 256 bytes past it, as a last line does; true, or reports. Farther on it
 * would bring what the next launch needs. */
bool gs_emu_hint_resolve(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t address, uint64_t size);
/* Records a generic access with the checker: shared memory with gs_emu_check_access, global memory with the bitmap of written bytes. */
void gs_emu_touch(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_place *place, uint32_t size, gs_emu_access access);

/* ---- mbarriers, from mbarrier.c; for copies ---- */

typedef struct gs_emu_mbarrier gs_emu_mbarrier;
/* The barrier object at an offset of a block's shared memory; reports BARRIER and returns NULL if none was initialised there. */
gs_emu_mbarrier *gs_emu_mbarrier_find(gs_emu_warp *w, const gs_emu_op *op, gs_emu_block *block, uint32_t offset);
/* A copy that will complete on it was issued by w: it counts as under way (BYTE_COUNT if a phase ends meanwhile); checks that its
 * initialisation is visible to the asynchronous proxy. */
void gs_emu_mbarrier_expect_copy(gs_emu_warp *w, const gs_emu_op *op, gs_emu_mbarrier *barrier);
/* The copy's bytes have arrived: call gs_emu_check_copy_end with these first, then this. Completes the phase if it was the last. */
int      gs_emu_mbarrier_agent(const gs_emu_mbarrier *barrier);   /* the checker's, -1 without */
uint32_t gs_emu_mbarrier_clock(const gs_emu_mbarrier *barrier);   /* of the phase under way */
void     gs_emu_mbarrier_complete(gs_emu_cluster *cluster, gs_emu_mbarrier *barrier, uint32_t bytes, const gs_emu_op *op);
/* cp.async.mbarrier.arrive: a pending arrival of w's lanes that happens when its earlier cp.async are done. */
void     gs_emu_mbarrier_arrive_later(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, gs_emu_mbarrier *barrier, bool increments);

/* ---- state of a warp's modules: created when a warp starts, destroyed at its end; NULL is allowed and means none yet ---- */
void gs_emu_copy_free(gs_emu_warp *w);
void gs_emu_bulk_free(gs_emu_warp *w);
void gs_emu_wgmma_free(gs_emu_warp *w);
/* Called when the last lane of a warp exits: reports EXIT_STORES. */
void gs_emu_bulk_exit(gs_emu_warp *w, const gs_emu_op *op);
/* The same for wgmma: reports WGMMA_REGISTER for groups that nobody waited for. */
void gs_emu_wgmma_exit(gs_emu_warp *w, const gs_emu_op *op);
/* cp.async of lane that are done are those of groups <= ...: true when nothing that these lanes issued is under way. */
bool gs_emu_copy_idle(const gs_emu_warp *w, uint32_t lanes);

/* wgmma_registers.c: before each op of a warp with groups under way: reports WGMMA_REGISTER for registers that they hold; moves carry the hold along. */
bool gs_emu_wgmma_guard(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes);
bool gs_emu_wgmma_active(const gs_emu_warp *w);
void gs_emu_wgmma_code_free(gs_emu_code *code);   /* code->wgmma; from gs_emu_code_free */

/* ---- tensor maps, from tensor.c ---- */

/* What a tensor map holds in the emulated device: 128 bytes, tiled mode only. */
#define GS_EMU_MAP_MAGIC 0x70616d2d756d6567ull   /* "gemu-map" */
typedef struct gs_emu_map {
    uint64_t magic;
    uint64_t address;
    uint64_t extent[5];        /* elements, inner first */
    uint64_t stride[4];        /* bytes, of dimensions 1..4 */
    uint16_t box[5];           /* elements */
    uint8_t  dimensions;       /* 1..5 */
    uint8_t  element;          /* bytes: 1, 2, 4, 8 */
    uint8_t  swizzle;          /* 0, 32, 64, 128 */
    uint8_t  type;             /* gs_ptx_type: F16, BF16, F32, ... for reductions */
    uint8_t  fill_nan;         /* out-of-bounds elements: 0 zero, 1 NaN */
} gs_emu_map;

#endif
