/* SPDX-License-Identifier: MIT
 * Describes, for a model, what a problem has beyond D = alpha A B + beta C (epilogue, groups, ...), and which kernel arguments carry it. */
#ifndef GS_AUTHOR_TERMS_H
#define GS_AUTHOR_TERMS_H

#include "base/text.h"
#include "gemmsmith/problem.h"

/* Appends a paragraph for each field of the problem's text form other than sizes, types, layout and leading dimensions; nothing for a plain product. */
void gs_source_add_terms(gs_text *out, const gs_problem *problem);

#endif
