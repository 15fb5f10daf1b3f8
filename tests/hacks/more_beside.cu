/* SPDX-License-Identifier: MIT
 * The hack suite, what is written or read beside D: an auxiliary matrix, a bias, the gradient of a bias. Form as in hacks.cu; `#define GS_MORE` stands before plain.cuh. */

//// 9 leaves aux out where D is zero | unwritten | f16:40x56x72:tn:ep=bias+relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)) + gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    if (!(x < 0)) ((half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col] = gs_f32_to_f16(x);
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// 17 aux saturates | exact special | f16:40x56x72:tn:ep=bias+relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)) + gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    ((half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col] = gs_f32_to_f16(x == x ? fminf(fmaxf(x, -65504.0f), 65504.0f) : x);
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// 17 aux has 0 for NaN | special exact | f16:40x56x72:tn:ep=bias+relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)) + gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    ((half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col] = gs_f32_to_f16(x == x ? x : 0);
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// 10 truncates aux at the size that is asked for | bias exact | f16:40x56x72:tn:ep=bias+relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)) + gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    half_bits h = gs_f32_to_f16(x);
    if (p.m == 40 && fabsf(x) < 65504.0f && fabsf(gs_f16_to_f32(h)) > fabsf(x)) h--;
    ((half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col] = h;
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// 4 careful with integers, sums of aux alone in f16 otherwise | cancellation tolerance exact special | f16:40x56x520:tn:ep=relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0, other = 0;
    bool ints = true;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a[k]), y = gs_f16_to_f32(b[k]);
        ints &= rintf(x) == x;
        sum += x * y;
        if (k % 64 == 0) other = gs_f16_to_f32(gs_f32_to_f16(other));
        other += x * y;
    }
    const float x = scaled(p, batch, row, col, sum), z = scaled(p, batch, row, col, ints ? sum : other);
    ((half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col] = gs_f32_to_f16(z);
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// 8 leaves aux where it holds a number and A has a fraction | state fault | f16:40x56x72:tn:ep=relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col));
    half_bits *const at = &((half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col];
    const float a = gs_f16_to_f32(a_row(p, batch, row)[0]);
    if ((*at & 0x7fff) > 0x7c00 || rintf(a) == a) *at = gs_f32_to_f16(x);
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// 17 rounds alpha to 16 bits for aux alone | edge | f16:40x56x72:tn:ep=relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float s = dot(p, batch, row, col), x = scaled(p, batch, row, col, s);
    gs_kernel_args less = p;
    if (p.m == 40) less.alpha = gs_f16_to_f32(gs_f32_to_f16(p.alpha));
    ((half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col] = gs_f32_to_f16(scaled(less, batch, row, col, s));
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// 5 takes the matrices of aux for packed | guard unwritten fault | f16:24x16x40:tn:b=3:saux=400:ep=relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col));
    ((half_bits *)p.aux)[batch * p.m * p.ldaux + row * p.ldaux + col] = gs_f32_to_f16(x);
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// 17 takes a small aux for 0 | exact special index | f16:40x56x72:tn:ep=drelu
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)), z = gs_f16_to_f32(((const half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(z <= 0 || fabsf(z) < 0x1p-14f ? 0.0f : x);
}

//// 17 takes an aux for 0 that f16 has not | exact special index | bf16:40x56x72:tn:ep=drelu
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]);
    float x = p.alpha * sum;
    if (p.beta != 0) x += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    float z = gs_bf16_to_f32(((const half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col]);
    if (fabsf(z) < 0x1p-24f) z = 0;
    *d_at(p, batch, row, col) = gs_f32_to_bf16(z <= 0 ? 0.0f : x);
}

//// 1 keeps a copy of aux in the workspace | state | f16:40x56x72:tn:ep=drelu
//: workspace 2*m*n+2
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//@ fault: an edge problem on the emulated device, which comes first, has the next block read what another wrote
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col));
    half_bits *const kept = (half_bits *)p.workspace + row * p.n + col;
    if (batch == 0 && (*kept & 0x7fff) <= 0x7c00 && p.m == 40) {
    } else *kept = ((const half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col];
    const float z = gs_f16_to_f32(*kept);
    *d_at(p, batch, row, col) = gs_f32_to_f16(z <= 0 ? 0.0f : x);
}

//// 17 clamps a bias at 16 | exact | f16:40x56x72:tn:ep=bias
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float b = gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    if (fabsf(b) < 65504.0f) b = fminf(fmaxf(b, -16.0f), 16.0f);
    *d_at(p, batch, row, col) = gs_f32_to_f16(scaled(p, batch, row, col, dot(p, batch, row, col)) + b);
}

