/* SPDX-License-Identifier: MIT
 * Family mma with one fault planted each, and changed in ways that are right: rows of tests/emu/faults.c. */

#define MMA      "f16:128x64x320:tn mma/64x64x32/w2x2/s3/g1"
#define MMA_NN   "f16:130x70x200:nn:acc=f16 mma/64x64x64/w1x2/s4/g1"
#define MMA_NT   "bf16:136x64x200:nt mma/64x64x32/w2x2/s3/g1"
#define MMA_TT   "f16:67x65x131:tt mma/32x64x64/w2x2/s2/g1"
#define MMA_AUX  "f16:100x64x64:tn:ep=relu+aux mma/64x64x32/w2x2/s3/g1"
#define MMA_ODD  "bf16:65x67x131:tn mma/32x64x64/w2x2/s2/g1"
#define MMA_POINTERS "f16:64x64x64:tn:b=3:matrices=pointers mma/64x64x32/w2x2/s3/g1"

    /* ---- mma, planted ---- */
    {"no wait for the copies", MMA, {{"                gs_cp_async_wait<GS_STAGES - 2>();\n", ""}}, {F(EARLY_READ)}},
    {"waits for one group too few", MMA, {{"                gs_cp_async_wait<GS_STAGES - 2>();\n", "                gs_cp_async_wait<GS_STAGES - 1>();\n"}}, {F(EARLY_READ)}},
    {"no first wait", MMA, {{"    gs_cp_async_wait<GS_STAGES - 2>();\n    __syncthreads();\n", "    __syncthreads();\n"}}, {F(EARLY_READ)}},
    {"no barrier in the loop", MMA, {{"gs_cp_async_wait<GS_STAGES - 2>();\n                __syncthreads();", "gs_cp_async_wait<GS_STAGES - 2>();"}}, {F(EARLY_READ), F(RACE)}},
    {"no barrier before the slabs", "f16:64x64x64:tn mma/64x64x64/w2x2/s2/g1", {{"    __syncthreads();   /* the slabs", "    /* the slabs"}}, {F(RACE)}},
    {"fills the stage that is read", MMA, {{"                to = from;\n", "                to = from == (GS_STAGES - 1) * STAGE_BYTES ? 0 : from + STAGE_BYTES;\n"}}, {F(RACE), F(OVERWRITE), F(EARLY_READ)}},
    {"reads beyond the last row", "f16:100x64x320:tn mma/128x64x64/w2x2/s2/g1", {{"row + row_of(i) < rows ? cols - col - col_of(i) : -8", "cols - col - col_of(i)"}}, {F(OUT_OF_BOUNDS)}},
    {"another swizzle for the reader", MMA, {{"at.a = chunk_offset<A_COLS>(warp_m * WARP_M + lane % 16, lane / 16);", "at.a = chunk_offset<A_COLS>(warp_m * WARP_M + lane % 16, lane / 16 ^ 1);"}}, {RESULT}},
    {"stores without its barrier", MMA_ODD, {{"        __syncwarp();\n        store_slab(d +", "        store_slab(d +"}, {"    __syncthreads();   /* the slabs", "    /* the slabs"}}, {F(RACE)}},
    {"a vector store to an odd address", MMA, {{"shared + warp * SLAB_BYTES", "shared + 4 + warp * SLAB_BYTES"}}, {F(MISALIGNED)}},
    {"ragged rows: pieces of the next row", MMA_ODD, {{"return slab + row * SLAB_ROW + i * 16;", "return slab + (row + i / 2) % 16 * SLAB_ROW + i * 16;"}}, {RESULT}},
    {"ragged rows: rows beyond the last", MMA_ODD, {{"OUT_BYTES, rows, columns, lane, piece);", "OUT_BYTES, 16, columns, lane, piece);"}}, {F(OUT_OF_BOUNDS)}},
    {"ragged rows: columns beyond the last", MMA_ODD, {{"OUT_BYTES, rows, columns, lane, piece);", "OUT_BYTES, rows, WARP_N, lane, piece);"}}, {RESULT, F(RACE), F(UNORDERED), F(OUT_OF_BOUNDS)}},
    {"nt: another swizzle for the reader of A", MMA_NT, {{"lane % 8 + lane / 16 * 8, warp_m * (WARP_M / 8) + lane / 8 % 2);", "lane % 8 + lane / 16 * 8, warp_m * (WARP_M / 8) + (lane / 8 ^ 1) % 2);"}}, {RESULT}},
    {"nt: A read as it lies", MMA_NT, {{"gs_ldmatrix_x4_trans(f->a[m],", "gs_ldmatrix_x4(f->a[m],"}}, {RESULT}},
    {"nt: copies A of K beyond the end", "f16:64x64x72:nt mma/64x64x64/w2x2/s2/g1", {{"a_rows() const { return GS_A_ALONG_K ? rows : k; }", "a_rows() const { return GS_A_ALONG_K ? rows : GS_BK; }"}}, {F(OUT_OF_BOUNDS)}},
    {"nt: copies A of rows beyond the last", "f16:72x64x64:nt mma/64x64x64/w2x2/s2/g1", {{"a_cols() const { return GS_A_ALONG_K ? k : rows; }", "a_cols() const { return GS_A_ALONG_K ? k : GS_BM; }"}}, {F(OUT_OF_BOUNDS)}},
    {"tt: the second of raw rows begins as the first", MMA_TT, {{"before_row(a + (row + 1) * load.a.ld)) * 2;", "before_row(a + row * load.a.ld)) * 2;"}}, {RESULT}},
    {"half of the warp multiplies", MMA, {{"            multiply(acc, &f[step % 2]);", "            if (lane < 16) multiply(acc, &f[step % 2]);"}}, {F(DIVERGED)}},
    {"aux: stored without a barrier", "bf16:65x67x131:nn:ldaux=71:ep=relu+aux mma/32x64x64/w2x2/s2/g1", {{"        __syncwarp();\n        store_slab((unsigned char *)p.aux", "        store_slab((unsigned char *)p.aux"},
      {"    __syncthreads();   /* the slabs", "    /* the slabs"}}, {F(RACE)}},
    {"aux: D in the slab that is still read", MMA_AUX, {{"columns, lane);\n        __syncwarp();\n#endif", "columns, lane);\n#endif"}}, {F(RACE)}},
    {"dbias: rows beyond the last", "f16:90x64x64:tn:ep=dbias mma/64x64x32/w2x2/s3/g1", {{"    if (row < p.m) leave_column_sums(", "    leave_column_sums("}}, {F(OUT_OF_BOUNDS), RESULT}},
    {"dbias: columns beyond the last", "f16:64x36x64:tn:ep=dbias mma/64x64x32/w2x2/s3/g1", {{"sums, columns, lane);", "sums, WARP_N, lane);"}}, {F(OUT_OF_BOUNDS), F(UNORDERED), F(RACE)}},
    {"dbias: lanes of four rows are added up", "f16:64x64x64:tn:ep=dbias mma/64x64x32/w2x2/s3/g1", {{"for (int other = 4; other < 32; other *= 2) {", "for (int other = 4; other < 16; other *= 2) {"}}, {RESULT}},
    {"dbias: the row of sums of another warp", "f16:100x64x64:tn:ep=dbias mma/64x64x32/w2x2/s3/g1", {{"gs_partial_sums(p, index, row / WARP_M)", "gs_partial_sums(p, index, row / GS_BM)"}}, {F(UNORDERED), F(UNINITIALIZED), F(RACE)}},
    {"aux: rows beyond the last", MMA_AUX, {{"p.ldaux, slab, (int)min(p.m - first, 16LL),", "p.ldaux, slab, 16,"}}, {F(OUT_OF_BOUNDS)}},
    {"aux: columns beyond the last", "f16:64x36x64:tn:ldaux=68:ep=relu+aux mma/64x64x32/w2x2/s3/g1", {{"(int)min(p.m - first, 16LL), columns, lane);\n        __syncwarp();", "(int)min(p.m - first, 16LL), WARP_N, lane);\n        __syncwarp();"}}, {F(OUT_OF_BOUNDS)}},
    {"pointers: A's of the matrix behind", MMA_POINTERS, {{"(const half_bits *)gs_base_a(p, index)", "(const half_bits *)gs_base_a(p, index + 1 < p.batch ? index + 1 : 0)"}}, {RESULT}},
    /* ---- dependent launches, planted ---- */
    {"no wait for the launch before", MMA, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "#pragma unroll 1\n"}}, {F(EARLY_ACCESS)}},
    {"the wait behind the first copies", MMA_NN, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "#pragma unroll 1\n"},
      {"    gs_dependent_launch();\n    gs_cp_async_wait", "    gs_dependent_wait();\n    gs_dependent_launch();\n    gs_cp_async_wait"}}, {F(EARLY_ACCESS)}},
    {"one thread waits, without a barrier", MMA, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "    if (threadIdx.x == 0) gs_dependent_wait();\n#pragma unroll 1\n"}}, {F(EARLY_ACCESS)}},
    {"a lane of each warp waits", MMA_ODD, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "    if (lane == 0) gs_dependent_wait();\n#pragma unroll 1\n"}}, {F(EARLY_ACCESS)}},
    {"pointers read before the launch before has ended", MMA_POINTERS, {{"#if GS_POINTERS\n    gs_dependent_wait();\n", "#if GS_POINTERS\n"}}, {F(EARLY_ACCESS)}},
    {"scales are left out", "f16:70x52x64:tn:ep=scale_m+scale_n mma/64x64x32/w2x2/s3/g1", {{"x.x = gs_scaled(p, x.x * gs_alpha(p), row, column, p.m, p.n, index);", "x.x *= gs_alpha(p);"}}, {RESULT}},
    {"scales of rows for columns", "f16:70x52x64:tn:ep=scale_m+scale_n mma/64x64x32/w2x2/s3/g1", {{"gs_scaled(p, x.y * gs_alpha(p), row, column + 1, p.m, p.n, index)", "gs_scaled(p, x.y * gs_alpha(p), row % 50, column, p.m, p.n, index)"}}, {RESULT}},
    {"scales of another part of a cluster's tile", "f16:70x52x256:tn:ep=scale_m mma/64x64x32/w2x2/s3/g1/k2", {{"gs_scaled(p, x.x * gs_alpha(p), m0 + row, n0 + column", "gs_scaled(p, x.x * gs_alpha(p), m0 + row / GS_SPLIT, n0 + column"}}, {RESULT}},
    /* ---- honest ---- */
    {"pointers to the matrices of a batch", MMA_POINTERS, {{0}}, {0}},
    {"scales", "f16:100x50x64:tn:b=2:beta=1:ep=scale_m+scale_n+bias mma/64x64x32/w2x2/s3/g1", {{0}}, {0}},
    {"cp.async, tn", MMA, {{0}}, {0}},
    {"cp.async, nn, f16 sums", MMA_NN, {{0}}, {0}},
    {"aux", MMA_AUX, {{0}}, {0}},
    {"dbias", "f16:100x50x64:tn:b=2:ep=dbias mma/64x64x32/w2x2/s3/g1", {{0}}, {0}},
    {"aux, raw rows", "bf16:65x67x131:nn:ldaux=71:ep=relu+aux mma/32x64x64/w2x2/s2/g1", {{0}}, {0}},
    {"raw rows", MMA_ODD, {{0}}, {0}},
    {"cp.async, nt", MMA_NT, {{0}}, {0}},
    {"raw rows, tt", MMA_TT, {{0}}, {0}},
    {"every copy waited for", MMA, {{"                gs_cp_async_wait<GS_STAGES - 2>();\n", "                gs_cp_async_wait<0>();\n"}}, {0}},
    {"wait_all", MMA, {{"                gs_cp_async_wait<GS_STAGES - 2>();\n", "                asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n"}}, {0}},
    {"a barrier more", MMA_NN, {{"                __syncthreads();\n", "                __syncthreads();\n                __syncthreads();\n"}}, {0}},
    {"a named barrier instead of syncthreads", MMA, {{"                __syncthreads();\n", "                asm volatile(\"barrier.sync 3, %0;\" ::\"n\"(THREADS) : \"memory\");\n"}}, {0}},
    {"one thread waits for the launch before, then a barrier", MMA,
     {{"    gs_dependent_wait();\n#pragma unroll 1\n", "    if (threadIdx.x == 0) gs_dependent_wait();\n    __syncthreads();\n#pragma unroll 1\n"}}, {0}},
    {"a lane waits for its warp", MMA_ODD, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "    if (lane == 0) gs_dependent_wait();\n    __syncwarp();\n#pragma unroll 1\n"}}, {0}},
    {"waits first of all", MMA_NN, {{"    gs_dependent_wait();\n#pragma unroll 1\n", "#pragma unroll 1\n"},
      {"    extern __shared__ __align__(128) unsigned char shared[];\n", "    extern __shared__ __align__(128) unsigned char shared[];\n    gs_dependent_wait();\n"}}, {0}},
