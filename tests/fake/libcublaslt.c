/* SPDX-License-Identifier: MIT
 * A cuBLASLt without a GPU. It suggests algorithms from two lists of words "id:reduction", separated by blanks: $FAKE_CUBLASLT, and $FAKE_CUBLASLT_MASKED if the
 * preference masks reduction schemes. It refuses a mask that allows any scheme besides sums in the accumulator's type, unknown attributes, and matrices that do not fit
 * together. Nothing is computed: a test is told which algorithm a multiplication used (fake_cublaslt_hook) and its arguments (fake_cublaslt_call). $FAKE_CUBLASLT_PLAIN:
 * no epilogue is supported; $FAKE_CUBLASLT_STRIDED: no arrays of pointers; $FAKE_CUBLASLT_ALIGNMENT: the alignment that it reports (2). Checking an algorithm accepts
 * all matrices that fit together, with one byte of workspace for each column of D, unless there are more columns than $FAKE_CUBLASLT_COLUMNS. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cublas/cublas.h"
#include "cublaslt.h"

void (*fake_cublaslt_hook)(int id, void *stream);
fake_call fake_cublaslt_call;

typedef struct wishes {
    uint32_t mask;
} wishes;

#define CALL(type, name, ...) \
    type name(__VA_ARGS__); \
    type name(__VA_ARGS__)

typedef struct layout {
    uint64_t rows, cols;   /* column-major */
    uint32_t mode;         /* of a batch */
} layout;

typedef struct description {
    int32_t     op_a, op_b;
    uint32_t    epilogue;
    const void *bias;
    int64_t     bias_stride;
    const void *aux;
    int64_t     aux_ld, aux_stride;
} description;

static int object;

/* Whether the shapes fit D = op(A) op(B), with C like D. */
static bool fits(const description *desc, const layout *a, const layout *b, const layout *c, const layout *d)
{
    const uint64_t m = desc->op_a == GS_CUBLAS_OP_T ? a->cols : a->rows, k = desc->op_a == GS_CUBLAS_OP_T ? a->rows : a->cols;
    const uint64_t own_k = desc->op_b == GS_CUBLAS_OP_T ? b->cols : b->rows, n = desc->op_b == GS_CUBLAS_OP_T ? b->rows : b->cols;
    return k == own_k && d->rows == m && d->cols == n && c->rows == m && c->cols == n;
}

CALL(size_t, cublasLtGetVersion, void) { return 130100; }

CALL(int, cublasLtCreate, gs_lt_handle *out) { return *out = &object, GS_CUBLAS_SUCCESS; }
CALL(int, cublasLtDestroy, gs_lt_handle handle) { return handle == &object ? GS_CUBLAS_SUCCESS : GS_CUBLAS_INVALID_VALUE; }

CALL(int, cublasLtMatmulDescCreate, gs_lt_desc *out, int compute_type, int scale_type)
{
    if (compute_type < GS_CUBLAS_COMPUTE_16F || scale_type >= GS_CUBLAS_COMPUTE_16F) return GS_CUBLAS_INVALID_VALUE;   /* one type passed in place of the other */
    *out = calloc(1, sizeof(description));
    return *out ? GS_CUBLAS_SUCCESS : GS_CUBLAS_ALLOC_FAILED;
}
CALL(int, cublasLtMatmulDescDestroy, gs_lt_desc desc)
{
    free(desc);
    return GS_CUBLAS_SUCCESS;
}
CALL(int, cublasLtMatmulDescSetAttribute, gs_lt_desc desc, int attribute, const void *value, size_t size)
{
    description *const own = desc;
    void *const to = attribute == GS_LT_DESC_TRANSA ? (void *)&own->op_a : attribute == GS_LT_DESC_TRANSB ? (void *)&own->op_b
                   : attribute == GS_LT_DESC_EPILOGUE ? (void *)&own->epilogue : attribute == GS_LT_DESC_BIAS ? (void *)&own->bias
                   : attribute == GS_LT_DESC_BIAS_STRIDE ? (void *)&own->bias_stride : attribute == GS_LT_DESC_AUX ? (void *)&own->aux : attribute == GS_LT_DESC_AUX_LD ? (void *)&own->aux_ld
                   : attribute == GS_LT_DESC_AUX_STRIDE ? (void *)&own->aux_stride : NULL;
    if (!value || !to || size != (attribute >= GS_LT_DESC_BIAS ? 8 : 4)) return GS_CUBLAS_INVALID_VALUE;
    memcpy(to, value, size);
    return GS_CUBLAS_SUCCESS;
}

