/* SPDX-License-Identifier: MIT
 * The store's schema, as steps from one version to the next. user_version is the number of steps that a file has had; application_id identifies a store. A
 * step that has been released is never changed: add another one. */
#include <stddef.h>

#include "base/error.h"
#include "pages/pages.h"
#include "store/sql.h"

#define APPLICATION_ID 0x47534d54   /* "GSMT" */

/* Columns that trial and winner share. */
#define TRIAL_COLUMNS                                                                          \
    "  candidate    TEXT NOT NULL,"              /* a schedule, 'source:<hash>', 'cublaslt' */ \
    "  verdict      TEXT NOT NULL,"              /* '': not known yet */                       \
    "  part         INTEGER NOT NULL,"                                                         \
    "  reason       TEXT NOT NULL,"                                                            \
    "  registers    INTEGER NOT NULL,"                                                         \
    "  smem         INTEGER NOT NULL,"                                                         \
    "  predicted_us REAL NOT NULL,"                                                            \
    "  us           REAL NOT NULL,"              /* device time; 0: not measured */            \
    "  library_us   REAL NOT NULL,"                                                            \
    "  ratio        REAL NOT NULL,"              /* library_us / us, median of rounds */       \
    "  low          REAL NOT NULL,"                                                            \
    "  high         REAL NOT NULL,"                                                            \
    "  rounds       INTEGER NOT NULL,"                                                         \
    "  mhz          INTEGER NOT NULL,"                                                         \
    "  stage        TEXT NOT NULL,"                                                            \
    "  session      INTEGER NOT NULL REFERENCES session(id),"   /* the run that measured it */ \
    "  date         TEXT NOT NULL,"

/* Families were renamed: replaces the old name at the beginning of a candidate. */
#define RENAME_FAMILY(table, column, old, new) \
    "UPDATE " table " SET " column " = '" new "' || substr(" column ", length('" old "') + 1) WHERE " column " = '" old "' OR " column " LIKE '" old "/%';"
#define RENAME_FAMILIES(table, column)                 \
    RENAME_FAMILY(table, column, "sliced", "slicek")   \
    RENAME_FAMILY(table, column, "wave", "splitk")     \
    RENAME_FAMILY(table, column, "dot", "gemv")

