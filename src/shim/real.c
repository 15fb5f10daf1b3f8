/* SPDX-License-Identifier: MIT
 * Finds the real library among what is loaded. RTLD_NEXT finds nothing where a program opened it with RTLD_LOCAL, as `import torch` does. */
#include "shim/real.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

typedef struct entry {
    const char *symbol;
    size_t      offset;
} entry;

typedef struct vendor {
    const char *const *names, *beginning;
    const entry       *entries;
    size_t             count;
    size_t             emulated;   /* offset of that field */
} vendor;

#define CUBLAS(field, symbol) {symbol, offsetof(gs_real_cublas, field)}
static const entry cublas_entries[] = {
    CUBLAS(gemm_ex, "cublasGemmEx"),
    CUBLAS(gemm_ex_64, "cublasGemmEx_64"),
    CUBLAS(gemm_strided_ex, "cublasGemmStridedBatchedEx"),
    CUBLAS(gemm_strided_ex_64, "cublasGemmStridedBatchedEx_64"),
    CUBLAS(gemm_batched_ex, "cublasGemmBatchedEx"),
    CUBLAS(gemm_batched_ex_64, "cublasGemmBatchedEx_64"),
    CUBLAS(hgemm, "cublasHgemm"),
    CUBLAS(hgemm_64, "cublasHgemm_64"),
    CUBLAS(hgemm_strided, "cublasHgemmStridedBatched"),
    CUBLAS(hgemm_strided_64, "cublasHgemmStridedBatched_64"),
    CUBLAS(get_stream, "cublasGetStream_v2"),
    CUBLAS(set_stream, "cublasSetStream_v2"),
    CUBLAS(get_pointer_mode, "cublasGetPointerMode_v2"),
    CUBLAS(get_math_mode, "cublasGetMathMode"),
};

#define CUBLASLT(field, symbol) {symbol, offsetof(gs_real_cublaslt, field)}
static const entry cublaslt_entries[] = {
    CUBLASLT(matmul, "cublasLtMatmul"),
    CUBLASLT(heuristic, "cublasLtMatmulAlgoGetHeuristic"),
    CUBLASLT(get_version, "cublasLtGetVersion"),
    CUBLASLT(desc_create, "cublasLtMatmulDescCreate"),
    CUBLASLT(desc_destroy, "cublasLtMatmulDescDestroy"),
    CUBLASLT(desc_get, "cublasLtMatmulDescGetAttribute"),
    CUBLASLT(layout_get, "cublasLtMatrixLayoutGetAttribute"),
};

static const char *const cublas_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so", NULL};
static const char *const cublaslt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so", NULL};
static const vendor cublas_vendor = {cublas_names, "libcublas-", cublas_entries, GS_COUNT(cublas_entries), offsetof(gs_real_cublas, emulated)};
static const vendor cublaslt_vendor = {cublaslt_names, "libcublasLt-", cublaslt_entries, GS_COUNT(cublaslt_entries), offsetof(gs_real_cublaslt, emulated)};

/* ---- what is loaded ---- */

typedef struct search {
    const char *beginning;
    char        path[4096];
} search;

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
    search *const s = data;
    (void)size;
    const char *const name = info->dlpi_name ? info->dlpi_name : "", *const slash = strrchr(name, '/');
    if (strncmp(slash ? slash + 1 : name, s->beginning, strlen(s->beginning)) != 0 || strlen(name) >= sizeof s->path) return 0;
    snprintf(s->path, sizeof s->path, "%s", name);
    return 1;
}

void *gs_real_loaded(const char *const *names, const char *beginning)
{
    for (; *names; names++) {
        void *const handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (handle) return handle;
    }
    search s = {.beginning = beginning};   /* under another name, as wheels have it: libcublas-1a2b3c4d.so.12 */
    return dl_iterate_phdr(look_at, &s) ? dlopen(s.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
}

/* ---- its functions ---- */

static pthread_mutex_t  finding = PTHREAD_MUTEX_INITIALIZER;
static gs_real_cublas   cublas;
static gs_real_cublaslt cublaslt;
static _Atomic(void *)  cublas_found, cublaslt_found;   /* the tables, once they are filled */

static bool fill(const vendor *v, void *table)
{
    void *const library = gs_real_loaded(v->names, v->beginning);
    if (!library) return false;
    for (size_t i = 0; i < v->count; i++) {
        void *const address = dlsym(library, v->entries[i].symbol);
        memcpy((char *)table + v->entries[i].offset, &address, sizeof address);
    }
    const char *const *const emulated = dlsym(library, "gemmsmith_emulated_device");
    if (emulated) memcpy((char *)table + v->emulated, emulated, sizeof *emulated);
    return true;
}

static const void *find(const vendor *v, void *table, _Atomic(void *) *found)
{
    void *real = atomic_load_explicit(found, memory_order_acquire);
    if (__builtin_expect(real != NULL, 1)) return real;
    if (pthread_mutex_lock(&finding) != 0) return NULL;
    real = atomic_load_explicit(found, memory_order_relaxed);
    if (!real && fill(v, table)) atomic_store_explicit(found, real = table, memory_order_release);
    pthread_mutex_unlock(&finding);
    return real;
}

const gs_real_cublas   *gs_real_cublas_find(void) { return find(&cublas_vendor, &cublas, &cublas_found); }
const gs_real_cublaslt *gs_real_cublaslt_find(void) { return find(&cublaslt_vendor, &cublaslt, &cublaslt_found); }
