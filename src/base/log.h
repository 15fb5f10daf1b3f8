/* SPDX-License-Identifier: MIT
 * The log: one line per message, to standard error, silent unless asked for.
 * Level from $GEMMSMITH_LOG (0 off, 1 error, 2 warning, 3 info, 4 debug); the command line sets it with -v and --quiet. */
#ifndef GS_BASE_LOG_H
#define GS_BASE_LOG_H

#include <gemmsmith/status.h>

enum { GS_LOG_OFF, GS_LOG_ERROR, GS_LOG_WARNING, GS_LOG_INFO, GS_LOG_DEBUG };

int  gs_log_level(void);
void gs_log_set_level(int level);
/* Sends messages up to `level` to a callback instead of standard error, without line end and program name, until its owner drops it. Only the callback that was set last is
 * called. */
void gs_log_set_sink(const void *owner, void (*line)(void *self, int level, const char *text), void *self, int level);
void gs_log_drop_sink(const void *owner);

void gs_log(int level, const char *format, ...) GS_PRINTF(2, 3);

#endif
