/* SPDX-License-Identifier: MIT
 * What a program that works on a device has open: a worker, the device's capabilities, and the store, with the names under which results are kept. */
#ifndef GS_EVALUATE_SESSION_H
#define GS_EVALUATE_SESSION_H

#include "store/store.h"
#include "worker/worker.h"

#define GS_SESSION_VERSION 32

/* "1.0.0+e976d235": the version of the program and of its kernels' sources, as results of a GPU carry it. Returns text. */
char *gs_session_version(char text[GS_SESSION_VERSION]);

typedef struct gs_device_session {
    gs_worker  worker;
    gs_worker  emulator;       /* of the emulated device on which user kernels run before they touch this one; "" as its device: none */
    gs_caps    caps;
    int        cublaslt, nvrtc;
    gs_store  *store;          /* NULL: not asked for */
    gs_session session;
    char       command[1024];  /* the command line; the caller's to fill before open */
    char       device[64];     /* what the store calls it: the slug, with GS_DEPENDENT_SUFFIX where launches are dependent and timed */
    char       version[GS_SESSION_VERSION];    /* of the program, its kernels' sources and an emulated device's profile: only results of the same version count */
} gs_device_session;           /* zero but for command before open; must not be moved while it is open */

typedef struct gs_device_session_options {
    const char *device;        /* NULL or "": $GEMMSMITH_DEVICE, else the first GPU, else, with a note, the emulated device */
    bool        dependent;     /* launches are dependent, and results are stored as such */
    bool        store;         /* whether to open the store */
    const char *store_path;    /* NULL: the default */
    const char *commit;        /* of the program; must outlive the session */
    void      (*note)(const char *text);   /* told that an emulated device is used for want of a GPU; NULL: logged */
} gs_device_session_options;

/* Asks the worker of the device for its capabilities, then opens the store. On failure everything is closed. Codes: those of gs_worker_hello and of gs_store_open. */
gs_status gs_device_session_open(gs_device_session *session, const gs_device_session_options *options, gs_error *error);
void      gs_device_session_close(gs_device_session *session);

/* The worker on which user kernels run first: session->emulator, which starts with the first of them and ends with the session. NULL: none, because the session's device is
 * emulated itself, or no emulated device is known for it. */
gs_worker *gs_device_session_emulator(gs_device_session *session);

#endif
