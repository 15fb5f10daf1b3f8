/* SPDX-License-Identifier: MIT
 * Arithmetic of the emulated device in a test: decodes one or more instructions, executes them for a warp with given registers, and
 * compares each lane with a reference. Registers are %p, %h (16 bits), %r (32), %q (64); number 0 is the result, 1 to 4 are sources. */
#ifndef GS_TESTS_EMU_ALU_H
#define GS_TESTS_EMU_ALU_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/half.h"
#include "emu/isa/isa.h"
#include "emu/run/run.h"

typedef struct emu_alu {
    gs_ptx_module *module;
    gs_emu_code   *code;
    gs_emu_warp    warp;
    gs_error       error;
} emu_alu;

/* Each statement ends with a semicolon. */
static inline gs_status alu_decode(emu_alu *t, const char *statements)
{
    char ptx[2048];
    memset(t, 0, sizeof *t);
    snprintf(ptx, sizeof ptx, ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
             ".reg .pred %%p<16>; .reg .b16 %%h<16>; .reg .b32 %%r<16>; .reg .b64 %%q<16>;\n%s\n}\n", statements);
    GS_TRY(gs_ptx_parse(&t->module, ptx, strlen(ptx), NULL, &t->error));
    return gs_emu_code_create(&t->code, t->module, &t->module->entry[0], NULL, 0, &t->error);
}

static inline void alu_close(emu_alu *t)
{
    free(t->warp.registers);
    gs_emu_code_free(&t->code);
    gs_ptx_free(&t->module);
}

static inline void alu_open(emu_alu *t, const char *statements)
{
    if (alu_decode(t, statements) != GS_OK) fail_msg("%s: %s", statements, t->error.text);
    t->warp.code = t->code;
    t->warp.registers = aligned_alloc(64, (t->code->register_bytes + 63) / 64 * 64);
    assert_non_null(t->warp.registers);
    memcpy(t->warp.registers, t->code->image, t->code->register_bytes);
}

/* name: without the %, for example "r1" */
static inline uint32_t alu_offset(const emu_alu *t, const char *name)
{
    for (int i = 0; i < t->module->entry[0].registers; i++)
        if (strcmp(t->module->entry[0].reg[i].name + 1, name) == 0) return t->code->offset_of[i];
    return GS_EMU_NONE;
}

static inline int alu_bits(char letter) { return letter == 'p' ? 1 : letter == 'h' ? 16 : letter == 'r' ? 32 : 64; }

static inline uint64_t alu_get(emu_alu *t, const char *name, int lane)
{
    const uint32_t offset = alu_offset(t, name);
    const int bits = alu_bits(name[0]);
    uint64_t value = 0;
    assert_int_not_equal(offset, GS_EMU_NONE);
    if (bits == 1) return *gs_emu_mask(&t->warp, offset) >> lane & 1;
    memcpy(&value, t->warp.registers + offset + lane * bits / 8, (size_t)bits / 8);
    return value;
}

static inline void alu_set(emu_alu *t, const char *name, int lane, uint64_t value)
{
    const uint32_t offset = alu_offset(t, name);
    const int bits = alu_bits(name[0]);
    assert_int_not_equal(offset, GS_EMU_NONE);
    if (bits == 1) {
        uint32_t *const mask = gs_emu_mask(&t->warp, offset);
        *mask = (*mask & ~(1u << lane)) | (uint32_t)(value & 1) << lane;
    } else {
        memcpy(t->warp.registers + offset + lane * bits / 8, &value, (size_t)bits / 8);
    }
}

static inline void alu_run(emu_alu *t, uint32_t lanes)
{
    for (uint32_t i = 0; i + 1 < t->code->ops; i++)   /* all but the final exit */
        assert_int_equal(t->code->op[i].exec(&t->warp, &t->code->op[i], lanes), GS_EMU_NEXT);
}

/* The result of one instruction that is the same in every lane. */
static inline uint64_t alu_one(const char *statements, const char *result, uint64_t a, const char *name_a, uint64_t b, const char *name_b)
{
    emu_alu t;
    alu_open(&t, statements);
    for (int lane = 0; lane < GS_EMU_LANES; lane++) {
        if (name_a) alu_set(&t, name_a, lane, a);
        if (name_b) alu_set(&t, name_b, lane, b);
    }
    alu_run(&t, GS_EMU_FULL);
    const uint64_t value = alu_get(&t, result, 17);
    alu_close(&t);
    return value;
}

/* ---- values by kind: i any bits, s shift amounts, l less than 32, n small signed integers, h f16, b bf16, f f32, d f64, p predicates ---- */

