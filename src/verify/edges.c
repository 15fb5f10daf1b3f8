/* SPDX-License-Identifier: MIT
 * Part 5: small problems derived from the requested one: sizes that divide nothing, leading dimensions longer than the rows, scalars, empty sums and outputs, inf and NaN. A
 * contender may refuse any of them; those that it accepts it must compute correctly. */
#include <math.h>

#include "base/error.h"
#include "verify/check_run.h"

typedef struct edge {
    int   m, n, k, batch;
    int   pad;               /* elements added to the leading dimensions of A, B, C, D, aux: 1, 2, 3, 4, 5 times; 0: packed; WHOLE: up to a multiple of 8 */
    float alpha, beta;
    int   special;           /* not USUAL: data with inf and NaN, then CANCEL data whose sums are large, small, or so small that f16 results are subnormal */
    char  alone;             /* only this operand is padded: detects a kernel that uses its leading dimension for others; 0: all are */
    int   drawn;             /* alpha, or both scalars, are drawn (draw_scalars) */
} edge;

enum { USUAL, LARGE, SMALL, TINY };
enum { ALPHA = 1, BOTH };
enum { WHOLE = -1 };

static const edge edges[] = {
    /* m    n    k    b  pad  alpha  beta   special, alone, drawn */
    {  264, 328,  72, 1,   0, 1,     0,     USUAL },   /* multiples of 8, but not of a tile */
    {  256, 256,  64, 1,   8, 1,     1,     USUAL, 0, BOTH },    /* large tiles. One matrix: the blocks of two are more than a GPU holds at once */
    {  136, 120,  72, 1,   8, 1,     0,     USUAL, 'd', ALPHA },
    {   16,   8,  16, 3,   8, 1,     1,     USUAL, 0, BOTH },
    {   24,  40, 1032, 1,  0, 1,     0,     USUAL, 0, ALPHA },
    {  127, 129,  65, 1,   0, 1,     0,     USUAL, 0, ALPHA },
    {   59,  59,  59, 1,   5, 1,     1,     USUAL, 0, BOTH },    /* square */
    {    1, 264, 1096, 1,  0, 1,     0,     USUAL },
    {    1, 257,  36, 3,   8, 1,     1,     USUAL, 0, BOTH },
    {    1, 256, 128, 1,   0, 1,     1,     USUAL, 0, BOTH },    /* whole tiles of N and K */
    {  193,   1, 1088, 1,  0, 1,     0,     USUAL, 0, ALPHA },
    {    1,   1,  72, 1,   5, 1,     1,     USUAL, 0, BOTH },
    {    4, 256, 128, 3,   8, 1,     1,     USUAL, 0, BOTH },    /* a few rows; a few columns. The other extent is whole tiles */
    {  256,  12,  72, 3,   5, 1,     1,     USUAL, 0, BOTH },
    {   88,   1,  72, 3,   5, 1,     1,     USUAL, 0, BOTH },    /* kernels have code for one row or column, long sums, whole tiles: these with C, padding, batches too */
    {   16,  24, 1048, 2,  8, 1,     1,     USUAL, 0, BOTH },
    {  128, 128,  64, 2,   8, 1,     1,     USUAL, 0, BOTH },
    {   88,  24,   1, 2,   3, 1,     0,     USUAL, 0, ALPHA },
    {   72,  40,   8, 1,   8, 1,    -0.0f,  USUAL, 0, ALPHA },   /* -0 does not read C either */
    {   66,  33,   1, 1,   0, 1,     1,     USUAL, 0, BOTH },
    {  100,  64,  77, 2,   0, 1,     1,     USUAL },             /* whole tiles of N alone; of N and K; of M and K */
    {   72, 128,  64, 1,  72, 0.5f, -1.5f,  USUAL, 0, BOTH },   /* rows as long as those of two or three matrices side by side */
    {   64,  60,  64, 2,   1, 1,     1,     USUAL, 'b' },
    {   72,  40,  48, 1,   1, 1,     1,     USUAL, 0, BOTH },    /* extents are multiples of 8, leading dimensions are not; then the other way round */
    {   45,  61,  51, 2, WHOLE, 1,   1,     USUAL, 0, BOTH },
    {  128, 192,  72, 1,   8, 0.70044f, -0.30017f, USUAL, 'c' },   /* scalars halfway between two 16-bit numbers. Whole tiles of M and N */
    {   67,  45,  51, 1,   1, -2,    0,     USUAL, 'a', ALPHA },   /* user kernels: a random size (draw_size) */
    {   56,  24,  24, 3,   5, 0,    -1.5f,  USUAL, 0, BOTH },
    {   24,  56,  40, 1,   0, 0,    -0.0f,  USUAL },
    {   72,  88,   0, 1,   0, 1,     0,     USUAL },
    {   72,  88,   0, 3,   5, 1,    -1.5f,  USUAL, 0, BOTH },
    {    0,  64,  64, 1,   0, 1,     0,     USUAL },
    {   64,   0,  64, 1,   0, 1,     0,     USUAL },
    {   72,  40,  56, 3,   8, 1,     0,     USUAL, 'b', ALPHA },
    {   31,  18,  22, 5,   5, 0.5f,  1,     USUAL, 0, BOTH },
    {  128, 256, 192, 1,   0, 1,     0,     LARGE },        /* whole tiles */
    {  264, 136, 128, 1,   8, 1,     1,     SMALL },        /* whole tiles of K, more than one */
    {   77,  91,  55, 1,   0, 1,     0,     TINY  },   /* K is 7 more than a multiple of 8: kernels have code for each remainder */
};

