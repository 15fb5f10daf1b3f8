/* SPDX-License-Identifier: MIT
 * Tuning: a policy proposes candidates, a worker compiles, verifies and times them, and the policy gets the rewards.
 * For a problem: proposals -> compile in parallel -> race (few paired rounds first, more for the best) -> verify the fast ones
 * -> confirm the winner in a fresh worker with fresh data -> store -> tuned table. */
#ifndef GS_TUNE_TUNE_H
#define GS_TUNE_TUNE_H

#include "base/file.h"
#include "base/json.h"
#include "bench/stats.h"
#include "evaluate/reward.h"
#include "table/table.h"
#include "policy/llm.h"
#include "policy/policy.h"
#include "store/store.h"
#include "worker/worker.h"

typedef enum gs_tune_stage { GS_TUNE_COMPILE, GS_TUNE_RACE, GS_TUNE_VERIFY, GS_TUNE_CONFIRM, GS_TUNE_OTHERS } gs_tune_stage;

const char *gs_tune_stage_name(gs_tune_stage stage);   /* "compile", "race", "verify", "confirm"; "others": waiting for other tuners */

typedef struct gs_tune_progress {
    const char   *problem;
    gs_tune_stage stage;
    int         done, total;
    const char *candidate;
    double      best_ratio;            /* so far; 0: none */
    double      left_s;                /* of the budget; < 0: unlimited */
} gs_tune_progress;

typedef struct gs_tune_options {
    const char *policy;                /* NULL: "enumerate" */
    uint32_t    families;              /* bit set, 0: all */
    int         candidates;            /* most candidates measured per problem; 0: 48, gs_tune_list: 16 (emulated device: 8) */
    double      budget_s;              /* for the whole call; 0: no limit. A request in progress is then cancelled, and its worker killed */
    double      whole_s;               /* gs_tune: the total of which the budget is a share, for messages; 0: it is no share */
    int         jobs;                  /* parallel compiles; 0: all cores */
    uint64_t    seed;
    gs_reward_kind reward;             /* kind of reward for learning policies */
    const char *tuned_path;            /* table to write */
    const char *cache_path;            /* cubin cache; NULL: default */
    bool        dependent;             /* launches that allow it are dependent; session->device must end in GS_DEPENDENT_SUFFIX */
    bool        again;                 /* also tune problems with a winner in the store; the best known schedule races too */
    bool        further;               /* gs_tune: also continue a problem with a winner in the store, keeping its measurements: for more candidates than before */
    const gs_found *found;             /* for policies that use earlier results; NULL: the results of searches on this device in the store, */
    int         found_count;           /* also with earlier versions of the kernels */
    const gs_lessee *lessee;           /* gs_tune_list, gs_work_queue: several tuners share the list; a tuner needs a problem's lease to work on it */
    int         first;                 /* gs_tune_list, gs_work_queue: the index to begin at; wraps around */
    bool        unconfirmed;           /* gs_tune_list: stops after the search; no winner, no table */
    const char *learn_path;            /* file of weights: loaded first if it exists, saved when a problem
                                          is done; several tuners may share it; NULL: not saved */
    const gs_llm_options *llm;         /* for the policies "llm" and "hybrid"; NULL: from the environment */
    double      timeout_s;             /* minimum timeout of a reply, to which the time for the problem's size is added; 0: 60 */
    void      (*progress)(void *self, const gs_tune_progress *progress);
    void       *self;
} gs_tune_options;

typedef struct gs_tune_result {
    gs_row  row;                       /* the row in the table; unconfirmed: it was not written */
    bool    confirmed;
    int     proposed, compiled, verified, measured, rejected;
    char    best_own[GS_SCHEDULE_TEXT];/* our fastest schedule, also if cuBLASLt won; empty if none passed */
    double  best_own_ratio;            /* 0: unconfirmed */
    double  best_own_us;               /* as measured in the search: only an order of magnitude */
    char    alone[192];                /* why there is no time of cuBLASLt; empty: there is one */
    bool    resumed;                   /* the store already had the winner */
    double  seconds;
    struct {                           /* parts of `seconds`; confirm includes tuning the reference */
        double compile, race, verify, confirm;
    } spent;
} gs_tune_result;

/* Tunes one problem. The reference is cublaslt-autotuning in the problem's layout, or for groups the fastest of NVIDIA's library calls, which is never recorded; us and ratios are
 * device times.
 * INTERRUPTED (Ctrl-C, or the budget ran out before a winner was confirmed): the store keeps the measurements, the table is unchanged.
 * If cuBLASLt has no algorithm for the problem or computes it wrong, our candidates are verified and timed alone, and the best of them is
 * recorded with us and no ratio (gs_row_alone). NO_LIBRARY: the device has no cuBLASLt. An emulated device needs none: times are predicted, the ratio is the floor divided by the
 * time, up to six candidates are verified, and the row is marked as predicted (gs_row_predicted). */
gs_status gs_tune(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                  const gs_tune_options *options, gs_tune_result *result, gs_error *error);

/* Tunes many problems quickly: kernels of the next problems are compiled in the background; the candidates of a problem race without the
 * reference; only the fastest is verified, the next one only if it fails; then a fresh worker confirms a batch of problems against the
 * reference (options->unconfirmed: not at all; the result is only in the store). A learning policy is asked for two thirds of the
 * candidates ahead, and for the rest after a batch has been raced. The result of an earlier search for a problem races too. UNSUPPORTED: the
 * policies "llm" and "hybrid": child processes make the proposals, but these two keep a budget and what they learned in one process.
 *
 * finished is called once for every problem whose search began, in no particular order, with the status of that problem; it returns false to
 * end the list. If the list is shared (options->lessee), one tuner reports each problem, and the call returns when all problems are done; a
 * problem whose status ended the list is left to other tuners. Codes: INTERRUPTED (Ctrl-C, or the budget is used up; the measurements are
 * in the store, and the same call continues from there), NO_COMPILER, and failures that a new worker does not solve. */
