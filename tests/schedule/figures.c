/* SPDX-License-Identifier: MIT
 * What each family says of a problem: how many schedules it takes and which, and of two of them what they ask of a multiprocessor, their share of the time
 * model, part by part, and what their kernel is made of, against figures.txt. What changes there is meant to change: UPDATE=1 writes the file anew, and its difference says what a change of a
 * family's rules or of its share does. The rates are not those of a device but have a number of their own each, so that fitting them changes nothing here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "golden.h"
#include "kernel/kernel.h"
#include "loaded/loaded.h"
#include "random/combine.h"
#include "schedule/space.h"
#include "schedule/work.h"
#include "texts.h"

/* Hundreds of thousands of schedules are looked at: a sanitized build, for which they are data, does so for a few problems, up to a place in the file. */
#ifdef __SANITIZE_ADDRESS__
enum { MOST = 6 };
#else
enum { MOST = 1000 };
#endif

static const struct { const char *device, *problem; } problems[] = {
    {"h200", "f16:4096x4096x4096:tn"}, {"h200", "bf16:1000x2000x3000:nn"}, {"h200", "f16:520x264x136:nt:d=f32:beta=1"}, {"h200", "bf16:64x4096x64:tt:beta=1"},
    {"h200", "f16:33x17x65:tn"}, {"h200", "f16:512x512x512:nn:acc=f16"}, {"h200", "bf16:16x14336x4096:tn"}, {"h200", "bf16:1x4096x4096:tn:ep=bias+gelu"},
    {"h200", "f16:4096x2x4096:nn"}, {"h200", "bf16:4x4096x4099:tn"}, {"h200", "f16:8x4098x1024:nn:ldb=4099"}, {"h200", "bf16:2x1000x1008:tn:lda=1009:ldb=1011"}, {"h200", "bf16:2x1000x1012:tn:lda=1016:ldb=1016"}, {"h200", "bf16:64x64x16384:tn"}, {"h200", "bf16:96x96x5000:tn:lda=5001:ldb=5003"}, {"h200", "f16:136x128x256:tn:b=12:beta=0.5"},
    {"h200", "bf16:2048x11008x4096:tn:ep=bias+gelu+aux"}, {"h200", "bf16:2048x1408x512:tn:ep=silu+gate"}, {"h200", "bf16:300x1408x512:tn:ep=silu+gate_i"},
    {"h200", "bf16:512x1024x768:nn:ep=dgelu"}, {"h200", "bf16:512x1024x768:nn:ep=dbias"}, {"h200", "bf16:4096x1024x512:tn:g=8"},
    {"h200", "bf16:4096x1024x512:tn:gm=8:ep=silu+gate"}, {"h200", "bf16:1024x512x4096:nt:gk=8"}, {"h200", "bf16:256x512x384:tn:ep=scale_m+scale_n+bias"},
    {"h200", "bf16:16x512x1024:tn:inv=1"}, {"h200", "f16:16x16x16:tn:b=4096"}, {"h200", "f16:24x8x20:nn:b=1000:beta=1"}, {"h200", "f16:16x16x16:tn:b=4096:matrices=pointers"},
    {"h200", "bf16:128x256x512:tn:scalars=device:beta=1"}, {"h200", "bf16:40x72x512:tn:b=3:sa=40000:sb=0:sd=9000"}, {"a100", "f16:4096x4096x4096:tn"}, {"a100", "bf16:40x72x1024:nn:beta=1"},
};

/* FNV-1a, which begins with FNV_START. */
#define FNV_START 0xcbf29ce484222325u

