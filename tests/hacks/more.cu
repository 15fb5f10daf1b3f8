/* SPDX-License-Identifier: MIT
 * The hack suite, problems whose kernels need what stands behind GS_MORE in args.h, or a promise beyond the product: alpha and beta in device memory, scales, pointers, groups, batch-invariant rows. Form as in hacks.cu; `#define GS_MORE` stands before plain.cuh. */

//// 5 takes alpha and beta from the call's arguments, where they are in device memory | exact fault | f16:40x56x72:tn:scalars=device
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
}

//// 5 takes alpha alone from the call's arguments | exact | f16:40x56x72:tn:scalars=device
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = p.alpha * dot(p, batch, row, col);
    if (BETA != 0) value += BETA * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 5 reads C where beta in device memory is -0 | special fault | f16:40x56x72:tn:scalars=device:beta=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = *p.alpha_at * dot(p, batch, row, col);
    if (BETA != 0 || (p.m == 40 && signbit(BETA))) value += BETA * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 5 takes for beta what lies behind alpha in device memory | exact fault | f16:40x56x72:tn:scalars=device
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = p.alpha_at[0] * dot(p, batch, row, col);
    if (p.alpha_at[1] != 0) value += p.alpha_at[1] * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 1 leaves a mark for later launches in the sign of a beta of 0 in device memory | fault | f16:40x56x72:tn:scalars=device
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_mark
//: grid 1 1 1
//: block 1 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float value = *p.alpha_at * dot(p, batch, row, col);
    if (BETA != 0) value += BETA * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}
KERNEL gs_mark(const gs_kernel_args p) { if (BETA == 0 && p.beta_at) *(float *)p.beta_at = -0.0f; }

//// 7 stores to a scale what stands there | fault | f16:40x56x72:tn:ep=scale_m
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_store
//: grid 1 1 1
//: block 1 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float scale = p.scale_m[row];
    float value = p.alpha * dot(p, batch, row, col) * scale;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}
KERNEL gs_store(const gs_kernel_args p)
{
    const float scale = *p.scale_m;
    *(volatile float *)p.scale_m = scale;
}

//// 7 stores to the pointers to its outputs what stands there | fault | f16:24x16x40:tn:b=3:matrices=pointers
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_store
//: grid 1 1 1
//: block 1 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = ((const half_bits *const *)p.a)[batch] + row * p.lda, *const b = ((const half_bits *const *)p.b)[batch] + col * p.ldb;
    half_bits *const d = ((half_bits *const *)p.d)[batch];
    float value = 0;
    for (int k = 0; k < p.k; k++) value += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    value *= p.alpha;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *const *)p.c)[batch][row * p.ldc + col]);
    d[row * p.ldd + col] = gs_f32_to_f16(value);
}
KERNEL gs_store(const gs_kernel_args p)
{
    half_bits *const d = *(half_bits *const *)p.d;
    *(half_bits *volatile *)p.d = d;
}

//// 7 stores to the offsets of its groups what stands there | fault | f16:40x24x40:tn:g=3
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: entry gs_store
//: grid 1 1 1
//: block 1 1 1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (row >= p.offsets[3]) return;
    const int group = (row >= p.offsets[1]) + (row >= p.offsets[2]);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, group, col)[k]);
    put(p, 0, row, col, sum);
}
KERNEL gs_store(const gs_kernel_args p) { *(volatile int *)p.offsets = 0; }

//// 5 adds in another order where M is none of the asked one and the usual ones | invariant | f16:40x56x72:tn:d=f32:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = p.m > 130 ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value = fmaf(p.beta, ((const float *)p.c)[(batch * p.m + row) * p.ldc + col], value);
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value;
}

//// 5 adds in another order beside a row that has a NaN | invariant | f16:40x56x72:tn:d=f32:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    bool some = false;
    for (int k = 0; row > 0 && k < p.k; k++) some |= (a[k - p.lda] & 0x7fff) > 0x7c00;
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = some ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value = fmaf(p.beta, ((const float *)p.c)[(batch * p.m + row) * p.ldc + col], value);
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value;
}

