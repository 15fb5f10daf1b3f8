/* SPDX-License-Identifier: MIT
 * An entry is inserted into its bucket under the device's lock and is never removed, so look-ups need no lock. Its plan and its reason are written before its state
 * says that they are valid. */
#include "torch/choice.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "device/device.h"
#include "plan/made.h"
#include "record/record.h"
#include "torch/driver.h"
#include "torch/staged.h"
#include "torch/workspace.h"

enum { BUCKETS = 1024, UNPLANNED_SHARE = 16, OPERANDS = 7 };

enum state { UNMADE, MAKING, READY, LEFT };

struct gs_torch_entry {
    _Atomic(gs_torch_entry *) next;       /* next entry of the bucket */
    _Atomic(gs_torch_entry *) later;      /* list of all entries, in the order of insertion */
    uint64_t            hash;
    gs_torch_key        key;
    gs_problem          problem;
    int                 device;
    atomic_int          state;
    gs_torch_reason     reason;           /* valid in state LEFT */
    gs_plan            *plan;             /* valid in state READY */
    uintptr_t           below[OPERANDS];  /* alignment - 1 for a b c d, the bias, the offsets, aux */
    gs_torch_workspaces *workspaces;      /* NULL: the plan has no workspace */
    char                origin[16], kernel[96], why[256];
    atomic_ullong       calls, passed;
};

typedef struct device_state {
    pthread_mutex_t           lock;       /* held while opening the device, counting plans and adding entries */
    _Atomic(gs_torch_entry *) bucket[BUCKETS];
    bool                      tried;
    gs_device                *device;
    gs_context               *context;
    int                       entries, plans;
    char                      missing[200];   /* why there is no context */
} device_state;

static device_state      devices[GS_TORCH_DEVICES];
static gs_torch_settings settings;
static gs_recorder      *recorder;
static atomic_bool       forked, invariant, constant;
static atomic_ullong     passed[GS_TORCH_REASONS];   /* calls for which no key could be formed */
static pthread_mutex_t   list_lock = PTHREAD_MUTEX_INITIALIZER, staging = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(gs_torch_entry *) first;
static gs_torch_entry   *last;
static pthread_once_t    once = PTHREAD_ONCE_INIT;

/* In the child of a fork, a lock that another thread held at the fork stays held; and no GPU is usable. So the child leaves all calls to torch. */
static void in_child(void) { atomic_store(&forked, true); }

static void start(void)
{
    for (int i = 0; i < GS_TORCH_DEVICES; i++) pthread_mutex_init(&devices[i].lock, NULL);
    pthread_atfork(NULL, NULL, in_child);
}

void gs_torch_choice_set(const gs_torch_settings *wanted)
{
    pthread_once(&once, start);
    settings = *wanted;
    recorder = gs_recorder_of_environment();
}

void gs_torch_choice_invariant(bool on) { atomic_store(&invariant, on); }

void gs_torch_choice_constant(bool on) { atomic_store(&constant, on); }

bool gs_torch_choice_is_constant(void) { return atomic_load_explicit(&constant, memory_order_relaxed); }

void gs_torch_count_passed(gs_torch_reason reason) { atomic_fetch_add_explicit(&passed[reason], 1, memory_order_relaxed); }

/* ---- the table ---- */

static gs_torch_entry *look(device_state *d, uint64_t hash, const gs_torch_key *key)
{
    gs_torch_entry *e = atomic_load_explicit(&d->bucket[hash % BUCKETS], memory_order_acquire);
    for (; e; e = atomic_load_explicit(&e->next, memory_order_acquire))
        if (e->hash == hash && memcmp(&e->key, key, sizeof *key) == 0) return e;
    return NULL;
}

static void enlist(gs_torch_entry *e)
{
    pthread_mutex_lock(&list_lock);
    atomic_store_explicit(last ? &last->later : &first, e, memory_order_release);
    last = e;
    pthread_mutex_unlock(&list_lock);
}

/* The caller holds the device's lock. */
static gs_torch_entry *add(device_state *d, int device, uint64_t hash, const gs_torch_key *key)
{
    gs_error error = {0};
    if (d->entries >= UNPLANNED_SHARE * settings.most_plans) return NULL;
    gs_torch_entry *const e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->hash = hash;
    e->key = *key;
    e->device = device;
    if (gs_torch_problem(key, &e->problem, &error) != GS_OK) {
        e->reason = GS_TORCH_FAILED;
        snprintf(e->why, sizeof e->why, "%.200s", error.text);
        atomic_store(&e->state, LEFT);
    }
    atomic_store_explicit(&e->next, atomic_load(&d->bucket[hash % BUCKETS]), memory_order_relaxed);
    atomic_store_explicit(&d->bucket[hash % BUCKETS], e, memory_order_release);
    d->entries++;
    enlist(e);
    return e;
}

