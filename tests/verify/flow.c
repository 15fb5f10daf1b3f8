/* SPDX-License-Identifier: MIT
 * gs_verify reaches the right verdict for every wrong kernel, without a GPU: verify.cu and the wrong kernels are compiled here as C and run thread by thread on a device
 * made of malloc. Also faults, refusals and exhausted memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/wrong.h"
#include "loaded/contender.h"
#include "loaded/loaded.h"
#include "operands/operands.h"
#include "verify/malloc_device.h"
#include "verify/verify.h"

static gs_verifier *verifier;

static int open_fake(void **state)
{
    (void)state;
    fake = (struct fake){.device = {.ops = &ops, .caps = *gs_caps_find("h200")}, .until_failure = -1};
    fake.device.caps.l2_bytes = 1 << 16;   /* timing, and therefore verification, then places operands among few sets */
    return gs_verifier_create(&verifier, &fake.device, NULL) != GS_OK;
}

static int close_fake(void **state)
{
    (void)state;
    gs_verifier_destroy(&verifier);
    return fake.live != 0;   /* everything must be freed */
}

/* ---- the tests ---- */

static gs_problem small_problem(gs_layout layout)
{
    gs_problem problem = gs_problem_make(GS_F16, layout, 40, 56, 520);
    problem.ldd = 64;
    return problem;
}

static const wrong_case *find(int fault)
{
    for (size_t i = 0; i < GS_COUNT(wrongs); i++)
        if (wrongs[i].fault == fault) return &wrongs[i];
    fail_msg("fault %d is not in the table", fault);
    return NULL;
}

typedef struct tried {
    gs_contender contender;
    gs_kernel    kernel;
} tried;

static tried *contender_of(int fault, gs_layout layout)
{
    tried *const t = calloc(1, sizeof *t);
    gs_error error = {0};
    assert_non_null(t);
    if (wrong_kernel(find(fault), layout, &t->kernel, &error) != GS_OK) fail_msg("%s", error.text);
    assert_int_equal(gs_contender_kernel_own(&t->contender, &fake.device, find(fault)->name, &t->kernel, &error), GS_OK);
    return t;
}

static void release(tried *t)
{
    t->contender.destroy(&t->contender);
    free(t);
}

static gs_verdict verdict_of(tried *t, const gs_problem *problem, const gs_verify_options *options)
{
    gs_verdict verdict;
    gs_error error = {0};
    if (gs_verify(verifier, &t->contender, problem, options, &verdict, &error) != GS_OK) fail_msg("%s", error.text);
    assert_ptr_equal(fake.device.ops, &ops);   /* the device's calls are no longer intercepted */
    return verdict;
}

static void every_wrong_kernel_gets_its_verdict(void **state)
{
    (void)state;
    int missed = 0;
    for (size_t i = 0; i < GS_COUNT(wrongs); i++) {
        const gs_layout layout = (gs_layout)(i % 2);
        const gs_problem problem = small_problem(layout);
        tried *const t = contender_of(wrongs[i].fault, layout);
        const gs_verdict verdict = verdict_of(t, &problem, &(gs_verify_options){.seed = 1 + i});
        release(t);
        gs_problem named;
        assert_int_equal(gs_problem_parse(&named, verdict.problem, NULL), GS_OK);
        if (verdict.code == GS_VERDICT_REPEAT) assert_int_equal(verdict.part, 7);
        if (wrong_accepts(&wrongs[i], verdict.code)) continue;
        print_message("%s: %s, part %d, %s: %s\n", wrongs[i].name, gs_verdict_name(verdict.code), verdict.part, verdict.problem,
                      verdict.reason);
        missed++;
    }
    assert_int_equal(missed, 0);
}

