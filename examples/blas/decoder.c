/* SPDX-License-Identifier: MIT
 * The cuBLAS calls that llama.cpp makes for a layer, in a program that uses only cuBLAS: an f16 weight (f16 accumulation, alpha as f16), a bf16 weight (f32 output), and
 * attention scores (a strided batch).
 *
 *     cc decoder.c -o decoder -lcublas -lcudart -lm
 *     ./decoder                                              cuBLAS
 *     LD_PRELOAD=libgemmsmith_blas.so ./decoder              our kernels, where they are faster
 *
 * decoder [TOKENS [WIDTH [CALLS]]]; default: 16 tokens of 4096 features, each product 1000 times. It prints the time of a call on the host and on the device, and compares
 * some elements with results computed on the host. Exit code 77: no usable GPU. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SKIPPED = 77, HEADS = 8, HEAD = 64 };

typedef struct matrix {
    uint16_t *host;      /* f16 or bf16 */
    void     *device;
    size_t    count;
} matrix;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* eighths / 8, for eighths from -8 to 8, which both types represent exactly. */
static uint16_t bits_of(int eighths, int bf16)
{
    const float value = (float)eighths / 8;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (bf16 || eighths == 0) return (uint16_t)(bits >> 16);
    return (uint16_t)((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - ((127 - 15) << 10)));
}

