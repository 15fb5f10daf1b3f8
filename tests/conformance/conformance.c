/* SPDX-License-Identifier: MIT
 * Conformance: random combinations of everything that a problem may have (src/random/combine.h). Of each, every family that takes it has one random schedule verified, the plan is made
 * and verified as a program would run it, and on a GPU cuBLASLt's rung is, too. The same program for an emulated device and a GPU. Candidates run in workers, disposable children.
 *
 *     conformance --device cuda:0 --count 3000 --seed 1 --parallel 16
 *
 * A line for each candidate, then what was drawn and what was verified of it. Exit code: 0, 1 (a failure), 2 (usage, the machine), 77 (there is no device or no compiler). */
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "problem/layout.h"
#include "random/combine.h"
#include "random/random.h"
#include "verify/verify.h"
#include "worker/client.h"
#include "worker/wire.h"

#define THREADS_MOST 128
#define VALUES_MOST  10
#define TIMEOUT_S    180
#define PATIENCE     20    /* times the estimate, on an emulated device */
#define NO_DEVICE    77
#define SPILLS       8     /* times that another schedule is drawn */

enum { PLAN = GS_FAMILIES, LIBRARY, KERNELS };

typedef struct settings {
    const char *device, *program, *pairs;
    int64_t     count, seed, parallel, part, parts, largest, edges, only;
    unsigned    kernels;              /* a bit each; 0: all */
    bool        quiet, list;
} settings;

static struct {
    settings        s;
    char            program[1024];
    gs_caps         caps;
    _Atomic int64_t next;              /* problem */
    _Atomic bool    broken;            /* the machine is */
    pthread_mutex_t lock;              /* of what follows, and of standard output */
    long            problems, passed, failed, skipped, with_edges, less, spills;
    long            of[KERNELS], drawn[GS_FEATURES_MOST][VALUES_MOST];
    long            value[GS_FEATURES_MOST][VALUES_MOST][KERNELS];   /* verified */
    int             pair[GS_FEATURES_MOST][VALUES_MOST][GS_FEATURES_MOST][VALUES_MOST][KERNELS + 1];   /* the last: drawn */
} run = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *kernel_name(int kernel) { return kernel == PLAN ? "plan" : kernel == LIBRARY ? "cublaslt" : gs_family_name((gs_family_id)kernel); }

/* ---- one candidate ---- */

typedef struct candidate {
    int64_t               index;       /* of the problem */
    const gs_combination *combination;
    char                  problem[GS_PROBLEM_TEXT];
    int                   kernel;
    char                  name[GS_SCHEDULE_TEXT];
} candidate;

typedef struct outcome {
    gs_status status;                  /* not GS_OK: reason is its text, and there is no verdict */
    char      verdict[32], where[GS_PROBLEM_TEXT], reason[512], detail[256];
    int       part;
    bool      cublaslt;                /* the plan chose cuBLASLt for the problem that was verified last, which may be one of the edge problems */
} outcome;

static bool passed(const outcome *o) { return o->status == GS_OK && gs_verdict_passed(o->verdict); }

static void verify(gs_worker *worker, const candidate *c, uint32_t parts, outcome *o)
{
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "op", "verify");
    gs_json_string(&json, "problem", c->problem);
    gs_json_string(&json, "candidate", c->name);
    gs_json_int(&json, "parts", parts);
    gs_json_int(&json, "seed", run.s.seed * 1000003 + c->index + 1);
    gs_json_end(&json, '}');
    const double estimate = run.caps.emulated ? gs_verify_seconds(&c->combination->problem, parts, c->kernel != GS_FAMILY_SIMPLE) : 0;
    json_t *reply = NULL;
    gs_error error = {0};
    *o = (outcome){.status = gs_worker_request(worker, gs_text_string(&text), TIMEOUT_S + PATIENCE * estimate, &reply, &error)};
    gs_text_free(&text);
    if (o->status != GS_OK) {
        snprintf(o->reason, sizeof o->reason, "%s", error.text);
        return;
    }
    snprintf(o->verdict, sizeof o->verdict, "%s", gs_reply_string(reply, "verdict", "?"));
    snprintf(o->where, sizeof o->where, "%s", gs_reply_string(reply, "problem", ""));
    snprintf(o->reason, sizeof o->reason, "%s", gs_reply_string(reply, "reason", ""));
    snprintf(o->detail, sizeof o->detail, "%s", gs_reply_string(reply, "detail", ""));
    o->part = (int)gs_reply_int(reply, "part", 0);
    o->cublaslt = json_is_true(json_object_get(reply, "cublaslt"));
    json_decref(reply);
}

