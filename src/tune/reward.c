/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tune/tune.h"

double gs_reward(const gs_ratio *ratio, double library_us, double floor_us)
{
    if (!(ratio->low > 0)) return -1;
    if (fabs(ratio->low - 1) <= GS_DEAD_ZONE) return 0;
    const double room = fmax(floor_us > 0 && library_us > 0 ? library_us / floor_us : 0, 1.25);
    return fmax(-1, fmin(1, log(ratio->low) / log(room)));
}

double gs_reward_predicted(double us, double floor_us)
{
    if (!(us > 0 && floor_us > 0)) return -1;
    return fmax(-1, fmin(1, 1 - log10(us / floor_us)));
}
