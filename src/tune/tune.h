/* SPDX-License-Identifier: MIT
 * Tuning: a policy proposes candidates, the environment (a worker) compiles, verifies and times them, the reward goes back.
 * For a problem: shortlist by the time model -> compile in parallel -> verify -> race (few paired rounds first, more for those
 * still in it) -> confirm the winner in a fresh worker with fresh data -> store -> tuned table. */
#ifndef GS_TUNE_TUNE_H
#define GS_TUNE_TUNE_H

#include "base/json.h"
#include "bench/stats.h"
#include "evaluate/reward.h"
#include "plan/table.h"
#include "policy/llm.h"
#include "policy/policy.h"
#include "store/store.h"
#include "worker/worker.h"

typedef enum gs_tune_stage { GS_TUNE_COMPILE, GS_TUNE_RACE, GS_TUNE_VERIFY, GS_TUNE_CONFIRM, GS_TUNE_OTHERS } gs_tune_stage;

const char *gs_tune_stage_name(gs_tune_stage stage);   /* "compile", "race", "verify", "confirm", "others": waits for other tuners */

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
    int         candidates;            /* most that are measured per problem; 0: 48, gs_tune_list: 16 (emulated device: 8) */
    double      budget_s;              /* for the whole call; 0: none */
    int         jobs;                  /* parallel compiles; 0: all cores */
    uint64_t    seed;
    gs_reward_kind reward;             /* what a policy that learns is told */
    const char *tuned_path;            /* table to write */
    const char *cache_path;            /* cubin cache; NULL: default */
    bool        dependent;             /* launches that allow it are dependent; session->device then ends in GS_DEPENDENT_SUFFIX */
    bool        again;                 /* measure even what the store already has a winner for; the best schedule known races along */
    const gs_found *found;             /* for policies that build on it; NULL: what searches on this device found, also with */
    int         found_count;           /* earlier kernels, as the store knows it */
    const gs_lessee *lessee;           /* gs_tune_list, gs_work_queue: other tuners have the same list; who has a problem's lease works on it */
    int         first;                 /* gs_tune_list, gs_work_queue: where in the list to begin; it goes round */
    bool        unconfirmed;           /* gs_tune_list: stops after the search; no winner, no table */
    const char *learn_path;            /* weights that the policy begins with, if they are there, and what it has learned when a problem
                                          is done; several tuners may share them; NULL: it forgets */
    const gs_llm_options *llm;         /* of the policies "llm" and "hybrid"; NULL: from the environment */
    double      timeout_s;             /* shortest wait for a reply; 0: 60. The time for the problem's size is added. */
    void      (*progress)(void *self, const gs_tune_progress *progress);
    void       *self;
} gs_tune_options;

typedef struct gs_tune_result {
    gs_row  row;                       /* what went into the table; unconfirmed: nothing did */
    bool    confirmed;
    int     proposed, compiled, verified, measured, rejected;
    char    best_own[GS_SCHEDULE_TEXT];/* the fastest of ours, also where the library won; empty if none passed */
    double  best_own_ratio;            /* 0: unconfirmed */
    double  best_own_us;               /* when it was found: only an order of magnitude */
    bool    resumed;                   /* the store already had the winner */
    double  seconds;
    struct {                           /* of these, where the time went; confirming includes the reference's own tuning */
        double compile, race, verify, confirm;
    } spent;
} gs_tune_result;

/* Tunes one problem. The reference is cublaslt-autotuning in the problem's layout; "us" and ratios are device times.
 * INTERRUPTED (Ctrl-C, or the budget ran out before anything was confirmed): what is known is in the store, the table is as it was.
 * A device without cuBLASLt cannot tune: NO_LIBRARY. An emulated device has none and needs none: times are predicted, the ratio is the
 * floor over the time, up to six candidates are verified, and the row says that it is predicted (gs_row_predicted). */
gs_status gs_tune(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                  const gs_tune_options *options, gs_tune_result *result, gs_error *error);

