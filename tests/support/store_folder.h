/* SPDX-License-Identifier: MIT
 * What the tests of the store share: a folder of their own, an error to report, and CHECK. Include in one file of the test, after
 * cmocka.h. */
#ifndef GS_TESTS_STORE_FOLDER_H
#define GS_TESTS_STORE_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "store/store.h"

#define DEVICE "nvidia-h200"

/* What step 4 -> 5 made, taken away again. */
#define DROP_STEP_4 "DROP VIEW turns; DROP TABLE outcome; DROP TABLE turn; DROP TABLE prompt; DROP TABLE source; "

static char     folder[256];
static gs_error error;

/* Others may look into it: some tests run as nobody. */
static int make_folder(void **state)
{
    (void)state;
    const char *const base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/gs-store-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(folder) ? chmod(folder, 0755) : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[320];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *path_of(char path[GS_PATH], const char *name)
{
    snprintf(path, GS_PATH, "%s/%s", folder, name);
    return path;
}

#define CHECK(call)                                                                  \
    do {                                                                             \
        const gs_status check_ = (call);                                             \
        if (check_ != GS_OK) fail_msg("%s: %s", gs_status_name(check_), error.text); \
    } while (0)

/* The store of that name in the folder, made if it is not there. */
static inline gs_store *open_store(const char *name)
{
    char path[GS_PATH];
    gs_store *store;
    CHECK(gs_store_open(&store, path_of(path, name), &error));
    return store;
}

#endif
