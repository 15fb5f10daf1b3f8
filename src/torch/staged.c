/* SPDX-License-Identifier: MIT */
#include "torch/staged.h"

#include "base/error.h"

enum { A, B, C, D, BIAS, OFFSETS, AUX, OPERANDS };

typedef struct staged {
    char       operand;   /* as gs_problem_bytes names it */
    void      *host;
    gs_pointer there;
    size_t     bytes;
} staged;

static gs_status bring(gs_device *device, const gs_problem *problem, staged *s, gs_error *error)
{
    s->bytes = gs_problem_bytes(problem, s->operand);
    GS_TRY(device->ops->alloc(device, s->bytes, &s->there, error));
    return device->ops->copy_in(device, s->there, s->host, s->bytes, error);
}

static gs_status run(gs_device *device, const gs_plan *plan, const staged *all, const staged *result, float alpha, float beta, gs_error *error)
{
    void *at[OPERANDS];
    for (int i = 0; i < OPERANDS; i++) at[i] = (void *)(uintptr_t)all[i].there;
    gs_args args = gs_args_make(at[A], at[B], at[C], (void *)(uintptr_t)result->there);
    args.bias = at[BIAS];
    args.offsets = at[OFFSETS];
    args.aux = at[AUX];
    args.alpha = &alpha;
    args.beta = &beta;
    const gs_status status = gs_plan_run(plan, &args, NULL);
    if (status != GS_OK) return gs_fail(error, status, NULL, "a run on the emulated device failed");
    GS_TRY(device->ops->queue_wait(device, NULL, error));
    if (gs_plan_problem(plan)->aux) GS_TRY(device->ops->copy_out(device, all[AUX].host, all[AUX].there, all[AUX].bytes, error));
    return device->ops->copy_out(device, result->host, result->there, result->bytes, error);
}

gs_status gs_torch_run_staged(gs_device *device, const gs_plan *plan, const gs_torch_pointers *p, float alpha, float beta, gs_error *error)
{
    const gs_problem *const problem = gs_plan_problem(plan);
    staged all[OPERANDS] = {{'a', p->a}, {'b', p->b}, {'c', p->c}, {'d', p->d}, {'e', p->bias}, {'f', p->offsets}, {'g', p->aux}};
    const bool in_place = p->c == p->d;
    gs_status status = GS_OK;
    for (int i = 0; i < OPERANDS && status == GS_OK; i++)
        if (all[i].host && !(i == D && in_place)) status = bring(device, problem, &all[i], error);
    if (status == GS_OK) status = run(device, plan, all, &all[in_place ? C : D], alpha, beta, error);
    for (int i = 0; i < OPERANDS; i++)
        if (all[i].there) device->ops->free(device, all[i].there);
    return status;
}
