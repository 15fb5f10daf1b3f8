/* SPDX-License-Identifier: MIT
 * The kernel gs_reference, run on the emulated device, and the CPU reference, which replaces it there, give the same bits: for every input type, layout and type of C,
 * with and without C, sizes that are no multiple of a tile, padded rows, a batch, infinities and NaN. The kernels of verification give the same results as the host code
 * that replaces them there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "common/args.h"
#include "device/device.h"
#include "loaded/loaded.h"
#include "schedule/family.h"
#include "verify/check_run.h"

#define OK(call)                                                        \
    do {                                                                \
        if ((call) != GS_OK) fail_msg("%s: %s", #call, error.text);     \
    } while (0)

typedef struct operands {
    gs_pointer at[4];   /* A, B, C, the reference */
    size_t     bytes[4];
} operands;

static void *address(gs_pointer pointer) { return (void *)(uintptr_t)pointer; }

static void make_operands(gs_verifier *verifier, gs_device *device, const gs_problem *p, gs_data kind, operands *o)
{
    gs_error error = {0};
    for (int i = 0; i < 4; i++) {
        o->bytes[i] = i < 3 ? gs_problem_bytes(p, (char)('a' + i)) : (size_t)(p->m * p->batch * p->n) * sizeof(double);
        OK(device->ops->alloc(device, o->bytes[i], &o->at[i], &error));
        if (i < 3) OK(gs_generate(verifier, p, (char)('a' + i), kind, 5, o->at[i], NULL, &error));
    }
}

/* Launches the kernel as gs_reference does on a GPU. */
static void run_kernel(gs_device *device, const gs_problem *p, const operands *o)
{
    const gs_schedule schedule = {.family = GS_FAMILY_SIMPLE};
    gs_error error = {0};
    gs_kernel kernel = {0};
    gs_kernel_source source;
    gs_image image = {0};
    gs_module module;
    gs_function_info info;
    gs_launch what = {.block = {16, 16, 1}, .cluster = {1, 1, 1}, .grid = {(uint32_t)((p->m + 63) / 64), (uint32_t)((p->n + 63) / 64), (uint32_t)p->batch}};
    OK(gs_kernel_build(&kernel, &schedule, p, &device->caps, &error));
    gs_kernel_to_source(&kernel, &source);
    OK(device->ops->compile(device, &source.source, &image, &error));
    OK(device->ops->load(device, &image, &module, &error));
    OK(device->ops->function(device, module, "gs_reference", &what.function, &info, &error));
    gs_kernel_args args = {
        .a = address(o->at[0]), .b = address(o->at[1]), .c = address(o->at[2]), .d = address(o->at[3]), .lda = p->lda, .ldb = p->ldb, .ldc = p->ldc,
        .ldd = p->n, .m = (int)p->m, .n = (int)p->n, .k = (int)p->k, .batch = (int)p->batch, .alpha = p->alpha, .beta = p->beta,
    };
    what.params = (void *[]){&args};
    OK(device->ops->launch(device, &what, NULL, &error));
    OK(device->ops->queue_wait(device, NULL, &error));
    device->ops->unload(device, module);
    gs_image_free(&image);
}

/* All NaNs are equal. */
static void compare(const gs_problem *p, const double *kernel, const double *cpu)
{
    char text[GS_PROBLEM_TEXT];
    int numbers = 0;
    for (int64_t i = 0; i < p->m * p->batch * p->n; i++) {
        if (kernel[i] != kernel[i] && cpu[i] != cpu[i]) continue;
        if (memcmp(&kernel[i], &cpu[i], sizeof *cpu) != 0) fail_msg("%s: element %lld is %a of the kernel, %a of the CPU", gs_problem_format(p, text), (long long)i, kernel[i], cpu[i]);
        numbers += kernel[i] != 0;
    }
    assert_true(numbers > 0);
}

static void both(gs_verifier *verifier, gs_device *device, const gs_problem *p, gs_data kind)
{
    gs_error error = {0};
    operands o;
    make_operands(verifier, device, p, kind, &o);
    double *const kernel = malloc(o.bytes[3]), *const cpu = malloc(o.bytes[3]);
    assert_non_null(kernel);
    assert_non_null(cpu);
    run_kernel(device, p, &o);
    OK(device->ops->copy_out(device, kernel, o.at[3], o.bytes[3], &error));
    OK(device->ops->fill(device, o.at[3], 0, o.bytes[3], NULL, &error));
    OK(gs_reference(verifier, p, o.at[0], o.at[1], o.at[2], o.at[3], NULL, &error));
    OK(device->ops->copy_out(device, cpu, o.at[3], o.bytes[3], &error));
    compare(p, kernel, cpu);
    for (int i = 0; i < 4; i++) device->ops->free(device, o.at[i]);
    free(kernel);
    free(cpu);
}

