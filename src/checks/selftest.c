/* SPDX-License-Identifier: MIT
 * Does the verifier detect what it must on this device? Tested once, before the first verdict: a verifier whose own kernels do nothing, or not what they should, would let
 * everything pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "checks/calls.h"

enum { AT_A = 0, AT_B = 4096, AT_D = 8192, AT_REFERENCE = 16384, AT_GUARD = 32768, GUARD_BYTES = 4096, AT_ZEROED = 40960, ZEROED_BYTES = 64, BYTES = 65536 };
enum { SLOT_CLEAN, SLOT_GUARD, SLOT_BANDS, SLOT_PADDING, SLOT_ZEROED, SLOT_HASH, SLOT_HASH_CHANGED };

typedef struct bench {
    gs_verifier *verifier;
    gs_problem   problem;
    gs_pointer   memory;
} bench;

static gs_status blame(const char *what, gs_error *error)
{
    return gs_fail(error, GS_ERROR_DEVICE, "verifier", "self-test failed: %s; nothing can be proved on this device", what);
}

/* Flips a bit of one 16-bit unit. */
static gs_status damage(const bench *b, size_t offset, gs_error *error)
{
    const gs_device_ops *const ops = b->verifier->device->ops;
    uint16_t unit;
    GS_TRY(ops->copy_out(b->verifier->device, &unit, b->memory + offset, sizeof unit, error));
    unit ^= 1;
    return ops->copy_in(b->verifier->device, b->memory + offset, &unit, sizeof unit, error);
}

/* The reference agrees with the CPU's, and an output that nobody wrote is seen as such, element by element. */
static gs_status comparison(const bench *b, gs_error *error)
{
    gs_verifier *const v = b->verifier;
    const gs_problem *const p = &b->problem;
    const size_t count = (size_t)(p->m * p->n);
    GS_TRY(gs_generate(v, p, 'a', GS_DATA_NORMAL, 1, b->memory + AT_A, v->queue, error));
    GS_TRY(gs_generate(v, p, 'b', GS_DATA_NORMAL, 1, b->memory + AT_B, v->queue, error));
    GS_TRY(gs_reference(v, p, b->memory + AT_A, b->memory + AT_B, 0, b->memory + AT_REFERENCE, v->queue, error));
    GS_TRY(gs_check_poison(v, b->memory + AT_D, gs_problem_bytes(p, 'd'), GS_POISON_FIRST, v->queue, error));
    gs_check_counts counts;
    const gs_args args = {.d = (void *)(uintptr_t)(b->memory + AT_D)};
    GS_TRY(gs_check_compare(v, p, &args, b->memory + AT_REFERENCE, 1, false, GS_POISON_FIRST, NULL, &counts, v->queue, error));
    if (counts.finite != count || counts.mismatches != count || counts.unwritten != count || counts.first != 0)
        return blame("the comparison does not see an output that was never written", error);

    uint16_t a[1024], matrix_b[1024];
    double device[512], host[512];
    GS_TRY(v->device->ops->copy_out(v->device, a, b->memory + AT_A, gs_problem_bytes(p, 'a'), error));
    GS_TRY(v->device->ops->copy_out(v->device, matrix_b, b->memory + AT_B, gs_problem_bytes(p, 'b'), error));
    GS_TRY(v->device->ops->copy_out(v->device, device, b->memory + AT_REFERENCE, count * sizeof(double), error));
    gs_reference_cpu(p, a, matrix_b, NULL, host);
    for (size_t i = 0; i < count; i++)
        if (!(fabs(device[i] - host[i]) <= 1e-12) || host[i] == 0) return blame("the reference differs from the CPU's", error);
    return GS_OK;
}

