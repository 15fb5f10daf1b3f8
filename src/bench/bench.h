/* SPDX-License-Identifier: MIT
 * Timing contenders against each other by docs/internals/protocol.md: one process, rotated interleaved rounds, cold operands,
 * normal data, poisoned outputs, timed outputs verified. Two clocks, never mixed:
 * device time (a CUDA graph of n calls between events) and call time (host clock around the same n calls issued and waited for). */
#ifndef GS_BENCH_BENCH_H
#define GS_BENCH_BENCH_H

#include "bench/stats.h"
#include "routing/routing.h"
#include "verify/verify.h"

#define GS_MAX_CONTENDERS 128

typedef enum gs_mode { GS_MODE_OFFLINE, GS_MODE_SERVER } gs_mode;

typedef struct gs_bench_options {
    gs_mode  mode;
    bool     warm;              /* one operand set instead of more than four times the L2 */
    int      rounds;            /* interleaved rounds; server: requests per contender; 0: 30 (server: 200) */
    double   warmup_s;          /* before the first round, all contenders in turn; < 0: 0.05 */
    double   budget_s;          /* stop after this time, at the end of a round, but not before 5 rounds; 0: none */
    double   replay_us;         /* shortest graph replay; 0: 500 */
    double   target_qps;        /* server: mean rate of the exponential gaps; 0: 100 */
    bool     behind;            /* offline: before each call an ordinary element-wise kernel reads and writes A, as the norm or activation before a layer does; its time counts */
    bool     call_time;         /* offline: measure call time too */
    bool     check;             /* check every timed output, and of contenders still in the last round compare one as a whole (default true through gs_bench_defaults) */
    bool     narrow;            /* offline: the slower half is dropped after 2, 4, 8, ... rounds, until 3 are left */
    double   slow;              /* offline: a contender slower than the reference by more than this factor is dropped after 11 rounds; one that was more than 4 times slower
                                   in each of the first 3 rounds is dropped then. If all but the reference are expected to be 4 times slower, the warm-up is a twentieth.
                                   Outputs are checked all the same. 0: none is dropped */
    gs_routing routing;         /* of groups: GS_ROUTING_EVEN or GS_ROUTING_SKEWED; every set has another seed, the same in every run */
    int      reference;         /* index of the contender that ratios refer to */
    uint64_t seed;              /* of data, addresses and choices; 0: from the operating system */
} gs_bench_options;

gs_bench_options gs_bench_defaults(void);

/* One contender's samples. Arrays hold rounds values; owned by the result. */
typedef struct gs_samples {
    int      rounds;            /* that it was timed in: the first so many of the run; all of them unless it was dropped (narrow, slow) */
    double  *device_us;         /* per call */
    double  *call_us;           /* per call; NULL if not measured; server: launch to synchronised */
    double   device_median, call_median, call_p50, call_p95, call_p99;
    gs_ratio device, call;      /* reference time / this time, over the rounds that both were timed in */
    char     untrusted[160];    /* why a predicted time is not to be trusted; "": nothing speaks against it */
    bool     wrong;             /* a timed output failed its check: times do not count */
    gs_compare compare;         /* of the checked output */
    gs_status  status;          /* not GS_OK: could not run; message in `error` */
    gs_error   error;
} gs_samples;

typedef struct gs_measurement {
    bool       predicted;       /* by an emulated device: device_us is no measurement */
    int        count, rounds;
    gs_samples samples[GS_MAX_CONTENDERS];
    int        calls;           /* per graph replay, the same for all; server: 1 */
    int        sets;            /* operand sets rotated through */
    gs_clocks  before, after;
    double     seconds;         /* spent */
} gs_measurement;

/* Contenders must be prepared, one per entry; problems[i] is contender i's problem: the same extents, types and scalars, each
 * with its own layout and leading dimensions. All read the same matrices. Timing of a failing contender stops, the others go on.
 * The verifier is one of the same device. FAULT: the device is lost.
 * On an emulated device times are predicted: one round of one call on one set of operands, without warm-up and call time; a fault is
 * its contender's failure. UNSUPPORTED there: server mode. */
gs_status gs_bench(gs_device *device, gs_verifier *verifier, const gs_problem *problems, gs_contender *contenders, int count,
                   const gs_bench_options *options, gs_measurement **out, gs_error *error);
void      gs_measurement_destroy(gs_measurement **measurement);

/* Times suggestions of cuBLASLt, for gs_baseline_create. us[i]: microseconds of a call; INFINITY: it failed or its output was wrong. */
gs_status gs_bench_pick(gs_device *device, const gs_problem *problem, gs_contender *list, int count, double *us, gs_error *error);

#endif
