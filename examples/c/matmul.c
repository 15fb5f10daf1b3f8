/* SPDX-License-Identifier: MIT
 * The whole library in one page: open the GPU, choose a kernel for a problem, run it, check the result.
 *
 *     cc matmul.c -o matmul $(pkg-config --cflags --libs gemmsmith) -ldl && ./matmul
 *
 * That is for an installed library; a build has it as build/release/examples/example_matmul. Exit code 77: no usable GPU. */
#include <stdlib.h>
#include <gemmsmith/gemmsmith.h>

#include "cuda_memory.h"

enum { M = 257, N = 512, K = 320, SKIPPED = 77 };

/* D = A * B with B stored N x K: every element, on the CPU. Returns how many differ. */
static int count_wrong(const int8_t *a, const int8_t *b, const float *d)
{
    int wrong = 0;
    for (int row = 0; row < M; row++) {
        for (int col = 0; col < N; col++) {
            int sum = 0;
            for (int k = 0; k < K; k++) sum += a[row * K + k] * b[col * K + k];
            if (d[row * N + col] != (float)sum) wrong++;
        }
    }
    return wrong;
}

/* Small random integers, and the same as f16 in device memory. */
static uint64_t make_matrix(const cuda *gpu, int8_t *values, int count, uint32_t seed)
{
    uint64_t pointer = 0;
    uint16_t *const bits = malloc((size_t)count * sizeof *bits);
    for (int i = 0; bits && i < count; i++) {
        values[i] = (int8_t)small_integer(&seed);
        bits[i] = f16_bits(values[i]);
    }
    if (!bits || gpu->alloc(&pointer, (size_t)count * sizeof *bits) != 0 ||
        gpu->copy_in(pointer, bits, (size_t)count * sizeof *bits) != 0)
        pointer = 0;
    free(bits);
    return pointer;
}

int main(void)
{
    static int8_t a[M * K], b[N * K];
    static float d[M * N];
    cuda gpu;
    gs_error error = {0};
    gs_context *context;
    if (!cuda_open(&gpu) || gs_open(&context, NULL, &error) != GS_OK) {
        printf("skipped: no usable GPU%s%s\n", *error.text ? ": " : "", error.text);
        return SKIPPED;
    }

    /* f16 inputs, f32 accumulator, f32 result; B stored N x K, like a weight matrix */
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, M, N, K);
    problem.out = GS_F32;
    gs_plan *plan;
    if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) {
        fprintf(stderr, "no plan: %s\n", error.text);
        return 1;
    }
    printf("chosen: %s\n", gs_plan_why(plan));

    uint64_t to = 0;
    const uint64_t at = make_matrix(&gpu, a, M * K, 1), bt = make_matrix(&gpu, b, N * K, 2);
    if (!at || !bt || gpu.alloc(&to, sizeof d) != 0) {
        fprintf(stderr, "no device memory\n");
        return 1;
    }
    const gs_args args = gs_args_make((const void *)(uintptr_t)at, (const void *)(uintptr_t)bt, NULL, (void *)(uintptr_t)to);
    const gs_status status = gs_plan_run(plan, &args, NULL);
    if (status != GS_OK || gpu.stream_wait(NULL) != 0 || gpu.copy_out(d, to, sizeof d) != 0) {
        fprintf(stderr, "the run failed: %s\n", gs_status_string(status));
        return 1;
    }
    const int wrong = count_wrong(a, b, d);
    printf("%d x %d x %d: %s (%d of %d elements wrong)\n", M, N, K, wrong ? "WRONG" : "right", wrong, M * N);

    gpu.release(at);
    gpu.release(bt);
    gpu.release(to);
    gs_plan_destroy(&plan);
    gs_close(&context);
    return wrong != 0;
}
