/* SPDX-License-Identifier: MIT
 * Evaluating candidates of one problem: compile, verify, time beside the reference, and what follows from each: a verdict or figures, kept in the
 * store. Who proposes candidates, and which of them race, is the caller's (src/tune); one candidate from its text to its reward is environment.h. */
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

/* Why something is measured; what the store calls it. */
typedef enum gs_stage {
    GS_STAGE_NONE,             /* "" */
    GS_STAGE_SEARCH,           /* "search": in a list, without the reference; the run narrows and outputs are not checked */
    GS_STAGE_RACE,             /* "race" */
    GS_STAGE_FINAL,            /* "final" */
    GS_STAGE_CONFIRM,          /* "confirm" */
    GS_STAGE_EMULATOR          /* "emulator": of a verdict, on the emulated device before the GPU */
} gs_stage;

const char *gs_stage_name(gs_stage stage);

/* How far the evaluation of one candidate came. */
typedef enum gs_step { GS_STEP_NONE, GS_STEP_TEXT, GS_STEP_COMPILE, GS_STEP_EMULATOR, GS_STEP_VERIFY, GS_STEP_TIME } gs_step;

const char *gs_step_name(gs_step step);   /* "", "text", "compile", "emulator", "verify", "time" */

/* Paired samples of a candidate that was timed for an evaluation which has not begun. */
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
    int             part;             /* of the verdict, as its reason */
    char            reason[256];
    int             signal;           /* the verdict is that the worker was lost, ended by this signal; else 0 */
    bool            measured;         /* here or, as the store knows, before */
    bool            compared;         /* the store has a time beside cuBLASLt, which a time alone does not replace */
    bool            doubted;          /* so much faster than what was known that the figures do not count yet */
    bool            emulated;         /* its verdict is of the emulated device before the GPU */
    bool            second;           /* measured a second time for that: these figures count */
    bool            edges_passed;     /* part 5, on the same edge problems, for another problem of the list */
    double          us, library_us;
    gs_ratio        ratio;
    char            untrusted[160];    /* why the predicted time does not count; "": it does */
    int             rounds, mhz;
    gs_samples_ahead       *ahead;            /* where its samples go: its evaluation has not begun, and nothing of it is kept. NULL: it has */
} gs_candidate;

static inline bool gs_candidate_passed(const gs_candidate *c) { return c->verdict == GS_VERDICT_PASS; }
static inline bool gs_candidate_out(const gs_candidate *c) { return gs_verdict_failed(c->verdict); }

typedef struct gs_evaluator_options {
    gs_reward_kind reward;
    bool           dependent;         /* launches that allow it are dependent */
    uint64_t       seed;              /* of the first request; 0: from the operating system */
    const char    *cache_path;        /* cubin cache; NULL: default, "": none */
    double         timeout_s;         /* shortest wait for a reply; 0: 60. The time for the problem's size is added */
    double         budget_s;          /* after that nothing more is begun; 0: none. Whoever wants requests to end by then sets gs_worker.until */
    double         whole_s;           /* of which the budget is a share, for messages; 0: it is no share */
} gs_evaluator_options;               /* all zero: a sensible one */

/* When candidates may be timed without the reference: never; where it does not take the problem, which it says before any candidate has run; also where its result is wrong, which a
 * candidate that runs beside it could bring about. */
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

    double               compile_s;   /* most for a compilation, of a user kernel; 0: the worker's own limit */
    double               limit_s;     /* most for a verification; 0: as the problem's size says */
    uint32_t             parts;       /* of a verification; 0: all */
    bool                 search;      /* one of a list: candidates race without cuBLASLt */
    gs_lack              may_lack;    /* where cuBLASLt is not to be had, candidates are timed without it (gs_evaluator_lacks) */
    bool                 follows;     /* candidates follow each other on the worker: a warm-up is short where the device was busy just before */
    bool                 doubts;      /* a jump over what is known is measured again (gs_evaluator_doubted) */
    double               known_us;    /* the best known time of ours for the problem; 0: none */

    double               library_us;  /* of the last run of the reference */
    int                  suggestion;  /* of cuBLASLt's, which it used then, from 1 */
    char                 lacks[192];  /* why there is no reference; empty: there is one, as far as is known */
    int                  mhz;         /* in that run */
    struct {
        int    verified, measured, rejected;
        double verify_s;              /* seconds in gs_evaluator_prove */
    } counts;
} gs_evaluator;

/* store and session: both or neither. What is pointed to must outlive it; it holds nothing to be freed. options NULL: all zero. */
gs_evaluator gs_evaluator_open(gs_store *store, gs_session *session, gs_worker *worker, const gs_caps *caps, const gs_problem *problem,
                               const gs_evaluator_options *options);

