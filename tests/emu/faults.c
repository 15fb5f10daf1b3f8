/* SPDX-License-Identifier: MIT
 * What the checker of the emulated device finds and does not find: the project's own kernels, and split.cu, with one planted fault each (an edit that must match the
 * source), and with changes that keep them right. A planted fault must give one of its findings, or if that is impossible a wrong result, with every seed; an honest
 * variant must give the right result and no finding. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/half.h"
#include "base/random.h"
#include "base/text.h"
#include "emu/emu.h"
#include "kernel/kernel.h"
#include "loaded/loaded.h"
#include "problem/layout.h"
#include "verify/verify.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 1   /* the release build tests more seeds */
#else
#define SEEDS 4
#endif
enum { EDITS = 3, WRONG_RESULT = GS_EMU_FINDING_KINDS };

typedef struct edit {
    const char *from, *to;   /* from occurs exactly once in the source */
} edit;

typedef struct variant {
    const char *name, *base;
    edit        edits[EDITS];
    int         accepted[6];   /* finding kinds plus 1, or WRONG_RESULT + 1; none: an honest variant */
} variant;

#define TICKETS  "f16:40x50x70:tn gs_tickets"
#define TURNS    "f16:40x50x70:tn gs_turns"

#define F(kind) (GS_EMU_##kind##_FINDING + 1)
#define RESULT  (WRONG_RESULT + 1)

