/* SPDX-License-Identifier: MIT
 * What whoever works on a device has open: a worker, what the device can do, and the store, with the names under which results are kept. */
#ifndef GS_EVALUATE_SESSION_H
#define GS_EVALUATE_SESSION_H

#include "store/store.h"
#include "worker/worker.h"

#define GS_SESSION_VERSION 32

/* "1.0.0+e976d235": the program and the sources of its kernels, as results of a GPU carry it. Returns text. */
char *gs_session_version(char text[GS_SESSION_VERSION]);

typedef struct gs_device_session {
    gs_worker  worker;
    gs_worker  emulator;       /* of the emulated device on which user kernels run before they touch this one; its name is "" where there is none */
    gs_caps    caps;
    int        cublaslt, nvrtc;
    gs_store  *store;          /* NULL: not asked for */
    gs_session session;
    char       command[1024];  /* the command line; the caller's to fill before open */
    char       device[64];     /* what the store calls it: the slug, with GS_DEPENDENT_SUFFIX where launches are dependent and timed */
    char       version[GS_SESSION_VERSION];    /* of the program, and which kernel sources (and profile of an emulated device) it carries: results of
                                  others do not count */
} gs_device_session;           /* zero but for command; it does not move while it is open */

typedef struct gs_device_session_options {
    const char *device;        /* NULL or "": $GEMMSMITH_DEVICE, else the first GPU, else, with a note, the emulated device */
    bool        dependent;     /* what is kept in the store is measured so */
    bool        store;         /* is wanted */
    const char *store_path;    /* NULL: the default */
    const char *commit;        /* of the program; a string that lives as long */
    void      (*note)(const char *text);   /* is told that an emulated device stands in; NULL: the log */
} gs_device_session_options;

/* Asks the worker of the device for its capabilities, then opens the store. Closed again where it fails. Codes: those of gs_worker_hello and of
 * gs_store_open. */
gs_status gs_device_session_open(gs_device_session *session, const gs_device_session_options *options, gs_error *error);
void      gs_device_session_close(gs_device_session *session);

/* Where user kernels are to run first: session->emulator, which starts with the first of them and ends with the session. NULL: nowhere, because the
 * session's device is emulated itself, or none is known for it. */
gs_worker *gs_device_session_emulator(gs_device_session *session);

#endif
