/* SPDX-License-Identifier: MIT
 * Part 8, for batch-invariant problems: rows of a small pool are multiplied in matrices of several M and in several orders, so that each row stands at many places and beside
 * many others. Everywhere its row of D must have the same bits. Whether these are right is tested by parts 1 to 7. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "routing/routing.h"
#include "verify/ties.h"

enum {
    POOL = 67,               /* a prime, so that every step visits all rows; rows of one tile are scattered in the next launch */
    MOST_SEEN = 1 << 20,     /* rows whose hash is kept, of all matrices together */
    MOST_DRAWN = 530,        /* most rows of a random size */
    MOST_MATRICES = 4096,    /* matrices of a batch whose rows are compared */
    CHUNK = 1 << 20          /* bytes of D that are read at once, at least a row */
};

static const int sizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 32, 64, POOL, 128, 130};   /* besides the requested M, which comes first and last */
static const int round_sizes[] = {3, 4, 6, 12, 24, 40, 48, 80, 96, 112, 192, 256};

enum { DRAWN = 4, FIXED = GS_COUNT(sizes) };   /* random sizes follow */
enum { FEW = 1 + FIXED + DRAWN, SOME, ONE };    /* then turns with padded rows: a few rows, and more, padded unevenly; one row; last, the requested M */

enum { CANCELLING = ONE + 2, PLAIN = 4 };   /* launches per kind of data */
enum { ENOUGH_TIES = 32, MOST_ROUNDS = 4 };           /* rounds of plain data are repeated while there are few ties */

/* Where a row was seen first, and its bits there. */
typedef struct seen {
    uint64_t hash;
    int64_t  m, row;         /* m 0: not seen yet */
} seen;

typedef struct watcher {
    gs_check_run *trial;
    gs_pool_rows  rows;
    bool          plain;     /* normal data as in timing; else data whose sums cancel, which show the order best */
    bool          many_bits; /* plain data have scalars of many bits */
    seen         *of[2];     /* of D and of aux: rows.pool rows for each matrix of B */
    gs_ties       ties;      /* of plain data, found before their first launch */
    /* Ties were looked for. Once only: all launches have the same B, and a smaller matrix may have ties where the first one was too large for any. */
    bool          looked;
    int64_t       matrices;
    char         *chunk;
    size_t        room;
} watcher;

static gs_problem with_m(const gs_problem *problem, int64_t m)
{
    const int64_t groups = problem->grouping == GS_GROUPS_MASKED ? problem->groups : 1;
    return gs_problem_resized(problem, (m + groups - 1) / groups * groups, problem->n, problem->k);
}

/* A random size. which 0: a round number, for which a kernel may have its own code; 1: any up to 128; 2: from `least` to MOST_DRAWN; 3: whole tiles of 64. */
static int64_t drawn_size(uint64_t bits, int which, int64_t least)
{
    if (which == 0) return round_sizes[gs_pick_below(bits, GS_COUNT(round_sizes))];
    if (which == 3) return 64 * (4 + gs_pick_below(bits, 5));
    return which == 1 ? 2 + gs_pick_below(bits, 127) : least + gs_pick_below(bits, MOST_DRAWN + 1 - least);
}

enum { AS_ASKED, ANY_EIGHTS, LONGEST, UNEVEN, SOME_UNEVEN, PACKED };   /* how far apart the rows of a turn lie */

/* Elements of padding behind a row. UNEVEN, or of some operands: no multiple of 8, so that neither tensor copies nor copies of 16 bytes apply; else a multiple of 8, for LONGEST as if two more
 * matrices lay beside this one. */
static int64_t more_of_row(int64_t row, int how, uint64_t bits)
{
    static const int uneven[] = {1, 2, 3, 5, 6, 7};
    const int64_t whole = (row + 7) / 8 * 8, eights[] = {2 * whole + 8, whole, 8, 16, 24, 64};
    return how == UNEVEN || how == SOME_UNEVEN ? uneven[gs_pick_below(bits, GS_COUNT(uneven))] : eights[how == LONGEST ? 0 : gs_pick_below(bits, GS_COUNT(eights))];
}

