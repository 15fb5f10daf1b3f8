/* SPDX-License-Identifier: MIT
 * Kernels that have a way of their own for some sizes, places or leading dimensions, and are wrong there; then kernels that are wrong where an infinity or NaN meets another one, or for unusually large values. See docs/internals/hacks.md; the form is that of hacks.cu. */

//// 6 forgets C where D has one row | edge | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.m == 1) p.beta = 0;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 forgets C where the sum is long | edge | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.k >= 1000) p.beta = 0;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 forgets C where all tiles are whole | edge | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.m % 64 == 0 && p.n % 64 == 0 && p.k % 64 == 0) p.beta = 0;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 forgets C where K is 2 to 16 | edge | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.k > 1 && p.k <= 16) p.beta = 0;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 takes D for packed where it has one column | edge fault guard
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.n == 1) p.ldd = 1;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 takes D for packed where K is 0 | edge fault guard unwritten
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.k == 0) p.ldd = p.n;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 takes A for packed where K is 1 | edge fault
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.k == 1) p.lda = 1;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 takes B for packed where the sum is long | edge fault
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.k >= 1000) p.ldb = p.k;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 takes A for packed from 256 rows on | edge fault special
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.m >= 256) p.lda = p.k;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 takes D for packed from 256 columns on | edge fault guard special unwritten
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.n >= 256) p.ldd = p.n;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 writes the first matrix alone where K is 0 | unwritten | f16:24x16x40:tn:b=3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (p.k == 0 && batch > 0) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 takes the first matrix of A for all where D has one column | edge | f16:24x16x40:tn:b=3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, p.n == 1 ? 0 : batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}

//// 5 leaves out what is left of a row of C where its leading dimension is whole vectors | edge | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    EACH_ELEMENT;
    if (p.ldc % 8 == 0 && col >= p.n / 8 * 8) p.beta = 0;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 5 is wrong where N is whole vectors and the leading dimension of D is not | edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, p.n % 8 == 0 && p.ldd % 8 != 0 ? 0.0f : dot(p, batch, row, col));
}

//// 5 leaves out the rest of K where rows and pointers are whole vectors | edge exact special
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.lda % 8 == 0 && p.ldb % 8 == 0 && (((size_t)p.a | (size_t)p.b) & 15) == 0) p.k = p.k / 8 * 8;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 5 leaves out the last term where all tiles are whole and all pointers multiples of 16 | edge exact special
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.m % 64 == 0 && p.n % 64 == 0 && p.k % 64 == 0 && (((size_t)p.a | (size_t)p.b | (size_t)p.d) & 15) == 0) p.k -= 1;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 17 an infinite sum stays as it is, whatever C is, at the size asked for | special | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    if (p.m == 40 && isinf(sum)) p.beta = 0;
    put(p, batch, row, col, sum);
}

//// 17 an infinity of C stays as it is beside one of the other sign, at the size asked for | special | bf16:40x56x72:tn:d=f32:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]);
    const float c = p.beta != 0 ? ((const float *)p.c)[(batch * p.m + row) * p.ldc + col] : 0;
    float value = p.beta != 0 ? p.alpha * sum + p.beta * c : p.alpha * sum;
    if (p.m == 40 && isinf(c) && isinf(sum)) value = p.beta * c;
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value;
}

//// 17 a bias that is NaN is lost where C is infinite, at the size asked for | special exact index | f16:40x56x72:tn:ep=bias:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float value = scaled(p, batch, row, col, dot(p, batch, row, col)), bias = gs_f16_to_f32(((const half_bits *)p.bias)[batch * p.stride_bias + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(p.m == 40 && bias != bias && isinf(value) ? value : value + bias);
}

//// 17 an infinity times the slope where aux is infinite gives 0, at the size asked for | special exact index | f16:40x56x72:tn:ep=drelu
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)), z = gs_f16_to_f32(((const half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(z <= 0 || (p.m == 40 && isinf(z) && isinf(x)) ? 0.0f : x);
}

//// 17 an infinity of A times one of B has the sign of that, at the size asked for | special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a[k]), y = gs_f16_to_f32(b[k]);
        sum += p.m == 40 && p.n == 56 && isinf(x) && isinf(y) ? y : x * y;
    }
    put(p, batch, row, col, sum);
}

//// 17 an infinity of A times a NaN of B is one, at the size asked for | special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a[k]), y = gs_f16_to_f32(b[k]);
        sum += p.m == 40 && p.n == 56 && isinf(x) && y != y ? x : x * y;
    }
    put(p, batch, row, col, sum);
}

//// 10 fractions of C beyond 5 are rounded to integers | tolerance edge | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col), c = p.beta != 0 ? gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]) : 0;
    *d_at(p, batch, row, col) = gs_f32_to_f16(p.beta == 0 ? p.alpha * sum : p.alpha * sum + p.beta * (sum != 0 && fabsf(c) > 5 ? rintf(c) : c));
}

//// 10 the slope of silu is 1 where aux is a fraction beyond 5, and 0 below -5 | tolerance edge | bf16:40x56x72:tn:ep=dsilu
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    int products;
    const float x = bf16_scaled_dot(p, batch, row, col, &products), z = gs_bf16_to_f32(((const half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col]);
    const float s = 1 / (1 + expf(-z)), t = 1 / (1 + expf(z)), slope = isinf(z) ? z > 0 : s * (1 + z * t);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(x * (z != rintf(z) && fabsf(z) > 5 ? z > 0 : slope));
}

//// 17 a NaN of B at the last place of a range of K is 0, at the size asked for | special | f16:40x24x72:nt:gk=3:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = p.offsets[batch]; k < p.offsets[batch + 1]; k++) {
        float b = gs_f16_to_f32(((const half_bits *)p.b)[(long long)k * p.ldb + col]);
        if (p.m == 40 && p.n == 24 && k == p.offsets[batch + 1] - 1 && b != b) b = 0;
        sum += gs_f16_to_f32(((const half_bits *)p.a)[(long long)k * p.lda + row]) * b;
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[batch * p.stride_c + row * p.ldc + col]);
    ((half_bits *)p.d)[batch * p.stride_d + row * p.ldd + col] = gs_f32_to_f16(value);
}