static const variant variants[] = {
#include "family_faults.h"   /* tests/family/<name>_faults.h of every family */
    /* ---- blocks that communicate through global memory, planted ---- */
    {"no fence before the ticket", TICKETS, {{"    __threadfence();   /* the sums */\n", ""}}, {F(UNORDERED)}},
    {"one thread fences, before the barrier", TICKETS, {{"    __threadfence();   /* the sums */\n", "    if (thread == 0) __threadfence();\n"}}, {F(UNORDERED)}},
    {"a fence for the block only", TICKETS, {{"    __threadfence();   /* the sums */\n", "    __threadfence_block();\n"}}, {F(UNORDERED)}},
    {"no barrier before the ticket", TICKETS, {{"    __syncthreads();   /* of all threads */\n", ""}}, {F(UNORDERED)}},
    {"the ticket before the sums", TICKETS, {{"    if (inside) sums[slice * EACH] = sum_of_slice(p, row, col, slice);\n", ""},
      {"    if (!last) return;\n", "    if (inside) sums[slice * EACH] = sum_of_slice(p, row, col, slice);\n    __syncthreads();\n    if (!last) return;\n"}}, {F(UNORDERED), F(UNINITIALIZED)}},
    {"the last slice adds up, whatever its ticket", TICKETS, {{"last = atomicAdd(ticket, 1u) == SLICES - 1;", "atomicAdd(ticket, 1u), last = slice == SLICES - 1;"}}, {F(UNORDERED), F(UNINITIALIZED)}},
    {"no fence behind the ticket", TICKETS, {{"    __threadfence();   /* the ticket */\n", ""}}, {F(UNORDERED)}},
    {"all slices leave their sums in one place", TICKETS, {{"sums[slice * EACH] = sum_of_slice", "sums[0] = sum_of_slice"}}, {F(UNORDERED)}},
    {"every slice writes D", TICKETS, {{"    if (!last) return;\n", ""}, {"sum += sums[i * EACH];", "sum += i == slice ? sums[i * EACH] : 0;"}}, {F(UNORDERED)}},
    {"a ticket whose scope is the block", TICKETS, {{"    __threadfence();   /* the sums */\n", ""},
      {"last = atomicAdd(ticket, 1u) == SLICES - 1;", "{\n        unsigned taken;\n        asm volatile(\"atom.acq_rel.cta.global.add.u32 %0, [%1], 1;\" : \"=r\"(taken) : \"l\"(ticket) : \"memory\");\n"
       "        last = taken == SLICES - 1;\n    }"}, {"    __threadfence();   /* the ticket */\n", ""}}, {F(UNORDERED)}},
    {"a relaxed ticket between fences, whose scope is the cluster", TICKETS,
     {{"last = atomicAdd(ticket, 1u) == SLICES - 1;", "{\n        unsigned taken;\n        asm volatile(\"atom.relaxed.cluster.global.add.u32 %0, [%1], 1;\" : \"=r\"(taken) : \"l\"(ticket) : \"memory\");\n"
       "        last = taken == SLICES - 1;\n    }"}}, {F(UNORDERED)}},
    {"the turn is given without a release", TURNS, {{"st.release.gpu", "st.relaxed.gpu"}}, {F(UNORDERED)}},
    {"the turn is given before all are done", TURNS, {{"    __syncthreads();   /* all threads are done */\n", ""}}, {F(UNORDERED)}},
    {"the turn is looked at without an acquire", TURNS, {{"ld.acquire.gpu", "ld.relaxed.gpu"}}, {F(UNORDERED)}},
    {"nobody waits for the turn", TURNS, {{"        while (look(turn) != slice) continue;\n", "        look(turn);\n"}}, {F(UNORDERED), F(UNINITIALIZED)}},
    /* ---- honest ---- */
    {"tickets", TICKETS, {{0}}, {0}},
    {"turns", TURNS, {{0}}, {0}},
    {"the fence by the thread that takes the ticket", TICKETS, {{"    __threadfence();   /* the sums */\n", ""}, {"    if (thread == 0) last = ", "    if (thread == 0) __threadfence();\n    if (thread == 0) last = "}}, {0}},
    {"a ticket that releases and acquires", TICKETS, {{"    __threadfence();   /* the sums */\n", ""},
      {"last = atomicAdd(ticket, 1u) == SLICES - 1;", "{\n        unsigned taken;\n        asm volatile(\"atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;\" : \"=r\"(taken) : \"l\"(ticket) : \"memory\");\n"
       "        last = taken == SLICES - 1;\n    }"}, {"    __threadfence();   /* the ticket */\n", ""}}, {0}},
    {"the ticket's thread fences on both sides", TICKETS, {{"    __threadfence();   /* the sums */\n", ""},
      {"    if (thread == 0) last = atomicAdd(ticket, 1u) == SLICES - 1;", "    if (thread == 0) {\n        __threadfence();\n        last = atomicAdd(ticket, 1u) == SLICES - 1;\n        __threadfence();\n    }"},
      {"    __threadfence();   /* the ticket */\n", ""}}, {0}},
    {"volatile sums instead of the second fence", TICKETS, {{"    __threadfence();   /* the ticket */\n", ""}, {"    float *const sums = (float *)p.workspace + TILES_MOST + tile * SLICES", "    volatile float *const sums = (float *)p.workspace + TILES_MOST + tile * SLICES"}}, {0}},
    {"the ticket is given back by an exchange", TICKETS, {{"if (thread == 0) *ticket = 0;", "if (thread == 0) atomicExch(ticket, 0u);"}}, {0}},
    {"turns by fences", TURNS, {{"st.release.gpu", "fence.acq_rel.gpu;\\nst.relaxed.gpu"}, {"ld.acquire.gpu.global.u32 %0, [%1];", "ld.relaxed.gpu.global.u32 %0, [%1];\\nfence.acq_rel.gpu;"}}, {0}},
};

/* ---- patching ---- */

static char *patched(const gs_kernel *kernel, const edit *edits, const char *name)
{
    gs_text text = {0};
    gs_kernel_add_text(&text, kernel);
    for (int i = 0; i < EDITS && edits[i].from; i++) {
        const char *const at = strstr(gs_text_string(&text), edits[i].from);
        if (!at || strstr(at + 1, edits[i].from)) fail_msg("%s: edit %d stands %s in the source", name, i + 1, at ? "more than once" : "nowhere");
        gs_text next = {0};
        gs_text_add_bytes(&next, text.data, (size_t)(at - text.data));
        gs_text_add(&next, edits[i].to);
        gs_text_add(&next, at + strlen(edits[i].from));
        gs_text_free(&text);
        text = next;
    }
    return gs_text_take(&text);
}