static const char *const steps[] = {
    /* 0 -> 1 */
    "CREATE TABLE session ("
    "  id       INTEGER PRIMARY KEY,"
    "  uid      TEXT NOT NULL UNIQUE,"           /* the same in every store that the session is copied to */
    "  date     TEXT NOT NULL,"
    "  command  TEXT NOT NULL,"
    "  version  TEXT NOT NULL,"
    "  revision TEXT NOT NULL,"
    "  device   TEXT NOT NULL,"
    "  cc INTEGER NOT NULL, sms INTEGER NOT NULL, driver INTEGER NOT NULL, cublaslt INTEGER NOT NULL, nvrtc INTEGER NOT NULL);"

    "CREATE TABLE problem ("
    "  id   INTEGER PRIMARY KEY,"
    "  text TEXT NOT NULL UNIQUE,"
    "  m INTEGER NOT NULL, n INTEGER NOT NULL, k INTEGER NOT NULL);"

    "CREATE TABLE trial ("
    "  id      INTEGER PRIMARY KEY,"
    "  device  TEXT NOT NULL,"
    "  problem INTEGER NOT NULL REFERENCES problem(id),"
    TRIAL_COLUMNS
    "  UNIQUE (device, problem, candidate));"

    "CREATE TABLE winner ("
    "  id      INTEGER PRIMARY KEY,"
    "  device  TEXT NOT NULL,"
    "  problem INTEGER NOT NULL REFERENCES problem(id),"
    TRIAL_COLUMNS
    "  UNIQUE (device, problem));"

    "CREATE TABLE measurement ("
    "  id      INTEGER PRIMARY KEY,"
    "  uid     TEXT NOT NULL UNIQUE,"
    "  trial   INTEGER NOT NULL REFERENCES trial(id),"
    "  session INTEGER NOT NULL REFERENCES session(id),"
    "  clock   TEXT NOT NULL,"
    "  date    TEXT NOT NULL);"
    "CREATE INDEX measurement_trial ON measurement(trial);"

    "CREATE TABLE sample ("
    "  measurement  INTEGER NOT NULL REFERENCES measurement(id),"
    "  round        INTEGER NOT NULL,"
    "  us           REAL,"                       /* NULL: the round gave no number */
    "  reference_us REAL,"
    "  PRIMARY KEY (measurement, round)) WITHOUT ROWID;"

    "CREATE TABLE result ("
    "  key     TEXT PRIMARY KEY,"
    "  value   TEXT NOT NULL,"
    "  session INTEGER NOT NULL REFERENCES session(id),"
    "  date    TEXT NOT NULL) WITHOUT ROWID;"

    /* for people with sqlite3: names instead of ids */
    "CREATE VIEW trials AS SELECT t.device, p.text AS problem, p.m, p.n, p.k, t.candidate, t.verdict, t.part, t.reason,"
    "  t.registers, t.smem, t.predicted_us, t.us, t.library_us, t.ratio, t.low, t.high, t.rounds, t.mhz, t.stage, t.date"
    "  FROM trial t JOIN problem p ON p.id = t.problem;"
    "CREATE VIEW winners AS SELECT w.device, p.text AS problem, p.m, p.n, p.k, w.candidate, w.us, w.library_us, w.ratio,"
    "  w.low, w.high, w.rounds, w.mhz, s.cublaslt, w.date FROM winner w JOIN problem p ON p.id = w.problem"
    "  JOIN session s ON s.id = w.session;"
    "CREATE VIEW samples AS SELECT t.device, p.text AS problem, t.candidate, x.clock, x.id AS measurement, a.round, a.us,"
    "  a.reference_us FROM sample a JOIN measurement x ON x.id = a.measurement JOIN trial t ON t.id = x.trial"
    "  JOIN problem p ON p.id = t.problem;",

    /* 1 -> 2 */
    "CREATE TABLE lease ("                       /* who works on a problem now; nothing else refers to it */
    "  device  TEXT NOT NULL,"
    "  problem TEXT NOT NULL,"
    "  run     TEXT NOT NULL,"                   /* the same for all tuners that share a list */
    "  host    TEXT NOT NULL,"
    "  pid     INTEGER NOT NULL,"
    "  born    INTEGER NOT NULL,"                /* start time of the process */
    "  expires INTEGER NOT NULL,"                /* milliseconds since 1970 */
    "  done    INTEGER NOT NULL,"
    "  PRIMARY KEY (device, problem)) WITHOUT ROWID;",

    /* 2 -> 3 */
    "CREATE TABLE curve ("
    "  id      INTEGER PRIMARY KEY,"
    "  session INTEGER NOT NULL REFERENCES session(id),"
    "  series  TEXT NOT NULL,"                   /* 'train/surrogate', 'regret/learned' */
    "  name    TEXT NOT NULL,"
    "  date    TEXT NOT NULL,"
    "  UNIQUE (session, series, name));"

    "CREATE TABLE point ("
    "  curve INTEGER NOT NULL REFERENCES curve(id),"
    "  step  INTEGER NOT NULL,"                  /* 0, 1, ...: the order */
    "  x     REAL NOT NULL,"
    "  y     REAL,"                              /* NULL: no number */
    "  PRIMARY KEY (curve, step)) WITHOUT ROWID;"

    "CREATE VIEW curves AS SELECT s.device, c.series, c.name, p.step, p.x, p.y, c.date"
    "  FROM point p JOIN curve c ON c.id = p.curve JOIN session s ON s.id = c.session;",

    /* 3 -> 4 */
    "CREATE TABLE job ("                         /* accepted by gemmsmith serve; nothing else refers to it */
    "  number   INTEGER PRIMARY KEY,"            /* the order in which they came */
    "  id       TEXT NOT NULL UNIQUE,"           /* the hash of device, version and request */
    "  device   TEXT NOT NULL,"
    "  request  TEXT NOT NULL,"
    "  attempts INTEGER NOT NULL,"
    "  answer   TEXT,"                           /* NULL: not done */
    "  failed   INTEGER NOT NULL,"               /* the answer reports a failure of the machine: a new request tries again */
    "  date     TEXT NOT NULL);"                 /* when it came; after the answer: when it was answered */
    "CREATE INDEX job_open ON job(device, number) WHERE answer IS NULL;",

    /* 4 -> 5 */
    "CREATE TABLE source ("                      /* user kernels; the candidate is 'source:<hash>' */
    "  hash     TEXT PRIMARY KEY,"
    "  source   TEXT NOT NULL,"
    "  manifest TEXT NOT NULL,"
    "  date     TEXT NOT NULL) WITHOUT ROWID;"

    "CREATE TABLE prompt ("                      /* texts of prompts, each stored once */
    "  hash TEXT PRIMARY KEY,"
    "  text TEXT NOT NULL) WITHOUT ROWID;"

    "CREATE TABLE turn ("                        /* a question to a model and its answer */
    "  id      INTEGER PRIMARY KEY,"
    "  uid     TEXT NOT NULL UNIQUE,"
    "  session INTEGER NOT NULL REFERENCES session(id),"
    "  device  TEXT NOT NULL,"
    "  problem INTEGER NOT NULL REFERENCES problem(id),"
    "  mode    TEXT NOT NULL,"                   /* 'source', 'schedule' */
    "  model   TEXT NOT NULL,"
    "  island  INTEGER NOT NULL,"
    "  number  INTEGER NOT NULL,"                /* of the island's turns: 1, 2, ... */
    "  base    TEXT NOT NULL,"                   /* what to improve: '', a family, 'source:<hash>' */
    "  system  TEXT NOT NULL REFERENCES prompt(hash),"
    "  ask     TEXT NOT NULL REFERENCES prompt(hash),"
    "  answer  TEXT NOT NULL,"
    "  fault   TEXT NOT NULL,"                   /* why the answer could not be parsed; '': it was */
    "  date    TEXT NOT NULL);"
    "CREATE INDEX turn_problem ON turn(problem);"

    "CREATE TABLE outcome ("                     /* results of a turn's candidates at that time */
    "  turn       INTEGER NOT NULL REFERENCES turn(id),"
    "  position   INTEGER NOT NULL,"
    "  candidate  TEXT NOT NULL,"
    "  verdict    TEXT NOT NULL,"
    "  part       INTEGER NOT NULL,"
    "  reason     TEXT NOT NULL,"
    "  us         REAL NOT NULL,"
    "  library_us REAL NOT NULL,"
    "  ratio      REAL NOT NULL,"
    "  low        REAL NOT NULL,"
    "  high       REAL NOT NULL,"
    "  reward     REAL NOT NULL,"
    "  registers  INTEGER NOT NULL,"
    "  smem       INTEGER NOT NULL,"
    "  metrics    TEXT NOT NULL,"                /* lines 'name value' */
    "  PRIMARY KEY (turn, position)) WITHOUT ROWID;"

    "CREATE VIEW turns AS SELECT t.device, p.text AS problem, t.mode, t.model, t.island, t.number, t.base, t.fault, o.candidate, o.verdict, o.reason,"
    "  o.us, o.library_us, o.ratio, o.low, o.high, o.reward, o.registers, o.smem, t.id AS turn, t.date"
    "  FROM turn t JOIN problem p ON p.id = t.problem LEFT JOIN outcome o ON o.turn = t.id;",

    /* 5 -> 6 */
    RENAME_FAMILIES("trial", "candidate") RENAME_FAMILIES("winner", "candidate") RENAME_FAMILIES("outcome", "candidate") RENAME_FAMILIES("turn", "base"),

    /* 6 -> 7: the candidate "library" becomes "cublaslt"; the columns library_us, cuBLASLt's time, keep their name */
    RENAME_FAMILY("trial", "candidate", "library", "cublaslt") RENAME_FAMILY("winner", "candidate", "library", "cublaslt")
    RENAME_FAMILY("outcome", "candidate", "library", "cublaslt"),

    /* 7 -> 8: milliseconds since 1970 after which nobody needs a job's answer any more; 0: never */
    "ALTER TABLE job ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;",

    /* 8 -> 9: pages end with a checksum (pages.h); the tables do not change */
    "",
};
#define VERSION ((int64_t)GS_COUNT(steps))
#define SEALED 9   /* from this version on pages have checksums */