/* What cuBLASLt does not do itself follows it in a kernel that reads its result in D's type: rounded twice, so that no bit is certain. */
static bool rounds_twice(const gs_problem *p)
{
    const bool behind = p->residual || p->gate || p->aux || p->bias == GS_BIAS_M || p->bias == GS_DBIAS || (p->activation && p->activation != GS_RELU && p->activation != GS_GELU);
    return p->out != GS_F32 && behind;
}

/* With one row or column alpha multiplies an operand, whose subnormal numbers lose bits. */
static bool scales_operand(const gs_problem *p)
{
    int exponent;
    return (p->m == 1 || p->n == 1) && p->out == GS_F32 && fabsf(frexpf(p->alpha, &exponent)) != 0.5f;
}

/* What can be asked of cuBLASLt where not every bit is certain: most of it with a D that is not rounded, and repeats and memory with the D that was asked for. */
static void verify_less(gs_worker *worker, const candidate *c, outcome *o)
{
    const gs_problem *const p = &c->combination->problem;
    candidate wide = *c;
    gs_problem problem = *p;
    problem.out = GS_F32;
    gs_problem_format(&problem, wide.problem);
    const bool own = (p->activation && !rounds_twice(p)) || scales_operand(&problem);   /* its own relu drops NaN, its own gelu is less exact */
    if (p->alpha == 0) {   /* it leaves A and B alone, NaN and infinities too, and signs of NaN differ from run to run */
        verify(worker, &wide, GS_PART_MEMORY, o);
        return;
    }
    if (!own) verify(worker, &wide, GS_PART_ALL & ~(uint32_t)GS_PART_EDGES, o);
    if (own || passed(o)) verify(worker, c, GS_PART_MEMORY | GS_PART_REPEAT, o);
}

static void count_pass(const candidate *c)
{
    const gs_combination *const made = c->combination;
    run.of[c->kernel]++;
    for (int f = 0; f < gs_feature_count(); f++) {
        run.value[f][made->value[f]][c->kernel]++;
        for (int g = f + 1; g < gs_feature_count(); g++) run.pair[f][made->value[f]][g][made->value[g]][c->kernel]++;
    }
}

/* true: the kernel spills, and another schedule is asked for. A kernel that spills is refused before it runs, by a plan too, which then takes another. */
static bool judge(gs_worker *worker, const candidate *c, bool edges, bool another)
{
    const gs_problem *const p = &c->combination->problem;
    uint32_t parts = GS_PART_ALL & ~(edges ? 0u : (uint32_t)GS_PART_EDGES);
    outcome o;
    verify(worker, c, parts, &o);
    const bool less = !passed(&o) && o.status == GS_OK && gs_verdict_find(o.verdict) != GS_VERDICT_UNSUPPORTED && (rounds_twice(p) || p->bias || p->activation || p->alpha == 0 || scales_operand(p) || (p->beta != 0 && p->out != GS_F32)) &&
                      (c->kernel == LIBRARY || (c->kernel == PLAN && o.cublaslt));
    if (less) verify_less(worker, c, &o);
    const bool refused = o.status == GS_ERROR_UNSUPPORTED || o.status == GS_ERROR_NO_LIBRARY || (o.status == GS_OK && gs_verdict_find(o.verdict) == GS_VERDICT_UNSUPPORTED);
    const bool skipped = (c->kernel == LIBRARY || (c->kernel == PLAN && p->invariant)) && refused;   /* no kernel may keep the order of summation of such a problem */
    const bool spills = another && o.status == GS_OK && gs_verdict_find(o.verdict) == GS_VERDICT_SPILL;
    pthread_mutex_lock(&run.lock);
    if (spills) {
        run.spills++;
    } else if (passed(&o)) {
        run.passed++;
        run.less += less;
        run.with_edges += edges && !less;
        if (!less) count_pass(c);
    } else {
        *(skipped ? &run.skipped : &run.failed) += 1;
    }
    if (passed(&o) || skipped || spills) {
        if (!run.s.quiet) printf("%s  #%lld  %s  %s%s%s\n", spills ? "spills" : skipped ? "skip" : less ? "less" : "pass", (long long)c->index, c->problem, c->name, c->kernel == PLAN ? ": " : "", c->kernel == PLAN ? o.detail : "");
    } else {
        printf("FAIL  #%lld  %s  %s  %s", (long long)c->index, c->problem, c->name, o.status == GS_OK ? o.verdict : gs_status_name(o.status));
        if (o.part) printf(", part %d", o.part);
        if (o.where[0] && strcmp(o.where, c->problem) != 0) printf(", on %s", o.where);
        printf(": %s%s%s\n", o.reason, o.detail[0] ? "; " : "", o.detail);
    }
    fflush(stdout);
    pthread_mutex_unlock(&run.lock);
    if (o.status == GS_ERROR_NO_DEVICE || o.status == GS_ERROR_NO_DRIVER || o.status == GS_ERROR_DEVICE) run.broken = true;
    return spills;
}

