/* SPDX-License-Identifier: MIT
 * A kernel family: one struct with its parameters, validity rules, time model and kernel builder, defined in src/family/<name>.c and listed in
 * src/family/families.c. Other code uses families through schedule/schedule.h and kernel/kernel.h, or from this list. */
#ifndef GS_SCHEDULE_FAMILY_H
#define GS_SCHEDULE_FAMILY_H

#include "schedule/work.h"

struct gs_kernel;

typedef struct gs_family {
    const char         *name;              /* first word of its schedule strings */
    const char         *old_name;          /* former name, which is read but never written; NULL: none */
    const char         *summary;           /* a line for lists and prompts */
    const gs_parameter *parameters;        /* in the order of schedule strings; new values are added only at the end of a parameter */
    int                 parameter_count;   /* at most GS_MAX_PARAMETERS; 0: the schedule string is the name */
    bool                hopper;            /* needs compute capability 9.0: wgmma, tensor copies. Checked before `check` */
    bool                a_transposed;      /* takes A stored K x M (layouts nt and tt). Checked before `check` */
    unsigned            takes;             /* GS_WANTS_* that it supports (problem/layout.h). Checked before `check`. GS_WANTS_INVARIANT promises that all valid schedules add
                                              K in order from 0, 16 at a time, on matrix units in one accumulator, before the epilogue of kernels/common/epilogue.cuh */
    bool                few;               /* only for a few rows of A or columns of B; random test problems for it are drawn accordingly */
    bool                many;              /* only for batches of many tiny matrices; random test problems likewise */

    /* GS_OK if a kernel of the schedule can compute the (valid) problem on the device, else UNSUPPORTED with the field and the reason. */
    gs_status (*check)(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error);

    /* The other three are called only for schedules that pass check. */
    gs_resources (*resources)(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps);
    gs_work (*work)(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile);   /* floor_us stays 0 */
    gs_status (*build)(struct gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                       gs_error *error);   /* fills an empty kernel */
} gs_family;

extern const gs_family *const gs_families[GS_FAMILIES];   /* src/family/families.c, from families.def */

/* For tables of parameters: an array of values and its length. */
#define GS_VALUES(list) list, sizeof list / sizeof list[0]

/* The numbers of the schedule's value of a parameter. Only for the families' own files; others use gs_schedule_value. */
static inline const int16_t *gs_parameter_numbers(const gs_parameter *parameters, const gs_schedule *schedule, int parameter)
{
    return parameters[parameter].values[schedule->value[parameter]].number;
}

#endif
