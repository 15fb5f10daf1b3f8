/* SPDX-License-Identifier: MIT
 * What the measured times of one problem say about its other schedules: how far they were from what was predicted, carried over to schedule strings
 * that share the family and values (a Gaussian process). */
#ifndef GS_LEARN_RESIDUAL_H
#define GS_LEARN_RESIDUAL_H

#include "schedule/schedule.h"

enum { GS_MOST_RESIDUALS = 96 };

typedef struct gs_residual {
    int         count;
    gs_schedule schedule[GS_MOST_RESIDUALS];
    double      weight[GS_MOST_RESIDUALS];
    double      factor[GS_MOST_RESIDUALS * (GS_MOST_RESIDUALS + 1) / 2];   /* of Cholesky, row by row */
} gs_residual;

/* residual: log(measured / predicted) of each schedule; at most GS_MOST_RESIDUALS, further ones are left out. */
void gs_residual_fit(gs_residual *r, const gs_schedule *schedules, const double *residual, int count);

/* What to expect of a schedule's log(measured / predicted), and how sure that is. Nothing measured: 0. */
double gs_residual_at(const gs_residual *r, const gs_schedule *schedule, double *deviation);

#endif
