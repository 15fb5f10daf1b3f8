/* SPDX-License-Identifier: MIT
 * Verification with an epilogue: right kernels pass, and a kernel built for another epilogue is refused, whichever part of the epilogue differs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "common/epilogue.h"
#include "device/device.h"
#include "texts.h"
#include "verify/check_run.h"
#include "verifying.h"

/* The verdict on problem `asked` of the kernel simple built for problem `built`, with `from` in its source replaced by `to`, and with a workspace. */
static gs_verdict verdict_in(const char *asked, const char *built, const char *workspace, const char *from, const char *to)
{
    const gs_problem problem = problem_of(asked), other = problem_of(built);
    const gs_schedule schedule = schedule_of("simple");
    gs_error error = {0};
    gs_kernel kernel = {0};
    gs_contender contender;
    gs_verdict verdict;
    if (gs_kernel_build(&kernel, &schedule, &other, &device->caps, &error) != GS_OK) fail_msg("%s: %s", built, error.text);
    const char *const found = from ? strstr(kernel.source, from) : NULL;
    if (from && !found) fail_msg("%s is not in the source", from);
    const size_t before = found ? (size_t)(found - kernel.source) : strlen(kernel.source), size = strlen(kernel.source) + (found ? strlen(to) : 0) + 1;
    char *const source = malloc(size);
    snprintf(source, size, "%.*s%s%s", (int)before, kernel.source, found ? to : "", found ? found + strlen(from) : "");
    kernel.source = source;
    if ((workspace && gs_formula_set(&kernel.manifest.workspace, workspace, &error) != GS_OK) || gs_contender_kernel_own(&contender, device, built, &kernel, &error) != GS_OK ||
        gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = 3, .parts = GS_PART_ALL & ~(uint32_t)GS_PART_EDGES}, &verdict, &error) != GS_OK)
        fail_msg("%s: %s", asked, error.text);
    contender.destroy(&contender);
    free(source);
    return verdict;
}

static gs_verdict verdict_with(const char *asked, const char *built, const char *from, const char *to) { return verdict_in(asked, built, NULL, from, to); }
static gs_verdict verdict_of(const char *asked, const char *built) { return verdict_with(asked, built, NULL, NULL); }

