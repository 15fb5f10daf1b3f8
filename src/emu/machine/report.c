/* SPDX-License-Identifier: MIT
 * Findings of a launch: their places, those that end it, the description of endless loops. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/machine/pool.h"

/* ---- findings ---- */

static bool is_fatal(gs_emu_finding_kind kind)
{
    switch (kind) {
    case GS_EMU_OUT_OF_BOUNDS_FINDING:
    case GS_EMU_MISALIGNED_FINDING:
    case GS_EMU_DESCRIPTOR_FINDING:
    case GS_EMU_DIVERGED_FINDING:
    case GS_EMU_DEADLOCK_FINDING:
    case GS_EMU_ENDLESS_FINDING:
    case GS_EMU_REGISTERS_FINDING:
    case GS_EMU_TRAP_FINDING: return true;
    default: return false;
    }
}

/* Name of a source file without folders; "" if unknown. */
static void file_name(const gs_ptx_module *module, int32_t file, char *text, size_t size)
{
    text[0] = '\0';
    if (file <= 0 || file >= module->files || !module->file[file]) return;
    const char *const slash = strrchr(module->file[file], '/');
    snprintf(text, size, "%s", slash ? slash + 1 : module->file[file]);
}

static void place_finding(const gs_emu_launch *launch, const gs_emu_op *op, gs_emu_finding *finding)
{
    const gs_ptx_module *const module = launch->code->module;
    snprintf(finding->kernel, sizeof finding->kernel, "%s", launch->code->entry->name);
    if (!op) return;
    finding->ptx_line = op->line;
    finding->line = op->location.line;
    finding->at_line = op->location.at_line;
    if (finding->line > 0) file_name(module, op->location.file, finding->file, sizeof finding->file);
    if (finding->at_line > 0) file_name(module, op->location.at_file, finding->at_file, sizeof finding->at_file);
}

/* The same kind at the same instruction is one finding. It is reported as found by the lowest cluster, so that the result does not depend on the speed of host
 * threads. */
void gs_emu_add_finding(gs_emu_cluster *cluster, const gs_emu_block *block, int warp, const gs_emu_op *op, gs_emu_finding_kind kind, const char *text)
{
    gs_emu_launch *const launch = cluster->launch;
    uint64_t *const told = launch->pool->told, now = (uint64_t)cluster->id << 32 | cluster->told++;
    gs_emu_finding finding = {.kind = kind, .warp = warp, .times = 1};
    place_finding(launch, op, &finding);
    if (block) memcpy(finding.block, block->id, sizeof finding.block);
    snprintf(finding.text, sizeof finding.text, "%s", text);
    pthread_mutex_lock(&launch->pool->lock);
    launch->findings_total++;
    int at = 0;
    while (at < launch->findings && (launch->finding[at].kind != kind || launch->finding[at].ptx_line != finding.ptx_line)) at++;
    if (at < launch->findings) {
        finding.times += launch->finding[at].times;
        launch->finding[at].times = finding.times;
    }
    if (at < GS_EMU_MOST_FINDINGS && (at == launch->findings || now < told[at])) {
        launch->finding[at] = finding;
        told[at] = now;
        launch->findings = GS_MAX(launch->findings, at + 1);
    }
    pthread_mutex_unlock(&launch->pool->lock);
    if (is_fatal(kind)) gs_emu_stop(cluster);
}

void gs_emu_sort_findings(gs_emu_launch *launch)
{
    uint64_t *const told = launch->pool->told;
    const uint64_t stop = atomic_load(&launch->pool->stop);
    int count = 0;
    for (int i = 0; i < launch->findings; i++) {
        const gs_emu_finding finding = launch->finding[i];
        const uint64_t key = told[i];
        int at = count;
        if (key >> 32 > stop) continue;   /* found by a cluster that should not have run any more */
        for (; at > 0 && told[at - 1] > key; at--) {
            launch->finding[at] = launch->finding[at - 1];
            told[at] = told[at - 1];
        }
        launch->finding[at] = finding;
        told[at] = key;
        count++;
    }
    launch->findings = count;
}

gs_emu_result gs_emu_report(gs_emu_warp *warp, const gs_emu_op *op, gs_emu_finding_kind kind, const char *format, ...)
{
    char text[sizeof(((gs_emu_finding *)0)->text)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const bool fatal = is_fatal(kind);
    if (fatal || warp->cluster->check) gs_emu_add_finding(warp->cluster, warp->block, warp->index, op, kind, text);
    return fatal ? GS_EMU_FAILED : GS_EMU_NEXT;
}

/* Called by the race checker. */
void gs_emu_report_race(void *context, gs_emu_finding_kind kind, int warp, uint32_t op, const char *text)
{
    gs_emu_cluster *const cluster = context;
    const gs_emu_block *const block = &cluster->block[warp / cluster->block[0].warps];
    gs_emu_add_finding(cluster, block, warp % cluster->block[0].warps, &cluster->launch->code->op[op], kind, text);
}

void gs_emu_describe_op(void *context, uint32_t op, char *text, unsigned long size)
{
    const gs_emu_cluster *const cluster = context;
    gs_emu_finding finding = {0};
    place_finding(cluster->launch, &cluster->launch->code->op[op], &finding);
    if (finding.file[0])
        snprintf(text, size, "%s:%d", finding.file, finding.line);
    else
        snprintf(text, size, "PTX line %d", finding.ptx_line);
}

void gs_emu_report_endless(gs_emu_cluster *cluster, gs_emu_warp *w)
{
    const gs_emu_op *const op = w->fragments ? &w->code->op[w->fragment[0].pc] : NULL;
    char text[160];
    snprintf(text, sizeof text, "%llu instructions of this cluster, the last %llu without a store, a barrier or a copy",
             (unsigned long long)cluster->steps, (unsigned long long)cluster->quiet_steps);
    gs_emu_add_finding(cluster, w->block, w->index, op, GS_EMU_ENDLESS_FINDING, text);
}

/* A finding that belongs to no thread. */
static void report_launch(gs_emu_launch *launch, const char *text)
{
    gs_emu_finding *const finding = &launch->finding[launch->findings++];
    *finding = (gs_emu_finding){.kind = GS_EMU_EARLY_ACCESS_FINDING, .warp = -1, .times = 1};
    place_finding(launch, NULL, finding);
    snprintf(finding->text, sizeof finding->text, "%s", text);
    launch->findings_total++;
}

void gs_emu_report_unwaited(gs_emu_launch *launch)
{
    report_launch(launch, "no thread of a dependent launch executed griddepcontrol.wait: the launch behind it would not wait for the one before it");
}

void gs_emu_report_overwritten(gs_emu_launch *launch)
{
    report_launch(launch, "the launch before wrote to B, of which the problem says that it is constant: this launch may read it before that one has ended");
}
