/* SPDX-License-Identifier: MIT
 * The emulated device's matrix units: operand layouts as documented, products compared with naive ones, the registers of mma.sync, rows of ldmatrix and stmatrix. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "support/leaks.h"
#include "base/random.h"
#include "base/half.h"
#include "emu/isa/wgmma_math.h"
#include "emu.h"

/* ---- layouts in shared memory ---- */

#define SHARED (64 * 1024)

typedef struct layout {
    bool     mn_major;
    int      width;              /* 16-byte pieces in a row of the swizzle: 1, 2, 4, 8 */
    uint32_t start, leading, stride;
} layout;

/* The offset of element (mn, k) of a tile that starts at a multiple of 1024, as drawn in the documentation: in rows of the swizzle's width, the pieces of row r are
 * exchanged by r, r / 2 or r / 4. size: bytes of an element. */
static uint32_t place_of(const layout *l, uint32_t mn, uint32_t k, uint32_t size)
{
    const uint32_t width = (uint32_t)l->width, per_piece = 16 / size;
    const uint32_t row = l->mn_major ? k : mn, along = l->mn_major ? mn : k;
    const uint32_t piece = along / per_piece, byte = along % per_piece * size;
    if (width == 1) {
        const uint32_t far = l->mn_major ? l->leading : l->stride, near = l->mn_major ? l->stride : l->leading;
        return l->start + row / 8 * far + row % 8 * 16 + piece * near + byte;
    }
    return l->start + row / 8 * l->stride + row % 8 * width * 16 + piece / width * l->leading + ((piece % width) ^ (row % 8 * width / 8)) * 16 + byte;
}

static uint64_t descriptor_of(const layout *l, uint32_t start)
{
    const uint64_t mode = l->width == 1 ? 0 : l->width == 8 ? 1 : l->width == 4 ? 2 : 3;
    return start >> 4 | (uint64_t)(l->leading >> 4) << 16 | (uint64_t)(l->stride >> 4) << 32 | mode << 62;
}

static float element(uint32_t mn, uint32_t k) { return (float)((int)(mn * 7 + k * 13 + mn * k) % 11 - 5); }

static void fill(uint8_t *shared, const layout *l, uint32_t rows, uint32_t depth, gs_ptx_type type)
{
    for (uint32_t mn = 0; mn < rows; mn++)
        for (uint32_t k = 0; k < depth; k++) {
            const float value = element(mn, k);
            const uint16_t narrow = type == GS_PTX_F16 ? gs_f32_to_f16(value) : gs_f32_to_bf16(value);
            if (type == GS_PTX_TF32)
                memcpy(shared + place_of(l, mn, k, 4), &value, 4);
            else
                memcpy(shared + place_of(l, mn, k, 2), &narrow, 2);
        }
}

/* Reads `rows` rows of MN from `first`, into out[mn][k]. */
static void read_back(float *out, const uint8_t *shared, const layout *l, uint32_t start, uint32_t first, uint32_t rows, gs_ptx_type type)
{
    uint32_t piece[GS_EMU_PIECES];
    float value[GS_EMU_MOST_N * 16];
    const uint32_t depth = type == GS_PTX_TF32 ? 8 : 16;
    const gs_emu_descriptor d = gs_emu_descriptor_of(descriptor_of(l, start));
    assert_int_equal(gs_emu_descriptor_pieces(&d, l->mn_major, first, rows, piece), 2 * rows);
    gs_emu_load_pieces(value, shared, piece, (int)(2 * rows), type);
    for (uint32_t mn = 0; mn < rows; mn++)
        for (uint32_t k = 0; k < depth; k++) out[mn * depth + k] = l->mn_major ? value[k * rows + mn] : value[mn * depth + k];
}

