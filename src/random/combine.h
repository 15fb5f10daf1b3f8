/* SPDX-License-Identifier: MIT
 * Random problems that combine everything a problem may have. Each feature (layout, rows of A, batch, bias, ...) has values, all of which are drawn about equally often, whatever
 * the families take: most problems are not plain ones. */
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
    uint8_t    value[GS_FEATURES_MOST];   /* the problem's value of each feature */
} gs_combination;

/* Deterministic for the state of *random. A value is drawn for every feature, each as likely as any other (extents of 0 and invariant rows are rarer); in a random order the
 * problem takes those that it can have together. In half of the problems a half or three quarters of the features stay plain, except for types and layout. largest: no extent is
 * larger, and M N K of all matrices is at most a quarter of largest^3; at least 64. */
gs_combination gs_random_combination(gs_random *random, int64_t largest);

#endif
