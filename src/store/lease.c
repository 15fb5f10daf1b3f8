/* SPDX-License-Identifier: MIT
 * Leases: which tuner works on a problem, and which problems a group of tuners has finished. A lease ends when its owner returns it, when it was not renewed
 * in time, or when its owner's process is gone, which a tuner on the same machine can see. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "store/sql.h"

#define DONE_S (30 * 86400.0)   /* how long marks of finished problems of a killed group are kept */

/* ---- identity of a process ---- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);   /* the one clock that processes and machines share */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Start time of a process in clock ticks since boot, which distinguishes it from a later process with the same number; 0: there is none. */
static int64_t process_born(int64_t pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *const file = fopen(path, "re");
    if (!file) return 0;
    const size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = '\0';
    const char *const name_end = strrchr(line, ')');   /* the name may contain blanks and parentheses */
    char state = 0;
    long long born = 0;
    if (name_end) sscanf(name_end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld", &state, &born);
    return state == 'Z' || state == 'X' ? 0 : born;   /* a zombie */
}

/* Where a process number is unique: the machine's boot and the PID name space. Empty: unknown, then only time ends a lease. */
static void name_host(char *host, size_t size)
{
    char boot[40] = "", space[40];
    FILE *const file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file && !fgets(boot, sizeof boot, file)) boot[0] = '\0';
    if (file) fclose(file);
    const ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    boot[strcspn(boot, "\n")] = '\0';
    host[0] = '\0';
    if (boot[0] && length > 0) snprintf(host, size, "%s %.*s", boot, (int)length, space);
}

void gs_lessee_run(char run[GS_LEASE_RUN])
{
    snprintf(run, GS_LEASE_RUN, "%016llx%016llx", (unsigned long long)gs_random_entropy(), (unsigned long long)gs_random_entropy());
}

