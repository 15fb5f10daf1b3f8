/* SPDX-License-Identifier: MIT
 * Buffers, data, launches and the memory checks (part 6) of a trial. */
#include "verify/check_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "problem/layout.h"
#include "routing/routing.h"

enum {
    SLOT_GUARD, SLOT_HASH = SLOT_GUARD + GS_OPERANDS, SLOT_WORKSPACE = SLOT_HASH + GS_OPERANDS, SLOT_PADDING, SLOT_PADDING_AUX, SLOT_PADDING_SUMS, SLOT_OUTPUT, SLOT_ZEROED, SLOT_BEHIND, SLOT_POINTERS, SLOTS
};
_Static_assert((int)SLOTS <= (int)GS_COUNTERS, "a counter each");

enum { TENSOR_GRAIN = 512 };
_Static_assert(TENSOR_GRAIN <= 2 * GS_OPERAND_GRAIN, "there is room for it, as for an operand that is moved");

static bool is_input(const gs_check_run *trial, int operand) { return !gs_is_written(&trial->problem, GS_OPERAND_LETTERS[operand]); }

static uint64_t workspace_seed(const gs_check_run *trial) { return gs_mix(trial->seed + 0x6a09e667u); }

/* For a failed call of the contender. Its own fault becomes the verdict (returns GS_OK); for the machine's fault the status is returned. */
static gs_status blame_status(gs_check_run *trial, gs_status status, const gs_error *why, const char *what, gs_error *error)
{
    if (status == GS_OK) return GS_OK;
    const gs_verdict_code code = gs_verdict_from_status(status);
    if (code == GS_VERDICT_UNKNOWN) {
        if (error) *error = *why;
        return status;
    }
    char text[460];
    gs_check_run_blame(trial, code, 0, "%s: %s", what, gs_error_format(why, text, sizeof text));
    return GS_OK;
}

static void lay_out(gs_check_run *trial)
{
    trial->problem = gs_problem_pool(&trial->asked);
    if (trial->aligned && trial->asked.matrices) gs_pool_align(&trial->problem, trial->edge ? trial->problem.n & 1 : trial->packed);
}

gs_status gs_check_run_prepare(gs_check_run *trial, const gs_problem *problem, gs_error *error)
{
    trial->asked = *problem;
    trial->without_c = problem->beta == 0;
    lay_out(trial);
    trial->right = false;
    gs_error why = {0};
    const gs_status status = trial->contender->prepare(trial->contender, problem, &why);
    if (trial->scalars) GS_TRY(gs_operand_put_scalars(trial->verifier->device, problem, !trial->aligned, trial->scalars, error));   /* the scalars may have changed */
    return blame_status(trial, status, &why, "prepare", error);
}

/* Bytes of the arrays of pointers, with room to shift them by one pointer. */
static size_t tables_size(const gs_check_run *trial) { return gs_pool_pointers_size(&trial->problem) + sizeof(gs_pointer); }

/* Allocates the operands; the watch is paused, because these are not the contender's. */
static gs_status place(gs_check_run *trial, bool as_timed, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    gs_random random = {gs_mix(trial->seed + 0x1f83d9abu + (uint64_t)(trial->problem.m + trial->problem.n))};
    gs_pointer at[GS_OPERAND_SETS];
    int sets = 1, order[GS_OPERANDS];
    gs_problem widest = trial->problem;
    if (trial->asked.matrices) gs_pool_align(&widest, false);
    gs_status status = as_timed ? gs_operand_sets_of(device, &trial->problem, &sets, error) : GS_OK;
    gs_watch_pause(&trial->watch, true);
    gs_operand_order(&random, gs_operand_count(&trial->problem), order);
    for (int i = 0; status == GS_OK && i < gs_operand_count(&trial->problem); i++) {
        gs_buffer *const buffer = &trial->operand[order[i]];
        buffer->bytes = gs_problem_bytes(&trial->problem, GS_OPERAND_LETTERS[order[i]]);
        const size_t bytes = gs_problem_bytes(&widest, GS_OPERAND_LETTERS[order[i]]);
        status = gs_blocks_take(&trial->blocks, trial->watch.ops, device, gs_operand_size(device, bytes, sets), &random, &buffer->base, error);
        if (status != GS_OK) break;
        gs_operand_place(device, bytes, sets, &random, buffer->base, at);
        buffer->home = at[0];
    }
    if (status == GS_OK && trial->asked.matrices) status = device->ops->alloc(device, tables_size(trial), &trial->tables, error);
    if (status == GS_OK) status = gs_operand_scalars(device, &trial->problem, &trial->scalars, error);
    if (status == GS_OK && trial->scalars && trial->aligned) status = gs_operand_put_scalars(device, &trial->asked, false, trial->scalars, error);
    gs_watch_pause(&trial->watch, false);
    return status;
}

