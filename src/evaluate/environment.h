/* SPDX-License-Identifier: MIT
 * The environment of reinforcement learning as one call: candidate in, verdict and reward out. A candidate is a schedule of the grammar
 * or a kernel that somebody else wrote, with its launch manifest. It is compiled (a user kernel is inspected), verified, timed in paired rounds
 * against auto-tuned cuBLASLt (an emulated device predicts instead), and where it must be, measured once more in a fresh worker with fresh data.
 * Time limits and verdicts are those of a search (evaluate.h); docs/internals/environment.md has the rules and the rewards.
 *
 *     gs_environment *environment;
 *     gs_environment_create(&environment, &worker, &caps, NULL, NULL, &(gs_environment_options){.reward = GS_REWARD_MILESTONES}, &error);
 *     gs_evaluation got;
 *     gs_evaluate(environment, &problem, &(gs_submission){.schedule = "ws/128x256x64/s4/c2x1/coop/g8"}, &got, &error);
 *     printf("%s %.3f\n", gs_verdict_word(got.verdict), got.reward);
 *
 * Whatever a candidate does is a verdict and GS_OK: texts that cannot be read, kernels that hang, fault or take the worker down. Any other status is
 * about the machine, and says nothing of the candidate. An environment belongs to one thread; one per worker, and a worker per device. */
#ifndef GS_EVALUATE_ENVIRONMENT_H
#define GS_EVALUATE_ENVIRONMENT_H

#include "base/json.h"
#include "evaluate/evaluate.h"
#include "loaded/contender.h"

typedef struct gs_environment_options {
    gs_reward_kind reward;
    bool           confirm;       /* every candidate that passes is measured again in a fresh worker; the second figures count */
    int            rounds;        /* paired rounds of the first timing; 0: 31. The second has 51 */
    bool           dependent;     /* launches that allow it are dependent */
    uint64_t       seed;          /* of the data; 0: from the operating system. Every request has its own */
    const char    *cache_path;    /* cubin cache; NULL: default, "": none. Must outlive the environment */
    double         compile_s;     /* time limit of one compilation; 0: 60 */
    gs_worker     *emulator;      /* borrowed, of an emulated device (gs_emulation_device): user kernels run there first. NULL: none; an emulated device needs none */
    double         emulator_s;    /* time limit of that; 0: 60 */
    bool           without_metrics;   /* the caller collects metrics itself (worker/metrics.h) */
    double         timeout_s;     /* shortest wait for a verification or a timing; 0: 60. The time for the problem's size is added */
} gs_environment_options;         /* all zero: the defaults */

/* What gs_evaluate_prepare has done for a candidate before its device is needed. */
typedef struct gs_preparation {
    bool   done;
    char   note[160];             /* as in gs_evaluation */
    double compile_s, emulator_s;
} gs_preparation;

#define GS_BESIDE 15   /* most schedules that are timed beside another one */

/* Either schedule, or source and manifest. Texts end with '\0' and are the caller's. */
typedef struct gs_submission {
    const char *schedule;         /* "ws/128x256x64/..." */
    const char *source;           /* CUDA C, as kernel/manifest.h says: entries with C linkage that take a gs_kernel_args by value */
    const char *manifest;         /* "manifest 1 ..." */
    const gs_preparation *prepared;   /* from gs_evaluate_prepare: it has run on the emulated device already; NULL: it has not */
    /* Schedules that will be evaluated next for the same problem. A GPU times them in the same rounds as this one, against the same cuBLASLt, and their own evaluations take
     * these figures: a third of the time. At most GS_BESIDE count. */
    const char *const *beside;
    int         besides;
} gs_submission;