/* cases: the problem, and the same problem with one thing changed */
static void wrong_epilogues(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *built;
    } cases[] = {
        {"f16:40x24x72:tn:ep=bias",                     "f16:40x24x72:tn"},
        {"f16:40x40x72:tn:ep=bias",                     "f16:40x40x72:tn:ep=bias_m"},
        {"bf16:40x24x72:tn:ep=bias_m",                  "bf16:40x24x72:tn"},
        {"f16:40x24x72:nn:ep=bias+gelu",                "f16:40x24x72:nn:ep=gelu"},
        {"f16:40x24x72:nn:ep=gelu",                     "f16:40x24x72:nn:ep=gelu_erf"},
        {"f16:40x24x72:nn:ep=gelu_erf",                 "f16:40x24x72:nn:ep=gelu"},
        {"bf16:40x24x72:tn:d=f32:ep=gelu",              "bf16:40x24x72:tn:d=f32:ep=gelu_erf"},
        {"f16:40x24x72:tn:d=f32:ep=silu",               "f16:40x24x72:tn:d=f32:ep=gelu"},
        {"bf16:40x24x72:tn:ep=silu",                    "bf16:40x24x72:tn"},
        {"f16:40x24x72:tn:beta=1:ep=relu+residual",     "f16:40x24x72:tn:beta=1:ep=relu"},
        {"f16:40x24x72:tn:beta=1:ep=relu",              "f16:40x24x72:tn:beta=1:ep=relu+residual"},
        {"f16:40x24x72:tn:beta=1:ep=bias+silu+residual", "f16:40x24x72:tn:ep=bias+silu"},
        {"bf16:40x24x72:tn:ep=silu+gate",               "bf16:40x24x72:tn:ep=gelu+gate"},
        {"bf16:40x24x72:tn:ep=silu+gate",               "bf16:40x24x72:tn:ep=silu+gate_i"},
        {"f16:40x24x72:nn:ep=bias+gelu+gate_i",         "f16:40x24x72:nn:ep=bias+gelu+gate"},
        {"f16:40x24x72:tn:ep=bias+relu+gate",           "f16:40x24x72:tn:ep=relu+gate"},
        {"bf16:40x24x72:tn:ep=silu+gate",               "bf16:40x24x72:tn:ldb=72:ep=silu"},
        {"f16:40x24x72:tn:acc=f16:ep=gelu_erf+gate",    "f16:40x24x72:tn:acc=f16:ep=gelu+gate"},
        {"f16:40x24x72:tn:beta=1:ep=silu+gate+residual", "f16:40x24x72:tn:ep=silu+gate"},
        {"f16:40x24x72:nn:ep=drelu",                    "f16:40x24x72:nn"},
        {"bf16:40x24x72:tn:d=f32:ep=drelu",             "bf16:40x24x72:tn:d=f32:ep=dgelu"},
        {"f16:40x24x72:tn:ldaux=25:ep=dgelu",           "f16:40x24x72:tn:ldaux=25:ep=dgelu_erf"},
        {"bf16:40x24x72:tn:ep=dgelu_erf",               "bf16:40x24x72:tn:ep=gelu_erf"},
        {"f16:40x24x72:tn:acc=f16:ep=dsilu",            "f16:40x24x72:tn:acc=f16:ep=drelu"},
        {"f16:40x24x72:tn:beta=1:ep=dsilu+residual",    "f16:40x24x72:tn:beta=1:ep=dsilu"},
        {"f16:40x24x72:tn:ep=bias+silu+aux",            "f16:40x24x72:tn:ep=silu+aux"},
        {"f16:40x24x72:tn:ep=scale_m",                  "f16:40x24x72:tn"},
        {"f16:40x40x72:tn:ep=scale_m+scale_n",          "f16:40x40x72:tn:ep=scale_m"},
        {"bf16:40x24x72:nn:ep=scale_m+scale_n+bias",    "bf16:40x24x72:nn:ep=scale_n+bias"},
        {"bf16:40x24x72:tn:d=f32:beta=1:ep=scale_n",    "bf16:40x24x72:tn:d=f32:beta=1"},
        {"f16:40x24x72:tn:acc=f16:ep=scale_m+gelu",     "f16:40x24x72:tn:acc=f16:ep=scale_m+silu"},
        {"bf16:40x24x72:tn:ep=scale_n+silu+gate",       "bf16:40x24x72:tn:ep=silu+gate"},
        {"f16:40x24x72:tn:g=3:ep=scale_m+scale_n",      "f16:40x24x72:tn:g=3:ep=scale_n"},
        {"f16:40x24x72:nn:b=2:beta=1:ep=scale_n+dgelu+residual", "f16:40x24x72:nn:b=2:beta=1:ep=dgelu+residual"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) {
        const gs_verdict right = verdict_of(cases[i].asked, cases[i].asked), wrong = verdict_of(cases[i].asked, cases[i].built);
        if (right.code != GS_VERDICT_PASS) fail_msg("%s: %s", cases[i].asked, right.reason);
        if (wrong.code == GS_VERDICT_PASS) fail_msg("%s passes as %s", cases[i].built, cases[i].asked);
        if (!strstr(wrong.reason, "epilogue")) fail_msg("%s as %s: %s", cases[i].built, cases[i].asked, wrong.reason);
    }
}

/* The gate's sum and up's sum are exchanged. */
static void exchanged(void **state)
{
    (void)state;
    static const char *const texts[] = {"bf16:40x24x72:tn:ep=silu+gate", "f16:40x24x72:nn:ep=gelu+gate_i", "f16:40x24x72:tt:d=f32:ep=relu+gate"};
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        const gs_verdict wrong = verdict_with(texts[i], texts[i], "gs_gated(p, gate, up", "gs_gated(p, up, gate");
        if (wrong.code == GS_VERDICT_PASS || !strstr(wrong.reason, "gate and up exchanged")) fail_msg("%s: %s", texts[i], wrong.reason);
    }
}

