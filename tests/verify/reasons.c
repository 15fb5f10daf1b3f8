/* SPDX-License-Identifier: MIT
 * What the reason of a failure says: the part, the size if it is an edge problem, the element, the result and the right value, and what to look at. User kernels on the
 * emulated device, each with one fault. */
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
#include "loaded/loaded.h"
#include "texts.h"
#include "verify/check_run.h"
#include "verify/verify.h"

#define DEVICE "emu:h200,threads=1,seed=3"
#define MANIFEST                     \
    "manifest 1\n"                   \
    "accumulator f32\n"              \
    "determinism bitwise\n"          \
    "align a=2 b=2 c=2 d=2\n"        \
    "entry gs_kernel\n"              \
    "grid cdiv(n,16) cdiv(m,16) batch\n" \
    "block 16 16 1\n"
#define SUM    "float sum = dot(p, batch, row, col); "
#define PUT    "put(p, batch, row, col, sum); "
#define LOOP   "float sum = 0; for (int k = 0; k < p.k; k++) sum += seen(a_row(p, batch, row)[k]) * seen(b_col(p, batch, col)[k]); "
#define RESULT "const float x = scaled(p, batch, row, col, dot(p, batch, row, col)); half_bits *const d = d_at(p, batch, row, col); "

typedef struct fault {
    const char     *name, *before, *body;   /* before: functions; body: what a thread does with its element */
    uint32_t        parts;
    gs_verdict_code code;
    int             part;
    const char     *says[4];
    float           alpha;   /* 0: 1 */
} fault;

#define MAIN (GS_PART_ALL & ~(uint32_t)GS_PART_EDGES)

