/* SPDX-License-Identifier: MIT */
#include "learn/ranker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "learn/spans.h"
#include "problem/layout.h"

enum {
    INPUTS = GS_PROBLEM_FEATURES + GS_SUGGESTION_FEATURES,
    ROOM = 2 * (GS_HIDDEN + GS_HIDDEN + 1),
    BATCH = 8,           /* groups per step */
    MOST_GROUP = 200,    /* suggestions used per problem */
    APART = 1000003      /* distance between the networks' seeds */
};
#define RATE     2e-3f   /* of the first epoch; falls to a tenth */
#define NEAR     0.05    /* a suggestion whose log time is this far from the best of its group has weight 1/e */
#define FAR      0.2     /* plus a constant weight, also for the slowest */
#define WORST    0.4     /* errors are clipped to this */
#define DECAY    1e-4f   /* weight decay per step, at the full learning rate */
#define STEEPEST 1.0f
#define MARGIN   0.01    /* another suggestion replaces the first one only if its predicted log time is lower by this */
#define FINE     0.98

static float octaves(double value) { return value > 0 ? (float)(log2(value) / 8) : 0; }

static float fill_of(double waves) { return waves > 0 ? (float)(waves / ceil(waves)) : 0; }

/* Algorithms (cublasLtMatmulAlgoConfigAttributes_t) that occur in the training data. */
static const uint8_t ids[] = {66, 24, 23, 13, 11};

static void put_one_of(float **x, uint32_t value, const uint8_t *known, int count)
{
    for (int i = 0; i < count; i++) *(*x)++ = value == known[i];
}

/* Features of the tiling: how much of the device the suggestion's tiles leave unused. */
static void put_tile(float **x, const gs_suggestion *s, const gs_problem *p, const gs_caps *caps)
{
    int rows = 0, cols = 0;   /* exchanged, because cuBLAS's D is column-major */
    const bool known = gs_suggestion_tile(s->tile, &cols, &rows);
    if (!known) rows = cols = 1;
    const double down = ceil((double)p->m / rows), across = ceil((double)p->n / cols), splits = fmax(s->splitk, 1), tiles = down * across * (double)p->batch * splits;
    const double waves = tiles / caps->sms, k = (double)p->k / splits;
    const float all[] = {1, octaves(rows), octaves(cols), octaves((double)rows * cols), octaves(tiles), fill_of(waves), (float)((double)p->m / (down * rows)),
                         (float)((double)p->n / (across * cols)), octaves(k), octaves(ceil(waves) * caps->sms * rows * cols * k / (double)p->m / (double)p->n / (double)p->k)};
    for (size_t i = 0; i < GS_COUNT(all); i++) *(*x)++ = known ? all[i] : 0;
}

/* Writes GS_SUGGESTION_FEATURES features; new ones go to the end. */
static void put_suggestion(float *x, const gs_suggestion *s, int place, const gs_problem *p, const gs_caps *caps)
{
    static const uint8_t clusters[] = {0, 2, 3, 4, 5, 6, 7, 8, 9}, customs[] = {0, 1, 2, 3, 4, 5, 6, 7}, reductions[] = {1, 2, 4};
    float *const from = x;
    const float numbers[] = {place == 0, (float)place / 8, octaves(s->waves), fill_of((double)s->waves), octaves(s->splitk), s->splitk > 1, s->stages == 35, (float)s->stages / 32,
                             s->workspace > 0, octaves((double)s->workspace) / 4, octaves(ceil((double)s->waves) / fmax((double)s->waves, 1e-3))};
    for (size_t i = 0; i < GS_COUNT(numbers); i++) *x++ = numbers[i];
    put_one_of(&x, s->id, ids, GS_COUNT(ids));
    put_one_of(&x, s->cluster, clusters, GS_COUNT(clusters));
    put_one_of(&x, s->custom, customs, GS_COUNT(customs));
    put_one_of(&x, s->reduction, reductions, GS_COUNT(reductions));
    put_tile(&x, s, p, caps);
    while (x < from + GS_SUGGESTION_FEATURES) *x++ = 0;
}

/* beta is set to 0: reading C slows all suggestions alike, and the training data have none of it. */
static void fill(float x[INPUTS], const gs_problem *problem, const gs_caps *caps, const gs_suggestion *s, int place)
{
    gs_problem plain = *problem;
    plain.beta = 0;
    gs_problem_features(&plain, caps, x);
    put_suggestion(x + GS_PROBLEM_FEATURES, s, place, problem, caps);
}

