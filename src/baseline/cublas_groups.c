/* SPDX-License-Identifier: MIT
 * cublasGemmGroupedBatchedEx as a contender: one call for all groups that have rows. It computes in place, with f32 sums and one type for all matrices. An epilogue is
 * computed by one kernel afterwards. */
#include "baseline/internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cublas/cublas.h"
#include "problem/layout.h"

/* The arguments of the call for one set of arguments: an element for each group that has rows. */
typedef struct arrays {
    int         count;
    int        *rows;      /* rows per group; the other extents are the same in every group */
    gs_pointer  a, b, d;   /* arrays of pointers, in device memory */
} arrays;

typedef struct cublas_groups {
    gs_blas        blas;
    gs_problem     problem;     /* the product, without the epilogue */
    gs_behind      behind;
    gs_expected    expected;
    arrays        *of;          /* one per set */
    int           *rows;        /* for all sets; stays allocated because a captured graph may read it */
    int           *same[7];     /* op_a, op_b, n, k, lda, ldb, ldd: problem.groups equal elements each */
    int           *ones;
    float         *scalars[2];  /* alpha, beta */
    gs_pointer     pointers;    /* in device memory, for all sets */
} cublas_groups;

enum { OP_B, OP_A, N, K, LDB, LDA, LDD, SAME };

static gs_status check(const gs_problem *p, gs_error *error)
{
    GS_TRY(gs_baseline_check_groups(p, error));
    if (p->scalars) return gs_fail(error, GS_ERROR_UNSUPPORTED, "scalars", "alpha and beta in device memory are not given to cublasGemmGroupedBatchedEx");
    if (p->acc != GS_F32 || p->out != p->in) return gs_fail(error, GS_ERROR_UNSUPPORTED, "d", "cublasGemmGroupedBatchedEx has f32 sums and a D of the input type");
    if (p->m == 0 || p->n == 0 || p->k == 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, p->m == 0 ? "m" : p->n == 0 ? "n" : "k", "cublasGemmGroupedBatchedEx is not asked for an extent of 0");
    if (GS_MAX(GS_MAX(p->lda, p->ldb), GS_MAX(GS_MAX(p->ldd, p->m), GS_MAX(p->n, p->k))) > INT_MAX)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "cublasGemmGroupedBatchedEx takes extents below 2^31");
    return GS_OK;
}

static void forget(cublas_groups *self)
{
    gs_expected_free(&self->expected);
    free(self->of);
    free(self->rows);
    for (int i = 0; i < SAME; i++) free(self->same[i]), self->same[i] = NULL;
    free(self->ones);
    free(self->scalars[0]);
    free(self->scalars[1]);
    if (self->pointers) self->blas.device->ops->free(self->blas.device, self->pointers);
    self->of = NULL;
    self->rows = self->ones = NULL;
    self->scalars[0] = self->scalars[1] = NULL;
    self->pointers = 0;
}

static gs_status prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    cublas_groups *const self = contender->self;
    forget(self);
    gs_behind_close(&self->behind, self->blas.device);
    GS_TRY(check(problem, error));
    GS_TRY(gs_blas_open(&self->blas, error));
    GS_TRY(gs_behind_open(&self->behind, self->blas.device, problem, false, error));
    self->problem = self->behind.product;
    gs_blas_describe(&self->blas, contender->detail, sizeof contender->detail);
    return GS_OK;
}

/* ---- the groups' sizes ---- */

static bool allocate(cublas_groups *self, int sets)
{
    const gs_problem *const p = &self->problem;
    const size_t groups = (size_t)p->groups;
    const int values[SAME] = {gs_is_b_transposed(p->layout) ? GS_CUBLAS_OP_T : GS_CUBLAS_OP_N, GS_CUBLAS_OP_N, (int)p->n, (int)p->k, (int)p->ldb, (int)p->lda, (int)p->ldd};
    self->of = calloc((size_t)sets, sizeof *self->of);
    self->rows = calloc((size_t)sets * groups, sizeof *self->rows);
    self->ones = malloc(groups * sizeof *self->ones);
    for (int i = 0; i < 2; i++) self->scalars[i] = malloc(groups * sizeof *self->scalars[i]);
    bool whole = self->of && self->rows && self->ones && self->scalars[0] && self->scalars[1];
    for (int i = 0; i < SAME; i++) whole = (self->same[i] = malloc(groups * sizeof *self->same[i])) && whole;
    for (size_t group = 0; whole && group < groups; group++) {
        for (int i = 0; i < SAME; i++) self->same[i][group] = values[i];
        self->ones[group] = 1;
        self->scalars[0][group] = p->alpha;
        self->scalars[1][group] = p->beta;
    }
    return whole;
}

