/* SPDX-License-Identifier: MIT
 * The epilogue: what is applied to a sum in f32 before it is rounded to D's type. Set by the builder if the problem has it, else 0: GS_BIAS (gs_bias), GS_ACTIVATION
 * (gs_activation; from 5 on the gradient of one), GS_RESIDUAL, GS_GATE (gs_gate), GS_AUX (1: aux is written), GS_SCALES (gs_scales), GS_SCALARS (1: alpha and beta are in device
 * memory), GS_UNITS (what the family itself accesses in units of 16 bytes: 1: it reads C, 2: it reads the aux of a gradient and passes aux's elements as c, 3: it writes aux).
 * Needs GS_OUT and GS_BETA, convert.cuh and args.h.
 * A product that is followed by an addition is written as fmaf or rounded explicitly, so that the compiler has no choice and all kernels compute the same from the same sum
 * (docs/internals/invariant.md). */
#ifndef GS_KERNELS_EPILOGUE_CUH
#define GS_KERNELS_EPILOGUE_CUH

#ifndef GS_BIAS
#define GS_BIAS 0
#endif
#ifndef GS_ACTIVATION
#define GS_ACTIVATION 0
#endif
#ifndef GS_SCALARS
#define GS_SCALARS 0
#endif
#ifndef GS_STRIDES
#define GS_STRIDES 0
#endif
#ifndef GS_RESIDUAL
#define GS_RESIDUAL 0
#endif
#ifndef GS_GROUPED
#define GS_GROUPED 0
#endif
#ifndef GS_GATE
#define GS_GATE 0
#endif
#ifndef GS_AUX
#define GS_AUX 0
#endif
#ifndef GS_SCALES
#define GS_SCALES 0
#endif
#ifndef GS_UNITS
#define GS_UNITS 0
#endif
#define GS_GRADIENT (GS_ACTIVATION >= 5)   /* aux is read */

/* alpha of the run. With GS_SCALARS alpha and beta are in device memory, where the previous kernel may have written them: to be read after gs_dependent_wait. */
static __device__ __forceinline__ float gs_alpha(const gs_kernel_args &p)
{
#if GS_SCALARS
    return *p.alpha_at;
#else
    return p.alpha;
#endif
}

/* x + beta * C. If beta in device memory is 0, C is ignored, even if it is NaN. */
static __device__ __forceinline__ float gs_plus_c(const gs_kernel_args &p, float c, float x)
{
#if GS_SCALARS
    const float beta = *p.beta_at;
    return beta == 0.0f ? x : fmaf(beta, c, x);
#else
    return fmaf(p.beta, c, x);
#endif
}

/* True if the epilogue reads something that another kernel may still be writing: C, the bias, scalars, scales, aux. */
#define GS_READS_LATE (GS_BETA || GS_BIAS || GS_SCALARS || GS_SCALES || GS_GRADIENT)

/* 2^x within 2 ulp; infinity above f32's range, 0 below its normal numbers: subnormal results would take three more instructions, here and in gs_reciprocal. */
static __device__ __forceinline__ float gs_exp2(float x)
{
    float value;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(x));
    return value;
}

/* 1 / x within 1 ulp; 0 for |x| above 2^126. */
static __device__ __forceinline__ float gs_reciprocal(float x)
{
    float value;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(x));
    return value;
}

/* x clamped to [-most, most]. NaN stays NaN. */
static __device__ __forceinline__ float gs_limited(float x, float most)
{
    asm("min.NaN.f32 %0, %0, %1;\nmax.NaN.f32 %0, %0, %2;" : "+f"(x) : "f"(most), "f"(-most));
    return x;
}

/* erfc(z), z >= 0, with a relative error below 1.2e-7: t exp(-z^2 + polynomial of t) with t as below (Press et al., Numerical Recipes, erfcc). Library code takes too many
 * registers. */
