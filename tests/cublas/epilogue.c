/* SPDX-License-Identifier: MIT
 * Problems with an epilogue on cuBLASLt: epilogues that cuBLASLt has are fused, others follow as a kernel of ours, and the results are right. cuBLASLt is a fake
 * (fake/libcublaslt.c) whose product the test writes; the kernel runs on the emulated device. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "common/epilogue.h"
#include "cublas/cublas.h"
#include "cublas/library.h"
#include "fake/cublaslt.h"
#include "problem/layout.h"
#include "texts.h"

#define OK(call)                                                    \
    do {                                                            \
        if ((call) != GS_OK) fail_msg("%s: %s", #call, error.text); \
    } while (0)

typedef void hook(int id, void *stream);

static gs_device  *device;
static const fake_call *last;
static hook      **told;
static int         multiplied;   /* the algorithm of the last multiplication */
static const void *product;      /* the product that cuBLASLt is to give */
static size_t      product_bytes;

static void multiply(int id, void *stream)
{
    gs_error error = {0};
    (void)stream;
    multiplied = id;
    OK(device->ops->copy_in(device, (gs_pointer)(uintptr_t)last->d, product, product_bytes, &error));
}

static int open_device(void **state)
{
    (void)state;
    gs_error error = {0};
    setenv("GEMMSMITH_CUBLASLT", GS_BINARY_DIR "/tests/fake/libfake_cublaslt.so", 1);
    setenv("FAKE_CUBLASLT", "7:0 8:0", 1);
    setenv("FAKE_CUBLASLT_MASKED", "", 1);
    void *const fake = dlopen(getenv("GEMMSMITH_CUBLASLT"), RTLD_NOW);
    if (!fake || gs_device_open(&device, "emu:h200", NULL, &error) != GS_OK) return 1;
    device->caps.emulated = false;   /* so that cuBLASLt is used */
    last = dlsym(fake, "fake_cublaslt_call");
    told = dlsym(fake, "fake_cublaslt_hook");
    *told = multiply;
    return last && told ? 0 : 1;
}

static int close_device(void **state)
{
    (void)state;
    *told = NULL;
    device->caps.emulated = true;
    gs_device_close(&device);
    return 0;
}

static gs_library *library_of(const char *text)
{
    gs_library *library;
    gs_error error = {0};
    const gs_problem problem = problem_of(text);
    if (gs_library_create(&library, device, &problem, &error) != GS_OK) fail_msg("%s: %s", text, error.text);
    return library;
}

/* Scalars given with a call replace the problem's. With f16 accumulation cuBLASLt takes them as f16, and those out of f16's range are refused. */
static void scalars_of_a_call(void **state)
{
    (void)state;
    gs_error error = {0};
    const float fits = 0.5f, largest = -65504, least = 0x1p-14f, large = 1e6f;
    gs_library *library = library_of("f16:16x24x8:tn:acc=f16:beta=1");
    gs_args args = gs_args_make((void *)4096, (void *)8192, (void *)16384, (void *)32768);
    OK(gs_library_check(library, &args, &error));
    args.alpha = &fits;
    OK(gs_library_check(library, &args, &error));
    args.alpha = &largest;
    OK(gs_library_check(library, &args, &error));
    args.alpha = &least;
    OK(gs_library_check(library, &args, &error));
    args.alpha = &large;
    assert_int_equal(gs_library_check(library, &args, &error), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_library_run(library, &args, NULL, &error), GS_ERROR_UNSUPPORTED);
    args.alpha = NULL;
    args.beta = &large;
    assert_int_equal(gs_library_check(library, &args, &error), GS_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "alpha");
    gs_library_destroy(&library);
}

