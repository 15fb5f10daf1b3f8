/* SPDX-License-Identifier: MIT
 * What the files of the inspection share.
 *   inspect.c   the module, its variables, its instructions     flow.c    where addresses of tables go
 *   matrix.c    types of arithmetic                             source.c  what the CUDA C includes
 *   agree.c     an entry and what its manifest declares         calls.c   what goes into functions and comes out
 *   refuse.c    refusals                                        policy.c  which lines stay in L2 */
#ifndef GS_INSPECT_INTERNAL_H
#define GS_INSPECT_INTERNAL_H

#include "base/error.h"
#include "ptx/ptx.h"
#include "inspect/inspect.h"

typedef struct gs_inspector {
    const gs_ptx_module *module;
    const gs_ptx_entry  *entry;      /* being inspected */
    const gs_manifest   *manifest;
    const gs_problem    *problem;
    bool                 wide;       /* f32 accumulators are declared or asked for */
    gs_error            *error;
} gs_inspector;

/* Refuses because of an instruction (NULL: of what stands nowhere). */
gs_status gs_inspect_refuse(const gs_inspector *i, gs_refusal refusal, const gs_ptx_instruction *at, const char *format, ...) GS_PRINTF(4, 5);

/* The instruction has this dotted part, behind the first. */
bool gs_inspect_has(const gs_ptx_instruction *at, const char *part);

/* Types of matrix instructions, of arithmetic and of conversions. */
gs_status gs_inspect_types(const gs_inspector *i, const gs_ptx_instruction *at);

/* Cache hints and priorities, of all instructions. */
gs_status gs_inspect_policies(const gs_inspector *i);

/* The entry's parameters, blocks, clusters and shared memory are those that the manifest declares. */
gs_status gs_inspect_agreement(const gs_inspector *i, const gs_entry *declared);

/* Parameters and results of the calls that an entry makes, byte by byte. */
enum { GS_INSPECT_STORED = 1, GS_INSPECT_ADDRESS = 2 };
typedef struct gs_inspect_passed {
    uint32_t *start;    /* per variable of the module: of its bytes */
    uint8_t  *byte;     /* what is known of each */
} gs_inspect_passed;

/* Every byte that is loaded is stored somewhere. *out is to be freed whatever the status is. */
gs_status gs_inspect_calls(const gs_inspector *i, gs_inspect_passed *out);
int64_t   gs_inspect_passed_at(const gs_inspect_passed *passed, const gs_inspector *i, const gs_ptx_operand *operand);   /* its first byte; -1: it is none */
void      gs_inspect_passed_free(gs_inspect_passed *passed);

/* Variables of the module are tables: nothing but a load may follow from their address. */
gs_status gs_inspect_tables(const gs_inspector *i, const gs_inspect_passed *passed);

#endif
