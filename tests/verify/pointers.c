/* SPDX-License-Identifier: MIT
 * Verification of batches by pointers, and of families whose kernels are built for strides: right kernels pass; kernels that assume a stride, use another matrix's
 * pointer or write to the arrays are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "device/device.h"
#include "problem/pool.h"
#include "texts.h"
#include "verify/check_run.h"
#include "verifying.h"

/* All pointers of an operand differ, each matrix has its own place, and the distances between pointers vary. */
static void pointers_are_shuffled(void **state)
{
    (void)state;
    for (int64_t batch = 1; batch <= 40; batch++) {
        gs_problem p = problem_of("f16:3x8x12:nt:d=f32:matrices=pointers");
        p.batch = batch;
        const gs_problem pool = gs_problem_pool(&p);
        const uint64_t at[] = {1 << 20, 2 << 20, 3 << 20, 4 << 20};
        uint64_t pointers[160], other[160];
        gs_pool_pointers(&pool, at, 7 + (uint64_t)batch, pointers);
        gs_pool_pointers(&pool, at, 1007 + (uint64_t)batch, other);
        if (batch > 20) assert_memory_not_equal(pointers, other, (size_t)batch * sizeof *pointers);
        for (int operand = 0; operand < 4; operand++) {
            const uint64_t stride = (uint64_t)gs_shape_of(&pool, "abcd"[operand]).stride * (operand < 2 ? 2 : 4), *const of = pointers + operand * batch;
            uint64_t seen = 0;
            bool even = batch > 2;
            for (int64_t i = 0; i < batch; i++) {
                if (batch > 1) assert_int_equal((of[i] - at[operand]) % stride, 0);
                if (batch > 1) seen |= 1ull << (of[i] - at[operand]) / stride;
                if (i > 1) even &= of[i] - of[i - 1] == of[1] - of[0];
                if (batch > 1) assert_int_equal((of[i] - at[operand]) / stride, (pointers[i] - at[0]) / ((uint64_t)pool.stride_a * 2));
            }
            if (batch > 1) assert_int_equal(seen, (1ull << batch) - 1);
            assert_false(even);
        }
        gs_problem aligned = pool;
        gs_pool_align(&aligned, false);
        gs_pool_pointers(&aligned, at, GS_POOL_IN_ORDER, pointers);
        for (int64_t i = 0; i < 4 * batch; i++)
            if (i % batch) assert_true(pointers[i] % 256 == 0 && pointers[i] - pointers[i - 1] == pointers[i / batch * batch + 1] - pointers[i / batch * batch]);
    }
}

/* Kernel with one thread per element; macros replace one expression. */
static const char source[] =
    "#include \"common/args.h\"\n"
    "#include \"common/convert.cuh\"\n"
    "typedef unsigned short half_bits;\n"
    "#define TABLE(of) ((half_bits *const *)(of))\n"
    "#ifndef OF_A\n"
    "#define OF_A TABLE(p.a)[index]\n"
    "#endif\n"
    "#ifndef OF_B\n"
    "#define OF_B TABLE(p.b)[index]\n"
    "#endif\n"
    "#ifndef OF_D\n"
    "#define OF_D TABLE(p.d)[index]\n"
    "#endif\n"
    "#ifndef LAST\n"
    "#define LAST\n"
    "#endif\n"
    "extern \"C\" __global__ void gs_kernel(const gs_kernel_args p)\n"
    "{\n"
    "    const int row = blockIdx.x % p.m, index = blockIdx.x / p.m;\n"
    "    for (int col = threadIdx.x; col < p.n; col += blockDim.x) {\n"
    "        float sum = 0;\n"
    "        const half_bits *const a = OF_A + row * p.lda, *const b = OF_B + col * p.ldb;\n"
    "        for (int k = 0; k < p.k; k++) sum = fmaf(gs_f16_to_f32(a[k]), gs_f16_to_f32(b[k]), sum);\n"
    "        half_bits *const d = OF_D + row * p.ldd;\n"
    "        d[col] = gs_f32_to_f16(p.alpha * sum);\n"
    "    }\n"
    "    LAST;\n"
    "}\n";

