/* SPDX-License-Identifier: MIT
 * The f64 reference on the CPU. */
#include "base/half.h"
#include "verify/verify.h"

static double element(const void *matrix, gs_type type, int64_t index)
{
    switch (type) {
    case GS_F16:  return (double)gs_f16_to_f32(((const uint16_t *)matrix)[index]);
    case GS_BF16: return (double)gs_bf16_to_f32(((const uint16_t *)matrix)[index]);
    case GS_F32:  break;
    }
    return (double)((const float *)matrix)[index];
}

void gs_reference_cpu(const gs_problem *p, const void *a, const void *b, const void *c, double *out)
{
    const bool tn = p->layout == GS_TN;
    const int64_t step_k = tn ? 1 : p->ldb, step_n = tn ? p->ldb : 1, rows_b = tn ? p->n : p->k;
    for (int64_t row = 0; row < p->m * p->batch; row++) {
        const int64_t first_b = row / p->m * rows_b * p->ldb;
        for (int64_t col = 0; col < p->n; col++) {
            double sum = 0;
            for (int64_t k = 0; k < p->k; k++)
                sum += element(a, p->in, row * p->lda + k) * element(b, p->in, first_b + k * step_k + col * step_n);
            sum *= (double)p->alpha;
            if (p->beta != 0) sum += (double)p->beta * element(c, p->out, row * p->ldc + col);
            out[row * p->n + col] = sum;
        }
    }
}
