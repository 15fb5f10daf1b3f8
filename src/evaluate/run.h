/* SPDX-License-Identifier: MIT
 * One tuning of one problem: its candidates and what is known of them, shared by the stages
 * (tune.c gathers, race.c races and verifies, confirm.c confirms and records, ask.c talks to the worker). The environment
 * (environment.c) is a run with one candidate. */
#ifndef GS_EVALUATE_RUN_H
#define GS_EVALUATE_RUN_H

#include <string.h>

#include "base/clock.h"
#include "tune/tune.h"
#include "verify/verify.h"

#define GS_RUN_REFERENCE "cublaslt-autotuning"

enum {
    GS_RUN_FINALISTS = 6,          /* verified candidates among which the winner is found */
    GS_RUN_FINAL_ROUNDS = 31,
    GS_RUN_CONFIRM_ROUNDS = 51     /* in a fresh worker */
};

typedef struct gs_candidate {
    gs_schedule schedule;
    char        text[GS_SCHEDULE_TEXT];
    const char *source, *manifest;    /* of a user kernel, whose text is "source:<hash>"; NULL: the schedule */
    double      predicted_us;
    int         registers, smem;
    char        verdict[24];          /* "" while unknown, "pass", or why it is out */
    int         part;                 /* of the verdict, as its reason */
    char        reason[256];
    bool        measured;             /* here or, as the store knows, before */
    bool        compared;             /* the store has a figure beside the library, which a time alone does not replace */
    bool        doubted;              /* so much faster than what was known that the figures do not count yet */
    bool        emulated;             /* its verdict is of the emulated device before the GPU */
    bool        again;                /* measured a second time for that: these figures count */
    bool        edges_passed;         /* part 5, on the same edge problems, for another problem of the list */
    double      us, library_us;
    gs_ratio    ratio;
    int         rounds, mhz;
} gs_candidate;

typedef struct gs_run {
    gs_store              *store;
    gs_session            *session;
    gs_worker             *worker;
    const gs_caps         *caps;
    const gs_problem      *problem;
    const gs_tune_options *options;
    gs_tune_result        *result;
    char                   text[GS_PROBLEM_TEXT];
    double                 floor_us;
    double                 library_us;   /* of the last run of the reference */
    int                    suggestion;   /* of cuBLASLt's, which it used then, from 1 */
    int                    mhz;          /* in that run */
    int64_t                started;      /* gs_clock_ns */
    uint64_t               seed;         /* of the next request */
    double                 compile_s;    /* most for a compilation, of a user kernel; 0: the worker's own limit */
    double                 limit_s;      /* most for a verification; 0: as the problem's size says */
    uint32_t               parts;        /* of a verification; 0: all */
    bool                   search;       /* one of a list: candidates race without the library */
    bool                   doubts;       /* a jump over what is known is measured again (gs_run_doubted) */
    double                 known_us;     /* the best time known of the problem beside the library's; 0: none */
    gs_candidate          *list;
    int                    count;
} gs_run;

/* What the store knows of a problem's candidates. */
typedef struct gs_trials {
    gs_trial *list;
    int       count, capacity;
    bool      failed;
} gs_trials;

static inline bool gs_candidate_passed(const gs_candidate *c) { return strcmp(c->verdict, "pass") == 0; }
static inline bool gs_candidate_out(const gs_candidate *c) { return c->verdict[0] && !gs_candidate_passed(c); }

/* INTERRUPTED if a stop was asked for or the budget is used up. */
gs_status gs_run_check(const gs_run *run, gs_error *error);

/* Whether new candidates may still be looked at: a third of the budget is kept for verifying and confirming the best. */
bool gs_run_may_explore(const gs_run *run);

void gs_run_progress(const gs_run *run, const char *stage, int done, int total, const char *candidate);

/* Gives a candidate its bad verdict, in the store too. */
gs_status gs_run_reject(gs_run *run, gs_candidate *candidate, gs_verdict_code verdict, int part, const char *reason,
                        gs_error *error);

/* The verdict of a status that the candidate has brought about; one that is about the machine is returned. */
gs_status gs_run_refuse(gs_run *run, gs_candidate *candidate, gs_status status, const gs_error *why, gs_error *error);

/* The same for all that are known by now, as times alone, in one go. */
gs_status gs_run_keep_times(gs_run *run, gs_error *error);

/* One interleaved run of the reference and these candidates (0: the reference alone), whose figures or verdicts it fills and keeps.
 * In the stage "search" the reference is left out, the run narrows, outputs are not checked, and nothing but bad verdicts is kept.
 * WORKER_HUNG, WORKER_DIED, FAULT: one of them took the worker down; nothing is filled. */
gs_status gs_run_bench(gs_run *run, gs_candidate *const *list, int count, int rounds, const char *stage, gs_error *error);

/* Compiles one candidate, inspects it where it is a user kernel, and fills its resources, or its verdict. Whatever the worker cannot survive here is the
 * verdict `compile`, if a fresh worker answers. */
