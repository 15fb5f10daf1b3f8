/* SPDX-License-Identifier: MIT
 * Times two builds of the library against each other, the same schedules on the same operands, in one process:
 *
 *     compare_builds ADAPTER_A ADAPTER_B LIST > rows.csv
 *
 * An adapter is tools/build_adapter.c, linked with one build. A line of LIST has a problem and a schedule string for the second build; an
 * optional third word is the schedule string in the first build. Operands are cold and normally distributed; each build has a
 * CUDA graph of calls, and the graphs alternate for 31 rounds. A row has the median time of both in microseconds, the ratio A / B of the rounds
 * with its interval, the verdict, and how many bytes of D differ between the builds. Exit code 1 if a plan could not be made or run. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/random.h"
#include "bench/stats.h"
#include "device/device.h"
#include "problem/layout.h"

enum { ROUNDS = 31, MOST_CALLS = 200, MOST_SETS = 64, BUILDS = 2 };
static const double COLD_BYTES = 240e6;   /* over four times an H200's L2 */

typedef struct build {
    const char *(*open)(const char *device);
    const char *(*plan)(const char *problem, const char *schedule, void **plan);
    int (*run)(void *plan, const void *a, const void *b, const void *c, void *d, void *stream);
} build;

typedef struct operands {
    gs_pointer a, b, d;
} operands;

static gs_device *device;
static gs_queue   queue;
static gs_error   error;

static bool load(build *out, const char *path)
{
    void *const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    *(void **)&out->open = dlsym(handle, "build_open");
    *(void **)&out->plan = dlsym(handle, "build_plan");
    *(void **)&out->run = dlsym(handle, "build_run");
    const char *const why = out->open && out->plan && out->run ? out->open(gs_device_gpu()) : "not an adapter";
    if (why) fprintf(stderr, "%s: %s\n", path, why);
    return !why;
}

/* An approximately normal number as f16 or bf16: the sum of twelve uniform ones. */
static uint16_t draw(gs_random *random, gs_type type)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += gs_random_unit(random);
    if (type == GS_F16) return gs_f32_to_f16((float)sum);
    const float value = (float)sum;   /* bf16 is its upper half */
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Fills `bytes` bytes with parts of one block of random numbers, each beginning at a random place. */
static gs_status fill(gs_pointer to, size_t bytes, const uint16_t *numbers, size_t count, gs_random *random)
{
    for (size_t at = 0; at < bytes;) {
        const size_t first = (size_t)gs_random_below(random, count / 2), part = GS_MIN(bytes - at, (count - first) * 2);
        GS_TRY(device->ops->copy_in(device, to + at, numbers + first, part, &error));
        at += part;
    }
    return GS_OK;
}

static gs_status put(operands *set, const gs_problem *p, const uint16_t *numbers, size_t count, gs_random *random)
{
    const size_t a = gs_problem_bytes(p, 'a'), b = gs_problem_bytes(p, 'b'), d = gs_problem_bytes(p, 'd');
    GS_TRY(device->ops->alloc(device, a, &set->a, &error));
    GS_TRY(device->ops->alloc(device, b, &set->b, &error));
    GS_TRY(device->ops->alloc(device, (d + 3) / 4 * 4, &set->d, &error));
    GS_TRY(fill(set->a, a, numbers, count, random));
    return fill(set->b, b, numbers, count, random);
}

static bool run(const build *b, void *plan, const operands *set)
{
    return b->run(plan, (const void *)(uintptr_t)set->a, (const void *)(uintptr_t)set->b, NULL, (void *)(uintptr_t)set->d, (void *)queue) == 0;
}

static gs_status capture(const build *b, void *plan, const operands *sets, int count, int calls, gs_graph *out)
{
    bool good = true;
    GS_TRY(device->ops->capture_begin(device, queue, &error));
    for (int i = 0; i < calls && good; i++) good = run(b, plan, &sets[i % count]);
    GS_TRY(device->ops->capture_end(device, queue, out, &error));
    return good ? GS_OK : gs_fail(&error, GS_ERROR_LAUNCH, NULL, "a plan could not be run");
}

static gs_status time_graph(gs_graph graph, gs_event start, gs_event end, double *us)
{
    GS_TRY(device->ops->event_record(device, start, queue, &error));
    GS_TRY(device->ops->graph_launch(device, graph, queue, &error));
    GS_TRY(device->ops->event_record(device, end, queue, &error));
    return device->ops->event_us(device, start, end, us, &error);
}

static long differing(const unsigned char *a, const unsigned char *b, size_t size)
{
    long count = 0;
    for (size_t i = 0; i < size; i++) count += a[i] != b[i];
    return count;
}

/* Counts the bytes of D that differ for the same operands; D is poisoned before each run. */
static gs_status compare_results(const build *builds, void *const *plans, const operands *set, const gs_problem *p, long *differ)
{
    const size_t size = gs_problem_bytes(p, 'd');
    unsigned char *got[BUILDS] = {malloc(size), malloc(size)};
    gs_status status = got[0] && got[1] ? GS_OK : gs_fail(&error, GS_ERROR_MEMORY, NULL, "no memory");
    for (int i = 0; i < BUILDS && status == GS_OK; i++) {
        status = device->ops->fill(device, set->d, 0x7fff7fff, (size + 3) / 4 * 4, queue, &error);
        if (status == GS_OK && !run(&builds[i], plans[i], set)) status = gs_fail(&error, GS_ERROR_LAUNCH, NULL, "a plan could not be run");
        if (status == GS_OK) status = device->ops->queue_wait(device, queue, &error);
        if (status == GS_OK) status = device->ops->copy_out(device, got[i], set->d, size, &error);
    }
    if (status == GS_OK) *differ = differing(got[0], got[1], size);
    free(got[0]);
    free(got[1]);
    return status;
}

