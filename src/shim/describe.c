/* SPDX-License-Identifier: MIT
 * Converts a call of cuBLAS to a problem. cuBLAS is column-major: its C is our row-major D, its first operand our B, its second our A, its m our N
 * (docs/internals/baseline.md). */
#include "shim/shim.h"

#include "cublas/cublas.h"
#include "problem/layout.h"

enum { OP_C = 2, DEFAULT_TENSOR_OP = 99 };   /* for real numbers conjugate transpose is transpose; older name of the default algorithm */

bool gs_shim_type(int cuda, gs_type *out)
{
    *out = cuda == GS_CUDA_R_16F ? GS_F16 : cuda == GS_CUDA_R_16BF ? GS_BF16 : GS_F32;
    return cuda == GS_CUDA_R_16F || cuda == GS_CUDA_R_16BF || cuda == GS_CUDA_R_32F;
}

static bool to_types(const gs_shim_call *call, gs_problem *out)
{
    gs_type b;
    if (!gs_shim_type(call->type_b, &out->in) || !gs_shim_type(call->type_a, &b) || !gs_shim_type(call->type_c, &out->out) || b != out->in || out->in == GS_F32) return false;
    if (call->compute == GS_CUBLAS_COMPUTE_16F) {
        out->acc = GS_F16;
        return out->in == GS_F16 && out->out == GS_F16;
    }
    out->acc = GS_F32;
    return call->compute == GS_CUBLAS_COMPUTE_32F && (out->out == out->in || out->out == GS_F32);
}

bool gs_shim_stride(long long given, int64_t ld, int64_t rows, int64_t *out)
{
    *out = given == 0 ? GS_SAME_MATRIX : given == gs_packed_stride(ld, rows) ? 0 : given;
    return given >= 0;
}

static bool to_strides(const gs_shim_call *call, gs_problem *out)
{
    if (call->batch == 1 || call->pointers) return true;
    const int64_t rows_a = gs_is_a_transposed(out->layout) ? out->k : out->m, rows_b = gs_is_b_transposed(out->layout) ? out->n : out->k;
    const bool good = gs_shim_stride(call->stride_b, out->lda, rows_a, &out->stride_a) && gs_shim_stride(call->stride_a, out->ldb, rows_b, &out->stride_b) &&
                      gs_shim_stride(call->stride_c, out->ldc, out->m, &out->stride_c);
    out->stride_d = out->stride_c;
    return good && call->stride_c > 0;
}

gs_shim_reason gs_shim_describe(const gs_shim_call *call, bool reads_c, gs_problem *out)
{
    *out = (gs_problem){.size = sizeof *out, .m = call->n, .n = call->m, .k = call->k, .lda = call->ldb, .ldb = call->lda, .ldc = call->ldc, .ldd = call->ldc, .batch = call->batch,
                        .alpha = 1, .beta = reads_c ? 1.0f : 0.0f};
    if (call->pointers) out->matrices = GS_MATRICES_POINTERS;
    if (!to_types(call, out)) return GS_SHIM_TYPES;
    if (call->algo != GS_CUBLAS_GEMM_DEFAULT && call->algo != DEFAULT_TENSOR_OP) return GS_SHIM_ALGORITHM;
    if (call->op_a < 0 || call->op_a > OP_C || call->op_b < 0 || call->op_b > OP_C) return GS_SHIM_SIZES;
    out->layout = (gs_layout)((call->op_a != GS_CUBLAS_OP_N ? GS_TN : GS_NN) | (call->op_b != GS_CUBLAS_OP_N ? GS_NT : GS_NN));
    if (out->m <= 0 || out->n <= 0 || out->k <= 0 || out->batch <= 0 || !to_strides(call, out)) return GS_SHIM_SIZES;
    return GS_SHIM_SERVED;
}