gs_torch_entry *gs_torch_find(int device, const gs_torch_key *key)
{
    if (device < 0 || device >= GS_TORCH_DEVICES) return NULL;
    device_state *const d = &devices[device];
    gs_torch_key with = *key;
    if (atomic_load_explicit(&invariant, memory_order_relaxed) && !(key->epilogue >> 28 & 1)) with.epilogue |= 1u << 25;   /* along K a row depends on all rows anyway */
    key = &with;
    const uint64_t hash = gs_hash64(key, sizeof *key);
    gs_torch_entry *e = look(d, hash, key);
    if (e || atomic_load_explicit(&forked, memory_order_relaxed)) return e;
    pthread_mutex_lock(&d->lock);
    e = look(d, hash, key);
    if (!e) e = add(d, device, hash, key);
    pthread_mutex_unlock(&d->lock);
    return e;
}

/* ---- making a plan ---- */

/* The caller holds the device's lock. */
static gs_status open_device(device_state *d, int number, gs_error *error)
{
    char name[32];
    gs_config config = gs_config_default();
    snprintf(name, sizeof name, "cuda:%d", number);
    if (d->tried) return d->context ? GS_OK : gs_fail(error, GS_ERROR_NO_DEVICE, NULL, "%s", d->missing);
    d->tried = true;
    gs_status status = gs_device_open(&d->device, settings.emulated ? settings.emulated : name, NULL, error);
    if (status == GS_OK) status = gs_context_open_on(&d->context, &config, d->device, error);
    if (status != GS_OK) {
        d->device = NULL;
        d->context = NULL;
        snprintf(d->missing, sizeof d->missing, "%.190s", error->text);
        gs_log(GS_LOG_WARNING, "torch's device %d is left to torch: %s", number, error->text);
    }
    return status;
}

gs_device *gs_torch_device(int number)
{
    gs_error error = {0};
    if (number < 0 || number >= GS_TORCH_DEVICES || atomic_load_explicit(&forked, memory_order_relaxed)) return NULL;
    device_state *const d = &devices[number];
    gs_torch_aside aside;
    pthread_mutex_lock(&d->lock);
    const bool aside_too = !d->tried && !settings.emulated;
    if (aside_too) gs_torch_step_aside(&aside);
    gs_device *const device = open_device(d, number, &error) == GS_OK ? d->device : NULL;
    if (aside_too) gs_torch_step_back(&aside);
    pthread_mutex_unlock(&d->lock);
    return device;
}

bool gs_torch_is_forked(void) { return atomic_load_explicit(&forked, memory_order_relaxed); }

void gs_torch_stage(bool begin)
{
    if (begin) pthread_mutex_lock(&staging);
    else pthread_mutex_unlock(&staging);
}

static const char *name_of(gs_origin origin)
{
    static const char *const names[] = {"table", "nearest", "default", "cublaslt", "explicit", "empty", "measured", "pack"};
    return (size_t)origin < sizeof names / sizeof *names ? names[origin] : "?";
}

static void describe(gs_torch_entry *e, const gs_plan *plan)
{
    static const char operands[OPERANDS] = {'a', 'b', 'c', 'd', 'e', 'f', 'g'};
    snprintf(e->origin, sizeof e->origin, "%s", name_of(gs_plan_origin(plan)));
    snprintf(e->kernel, sizeof e->kernel, "%s", gs_plan_schedule(plan));
    snprintf(e->why, sizeof e->why, "%s", gs_plan_why(plan));
    for (int i = 0; i < OPERANDS; i++) {
        const size_t alignment = gs_plan_alignment(plan, operands[i]);
        e->below[i] = alignment ? alignment - 1 : 0;
    }
}

/* Whether torch's own calls compute it: no activation, gate, residual or groups. */
static bool is_plain(const gs_torch_key *key) { return (key->epilogue & (0xf0ffff | 1u << 28)) == 0 && key->groups == 0; }

/* Opens the device and reserves one of its plans, under the device's lock. The lock is not held while a plan is compiled. */
static gs_torch_reason begin(device_state *d, int number, gs_error *error)
{
    gs_torch_reason reason = GS_TORCH_FITS;
    pthread_mutex_lock(&d->lock);
    if (open_device(d, number, error) != GS_OK) reason = GS_TORCH_NO_GPU;
    else if (d->plans >= settings.most_plans) reason = GS_TORCH_FULL;
    else d->plans++;
    pthread_mutex_unlock(&d->lock);
    return reason;
}