static void check_layout(uint8_t *shared, const layout *l, uint32_t rows, gs_ptx_type type)
{
    static float got[GS_EMU_MOST_N * 16];
    const uint32_t depth = type == GS_PTX_TF32 ? 8 : 16, size = type == GS_PTX_TF32 ? 4 : 2;
    const uint32_t held = l->mn_major ? depth : l->width == 1 ? depth : (uint32_t)l->width * 16 / size;   /* K of the tile */
    memset(shared, 0x55, SHARED);
    fill(shared, l, rows, held, type);
    for (uint32_t step = 0; step < held / depth; step++) {   /* for further k the start moves inside the rows */
        read_back(got, shared, l, l->start + 32 * step, 0, rows, type);
        for (uint32_t mn = 0; mn < rows; mn++)
            for (uint32_t k = 0; k < depth; k++)
                if (got[mn * depth + k] != element(mn, step * depth + k))
                    fail_msg("%s-major, width %d, %u rows, step %u: element %u, %u is %g", l->mn_major ? "MN" : "K", l->width, rows, step, mn, k,
                             (double)got[mn * depth + k]);
    }
    if (rows < 64) return;
    read_back(got, shared, l, l->start, 32, 16, type);   /* the rows of A that a warp uses */
    for (uint32_t mn = 0; mn < 16; mn++)
        for (uint32_t k = 0; k < depth; k++) assert_true(got[mn * depth + k] == element(32 + mn, k));
}

static void layouts_are_as_documented(void **state)
{
    (void)state;
    uint8_t *const shared = malloc(SHARED);
    static const uint32_t rows[] = {8, 24, 64, 136, 256};
    for (int width = 1; width <= 8; width *= 2)
        for (int mn_major = 0; mn_major < 2; mn_major++)
            for (size_t i = 0; i < GS_COUNT(rows); i++) {
                const uint32_t atom = 128 * (uint32_t)width;   /* 8 rows of the swizzle */
                const layout close = {mn_major, width, 2048, mn_major && width > 1 ? 2 * atom : 128, width > 1 ? atom : 256};
                const layout apart = {mn_major, width, 1024, mn_major && width > 1 ? atom : 8 * 1024, mn_major && width > 1 ? 33 * 1024 : 1024};
                check_layout(shared, &close, rows[i], GS_PTX_F16);
                check_layout(shared, &close, rows[i], GS_PTX_BF16);
                if (!mn_major) check_layout(shared, &close, rows[i], GS_PTX_TF32);
                check_layout(shared, &apart, GS_MIN(rows[i], 56u), GS_PTX_F16);
            }
    free(shared);
}

/* If a tile does not start at a multiple of 1024, the base offset shifts the swizzle pattern to its start. */
static void a_base_offset_moves_the_pattern(void **state)
{
    (void)state;
    static uint8_t shared[SHARED];
    const layout aligned = {false, 8, 0, 16, 1024};
    uint32_t piece[2 * 64];
    fill(shared + 3 * 128, &aligned, 64, 64, GS_PTX_F16);
    const gs_emu_descriptor d = gs_emu_descriptor_of(descriptor_of(&aligned, 3 * 128) | 3ull << 49);
    float got[64 * 16];
    gs_emu_descriptor_pieces(&d, false, 0, 64, piece);
    gs_emu_load_pieces(got, shared, piece, 2 * 64, GS_PTX_F16);
    for (uint32_t m = 0; m < 64; m++)
        for (uint32_t k = 0; k < 16; k++) assert_true(got[m * 16 + k] == element(m, k));
}

/* ---- arithmetic ---- */

static void every_half_widens_as_defined(void **state)
{
    (void)state;
    uint16_t raw[8 * 16];
    float got[8 * 16];
    uint32_t piece[16];
    for (int i = 0; i < 16; i++) piece[i] = 16 * (uint32_t)i;
    for (uint32_t first = 0; first < 65536; first += 128) {
        for (uint32_t i = 0; i < 128; i++) raw[i] = (uint16_t)(first + i);
        gs_emu_load_pieces(got, (const uint8_t *)raw, piece, 16, GS_PTX_F16);
        for (uint32_t i = 0; i < 128; i++)
            if (gs_f32_bits(got[i]) != gs_f32_bits(gs_f16_to_f32(raw[i]))) fail_msg("f16 %04x gives %a", raw[i], (double)got[i]);
        gs_emu_load_pieces(got, (const uint8_t *)raw, piece, 16, GS_PTX_BF16);
        for (uint32_t i = 0; i < 128; i++) assert_int_equal(gs_f32_bits(got[i]), (uint32_t)raw[i] << 16);
    }
}