static __device__ __forceinline__ float gs_erfc(float z)
{
    const float t = gs_reciprocal(fmaf(0.5f, z, 1.0f));
    float fit = fmaf(t, 0.17087277f, -0.82215223f);
    fit = fmaf(t, fit, 1.48851587f);
    fit = fmaf(t, fit, -1.13520398f);
    fit = fmaf(t, fit, 0.27886807f);
    fit = fmaf(t, fit, -0.18628806f);
    fit = fmaf(t, fit, 0.09678418f);
    fit = fmaf(t, fit, 0.37409196f);
    fit = fmaf(t, fit, 1.00002368f);
    fit = fmaf(t, fit, fmaf(-z, z, -1.26551223f));
    return __fmul_rn(t, gs_exp2(1.4426950409f * fit));
}

/* gelu by tanh is x / (1 + 2^t), t = x (GS_GELU_LINE + GS_GELU_CUBE x^2). The constants are -2 sqrt(2 / pi) / ln 2, and that times 0.044715. */
#define GS_GELU_LINE -2.3022081981f
#define GS_GELU_CUBE -0.1029432396f

static __device__ __forceinline__ float gs_activated(float x)
{
#if GS_ACTIVATION == 1
    return x < 0.0f ? 0.0f : x;
#elif GS_ACTIVATION == 2
    return x * gs_reciprocal(1.0f + gs_exp2(x * fmaf(GS_GELU_CUBE, x * x, GS_GELU_LINE)));
#elif GS_ACTIVATION == 3
    const float tail = gs_erfc(0.70710678f * fabsf(x));
    return 0.5f * x * (x > 0.0f ? 2.0f - tail : tail);
#elif GS_ACTIVATION == 4
    return x * gs_reciprocal(1.0f + gs_exp2(-1.4426950409f * x));
#else
    return x;
#endif
}

#if GS_OUT == 2
typedef float gs_raw;            /* an element of D's type as loaded: code waits for the load only when it converts it */
static __device__ __forceinline__ float  gs_raw_to_f32(gs_raw raw) { return raw; }
static __device__ __forceinline__ gs_raw gs_f32_to_raw(float value) { return value; }
#else
typedef unsigned short gs_raw;
static __device__ __forceinline__ float  gs_raw_to_f32(gs_raw raw) { return GS_OUT == 1 ? gs_bf16_to_f32(raw) : gs_f16_to_f32(raw); }
static __device__ __forceinline__ gs_raw gs_f32_to_raw(float value) { return GS_OUT == 1 ? gs_f32_to_bf16(value) : gs_f32_to_f16(value); }

/* The two elements in a word. */
static __device__ __forceinline__ float2 gs_halves_of(unsigned both) { return make_float2(gs_raw_to_f32((gs_raw)both), gs_raw_to_f32((gs_raw)(both >> 16))); }
#endif

/* x times the activation's derivative at z. z is clamped where the derivative is 0 or 1 in f32 anyway; without that an infinite z would give NaN. NaN stays NaN. */
static __device__ __forceinline__ float gs_sloped(float x, float z)
{
#if GS_ACTIVATION == 5
    return z <= 0.0f ? 0.0f : x;
#elif GS_GRADIENT
    z = gs_limited(z, GS_ACTIVATION == 6 ? 12.0f : GS_ACTIVATION == 7 ? 16.0f : 120.0f);
#if GS_ACTIVATION == 7
    const float tail = __fmul_rn(0.5f, gs_erfc(0.70710678f * fabsf(z)));
    const float slope = fmaf(z, 0.39894228f * gs_exp2(-0.72134752f * z * z), z > 0.0f ? 1.0f - tail : tail);
#else
    /* the derivative of z s(u(z)), s the sigmoid: s + z u' s (1 - s) */
#if GS_ACTIVATION == 6
    const float square = z * z, t = z * fmaf(GS_GELU_CUBE, square, GS_GELU_LINE), steep = z * fmaf(0.2140644488f, square, 1.5957691216f);   /* 2 sqrt(2 / pi) (1 + 3 * 0.044715 z^2) */
#else
    const float t = -1.4426950409f * z, steep = z;
#endif
    const float s = gs_reciprocal(1.0f + gs_exp2(t)), slope = fmaf(steep, fmaf(-s, s, s), s);
#endif
    return x * slope;
#else
    (void)z;
    return x;
#endif
}

