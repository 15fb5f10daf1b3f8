/* SPDX-License-Identifier: MIT
 * Recognises a connection string. */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "postgres/postgres.h"

/* A file called "host=x" can still be opened as "./host=x". */
bool gs_pg_is_name(const char *name)
{
    static const char *const heads[] = {"postgresql://", "postgres://", "host=", "hostaddr=", "port=", "dbname=", "user=", "password=", "service=", "passfile=", "sslmode="};
    for (size_t i = 0; i < GS_COUNT(heads); i++)
        if (strncmp(name, heads[i], strlen(heads[i])) == 0) return true;
    return false;
}
