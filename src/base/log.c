/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int current = -1;   /* -1: not read from the environment yet */

/* The callback. The lock keeps its fields consistent and is held during a call: after gs_log_drop_sink has returned, the callback is not called any more. sink_level tells
 * without the lock whether there is a callback. */
static pthread_rwlock_t sink_lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int       sink_level = -1;   /* -1: no callback */
static const void      *sink_owner;
static void           (*sink_line)(void *, int, const char *);
static void            *sink_self;

static int environment_level(void)
{
    int level = atomic_load(&current);
    if (level < 0) {
        const char *const text = getenv("GEMMSMITH_LOG");
        level = text && text[0] >= '0' && text[0] <= '4' && !text[1] ? text[0] - '0' : GS_LOG_OFF;
        atomic_store(&current, level);
    }
    return level;
}

int gs_log_level(void)
{
    const int level = atomic_load(&sink_level);
    return level >= 0 ? level : environment_level();
}

void gs_log_set_sink(const void *owner, void (*line)(void *self, int level, const char *text), void *self, int level)
{
    pthread_rwlock_wrlock(&sink_lock);
    sink_owner = owner;
    sink_line = line;
    sink_self = self;
    atomic_store(&sink_level, level < 0 ? 0 : level);
    pthread_rwlock_unlock(&sink_lock);
}

void gs_log_drop_sink(const void *owner)
{
    pthread_rwlock_wrlock(&sink_lock);
    if (sink_owner == owner) {
        sink_owner = NULL;
        sink_line = NULL;
        atomic_store(&sink_level, -1);
    }
    pthread_rwlock_unlock(&sink_lock);
}

/* Whether there was a callback that got the message. */
static bool to_sink(int level, const char *format, va_list values)
{
    char line[1024];
    pthread_rwlock_rdlock(&sink_lock);
    const bool taken = sink_line != NULL;
    if (taken) {
        vsnprintf(line, sizeof line, format, values);
        sink_line(sink_self, level, line);
    }
    pthread_rwlock_unlock(&sink_lock);
    return taken;
}

void gs_log_set_level(int level) { atomic_store(&current, level < 0 ? 0 : level); }

void gs_log(int level, const char *format, ...)
{
    static const char *const name[] = {"", "error", "warning", "info", "debug"};
    if (level > gs_log_level()) return;
    va_list values;
    va_start(values, format);
    const bool taken = atomic_load(&sink_level) >= 0 && to_sink(level, format, values);
    va_end(values);
    if (taken) return;
    char line[1024];
    int size = snprintf(line, sizeof line, "gemmsmith %s: ", name[level]);
    va_start(values, format);
    const int more = vsnprintf(line + size, sizeof line - (size_t)size - 1, format, values);
    va_end(values);
    size += more < 0 ? 0 : more;
    if (size > (int)sizeof line - 2) size = sizeof line - 2;
    line[size++] = '\n';
    /* a single write, so that lines of several processes do not mix; failing to write the log is no error */
    if (write(STDERR_FILENO, line, (size_t)size) < 0) return;
}
