/* SPDX-License-Identifier: MIT
 * Where this user's tuned table of a GPU lies. */
#ifndef CLI_TUNED_H
#define CLI_TUNED_H

#include <stdbool.h>

#include "base/file.h"

/* $GEMMSMITH_TUNED if it is a file, <slug>.tuned in it if it is a directory, else <slug>.tuned in the user's directory of tables.
 * All of them are read by every plan. false: no home directory, or too long. */
bool cli_tuned_path(char path[GS_PATH], const char *slug);

#endif
