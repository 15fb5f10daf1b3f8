/* SPDX-License-Identifier: MIT
 * The real cuBLAS functions: their declarations, and how they are found. */
#ifndef GS_SHIM_REAL_H
#define GS_SHIM_REAL_H

#include <stddef.h>
#include <stdint.h>

/* Function types for the int and the int64_t interface. Enums and cublasStatus_t are int in the ABI. */
#define GS_REAL_GEMM_EX(name, number)                                                                                                                           \
    typedef int name(void *handle, int op_a, int op_b, number m, number n, number k, const void *alpha, const void *a, int type_a, number lda, const void *b,   \
                     int type_b, number ldb, const void *beta, void *c, int type_c, number ldc, int compute, int algo)
#define GS_REAL_GEMM_STRIDED_EX(name, number)                                                                                                                   \
    typedef int name(void *handle, int op_a, int op_b, number m, number n, number k, const void *alpha, const void *a, int type_a, number lda,                  \
                     long long stride_a, const void *b, int type_b, number ldb, long long stride_b, const void *beta, void *c, int type_c, number ldc,          \
                     long long stride_c, number batch, int compute, int algo)
#define GS_REAL_GEMM_BATCHED_EX(name, number)                                                                                                                   \
    typedef int name(void *handle, int op_a, int op_b, number m, number n, number k, const void *alpha, const void *const *a, int type_a, number lda,           \
                     const void *const *b, int type_b, number ldb, const void *beta, void *const *c, int type_c, number ldc, number batch, int compute, int algo)
#define GS_REAL_HGEMM(name, number)                                                                                                                             \
    typedef int name(void *handle, int op_a, int op_b, number m, number n, number k, const void *alpha, const void *a, number lda, const void *b, number ldb,   \
                     const void *beta, void *c, number ldc)
#define GS_REAL_HGEMM_STRIDED(name, number)                                                                                                                     \
    typedef int name(void *handle, int op_a, int op_b, number m, number n, number k, const void *alpha, const void *a, number lda, long long stride_a,          \
                     const void *b, number ldb, long long stride_b, const void *beta, void *c, number ldc, long long stride_c, number batch)

GS_REAL_GEMM_EX(gs_real_gemm_ex, int);
GS_REAL_GEMM_EX(gs_real_gemm_ex_64, int64_t);
GS_REAL_GEMM_STRIDED_EX(gs_real_gemm_strided_ex, int);
GS_REAL_GEMM_STRIDED_EX(gs_real_gemm_strided_ex_64, int64_t);
GS_REAL_GEMM_BATCHED_EX(gs_real_gemm_batched_ex, int);
GS_REAL_GEMM_BATCHED_EX(gs_real_gemm_batched_ex_64, int64_t);
GS_REAL_HGEMM(gs_real_hgemm, int);
GS_REAL_HGEMM(gs_real_hgemm_64, int64_t);
GS_REAL_HGEMM_STRIDED(gs_real_hgemm_strided, int);
GS_REAL_HGEMM_STRIDED(gs_real_hgemm_strided_64, int64_t);

/* NULL: the library lacks the function, so no program that is linked to it calls it. */
typedef struct gs_real_cublas gs_real_cublas;
struct gs_real_cublas {
    gs_real_gemm_ex            *gemm_ex;
    gs_real_gemm_ex_64         *gemm_ex_64;
    gs_real_gemm_strided_ex    *gemm_strided_ex;
    gs_real_gemm_strided_ex_64 *gemm_strided_ex_64;
    gs_real_gemm_batched_ex    *gemm_batched_ex;
    gs_real_gemm_batched_ex_64 *gemm_batched_ex_64;
    gs_real_hgemm              *hgemm;
    gs_real_hgemm_64           *hgemm_64;
    gs_real_hgemm_strided      *hgemm_strided;
    gs_real_hgemm_strided_64   *hgemm_strided_64;
    int (*get_stream)(void *handle, void **stream);
    int (*set_stream)(void *handle, void *stream);
    int (*get_pointer_mode)(void *handle, int *mode);
    int (*get_math_mode)(void *handle, int *mode);
    const char *emulated;      /* emulated device whose memory this library uses, "emu:h200", if the library exports its name (only one without a GPU does); else NULL */
};

typedef int gs_real_lt_matmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                              void *d, void *d_layout, const void *algo, void *workspace, size_t workspace_size, void *stream);
typedef int gs_real_lt_heuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int asked, void *results, int *returned);

typedef struct gs_real_cublaslt {
    gs_real_lt_matmul    *matmul;
    gs_real_lt_heuristic *heuristic;
    size_t (*get_version)(void);
    int (*desc_create)(void **desc, int compute_type, int scale_type);
    int (*desc_destroy)(void *desc);
    int (*desc_get)(void *desc, int attribute, void *value, size_t size, size_t *written);
    int (*layout_get)(void *layout, int attribute, void *value, size_t size, size_t *written);
    const char *emulated;
} gs_real_cublaslt;

/* The functions for the code at `caller`: a process may have several versions, and a handle belongs to one of them. Taken from the dependencies of the caller's
 * object, else from the first library loaded; NULL: none is loaded. Any thread; takes no lock if this caller was seen before. The library stays loaded. */
const gs_real_cublas   *gs_real_cublas_of(const void *caller);
const gs_real_cublaslt *gs_real_cublaslt_of(const void *caller);

/* The return address of a function that programs call. */
#define GS_CALLER __builtin_return_address(0)

#endif
