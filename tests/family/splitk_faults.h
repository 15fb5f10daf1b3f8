/* SPDX-License-Identifier: MIT
 * Family splitk with one planted fault each, and right variants: rows of tests/emu/faults.c. */

#define SPLITK     "f16:128x64x512:tn splitk/64x64x64/s4/ab/c1x1/k1/any"
#define SPLITK_FEW "f16:5x128x320:tn splitk/8x64x64/s5/ba/c1x1/k1/fixed"
#define SPLITK_CONSTANT "f16:128x64x512:tn:const=b splitk/64x64x64/s4/ab/c1x1/k1/any"
#define SPLITK_CONSTANT_PAIR "f16:128x128x512:nn:const=b splitk/64x64x64/s4/ab/c1x2/k1/any"
#define SPLITK_PAIR "f16:128x128x512:nn splitk/64x64x64/s4/ba/c2x1/k1/any"
#define SPLITK_SPLIT "f16:64x128x512:tn splitk/64x64x64/s2/ab/c1x1/k4/any"
#define SPLITK_MEET "f16:64x64x512:nn splitk/64x64x64/s2/ab/c1x1/t4/any"
#define SPLITK_ODD "f16:60x93x512:tn:ldd=99 splitk/64x64x64/s4/ab/c1x1/k1/any"

