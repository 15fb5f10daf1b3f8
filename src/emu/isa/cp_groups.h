/* SPDX-License-Identifier: MIT
 * Groups of cp.async: each lane has its own, numbered from 1; pending copies are counted per group. */
#ifndef GS_EMU_ISA_CP_GROUPS_H
#define GS_EMU_ISA_CP_GROUPS_H

#include "emu/isa/isa.h"

/* The copies of one instruction that their lanes have not waited for yet. */
typedef struct gs_emu_copied {
    gs_emu_lane_access to;
    uint32_t           group[GS_EMU_LANES];
} gs_emu_copied;

/* Group g of a lane is counted in row g % rows; the open group has the number committed + 1. */
struct gs_emu_copy_state {
    uint32_t committed[GS_EMU_LANES];
    uint32_t issued[GS_EMU_LANES], waited[GS_EMU_LANES];   /* last group that has a copy; last group that the lane waited for */
    uint32_t oldest[GS_EMU_LANES];         /* all groups before this one are complete */
    uint32_t rows;                         /* a power of two */
    uint32_t (*under_way)[GS_EMU_LANES];
    gs_emu_copied recent[16];              /* the latest copies, for the checker */
    uint32_t copies;                       /* number of copies since the start */
};

/* The first incomplete group of a lane; committed + 1 if all before the open one are complete. */
uint32_t gs_emu_copy_oldest(struct gs_emu_copy_state *state, int lane);

/* Makes room for the open groups of these lanes, and for `more` more. false: no memory. */
bool gs_emu_copy_room(gs_emu_warp *w, uint32_t lanes, uint32_t more);

#endif
