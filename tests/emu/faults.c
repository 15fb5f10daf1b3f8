/* SPDX-License-Identifier: MIT
 * What the checker of the emulated device finds, and what it leaves alone: the project's own kernels, and split.cu, with one fault planted each
 * (an edit of the source that must match), and the same kernels changed in ways that are right. A planted fault must give one of
 * its findings, or where none is possible a wrong result, under every seed; an honest variant must give the right result and no finding. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "emu/emu.h"
#include "kernel/kernel.h"
#include "plan/loaded.h"
#include "verify/verify.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 1   /* the release build has the others */
#else
#define SEEDS 4
#endif
enum { EDITS = 3, WRONG_RESULT = GS_EMU_FINDING_KINDS };

typedef struct edit {
    const char *from, *to;   /* from stands in the source exactly once */
} edit;

typedef struct variant {
    const char *name, *base;
    edit        edits[EDITS];
    int         accepted[6];   /* finding kinds plus 1, or WRONG_RESULT + 1; none: honest */
} variant;

#define WS       "f16:256x128x320:tn ws/128x64x64/s3/c1x1/coop/g1"
#define WS_NN    "bf16:200x136x200:nn ws/128x128x64/s4/c1x1/coop/g8"
#define WS_MANY  "f16:1536x768x128:tn ws/128x64x64/s3/c1x1/coop/g4"
#define WS_DEEP  "f16:128x64x640:tn ws/64x64x64/s2/c1x1/coop/g1"
#define WS_PAIR  "f16:256x128x320:tn ws/128x64x64/s3/c2x1/coop/g1"
#define WS_PAIRN "f16:256x128x320:nn ws/128x128x64/s3/c1x2/coop/g1"
#define WS_SWAP_AB "f16:257x256x200:tn ws/136x128x64/s3/c1x1/coop/g1"
#define WS_ODD   "f16:130x65x200:tn:ldb=208:ldd=67 ws/128x64x64/s3/c1x1/coop/g1"
#define WS_BETA  "f16:256x128x192:tn:beta=1:d=f32 ws/128x128x64/s3/c1x1/coop/g1"
#define WS_PARTS "f16:256x128x192:tn:d=f32 ws/256x128x64/s4/c1x1/coop/g1"
#define WS_TAIL  "f16:264x96x130:nn:lda=136 ws/256x96x64/s3/c1x1/coop/g1"
#define WS_TURNS "f16:1536x768x320:tn ws/64x64x64/s3/c1x1/pp/g4"
#define WS_LATE  "f16:1536x1536x64:tn ws/128x128x64/s3/c1x1/lag/g4"
#define WS_FOUR  "f16:512x256x320:tn ws/128x64x64/s3/c2x2/coop/g1"
#define SPLITK     "f16:128x64x512:tn splitk/64x64x64/s4/ab/c1x1/k1/any"
#define SPLITK_FEW "f16:5x128x320:tn splitk/8x64x64/s5/ba/c1x1/k1/fixed"
#define SPLITK_PAIR "f16:128x128x512:nn splitk/64x64x64/s4/ba/c2x1/k1/any"
#define SPLITK_SPLIT "f16:64x128x512:tn splitk/64x64x64/s2/ab/c1x1/k4/any"
#define SPLITK_MEET "f16:64x64x512:nn splitk/64x64x64/s2/ab/c1x1/t4/any"
#define MMA      "f16:128x64x320:tn mma/64x64x32/w2x2/s3/g1"
#define MMA_NN   "f16:130x70x200:nn:acc=f16 mma/64x64x64/w1x2/s4/g1"
#define MMA_ODD  "bf16:65x67x131:tn mma/32x64x64/w2x2/s2/g1"
#define SIMPLE   "f16:40x50x70:tn simple"
#define TICKETS  "f16:40x50x70:tn gs_tickets"
#define TURNS    "f16:40x50x70:tn gs_turns"

#define F(kind) (GS_EMU_##kind##_FINDING + 1)
#define RESULT  (WRONG_RESULT + 1)

