/* SPDX-License-Identifier: MIT */
#include "torch/norm.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "cublas/rms_norm.h"
#include "torch/choice.h"
#include "torch/small.h"
#include "torch/staged.h"

enum { KINDS = 4 };   /* each type, rounded once and twice */

static const char WORD[] = ":rms_norm";
static const char SAID[] = "one kernel, behind which the next may begin early";

typedef struct loaded {
    gs_torch_small small;
    gs_rms_norm    norm;
} loaded;

static const char *const names[KINDS] = {"f16:rms_norm", "f16:rms_norm:rounded", "bf16:rms_norm", "bf16:rms_norm:rounded"};
static loaded all[GS_TORCH_DEVICES][KINDS];

static int kind_of(gs_type type, bool rounds) { return 2 * (type == GS_BF16) + rounds; }

typedef struct opening {
    loaded *l;
    int     kind;
} opening;

static gs_status open_norm(void *self, gs_device *device, gs_error *error)
{
    const opening *const o = self;
    const gs_status status = gs_rms_norm_open(&o->l->norm, device, o->kind / 2 ? GS_BF16 : GS_F16, o->kind % 2, error);
    if (status != GS_OK) gs_rms_norm_close(&o->l->norm);
    return status;
}

static gs_torch_reason ready(int number, int kind, const gs_stream *stream, bool emulated)
{
    loaded *const l = &all[number][kind];
    return gs_torch_small_ready(&l->small, &(opening){l, kind}, open_norm, number, stream, emulated, "norms are");
}

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

typedef struct norm_run {
    const loaded        *l;
    const gs_torch_norm *norm;
    gs_stream            stream;
} norm_run;

static int64_t pitch_of(const gs_torch_norm *norm) { return norm->x->size[0] > 1 ? norm->x->stride[0] : norm->x->size[1]; }

static gs_status launch(const norm_run *run, const void *x, const void *weight, void *result, gs_error *error)
{
    const gs_torch_norm *const norm = run->norm;
    return gs_rms_norm_run(&run->l->norm, norm->x->size[0], norm->x->size[1], x, pitch_of(norm), weight, norm->offset, norm->eps, result, run->stream, error);
}

static gs_status launch_staged(const void *self, const gs_torch_staged_operand *o, gs_error *error)
{
    return launch(self, (void *)(uintptr_t)o[0].there, (void *)(uintptr_t)o[1].there, (void *)(uintptr_t)o[2].there, error);
}

static gs_status run_staged(const norm_run *run, gs_error *error)
{
    const gs_torch_norm *const norm = run->norm;
    const size_t m = (size_t)norm->x->size[0], row = 2 * (size_t)norm->x->size[1], all_rows = (m - 1) * 2 * (size_t)pitch_of(norm) + row;
    gs_torch_staged_operand operands[] = {{norm->x->data, all_rows, false, 0}, {norm->weight ? norm->weight->data : NULL, row, false, 0}, {norm->result->data, m * row, true, 0}};
    return gs_torch_staged(run->l->small.device, operands, 3, launch_staged, run, error);
}

static gs_torch_reason run(int number, int kind, const gs_torch_norm *norm, gs_stream stream, bool emulated)
{
    gs_error error = {0};
    const norm_run one = {&all[number][kind], norm, emulated ? NULL : stream};
    if (gs_torch_is_forked()) return GS_TORCH_FORKED;   /* before a lock that another thread may have held */
    if (emulated) gs_torch_stage(true);
    gs_torch_reason reason = ready(number, kind, &stream, emulated);
    if (reason == GS_TORCH_FITS) {
        const gs_status status = emulated ? run_staged(&one, &error) : launch(&one, norm->x->data, norm->weight ? norm->weight->data : NULL, norm->result->data, &error);
        if (status != GS_OK) reason = GS_TORCH_RUN;
    }
    if (emulated) gs_torch_stage(false);
    if (error.text[0]) gs_log(GS_LOG_WARNING, "a norm is left to torch: %s", error.text);
    return reason;
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
    return gs_torch_small_count(&all[number][kind].small, run(number, kind, norm, stream, emulated));
}

/* ---- by name ---- */

bool gs_torch_is_norm(const char *text) { return strstr(text, WORD) != NULL; }

gs_status gs_torch_norm_prepare(int number, const char *norm, bool emulated, char *why, size_t size, gs_error *error)
{
    const int kind = gs_torch_small_place(norm, strlen(norm), names, KINDS);
    if (kind < 0) return gs_fail(error, GS_ERROR_PARSE, "problem", "'%.60s': expected f16 or bf16, %s, and :rounded or nothing", norm, WORD);
    if (number < 0 || number >= GS_TORCH_DEVICES) return gs_fail(error, GS_ERROR_RANGE, "device", "%d: at most %d", number, GS_TORCH_DEVICES - 1);
    if (emulated) gs_torch_stage(true);
    const gs_torch_reason reason = ready(number, kind, NULL, emulated);
    if (emulated) gs_torch_stage(false);
    gs_torch_small_say(&all[number][kind].small, reason, SAID, why, size);
    return GS_OK;
}

bool gs_torch_norm_report(int *line, char *text, size_t size)
{
    for (int number = 0; number < GS_TORCH_DEVICES; number++)
        for (int kind = 0; kind < KINDS; kind++)
            if (gs_torch_small_report(&all[number][kind].small, number, names[kind], "rms_norm", SAID, line, text, size)) return true;
    return false;
}
