/* SPDX-License-Identifier: MIT
 * Status codes and error messages of every gemmsmith call.
 *
 * A call returns GS_OK or a code of one of the groups below; the numbers never change once released. Calls that can report more take a gs_error (may be NULL), which
 * names the field at fault and its column. A pointer must not be NULL unless its comment allows it: calls that return a code then return ARGUMENT; for others the
 * behaviour is undefined.
 *
 * How structs grow: a struct that a caller passes (gs_problem, gs_args, gs_config, gs_plan_options) starts with its size as the caller was compiled, and ends with
 * reserved fields that are zero. An initialiser (gs_problem_make, gs_args_make, gs_config_default, gs_plan_options_default) sets both. A later version may name
 * reserved fields or append new ones; zero always means the behaviour of this version. A program that was compiled with an older, smaller struct keeps working. A size
 * too small for the named fields is refused with ARGUMENT; so is a struct larger than this version's if any byte beyond this version's size is not zero. A reserved
 * field that is not zero is refused with UNSUPPORTED. gs_error, which the library fills, has no size: it stays at 512 bytes. */
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

/* What went wrong, as one line for a person. The caller owns the struct; text is always terminated. */
typedef struct gs_error {
    gs_status status;
    int       column;      /* 1-based position in the text that was parsed; 0: not about a text */
    char      field[32];   /* name of the field at fault; empty: none */
    char      text[416];   /* the message, without the field and the column */
    uint64_t  reserved[7];
} gs_error;

/* A static string for every value, also an unknown one: "ok", "no usable driver", ... */
GS_API const char *gs_status_string(gs_status status);

/* The name of the code, a static string: "GS_ERROR_PARSE"; "GS_UNKNOWN" if there is no such code. */
GS_API const char *gs_status_name(gs_status status);

#ifdef __cplusplus
}
#endif
#endif
