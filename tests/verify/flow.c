/* SPDX-License-Identifier: MIT
 * Proves that gs_verify reaches the right verdict for every wrong kernel, without a GPU: the kernels of verify.cu and the wrong
 * kernels are C, compiled here and run thread by thread on a device made of malloc. Also faults, refusals and exhausted memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "common/args.h"
#include "gpu/wrong.h"
#include "loaded/contender.h"
#include "loaded/loaded.h"
#include "operands/operands.h"
#include "verify/verify.h"

/* ---- CUDA's words ---- */

typedef struct dim { unsigned int x, y, z; } dim;
static dim gridDim, blockDim, blockIdx, threadIdx;
static int current_fault, current_layout;

static long long clock_now(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (long long)(state >> 40);
}

#include "checks/one_thread.h"
#define clock64()                          clock_now()
#define GS_FAULT                           current_fault
#define GS_LAYOUT                          current_layout
#include "verify.cu"

static float f16_values[65536];            /* the kernels run in seconds with a table, in minutes without */
#define gs_f16_to_f32(bits)                f16_values[bits]
#define WRONG(...) __VA_ARGS__
#include "gpu/wrong/faults.cu"
#undef WRONG

/* ---- a device of malloc ---- */

static const char *const names[] = {
    "gs_verify_generate", "gs_verify_poison", "gs_verify_guard_fill", "gs_verify_guard_check", "gs_verify_veil", "gs_verify_hash",
    "gs_verify_padding", "gs_verify_bands", "gs_verify_measure", "gs_verify_compare", "gs_verify_sums", "gs_verify_words", "gs_verify_timed",
    "gs_verify_timed_samples", "gs_verify_pass", "gs_reference", "gs_reference_line", "gs_wrong", "gs_wrong_end",
};

typedef struct code code;

typedef struct entry {
    const char *name;
    const code *module;
} entry;

struct code {
    int   fault, layout, in, out;   /* the options that were given; -1: not */
    entry entries[GS_COUNT(names)];
};

static struct fake {
    gs_device device;
    int       live;              /* allocations and modules that were not given back */
    int       made;              /* allocations */
    int       loads;             /* of modules */
    int       until_failure;     /* allocations that still succeed; negative: all do */
    int       refused;           /* allocations that did not */
    int       until_fault;       /* launches of gs_wrong, the last of which faults; 0: none does */
    int       until_damage;      /* the same for one that changes A and is wrong, behind which the next one faults */
    int       until_other;       /* the same for one that leaves other bits in D */
    bool      faulted;           /* every wait reports a fault */
} fake;

static gs_status fake_alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error)
{
    (void)device;
    if (fake.until_failure == 0) {
        fake.refused++;
        return gs_fail(error, GS_ERROR_DEVICE_MEMORY, NULL, "no device memory");
    }
    if (fake.until_failure > 0) fake.until_failure--;
    *out = (gs_pointer)(uintptr_t)aligned_alloc(256, (bytes + 511) / 256 * 256);
    assert_true(*out != 0);
    memset((void *)(uintptr_t)*out, 0x5a, bytes);
    fake.live++;
    fake.made++;
    return GS_OK;
}

static void fake_free(gs_device *device, gs_pointer pointer)
{
    (void)device;
    free((void *)(uintptr_t)pointer);
    fake.live--;
}

static gs_status fake_in(gs_device *device, gs_pointer to, const void *from, size_t bytes, gs_error *error)
{
    (void)device, (void)error;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return GS_OK;
}

static gs_status fake_out(gs_device *device, void *to, gs_pointer from, size_t bytes, gs_error *error)
{
    (void)device, (void)error;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return GS_OK;
}

static gs_status fake_fill(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    for (size_t i = 0; i < bytes / 4; i++) memcpy((char *)(uintptr_t)to + i * 4, &pattern, 4);
    return GS_OK;
}

static gs_status fake_memory(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    (void)device, (void)error;
    *free_bytes = *total_bytes = (size_t)1 << 30;
    return GS_OK;
}

static int option(const gs_source *source, const char *prefix)
{
    for (int i = 0; i < source->option_count; i++)
        if (strncmp(source->options[i], prefix, strlen(prefix)) == 0) return atoi(source->options[i] + strlen(prefix));
    return -1;
}

static gs_status fake_compile(gs_device *device, const gs_source *source, gs_image *out, gs_error *error)
{
    (void)device, (void)error;
    const code options = {
        option(source, "-DGS_FAULT="), option(source, "-DGS_LAYOUT="), option(source, "-DGS_IN="), option(source, "-DGS_OUT="),
        {{0}},
    };
    *out = (gs_image){.code = malloc(sizeof options), .size = sizeof options, .log = calloc(1, 1), .registers = 32};
    assert_non_null(out->code);
    memcpy(out->code, &options, sizeof options);
    return GS_OK;
}

