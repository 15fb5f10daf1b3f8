/* SPDX-License-Identifier: MIT
 * A checksum in a text of lines: damage is told, and a person can still edit the text. */
#ifndef GS_BASE_SEAL_H
#define GS_BASE_SEAL_H

#include <stdbool.h>

#include "base/text.h"

/* Puts a line "# checksum <16 digits>" behind the first one. It counts the lines that are neither empty nor comments, without blanks at their
 * ends: comments may be added and line ends converted. A program that does not know it reads a comment. */
void gs_seal_put(gs_text *text);

/* Whether such a line is there and says otherwise. Texts without one are older, or were edited. */
bool gs_seal_broken(const char *text);

#endif
