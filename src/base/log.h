/* SPDX-License-Identifier: MIT
 * The log: one line per message, to standard error, silent unless asked for.
 * Level from $GEMMSMITH_LOG (0 off, 1 error, 2 warning, 3 info, 4 debug); the command line sets it with -v and --quiet. */
#ifndef GS_BASE_LOG_H
#define GS_BASE_LOG_H

#include <gemmsmith/status.h>

enum { GS_LOG_OFF, GS_LOG_ERROR, GS_LOG_WARNING, GS_LOG_INFO, GS_LOG_DEBUG };

int  gs_log_level(void);
void gs_log_set_level(int level);
/* Sends lines up to a level to a callback instead, without a line end and without the program's name, until its owner drops it. The last
 * one set counts. */
void gs_log_set_sink(const void *owner, void (*line)(void *self, int level, const char *text), void *self, int level);
void gs_log_drop_sink(const void *owner);

void gs_log(int level, const char *format, ...) GS_PRINTF(2, 3);

#endif
