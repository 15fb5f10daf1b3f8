/* SPDX-License-Identifier: MIT
 * The kinds of findings of the checker, and the record of one finding. */
#ifndef GS_EMU_CHECK_FINDING_H
#define GS_EMU_CHECK_FINDING_H

#include <stdint.h>

/* legend: kind, text, meaning. A fatal finding ends the launch at once. */
#define GS_EMU_FINDINGS(X)                                                                                     \
    X(OUT_OF_BOUNDS,  "out-of-bounds",      "an address that no allocation holds; fatal")                      \
    X(MISALIGNED,     "misaligned",         "an address that is no multiple of the access size; fatal")        \
    X(UNINITIALIZED,  "uninitialized-read", "a read of memory that nothing wrote")                             \
    X(RACE,           "race",               "two accesses to shared memory, one a write, that nothing orders") \
    X(PROXY_FENCE,    "missing-proxy-fence", "an asynchronous access to shared memory that threads wrote, without fence.proxy.async") \
    X(EARLY_READ,     "early-read",         "a read of a copy's destination before its barrier or wait")       \
    X(OVERWRITE,      "overwrite",          "a write to shared memory that a copy or a wgmma still uses")      \
    X(WGMMA_REGISTER, "wgmma-register",     "a register of a wgmma used before wgmma.wait_group")              \
    X(WGMMA_FENCE,    "missing-wgmma-fence", "a wgmma whose registers were written after the last wgmma.fence") \
    X(DESCRIPTOR,     "descriptor",         "a shared memory descriptor or a tensor map that is not valid; fatal") \
    X(ARRIVAL_COUNT,  "arrival-count",      "more arrivals at a barrier than its phase expects, or threads that do not fit its count") \
    X(BYTE_COUNT,     "byte-count",         "a barrier phase that ends while its copies are under way")        \
    X(PHASE,          "phase",              "a wait for a parity that is more than one phase behind")          \
    X(BARRIER,        "barrier",            "a barrier used before its initialisation, or otherwise misused")  \
    X(DIVERGED,       "diverged",           "an instruction that all lanes must execute together, by some of them; fatal") \
    X(DEADLOCK,       "deadlock",           "every warp waits and nothing is under way; fatal")                \
    X(ENDLESS,        "endless",            "no end in sight: the limit of instructions is reached; fatal")    \
    X(NOT_BEGUN,      "not-begun",          "shared memory of another block of the cluster, which may not have begun") \
    X(EXIT_IN_USE,    "exit-in-use",        "a block ended while another block or a copy still uses its shared memory") \
    X(EXIT_STORES,    "exit-stores",        "a block ended while its bulk stores still read shared memory")    \
    X(UNORDERED,      "unordered",          "global memory that another block of the launch wrote, with nothing that orders the two") \
    X(EARLY_ACCESS,   "early-access",       "global memory touched in a dependent launch before griddepcontrol.wait") \
    X(REGISTERS,      "registers",          "setmaxnreg beyond what the block holds; fatal")                   \
    X(TRAP,           "trap",               "the kernel stopped itself, or did what is not defined; fatal")

typedef enum gs_emu_finding_kind {
#define GS_EMU_FINDING(name, text, meaning) GS_EMU_##name##_FINDING,
    GS_EMU_FINDINGS(GS_EMU_FINDING)
#undef GS_EMU_FINDING
    GS_EMU_FINDING_KINDS
} gs_emu_finding_kind;

typedef struct gs_emu_finding {
    gs_emu_finding_kind kind;
    char     kernel[64];
    int      ptx_line;              /* 0: none */
    char     file[64];              /* source file, with -lineinfo; "" if unknown */
    int      line;
    int      at_line;               /* line of the kernel's own file into which it was inlined; 0: not inlined */
    char     at_file[64];           /* that file, "" if unknown */
    uint32_t block[3];
    int      warp;                  /* in the block, -1: none */
    uint64_t times;                 /* number of occurrences of this kind at this instruction */
    char     text[768];             /* what happened, without the place */
} gs_emu_finding;

const char *gs_emu_finding_name(gs_emu_finding_kind kind);   /* "early-read" */

/* "gs_ws, block 0 0 0, warp 4: early-read: ... (PTX line 317; wgmma.cuh:43, inlined at ws.cu:128)". Returns text. */
char *gs_emu_finding_format(const gs_emu_finding *finding, char *text, unsigned long size);

#endif
