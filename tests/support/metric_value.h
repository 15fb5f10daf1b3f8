/* SPDX-License-Identifier: MIT
 * Reads texts of metrics, a line "name value" each. Included after cmocka. */
#ifndef TESTS_METRIC_VALUE_H
#define TESTS_METRIC_VALUE_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "worker/metrics.h"

/* The value of a metric; NaN if it is missing. Every name in the text must be in the table and occur once. */
static inline double metric_value(const char *text, const char *name)
{
    double found = NAN;
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
        char have[64];
        double number;
        bool known = false;
        assert_int_equal(sscanf(at, "%63s %lf\n", have, &number), 2);
        for (const gs_metric *m = gs_metrics; m->name; m++) known = known || strcmp(m->name, have) == 0;
        if (!known) fail_msg("%s is not in the table", have);
        if (strcmp(have, name) != 0) continue;
        if (!isnan(found)) fail_msg("%s twice", name);
        found = number;
    }
    return found;
}

#endif
