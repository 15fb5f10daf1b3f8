/* SPDX-License-Identifier: MIT
 * Public structs that start with their size (gemmsmith/status.h has the rules). */
#ifndef GS_PROBLEM_SIZED_H
#define GS_PROBLEM_SIZED_H

#include <stddef.h>
#include <gemmsmith/status.h>

/* A struct that a caller gave, whose first member is its size: `named` bytes have names, `known` bytes this version knows, and those from
 * `named` on must be zero. ARGUMENT, UNSUPPORTED. what: "gs_args", for the message; make: its initialiser. */
gs_status gs_sized_check(const void *given, size_t named, size_t known, const char *what, const char *make, gs_error *error);

/* Copies one that passed the check to a struct of this version; what is not given becomes zero. */
void gs_sized_copy(void *to, const void *given, size_t known);

#endif
