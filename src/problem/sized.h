/* SPDX-License-Identifier: MIT
 * Public structs that start with their size (gemmsmith/status.h has the rules). */
#ifndef GS_PROBLEM_SIZED_H
#define GS_PROBLEM_SIZED_H

#include <stddef.h>
#include <gemmsmith/status.h>

/* Checks a caller's struct whose first member is its size. named: bytes up to the reserved fields of this version; known: sizeof the struct in this version. All bytes from
 * `named` on must be zero. Size too small or too large, or fields of a later version: ARGUMENT; reserved field set: UNSUPPORTED. what: "gs_args"; make: its initialiser. */
gs_status gs_sized_check(const void *given, size_t named, size_t known, const char *what, const char *make, gs_error *error);

/* Copies a struct that passed the check to a struct of this version (`known` bytes); members that the caller's version lacks become zero. */
void gs_sized_copy(void *to, const void *given, size_t known);

#endif
