/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *gs_status_string(gs_status status)
{
    switch (status) {
#define GS_STATUS(name, number, text) case GS_##name: return text;
#include <gemmsmith/status.def>
#undef GS_STATUS
    }
    return "unknown status";
}

const char *gs_status_name(gs_status status)
{
    switch (status) {
#define GS_STATUS(name, number, text) case GS_##name: return "GS_" #name;
#include <gemmsmith/status.def>
#undef GS_STATUS
    }
    return "GS_UNKNOWN";
}

static void fill(gs_error *error, gs_status status, int column, const char *field, const char *format, va_list values)
{
    memset(error, 0, sizeof *error);
    error->status = status;
    error->column = column;
    if (field) snprintf(error->field, sizeof error->field, "%s", field);
    vsnprintf(error->text, sizeof error->text, format, values);
}

gs_status gs_fail(gs_error *error, gs_status status, const char *field, const char *format, ...)
{
    if (error) {
        va_list values;
        va_start(values, format);
        fill(error, status, 0, field, format, values);
        va_end(values);
    }
    return status;
}

gs_status gs_fail_at(gs_error *error, gs_status status, int column, const char *field, const char *format, ...)
{
    if (error) {
        va_list values;
        va_start(values, format);
        fill(error, status, column, field, format, values);
        va_end(values);
    }
    return status;
}

gs_status gs_fail_errno(gs_error *error, int error_number, const char *path, const char *what)
{
    gs_status status = GS_ERROR_IO;
    if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) status = GS_ERROR_DISK_FULL;
    if (error_number == ENOMEM) status = GS_ERROR_MEMORY;
    if (error_number == EINTR) status = GS_ERROR_INTERRUPTED;
    return gs_fail(error, status, NULL, "%s%s%s: %s", path ? path : "", path ? ": " : "", what, strerror(error_number));
}

char *gs_error_format(const gs_error *error, char *text, size_t size)
{
    char place[64] = "";
    if (error->field[0] && error->column > 0)
        snprintf(place, sizeof place, "%s, column %d: ", error->field, error->column);
    else if (error->field[0])
        snprintf(place, sizeof place, "%s: ", error->field);
    else if (error->column > 0)
        snprintf(place, sizeof place, "column %d: ", error->column);
    snprintf(text, size, "%s%s (%s)", place, error->text, gs_status_string(error->status));
    return text;
}
