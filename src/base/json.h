/* SPDX-License-Identifier: MIT
 * Writing JSON into a gs_text. The writer places commas; the caller balances begin and end.
 * Infinities and NaN are written as null. Reading JSON is done with jansson, outside the library. */
#ifndef GS_BASE_JSON_H
#define GS_BASE_JSON_H

#include "base/text.h"

typedef struct gs_json {
    gs_text *out;
    bool     comma;   /* the next value at this level needs one */
} gs_json;

static inline gs_json gs_json_into(gs_text *out) { return (gs_json){out, false}; }

/* name is NULL inside an array and at the top. */
void gs_json_begin(gs_json *json, const char *name, char bracket);   /* '{' or '[' */
void gs_json_end(gs_json *json, char bracket);                       /* '}' or ']' */
void gs_json_string(gs_json *json, const char *name, const char *value); /* value NULL: null; invalid UTF-8 becomes U+FFFD */
void gs_json_int(gs_json *json, const char *name, int64_t value);
void gs_json_double(gs_json *json, const char *name, double value);  /* shortest of 6, 9, 17 digits that reads back equal */
void gs_json_bool(gs_json *json, const char *name, bool value);

#endif