/* The estimated time of a separate kernel after the product: its launch and its memory traffic. */
static void a_kernel_behind_takes_time(void **state)
{
    (void)state;
    static const char *const fused[] = {"f16:256x512x64:tn", "f16:256x512x64:tn:ep=bias+gelu", "f16:256x512x64:tn:ep=bias+gelu+aux", "f16:256x512x64:tn:ep=dgelu+dbias", "bf16:256x512x64:nn:beta=1:ep=relu"};
    /* passes: elements of D's size that are read and written */
    static const struct {
        const char *text;
        int         passes;
    } behind[] = {{"f16:4096x4096x64:tn:ep=dbias", 2}, {"bf16:4096x4096x64:tn:ep=silu", 2}, {"f16:4096x4096x64:tn:beta=1:ep=relu+residual", 3},
                  {"f16:4096x4096x64:tn:ep=dsilu+dbias", 3}, {"f16:4096x4096x64:tn:beta=1:ep=bias+silu+residual+aux", 4}, {"f16:4096x4096x64:tn:ep=silu+gate", 3},
                  {"f16:4096x4096x64:tn:ep=silu+gate+aux", 3}, {"f16:4096x4096x64:tn:ep=bias+silu+gate+aux", 5}, {"f16:4096x4096x64:tn:beta=1:ep=dgelu", 3}};
    const gs_caps *const caps = gs_caps_find("h200");
    for (size_t i = 0; i < GS_COUNT(fused); i++) {
        const gs_problem problem = problem_of(fused[i]);
        assert_true(gs_library_behind_us(&problem, caps) == 0);
    }
    for (size_t i = 0; i < GS_COUNT(behind); i++) {
        const gs_problem problem = problem_of(behind[i].text), small = gs_problem_make(GS_F16, GS_TN, 8, 8, 8);
        const double us = gs_library_behind_us(&problem, caps), memory_us = behind[i].passes * 4096.0 * 4096 * 2 / (caps->memory_gbs * 1e3);
        if (!(us > memory_us + 1 && us < 1.5 * memory_us + 3)) fail_msg("%s: %.2f us, memory alone %.2f us", behind[i].text, us, memory_us);
        assert_true(gs_library_behind_us(&small, caps) == 0);
    }
}

/* Arrays of pointers for all four matrices, with a fused epilogue; an epilogue that needs a separate kernel, and a cuBLASLt without such arrays, are refused. */
static void arrays_of_pointers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t    epilogue;
    } cases[] = {{"f16:16x24x8:tn:b=3:matrices=pointers", 0}, {"f16:16x24x8:nt:matrices=pointers:beta=1", 0}, {"bf16:16x24x8:tn:b=3:matrices=pointers:ep=bias+gelu", 36}};
    static const char *const refused[] = {"f16:16x24x8:tn:b=3:matrices=pointers:ep=silu", "f16:16x24x8:tn:b=3:matrices=pointers:beta=1:ep=relu+residual",
                                          "f16:16x24x8:tn:b=3:matrices=pointers:ep=dbias", "f16:16x24x8:tn:matrices=pointers:ep=bias_m"};
    gs_library *library;
    gs_error error = {0};
    *told = NULL;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].text);
        gs_args args = gs_args_make((void *)4096, (void *)8192, (void *)16384, (void *)32768);
        args.bias = (void *)65536;
        library = library_of(cases[i].text);
        assert_true(gs_library_is_fused(library));
        assert_int_equal(gs_library_count(library), 2);
        OK(gs_library_run(library, &args, NULL, &error));
        assert_int_equal(last->by_pointers, 4);
        assert_int_equal(last->epilogue, cases[i].epilogue);
        assert_true(last->b == args.a && last->a == args.b && last->d == args.d && last->c == (problem.beta != 0 ? args.c : args.d));
        for (const char *operand = "abcd"; *operand; operand++) assert_true(gs_library_alignment(library, *operand) <= 16);
        gs_library_destroy(&library);
    }
    for (size_t i = 0; i < GS_COUNT(refused); i++) {
        const gs_problem problem = problem_of(refused[i]);
        assert_int_equal(gs_library_create(&library, device, &problem, &error), GS_ERROR_UNSUPPORTED);
        assert_string_equal(error.field, "matrices");
    }
    const gs_problem problem = problem_of(cases[0].text);
    setenv("FAKE_CUBLASLT_STRIDED", "1", 1);
    assert_int_equal(gs_library_create(&library, device, &problem, &error), GS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "takes no arrays of pointers"));
    unsetenv("FAKE_CUBLASLT_STRIDED");
    library = library_of("f16:16x20x8:tn");
    for (const char *operand = "abcd"; *operand; operand++) assert_int_equal(gs_library_alignment(library, *operand), 2);
    setenv("FAKE_CUBLASLT_ALIGNMENT", "0", 1);   /* cuBLASLt reports none: the rows' alignment */
    for (const char *operand = "abcd"; *operand; operand++) assert_int_equal(gs_library_alignment(library, *operand), *operand < 'c' ? 16 : 8);
    unsetenv("FAKE_CUBLASLT_ALIGNMENT");
    gs_library_destroy(&library);
    library = library_of("f16:16x24x8:tn:b=3");
    gs_args args = gs_args_make((void *)4096, (void *)8192, NULL, (void *)32768);
    OK(gs_library_run(library, &args, NULL, &error));
    assert_int_equal(last->by_pointers, 0);
    gs_library_destroy(&library);
    *told = multiply;
}

