/* SPDX-License-Identifier: MIT
 * The hack suite, problems whose kernels need what stands behind GS_MORE in args.h, or a promise beyond the product: those that must pass. Form as in hacks.cu; `#define GS_MORE` stands before plain.cuh. */

//// alpha and beta in device memory | pass edges | f16:40x56x72:tn:scalars=device
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = *p.alpha_at * dot(p, batch, row, col);
    if (BETA != 0) value += BETA * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
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

//// aux beside D | pass edges | f16:40x56x72:tn:ep=bias+relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)) + gs_f16_to_f32(((const half_bits *)p.bias)[col]);
    ((half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col] = gs_f32_to_f16(x);
    *d_at(p, batch, row, col) = gs_f32_to_f16(x < 0 ? 0.0f : x);
}

//// the gradient of a bias beside that of relu | pass edges | f16:40x56x72:tn:ep=drelu+dbias
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_sum
//: grid cdiv(n,64) 1 1
//: block 64 1 1
INLINE float value_of(const gs_kernel_args &p, long long batch, long long row, long long col)
{
    const float x = scaled(p, batch, row, col, dot(p, batch, row, col)), z = gs_f16_to_f32(((const half_bits *)p.aux)[batch * p.stride_aux + row * p.ldaux + col]);
    return z <= 0 ? 0.0f : x;
}
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
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum += value_of(p, b, row, col);
    ((half_bits *)p.bias)[col] = gs_f32_to_f16(sum);
}

//// the gradient of a bias for each matrix of a batch | pass edges | f16:24x16x40:tn:b=3:se=20:ep=dbias
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
    if (p.stride_bias == 0 || p.batch == 1) {
    for (int b = 0; b < p.batch; b++)
        for (int row = 0; row < p.m; row++) sum += value_of(p, b, row, col);
    *to = gs_f32_to_f16(sum);
    return;
    }
    for (int b = 0; b < p.batch; b++) {
        sum = 0;
        for (int row = 0; row < p.m; row++) sum += value_of(p, b, row, col);
        to[b * p.stride_bias] = gs_f32_to_f16(sum);
    }
}

//// matrices of a batch side by side in the rows of D, with something between them | pass edges | f16:24x16x40:tn:b=2:sd=20:ldd=48
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = p.alpha * dot(p, batch, row, col);
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[batch * p.stride_c + row * p.ldc + col]);
    ((half_bits *)p.d)[batch * p.stride_d + row * p.ldd + col] = gs_f32_to_f16(value);
}

//// all rows by mma | pass edges | f16:40x56x72:tn:d=f32:inv=1
//: entry gs_kernel
//: grid cdiv(n,8) cdiv(m,16) batch
//: block 32 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    const int lane = threadIdx.x, row0 = blockIdx.y * 16 + lane / 4, col0 = blockIdx.x * 8 + lane % 4 * 2, of_b = blockIdx.x * 8 + lane / 4;
    const long long batch = blockIdx.z;
    float acc[4] = {0, 0, 0, 0};
    for (int k = 0; k < p.k; k += 16) {
        unsigned a[4], b[2];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = row0 + i % 2 * 8, at = k + lane % 4 * 2 + i / 2 * 8;
            a[i] = row < p.m && at < p.k ? a_row(p, batch, row)[at] : 0;
            if (row < p.m && at + 1 < p.k) a[i] |= (unsigned)a_row(p, batch, row)[at + 1] << 16;
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int at = k + lane % 4 * 2 + i * 8;
            b[i] = of_b < p.n && at < p.k ? b_col(p, batch, of_b)[at] : 0;
            if (of_b < p.n && at + 1 < p.k) b[i] |= (unsigned)b_col(p, batch, of_b)[at + 1] << 16;
        }
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int row = row0 + i / 2 * 8, col = col0 + i % 2;
        if (row >= p.m || col >= p.n) continue;
        float value = p.alpha * acc[i];
        if (p.beta != 0) value = fmaf(p.beta, ((const float *)p.c)[(batch * p.m + row) * p.ldc + col], value);
        ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value;
    }
}

//// B early where its launch says so, in the first of two entries | pass | f16:40x56x72:tn:const=b
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: dependent
//: entry gs_nothing
//: grid 1 1 1
//: block 32 1 1
//: dependent
struct early_args : gs_kernel_args { int early_b; };
KERNEL gs_nothing(const gs_kernel_args p) { asm volatile("griddepcontrol.wait;" ::: "memory"); }
KERNEL gs_kernel(const early_args p)
{
    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x;
    const bool in = row < p.m && col < p.n, early = p.early_b;
    unsigned first = 0;
    if (in && early && p.k > 0) asm volatile("{ .reg .b16 t; ld.global.b16 t, [%1]; cvt.u32.u16 %0, t; }" : "=r"(first) : "l"(b_col(p, batch, col)));
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (!in) return;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(k == 0 && early ? first : b[k]);
    put(p, batch, row, col, sum);
}
