/* SPDX-License-Identifier: MIT
 * A VFS over the system's VFS: hashes each page of the database file when it is written, and checks it when it is read. */
#include "pages/pages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { SMALLEST_PAGE = 512, LARGEST_PAGE = 65536, HEADER = 100, RESERVED_AT = 20 };

/* Followed in memory by the system VFS's own file. */
typedef struct paged_file {
    sqlite3_file base;
    bool         database;   /* the main database, not a journal, log or temporary file */
    bool         checking;
    bool         sealed;     /* what the first page said when it was last read or written: pages have hashes */
} paged_file;

static paged_file *of(sqlite3_file *file) { return (paged_file *)file; }
static sqlite3_file *below(sqlite3_file *file) { return (sqlite3_file *)(of(file) + 1); }

/* The hash depends on the page's position, so that swapped pages are detected. */
static uint64_t hash_of(const void *page, int size, sqlite3_int64 at)
{
    return gs_hash64(page, (size_t)(size - GS_PAGES_RESERVED)) ^ ((uint64_t)(at / size) + 1) * 0x9e3779b97f4a7c15u;
}

static bool is_page(const sqlite3_file *file, int size, sqlite3_int64 at)
{
    const paged_file *const f = (const paged_file *)file;
    return f->database && f->sealed && size >= SMALLEST_PAGE && size <= LARGEST_PAGE && (size & (size - 1)) == 0 && at % size == 0;
}

static bool fits(const void *page, int size, sqlite3_int64 at)
{
    uint64_t there;
    memcpy(&there, (const char *)page + size - GS_PAGES_RESERVED, sizeof there);
    return there == hash_of(page, size, at);
}

static void look_at_header(paged_file *file, const char *bytes, int size, sqlite3_int64 at)
{
    if (file->database && at == 0 && size >= HEADER && memcmp(bytes, "SQLite format 3", 16) == 0) file->sealed = bytes[RESERVED_AT] == GS_PAGES_RESERVED;
}

/* ---- the file's calls ---- */

static int close_file(sqlite3_file *file)
{
    const int code = below(file)->pMethods->xClose(below(file));
    file->pMethods = NULL;
    return code;
}

static int read_file(sqlite3_file *file, void *to, int size, sqlite3_int64 at)
{
    int code = below(file)->pMethods->xRead(below(file), to, size, at);
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
    look_at_header(of(file), to, size, at);
    if (!of(file)->checking || !is_page(file, size, at)) return code;
    if (code == SQLITE_IOERR_SHORT_READ) {   /* nothing to check behind the end of the file; a page cut by the end is damaged */
        sqlite3_int64 end = 0;
        const int told = below(file)->pMethods->xFileSize(below(file), &end);
        return told != SQLITE_OK ? told : end > at ? GS_PAGES_DAMAGED : code;
    }
    return fits(to, size, at) ? SQLITE_OK : GS_PAGES_DAMAGED;
}

/* The hash is written to a copy, because the buffer is SQLite's. */
static int write_file(sqlite3_file *file, const void *from, int size, sqlite3_int64 at)
{
    char page[LARGEST_PAGE];
    look_at_header(of(file), from, size, at);
    if (!is_page(file, size, at)) return below(file)->pMethods->xWrite(below(file), from, size, at);
    const uint64_t hash = hash_of(from, size, at);
    memcpy(page, from, (size_t)size - GS_PAGES_RESERVED);
    memcpy(page + size - GS_PAGES_RESERVED, &hash, sizeof hash);
    return below(file)->pMethods->xWrite(below(file), page, size, at);
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size) { return below(file)->pMethods->xTruncate(below(file), size); }
static int sync_file(sqlite3_file *file, int flags) { return below(file)->pMethods->xSync(below(file), flags); }
static int size_of_file(sqlite3_file *file, sqlite3_int64 *size) { return below(file)->pMethods->xFileSize(below(file), size); }
static int lock_file(sqlite3_file *file, int lock) { return below(file)->pMethods->xLock(below(file), lock); }
static int unlock_file(sqlite3_file *file, int lock) { return below(file)->pMethods->xUnlock(below(file), lock); }
static int is_reserved(sqlite3_file *file, int *out) { return below(file)->pMethods->xCheckReservedLock(below(file), out); }
static int control_file(sqlite3_file *file, int what, void *data) { return below(file)->pMethods->xFileControl(below(file), what, data); }
static int sector_size(sqlite3_file *file) { return below(file)->pMethods->xSectorSize(below(file)); }
static int characteristics(sqlite3_file *file) { return below(file)->pMethods->xDeviceCharacteristics(below(file)); }
static int map_shared(sqlite3_file *file, int region, int size, int extend, void volatile **out)
{
    return below(file)->pMethods->xShmMap(below(file), region, size, extend, out);
}
static int lock_shared(sqlite3_file *file, int offset, int count, int flags) { return below(file)->pMethods->xShmLock(below(file), offset, count, flags); }
static void order_shared(sqlite3_file *file) { below(file)->pMethods->xShmBarrier(below(file)); }
static int unmap_shared(sqlite3_file *file, int remove) { return below(file)->pMethods->xShmUnmap(below(file), remove); }

