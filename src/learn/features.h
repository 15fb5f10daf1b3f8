/* SPDX-License-Identifier: MIT
 * Inputs of the networks: features of a problem, of a schedule and of the time model's prediction, scaled to about 1, and the grammar's values as
 * tokens. */
#ifndef GS_LEARN_FEATURES_H
#define GS_LEARN_FEATURES_H

#include "schedule/profile.h"
#include "schedule/schedule.h"

enum {
    GS_PROBLEM_FEATURES = 40,
    GS_WORK_FEATURES    = 30,
    GS_MOST_TOKENS      = 640,   /* families and values, with room for new ones */
    GS_HIDDEN           = 64     /* width of the networks' hidden layers */
};

/* A token stands for a family or for a value of a parameter of a family. Tokens are numbered in the order of the tables; the last one is cuBLASLt. */
int gs_token_count(void);
int gs_token_of(gs_family_id family, int parameter, int value);   /* parameter -1: the family's token; family GS_FAMILIES: cuBLASLt */

/* The name of a token, which never changes: "ws", "ws/tile/128x256x64" or "cublaslt". text: at least 96 bytes. */
char *gs_token_name(int token, char text[96]);

void gs_problem_features(const gs_problem *problem, const gs_caps *caps, float x[GS_PROBLEM_FEATURES]);

/* Also returns the predicted time in microseconds. The schedule must pass gs_schedule_check. */
double gs_work_features(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile, float x[GS_WORK_FEATURES]);

#endif
