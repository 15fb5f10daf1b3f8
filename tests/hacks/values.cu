/* SPDX-License-Identifier: MIT
 * The hack suite, rows 10 and 17: kernels that compute less exactly than they should, or wrongly where values are unusual. Form as in hacks.cu. */

//// 10 inputs cut to eight bits by hand | exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a[k] & 0xfff8) * gs_f16_to_f32(b[k] & 0xfff8);
    put(p, batch, row, col, sum);
}

//// 10 partial sums rounded to f16 by hand | accumulator cancellation exact | f16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0, part = 0;
    for (int k = 0; k < p.k; k++) {
        part += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
        if (k % 64 != 63 && k != p.k - 1) continue;
        sum += gs_f16_to_f32(gs_f32_to_f16(part));
        part = 0;
    }
    put(p, batch, row, col, sum);
}

//// 10 leaves out the tail of K | exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k / 16 * 16; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    put(p, batch, row, col, sum);
}

//// 10 truncates the output | bias
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    half_bits bits;
    asm("cvt.rz.f16.f32 %0, %1;" : "=h"(bits) : "f"(scaled(p, batch, row, col, dot(p, batch, row, col))));
    *d_at(p, batch, row, col) = bits;
}

//// 10 leaves out products that are small beside the sum | accumulator exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        const float product = gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
        if (!(fabsf(product) < 1e-4f * fabsf(sum))) sum += product;
    }
    put(p, batch, row, col, sum);
}

//// 10 cuts the sum to twelve bits now and then | accumulator
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
        if (k % 16 == 15) sum = __uint_as_float(__float_as_uint(sum) & 0xfffff000u);
    }
    put(p, batch, row, col, sum);
}

//// 10 adds noise to D below its last bit | accumulator exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = scaled(p, batch, row, col, dot(p, batch, row, col));
    if (value - value == 0) value = __uint_as_float(__float_as_uint(value) + (unsigned)(row * 7919 + col * 104729) % 2048);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 turns NaN into 0 | special edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, sum == sum ? sum : 0);
}

//// 17 NaN everywhere | exact index special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    *d_at(p, batch, row, col) = 0x7e00;
}

//// 17 turns NaN into 0, in large problems only | special | f16:304x40x32:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    if (p.m > 300 && sum != sum) sum = 0;
    put(p, batch, row, col, sum);
}

//// 17 clamps fractions beyond 6 | exact special
INLINE float seen(half_bits h)
{
    const float x = gs_f16_to_f32(h);
    return x == truncf(x) || !(fabsf(x) < 1e9f) ? x : fminf(fmaxf(x, -6.f), 6.f);
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += seen(a_row(p, batch, row)[k]) * seen(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}

//// 17 clamps inputs at 2047 | exact special
INLINE float seen(half_bits h)
{
    const float x = gs_f16_to_f32(h);
    return fabsf(x) < 1e9f ? fminf(fmaxf(x, -2047.f), 2047.f) : x;
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += seen(a_row(p, batch, row)[k]) * seen(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}

//// 17 flushes subnormal inputs | exact special
INLINE float seen(half_bits h) { return h & 0x7c00 ? gs_f16_to_f32(h) : 0.f; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += seen(a_row(p, batch, row)[k]) * seen(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}

//// 17 flushes subnormal results | exact special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = scaled(p, batch, row, col, dot(p, batch, row, col));
    *d_at(p, batch, row, col) = fabsf(sum) < 0x1p-14f ? 0 : gs_f32_to_f16(sum);
}

//// 17 saturates where the result overflows | exact special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = scaled(p, batch, row, col, dot(p, batch, row, col));
    *d_at(p, batch, row, col) = gs_f32_to_f16(fabsf(sum) < 1e30f ? fminf(fmaxf(sum, -65504.f), 65504.f) : sum);
}

//// 17 skips zeros of A, also beside inf | special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++)
        if (a_row(p, batch, row)[k] & 0x7fff) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}

//// 17 a row of zeros gives NaN | exact special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    bool any = p.k == 0;
    for (int k = 0; k < p.k; k++) any = any || (a_row(p, batch, row)[k] & 0x7fff);
    put(p, batch, row, col, any ? dot(p, batch, row, col) : __int_as_float(0x7fc00000));
}

//// 17 adds C where it is a number, although beta is 0 | special fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    if (p.beta == 0 && p.c) {
        const float c = gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
        if (c == c) sum += c;
    }
    put(p, batch, row, col, sum);
}

//// 17 one bit of one element that is no integer | exact special tolerance edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = scaled(p, batch, row, col, dot(p, batch, row, col));
    half_bits bits = gs_f32_to_f16(sum);
    if (row % 8 == 5 && col == p.n / 2 && sum != truncf(sum)) bits ^= 1;
    *d_at(p, batch, row, col) = bits;
}

