/* SPDX-License-Identifier: MIT
 * A pack: problems, for each what a plan is to use, and the compiled kernels, in one file that is mapped and needs no compiler, no cache and no writable disk.
 *
 *     head      magic, size, checksum of all up to the code; versions, the device's architecture, the least driver
 *     entries   a problem each, sorted by the hash of its key, of a fixed size
 *     kernels   where their code lies, its checksum, registers
 *     texts     terminated: problems, schedules, manifests, names; each once
 *     code      cubins, PTX for an emulated device, the sources of user kernels; each once, without gaps
 *
 * Numbers are little endian. The first four parts have one checksum, which opening compares; the code of each kernel has its own, compared when it is asked for. So what a
 * plan costs does not grow with the file. A reader believes nothing: every offset is looked at before it is used. docs/internals/pack.md has the fields. */
#ifndef GS_PACK_PACK_H
#define GS_PACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "schedule/caps.h"

typedef struct gs_pack gs_pack;
typedef struct gs_pack_writer gs_pack_writer;

/* For what it was made, and by what. */
typedef struct gs_pack_head {
    char version[32];     /* of gemmsmith */
    char target[16];      /* "sm_90a" */
    char gpu[48];         /* the slug of the device that plans were chosen for */
    char date[24];
    int  cc, sms;
    int  nvrtc;           /* the compiler: 1000 * major + 10 * minor; 0: nothing was compiled */
    int  driver;          /* the CUDA version that a driver must support, as cuDriverGetVersion tells it */
    bool emulated;        /* kernels are PTX */
    int  problems, kernels;   /* when read */
} gs_pack_head;

/* A problem. Texts live as long as the pack. */
typedef struct gs_pack_entry {
    const char *problem;      /* canonical; alpha 1 and beta 0 or 1 where a kernel of ours serves it */
    const char *choice;       /* a schedule, "kernel/HASH", "cublaslt/3" */
    int         kernel;       /* its number; -1: cuBLASLt */
    int         suggestion;   /* of cuBLASLt, from 1; 0: a kernel */
    int         cublaslt;     /* the version for which the suggestion's number counts; 0: none */
    double      us, library_us, ratio, low, high;   /* measured, as a row of a table has them; us 0: nothing was */
    int         mhz;
    int         chain;        /* behind a launch that lets it begin early: 1, it was measured to win by a dependent launch; -1: to lose; 0: nothing was */
    const char *gpu, *date, *by;   /* where, when, by what; "" where nothing was measured */
} gs_pack_entry;

/* A kernel. All lives as long as the pack. The manifest alone is terminated. */
typedef struct gs_pack_kernel {
    const char *manifest;
    const void *code, *ptx;
    const char *source;       /* CUDA C of a user kernel */
    size_t      code_size, ptx_size, source_size;
    int         registers, spill_bytes, stack_bytes, static_smem;
    bool        user;         /* a user kernel's: served for exactly the problem it was proved for */
} gs_pack_kernel;

/* Maps a file. NOT_FOUND, IO, MEMORY; CORRUPT: it is no pack, or was cut or changed; UNSUPPORTED: of another version of the format. It may be replaced by
 * another file while it is open, but must not be written to. */
gs_status gs_pack_open(gs_pack **out, const char *path, gs_error *error);

/* The same of bytes, which must stay: for tests. */
gs_status gs_pack_from(gs_pack **out, const void *bytes, size_t size, const char *name, gs_error *error);
void      gs_pack_close(gs_pack **pack);

/* UNSUPPORTED: made by another version of gemmsmith, for another architecture, or for a newer driver. */
gs_status gs_pack_fits(const gs_pack *pack, const gs_caps *caps, gs_error *error);

const char         *gs_pack_name(const gs_pack *pack);   /* the file's name without its folder */
const gs_pack_head *gs_pack_about(const gs_pack *pack);
size_t              gs_pack_bytes(const gs_pack *pack);

/* Whether the pack has the problem; *out is what. Problems are the same where they need the same kernel: alpha and the value of beta do not count, but for a
 * user kernel, which is found by exactly its problem. */
bool gs_pack_find(const gs_pack *pack, const gs_problem *problem, gs_pack_entry *out);

/* By number, in the file's order, which says nothing. False beyond the last. */
bool gs_pack_entry_at(const gs_pack *pack, int index, gs_pack_entry *out);

/* A kernel whose code is as it was written: CORRUPT else. */
gs_status gs_pack_kernel_at(const gs_pack *pack, int index, gs_pack_kernel *out, gs_error *error);

/* Whether a user kernel with these texts is called so: 32 digits, the hash of both. */
bool gs_pack_is_named(const char *name, const char *source, const char *manifest);

/* The least driver for what a compiler of that version makes (1000 * major + 10 * minor), as in gs_pack_head: within a major version cubins run on every driver. */
int gs_pack_driver_for(int nvrtc);

/* "525": the driver's own number for that. */
const char *gs_pack_driver_name(int driver);

/* ---- writing ---- */

gs_status gs_pack_writer_create(gs_pack_writer **out, gs_error *error);
void      gs_pack_writer_destroy(gs_pack_writer **writer);

/* Adds a kernel, or finds the same one; *index is its number. Everything is copied. MEMORY. */
gs_status gs_pack_put_kernel(gs_pack_writer *writer, const gs_pack_kernel *kernel, int *index, gs_error *error);

/* Adds a problem; one that is there already stays: *added is false. entry->problem is not used. MEMORY; ARGUMENT: a kernel that was not put. */
gs_status gs_pack_put(gs_pack_writer *writer, const gs_problem *problem, const gs_pack_entry *entry, bool *added, gs_error *error);

/* All of it; *bytes is the caller's (free()). MEMORY. */
gs_status gs_pack_finish(gs_pack_writer *writer, const gs_pack_head *head, char **bytes, size_t *size, gs_error *error);

#endif
