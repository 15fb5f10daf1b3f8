/* SPDX-License-Identifier: MIT
 * Each function of cuBLAS once, with arguments that are all different: says whether each comes to the fake library at its own place. */
#include "product.h"

enum { MOST = 24 };

static int64_t given[MOST], came[MOST];

/* Argument i: an int, or 64 bits of which none may be lost. */
static int     narrow(int i) { return (int)(given[i] = i + 1); }
static int64_t wide(int i) { return given[i] = (int64_t)(i + 1) << 32 | (i + 1); }
static void   *at(int i) { return (void *)(intptr_t)wide(i); }

static void told(const char *name, int status)
{
    int wrong = 0;
    while (wrong < MOST && came[wrong] == given[wrong]) wrong++;
    if (status != 0) printf("%s: status %d\n", name, status);
    else if (wrong < MOST) printf("%s: argument %d is wrong\n", name, wrong + 1);
    else printf("%s: all\n", name);
    memset(given, 0, sizeof given);
    memset(came, 0, sizeof came);
}
#define TELL(name, ...) told(#name, name(at(0), narrow(1), narrow(2), __VA_ARGS__))

int main(void)
{
    fake_blas_note(came);
#define EX(n) n(3), n(4), n(5), at(6), at(7), narrow(8), n(9), at(10), narrow(11), n(12), at(13), at(14), narrow(15), n(16)
    TELL(cublasGemmEx, EX(narrow), narrow(17), narrow(18));
    TELL(cublasGemmEx_64, EX(wide), narrow(17), narrow(18));
    TELL(cublasGemmBatchedEx, EX(narrow), narrow(17), narrow(18), narrow(19));
    TELL(cublasGemmBatchedEx_64, EX(wide), wide(17), narrow(18), narrow(19));
#define STRIDED_EX(n) n(3), n(4), n(5), at(6), at(7), narrow(8), n(9), wide(10), at(11), narrow(12), n(13), wide(14), at(15), at(16), narrow(17), n(18), wide(19), n(20)
    TELL(cublasGemmStridedBatchedEx, STRIDED_EX(narrow), narrow(21), narrow(22));
    TELL(cublasGemmStridedBatchedEx_64, STRIDED_EX(wide), narrow(21), narrow(22));
#define HALF(n) n(3), n(4), n(5), at(6), at(7), n(8), at(9), n(10), at(11), at(12), n(13)
    TELL(cublasHgemm, HALF(narrow));
    TELL(cublasHgemm_64, HALF(wide));
#define STRIDED_HALF(n) n(3), n(4), n(5), at(6), at(7), n(8), wide(9), at(10), n(11), wide(12), at(13), at(14), n(15), wide(16), n(17)
    TELL(cublasHgemmStridedBatched, STRIDED_HALF(narrow));
    TELL(cublasHgemmStridedBatched_64, STRIDED_HALF(wide));
    return 0;
}
