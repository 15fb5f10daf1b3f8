/* SPDX-License-Identifier: MIT
 * The policy "learned". Before anything is measured it proposes what was found for the problem with the other input type (the same instructions at the
 * same rate), then the schedules that the surrogate predicts to be fastest, of those that the time model ranks best and those that a plan would
 * choose (gs_weights_choose). Measurements correct the surrogate's predictions (learn/residual.h) and add neighbours of the fastest schedules (one
 * value changed). They also train the weights (train/learner.c); save writes these. The initial weights are those of $GEMMSMITH_WEIGHTS, else the
 * installed ones, else untrained ones, which keep the time model's order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "learn/residual.h"
#include "schedule/space.h"
#include "train/train.h"
#include "policy/policies.h"

enum {
    BY_MODEL = 8192,  /* schedules ranked by the surrogate: the time model's fastest */
    CHOSEN   = 32,    /* and those that a plan would choose */
    KEPT     = 2048,  /* of these, the number kept */
    PARENTS  = 3,     /* fastest measured schedules whose neighbours are added */
    NEIGHBOURS = 256  /* room for neighbours */
};
#define CURIOUS 0.5   /* standard deviations by which an uncertain prediction is lowered, to encourage exploration */

typedef struct ranked {
    gs_schedule schedule;
    double      us;      /* predicted by the surrogate */
    double      hoped;   /* sort key: log of the corrected prediction */
} ranked;

typedef struct observed {
    gs_schedule schedule;
    double      us;
} observed;

typedef struct learned {
    gs_weights weights;
    gs_weights before;                     /* copy from the last load or save */
    gs_learner learner;
    gs_error   fault;                      /* why learning stopped; status GS_OK: it has not */
    uint64_t   seed;
    char       problem[GS_PROBLEM_TEXT];   /* the problem of the lists below */
    uint32_t   families;
    gs_profile profile;
    ranked    *list;                       /* candidates, those from `next` on not proposed yet */
    int        count, next, capacity;
    bool       ranked;                     /* the list has been made */
    bool       stale;                      /* something was observed since the list was sorted */
    gs_schedule *proposed;                     /* proposed or observed */
    int        proposed_count, proposed_capacity;
    observed   observed[GS_MOST_RESIDUALS];/* timed schedules, fastest first */
    int        observed_count;
} learned;

static int by_hope(const void *left, const void *right)
{
    const ranked *const a = left, *const b = right;
    if (a->hoped != b->hoped) return a->hoped < b->hoped ? -1 : 1;
    return memcmp(&a->schedule, &b->schedule, sizeof a->schedule);
}

static bool was_proposed(const learned *self, const gs_schedule *schedule)
{
    for (int i = 0; i < self->proposed_count; i++)
        if (memcmp(&self->proposed[i], schedule, sizeof *schedule) == 0) return true;
    return false;
}

/* Without memory a schedule may be proposed again, which only costs time. */
static void note_proposed(learned *self, const gs_schedule *schedule)
{
    if (was_proposed(self, schedule)) return;
    if (!gs_grow(&self->proposed, self->proposed_count, &self->proposed_capacity, sizeof *self->proposed)) return;
    self->proposed[self->proposed_count++] = *schedule;
}

/* ---- the list ---- */

static void add(learned *self, const gs_schedule *schedule, const gs_problem *problem)
{
    const double us = gs_surrogate_us(&self->weights.surrogate, schedule, problem, &self->profile);
    if (self->count < self->capacity) self->list[self->count++] = (ranked){*schedule, us, log(us)};
}

static bool has_twin(const ranked *list, int count, const gs_schedule *schedule)
{
    for (int i = 0; i < count; i++)
        if (gs_schedule_twins(&list[i].schedule, schedule)) return true;
    return false;
}

