/* SPDX-License-Identifier: MIT
 * Shared by the contenders of groups. NVIDIA's functions need each group's number of rows on the host: they get them before they run, so that the timed part includes
 * no copy of them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "baseline/internal.h"
#include "problem/layout.h"

static bool ascend(const gs_problem *problem, const int32_t *offsets)
{
    bool good = offsets[0] == 0 && offsets[problem->groups] <= problem->m;
    for (int64_t i = 0; i < problem->groups; i++) good &= offsets[i] <= offsets[i + 1];
    return good;
}

gs_status gs_baseline_check_groups(const gs_problem *p, gs_error *error)
{
    GS_TRY(gs_problem_check(p, error));
    if (!p->groups || p->grouping != GS_GROUPS_SORTED) return gs_fail(error, GS_ERROR_UNSUPPORTED, "g", "the problem has no sorted groups of rows");
    if (gs_is_a_transposed(p->layout)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "layout", "groups of columns of A need not be aligned as the call wants them");
    if (p->bias == GS_DBIAS) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "no kernel adds up the columns of each group, of empty ones too, behind the products");
    return GS_OK;
}

gs_status gs_expected_set(gs_expected *expected, const gs_problem *problem, const gs_args *args, const int32_t *offsets, int sets, gs_error *error)
{
    const size_t each = (size_t)problem->groups + 1;
    gs_expected_free(expected);
    for (int set = 0; set < sets; set++)
        if (!ascend(problem, offsets + (size_t)set * each))
            return gs_fail(error, GS_ERROR_CORRUPT, "offsets", "must ascend from 0 to at most M, %lld", (long long)problem->m);
    expected->at = malloc((size_t)sets * sizeof *expected->at);
    expected->offsets = malloc((size_t)sets * each * sizeof *offsets);
    if (!expected->at || !expected->offsets) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the offsets of %d sets", sets);
    expected->sets = sets;
    expected->groups = problem->groups;
    memcpy(expected->offsets, offsets, (size_t)sets * each * sizeof *offsets);
    for (int set = 0; set < sets; set++) expected->at[set] = args[set].offsets;
    return GS_OK;
}

void gs_expected_free(gs_expected *expected)
{
    free(expected->at);
    free(expected->offsets);
    *expected = (gs_expected){0};
}

gs_status gs_expected_find(const gs_expected *expected, const gs_args *args, int *set, gs_error *error)
{
    for (*set = 0; *set < expected->sets; ++*set)
        if (expected->at[*set] == args->offsets) return GS_OK;
    return gs_fail(error, GS_ERROR_UNSUPPORTED, "offsets", "the host was not told how many rows each group has, and NVIDIA's libraries do not read it on the device");
}

gs_problem gs_group_problem(const gs_problem *problem, int64_t rows)
{
    gs_problem one = *problem;
    one.groups = 0;
    one.m = rows;
    if (problem->bias == GS_BIAS_N) one.stride_bias = gs_shape_of(problem, 'e').ld;   /* the distance of the groups' biases, which determines their alignment */
    return one;
}

/* The address of a group's first element in an operand. */
static const void *moved(const void *at, int64_t elements, gs_type type) { return at ? (const char *)at + elements * (int64_t)gs_type_size(type) : NULL; }

gs_args gs_group_args(const gs_problem *p, const gs_args *args, int64_t group, int64_t first_row)
{
    gs_args one = *args;
    one.a = moved(args->a, gs_place_in_a(p, first_row, 0), p->in);
    one.b = moved(args->b, gs_place_in_b(p, group, 0, 0), p->in);
    one.c = moved(args->c, gs_place_in_c(p, first_row, 0), p->out);
    one.d = (char *)args->d + gs_place_in_d(p, first_row, 0) * (int64_t)gs_type_size(p->out);
    one.bias = moved(args->bias, p->bias == GS_BIAS_N ? group * gs_shape_of(p, 'e').ld : first_row, p->out);
    one.scale_m = moved(args->scale_m, first_row, GS_F32);
    one.scale_n = moved(args->scale_n, group * gs_shape_of(p, 'i').ld, GS_F32);
    one.aux = (void *)(uintptr_t)moved(args->aux, first_row * gs_shape_of(p, 'g').ld, p->out);
    one.offsets = NULL;
    return one;
}

/* ---- epilogue after the product ---- */

static gs_status open_behind(gs_behind *behind, gs_device *device, const gs_problem *problem, gs_error *error)
{
    gs_problem whole = *problem;
    gs_problem *const product = &behind->product;
    whole.groups = 0;
    *product = gs_problem_sums(problem);
    product->ldd = product->ldc = (product->n + 7) / 8 * 8;
    GS_TRY(gs_finishing_open(&behind->finishing, device, &whole, error));
    return device->ops->alloc(device, gs_problem_bytes(product, 'd'), &behind->middle, error);
}

gs_status gs_behind_open(gs_behind *behind, gs_device *device, const gs_problem *problem, bool fused, gs_error *error)
{
    *behind = (gs_behind){.product = *problem, .used = !fused && (problem->activation || problem->gate || problem->bias || problem->residual || problem->scales)};
    if (!behind->used) return GS_OK;
    if (problem->scales) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "no kernel multiplies by scales, which are factors of f32 sums, behind the products of all groups");
    if (problem->bias == GS_BIAS_N) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "no kernel adds the bias of each group behind the products of all");
    if (problem->beta != 0 && !problem->residual) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "no kernel adds C before the activation, behind the products of all groups");
    const gs_status status = open_behind(behind, device, problem, error);
    if (status != GS_OK) gs_behind_close(behind, device);
    return status;
}

void gs_behind_close(gs_behind *behind, gs_device *device)
{
    gs_finishing_close(&behind->finishing);
    if (behind->middle) device->ops->free(device, behind->middle);
    *behind = (gs_behind){0};
}

gs_args gs_behind_args(const gs_behind *behind, const gs_args *args)
{
    gs_args own = *args;
    if (!behind->used) return own;
    own.c = own.d = (void *)(uintptr_t)behind->middle;
    own.bias = NULL;
    return own;
}

gs_status gs_behind_run(const gs_behind *behind, const gs_args *args, int64_t rows, gs_queue queue, gs_error *error)
{
    if (!behind->used || rows == 0) return GS_OK;
    gs_finishing finishing = behind->finishing;
    finishing.problem.m = rows;
    return gs_finishing_run(&finishing, (const void *)(uintptr_t)behind->middle, behind->product.ldd, 0, NULL, args, queue, error);
}
