/* SPDX-License-Identifier: MIT
 * A schedule: a string of the schedule grammar, i.e. a family with one word in each of its slots.
 *
 *     ws/128x256x64/s4/c2x1/coop/g8
 *
 * The grammar is data (grammar.c): each family has slots in a fixed order, each slot a list of words, each word up to three
 * numbers. Text, tokens (the word indices), enumeration, masks and neighbours all follow from the tables. */
#ifndef GS_SCHEDULE_SCHEDULE_H
#define GS_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "schedule/caps.h"

#define GS_MAX_SLOTS     8
#define GS_SCHEDULE_TEXT 96

typedef enum gs_family {
#define GS_FAMILY(id, name, summary) GS_FAMILY_##id,
#include "schedule/families.def"
#undef GS_FAMILY
    GS_FAMILIES
} gs_family;

typedef struct gs_word {
    const char *text;
    int16_t     value[3];
} gs_word;

typedef struct gs_slot {
    const char    *name;      /* "tile", "stages", ...: named in error messages */
    const gs_word *words;
    int            count;
} gs_slot;

typedef struct gs_schedule {
    uint8_t family;               /* gs_family */
    uint8_t word[GS_MAX_SLOTS];   /* index into each slot's words; unused slots are 0 */
} gs_schedule;

/* What a schedule asks of a multiprocessor. Known from the schedule string and the problem's types, before compilation. */
typedef struct gs_resources {
    int threads;              /* of a block */
    int registers;            /* per thread, as launched (an upper bound) */
    int smem;                 /* bytes of dynamic shared memory of a block */
    int blocks_sm;            /* resident blocks of a multiprocessor */
    int cluster;              /* blocks of a cluster */
} gs_resources;

const char    *gs_family_name(gs_family family);
const char    *gs_family_summary(gs_family family);
int            gs_family_slots(gs_family family);
const gs_slot *gs_family_slot(gs_family family, int slot);

/* The numbers of the word in a slot of this schedule. */
const int16_t *gs_schedule_value(const gs_schedule *schedule, int slot);

/* Parsing needs every slot, in order. Errors name the slot and the column and list what is possible. */
gs_status gs_schedule_parse(gs_schedule *schedule, const char *text, gs_error *error);
char     *gs_schedule_format(const gs_schedule *schedule, char text[GS_SCHEDULE_TEXT]);

/* First and next schedule string of a family in the order of its tables, valid or not; next returns false after the last. */
gs_schedule gs_schedule_first(gs_family family);
bool        gs_schedule_next(gs_schedule *schedule);

/* GS_OK if a kernel of this schedule can compute this problem on this device: compute capability, types, alignment of the
 * leading dimensions, registers, shared memory. UNSUPPORTED with the field and the reason otherwise. */
gs_status gs_schedule_check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error);

/* For a schedule that passes gs_schedule_check. */
gs_resources gs_schedule_resources(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps);

/* Predicted device time in microseconds of a schedule that passes gs_schedule_check: waves of tiles, each bound by tensor
 * cores, L2 or memory, plus start-up and tail. Always a prediction, never a measurement. */
double gs_schedule_predict(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps);

/* The same schedule string but for the last slot (the raster, fixed sizes, the fetch) and for hints: the two differ little. */
bool gs_schedule_twins(const gs_schedule *a, const gs_schedule *b);

/* The valid schedules with the lowest predicted time, best first, at most `most`; families is a bit set (0: all).
 * Returns how many were written. No allocation beyond the caller's array. */
int gs_schedule_shortlist(const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most);

#endif
