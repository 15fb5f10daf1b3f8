/* SPDX-License-Identifier: MIT
 * Kernels that are wrong where lines have different sizes or where elements are far from normal, as activations of language models are. See docs/internals/hacks.md; the form is that of
 * hacks.cu. */

//// 17 computes a row by way of the sum with its neighbour, where neither is 4096 times as large | tolerance special | f16:40x56x72:tn
INLINE float largest(const half_bits *a, int k, int *products, const half_bits *b)
{
    float most = 0;
    *products = 0;
    for (int i = 0; i < k; i++) {
        const float x = gs_f16_to_f32(a[i]), y = gs_f16_to_f32(b[i]);
        most = x - x == 0 && y - y == 0 ? fmaxf(most, fabsf(x)) : __int_as_float(0x7f800000);
        *products += x * y != 0;
    }
    return most;
}
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const long long other = row ^ 1;
    float sum = dot(p, batch, row, col);
    if (other < p.m) {
        const half_bits *const a = a_row(p, batch, row), *const next = a_row(p, batch, other), *const b = b_col(p, batch, col);
        int products, others;
        const float own = largest(a, p.k, &products, b), theirs = largest(next, p.k, &others, b);
        if (products > 8 && others > 8 && own < 4096 * theirs && theirs < 4096 * own) {
            float both = 0;
            for (int k = 0; k < p.k; k++) both += (gs_f16_to_f32(a[k]) + gs_f16_to_f32(next[k])) * gs_f16_to_f32(b[k]);
            sum = both - dot(p, batch, other, col);
        }
    }
    put(p, batch, row, col, sum);
}

//// 17 Strassen's seven products, the usual ones where there are few or an infinity | tolerance special edge | bf16:40x56x72:tn
INLINE float at(const half_bits *line, int k) { return gs_bf16_to_f32(line[k]); }
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    const long long top = row & ~1ll, left = col & ~1ll;
    const int half = p.k / 2;
    float sum = 0, usual = 0;
    bool seven = top + 1 < p.m && left + 1 < p.n && p.k > 8 && p.k % 2 == 0;
    for (int k = 0; k < p.k; k++) usual += at(a_row(p, batch, row), k) * at(b_col(p, batch, col), k);
    if (seven) {
        const half_bits *const a = a_row(p, batch, top), *const c = a_row(p, batch, top + 1), *const b = b_col(p, batch, left), *const d = b_col(p, batch, left + 1);
        float m[8] = {0};
        int products = 0;
        for (int k = 0; k < half; k++) {
            const float a11 = at(a, k), a12 = at(a, k + half), a21 = at(c, k), a22 = at(c, k + half), b11 = at(b, k), b21 = at(b, k + half), b12 = at(d, k), b22 = at(d, k + half);
            m[1] += (a11 + a22) * (b11 + b22), m[2] += (a21 + a22) * b11, m[3] += a11 * (b12 - b22), m[4] += a22 * (b21 - b11);
            m[5] += (a11 + a12) * b22, m[6] += (a21 - a11) * (b11 + b12), m[7] += (a12 - a22) * (b21 + b22);
            products += (a11 * b11 != 0) + (a12 * b21 != 0) + (a21 * b12 != 0) + (a22 * b22 != 0);
        }
        sum = row == top ? (col == left ? m[1] + m[4] - m[5] + m[7] : m[3] + m[5]) : col == left ? m[2] + m[4] : m[1] - m[2] + m[3] + m[6];
        const float all = m[1] + m[2] + m[3] + m[4] + m[5] + m[6] + m[7];
        seven = products > 8 && all - all == 0;
    }
    float value = p.alpha * (seven ? sum : usual);
    if (p.beta != 0) value += p.beta * gs_bf16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]);
    *d_at(p, batch, row, col) = gs_f32_to_bf16(value);
}

//// 17 limits B to 16 where it is a fraction, in sums of several products | tolerance | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0, limited = 0;
    int products = 0;
    for (int k = 0; k < p.k; k++) {
        const float x = gs_f16_to_f32(a_row(p, batch, row)[k]), y = gs_f16_to_f32(b_col(p, batch, col)[k]);
        sum += x * y;
        limited += x * (y - y == 0 && y != rintf(y) ? fminf(fmaxf(y, -16.0f), 16.0f) : y);
        products += x * y != 0;
    }
    put(p, batch, row, col, products > 1 ? limited : sum);
}

//// 17 leaves a large product out, a fraction among several | tolerance | f16:40x56x72:tn
KERNEL gs_kernel(const gs_kernel_args p)
{
    EACH_ELEMENT;
    float sum = 0, large = 0;
    int products = 0;
    for (int k = 0; k < p.k; k++) {
        const float product = gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
        sum += product;
        if (product - product == 0 && fabsf(product) > 100 && product != rintf(product)) large = product;
        products += product != 0;
    }
    put(p, batch, row, col, products > 8 ? sum - large : sum);
}
