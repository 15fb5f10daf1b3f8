/* SPDX-License-Identifier: MIT
 * Lanes of a warp that exchange data through shared memory: what one lane wrote may be read by another one only behind __syncwarp, or
 * another instruction that lanes do together, and what one lane read may be overwritten by another one only there. The last reads and writes
 * of a warp are kept, until something like that is executed in the cluster.
 * That others execute it too only hides a fault. Strong accesses, atomics and instructions of the whole warp are not checked. */
#include "emu/isa/access.h"

#define MOST_PAIRS 4096u   /* careful comparisons of a warp: a kernel whose lanes have pieces of shared memory of their own is not slowed down */

static uint64_t meetings(const gs_emu_warp *w)
{
    const uint64_t *const issued = w->cluster->counters.issued;
    return issued[GS_EMU_BARRIER] + issued[GS_EMU_EXCHANGE] + issued[GS_EMU_MATRIX] + issued[GS_EMU_COPY];
}

static void keep(gs_emu_warp *w, gs_emu_lane_access *kept, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size)
{
    uint32_t low = UINT32_MAX, high = 0;
    for (uint32_t l = 0; l < GS_EMU_LANES; l++) {
        const uint32_t at = (uint32_t)reach->address[l];
        kept->address[l] = at;
        low = GS_MIN(low, at);
        high = GS_MAX(high, at);
    }
    kept->low = low;
    kept->end = high + size;
    kept->lanes = reach->lanes;
    kept->size = size;
    kept->op = gs_emu_index(w, op);
    kept->meetings = meetings(w);
}

/* The lane whose write that lane reads; -1: none, or its own is among them. */
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

/* Whether the last of so many was behind the last meeting. */
static bool is_recent(const gs_emu_lane_access *list, uint32_t room, uint32_t count, uint64_t now) { return count && list[(count - 1) % room].meetings == now; }

static void look_for_writes(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size)
{
    const uint32_t kept = GS_MIN(w->writes, (uint32_t)GS_COUNT(w->write));
    const uint64_t now = meetings(w);
    if (!is_recent(w->write, GS_COUNT(w->write), w->writes, now) || w->pairs >= MOST_PAIRS) return;
    uint64_t low, high;
    gs_emu_reach_span(reach, reach->lanes, &low, &high);
    for (uint32_t i = 0; i < kept; i++) {
        const gs_emu_lane_access *const wrote = &w->write[i];
        if (wrote->meetings != now || high + size <= wrote->low || low >= wrote->end) continue;
        w->pairs++;
        if (compare(w, op, reach, size, wrote)) return;
    }
}

void gs_emu_lanes_read(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size)
{
    look_for_writes(w, op, reach, size);
    keep(w, &w->read[w->reads++ % GS_COUNT(w->read)], op, reach, size);
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

void gs_emu_lanes_wrote(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach, uint32_t size)
{
    const uint64_t now = meetings(w);
    const uint32_t kept = GS_MIN(w->reads, (uint32_t)GS_COUNT(w->read));
    uint64_t low, high;
    if (is_recent(w->read, GS_COUNT(w->read), w->reads, now) && w->pairs < MOST_PAIRS) {
        gs_emu_reach_span(reach, reach->lanes, &low, &high);
        for (uint32_t i = 0; i < kept; i++) {
            const gs_emu_lane_access *const read = &w->read[i];
            if (read->meetings != now || high + size <= read->low || low >= read->end) continue;
            w->pairs++;
            if (overwrites(w, op, reach, size, read)) break;
        }
    }
    keep(w, &w->write[w->writes++ % GS_COUNT(w->write)], op, reach, size);
}