/* pointers: for all sets, three times problem.groups in each. */
static void describe_set(cublas_groups *self, const gs_args *args, int set, const void **pointers)
{
    const gs_problem *const p = &self->problem;
    const int32_t *const offsets = gs_expected_offsets(&self->expected, set);
    const size_t first = (size_t)set * 3 * (size_t)p->groups;
    const gs_pointer at = self->pointers + first * sizeof *pointers, each = (gs_pointer)p->groups * sizeof *pointers;
    arrays *const of = &self->of[set];
    *of = (arrays){.rows = self->rows + (size_t)set * (size_t)p->groups, .a = at, .b = at + each, .d = at + 2 * each};
    for (int64_t group = 0; group < p->groups; group++) {
        const int32_t rows = offsets[group + 1] - offsets[group];
        if (rows == 0) continue;
        const gs_args one = gs_group_args(p, args, group, offsets[group]);
        const void **const to = pointers + first + of->count;
        to[0] = one.a;
        to[p->groups] = one.b;
        to[2 * p->groups] = one.d;
        of->rows[of->count++] = rows;
    }
}

static gs_status expect(gs_contender *contender, const gs_args *args, const int32_t *offsets, int sets, gs_error *error)
{
    cublas_groups *const self = contender->self;
    gs_device *const device = self->blas.device;
    const size_t bytes = (size_t)sets * 3 * (size_t)self->problem.groups * sizeof(void *);
    forget(self);
    GS_TRY(gs_expected_set(&self->expected, &self->problem, args, offsets, sets, error));
    const void **const pointers = calloc(1, bytes);
    gs_status status = pointers && allocate(self, sets) ? device->ops->alloc(device, bytes, &self->pointers, error)
                                                        : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %lld groups of %d sets", (long long)self->problem.groups, sets);
    for (int set = 0; set < sets && status == GS_OK; set++) {
        const gs_args product = gs_behind_args(&self->behind, &args[set]);
        describe_set(self, &product, set, pointers);
    }
    if (status == GS_OK) status = device->ops->copy_in(device, self->pointers, pointers, bytes, error);
    free(pointers);
    if (status != GS_OK) forget(self);
    return status;
}

/* ---- running ---- */

static const void *const *in_device(gs_pointer at) { return (const void *const *)(uintptr_t)at; }

static gs_status run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    cublas_groups *const self = contender->self;
    const gs_problem *const p = &self->problem;
    const int type = gs_cuda_type(p->in);
    int set;
    if (p->beta != 0 && (args->c != args->d || p->ldc != p->ldd))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "beta", "cublasGemmGroupedBatchedEx updates C in place: C and D must be the same matrix");
    GS_TRY(gs_expected_find(&self->expected, args, &set, error));
    GS_TRY(gs_blas_set_queue(&self->blas, queue, error));
    const arrays *const of = &self->of[set];
    int **const same = self->same;
    if (of->count == 0) return GS_OK;
    const int status = self->blas.calls->gemm_grouped(self->blas.handle, same[OP_B], same[OP_A], same[N], of->rows, same[K], self->scalars[0], in_device(of->b), type,
                                                      same[LDB], in_device(of->a), type, same[LDA], self->scalars[1], (void *const *)(uintptr_t)of->d, type, same[LDD],
                                                      of->count, self->ones, GS_CUBLAS_COMPUTE_32F);
    if (status != GS_CUBLAS_SUCCESS) return gs_blas_failed(error, "cublasGemmGroupedBatchedEx", status);
    return gs_behind_run(&self->behind, args, gs_expected_offsets(&self->expected, set)[p->groups], queue, error);
}

static void destroy(gs_contender *contender)
{
    cublas_groups *const self = contender->self;
    if (!self) return;
    forget(self);
    gs_behind_close(&self->behind, self->blas.device);
    gs_blas_close(&self->blas);
    free(self);
    contender->self = NULL;
}

gs_status gs_baseline_cublas_groups(gs_contender *out, gs_device *device, gs_error *error)
{
    const gs_cublas *const calls = gs_cublas_open(error);
    if (!calls) return GS_ERROR_NO_LIBRARY;
    if (!calls->gemm_grouped) return gs_fail(error, GS_ERROR_NO_LIBRARY, NULL, "cuBLAS has no cublasGemmGroupedBatchedEx: version 12.5 or newer is needed");
    cublas_groups *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a contender");
    self->blas = (gs_blas){.device = device, .calls = calls};
    out->self = self;
    out->prepare = prepare;
    out->expect = expect;
    out->run = run;
    out->destroy = destroy;
    return GS_OK;
}