#define ALU_EDGES 32
static inline uint64_t alu_edge(char kind, int bits, unsigned i)
{
    static const uint32_t shifts[ALU_EDGES] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 30, 31, 32, 33, 34, 47, 48, 62, 63, 64, 65, 100, 127, 128,
                                               200, 240, 254, 255, 6};
    static const uint16_t halves[ALU_EDGES] = {0, 0x8000, 1, 0x8001, 2, 0x3ff, 0x83ff, 0x400, 0x401, 0x8400, 0x3800, 0x3bff, 0x3c00, 0xbc00, 0x3c01,
                                               0x3e00, 0xc000, 0x4248, 0x4900, 0x7bff, 0xfbff, 0x7bfe, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0x7fff,
                                               0x6400, 0x6bff, 0x1000, 0x5a3c};
    static const uint16_t brains[ALU_EDGES] = {0, 0x8000, 1, 0x8001, 2, 0x7f, 0x80ff, 0x80, 0x81, 0x8080, 0x3f00, 0x3f7f, 0x3f80, 0xbf80, 0x3f81,
                                               0x3fc0, 0xc000, 0x4049, 0x4120, 0x7f7f, 0xff7f, 0x7f7e, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0x7fff,
                                               0x4b00, 0x4f00, 0x2000, 0x43aa};
    static const uint32_t floats[ALU_EDGES] = {0, 0x80000000, 1, 0x80000001, 2, 0x7fffff, 0x807fffff, 0x800000, 0x800001, 0x80800000, 0x3f000000,
                                               0x3f7fffff, 0x3f800000, 0xbf800000, 0x3f800001, 0x3fc00000, 0xc0000000, 0x40490fdb, 0x477fefff,
                                               0x477ff000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,
                                               0x7fffffff, 0x4f000000, 0xcf000001, 0x33000000, 0x5f000000};
    const uint64_t top = 1ull << (bits - 1);
    switch (kind) {
    case 's': return shifts[i];
    case 'l': return i;
    case 'n': return (uint64_t)(int64_t)((int)i - ALU_EDGES / 2);
    case 'h': return halves[i] | (uint64_t)halves[(i * 5 + 3) % ALU_EDGES] << 16;
    case 'b': return brains[i] | (uint64_t)brains[(i * 5 + 3) % ALU_EDGES] << 16;
    case 'f': return floats[i];
    case 'd': {
        const double doubles[] = {0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp-1023, 0x1p-149, 0x1p-150, 0x1p-126, 0x1.ffffffp-127, 0x1p31, 0x1p63,
                                  0x1p64, 0x1.fffffffffffffp1023, 0x1.fffffefp127, 65519.999, 65520, 0.5, 1.5, 2.5};
        if (i < 17) return gs_f64_bits(i & 1 ? -doubles[i] : doubles[i]);
        return gs_f64_bits((double)gs_bits_f32(floats[i]));
    }
    default: {
        const uint64_t bases[] = {0, top, 1ull << (bits / 2), top >> 1};
        const uint64_t others[] = {0x5555555555555555ull, 0xaaaaaaaaaaaaaaaaull, 0x123456789abcdef0ull, 0xdeadbeefcafebabeull};
        return i < 28 ? bases[i / 7] + (uint64_t)(int64_t)((int)(i % 7) - 3) : others[i - 28];
    }
    }
}

static inline uint64_t alu_random(char kind, gs_random *random)
{
    const uint64_t bits = gs_random_next(random);
    const uint64_t narrow = (bits & 0x807fffffull) | (uint64_t)(127 - 24 + (bits >> 40) % 48) << 23;
    switch (kind) {
    case 's': return bits % 70;
    case 'l': return bits % 32;
    case 'n': return (uint64_t)((int64_t)(bits % 41) - 20);
    case 'h':
        if (bits >> 60 < 4) return bits & 0xffffffff;
        return (bits & 0x83ff83ff) | (uint64_t)(10 + (bits >> 40) % 11) << 10 | (uint64_t)(10 + (bits >> 50) % 11) << 26;
    case 'b':
        if (bits >> 60 < 4) return bits & 0xffffffff;
        return (bits & 0x807f807f) | (uint64_t)(120 + (bits >> 40) % 15) << 7 | (uint64_t)(120 + (bits >> 50) % 15) << 23;
    case 'f': return bits >> 60 < 3 ? bits & 0xffffffff : bits >> 60 < 8 ? narrow & 0xfffff000 : narrow;
    case 'd':
        if (bits >> 60 < 2) return bits;
        if (bits >> 60 < 8) return gs_f64_bits((double)gs_bits_f32((uint32_t)narrow)) + (bits >> 61 & 1);
        return (bits & 0x800fffffffffffffull) | (uint64_t)(1023 - 40 + (bits >> 3) % 110) << 52;
    default:
        if (bits >> 60 < 5) return bits;
        return bits >> 60 < 10 ? (uint64_t)((int64_t)bits >> (bits >> 5 & 63)) : (uint64_t)(int64_t)((int)(bits >> 20 & 255) - 128);
    }
}

/* ---- rounding by definition ---- */

typedef struct alu_format { int precision, least, most; } alu_format;   /* precision: bits of the significand; least, most: exponents of normal numbers */
static const alu_format ALU_F16 = {11, -14, 15}, ALU_BF16 = {8, -126, 127}, ALU_TF32 = {11, -126, 127};

