/* SPDX-License-Identifier: MIT
 * A program that uses only cuBLAS. calls CASE... makes each call, compares the result with its own, and reports whether the fake library got the call: "served" or
 * "passed on", plus "wrong" if the result is. */
#include "product.h"

typedef struct setting {
    int    m, n, k, op_a, op_b, type, out, compute, algo, batch, pad, math, shift;
    bool   hgemm, wide, strided, device_scalars, in_stream, pointers, no_handle;
    double alpha, beta;
    int    expected;   /* status */
} setting;

static void  *handle, *stream;
static matrix a, b, c;

static void make(const setting *s)
{
    const int a_rows = s->op_a ? s->k : s->m, a_columns = s->op_a ? s->m : s->k, b_rows = s->op_b ? s->n : s->k, b_columns = s->op_b ? s->k : s->n;
    if (s->m < 0) {
        a = b = c = make_matrix(F16, 8, 8, 8, 1, 1);
        return;
    }
    a = make_matrix(s->type, a_rows, a_columns, a_rows + s->pad, s->batch, 1);
    b = make_matrix(s->type, b_rows, b_columns, b_rows + s->pad, s->batch, 2);
    c = make_matrix(s->out, s->m, s->n, s->m + s->pad, s->batch, 3);
}

static double at(const matrix *x, bool transposed, int64_t start, int row, int column)
{
    return get(x->host, x->type, start + (transposed ? (int64_t)row * x->ld + column : (int64_t)column * x->ld + row));
}

/* Counts wrong elements of C, and elements between its columns that were overwritten. */
static int64_t wrong_elements(const setting *s)
{
    int64_t wrong = 0;
    void *const got = malloc(c.bytes);
    NEED(cudaMemcpy(got, c.device, c.bytes, FAKE_TO_HOST));
    for (int i = 0; i < s->batch; i++)
        for (int column = 0; column < s->n; column++)
            for (int row = 0; row < c.ld; row++) {
                const int64_t here = i * c.count / s->batch + (int64_t)column * c.ld + row;
                double sum = 0;
                if (row >= s->m) {
                    wrong += get(got, s->out, here) != get(c.host, s->out, here);
                    continue;
                }
                for (int j = 0; j < s->k; j++) sum += at(&a, s->op_a, i * a.count / s->batch, row, j) * at(&b, s->op_b, i * b.count / s->batch, j, column);
                const double should = s->alpha * sum + s->beta * get(c.host, s->out, here), tolerance = s->compute == COMPUTE_16F ? 0.25 : 0.02;
                wrong += !(fabs(get(got, s->out, here) - should) <= tolerance * fmax(1, fabs(should)));
            }
    free(got);
    return wrong;
}