static void give_up(device_state *d)
{
    pthread_mutex_lock(&d->lock);
    d->plans--;
    pthread_mutex_unlock(&d->lock);
}

/* Makes the plan. If it would only call cuBLASLt, as torch does, it is dropped and the call is left to torch. */
static gs_torch_reason create(const device_state *d, gs_torch_entry *e, gs_error *error)
{
    gs_plan *plan = NULL;
    if (gs_plan_create(d->context, &e->problem, &plan, error) != GS_OK) return GS_TORCH_FAILED;
    describe(e, plan);
    if ((strcmp(gs_plan_schedule(plan), "cublaslt") == 0 && is_plain(&e->key)) || gs_plan_origin(plan) == GS_ORIGIN_EMPTY) {
        gs_plan_destroy(&plan);
        return GS_TORCH_LIBRARY;
    }
    if (gs_plan_workspace(plan) > 0 && !d->device->caps.emulated && gs_torch_workspaces_create(&e->workspaces, d->device, gs_plan_workspace(plan), error) != GS_OK) {
        gs_plan_destroy(&plan);
        return GS_TORCH_FAILED;
    }
    e->plan = plan;
    return GS_TORCH_FITS;
}

static gs_torch_reason make(device_state *d, gs_torch_entry *e, gs_error *error)
{
    gs_torch_reason reason = begin(d, e->device, error);
    if (reason != GS_TORCH_FITS) return reason;
    reason = create(d, e, error);
    if (reason != GS_TORCH_FITS) give_up(d);
    return reason;
}

/* Makes the entry's plan, unless another thread is doing so, and returns the entry's state. Other threads do not wait. An emulated device admits one thread at a time;
 * on a GPU several plans are made at once. */
static int make_once(gs_torch_entry *e, gs_error *error)
{
    device_state *const d = &devices[e->device];
    gs_torch_aside aside;
    int expected = UNMADE;
    if (!atomic_compare_exchange_strong(&e->state, &expected, MAKING)) return expected;
    if (settings.emulated) pthread_mutex_lock(&staging);
    else gs_torch_step_aside(&aside);
    const gs_torch_reason reason = make(d, e, error);
    if (settings.emulated) pthread_mutex_unlock(&staging);
    else gs_torch_step_back(&aside);
    e->reason = reason;
    if (reason == GS_TORCH_FAILED || reason == GS_TORCH_NO_GPU) snprintf(e->why, sizeof e->why, "%.250s", error->text);
    const int state = reason == GS_TORCH_FITS ? READY : LEFT;
    atomic_store_explicit(&e->state, state, memory_order_release);
    return state;
}

gs_status gs_torch_prepare(int device, const gs_problem *problem, char *why, size_t size, gs_error *error)
{
    gs_torch_key key;
    gs_error local = {0};
    GS_TRY(gs_torch_key_of(problem, &key, error));
    gs_torch_entry *const e = gs_torch_find(device, &key);
    if (!e) return gs_fail(error, GS_ERROR_UNSUPPORTED, "problem", "device %d has no room for another problem", device);
    int state = atomic_load_explicit(&e->state, memory_order_acquire);
    if (state == UNMADE) state = make_once(e, &local);
    const char *const left = e->why[0] ? e->why : gs_torch_reason_text(e->reason);
    snprintf(why, size, "%s%s", state == LEFT ? "torch's own kernel: " : "", state == READY ? e->why : state == LEFT ? left : "another thread makes it");
    return GS_OK;
}

/* ---- running ---- */

static bool aligned(const gs_torch_entry *e, const gs_torch_pointers *p)
{
    const uintptr_t at[OPERANDS] = {(uintptr_t)p->a, (uintptr_t)p->b, (uintptr_t)p->c, (uintptr_t)p->d, (uintptr_t)p->bias, (uintptr_t)p->offsets, (uintptr_t)p->aux};
    uintptr_t off = 0;
    for (int i = 0; i < OPERANDS; i++) off |= at[i] & e->below[i];
    return off == 0;
}

static gs_status launch(const gs_torch_entry *e, const gs_torch_pointers *p, const float *alpha, const float *beta, void *workspace, gs_stream stream)
{
    gs_args args = gs_args_make(p->a, p->b, p->c, p->d);
    args.bias = p->bias;
    args.offsets = p->offsets;
    args.aux = p->aux;
    args.alpha = alpha;
    args.beta = p->c ? beta : NULL;   /* without C: NULL, the problem's beta, which is 0 */
    args.workspace = workspace;
    return gs_plan_run(e->plan, &args, stream);
}

