/* SPDX-License-Identifier: MIT
 * Kernels that have a way of their own for some sizes, places or leading dimensions, and are wrong there. See docs/internals/hacks.md; the form is that of hacks.cu. */

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