/* With other leading dimensions, each operand's by another amount: bits must not depend on these either. */
static gs_problem with_rows(const gs_problem *problem, int how, uint64_t bits)
{
    gs_problem other = *problem;
    int64_t *const ld[] = {&other.lda, &other.ldb, &other.ldc, &other.ldd, &other.ldaux};
    int64_t *const stride[] = {&other.stride_a, &other.stride_b, &other.stride_c, &other.stride_d, &other.stride_aux};
    if (how == AS_ASKED || problem->grouping == GS_GROUPS_K) return other;
    for (int i = 0; i < (gs_has_aux(problem) ? 5 : 4); i++) {
        const gs_shape s = gs_shape_of(problem, "abcdg"[i]);
        const uint64_t own = gs_mix(bits + (uint64_t)i);
        *ld[i] = how == PACKED ? GS_MAX(s.row, 1) : how == SOME_UNEVEN && own >> 32 & 1 ? s.ld : s.ld + more_of_row(s.row, how, own);
        gs_resize_stride(problem, &s, &s, ld[i], stride[i]);
    }
    return other;
}

/* With scalars of many bits, the same in every launch: roundings must not depend on the row either, and an alpha of 1 hides some of them. */
static gs_problem with_many_bits(const gs_problem *problem, uint64_t seed)
{
    gs_problem other = *problem;
    const uint64_t bits = gs_mix(seed + 0x983e5152u);
    other.alpha = gs_scalar_of_many_bits(bits);
    if (problem->beta != 0) other.beta = gs_scalar_of_many_bits(bits >> 20);
    return other;
}

/* The problem of a turn: the requested M first and last, other sizes between. */
static gs_problem problem_of_turn(const gs_problem *asked, uint64_t seed, int turn)
{
    const gs_problem other_scalars = with_many_bits(asked, seed), *const problem = &other_scalars;
    const int other = turn - 1 - FIXED;
    const uint64_t bits = gs_mix(seed + 0x9b05688cu + (uint64_t)other);
    if (turn == 0) return *problem;
    if (other < 0) return with_m(problem, sizes[turn - 1]);
    const gs_problem drawn = turn == CANCELLING - 1 ? *problem : with_m(problem, turn == FEW ? 1 + gs_pick_below(bits, 32) : turn == SOME ? 33 + gs_pick_below(bits, 98) : turn == ONE ? 1 : drawn_size(bits, other, MOST_DRAWN - 200));
    static const int drawn_hows[DRAWN] = {AS_ASKED, ANY_EIGHTS, PACKED, SOME_UNEVEN};   /* of the drawn sizes, by the seed: each may lie so */
    const int how = turn == FEW || turn == SOME ? UNEVEN : turn == ONE ? LONGEST : turn == CANCELLING - 1 ? ANY_EIGHTS : drawn_hows[(other + (int)(gs_mix(seed + 0x428a2f98u) % DRAWN)) % DRAWN];
    return with_rows(&drawn, how, bits);
}

/* The matrix of B that a row (counted through all matrices) is multiplied by; -1: none. */
static int64_t matrix_of(const gs_check_run *trial, int64_t row)
{
    const gs_problem *const p = &trial->problem;
    if (!trial->offsets) return row / p->m;
    const int64_t group = gs_group_of_row(p, trial->offsets, row);
    const gs_group_rows of = group < 0 || group >= p->groups ? (gs_group_rows){0, 0, 0} : gs_rows_of_group(p, trial->offsets, group);
    return row >= of.first && row < of.first + of.rows ? group : -1;
}

static void blame(gs_check_run *trial, char output, const seen *before, int64_t row)
{
    trial->verdict->row = row;
    gs_check_run_blame(trial, GS_VERDICT_INVARIANT, 8, "row %lld of %s, M %lld, has other bits than row %lld with M %lld, where the same row of A stood: the order of additions depends on M or on "
                       "the rows beside it", (long long)row, output == 'd' ? "D" : "aux", (long long)trial->asked.m, (long long)before->row, (long long)before->m);
}

