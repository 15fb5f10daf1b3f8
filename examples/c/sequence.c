/* SPDX-License-Identifier: MIT
 * A chain as one launch: y = f(x * W) * V, where f is the program's own work between two plans. The chain is captured once; each x then needs two cheap calls,
 * gs_sequence_set with its address and gs_sequence_launch.
 *
 *     cc sequence.c -o sequence $(pkg-config --cflags --libs gemmsmith) && ./sequence
 *     GEMMSMITH_DEVICE=emu:h200 ./sequence      without a GPU
 *
 * This needs an installed library; a build has the program as build/release/examples/example_sequence. Exit code 77: no usable GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <gemmsmith/gemmsmith.h>

#include "numbers.h"

enum { SIZE = 16, INPUTS = 3, COUNT = SIZE * SIZE, SKIPPED = 77 };

typedef struct matrix {
    int   value[COUNT];
    void *at;              /* the same values as f16 on the device */
} matrix;

static int fail(const char *what, const gs_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static gs_status make_matrix(gs_context *context, matrix *m, uint32_t seed, gs_error *error)
{
    uint16_t bits[COUNT];
    for (int i = 0; i < COUNT; i++) {
        m->value[i] = small_integer(&seed);
        bits[i] = f16_bits(m->value[i]);
    }
    const gs_status status = gs_memory_create(context, sizeof bits, &m->at, error);
    return status == GS_OK ? gs_memory_write(context, m->at, bits, sizeof bits, error) : status;
}

/* D = A * B on the CPU, with B stored N x K. */
static void multiply(const int *a, const int *b, int *d)
{
    for (int row = 0; row < SIZE; row++)
        for (int col = 0; col < SIZE; col++) {
            int sum = 0;
            for (int k = 0; k < SIZE; k++) sum += a[row * SIZE + k] * b[col * SIZE + k];
            d[row * SIZE + col] = sum;
        }
}

/* The work between the plans. A CUDA program would launch its own kernel on this stream; here it is another multiplication, h * U. */
typedef struct between {
    const gs_plan *plan;
    gs_args        args;
} between;

static gs_status put_between(void *self, gs_stream stream)
{
    const between *const b = self;
    return gs_plan_run(b->plan, &b->args, stream);
}

int main(void)
{
    static matrix x[INPUTS], w, u, v, h, g;
    static float y[COUNT];
    gs_error error = {GS_OK};
    gs_context *context;
    gs_config config = gs_config_default();
    config.device = getenv("GEMMSMITH_DEVICE");   /* may be an emulated device, because all memory below is allocated by the library */
    if (gs_open(&context, &config, &error) != GS_OK) {
        printf("skipped: %s. GEMMSMITH_DEVICE=emu:h200 runs this without a GPU\n", error.text);
        return SKIPPED;
    }
    gs_problem inner = gs_problem_make(GS_F16, GS_TN, SIZE, SIZE, SIZE);
    inner.constant = GS_CONSTANT_B;   /* weights, which do not change while the chain runs */
    gs_problem last = inner;
    last.out = GS_F32;
    gs_plan *plan, *plan_last;
    if (gs_plan_create(context, &inner, &plan, &error) != GS_OK || gs_plan_create(context, &last, &plan_last, &error) != GS_OK) return fail("no plan", &error);

    matrix *const all[] = {&x[0], &x[1], &x[2], &w, &u, &v, &h, &g};
    void *to = NULL;
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (make_matrix(context, all[i], i + 1, &error) != GS_OK) return fail("no device memory", &error);
    if (gs_memory_create(context, sizeof y, &to, &error) != GS_OK) return fail("no device memory", &error);

    const gs_args first = gs_args_make(x[0].at, w.at, NULL, h.at), second = gs_args_make(g.at, v.at, NULL, to);
    between middle = {plan, gs_args_make(h.at, u.at, NULL, g.at)};
    gs_sequence *sequence;
    int first_index;
    if (gs_sequence_create(context, &sequence, &error) != GS_OK || gs_sequence_add(sequence, plan, &first, &first_index, &error) != GS_OK ||
        gs_sequence_add_call(sequence, put_between, &middle, &error) != GS_OK || gs_sequence_add(sequence, plan_last, &second, NULL, &error) != GS_OK ||
        gs_sequence_build(sequence, &error) != GS_OK)
        return fail("no sequence", &error);

    int wrong = 0;
    for (int i = 0; i < INPUTS; i++) {
        const gs_args next = gs_args_make(x[i].at, w.at, NULL, h.at);
        if (gs_sequence_set(sequence, first_index, &next, &error) != GS_OK) return fail("not changed", &error);
        const gs_status status = gs_sequence_launch(sequence, NULL);   /* the default stream */
        if (status != GS_OK) {
            fprintf(stderr, "not launched: %s\n", gs_status_string(status));
            return 1;
        }
        if (gs_memory_read(context, y, to, sizeof y, &error) != GS_OK) return fail("not run", &error);
        multiply(x[i].value, w.value, h.value);
        multiply(h.value, u.value, g.value);
        int want[COUNT];
        multiply(g.value, v.value, want);
        for (int at = 0; at < COUNT; at++) wrong += y[at] != (float)want[at];
    }
    printf("%d launches of three layers captured once: %s (%d of %d elements wrong)\n", INPUTS, wrong ? "WRONG" : "right", wrong, INPUTS * COUNT);

    gs_sequence_destroy(&sequence);
    gs_plan_destroy(&plan);
    gs_plan_destroy(&plan_last);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) gs_memory_destroy(context, all[i]->at);
    gs_memory_destroy(context, to);
    gs_close(&context);
    return wrong != 0;
}