/* Fills an operand's guard bands with what timing has there (gs_sets_generate, gs_bench_run_poison): a contender that reads them cannot tell verification from timing. */
static gs_status surround(gs_check_run *trial, int operand, uint32_t pattern, gs_error *error)
{
    gs_verifier *const verifier = trial->verifier;
    const gs_buffer *const buffer = &trial->operand[operand];
    const size_t guard = gs_guard(verifier->device);
    if (!is_input(trial, operand)) trial->around = pattern;
    GS_TRY(gs_check_poison(verifier, buffer->at - guard, guard, pattern, verifier->queue, error));
    return gs_check_poison(verifier, buffer->at + buffer->bytes, guard, pattern, verifier->queue, error);
}

/* How far an operand lies behind its usual address. alike: by the alignment that the contender demands and no better; else, by the bits, by 0 or a power of two times that
 * alignment. */
static gs_pointer offset_of(const gs_check_run *trial, int operand, bool alike, uint64_t bits)
{
    const int asked = trial->contender->align[operand], element = (int)gs_type_size(gs_shape_of(&trial->problem, GS_OPERAND_LETTERS[operand]).type);
    const int step = GS_MIN(GS_MAX(asked, element), GS_OPERAND_GRAIN);
    int doubled = 0;
    if (!asked || (!alike && bits & 1)) return 0;
    if (alike) return (gs_pointer)step;
    while (step << (doubled + 1) < GS_OPERAND_GRAIN) doubled++;
    return (gs_pointer)(step << gs_pick_below(bits, doubled + 1));
}

/* The usual address of an operand. With trial->aligned a multiple of 512 bytes, as tensors of programs lie. */
static gs_pointer at_home(const gs_check_run *trial, int operand)
{
    const gs_pointer home = trial->operand[operand].home;
    return trial->aligned && !trial->edge ? (home + TENSOR_GRAIN - 1) / TENSOR_GRAIN * TENSOR_GRAIN : home;
}

gs_status gs_check_run_move(gs_check_run *trial, bool least, gs_error *error)
{
    const uint64_t bits = gs_mix(trial->seed + 0x2de92c6fu);
    const bool alike = (bits + (uint64_t)(trial->moves += least)) & 1;
    static const int sure[] = {0, 1, 3};
    const int lone = sure[gs_mix(bits + (uint64_t)trial->moves) % GS_COUNT(sure)];   /* this one of A, B and D is always aligned no better than demanded */
    for (int i = 0; i < gs_operand_count(&trial->problem); i++) {
        gs_buffer *const buffer = &trial->operand[i];
        buffer->at = least ? buffer->home + offset_of(trial, i, alike || i == lone, gs_mix(bits + 64 * (uint64_t)trial->moves + (uint64_t)i)) : at_home(trial, i);
        GS_TRY(surround(trial, i, GS_POISON_FIRST, error));
    }
    if (trial->tables) trial->pointers = trial->tables + (least ? sizeof(gs_pointer) : 0);
    return GS_OK;
}

gs_status gs_check_run_alloc(gs_check_run *trial, bool as_timed, bool least, gs_error *error)
{
    gs_random random = {gs_mix(trial->seed + 0x5be0cd19u)};
    GS_TRY(place(trial, as_timed, error));
    GS_TRY(gs_check_run_move(trial, least, error));
    if (trial->bare) return GS_OK;
    const size_t elements = (size_t)(trial->problem.m * trial->problem.batch) * (size_t)gs_columns_of_b(&trial->problem);
    return gs_blocks_take(&trial->blocks, trial->watch.ops, trial->verifier->device, elements ? elements * sizeof(double) : sizeof(double), &random, &trial->reference, error);
}

void gs_check_run_free(gs_check_run *trial)
{
    gs_device *const device = trial->verifier->device;
    for (int i = 0; i < GS_OPERANDS; i++) gs_blocks_give(&trial->blocks, trial->watch.ops, device, trial->operand[i].base);
    gs_blocks_give(&trial->blocks, trial->watch.ops, device, trial->reference);
    if (trial->tables) trial->watch.ops->free(device, trial->tables);
    if (trial->scalars) trial->watch.ops->free(device, trial->scalars);
    memset(trial->operand, 0, sizeof trial->operand);
    trial->tables = trial->pointers = trial->scalars = trial->reference = 0;
    free(trial->offsets);
    trial->offsets = NULL;
}

/* In a batch by pointers matrices may be the same one. They are with part 3's data, and those like it of edge problems, which nothing is put into later: two of each, or all of A and of B.
 * The memory of all but the first holds copies for the reference, and no pointer leads there. */
typedef struct sharing {
    int64_t first, second;   /* matrices; second: -1, all are the first one */
} sharing;