/* Tunes many problems as fast as can be answered for: what the next ones will need is compiled in the background; the candidates of a
 * problem race each other alone, in one narrowing run; the fastest is verified, and only it, unless it fails; then a fresh worker confirms
 * a batch of problems against the reference (options->unconfirmed: nobody does, and only the store knows what was found). A policy that learns
 * is asked for two thirds of the candidates ahead, and for the rest when those of a batch have been raced. What an earlier search found for a
 * problem races along. Children propose, so the policies "llm" and "hybrid" are UNSUPPORTED: a budget and what it was told are of one process.
 *
 * finished is called once for every problem whose search began, in no particular order, with the status of that problem; it returns false to
 * end the list. Where the list is shared (options->lessee), each problem is reported by one tuner, and the call ends when all are done by
 * somebody; a problem whose status ended the list is left to others. The call's status is not OK where nothing more can be done: INTERRUPTED (Ctrl-C, or the budget is used up; what was not
 * confirmed is found again from the store in no time), NO_COMPILER, or what the worker could not get over. */
typedef bool (*gs_tune_finished)(void *self, int index, gs_status status, const gs_tune_result *result, const gs_error *error);
gs_status gs_tune_list(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problems, int count,
                       const gs_tune_options *options, gs_tune_finished finished, void *self, gs_error *error);

/* Tunes many problems one after the other, each with gs_tune and its share of the budget: what is left by how many are left, times the tuners that
 * share the list (1: alone). begins (may be NULL) is called before a problem's search, finished after it; it returns false to end the list. Codes: as of
 * gs_tune_list. */
typedef void (*gs_tune_begins)(void *self, int index);
gs_status gs_tune_singly(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problems, int count, int tuners,
                         const gs_tune_options *options, gs_tune_begins begins, gs_tune_finished finished, void *self, gs_error *error);

/* The fields of a result's JSON. */
void gs_tune_result_put(gs_json *json, const gs_problem *problem, const gs_session *session, const gs_caps *caps, const gs_tune_result *result);

/* The problems of a list one after the other, for whoever goes through one; the list, session and options->lessee must stay where they are.
 * next: *index -1 where all that are left are other tuners' now: later they are done, or free because their tuner ended. Nobody may wait
 * for that with leases of its own. left: how many this tuner neither had nor knows to be done. end: when it is done with one, or, not
 * done, leaves it to others. */
#define GS_LEASE_S 300.0   /* how long a lease lasts; gs_store_renew in time is the caller's */
typedef struct gs_work_queue gs_work_queue;
gs_status gs_work_queue_create(gs_work_queue **out, gs_store *store, const gs_session *session, const gs_problem *problems, int count,
                          const gs_tune_options *options, gs_error *error);
gs_status gs_work_queue_next(gs_work_queue *turns, int *index, gs_error *error);
int       gs_work_queue_left(const gs_work_queue *turns);
void      gs_work_queue_end(gs_work_queue *turns, int index, bool done);
void      gs_work_queue_destroy(gs_work_queue **turns);

/* The schedule that the last search of this problem on this device with these kernels found, as the store knows it; else the fastest
 * that passed. Empty if there is none. */
gs_status gs_tune_best_own(gs_store *store, const gs_session *session, const gs_problem *problem, char text[GS_SCHEDULE_TEXT], gs_error *error);

/* Writes down what a confirming run of one problem and layout said, of an own schedule (candidate, us, ratio to the reference; us 0: none
 * passed) and of the reference (us, which of cuBLASLt's suggestions it kept, from 1): the winner, in the store and in the table of this
 * path (NULL: none). */
typedef struct gs_confirmed {
    gs_schedule schedule;
    double      us;
    gs_ratio    ratio;
    int         rounds, mhz;
    double      library_us;
    int         suggestion;
} gs_confirmed;
gs_status gs_tune_record(gs_store *store, gs_session *session, const gs_caps *caps, const gs_problem *problem, const gs_confirmed *confirmed,
                         const char *tuned_path, gs_row *row, gs_error *error);

/* Seconds that an emulated device will roughly need for that on this machine, beside compilation. */
double gs_tune_seconds(const gs_problem *problem, const gs_tune_options *options);

/* Compiles schedules into the cubin cache with `jobs` child processes (0: all cores); *failed counts those that do not compile.
 * A child that crashes costs its one schedule. cache NULL: the default; "": there is none, nothing is done.
 * INTERRUPTED: gs_stop_requested was set. NO_COMPILER. */
gs_status gs_precompile(const gs_caps *caps, const gs_problem *problem, const gs_schedule *list, int count, int jobs,
                        const char *cache, int *failed, gs_error *error);

/* The same for schedules of a problem each; pairs that need the same kernel are one. */
gs_status gs_precompile_pairs(const gs_caps *caps, const gs_problem *problems, const gs_schedule *list, int count, int jobs, const char *cache,
                              int *failed, gs_error *error);

#endif
