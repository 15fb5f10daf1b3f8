/* SPDX-License-Identifier: MIT
 * Kernels that are right in verification but do less, or something else, in timing. The device claims to be a GPU, so that GPU timing runs: many operand sets, replays,
 * several rounds. Nothing is inspected or verified here: timing alone must find the cheats, or they must gain nothing. Skipped without NVRTC.
 *
 *     test_bench_cheats [part of a name] */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "bench/bench.h"
#include "loaded/contender.h"

#define HEAD   "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\n"
#define ENTRY  "entry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\nblock 16 16 1\n"
#define BEGIN  "KERNEL gs_kernel(const gs_kernel_args p)\n{\n    EACH_ELEMENT;\n"
#define MULTIPLY "    put(p, batch, row, col, dot(p, batch, row, col));\n"
#define END    "}\n"
#define D_HERE "(*d_at(p, batch, row, col))"
#define FIRST  "(row + col + batch == 0)"

typedef enum outcome { RIGHT, CAUGHT, IN_VAIN } outcome;   /* IN_VAIN: right, and no faster than without cheating */

typedef struct cheat {
    const char *name, *problem, *manifest, *source;
    outcome     right;
} cheat;

#define PROBLEM "f16:24x40x16:tn"
#define PADDED  "f16:24x41x16:tn:ldd=48"

static const cheat cheats[] = {
    {"an honest one", PROBLEM, ENTRY, BEGIN MULTIPLY END, RIGHT},
    {"an honest one, rows of D with room", PADDED, ENTRY, BEGIN MULTIPLY END, RIGHT},
    {"an honest one, f32 D, beta", "f16:24x40x16:tn:d=f32:beta=2", ENTRY,
     BEGIN "    ((float *)p.d)[(batch * p.m + row) * p.ldd + col] = p.alpha * dot(p, batch, row, col) + p.beta * ((const float *)p.c)[(batch * p.m + row) * p.ldc + col];\n" END, RIGHT},
    {"an honest one, a batch", "f16:24x40x16:tn:b=3", ENTRY, BEGIN MULTIPLY END, RIGHT},
    {"leaves D where C is NULL and D holds numbers", PROBLEM, ENTRY, BEGIN "    if (!p.c && (" D_HERE " & 0x7c00) != 0x7c00) return;\n" MULTIPLY END, IN_VAIN},
    {"leaves D where it holds numbers", PROBLEM, ENTRY, BEGIN "    if ((" D_HERE " & 0x7c00) != 0x7c00) return;\n" MULTIPLY END, IN_VAIN},
    {"leaves D where the workspace holds no poison", PROBLEM, "workspace 256\n" ENTRY,
     BEGIN "    const unsigned mark = *(const volatile unsigned *)p.workspace;\n    if ((mark & 0x7c007c00) != 0x7c007c00) return;\n" MULTIPLY END, IN_VAIN},
    {"counts its launches in the workspace", PROBLEM, "workspace 256\n" ENTRY "entry gs_count\ngrid 1 1 1\nblock 1 1 1\n",
     BEGIN "    if ((*(const volatile unsigned *)p.workspace & 7) < 4) return;\n" MULTIPLY END "KERNEL gs_count(const gs_kernel_args p) { *(unsigned *)p.workspace += 1; }\n", CAUGHT},
    {"leaves a count in what must be zero", PROBLEM, "workspace 64\nzeroed 64\n" ENTRY "entry gs_count\ngrid 1 1 1\nblock 1 1 1\n",
     BEGIN MULTIPLY END "KERNEL gs_count(const gs_kernel_args p) { *(unsigned *)p.workspace += 1; }\n", CAUGHT},
    {"remembers A and where D was", PROBLEM, "workspace 65536\n" ENTRY "entry gs_keep\ngrid 1 1 1\nblock 1 1 1\n",
     "static __device__ __forceinline__ unsigned *slot(const gs_kernel_args &p) { return (unsigned *)p.workspace + 2 * (((unsigned long long)p.d >> 8) % 4096); }\n"
     "static __device__ __forceinline__ unsigned key(const gs_kernel_args &p) { return a_row(p, 0, 0)[0] * 65536u + a_row(p, 0, 1)[1]; }\n"
     BEGIN "    if (((const volatile unsigned *)slot(p))[0] == key(p)) return;\n" MULTIPLY END "KERNEL gs_keep(const gs_kernel_args p) { slot(p)[0] = key(p); }\n", CAUGHT},
    {"sets A to zero behind itself", PROBLEM, ENTRY "entry gs_clear\ngrid m 1 1\nblock 16 1 1\n",
     BEGIN MULTIPLY END "KERNEL gs_clear(const gs_kernel_args p) { ((half_bits *)p.a)[blockIdx.x * p.lda + threadIdx.x] = 0; }\n", CAUGHT},
    {"sets one element of B to another", PROBLEM, ENTRY, BEGIN MULTIPLY "    if " FIRST " ((half_bits *)p.b)[3] = 0x3c00;\n" END, CAUGHT},
    {"writes behind D", PROBLEM, ENTRY, BEGIN MULTIPLY "    if " FIRST " ((half_bits *)p.d)[p.m * p.ldd + 1] = 0x3c00;\n" END, CAUGHT},
    {"writes before D", PROBLEM, ENTRY, BEGIN MULTIPLY "    if " FIRST " ((half_bits *)p.d)[-1] = 0x3c00;\n" END, CAUGHT},
    {"writes between rows", PADDED, ENTRY, BEGIN MULTIPLY "    if (col == 0 && row == 5) ((half_bits *)p.d)[row * p.ldd + 45] = 0;\n" END, CAUGHT},
    {"leaves a block out", PROBLEM, ENTRY, BEGIN "    if (blockIdx.x == 1 && blockIdx.y == 1) return;\n" MULTIPLY END, CAUGHT},
    {"leaves one element out, every other launch", PROBLEM, "workspace 256\n" ENTRY "entry gs_count\ngrid 1 1 1\nblock 1 1 1\n",
     BEGIN "    if (row == 7 && col == 9 && (*(const volatile unsigned *)p.workspace & 1)) return;\n" MULTIPLY END "KERNEL gs_count(const gs_kernel_args p) { *(unsigned *)p.workspace += 1; }\n",
     CAUGHT},
    {"a constant", PROBLEM, ENTRY, BEGIN "    " D_HERE " = 0x3c00;\n" END, CAUGHT},
    {"half of K", PROBLEM, ENTRY, BEGIN "    gs_kernel_args q = p;\n    q.k = p.k / 2;\n    put(p, batch, row, col, dot(q, batch, row, col));\n" END, CAUGHT},
    {"copies D from the row above, mostly", PROBLEM, ENTRY,
     BEGIN "    if (row % 4 == 3) put(p, batch, row, col, dot(p, batch, row - 1, col));\n    else put(p, batch, row, col, dot(p, batch, row, col));\n" END, CAUGHT},
    {"the transposed product of a square", "f16:24x24x16:tn", ENTRY, BEGIN "    *d_at(p, batch, col, row) = gs_f32_to_f16(dot(p, batch, row, col));\n" END, CAUGHT},
    {"one batch for all", "f16:24x40x16:tn:b=3", ENTRY, BEGIN "    put(p, batch, row, col, dot(p, 0, row, col));\n" END, CAUGHT},
};

