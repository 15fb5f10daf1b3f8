/* SPDX-License-Identifier: MIT
 * The whole library in one page: open the GPU, choose a kernel for a problem, run it, check the result.
 *
 *     cc matmul.c -o matmul $(pkg-config --cflags --libs gemmsmith) && ./matmul
 *     GEMMSMITH_DEVICE=emu:h200 ./matmul      without a GPU: an emulated device executes the kernel
 *
 * This needs an installed library; a build has the program as build/release/examples/example_matmul. Exit code 77: no usable GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <gemmsmith/gemmsmith.h>

#include "numbers.h"

enum { M = 257, N = 512, K = 320, SKIPPED = 77 };

/* Computes every element of D = A * B on the CPU, with B stored N x K. Returns how many differ. */
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

/* Small random integers, also as f16 in device memory. A program with CUDA could use memory of cudaMalloc instead. */
static gs_status make_matrix(gs_context *context, int8_t *values, int count, uint32_t seed, void **out, gs_error *error)
{
    static uint16_t bits[N * K];
    for (int i = 0; i < count; i++) {
        values[i] = (int8_t)small_integer(&seed);
        bits[i] = f16_bits(values[i]);
    }
    const gs_status status = gs_memory_create(context, (size_t)count * sizeof *bits, out, error);
    return status == GS_OK ? gs_memory_write(context, *out, bits, (size_t)count * sizeof *bits, error) : status;
}

int main(void)
{
    static int8_t a[M * K], b[N * K];
    static float d[M * N];
    gs_error error = {GS_OK};
    gs_context *context;
    gs_config config = gs_config_default();
    config.device = getenv("GEMMSMITH_DEVICE");   /* may be an emulated device, because all memory below is allocated by the library */
    if (gs_open(&context, &config, &error) != GS_OK) {
        printf("skipped: %s. GEMMSMITH_DEVICE=emu:h200 runs this without a GPU\n", error.text);
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

    void *at = NULL, *bt = NULL, *to = NULL;
    if (make_matrix(context, a, M * K, 1, &at, &error) != GS_OK || make_matrix(context, b, N * K, 2, &bt, &error) != GS_OK ||
        gs_memory_create(context, sizeof d, &to, &error) != GS_OK) {
        fprintf(stderr, "no device memory: %s\n", error.text);
        return 1;
    }
    const gs_args args = gs_args_make(at, bt, NULL, to);
    const gs_status status = gs_plan_run(plan, &args, NULL);   /* the default stream */
    if (status != GS_OK || gs_memory_read(context, d, to, sizeof d, &error) != GS_OK) {
        fprintf(stderr, "the run failed: %s\n", status != GS_OK ? gs_status_string(status) : error.text);
        return 1;
    }
    const int wrong = count_wrong(a, b, d);
    printf("%d x %d x %d: %s (%d of %d elements wrong)\n", M, N, K, wrong ? "WRONG" : "right", wrong, M * N);

    gs_memory_destroy(context, at);
    gs_memory_destroy(context, bt);
    gs_memory_destroy(context, to);
    gs_plan_destroy(&plan);
    gs_close(&context);
    return wrong != 0;
}
