/* SPDX-License-Identifier: MIT
 * Statements: parameters, values and rows. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "postgres/internal.h"

enum { INT8 = 20, TEXT = 25, FLOAT8 = 701, INT4 = 23, FLOAT4 = 700 };   /* type OIDs, which are fixed */

/* "?" and "?2" become "$1" and "$2". No statement contains any other question mark. */
static char *translate(const char *sql)
{
    size_t size = 1;
    for (const char *c = sql; *c; c++) size += *c == '?' ? 4 : 1;
    char *const out = malloc(size);
    if (!out) return NULL;
    char *to = out;
    int next = 1;
    for (const char *c = sql; *c; c++) {
        if (*c != '?') *to++ = *c;
        else if (isdigit((unsigned char)c[1])) *to++ = '$';
        else to += snprintf(to, 4, "$%d", next++);
    }
    *to = '\0';
    return out;
}

gs_pg_query *gs_pg_query_new(gs_pg *pg, const char *sql)
{
    gs_pg_query *query = calloc(1, sizeof *query);
    if (query) query->sent = calloc(1, sizeof *query->sent);
    if (query && query->sent) query->sent->sql = translate(sql);
    if (!query || !query->sent || !query->sent->sql) gs_pg_query_free(&query);
    if (query) query->pg = pg;
    return query;
}

void gs_pg_query_free(gs_pg_query **query)
{
    if (!*query) return;
    gs_pg_sent_free((*query)->sent);
    PQclear((*query)->rows);
    free(*query);
    *query = NULL;
}

/* value: owned by the query from now on; wanted: it is not SQL's NULL, so a NULL pointer means out of memory. */
static void bind(gs_pg_query *query, Oid type, char *value, bool wanted)
{
    gs_pg_sent *const sent = query->sent;
    if (wanted && !value) query->status = GS_ERROR_MEMORY;
    if (sent->count == GS_PG_VALUES) query->status = GS_ERROR_RANGE, free(value);
    if (query->status != GS_OK && sent->count == GS_PG_VALUES) return;
    sent->type[sent->count] = type;
    sent->value[sent->count++] = value;
}

/* Length in bytes of the UTF-8 character; 0: it is not valid. */
static int character(const unsigned char *p)
{
    const int length = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f)) return 0;
    return length;
}

/* The server refuses texts that are not UTF-8, such as a message that was cut inside a character. Each invalid byte is stored as U+F780 to U+F7FF (private
 * use) and becomes the byte again when read. */
static char *encode(const char *value)
{
    char *const copy = malloc(3 * strlen(value) + 1), *to = copy;
    for (const unsigned char *c = (const unsigned char *)value; copy && *c;) {
        const bool taken = c[0] == 0xef && (c[1] == 0x9e || c[1] == 0x9f);
        const int length = taken ? 0 : character(c);
        for (int i = 0; i < length; i++) *to++ = (char)c[i];
        if (length == 0) *to++ = '\xef', *to++ = (char)(0x9c + (c[0] >> 6)), *to++ = (char)(0x80 | (c[0] & 0x3f));
        c += length + (length == 0);
    }
    if (copy) *to = '\0';
    return copy;
}

static void decode(char *text)
{
    char *to = text = strchr(text, '\xef');
    for (const unsigned char *c = (const unsigned char *)text; c && *c;) {
        const bool byte = c[0] == 0xef && (c[1] == 0x9e || c[1] == 0x9f) && (c[2] & 0xc0) == 0x80;
        *to++ = byte ? (char)((c[1] - 0x9c) << 6 | (c[2] & 0x3f)) : (char)*c;
        c += byte ? 3 : 1;
    }
    if (to) *to = '\0';
}

void gs_pg_text(gs_pg_query *query, const char *value) { bind(query, TEXT, value ? encode(value) : NULL, value != NULL); }

void gs_pg_int(gs_pg_query *query, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    bind(query, INT8, strdup(text), true);
}

void gs_pg_real(gs_pg_query *query, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    bind(query, FLOAT8, isnan(value) ? NULL : strdup(text), !isnan(value));
}

gs_status gs_pg_step(gs_pg_query *query, bool *row)
{
    *row = false;
    if (query->status != GS_OK) snprintf(query->pg->message, sizeof query->pg->message, "no memory for a statement");
    GS_TRY(query->status);
    if (!query->ran) GS_TRY(gs_pg_run(query->pg, &query->sent, &query->rows));
    else query->row++;
    query->ran = true;
    *row = query->row < PQntuples(query->rows);
    for (int i = 0; *row && i < PQnfields(query->rows); i++)
        if (PQftype(query->rows, i) == TEXT) decode(PQgetvalue(query->rows, query->row, i));
    return GS_OK;
}

int gs_pg_columns(const gs_pg_query *query) { return PQnfields(query->rows); }

gs_pg_type gs_pg_column_type(const gs_pg_query *query, int column)
{
    if (PQgetisnull(query->rows, query->row, column)) return GS_PG_NULL;
    const Oid type = PQftype(query->rows, column);
    return type == INT8 || type == INT4 ? GS_PG_INT : type == FLOAT8 || type == FLOAT4 ? GS_PG_REAL : GS_PG_TEXT;
}

const char *gs_pg_column(const gs_pg_query *query, int column)
{
    return PQgetisnull(query->rows, query->row, column) ? NULL : PQgetvalue(query->rows, query->row, column);
}