typedef struct gs_evaluation {
    char        candidate[GS_CONTENDER_NAME];   /* its name in the store: the canonical schedule or "source:<hash of both texts>"; "": it has none */
    gs_verdict_code verdict;      /* UNKNOWN: there is none */
    int         part;             /* 1 to 8: the part of verification that failed; 0: none */
    gs_step     step;             /* where it ended */
    char        reason[256];      /* one line for a person */
    int         signal;           /* the worker was lost, ended by this signal; else 0 */
    char        note[160];        /* why the emulated device gave no result before; "": it did, or there is none */
    double      reward;           /* [-1, 1], of the environment's kind; -1 unless the verdict is PASS */
    /* 0 where it was not timed, or the verdict is about the timing */
    double      us, library_us;   /* device time, microseconds, cold operands; library_us 0 where us is predicted */
    gs_ratio    ratio;            /* library_us / us, by rounds, with its 95 % interval; of a predicted time floor_us / us, without one */
    double      first_us;         /* of the first measurement, if there was a second */
    double      floor_us;         /* time that the device needs at least */
    int         bytes;            /* of the source of a user kernel; 0: a schedule */
    double      l2_hit;           /* gs_l2_hit; -1: not known, as for user kernels */
    int         rounds, mhz;
    int         registers, smem;  /* per thread; bytes per block; 0 where it was not compiled */
    bool        predicted;        /* by an emulated device */
    char        untrusted[160];   /* why the predicted time does not count, and is in untrusted_us in place of us; "": it counts */
    double      untrusted_us;
    char        metrics[2048];    /* lines "name value" (worker/metrics.h); "": there are none */
    bool        metrics_lost;     /* the worker was lost, and its metrics with it */
    bool        jumped;           /* faster than the best known by GS_JUMP, and so measured again */
    bool        second;           /* measured again: the second figures are here */
    bool        agreed;           /* the two measurements agree */
    struct {                      /* seconds of the caller's time, starts of workers included */
        double compile, emulator, verify, time, second, all;
    } spent;
} gs_evaluation;

typedef struct gs_environment gs_environment;

/* worker, caps (from gs_worker_hello) and the strings of options are borrowed and must outlive it. store, session: where trials are kept and the best
 * known times come from, both or neither; without, only what this environment has seen is known. options NULL: all zero.
 * Codes: ARGUMENT, MEMORY. */
gs_status gs_environment_create(gs_environment **out, gs_worker *worker, const gs_caps *caps, gs_store *store, gs_session *session,
                                const gs_environment_options *options, gs_error *error);
void      gs_environment_destroy(gs_environment **environment);   /* the worker goes on, and stays the caller's */

/* Evaluates one candidate. *out is filled whatever is returned, with the verdict UNKNOWN where there is none. Codes: what gs_problem_check says of the problem;
 * RANGE for an empty one; ARGUMENT for a submission that is neither; INTERRUPTED (gs_stop_requested); NO_LIBRARY, NO_COMPILER, MEMORY, the store's; of a
 * worker that cannot even be started, or cannot run the library alone any more, WORKER_DIED or WORKER_HUNG. The next call starts a fresh worker. */
gs_status gs_evaluate(gs_environment *environment, const gs_problem *problem, const gs_submission *submission, gs_evaluation *out, gs_error *error);

/* The part of an evaluation that needs no device, so that many can run at once while it is busy: reading the text, the run on the emulated device, and the compilation into the
 * cache, where the device's worker finds the code. The environment's worker is of options.emulator's device or of any; its caps are those of the device that is meant; if that is
 * emulated itself, the worker is of the same one. out has a verdict, kept as gs_evaluate keeps it, or UNKNOWN: then call gs_evaluate with *prepared, in the environment of the
 * device. Codes: as gs_evaluate. */
gs_status gs_evaluate_prepare(gs_environment *environment, const gs_problem *problem, const gs_submission *submission, gs_evaluation *out, gs_preparation *prepared, gs_error *error);

/* ---- many schedules of one problem (race.c) ---- */

/* Compiles one schedule of a race into the cache, as above. Its faults are found again in the race, and reported there. */
gs_status gs_evaluate_race_prepare(gs_environment *environment, const gs_problem *problem, const char *schedule, gs_error *error);

/* Times all schedules against each other and cuBLASLt in groups, few rounds for all and more for the fastest, as a search races its candidates; nothing is verified except what
 * timing checks. alone: without cuBLASLt, whose tuning takes longer than a race of few; ratios are then to the floor, and nothing is kept. out: one for each, in their order: the
 * verdict UNKNOWN and times, or what is wrong with it. Codes: as gs_evaluate. */
gs_status gs_evaluate_race(gs_environment *environment, const gs_problem *problem, const char *const *schedules, int count, bool alone, gs_evaluation *out, gs_error *error);

/* Writes the evaluation as fields of the open JSON object, as score, serve and the author print it (evaluation_json.c). */
void gs_evaluation_put(gs_json *json, const char *problem, const gs_evaluation *got);

/* Writes the fields metrics (an object of numbers, or null) and metrics_note (what they are of, or why there are none) alone (metrics.c). */
void gs_evaluation_put_metrics(gs_json *json, const gs_evaluation *got);

/* "source:<hash>" of a user kernel. */
char *gs_submission_name(const char *source, const char *manifest, char name[GS_CONTENDER_NAME]);

/* The best known time of a problem: of what has passed in the store, with this program's kernels on this device, or in this environment. 0: none. */
gs_status gs_environment_known(const gs_environment *environment, const gs_problem *problem, double *us, gs_error *error);

#endif
