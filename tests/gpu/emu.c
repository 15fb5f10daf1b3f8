/* SPDX-License-Identifier: MIT
 * Proves that a GPU and the emulated device of its kind compute the same: the same kernels, of every family, on random problems.
 *
 * "The same kernel": both devices compile one source with one list of options for one target (sm_90a), each through its own call of
 * NVRTC. The GPU runs the machine code; the emulated device runs the PTX that such machine code was assembled from. It also asks for line
 * numbers, which leave the code alone; what the assembler says of both (registers, shared memory, stack) must be equal.
 * "The same data": made once on the host and copied to both.
 *
 * Integers, whose sums the accumulator holds exactly: both outputs have the same bits, in their padding and behind their end too, and
 * they are the reference's. Normal data, where the order of additions and the rounding inside the matrix units show: with
 * M = |alpha| sum |a||b| + |beta c|, g = (K + 8) u / (1 - (K + 8) u), u = 2^-24, or 2^-11 for f16 accumulators, and v the same of the
 * output's type, |D - R| <= g M + v (|R| + g M), and the least numbers of f16, on both; how far the two are from each other is reported.
 *
 * usage: test_gpu_emu [ROWS]. Writes one JSON row per problem and schedule to ROWS. $GEMMSMITH_DEVICE names the first device; with
 * "emu:h200,seed=7" the program runs without a GPU and compares two emulated devices that order what is asynchronous differently. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "gpu/emu_data.h"
#include "loaded/loaded.h"
#include "schedule/family.h"
#include "support/fork.h"

enum {
    SMALL    = 160,      /* problems of up to 300 per extent */
    LARGE    = 8,        /* problems of 1500 to 1800 rows and columns: several tiles for a multiprocessor */
    PROBLEMS = SMALL + LARGE,
    FEWEST   = 50,       /* rows of a family that takes most problems, without which nothing is proved */
    TRIES    = 4000,     /* random schedules until one is valid */
    MOST_JOBS = 16
};

/* ---- what is found out ---- */

typedef struct result {
    bool    ran;
    char    problem[GS_PROBLEM_TEXT], schedule[GS_SCHEDULE_TEXT];
    char    failure[512];                    /* what kept it from running; "": nothing */
    int64_t elements, normal_equal;          /* of D; those with equal bits on normal data */
    bool    exact_equal, exact_right, bound_ok, image_equal;
    double  max_abs_diff, worst[SIDES];      /* on normal data: largest difference; largest error over its bound */
    int     registers[SIDES];
    double  seconds[SIDES];                  /* two launches, compiled and loaded */
} result;

typedef struct board {                       /* shared by all jobs */
    char   device[SIDES][GS_DEVICE_NAME], gpu[96], failure[512];
    int    cc;                               /* of the first device */
    result rows[PROBLEMS][GS_FAMILIES];
} board;

static board *found;

static bool random_schedule(gs_random *random, gs_family_id family, const gs_problem *problem, const gs_caps *caps, gs_schedule *schedule)
{
    for (int i = 0; i < TRIES; i++) {
        *schedule = gs_schedule_first(family);
        for (int parameter = 0; parameter < gs_family_parameters(family); parameter++)
            schedule->value[parameter] = (uint8_t)gs_random_below(random, (uint64_t)gs_family_parameter(family, parameter)->count);
        if (gs_schedule_check(schedule, problem, caps, NULL) == GS_OK) return true;
    }
    return false;
}

/* ---- judging ---- */

static void judge_normal(const data *x, result *r)
{
    const gs_problem *const p = &x->problem;
    const size_t size = gs_type_size(p->out);
    for (int64_t row = 0; row < p->m; row++)
        for (int64_t col = 0; col < p->n; col++) {
            const int64_t at = row * p->n + col, in_d = row * p->ldd + col;
            const double reference = x->reference[NORMAL][at], bound = bound_of(p, reference, x->magnitude[at]);
            double value[SIDES];
            for (int side = 0; side < SIDES; side++) {
                value[side] = get(x->d[side], p->out, in_d);
                r->worst[side] = fmax(r->worst[side], error_of(value[side], reference, bound));
            }
            const double difference = fabs(value[GPU] - value[EMULATED]);
            r->max_abs_diff = fmax(r->max_abs_diff, isnan(difference) ? INFINITY : difference);
            r->normal_equal += memcmp(x->d[GPU] + (size_t)in_d * size, x->d[EMULATED] + (size_t)in_d * size, size) == 0;
        }
    r->bound_ok = r->worst[GPU] <= 1 && r->worst[EMULATED] <= 1;
}

