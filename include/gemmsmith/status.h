/* SPDX-License-Identifier: MIT
 * Status codes and error messages of every gemmsmith call.
 *
 * A call returns GS_OK or a code of one of the groups below; the numbers never change once released.
 * Calls with more to report take a gs_error (may be NULL), which names the wrong field and its column.
 * A pointer must not be NULL where nothing says that it may be: calls that return a code answer ARGUMENT then, others are undefined.
 *
 * How structs grow: a struct that a caller passes (gs_problem, gs_args, gs_config, gs_plan_options) starts with its size, as the caller's compiler sees
 * it, and ends with reserved fields that are zero. An initialiser (gs_problem_make, gs_args_make, gs_config_default, gs_plan_options_default) sets both. A later version
 * gives names to reserved fields, or adds some behind them; zero always means what this version does. A program that was compiled with
 * an older, smaller struct keeps working. A size that is too small for the named fields is refused with ARGUMENT; so is a struct
 * that is larger than this version's, if any byte beyond is not zero; a reserved field that is not zero is refused with UNSUPPORTED.
 * gs_error, which the library fills, has no size: it stays at 512 bytes. */
#ifndef GEMMSMITH_STATUS_H
#define GEMMSMITH_STATUS_H

#include <stdint.h>

#if defined(__GNUC__)
#define GS_API __attribute__((visibility("default")))
#define GS_PRINTF(format_at, values_at) __attribute__((format(printf, format_at, values_at)))
#else
#define GS_API
#define GS_PRINTF(format_at, values_at)
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gs_status {
#define GS_STATUS(name, number, text) GS_##name = number,
#include <gemmsmith/status.def>
#undef GS_STATUS
} gs_status;

/* What went wrong, in one line for a person. The caller owns it; text is always terminated. */
typedef struct gs_error {
    gs_status status;
    int       column;      /* 1-based position in the text that was parsed; 0: not about a text */
    char      field[32];   /* name of the field at fault; empty: none */
    char      text[416];   /* the message, without the field and the column */
    uint64_t  reserved[7];
} gs_error;

/* "ok", "no usable driver", ... : a static string for every value, known or not. */
GS_API const char *gs_status_string(gs_status status);

/* "GS_ERROR_PARSE": the name of the code, a static string; "GS_UNKNOWN" for a value that is no code. */
GS_API const char *gs_status_name(gs_status status);

#ifdef __cplusplus
}
#endif
#endif
