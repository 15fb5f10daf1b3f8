/* SPDX-License-Identifier: MIT
 * Fused multiply-add of f32 and f64, and the choice of faster functions for processors with an fma instruction. Without it, f32 is computed in f64: the product of two
 * f32 numbers is exact, and the sum of it and the third number is rounded to odd (its error is known exactly), so that rounding it to f32 is correct. */
#include "emu/isa/alu.h"

static gs_emu_result fma_f32(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const float *const a = gs_emu_f32(w, op->src[0]), *const b = gs_emu_f32(w, op->src[1]), *const c = gs_emu_f32(w, op->src[2]);
    float *const d = gs_emu_f32(w, op->dst);
    GS_EMU_EACH(l, lanes, d[l] = gs_emu_canonical((float)gs_emu_add_odd((double)a[l] * b[l], c[l])));
    return GS_EMU_NEXT;
}

static gs_emu_result fma_f64(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const double *const a = gs_emu_f64(w, op->src[0]), *const b = gs_emu_f64(w, op->src[1]), *const c = gs_emu_f64(w, op->src[2]);
    double *const d = gs_emu_f64(w, op->dst);
    GS_EMU_EACH(l, lanes, d[l] = fma(a[l], b[l], c[l]));
    return GS_EMU_NEXT;
}

/* With modifiers. */
static gs_emu_result fma_f32_rounded(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    double a[GS_EMU_LANES], b[GS_EMU_LANES], c[GS_EMU_LANES], out[GS_EMU_LANES];
    gs_emu_load_f32(w, op, op->src[0], a);
    gs_emu_load_f32(w, op, op->src[1], b);
    gs_emu_load_f32(w, op, op->src[2], c);
    if (op->flags & GS_EMU_M_RM) GS_EMU_ALL(l, GS_EMU_LANES, out[l] = gs_emu_add_odd_down(a[l] * b[l], c[l]));
    else GS_EMU_ALL(l, GS_EMU_LANES, out[l] = gs_emu_add_odd(a[l] * b[l], c[l]));
    gs_emu_store_rounded(w, op, lanes, out);
    return GS_EMU_NEXT;
}

/* A product and a sum that the assembler contracts to one instruction (run/contract.c). */
gs_emu_result gs_emu_fused_f32(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const float *const a = gs_emu_f32(w, op->src[0]), *const b = gs_emu_f32(w, op->src[1]), *const c = gs_emu_f32(w, op->src[2]);
    float *const d = gs_emu_f32(w, op->dst);
    const double product = op->flags & GS_EMU_FUSED_LESS_PRODUCT ? -1 : 1;
    const float other = op->flags & GS_EMU_FUSED_LESS_OTHER ? -1 : 1;
    GS_EMU_EACH(l, lanes, d[l] = gs_emu_canonical((float)gs_emu_add_odd(product * a[l] * b[l], other * c[l])));
    return GS_EMU_NEXT;
}

gs_emu_result gs_emu_fused_f64(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const double *const a = gs_emu_f64(w, op->src[0]), *const b = gs_emu_f64(w, op->src[1]), *const c = gs_emu_f64(w, op->src[2]);
    double *const d = gs_emu_f64(w, op->dst);
    const double product = op->flags & GS_EMU_FUSED_LESS_PRODUCT ? -1 : 1, other = op->flags & GS_EMU_FUSED_LESS_OTHER ? -1 : 1;
    GS_EMU_EACH(l, lanes, d[l] = fma(product * a[l], b[l], other * c[l]));
    return GS_EMU_NEXT;
}

/* ---- faster versions ---- */

#if defined(__FP_FAST_FMAF) && defined(__FP_FAST_FMA)
#define FUSED
#elif defined(__x86_64__) && defined(__GNUC__)
#define FUSED __attribute__((target("avx2,fma")))
#endif

#ifdef FUSED
FUSED static gs_emu_result fma_f32_fused(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const float *const a = gs_emu_f32(w, op->src[0]), *const b = gs_emu_f32(w, op->src[1]), *const c = gs_emu_f32(w, op->src[2]);
    float *const d = gs_emu_f32(w, op->dst);
    GS_EMU_EACH(l, lanes, d[l] = gs_emu_canonical(__builtin_fmaf(a[l], b[l], c[l])));
    return GS_EMU_NEXT;
}

FUSED static gs_emu_result fma_f64_fused(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    const double *const a = gs_emu_f64(w, op->src[0]), *const b = gs_emu_f64(w, op->src[1]), *const c = gs_emu_f64(w, op->src[2]);
    double *const d = gs_emu_f64(w, op->dst);
    GS_EMU_EACH(l, lanes, d[l] = __builtin_fma(a[l], b[l], c[l]));
    return GS_EMU_NEXT;
}

static bool has_fused(void)
{
#if defined(__FP_FAST_FMAF) && defined(__FP_FAST_FMA)
    return true;
#else
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}

gs_emu_exec *gs_emu_faster(gs_emu_exec *exec)
{
    if (exec != fma_f32 && exec != fma_f64) return exec;
    return !has_fused() ? exec : exec == fma_f32 ? fma_f32_fused : fma_f64_fused;
}
#else
gs_emu_exec *gs_emu_faster(gs_emu_exec *exec) { return exec; }
#endif

/* ---- the table; mad is the same instruction ---- */

#define ROW(name, need, may, exec) {name, GS_PTX_F32, GS_PTX_NONE, GS_EMU_FLOAT, need, may, exec, {GS_PTX_F32, GS_PTX_F32, GS_PTX_F32, GS_PTX_F32}}
#define MODIFIED GS_EMU_M_FTZ | GS_EMU_M_SAT
#define ROWS(name)                                                                                                               \
    ROW(name, GS_EMU_M_RN, 0, fma_f32), ROW(name, GS_EMU_M_RN, MODIFIED, fma_f32_rounded), ROW(name, GS_EMU_M_RZ, MODIFIED, fma_f32_rounded), \
    ROW(name, GS_EMU_M_RM, MODIFIED, fma_f32_rounded), ROW(name, GS_EMU_M_RP, MODIFIED, fma_f32_rounded),                        \
    {name, GS_PTX_F64, GS_PTX_NONE, GS_EMU_DOUBLE, GS_EMU_M_RN, 0, fma_f64, {GS_PTX_F64, GS_PTX_F64, GS_PTX_F64, GS_PTX_F64}}

static const gs_emu_row rows[] = {ROWS("fma"), ROWS("mad")};
const gs_emu_rows gs_emu_rows_fma = {rows, GS_COUNT(rows)};
