/* SPDX-License-Identifier: MIT
 * The kernel that a completion may edit: the field `parent` of a request, with its texts or the name of a stored kernel. */
#ifndef GS_SERVICE_PARENT_H
#define GS_SERVICE_PARENT_H

#include "llm/completion.h"
#include "service/request.h"

/* The candidate of a completion; value: the field `parent`, NULL: absent, then edits are not accepted. field: its name in messages. Codes: PARSE, ARGUMENT
 * and RANGE for an invalid parent, ARGUMENT if the store does not have the kernel; MEMORY; the store's. A faulty completion is not an error: see out->fault. */
gs_status gs_service_completion_read(gs_completion *out, const char *text, size_t size, const json_t *value, const gs_service_terms *terms, const char *field, gs_error *error);

/* Keeps why there is no candidate, for the reply. MEMORY. */
gs_status gs_service_fault_keep(gs_service_item *item, const gs_error *fault, gs_error *error);

#endif
