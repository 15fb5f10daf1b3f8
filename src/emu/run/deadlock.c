/* SPDX-License-Identifier: MIT
 * Description of a deadlock: what every warp waits for. */
#include <stdio.h>
#include <string.h>

#include "emu/isa/sync.h"
#include "emu/machine/pool.h"
#include "emu/run/internal.h"

static void describe_wait(gs_emu_warp *w, const gs_emu_fragment *f, char *text, size_t size)
{
    const gs_emu_op *const op = &w->code->op[f->pc];
    char what[160], place[96];
    w->current = (int)(f - w->fragment);
    gs_emu_mbarrier_describe(w, op, f, what, sizeof what);
    if (!what[0]) gs_emu_sync_describe(w, op, what, sizeof what);
    gs_emu_describe_op(w->cluster, f->pc, place, sizeof place);
    snprintf(text, size, "%.40s at %s%s%s%s", op->name, place, what[0] ? " (" : "", what, what[0] ? ")" : "");
}

/* head_line: what is wrong. Warps that wait at the same place for the same thing share a line. */
void gs_emu_report_deadlock(gs_emu_cluster *cluster, const char *head_line)
{
    char text[768], wait[320], previous[320] = "";
    size_t size = 0;
    const gs_emu_op *at = NULL;
    gs_emu_warp *first = NULL;
    int lines = 0;
    size += (size_t)snprintf(text, sizeof text, "%s", head_line);
    for (int b = 0; b < cluster->blocks; b++)
        for (int i = 0; i < cluster->block[b].warps; i++) {
            gs_emu_warp *const w = &cluster->block[b].warp[i];
            for (int f = 0; f < w->fragments && size < sizeof text; f++) {
                char head[48] = "";
                if (cluster->blocks > 1) snprintf(head, sizeof head, "block %d ", b);
                describe_wait(w, &w->fragment[f], wait, sizeof wait);
                if (!at) at = &w->code->op[w->fragment[f].pc], first = w;
                if (strcmp(wait, previous) == 0) continue;
                snprintf(previous, sizeof previous, "%s", wait);
                size += (size_t)snprintf(text + size, sizeof text - size, "%s %swarp %d lanes %#x: %s", lines++ ? ";" : "", head, i,
                                         w->fragment[f].lanes, wait);
            }
        }
    if (first)
        gs_emu_add_finding(cluster, first->block, first->index, at, GS_EMU_DEADLOCK_FINDING, text);
    else
        gs_emu_stop(cluster);
}