/* Compares `count` rows of the batch, from row `first` on, whose elements are at w->chunk, with those seen before. */
static void look_at(watcher *w, char output, int64_t first, int64_t count, size_t stride, size_t bytes)
{
    gs_check_run *const trial = w->trial;
    const gs_problem *const p = &trial->problem;
    for (int64_t row = first; row < first + count && !gs_check_run_failed(trial); row++) {
        const int64_t matrix = matrix_of(trial, row), in_matrix = p->groups ? row : row % p->m;
        if (matrix < 0 || matrix >= w->matrices) continue;
        const int64_t in_pool = gs_pool_row(&w->rows, in_matrix);
        if (!w->plain && (gs_row_is_odd(GS_ROW_NAN, POOL, in_pool) || gs_row_is_odd(GS_ROW_INF, POOL, in_pool))) continue;   /* which NaN they give is not specified */
        seen *const before = &w->of[output != 'd'][matrix * w->rows.pool + in_pool];
        const uint64_t hash = gs_hash64(w->chunk + (size_t)(row - first) * stride, bytes);
        if (before->m == 0) *before = (seen){hash, p->m, row};
        else if (before->hash != hash) blame(trial, output, before, row);
    }
}

/* Reads and compares all rows of D or of aux, some at a time. */
static gs_status look_through(watcher *w, char output, gs_error *error)
{
    gs_device *const device = w->trial->verifier->device;
    const gs_problem *const p = &w->trial->problem;
    const gs_shape s = gs_shape_of(p, output);
    const size_t size = gs_type_size(s.type), stride = (size_t)s.ld * size, bytes = (size_t)s.row * size;
    const int64_t most = GS_MAX(CHUNK / (int64_t)stride, 1), rows = GS_MIN(s.matrices, w->matrices) * p->m;
    if (stride * (size_t)most > w->room) {
        char *const larger = realloc(w->chunk, stride * (size_t)most);
        if (!larger) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for rows of D");
        w->chunk = larger;
        w->room = stride * (size_t)most;
    }
    for (int64_t row = 0, count; row < rows && !gs_check_run_failed(w->trial); row += count) {
        count = GS_MIN(GS_MIN(most, rows - row), p->m - row % p->m);   /* within one matrix */
        const gs_pointer at = w->trial->operand[output - 'a'].at + (gs_pointer)(row / p->m * s.stride + row % p->m * s.ld) * size;
        GS_TRY(device->ops->copy_out(device, w->chunk, at, (size_t)(count - 1) * stride + bytes, error));
        look_at(w, output, row, count, stride, bytes);
    }
    return GS_OK;
}

/* One launch with w->rows; counted in *taken unless the contender refuses the size. in_place: C and D are the same matrix, where they may be. */
static gs_status try_size(watcher *w, const gs_problem *p, bool least, bool in_place, int *taken, gs_error *error)
{
    gs_check_run *const trial = w->trial;
    GS_TRY(gs_check_run_prepare(trial, p, error));
    gs_status status = GS_OK;
    if (!gs_check_run_failed(trial)) {
        status = gs_check_run_alloc(trial, false, least, error);
        if (status == GS_OK) status = gs_check_run_rows(trial, w->plain ? GS_VALUES_NORMAL : GS_VALUES_WIDE, &w->rows, error);
        if (status == GS_OK && w->plain && !w->looked) status = gs_ties_find(trial, w->matrices, &w->ties, error);
        w->looked = true;
        if (status == GS_OK && w->plain) status = gs_ties_put(trial, &w->ties, &w->rows, error);
        trial->in_place = in_place && trial->once && gs_check_run_may_be_in_place(trial) && gs_check_run_is_aligned_in_place(trial);
        if (status == GS_OK) status = gs_check_run_launch(trial, false, error);
        trial->in_place = false;
        if (status == GS_OK && !gs_check_run_failed(trial)) status = look_through(w, 'd', error);
        if (status == GS_OK && !gs_check_run_failed(trial) && p->aux) status = look_through(w, 'g', error);
        gs_check_run_free(trial);
    }
    GS_TRY(status);
    const bool refused = trial->verdict->code == GS_VERDICT_UNSUPPORTED || trial->verdict->code == GS_VERDICT_LAUNCH;
    if (refused) *trial->verdict = (gs_verdict){.code = GS_VERDICT_PASS, .row = -1, .col = -1};
    else ++*taken;
    return GS_OK;
}

