/* SPDX-License-Identifier: MIT
 * Operand sets. Contenders of one layout and leading dimension share an operand's memory; nn and tn contenders have their own
 * copy of B, which holds the same matrix because gs_generate numbers it by logical row and column. */
#include <stdlib.h>

#include "base/error.h"
#include "bench/internal.h"
#include "problem/layout.h"

/* D, and where they are written aux and the sums of D's columns. */
static bool is_output(const gs_operand *operand) { return gs_is_written(&operand->problem, operand->name); }

static bool same_form(const gs_operand *operand, const gs_problem *problem, char name)
{
    const gs_shape s = gs_shape_of(&operand->problem, name), wanted = gs_shape_of(problem, name);
    return operand->name == name && s.ld == wanted.ld && s.stride == wanted.stride && s.matrices == wanted.matrices &&
           (name != 'a' || gs_is_a_transposed(operand->problem.layout) == gs_is_a_transposed(problem->layout)) &&
           (name != 'b' || gs_is_b_transposed(operand->problem.layout) == gs_is_b_transposed(problem->layout));
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
        for (int j = 0; j < GS_OPERANDS; j++) sets->use[i][j] = j < gs_operand_count(&problems[i]) ? find_or_add(sets, &problems[i], GS_OPERAND_LETTERS[j]) : -1;
        if (i == 0 || used < sets->used_bytes) sets->used_bytes = used;
    }
}

static gs_status allocate(gs_sets *sets, gs_operand *operand, gs_device *device, gs_random *random, gs_error *error)
{
    operand->at = calloc((size_t)sets->count, sizeof *operand->at);
    if (!operand->at) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the addresses of %d operand sets", sets->count);
    operand->size = gs_operand_size(device, operand->bytes, sets->count) / 8 * 8;
    return gs_operand_alloc(device, operand->bytes, sets->count, random, &operand->memory, operand->at, error);
}

/* ---- pointers to matrices ---- */

static bool same_use(const gs_sets *sets, int one, int other)
{
    bool same = true;
    for (int j = 0; j < GS_OPERANDS; j++) same &= sets->use[one][j] == sets->use[other][j];
    return same;
}

static void addresses(const gs_sets *sets, int contender, int set, gs_pointer at[GS_OPERANDS])
{
    for (int j = 0; j < GS_OPERANDS; j++) {
        const int operand = sets->use[contender][j];
        at[j] = operand < 0 ? 0 : sets->operands[operand].at[set];
    }
}

/* Whether it is the first contender that has this memory, which several may share. */
static bool has_first(const gs_pointer *of, int contender)
{
    bool shared = false;
    for (int other = 0; other < contender; other++) shared |= of[other] == of[contender];
    return of[contender] && !shared;
}

/* Shared by contenders whose operands are the same. */
static gs_status allocate_pointers(gs_sets *sets, gs_device *device, int count, gs_error *error)
{
    sets->pointers = calloc((size_t)count, sizeof *sets->pointers);
    sets->pointers_size = gs_pool_pointers_size(&sets->problems[0]);
    if (!sets->pointers) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the pointers of %d contenders", count);
    for (int i = 0; i < count; i++) {
        for (int other = 0; other < i && !sets->pointers[i]; other++)
            if (same_use(sets, i, other)) sets->pointers[i] = sets->pointers[other];
        if (!sets->pointers[i]) GS_TRY(device->ops->alloc(device, sets->pointers_size * (size_t)sets->count, &sets->pointers[i], error));
        sets->pointers_count = i + 1;
    }
    return GS_OK;
}

static gs_status put_pointers(const gs_sets *sets, gs_device *device, int contender, gs_error *error)
{
    for (int set = 0; set < sets->count && has_first(sets->pointers, contender); set++) {
        gs_pointer at[GS_OPERANDS];
        addresses(sets, contender, set, at);
        GS_TRY(gs_operand_put_pointers(device, &sets->problems[contender], at, sets->seed + (uint64_t)set, sets->pointers[contender] + sets->pointers_size * (size_t)set, error));
    }
    return GS_OK;
}

/* ---- data ---- */

