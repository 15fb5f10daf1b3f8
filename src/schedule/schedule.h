/* SPDX-License-Identifier: MIT
 * A schedule: a kernel family with one value for each of its parameters. Its text form is the schedule string:
 *
 *     ws/128x256x64/s4/c2x1/coop/g8
 *
 * The grammar is data (schedule/family.h): each family has parameters in a fixed order, each parameter a list of values, each value a
 * text and up to three numbers. Text, tokens (the indices of values), enumeration, masks and neighbours all follow from the tables. */
#ifndef GS_SCHEDULE_SCHEDULE_H
#define GS_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "schedule/caps.h"

#define GS_MAX_PARAMETERS 8
#define GS_SCHEDULE_TEXT  96

typedef enum gs_family_id {
#define GS_FAMILY(ID, name) GS_FAMILY_##ID,
#include "schedule/families.def"
#undef GS_FAMILY
    GS_FAMILIES
} gs_family_id;

typedef struct gs_parameter_value {
    const char *text;
    int16_t     number[3];
} gs_parameter_value;

typedef struct gs_parameter {
    const char               *name;     /* "tile", "stages", ...: named in error messages */
    const gs_parameter_value *values;
    int                       count;
    bool                      optional; /* comes after all others; omitted from the schedule string if it has its first value */
    bool                      hint;     /* the third number of its values is a hint, which the time model ignores */
    bool                      free;     /* the family's check does not depend on it; the parameters after it have at most 64 combinations of values */
} gs_parameter;

typedef struct gs_schedule {
    uint8_t family;                     /* gs_family_id */
    uint8_t value[GS_MAX_PARAMETERS];   /* index into each parameter's values; 0 beyond the last parameter */
} gs_schedule;

/* Resources per multiprocessor that a schedule needs, derived from the schedule and the problem's types before compilation. */
typedef struct gs_resources {
    int threads;              /* of a block */
    int registers;            /* per thread, as launched (an upper bound) */
    int smem;                 /* bytes of dynamic shared memory of a block */
    int blocks_sm;            /* resident blocks of a multiprocessor */
    int cluster;              /* blocks of a cluster */
} gs_resources;

const char         *gs_family_name(gs_family_id family);
const char         *gs_family_summary(gs_family_id family);
int                 gs_family_parameters(gs_family_id family);   /* number of parameters */
const gs_parameter *gs_family_parameter(gs_family_id family, int parameter);

/* The numbers of the schedule's value of a parameter. */
const int16_t *gs_schedule_value(const gs_schedule *schedule, int parameter);

/* Parses a schedule string, which must have every parameter in order, except optional ones. Errors name the parameter and the column and list the possible values. */
gs_status gs_schedule_parse(gs_schedule *schedule, const char *text, gs_error *error);
char     *gs_schedule_format(const gs_schedule *schedule, char text[GS_SCHEDULE_TEXT]);

/* First and next schedule of a family in the order of its tables, valid or not; next returns false after the last. */
gs_schedule gs_schedule_first(gs_family_id family);
bool        gs_schedule_next(gs_schedule *schedule);

/* GS_OK if a kernel of this schedule can compute this problem on this device: compute capability, types, alignment of the
 * leading dimensions, registers, shared memory. UNSUPPORTED with the field and the reason otherwise. */
gs_status gs_schedule_check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error);

/* Iterates over the schedules of a family that pass gs_schedule_check, in the order of gs_schedule_next; false: no more. For a `free` parameter only the first value is
 * checked, and the result reused for the others. */
typedef struct gs_valid {
    gs_schedule       schedule;
    const gs_problem *problem;
    const gs_caps    *caps;
    int               free;          /* index of the free parameter, -1: none */
    int               behind, of;    /* number of the current combination of values of the parameters after it, and how many there are */
    uint64_t          passed;        /* a bit per combination: whether it is valid */
} gs_valid;

bool gs_valid_first(gs_valid *valid, gs_family_id family, const gs_problem *problem, const gs_caps *caps);
bool gs_valid_next(gs_valid *valid);

/* For a schedule that passes gs_schedule_check. */
gs_resources gs_schedule_resources(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps);

/* Predicted device time in microseconds of a schedule that passes gs_schedule_check: waves of tiles, each bound by tensor
 * cores, L2 or memory, plus start-up and tail. A prediction, never a measurement. */
double gs_schedule_predict(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps);

/* Whether two schedules differ at most in the last parameter (raster, fixed sizes or fetch) and in hints, so that their times are nearly equal. */
bool gs_schedule_twins(const gs_schedule *a, const gs_schedule *b);

/* Adapts a schedule of a similar problem to this problem by changing one parameter: the last one that has a value which makes it valid, to the valid value with the lowest
 * predicted time. A valid schedule is unchanged. False if no single change is enough. */
bool gs_schedule_suit(gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps);

/* The valid schedules with the lowest predicted time, best first, at most `most`, with variety: no twins (gs_schedule_twins), few per tile. families: a bit set, 0: all.
 * Returns how many were written. Does not allocate. */
int gs_schedule_shortlist(const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most);

#endif
