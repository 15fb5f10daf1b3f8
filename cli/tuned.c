/* SPDX-License-Identifier: MIT */
#include "tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cli_tuned_path(char path[GS_PATH], const char *slug)
{
    const char *const set = getenv("GEMMSMITH_TUNED");
    char tail[128];
    struct stat status;
    if (!set || !*set) {
        snprintf(tail, sizeof tail, "tuned/%s.tuned", slug);
        return gs_user_path(path, 'd', NULL, tail);
    }
    const size_t length = strlen(set);
    const bool directory = stat(set, &status) == 0 ? S_ISDIR(status.st_mode)
                                                   : length < 6 || strcmp(set + length - 6, ".tuned") != 0;
    const int size = directory ? snprintf(path, GS_PATH, "%s/%s.tuned", set, slug) : snprintf(path, GS_PATH, "%s", set);
    return size > 0 && size < GS_PATH;
}