/* Runs a problem and checks the epilogue of the cuBLASLt call. */
static void check_epilogue(gs_library *library, const gs_problem *problem, uint32_t wanted)
{
    gs_error error = {0};
    gs_args args = gs_args_make((void *)4096, (void *)8192, (void *)16384, (void *)32768);
    args.bias = (void *)65536;
    args.aux = (void *)131072;
    *told = NULL;
    OK(gs_library_run(library, &args, NULL, &error));
    *told = multiply;
    assert_int_equal(last->epilogue, wanted);
    if (problem->bias) assert_ptr_equal(last->bias, args.bias);
    if (gs_has_aux(problem)) assert_ptr_equal(last->aux, args.aux);
    assert_int_equal(gs_library_alignment(library, 'g'), gs_has_aux(problem) ? 16 : 1);
}

/* cases: problem, cublasLtEpilogue_t (0: none), number of suggestions */
static void what_it_has_is_fused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t    epilogue;
        int         count;
    } cases[] = {
        {"f16:16x24x8:tn",                      0,  2}, {"f16:16x24x8:tn:beta=1",             0, 2}, {"f16:16x24x8:tn:ep=bias",        4, 4},
        {"bf16:16x24x8:tn:ep=relu",             2,  4}, {"f16:16x24x8:tn:ep=bias+relu",       6, 4}, {"f16:16x24x8:nn:ep=gelu",       32, 4},
        {"f16:16x24x8:tn:beta=1:ep=bias+gelu", 36,  4}, {"f16:16x24x8:tn:ep=bias_m",          0, 2}, {"f16:16x24x8:tn:ep=silu",        0, 2},
        {"f16:16x24x8:tn:ep=bias+gelu_erf",     0,  2}, {"f16:16x24x8:tn:beta=1:ep=relu+residual", 0, 2},
        {"f16:16x24x8:tn:ep=bias+gelu+aux",   164,  4}, {"f16:16x24x8:tn:ep=relu+aux",        0, 2}, {"f16:16x24x8:nn:ep=dgelu",     192, 4},
        {"f16:16x24x8:tn:beta=1:ep=gelu+aux", 160,  4}, {"f16:16x24x8:tn:ep=gelu_erf+aux",    0, 2}, {"f16:16x24x8:nn:ep=dgelu+dbias", 208, 4},
        {"f16:16x24x8:tn:ldaux=28:ep=gelu+aux", 0,  2}, {"f16:16x24x8:tn:d=f32:ep=gelu+aux",  0, 2}, {"f16:16x24x8:nn:b=2:ep=dgelu+dbias", 0, 2},
        {"f16:16x24x8:tn:b=2:saux=388:ep=dgelu", 0, 2}, {"f16:16x24x8:tn:b=2:saux=392:ep=dgelu", 192, 4}, {"f16:16x24x8:nn:beta=1:ep=dgelu", 0, 2},
        {"f16:16x24x8:tn:ep=dsilu+dbias",       0,  2}, {"f16:16x24x8:tn:ep=bias+relu+aux",   0, 2},
        {"f16:16x24x8:tn:b=3:se=24:ep=bias",   4,  4}, {"f16:16x24x8:tn:b=3:se=25:ep=bias",   0, 2}, {"f16:16x24x8:tn:d=f32:b=3:se=27:ep=bias+relu", 0, 2},   /* biases at multiples of 16 bytes */
        {"f16:16x24x8:tn:ep=dbias",            0,  2}, {"f16:16x24x8:tn:ep=scale_n",          0, 2}, {"bf16:16x24x8:nn:ep=scale_m+bias", 0, 2},
        {"f16:16x24x8:tn:ep=relu+gate",         0,  2}, {"f16:16x24x8:nn:ep=bias+gelu+gate_i", 0, 2}, {"f16:16x24x8:tn:ep=relu+gate+aux", 0, 2},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_problem problem = problem_of(cases[i].text);
        gs_library *library = library_of(cases[i].text);
        const bool plain = !problem.bias && !problem.activation && !problem.scales;
        assert_int_equal(gs_library_count(library), cases[i].count);
        assert_int_equal(gs_library_chosen(library), 0);
        assert_int_equal(gs_library_is_fused(library), plain || cases[i].epilogue != 0);
        if (gs_library_is_fused(library)) check_epilogue(library, &problem, cases[i].epilogue);
        gs_library_destroy(&library);
        setenv("FAKE_CUBLASLT_PLAIN", "1", 1);
        library = library_of(cases[i].text);
        assert_int_equal(gs_library_is_fused(library), plain);
        assert_int_equal(gs_library_count(library), 2);
        gs_library_destroy(&library);
        unsetenv("FAKE_CUBLASLT_PLAIN");
    }
}

