/* SPDX-License-Identifier: MIT
 * Reads attributes by number, as in cublasLt.h of CUDA 13.0. */
#include "shim/lt_describe.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "cublas/cublas.h"
#include "problem/layout.h"

enum { ATTRIBUTES = 64, VALUE = 16 };   /* attribute numbers that are queried; most bytes of a value */

enum { DESC_COMPUTE = 0, DESC_SCALE = 1, DESC_POINTER_MODE = 2, DESC_AUX = 11, DESC_AUX_LD = 12, DESC_AUX_STRIDE = 13, DESC_AUX_TYPE = 22, DESC_BIAS_TYPE = 26 };
enum { LAYOUT_TYPE = 0, LAYOUT_ORDER = 1, LAYOUT_ROWS = 2, LAYOUT_COLS = 3, LAYOUT_LD = 4, LAYOUT_PLANE = 7 };
enum { EPILOGUE_AUX = 128, EPILOGUE_DGELU = 64 | 128, EPILOGUE_BGRAD = 16 };

/* ---- default attributes ---- */

enum { LIBRARIES = 4 };   /* cuBLASLt's in one process; calls of more are passed on */

typedef struct fresh {
    const gs_real_cublaslt *of;       /* NULL: not known yet */
    uint8_t       size[ATTRIBUTES];   /* bytes of the value; 0: no such attribute */
    unsigned char value[ATTRIBUTES][VALUE];
} fresh;

static pthread_mutex_t learning = PTHREAD_MUTEX_INITIALIZER;
static fresh           of_f32[LIBRARIES], of_f16[LIBRARIES];

static bool learn(const gs_real_cublaslt *real, int compute, int scale, fresh *out)
{
    void *desc = NULL;
    if (!real->desc_create || !real->desc_destroy || !real->desc_get || !real->layout_get || real->desc_create(&desc, compute, scale) != GS_CUBLAS_SUCCESS) return false;
    for (int i = 0; i < ATTRIBUTES; i++) {
        size_t size = 0, written;
        if (real->desc_get(desc, i, NULL, 0, &size) != GS_CUBLAS_SUCCESS || size == 0) continue;
        if (size > VALUE || real->desc_get(desc, i, out->value[i], size, &written) != GS_CUBLAS_SUCCESS) size = VALUE + 1;   /* cannot be compared: no descriptor is accepted */
        out->size[i] = (uint8_t)size;
    }
    real->desc_destroy(desc);
    return true;
}

static const fresh *fresh_of(const gs_real_cublaslt *real, bool half)
{
    fresh *const all = half ? of_f16 : of_f32, *f = NULL;
    if (pthread_mutex_lock(&learning) != 0) return NULL;
    for (int i = 0; i < LIBRARIES && !f; i++)
        if (!all[i].of || all[i].of == real) f = &all[i];
    if (f && !f->of && (half ? learn(real, GS_CUBLAS_COMPUTE_16F, GS_CUDA_R_16F, f) : learn(real, GS_CUBLAS_COMPUTE_32F, GS_CUDA_R_32F, f))) f->of = real;
    pthread_mutex_unlock(&learning);
    return f && f->of ? f : NULL;
}

/* ---- reading ---- */

typedef struct reader {
    const gs_real_cublaslt *real;
    void *desc;
    bool  failed;
} reader;

static int64_t desc_number(reader *r, int attribute, size_t size)
{
    int64_t value = 0;
    size_t written;
    if (r->real->desc_get(r->desc, attribute, &value, size, &written) != GS_CUBLAS_SUCCESS) r->failed = true;
    return size == 4 ? (int32_t)value : value;
}

static void *desc_pointer(reader *r, int attribute)
{
    void *value = NULL;
    size_t written;
    if (r->real->desc_get(r->desc, attribute, &value, sizeof value, &written) != GS_CUBLAS_SUCCESS) r->failed = true;
    return value;
}

static bool is_read(int attribute)
{
    static const bool ours[ATTRIBUTES] = {[DESC_COMPUTE] = true, [DESC_SCALE] = true, [DESC_POINTER_MODE] = true, [GS_LT_DESC_TRANSA] = true, [GS_LT_DESC_TRANSB] = true, [GS_LT_DESC_EPILOGUE] = true,
        [GS_LT_DESC_BIAS] = true, [GS_LT_DESC_BIAS_STRIDE] = true, [DESC_AUX] = true, [DESC_AUX_LD] = true, [DESC_AUX_STRIDE] = true, [DESC_AUX_TYPE] = true, [DESC_BIAS_TYPE] = true};
    return ours[attribute];
}

static bool has_foreign(const gs_real_cublaslt *real, void *desc, const fresh *f)
{
    unsigned char value[VALUE];
    size_t written;
    for (int i = 0; i < ATTRIBUTES; i++) {
        if (f->size[i] == 0 || is_read(i)) continue;
        if (f->size[i] > VALUE || real->desc_get(desc, i, value, f->size[i], &written) != GS_CUBLAS_SUCCESS || memcmp(value, f->value[i], f->size[i]) != 0) return true;
    }
    return false;
}

