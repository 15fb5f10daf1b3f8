/* SPDX-License-Identifier: MIT
 * The arithmetic of the matrix units: operand layouts, and the product of 16 rows. */
#include "emu/isa/wgmma_math.h"

#include <string.h>

#include "base/half.h"

/* ---- descriptors ---- */

gs_emu_descriptor gs_emu_descriptor_of(uint64_t bits)
{
    static const uint8_t pieces[] = {1, 8, 4, 2};   /* by mode: none, 128B, 64B, 32B */
    return (gs_emu_descriptor){
        .start = (uint32_t)(bits & 0x3fff) << 4,
        .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
        .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
        .base = (uint32_t)(bits >> 49 & 7),
        .pieces = pieces[bits >> 62],
    };
}

/* Offsets of pieces at base + offset[i]. The swizzle pattern repeats every 8 rows of 128 bytes in all modes and depends only on the address, so a tile may start
 * anywhere. */
static void place(const gs_emu_descriptor *d, uint32_t base, const uint32_t *restrict offset, uint32_t count, uint32_t *restrict piece)
{
    const uint32_t mask = d->pieces - 1, row = d->base;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = base + offset[i];
        piece[i] = at ^ (((at >> 7) - row) & mask) << 4;
    }
}

int gs_emu_descriptor_pieces(const gs_emu_descriptor *d, bool mn_major, uint32_t first, uint32_t rows, uint32_t *piece)
{
    const uint32_t width = d->pieces, row_bytes = width * GS_EMU_PIECE, groups = rows / 8;
    uint32_t offset[GS_EMU_MOST_N / 8];
    if (!mn_major) {
        const uint32_t half = width == 1 ? d->leading : GS_EMU_PIECE;
        for (uint32_t i = 0; i < 16; i++) offset[i] = i / 2 * row_bytes + i % 2 * half;
        for (uint32_t j = 0; j < groups; j++) place(d, d->start + (first / 8 + j) * d->stride, offset, 16, piece + 16 * j);
        return (int)(2 * rows);
    }
    /* without a swizzle the two strides exchange roles */
    const uint32_t k_stride = width == 1 ? d->leading : d->stride, mn_stride = width == 1 ? d->stride : d->leading;
    for (uint32_t j = 0; j < groups; j++) offset[j] = (first / 8 + j) % width * GS_EMU_PIECE + (first / 8 + j) / width * mn_stride;
    for (uint32_t k = 0; k < 16; k++) place(d, d->start + k % 8 * row_bytes + k / 8 * k_stride, offset, groups, piece + k * groups);
    return (int)(2 * rows);
}

/* ---- elements to f32 ---- */

static float tf32(uint32_t bits) { return gs_bits_f32(bits & 0xffffe000u); }   /* the hardware ignores the other bits */

#define BLOCK 32   /* elements: counts are multiples of it, so that loops of known length are vectorised */

/* As gs_f16_to_f32, in a form that every compiler vectorises. Moving the f16 exponent into place gives a number too small by 2^112; multiplying by that is exact, also
 * for subnormal numbers. */
static void widen_f16(float *restrict out, const uint16_t *restrict in, int count)
{
    for (int first = 0; first < count; first += BLOCK)
        for (int i = first; i < first + BLOCK; i++) {
            const uint32_t magnitude = (uint32_t)(in[i] & 0x7fff) << 13, sign = (uint32_t)(in[i] & 0x8000) << 16;
            const uint32_t special = magnitude >= 0x7c00u << 13 ? 0x7f800000u : 0;   /* infinity, NaN */
            out[i] = gs_bits_f32(gs_f32_bits(gs_bits_f32(magnitude) * 0x1p112f) | special | sign);
        }
}

static void widen_bf16(float *restrict out, const uint16_t *restrict in, int count)
{
    for (int first = 0; first < count; first += BLOCK)
        for (int i = first; i < first + BLOCK; i++) out[i] = gs_bf16_to_f32(in[i]);
}

