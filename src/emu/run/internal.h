/* SPDX-License-Identifier: MIT
 * What the files that decode and run a launch share. */
#ifndef GS_EMU_RUN_INTERNAL_H
#define GS_EMU_RUN_INTERNAL_H

#include "emu/run/run.h"

/* Fills code->leader and code->reconverge from the branches: lanes meet where every path from the branch comes together
 * (the immediate post-dominator) but those that end, as the hardware's assembler arranges it. */
gs_status gs_emu_find_reconvergence(gs_emu_code *code, gs_error *error);

/* Makes fused instructions of products and sums, behind that. */
gs_status gs_emu_contract(gs_emu_decoder *d);

/* Fills code->garbage, behind that. */
gs_status gs_emu_find_starts(gs_emu_decoder *d);

bool gs_emu_warp_ready(const gs_emu_warp *w);   /* whether a fragment can execute */
/* Executes up to `budget` instructions of one ready fragment. false: a fatal finding. */
bool gs_emu_warp_turn(gs_emu_warp *w, uint32_t budget);

void gs_emu_peak_start(gs_emu_cluster *cluster);
void gs_emu_peak_end(gs_emu_cluster *cluster);   /* once it has ended */
void gs_emu_report_deadlock(gs_emu_cluster *cluster, const char *head_line);

#endif
