/* SPDX-License-Identifier: MIT
 * Merges another store into this one: one transaction over both files, one step per table, each in a savepoint, so that the rest of a damaged file can still
 * be copied. Rows of the two files are matched by content (device, problem text, candidate) or by uid, never by id. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "store/sql.h"

/* Takes the other store's value of a trial where this store has none. */
#define TAKE(known, column) #column " = CASE WHEN " known " THEN trial." #column " ELSE excluded." #column " END"
#define TAKE_VERDICT(column)  TAKE("trial.verdict <> ''", column)
#define TAKE_MEASURED(column) TAKE("trial.us <> 0", column)
#define TAKE_NUMBER(column)   TAKE("trial." #column " <> 0", column)

#define TRIAL_VALUES                                                                                                        \
    " (device, problem, candidate, verdict, part, reason, registers, smem, predicted_us, us, library_us, ratio, low, high," \
    "  rounds, mhz, stage, session, date)"                                                                                  \
    " SELECT t.device, p.id, t.candidate, t.verdict, t.part, t.reason, t.registers, t.smem, t.predicted_us, t.us,"          \
    "  t.library_us, t.ratio, t.low, t.high, t.rounds, t.mhz, t.stage, s.id, t.date"
/* CROSS JOIN fixes the join order, so that a range of ids without rows does not read the other tables. */
#define SAME_PROBLEM " CROSS JOIN other.problem op ON op.id = t.problem CROSS JOIN main.problem p ON p.text = op.text"
#define SAME_SESSION(row) " CROSS JOIN other.session os ON os.id = " row ".session CROSS JOIN main.session s ON s.uid = os.uid"

/* In the order of the references between tables. The first step writes to this store, and so takes its write lock before the other is read. */
static const struct step {
    const char *sql, *key;   /* key: an integer column by which ranges of rows can be selected; NULL: none */
} steps[] = {
    {"INSERT INTO main.session (uid, date, command, version, revision, device, cc, sms, driver, cublaslt, nvrtc)"
    " SELECT uid, date, command, version, revision, device, cc, sms, driver, cublaslt, nvrtc FROM other.session WHERE true"
    " ON CONFLICT (uid) DO NOTHING", "rowid"},

    {"INSERT INTO main.problem (text, m, n, k) SELECT text, m, n, k FROM other.problem WHERE true"
    " ON CONFLICT (text) DO NOTHING", "rowid"},

    {"INSERT INTO main.trial" TRIAL_VALUES " FROM other.trial t" SAME_PROBLEM SAME_SESSION("t") " WHERE true"
    " ON CONFLICT (device, problem, candidate) DO UPDATE SET "
    TAKE_VERDICT(verdict) ", " TAKE_VERDICT(part) ", " TAKE_VERDICT(reason) ", "
    TAKE_NUMBER(registers) ", " TAKE_NUMBER(smem) ", " TAKE_NUMBER(predicted_us) ", "
    TAKE_MEASURED(us) ", " TAKE_MEASURED(library_us) ", " TAKE_MEASURED(ratio) ", " TAKE_MEASURED(low) ", "
    TAKE_MEASURED(high) ", " TAKE_MEASURED(rounds) ", " TAKE_MEASURED(mhz) ", " TAKE_MEASURED(stage) ", "
    TAKE_MEASURED(session) ", " TAKE_MEASURED(date)
    " WHERE (trial.verdict = '' AND excluded.verdict <> '') OR (trial.us = 0 AND excluded.us <> 0)"
    " OR (trial.registers = 0 AND excluded.registers <> 0) OR (trial.smem = 0 AND excluded.smem <> 0)"
    " OR (trial.predicted_us = 0 AND excluded.predicted_us <> 0)", "t.id"},

    {"INSERT INTO main.winner" TRIAL_VALUES " FROM other.winner t" SAME_PROBLEM SAME_SESSION("t") " WHERE true"
    " ON CONFLICT (device, problem) DO NOTHING", "t.id"},

    {"INSERT INTO main.measurement (uid, trial, session, clock, date)"
    " SELECT x.uid, mt.id, s.id, x.clock, x.date FROM other.measurement x CROSS JOIN other.trial t ON t.id = x.trial" SAME_PROBLEM
    " CROSS JOIN main.trial mt ON mt.device = t.device AND mt.problem = p.id AND mt.candidate = t.candidate" SAME_SESSION("x")
    " WHERE true ON CONFLICT (uid) DO NOTHING", "x.id"},

    {"INSERT INTO main.sample (measurement, round, us, reference_us)"
    " SELECT mx.id, a.round, a.us, a.reference_us FROM other.sample a CROSS JOIN other.measurement x ON x.id = a.measurement"
    " CROSS JOIN main.measurement mx ON mx.uid = x.uid WHERE true ON CONFLICT (measurement, round) DO NOTHING", "a.measurement"},

    {"INSERT INTO main.result (key, value, session, date)"
    " SELECT r.key, r.value, s.id, r.date FROM other.result r" SAME_SESSION("r") " WHERE true ON CONFLICT (key) DO NOTHING", NULL},

    {"INSERT INTO main.curve (session, series, name, date)"
    " SELECT s.id, c.series, c.name, c.date FROM other.curve c" SAME_SESSION("c") " WHERE true ON CONFLICT (session, series, name) DO NOTHING", "c.id"},

    /* if both have the curve, missing points are added: it may have been copied before it was complete */
    {"INSERT INTO main.point (curve, step, x, y)"
    " SELECT mc.id, q.step, q.x, q.y FROM other.point q CROSS JOIN other.curve c ON c.id = q.curve" SAME_SESSION("c")
    " CROSS JOIN main.curve mc ON mc.session = s.id AND mc.series = c.series AND mc.name = c.name WHERE true ON CONFLICT (curve, step) DO NOTHING", "q.curve"},

    {"INSERT INTO main.source (hash, source, manifest, date)"
    " SELECT hash, source, manifest, date FROM other.source WHERE true ON CONFLICT (hash) DO NOTHING", NULL},

    {"INSERT INTO main.prompt (hash, text) SELECT hash, text FROM other.prompt WHERE true ON CONFLICT (hash) DO NOTHING", NULL},

    /* only turns whose prompts could be read, in the other store's order */
    {"INSERT INTO main.turn (uid, session, device, problem, mode, model, island, number, base, system, ask, answer, fault, date)"
    " SELECT t.uid, s.id, t.device, p.id, t.mode, t.model, t.island, t.number, t.base, t.system, t.ask, t.answer, t.fault, t.date FROM other.turn t"
    SAME_PROBLEM SAME_SESSION("t") " CROSS JOIN main.prompt a ON a.hash = t.system CROSS JOIN main.prompt b ON b.hash = t.ask WHERE true ORDER BY t.id"
    " ON CONFLICT (uid) DO NOTHING", "t.id"},

    {"INSERT INTO main.outcome (turn, position, candidate, verdict, part, reason, us, library_us, ratio, low, high, reward, registers, smem, metrics)"
    " SELECT mt.id, o.position, o.candidate, o.verdict, o.part, o.reason, o.us, o.library_us, o.ratio, o.low, o.high, o.reward, o.registers, o.smem, o.metrics"
    " FROM other.outcome o CROSS JOIN other.turn t ON t.id = o.turn CROSS JOIN main.turn mt ON mt.uid = t.uid WHERE true ON CONFLICT (turn, position) DO NOTHING", "o.turn"},
};

