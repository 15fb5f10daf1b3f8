/* SPDX-License-Identifier: MIT
 * Stores rows from the registers of a warp to a matrix whose rows start at any element: lanes that share a row have a run of it each, and shift
 * their runs so that these begin at aligned vectors. */
#ifndef GS_COMMON_RUNS_CUH
#define GS_COMMON_RUNS_CUH

#include "common/rows.cuh"

/* Replaces `words` by the words that begin `by` bytes into them; next: the words that follow. SIZE: bytes of an element. */
template <int SIZE, int WORDS> __device__ __forceinline__ void gs_shift_words(unsigned (&words)[WORDS], const unsigned (&next)[WORDS], int by)
{
    unsigned all[2 * WORDS];
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++) all[i] = i < WORDS ? words[i % WORDS] : next[i % WORDS];
#pragma unroll
    for (int step = WORDS / 2; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i < WORDS + step; i++) all[i] = by & 4 * step ? all[i + step] : all[i];
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = SIZE == 4 ? all[i] : __funnelshift_r(all[i], all[i + 1], by % 4 * 8);
}

/* Stores the first `count` elements of a vector, at most all of them. */
template <int SIZE, int WORDS> __device__ __forceinline__ void gs_store_some(unsigned char *to, unsigned (&words)[WORDS], int count)
{
    if (count * SIZE >= WORDS * 4) {
        gs_copy_bytes<WORDS * 4>(to, (const unsigned char *)words);
        return;
    }
#pragma unroll 1
    for (; count > 0; count--, to += SIZE) {
        gs_copy_bytes<SIZE>(to, (const unsigned char *)words);
#pragma unroll
        for (int i = 0; i < WORDS; i++) words[i] = SIZE == 4 ? words[(i + 1) % WORDS] : __funnelshift_r(words[i], words[(i + 1) % WORDS], 16);
    }
}

/* Word `number` of WORDS; number is known at run time only. */
template <int WORDS> __device__ __forceinline__ unsigned gs_word_of(const unsigned (&words)[WORDS], int number)
{
    unsigned word = words[0];
#pragma unroll
    for (int i = 1; i < WORDS; i++) word = number == i ? words[i] : word;
    return word;
}

/* Stores a piece of a row: RUN elements of SIZE bytes from each of LANES lanes, STRIDE apart. Its first element goes to `d`, and `left` of its elements
 * are inside the matrix. A lane's last vector continues in the next lane's run, that of the last lane in the first one's: so the very last vector
 * consists of the piece's two ends, which the lanes store by element. All lanes of the warp; each row may have another alignment. */
template <int SIZE, int RUN, int LANES, int STRIDE>
__device__ __forceinline__ void gs_store_run(unsigned char *d, const unsigned (&run)[RUN * SIZE / 4], int left, int lane)
{
    constexpr int words = RUN * SIZE < 16 ? RUN * SIZE / 4 : 4, vectors = RUN * SIZE / 4 / words, vector = words * 4 / SIZE;   /* of a vector; of a run; elements of a vector */
    const int at = lane / STRIDE % LANES, first = lane - at * STRIDE;
    const int front = (int)(0 - (unsigned)(unsigned long long)d) & (words * 4 - 1);   /* bytes of the piece before its first vector */
    const int skipped = front / SIZE;
    unsigned part[words], next[words];
#pragma unroll
    for (int i = 0; i < words; i++) next[i] = __shfl_sync(~0u, run[i], first + (at + 1) % LANES * STRIDE);
#pragma unroll
    for (int v = 0; v < vectors; v++) {
        unsigned following[words];
#pragma unroll
        for (int i = 0; i < words; i++) {
            part[i] = run[v * words + i];
            following[i] = v + 1 < vectors ? run[(v + 1) % vectors * words + i] : next[i];
        }
        gs_shift_words<SIZE>(part, following, front);
        const int column = at * RUN + v * vector + skipped;
        if (v + 1 < vectors) gs_store_some<SIZE>(d + column * SIZE, part, left - column);
    }
    unsigned ends[words];
#pragma unroll
    for (int i = 0; i < words; i++) ends[i] = __shfl_sync(~0u, part[i], first + (LANES - 1) * STRIDE);
    const int column = at * RUN + RUN - vector + skipped;
    if (at < LANES - 1) gs_store_some<SIZE>(d + column * SIZE, part, left - column);
#pragma unroll
    for (int i = 0; i < vector; i += LANES) {
        const int e = at + i, place = e + skipped < vector ? LANES * RUN - vector + e + skipped : e + skipped - vector;
        const unsigned word = gs_word_of(ends, e * SIZE / 4), element = SIZE == 2 ? word >> e % 2 * 16 : word;
        if (e < vector && place < left) gs_copy_bytes<SIZE>(d + place * SIZE, (const unsigned char *)&element);
    }
}

#endif
