/* SPDX-License-Identifier: MIT
 * A Gaussian process over the schedules of one problem: from the prediction errors of measured schedules it estimates those of other schedules that share the
 * family and values. */
#ifndef GS_LEARN_RESIDUAL_H
#define GS_LEARN_RESIDUAL_H

#include "schedule/schedule.h"

enum { GS_MOST_RESIDUALS = 96 };

typedef struct gs_residual {
    int         count;
    gs_schedule schedule[GS_MOST_RESIDUALS];
    double      weight[GS_MOST_RESIDUALS];
    double      factor[GS_MOST_RESIDUALS * (GS_MOST_RESIDUALS + 1) / 2];   /* Cholesky factor of the covariance, lower triangle by rows */
} gs_residual;

/* residual: log(measured / predicted) of each schedule; schedules beyond GS_MOST_RESIDUALS are ignored. */
void gs_residual_fit(gs_residual *r, const gs_schedule *schedules, const double *residual, int count);

/* Expected log(measured / predicted) of a schedule, and its standard deviation; 0 without measurements. */
double gs_residual_at(const gs_residual *r, const gs_schedule *schedule, double *deviation);

#endif
