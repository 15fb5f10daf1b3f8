/* SPDX-License-Identifier: MIT */
#include "torch/staged.h"

#include "base/error.h"

gs_status gs_torch_staged(gs_device *device, gs_torch_staged_operand *operands, int count, gs_status (*run)(const void *self, const gs_torch_staged_operand *operands, gs_error *error),
                          const void *self, gs_error *error)
{
    gs_status status = GS_OK;
    for (int i = 0; i < count && status == GS_OK; i++) {
        gs_torch_staged_operand *const o = &operands[i];
        if (!o->host) continue;
        status = device->ops->alloc(device, o->bytes, &o->there, error);
        if (status == GS_OK) status = device->ops->copy_in(device, o->there, o->host, o->bytes, error);
    }
    if (status == GS_OK) status = run(self, operands, error);
    if (status == GS_OK) status = device->ops->queue_wait(device, NULL, error);
    for (int i = 0; i < count; i++) {
        gs_torch_staged_operand *const o = &operands[i];
        if (status == GS_OK && o->host && o->written) status = device->ops->copy_out(device, o->host, o->there, o->bytes, error);
        if (o->there) device->ops->free(device, o->there);
    }
    return status;
}

enum { A, B, C, D, BIAS, OFFSETS, AUX, OPERANDS };

typedef struct plan_run {
    const gs_plan *plan;
    float          alpha, beta;
    bool           in_place;   /* C and D are the same */
} plan_run;

static gs_status run_plan(const void *self, const gs_torch_staged_operand *operands, gs_error *error)
{
    const plan_run *const run = self;
    void *at[OPERANDS];
    for (int i = 0; i < OPERANDS; i++) at[i] = (void *)(uintptr_t)operands[i].there;
    gs_args args = gs_args_make(at[A], at[B], run->in_place ? at[D] : at[C], at[D]);
    args.bias = at[BIAS];
    args.offsets = at[OFFSETS];
    args.aux = at[AUX];
    args.alpha = &run->alpha;
    args.beta = &run->beta;
    const gs_status status = gs_plan_run(run->plan, &args, NULL);
    return status == GS_OK ? GS_OK : gs_fail(error, status, NULL, "a run on the emulated device failed");
}

gs_status gs_torch_run_staged(gs_device *device, const gs_plan *plan, const gs_torch_pointers *p, float alpha, float beta, gs_error *error)
{
    const gs_problem *const problem = gs_plan_problem(plan);
    const plan_run run = {plan, alpha, beta, p->c == p->d};
    void *const host[OPERANDS] = {p->a, p->b, run.in_place ? NULL : p->c, p->d, p->bias, p->offsets, p->aux};
    gs_torch_staged_operand operands[OPERANDS];
    for (int i = 0; i < OPERANDS; i++) operands[i] = (gs_torch_staged_operand){host[i], host[i] ? gs_problem_bytes(problem, "abcdefg"[i]) : 0, i == D || (i == AUX && problem->aux), 0};
    return gs_torch_staged(device, operands, OPERANDS, run_plan, &run, error);
}
