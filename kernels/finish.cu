/* SPDX-License-Identifier: MIT
 * The epilogue as a separate kernel, run after a product of cuBLASLt, which does not support this epilogue. Compiled with GS_OUT, GS_BETA (1: this kernel adds C) and the macros of
 * epilogue.cuh. p.a: the product, of D's type or, with GS_WIDE, f32, rows p.lda apart; p.alpha multiplies it (1 if it contains alpha already); it may be D. The matrices of a batch are
 * m rows apart or, with GS_STRIDES, as the arguments say: those of the product stride_a. GS_GATE: the product has the columns of gate and up, in B's order. GS_DBIAS: each thread
 * leaves the sums of its rows, p.k rows of sums in all. */
#include "common/args.h"
#include "common/block.cuh"
#include "common/convert.cuh"
#include "common/epilogue.cuh"
#include "common/piece.cuh"

#define GS_PARTIALS(p) ((p).k)   /* of the whole batch: gs_column_sums is launched with a batch of 1 */
#include "common/dbias.cuh"

#if GS_OUT == 2
typedef float element;
#define LOAD(bits)   (bits)
#define STORE(value) (value)
#elif GS_OUT == 1
typedef unsigned short element;
#define LOAD(bits)   gs_bf16_to_f32(bits)
#define STORE(value) gs_f32_to_bf16(value)
#else
typedef unsigned short element;
#define LOAD(bits)   gs_f16_to_f32(bits)
#define STORE(value) gs_f32_to_f16(value)
#endif

enum { PIECE = 16 / sizeof(element) };   /* elements of a thread */

#ifndef GS_WIDE
#define GS_WIDE 0
#endif
#if GS_WIDE
typedef float factor;   /* an element of the product */
#define LOAD_PRODUCT(bits) (bits)
#else
typedef element factor;
#define LOAD_PRODUCT(bits) LOAD(bits)
#endif

#define BY_ROWS (GS_BIAS == 2 || GS_SCALES & 1 || GS_AUX || GS_GRADIENT)   /* something depends on the row in its matrix */

template <class T> using piece_of = gs_piece<T, PIECE>;
typedef piece_of<element> piece;

/* Threads along x have neighbouring pieces of a row, those along y neighbouring rows; grid (pieces of a row, rows of all matrices up to 65535 blocks). */
extern "C" __global__ void gs_finish(const gs_kernel_args p)
{
    const int col = (int)(blockIdx.x * blockDim.x + threadIdx.x) * PIECE, count = min(PIECE, p.n - col);
    const unsigned long long together = (unsigned long long)p.a | (unsigned long long)p.d | (GS_BETA ? (unsigned long long)p.c : 0)
                                      | (unsigned long long)((p.lda | p.ldd | (GS_BETA ? p.ldc : 0)) * sizeof(element))
#if GS_STRIDES
                                      | (unsigned long long)((p.stride_a | p.stride_d | (GS_BETA ? p.stride_c : 0)) * sizeof(element))
#endif
        ;
    const bool whole = together % 16 == 0 && count == PIECE && (GS_GATE != 1 || p.n % PIECE == 0);
#if GS_AUX && GS_GATE != 2
    const bool whole_aux = ((unsigned long long)p.aux | (unsigned long long)((p.ldaux | p.stride_aux | (GS_GATE ? p.n : 0)) * sizeof(element))) % 16 == 0 && count == PIECE;
#endif
    gs_dependent_wait();
    gs_dependent_launch();
    if (count <= 0) return;
#if GS_DBIAS
    float sums[PIECE] = {};
#endif
    for (long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y; row < (long long)p.m * p.batch; row += (long long)gridDim.y * blockDim.y) {
        const long long matrix = GS_STRIDES || BY_ROWS ? row / p.m : 0, in_matrix = BY_ROWS ? row - matrix * p.m : 0;
#if GS_STRIDES
        const long long line = row - matrix * p.m, at_c = matrix * p.stride_c + line * p.ldc, at_d = matrix * p.stride_d + line * p.ldd;
        const factor *const from = (const factor *)p.a + matrix * p.stride_a + line * p.lda;
#else
        const long long at_c = row * p.ldc, at_d = row * p.ldd;
        const factor *const from = (const factor *)p.a + row * p.lda;
#endif
#if GS_GATE == 1
        const piece_of<factor> gate = gs_load_piece<PIECE>(from + col, whole, count), up = gs_load_piece<PIECE>(from + p.n + col, whole, count);
#elif GS_GATE
        const piece_of<factor> first = gs_load_piece<PIECE>(from + 2 * col, whole, min(PIECE, 2 * count));
        const piece_of<factor> second = gs_load_piece<PIECE>(from + 2 * col + PIECE, whole, 2 * count - PIECE);
        piece_of<factor> gate, up;
        for (int i = 0; i < PIECE / 2; i++) {
            gate.at[i] = first.at[2 * i], up.at[i] = first.at[2 * i + 1];
            gate.at[i + PIECE / 2] = second.at[2 * i], up.at[i + PIECE / 2] = second.at[2 * i + 1];
        }
#else
        const piece_of<factor> product = gs_load_piece<PIECE>(from + col, whole, count);
#endif
        const piece c = GS_BETA ? gs_load_piece<PIECE>((const element *)p.c + at_c + col, whole, count) : piece{};
        (void)in_matrix;
#if GS_AUX && GS_GATE != 2   /* with alternating columns aux is written by element */
        piece before, beside;
        element *const aux = (element *)p.aux + gs_place_in_aux(p, in_matrix, col, matrix);
#endif
        piece result;
#if GS_GATE
        for (int i = 0; i < PIECE; i++) {
            float own = p.alpha * LOAD_PRODUCT(gate.at[i]), other = p.alpha * LOAD_PRODUCT(up.at[i]);
            gs_biased_halves(p, own, other, in_matrix, col + i, p.m, p.n, matrix);
#if GS_AUX && GS_GATE == 1
            before.at[i] = STORE(own);
            beside.at[i] = STORE(other);
#else
            gs_put_halves(p, own, other, in_matrix, col + i, p.m, p.n, matrix);
#endif
            result.at[i] = STORE(gs_behind_halves(p, own, other, LOAD(c.at[i])));
        }
#else
        for (int i = 0; i < PIECE; i++) {
            float biased = gs_scaled(p, p.alpha * LOAD_PRODUCT(product.at[i]), in_matrix, col + i, p.m, p.n, matrix);
#if GS_BETA && !GS_RESIDUAL
            biased = gs_plus_c(p, LOAD(c.at[i]), biased);
#endif
            biased += gs_bias_of(p, in_matrix, col + i, p.m, p.n, matrix);
#if GS_AUX
            before.at[i] = STORE(biased);
#endif
            const float value = gs_behind_bias(p, biased, LOAD(c.at[i]), in_matrix, col + i, p.m, p.n, matrix);
            result.at[i] = STORE(value);
#if GS_DBIAS
            sums[i] += value;
#endif
        }
#endif
        element *const d = (element *)p.d + at_d + col;
        gs_store_piece(d, result, whole, count);
#if GS_AUX && GS_GATE != 2
        gs_store_piece(aux, before, whole_aux, count);
#if GS_GATE
        gs_store_piece(aux + p.n, beside, whole_aux, count);
#else
        (void)beside;
#endif
#endif
    }
#if GS_DBIAS
    float *const left = gs_partial_sums(p, 0, (long long)blockIdx.y * blockDim.y + threadIdx.y) + col;
    for (int i = 0; i < PIECE; i++)
        if (i < count) left[i] = sums[i];
#endif
}
