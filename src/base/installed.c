/* SPDX-License-Identifier: MIT */
#include "base/installed.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char           folder[GS_PATH];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The path of the program or shared library that contains this code. For the program dladdr gives only argv[0], which need not be a path. */
static bool own_file(char path[GS_PATH], bool *is_program)
{
    static const char here = 0;
    Dl_info info = {0};
    struct link_map *map = NULL;
    if (!dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
    *is_program = !map->l_name || !*map->l_name;
    char *const real = realpath(*is_program ? "/proc/self/exe" : map->l_name, NULL);
    const bool fits = real && strlen(real) < GS_PATH;
    if (fits) strcpy(path, real);
    free(real);
    return fits;
}

static void find(void)
{
    char path[GS_PATH], beside[GS_PATH];
    struct stat about;
    bool is_program = false;
    const char *const named = getenv("GEMMSMITH_DATA");
    snprintf(folder, sizeof folder, "%s", named && *named ? named : GS_DATA_DIR);
    if (named && *named) return;
    if (!own_file(path, &is_program)) return;
    *strrchr(path, '/') = '\0';
    const int length = snprintf(beside, sizeof beside, "%s/%s", path, is_program ? GS_DATA_FROM_BIN : GS_DATA_FROM_LIB);
    if (length < (int)sizeof beside && stat(beside, &about) == 0 && S_ISDIR(about.st_mode)) strcpy(folder, beside);
}

const char *gs_installed_folder(void)
{
    pthread_once(&once, find);
    return folder;
}
