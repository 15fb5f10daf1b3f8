/* SPDX-License-Identifier: MIT
 * A lock file beside a file: processes that read, change and rewrite the file do not lose each other's changes. */
#ifndef GS_BASE_LOCK_H
#define GS_BASE_LOCK_H

#include <gemmsmith/status.h>

/* Waits for an exclusive lock on "<path>.lock"; close(*lock) releases it. A missing folder is created only below the user's data and cache folders (gs_file_make_folder).
 * ARGUMENT: path too long. IO: path is no regular file. INTERRUPTED: a stop was requested during the wait. */
gs_status gs_file_lock(const char *path, int *lock, gs_error *error);

#endif
