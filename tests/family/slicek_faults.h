/* SPDX-License-Identifier: MIT
 * Family slicek where rows of D start at any element, with one planted fault each, and unchanged: rows of tests/emu/faults.c. */

#define SLICEK_RUNS  "f16:37x131x64:tn slicek/32x64/w1x1x1/d1/k1/any/f128"
#define SLICEK_NN    "bf16:37x131x32:nn slicek/32x32/w1x1x1/d1/k1/any/f128"
#define SLICEK_WIDE  "f16:20x260x64:tn:ldd=261:d=f32 slicek/16x128/w1x1x1/d1/k1/fixed/f128"
#define SLICEK_UNITS "f16:37x131x256:nn slicek/32x64/w1x1x4/d1/k1/any/f128"
#define SLICEK_MORE  "f16:37x131x256:tn slicek/32x128/w1x2x2/d1/k1/any/f128"
#define SLICEK_SPLIT "f16:37x131x256:nn slicek/32x64/w1x1x2/d1/k2/any/f128"
#define SLICEK_FEW   "f16:37x131x256:tn slicek/32x32/w1x1x4/d1/k1/any/f128"

    /* ---- slicek, planted ---- */
    {"slicek: pieces of rows begin with the lane's own run", SLICEK_RUNS, {{"const int first = column - (int)(lane / ROW_STRIDE % ROW_LANES) * RUN;", "const int first = column;"}}, {RESULT, F(RACE), F(OUT_OF_BOUNDS)}},
    {"slicek: columns beyond the last", SLICEK_RUNS, {{"left_of(p, row, first, ROW_LANES * RUN), (int)lane);", "ROW_LANES * RUN, (int)lane);"}}, {RESULT, F(RACE), F(UNORDERED), F(OUT_OF_BOUNDS)}},
    {"slicek: a unit's first run in both rows", SLICEK_UNITS, {{"at.column, x[r], c[r]", "at.column, x[0], c[r]"}}, {RESULT}},
    {"slicek: units' tiles in another order than they were left", SLICEK_UNITS, {{"#define TILE_Q(i) (SWAPPED && SHARED_RUNS ? (i) / PT : (i) % QT)", "#define TILE_Q(i) ((i) % QT)"}}, {RESULT}},
    {"slicek: no barrier before the units", SLICEK_UNITS, {{"    __syncthreads();\n", ""}}, {F(RACE), F(UNINITIALIZED)}},
    {"slicek: only the first warp waits for the others' sums", SLICEK_SPLIT, {{"SHARED_RUNS ? is_unit(0) :", "SHARED_RUNS ? threadIdx.x < 32 :"}}, {F(EARLY_READ), F(UNINITIALIZED), F(EXIT_IN_USE)}},
    {"slicek: the first warp takes no unit", SLICEK_MORE, {{"        if (!is_unit(i)) break;\n        store_unit", "        if (!is_unit(i) || threadIdx.x < 32) break;\n        store_unit"}}, {RESULT}},
    {"slicek: pieces of lanes beside each other", SLICEK_NN, {{"#define ROW_STRIDE (SWAPPED ? 4 : 1)", "#define ROW_STRIDE 1"}}, {RESULT, F(RACE), F(OUT_OF_BOUNDS)}},
    {"slicek: pieces of twice the lanes", SLICEK_WIDE, {{"#define ROW_LANES (SWAPPED ? 8 : 4) ", "#define ROW_LANES 8 "}}, {RESULT, F(RACE), F(OUT_OF_BOUNDS)}},
    {"scales of the run's first column", "f16:37x131x64:tn:ep=scale_n slicek/32x64/w1x1x1/d1/k1/any/f128", {{"row, column + e, gs_size_m(p), gs_size_n(p), GS_STRIDES", "row, column, gs_size_m(p), gs_size_n(p), GS_STRIDES"}}, {RESULT}},
    /* ---- honest ---- */
    {"scales", "f16:37x131x64:tn:beta=1:ep=scale_m+scale_n+bias slicek/32x64/w1x1x1/d1/k1/any/f128", {{0}}, {0}},
    {"slicek: runs", SLICEK_RUNS, {{0}}, {0}},
    {"slicek: runs of four, nn", SLICEK_NN, {{0}}, {0}},
    {"slicek: two pieces of a row, f32", SLICEK_WIDE, {{0}}, {0}},
    {"slicek: units", SLICEK_UNITS, {{0}}, {0}},
    {"slicek: units of several warps", SLICEK_MORE, {{0}}, {0}},
    {"slicek: units of a cluster's share", SLICEK_SPLIT, {{0}}, {0}},
    {"slicek: quads, few of them", SLICEK_FEW, {{0}}, {0}},
