/* SPDX-License-Identifier: MIT
 * Finds the real library among the loaded objects. RTLD_NEXT finds nothing if a program opened it with RTLD_LOCAL, as `import torch` does. */
#include "shim/real.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct entry {
    const char *symbol;
    size_t      offset;
} entry;

typedef struct vendor {
    const char  *beginning, *wheel;   /* prefix of the file name, and prefix after renaming in Python wheels: libcublas-1a2b3c4d.so.12 */
    const char  *symbol;              /* a symbol that the library has */
    const entry *entries;
    size_t       count;
    size_t       emulated;            /* offset of the field `emulated` */
} vendor;

#define CUBLAS(field, symbol) {symbol, offsetof(gs_real_cublas, field)}
static const entry cublas_entries[] = {
    CUBLAS(gemm_ex, "cublasGemmEx"),
    CUBLAS(gemm_ex_64, "cublasGemmEx_64"),
    CUBLAS(gemm_strided_ex, "cublasGemmStridedBatchedEx"),
    CUBLAS(gemm_strided_ex_64, "cublasGemmStridedBatchedEx_64"),
    CUBLAS(gemm_batched_ex, "cublasGemmBatchedEx"),
    CUBLAS(gemm_batched_ex_64, "cublasGemmBatchedEx_64"),
    CUBLAS(hgemm, "cublasHgemm"),
    CUBLAS(hgemm_64, "cublasHgemm_64"),
    CUBLAS(hgemm_strided, "cublasHgemmStridedBatched"),
    CUBLAS(hgemm_strided_64, "cublasHgemmStridedBatched_64"),
    CUBLAS(get_stream, "cublasGetStream_v2"),
    CUBLAS(set_stream, "cublasSetStream_v2"),
    CUBLAS(get_pointer_mode, "cublasGetPointerMode_v2"),
    CUBLAS(get_math_mode, "cublasGetMathMode"),
};

#define CUBLASLT(field, symbol) {symbol, offsetof(gs_real_cublaslt, field)}
static const entry cublaslt_entries[] = {
    CUBLASLT(matmul, "cublasLtMatmul"),
    CUBLASLT(heuristic, "cublasLtMatmulAlgoGetHeuristic"),
    CUBLASLT(get_version, "cublasLtGetVersion"),
    CUBLASLT(desc_create, "cublasLtMatmulDescCreate"),
    CUBLASLT(desc_destroy, "cublasLtMatmulDescDestroy"),
    CUBLASLT(desc_get, "cublasLtMatmulDescGetAttribute"),
    CUBLASLT(layout_get, "cublasLtMatrixLayoutGetAttribute"),
};

static const vendor cublas_vendor = {"libcublas.so", "libcublas-", "cublasGemmEx", cublas_entries, GS_COUNT(cublas_entries), offsetof(gs_real_cublas, emulated)};
static const vendor cublaslt_vendor = {"libcublasLt.so", "libcublasLt-", "cublasLtMatmul", cublaslt_entries, GS_COUNT(cublaslt_entries), offsetof(gs_real_cublaslt, emulated)};

/* ---- loaded objects ---- */

typedef struct search {
    const vendor *vendor;
    char          path[4096];
} search;

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
    search *const s = data;
    (void)size;
    const char *const path = info->dlpi_name ? info->dlpi_name : "", *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    if (strncmp(name, s->vendor->beginning, strlen(s->vendor->beginning)) != 0 && strncmp(name, s->vendor->wheel, strlen(s->vendor->wheel)) != 0) return 0;
    if (strlen(path) >= sizeof s->path) return 0;
    snprintf(s->path, sizeof s->path, "%s", path);
    return 1;
}

