/* SPDX-License-Identifier: MIT
 * The quality of a ranking of measured groups, by itself and compared with cuBLASLt. */
#include <math.h>

#include "base/error.h"
#include "train/train.h"

enum { MOST_MEASURED = 512 };   /* samples used per group */
#define FINE 0.98               /* at least this share of cuBLASLt's speed does not count as slower */

static const int firsts[] = {1, 4, 8, 16};

/* A group's samples, and the prediction for each; INFINITY: cuBLASLt's sample. */
typedef struct measured_group {
    const gs_sample *samples;
    int              count;
    double           said[MOST_MEASURED];
} measured_group;

static int first_of(const measured_group *group)
{
    int first = 0;
    for (int i = 1; i < group->count; i++)
        if (group->said[i] < group->said[first]) first = i;
    return first;
}

/* Accumulates: mean is the sum of logarithms, fine the count. */
static void add_gain(gs_gain *gain, double ratio, bool is_first)
{
    gain->mean += log(ratio);
    gain->fine += ratio >= FINE;
    gain->worst = is_first ? ratio : fmin(gain->worst, ratio);
}

/* Accumulates: expected and deviation are the sums of logarithms and of their squares. */
static void add_beside(gs_worth *worth, const measured_group *group, double library_us)
{
    const int first = first_of(group);
    int library = -1;
    for (int i = 0; i < group->count; i++)
        if (group->samples[i].library) library = i;
    if (library < 0 || !(library_us > 0) || !isfinite(group->said[first])) return;
    const double gained = group->samples[library].us / group->samples[first].us, over = log(library_us / group->said[first]) - log(gained);
    const bool doubted = group->said[first] > GS_CLEARLY_FASTER * library_us, is_first = worth->beside == 0;
    worth->beside++;
    worth->expected += over;
    worth->deviation += over * over;
    worth->doubts += doubted;
    add_gain(&worth->own, gained, is_first);
    add_gain(&worth->doubted, doubted ? 1 : gained, is_first);
    add_gain(&worth->faster, fmax(gained, 1), is_first);
}

/* Overwrites the predictions. */
static void add_order(gs_worth *worth, measured_group *group)
{
    const double best = gs_sample_best(group->samples, group->count);
    double got = INFINITY;
    for (int taken = 1, next = 0; next < (int)GS_COUNT(firsts); taken++) {
        const int first = first_of(group);
        if (isfinite(group->said[first])) got = fmin(got, group->samples[first].us);
        group->said[first] = INFINITY;
        if (taken == firsts[next]) worth->at[next++] += log(best / got);
    }
    worth->groups++;
}

static void add_worth(gs_worth *worth, const gs_weights *weights, const gs_sample *samples, int count, const gs_profile *profile)
{
    measured_group group = {.samples = samples, .count = count};
    for (int i = 0; i < count; i++)
        group.said[i] = samples[i].library ? INFINITY
                        : weights          ? gs_surrogate_us(&weights->surrogate, &samples[i].schedule, &samples[i].problem, profile)
                                           : gs_schedule_predict(&samples[i].schedule, &samples[i].problem, &profile->caps);
    if (weights) add_beside(worth, &group, gs_surrogate_library_us(&weights->surrogate, &samples[0].problem, profile));
    add_order(worth, &group);
}

static void end_gain(gs_gain *gain, int count)
{
    gain->mean = exp(gain->mean / count);
    gain->fine /= count;
}

static bool belongs(const gs_problem *problem, gs_train_sizes sizes)
{
    const bool of_64 = problem->n % 64 == 0 && problem->k % 64 == 0, of_8 = problem->n % 8 == 0 && problem->k % 8 == 0;
    return sizes == GS_TRAIN_ALL || sizes == (of_64 ? GS_TRAIN_OF_64 : of_8 ? GS_TRAIN_OF_8 : GS_TRAIN_ANY);
}

gs_worth gs_train_worth(const gs_weights *weights, const gs_sample *samples, int count, int least, gs_train_sizes sizes, const gs_profile *profile)
{
    gs_worth worth = {0};
    for (int begin = 0, end; begin < count; begin = end) {
        end = gs_sample_group_end(samples, count, begin);
        if (end - begin >= least && belongs(&samples[begin].problem, sizes))
            add_worth(&worth, weights, samples + begin, GS_MIN(end - begin, MOST_MEASURED), profile);
    }
    if (worth.beside) {
        const double mean = worth.expected / worth.beside;
        worth.expected = exp(mean);
        worth.deviation = sqrt(fmax(worth.deviation / worth.beside - mean * mean, 0));
        end_gain(&worth.own, worth.beside);
        end_gain(&worth.doubted, worth.beside);
        end_gain(&worth.faster, worth.beside);
    }
    for (size_t i = 0; i < GS_COUNT(firsts); i++) worth.at[i] = worth.groups ? exp(worth.at[i] / worth.groups) : 0;
    return worth;
}