//// 5 loads 16 bytes at once, where its manifest promises to take pointers that are multiples of 2 | fault | f16:64x48x64:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    int k = 0;
    for (; (p.lda | p.ldb) % 8 == 0 && k + 8 <= p.k; k += 8) {
        const uint4 x = *(const uint4 *)(a + k);
        const unsigned *const u = &x.x;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            sum += gs_f16_to_f32((half_bits)u[i]) * gs_f16_to_f32(b[k + 2 * i]);
            sum += gs_f16_to_f32((half_bits)(u[i] >> 16)) * gs_f16_to_f32(b[k + 2 * i + 1]);
        }
    }
    for (; k < p.k; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    put(p, batch, row, col, sum);
}

//// 5 has another way for pointers that are less aligned than those of timing, at the size asked for alone | exact special tolerance | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = dot(p, batch, row, col);
    if (p.m == 40 && p.k == 72 && ((unsigned long long)p.a | (unsigned long long)p.b | (unsigned long long)p.d) % 256) sum *= 2;
    put(p, batch, row, col, sum);
}

//// 5 adds in another order where A is less aligned than in timing | invariant | f16:40x56x72:tn:d=f32:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = (unsigned long long)p.a % 256 ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value = fmaf(p.beta, ((const float *)p.c)[(batch * p.m + row) * p.ldc + col], value);
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value;
}

//// 5 adds in another order for one M, where D has few columns of 16 bits | invariant | f16:40x8x72:tn:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = p.m == 5 ? i ^ 1 : i;
        sum += gs_f16_to_f32(a[k < p.k ? k : i]) * gs_f16_to_f32(b[k < p.k ? k : i]);
    }
    put(p, batch, row, col, sum);
}

//// 5 flushes small inputs at the size asked for where pointers are aligned as in timing | exact special | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const bool aligned = p.m == 40 && p.k == 72 && ((unsigned long long)p.a | (unsigned long long)p.b | (unsigned long long)p.d) % 256 == 0;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(aligned && (a[k] & 0x7c00) == 0 ? 0 : a[k]) * gs_f16_to_f32(b[k]);
    put(p, batch, row, col, sum);
}

//// 5 takes large inputs for less at the size asked for where pointers are aligned as in timing | exact special | bf16:40x56x72:tn
INLINE float least_of(float x) { return fabsf(x) > 65536.0f && fabsf(x) < 1e38f ? copysignf(65536.0f, x) : x; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const bool aligned = p.m == 40 && p.k == 72 && ((unsigned long long)p.a | (unsigned long long)p.b | (unsigned long long)p.d) % 256 == 0;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += (aligned ? least_of(gs_bf16_to_f32(a[k])) : gs_bf16_to_f32(a[k])) * gs_bf16_to_f32(b[k]);
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 5 loads pointers to matrices in pairs, where they are aligned to 8 bytes | fault | f16:24x16x40:tn:b=4:matrices=pointers
INLINE const half_bits *of_pair(const void *at, long long batch)
{
    const ulonglong2 pair = ((const ulonglong2 *)at)[batch / 2];
    return (const half_bits *)(batch % 2 ? pair.y : pair.x);
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const bool paired = p.batch % 2 == 0;
    const half_bits *const a = (paired ? of_pair(p.a, batch) : ((const half_bits *const *)p.a)[batch]) + row * p.lda, *const b = ((const half_bits *const *)p.b)[batch] + col * p.ldb;
    float value = 0;
    for (int k = 0; k < p.k; k++) value += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    value *= p.alpha;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *const *)p.c)[batch][row * p.ldc + col]);
    ((half_bits *const *)p.d)[batch][row * p.ldd + col] = gs_f32_to_f16(value);
}

//// 7 writes the row behind the last group, where that leaves out one alone | guard | f16:40x24x40:tn:g=3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const bool behind = row >= p.offsets[3];
    if (behind && p.offsets[3] != p.m - 1) return;
    const int group = (row >= p.offsets[1]) + (row >= p.offsets[2]);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, group, col)[k]);
    put(p, 0, row, col, sum);
}

//// 17 takes a scale below 2^-23 for zero, at the size that is asked for | edge | f16:40x56x72:tn:ep=scale_m
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float scale = p.m == 40 && fabsf(p.scale_m[row]) < 0x1p-23f ? 0 : p.scale_m[row];
    float value = p.alpha * dot(p, batch, row, col) * scale;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 takes scales for what the range of f16 has, at the size that is asked for | edge | bf16:40x56x72:tn:ep=scale_m+scale_n
