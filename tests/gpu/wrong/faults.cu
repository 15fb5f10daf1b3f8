/* SPDX-License-Identifier: MIT
 * One plain kernel, f16 inputs and output, with GS_FAULT choosing what is wrong with it. GS_LAYOUT as everywhere. Only C and no
 * directives: through WRONG it is text for the device compiler and code for the host test that runs it thread by thread. */
WRONG(

typedef unsigned short half;

enum { SIDE = 16, BLOCK = 128, TICKETS = 16 };   /* tickets: at the workspace's start, zero between launches */

static __device__ int remembered;

GS_SHARED float short_input(float value)   /* four bits of significand */
{
    union { float f; unsigned int u; } bits = {value};
    bits.u = (bits.u + 0x7ffffu + (bits.u >> 20 & 1)) & 0xfff00000u;
    return bits.f;
}

GS_SHARED half truncated(float value)
{
    half bits = gs_f32_to_f16(value);
    if (fabsf(gs_f16_to_f32(bits)) > fabsf(value)) bits--;
    return bits;
}

GS_SHARED float round_f16(float value) { return gs_f16_to_f32(gs_f32_to_f16(value)); }

GS_SHARED float product(const gs_kernel_args *p, long long batch, long long row, long long col, long long k)
{
    const half *const a = (const half *)p->a + (batch * p->m + row) * p->lda;
    const half *const b = (const half *)p->b + batch * p->ldb * (GS_LAYOUT == 1 ? p->n : p->k);
    const float x = gs_f16_to_f32(a[k]);
    const float y = gs_f16_to_f32(GS_LAYOUT == 1 ? b[col * p->ldb + k] : b[k * p->ldb + col]);
    return GS_FAULT == SHORT_INPUTS ? short_input(x) * short_input(y) : x * y;
}

GS_SHARED float dot(const gs_kernel_args *p, long long batch, long long row, long long col)
{
    long long extent = p->k;
    if (GS_FAULT == LOST_K_TAIL) extent -= extent % 32;
    if (GS_FAULT == LOST_LAST_BLOCK && extent > 32) extent -= 32;
    float sum = 0;
    if (GS_FAULT == REVERSED || (GS_FAULT == CLOCKED_ORDER && (clock64() >> 3 & 1))) {
        for (long long k = extent - 1; k >= 0; k--) sum += product(p, batch, row, col, k);
    } else if (GS_FAULT == INTERLEAVED || GS_FAULT == PAIRWISE) {
        float part[4] = {0, 0, 0, 0};
        for (long long k = 0; k < extent; k++) part[k % 4] += product(p, batch, row, col, k);
        sum = GS_FAULT == PAIRWISE ? (part[0] + part[2]) + (part[1] + part[3]) : part[0] + part[1] + part[2] + part[3];
    } else if (GS_FAULT == BLOCKWISE || GS_FAULT == F16_PARTIALS) {
        for (long long first = 0; first < extent; first += BLOCK) {
            float part = 0;
            for (long long k = first; k < extent && k < first + BLOCK; k++) part += product(p, batch, row, col, k);
            sum += GS_FAULT == F16_PARTIALS ? round_f16(part) : part;
        }
    } else {
        for (long long k = 0; k < extent; k++) {
            sum += product(p, batch, row, col, k);
            if (GS_FAULT == F16_SUM) sum = round_f16(sum);
        }
    }
    if (GS_FAULT == DOUBLED_TERM && extent > 64) sum += product(p, batch, row, col, 64);
    return sum;
}

GS_KERNEL void gs_wrong(const gs_kernel_args p)
{
    const long long row = (long long)blockIdx.y * SIDE + threadIdx.y;
    const long long col = (long long)blockIdx.x * SIDE + threadIdx.x;
    const long long batch = blockIdx.z;
    if (row >= p.m || col >= p.n) return;
    if (GS_FAULT == REMEMBERS && remembered) return;
    if (GS_FAULT == EVEN_ROWS && row % 2) return;
    float *const own = (float *)p.workspace + TICKETS + (batch * p.m + row) * p.n + col;
    if (GS_FAULT == FINDS_MARK) {
        if (*own == 12345.0f) return;
        *own = 12345.0f;
    }
    if (GS_FAULT == FINDS_OUTPUT) {
        const float found = gs_f16_to_f32(((const half *)p.d)[(batch * p.m + row) * p.ldd + col]);
        if (found == found) return;
    }
    const int last_tile = blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1;
    if (GS_FAULT == MISSING_TILE && last_tile) return;

    long long from_row = row;
    long long from_col = col;
    if (GS_FAULT == SWAPPED_HALVES && (col ^ 8) < p.n) from_col = col ^ 8;
    if (GS_FAULT == TRANSPOSED_TILE) {
        const long long r = row - threadIdx.y + threadIdx.x;
        const long long c = col - threadIdx.x + threadIdx.y;
        if (r < p.m && c < p.n) { from_row = r; from_col = c; }
    }
    float sum = dot(&p, batch, from_row, from_col);
    if (GS_FAULT == CLOCKED_VALUE && (clock64() >> 3 & 1)) sum += 1;
    if (GS_FAULT == SWALLOWED_NAN && sum != sum) sum = 0;
    if (GS_FAULT == CLAMPED_INF) sum = sum == gs_infinity() ? 65504.0f : sum == -gs_infinity() ? -65504.0f : sum;
    if (GS_FAULT == CONSTANT) sum = 1;
    if (GS_FAULT == ZERO_TILE && last_tile) sum = 0;

    float value = GS_FAULT == IGNORED_ALPHA ? sum : p.alpha * sum;
    const half *const c = (const half *)p.c;
    if ((p.beta != 0 || (GS_FAULT == READS_C && c)) && GS_FAULT != IGNORED_BETA) value += p.beta * gs_f16_to_f32(c[(batch * p.m + row) * p.ldc + col]);

    const long long ldd = GS_FAULT == IGNORED_LD ? p.n : p.ldd;
    half *const d = (half *)p.d + (batch * p.m + row) * ldd + col;
    unsigned int *const tickets = (unsigned int *)p.workspace;
    float *const workspace = (float *)p.workspace + TICKETS + (batch * p.m + row) * p.n + col;
    if (GS_FAULT == ADDS_TO_D) value += gs_f16_to_f32(*d);
    if (GS_FAULT == WORKSPACE_WRITTEN_FIRST) *workspace = value;
    if (GS_FAULT == ADDS_TO_WORKSPACE) value = *workspace += value;
    if (GS_FAULT == COUNTS_TICKETS || GS_FAULT == LEAVES_TICKETS) atomicAdd(&tickets[1], 1u);
    *d = GS_FAULT == TRUNCATED ? truncated(value) : gs_f32_to_f16(value);

    const int last = row == p.m - 1 && col == p.n - 1 && batch == p.batch - 1;
    if (GS_FAULT == BEHIND_D && last) d[1] = 0;
    if (GS_FAULT == BEFORE_D && row + col + batch == 0) d[-1] = 0;
    if (GS_FAULT == IN_PADDING && col == p.n - 1 && p.ldd > p.n && !last) d[1] = 0;
    if (GS_FAULT == BEHIND_WORKSPACE && last) workspace[1] = 1;
    if (GS_FAULT == CHANGED_A && last && p.k > 0) ((half *)p.a)[0] ^= 1;
    if (GS_FAULT == CHANGED_B && last && p.k > 0) ((half *)p.b)[0] ^= 1;
}

/* Runs after gs_wrong. */
GS_KERNEL void gs_wrong_end(const gs_kernel_args p)
{
    remembered = p.m >= 0;
    unsigned int *const tickets = (unsigned int *)p.workspace;
    if (GS_FAULT != COUNTS_TICKETS && GS_FAULT != LEAVES_TICKETS) return;
    if (tickets[1] != (unsigned int)p.m * p.n * p.batch) *(half *)p.d = 0x7fff;
    if (GS_FAULT == COUNTS_TICKETS) tickets[1] = 0;
}

)
