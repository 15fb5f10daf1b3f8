/* SPDX-License-Identifier: MIT
 * Operand sets. Contenders of one layout and leading dimension share an operand's memory; nn and tn contenders have their own
 * copy of B, which holds the same matrix because gs_generate numbers it by logical row and column. */
#include <stdlib.h>

#include "base/error.h"
#include "bench/internal.h"

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
        const size_t used = gs_operand_used(&problems[i]);
        for (int j = 0; j < 4; j++) sets->use[i][j] = find_or_add(sets, &problems[i], "abcd"[j]);
        if (i == 0 || used < sets->used_bytes) sets->used_bytes = used;
    }
}

static gs_status allocate(gs_sets *sets, gs_operand *operand, gs_device *device, gs_random *random, gs_error *error)
{
    operand->at = calloc((size_t)sets->count, sizeof *operand->at);
    if (!operand->at) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the addresses of %d operand sets", sets->count);
    return gs_operand_alloc(device, operand->bytes, sets->count, random, &operand->memory, operand->at, error);
}

static gs_status generate(const gs_sets *sets, gs_verifier *verifier, gs_random *random, gs_queue queue, gs_error *error)
{
    for (int set = 0; set < sets->count; set++) {
        const uint64_t seed = gs_random_next(random);
        for (int i = 0; i < sets->operand_count; i++) {
            const gs_operand *const operand = &sets->operands[i];
            if (operand->name == 'd') continue;
            const int kind = operand->name == 'c' ? gs_operand_c_kind(&operand->problem, GS_DATA_NORMAL) : GS_DATA_NORMAL;
            GS_TRY(gs_generate(verifier, &operand->problem, operand->name, (gs_data)kind, seed, operand->at[set], queue, error));
        }
    }
    return GS_OK;
}

gs_status gs_sets_create(gs_sets *sets, gs_device *device, gs_verifier *verifier, const gs_problem *problems, int count, int most, bool warm,
                         size_t spare, gs_random *random, gs_queue queue, gs_error *error)
{
    *sets = (gs_sets){0};
    sets->operands = calloc((size_t)count * 4, sizeof *sets->operands);
    sets->use = calloc((size_t)count, sizeof *sets->use);
    if (!sets->operands || !sets->use)
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to list the operands of %d contenders", count);
    collect(sets, problems, count);
    size_t set_bytes = 0, free_bytes, total_bytes;
    for (int i = 0; i < sets->operand_count; i++) set_bytes += gs_operand_room(sets->operands[i].bytes);
    GS_TRY(device->ops->memory_info(device, &free_bytes, &total_bytes, error));
    free_bytes -= GS_MIN(spare, free_bytes);
    sets->count = GS_MIN(gs_operand_sets(sets->used_bytes, set_bytes, (size_t)device->caps.l2_bytes, free_bytes, warm), most);
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
    gs_pointer at[4];
    for (int j = 0; j < 4; j++) at[j] = sets->operands[sets->use[contender][j]].at[set];
    return gs_operand_args(at);
}

gs_status gs_sets_poison(const gs_sets *sets, gs_device *device, int contender, gs_queue queue, gs_error *error)
{
    const gs_operand *const d = &sets->operands[sets->use[contender][3]];
    gs_pointer first = d->at[0], last = first;
    for (int i = 1; i < sets->count; i++) {
        first = GS_MIN(first, d->at[i]);
        last = GS_MAX(last, d->at[i]);
    }
    return device->ops->fill(device, first, GS_POISON_FIRST, (last - first + d->bytes + 3) / 4 * 4, queue, error);
}
