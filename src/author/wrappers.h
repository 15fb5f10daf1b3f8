/* SPDX-License-Identifier: MIT
 * The headers that a kernel may include, as shown to a model: every header of kernels/common with its comments, types and signatures. */
#ifndef GS_AUTHOR_WRAPPERS_H
#define GS_AUTHOR_WRAPPERS_H

#include "base/text.h"

void gs_wrappers_add(gs_text *out);

#endif
