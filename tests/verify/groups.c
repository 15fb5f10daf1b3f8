/* SPDX-License-Identifier: MIT
 * Verification of groups of rows: the offsets that are drawn; right kernels pass; kernels that are wrong at the edge of a group, at an empty group or behind the last
 * group are refused. */
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
#include "texts.h"
#include "routing/routing.h"
#include "verify/check_run.h"
#include "verifying.h"

static void check_offsets(const gs_problem *p, gs_routing routing, const int32_t *offsets)
{
    int filled = 0;
    assert_int_equal(offsets[0], 0);
    for (int64_t i = 0; i < p->groups; i++) {
        assert_true(offsets[i] <= offsets[i + 1]);
        filled += offsets[i] < offsets[i + 1];
    }
    const int64_t end = offsets[p->groups];
    assert_true(end <= p->m);
    if (routing == GS_ROUTING_LAST) assert_true(filled == 1 && offsets[p->groups - 1] == 0);
    if (routing == GS_ROUTING_FIRST) assert_true(filled == 1 && offsets[1] == p->m);
    if (routing == GS_ROUTING_BEHIND && p->groups > 1) assert_int_equal(offsets[1], 0);
    if ((routing == GS_ROUTING_SPARSE || routing == GS_ROUTING_BEHIND) && p->groups > 20) assert_true(filled < p->groups * 4 / 5);
    if (routing == GS_ROUTING_FEW) assert_true(end >= 1 && end <= 3);
    else if (routing == GS_ROUTING_NONE) assert_int_equal(end, 0);
    else if (routing == GS_ROUTING_SHORT) assert_true(end >= p->m / 2);
    else if (routing == GS_ROUTING_TOKENS) for (int64_t i = 0; i < p->groups; i++) assert_true(offsets[i + 1] - offsets[i] == offsets[1] || offsets[i + 1] == p->m);
    else if (routing == GS_ROUTING_EQUAL && p->m >= p->groups) for (int64_t i = 0; i < p->groups; i++) assert_int_equal(offsets[i + 1] - offsets[i], p->m / p->groups);
    else assert_int_equal(end, p->m);
}

/* Groups along K: the same checks of ranges of K. */
static void routings_along_k(void **state)
{
    (void)state;
    for (int routing = 0; routing <= GS_ROUTING_NONE; routing++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            const gs_problem p = problem_of("f16:8x9x1000:nt:gk=64");
            int32_t offsets[65];
            gs_problem rows = problem_of("f16:1000x9x8:tn:g=64");
            gs_offsets_draw(&p, (gs_routing)routing, seed, offsets);
            check_offsets(&rows, (gs_routing)routing, offsets);
            assert_int_equal(gs_rows_used(&p, offsets), 64 * 8);
            assert_int_equal(gs_group_of_row(&p, offsets, 17), 2);
            const gs_group_rows of = gs_rows_of_group(&p, offsets, 5);
            assert_true(of.first == 5 * 8 && of.rows == 8 && of.unused == 0);
            assert_int_equal(gs_terms_of_group(&p, offsets, 5).first, offsets[5]);
            assert_int_equal(gs_terms_of_group(&p, offsets, 5).count, offsets[6] - offsets[5]);
        }
}

