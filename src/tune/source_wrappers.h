/* SPDX-License-Identifier: MIT
 * What a kernel may include, as a model is told: every header of kernels/common with its comments, types and signatures. Inside the tune layer. */
#ifndef GS_TUNE_SOURCE_WRAPPERS_H
#define GS_TUNE_SOURCE_WRAPPERS_H

#include "base/text.h"

void gs_wrappers_add(gs_text *out);

#endif
