/* SPDX-License-Identifier: MIT
 * The surrogate: the time model's prediction times what a network, or an ensemble of several, has learned that it gets wrong. It learns from measured times of several
 * schedules of one problem on one machine at one time (a group): only their order and their distances count, so that what a machine or a
 * day makes of all of them alike is not learned. */
#ifndef GS_LEARN_SURROGATE_H
#define GS_LEARN_SURROGATE_H

#include "learn/features.h"
#include "learn/net.h"

enum { GS_MOST_NETS = 4 };   /* of an ensemble */

/* Networks that began with other numbers and learned in another order: each takes some schedules that were never measured for faster than they are, but not
 * the same ones, so the geometric mean of what they say is what counts. */
typedef struct gs_surrogate {
    gs_net   net[GS_MOST_NETS];
    int      nets;
    uint32_t unknown;   /* families that the file it came from had no word of, and of which nothing was learned since */
} gs_surrogate;

/* nets: 1 to GS_MOST_NETS. Untrained it says what the time model says. MEMORY, UNSUPPORTED; *surrogate is to be freed only after GS_OK. */
gs_status gs_surrogate_create(gs_surrogate *surrogate, int nets, uint64_t seed, gs_error *error);
void      gs_surrogate_free(gs_surrogate *surrogate);

/* Weights may be older than a family. */
bool gs_surrogate_knows(const gs_surrogate *surrogate, gs_family_id family);

/* Predicted device time in microseconds of schedules that pass gs_schedule_check; never a measurement. Of a family that it does not know: what the time model
 * says. */
double gs_surrogate_us(const gs_surrogate *surrogate, const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile);

/* The same of cuBLASLt, of its first suggestion. 0: the weights were trained without its times. */
double gs_surrogate_library_us(const gs_surrogate *surrogate, const gs_problem *problem, const gs_profile *profile);

/* gs_schedule_shortlist in the surrogate's order: of the schedules that the time model finds fastest, those that the surrogate finds fastest. */
int gs_surrogate_shortlist(const gs_surrogate *surrogate, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most);

/* A measured time. Samples of a group lie side by side. */
typedef struct gs_sample {
    gs_problem  problem;
    gs_schedule schedule;
    double      us;
    int         group;
    bool        library;   /* the time of cuBLASLt's first suggestion; there is no schedule */
} gs_sample;

typedef struct gs_training {
    int      epochs;
    float    rate;             /* of the first epoch; falls to a tenth */
    uint64_t seed;
    bool   (*epoch)(void *self, int epoch, double loss);   /* loss: the networks' mean; false: it was the last one; NULL: nobody looks */
    void    *self;
} gs_training;

/* The end of the group that begins there, and the least of its own times; INFINITY: none is. */
int    gs_sample_group_end(const gs_sample *samples, int count, int begin);
double gs_sample_best(const gs_sample *samples, int count);

/* Adds the gradient of one group (2 samples at least; of more than 256 the first) for one network, down which gs_adam_step goes. Returns the loss; NAN: no
 * memory. */
double gs_surrogate_learn(const gs_net *net, const gs_sample *samples, int count, const gs_profile *profile, float *gradient);

/* It knows the families of these samples from now on: for whoever steps by gs_surrogate_learn. gs_surrogate_train does it. */
void gs_surrogate_learned(gs_surrogate *surrogate, const gs_sample *samples, int count);

/* Groups of one sample teach nothing. MEMORY; CORRUPT: gs_net_diverged. */
gs_status gs_surrogate_train(gs_surrogate *surrogate, const gs_sample *samples, int count, const gs_profile *profile, const gs_training *training,
                             gs_error *error);

#endif
