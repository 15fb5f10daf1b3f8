/* SPDX-License-Identifier: MIT
 * Who came from whom: the kernels that models wrote for a problem, each under the one that it was made from. */
#ifndef GS_AUTHOR_ANCESTRY_H
#define GS_AUTHOR_ANCESTRY_H

#include "base/text.h"
#include "store/store.h"

/* Appends a line for every kernel that the store has of the problem on the device, behind the family or the kernel that it was made from, indented by its generation; the
 * fastest and its ancestors have a * in front. predicted: its times are of an emulated device. json: an object a line, with base and generation. *count: kernels. Codes: the store's; MEMORY. */
gs_status gs_ancestry_print(gs_text *out, gs_store *store, const char *device, const char *problem, bool predicted, bool json, int *count, gs_error *error);

#endif