int gs_verify_edges_count(void) { return (int)GS_COUNT(edges); }

/* Gives p strides of the same kind as the problem's: one matrix for all, matrices side by side, or one behind the other with a gap. */
static void as_in(gs_problem *p, const gs_problem *like)
{
    const int64_t given[] = {like->stride_a, like->stride_b, like->stride_c, like->stride_d};
    int64_t *const stride[] = {&p->stride_a, &p->stride_b, &p->stride_c, &p->stride_d}, *const ld[] = {&p->lda, &p->ldb, &p->ldc, &p->ldd};
    for (int i = 0; i < 4; i++) {
        if (given[i] == 0) continue;
        const gs_shape of_like = gs_shape_of(like, "abcd"[i]), s = gs_shape_of(p, "abcd"[i]);
        const int64_t unit = given[i] % 8 ? 1 : 8;
        if (given[i] == GS_SAME_MATRIX) {
            *stride[i] = GS_SAME_MATRIX;
        } else if (given[i] < of_like.ld) {
            *stride[i] = (s.ld + unit - 1) / unit * unit;
            *ld[i] = (p->batch * *stride[i] + unit - 1) / unit * unit;
        } else {
            *stride[i] = (s.ld * s.rows + unit - 1) / unit * unit + unit;
        }
    }
    if (like->stride_aux) p->stride_aux = gs_shape_of(p, 'g').ld * p->m + 8;
    if (like->stride_bias) p->stride_bias = GS_MAX(gs_shape_of(p, 'e').row, 1) + 3;
}

/* The leading dimension of rows of this length. */
static int64_t padded(int64_t row, int pad, int times) { return pad == WHOLE ? (row + 7) / 8 * 8 : row + times * pad; }

static gs_problem edge_with(const gs_problem *like, const edge *e, int index, int groups)
{
    const int m = like->grouping == GS_GROUPS_MASKED ? (e->m + groups - 1) / groups * groups : e->m;
    gs_problem p = gs_problem_make(like->in, like->layout, m, e->n, e->k);
    p.acc = like->acc;
    p.out = like->out;
    p.batch = like->groups ? 1 : like->grouping == GS_GROUPS_K ? 1 + index * 5 % 13 : e->batch;
    p.groups = groups;
    p.grouping = like->grouping;
    p.alpha = e->alpha;
    p.beta = e->beta;
    p.scales = like->scales;
    p.bias = like->bias;
    p.activation = like->activation;
    p.scalars = like->scalars;
    p.gate = like->gate;
    p.residual = (like->residual || p.gate) && p.beta != 0;
    if (p.gate) p.ldb = GS_MAX(gs_shape_of(&p, 'b').row, 1);
    int64_t *const ld[] = {&p.lda, &p.ldb, &p.ldc, &p.ldd};
    for (int i = 0; i < 4; i++)
        if (!e->alone || e->alone == 'a' + i) *ld[i] = padded(*ld[i], e->pad, i + 1);
    p.aux = like->aux;
    p.matrices = like->matrices;
    if (gs_has_aux(&p) && e->pad) p.ldaux = padded(gs_columns_of_b(&p), e->pad, 5);
    if (p.batch > 1) as_in(&p, like);
    return p;
}

