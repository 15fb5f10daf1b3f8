/* SPDX-License-Identifier: MIT
 * Which warp of a cluster has seen what a strong store wrote to four bytes of global memory: its later accesses of these come behind that store (order.c). The latest one of each warp
 * and place is kept; of very many at once some are forgotten. */
#ifndef GS_EMU_ISA_SIGHTS_H
#define GS_EMU_ISA_SIGHTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_emu_sights gs_emu_sights;   /* NULL: none so far */

/* place: an address, not 0; segment: of the writer. false: no memory. */
bool gs_emu_sights_add(gs_emu_sights **sights, uint64_t place, int warp, uint32_t segment);
bool gs_emu_sights_has(const gs_emu_sights *sights, uint64_t place, int warp, uint32_t segment);
void gs_emu_sights_clear(gs_emu_sights *sights);
void gs_emu_sights_destroy(gs_emu_sights *sights);

#endif
