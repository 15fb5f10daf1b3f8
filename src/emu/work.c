/* SPDX-License-Identifier: MIT
 * Runs launches and fills synchronously; keeps and logs their findings, and gives their predicted time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "emu/emu.h"
#include "schedule/predict.h"

#define USER_STEPS (1ull << 30)   /* limit of `work` for a cluster of a user kernel, about a minute; a thread that multiplies all of a small problem needs half as much */

/* ---- fills ---- */

gs_status gs_emu_outside(const gs_emu_device *emu, gs_pointer at, size_t bytes, const char *what, gs_error *error)
{
    char place[200];
    return gs_fail(error, GS_ERROR_DEVICE, NULL, "%s: %s of %zu bytes: %s", emu->name, what, bytes,
                   gs_emu_memory_describe(emu->memory, at, place, sizeof place));
}

gs_status gs_emu_fill_now(gs_emu_device *emu, const gs_emu_work *work, double *us, gs_error *error)
{
    const gs_emu_allocation *const a = gs_emu_memory_find(emu->memory, work->to, work->bytes);
    *us = 0;
    gs_emu_memory_settle(emu->memory);   /* any work after a fill waits for it */
    if (!a) return gs_emu_outside(emu, work->to, work->bytes, "fill", error);
    uint8_t *const at = a->bytes + (work->to - a->address);
    for (size_t i = 0; i < work->bytes; i += sizeof work->pattern) memcpy(at + i, &work->pattern, sizeof work->pattern);
    gs_emu_memory_mark(a, work->to, work->bytes);
    *us = emu->caps.launch_us + (double)work->bytes / (emu->caps.memory_gbs * 1e3);
    return GS_OK;
}

/* ---- launches ---- */

gs_launch_shape gs_emu_shape_of(const gs_emu_work *work)
{
    const gs_emu_function *const function = work->function;
    return (gs_launch_shape){
        .grid = (double)work->grid[0] * work->grid[1] * work->grid[2], .threads = (int)gs_emu_product(work->block), .cluster = (int)gs_emu_product(work->cluster),
        .smem = (int)work->smem + function->info.static_smem, .registers = function->info.registers,
    };
}

gs_launch_counts gs_emu_counts(const gs_emu_counters *c)
{
    return (gs_launch_counts){
        .integer = (double)c->issued[GS_EMU_INTEGER], .floating = (double)c->issued[GS_EMU_FLOAT], .doubles = (double)c->issued[GS_EMU_DOUBLE],
        .special = (double)c->issued[GS_EMU_SPECIAL], .control = (double)c->issued[GS_EMU_CONTROL], .global = (double)c->issued[GS_EMU_GLOBAL],
        .shared = (double)c->issued[GS_EMU_SHARED], .other = (double)c->issued[GS_EMU_OTHER], .copy = (double)c->issued[GS_EMU_COPY],
        .matrix = (double)c->issued[GS_EMU_MATRIX], .barrier = (double)c->issued[GS_EMU_BARRIER], .exchange = (double)c->issued[GS_EMU_EXCHANGE],
        .global_load = (double)c->global_load, .global_store = (double)c->global_store, .copy_load = (double)c->copy_load,
        .copy_store = (double)c->copy_store, .multicast = (double)c->multicast, .distributed = (double)c->distributed,
        .shared_passes = (double)c->shared_passes, .matrix_flops = (double)c->matrix_flops, .wgmma_flops = (double)c->wgmma_flops,
        .wgmma = (double)c->wgmma, .mma = (double)c->mma, .footprint_load = (double)c->device_load, .footprint_store = (double)c->device_store,
    };
}

/* ---- findings ---- */

static bool same_place(const gs_emu_finding *a, const gs_emu_finding *b)
{
    return a->kind == b->kind && a->ptx_line == b->ptx_line && a->line == b->line && a->at_line == b->at_line &&
           strcmp(a->kernel, b->kernel) == 0 && strcmp(a->file, b->file) == 0;
}

/* Keeps a finding and logs it once; repetitions at the same place are only counted. */
static void keep(gs_emu_device *emu, const gs_emu_finding *found)
{
    char text[640];
    for (int i = 0; i < emu->findings; i++) {
        if (!same_place(&emu->finding[i], found)) continue;
        emu->finding[i].times += found->times;
        return;
    }
    if (emu->findings == GS_EMU_KEPT) return;
    emu->finding[emu->findings++] = *found;
    gs_log(GS_LOG_WARNING, "%s: %s", emu->name, gs_emu_finding_format(found, text, sizeof text));
}

static gs_status report(gs_emu_device *emu, const gs_emu_launch *launch, gs_error *error)
{
    char text[400];
    for (int i = 0; i < launch->findings; i++) keep(emu, &launch->finding[i]);
    gs_emu_finding_format(&launch->finding[0], text, sizeof text);
    return gs_fail(error, GS_ERROR_FAULT, NULL, "%s", text);
}

