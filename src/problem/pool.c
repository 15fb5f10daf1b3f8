/* SPDX-License-Identifier: MIT */
#include "problem/pool.h"

#include "base/random.h"
#include "problem/layout.h"

gs_problem gs_problem_pool(const gs_problem *problem)
{
    enum { GAP = 48, MORE = 16 };   /* elements; multiples of 16, so that the gaps are whole 32-byte sectors */
    gs_problem pool = *problem;
    if (problem->matrices != GS_MATRICES_POINTERS) return pool;
    int64_t *const stride[] = {&pool.stride_a, &pool.stride_b, &pool.stride_c, &pool.stride_d};
    pool.matrices = GS_MATRICES_STRIDED;
    for (int i = 0; i < 4 && problem->batch > 1; i++) {
        const gs_shape s = gs_shape_of(problem, "abcd"[i]);
        const int64_t unit = s.ld & -s.ld;
        *stride[i] = gs_packed_stride(s.ld, s.rows) + GAP + i * MORE;
        if (unit < MORE && *stride[i] % (2 * unit) == 0) *stride[i] += unit;
    }
    return pool;
}

void gs_pool_align(gs_problem *pool, bool packed)
{
    enum { ALIGN = 256 };
    int64_t *const stride[] = {&pool->stride_a, &pool->stride_b, &pool->stride_c, &pool->stride_d};
    for (int i = 0; i < 4 && pool->batch > 1; i++) {
        const gs_shape s = gs_shape_of(pool, "abcd"[i]);
        const int64_t grain = ALIGN / (int64_t)gs_type_size(s.type);
        *stride[i] = packed ? gs_packed_stride(s.ld, s.rows) : (*stride[i] + grain - 1) / grain * grain;
    }
}

/* Whether all matrices are equally spaced: then a kernel that wrongly assumes a stride would give right results. */
static bool are_even(const uint64_t *place, int64_t count)
{
    for (int64_t i = 2; i < count; i++)
        if (place[i] - place[i - 1] != place[1] - place[0]) return false;
    return count > 2;
}

void gs_pool_pointers(const gs_problem *pool, const uint64_t at[4], uint64_t seed, uint64_t *out)
{
    const int64_t count = pool->batch;
    uint64_t *const place = out + 3 * count;   /* position of the i-th matrix; in the memory of D's pointers, which are written last */
    gs_random random = {seed};
    for (int64_t i = 0; i < count; i++) place[i] = (uint64_t)i;
    if (seed != GS_POOL_IN_ORDER) do {
        for (int64_t i = count - 1; i > 0; i--) {
            const uint64_t other = gs_random_below(&random, (uint64_t)i + 1), own = place[i];
            place[i] = place[other];
            place[other] = own;
        }
    } while (are_even(place, count));
    for (int operand = 0; operand < 4; operand++) {
        const gs_shape s = gs_shape_of(pool, "abcd"[operand]);
        for (int64_t i = 0; i < count; i++) out[operand * count + i] = at[operand] + place[i] * (uint64_t)s.stride * gs_type_size(s.type);
    }
}