typedef struct layout {
    int32_t  type, batch;
    int64_t  rows, columns, ld, stride;
    bool     usual;      /* column-major, not planar, batch by strides */
} layout;

static bool read_layout(const gs_real_cublaslt *real, void *from, layout *out)
{
    int32_t type = 0, order = 0, batch = 0;
    uint32_t mode = 0;
    int64_t plane = 0;
    uint64_t rows = 0, columns = 0;
    size_t written;
    *out = (layout){0};
    if (!from) return false;
    const bool good = real->layout_get(from, LAYOUT_TYPE, &type, sizeof type, &written) == GS_CUBLAS_SUCCESS && real->layout_get(from, LAYOUT_ORDER, &order, sizeof order, &written) == GS_CUBLAS_SUCCESS &&
                      real->layout_get(from, LAYOUT_ROWS, &rows, sizeof rows, &written) == GS_CUBLAS_SUCCESS && real->layout_get(from, LAYOUT_COLS, &columns, sizeof columns, &written) == GS_CUBLAS_SUCCESS &&
                      real->layout_get(from, LAYOUT_LD, &out->ld, sizeof out->ld, &written) == GS_CUBLAS_SUCCESS &&
                      real->layout_get(from, GS_LT_LAYOUT_BATCH_COUNT, &batch, sizeof batch, &written) == GS_CUBLAS_SUCCESS &&
                      real->layout_get(from, GS_LT_LAYOUT_BATCH_STRIDE, &out->stride, sizeof out->stride, &written) == GS_CUBLAS_SUCCESS &&
                      real->layout_get(from, LAYOUT_PLANE, &plane, sizeof plane, &written) == GS_CUBLAS_SUCCESS;
    if (real->layout_get(from, GS_LT_LAYOUT_BATCH_MODE, &mode, sizeof mode, &written) != GS_CUBLAS_SUCCESS) mode = 0;   /* before CUDA 13.0 there is only one mode */
    out->type = type;
    out->batch = batch;
    out->rows = (int64_t)rows;
    out->columns = (int64_t)columns;
    out->usual = order == 0 && plane == 0 && mode == 0;
    return good && rows <= GS_MAX_EXTENT && columns <= GS_MAX_EXTENT;
}

/* ---- the problem ---- */

static gs_shim_reason set_types(const layout *a, const layout *b, const layout *d, int64_t compute, int64_t scale, gs_lt_asked *out)
{
    gs_type second;
    gs_problem *const p = &out->problem;
    out->half = compute == GS_CUBLAS_COMPUTE_16F;
    if (!gs_shim_type(b->type, &p->in) || !gs_shim_type(a->type, &second) || !gs_shim_type(d->type, &p->out) || second != p->in || p->in == GS_F32) return GS_SHIM_TYPES;
    p->acc = out->half ? GS_F16 : GS_F32;
    if (out->half) return scale == GS_CUDA_R_16F && p->in == GS_F16 && p->out == GS_F16 ? GS_SHIM_SERVED : GS_SHIM_TYPES;
    return compute == GS_CUBLAS_COMPUTE_32F && scale == GS_CUDA_R_32F && (p->out == p->in || p->out == GS_F32) ? GS_SHIM_SERVED : GS_SHIM_TYPES;
}

/* Its A is our B (docs/internals/baseline.md). */
static gs_shim_reason set_matrices(const layout *a, const layout *b, const layout *c, const layout *d, int64_t op_a, int64_t op_b, gs_lt_asked *out)
{
    gs_problem *const p = &out->problem;
    if (!a->usual || !b->usual || !c->usual || !d->usual || op_a < 0 || op_a > 2 || op_b < 0 || op_b > 2) return GS_SHIM_LAYOUT;
    p->layout = (gs_layout)((op_a ? GS_TN : GS_NN) | (op_b ? GS_NT : GS_NN));
    p->n = d->rows;
    p->m = d->columns;
    p->k = op_a ? a->rows : a->columns;
    if ((op_a ? a->columns : a->rows) != p->n || (op_b ? b->columns : b->rows) != p->k || (op_b ? b->rows : b->columns) != p->m) return GS_SHIM_LAYOUT;
    if (a->batch != d->batch || b->batch != d->batch || c->batch != d->batch) return GS_SHIM_LAYOUT;
    if (p->m <= 0 || p->n <= 0 || p->k <= 0 || d->batch < 1) return GS_SHIM_SIZES;
    p->lda = b->ld;
    p->ldb = a->ld;
    p->ldc = c->ld;
    p->ldd = d->ld;
    p->batch = d->batch;
    out->c_differs = c->type != d->type || c->rows != d->rows || c->columns != d->columns;
    if (p->batch == 1) return GS_SHIM_SERVED;
    const bool good = gs_shim_stride(b->stride, p->lda, b->columns, &p->stride_a) && gs_shim_stride(a->stride, p->ldb, a->columns, &p->stride_b) &&
                      gs_shim_stride(c->stride, p->ldc, p->m, &p->stride_c) && gs_shim_stride(d->stride, p->ldd, p->m, &p->stride_d);
    return good && d->stride > 0 ? GS_SHIM_SERVED : GS_SHIM_SIZES;
}

