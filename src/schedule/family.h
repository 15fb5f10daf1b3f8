/* SPDX-License-Identifier: MIT
 * What a kernel family is: one struct with its parameters, its rules, its share of the time model and its kernel. Each is defined in
 * src/family/<name>.c; src/family/families.c has the list. Everything else reads families through the calls of schedule/schedule.h
 * and kernel/kernel.h, or from this list. */
#ifndef GS_SCHEDULE_FAMILY_H
#define GS_SCHEDULE_FAMILY_H

#include "schedule/work.h"

struct gs_kernel;

typedef struct gs_family {
    const char         *name;              /* what schedule strings begin with */
    const char         *old_name;          /* what it was called before: still read, never written; NULL: always so */
    const char         *summary;           /* a line for lists and prompts */
    const gs_parameter *parameters;        /* in the order of schedule strings; their values are only ever added at the end */
    int                 parameter_count;   /* at most GS_MAX_PARAMETERS; 0: the schedule string is the name */
    bool                hopper;            /* needs compute capability 9.0: wgmma, tensor copies. Checked before `check` */
    bool                a_transposed;      /* takes A stored K x M (layouts nt and tt). Checked before `check` */
    unsigned            takes;             /* GS_WANTS_*: what else it computes (problem/layout.h). Checked before `check`. GS_WANTS_INVARIANT: schedules that check leaves add up k from 0 on
                                              in steps of 16 on matrix units, in one accumulator, then do what kernels/common/epilogue.cuh says */
    bool                few;               /* takes a few rows of A or columns of B only: random problems for it are drawn so */
    bool                many;              /* takes batches of many tiny matrices only: the same */

    /* Whether a kernel of the schedule can compute the problem on the device: UNSUPPORTED with the field and the reason if not. The
     * problem itself is valid. */
    gs_status (*check)(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error);

    /* The other three are called for what passes check. */
    gs_resources (*resources)(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps);
    gs_work (*work)(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile);   /* floor_us stays 0 */
    gs_status (*build)(struct gs_kernel *kernel, const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps,
                       gs_error *error);   /* of an empty kernel */
} gs_family;

extern const gs_family *const gs_families[GS_FAMILIES];   /* src/family/families.c, from families.def */

/* For tables of parameters: the values of a list and how many. */
#define GS_VALUES(list) list, sizeof list / sizeof list[0]

/* The numbers of the value that a schedule has for a parameter. For a family's own files; others use gs_schedule_value. */
static inline const int16_t *gs_parameter_numbers(const gs_parameter *parameters, const gs_schedule *schedule, int parameter)
{
    return parameters[parameter].values[schedule->value[parameter]].number;
}

#endif