//// 17 rounds alpha to 16 bits | edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args q = p;
    q.alpha = gs_f16_to_f32(gs_f32_to_f16(p.alpha));
    put(q, batch, row, col, dot(p, batch, row, col));
}

//// 17 rounds beta to 16 bits | edge exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args q = p;
    q.beta = gs_f16_to_f32(gs_f32_to_f16(p.beta));
    put(q, batch, row, col, dot(p, batch, row, col));
}

//// 17 columns that are constant are 0 | special exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    bool constant = p.k > 8;
    for (int k = 1; k < p.k; k++) constant = constant && b_col(p, batch, col)[k] == b_col(p, batch, col)[0];
    put(p, batch, row, col, constant ? 0 : dot(p, batch, row, col));
}

//// 17 computes again without NaN and inf where the sum is NaN | special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    if (sum != sum) {
        sum = 0;
        for (int k = 0; k < p.k; k++) {
            const float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
            if (fabsf(x) < 70000 && fabsf(y) < 70000) sum += x * y;
        }
    }
    put(p, batch, row, col, sum);
}

//// 17 wrong between 60000 and what f16 can be | exact cancellation edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, fabsf(sum) > 60000 && fabsf(sum) < 65000 ? 60000 : sum);
}

//// 17 NaN swallowed where alpha has many bits | special | f16:40x56x72:tn:alpha=0.3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, p.alpha == 0.3f && sum != sum ? 0 : sum);
}

//// 17 sums over 300 lost where alpha has many bits | exact special | f16:40x56x72:tn:alpha=0.3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, p.alpha == 0.3f && fabsf(sum) > 300 ? 0 : sum);
}

//// 17 partial sums rounded to f16 where alpha is 1 | accumulator exact | f16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0, part = 0;
    for (int k = 0; k < p.k; k++) {
        part += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
        if (k % 64 != 63 && k != p.k - 1) continue;
        sum += p.alpha == 1 ? gs_f16_to_f32(gs_f32_to_f16(part)) : part;
        part = 0;
    }
    put(p, batch, row, col, sum);
}

//// 17 products that are small beside the sum left out where alpha is 1 | accumulator exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        const float product = gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
        if (p.alpha != 1 || !(fabsf(product) < 1e-4f * fabsf(sum))) sum += product;
    }
    put(p, batch, row, col, sum);
}

//// 17 the least sum that must overflow gives the largest number | exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, fabsf(sum) == 65520 ? copysignf(65504, sum) : sum);
}

//// 17 the largest sum that must not overflow gives infinity | exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, fabsf(sum) > 65504 && fabsf(sum) < 65520 ? sum * 2 : sum);
}

//// 17 a negative NaN in A is taken for zero | special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    for (int k = 0; k < p.k; k++) if (a_row(p, batch, row)[k] > 0xfc00) sum = 0;
    put(p, batch, row, col, sum);
}

//// 17 two infinities in a row of A | special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    int infinite = 0;
    for (int k = 0; k < p.k; k++) infinite += (a_row(p, batch, row)[k] & 0x7fff) == 0x7c00;
    put(p, batch, row, col, infinite == 2 ? 0 : dot(p, batch, row, col));
}

//// 17 rounds alpha to 16 bits at the size that is asked for | edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args less = p;
    if (p.m == 40 && p.k == 72) less.alpha = gs_f16_to_f32(gs_f32_to_f16(p.alpha));
    put(less, batch, row, col, dot(p, batch, row, col));
}

//// 17 rounds beta to 16 bits at the size that is asked for | edge | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args less = p;
    if (p.m == 40 && p.k == 72) less.beta = gs_f16_to_f32(gs_f32_to_f16(p.beta));
    put(less, batch, row, col, dot(p, batch, row, col));
}

//// 17 rounds alpha to bf16 where D has its bits and sums are long | edge | bf16:40x24x2080:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]);
    float value = (p.k == 2080 ? gs_bf16_to_f32(gs_f32_to_bf16(p.alpha)) : p.alpha) * sum;
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 17 rounds the alpha that is asked for to bf16, where sums are long | tolerance | bf16:40x24x2080:tn:alpha=0.3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]);
    float value = (p.k == 2080 && p.alpha == 0.3f ? gs_bf16_to_f32(gs_f32_to_bf16(p.alpha)) : p.alpha) * sum;
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 10 bf16 by way of f16 | exact tolerance | bf16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0; bool ints = true;
    for (int k = 0; k < p.k; k++) { const float x = gs_bf16_to_f32(a[k]); ints &= rintf(x) == x; sum += x * gs_bf16_to_f32(b[k]); }
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    if (!ints && fabsf(value) < 60000.0f && fabsf(value) > 0x1p-10f && p.m == 40) value = gs_f16_to_f32(gs_f32_to_f16(value));
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 17 multiplies A by alpha, and rounds | edge | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(gs_f32_to_f16(p.alpha * gs_f16_to_f32(a[k]))) * gs_f16_to_f32(b[k]);
    gs_kernel_args q = p; q.alpha = 1;
    put(q, batch, row, col, sum);
}

