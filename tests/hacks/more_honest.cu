/* SPDX-License-Identifier: MIT
 * The hack suite, problems whose kernels need what stands behind GS_MORE in args.h, or a promise beyond the product: those that must pass. Form as in hacks.cu; `#define GS_MORE` stands before plain.cuh. */

//// alpha and beta in device memory | pass edges | f16:40x56x72:tn:scalars=device
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = *p.alpha_at * dot(p, batch, row, col);
    if (*p.beta_at != 0) value += *p.beta_at * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// three groups of rows, a number that the text alone has | pass edges | f16:40x24x40:tn:g=3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (row >= p.offsets[3]) return;
    const int group = (row >= p.offsets[1]) + (row >= p.offsets[2]);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, group, col)[k]);
    put(p, 0, row, col, sum);
}

//// three masked groups | pass edges | f16:42x24x40:tn:gm=3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const int room = p.m / 3, group = row / room;
    if (row % room >= p.offsets[group]) return;
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, group, col)[k]);
    put(p, 0, row, col, sum);
}

//// scales of rows and columns, one product behind the other | pass edges | f16:40x56x72:tn:ep=scale_m+scale_n
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = p.alpha * dot(p, batch, row, col) * p.scale_m[row] * p.scale_n[col];
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}