#define LAST "gs_finished(p, value, c, row, col, p.m, p.n, batch + group));\n"   /* followed by the statement that writes D */

/* A kernel of simple built for a problem (`built`; NULL: the one asked), with `from` replaced by `to` in its source: the verdict, and words of its reason. */
typedef struct judged {
    const char      *asked, *built, *from, *to, *reason;
    gs_verdict_code  code;
} judged;

static void expect_verdicts(const judged *cases, size_t count)
{
    for (size_t i = 0; i < count; i += VERIFYING_EACH) {
        const gs_verdict verdict = verdict_with(cases[i].asked, cases[i].built ? cases[i].built : cases[i].asked, cases[i].from, cases[i].to);
        if (verdict.code != cases[i].code || !strstr(verdict.reason, cases[i].reason))
            fail_msg("%s (%d): %s: %s", cases[i].asked, (int)i, gs_verdict_name(verdict.code), verdict.reason);
    }
}

/* The kernel does not write aux, writes wrong values there, or writes outside it. */
static void wrong_aux(void **state)
{
    (void)state;
    static const judged cases[] = {
        {"f16:40x24x72:tn:ep=bias+gelu+aux",         "f16:40x24x72:tn:ep=bias+gelu+aux", NULL, NULL, "the chosen tests passed", GS_VERDICT_PASS},
        {"f16:40x24x72:tn:ep=bias+gelu+aux",         "f16:40x24x72:tn:ep=bias+gelu", NULL, NULL, "never written; of aux", GS_VERDICT_UNWRITTEN},
        {"bf16:40x24x72:tn:ep=bias+relu+aux",        NULL, LAST, LAST "            gs_put_aux(p, 1.0f, row, col, p.m, p.n, 0);\n", "of aux", GS_VERDICT_EXACT},
        {"f16:40x24x72:tn:d=f32:beta=1:ep=silu+aux", NULL, LAST, LAST "            if (row == 7 && col == 5) gs_put_aux(p, value, row, col, p.m, p.n, 0);\n", "first (7, 5)", GS_VERDICT_EXACT},
        {"f16:40x24x72:nn:ldaux=30:ep=relu+aux",     NULL, LAST, LAST "            if (row + 1 < p.m) ((out_type *)p.aux)[row * p.ldaux + p.n] = 0;\n", "between aux's rows", GS_VERDICT_GUARD},
        {"f16:40x24x72:nn:ep=relu+aux",              NULL, LAST, LAST "            ((out_type *)p.aux)[p.m * p.ldaux] = 0;\n", "before or behind aux", GS_VERDICT_GUARD},
        {"f16:40x24x72:nn:ep=dgelu",                 NULL, LAST, LAST "            ((out_type *)p.aux)[5] = 0;\n", "changed its input aux", GS_VERDICT_INPUT},
        {"f16:40x24x72:nn:ldaux=25:ep=dgelu",        NULL, "gs_finished(p, value, c, row, col, p.m, p.n, batch + group)", "gs_finished(p, value, c, row / 2, col, p.m, p.n, batch + group)", "epilogue", GS_VERDICT_EXACT},
    };
    expect_verdicts(cases, GS_COUNT(cases));
}

#define LAST_GATED "gs_gated(p, gate, up, c, row, col, p.m, p.n, batch + group));\n"

