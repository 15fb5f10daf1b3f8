/* SPDX-License-Identifier: MIT
 * Shared libraries that are opened when they are needed. */
#ifndef GS_BASE_LIBRARY_H
#define GS_BASE_LIBRARY_H

/* dlopen of a regular file, or of a name that the loader looks for. NULL else, with *why: nothing but a regular file is opened, as a pipe without a writer would be
 * waited for. *why counts until the thread's next call. */
void *gs_library_open(const char *path, const char **why);

#endif
