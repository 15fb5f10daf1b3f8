/* SPDX-License-Identifier: MIT
 * Inside src/bench: operand sets, one measuring run, and the pure arithmetic behind both. */
#ifndef GS_BENCH_INTERNAL_H
#define GS_BENCH_INTERNAL_H

#include "base/random.h"
#include "bench/bench.h"
#include "operands/operands.h"

#define GS_BENCH_CALLS     2000          /* most calls of a graph */
#define GS_BENCH_SETS      GS_OPERAND_SETS   /* no graph could use more */
#define GS_BENCH_ROUNDS    5             /* fewest, whatever the budget */
#define GS_BENCH_LEFT      3             /* how many a narrowing run keeps to its end */
#define GS_BENCH_AGAIN     3             /* launches on the same data after the last round */
#define GS_BENCH_TOLERANCE 4.0           /* of the check of timed outputs: it looks for wrong results, gs_verify judges rounding */

/* ---- arithmetic (arithmetic.c) ---- */

/* Calls so that calls * us >= replay_us, 1 to GS_BENCH_CALLS. */
int gs_bench_calls(double us, double replay_us);

/* Contender at a place of a round: A B C, then B C A, then C A B, ... */
int gs_bench_turn(int round, int place, int count);

/* How many of so many contenders a narrowing run keeps after that many rounds. */
int gs_bench_keep(int rounds, int count);

/* An exponential gap of this mean. */
double gs_bench_gap(gs_random *random, double mean);

void gs_bench_shuffle(gs_random *random, int *list, int count);

/* ---- operand sets (buffers.c) ---- */

/* One operand in one form (layout, leading dimension), in all sets. Sets lie in one allocation, placed as in verification, so that no contender can predict the next set's
 * address or tell that it is timed. */
typedef struct gs_operand {
    char        name;             /* a letter of GS_OPERAND_LETTERS */
    gs_problem  problem;          /* whose form it has */
    size_t      bytes;            /* of one set */
    gs_pointer  memory;
    size_t      size;             /* bytes of memory, a multiple of 8 */
    gs_pointer *at;               /* address per set */
} gs_operand;

typedef struct gs_sets {
    int         count;
    int         operand_count;
    gs_operand *operands;
    int       (*use)[GS_OPERANDS]; /* per contender: which of the operands are its own, in the order of GS_OPERAND_LETTERS; -1: it has none */
    size_t      used_bytes;       /* per call, of the contender that touches least */
    uint64_t    seed;             /* of the data */
    gs_routing  routing;          /* of groups */
    uint64_t    hash;             /* of A, B and C of all sets, as they were generated */
    gs_pointer *tables;           /* per contender: gs_timed_operands of each set, in device memory */
    gs_pointer *pointers;         /* per contender, of a batch by pointers: gs_pool_pointers of each set, in device memory; NULL: none */
    size_t      pointers_size;    /* of one set */
    int         pointers_count;   /* contenders */
    const gs_problem *problems;   /* per contender; borrowed */
    gs_pointer  scalars;          /* alpha and beta, if they are in device memory; else 0 */
    gs_pointer  counters;         /* 64-bit numbers in device memory: two for each contender (gs_timed_check), a hash */
} gs_sets;

/* Allocates as many sets as the L2 requires and a replay of `calls` calls uses, but at most `most`, and fills A, B and C with normal numbers, set by set from seeds of *random;
 * C, where nothing reads it, with what verification puts there. pointers: problems are gs_problem_pool of batches by pointers. spare: bytes of device memory to leave for others. */
gs_status gs_sets_create(gs_sets *sets, gs_device *device, gs_verifier *verifier, const gs_problem *problems, int count, bool pointers, int calls, int most, bool warm,
                         gs_routing routing, size_t spare, gs_random *random, gs_queue queue, gs_error *error);
void      gs_sets_destroy(gs_sets *sets, gs_device *device, int contenders);

/* The addresses of a contender's operands; the same with arrays of pointers, as a launch gets them. */
gs_args   gs_sets_args(const gs_sets *sets, int contender, int set);
gs_args   gs_sets_launch_args(const gs_sets *sets, int contender, int set);

/* Tells a contender that has gs_contender.expect the arguments of all sets and the offsets of their groups. */
gs_status gs_sets_tell(const gs_sets *sets, gs_device *device, const gs_problem *problem, gs_contender *contender, int index, gs_error *error);

/* Fills all inputs again with the same data. */
gs_status gs_sets_generate(const gs_sets *sets, gs_device *device, gs_verifier *verifier, gs_queue queue, gs_error *error);

/* Overwrites the outputs of all sets of a contender, and the memory around them, with a poison of verification. */
gs_status gs_sets_poison(const gs_sets *sets, gs_device *device, int contender, uint32_t poison, gs_queue queue, gs_error *error);