static const variant variants[] = {
    /* ---- ws, planted ---- */
    {"no fence after the barriers' initialisation", WS, {{"(full + s * 8, 1);\n        gs_mbarrier_fence_init();\n", "(full + s * 8, 1);\n"}}, {F(PROXY_FENCE)}},
    {"no barrier after the initialisation", WS, {{"    } else if (warp >= 4) {\n        gs_named_barrier(1, GS_CONSUMERS * 128 + 64);\n", ""}}, {F(BARRIER)}},
    {"the producer does not wait for the empty barriers", WS, {{"        gs_named_barrier(2, 64);\n", ""}}, {F(BARRIER)}},
    {"no wait for a tile's first full barrier", WS, {{"            gs_mbarrier_wait(in.full + at.stage * 8, at.phase);\n            multiply_stage(acc, &in, at.stage, true)", "            multiply_stage(acc, &in, at.stage, true)"}},
     {F(EARLY_READ), F(UNINITIALIZED)}},
    {"no wait for the full barrier", WS, {{"                gs_mbarrier_wait(in.full + at.stage * 8, at.phase);\n                multiply_stage", "                multiply_stage"}}, {F(EARLY_READ), F(UNINITIALIZED)}},
    {"no wait for the empty barrier", WS, {{"                    gs_mbarrier_wait(empty + at.stage * 8, at.phase ^ 1);\n                    load_stage", "                    load_stage"}},
     {F(OVERWRITE), F(BYTE_COUNT), F(ARRIVAL_COUNT)}},
    {"too few bytes expected", WS, {{"gs_mbarrier_expect(full, X_BYTES + Y_BYTES);", "gs_mbarrier_expect(full, X_BYTES);"}}, {F(DEADLOCK), F(BYTE_COUNT), F(EARLY_READ)}},
    {"too many bytes expected", WS, {{"gs_mbarrier_expect(full, X_BYTES + Y_BYTES);", "gs_mbarrier_expect(full, X_BYTES + Y_BYTES + 128);"}}, {F(DEADLOCK)}},
    {"an arrival without the bytes", WS, {{"gs_mbarrier_expect(full, X_BYTES + Y_BYTES);", "gs_mbarrier_arrive(full);"}}, {F(BYTE_COUNT), F(EARLY_READ)}},
    {"reads one stage further", WS, {{"multiply_stage(acc, &in, at.stage, false)", "multiply_stage(acc, &in, (at.stage + 1) % GS_STAGES, false)"}},
     {F(EARLY_READ), F(UNINITIALIZED)}},
    {"loads into the next stage", WS, {{"y_stages + at.stage * Y_BYTES,", "y_stages + (at.stage + 1) % GS_STAGES * Y_BYTES,"}},
     {F(EARLY_READ), F(UNINITIALIZED), F(OVERWRITE)}},
    {"signals the next stage's barrier", WS, {{"full + at.stage * 8, tile,", "full + (at.stage + 1) % GS_STAGES * 8, tile,"}}, {F(EARLY_READ), F(DEADLOCK), F(OVERWRITE), F(UNINITIALIZED)}},
    {"no wgmma.fence", WS, {{"    gs_wgmma_fence();\n", ""}}, {F(WGMMA_FENCE)}},
    {"no commit", WS, {{"    gs_wgmma_commit();\n", ""}}, {F(WGMMA_REGISTER), F(OVERWRITE)}},
    {"releases the stage that is still read", WS, {{"                release(&in, last);\n#if", "                release(&in, at.stage);\n#if"}}, {F(OVERWRITE), F(ARRIVAL_COUNT), F(DEADLOCK)}},
    {"releases before the wgmma is waited for", WS, {{"                gs_wgmma_wait<1>();\n", ""}}, {F(OVERWRITE)}},
    {"no wait before the epilogue", WS, {{"            gs_wgmma_wait<0>();\n", ""}}, {F(WGMMA_REGISTER)}},
    {"waits for all but one group before the epilogue", WS, {{"            gs_wgmma_wait<0>();\n", "            gs_wgmma_wait<1>();\n"}}, {F(WGMMA_REGISTER)}},
    {"no proxy fence before the store", WS, {{"    gs_tma_fence();\n", ""}}, {F(PROXY_FENCE)}},
    {"no wait before the slab is filled again", WS_MANY, {{"    if (gs_elect()) gs_tma_wait_read<pending>();\n", ""}}, {F(OVERWRITE)}},
    {"no wait between parts that share a slab", WS_PARTS, {{"    if (gs_elect()) gs_tma_wait_read<pending>();\n", ""}}, {F(OVERWRITE)}},
    {"waits for one group too few", WS_PARTS, {{"gs_tma_wait_read<pending>", "gs_tma_wait_read<pending + 1>"}}, {F(OVERWRITE)}},
    {"the same slab at the next tile", "f16:1536x1152x64:tn:d=f32 ws/64x192x64/s6/c1x1/coop/g4",
     {{"PART >= GS_SLABS ? GS_SLABS - 1 : PARTS - 1 - (PARTS - 1 - PART) / GS_SLABS * GS_SLABS", "GS_SLABS - 1"}}, {F(OVERWRITE)}},
    {"warps share their slabs", WS, {{"slabs + (warp - 4) * GS_SLABS", "slabs + (warp - 4) / 2 * GS_SLABS"}}, {F(RACE), F(OVERWRITE)}},
    {"no wait before the exit", WS, {{"        if (gs_elect()) gs_tma_wait_read<0>();\n", ""}}, {F(EXIT_STORES)}},
    {"stores that no group holds", WS, {{"        gs_tma_commit();\n", ""}}, {F(EXIT_STORES), F(OVERWRITE)}},
    {"the consumers never change phase", WS, {{"                last = at.stage;\n                ring_next(&at);", "                last = at.stage;\n                if (++at.stage == GS_STAGES) at.stage = 0;"}},
     {F(EARLY_READ), F(DEADLOCK), F(OVERWRITE)}},
    {"the producer never changes phase", WS_DEEP, {{"block * BK, rank);\n                    ring_next(&at);", "block * BK, rank);\n                    if (++at.stage == GS_STAGES) at.stage = 0;"}},
     {F(OVERWRITE), F(BYTE_COUNT), F(ARRIVAL_COUNT), F(DEADLOCK)}},
    {"one arrival too many is expected", WS, {{"SHARING * 4 * PEERS);", "SHARING * 4 * PEERS + 1);"}}, {F(DEADLOCK)}},
    {"one arrival too few is expected", WS_DEEP, {{"SHARING * 4 * PEERS);", "SHARING * 4 * PEERS - 1);"}}, {F(EARLY_READ), F(OVERWRITE), F(ARRIVAL_COUNT)}},
    {"every lane releases the stage", WS, {{"    if (threadIdx.x % 32 >= PEERS) return;\n", ""}}, {F(ARRIVAL_COUNT), F(OVERWRITE), F(PHASE)}},
    {"too many registers asked for", WS, {{"GS_CONSUMERS == 2 ? 232", "GS_CONSUMERS == 2 ? 240"}}, {F(DEADLOCK)}},
    {"the named barrier counts one warp too many", WS, {{"        gs_named_barrier(1, GS_CONSUMERS * 128 + 64);", "        gs_named_barrier(1, GS_CONSUMERS * 128 + 96);"}},
     {F(DEADLOCK), F(ARRIVAL_COUNT)}},
    {"the ring overlaps the epilogue's slabs", WS, {{"base + GS_STAGES * (X_BYTES + Y_BYTES);", "base + GS_STAGES * (X_BYTES + Y_BYTES) - 4096;"}}, {F(RACE), F(OVERWRITE), F(PROXY_FENCE), F(EARLY_READ)}},
    {"full and empty barriers overlap", WS, {{"const unsigned empty = full + GS_STAGES * 8;", "const unsigned empty = full + GS_STAGES * 8 - 8;"}}, {F(EARLY_READ), F(ARRIVAL_COUNT), F(DEADLOCK), F(OVERWRITE), F(PHASE)}},
    {"a descriptor beyond shared memory", WS, {{"gs_wgmma_low(x_stages + own_x * 128,", "gs_wgmma_low(x_stages + 0x38000 + own_x * 128,"}}, {F(DESCRIPTOR), F(UNINITIALIZED)}},
    {"the stride of another swizzle", WS, {{"gs_wgmma_words<128>(x", "gs_wgmma_words<64>(x"}}, {RESULT}},
    {"the epilogue's swizzle of other rows", WS, {{"return SPAN == 128 ? r % 8", "return SPAN == 128 ? r / 2 % 8"}}, {RESULT}},
    {"a narrow part's swizzle of other rows", WS_TAIL, {{"SPAN == 64 ? r / 2 % 4", "SPAN == 64 ? r % 4"}}, {RESULT}},
    {"the next k-block's coordinate", WS, {{"tile, block * BK, rank", "tile, block * BK + 8, rank"}}, {RESULT}},
    {"stores beyond the last row", WS_ODD, {{"        if (row + r >= p->m) break;\n", ""}}, {F(OUT_OF_BOUNDS)}},
    {"one lane executes the warp's stmatrix", WS, {{"        gs_stmatrix_x4(slab", "        if (lane != 5) gs_stmatrix_x4(slab"}}, {F(DIVERGED)}},
    {"consumers that do not wait for their turn", WS_TURNS, {{"            gs_mbarrier_wait(turn + consumer * 8, my_turn);\n", ""}}, {F(EARLY_READ), F(UNINITIALIZED), F(PHASE), F(OVERWRITE), F(ARRIVAL_COUNT)}},
    {"a turn that is not passed on", WS_TURNS, {{"            if (lane == 0) gs_mbarrier_arrive(turn + (1 - consumer) * 8);\n", ""}}, {F(DEADLOCK)}},
    {"a turn that five warps must pass on", WS_TURNS, {{"        gs_mbarrier_init(turn, 4);", "        gs_mbarrier_init(turn, 5);"}}, {F(DEADLOCK)}},
    {"does not skip the other consumer's stages", WS_TURNS, {{"            ring_skip(&at, skip, turns_over);\n", ""}}, {F(EARLY_READ), F(UNINITIALIZED), F(PHASE), F(OVERWRITE), F(ARRIVAL_COUNT), F(DEADLOCK)}},
    {"skips stages without their rounds", WS_TURNS, {{"    r->phase ^= rounds;\n", ""}}, {F(EARLY_READ), F(UNINITIALIZED), F(PHASE), F(OVERWRITE), F(DEADLOCK)}},
    {"the last tile is kept and not stored", WS_LATE, {{"        for (; late.next < PARTS; late.next++) store_late<0>(&to, &late);\n#endif\n        if (gs_elect())", "#endif\n        if (gs_elect())"}}, {RESULT}},
    {"a tile is kept over one that is not stored", WS_LATE, {{"            for (; late.next < PARTS; late.next++) store_late<0>(&to, &late);\n            late.at", "            late.at"}}, {RESULT}},
    {"a tile is kept before its sums are there", WS_LATE, {{"            gs_wgmma_wait<0>();\n            release(&in, last);\n", "            release(&in, last);\n"}}, {F(WGMMA_REGISTER), F(OVERWRITE)}},
    {"no wait for the launch before the first copy", WS, {{"            gs_dependent_wait();\n            bool more", "            bool more"}}, {F(EARLY_ACCESS)}},
    {"swap_ab: another swizzle of the slab", WS_SWAP_AB, {{"(lane / 8 % 2 ^ swizzled<SPAN>(r)) * 16", "lane / 8 % 2 * 16"}}, {RESULT}},
    {"swap_ab: an odd group is not stored", WS_SWAP_AB, {{"    if (ROWS / 8 % 2) gs_stmatrix_x2_trans", "    if (ROWS < 0) gs_stmatrix_x2_trans"}}, {F(UNINITIALIZED), RESULT}},
    {"swap_ab: the rows of the other order", WS_SWAP_AB, {{"const place corner = {tile.row + own_y, tile.col", "const place corner = {tile.row + own_y + warp % 4 * 16, tile.col"}}, {RESULT}},
    {"swap_ab: X by its own rows", WS_SWAP_AB, {{"map_x, GS_SWAP_AB ? tile.col : tile.row", "map_x, tile.row"}}, {RESULT}},
    /* ---- ws in clusters, planted ---- */
    {"the peer is not armed for what it gets", WS_PAIR, {{"gs_mbarrier_expect(full, X_BYTES + Y_BYTES);", "gs_mbarrier_expect(full, X_BYTES + Y_BYTES / CLUSTER);"}}, {F(BYTE_COUNT), F(EARLY_READ), F(DEADLOCK), F(UNINITIALIZED)}},
    {"multicast to itself only", WS_PAIR, {{"(1 | 1 << CY) << rank_y);", "1 << rank);"}}, {F(DEADLOCK), F(BYTE_COUNT), F(EARLY_READ), F(UNINITIALIZED)}},
    {"multicast to the other column's blocks", WS_FOUR, {{"(1 | 1 << CY) << rank_y);", "(1 | 1 << CY) << (1 - rank_y));"}}, {F(DEADLOCK), F(BYTE_COUNT), F(EARLY_READ), F(UNINITIALIZED), F(OVERWRITE)}},
    {"releases a stage to its own block only", WS_PAIR, {{"gs_cluster_address(empty, rank ^ lane % PEERS)", "gs_cluster_address(empty, rank)"}}, {F(OVERWRITE), F(ARRIVAL_COUNT)}},
    {"releases a stage to the block across", WS_FOUR, {{"gs_cluster_address(empty, rank ^ lane % PEERS)", "gs_cluster_address(empty, lane % PEERS == 2 ? rank ^ 3 : rank ^ lane % PEERS)"}}, {F(OVERWRITE), F(ARRIVAL_COUNT), F(BYTE_COUNT)}},
    {"a descriptor with the block's rank in it", "f16:256x128x320:nn ws/128x128x64/s3/c2x1/coop/g1",
     {{"gs_wgmma_low(y_stages + own_y * 128, Y_ALONG_K ? 0 : Y_SPAN * BK)", "(y_stages + own_y * 128) >> 4 | (Y_SPAN * BK >> 4) << 16"}}, {F(DESCRIPTOR), F(UNINITIALIZED), F(EARLY_READ), RESULT}},
    {"no cluster barrier after the initialisation", WS_PAIR, {{"        gs_cluster_barrier_init();\n", "        ;\n"}}, {F(BARRIER)}},
    {"leaves while the peer still uses its memory", WS_PAIR, {{"CLUSTER > 1 && s < GS_STAGES", "s < 0"}}, {F(EXIT_IN_USE), F(BARRIER), F(DEADLOCK)}},
    {"both load the same half", WS_PAIRN, {{"to + (rank * slice + n) * 128", "to + n * 128"}}, {F(OVERWRITE), F(EARLY_READ), F(UNINITIALIZED)}},
    /* ---- splitk, planted ---- */
    {"splitk: no fence after the barriers' initialisation", SPLITK, {{"        gs_mbarrier_fence_init();\n", ""}}, {F(PROXY_FENCE)}},
    {"splitk: nobody waits for the initialisation", SPLITK, {{"    gs_named_barrier(1, THREADS);\n", ""}}, {F(BARRIER)}},
    {"splitk: no wait for the full barrier", SPLITK, {{"        gs_mbarrier_wait(full + stage * 8, phase);\n", ""}}, {F(EARLY_READ), F(UNINITIALIZED)}},
    {"splitk: no wait for the empty barrier", SPLITK, {{"            gs_mbarrier_wait(empty + stage * 8, phase);\n", ""}}, {F(OVERWRITE), F(BYTE_COUNT), F(ARRIVAL_COUNT)}},
    {"splitk: gives back the stage that is still read", SPLITK, {{"stage == 0 ? GS_STAGES - 1 : stage - 1;", "stage;"}}, {F(OVERWRITE), F(ARRIVAL_COUNT), F(DEADLOCK)}},
    {"splitk: gives it back before the wgmma is waited for", SPLITK, {{"            gs_wgmma_wait<1>();\n", ""}}, {F(OVERWRITE)}},
    {"splitk: no wait before the tile is stored", SPLITK, {{"    gs_wgmma_wait<0>();\n", ""}}, {F(WGMMA_REGISTER)}},
    {"splitk: no wait for the launch before", SPLITK, {{"        gs_dependent_wait();\n#pragma unroll 1\n", "#pragma unroll 1\n"}}, {F(EARLY_ACCESS)}},
    {"splitk: bytes expected that no copy brings", SPLITK_FEW, {{"gs_mbarrier_expect(full + s * 8, LANDING_BYTES);", "gs_mbarrier_expect(full + s * 8, STAGE_BYTES);"}}, {F(DEADLOCK)}},
    {"splitk: rows that nobody wrote", SPLITK_FEW, {{"    if (Y_ALONG_K) clear_rows<BY, ROWS_Y>(stages + X_BYTES, min(blocks, GS_STAGES));\n", ""}}, {F(UNINITIALIZED)}},
    {"splitk: no fence behind the zeros", SPLITK_FEW, {{" gs_tma_fence();\n    gs_named_barrier(1", " ;\n    gs_named_barrier(1"}}, {F(PROXY_FENCE)}},
    {"splitk: shared copies before the peer began", SPLITK_PAIR, {{"        gs_cluster_wait();\n        if (leader) {", "        if (leader) {"}}, {F(BARRIER)}},
    {"splitk: gives a stage back to its own block only", SPLITK_PAIR, {{"at.rank_k * SHARERS + lane)", "at.rank_k * SHARERS + at.rank)"}}, {F(OVERWRITE), F(ARRIVAL_COUNT), F(BYTE_COUNT), F(DEADLOCK)}},
    {"splitk: both copy every stage", SPLITK_PAIR, {{"    if (stage % SHARERS != from.rank) return;\n", ""}}, {F(BYTE_COUNT), F(OVERWRITE), F(EARLY_READ), F(DEADLOCK)}},
    {"splitk: sends before the peers began", SPLITK_SPLIT, {{"    if (SHARERS == 1) gs_cluster_wait();\n    send_slices", "    send_slices"}}, {F(BARRIER)}},
    {"splitk: adds up before all slices came", SPLITK_SPLIT, {{"    gs_mbarrier_wait(parts, 0);\n", ""}}, {F(EARLY_READ), F(UNINITIALIZED), F(EXIT_IN_USE)}},
    {"splitk: slices in one slot", SPLITK_SPLIT, {{"(at.rank_k + GS_CK - RANK - 1) % GS_CK;", "0;"}}, {F(OVERWRITE), F(UNINITIALIZED)}},
    {"splitk: one slice too few expected", SPLITK_SPLIT, {{"gs_mbarrier_expect(parts, (GS_CK - 1)", "gs_mbarrier_expect(parts, (GS_CK - 2)"}}, {F(BYTE_COUNT), F(EARLY_READ), F(EXIT_IN_USE), F(UNINITIALIZED)}},
    {"splitk: no barrier before the ticket", SPLITK_MEET, {{"    gs_named_barrier(2, WORKERS);\n    if (threadIdx.x == 0)", "    if (threadIdx.x == 0)"}}, {F(UNORDERED)}},
    {"splitk: a ticket that orders nothing", SPLITK_MEET, {{"gs_ticket((unsigned *)workspace", "atomicInc((unsigned *)workspace"}}, {F(UNORDERED)}},
    {"splitk: whoever comes adds up", SPLITK_MEET, {{"return *flag == GS_TICKETS - 1 ? first : 0;", "return first;"}}, {F(UNORDERED), F(UNINITIALIZED)}},
    /* ---- mma, planted ---- */
    {"no wait for the copies", MMA, {{"                if (GS_VEC > 1) gs_cp_async_wait<GS_STAGES - 2>();\n", ""}}, {F(EARLY_READ)}},
    {"waits for one group too few", MMA, {{"                if (GS_VEC > 1) gs_cp_async_wait<GS_STAGES - 2>();\n", "                if (GS_VEC > 1) gs_cp_async_wait<GS_STAGES - 1>();\n"}}, {F(EARLY_READ)}},
    {"no first wait", MMA, {{"    if (GS_VEC > 1) gs_cp_async_wait<GS_STAGES - 2>();\n    __syncthreads();\n", "    __syncthreads();\n"}}, {F(EARLY_READ)}},
    {"no barrier in the loop", MMA, {{"gs_cp_async_wait<GS_STAGES - 2>();\n                __syncthreads();", "gs_cp_async_wait<GS_STAGES - 2>();"}}, {F(EARLY_READ), F(RACE)}},
    {"no barrier before the slabs", "f16:64x64x64:tn mma/64x64x64/w2x2/s2/g1", {{"    __syncthreads();   /* the slabs", "    /* the slabs"}}, {F(RACE)}},
    {"fills the stage that is read", MMA, {{"                to = from;\n", "                to = from == (GS_STAGES - 1) * STAGE_BYTES ? 0 : from + STAGE_BYTES;\n"}}, {F(RACE), F(OVERWRITE), F(EARLY_READ)}},
    {"reads beyond the last row", "f16:100x64x320:tn mma/128x64x64/w2x2/s2/g1", {{"row + row_of(i) < rows ? elements * 2 : 0", "elements * 2"}}, {F(OUT_OF_BOUNDS)}},
    {"another swizzle for the reader", MMA, {{"at.a = chunk_offset<A_COLS>(warp_m * WARP_M + lane % 16, lane / 16);", "at.a = chunk_offset<A_COLS>(warp_m * WARP_M + lane % 16, lane / 16 ^ 1);"}}, {RESULT}},
    {"stores without its barrier", MMA_ODD, {{"        __syncwarp();\n        store_slab", "        store_slab"}, {"    __syncthreads();   /* the slabs", "    /* the slabs"}}, {F(RACE)}},
    {"a vector store to an odd address", MMA, {{"shared + warp * SLAB_BYTES", "shared + 4 + warp * SLAB_BYTES"}}, {F(MISALIGNED)}},
    {"half of the warp multiplies", MMA, {{"            multiply(acc, &f[step % 2]);", "            if (lane < 16) multiply(acc, &f[step % 2]);"}}, {F(DIVERGED)}},
    {"reads K beyond the end", SIMPLE, {{"for (int i = 0; i < k; i++, b += step) sum = fmaf", "for (int i = 0; i < k + 64; i++, b += step) sum = fmaf"}}, {F(OUT_OF_BOUNDS)}},
    {"reads D before anyone wrote it", SIMPLE, {{"            ((out_type *)p.d)[(batch * p.m + row) * p.ldd + col] = STORE_OUT(value);", "            ((out_type *)p.d)[(batch * p.m + row) * p.ldd + col] += STORE_OUT(value);"}}, {F(UNINITIALIZED)}},
    /* ---- dependent launches, planted ---- */
    {"no wait for the launch before", MMA, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "#pragma unroll 1\n"}}, {F(EARLY_ACCESS)}},
    {"the wait behind the first copies", MMA_NN, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "#pragma unroll 1\n"},
      {"    gs_dependent_launch();\n    if (GS_VEC", "    gs_dependent_wait();\n    gs_dependent_launch();\n    if (GS_VEC"}}, {F(EARLY_ACCESS)}},
    {"one thread waits, without a barrier", MMA, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "    if (threadIdx.x == 0) gs_dependent_wait();\n#pragma unroll 1\n"}}, {F(EARLY_ACCESS)}},
    {"a lane of each warp waits", MMA_ODD, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "    if (lane == 0) gs_dependent_wait();\n#pragma unroll 1\n"}}, {F(EARLY_ACCESS)}},
    {"the wait before the stores only", SIMPLE, {{"    gs_dependent_wait();\n    gs_dependent_launch();\n", ""},
      {"            ((out_type *)p.d)[(batch * p.m + row) * p.ldd + col] = STORE_OUT", "            gs_dependent_wait();\n            ((out_type *)p.d)[(batch * p.m + row) * p.ldd + col] = STORE_OUT"}},
     {F(EARLY_ACCESS)}},
    /* ---- blocks that meet in global memory, planted ---- */
    {"no fence before the ticket", TICKETS, {{"    __threadfence();   /* the sums */\n", ""}}, {F(UNORDERED)}},
    {"one thread fences, before the barrier", TICKETS, {{"    __threadfence();   /* the sums */\n", "    if (thread == 0) __threadfence();\n"}}, {F(UNORDERED)}},
    {"a fence for the block only", TICKETS, {{"    __threadfence();   /* the sums */\n", "    __threadfence_block();\n"}}, {F(UNORDERED)}},
    {"no barrier before the ticket", TICKETS, {{"    __syncthreads();   /* of all threads */\n", ""}}, {F(UNORDERED)}},
    {"the ticket before the sums", TICKETS, {{"    if (inside) sums[slice * EACH] = sum_of_slice(p, row, col, slice);\n", ""},
      {"    if (!last) return;\n", "    if (inside) sums[slice * EACH] = sum_of_slice(p, row, col, slice);\n    __syncthreads();\n    if (!last) return;\n"}}, {F(UNORDERED), F(UNINITIALIZED)}},
    {"the last slice adds up, whatever its ticket", TICKETS, {{"last = atomicAdd(ticket, 1u) == SLICES - 1;", "atomicAdd(ticket, 1u), last = slice == SLICES - 1;"}}, {F(UNORDERED), F(UNINITIALIZED)}},
    {"no fence behind the ticket", TICKETS, {{"    __threadfence();   /* the ticket */\n", ""}}, {F(UNORDERED)}},
    {"all slices leave their sums in one place", TICKETS, {{"sums[slice * EACH] = sum_of_slice", "sums[0] = sum_of_slice"}}, {F(UNORDERED)}},
    {"every slice writes D", TICKETS, {{"    if (!last) return;\n", ""}, {"sum += sums[i * EACH];", "sum += i == slice ? sums[i * EACH] : 0;"}}, {F(UNORDERED)}},
    {"the turn is given without a release", TURNS, {{"st.release.gpu", "st.relaxed.gpu"}}, {F(UNORDERED)}},
    {"the turn is given before all are done", TURNS, {{"    __syncthreads();   /* all threads are done */\n", ""}}, {F(UNORDERED)}},
    {"the turn is looked at without an acquire", TURNS, {{"ld.acquire.gpu", "ld.relaxed.gpu"}}, {F(UNORDERED)}},
    {"nobody waits for the turn", TURNS, {{"        while (look(turn) != slice) continue;\n", "        look(turn);\n"}}, {F(UNORDERED), F(UNINITIALIZED)}},

    /* ---- honest ---- */
    {"as it is, tn", WS, {{0}}, {0}},
    {"as it is, nn with edges", WS_NN, {{0}}, {0}},
    {"as it is, many tiles", WS_MANY, {{0}}, {0}},
    {"as it is, two stages", WS_DEEP, {{0}}, {0}},
    {"as it is, pair along M", WS_PAIR, {{0}}, {0}},
    {"as it is, pair along N", WS_PAIRN, {{0}}, {0}},
    {"as it is, swap_ab", WS_SWAP_AB, {{0}}, {0}},
    {"as it is, swap_ab, pair along M, nn", "f16:200x520x200:nn ws/80x256x64/s3/c2x1/lag/g1", {{0}}, {0}},
    {"as it is, plain stores", WS_ODD, {{0}}, {0}},
    {"as it is, beta", WS_BETA, {{0}}, {0}},
    {"as it is, parts that share slabs", WS_PARTS, {{0}}, {0}},
    {"as it is, turns", WS_TURNS, {{0}}, {0}},
    {"as it is, turns in pairs, few tiles", "f16:640x200x200:nn ws/64x64x64/s4/c2x1/pp/h2", {{0}}, {0}},
    {"as it is, late", WS_LATE, {{0}}, {0}},
    {"as it is, late over k-blocks, first out of L2", "bf16:1536x1536x320:nn ws/128x128x64/s3/c1x2/lagf/g4", {{0}}, {0}},
    {"as it is, four blocks", WS_FOUR, {{0}}, {0}},
    {"as it is, four blocks, nn", "f16:520x264x200:nn ws/128x64x64/s3/c2x2/lag/g2", {{0}}, {0}},
    {"as it is, narrow last part", WS_TAIL, {{0}}, {0}},
    {"consumers side by side", "f16:136x328x200:tn ws/128x320x64/s3/c1x1/coop/g1", {{0}}, {0}},
    {"consumers side by side, nn", "f16:136x328x200:nn ws/128x320x64/s3/c1x1/coop/g1", {{0}}, {0}},
    {"a last part of 16 columns", "bf16:264x216x200:tn ws/128x208x64/s3/c2x1/coop/g1", {{0}}, {0}},
    {"four consumers, f16 sums", "f16:264x264x200:nn:acc=f16 ws/256x256x64/s3/c1x1/coop4/g1", {{0}}, {0}},
    {"three consumers", "f16:200x192x130:tn:acc=f16:ldb=136:lda=136 ws/192x192x64/s3/c1x1/coop/h2", {{0}}, {0}},
    {"one consumer, pair", "bf16:130x72x200:nn ws/64x64x64/s4/c2x1/coop/g1", {{0}}, {0}},
    {"splitk", SPLITK, {{0}}, {0}},
    {"splitk, few rows", SPLITK_FEW, {{0}}, {0}},
    {"splitk, a pair", SPLITK_PAIR, {{0}}, {0}},
    {"splitk, K over a cluster", SPLITK_SPLIT, {{0}}, {0}},
    {"splitk, K over the grid", SPLITK_MEET, {{0}}, {0}},
    {"splitk, K over clusters of the grid, uneven slices", "f16:60x96x1024:tn splitk/64x96x64/s2/ab/c1x1/k4t4/any", {{0}}, {0}},
    {"splitk, a cluster along both", "f16:120x200x512:nn splitk/64x64x64/s2/ab/c2x1/k4/fixed", {{0}}, {0}},
    {"splitk, stages of 128", "f16:130x64x1000:tn:ldd=67 splitk/128x64x128/s2/ab/c1x1/k3/any", {{0}}, {0}},
    {"splitk, waits for every wgmma", SPLITK, {{"            gs_wgmma_wait<1>();\n", "            gs_wgmma_wait<0>();\n"}}, {0}},
    {"splitk, a fence before the ticket", SPLITK_MEET, {{"    gs_named_barrier(2, WORKERS);\n    if (threadIdx.x == 0)", "    __threadfence();\n    gs_named_barrier(2, WORKERS);\n    if (threadIdx.x == 0)"}}, {0}},
    {"cp.async, tn", MMA, {{0}}, {0}},
    {"cp.async, nn, f16 sums", MMA_NN, {{0}}, {0}},
    {"plain loads", MMA_ODD, {{0}}, {0}},
    {"a thread per element", SIMPLE, {{0}}, {0}},
    {"waits for every wgmma at once", WS, {{"                gs_wgmma_wait<1>();\n", "                gs_wgmma_wait<0>();\n"}}, {0}},
    {"a wgmma.fence more", WS, {{"    gs_wgmma_fence();\n", "    gs_wgmma_fence();\n    gs_wgmma_fence();\n"}}, {0}},
    {"a group per step", WS, {{"step > 0 || !first);\n    }", "step > 0 || !first);\n        if (step < BK / 16 - 1) gs_wgmma_commit();\n    }"}}, {0}},
    {"the fence by the thread that stores", WS, {{"    gs_tma_fence();\n    __syncwarp();\n    if (gs_elect()) {\n", "    __syncwarp();\n    if (gs_elect()) {\n        gs_tma_fence();\n"}}, {0}},
    {"all stores waited for at once", WS_MANY, {{"gs_tma_wait_read<pending>", "gs_tma_wait_read<0>"}}, {0}},
    {"the bytes announced in two parts", WS, {{"    gs_mbarrier_expect(full, X_BYTES + Y_BYTES);", "    asm volatile(\"mbarrier.expect_tx.shared::cta.b64 [%0], %1;\" ::\"r\"(full), \"r\"(X_BYTES) : \"memory\");\n    gs_mbarrier_expect(full, Y_BYTES);"}}, {0}},
    {"the arrival after the copies", WS, {{"    gs_mbarrier_expect(full, X_BYTES + Y_BYTES);\n", ""}, {"(1 | 1 << CY) << rank_y);\n", "(1 | 1 << CY) << rank_y);\n    gs_mbarrier_expect(full, X_BYTES + Y_BYTES);\n"}}, {0}},
    {"polls instead of waiting", WS, {{"                gs_mbarrier_wait(in.full + at.stage * 8, at.phase);\n                multiply_stage",
      "                for (unsigned done = 0; !done;)\n                    asm volatile(\"{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(in.full + at.stage * 8), \"r\"(at.phase) : \"memory\");\n                multiply_stage"}}, {0}},
    {"one warp waits, a barrier tells the others", WS, {{"                gs_mbarrier_wait(in.full + at.stage * 8, at.phase);\n                multiply_stage", "                if (warp % 4 == 0) gs_mbarrier_wait(in.full + at.stage * 8, at.phase);\n                gs_named_barrier(5 + consumer, 128);\n                multiply_stage"}}, {0}},
    {"one thread releases for four warps", WS, {{"SHARING * 4 * PEERS);", "SHARING * PEERS);"},
      {"    if (threadIdx.x % 32 >= PEERS) return;\n", "    gs_named_barrier(5 + threadIdx.x / 128, 128);\n    if (threadIdx.x % 128 >= PEERS) return;\n"}}, {0}},
    {"a proxy fence instead of the initialisation's", WS, {{"(full + s * 8, 1);\n        gs_mbarrier_fence_init();\n", "(full + s * 8, 1);\n        gs_tma_fence();\n"}}, {0}},
    {"another thread initialises", WS, {{"    if (warp == 0 && gs_elect()) {\n        gs_tma_prefetch(&map_a);", "    if (threadIdx.x == 7) {\n        gs_tma_prefetch(&map_a);"}}, {0}},
    {"another warp initialises", WS_PAIR, {{"    if (warp == 0 && gs_elect()) {\n        gs_tma_prefetch(&map_a);", "    if (threadIdx.x == 70) {\n        gs_tma_prefetch(&map_a);"}}, {0}},
    {"the producer in another warp", WS_PAIR, {{"        if (warp == 0 && gs_elect()) {\n            gs_tile_walk", "        if (threadIdx.x == 96) {\n            gs_tile_walk"}}, {0}},
    {"B before A", WS, {{"    load_operand<BX, X_ALONG_K, 128, CY>(x, map_x, GS_SWAP_AB ? tile.col : tile.row, k, full, rank_y, ((1 << CY) - 1) << rank_x * CY);\n", ""},
      {"(1 | 1 << CY) << rank_y);\n", "(1 | 1 << CY) << rank_y);\n    load_operand<BX, X_ALONG_K, 128, CY>(x, map_x, tile.row, k, full, rank_y, 1);\n"}}, {0}},
    {"registers are not moved", WS_DEEP, {{"#ifdef PRODUCER_REGISTERS", "#if 0"}, {"#ifdef CONSUMER_REGISTERS", "#if 0"}}, {0}},
    {"every copy waited for", MMA, {{"                if (GS_VEC > 1) gs_cp_async_wait<GS_STAGES - 2>();\n", "                if (GS_VEC > 1) gs_cp_async_wait<0>();\n"}}, {0}},
    {"wait_all", MMA, {{"                if (GS_VEC > 1) gs_cp_async_wait<GS_STAGES - 2>();\n", "                if (GS_VEC > 1) asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n"}}, {0}},
    {"a barrier more", MMA_NN, {{"                __syncthreads();\n", "                __syncthreads();\n                __syncthreads();\n"}}, {0}},
    {"a named barrier instead of syncthreads", MMA, {{"                __syncthreads();\n", "                asm volatile(\"barrier.sync 3, %0;\" ::\"n\"(THREADS) : \"memory\");\n"}}, {0}},
    {"one thread waits for the launch before, then a barrier", MMA,
     {{"    gs_dependent_wait();\n#pragma unroll 1\n", "    if (threadIdx.x == 0) gs_dependent_wait();\n    __syncthreads();\n#pragma unroll 1\n"}}, {0}},
    {"a lane waits for its warp", MMA_ODD, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "    if (lane == 0) gs_dependent_wait();\n    __syncwarp();\n#pragma unroll 1\n"}}, {0}},
    {"waits first of all", MMA_NN, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "#pragma unroll 1\n"},
      {"    extern __shared__ __align__(128) unsigned char shared[];\n", "    extern __shared__ __align__(128) unsigned char shared[];\n    gs_dependent_wait();\n"}}, {0}},
    {"rows beyond the last end before the wait", SIMPLE, {{"    gs_dependent_wait();\n    gs_dependent_launch();\n    if (row >= p.m) return;\n",
      "    if (row >= p.m) return;\n    gs_dependent_wait();\n"}}, {0}},
    {"tickets", TICKETS, {{0}}, {0}},
    {"turns", TURNS, {{0}}, {0}},
    {"the fence by the thread that takes the ticket", TICKETS, {{"    __threadfence();   /* the sums */\n", ""}, {"    if (thread == 0) last = ", "    if (thread == 0) __threadfence();\n    if (thread == 0) last = "}}, {0}},
    {"a ticket that releases and acquires", TICKETS, {{"    __threadfence();   /* the sums */\n", ""},
      {"last = atomicAdd(ticket, 1u) == SLICES - 1;", "{\n        unsigned taken;\n        asm volatile(\"atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;\" : \"=r\"(taken) : \"l\"(ticket) : \"memory\");\n"
       "        last = taken == SLICES - 1;\n    }"}, {"    __threadfence();   /* the ticket */\n", ""}}, {0}},
    {"the ticket's thread fences on both sides", TICKETS, {{"    __threadfence();   /* the sums */\n", ""},
      {"    if (thread == 0) last = atomicAdd(ticket, 1u) == SLICES - 1;", "    if (thread == 0) {\n        __threadfence();\n        last = atomicAdd(ticket, 1u) == SLICES - 1;\n        __threadfence();\n    }"},
      {"    __threadfence();   /* the ticket */\n", ""}}, {0}},
    {"volatile sums instead of the second fence", TICKETS, {{"    __threadfence();   /* the ticket */\n", ""}, {"    float *const sums = (float *)p.workspace + TILES_MOST + tile * SLICES", "    volatile float *const sums = (float *)p.workspace + TILES_MOST + tile * SLICES"}}, {0}},
    {"the ticket is given back by an exchange", TICKETS, {{"if (thread == 0) *ticket = 0;", "if (thread == 0) atomicExch(ticket, 0u);"}}, {0}},
    {"turns by fences", TURNS, {{"st.release.gpu", "fence.acq_rel.gpu;\\nst.relaxed.gpu"}, {"ld.acquire.gpu.global.u32 %0, [%1];", "ld.relaxed.gpu.global.u32 %0, [%1];\\nfence.acq_rel.gpu;"}}, {0}},
    {"registers cleared by hand", WS, {{"            accumulator acc[BLOCKS][ACC_COUNT];\n", "            accumulator acc[BLOCKS][ACC_COUNT];\n            for (int i = 0; i < ACC_COUNT; i++) acc[0][i] = 0;\n"},
      {"multiply_stage(acc, &in, at.stage, true)", "multiply_stage(acc, &in, at.stage, false)"}}, {0}},
};