/* Opens a reference to the first one that was loaded. */
static void *first_loaded(const vendor *v)
{
    search s = {.vendor = v};
    return dl_iterate_phdr(look_at, &s) ? dlopen(s.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
}

/* Opens a reference to the one among the dependencies of the object that contains this code. For the main program this searches the whole process, where our names
 * come first. */
static void *library_of(const vendor *v, const void *caller)
{
    Dl_info object = {0}, found = {0};
    if (!dladdr(caller, &object) || !object.dli_fname) return NULL;
    void *const handle = dlopen(object.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *const symbol = handle ? dlsym(handle, v->symbol) : NULL;
    if (handle) dlclose(handle);
    if (!symbol || !dladdr(symbol, &found) || !found.dli_fname) return NULL;
    search s = {.vendor = v};
    struct dl_phdr_info info = {.dlpi_name = found.dli_fname};
    return look_at(&info, sizeof info, &s) ? dlopen(found.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
}

/* ---- its functions ---- */

enum { VERSIONS = 8, CALLERS = 256 };   /* most versions of one library in a process; size of the table of known callers */

typedef struct known {
    const void *caller;
    const void *table;
} known;

typedef struct kind {
    const vendor   *vendor;
    unsigned char  *tables;              /* VERSIONS tables */
    size_t          table_size;
    void           *library[VERSIONS];   /* the library of each table */
    _Atomic(known *) seen[CALLERS];
} kind;

static pthread_mutex_t  finding = PTHREAD_MUTEX_INITIALIZER;
static gs_real_cublas   cublas_tables[VERSIONS];
static gs_real_cublaslt cublaslt_tables[VERSIONS];
static kind cublas = {.vendor = &cublas_vendor, .tables = (unsigned char *)cublas_tables, .table_size = sizeof *cublas_tables};
static kind cublaslt = {.vendor = &cublaslt_vendor, .tables = (unsigned char *)cublaslt_tables, .table_size = sizeof *cublaslt_tables};

static void fill(const vendor *v, void *library, unsigned char *table)
{
    for (size_t i = 0; i < v->count; i++) {
        void *const address = dlsym(library, v->entries[i].symbol);
        memcpy(table + v->entries[i].offset, &address, sizeof address);
    }
    const char *const *const emulated = dlsym(library, "gemmsmith_emulated_device");
    if (emulated) memcpy(table + v->emulated, emulated, sizeof *emulated);
}

/* The caller holds the lock. */
static const void *table_for(kind *k, const void *caller)
{
    void *library = library_of(k->vendor, caller);
    if (!library) library = first_loaded(k->vendor);
    for (int i = 0; library && i < VERSIONS; i++) {
        unsigned char *const table = k->tables + (size_t)i * k->table_size;
        if (k->library[i] == library) return dlclose(library), table;
        if (k->library[i]) continue;
        fill(k->vendor, library, table);
        k->library[i] = library;
        return table;
    }
    return NULL;
}

static const void *find(kind *k, const void *caller)
{
    const size_t at = ((uintptr_t)caller >> 2 ^ (uintptr_t)caller >> 12) % CALLERS;
    const known *seen = atomic_load_explicit(&k->seen[at], memory_order_acquire);
    if (__builtin_expect(seen && seen->caller == caller, 1)) return seen->table;
    if (pthread_mutex_lock(&finding) != 0) return NULL;
    const void *const table = table_for(k, caller);
    seen = atomic_load_explicit(&k->seen[at], memory_order_relaxed);     /* another thread may have added it meanwhile */
    known *const made = table && !seen ? malloc(sizeof *made) : NULL;   /* a slot is never overwritten: another thread may be reading it */
    if (made) {
        *made = (known){caller, table};
        atomic_store_explicit(&k->seen[at], made, memory_order_release);
    }
    pthread_mutex_unlock(&finding);
    return table;
}

/* At the fork another thread may have held the lock; that thread does not exist in the child. */
static void in_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    finding = fresh;
}
__attribute__((constructor)) static void at_start(void) { pthread_atfork(NULL, NULL, in_child); }

const gs_real_cublas   *gs_real_cublas_of(const void *caller) { return find(&cublas, caller); }
const gs_real_cublaslt *gs_real_cublaslt_of(const void *caller) { return find(&cublaslt, caller); }