gs_problem gs_verify_edge(const gs_problem *like, int index) { return edge_with(like, &edges[index], index, like->groups ? 1 + index * 5 % 13 : 0); }

/* Second data of a special problem: CANCEL data whose sums are large, small or tiny. So are the results, where D holds them and nothing is added to them; otherwise alpha makes
 * up for it. */
static gs_status far_data(gs_check_run *trial, int size, double *tolerance, gs_error *error)
{
    const uint64_t bits = gs_mix(trial->seed + 0xe9b5dba5u + (uint64_t)trial->problem.m);
    gs_problem other = trial->asked;
    gs_data_plan plan;
    other.alpha = gs_data_lifts(&other) && bits >> 50 & 1 ? 1 : gs_scalar_of_many_bits(bits);
    if (size == TINY && other.out == GS_F16) other.alpha *= 0x1p-22f;
    const int far = gs_data_far(&other, size == LARGE, bits);
    if (!trial->once || !far || other.acc == GS_F16 || !gs_data_plan_make(&other, GS_VALUES_CANCEL, &plan)) return GS_OK;
    trial->asked.alpha = other.alpha;
    gs_check_run_lift(trial, gs_data_lifts(&other) ? far : size == LARGE && other.out == GS_F16 ? 1 + (fabsf(other.alpha) < 1) : 0);   /* up to the largest f16 number, and beyond */
    GS_TRY(gs_check_run_far(trial, far, error));
    if (gs_check_run_failed(trial)) return GS_OK;
    *tolerance = gs_exact_tolerance(&other);
    return gs_check_run_data(trial, GS_VALUES_CANCEL, -1, error);
}

/* Which of the two launches of an edge problem has its operands where timing has them (the other one has less aligned ones): a kernel may have other code for aligned pointers. */
static bool first_at_home(const gs_check_run *trial) { return trial->once && gs_mix(trial->seed + 0x6a09e667u + (uint64_t)(trial->problem.m * 512 + trial->problem.n)) & 1; }

/* Moves the operands for the second launch. data: generates the data again, unless the caller does so anyway. */
static gs_status move_second(gs_check_run *trial, bool data, gs_error *error)
{
    if (!trial->once) return GS_OK;
    GS_TRY(gs_check_run_move(trial, first_at_home(trial), error));
    return data ? gs_check_run_data(trial, trial->kind, -1, error) : GS_OK;
}

static gs_status run_edge(gs_check_run *trial, const edge *e, gs_error *error)
{
    const bool rounds = fmodf(trial->asked.alpha, 0.25f) != 0 || fmodf(trial->asked.beta, 0.25f) != 0;   /* more than one result is right */
    const int first = e->special ? GS_VALUES_SPECIAL : rounds ? GS_VALUES_NORMAL : GS_VALUES_INTEGER;
    double tolerance = e->special || rounds ? 1 : 0;
    gs_data_plan plan;
    const bool range = !e->special && e->m > 0 && e->n > 0 && gs_data_plan_make(&trial->problem, GS_VALUES_RANGE, &plan);
    GS_TRY(gs_check_run_alloc(trial, false, !first_at_home(trial), error));
    if (trial->once && trial->problem.acc == GS_F16 && !e->special && !rounds && gs_data_lifts(&trial->asked)) gs_check_run_lift(trial, gs_data_far(&trial->asked, true, gs_mix(trial->seed + (uint64_t)e->n)));   /* sums beyond 2048 */
    GS_TRY(gs_check_run_data(trial, first, -1, error));
    const bool once = trial->parts & GS_EDGES_ONCE;   /* all edge problems together have both placements of operands */
    for (int i = 0; i < 2 - once; i++) {
        if (i == 1) GS_TRY(move_second(trial, !range, error));
        if (i == 1) gs_check_run_lift(trial, 0);
        if (i == 1 && range) GS_TRY(gs_check_run_data(trial, GS_VALUES_RANGE, -1, error));
        if (i == 1 && e->special) GS_TRY(far_data(trial, e->special, &tolerance, error));
        if (gs_check_run_failed(trial)) return GS_OK;
        GS_TRY(gs_check_run_judge(trial, 5, trial->kind == GS_VALUES_RANGE ? 0 : tolerance, error));
        if (gs_check_run_failed(trial)) return GS_OK;
    }
    return e->special || once ? GS_OK : gs_check_run_few(trial, 5, first, tolerance, error);
}

