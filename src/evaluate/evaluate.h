/* SPDX-License-Identifier: MIT
 * Evaluating candidates of one problem: compile, verify, time beside the reference. The result, a verdict or figures, is kept in the store. The caller (src/tune) decides who
 * proposes candidates and which of them race; environment.h evaluates one candidate from its text to its reward. */
#ifndef GS_EVALUATE_EVALUATE_H
#define GS_EVALUATE_EVALUATE_H

#include "base/clock.h"
#include "evaluate/reward.h"
#include "schedule/schedule.h"
#include "store/store.h"
#include "verify/verify.h"
#include "worker/worker.h"

#define GS_REFERENCE "cublaslt-autotuning"

enum {
    GS_FINAL_ROUNDS = 31,
    GS_CONFIRM_ROUNDS = 51     /* in a fresh worker */
};

/* Why something is measured, as the store records it. */
typedef enum gs_stage {
    GS_STAGE_NONE,             /* "" */
    GS_STAGE_SEARCH,           /* "search": in a list, without the reference; the run narrows and outputs are not checked */
    GS_STAGE_RACE,             /* "race" */
    GS_STAGE_FINAL,            /* "final" */
    GS_STAGE_CONFIRM,          /* "confirm" */
    GS_STAGE_EMULATOR          /* "emulator": a verdict of the emulated device, before the GPU */
} gs_stage;

const char *gs_stage_name(gs_stage stage);

/* How far the evaluation of one candidate got. */
typedef enum gs_step { GS_STEP_NONE, GS_STEP_TEXT, GS_STEP_COMPILE, GS_STEP_EMULATOR, GS_STEP_VERIFY, GS_STEP_TIME } gs_step;

const char *gs_step_name(gs_step step);   /* "", "text", "compile", "emulator", "verify", "time" */

/* Paired samples of a candidate that was timed before its own evaluation began. */
#define GS_AHEAD_ROUNDS 64
typedef struct gs_samples_ahead {
    int    count;
    double ours[GS_AHEAD_ROUNDS], theirs[GS_AHEAD_ROUNDS];
} gs_samples_ahead;

typedef struct gs_candidate {
    gs_schedule     schedule;
    char            text[GS_SCHEDULE_TEXT];
    const char     *source, *manifest;    /* of a user kernel, whose text is "source:<hash>"; NULL: the schedule */
    double          predicted_us;
    int             registers, smem;
    gs_verdict_code verdict;          /* UNKNOWN: nothing speaks against it yet */
    int             part;             /* of verification, where it failed */
    char            reason[256];
    int             signal;           /* the worker was lost, ended by this signal; else 0 */
    bool            measured;         /* it has figures: measured now, or before according to the store */
    bool            compared;         /* the store has a time beside cuBLASLt, which a time without it must not replace */
    bool            doubted;          /* so much faster than what was known that the figures do not count yet */
    bool            emulated;         /* its verdict is the emulated device's, before the GPU */
    bool            second;           /* measured a second time because it was doubted: these figures count */
    bool            edges_passed;     /* passed part 5 for another problem of the list that has the same edge problems */
    double          us, library_us;
    gs_ratio        ratio;
    char            untrusted[160];    /* why the predicted time does not count; "": it does */
    int             rounds, mhz;
    gs_samples_ahead       *ahead;            /* timed before its evaluation: its samples go here, and nothing is stored. NULL: otherwise */
} gs_candidate;

static inline bool gs_candidate_passed(const gs_candidate *c) { return c->verdict == GS_VERDICT_PASS; }
static inline bool gs_candidate_out(const gs_candidate *c) { return gs_verdict_failed(c->verdict); }

typedef struct gs_evaluator_options {
    gs_reward_kind reward;
    bool           dependent;         /* launches that allow it are dependent */
    uint64_t       seed;              /* of the first request; 0: from the operating system */
    const char    *cache_path;        /* cubin cache; NULL: default, "": none */
    double         timeout_s;         /* shortest wait for a reply; 0: 60. The time for the problem's size is added */
    double         budget_s;          /* after that nothing new is begun; 0: no limit. To end running requests by then too, set gs_worker.until */
    double         whole_s;           /* the whole budget, if budget_s is a share of it, for messages; else 0 */
} gs_evaluator_options;               /* all zero: the defaults */

/* When candidates may be timed without the reference: never; if it refuses the problem, which it does before any candidate has run; also if its result is wrong, which a
 * candidate that runs beside it could cause. */
typedef enum gs_lack { GS_LACK_NEVER, GS_LACK_REFUSED, GS_LACK_WRONG } gs_lack;

/* What evaluates the candidates of one problem. The caller may set the fields of the second part after open. */
typedef struct gs_evaluator {
    gs_store            *store;       /* NULL: nothing is kept */
    gs_session          *session;
    gs_worker           *worker;
    const gs_caps       *caps;
    const gs_problem    *problem;
    gs_evaluator_options options;
    char                 text[GS_PROBLEM_TEXT];
    int64_t              started;     /* gs_clock_ns */
    double               floor_us;
    uint64_t             seed;        /* of the next request */

    double               compile_s;   /* time limit of a user kernel's compilation; 0: the worker's own */
    double               limit_s;     /* time limit of a verification; 0: by the problem's size */
    uint32_t             parts;       /* of a verification; 0: all */
    bool                 search;      /* one of a list: candidates race without cuBLASLt */
    gs_lack              may_lack;    /* when candidates are timed without cuBLASLt (gs_evaluator_lacks) */
    bool                 follows;     /* candidates follow each other on the worker: warm-ups are short if the device was busy just before */
    bool                 doubts;      /* figures that jump over what is known are measured again (gs_evaluator_doubted) */
    double               known_us;    /* the best known time of ours for the problem; 0: none */

    double               library_us;  /* of the last run of the reference */
    int                  suggestion;  /* which of cuBLASLt's it used then, from 1 */
    char                 lacks[192];  /* why there is no reference; empty: there is one, as far as is known */
    int                  mhz;         /* in that run */
    struct {
        int    verified, measured, rejected;
        double verify_s;              /* seconds in gs_evaluator_prove */
    } counts;
} gs_evaluator;