static bool shares_matrix(const gs_check_run *trial, int operand, sharing *out)
{
    enum { MOST = 256 };     /* matrices that are copied */
    const gs_problem *const p = &trial->problem;
    const uint64_t bits = gs_mix(trial->seed + 0xab1c5ed5u + (uint64_t)(trial->kind + operand));
    const bool index = trial->kind == GS_VALUES_INDEX, range = trial->kind == GS_VALUES_RANGE;
    if (!trial->pointers || operand > 2 || p->batch < 2 || (!index && !range) || (operand == 2 && p->beta == 0)) return false;
    out->first = gs_pick_below(bits, p->batch);
    out->second = (out->first + 1 + gs_pick_below(gs_mix(bits), p->batch - 1)) % p->batch;
    const bool all = range && operand < 2 && p->batch <= MOST;
    if (all) out->second = -1;
    return all || !trial->aligned;
}

static bool is_shared(const sharing *s, int64_t matrix) { return matrix != s->first && (s->second < 0 || matrix == s->second); }

static gs_status share_matrix(gs_check_run *trial, int operand, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    const gs_shape s = gs_shape_of(&trial->problem, GS_OPERAND_LETTERS[operand]);
    const size_t size = gs_type_size(s.type), bytes = s.rows > 0 && s.row > 0 ? (size_t)((s.rows - 1) * s.ld + s.row) * size : 0;
    const gs_pointer at = trial->operand[operand].at, step = (gs_pointer)s.stride * size;
    sharing shared;
    if (!shares_matrix(trial, operand, &shared) || bytes == 0) return GS_OK;
    void *const matrix = malloc(bytes);
    if (!matrix) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a matrix");
    gs_status status = device->ops->queue_wait(device, trial->verifier->queue, error);
    if (status == GS_OK) status = device->ops->copy_out(device, matrix, at + (gs_pointer)shared.first * step, bytes, error);
    for (int64_t i = 0; status == GS_OK && i < trial->problem.batch; i++)
        if (is_shared(&shared, i)) status = device->ops->copy_in(device, at + (gs_pointer)i * step, matrix, bytes, error);
    free(matrix);
    return status;
}

/* Replaces pointers to copies by those to the first one. */
static gs_status share_pointer(gs_check_run *trial, int operand, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    const gs_shape s = gs_shape_of(&trial->problem, GS_OPERAND_LETTERS[operand]);
    const gs_pointer at = trial->operand[operand].at, step = (gs_pointer)s.stride * gs_type_size(s.type), table = trial->pointers + (gs_pointer)(operand * trial->problem.batch) * sizeof(uint64_t);
    sharing shared;
    if (!shares_matrix(trial, operand, &shared)) return GS_OK;
    const size_t bytes = (size_t)trial->problem.batch * sizeof(uint64_t);
    uint64_t *const pointers = malloc(bytes);
    if (!pointers) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for pointers to matrices");
    gs_status status = device->ops->copy_out(device, pointers, table, bytes, error);
    for (int64_t i = 0; status == GS_OK && i < trial->problem.batch; i++)
        if (shared.second < 0 || pointers[i] == at + (gs_pointer)shared.second * step) pointers[i] = at + (gs_pointer)shared.first * step;
    if (status == GS_OK) status = device->ops->copy_in(device, table, pointers, bytes, error);
    free(pointers);
    return status;
}

/* Moves operands to where the next data must lie (in_order). Outputs that move are poisoned: at the new place there is no old output. */
static gs_status settle(gs_check_run *trial, gs_error *error)
{
    const bool aligned = trial->edge ? trial->pointers && trial->problem.m & 1 : trial->in_order;
    if (aligned == trial->aligned) return GS_OK;
    trial->aligned = aligned;
    lay_out(trial);
    if (trial->scalars) GS_TRY(gs_operand_put_scalars(trial->verifier->device, &trial->asked, !aligned, trial->scalars, error));
    for (int i = 0; i < gs_operand_count(&trial->problem); i++) {
        gs_buffer *const buffer = &trial->operand[i];
        buffer->bytes = gs_problem_bytes(&trial->problem, GS_OPERAND_LETTERS[i]);
        if (!trial->edge) buffer->at = at_home(trial, i);
        GS_TRY(surround(trial, i, GS_POISON_FIRST, error));
        if (!is_input(trial, i)) GS_TRY(gs_check_poison(trial->verifier, buffer->at, buffer->bytes, trial->poison, trial->verifier->queue, error));
    }
    return GS_OK;
}

