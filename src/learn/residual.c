/* SPDX-License-Identifier: MIT */
#include "learn/residual.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

/* Standard deviations of log times: common to all schedules of a problem (the machine, its clock), to those of a family, to those that share most values, and
 * of a measurement. */
#define COMMON 0.30
#define FAMILY 0.10
#define WORDS  0.06
#define NOISE  0.01
#define REACH  2.0   /* number of changed values at which the shared part falls to 1/e */

static double covariance(const gs_schedule *a, const gs_schedule *b)
{
    int changed = 0;
    if (a->family != b->family) return COMMON * COMMON;
    for (int parameter = 0; parameter < gs_family_parameters((gs_family_id)a->family); parameter++) changed += a->value[parameter] != b->value[parameter];
    return COMMON * COMMON + FAMILY * FAMILY + WORDS * WORDS * exp(-changed / REACH);
}

static double *row_of(gs_residual *r, int i) { return r->factor + i * (i + 1) / 2; }

/* Solves factor x = b in place. */
static void solve_lower(const gs_residual *r, double *b)
{
    for (int i = 0; i < r->count; i++) {
        const double *const row = r->factor + i * (i + 1) / 2;
        for (int j = 0; j < i; j++) b[i] -= row[j] * b[j];
        b[i] /= row[i];
    }
}

void gs_residual_fit(gs_residual *r, const gs_schedule *schedules, const double *residual, int count)
{
    r->count = GS_MIN(count, GS_MOST_RESIDUALS);
    if (r->count > 0) memcpy(r->schedule, schedules, (size_t)r->count * sizeof *schedules);
    for (int i = 0; i < r->count; i++) {
        double *const row = row_of(r, i);
        for (int j = 0; j <= i; j++) {
            const double *const other = row_of(r, j);
            double sum = covariance(&schedules[i], &schedules[j]) + (i == j ? NOISE * NOISE : 0);
            for (int k = 0; k < j; k++) sum -= row[k] * other[k];
            row[j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / other[j];
        }
        r->weight[i] = residual[i];
    }
    solve_lower(r, r->weight);
    for (int i = r->count - 1; i >= 0; i--) {   /* then with the transpose */
        r->weight[i] /= row_of(r, i)[i];
        for (int j = 0; j < i; j++) r->weight[j] -= row_of(r, i)[j] * r->weight[i];
    }
}

double gs_residual_at(const gs_residual *r, const gs_schedule *schedule, double *deviation)
{
    double k[GS_MOST_RESIDUALS], mean = 0, known = 0;
    for (int i = 0; i < r->count; i++) mean += (k[i] = covariance(schedule, &r->schedule[i])) * r->weight[i];
    solve_lower(r, k);
    for (int i = 0; i < r->count; i++) known += k[i] * k[i];
    *deviation = sqrt(fmax(covariance(schedule, schedule) - known, 0));
    return mean;
}