static gs_shim_reason set_epilogue(reader *r, int d_type, gs_lt_asked *out)
{
    gs_problem *const p = &out->problem;
    const int64_t epilogue = desc_number(r, GS_LT_DESC_EPILOGUE, 4), bias_type = desc_number(r, DESC_BIAS_TYPE, 4), aux_type = desc_number(r, DESC_AUX_TYPE, 4);
    const int64_t rest = epilogue & ~(int64_t)(GS_LT_EPILOGUE_BIAS | EPILOGUE_AUX | EPILOGUE_BGRAD);
    const bool bias = epilogue & GS_LT_EPILOGUE_BIAS, gradient = epilogue & EPILOGUE_BGRAD, aux = epilogue & EPILOGUE_AUX;
    if (epilogue == GS_LT_EPILOGUE_NONE) return GS_SHIM_SERVED;
    if ((rest && rest != GS_LT_EPILOGUE_RELU && rest != GS_LT_EPILOGUE_GELU && rest != (EPILOGUE_DGELU & ~EPILOGUE_AUX)) || (!rest && epilogue != GS_LT_EPILOGUE_BIAS)) return GS_SHIM_EPILOGUE;
    p->activation = rest == GS_LT_EPILOGUE_RELU ? GS_RELU : rest == GS_LT_EPILOGUE_GELU ? GS_GELU : rest ? GS_DGELU : GS_ACTIVATION_NONE;
    const bool backward = p->activation == GS_DGELU;
    /* the aux of relu is a bit mask */
    if ((aux && p->activation == GS_RELU) || (gradient && (!backward || p->batch > 1)) || (backward && (!aux || bias))) return GS_SHIM_EPILOGUE;
    if (bias || gradient) {
        p->bias = gradient ? GS_DBIAS : GS_BIAS_N;
        out->bias = desc_pointer(r, GS_LT_DESC_BIAS);
        p->stride_bias = p->batch > 1 ? desc_number(r, GS_LT_DESC_BIAS_STRIDE, 8) : 0;
        if (!out->bias || p->stride_bias < 0 || (bias_type >= 0 && bias_type != d_type)) return GS_SHIM_EPILOGUE;
    }
    if (aux) {
        p->aux = !backward;
        out->aux = desc_pointer(r, DESC_AUX);
        p->ldaux = desc_number(r, DESC_AUX_LD, 8);
        const int64_t stride = p->batch > 1 ? desc_number(r, DESC_AUX_STRIDE, 8) : 0;
        if (!out->aux || (aux_type >= 0 && aux_type != d_type) || stride < 0 || (p->batch > 1 && stride == 0)) return GS_SHIM_EPILOGUE;
        p->stride_aux = stride == gs_packed_stride(p->ldaux, p->m) ? 0 : stride;
        if (p->ldaux == p->n) p->ldaux = 0;
    }
    return GS_SHIM_SERVED;
}

static gs_shim_reason describe(reader *r, void *a, void *b, void *c, void *d, gs_lt_asked *out)
{
    layout la, lb, lc, ld;
    gs_shim_reason reason;
    if (!read_layout(r->real, a, &la) || !read_layout(r->real, b, &lb) || !read_layout(r->real, c, &lc) || !read_layout(r->real, d, &ld)) return GS_SHIM_LAYOUT;
    if ((reason = set_types(&la, &lb, &ld, desc_number(r, DESC_COMPUTE, 4), desc_number(r, DESC_SCALE, 4), out)) != GS_SHIM_SERVED) return reason;
    const fresh *const f = fresh_of(r->real, out->half);
    if (!f || has_foreign(r->real, r->desc, f)) return GS_SHIM_ATTRIBUTE;
    if ((reason = set_matrices(&la, &lb, &lc, &ld, desc_number(r, GS_LT_DESC_TRANSA, 4), desc_number(r, GS_LT_DESC_TRANSB, 4), out)) != GS_SHIM_SERVED) return reason;
    if ((reason = set_epilogue(r, ld.type, out)) != GS_SHIM_SERVED) return reason;
    if (desc_number(r, DESC_POINTER_MODE, 4) != 0) return GS_SHIM_SCALARS;
    return r->failed ? GS_SHIM_ATTRIBUTE : GS_SHIM_SERVED;
}

void gs_lt_describe(const gs_real_cublaslt *real, void *desc, void *a, void *b, void *c, void *d, gs_lt_asked *out)
{
    reader r = {.real = real, .desc = desc};
    *out = (gs_lt_asked){.problem = {.size = sizeof out->problem, .alpha = 1}};
    out->reason = !desc || !real->desc_get || !real->layout_get ? GS_SHIM_HANDLE : describe(&r, a, b, c, d, out);
}
