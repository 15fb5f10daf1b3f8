/* SPDX-License-Identifier: MIT */
#include "operands/operands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "common/datagen.h"
#include "schedule/model.h"

#define MOST_GAP 32    /* grains */

int gs_operand_sets(size_t used_bytes, size_t set_bytes, size_t l2_bytes, size_t free_bytes, int calls, bool warm)
{
    if (warm) return 1;
    const size_t needed = GS_MAX(4 * l2_bytes / GS_MAX(used_bytes, 1u) + 1, (size_t)calls);
    const size_t fitting = free_bytes / 10 * 6 / GS_MAX(set_bytes, 1u);
    size_t sets = GS_MIN(needed, (size_t)GS_OPERAND_SETS);
    sets = GS_MIN(sets, fitting);
    return (int)GS_MAX(sets, 2u);
}

int gs_operand_calls(const gs_problem *problem, const gs_caps *caps, double replay_us)
{
    const double floor_us = gs_floor_us(problem, caps);
    return floor_us > 0 ? (int)fmin(ceil(1.1 * replay_us / floor_us), GS_OPERAND_SETS) : GS_OPERAND_SETS;
}

int gs_operand_most_sets(double launch_us, double replay_us)
{
    if (!(launch_us > 0)) return GS_OPERAND_SETS;
    const double calls = ceil(1.1 * replay_us / (launch_us / 2));
    return (int)fmin(fmax(calls, 2), GS_OPERAND_SETS);
}

size_t gs_operand_used(const gs_problem *problem)
{
    const gs_problem average = gs_problem_average(problem);   /* of groups, those that have rows */
    size_t used = gs_problem_bytes(problem, 'a') + gs_problem_bytes(&average, 'b') + gs_problem_bytes(problem, 'd');
    if (problem->beta != 0) used += gs_problem_bytes(problem, 'c');
    return used + gs_problem_bytes(problem, 'e') + gs_problem_bytes(problem, 'f') + gs_problem_bytes(problem, 'g') + gs_problem_bytes(problem, 'h') + gs_problem_bytes(problem, 'i');
}

size_t gs_operand_room(size_t bytes) { return (bytes + GS_OPERAND_GRAIN - 1) / GS_OPERAND_GRAIN * GS_OPERAND_GRAIN + (size_t)MOST_GAP * GS_OPERAND_GRAIN; }

gs_status gs_operand_sets_of(gs_device *device, const gs_problem *problem, int *out, gs_error *error)
{
    *out = 1;
    if (device->caps.emulated) return GS_OK;
    size_t set_bytes = 0, free_bytes, total_bytes;
    for (int i = 0; i < gs_operand_count(problem); i++) set_bytes += gs_operand_room(gs_problem_bytes(problem, GS_OPERAND_LETTERS[i]));
    GS_TRY(device->ops->memory_info(device, &free_bytes, &total_bytes, error));
    if (free_bytes / 10 * 6 / set_bytes >= 2)
        *out = GS_MIN(gs_operand_sets(gs_operand_used(problem), set_bytes, (size_t)device->caps.l2_bytes, free_bytes,
                                      gs_operand_calls(problem, &device->caps, GS_OPERAND_REPLAY_US), false),
                      gs_operand_most_sets(device->caps.launch_us, GS_OPERAND_REPLAY_US));
    return GS_OK;
}

size_t gs_operand_size(const gs_device *device, size_t bytes, int sets) { return gs_operand_room(bytes) * (size_t)sets + 2 * gs_guard(device); }

gs_status gs_operand_alloc(gs_device *device, size_t bytes, int sets, gs_random *random, gs_pointer *memory, gs_pointer *at, gs_error *error)
{
    GS_TRY(device->ops->alloc(device, gs_operand_size(device, bytes, sets), memory, error));
    gs_operand_place(device, bytes, sets, random, *memory, at);
    return GS_OK;
}

void gs_operand_place(const gs_device *device, size_t bytes, int sets, gs_random *random, gs_pointer memory, gs_pointer *at)
{
    const size_t guard = gs_guard(device), room = gs_operand_room(bytes);
    int place[GS_OPERAND_SETS];   /* in no order: a kernel must not know where the next call's operands are */
    gs_operand_order(random, sets, place);
    for (int i = 0; i < sets; i++)
        at[i] = memory + guard + room * (size_t)place[i] + (gs_pointer)gs_random_below(random, MOST_GAP) * GS_OPERAND_GRAIN;
}