/* The same with a gate: aux holds both halves, the activation's argument and its factor, each at its column of B. */
static void wrong_aux_of_a_gate(void **state)
{
    (void)state;
    static const judged cases[] = {
        {"f16:40x24x72:tn:ep=bias+gelu+gate+aux",      NULL, NULL, NULL, "the chosen tests passed", GS_VERDICT_PASS},
        {"bf16:40x21x72:nn:ldaux=44:b=2:beta=1:ep=scale_m+scale_n+silu+gate_i+residual+aux", NULL, NULL, NULL, "the chosen tests passed", GS_VERDICT_PASS},
        {"f16:40x24x72:tn:g=3:ep=bias+relu+gate+aux",  NULL, NULL, NULL, "the chosen tests passed", GS_VERDICT_PASS},
        {"f16:40x24x72:tn:ep=bias+gelu+gate+aux",      "f16:40x24x72:tn:ep=bias+gelu+gate", NULL, NULL, "never written; of aux", GS_VERDICT_UNWRITTEN},
        {"bf16:40x24x72:tn:ep=silu+gate+aux",          NULL, LAST_GATED, LAST_GATED "            gs_put_halves(p, up, gate, row, col, p.m, p.n, 0);\n", "of aux", GS_VERDICT_EXACT},
        {"bf16:40x24x72:nn:ep=silu+gate_i+aux",        NULL, LAST_GATED, LAST_GATED "            gs_put_halves(p, up, gate, row, col, p.m, p.n, 0);\n", "of aux", GS_VERDICT_EXACT},
        {"f16:40x24x72:tn:d=f32:ep=bias+silu+gate+aux", NULL, LAST_GATED, LAST_GATED "            if (row == 7 && col == 5) gs_put_aux(p, up, row, p.n + col, p.m, 2 * p.n, 0);\n", "first (7, 29)", GS_VERDICT_EXACT},
        {"f16:40x24x72:nn:ldaux=50:ep=relu+gate+aux",  NULL, LAST_GATED, LAST_GATED "            if (row + 1 < p.m) ((out_type *)p.aux)[row * p.ldaux + 2 * p.n] = 0;\n", "between aux's rows", GS_VERDICT_GUARD},
        {"f16:40x24x72:nn:ep=relu+gate+aux",           NULL, LAST_GATED, LAST_GATED "            ((out_type *)p.aux)[p.m * p.ldaux] = 0;\n", "before or behind aux", GS_VERDICT_GUARD},
    };
    expect_verdicts(cases, GS_COUNT(cases));
}

/* The kernel mishandles a bias, an aux or a C that is NaN, infinite, -0 or large. The part that runs the requested size must find it. */
static void unusual_operands(void **state)
{
    (void)state;
    static const char call[] = "gs_finished(p, value, c, row, col, p.m, p.n, batch + group)";
    static const struct {
        const char *asked, *instead;
    } cases[] = {
#define BIAS "gs_bias_of(p, row, col, p.m, p.n, batch + group)"
#define Z    "gs_aux_of(p, row, col, p.m, p.n, batch + group)"
#define D    "gs_finished(p, value, c, row, col, p.m, p.n, batch + group)"
        {"bf16:40x24x72:nn:ep=bias",       "(" BIAS " == " BIAS " ? " D " : value)"},
        {"f16:40x24x72:tn:ep=bias+relu",   "(fabsf(" BIAS ") < 70000.0f || " BIAS " != " BIAS " ? " D " : gs_activated(value))"},
        {"f16:40x24x72:nn:ep=drelu",       "(" Z " == " Z " ? " D " : 0.0f)"},
        {"f16:40x24x72:nn:ep=drelu",       "(__float_as_uint(" Z ") == 0x80000000u ? value : " D ")"},
        {"bf16:40x24x72:nn:ep=dgelu",      "(" Z " == " Z " ? " D " : value)"},
        {"bf16:40x24x72:nn:ep=dgelu_erf",  "(fabsf(" Z ") > 20.0f ? __int_as_float(0x7fffffff) : " D ")"},
        {"f16:40x24x72:tn:d=f32:ep=dsilu", "(" Z " > 20.0f && " Z " < 200.0f ? 0.0f : " D ")"},
        {"f16:12x24x90:nt:gk=6:beta=1",    "(terms == 0 ? " D " + 0.0f * c : " D ")"},
#undef BIAS
#undef Z
#undef D
    };
    for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) {
        const gs_verdict right = verdict_of(cases[i].asked, cases[i].asked), wrong = verdict_with(cases[i].asked, cases[i].asked, call, cases[i].instead);
        if (right.code != GS_VERDICT_PASS) fail_msg("%s: %s", cases[i].asked, right.reason);
        if (wrong.code == GS_VERDICT_PASS) fail_msg("%s (%d): passes", cases[i].asked, (int)i);
        if (wrong.part != 1 && (wrong.part != 3 || strstr(cases[i].asked, "beta") || strstr(cases[i].asked, "bias"))) fail_msg("%s (%d): part %d: %s", cases[i].asked, (int)i, wrong.part, wrong.reason);
    }
}

