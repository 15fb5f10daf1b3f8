/* SPDX-License-Identifier: MIT
 * The surrogate: the time model's prediction times a learned correction, from one network or the mean of several. It is trained on measured times in groups: several
 * schedules of one problem, measured on one machine at one time. The loss counts the ratios within a group, so that an influence of the machine or day on all of them is not
 * learned. */
#ifndef GS_LEARN_SURROGATE_H
#define GS_LEARN_SURROGATE_H

#include "learn/features.h"
#include "learn/net.h"

enum { GS_MOST_NETS = 4 };   /* networks of an ensemble */

/* Networks with different initial weights and training orders. Each one underestimates the time of some unmeasured schedules, but not of the same ones, so the geometric
 * mean of their predictions is used. */
typedef struct gs_surrogate {
    gs_net   net[GS_MOST_NETS];
    int      nets;
    uint32_t unknown;   /* bit set of families for which the weights file had no token and that were not trained since */
} gs_surrogate;

/* nets: 1 to GS_MOST_NETS. Untrained it predicts what the time model predicts. MEMORY, UNSUPPORTED; after an error *surrogate must not be freed. */
gs_status gs_surrogate_create(gs_surrogate *surrogate, int nets, uint64_t seed, gs_error *error);
void      gs_surrogate_free(gs_surrogate *surrogate);

/* Whether the weights were trained on the family; they may be older than the family. */
bool gs_surrogate_knows(const gs_surrogate *surrogate, gs_family_id family);

/* Predicted device time in microseconds of a schedule that passes gs_schedule_check; never a measurement. For an unknown family it is the time model's
 * prediction. */
double gs_surrogate_us(const gs_surrogate *surrogate, const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile);

/* The same for cuBLASLt's first suggestion. 0: the weights were trained without its times. */
double gs_surrogate_library_us(const gs_surrogate *surrogate, const gs_problem *problem, const gs_profile *profile);

/* The schedules of gs_schedule_shortlist that the surrogate predicts to be fastest, best first. */
int gs_surrogate_shortlist(const gs_surrogate *surrogate, const gs_problem *problem, const gs_caps *caps, uint32_t families, gs_schedule *list, int most);

/* A measured time. The samples of a group are adjacent. */
typedef struct gs_sample {
    gs_problem  problem;
    gs_schedule schedule;
    double      us;
    int         group;
    bool        library;   /* the time is that of cuBLASLt's first suggestion; `schedule` is unused */
} gs_sample;

typedef struct gs_training {
    int      epochs;
    float    rate;             /* of the first epoch; falls to a tenth */
    uint64_t seed;
    bool   (*epoch)(void *self, int epoch, double loss);   /* called after each epoch; loss: mean of the networks; returns false to stop; may be NULL */
    void    *self;
} gs_training;

/* The index after the group that starts at `begin`; the shortest time of our own kernels, INFINITY if there is none. */
int    gs_sample_group_end(const gs_sample *samples, int count, int begin);
double gs_sample_best(const gs_sample *samples, int count);

/* Adds the gradient of one group (at least 2 samples; only the first 256 are used) for one network, for gs_adam_step. Returns the loss; NAN: no memory. */
double gs_surrogate_learn(const gs_net *net, const gs_sample *samples, int count, const gs_profile *profile, float *gradient);

/* Marks the families of these samples as known, for callers that train with gs_surrogate_learn. gs_surrogate_train does so itself. */
void gs_surrogate_learned(gs_surrogate *surrogate, const gs_sample *samples, int count);

/* Groups of one sample are ignored. MEMORY; CORRUPT: gs_net_diverged. */
gs_status gs_surrogate_train(gs_surrogate *surrogate, const gs_sample *samples, int count, const gs_profile *profile, const gs_training *training,
                             gs_error *error);

#endif