gs_status gs_run_prepare(gs_run *run, gs_candidate *candidate, double timeout_s, gs_error *error);

/* Full verification of one candidate, whose verdict it fills and keeps. WORKER_HUNG, WORKER_DIED as above. */
gs_status gs_run_verify(gs_run *run, gs_candidate *candidate, gs_error *error);

/* The same, with the blame for a lost worker. */
gs_status gs_run_prove(gs_run *run, gs_candidate *candidate, gs_error *error);

/* After a worker was lost with this one candidate: its verdict is hang or fault, unless a fresh worker cannot even run the
 * reference (on an emulated device: answer); then that failure is returned. */
gs_status gs_tune_blame(gs_run *run, gs_candidate *candidate, gs_status lost, const gs_error *why, gs_error *error);

static inline bool gs_worker_lost(gs_status status)
{
    return status == GS_ERROR_WORKER_HUNG || status == GS_ERROR_WORKER_DIED || status == GS_ERROR_FAULT;
}

/* A run of a problem before its first stage; gs_run_close when done. */
gs_run gs_run_open(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                   const gs_tune_options *options, gs_tune_result *result);
void   gs_run_close(gs_run *run);

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

static inline double gs_run_since(int64_t began_ns) { return (double)(gs_clock_ns() - began_ns) * 1e-9; }

/* Races all candidates that were not measured yet, then the best of all. */
gs_status gs_run_race(gs_run *run, gs_error *error);

/* Measures a group; a worker that is lost is traced to the candidate by halving. */
gs_status gs_run_group(gs_run *run, gs_candidate **list, int count, int rounds, const char *stage, gs_error *error);

/* The best candidates that passed verification, verified now where they were not, best first; at most `most`, only those whose
 * interval reaches the best one's. Returns how many in *count. */
gs_status gs_run_best(gs_run *run, gs_candidate **best, int most, int *count, gs_error *error);

void gs_run_sort(gs_candidate **list, int count);   /* by ratio, best first */

/* Those of a group whose figures jumped over what was known (doubted) are measured again, in a fresh worker with fresh data; the second figures
 * count, whatever they are. Candidates that take the worker down have their verdict. */
gs_status gs_run_doubted(gs_run *run, gs_candidate *const *list, int count, int rounds, const char *stage, gs_error *error);

/* What this program's kernels took at best on this device, as the store knows it: of those that passed. 0: nothing. */
double gs_run_known_us(const gs_run *run, const gs_trials *known);

/* The reward of a candidate that has a verdict or figures. */
double gs_run_reward(const gs_run *run, const gs_candidate *candidate);

/* Final race, confirmation of the winner in a fresh worker, and the row that follows. *winner NULL: no own kernel passed. */
gs_status gs_run_confirm(gs_run *run, gs_candidate **winner, gs_error *error);

/* What searches on this device found, of all problems in the store, also with other kernels than these; free(*out). */
gs_status gs_run_found(gs_store *store, const gs_session *session, gs_found **out, int *count, gs_error *error);

/* What the last search of a problem on this device with these kernels found, with that time. *found false: none was. keep writes it. */
gs_status gs_run_find_search(gs_store *store, const gs_session *session, const char *problem, gs_schedule *schedule, double *us, bool *found,
                             gs_error *error);
gs_status gs_run_keep_search(const gs_run *run, const gs_candidate *best, gs_error *error);

/* ---- compiling ahead (precompile.c) ---- */

/* Child processes that propose and compile the candidates of a list of problems, `most` each, in the order of the list. The problems and the
 * options must stay where they are. */
typedef struct gs_ahead gs_ahead;
gs_status gs_ahead_start(gs_ahead **out, const gs_caps *caps, const gs_problem *problems, int count, int most, const gs_tune_options *options,
                         gs_error *error);   /* no problems: NULL, which end and wait_edges take */
void      gs_ahead_end(gs_ahead **ahead);

/* Waits for a problem's proposals (room for `most`) and their compilation. INTERRUPTED, NO_COMPILER. */
gs_status gs_ahead_take(gs_ahead *ahead, int problem, gs_schedule *list, int *count, int *failed, gs_error *error);

/* Asks for what the verification of this schedule will run on its edge problems; waits for all that was asked for. */
void      gs_ahead_edges(gs_ahead *ahead, int problem, const gs_schedule *schedule);
gs_status gs_ahead_wait_edges(gs_ahead *ahead, gs_error *error);

/* Row of an own kernel or of the library (winner NULL or slower), stored as the winner and put into the table. */
gs_status gs_run_record(gs_run *run, const gs_candidate *winner, gs_error *error);
/* Waits for the lock beside a file, so that two tuners of one table both keep their rows; close(*lock) ends it. */
gs_status gs_run_lock(const char *path, int *lock, gs_error *error);
gs_status gs_run_table(const char *path, const gs_row *row, bool only_if_absent, gs_error *error);
void      gs_run_row(const gs_run *run, const gs_trial *winner, gs_row *row);

#endif