static void check_counts(const gs_problem *p, gs_routing routing, const int32_t *counts)
{
    const int64_t room = p->m / p->groups;
    int64_t rows = 0, filled = 0, most = 0, of_three = 0;   /* of_three: groups with one to three rows */
    for (int64_t i = 0; i < p->groups; i++) {
        assert_true(counts[i] >= 0 && counts[i] <= room);
        of_three += counts[i] >= 1 && counts[i] <= 3;
        rows += counts[i];
        filled += counts[i] > 0;
        most = counts[i] > most ? counts[i] : most;
    }
    if (routing == GS_ROUTING_NONE) assert_int_equal(rows, 0);
    if (routing == GS_ROUTING_FEW) assert_true(rows >= 1 && rows <= 3);
    if (routing == GS_ROUTING_LAST) assert_true(filled == 1 && counts[p->groups - 1] == room);
    if (routing == GS_ROUTING_FIRST) assert_true(filled == 1 && counts[0] == room);
    if (routing == GS_ROUTING_BEHIND && p->groups > 1) assert_int_equal(counts[0], 0);
    if (routing == GS_ROUTING_TOKENS) assert_true(of_three > 0 && (most <= 4 || most % 8 == 0 || most == room));
    if (routing == GS_ROUTING_EVEN) assert_true(rows > p->m / 2);
    if (routing == GS_ROUTING_EQUAL) assert_true(filled == p->groups && most == (room + 1) / 2 && rows == most * p->groups);
    assert_int_equal(rows, gs_rows_used(p, counts));
    for (int64_t i = 0, last = -1; i < rows; i += 1 + rows / 50) {
        const int64_t row = gs_row_used(p, counts, i), group = gs_group_of_row(p, counts, row);
        assert_true(row > last && group == row / room && row % room < counts[group]);
        last = row;
    }
}

static void masked_routings(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:1x8x8:tn:gm=1", "f16:105x8x8:tn:gm=7", "f16:1024x8x8:tn:gm=64", "f16:5000000x8x8:tn:gm=4"};
    for (size_t i = 0; i < GS_COUNT(texts); i++)
        for (int routing = 0; routing <= GS_ROUTING_NONE; routing++)
            for (uint64_t seed = 0; seed < 5; seed++) {
                const gs_problem p = problem_of(texts[i]);
                int32_t *const counts = malloc(gs_problem_bytes(&p, 'f'));
                gs_offsets_draw(&p, (gs_routing)routing, seed, counts);
                check_counts(&p, (gs_routing)routing, counts);
                free(counts);
            }
}

static void routings(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:1x8x8:tn:g=1", "f16:100x8x8:tn:g=7", "f16:1000x8x8:tn:g=64", "f16:30x8x8:tn:g=4096", "f16:5000000x8x8:tn:g=3"};
    for (size_t i = 0; i < GS_COUNT(texts); i++)
        for (int routing = 0; routing <= GS_ROUTING_NONE; routing++)
            for (uint64_t seed = 0; seed < 5; seed++) {
                const gs_problem p = problem_of(texts[i]);
                int32_t *const offsets = malloc(gs_problem_bytes(&p, 'f'));
                gs_offsets_draw(&p, (gs_routing)routing, seed, offsets);
                check_offsets(&p, (gs_routing)routing, offsets);
                const int unit = p.m < 5000000 ? 1 : routing == GS_ROUTING_SPARSE ? 8 : routing == GS_ROUTING_EVEN ? 5 : 1;   /* group sizes are multiples of it */
                for (int64_t group = 0; group < p.groups; group++) assert_int_equal(offsets[group] % unit, 0);
                free(offsets);
            }
}

/* Kernel with one thread per element; macros replace one expression. */
static const char source[] =
    "#include \"common/args.h\"\n"
    "#include \"common/convert.cuh\"\n"
    "#include \"common/groups.h\"\n"
    "#ifndef FIND\n"
    "#define FIND gs_group_of(p.offsets, GS_GROUPED, row)\n"
    "#endif\n"
    "#ifndef END\n"
    "#define END p.offsets[GS_GROUPED]\n"
    "#endif\n"
    "extern \"C\" __global__ void gs_kernel(const gs_kernel_args p)\n"
    "{\n"
    "    const int row = blockIdx.x;\n"
    "#if GS_MASKED\n"
    "    const int room = p.m / GS_GROUPED;\n"
    "#ifndef USED\n"
    "#define USED (row % room < p.offsets[row / room])\n"
    "#endif\n"
    "    if (!(USED)) return;\n"
    "#undef FIND\n"
    "#define FIND (row / room)\n"
    "#else\n"
    "    if (row >= END) return;\n"
    "#endif\n"
    "    const int group = FIND;\n"
    "    for (int col = threadIdx.x; col < p.n; col += blockDim.x) {\n"
    "        float sum = 0;\n"
    "        const unsigned short *const a = (const unsigned short *)p.a + row * p.lda, *const b = (const unsigned short *)p.b + (group * p.n + col) * p.ldb;\n"
    "        for (int k = 0; k < p.k; k++) sum = fmaf(gs_f16_to_f32(a[k]), gs_f16_to_f32(b[k]), sum);\n"
    "        ((unsigned short *)p.d)[row * p.ldd + col] = gs_f32_to_f16(p.alpha * sum);\n"
    "    }\n"
    "}\n";

