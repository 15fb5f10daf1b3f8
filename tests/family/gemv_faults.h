/* SPDX-License-Identifier: MIT
 * Family gemv with one planted fault each, and right variants: rows of tests/emu/faults.c. */

#define GEMV        "f16:3x40x520:tn gemv/8x16/w2/d2/r128/p0/k1/any"
#define GEMV_ODD    "f16:3x41x523:tn gemv/8x16/w2/d2/r128/p0/k1/any"
#define GEMV_SHARED "bf16:11x41x523:tn gemv/16x32/w2/d2/s128/p0/k1/any"
#define GEMV_NN     "f16:3x69x261:nn gemv/8x64/w2/d2/r128/p0/k1/any"
#define GEMV_NN_SHARED "f16:3x69x261:nn gemv/8x64/w2/d2/s128/p0/k1/any"

    /* ---- gemv, planted ---- */
    {"gemv: no wait for the copies", GEMV_SHARED, {{"        gs_cp_async_wait<GS_DEPTH - 1>();\n", ""}}, {F(EARLY_READ)}},
    {"gemv: no barrier before the sums are added", GEMV_ODD, {{"        if (token_of(i, lane) < to.tokens) own[i * 32] = acc[i / 4][i % 4];\n    __syncthreads();\n",
      "        if (token_of(i, lane) < to.tokens) own[i * 32] = acc[i / 4][i % 4];\n"}}, {F(RACE), F(UNINITIALIZED)}},
    {"gemv: no wait for the launch before", GEMV_ODD, {{"rank, warp, lane);\n    gs_dependent_wait();\n", "rank, warp, lane);\n"}}, {F(EARLY_ACCESS)}},
    {"gemv: a lane's own unit for the next one", GEMV_ODD, {{"lane / 4 * 4 + (lane + 1) % 4)", "lane)"}}, {RESULT}},
    {"gemv: ends of another row", GEMV_ODD, {{"lane / 4 * 4 + holder)", "lane / 4 * 4 + 1 - holder)"}}, {RESULT}},
    {"gemv: rows of nn that all begin alike", GEMV_NN, {{"(by.w + row * by.line) & 15", "by.w"}}, {RESULT}},
    {"gemv: ends of a row of nn from another lane", GEMV_NN, {{"row * 4 + lane % 4);", "lane);"}}, {RESULT}},
    {"gemv: whole units behind the matrix", "f16:3x39x512:tn:ldb=513 gemv/8x16/w2/d2/r128/p0/k1/any", {{"if (unit + 16 <= from.w_limit) gs_stream", "gs_stream"},
      {"        else gs_unit_load(x.w_end[i], unit, needed);\n", ""}}, {F(OUT_OF_BOUNDS)}},
    {"gemv: rows of nn beyond K", GEMV_NN, {{"return lane % 4 * 8 + i < left ? 16 : 0;", "return 16;"}}, {F(OUT_OF_BOUNDS)}},
    {"gemv: units at odd addresses", GEMV_NN_SHARED, {{"return GS_RAW_W ? gs_unit_of(element) : element;", "return element;"}}, {F(MISALIGNED)}},
    {"gemv: scales of the row before", "f16:3x41x523:tn:ep=scale_m gemv/8x16/w2/d2/r128/p0/k1/any", {{"gs_finished(p, gs_alpha(p) * sum, own, in_matrix, col", "gs_finished(p, gs_alpha(p) * sum, own, in_matrix > 0 ? in_matrix - 1 : 0, col"}}, {RESULT}},
    /* ---- honest ---- */
    {"scales", "f16:3x41x523:tn:beta=1:ep=scale_m+scale_n+bias gemv/8x16/w2/d2/r128/p0/k1/any", {{0}}, {0}},
    {"gemv", GEMV, {{0}}, {0}},
    {"gemv, rows at any element", GEMV_ODD, {{0}}, {0}},
    {"gemv, rows at any element, shared", GEMV_SHARED, {{0}}, {0}},
    {"gemv, rows at any element, nn", GEMV_NN, {{0}}, {0}},
    {"gemv, rows at any element, nn, shared", GEMV_NN_SHARED, {{0}}, {0}},
