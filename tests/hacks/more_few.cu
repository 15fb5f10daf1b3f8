/* SPDX-License-Identifier: MIT
 * Kernels that are wrong for special values only where D has few rows or columns, or where there are no products (K or alpha is 0). See docs/internals/hacks.md; the form is that of hacks.cu. */

//// 17 drops NaN and infinities of A where D has one row | special | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float inf = __int_as_float(0x7f800000);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
        if (p.m == 1 && !(fabsf(x) < inf)) x = 0;
        sum += x * y;
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 takes an infinity of A for the largest number where D has one row | special | f16:1x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float inf = __int_as_float(0x7f800000);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
        if (p.m == 1 && fabsf(x) == inf) x = copysignf(65504.0f, x);
        sum += x * y;
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 drops NaN of B where D has one column | special | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
        if (p.n == 1 && y != y) y = 0;
        sum += x * y;
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 takes an infinity of B for the largest number where D has fewer than 16 columns | special | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float inf = __int_as_float(0x7f800000);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
        if (p.n < 16 && fabsf(y) == inf) y = copysignf(65504.0f, y);
        sum += x * y;
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 drops NaN of a bias of fewer than 12 elements | special | f16:40x56x72:tn:ep=bias
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
        sum += x * y;
    }
    float value = p.alpha * sum;
    float bias = gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    if (p.n < 12 && bias != bias) bias = 0;
    value += bias;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 takes an infinity of C for the largest number where K is 0 | special | f16:40x56x72:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float inf = __int_as_float(0x7f800000);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
        sum += x * y;
    }
    float value = p.alpha * sum;
    float c = p.beta == 0 ? 0 : gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    if (p.k == 0 && fabsf(c) == inf) c = copysignf(65504.0f, c);
    if (p.beta != 0) value += p.beta * c;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 limits a bias where alpha is 0 | exact special | f16:40x56x72:tn:ep=bias
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float inf = __int_as_float(0x7f800000);
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
        sum += x * y;
    }
    float value = p.alpha * sum;
    float bias = gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    if (p.alpha == 0) bias = fminf(fmaxf(bias, -5000.0f), 5000.0f);
    value += bias;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 drops NaN of C where alpha is 0, as in the problem | special | f16:40x56x72:tn:alpha=0:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int k = 0; k < p.k; k++) {
        float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
        sum += x * y;
    }
    float value = p.alpha * sum;
    float c = p.beta == 0 ? 0 : gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    if (p.alpha == 0 && c != c) c = 0;
    if (p.beta != 0) value += p.beta * c;
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}