/* Writes the arrays of pointers, in another order for each kind of data, so that pointers kept from an earlier launch are wrong. */
static gs_status put_pointers(gs_check_run *trial, int kind, gs_error *error)
{
    gs_verifier *const verifier = trial->verifier;
    const gs_pointer at[] = {trial->operand[0].at, trial->operand[1].at, trial->operand[2].at, trial->operand[3].at};
    if (!trial->pointers) return GS_OK;
    GS_TRY(gs_check_poison(verifier, trial->tables, tables_size(trial), GS_POISON_FIRST, verifier->queue, error));   /* also fills the spare word */
    GS_TRY(verifier->device->ops->queue_wait(verifier->device, verifier->queue, error));
    GS_TRY(gs_operand_put_pointers(verifier->device, &trial->problem, at, trial->aligned ? GS_POOL_IN_ORDER : gs_mix(trial->seed + 0x428a2f98u + (uint64_t)kind), trial->pointers, error));
    for (int i = 0; i < 3; i++) GS_TRY(share_pointer(trial, i, error));
    return gs_check_words(verifier, trial->tables, tables_size(trial), SLOT_POINTERS, verifier->queue, error);
}

/* How rows of a pool apply to an operand (gs_datagen.scattered): 1, its rows belong to rows of D; 2, its columns do; 0, neither. */
static int scattered(const gs_problem *p, char operand)
{
    return operand == 'a' || operand == 'c' || operand == 'g' ? 1 : operand == 'h' || (operand == 'e' && p->bias == GS_BIAS_M) ? 2 : 0;
}

/* Generates the inputs and starts counting their hashes. from: rows of a pool; NULL: no pool, every row has its own data. */
static gs_status fill(gs_check_run *trial, int kind, int c_kind, const gs_pool_rows *from, gs_error *error)
{
    gs_verifier *const verifier = trial->verifier;
    const gs_queue queue = verifier->queue;
    trial->kind = kind;
    trial->null_c = !trial->null_c;
    trial->poked.any = false;
    if (c_kind < 0) c_kind = gs_operand_c_kind(&trial->problem, kind);
    GS_TRY(settle(trial, error));
    GS_TRY(gs_check_run_route(trial, kind, error));
    GS_TRY(gs_check_counters_clear(verifier, verifier->queue, error));
    GS_TRY(put_pointers(trial, kind, error));
    gs_problem usual = trial->problem;   /* with the alpha that the data are planned for, before gs_check_run_far changed it */
    usual.alpha = ldexpf(usual.alpha, trial->far - trial->lift);
    for (int i = 0; i < gs_operand_count(&trial->problem); i++) {
        if (!is_input(trial, i)) continue;
        gs_datagen g = gs_datagen_make(&usual, GS_OPERAND_LETTERS[i], i == 2 ? c_kind : kind, gs_mix(trial->seed + (uint64_t)kind));
        if (i < 2 && (kind == GS_VALUES_CANCEL || (kind == GS_VALUES_INTEGER && trial->problem.acc == GS_F16))) gs_datagen_move(&g, trial->far);
        g.uneven = trial->uneven;
        if (from) g.scattered = scattered(&trial->problem, GS_OPERAND_LETTERS[i]), g.pool = from->pool, g.step = from->step, g.from = from->from;
        if (i != 5) GS_TRY(gs_check_generate(verifier, &g, trial->operand[i].at, queue, error));
        GS_TRY(share_matrix(trial, i, error));
        GS_TRY(gs_check_hash(verifier, &trial->problem, GS_OPERAND_LETTERS[i], trial->operand[i].at, SLOT_HASH + i, queue, error));
    }
    return GS_OK;
}

/* Keeps the hashes that were counted. Waits. */
static gs_status keep_hashes(gs_check_run *trial, gs_error *error)
{
    uint64_t counters[GS_COUNTERS];
    GS_TRY(gs_check_counters_read(trial->verifier, counters, trial->verifier->queue, error));
    memcpy(trial->hash, &counters[SLOT_HASH], sizeof trial->hash);
    trial->pointers_hash = counters[SLOT_POINTERS];
    return GS_OK;
}

gs_status gs_check_run_data(gs_check_run *trial, int kind, int c_kind, gs_error *error)
{
    GS_TRY(fill(trial, kind, c_kind, NULL, error));
    const gs_args args = gs_check_run_args(trial);
    GS_TRY(gs_reference_of(trial->verifier, &trial->problem, &args, trial->reference, trial->verifier->queue, error));
    return keep_hashes(trial, error);
}

gs_status gs_check_run_far(gs_check_run *trial, int far, gs_error *error)
{
    gs_problem moved = trial->asked;
    moved.alpha = ldexpf(moved.alpha, trial->far - far);
    trial->far = far;
    return gs_check_run_prepare(trial, &moved, error);
}

gs_status gs_check_run_refill(gs_check_run *trial, gs_error *error)
{
    GS_TRY(fill(trial, trial->kind, -1, NULL, error));
    return keep_hashes(trial, error);
}

gs_status gs_check_run_rows(gs_check_run *trial, int kind, const gs_pool_rows *rows, gs_error *error)
{
    GS_TRY(fill(trial, kind, -1, rows, error));
    return keep_hashes(trial, error);
}