static void verdicts_name_the_element(void **state)
{
    (void)state;
    const gs_problem problem = small_problem(GS_NN);
    tried *const t = contender_of(ZERO_TILE, GS_NN);
    /* A fixed seed: with others the right values of the tile's first elements may be zero. */
    const gs_verdict verdict = verdict_of(t, &problem, &(gs_verify_options){.seed = 1});
    release(t);
    assert_int_equal(verdict.row, 32);
    assert_int_equal(verdict.col, 48);
    assert_true(verdict.mismatches > 50 && verdict.mismatches <= 64);
    assert_true(verdict.got == 0 && verdict.want != 0);
    assert_int_equal(verdict.part, 1);
}

static gs_status (*prepare_yardstick)(gs_contender *, const gs_problem *, gs_error *);
static int prepared_unwatched;

/* Allocations of the yardstick must not be counted as the contender's. */
static gs_status prepare_unwatched(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    prepared_unwatched += fake.device.ops == &ops;
    return prepare_yardstick(contender, problem, error);
}

/* An honest kernel passes with an honest yardstick; f16 sums fail part 4 with and without a better yardstick. */
static void normal_data_are_judged_by_the_yardstick(void **state)
{
    (void)state;
    const gs_problem problem = small_problem(GS_TN);
    tried *const yardstick = contender_of(HONEST, GS_TN), *const honest = contender_of(PAIRWISE, GS_TN),
                 *const f16 = contender_of(F16_SUM, GS_TN), *const truncating = contender_of(TRUNCATED, GS_TN);
    gs_verify_options options = {.parts = GS_PART_NORMAL, .seed = 4, .yardstick = &yardstick->contender};
    prepare_yardstick = yardstick->contender.prepare, yardstick->contender.prepare = prepare_unwatched;
    const gs_verdict fine = verdict_of(honest, &problem, &options);
    assert_int_equal(prepared_unwatched, 1);
    assert_int_equal(fine.code, GS_VERDICT_PASS);
    assert_true(fine.error > 0 && fine.error < fine.limit && fine.limit < 1.6 * fine.error);
    const gs_verdict coarse = verdict_of(f16, &problem, &options);
    assert_int_equal(coarse.code, GS_VERDICT_TOLERANCE);
    assert_int_equal(coarse.part, 4);
    assert_int_not_equal(verdict_of(truncating, &problem, &options).code, GS_VERDICT_PASS);
    options.yardstick = NULL;
    assert_int_equal(verdict_of(honest, &problem, &options).code, GS_VERDICT_PASS);
    assert_int_equal(verdict_of(f16, &problem, &options).code, GS_VERDICT_TOLERANCE);
    release(yardstick);
    release(honest);
    release(f16);
    release(truncating);
}

/* The declared accumulator decides: f16 sums pass where the accumulator is f16. */
static void declared_f16_sums_pass(void **state)
{
    (void)state;
    gs_problem problem = small_problem(GS_TN);
    problem.acc = GS_F16;
    tried *const f16 = contender_of(F16_SUM, GS_TN);
    const gs_verdict verdict = verdict_of(f16, &problem, &(gs_verify_options){.seed = 3});
    if (verdict.code != GS_VERDICT_PASS) fail_msg("%s on %s: %s", gs_verdict_name(verdict.code), verdict.problem, verdict.reason);
    release(f16);
    tried *const lost = contender_of(LOST_K_TAIL, GS_TN);
    assert_int_not_equal(verdict_of(lost, &problem, NULL).code, GS_VERDICT_PASS);
    release(lost);
}

static void chosen_parts_are_all_that_runs(void **state)
{
    (void)state;
    const gs_problem problem = small_problem(GS_NN);
    tried *const t = contender_of(IGNORED_BETA, GS_NN), *const guard = contender_of(BEHIND_D, GS_NN);
    assert_int_equal(verdict_of(t, &problem, &(gs_verify_options){.parts = GS_PART_ALL & ~(uint32_t)GS_PART_EDGES}).code,
                     GS_VERDICT_PASS);
    assert_int_equal(verdict_of(t, &problem, &(gs_verify_options){.parts = GS_PART_EDGES}).code, GS_VERDICT_EDGE);
    assert_int_equal(verdict_of(guard, &problem, &(gs_verify_options){.parts = GS_PART_EXACT}).code, GS_VERDICT_PASS);
    assert_int_equal(verdict_of(guard, &problem, &(gs_verify_options){.parts = GS_PART_MEMORY}).code, GS_VERDICT_GUARD);
    release(t);
    release(guard);
}