void gs_operand_order(gs_random *random, int count, int order[])
{
    for (int i = 0; i < count; i++) {
        const int other = (int)gs_random_below(random, (uint64_t)i + 1);
        order[i] = order[other];
        order[other] = i;
    }
}

gs_args gs_operand_args(const gs_pointer at[GS_OPERANDS])
{
    return (gs_args){
        .a = (const void *)(uintptr_t)at[0], .b = (const void *)(uintptr_t)at[1], .c = (const void *)(uintptr_t)at[2], .d = (void *)(uintptr_t)at[3],
        .bias = (const void *)(uintptr_t)at[4], .offsets = (const int32_t *)(uintptr_t)at[5], .aux = (void *)(uintptr_t)at[6],
        .scale_m = (const float *)(uintptr_t)at[7], .scale_n = (const float *)(uintptr_t)at[8],
    };
}

/* alpha and beta of a call may be anywhere in memory: here they lie apart, at addresses that are multiples of 4 and 8 alone, or side by side at a multiple of 16, as the elements of a
 * vector, with NaN around them, so that a kernel that reads beside them is wrong. */
enum { SCALARS = 8 };

static int place_of_alpha(bool apart) { return apart ? 5 : 4; }
static int place_of_beta(bool apart) { return apart ? 2 : 5; }

typedef struct scalars_memory { float number[SCALARS]; } scalars_memory;

static void fill_scalars(const gs_problem *problem, bool apart, scalars_memory *memory)
{
    for (int i = 0; i < SCALARS; i++) memory->number[i] = NAN;
    memory->number[place_of_alpha(apart)] = problem->alpha;
    memory->number[place_of_beta(apart)] = problem->beta;
}

gs_status gs_operand_put_scalars(gs_device *device, const gs_problem *problem, bool apart, gs_pointer to, gs_error *error)
{
    scalars_memory memory;
    fill_scalars(problem, apart, &memory);
    return device->ops->copy_in(device, to, &memory, sizeof memory, error);
}

gs_status gs_operand_scalars_kept(gs_device *device, const gs_problem *problem, bool apart, gs_pointer at, bool *kept, gs_error *error)
{
    scalars_memory memory, found;
    *kept = true;
    if (!at) return GS_OK;
    fill_scalars(problem, apart, &memory);
    GS_TRY(device->ops->copy_out(device, &found, at, sizeof found, error));
    *kept = memcmp(&memory, &found, sizeof found) == 0;
    return GS_OK;
}

gs_status gs_operand_scalars(gs_device *device, const gs_problem *problem, gs_pointer *out, gs_error *error)
{
    *out = 0;
    if (problem->scalars != GS_SCALARS_DEVICE) return GS_OK;
    GS_TRY(device->ops->alloc(device, sizeof(scalars_memory), out, error));
    return gs_operand_put_scalars(device, problem, true, *out, error);
}

void gs_operand_set_scalars(gs_args *args, bool apart, gs_pointer scalars)
{
    if (!scalars) return;
    args->alpha = (const float *)(uintptr_t)scalars + place_of_alpha(apart);
    args->beta = (const float *)(uintptr_t)scalars + place_of_beta(apart);
}

gs_status gs_operand_put_pointers(gs_device *device, const gs_problem *pool, const gs_pointer at[4], uint64_t seed, gs_pointer to, gs_error *error)
{
    const size_t bytes = gs_pool_pointers_size(pool);
    uint64_t *const pointers = malloc(bytes);
    if (!pointers) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for pointers to %lld matrices", (long long)pool->batch);
    gs_pool_pointers(pool, at, seed, pointers);
    const gs_status status = device->ops->copy_in(device, to, pointers, bytes, error);
    free(pointers);
    return status;
}

void gs_operand_set_pointers(gs_args *args, const gs_problem *pool, gs_pointer pointers)
{
    const size_t each = (size_t)pool->batch * sizeof(gs_pointer);
    if (!pointers) return;
    args->a = (const void *)(uintptr_t)pointers;
    args->b = (const void *)(uintptr_t)(pointers + each);
    args->c = (const void *)(uintptr_t)(pointers + 2 * each);
    args->d = (void *)(uintptr_t)(pointers + 3 * each);
}

int gs_operand_c_kind(const gs_problem *problem, int kind)
{
    return problem->beta != 0 || kind == GS_VALUES_CANCEL || kind == GS_VALUES_RANGE ? kind : GS_VALUES_NAN;
}