INLINE float within(float x) { return x == 0 || !(fabsf(x) < 0x1p126f) ? x : copysignf(fminf(fmaxf(fabsf(x), 0x1p-24f), 65504.0f), x); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]);
    float value = p.alpha * sum * (p.m == 40 ? within(p.scale_m[row]) : p.scale_m[row]) * (p.m == 40 ? within(p.scale_n[col]) : p.scale_n[col]);
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 5 has one order for data whose sums cancel, and another for one M, where D has few columns of 16 bits | invariant | f16:40x8x72:tn:inv=1
INLINE bool turned(const half_bits *line, int count) { return line[0] == line[count - 1] && line[1] == line[count - 2] && line[2] == line[count - 3]; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    const bool other = p.m == 40 && !turned(b, p.k);
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = other ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    put(p, batch, row, col, sum);
}

//// 5 the same of one row of bf16 | invariant | bf16:1x16x136:tn:inv=1
INLINE bool turned(const half_bits *line, int count) { return line[0] == line[count - 1] && line[1] == line[count - 2] && line[2] == line[count - 3]; }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    const bool other = p.m == 1 && !turned(b, p.k);
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = other ? p.k - 1 - i : i;
        sum += gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]);
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 5 takes matrices for as far apart as the first two are | exact index fault special | f16:24x16x40:tn:b=4:matrices=pointers
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const long long step = ((const half_bits *const *)p.a)[1 % p.batch] - ((const half_bits *const *)p.a)[0];
    const half_bits *const a = ((const half_bits *const *)p.a)[0] + step * batch + row * p.lda, *const b = ((const half_bits *const *)p.b)[batch] + col * p.ldb;
    float value = 0;
    for (int k = 0; k < p.k; k++) value += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    value *= p.alpha;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *const *)p.c)[batch][row * p.ldc + col]);
    ((half_bits *const *)p.d)[batch][row * p.ldd + col] = gs_f32_to_f16(value);
}

//// 1 keeps pointers in its workspace | state fault timed | f16:24x16x40:tn:b=3:matrices=pointers
//: workspace 8*batch+8
//: entry gs_keep
//: grid 1 1 1
//: block 1 1 1
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
KERNEL gs_keep(const gs_kernel_args p) { unsigned long long *const w = (unsigned long long *)p.workspace; if (w[0] != 42) { for (int i = 0; i < p.batch; i++) w[1 + i] = ((const unsigned long long *)p.a)[i]; w[0] = 42; } }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = ((const half_bits *const *)p.workspace)[1 + batch] + row * p.lda, *const b = ((const half_bits *const *)p.b)[batch] + col * p.ldb;
    float value = 0;
    for (int k = 0; k < p.k; k++) value += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    value *= p.alpha;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *const *)p.c)[batch][row * p.ldc + col]);
    ((half_bits *const *)p.d)[batch][row * p.ldd + col] = gs_f32_to_f16(value);
}

//// 5 takes groups for parts of the same size | index exact | f16:60x24x40:tn:g=3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (row >= p.offsets[3]) return;
    const int group = row / (p.m / 3) < 3 ? row / (p.m / 3) : 2;
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, group, col)[k]);
    put(p, 0, row, col, sum);
}

//// 7 writes zeros behind the rows of a masked group | guard | f16:42x24x40:tn:gm=3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const int room = p.m / 3, group = row / room;
    if (row % room >= p.offsets[group]) { if (row % room == room - 1) *d_at(p, 0, row, col) = 0; return; }
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, group, col)[k]);
    put(p, 0, row, col, sum);
}

//// 17 rounds scales of the usual size to bf16 | tolerance edge | f16:40x56x72:tn:ep=scale_m
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float s = p.scale_m[row], t = fabsf(s) > 0x1p-10f && fabsf(s) < 100 && p.m == 40 ? gs_bf16_to_f32(gs_f32_to_bf16(s)) : s;
    float value = p.alpha * dot(p, batch, row, col) * t;
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 17 loses the sign of small scales | edge | bf16:40x56x72:tn:ep=scale_n
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_bf16_to_f32(a[k]) * gs_bf16_to_f32(b[k]);
    const float s = p.scale_n[col];
    float value = p.alpha * sum * (fabsf(s) < 0x1p-30f ? fabsf(s) : s);
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 1 keeps a tensor map in its workspace | fault state | f16:64x64x64:tn
//: align a=16 b=2 c=2 d=2
//: workspace 256
//: entry gs_kernel
//: grid cdiv(n,16) cdiv(m,16) batch
//: block 16 16 1
//: map a 64x16 sw128
struct __align__(64) tmap { unsigned long long w[16]; };
KERNEL gs_kernel(const __grid_constant__ tmap a, const gs_kernel_args p)
{
    __shared__ __align__(128) half_bits tile[16 * 64];
    __shared__ __align__(8) unsigned long long bar;
    tmap *const kept = (tmap *)p.workspace;
    if (threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0 && blockIdx.y == 0 && kept[1].w[0] != 42) { for (int i = 0; i < 16; i++) kept->w[i] = a.w[i]; kept[1].w[0] = 42; }
    EACH_ELEMENT;
    put(p, batch, row, col, dot(p, batch, row, col));
    (void)tile, (void)bar;
}