/* Whether the training data had such problems; for others the networks' outputs mean nothing. */
static bool knows(const gs_problem *p) { return p->batch == 1 && !p->groups && !p->gate && p->acc == GS_F32 && p->out == p->in && !gs_is_a_transposed(p->layout); }

static bool knows_id(uint32_t id)
{
    for (size_t i = 0; i < GS_COUNT(ids); i++)
        if (ids[i] == id) return true;
    return false;
}

gs_status gs_ranker_create(gs_ranker *ranker, uint64_t seed, gs_error *error)
{
    static const int width[] = {INPUTS, GS_HIDDEN, GS_HIDDEN, 1};
    *ranker = (gs_ranker){.nets = 0};
    while (ranker->nets < GS_RANKER_NETS) {
        const gs_status status = gs_net_create(&ranker->net[ranker->nets], 3, width, seed + (uint64_t)ranker->nets * APART, error);
        if (status != GS_OK) {
            gs_ranker_free(ranker);
            return status;
        }
        ranker->nets++;
    }
    return GS_OK;
}

void gs_ranker_free(gs_ranker *ranker)
{
    for (int i = 0; i < ranker->nets; i++) gs_net_free(&ranker->net[i]);
    *ranker = (gs_ranker){0};
}

/* Predicted log time relative to the problem's other suggestions. */
static double said_of(const gs_ranker *ranker, const float *x)
{
    float room[ROOM];
    double sum = 0;
    for (int i = 0; i < ranker->nets; i++) sum += *gs_net_forward(&ranker->net[i], x, room);
    return sum / ranker->nets;
}

int gs_ranker_choose(const gs_ranker *ranker, const gs_problem *problem, const gs_caps *caps, const gs_suggestion *list, int count)
{
    float x[INPUTS];
    int chosen = 0;
    while (chosen < count && !list[chosen].can_choose) chosen++;
    if (chosen == count) return -1;
    if (ranker->nets == 0 || !knows(problem)) return chosen;
    fill(x, problem, caps, &list[chosen], chosen);
    double least = said_of(ranker, x) - MARGIN;
    for (int i = chosen + 1; i < count; i++) {
        /* suggestions that leave out the epilogue come after those with it */
        if (!list[i].can_choose || !knows_id(list[i].id) || list[i].apart != list[chosen].apart) continue;
        fill(x, problem, caps, &list[i], i);
        const double said = said_of(ranker, x);
        if (said >= least) continue;
        chosen = i;
        least = said;
    }
    return chosen;
}

/* ---- learning ---- */

int gs_suggestion_group_end(const gs_suggestion_time *times, int count, int begin)
{
    int end = begin + 1;
    while (end < count && times[end].group == times[begin].group) end++;
    return end;
}

typedef struct lesson {
    const gs_suggestion_time *times;
    float *x;            /* INPUTS features of each time */
    gs_span *groups;     /* with at least two times each */
    int    group_count;
    float *rooms, *gradient;
} lesson;

static void forget(lesson *l)
{
    free(l->x);
    free(l->groups);
    free(l->rooms);
    free(l->gradient);
}

static gs_status prepare(lesson *l, const gs_net *net, const gs_suggestion_time *times, int count, const gs_caps *caps, gs_error *error)
{
    *l = (lesson){
        .times    = times,
        .x        = malloc(((size_t)count + 1) * INPUTS * sizeof *l->x),
        .groups   = malloc(((size_t)count + 1) * sizeof *l->groups),
        .rooms    = malloc((size_t)MOST_GROUP * ROOM * sizeof *l->rooms),
        .gradient = calloc((size_t)net->count, sizeof *l->gradient),
    };
    if (!l->x || !l->groups || !l->rooms || !l->gradient) {
        forget(l);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d times", count);
    }
    for (int i = 0; i < count; i++) fill(l->x + (size_t)i * INPUTS, &times[i].problem, caps, &times[i].suggestion, times[i].place);
    for (int begin = 0, end; begin < count; begin = end) {
        end = gs_suggestion_group_end(times, count, begin);
        if (end - begin > 1) l->groups[l->group_count++] = (gs_span){begin, GS_MIN(end - begin, MOST_GROUP)};
    }
    return GS_OK;
}

