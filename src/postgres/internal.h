/* SPDX-License-Identifier: MIT */
#ifndef GS_POSTGRES_INTERNAL_H
#define GS_POSTGRES_INTERNAL_H

#include <libpq-fe.h>

#include "postgres/postgres.h"

/* A statement with its values, as it is sent, and sent again. */
typedef struct gs_pg_sent {
    char    *sql;
    char    *value[GS_PG_VALUES];
    Oid      type[GS_PG_VALUES];
    int      count;
    uint64_t answer;   /* a hash of the rows that came */
} gs_pg_sent;

struct gs_pg {
    PGconn      *connection;
    char        *name;              /* as it was given */
    char         label[512];
    char         message[400];
    char         uid[33];           /* of the row in the table of writers */
    int64_t      number;            /* of the transaction */
    bool         read_only, in, again, moved, marked;
    int64_t      changed;
    gs_pg_sent **sent;              /* of the transaction, in their order */
    int          count, capacity;
};

struct gs_pg_query {
    gs_pg      *pg;
    gs_pg_sent *sent;
    PGresult   *rows;
    int         row;
    gs_status   status;
    bool        ran;
};

/* connection.c. Runs the statement, on a new connection and after what went before in the transaction if need be. In a transaction that can be played
 * again *sent becomes part of it, and is NULL. */
gs_status gs_pg_run(gs_pg *pg, gs_pg_sent **sent, PGresult **rows);
void      gs_pg_sent_free(gs_pg_sent *sent);

#endif