/* store and session: both or neither. Everything is borrowed and must outlive the evaluator; nothing has to be freed. options NULL: all zero. */
gs_evaluator gs_evaluator_open(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                               const gs_evaluator_options *options);

/* RANGE for a problem with an extent of 0; else what gs_problem_check says. what: the verb of the message. */
gs_status gs_evaluator_takes(const gs_problem *problem, const char *what, gs_error *error);

/* Seconds as messages show them: a budget that began a moment ago is 5 s and not 4.99999 s. */
double gs_rounded_s(double seconds);

/* Seconds left of the budget; 0 once it is used up; < 0: there is no budget. */
double gs_evaluator_left_s(const gs_evaluator *e);

/* INTERRUPTED if a stop was asked for or the budget is used up. */
gs_status gs_evaluator_check(const gs_evaluator *e, gs_error *error);

/* Whether the problem has no reference, because no algorithm of cuBLASLt computes it right. Times then stand alone: library_us is 0, a candidate's ratio is the floor over its
 * time, and neither is kept. If the reference cannot run on this machine at all, the calls return that status instead. */
bool gs_evaluator_lacks(const gs_evaluator *e);

/* Candidates that were compared with the reference before it was lost get the ratio of a time alone, as all others have then. */
void gs_evaluator_uncompare(const gs_evaluator *e, gs_candidate *const *list, int count);

/* The reward of a candidate that has a verdict or figures. */
double gs_evaluator_reward(const gs_evaluator *e, const gs_candidate *candidate);

/* ---- verdicts ---- */

/* Gives a candidate a bad verdict, in the store too. */
gs_status gs_evaluator_reject(gs_evaluator *e, gs_candidate *candidate, gs_verdict_code verdict, int part, const char *reason, gs_error *error);

/* Turns a status that the candidate caused into its verdict; a status that is about the machine is returned. */
gs_status gs_evaluator_refuse(gs_evaluator *e, gs_candidate *candidate, gs_status status, const gs_error *why, gs_error *error);

/* ---- one request ---- */

/* One interleaved run of the reference, if there is one, and these candidates (count 0: the reference alone, or a check that the worker lives). Fills and keeps their figures or
 * verdicts. In the stage SEARCH the reference is left out, the run narrows, outputs are not checked, and nothing but bad verdicts is kept. WORKER_HUNG, WORKER_DIED, FAULT: one
 * of them took the worker down; nothing is filled. */
gs_status gs_evaluator_bench(gs_evaluator *e, gs_candidate *const *list, int count, int rounds, gs_stage stage, gs_error *error);

/* Gives a candidate the figures that were measured before its evaluation, in the stage FINAL, and keeps them. */
gs_status gs_evaluator_take_ahead(gs_evaluator *e, gs_candidate *candidate, const gs_candidate *timed, gs_error *error);

/* Compiles one candidate, inspects a user kernel, and fills its resources or its verdict. If the worker does not survive this, but a fresh one answers, the verdict is `compile`. */
gs_status gs_evaluator_prepare(gs_evaluator *e, gs_candidate *candidate, double timeout_s, gs_error *error);

/* Compiles the candidate into the cache before the device is needed, in a worker of any device; a schedule also for the edge problems of verification (edges). Its faults are its
 * verdict as above, except those that are found when its code is loaded. */
gs_status gs_evaluator_precompile(gs_evaluator *e, gs_candidate *candidate, bool edges, double timeout_s, gs_error *error);

/* Full verification of one candidate: fills and keeps its verdict. WORKER_HUNG, WORKER_DIED as above. */
gs_status gs_evaluator_verify(gs_evaluator *e, gs_candidate *candidate, gs_error *error);

/* Keeps the times of all that have some and are not out, as times alone, in one go. */
gs_status gs_evaluator_keep_times(gs_evaluator *e, const gs_candidate *list, int count, gs_error *error);

/* ---- with the blame for a lost worker (group.c) ---- */

/* gs_evaluator_verify; a lost worker becomes the candidate's verdict. */
gs_status gs_evaluator_prove(gs_evaluator *e, gs_candidate *candidate, gs_error *error);

/* Measures a group. If the worker is lost, the group is halved until the candidate that caused it is found. */
gs_status gs_evaluator_group(gs_evaluator *e, gs_candidate *const *list, int count, int rounds, gs_stage stage, gs_error *error);

/* Measures those of a group again whose figures jumped over what was known (doubted), in a fresh worker with fresh data; the second figures count, whatever they are. A candidate
 * that takes the worker down has that as its verdict. */
gs_status gs_evaluator_doubted(gs_evaluator *e, gs_candidate *const *list, int count, int rounds, gs_stage stage, gs_error *error);

#endif
