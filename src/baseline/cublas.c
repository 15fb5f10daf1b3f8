/* SPDX-License-Identifier: MIT
 * cublasGemmEx as a contender. It computes in place (C is D), so a problem with beta other than 0 needs args->c == args->d. */
#include "baseline/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cublas/cublas.h"
#include "problem/layout.h"

#define WORKSPACE ((size_t)64 << 20)

typedef struct cublas {
    gs_blas        blas;
    gs_problem     problem;
    gs_cublas_math math;
} cublas;

/* ---- the handle ---- */

gs_status gs_blas_failed(gs_error *error, const char *call, int status)
{
    const gs_status code = status == GS_CUBLAS_NOT_SUPPORTED ? GS_ERROR_UNSUPPORTED
                         : status == GS_CUBLAS_ALLOC_FAILED  ? GS_ERROR_DEVICE_MEMORY
                                                             : GS_ERROR_LIBRARY;
    return gs_fail(error, code, NULL, "%s: %s", call, gs_cublas_status(status));
}

gs_status gs_blas_open(gs_blas *blas, gs_error *error)
{
    size_t free_bytes, total_bytes;
    if (blas->handle) return GS_OK;
    /* Called only because it makes the device current on this thread. */
    GS_TRY(blas->device->ops->memory_info(blas->device, &free_bytes, &total_bytes, error));
    if (!blas->workspace) GS_TRY(blas->device->ops->alloc(blas->device, WORKSPACE, &blas->workspace, error));
    const int status = blas->calls->create(&blas->handle);
    if (status == GS_CUBLAS_SUCCESS) return GS_OK;
    blas->handle = NULL;
    return gs_blas_failed(error, "cublasCreate", status);
}

/* cublasSetStream resets the handle to cuBLAS's small default workspace, so ours is set again each time. */
gs_status gs_blas_set_queue(gs_blas *blas, gs_queue queue, gs_error *error)
{
    if (blas->queue_set && blas->queue == queue) return GS_OK;
    blas->queue_set = false;
    int status = blas->calls->set_stream(blas->handle, queue);
    if (status != GS_CUBLAS_SUCCESS) return gs_blas_failed(error, "cublasSetStream", status);
    status = blas->calls->set_workspace(blas->handle, (void *)(uintptr_t)blas->workspace, WORKSPACE);
    if (status != GS_CUBLAS_SUCCESS) return gs_blas_failed(error, "cublasSetWorkspace", status);
    blas->queue = queue;
    blas->queue_set = true;
    return GS_OK;
}

void gs_blas_close(gs_blas *blas)
{
    if (blas->handle) blas->calls->destroy(blas->handle);
    if (blas->workspace) blas->device->ops->free(blas->device, blas->workspace);
    blas->handle = NULL;
    blas->workspace = 0;
    blas->queue_set = false;
}

void gs_blas_describe(const gs_blas *blas, char *text, size_t size)
{
    int version = 0;
    blas->calls->get_version(blas->handle, &version);
    snprintf(text, size, "cuBLAS %d, workspace %zu", version, WORKSPACE);
}

/* ---- the contender ---- */

static gs_status check(const gs_problem *problem, gs_error *error)
{
    GS_TRY(gs_problem_check(problem, error));
    if (gs_has_offsets(problem)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "g", "cublasGemmEx takes no groups");
    if (problem->out != problem->in && problem->out != GS_F32)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "d", "cublasGemmEx writes the input type or f32");
    if (problem->acc == GS_F16 && !gs_cublas_fits_f16(problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "alpha", "cublasGemmEx takes alpha and beta as f16 with f16 accumulation; they do not fit");
    if (problem->bias || problem->activation || problem->scales) return gs_fail(error, GS_ERROR_UNSUPPORTED, "ep", "cublasGemmEx has no epilogue");
    if (problem->acc == GS_F16 && problem->out != GS_F16)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "d", "cublasGemmEx with f16 accumulation writes f16");
    return GS_OK;
}

static gs_status prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    cublas *const self = contender->self;
    GS_TRY(check(problem, error));
    GS_TRY(gs_blas_open(&self->blas, error));
    self->problem = *problem;   /* its alpha and beta are the defaults for calls without their own */
    self->math = gs_cublas_math_of(problem);
    gs_blas_describe(&self->blas, contender->detail, sizeof contender->detail);
    return GS_OK;
}

static gs_status run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    cublas *const self = contender->self;
    const gs_problem *const p = &self->problem;
    if (p->beta != 0 && (args->c != args->d || p->ldc != p->ldd))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "beta", "cublasGemmEx updates C in place: C and D must be the same matrix");
    GS_TRY(gs_blas_set_queue(&self->blas, queue, error));
    const int op_b = gs_is_b_transposed(p->layout) ? GS_CUBLAS_OP_T : GS_CUBLAS_OP_N, op_a = gs_is_a_transposed(p->layout) ? GS_CUBLAS_OP_T : GS_CUBLAS_OP_N;
    const int in = gs_cuda_type(p->in), out = gs_cuda_type(p->out);
    int status;
    if (p->matrices)
        status = self->blas.calls->gemm_pointers(self->blas.handle, op_b, op_a, p->n, p->m, p->k, &self->math.alpha, args->b, in, p->ldb, args->a, in, p->lda,
                                                 &self->math.beta, args->d, out, p->ldd, p->batch, self->math.compute_type, GS_CUBLAS_GEMM_DEFAULT);
    else if (p->batch == 1)
        status = self->blas.calls->gemm(self->blas.handle, op_b, op_a, p->n, p->m, p->k, &self->math.alpha, args->b, in, p->ldb,
                                        args->a, in, p->lda, &self->math.beta, args->d, out, p->ldd, self->math.compute_type,
                                        GS_CUBLAS_GEMM_DEFAULT);
    else
        status = self->blas.calls->gemm_batched(self->blas.handle, op_b, op_a, p->n, p->m, p->k, &self->math.alpha, args->b, in,
                                                p->ldb, gs_shape_of(p, 'b').stride, args->a, in, p->lda, gs_shape_of(p, 'a').stride,
                                                &self->math.beta, args->d, out, p->ldd, gs_shape_of(p, 'd').stride, p->batch,
                                                self->math.compute_type, GS_CUBLAS_GEMM_DEFAULT);
    return status == GS_CUBLAS_SUCCESS ? GS_OK
                                       : gs_blas_failed(error, p->matrices ? "cublasGemmBatchedEx" : p->batch == 1 ? "cublasGemmEx" : "cublasGemmStridedBatchedEx", status);
}

static void destroy(gs_contender *contender)
{
    cublas *const self = contender->self;
    if (!self) return;
    gs_blas_close(&self->blas);
    free(self);
    contender->self = NULL;
}

gs_status gs_baseline_cublas(gs_contender *out, gs_device *device, gs_error *error)
{
    const gs_cublas *const calls = gs_cublas_open(error);
    if (!calls) return GS_ERROR_NO_LIBRARY;
    cublas *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a contender");
    self->blas = (gs_blas){.device = device, .calls = calls};
    out->self = self;
    out->prepare = prepare;
    out->run = run;
    out->destroy = destroy;
    return GS_OK;
}
