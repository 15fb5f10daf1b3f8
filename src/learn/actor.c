/* SPDX-License-Identifier: MIT
 * Saying schedule strings value by value, and learning from what came of them. */
#include "learn/actor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

enum {
    INPUTS    = GS_PROBLEM_FEATURES + GS_MOST_TOKENS,
    ROOM      = 2 * (GS_HIDDEN + GS_HIDDEN + GS_MOST_TOKENS),
    MOST_ROWS = 256   /* values of a parameter, and families */
};
#define LEAST_SPREAD 0.02   /* of a group's rewards: closer ones are noise */

/* ---- spaces ---- */

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, sizeof(gs_schedule)); }

static gs_status add(gs_space *space, int *capacity, const gs_schedule *schedule, gs_error *error)
{
    if (!gs_grow(&space->list, space->count, capacity, sizeof *space->list)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the valid schedules of a problem");
    space->list[space->count++] = *schedule;
    return GS_OK;
}

gs_status gs_space_create(gs_space *space, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_error *error)
{
    *space = (gs_space){.problem = *problem};
    gs_problem_features(problem, caps, space->features);
    gs_status status = GS_OK;
    int capacity = 0;
    for (int family = 0; family < GS_FAMILIES; family++) {
        if (families != 0 && !(families >> family & 1)) continue;
        gs_schedule schedule = gs_schedule_first((gs_family_id)family);
        do {
            if (gs_schedule_check(&schedule, problem, caps, NULL) == GS_OK) status = add(space, &capacity, &schedule, error);
        } while (status == GS_OK && gs_schedule_next(&schedule));
        if (status != GS_OK) break;
    }
    if (status != GS_OK) gs_space_free(space);
    if (space->count > 1) qsort(space->list, (size_t)space->count, sizeof *space->list, by_bytes);
    return status;
}

void gs_space_free(gs_space *space)
{
    free(space->list);
    *space = (gs_space){0};
}

int gs_space_find(const gs_space *space, const gs_schedule *schedule)
{
    const gs_schedule *const at = space->count ? bsearch(schedule, space->list, (size_t)space->count, sizeof *schedule, by_bytes) : NULL;
    return at ? (int)(at - space->list) : -1;
}

/* ---- a schedule string, value by value ---- */

/* What has been said: a prefix, and the schedule strings of the space that begin with it. Step 0 is the family, step s > 0 the value of parameter s - 1. */
typedef struct prefix {
    int   begin, end, step;
    float x[INPUTS];
} prefix;

/* Values that go on from a prefix: tokens, where their schedule strings end, probabilities. */
typedef struct choice {
    int    count, token[MOST_ROWS], end[MOST_ROWS];
    double p[MOST_ROWS];
} choice;

static void begin(prefix *at, const gs_space *space)
{
    *at = (prefix){.end = space->count};
    memcpy(at->x, space->features, sizeof space->features);
}

static int steps_of(const gs_schedule *schedule) { return 1 + gs_family_parameters((gs_family_id)schedule->family); }
static int byte_of(const gs_schedule *schedule, int step) { return step == 0 ? schedule->family : schedule->value[step - 1]; }
static int token_of(const gs_schedule *schedule, int step)
{
    return gs_token_of((gs_family_id)schedule->family, step - 1, step == 0 ? 0 : schedule->value[step - 1]);
}

/* Where the schedule strings that have the same value at this step as the first one end. */
static int same_until(const gs_space *space, int first, int end, int step)
{
    const int byte = byte_of(&space->list[first], step);
    int low = first + 1;
    while (low < end) {
        const int middle = low + (end - low) / 2;
        if (byte_of(&space->list[middle], step) == byte) low = middle + 1; else end = middle;
    }
    return low;
}

static void softmax(const float *logits, choice *c)
{
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < c->count; i++) most = fmax(most, logits[c->token[i]]);
    for (int i = 0; i < c->count; i++) sum += c->p[i] = exp(logits[c->token[i]] - most);
    for (int i = 0; i < c->count; i++) c->p[i] /= sum;
}