/* ---- data: small integers, so that every sum is exact ---- */

typedef struct matrices {
    gs_problem problem;
    uint16_t  *a, *b;
    void      *c, *d, *bias, *aux, *sums;   /* sums: of D's columns */
    gs_pointer of_d;                        /* D in device memory, also if args has arrays of pointers */
    gs_args    args;
} matrices;

static uint16_t encode(const gs_problem *p, float value) { return p->in == GS_F16 ? gs_f32_to_f16(value) : gs_f32_to_bf16(value); }

/* Writes a number of D's type. */
static void encode_out(const gs_problem *p, void *to, size_t i, float value)
{
    if (p->out == GS_F32)
        ((float *)to)[i] = value;
    else
        ((uint16_t *)to)[i] = p->out == GS_F16 ? gs_f32_to_f16(value) : gs_f32_to_bf16(value);
}

static float small(gs_random *random) { return (float)(int)gs_random_below(random, 3) - 1; }

static gs_pointer to_device(gs_device *device, const void *from, size_t bytes)
{
    gs_pointer at = 0;
    gs_error error = {0};
    if (device->ops->alloc(device, bytes, &at, &error) != GS_OK || (from && device->ops->copy_in(device, at, from, bytes, &error) != GS_OK)) fail_msg("%s", error.text);
    return at;
}

/* Makes arrays of pointers to consecutive matrices. */
static void make_pointers(matrices *m, gs_device *device)
{
    const gs_problem *const p = &m->problem;
    const void *of[] = {m->args.a, m->args.b, m->args.c, m->args.d};
    gs_pointer *const pointers = malloc((size_t)p->batch * sizeof *pointers);
    assert_non_null(pointers);
    for (int operand = 0; operand < 4; operand++) {
        const gs_shape s = gs_shape_of(p, "abcd"[operand]);
        for (int64_t i = 0; i < p->batch; i++) pointers[i] = (gs_pointer)(uintptr_t)of[operand] + (gs_pointer)(i * s.stride) * gs_type_size(s.type);
        of[operand] = (void *)(uintptr_t)to_device(device, pointers, (size_t)p->batch * sizeof *pointers);
    }
    m->args.a = of[0];
    m->args.b = of[1];
    m->args.c = of[2];
    m->args.d = (void *)(uintptr_t)of[3];
    free(pointers);
}

/* Scales of a row or column: of either sign, some 0; row and column scales differ somewhere. */
static float scale_of(int64_t i, bool of_column) { return of_column ? (float)(i % 4 + 1) / 2 : (float)(i % 5) - 2; }

static const float *scales_on(gs_device *device, int64_t count, bool of_columns)
{
    float *const scales = malloc((size_t)count * sizeof *scales);
    assert_non_null(scales);
    for (int64_t i = 0; i < count; i++) scales[i] = scale_of(i, of_columns);
    const gs_pointer at = to_device(device, scales, (size_t)count * sizeof *scales);
    free(scales);
    return (const float *)(uintptr_t)at;
}

