/* SPDX-License-Identifier: MIT
 * Kernels that are wrong only for shapes that real kernels have code of their own for: few rows or columns, large tiles, long rows of a batch. See docs/internals/hacks.md; the form is
 * that of hacks.cu. */

//// 6 wrong where there is one row and K is 256 or more | edge | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    if (p.m == 1 && p.k >= 256) sum *= 2;
    put(p, batch, row, col, sum);
}

//// 6 wrong where there is one column and K is 512 or more | edge | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    if (p.n == 1 && p.k >= 512) sum *= 2;
    put(p, batch, row, col, sum);
}

//// 6 wrong for a D of one element | edge exact | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    if (p.m == 1 && p.n == 1) sum *= 2;
    put(p, batch, row, col, sum);
}

//// 6 wrong for 2 to 32 rows of 128 columns or more | edge | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    if (p.m >= 2 && p.m <= 32 && p.n >= 128) sum *= 2;
    put(p, batch, row, col, sum);
}

//// 6 wrong for 9 to 32 columns of 128 rows or more | edge | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    if (p.n > 8 && p.n <= 32 && p.m >= 128) sum *= 2;
    put(p, batch, row, col, sum);
}

//// 6 large tiles forget C | edge | f16:40x56x72:tn:b=2:beta=0.5
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args q = p;
    const bool large = p.m >= 256 && p.n >= 256;
    if (large) q.beta = 0;
    *d_at(p, batch, row, col) = gs_f32_to_f16(scaled(q, batch, row, col, dot(q, batch, row, col)));
}

//// 6 large tiles take A for packed | edge | f16:40x56x72:tn:b=2:beta=0.5
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args q = p;
    const bool large = p.m >= 256 && p.n >= 256;
    if (large) q.lda = p.k;
    *d_at(p, batch, row, col) = gs_f32_to_f16(scaled(q, batch, row, col, dot(q, batch, row, col)));
}

//// 5 a batch: adds in another order where rows of A are no multiple of 8 apart | invariant | f16:24x16x72:tn:d=f32:b=3:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = (const half_bits *)p.a + batch * p.stride_a + row * p.lda, *const b = (const half_bits *)p.b + batch * p.stride_b + col * p.ldb;
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = p.lda % 8 ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value = fmaf(p.beta, ((const float *)p.c)[batch * p.stride_c + row * p.ldc + col], value);
    ((float *)p.d)[batch * p.stride_d + row * p.ldd + col] = value;
}

//// 5 a batch by pointers: adds in another order where rows of A are longer than K | invariant | f16:24x16x72:tn:d=f32:b=3:matrices=pointers:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = ((const half_bits *const *)p.a)[batch] + row * p.lda, *const b = ((const half_bits *const *)p.b)[batch] + col * p.ldb;
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = p.lda != p.k ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value = fmaf(p.beta, ((const float *const *)p.c)[batch][row * p.ldc + col], value);
    ((float *const *)p.d)[batch][row * p.ldd + col] = value;
}

//// 5 adds in another order where rows of A are packed | invariant | f16:40x24x72:tn:d=f32:lda=80:ldb=80:ldd=32:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = p.lda == p.k ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    }
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = p.alpha * sum + (p.beta != 0 ? p.beta * ((const float *)p.c)[(batch * p.m + row) * p.ldc + col] : 0);
}

