/* SPDX-License-Identifier: MIT
 * A program that uses only cuBLASLt. lt CASE... makes each call, compares D with its own, and reports whether the fake library got the call. */
#include "product.h"

#include "fake/blas/cublaslt.h"

enum { BIAS = 4, RELU = 2, GELU = 32, AUX = 128, DGELU = 64, BGRAD = 16 };

typedef struct setting {
    int    m, n, k, op_a, op_b, type, out, c_type, compute, batch, pad, epilogue, algo, order, attribute, again;
    bool   apart, device_scalars, in_stream, no_aux;
    double alpha, beta;
    int    expected;
} setting;

typedef struct heuristic {   /* cublasLtMatmulHeuristicResult_t */
    uint64_t algo[8];
    size_t   workspace;
    int      state;
    float    waves;
    int      reserved[4];
} heuristic;

static void  *handle, *stream;
static matrix a, b, c, d, bias, aux;

static void *make_layout(const setting *s, const matrix *of, int rows, int columns)
{
    void *layout;
    const int64_t stride = of->count / s->batch;
    NEED(cublasLtMatrixLayoutCreate(&layout, of->type, (uint64_t)rows, (uint64_t)columns, of->ld));
    NEED(cublasLtMatrixLayoutSetAttribute(layout, 1, &s->order, 4));
    NEED(cublasLtMatrixLayoutSetAttribute(layout, 5, &s->batch, 4));
    NEED(cublasLtMatrixLayoutSetAttribute(layout, 6, &stride, 8));
    return layout;
}

static void *make_desc(const setting *s)
{
    void *desc;
    const int mode = s->device_scalars, scale = s->compute == COMPUTE_16F ? F16 : F32, target = 8;
    const int64_t ld = aux.ld;
    NEED(cublasLtMatmulDescCreate(&desc, s->compute, scale));
    NEED(cublasLtMatmulDescSetAttribute(desc, 2, &mode, 4));
    NEED(cublasLtMatmulDescSetAttribute(desc, 3, &s->op_a, 4));
    NEED(cublasLtMatmulDescSetAttribute(desc, 4, &s->op_b, 4));
    if (s->epilogue) NEED(cublasLtMatmulDescSetAttribute(desc, 7, &s->epilogue, 4));
    if (s->epilogue & (BIAS | BGRAD)) NEED(cublasLtMatmulDescSetAttribute(desc, 8, &bias.device, 8));
    if (s->epilogue & AUX && !s->no_aux) {
        NEED(cublasLtMatmulDescSetAttribute(desc, 11, &aux.device, 8));
        NEED(cublasLtMatmulDescSetAttribute(desc, 12, &ld, 8));
    }
    if (s->attribute) NEED(cublasLtMatmulDescSetAttribute(desc, s->attribute, &target, 4));
    return desc;
}

static double at(const matrix *x, bool transposed, int64_t start, int row, int column)
{
    return get(x->host, x->type, start + (transposed ? (int64_t)row * x->ld + column : (int64_t)column * x->ld + row));
}

static double slope(double x)
{
    const double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

static int64_t wrong_elements(const setting *s)
{
    int64_t wrong = 0;
    void *const got = malloc(d.bytes), *const got_aux = malloc(aux.bytes);
    NEED(cudaMemcpy(got, d.device, d.bytes, FAKE_TO_HOST));
    NEED(cudaMemcpy(got_aux, aux.device, aux.bytes, FAKE_TO_HOST));
    double *const sums = calloc((size_t)s->m, sizeof *sums);
    for (int i = 0; i < s->batch; i++)
        for (int column = 0; column < s->n; column++)
            for (int row = 0; row < d.ld; row++) {
                const int64_t here = i * d.count / s->batch + (int64_t)column * d.ld + row;
                double sum = 0;
                if (row >= s->m) {
                    wrong += get(got, s->out, here) != get(d.host, s->out, here);
                    continue;
                }
                for (int j = 0; j < s->k; j++) sum += at(&a, s->op_a, i * a.count / s->batch, row, j) * at(&b, s->op_b, i * b.count / s->batch, j, column);
                const matrix *const from = s->apart ? &c : &d;
                const double before = s->beta == 0 ? 0 : get(from->host, from->type, i * from->count / s->batch + (int64_t)column * from->ld + row);
                const double x = s->alpha * sum + s->beta * before + (s->epilogue & BIAS ? get(bias.host, s->out, row) : 0);
                const double should = s->epilogue & DGELU ? x * slope(get(aux.host, s->out, (int64_t)column * aux.ld + row)) : s->epilogue & RELU ? fmax(x, 0) : s->epilogue & GELU ? x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x))) : x;
                const double tolerance = s->compute == COMPUTE_16F ? 0.25 : 0.02;
                wrong += !(fabs(get(got, s->out, here) - should) <= tolerance * fmax(1, fabs(should)));
                sums[row] += should;
                if (s->epilogue & AUX && !(s->epilogue & DGELU) && !s->no_aux) wrong += !(fabs(get(got_aux, s->out, (int64_t)column * aux.ld + row) - x) <= tolerance * fmax(1, fabs(x)));
            }
    if (s->epilogue & BGRAD) {
        NEED(cudaMemcpy(got, bias.device, bias.bytes, FAKE_TO_HOST));
        for (int row = 0; row < s->m; row++) wrong += !(fabs(get(got, s->out, row) - sums[row]) <= 0.02 * fmax(1, fabs(sums[row])));
    }
    free(got);
    free(got_aux);
    free(sums);
    return wrong;
}

