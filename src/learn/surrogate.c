/* SPDX-License-Identifier: MIT
 * The surrogate: its input rows, prediction, and training on groups. */
#include "learn/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "learn/spans.h"

enum {
    NUMBERS = GS_PROBLEM_FEATURES + GS_WORK_FEATURES,
    INPUTS  = NUMBERS + GS_MOST_TOKENS,
    ROOM    = 2 * (GS_HIDDEN + GS_HIDDEN + 1),
    BATCH   = 8,        /* groups per step */
    MOST_GROUP = 256,   /* samples used per group */
    APART = 1000003,    /* distance between the seeds of an ensemble's networks */
    USUAL = 16          /* a group of this many samples has weight 1; larger groups count more */
};
#define NEAR     0.1    /* a schedule whose log time is this far from the best of its group has weight 1/e */
#define FAR      0.1    /* plus a constant weight, also for the slowest */
#define WORST    0.5    /* errors are clipped to this */
#define LIBRARY  4.0    /* weight of cuBLASLt's time in a group, since every choice is compared with it; also where its errors are clipped */
#define ANCHOR   0.05   /* share of a group's common error that is learned nevertheless, so that predictions stay close to times */
#define STEEPEST 1.0f

/* A sample as the network's input, with the log of the time model's prediction. */
typedef struct row {
    float   numbers[NUMBERS];
    int16_t token[GS_MAX_PARAMETERS + 1];
    int     tokens;
    float   model, y;
    bool    library;
} row;

static row row_of(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    row r = {.tokens = 0};
    gs_problem_features(problem, &profile->caps, r.numbers);
    r.model = (float)log(gs_work_features(schedule, problem, profile, r.numbers + GS_PROBLEM_FEATURES));
    const gs_family_id family = (gs_family_id)schedule->family;
    r.token[r.tokens++] = (int16_t)gs_token_of(family, -1, 0);
    for (int parameter = 0; parameter < gs_family_parameters(family); parameter++) r.token[r.tokens++] = (int16_t)gs_token_of(family, parameter, schedule->value[parameter]);
    return r;
}

/* cuBLASLt is a token without schedule features; in place of the time model's prediction it has the floor. */
static row library_row(const gs_problem *problem, const gs_caps *caps)
{
    row r = {.library = true, .model = (float)log(gs_floor_us(problem, caps))};
    gs_problem_features(problem, caps, r.numbers);
    r.token[r.tokens++] = (int16_t)gs_token_of(GS_FAMILIES, -1, 0);
    return r;
}

static row row_of_sample(const gs_sample *sample, const gs_profile *profile)
{
    row r = sample->library ? library_row(&sample->problem, &profile->caps) : row_of(&sample->schedule, &sample->problem, profile);
    r.y = (float)log(sample->us);
    return r;
}

/* The first layer's weights for cuBLASLt's token: GS_HIDDEN numbers. */
static float *library_weights(const gs_net *net) { return net->weights + (NUMBERS + gs_token_of(GS_FAMILIES, -1, 0)) * net->width[1]; }

bool gs_surrogate_knows(const gs_surrogate *surrogate, gs_family_id family) { return !(surrogate->unknown >> family & 1); }

void gs_surrogate_learned(gs_surrogate *surrogate, const gs_sample *samples, int count)
{
    for (int i = 0; i < count; i++)
        if (!samples[i].library) surrogate->unknown &= ~(1u << samples[i].schedule.family);
}

static void fill(float x[INPUTS], const row *r)
{
    memset(x + NUMBERS, 0, GS_MOST_TOKENS * sizeof *x);
    memcpy(x, r->numbers, sizeof r->numbers);
    for (int i = 0; i < r->tokens; i++) x[NUMBERS + r->token[i]] = 1;
}

gs_status gs_surrogate_create(gs_surrogate *surrogate, int nets, uint64_t seed, gs_error *error)
{
    static const int width[] = {INPUTS, GS_HIDDEN, GS_HIDDEN, 1};
    *surrogate = (gs_surrogate){.nets = nets};
    if (gs_token_count() > GS_MOST_TOKENS) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "more than %d tokens", GS_MOST_TOKENS);
    for (int i = 0; i < nets; i++) {
        const gs_status status = gs_net_create(&surrogate->net[i], 3, width, seed + (uint64_t)i * APART, error);
        if (status != GS_OK) {
            gs_surrogate_free(surrogate);
            return status;
        }
        memset(library_weights(&surrogate->net[i]), 0, GS_HIDDEN * sizeof(float));   /* all 0 until trained with a time of cuBLASLt: gs_surrogate_library_us relies on that */
    }
    return GS_OK;
}