CALL(int, cublasLtMatrixLayoutCreate, gs_lt_layout *out, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    (void)type;
    if (rows == 0 || cols == 0 || ld < (int64_t)rows) return GS_CUBLAS_INVALID_VALUE;
    layout *const made = malloc(sizeof *made);
    *out = made;
    if (!made) return GS_CUBLAS_ALLOC_FAILED;
    *made = (layout){rows, cols, 0};
    return GS_CUBLAS_SUCCESS;
}
CALL(int, cublasLtMatrixLayoutDestroy, gs_lt_layout own)
{
    free(own);
    return GS_CUBLAS_SUCCESS;
}
CALL(int, cublasLtMatrixLayoutSetAttribute, gs_lt_layout own, int attribute, const void *value, size_t size)
{
    if (attribute == GS_LT_LAYOUT_BATCH_MODE && getenv("FAKE_CUBLASLT_STRIDED")) return GS_CUBLAS_INVALID_VALUE;
    if (attribute == GS_LT_LAYOUT_BATCH_MODE) ((layout *)own)->mode = *(const uint32_t *)value;
    return value && size > 0 ? GS_CUBLAS_SUCCESS : GS_CUBLAS_INVALID_VALUE;
}

CALL(int, cublasLtMatmulPreferenceCreate, gs_lt_preference *out)
{
    wishes *const made = calloc(1, sizeof *made);
    *out = made;
    return made ? GS_CUBLAS_SUCCESS : GS_CUBLAS_ALLOC_FAILED;
}
CALL(int, cublasLtMatmulPreferenceDestroy, gs_lt_preference preference)
{
    free(preference);
    return GS_CUBLAS_SUCCESS;
}
CALL(int, cublasLtMatmulPreferenceSetAttribute, gs_lt_preference to, int attribute, const void *value, size_t size)
{
    switch (attribute) {
    case GS_LT_PREF_WORKSPACE:
        return size == 8 ? GS_CUBLAS_SUCCESS : GS_CUBLAS_INVALID_VALUE;
    case GS_LT_PREF_REDUCTION_MASK:
        if (size != 4) return GS_CUBLAS_INVALID_VALUE;
        memcpy(&((wishes *)to)->mask, value, size);
        return ((wishes *)to)->mask == GS_LT_REDUCTION_COMPUTE_TYPE ? GS_CUBLAS_SUCCESS : GS_CUBLAS_INVALID_VALUE;
    case GS_LT_PREF_ALIGN_A: case GS_LT_PREF_ALIGN_B: case GS_LT_PREF_ALIGN_C: case GS_LT_PREF_ALIGN_D:
        return size == 4 ? GS_CUBLAS_SUCCESS : GS_CUBLAS_INVALID_VALUE;
    default:
        return GS_CUBLAS_INVALID_VALUE;
    }
}