static void the_kernel_and_the_cpu_agree(void **state)
{
    (void)state;
    gs_error error = {0};
    gs_device *device;
    gs_verifier *verifier;
    if (!gs_compiler_version(NULL)) skip();
    OK(gs_device_open(&device, "emu:h200", getenv("GS_TEST_CACHE"), &error));
    OK(gs_verifier_create(&verifier, device, &error));
    for (int i = 0; i < 8; i++) {
        gs_problem p = gs_problem_make(i & 1 ? GS_BF16 : GS_F16, i & 2 ? GS_TN : GS_NN, 67, 70, 83);
        p.out = (gs_type)((i + 1) % 3);   /* the type of C only */
        p.alpha = 0.7f;
        p.beta = i & 4 ? -1.3f : 0;
        p.batch = i % 3 == 0 ? 2 : 1;
        p.lda += 3, p.ldb += 5, p.ldc += 7;
        both(verifier, device, &p, i % 3 == 2 ? GS_DATA_SPECIAL : GS_DATA_NORMAL);
    }
    gs_problem empty = gs_problem_make(GS_F16, GS_TN, 20, 30, 0);
    empty.beta = -1.5f;
    both(verifier, device, &empty, GS_DATA_NORMAL);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
}

/* ---- the kernels of verification, emulated and as host code ---- */

typedef struct both_ways {
    gs_device     *device;
    gs_verifier   *verifier;
    gs_device_ops  emulating;   /* a copy of the device's without host access to its memory, so that kernels are emulated */
    const gs_device_ops *native;
} both_ways;

static void open_both(both_ways *b)
{
    gs_error error = {0};
    if (!gs_compiler_version(NULL)) skip();
    OK(gs_device_open(&b->device, "emu:h200", getenv("GS_TEST_CACHE"), &error));
    OK(gs_verifier_create(&b->verifier, b->device, &error));
    b->native = b->device->ops;
    b->emulating = *b->native;
    b->emulating.host = NULL;
}

static void close_both(both_ways *b)
{
    b->device->ops = b->native;
    gs_verifier_destroy(&b->verifier);
    gs_device_close(&b->device);
}

static void choose(both_ways *b, bool native) { b->device->ops = native ? b->native : &b->emulating; }

static void generated(both_ways *b, const gs_datagen *g, gs_pointer to, bool native, unsigned char *out, size_t bytes)
{
    gs_error error = {0};
    gs_device *const device = b->device;
    choose(b, native);
    OK(device->ops->fill(device, to, 0, (bytes + 3) / 4 * 4, NULL, &error));
    OK(gs_check_generate(b->verifier, g, to, NULL, &error));
    OK(device->ops->queue_wait(device, NULL, &error));
    OK(device->ops->copy_out(device, out, to, bytes, &error));
}

