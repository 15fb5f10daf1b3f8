/* SPDX-License-Identifier: MIT
 * Answers a trainer's call: reads the settings in the URL and the body, has the candidates evaluated, and waits. */
#ifndef GS_SERVICE_TRAINER_H
#define GS_SERVICE_TRAINER_H

#include "service/adapter.h"
#include "jobs/jobs.h"

/* Access to the client's connection. */
typedef struct gs_service_caller {
    void       *self;
    const char *(*argument)(void *self, const char *name);   /* of the URL; NULL: absent */
    void        (*wait)(void *self, gs_service_found *found, int count, int64_t until_ns);
    bool        (*pause)(void *self);                        /* waits a moment while the queue is full; false: the client is gone */
} gs_service_caller;

/* Returns the HTTP status; *out is the answer, or NULL with *error. */
int gs_service_trainer_answer(json_t **out, gs_service_jobs *jobs, gs_service_adapter which, const char *body, size_t size, const gs_service_terms *terms, const gs_service_caller *caller,
                         gs_error *error);

#endif
