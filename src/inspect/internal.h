/* SPDX-License-Identifier: MIT
 * Shared by the files of the inspection.
 *   inspect.c   the module, its variables, its instructions     flow.c    uses of the addresses of module variables
 *   matrix.c    types of arithmetic                             source.c  includes of the CUDA C
 *   agree.c     an entry against its manifest                   calls.c   parameters and results of functions
 *   refuse.c    refusals                                        policy.c  cache policies */
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
    bool                 wide;       /* f32 accumulators are declared or required */
    gs_error            *error;
} gs_inspector;

/* Refuses because of an instruction; at NULL: not because of a particular one. */
gs_status gs_inspect_refuse(const gs_inspector *i, gs_refusal refusal, const gs_ptx_instruction *at, const char *format, ...) GS_PRINTF(4, 5);

/* Whether the opcode has this dotted part, after the first. */
bool gs_inspect_has(const gs_ptx_instruction *at, const char *part);

/* Types of matrix instructions, of arithmetic and of conversions. */
gs_status gs_inspect_types(const gs_inspector *i, const gs_ptx_instruction *at);

/* Cache hints and priorities, of all instructions. */
gs_status gs_inspect_policies(const gs_inspector *i);

/* Checks that the entry's parameters, block, cluster and shared memory are those of the manifest. */
gs_status gs_inspect_agreement(const gs_inspector *i, const gs_entry *declared);

/* Parameters and results of the calls in an entry, byte by byte. */
enum { GS_INSPECT_STORED = 1, GS_INSPECT_ADDRESS = 2 };
typedef struct gs_inspect_passed {
    uint32_t *start;    /* per variable of the module: index of its first byte */
    uint8_t  *byte;     /* flags per byte */
} gs_inspect_passed;

/* Checks that every byte that is loaded is stored somewhere. *out must be freed whatever the status is. */
gs_status gs_inspect_calls(const gs_inspector *i, gs_inspect_passed *out);
int64_t   gs_inspect_passed_at(const gs_inspect_passed *passed, const gs_inspector *i, const gs_ptx_operand *operand);   /* its first byte; -1: not passed by a call */
void      gs_inspect_passed_free(gs_inspect_passed *passed);

/* Checks that variables of the module are only read: their addresses may be used for nothing but loads. */
gs_status gs_inspect_tables(const gs_inspector *i, const gs_inspect_passed *passed);

#endif
