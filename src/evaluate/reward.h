/* SPDX-License-Identifier: MIT
 * Rewards: one number within [-1, 1] from the verdict and the timing of a candidate. All kinds are -1 for a candidate that does not pass, use the lower end of the ratio's
 * interval, and count a ratio within the dead zone around 1 as 1. docs/internals/environment.md compares them. */
#ifndef GS_EVALUATE_REWARD_H
#define GS_EVALUATE_REWARD_H

#include <stdbool.h>

#include "bench/stats.h"
#include "schedule/schedule.h"

/* legend: id, the name in options and results */
#define GS_REWARD_LIST(X)       \
    X(HEADROOM,   "headroom")   \
    X(COMPOSITE,  "composite")  \
    X(MILESTONES, "milestones") \
    X(DIFFERENCE, "difference") \
    X(LENGTH,     "length")     \
    X(CLIPPED,    "clipped")
#define GS_REWARD_WORDS "headroom, composite, milestones, difference, length or clipped"   /* for messages */

typedef enum gs_reward_kind {
#define GS_REWARD_ID(id, name) GS_REWARD_##id,
    GS_REWARD_LIST(GS_REWARD_ID)
#undef GS_REWARD_ID
    GS_REWARDS
} gs_reward_kind;

const char    *gs_reward_name(gs_reward_kind kind);
gs_reward_kind gs_reward_find(const char *name);   /* GS_REWARDS if unknown; also takes "room", the former name of headroom */

/* What a reward is made of. Times are device times in microseconds. */
typedef struct gs_judged {
    bool     passed;        /* it has no bad verdict */
    bool     alone;         /* cuBLASLt was not timed beside it, as on an emulated device or in a list's search: ratio is ignored */
    gs_ratio ratio;         /* time of cuBLASLt / time of the candidate */
    double   us, library_us;
    double   floor_us;      /* gs_floor_us */
    double   l2_hit;        /* gs_l2_hit; < 0: not known */
    double   bytes;         /* of the source of a user kernel; 0: a schedule */
    bool     untrusted;     /* us is a prediction that is not to be trusted: it can lower a reward, but not raise it */
} gs_judged;

/* headroom:   gs_reward, or gs_reward_predicted.
 * composite:  0.8 of that, 0.15 of the L2 hit rate, 0.05 for being right; where the hit rate is not known, its share goes to speed.
 * milestones: -1 wrong, 1/3 right, 2/3 as fast as cuBLASLt, 1 faster by GS_REWARD_MARGIN; of a time alone:
 *             2/3 within twice the floor, 1 within GS_REWARD_MARGIN of it.
 * difference: (time of cuBLASLt - time of the candidate) / time of cuBLASLt; of a time alone, ten times the floor takes cuBLASLt's place.
 * length:     that, less GS_LENGTH_SHARE for GS_LENGTH_BYTES of source and more, in proportion for shorter ones.
 * clipped:    that divided by GS_CLIP_SHARE and limited to 1, so that one outlier does not dominate its group.
 * Where the time is not to be trusted, headroom is 0 at most, what ten times the floor gives, milestones is 1/3, and the difference is 0 at most. */
#define GS_REWARD_MARGIN 0.05
#define GS_LENGTH_SHARE 0.1
#define GS_LENGTH_BYTES 65536.0
#define GS_CLIP_SHARE   0.25
double gs_reward_of(gs_reward_kind kind, const gs_judged *outcome);

/* Share of the headroom taken: log(ratio->low) / log(max(library_us / floor_us, 1.25)), within [-1, 1], 0 where ratio->low is inside
 * the dead zone around 1, -1 where there is no ratio. */
double gs_reward(const gs_ratio *ratio, double library_us, double floor_us);

/* The same of a predicted time, which has no time of cuBLASLt beside it: 1 at the floor, 0 at ten times the floor, -1 from a hundred times on. */
double gs_reward_predicted(double us, double floor_us);

/* The hit rate of L2, of the bytes that a schedule asks of it, by the time model's account of the traffic: hardware counters are not read, and rented GPUs hide them. Within [0,
 * 1]. The schedule must pass gs_schedule_check. */
double gs_l2_hit(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps);

/* ---- figures that are not believed at once ---- */

#define GS_FLOOR_SHARE 0.9   /* of the floor: faster than this is not possible */
#define GS_JUMP        1.3   /* faster than the best known by this factor: measured again in a fresh process with fresh data */

/* Whether it is faster than the device can be. A floor of 0 is not known. */
bool gs_impossible(double us, double floor_us);

/* Whether a time jumps over the best known one of the problem. known_us 0: none is known, so it does not. */
bool gs_jumps(double us, double known_us);

/* Whether two measurements of the same ratio agree: their intervals, widened by the dead zone, meet. */
bool gs_ratios_agree(const gs_ratio *a, const gs_ratio *b);

#endif