typedef bool (*gs_tune_finished)(void *self, int index, gs_status status, const gs_tune_result *result, const gs_error *error);
gs_status gs_tune_list(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problems, int count,
                       const gs_tune_options *options, gs_tune_finished finished, void *self, gs_error *error);

/* Tunes many problems one after the other, each with gs_tune and its share of the budget: the remaining time divided by the remaining problems, times the number of tuners that
 * share the list (1: alone). begins (may be NULL) is called before a problem's search, finished after it; it returns false to end the list. Codes: those of
 * gs_tune_list. */
typedef void (*gs_tune_begins)(void *self, int index);
gs_status gs_tune_singly(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problems, int count, int tuners,
                         const gs_tune_options *options, gs_tune_begins begins, gs_tune_finished finished, void *self, gs_error *error);

/* Tunes the problems of a program, with the number of calls of each: time is spent where it saves most. A problem's search is divided into slices, each with twice as many
 * candidates; the next slice is that of the problem with the largest expected saving for the program per second of search. Before a problem's first slice that is its calls
 * times our predicted lead over cuBLASLt (by the weights or the time model), later it follows from the gains so far. begins: before a problem's first slice; finished: once per
 * problem, when all candidates were tried or the time is up. With options->lessee tuners share the list and continue each other's problems. INTERRUPTED: Ctrl-C, or some
 * problems had no slice; the same call continues. */
gs_status gs_tune_by_worth(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problems, const double *calls, int count,
                           const gs_tune_options *options, gs_tune_begins begins, gs_tune_finished finished, void *self, gs_error *error);

/* Microseconds of a call without the row and with it. Without: cuBLASLt's time in the same measurement; 0 on an emulated device. False: one of them is unknown. */
bool gs_tune_saving(const gs_caps *caps, const gs_row *row, double *plain_us, double *now_us);

/* Writes the fields of a result's JSON. */
void gs_tune_result_put(gs_json *json, const gs_problem *problem, const gs_session *session, const gs_caps *caps, const gs_tune_result *result);

/* Hands out the problems of a list one after the other, also to several tuners. The list, session and options->lessee must not move.
 * next: *index is -1 if other tuners have leased all remaining problems, which are done later, or become free if their tuner ends; do not hold a
 * lease while waiting for that. left: problems that this tuner has not had and that are not known to be done. end: this tuner has finished
 * a problem, or (not done) leaves it to others. */
#define GS_LEASE_S 300.0   /* duration of a lease; the caller must renew it in time with gs_store_renew */
typedef struct gs_work_queue gs_work_queue;
gs_status gs_work_queue_create(gs_work_queue **out, gs_store *store, const gs_session *session, const gs_problem *problems, int count,
                          const gs_tune_options *options, gs_error *error);
gs_status gs_work_queue_next(gs_work_queue *turns, int *index, gs_error *error);
int       gs_work_queue_left(const gs_work_queue *turns);
void      gs_work_queue_end(gs_work_queue *turns, int index, bool done);
void      gs_work_queue_destroy(gs_work_queue **turns);

/* From the store: the schedule found by the last search of this problem on this device with these kernels; else the fastest one that
 * passed; else empty. */
gs_status gs_tune_best_own(gs_store *store, const gs_session *session, const gs_problem *problem, char text[GS_SCHEDULE_TEXT], gs_error *error);

/* The table file to write: $GEMMSMITH_TUNED if it is a file, <slug>.tuned in it if it is a directory, else <slug>.tuned in the user's directory of tables.
 * Plans read all of these. False: no home directory, or path too long. */
bool gs_tune_table_path(char path[GS_PATH], const char *slug);

/* Checks that rows can be written to a table file, before hours of search. Creates nothing. */
gs_status gs_tune_check_table(const char *path, gs_error *error);

/* Records the result of a confirming run of one problem and layout in the store and in a table file (NULL: none): our schedule (us, ratio to the reference; us 0: none
 * passed) or the reference (library_us; suggestion: which of cuBLASLt's suggestions, from 1), whichever is faster. */
typedef struct gs_confirmed {
    gs_schedule schedule;
    double      us;
    gs_ratio    ratio;
    int         rounds, mhz;
    double      library_us;
    int         suggestion;
    bool        alone;       /* cuBLASLt has no correct algorithm: ours is recorded whatever its time; ratio and library_us are ignored */
} gs_confirmed;
gs_status gs_tune_record(gs_store *store, gs_session *session, const gs_caps *caps, const gs_problem *problem, const gs_confirmed *confirmed,
                         const char *tuned_path, gs_row *row, gs_error *error);

/* Estimated seconds that an emulated device needs for the search on this machine, without compilation. */
double gs_tune_seconds(const gs_problem *problem, const gs_tune_options *options);

/* Compiles schedules into the cubin cache with `jobs` child processes (0: all cores); *failed: how many do not compile.
 * A child that crashes loses only its current schedule. cache NULL: the default; "": none, and nothing is done.
 * INTERRUPTED: gs_stop_requested was set, or gs_clock_ns reached `until` (0: no limit). NO_COMPILER. */
gs_status gs_precompile(const gs_caps *caps, const gs_problem *problem, const gs_schedule *list, int count, int jobs, int64_t until,
                        const char *cache, int *failed, gs_error *error);

/* The same with a problem for each schedule; pairs that need the same kernel are compiled once. */
gs_status gs_precompile_pairs(const gs_caps *caps, const gs_problem *problems, const gs_schedule *list, int count, int jobs, int64_t until, const char *cache,
                              int *failed, gs_error *error);

#endif
