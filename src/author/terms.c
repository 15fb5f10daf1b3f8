/* SPDX-License-Identifier: MIT */
#include "author/terms.h"

#include "problem/layout.h"

static void add_bias(gs_text *out, const gs_problem *p)
{
    const char *const elements = p->gate ? "2N" : "N";
    if (p->bias == GS_BIAS_M) gs_text_add(out, "- `bias_m`: the bias is `p.bias`, M elements of D's type, one for each row.\n");
    if (p->bias == GS_BIAS_N) gs_text_addf(out, "- `bias`: the bias is `p.bias`, %s elements of D's type, one for each column%s.\n", elements, p->groups ? "; each group has its own" : "");
    if (p->bias == GS_DBIAS)
        gs_text_addf(out, "- `dbias`: the sum of each column of D, before it is rounded, is written to `p.bias`, N elements of D's type, in a fixed order%s.\n",
                     p->groups ? "; each group's rows have sums of their own, one behind the other" : "; of all matrices, or `p.stride_bias` apart for each where that is not 0");
}

static void add_activation(gs_text *out, const gs_problem *p)
{
    if (p->activation == GS_GELU || p->activation == GS_GELU_ERF || p->activation == GS_SILU)
        gs_text_add(out, "- `gelu` is the approximation by tanh, `gelu_erf` the exact one, `silu` x / (1 + exp(-x)). Results near 0 of negative sums must keep their relative accuracy:\n"
                         "  x / (1 + exp(-2 u)) and x/2 erfc(-x / sqrt 2), not 1 + tanh(u) or 1 + erf.\n");
    if (p->activation >= GS_DRELU)
        gs_text_add(out, "- `drelu`, `dgelu`, `dgelu_erf`, `dsilu`: D = (alpha A B + beta C) activation'(aux), where aux, of D's type, is read from `p.aux`, rows `p.ldaux` elements apart.\n");
    if (p->residual) gs_text_add(out, "- `residual`: beta C is added behind the activation, not before it.\n");
    if (p->gate)
        gs_text_add(out, "- `gate`: B has 2N columns, the N of the gate and then the N of up (`gate_i`: in turn), the bias too. D = activation(alpha A B_gate + bias_gate) *\n"
                         "  (alpha A B_up + bias_up), plus beta C with `residual`; n stays the width of D.\n");
    if (p->aux)
        gs_text_addf(out, "- `aux`: what the activation is applied to is written, rounded, to `p.aux` as well, rows `p.ldaux` elements apart%s.\n",
                     p->gate ? "; with a gate 2N columns, in the order of B's" : "");
}

static void add_scales(gs_text *out, const gs_problem *p)
{
    if (p->scales)
        gs_text_addf(out, "- `scale_m`, `scale_n`: alpha A B is multiplied by `p.scale_m[row]` (M numbers), by `p.scale_n[column]` (%s numbers%s), before anything is added. f32.\n",
                     p->gate ? "2N" : "N", p->groups ? ", a row of these for each group" : "");
    if (p->scalars) gs_text_add(out, "- `scalars=device`: alpha and beta are in device memory, `*p.alpha_at` and `*p.beta_at`; if the problem's beta is 0, `p.beta_at` may be NULL, which counts as 0; `p.alpha` and `p.beta` say nothing.\n");
}

static void add_places(gs_text *out, const gs_problem *p)
{
    if (gs_problem_wants(p) & GS_WANTS_STRIDES)
        gs_text_add(out, "- strides (`sa=` to `se=`, `saux=`): `p.stride_a` to `p.stride_d`, `p.stride_bias`, `p.stride_aux` elements lie between a matrix of the batch and the next; 0: all are one.\n");
    if (p->matrices == GS_MATRICES_POINTERS)
        gs_text_add(out, "- `matrices=pointers`: `p.a`, `p.b`, `p.c` and `p.d` are arrays in device memory, of a pointer to each matrix of the batch. A tensor map cannot be used.\n");
    if (p->groups && p->grouping == GS_GROUPS_SORTED)
        gs_text_add(out, "- `g=`: rows `p.offsets[i]` to `p.offsets[i + 1] - 1` of A and D (and of C and aux) are group i's, multiplied by the i-th matrix of B. A group may be empty. Rows from\n"
                         "  `p.offsets[g]` on are not written. The offsets are in device memory and change between launches.\n");
    if (p->groups && p->grouping == GS_GROUPS_MASKED)
        gs_text_add(out, "- `gm=`: each group has M / gm rows of A and D (and of C and aux), and a matrix of B. The first `p.offsets[i]` rows of group i are multiplied; those behind are not written. The\n"
                         "  counts are in device memory and change between launches.\n");
    if (p->grouping == GS_GROUPS_K)
        gs_text_add(out, "- `gk=`: matrix i of D (`p.batch` of them) is the product of k from `p.offsets[i]` to `p.offsets[i + 1] - 1` of the one A and the one B; `p.k` is the capacity. An empty group\n"
                         "  gives beta C. The offsets are in device memory and change between launches.\n");
}

void gs_source_add_terms(gs_text *out, const gs_problem *problem)
{
    if (gs_problem_wants(problem) & GS_WANTS_MORE) gs_text_add(out, "- The source begins with `#define GS_MORE`: `p` then has the members that are named below.\n");
    add_bias(out, problem);
    add_activation(out, problem);
    add_scales(out, problem);
    add_places(out, problem);
    if (problem->constant)
        gs_text_add(out, "- `const=b`: B does not change while work is under way. A source that begins with `#define GS_MORE` and `#define GS_EARLY_B 1`, of an entry that is `dependent`, finds in\n"
                         "  `p.early_b` whether this launch may read B before its `griddepcontrol.wait`. Nothing else may be touched there.\n");
    if (problem->invariant)
        gs_text_add(out, "- `inv=1`: the bits of a row of D may depend neither on M, nor on what the other rows hold, nor on where among them the row stands: sums of an element are added in one order.\n");
}