static gs_status fake_load(gs_device *device, const gs_image *image, gs_module *out, gs_error *error)
{
    (void)device, (void)error;
    *out = malloc(image->size);
    assert_non_null(*out);
    memcpy(*out, image->code, image->size);
    remembered = 0;
    fake.live++;
    fake.loads++;
    return GS_OK;
}

static void fake_unload(gs_device *device, gs_module module)
{
    (void)device;
    free(module);
    fake.live--;
}

static gs_status fake_function(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info,
                               gs_error *error)
{
    (void)device, (void)error;
    entry *e = NULL;
    for (size_t i = 0; i < GS_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0) e = &((code *)module)->entries[i], *e = (entry){names[i], module};
    assert_non_null(e);
    *out = e;
    *info = (gs_function_info){.registers = 32, .max_threads = 1024, .parameters = -1};
    return GS_OK;
}

static gs_status fake_smem(gs_device *device, gs_function function, uint32_t smem, uint32_t cluster, gs_error *error)
{
    (void)device, (void)function, (void)smem, (void)cluster, (void)error;
    return GS_OK;
}

static void reference_on_host(const gs_kernel_args *p, const code *module)
{
    assert_int_equal(module->in, GS_F16);
    assert_int_equal(module->out, GS_F16);
    const uint16_t *const a = p->a, *const b = p->b, *const c = p->c;
    const int64_t step_k = module->layout == GS_TN ? 1 : p->ldb, step_n = module->layout == GS_TN ? p->ldb : 1,
                  rows_b = module->layout == GS_TN ? p->n : p->k;
    for (int64_t row = 0; row < (int64_t)p->m * p->batch; row++)
        for (int64_t col = 0; col < p->n; col++) {
            const uint16_t *const line = a + row * p->lda, *const column = b + row / p->m * rows_b * p->ldb + col * step_n;
            double sum = 0;
            for (int64_t k = 0; k < p->k; k++) sum += (double)f16_values[line[k]] * (double)f16_values[column[k * step_k]];
            sum *= (double)p->alpha;
            if (p->beta != 0) sum += (double)p->beta * (double)f16_values[c[row * p->ldc + col]];
            ((double *)p->d)[row * p->ldd + col] = sum;
        }
}

static void wrong_on_host(const gs_kernel_args *p, const gs_launch *launch, const code *module)
{
    current_fault = module->fault;
    current_layout = module->layout;
    gridDim = (dim){launch->grid[0], launch->grid[1], launch->grid[2]};
    blockDim = (dim){launch->block[0], launch->block[1], launch->block[2]};
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
                for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++)
                    for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) gs_wrong(*p);
}

static void damage(const gs_kernel_args *p)
{
    *(uint16_t *)(uintptr_t)p->a ^= 1;
    *(uint16_t *)p->d ^= 1;
    fake.until_fault = 1;
}

static gs_status fake_launch(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue, (void)error;
    const entry *const e = launch->function;
    const void *const p = launch->params[0];
    if (strcmp(e->name, "gs_wrong") == 0) {
        wrong_on_host(p, launch, e->module);
        if (fake.until_fault > 0 && --fake.until_fault == 0) fake.faulted = true;
        if (fake.until_damage > 0 && --fake.until_damage == 0) damage(p);
        if (fake.until_other > 0 && --fake.until_other == 0) *(uint16_t *)((const gs_kernel_args *)p)->d ^= 1;
        return GS_OK;
    }
    gridDim = blockDim = (dim){1, 1, 1};
    blockIdx = threadIdx = (dim){0, 0, 0};
    if (strcmp(e->name, "gs_wrong_end") == 0)               gs_wrong_end(*(const gs_kernel_args *)p);
    else if (strncmp(e->name, "gs_reference", 12) == 0)     reference_on_host(p, e->module);
    else if (strcmp(e->name, "gs_verify_generate") == 0)    gs_verify_generate(*(const gs_datagen *)p);
    else if (strcmp(e->name, "gs_verify_poison") == 0)      gs_verify_poison(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_guard_fill") == 0)  gs_verify_guard_fill(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_guard_check") == 0) gs_verify_guard_check(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_veil") == 0)        gs_verify_veil(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_hash") == 0)        gs_verify_hash(*(const gs_rows *)p);
    else if (strcmp(e->name, "gs_verify_padding") == 0)     gs_verify_padding(*(const gs_rows *)p);
    else if (strcmp(e->name, "gs_verify_bands") == 0)       gs_verify_bands(*(const gs_bands *)p);
    else if (strcmp(e->name, "gs_verify_measure") == 0)     gs_verify_measure(*(const gs_check *)p);
    else if (strcmp(e->name, "gs_verify_sums") == 0)        gs_verify_sums(*(const gs_check_sums *)p);
    else if (strcmp(e->name, "gs_verify_words") == 0)       gs_verify_words(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_pass") == 0)        gs_verify_pass(*(const gs_range *)p);
    else if (strcmp(e->name, "gs_verify_timed") == 0)       gs_verify_timed(*(const gs_timed *)p);
    else if (strcmp(e->name, "gs_verify_timed_samples") == 0) gs_verify_timed_samples(*(const gs_timed *)p);
    else                                                    gs_verify_compare(*(const gs_check *)p);
    return GS_OK;
}