static void make_matrices(matrices *m, gs_device *device)
{
    const gs_problem *const p = &m->problem;
    gs_random random = {7};
    const size_t bytes_a = gs_problem_bytes(p, 'a'), bytes_b = gs_problem_bytes(p, 'b'), bytes_c = gs_problem_bytes(p, 'd');
    const size_t size = gs_type_size(p->out), bytes_bias = (size_t)(p->bias == GS_BIAS_M ? p->m : p->n) * size;
    m->a = malloc(bytes_a);
    m->b = malloc(bytes_b);
    m->c = calloc(1, bytes_c);
    m->d = malloc(bytes_c);
    m->bias = malloc(bytes_bias);
    m->aux = malloc(gs_problem_bytes(p, 'g') + 1);
    m->sums = malloc(gs_problem_bytes(p, 'e') + 1);
    assert_true(m->a && m->b && m->c && m->d && m->bias && m->aux && m->sums);
    for (size_t i = 0; i < bytes_a / 2; i++) m->a[i] = encode(p, small(&random));
    for (size_t i = 0; i < bytes_b / 2; i++) m->b[i] = encode(p, small(&random));
    for (size_t i = 0; p->beta != 0 && i < bytes_c / size; i++) encode_out(p, m->c, i, small(&random));
    for (size_t i = 0; i < bytes_bias / size; i++) encode_out(p, m->bias, i, small(&random));
    m->args = (gs_args){.bias = p->bias && p->bias != GS_DBIAS ? (void *)(uintptr_t)to_device(device, m->bias, bytes_bias) : NULL, .a = (void *)(uintptr_t)to_device(device, m->a, bytes_a), .b = (void *)(uintptr_t)to_device(device, m->b, bytes_b),
                        .c = (void *)(uintptr_t)to_device(device, m->c, bytes_c), .d = (void *)(uintptr_t)to_device(device, NULL, bytes_c)};
    if (p->bias == GS_DBIAS) m->args.bias = (void *)(uintptr_t)to_device(device, NULL, gs_problem_bytes(p, 'e'));
    if (p->scales & GS_SCALE_M) m->args.scale_m = scales_on(device, p->m, false);
    if (p->scales & GS_SCALE_N) m->args.scale_n = scales_on(device, p->n, true);
    const bool gradient = gs_is_gradient(p->activation);
    for (size_t i = 0; gradient && i < gs_problem_bytes(p, 'g') / size; i++) encode_out(p, m->aux, i, small(&random));
    if (gs_has_aux(p)) m->args.aux = (void *)(uintptr_t)to_device(device, gradient ? m->aux : NULL, gs_problem_bytes(p, 'g'));
    m->of_d = (gs_pointer)(uintptr_t)m->args.d;
    if (p->matrices) make_pointers(m, device);
}

static void free_matrices(matrices *m)
{
    free(m->a);
    free(m->b);
    free(m->c);
    free(m->d);
    free(m->bias);
    free(m->aux);
    free(m->sums);
}

static float decode(gs_type type, const void *from, size_t i)
{
    if (type == GS_F32) return ((const float *)from)[i];
    const uint16_t bits = ((const uint16_t *)from)[i];
    return type == GS_F16 ? gs_f16_to_f32(bits) : gs_bf16_to_f32(bits);
}

/* A matrix converted to integers, with K as the inner extent. */
static int16_t *whole(const matrices *m, const uint16_t *from, int64_t rows, int64_t row_step, int64_t k_step)
{
    int16_t *const numbers = malloc((size_t)(rows * m->problem.k) * sizeof *numbers);
    assert_non_null(numbers);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = 0; k < m->problem.k; k++) numbers[row * m->problem.k + k] = (int16_t)decode(m->problem.in, from, (size_t)(row * row_step + k * k_step));
    return numbers;
}

/* A times B for all matrices of the last problem. Most neighbours in the table, and all seeds, use the same problem, whose data never change. */
static struct {
    char text[GS_PROBLEM_TEXT];
    int *sum;
} product;

