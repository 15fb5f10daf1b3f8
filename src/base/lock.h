/* SPDX-License-Identifier: MIT
 * A lock beside a file, so that several processes that read it, change it and write it anew all keep their changes. */
#ifndef GS_BASE_LOCK_H
#define GS_BASE_LOCK_H

#include <gemmsmith/status.h>

/* Waits for the lock "<path>.lock", whose folder is made where it is missing; close(*lock) ends it. ARGUMENT: the path is too long, or what is
 * there is no regular file; IO: also where a stop was requested while it waited. */
gs_status gs_file_lock(const char *path, int *lock, gs_error *error);

#endif
