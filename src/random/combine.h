/* SPDX-License-Identifier: MIT
 * Problems that combine everything a problem may have. Each feature (layout, rows of A, batch, bias, ...) has values, and every value of every feature is drawn alike,
 * whatever the families take: not most of them plain. */
#ifndef GS_RANDOM_COMBINE_H
#define GS_RANDOM_COMBINE_H

#include "base/random.h"
#include <gemmsmith/problem.h>

#define GS_FEATURES_MOST 32

/* Features have numbers from 0, in a fixed order; so have their values, of which 0 is the plain one. */
int         gs_feature_count(void);
const char *gs_feature_name(int feature);              /* "layout" */
int         gs_feature_values(int feature);            /* how many it has, at least 2 */
const char *gs_feature_value(int feature, int value);  /* "nt" */

typedef struct gs_combination {
    gs_problem problem;                   /* valid */
    uint8_t    value[GS_FEATURES_MOST];   /* of each feature that which the problem has */
} gs_combination;

/* The same random numbers give the same problem. Of every feature a value is wanted, each as likely as any other (extents of 0 are rarer); in a random order the problem takes those that
 * it can have beside what it has taken. Of half of the problems a half or three quarters of the features stay plain, but
 * for types and layout. largest: no extent is larger, and M N K of all matrices is at most a
 * quarter of largest^3; at least 64. */
gs_combination gs_random_combination(gs_random *random, int64_t largest);

#endif