static void the_kernel_and_the_host_make_the_same_data(void **state)
{
    (void)state;
    static unsigned char kernel[1 << 16], host[1 << 16];
    static const int kinds[] = {GS_VALUES_INTEGER, GS_VALUES_CANCEL, GS_VALUES_INDEX, GS_VALUES_QUIET, GS_VALUES_LOUD, GS_VALUES_ZERO, GS_VALUES_NAN, GS_VALUES_RANGE, GS_VALUES_IDLE, GS_VALUES_STEEP, GS_VALUES_POWERS, GS_VALUES_WIDE, GS_VALUES_SIGNS};
    gs_error error = {0};
    both_ways b;
    gs_pointer memory;
    open_both(&b);
    OK(b.device->ops->alloc(b.device, sizeof host, &memory, &error));
    for (size_t i = 0; i < GS_COUNT(kinds); i++)
        for (int variant = 0; variant < 4; variant++)
            for (char operand = 'a'; operand <= 'c'; operand++) {
                gs_problem p = gs_problem_make(variant & 1 ? GS_BF16 : GS_F16, variant & 2 ? GS_TN : GS_NN, 37, 43, 53);
                p.out = (gs_type)((variant + 1) % 3);
                p.batch = 2, p.beta = (float)(variant & 1);
                p.lda += 3, p.ldb += 5, p.ldc += 7;
                const gs_datagen g = gs_datagen_make(&p, operand, kinds[i], 0x123456789abcdefu * (uint64_t)(variant + 1));
                const size_t bytes = gs_problem_bytes(&p, operand);
                assert_true(bytes <= sizeof host);
                generated(&b, &g, memory, true, host, bytes);
                generated(&b, &g, memory, false, kernel, bytes);
                for (size_t at = 0; at < bytes; at += gs_type_size((gs_type)g.type)) {
                    uint32_t one = 0, other = 0;
                    memcpy(&one, kernel + at, gs_type_size((gs_type)g.type));
                    memcpy(&other, host + at, gs_type_size((gs_type)g.type));
                    const uint32_t exponent = g.type == GS_F16 ? 0x7c00 : g.type == GS_BF16 ? 0x7f80 : 0x7f800000, all = g.type == GS_F32 ? 0x7fffffff : 0x7fff;
                    if ((one & all) > exponent && (other & all) > exponent) continue;   /* all NaNs are equal */
                    if (one != other) fail_msg("kind %d, variant %d, %c: byte %zu on: %08x of the kernel, %08x of the host", kinds[i], variant, operand, at, one, other);
                }
            }
    b.device->ops->free(b.device, memory);
    close_both(&b);
}

enum { RANGE = 4096, SLOTS = 12 };

/* Every kernel that works on a memory range, and its counters. */
static void over_a_range(both_ways *b, gs_pointer at, bool native, unsigned char *out, uint64_t counters[GS_COUNTERS])
{
    gs_error error = {0};
    gs_device *const device = b->device;
    gs_verifier *const v = b->verifier;
    gs_problem p = gs_problem_make(GS_F16, GS_TN, 20, 24, 8);
    p.batch = 2, p.ldd = 29, p.stride_d = 700;
    choose(b, native);
    OK(device->ops->fill(device, at, 0x12345678, RANGE, NULL, &error));
    OK(gs_check_counters_clear(v, NULL, &error));
    OK(gs_check_poison(v, at + 2, 1000, GS_POISON_FIRST, NULL, &error));
    OK(gs_check_guard_fill(v, at + 1010, 500, 77, NULL, &error));
    OK(gs_veil(v, at + 1600, 100, 99, NULL, &error));
    OK(gs_check_change(v, &p, 'd', at + 1500, NULL, &error));
    OK(gs_check_guard(v, at + 1000, 510, 77, 0, NULL, &error));                 /* the first ten bytes are no guard */
    OK(gs_check_pattern(v, at, 1004, GS_POISON_FIRST, 1, NULL, &error));
    OK(gs_check_words(v, at + 8, 2000, 2, NULL, &error));
    OK(gs_check_hash(v, &p, 'a', at + 2, 3, NULL, &error));
    OK(gs_check_hash(v, &p, 'd', at + 2, 4, NULL, &error));
    OK(gs_check_padding(v, &p, 'd', at, GS_POISON_FIRST, 5, NULL, &error));
    p.batch = 1;
    OK(gs_check_padding(v, &p, 'd', at + 2, GS_POISON_FIRST, 6, NULL, &error));
    const gs_banded bands[] = {{at + 950, 30, GS_POISON_FIRST}, {at + 900, 64, GS_POISON_SECOND}};
    OK(gs_check_bands(v, bands, 2, 100, 7, NULL, &error));
    OK(gs_check_counters_read(v, counters, NULL, &error));
    OK(device->ops->copy_out(device, out, at, RANGE, &error));
}

static void ranges_agree(void **state)
{
    (void)state;
    static unsigned char out[2][RANGE];
    uint64_t counters[2][GS_COUNTERS];
    gs_error error = {0};
    both_ways b;
    gs_pointer memory;
    open_both(&b);
    OK(b.device->ops->alloc(b.device, RANGE, &memory, &error));
    const gs_range all = {.at = address(memory), .units = RANGE / 2}, beyond = {.at = address(memory), .units = RANGE / 2 + 1};
    assert_true(gs_check_native(b.verifier, GS_CHECK_POISON, &all, NULL));
    assert_false(gs_check_native(b.verifier, GS_CHECK_POISON, &beyond, NULL));   /* the emulator must report the access out of bounds */
    for (int native = 0; native < 2; native++) over_a_range(&b, memory, native, out[native], counters[native]);
    assert_memory_equal(out[0], out[1], RANGE);
    for (int i = 0; i < 9; i++)
        if (counters[0][i] != counters[1][i] || counters[1][i] == 0) fail_msg("counter %d: %llu of the kernel, %llu of the host", i, (unsigned long long)counters[0][i], (unsigned long long)counters[1][i]);
    b.device->ops->free(b.device, memory);
    close_both(&b);
}