/* ---- a problem ---- */

static gs_random random_of(int64_t index)
{
    gs_random random = {(uint64_t)run.s.seed};
    random.state = gs_random_next(&random) + (uint64_t)index * 0xd1b54a32d192ed03ull;
    gs_random_next(&random);
    return random;
}

static void count_drawn(const gs_combination *made)
{
    pthread_mutex_lock(&run.lock);
    run.problems++;
    for (int f = 0; f < gs_feature_count(); f++) {
        run.drawn[f][made->value[f]]++;
        for (int g = f + 1; g < gs_feature_count(); g++) run.pair[f][made->value[f]][g][made->value[g]][KERNELS]++;
    }
    pthread_mutex_unlock(&run.lock);
}

static void every_kernel(gs_worker *worker, int64_t index)
{
    gs_random random = random_of(index);
    const gs_combination made = gs_random_combination(&random, run.s.largest);
    candidate c = {.index = index, .combination = &made};
    gs_problem_format(&made.problem, c.problem);
    count_drawn(&made);
    for (c.kernel = 0; c.kernel < KERNELS && !run.broken; c.kernel++) {
        if (run.s.kernels && !(run.s.kernels & 1u << c.kernel)) continue;
        gs_random own = {random.state + (uint64_t)c.kernel};   /* the same whoever else takes part */
        const bool edges = run.s.edges > 0 && gs_random_below(&own, (uint64_t)run.s.edges) == 0;
        gs_schedule schedule;
        if (c.kernel < GS_FAMILIES) {
            if (!gs_random_schedule(&own, (gs_family_id)c.kernel, &made.problem, &run.caps, &schedule)) continue;
            gs_schedule_format(&schedule, c.name);
        } else if (c.kernel == PLAN) {
            snprintf(c.name, sizeof c.name, "plan");
        } else {
            if (run.caps.emulated || gs_has_offsets(&made.problem) || made.problem.scalars || made.problem.m == 0 || made.problem.n == 0) continue;
            snprintf(c.name, sizeof c.name, "cublaslt-heuristic");
        }
        if (run.s.list) {
            printf("      #%lld  %s  %s\n", (long long)index, c.problem, c.name);
            continue;
        }
        for (int again = c.kernel < GS_FAMILIES ? SPILLS : 0; judge(worker, &c, edges, again > 0); again--) {
            if (!gs_random_schedule(&own, (gs_family_id)c.kernel, &made.problem, &run.caps, &schedule)) break;
            gs_schedule_format(&schedule, c.name);
        }
    }
}

static void *work(void *self)
{
    gs_worker worker;
    gs_worker_init(&worker, run.s.device, run.program);
    for (int64_t i; !run.broken && (i = atomic_fetch_add(&run.next, 1)) < run.s.count;)
        if (i % run.s.parts == run.s.part && (run.s.only < 0 || run.s.only == i)) every_kernel(&worker, i);
    gs_worker_stop(&worker);
    return self;
}

/* ---- what was drawn ---- */