void gs_surrogate_free(gs_surrogate *surrogate)
{
    for (int i = 0; i < surrogate->nets; i++) gs_net_free(&surrogate->net[i]);
    *surrogate = (gs_surrogate){0};
}

static double us_of(const gs_surrogate *surrogate, const row *r)
{
    gs_net_input x[NUMBERS + GS_MAX_PARAMETERS + 1];
    float room[ROOM];
    int count = 0;
    for (int i = 0; i < NUMBERS; i++) x[count++] = (gs_net_input){i, r->numbers[i]};
    for (int i = 0; i < r->tokens; i++) x[count++] = (gs_net_input){NUMBERS + r->token[i], 1};
    double sum = 0;
    for (int i = 0; i < surrogate->nets; i++) sum += *gs_net_forward_inputs(&surrogate->net[i], x, count, room, 0, 1);
    return exp(r->model + sum / surrogate->nets);
}

double gs_surrogate_us(const gs_surrogate *surrogate, const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    const row r = row_of(schedule, problem, profile);
    return gs_surrogate_knows(surrogate, (gs_family_id)schedule->family) ? us_of(surrogate, &r) : exp(r.model);
}

double gs_surrogate_library_us(const gs_surrogate *surrogate, const gs_problem *problem, const gs_profile *profile)
{
    bool any = false;
    for (int i = 0; i < surrogate->nets * GS_HIDDEN; i++) any |= library_weights(&surrogate->net[i / GS_HIDDEN])[i % GS_HIDDEN] != 0;
    if (!any) return 0;
    const row r = library_row(problem, &profile->caps);
    return us_of(surrogate, &r);
}

int gs_surrogate_shortlist(const gs_surrogate *surrogate, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most)
{
    enum { LOOKED_AT = 96 };
    const gs_profile profile = gs_profile_of(caps);
    gs_schedule all[LOOKED_AT];
    double us[LOOKED_AT];
    const int count = gs_schedule_shortlist(problem, caps, families, all, LOOKED_AT), taken = GS_MIN(most, count);
    for (int i = 0; i < count; i++) us[i] = gs_surrogate_us(surrogate, &all[i], problem, &profile);
    for (int at = 0; at < taken; at++) {
        int first = 0;
        for (int i = 1; i < count; i++)
            if (us[i] < us[first]) first = i;
        list[at] = all[first];
        us[first] = INFINITY;
    }
    return taken;
}

/* ---- learning ---- */

int gs_sample_group_end(const gs_sample *samples, int count, int begin)
{
    int end = begin + 1;
    while (end < count && samples[end].group == samples[begin].group) end++;
    return end;
}

double gs_sample_best(const gs_sample *samples, int count)
{
    double best = INFINITY;
    for (int i = 0; i < count; i++)
        if (!samples[i].library) best = fmin(best, samples[i].us);
    return best;
}

typedef struct lesson {
    row   *rows;
    gs_span *groups;
    int    group_count;
    float *rooms, *gradient, *x;
} lesson;

static void forget(lesson *l)
{
    free(l->rows);
    free(l->groups);
    free(l->rooms);
    free(l->gradient);
    free(l->x);
}

static gs_status prepare(lesson *l, const gs_net *net, const gs_sample *samples, int count, const gs_profile *profile, gs_error *error)
{
    *l = (lesson){
        .rows     = malloc(((size_t)count + 1) * sizeof *l->rows),
        .groups   = malloc(((size_t)count + 1) * sizeof *l->groups),
        .rooms    = malloc((size_t)MOST_GROUP * ROOM * sizeof *l->rooms),
        .gradient = calloc((size_t)net->count, sizeof *l->gradient),
        .x        = malloc(INPUTS * sizeof *l->x),
    };
    if (!l->rows || !l->groups || !l->rooms || !l->gradient || !l->x) {
        forget(l);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d samples", count);
    }
    for (int i = 0; i < count; i++) {
        l->rows[i] = row_of_sample(&samples[i], profile);
        if (i == 0 || samples[i].group != samples[i - 1].group) l->groups[l->group_count++] = (gs_span){i, 0};
        if (l->groups[l->group_count - 1].count < MOST_GROUP) l->groups[l->group_count - 1].count++;
    }
    return GS_OK;
}

