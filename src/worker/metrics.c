/* SPDX-License-Identifier: MIT
 * Metrics of a compiled kernel and of an emulated launch, and collecting them from all sources. */
#include "worker/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "emu/emu.h"
#include "ptx/ptx.h"
#include "loaded/loaded.h"
#include "problem/layout.h"
#include "schedule/predict.h"
#include "routing/routing.h"
#include "operands/operands.h"
#include "worker/client.h"

/* legend: name, unit, what it is */
const gs_metric gs_metrics[] = {
    {"registers",        "",      "per thread"},
    {"smem",             "bytes", "shared memory of a block, static and dynamic"},
    {"threads",          "",      "of a block"},
    {"blocks_sm",        "",      "blocks that fit on a multiprocessor together"},
    {"occupancy",        "%",     "of the threads that a multiprocessor can hold"},
    {"tflops",           "TFLOP/s", "that the time of the evaluation comes to"},
    {"gbs",              "GB/s",  "of the bytes that must be moved, in that time"},
    {"floor_share",      "%",     "the floor's share of that time"},
    {"model_us",         "us",    "predicted by the time model for the schedule"},
    {"model_device_bytes", "bytes", "by the time model, from and to device memory"},
    {"model_l2_bytes",   "bytes", "by the time model, asked of L2 and written to it"},
    {"ptx_wgmma",        "",      "instructions in the PTX: wgmma.mma_async"},
    {"ptx_mma",          "",      "mma, wmma"},
    {"ptx_ldmatrix",     "",      "ldmatrix"},
    {"ptx_tma",          "",      "bulk and tensor copies"},
    {"ptx_cp_async",     "",      "cp.async of 4 to 16 bytes"},
    {"ptx_global_load",  "",      "loads of global memory, generic ones with them"},
    {"ptx_global_store", "",      "stores, atomics and reductions there"},
    {"ptx_shared_load",  "",      "loads of shared memory, other than ldmatrix"},
    {"ptx_shared_store", "",      "stores and atomics there, stmatrix with them"},
    {"ptx_barrier",      "",      "barriers, mbarriers, fences, waits and commits of groups"},
    {"ptx_shuffle",      "",      "shuffles, votes, elections"},
    {"ptx_other",        "",      "all others"},
    {"counted_m",        "",      "rows of D of the problem that the counters below are of; without it they are of the problem itself"},
    {"counted_n",        "",      "its columns"},
    {"counted_k",        "",      "its depth"},
    {"launch_us",        "us",    "time of the counted launch: predicted by an emulated device, or under the profiler"},
    {"instructions",     "",      "warp instructions"},
    {"device_load",      "bytes", "read from device memory"},
    {"device_store",     "bytes", "written there"},
    {"l2_load",          "bytes", "asked of L2"},
    {"l2_store",         "bytes", "written to L2"},
    {"shared_passes",    "",      "passes of 128 bytes through shared memory, conflicts included"},
    {"bank_conflicts",   "",      "passes beyond those that the bytes need"},
    {"matrix_flops",     "",      "of wgmma and mma, multiply and add counted apart"},
    {"barrier_waits",    "",      "waits at barriers that had to wait"},
    {"mbarrier_waits",   "",      "the same at mbarriers"},
    {"tensor_busy",      "%",     "of the time: the tensor cores"},
    {"sm_busy",          "%",     "the busiest unit of the multiprocessors"},
    {"l1_busy",          "%",     "first-level cache and shared memory"},
    {"l2_busy",          "%",     "L2"},
    {"memory_busy",      "%",     "device memory"},
    {"stall_memory",     "%",     "of warps' time: waiting for data of global memory (long scoreboard)"},
    {"stall_shared",     "%",     "for data of shared memory (short scoreboard)"},
    {"stall_barrier",    "%",     "at a barrier"},
    {"stall_wgmma",      "%",     "for wgmma"},
    {"stall_math",       "%",     "for a free arithmetic pipe"},
    {"stall_wait",       "%",     "for a fixed latency"},
    {"stall_code",       "%",     "for instructions to be fetched, or constants"},
    {"stall_queue",      "%",     "for room in a queue of memory instructions"},
    {"stall_other",      "%",     "for anything else, but to be chosen"},
    {NULL, NULL, NULL},
};

/* ---- the compiled kernel ---- */

