/* SPDX-License-Identifier: MIT */
#include "torch/norm.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cublas/rms_norm.h"
#include "torch/choice.h"
#include "torch/small.h"

enum { KINDS = 4 };   /* each type, with one rounding or two */

static const char WORD[] = ":rms_norm";
static const char SAID[] = "one kernel; in a graph the next one may start before it ends";

typedef struct loaded {
    gs_torch_small small;
    gs_rms_norm    norm;
} loaded;

static const char *const names[KINDS] = {"f16:rms_norm", "f16:rms_norm:rounded", "bf16:rms_norm", "bf16:rms_norm:rounded"};
static loaded all[GS_TORCH_DEVICES][KINDS];

static int kind_of(gs_type type, bool rounds) { return 2 * (type == GS_BF16) + rounds; }

/* norm: NULL if the kernel is only prepared. */
typedef struct norm_call {
    loaded              *l;
    int                  kind;
    const gs_torch_norm *norm;
} norm_call;

static gs_status open_norm(void *self, gs_device *device, gs_error *error)
{
    const norm_call *const call = self;
    const gs_status status = gs_rms_norm_open(&call->l->norm, device, call->kind / 2 ? GS_BF16 : GS_F16, call->kind % 2, error);
    if (status != GS_OK) gs_rms_norm_close(&call->l->norm);
    return status;
}

static int64_t pitch_of(const gs_torch_norm *norm) { return norm->x->size[0] > 1 ? norm->x->stride[0] : norm->x->size[1]; }

static gs_status launch_norm(const void *self, void *const at[], gs_stream stream, gs_error *error)
{
    const norm_call *const call = self;
    const gs_torch_norm *const norm = call->norm;
    return gs_rms_norm_run(&call->l->norm, norm->x->size[0], norm->x->size[1], at[0], pitch_of(norm), at[1], norm->offset, norm->eps, at[2], stream, error);
}

static const gs_torch_small_kernel kernel = {"norms are", open_norm, launch_norm};

static bool is_other(const gs_torch_tensor *t, const gs_torch_tensor *like) { return t->type != like->type || (t->type != GS_F16 && t->type != GS_BF16); }

static gs_torch_reason check(const gs_torch_norm *norm)
{
    const gs_torch_tensor *const x = norm->x, *const weight = norm->weight, *const result = norm->result;
    if (is_other(x, result) || (weight && is_other(weight, result))) return GS_TORCH_TYPE;
    if (!x->here || !result->here || (weight && !weight->here)) return GS_TORCH_DEVICE;
    if (x->dim != 2 || result->dim != 2 || (weight && weight->dim != 1)) return GS_TORCH_SHAPE;
    const int64_t m = x->size[0], n = x->size[1];
    if (m < 1 || n < 1 || m > GS_MAX_EXTENT || n > GS_MAX_EXTENT || result->size[0] != m || result->size[1] != n || (weight && weight->size[0] != n)) return GS_TORCH_SHAPE;
    if ((n > 1 && (x->stride[1] != 1 || result->stride[1] != 1 || (weight && weight->stride[0] != 1))) || (m > 1 && (x->stride[0] < n || result->stride[0] != n))) return GS_TORCH_STRIDES;
    const bool in_place = x->data == result->data && (m == 1 || x->stride[0] == n);
    if ((!in_place && gs_torch_overlap(x, result)) || (weight && gs_torch_overlap(weight, result))) return GS_TORCH_OVERLAP;
    return GS_TORCH_FITS;
}

gs_torch_reason gs_torch_norm_run(int number, const gs_torch_norm *norm, gs_stream stream, bool emulated)
{
    gs_torch_reason reason = check(norm);
    if (reason == GS_TORCH_FITS && (number < 0 || number >= GS_TORCH_DEVICES)) reason = GS_TORCH_NO_GPU;
    if (reason != GS_TORCH_FITS) {
        gs_torch_count_passed(reason);
        return reason;
    }
    const int kind = kind_of((gs_type)norm->result->type, norm->rounds);
    const size_t m = (size_t)norm->x->size[0], row = 2 * (size_t)norm->x->size[1];
    norm_call call = {&all[number][kind], kind, norm};
    gs_torch_staged_operand operands[] = {{norm->x->data, (m - 1) * 2 * (size_t)pitch_of(norm) + row, false, 0}, {norm->weight ? norm->weight->data : NULL, row, false, 0}, {norm->result->data, m * row, true, 0}};
    return gs_torch_small_run(&call.l->small, &kernel, &call, number, operands, stream, emulated);
}

/* ---- by name ---- */

bool gs_torch_is_norm(const char *text) { return strstr(text, WORD) != NULL; }

gs_status gs_torch_norm_prepare(int number, const char *norm, bool emulated, char *why, size_t size, gs_error *error)
{
    const int kind = gs_torch_small_place(norm, strlen(norm), names, KINDS);
    if (kind < 0) return gs_fail(error, GS_ERROR_PARSE, "problem", "'%.60s': expected f16 or bf16, %s, and :rounded or nothing", norm, WORD);
    if (number < 0 || number >= GS_TORCH_DEVICES) return gs_fail(error, GS_ERROR_RANGE, "device", "%d: at most %d", number, GS_TORCH_DEVICES - 1);
    norm_call call = {&all[number][kind], kind, NULL};
    gs_torch_small_prepare(&call.l->small, &kernel, &call, number, emulated, SAID, why, size);
    return GS_OK;
}

bool gs_torch_norm_report(int *line, char *text, size_t size)
{
    for (int number = 0; number < GS_TORCH_DEVICES; number++)
        for (int kind = 0; kind < KINDS; kind++)
            if (gs_torch_small_report(&all[number][kind].small, number, names[kind], "rms_norm", SAID, line, text, size)) return true;
    return false;
}
