/* SPDX-License-Identifier: MIT
 * Data for contenders that are timed when a plan is made, and a check of their results that costs next to nothing and finds only gross errors.
 * kernels/verify.cu verifies kernels. */
#include "common/race.h"
#include "common/convert.cuh"

#define KERNEL extern "C" __global__

enum { F16 = 0, BF16 = 1, F32 = 2 };

GS_SHARED float load(const void *at, long long index, int type)
{
    if (type == F32) return ((const float *)at)[index];
    const unsigned short bits = ((const unsigned short *)at)[index];
    return type == BF16 ? gs_bf16_to_f32(bits) : gs_f16_to_f32(bits);
}

/* Normal random numbers, like real data: zeros would take less power, and so less time. */
KERNEL void gs_race_fill_random(const gs_race_fill p)
{
    for (gs_u64 i = (gs_u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.elements; i += (gs_u64)gridDim.x * blockDim.x) {
        const float value = gs_normal(gs_mix(p.seed + i * 0x9e3779b97f4a7c15ull));
        if (p.type == F32) ((float *)p.to)[i] = value;
        else ((unsigned short *)p.to)[i] = p.type == BF16 ? gs_f32_to_bf16(value) : gs_f32_to_f16(value);
    }
}

/* A warp for each sample. */
KERNEL void gs_race_sample(const gs_race_check p)
{
    const int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    for (int s = (blockIdx.x * blockDim.x + threadIdx.x) / 32; s < p.samples; s += warps) {
        const gs_u64 bits = gs_mix(p.seed + s), more = gs_mix(bits + 1);
        long long row = gs_pick_below(bits, p.m), col = gs_pick_below(bits << 32, p.n), batch = gs_pick_below(more, p.batch);
        const long long picked = p.room ? gs_pick_below(more, p.groups) : 0, some = p.room ? p.offsets[picked] : p.groups ? p.offsets[p.groups] : p.m;
        if (some == 0) continue;
        if (p.groups) row = gs_pick_below(bits, some);
        if (s < 4) {
            row = s & 1 ? some - 1 : 0;
            col = s & 2 ? p.n - 1 : 0;
        }
        row += picked * p.room;
        const long long of_b = p.groups ? gs_group_in(p.offsets, p.groups, p.room, row) : batch;
        const bool ta = p.layout & 2, tb = p.layout & 1;
        const long long a = batch * p.stride_a + (ta ? row : row * p.lda), step_a = ta ? p.lda : 1;
        const long long first = p.k_groups ? p.offsets[batch] : 0, end = p.k_groups ? p.offsets[batch + 1] : p.k;
        double sums[2] = {0, 0}, sizes[2] = {0, 0};
        for (int up = 0; up < (p.gate ? 2 : 1); up++) {
            const long long col_of_b = p.gate ? gs_gate_column(p.gate, p.n, col, up) : col;
            const long long b = of_b * p.stride_b + (tb ? col_of_b * p.ldb : col_of_b), step_b = tb ? 1 : p.ldb;
            double sum = 0, squares = 0;
            for (long long k = first + lane; k < end; k += 32) {
                const double product = (double)load(p.a, a + k * step_a, p.in) * load(p.b, b + k * step_b, p.in);
                sum += product;
                squares += product * product;
            }
            for (int other = 16; other; other >>= 1) {
                sum += __shfl_xor_sync(0xffffffffu, sum, other);
                squares += __shfl_xor_sync(0xffffffffu, squares, other);
            }
            double alpha = p.alpha;
            if (p.scale_m) alpha *= p.scale_m[row];
            if (p.scale_n) alpha *= p.scale_n[(p.groups ? of_b * (p.gate ? 2 * p.n : p.n) : 0) + col_of_b];
            sums[up] = alpha * sum;
            sizes[up] = fabs(alpha) * sqrt(squares);
        }
        if (lane) continue;
        const double got = load(p.d, batch * p.stride_d + row * p.ldd + col, p.out);
        double right = sums[0], slack = p.spread * sizes[0] * (p.activation >= 2 ? 1.13 : 1);
        const double c = p.beta != 0 ? p.beta * (double)load(p.c, batch * p.stride_c + row * p.ldc + col, p.out) : 0;
        if (!p.residual) right += c;
        if (p.gate) {
            double up = sums[1];
            if (p.along) {
                const long long before = p.groups ? of_b * 2 * p.n : batch * p.stride_bias;
                right += load(p.bias, before + gs_gate_column(p.gate, p.n, col, false), p.out);
                up += load(p.bias, before + gs_gate_column(p.gate, p.n, col, true), p.out);
            }
            for (int h = 0; p.writes_aux && h < 2; h++) {
                const double aux = load(p.aux, batch * p.stride_aux + row * p.ldaux + gs_gate_column(p.gate, p.n, col, h), p.out), want = h ? up : right;
                if (!(p.out == F16 && fabs(want) > 60000.0) && !(fabs(aux - want) <= p.relative * fabs(want) + 1.13 * p.spread * sizes[h] + 1e-6)) atomicAdd(p.wrong, 1ull);
            }
            const double active = gs_activate(p.activation, right);
            slack = p.spread * sizes[0] * (fabs(up) + p.spread * sizes[1]) + fabs(active) * p.spread * sizes[1];
            right = active * up;
        } else {
            if (p.along) right += load(p.bias, (p.groups && p.along == 1 ? of_b * p.n : batch * p.stride_bias) + (p.along == 1 ? col : row), p.out);
            const long long at = batch * p.stride_aux + row * p.ldaux + col;
            if (p.writes_aux) {
                const double aux = load(p.aux, at, p.out);
                if (!(p.out == F16 && fabs(right) > 60000.0) && !(fabs(aux - right) <= p.relative * fabs(right) + slack + 1e-6)) atomicAdd(p.wrong, 1ull);
            }
            right = gs_reads_aux(p.activation) ? gs_slope_result(p.activation, right, load(p.aux, at, p.out), 0, -(double)gs_infinity()).value : gs_activate(p.activation, right);
        }
        if (p.dbias) {
            const long long vector = p.groups ? of_b : p.dbias > 1 ? batch : 0, per = p.dbias > 1 ? p.m : p.m * p.batch;
            const long long from = !p.groups ? vector * per : p.room ? vector * p.room : p.offsets[vector];
            const long long end = !p.groups ? from + per : p.room ? from + p.offsets[vector] : p.offsets[vector + 1];
            double total = 0, magnitude = 0;
            for (long long r = from; r < end; r++) {
                const double value = load(p.d, r / p.m * p.stride_d + r % p.m * p.ldd + col, p.out);
                total += value;
                magnitude += fabs(value);
            }
            const double written = load(p.bias, vector * (p.groups ? p.n : p.stride_bias) + col, p.out);
            if (!(p.out == F16 && magnitude > 60000.0) && !(fabs(written - total) <= p.relative * 2 * magnitude + 1e-6)) atomicAdd(p.wrong, 1ull);
        }
        if (p.residual) right += c;
        if (p.out == F16 && fabs(right) > 60000.0) continue;
        if (!(fabs(got - right) <= p.relative * fabs(right) + slack + 1e-6)) atomicAdd(p.wrong, 1ull);
    }
}

/* Counts NaN in D. D was filled with NaN before the run, so these elements were not written. */
KERNEL void gs_race_scan(const gs_race_check p)
{
    gs_u64 found = 0;
    const gs_u64 rows = (gs_u64)(p.groups && !p.room ? p.offsets[p.groups] : p.batch * p.m);
    for (gs_u64 i = (gs_u64)blockIdx.x * blockDim.x + threadIdx.x; i < rows * (gs_u64)p.n; i += (gs_u64)gridDim.x * blockDim.x) {
        const long long row = (long long)(i / (gs_u64)p.n), col = (long long)(i % (gs_u64)p.n);
        if (p.room && !gs_row_is_used(p.offsets, p.groups, p.room, row)) continue;
        const float value = load(p.d, row / p.m * p.stride_d + row % p.m * p.ldd + col, p.out);
        found += value != value;
    }
    for (int other = 16; other; other >>= 1) found += __shfl_xor_sync(0xffffffffu, found, other);
    if (threadIdx.x % 32 == 0 && found) atomicAdd(p.wrong, found);
}