enum { WGMMA, MMA, LDMATRIX, TMA, CP_ASYNC, GLOBAL_LOAD, GLOBAL_STORE, SHARED_LOAD, SHARED_STORE, BARRIER, SHUFFLE, OTHER, CLASSES };
static const char *const class_names[CLASSES] = {
    "ptx_wgmma", "ptx_mma", "ptx_ldmatrix", "ptx_tma", "ptx_cp_async", "ptx_global_load", "ptx_global_store", "ptx_shared_load", "ptx_shared_store", "ptx_barrier", "ptx_shuffle", "ptx_other",
};

static bool has(const gs_ptx_instruction *at, const char *part)
{
    for (int i = 1; i < at->parts; i++)
        if (strcmp(at->part[i], part) == 0) return true;
    return false;
}

static bool is_shared(const gs_ptx_instruction *at)
{
    for (int i = 1; i < at->parts; i++)
        if (strncmp(at->part[i], "shared", 6) == 0) return true;
    return false;
}

static int class_of_copy(const gs_ptx_instruction *at)
{
    if (!has(at, "async") || has(at, "commit_group") || has(at, "wait_group") || has(at, "wait_all") || has(at, "mbarrier")) return BARRIER;
    if (has(at, "prefetch")) return OTHER;
    return has(at, "bulk") ? TMA : CP_ASYNC;
}

static int class_of(const gs_ptx_instruction *at)
{
    static const struct { const char *opcode; int kind; } plain[] = {
        {"mma", MMA}, {"wmma", MMA}, {"ldmatrix", LDMATRIX}, {"stmatrix", SHARED_STORE}, {"bar", BARRIER}, {"barrier", BARRIER}, {"mbarrier", BARRIER}, {"fence", BARRIER},
        {"membar", BARRIER}, {"griddepcontrol", BARRIER}, {"shfl", SHUFFLE}, {"vote", SHUFFLE}, {"match", SHUFFLE}, {"redux", SHUFFLE}, {"elect", SHUFFLE}, {"activemask", SHUFFLE},
    };
    const char *const opcode = at->part[0];
    for (size_t i = 0; i < GS_COUNT(plain); i++)
        if (strcmp(opcode, plain[i].opcode) == 0) return plain[i].kind;
    if (strcmp(opcode, "wgmma") == 0) return has(at, "mma_async") ? WGMMA : BARRIER;
    if (strcmp(opcode, "cp") == 0) return class_of_copy(at);
    if (has(at, "param") || has(at, "local") || has(at, "const")) return OTHER;
    if (strcmp(opcode, "ld") == 0 || strcmp(opcode, "ldu") == 0) return is_shared(at) ? SHARED_LOAD : GLOBAL_LOAD;
    if (strcmp(opcode, "st") == 0 || strcmp(opcode, "atom") == 0 || strcmp(opcode, "red") == 0) return is_shared(at) ? SHARED_STORE : GLOBAL_STORE;
    return OTHER;
}

static bool is_launched(const gs_manifest *manifest, const char *name)
{
    for (int i = 0; i < manifest->entry_count; i++)
        if (strcmp(manifest->entry[i].name, name) == 0) return true;
    return false;
}

static gs_status add_instructions(const char *ptx, const gs_manifest *manifest, gs_text *out, gs_error *error)
{
    gs_ptx_module *module;
    int64_t count[CLASSES] = {0};
    GS_TRY(gs_ptx_parse(&module, ptx, strlen(ptx), NULL, error));
    for (int e = 0; e < module->entries; e++)
        for (int i = 0; is_launched(manifest, module->entry[e].name) && i < module->entry[e].instructions; i++) count[class_of(&module->entry[e].instruction[i])]++;
    gs_ptx_free(&module);
    for (int i = 0; i < CLASSES; i++) gs_metric_add(out, class_names[i], (double)count[i]);
    return GS_OK;
}

/* A schedule's PTX is not kept: it is compiled again, through the cache. */
static gs_status add_instructions_of(gs_device *device, const char *schedule, const gs_problem *problem, gs_text *out, gs_error *error)
{
    gs_schedule parsed;
    gs_image image = {0};
    gs_kernel *const kernel = malloc(sizeof *kernel);
    gs_kernel_source *const source = malloc(sizeof *source);
    gs_status status = kernel && source ? gs_schedule_parse(&parsed, schedule, error) : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel");
    if (status == GS_OK) status = gs_kernel_build(kernel, &parsed, problem, &device->caps, error);
    if (status == GS_OK) {
        gs_kernel_to_source(kernel, source);
        source->source.ptx = true;
        status = device->ops->compile(device, &source->source, &image, error);
    }
    if (status == GS_OK && image.ptx) status = add_instructions(image.ptx, &kernel->manifest, out, error);
    gs_image_free(&image);
    free(source);
    free(kernel);
    return status;
}

