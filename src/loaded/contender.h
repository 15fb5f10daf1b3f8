/* SPDX-License-Identifier: MIT
 * A contender: anything that computes a problem and can be verified and timed: one of our schedules, cuBLAS, cuBLASLt. */
#ifndef GS_LOADED_CONTENDER_H
#define GS_LOADED_CONTENDER_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "kernel/kernel.h"
#include "schedule/schedule.h"

#define GS_CONTENDER_NAME 128

typedef struct gs_contender gs_contender;
struct gs_contender {
    char  name[GS_CONTENDER_NAME];   /* "ws/128x256x64/...", "cublas", "cublaslt-autotuning", ... */
    char  detail[160];               /* after prepare: algorithm, registers, ...; for reports */
    bool  cublaslt;                  /* after prepare, of a plan: it chose cuBLASLt */
    int   suggestion;                /* after prepare, cuBLASLt only: which of its suggestions is used, from 1 */
    int   registers, smem;           /* after prepare, our and user kernels only: most of any entry, smem in bytes of a block */
    bool  bitwise;                   /* claims bit-equal results over repeats */
    bool  any_order;                 /* NVIDIA's library: it may add up in any order, also for an invariant problem */
    bool  rounds_products;           /* NVIDIA's library, and a plan, which may use it: may round a product to D's type before anything is added; timed outputs are judged with that in mind */
    bool  fixed_groups;              /* a user kernel: its source has a fixed number of groups of rows, since neither arguments nor manifest pass one */
    int   align[GS_OPERANDS];        /* after prepare: bytes that the address of each operand must be a multiple of; 0: not known */
    gs_pointer zeroed, scratch;      /* after prepare: the part of its workspace that is zero before and after every run, and the rest; 0: none, or not known */
    size_t     zeroed_bytes, scratch_bytes;
    void *self;

    /* Prepares it for a problem (compile, load, tune); may be called again for another one. UNSUPPORTED: it cannot compute the problem. */
    gs_status (*prepare)(gs_contender *contender, const gs_problem *problem, gs_error *error);

    /* Puts one multiplication on the queue. Owns whatever workspace it needs. */
    gs_status (*run)(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error);

    /* For contenders whose host code must know how many rows each group has: the arguments of all later runs, and the offsets that these have on the device, problem.groups + 1
     * for each set, one set behind the other. They replace earlier ones; a run with other arguments fails. Call it before a capture, not during one: it may take long. NULL: the
     * contender reads offsets on the device. */
    gs_status (*expect)(gs_contender *contender, const gs_args *args, const int32_t *offsets, int sets, gs_error *error);

    void (*destroy)(gs_contender *contender);   /* frees self */
};

/* The loaded kernel of a contender that one of the three calls below made, once it is prepared; else NULL. */
struct gs_loaded;
const struct gs_loaded *gs_contender_loaded(const gs_contender *contender);

/* One of our schedules, by its text form; "@plain" or "@dependent" behind it sets how it is launched, whatever the device's switch says. */
gs_status gs_contender_schedule(gs_contender *out, gs_device *device, const char *schedule, gs_error *error);

/* Splits such a text. PARSE. */
gs_status gs_contender_parse(const char *text, gs_schedule *schedule, gs_launch_mode *mode, gs_error *error);

/* A kernel with its manifest (borrowed; must outlive the contender), for user kernels: prepare inspects it first
 * (device->inspector). FORBIDDEN: it contains what it may not, or there is no inspector. */
gs_status gs_contender_kernel(gs_contender *out, gs_device *device, const char *name, const gs_kernel *kernel, gs_error *error);

/* The same without the inspection, for our own kernels: tests of verification use forbidden ones. */
gs_status gs_contender_kernel_own(gs_contender *out, gs_device *device, const char *name, const gs_kernel *kernel, gs_error *error);

#endif