static int launches_of(tried *t, const gs_problem *problem, uint32_t parts)
{
    enum { MANY = 1000000 };
    fake.until_fault = MANY;
    assert_int_equal(verdict_of(t, problem, &(gs_verify_options){.parts = parts, .seed = 6}).code, GS_VERDICT_PASS);
    const int launches = MANY - fake.until_fault;
    fake.until_fault = 0;
    return launches;
}

/* Once for each edge problem that has outputs, instead of twice and more. */
static void edge_problems_once(void **state)
{
    (void)state;
    const gs_problem problem = small_problem(GS_NN);
    tried *const honest = contender_of(HONEST, GS_NN), *const ignoring = contender_of(IGNORED_BETA, GS_NN);
    const int once = launches_of(honest, &problem, GS_PART_EDGES | GS_EDGES_ONCE), all = launches_of(honest, &problem, GS_PART_EDGES);
    assert_int_equal(once, gs_verify_edges_count() - 2);
    assert_true(all >= 2 * once);
    assert_int_equal(verdict_of(ignoring, &problem, &(gs_verify_options){.parts = GS_PART_EDGES | GS_EDGES_ONCE}).code, GS_VERDICT_EDGE);
    gs_verdict verdict;
    gs_error error;
    assert_int_equal(gs_verify(verifier, &honest->contender, &problem, &(gs_verify_options){.parts = 2 * GS_EDGES_ONCE}, &verdict, &error), GS_ERROR_ARGUMENT);
    release(honest);
    release(ignoring);
}

/* Scalars of many bits: the exact parts use 1 instead, part 4 uses the given ones. */
static void any_scalars(void **state)
{
    (void)state;
    gs_problem problem = small_problem(GS_TN);
    problem.alpha = 0.3f;
    problem.beta = 0.7f;
    tried *const honest = contender_of(HONEST, GS_TN), *const ignoring = contender_of(IGNORED_ALPHA, GS_TN);
    const uint32_t parts = GS_PART_ALL & ~(uint32_t)GS_PART_EDGES;
    assert_int_equal(verdict_of(honest, &problem, &(gs_verify_options){.parts = parts}).code, GS_VERDICT_PASS);
    const gs_verdict ignored = verdict_of(ignoring, &problem, &(gs_verify_options){.parts = parts});
    assert_int_equal(ignored.code, GS_VERDICT_EDGE);
    assert_int_equal(ignored.part, 5);
    assert_non_null(strstr(ignored.reason, "at the same size"));
    release(honest);
    release(ignoring);
}

/* The part of the workspace that is declared zeroed is zero at the first launch, is checked after every launch, and is never filled with poison. */
static void what_must_be_zero_is_looked_at(void **state)
{
    (void)state;
    const gs_problem problem = small_problem(GS_TN);
    tried *const honest = contender_of(COUNTS_TICKETS, GS_TN), *const leaving = contender_of(LEAVES_TICKETS, GS_TN),
                 *const adding = contender_of(ADDS_TO_WORKSPACE, GS_TN);
    assert_int_equal(verdict_of(honest, &problem, NULL).code, GS_VERDICT_PASS);
    assert_int_equal(honest->contender.zeroed_bytes, 64);
    assert_true(honest->contender.zeroed != 0);
    const gs_verdict verdict = verdict_of(leaving, &problem, &(gs_verify_options){.parts = GS_PART_MEMORY});
    assert_int_equal(verdict.code, GS_VERDICT_ZEROED);
    assert_int_equal(verdict.part, 6);
    assert_non_null(strstr(verdict.reason, "first 64 bytes"));
    /* found in the second launch; with some seeds a NaN is the right result where the kernel leaves one */
    assert_int_equal(verdict_of(leaving, &problem, &(gs_verify_options){.seed = 1, .parts = GS_PART_EXACT}).code, GS_VERDICT_STATE);
    assert_int_equal(verdict_of(adding, &problem, NULL).code, GS_VERDICT_STATE);
    release(honest);
    release(leaving);
    release(adding);
}