/* Offset of an element in aux, in elements. index: the matrix of the batch, or the row's group. */
static __device__ __forceinline__ long long gs_place_in_aux(const gs_kernel_args &p, long long row, long long col, long long index)
{
#if GS_AUX || GS_GRADIENT
    return (GS_GROUPED ? 0 : index * p.stride_aux) + row * p.ldaux + col;
#else
    (void)p, (void)row, (void)col, (void)index;
    return 0;
#endif
}

/* An element of aux; 0 outside D. */
static __device__ __forceinline__ float gs_aux_of(const gs_kernel_args &p, long long row, long long col, long long rows, long long cols, long long index)
{
#if GS_GRADIENT
    const long long at = gs_place_in_aux(p, row, col, index);
    if (row >= rows || col >= cols) return 0;
    return gs_raw_to_f32(((const gs_raw *)p.aux)[at]);
#else
    (void)p, (void)row, (void)col, (void)rows, (void)cols, (void)index;
    return 0;
#endif
}

/* Writes the activation's input, rounded, to aux; nothing outside D. */
static __device__ __forceinline__ void gs_put_aux(const gs_kernel_args &p, float value, long long row, long long col, long long rows, long long cols, long long index)
{
#if GS_AUX && GS_UNITS != 3
    const long long at = gs_place_in_aux(p, row, col, index);
    if (row >= rows || col >= cols) return;
    ((gs_raw *)p.aux)[at] = gs_f32_to_raw(value);
#else
    (void)p, (void)value, (void)row, (void)col, (void)rows, (void)cols, (void)index;
#endif
}

/* The bias of an element of D; 0 outside D. rows, cols: of a matrix; index: the matrix of the batch, or the row's group. */
static __device__ __forceinline__ gs_raw gs_bias_raw(const gs_kernel_args &p, long long row, long long col, long long rows, long long cols, long long index)
{
#if GS_BIAS
#if GS_STRIDES
    const long long at = index * p.stride_bias + (GS_BIAS == 1 ? col : row);
#elif GS_GROUPED
    const long long at = GS_BIAS == 1 ? index * cols + col : row;
#else
    const long long at = GS_BIAS == 1 ? col : row;
#endif
    if (row >= rows || col >= cols) return 0;
    return ((const gs_raw *)p.bias)[at];
#else
    (void)p, (void)row, (void)col, (void)rows, (void)cols;
    return 0;
#endif
    (void)index;
}

static __device__ __forceinline__ float gs_bias_of(const gs_kernel_args &p, long long row, long long col, long long rows, long long cols, long long index)
{
    return GS_BIAS ? gs_raw_to_f32(gs_bias_raw(p, row, col, rows, cols, index)) : 0;
}

#if GS_GATE
/* The columns of B that give the gate and the up value of a column of D. B has twice as many columns as D. */
static __device__ __forceinline__ long long gs_column_of_gate(long long col) { return GS_GATE == 1 ? col : 2 * col; }
static __device__ __forceinline__ long long gs_column_of_up(long long col, long long cols) { return GS_GATE == 1 ? cols + col : 2 * col + 1; }

/* The column of B for a column of a product whose columns alternate: eight of the gate, then the eight of up that belong to them, and so on. */
static __device__ __forceinline__ long long gs_column_in_turn(long long col, long long cols)
{
    const long long own = col / 16 * 8 + col % 8;
    return col / 8 % 2 ? gs_column_of_up(own, cols) : gs_column_of_gate(own);
}
#endif

/* x (alpha times a sum) times the scales of its row and column; x itself outside D. col, cols: a column of B, and how many B has. */
static __device__ __forceinline__ float gs_scaled(const gs_kernel_args &p, float x, long long row, long long col, long long rows, long long cols, long long index)
{
#if GS_SCALES
    if (row >= rows || col >= cols) return x;
#endif
#if GS_SCALES & 1
    x *= p.scale_m[row];
#endif
#if GS_SCALES & 2
    x *= p.scale_n[(GS_GROUPED ? index * cols : 0) + col];
#endif
    (void)p, (void)row, (void)col, (void)rows, (void)cols, (void)index;
    return x;
}

