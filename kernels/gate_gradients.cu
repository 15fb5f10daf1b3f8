/* SPDX-License-Identifier: MIT
 * The gradients of a gate, D = activation(gate) * up, from the gradient of D: (gradient * up * activation'(gate) | gradient * activation(gate)). Compiled with GS_OUT and
 * GATE_ACTIVATION, a gs_activation that is not a gradient. p.a: gate and up, M x 2N, each row has gate, then up; p.c: the gradient of D, M x N; p.d: both gradients, M x 2N. Rows are
 * p.lda, p.ldc, p.ldd elements apart. */
#define GS_BETA 0
#define GS_MORE   /* epilogue.cuh uses p.aux */
#include "common/args.h"
#include "common/convert.cuh"
#include "common/piece.cuh"

/* epilogue.cuh gives either the activation or its gradient, so it is included twice. */
#define GS_ACTIVATION GATE_ACTIVATION
namespace forward {
#include "common/epilogue.cuh"
}
#undef GS_KERNELS_EPILOGUE_CUH
#undef GS_ACTIVATION
#undef GS_GRADIENT
#undef GS_READS_LATE
#define GS_ACTIVATION (GATE_ACTIVATION + 4)
namespace backward {
#include "common/epilogue.cuh"
}

typedef forward::gs_raw element;

enum { PIECE = 16 / sizeof(element) };   /* elements of a thread */

typedef gs_piece<element, PIECE> piece;

/* Threads along x have neighbouring pieces of a row, those along y neighbouring rows. */
extern "C" __global__ void gs_gate_gradients(const gs_kernel_args p)
{
    const int col = (int)(blockIdx.x * blockDim.x + threadIdx.x) * PIECE, count = min(PIECE, p.n - col);
    const unsigned long long together = (unsigned long long)p.a | (unsigned long long)p.c | (unsigned long long)p.d | (unsigned long long)((p.lda | p.ldc | p.ldd | p.n) * sizeof(element));
    const bool whole = together % 16 == 0;
    if (count <= 0) return;
    for (long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y; row < p.m; row += (long long)gridDim.y * blockDim.y) {
        const element *const kept = (const element *)p.a + row * p.lda + col;
        element *const d = (element *)p.d + row * p.ldd + col;
        const piece gate = gs_load_piece<PIECE>(kept, whole, count), up = gs_load_piece<PIECE>(kept + p.n, whole, count), gradient = gs_load_piece<PIECE>((const element *)p.c + row * p.ldc + col, whole, count);
        piece of_gate, of_up;
        for (int i = 0; i < PIECE; i++) {
            const float g = forward::gs_raw_to_f32(gate.at[i]), slope = forward::gs_raw_to_f32(gradient.at[i]);
            of_gate.at[i] = forward::gs_f32_to_raw(backward::gs_sloped(slope * forward::gs_raw_to_f32(up.at[i]), g));
            of_up.at[i] = forward::gs_f32_to_raw(slope * forward::gs_activated(g));
        }
        gs_store_piece(d, of_gate, whole, count);
        gs_store_piece(d + p.n, of_up, whole, count);
    }
}