/* RANGE for a problem with an extent of 0, and what gs_problem_check says. */
gs_status gs_evaluator_takes(const gs_problem *problem, const char *what, gs_error *error);

/* As a message says them: a budget that began a moment ago is 5 s and not 4.99999 s. */
double gs_rounded_s(double seconds);

/* Seconds left of the budget, < 0 only where there is none; 0 once it is used up. */
double gs_evaluator_left_s(const gs_evaluator *e);

/* INTERRUPTED if a stop was asked for or the budget is used up. */
gs_status gs_evaluator_check(const gs_evaluator *e, gs_error *error);

/* Whether the problem has turned out to have no reference, because no algorithm of cuBLASLt's computes it right. Times then stand alone: library_us
 * is 0, a candidate's ratio is the floor over its time, and neither is kept. Of a machine on which the reference does not run, the status is returned. */
bool gs_evaluator_lacks(const gs_evaluator *e);

/* Candidates that were compared with the reference before it was lost get the ratio that goes with a time alone, as all others have then. */
void gs_evaluator_uncompare(const gs_evaluator *e, gs_candidate *const *list, int count);

/* The reward of a candidate that has a verdict or figures. */
double gs_evaluator_reward(const gs_evaluator *e, const gs_candidate *candidate);

/* ---- verdicts ---- */

/* Gives a candidate its bad verdict, in the store too. */
gs_status gs_evaluator_reject(gs_evaluator *e, gs_candidate *candidate, gs_verdict_code verdict, int part, const char *reason, gs_error *error);

/* The verdict of a status that the candidate has brought about; one that is about the machine is returned. */
gs_status gs_evaluator_refuse(gs_evaluator *e, gs_candidate *candidate, gs_status status, const gs_error *why, gs_error *error);

/* ---- one request ---- */

/* One interleaved run of the reference, if there is one, and these candidates (0: the reference alone, or the worker's word that it lives), whose figures or verdicts it fills and keeps.
 * In the stage SEARCH the reference is left out, the run narrows, outputs are not checked, and nothing but bad verdicts is kept.
 * WORKER_HUNG, WORKER_DIED, FAULT: one of them took the worker down; nothing is filled. */
gs_status gs_evaluator_bench(gs_evaluator *e, gs_candidate *const *list, int count, int rounds, gs_stage stage, gs_error *error);

/* Gives a candidate the figures of the same one that was timed ahead of its evaluation, in the stage FINAL, and keeps them. */
gs_status gs_evaluator_take_ahead(gs_evaluator *e, gs_candidate *candidate, const gs_candidate *timed, gs_error *error);

/* Compiles one candidate, inspects it where it is a user kernel, and fills its resources, or its verdict. Whatever the worker cannot survive here
 * is the verdict `compile`, if a fresh worker answers. */
gs_status gs_evaluator_prepare(gs_evaluator *e, gs_candidate *candidate, double timeout_s, gs_error *error);

/* Before the device is needed, in a worker of any device: compiles the candidate into the cache, a schedule also for the edge problems of verification (edges). What is wrong with it is its
 * verdict as above, but for what is found when its code is loaded. */
gs_status gs_evaluator_precompile(gs_evaluator *e, gs_candidate *candidate, bool edges, double timeout_s, gs_error *error);

/* Full verification of one candidate, whose verdict it fills and keeps. WORKER_HUNG, WORKER_DIED as above. */
gs_status gs_evaluator_verify(gs_evaluator *e, gs_candidate *candidate, gs_error *error);

/* Keeps the times of all that have some and are not out, as times alone, in one go. */
gs_status gs_evaluator_keep_times(gs_evaluator *e, const gs_candidate *list, int count, gs_error *error);

/* ---- with the blame for a lost worker (group.c) ---- */

/* Verification; a lost worker is the candidate's verdict. */
gs_status gs_evaluator_prove(gs_evaluator *e, gs_candidate *candidate, gs_error *error);

/* Measures a group; a worker that is lost is traced to the candidate by halving. */
gs_status gs_evaluator_group(gs_evaluator *e, gs_candidate *const *list, int count, int rounds, gs_stage stage, gs_error *error);

/* Those of a group whose figures jumped over what was known (doubted) are measured again, in a fresh worker with fresh data; the second figures
 * count, whatever they are. Candidates that take the worker down have their verdict. */
gs_status gs_evaluator_doubted(gs_evaluator *e, gs_candidate *const *list, int count, int rounds, gs_stage stage, gs_error *error);

#endif
