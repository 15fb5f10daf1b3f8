/* SPDX-License-Identifier: MIT
 * The threads of the stages: of devices, and preparing ones. A worker ends with the thread that started it, so each thread opens its own. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/error.h"
#include "evaluate/emulate.h"
#include "jobs/internal.h"
#include "worker/pool.h"

#define PAUSE_NS INT64_C(500000000)
enum { BESIDE = 2, NICE = 10, PATIENCE = 4 };   /* cores per device that are not used for preparing; nice value of preparing threads; factor by which an emulation may take longer
                                                   than on all cores */

int gs_jobs_preparers(int devices)
{
    const int cores = gs_pool_cores() - BESIDE * devices;
    return GS_MIN(GS_MAX(cores, 1), GS_SERVICE_PREPARERS);
}

/* Puts the job back at the front of the queue; if the service stops, the store keeps it for the next one. A race on which another thread still works is not
 * queued: that thread goes on with it. */
static void give_back(gs_service_evaluator *e, gs_service_job *job)
{
    gs_service_jobs *const jobs = e->jobs;
    pthread_mutex_lock(&jobs->lock);
    const bool last = job->at_work == 1 && !job->queued && !job->done;
    gs_service_leave(e, job);
    if (last) gs_service_enqueue(jobs, job, e->stage, true);
    pthread_mutex_unlock(&jobs->lock);
    if (!gs_service_stops(e)) gs_clock_sleep_ns(PAUSE_NS);
}

static void work(gs_service_evaluator *e, gs_environment *environment)
{
    gs_service_job *job;
    int part;
    while ((job = gs_service_take(e, &part)))
        if (!gs_service_work(e, environment, job, part)) give_back(e, job);
}

/* ---- a device ---- */

static gs_status open_device(gs_service_evaluator *e, gs_environment **environment, gs_error *error)
{
    const gs_jobs_options *const options = &e->jobs->options;
    gs_environment_options how = options->environment;
    GS_TRY(options->opener.open(options->opener.self, (int)(e - e->jobs->evaluator), &e->session, error));
    snprintf(e->state.name, sizeof e->state.name, "%s", e->session.worker->device);
    e->session.worker->unwanted = gs_service_unwanted;
    e->session.worker->self = e;
    if (e->session.emulator) {   /* for user kernels that were not emulated by a preparing thread */
        e->session.emulator->unwanted = gs_service_unwanted;
        e->session.emulator->self = e;
    }
    how.reward = GS_REWARD_HEADROOM;
    how.emulator = e->session.emulator;
    const gs_status status = gs_environment_create(environment, e->session.worker, e->session.caps, e->session.store, e->session.session, &how, error);
    if (status != GS_OK) options->opener.close(&e->session);
    return status;
}

/* ---- a preparing thread ---- */

/* Names a worker of the emulated device with the GPU's limits, on its share of the cores. It never touches the GPU. */
static int name_worker(gs_service_evaluator *e, const gs_service_session *device)
{
    const int cores = gs_pool_cores(), threads = GS_MAX(cores / GS_MAX(e->jobs->options.prepare, 1), 1);
    char name[GS_WORKER_DEVICE] = "", whole[2 * GS_WORKER_DEVICE];
    if (device->caps->emulated) snprintf(whole, sizeof whole, "%s", device->worker->device);
    else if (gs_emulation_device(device->caps, name)) snprintf(whole, sizeof whole, "%s,threads=%d", name, threads);
    else snprintf(whole, sizeof whole, "emu:none");   /* no device is opened: schedules are compiled for the GPU, user kernels are not prepared */
    gs_worker_init(&e->worker, whole, NULL);
    snprintf(e->state.name, sizeof e->state.name, "%s", e->worker.device);
    e->worker.unwanted = gs_service_unwanted;
    e->worker.self = e;
    return GS_MIN((cores + threads - 1) / threads, PATIENCE);
}

static gs_status open_preparer(gs_service_evaluator *e, gs_environment **environment, gs_error *error)
{
    const gs_service_session *const device = &e->jobs->evaluator[0].session;
    gs_environment_options how = e->jobs->options.environment;
    const int slower = name_worker(e, device);
    if (!device->caps->emulated) setpriority(PRIO_PROCESS, 0, NICE);   /* for this thread and the worker that it starts, so that they do not disturb measurements */
    e->as = *device->session;
    e->session = (gs_service_session){.worker = &e->worker, .caps = device->caps, .session = &e->as, .device = device->device, .version = device->version};
    how.reward = GS_REWARD_HEADROOM;
    how.emulator = device->emulator ? &e->worker : NULL;
    how.emulator_s = slower * GS_EMULATE_S;
    GS_TRY(gs_store_open(&e->session.store, e->jobs->options.store, error));
    const gs_status status = gs_environment_create(environment, &e->worker, device->caps, e->session.store, &e->as, &how, error);
    if (status != GS_OK) gs_store_close(&e->session.store);
    return status;
}

static void close_preparer(gs_service_evaluator *e)
{
    gs_worker_stop(&e->worker);
    gs_store_close(&e->session.store);
}

/* ---- all threads ---- */

void *gs_service_main(void *self)
{
    gs_service_evaluator *const e = self;
    gs_environment *environment = NULL;
    gs_error error = {0};
    const bool device = e->stage == GS_JOBS_DEVICE;
    const gs_status status = device ? open_device(e, &environment, &error) : open_preparer(e, &environment, &error);
    pthread_mutex_lock(&e->jobs->lock);
    e->status = status;
    e->error = error;
    e->ready = true;
    pthread_cond_broadcast(&e->jobs->changed);
    pthread_mutex_unlock(&e->jobs->lock);
    if (status == GS_OK) work(e, environment);
    gs_environment_destroy(&environment);
    if (status == GS_OK && device) e->jobs->options.opener.close(&e->session);
    if (status == GS_OK && !device) close_preparer(e);
    return NULL;
}