static const int *multiplied(const matrices *m)
{
    const gs_problem *const p = &m->problem;
    char text[GS_PROBLEM_TEXT];
    if (strcmp(gs_problem_format(p, text), product.text) == 0) return product.sum;
    const bool ta = gs_is_a_transposed(p->layout), tb = gs_is_b_transposed(p->layout);
    const int64_t columns = gs_columns_of_b(p);
    int *const sum = realloc(product.sum, (size_t)(p->batch * p->m * columns) * sizeof *sum);
    assert_non_null(sum);
    for (int64_t index = 0; index < p->batch; index++) {
        int16_t *const a = whole(m, m->a + index * p->lda * (ta ? p->k : p->m), p->m, ta ? 1 : p->lda, ta ? p->lda : 1);
        int16_t *const b = whole(m, m->b + index * p->ldb * (tb ? columns : p->k), columns, tb ? p->ldb : 1, tb ? 1 : p->ldb);
        for (int64_t row = 0; row < p->m; row++)
            for (int64_t col = 0; col < columns; col++) {
                int total = 0;
                for (int64_t k = 0; k < p->k; k++) total += a[row * p->k + k] * b[col * p->k + k];
                sum[(index * p->m + row) * columns + col] = total;
            }
        free(a);
        free(b);
    }
    snprintf(product.text, sizeof product.text, "%s", text);
    return product.sum = sum;
}

/* The same for a relu gate without bias, scales or C. */
static bool right_of_gate(const matrices *m, const int *sum, int64_t row, int64_t n)
{
    const gs_problem *const p = &m->problem;
    float half[2];
    bool kept = true;
    for (int up = 0; up < 2; up++) {
        const int64_t col = p->gate == GS_GATE_STACKED ? n + up * p->n : 2 * n + up;
        half[up] = (float)sum[row * 2 * p->n + col];
        kept &= !p->aux || decode(p->out, m->aux, (size_t)(row * gs_shape_of(p, 'g').ld + col)) == half[up];
    }
    float rounded;
    encode_out(p, &rounded, 0, half[0] > 0 ? half[0] * half[1] : 0);
    return kept && decode(p->out, m->d, (size_t)(row * p->ldd + n)) == decode(p->out, &rounded, 0);
}

/* Whether D and all other outputs are right: A times B, with scales, C (laid out like D), bias, relu with aux or drelu by aux, and column sums, as far as the problem has
 * them. */
static bool right_result(const matrices *m)
{
    const gs_problem *const p = &m->problem;
    const int *const sum = multiplied(m);
    bool right = true;
    for (int64_t row = 0; row < p->batch * p->m && right; row++)   /* matrices follow each other */
        for (int64_t n = 0; n < p->n && right; n++) {
            const size_t at = (size_t)(row * p->ldd + n);
            if (p->gate) {
                right = right_of_gate(m, sum, row, n);
                continue;
            }
            float value = (float)sum[row * p->n + n];
            if (p->scales & GS_SCALE_M) value *= scale_of(row % p->m, false);
            if (p->scales & GS_SCALE_N) value *= scale_of(n, true);
            value += p->beta * decode(p->out, m->c, at);
            if (m->args.bias && p->bias != GS_DBIAS) value += decode(p->out, m->bias, (size_t)(p->bias == GS_BIAS_M ? row % p->m : n));
            const bool kept = !p->aux || decode(p->out, m->aux, (size_t)(row * gs_shape_of(p, 'g').ld + n)) == value;
            if (p->activation == GS_RELU && value < 0) value = 0;
            if (p->activation == GS_DRELU && decode(p->out, m->aux, (size_t)(row * gs_shape_of(p, 'g').ld + n)) <= 0) value = 0;
            right = kept && decode(p->out, m->d, at) == value;
        }
    for (int64_t n = 0; n < p->n && p->bias == GS_DBIAS && right; n++) {
        int total = 0;
        for (int64_t row = 0; row < p->batch * p->m; row++) total += sum[row * p->n + n];
        right = decode(p->out, m->sums, (size_t)n) == decode(p->out, (const uint16_t[]){encode(p, (float)total)}, 0);
    }
    return right;
}

/* ---- one run ---- */

typedef struct outcome {
    gs_status      status;
    int            findings;
    gs_emu_finding first;
    bool           right;
    char           text[512];
} outcome;

