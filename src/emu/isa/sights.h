/* SPDX-License-Identifier: MIT
 * Records which warps of a cluster have read a strong store to four bytes of global memory, and when: what follows in causality order is ordered after that store
 * (order.c). */
#ifndef GS_EMU_ISA_SIGHTS_H
#define GS_EMU_ISA_SIGHTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_emu_sights gs_emu_sights;   /* NULL: empty */

/* place: an address, not 0; segment: of the latest writer that the warp has seen; clock: the warp's, not 0. false: no memory. */
bool gs_emu_sights_add(gs_emu_sights **sights, uint64_t place, int warp, uint32_t segment, uint32_t clock);

/* The clock at which the warp read it; 0: it did not. */
uint32_t gs_emu_sights_when(const gs_emu_sights *sights, uint64_t place, int warp, uint32_t segment);
void     gs_emu_sights_clear(gs_emu_sights *sights);
void     gs_emu_sights_destroy(gs_emu_sights *sights);

#endif