/* Scales are exchanged, taken from another row, applied too early or too late, rounded, mishandled where they are special values, or written to. */
static void wrong_scales(void **state)
{
    (void)state;
    static const char call[] = "gs_finished(p, value, c, row, col, p.m, p.n, batch + group)";
    static const judged cases[] = {
        /* 2^20 in the bias and both scales: intermediate values have more bits than an f32 */
        {"bf16:64x96x64:tt:d=f32:beta=1:ep=scale_m+scale_n+bias_m+relu+residual", NULL, NULL, NULL, "the chosen tests passed", GS_VERDICT_PASS},
        {"f16:40x40x72:tn:ep=scale_m+scale_n", NULL, call, "gs_finished(p, value * p.scale_m[col] * p.scale_n[row] / (p.scale_m[row] * p.scale_n[col]), c, row, col, p.m, p.n, batch + group)", "epilogue", GS_VERDICT_EXACT},
        {"f16:40x40x72:tn:ep=scale_m",         NULL, call, "value * p.scale_m[col]", "epilogue", GS_VERDICT_EXACT},
        {"bf16:40x40x72:tn:ep=scale_n",        NULL, call, "value * p.scale_n[row]", "epilogue", GS_VERDICT_EXACT},
        {"f16:40x24x72:nn:ep=scale_m+bias",    NULL, call, "(value + gs_bias_of(p, row, col, p.m, p.n, 0)) * p.scale_m[row]", "epilogue", GS_VERDICT_EXACT},
        {"f16:40x24x72:nn:beta=1:ep=scale_n",  NULL, call, "gs_plus_c(p, c, value) * p.scale_n[col]", "epilogue", GS_VERDICT_EXACT},
        {"f16:40x24x72:nn:ep=scale_m+relu",    NULL, call, "gs_activated(value) * p.scale_m[row]", "epilogue", GS_VERDICT_EXACT},
        {"bf16:40x24x72:tn:ep=scale_m",        NULL, call, "value * p.scale_m[row / 2 * 2]", "epilogue", GS_VERDICT_EXACT},
        {"bf16:40x24x72:tn:b=2:ep=scale_n",    NULL, call, "value * p.scale_n[batch * p.n + col]", "epilogue", GS_VERDICT_EXACT},
        {"bf16:40x24x72:tn:ep=scale_m",        NULL, call, "(p.scale_m[row] == 0.0f ? 0.0f : value * p.scale_m[row])", "drops NaN", GS_VERDICT_SPECIAL},
        {"bf16:40x24x72:tn:ep=scale_m",        NULL, call, "(p.scale_m[row] == p.scale_m[row] ? value * p.scale_m[row] : value)", "drops NaN", GS_VERDICT_SPECIAL},
        {"f16:40x24x72:tn:d=f32:ep=scale_n",   NULL, call, "value * fminf(fmaxf(p.scale_n[col], -65504.0f), 65504.0f)", "clamps inf", GS_VERDICT_SPECIAL},
        {"f16:40x24x72:tn:ep=scale_n",         NULL, call, "value * fabsf(p.scale_n[col])", "epilogue", GS_VERDICT_EXACT},
        {"f16:40x24x72:tn:d=f32:ep=scale_m",   NULL, call, "value * gs_bf16_to_f32(gs_f32_to_bf16(p.scale_m[row]))", "scales the other way", GS_VERDICT_EDGE},
        {"f16:40x24x72:tn:ep=scale_m",         NULL, call, "value * (fabsf(p.scale_m[row]) < 0x1p-23f ? 0.0f : p.scale_m[row])", "scales the other way", GS_VERDICT_EDGE},
        {"bf16:40x24x72:tn:ep=scale_m+scale_n", NULL, call, "value * p.scale_m[row] * (fabsf(p.scale_n[col]) > 500.0f && fabsf(p.scale_n[col]) < 0x1p127f ? copysignf(500.0f, p.scale_n[col]) : p.scale_n[col])", "scales the other way", GS_VERDICT_EDGE},
        {"f16:40x24x72:tn:ep=scale_m+scale_n", NULL, LAST, LAST "            ((float *)p.scale_n)[col] = 1.0f;\n", "changed its input scale_n", GS_VERDICT_INPUT},
        {"f16:40x24x72:tn:ep=scale_m+scale_n", NULL, LAST, LAST "            if (row == 0 && col == 0) ((float *)p.scale_m)[p.m] = 1.0f;\n", "before or behind scale_m", GS_VERDICT_GUARD},
    };
    expect_verdicts(cases, GS_COUNT(cases));
}