/* Sorts the list and removes duplicates. While nothing is observed, further twins (gs_schedule_twins) go to the end; later they stay, because twins of fast schedules help. */
static gs_status put_in_order(learned *self)
{
    ranked *const late = malloc(((size_t)self->count + 1) * sizeof *late);
    int first = self->next, later = 0;
    if (!late) return GS_ERROR_MEMORY;
    if (self->count > self->next) qsort(self->list + self->next, (size_t)(self->count - self->next), sizeof *self->list, by_hope);
    self->count = GS_MIN(self->count, self->next + KEPT);
    for (int i = self->next; i < self->count; i++) {
        const ranked *const r = &self->list[i];
        if (i > self->next && memcmp(&r->schedule, &self->list[i - 1].schedule, sizeof r->schedule) == 0) continue;   /* from both sources */
        if (self->observed_count == 0 && has_twin(self->list + self->next, first - self->next, &r->schedule))
            late[later++] = *r;
        else
            self->list[first++] = *r;
    }
    memcpy(self->list + first, late, (size_t)later * sizeof *late);
    self->count = first + later;
    free(late);
    return GS_OK;
}

static gs_status rank_all(learned *self, const gs_problem *problem, const gs_caps *caps)
{
    gs_space space;
    GS_TRY(gs_space_create(&space, problem, caps, self->families, NULL));
    free(self->list);
    self->capacity = space.count + CHOSEN + NEIGHBOURS;
    self->list = malloc((size_t)self->capacity * sizeof *self->list);
    gs_status status = self->list ? GS_OK : GS_ERROR_MEMORY;
    self->count = self->next = 0;
    if (status == GS_OK && space.count > 0) {
        for (int i = 0; i < space.count; i++) self->list[i] = (ranked){space.list[i], 0, gs_schedule_predict(&space.list[i], problem, caps)};
        qsort(self->list, (size_t)space.count, sizeof *self->list, by_hope);
        const int model = GS_MIN(space.count, BY_MODEL);
        for (int i = 0; i < model; i++) {
            const gs_schedule schedule = self->list[i].schedule;
            add(self, &schedule, problem);
        }
        gs_schedule chosen[CHOSEN];
        const int count = gs_weights_choose(&self->weights, problem, caps, self->families, chosen, CHOSEN);
        for (int i = 0; i < count; i++) add(self, &chosen[i], problem);
        status = put_in_order(self);
    }
    gs_space_free(&space);
    self->ranked = status == GS_OK;
    if (status != GS_OK) self->count = 0;
    return status;
}

static void begin(learned *self, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps)
{
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    if (strcmp(text, self->problem) == 0 && policy->families == self->families) return;
    memcpy(self->problem, text, strlen(text) + 1);
    self->families = policy->families;
    self->profile = gs_profile_of(caps);
    self->count = self->next = self->proposed_count = self->observed_count = 0;
    self->ranked = self->stale = false;
}

/* ---- learning ---- */

static void take_time(learned *self, const gs_schedule *schedule, double us)
{
    if (self->observed_count == GS_MOST_RESIDUALS && us >= self->observed[GS_MOST_RESIDUALS - 1].us) return;
    int at = self->observed_count < GS_MOST_RESIDUALS ? self->observed_count++ : GS_MOST_RESIDUALS - 1;
    for (; at > 0 && self->observed[at - 1].us > us; at--) self->observed[at] = self->observed[at - 1];
    self->observed[at] = (observed){*schedule, us};
}

static void add_neighbours(learned *self, const gs_problem *problem, const gs_caps *caps)
{
    for (int i = 0; i < GS_MIN(self->observed_count, PARENTS); i++) {
        const gs_schedule from = self->observed[i].schedule;
        const gs_family_id family = (gs_family_id)from.family;
        for (int parameter = 0; parameter < gs_family_parameters(family); parameter++)
            for (int value = 0; value < gs_family_parameter(family, parameter)->count; value++) {
                gs_schedule next = from;
                next.value[parameter] = (uint8_t)value;
                if (value != from.value[parameter] && gs_schedule_check(&next, problem, caps, NULL) == GS_OK && !was_proposed(self, &next)) add(self, &next, problem);
            }
    }
}