static void widen_tf32(float *restrict out, const uint32_t *restrict in, int count)
{
    for (int i = 0; i < count; i++) out[i] = tf32(in[i]);
}

/* The same for whole registers, with two elements per 32 bits or one. */
static void widen(float *out, const void *in, int words, gs_ptx_type type)
{
    switch (type) {
    case GS_PTX_F16:  widen_f16(out, in, 2 * words); break;
    case GS_PTX_BF16: widen_bf16(out, in, 2 * words); break;
    default:          widen_tf32(out, in, words); break;
    }
}

void gs_emu_load_pieces(float *out, const uint8_t *shared, const uint32_t *piece, int pieces, gs_ptx_type type)
{
    uint32_t raw[GS_EMU_PIECES * 4];
    for (int i = 0; i < pieces; i++) memcpy(raw + 4 * i, shared + piece[i], GS_EMU_PIECE);
    widen(out, raw, 4 * pieces, type);
}

void gs_emu_transpose_rows(float *at, const float *rows, int depth)
{
    for (int k = 0; k < depth; k++)
        for (int m = 0; m < GS_EMU_ROWS; m++) at[GS_EMU_ROWS * k + m] = rows[m * depth + k];
}

/* ---- fragments ---- */

/* The elements of a register, in order of lanes, are 8 rows of 4 or 8; for A they are transposed. */
void gs_emu_fragment_a(float *at, const uint32_t *const *reg, int registers, gs_ptx_type type)
{
    float value[64];
    const int width = type == GS_PTX_TF32 ? 4 : 8;
    for (int r = 0; r < registers; r++) {
        float *const to = at + r / 2 * width * GS_EMU_ROWS + r % 2 * 8;
        widen(value, reg[r], 32, type);
        for (int k = 0; k < width; k++)
            for (int g = 0; g < 8; g++) to[k * GS_EMU_ROWS + g] = value[g * width + k];
    }
}

void gs_emu_fragment_b(float *b, const uint32_t *const *reg, int registers, gs_ptx_type type)
{
    float value[64];
    const int width = type == GS_PTX_TF32 ? 4 : 8;
    for (int r = 0; r < registers; r++) {
        widen(value, reg[r], 32, type);
        for (int g = 0; g < 8; g++) memcpy(b + (g * registers + r) * width, value + g * width, (size_t)width * sizeof *b);
    }
}

/* Index of lane 0's first element of a register; lane l is 2 (l % 4) columns and l / 4 rows further. */
static int tile_origin(int element, bool half)
{
    const int j = half ? element / 2 : element / 4, h = half ? element % 2 : element / 2 % 2, c = half ? 0 : element % 2;
    return (8 * j + c) * GS_EMU_ROWS + 8 * h;
}

#define COLUMN(t) ((t) * 2 * GS_EMU_ROWS)

void gs_emu_tile_get(float *tile, const uint32_t *reg, int element, bool half)
{
    float *const to = tile + tile_origin(element, half);
    if (!half) {
        for (int t = 0; t < 4; t++)
            for (int g = 0; g < 8; g++) to[COLUMN(t) + g] = gs_bits_f32(reg[4 * g + t]);
        return;
    }
    float value[64];
    widen(value, reg, 32, GS_PTX_F16);
    for (int t = 0; t < 4; t++)
        for (int g = 0; g < 8; g++) {
            to[COLUMN(t) + g] = value[2 * (4 * g + t)];
            to[COLUMN(t) + GS_EMU_ROWS + g] = value[2 * (4 * g + t) + 1];
        }
}