CALL(int, cublasLtMatmulAlgoGetHeuristic, gs_lt_handle handle, gs_lt_desc desc, gs_lt_layout a, gs_lt_layout b, gs_lt_layout c, gs_lt_layout d,
                                   gs_lt_preference by, int asked, gs_lt_heuristic *results, int *returned)
{
    if (!handle || !desc || !a || !b || !c || !d || !fits(desc, a, b, c, d)) return GS_CUBLAS_INVALID_VALUE;
    const char *at = getenv(((wishes *)by)->mask ? "FAKE_CUBLASLT_MASKED" : "FAKE_CUBLASLT");
    *returned = 0;
    const description *const own = desc;
    if (own->epilogue & GS_LT_EPILOGUE_AUX && (!own->aux || own->aux_ld < (int64_t)((layout *)d)->rows || own->aux_ld % 8 || own->aux_stride % 8)) return GS_CUBLAS_INVALID_VALUE;
    if (!at || !*at || (((description *)desc)->epilogue && getenv("FAKE_CUBLASLT_PLAIN"))) return GS_CUBLAS_NOT_SUPPORTED;
    while (*at && *returned < asked) {
        char *end;
        gs_lt_heuristic *const one = &results[(*returned)++];
        *one = (gs_lt_heuristic){.waves = 1};
        one->algo.data[0] = strtoull(at, &end, 10);
        one->algo.data[1] = strtoull(end + 1, &end, 10);   /* after ':' */
        at = end + strspn(end, " ");
    }
    return GS_CUBLAS_SUCCESS;
}

CALL(int, cublasLtMatmulAlgoCheck, gs_lt_handle handle, gs_lt_desc desc, gs_lt_layout a, gs_lt_layout b, gs_lt_layout c, gs_lt_layout d, const gs_lt_algo *algo,
     gs_lt_heuristic *result)
{
    const char *const most = getenv("FAKE_CUBLASLT_COLUMNS");
    if (!handle || !algo || !fits(desc, a, b, c, d)) return GS_CUBLAS_INVALID_VALUE;
    if (most && ((layout *)d)->cols > strtoull(most, NULL, 10)) return GS_CUBLAS_NOT_SUPPORTED;
    *result = (gs_lt_heuristic){.workspace = ((layout *)d)->cols};
    return GS_CUBLAS_SUCCESS;
}

CALL(int, cublasLtMatmulAlgoConfigGetAttribute, const gs_lt_algo *algo, int attribute, void *value, size_t size, size_t *written)
{
    const uint32_t number = attribute == GS_LT_CONFIG_ID ? (uint32_t)algo->data[0] : attribute == GS_LT_CONFIG_REDUCTION ? (uint32_t)algo->data[1] : 0;
    memcpy(value, &number, size);
    *written = size;
    return GS_CUBLAS_SUCCESS;
}

CALL(int, cublasLtMatmulAlgoCapGetAttribute, const gs_lt_algo *algo, int attribute, void *value, size_t size, size_t *written)
{
    (void)algo;
    (void)attribute;
    const char *const set = getenv("FAKE_CUBLASLT_ALIGNMENT");
    const uint32_t bytes = set ? (uint32_t)atoi(set) : 2;
    memcpy(value, &bytes, size);
    *written = size;
    return GS_CUBLAS_SUCCESS;
}

CALL(int, cublasLtMatmul, gs_lt_handle handle, gs_lt_desc desc, const void *alpha, const void *a, gs_lt_layout a_layout, const void *b,
                   gs_lt_layout b_layout, const void *beta, const void *c, gs_lt_layout c_layout, void *d, gs_lt_layout d_layout,
                   const gs_lt_algo *algo, void *workspace, size_t workspace_size, void *stream)
{
    (void)handle; (void)alpha;
    fake_cublaslt_call = (fake_call){((description *)desc)->epilogue, ((description *)desc)->bias, c, d, *(const float *)beta, a, b, ((layout *)d_layout)->cols, workspace, workspace_size, 0,
                                     ((description *)desc)->aux, ((description *)desc)->aux_ld, ((description *)desc)->aux_stride};
    if (!fits(desc, a_layout, b_layout, c_layout, d_layout)) return GS_CUBLAS_INVALID_VALUE;
    const uint32_t modes[] = {((layout *)a_layout)->mode, ((layout *)b_layout)->mode, ((layout *)c_layout)->mode, ((layout *)d_layout)->mode};
    for (int i = 0; i < 4; i++) fake_cublaslt_call.by_pointers += modes[i] == GS_LT_BATCH_POINTERS;
    if (fake_cublaslt_hook) fake_cublaslt_hook((int)algo->data[0], stream);
    return GS_CUBLAS_SUCCESS;
}
