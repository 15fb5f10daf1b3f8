/* SPDX-License-Identifier: MIT
 * What the three kinds of data share: which devices and problems there are, what the stores know of one, and the columns of a row. */
#ifndef GS_DATASET_ROWS_H
#define GS_DATASET_ROWS_H

#include "base/json.h"
#include "dataset/dataset.h"
#include "evaluate/reward.h"

/* A sorted set of names. */
typedef struct gs_names {
    char **list;
    int    count, capacity;
} gs_names;

/* One turn, its texts copied. */
typedef struct gs_kept_turn {
    gs_turn turn;
    char   *memory;          /* of the texts */
    int     step;            /* of its line: 0, 1, ... */
} gs_kept_turn;

/* A problem on a device, and what the stores know of it. */
typedef struct gs_known {
    const gs_dataset_options *options;
    gs_dataset_counts        *counts;
    const char   *device, *text;
    gs_problem    problem;
    const gs_caps *caps;     /* of the device; NULL: there is no profile of it */
    gs_caps       emulated;  /* what caps points to where times are predicted: prompts say so */
    double        floor_us;  /* 0: not known */
    double        library_us;
    bool          predicted, held_out;
    gs_trial     *trials;    /* by date and candidate; those whose verdict is known */
    int           trial_count, trial_capacity;
    int           earlier;   /* of these, of stores before the one that is being read */
    gs_trial      winner;    /* candidate "": none */
    gs_kept_turn *turns;     /* in the order in which they came, each once */
    int           turn_count, turn_capacity;
    gs_text       line;      /* of the row that is being made */
    gs_status     status;    /* of gathering */
} gs_known;

/* Every device and every problem of it that the options let through, one after the other, in the order of their names. */
typedef gs_status (*gs_known_visit)(gs_known *known, gs_error *error);
gs_status gs_dataset_each(const gs_dataset_options *options, gs_dataset_counts *counts, gs_known_visit visit, gs_error *error);

/* One problem, on a device of the options' (NULL: nothing is known of it). The caller frees. */
gs_status gs_known_read(gs_known *known, const char *device, const gs_problem *problem, gs_error *error);
void      gs_known_free(gs_known *known);

const gs_trial *gs_known_trial(const gs_known *known, const char *candidate);   /* NULL: none, or without a verdict */
bool gs_trial_passed(const gs_trial *trial);

bool gs_dataset_wants(const gs_dataset_options *options, bool held_out);
bool gs_dataset_is_source(const char *candidate_or_mode);
bool gs_dataset_mode(const gs_dataset_options *options, const char *candidate_or_mode);

/* ---- a row ---- */

/* Begins it: id, then the columns of the problem. The id is a hash of the parts. */
gs_json gs_row_begin(gs_known *known, const char *kind, const char *const *parts, int count);

/* Ends it and hands it on, unless it names a held-out problem and is of the training side. */
gs_status gs_row_end(gs_known *known, gs_json *json, gs_error *error);

typedef struct gs_message {
    const char *role, *content;
} gs_message;
void gs_row_messages(gs_json *json, const char *name, const gs_message *messages, int count);   /* 0: null */

/* NaN and what is not over 0: null. */
void gs_row_positive(gs_json *json, const char *name, double value);

/* candidate, verdict, times and all kinds of reward. The times of what did not pass are null. */
double gs_known_reward(const gs_known *known, const gs_turn_outcome *outcome, gs_reward_kind kind);   /* NaN: nobody can say */
void gs_row_outcome(gs_json *json, const gs_known *known, const gs_turn_outcome *outcome);
gs_turn_outcome gs_outcome_of(const gs_trial *trial);
bool gs_outcome_passed(const gs_known *known, const gs_turn_outcome *outcome);   /* then, and nothing that was found later speaks against it */

/* The id of the task of this mode. */
char *gs_task_name(const gs_known *known, const char *mode, char name[GS_PROBLEM_TEXT + 16]);

/* system and ask of the problem's task, appended. examples: with what was tried of it. */
gs_status gs_task_prompt(const gs_known *known, const char *mode, bool examples, gs_text *system, gs_text *ask, gs_error *error);

/* The answer, as the mode has it, that says this candidate; source and manifest NULL: a schedule. */
void gs_answer_text(gs_text *text, const char *candidate, const char *source, const char *manifest);

#endif
