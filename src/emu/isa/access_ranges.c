/* SPDX-License-Identifier: MIT
 * The addresses of an instruction's lanes, merged into ranges. */
#include <string.h>

#include "emu/isa/access.h"

#define SPAN_UNITS 1024u   /* accesses within a span of this many elements are sorted, to find few ranges */
#define EACH       GS_EMU_ACCESS_EACH

GS_EMU_WIDE void gs_emu_reach_addresses(gs_emu_warp *w, uint32_t base, bool wide, int64_t displacement, gs_emu_reach *reach)
{
    uint64_t *const address = reach->address;
    if (base == GS_EMU_NONE) {
        for (int l = 0; l < GS_EMU_LANES; l++) address[l] = (uint64_t)displacement;
    } else if (wide) {
        const uint64_t *const from = gs_emu_u64(w, base);
        for (int l = 0; l < GS_EMU_LANES; l++) address[l] = from[l] + (uint64_t)displacement;
    } else {
        const uint32_t *const from = gs_emu_u32(w, base);
        for (int l = 0; l < GS_EMU_LANES; l++) address[l] = from[l] + (uint32_t)displacement;
    }
}

GS_EMU_WIDE void gs_emu_reach_span(const gs_emu_reach *reach, uint32_t lanes, uint64_t *low, uint64_t *high)
{
    uint64_t least = UINT64_MAX, greatest = 0;
    EACH(l, lanes, const uint64_t at = reach->address[l]; least = at < least ? at : least; greatest = at > greatest ? at : greatest);
    *low = least;
    *high = greatest;
}

/* Appends a range, or extends the last one. */
static int add_range(gs_emu_range *range, int count, uint64_t start, uint32_t bytes)
{
    if (count && range[count - 1].start + range[count - 1].bytes == start) {
        range[count - 1].bytes += bytes;
        return count;
    }
    range[count] = (gs_emu_range){start, bytes};
    return count + 1;
}

/* Sorts with one bit per element from low on. */
static int sorted_ranges(const gs_emu_reach *reach, uint32_t lanes, uint32_t size, uint64_t low, uint32_t units, gs_emu_range *range)
{
    uint64_t taken[SPAN_UNITS / 64];
    const uint32_t words = (units + 63) / 64;
    const int shift = __builtin_ctz(size);
    int count = 0;
    memset(taken, 0, words * sizeof *taken);
    EACH(l, lanes, const uint32_t unit = (uint32_t)((reach->address[l] - low) >> shift); taken[unit / 64] |= 1ull << unit % 64);
    for (uint32_t word = 0; word < words; word++)
        for (uint64_t left = taken[word]; left;) {
            const int first = __builtin_ctzll(left);
            const uint64_t beyond = ~(left >> first);
            const int length = beyond ? __builtin_ctzll(beyond) : 64;
            count = add_range(range, count, low + ((uint64_t)(64 * word + (uint32_t)first) << shift), (uint32_t)length << shift);
            left = first + length < 64 ? left & UINT64_MAX << (first + length) : 0;
        }
    return count;
}

GS_EMU_WIDE int gs_emu_reach_ranges(const gs_emu_reach *reach, uint32_t lanes, uint32_t size, gs_emu_range range[GS_EMU_LANES])
{
    uint64_t low, high;
    int count = 0;
    if ((reach->straight && lanes == GS_EMU_FULL) || reach->uniform)
        return add_range(range, 0, reach->address[__builtin_ctz(lanes)], reach->uniform ? size : size * GS_EMU_LANES);
    gs_emu_reach_span(reach, lanes, &low, &high);
    if ((high - low) / size < SPAN_UNITS) return sorted_ranges(reach, lanes, size, low, (uint32_t)((high - low) / size) + 1, range);
    EACH(l, lanes, count = add_range(range, count, reach->address[l], size));
    return count;
}
