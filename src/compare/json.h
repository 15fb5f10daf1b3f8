/* SPDX-License-Identifier: MIT
 * Fields of JSON objects that may be missing. */
#ifndef GS_COMPARE_JSON_H
#define GS_COMPARE_JSON_H

#include <jansson.h>
#include <math.h>

static inline const char *gs_compare_string(const json_t *object, const char *name)   /* "" if absent */
{
    const char *const value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

static inline double gs_compare_number(const json_t *object, const char *name)   /* NAN if absent */
{
    const json_t *const value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

#endif