#define SPLITK_UNITS "f16:64x64x776:tn splitk/64x64x64/s4/ab/c1x1/k1/any/cpasync"
#define SPLITK_SHIFT "f16:60x61x1031:nn splitk/64x64x64/s4/ba/c1x1/k2/any/cpasync"
#define SPLITK_EIGHTHS "f16:60x61x1031:tn splitk/64x64x64/s4/ba/c1x1/k2/any/shift"
#define SPLITK_C     "bf16:72x136x512:tn:beta=1:ep=bias splitk/64x96x64/s4/ab/c1x1/k2/any"
#define SPLITK_AUX   "bf16:72x136x512:tn:ldaux=144:ep=drelu splitk/64x96x64/s4/ab/c1x1/k2/any"
#define SPLITK_C_BA  "f16:24x136x512:tn:beta=1:ep=bias+relu splitk/24x64x64/s8/ba/c1x1/k1/any"

    /* ---- splitk, planted ---- */
    {"splitk: C of the groups before", SPLITK_C, {{"GS_ORDER ? x : y + (FIRST + COUNT) * 8, to.m", "GS_ORDER ? x : y + FIRST * 8, to.m"}}, {RESULT}},
    {"splitk: what a share has behind its end is zero", SPLITK_EIGHTHS, {{"const bool last = block == brought - 1;", "const bool last = block == blocks - 1;"}}, {RESULT}},
    {"splitk: K without the ends of rows", "f16:60x61x1088:tn:lda=1089:ldb=1091 splitk/64x64x64/s4/ba/c1x1/k2/any/shift", {{"#define MORE_K GS_MORE_K", "#define MORE_K 0"}}, {RESULT}},
    {"splitk: rows are shifted to what is multiplied", SPLITK_EIGHTHS, {{"        gs_tma_fence();\n        gs_wgmma_wait<0>();\n", "        gs_tma_fence();\n"}}, {F(OVERWRITE)}},
    {"splitk: shifted rows are multiplied without a fence", SPLITK_EIGHTHS, {{"        gs_tma_fence();\n        gs_wgmma_wait<0>();\n", "        gs_wgmma_wait<0>();\n"}}, {F(PROXY_FENCE)}},
    {"splitk: aux at D's pitch", SPLITK_AUX, {{"    return p.ldaux;\n", "    return p.n;\n"}}, {RESULT}},
    {"splitk: the bias of the next pair", SPLITK_C, {{"% GS_BIAS_RUN + threadIdx.x % 4 * 2);", "% GS_BIAS_RUN + (threadIdx.x + 1) % 4 * 2);"}}, {RESULT}},
    {"splitk: the bias of the other half", SPLITK_C_BA, {{"in.asked->of[in.block][h]", "in.asked->of[in.block][1 - h]"}}, {RESULT}},
    {"splitk: threads hand over without a fence", SPLITK_UNITS, {{"    gs_feed_arrive(full + stage * 8);", "    __syncwarp();\n    if (gs_elect()) gs_mbarrier_arrive(full + stage * 8);"}}, {F(PROXY_FENCE)}},
    {"splitk: threads hand over what has not arrived", SPLITK_UNITS, {{"        gs_cp_async_wait<AHEAD>();\n", ""}}, {F(EARLY_READ), F(RACE), F(PROXY_FENCE)}},
    {"splitk: the last stages' groups are not counted", SPLITK_UNITS, {{"        gs_cp_async_commit();\n", "        if (block < blocks) gs_cp_async_commit();\n"}}, {F(EARLY_READ), F(RACE), F(PROXY_FENCE)}},
    {"splitk: threads do not wait for the empty barrier", SPLITK_UNITS, {{"                gs_mbarrier_wait(empty + stage * 8, phase);\n                if", "                if"}}, {F(OVERWRITE), F(ARRIVAL_COUNT), F(EARLY_READ)}},
    {"splitk: threads do not wait for the initialisation", SPLITK_UNITS, {{"        gs_named_barrier(3, GS_FEED_THREADS);\n", ""}}, {F(BARRIER)}},
    {"splitk: no room for ninth units", SPLITK_SHIFT, {{"(FEED_Y == 2 ? Y_BYTES / 8 : 0)", "0"}}, {F(OVERWRITE), F(RACE), RESULT}},
    {"splitk: no fence after the barriers' initialisation", SPLITK, {{"        gs_mbarrier_fence_init();\n", ""}}, {F(PROXY_FENCE)}},
    {"splitk: nobody waits for the initialisation", SPLITK, {{"    gs_named_barrier(1, THREADS);\n", ""}}, {F(BARRIER)}},
    {"splitk: no wait for the full barrier", SPLITK, {{"        gs_mbarrier_wait(full + stage * 8, phase);\n", ""}}, {F(EARLY_READ), F(UNINITIALIZED)}},
    {"splitk: no wait for the empty barrier", SPLITK, {{"block++) {\n            gs_mbarrier_wait(empty + stage * 8, phase);\n", "block++) {\n"}}, {F(OVERWRITE), F(BYTE_COUNT), F(ARRIVAL_COUNT)}},
    {"splitk: gives back the stage that is still read", SPLITK, {{"stage == 0 ? GS_STAGES - 1 : stage - 1;", "stage;"}}, {F(OVERWRITE), F(ARRIVAL_COUNT), F(DEADLOCK)}},
    {"splitk: gives it back before the wgmma is waited for", SPLITK, {{"            gs_wgmma_wait<1>();\n", ""}}, {F(OVERWRITE)}},
    {"splitk: no wait before the tile is stored", SPLITK, {{"    }\n    gs_wgmma_wait<0>();\n}\n", "    }\n}\n"}}, {F(WGMMA_REGISTER)}},
    {"splitk: no wait for the launch before", SPLITK, {{"        if (!early_b) gs_dependent_wait();\n", ""}}, {F(EARLY_ACCESS)}},
    {"splitk: B read early that is not constant", SPLITK, {{"EARLY_B(p));", "true);"}}, {F(EARLY_ACCESS)}},
    {"splitk: A read early beside a constant B", SPLITK_CONSTANT, {{"    if (early_b && leader) {\n        gs_dependent_wait();\n", "    if (early_b && leader) {\n"}}, {F(EARLY_ACCESS)}},
    {"splitk: shared A read early beside a constant B", SPLITK_CONSTANT_PAIR, {{"load_shared<LOAD_B>(", "load_shared("}}, {F(EARLY_ACCESS), F(BYTE_COUNT)}},
    {"splitk: A is not asked for behind an early B", SPLITK_CONSTANT, {{"            load_own<LOAD_A>(stages + s * STAGE_BYTES, (first + s) * GS_BK, full + s * 8, from);\n", ""}}, {F(DEADLOCK)}},
    {"splitk: a constant B", SPLITK_CONSTANT, {{0}}, {0}},
    {"splitk: a constant B, shared A", SPLITK_CONSTANT_PAIR, {{0}}, {0}},
    {"splitk: a constant B that is shared", "f16:128x128x512:tn:const=b splitk/64x64x64/s4/ab/c2x1/k1/any", {{0}}, {0}},
    {"splitk: bytes expected that no copy brings", SPLITK_FEW, {{"gs_mbarrier_expect(full + s * 8, LANDING_BYTES);", "gs_mbarrier_expect(full + s * 8, STAGE_BYTES);"}}, {F(DEADLOCK)}},
    {"splitk: rows that nobody wrote", SPLITK_FEW, {{"    if (Y_ALONG_K) clear_rows<BY, ROWS_Y>(stages + X_BYTES, min(blocks, GS_STAGES));\n", ""}}, {F(UNINITIALIZED)}},
    {"splitk: no fence behind the zeros", SPLITK_FEW, {{" gs_tma_fence();\n    gs_named_barrier(1", " ;\n    gs_named_barrier(1"}}, {F(PROXY_FENCE)}},
    {"splitk: shared copies before the peer began", SPLITK_PAIR, {{"        gs_cluster_wait();\n        if (leader) {", "        if (leader) {"}}, {F(BARRIER), F(NOT_BEGUN)}},
    {"splitk: gives a stage back to its own block only", SPLITK_PAIR, {{"at.rank_k * SHARERS + lane)", "at.rank_k * SHARERS + at.rank)"}}, {F(OVERWRITE), F(ARRIVAL_COUNT), F(BYTE_COUNT), F(DEADLOCK)}},
    {"splitk: both copy every stage", SPLITK_PAIR, {{"    if (stage % SHARERS != from.rank) return;\n", ""}}, {F(BYTE_COUNT), F(OVERWRITE), F(EARLY_READ), F(DEADLOCK)}},
    {"splitk: sends before the peers began", SPLITK_SPLIT, {{"    if (SHARERS == 1) gs_cluster_wait();\n    send_slices", "    send_slices"}}, {F(BARRIER), F(NOT_BEGUN)}},
    {"splitk: adds up before all slices came", SPLITK_SPLIT, {{"    gs_mbarrier_wait(parts, 0);\n", ""}}, {F(EARLY_READ), F(UNINITIALIZED), F(EXIT_IN_USE)}},
    {"splitk: slices in one slot", SPLITK_SPLIT, {{"(at.rank_k + GS_CK - RANK - 1) % GS_CK;", "0;"}}, {F(OVERWRITE), F(UNINITIALIZED)}},
    {"splitk: one slice too few expected", SPLITK_SPLIT, {{"gs_mbarrier_expect(parts, (GS_CK - 1)", "gs_mbarrier_expect(parts, (GS_CK - 2)"}}, {F(BYTE_COUNT), F(EARLY_READ), F(EXIT_IN_USE), F(UNINITIALIZED)}},
    {"splitk: no barrier before the ticket", SPLITK_MEET, {{"    gs_named_barrier(2, WORKERS);\n    if (threadIdx.x == 0)", "    if (threadIdx.x == 0)"}}, {F(UNORDERED)}},
    {"splitk: a ticket that orders nothing", SPLITK_MEET, {{"gs_ticket((unsigned *)workspace", "atomicInc((unsigned *)workspace"}}, {F(UNORDERED)}},
    {"splitk: whoever comes adds up", SPLITK_MEET, {{"return *flag == GS_TICKETS - 1 ? first : 0;", "return first;"}}, {F(UNORDERED), F(UNINITIALIZED)}},
    {"splitk: ragged rows beyond the last", SPLITK_ODD, {{"to.ldd * 2, to.m - row, to.n - col,", "to.ldd * 2, 128, to.n - col,"}}, {F(OUT_OF_BOUNDS), F(EARLY_ACCESS)}},
    {"splitk: ragged rows of another swap", SPLITK_ODD, {{"return pieces + piece_at<PIECES>(0, r, i);", "return pieces + piece_at<PIECES>(0, r, i ^ 1);"}}, {RESULT}},
    {"scales are left out", "f16:60x93x512:tn:ldd=99:ep=scale_m+scale_n splitk/64x64x64/s4/ab/c1x1/k1/any", {{"gs_scaled(p, gs_alpha(p) * first, row, col, to.m, to.n, index_of(to))", "gs_alpha(p) * first"}}, {RESULT}},
    {"the second of a pair has the first one's scale", "f16:5x128x320:tn:ep=scale_m splitk/8x64x64/s5/ba/c1x1/k1/fixed", {{"gs_scaled(p, gs_alpha(p) * second, row + GS_ORDER,", "gs_scaled(p, gs_alpha(p) * second, row,"}}, {RESULT}},
    /* ---- honest ---- */
    {"scales", "bf16:72x136x512:tn:beta=1:ep=scale_m+scale_n+bias splitk/64x96x64/s4/ab/c1x1/k2/any", {{0}}, {0}},
    {"splitk: as it is, C and a bias", SPLITK_C, {{0}}, {0}},
    {"splitk: as it is, aux of a gradient", SPLITK_AUX, {{0}}, {0}},
    {"splitk: as it is, C and a bias, columns first", SPLITK_C_BA, {{0}}, {0}},
    {"splitk: A stored K x M", "f16:128x64x520:nt splitk/64x64x64/s4/ab/c1x1/k2/any", {{0}}, {0}},
    {"splitk: A stored K x M, brought by threads", "f16:67x61x1031:nt splitk/64x64x64/s4/ab/c1x1/k2/any/cpasync", {{0}}, {0}},
    {"splitk", SPLITK, {{0}}, {0}},
    {"splitk, few rows", SPLITK_FEW, {{0}}, {0}},
    {"splitk, rows that threads bring", SPLITK_UNITS, {{0}}, {0}},
    {"splitk, rows that threads shift", SPLITK_SHIFT, {{0}}, {0}},
    {"splitk, rows that consumers shift", SPLITK_EIGHTHS, {{0}}, {0}},
    {"splitk, a pair", SPLITK_PAIR, {{0}}, {0}},
    {"splitk, K over a cluster", SPLITK_SPLIT, {{0}}, {0}},
    {"splitk, K over the grid", SPLITK_MEET, {{0}}, {0}},
    {"splitk, K over clusters of the grid, uneven slices", "f16:60x96x1024:tn splitk/64x96x64/s2/ab/c1x1/k4t4/any", {{0}}, {0}},
    {"splitk, a cluster along both", "f16:120x200x512:nn splitk/64x64x64/s2/ab/c2x1/k4/fixed", {{0}}, {0}},
    {"splitk, stages of 128", "f16:130x64x1000:tn:ldd=67 splitk/128x64x128/s2/ab/c1x1/k3/any", {{0}}, {0}},
    {"splitk, waits for every wgmma", SPLITK, {{"            gs_wgmma_wait<1>();\n", "            gs_wgmma_wait<0>();\n"}}, {0}},
    {"splitk, a fence before the ticket", SPLITK_MEET, {{"    gs_named_barrier(2, WORKERS);\n    if (threadIdx.x == 0)", "    __threadfence();\n    gs_named_barrier(2, WORKERS);\n    if (threadIdx.x == 0)"}}, {0}},
