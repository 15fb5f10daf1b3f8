/* SPDX-License-Identifier: MIT
 * cuBLASLt computes column-major matrices: a row-major D is a column-major D^T = B^T A^T, so B goes in as the first operand
 * and A as the second, and nothing is copied or transposed. */
#include "cublas/library.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cublas/cublas.h"
#include "cublas/finishing.h"
#include "problem/layout.h"

#define BIAS_ALIGNMENT 16   /* bytes, of a bias that cuBLASLt adds or sums up, and of aux */
#define AUX_ELEMENTS   8    /* rows and matrices of an aux that cuBLASLt uses must be multiples of this */

struct gs_library {
    gs_device         *device;
    const gs_cublaslt *lt;
    gs_problem         problem;
    gs_cublas_math     math;
    gs_lt_handle       handle;
    bool               borrows;             /* the handle belongs to another object */
    gs_lt_desc         desc;                /* with the fused epilogue; NULL: cuBLASLt has none for this problem */
    gs_lt_desc         plain;               /* the product alone, before `finishing`; NULL: there is no epilogue */
    gs_lt_layout       b, a, c, d;          /* in the order of cuBLASLt's arguments */
    gs_lt_layout       middle;              /* the product that `finishing` reads, if it cannot be in D, which may hold the residual; NULL: the product is in D */
    size_t             middle_bytes;
    gs_finishing       finishing;
    pthread_mutex_t    pointers;            /* held while one call's bias and aux pointers are in desc */
    int                count, first, chosen;  /* first: the best algorithm that may be chosen */
    gs_lt_heuristic    list[GS_LIBRARY_MOST];
    bool               rounds[GS_LIBRARY_MOST];   /* rounds partial sums to D's type: may not be chosen */
    bool               apart[GS_LIBRARY_MOST];    /* computes the product alone, without the epilogue */
    gs_pointer         workspace;
    size_t             workspace_size;      /* size of workspace: the largest that any chosen algorithm needed */
    size_t             workspace_most;      /* limit for a suggestion */
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

/* C is not given to cuBLASLt: a residual is added after the product, and scales multiply the product before C is added. */
static bool leaves_c(const gs_problem *problem) { return problem->beta == 0 || problem->residual || problem->scales; }

/* The problem that cuBLASLt computes if `finishing` follows. */
static gs_problem of_product(const gs_problem *problem)
{
    gs_problem product = *problem;
    if (leaves_c(problem)) product.beta = 0;
    if (product.scales) product.alpha = 1;
    return product;
}

/* cuBLASLt's kernels fault (misaligned address, H100, cuBLASLt 13.1) if the biases of a batch, or of several calls, are not aligned to BIAS_ALIGNMENT. */
static bool reads_biases(const gs_problem *p)
{
    return !p->bias || p->stride_bias % (BIAS_ALIGNMENT / (int64_t)gs_type_size(p->out)) == 0;
}

/* cuBLASLt supports aux for gelu and its gradient only, with aligned rows. (For relu its aux is a bit mask.) */
static bool takes_aux(const gs_problem *p)
{
    const gs_shape aux = gs_shape_of(p, 'g');
    if (!(p->aux ? p->activation == GS_GELU : p->activation == GS_DGELU) || p->out == GS_F32) return false;
    return aux.ld % AUX_ELEMENTS == 0 && (p->batch == 1 || aux.stride % AUX_ELEMENTS == 0);
}

/* The cublasLtEpilogue_t that computes the problem's epilogue; 0: there is none. */
static uint32_t fused_epilogue(const gs_problem *p)
{
    const bool gradient = p->activation == GS_DGELU && p->beta == 0;
    const uint32_t activation = p->activation == GS_RELU ? GS_LT_EPILOGUE_RELU : p->activation == GS_GELU ? GS_LT_EPILOGUE_GELU : gradient ? GS_LT_EPILOGUE_DGELU : 0;
    if (p->residual || p->gate || p->scales || p->bias == GS_BIAS_M || (p->activation && !activation) || !reads_biases(p)) return 0;
    if ((gs_has_aux(p) && !takes_aux(p)) || (p->bias == GS_DBIAS && !(gradient && p->batch == 1))) return 0;
    const uint32_t all = activation | (p->bias == GS_DBIAS ? GS_LT_EPILOGUE_BGRAD : p->bias ? GS_LT_EPILOGUE_BIAS : 0) | (p->aux ? GS_LT_EPILOGUE_AUX : 0);
    return all ? all : GS_LT_EPILOGUE_NONE;
}

/* A gated activation that also writes aux: aux is the raw product, so cuBLASLt writes the product directly to aux. */
static bool goes_to_aux(const gs_problem *p) { return p->gate && p->aux && !p->bias && !p->scales; }

double gs_library_behind_us(const gs_problem *p, const gs_caps *caps)
{
    static const double begin_us = 1.5, share = 0.8;   /* launch gap after the product; share of the memory bandwidth [judgement] */
    if (fused_epilogue(p)) return 0;
    const double product = (double)p->m * (double)gs_columns_of_b(p) * (double)p->batch, d = (double)p->m * (double)p->n * (double)p->batch;
    const int others = 1 + (p->beta != 0 && leaves_c(p)) + (gs_has_aux(p) && !goes_to_aux(p)) * (p->gate ? 2 : 1);
    return begin_us + (product + others * d) * (double)gs_type_size(p->out) / (caps->memory_gbs * 1e3 * share);
}

static gs_status check(const gs_problem *problem, gs_error *error)
{
    GS_TRY(gs_problem_check(problem, error));
    if (problem->scalars) return gs_fail(error, GS_ERROR_UNSUPPORTED, "scalars", "alpha and beta in device memory are not given to cuBLASLt");
    if (problem->bias == GS_DBIAS && gs_dbias_vectors(problem) > 1)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "se", "the kernel behind cuBLASLt's product adds up all matrices of a batch");
    if (problem->matrices && !fused_epilogue(problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "matrices", "the kernel behind cuBLASLt's product finds no matrices by pointers");
    if (gs_has_offsets(problem)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "g", "cuBLASLt takes no groups whose sizes are on the device");
    if (problem->acc == GS_F16 && !gs_cublas_fits_f16(problem))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "alpha", "cuBLASLt takes alpha and beta as f16 with f16 accumulation; they do not fit");
    if (problem->alpha == 0 && (problem->m == 1 || problem->n == 1))   /* cuBLASLt would pass NaN and inf of A and B on to D (H100, cuBLASLt 13.1) */
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "alpha", "cuBLASLt multiplies vectors also where alpha is 0");
    if (problem->m == 0 || problem->n == 0 || problem->k == 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, problem->m == 0 ? "m" : problem->n == 0 ? "n" : "k", "cuBLASLt takes no extent of 0");
    return GS_OK;
}