gs_status gs_sets_generate(const gs_sets *sets, gs_device *device, gs_verifier *verifier, gs_queue queue, gs_error *error)
{
    gs_random random = {sets->seed};
    for (int i = 0; i < sets->operand_count; i++)   /* the gaps too */
        if (!is_output(&sets->operands[i])) GS_TRY(device->ops->fill(device, sets->operands[i].memory, GS_POISON_FIRST, sets->operands[i].size, queue, error));
    GS_TRY(device->ops->queue_wait(device, queue, error));   /* offsets and pointers are copied at once, not on the queue */
    for (int i = 0; i < sets->pointers_count; i++) GS_TRY(put_pointers(sets, device, i, error));
    for (int set = 0; set < sets->count; set++) {
        const uint64_t seed = gs_random_next(&random);
        for (int i = 0; i < sets->operand_count; i++) {
            const gs_operand *const operand = &sets->operands[i];
            if (is_output(operand)) continue;
            if (operand->name == 'f') {   /* the same in every run, whatever the seed: how long a call takes depends on them */
                GS_TRY(gs_offsets_put(device, &operand->problem, sets->routing, (uint64_t)set, operand->at[set], error));
                continue;
            }
            const int kind = operand->name == 'c' ? gs_operand_c_kind(&operand->problem, GS_DATA_NORMAL) : GS_DATA_NORMAL;
            GS_TRY(gs_generate(verifier, &operand->problem, operand->name, (gs_data)kind, seed, operand->at[set], queue, error));
        }
    }
    return GS_OK;
}

/* ---- what is looked at behind a replay ---- */

static const int outputs[] = {3, 6, 4};   /* their indices in GS_OPERAND_LETTERS, in the order of gs_timed_operands.begin */

/* An operand of a contender, by its index, if the contender writes it; else NULL. */
static const gs_operand *output_of(const gs_sets *sets, int contender, int index)
{
    const int operand = sets->use[contender][index];
    return operand >= 0 && is_output(&sets->operands[operand]) ? &sets->operands[operand] : NULL;
}

/* The memory that counts as a set's: from its output to the next one or to the end; the first one in memory also has what lies before it. */
static void fill_bounds(const gs_sets *sets, const gs_operand *output, int index, gs_timed_operands *table)
{
    int first = 0;
    for (int set = 0; set < sets->count; set++) {
        gs_pointer next = output->memory + output->size;
        for (int other = 0; other < sets->count; other++)
            if (output->at[other] > output->at[set]) next = GS_MIN(next, output->at[other]);
        table[set].begin[index] = output->at[set];
        table[set].end[index] = next;
        if (output->at[set] < output->at[first]) first = set;
    }
    table[first].begin[index] = output->memory;
}

/* The addresses of a contender's sets. */
static void fill_table(const gs_sets *sets, int contender, gs_timed_operands *table)
{
    for (int set = 0; set < sets->count; set++) {
        gs_pointer at[GS_OPERANDS];
        addresses(sets, contender, set, at);
        table[set] = (gs_timed_operands){at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8], {0}, {0}};
    }
    for (int i = 0; i < (int)GS_COUNT(outputs); i++) {
        const gs_operand *const output = output_of(sets, contender, outputs[i]);
        if (output) fill_bounds(sets, output, i, table);
    }
}

static gs_status make_tables(gs_sets *sets, gs_device *device, int count, gs_error *error)
{
    const size_t bytes = (size_t)sets->count * sizeof(gs_timed_operands);
    gs_timed_operands *const table = malloc(bytes);
    sets->tables = calloc((size_t)count, sizeof *sets->tables);
    gs_status status = table && sets->tables ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the addresses of %d operand sets", sets->count);
    for (int i = 0; i < count && status == GS_OK; i++) {
        for (int other = 0; other < i && !sets->tables[i]; other++)
            if (same_use(sets, i, other)) sets->tables[i] = sets->tables[other];
        if (sets->tables[i]) continue;
        fill_table(sets, i, table);
        status = device->ops->alloc(device, bytes, &sets->tables[i], error);
        if (status == GS_OK) status = device->ops->copy_in(device, sets->tables[i], table, bytes, error);
    }
    free(table);
    return status;
}

static gs_pointer counter(const gs_sets *sets, int contender) { return sets->counters + (gs_pointer)contender * 2 * sizeof(uint64_t); }

static gs_status begin_hash(gs_device *device, gs_pointer sum, gs_error *error)
{
    static const uint64_t zero;
    return device->ops->copy_in(device, sum, &zero, sizeof zero, error);
}

