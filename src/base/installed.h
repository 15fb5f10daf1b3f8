/* SPDX-License-Identifier: MIT
 * Where the data files are that were installed with this program or library. */
#ifndef GS_BASE_INSTALLED_H
#define GS_BASE_INSTALLED_H

#include "base/file.h"

/* The folder of tables, weights and prompts, for example /usr/share/gemmsmith. The first of: $GEMMSMITH_DATA; a folder at a configured path relative to the program or library
 * that contains this code, if it exists (so that a prefix can be moved, and a build folder works with links to the source tree); the configured absolute path. Never NULL; the
 * folder need not exist. Any thread; the pointer stays valid. */
const char *gs_installed_folder(void);

#endif
