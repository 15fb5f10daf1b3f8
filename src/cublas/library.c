/* SPDX-License-Identifier: MIT
 * cuBLASLt computes column-major matrices: a row-major D is a column-major D^T = B^T A^T, so B goes in as the first operand
 * and A as the second, and nothing is copied or transposed. */
#include "cublas/library.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cublas/cublas.h"
#include "problem/layout.h"

struct gs_library {
    gs_device         *device;
    const gs_cublaslt *lt;
    gs_problem         problem;
    gs_cublas_math     math;
    gs_lt_handle       handle;
    gs_lt_desc         desc;
    gs_lt_layout       b, a, c, d;          /* in the order in which cuBLASLt takes them */
    int                count, first, chosen;  /* first: the best that may be chosen */
    gs_lt_heuristic    list[GS_LIBRARY_MOST];
    bool               rounds[GS_LIBRARY_MOST];   /* its sums to D's type: may not be chosen */
    gs_pointer         workspace;
    size_t             workspace_size;      /* largest that any chosen algorithm has needed so far */
    size_t             workspace_most;      /* of a suggestion */
};

static gs_status failed(gs_error *error, const char *call, int status)
{
    const gs_status code = status == GS_CUBLAS_NOT_SUPPORTED ? GS_ERROR_UNSUPPORTED
                         : status == GS_CUBLAS_ALLOC_FAILED  ? GS_ERROR_DEVICE_MEMORY
                                                             : GS_ERROR_LIBRARY;
    return gs_fail(error, code, NULL, "%s: %s", call, gs_cublas_status(status));
}

#define TRY_LT(name, call)                                                  \
    do {                                                                    \
        const int try_status_ = (call);                                     \
        if (try_status_ != GS_CUBLAS_SUCCESS) return failed(error, name, try_status_); \
    } while (0)