/* Adds a group's gradient. The loss counts the differences between suggestions, not an error that all of them share. */
static void learn_group(const gs_net *net, const lesson *l, gs_span group)
{
    float error[MOST_GROUP], weight[MOST_GROUP];
    double best = INFINITY, sum = 0, mean = 0;
    for (int i = 0; i < group.count; i++) best = fmin(best, l->times[group.begin + i].us);
    for (int i = 0; i < group.count; i++) {
        const double behind = log(l->times[group.begin + i].us / best);
        error[i] = *gs_net_forward(net, l->x + (size_t)(group.begin + i) * INPUTS, l->rooms + i * ROOM) - (float)fmin(behind, WORST);
        weight[i] = (float)(FAR + exp(-behind / NEAR));
        sum += weight[i];
        mean += weight[i] * error[i];
    }
    mean /= sum;
    for (int i = 0; i < group.count; i++) {
        float d_out = (float)(2 * weight[i] * fmax(-WORST, fmin(WORST, error[i] - mean)) / sum / BATCH);
        gs_net_backward(net, l->x + (size_t)(group.begin + i) * INPUTS, l->rooms + i * ROOM, &d_out, l->gradient);
    }
}

static bool step(gs_net *net, const lesson *l, gs_adam *adam)
{
    if (!gs_adam_step(adam, net, l->gradient, STEEPEST)) return false;
    for (int i = 0; i < net->count; i++) net->weights[i] *= 1 - DECAY * adam->rate / RATE;
    return true;
}

static bool train_epoch(gs_net *net, const lesson *l, gs_adam *adam, gs_random *random)
{
    bool finite = true;
    gs_spans_shuffle(l->groups, l->group_count, random);
    for (int g = 0; g < l->group_count; g++) {
        learn_group(net, l, l->groups[g]);
        if ((g + 1) % BATCH == 0 || g + 1 == l->group_count) finite &= step(net, l, adam);
    }
    return finite;
}

static gs_status train_net(gs_net *net, lesson *l, int epochs, uint64_t seed, gs_error *error)
{
    gs_random random = {seed};
    gs_adam adam;
    bool finite = true;
    GS_TRY(gs_adam_create(&adam, net, RATE, error));
    for (int epoch = 0; epoch < epochs && finite; epoch++) {
        adam.rate = RATE * (float)pow(0.1, (double)epoch / epochs);
        finite = train_epoch(net, l, &adam, &random);
    }
    gs_adam_free(&adam);
    return finite ? GS_OK : gs_net_diverged("ranker", error);
}

gs_status gs_ranker_train(gs_ranker *ranker, const gs_suggestion_time *times, int count, const gs_caps *caps, int epochs, uint64_t seed, gs_error *error)
{
    lesson l;
    if (ranker->nets == 0) return GS_OK;
    GS_TRY(prepare(&l, &ranker->net[0], times, count, caps, error));
    gs_status status = GS_OK;
    for (int i = 0; i < ranker->nets && status == GS_OK; i++) status = train_net(&ranker->net[i], &l, epochs, seed + (uint64_t)i, error);
    forget(&l);
    return status;
}

/* The suggestions of a group in their places, and their times; some may lack one. Returns the number of places. */
static int places_of(const gs_suggestion_time *times, int count, gs_suggestion list[MOST_GROUP], double us[MOST_GROUP])
{
    int many = 0;
    memset(list, 0, MOST_GROUP * sizeof *list);
    for (int i = 0; i < MOST_GROUP; i++) us[i] = INFINITY;
    for (int i = 0; i < count; i++) {
        const int place = times[i].place;
        if (place < 0 || place >= MOST_GROUP) continue;
        list[place] = times[i].suggestion;
        us[place] = times[i].us;
        many = GS_MAX(many, place + 1);
    }
    return many;
}

gs_ranker_worth gs_ranker_judge(const gs_ranker *ranker, const gs_suggestion_time *times, int count, const gs_caps *caps)
{
    const gs_ranker none = {.nets = 0};   /* chooses the first one */
    gs_ranker_worth worth = {0};
    for (int begin = 0, end; begin < count; begin = end) {
        gs_suggestion list[MOST_GROUP];
        double us[MOST_GROUP], best = INFINITY;
        const gs_problem *const problem = &times[begin].problem;
        end = gs_suggestion_group_end(times, count, begin);
        const int many = places_of(times + begin, end - begin, list, us), chosen = end - begin < 2 ? -1 : gs_ranker_choose(ranker, problem, caps, list, many);
        if (chosen < 0) continue;
        for (int i = 0; i < many; i++) best = fmin(best, us[i]);
        const double ours = best / us[chosen], first = best / us[gs_ranker_choose(&none, problem, caps, list, many)];
        worth.groups++;
        worth.chosen += log(ours);
        worth.first += log(first);
        worth.chosen_fine += ours >= FINE;
        worth.first_fine += first >= FINE;
    }
    if (worth.groups == 0) return worth;
    worth.chosen = exp(worth.chosen / worth.groups);
    worth.first = exp(worth.first / worth.groups);
    worth.chosen_fine /= worth.groups;
    worth.first_fine /= worth.groups;
    return worth;
}
