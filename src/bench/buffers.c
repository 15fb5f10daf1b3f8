/* SPDX-License-Identifier: MIT
 * Operand sets. Contenders of one layout and leading dimension share an operand's memory; nn and tn contenders have their own
 * copy of B, which holds the same matrix because gs_generate numbers it by logical row and column. */
#include <stdlib.h>

#include "base/error.h"
#include "bench/internal.h"

#define GRAIN   256   /* bytes: alignment of every address */
#define MOST_GAP 32   /* grains */

static int64_t leading(const gs_problem *problem, char name)
{
    switch (name) {
    case 'a': return problem->lda;
    case 'b': return problem->ldb;
    case 'c': return problem->ldc;
    default:  return problem->ldd;
    }
}

static bool same_form(const gs_operand *operand, const gs_problem *problem, char name)
{
    return operand->name == name && leading(&operand->problem, name) == leading(problem, name) &&
           (name != 'b' || operand->problem.layout == problem->layout);
}

static int find_or_add(gs_sets *sets, const gs_problem *problem, char name)
{
    for (int i = 0; i < sets->operand_count; i++)
        if (same_form(&sets->operands[i], problem, name)) return i;
    sets->operands[sets->operand_count] = (gs_operand){.name = name, .problem = *problem, .bytes = gs_problem_bytes(problem, name)};
    return sets->operand_count++;
}

static void collect(gs_sets *sets, const gs_problem *problems, int count)
{
    for (int i = 0; i < count; i++) {
        size_t used = 0;
        for (int j = 0; j < 4; j++) {
            const char name = "abcd"[j];
            const bool needed = name != 'c' || problems[i].beta != 0;
            sets->use[i][j] = needed ? find_or_add(sets, &problems[i], name) : -1;
            if (needed) used += gs_problem_bytes(&problems[i], name);
        }
        if (i == 0 || used < sets->used_bytes) sets->used_bytes = used;
    }
}

/* Largest room that one set of an operand can take: itself, rounded up, and a gap. */
static size_t room(const gs_operand *operand) { return (operand->bytes + GRAIN - 1) / GRAIN * GRAIN + (size_t)MOST_GAP * GRAIN; }

static gs_status allocate(gs_sets *sets, gs_operand *operand, gs_device *device, gs_random *random, gs_error *error)
{
    operand->at = calloc((size_t)sets->count, sizeof *operand->at);
    if (!operand->at) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the addresses of %d operand sets", sets->count);
    operand->memory_bytes = room(operand) * (size_t)sets->count;
    GS_TRY(device->ops->alloc(device, operand->memory_bytes, &operand->memory, error));
    size_t offset = 0;
    for (int i = 0; i < sets->count; i++) {
        operand->at[i] = operand->memory + offset;
        offset += room(operand) - (size_t)gs_random_below(random, MOST_GAP) * GRAIN;
    }
    return GS_OK;
}

static gs_status generate(const gs_sets *sets, gs_verifier *verifier, gs_random *random, gs_queue queue, gs_error *error)
{
    for (int set = 0; set < sets->count; set++) {
        const uint64_t seed = gs_random_next(random);
        for (int i = 0; i < sets->operand_count; i++) {
            const gs_operand *const operand = &sets->operands[i];
            if (operand->name == 'd') continue;
            GS_TRY(gs_generate(verifier, &operand->problem, operand->name, GS_DATA_NORMAL, seed, operand->at[set], queue, error));
        }
    }
    return GS_OK;
}

gs_status gs_sets_create(gs_sets *sets, gs_device *device, gs_verifier *verifier, const gs_problem *problems, int count, int most, bool warm,
                         gs_random *random, gs_queue queue, gs_error *error)
{
    *sets = (gs_sets){0};
    sets->operands = calloc((size_t)count * 4, sizeof *sets->operands);
    sets->use = calloc((size_t)count, sizeof *sets->use);
    if (!sets->operands || !sets->use)
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to list the operands of %d contenders", count);
    collect(sets, problems, count);
    size_t set_bytes = 0, free_bytes, total_bytes;
    for (int i = 0; i < sets->operand_count; i++) set_bytes += room(&sets->operands[i]);
    GS_TRY(device->ops->memory_info(device, &free_bytes, &total_bytes, error));
    sets->count = GS_MIN(gs_bench_sets(sets->used_bytes, set_bytes, (size_t)device->caps.l2_bytes, free_bytes, warm), most);
    for (int i = 0; i < sets->operand_count; i++) GS_TRY(allocate(sets, &sets->operands[i], device, random, error));
    GS_TRY(generate(sets, verifier, random, queue, error));
    for (int i = 0; i < count; i++) GS_TRY(gs_sets_poison(sets, device, i, queue, error));
    return device->ops->queue_wait(device, queue, error);
}

void gs_sets_destroy(gs_sets *sets, gs_device *device)
{
    for (int i = 0; i < sets->operand_count; i++) {
        if (sets->operands[i].memory) device->ops->free(device, sets->operands[i].memory);
        free(sets->operands[i].at);
    }
    free(sets->operands);
    free(sets->use);
    *sets = (gs_sets){0};
}

gs_args gs_sets_args(const gs_sets *sets, int contender, int set)
{
    uintptr_t at[4];
    for (int j = 0; j < 4; j++) {
        const int operand = sets->use[contender][j];
        at[j] = operand < 0 ? 0 : (uintptr_t)sets->operands[operand].at[set];
    }
    return (gs_args){.a = (const void *)at[0], .b = (const void *)at[1], .c = (const void *)at[2], .d = (void *)at[3]};
}

gs_status gs_sets_poison(const gs_sets *sets, gs_device *device, int contender, gs_queue queue, gs_error *error)
{
    const gs_operand *const d = &sets->operands[sets->use[contender][3]];
    return device->ops->fill(device, d->memory, GS_BENCH_POISON, d->memory_bytes, queue, error);
}