gs_status gs_metrics_static(gs_device *device, const gs_contender *contender, const gs_problem *problem, gs_text *out, gs_error *error)
{
    const gs_loaded *const loaded = gs_contender_loaded(contender);
    if (!loaded) return gs_fail(error, GS_ERROR_UNSUPPORTED, "candidate", "%.80s is no kernel that can be looked into", contender->name);
    const gs_manifest *const manifest = gs_loaded_manifest(loaded);
    const gs_profile profile = gs_profile_of(&device->caps);
    const gs_launch_shape shape = {.smem = contender->smem, .registers = contender->registers, .threads = gs_manifest_threads(manifest)};
    const int resident = gs_launch_resident(&shape, &profile);
    gs_metric_add(out, "registers", shape.registers);
    gs_metric_add(out, "smem", shape.smem);
    gs_metric_add(out, "threads", shape.threads);
    gs_metric_add(out, "blocks_sm", resident);
    gs_metric_add(out, "occupancy", 100.0 * resident * shape.threads / device->caps.threads_sm);
    const char *const ptx = gs_loaded_image(loaded)->ptx;
    return ptx ? add_instructions(ptx, manifest, out, error) : add_instructions_of(device, contender->name, problem, out, error);
}

/* ---- an emulated launch ---- */

static void add_counters(gs_text *out, const gs_emu_last *last)
{
    const gs_emu_counters *const c = &last->counters;
    double instructions = 0;
    for (int i = 0; i < GS_EMU_CLASS_COUNT; i++) instructions += (double)c->issued[i];
    gs_metric_add(out, "launch_us", last->us);
    gs_metric_add(out, "instructions", instructions);
    gs_metric_add(out, "device_load", (double)c->device_load);
    gs_metric_add(out, "device_store", (double)c->device_store);
    gs_metric_add(out, "l2_load", (double)c->global_load);
    gs_metric_add(out, "l2_store", (double)c->global_store);
    gs_metric_add(out, "shared_passes", (double)c->shared_passes);
    gs_metric_add(out, "bank_conflicts", fmax((double)c->shared_passes - ceil((double)(c->shared_load + c->shared_store) / 128), 0));
    gs_metric_add(out, "matrix_flops", (double)c->matrix_flops);
    gs_metric_add(out, "barrier_waits", (double)c->barrier_waits);
    gs_metric_add(out, "mbarrier_waits", (double)c->mbarrier_waits);
}

gs_status gs_metrics_launch(gs_device *device, gs_contender *contender, const gs_problem *asked, gs_text *out, gs_error *error)
{
    const gs_problem pool = gs_problem_pool(asked), *const problem = &pool;
    gs_pointer operand[GS_OPERANDS] = {0}, scalars = 0, pointers = 0;
    gs_emu_last last;
    gs_status status = GS_OK;
    if (!device->caps.emulated) return gs_fail(error, GS_ERROR_UNSUPPORTED, "device", "%s counts nothing", device->name);
    for (int i = 0; status == GS_OK && i < gs_operand_count(problem); i++) {
        const size_t bytes = (gs_problem_bytes(problem, GS_OPERAND_LETTERS[i]) + 3) / 4 * 4;
        status = device->ops->alloc(device, bytes, &operand[i], error);
        if (status == GS_OK && operand[i]) status = device->ops->fill(device, operand[i], 0, bytes, NULL, error);
        if (status == GS_OK) status = device->ops->queue_wait(device, NULL, error);
        if (status == GS_OK && i == 5) status = gs_offsets_put(device, problem, GS_ROUTING_EVEN, 0, operand[i], error);
    }
    if (status == GS_OK) status = gs_operand_scalars(device, problem, &scalars, error);
    if (status == GS_OK && asked->matrices) status = device->ops->alloc(device, gs_pool_pointers_size(problem), &pointers, error);
    if (status == GS_OK && asked->matrices) status = gs_operand_put_pointers(device, problem, operand, 0, pointers, error);
    if (status == GS_OK) {
        gs_args args = gs_operand_args(operand);
        gs_operand_set_scalars(&args, true, scalars);
        gs_operand_set_pointers(&args, problem, pointers);
        status = contender->run(contender, &args, NULL, error);
    }
    if (status == GS_OK) status = device->ops->queue_wait(device, NULL, error);
    if (status == GS_OK && gs_emu_last_launch(device, &last)) add_counters(out, &last);
    for (int i = 0; i < GS_OPERANDS; i++)
        if (operand[i]) device->ops->free(device, operand[i]);
    if (scalars) device->ops->free(device, scalars);
    if (pointers) device->ops->free(device, pointers);
    return status;
}

