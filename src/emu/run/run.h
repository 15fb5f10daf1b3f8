/* SPDX-License-Identifier: MIT
 * The emulated machine: decodes a kernel and runs a launch of it. */
#ifndef GS_EMU_RUN_RUN_H
#define GS_EMU_RUN_RUN_H

#include "emu/machine/machine.h"

/* Decodes an entry. global_address: see gs_emu_decoder. reserved: bytes of a block's shared memory before its variables. Codes: UNSUPPORTED, MEMORY, RANGE. */
gs_status gs_emu_code_create(gs_emu_code **out, const gs_ptx_module *module, const gs_ptx_entry *entry, const uint64_t *global_address, uint32_t reserved, gs_error *error);
void      gs_emu_code_free(gs_emu_code **code);

/* Runs the launch to its end. OK (also with findings that are not fatal), LAUNCH (refused: shape, shared memory), FAULT (a finding; the first one is in the error's
 * text), MEMORY. */
gs_status gs_emu_run(gs_emu_launch *launch, gs_error *error);

#endif