static void summary(void)
{
    printf("\n%-13s %-12s %6s", "feature", "value", "drawn");
    for (int k = 0; k < KERNELS; k++) printf(" %8s", kernel_name(k));
    printf("\n");
    for (int f = 0; f < gs_feature_count(); f++)
        for (int v = 0; v < gs_feature_values(f); v++) {
            printf("%-13s %-12s %6ld", gs_feature_name(f), gs_feature_value(f, v), run.drawn[f][v]);
            for (int k = 0; k < KERNELS; k++) printf(" %8ld", run.value[f][v][k]);
            printf("\n");
        }
    printf("%-13s %-12s %6ld", "all", "", run.problems);
    for (int k = 0; k < KERNELS; k++) printf(" %8ld", run.of[k]);
    printf("\n");
}

/* Pairs of values of two features: how many were drawn, and verified by each kernel. To a file, if there is one, each of them. */
static bool pairs(void)
{
    FILE *const file = run.s.pairs ? fopen(run.s.pairs, "w") : NULL;
    if (run.s.pairs && !file) return perror(run.s.pairs), false;
    long count[KERNELS + 1] = {0};
    for (int f = 0; f < gs_feature_count(); f++)
        for (int g = f + 1; g < gs_feature_count(); g++)
            for (int v = 0; v < gs_feature_values(f); v++)
                for (int w = 0; w < gs_feature_values(g); w++) {
                    const int *const seen = run.pair[f][v][g][w];
                    for (int k = 0; k <= KERNELS; k++) count[k] += seen[k] > 0;
                    if (!file) continue;
                    fprintf(file, "%s=%s, %s=%s: drawn %d", gs_feature_name(f), gs_feature_value(f, v), gs_feature_name(g), gs_feature_value(g, w), seen[KERNELS]);
                    for (int k = 0; k < KERNELS; k++) fprintf(file, ", %s %d", kernel_name(k), seen[k]);
                    fprintf(file, "\n");
                }
    printf("pairs of values: %ld drawn; verified", count[KERNELS]);
    for (int k = 0; k < KERNELS; k++) printf("%s %s %ld", k ? "," : "", kernel_name(k), count[k]);
    printf("\n");
    return !file || fclose(file) == 0;
}

/* ---- the program ---- */

static const char usage[] =
    "usage: conformance [--device cuda:0|emu:h200] [--count N] [--seed N] [--parallel WORKERS] [--part I/PARTS]\n"
    "                   [--largest N] [--edges N] [--only INDEX] [--kernels LIST] [--pairs FILE] [--program FILE]\n"
    "                   [--quiet] [--list]\n"
    "  --part     of the problems those whose number modulo PARTS is I: a share for each of several machines\n"
    "  --largest  largest extent; default 256 on an emulated device, 2048 on a GPU\n"
    "  --edges    one candidate in N has the edge problems of part 5, too; default 1: all; 0: none\n"
    "  --only     one problem, by the number that stands behind its verdict\n"
    "  --kernels  families, plan, cublaslt: those that are verified, joined by commas; default: all\n"
    "  --pairs    a line for each pair of values of two features\n"
    "  --program  the gemmsmith that has the worker; default: the one of this build\n"
    "  --list     nothing is verified\n";

static bool number(const char *text, int64_t least, int64_t most, int64_t *out)
{
    char *end;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && *out >= least && *out <= most;
}

static bool share(const char *text, int64_t *part, int64_t *parts)
{
    char first[24];
    const char *const slash = strchr(text, '/');
    if (!slash || slash - text >= (long)sizeof first) return false;
    snprintf(first, sizeof first, "%.*s", (int)(slash - text), text);
    return number(slash + 1, 1, 1000000, parts) && number(first, 0, *parts - 1, part);
}

/* "ws,splitk,plan" */
static bool kernels_of(const char *text, unsigned *out)
{
    for (*out = 0; *text; text += *text == ',') {
        const size_t length = strcspn(text, ",");
        int kernel = 0;
        while (kernel < KERNELS && (strlen(kernel_name(kernel)) != length || strncmp(kernel_name(kernel), text, length) != 0)) kernel++;
        if (kernel == KERNELS) return false;
        *out |= 1u << kernel;
        text += length;
    }
    return *out != 0;
}

