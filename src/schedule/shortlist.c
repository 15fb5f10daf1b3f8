/* SPDX-License-Identifier: MIT
 * The shortlist: the valid schedules with the lowest predicted time. Of twins (gs_schedule_twins) only the fastest, and only a few of the same tile. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "schedule/work.h"

typedef struct shortlist {
    gs_schedule      *list;
    int               size, most;
    int               variants;   /* limit for schedules with the same tile */
    double            last_us;    /* of the last entry, once the list is full */
    const gs_problem *problem;
    const gs_profile *profile;
} shortlist;

static double time_of(const shortlist *s, const gs_schedule *schedule)
{
    const gs_work work = gs_schedule_work(schedule, s->problem, s->profile);
    return gs_work_us(&work, s->profile);
}

/* Whether two values differ only in the hint. */
static bool same_but_hint(const gs_parameter *parameter, int a, int b)
{
    return parameter->hint && memcmp(parameter->values[a].number, parameter->values[b].number, 2 * sizeof(int16_t)) == 0;
}

bool gs_schedule_twins(const gs_schedule *a, const gs_schedule *b)
{
    if (a->family != b->family) return false;
    const int parameters = gs_family_parameters((gs_family_id)a->family);
    for (int i = 0; i < parameters - 1; i++)
        if (a->value[i] != b->value[i] && !same_but_hint(gs_family_parameter((gs_family_id)a->family, i), a->value[i], b->value[i])) return false;
    return true;
}

static bool same_tile(const gs_schedule *a, const gs_schedule *b) { return a->family == b->family && a->value[0] == b->value[0]; }

static void remove_at(shortlist *s, int at)
{
    memmove(s->list + at, s->list + at + 1, (size_t)(s->size - at - 1) * sizeof *s->list);
    s->size--;
}

static void offer(shortlist *s, const gs_schedule *schedule, double us)
{
    if (s->size == s->most && us >= s->last_us) return;
    int twin = -1, worst_of_tile = -1, of_tile = 0;
    for (int i = 0; i < s->size; i++) {
        if (gs_schedule_twins(&s->list[i], schedule)) twin = i;
        if (!same_tile(&s->list[i], schedule)) continue;
        worst_of_tile = i;
        of_tile++;
    }
    const int rival = twin >= 0 ? twin : of_tile >= s->variants ? worst_of_tile : -1;
    if (rival >= 0) {
        if (us >= time_of(s, &s->list[rival])) return;
        remove_at(s, rival);
    } else if (s->size == s->most) {
        s->size--;
    }
    int at = s->size;
    while (at > 0 && us < time_of(s, &s->list[at - 1])) at--;
    memmove(s->list + at + 1, s->list + at, (size_t)(s->size - at) * sizeof *s->list);
    s->list[at] = *schedule;
    if (++s->size == s->most) s->last_us = time_of(s, &s->list[s->most - 1]);
}

int gs_shortlist(const gs_problem *problem, const gs_profile *profile, uint32_t families, gs_schedule *list, int most)
{
    if (most < 1) return 0;
    shortlist s = {.list = list, .most = most, .variants = GS_MAX(most / 8, 2), .problem = problem, .profile = profile};
    for (int family = 0; family < GS_FAMILIES; family++) {
        if (families != 0 && !(families >> family & 1)) continue;
        gs_valid valid;
        for (bool more = gs_valid_first(&valid, (gs_family_id)family, problem, &profile->caps); more; more = gs_valid_next(&valid))
            offer(&s, &valid.schedule, time_of(&s, &valid.schedule));
    }
    return s.size;
}

int gs_schedule_shortlist(const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most)
{
    const gs_profile profile = gs_profile_of(caps);
    return gs_shortlist(problem, &profile, families, list, most);
}

bool gs_schedule_suit(gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    if (gs_schedule_check(schedule, problem, caps, NULL) == GS_OK) return true;
    const gs_family_id family = (gs_family_id)schedule->family;
    for (int i = gs_family_parameters(family) - 1; i >= 0; i--) {
        gs_schedule best = *schedule;
        double us = INFINITY;
        for (int value = 0; value < gs_family_parameter(family, i)->count; value++) {
            gs_schedule other = *schedule;
            other.value[i] = (uint8_t)value;
            if (gs_schedule_check(&other, problem, caps, NULL) != GS_OK || gs_schedule_predict(&other, problem, caps) >= us) continue;
            us = gs_schedule_predict(&other, problem, caps);
            best = other;
        }
        if (us < INFINITY) {
            *schedule = best;
            return true;
        }
    }
    return false;
}
