/* SPDX-License-Identifier: MIT
 * Plans inside a CUDA graph: a chain of two multiplications, E = (A * B) * C, captured once and replayed. Running a plan
 * allocates nothing and may be captured; plans must be created before the capture.
 *
 *     cc graph.c -o graph $(pkg-config --cflags --libs gemmsmith) -ldl && ./graph
 *
 * This needs an installed library; a build has the program as build/release/examples/example_graph. Exit code 77: no usable GPU. */
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "cuda_memory.h"
#include "numbers.h"

enum { SIZE = 256, SKIPPED = 77, THREAD_LOCAL = 1, NON_BLOCKING = 1, BYTES = SIZE * SIZE * 2 };

static int fail(const char *what, const gs_error *error)
{
    fprintf(stderr, "%s%s%s\n", what, error ? ": " : "", error ? error->text : "");
    return 1;
}

/* The chain: two runs on the stream, captured or not. */
static gs_status run_chain(gs_plan *plan, const uint64_t *matrix, void *stream)
{
    void *at[5];
    for (int i = 0; i < 5; i++) at[i] = (void *)(uintptr_t)matrix[i];
    const gs_args first = gs_args_make(at[0], at[1], NULL, at[3]), second = gs_args_make(at[3], at[2], NULL, at[4]);
    const gs_status status = gs_plan_run(plan, &first, stream);
    return status == GS_OK ? gs_plan_run(plan, &second, stream) : status;
}

int main(void)
{
    static uint16_t host[SIZE * SIZE], direct[SIZE * SIZE], replayed[SIZE * SIZE];
    cuda gpu;
    gs_error error = {GS_OK};
    gs_context *context;
    if (!cuda_open(&gpu) || gs_open(&context, NULL, &error) != GS_OK) {
        printf("skipped: no usable GPU%s%s\n", *error.text ? ": " : "", error.text);
        return SKIPPED;
    }
    const gs_problem problem = gs_problem_make(GS_F16, GS_NN, SIZE, SIZE, SIZE);
    gs_plan *plan;
    if (gs_plan_create(context, &problem, &plan, &error) != GS_OK) return fail("no plan", &error);

    uint64_t matrix[5] = {0};   /* A, B, C, A * B, E */
    uint32_t seed = 1;
    for (int i = 0; i < 5; i++) {
        for (int at = 0; at < SIZE * SIZE; at++) host[at] = f16_bits(small_integer(&seed));
        if (gpu.alloc(&matrix[i], BYTES) != 0 || gpu.copy_in(matrix[i], host, BYTES) != 0) return fail("no device memory", NULL);
    }
    void *stream, *graph, *executable;
    if (gpu.stream_create(&stream, NON_BLOCKING) != 0) return fail("no stream", NULL);

    if (run_chain(plan, matrix, stream) != GS_OK || gpu.stream_wait(stream) != 0) return fail("the direct run failed", NULL);
    if (gpu.copy_out(direct, matrix[4], BYTES) != 0) return fail("copy failed", NULL);

    if (gpu.capture_begin(stream, THREAD_LOCAL) != 0) return fail("capture failed", NULL);
    const gs_status status = run_chain(plan, matrix, stream);
    if (gpu.capture_end(stream, &graph) != 0 || status != GS_OK || gpu.instantiate(&executable, graph, 0) != 0)
        return fail("capture failed", NULL);

    if (gpu.fill(matrix[4], 0xffffffffu, BYTES / 4) != 0) return fail("fill failed", NULL);
    for (int i = 0; i < 100; i++)
        if (gpu.graph_launch(executable, stream) != 0) return fail("replay failed", NULL);
    if (gpu.stream_wait(stream) != 0 || gpu.copy_out(replayed, matrix[4], BYTES) != 0) return fail("replay failed", NULL);
    const int same = memcmp(direct, replayed, BYTES) == 0;
    printf("%s\n100 replays of a captured chain: %s\n", gs_plan_why(plan),
           same ? "the same result as direct runs" : "ANOTHER result than direct runs");

    for (int i = 0; i < 5; i++) gpu.release(matrix[i]);
    gs_plan_destroy(&plan);
    gs_close(&context);
    return !same;
}
