/* SPDX-License-Identifier: MIT
 * Metrics of an evaluated candidate: what its worker says of the compiled kernel, how it is launched, what its time means, and the time model's traffic of a schedule. Nothing is
 * compiled for them that was not compiled before: counters of a GPU, and instructions of a schedule's PTX there, take a profile. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate/internal.h"
#include "kernel/kernel.h"
#include "schedule/model.h"
#include "schedule/predict.h"
#include "schedule/work.h"
#include "worker/metrics.h"

#define MOST_PRODUCTS (1ll << 27)   /* of a launch that is counted: a small part of what verification launches */
#define TIMEOUT_S     30

/* Adds a metric unless it is there already: the worker's values come first. */
static void add(gs_text *out, const char *name, double value)
{
    const size_t size = strlen(name);
    for (const char *at = gs_text_string(out); *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, name, size) == 0 && at[size] == ' ') return;
    gs_metric_add(out, name, value);
}

static int threads_of(const gs_evaluator *run, const gs_candidate *c)
{
    gs_manifest manifest;
    if (c->source) return gs_manifest_parse(&manifest, c->manifest, NULL) == GS_OK ? gs_manifest_threads(&manifest) : 0;
    gs_kernel *const kernel = malloc(sizeof *kernel);
    const int threads = kernel && gs_kernel_build(kernel, &c->schedule, run->problem, run->caps, NULL) == GS_OK ? gs_manifest_threads(&kernel->manifest) : 0;
    free(kernel);
    return threads;
}

static void add_launch(gs_text *out, const gs_evaluator *run, const gs_candidate *c)
{
    const gs_profile profile = gs_profile_of(run->caps);
    const gs_launch_shape shape = {.smem = c->smem, .registers = c->registers, .threads = threads_of(run, c)};
    const int resident = shape.threads > 0 && shape.registers > 0 ? gs_launch_resident(&shape, &profile) : 0;
    add(out, "registers", shape.registers);
    add(out, "smem", shape.smem);
    if (shape.threads > 0) add(out, "threads", shape.threads);
    if (resident == 0) return;
    add(out, "blocks_sm", resident);
    add(out, "occupancy", 100.0 * resident * shape.threads / run->caps->threads_sm);
}

/* Throughput, from the time. */
static void add_speed(gs_text *out, const gs_evaluator *run, double us)
{
    add(out, "tflops", gs_problem_flops(run->problem) / us * 1e-6);
    add(out, "gbs", gs_compulsory_bytes(run->problem) / us * 1e-3);
    if (run->floor_us > 0) add(out, "floor_share", 100 * run->floor_us / us);
}

static void add_model(gs_text *out, const gs_evaluator *run, const gs_candidate *c)
{
    const gs_profile profile = gs_profile_of(run->caps);
    const gs_work work = gs_schedule_work(&c->schedule, run->problem, &profile);
    add(out, "model_us", c->predicted_us);
    add(out, "model_device_bytes", work.memory_bytes);
    add(out, "model_l2_bytes", work.blocks * (work.steps * work.feed + work.store));
}

void gs_evaluation_launch(const gs_evaluator *run, const gs_candidate *c, gs_text *lines, gs_evaluation *out)
{
    const double us = out->untrusted[0] ? out->untrusted_us : out->us;
    add_launch(lines, run, c);
    if (us > 0) add_speed(lines, run, us);
    if (!c->source) add_model(lines, run, c);
    const char *const text = gs_text_string(lines);
    if (!lines->failed && strlen(text) < sizeof out->metrics) memcpy(out->metrics, text, strlen(text) + 1);
}

void gs_evaluation_measure(const gs_environment *e, const gs_evaluator *run, const gs_candidate *c, gs_evaluation *out)
{
    gs_text lines = {0};
    const bool emulated = run->caps->emulated;
    if (e->options.without_metrics || out->step < GS_STEP_VERIFY) return;
    out->metrics_lost = run->worker->pid == 0 || c->signal != 0 || c->verdict == GS_VERDICT_FAULT || c->verdict == GS_VERDICT_HANG;   /* the worker ends, or has ended */
    if (!out->metrics_lost && (c->source || emulated)) {
        const gs_metrics_request request = {.problem = run->problem, .candidate = c->text, .source = c->source, .manifest = c->manifest, .worker = run->worker,
                                            .emulator = emulated ? run->worker : NULL, .cache = e->options.cache_path, .most = MOST_PRODUCTS, .timeout_s = TIMEOUT_S};
        if (gs_metrics_take(&request, &lines, NULL) != GS_OK) gs_text_clear(&lines);   /* metrics are optional: the verdict stays */
    }
    gs_evaluation_launch(run, c, &lines, out);
    gs_text_free(&lines);
}

/* ---- as JSON ---- */

static const char *note_of(const gs_evaluation *got)
{
    if (got->metrics[0] && got->metrics_lost) return "the worker was lost with it: of the compiled kernel alone";
    if (got->metrics[0] && got->predicted) return "predicted: times and counters are the emulated device's";
    if (got->metrics[0]) return "compiled kernel and measured time; model_: predicted by the time model; the GPU's counters are not read";
    switch (got->step) {
    case GS_STEP_TEXT:     return "none: its text was refused, nothing was compiled";
    case GS_STEP_EMULATOR: return "none: the emulated device refused it before it was compiled for this one";
    case GS_STEP_COMPILE:  return "none: it did not come through the compilation";
    default:               return "none were taken";
    }
}

void gs_evaluation_put_metrics(gs_json *json, const gs_evaluation *got)
{
    if (!got->metrics[0]) {
        gs_json_string(json, "metrics", NULL);
    } else {
        gs_json_begin(json, "metrics", '{');
        for (const char *at = got->metrics; *at;) {
            const size_t line = strcspn(at, "\n"), size = strcspn(at, " \n");
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)size, at);
            gs_json_double(json, name, strtod(at + size, NULL));
            at += line + (at[line] == '\n');
        }
        gs_json_end(json, '}');
    }
    gs_json_string(json, "metrics_note", note_of(got));
}
