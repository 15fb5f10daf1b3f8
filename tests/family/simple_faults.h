/* SPDX-License-Identifier: MIT
 * Family simple with one planted fault each, and right variants: rows of tests/emu/faults.c. */

#define SIMPLE   "f16:40x50x70:tn simple"

    /* ---- simple, planted ---- */
    {"reads K beyond the end", SIMPLE, {{"for (int i = 0; i < k; i++, a += step_a, b += step_b) sum = fmaf", "for (int i = 0; i < k + 64; i++, a += step_a, b += step_b) sum = fmaf"}}, {F(OUT_OF_BOUNDS)}},
    {"reads D before anyone wrote it", SIMPLE, {{"            ((out_type *)gs_base_d(p, batch))[gs_row_of_d(p, batch, row) + col] = STORE_OUT(gs_finished(", "            ((out_type *)gs_base_d(p, batch))[gs_row_of_d(p, batch, row) + col] += STORE_OUT(gs_finished("}}, {F(UNINITIALIZED)}},
    {"pointers: D of the matrix behind", "f16:40x50x70:tn:b=3:matrices=pointers simple", {{"            ((out_type *)gs_base_d(p, batch))[gs_row_of_d(p, batch, row) + col] = STORE_OUT(gs_finished(", "            ((out_type *)gs_base_d(p, (batch + 1) % p.batch))[gs_row_of_d(p, batch, row) + col] = STORE_OUT(gs_finished("}}, {RESULT}},
    {"dbias: no barrier before the sums of a block", "f16:40x50x70:tn:ep=dbias simple", {{"            part[threadIdx.y][threadIdx.x] = value;\n            __syncthreads();\n", "            part[threadIdx.y][threadIdx.x] = value;\n"}}, {F(RACE), F(UNINITIALIZED)}},
    /* ---- dependent launches, planted ---- */
    {"the wait before the stores only", SIMPLE, {{"    gs_dependent_wait();\n    gs_dependent_launch();\n", ""},
      {"            ((out_type *)gs_base_d(p, batch))[gs_row_of_d(p, batch, row) + col] = STORE_OUT(gs_finished", "            gs_dependent_wait();\n            ((out_type *)gs_base_d(p, batch))[gs_row_of_d(p, batch, row) + col] = STORE_OUT(gs_finished"}},
     {F(EARLY_ACCESS)}},
    {"scales read before the kernel that may have written them has ended", "f16:40x50x70:tn:ep=scale_m simple", {{"    gs_dependent_wait();\n    gs_dependent_launch();\n", "    if (p.scale_m[threadIdx.y] == 7.0f) return;\n    gs_dependent_wait();\n    gs_dependent_launch();\n"}}, {F(EARLY_ACCESS)}},
    {"scales of rows beyond the last", "f16:40x50x70:tn:ep=scale_m simple", {{"STORE_OUT(gs_finished(p, value, c, row, col, p.m, p.n, batch + group))", "STORE_OUT(value * p.scale_m[row + 64])"}}, {F(OUT_OF_BOUNDS)}},
    {"scales after C", "f16:40x50x70:tn:beta=1:ep=scale_m simple", {{"STORE_OUT(gs_finished(p, value, c, row, col, p.m, p.n, batch + group))", "STORE_OUT(gs_plus_c(p, c, value) * p.scale_m[row])"}}, {RESULT}},
    {"scales for each other", "f16:40x50x70:tn:ep=scale_m+scale_n simple", {{"STORE_OUT(gs_finished(p, value, c, row, col, p.m, p.n, batch + group))", "STORE_OUT(value * p.scale_m[col % p.m] * p.scale_n[row])"}}, {RESULT}},
    /* ---- honest ---- */
    {"scales", "f16:40x50x70:tn:b=2:beta=1:ep=scale_m+scale_n+bias simple", {{0}}, {0}},
    {"dbias", "f16:40x50x70:tn:b=2:ep=dbias simple", {{0}}, {0}},
    {"a thread per element", SIMPLE, {{0}}, {0}},
    {"rows beyond the last end before the wait", SIMPLE, {{"    gs_dependent_wait();\n    gs_dependent_launch();\n    if (!GS_DBIAS && row >= p.m) return;\n",
      "    if (row >= p.m) return;\n    gs_dependent_wait();\n"}}, {0}},
