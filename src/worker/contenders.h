/* SPDX-License-Identifier: MIT
 * The contenders that a worker has prepared for the problem it works on, by name, so that repeated requests are cheap (tuning
 * cuBLASLt takes longer than timing it). Another problem empties the cache, but for the tuned cuBLASLt of the last few problems. */
#ifndef GS_WORKER_CONTENDERS_H
#define GS_WORKER_CONTENDERS_H

#include "loaded/contender.h"

#define GS_PREPARED 192
#define GS_PREPARED_KEPT 16   /* tuned cuBLASLt of other problems, which may be asked for again */

typedef struct gs_prepared {
    gs_contender contender;
    gs_layout    layout;
    gs_problem   problem;                    /* the base problem in this contender's layout */
    char         name[GS_CONTENDER_NAME];    /* without the layout */
    char         base[GS_PROBLEM_TEXT];      /* the request's problem */
    gs_status    status;                     /* not GS_OK: it cannot compute the problem; the reason is in error */
    gs_error     error;
    uint64_t     used;                       /* request that used it last */
} gs_prepared;

/* A user kernel from the texts of a request, kept as long as requests bring the same one. */
#define GS_USER_KERNEL "source:"
typedef struct gs_user_kernel {
    char      name[GS_CONTENDER_NAME];       /* "source:<hash>"; "": there is none */
    char     *source, *manifest;             /* as received; kernel points to them */
    gs_kernel kernel;
} gs_user_kernel;

typedef struct gs_contenders {
    gs_device   *device;                     /* borrowed */
    gs_context  *context;                    /* for "plan"; opened at its first use */
    gs_context  *measuring;                  /* for "measured" */
    char         base[GS_PROBLEM_TEXT];      /* the problem of the request */
    uint64_t     request;                    /* counts up with each */
    gs_user_kernel   user;
    int          count;
    gs_prepared *entry[GS_PREPARED];
} gs_contenders;

/* Splits "tn:ws/..." into layout and name; without a layout ("ws/...", "source:..."), the problem's own. PARSE for an unknown layout or an empty
 * name. */
gs_status gs_contender_split(const char *text, const gs_problem *problem, gs_layout *layout, char name[GS_CONTENDER_NAME],
                             gs_error *error);

/* Sets the user kernel; what was prepared for the previous one is dropped. PARSE: a name that does not begin with "source:", or a manifest that cannot be read; MEMORY. After a
 * failure there is none. */
gs_status gs_contenders_user_kernel(gs_contenders *cache, const char *name, const char *source, const char *manifest, gs_error *error);
void      gs_contenders_forget_user_kernel(gs_contenders *cache);

/* A contender by name, not prepared: a baseline, "plan", "measured", the user kernel or a schedule. */
gs_status gs_contender_named(gs_contenders *cache, gs_contender *out, const char *name, gs_error *error);

/* A new request about this problem: drops what was prepared for other ones, except up to GS_PREPARED_KEPT tuned cuBLASLt. */
void gs_contenders_begin(gs_contenders *cache, const gs_problem *problem);

/* The prepared contender, from the cache or new; valid until the next begin. One that cannot compute the problem is an entry with
 * its status; only PARSE, MEMORY and a full cache (RANGE) are returned. */
gs_status gs_contenders_get(gs_contenders *cache, const char *text, const gs_problem *problem, gs_prepared **out, gs_error *error);

void gs_contenders_clear(gs_contenders *cache);   /* destroys every entry, the contexts and the user kernel */

#endif