/* ---- patching ---- */

static char *patched(const char *source, const edit *edits, const char *name)
{
    gs_text text = {0};
    gs_text_add(&text, source);
    for (int i = 0; i < EDITS && edits[i].from; i++) {
        const char *const at = strstr(gs_text_string(&text), edits[i].from);
        if (!at || strstr(at + 1, edits[i].from)) fail_msg("%s: edit %d stands %s in the source", name, i + 1, at ? "more than once" : "nowhere");
        gs_text next = {0};
        gs_text_add_bytes(&next, text.data, (size_t)(at - text.data));
        gs_text_add(&next, edits[i].to);
        gs_text_add(&next, at + strlen(edits[i].from));
        gs_text_free(&text);
        text = next;
    }
    return gs_text_take(&text);
}

/* ---- data: small integers, so that every sum is exact ---- */

typedef struct matrices {
    gs_problem problem;
    uint16_t  *a, *b;
    void      *c, *d;
    gs_args    args;
} matrices;

static uint16_t encode(const gs_problem *p, float value) { return p->in == GS_F16 ? gs_f32_to_f16(value) : gs_f32_to_bf16(value); }

static float small(gs_random *random) { return (float)(int)gs_random_below(random, 3) - 1; }

static gs_pointer to_device(gs_device *device, const void *from, size_t bytes)
{
    gs_pointer at = 0;
    gs_error error = {0};
    if (device->ops->alloc(device, bytes, &at, &error) != GS_OK || (from && device->ops->copy_in(device, at, from, bytes, &error) != GS_OK)) fail_msg("%s", error.text);
    return at;
}

