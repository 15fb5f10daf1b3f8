/* SPDX-License-Identifier: MIT
 * What the networks see: a problem, a schedule, and what the time model says of the two, as numbers of about one; and the values of the
 * grammar as tokens. */
#ifndef GS_LEARN_FEATURES_H
#define GS_LEARN_FEATURES_H

#include "schedule/profile.h"
#include "schedule/schedule.h"

enum {
    GS_PROBLEM_FEATURES = 40,
    GS_WORK_FEATURES    = 30,
    GS_MOST_TOKENS      = 640,   /* families and values, with room for more of them */
    GS_HIDDEN           = 64     /* width of the networks' hidden layers */
};

/* A token is a family, or a value of a parameter of a family. They are numbered in the order of the tables; the last one is cuBLASLt. */
int gs_token_count(void);
int gs_token_of(gs_family_id family, int parameter, int value);   /* parameter -1: of the family itself; GS_FAMILIES: cuBLASLt */

/* The name of a token, unique for all times: "ws", "ws/tile/128x256x64" or "cublaslt". text: at least 96 bytes. */
char *gs_token_name(int token, char text[96]);

void gs_problem_features(const gs_problem *problem, const gs_caps *caps, float x[GS_PROBLEM_FEATURES]);

/* Returns the predicted time in microseconds as well. The schedule passes gs_schedule_check. */
double gs_work_features(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile, float x[GS_WORK_FEATURES]);

#endif