/* One changed unit is detected in a guard band, in padding, in a zeroed part and by an operand's hash; unchanged memory counts as unchanged. */
static gs_status memory(const bench *b, gs_error *error)
{
    gs_verifier *const v = b->verifier;
    const gs_problem *const p = &b->problem;
    const gs_banded inner = {b->memory + AT_ZEROED + ZEROED_BYTES / 4, ZEROED_BYTES / 2, 0};   /* the rest of that part is its bands */
    GS_TRY(gs_check_counters_clear(v, v->queue, error));
    GS_TRY(gs_check_guard_fill(v, b->memory + AT_GUARD, GUARD_BYTES, 7, v->queue, error));
    GS_TRY(gs_check_guard(v, b->memory + AT_GUARD, GUARD_BYTES, 7, SLOT_CLEAN, v->queue, error));
    GS_TRY(gs_check_padding(v, p, 'd', b->memory + AT_D, GS_POISON_FIRST, SLOT_CLEAN, v->queue, error));
    GS_TRY(gs_check_poison(v, b->memory + AT_ZEROED, ZEROED_BYTES, 0, v->queue, error));
    GS_TRY(gs_check_pattern(v, b->memory + AT_ZEROED, ZEROED_BYTES, 0, SLOT_CLEAN, v->queue, error));
    GS_TRY(gs_check_bands(v, &inner, 1, ZEROED_BYTES / 4, SLOT_CLEAN, v->queue, error));
    GS_TRY(gs_check_hash(v, p, 'a', b->memory + AT_A, SLOT_HASH, v->queue, error));
    GS_TRY(v->device->ops->queue_wait(v->device, v->queue, error));
    GS_TRY(damage(b, AT_GUARD + GUARD_BYTES - 2, error));
    GS_TRY(damage(b, AT_D + (size_t)p->n * 2, error));
    GS_TRY(damage(b, AT_ZEROED + ZEROED_BYTES - 2, error));
    GS_TRY(damage(b, AT_A, error));
    GS_TRY(gs_check_guard(v, b->memory + AT_GUARD, GUARD_BYTES, 7, SLOT_GUARD, v->queue, error));
    GS_TRY(gs_check_padding(v, p, 'd', b->memory + AT_D, GS_POISON_FIRST, SLOT_PADDING, v->queue, error));
    GS_TRY(gs_check_pattern(v, b->memory + AT_ZEROED, ZEROED_BYTES, 0, SLOT_ZEROED, v->queue, error));
    GS_TRY(gs_check_bands(v, &inner, 1, ZEROED_BYTES / 4, SLOT_BANDS, v->queue, error));
    GS_TRY(gs_check_hash(v, p, 'a', b->memory + AT_A, SLOT_HASH_CHANGED, v->queue, error));
    uint64_t counters[GS_COUNTERS];
    GS_TRY(gs_check_counters_read(v, counters, v->queue, error));
    if (counters[SLOT_CLEAN] != 0) return blame("untouched memory looks changed", error);
    if (counters[SLOT_GUARD] != 1 || counters[SLOT_BANDS] != 1 || counters[SLOT_PADDING] != 1) return blame("a write outside a buffer is not seen", error);
    if (counters[SLOT_ZEROED] != 1) return blame("what was left in a workspace is not seen", error);
    if (counters[SLOT_HASH] == 0 || counters[SLOT_HASH] == counters[SLOT_HASH_CHANGED])
        return blame("a changed input is not seen", error);
    return GS_OK;
}

gs_status gs_check_selftest(gs_verifier *verifier, gs_error *error)
{
    if (verifier->tested) return GS_OK;
    bench b = {.verifier = verifier, .problem = gs_problem_make(GS_F16, GS_TN, 8, 24, 40)};
    b.problem.ldd += 2;
    GS_TRY(verifier->device->ops->alloc(verifier->device, BYTES, &b.memory, error));
    gs_status status = comparison(&b, error);
    if (status == GS_OK) status = memory(&b, error);
    verifier->device->ops->free(verifier->device, b.memory);
    verifier->tested = status == GS_OK;
    return status;
}
