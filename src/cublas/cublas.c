/* SPDX-License-Identifier: MIT
 * Finds and opens libcublas and libcublasLt, and resolves the functions in a table. */
#include "cublas/cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/library.h"
#include "base/text.h"
#include "problem/layout.h"

typedef struct symbol {
    const char *name;
    size_t      offset;   /* of the function pointer in gs_cublas or gs_cublaslt */
    bool        optional;
} symbol;

typedef struct vendor_library {
    const char        *title, *environment;
    const char *const *names;     /* newest first; ends with NULL */
    const symbol      *symbols;
    int                symbol_count;
} vendor_library;

static const char *const cublas_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL};
static const char *const cublaslt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};

#define CUBLAS(field, name) {name, offsetof(gs_cublas, field), false}
static const symbol cublas_symbols[] = {
    CUBLAS(create, "cublasCreate_v2"),
    CUBLAS(destroy, "cublasDestroy_v2"),
    CUBLAS(get_version, "cublasGetVersion_v2"),
    CUBLAS(set_stream, "cublasSetStream_v2"),
    CUBLAS(set_workspace, "cublasSetWorkspace_v2"),
    CUBLAS(gemm, "cublasGemmEx_64"),
    CUBLAS(gemm_batched, "cublasGemmStridedBatchedEx_64"),
    CUBLAS(gemm_pointers, "cublasGemmBatchedEx_64"),
    {"cublasGemmGroupedBatchedEx", offsetof(gs_cublas, gemm_grouped), true},
};

#define CUBLASLT(field, name) {name, offsetof(gs_cublaslt, field), false}
static const symbol cublaslt_symbols[] = {
    CUBLASLT(get_version, "cublasLtGetVersion"),
    CUBLASLT(create, "cublasLtCreate"),
    CUBLASLT(destroy, "cublasLtDestroy"),
    CUBLASLT(desc_create, "cublasLtMatmulDescCreate"),
    CUBLASLT(desc_destroy, "cublasLtMatmulDescDestroy"),
    CUBLASLT(desc_set, "cublasLtMatmulDescSetAttribute"),
    CUBLASLT(layout_create, "cublasLtMatrixLayoutCreate"),
    CUBLASLT(layout_destroy, "cublasLtMatrixLayoutDestroy"),
    CUBLASLT(layout_set, "cublasLtMatrixLayoutSetAttribute"),
    CUBLASLT(preference_create, "cublasLtMatmulPreferenceCreate"),
    CUBLASLT(preference_destroy, "cublasLtMatmulPreferenceDestroy"),
    CUBLASLT(preference_set, "cublasLtMatmulPreferenceSetAttribute"),
    CUBLASLT(heuristic, "cublasLtMatmulAlgoGetHeuristic"),
    CUBLASLT(config_get, "cublasLtMatmulAlgoConfigGetAttribute"),
    CUBLASLT(check, "cublasLtMatmulAlgoCheck"),
    CUBLASLT(cap_get, "cublasLtMatmulAlgoCapGetAttribute"),
    CUBLASLT(matmul, "cublasLtMatmul"),
};

static const vendor_library cublas_library = {"cuBLAS", "GEMMSMITH_CUBLAS", cublas_names, cublas_symbols, (int)GS_COUNT(cublas_symbols)};
static const vendor_library cublaslt_library = {"cuBLASLt", "GEMMSMITH_CUBLASLT", cublaslt_names, cublaslt_symbols, (int)GS_COUNT(cublaslt_symbols)};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static gs_cublas   cublas_calls;
static gs_cublaslt cublaslt_calls;
static bool        cublas_ready, cublaslt_ready;

/* A library that the process has already loaded is preferred: two versions of one library in a process conflict. */
static void *find(const vendor_library *library, gs_text *looked, const char **why)
{
    const char *const override = getenv(library->environment);
    if (override && override[0]) {
        gs_text_addf(looked, "%s=%s", library->environment, override);
        return gs_library_open(override, why);
    }
    for (const char *const *name = library->names; *name; name++) {
        void *const handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (handle) return handle;
    }
    const char *const home = getenv("CUDA_HOME");
    const char *const directories[] = {"", home && home[0] ? home : NULL, "/usr/local/cuda"};
    for (size_t i = 0; i < GS_COUNT(directories); i++) {
        if (!directories[i]) continue;
        gs_text_addf(looked, "%s%s%s", i ? ", " : "", i ? directories[i] : "the system's search path", i ? "/lib64" : "");
        for (const char *const *name = library->names; *name; name++) {
            char path[1024];
            const int size = snprintf(path, sizeof path, "%s%s%s", directories[i], i ? "/lib64/" : "", *name);
            if (size < 0 || (size_t)size >= sizeof path) continue;
            void *const handle = gs_library_open(path, why);
            if (handle) return handle;
        }
    }
    return NULL;
}

