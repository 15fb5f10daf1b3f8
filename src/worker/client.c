/* SPDX-License-Identifier: MIT */
#include "worker/client.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "worker/wire.h"

/* ---- requests ---- */

static gs_json begin(gs_text *text, const char *op, const char *problem)
{
    gs_json json = gs_json_into(text);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "op", op);
    gs_json_string(&json, "problem", problem);
    return json;
}

static void put_kernel(gs_json *json, const gs_worker_kernel *kernel)
{
    if (!kernel->name) return;
    gs_json_begin(json, "kernel", '{');
    gs_json_string(json, "name", kernel->name);
    gs_json_string(json, "source", kernel->source);
    gs_json_string(json, "manifest", kernel->manifest);
    if (kernel->compile_s > 0) gs_json_double(json, "compile_s", kernel->compile_s);
    gs_json_end(json, '}');
}

static void put_rest(gs_json *json, const gs_worker_subject *s)
{
    put_kernel(json, &s->kernel);
    if (s->cache) gs_json_string(json, "cache", s->cache);
    gs_json_int(json, "seed", s->seed);
    if (s->dependent) gs_json_bool(json, "dependent", true);
}

static gs_status send(gs_worker *worker, gs_text *text, double timeout_s, json_t **reply, gs_error *error)
{
    *reply = NULL;
    const gs_status status = text->failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a request")
                                          : gs_worker_request(worker, gs_text_string(text), timeout_s, reply, error);
    gs_text_free(text);
    return status;
}

static void take_string(const json_t *object, const char *name, char *to, size_t size)
{
    snprintf(to, size, "%s", gs_reply_string(object, name, ""));
}

/* ---- hello ---- */

gs_status gs_worker_hello(gs_worker *worker, gs_caps *caps, int *cublaslt, int *nvrtc, gs_error *error)
{
    json_t *reply;
    GS_TRY(gs_worker_request(worker, "{\"op\":\"hello\"}", 60, &reply, error));
    gs_caps_take(reply, caps);
    if (cublaslt) *cublaslt = (int)gs_reply_int(reply, "cublaslt", 0);
    if (nvrtc) *nvrtc = (int)gs_reply_int(reply, "nvrtc", 0);
    json_decref(reply);
    if (caps->cc <= 0 || caps->sms <= 0 || !caps->slug[0])
        return gs_fail(error, GS_ERROR_DEVICE_UNKNOWN, NULL, "the worker of %s does not say what its device can do",
                       worker->device);
    return GS_OK;
}

/* ---- compile, verify, metrics ---- */

gs_status gs_worker_compile(gs_worker *worker, const gs_worker_subject *subject, double timeout_s, gs_worker_compiled *out, gs_error *error)
{
    gs_text text = {0};
    json_t *reply;
    gs_json json = begin(&text, "compile", subject->problem);
    gs_json_string(&json, "candidate", subject->candidate);
    put_rest(&json, subject);
    gs_json_end(&json, '}');
    GS_TRY(send(worker, &text, timeout_s, &reply, error));
    out->registers = (int)gs_reply_int(reply, "registers", out->registers);
    out->smem = (int)gs_reply_int(reply, "smem", out->smem);
    out->unfiltered = gs_reply_bool(reply, "unfiltered", false);
    json_decref(reply);
    return GS_OK;
}

gs_status gs_worker_precompile(gs_worker *worker, const gs_worker_subject *subject, const gs_caps *caps, bool edges, double timeout_s, gs_error *error)
{
    gs_text text = {0};
    json_t *reply;
    gs_json json = begin(&text, "precompile", subject->problem);
    gs_json_string(&json, "candidate", subject->candidate);
    if (edges) gs_json_bool(&json, "edges", true);
    gs_caps_put(&json, caps);
    put_rest(&json, subject);
    gs_json_end(&json, '}');
    GS_TRY(send(worker, &text, timeout_s, &reply, error));
    json_decref(reply);
    return GS_OK;
}

gs_status gs_worker_verify(gs_worker *worker, const gs_worker_subject *subject, uint32_t parts, double timeout_s, gs_verdict *out, gs_error *error)
{
    gs_text text = {0};
    json_t *reply;
    gs_json json = begin(&text, "verify", subject->problem);
    gs_json_string(&json, "candidate", subject->candidate);
    gs_json_int(&json, "parts", parts);
    put_rest(&json, subject);
    gs_json_end(&json, '}');
    *out = (gs_verdict){.row = -1, .col = -1};
    GS_TRY(send(worker, &text, timeout_s, &reply, error));
    worker->busy = gs_clock_ns();
    out->code = gs_verdict_find(gs_reply_string(reply, "verdict", ""));
    out->part = (int)gs_reply_int(reply, "part", 0);
    take_string(reply, "problem", out->problem, sizeof out->problem);
    out->mismatches = gs_reply_int(reply, "mismatches", 0);
    out->row = gs_reply_int(reply, "row", -1);
    out->col = gs_reply_int(reply, "col", -1);
    out->got = gs_reply_number(reply, "got", 0);
    out->want = gs_reply_number(reply, "want", 0);
    out->error = gs_reply_number(reply, "error", 0);
    out->limit = gs_reply_number(reply, "limit", 0);
    take_string(reply, "reason", out->reason, sizeof out->reason);
    json_decref(reply);
    if (out->code != GS_VERDICT_UNKNOWN) return GS_OK;
    return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s gave no verdict that is known", worker->device);
}