static gs_status compare(const build *builds, void *const *plans, const gs_problem *p, const operands *sets, int count, uint64_t seed, const char *name)
{
    gs_event start = {0}, end = {0};
    gs_graph graph[BUILDS] = {0};
    double us[BUILDS][ROUNDS], once = 0;
    long differ = -1;
    GS_TRY(compare_results(builds, plans, &sets[0], p, &differ));
    GS_TRY(device->ops->event_create(device, &start, &error));
    GS_TRY(device->ops->event_create(device, &end, &error));
    GS_TRY(capture(&builds[0], plans[0], sets, count, count, &graph[0]));
    for (int i = 0; i < 3; i++) GS_TRY(time_graph(graph[0], start, end, &once));
    device->ops->graph_destroy(device, graph[0]);
    const int calls = (int)fmin(MOST_CALLS, fmax(count, ceil(1000 / (once / count))));
    for (int i = 0; i < BUILDS; i++) GS_TRY(capture(&builds[i], plans[i], sets, count, calls, &graph[i]));
    for (int round = -3; round < ROUNDS; round++)
        for (int i = 0; i < BUILDS; i++) {
            const int which = (i + round + 4) % BUILDS;
            double total;
            GS_TRY(time_graph(graph[which], start, end, &total));
            if (round >= 0) us[which][round] = total / calls;
        }
    const gs_ratio ratio = gs_ratio_paired(us[0], us[1], ROUNDS, seed);
    printf("%s,%.4f,%.4f,%.5f,%.5f,%.5f,%s,%d,%d,%ld\n", name, gs_median(us[0], ROUNDS), gs_median(us[1], ROUNDS), ratio.median, ratio.low, ratio.high,
           gs_comparison_name(ratio.verdict), calls, count, differ);
    for (int i = 0; i < BUILDS; i++) device->ops->graph_destroy(device, graph[i]);
    device->ops->event_destroy(device, start);
    device->ops->event_destroy(device, end);
    return GS_OK;
}

/* One line of the list. */
static bool one(const build *builds, const char *text, const char *before, const char *now, const uint16_t *const numbers[2], size_t count, uint64_t seed)
{
    const char *const schedule[BUILDS] = {before, now};
    void *plans[BUILDS] = {0};
    operands sets[MOST_SETS] = {{0}};
    gs_problem p;
    gs_random random = {seed};
    if (gs_problem_parse(&p, text, &error) != GS_OK) {
        fprintf(stderr, "%s: %s\n", text, error.text);
        return false;
    }
    for (int i = 0; i < BUILDS; i++) {
        const char *const why = builds[i].plan(text, schedule[i], &plans[i]);
        if (!why) continue;
        fprintf(stderr, "%s %s, build %c: %s\n", text, schedule[i], 'A' + i, why);
        return false;
    }
    const double bytes = (double)gs_problem_bytes(&p, 'a') + (double)gs_problem_bytes(&p, 'b') + (double)gs_problem_bytes(&p, 'd');
    const int set_count = (int)fmin(MOST_SETS, fmax(2, ceil(COLD_BYTES / bytes)));
    char name[GS_PROBLEM_TEXT + 128];
    snprintf(name, sizeof name, "%s,%s", text, now);
    gs_status status = GS_OK;
    for (int i = 0; i < set_count && status == GS_OK; i++) status = put(&sets[i], &p, numbers[p.in == GS_BF16], count, &random);
    if (status == GS_OK) status = compare(builds, plans, &p, sets, set_count, seed, name);
    if (status != GS_OK) fprintf(stderr, "%s %s: %s\n", text, now, error.text);
    for (int i = 0; i < set_count; i++) {
        if (sets[i].a) device->ops->free(device, sets[i].a);
        if (sets[i].b) device->ops->free(device, sets[i].b);
        if (sets[i].d) device->ops->free(device, sets[i].d);
    }
    return status == GS_OK;
}

int main(int argc, char **argv)
{
    enum { COUNT = 1 << 22 };
    static uint16_t numbers[2][COUNT];
    build builds[BUILDS];
    char line[512], text[256], now[128], before[128];
    int failed = 0, lines = 0;
    FILE *const list = argc == 4 ? fopen(argv[3], "r") : NULL;
    if (!list) {
        fprintf(stderr, "usage: compare_builds ADAPTER_A ADAPTER_B LIST\n");
        return 2;
    }
    if (gs_device_open(&device, gs_device_gpu(), "", &error) != GS_OK || device->ops->queue_create(device, &queue, &error) != GS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    for (int i = 0; i < BUILDS; i++)
        if (!load(&builds[i], argv[1 + i])) return 1;
    gs_random random = {1};
    for (int i = 0; i < COUNT; i++) {
        numbers[0][i] = draw(&random, GS_F16);
        numbers[1][i] = draw(&random, GS_BF16);
    }
    const uint16_t *const both[2] = {numbers[0], numbers[1]};
    printf("problem,schedule,a_us,b_us,ratio,low,high,verdict,calls,sets,bytes_that_differ\n");
    while (fgets(line, sizeof line, list)) {
        const int words = sscanf(line, "%255s %127s %127s", text, now, before);
        if (words < 2 || text[0] == '#') continue;
        failed += !one(builds, text, words == 3 ? before : now, now, both, COUNT, (uint64_t)++lines);
        fflush(stdout);
    }
    fclose(list);
    return failed != 0 || lines == 0;
}
