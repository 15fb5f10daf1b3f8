/* SPDX-License-Identifier: MIT
 * One search of one problem: its candidates and what is known about them, shared by the stages (tune.c controls, race.c races and verifies, confirm.c
 * confirms, record.c records). src/evaluate evaluates the candidates. */
#ifndef GS_TUNE_RUN_H
#define GS_TUNE_RUN_H

#include "evaluate/evaluate.h"
#include "policy/policy.h"
#include "tune/tune.h"

enum { GS_RUN_FINALISTS = 6 };   /* most verified candidates in the final race */

typedef struct gs_run {
    gs_evaluator           evaluator;
    const gs_tune_options *options;
    gs_tune_result        *result;
    gs_candidate          *list;
    int                    count;
    double                 longest_s;   /* longest request of the race so far */
} gs_run;

/* The store's trials of a problem. */
typedef struct gs_trials {
    gs_trial *list;
    int       count, capacity;
    bool      failed;
} gs_trials;

/* Whether there is time for further candidates: a third of the budget is reserved for verifying and confirming the best, and the next request
 * must end before that, assuming that it takes no longer than those before. */
bool gs_run_may_explore(const gs_run *run);

void gs_run_progress(const gs_run *run, gs_tune_stage stage, int done, int total, const char *candidate);

/* Starts the run of a problem; end it with gs_run_close. */
gs_run gs_run_open(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                   const gs_tune_options *options, gs_tune_result *result);
void   gs_run_close(gs_run *run);

/* Copies the counts so far into the result. */
void gs_run_account(gs_run *run);

gs_status gs_run_known(const gs_run *run, gs_trials *known, gs_error *error);   /* free(known->list) */

/* The winner of the run's problem, if the store has one from such a device. */
gs_status gs_run_winner(const gs_run *run, gs_trial *winner, bool *found, gs_error *error);

/* Fills the result from a winner in the store, and adds its row to the table if it is missing. */
gs_status gs_run_resume(gs_run *run, const gs_trials *known, const gs_trial *winner, gs_error *error);

int gs_run_candidates(const gs_tune_options *options, bool emulated, int usual);

/* Creates the policy that the options name, with the weights that it saved before if they name a file. */
gs_status gs_run_policy(gs_policy *out, const gs_tune_options *options, uint64_t seed, gs_error *error);

/* gs_run_shortlist: gets up to `most` candidates from the policy; room: capacity of the list. first: the policy's first proposals if they are known already
 * (NULL: ask it). gs_run_more: appends `more` further ones, within the room. */
gs_status gs_run_shortlist(gs_run *run, gs_policy *policy, const gs_trials *known, int most, int room, const gs_schedule *first, int first_count,
                           gs_error *error);
gs_status gs_run_more(gs_run *run, gs_policy *policy, const gs_trials *known, int more, gs_error *error);

void      gs_run_add(gs_run *run, const gs_schedule *list, int count, const gs_trials *known);   /* adds those that are valid, new and not known to be bad */

/* Tells the policy the outcomes of the candidates from index `from` on. */
void      gs_run_teach(const gs_run *run, gs_policy *policy, int from);
gs_status gs_run_compile(gs_run *run, gs_error *error);

/* Races all candidates that were not measured yet, then the best again. */
gs_status gs_run_race(gs_run *run, gs_error *error);

/* The best candidates that pass verification, which runs now if it has not; best first, at most `most`, only those whose
 * interval overlaps the best one's. *count: how many. */
gs_status gs_run_best(gs_run *run, gs_candidate **best, int most, int *count, gs_error *error);

void gs_run_sort(const gs_run *run, gs_candidate **list, int count);   /* by ratio, best first */

/* The best time in the store of this version's kernels on this device that passed; 0: none. */
double gs_run_known_us(const gs_run *run, const gs_trials *known);

/* Final race, and confirmation of the winner in a fresh worker; records the row. *winner is NULL if none of our kernels passed and cuBLASLt
 * is used instead. */
gs_status gs_run_confirm(gs_run *run, gs_candidate **winner, gs_error *error);

/* The results of all searches on this device in the store, also with other versions of the kernels; free(*out). */
gs_status gs_run_found(gs_store *store, const gs_session *session, gs_found **out, int *count, gs_error *error);

/* The result of the last search of a problem on this device with these kernels, and its time. *found false: none. gs_run_keep_search writes it. */
gs_status gs_run_find_search(gs_store *store, const gs_session *session, const char *problem, gs_schedule *schedule, double *us, bool *found,
                             gs_error *error);
gs_status gs_run_keep_search(const gs_run *run, const gs_candidate *best, gs_error *error);

/* ---- compiling ahead (precompile.c) ---- */

/* Child processes that propose and compile up to `most` candidates for each problem of a list, in order. The problems and the
 * options must not move. until: gs_clock_ns at which take and wait_edges return INTERRUPTED; 0: never. */
typedef struct gs_ahead gs_ahead;
gs_status gs_ahead_start(gs_ahead **out, const gs_caps *caps, const gs_problem *problems, int count, int most, const gs_tune_options *options,
                         int64_t until, gs_error *error);   /* without problems *out is NULL, which end and wait_edges accept */
void      gs_ahead_end(gs_ahead **ahead);

/* Waits for a problem's proposals (list: room for `most`) and their compilation. INTERRUPTED, NO_COMPILER. */
gs_status gs_ahead_take(gs_ahead *ahead, int problem, gs_schedule *list, int *count, int *failed, gs_error *error);

/* gs_ahead_edges: starts compiling what verification of this schedule will run on its edge problems; gs_ahead_wait_edges: waits for all of these. */
void      gs_ahead_edges(gs_ahead *ahead, int problem, const gs_schedule *schedule);
gs_status gs_ahead_wait_edges(gs_ahead *ahead, gs_error *error);

/* ---- questions to a language model (llm_turns.c) ---- */

/* Stores the turns of the policy "llm". */
typedef struct gs_kept_turns {
    gs_store         *store;
    const gs_session *session;
    char              uid[GS_STORE_UID];   /* of the last turn */
} gs_kept_turns;

gs_llm_sink gs_kept_turns_sink(gs_kept_turns *turns);

/* ---- recording (record.c) ---- */

/* Stores the winner and adds its row to the table: our kernel, or cuBLASLt if winner is NULL or slower. UNSUPPORTED: neither can compute the problem. */
gs_status gs_run_record(gs_run *run, const gs_candidate *winner, gs_error *error);
gs_status gs_run_table(const char *path, const gs_row *row, bool only_if_absent, gs_error *error);
void      gs_run_row(const gs_run *run, const gs_trial *winner, gs_row *row);

#endif