/* Sums that f32 holds exactly are exact for all strides of B; accumulation adds to the old value. */
static void products_are_exact(void **state)
{
    (void)state;
    static float at[16 * 16], b[256 * 16], transposed[256 * 16], tile[256 * 16], other[256 * 16];
    gs_random random = {3};
    for (int n = 8; n <= 256; n += 8) {
        for (int i = 0; i < 256; i++) at[i] = (float)((int)gs_random_below(&random, 4097) - 2048);
        for (int i = 0; i < 16 * n; i++) b[i] = (float)((int)gs_random_below(&random, 129) - 64);
        for (int i = 0; i < 16 * n; i++) transposed[i % 16 * n + i / 16] = b[i];
        for (int i = 0; i < 16 * n; i++) tile[i] = other[i] = (float)i;
        gs_emu_multiply(tile, at, b, n, 16, 1, 16, true, false);
        gs_emu_multiply(other, at, transposed, n, 1, n, 16, false, false);
        for (int i = 0; i < 16 * n; i++) {
            float sum = 0;
            for (int k = 0; k < 16; k++) sum += at[16 * k + i % 16] * b[16 * (i / 16) + k];
            assert_true(other[i] == sum);
            assert_true(tile[i] == sum + (float)i);
        }
    }
}

/* Sums of 16 products differ from those of a loop in either direction and of two halves: a matrix unit has its own order. */
static void products_have_an_order_of_their_own(void **state)
{
    (void)state;
    float at[256], b[8 * 16], tile[8 * 16];
    gs_random random = {5};
    int unlike[3] = {0};
    for (int i = 0; i < 256; i++) at[i] = (float)(gs_random_unit(&random) - 0.5);
    for (int i = 0; i < 128; i++) b[i] = (float)(gs_random_unit(&random) - 0.5);
    gs_emu_multiply(tile, at, b, 8, 16, 1, 16, false, false);
    for (int i = 0; i < 128; i++) {
        float up = 0, down = 0, half[2] = {0, 0};
        for (int k = 0; k < 16; k++) {
            const float product = at[16 * k + i % 16] * b[16 * (i / 16) + k];
            up += product;
            half[k / 8] += product;
            down += at[16 * (15 - k) + i % 16] * b[16 * (i / 16) + 15 - k];
        }
        unlike[0] += tile[i] != up, unlike[1] += tile[i] != down, unlike[2] += tile[i] != half[0] + half[1];
    }
    for (int i = 0; i < 3; i++) assert_true(unlike[i] > 32);
}

/* Rounding is unbiased and happens once per instruction: a long sum of positive numbers differs from the exact one by only a few units. */
static void long_sums_have_no_bias(void **state)
{
    (void)state;
    float at[256], b[8 * 16], tile[8 * 16] = {0};
    gs_random random = {4};
    double exact[8 * 16] = {0};
    for (int step = 0; step < 4096; step++) {
        for (int i = 0; i < 256; i++) at[i] = gs_f16_to_f32((uint16_t)(0x3800 + gs_random_below(&random, 0x400)));
        for (int i = 0; i < 128; i++) b[i] = gs_f16_to_f32((uint16_t)(0x3800 + gs_random_below(&random, 0x400)));
        gs_emu_multiply(tile, at, b, 8, 16, 1, 16, true, false);
        for (int i = 0; i < 128; i++)
            for (int k = 0; k < 16; k++) exact[i] += (double)at[16 * k + i % 16] * (double)b[16 * (i / 16) + k];
    }
    double mean = 0;
    for (int i = 0; i < 128; i++) {
        const double error = ((double)tile[i] - exact[i]) / exact[i];
        assert_true(fabs(error) < 64 * 0x1p-24);
        mean += error / 128;
    }
    assert_true(fabs(mean) < 8 * 0x1p-24);   /* truncation would give about 2000 of these units */
}

