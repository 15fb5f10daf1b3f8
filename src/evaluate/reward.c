/* SPDX-License-Identifier: MIT */
#include "evaluate/reward.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "schedule/work.h"

#define SPEED_SHARE 0.8
#define HIT_SHARE   0.15
#define RIGHT_SHARE 0.05

static const char *const names[GS_REWARDS] = {
#define NAME(id, name) name,
    GS_REWARD_LIST(NAME)
#undef NAME
};

const char *gs_reward_name(gs_reward_kind kind) { return (unsigned)kind < GS_REWARDS ? names[kind] : "?"; }

gs_reward_kind gs_reward_find(const char *name)
{
    int i = 0;
    if (strcmp(name, "room") == 0) return GS_REWARD_HEADROOM;
    while (i < GS_REWARDS && strcmp(names[i], name) != 0) i++;
    return (gs_reward_kind)i;
}

double gs_reward(const gs_ratio *ratio, double library_us, double floor_us)
{
    if (!(ratio->low > 0)) return -1;
    if (fabs(ratio->low - 1) <= GS_DEAD_ZONE) return 0;
    const double room = fmax(floor_us > 0 && library_us > 0 ? library_us / floor_us : 0, 1.25);
    return fmax(-1, fmin(1, log(ratio->low) / log(room)));
}

double gs_reward_predicted(double us, double floor_us)
{
    if (!(us > 0 && floor_us > 0)) return -1;
    return fmax(-1, fmin(1, 1 - log10(us / floor_us)));
}

static double composite(double speed, double l2_hit)
{
    if (!(l2_hit >= 0)) return (SPEED_SHARE + HIT_SHARE) * speed + RIGHT_SHARE;
    return SPEED_SHARE * speed + HIT_SHARE * fmin(l2_hit, 1) + RIGHT_SHARE;
}

static double milestone(const gs_judged *o)
{
    const double as_fast = o->alone ? 0.5 : 1 - GS_DEAD_ZONE, faster = o->alone ? 1 / (1 + GS_REWARD_MARGIN) : 1 + GS_REWARD_MARGIN;
    const double speed = o->alone ? o->floor_us / o->us : o->ratio.low;
    if (o->untrusted) return 1 / 3.0;
    return (speed >= faster ? 3 : speed >= as_fast ? 2 : 1) / 3.0;
}

/* The share of the reference's time that was saved. */
static double difference(const gs_judged *o)
{
    const double saved = o->alone ? 1 - o->us / (10 * o->floor_us) : fabs(o->ratio.low - 1) <= GS_DEAD_ZONE ? 0 : 1 - 1 / o->ratio.low;
    return fmax(-1, o->untrusted ? fmin(saved, 0) : saved);
}

static double shortened(const gs_judged *o) { return difference(o) - GS_LENGTH_SHARE * fmin(o->bytes / GS_LENGTH_BYTES, 1); }

double gs_reward_of(gs_reward_kind kind, const gs_judged *o)
{
    if (!o->passed || !(o->us > 0) || !(o->alone ? o->floor_us > 0 : o->ratio.low > 0)) return -1;
    const double told = o->alone ? gs_reward_predicted(o->us, o->floor_us) : gs_reward(&o->ratio, o->library_us, o->floor_us);
    const double speed = o->untrusted ? fmin(told, 0) : told;
    switch (kind) {
    case GS_REWARD_COMPOSITE:  return composite(speed, o->untrusted ? -1 : o->l2_hit);
    case GS_REWARD_MILESTONES: return milestone(o);
    case GS_REWARD_DIFFERENCE: return difference(o);
    case GS_REWARD_LENGTH:     return fmax(-1, shortened(o));
    case GS_REWARD_CLIPPED:    return fmax(-1, fmin(1, shortened(o) / GS_CLIP_SHARE));
    default:                   return speed;
    }
}

double gs_l2_hit(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const gs_profile profile = gs_profile_of(caps);
    const gs_work work = gs_schedule_work(schedule, problem, &profile);
    const double asked = work.blocks * (work.steps * work.feed + work.store);
    return asked > 0 ? fmax(0, fmin(1, 1 - work.memory_bytes / asked)) : 0;
}

bool gs_impossible(double us, double floor_us) { return us < GS_FLOOR_SHARE * floor_us; }

bool gs_jumps(double us, double known_us) { return us > 0 && known_us > 0 && us * GS_JUMP < known_us; }

bool gs_ratios_agree(const gs_ratio *a, const gs_ratio *b)
{
    return a->low * (1 - GS_DEAD_ZONE) <= b->high * (1 + GS_DEAD_ZONE) && b->low * (1 - GS_DEAD_ZONE) <= a->high * (1 + GS_DEAD_ZONE);
}