static gs_status damaged(const char *path, int lost, int64_t copied, gs_error *error)
{
    return gs_fail(error, GS_ERROR_STORE_CORRUPT, NULL,
                   "%s is damaged: %lld rows were copied; of %d of %zu kinds of rows not all could be read", gs_sql_tail(path),
                   (long long)copied, lost, GS_COUNT(steps));
}

/* Runs the step for rows whose key is in [first, last]; first < 0: for all. */
static int run_sql(gs_store *store, const struct step *step, int64_t first, int64_t last)
{
    static const char all[] = "WHERE true";
    const char *const where = strstr(step->sql, all);
    if (first < 0 || !where) return gs_sql_text_run(store, step->sql);
    char *const sql = sqlite3_mprintf("%.*sWHERE %s BETWEEN %lld AND %lld%s", (int)(where - step->sql), step->sql, step->key, (long long)first,
                                      (long long)last, where + sizeof all - 1);
    const int code = sql ? gs_sql_text_run(store, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code;
}

/* SQLITE_CORRUPT: the step copied nothing. */
static int try_step(gs_store *store, const struct step *step, int64_t first, int64_t last, int64_t *copied)
{
    int code = gs_sql_text_run(store, "SAVEPOINT step");
    if (code != SQLITE_OK) return code;
    const int64_t before = sqlite3_total_changes(store->db);
    code = run_sql(store, step, first, last);
    const bool corrupt = (code & 0xff) == SQLITE_CORRUPT && !sqlite3_get_autocommit(store->db);
    if (code == SQLITE_OK) *copied += sqlite3_total_changes(store->db) - before;
    if (corrupt) code = gs_sql_text_run(store, "ROLLBACK TO step");
    if (code == SQLITE_OK) code = gs_sql_text_run(store, "RELEASE step");
    return code == SQLITE_OK && corrupt ? SQLITE_CORRUPT : code;
}

/* Copies what can be read around the damage: a range that fails is halved, down to a single row. *tries limits the cost when everything is damaged. */
static int salvage(gs_store *store, const struct step *step, int64_t first, int64_t last, int *tries, int64_t *copied)
{
    const int code = try_step(store, step, first, last, copied);
    if (code != SQLITE_CORRUPT || first == last || --*tries < 0) return code == SQLITE_CORRUPT ? SQLITE_OK : code;
    const int64_t middle = first + (last - first) / 2;
    const int left = salvage(store, step, first, middle, tries, copied);
    return left == SQLITE_OK && *tries >= 0 ? salvage(store, step, middle + 1, last, tries, copied) : left;
}

/* Row ids begin with 1: if already the empty range of id 0 cannot be read, no range can. */
static int salvage_all(gs_store *store, const struct step *step, int64_t *copied)
{
    int tries = 5000;
    const int none = step->key ? try_step(store, step, 0, 0, copied) : SQLITE_CORRUPT;
    if (none != SQLITE_OK) return none == SQLITE_CORRUPT ? SQLITE_OK : none;
    return salvage(store, step, 1, (INT64_C(1) << 32) - 1, &tries, copied);
}

/* Within the transaction. *lost counts the steps that met damage. */
static int run_steps(gs_store *store, int64_t *copied, int *lost)
{
    for (size_t i = 0; i < GS_COUNT(steps); i++) {
        int code = try_step(store, &steps[i], -1, -1, copied);
        if (code == SQLITE_CORRUPT) {
            ++*lost;
            code = salvage_all(store, &steps[i], copied);
        }
        if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
}

static gs_status merge_attached(gs_store *store, const char *other_path, int64_t *copied, gs_error *error)
{
    int lost = 0;
    gs_status status = gs_sql_status(store, gs_sql_text_run(store, "BEGIN"), error);
    if (status == GS_OK) status = gs_schema_check_other(store, other_path, error);
    if (status == GS_OK) status = gs_sql_status(store, run_steps(store, copied, &lost), error);
    status = gs_sql_end(store, status, error);
    if (status != GS_OK) {
        *copied = 0;
        return status;
    }
    return lost ? damaged(other_path, lost, *copied, error) : GS_OK;
}

/* A step in PostgreSQL's syntax: the other store's rows are in temporary tables. */
static int run_on_server(gs_store *store, const char *sql, int64_t *copied)
{
    static const char *const words[][2] = {{"other.", "other_"}, {"main.", ""}, {"CROSS JOIN", "JOIN"}};
    char *const text = malloc(2 * strlen(sql) + 1), *to = text;
    while (text && *sql) {
        size_t i = 0;
        while (i < GS_COUNT(words) && strncmp(sql, words[i][0], strlen(words[i][0])) != 0) i++;
        if (i == GS_COUNT(words)) *to++ = *sql++;
        else to = stpcpy(to, words[i][1]), sql += strlen(words[i][0]);
    }
    if (text) *to = '\0';
    const int code = text ? gs_sql_text_run(store, text) : SQLITE_NOMEM;
    if (code == SQLITE_OK) *copied += gs_sql_changed(store);
    free(text);
    return code;
}

/* Within the transaction: copies the other store's rows into temporary tables, then runs the steps. */
static gs_status merge_copies(gs_store *store, gs_store *other, int64_t *copied, gs_error *error)
{
    int code = SQLITE_OK;
    GS_TRY(gs_copy_tables(store, other, error));
    for (size_t i = 0; i < GS_COUNT(steps) && code == SQLITE_OK; i++)
        code = store->pg ? run_on_server(store, steps[i].sql, copied) : try_step(store, &steps[i], -1, -1, copied);
    return gs_sql_status(store, code, error);
}

/* Merges between a file and a server, or two servers, where ATTACH is impossible. */
static gs_status merge_other(gs_store *store, const char *other_path, int64_t *copied, gs_error *error)
{
    gs_store *other;
    GS_TRY(gs_store_open_read(&other, other_path, error));
    gs_status status = gs_copy_same(store, other) ? gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s is this store itself: name another one", other->path) : GS_OK;
    if (status == GS_OK && !store->pg) status = gs_sql_status(store, gs_sql_text_run(store, "ATTACH ':memory:' AS other"), error);
    if (status == GS_OK) status = store->pg ? gs_sql_status(store, gs_sql_begin_once(store), error) : gs_sql_begin(store, error);
    if (status == GS_OK) status = gs_sql_end(store, merge_copies(store, other, copied, error), error);
    if (!store->pg) gs_sql_text_run(store, "DETACH other");
    if (status != GS_OK) *copied = 0;
    gs_store_close(&other);
    return status;
}

gs_status gs_store_merge(gs_store *store, const char *other_path, int64_t *copied, gs_error *error)
{
    int64_t unused;
    if (!copied) copied = &unused;
    *copied = 0;
    if (store->pg || gs_pg_is_name(other_path)) return merge_other(store, other_path, copied, error);
    struct stat here, there;
    if (stat(other_path, &there) != 0)
        return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s: no such store", gs_sql_tail(other_path));
    GS_TRY(gs_file_need_regular(other_path, error));
    if (stat(store->path, &here) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino)
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s is this store itself: name another one", gs_sql_tail(other_path));

    char *const attach = sqlite3_mprintf("ATTACH %Q AS other", other_path);
    if (!attach) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to merge");
    const int code = gs_sql_text_run(store, attach);
    sqlite3_free(attach);
    if (code != SQLITE_OK) return gs_sql_status_of(store, other_path, code, error);
    const gs_status status = merge_attached(store, other_path, copied, error);
    gs_sql_text_run(store, "DETACH other");
    return status;
}