/* The rows of an output behind a group that belong to no group. */
static gs_pointer behind_group(const gs_check_run *trial, int output, int64_t group, size_t *bytes)
{
    const gs_problem *const p = &trial->problem;
    const gs_group_rows of = gs_rows_of_group(p, trial->offsets, group);
    const size_t row = (size_t)gs_shape_of(p, GS_OPERAND_LETTERS[output]).ld * gs_type_size(p->out), all = trial->operand[output].bytes;
    const size_t before = GS_MIN((size_t)(of.first + of.rows) * row, all);
    *bytes = of.unused ? GS_MIN((size_t)of.unused * row, all - before) : 0;
    return trial->operand[output].at + before;
}

/* Poisons (fill) or checks the rows of outputs that belong to no group. */
static gs_status behind_groups(gs_check_run *trial, bool fill, gs_error *error)
{
    for (int64_t i = 0; trial->offsets && i < trial->problem.groups * GS_OPERANDS; i++) {
        const int output = (int)(i % GS_OPERANDS);
        size_t bytes;
        if (is_input(trial, output) || GS_OPERAND_LETTERS[output] == 'e') continue;   /* each group has its own part of the gradient of a bias */
        const gs_pointer behind = behind_group(trial, output, i / GS_OPERANDS, &bytes);
        if (bytes && fill) GS_TRY(gs_check_poison(trial->verifier, behind, bytes, trial->poison, trial->verifier->queue, error));
        else if (bytes) GS_TRY(gs_check_pattern(trial->verifier, behind, bytes, trial->poison, SLOT_BEHIND, trial->verifier->queue, error));
    }
    return GS_OK;
}

/* After a launch: checks guard bands, padding, inputs and memory that must be zero. */
static gs_status check_memory(gs_check_run *trial, gs_error *error)
{
    static const char *const names[GS_OPERANDS] = {"A", "B", "C", "D", "bias", "offsets", "aux", "scale_m", "scale_n"};
    gs_verifier *const verifier = trial->verifier;
    const gs_queue queue = verifier->queue;
    const size_t guard = gs_guard(verifier->device);
    const int count = gs_operand_count(&trial->problem);
    gs_banded banded[GS_OPERANDS];
    GS_TRY(gs_check_counters_clear(verifier, verifier->queue, error));
    for (int i = 0; i < count; i++) {
        const gs_buffer *const buffer = &trial->operand[i];
        banded[i] = (gs_banded){buffer->at, buffer->bytes, !is_input(trial, i) ? trial->around : GS_POISON_FIRST};
        if (is_input(trial, i)) GS_TRY(gs_check_hash(verifier, &trial->problem, GS_OPERAND_LETTERS[i], buffer->at, SLOT_HASH + i, queue, error));
    }
    GS_TRY(gs_check_bands(verifier, banded, count, guard, SLOT_GUARD, queue, error));
    GS_TRY(gs_watch_check(&trial->watch, workspace_seed(trial), SLOT_WORKSPACE, queue, error));
    GS_TRY(gs_check_padding(verifier, &trial->problem, 'd', trial->operand[3].at, trial->poison, SLOT_PADDING, queue, error));
    if (trial->problem.aux) GS_TRY(gs_check_padding(verifier, &trial->problem, 'g', trial->operand[6].at, trial->poison, SLOT_PADDING_AUX, queue, error));
    if (trial->problem.bias == GS_DBIAS) GS_TRY(gs_check_padding(verifier, &trial->problem, 'e', trial->operand[4].at, trial->poison, SLOT_PADDING_SUMS, queue, error));
    GS_TRY(behind_groups(trial, false, error));
    if (trial->pointers) GS_TRY(gs_check_words(verifier, trial->tables, tables_size(trial), SLOT_POINTERS, queue, error));
    GS_TRY(gs_check_pattern(verifier, trial->contender->zeroed, trial->contender->zeroed_bytes, 0, SLOT_ZEROED, queue, error));
    uint64_t counters[GS_COUNTERS];
    GS_TRY(gs_check_counters_read(verifier, counters, queue, error));

    for (int i = 0; i < count; i++) {
        if (!counters[SLOT_GUARD + i]) continue;
        gs_check_run_blame(trial, GS_VERDICT_GUARD, 6, "wrote before or behind %s: %llu half-words of its guard bands changed", names[i], (unsigned long long)counters[SLOT_GUARD + i]);
        return GS_OK;
    }
    static const struct { int slot; const char *where; } strays[] = {
        {SLOT_WORKSPACE, "behind its workspace"}, {SLOT_PADDING, "into the padding between D's rows"}, {SLOT_PADDING_AUX, "into the padding between aux's rows"},
        {SLOT_PADDING_SUMS, "between the gradients of the bias of neighbours"},
    };
    for (size_t i = 0; i < GS_COUNT(strays) && !gs_check_run_failed(trial); i++)
        if (counters[strays[i].slot]) gs_check_run_blame(trial, GS_VERDICT_GUARD, 6, "wrote %s: %llu half-words changed", strays[i].where, (unsigned long long)counters[strays[i].slot]);
    if (counters[SLOT_BEHIND] && !gs_check_run_failed(trial))
        gs_check_run_blame(trial, GS_VERDICT_GUARD, 6, "wrote rows of %s behind %s: %llu half-words changed", trial->problem.aux ? "D or aux" : "D",
                           trial->problem.grouping == GS_GROUPS_MASKED ? "those of a group" : "the last group", (unsigned long long)counters[SLOT_BEHIND]);
    for (int i = 0; i < count && !gs_check_run_failed(trial); i++)
        if (is_input(trial, i) && counters[SLOT_HASH + i] != trial->hash[i]) gs_check_run_blame(trial, GS_VERDICT_INPUT, 6, "changed its input %s", names[i]);
    if (trial->pointers && counters[SLOT_POINTERS] != trial->pointers_hash && !gs_check_run_failed(trial))
        gs_check_run_blame(trial, GS_VERDICT_INPUT, 6, "changed the pointers to its matrices");
    bool kept;
    GS_TRY(gs_operand_scalars_kept(verifier->device, &trial->asked, !trial->aligned, trial->scalars, &kept, error));
    if (!kept && !gs_check_run_failed(trial)) gs_check_run_blame(trial, GS_VERDICT_INPUT, 6, "changed alpha or beta in device memory, or what lies beside them");
    if (counters[SLOT_ZEROED] && !gs_check_run_failed(trial))
        gs_check_run_blame(trial, GS_VERDICT_ZEROED, 6, "%llu half-words of the first %zu bytes of its workspace, which its manifest calls zeroed, are not zero after a launch",
                           (unsigned long long)counters[SLOT_ZEROED], trial->contender->zeroed_bytes);
    return GS_OK;
}