/* ---- asking for them ---- */

/* Adds the lines of a worker; nothing if it has none or fails. */
static gs_status ask(const gs_metrics_request *r, gs_worker *worker, const gs_problem *problem, bool launch, gs_text *out, gs_error *error)
{
    char name[GS_PROBLEM_TEXT];
    gs_error why = {0};
    const gs_worker_subject subject = {
        .problem = gs_problem_format(problem, name), .candidate = r->candidate, .cache = r->cache,
        .kernel = {.name = r->source ? r->candidate : NULL, .source = r->source, .manifest = r->manifest},
    };
    const gs_status status = gs_worker_metrics(worker, &subject, launch, r->timeout_s > 0 ? r->timeout_s : 60, out, &why);
    if (status != GS_ERROR_MEMORY && status != GS_ERROR_INTERRUPTED) return GS_OK;
    if (error) *error = why;
    return status;
}

enum { SMALL_MN = 256, SMALL_K = 512 };
#define WORTH_IT (1ll << 30)   /* multiply-adds that an emulated device does in some seconds */

/* The same problem, small enough for an emulated device. */
static gs_problem small_of(const gs_problem *p)
{
    gs_problem small = gs_problem_resized(p, GS_MIN(p->m, SMALL_MN), GS_MIN(p->n, SMALL_MN), GS_MIN(p->k, SMALL_K));
    small.batch = GS_MIN(p->batch, 2);
    return small;
}

static gs_status count(const gs_metrics_request *r, gs_text *out, gs_error *error)
{
    gs_worker *const worker = r->emulator;
    const gs_problem small = small_of(r->problem);
    const double products = (double)r->problem->m * (double)r->problem->n * (double)r->problem->k * (double)r->problem->batch;
    if (products <= (double)(r->most > 0 ? r->most : WORTH_IT)) GS_TRY(ask(r, worker, r->problem, true, out, error));
    if (out->size > 0 || memcmp(&small, r->problem, sizeof small) == 0) return GS_OK;
    gs_text counted = {0};
    const gs_status status = ask(r, worker, &small, true, &counted, error);
    if (status == GS_OK && counted.size > 0) {
        gs_metric_add(out, "counted_m", (double)small.m);
        gs_metric_add(out, "counted_n", (double)small.n);
        gs_metric_add(out, "counted_k", (double)small.k);
        gs_text_add(out, gs_text_string(&counted));
    }
    if (counted.failed) out->failed = true;
    gs_text_free(&counted);
    return status;
}

/* Adds lines whose names are not there yet. */
static void merge(gs_text *out, size_t from, const char *lines)
{
    for (const char *at = lines; *at;) {
        const size_t line = strcspn(at, "\n"), name = strcspn(at, " \n");
        bool there = false;
        for (const char *have = gs_text_string(out) + from; *have; have += strcspn(have, "\n"), have += *have == '\n')
            there = there || strncmp(have, at, name + 1) == 0;
        if (!there) gs_text_addf(out, "%.*s\n", (int)line, at);
        at += line + (at[line] == '\n');
    }
}

gs_status gs_metrics_take(const gs_metrics_request *r, gs_text *out, gs_error *error)
{
    gs_text part = {0};
    gs_worker *const worker = r->worker ? r->worker : r->emulator;
    const size_t from = out->size;
    gs_status status = worker ? ask(r, worker, r->problem, false, &part, error) : GS_OK;
    merge(out, from, gs_text_string(&part));
    gs_text_clear(&part);
    if (status == GS_OK && r->profile) {
        gs_error why = {0};
        const gs_status profiled = gs_metrics_ncu(r, &part, &why);
        if (profiled == GS_ERROR_MEMORY || profiled == GS_ERROR_INTERRUPTED) {
            status = profiled;
            if (error) *error = why;
        }
    }
    merge(out, from, gs_text_string(&part));
    const bool profiled = part.size > 0;   /* the emulator's counters may be of a smaller problem */
    gs_text_clear(&part);
    if (status == GS_OK && r->emulator && !profiled) status = count(r, &part, error);
    merge(out, from, gs_text_string(&part));
    if (status == GS_OK && (part.failed || out->failed)) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for metrics");
    gs_text_free(&part);
    return status;
}
