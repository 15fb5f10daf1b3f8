/* SPDX-License-Identifier: MIT
 * A program that captures two products, one called before and one not. It launches the graph twice, with an ordinary call of the product between the launches. */
#include "product.h"

enum { K = 256 };

static void *handle, *stream;

static int multiply(const matrix *a, const matrix *b, const matrix *c, int m, int n, int k, float beta)
{
    const float alpha = 1;
    return cublasGemmEx(handle, OP_N, OP_N, m, n, k, &alpha, a->device, F16, a->ld, b->device, F16, b->ld, &beta, c->device, F16, c->ld, COMPUTE_32F, 99);
}

static double first_of(const matrix *c)
{
    uint16_t value;
    NEED(cudaMemcpy(&value, c->device, sizeof value, FAKE_TO_HOST));
    return gs_f16_to_f32(value);
}

static double product_of(const matrix *a, const matrix *b, int k)
{
    double sum = 0;
    for (int j = 0; j < k; j++) sum += get(a->host, F16, (int64_t)j * a->ld) * get(b->host, F16, j);
    return sum;
}

int main(void)
{
    void *graph;
    matrix a = make_matrix(F16, 64, K, 64, 1, 1), b = make_matrix(F16, K, 32, K, 1, 2), c = make_matrix(F16, 64, 32, 64, 1, 3), d = make_matrix(F16, 64, 32, 64, 1, 4);
    const double one = product_of(&a, &b, K), before = get(c.host, F16, 0);
    NEED(cublasCreate_v2(&handle));
    NEED(cudaStreamCreate(&stream));
    NEED(cublasSetStream_v2(handle, stream));
    NEED(multiply(&a, &b, &d, 64, 32, K, 1));
    NEED(cudaStreamSynchronize(stream));
    NEED(cudaMemcpy(d.device, d.host, d.bytes, FAKE_TO_DEVICE));
    const int calls = fake_blas_calls();

    NEED(cudaStreamBeginCapture(stream, 0));
    NEED(multiply(&a, &b, &c, 64, 32, K, 1));
    const int known = fake_blas_calls();
    NEED(multiply(&a, &b, &d, 32, 32, K, 0));
    const int new = fake_blas_calls();
    NEED(cudaStreamEndCapture(stream, &graph));
    printf("captured, known: %s\ncaptured, new: %s\n", known == calls ? "served" : "passed on", new == known ? "served" : "passed on");
    printf("not run yet: %s\n", first_of(&c) == before ? "right" : "wrong");
    NEED(cudaGraphLaunch(graph, stream));
    NEED(multiply(&a, &b, &c, 64, 32, K, 1));
    NEED(cudaGraphLaunch(graph, stream));
    NEED(cudaStreamSynchronize(stream));
    printf("three times: %s\n", fabs(first_of(&c) - (before + 3 * one)) <= 0.01 * fmax(1, fabs(before + 3 * one)) ? "right" : "wrong");
    NEED(cudaGraphDestroy(graph));
    matrix *const all[] = {&a, &b, &c, &d};
    for (int i = 0; i < 4; i++) free_matrix(all[i]);
    NEED(cudaStreamDestroy(stream));
    NEED(cublasDestroy_v2(handle));
    return 0;
}