static void make_matrices(matrices *m, gs_device *device)
{
    const gs_problem *const p = &m->problem;
    gs_random random = {7};
    const size_t bytes_a = gs_problem_bytes(p, 'a'), bytes_b = gs_problem_bytes(p, 'b'), bytes_c = gs_problem_bytes(p, 'd');
    m->a = malloc(bytes_a);
    m->b = malloc(bytes_b);
    m->c = calloc(1, bytes_c);
    m->d = malloc(bytes_c);
    assert_true(m->a && m->b && m->c && m->d);
    for (size_t i = 0; i < bytes_a / 2; i++) m->a[i] = encode(p, small(&random));
    for (size_t i = 0; i < bytes_b / 2; i++) m->b[i] = encode(p, small(&random));
    m->args = (gs_args){.a = (void *)(uintptr_t)to_device(device, m->a, bytes_a), .b = (void *)(uintptr_t)to_device(device, m->b, bytes_b),
                        .c = (void *)(uintptr_t)to_device(device, m->c, bytes_c), .d = (void *)(uintptr_t)to_device(device, NULL, bytes_c)};
}

static void free_matrices(matrices *m)
{
    free(m->a);
    free(m->b);
    free(m->c);
    free(m->d);
}

static float decode(gs_type type, const void *from, size_t i)
{
    if (type == GS_F32) return ((const float *)from)[i];
    const uint16_t bits = ((const uint16_t *)from)[i];
    return type == GS_F16 ? gs_f16_to_f32(bits) : gs_bf16_to_f32(bits);
}

