/* SPDX-License-Identifier: MIT
 * Jobs that a service has accepted for evaluation, and their answers. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/sql.h"

static gs_status need(const gs_job *job, gs_error *error)
{
    if (!job->id || !*job->id) return gs_fail(error, GS_ERROR_ARGUMENT, "id", "must not be empty");
    if (!job->device || !*job->device) return gs_fail(error, GS_ERROR_ARGUMENT, "device", "must not be empty");
    if (!job->request || !*job->request) return gs_fail(error, GS_ERROR_ARGUMENT, "request", "must not be empty");
    return GS_OK;
}

typedef char lease_name[GS_HASH_TEXT + 64];

/* The name under which a job is leased; no problem's text looks like it. */
static gs_status name_lease(lease_name out, const char *id, gs_error *error)
{
    if ((size_t)snprintf(out, sizeof(lease_name), "job:%s", id) < sizeof(lease_name)) return GS_OK;
    return gs_fail(error, GS_ERROR_ARGUMENT, "id", "is too long");
}

static gs_status keep(gs_store *store, const char *id, int64_t expires, gs_error *error)
{
    gs_query query = gs_sql(store, GS_SQL_KEEP_JOB);
    gs_sql_text(&query, id);
    gs_sql_int(&query, expires);
    return gs_sql_status(store, gs_sql_run(&query), error);
}

/* Leases the job to the service. If another one holds it, only the job's expiry is extended, for that service to see. */
static gs_status claim(gs_store *store, const gs_job *job, const gs_lessee *who, double seconds, bool *mine, gs_error *error)
{
    lease_name name;
    GS_TRY(name_lease(name, job->id, error));
    GS_TRY(gs_lease_add(store, job->device, name, who, seconds, mine, error));
    return *mine ? GS_OK : keep(store, job->id, job->expires, error);
}

static gs_status put_all(gs_store *store, const gs_job *jobs, int count, const gs_lessee *who, double seconds, bool *mine, gs_error *error)
{
    char date[GS_DATE_TEXT];
    gs_date_format(date);
    for (int i = 0; i < count; i++) {
        gs_query put = gs_sql(store, GS_SQL_PUT_JOB);
        gs_sql_text(&put, jobs[i].id);
        gs_sql_text(&put, jobs[i].device);
        gs_sql_text(&put, jobs[i].request);
        gs_sql_text(&put, date);
        gs_sql_int(&put, jobs[i].expires);
        GS_TRY(gs_sql_status(store, gs_sql_run(&put), error));
        if (who) GS_TRY(claim(store, &jobs[i], who, seconds, &mine[i], error));
    }
    return GS_OK;
}

gs_status gs_store_jobs_claim(gs_store *store, const gs_job *jobs, int count, const gs_lessee *who, double seconds, bool *mine, gs_error *error)
{
    for (int i = 0; i < count; i++) GS_TRY(need(&jobs[i], error));
    GS_TRY(gs_sql_begin(store, error));
    return gs_sql_end(store, put_all(store, jobs, count, who, seconds, mine, error), error);
}

gs_status gs_store_jobs_put(gs_store *store, const gs_job *jobs, int count, gs_error *error)
{
    return gs_store_jobs_claim(store, jobs, count, NULL, 0, NULL, error);
}

gs_status gs_store_job_get(gs_store *store, const char *id, gs_job_visit visit, void *self, gs_error *error)
{
    gs_query get = gs_sql(store, GS_SQL_GET_JOB);
    gs_sql_text(&get, id);
    const int code = gs_sql_step(&get);
    gs_status status = GS_OK;
    if (code == SQLITE_ROW) {
        const gs_job job = {
            .id = id, .request = gs_sql_get_text(&get, 0), .attempts = gs_sql_get_int(&get, 1),
            .answer = gs_sql_get_text(&get, 2), .failed = gs_sql_get_int(&get, 3) != 0, .expires = gs_sql_get_int(&get, 4),
        };
        if (job.request) visit(self, &job);
        else status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a job");
    } else if (code == SQLITE_DONE) {
        status = gs_fail(error, GS_ERROR_NOT_FOUND, "id", "%s has no such job", gs_sql_tail(store->path));
    } else {
        status = gs_sql_status(store, code, error);
    }
    gs_sql_leave(&get);
    return status;
}

static gs_status count_attempt(gs_store *store, const char *id, int change, gs_error *error)
{
    gs_query query = gs_sql(store, GS_SQL_TRY_JOB);
    gs_sql_text(&query, id);
    gs_sql_int(&query, change);
    return gs_sql_status(store, gs_sql_run(&query), error);
}

gs_status gs_store_job_attempt(gs_store *store, const char *id, int change, gs_error *error)
{
    GS_TRY(gs_sql_begin(store, error));
    return gs_sql_end(store, count_attempt(store, id, change, error), error);
}

gs_status gs_store_job_begin(gs_store *store, const char *device, const char *id, const gs_lessee *who, double seconds, gs_lease *out, gs_error *error)
{
    lease_name name;
    *out = GS_LEASE_HELD;
    GS_TRY(name_lease(name, id, error));
    GS_TRY(gs_sql_begin(store, error));
    gs_status status = gs_lease_take(store, device, name, who, seconds, out, error);
    if (status == GS_OK && *out == GS_LEASE_TAKEN) status = count_attempt(store, id, 1, error);
    status = gs_sql_end(store, status, error);
    if (status != GS_OK) *out = GS_LEASE_HELD;
    return status;
}

gs_status gs_store_job_keep(gs_store *store, const char *id, int64_t expires, gs_error *error)
{
    GS_TRY(gs_sql_begin(store, error));
    return gs_sql_end(store, keep(store, id, expires, error), error);
}

