/* SPDX-License-Identifier: MIT
 * Races on the emulated device: right results pass for every kind of problem, every kind of wrong result is found, and a fault counts only against its contender. Times
 * and budgets are in tests/plan/measure.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "folder.h"
#include "loaded/contender.h"
#include "problem/layout.h"
#include "race/race.h"

static gs_error   error;
static gs_device *device;

#define OK(call) do { if ((call) != GS_OK) fail_msg("%s: %s", #call, error.text); } while (0)

typedef enum deed { RIGHT, NOTHING, SCALED, OTHER_A, FAULTY, OTHER_SUMS, FIRST_OF_AUX, SECOND_OF_AUX } deed;   /* *_OF_AUX: only one half of each row of aux; without a gate, none */

typedef struct cheat {
    gs_contender contender;
    gs_problem   problem;
    deed         deed;
    gs_pointer   other;      /* memory that differs from A, followed by space for aux or the sums */
    size_t       other_bytes;
} cheat;

static gs_status run(void *self, const gs_args *args, gs_queue queue, gs_error *why)
{
    cheat *const c = self;
    gs_args with = *args;
    const float two = 2;
    if (c->deed == NOTHING) return GS_OK;
    if (c->deed == FAULTY) with.d = (void *)(uintptr_t)64;
    if (c->deed == SCALED) with.alpha = &two;
    if (c->deed == OTHER_A) with.a = (void *)(uintptr_t)c->other;
    if (c->deed == OTHER_SUMS) {
        OK(device->ops->fill(device, (gs_pointer)(uintptr_t)args->bias, 0, gs_problem_bytes(&c->problem, 'e') / 4 * 4, queue, why));
        with.bias = (void *)(uintptr_t)(c->other + c->other_bytes);
    }
    if (c->deed >= FIRST_OF_AUX) with.aux = (void *)(uintptr_t)(c->other + c->other_bytes);
    const gs_status status = c->contender.run(&c->contender, &with, queue, why);
    if (c->deed < FIRST_OF_AUX || status != GS_OK) return status;
    OK(device->ops->queue_wait(device, queue, why));
    const gs_shape s = gs_shape_of(&c->problem, 'g');
    const size_t size = gs_type_size(s.type), half = (size_t)c->problem.n * size, from = c->deed == SECOND_OF_AUX ? half : 0;
    char *const row = malloc(half);
    OK(device->ops->fill(device, (gs_pointer)(uintptr_t)args->aux, 0, gs_problem_bytes(&c->problem, 'g') / 4 * 4, queue, why));
    OK(device->ops->queue_wait(device, queue, why));
    for (int64_t i = 0; c->problem.gate && i < s.rows; i++) {
        OK(device->ops->copy_out(device, row, (gs_pointer)(uintptr_t)with.aux + (gs_pointer)(i * s.ld) * size + from, half, why));
        OK(device->ops->copy_in(device, (gs_pointer)(uintptr_t)args->aux + (gs_pointer)(i * s.ld) * size + from, row, half, why));
    }
    free(row);
    return GS_OK;
}

static void race_of(const char *text, const deed *deeds, int count, gs_racer *racers)
{
    gs_problem problem;
    cheat cheats[4] = {0};
    gs_pointer other;
    int winner = -1;
    double spent = 0;
    OK(gs_problem_parse(&problem, text, &error));
    const size_t bytes = (gs_problem_bytes(&problem, 'a') + 511) / 256 * 256;
    OK(device->ops->alloc(device, bytes + GS_MAX(gs_problem_bytes(&problem, 'g'), gs_problem_bytes(&problem, 'e')), &other, &error));
    OK(device->ops->fill(device, other, 0x3c003c00, gs_problem_bytes(&problem, 'a') / 4 * 4, NULL, &error));
    for (int i = 0; i < count; i++) {
        OK(gs_contender_schedule(&cheats[i].contender, device, "simple", &error));
        OK(cheats[i].contender.prepare(&cheats[i].contender, &problem, &error));
        cheats[i].deed = deeds[i];
        cheats[i].other = other;
        cheats[i].other_bytes = bytes;
        cheats[i].problem = problem;
        racers[i] = (gs_racer){.run = run, .self = &cheats[i]};
        snprintf(racers[i].name, sizeof racers[i].name, "%d", i);
    }
    OK(gs_race(device, &problem, racers, count, 1e5, &winner, &spent, &error));
    assert_true(deeds[winner] == RIGHT && spent > 0);
    for (int i = 0; i < count; i++) {
        const gs_status wanted = deeds[i] == RIGHT ? GS_OK : deeds[i] == FAULTY ? GS_ERROR_FAULT : GS_ERROR_VERIFY;
        if (racers[i].status != wanted) fail_msg("%s, contender %d: %s", text, i, gs_status_string(racers[i].status));
        cheats[i].contender.destroy(&cheats[i].contender);
    }
    device->ops->free(device, other);
}