static gs_status fake_queue(gs_device *device, gs_queue *out, gs_error *error)
{
    (void)device, (void)error;
    *out = &fake;
    return GS_OK;
}

static void fake_queue_destroy(gs_device *device, gs_queue queue) { (void)device, (void)queue; }

static gs_status fake_wait(gs_device *device, gs_queue queue, gs_error *error)
{
    (void)device, (void)queue;
    return fake.faulted ? gs_fail(error, GS_ERROR_FAULT, NULL, "an illegal memory access") : GS_OK;
}

static const gs_device_ops ops = {
    .alloc = fake_alloc, .free = fake_free, .copy_in = fake_in, .copy_out = fake_out, .fill = fake_fill, .memory_info = fake_memory, .compile = fake_compile, .load = fake_load,
    .unload = fake_unload,
    .function = fake_function, .function_smem = fake_smem, .launch = fake_launch, .queue_create = fake_queue,
    .queue_destroy = fake_queue_destroy, .queue_wait = fake_wait,
};

static gs_verifier *verifier;

static int open_fake(void **state)
{
    (void)state;
    fake = (struct fake){.device = {.ops = &ops, .caps = *gs_caps_find("h200")}, .until_failure = -1};
    fake.device.caps.l2_bytes = 1 << 16;   /* so that timing, and with it verification, places operands among few sets */
    return gs_verifier_create(&verifier, &fake.device, NULL) != GS_OK;
}

static int close_fake(void **state)
{
    (void)state;
    gs_verifier_destroy(&verifier);
    return fake.live != 0;   /* everything was given back */
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
    assert_ptr_equal(fake.device.ops, &ops);   /* nothing is left watching */
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
    /* A seed of its own: with others, what belongs at the tile's first places may be zero. */
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

/* What a yardstick allocates is not the contender's. */
static gs_status prepare_unwatched(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    prepared_unwatched += fake.device.ops == &ops;
    return prepare_yardstick(contender, problem, error);
}

/* Two honest kernels against each other pass; a better yardstick does not excuse f16 sums in part 4 alone. */
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

/* What a manifest declares is what is demanded: f16 sums pass where f16 is the accumulator. */
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

/* Scalars that round: the exact parts use 1, part 4 the true ones. */
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

/* The part that is declared zeroed is zero at the first launch, is looked at after every one, and is all that is spared the poison. */
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
    /* its second launch; with some seeds a NaN is right where it leaves one */
    assert_int_equal(verdict_of(leaving, &problem, &(gs_verify_options){.seed = 1, .parts = GS_PART_EXACT}).code, GS_VERDICT_STATE);
    assert_int_equal(verdict_of(adding, &problem, NULL).code, GS_VERDICT_STATE);
    release(honest);
    release(leaving);
    release(adding);
}

/* Sums of D's columns that nobody has written are told from wrong ones, in each type and by each poison. */
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

/* The second launch is as near to the reference as the first: only their bits are compared. */
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

/* Whichever launch it is: nothing follows it, not even one that would say another thing of the contender. */
static void the_first_fault_is_the_verdict(void **state)
{
    (void)state;
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 8, 8, 16);
    problem.beta = 1;   /* and where C and D are the same */
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

/* A contender's code stays for later problems with the same options, that of eight sets of them. */
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
    t->kernel.option_count--;   /* fewer options are others */
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

/* Buffers of edge problems are allocated once: four operands and the reference. */
static void edges_share_their_buffers(void **state)
{
    (void)state;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 8, 8, 8);
    tried *const t = contender_of(HONEST, GS_TN);
    const int before = fake.made;
    const gs_verdict verdict = verdict_of(t, &problem, &(gs_verify_options){.seed = 2, .parts = GS_PART_EDGES});
    assert_int_equal(verdict.code, GS_VERDICT_PASS);
    if (fake.made - before > 34 + 16) fail_msg("%d allocations", fake.made - before);   /* the contender's workspace for each problem, five of part 1; five for each edge problem would be 165 */
    release(t);
}

/* Allocation fails at one place after the other: the contender's own is its verdict, ours the machine's state; nothing leaks. */
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
            assert_true(fake.live <= before + 2);   /* references, with C and without, stay with the verifier */
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

/* A contender that takes nothing but the problem asked for: passes, and the reason says that no edge was tested. */
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

/* Every wrong kernel is text that NVRTC takes. */
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