/* ---- running ---- */

/* A bit to be changed in D on one side before it is looked at, as a fault would. */
typedef struct plant {
    size_t  byte;
    uint8_t mask;        /* 0: none */
} plant;

typedef struct side {
    gs_device  *device;
    gs_pointer  operand[4], workspace;
    gs_loaded  *loaded;
} side;

static gs_status allocate(side *s, const data *x, gs_error *error)
{
    for (int i = 0; i < 4; i++) GS_TRY(s->device->ops->alloc(s->device, i < 3 ? x->bytes[i] : x->behind, &s->operand[i], error));
    return GS_OK;
}

static void release(side *s)
{
    for (int i = 0; i < 4; i++)
        if (s->operand[i]) s->device->ops->free(s->device, s->operand[i]);
    *s = (side){.device = s->device};
}

static void unload(side *s)
{
    gs_loaded_destroy(&s->loaded);
    if (s->workspace) s->device->ops->free(s->device, s->workspace);
    s->workspace = 0;
}

static gs_status load(side *s, const gs_kernel *kernel, const gs_problem *problem, gs_error *error)
{
    GS_TRY(gs_loaded_create(&s->loaded, s->device, kernel, problem, error));
    return gs_loaded_alloc(s->loaded, &s->workspace, error);
}

static gs_status flip(side *s, const plant *planted, gs_error *error)
{
    uint8_t byte;
    if (!planted || !planted->mask) return GS_OK;
    GS_TRY(s->device->ops->copy_out(s->device, &byte, s->operand[3] + planted->byte, 1, error));
    byte ^= planted->mask;
    return s->device->ops->copy_in(s->device, s->operand[3] + planted->byte, &byte, 1, error);
}

/* One launch over a D that holds a NaN, with what lies around it. */
static gs_status launch(side *s, const data *x, int kind, const plant *planted, uint8_t *d, gs_error *error)
{
    const gs_device_ops *const ops = s->device->ops;
    for (int i = 0; i < 3; i++) GS_TRY(ops->copy_in(s->device, s->operand[i], x->operand[kind][i], x->bytes[i], error));
    GS_TRY(ops->fill(s->device, s->operand[3], 0x7fe57fe5u, x->behind, NULL, error));
    GS_TRY(ops->queue_wait(s->device, NULL, error));
    void *at[5];
    for (int i = 0; i < 4; i++) at[i] = (void *)(uintptr_t)s->operand[i];
    at[4] = (void *)(uintptr_t)s->workspace;
    GS_TRY(gs_loaded_run(s->loaded, &(gs_args){.a = at[0], .b = at[1], .c = at[2], .d = at[3], .workspace = at[4]}, NULL, error));
    GS_TRY(ops->queue_wait(s->device, NULL, error));
    GS_TRY(flip(s, planted, error));
    return ops->copy_out(s->device, d, s->operand[3], x->behind, error);
}

static void compare_images(const side *sides, const gs_kernel *kernel, result *r)
{
    const gs_image *const a = gs_loaded_image(sides[GPU].loaded), *const b = gs_loaded_image(sides[EMULATED].loaded);
    r->registers[GPU] = a->registers;
    r->registers[EMULATED] = b->registers;
    r->image_equal = a->registers > 0 && a->registers == b->registers && a->static_smem == b->static_smem && a->stack_bytes == b->stack_bytes &&
                     kernel[GPU].source == kernel[EMULATED].source && memcmp(kernel[GPU].option, kernel[EMULATED].option, sizeof kernel->option) == 0;
}

static gs_status run_loaded(side *sides, data *x, const plant *planted, result *r, gs_error *error)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < SIDES; i++) {
            const int64_t start = gs_clock_ns();
            GS_TRY(launch(&sides[i], x, kind, i == EMULATED ? planted : NULL, x->d[i], error));
            r->seconds[i] += (double)(gs_clock_ns() - start) * 1e-9;
        }
        if (kind == EXACT) {
            r->exact_equal = memcmp(x->d[GPU], x->d[EMULATED], x->behind) == 0;
            r->exact_right = is_right(x, GPU) && is_right(x, EMULATED);
        } else {
            judge_normal(x, r);
        }
    }
    return GS_OK;
}

