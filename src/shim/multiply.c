/* SPDX-License-Identifier: MIT
 * Handling of a call of cuBLAS: convert it to a problem and serve it with a plan, else call the real function. */
#include "shim/shim.h"

#include <math.h>

#include "base/half.h"
#include "cublas/cublas.h"
#include "record/record.h"
#include "shim/check.h"
#include "shim/real.h"

enum { MATH_DEFAULT = 0, MATH_TENSOR_OP = 1, MATH_TF32 = 3, MATH_EXACT_REDUCTION = 16 };   /* cublasMath_t; MATH_EXACT_REDUCTION is a flag */

static _Thread_local int inside __attribute__((tls_model("initial-exec")));

bool gs_shim_is_inside(void) { return inside > 0; }
void gs_shim_enter(void) { inside++; }
void gs_shim_leave(void) { inside--; }

/* Other modes ask for more than sums in the compute type, rounded once to C's type, and are not served. TF32 concerns f32 operands only. */
static bool is_usual_math(int mode)
{
    const int rest = mode & ~MATH_EXACT_REDUCTION;
    return rest == MATH_DEFAULT || rest == MATH_TENSOR_OP || rest == MATH_TF32;
}

static float scalar_of(const gs_shim_call *call, const void *at)
{
    return call->compute == GS_CUBLAS_COMPUTE_16F ? gs_f16_to_f32(*(const uint16_t *)at) : *(const float *)at;
}

typedef struct asked {
    void      *stream;
    float      alpha, beta;
    gs_problem problem;
} asked;

/* Reads the handle's settings, and the scalars, which can be read only in host memory. */
static gs_shim_reason ask(const gs_shim_call *call, const gs_real_cublas *real, asked *out)
{
    int pointer_mode, math;
    if (!real->get_stream || !real->get_pointer_mode || !real->get_math_mode) return GS_SHIM_HANDLE;
    if (real->get_pointer_mode(call->handle, &pointer_mode) != GS_CUBLAS_SUCCESS || real->get_stream(call->handle, &out->stream) != GS_CUBLAS_SUCCESS ||
        real->get_math_mode(call->handle, &math) != GS_CUBLAS_SUCCESS) return GS_SHIM_HANDLE;
    if (!is_usual_math(math)) return GS_SHIM_MATH_MODE;
    if (pointer_mode != 0 || !call->alpha || !call->beta) return GS_SHIM_SCALARS;
    out->alpha = scalar_of(call, call->alpha);
    out->beta = scalar_of(call, call->beta);
    return GS_SHIM_SERVED;
}

/* In cuBLAS's interface C and D are one argument. */
static int again(const void *from, const void *c, void *d)
{
    gs_shim_call call = *(const gs_shim_call *)from;
    (void)c;
    call.c = d;
    return call.real(&call);
}

static gs_shim_reason serve(const gs_shim_call *call, gs_shim_mode mode)
{
    asked a;
    gs_shim_reason reason = gs_shim_describe(call, false, &a.problem);
    if (reason != GS_SHIM_SERVED) return reason;
    if (gs_shim_is_forked()) return GS_SHIM_FORKED;
    const gs_real_cublas *const real = call->library;
    const gs_shim_reason said = ask(call, real, &a);
    gs_recorder *const recorder = gs_recorder_of_environment();
    if (said == GS_SHIM_SERVED && a.beta != 0) a.problem.beta = 1;
    if (recorder && gs_problem_check(&a.problem, NULL) == GS_OK) gs_recorder_count(recorder, &a.problem, gs_shim_symbol(call->function));
    if (said != GS_SHIM_SERVED) return said;
    if (mode == GS_SHIM_RECORD) return GS_SHIM_RECORDED;
    if (call->pointers) return GS_SHIM_POINTERS;
    if (a.alpha == 0 || !isfinite(a.alpha) || !isfinite(a.beta)) return GS_SHIM_SCALARS;   /* with alpha 0, cuBLAS does not read A and B */
    if (!call->a || !call->b || !call->c) return GS_SHIM_SIZES;
    gs_shim_place *const place = gs_shim_place_now(real->emulated, &reason);
    if (!place) return reason;
    gs_args args = gs_args_make(call->b, call->a, a.beta != 0 ? call->c : NULL, call->c);
    if (a.alpha != 1) args.alpha = &a.alpha;
    if (a.beta != 0 && a.beta != 1) args.beta = &a.beta;
    return mode == GS_SHIM_CHECK ? gs_shim_check(place, &a.problem, &args, a.stream, call->function, again, call)
                                 : gs_shim_run(place, &a.problem, &args, a.stream, call->function);
}

int gs_shim_multiply(const gs_shim_call *call)
{
    if (inside > 0) return call->real(call);
    const gs_shim_mode mode = gs_shim_mode_now();
    inside++;
    const gs_shim_reason reason = mode == GS_SHIM_OFF ? GS_SHIM_IS_OFF : serve(call, mode);
    const int result = reason == GS_SHIM_SERVED ? GS_CUBLAS_SUCCESS : call->real(call);
    inside--;
    gs_shim_count(call->function, reason);
    return result;
}