static void test_right(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "f16:24x20x36:tn", "bf16:20x24x33:nn", "f16:17x19x23:nn:beta=-0.5", "bf16:16x16x40:tn:d=f32:alpha=3", "f16:9x10x64:tn:acc=f16", "f16:5x6x7:nn:b=3",
        "bf16:7x9x11:tn:lda=16:ldb=20:ldd=24:beta=2", "f16:1x1x1:tn", "f16:9x7x12:tn:b=5:matrices=pointers:ep=bias+relu", "bf16:5x6x7:nt:matrices=pointers:beta=2",
        "f16:24x20x36:tn:beta=1:ep=scale_m+scale_n+bias+silu", "bf16:20x24x33:nn:ep=scale_n+gelu+gate", "f16:24x20x36:tn:g=3:ep=scale_m+scale_n",
        "f16:24x20x36:tn:ep=bias+relu+aux", "bf16:20x24x33:nn:ldaux=50:b=2:ep=bias+silu+gate+aux", "f16:24x20x36:tn:g=3:ep=bias+gelu+gate_i+aux",
        "f16:24x20x36:tn:g=3:ep=dbias", "bf16:24x20x36:nn:gm=4:d=f32:ep=dsilu+dbias",
    };
    gs_racer racers[4];
    for (size_t i = 0; i < GS_COUNT(problems); i++) race_of(problems[i], (const deed[]){RIGHT, RIGHT}, 2, racers);
}

static void test_wrong(void **state)
{
    (void)state;
    static const char *const problems[] = {"f16:24x20x36:tn", "bf16:20x24x33:nn:beta=1", "f16:9x10x64:tn:acc=f16", "bf16:6x6x30:nn:b=3:d=f32", "f16:24x20x36:tn:ep=scale_m"};
    gs_racer racers[4];
    for (size_t i = 0; i < GS_COUNT(problems); i++) {
        race_of(problems[i], (const deed[]){NOTHING, SCALED, RIGHT, OTHER_A}, 4, racers);
        race_of(problems[i], (const deed[]){FAULTY, RIGHT}, 2, racers);
    }
    race_of("bf16:20x24x33:nn:ep=bias+silu+aux", (const deed[]){FIRST_OF_AUX, RIGHT}, 2, racers);
    race_of("f16:24x20x36:tn:ldaux=44:ep=bias+relu+gate+aux", (const deed[]){FIRST_OF_AUX, RIGHT, SECOND_OF_AUX}, 3, racers);
    static const char *const sums[] = {"f16:24x20x36:tn:ep=dbias", "f16:24x20x36:tn:b=2:se=24:ep=dbias", "f16:24x20x36:tn:g=3:ep=dbias", "bf16:24x20x36:tn:gm=3:ep=dbias"};
    for (size_t i = 0; i < GS_COUNT(sums); i++) race_of(sums[i], (const deed[]){OTHER_SUMS, RIGHT}, 2, racers);
    race_of("f16:9x10x64:tn:b=4:matrices=pointers", (const deed[]){NOTHING, SCALED, RIGHT, FAULTY}, 4, racers);
}

static void test_nobody(void **state)
{
    (void)state;
    gs_problem problem;
    cheat nothing = {.deed = NOTHING};
    gs_racer racer = {.run = run, .self = &nothing, .name = "nothing"};
    int winner = -1;
    double spent;
    OK(gs_problem_parse(&problem, "f16:8x8x8:tn", &error));
    assert_int_equal(gs_race(device, &problem, &racer, 1, 1e5, &winner, &spent, &error), GS_ERROR_UNSUPPORTED);
    assert_int_equal(winner, -1);
    OK(gs_problem_parse(&problem, "f16:1000000x1000000x8:tn", &error));   /* D is 2 TB */
    assert_int_equal(gs_race_fits(device, &problem, &error), GS_ERROR_DEVICE_MEMORY);
    assert_int_equal(gs_race(device, &problem, &racer, 1, 1e5, &winner, &spent, &error), GS_ERROR_DEVICE_MEMORY);
}

int main(void)
{
    if (gs_compiler_version(&error) == 0) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    gs_log_set_level(GS_LOG_OFF);
    char folder[] = "/tmp/gemmsmith-race-XXXXXX";
    if (!mkdtemp(folder) || gs_device_open(&device, "emu:h200", folder, &error) != GS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_wrong), cmocka_unit_test(test_nobody)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gs_device_close(&device);
    remove_all(folder);
    return failed;
}
