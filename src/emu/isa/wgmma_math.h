/* SPDX-License-Identifier: MIT
 * The arithmetic of the matrix units: layouts of operands in shared memory and in registers, and the product of one warp's 16 rows.
 *
 * A warp multiplies 16 rows. Its accumulators are a tile of f32 with adjacent rows: tile[16 * n + m] (f16 accumulators are f32 values that f16 can represent). A is
 * at[16 * k + m]. B is b[n * n_step + k * k_step]. An operand is 32 bytes deep along k: k16, or k8 for tf32.
 *
 * Registers, with g = lane / 4 and t = lane % 4; a warp's fragments are the same for wgmma and mma.sync:
 *   accumulators   f32: register 4 j + 2 h + c is (row g + 8 h, column 8 j + 2 t + c)
 *                  f16: register 2 j + h holds (row g + 8 h, columns 8 j + 2 t and the next)
 *   A              16 bits: register r holds (row g + 8 (r % 2), k = 8 (r / 2) + 2 t and the next); tf32: (the same row, k = 4 (r / 2) + t)
 *   B, mma only    16 bits: register r holds (column g, k = 8 r + 2 t and the next); tf32: (column g, k = 4 r + t) */
#ifndef GS_EMU_ISA_WGMMA_MATH_H
#define GS_EMU_ISA_WGMMA_MATH_H

#include <stdbool.h>
#include <stdint.h>

#include "ptx/ptx.h"

#define GS_EMU_MOST_N   256
#define GS_EMU_ROWS     16                      /* per warp */
#define GS_EMU_PIECE    16                      /* bytes that every layout keeps together */
#define GS_EMU_PIECES   (2 * GS_EMU_MOST_N)     /* most per operand */

/* A matrix descriptor of sm_90, in bytes. */
typedef struct gs_emu_descriptor {
    uint32_t start, leading, stride;   /* in the low 18 bits of a shared address */
    uint32_t base;                     /* row, of 128 bytes, of the swizzle pattern at an aligned address: 0..7 */
    uint32_t pieces;                   /* pieces per row of the swizzle: 1 none, 2 32B, 4 64B, 8 128B */
} gs_emu_descriptor;

gs_emu_descriptor gs_emu_descriptor_of(uint64_t bits);

/* Shared memory offsets of the pieces of rows first..first + rows - 1 of M or N, both multiples of 8. Returns how many: 2 * rows.
 *   K-major    piece 2 r + c holds row r, half c of k
 *   MN-major   piece k * rows / 8 + j holds rows 8 j.. at k (16-bit types) */
int gs_emu_descriptor_pieces(const gs_emu_descriptor *d, bool mn_major, uint32_t first, uint32_t rows, uint32_t *piece);

/* The elements of the pieces (F16, BF16, TF32) as f32, in order: K-major is [row][k], MN-major is [k][row]. */
void gs_emu_load_pieces(float *out, const uint8_t *shared, const uint32_t *piece, int pieces, gs_ptx_type type);

/* Transposes [16][depth] to at. */
void gs_emu_transpose_rows(float *at, const float *rows, int depth);

/* Converts fragments in registers, 32 lanes each, to at (depth follows from the number of registers), or to b with n_step = depth, k_step = 1. */
void gs_emu_fragment_a(float *at, const uint32_t *const *reg, int registers, gs_ptx_type type);
void gs_emu_fragment_b(float *b, const uint32_t *const *reg, int registers, gs_ptx_type type);

/* One accumulator register. half: it holds two f16. */
void gs_emu_tile_get(float *tile, const uint32_t *reg, int element, bool half);
void gs_emu_tile_put(const float *tile, uint32_t *reg, int element, bool half);

/* tile (n columns, a multiple of 8) = A B, plus its old value if accumulate. Products are exact; each element's `depth` products are summed in f32, in an order of its
 * own, and the sum is added once. depth is a power of two. half: the results are rounded to f16. */
void gs_emu_multiply(float *tile, const float *at, const float *b, int n, int n_step, int k_step, int depth, bool accumulate, bool half);

#endif