/* Unwritten sums of columns are told from wrong ones, for each type and each poison. */
static void sums_that_are_poison(void **state)
{
    (void)state;
    static const double reference[] = {1, 2, 3};
    static const gs_type types[] = {GS_F16, GS_BF16, GS_F32};
    gridDim = blockDim = (dim){1, 1, 1};
    blockIdx = threadIdx = (dim){0, 0, 0};
    for (size_t i = 0; i < 2 * GS_COUNT(types); i++) {
        const gs_type type = types[i / 2];
        const unsigned int poison = i % 2 ? GS_POISON_SECOND : GS_POISON_FIRST;
        _Alignas(4) unit at[6];
        gs_check_counts counts = {.first = ~0ull};
        for (gs_u64 j = 0; j < GS_COUNT(at); j++) at[j] = poison_unit(poison, j);
        const gs_check check = {.reference = reference, .rows = 1, .cols = 3, .type = (int)type, .poison = poison, .counts = &counts};
        gs_verify_sums((gs_check_sums){.of = check, .at = at, .vectors = 1, .stride = 3});
        assert_int_equal(counts.unwritten, 3);
        assert_int_equal(counts.mismatches, 3);
    }
}

/* The second launch differs only in its bits and is as close to the reference as the first. */
static void a_repeat_names_its_launch(void **state)
{
    (void)state;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 8, 8, 16);
    tried *const t = contender_of(HONEST, GS_TN);
    fake.until_other = 2;
    const gs_verdict verdict = verdict_of(t, &problem, &(gs_verify_options){.seed = 1, .parts = GS_PART_NORMAL | GS_PART_REPEAT, .repeats = 3});
    release(t);
    assert_int_equal(fake.until_other, 0);
    assert_int_equal(verdict.code, GS_VERDICT_REPEAT);
    assert_int_equal(verdict.part, 7);
    assert_string_equal(verdict.reason, "launch 2 of the same data gives other bits than the first");
}

/* Verification stops at the first fault, in whichever launch it occurs; no later check may replace the verdict. */
static void the_first_fault_is_the_verdict(void **state)
{
    (void)state;
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 8, 8, 16);
    problem.beta = 1;   /* includes launches in which C and D are the same memory */
    tried *const t = contender_of(HONEST, GS_TN);
    for (int damages = 0; damages < 2; damages++) {
        bool reached = true;
        for (int at = 1; reached; at++) {
            *(damages ? &fake.until_damage : &fake.until_fault) = at;
            const gs_verdict verdict = verdict_of(t, &problem, &(gs_verify_options){.seed = 1, .parts = GS_PART_ALL & ~(uint32_t)GS_PART_EDGES});
            reached = fake.until_damage == 0 && (fake.faulted || damages);
            assert_true(reached || at > 1);
            if (!reached) assert_int_equal(verdict.code, GS_VERDICT_PASS);
            else if (!damages) assert_true(verdict.code == GS_VERDICT_FAULT && strstr(verdict.reason, "illegal memory access"));
            else if (verdict.code != GS_VERDICT_INPUT) fail_msg("launch %d: %s: %s", at, gs_verdict_name(verdict.code), verdict.reason);
            fake.until_damage = fake.until_fault = 0;
            fake.faulted = false;
        }
    }
    release(t);
}

