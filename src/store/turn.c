/* SPDX-License-Identifier: MIT
 * Turns: questions to language models, their answers, and the results of the candidates in them. Each distinct prompt text is stored once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/sql.h"

static double known(double value) { return isfinite(value) ? value : 0; }

/* ---- writing ---- */

static gs_status check_outcomes(const gs_turn_outcome *outcomes, int count, gs_error *error)
{
    if (count < 0) return gs_fail(error, GS_ERROR_ARGUMENT, "count", "must not be negative");
    for (int i = 0; i < count; i++)
        if (!outcomes[i].candidate || !*outcomes[i].candidate) return gs_fail(error, GS_ERROR_ARGUMENT, "candidate", "outcome %d has no candidate", i);
    return GS_OK;
}

static gs_status check(const gs_session *session, const gs_turn *turn, gs_error *error)
{
    GS_TRY(gs_sql_need_session(session, error));
    if (!turn->problem) return gs_fail(error, GS_ERROR_ARGUMENT, "problem", "must not be empty");
    if (!turn->mode || (strcmp(turn->mode, "source") != 0 && strcmp(turn->mode, "schedule") != 0))
        return gs_fail(error, GS_ERROR_ARGUMENT, "mode", "must be source or schedule");
    return check_outcomes(turn->outcomes, turn->count, error);
}

static int put_prompt(gs_store *store, const char *text, char hash[GS_HASH_TEXT])
{
    gs_query put = gs_sql(store, GS_SQL_PUT_PROMPT);
    gs_sql_text(&put, gs_hash_format(gs_hash_bytes(text, strlen(text)), hash));
    gs_sql_text(&put, text);
    return gs_sql_run(&put);
}

static int put_turn(gs_store *store, const char *uid, const gs_session *session, const gs_turn *turn, const char *problem)
{
    char date[GS_DATE_TEXT], system[GS_HASH_TEXT], ask[GS_HASH_TEXT];
    int code = put_prompt(store, gs_sql_or_empty(turn->system), system);
    if (code == SQLITE_OK) code = put_prompt(store, gs_sql_or_empty(turn->ask), ask);
    if (code != SQLITE_OK) return code;
    gs_query put = gs_sql(store, GS_SQL_PUT_TURN);
    gs_sql_text(&put, uid);
    gs_sql_int(&put, session->id);
    gs_sql_text(&put, session->device);
    gs_sql_text(&put, problem);
    gs_sql_text(&put, turn->mode);
    gs_sql_text(&put, gs_sql_or_empty(turn->model));
    gs_sql_int(&put, turn->island);
    gs_sql_int(&put, turn->number);
    gs_sql_text(&put, gs_sql_or_empty(turn->base));
    gs_sql_text(&put, system);
    gs_sql_text(&put, ask);
    gs_sql_text(&put, gs_sql_or_empty(turn->answer));
    gs_sql_text(&put, gs_sql_or_empty(turn->fault));
    gs_sql_text(&put, gs_date_format(date));
    return gs_sql_run(&put);
}

static int put_outcome(gs_store *store, const char *turn, int position, const gs_turn_outcome *outcome)
{
    gs_query put = gs_sql(store, GS_SQL_PUT_OUTCOME);
    gs_sql_text(&put, turn);
    gs_sql_int(&put, position);
    gs_sql_text(&put, outcome->candidate);
    gs_sql_text(&put, gs_sql_or_empty(outcome->verdict));
    gs_sql_int(&put, outcome->part);
    gs_sql_text(&put, gs_sql_or_empty(outcome->reason));
    gs_sql_real(&put, known(outcome->us));
    gs_sql_real(&put, known(outcome->library_us));
    gs_sql_real(&put, known(outcome->ratio));
    gs_sql_real(&put, known(outcome->low));
    gs_sql_real(&put, known(outcome->high));
    gs_sql_real(&put, known(outcome->reward));
    gs_sql_int(&put, outcome->registers);
    gs_sql_int(&put, outcome->smem);
    gs_sql_text(&put, gs_sql_or_empty(outcome->metrics));
    return gs_sql_run(&put);
}

static int put_outcomes(gs_store *store, const char *turn, const gs_turn_outcome *outcomes, int count)
{
    int code = SQLITE_OK;
    for (int i = 0; i < count && code == SQLITE_OK; i++) code = put_outcome(store, turn, i, &outcomes[i]);
    return code;
}

/* Within a transaction. */
static gs_status put(gs_store *store, const gs_session *session, const gs_turn *turn, gs_error *error)
{
    char problem[GS_PROBLEM_TEXT], fresh[GS_STORE_UID];
    GS_TRY(gs_sql_problem(store, turn->problem, problem, error));
    gs_store_uid(fresh);
    const char *const uid = turn->uid ? turn->uid : fresh;
    int code = put_turn(store, uid, session, turn, problem);
    if (code == SQLITE_OK) code = put_outcomes(store, uid, turn->outcomes, turn->count);
    return gs_sql_status(store, code, error);
}

gs_status gs_store_turn_put(gs_store *store, const gs_session *session, const gs_turn *turn, gs_error *error)
{
    GS_TRY(check(session, turn, error));
    GS_TRY(gs_sql_begin(store, error));
    return gs_sql_end(store, put(store, session, turn, error), error);
}