gs_status gs_worker_metrics(gs_worker *worker, const gs_worker_subject *subject, bool launch, double timeout_s, gs_text *out, gs_error *error)
{
    gs_text text = {0};
    json_t *reply;
    gs_json json = begin(&text, "metrics", subject->problem);
    gs_json_string(&json, "candidate", subject->candidate);
    gs_json_bool(&json, "launch", launch);
    put_rest(&json, subject);
    gs_json_end(&json, '}');
    GS_TRY(send(worker, &text, timeout_s, &reply, error));
    gs_text_add(out, gs_reply_string(reply, "metrics", ""));
    json_decref(reply);
    return GS_OK;
}

/* ---- bench ---- */

void gs_worker_bench_text(const gs_worker_bench_request *r, gs_text *out)
{
    gs_json json = begin(out, "bench", r->subject.problem);
    gs_json_begin(&json, "contenders", '[');
    for (int i = 0; i < r->count; i++) gs_json_string(&json, NULL, r->contenders[i]);
    gs_json_end(&json, ']');
    gs_json_int(&json, "reference", r->reference);
    gs_json_string(&json, "mode", r->server ? "server" : "offline");
    gs_json_int(&json, "rounds", r->rounds);
    gs_json_bool(&json, "warm", r->warm);
    gs_json_double(&json, "warmup_s", r->warmup_s);
    gs_json_double(&json, "budget_s", r->budget_s);
    gs_json_double(&json, "target_qps", r->target_qps);
    gs_json_bool(&json, "call_time", r->call_time);
    gs_json_int(&json, "seed", r->subject.seed);
    gs_json_bool(&json, "samples", r->samples);
    if (r->subject.dependent) gs_json_bool(&json, "dependent", true);
    if (r->skewed) gs_json_string(&json, "routing", "skewed");
    put_kernel(&json, &r->subject.kernel);
    if (r->subject.cache) gs_json_string(&json, "cache", r->subject.cache);
    if (r->narrow) gs_json_bool(&json, "narrow", true);
    if (r->behind) gs_json_bool(&json, "behind", true);
    if (r->unchecked) gs_json_bool(&json, "check", false);
    if (r->slow > 0) gs_json_double(&json, "slow", r->slow);
    if (r->replay_us > 0) gs_json_double(&json, "replay_us", r->replay_us);
    gs_json_end(&json, '}');
}

static bool read_samples(const json_t *list, gs_worker_timing *out)
{
    const size_t count = json_array_size(list);
    if (count == 0) return true;
    out->samples = calloc(count, sizeof *out->samples);
    if (!out->samples) return false;
    out->sample_count = (int)count;
    for (size_t i = 0; i < count; i++) out->samples[i] = json_number_value(json_array_get(list, i));
    return true;
}

static bool read_timing(const json_t *entry, gs_worker_timing *out)
{
    const json_t *const ratio = json_object_get(entry, "device_ratio");
    *out = (gs_worker_timing){
        .status = gs_status_find(gs_reply_string(entry, "status", "")),
        .message = gs_reply_string(entry, "message", ""),
        .wrong = gs_reply_bool(entry, "wrong", false),
        .untrusted = gs_reply_string(entry, "untrusted", ""),
        .rounds = (int)gs_reply_int(entry, "rounds", 0),
        .suggestion = (int)gs_reply_int(entry, "suggestion", 1),
        .device_us = gs_reply_number(entry, "device_us", 0),
        .device_ratio = {gs_reply_number(ratio, "median", 0), gs_reply_number(ratio, "low", 0), gs_reply_number(ratio, "high", 0), GS_UNCLEAR},
    };
    return read_samples(json_object_get(entry, "device_samples"), out);
}

gs_status gs_worker_bench(gs_worker *worker, const gs_worker_bench_request *request, double timeout_s, gs_worker_timings *out, gs_error *error)
{
    gs_text text = {0};
    *out = (gs_worker_timings){.reference = -1};
    gs_worker_bench_text(request, &text);
    GS_TRY(send(worker, &text, timeout_s, &out->json, error));
    worker->busy = gs_clock_ns();
    const json_t *const entries = json_object_get(out->json, "contenders"), *const clocks = json_object_get(out->json, "clocks");
    out->reference = (int)gs_reply_int(out->json, "reference", -1);
    out->rounds = (int)gs_reply_int(out->json, "rounds", 0);
    out->mhz = (int)gs_reply_int(json_object_get(clocks, "after"), "sm_mhz", 0);
    out->count = (int)json_array_size(entries);
    out->list = calloc((size_t)out->count + 1, sizeof *out->list);
    bool whole = out->list != NULL;
    for (int i = 0; whole && i < out->count; i++) whole = read_timing(json_array_get(entries, (size_t)i), &out->list[i]);
    if (whole) return GS_OK;
    gs_worker_timings_free(out);
    return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the figures of the contenders");
}

void gs_worker_timings_free(gs_worker_timings *timings)
{
    for (int i = 0; timings->list && i < timings->count; i++) free(timings->list[i].samples);
    free(timings->list);
    json_decref(timings->json);
    *timings = (gs_worker_timings){.reference = -1};
}