static gs_verdict verdict_of(const char *text, const char *define, uint64_t seed)
{
    const gs_problem problem = problem_of(text);
    gs_error error = {0};
    gs_kernel kernel = {.name = "pointers.cu"};
    gs_contender contender;
    gs_verdict verdict;
    gs_text whole = {0};
    if (*define) gs_text_addf(&whole, "#define %s\n", define);
    gs_text_add(&whole, source);
    kernel.source = gs_text_string(&whole);
    gs_kernel_define_problem(&kernel, &problem);
    if (gs_manifest_parse(&kernel.manifest, "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid m*batch 1 1\nblock 32 1 1\n", &error) != GS_OK ||
        gs_contender_kernel_own(&contender, device, "pointers", &kernel, &error) != GS_OK ||
        gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = seed, .parts = GS_PART_ALL & ~(uint32_t)GS_PART_EDGES}, &verdict, &error) != GS_OK)
        fail_msg("%s: %s", define, error.text);
    contender.destroy(&contender);
    gs_text_free(&whole);
    return verdict;
}

static void wrong_pointers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *define, *says;
    } cases[] = {
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_A TABLE(p.a)[0] + index * p.m * p.lda", ""},                            /* assumes that the matrices follow each other */
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_B TABLE(p.b)[0] + index * (TABLE(p.b)[1] - TABLE(p.b)[0])", ""},        /* assumes the distance of the first two */
        {"f16:12x24x40:tn:b=3:matrices=pointers", "OF_B TABLE(p.b)[0] + index * (TABLE(p.b)[1] - TABLE(p.b)[0])", ""},
        {"f16:12x24x40:tn:b=2:matrices=pointers", "OF_D TABLE(p.d)[0] + index * p.m * p.ldd", ""},
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_D TABLE(p.d)[0] + index * (TABLE(p.d)[1] - TABLE(p.d)[0])", ""},
        {"f16:24x24x40:tn:b=5:matrices=pointers", "OF_B TABLE(p.b)[0] + (OF_A - TABLE(p.a)[0])", ""},                         /* assumes A's distances, where A and B have the same size */
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_B TABLE(p.b)[(index + 1) % p.batch]", ""},
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_A TABLE(p.a)[index == 4 ? 3 : index]", ""},
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_D TABLE(p.d)[p.batch - 1 - index]", ""},
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_A TABLE(p.a)[((size_t)TABLE(p.a)[1] | (size_t)TABLE(p.a)[2]) % 256 ? index : 0]", ""},     /* wrong with the usual alignment only */
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_B TABLE(p.b)[TABLE(p.b)[2] - TABLE(p.b)[1] != TABLE(p.b)[1] - TABLE(p.b)[0] ? index : 0]", ""},
        {"f16:12x24x40:tn:matrices=pointers",     "OF_A ((const half_bits *)p.a)", ""},                                       /* a single matrix has a pointer too */
        {"f16:12x24x40:tn:b=5:matrices=pointers", "LAST ((half_bits **)p.d)[index] = TABLE(p.d)[index] + 8 * (row == p.m - 1)", ""},
        {"f16:12x24x40:tn:b=5:matrices=pointers", "LAST if (blockIdx.x + 1 == gridDim.x && p.c) ((long long *)p.c)[2] = 0", "changed the pointers"},
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_D TABLE(p.d)[index] + (p.batch > 2 && TABLE(p.d)[1] - TABLE(p.d)[0] == p.m * p.ldd)", ""},   /* wrong where matrices are packed */
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_A TABLE(p.a)[index] + (p.batch > 2 && TABLE(p.a)[0] == TABLE(p.a)[2] && TABLE(p.a)[1] == TABLE(p.a)[2])", ""},   /* wrong where all of A are one matrix */
        {"f16:12x24x40:tn:b=5:matrices=pointers", "OF_B TABLE(p.b)[index] + (p.batch > 2 && TABLE(p.b)[0] == TABLE(p.b)[2] && TABLE(p.b)[1] == TABLE(p.b)[2])", ""},   /* wrong where all of B are one matrix */
    };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const gs_verdict right = verdict_of("f16:12x24x40:tn:b=5:matrices=pointers", "", seed), padded = verdict_of("f16:12x24x40:tn:lda=43:ldb=50:ldd=31:b=3:matrices=pointers", "", seed);
        if (right.code != GS_VERDICT_PASS) fail_msg("seed %d: %s", (int)seed, right.reason);
        if (padded.code != GS_VERDICT_PASS) fail_msg("seed %d: %s", (int)seed, padded.reason);
        for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) {
            const gs_verdict wrong = verdict_of(cases[i].text, cases[i].define, seed);
            if (wrong.code == GS_VERDICT_PASS) fail_msg("%s passes with seed %d", cases[i].define, (int)seed);
            if (!strstr(wrong.reason, cases[i].says)) fail_msg("%s: %s", cases[i].define, wrong.reason);
            assert_string_equal(wrong.problem, cases[i].text);
        }
    }
}