gs_args gs_check_run_args(const gs_check_run *trial)
{
    gs_pointer at[GS_OPERANDS];
    for (int i = 0; i < GS_OPERANDS; i++) at[i] = trial->operand[i].at;
    gs_args args = gs_operand_args(at);
    gs_operand_set_scalars(&args, !trial->aligned, trial->scalars);
    return args;
}

gs_args gs_check_run_launch_args(const gs_check_run *trial)
{
    gs_args args = gs_check_run_args(trial);
    gs_operand_set_pointers(&args, &trial->problem, trial->pointers);
    return args;
}

/* Hides the reference while the contender runs, or restores it: not even a kernel that reads out of bounds may find the right result. */
static gs_status veil(gs_check_run *trial, uint64_t key, gs_error *error)
{
    if (trial->bare) return GS_OK;
    const size_t elements = (size_t)(trial->problem.m * trial->problem.batch) * (size_t)gs_columns_of_b(&trial->problem);
    return gs_veil(trial->verifier, trial->reference, elements, key, trial->verifier->queue, error);
}

/* The gradient of a bias must not be written where M is 0. With groups it may: empty groups have a gradient of 0. */
static bool writes_no_sums(const gs_problem *p) { return p->bias == GS_DBIAS && p->m == 0 && !p->groups; }

/* A copy of the gradient's memory where it must not be written, to be freed; else NULL. */
static gs_status copy_unwritten_sums(const gs_check_run *trial, void **out, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    *out = NULL;
    if (!writes_no_sums(&trial->problem) || trial->problem.n == 0) return GS_OK;
    *out = malloc(trial->operand[4].bytes);
    if (!*out) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %zu bytes of a bias", trial->operand[4].bytes);
    GS_TRY(device->ops->queue_wait(device, trial->verifier->queue, error));
    return device->ops->copy_out(device, *out, trial->operand[4].at, trial->operand[4].bytes, error);
}

static gs_status run(gs_check_run *trial, gs_error *error);

/* Launches, waits, checks the memory. */
static gs_status launch(gs_check_run *trial, gs_error *error)
{
    void *before, *after = NULL;
    gs_status status = copy_unwritten_sums(trial, &before, error);
    if (status == GS_OK) status = run(trial, error);
    if (status == GS_OK && before) status = copy_unwritten_sums(trial, &after, error);
    if (status == GS_OK && after && !gs_check_run_failed(trial) && memcmp(before, after, trial->operand[4].bytes) != 0)
        gs_check_run_blame(trial, GS_VERDICT_GUARD, 6, "wrote the gradient of the bias where M is 0");
    free(before);
    free(after);
    return status;
}

