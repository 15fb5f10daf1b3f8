/* SPDX-License-Identifier: MIT
 * One search of one problem: its candidates and what is known of them, shared by the stages (tune.c gathers, race.c races and verifies, confirm.c
 * confirms and records). Evaluating them is src/evaluate's. */
#ifndef GS_TUNE_RUN_H
#define GS_TUNE_RUN_H

#include "evaluate/evaluate.h"
#include "policy/policy.h"
#include "tune/tune.h"

enum { GS_RUN_FINALISTS = 6 };   /* verified candidates among which the winner is found */

typedef struct gs_run {
    gs_evaluator           evaluator;
    const gs_tune_options *options;
    gs_tune_result        *result;
    gs_candidate          *list;
    int                    count;
    double                 longest_s;   /* of the race's requests so far */
} gs_run;

/* What the store knows of a problem's candidates. */
typedef struct gs_trials {
    gs_trial *list;
    int       count, capacity;
    bool      failed;
} gs_trials;

/* Whether there is budget for new candidates: a third of it is kept for verifying and confirming the best, so the next request must
 * end before that, if it takes no longer than those before it. */
bool gs_run_may_explore(const gs_run *run);

void gs_run_progress(const gs_run *run, gs_tune_stage stage, int done, int total, const char *candidate);

/* A run of a problem before its first stage; gs_run_close when done. */
gs_run gs_run_open(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                   const gs_tune_options *options, gs_tune_result *result);
void   gs_run_close(gs_run *run);

/* Copies the counts so far into the result. */
void gs_run_account(gs_run *run);

gs_status gs_run_known(const gs_run *run, gs_trials *known, gs_error *error);   /* free(known->list) */

/* The winner of the run's problem, if the store has one that was measured on such a device. */
gs_status gs_run_winner(const gs_run *run, gs_trial *winner, bool *found, gs_error *error);

/* The result that follows from a winner of the store. */
gs_status gs_run_resume(gs_run *run, const gs_trials *known, const gs_trial *winner, gs_error *error);

int gs_run_candidates(const gs_tune_options *options, bool emulated, int usual);

/* The policy that the options ask for, with what it learned before where they name a file. */
gs_status gs_run_policy(gs_policy *out, const gs_tune_options *options, uint64_t seed, gs_error *error);

/* Candidates from the policy, `most` of them if it has so many; room: for so many in all. first: what it proposes first, if that is known already
 * (NULL: ask). more: further ones behind these, within the room. */
gs_status gs_run_shortlist(gs_run *run, gs_policy *policy, const gs_trials *known, int most, int room, const gs_schedule *first, int first_count,
                           gs_error *error);
gs_status gs_run_more(gs_run *run, gs_policy *policy, const gs_trials *known, int more, gs_error *error);

void      gs_run_add(gs_run *run, const gs_schedule *list, int count, const gs_trials *known);   /* those that can run, are not known to be bad, and are new */

/* Tells the policy what came of the candidates from this one on. */
void      gs_run_teach(const gs_run *run, gs_policy *policy, int from);
gs_status gs_run_compile(gs_run *run, gs_error *error);

/* Races all candidates that were not measured yet, then the best of all. */
gs_status gs_run_race(gs_run *run, gs_error *error);

/* The best candidates that passed verification, verified now where they were not, best first; at most `most`, only those whose
 * interval reaches the best one's. Returns how many in *count. */
gs_status gs_run_best(gs_run *run, gs_candidate **best, int most, int *count, gs_error *error);

void gs_run_sort(const gs_run *run, gs_candidate **list, int count);   /* by ratio, best first */

/* What this program's kernels took at best on this device, as the store knows it: of those that passed. 0: nothing. */
double gs_run_known_us(const gs_run *run, const gs_trials *known);

/* Final race, confirmation of the winner in a fresh worker, and the row that follows. *winner NULL: none of our kernels passed, and cuBLASLt can
 * take their place. */
gs_status gs_run_confirm(gs_run *run, gs_candidate **winner, gs_error *error);

/* What searches on this device found, of all problems in the store, also with other kernels than these; free(*out). */
gs_status gs_run_found(gs_store *store, const gs_session *session, gs_found **out, int *count, gs_error *error);

/* What the last search of a problem on this device with these kernels found, with that time. *found false: none was. keep writes it. */
gs_status gs_run_find_search(gs_store *store, const gs_session *session, const char *problem, gs_schedule *schedule, double *us, bool *found,
                             gs_error *error);
gs_status gs_run_keep_search(const gs_run *run, const gs_candidate *best, gs_error *error);

/* ---- compiling ahead (precompile.c) ---- */

/* Child processes that propose and compile the candidates of a list of problems, `most` each, in the order of the list. The problems and the
 * options must stay where they are. until: gs_clock_ns at which take and wait_edges give up, INTERRUPTED; 0: never. */
typedef struct gs_ahead gs_ahead;
gs_status gs_ahead_start(gs_ahead **out, const gs_caps *caps, const gs_problem *problems, int count, int most, const gs_tune_options *options,
                         int64_t until, gs_error *error);   /* no problems: NULL, which end and wait_edges take */
void      gs_ahead_end(gs_ahead **ahead);

/* Waits for a problem's proposals (room for `most`) and their compilation. INTERRUPTED, NO_COMPILER. */
gs_status gs_ahead_take(gs_ahead *ahead, int problem, gs_schedule *list, int *count, int *failed, gs_error *error);

/* Asks for what the verification of this schedule will run on its edge problems; waits for all that was asked for. */
void      gs_ahead_edges(gs_ahead *ahead, int problem, const gs_schedule *schedule);
gs_status gs_ahead_wait_edges(gs_ahead *ahead, gs_error *error);

/* ---- what a language model was asked (llm_turns.c) ---- */

/* Puts the turns of the policy "llm" into the store. */
typedef struct gs_kept_turns {
    gs_store         *store;
    const gs_session *session;
    char              uid[GS_STORE_UID];   /* of the last turn */
} gs_kept_turns;

gs_llm_sink gs_kept_turns_sink(gs_kept_turns *turns);

/* ---- what stays (record.c) ---- */

/* Stores the winner and puts its row into the table: our kernel, or cuBLASLt if winner is NULL or slower. UNSUPPORTED: neither computes the problem. */
gs_status gs_run_record(gs_run *run, const gs_candidate *winner, gs_error *error);
gs_status gs_run_table(const char *path, const gs_row *row, bool only_if_absent, gs_error *error);
void      gs_run_row(const gs_run *run, const gs_trial *winner, gs_row *row);

#endif