/* The same for groups along K. */
static const char source_k[] =
    "#include \"common/args.h\"\n"
    "#include \"common/convert.cuh\"\n"
    "#ifndef FIRST\n"
    "#define FIRST p.offsets[group]\n"
    "#endif\n"
    "#ifndef END\n"
    "#define END p.offsets[group + 1]\n"
    "#endif\n"
    "extern \"C\" __global__ void gs_kernel(const gs_kernel_args p)\n"
    "{\n"
    "    const int row = blockIdx.x % p.m, group = blockIdx.x / p.m;\n"
    "    const int first = FIRST, end = END;\n"
    "    for (int col = threadIdx.x; col < p.n; col += blockDim.x) {\n"
    "        float sum = 0;\n"
    "        for (int k = first; k < end; k++) sum = fmaf(gs_f16_to_f32(((const unsigned short *)p.a)[k * p.lda + row]), gs_f16_to_f32(((const unsigned short *)p.b)[k * p.ldb + col]), sum);\n"
    "#ifdef SKIP\n"
    "        if (first == end) continue;\n"
    "#endif\n"
    "        ((unsigned short *)p.d)[blockIdx.x * p.ldd + col] = gs_f32_to_f16(p.alpha * sum);\n"
    "    }\n"
    "}\n";

static gs_verdict verdict_of(const char *text, const char *define, uint64_t seed)
{
    const gs_problem problem = problem_of(text);
    gs_error error = {0};
    gs_kernel kernel = {.name = "groups.cu"};
    gs_contender contender;
    gs_verdict verdict;
    gs_text whole = {0};
    if (*define) gs_text_addf(&whole, "#define %s\n", define);
    gs_text_add(&whole, problem.grouping == GS_GROUPS_K ? source_k : source);
    kernel.source = gs_text_string(&whole);
    gs_kernel_define_problem(&kernel, &problem);
    if (gs_manifest_parse(&kernel.manifest, "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid m*batch 1 1\nblock 32 1 1\n", &error) != GS_OK ||
        gs_contender_kernel_own(&contender, device, "groups", &kernel, &error) != GS_OK ||
        gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = seed, .parts = GS_PART_ALL & ~(uint32_t)GS_PART_EDGES}, &verdict, &error) != GS_OK)
        fail_msg("%s: %s", define, error.text);
    contender.destroy(&contender);
    gs_text_free(&whole);
    return verdict;
}

/* The unchanged kernel passes with every seed. */
static void expect_right(const char *text)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const gs_verdict right = verdict_of(text, "", seed);
        if (right.code != GS_VERDICT_PASS) fail_msg("seed %d: %s", (int)seed, right.reason);
    }
}

/* With this define the kernel fails with every seed, and the reason contains `says`. */
static void expect_refused(const char *text, const char *define, const char *says)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const gs_verdict wrong = verdict_of(text, define, seed);
        if (wrong.code == GS_VERDICT_PASS) fail_msg("%s passes with seed %d", define, (int)seed);
        if (!strstr(wrong.reason, says)) fail_msg("%s: %s", define, wrong.reason);
    }
}