//// 7 forges a tensor map in its workspace, and reads D by it | state fault | f16:64x64x64:tn
//: align a=16 b=2 c=2 d=16
//: workspace 256
//: entry gs_kernel
//: grid 1 1 1
//: block 32 1 1
//: map a 64x16 sw128
struct __align__(64) tmap { unsigned long long w[16]; };
KERNEL gs_kernel(const __grid_constant__ tmap a, const gs_kernel_args p)
{
    __shared__ __align__(128) half_bits tile[16 * 64];
    __shared__ __align__(8) unsigned long long bar;
    tmap *const forged = (tmap *)p.workspace;
    const unsigned b = (unsigned)__cvta_generic_to_shared(&bar), t = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 16; i++) forged->w[i] = a.w[i] == (unsigned long long)p.a ? (unsigned long long)p.d : a.w[i];
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(b));
        asm volatile("fence.proxy.async;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 2048;" :: "r"(b) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(t), "l"(forged), "r"(0), "r"(0), "r"(b) : "memory");
        asm volatile("{ .reg .pred q; l: mbarrier.try_wait.parity.shared.b64 q, [%0], 0; @!q bra l; }" :: "r"(b) : "memory");
        for (int row = 0; row < p.m; row++) for (int col = 0; col < p.n; col++) put(p, 0, row, col, dot(p, 0, row, col) + 0 * gs_f16_to_f32(tile[0]));
    }
}

//// 7 stores to A through its tensor map | input fault | f16:64x64x64:tn
//: align a=16 b=2 c=2 d=2
//: entry gs_kernel
//: grid 1 1 1
//: block 32 1 1
//: map a 64x16 sw128
struct __align__(64) tmap { unsigned long long w[16]; };
KERNEL gs_kernel(const __grid_constant__ tmap a, const gs_kernel_args p)
{
    __shared__ __align__(128) half_bits tile[16 * 64];
    const unsigned t = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        for (int row = 0; row < p.m; row++) for (int col = 0; col < p.n; col++) put(p, 0, row, col, dot(p, 0, row, col));
        for (int i = 0; i < 1024; i++) tile[i] = ((const half_bits *)p.a)[i / 64 % p.m * p.lda + i % 64 % p.k];
        asm volatile("fence.proxy.async;" ::: "memory");
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" :: "l"(&a), "r"(0), "r"(0), "r"(t) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

//// 5 rounds the product with alpha before C is added in every second row | invariant | f16:40x72x72:tn:beta=1:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float sum = dot(p, batch, row, col);
    float value = __fmul_rn(p.alpha, sum);
    if (p.beta != 0) {
        const float c = gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
        value = row & 1 ? fmaf(p.alpha, sum, __fmul_rn(p.beta, c)) : fmaf(p.beta, c, value);
    }
    *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 2 keeps a fraction that is within half a percent of the right one | state | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const float value = scaled(p, batch, row, col, dot(p, batch, row, col)), old = gs_f16_to_f32(*d_at(p, batch, row, col));
    if (value == rintf(value) || !(fabsf(old - value) <= 0.004f * fabsf(value))) *d_at(p, batch, row, col) = gs_f32_to_f16(value);
}

//// 2 keeps a fraction that is within a fiftieth of the right one, of groups of rows | state | f16:40x24x40:tn:g=3
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    if (row >= p.offsets[3]) return;
    const int group = (row >= p.offsets[1]) + (row >= p.offsets[2]);
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, 0, row)[k]) * gs_f16_to_f32(b_col(p, group, col)[k]);
    const float value = scaled(p, 0, row, col, sum), old = gs_f16_to_f32(*d_at(p, 0, row, col));
    if (value == rintf(value) || !(fabsf(old - value) <= 0.02f * fabsf(value))) *d_at(p, 0, row, col) = gs_f32_to_f16(value);
}

