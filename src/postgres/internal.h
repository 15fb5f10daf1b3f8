/* SPDX-License-Identifier: MIT */
#ifndef GS_POSTGRES_INTERNAL_H
#define GS_POSTGRES_INTERNAL_H

#include <libpq-fe.h>

#include "postgres/postgres.h"

/* A statement with its values, kept so that it can be sent again. */
typedef struct gs_pg_sent {
    char    *sql;
    char    *value[GS_PG_VALUES];
    Oid      type[GS_PG_VALUES];
    int      count;
    uint64_t answer;   /* hash of the rows that it returned */
} gs_pg_sent;

struct gs_pg {
    PGconn      *connection;
    char        *name;              /* as passed to gs_pg_open */
    char         label[512];
    char         message[400];
    char         uid[33];           /* key of this connection's row in the table writer */
    int64_t      number;            /* of the current transaction */
    bool         read_only, in, again, moved, marked;
    int64_t      changed;
    gs_pg_sent **sent;              /* statements of the transaction, in order */
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

/* connection.c. Runs the statement; if the connection or the transaction broke, reconnects and replays the transaction's earlier statements first. In a
 * transaction that can be replayed, the transaction takes ownership of *sent and sets it to NULL. */
gs_status gs_pg_run(gs_pg *pg, gs_pg_sent **sent, PGresult **rows);
void      gs_pg_sent_free(gs_pg_sent *sent);

#endif