/* Against the published sequence of ChaCha8 for a key and a nonce of zeros (draft-strombergsson-chacha-test-vectors). Words of a block lie 32 apart. */
static void the_veil_is_chacha(void **state)
{
    (void)state;
    static const uint64_t first[8] = {0xd6405f892fef003e, 0xa1a5091fe8b85b7f, 0x3b7f9acec30e842c, 0x1e1a71ef88e11b18, 0x416f21b972e14c98, 0x19566d456753449f, 0x01b086daa3424a31, 0x42fe0c0eb8fd7b38};
    enum { WORDS = 300 };
    uint64_t words[2][WORDS], plain[WORDS];
    gs_error error = {0};
    both_ways b;
    gs_pointer memory;
    open_both(&b);
    OK(b.device->ops->alloc(b.device, sizeof plain, &memory, &error));
    memset(plain, 0, sizeof plain);
    for (int native = 0; native < 2; native++) {
        choose(&b, native);
        for (uint64_t key = 0; key < 2; key++) {
            OK(b.device->ops->copy_in(b.device, memory, plain, sizeof plain, &error));
            OK(gs_veil(b.verifier, memory, WORDS, key, NULL, &error));
            OK(b.device->ops->copy_out(b.device, words[key], memory, sizeof plain, &error));
            OK(gs_veil(b.verifier, memory, WORDS, key, NULL, &error));
            OK(b.device->ops->copy_out(b.device, plain, memory, sizeof plain, &error));
            for (int i = 0; i < WORDS; i++) assert_int_equal(plain[i], 0);
        }
        for (int i = 0; i < 8; i++)
            if (words[0][i * 32] != first[i]) fail_msg("word %d: %016llx", i, (unsigned long long)words[0][i * 32]);
        for (int i = 0; i < WORDS; i++) {
            assert_true(words[0][i] != words[1][i] && words[0][i] != 0);
            for (int j = 0; j < i; j++) assert_true(words[0][i] != words[0][j]);
        }
    }
    b.device->ops->free(b.device, memory);
    close_both(&b);
}

/* Every second element differs by one of its lower bits, padding by none. */
static void a_change_is_small(void **state)
{
    (void)state;
    static const struct { gs_type type; uint32_t most; } types[] = {{GS_F16, 1 << 4}, {GS_BF16, 1 << 1}, {GS_F32, 1 << 17}};
    enum { ROWS = 40, COLS = 21, LD = 23, BYTES = 2 * ROWS * LD * 4 };
    static unsigned char before[BYTES], after[BYTES];
    gs_error error = {0};
    both_ways b;
    gs_pointer memory;
    open_both(&b);
    OK(b.device->ops->alloc(b.device, BYTES, &memory, &error));
    for (size_t t = 0; t < GS_COUNT(types); t++) {
        const size_t size = gs_type_size(types[t].type);
        gs_problem p = gs_problem_make(types[t].type == GS_BF16 ? GS_BF16 : GS_F16, GS_TN, ROWS, COLS, 8);
        p.out = types[t].type, p.ldd = LD, p.batch = 2, p.stride_d = ROWS * LD;
        for (int i = 0; i < BYTES; i++) before[i] = (unsigned char)(i * 37);
        OK(b.device->ops->copy_in(b.device, memory, before, BYTES, &error));
        OK(gs_check_change(b.verifier, &p, 'd', memory, NULL, &error));
        OK(b.device->ops->queue_wait(b.device, NULL, &error));
        OK(b.device->ops->copy_out(b.device, after, memory, BYTES, &error));
        int changed = 0;
        uint32_t seen = 0;
        for (size_t row = 0; row < 2 * ROWS; row++)
            for (size_t col = 0; col < LD; col++) {
                uint32_t one = 0, other = 0;
                memcpy(&one, before + (row * LD + col) * size, size);
                memcpy(&other, after + (row * LD + col) * size, size);
                if (one == other) continue;
                assert_true(col < COLS && (row + col) % 2 == 0 && ((one ^ other) & ((one ^ other) - 1)) == 0 && (one ^ other) <= types[t].most);
                seen |= one ^ other;
                changed++;
            }
        assert_int_equal(changed, ROWS * COLS);
        assert_int_equal(seen, types[t].most * 2 - 1);
    }
    b.device->ops->free(b.device, memory);
    close_both(&b);
}