/* ---- times ---- */

#define MOST_POLLS 0.1   /* share of instructions that poll flags without news */

/* Why the time of a launch cannot be trusted; "": no known reason. How long a block waits for another one, and how often it polls meanwhile, depends on the turns of
 * blocks here. */
static void doubt(const gs_emu_work *work, const gs_emu_launch *launch, char why[GS_EMU_WHY])
{
    double all = 0;
    for (int i = 0; i < GS_EMU_CLASS_COUNT; i++) all += (double)launch->counters.issued[i];
    const double polls = all > 0 ? (double)launch->polls / all : 0;
    why[0] = '\0';
    if (polls > MOST_POLLS)
        snprintf(why, GS_EMU_WHY, "%.40s: %.0f %% of its instructions look at flags that other blocks set: how long they wait is not modelled",
                 work->function->code->entry->name, 100 * polls);
    else if (work->function->info.registers < 1)
        snprintf(why, GS_EMU_WHY, "%.40s: its registers are not known, so nobody knows how many blocks run at once", work->function->code->entry->name);
}

/* Predicts the time of a completed launch and keeps its results. */
static double remember(gs_emu_device *emu, const gs_emu_work *work, const gs_emu_launch *launch)
{
    gs_emu_last *const last = &emu->last;
    const gs_launch_counts counts = gs_emu_counts(&launch->counters);
    const gs_launch_peak peak = {gs_emu_counts(&launch->peak.counters), launch->peak.share};
    *last = (gs_emu_last){.shape = gs_emu_shape_of(work), .counters = launch->counters};
    last->resident = gs_launch_resident(&last->shape, emu->profile);
    last->us = gs_launch_bound_us(gs_launch_us(&counts, &last->shape, emu->profile), &peak, &last->shape, emu->profile);
    doubt(work, launch, last->untrusted);
    snprintf(last->kernel, sizeof last->kernel, "%s", work->function->code->entry->name);
    memcpy(last->grid, work->grid, sizeof last->grid);
    memcpy(last->block, work->block, sizeof last->block);
    memcpy(last->cluster, work->cluster, sizeof last->cluster);
    return last->us;
}

bool gs_emu_last_launch(gs_device *device, gs_emu_last *out)
{
    gs_emu_device *const emu = gs_emu_of(device);
    pthread_mutex_lock(&emu->lock);
    *out = emu->last;
    pthread_mutex_unlock(&emu->lock);
    return out->kernel[0] != '\0';
}

/* Clusters resident on the device at the same time. Unknown register counts impose no limit, so that no block is excluded by a guess. */
static uint32_t clusters_held(const gs_emu_device *emu, const gs_emu_work *work)
{
    gs_launch_shape shape = gs_emu_shape_of(work);
    shape.registers = GS_MAX(shape.registers, 1);
    return (uint32_t)GS_MAX(gs_launch_resident(&shape, emu->profile) * (emu->caps.sms / shape.cluster), 1);
}

_Static_assert(GS_EMU_REACHES == GS_REACHES, "as many ranges");

gs_status gs_emu_launch_now(gs_emu_device *emu, const gs_emu_work *work, double *us, gs_error *error)
{
    gs_random random = {emu->seed + emu->launches++ * 0x9e3779b97f4a7c15ull};
    gs_emu_launch launch = {
        .code = work->function->code, .memory = emu->memory, .smem = work->smem, .params = work->params, .check = emu->check, .order = emu->order || work->function->user,
        .dependent = work->dependent, .step_limit = work->function->user ? USER_STEPS : 0,
        .seed = gs_random_next(&random), .threads = emu->threads, .sms = emu->caps.sms,
        .smem_limit = (uint32_t)emu->caps.smem_block, .registers_sm = emu->caps.registers_sm,
    };
    memcpy(launch.grid, work->grid, sizeof launch.grid);
    memcpy(launch.block, work->block, sizeof launch.block);
    memcpy(launch.cluster, work->cluster, sizeof launch.cluster);
    launch.resident = clusters_held(emu, work);
    for (size_t i = 0; i < GS_COUNT(work->reach); i++) {
        const gs_memory_use *const use = &work->reach[i];
        launch.reach[i] = (gs_emu_use){.from = use->at, .to = use->at + use->bytes, .row = use->row, .pitch = use->pitch, .part = use->part, .period = use->period, .written = use->written};
    }
    launch.constant = (gs_emu_span){work->constant.at, work->constant.at + work->constant.bytes};
    *us = 0;
    gs_status status = gs_emu_run(&launch, error);
    if (launch.findings > 0) status = report(emu, &launch, error);
    if (status == GS_OK) *us = remember(emu, work, &launch);
    free(launch.finding);
    return status;
}