static void wrong_groups(void **state)
{
    (void)state;
    static const char text[] = "f16:45x24x40:tn:g=6";
    static const struct {
        const char *define, *says;
    } cases[] = {
        {"FIND gs_group_of(p.offsets, GS_GROUPED, row + 1) % GS_GROUPED", ""},                             /* the last row of a group uses the next group's B */
        {"FIND gs_group_of(p.offsets, GS_GROUPED, row > 0 ? row - 1 : 0)", ""},                           /* the first row of a group uses the previous group's B */
        {"FIND row * GS_GROUPED / p.m", ""},                                                              /* as if all groups had the same size */
        {"FIND (row == END / 2 ? 0 : gs_group_of(p.offsets, GS_GROUPED, row))", ""},                      /* one row uses the wrong B */
        {"FIND 0", ""},
        {"END p.m", "behind the last group"},                                                             /* the rows behind the last group are written too */
        {"END (p.offsets[GS_GROUPED] + 1 < p.m ? p.offsets[GS_GROUPED] + 1 : p.m)", "behind the last group"},
        {"END (p.offsets[GS_GROUPED] - 1)", "never written"},
        {"END (p.offsets[1] == p.offsets[0] ? 0 : p.offsets[GS_GROUPED])", ""},              /* stops if the first group is empty */
    };
    expect_right(text);
    for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) expect_refused(text, cases[i].define, cases[i].says);
}

static void wrong_ranges_of_k(void **state)
{
    (void)state;
    static const char text[] = "f16:12x24x90:nt:gk=6";
    static const char *const cases[] = {
        "END p.offsets[group + 1] + (p.offsets[group + 1] < p.k)",                    /* includes the first term of the next group */
        "END (p.offsets[group + 1] > first ? p.offsets[group + 1] - 1 : first)",
        "FIRST p.offsets[group] / 8 * 8",
        "FIRST p.offsets[group] + 1",
        "END (group + 1 == p.batch ? p.k : p.offsets[group + 1])",                     /* the last group also sums the terms of no group */
        "END p.k",
        "SKIP",                                                                        /* D of an empty group is not written */
    };
    expect_right(text);
    for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) expect_refused(text, cases[i], "");
}

static void wrong_masks(void **state)
{
    (void)state;
    static const char text[] = "f16:48x24x40:tn:gm=6";
    static const struct {
        const char *define, *says;
    } cases[] = {
        {"USED 1", "behind those of a group"},
        {"USED row % room <= p.offsets[row / room]", "behind those of a group"},
        {"USED row % room + 1 < p.offsets[row / room]", "never written"},
        {"USED row % room < p.offsets[row / room] && p.offsets[0]", ""},                     /* stops if the first group is empty */
        {"USED row % room < p.offsets[(row + 1) / room % GS_GROUPED]", ""},                  /* the last row uses the next group's count */
        {"USED row < p.offsets[GS_GROUPED - 1]", ""},                                        /* as if the counts were offsets */
    };
    expect_right(text);
    for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) expect_refused(text, cases[i].define, cases[i].says);
}

