/* SPDX-License-Identifier: MIT
 * libgemmsmith_blas_audit.so, named in LD_AUDIT: for programs that find cuBLAS with dlopen and dlsym, which LD_PRELOAD does not reach. The dynamic linker calls this
 * library for every symbol that is bound to libcublas, and gets a function of this file instead. That function calls libgemmsmith_blas.so, which is opened in the
 * program's namespace at the first call: an audit library has a linker namespace and a C library of its own, in which the driver cannot be opened. If
 * libgemmsmith_blas.so cannot be opened, the real functions are called. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "shim/real.h"

#define LIBRARY "libgemmsmith_blas.so"

typedef struct redirect {
    const char *name;
    void       *function;   /* in this file */
    void       *real;       /* in libcublas */
    void       *served;     /* in LIBRARY; NULL: not opened */
} redirect;

static redirect       redirects[13];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Opens the library in the folder of this one. */
static void open_library(void)
{
    static const char here = 0;
    Dl_info info = {0};
    char path[4096];
    if (!dladdr(&here, &info) || !info.dli_fname) return;
    const char *const slash = strrchr(info.dli_fname, '/');
    const int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    if (snprintf(path, sizeof path, "%.*s" LIBRARY, folder, info.dli_fname) >= (int)sizeof path) return;
    void *const library = dlmopen(LM_ID_BASE, path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "gemmsmith error: blas: %s; all calls are passed on\n", dlerror());
        return;
    }
    for (redirect *r = redirects; r->name; r++) r->served = dlsym(library, r->name);
}

static void *target(const redirect *r)
{
    pthread_once(&once, open_library);
    return r->served ? r->served : r->real;
}

#define CALL(index, type, ...)                              \
    do {                                                    \
        void *const address_ = target(&redirects[index]);   \
        type *function_;                                    \
        memcpy(&function_, &address_, sizeof function_);    \
        return function_(__VA_ARGS__);                      \
    } while (0)

static int to_gemm_ex(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda, const void *b, int type_b,
                      int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algo)
{
    CALL(0, gs_real_gemm_ex, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algo);
}

static int to_gemm_strided_ex(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda, long long stride_a,
                              const void *b, int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c, int ldc, long long stride_c, int batch,
                              int compute, int algo)
{
    CALL(1, gs_real_gemm_strided_ex, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc, stride_c, batch,
                                     compute, algo);
}

static int to_gemm_batched_ex(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *const *a, int type_a, int lda,
                              const void *const *b, int type_b, int ldb, const void *beta, void *const *c, int type_c, int ldc, int batch, int compute, int algo)
{
    CALL(2, gs_real_gemm_batched_ex, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, batch, compute, algo);
}

static int to_hgemm(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, const void *b, int ldb, const void *beta,
                    void *c, int ldc)
{
    CALL(3, gs_real_hgemm, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

static int to_hgemm_strided(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, long long stride_a, const void *b,
                            int ldb, long long stride_b, const void *beta, void *c, int ldc, long long stride_c, int batch)
{
    CALL(4, gs_real_hgemm_strided, handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch);
}

static int to_gemm_ex_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a, int64_t lda, const void *b,
                         int type_b, int64_t ldb, const void *beta, void *c, int type_c, int64_t ldc, int compute, int algo)
{
    CALL(5, gs_real_gemm_ex_64, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algo);
}

static int to_gemm_strided_ex_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a, int64_t lda,
                                 long long stride_a, const void *b, int type_b, int64_t ldb, long long stride_b, const void *beta, void *c, int type_c, int64_t ldc,
                                 long long stride_c, int64_t batch, int compute, int algo)
{
    CALL(6, gs_real_gemm_strided_ex_64, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc, stride_c,
                                        batch, compute, algo);
}

static int to_gemm_batched_ex_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *const *a, int type_a, int64_t lda,
                                 const void *const *b, int type_b, int64_t ldb, const void *beta, void *const *c, int type_c, int64_t ldc, int64_t batch,
                                 int compute, int algo)
{
    CALL(7, gs_real_gemm_batched_ex_64, handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, batch, compute, algo);
}