#if GS_GATE
/* The same for an element's gate sum or, if `up`, its up sum. col, cols: of D. */
static __device__ __forceinline__ float gs_scaled_half(const gs_kernel_args &p, float x, bool up, long long row, long long col, long long rows, long long cols, long long index)
{
    if (col >= cols) return x;
    return gs_scaled(p, x, row, up ? gs_column_of_up(col, cols) : gs_column_of_gate(col), rows, 2 * cols, index);
}
#endif

/* An element of D before it is rounded, from the activation's input `biased`. c: its element of C if that is a residual, with GS_UNITS 2 of aux. */
static __device__ __forceinline__ float gs_behind_bias(const gs_kernel_args &p, float biased, float c, long long row, long long col, long long rows, long long cols, long long index)
{
#if GS_GRADIENT
    biased = gs_sloped(biased, GS_UNITS == 2 ? c : gs_aux_of(p, row, col, rows, cols, index));
#else
    biased = gs_activated(biased);
#endif
#if GS_BETA && GS_RESIDUAL
    biased = gs_plus_c(p, c, biased);
#endif
    (void)c, (void)row, (void)col, (void)rows, (void)cols, (void)index;
    return biased;
}

/* An element of D before it is rounded, from the value to which bias and activation are applied, and its bias (0: none); writes aux. c: as in gs_behind_bias. */
static __device__ __forceinline__ float gs_from_bias(const gs_kernel_args &p, float scaled, float bias, float c, long long row, long long col, long long rows, long long cols, long long index)
{
#if GS_BIAS
    scaled = __fadd_rn(scaled, bias);
#endif
    gs_put_aux(p, scaled, row, col, rows, cols, index);
    (void)bias;
    return gs_behind_bias(p, scaled, c, row, col, rows, cols, index);
}

/* The same from alpha times its sum, with its scales applied, and c, its element of C if C is read. row, col: its place in a matrix of rows x cols; index: the matrix of the
 * batch, or the row's group. */
static __device__ __forceinline__ float gs_finished_with(const gs_kernel_args &p, float scaled, float bias, float c, long long row, long long col, long long rows, long long cols, long long index)
{
#if GS_BETA && !GS_RESIDUAL
    scaled = gs_plus_c(p, c, scaled);
#endif
    return gs_from_bias(p, scaled, bias, c, row, col, rows, cols, index);
}

/* The same from alpha times its sum; reads scales and bias. */
static __device__ __forceinline__ float gs_finished(const gs_kernel_args &p, float sum, float c, long long row, long long col, long long rows, long long cols, long long index = 0)
{
    return gs_finished_with(p, gs_scaled(p, sum, row, col, rows, cols, index), gs_bias_of(p, row, col, rows, cols, index), c, row, col, rows, cols, index);
}

#if GS_BIAS
/* A run of the bias, spread over a warp's lanes so that it can be loaded early and takes few registers: 64 elements, two in each lane, or 32 of f32. */
#define GS_BIAS_RUN (GS_OUT == 2 ? 32 : 64)
typedef struct gs_bias_word {
    gs_raw at[GS_BIAS_RUN / 32];
} gs_bias_word;

/* The bias at position `at` along M or N of D; with a gate that of the gate or, if `up`, of up. 0 outside D. */
static __device__ __forceinline__ gs_raw gs_bias_at(const gs_kernel_args &p, long long at, bool up, long long index)
{
#if GS_GATE
    if (at >= p.n) return 0;
    return gs_bias_raw(p, 0, up ? gs_column_of_up(at, p.n) : gs_column_of_gate(at), p.m, 2LL * p.n, index);
#else
    (void)up;
    return gs_bias_raw(p, GS_BIAS == 1 ? 0 : at, GS_BIAS == 1 ? at : 0, p.m, p.n, index);
#endif
}

