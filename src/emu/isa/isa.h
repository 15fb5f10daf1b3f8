/* SPDX-License-Identifier: MIT
 * The instruction set: functions that its files call across files, and those that decoding and running a launch call. */
#ifndef GS_EMU_ISA_ISA_H
#define GS_EMU_ISA_ISA_H

#include "emu/machine/machine.h"

/* Also compiles a function's loops over lanes for AVX2; the loader selects the version. Not with sanitizers, because the selection would call their code before it is
 * initialised. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GS_EMU_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define GS_EMU_WIDE
#endif

/* ---- decoding: a function for each group of instructions ---- */

gs_emu_decode gs_emu_decode_alu, gs_emu_decode_convert, gs_emu_decode_access, gs_emu_decode_warp, gs_emu_decode_sync,
              gs_emu_decode_mbarrier, gs_emu_decode_bulk, gs_emu_decode_matrix, gs_emu_decode_wmma, gs_emu_decode_wgmma;

/* ---- memory, from access_reach.c ---- */

/* Translates an address of a space for one lane; reports out-of-bounds and misaligned addresses (align 0 or 1: any) and returns false. A shared address may be in
 * another block of the cluster (reports EXIT_IN_USE if that has exited). Records no access for the checker. */
bool gs_emu_resolve(gs_emu_warp *w, const gs_emu_op *op, int lane, gs_ptx_space space, uint64_t address, uint32_t size, uint32_t align, gs_emu_place *out);

/* The same for a destination in shared memory of the cluster that an asynchronous copy or its mbarrier will use. It is not an access by the warp itself: `copies_in` of the
 * destination's block accounts for it. */
bool gs_emu_resolve_target(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t address, uint32_t size, uint32_t align, gs_emu_place *out);

/* Why the kernel may not access bytes inside an allocation; NULL: it may. A kernel that is not a user kernel may access everything, except stores to read-only memory. */
const char *gs_emu_forbidden(const gs_emu_launch *launch, const gs_emu_allocation *a, uint64_t address, uint64_t size, bool stores);

/* Checks a hint for so many bytes of one allocation of global memory. It may reach 256 bytes beyond it, as the last line may; otherwise reports and returns false.
 * Farther away it could prefetch what the next launch needs. */
bool gs_emu_hint_resolve(gs_emu_warp *w, const gs_emu_op *op, int lane, uint64_t address, uint64_t size);
/* Records a generic access: to shared memory with gs_emu_check_access, to global memory in the bitmap of written bytes. */
void gs_emu_touch(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_place *place, uint32_t size, gs_emu_access access);

/* ---- mbarriers, from mbarrier.c; for copies ---- */

typedef struct gs_emu_mbarrier gs_emu_mbarrier;
/* The barrier object at an offset of a block's shared memory; if none was initialised there, reports BARRIER and returns NULL. */
gs_emu_mbarrier *gs_emu_mbarrier_find(gs_emu_warp *w, const gs_emu_op *op, gs_emu_block *block, uint32_t offset);
/* w issues a copy that will complete on the barrier: it counts as pending (BYTE_COUNT if a phase ends meanwhile). Checks that the barrier's initialisation is visible
 * to the asynchronous proxy. */
void gs_emu_mbarrier_expect_copy(gs_emu_warp *w, const gs_emu_op *op, gs_emu_mbarrier *barrier);
/* The copy's bytes have arrived: first call gs_emu_check_copy_end with these two, then gs_emu_mbarrier_complete, which completes the phase if this was the last copy. */
int      gs_emu_mbarrier_agent(const gs_emu_mbarrier *barrier);   /* the checker's number, -1 without a checker */
uint32_t gs_emu_mbarrier_clock(const gs_emu_mbarrier *barrier);   /* of the current phase */
void     gs_emu_mbarrier_complete(gs_emu_cluster *cluster, gs_emu_mbarrier *barrier, uint32_t bytes, const gs_emu_op *op);
/* cp.async.mbarrier.arrive: an arrival of w's lanes that takes place when their earlier cp.async are complete. */
void     gs_emu_mbarrier_arrive_later(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes, gs_emu_mbarrier *barrier, bool increments);

/* ---- state of a warp's modules: created on first use, destroyed at the end of the warp; may be NULL ---- */
void gs_emu_copy_free(gs_emu_warp *w);
void gs_emu_bulk_free(gs_emu_warp *w);
void gs_emu_wgmma_free(gs_emu_warp *w);
/* Called when the last lane of a warp exits; reports EXIT_STORES. */
void gs_emu_bulk_exit(gs_emu_warp *w, const gs_emu_op *op);
/* The same for wgmma; reports WGMMA_REGISTER for groups that were not waited for. */
void gs_emu_wgmma_exit(gs_emu_warp *w, const gs_emu_op *op);
/* true if these lanes have no pending cp.async. */
bool gs_emu_copy_idle(const gs_emu_warp *w, uint32_t lanes);

/* wgmma_registers.c: called before each op of a warp with pending groups: reports WGMMA_REGISTER for registers that they use; moves transfer that use. */
bool gs_emu_wgmma_guard(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes);
bool gs_emu_wgmma_active(const gs_emu_warp *w);
void gs_emu_wgmma_code_free(gs_emu_code *code);   /* code->wgmma; from gs_emu_code_free */

/* ---- tensor maps, from tensor.c ---- */

/* Contents of a tensor map in the emulated device: 128 bytes, tiled mode only. */
#define GS_EMU_MAP_MAGIC 0x70616d2d756d6567ull   /* "gemu-map" */
typedef struct gs_emu_map {
    uint64_t magic;
    uint64_t address;
    uint64_t extent[5];        /* elements, innermost first */
    uint64_t stride[4];        /* bytes, of dimensions 1..4 */
    uint16_t box[5];           /* elements */
    uint8_t  dimensions;       /* 1..5 */
    uint8_t  element;          /* bytes: 1, 2, 4, 8 */
    uint8_t  swizzle;          /* 0, 32, 64, 128 */
    uint8_t  type;             /* gs_ptx_type: F16, BF16, F32, ... for reductions */
    uint8_t  fill_nan;         /* out-of-bounds elements: 0 zero, 1 NaN */
} gs_emu_map;

#endif
