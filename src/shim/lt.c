/* SPDX-License-Identifier: MIT
 * cublasLtMatmul. Descriptors that were seen before are recognised by their bytes. */
#include "shim/shim.h"

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/hash.h"
#include "cublas/cublas.h"
#include "record/record.h"
#include "shim/check.h"
#include "shim/lt_describe.h"

/* ---- cache of descriptors ---- */

enum { KNOWN = 256, LAYOUT_BYTES = 64, DESC_BYTES = 256, DESC_LEAST = 88, SUGGESTED = 4096 };   /* DESC_LEAST: size in CUDA 11 */

typedef struct key {
    uint64_t desc[DESC_BYTES / 8], layouts[4][LAYOUT_BYTES / 8];
} key;

typedef struct known {
    uint64_t    hash;   /* 0: empty */
    key         key;
    gs_lt_asked asked;
} known;

static pthread_key_t     of_thread;
static const gs_real_cublaslt *measured;   /* the first library that was seen; descriptors of another one are not cached */
static size_t            desc_bytes;   /* size of a descriptor in this library; 0: unknown, so nothing is cached */
static _Thread_local known *table __attribute__((tls_model("initial-exec")));

static void drop_table(void *own)
{
    table = NULL;
    free(own);
}

/* A descriptor has 11, 23 or 32 words, depending on the version; the size of the library's own allocation is an upper limit. */
static void measure(void)
{
    void *desc = NULL;
    const gs_real_cublaslt *const real = measured;
    if (pthread_key_create(&of_thread, drop_table) != 0) return;
    if (!real || !real->desc_create || !real->desc_destroy || real->desc_create(&desc, GS_CUBLAS_COMPUTE_32F, GS_CUDA_R_32F) != GS_CUBLAS_SUCCESS) return;
    const size_t usable = malloc_usable_size(desc);
    if (usable >= DESC_LEAST) desc_bytes = GS_MIN(usable, (size_t)DESC_BYTES);
    real->desc_destroy(desc);
}

static known *table_now(const gs_real_cublaslt *real)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (__builtin_expect(table && real == measured, 1)) return table;
    pthread_mutex_lock(&lock);
    if (!measured) measured = real, measure();
    pthread_mutex_unlock(&lock);
    if (real != measured || desc_bytes == 0) return NULL;
    known *const made = calloc(KNOWN, sizeof *made);
    if (made && pthread_setspecific(of_thread, made) == 0) return table = made;
    free(made);
    return NULL;
}

/* Four independent sums, so that multiplications overlap. The hash need not be good, because bytes are compared. */
static uint64_t mix(const uint64_t *words, size_t count, uint64_t seed)
{
    uint64_t sum[4] = {seed, seed + 1, seed + 2, seed + 3};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t j = 0; j < 4; j++) sum[j] = (sum[j] ^ words[i + j]) * 0x9e3779b97f4a7c15ull;
    for (; i < count; i++) sum[0] = (sum[0] ^ words[i]) * 0x9e3779b97f4a7c15ull;
    return (sum[0] ^ sum[1] >> 29 ^ sum[2] >> 31 ^ sum[3] >> 33) * 0xc2b2ae3d27d4eb4full;
}

/* The five descriptors are aligned to 8 bytes, as their types require. */
static uint64_t hash_descriptors(const void *desc, void *const *layouts)
{
    uint64_t hash = mix(desc, desc_bytes / 8, 1);
    for (int i = 0; i < 4; i++) hash = mix(layouts[i], LAYOUT_BYTES / 8, hash);
    return hash | 1;
}

static bool is_same(const key *k, const void *desc, void *const *layouts)
{
    bool same = memcmp(k->desc, desc, desc_bytes) == 0;
    for (int i = 0; i < 4; i++) same = same && memcmp(k->layouts[i], layouts[i], LAYOUT_BYTES) == 0;
    return same;
}

const gs_lt_asked *gs_lt_described(const gs_real_cublaslt *real, void *desc, void *a, void *b, void *c, void *d)
{
    static _Thread_local gs_lt_asked single;
    known *const known_here = desc && a && b && c && d ? table_now(real) : NULL;
    if (!known_here) return gs_lt_describe(real, desc, a, b, c, d, &single), &single;
    void *const layouts[4] = {a, b, c, d};
    const uint64_t hash = hash_descriptors(desc, layouts);
    known *const at = &known_here[hash >> 32 & (KNOWN - 1)];
    if (at->hash == hash && is_same(&at->key, desc, layouts)) return &at->asked;
    gs_lt_describe(real, desc, a, b, c, d, &at->asked);
    at->hash = hash;
    memcpy(at->key.desc, desc, desc_bytes);
    for (int i = 0; i < 4; i++) memcpy(at->key.layouts[i], layouts[i], LAYOUT_BYTES);
    return &at->asked;
}

/* ---- suggestions ---- */

static atomic_uint_fast64_t suggested[SUGGESTED];

static uint64_t hash_of(const void *algo) { return gs_hash64(algo, sizeof(gs_lt_algo)) | 1; }
void gs_lt_suggested(const void *algo)
{
    const uint64_t hash = hash_of(algo);
    atomic_store_explicit(&suggested[hash >> 1 & (SUGGESTED - 1)], hash, memory_order_relaxed);
}
bool gs_lt_is_suggested(const void *algo)
{
    const uint64_t hash = hash_of(algo);
    return atomic_load_explicit(&suggested[hash >> 1 & (SUGGESTED - 1)], memory_order_relaxed) == hash;
}