static void f16_accumulators_round_once(void **state)
{
    (void)state;
    float at[256] = {0}, b[8 * 16] = {0}, tile[8 * 16];
    for (int k = 0; k < 16; k++)
        for (int m = 0; m < 16; m++) at[16 * k + m] = 0.25f;
    for (int i = 0; i < 128; i++) b[i] = i % 16 < (i / 16 % 2 ? 5 : 4) ? 1.0f : 0.0f, tile[i] = 2048;
    gs_emu_multiply(tile, at, b, 8, 16, 1, 16, true, true);
    for (int i = 0; i < 128; i++) assert_true(tile[i] == (i / 16 % 2 ? 2050.0f : 2048.0f));   /* 2049.25, and 2049, which is a tie and goes to the even number */
}

/* ---- mma.sync ---- */

/* Runs `body` in one warp: in[i] and out[i] are word i of each lane at the start and the end. Registers: i0.. o0.. (32 bits), x0.. y0.. (64 bits). */
static void run_warp(const char *body, int words_in, int words_out, int size, const void *in, void *out, uint32_t smem)
{
    static char text[16384];
    emu_test t;
    int at = snprintf(text, sizeof text,
                      ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n"
                      ".visible .entry k(.param .u64 from, .param .u64 to)\n{\n.reg .b32 %%r<8>;\n.reg .b64 %%rd<8>;\n"
                      ".reg .b%d i<16>;\n.reg .b%d o<16>;\n"
                      "ld.param.u64 %%rd1, [from];\nld.param.u64 %%rd2, [to];\nmov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd3, %%r1, %d;\n"
                      "add.s64 %%rd1, %%rd1, %%rd3;\nadd.s64 %%rd2, %%rd2, %%rd3;\nmov.u32 %%r2, sm;\n", 8 * size, 8 * size, size);
    for (int i = 0; i < words_in; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "ld.global.b%d i%d, [%%rd1+%d];\n", 8 * size, i, 32 * size * i);
    at += snprintf(text + at, sizeof text - (size_t)at, "%s\n", body);
    for (int i = 0; i < words_out; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "st.global.b%d [%%rd2+%d], o%d;\n", 8 * size, 32 * size * i, i);
    snprintf(text + at, sizeof text - (size_t)at, "ret;\n}\n");
    if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s", t.error.text);
    const uint64_t from = emu_buffer(&t, in, (size_t)(32 * size * words_in)), to = emu_buffer(&t, NULL, (size_t)(32 * size * words_out));
    emu_param(&t, 0, &from, 8);
    emu_param(&t, 1, &to, 8);
    t.launch.smem = smem;
    for (int check = 1; check >= 0; check--) {
        t.launch.check = check;
        if (emu_run(&t) != GS_OK) fail_msg("%s", t.error.text);
        memcpy(out, emu_bytes(&t, to, (size_t)(32 * size * words_out)), (size_t)(32 * size * words_out));
    }
    emu_end(&t);
}

typedef struct mma_case {
    const char *name;
    gs_ptx_type type;
    bool half;
    int  depth, a, b, c;         /* registers of each operand */
} mma_case;

static void put_element(uint32_t *word, gs_ptx_type type, int part, float value)
{
    const uint16_t narrow = type == GS_PTX_F16 ? gs_f32_to_f16(value) : gs_f32_to_bf16(value);
    if (type == GS_PTX_TF32 || type == GS_PTX_F32)
        memcpy(word, &value, 4);
    else
        memcpy((uint16_t *)(void *)word + part, &narrow, 2);
}

/* Fragments by the formulas of the PTX manual; element i of a lane: group = lane / 4, t = lane % 4. */
static void mma_index(char matrix, gs_ptx_type type, int lane, int i, int *row, int *column)
{
    const int group = lane / 4, t = lane % 4;
    const bool single = type == GS_PTX_TF32;
    if (matrix == 'a') {
        *row = (single ? i % 2 : i / 2 % 2) ? group + 8 : group;
        *column = single ? t + (i / 2) * 4 : 2 * t + (i & 1) + (i >= 4 ? 8 : 0);
    } else if (matrix == 'b') {
        *row = single ? t + 4 * i : 2 * t + (i & 1) + (i >= 2 ? 8 : 0);
        *column = group;
    } else {
        *row = i < 2 ? group : group + 8;
        *column = 2 * t + (i & 1);
    }
}