static bool read_options(int argc, char **argv, settings *s)
{
    for (int i = 1; i < argc; i++) {
        const char *const option = argv[i], *const value = i + 1 < argc ? argv[i + 1] : "";
        bool good = true;
        if (strcmp(option, "--quiet") == 0) { s->quiet = true; continue; }
        if (strcmp(option, "--list") == 0) { s->list = true; continue; }
        if (strcmp(option, "--device") == 0) s->device = value;
        else if (strcmp(option, "--program") == 0) s->program = value;
        else if (strcmp(option, "--pairs") == 0) s->pairs = value;
        else if (strcmp(option, "--count") == 0) good = number(value, 1, 1000000000, &s->count);
        else if (strcmp(option, "--seed") == 0) good = number(value, 1, 1000000000, &s->seed);
        else if (strcmp(option, "--parallel") == 0) good = number(value, 1, THREADS_MOST, &s->parallel);
        else if (strcmp(option, "--part") == 0) good = share(value, &s->part, &s->parts);
        else if (strcmp(option, "--largest") == 0) good = number(value, 64, 65536, &s->largest);
        else if (strcmp(option, "--edges") == 0) good = number(value, 0, 1000000, &s->edges);
        else if (strcmp(option, "--kernels") == 0) good = kernels_of(value, &s->kernels);
        else if (strcmp(option, "--only") == 0) good = number(value, 0, 1000000000, &s->only);
        else good = false;
        if (!good || !*value) return false;
        i++;
    }
    return true;
}

/* The program of this build stands beside the folder of this one. */
static bool find_program(const char *named)
{
    if (named) return snprintf(run.program, sizeof run.program, "%s", named) > 0;
    const ssize_t size = readlink("/proc/self/exe", run.program, sizeof run.program - 16);
    if (size <= 0) return false;
    run.program[size] = '\0';
    for (int up = 0; up < 2; up++) {
        char *const slash = strrchr(run.program, '/');
        if (slash) *slash = '\0';
    }
    strcat(run.program, "/gemmsmith");
    return true;
}

/* What there is to work on. -1: all that is needed. */
static int ask(void)
{
    gs_worker worker;
    gs_error error = {0};
    int nvrtc = 0;
    gs_worker_init(&worker, run.s.device, run.program);
    const gs_status status = gs_worker_hello(&worker, &run.caps, NULL, &nvrtc, &error);
    gs_worker_stop(&worker);
    if (status == GS_OK && nvrtc) return -1;
    printf("skipped: %s: %s\n", run.s.device, status == GS_OK ? "no NVRTC" : error.text);
    return status == GS_OK || status == GS_ERROR_NO_DRIVER || status == GS_ERROR_NO_DEVICE || status == GS_ERROR_DRIVER_TOO_OLD ? NO_DEVICE : 2;
}

int main(int argc, char **argv)
{
    const char *const named = getenv("GEMMSMITH_DEVICE");
    run.s = (settings){.device = named && *named ? named : "cuda:0", .count = 100, .seed = 1, .parallel = 1, .parts = 1, .edges = 1, .only = -1};
    if (!read_options(argc, argv, &run.s)) return fputs(usage, stderr), 2;
    if (!find_program(run.s.program)) return fputs("conformance: gemmsmith is not found; --program\n", stderr), 2;
    const int code = ask();
    if (code >= 0) return code;
    if (run.s.only >= run.s.count) run.s.count = run.s.only + 1;
    if (!run.s.largest) run.s.largest = run.caps.emulated ? 256 : 2048;
    const int64_t started = gs_clock_ns();
    pthread_t thread[THREADS_MOST];
    int threads = 0;
    while (threads < run.s.parallel && pthread_create(&thread[threads], NULL, work, NULL) == 0) threads++;
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    if (!threads) work(NULL);
    summary();
    const bool kept = pairs();
    printf("seed %lld on %s, extents up to %lld: %ld problems in %.0f s; %ld with edge problems, %ld of cuBLASLt's rung asked for less, %ld schedules that spill\n", (long long)run.s.seed, run.s.device,
           (long long)run.s.largest, run.problems, (double)(gs_clock_ns() - started) * 1e-9, run.with_edges, run.less, run.spills);
    printf("%ld passed, %ld failed, %ld skipped\n", run.passed, run.failed, run.skipped);
    return run.broken || !kept ? 2 : run.failed ? 1 : run.s.list || run.passed ? 0 : NO_DEVICE;
}