/* The kernel reads operands that an earlier launch has copied to the workspace. */
static void kept_operands(void **state)
{
    (void)state;
    static const char call[] = "gs_finished(p, value, c, row, col, p.m, p.n, batch + group)";
#define KEPT "((float *)p.workspace)[((batch * p.m + row) * p.n + col) * 2"
#define KEEP(what) "(" KEPT "] == 42.0f ? " KEPT " + 1] : ((" KEPT "] = 42.0f), (" KEPT " + 1] = " what ")))"
    static const struct {
        const char *asked, *from, *to;
    } cases[] = {
        {"bf16:40x24x72:nn:ep=bias",      call, "value + " KEEP("gs_bias_of(p, row, col, p.m, p.n, batch + group)")},
        {"bf16:40x24x72:nn:ep=dgelu",     call, "gs_sloped(value, " KEEP("gs_aux_of(p, row, col, p.m, p.n, batch + group)") ")"},
        {"f16:12x24x90:nt:gk=6",          "matrix_b(p, batch + group) + col * stride_b_n(p) + first * stride_b_k(p), stride_b_k(p), terms)",
                                          "matrix_b(p, batch + group) + col * stride_b_n(p) + first * stride_b_k(p), stride_b_k(p), (int)" KEEP("(float)terms") ")"},
    };
#undef KEEP
#undef KEPT
    for (size_t i = 0; i < GS_COUNT(cases); i += VERIFYING_EACH) {
        const gs_verdict right = verdict_in(cases[i].asked, cases[i].asked, "8*m*n*batch", NULL, NULL), wrong = verdict_in(cases[i].asked, cases[i].asked, "8*m*n*batch", cases[i].from, cases[i].to);
        if (right.code != GS_VERDICT_PASS) fail_msg("%s: %s", cases[i].asked, right.reason);
        if (wrong.code != GS_VERDICT_STATE || !strstr(wrong.reason, "from other data")) fail_msg("%s (%d): %s: %s", cases[i].asked, (int)i, gs_verdict_name(wrong.code), wrong.reason);
    }
}

/* C and D may be the same memory: here the kernel reads C after it has written D. */
static void in_place(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:40x24x72:tn:beta=1", "bf16:24x40x33:nn:d=f32:b=2:beta=0.5", "f16:40x24x72:nt:gk=3:beta=-1", "bf16:40x24x72:tn:beta=1:ep=bias+gelu+residual"};
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        const gs_verdict right = verdict_of(texts[i], texts[i]), wrong = verdict_with(texts[i], texts[i], "terms);\n#endif\n            const float c = GS_BETA ?",
            "terms);\n#endif\n            ((out_type *)p.d)[gs_row_of_d(p, batch, row) + col] = STORE_OUT(value);\n            const float c = GS_BETA ?");
        if (right.code != GS_VERDICT_PASS) fail_msg("%s: %s", texts[i], right.reason);
        if (wrong.code != GS_VERDICT_EXACT || !strstr(wrong.reason, "C and D are the same")) fail_msg("%s: %s: %s", texts[i], gs_verdict_name(wrong.code), wrong.reason);
    }
}