static void correct(learned *self, const gs_problem *problem)
{
    gs_residual residual;
    gs_schedule schedules[GS_MOST_RESIDUALS];
    double errors[GS_MOST_RESIDUALS];
    for (int i = 0; i < self->observed_count; i++) {
        schedules[i] = self->observed[i].schedule;
        errors[i] = log(self->observed[i].us / gs_surrogate_us(&self->weights.surrogate, &schedules[i], problem, &self->profile));
    }
    gs_residual_fit(&residual, schedules, errors, self->observed_count);
    for (int i = self->next; i < self->count; i++) {
        double deviation;
        self->list[i].us = gs_surrogate_us(&self->weights.surrogate, &self->list[i].schedule, problem, &self->profile);   /* the weights have changed */
        const double shift = gs_residual_at(&residual, &self->list[i].schedule, &deviation);
        self->list[i].hoped = log(self->list[i].us) + shift - CURIOUS * deviation;
    }
}

/* Both must have the same number of networks. */
static void copy_weights(gs_weights *to, const gs_weights *from)
{
    for (int i = 0; i < from->surrogate.nets; i++)
        memcpy(to->surrogate.net[i].weights, from->surrogate.net[i].weights, (size_t)from->surrogate.net[i].count * sizeof(float));
    to->surrogate.unknown = from->surrogate.unknown;
    memcpy(to->actor.net.weights, from->actor.net.weights, (size_t)from->actor.net.count * sizeof(float));
    memcpy(to->about, from->about, sizeof from->about);
}

static void move_weights(learned *self, const gs_problem *problem, const gs_caps *caps, const gs_feedback *feedback, int count)
{
    if (self->fault.status != GS_OK) return;
    gs_measured *const measured = malloc(((size_t)count + 1) * sizeof *measured);
    gs_error error = {0};
    char text[GS_PROBLEM_TEXT];
    for (int i = 0; measured && i < count; i++) measured[i] = (gs_measured){feedback[i].schedule, feedback[i].us};
    /* without memory nothing is learned; if numbers become infinite or NaN, learning ends and the weights return to those last loaded or saved */
    if (measured && gs_learner_step(&self->learner, &self->weights, problem, caps, measured, count, &error) == GS_ERROR_CORRUPT) {
        self->fault = error;
        copy_weights(&self->weights, &self->before);
        gs_log(GS_LOG_INFO, "%s: %s", gs_problem_format(problem, text), error.text);
    }
    free(measured);
}

/* Updates the list with what was observed. */
static gs_status take_in(learned *self, const gs_problem *problem, const gs_caps *caps)
{
    add_neighbours(self, problem, caps);
    correct(self, problem);
    self->stale = false;
    const gs_status status = put_in_order(self);
    if (status != GS_OK) self->count = self->next;
    return status;
}

/* Proposes what was found for the same problem with the other input type (f16 or bf16). */
static int propose_other_type(learned *self, const gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    gs_problem other = *problem;
    int count = 0;
    other.in = problem->in == GS_F16 ? GS_BF16 : GS_F16;
    if (other.out == problem->in) other.out = other.in;
    for (int i = 0; i < policy->found_count && count < most; i++) {
        const gs_found *const found = &policy->found[i];
        if (memcmp(&found->problem, &other, sizeof other) != 0 || was_proposed(self, &found->schedule)) continue;
        if (self->families != 0 && !(self->families >> found->schedule.family & 1)) continue;
        if (gs_schedule_check(&found->schedule, problem, caps, NULL) != GS_OK) continue;
        note_proposed(self, &found->schedule);
        list[count++] = found->schedule;
    }
    return count;
}

static int propose(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, gs_schedule *list, int most)
{
    learned *const self = policy->self;
    begin(self, policy, problem, caps);
    const bool first = !self->ranked;
    if (first && rank_all(self, problem, caps) != GS_OK) return 0;
    if (self->stale && take_in(self, problem, caps) != GS_OK) return 0;
    int count = first ? propose_other_type(self, policy, problem, caps, list, most) : 0;
    for (; count < most && self->next < self->count; self->next++) {
        const gs_schedule schedule = self->list[self->next].schedule;
        if (was_proposed(self, &schedule)) continue;
        note_proposed(self, &schedule);
        list[count++] = schedule;
    }
    return count;
}

