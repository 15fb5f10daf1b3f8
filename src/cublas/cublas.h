/* SPDX-License-Identifier: MIT
 * cuBLAS and cuBLASLt, opened with dlopen at first use: the functions that gemmsmith calls, with declarations of their ABI written for this project. Names and values
 * are NVIDIA's (cublas_v2.h, cublasLt.h, library_types.h), the same in CUDA 12 and 13. */
#ifndef GS_CUBLAS_CUBLAS_H
#define GS_CUBLAS_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

enum { GS_CUDA_R_32F = 0, GS_CUDA_R_16F = 2, GS_CUDA_R_16BF = 14 };              /* cudaDataType */
enum { GS_CUBLAS_COMPUTE_16F = 64, GS_CUBLAS_COMPUTE_32F = 68 };                 /* cublasComputeType_t */
enum { GS_CUBLAS_OP_N = 0, GS_CUBLAS_OP_T = 1 };                                 /* cublasOperation_t */
enum { GS_CUBLAS_GEMM_DEFAULT = -1 };                                            /* cublasGemmAlgo_t */
enum {                                                                           /* cublasStatus_t */
    GS_CUBLAS_SUCCESS = 0, GS_CUBLAS_NOT_INITIALIZED = 1, GS_CUBLAS_ALLOC_FAILED = 3, GS_CUBLAS_INVALID_VALUE = 7,
    GS_CUBLAS_ARCH_MISMATCH = 8, GS_CUBLAS_MAPPING_ERROR = 11, GS_CUBLAS_EXECUTION_FAILED = 13, GS_CUBLAS_INTERNAL_ERROR = 14,
    GS_CUBLAS_NOT_SUPPORTED = 15, GS_CUBLAS_LICENSE_ERROR = 16
};

enum {                                                                           /* cublasLtMatrixLayoutAttribute_t */
    GS_LT_LAYOUT_BATCH_COUNT = 5, GS_LT_LAYOUT_BATCH_STRIDE = 6,                 /* int32, int64 */
    GS_LT_LAYOUT_BATCH_MODE = 8                                                  /* uint32; not before CUDA 13.0 */
};
enum { GS_LT_BATCH_POINTERS = 1 };                                               /* cublasLtBatchMode_t: device pointers in device memory */
enum {                                                                           /* cublasLtMatmulDescAttributes_t */
    GS_LT_DESC_TRANSA = 3, GS_LT_DESC_TRANSB = 4, GS_LT_DESC_EPILOGUE = 7,       /* int32, int32, uint32 */
    GS_LT_DESC_BIAS = 8,                                                         /* const void *, of D's type, one element per row of the column-major D */
    GS_LT_DESC_BIAS_STRIDE = 10,                                                 /* int64 */
    GS_LT_DESC_AUX = 11, GS_LT_DESC_AUX_LD = 12, GS_LT_DESC_AUX_STRIDE = 13      /* void *, of D's type, int64, int64 */
};
enum {                                                                           /* cublasLtEpilogue_t; bias, the gradient of a bias (BGRAD) and aux are bits */
    GS_LT_EPILOGUE_NONE = 1, GS_LT_EPILOGUE_RELU = 2, GS_LT_EPILOGUE_BIAS = 4, GS_LT_EPILOGUE_BGRAD = 16, GS_LT_EPILOGUE_GELU = 32,
    GS_LT_EPILOGUE_AUX = 128, GS_LT_EPILOGUE_DGELU = 64 | GS_LT_EPILOGUE_AUX
};
enum {                                                                           /* cublasLtMatmulPreferenceAttributes_t */
    GS_LT_PREF_WORKSPACE = 1,                                                    /* uint64 */
    GS_LT_PREF_REDUCTION_MASK = 3,                                               /* uint32 */
    GS_LT_PREF_ALIGN_A = 5, GS_LT_PREF_ALIGN_B = 6, GS_LT_PREF_ALIGN_C = 7, GS_LT_PREF_ALIGN_D = 8   /* uint32 */
};
enum {                                                                           /* cublasLtMatmulAlgoConfigAttributes_t */
    GS_LT_CONFIG_ID = 0, GS_LT_CONFIG_TILE = 1, GS_LT_CONFIG_SPLITK = 2, GS_LT_CONFIG_REDUCTION = 3, GS_LT_CONFIG_SWIZZLE = 4,
    GS_LT_CONFIG_CUSTOM = 5, GS_LT_CONFIG_STAGES = 6,                            /* 32 bits up to here */
    GS_LT_CONFIG_CLUSTER = 8                                                     /* uint16 */
};
enum {                                                                           /* cublasLtReductionScheme_t: where and in which type the partial sums of split K are
                                                                                    added */
    GS_LT_REDUCTION_NONE = 0,
    GS_LT_REDUCTION_INPLACE = 1,                                                 /* in D, in D's type */
    GS_LT_REDUCTION_COMPUTE_TYPE = 2,                                            /* in the workspace, in the accumulator's type */
    GS_LT_REDUCTION_OUTPUT_TYPE = 4                                              /* in the workspace, in D's type */
};
enum { GS_LT_CAP_ALIGN_A = 16, GS_LT_CAP_ALIGN_B = 17, GS_LT_CAP_ALIGN_C = 18, GS_LT_CAP_ALIGN_D = 19 };   /* cublasLtMatmulAlgoCapAttributes_t: uint32 */

typedef struct gs_lt_algo {
    uint64_t data[8];
} gs_lt_algo;