/* An exact f16 number that differs from its neighbours. */
static double number(size_t i, int step) { return (double)((int)(i * (size_t)step % 61) - 30) / 4; }

static gs_pointer fill(size_t count, int step, uint16_t *host)
{
    gs_error error = {0};
    gs_pointer at;
    for (size_t i = 0; i < count; i++) host[i] = gs_f64_to_f16(number(i, step));
    OK(device->ops->alloc(device, count * 2, &at, &error));
    OK(device->ops->copy_in(device, at, host, count * 2, &error));
    return at;
}

/* Runs every suggestion with a product that the test provides: fused suggestions leave it unchanged, the others finish it. */
static void check_results(const char *text, bool in_place)
{
    const gs_problem p = problem_of(text);
    gs_library *library = library_of(text);
    const size_t count = (size_t)(p.ldd * p.m * p.batch), bias_count = (size_t)(GS_MAX(p.m, gs_columns_of_b(&p)) + (p.batch - 1) * p.stride_bias);
    const bool behind = p.residual || p.gate || p.scales, wide = p.scales && p.acc == GS_F32;   /* then the product is f32 in the workspace */
    const bool to_aux = p.gate && p.aux && !p.bias && !p.scales;   /* then cuBLASLt writes the product directly to aux */
    const gs_shape shape = gs_shape_of(&p, 'g');
    const int64_t ld = to_aux ? shape.ld : behind ? (gs_columns_of_b(&p) + 7) / 8 * 8 : p.ldd, stride = to_aux ? shape.stride : ld * p.m;
    const size_t middle = to_aux ? gs_problem_bytes(&p, 'g') / 2 : (size_t)(ld * p.m * p.batch);
    uint16_t *const sums = calloc(GS_MAX(count, middle), 4), *const c = calloc(count, 2), *const bias = calloc(bias_count, 2), *const d = calloc(count, 2);
    gs_error error = {0};
    const size_t aux_count = gs_has_aux(&p) ? gs_problem_bytes(&p, 'g') / 2 : 1;
    uint16_t *const aux = calloc(aux_count, 2);
    static double total[2048];   /* sums of columns */
    const gs_pointer at_aux = fill(aux_count, 13, aux), at_c = fill(count, 7, c), at_bias = fill(bias_count, 11, bias), at_d = in_place ? at_c : fill(count, 3, d);
    for (size_t i = 0; i < GS_MAX(count, middle); i++) {
        if (wide) ((float *)(void *)sums)[i] = (float)number(i, 5) * 1.0009765f;   /* more bits than D has */
        else sums[i] = gs_f64_to_f16(number(i, 5));
    }
    product = sums;
    product_bytes = (behind ? middle : count) * (wide ? 4 : 2);
    const float beta = p.residual || p.scales ? -0.5f : p.beta, alpha = 1.5f;
    const size_t scale_count = (size_t)GS_MAX(p.m, gs_columns_of_b(&p));
    float *const scale[2] = {calloc(scale_count, 4), calloc(scale_count, 4)};
    gs_pointer at_scale[2];
    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < scale_count; j++) scale[i][j] = (float)number(j, 17 + 2 * i) * 0.1f;
        OK(device->ops->alloc(device, scale_count * 4, &at_scale[i], &error));
        OK(device->ops->copy_in(device, at_scale[i], scale[i], scale_count * 4, &error));
    }
    const gs_args args = {.size = sizeof args, .a = sums, .b = sums, .c = (const void *)(uintptr_t)at_c, .d = (void *)(uintptr_t)at_d,
                          .bias = p.bias ? (const void *)(uintptr_t)at_bias : NULL, .beta = beta != p.beta && p.beta != 0 ? &beta : NULL, .alpha = p.scales ? &alpha : NULL,
                          .scale_m = p.scales & GS_SCALE_M ? (const float *)(uintptr_t)at_scale[0] : NULL, .scale_n = p.scales & GS_SCALE_N ? (const float *)(uintptr_t)at_scale[1] : NULL,
                          .aux = (void *)(uintptr_t)at_aux};
    for (int index = 0; index < gs_library_count(library); index++) {
        assert_int_equal(gs_library_choose(library, index), GS_OK);
        OK(device->ops->copy_in(device, at_c, c, count * 2, &error));
        OK(gs_library_run(library, &args, NULL, &error));
        OK(device->ops->queue_wait(device, NULL, &error));
        const bool fused = gs_library_is_fused(library);
        assert_int_equal(multiplied, 7 + index % 2);
        if (fused) {
            assert_ptr_equal(last->bias, args.bias);
            assert_ptr_equal(last->d, args.d);
            if (gs_has_aux(&p)) {
                assert_ptr_equal(last->aux, args.aux);
                assert_int_equal(last->aux_ld, shape.ld);
                if (p.batch > 1) assert_int_equal(last->aux_stride, shape.stride);
            }
            continue;
        }
        assert_int_equal(last->epilogue, 0);
        assert_true(last->beta == (p.residual || p.scales ? 0 : p.beta));
        assert_true((last->d == args.d) == !behind && (last->d == args.aux) == to_aux);
        OK(device->ops->copy_out(device, d, at_d, count * 2, &error));
        if (p.aux) OK(device->ops->copy_out(device, aux, at_aux, aux_count * 2, &error));
        memset(total, 0, sizeof total);
        for (int64_t row = 0; row < p.m * p.batch; row++)
            for (int64_t col = 0; col < p.n; col++) {
                double want, up = 1;
                for (int i = 0; i < (p.gate ? 2 : 1); i++) {
                    const int64_t place = p.gate ? gs_gate_column((int)p.gate, p.n, col, i) : col;
                    const int64_t at = row / p.m * stride + row % p.m * ld + place;
                    double sum = wide ? (double)((const float *)(const void *)sums)[at] : (double)gs_f16_to_f32(sums[at]);
                    if (p.scales) sum *= (double)alpha * (p.scales & GS_SCALE_M ? (double)scale[0][row % p.m] : 1) * (p.scales & GS_SCALE_N ? (double)scale[1][place] : 1);
                    *(i ? &up : &want) = sum;
                }
                if (p.scales && p.beta != 0 && !p.residual) want += (double)beta * gs_f16_to_f32(c[row * p.ldc + col]);
                if (p.gate) {
                    const int64_t at = gs_gate_column((int)p.gate, p.n, col, true);
                    up += p.bias ? gs_f16_to_f32(bias[at]) : 0;
                    if (p.bias) want += gs_f16_to_f32(bias[gs_gate_column((int)p.gate, p.n, col, false)]);
                } else if (gs_adds_bias(&p)) want += gs_f16_to_f32(bias[(p.bias == GS_BIAS_N ? col : row % p.m) + row / p.m * p.stride_bias]);
                for (int i = 0; p.gate && p.aux && i < 2; i++) {
                    const int64_t place = row / p.m * shape.stride + row % p.m * shape.ld + gs_gate_column((int)p.gate, p.n, col, i);
                    const double kept = gs_f16_to_f32(aux[place]), right = i ? up : want;
                    if (p.scales ? fabs(kept - right) > 0x1p-10 * fabs(right) + 0x1p-10 : kept != right) fail_msg("%s: (%d, %d): %g in aux, want %g", text, (int)row, (int)col, kept, right);
                }
                const double beside = gs_has_aux(&p) ? gs_f16_to_f32(aux[row / p.m * shape.stride + row % p.m * shape.ld + col]) : 0;
                if (p.aux && !p.gate && (p.scales ? fabs(beside - want) > 0x1p-10 * fabs(want) + 0x1p-10 : beside != want)) fail_msg("%s: (%d, %d): %g in aux, want %g", text, (int)row, (int)col, beside, want);
                want = gs_is_gradient(p.activation) ? gs_slope_result((int)p.activation, want, beside, 0, -1e9).value : gs_activate((int)p.activation, want) * up;
                if (p.residual) want += (double)beta * gs_f16_to_f32(c[row * p.ldc + col]);
                total[col] += want;
                const double got = gs_f16_to_f32(d[row * p.ldd + col]);
                if (!(fabs(got - want) <= 0x1p-11 * fabs(want) + (p.scales ? 0x1p-13 : 0x1p-16))) fail_msg("%s: (%d, %d): got %g, want %g", text, (int)row, (int)col, got, want);
            }
    }
    if (p.bias == GS_DBIAS) OK(device->ops->copy_out(device, bias, at_bias, (size_t)p.n * 2, &error));
    for (int64_t col = 0; col < p.n && p.bias == GS_DBIAS; col++)
        if (!(fabs(gs_f16_to_f32(bias[col]) - total[col]) <= 0x1p-11 * fabs(total[col]) + 0x1p-10)) fail_msg("%s: column %d: got %g, want %g", text, (int)col, (double)gs_f16_to_f32(bias[col]), total[col]);
    for (int i = 0; i < 2; i++) {
        device->ops->free(device, at_scale[i]);
        free(scale[i]);
    }
    device->ops->free(device, at_c);
    device->ops->free(device, at_bias);
    device->ops->free(device, at_aux);
    free(aux);
    if (!in_place) device->ops->free(device, at_d);
    free(sums);
    free(c);
    free(bias);
    free(d);
    gs_library_destroy(&library);
}