/* Returns the logits of all tokens. */
static const float *choose_from(const gs_actor *actor, const gs_space *space, const prefix *at, float *room, choice *c)
{
    const float *const logits = gs_net_forward(&actor->net, at->x, room);
    c->count = 0;
    for (int first = at->begin; first < at->end && c->count < MOST_ROWS; first = c->end[c->count++]) {
        c->token[c->count] = token_of(&space->list[first], at->step);
        c->end[c->count] = same_until(space, first, at->end, at->step);
    }
    softmax(logits, c);
    return logits;
}

static void go_on(prefix *at, const choice *c, int which)
{
    if (which > 0) at->begin = c->end[which - 1];
    at->end = c->end[which];
    at->x[GS_PROBLEM_FEATURES + c->token[which]] = 1;
    at->step++;
}

static int place_of(const choice *c, int token)
{
    int which = c->count - 1;
    while (which >= 0 && c->token[which] != token) which--;
    return which;
}

gs_status gs_actor_create(gs_actor *actor, uint64_t seed, gs_error *error)
{
    static const int width[] = {INPUTS, GS_HIDDEN, GS_HIDDEN, GS_MOST_TOKENS};
    if (gs_token_count() > GS_MOST_TOKENS) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "more than %d tokens", GS_MOST_TOKENS);
    return gs_net_create(&actor->net, 3, width, seed, error);
}

void gs_actor_free(gs_actor *actor) { gs_net_free(&actor->net); }

/* random NULL: the most probable value. */
static gs_schedule say(const gs_actor *actor, const gs_space *space, gs_random *random, double *log_probability)
{
    float room[ROOM];
    prefix at;
    choice c;
    double sum = 0;
    begin(&at, space);
    while (at.step < steps_of(&space->list[at.begin])) {
        choose_from(actor, space, &at, room, &c);
        int which = 0;
        if (random) {
            double left = gs_random_unit(random);
            while (which < c.count - 1 && (left -= c.p[which]) >= 0) which++;
        } else {
            for (int i = 1; i < c.count; i++)
                if (c.p[i] > c.p[which]) which = i;
        }
        sum += log(c.p[which]);
        go_on(&at, &c, which);
    }
    if (log_probability) *log_probability = sum;
    return space->list[at.begin];
}

gs_schedule gs_actor_say(const gs_actor *actor, const gs_space *space, gs_random *random, double *log_probability)
{
    return say(actor, space, random, log_probability);
}

gs_schedule gs_actor_best(const gs_actor *actor, const gs_space *space) { return say(actor, space, NULL, NULL); }

double gs_actor_log_probability(const gs_actor *actor, const gs_space *space, const gs_schedule *schedule)
{
    float room[ROOM];
    prefix at;
    choice c;
    double sum = 0;
    begin(&at, space);
    while (at.step < steps_of(schedule)) {
        choose_from(actor, space, &at, room, &c);
        const int which = place_of(&c, token_of(schedule, at.step));
        if (which < 0) return -INFINITY;
        sum += log(c.p[which]);
        go_on(&at, &c, which);
    }
    return sum;
}

/* ---- learning ---- */

/* All values that a schedule string could have at a step, valid or not: what stands there without masks. */
static void all_words(const gs_schedule *schedule, int step, choice *c)
{
    const gs_family_id family = (gs_family_id)schedule->family;
    c->count = step == 0 ? GS_FAMILIES : GS_MIN(gs_family_parameter(family, step - 1)->count, MOST_ROWS);
    for (int i = 0; i < c->count; i++) c->token[i] = step == 0 ? gs_token_of((gs_family_id)i, -1, 0) : gs_token_of(family, step - 1, i);
}