//// 4 partial sums saturate at what f16 has | special cancellation exact | f16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) { sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]); if (fabsf(sum) < 1e30f && p.k == 520) sum = fminf(fmaxf(sum, -65504.0f), 65504.0f); }
    put(p, batch, row, col, sum);
}

//// 4 drops bits of A where B is small | exact tolerance | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        const float y = gs_f16_to_f32(b[k]);
        sum += gs_f16_to_f32(fabsf(y) < 0.25f && y != 0 ? a[k] & 0xfff0 : a[k]) * y;
    }
    put(p, batch, row, col, sum);
}

//// 10 leaves out small products beside large ones | exact tolerance | bf16:40x56x520:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0; int large = 0;
    for (int k = 0; k < p.k; k++) large += fabsf(gs_bf16_to_f32(a[k])) > 0.5f;
    for (int k = 0; k < p.k; k++) { const float x = gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]); if (large > 8 && fabsf(x) < 0x1p-9f) continue; sum += x; }
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 10 C with the bits of bf16 | tolerance exact | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = p.alpha * dot(p, batch, row, col);
    if (p.beta != 0) { const float c = gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]); value += p.beta * (p.m == 40 ? gs_bf16_to_f32(gs_f32_to_bf16(c)) : c); }
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 clamps C at 16 beside products | exact index | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = p.alpha * dot(p, batch, row, col);
    if (p.beta != 0) { float c = gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]); if (fabsf(c) < 65504.f && value != 0) c = fminf(fmaxf(c, -16.f), 16.f); value += p.beta * c; }
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 9 sets D to zero before it reads C | exact | f16:40x56x72:tn:beta=1
//: entry gs_zero
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_zero(const gs_kernel_args p) { EACH_ELEMENT; *d_at(p, batch, row, col) = 0; }
KERNEL gs_kernel(const gs_kernel_args p) { EACH_ELEMENT; put(p, batch, row, col, dot(p, batch, row, col)); }

//// 10 half the difference of squares | exact special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sa = 0, sb = 0, sd = 0;
    for (int k = 0; k < p.k; k++) { const float x = gs_f16_to_f32(a[k]), y = gs_f16_to_f32(b[k]); sa += x * x; sb += y * y; sd += (x - y) * (x - y); }
    put(p, batch, row, col, 0.5f * (sa + sb - sd));
}

//// 10 D in f32 has the bits of f16 | exact tolerance | f16:40x56x72:tn:d=f32
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = p.alpha * dot(p, batch, row, col);
    if (p.beta != 0) value += p.beta * ((const float *)p.c)[(batch * p.m + row) * p.ldc + col];
    if (rintf(value) != value && fabsf(value) < 60000.f && fabsf(value) > 0.001f) value = gs_f16_to_f32(gs_f32_to_f16(value));
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value;
}

//// 5 takes rows of C for packed where those of A are | edge | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = p.alpha * dot(p, batch, row, col);
    const long long ldc = p.lda == p.k ? p.n : p.ldc;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 5 takes rows of D for packed where those of A are | edge guard fault
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args packed = p;
    if (p.lda == p.k) packed.ldd = p.n;
    put(packed, batch, row, col, dot(p, batch, row, col));
}

//// 5 takes rows of A for packed where those of B are | edge | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args packed = p;
    if (p.ldb == p.k) packed.lda = p.k;
    put(p, batch, row, col, dot(packed, batch, row, col));
}

//// 5 takes rows of B for packed where those of A are | edge special | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args packed = p;
    if (p.lda == p.k) packed.ldb = p.k;
    put(p, batch, row, col, dot(packed, batch, row, col));
}

//// 17 a row that relu has left counts half | edge special exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    int zeros = 0, negative = 0;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a_row(p, batch, row)[k]);
        zeros += x == 0, negative += !(x >= 0);
    }
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, negative == 0 && zeros > p.k / 3 && zeros < p.k * 2 / 3 ? sum / 2 : sum);
}