/* Reads an entry of split.cu. Returns its text, which the caller frees. */
static char *read_split(const char *entry, gs_kernel *kernel)
{
    char manifest[512], *text = NULL;
    size_t size;
    gs_error error = {0};
    snprintf(manifest, sizeof manifest, "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nworkspace 256+cdiv(m,16)*cdiv(n,16)*4096\n"
             "zeroed 256\nentry %s\ngrid cdiv(n,16) cdiv(m,16) 4\nblock 16 16 1\n", entry);
    *kernel = (gs_kernel){.name = "split.cu"};
    if (gs_manifest_parse(&kernel->manifest, manifest, &error) != GS_OK || gs_file_read(GS_SOURCE_DIR "/tests/emu/split.cu", 1 << 20, &text, &size, &error) != GS_OK)
        fail_msg("%s", error.text);
    return text;
}

static void prepare(const variant *v, gs_device *device, matrices *m, gs_kernel *kernel, char **source)
{
    char problem[128], *text = NULL;
    gs_error error = {0};
    gs_schedule schedule;
    snprintf(problem, sizeof problem, "%.*s", (int)strcspn(v->base, " "), v->base);
    const char *const schedule_string = v->base + strcspn(v->base, " ") + 1;
    bool fine = gs_problem_parse(&m->problem, problem, &error) == GS_OK;
    if (strncmp(schedule_string, "gs_", 3) == 0)
        kernel->source = text = read_split(schedule_string, kernel);
    else
        fine = fine && gs_schedule_parse(&schedule, schedule_string, &error) == GS_OK && gs_schedule_check(&schedule, &m->problem, &device->caps, &error) == GS_OK &&
               gs_kernel_build(kernel, &schedule, &m->problem, &device->caps, &error) == GS_OK;
    if (!fine) fail_msg("%s: %s: %s", v->name, v->base, error.text);
    *source = patched(kernel, v->edits, v->name);
    kernel->source = *source;
    free(text);
}

static outcome run_once(const variant *v, uint64_t seed, const char *options)
{
    char name[64], *source;
    gs_device *device;
    matrices m = {0};
    gs_kernel kernel;
    gs_loaded *loaded = NULL;
    gs_error error = {0};
    outcome result = {0};
    const gs_emu_finding *findings;
    snprintf(name, sizeof name, "emu:h200,threads=1,seed=%llu%s", (unsigned long long)seed, options);
    if (gs_device_open(&device, name, NULL, &error) != GS_OK) fail_msg("%s", error.text);
    prepare(v, device, &m, &kernel, &source);
    make_matrices(&m, device);
    gs_pointer workspace = 0;
    result.status = gs_loaded_create(&loaded, device, &kernel, &m.problem, &error);
    if (result.status == GS_OK) result.status = gs_loaded_alloc(loaded, &workspace, &error);
    if (result.status != GS_OK) fail_msg("%s: %s", v->name, error.text);
    m.args.workspace = (void *)(uintptr_t)workspace;
    if (m.problem.constant && gs_loaded_set_mode(loaded, GS_LAUNCH_DEPENDENT, &error) != GS_OK) fail_msg("%s", error.text);   /* so that B is read early */
    result.status = gs_loaded_run(loaded, &m.args, NULL, &error);
    snprintf(result.text, sizeof result.text, "%s", error.text);
    result.findings = gs_emu_findings(device, &findings);
    if (result.findings) result.first = findings[0];
    const size_t bytes = gs_problem_bytes(&m.problem, 'd');
    if (result.status == GS_OK && m.problem.bias == GS_DBIAS) result.status = device->ops->copy_out(device, m.sums, (gs_pointer)(uintptr_t)m.args.bias, gs_problem_bytes(&m.problem, 'e'), &error);
    if (result.status == GS_OK && m.args.aux) result.status = device->ops->copy_out(device, m.aux, (gs_pointer)(uintptr_t)m.args.aux, gs_problem_bytes(&m.problem, 'g'), &error);
    if (result.status == GS_OK && device->ops->copy_out(device, m.d, m.of_d, bytes, &error) == GS_OK) result.right = right_result(&m);
    gs_loaded_destroy(&loaded);
    if (workspace) device->ops->free(device, workspace);
    for (int i = 0; i < 4; i++) device->ops->free(device, (gs_pointer)(uintptr_t)(i == 0 ? m.args.a : i == 1 ? m.args.b : i == 2 ? m.args.c : m.args.d));
    if (m.args.bias) device->ops->free(device, (gs_pointer)(uintptr_t)m.args.bias);
    if (m.args.aux) device->ops->free(device, (gs_pointer)(uintptr_t)m.args.aux);
    gs_device_close(&device);
    free_matrices(&m);
    free(source);
    return result;
}