static void learn(gs_policy *policy, const gs_problem *problem, const gs_caps *caps, const gs_feedback *feedback, int count)
{
    learned *const self = policy->self;
    begin(self, policy, problem, caps);
    for (int i = 0; i < count; i++) {
        note_proposed(self, &feedback[i].schedule);
        if (feedback[i].us > 0 && gs_schedule_check(&feedback[i].schedule, problem, caps, NULL) == GS_OK) take_time(self, &feedback[i].schedule, feedback[i].us);
    }
    self->stale = self->observed_count > 0;   /* the list is sorted only if more is asked for */
    move_weights(self, problem, caps, feedback, count);
}

/* ---- keeping ---- */

static void add_difference(gs_net *to, const gs_net *now, const gs_net *before)
{
    for (int i = 0; i < to->count; i++) to->weights[i] += now->weights[i] - before->weights[i];
}

/* Adds our changes to what other tuners have saved since, so that the training steps of several tuners add up. */
static gs_status save_locked(learned *self, const char *path, gs_error *error)
{
    if (gs_file_exists(path)) {
        gs_weights there;
        GS_TRY(gs_weights_load(&there, path, error));
        if (there.surrogate.nets != self->weights.surrogate.nets) {
            gs_weights_free(&there);
            return gs_fail(error, GS_ERROR_UNSUPPORTED, "weights", "%.200s: somebody replaced these weights by others, of more or fewer networks", path);
        }
        for (int i = 0; i < there.surrogate.nets; i++) add_difference(&there.surrogate.net[i], &self->weights.surrogate.net[i], &self->before.surrogate.net[i]);
        add_difference(&there.actor.net, &self->weights.actor.net, &self->before.actor.net);
        there.surrogate.unknown &= self->weights.surrogate.unknown;
        copy_weights(&self->weights, &there);
        gs_weights_free(&there);
    }
    GS_TRY(gs_weights_save(&self->weights, path, error));
    copy_weights(&self->before, &self->weights);
    return GS_OK;
}

static gs_status save(gs_policy *policy, const char *path, gs_error *error)
{
    learned *const self = policy->self;
    int lock;
    if (self->fault.status != GS_OK) return gs_fail(error, self->fault.status, self->fault.field, "%s; %.200s stays as it was", self->fault.text, path);
    GS_TRY(gs_file_lock(path, &lock, error));
    const gs_status status = save_locked(self, path, error);
    close(lock);
    return status;
}

static void forget(learned *self)
{
    gs_learner_free(&self->learner);
    gs_weights_free(&self->weights);
    gs_weights_free(&self->before);
}

/* path NULL: untrained weights. */
static gs_status start_from(learned *self, const char *path, gs_error *error)
{
    GS_TRY(path ? gs_weights_load(&self->weights, path, error) : gs_weights_create(&self->weights, 1, self->seed, error));
    GS_TRY(gs_weights_create(&self->before, self->weights.surrogate.nets, self->seed, error));
    copy_weights(&self->before, &self->weights);
    return gs_learner_create(&self->learner, &self->weights, error);
}

/* Changes nothing on failure. */
static gs_status load(gs_policy *policy, const char *path, gs_error *error)
{
    learned *const self = policy->self;
    learned now = {.seed = self->seed};
    const gs_status status = start_from(&now, path, error);
    if (status != GS_OK) {
        forget(&now);
        return status;
    }
    forget(self);
    self->weights = now.weights;
    self->before = now.before;
    self->learner = now.learner;
    self->problem[0] = '\0';
    self->fault = (gs_error){0};
    return GS_OK;
}

static void destroy(gs_policy *policy)
{
    learned *const self = policy->self;
    if (self) {
        forget(self);
        free(self->list);
        free(self->proposed);
    }
    free(self);
    *policy = (gs_policy){0};
}

gs_status gs_policy_learned(gs_policy *out, uint64_t seed, gs_error *error)
{
    learned *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the policy");
    self->seed = seed;
    *out = (gs_policy){.name = "learned", .self = self, .asks_found = true, .propose = propose, .learn = learn, .save = save, .load = load, .destroy = destroy};
    const gs_status status = start_from(self, gs_weights_path(), error);
    if (status != GS_OK) destroy(out);
    return status;
}