static gs_status run_kernel(side *sides, data *x, const gs_schedule *schedule, const plant *planted, result *r, gs_error *error)
{
    gs_kernel kernel[SIDES];
    gs_status status = GS_OK;
    for (int i = 0; i < SIDES && status == GS_OK; i++) {
        status = gs_schedule_check(schedule, &x->problem, &sides[i].device->caps, error);
        if (status == GS_OK) status = gs_kernel_build(&kernel[i], schedule, &x->problem, &sides[i].device->caps, error);
        if (status == GS_OK) status = load(&sides[i], &kernel[i], &x->problem, error);
    }
    if (status == GS_OK) compare_images(sides, kernel, r);
    if (status == GS_OK) status = run_loaded(sides, x, planted, r, error);
    for (int i = 0; i < SIDES; i++) {
        sides[i].device->ops->queue_wait(sides[i].device, NULL, NULL);   /* an emulated fault is over then */
        unload(&sides[i]);
    }
    return status;
}

/* A random schedule of a family on a problem whose data are there. Leaves the row alone if the family takes no such problem. */
static void run_row(side *sides, data *x, gs_family_id family, gs_random *random, const plant *planted, result *r)
{
    gs_schedule schedule;
    gs_error error = {0};
    if (!random_schedule(random, family, &x->problem, &sides[GPU].device->caps, &schedule)) return;
    *r = (result){.ran = true, .elements = x->problem.m * x->problem.n};
    gs_problem_format(&x->problem, r->problem);
    gs_schedule_format(&schedule, r->schedule);
    if (run_kernel(sides, x, &schedule, planted, r, &error) != GS_OK) gs_error_format(&error, r->failure, sizeof r->failure);
}

/* ---- jobs ---- */

static int cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? GS_MAX(CPU_COUNT(&set), 1) : 1;
}

/* The emulated device that runs what is compiled for this one, on that many threads. */
static bool twin_of(const gs_caps *caps, int threads, char name[GS_DEVICE_NAME])
{
    char text[GS_DEVICE_NAME];
    for (int i = 0; gs_device_emulated(i, text); i++) {
        const gs_caps *const emulated = gs_caps_find(text + strlen("emu:"));
        if (!emulated || strcmp(emulated->target, caps->target) != 0) continue;
        return snprintf(name, GS_DEVICE_NAME, "%s,threads=%d", text, threads) < GS_DEVICE_NAME;
    }
    return false;
}

/* The exit code of a program that cannot open its devices, 0 if it can. */
static int open_sides(side *sides, int threads)
{
    gs_error error = {0};
    char name[GS_DEVICE_NAME];
    const gs_status status = gs_device_open(&sides[GPU].device, gs_device_gpu(), NULL, &error);
    bool skipped = gs_device_may_emulate(status) || status == GS_ERROR_DRIVER_TOO_OLD;
    if (status == GS_OK && !twin_of(&sides[GPU].device->caps, threads, name)) {
        gs_fail(&error, GS_ERROR_UNSUPPORTED, NULL, "there is no emulated device for %s", sides[GPU].device->caps.target);
        skipped = true;
    } else if (status == GS_OK && gs_device_open(&sides[EMULATED].device, name, NULL, &error) == GS_OK) {
        for (int i = 0; i < SIDES; i++) snprintf(found->device[i], GS_DEVICE_NAME, "%s", sides[i].device->name);
        found->cc = sides[GPU].device->caps.cc;
        snprintf(found->gpu, sizeof found->gpu, "%s", sides[GPU].device->caps.name);
        return 0;
    }
    gs_error_format(&error, found->failure, sizeof found->failure);
    return skipped ? 77 : 1;
}

static void close_sides(side *sides)
{
    for (int i = 0; i < SIDES; i++) gs_device_close(&sides[i].device);
}

/* Each problem has its own random numbers, whoever runs it. */
static void run_problem(side *sides, int index)
{
    gs_random seeds = {(uint64_t)index}, random = {gs_random_next(&seeds)};
    const gs_problem problem = random_problem(&random, index >= SMALL);
    data x;
    gs_error error = {0};
    gs_status status = GS_OK;
    make_data(&x, &problem, gs_random_next(&random) | 1);
    for (int i = 0; i < SIDES && status == GS_OK; i++) status = allocate(&sides[i], &x, &error);
    for (int family = 0; family < GS_FAMILIES && status == GS_OK; family++)
        run_row(sides, &x, (gs_family_id)family, &random, NULL, &found->rows[index][family]);
    if (status != GS_OK) gs_error_format(&error, found->failure, sizeof found->failure);
    for (int i = 0; i < SIDES; i++) release(&sides[i]);
    free_data(&x);
}

static _Noreturn void job_main(int job, int jobs, pid_t parent)
{
    side sides[SIDES] = {{NULL}};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int code = open_sides(sides, GS_MAX(cores() / jobs, 1));
    for (int i = PROBLEMS - 1 - job; i >= 0 && code == 0; i -= jobs) run_problem(sides, i);   /* the long ones first */
    close_sides(sides);
    _exit(code);
}

