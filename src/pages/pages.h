/* SPDX-License-Identifier: MIT
 * Checksums of a store's pages. SQLite has none: a changed byte inside a value, a lost row, an index that lacks an entry would be read without a
 * word. A layer between SQLite and the system keeps the hash of every page in its last eight bytes, which SQLite reserves, and looks at it whenever
 * the page is read. Any SQLite can read such a file; one that writes to it leaves hashes that no longer fit, see gs_store_seal.
 * Pages in the write-ahead log have SQLite's own checksums; they get this one when they are copied into the file. */
#ifndef GS_PAGES_PAGES_H
#define GS_PAGES_PAGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define GS_PAGES_RESERVED 8
#define GS_PAGES_DAMAGED (SQLITE_CORRUPT | (91 << 8))   /* a page does not have the hash that stands in it; an extended code that SQLite does not use */

/* The name for sqlite3_open_v2; NULL: no memory. Without checking, hashes are written and not looked at. */
const char *gs_pages_vfs(bool checking);

/* Before the first table is made, or before VACUUM: the pages get room for a hash. */
int gs_pages_reserve(sqlite3 *db);

/* Whether the pages of "main" or of an attached database have it. */
bool gs_pages_sealed(sqlite3 *db, const char *database);

/* The pages in the file and how many of them have another hash than they should. An SQLite code. What is in the write-ahead log does not count. */
int gs_pages_count(sqlite3 *db, const char *database, int64_t *pages, int64_t *bad);

#endif