/* noinline, like every function here with a gs_error (half a kilobyte, zeroed at entry): keeps that off the common path. */
static __attribute__((noinline)) gs_status run_staged(const gs_torch_entry *e, const gs_torch_pointers *p, float alpha, float beta)
{
    gs_error error = {0};
    pthread_mutex_lock(&staging);
    const gs_status status = gs_torch_run_staged(devices[e->device].device, e->plan, p, alpha, p->c ? beta : 0, &error);
    pthread_mutex_unlock(&staging);
    if (status != GS_OK) gs_log(GS_LOG_WARNING, "%s", error.text);
    return status;
}

static gs_torch_reason run_ready(gs_torch_entry *e, const gs_torch_pointers *p, float alpha, float beta, gs_stream stream)
{
    gs_status status;
    if (!aligned(e, p)) return GS_TORCH_ALIGN;
    if (settings.emulated) {
        status = run_staged(e, p, alpha, beta);
    } else if (e->workspaces) {
        void *workspace = NULL;
        if (!gs_torch_workspaces_take(e->workspaces, stream, gs_torch_capture(stream), &workspace)) return GS_TORCH_NO_PLAN;
        status = launch(e, p, &alpha, &beta, workspace, stream);
        gs_torch_workspaces_leave(e->workspaces);
    } else {
        status = launch(e, p, &alpha, &beta, NULL, stream);
    }
    if (status == GS_OK) return GS_TORCH_FITS;
    gs_log(GS_LOG_WARNING, "a call is left to torch: %s", gs_status_string(status));
    return GS_TORCH_RUN;
}

/* Makes the plan at the first call, unless its stream is being captured. Returns the entry's state. */
static __attribute__((noinline)) int see_first(gs_torch_entry *e, gs_stream stream)
{
    gs_error error = {0};
    return settings.emulated || gs_torch_capture(stream) == 0 ? make_once(e, &error) : UNMADE;
}

gs_torch_reason gs_torch_run(int device, const gs_torch_key *key, const gs_torch_pointers *pointers, float alpha, float beta, gs_stream stream, const char *via)
{
    gs_torch_reason reason = GS_TORCH_NO_PLAN;
    gs_torch_entry *const e = gs_torch_find(device, key);
    if (!e) {
        gs_torch_count_passed(GS_TORCH_FULL);
        return GS_TORCH_FULL;
    }
    if (recorder && e->problem.size) gs_recorder_count(recorder, &e->problem, via);
    int state = atomic_load_explicit(&e->state, memory_order_acquire);
    if (atomic_load_explicit(&forked, memory_order_relaxed)) {
        reason = GS_TORCH_FORKED;
    } else {
        if (state == UNMADE) state = see_first(e, stream);
        if (state == READY) reason = run_ready(e, pointers, alpha, beta, stream);
        else if (state == LEFT) reason = e->reason;
    }
    atomic_fetch_add_explicit(reason == GS_TORCH_FITS ? &e->calls : &e->passed, 1, memory_order_relaxed);
    return reason;
}

/* ---- the report ---- */

static void report_entry(const gs_torch_entry *e, char *text, size_t size)
{
    char problem[GS_PROBLEM_TEXT] = "?";
    const int state = atomic_load_explicit(&((gs_torch_entry *)e)->state, memory_order_acquire);
    const char *why = state == READY || (state == LEFT && e->why[0]) ? e->why : gs_torch_reason_text(state == LEFT ? e->reason : GS_TORCH_NO_PLAN);
    if (e->problem.size) gs_problem_format(&e->problem, problem);
    snprintf(text, size, "%d\t%llu\t%llu\t%s\t%s\t%s\t%s", e->device, (unsigned long long)atomic_load(&((gs_torch_entry *)e)->calls),
             (unsigned long long)atomic_load(&((gs_torch_entry *)e)->passed), problem, state == READY ? e->origin : "torch", state == READY ? e->kernel : "", why);
}

bool gs_torch_report(int *line, char *text, size_t size)
{
    const gs_torch_entry *e = atomic_load_explicit(&first, memory_order_acquire);
    for (; e; e = atomic_load_explicit(&((gs_torch_entry *)e)->later, memory_order_acquire)) {
        if ((*line)-- > 0) continue;
        report_entry(e, text, size);
        return true;
    }
    for (int reason = GS_TORCH_FITS + 1; reason < GS_TORCH_REASONS; reason++) {
        const unsigned long long count = atomic_load(&passed[reason]);
        if (count == 0 || (*line)-- > 0) continue;
        snprintf(text, size, "\t0\t%llu\t\ttorch\t\t%s", count, gs_torch_reason_text(reason));
        return true;
    }
    return false;
}