/* Most of the time goes into compiling and emulating: all cores take part. The highest exit code. */
static int run_all(void)
{
    const int jobs = GS_MIN(cores(), MOST_JOBS);
    const pid_t parent = getpid();
    int worst = 0;
    for (int i = 0; i < jobs; i++) {
        const pid_t child = test_fork();
        if (child == 0) job_main(i, jobs, parent);
        if (child < 0) return 1;
    }
    for (int i = 0; i < jobs; i++) {
        int code;
        const pid_t child = wait(&code);
        worst = GS_MAX(worst, child > 0 && WIFEXITED(code) ? WEXITSTATUS(code) : 1);
    }
    return worst;
}

/* ---- rows ---- */

static bool write_rows(const char *path)
{
    gs_text text = {0};
    for (int i = 0; i < PROBLEMS * GS_FAMILIES; i++) {
        const result *const r = &found->rows[i / GS_FAMILIES][i % GS_FAMILIES];
        if (!r->ran) continue;
        gs_json json = gs_json_into(&text);
        gs_json_begin(&json, NULL, '{');
        gs_json_string(&json, "problem", r->problem);
        gs_json_string(&json, "schedule", r->schedule);
        gs_json_bool(&json, "exact_equal", r->exact_equal);
        gs_json_bool(&json, "exact_right", r->exact_right);
        gs_json_int(&json, "elements", r->elements);
        gs_json_int(&json, "normal_equal", r->normal_equal);
        gs_json_double(&json, "max_abs_diff_normal", r->max_abs_diff);
        gs_json_bool(&json, "bound_ok", r->bound_ok);
        gs_json_double(&json, "worst_gpu", r->worst[GPU]);
        gs_json_double(&json, "worst_emulated", r->worst[EMULATED]);
        gs_json_bool(&json, "image_equal", r->image_equal);
        gs_json_int(&json, "registers", r->registers[GPU]);
        gs_json_double(&json, "emulated_s", round(r->seconds[EMULATED] * 1e4) / 1e4);
        if (*r->failure) gs_json_string(&json, "failure", r->failure);
        gs_json_end(&json, '}');
        gs_text_add(&text, "\n");
    }
    FILE *const file = fopen(path, "w");
    bool good = file && !text.failed && fputs(gs_text_string(&text), file) >= 0;
    if (file && fclose(file) != 0) good = false;
    gs_text_free(&text);
    return good;
}

/* ---- tests ---- */

/* Every row that a test is about; prints those that fail. */
#define CHECK_ROWS(good, format, ...)                                                                        \
    do {                                                                                                     \
        int failures_ = 0;                                                                                   \
        for (int i_ = 0; i_ < PROBLEMS * GS_FAMILIES; i_++) {                                                \
            const result *const r = &found->rows[i_ / GS_FAMILIES][i_ % GS_FAMILIES];                           \
            if (!r->ran || (good)) continue;                                                                 \
            print_error("%s %s: " format "\n", r->problem, r->schedule, __VA_ARGS__);                        \
            failures_++;                                                                                     \
        }                                                                                                    \
        assert_int_equal(failures_, 0);                                                                      \
    } while (0)

static void every_row_ran(void **state)
{
    (void)state;
    if (*found->failure) fail_msg("%s", found->failure);
    CHECK_ROWS(!*r->failure, "%s", r->failure);
    for (int family = 0; family < GS_FAMILIES; family++) {
        int count = 0;
        for (int i = 0; i < PROBLEMS; i++) count += found->rows[i][family].ran;
        print_message("%s: %d rows\n", gs_family_name((gs_family_id)family), count);
        const bool common = family == GS_FAMILY_SIMPLE || family == GS_FAMILY_MMA || family == GS_FAMILY_WS;   /* the others want problems of their own kind */
        if (common && (!gs_families[family]->hopper || found->cc == 90)) assert_true(count >= FEWEST);
    }
}

static void both_run_the_same_kernel(void **state)
{
    (void)state;
    CHECK_ROWS(*r->failure || r->image_equal, "%d and %d registers, or other options, or other memory", r->registers[GPU], r->registers[EMULATED]);
}

static void exact_data_agree_bit_for_bit(void **state)
{
    (void)state;
    CHECK_ROWS(*r->failure || r->exact_equal, "the outputs differ (both right: %d)", r->exact_right);
    CHECK_ROWS(*r->failure || r->exact_right, "the outputs are wrong (equal: %d)", r->exact_equal);
}