/* The family simple with every layout, and built for another number of groups, for no groups, or for one bias. */
static void simple(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *built;
        bool        right;
    } cases[] = {
        {"f16:40x24x72:tn:g=5",               "f16:40x24x72:tn:g=5",               true},
        {"bf16:40x24x72:nn:g=5:beta=1",       "bf16:40x24x72:nn:g=5:beta=1",       true},
        {"bf16:33x24x17:nt:g=3:d=f32",        "bf16:33x24x17:nt:g=3:d=f32",        true},
        {"f16:40x24x72:tt:g=12:ep=bias+silu", "f16:40x24x72:tt:g=12:ep=bias+silu", true},
        {"f16:40x24x72:tn:g=5:ep=bias+silu+gate",         "f16:40x24x72:tn:g=5:ep=bias+silu+gate",         true},
        {"bf16:33x17x40:nt:d=f32:g=4:beta=1:ep=gelu+gate_i+residual", "bf16:33x17x40:nt:d=f32:g=4:beta=1:ep=gelu+gate_i+residual", true},
        {"f16:40x24x72:tn:g=5:ep=bias+silu+gate",         "f16:40x24x72:tn:g=5:ep=bias+silu+gate_i",       false},
        {"f16:40x24x72:tn:g=5:ep=silu+gate",              "f16:40x24x72:tn:g=5:ep=bias+silu+gate",         false},
        {"f16:40x24x72:nt:gk=5",              "f16:40x24x72:nt:gk=5",              true},
        {"bf16:33x17x90:tn:d=f32:gk=3:beta=1", "bf16:33x17x90:tn:d=f32:gk=3:beta=1", true},
        {"f16:20x24x72:tt:acc=f16:gk=12",     "f16:20x24x72:tt:acc=f16:gk=12",     true},
        {"f16:40x24x72:nt:gk=5",              "f16:40x24x72:nt:b=5:sa=0:sb=0",     false},
        {"f16:40x24x72:tn:gm=5",              "f16:40x24x72:tn:gm=5",              true},
        {"bf16:42x24x17:nt:gm=3:d=f32:beta=1:ep=bias", "bf16:42x24x17:nt:gm=3:d=f32:beta=1:ep=bias", true},
        {"f16:40x24x72:tt:gm=8:ep=bias+silu+gate_i", "f16:40x24x72:tt:gm=8:ep=bias+silu+gate_i", true},
        {"f16:40x24x72:tn:gm=5",              "f16:40x24x72:tn:gm=4",              false},
        {"f16:40x24x72:tn:g=5",               "f16:40x24x72:tn:g=4",               false},
        {"f16:40x24x72:tn:g=5",               "f16:40x24x72:nn:g=5",               false},
        {"f16:40x24x72:tn:g=5:ep=bias",       "f16:40x24x72:tn:g=5:ep=bias_m",     false},
    };
    const gs_schedule schedule = schedule_of("simple");
    for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) {
        const gs_problem problem = problem_of(cases[i].asked), other = problem_of(cases[i].built);
        gs_error error = {0};
        gs_kernel kernel = {0};
        gs_contender contender;
        gs_verdict verdict;
        if (gs_kernel_build(&kernel, &schedule, &other, &device->caps, &error) != GS_OK || gs_contender_kernel_own(&contender, device, cases[i].built, &kernel, &error) != GS_OK ||
            gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = 5, .parts = GS_PART_ALL & ~(uint32_t)GS_PART_EDGES}, &verdict, &error) != GS_OK)
            fail_msg("%s: %s", cases[i].asked, error.text);
        contender.destroy(&contender);
        if ((verdict.code == GS_VERDICT_PASS) != cases[i].right) fail_msg("%s as %s: %s", cases[i].built, cases[i].asked, verdict.reason);
    }
}

/* The verdict on a ws kernel with `from` replaced by `to` in its source. */
static gs_verdict verdict_of_ws(const char *text, const char *string, const char *from, const char *to, uint64_t seed)
{
    const gs_problem problem = problem_of(text);
    const gs_schedule schedule = schedule_of(string);
    gs_error error = {0};
    gs_kernel kernel = {0};
    gs_contender contender;
    gs_verdict verdict;
    gs_text before = {0}, after = {0};
    if (gs_kernel_build(&kernel, &schedule, &problem, &device->caps, &error) != GS_OK) fail_msg("%s %s: %s", text, string, error.text);
    if (from) {
        gs_kernel_add_text(&before, &kernel);
        const char *const at = strstr(gs_text_string(&before), from);
        if (!at || strstr(at + 1, from)) fail_msg("%s stands %s in the source", from, at ? "more than once" : "nowhere");
        gs_text_add_bytes(&after, before.data, (size_t)(at - before.data));
        gs_text_add(&after, to);
        gs_text_add(&after, at + strlen(from));
        kernel.source = gs_text_string(&after);
    }
    if (gs_contender_kernel_own(&contender, device, string, &kernel, &error) != GS_OK ||
        gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = seed, .parts = GS_PART_ALL & ~(uint32_t)GS_PART_EDGES}, &verdict, &error) != GS_OK)
        fail_msg("%s %s: %s", text, string, error.text);
    contender.destroy(&contender);
    gs_text_free(&before);
    gs_text_free(&after);
    return verdict;
}