gs_status gs_lessee_run_check(const char *run, gs_error *error)
{
    const size_t size = strlen(run);
    if (size > 0 && size < GS_LEASE_RUN && strspn(run, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == size) return GS_OK;
    return gs_fail(error, GS_ERROR_ARGUMENT, "run", "has 1 to %d letters, digits and any of ._-", GS_LEASE_RUN - 1);
}

void gs_lessee_of(gs_lessee *out, const char *run, int64_t pid)
{
    *out = (gs_lessee){.pid = pid, .born = process_born(pid)};
    snprintf(out->run, sizeof out->run, "%s", run);
    name_host(out->host, sizeof out->host);
}

/* ---- reading a row ---- */

typedef struct row {
    bool      there, done;
    gs_lessee owner;
    int64_t   expires;
} row;

static void copy_text(char *to, size_t size, const gs_query *from, int column)
{
    const char *const text = gs_sql_get_text(from, column);
    snprintf(to, size, "%s", text ? text : "");
}

static void take_row(const gs_query *from, row *out)
{
    *out = (row){.there = true};
    copy_text(out->owner.run, sizeof out->owner.run, from, 0);
    copy_text(out->owner.host, sizeof out->owner.host, from, 1);
    out->owner.pid = gs_sql_get_int(from, 2);
    out->owner.born = gs_sql_get_int(from, 3);
    out->expires = gs_sql_get_int(from, 4);
    out->done = gs_sql_get_int(from, 5) != 0;
}

static gs_status read_row(gs_store *store, gs_sql_id statement, const char *device, const char *problem, row *out, gs_error *error)
{
    *out = (row){0};
    gs_query get = gs_sql(store, statement);
    gs_sql_text(&get, device);
    gs_sql_text(&get, problem);
    const int code = gs_sql_step(&get);
    if (code == SQLITE_ROW) take_row(&get, out);
    gs_sql_leave(&get);
    return code == SQLITE_ROW || code == SQLITE_DONE ? GS_OK : gs_sql_status(store, code, error);
}

static bool same_lessee(const gs_lessee *a, const gs_lessee *b)
{
    return a->pid == b->pid && a->born == b->born && strcmp(a->run, b->run) == 0 && strcmp(a->host, b->host) == 0;
}

/* TAKEN: the lease may be taken. */
static gs_lease judge(const row *r, const gs_lessee *who)
{
    if (!r->there) return GS_LEASE_TAKEN;
    if (r->done) return strcmp(r->owner.run, who->run) == 0 ? GS_LEASE_DONE : GS_LEASE_TAKEN;
    if (same_lessee(&r->owner, who) || r->expires <= now_ms()) return GS_LEASE_TAKEN;
    const bool gone = who->host[0] && strcmp(r->owner.host, who->host) == 0 && process_born(r->owner.pid) != r->owner.born;
    return gone ? GS_LEASE_TAKEN : GS_LEASE_HELD;
}

/* ---- the calls ---- */

static gs_status need(const char *device, const char *problem, const gs_lessee *who, gs_error *error)
{
    if (!device || !*device) return gs_fail(error, GS_ERROR_ARGUMENT, "device", "must not be empty");
    if (!problem || !*problem) return gs_fail(error, GS_ERROR_ARGUMENT, "problem", "must not be empty");
    if (!who->run[0]) return gs_fail(error, GS_ERROR_ARGUMENT, "run", "must not be empty");
    return GS_OK;
}

static void bind_lessee(gs_query *query, const gs_lessee *who)
{
    gs_sql_text(query, who->run);
    gs_sql_text(query, who->host);
    gs_sql_int(query, who->pid);
    gs_sql_int(query, who->born);
}

static int64_t in_ms(double seconds) { return now_ms() + (int64_t)(seconds * 1000); }

static gs_status put(gs_store *store, gs_sql_id statement, const char *device, const char *problem, const gs_lessee *who, double seconds, bool *put, gs_error *error)
{
    gs_query query = gs_sql(store, statement);
    gs_sql_text(&query, device);
    gs_sql_text(&query, problem);
    bind_lessee(&query, who);
    gs_sql_int(&query, in_ms(seconds));
    GS_TRY(gs_sql_status(store, gs_sql_run(&query), error));
    *put = gs_sql_changed(store) > 0;
    return GS_OK;
}

gs_status gs_lease_add(gs_store *store, const char *device, const char *problem, const gs_lessee *who, double seconds, bool *taken, gs_error *error)
{
    GS_TRY(need(device, problem, who, error));
    return put(store, GS_SQL_PUT_LEASE, device, problem, who, seconds, taken, error);
}

/* On a server other processes take leases at the same time: a row that one of them has locked is skipped (SKIP LOCKED) and looks absent; then the INSERT
 * changes nothing, and the lease counts as held. */
gs_status gs_lease_take(gs_store *store, const char *device, const char *problem, const gs_lessee *who, double seconds, gs_lease *out, gs_error *error)
{
    row r;
    bool taken;
    *out = GS_LEASE_HELD;
    GS_TRY(need(device, problem, who, error));
    GS_TRY(read_row(store, GS_SQL_LOCK_LEASE, device, problem, &r, error));
    *out = judge(&r, who);
    if (*out != GS_LEASE_TAKEN) return GS_OK;
    const gs_status status = put(store, r.there ? GS_SQL_MOVE_LEASE : GS_SQL_PUT_LEASE, device, problem, who, seconds, &taken, error);
    if (status != GS_OK || !taken) *out = GS_LEASE_HELD;
    return status;
}

bool gs_lease_held(const gs_query *query, const gs_lessee *who)
{
    row r;
    take_row(query, &r);   /* a job without a lease: all columns are 0, an expired lease */
    return judge(&r, who) == GS_LEASE_HELD;
}

gs_status gs_store_lease(gs_store *store, const char *device, const char *problem, const gs_lessee *who, double seconds, gs_lease *out,
                         gs_error *error)
{
    row r;
    *out = GS_LEASE_HELD;
    GS_TRY(need(device, problem, who, error));
    GS_TRY(read_row(store, GS_SQL_GET_LEASE, device, problem, &r, error));   /* without a lock first: a tuner that waits for others polls often, and should not block them */
    *out = judge(&r, who);
    if (*out != GS_LEASE_TAKEN) return GS_OK;
    gs_status status = gs_sql_begin(store, error);
    if (status == GS_OK) status = gs_sql_end(store, gs_lease_take(store, device, problem, who, seconds, out, error), error);
    if (status != GS_OK) *out = GS_LEASE_HELD;
    return status != GS_OK && gs_sql_moved(store) ? GS_OK : status;   /* the row changed while the connection was lost: HELD, so that the caller asks again */
}

gs_status gs_store_renew(gs_store *store, const gs_lessee *who, double seconds, int *renewed, gs_error *error)
{
    if (renewed) *renewed = 0;
    GS_TRY(gs_sql_begin(store, error));
    gs_query renew = gs_sql(store, GS_SQL_RENEW_LEASE);
    bind_lessee(&renew, who);
    gs_sql_int(&renew, in_ms(seconds));
    const int code = gs_sql_run(&renew);
    const int changed = (int)gs_sql_changed(store);
    GS_TRY(gs_sql_end(store, gs_sql_status(store, code, error), error));
    if (renewed) *renewed = changed;
    return GS_OK;
}

gs_status gs_store_release(gs_store *store, const char *device, const char *problem, const gs_lessee *who, bool done, gs_error *error)
{
    GS_TRY(need(device, problem, who, error));
    GS_TRY(gs_sql_begin(store, error));
    gs_query give = gs_sql(store, done ? GS_SQL_DONE_LEASE : GS_SQL_DROP_LEASE);
    bind_lessee(&give, who);
    gs_sql_text(&give, device);
    gs_sql_text(&give, problem);
    if (done) gs_sql_int(&give, in_ms(DONE_S));
    return gs_sql_end(store, gs_sql_status(store, gs_sql_run(&give), error), error);
}

gs_status gs_store_release_all(gs_store *store, const gs_lessee *who, gs_error *error)
{
    GS_TRY(gs_sql_begin(store, error));
    gs_query drop = gs_sql(store, GS_SQL_LEAVE_LEASES);
    bind_lessee(&drop, who);
    return gs_sql_end(store, gs_sql_status(store, gs_sql_run(&drop), error), error);
}

gs_status gs_store_release_run(gs_store *store, const char *run, gs_error *error)
{
    GS_TRY(gs_sql_begin(store, error));
    gs_query drop = gs_sql(store, GS_SQL_DROP_LEASES);
    gs_sql_text(&drop, run);
    gs_sql_int(&drop, now_ms());
    return gs_sql_end(store, gs_sql_status(store, gs_sql_run(&drop), error), error);
}