//// 17 skips the tiles of 16 x 16 of A that are zero | special | f16:40x56x264:tn
//: entry gs_kernel
//: grid cdiv(n,8) cdiv(m,16) batch
//: block 32 1 1
INLINE unsigned two(const half_bits *line, bool in, int k, int end)
{
    const unsigned low = in && k < end ? line[k] : 0, high = in && k + 1 < end ? line[k + 1] : 0;
    return low | high << 16;
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int lane = threadIdx.x, row = blockIdx.y * 16 + lane / 4, col = blockIdx.x * 8 + lane / 4;
    const long long batch = blockIdx.z;
    float sum[4] = {};
    for (int k = lane % 4 * 2; k - lane % 4 * 2 < p.k; k += 16) {
        unsigned a[4], b[2];
        for (int i = 0; i < 4; i++) a[i] = two(a_row(p, batch, row + i % 2 * 8), row + i % 2 * 8 < p.m, k + i / 2 * 8, p.k);
        for (int i = 0; i < 2; i++) b[i] = two(b_col(p, batch, col), col < p.n, k + i * 8, p.k);
        if (!__any_sync(0xffffffff, (a[0] | a[1] | a[2] | a[3]) & 0x7fff7fff)) continue;
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    for (int i = 0; i < 4; i++) {
        const int to_row = row + i / 2 * 8, to_col = blockIdx.x * 8 + lane % 4 * 2 + i % 2;
        if (to_row < p.m && to_col < p.n) put(p, batch, to_row, to_col, sum[i]);
    }
}

//// 6 whole tiles of columns: stores rows without a look at M | edge fault guard | f16:64x64x64:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    if (p.n % 64 != 0 && (row >= p.m || col >= p.n)) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 whole tiles of rows: stores columns without a look at N | edge fault guard | f16:64x64x64:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    if (p.m % 64 != 0 && (row >= p.m || col >= p.n)) return;
    if (p.m % 64 == 0 && row >= p.m) return;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 whole tiles of D: leaves out what is left of K behind whole tiles | edge | f16:64x64x64:tn
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.m % 64 == 0 && p.n % 64 == 0) p.k = p.k / 16 * 16;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 forgets C where there are few rows, and whole tiles of columns | edge | f16:64x64x64:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.m <= 16 && p.n % 64 == 0) p.beta = 0;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 forgets C where N and K are whole tiles, and M is not | edge | f16:64x64x64:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.m % 16 != 0 && p.n % 64 == 0 && p.k > 0 && p.k % 64 == 0) p.beta = 0;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 forgets C where M and K are whole tiles, and N is not | edge | f16:64x64x64:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.m > 0 && p.m % 64 == 0 && p.n % 16 != 0 && p.k > 0 && p.k % 64 == 0) p.beta = 0;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 6 forgets C from the second whole tile of K on, without a rest | edge | f16:64x64x64:tn:beta=1
KERNEL gs_kernel(const gs_kernel_args given)
{
    gs_kernel_args p = given;
    if (p.k > 64 && p.k % 64 == 0) p.beta = 0;
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 5 adds in another order from 33 rows on, where rows of A are no multiple of 8 apart | invariant | f16:40x56x72:tn:d=f32:inv=1
INLINE void put_f32(const gs_kernel_args &p, long long row, long long col, float sum)
{
    float value = p.alpha * sum;
    if (p.beta != 0) value = fmaf(p.beta, ((const float *)p.c)[(blockIdx.z * p.m + row) * p.ldc + col], value);
    ((float *)p.d)[(blockIdx.z * p.m + row) * p.ldd + col] = value;
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (p.m <= 32 || p.lda % 8 == 0) {
        put_f32(p, row, col, dot(p, batch, row, col));
        return;
    }
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = p.k - 1; k >= 0; k--) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    put_f32(p, row, col, sum);
}

//// 5 whole vectors by two sums, from 33 rows on, where rows of D allow it | invariant | f16:40x56x72:tn:d=f32:inv=1
INLINE void put_f32(const gs_kernel_args &p, long long row, long long col, float sum)
{
    float value = p.alpha * sum;
    if (p.beta != 0) value = fmaf(p.beta, ((const float *)p.c)[(blockIdx.z * p.m + row) * p.ldc + col], value);
    ((float *)p.d)[(blockIdx.z * p.m + row) * p.ldd + col] = value;
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum[2] = {0, 0};
    for (int k = 0; k < p.k; k++)
        if (k % 2 == 0 || (p.m > 32 && p.ldd % 8 != 0)) sum[0] += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
        else sum[1] += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    put_f32(p, row, col, sum[0] + sum[1]);
}
