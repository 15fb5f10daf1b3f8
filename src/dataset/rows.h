/* SPDX-License-Identifier: MIT
 * Shared by the kinds of data: the devices and problems of the stores, what the stores have of each, and the columns of a row. */
#ifndef GS_DATASET_ROWS_H
#define GS_DATASET_ROWS_H

#include "author/prompt.h"
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
    char   *memory;          /* holds the texts */
    int     step;            /* its number in its lineage, from 0 */
} gs_kept_turn;

/* A problem on a device, with everything that the stores have of it. */
typedef struct gs_known {
    const gs_dataset_options *options;
    gs_dataset_counts        *counts;
    const char   *device, *text;
    gs_problem    problem;
    const gs_caps *caps;     /* of the device; NULL: no profile */
    gs_caps       emulated;  /* a copy marked as emulated, used as caps if times are predicted, so that prompts say so */
    double        floor_us;  /* 0: unknown */
    double        library_us;
    bool          predicted, held_out;
    gs_trial     *trials;    /* those with a verdict, by date and candidate */
    int           trial_count, trial_capacity;
    int           earlier;   /* how many of them come from stores read before the current one */
    gs_trial      winner;    /* candidate "": none */
    gs_kept_turn *turns;     /* in order of arrival, each once */
    int           turn_count, turn_capacity;
    gs_text       line;      /* the current row */
    gs_status     status;    /* of reading the stores */
} gs_known;

/* Calls visit for every device and problem selected by the options, sorted by name. */
typedef gs_status (*gs_known_visit)(gs_known *known, gs_error *error);
gs_status gs_dataset_each(const gs_dataset_options *options, gs_dataset_counts *counts, gs_known_visit visit, gs_error *error);

/* Reads one problem on a device (NULL: stores are not read). Free with gs_known_free. */
gs_status gs_known_read(gs_known *known, const char *device, const gs_problem *problem, gs_error *error);
void      gs_known_free(gs_known *known);

const gs_trial *gs_known_trial(const gs_known *known, const char *candidate);   /* NULL: none with a verdict */
bool gs_trial_passed(const gs_trial *trial);

bool gs_dataset_asked(const gs_dataset_options *options, const char *problem);   /* it is one of the named problems, or none were named */
bool gs_dataset_wants(const gs_dataset_options *options, bool held_out);
bool gs_dataset_is_source(const char *candidate_or_mode);
bool gs_dataset_mode(const gs_dataset_options *options, const char *candidate_or_mode);

/* ---- a row ---- */

/* Begins a row: its id, a hash of the parts, and the columns of the problem. */
gs_json gs_row_begin(gs_known *known, const char *kind, const char *const *parts, int count);

/* Ends the row and passes it on, unless it is a training row that names a held-out problem. */
gs_status gs_row_end(gs_known *known, gs_json *json, gs_error *error);

typedef struct gs_message {
    const char *role, *content;
} gs_message;
void gs_row_messages(gs_json *json, const char *name, const gs_message *messages, int count);   /* 0: null */

/* null unless the value is above 0. */
void gs_row_positive(gs_json *json, const char *name, double value);

/* Candidate, verdict, times and all kinds of reward. Times are null if the candidate did not pass. */
double gs_known_reward(const gs_known *known, const gs_turn_outcome *outcome, gs_reward_kind kind);   /* NaN: unknown */
void gs_row_outcome(gs_json *json, const gs_known *known, const gs_turn_outcome *outcome);
gs_turn_outcome gs_outcome_of(const gs_trial *trial);
bool gs_outcome_passed(const gs_known *known, const gs_turn_outcome *outcome);   /* it passed then, and no later verdict contradicts that */

/* The id of the task for this mode. */
char *gs_task_name(const gs_known *known, const char *mode, char name[GS_PROBLEM_TEXT + 16]);

/* Options of a task's prompt. */
typedef struct gs_task_view {
    bool              examples;           /* show earlier candidates for the problem, fast and slow */
    gs_edits          edits;              /* source only: whether the answer may, or must, be edits */
    const gs_attempt *last;               /* show its outcome; source: if it has code, it is the kernel to improve. NULL: none */
    const char       *notes;              /* source only; NULL: none */
    gs_text          *source, *manifest;  /* source only: receive the kernel to begin with, unless that is `last`; NULL: not wanted */
} gs_task_view;
gs_status gs_task_prompt_of(const gs_known *known, const char *mode, const gs_task_view *view, gs_text *system, gs_text *ask, gs_error *error);

/* Appends the prompts of the problem's task. examples: show earlier candidates. */
gs_status gs_task_prompt(const gs_known *known, const char *mode, bool examples, gs_text *system, gs_text *ask, gs_error *error);

/* The answer that contains this candidate, in the mode's form; source and manifest NULL: a schedule. */
void gs_answer_text(gs_text *text, const char *candidate, const char *source, const char *manifest);

#endif