gs_status gs_schema_newer(const char *path, int64_t version, gs_error *error)
{
    return gs_fail(error, GS_ERROR_STORE_VERSION, NULL,
                   "%s is a store of version %lld and this program knows versions up to %lld: "
                   "use a newer gemmsmith, or name another file",
                   gs_sql_tail(path), (long long)version, (long long)VERSION);
}

gs_status gs_schema_foreign(const char *path, gs_error *error)
{
    return gs_fail(error, GS_ERROR_STORE, NULL, "%s is a database of another program: name another file", gs_sql_tail(path));
}

const char *const *gs_schema_steps(int *count)
{
    *count = (int)VERSION;
    return steps;
}

typedef struct stamp {
    int64_t version, application, objects;
} stamp;

/* Within a transaction: the three values must belong together, and another process may be creating the store. */
static int read_stamp(gs_store *store, const char *database, stamp *out)
{
    static const struct {
        const char *format;
        size_t      at;
    } numbers[] = {
        {"PRAGMA %s.user_version",                offsetof(stamp, version)},
        {"PRAGMA %s.application_id",              offsetof(stamp, application)},
        {"SELECT count(*) FROM %s.sqlite_master", offsetof(stamp, objects)},
    };
    for (size_t i = 0; i < GS_COUNT(numbers); i++) {
        char sql[96];
        sqlite3_snprintf(sizeof sql, sql, numbers[i].format, database);
        const int code = gs_sql_number(store, sql, (int64_t *)((char *)out + numbers[i].at));
        if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
}

gs_status gs_schema_check_other(gs_store *store, const char *path, gs_error *error)
{
    stamp have;
    const int code = read_stamp(store, "other", &have);
    if ((code & 0xff) == SQLITE_CORRUPT) return gs_damage_tell(store, "other", gs_sql_tail(path), code, error);
    if (code != SQLITE_OK) return gs_sql_status_of(store, path, code, error);
    if (have.objects == 0) return gs_fail(error, GS_ERROR_STORE, NULL, "%s is empty", gs_sql_tail(path));
    if (have.application != APPLICATION_ID) return gs_schema_foreign(path, error);
    if (have.version > VERSION) return gs_schema_newer(path, have.version, error);
    if (have.version >= SEALED && !gs_pages_sealed(store->db, "other")) return gs_damage_tell(store, "other", gs_sql_tail(path), SQLITE_CORRUPT, error);
    if (have.version < VERSION)
        return gs_fail(error, GS_ERROR_STORE_VERSION, NULL,
                       "%s is a store of version %lld, this one of version %lld: write to it once with this program (tune, eval or db import "
                       "with --store), which converts it",
                       gs_sql_tail(path), (long long)have.version, (long long)VERSION);
    return GS_OK;
}

/* Within a write transaction: another process may have done the steps since they were found missing. */
static gs_status migrate(gs_store *store, gs_error *error)
{
    stamp have;
    int code = read_stamp(store, "main", &have);
    for (int64_t step = have.version; code == SQLITE_OK && step < VERSION; step++) code = gs_sql_text_run(store, steps[step]);
    char sql[96];
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA user_version = %lld; PRAGMA application_id = %d", (long long)VERSION, APPLICATION_ID);
    if (code == SQLITE_OK && have.version < VERSION) code = gs_sql_text_run(store, sql);
    return gs_sql_status(store, code, error);
}

static gs_status look(gs_store *store, stamp *have, gs_error *error)
{
    int code = gs_sql_text_run(store, "BEGIN");
    if (code == SQLITE_OK) code = read_stamp(store, "main", have);
    GS_TRY(gs_sql_end(store, gs_sql_status(store, code, error), error));
    if (have->objects > 0 && have->application != APPLICATION_ID) return gs_schema_foreign(store->path, error);
    if (have->version > VERSION) return gs_schema_newer(store->path, have->version, error);
    if (have->version < 0 || (have->version > 0) != (have->objects > 0)) return gs_sql_status(store, SQLITE_CORRUPT, error);
    if (have->version >= SEALED && !store->unchecked && !gs_pages_sealed(store->db, "main")) return gs_sql_status(store, SQLITE_CORRUPT, error);
    return GS_OK;
}

gs_status gs_schema_look(gs_store *store, bool *old, gs_error *error)
{
    stamp have;
    GS_TRY(look(store, &have, error));
    if (have.objects == 0) return gs_fail(error, GS_ERROR_STORE, NULL, "%s is empty: it is not a store", gs_sql_tail(store->path));
    *old = have.version < VERSION;
    return GS_OK;
}

/* Reserves room for a checksum in the pages of a new or older file; existing pages are rewritten before the version is raised. cache_spill = OFF: all pages
 * are written at the end, beginning with the first, whose header says that the file has checksums. */
static gs_status seal_pages(gs_store *store, bool any, gs_error *error)
{
    int code = gs_pages_reserve(store->db);
    if (any && code == SQLITE_OK) code = gs_sql_text_run(store, "PRAGMA cache_spill = OFF; VACUUM; PRAGMA cache_spill = ON");
    return gs_sql_status(store, code, error);
}

gs_status gs_schema_prepare(gs_store *store, gs_error *error)
{
    stamp have;
    GS_TRY(look(store, &have, error));
    if (have.version == VERSION) return GS_OK;
    const char *const file = sqlite3_db_filename(store->db, "main");
    if (file && *file && (have.objects == 0 || !gs_pages_sealed(store->db, "main"))) GS_TRY(seal_pages(store, have.objects > 0, error));
    GS_TRY(gs_sql_begin(store, error));
    return gs_sql_end(store, migrate(store, error), error);
}

/* Checks the content of the pages, independently of the checksums. */
static int integrity(gs_store *store)
{
    int64_t faults;
    const int code = gs_sql_number(store, "SELECT (SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok') + "
                                          "(SELECT count(*) FROM pragma_foreign_key_check)", &faults);
    return code == SQLITE_OK && faults > 0 ? SQLITE_CORRUPT : code;
}

gs_status gs_store_check(gs_store *store, int64_t *pages, gs_error *error)
{
    int64_t bad;
    *pages = 0;
    if (store->pg) return gs_fail(error, GS_ERROR_UNSUPPORTED, "store", "a PostgreSQL server keeps its own checksums (initdb --data-checksums, pg_amcheck)");
    int code = gs_pages_count(store->db, "main", pages, &bad);
    if (code == SQLITE_OK) code = bad > 0 ? GS_PAGES_DAMAGED : integrity(store);
    return gs_sql_status(store, code, error);
}

gs_status gs_schema_seal(gs_store *store, int64_t *accepted, gs_error *error)
{
    int64_t pages;
    int code = gs_sql_text_run(store, "PRAGMA wal_checkpoint(TRUNCATE)");   /* copies the log into the file, whose pages alone are counted */
    if (code == SQLITE_OK) code = gs_pages_count(store->db, "main", &pages, accepted);
    if (code == SQLITE_OK) code = integrity(store);
    GS_TRY(gs_sql_status(store, code, error));
    return seal_pages(store, true, error);
}