/* Refused before anything was computed: by prepare, because a tensor map is not possible, or by the launch itself. */
static bool refused(const gs_verdict *verdict)
{
    return verdict->code == GS_VERDICT_UNSUPPORTED || verdict->code == GS_VERDICT_LAUNCH;
}

/* Draws scalars that programs use. The list is walked from a random start, so that each is the alpha of at least one edge problem. Sometimes both scalars are equal or each
 * other's negative; where alpha is 0, beta may be 1. */
static void draw_scalars(gs_problem *p, const edge *e, uint64_t seed, int turn)
{
    static const float usual[] = {2, -1, 0.5f, -0.5f, 3, -2, 4, 0.25f, -4, 1.5f, -3, 0.125f, 0.08838835f};
    const uint64_t first = gs_mix(seed) % GS_COUNT(usual), bits = gs_mix(seed + (uint64_t)turn);
    if (e->alpha != 0) p->alpha = usual[(first + (uint64_t)turn) % GS_COUNT(usual)];
    if (e->drawn != BOTH) return;
    p->beta = usual[(gs_mix(seed + 0xb7e15162u) + (uint64_t)turn) % GS_COUNT(usual)];
    if (e->alpha == 0 ? bits & 1 : (bits & 3) == 0) p->beta = e->alpha == 0 ? 1 : bits & 4 ? p->alpha : -p->alpha;
    if ((e->m == 1 || e->n == 1 || e->k == 0 || e->alpha == 0) && fabsf(p->beta) > 1) p->beta /= 4;   /* C's infinities, taken for the largest number, must not overflow again */
}

/* A user kernel is not compiled for one size, so one problem has random extents: over many verifications every remainder behind whole tiles occurs. */
static void draw_size(edge *e, uint64_t seed)
{
    enum { LEAST = 33, CHOICES = 64 };
    int *const extent[] = {&e->m, &e->n, &e->k};
    for (int i = 0; i < 3; i++) *extent[i] = LEAST + (int)gs_pick_below(gs_mix(seed + (uint64_t)i), CHOICES);
}

static gs_status run_edges(gs_check_run *trial, const gs_problem *problem, int *taken, gs_error *error)
{
    int turn = 0;
    for (size_t i = 0; i < GS_COUNT(edges); i++) {
        edge e = edges[i];
        const bool users = trial->contender->fixed_groups;
        if (users && e.alone == 'a') draw_size(&e, trial->seed + 0x1f9d2c57u);
        gs_problem p = users ? edge_with(problem, &e, (int)i, (int)problem->groups) : gs_verify_edge(problem, (int)i);
        if (trial->once && e.drawn) draw_scalars(&p, &e, trial->seed + 0x6c44198cu, turn);
        if (!trial->once && p.beta == 0) p.beta = 0;   /* libraries get no -0 */
        turn += e.drawn && e.alpha != 0 && e.k > 0;
        GS_TRY(gs_check_run_prepare(trial, &p, error));
        gs_status status = GS_OK;
        if (!gs_check_run_failed(trial)) {
            status = run_edge(trial, &e, error);
            gs_check_run_lift(trial, 0);
            gs_check_run_free(trial);
        }
        if (status != GS_OK) return status;
        if (refused(trial->verdict)) *trial->verdict = (gs_verdict){.code = GS_VERDICT_PASS, .row = -1, .col = -1};
        else if (gs_check_run_failed(trial)) return GS_OK;
        else ++*taken;
    }
    return GS_OK;
}

gs_status gs_verify_edges(gs_check_run *trial, const gs_problem *problem, int *taken, int *offered, gs_error *error)
{
    *taken = 0;
    *offered = (int)GS_COUNT(edges);
    trial->edge = true;
    trial->blocks.keeps = !trial->verifier->device->caps.emulated;   /* emulated devices place each allocation at random anyway */
    const gs_status status = run_edges(trial, problem, taken, error);
    gs_blocks_end(&trial->blocks, trial->watch.ops, trial->verifier->device);
    return status;
}