static bool is_honest(const variant *v) { return v->accepted[0] == 0; }

static bool accepts(const variant *v, const outcome *o)
{
    if (is_honest(v)) return o->status == GS_OK && o->findings == 0 && o->right;
    for (size_t i = 0; i < GS_COUNT(v->accepted) && v->accepted[i]; i++) {
        if (v->accepted[i] == RESULT && o->findings == 0 && o->status == GS_OK && !o->right) return true;
        if (v->accepted[i] != RESULT && o->findings > 0 && (int)o->first.kind + 1 == v->accepted[i]) return true;
    }
    return false;
}

/* Runs all honest or all planted variants with every seed. Findings of planted faults must have a source line. */
static void check_variants(bool honest)
{
    int missed = 0, count = 0;
    for (size_t i = 0; i < GS_COUNT(variants); i++) {
        const variant *const v = &variants[i];
        if (is_honest(v) != honest) continue;
        count++;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const outcome o = run_once(v, seed, "");
            const bool placed = o.findings == 0 || (o.first.line > 0 && o.first.ptx_line > 0 && o.first.file[0]);
            if (accepts(v, &o) && placed) continue;
            print_message("%s (%s), seed %d: %s%s %s\n", v->name, v->base, (int)seed, o.findings ? gs_emu_finding_name(o.first.kind) : "no finding",
                          o.findings ? "" : o.right ? ", right result" : ", wrong result", o.text);
            missed++;
            break;
        }
    }
    print_message("%d %s variants\n", count, honest ? "honest" : "planted");
    assert_true(count >= 30);
    assert_int_equal(missed, 0);
}

static void test_planted_faults(void **state)
{
    (void)state;
    check_variants(false);
}

static void test_honest_variants(void **state)
{
    (void)state;
    check_variants(true);
}

/* Without the checker a fault has the effect that it has on hardware: a hang is still a deadlock, a race may give a wrong result. */
static void test_without_the_checker(void **state)
{
    (void)state;
    static const char *const names[] = {"no wait for the full barrier", "no wait before the epilogue", "too few bytes expected", "no wait for the copies"};
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        int wrong = 0;
        for (size_t j = 0; j < GS_COUNT(variants); j++)
            for (uint64_t seed = 1; strcmp(variants[j].name, names[i]) == 0 && seed <= SEEDS; seed++) {
                const outcome o = run_once(&variants[j], seed, ",check=0");
                wrong += !o.right;
            }
        if (wrong == 0) fail_msg("%s: right results under every seed: copies are too prompt", names[i]);
    }
}

int main(void)
{
    gs_error error;
    if (!gs_compiler_version(&error)) {
        print_message("skipped: %s\n", error.text);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_planted_faults), cmocka_unit_test(test_honest_variants), cmocka_unit_test(test_without_the_checker)};
    const int failed = cmocka_run_group_tests_name("the checker of the emulated device", tests, NULL, NULL);
    free(product.sum);
    return failed;
}
