/* SPDX-License-Identifier: MIT
 * The kernel gs_reference, run on the emulated device, and the reference on the CPU, which stands in for it there, give the same bits:
 * every input type, layout and type of C, with and without C, sizes that divide no tile, padded rows, a batch, inf and NaN. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

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
    gs_pointer at[4];   /* a b c and the reference */
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

/* As gs_reference launches it where the device is a GPU. */
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

/* NaN is NaN: which one, nobody looks at. */
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
        p.out = (gs_type)((i + 1) % 3);   /* of C alone */
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

/* Data that the host makes for an emulated device are those that the kernel makes on a GPU. */
static void generated(gs_verifier *verifier, gs_device *device, const gs_datagen *g, gs_pointer to, bool emulated, unsigned char *out, size_t bytes)
{
    gs_error error = {0};
    const gs_caps caps = device->caps;
    OK(device->ops->fill(device, to, 0, (bytes + 3) / 4 * 4, NULL, &error));
    device->caps.emulated = emulated;
    const gs_status status = gs_check_generate(verifier, g, to, NULL, &error);
    device->caps = caps;
    OK(status);
    OK(device->ops->queue_wait(device, NULL, &error));
    OK(device->ops->copy_out(device, out, to, bytes, &error));
}

static void the_kernel_and_the_host_make_the_same_data(void **state)
{
    (void)state;
    static unsigned char kernel[1 << 16], host[1 << 16];
    static const int kinds[] = {GS_VALUES_INTEGER, GS_VALUES_CANCEL, GS_VALUES_INDEX, GS_VALUES_QUIET, GS_VALUES_LOUD, GS_VALUES_ZERO, GS_VALUES_NAN, GS_VALUES_RANGE, GS_VALUES_IDLE, GS_VALUES_STEEP, GS_VALUES_POWERS, GS_VALUES_WIDE, GS_VALUES_SIGNS};
    gs_error error = {0};
    gs_device *device;
    gs_verifier *verifier;
    gs_pointer memory;
    if (!gs_compiler_version(NULL)) skip();
    OK(gs_device_open(&device, "emu:h200", getenv("GS_TEST_CACHE"), &error));
    OK(gs_verifier_create(&verifier, device, &error));
    OK(device->ops->alloc(device, sizeof host, &memory, &error));
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
                generated(verifier, device, &g, memory, true, host, bytes);
                generated(verifier, device, &g, memory, false, kernel, bytes);
                for (size_t at = 0; at < bytes; at += gs_type_size((gs_type)g.type)) {
                    uint32_t a = 0, b = 0;
                    memcpy(&a, kernel + at, gs_type_size((gs_type)g.type));
                    memcpy(&b, host + at, gs_type_size((gs_type)g.type));
                    const uint32_t exponent = g.type == GS_F16 ? 0x7c00 : g.type == GS_BF16 ? 0x7f80 : 0x7f800000, all = g.type == GS_F32 ? 0x7fffffff : 0x7fff;
                    if ((a & all) > exponent && (b & all) > exponent) continue;   /* NaN is NaN */
                    if (a != b) fail_msg("kind %d, variant %d, %c: byte %zu on: %08x of the kernel, %08x of the host", kinds[i], variant, operand, at, a, b);
                }
            }
    device->ops->free(device, memory);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_kernel_and_the_cpu_agree), cmocka_unit_test(the_kernel_and_the_host_make_the_same_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
