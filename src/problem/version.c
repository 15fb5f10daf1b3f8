/* SPDX-License-Identifier: MIT */
#include <gemmsmith/gemmsmith.h>

const char *gs_version(void) { return GS_VERSION_TEXT; }