static int to_hgemm_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                       const void *beta, void *c, int64_t ldc)
{
    CALL(8, gs_real_hgemm_64, handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

static int to_hgemm_strided_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda, long long stride_a,
                               const void *b, int64_t ldb, long long stride_b, const void *beta, void *c, int64_t ldc, long long stride_c, int64_t batch)
{
    CALL(9, gs_real_hgemm_strided_64, handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch);
}

static int to_lt_matmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, const void *beta, const void *c,
                        void *c_layout, void *d, void *d_layout, const void *algo, void *workspace, size_t workspace_size, void *stream)
{
    CALL(10, gs_real_lt_matmul, handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algo, workspace, workspace_size, stream);
}

static int to_lt_heuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int asked, void *results, int *returned)
{
    CALL(11, gs_real_lt_heuristic, handle, desc, a, b, c, d, preference, asked, results, returned);
}

/* In the order of CALL's numbers. Function pointers are stored as data pointers, as dlsym returns them. */
static redirect redirects[] = {
    {"cublasGemmEx", (void *)to_gemm_ex, NULL, NULL},
    {"cublasGemmStridedBatchedEx", (void *)to_gemm_strided_ex, NULL, NULL},
    {"cublasGemmBatchedEx", (void *)to_gemm_batched_ex, NULL, NULL},
    {"cublasHgemm", (void *)to_hgemm, NULL, NULL},
    {"cublasHgemmStridedBatched", (void *)to_hgemm_strided, NULL, NULL},
    {"cublasGemmEx_64", (void *)to_gemm_ex_64, NULL, NULL},
    {"cublasGemmStridedBatchedEx_64", (void *)to_gemm_strided_ex_64, NULL, NULL},
    {"cublasGemmBatchedEx_64", (void *)to_gemm_batched_ex_64, NULL, NULL},
    {"cublasHgemm_64", (void *)to_hgemm_64, NULL, NULL},
    {"cublasHgemmStridedBatched_64", (void *)to_hgemm_strided_64, NULL, NULL},
    {"cublasLtMatmul", (void *)to_lt_matmul, NULL, NULL},
    {"cublasLtMatmulAlgoGetHeuristic", (void *)to_lt_heuristic, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};

/* ---- callbacks of the dynamic linker ---- */

enum { OTHERS, CUBLAS, OURS };   /* what an object is; stored in its cookie */

/* For cuBLAS and cuBLASLt: if two versions are loaded, only the first is served. LIBRARY uses that one for callers whose library it cannot determine. */
static const uintptr_t *first[2];

static bool begins(const char *path, const char *with)
{
    const char *const slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, with, strlen(with)) == 0;
}

__attribute__((visibility("default"))) unsigned int la_version(unsigned int version);
unsigned int la_version(unsigned int version) { return GS_MIN(version, (unsigned int)LAV_CURRENT); }

__attribute__((visibility("default"))) unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);
unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    if (space != LM_ID_BASE) return 0;
    *cookie = begins(map->l_name, "libcublas") ? CUBLAS : begins(map->l_name, "libgemmsmith") ? OURS : OTHERS;
    const bool lt = begins(map->l_name, "libcublasLt");
    if (*cookie == CUBLAS && !first[lt]) first[lt] = cookie;
    return *cookie == CUBLAS ? LA_FLG_BINDTO | LA_FLG_BINDFROM : LA_FLG_BINDFROM;
}

/* Calls from inside the real library, and from ours, are not redirected. */
__attribute__((visibility("default"))) uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to, unsigned int *flags, const char *name);
uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to, unsigned int *flags, const char *name)
{
    (void)index;
    (void)flags;
    if (*to != CUBLAS || *from != OTHERS || strncmp(name, "cublas", 6) != 0) return symbol->st_value;
    for (redirect *r = redirects; r->name; r++) {
        if (strcmp(r->name, name) != 0) continue;
        if (first[strncmp(name, "cublasLt", 8) == 0] != to) break;
        r->real = (void *)symbol->st_value;
        return (uintptr_t)r->function;
    }
    return symbol->st_value;
}