/* A contender's module is kept for later problems with the same options; modules for eight sets of options are kept. */
static void code_is_loaded_once(void **state)
{
    (void)state;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 8, 8, 8), other = gs_problem_make(GS_F16, GS_TN, 16, 24, 8);
    tried *const t = contender_of(HONEST, GS_TN);
    gs_error error = {0};
    const int option = t->kernel.option_count++, before = fake.loads, live = fake.live;
    static const struct { int value, loads; } turns[] = {{0, 1}, {0, 1}, {1, 2}, {0, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}, {0, 8}, {7, 8}, {8, 9}, {1, 9}, {0, 10}, {8, 10}, {1, 11}};
    for (size_t i = 0; i < GS_COUNT(turns); i++) {
        snprintf(t->kernel.option[option], GS_OPTION, "-DTURN=%d", turns[i].value);
        assert_int_equal(t->contender.prepare(&t->contender, i % 2 ? &problem : &other, &error), GS_OK);
        if (fake.loads - before != turns[i].loads) fail_msg("turn %zu: %d modules were loaded", i, fake.loads - before);
    }
    t->kernel.option_count--;   /* fewer options are a different set */
    assert_int_equal(t->contender.prepare(&t->contender, &problem, &error), GS_OK);
    assert_int_equal(fake.loads - before, 12);
    t->kernel.option_count++;
    const char *const text = t->kernel.source;
    char *const copy = strdup(text);
    t->kernel.source = copy;
    assert_int_equal(t->contender.prepare(&t->contender, &problem, &error), GS_OK);
    assert_int_equal(fake.loads - before, 13);
    release(t);
    free(copy);
    assert_int_equal(fake.live, live);
}

/* Edge problems share their buffers: four operands and the reference. */
static void edges_share_their_buffers(void **state)
{
    (void)state;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 8, 8, 8);
    tried *const t = contender_of(HONEST, GS_TN);
    const int before = fake.made;
    const gs_verdict verdict = verdict_of(t, &problem, &(gs_verify_options){.seed = 2, .parts = GS_PART_EDGES});
    assert_int_equal(verdict.code, GS_VERDICT_PASS);
    if (fake.made - before > 38 + 16) fail_msg("%d allocations", fake.made - before);   /* a workspace each, and five of part 1; five for each edge problem would be 185 */
    release(t);
}

/* Each allocation fails in turn: if it is the contender's own, the verdict says so; otherwise gs_verify returns an error. Nothing leaks. */
static void exhausted_memory_is_told_apart(void **state)
{
    (void)state;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 8, 8, 8);
    static const struct { uint32_t parts; int step; } sweeps[] = {{GS_PART_EXACT, 1}, {GS_PART_EDGES, 5}};
    int machine = 0, contenders = 0;
    for (size_t i = 0; i < GS_COUNT(sweeps); i++)
        for (int allowed = 0;; allowed += sweeps[i].step) {
            tried *const t = contender_of(WORKSPACE_WRITTEN_FIRST, GS_TN);
            const int before = fake.live;
            gs_verdict verdict;
            gs_error error = {0};
            fake.until_failure = allowed;
            fake.refused = 0;
            const gs_status status = gs_verify(verifier, &t->contender, &problem,
                                               &(gs_verify_options){.parts = sweeps[i].parts, .seed = 2}, &verdict, &error);
            fake.until_failure = -1;
            release(t);
            assert_true(fake.live <= before + 2);   /* the verifier keeps two reference kernels, with C and without */
            if (!fake.refused) {
                assert_true(status == GS_OK && verdict.code == GS_VERDICT_PASS);
                break;
            }
            assert_true(status == GS_ERROR_DEVICE_MEMORY || (status == GS_OK && verdict.code == GS_VERDICT_MEMORY));
            machine += status != GS_OK;
            contenders += status == GS_OK;
        }
    assert_true(contenders > 0 && machine > 5);
}

static gs_status refuse(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    (void)problem;
    return gs_fail(error, *(gs_status *)contender->self, "tile", "not this one");
}

