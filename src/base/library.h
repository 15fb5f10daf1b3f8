/* SPDX-License-Identifier: MIT
 * Loading shared libraries at run time. */
#ifndef GS_BASE_LIBRARY_H
#define GS_BASE_LIBRARY_H

/* dlopen of a path, or of a name without a slash, which the loader searches for. NULL on failure, with the reason in *why, valid until the thread's next call. A path must be
 * a regular file: opening a pipe without a writer would block. */
void *gs_library_open(const char *path, const char **why);

#endif
