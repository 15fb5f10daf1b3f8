/* SPDX-License-Identifier: MIT
 * Fragments of a warp: lanes that execute together. */
#ifndef GS_EMU_MACHINE_WARP_H
#define GS_EMU_MACHINE_WARP_H

#include "emu/machine/machine.h"

gs_emu_exec gs_emu_branch;
void gs_emu_warp_start(gs_emu_warp *w);
void gs_emu_warp_split(gs_emu_warp *w, uint32_t lanes);   /* splits off some lanes of the current fragment, at the same place */
void gs_emu_warp_merge(gs_emu_warp *w, int at);           /* merges a fragment of the same scope into the current one */
void gs_emu_warp_arrive(gs_emu_warp *w, int at);          /* the fragment is at the end of its scope */
void gs_emu_warp_leave(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes);   /* these lanes of the current fragment exit */

#endif