static void ws(void **state)
{
    (void)state;
    static const char *const honest[][2] = {
        {"f16:200x136x136:tn:g=5",                      "ws/64x64x64/s3/c1x1/coop/g4"},
        {"bf16:150x264x72:nn:g=70:ep=bias+gelu",        "ws/16x128x64/s4/c1x1/coop/g1"},    /* more groups than a warp has lanes */
        {"f16:300x136x136:tn:g=3:beta=1:d=f32",         "ws/128x64x64/s3/c2x1/coop/h2"},
        {"bf16:300x264x136:tn:g=4",                     "ws/128x128x64/s3/c1x2/lag/g2"},
        {"bf16:300x264x136:tn:g=6",                     "ws/64x64x64/s3/c2x2/pp/h4"},
        {"f16:200x137x136:tn:g=5:ldd=139:ep=bias_m",    "ws/48x128x64/s3/c1x1/coop/g4"},    /* rows of D with any alignment */
        {"bf16:200x136x72:tn:g=5:ep=bias+silu+gate",    "ws/64x64x64/s3/c1x1/coop/g4"},
        {"f16:200x136x72:tn:g=5:beta=1:ep=bias+gelu+gate_i+residual", "ws/64x128x64/s3/c2x1/coop/h2"},
        {"bf16:150x264x72:tn:d=f32:g=40:ep=bias+silu+gate", "ws/16x128x64/s4/c1x1/coop/g1"},
        {"f16:200x72x136:tn:g=4:ldd=75:ep=silu+gate",   "ws/32x128x64/s3/c1x2/pp/g2"},
        {"f16:72x136x200:nt:gk=5",                      "ws/64x64x64/s3/c1x1/coop/g4"},
        {"bf16:264x136x300:nt:d=f32:gk=3:beta=1",       "ws/128x64x64/s3/c2x1/coop/h2"},
        {"bf16:264x264x300:nt:gk=4",                    "ws/128x128x64/s3/c1x2/lag/g2"},
        {"f16:264x137x300:nt:gk=7:ldb=144:ldd=139",     "ws/32x128x64/s4/c1x1/coop/g1"},
        {"bf16:264x136x500:nt:gk=2",                    "ws/256x128x64/s3/c2x2/coop4/h2"},
        {"f16:200x136x136:tn:gm=5",                     "ws/64x64x64/s3/c1x1/coop/g4"},
        {"bf16:210x264x72:nn:gm=70:ep=bias+gelu",       "ws/16x128x64/s4/c1x1/coop/g1"},
        {"f16:300x136x136:tn:gm=3:beta=1:d=f32",        "ws/128x64x64/s3/c2x1/coop/h2"},
        {"bf16:300x264x136:tn:gm=4",                    "ws/128x128x64/s3/c1x2/lag/g2"},
        {"bf16:300x264x136:tn:gm=6",                    "ws/64x64x64/s3/c2x2/pp/h4"},
        {"bf16:200x136x72:tn:gm=4:ep=bias+silu+gate",   "ws/64x64x64/s3/c1x1/coop/g4"},
        {"f16:200x137x136:tn:gm=5:ldd=139:ep=bias_m",   "ws/48x128x64/s3/c1x1/coop/g4"},
        {"bf16:200x136x136:tn:g=5:ep=dgelu+dbias",      "ws/128x64x64/s3/c1x1/coop/g1"},
        {"f16:200x136x72:tn:d=f32:gm=5:beta=1:ep=dbias", "ws/32x128x64/s3/c1x1/coop/g4"},
        {"bf16:300x136x136:tn:b=2:se=140:ep=dbias",     "ws/64x64x64/s3/c1x2/pp/g2"},
        {"f16:150x136x72:tn:g=40:ep=relu+aux",          "ws/16x128x64/s4/c2x1/coop/g1"},
        {"bf16:200x136x72:tn:g=5:ldaux=280:ep=bias+silu+gate+aux", "ws/64x64x64/s3/c1x1/coop/g4"},
    };
    static const char tn[] = "f16:200x136x136:tn:g=5", wide[] = "ws/64x64x64/s3/c1x1/coop/g4";
    static const struct {
        const char *from, *to;
    } faults[] = {
        {"const bool whole = row + rows <= at.end;", "const bool whole = true;"},
        {"if (r < rows && c *", "if (r <= rows && c *"},
        {"tile->index = low;", "tile->index = low + 1 < GS_GROUPED ? low + 1 : low;"},
        {"if (table->tile[middle] <= w->tile) low", "if (table->tile[middle] < w->tile) low"},
        {"if (lane >= step) sum += other;", "if (lane > step) sum += other;"},
        {"        fill_table(tiles, &p);\n    }\n    __syncthreads();\n", "        fill_table(tiles, &p);\n    }\n"},
        {"(unsigned)(rows + GS_BM * GS_CM - 1) / (GS_BM * GS_CM); }", "(unsigned)rows / (GS_BM * GS_CM) + 1; }"},   /* an extra tile for each empty group writes nothing: still right */
        {"(unsigned)(rows + GS_BM * GS_CM - 1) / (GS_BM * GS_CM); }", "(unsigned)rows / (GS_BM * GS_CM); }"},
        {"tile->row = first + (int)", "tile->row = (first & ~7) + (int)"},
    };
    for (size_t i = 0; i < GS_COUNT(honest); i += VERIFYING_EACH) {
        const gs_verdict verdict = verdict_of_ws(honest[i][0], honest[i][1], NULL, NULL, i + 1);
        if (verdict.code != GS_VERDICT_PASS) fail_msg("%s %s: %s", honest[i][0], honest[i][1], verdict.reason);
    }
    for (size_t i = 0; i < GS_COUNT(faults); i += VERIFYING_EACH) {
        const gs_verdict verdict = verdict_of_ws(tn, wide, faults[i].from, faults[i].to, i + 1);
        if ((verdict.code == GS_VERDICT_PASS) != (i == 6)) fail_msg("%s: %s", faults[i].to, verdict.reason);
    }
    static const char sums[] = "bf16:200x136x136:tn:g=5:ep=dbias", swapped[] = "ws/32x128x64/s3/c1x1/coop/g1";
    static const struct {
        const char *text, *string, *from, *to;
    } beside[] = {   /* rows of the next group, another group's place, lanes or a column left out; aux of the next group */
        {sums, wide, "if (row + 8 < end) sum.x", "if (row + 8 < end + 8) sum.x"},
        {sums, wide, "(row - first) / GS_SUM_ROWS);", "row / GS_SUM_ROWS);"},
        {sums, wide, "for (int other = 4; other < 32; other *= 2) {", "for (int other = 4; other < 16; other *= 2) {"},
        {sums, wide, "if (col + 1 < p->n) to[1] = sum.y;", "if (col + 2 < p->n) to[1] = sum.y;"},
        {sums, swapped, "(row + 1 < end ? value.y : 0)", "value.y"},
        {sums, swapped, "first < end && col < p->n) sums_of_rows", "first < end && col < p->n - 1) sums_of_rows"},
        {sums, swapped, "sum += __shfl_xor_sync(0xffffffffu, sum, 2);", ""},
        {"f16:200x136x72:tn:g=5:ep=relu+aux", wide, "p->ldaux, end_of_rows(p, at) - row,", "p->ldaux, p->m - row,"},
        {"f16:200x136x72:tn:g=5:ep=relu+gate_i+aux", wide, "plus.y, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, end, p->n, index_of(at)));\n            const int at_word = GS_SWAP_AB",
         "plus.y, at_row + GS_SWAP_AB, at_col + !GS_SWAP_AB, p->m, p->n, index_of(at)));\n            const int at_word = GS_SWAP_AB"},
    };
    for (size_t i = 0; i < GS_COUNT(beside); i += VERIFYING_EACH) {
        const gs_verdict verdict = verdict_of_ws(beside[i].text, beside[i].string, beside[i].from, beside[i].to, i + 1);
        if (verdict.code == GS_VERDICT_PASS) fail_msg("%s passes", beside[i].to);
    }
    static const char *const along_k[][2] = {   /* terms of the next matrix; a block too few or too many; empty ranges; only A or only B is cleared; a missing barrier */
        {"(count - 1) % BK + 1 : 0};", "BK : 0};"},
        {"(count - 1) % BK + 1 : 0};", "(count - 1) % BK + 1 : BK};"},
        {"count > 0 ? (count - 1) / BK + 1 : 1, count", "count > BK ? (count - 1) / BK : 1, count"},
        {"first_k + block * BK, rank);", "first_k / 8 * 8 + block * BK, rank);"},
        {"if (k_blocks == 1 && range_of(&p, tile).last < BK)", "if (k_blocks == 1 && range_of(&p, tile).last < 0)"},
        {"if (block == k_blocks - 1 && range_of(&p, tile).last < BK)", "if (block == k_blocks - 2 && range_of(&p, tile).last < BK)"},
        {"i < BX / 64 * rows * 8;", "i < 0;"},
        {"i < BY * 2 / Y_SPAN * rows * units_y;", "i < 0;"},
        {"    gs_tma_fence();\n    gs_named_barrier(3, GS_CONSUMERS * 128);\n", "    gs_tma_fence();\n"},
    };
    for (size_t i = 0; i < GS_COUNT(along_k); i += VERIFYING_EACH) {
        const gs_verdict verdict = verdict_of_ws("f16:136x136x300:nt:gk=5", "ws/128x64x64/s3/c1x1/coop/g4", along_k[i][0], along_k[i][1], i + 1);
        if (verdict.code == GS_VERDICT_PASS) fail_msg("%s passes", along_k[i][1]);
    }
    static const char *const masked[][2] = {   /* all rows of a group, tiles for all of them, rows or counts of another group */
        {"end = GS_MASKED ? first + table->row[low] :", "end = GS_MASKED ? first + (p->m / GS_GROUPED) :"},
        {"const unsigned own = lines_m(row) * columns;", "const unsigned own = lines_m(row > 0 ? row - 1 : 0) * columns;"},
        {"const int first = GS_MASKED ? low * (p->m / GS_GROUPED)", "const int first = GS_MASKED ? low * (p->m / GS_GROUPED) + low % 2"},
        {"const int row = group < GS_GROUPED ? p->offsets[here] : 0;", "const int row = group < GS_GROUPED ? p->offsets[here > 0 ? here - 1 : 0] : 0;"},
    };
    for (size_t i = 0; i < GS_COUNT(masked); i += VERIFYING_EACH) {
        const gs_verdict verdict = verdict_of_ws("f16:195x136x72:tn:gm=3", wide, masked[i][0], masked[i][1], i + 1);
        if (verdict.code == GS_VERDICT_PASS) fail_msg("%s passes", masked[i][1]);
    }
    static const char *const gated[][2] = {   /* half of the columns are left out; another group's B */
        {"lines_of_n = (columns_of(p) - 1) / (GS_BN * GS_CN) + 1;", "lines_of_n = (unsigned)(p->n - 1) / (GS_BN * GS_CN) + 1;"},
        {"columns = (columns_of(p) - 1) / (GS_BN * GS_CN) + 1;", "columns = (unsigned)(p->n - 1) / (GS_BN * GS_CN) + 1;"},
        {"gs_tma_load_turn_of(to, map, k, row / 16, index, full);", "gs_tma_load_turn_of(to, map, k, row / 16, index > 0 ? index - 1 : 0, full);"},
    };
    for (size_t i = 0; i < GS_COUNT(gated); i += VERIFYING_EACH) {
        const gs_verdict verdict = verdict_of_ws("bf16:200x136x72:tn:g=5:ep=silu+gate", wide, gated[i][0], gated[i][1], i + 1);
        if (verdict.code == GS_VERDICT_PASS) fail_msg("%s passes", gated[i][1]);
    }
}

/* Offsets that the kernel writes to are a changed input. */
static void offsets_are_an_input(void **state)
{
    (void)state;
    const gs_verdict verdict = verdict_of("f16:16x16x8:tn:g=3", "FIND (((int *)p.offsets)[3] ^= 1, 0)", 2);
    if (verdict.code == GS_VERDICT_PASS) fail_msg("offsets may be written");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routings), cmocka_unit_test(simple), cmocka_unit_test(ws), cmocka_unit_test(wrong_groups), cmocka_unit_test(masked_routings), cmocka_unit_test(routings_along_k), cmocka_unit_test(wrong_ranges_of_k), cmocka_unit_test(wrong_masks), cmocka_unit_test(offsets_are_an_input),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
