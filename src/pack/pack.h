/* SPDX-License-Identifier: MIT
 * A pack: one file with problems, the choice of a plan for each, and the compiled kernels. It is memory-mapped and needs no compiler, cache or writable disk.
 *
 *     head      magic, size, checksum of everything up to the code; versions, the device's architecture, the oldest driver
 *     entries   one per problem, fixed size, sorted by the hash of its key
 *     kernels   offset and checksum of their code, registers
 *     texts     NUL-terminated, without duplicates: problems, schedules, manifests, names
 *     code      cubins, PTX for an emulated device, sources of user kernels; without duplicates and gaps
 *
 * Numbers are little endian. Opening verifies one checksum of the first four parts; the code of each kernel has its own, verified when it is used. So the cost of a plan does not
 * depend on the size of the file. The reader does not trust the file: every offset is checked before use. docs/internals/pack.md has the fields. */
#ifndef GS_PACK_PACK_H
#define GS_PACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "schedule/caps.h"

typedef struct gs_pack gs_pack;
typedef struct gs_pack_writer gs_pack_writer;

/* What the pack was made for, and by what. */
typedef struct gs_pack_head {
    char version[32];     /* of gemmsmith */
    char target[16];      /* "sm_90a" */
    char gpu[48];         /* the slug of the device that plans were chosen for */
    char date[24];
    int  cc, sms;
    int  nvrtc;           /* NVRTC's version: 1000 * major + 10 * minor; 0: nothing was compiled */
    int  driver;          /* the CUDA version that the driver must support, as cuDriverGetVersion returns it */
    bool emulated;        /* kernels are PTX */
    int  problems, kernels;   /* set by reading only */
} gs_pack_head;

/* A problem. The texts live as long as the pack. */
typedef struct gs_pack_entry {
    const char *problem;      /* canonical text; alpha 1 and beta 0 or 1 if one of our kernels serves it */
    const char *choice;       /* a schedule, "kernel/HASH", "cublaslt/3" */
    int         kernel;       /* index; -1: cuBLASLt */
    int         suggestion;   /* of cuBLASLt, from 1; 0: a kernel */
    int         cublaslt;     /* cuBLASLt's version for which the suggestion is valid; 0: none */
    double      us, library_us, ratio, low, high;   /* as in a row of a tuned table; us 0: not measured */
    int         mhz;
    int         chain;        /* after a launch that lets it begin early, a dependent launch was measured to be: 1 faster, -1 slower, 0 not measured */
    const char *gpu, *date, *by;   /* where, when and by what it was measured; "" if it was not */
} gs_pack_entry;

/* A kernel. All pointers are valid as long as the pack is. Only the manifest is NUL-terminated. */
typedef struct gs_pack_kernel {
    const char *manifest;
    const void *code, *ptx;
    const char *source;       /* CUDA C of a user kernel, else NULL */
    size_t      code_size, ptx_size, source_size;
    int         registers, spill_bytes, stack_bytes, static_smem;
    bool        user;         /* a user kernel: used only for the exact problem it was verified for */
} gs_pack_kernel;

/* Maps a file. NOT_FOUND, IO, MEMORY; CORRUPT: no pack, or truncated or changed; UNSUPPORTED: another version of the format. While it is open, the file may be
 * replaced but must not be written to. */
gs_status gs_pack_open(gs_pack **out, const char *path, gs_error *error);

/* The same for bytes in memory, which must outlive the pack: for tests. */
gs_status gs_pack_from(gs_pack **out, const void *bytes, size_t size, const char *name, gs_error *error);
void      gs_pack_close(gs_pack **pack);

/* UNSUPPORTED: made by another version of gemmsmith, for another architecture, or for a newer driver. */
gs_status gs_pack_fits(const gs_pack *pack, const gs_caps *caps, gs_error *error);

const char         *gs_pack_name(const gs_pack *pack);   /* the file's name without its folder */
const gs_pack_head *gs_pack_about(const gs_pack *pack);
size_t              gs_pack_bytes(const gs_pack *pack);

/* Whether the pack has the problem; if so fills *out. Problems are equal if they need the same kernel: alpha and the value of beta are ignored, except for
 * user kernels, which are found only for exactly their problem. */
bool gs_pack_find(const gs_pack *pack, const gs_problem *problem, gs_pack_entry *out);

/* The entry at an index, in an arbitrary order. False after the last. */
bool gs_pack_entry_at(const gs_pack *pack, int index, gs_pack_entry *out);

/* A kernel, after verifying its checksum. CORRUPT: its code was changed. */
gs_status gs_pack_kernel_at(const gs_pack *pack, int index, gs_pack_kernel *out, gs_error *error);

/* Whether name (32 digits) is the hash of these texts of a user kernel. */
bool gs_pack_is_named(const char *name, const char *source, const char *manifest);

/* The oldest driver for cubins of an NVRTC version (1000 * major + 10 * minor), as in gs_pack_head: cubins run on every driver of the same major version. */
int gs_pack_driver_for(int nvrtc);

/* The driver's own version number for it: "525". */
const char *gs_pack_driver_name(int driver);

/* ---- writing ---- */

gs_status gs_pack_writer_create(gs_pack_writer **out, gs_error *error);
void      gs_pack_writer_destroy(gs_pack_writer **writer);

/* Adds a kernel unless an identical one exists; *index: its index. Everything is copied. MEMORY. */
gs_status gs_pack_put_kernel(gs_pack_writer *writer, const gs_pack_kernel *kernel, int *index, gs_error *error);

/* Adds a problem; *added is false if it exists, which leaves it unchanged. entry->problem is ignored. MEMORY; ARGUMENT: no such kernel index. */
gs_status gs_pack_put(gs_pack_writer *writer, const gs_problem *problem, const gs_pack_entry *entry, bool *added, gs_error *error);

/* Returns the whole pack; *bytes is owned by the caller (free()). MEMORY. */
gs_status gs_pack_finish(gs_pack_writer *writer, const gs_pack_head *head, char **bytes, size_t *size, gs_error *error);

#endif
