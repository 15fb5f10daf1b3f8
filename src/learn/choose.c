/* SPDX-License-Identifier: MIT
 * What the weights choose for a problem that was not measured, in some milliseconds: a beam search of the actor for each family, ordered by the surrogate,
 * then a local search from the best of each family, changing one value at a time. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/weights.h"

enum { MOST = 64, WIDTH = 64, DESCENTS = 4, SHORT = 16 };
#define MOST_BEHIND 2.0   /* a family whose best schedule is predicted to be this many times slower is not refined */
enum { UNKNOWN = 4 };      /* most choices from families that the weights do not know */
#define LIKELY 0.05       /* a family at least this probable is searched even if the beam has no valid schedule */
#define IMPROBABLE 0.003   /* families less probable than this, relative to the first family with a valid schedule, are skipped */

typedef struct chosen {
    gs_schedule *list;
    double       us[MOST];
    int          count, most;
} chosen;

static void insert(chosen *c, const gs_schedule *schedule, double us)
{
    if (c->count == c->most && us >= c->us[c->count - 1]) return;
    for (int i = 0; i < c->count; i++)
        if (memcmp(&c->list[i], schedule, sizeof *schedule) == 0) return;
    int at = c->count < c->most ? c->count++ : c->count - 1;
    for (; at > 0 && c->us[at - 1] > us; at--) {
        c->us[at] = c->us[at - 1];
        c->list[at] = c->list[at - 1];
    }
    c->us[at] = us;
    c->list[at] = *schedule;
}

typedef struct chooser {
    const gs_weights *weights;
    const gs_problem *problem;
    const gs_caps    *caps;
    gs_profile        profile;
    chosen            c;
    gs_schedule       best[GS_FAMILIES];      /* best schedule of each family */
    double            best_us[GS_FAMILIES];   /* its predicted time; INFINITY: none yet */
} chooser;

static void consider(chooser *ch, const gs_schedule *schedule)
{
    if (gs_schedule_check(schedule, ch->problem, ch->caps, NULL) != GS_OK) return;
    const double us = gs_surrogate_us(&ch->weights->surrogate, schedule, ch->problem, &ch->profile);
    insert(&ch->c, schedule, us);
    if (us >= ch->best_us[schedule->family]) return;
    ch->best[schedule->family] = *schedule;
    ch->best_us[schedule->family] = us;
}

/* Local search from the best schedule of a family: tries all schedules that differ in one value, and repeats while that improves the best. */
static void descend(chooser *ch, gs_family_id family)
{
    for (int left = DESCENTS; left > 0; left--) {
        const gs_schedule from = ch->best[family];
        for (int parameter = 0; parameter < gs_family_parameters(family); parameter++)
            for (int value = 0; value < gs_family_parameter(family, parameter)->count; value++) {
                gs_schedule next = from;
                next.value[parameter] = (uint8_t)value;
                if (value != from.value[parameter]) consider(ch, &next);
            }
        if (memcmp(&from, &ch->best[family], sizeof from) == 0) break;
    }
}

/* The subset of families (a bit set, 0: all) that the weights know, or do not know. */
static uint32_t families_that(const gs_weights *weights, uint32_t families, bool known)
{
    uint32_t set = 0;
    for (int family = 0; family < GS_FAMILIES; family++)
        if ((families == 0 || families >> family & 1) && gs_surrogate_knows(&weights->surrogate, (gs_family_id)family) == known) set |= 1u << family;
    return set;
}

/* Families that the weights do not know can be compared only by the time model: puts its choices from them before the others if it predicts them to be faster
 * than the first of the others. Returns the new number of schedules. */
static int put_unknown(const chooser *ch, uint32_t unknown, gs_schedule *list, int count, int most)
{
    gs_schedule faster[UNKNOWN];
    const int found = gs_schedule_shortlist(ch->problem, ch->caps, unknown, faster, GS_MIN(most, UNKNOWN));
    const double us = count > 0 ? gs_schedule_predict(&list[0], ch->problem, ch->caps) : INFINITY;
    int taken = 0;
    while (taken < found && gs_schedule_predict(&faster[taken], ch->problem, ch->caps) < us) taken++;
    const int kept = GS_MIN(count, most - taken);
    memmove(list + taken, list, (size_t)kept * sizeof *list);
    memcpy(list, faster, (size_t)taken * sizeof *list);
    return taken + kept;
}

int gs_weights_choose(const gs_weights *weights, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most)
{
    chooser ch = {.weights = weights, .problem = problem, .caps = caps, .profile = gs_profile_of(caps), .c = {.list = list, .most = GS_MIN(most, MOST)}};
    double p[GS_FAMILIES], first = 0;
    for (int family = 0; family < GS_FAMILIES; family++) ch.best_us[family] = INFINITY;
    if (most < 1) return 0;
    const uint32_t known = families_that(weights, families, true), unknown = families_that(weights, families, false);
    gs_actor_families(&weights->actor, problem, caps, p);
    for (int turn = 0; turn < GS_FAMILIES; turn++) {
        gs_schedule said[WIDTH];
        int family = 0;
        for (int f = 1; f < GS_FAMILIES; f++)
            if (p[f] > p[family]) family = f;
        const double probable = p[family];
        if (probable < 0 || probable < IMPROBABLE * first) break;
        p[family] = -1;
        if (!(known >> family & 1)) continue;
        const int count = gs_actor_beam(&weights->actor, problem, caps, (gs_family_id)family, WIDTH, said);
        for (int i = 0; i < count; i++) consider(&ch, &said[i]);
        if (probable >= LIKELY && ch.best_us[family] == INFINITY) {   /* no valid schedule in the beam: an epilogue may need too many registers for the usual tiles */
            const int found = gs_surrogate_shortlist(&weights->surrogate, problem, caps, 1u << family, said, SHORT);
            for (int i = 0; i < found; i++) consider(&ch, &said[i]);
        }
        if (first == 0 && ch.c.count > 0) first = probable;
    }
    if (ch.c.count == 0) {
        const int count = known ? gs_surrogate_shortlist(&weights->surrogate, problem, caps, known, list, most) : 0;
        return unknown ? put_unknown(&ch, unknown, list, count, most) : count;
    }
    for (int family = 0; family < GS_FAMILIES; family++)
        if (ch.best_us[family] < MOST_BEHIND * ch.c.us[0]) descend(&ch, (gs_family_id)family);
    return unknown ? put_unknown(&ch, unknown, list, ch.c.count, ch.c.most) : ch.c.count;
}