/* gs_timed_check of a contender's sets first to first + count - 1, after gs_sets_poison. */
gs_status gs_sets_look(const gs_sets *sets, gs_verifier *verifier, const gs_problem *problem, double tolerance, int contender, int first, int count, uint32_t poison, uint64_t seed,
                       gs_queue queue, gs_error *error);

/* A hash of a contender's outputs in one set, with the padding between their rows. Waits. */
gs_status gs_sets_hash_outputs(const gs_sets *sets, gs_device *device, gs_verifier *verifier, int contenders, int contender, int set, uint64_t *out, gs_queue queue, gs_error *error);

/* The two counts of gs_sets_look for a contender so far (see gs_timed_check). Waits. */
gs_status gs_sets_found(const gs_sets *sets, gs_device *device, int contender, uint64_t found[2], gs_queue queue, gs_error *error);

/* Whether all inputs are unchanged. Waits. */
gs_status gs_sets_intact(const gs_sets *sets, gs_device *device, gs_verifier *verifier, int contenders, bool *intact, gs_queue queue, gs_error *error);

/* ---- a run ---- */

typedef struct gs_bench_run {
    gs_device        *device;
    gs_verifier      *verifier;
    const gs_problem *problems;   /* as they lie in memory: gs_problem_pool */
    bool              pointers;   /* contenders get arrays of pointers */
    gs_contender     *contenders;
    int               count;
    gs_bench_options  options;    /* defaults are filled in */
    gs_random         random;
    gs_sets           sets;
    gs_queue          queue;
    gs_event          start, end;
    gs_graph         *graphs;     /* per contender; NULL: none */
    int               captured[GS_MAX_CONTENDERS];   /* calls of that graph */
    bool              left[GS_MAX_CONTENDERS];   /* dropped: the run goes on without it */
    int               calls;      /* per replay; slow contenders have fewer: gs_bench_run_calls */
    double            us[GS_MAX_CONTENDERS];     /* a first estimate of a call; 0: none yet */
    uint64_t          right[GS_MAX_CONTENDERS];  /* gs_sets_hash_outputs of the checked set, once that was compared and is right */
    gs_pointer        scratch;    /* written before every timed stretch of a cold run: see gs_bench_run_lead_in */
    size_t            scratch_bytes;
    gs_pointer        reference;  /* f64 result of the checked set, hidden by gs_veil while contenders run; 0: there is none yet, or nothing is checked */
    size_t            reference_bytes;
    uint64_t          key;        /* of the veil: another one each time */
    int               checked;    /* the set that is checked */
    int64_t           began_ns;
    gs_measurement   *out;
} gs_bench_run;

static inline bool gs_bench_run_alive(const gs_bench_run *run, int contender)
{
    return run->out->samples[contender].status == GS_OK && !run->left[contender];
}

/* Calls per replay of a contender: the same for all, but fewer for one whose replay would take more than SLOW times the requested length. */
int gs_bench_run_calls(const gs_bench_run *run, int contender);

/* Records the failure of a contender; the others go on. A lost device ends the run (then *error is filled and the status returned). */
gs_status gs_bench_run_blame(gs_bench_run *run, int contender, gs_status status, const gs_error *found, gs_error *error);

/* Puts work on the queue ahead of what is timed, so that the host has issued all of that before the device gets to it. Cold: overwrites four times the L2. Warm: one replay. */
gs_status gs_bench_run_lead_in(gs_bench_run *run, int contender, gs_error *error);

/* Chooses the set to be checked among the first `sets` and computes its reference, before the timing, because it is slow, and hides it. */
gs_status gs_bench_run_reference(gs_bench_run *run, int sets, gs_error *error);

/* Compares a contender's outputs of the checked set, which were poisoned before the launch, with the reference, and records the result. The reference can be read only while
 * nothing else runs. */
gs_status gs_bench_run_compare(gs_bench_run *run, int contender, gs_error *error);

/* Runs the contender once more on the checked set, with only its outputs poisoned, as in the last round. If they differ from those that were right, compares them as above. */
gs_status gs_bench_run_repeat(gs_bench_run *run, int contender, gs_error *error);

/* Before and after everything timed in a round: poison outputs and workspace, as verification does; check every output. They do nothing on an emulated device, whose one call is
 * compared as a whole, nor in a run without checks. first, count: the sets that were used. */
gs_status gs_bench_run_poison(gs_bench_run *run, int contender, int round, gs_error *error);
gs_status gs_bench_run_look(gs_bench_run *run, int contender, int round, int first, int count, gs_error *error);

/* If inputs have changed, runs each contender again to find who changes them, and marks it as wrong; if none does it again, all are wrong. Restores the inputs. */
gs_status gs_bench_run_inputs(gs_bench_run *run, gs_error *error);

bool gs_bench_run_last(const gs_bench_run *run, int round);   /* by count, or because the budget is spent */

gs_status gs_bench_offline(gs_bench_run *run, gs_error *error);
gs_status gs_bench_server(gs_bench_run *run, gs_error *error);

#endif