static gs_status end_hash(gs_device *device, gs_pointer sum, uint64_t *out, gs_queue queue, gs_error *error)
{
    GS_TRY(device->ops->queue_wait(device, queue, error));
    return device->ops->copy_out(device, out, sum, sizeof *out, error);
}

static gs_status hash(const gs_sets *sets, gs_device *device, gs_verifier *verifier, int contenders, uint64_t *out, gs_queue queue, gs_error *error)
{
    const gs_pointer sum = counter(sets, contenders);
    GS_TRY(begin_hash(device, sum, error));
    for (int i = 0; i < sets->operand_count; i++)
        if (!is_output(&sets->operands[i])) GS_TRY(gs_words_hash(verifier, sets->operands[i].memory, sets->operands[i].size, sum, queue, error));
    for (int i = 0; sets->pointers && i < contenders; i++) GS_TRY(gs_words_hash(verifier, sets->pointers[i], sets->pointers_size * (size_t)sets->count, sum, queue, error));
    return end_hash(device, sum, out, queue, error);
}

gs_status gs_sets_intact(const gs_sets *sets, gs_device *device, gs_verifier *verifier, int contenders, bool *intact, gs_queue queue, gs_error *error)
{
    uint64_t now;
    GS_TRY(hash(sets, device, verifier, contenders, &now, queue, error));
    *intact = now == sets->hash;
    return GS_OK;
}

gs_status gs_sets_hash_outputs(const gs_sets *sets, gs_device *device, gs_verifier *verifier, int contenders, int contender, int set, uint64_t *out, gs_queue queue, gs_error *error)
{
    const gs_pointer sum = counter(sets, contenders);
    GS_TRY(begin_hash(device, sum, error));
    for (int i = 0; i < (int)GS_COUNT(outputs); i++) {
        const gs_operand *const output = output_of(sets, contender, outputs[i]);
        if (output) GS_TRY(gs_words_hash(verifier, output->at[set], (output->bytes + 7) / 8 * 8, sum, queue, error));   /* the gap behind it is poisoned too */
    }
    return end_hash(device, sum, out, queue, error);
}

gs_status gs_sets_look(const gs_sets *sets, gs_verifier *verifier, const gs_problem *problem, double tolerance, int contender, int first, int count, uint32_t poison, uint64_t seed,
                       gs_queue queue, gs_error *error)
{
    const gs_pointer table = sets->tables[contender] + (gs_pointer)first * sizeof(gs_timed_operands);
    return gs_timed_check(verifier, problem, tolerance, table, count, poison, seed, counter(sets, contender), queue, error);
}

gs_status gs_sets_found(const gs_sets *sets, gs_device *device, int contender, uint64_t found[2], gs_queue queue, gs_error *error)
{
    GS_TRY(device->ops->queue_wait(device, queue, error));
    return device->ops->copy_out(device, found, counter(sets, contender), 2 * sizeof *found, error);
}

/* ---- all of it ---- */

static gs_status prepare_looks(gs_sets *sets, gs_device *device, gs_verifier *verifier, int count, gs_queue queue, gs_error *error)
{
    static const uint64_t zeros[GS_MAX_CONTENDERS * 2 + 1];
    const size_t bytes = ((size_t)count * 2 + 1) * sizeof *zeros;
    GS_TRY(make_tables(sets, device, count, error));
    GS_TRY(device->ops->alloc(device, bytes, &sets->counters, error));
    GS_TRY(device->ops->copy_in(device, sets->counters, zeros, bytes, error));
    return hash(sets, device, verifier, count, &sets->hash, queue, error);
}

