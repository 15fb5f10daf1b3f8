/* SPDX-License-Identifier: MIT
 * The times that the fake worker simulates: the model's prediction for an H200, changed by up to 20 % depending on the schedule's text, so that the fastest schedule is
 * not the model's first choice. Tests use the same functions to know the right answer. */
#ifndef GS_TESTS_FAKE_TIMES_H
#define GS_TESTS_FAKE_TIMES_H

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "schedule/schedule.h"

static inline double fake_us(const gs_schedule *schedule, const gs_problem *problem)
{
    /* These texts decide which schedule wins in a test, so families keep their first names here. */
    static const char *const first_names[GS_FAMILIES] = {"simple", "mma", "ws", "sliced", "wave", "dot"};
    char text[GS_SCHEDULE_TEXT], hashed[GS_SCHEDULE_TEXT + 8];
    gs_schedule_format(schedule, text);
    snprintf(hashed, sizeof hashed, "%s%s", first_names[schedule->family], strchr(text, '/') ? strchr(text, '/') : "");
    const double moved = 0.8 + 0.4 * (double)(gs_hash64(hashed, strlen(hashed)) % 1000) / 1000;
    return moved * gs_schedule_predict(schedule, problem, gs_caps_find("h200"));
}

/* cuBLASLt's time: a factor times the time of the model's first choice. */
static inline double fake_library_us(const gs_problem *problem, double factor)
{
    gs_schedule best;
    gs_schedule_shortlist(problem, gs_caps_find("h200"), 0, &best, 1);
    return factor * gs_schedule_predict(&best, problem, gs_caps_find("h200"));
}

#endif