static double value_of(uint16_t half, int bf16)
{
    const int exponent = half >> (bf16 ? 7 : 10) & (bf16 ? 0xff : 0x1f), fraction = half & (bf16 ? 0x7f : 0x3ff);
    const double magnitude = exponent ? ldexp(1 + ldexp(fraction, bf16 ? -7 : -10), exponent - (bf16 ? 127 : 15)) : ldexp(fraction, bf16 ? -133 : -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

static int make(matrix *m, size_t count, int bf16, unsigned seed)
{
    m->count = count;
    m->host = malloc(count * 2);
    if (!m->host || cudaMalloc(&m->device, count * 2) != cudaSuccess) return 0;
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        m->host[i] = bits_of((int)(seed >> 24) % 17 - 8, bf16);
    }
    return cudaMemcpy(m->device, m->host, count * 2, cudaMemcpyHostToDevice) == cudaSuccess;
}

/* Element (row, column) of op(A) B, with A and B stored in columns of `inner` elements, like a layer's weight and its input. */
static double element(const matrix *weight, const matrix *input, int inner, int row, int column, int bf16)
{
    double sum = 0;
    for (int j = 0; j < inner; j++) sum += value_of(weight->host[(size_t)row * (size_t)inner + (size_t)j], bf16) * value_of(input->host[(size_t)column * (size_t)inner + (size_t)j], bf16);
    return sum;
}

static int report(const char *what, double host_us, double us, double worst, double allowed)
{
    printf("%-28s %8.2f us a call, %6.2f us of it on the host, %s\n", what, us, host_us, worst <= allowed ? "right" : "WRONG");
    return worst > allowed;
}

typedef cublasStatus_t one_call(cublasHandle_t handle, const matrix *weight, const matrix *input, void *out, int width, int tokens);

/* The output and the scalars are f16. */
static cublasStatus_t f16_weight(cublasHandle_t handle, const matrix *weight, const matrix *input, void *out, int width, int tokens)
{
    const uint16_t alpha = 0x3c00, beta = 0;
    return cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, width, tokens, width, &alpha, weight->device, CUDA_R_16F, width, input->device, CUDA_R_16F, width, &beta, out, CUDA_R_16F, width,
                        CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
}

static cublasStatus_t bf16_weight(cublasHandle_t handle, const matrix *weight, const matrix *input, void *out, int width, int tokens)
{
    const float alpha = 1, beta = 0;
    return cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, width, tokens, width, &alpha, weight->device, CUDA_R_16BF, width, input->device, CUDA_R_16BF, width, &beta, out, CUDA_R_32F, width,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
}

/* `width` keys and `tokens` queries per head. */
static cublasStatus_t scores(cublasHandle_t handle, const matrix *keys, const matrix *queries, void *out, int width, int tokens)
{
    const float alpha = 1, beta = 0;
    return cublasGemmStridedBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, width, tokens, HEAD, &alpha, keys->device, CUDA_R_16F, HEAD, (long long)width * HEAD, queries->device, CUDA_R_16F, HEAD,
                                      (long long)tokens * HEAD, &beta, out, CUDA_R_32F, width, (long long)width * tokens, HEADS, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
}

static int run(const char *what, one_call *call, cublasHandle_t handle, cudaStream_t stream, int bf16, int out_bytes, int width, int tokens, int inner, int heads, int calls)
{
    matrix weight, input;
    void *out;
    const size_t results = (size_t)width * (size_t)tokens * (size_t)heads;
    double worst = 0;
    if (!make(&weight, (size_t)width * (size_t)inner * (size_t)heads, bf16, 1) || !make(&input, (size_t)tokens * (size_t)inner * (size_t)heads, bf16, 2) ||
        cudaMalloc(&out, results * (size_t)out_bytes) != cudaSuccess) return fprintf(stderr, "%s: no memory\n", what), 1;
    if (call(handle, &weight, &input, out, width, tokens) != CUBLAS_STATUS_SUCCESS || cudaStreamSynchronize(stream) != cudaSuccess) return fprintf(stderr, "%s: failed\n", what), 1;
    const double start = now_us();
    for (int i = 0; i < calls; i++)
        if (call(handle, &weight, &input, out, width, tokens) != CUBLAS_STATUS_SUCCESS) return fprintf(stderr, "%s: failed\n", what), 1;
    const double issued = now_us();
    if (cudaStreamSynchronize(stream) != cudaSuccess) return fprintf(stderr, "%s: failed\n", what), 1;
    const double end = now_us();
    unsigned char *const got = malloc(results * (size_t)out_bytes);
    if (!got || cudaMemcpy(got, out, results * (size_t)out_bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return fprintf(stderr, "%s: no result\n", what), 1;
    for (int i = 0; i < 64; i++) {
        const int row = (int)((unsigned)i * 7919u % (unsigned)width), column = i % tokens;
        const size_t at = (size_t)column * (size_t)width + (size_t)row;
        const double should = element(&weight, &input, inner, row, column, bf16);
        float value;
        uint16_t half;
        memcpy(&value, got + at * 4 * (out_bytes == 4), 4);
        memcpy(&half, got + at * 2 * (out_bytes == 2), 2);
        const double have = out_bytes == 4 ? (double)value : value_of(half, 0), error = fabs(have - should) / fmax(1, fabs(should));
        if (!(error <= worst)) worst = error;
    }
    free(got);
    free(weight.host);
    free(input.host);
    cudaFree(weight.device);
    cudaFree(input.device);
    cudaFree(out);
    return report(what, calls ? (issued - start) / calls : 0, calls ? (end - start) / calls : 0, worst, out_bytes == 2 ? 0.05 : 1e-3);
}

int main(int count, char **words)
{
    const int tokens = count > 1 ? atoi(words[1]) : 16, width = count > 2 ? atoi(words[2]) : 4096, calls = count > 3 ? atoi(words[3]) : 1000;
    cublasHandle_t handle;
    cudaStream_t stream;
    if (tokens < 1 || width < 64 || calls < 0) return fprintf(stderr, "usage: decoder [TOKENS [WIDTH [CALLS]]]\n"), 2;
    if (cudaStreamCreate(&stream) != cudaSuccess || cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return printf("skipped: no usable GPU\n"), SKIPPED;
    cublasSetStream(handle, stream);
    cublasSetMathMode(handle, CUBLAS_TENSOR_OP_MATH);
    const int wrong = run("f16 weight, f16 sums", f16_weight, handle, stream, 0, 2, width, tokens, width, 1, calls) + run("bf16 weight, f32 out", bf16_weight, handle, stream, 1, 4, width, tokens, width, 1, calls) +
                      run("scores of 8 heads", scores, handle, stream, 0, 4, width, tokens, HEAD, HEADS, calls);
    cublasDestroy(handle);
    cudaStreamDestroy(stream);
    return wrong != 0;
}
