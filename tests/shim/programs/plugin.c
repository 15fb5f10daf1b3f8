/* SPDX-License-Identifier: MIT
 * A shared library that uses one version of cuBLAS: PLUGIN reports what that cuBLAS does with a product, and whether another version was called. */
#include "product.h"

const char *PLUGIN(int algo);
const char *PLUGIN(int algo)
{
    void *handle;
    const float alpha = 1, beta = 0;
    matrix a = make_matrix(F16, 64, 64, 64, 1, 1), b = make_matrix(F16, 64, 32, 64, 1, 2), c = make_matrix(F16, 64, 32, 64, 1, 3);
    if (cublasCreate_v2(&handle) != 0) return "no handle";
    const int before = fake_blas_calls();
    const int status = cublasGemmEx(handle, OP_N, OP_N, 64, 32, 64, &alpha, a.device, F16, 64, b.device, F16, 64, &beta, c.device, F16, 64, COMPUTE_32F, algo);
    const int calls = fake_blas_calls() - before;
    cublasDestroy_v2(handle);
    free_matrix(&a);
    free_matrix(&b);
    free_matrix(&c);
    return status ? "refused" : calls ? "passed on" : "served";
}