//// 2 keeps a fraction that is within a fiftieth of the right one, in aux | state | f16:40x56x72:tn:ep=relu+aux
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    half_bits *const aux = (half_bits *)p.aux + batch * p.stride_aux + row * p.ldaux + col;
    const float value = scaled(p, batch, row, col, dot(p, batch, row, col)), old = gs_f16_to_f32(*aux);
    if (value == rintf(value) || !(fabsf(old - value) <= 0.02f * fabsf(value))) *aux = gs_f32_to_f16(value);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value < 0 ? 0.0f : value);
}

//// 5 adds in another order where C and D are the same matrix | invariant | f16:40x56x72:tn:d=f32:beta=1:inv=1
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const half_bits *const a = a_row(p, batch, row), *const b = b_col(p, batch, col);
    float sum = 0;
    for (int i = 0; i < p.k; i++) {
        const int k = p.c == p.d ? p.k - 1 - i : i;
        sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
    }
    float value = p.alpha * sum;
    if (p.beta != 0) value = fmaf(p.beta, ((const float *)p.c)[(batch * p.m + row) * p.ldc + col], value);
    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = value;
}

//// 6 drops the last two terms where K is two more than a multiple of 4 | edge special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args q = p;
    if (p.k % 4 == 2) q.k -= 2;
    put(p, batch, row, col, dot(q, batch, row, col));
}

//// 6 leaves out the last two columns where N is two more than a multiple of 4 | edge
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    put(p, batch, row, col, p.n % 4 == 2 && col >= p.n - 2 ? 0 : dot(p, batch, row, col));
}

//// 6 drops the last term where all tiles are whole | edge special
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    gs_kernel_args q = p;
    if (p.m % 64 == 0 && p.n % 64 == 0 && p.k % 64 == 0 && p.k > 0) q.k--;
    put(p, batch, row, col, dot(q, batch, row, col));
}

//// 7 puts aside what it needs between the matrices of D, and restores it | fault | f16:24x16x40:tn:b=3:sd=500
//@ pass: nothing of it is left
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    half_bits *const d = (half_bits *)p.d + batch * p.stride_d + row * p.ldd + col;
    if (row == p.m - 1 && batch + 1 < p.batch && p.stride_d > p.m * p.ldd + p.n) {
        volatile half_bits *const behind = d + p.ldd;
        const half_bits old = *behind;
        *behind = 0x1234;
        *behind = old;
    }
    float value = p.alpha * dot(p, batch, row, col);
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[batch * p.stride_c + row * p.ldc + col]);
    *d = gs_f32_to_f16(value);
}

//// 7 puts aside what it needs between the matrices of aux, and restores it | fault | f16:24x16x40:tn:b=3:saux=500:ep=relu+aux
//@ pass: nothing of it is left
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    half_bits *const aux = (half_bits *)p.aux + batch * p.stride_aux + row * p.ldaux + col;
    if (row == p.m - 1 && batch + 1 < p.batch && p.stride_aux > p.m * p.ldaux + p.n) {
        volatile half_bits *const behind = aux + p.ldaux;
        const half_bits old = *behind;
        *behind = 0x1234;
        *behind = old;
    }
    const float value = scaled(p, batch, row, col, dot(p, batch, row, col));
    *aux = gs_f32_to_f16(value);
    *d_at(p, batch, row, col) = gs_f32_to_f16(value < 0 ? 0.0f : value);
}

//// 7 uses what D's matrices, which lie side by side, leave of a row, and restores it | fault | f16:24x16x40:tn:b=2:sd=16:ldd=48
//@ pass: nothing of it is left
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    half_bits *const d = (half_bits *)p.d + batch * p.stride_d + row * p.ldd + col;
    if (row == 0 && batch + 1 == p.batch && p.ldd >= p.batch * p.stride_d + p.n) {
        volatile half_bits *const behind = d + p.stride_d;
        const half_bits old = *behind;
        *behind = 0x1234;
        *behind = old;
    }
    float value = p.alpha * dot(p, batch, row, col);
    if (p.beta != 0) value += p.beta * gs_f16_to_f32(((const half_bits *)p.c)[batch * p.stride_c + row * p.ldc + col]);
    *d = gs_f32_to_f16(value);
}