static void check_mma(const mma_case *c)
{
    char body[512], lists[4][128];
    uint32_t in[10][32] = {{0}}, out[4][32];
    float a[16][16], b[16][8], acc[16][8];
    gs_random random = {(uint64_t)c->depth};
    for (int i = 0; i < 256; i++) a[i / 16][i % 16] = (float)((int)gs_random_below(&random, 65) - 32);
    for (int i = 0; i < 128; i++) b[i / 8][i % 8] = (float)((int)gs_random_below(&random, 33) - 16) / 4, acc[i / 8][i % 8] = (float)(i - 60);
    const int per = c->type == GS_PTX_TF32 ? 1 : 2, per_c = c->half ? 2 : 1, counts[] = {c->c, c->a, c->b, c->c};
    for (int lane = 0; lane < 32; lane++) {
        int row, column;
        for (int i = 0; i < per * c->a; i++) {
            mma_index('a', c->type, lane, i, &row, &column);
            put_element(&in[i / per][lane], c->type, i % per, a[row][column]);
        }
        for (int i = 0; i < per * c->b; i++) {
            mma_index('b', c->type, lane, i, &row, &column);
            put_element(&in[c->a + i / per][lane], c->type, i % per, b[row][column]);
        }
        for (int i = 0; i < 4; i++) {
            mma_index('c', c->type, lane, i, &row, &column);
            put_element(&in[c->a + c->b + i / per_c][lane], c->half ? GS_PTX_F16 : GS_PTX_F32, i % per_c, acc[row][column]);
        }
    }
    for (int l = 0, next = 0; l < 4; l++) {
        int at = 0;
        for (int i = 0; i < counts[l]; i++)
            at += snprintf(lists[l] + at, sizeof lists[l] - (size_t)at, "%s%c%d", i ? ", " : "", l ? 'i' : 'o', l ? next++ : i);
    }
    snprintf(body, sizeof body, "%s {%s}, {%s}, {%s}, {%s};", c->name, lists[0], lists[1], lists[2], lists[3]);
    run_warp(body, c->a + c->b + c->c, c->c, 4, in, out, 0);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row, column;
            uint32_t want = 0, mask = c->half ? 0xffffu << 16 * (i % 2) : 0xffffffffu;
            mma_index('c', c->type, lane, i, &row, &column);
            float sum = acc[row][column];
            for (int k = 0; k < c->depth; k++) sum += a[row][k] * b[k][column];
            put_element(&want, c->half ? GS_PTX_F16 : GS_PTX_F32, i % per_c, sum);
            if ((out[i / per_c][lane] & mask) != want)
                fail_msg("%s: row %d, column %d is %08x, not %08x", c->name, row, column, out[i / per_c][lane], want);
        }
}