static gs_status leave(gs_store *store, const char *id, gs_error *error)
{
    gs_query query = gs_sql(store, GS_SQL_LEAVE_JOB);
    gs_sql_text(&query, id);
    return gs_sql_status(store, gs_sql_run(&query), error);
}

gs_status gs_store_job_leave(gs_store *store, const char *id, gs_error *error)
{
    GS_TRY(gs_sql_begin(store, error));
    return gs_sql_end(store, leave(store, id, error), error);
}

gs_status gs_store_job_end(gs_store *store, const char *id, const char *answer, bool failed, gs_error *error)
{
    char date[GS_DATE_TEXT];
    if (!answer || !*answer) return gs_fail(error, GS_ERROR_ARGUMENT, "answer", "must not be empty");
    GS_TRY(gs_sql_begin(store, error));
    gs_query query = gs_sql(store, GS_SQL_END_JOB);
    gs_sql_text(&query, id);
    gs_sql_text(&query, answer);
    gs_sql_int(&query, failed);
    gs_sql_text(&query, gs_date_format(date));
    gs_status status = gs_sql_status(store, gs_sql_run(&query), error);
    if (status == GS_OK) status = leave(store, id, error);
    return gs_sql_end(store, status, error);
}

gs_status gs_store_jobs_open(gs_store *store, const char *device, const gs_lessee *who, gs_job_visit visit, void *self, gs_error *error)
{
    gs_query rows = gs_sql(store, GS_SQL_OPEN_JOBS);
    gs_sql_text(&rows, device);
    int code;
    while ((code = gs_sql_step(&rows)) == SQLITE_ROW) {
        const gs_job job = {.id = gs_sql_get_text(&rows, 6), .device = device, .expires = gs_sql_get_int(&rows, 7),
                            .bytes = gs_sql_get_int(&rows, 8), .held = who && gs_lease_held(&rows, who)};
        if (job.id) visit(self, &job);
    }
    const gs_status status = code == SQLITE_DONE ? GS_OK : gs_sql_status(store, code, error);
    gs_sql_leave(&rows);
    return status;
}

/* Up to `most` jobs after a number: how many, the last one's number, and whether all of them are younger than `before`. */
typedef struct stretch {
    int64_t count, last;
    bool    younger;
} stretch;

static gs_status look(gs_store *store, int64_t after, int most, const char *before, stretch *out, gs_error *error)
{
    gs_query query = gs_sql(store, GS_SQL_LOOK_JOBS);
    gs_sql_int(&query, after);
    gs_sql_int(&query, most);
    const int code = gs_sql_step(&query);
    const gs_status status = code == SQLITE_ROW ? GS_OK : gs_sql_status(store, code, error);
    if (status == GS_OK) {
        const char *const date = gs_sql_get_text(&query, 2);
        *out = (stretch){gs_sql_get_int(&query, 0), gs_sql_get_int(&query, 1), date && strcmp(date, before) >= 0};
    }
    gs_sql_leave(&query);
    return status;
}

static gs_status drop(gs_store *store, int64_t after, int64_t last, const char *before, int *removed, gs_error *error)
{
    gs_query query = gs_sql(store, GS_SQL_DROP_JOBS);
    gs_sql_int(&query, after);
    gs_sql_int(&query, last);
    gs_sql_text(&query, before);
    GS_TRY(gs_sql_status(store, gs_sql_run(&query), error));
    *removed = (int)gs_sql_changed(store);
    return GS_OK;
}

gs_status gs_store_jobs_prune(gs_store *store, const char *before, int most, int64_t *after, int *removed, bool *more, gs_error *error)
{
    stretch found;
    *removed = 0;
    *more = false;
    if (most < 1) return gs_fail(error, GS_ERROR_ARGUMENT, "most", "must be 1 or more");
    GS_TRY(look(store, *after, most, before, &found, error));   /* usually nothing is to be deleted, and then no lock is taken */
    if (found.count == 0 || found.younger) return GS_OK;
    GS_TRY(gs_sql_begin(store, error));
    GS_TRY(gs_sql_end(store, drop(store, *after, found.last, before, removed, error), error));
    *more = found.count == most;
    *after = found.last;
    return GS_OK;
}

gs_status gs_store_library_us(gs_store *store, const char *device, const char *problem, double *us, gs_error *error)
{
    *us = 0;
    gs_query get = gs_sql(store, GS_SQL_GET_LIBRARY);
    gs_sql_text(&get, device);
    gs_sql_text(&get, problem);
    const int code = gs_sql_step(&get);
    if (code == SQLITE_ROW) *us = gs_sql_get_real(&get, 0);
    const gs_status status = code == SQLITE_ROW    ? GS_OK
                             : code == SQLITE_DONE ? gs_fail(error, GS_ERROR_NOT_FOUND, "problem", "cuBLASLt was not timed yet")
                                                   : gs_sql_status(store, code, error);
    gs_sql_leave(&get);
    return status;
}

gs_status gs_store_best_us(gs_store *store, const char *device, const char *problem, const char *version, double *us, gs_error *error)
{
    *us = 0;
    gs_query get = gs_sql(store, GS_SQL_BEST_US);
    gs_sql_text(&get, device);
    gs_sql_text(&get, problem);
    gs_sql_text(&get, version);
    const int code = gs_sql_step(&get);
    if (code == SQLITE_ROW) *us = gs_sql_get_real(&get, 0);   /* SQL's NULL is read as 0 */
    const gs_status status = code == SQLITE_ROW ? GS_OK : gs_sql_status(store, code, error);
    gs_sql_leave(&get);
    return status;
}
