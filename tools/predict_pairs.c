/* SPDX-License-Identifier: MIT
 * Predicts times of schedules with learned weights, as a filter. No device needed:
 *
 *     predict_pairs [WEIGHTS] < PAIRS
 *
 * Answers each line "problem,schedule" at once with a line "us,floor_us", by the surrogate of the weights (without weights by the time model), on an H200.
 * If the text is not a schedule for the problem: "0,0". */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "learn/weights.h"
#include "schedule/model.h"
#include "schedule/profile.h"

enum { LINE = 1024 };

static void answer(const gs_weights *weights, const gs_profile *profile, char *line)
{
    gs_problem problem;
    gs_schedule schedule;
    char *const comma = strchr(line, ',');
    double us = 0, floor_us = 0;
    if (comma) {
        *comma = '\0';
        if (gs_problem_parse(&problem, line, NULL) == GS_OK && gs_schedule_parse(&schedule, comma + 1, NULL) == GS_OK &&
            gs_schedule_check(&schedule, &problem, &profile->caps, NULL) == GS_OK) {
            us = weights ? gs_surrogate_us(&weights->surrogate, &schedule, &problem, profile) : gs_schedule_predict(&schedule, &problem, &profile->caps);
            floor_us = gs_floor_us(&problem, &profile->caps);
        }
    }
    printf("%.6g,%.6g\n", us, floor_us);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    gs_weights weights;
    gs_error error = {0};
    const gs_profile *const profile = gs_profile_find("h200");
    char line[LINE];
    if (argc > 2) {
        fprintf(stderr, "usage: predict_pairs [WEIGHTS] < PAIRS\n");
        return 2;
    }
    if (argc == 2 && gs_weights_load(&weights, argv[1], &error) != GS_OK) {
        fprintf(stderr, "%s\n", gs_error_format(&error, line, sizeof line));
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\r\n")] = '\0';
        answer(argc == 2 ? &weights : NULL, profile, line);
    }
    if (argc == 2) gs_weights_free(&weights);
    return 0;
}
