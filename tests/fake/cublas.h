/* SPDX-License-Identifier: MIT
 * What fake/libcublas.c shows tests. */
#ifndef GS_TESTS_FAKE_CUBLAS_H
#define GS_TESTS_FAKE_CUBLAS_H

#define FAKE_GROUPS 64   /* the most groups of a call */

/* The last grouped multiplication, by group. Other multiplications are recorded as group 0, whose size is the batch. Host memory stands for device memory. */
typedef struct fake_grouped {
    int         calls, groups, compute_type, type_a, type_b, type_c;
    int         op_a[FAKE_GROUPS], op_b[FAKE_GROUPS], m[FAKE_GROUPS], n[FAKE_GROUPS], k[FAKE_GROUPS], lda[FAKE_GROUPS], ldb[FAKE_GROUPS], ldc[FAKE_GROUPS], size[FAKE_GROUPS];
    float       alpha[FAKE_GROUPS], beta[FAKE_GROUPS];
    const void *a[FAKE_GROUPS], *b[FAKE_GROUPS];
    void       *c[FAKE_GROUPS];
    long long   stride_a, stride_b, stride_c;   /* for a strided batch */
} fake_grouped;

#endif