static void normal_data_stay_within_the_bound(void **state)
{
    (void)state;
    CHECK_ROWS(*r->failure || r->bound_ok, "%g of the bound on the GPU, %g emulated", r->worst[GPU], r->worst[EMULATED]);
}

/* Bits that change in the memory of one device after a right launch. */
static void planted_differences_are_noticed(void **state)
{
    (void)state;
    gs_problem p = gs_problem_make(GS_F16, GS_TN, 70, 61, 96);
    p.ldd = 67;
    const size_t line = (size_t)p.ldd * 2, end = (size_t)p.m * line;
    const struct {
        plant planted;
        bool  equal, right;
        int   bound;                                           /* -1: either */
    } cases[] = {
        {{0, 0}, true, true, 1},
        {{0, 1}, false, false, -1},                            /* the last bit of the first element */
        {{(size_t)(p.m - 1) * line + 60 * 2, 1}, false, false, -1},
        {{33 * line + 17 * 2 + 1, 0x40}, false, false, 0},      /* its highest exponent bit */
        {{33 * line + 61 * 2, 1}, false, true, 1},              /* padding */
        {{end - 1, 0x80}, false, true, 1},                     /* padding of the last row */
        {{end + BEHIND - 4, 2}, false, true, 1},               /* behind D */
    };
    side sides[SIDES] = {{NULL}};
    data x;
    gs_error error = {0};
    if (open_sides(sides, 0) != 0) fail_msg("%s", found->failure);
    make_data(&x, &p, 5);
    for (int i = 0; i < SIDES; i++)
        if (allocate(&sides[i], &x, &error) != GS_OK) fail_msg("%s", error.text);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_random random = {1};
        result r = {false};
        run_row(sides, &x, GS_FAMILY_MMA, &random, &cases[i].planted, &r);
        if (!r.ran || *r.failure) fail_msg("case %zu: %s", i, r.failure);
        if (r.exact_equal != cases[i].equal || r.exact_right != cases[i].right || (cases[i].bound >= 0 && r.bound_ok != cases[i].bound))
            fail_msg("case %zu: equal %d, right %d, bound %d (%g)", i, r.exact_equal, r.exact_right, r.bound_ok, r.worst[EMULATED]);
    }
    for (int i = 0; i < SIDES; i++) release(&sides[i]);
    free_data(&x);
    close_sides(sides);
}

static void print_summary(double seconds)
{
    int rows = 0, equal = 0, bound = 0;
    int64_t elements = 0, same = 0;
    double most = 0, worst[SIDES] = {0};
    for (int i = 0; i < PROBLEMS * GS_FAMILIES; i++) {
        const result *const r = &found->rows[i / GS_FAMILIES][i % GS_FAMILIES];
        if (!r->ran) continue;
        rows++;
        equal += r->exact_equal;
        bound += r->bound_ok;
        elements += r->elements;
        same += r->normal_equal;
        most = fmax(most, r->max_abs_diff);
        for (int j = 0; j < SIDES; j++) worst[j] = fmax(worst[j], r->worst[j]);
    }
    printf("{\"devices\":[\"%s\",\"%s\"],\"gpu\":\"%s\",\"problems\":%d,\"rows\":%d,\"exact_equal\":%d,\"bound_ok\":%d,"
           "\"elements\":%lld,\"normal_equal\":%lld,\"max_abs_diff_normal\":%g,\"worst_gpu\":%.3f,\"worst_emulated\":%.3f,\"seconds\":%.1f}\n",
           found->device[GPU], found->device[EMULATED], found->gpu, PROBLEMS, rows, equal, bound, (long long)elements, (long long)same, most,
           worst[GPU], worst[EMULATED], seconds);
}

int main(int argc, char **argv)
{
    found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return 1;
    const int64_t start = gs_clock_ns();
    const int code = run_all();
    if (code == 77) printf("skipped: %s\n", found->failure);
    if (code == 77) return 77;
    if (code != 0) printf("a job ended with %d: %s\n", code, found->failure);
    if (code != 0) return 1;
    print_summary((double)(gs_clock_ns() - start) * 1e-9);
    if (argc > 1 && !write_rows(argv[1])) {
        printf("the file of rows cannot be written\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_ran),
        cmocka_unit_test(both_run_the_same_kernel),
        cmocka_unit_test(exact_data_agree_bit_for_bit),
        cmocka_unit_test(normal_data_stay_within_the_bound),
        cmocka_unit_test(planted_differences_are_noticed),
    };
    return cmocka_run_group_tests_name("emu", tests, NULL, NULL);
}