static int16_t *whole(const matrices *m, const uint16_t *from, int64_t rows, int64_t row_step, int64_t k_step)
{
    int16_t *const numbers = malloc((size_t)(rows * m->problem.k) * sizeof *numbers);
    assert_non_null(numbers);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = 0; k < m->problem.k; k++) numbers[row * m->problem.k + k] = (int16_t)decode(m->problem.in, from, (size_t)(row * row_step + k * k_step));
    return numbers;
}

/* A times B of the problem asked for last: all seeds and most neighbours in the table ask for the same, and its data are always the same. */
static struct {
    char text[GS_PROBLEM_TEXT];
    int *sum;
} product;

static const int *multiplied(const matrices *m)
{
    const gs_problem *const p = &m->problem;
    char text[GS_PROBLEM_TEXT];
    if (strcmp(gs_problem_format(p, text), product.text) == 0) return product.sum;
    int16_t *const a = whole(m, m->a, p->m, p->lda, 1);
    int16_t *const b = whole(m, m->b, p->n, p->layout == GS_TN ? p->ldb : 1, p->layout == GS_TN ? 1 : p->ldb);
    int *const sum = realloc(product.sum, (size_t)(p->m * p->n) * sizeof *sum);
    assert_non_null(sum);
    for (int64_t row = 0; row < p->m; row++)
        for (int64_t col = 0; col < p->n; col++) {
            int total = 0;
            for (int64_t k = 0; k < p->k; k++) total += a[row * p->k + k] * b[col * p->k + k];
            sum[row * p->n + col] = total;
        }
    free(a);
    free(b);
    snprintf(product.text, sizeof product.text, "%s", text);
    return product.sum = sum;
}