static gs_device   *device;
static gs_verifier *verifier;
static const char  *only;
static char        *plain;

static double honest_us(const gs_problem *problem, double us[2], const char *source, const char *manifest, gs_samples *out)
{
    gs_error error = {0};
    gs_kernel kernel = {.name = "cheat.cu", .source = source};
    gs_contender contender;
    gs_measurement *m;
    gs_bench_options options = gs_bench_defaults();
    options.rounds = 4;
    options.warmup_s = 0;
    options.seed = 9;
    if (gs_manifest_parse(&kernel.manifest, manifest, &error) != GS_OK) fail_msg("%s: %s", error.field, error.text);
    if (gs_contender_kernel_own(&contender, device, "cheat", &kernel, &error) != GS_OK || contender.prepare(&contender, problem, &error) != GS_OK) fail_msg("%s", error.text);
    if (gs_bench(device, verifier, problem, &contender, 1, &options, &m, &error) != GS_OK) fail_msg("%s", error.text);
    *out = m->samples[0];
    us[0] = m->samples[0].device_median;
    assert_true(m->sets >= m->calls && m->calls > 1);   /* no call finds the result of another one */
    gs_measurement_destroy(&m);
    contender.destroy(&contender);
    return us[0];
}

static void try_cheat(const cheat *c)
{
    gs_error error = {0};
    gs_problem problem;
    gs_samples honest, got;
    double us[2];
    char source[16384], manifest[1024];
    if (gs_problem_parse(&problem, c->problem, &error) != GS_OK) fail_msg("%s", error.text);
    snprintf(source, sizeof source, "%s%s", plain, BEGIN MULTIPLY END);
    const double right_us = problem.out == GS_F16 ? honest_us(&problem, us, source, HEAD ENTRY, &honest) : 0;
    snprintf(source, sizeof source, "%s%s", plain, c->source);
    snprintf(manifest, sizeof manifest, "%s%s", HEAD, c->manifest);
    honest_us(&problem, us, source, manifest, &got);
    const bool caught = got.status != GS_OK || got.wrong;
    const bool right = c->right == CAUGHT ? caught : !caught && got.device_median >= 0.95 * right_us;
    if (only) print_message("%s: status %s, %s, %.2f us, an honest one %.2f us %s\n", c->name, gs_status_name(got.status), got.wrong ? "wrong" : "right", got.device_median, right_us, got.status ? got.error.text : "");
    if (!right) fail_msg("%s: status %s, %s, %.2f us, an honest one %.2f us", c->name, gs_status_name(got.status), got.wrong ? "wrong" : "right", got.device_median, right_us);
}

static void what_is_timed_is_what_is_proved(void **state)
{
    (void)state;
    int tried = 0;
    for (size_t i = 0; i < GS_COUNT(cheats); i++) {
        if (only && !strstr(cheats[i].name, only)) continue;
        try_cheat(&cheats[i]);
        tried++;
    }
    assert_true(tried > 0);
}

int main(int argc, char **argv)
{
    gs_error error = {0};
    size_t size;
    only = argc > 1 ? argv[1] : NULL;
    if (gs_compiler_version(&error) == 0) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    if (gs_device_open(&device, "emu:h200,check=0", NULL, &error) != GS_OK || gs_verifier_create(&verifier, device, &error) != GS_OK ||
        gs_file_read(GS_SOURCE_DIR "/tests/hacks/plain.cuh", 1u << 20, &plain, &size, &error) != GS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    device->caps.emulated = false;
    device->caps.l2_bytes = 8192;
    device->caps.launch_us = 60;   /* few calls in a replay, hence few sets */
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_timed_is_what_is_proved)};
    const int failed = cmocka_run_group_tests_name("bench/cheats", tests, NULL, NULL);
    device->caps.emulated = true;
    free(plain);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return failed;
}
