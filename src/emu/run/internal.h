/* SPDX-License-Identifier: MIT
 * Shared by the files that decode and run a launch. */
#ifndef GS_EMU_RUN_INTERNAL_H
#define GS_EMU_RUN_INTERNAL_H

#include "emu/run/run.h"

/* Sets code->leader and code->reconverge from the branches: lanes reconverge where all paths from the branch that do not exit join (the immediate post-dominator), as
 * the hardware's assembler arranges it. */
gs_status gs_emu_find_reconvergence(gs_emu_code *code, gs_error *error);

/* Contracts products and sums to fused instructions. Call it after gs_emu_find_reconvergence. */
gs_status gs_emu_contract(gs_emu_decoder *d);

/* Sets code->garbage. Call it after the two above. */
gs_status gs_emu_find_starts(gs_emu_decoder *d);

bool gs_emu_warp_ready(const gs_emu_warp *w);   /* whether a fragment can execute */
/* Executes up to `budget` instructions of one ready fragment. false: a fatal finding. */
bool gs_emu_warp_turn(gs_emu_warp *w, uint32_t budget);

void gs_emu_peak_start(gs_emu_cluster *cluster);
void gs_emu_peak_end(gs_emu_cluster *cluster);   /* called when the cluster has ended */
void gs_emu_report_deadlock(gs_emu_cluster *cluster, const char *head_line);

#endif