/* Whether D is A times B; C is zero. */
static bool right_result(const matrices *m)
{
    const gs_problem *const p = &m->problem;
    const int *const sum = multiplied(m);
    bool right = true;
    for (int64_t row = 0; row < p->m && right; row++)
        for (int64_t n = 0; n < p->n && right; n++)
            right = decode(p->out, m->d, (size_t)(row * p->ldd + n)) == (float)sum[row * p->n + n];
    return right;
}

/* ---- one run ---- */

typedef struct outcome {
    gs_status      status;
    int            findings;
    gs_emu_finding first;
    bool           right;
    char           text[512];
} outcome;

/* An entry of split.cu. Returns its text. */
static char *read_split(const char *entry, gs_kernel *kernel)
{
    char manifest[512], *text = NULL;
    size_t size;
    gs_error error = {0};
    snprintf(manifest, sizeof manifest, "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nworkspace 256+cdiv(m,16)*cdiv(n,16)*4096\n"
             "zeroed 256\nentry %s\ngrid cdiv(n,16) cdiv(m,16) 4\nblock 16 16 1\n", entry);
    *kernel = (gs_kernel){.name = "split.cu"};
    if (gs_manifest_parse(&kernel->manifest, manifest, &error) != GS_OK || gs_file_read(GS_SOURCE_DIR "/tests/emu/split.cu", 1 << 20, &text, &size, &error) != GS_OK)
        fail_msg("%s", error.text);
    return text;
}

