/* SPDX-License-Identifier: MIT
 * Races between lanes of a warp in shared memory: what one lane wrote may be read by another one only after __syncwarp, or another instruction that synchronises
 * lanes; likewise what one lane read may be overwritten by another one. The latest reads and writes of a warp are kept until such an instruction is executed anywhere
 * in the cluster: if another warp executes it, a race may be missed. Strong accesses, atomics and warp-wide instructions are not checked. */
#include "emu/isa/access.h"

#define MOST_PAIRS 4096u   /* most pairwise comparisons per warp, so that kernels whose lanes use separate parts of shared memory are not slowed down */

static uint64_t meetings(const gs_emu_warp *w)
{
    const uint64_t *const issued = w->cluster->counters.issued;
    return issued[GS_EMU_BARRIER] + issued[GS_EMU_EXCHANGE] + issued[GS_EMU_MATRIX] + issued[GS_EMU_COPY];
}

gs_emu_lane_access gs_emu_lanes_access(const gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size)
{
    gs_emu_lane_access access = {.lanes = reach->lanes, .size = size, .op = gs_emu_index(w, op), .low = UINT32_MAX, .meetings = meetings(w)};
    uint32_t high = 0;
    for (uint32_t l = 0; l < GS_EMU_LANES; l++) {
        const uint32_t at = (uint32_t)reach->address[l];
        access.address[l] = at;
        access.low = GS_MIN(access.low, at);
        high = GS_MAX(high, at);
    }
    access.end = high + size;
    return access;
}

/* The lane whose write this lane reads; -1: none, or its own write is among them. */
static int writer_of(const gs_emu_lane_access *wrote, int lane, uint32_t at, uint32_t size)
{
    int found = -1;
    for (uint32_t left = wrote->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (at >= wrote->address[l] + wrote->size || wrote->address[l] >= at + size) continue;
        if (l == lane) return -1;
        found = l;
    }
    return found;
}

static bool compare(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, const gs_emu_lane_access *wrote)
{
    for (uint32_t left = reach->lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const int writer = writer_of(wrote, lane, (uint32_t)reach->address[lane], size);
        if (writer < 0) continue;
        gs_emu_report(w, op, GS_EMU_RACE_FINDING, "read of %u bytes at 0x%x by lane %d; written by lane %d of the same warp at PTX line %d with no __syncwarp between",
                      size, (uint32_t)reach->address[lane], lane, writer, w->code->op[wrote->op].line);
        return true;
    }
    return false;
}

/* Whether a lane overwrites what another one has read. */
static bool overwrites(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, const gs_emu_lane_access *read)
{
    for (uint32_t left = reach->lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const uint32_t at = (uint32_t)reach->address[lane];
        for (uint32_t others = read->lanes & ~(1u << lane); others; others &= others - 1) {
            const int reader = __builtin_ctz(others);
            if (at >= read->address[reader] + read->size || read->address[reader] >= at + size) continue;
            gs_emu_report(w, op, GS_EMU_RACE_FINDING, "write of %u bytes at 0x%x by lane %d; read by lane %d of the same warp at PTX line %d with no __syncwarp between",
                          size, at, lane, reader, w->code->op[read->op].line);
            return true;
        }
    }
    return false;
}

typedef bool conflict(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, const gs_emu_lane_access *earlier);

/* Compares an access with the latest entries of the list (of `count` in all) since the last synchronisation of lanes. */
static void look(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size, const gs_emu_lane_access *list, uint32_t room, uint32_t count,
                 conflict *with)
{
    const uint64_t now = meetings(w);
    if (!count || list[(count - 1) % room].meetings != now || w->pairs >= MOST_PAIRS) return;
    uint64_t low, high;
    gs_emu_reach_span(reach, reach->lanes, &low, &high);
    for (uint32_t i = 0; i < GS_MIN(count, room); i++) {
        const gs_emu_lane_access *const earlier = &list[i];
        if (earlier->meetings != now || high + size <= earlier->low || low >= earlier->end) continue;
        w->pairs++;
        if (with(w, op, reach, size, earlier)) return;
    }
}

void gs_emu_lanes_read(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size)
{
    look(w, op, reach, size, w->write, GS_COUNT(w->write), w->writes, compare);
    w->read[w->reads++ % GS_COUNT(w->read)] = gs_emu_lanes_access(w, op, reach, size);
}

void gs_emu_lanes_wrote(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size)
{
    look(w, op, reach, size, w->read, GS_COUNT(w->read), w->reads, overwrites);
    w->write[w->writes++ % GS_COUNT(w->write)] = gs_emu_lanes_access(w, op, reach, size);
}

void gs_emu_lanes_copied(gs_emu_warp *w, const gs_emu_lane_access *copied, uint32_t lanes)
{
    gs_emu_lane_access *const kept = &w->write[w->writes++ % GS_COUNT(w->write)];
    *kept = *copied;
    kept->lanes = lanes;
    kept->meetings = meetings(w) + 1;   /* + 1 for this wait, which is counted only after its execution */
}