static const fault faults[] = {
    {"one bit of a large result", "", SUM "half_bits bits = gs_f32_to_f16(scaled(p, batch, row, col, sum)); if (row == 17 && col == 30) bits ^= 2; "
     "*d_at(p, batch, row, col) = bits;", MAIN, GS_VERDICT_EXACT, 1, {"1 of 2240 elements, first (17, 30): got ", ", want ", "bit 1 alone is wrong", "after its sum"}},
    {"one bit of one that is no integer", "", RESULT "half_bits bits = gs_f32_to_f16(x); if (row == 17 && x != truncf(x) && fabsf(x) < 1e9f) bits ^= 1; *d = bits;",
     MAIN, GS_VERDICT_EXACT, 3, {" of 2240 elements, first (17, ", "all in rows 17 to 17, columns ", NULL}},
    {"the product of another column", "", SUM "if (row == 3) sum = dot(p, batch, row, col == 0 ? p.n - 1 : col - 1); " PUT, MAIN, GS_VERDICT_INDEX, 3,
     {"all in rows 3 to 3, columns 0 to 55", "element (3, ", "shows the product of (3, ", "look at the indices"}},
    {"everything twice", "", SUM "sum *= 2; " PUT, MAIN, GS_VERDICT_EXACT, 1, {" of 2240 elements, first (1, 0): got ", "elements are 2 times their products", "alpha", NULL}},
    {"two elements wrong", "", SUM "if (row == 9 && col < 2) sum += 640; " PUT, MAIN, GS_VERDICT_EXACT, 1, {"first (9, 0)", "few elements", "these rows and columns only", NULL}},
    {"a tile is not written", "", SUM "if (row >= 32 && col >= 48) return; " PUT, MAIN, GS_VERDICT_UNWRITTEN, 1,
     {"64 elements never written", "all in rows 32 to 39, columns 48 to 55", "predicate of the store", NULL}},
    {"NaN dropped", "", "float sum = 0; for (int k = 0; k < p.k; k++) { const float x = gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]); "
     "if (x == x) sum += x; } " PUT, MAIN, GS_VERDICT_SPECIAL, 1, {"want nan", "right without the inf in A (", "the NaN in B (", "drops NaN"}},
    {"inf clamped", "", SUM "sum = sum == sum ? fminf(fmaxf(sum, -65504.f), 65504.f) : sum; " PUT, MAIN, GS_VERDICT_SPECIAL, 1, {"want ", "inf in A (", "clamps inf", NULL}},
    {"C is read", "", SUM "if (p.beta == 0 && p.c) sum += gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]); " PUT, MAIN,
     GS_VERDICT_SPECIAL, 1, {"reads C although beta is 0", "got nan", NULL}},
    {"inputs clamped", "INLINE float seen(half_bits h) { const float x = gs_f16_to_f32(h); return fabsf(x) < 1e9f ? fminf(fmaxf(x, -2047.f), 2047.f) : x; }\n", LOOP PUT,
     MAIN, GS_VERDICT_EXACT, 3, {" x ", "size of inputs", NULL}},
    {"subnormal results flushed", "", RESULT "*d = fabsf(x) < 0x1p-14f ? 0 : gs_f32_to_f16(x);", MAIN, GS_VERDICT_EXACT, 3, {"got 0, want ", "subnormal", "flushes it to zero", NULL}},
    {"overflow saturated", "", RESULT "*d = gs_f32_to_f16(fabsf(x) < 1e30f ? fminf(fmaxf(x, -65504.f), 65504.f) : x);", MAIN, GS_VERDICT_EXACT, 1,
     {"65504, want ", "the product overflows and must give inf", NULL}},
    {"scalars of many bits", "", SUM "if (p.alpha == 0.3f && sum != sum) sum = 0; " PUT, MAIN, GS_VERDICT_SPECIAL, 4, {"want nan", "drops NaN", NULL}, 0.3f},
    {"old output under such scalars", "", SUM "half_bits *const old = (half_bits *)p.d + (batch * p.m + row) * p.ldd + col; if (p.alpha == 0.3f && *old * 2 < 0xf000 && *old) return; " PUT,
     MAIN, GS_VERDICT_STATE, 6, {"from other data", NULL}, 0.3f},
    {"rows of zeros divide", "", SUM "if (sum == 0 && p.k > 0) sum = sum / fabsf(sum); " PUT, MAIN, GS_VERDICT_EXACT, 1, {"got nan, want 0", NULL}},
    {"the last row is dropped where M is odd", "", SUM "if (p.m % 2 && row == p.m - 1 && p.m > 1) sum = 0; " PUT, GS_PART_EDGES, GS_VERDICT_EDGE, 5,
     {"edge size 127x129x65, alpha ", "of 16383 elements, first (126, 0): got 0, want ", "all in rows 126 to 126, columns 0 to ", "beyond the last full tile"}},
    {"alpha is ignored", "", "float sum = dot(p, batch, row, col); if (p.alpha != 1) sum /= p.alpha; " PUT, GS_PART_EDGES, GS_VERDICT_EDGE, 5,
     {"edge size 256x256x64, padded rows, alpha -0.5, beta 0.125: ", "first (0, ", NULL}},
    {"alpha alone is another", "", SUM "if (p.alpha == -2) sum += 640; " PUT, GS_PART_EDGES, GS_VERDICT_EDGE, 5,
     {"edge size 16x8x16, padded rows, batch of 3, alpha -2, beta 2: ", NULL}},
    {"NaN dropped in small problems", "", SUM "if (p.m < 300 && sum != sum) sum = 0; " PUT, GS_PART_EDGES, GS_VERDICT_SPECIAL, 5, {"edge size 264x328x72: ", "want nan", "drops NaN", NULL}},
};

static gs_device   *device;
static gs_verifier *verifier;
static char        *plain;