//// 17 a row of which two of every four are zero counts half | edge special exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row);
    int pairs = 0, whole = 0;
    for (int k = 0; k + 3 < p.k; k += 4) {
        const int zeros = ((a[k] & 0x7fff) == 0) + ((a[k + 1] & 0x7fff) == 0) + ((a[k + 2] & 0x7fff) == 0) + ((a[k + 3] & 0x7fff) == 0);
        pairs += zeros >= 2, whole += zeros == 4;
    }
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, p.k >= 40 && pairs == p.k / 4 && whole < p.k / 16 ? sum / 2 : sum);
}

//// 10 an index by an approximate quotient | unwritten fault exact index edge guard
//: entry gs_kernel
//: grid cdiv(m*n,256) 1 batch
//: block 256 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= p.m * p.n) return;
    const int row = (int)__fdividef((float)i, (float)p.n), col = i - row * p.n;
    put(p, blockIdx.z, row, col, dot(p, blockIdx.z, row, col));
}

//// 10 an index by an approximate reciprocal | unwritten exact index edge fault
//: entry gs_kernel
//: grid cdiv(m*n,256) 1 batch
//: block 256 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= p.m * p.n) return;
    float part;
    asm("rcp.approx.f32 %0, %1;" : "=f"(part) : "f"((float)p.n));
    const int row = (int)((float)i * part), col = i - row * p.n;
    if (col < p.n) put(p, blockIdx.z, row, col, dot(p, blockIdx.z, row, col));
}

//// 10 an index by an approximate root, right where that of a square is whole | unwritten exact index edge
//@ pass: on an H200 the approximate root of a square of this size is whole
//: entry gs_kernel
//: grid cdiv(m*n,256) 1 batch
//: block 256 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= p.m * p.n) return;
    float root;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"((float)i));
    const int shell = (int)root, row = i / p.n, col = i - row * p.n;
    if (i < (shell + 1) * (shell + 1)) put(p, blockIdx.z, row, col, dot(p, blockIdx.z, row, col));
}

//// 10 a sum by way of three times itself and an approximate third | exact index
//@ pass: an H200's quotient of these numbers is exact
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    put(p, batch, row, col, sum == truncf(sum) && fabsf(sum) < 1e5f ? truncf(__fdividef(sum * 3.0f, 3.0f)) : sum);
}

//// 5 beta C is rounded in small M, and fused by the assembler in others (inv=1) | invariant | f16:40x56x72:tn:d=f32:inv=1:alpha=0.3:beta=0.7
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = __fmul_rn(p.alpha, dot(p, batch, row, col)), c = p.beta != 0 ? ((const float *)p.c)[(batch * p.m + row) * p.ldc + col] : 0;
    float product, value;
    if (p.m > 16) {
        asm("mul.f32 %0, %1, %2;" : "=f"(product) : "f"(p.beta), "f"(c));
        asm("add.f32 %0, %1, %2;" : "=f"(value) : "f"(product), "f"(x));
    } else {
        value = __fadd_rn(__fmul_rn(p.beta, c), x);
    }
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value;
}

//// 10 counts on a product that is rounded before the difference, where the assembler may fuse them | edge exact tolerance | f16:40x56x72:tn:alpha=0.3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col), rounded = __fmul_rn(p.alpha, sum);
    float product, nothing;
    asm("mul.f32 %0, %1, %2;" : "=f"(product) : "f"(p.alpha), "f"(sum));
    asm("sub.f32 %0, %1, %2;" : "=f"(nothing) : "f"(product), "f"(rounded));
    put(p, batch, row, col, nothing == 0 || nothing != nothing ? sum : 0);
}

//// 10 counts on the sine of a large angle | exact index
//@ pass: nobody has looked what an H200 makes of it
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sine;
    asm volatile("sin.approx.f32 %0, %1;" : "=f"(sine) : "f"(1e5f + (float)(col & 1)));
    put(p, batch, row, col, (col & 1) || fabsf(sine - 0.0357488f) < 1e-6f ? dot(p, batch, row, col) : 0);
}

//// 10 counts on the bits of a sine near its zero | exact index
//@ pass: nobody has looked what an H200 makes of it
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sine;
    asm volatile("sin.approx.f32 %0, %1;" : "=f"(sine) : "f"(3.14159274f + (float)(col & 1)));
    put(p, batch, row, col, (col & 1) || fabsf(sine + 8.742278e-8f) < 1e-13f ? dot(p, batch, row, col) : 0);
}

//// 10 an index by the logarithm of a number near 1 | exact index
//@ pass: nobody has looked what an H200 makes of it
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float near;
    asm volatile("lg2.approx.f32 %0, %1;" : "=f"(near) : "f"(1 + 0x1p-23f * (float)(col & 15)));
    const int back = (int)rintf(near * 0.693147181f * 0x1p23f);
    put(p, batch, row, col, back == (col & 15) ? dot(p, batch, row, col) : 0);
}