/* Adds a group's gradient; returns its loss, the weighted mean square of the errors minus their mean. */
static double learn_group(const gs_net *net, const lesson *l, gs_span group)
{
    const row *const rows = l->rows + group.begin;
    float error[MOST_GROUP], weight[MOST_GROUP], best = INFINITY;
    double sum = 0, mean = 0, loss = 0;
    for (int i = 0; i < group.count; i++)
        if (!rows[i].library) best = fminf(best, rows[i].y);
    for (int i = 0; i < group.count; i++) {
        fill(l->x, &rows[i]);
        error[i] = rows[i].model + *gs_net_forward(net, l->x, l->rooms + i * ROOM) - rows[i].y;
        weight[i] = (float)(rows[i].library ? LIBRARY : FAR + exp((best - rows[i].y) / NEAR));
        sum += weight[i];
        mean += weight[i] * error[i];
    }
    mean /= sum;
    const double counts = (double)group.count / USUAL;
    for (int i = 0; i < group.count; i++) {
        const double worst = rows[i].library ? LIBRARY : WORST, e = fmax(-worst, fmin(worst, error[i] - mean));
        float d_out = (float)(2 * counts * weight[i] * (e + ANCHOR * fmax(-WORST, fmin(WORST, mean))) / sum / BATCH);
        loss += weight[i] * e * e / sum;
        fill(l->x, &rows[i]);
        gs_net_backward(net, l->x, l->rooms + i * ROOM, &d_out, l->gradient);
    }
    return loss;
}

double gs_surrogate_learn(const gs_net *net, const gs_sample *samples, int count, const gs_profile *profile, float *gradient)
{
    lesson l;
    if (prepare(&l, net, samples, count, profile, NULL) != GS_OK) return NAN;
    const double loss = learn_group(net, &l, (gs_span){0, GS_MIN(count, MOST_GROUP)});
    for (int i = 0; i < net->count; i++) gradient[i] += l.gradient[i];
    forget(&l);
    return loss;
}

/* One pass over all groups in random order; adds the mean loss to *loss. False: a number is not finite. */
static bool train_epoch(gs_net *net, const lesson *l, gs_adam *adam, gs_random *random, double *loss)
{
    double sum = 0;
    int learned = 0;
    bool finite = true;
    gs_spans_shuffle(l->groups, l->group_count, random);
    for (int g = 0; g < l->group_count; g++) {
        if (l->groups[g].count < 2) continue;
        sum += learn_group(net, l, l->groups[g]);
        if (++learned % BATCH == 0) finite &= gs_adam_step(adam, net, l->gradient, STEEPEST);
    }
    if (learned % BATCH != 0) finite &= gs_adam_step(adam, net, l->gradient, STEEPEST);
    *loss += sum / GS_MAX(learned, 1);
    return finite;
}

static gs_status train_nets(gs_surrogate *surrogate, const lesson *l, gs_adam *adam, const gs_training *training, gs_error *error)
{
    gs_random random = {training->seed};
    for (int epoch = 0; epoch < training->epochs; epoch++) {
        double loss = 0;
        for (int i = 0; i < surrogate->nets; i++) {
            adam[i].rate = training->rate * (float)pow(0.1, (double)epoch / training->epochs);
            if (!train_epoch(&surrogate->net[i], l, &adam[i], &random, &loss)) return gs_net_diverged("surrogate", error);
        }
        if (training->epoch && !training->epoch(training->self, epoch, loss / surrogate->nets)) break;
    }
    return GS_OK;
}

gs_status gs_surrogate_train(gs_surrogate *surrogate, const gs_sample *samples, int count, const gs_profile *profile, const gs_training *training,
                             gs_error *error)
{
    lesson l;
    gs_adam adam[GS_MOST_NETS] = {{0}};
    GS_TRY(prepare(&l, &surrogate->net[0], samples, count, profile, error));
    gs_status status = GS_OK;
    for (int i = 0; status == GS_OK && i < surrogate->nets; i++) status = gs_adam_create(&adam[i], &surrogate->net[i], training->rate, error);
    if (status == GS_OK) status = train_nets(surrogate, &l, adam, training, error);
    for (int i = 0; i < surrogate->nets; i++) gs_adam_free(&adam[i]);
    gs_surrogate_learned(surrogate, samples, count);
    forget(&l);
    return status;
}
