/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int current = -1;   /* -1: not read from the environment yet */

int gs_log_level(void)
{
    int level = atomic_load(&current);
    if (level < 0) {
        const char *const text = getenv("GEMMSMITH_LOG");
        level = text && text[0] >= '0' && text[0] <= '4' && !text[1] ? text[0] - '0' : GS_LOG_OFF;
        atomic_store(&current, level);
    }
    return level;
}

void gs_log_set_level(int level) { atomic_store(&current, level < 0 ? 0 : level); }

void gs_log(int level, const char *format, ...)
{
    static const char *const name[] = {"", "error", "warning", "info", "debug"};
    if (level > gs_log_level()) return;
    char line[1024];
    int size = snprintf(line, sizeof line, "gemmsmith %s: ", name[level]);
    va_list values;
    va_start(values, format);
    const int more = vsnprintf(line + size, sizeof line - (size_t)size - 1, format, values);
    va_end(values);
    size += more < 0 ? 0 : more;
    if (size > (int)sizeof line - 2) size = sizeof line - 2;
    line[size++] = '\n';
    /* One write, so that lines of several processes do not mix; a log that cannot be written is no error. */
    if (write(STDERR_FILENO, line, (size_t)size) < 0) return;
}
