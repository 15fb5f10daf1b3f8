/* SPDX-License-Identifier: MIT
 * What a problem asks for besides D = alpha A B + beta C, in the words of a kernel's contract: how its arguments say it. */
#ifndef GS_AUTHOR_TERMS_H
#define GS_AUTHOR_TERMS_H

#include "base/text.h"
#include "gemmsmith/problem.h"

/* A paragraph for each field of the problem's text form that is more than sizes, types, layout and leading dimensions; nothing for a plain product. */
void gs_source_add_terms(gs_text *out, const gs_problem *problem);

#endif