/* Within a transaction. */
static gs_status end(gs_store *store, const char *uid, const gs_turn_outcome *outcomes, int count, gs_error *error)
{
    gs_query lock = gs_sql(store, GS_SQL_LOCK_TURN), find = gs_sql(store, GS_SQL_FIND_TURN);
    gs_sql_text(&lock, uid);
    gs_sql_text(&find, uid);
    int code = gs_sql_run(&lock);   /* a concurrent call waits here, then sees what the first one wrote */
    if (code == SQLITE_OK) code = gs_sql_step(&find);
    const bool ended = code == SQLITE_ROW && gs_sql_get_int(&find, 0) > 0;
    gs_sql_leave(&find);
    if (code == SQLITE_DONE) return gs_fail(error, GS_ERROR_NOT_FOUND, "uid", "%s has no such turn", gs_sql_tail(store->path));
    if (code == SQLITE_ROW) code = ended ? SQLITE_OK : put_outcomes(store, uid, outcomes, count);
    return gs_sql_status(store, code, error);
}

gs_status gs_store_turn_end(gs_store *store, const char *uid, const gs_turn_outcome *outcomes, int count, gs_error *error)
{
    GS_TRY(check_outcomes(outcomes, count, error));
    GS_TRY(gs_sql_begin(store, error));
    return gs_sql_end(store, end(store, uid, outcomes, count, error), error);
}

/* ---- reading ---- */

#define TURNS_READ                                                                                                                        \
    "SELECT t.uid, t.device, p.text, t.mode, t.model, t.base, s.text, a.text, t.answer, t.fault, t.date, t.id, t.island, t.number FROM turn t" \
    " JOIN problem p ON p.id = t.problem JOIN prompt s ON s.hash = t.system JOIN prompt a ON a.hash = t.ask"                              \
    " WHERE (?1 IS NULL OR t.device = ?1) AND (?2 IS NULL OR p.text = ?2) ORDER BY t.id"

enum { OUTCOME_TEXTS = 4 };

/* Copies, because a row's texts are valid only until the next row. */
typedef struct outcomes {
    gs_turn_outcome *list;
    char      **texts;
    int         count, capacity, text_count, text_capacity;
} outcomes;

static void empty(outcomes *o)
{
    for (int i = 0; i < o->text_count; i++) free(o->texts[i]);
    o->text_count = o->count = 0;
}

static bool add(outcomes *o, const gs_query *row)
{
    const char *text[OUTCOME_TEXTS];
    if (!gs_grow(&o->list, o->count, &o->capacity, sizeof *o->list)) return false;
    for (int i = 0; i < OUTCOME_TEXTS; i++) {
        if (!gs_grow(&o->texts, o->text_count, &o->text_capacity, sizeof *o->texts)) return false;
        char *const copy = strdup(gs_sql_or_empty(gs_sql_get_text(row, i)));
        if (!copy) return false;
        text[i] = o->texts[o->text_count++] = copy;
    }
    o->list[o->count++] = (gs_turn_outcome){
        .candidate = text[0], .verdict = text[1], .reason = text[2], .metrics = text[3], .part = gs_sql_get_int(row, 4),
        .registers = gs_sql_get_int(row, 5), .smem = gs_sql_get_int(row, 6), .us = gs_sql_get_real(row, 7),
        .library_us = gs_sql_get_real(row, 8), .ratio = gs_sql_get_real(row, 9), .low = gs_sql_get_real(row, 10),
        .high = gs_sql_get_real(row, 11), .reward = gs_sql_get_real(row, 12),
    };
    return true;
}

static gs_status read_outcomes(gs_store *store, int64_t turn, outcomes *o, gs_error *error)
{
    empty(o);
    gs_query get = gs_sql(store, GS_SQL_GET_OUTCOMES);
    gs_sql_int(&get, turn);
    int code;
    bool room = true;
    while ((code = gs_sql_step(&get)) == SQLITE_ROW && room) room = add(o, &get);
    const gs_status status = !room                 ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a turn's outcomes")
                             : code == SQLITE_DONE ? GS_OK
                                                   : gs_sql_status(store, code, error);
    gs_sql_leave(&get);
    return status;
}

static gs_turn read_turn(const gs_query *row)
{
    const char *text[11];
    for (int i = 0; i < (int)GS_COUNT(text); i++) text[i] = gs_sql_or_empty(gs_sql_get_text(row, i));
    return (gs_turn){
        .uid = text[0], .device = text[1], .problem = text[2], .mode = text[3], .model = text[4], .base = text[5], .system = text[6], .ask = text[7],
        .answer = text[8], .fault = text[9], .date = text[10], .id = gs_sql_get_int(row, 11), .island = gs_sql_get_int(row, 12),
        .number = gs_sql_get_int(row, 13),
    };
}

static gs_status visit_rows(gs_store *store, gs_query *rows, gs_turn_visit visit, void *self, gs_error *error)
{
    outcomes o = {0};
    gs_status status = GS_OK;
    bool on = true;
    int code = SQLITE_DONE;
    while (status == GS_OK && on && (code = gs_sql_step(rows)) == SQLITE_ROW) {
        gs_turn turn = read_turn(rows);
        status = read_outcomes(store, turn.id, &o, error);
        turn.outcomes = o.list;
        turn.count = o.count;
        if (status == GS_OK) on = visit(self, &turn);
    }
    if (status == GS_OK && on && code != SQLITE_DONE) status = gs_sql_status(store, code, error);
    empty(&o);
    free(o.texts);
    free(o.list);
    return status;
}

gs_status gs_store_turns(gs_store *store, const char *device, const char *problem, gs_turn_visit visit, void *self, gs_error *error)
{
    gs_problem parsed;
    char text[GS_PROBLEM_TEXT];
    if (problem) {
        GS_TRY(gs_problem_parse(&parsed, problem, error));
        gs_problem_format(&parsed, text);
    }
    gs_query rows = gs_sql_ad_hoc(store, TURNS_READ);
    gs_sql_text(&rows, device);
    gs_sql_text(&rows, problem ? text : NULL);
    const gs_status status = visit_rows(store, &rows, visit, self, error);
    gs_sql_leave(&rows);
    return status;
}