/* D is random, so that most elements are wrong, each in a different way. */
static void outputs_of(both_ways *b, const gs_problem *p, const gs_pointer at[GS_OPERANDS])
{
    gs_error error = {0};
    for (int i = 0; i < gs_operand_count(p); i++) {
        const char letter = GS_OPERAND_LETTERS[i];
        if (gs_problem_bytes(p, letter) == 0) continue;
        if (letter == 'd') {
            gs_datagen numbers = gs_datagen_make(p, 'c', GS_VALUES_SPECIAL, 3);
            numbers.ld = gs_shape_of(p, 'd').ld, numbers.stride = gs_shape_of(p, 'd').stride;
            OK(gs_check_generate(b->verifier, &numbers, at[i], NULL, &error));
        } else {
            OK(gs_generate(b->verifier, p, letter, GS_DATA_NORMAL, 7 + (uint64_t)i, at[i], NULL, &error));
        }
    }
}

static void near(double kernel, double host, const char *problem, const char *what)
{
    if (!(fabs(kernel - host) <= 1e-9 * fabs(kernel)) && !(kernel != kernel && host != host)) fail_msg("%s: %s is %.17g of the kernel, %.17g of the host", problem, what, kernel, host);
}

static void compared(both_ways *b, const char *text, double tolerance)
{
    gs_error error = {0};
    gs_problem p;
    static const gs_uneven uneven = {.seed = 5, .low = -4, .count = 9, .most = 5};
    gs_pointer at[GS_OPERANDS] = {0}, reference;
    gs_check_counts counts[2];
    gs_device *const device = b->device;
    OK(gs_problem_parse(&p, text, &error));
    choose(b, true);
    for (int i = 0; i < gs_operand_count(&p); i++) OK(device->ops->alloc(device, gs_problem_bytes(&p, GS_OPERAND_LETTERS[i]), &at[i], &error));
    OK(device->ops->alloc(device, (size_t)(p.m * p.batch * gs_columns_of_b(&p)) * sizeof(double), &reference, &error));
    outputs_of(b, &p, at);
    const gs_args args = gs_operand_args(at);
    OK(gs_reference_of(b->verifier, &p, &args, reference, NULL, &error));
    for (int native = 0; native < 2; native++) {
        choose(b, native);
        OK(gs_check_compare(b->verifier, &p, &args, reference, tolerance, tolerance == 0, GS_POISON_FIRST, tolerance ? &uneven : NULL, &counts[native], NULL, &error));
        if (p.bias == GS_DBIAS) OK(gs_check_compare_sums(b->verifier, &p, &args, reference, tolerance, true, GS_POISON_FIRST, &counts[native], NULL, &error));
    }
    const gs_check_counts *const k = &counts[0], *const h = &counts[1];
    near(k->reference2, h->reference2, text, "the reference's size");
    near(k->sums2, h->sums2, text, "the sums' size");
    near(k->error2, h->error2, text, "the error's size");
    near(k->absolute_error, h->absolute_error, text, "the error");
    const uint64_t of_kernel[] = {k->finite, k->sums, k->first, k->row_low, k->row_high, k->col_low, k->col_high, k->mismatches, k->unwritten, k->nans, k->zeros};
    const uint64_t of_host[] = {h->finite, h->sums, h->first, h->row_low, h->row_high, h->col_low, h->col_high, h->mismatches, h->unwritten, h->nans, h->zeros};
    for (size_t i = 0; i < GS_COUNT(of_kernel); i++)
        if (of_kernel[i] != of_host[i]) fail_msg("%s: count %zu is %llu of the kernel, %llu of the host", text, i, (unsigned long long)of_kernel[i], (unsigned long long)of_host[i]);
    assert_true(k->mismatches > 0);
    for (int i = 0; i < GS_OPERANDS; i++) device->ops->free(device, at[i]);
    device->ops->free(device, reference);
}