/* Families that support pointers, at edge problems too; and kernels built for a strided batch, and the reverse. */
static void families(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *built, *schedule;
        bool        right;
    } cases[] = {
        {"f16:40x24x72:tn:b=5:matrices=pointers", "f16:40x24x72:tn:b=5:matrices=pointers", "simple", true},
        {"bf16:33x17x40:nt:b=4:matrices=pointers:beta=1:ep=bias+gelu+residual", "bf16:33x17x40:nt:b=4:matrices=pointers:beta=1:ep=bias+gelu+residual", "simple", true},
        {"f16:40x24x72:tt:acc=f16:b=3:matrices=pointers:ep=bias+silu+gate", "f16:40x24x72:tt:acc=f16:b=3:matrices=pointers:ep=bias+silu+gate", "simple", true},
        {"bf16:40x24x72:nn:d=f32:b=3:matrices=pointers:beta=0.5:ep=dbias", "bf16:40x24x72:nn:d=f32:b=3:matrices=pointers:beta=0.5:ep=dbias", "simple", true},
        {"f16:40x24x72:tn:b=5:matrices=pointers", "f16:40x24x72:tn:b=5:matrices=pointers", "mma/32x64x64/w2x2/s2/g1", true},
        {"bf16:33x17x300:nt:b=4:matrices=pointers:beta=1:ep=bias+gelu+residual", "bf16:33x17x300:nt:b=4:matrices=pointers:beta=1:ep=bias+gelu+residual", "mma/16x64x64/w1x2/s2/h2/k2", true},
        {"f16:70x24x133:tn:acc=f16:b=3:matrices=pointers:ep=silu+gate_i", "f16:70x24x133:tn:acc=f16:b=3:matrices=pointers:ep=silu+gate_i", "mma/32x64x64/w2x2/s2/g1", true},
        {"f16:40x24x72:tn:b=3:matrices=pointers:ep=dbias", "f16:40x24x72:tn:b=3:matrices=pointers:ep=dbias", "mma/32x64x64/w2x2/s2/g1", true},
        {"bf16:4x201x300:nn:b=3:matrices=pointers:beta=1", "bf16:4x201x300:nn:b=3:matrices=pointers:beta=1", "gemv/8x64/w4/d2/r128/p0/k1/any", true},
        {"f16:200x3x301:tn:b=3:matrices=pointers", "f16:200x3x301:tn:b=3:matrices=pointers", "gemv/8x8/w4/d2/r128/p0/k1/any", true},
        {"f16:256x16x0:tn:d=f32:matrices=pointers:beta=1", "f16:256x16x0:tn:d=f32:matrices=pointers:beta=1", "gemv/16x32/w1/d1/r128/p0/k1/fixed", true},   /* no pointer of A or B is read */
        {"f16:24x24x40:tn:b=70:matrices=pointers:beta=1", "f16:24x24x40:tn:b=70:matrices=pointers:beta=1", "tiny/b2/r16/direct/w4", true},
        {"bf16:17x19x23:nt:b=65:matrices=pointers:ep=bias+relu", "bf16:17x19x23:nt:b=65:matrices=pointers:ep=bias+relu", "tiny/b1/r32/direct/w2", true},
        {"f16:24x24x40:tn:b=70:matrices=pointers", "f16:24x24x40:tn:b=70", "tiny/b2/r16/direct/w4", false},
        {"f16:24x24x40:tn:b=70:sa=1000:sb=0:sd=584:beta=1", "f16:24x24x40:tn:b=70:sa=1000:sb=0:sd=584:beta=1", "tiny/b2/r16/s2/w4", true},
        {"bf16:17x19x23:nt:b=65:sa=400:sb=450:ep=bias+relu:se=21", "bf16:17x19x23:nt:b=65:sa=400:sb=450:ep=bias+relu:se=21", "tiny/b2/r16/s3/w2", true},
        {"f16:24x16x16:tn:lda=1120:ldd=1120:b=70:sa=16:sd=16", "f16:24x16x16:tn:lda=1120:ldd=1120:b=70:sa=16:sd=16", "tiny/b2/r16/direct/w4", true},
        {"f16:24x24x40:tn:b=70:sd=584", "f16:24x24x40:tn:b=70", "tiny/b2/r16/s2/w4", false},
        {"f16:24x24x40:tn:b=70:sb=0", "f16:24x24x40:tn:b=70:sb=968", "tiny/b2/r16/s2/w4", false},
        {"f16:40x48x128:tn:b=3:sa=5200:sb=0:sd=2000", "f16:40x48x128:tn:b=3:sa=5200:sb=0:sd=2000", "slicek/32x32/w1x1x2/d2/k1/fixed/f128", true},
        {"bf16:33x48x128:nn:lda=129:b=4:sa=0:sc=0:sd=1601:beta=1:ep=bias+relu:se=50", "bf16:33x48x128:nn:lda=129:b=4:sa=0:sc=0:sd=1601:beta=1:ep=bias+relu:se=50", "slicek/16x64/w1x2x2/d2/k1/any/f128", true},
        {"f16:40x48x128:tn:b=3:sb=6152", "f16:40x48x128:tn:b=3", "slicek/32x32/w1x1x2/d2/k1/fixed/f128", false},
        {"f16:40x24x72:tn:b=5:matrices=pointers", "f16:40x24x72:tn:b=5", "mma/32x64x64/w2x2/s2/g1", false},
        {"f16:40x24x72:tn:b=5:matrices=pointers", "f16:40x24x72:tn:b=5", "simple", false},
        {"f16:40x24x72:tn:b=5", "f16:40x24x72:tn:b=5:matrices=pointers", "simple", false},
        {"f16:40x24x72:tn:matrices=pointers", "f16:40x24x72:tn", "simple", false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) {
        const gs_problem problem = problem_of(cases[i].asked), other = problem_of(cases[i].built);
        const gs_schedule schedule = schedule_of(cases[i].schedule);
        gs_error error = {0};
        gs_kernel kernel = {0};
        gs_contender contender;
        gs_verdict verdict;
        const bool edges = cases[i].right;
        if (gs_kernel_build(&kernel, &schedule, &other, &device->caps, &error) != GS_OK ||
            (edges ? gs_contender_schedule(&contender, device, cases[i].schedule, &error) : gs_contender_kernel_own(&contender, device, cases[i].built, &kernel, &error)) != GS_OK ||
            gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = 5, .parts = edges ? 0 : GS_PART_ALL & ~(uint32_t)GS_PART_EDGES}, &verdict, &error) != GS_OK)
            fail_msg("%s: %s", cases[i].asked, error.text);
        contender.destroy(&contender);
        if ((verdict.code == GS_VERDICT_PASS) != cases[i].right) fail_msg("%s as %s by %s: %s", cases[i].built, cases[i].asked, cases[i].schedule, verdict.reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pointers_are_shuffled), cmocka_unit_test(wrong_pointers), cmocka_unit_test(families)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