static int multiply(const setting *s)
{
    const bool half = s->compute == COMPUTE_16F;
    float alpha = (float)s->alpha, beta = (float)s->beta;
    uint16_t alpha_half = gs_f32_to_f16(alpha), beta_half = gs_f32_to_f16(beta);
    const void *scalars[2] = {half ? (void *)&alpha_half : (void *)&alpha, half ? (void *)&beta_half : (void *)&beta};
    void *on_device[2] = {NULL, NULL};
    if (s->device_scalars)
        for (int i = 0; i < 2; i++) {
            NEED(cudaMalloc(&on_device[i], 16));
            NEED(cudaMemcpy(on_device[i], scalars[i], half ? 2 : 4, FAKE_TO_DEVICE));
            scalars[i] = on_device[i];
        }
    NEED(cublasSetPointerMode_v2(handle, s->device_scalars));
    NEED(cublasSetMathMode(handle, s->math));
    NEED(cublasSetStream_v2(handle, s->in_stream ? stream : NULL));
    const char *const to_a = (const char *)a.device + s->shift;
    const long long stride_a = s->batch > 1 ? a.count / s->batch : 0, stride_b = s->batch > 1 ? b.count / s->batch : 0, stride_c = s->batch > 1 ? c.count / s->batch : 0;
    int status;
    void *const own = handle;
    if (s->no_handle) handle = NULL;
    if (s->pointers && s->wide)   /* the fake library only counts these calls */
        status = cublasGemmBatchedEx_64(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], NULL, s->type, a.ld, NULL, s->type, b.ld, scalars[1], NULL, s->out, c.ld, s->batch, s->compute, s->algo);
    else if (s->pointers)
        status = cublasGemmBatchedEx(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], NULL, s->type, a.ld, NULL, s->type, b.ld, scalars[1], NULL, s->out, c.ld, s->batch, s->compute, s->algo);
    else if (s->hgemm && s->strided && s->wide)
        status = cublasHgemmStridedBatched_64(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], to_a, a.ld, stride_a, b.device, b.ld, stride_b, scalars[1], c.device, c.ld, stride_c, s->batch);
    else if (s->hgemm && s->strided)
        status = cublasHgemmStridedBatched(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], to_a, a.ld, stride_a, b.device, b.ld, stride_b, scalars[1], c.device, c.ld, stride_c, s->batch);
    else if (s->hgemm && s->wide)
        status = cublasHgemm_64(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], to_a, a.ld, b.device, b.ld, scalars[1], c.device, c.ld);
    else if (s->hgemm)
        status = cublasHgemm(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], to_a, a.ld, b.device, b.ld, scalars[1], c.device, c.ld);
    else if (s->strided && s->wide)
        status = cublasGemmStridedBatchedEx_64(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], to_a, s->type, a.ld, stride_a, b.device, s->type, b.ld, stride_b, scalars[1], c.device,
                                               s->out, c.ld, stride_c, s->batch, s->compute, s->algo);
    else if (s->strided)
        status = cublasGemmStridedBatchedEx(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], to_a, s->type, a.ld, stride_a, b.device, s->type, b.ld, stride_b, scalars[1], c.device,
                                            s->out, c.ld, stride_c, s->batch, s->compute, s->algo);
    else if (s->wide)
        status = cublasGemmEx_64(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], to_a, s->type, a.ld, b.device, s->type, b.ld, scalars[1], c.device, s->out, c.ld, s->compute, s->algo);
    else
        status = cublasGemmEx(handle, s->op_a, s->op_b, s->m, s->n, s->k, scalars[0], to_a, s->type, a.ld, b.device, s->type, b.ld, scalars[1], c.device, s->out, c.ld, s->compute, s->algo);
    handle = own;
    for (int i = 0; i < 2; i++)
        if (on_device[i]) NEED(cudaFree(on_device[i]));
    return status;
}

/* A case such as "m=64,op_a=1,alpha=0.5"; other fields have their usual values. */
static setting read_case(const char *text)
{
    setting s = {.m = 64, .n = 32, .k = 64, .type = F16, .out = F16, .compute = COMPUTE_32F, .algo = 99, .batch = 1, .alpha = 1};
    const named_number numbers[] = {{"m", &s.m}, {"n", &s.n}, {"k", &s.k}, {"op_a", &s.op_a}, {"op_b", &s.op_b}, {"type", &s.type}, {"out", &s.out},
            {"compute", &s.compute}, {"algo", &s.algo}, {"batch", &s.batch}, {"pad", &s.pad}, {"math", &s.math}, {"shift", &s.shift}, {"expected", &s.expected}};
    const named_flag flags[] = {{"hgemm", &s.hgemm}, {"wide", &s.wide}, {"strided", &s.strided}, {"device_scalars", &s.device_scalars}, {"stream", &s.in_stream}, {"pointers", &s.pointers}, {"no_handle", &s.no_handle}};
    read_words(text, numbers, sizeof numbers / sizeof *numbers, flags, sizeof flags / sizeof *flags, &s.alpha, &s.beta);
    return s;
}

int main(int count, char **words)
{
    NEED(cublasCreate_v2(&handle));
    NEED(cudaStreamCreate(&stream));
    for (int i = 1; i < count; i++) {
        const setting s = read_case(words[i]);
        make(&s);
        const int before = fake_blas_calls(), status = multiply(&s);
        const bool served = fake_blas_calls() == before;
        NEED(cudaDeviceSynchronize());
        const bool wrong = status != s.expected || (s.expected == 0 && s.shift == 0 && !s.pointers && wrong_elements(&s) > 0);
        printf("%s: %s%s\n", words[i], served ? "served" : "passed on", wrong ? ", wrong" : "");
        free_matrix(&a);
        if (s.m < 0) continue;
        free_matrix(&b);
        free_matrix(&c);
    }
    NEED(cudaStreamDestroy(stream));
    NEED(cublasDestroy_v2(handle));
    return 0;
}