static void refusals_are_verdicts_and_the_machine_is_not(void **state)
{
    (void)state;
    static const struct { gs_status status, returned; gs_verdict_code code; } cases[] = {
        {GS_ERROR_UNSUPPORTED, GS_OK, GS_VERDICT_UNSUPPORTED},
        {GS_ERROR_COMPILE,     GS_OK, GS_VERDICT_COMPILE},
        {GS_ERROR_SERIALIZED,  GS_OK, GS_VERDICT_SERIALIZED},
        {GS_ERROR_LAUNCH,      GS_OK, GS_VERDICT_LAUNCH},
        {GS_ERROR_NO_COMPILER, GS_ERROR_NO_COMPILER, GS_VERDICT_PASS},
    };
    const gs_problem problem = small_problem(GS_TN);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_status answer = cases[i].status;
        gs_contender contender = {.name = "refuses", .self = &answer, .prepare = refuse};
        gs_verdict verdict;
        gs_error error = {0};
        assert_int_equal(gs_verify(verifier, &contender, &problem, NULL, &verdict, &error), cases[i].returned);
        if (cases[i].returned == GS_OK) assert_int_equal(verdict.code, cases[i].code);
        else assert_string_equal(error.text, "not this one");
    }
}

/* A contender that supports only the requested problem passes, and the reason says that no edge was tested. */
static gs_status prepare_one(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    tried *const t = contender->self;
    if (problem->m != 40) return gs_fail(error, GS_ERROR_UNSUPPORTED, "m", "40 rows only");
    return t->contender.prepare(&t->contender, problem, error);
}

static gs_status run_one(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    tried *const t = contender->self;
    return t->contender.run(&t->contender, args, queue, error);
}

static void refused_edges_are_told(void **state)
{
    (void)state;
    const gs_problem problem = small_problem(GS_TN);
    tried *const t = contender_of(HONEST, GS_TN);
    gs_contender picky = {.name = "picky", .bitwise = true, .self = t, .prepare = prepare_one, .run = run_one};
    gs_verdict verdict;
    assert_int_equal(gs_verify(verifier, &picky, &problem, NULL, &verdict, NULL), GS_OK);
    assert_int_equal(verdict.code, GS_VERDICT_PASS);
    assert_non_null(strstr(verdict.reason, "no edge was tested"));
    release(t);
}

/* NVRTC compiles every wrong kernel. */
static void wrong_kernels_compile(void **state)
{
    (void)state;
    if (!gs_compiler_version(NULL)) {
        print_message("skipped: no NVRTC\n");
        skip();
    }
    assert_int_equal(GS_COUNT(wrongs), FAULTS);
    for (size_t i = 0; i < GS_COUNT(wrongs); i += 3) {
        gs_kernel kernel;
        gs_kernel_source source;
        gs_image image = {0};
        gs_error error = {0};
        assert_int_equal(wrong_kernel(&wrongs[i], (gs_layout)(i % 2), &kernel, &error), GS_OK);
        gs_kernel_to_source(&kernel, &source);
        if (gs_compile_cached("sm_80", getenv("GS_TEST_CACHE"), &source.source, &image, &error) != GS_OK)
            fail_msg("%s: %s", wrongs[i].name, image.log ? image.log : error.text);
        gs_image_free(&image);
    }
}

int main(void)
{
    for (int bits = 0; bits < 65536; bits++) f16_values[bits] = (gs_f16_to_f32)((uint16_t)bits);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_wrong_kernel_gets_its_verdict, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(verdicts_name_the_element, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(normal_data_are_judged_by_the_yardstick, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(declared_f16_sums_pass, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(chosen_parts_are_all_that_runs, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(edge_problems_once, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(any_scalars, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(what_must_be_zero_is_looked_at, open_fake, close_fake),
        cmocka_unit_test(sums_that_are_poison),
        cmocka_unit_test_setup_teardown(a_repeat_names_its_launch, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(the_first_fault_is_the_verdict, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(code_is_loaded_once, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(edges_share_their_buffers, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(exhausted_memory_is_told_apart, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(refusals_are_verdicts_and_the_machine_is_not, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(refused_edges_are_told, open_fake, close_fake),
        cmocka_unit_test(wrong_kernels_compile),
    };
    return cmocka_run_group_tests_name("verify_flow", tests, NULL, NULL);
}