static int multiply(const setting *s)
{
    const bool half = s->compute == COMPUTE_16F;
    float alpha = (float)s->alpha, beta = (float)s->beta;
    uint16_t alpha_half = gs_f32_to_f16(alpha), beta_half = gs_f32_to_f16(beta);
    const void *scalars[2] = {half ? (void *)&alpha_half : (void *)&alpha, half ? (void *)&beta_half : (void *)&beta};
    void *on_device[2] = {NULL, NULL}, *desc = make_desc(s), *preference;
    heuristic found[3];
    int count = 0;
    void *const la = make_layout(s, &a, s->op_a ? s->k : s->m, s->op_a ? s->m : s->k), *const lb = make_layout(s, &b, s->op_b ? s->n : s->k, s->op_b ? s->k : s->n);
    void *const lc = make_layout(s, s->apart ? &c : &d, s->m, s->n), *const ld = make_layout(s, &d, s->m, s->n);
    if (s->device_scalars)
        for (int i = 0; i < 2; i++) {
            NEED(cudaMalloc(&on_device[i], 16));
            NEED(cudaMemcpy(on_device[i], scalars[i], half ? 2 : 4, FAKE_TO_DEVICE));
            scalars[i] = on_device[i];
        }
    NEED(cublasLtMatmulPreferenceCreate(&preference));
    if (s->algo >= 0) NEED(cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, lc, ld, preference, 3, found, &count));
    int status = 0, asked = 0;
    for (int i = 0; i <= s->again; i++) {
        asked = fake_blaslt_asked();
        status = cublasLtMatmul(handle, desc, scalars[0], a.device, la, b.device, lb, scalars[1], s->beta == 0 ? NULL : s->apart ? c.device : d.device, lc, d.device, ld,
                                s->algo < 0 ? NULL : found[s->algo].algo, NULL, 0, s->in_stream ? stream : NULL);
    }
    if (s->again && asked != fake_blaslt_asked()) printf("descriptors that were seen are read again\n");
    for (int i = 0; i < 2; i++)
        if (on_device[i]) NEED(cudaFree(on_device[i]));
    void *const layouts[] = {la, lb, lc, ld};
    for (int i = 0; i < 4; i++) NEED(cublasLtMatrixLayoutDestroy(layouts[i]));
    NEED(cublasLtMatmulDescDestroy(desc));
    NEED(cublasLtMatmulPreferenceDestroy(preference));
    return status;
}

static setting read_case(const char *text)
{
    setting s = {.m = 64, .n = 32, .k = 64, .type = F16, .out = F16, .c_type = -1, .compute = COMPUTE_32F, .batch = 1, .alpha = 1};
    const named_number numbers[] = {{"m", &s.m}, {"n", &s.n}, {"k", &s.k}, {"op_a", &s.op_a}, {"op_b", &s.op_b}, {"type", &s.type}, {"out", &s.out}, {"c_type", &s.c_type},
            {"compute", &s.compute}, {"batch", &s.batch}, {"pad", &s.pad}, {"epilogue", &s.epilogue}, {"algo", &s.algo}, {"order", &s.order}, {"attribute", &s.attribute}, {"again", &s.again}, {"expected", &s.expected}};
    const named_flag flags[] = {{"apart", &s.apart}, {"device_scalars", &s.device_scalars}, {"stream", &s.in_stream}, {"no_aux", &s.no_aux}};
    read_words(text, numbers, sizeof numbers / sizeof *numbers, flags, sizeof flags / sizeof *flags, &s.alpha, &s.beta);
    return s;
}

int main(int count, char **words)
{
    NEED(cublasLtCreate(&handle));
    NEED(cudaStreamCreate(&stream));
    for (int i = 1; i < count; i++) {
        const setting s = read_case(words[i]);
        const int a_rows = s.op_a ? s.k : s.m, b_rows = s.op_b ? s.n : s.k;
        a = make_matrix(s.type, a_rows, s.op_a ? s.m : s.k, a_rows + s.pad, s.batch, 1);
        b = make_matrix(s.type, b_rows, s.op_b ? s.k : s.n, b_rows + s.pad, s.batch, 2);
        d = make_matrix(s.out, s.m, s.n, s.m + s.pad, s.batch, 3);
        c = make_matrix(s.c_type >= 0 ? s.c_type : s.out, s.m, s.n, s.m + 2 * s.pad, s.batch, 4);
        bias = make_matrix(s.out, s.m, 1, s.m, 1, 5);
        aux = make_matrix(s.out, s.m, s.n, s.m + s.pad, 1, 6);
        const int before = fake_blaslt_calls(), status = multiply(&s), seen = fake_blaslt_calls() - before;
        NEED(cudaDeviceSynchronize());
        const bool wrong = status != s.expected || (seen != 0 && seen != s.again + 1) || (s.expected == 0 && s.order == 0 && (s.again == 0 || s.beta == 0) && wrong_elements(&s) > 0);
        printf("%s: %s%s\n", words[i], seen == 0 ? "served" : "passed on", wrong ? ", wrong" : "");
        matrix *const all[] = {&a, &b, &c, &d, &bias, &aux};
        for (int j = 0; j < 6; j++) free_matrix(all[j]);
    }
    NEED(cudaStreamDestroy(stream));
    NEED(cublasLtDestroy(handle));
    return 0;
}