gs_status gs_sets_create(gs_sets *sets, gs_device *device, gs_verifier *verifier, const gs_problem *problems, int count, bool pointers, int calls, int most, bool warm,
                         gs_routing routing, size_t spare, gs_random *random, gs_queue queue, gs_error *error)
{
    int order[GS_MAX_CONTENDERS * GS_OPERANDS];
    *sets = (gs_sets){.seed = gs_random_next(random), .routing = routing, .problems = problems};
    sets->operands = calloc((size_t)count * GS_OPERANDS, sizeof *sets->operands);
    sets->use = calloc((size_t)count, sizeof *sets->use);
    if (!sets->operands || !sets->use)
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to list the operands of %d contenders", count);
    collect(sets, problems, count);
    size_t set_bytes = 0, free_bytes, total_bytes;
    for (int i = 0; i < sets->operand_count; i++) set_bytes += gs_operand_room(sets->operands[i].bytes);
    GS_TRY(device->ops->memory_info(device, &free_bytes, &total_bytes, error));
    free_bytes -= GS_MIN(spare, free_bytes);
    sets->count = GS_MIN(gs_operand_sets(sets->used_bytes, set_bytes, (size_t)device->caps.l2_bytes, free_bytes, calls, warm), most);
    gs_operand_order(random, sets->operand_count, order);
    for (int i = 0; i < sets->operand_count; i++) GS_TRY(allocate(sets, &sets->operands[order[i]], device, random, error));
    GS_TRY(gs_operand_scalars(device, &problems[0], &sets->scalars, error));
    if (pointers) GS_TRY(allocate_pointers(sets, device, count, error));
    GS_TRY(gs_sets_generate(sets, device, verifier, queue, error));
    for (int i = 0; i < count; i++) GS_TRY(gs_sets_poison(sets, device, i, GS_POISON_FIRST, queue, error));
    if (!device->caps.emulated) GS_TRY(prepare_looks(sets, device, verifier, count, queue, error));
    return device->ops->queue_wait(device, queue, error);
}

static void free_tables(gs_sets *sets, gs_device *device, int count)
{
    for (int i = 0; sets->tables && i < count; i++)
        if (has_first(sets->tables, i)) device->ops->free(device, sets->tables[i]);
    for (int i = 0; sets->pointers && i < count; i++)
        if (has_first(sets->pointers, i)) device->ops->free(device, sets->pointers[i]);
    free(sets->tables);
    free(sets->pointers);
    if (sets->counters) device->ops->free(device, sets->counters);
}

void gs_sets_destroy(gs_sets *sets, gs_device *device, int count)
{
    free_tables(sets, device, count);
    for (int i = 0; i < sets->operand_count; i++) {
        if (sets->operands[i].memory) device->ops->free(device, sets->operands[i].memory);
        free(sets->operands[i].at);
    }
    if (sets->scalars) device->ops->free(device, sets->scalars);
    free(sets->operands);
    free(sets->use);
    *sets = (gs_sets){0};
}

gs_args gs_sets_args(const gs_sets *sets, int contender, int set)
{
    gs_pointer at[GS_OPERANDS];
    addresses(sets, contender, set, at);
    gs_args args = gs_operand_args(at);
    gs_operand_set_scalars(&args, true, sets->scalars);
    return args;
}

gs_args gs_sets_launch_args(const gs_sets *sets, int contender, int set)
{
    gs_args args = gs_sets_args(sets, contender, set);
    if (sets->pointers) gs_operand_set_pointers(&args, &sets->problems[contender], sets->pointers[contender] + sets->pointers_size * (size_t)set);
    return args;
}

gs_status gs_sets_tell(const gs_sets *sets, gs_device *device, const gs_problem *problem, gs_contender *contender, int index, gs_error *error)
{
    const size_t each = (size_t)problem->groups + 1;
    if (!contender->expect || !problem->groups || problem->grouping != GS_GROUPS_SORTED) return GS_OK;
    gs_args *const args = malloc((size_t)sets->count * sizeof *args);
    int32_t *const offsets = malloc((size_t)sets->count * each * sizeof *offsets);
    gs_status status = args && offsets ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the offsets of %d sets", sets->count);
    for (int set = 0; set < sets->count && status == GS_OK; set++) {
        args[set] = gs_sets_args(sets, index, set);
        status = device->ops->copy_out(device, offsets + (size_t)set * each, (gs_pointer)(uintptr_t)args[set].offsets, each * sizeof *offsets, error);
    }
    if (status == GS_OK) status = contender->expect(contender, args, offsets, sets->count, error);
    free(args);
    free(offsets);
    return status;
}

gs_status gs_sets_poison(const gs_sets *sets, gs_device *device, int contender, uint32_t poison, gs_queue queue, gs_error *error)
{
    for (int i = 0; i < (int)GS_COUNT(outputs); i++) {
        const gs_operand *const output = output_of(sets, contender, outputs[i]);
        if (output) GS_TRY(device->ops->fill(device, output->memory, poison, output->size, queue, error));
    }
    return GS_OK;
}
