/* SPDX-License-Identifier: MIT
 * Writing a verdict. */
#include <stdarg.h>
#include <stdio.h>

#include "verify/check_run.h"

/* "edge size 61x59x37, padded rows: ". Reasons are shown to models, so nothing in it may look like a position in a file. */
static int name_edge(const gs_problem *p, char *text, size_t size)
{
    gs_problem packed = gs_problem_make(p->in, p->layout, p->m, p->n, p->k);
    char batch[32] = "", scalars[64] = "";
    const bool padded = p->lda != packed.lda || p->ldb != packed.ldb || p->ldc != packed.ldc || p->ldd != packed.ldd;
    if (p->batch != 1) snprintf(batch, sizeof batch, ", batch of %lld%s", (long long)p->batch, p->matrices ? " by pointers" : "");
    if (p->groups) snprintf(batch, sizeof batch, ", %lld %sgroups", (long long)p->groups, p->grouping == GS_GROUPS_MASKED ? "masked " : "");
    if (p->grouping == GS_GROUPS_K) snprintf(batch, sizeof batch, ", %lld groups along K", (long long)p->batch);
    if (p->alpha != 1 || p->beta != 0) snprintf(scalars, sizeof scalars, ", alpha %g, beta %g", (double)p->alpha, (double)p->beta);
    return snprintf(text, size, "edge size %lldx%lldx%lld%s%s%s: ", (long long)p->m, (long long)p->n, (long long)p->k, padded ? ", padded rows" : "", batch,
                    scalars);
}

void gs_check_run_blame(gs_check_run *trial, gs_verdict_code code, int part, const char *format, ...)
{
    gs_verdict *const verdict = trial->verdict;
    verdict->code = code;
    verdict->part = part;
    gs_problem_format(&trial->asked, verdict->problem);
    va_list values;
    va_start(values, format);
    const int prefix = trial->edge ? name_edge(&trial->asked, verdict->reason, sizeof verdict->reason) : 0;
    vsnprintf(verdict->reason + prefix, sizeof verdict->reason - (size_t)prefix, format, values);
    va_end(values);
}