/* This lane's word of the run that begins at `from`. */
static __device__ __forceinline__ gs_bias_word gs_bias_run(const gs_kernel_args &p, long long from, bool up, long long index)
{
    gs_bias_word word;
#pragma unroll
    for (int i = 0; i < GS_BIAS_RUN / 32; i++) word.at[i] = gs_bias_at(p, from + threadIdx.x % 32 * (GS_BIAS_RUN / 32) + i, up, index);
    return word;
}

/* Elements at and at + 1 of a run, at: even. All lanes. */
static __device__ __forceinline__ float2 gs_bias_in_run(const gs_bias_word &word, int at)
{
#if GS_OUT == 2
    return make_float2(__shfl_sync(0xffffffff, word.at[0], at), __shfl_sync(0xffffffff, word.at[0], at + 1));
#else
    return gs_halves_of(__shfl_sync(0xffffffff, (unsigned)word.at[0] | (unsigned)word.at[1] << 16, at / 2));
#endif
}
#endif

#if GS_GATE
/* Writes gate (the activation's input) and up, rounded, to aux, whose columns are those of B; nothing outside D. */
static __device__ __forceinline__ void gs_put_halves(const gs_kernel_args &p, float gate, float up, long long row, long long col, long long rows, long long cols, long long index)
{
#if GS_AUX && GS_UNITS != 3
    if (col >= cols) return;
    gs_put_aux(p, gate, row, gs_column_of_gate(col), rows, 2 * cols, index);
    gs_put_aux(p, up, row, gs_column_of_up(col, cols), rows, 2 * cols, index);
#else
    (void)p, (void)gate, (void)up, (void)row, (void)col, (void)rows, (void)cols, (void)index;
#endif
}

/* An element of D before it is rounded, from gate and up with their biases, and its element of C. */
static __device__ __forceinline__ float gs_behind_halves(const gs_kernel_args &p, float gate, float up, float c)
{
    float value = gs_activated(gate) * up;
#if GS_BETA && GS_RESIDUAL
    value = gs_plus_c(p, c, value);
#endif
    (void)p, (void)c;
    return value;
}

/* The same from alpha times the two sums, with their scales applied, and the bias of each (0: none); writes aux. */
static __device__ __forceinline__ float gs_gated_with(const gs_kernel_args &p, float gate, float up, float bias_gate, float bias_up, float c, long long row, long long col, long long rows,
                                                      long long cols, long long index)
{
#if GS_BIAS
    gate = __fadd_rn(gate, bias_gate);
    up = __fadd_rn(up, bias_up);
#endif
    gs_put_halves(p, gate, up, row, col, rows, cols, index);
    (void)bias_gate, (void)bias_up;
    return gs_behind_halves(p, gate, up, c);
}

/* Applies scales and biases to gate and up, which are alpha times an element's two sums. */
static __device__ __forceinline__ void gs_biased_halves(const gs_kernel_args &p, float &gate, float &up, long long row, long long col, long long rows, long long cols, long long index)
{
    gate = gs_scaled_half(p, gate, false, row, col, rows, cols, index);
    up = gs_scaled_half(p, up, true, row, col, rows, cols, index);
#if GS_BIAS
    if (row >= rows || col >= cols) return;
    gate = __fadd_rn(gate, gs_bias_of(p, row, gs_column_of_gate(col), rows, 2 * cols, index));
    up = __fadd_rn(up, gs_bias_of(p, row, gs_column_of_up(col, cols), rows, 2 * cols, index));
#endif
}

/* An element of D before it is rounded, from alpha times the two sums; reads scales and biases, and writes aux. */
static __device__ __forceinline__ float gs_gated(const gs_kernel_args &p, float gate, float up, float c, long long row, long long col, long long rows, long long cols, long long index = 0)
{
    gs_biased_halves(p, gate, up, row, col, rows, cols, index);
    gs_put_halves(p, gate, up, row, col, rows, cols, index);
    return gs_behind_halves(p, gate, up, c);
}
#endif

#endif