/* Adds to d_out the gradient of -weight * log(how probable it is without masks that a value is valid). */
static void push_valid(const float *logits, const gs_schedule *schedule, int step, const choice *valid, double weight, float *d_out)
{
    choice all;
    double probable = 0;
    all_words(schedule, step, &all);
    softmax(logits, &all);
    for (int i = 0; i < valid->count; i++) probable += all.p[place_of(&all, valid->token[i])];
    probable = fmax(probable, 1e-9);
    for (int i = 0; i < all.count; i++) d_out[all.token[i]] += (float)(weight * all.p[i]);
    for (int i = 0; i < valid->count; i++) d_out[valid->token[i]] -= (float)(weight * all.p[place_of(&all, valid->token[i])] / probable);
}

/* Adds, for every value of a schedule string, the gradient of -(push * log p + entropy * H + valid * log(unmasked p of the values that are valid)). */
static void push_sentence(const gs_actor *actor, const gs_space *space, const gs_schedule *schedule, double push, double entropy, double valid, float *gradient)
{
    float room[ROOM], d_out[GS_MOST_TOKENS];
    prefix at;
    choice c;
    begin(&at, space);
    while (at.step < steps_of(schedule)) {
        const float *const logits = choose_from(actor, space, &at, room, &c);
        const int which = place_of(&c, token_of(schedule, at.step));
        if (which < 0) return;
        double h = 0;
        for (int i = 0; i < c.count; i++) h -= c.p[i] > 0 ? c.p[i] * log(c.p[i]) : 0;
        memset(d_out, 0, sizeof d_out);
        for (int i = 0; i < c.count; i++) {
            const double rarer = c.p[i] > 0 ? c.p[i] * (log(c.p[i]) + h) : 0;   /* -dH / d logit */
            d_out[c.token[i]] = (float)(-push * ((i == which) - c.p[i]) + entropy * rarer);
        }
        push_valid(logits, schedule, at.step, &c, valid, d_out);
        gs_net_backward(&actor->net, at.x, room, d_out, gradient);
        go_on(&at, &c, which);
    }
}

const gs_lesson gs_usual_lesson = {.clip = 0.2, .entropy = 0.002, .valid = 0.1};

void gs_actor_learn(const gs_actor *actor, const gs_space *space, const gs_outcome *outcomes, int count, const gs_lesson *lesson, float *gradient)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++) sum += outcomes[i].reward;
    for (int i = 0; i < count; i++) squares += pow(outcomes[i].reward - sum / count, 2);
    const double spread = fmax(sqrt(squares / count), LEAST_SPREAD);
    for (int i = 0; i < count; i++) {
        const double others = (sum - outcomes[i].reward) / (count - 1), advantage = (outcomes[i].reward - others) / spread;
        const double ratio = exp(gs_actor_log_probability(actor, space, &outcomes[i].schedule) - outcomes[i].log_probability);
        const bool clipped = advantage > 0 ? ratio > 1 + lesson->clip : ratio < 1 - lesson->clip;
        push_sentence(actor, space, &outcomes[i].schedule, clipped ? 0 : advantage * ratio / count, lesson->entropy / count, lesson->valid / count, gradient);
    }
}

void gs_actor_imitate(const gs_actor *actor, const gs_problem *problem, const gs_caps *caps, const gs_schedule *schedule, double weight, float *gradient)
{
    float x[INPUTS] = {0}, room[ROOM], d_out[GS_MOST_TOKENS];
    choice c;
    gs_problem_features(problem, caps, x);
    for (int step = 0; step < steps_of(schedule); step++) {
        all_words(schedule, step, &c);
        softmax(gs_net_forward(&actor->net, x, room), &c);
        memset(d_out, 0, sizeof d_out);
        const int token = token_of(schedule, step);
        for (int i = 0; i < c.count; i++) d_out[c.token[i]] = (float)(weight * (c.p[i] - (c.token[i] == token)));
        gs_net_backward(&actor->net, x, room, d_out, gradient);
        x[GS_PROBLEM_FEATURES + token] = 1;
    }
}