static uint64_t hash_of(uint64_t hash, const char *text)
{
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* Of its name, in the middle half of what it may be; where that is wide, of a tenth of it. */
static double rate_of(const char *name, double least, double greatest)
{
    const double part = 0.25 + 0.5 * (double)(hash_of(FNV_START, name) >> 40) * 0x1p-24;
    return least + (greatest - least) * part * (greatest > 100 ? 0.1 : 1);
}

static gs_profile profile_of(const char *device)
{
    gs_profile profile = *gs_profile_find(device);
#define GS_RATE(name, unit, least, greatest, what) profile.rates.name = rate_of(#name, least, greatest);
    GS_RATES(GS_RATE)
#undef GS_RATE
    return profile;
}

/* What it is compiled with and what its manifest says, as one number each. */
static void say_kernel(gs_text *out, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    static gs_kernel kernel;
    gs_kernel_source as;
    gs_text text = {0};
    gs_error error = {0};
    uint64_t options = FNV_START;
    if (gs_kernel_build(&kernel, schedule, problem, caps, &error) != GS_OK) fail_msg("%s", error.text);
    gs_manifest_format(&kernel.manifest, &text);
    gs_kernel_to_source(&kernel, &as);
    for (int i = 0; i < as.source.option_count; i++) options = hash_of(options, as.source.options[i]);
    gs_text_addf(out, " | %d options %08x, manifest %08x\n", as.source.option_count, (unsigned)options, (unsigned)hash_of(FNV_START, gs_text_string(&text)));
    gs_text_free(&text);
}

static void say_work(gs_text *out, const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    char token[GS_SCHEDULE_TEXT];
    const gs_resources r = gs_schedule_resources(schedule, problem, &profile->caps);
    const gs_work w = gs_schedule_work(schedule, problem, profile);
    gs_text_addf(out, "    %s threads=%d registers=%d smem=%d resident=%d cluster=%d | %d x %d%s", gs_schedule_format(schedule, token), r.threads, r.registers, r.smem, r.blocks_sm, r.cluster, w.cluster,
                   w.resident, w.persistent ? " persistent" : "");
    const double parts[] = {w.blocks, w.steps, w.matrix, w.port, w.issue, w.feed, w.fresh, w.outside, w.chain, w.latency, w.ahead, w.held, w.start, w.finish, w.finish_port, w.store, w.memory_bytes};
    for (size_t i = 0; i < GS_COUNT(parts); i++) gs_text_addf(out, " %.7g", parts[i]);
    say_kernel(out, schedule, problem, &profile->caps);
}

/* The schedules that a family takes, which are to be freed, and a number of all their names. */
static gs_space taken(int family, const gs_problem *problem, const gs_caps *caps, uint64_t *hash)
{
    gs_space space;
    assert_int_equal(gs_space_create(&space, problem, caps, 1u << family, NULL), GS_OK);
    *hash = FNV_START;
    for (int i = 0; i < space.count; i++) {
        char token[GS_SCHEDULE_TEXT];
        *hash = hash_of(*hash, gs_schedule_format(&space.list[i], token));
    }
    return space;
}

static void say_family(gs_text *out, int family, const gs_problem *problem, const gs_profile *profile)
{
    uint64_t hash;
    gs_space space = taken(family, problem, &profile->caps, &hash);
    if (space.count) gs_text_addf(out, "  %s: %d schedules, %016llx\n", gs_family_name((gs_family_id)family), space.count, (unsigned long long)hash);
    for (int i = 1; i <= 2 && i <= space.count; i++) say_work(out, &space.list[(int64_t)space.count * i / 3], problem, profile);
    gs_space_free(&space);
}

/* Features that few problems combine, and extents where a family ends: which families take how many schedules, and which. */
enum { COMBINATIONS = 36 };

static const char *const extremes[] = {
    "f16:2147483647x64x64:tn", "f16:64x2147483647x64:tn", "f16:64x64x2147483647:tn", "f16:16x16x16:tn:b=2147483647", "f16:100000x100000x64:tn:b=1000", "f16:63x63x63:tn:b=500", "f16:17x17x17:tn:b=64", "f16:17x17x17:tn:b=63", "f16:17x17x17:tn:b=32", "f16:17x17x17:tn:b=31",
    "f16:64x64x64:tn:b=128", "f16:65x64x64:tn:b=128", "f16:16x16x16:tn:b=7", "f16:8x64x100000:tn", "f16:9x64x100000:tn", "bf16:4096x4096x64:tn:g=4096", "bf16:4096x4096x64:tn:gm=4096", "f16:64x64x64:tn:lda=68719476736",
    "f16:256x512x512:tn:g=8:acc=f16:ep=silu+gate", "bf16:256x512x512:tn:g=8:beta=1:ep=bias+silu+gate+residual", "bf16:256x512x512:tn:gm=8:beta=1:ep=scale_m+bias+silu+gate+residual", "bf16:256x512x512:tn:g=8:ep=bias+gelu+aux",
    "f16:256x512x512:tn:g=8:acc=f16:beta=1:ep=bias+silu+gate_i+residual", "bf16:256x512x512:nn:g=8:ep=dgelu", "bf16:256x512x512:nn:g=8:ep=dbias", "bf16:256x512x512:nn:beta=1:ep=bias+gelu+residual",
};

static void say_taken(gs_text *out, const gs_problem *problem, const gs_profile *profile)
{
    char text[GS_PROBLEM_TEXT];
    gs_text_add(out, gs_problem_format(problem, text));
    for (int family = 0; family < GS_FAMILIES; family++) {
        uint64_t hash;
        gs_space space = taken(family, problem, &profile->caps, &hash);
        if (space.count) gs_text_addf(out, " %s=%d/%08x", gs_family_name((gs_family_id)family), space.count, (unsigned)hash);
        gs_space_free(&space);
    }
    gs_text_add(out, "\n");
}

/* Two words; numbers may differ in their last digits: not every C library has the same sixth root. */
static bool same_word(const char *a, size_t size_a, const char *b, size_t size_b)
{
    char *end_a, *end_b;
    const double x = strtod(a, &end_a), y = strtod(b, &end_b);
    return (size_a == size_b && memcmp(a, b, size_a) == 0) || (size_a && size_b && end_a == a + size_a && end_b == b + size_b && fabs(x - y) <= 2e-6 * fabs(y));
}

static bool same_line(const char *a, const char *b)
{
    for (;;) {
        const size_t size_a = strcspn(a, " "), size_b = strcspn(b, " ");
        if (!same_word(a, size_a, b, size_b)) return false;
        a += size_a, b += size_b;
        if (!*a || !*b) return !*a && !*b;
        a++, b++;
    }
}

static void figures_of_families(void **state)
{
    (void)state;
    const bool whole = MOST > (int)GS_COUNT(problems);
    gs_text out = {0};
    for (size_t i = 0; i < GS_COUNT(problems) && i < MOST; i++) {
        const gs_profile profile = profile_of(problems[i].device);
        const gs_problem problem = problem_of(problems[i].problem);
        gs_text_addf(&out, "%s %s\n", problems[i].device, problems[i].problem);
        for (int family = 0; family < GS_FAMILIES; family++) say_family(&out, family, &problem, &profile);
    }
    gs_random random = {20261130};
    const gs_profile h200 = profile_of("h200");
    for (int i = 0; whole && i < COMBINATIONS + (int)GS_COUNT(extremes); i++) {
        const gs_problem problem = i < COMBINATIONS ? gs_random_combination(&random, i % 2 ? 4096 : 96).problem : problem_of(extremes[i - COMBINATIONS]);
        say_taken(&out, &problem, &h200);
    }
    golden_check(GS_SOURCE_DIR "/tests/schedule/figures.txt", &out, whole, same_line);
    gs_text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(figures_of_families)};
    return cmocka_run_group_tests_name("figures", tests, NULL, NULL);
}