typedef struct gs_lt_heuristic {
    gs_lt_algo algo;
    size_t     workspace;
    int        state;         /* cublasStatus_t: the other fields are valid only if it is 0 */
    float      waves;
    int        reserved[4];
} gs_lt_heuristic;

typedef void *gs_lt_handle;
typedef void *gs_lt_desc;
typedef void *gs_lt_layout;
typedef void *gs_lt_preference;
typedef void *gs_cublas_handle;

typedef struct gs_cublaslt {
    size_t      (*get_version)(void);
    int (*create)(gs_lt_handle *handle);
    int (*destroy)(gs_lt_handle handle);
    int (*desc_create)(gs_lt_desc *desc, int compute_type, int scale_type);
    int (*desc_destroy)(gs_lt_desc desc);
    int (*desc_set)(gs_lt_desc desc, int attribute, const void *value, size_t size);
    int (*layout_create)(gs_lt_layout *layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
    int (*layout_destroy)(gs_lt_layout layout);
    int (*layout_set)(gs_lt_layout layout, int attribute, const void *value, size_t size);
    int (*preference_create)(gs_lt_preference *preference);
    int (*preference_destroy)(gs_lt_preference preference);
    int (*preference_set)(gs_lt_preference preference, int attribute, const void *value, size_t size);
    int (*heuristic)(gs_lt_handle handle, gs_lt_desc desc, gs_lt_layout a, gs_lt_layout b, gs_lt_layout c, gs_lt_layout d,
                     gs_lt_preference preference, int asked, gs_lt_heuristic *results, int *returned);
    int (*config_get)(const gs_lt_algo *algo, int attribute, void *value, size_t size, size_t *written);
    int (*check)(gs_lt_handle handle, gs_lt_desc desc, gs_lt_layout a, gs_lt_layout b, gs_lt_layout c, gs_lt_layout d, const gs_lt_algo *algo,
                 gs_lt_heuristic *result);
    int (*cap_get)(const gs_lt_algo *algo, int attribute, void *value, size_t size, size_t *written);
    int (*matmul)(gs_lt_handle handle, gs_lt_desc desc, const void *alpha, const void *a, gs_lt_layout a_layout, const void *b,
                  gs_lt_layout b_layout, const void *beta, const void *c, gs_lt_layout c_layout, void *d, gs_lt_layout d_layout,
                  const gs_lt_algo *algo, void *workspace, size_t workspace_size, void *stream);
} gs_cublaslt;

typedef struct gs_cublas {
    int (*create)(gs_cublas_handle *handle);
    int (*destroy)(gs_cublas_handle handle);
    int (*get_version)(gs_cublas_handle handle, int *version);
    int (*set_stream)(gs_cublas_handle handle, void *stream);
    int (*set_workspace)(gs_cublas_handle handle, void *workspace, size_t size);
    int (*gemm)(gs_cublas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int type_a,
                int64_t lda, const void *b, int type_b, int64_t ldb, const void *beta, void *c, int type_c, int64_t ldc, int compute_type, int algo);
    int (*gemm_batched)(gs_cublas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                        int type_a, int64_t lda, long long stride_a, const void *b, int type_b, int64_t ldb, long long stride_b,
                        const void *beta, void *c, int type_c, int64_t ldc, long long stride_c, int64_t batch, int compute_type, int algo);
    /* a, b and c: in device memory. */
    int (*gemm_pointers)(gs_cublas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *const *a,
                         int type_a, int64_t lda, const void *const *b, int type_b, int64_t ldb, const void *beta, void *const *c, int type_c, int64_t ldc,
                         int64_t batch, int compute_type, int algo);
    /* NULL before CUDA 12.5. The parameters of each group are arrays on the host; the pointers to matrices are in device memory. */
    int (*gemm_grouped)(gs_cublas_handle handle, const int *op_a, const int *op_b, const int *m, const int *n, const int *k, const void *alpha,
                        const void *const *a, int type_a, const int *lda, const void *const *b, int type_b, const int *ldb, const void *beta,
                        void *const *c, int type_c, const int *ldc, int groups, const int *group_size, int compute_type);
} gs_cublas;

/* The library's functions, loaded once per process and never unloaded; NULL with NO_LIBRARY in *error, which lists where it was searched. $GEMMSMITH_CUBLASLT
 * ($GEMMSMITH_CUBLAS) names the one file to open; otherwise the library that the process has loaded already, then the system's search path, $CUDA_HOME/lib64 and
 * /usr/local/cuda/lib64. A failure is tried again at the next call. */
const gs_cublaslt *gs_cublaslt_open(gs_error *error);
const gs_cublas   *gs_cublas_open(gs_error *error);

/* The name of a cublasStatus_t: "CUBLAS_STATUS_NOT_SUPPORTED". Static. */
const char *gs_cublas_status(int status);

/* The cudaDataType of a gs_type. */
int gs_cuda_type(gs_type type);

typedef union gs_cublas_scalar {
    float    f32;
    uint16_t f16;
} gs_cublas_scalar;

typedef struct gs_cublas_math {
    int              compute_type, scale_type;
    gs_cublas_scalar alpha, beta;
} gs_cublas_math;

gs_cublas_math gs_cublas_math_of(const gs_problem *problem);

/* With f16 accumulation cuBLAS takes alpha and beta as f16. False if the conversion would flush, round or overflow one of them. */
bool gs_cublas_fits_f16(const gs_problem *problem);

#endif
