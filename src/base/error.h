/* SPDX-License-Identifier: MIT
 * Filling and forwarding gs_error. Every fallible internal call takes a gs_error *error that may be NULL. */
#ifndef GS_BASE_ERROR_H
#define GS_BASE_ERROR_H

#include <stddef.h>
#include <gemmsmith/status.h>

/* Fills *error (if not NULL) and returns status, so that `return gs_fail(...)` reads well. field may be NULL. */
gs_status gs_fail(gs_error *error, gs_status status, const char *field, const char *format, ...) GS_PRINTF(4, 5);

/* The same for an error in parsed text; column is 1-based. */
gs_status gs_fail_at(gs_error *error, gs_status status, int column, const char *field, const char *format, ...) GS_PRINTF(5, 6);

/* As gs_fail, from errno: ENOSPC becomes DISK_FULL, ENOMEM MEMORY, EINTR INTERRUPTED, the rest IO. path may be NULL. */
gs_status gs_fail_errno(gs_error *error, int error_number, const char *path, const char *what);

/* One line for the user: "k, column 12: must be a number (text cannot be read)". Returns text. */
char *gs_error_format(const gs_error *error, char *text, size_t size);

#define GS_TRY(call)                          \
    do {                                      \
        const gs_status gs_try_ = (call);     \
        if (gs_try_ != GS_OK) return gs_try_; \
    } while (0)

#define GS_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GS_MIN(a, b) ((a) < (b) ? (a) : (b))
#define GS_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