static gs_status load(const vendor_library *library, void *calls, gs_error *error)
{
    gs_text looked = {0};
    const char *why = NULL;
    void *const handle = find(library, &looked, &why);
    if (!handle) {
        gs_fail(error, GS_ERROR_NO_LIBRARY, NULL, "%s cannot be opened (looked in %s; %s): install it or set %s to its file", library->title,
                gs_text_string(&looked), why ? why : "no reason given", library->environment);
        gs_text_free(&looked);
        return GS_ERROR_NO_LIBRARY;
    }
    gs_text_free(&looked);
    for (int i = 0; i < library->symbol_count; i++) {
        void *const address = dlsym(handle, library->symbols[i].name);
        if (!address && !library->symbols[i].optional) {
            dlclose(handle);
            return gs_fail(error, GS_ERROR_NO_LIBRARY, NULL, "%s has no %s: version 12 or newer is needed; set %s to its file", library->title,
                           library->symbols[i].name, library->environment);
        }
        memcpy((char *)calls + library->symbols[i].offset, &address, sizeof address);
    }
    return GS_OK;
}

const gs_cublaslt *gs_cublaslt_open(gs_error *error)
{
    pthread_mutex_lock(&opening);
    if (!cublaslt_ready) cublaslt_ready = load(&cublaslt_library, &cublaslt_calls, error) == GS_OK;
    const bool ready = cublaslt_ready;
    pthread_mutex_unlock(&opening);
    return ready ? &cublaslt_calls : NULL;
}

const gs_cublas *gs_cublas_open(gs_error *error)
{
    pthread_mutex_lock(&opening);
    if (!cublas_ready) cublas_ready = load(&cublas_library, &cublas_calls, error) == GS_OK;
    const bool ready = cublas_ready;
    pthread_mutex_unlock(&opening);
    return ready ? &cublas_calls : NULL;
}

const char *gs_cublas_status(int status)
{
    switch (status) {
    case GS_CUBLAS_SUCCESS:          return "CUBLAS_STATUS_SUCCESS";
    case GS_CUBLAS_NOT_INITIALIZED:  return "CUBLAS_STATUS_NOT_INITIALIZED";
    case GS_CUBLAS_ALLOC_FAILED:     return "CUBLAS_STATUS_ALLOC_FAILED";
    case GS_CUBLAS_INVALID_VALUE:    return "CUBLAS_STATUS_INVALID_VALUE";
    case GS_CUBLAS_ARCH_MISMATCH:    return "CUBLAS_STATUS_ARCH_MISMATCH";
    case GS_CUBLAS_MAPPING_ERROR:    return "CUBLAS_STATUS_MAPPING_ERROR";
    case GS_CUBLAS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case GS_CUBLAS_INTERNAL_ERROR:   return "CUBLAS_STATUS_INTERNAL_ERROR";
    case GS_CUBLAS_NOT_SUPPORTED:    return "CUBLAS_STATUS_NOT_SUPPORTED";
    case GS_CUBLAS_LICENSE_ERROR:    return "CUBLAS_STATUS_LICENSE_ERROR";
    default:                         return "an unknown cuBLAS status";
    }
}

int gs_cuda_type(gs_type type)
{
    switch (type) {
    case GS_F16:  return GS_CUDA_R_16F;
    case GS_BF16: return GS_CUDA_R_16BF;
    default:      return GS_CUDA_R_32F;
    }
}

gs_cublas_math gs_cublas_math_of(const gs_problem *problem)
{
    gs_cublas_math math = {.compute_type = GS_CUBLAS_COMPUTE_32F, .scale_type = GS_CUDA_R_32F};
    if (problem->acc == GS_F16) {
        math.compute_type = GS_CUBLAS_COMPUTE_16F;
        math.scale_type = GS_CUDA_R_16F;
        math.alpha.f16 = gs_f32_to_f16(problem->alpha);
        math.beta.f16 = gs_f32_to_f16(problem->beta);
    } else {
        math.alpha.f32 = problem->alpha;
        math.beta.f32 = problem->beta;
    }
    return math;
}

static bool fits_f16(float value) { return value == 0 || (fabsf(value) >= 0x1p-14f && fabsf(value) <= 65504); }

bool gs_cublas_fits_f16(const gs_problem *problem) { return fits_f16(problem->alpha) && fits_f16(problem->beta); }