static void comparisons_agree(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "f16:37x43x53:tn", "bf16:37x43x53:nn:d=f32:ldd=50", "f16:20x24x33:tt:b=3:beta=0.5", "bf16:24x40x33:nn:ep=bias+gelu", "f16:24x40x33:tn:ep=silu+gate",
        "bf16:20x24x33:tn:beta=1:ep=bias+gelu_erf+residual", "f16:16x24x40:nn:ep=scale_m+scale_n+bias", "bf16:24x16x72:tn:g=3:ep=bias+silu", "bf16:24x16x32:tn:gm=4:ep=drelu+dbias", "f16:24x16x32:tn:ep=dgelu+dbias",
    };
    both_ways b;
    open_both(&b);
    for (size_t i = 0; i < GS_COUNT(problems); i++)
        for (int exact = 0; exact < 2; exact++) compared(&b, problems[i], exact ? 0 : 1);
    close_both(&b);
}

/* An operand set with a wrong D, and without poison in the guard around it. */
static void timed_results_agree(void **state)
{
    (void)state;
    static const char *const problems[] = {"f16:37x43x53:tn:ldd=50", "bf16:20x24x33:nn:b=3:beta=0.5", "f16:24x40x33:tn:ep=silu+gate", "bf16:24x16x72:tn:g=3:ep=bias+silu"};
    gs_error error = {0};
    both_ways b;
    open_both(&b);
    gs_device *const device = b.device;
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        enum { BAND = 512 };
        gs_problem p;
        gs_pointer at[GS_OPERANDS] = {0}, table, found, around;
        uint64_t counts[2][2], zeros[2] = {0};
        OK(gs_problem_parse(&p, problems[i], &error));
        choose(&b, true);
        for (int j = 0; j < gs_operand_count(&p); j++)
            if (j != 3) OK(device->ops->alloc(device, gs_problem_bytes(&p, GS_OPERAND_LETTERS[j]), &at[j], &error));
        const size_t bytes = gs_problem_bytes(&p, 'd'), all = (bytes + 2 * BAND + 3) / 4 * 4;
        OK(device->ops->alloc(device, all, &around, &error));
        OK(device->ops->fill(device, around, 0x40404040, all, NULL, &error));
        at[3] = around + BAND;
        outputs_of(&b, &p, at);
        const gs_timed_set set = {.a = at[0], .b = at[1], .c = at[2], .d = at[3], .bias = at[4], .offsets = at[5], .aux = at[6], .scale_m = at[7], .scale_n = at[8],
                                  .begin = {around, at[6], at[4]}, .end = {around + all, at[6] + gs_problem_bytes(&p, 'g') / 4 * 4, at[4] + gs_problem_bytes(&p, 'e') / 4 * 4}};
        OK(device->ops->alloc(device, sizeof set, &table, &error));
        OK(device->ops->alloc(device, sizeof zeros, &found, &error));
        OK(device->ops->copy_in(device, table, &set, sizeof set, &error));
        for (int native = 0; native < 2; native++) {
            choose(&b, native);
            OK(device->ops->copy_in(device, found, zeros, sizeof zeros, &error));
            OK(gs_timed_check(b.verifier, &p, 4, table, 1, GS_POISON_FIRST, 11, found, NULL, &error));
            OK(device->ops->copy_out(device, counts[native], found, sizeof zeros, &error));
        }
        if (memcmp(counts[0], counts[1], sizeof zeros) != 0 || counts[1][0] == 0 || counts[1][1] == 0)
            fail_msg("%s: %llu and %llu of the kernels, %llu and %llu of the host", problems[i], (unsigned long long)counts[0][0], (unsigned long long)counts[0][1], (unsigned long long)counts[1][0], (unsigned long long)counts[1][1]);
        at[3] = around;
        for (int j = 0; j < GS_OPERANDS; j++) device->ops->free(device, at[j]);
        device->ops->free(device, table);
        device->ops->free(device, found);
    }
    close_both(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_and_the_cpu_agree), cmocka_unit_test(the_kernel_and_the_host_make_the_same_data), cmocka_unit_test(ranges_agree), cmocka_unit_test(the_veil_is_chacha), cmocka_unit_test(a_change_is_small),
        cmocka_unit_test(comparisons_agree),
        cmocka_unit_test(timed_results_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