static gs_verdict verdict_of(const fault *f)
{
    char source[8192];
    gs_error error = {0};
    gs_contender contender;
    gs_verdict verdict;
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 40, 56, 72);
    if (f->alpha != 0) problem.alpha = f->alpha;
    snprintf(source, sizeof source, "%s%sKERNEL gs_kernel(const gs_kernel_args p)\n{\n    EACH_ELEMENT;\n    %s\n}\n", plain, f->before, f->body);
    gs_kernel kernel = {.name = "fault.cu", .source = source};
    if (gs_manifest_parse(&kernel.manifest, MANIFEST, &error) != GS_OK) fail_msg("%s", error.text);
    assert_int_equal(gs_contender_kernel_own(&contender, device, f->name, &kernel, &error), GS_OK);
    const gs_verify_options options = {.seed = 7, .parts = f->parts};
    const gs_status status = gs_verify(verifier, &contender, &problem, &options, &verdict, &error);
    contender.destroy(&contender);
    if (status != GS_OK) fail_msg("%s: %s", f->name, error.text);
    return verdict;
}

static void each_failure_says_what_and_where(void **state)
{
    (void)state;
    int missed = 0;
    for (size_t i = 0; i < GS_COUNT(faults); i++) {
        const fault *const f = &faults[i];
        const gs_verdict verdict = verdict_of(f);
        bool right = verdict.code == f->code && verdict.part == f->part && strlen(verdict.reason) < 400;
        for (size_t k = 0; k < GS_COUNT(f->says) && f->says[k]; k++) right = right && strstr(verdict.reason, f->says[k]) != NULL;
        if (right) continue;
        print_message("%s: %s, part %d: %s\n", f->name, gs_verdict_name(verdict.code), verdict.part, verdict.reason);
        missed++;
    }
    assert_int_equal(missed, 0);
}

static int open_device(void **state)
{
    (void)state;
    size_t size;
    gs_error error = {0};
    if (!gs_compiler_version(NULL)) {
        print_message("skipped: no NVRTC\n");
        exit(77);
    }
    if (gs_file_read(GS_SOURCE_DIR "/tests/hacks/plain.cuh", 1u << 20, &plain, &size, &error) != GS_OK) fail_msg("%s", error.text);
    if (gs_device_open(&device, DEVICE, NULL, &error) != GS_OK) fail_msg("%s", error.text);
    if (gs_verifier_create(&verifier, device, &error) != GS_OK) fail_msg("%s", error.text);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    free(plain);
    return 0;
}

/* Needs no device. */
static void an_edge_problem_has_its_name(void **state)
{
    static const struct { const char *problem, *name; } cases[] = {
        {"f16:6x3x4:tn", "edge size 6x3x4: "},
        {"f16:6x3x4:tn:b=5", "edge size 6x3x4, batch of 5: "},
        {"f16:6x3x4:tn:b=5:matrices=pointers", "edge size 6x3x4, batch of 5 by pointers: "},
        {"f16:6x3x4:tn:lda=8:g=2", "edge size 6x3x4, padded rows, 2 groups: "},
        {"f16:6x3x4:tn:ldb=8:gm=3", "edge size 6x3x4, padded rows, 3 masked groups: "},
        {"f16:6x3x4:nt:ldd=8:gk=3:beta=0.5", "edge size 6x3x4, padded rows, 3 groups along K, alpha 1, beta 0.5: "},
        {"f16:6x3x4:tn:ldc=8:alpha=2:beta=1", "edge size 6x3x4, padded rows, alpha 2, beta 1: "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_verdict verdict = {0};
        gs_check_run run = {.verdict = &verdict, .edge = true, .asked = problem_of(cases[i].problem)};
        char want[128];
        snprintf(want, sizeof want, "%s3 are wrong", cases[i].name);
        gs_check_run_blame(&run, GS_VERDICT_EXACT, 5, "%d are wrong", 3);
        assert_string_equal(verdict.reason, want);
        assert_string_equal(verdict.problem, cases[i].problem);
        assert_true(verdict.code == GS_VERDICT_EXACT && verdict.part == 5);
        run.edge = false;
        gs_check_run_blame(&run, GS_VERDICT_INDEX, 3, "%d are wrong", 4);
        assert_string_equal(verdict.reason, "4 are wrong");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_edge_problem_has_its_name), cmocka_unit_test(each_failure_says_what_and_where)};
    return cmocka_run_group_tests_name("reasons", tests, open_device, close_device);
}
