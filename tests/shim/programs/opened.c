/* SPDX-License-Identifier: MIT
 * A program that is not linked with cuBLAS: it opens the library with dlopen and looks up its functions, like CTranslate2 and JAX. */
#include <dlfcn.h>

#include "product.h"

typedef int create(void **);
typedef int destroy(void *);
typedef int gemm(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *, void *, int, int, int, int);
typedef int count(void);

static void take(void *library, const char *name, void *field)
{
    void *const address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    memcpy(field, &address, sizeof address);
}

int main(void)
{
    void *const library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL), *handle;
    create *make;
    destroy *drop;
    gemm *multiply;
    count *calls;
    const float alpha = 1, beta = 0;
    double worst = 0;
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    take(library, "cublasCreate_v2", &make);
    take(library, "cublasDestroy_v2", &drop);
    take(library, "cublasGemmEx", &multiply);
    take(library, "fake_blas_calls", &calls);
    matrix a = make_matrix(F16, 64, 64, 64, 1, 1), b = make_matrix(F16, 64, 32, 64, 1, 2), c = make_matrix(F16, 64, 32, 64, 1, 3);
    NEED(make(&handle));
    for (int i = 0; i < 2; i++) NEED(multiply(handle, OP_N, OP_N, 64, 32, 64, &alpha, a.device, F16, 64, b.device, F16, 64, &beta, c.device, F16, 64, COMPUTE_32F, 99));
    NEED(cudaMemcpy(c.host, c.device, c.bytes, FAKE_TO_HOST));
    for (int column = 0; column < 32; column++)
        for (int row = 0; row < 64; row++) {
            double sum = 0;
            for (int j = 0; j < 64; j++) sum += get(a.host, F16, j * 64 + row) * get(b.host, F16, column * 64 + j);
            worst = fmax(worst, fabs(get(c.host, F16, column * 64 + row) - sum));
        }
    printf("opened: %s, %s\n", calls() == 0 ? "served" : "passed on", worst < 0.05 ? "right" : "wrong");
    free_matrix(&a);
    free_matrix(&b);
    free_matrix(&c);
    NEED(drop(handle));
    NEED(dlclose(library));
    return 0;
}