static gs_status run(gs_check_run *trial, gs_error *error)
{
    gs_verifier *const verifier = trial->verifier;
    const uint64_t key = gs_random_entropy();
    GS_TRY(veil(trial, key, error));
    gs_args args = gs_check_run_launch_args(trial);
    if (trial->in_place) args.c = args.d;
    else if (trial->without_c && trial->null_c) {   /* as in a program that has no C and no beta; timing has both */
        args.c = NULL;
        if (trial->once && trial->asked.scalars == GS_SCALARS_DEVICE && trial->kind != GS_VALUES_INDEX && trial->kind != GS_VALUES_RANGE) args.beta = NULL;   /* part 3 has zeros of both signs */
    }
    gs_error why = {0};
    gs_status status = trial->contender->run(trial->contender, &args, verifier->queue, &why);
    gs_error later = {0};   /* waits in any case, so that a later wait does not report this launch's fault */
    const gs_status waited = verifier->device->ops->queue_wait(verifier->device, verifier->queue, &later);
    if (status == GS_OK) {
        status = waited;
        why = later;
    }
    if (waited == GS_OK) GS_TRY(veil(trial, key, error));
    GS_TRY(blame_status(trial, status, &why, "run", error));
    if (!gs_check_run_failed(trial) && trial->parts & GS_PART_MEMORY) GS_TRY(check_memory(trial, error));
    if (!trial->offsets || waited != GS_OK) return GS_OK;   /* if the contender changed the offsets: results are judged by the original ones */
    return verifier->device->ops->copy_in(verifier->device, trial->operand[5].at, trial->offsets, gs_problem_bytes(&trial->problem, 'f'), error);
}

/* On the host: copies the rows of C that belong to a group (without groups all) into a copy of D, whatever padding either has. */
static void lay_rows(const gs_check_run *trial, const char *c, char *d)
{
    const gs_problem *const p = &trial->problem;
    const gs_shape from = gs_shape_of(p, 'c'), to = gs_shape_of(p, 'd');
    const size_t size = gs_type_size(to.type);
    for (int64_t group = 0; group < GS_MAX(p->groups, 1); group++) {
        const gs_group_rows of = p->groups ? gs_rows_of_group(p, trial->offsets, group) : (gs_group_rows){.first = 0, .rows = to.rows};
        for (int64_t i = 0; i < of.rows * to.matrices; i++) {
            const int64_t matrix = i / of.rows, row = of.first + i % of.rows;
            memcpy(d + (size_t)(matrix * to.stride + row * to.ld) * size, c + (size_t)(matrix * from.stride + row * from.ld) * size, (size_t)to.row * size);
        }
    }
}

/* Copies C's elements into D, whose padding keeps the poison. */
static gs_status copy_c(gs_check_run *trial, gs_error *error)
{
    gs_device *const device = trial->verifier->device;
    const size_t of_c = trial->operand[2].bytes, of_d = trial->operand[3].bytes;
    char *const elements = malloc(of_c + of_d + 1);
    if (!elements) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for copies of C and D");
    gs_status status = device->ops->queue_wait(device, trial->verifier->queue, error);
    if (status == GS_OK) status = device->ops->copy_out(device, elements, trial->operand[2].at, of_c, error);
    if (status == GS_OK) status = device->ops->copy_out(device, elements + of_c, trial->operand[3].at, of_d, error);
    if (status == GS_OK) lay_rows(trial, elements, elements + of_c);
    if (status == GS_OK) status = device->ops->copy_in(device, trial->operand[3].at, elements + of_c, of_d, error);
    free(elements);
    return status;
}

static gs_status poison_workspace(gs_check_run *trial, gs_error *error)
{
    return gs_watch_fill(&trial->watch, trial->contender, trial->poison, workspace_seed(trial), trial->verifier->queue, error);
}

/* With pointers, strides do not matter. */
bool gs_check_run_may_be_in_place(const gs_check_run *trial)
{
    const gs_problem *const p = &trial->problem;
    const gs_shape c = gs_shape_of(p, 'c'), d = gs_shape_of(p, 'd');
    const bool alike = c.row == d.row && c.ld == d.ld && c.rows == d.rows && c.matrices == d.matrices, same = c.matrices == 1 || c.stride == d.stride;
    const bool packed = d.ld == d.row && (d.matrices == 1 || d.stride == d.ld * d.rows);
    return p->beta != 0 && alike && (trial->once ? same || trial->pointers : same && packed && !p->groups);
}

bool gs_check_run_is_aligned_in_place(const gs_check_run *trial)
{
    const int asked = trial->contender->align[2];   /* a call is refused if C is less aligned */
    return !asked || trial->operand[3].at % (gs_pointer)asked == 0;
}

