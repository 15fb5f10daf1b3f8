/* SPDX-License-Identifier: MIT
 * What the tests of the store share: a folder of their own, an error to report, and CHECK. Include in one file of the test, after
 * cmocka.h. */
#ifndef GS_TESTS_STORE_FOLDER_H
#define GS_TESTS_STORE_FOLDER_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "postgres/postgres.h"
#include "store/store.h"

#define DEVICE "nvidia-h200"

/* Drops what migration step 4 -> 5 creates. */
#define DROP_STEP_4 "DROP VIEW turns; DROP TABLE outcome; DROP TABLE turn; DROP TABLE prompt; DROP TABLE source; "

static char     folder[256];
static gs_error error;

/* The folder is readable by others, because some tests run as the user nobody. */
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

/* Connection string of the server in which tests make their stores, from tests/store/postgres.sh; NULL: stores are files. */
static inline const char *store_server(void) { return getenv("GS_TEST_POSTGRES"); }

/* Skips a test of something that only stores in files have. */
#define FILES_ONLY()                \
    do {                            \
        if (store_server()) skip(); \
    } while (0)

/* The path of a store in the server: each name has its own schema, which is created if it is missing. */
static inline const char *server_path(char path[GS_PATH], const char *name)
{
    char schema[64], sql[128];
    gs_pg *pg;
    const size_t length = strlen(folder);
    snprintf(schema, sizeof schema, "s_%s_%s", folder + (length > 6 ? length - 6 : 0), name);
    for (char *c = schema; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
        else *c = (char)tolower((unsigned char)*c);
    snprintf(sql, sizeof sql, "CREATE SCHEMA IF NOT EXISTS %s", schema);
    if (gs_pg_open(&pg, store_server(), false, &error) != GS_OK) fail_msg("%s", error.text);
    if (gs_pg_text_run(pg, sql) != GS_OK && gs_pg_text_run(pg, sql) != GS_OK) fail_msg("%s", gs_pg_message(pg));
    gs_pg_close(&pg);   /* the second attempt finds the schema that another process has created meanwhile */
    snprintf(path, GS_PATH, "%s options='-c search_path=%s'", store_server(), schema);
    return path;
}

static const char *path_of(char path[GS_PATH], const char *name)
{
    if (store_server()) return server_path(path, name);
    snprintf(path, GS_PATH, "%s/%s", folder, name);
    return path;
}

#define CHECK(call)                                                                  \
    do {                                                                             \
        const gs_status check_ = (call);                                             \
        if (check_ != GS_OK) fail_msg("%s: %s", gs_status_name(check_), error.text); \
    } while (0)

/* The store of that name in the folder, created if it is missing. */
static inline gs_store *open_store(const char *name)
{
    char path[GS_PATH];
    gs_store *store;
    CHECK(gs_store_open(&store, path_of(path, name), &error));
    return store;
}

#endif