/* A bias that the kernel writes to is a changed input; the guard bands around the bias are checked too. */
static void bias_is_an_input(void **state)
{
    (void)state;
    static const char source[] =
        "#include \"common/args.h\"\n"
        "extern \"C\" __global__ void gs_kernel(const gs_kernel_args p)\n"
        "{\n"
        "    for (int i = threadIdx.x; i < p.m * p.n; i += blockDim.x) ((unsigned short *)p.d)[i] = 0;\n"
        "    if (threadIdx.x == 0) ((unsigned short *)p.bias)[AT] ^= 1;\n"
        "}\n";
    for (int beside = 0; beside < 2; beside++) {
        const gs_problem problem = problem_of("f16:8x16x8:tn:ep=bias");
        gs_error error = {0};
        gs_kernel kernel = {.name = "bias.cu", .source = source};
        gs_contender contender;
        gs_verdict verdict;
        gs_kernel_define(&kernel, "AT", beside ? 16 : 3);
        assert_int_equal(gs_manifest_parse(&kernel.manifest, "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid 1 1 1\nblock 32 1 1\n", &error), GS_OK);
        assert_int_equal(gs_contender_kernel_own(&contender, device, "bias", &kernel, &error), GS_OK);
        assert_int_equal(gs_verify(verifier, &contender, &problem, &(gs_verify_options){.seed = 3, .parts = GS_PART_MEMORY}, &verdict, &error), GS_OK);
        contender.destroy(&contender);
        if (verdict.code != (beside ? GS_VERDICT_GUARD : GS_VERDICT_INPUT) || !strstr(verdict.reason, "bias"))
            fail_msg("%s: %s", gs_verdict_name(verdict.code), verdict.reason);
    }
}

static double difference(double x, double y) { return fabs(x - y); }

/* Activations against other formulas of the same functions. */
static void activations(void **state)
{
    (void)state;
    for (double x = -20; x <= 20; x += 0.0625) {
        const double inner = 0.79788456080286536 * (x + 0.044715 * x * x * x);
        assert_true(difference(gs_activate(GS_ACTIVATION_NONE, x), x) == 0 && difference(gs_activate(GS_RELU, x), fmax(x, 0)) == 0);
        assert_true(difference(gs_activate(GS_GELU, x), 0.5 * x * (1 + tanh(inner))) < 1e-14 * (1 + fabs(x)));
        assert_true(difference(gs_activate(GS_GELU_ERF, x), 0.5 * x * (1 + erf(x * sqrt(0.5)))) < 1e-14 * (1 + fabs(x)));
        assert_true(difference(gs_activate(GS_SILU, x), 0.5 * x * (1 + tanh(x / 2))) < 1e-14 * (1 + fabs(x)));
    }
    for (int activation = GS_ACTIVATION_NONE; activation <= GS_SILU; activation++) {
        assert_true(isnan(gs_activate(activation, (double)NAN)));
        assert_true(gs_activate(activation, (double)INFINITY) == (double)INFINITY);
        assert_true(gs_activate(activation, (double)-INFINITY) == (activation == GS_ACTIVATION_NONE ? (double)-INFINITY : 0));
    }
}