void gs_emu_tile_put(const float *tile, uint32_t *reg, int element, bool half)
{
    const float *const from = tile + tile_origin(element, half);
    for (int t = 0; t < 4 && !half; t++)
        for (int g = 0; g < 8; g++) reg[4 * g + t] = gs_f32_bits(from[COLUMN(t) + g]);
    for (int t = 0; t < 4 && half; t++)
        for (int g = 0; g < 8; g++)
            reg[4 * g + t] = gs_f32_to_f16(from[COLUMN(t) + g]) | (uint32_t)gs_f32_to_f16(from[COLUMN(t) + GS_EMU_ROWS + g]) << 16;
}

/* ---- products ---- */

static void round_to_f16(float *tile, int count)
{
    for (int i = 0; i < count; i++) tile[i] = gs_f16_to_f32(gs_f32_to_f16(tile[i]));
}

/* Two vectors of rows by four columns at a time: eight sums stay in registers. The order of additions differs from that of any loop over k: a GPU's matrix unit gives
 * other bits than sequential sums, so a kernel must not get equal bits from both here. */
#define MULTIPLY(name, vector)                                                                                                         \
    static void name(float *restrict tile, const float *restrict at, const float *restrict b, int n, int n_step, int k_step, int depth) \
    {                                                                                                                                  \
        enum { LANES = sizeof(vector) / sizeof(float) };                                                                               \
        for (int first = 0; first < n; first += 4)                                                                                     \
            for (int row = 0; row < GS_EMU_ROWS; row += 2 * LANES) {                                                                   \
                const float *const b0 = b + first * n_step, *const b1 = b0 + n_step, *const b2 = b1 + n_step, *const b3 = b2 + n_step; \
                vector s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};                         \
                for (int i = 0; i < depth; i++) {                                                                                      \
                    const int k = (5 * i + 3) & (depth - 1);                                                                           \
                    const float x0 = b0[k * k_step], x1 = b1[k * k_step], x2 = b2[k * k_step], x3 = b3[k * k_step];                    \
                    vector a0, a1;                                                                                                     \
                    memcpy(&a0, at + k * GS_EMU_ROWS + row, sizeof a0);                                                                \
                    memcpy(&a1, at + k * GS_EMU_ROWS + row + LANES, sizeof a1);                                                        \
                    s00 += x0 * a0, s01 += x0 * a1, s10 += x1 * a0, s11 += x1 * a1;                                                    \
                    s20 += x2 * a0, s21 += x2 * a1, s30 += x3 * a0, s31 += x3 * a1;                                                    \
                }                                                                                                                      \
                const vector sum[] = {s00, s01, s10, s11, s20, s21, s30, s31};                                                         \
                for (int j = 0; j < 8; j++) {                                                                                          \
                    float *const to = tile + (first + j / 2) * GS_EMU_ROWS + row + j % 2 * LANES;                                      \
                    vector old;                                                                                                        \
                    memcpy(&old, to, sizeof old);                                                                                      \
                    old += sum[j];                                                                                                     \
                    memcpy(to, &old, sizeof old);                                                                                      \
                }                                                                                                                      \
            }                                                                                                                          \
    }

typedef float four __attribute__((vector_size(16)));
MULTIPLY(multiply_by_four, four)

#if defined(__x86_64__)
typedef float eight __attribute__((vector_size(32)));
__attribute__((target("avx2"))) MULTIPLY(multiply_by_eight, eight)

static bool has_eight(void) { return __builtin_cpu_supports("avx2"); }
#else
#define multiply_by_eight multiply_by_four
static bool has_eight(void) { return false; }
#endif

void gs_emu_multiply(float *tile, const float *at, const float *b, int n, int n_step, int k_step, int depth, bool accumulate, bool half)
{
    if (!accumulate) memset(tile, 0, (size_t)n * GS_EMU_ROWS * sizeof *tile);
    if (has_eight())
        multiply_by_eight(tile, at, b, n, n_step, k_step, depth);
    else
        multiply_by_four(tile, at, b, n, n_step, k_step, depth);
    if (half) round_to_f16(tile, n * GS_EMU_ROWS);
}
