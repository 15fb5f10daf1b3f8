/* SPDX-License-Identifier: MIT
 * The kernel that a completion may be edits of: the field `parent` of a request, its texts or the name of a stored kernel. */
#ifndef GS_SERVICE_PARENT_H
#define GS_SERVICE_PARENT_H

#include "llm/completion.h"
#include "service/request.h"

/* The candidate of a completion; value: the field, NULL: there is none, and the completion is whole. field: its name in reasons. Codes: PARSE, ARGUMENT and RANGE for a
 * parent that is none, ARGUMENT where the store has not the kernel; MEMORY; the store's. What is wrong with the completion is no error: out->fault says it. */
gs_status gs_service_completion_read(gs_completion *out, const char *text, size_t size, const json_t *value, const gs_service_terms *terms, const char *field, gs_error *error);

/* Keeps why there is no candidate, for the reply. MEMORY. */
gs_status gs_service_fault_keep(gs_service_item *item, const gs_error *fault, gs_error *error);

#endif