static void results_are_right(void **state)
{
    (void)state;
    check_results("f16:16x24x8:tn:ep=bias+gelu", false);
    check_results("f16:17x27x8:tn:ep=bias_m+silu", false);
    check_results("f16:9x40x8:nn:b=3:ep=bias_m+relu", false);
    check_results("f16:9x40x8:nn:b=3:se=41:ep=bias+relu", false);
    check_results("f16:5x1030x8:tn:ldd=1040:ldc=1040:ep=bias+gelu_erf", false);
    check_results("f16:16x24x8:tn:beta=1:ep=bias+silu+residual", false);
    check_results("f16:16x21x8:tn:beta=1:ep=relu+residual", true);
    check_results("f16:16x24x8:tn:ep=bias+gelu+aux", false);
    check_results("f16:9x27x8:tn:beta=1:ldaux=33:b=3:saux=301:ep=bias_m+silu+residual+aux", true);
    check_results("f16:16x24x8:nn:ep=dgelu", false);
    check_results("f16:16x24x8:nn:ep=gelu+aux", false);
    check_results("f16:9x24x8:tn:ldaux=32:b=3:saux=296:ep=bias+gelu+aux", false);
    check_results("f16:16x24x8:nn:ldaux=40:ep=dgelu+dbias", false);
    check_results("f16:16x24x8:nn:beta=1:ep=dgelu", false);
    check_results("f16:9x27x8:tn:ldaux=33:b=3:ep=drelu", false);
    check_results("f16:16x21x8:tn:beta=1:ep=dgelu_erf+residual", true);
    check_results("f16:5x1030x8:tn:b=2:saux=5151:ep=dsilu", false);
    check_results("f16:70x24x8:tn:ep=dbias", false);
    check_results("f16:300x21x8:nn:b=2:ep=dgelu+dbias", false);
    check_results("f16:33x1030x8:tn:beta=1:ep=relu+residual+aux+dbias", true);
    check_results("f16:16x24x8:tn:ep=silu+gate", false);
    check_results("f16:16x24x8:tn:ep=scale_m", false);
    check_results("f16:9x27x8:nn:alpha=3:b=2:ep=scale_n+bias+gelu", false);
    check_results("f16:16x21x8:tn:beta=1:ep=scale_m+scale_n+bias_m", true);
    check_results("f16:9x1030x8:tn:beta=1:b=3:ep=scale_m+scale_n+silu+residual+aux+dbias", true);
    check_results("f16:9x24x8:tn:acc=f16:beta=1:ep=scale_n+dgelu", false);
    check_results("f16:9x21x8:tn:b=2:ep=scale_m+scale_n+bias+gelu+gate", false);
    check_results("f16:5x1031x8:nn:beta=1:ep=scale_m+scale_n+relu+gate_i+residual", false);
    check_results("f16:9x21x8:tn:b=2:ep=bias+gelu+gate", false);
    check_results("f16:5x1031x8:nn:ldd=1040:ldc=1040:ep=bias+relu+gate_i", false);
    check_results("f16:16x32x8:tn:beta=1:ep=bias+silu+gate_i+residual", true);
    check_results("f16:16x24x8:tn:ep=bias+silu+gate+aux", false);
    check_results("f16:9x21x8:tn:ldaux=45:b=2:ep=bias+silu+gate+aux", false);
    check_results("f16:16x24x8:tn:ep=silu+gate+aux", false);
    check_results("f16:9x21x8:tn:ldaux=45:b=2:saux=450:ep=silu+gate+aux", false);
    check_results("f16:9x21x8:tn:ldaux=44:b=2:beta=1:ep=gelu+gate_i+residual+aux", true);
    check_results("f16:9x21x8:tn:ldaux=45:b=2:ep=scale_m+scale_n+bias+gelu+gate+aux", false);
    check_results("f16:5x1031x8:nn:b=2:saux=10400:beta=1:ep=relu+gate_i+residual+aux", true);
}