static void prepare(const variant *v, gs_device *device, matrices *m, gs_kernel *kernel, char **source)
{
    char problem[128], *text = NULL;
    gs_error error = {0};
    gs_schedule schedule;
    snprintf(problem, sizeof problem, "%.*s", (int)strcspn(v->base, " "), v->base);
    const char *const schedule_string = v->base + strcspn(v->base, " ") + 1;
    bool fine = gs_problem_parse(&m->problem, problem, &error) == GS_OK;
    if (strncmp(schedule_string, "gs_", 3) == 0)
        kernel->source = text = read_split(schedule_string, kernel);
    else
        fine = fine && gs_schedule_parse(&schedule, schedule_string, &error) == GS_OK && gs_schedule_check(&schedule, &m->problem, &device->caps, &error) == GS_OK &&
               gs_kernel_build(kernel, &schedule, &m->problem, &device->caps, &error) == GS_OK;
    if (!fine) fail_msg("%s: %s: %s", v->name, v->base, error.text);
    *source = patched(kernel->source, v->edits, v->name);
    kernel->source = *source;
    free(text);
}

static outcome run_once(const variant *v, uint64_t seed, const char *options)
{
    char name[64], *source;
    gs_device *device;
    matrices m = {0};
    gs_kernel kernel;
    gs_loaded *loaded = NULL;
    gs_error error = {0};
    outcome result = {0};
    const gs_emu_finding *findings;
    snprintf(name, sizeof name, "emu:h200,threads=1,seed=%llu%s", (unsigned long long)seed, options);
    if (gs_device_open(&device, name, NULL, &error) != GS_OK) fail_msg("%s", error.text);
    prepare(v, device, &m, &kernel, &source);
    make_matrices(&m, device);
    gs_pointer workspace = 0;
    result.status = gs_loaded_create(&loaded, device, &kernel, &m.problem, &error);
    if (result.status == GS_OK) result.status = gs_loaded_alloc(loaded, &workspace, &error);
    if (result.status != GS_OK) fail_msg("%s: %s", v->name, error.text);
    m.args.workspace = (void *)(uintptr_t)workspace;
    result.status = gs_loaded_run(loaded, &m.args, NULL, &error);
    snprintf(result.text, sizeof result.text, "%s", error.text);
    result.findings = gs_emu_findings(device, &findings);
    if (result.findings) result.first = findings[0];
    const size_t bytes = gs_problem_bytes(&m.problem, 'd');
    if (result.status == GS_OK && device->ops->copy_out(device, m.d, (gs_pointer)(uintptr_t)m.args.d, bytes, &error) == GS_OK) result.right = right_result(&m);
    gs_loaded_destroy(&loaded);
    if (workspace) device->ops->free(device, workspace);
    for (int i = 0; i < 4; i++) device->ops->free(device, (gs_pointer)(uintptr_t)(i == 0 ? m.args.a : i == 1 ? m.args.b : i == 2 ? m.args.c : m.args.d));
    gs_device_close(&device);
    free_matrices(&m);
    free(source);
    return result;
}

