/* SPDX-License-Identifier: MIT
 * A trainer's call from its body to its answer: what the URL that it was given says, the candidates' evaluations, the wait for them. */
#ifndef GS_SERVICE_TRAINER_H
#define GS_SERVICE_TRAINER_H

#include "service/adapter.h"
#include "jobs/jobs.h"

/* The connection that asks. */
typedef struct gs_service_caller {
    void       *self;
    const char *(*argument)(void *self, const char *name);   /* of the URL; NULL: is not there */
    void        (*wait)(void *self, gs_service_found *found, int count, int64_t until_ns);
    bool        (*pause)(void *self);                        /* a moment while the queue is full; false: nobody waits any more */
} gs_service_caller;

/* The HTTP status; *out is the answer, or NULL with *error. */
int gs_service_trainer_answer(json_t **out, gs_service_jobs *jobs, gs_service_adapter which, const char *body, size_t size, const gs_service_terms *terms, const gs_service_caller *caller,
                         gs_error *error);

#endif
