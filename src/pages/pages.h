/* SPDX-License-Identifier: MIT
 * Checksums of a store's pages. SQLite has none, so a changed byte in a value, a lost row or a missing index entry could go unnoticed. This VFS, between
 * SQLite and the system's VFS, writes a hash of each page into its last eight bytes, which SQLite reserves, and compares it whenever the page is read. Any
 * SQLite can read such a file; one that writes to it leaves wrong hashes: see gs_store_seal.
 * Pages in the write-ahead log have SQLite's own checksums; they get this one when they are copied into the file. */
#ifndef GS_PAGES_PAGES_H
#define GS_PAGES_PAGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define GS_PAGES_RESERVED 8
#define GS_PAGES_DAMAGED (SQLITE_CORRUPT | (91 << 8))   /* a page's hash does not match; an extended code that SQLite does not use */

/* The VFS name for sqlite3_open_v2; NULL: no memory. checking false: hashes are written, but not compared. */
const char *gs_pages_vfs(bool checking);

/* Reserves room for the hash in each page. To be called before the first table is made, or before VACUUM. */
int gs_pages_reserve(sqlite3 *db);

/* Whether the pages of "main" or of an attached database have hashes. */
bool gs_pages_sealed(sqlite3 *db, const char *database);

/* Counts the pages of the file and those whose hash does not match. Returns an SQLite code. Pages in the write-ahead log do not count. */
int gs_pages_count(sqlite3 *db, const char *database, int64_t *pages, int64_t *bad);

#endif
