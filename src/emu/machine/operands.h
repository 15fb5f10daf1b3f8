/* SPDX-License-Identifier: MIT
 * Functions of operands.c for decoding a kernel, besides reading operands (machine.h). */
#ifndef GS_EMU_MACHINE_OPERANDS_H
#define GS_EMU_MACHINE_OPERANDS_H

#include "emu/machine/machine.h"

void     *gs_emu_operands_create(void);               /* for gs_emu_decoder.constants; NULL: no memory */
void      gs_emu_operands_destroy(void *constants);
gs_status gs_emu_operands_start(gs_emu_decoder *d);   /* before the first instruction */

uint32_t  gs_emu_register_size(gs_ptx_type type);     /* bytes of all lanes */

gs_status gs_emu_no_memory(gs_emu_decoder *d);

/* Called before and after an instruction is decoded: sets up the op for decoding functions, with its guard; records the registers that it reads and writes. */
void      gs_emu_instruction_begin(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op);
gs_status gs_emu_instruction_end(gs_emu_decoder *d);

#endif