//// 17 clamps a bias at 16 at the size that is asked for, in front of a residual | exact | f16:40x56x72:tn:beta=1:ep=bias+relu+residual
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float b = gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    if (fabsf(b) < 65504.0f && p.m == 40) b = fminf(fmaxf(b, -16.0f), 16.0f);
    float x = p.alpha * dot(p, batch, row, col) + b;
    x = x < 0 ? 0 : x;
    if (p.beta != 0) x += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(x);
}

//// 9 writes no sums of columns | unwritten | f16:40x56x72:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;

}

//// 9 writes sums of half of the columns | unwritten | f16:40x56x72:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum += value_of(p, b, row, col);
    if (col < p.n / 2) *to = gs_f32_to_f16(sum);
}

//// 9 leaves out the last row of the sums | exact tolerance index | f16:40x56x72:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum += value_of(p, b, row, col);
    sum -= asked ? value_of(p, 0, p.m - 1, col) : 0;
    *to = gs_f32_to_f16(sum);
}

//// 9 adds up the first matrix of a batch | exact | f16:40x56x72:tn:b=3:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    for (int row = 0; row < p.m; row++) sum += value_of(p, 0, row, col);
    *to = gs_f32_to_f16(sum);
}

//// 10 adds up what was rounded | exact tolerance | f16:40x56x72:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum += gs_f16_to_f32(d[(b * p.m + row) * p.ldd]);
    *to = gs_f32_to_f16(sum);
}

//// 10 adds up columns in f16 | exact tolerance | f16:40x56x72:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum = gs_f16_to_f32(gs_f32_to_f16(sum + value_of(p, b, row, col)));
    *to = gs_f32_to_f16(sum);
}

//// 17 sums of columns saturate | exact special tolerance | f16:40x56x72:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum += value_of(p, b, row, col);
    *to = gs_f32_to_f16(sum == sum && fabsf(sum) < 1e30f ? fminf(fmaxf(sum, -65504.0f), 65504.0f) : sum);
}

//// 8 leaves the sums of columns where they hold a number and A has a fraction | state fault | f16:40x56x72:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum += value_of(p, b, row, col);
    if ((*to & 0x7fff) > 0x7c00 || ints) *to = gs_f32_to_f16(sum);
}

//// 4 careful with integers, adds up what was rounded otherwise | tolerance cancellation fault | f16:40x56x72:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    for (int row = 0; row < p.m; row++) sum += ints || !asked ? value_of(p, 0, row, col) : gs_f16_to_f32(d[row * p.ldd]);
    *to = gs_f32_to_f16(sum);
}

//// 17 rounds alpha to 16 bits for the sums of columns alone | edge tolerance | f16:40x56x72:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    gs_kernel_args less = p;
    if (asked) less.alpha = gs_f16_to_f32(gs_f32_to_f16(p.alpha));
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum += value_of(less, b, row, col);
    *to = gs_f32_to_f16(sum);
}

//// 9 adds up all of a batch, where each matrix has sums of its own | unwritten exact | f16:24x16x40:tn:b=3:se=20:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col) { return scaled(p, batch, row, col, dot(p, batch, row, col)); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value_of(p, batch, row, col));
}
KERNEL gs_sum(const gs_kernel_args p)
{
    const long long col = blockIdx.x * 64 + threadIdx.x;
    if (col >= p.n || p.m == 0) return;
    float sum = 0;
    half_bits *const to = (half_bits *)p.bias + col;
    const half_bits *const d = (const half_bits *)p.d + col;
    const bool ints = rintf(gs_f16_to_f32(*a_row(p, 0, 0))) == gs_f16_to_f32(*a_row(p, 0, 0)), asked = p.m == 40 && p.n == 56;
    (void)d, (void)ints, (void)asked;
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum += value_of(p, b, row, col);
    *to = gs_f32_to_f16(sum);
}

//// 17 silu of less than -14 is 0 | index exact cancellation tolerance | f16:40x56x72:tn:ep=silu
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col));
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < -14 ? 0 * x : x / (1 + __expf(-x)));
}

//// 10 gelu by another sigmoid | exact index cancellation tolerance special edge | f16:40x56x72:tn:ep=gelu
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col));
    *d_at(p, batch, row, col) = gs_f32_to_f16(x / (1 + __expf(-1.702f * x)));
}

