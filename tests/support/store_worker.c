/* SPDX-License-Identifier: MIT
 * Stands for a tuner in tests/store/kill.py, which kills it: takes problems by lease, stores measurements, turns and jobs, and logs each one that the store has
 * confirmed.
 * store_worker STORE FOLDER RUN PROBLEMS     until all problems are done or FOLDER/stop exists; FOLDER/log.<pid> has a line for each confirmed record */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "store/store.h"

#define DEVICE "nvidia-h200"

typedef struct worker {
    gs_store   *store;
    gs_session  session;
    gs_lessee   who;
    const char *folder;
    int         log, number;
    gs_error    error;
} worker;

static bool keep(worker *w, const char *kind, const char *name)
{
    char line[200];
    const int size = snprintf(line, sizeof line, "%s %s\n", kind, name);
    return write(w->log, line, (size_t)size) == size;   /* one write, unbuffered: the line survives when this process is killed */
}

static gs_status work(worker *w, const char *problem)
{
    char name[64], uid[GS_STORE_UID];
    const double us[] = {1, 2, 3};
    gs_store_uid(uid);
    snprintf(name, sizeof name, "source:%s", uid);
    GS_TRY(gs_store_samples(w->store, &w->session, problem, name, "device", us, us, 3, &w->error));
    keep(w, "measurement", name);
    const gs_turn_outcome outcome = {.candidate = name, .verdict = "pass"};
    GS_TRY(gs_store_turn_put(w->store, &w->session, &(gs_turn){.uid = uid, .problem = problem, .mode = "source"}, &w->error));
    keep(w, "turn", uid);
    GS_TRY(gs_store_turn_end(w->store, uid, &outcome, 1, &w->error));
    keep(w, "outcome", uid);
    GS_TRY(gs_store_jobs_put(w->store, &(gs_job){.id = uid, .device = DEVICE, .request = problem}, 1, &w->error));
    keep(w, "job", uid);
    GS_TRY(gs_store_job_attempt(w->store, uid, 1, &w->error));
    keep(w, "attempt", uid);
    GS_TRY(gs_store_job_end(w->store, uid, name, false, &w->error));
    keep(w, "answer", uid);
    return GS_OK;
}

/* No other process may hold the problem at the same time; checked with a file lock, which the kernel releases when the process ends. */
static gs_status one(worker *w, int number, bool *done)
{
    char problem[64], path[512];
    gs_lease lease;
    snprintf(problem, sizeof problem, "f16:64x64x%d:tn", 8 * (number + 1));
    GS_TRY(gs_store_lease(w->store, DEVICE, problem, &w->who, 1000, &lease, &w->error));
    *done = lease == GS_LEASE_DONE;
    if (lease != GS_LEASE_TAKEN) return GS_OK;
    snprintf(path, sizeof path, "%s/lock.%d", w->folder, number);
    const int lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) keep(w, "TWICE", problem);
    gs_status status = work(w, problem);
    if (status == GS_OK) status = gs_store_release(w->store, DEVICE, problem, &w->who, true, &w->error);
    if (status == GS_OK) keep(w, "done", problem);
    close(lock);
    return status;
}

static gs_status run(worker *w, int problems)
{
    char stop[512];
    bool *const done = calloc((size_t)problems, 1);
    int at = (int)(gs_random_entropy() % (uint64_t)problems), left = problems;
    gs_status status = done ? gs_store_begin(w->store, &w->session, &w->error) : GS_ERROR_MEMORY;
    snprintf(stop, sizeof stop, "%s/stop", w->folder);
    for (; status == GS_OK && left > 0 && access(stop, F_OK) != 0; at = (at + 1) % problems) {
        if (done[at]) continue;
        status = one(w, at, &done[at]);
        left -= done[at];
    }
    free(done);
    return status;
}

int main(int argc, char **argv)
{
    char path[512];
    if (argc != 5) return 2;
    worker w = {.folder = argv[2], .session = {.device = DEVICE, .command = "worker"}};
    gs_lessee_of(&w.who, argv[3], getpid());
    snprintf(path, sizeof path, "%s/log.%d", argv[2], (int)getpid());
    w.log = open(path, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
    gs_status status = GS_ERROR_IO;
    for (int i = 0; i < 300 && status == GS_ERROR_IO; i++) {   /* the server may be down when the worker starts */
        if (i > 0) gs_clock_sleep_ns(100000000);
        status = gs_store_open(&w.store, argv[1], &w.error);
    }
    if (status == GS_OK) status = run(&w, atoi(argv[4]));
    if (status != GS_OK) fprintf(stderr, "%s: %s\n", gs_status_name(status), w.error.text);
    gs_store_close(&w.store);
    return status != GS_OK;
}