/* mode: n to nearest even, a to nearest with ties away from zero, z towards zero, m towards -infinity, p towards +infinity */
static inline double alu_round(long double exact, alu_format f, char mode)
{
    int exponent;
    if (!(fabsl(exact) <= 0x1p1100L) || exact == 0) return (double)exact;
    frexpl(exact, &exponent);
    const int quantum = (exponent - 1 > f.least ? exponent - 1 : f.least) - (f.precision - 1);
    const long double scaled = ldexpl(fabsl(exact), -quantum), down = floorl(scaled), part = scaled - down;
    const bool negative = exact < 0, up = mode == 'n'   ? part > 0.5L || (part == 0.5L && fmodl(down, 2) != 0)
                                          : mode == 'a' ? part >= 0.5L
                                          : mode == 'm' ? negative && part > 0
                                          : mode == 'p' ? !negative && part > 0
                                                        : false;
    const bool to_most = mode == 'z' || mode == (negative ? 'p' : 'm');
    const double most = ldexp(2 - ldexp(1, 1 - f.precision), f.most);
    const long double rounded = ldexpl(down + (up ? 1 : 0), quantum);
    const double magnitude = rounded <= most ? (double)rounded : to_most ? most : INFINITY;
    return negative ? -magnitude : magnitude;
}

static inline uint64_t alu_of_f32(double value)
{
    return isnan(value) ? 0x7fffffff : gs_f32_bits((float)value);
}
static inline uint64_t alu_of_half(double value, bool brain) { return brain ? gs_f64_to_bf16(value) : gs_f64_to_f16(value); }
static inline double alu_half(uint64_t bits, bool brain) { return brain ? gs_bf16_to_f32((uint16_t)bits) : gs_f16_to_f32((uint16_t)bits); }
static inline double alu_f32(uint64_t bits) { return gs_bits_f32((uint32_t)bits); }

/* ---- comparing with a reference ---- */

/* v: the sources' low bits; context: passed through from alu_check */
typedef uint64_t alu_reference(const uint64_t v[4], const void *context);

static inline bool alu_equal(char letter, char kind, uint64_t got, uint64_t want)
{
    if (got == want) return true;
    return letter == 'q' && strchr("dfhb", kind) && isnan(gs_bits_f64(got)) && isnan(gs_bits_f64(want));   /* an f64 result may be any NaN */
}

/* All pairs of edge values, then random values. Every second warp has inactive lanes, which must keep their values. kinds: the kind of each source, in order; the last one
 * is also the kind of the result. */
static inline void alu_check(const char *statements, const char *kinds, alu_reference *reference, const void *context)
{
    enum { WARPS = 2 * ALU_EDGES };
    emu_alu t;
    gs_random random = {7};
    const int sources = (int)strlen(kinds);
    char source[4][3] = {{0}}, result[3] = "";
    alu_open(&t, statements);
    for (const char *p = "phrq"; *p; p++)
        for (int i = 0; i <= 4; i++) {
            const char name[3] = {*p, (char)('0' + i), 0};
            char text[4] = {'%', *p, (char)('0' + i), 0};
            if (!strstr(statements, text)) continue;
            memcpy(i ? source[i - 1] : result, name, sizeof name);
        }
    for (int warp = 0; warp < WARPS; warp++) {
        const uint32_t lanes = warp & 1 ? (uint32_t)gs_random_next(&random) | 1u << (warp & 31) : GS_EMU_FULL;
        uint64_t value[GS_EMU_LANES][4] = {{0}}, before[GS_EMU_LANES];
        for (int lane = 0; lane < GS_EMU_LANES; lane++) {
            for (int i = 0; i < sources; i++) {
                const int bits = alu_bits(source[i][0]);
                const unsigned edge[4] = {(unsigned)lane, (unsigned)warp, (unsigned)(lane * 7 + warp * 5 + 3), (unsigned)(lane * 11 + warp * 3)};
                const uint64_t v = warp < ALU_EDGES ? alu_edge(kinds[i], bits, edge[i] % ALU_EDGES) : alu_random(kinds[i], &random);
                value[lane][i] = bits == 64 ? v : v & ((1ull << bits) - 1);
                alu_set(&t, source[i], lane, value[lane][i]);
            }
            alu_set(&t, result, lane, 0x1111111111111111ull * (uint64_t)(lane & 15));
            before[lane] = alu_get(&t, result, lane);
        }
        alu_run(&t, lanes);
        for (int lane = 0; lane < GS_EMU_LANES; lane++) {
            const uint64_t got = alu_get(&t, result, lane), *const v = value[lane];
            const uint64_t want = lanes >> lane & 1 ? reference(v, context) : before[lane];
            if (!alu_equal(result[0], kinds[sources - 1], got, want))
                fail_msg("%s with %#llx %#llx %#llx %#llx gives %#llx, not %#llx (lane %d of %#x)", statements, (unsigned long long)v[0],
                         (unsigned long long)v[1], (unsigned long long)v[2], (unsigned long long)v[3], (unsigned long long)got,
                         (unsigned long long)want, lane, lanes);
        }
    }
    alu_close(&t);
}

#endif