static bool is_honest(const variant *v) { return v->accepted[0] == 0; }

static bool accepts(const variant *v, const outcome *o)
{
    if (is_honest(v)) return o->status == GS_OK && o->findings == 0 && o->right;
    for (size_t i = 0; i < GS_COUNT(v->accepted) && v->accepted[i]; i++) {
        if (v->accepted[i] == RESULT && o->findings == 0 && o->status == GS_OK && !o->right) return true;
        if (v->accepted[i] != RESULT && o->findings > 0 && (int)o->first.kind + 1 == v->accepted[i]) return true;
    }
    return false;
}

/* Every variant of one sort under every seed; the planted ones must also say where. */
static void check_variants(bool honest)
{
    int missed = 0, count = 0;
    for (size_t i = 0; i < GS_COUNT(variants); i++) {
        const variant *const v = &variants[i];
        if (is_honest(v) != honest) continue;
        count++;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const outcome o = run_once(v, seed, "");
            const bool placed = o.findings == 0 || (o.first.line > 0 && o.first.ptx_line > 0 && o.first.file[0]);
            if (accepts(v, &o) && placed) continue;
            print_message("%s (%s), seed %d: %s%s %s\n", v->name, v->base, (int)seed, o.findings ? gs_emu_finding_name(o.first.kind) : "no finding",
                          o.findings ? "" : o.right ? ", right result" : ", wrong result", o.text);
            missed++;
            break;
        }
    }
    print_message("%d %s variants\n", count, honest ? "honest" : "planted");
    assert_true(count >= 30);
    assert_int_equal(missed, 0);
}

static void test_planted_faults(void **state)
{
    (void)state;
    check_variants(false);
}

static void test_honest_variants(void **state)
{
    (void)state;
    check_variants(true);
}

/* Without the checker a fault shows as the hardware would show it: a hang is still a deadlock, a race may be a wrong result. */
static void test_without_the_checker(void **state)
{
    (void)state;
    static const char *const names[] = {"no wait for the full barrier", "no wait before the epilogue", "too few bytes expected", "no wait for the copies"};
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        int wrong = 0;
        for (size_t j = 0; j < GS_COUNT(variants); j++)
            for (uint64_t seed = 1; strcmp(variants[j].name, names[i]) == 0 && seed <= SEEDS; seed++) {
                const outcome o = run_once(&variants[j], seed, ",check=0");
                wrong += !o.right;
            }
        if (wrong == 0) fail_msg("%s: right results under every seed: copies are too prompt", names[i]);
    }
}

int main(void)
{
    gs_error error;
    if (!gs_compiler_version(&error)) {
        print_message("skipped: %s\n", error.text);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_planted_faults), cmocka_unit_test(test_honest_variants), cmocka_unit_test(test_without_the_checker)};
    const int failed = cmocka_run_group_tests_name("the checker of the emulated device", tests, NULL, NULL);
    free(product.sum);
    return failed;
}