static gs_status compile_nothing(gs_device *own, const gs_source *source, gs_image *out, gs_error *error)
{
    (void)own, (void)source, (void)out;
    return gs_fail(error, GS_ERROR_NO_COMPILER, NULL, "no compiler");
}

/* Only suggestions with a kernel of ours need a compiler. */
static void without_a_compiler(void **state)
{
    (void)state;
    const gs_device_ops *const before = device->ops;
    gs_device_ops ops = *before;
    gs_error error = {0};
    gs_library *library;
    ops.compile = compile_nothing;
    device->ops = &ops;
    library = library_of("f16:16x24x8:tn:ep=bias+gelu");
    assert_int_equal(gs_library_choose(library, 1), GS_OK);
    assert_int_equal(gs_library_choose(library, 2), GS_ERROR_NO_COMPILER);
    assert_int_equal(gs_library_chosen(library), 1);
    gs_library_destroy(&library);
    const gs_problem problem = problem_of("f16:16x24x8:tn:ep=silu");
    assert_int_equal(gs_library_create(&library, device, &problem, &error), GS_ERROR_NO_COMPILER);
    device->ops = before;
}

static void problems_that_it_cannot_take(void **state)
{
    (void)state;
    gs_library *library;
    gs_error error = {0};
    const gs_problem problem = problem_of("f16:16x24x0:tn:ep=bias");
    assert_int_equal(gs_library_create(&library, device, &problem, &error), GS_ERROR_UNSUPPORTED);
    assert_null(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_of_a_call), cmocka_unit_test(arrays_of_pointers), cmocka_unit_test(a_kernel_behind_takes_time), cmocka_unit_test(what_it_has_is_fused), cmocka_unit_test(results_are_right), cmocka_unit_test(without_a_compiler), cmocka_unit_test(problems_that_it_cannot_take),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