/* The problem of a turn with plain data: the requested M first and last, between them one with fewer rows, if possible, and one with 131 to MOST_DRAWN rows. */
static gs_problem plain_problem_of_turn(const gs_problem *problem, uint64_t seed, int turn)
{
    const uint64_t bits = gs_mix(seed + 0x3956c25bu + (uint64_t)turn);
    if (turn == 1) return with_m(problem, 1 + gs_pick_below(bits, GS_MAX(GS_MIN(problem->m, 128) - 1, 1)));
    return turn == 2 ? with_m(problem, drawn_size(bits, 2, 131)) : *problem;
}

/* The smallest prime that is at least `number`: every step through a prime number of rows visits all of them. */
static int64_t prime_from(int64_t number)
{
    for (int64_t divisor = 2; divisor * divisor <= number; divisor++)
        if (number % divisor == 0) number++, divisor = 1;
    return number;
}

/* All launches of one kind of data. Each kind has its own B, and so its own record of rows. Plain data cannot be told from timing's: no row occurs twice, and B is nothing
 * special. */
static gs_status rows_of_kind(watcher *w, const gs_problem *problem, int *taken, gs_error *error)
{
    const uint64_t seed = w->trial->seed;
    const int64_t matrices = problem->groups ? problem->groups : problem->batch, pool = w->plain ? prime_from(GS_MAX(problem->m, plain_problem_of_turn(problem, seed, 2).m)) : POOL;
    w->matrices = GS_MIN(GS_MIN(matrices, MOST_MATRICES), GS_MAX(MOST_SEEN / pool, 1));
    for (int i = 0; i < 2; i++)
        if ((w->of[i] = calloc((size_t)(w->matrices * pool), sizeof *w->of[i])) == NULL) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for rows that were seen");
    const gs_problem many = with_many_bits(problem, seed), *const plain = w->many_bits ? &many : problem;
    for (int turn = 0; turn < (w->plain ? PLAIN : CANCELLING) && !gs_check_run_failed(w->trial); turn++) {
        const gs_problem p = w->plain ? plain_problem_of_turn(plain, seed, turn) : problem_of_turn(problem, seed, turn);
        const uint64_t bits = gs_mix(seed + 0x71374491u + (uint64_t)turn), which = gs_mix(seed + 0xb5c0fbcfu) & 1;
        const bool as_they_are = w->plain && turn < 2;
        const int64_t first = as_they_are ? 0 : (int64_t)(bits >> 32) % pool, cancels = !w->plain && first % 4 == 0;   /* every fourth row does not cancel, and a few rows would all be such ones */
        w->rows = (gs_pool_rows){pool, as_they_are ? 1 : 1 + (int64_t)(bits % (uint64_t)(pool - 1)), first + cancels};
        GS_TRY(try_size(w, &p, w->plain ? turn == PLAIN - 1 : (turn + which) % 2, bits >> 20 & 1, taken, error));   /* the requested M is launched with both alignments */
    }
    return GS_OK;
}

gs_status gs_verify_rows(gs_check_run *trial, const gs_problem *problem, int *taken, gs_error *error)
{
    const uint64_t seed = trial->seed;
    const int64_t ties = gs_ties_most(problem);
    /* An addition to the product hides how the product was rounded. Where there is one, every second round of plain data has scalars of many bits. */
    const bool adds = gs_adds_bias(problem) || problem->beta != 0;
    const int rounds = GS_MAX(ties ? (int)GS_MIN((ENOUGH_TIES + ties - 1) / ties, MOST_ROUNDS) : 1, adds ? 2 : 1);
    gs_status status = GS_OK;
    *taken = 0;
    if (problem->m == 0 || problem->n == 0) return GS_OK;
    trial->bare = true;
    for (int round = 0; round <= rounds && status == GS_OK && !gs_check_run_failed(trial); round++) {
        watcher w = {.trial = trial, .plain = round > 0, .many_bits = adds && (gs_mix(seed + 0x61b8e3a5u) + (uint64_t)round) & 1};
        trial->seed = round > 1 ? gs_mix(seed + (uint64_t)round) : seed;
        status = rows_of_kind(&w, problem, taken, error);
        free(w.ties.tie);
        for (int i = 0; i < 2; i++) free(w.of[i]);
        free(w.chunk);
    }
    trial->seed = seed;
    trial->bare = false;
    return status;
}
