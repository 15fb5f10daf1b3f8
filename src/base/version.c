/* SPDX-License-Identifier: MIT */
#include "base/version.h"

#include <stdio.h>

char *gs_format_library_version(int version, char text[GS_CUDA_VERSION_TEXT])
{
    snprintf(text, GS_CUDA_VERSION_TEXT, version > 0 ? "%d.%d.%d" : "none", version / 10000, version / 100 % 100, version % 100);
    return text;
}

char *gs_format_cuda_version(int version, char text[GS_CUDA_VERSION_TEXT])
{
    snprintf(text, GS_CUDA_VERSION_TEXT, version > 0 ? "%d.%d" : "none", version / 1000, version % 1000 / 10);
    return text;
}