/* Our rows are the columns of cuBLASLt's column-major matrix. */
static gs_status make_layout(gs_library *library, gs_lt_layout *out, char operand, gs_error *error)
{
    const gs_cublaslt *const lt = library->lt;
    const gs_shape s = gs_shape_of(&library->problem, operand);
    TRY_LT("cublasLtMatrixLayoutCreate", lt->layout_create(out, gs_cuda_type(s.type), (uint64_t)s.row, (uint64_t)s.rows, s.ld));
    const int32_t batch = (int32_t)library->problem.batch;
    if (library->problem.matrices) {
        const uint32_t mode = GS_LT_BATCH_POINTERS;
        TRY_LT("cublasLtMatrixLayoutSetAttribute", lt->layout_set(*out, GS_LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
        if (lt->layout_set(*out, GS_LT_LAYOUT_BATCH_MODE, &mode, sizeof mode) == GS_CUBLAS_SUCCESS) return GS_OK;
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "matrices", "this cuBLASLt (%d) takes no arrays of pointers; that of CUDA 13.0 does", (int)lt->get_version());
    }
    if (batch == 1) return GS_OK;
    const int64_t stride = gs_shape_of(&library->problem, operand).stride;
    TRY_LT("cublasLtMatrixLayoutSetAttribute", lt->layout_set(*out, GS_LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    TRY_LT("cublasLtMatrixLayoutSetAttribute", lt->layout_set(*out, GS_LT_LAYOUT_BATCH_STRIDE, &stride, sizeof stride));
    return GS_OK;
}

/* Sets the bias and aux pointers of a call, if the epilogue has any. */
static int set_pointers(const gs_library *library, const void *bias, const void *aux)
{
    int status = GS_CUBLAS_SUCCESS;
    if (library->problem.bias) status = library->lt->desc_set(library->desc, GS_LT_DESC_BIAS, &bias, sizeof bias);
    if (gs_has_aux(&library->problem) && status == GS_CUBLAS_SUCCESS) status = library->lt->desc_set(library->desc, GS_LT_DESC_AUX, &aux, sizeof aux);
    return status;
}

static gs_status make_desc(const gs_library *library, gs_lt_desc *out, uint32_t epilogue, gs_error *error)
{
    const gs_cublaslt *const lt = library->lt;
    const gs_problem *const p = &library->problem;
    const int32_t op_b = gs_is_b_transposed(p->layout) ? GS_CUBLAS_OP_T : GS_CUBLAS_OP_N, op_a = gs_is_a_transposed(p->layout) ? GS_CUBLAS_OP_T : GS_CUBLAS_OP_N;
    TRY_LT("cublasLtMatmulDescCreate", lt->desc_create(out, library->math.compute_type, library->math.scale_type));
    TRY_LT("cublasLtMatmulDescSetAttribute", lt->desc_set(*out, GS_LT_DESC_TRANSA, &op_b, sizeof op_b));
    TRY_LT("cublasLtMatmulDescSetAttribute", lt->desc_set(*out, GS_LT_DESC_TRANSB, &op_a, sizeof op_a));
    if (epilogue != GS_LT_EPILOGUE_NONE) TRY_LT("cublasLtMatmulDescSetAttribute", lt->desc_set(*out, GS_LT_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    return GS_OK;
}

/* Leading dimension and batch stride, in elements, of the product that `finishing` reads: those of aux, or packed with rows of a multiple of 16 bytes. */
static int64_t middle_ld(const gs_problem *p) { return goes_to_aux(p) ? gs_shape_of(p, 'g').ld : (gs_columns_of_b(p) + 7) / 8 * 8; }
static int64_t middle_stride(const gs_problem *p) { return goes_to_aux(p) ? gs_shape_of(p, 'g').stride : middle_ld(p) * p->m; }

/* The layout of that product: M x N, with a gate M x 2N, of gs_finishing_type, for the whole batch. */
static gs_status make_middle(gs_library *library, gs_error *error)
{
    gs_problem *const p = &library->problem;
    const gs_problem whole = *p;
    if (p->gate) *p = gs_problem_sums(&whole);
    p->ldd = middle_ld(&whole);
    p->stride_d = goes_to_aux(&whole) ? middle_stride(&whole) : 0;
    p->out = gs_finishing_type(&whole);
    library->middle_bytes = goes_to_aux(&whole) ? 0 : (size_t)(p->ldd * p->m * p->batch) * gs_type_size(p->out);
    const gs_status status = make_layout(library, &library->middle, 'd', error);
    *p = whole;
    return status;
}

static gs_status describe_problem(gs_library *library, gs_error *error)
{
    const gs_problem *const p = &library->problem;
    const uint32_t epilogue = fused_epilogue(p);
    if (epilogue) GS_TRY(make_desc(library, &library->desc, epilogue, error));
    if (epilogue != GS_LT_EPILOGUE_NONE && !p->matrices) GS_TRY(make_desc(library, &library->plain, GS_LT_EPILOGUE_NONE, error));
    if (epilogue & GS_LT_EPILOGUE_BIAS && p->stride_bias && p->batch > 1)
        TRY_LT("cublasLtMatmulDescSetAttribute", library->lt->desc_set(library->desc, GS_LT_DESC_BIAS_STRIDE, &p->stride_bias, sizeof p->stride_bias));
    if (epilogue) {
        const void *const aligned = (const void *)(uintptr_t)BIAS_ALIGNMENT;   /* has the alignment of later pointers; is never dereferenced */
        const gs_shape aux = gs_shape_of(p, 'g');
        TRY_LT("cublasLtMatmulDescSetAttribute", set_pointers(library, aligned, aligned));
        if (gs_has_aux(p)) TRY_LT("cublasLtMatmulDescSetAttribute", library->lt->desc_set(library->desc, GS_LT_DESC_AUX_LD, &aux.ld, sizeof aux.ld));
        if (gs_has_aux(p) && p->batch > 1) TRY_LT("cublasLtMatmulDescSetAttribute", library->lt->desc_set(library->desc, GS_LT_DESC_AUX_STRIDE, &aux.stride, sizeof aux.stride));
    }
    gs_lt_layout *const layouts[] = {&library->a, &library->b, &library->c, &library->d};
    for (int i = 0; i < 4; i++) GS_TRY(make_layout(library, layouts[i], "abcd"[i], error));
    return p->residual || p->gate || p->scales ? make_middle(library, error) : GS_OK;
}

/* If C is not read, D's layout is passed for C. */
static gs_lt_layout layout_d(const gs_library *library, bool apart) { return apart && library->middle ? library->middle : library->d; }
static gs_lt_layout layout_c(const gs_library *library, bool apart)
{
    return leaves_c(&library->problem) ? layout_d(library, apart) : library->c;
}

/* The alignment in bytes that the heuristic may assume for rows: up to 256, and up to 16 for a batch by pointers. */
static uint32_t row_alignment(const gs_problem *p, int64_t ld, gs_type type)
{
    const uint64_t bytes = (uint64_t)ld * gs_type_size(type);
    const uint64_t power = bytes & (~bytes + 1);
    return (uint32_t)GS_MIN(power, p->matrices ? 16u : 256u);
}

static gs_status set_preference(const gs_library *library, gs_lt_preference preference, gs_error *error)
{
    const gs_cublaslt *const lt = library->lt;
    const gs_problem *const p = &library->problem;
    const uint64_t workspace = library->workspace_most;
    const int attribute[4] = {GS_LT_PREF_ALIGN_A, GS_LT_PREF_ALIGN_B, GS_LT_PREF_ALIGN_C, GS_LT_PREF_ALIGN_D};
    const uint32_t middle = row_alignment(p, goes_to_aux(p) ? gs_rows_unit(p, 'g') : middle_ld(p), gs_finishing_type(p)), d = p->gate || p->scales ? middle : row_alignment(p, gs_rows_unit(p, 'd'), p->out);
    const uint32_t c = p->gate || p->scales ? middle : row_alignment(p, gs_rows_unit(p, leaves_c(p) ? 'd' : 'c'), p->out);
    const uint32_t alignment[4] = {row_alignment(p, gs_rows_unit(p, 'b'), p->in), row_alignment(p, gs_rows_unit(p, 'a'), p->in), c, d};
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

/* A configuration value of 16 or 32 bits, little endian; 0 if the library does not give it. */
static uint32_t config(const gs_library *library, int index, int attribute, size_t size)
{
    uint32_t value = 0;
    size_t written = 0;
    const int status = library->lt->config_get(&library->list[index].algo, attribute, &value, size, &written);
    return status == GS_CUBLAS_SUCCESS ? value : 0;
}

static int place_of(const gs_library *library, const gs_lt_heuristic *one, bool apart)
{
    int i = 0;
    while (i < library->count && (library->apart[i] != apart || memcmp(&library->list[i].algo, &one->algo, sizeof one->algo) != 0)) i++;
    return i;
}

/* Appends cuBLASLt's suggestions that fit the workspace to the list; with `again`, only those not yet in it. *best: index of the first that may be chosen, -1: none. */
static gs_status ask(gs_library *library, gs_lt_preference preference, bool apart, bool again, int *best, gs_error *error)
{
    gs_lt_heuristic answer[GS_LIBRARY_ASKED];
    int returned = 0;
    gs_problem product = library->problem;
    product.out = gs_finishing_type(&product);
    *best = -1;
    TRY_LT("cublasLtMatmulAlgoGetHeuristic",
           library->lt->heuristic(library->handle, apart ? library->plain : library->desc, library->b, library->a, layout_c(library, apart), layout_d(library, apart),
                                  preference, GS_LIBRARY_ASKED, answer, &returned));
    for (int i = 0; i < returned; i++) {
        if (answer[i].state != GS_CUBLAS_SUCCESS || answer[i].workspace > library->workspace_most) continue;
        const int at = again ? place_of(library, &answer[i], apart) : library->count;
        if (at == GS_LIBRARY_MOST) break;
        if (at == library->count) library->list[library->count++] = answer[i];
        library->apart[at] = apart;
        library->rounds[at] = !gs_library_accumulates(&product, config(library, at, GS_LT_CONFIG_REDUCTION, 4));
        if (*best < 0 && !library->rounds[at]) *best = at;
    }
    return GS_OK;
}

/* First all suggestions, because tuned tables refer to positions in that list; then, if some of them may not be chosen, what cuBLASLt suggests without them. */
static gs_status list_with(gs_library *library, gs_lt_preference preference, bool apart, int *best, gs_error *error)
{
    const uint32_t mask = GS_LT_REDUCTION_COMPUTE_TYPE;
    const int first = library->count;
    bool rounds = false;
    int instead;
    GS_TRY(set_preference(library, preference, error));
    GS_TRY(ask(library, preference, apart, false, best, error));
    for (int i = first; i < library->count; i++) rounds |= library->rounds[i];
    if (!rounds) return GS_OK;
    TRY_LT("cublasLtMatmulPreferenceSetAttribute", library->lt->preference_set(preference, GS_LT_PREF_REDUCTION_MASK, &mask, sizeof mask));
    if (ask(library, preference, apart, true, &instead, NULL) == GS_OK && instead >= 0) *best = instead;   /* if that fails, the list stays as it is */
    return GS_OK;
}

static gs_status list_of(gs_library *library, bool apart, int *best, gs_error *error)
{
    const gs_cublaslt *const lt = library->lt;
    gs_lt_preference preference;
    TRY_LT("cublasLtMatmulPreferenceCreate", lt->preference_create(&preference));
    const gs_status status = list_with(library, preference, apart, best, error);
    lt->preference_destroy(preference);
    return status;
}

/* First the algorithms with the fused epilogue, then those for the product alone. */
static gs_status list_algorithms(gs_library *library, gs_error *error)
{
    int best[2] = {-1, -1};
    if (library->desc) {
        const gs_status status = list_of(library, false, &best[0], error);
        if (status != GS_OK && !(library->plain && (status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_LIBRARY))) return status;   /* fused epilogue not supported */
    }
    if (library->plain) GS_TRY(list_of(library, true, &best[1], error));
    library->first = best[0] >= 0 ? best[0] : best[1];
    if (library->count == 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "cuBLASLt suggests no algorithm for this problem");
    if (library->first < 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "all %d algorithms that cuBLASLt suggests for this problem round partial sums to the type of D",
                       library->count);
    return GS_OK;
}

/* cuBLASLt uses the context that is current on the thread; every function of the device's table makes the device's context current. */
static gs_status make_current(const gs_library *library, gs_error *error)
{
    size_t free_bytes, total_bytes;
    return library->device->ops->memory_info(library->device, &free_bytes, &total_bytes, error);
}

/* The product for `finishing` is placed after the algorithm's own workspace, the column sums after that. */
static size_t middle_at(const gs_library *library, int index) { return (library->list[index].workspace + 255) / 256 * 256; }
static size_t sums_at(const gs_library *library, int index) { return middle_at(library, index) + (library->middle_bytes + 255) / 256 * 256; }
static size_t workspace_of(const gs_library *library, int index)
{
    const size_t sums = gs_finishing_bytes(&library->problem);
    return library->apart[index] && (library->middle || sums) ? sums_at(library, index) + sums : library->list[index].workspace;
}

/* If the product is in aux already, `finishing` need not write aux. The stride of D must then be explicit, because aux may have gaps that D has not. */
static gs_status open_finishing(gs_library *library, gs_error *error)
{
    gs_problem behind = library->problem;
    if (goes_to_aux(&behind)) {
        behind.aux = 0;
        behind.stride_d = gs_shape_of(&behind, 'd').stride;
    }
    return gs_finishing_open(&library->finishing, library->device, &behind, error);
}

/* `finishing` is compiled when the first algorithm that needs it is chosen. */
static gs_status choose(gs_library *library, int index, gs_error *error)
{
    if (index < 0 || index >= library->count) return GS_ERROR_RANGE;
    if (library->rounds[index]) return GS_ERROR_UNSUPPORTED;
    if (library->apart[index] && !library->finishing.function) {
        gs_finishing_close(&library->finishing);   /* left over from a failed attempt */
        GS_TRY(open_finishing(library, error));
    }
    const size_t need = workspace_of(library, index);
    if (need > library->workspace_size) {
        gs_pointer larger;
        GS_TRY(library->device->ops->alloc(library->device, need, &larger, error));
        if (library->workspace) library->device->ops->free(library->device, library->workspace);
        library->workspace = larger;
        library->workspace_size = need;
    }
    library->chosen = index;
    return GS_OK;
}

gs_status gs_library_choose(gs_library *library, int index) { return choose(library, index, NULL); }

static gs_status fill(gs_library *library, gs_error *error)
{
    const gs_cublaslt *const lt = library->lt;
    GS_TRY(make_current(library, error));
    TRY_LT("cublasLtCreate", lt->create(&library->handle));
    GS_TRY(describe_problem(library, error));
    GS_TRY(list_algorithms(library, error));
    return choose(library, library->first, error);
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
    const gs_problem product = of_product(problem);
    library->math = gs_cublas_math_of(&product);
    pthread_mutex_init(&library->pointers, NULL);
    library->workspace_most = GS_MIN(workspace_most, GS_LIBRARY_WORKSPACE);
    const gs_status status = fill(library, error);
    if (status == GS_OK)
        *out = library;
    else
        gs_library_destroy(&library);
    return status;
}

/* Checks whether the only algorithm of the list supports the problem, and sets its workspace. */
static gs_status check_algorithm(gs_library *library, gs_error *error)
{
    gs_lt_heuristic found = {0};
    const bool apart = library->apart[0];
    TRY_LT("cublasLtMatmulAlgoCheck", library->lt->check(library->handle, apart ? library->plain : library->desc, library->b, library->a, layout_c(library, apart),
                                                         layout_d(library, apart), &library->list[0].algo, &found));
    library->list[0].workspace = found.workspace;
    if (found.workspace > library->workspace_most)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the algorithm needs a workspace of %zu bytes", found.workspace);
    return apart ? open_finishing(library, error) : GS_OK;
}

gs_status gs_library_create_like(gs_library **out, const gs_library *like, int64_t m, gs_error *error)
{
    *out = NULL;
    gs_problem problem = like->problem;
    problem.m = m;
    GS_TRY(check(&problem, error));
    gs_library *library = calloc(1, sizeof *library);
    if (!library) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the description of a cuBLASLt call");
    *library = (gs_library){.device = like->device, .lt = like->lt, .problem = problem, .math = like->math, .handle = like->handle, .borrows = true,
                            .count = 1, .list = {like->list[like->chosen]}, .apart = {like->apart[like->chosen]}, .workspace_most = like->workspace_most};
    pthread_mutex_init(&library->pointers, NULL);
    gs_status status = describe_problem(library, error);
    if (status == GS_OK) status = check_algorithm(library, error);
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
    const gs_lt_layout layouts[] = {library->a, library->b, library->c, library->d, library->middle};
    for (size_t i = 0; i < GS_COUNT(layouts); i++)
        if (layouts[i]) library->lt->layout_destroy(layouts[i]);
    if (library->desc) library->lt->desc_destroy(library->desc);
    if (library->plain) library->lt->desc_destroy(library->plain);
    gs_finishing_close(&library->finishing);
    pthread_mutex_destroy(&library->pointers);
    if (library->handle && !library->borrows) library->lt->destroy(library->handle);
    if (library->workspace) library->device->ops->free(library->device, library->workspace);
    free(library);
    *library_address = NULL;
}

int gs_library_count(const gs_library *library) { return library->count; }
int gs_library_chosen(const gs_library *library) { return library->chosen; }

static gs_suggestion suggestion_of(const gs_library *library, int index)
{
    return (gs_suggestion){
        .id         = config(library, index, GS_LT_CONFIG_ID, 4),
        .tile       = config(library, index, GS_LT_CONFIG_TILE, 4),
        .stages     = config(library, index, GS_LT_CONFIG_STAGES, 4),
        .splitk     = config(library, index, GS_LT_CONFIG_SPLITK, 4),
        .reduction  = config(library, index, GS_LT_CONFIG_REDUCTION, 4),
        .swizzle    = config(library, index, GS_LT_CONFIG_SWIZZLE, 4),
        .cluster    = config(library, index, GS_LT_CONFIG_CLUSTER, 2),
        .custom     = config(library, index, GS_LT_CONFIG_CUSTOM, 4),
        .waves      = library->list[index].waves,
        .workspace  = library->list[index].workspace,
        .can_choose = !library->rounds[index],
        .apart      = library->apart[index],
    };
}

int gs_library_suggestions(const gs_library *library, gs_suggestion list[GS_LIBRARY_MOST])
{
    for (int i = 0; i < library->count; i++) list[i] = suggestion_of(library, i);
    return library->count;
}

void gs_library_describe(const gs_library *library, char *text, size_t size)
{
    const gs_suggestion s = suggestion_of(library, library->chosen);
    snprintf(text, size, "algo %" PRIu32 " tile %" PRIu32 " stages %" PRIu32 " splitk %" PRIu32 " reduction %" PRIu32 " swizzle %" PRIu32
             " cluster %" PRIu32 " custom %" PRIu32 " workspace %zu (%d of %d)",
             s.id, s.tile, s.stages, s.splitk, s.reduction, s.swizzle, s.cluster, s.custom, s.workspace, library->chosen + 1, library->count);
}

size_t gs_library_workspace(const gs_library *library) { return workspace_of(library, library->chosen); }
bool   gs_library_is_fused(const gs_library *library) { return !library->apart[library->chosen]; }

size_t gs_library_alignment(const gs_library *library, char operand)
{
    const gs_problem *const p = &library->problem;
    if (operand == 'g' && gs_library_is_fused(library)) return gs_has_aux(p) ? BIAS_ALIGNMENT : 1;
    if (operand == 'g' && !goes_to_aux(p)) return gs_type_size(p->out);
    if (operand == 'h' || operand == 'i') return p->scales ? sizeof(float) : 1;
    if (operand == 'e') return gs_library_is_fused(library) ? BIAS_ALIGNMENT : gs_type_size(p->out);
    const gs_type type = operand == 'a' || operand == 'b' ? p->in : p->out;
    const int attribute = operand == 'a' ? GS_LT_CAP_ALIGN_B   /* our A is cuBLASLt's second operand */
                        : operand == 'b' ? GS_LT_CAP_ALIGN_A
                        : operand == 'c' ? GS_LT_CAP_ALIGN_C
                                         : GS_LT_CAP_ALIGN_D;
    uint32_t value = 0;
    size_t written = 0;
    const int status = library->lt->cap_get(&library->list[library->chosen].algo, attribute, &value, sizeof value, &written);
    if (status != GS_CUBLAS_SUCCESS || value == 0) value = row_alignment(p, gs_rows_unit(p, operand), type);
    return GS_MAX((size_t)value, gs_type_size(type));
}

static int multiply(const gs_library *library, const gs_cublas_math *math, const gs_args *args, const void *c, void *d, void *workspace, gs_queue queue)
{
    const gs_lt_heuristic *const chosen = &library->list[library->chosen];
    const bool apart = library->apart[library->chosen];
    return library->lt->matmul(library->handle, apart ? library->plain : library->desc, &math->alpha, args->b, library->b, args->a, library->a, &math->beta,
                               c, layout_c(library, apart), d, layout_d(library, apart), &chosen->algo, workspace, chosen->workspace, queue);
}

static int multiply_with_pointers(gs_library *library, const gs_cublas_math *math, const gs_args *args, const void *c, void *workspace, gs_queue queue)
{
    pthread_mutex_lock(&library->pointers);
    int status = set_pointers(library, args->bias, args->aux);
    if (status == GS_CUBLAS_SUCCESS) status = multiply(library, math, args, c, args->d, workspace, queue);
    pthread_mutex_unlock(&library->pointers);
    return status;
}

static void *middle_of(const gs_library *library, const gs_args *args)
{
    char *const workspace = args->workspace ? args->workspace : (void *)(uintptr_t)library->workspace;
    return goes_to_aux(&library->problem) ? args->aux : workspace + middle_at(library, library->chosen);
}

static int matmul(gs_library *library, const gs_cublas_math *math, const gs_args *args, gs_queue queue)
{
    char *const workspace = args->workspace ? args->workspace : (void *)(uintptr_t)library->workspace;
    const bool apart = library->apart[library->chosen];
    if (apart && library->middle) {
        void *const middle = middle_of(library, args);
        return multiply(library, math, args, middle, middle, workspace, queue);
    }
    const void *const c = library->problem.beta == 0 ? args->d : args->c;
    if (!apart && (library->problem.bias || gs_has_aux(&library->problem))) return multiply_with_pointers(library, math, args, c, workspace, queue);
    return multiply(library, math, args, c, args->d, workspace, queue);
}

/* Computes the epilogue after the plain product. */
static gs_status finish(const gs_library *library, const gs_args *args, gs_queue queue, gs_error *error)
{
    const gs_problem *const p = &library->problem;
    char *const workspace = args->workspace ? args->workspace : (void *)(uintptr_t)library->workspace, *const sums = workspace + sums_at(library, library->chosen);
    if (!library->middle) return gs_finishing_run(&library->finishing, args->d, p->ldd, gs_shape_of(p, 'd').stride, sums, args, queue, error);
    return gs_finishing_run(&library->finishing, middle_of(library, args), middle_ld(p), middle_stride(p), sums, args, queue, error);
}

/* cuBLASLt fails if another device is current on the thread; the call is then repeated with ours current. */
static gs_status run_with(gs_library *library, const gs_cublas_math *math, const gs_args *args, gs_queue queue, gs_error *error)
{
    int status = matmul(library, math, args, queue);
    if (status != GS_CUBLAS_SUCCESS && make_current(library, NULL) == GS_OK) status = matmul(library, math, args, queue);
    if (status != GS_CUBLAS_SUCCESS) return failed(error, "cublasLtMatmul", status);
    return library->apart[library->chosen] ? finish(library, args, queue, error) : GS_OK;
}

/* The problem with a call's alpha and beta. */
static gs_status scale(const gs_library *library, const gs_args *args, gs_problem *scaled, gs_error *error)
{
    *scaled = of_product(&library->problem);
    if (args->alpha) scaled->alpha = *args->alpha;
    if (args->beta && !library->problem.residual) scaled->beta = *args->beta;
    if (scaled->acc == GS_F16 && !gs_cublas_fits_f16(scaled))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "alpha", "cuBLASLt takes alpha and beta as f16 with f16 accumulation; they do not fit");
    return GS_OK;
}

static bool is_scaled(const gs_library *library, const gs_args *args) { return (args->alpha || args->beta) && !library->problem.scales; }

gs_status gs_library_check(const gs_library *library, const gs_args *args, gs_error *error)
{
    gs_problem scaled;
    return is_scaled(library, args) ? scale(library, args, &scaled, error) : GS_OK;
}

gs_status gs_library_run(gs_library *library, const gs_args *args, gs_queue queue, gs_error *error)
{
    if (!is_scaled(library, args)) return run_with(library, &library->math, args, queue, error);
    gs_problem scaled;
    GS_TRY(scale(library, args, &scaled, error));
    const gs_cublas_math math = gs_cublas_math_of(&scaled);
    return run_with(library, &math, args, queue, error);
}

int gs_library_version(gs_error *error)
{
    const gs_cublaslt *const lt = gs_cublaslt_open(error);
    return lt ? (int)lt->get_version() : 0;
}
