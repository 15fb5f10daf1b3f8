/* SPDX-License-Identifier: MIT
 * Family tiny with one planted fault each, and right variants: rows of tests/emu/faults.c. Long rows of A leave room for one block per multiprocessor, so that its ring
 * wraps around. */

#define TINY      "f16:16x16x16:tn:lda=1024:b=792 tiny/b2/r16/s2/w2"
#define TINY_NN   "f16:40x24x24:nn:lda=400:b=792 tiny/b2/r16/s2/w4"
#define TINY_ODD  "bf16:17x19x23:tt:b=67 tiny/b1/r32/s2/w1"
#define TINY_LINE "bf16:12x24x40:nt:b=67:beta=1 tiny/b2/r16/direct/w2"
#define TINY_POINTERS "f16:24x24x40:tn:b=70:matrices=pointers tiny/b2/r16/direct/w4"

    /* ---- tiny, planted ---- */
    {"does not wait until a stage is full", TINY, {{"        gs_mbarrier_wait(base + BARRIERS + stage * 8, parity);\n", ""}}, {F(EARLY_READ), F(UNINITIALIZED), F(RACE)}},
    {"waits for the phase before", TINY, {{"gs_mbarrier_wait(base + BARRIERS + stage * 8, parity);", "gs_mbarrier_wait(base + BARRIERS + stage * 8, parity ^ 1);"}}, {F(EARLY_READ), F(UNINITIALIZED), F(RACE)}},
    {"fills a stage that is read", TINY, {{"            gs_mbarrier_wait(base + BARRIERS + (GS_STAGES + last) * 8, last_parity);\n", ""}}, {F(OVERWRITE), F(RACE), F(EARLY_READ)}},
    {"a warp says before that it has read", TINY_NN, {{"        if (lane == 0) gs_mbarrier_arrive(base + BARRIERS + (GS_STAGES + stage) * 8);\n", ""},
      {"        const long long first = (long long)chunk", "        if (lane == 0) gs_mbarrier_arrive(base + BARRIERS + (GS_STAGES + stage) * 8);\n        const long long first = (long long)chunk"}}, {F(OVERWRITE), F(RACE), F(EARLY_READ)}},
    {"no barrier behind the inits", TINY_NN, {{"    __syncthreads();\n    gs_dependent_wait();\n", "    gs_dependent_wait();\n"}}, {F(BARRIER), F(RACE), F(UNINITIALIZED)}},
    {"expects the bytes of A alone", TINY, {{"gs_mbarrier_expect(full, a.whole + b.whole);", "gs_mbarrier_expect(full, a.whole);"}}, {F(BYTE_COUNT), F(EARLY_READ), F(DEADLOCK)}},
    {"leaves the end of the batch out", TINY_ODD, {{"            for (unsigned i = whole; i < bytes; i += 2)", "            for (unsigned i = whole + 2; i < bytes; i += 2)"}}, {F(UNINITIALIZED), RESULT}},
    {"reads beyond the end of the batch", TINY_ODD, {{"(unsigned)min((OPERAND::held + before + 15) & ~15LL, left + before);", "(unsigned)((OPERAND::held + before + 15) & ~15LL);"}}, {F(OUT_OF_BOUNDS)}},
    {"reads where the chunk's 16 bytes begin", TINY_ODD, {{"before_of<operand_a>(p.a, chunk);", "0;"}}, {RESULT}},
    {"a row too many of A", TINY_LINE, {{"k_of(word, t), strip * STRIP + SLOTS * g, GS_M);", "k_of(word, t), strip * STRIP + SLOTS * g, STRIPS * STRIP);"}}, {F(OUT_OF_BOUNDS)}},
    {"K beyond its end", TINY_NN, {{"on && k + i * vec < GS_K);\n    } else", "on);\n    } else"}, {"columns, k < GS_K);", "columns, true);"}, {"columns, k + NEXT_K < GS_K);", "columns, true);"}},
     {RESULT, F(UNINITIALIZED), F(EARLY_READ), F(RACE), F(OUT_OF_BOUNDS)}},
    {"B in another order along K than A", TINY_NN, {{"read_across<GS_VEC_B, size>(column, matrix, GS_LDB * 2, k_of(word, t),", "read_across<GS_VEC_B, size>(column, matrix, GS_LDB * 2, k_of(word ^ 1, t),"}}, {RESULT}},
    {"columns in the other order", TINY_NN, {{"GS_B_ALONG_K ? 2 * j + e : e * size + j", "GS_B_ALONG_K ? e * size + j : 2 * j + e"}}, {RESULT}},
    {"stores beyond the last row", TINY_ODD, {{"    if ((GS_M % STRIP && row >= GS_M) || ", "    if ("}}, {RESULT, F(RACE), F(UNORDERED), F(OUT_OF_BOUNDS)}},
    {"pointers: of A that of the matrix behind", TINY_POINTERS, {{"gs_base_a(p, matrix) + begin_of_a", "gs_base_a(p, matrix + 1 < p.batch ? matrix + 1 : 0) + begin_of_a"}}, {RESULT}},
    {"pointers: D behind the first one's", TINY_POINTERS, {{"(unsigned char *)gs_base_d(p, matrix) + (begin_of_d(p, matrix)", "(unsigned char *)gs_base_d(p, 0) + (matrix * GS_M * GS_LDD + 8"}}, {RESULT, F(OUT_OF_BOUNDS), F(RACE), F(UNORDERED)}},
    {"stores of units behind the last one", TINY_LINE, {{"            if (unit >= units) break;\n", ""}}, {F(OUT_OF_BOUNDS)}},
    /* ---- dependent launches, planted ---- */
    {"copies before the launch before has ended", TINY, {{"    __syncthreads();\n    gs_dependent_wait();\n", "    __syncthreads();\n"},
      {"    gs_dependent_launch();\n\n    int stage", "    gs_dependent_wait();\n    gs_dependent_launch();\n\n    int stage"}}, {F(EARLY_ACCESS)}},
    {"loads before the launch before has ended", TINY_LINE, {{"    gs_dependent_wait();\n    gs_dependent_launch();\n#pragma", "    gs_dependent_launch();\n#pragma"}}, {F(EARLY_ACCESS)}},
    {"scales of the pair's first column", "f16:16x16x16:tn:b=66:ep=scale_n tiny/b2/r16/s2/w2", {{"c[i], row, column + i, GS_M, GS_N, matrix)", "c[i], row, column, GS_M, GS_N, matrix)"}}, {RESULT}},
    /* ---- honest ---- */
    {"scales", "bf16:17x19x23:tt:b=67:beta=1:ep=scale_m+scale_n+bias tiny/b1/r32/s2/w1", {{0}}, {0}},
    {"bulk copies, tn", TINY, {{0}}, {0}},
    {"bulk copies, nn", TINY_NN, {{0}}, {0}},
    {"bulk copies from any element", TINY_ODD, {{0}}, {0}},
    {"fragments from global memory", TINY_LINE, {{0}}, {0}},
    {"fragments of matrices by pointers", TINY_POINTERS, {{0}}, {0}},
    {"a barrier of the block for each chunk", TINY_NN, {{"        __syncwarp();\n        if (lane == 0) gs_mbarrier_arrive", "        __syncthreads();\n        if (lane == 0) gs_mbarrier_arrive"}}, {0}},
