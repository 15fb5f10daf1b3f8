/* SPDX-License-Identifier: MIT
 * Where the files lie that were installed with this program or library. */
#ifndef GS_BASE_INSTALLED_H
#define GS_BASE_INSTALLED_H

#include "base/file.h"

/* The folder of tables, weights and prompts, for example /usr/share/gemmsmith: $GEMMSMITH_DATA, else seen from the object that contains this code where there is one, so
 * that a prefix that was moved as a whole is found (and, by links beside a build folder, the source tree), else as it was configured. Never NULL; the folder need not be there. Any thread; stays valid. */
const char *gs_installed_folder(void);

#endif