/* Sums of columns that cover other rows, are not written, or are written out of bounds. */
static void wrong_sums(void **state)
{
    (void)state;
    static const judged cases[] = {
        {"f16:40x24x72:tn:beta=1:ep=drelu+dbias",  NULL, NULL, NULL, "the chosen tests passed", GS_VERDICT_PASS},
        {"f16:13x24x8:tn:b=3:se=30:ep=dbias",      NULL, NULL, NULL, "the chosen tests passed", GS_VERDICT_PASS},
        {"f16:40x24x72:tn:ep=dbias",               "f16:40x24x72:tn", NULL, NULL, "never written; of the gradient of the bias", GS_VERDICT_UNWRITTEN},
        {"bf16:40x24x72:tn:ep=dgelu+dbias",        NULL, "i < SUM_ROWS; i++) value", "i < SUM_ROWS - 1; i++) value", "of the gradient of the bias", GS_VERDICT_EXACT},
        {"f16:40x24x72:tn:d=f32:ep=dbias",         NULL, "= STORE_OUT(value);\n            }", "= STORE_OUT(value);\n                if (row == 39) value = 0;\n            }", "of the gradient of the bias", GS_VERDICT_EXACT},
        {"bf16:40x24x72:tn:ep=relu+dbias",         NULL, "    compute_and_sum(p, row, group);", "    compute_and_sum(p, row, group);\n    if (row == 0) ((out_type *)p.bias)[p.n] = 0;", "before or behind bias", GS_VERDICT_GUARD},
        {"f16:40x24x72:tn:g=5:ep=dbias",           NULL, NULL, NULL, "the chosen tests passed", GS_VERDICT_PASS},
        {"bf16:42x21x24:nn:gm=7:d=f32:beta=1:ep=dgelu+dbias", NULL, NULL, NULL, "the chosen tests passed", GS_VERDICT_PASS},
        {"f16:40x24x72:tn:g=5:ep=dbias",           "f16:40x24x72:tn:g=5", NULL, NULL, "never written; of the gradient of the bias", GS_VERDICT_UNWRITTEN},
        {"f16:40x24x72:tn:g=5:ep=dbias",           NULL, "[col] = sum;\n        sum = 0;", "[col] = sum;", "of the gradient of the bias", GS_VERDICT_EXACT},
        {"f16:40x24x72:tn:gm=5:ep=dbias",          NULL, "group[i], SUM_ROWS))[col] = sum;", "group[i], SUM_ROWS))[col] = sum * (group[i] == 4 ? 2 : 1);", "of the gradient of the bias", GS_VERDICT_EXACT},
        {"bf16:40x24x72:tn:g=5:ep=dbias",          NULL, "    compute_and_sum(p, row, group);", "    compute_and_sum(p, row, group);\n    if (row == 0) ((out_type *)p.bias)[5 * p.n] = 0;", "before or behind bias", GS_VERDICT_GUARD},
    };
    expect_verdicts(cases, GS_COUNT(cases));
}

/* Slopes against difference quotients of the activations. drelu is exact. */
static void slopes(void **state)
{
    (void)state;
    for (double z = -11; z <= 11; z += 0.0625) {
        for (int gradient = GS_DGELU; gradient <= GS_DSILU; gradient++) {
            const int of = gradient - GS_DRELU + GS_RELU;
            const double h = 1e-5, want = (gs_activate(of, z + h) - gs_activate(of, z - h)) / (2 * h);
            const gs_slope slope = gs_slope_of(gradient, z);
            if (difference(slope.value, want) > 1e-9 || slope.size < fabs(slope.value)) fail_msg("%d at %g: %g, want %g", gradient, z, slope.value, want);
        }
        assert_true(gs_slope_result(GS_DRELU, 3, z, 0, -1e9).value == (z > 0 ? 3 : 0));
    }
    for (int gradient = GS_DRELU; gradient <= GS_DSILU; gradient++) {
        assert_true(difference(gs_slope_result(gradient, 2, (double)INFINITY, 0, -1e9).value, 2) < 1e-12 && fabs(gs_slope_result(gradient, 2, (double)-INFINITY, 0, -1e9).value) < 1e-40);
        assert_true(isnan(gs_slope_result(gradient, (double)NAN, 1, 0, -1e9).value));
        assert_true(gradient == GS_DRELU || isnan(gs_slope_result(gradient, 1, (double)NAN, 0, -1e9).value));
    }
    assert_true(gs_slope_result(GS_DRELU, 5, (double)NAN, 0, -1e9).value == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations), cmocka_unit_test(wrong_epilogues), cmocka_unit_test(exchanged), cmocka_unit_test(wrong_aux), cmocka_unit_test(wrong_aux_of_a_gate), cmocka_unit_test(wrong_sums), cmocka_unit_test(slopes), cmocka_unit_test(wrong_scales), cmocka_unit_test(unusual_operands), cmocka_unit_test(kept_operands), cmocka_unit_test(in_place), cmocka_unit_test(bias_is_an_input),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
