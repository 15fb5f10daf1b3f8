/* SPDX-License-Identifier: MIT
 * Kernels that verification must see through, and honest ones that it must pass: what each does and which verdicts are right.
 * A build-time text, so that a test program needs no source tree. */
#ifndef GS_TESTS_GPU_WRONG_H
#define GS_TESTS_GPU_WRONG_H

#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "verify/verify.h"

#define WRONG(...) #__VA_ARGS__
static const char wrong_source[] =
    "#include \"common/args.h\"\n#include \"common/check.h\"\n#include \"common/convert.cuh\"\n"
#include "gpu/wrong/names.h"
#include "gpu/wrong/faults.cu"
    ;
#undef WRONG
#define WRONG(...) __VA_ARGS__
#include "gpu/wrong/names.h"
#undef WRONG

typedef struct wrong_case {
    int             fault;
    const char     *name;
    gs_verdict_code accepted[3];   /* any of these; GS_VERDICT_PASS (0) fills up, and alone means that it must pass */
} wrong_case;

static const wrong_case wrongs[] = {
    {HONEST,                  "honest",                             {GS_VERDICT_PASS}},
    {REVERSED,                "sums from the end of K",             {GS_VERDICT_PASS}},
    {INTERLEAVED,             "four interleaved f32 sums",          {GS_VERDICT_PASS}},
    {BLOCKWISE,               "f32 partial sums of K blocks",       {GS_VERDICT_PASS}},
    {PAIRWISE,                "f32 sums added in pairs",            {GS_VERDICT_PASS}},
    {WORKSPACE_WRITTEN_FIRST, "writes its workspace before use",    {GS_VERDICT_PASS}},
    {COUNTS_TICKETS,          "counts, and leaves zeros",           {GS_VERDICT_PASS}},
    {F16_SUM,                 "sums in f16",                        {GS_VERDICT_ACCUMULATOR}},
    {F16_PARTIALS,            "f16 partial sums of K blocks",       {GS_VERDICT_ACCUMULATOR, GS_VERDICT_CANCELLATION}},
    {SHORT_INPUTS,            "inputs cast to four bits",           {GS_VERDICT_EXACT}},
    {TRUNCATED,               "truncates the output",               {GS_VERDICT_BIAS}},
    {LOST_K_TAIL,             "drops the tail of K",                {GS_VERDICT_EXACT}},
    {LOST_LAST_BLOCK,         "drops the last block of K",          {GS_VERDICT_EXACT}},
    {DOUBLED_TERM,            "adds one term twice",                {GS_VERDICT_EXACT, GS_VERDICT_INDEX}},
    {SWAPPED_HALVES,          "swaps the halves of a tile",         {GS_VERDICT_INDEX}},
    {TRANSPOSED_TILE,         "transposes tiles",                   {GS_VERDICT_INDEX}},
    {MISSING_TILE,            "leaves out the last tile",           {GS_VERDICT_UNWRITTEN}},
    {ZERO_TILE,               "writes zeros into the last tile",    {GS_VERDICT_EXACT, GS_VERDICT_INDEX}},
    {EVEN_ROWS,               "writes even rows only",              {GS_VERDICT_UNWRITTEN}},
    {CONSTANT,                "writes a constant",                  {GS_VERDICT_INDEX, GS_VERDICT_EXACT}},
    {IGNORED_LD,              "takes n for the leading dimension",  {GS_VERDICT_GUARD, GS_VERDICT_UNWRITTEN}},
    {READS_C,                 "reads C although beta is 0",         {GS_VERDICT_SPECIAL}},
    {IGNORED_ALPHA,           "ignores alpha",                      {GS_VERDICT_EDGE}},
    {IGNORED_BETA,            "ignores beta",                       {GS_VERDICT_EDGE}},
    {SWALLOWED_NAN,           "turns NaN into 0",                   {GS_VERDICT_SPECIAL}},
    {CLAMPED_INF,             "clamps inf",                         {GS_VERDICT_SPECIAL}},
    {BEHIND_D,                "writes behind D",                    {GS_VERDICT_GUARD}},
    {BEFORE_D,                "writes before D",                    {GS_VERDICT_GUARD}},
    {IN_PADDING,              "writes into D's padding",            {GS_VERDICT_GUARD}},
    {BEHIND_WORKSPACE,        "writes behind its workspace",        {GS_VERDICT_GUARD}},
    {CHANGED_A,               "changes A",                          {GS_VERDICT_INPUT}},
    {CHANGED_B,               "changes B",                          {GS_VERDICT_INPUT}},
    {ADDS_TO_D,               "adds to D, hoping for zeros",        {GS_VERDICT_STATE}},
    {ADDS_TO_WORKSPACE,       "adds to workspace, hoping for zeros", {GS_VERDICT_STATE}},
    {LEAVES_TICKETS,          "counts, and leaves the count",       {GS_VERDICT_ZEROED}},
    {FINDS_OUTPUT,            "leaves D where it holds a number",    {GS_VERDICT_STATE}},
    {FINDS_MARK,              "finds its mark in the workspace",     {GS_VERDICT_STATE}},
    {REMEMBERS,               "computes on its first launch only",  {GS_VERDICT_STATE}},
    {CLOCKED_ORDER,           "sums in an order set by the clock",  {GS_VERDICT_REPEAT}},
    {CLOCKED_VALUE,           "adds 1 when the clock says so",      {GS_VERDICT_REPEAT}},
};

static inline bool wrong_accepts(const wrong_case *w, gs_verdict_code code)
{
    if (w->accepted[0] == GS_VERDICT_PASS) return code == GS_VERDICT_PASS;
    for (size_t i = 0; i < GS_COUNT(w->accepted); i++)
        if (w->accepted[i] != GS_VERDICT_PASS && w->accepted[i] == code) return true;
    return false;
}

/* Ragged for tiles of 16 and for K blocks, with padding behind D's rows. */
static inline gs_problem wrong_problem(gs_layout layout)
{
    gs_problem problem = gs_problem_make(GS_F16, layout, 200, 264, 520);
    problem.ldd = 272;
    return problem;
}

/* The kernel with its manifest, as a language model would hand it in. */
static inline gs_status wrong_kernel(const wrong_case *w, gs_layout layout, gs_kernel *kernel, gs_error *error)
{
    *kernel = (gs_kernel){.name = "wrong.cu", .source = wrong_source};
    gs_kernel_define(kernel, "GS_FAULT", w->fault);
    gs_kernel_define(kernel, "GS_LAYOUT", (int)layout);
    return gs_manifest_parse(&kernel->manifest,
        "manifest 1\n"
        "accumulator f32\n"
        "determinism bitwise\n"
        "align a=2 b=2 c=2 d=2\n"
        "workspace 64+m*n*batch*4\n"
        "zeroed 64\n"
        "entry gs_wrong\n"
        "grid cdiv(n,16) cdiv(m,16) batch\n"
        "block 16 16 1\n"
        "entry gs_wrong_end\n"
        "grid 1 1 1\n"
        "block 1 1 1\n", error);
}

#endif