static void mma_of_all_shapes(void **state)
{
    (void)state;
    static const mma_case cases[] = {
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",   GS_PTX_F16,  false, 16, 4, 2, 4},
        {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",   GS_PTX_F16,  true,  16, 4, 2, 2},
        {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", GS_PTX_BF16, false, 16, 4, 2, 4},
        {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",    GS_PTX_F16,  false, 8,  2, 1, 4},
        {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",    GS_PTX_F16,  true,  8,  2, 1, 2},
        {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",  GS_PTX_BF16, false, 8,  2, 1, 4},
        {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",  GS_PTX_TF32, false, 8,  4, 2, 4},
        {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",  GS_PTX_TF32, false, 4,  2, 1, 4},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) check_mma(&cases[i]);
}

/* a: row lane / 4, column lane % 4; b: row lane % 4, column lane / 4; c: row lane / 4, columns 2 (lane % 4) and the next. */
static void mma_of_doubles(void **state)
{
    (void)state;
    double in[4][32], out[2][32];
    for (int i = 0; i < 128; i++) in[i / 32][i % 32] = i < 64 ? 1.0 / (3 + i) : i;
    run_warp("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {o0, o1}, {i0}, {i1}, {i2, i3};", 4, 2, 8, in, out, 0);
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++) {
            double sum = in[2 + column % 2][4 * row + column / 2];
            for (int k = 0; k < 4; k++) sum += in[0][4 * row + k] * in[1][4 * column + k];
            assert_true(fabs(out[column % 2][4 * row + column / 2] - sum) < 1e-12);
        }
}

static void tf32_ignores_the_low_bits(void **state)
{
    (void)state;
    uint32_t in[7][32] = {{0}}, out[4][32];
    const float one = 1;
    for (int i = 0; i < 3; i++)
        for (int lane = 0; lane < 32; lane++) in[i][lane] = gs_f32_bits(one) | 0x1fff;
    run_warp("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {o0, o1, o2, o3}, {i0, i1}, {i2}, {i3, i4, i5, i6};", 7, 4, 4, in, out, 0);
    for (int i = 0; i < 4; i++)
        for (int lane = 0; lane < 32; lane++) assert_true(gs_bits_f32(out[i][lane]) == 4.0f);
}

/* ---- rows ---- */

/* Row `row` of matrix i is at 16-byte place 5 * row + 40 * i; element (row, column) is 256 * i + 8 * row + column. */
static void ldmatrix_and_stmatrix(void **state)
{
    (void)state;
    uint32_t in[5][32], out[12][32];
    for (int lane = 0; lane < 32; lane++) {
        in[4][lane] = (uint32_t)(lane % 8 * 5 + lane / 8 * 40) * 16;
        for (int i = 0; i < 4; i++) {
            const uint32_t first = 256 * (uint32_t)i + 2 * (uint32_t)lane;
            in[i][lane] = first | (first + 1) << 16;
        }
    }
    run_warp("add.u32 i4, i4, %r2;\nstmatrix.sync.aligned.m8n8.x4.shared.b16 [i4], {i0, i1, i2, i3};\nbar.warp.sync 0xffffffff;\n"
             "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {o0, o1, o2, o3}, [i4];\n"
             "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {o4, o5, o6, o7}, [i4];\n"
             "bar.warp.sync 0xffffffff;\nstmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [i4], {i0, i1};\nbar.warp.sync 0xffffffff;\n"
             "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {o8, o9}, [i4];\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {o10}, [i4+640];\n"
             "movmatrix.sync.aligned.m8n8.trans.b16 o11, i3;", 5, 12, 4, in, out, 4096);
    for (int lane = 0; lane < 32; lane++) {
        const uint32_t row = (uint32_t)lane / 4, column = 2 * ((uint32_t)lane % 4);
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t turned = (256 * i + 8 * column + row) | (256 * i + 8 * (column + 1) + row) << 16;
            assert_int_equal(out[i][lane], in[i][lane]);
            assert_int_equal(out[4 + i][lane], turned);
            if (i < 2) assert_int_equal(out[8 + i][lane], turned);
            if (i == 1) assert_int_equal(out[10][lane], turned);
            if (i == 3) assert_int_equal(out[11][lane], turned);
        }
    }
}

/* Shared memory passes of one instruction with rows `step` bytes apart. */
static uint64_t passes_of_rows(int step)
{
    char body[512];
    emu_test t;
    snprintf(body, sizeof body,
             ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n.visible .entry k()\n{\n.reg .b32 %%r<8>;\n"
             "mov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, sm;\nmad.lo.u32 %%r2, %%r1, %d, %%r2;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%%r3}, [%%r2];\n"
             "ret;\n}\n", step);
    if (emu_load(&t, body, NULL) != GS_OK) fail_msg("%s", t.error.text);
    t.launch.smem = 8192;
    t.launch.check = false;
    assert_int_equal(emu_run(&t), GS_OK);
    assert_int_equal(t.launch.counters.shared_load, 128);
    const uint64_t passes = t.launch.counters.shared_passes;
    emu_end(&t);
    return passes;
}

static void bank_conflicts_are_counted(void **state)
{
    (void)state;
    assert_int_equal(passes_of_rows(16), 1);
    assert_int_equal(passes_of_rows(144), 1);
    assert_int_equal(passes_of_rows(32), 2);
    assert_int_equal(passes_of_rows(64), 4);
    assert_int_equal(passes_of_rows(128), 8);
    assert_int_equal(passes_of_rows(0), 1);   /* the same row eight times */
}

/* Runs the body with `threads` threads and expects a finding of this kind. */
static void expect_finding(const char *body, uint32_t threads, gs_emu_finding_kind kind)
{
    static char text[4096];
    emu_test t;
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n.visible .entry k()\n{\n"
             ".reg .pred %%p<4>;\n.reg .b32 %%r<16>;\n.reg .b64 %%rd<4>;\n"
             "mov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, sm;\nsetp.lt.u32 %%p1, %%r1, 20;\n%s\ntrap;\nret;\n}\n", body);
    if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s", t.error.text);
    t.launch.block[0] = threads;
    t.launch.smem = 1024;
    assert_int_equal(emu_run(&t), GS_ERROR_FAULT);
    if (emu_found(&t, kind) == 0) fail_msg("%s: %s", body, t.error.text);
    if (kind != GS_EMU_UNINITIALIZED_FINDING && emu_found(&t, GS_EMU_TRAP_FINDING)) fail_msg("%s: the warp went on", body);
    emu_end(&t);
}

static void misuse_is_found(void **state)
{
    (void)state;
    static const char mma[] = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r4, %r5}, {%r6, %r7}, {%r8}, {%r4, %r5};";
    char guarded[256];
    snprintf(guarded, sizeof guarded, "@%%p1 %s", mma);
    expect_finding(guarded, 32, GS_EMU_DIVERGED_FINDING);
    expect_finding(mma, 24, GS_EMU_DIVERGED_FINDING);
    expect_finding("@%p1 mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd0, %rd1}, {%rd2}, {%rd3}, {%rd0, %rd1};", 32, GS_EMU_DIVERGED_FINDING);
    expect_finding("@%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];", 32, GS_EMU_DIVERGED_FINDING);
    expect_finding("@!%p1 stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r4};", 32, GS_EMU_DIVERGED_FINDING);
    expect_finding("@%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r5;", 32, GS_EMU_DIVERGED_FINDING);
    expect_finding("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2+8];", 32, GS_EMU_MISALIGNED_FINDING);
    expect_finding("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2+1024], {%r4, %r5};", 32, GS_EMU_OUT_OF_BOUNDS_FINDING);
    expect_finding("mov.u64 %rd1, 0xfffffffffffffff0;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%rd1];", 32,
                   GS_EMU_OUT_OF_BOUNDS_FINDING);
    expect_finding("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];", 32, GS_EMU_UNINITIALIZED_FINDING);
}

static void what_is_unknown_is_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r1, %r2, %r3, %r4};",
        "mma.sync.aligned.m16n8k16.row.row.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r1, %r2};",
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32 {%r1, %r2}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4};",
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r2}, {%r1, %r2}, {%r1, %r2};",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r1}, [%r2];",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r2];",
        "stmatrix.sync.aligned.m8n8.x1.global.b16 [%r2], {%r1};",
        "movmatrix.sync.aligned.m8n8.b16 %r1, %r2;",
    };
    char text[1024];
    for (size_t i = 0; i < GS_COUNT(bodies); i++) {
        emu_test t;
        snprintf(text, sizeof text,
                 ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %%r<8>;\n.reg .f32 %%f<8>;\n%s\nret;\n}\n",
                 bodies[i]);
        if (emu_load(&t, text, NULL) != GS_ERROR_UNSUPPORTED) fail_msg("%s", bodies[i]);
        assert_non_null(strstr(t.error.text, "line 8"));
        emu_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_as_documented),
        cmocka_unit_test(a_base_offset_moves_the_pattern),
        cmocka_unit_test(every_half_widens_as_defined),
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(products_have_an_order_of_their_own),
        cmocka_unit_test(long_sums_have_no_bias),
        cmocka_unit_test(f16_accumulators_round_once),
        cmocka_unit_test(mma_of_all_shapes),
        cmocka_unit_test(mma_of_doubles),
        cmocka_unit_test(tf32_ignores_the_low_bits),
        cmocka_unit_test(ldmatrix_and_stmatrix),
        cmocka_unit_test(bank_conflicts_are_counted),
        cmocka_unit_test(misuse_is_found),
        cmocka_unit_test(what_is_unknown_is_refused),
    };
    return run_without_leaks("emu matrix", tests, sizeof tests / sizeof *tests);
}