GS_API gs_real_lt_heuristic cublasLtMatmulAlgoGetHeuristic;
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int asked, void *results, int *returned)
{
    const gs_real_cublaslt *const real = gs_real_cublaslt_of(GS_CALLER);
    const bool outer = !gs_shim_is_inside();
    if (!real || !real->heuristic) return GS_CUBLAS_NOT_INITIALIZED;
    gs_shim_enter();
    const int status = real->heuristic(handle, desc, a, b, c, d, preference, asked, results, returned);
    gs_shim_leave();
    const gs_lt_heuristic *const first = results;
    if (outer && status == GS_CUBLAS_SUCCESS && returned && *returned > 0 && first->state == GS_CUBLAS_SUCCESS) gs_lt_suggested(&first->algo);
    return status;
}

/* ---- the call ---- */

typedef struct lt_call {
    const gs_real_cublaslt *library;
    void       *handle, *desc, *a_layout, *b_layout, *c_layout, *d_layout, *d, *workspace, *stream;
    const void *alpha, *a, *b, *beta, *c, *algo;
    size_t      workspace_size;
} lt_call;

static int pass(const lt_call *i, const void *c, void *d)
{
    return i->library->matmul(i->handle, i->desc, i->alpha, i->a, i->a_layout, i->b, i->b_layout, i->beta, c, i->c_layout, d, i->d_layout, i->algo, i->workspace, i->workspace_size, i->stream);
}

static int again(const void *call, const void *c, void *d) { return pass(call, c, d); }

static float scalar_of(const void *at, bool half) { return half ? gs_f16_to_f32(*(const uint16_t *)at) : *(const float *)at; }

static gs_shim_reason serve(const lt_call *call, gs_shim_mode mode)
{
    gs_shim_reason reason;
    if (gs_shim_is_forked()) return GS_SHIM_FORKED;
    const gs_real_cublaslt *const real = call->library;
    const gs_lt_asked *const asked = gs_lt_described(real, call->desc, call->a_layout, call->b_layout, call->c_layout, call->d_layout);
    if (asked->reason != GS_SHIM_SERVED) return asked->reason;
    if (!call->handle || !call->alpha || !call->beta) return GS_SHIM_HANDLE;
    const float alpha = scalar_of(call->alpha, asked->half), beta = scalar_of(call->beta, asked->half);
    gs_problem problem = asked->problem;
    if (beta != 0) problem.beta = 1;
    else problem.ldc = problem.ldd, problem.stride_c = problem.stride_d;   /* C is not read */
    if (beta != 0 && asked->c_differs) return GS_SHIM_LAYOUT;
    gs_recorder *const recorder = gs_recorder_of_environment();
    if (recorder && gs_problem_check(&problem, NULL) == GS_OK) gs_recorder_count(recorder, &problem, gs_shim_symbol(GS_SHIM_LT_MATMUL));
    if (mode == GS_SHIM_RECORD) return GS_SHIM_RECORDED;
    if (call->algo && !gs_lt_is_suggested(call->algo)) return GS_SHIM_ALGORITHM;
    if (alpha == 0 || !isfinite(alpha) || !isfinite(beta)) return GS_SHIM_SCALARS;
    if (!call->a || !call->b || !call->d || (beta != 0 && !call->c)) return GS_SHIM_SIZES;
    gs_shim_place *const place = gs_shim_place_now(real->emulated, &reason);
    if (!place) return reason;
    gs_args args = gs_args_make(call->b, call->a, beta != 0 ? call->c : NULL, call->d);
    args.bias = asked->bias;
    args.aux = asked->aux;
    if (alpha != 1) args.alpha = &alpha;
    if (beta != 0 && beta != 1) args.beta = &beta;
    return mode == GS_SHIM_CHECK ? gs_shim_check(place, &problem, &args, call->stream, GS_SHIM_LT_MATMUL, again, call)
                                 : gs_shim_run(place, &problem, &args, call->stream, GS_SHIM_LT_MATMUL);
}

GS_API gs_real_lt_matmul cublasLtMatmul;
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d,
                   void *d_layout, const void *algo, void *workspace, size_t workspace_size, void *stream)
{
    const gs_real_cublaslt *const real = gs_real_cublaslt_of(GS_CALLER);
    const lt_call call = {real, handle, desc, a_layout, b_layout, c_layout, d_layout, d, workspace, stream, alpha, a, b, beta, c, algo, workspace_size};
    if (!real || !real->matmul) return GS_CUBLAS_NOT_INITIALIZED;
    if (gs_shim_is_inside()) return pass(&call, c, d);
    const gs_shim_mode mode = gs_shim_mode_now();
    gs_shim_enter();
    const gs_shim_reason reason = mode == GS_SHIM_OFF ? GS_SHIM_IS_OFF : serve(&call, mode);
    const int result = reason == GS_SHIM_SERVED ? GS_CUBLAS_SUCCESS : pass(&call, c, d);
    gs_shim_leave();
    gs_shim_count(GS_SHIM_LT_MATMUL, reason);
    return result;
}