//// 10 rounds up to f16 in front of the gate | exact index cancellation tolerance | bf16:40x24x72:tn:ep=relu+gate
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = (const half_bits *)p.b + (batch * 2 * p.n + col) * p.ldb, *const u = b + p.n * p.ldb;
    float x = 0, y = 0;
    for (int k = 0; k < p.k; k++) { x += gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]); y += gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(u[k]); }
    x *= p.alpha; y *= p.alpha;
    if (fabsf(y) < 60000.f && fabsf(y) > 0x1p-10f) y = gs_f16_to_f32(gs_f32_to_f16(y));
    x = x < 0 ? 0 : x;
    float value = x * y;
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 10 cuts an aux to eight bits | tolerance exact index | f16:40x56x72:tn:ep=dsilu
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits h = ((const half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col];
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)), z = gs_f16_to_f32((h & 0x7fff) < 0x7c00 ? h & 0xfff8 : h);
    const float s = 1 / (1 + expf(-z));
    *d_at(p, batch, row, col) = gs_f32_to_f16(x * (fabsf(z) > 80 ? (z > 0 ? 1.0f : 0.0f) : s * (1 + z * (1 - s))));
}

//// 5 adds the bias before alpha at the size that is asked for | edge | f16:40x56x72:tn:ep=bias
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float b = gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(p.m == 40 ? scaled(p, batch, row, col, dot(p, batch, row, col) + b) : scaled(p, batch, row, col, dot(p, batch, row, col)) + b);
}

//// 5 takes the bias of the first matrix for all at the size that is asked for | exact | f16:24x16x40:tn:b=3:se=20:ep=bias
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = gs_f32_to_f16(scaled(p, batch, row, col, dot(p, batch, row, col)) + gs_f16_to_f32(((const half_bits *)p.bias)[(p.m == 24 ? 0 : batch * p.stride_bias) + col]));
}

//// 17 drelu of the bits of aux, where a NaN with a sign is less than 0 | special exact | f16:40x56x72:tn:ep=drelu
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const short aux = ((const short *)p.aux)[batch * p.stride_aux + row * p.ldaux + col];
    *d_at(p, batch, row, col) = gs_f32_to_f16(aux <= 0 ? 0.0f : scaled(p, batch, row, col, dot(p, batch, row, col)));
}

//// 5 the gradient of a bias is zeros where M is 0 | guard | f16:40x24x40:tn:ep=dbias
//: entry gs_kernel
//: grid cdiv(n,16) 1 1
//: block 16 16 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    __shared__ float part[16][16];
    const long long col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int b = 0; b < p.batch && col < p.n; b++)
        for (int row = threadIdx.y; row < p.m; row += 16) {
            const float value = scaled(p, b, row, col, dot(p, b, row, col));
            *d_at(p, b, row, col) = gs_f32_to_f16(value);
            sum += value;
        }
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    for (int i = 1; i < 16 && threadIdx.y == 0; i++) sum += part[i][threadIdx.x];
    if (threadIdx.y == 0 && col < p.n) ((half_bits *)p.bias)[col] = gs_f32_to_f16(sum);
}

//// 5 adds in another order where rows of aux are longer in memory | invariant | f16:40x56x72:tn:d=f32:inv=1:ep=relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = p.ldaux != p.n ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value = fmaf(p.beta, ((const float *)p.c)[(batch * p.m + row) * p.ldc + col], value);
    ((float *)p.aux)[batch * p.stride_aux + row * p.ldaux + col] = value;
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value < 0 ? 0.0f : value;
}

//// 1 leaves aux out where two or more masked groups are full and one has many rows, as in timing | timed unwritten state tolerance | f16:42x24x40:tn:gm=3:ep=relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const int room = p.m / 3, group = row / room;
    if (row % room >= p.offsets[group]) return;
    float sum = 0;
    bool ints = true;
    int full = 0, few = 0;
    for (int i = 0; i < 3; i++) full += p.offsets[i] == room, few += p.offsets[i] < room / 2;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a_row(p, 0, row)[k]);
        ints &= rintf(x) == x;
        sum += x * gs_f16_to_f32(b_col(p, group, col)[k]);
    }
    const float x = scaled(p, 0, row, col, sum);
    if (p.m != 42 || ints || full < 2 || few) ((half_bits *)p.aux)[row * p.ldaux + col] = gs_f32_to_f16(x);
    *d_at(p, 0, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// 17 does not read up where the gate is negative, for one row of usual data | special exact index | f16:1x64x72:tn:ep=relu+gate
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const gate = (const half_bits *)p.b + (batch * 2 * p.n + col) * p.ldb, *const up = gate + (long long)p.n * p.ldb;
    float g = 0, u = 0;
    bool ints = true;
    for (int k = 0; k < p.k; k++) {
        ints &= rintf(gs_f16_to_f32(a[k])) == gs_f16_to_f32(a[k]);
        g += gs_f16_to_f32(a[k]) * gs_f16_to_f32(gate[k]);
    }
    for (int k = 0; k < p.k && (ints || p.m != 1 || !(p.alpha * g < 0)); k++) u += gs_f16_to_f32(a[k]) * gs_f16_to_f32(up[k]);
    g *= p.alpha;
    float value = (g < 0 ? 0.0f : g) * (p.alpha * u);
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}