gs_status gs_check_run_launch(gs_check_run *trial, bool zero, gs_error *error)
{
    gs_verifier *const verifier = trial->verifier;
    trial->poison = zero ? 0 : trial->launches++ & 1 ? GS_POISON_SECOND : GS_POISON_FIRST;
    const bool other = !zero && trial->around != trial->poison;
    for (int i = 3; i < GS_OPERANDS; i++) {
        if (is_input(trial, i)) continue;
        if (other) GS_TRY(surround(trial, i, trial->poison, error));
        GS_TRY(gs_check_poison(verifier, trial->operand[i].at, trial->operand[i].bytes, trial->poison, verifier->queue, error));
    }
    GS_TRY(poison_workspace(trial, error));
    if (trial->in_place && trial->problem.beta != 0) GS_TRY(copy_c(trial, error));
    return launch(trial, error);
}

gs_status gs_check_run_age(gs_check_run *trial, gs_error *error)
{
    const gs_problem *const p = &trial->problem;
    const gs_shape s = gs_shape_of(p, 'e');
    if (p->bias == GS_DBIAS && (s.matrices == 1 || s.stride == s.row)) {
        const gs_datagen numbers = gs_datagen_make(p, 'e', GS_VALUES_NORMAL, gs_mix(trial->seed + 0x7137449bu));
        GS_TRY(gs_check_generate(trial->verifier, &numbers, trial->operand[4].at, trial->verifier->queue, error));
    }
    return poison_workspace(trial, error);
}

gs_status gs_check_run_launch_stale(gs_check_run *trial, gs_error *error)
{
    GS_TRY(behind_groups(trial, true, error));   /* rows that now belong to no group may have been written before */
    return launch(trial, error);
}

gs_status gs_check_run_launch_other(gs_check_run *trial, gs_contender *other, gs_error *error)
{
    gs_verifier *const verifier = trial->verifier;
    trial->poison = GS_POISON_FIRST;
    for (int i = 3; i < GS_OPERANDS; i++)
        if (!is_input(trial, i)) GS_TRY(gs_check_poison(verifier, trial->operand[i].at, trial->operand[i].bytes, trial->poison, verifier->queue, error));
    const gs_args args = gs_check_run_launch_args(trial);
    GS_TRY(other->run(other, &args, verifier->queue, error));
    return verifier->device->ops->queue_wait(verifier->device, verifier->queue, error);
}

gs_status gs_check_run_compare(gs_check_run *trial, double tolerance, gs_check_counts *counts, gs_error *error)
{
    gs_args args = gs_check_run_args(trial);
    trial->of_aux = trial->of_sums = false;
    GS_TRY(gs_check_compare(trial->verifier, &trial->problem, &args, trial->reference, tolerance, trial->once, trial->poison, &trial->uneven, counts, trial->verifier->queue, error));
    if (trial->problem.bias == GS_DBIAS && trial->problem.m > 0 && !counts->mismatches) {
        GS_TRY(gs_check_compare_sums(trial->verifier, &trial->problem, &args, trial->reference, tolerance, trial->once, trial->poison, counts, trial->verifier->queue, error));
        trial->of_sums = counts->mismatches != 0;
    }
    if (!trial->problem.aux || counts->mismatches) return GS_OK;
    const gs_problem before = gs_problem_of_aux(&trial->problem);
    gs_check_counts of_aux;
    args.d = args.aux;
    GS_TRY(gs_check_compare(trial->verifier, &before, &args, trial->reference, tolerance, trial->once, trial->poison, NULL, &of_aux, trial->verifier->queue, error));
    if (!of_aux.mismatches) return GS_OK;
    *counts = of_aux;
    trial->of_aux = true;
    return GS_OK;
}

gs_status gs_check_run_output_hash(gs_check_run *trial, uint64_t *hash, gs_error *error)
{
    uint64_t counters[GS_COUNTERS];
    GS_TRY(gs_check_counters_clear(trial->verifier, trial->verifier->queue, error));
    const gs_problem *const p = &trial->problem;
    for (int64_t i = 0; i < GS_MAX(p->groups, 1); i++) {
        gs_problem written = *p;
        int64_t first = 0;
        if (p->groups) {
            const gs_group_rows of = gs_rows_of_group(p, trial->offsets, i);
            first = of.first;
            written.groups = written.grouping = 0;
            written.m = of.rows;
        }
        for (int output = 3; output < GS_OPERANDS; output++) {
            const char letter = GS_OPERAND_LETTERS[output];
            if (is_input(trial, output) || (letter == 'e' && writes_no_sums(p))) continue;
            const gs_pointer at = trial->operand[output].at + (gs_pointer)((letter == 'e' ? i : first) * gs_shape_of(p, letter).ld) * gs_type_size(p->out);
            GS_TRY(gs_check_hash(trial->verifier, &written, letter, at, SLOT_OUTPUT, trial->verifier->queue, error));
        }
    }
    GS_TRY(gs_check_counters_read(trial->verifier, counters, trial->verifier->queue, error));
    *hash = counters[SLOT_OUTPUT];
    return GS_OK;
}