static gs_status check(const gs_problem *problem, gs_error *error)
{
    GS_TRY(gs_problem_check(problem, error));
    if (problem->acc == GS_F16 && !gs_cublas_fits_f16(problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "alpha", "cuBLASLt takes alpha and beta as f16 with f16 accumulation; they do not fit");
    if (problem->m == 0 || problem->n == 0 || problem->k == 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, problem->m == 0 ? "m" : problem->n == 0 ? "n" : "k", "cuBLASLt takes no extent of 0");
    return GS_OK;
}

/* Column-major, so our rows are its columns. */
static gs_status make_layout(gs_library *library, gs_lt_layout *out, char operand, gs_error *error)
{
    const gs_cublaslt *const lt = library->lt;
    const gs_shape s = gs_shape_of(&library->problem, operand);
    TRY_LT("cublasLtMatrixLayoutCreate", lt->layout_create(out, gs_cuda_type(s.type), (uint64_t)s.row, (uint64_t)s.rows, s.ld));
    if (library->problem.batch == 1) return GS_OK;
    const int32_t batch = (int32_t)library->problem.batch;
    const int64_t stride = gs_cublas_stride(&library->problem, operand);
    TRY_LT("cublasLtMatrixLayoutSetAttribute", lt->layout_set(*out, GS_LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    TRY_LT("cublasLtMatrixLayoutSetAttribute", lt->layout_set(*out, GS_LT_LAYOUT_BATCH_STRIDE, &stride, sizeof stride));
    return GS_OK;
}

static gs_status describe_problem(gs_library *library, gs_error *error)
{
    const gs_cublaslt *const lt = library->lt;
    const gs_problem *const p = &library->problem;
    const int32_t op_b = gs_is_b_transposed(p->layout) ? GS_CUBLAS_OP_T : GS_CUBLAS_OP_N, op_a = gs_is_a_transposed(p->layout) ? GS_CUBLAS_OP_T : GS_CUBLAS_OP_N;
    TRY_LT("cublasLtMatmulDescCreate", lt->desc_create(&library->desc, library->math.compute_type, library->math.scale_type));
    TRY_LT("cublasLtMatmulDescSetAttribute", lt->desc_set(library->desc, GS_LT_DESC_TRANSA, &op_b, sizeof op_b));
    TRY_LT("cublasLtMatmulDescSetAttribute", lt->desc_set(library->desc, GS_LT_DESC_TRANSB, &op_a, sizeof op_a));
    gs_lt_layout *const layouts[] = {&library->a, &library->b, &library->c, &library->d};
    for (int i = 0; i < 4; i++) GS_TRY(make_layout(library, layouts[i], "abcd"[i], error));
    return GS_OK;
}

/* C is not read when beta is 0: D stands in for it. */
static gs_lt_layout layout_c(const gs_library *library) { return library->problem.beta == 0 ? library->d : library->c; }

/* What a pointer can be promised to be a multiple of: up to 256 bytes, as far as the rows are. */
static uint32_t row_alignment(int64_t ld, gs_type type)
{
    const uint64_t bytes = (uint64_t)ld * gs_type_size(type);
    const uint64_t power = bytes & (~bytes + 1);
    return (uint32_t)GS_MIN(power, 256u);
}

static gs_status set_preference(const gs_library *library, gs_lt_preference preference, gs_error *error)
{
    const gs_cublaslt *const lt = library->lt;
    const gs_problem *const p = &library->problem;
    const uint64_t workspace = library->workspace_most;
    const int attribute[4] = {GS_LT_PREF_ALIGN_A, GS_LT_PREF_ALIGN_B, GS_LT_PREF_ALIGN_C, GS_LT_PREF_ALIGN_D};
    const uint32_t alignment[4] = {row_alignment(p->ldb, p->in), row_alignment(p->lda, p->in), row_alignment(p->beta == 0 ? p->ldd : p->ldc, p->out),
                                   row_alignment(p->ldd, p->out)};
    TRY_LT("cublasLtMatmulPreferenceSetAttribute", lt->preference_set(preference, GS_LT_PREF_WORKSPACE, &workspace, sizeof workspace));
    for (int i = 0; i < 4; i++)
        TRY_LT("cublasLtMatmulPreferenceSetAttribute", lt->preference_set(preference, attribute[i], &alignment[i], sizeof alignment[i]));
    return GS_OK;
}

bool gs_library_accumulates(const gs_problem *problem, uint32_t reduction)
{
    const bool kept = reduction == GS_LT_REDUCTION_NONE || reduction == GS_LT_REDUCTION_COMPUTE_TYPE;
    return kept || gs_type_size(problem->out) >= gs_type_size(problem->acc);
}

/* 0 where the library does not say. Values are 16 or 32 bits wide, little endian. */
static uint32_t config(const gs_library *library, int index, int attribute, size_t size)
{
    uint32_t value = 0;
    size_t written = 0;
    const int status = library->lt->config_get(&library->list[index].algo, attribute, &value, size, &written);
    return status == GS_CUBLAS_SUCCESS ? value : 0;
}

static int place_of(const gs_library *library, const gs_lt_heuristic *one)
{
    int i = 0;
    while (i < library->count && memcmp(&library->list[i].algo, &one->algo, sizeof one->algo) != 0) i++;
    return i;
}

/* Puts what the library suggests, and fits, behind the list, unless it is in it; *best is where its first choice is, -1 if nothing fits. */
static gs_status ask(gs_library *library, gs_lt_preference preference, int *best, gs_error *error)
{
    gs_lt_heuristic answer[GS_LIBRARY_ASKED];
    int returned = 0;
    const bool again = library->count > 0;
    *best = -1;
    TRY_LT("cublasLtMatmulAlgoGetHeuristic", library->lt->heuristic(library->handle, library->desc, library->b, library->a, layout_c(library), library->d,
                                                                    preference, GS_LIBRARY_ASKED, answer, &returned));
    for (int i = 0; i < returned; i++) {
        if (answer[i].state != GS_CUBLAS_SUCCESS || answer[i].workspace > library->workspace_most) continue;
        const int at = again ? place_of(library, &answer[i]) : library->count;
        if (at == library->count) library->list[library->count++] = answer[i];
        library->rounds[at] = !gs_library_accumulates(&library->problem, config(library, at, GS_LT_CONFIG_REDUCTION, 4));
        if (*best < 0 && !library->rounds[at]) *best = at;
    }
    return GS_OK;
}

/* First whatever the library suggests, because tables hold places in that list; then, if some of that may not be chosen, what it suggests instead. */
static gs_status list_algorithms(gs_library *library, gs_lt_preference preference, gs_error *error)
{
    const uint32_t mask = GS_LT_REDUCTION_COMPUTE_TYPE;
    bool rounds = false;
    int instead;
    GS_TRY(set_preference(library, preference, error));
    GS_TRY(ask(library, preference, &library->first, error));
    for (int i = 0; i < library->count; i++) rounds |= library->rounds[i];
    if (rounds) {
        TRY_LT("cublasLtMatmulPreferenceSetAttribute", library->lt->preference_set(preference, GS_LT_PREF_REDUCTION_MASK, &mask, sizeof mask));
        if (ask(library, preference, &instead, NULL) == GS_OK && instead >= 0) library->first = instead;   /* without an answer the list is what it was */
    }
    if (library->count == 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "cuBLASLt suggests no algorithm for this problem");
    if (library->first < 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "all %d algorithms that cuBLASLt suggests for this problem round partial sums to the type of D",
                       library->count);
    return GS_OK;
}

/* Every call of the device's table makes its context current on this thread, which is where cuBLASLt looks for it. */
static gs_status make_current(const gs_library *library, gs_error *error)
{
    size_t free_bytes, total_bytes;
    return library->device->ops->memory_info(library->device, &free_bytes, &total_bytes, error);
}

static gs_status fill(gs_library *library, gs_error *error)
{
    const gs_cublaslt *const lt = library->lt;
    GS_TRY(make_current(library, error));
    TRY_LT("cublasLtCreate", lt->create(&library->handle));
    GS_TRY(describe_problem(library, error));
    gs_lt_preference preference;
    TRY_LT("cublasLtMatmulPreferenceCreate", lt->preference_create(&preference));
    const gs_status status = list_algorithms(library, preference, error);
    lt->preference_destroy(preference);
    GS_TRY(status);
    return gs_library_choose(library, library->first);
}

gs_status gs_library_create(gs_library **out, gs_device *device, const gs_problem *problem, gs_error *error)
{
    return gs_library_create_within(out, device, problem, GS_LIBRARY_WORKSPACE, error);
}

gs_status gs_library_create_within(gs_library **out, gs_device *device, const gs_problem *problem, size_t workspace_most, gs_error *error)
{
    *out = NULL;
    if (!device) return gs_fail(error, GS_ERROR_ARGUMENT, "device", "a device is needed");
    GS_TRY(check(problem, error));
    if (device->caps.emulated) return gs_fail(error, GS_ERROR_NO_LIBRARY, "device", "%s is emulated: cuBLASLt cannot run there", device->name);
    const gs_cublaslt *const lt = gs_cublaslt_open(error);
    if (!lt) return GS_ERROR_NO_LIBRARY;
    gs_library *library = calloc(1, sizeof *library);
    if (!library) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the description of a cuBLASLt call");
    library->device = device;
    library->lt = lt;
    library->problem = *problem;
    library->math = gs_cublas_math_of(problem);
    library->workspace_most = GS_MIN(workspace_most, GS_LIBRARY_WORKSPACE);
    const gs_status status = fill(library, error);
    if (status == GS_OK)
        *out = library;
    else
        gs_library_destroy(&library);
    return status;
}

void gs_library_destroy(gs_library **library_address)
{
    if (!library_address || !*library_address) return;
    gs_library *const library = *library_address;
    const gs_lt_layout layouts[] = {library->a, library->b, library->c, library->d};
    for (size_t i = 0; i < GS_COUNT(layouts); i++)
        if (layouts[i]) library->lt->layout_destroy(layouts[i]);
    if (library->desc) library->lt->desc_destroy(library->desc);
    if (library->handle) library->lt->destroy(library->handle);
    if (library->workspace) library->device->ops->free(library->device, library->workspace);
    free(library);
    *library_address = NULL;
}

int gs_library_count(const gs_library *library) { return library->count; }
int gs_library_chosen(const gs_library *library) { return library->chosen; }

gs_status gs_library_choose(gs_library *library, int index)
{
    if (index < 0 || index >= library->count) return GS_ERROR_RANGE;
    if (library->rounds[index]) return GS_ERROR_UNSUPPORTED;
    const size_t need = library->list[index].workspace;
    if (need > library->workspace_size) {
        gs_pointer larger;
        GS_TRY(library->device->ops->alloc(library->device, need, &larger, NULL));
        if (library->workspace) library->device->ops->free(library->device, library->workspace);
        library->workspace = larger;
        library->workspace_size = need;
    }
    library->chosen = index;
    return GS_OK;
}

void gs_library_describe(const gs_library *library, char *text, size_t size)
{
    const int chosen = library->chosen;
    snprintf(text, size, "algo %" PRIu32 " tile %" PRIu32 " stages %" PRIu32 " splitk %" PRIu32 " reduction %" PRIu32 " swizzle %" PRIu32
             " cluster %" PRIu32 " custom %" PRIu32 " workspace %zu (%d of %d)",
             config(library, chosen, GS_LT_CONFIG_ID, 4), config(library, chosen, GS_LT_CONFIG_TILE, 4), config(library, chosen, GS_LT_CONFIG_STAGES, 4),
             config(library, chosen, GS_LT_CONFIG_SPLITK, 4), config(library, chosen, GS_LT_CONFIG_REDUCTION, 4),
             config(library, chosen, GS_LT_CONFIG_SWIZZLE, 4), config(library, chosen, GS_LT_CONFIG_CLUSTER, 2),
             config(library, chosen, GS_LT_CONFIG_CUSTOM, 4), library->list[chosen].workspace, chosen + 1, library->count);
}

size_t gs_library_workspace(const gs_library *library) { return library->list[library->chosen].workspace; }

size_t gs_library_alignment(const gs_library *library, char operand)
{
    const gs_problem *const p = &library->problem;
    const gs_type type = operand == 'a' || operand == 'b' ? p->in : p->out;
    const int64_t ld = operand == 'a' ? p->lda : operand == 'b' ? p->ldb : operand == 'c' ? p->ldc : p->ldd;
    const int attribute = operand == 'a' ? GS_LT_CAP_ALIGN_B   /* our A is its second operand */
                        : operand == 'b' ? GS_LT_CAP_ALIGN_A
                        : operand == 'c' ? GS_LT_CAP_ALIGN_C
                                         : GS_LT_CAP_ALIGN_D;
    uint32_t value = 0;
    size_t written = 0;
    const int status = library->lt->cap_get(&library->list[library->chosen].algo, attribute, &value, sizeof value, &written);
    if (status != GS_CUBLAS_SUCCESS || value == 0) value = row_alignment(ld, type);
    return GS_MAX((size_t)value, gs_type_size(type));
}

static int matmul(const gs_library *library, const gs_cublas_math *math, const gs_args *args, gs_queue queue)
{
    const gs_lt_heuristic *const chosen = &library->list[library->chosen];
    void *const workspace = args->workspace ? args->workspace : (void *)(uintptr_t)library->workspace;
    const void *const c = library->problem.beta == 0 ? args->d : args->c;
    return library->lt->matmul(library->handle, library->desc, &math->alpha, args->b, library->b, args->a, library->a, &math->beta,
                               c, layout_c(library), args->d, library->d, &chosen->algo, workspace, chosen->workspace, queue);
}

static gs_status run_with(const gs_library *library, const gs_cublas_math *math, const gs_args *args, gs_queue queue, gs_error *error)
{
    int status = matmul(library, math, args, queue);
    if (status != GS_CUBLAS_SUCCESS && make_current(library, NULL) == GS_OK) status = matmul(library, math, args, queue);
    return status == GS_CUBLAS_SUCCESS ? GS_OK : failed(error, "cublasLtMatmul", status);
}

/* A thread whose current device is another one is refused; it is put on ours and asked once more. */
gs_status gs_library_run(const gs_library *library, const gs_args *args, gs_queue queue, gs_error *error)
{
    if (!args->alpha && !args->beta) return run_with(library, &library->math, args, queue, error);
    gs_problem scaled = library->problem;
    if (args->alpha) scaled.alpha = *args->alpha;
    if (args->beta) scaled.beta = *args->beta;
    if (scaled.acc == GS_F16 && !gs_cublas_fits_f16(&scaled))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "alpha", "cuBLASLt takes alpha and beta as f16 with f16 accumulation; they do not fit");
    const gs_cublas_math math = gs_cublas_math_of(&scaled);
    return run_with(library, &math, args, queue, error);
}

int gs_library_version(gs_error *error)
{
    const gs_cublaslt *const lt = gs_cublaslt_open(error);
    return lt ? (int)lt->get_version() : 0;
}
