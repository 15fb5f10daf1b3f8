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

#define ENTRY(field, symbol) {symbol, offsetof(gs_real_cublas, field)}
static const entry entries[] = {
    ENTRY(gemm_ex, "cublasGemmEx"),
    ENTRY(gemm_ex_64, "cublasGemmEx_64"),
    ENTRY(gemm_strided_ex, "cublasGemmStridedBatchedEx"),
    ENTRY(gemm_strided_ex_64, "cublasGemmStridedBatchedEx_64"),
    ENTRY(gemm_batched_ex, "cublasGemmBatchedEx"),
    ENTRY(gemm_batched_ex_64, "cublasGemmBatchedEx_64"),
    ENTRY(hgemm, "cublasHgemm"),
    ENTRY(hgemm_64, "cublasHgemm_64"),
    ENTRY(hgemm_strided, "cublasHgemmStridedBatched"),
    ENTRY(hgemm_strided_64, "cublasHgemmStridedBatched_64"),
    ENTRY(get_stream, "cublasGetStream_v2"),
    ENTRY(set_stream, "cublasSetStream_v2"),
    ENTRY(get_pointer_mode, "cublasGetPointerMode_v2"),
    ENTRY(get_math_mode, "cublasGetMathMode"),
};

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
static gs_real_cublas   table;
static _Atomic(const gs_real_cublas *) found;

static bool fill(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so", NULL};
    void *const library = gs_real_loaded(names, "libcublas-");
    if (!library) return false;
    for (size_t i = 0; i < GS_COUNT(entries); i++) {
        void *const address = dlsym(library, entries[i].symbol);
        memcpy((char *)&table + entries[i].offset, &address, sizeof address);
    }
    const char *const *const emulated = dlsym(library, "gemmsmith_emulated_device");
    table.emulated = emulated ? *emulated : NULL;
    return true;
}

const gs_real_cublas *gs_real_cublas_find(void)
{
    const gs_real_cublas *real = atomic_load_explicit(&found, memory_order_acquire);
    if (__builtin_expect(real != NULL, 1)) return real;
    if (pthread_mutex_lock(&finding) != 0) return NULL;
    real = atomic_load_explicit(&found, memory_order_relaxed);
    if (!real && fill()) {
        real = &table;
        atomic_store_explicit(&found, real, memory_order_release);
    }
    pthread_mutex_unlock(&finding);
    return real;
}
