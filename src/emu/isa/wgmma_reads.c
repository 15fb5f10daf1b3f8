/* SPDX-License-Identifier: MIT
 * Records the shared memory that wgmma operations read, for the checker. */
#include <string.h>

#include "emu/isa/wgmma.h"

void gs_emu_wgmma_note_reads(struct gs_emu_wgmma_state *s, const uint32_t *piece, int pieces)
{
    for (int i = 0; i < pieces; i++) {
        const uint32_t bit = piece[i] / GS_EMU_PIECE, word = bit / 64;
        s->read[word] |= 1ull << bit % 64;
        if (word < s->read_low) s->read_low = word;
        if (word >= s->read_high) s->read_high = word + 1;
    }
}

static bool is_read(const struct gs_emu_wgmma_state *s, uint32_t bit) { return s->read[bit / 64] >> bit % 64 & 1; }

void gs_emu_wgmma_flush(gs_emu_warp *w)
{
    struct gs_emu_wgmma_state *const s = w->wgmma;
    const uint32_t end = 64 * s->read_high;
    if (s->read_low >= s->read_high) return;
    for (uint32_t bit = 64 * s->read_low; bit < end;) {
        uint32_t last = bit;
        if (s->read[bit / 64] >> bit % 64 == 0) {
            bit = (bit / 64 + 1) * 64;
            continue;
        }
        while (last < end && is_read(s, last)) last++;
        if (last > bit)
            gs_emu_check_access(w->cluster->check, w->number, s->read_op, w->block->rank, bit * GS_EMU_PIECE, (last - bit) * GS_EMU_PIECE,
                                GS_EMU_ASYNC_READ, GS_EMU_AGENT_WGMMA, s->committed + 1);
        bit = last + 1;
    }
    memset(s->read + s->read_low, 0, (s->read_high - s->read_low) * sizeof *s->read);
    s->read_low = s->read_words;
    s->read_high = 0;
}
