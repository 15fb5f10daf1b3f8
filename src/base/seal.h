/* SPDX-License-Identifier: MIT
 * A checksum line in a text file, which detects damage. The line may be deleted, so that the file can still be edited by hand. */
#ifndef GS_BASE_SEAL_H
#define GS_BASE_SEAL_H

#include <stdbool.h>

#include "base/text.h"

/* Inserts "# checksum <16 digits>" as the second line. The checksum covers the lines that are neither empty nor comments, without leading and trailing blanks: comments may
 * be added and line ends converted. Older programs read the line as a comment. */
void gs_seal_put(gs_text *text);

/* Whether the text has a checksum line that does not match. A text without one is accepted: it is older, or was edited. */
bool gs_seal_broken(const char *text);

#endif