/* Version 2: with shared memory, which WAL needs, but without mmap, which would bypass the checks. */
static const sqlite3_io_methods methods = {
    2, close_file, read_file, write_file, truncate_file, sync_file, size_of_file, lock_file, unlock_file, is_reserved, control_file,
    sector_size, characteristics, map_shared, lock_shared, order_shared, unmap_shared, NULL, NULL,
};

/* ---- the system's calls ---- */

static sqlite3_vfs layers[2], *system_vfs;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    memset(file, 0, sizeof(paged_file));
    of(file)->database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    of(file)->checking = vfs == &layers[1];
    const int code = system_vfs->xOpen(system_vfs, name, below(file), flags, out_flags);
    if (below(file)->pMethods) file->pMethods = &methods;
    return code;
}

static void make_layers(void)
{
    static const char *const names[] = {"gemmsmith-unchecked", "gemmsmith"};
    system_vfs = sqlite3_vfs_find(NULL);
    if (!system_vfs) return;
    for (int i = 0; i < 2; i++) {
        layers[i] = *system_vfs;
        layers[i].zName = names[i];
        layers[i].szOsFile += (int)sizeof(paged_file);
        layers[i].xOpen = open_file;
        if (sqlite3_vfs_register(&layers[i], 0) != SQLITE_OK) layers[i].zName = NULL;
    }
}

const char *gs_pages_vfs(bool checking)
{
    pthread_once(&once, make_layers);
    return layers[checking].zName;
}

/* ---- a database's pages ---- */

int gs_pages_reserve(sqlite3 *db)
{
    int bytes = GS_PAGES_RESERVED;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

bool gs_pages_sealed(sqlite3 *db, const char *database)
{
    int bytes = -1;
    return sqlite3_file_control(db, database, SQLITE_FCNTL_RESERVE_BYTES, &bytes) == SQLITE_OK && bytes == GS_PAGES_RESERVED;
}

/* A page of zeros: a free page that was never written, or the lock page. If one stands where SQLite expects another page, reading it fails the check, because
 * its hash is 0. */
static bool is_hole(const char *page, int size)
{
    return page[0] == 0 && memcmp(page, page + 1, (size_t)size - 1) == 0;
}

int gs_pages_count(sqlite3 *db, const char *database, int64_t *pages, int64_t *bad)
{
    *pages = *bad = 0;
    sqlite3_file *file = NULL;
    sqlite3_int64 end = 0;
    unsigned char header[HEADER];
    int code = sqlite3_file_control(db, database, SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || !file || !file->pMethods) return code;
    file = below(file);
    code = file->pMethods->xFileSize(file, &end);
    if (code != SQLITE_OK || end < HEADER) return code;
    if ((code = file->pMethods->xRead(file, header, HEADER, 0)) != SQLITE_OK) return code;
    if (header[RESERVED_AT] != GS_PAGES_RESERVED) return SQLITE_OK;   /* the pages with hashes are still in the log */
    const int said = header[16] << 8 | header[17], size = said == 1 ? LARGEST_PAGE : said;
    if (size < SMALLEST_PAGE || (size & (size - 1)) != 0) return SQLITE_NOTADB;
    char *const page = malloc((size_t)size);
    if (!page) return SQLITE_NOMEM;
    const sqlite3_int64 inside = (sqlite3_int64)header[28] << 24 | header[29] << 16 | header[30] << 8 | header[31];   /* bytes behind the database's page count belong to no page */
    for (sqlite3_int64 at = 0; at + size <= end && at / size < inside && code == SQLITE_OK; at += size) {
        code = file->pMethods->xRead(file, page, size, at);
        ++*pages;
        *bad += code == SQLITE_OK && !fits(page, size, at) && !is_hole(page, size);
    }
    free(page);
    return code;
}
