/* SPDX-License-Identifier: MIT
 * The groups of cp.async: each lane has its own, numbered from 1; for each the copies under way are counted. */
#ifndef GS_EMU_ISA_CP_GROUPS_H
#define GS_EMU_ISA_CP_GROUPS_H

#include "emu/isa/isa.h"

/* An instruction's copies that their lanes have not waited for yet. */
typedef struct gs_emu_copied {
    gs_emu_lane_access to;
    uint32_t           group[GS_EMU_LANES];
} gs_emu_copied;

/* Group g of a lane is counted in row g % rows; the open group is that of number committed + 1. */
struct gs_emu_copy_state {
    uint32_t committed[GS_EMU_LANES];
    uint32_t issued[GS_EMU_LANES], waited[GS_EMU_LANES];   /* the last group that has a copy; the last that the lane waited for */
    uint32_t oldest[GS_EMU_LANES];         /* all groups before this one are finished */
    uint32_t rows;                         /* a power of two */
    uint32_t (*under_way)[GS_EMU_LANES];
    gs_emu_copied recent[16];              /* the last ones, with the checker */
    uint32_t copies;                       /* so many since it started */
};

/* The first group of a lane that is not finished; committed + 1 when all before the open one are. */
uint32_t gs_emu_copy_oldest(struct gs_emu_copy_state *state, int lane);

/* Room for the open groups of these lanes, and for so many more. false: no memory. */
bool gs_emu_copy_room(gs_emu_warp *w, uint32_t lanes, uint32_t more);

#endif
