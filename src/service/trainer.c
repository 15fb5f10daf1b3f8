/* SPDX-License-Identifier: MIT */
#include "service/trainer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "service/reply.h"

/* Seconds, a little less than each trainer waits for a reply: 180 and 120. */
static const double patience_s[] = {[GS_SERVICE_OPENRLHF] = 170, [GS_SERVICE_SLIME] = 110};

/* Settings from the URL, because the body is fixed by the trainer. */
typedef struct settings {
    gs_reward_kind kind;
    double         deadline_s, unknown;
    bool           has_unknown, details;
} settings;

static gs_status read_settings(settings *out, gs_service_adapter which, const gs_service_terms *terms, const gs_service_caller *caller, gs_error *error)
{
    const char *const reward = caller->argument(caller->self, "reward"), *const details = caller->argument(caller->self, "details");
    const char *const unknown = caller->argument(caller->self, "unknown");
    *out = (settings){.kind = reward ? gs_reward_find(reward) : GS_REWARD_MILESTONES, .deadline_s = GS_MIN(terms->deadline_s, patience_s[which]),
                      .has_unknown = unknown != NULL, .details = details && strcmp(details, "true") == 0};
    if (out->kind == GS_REWARDS) return gs_fail(error, GS_ERROR_ARGUMENT, "query", "reward must be " GS_REWARD_WORDS);
    if (!gs_service_number_read(caller->argument(caller->self, "deadline_s"), 0, GS_SERVICE_DEADLINE, &out->deadline_s))
        return gs_fail(error, GS_ERROR_ARGUMENT, "query", "deadline_s must be a number of seconds up to a day");
    if (!gs_service_number_read(unknown, -1e6, 1e6, &out->unknown)) return gs_fail(error, GS_ERROR_ARGUMENT, "query", "unknown must be a number");
    if (details && !out->details && strcmp(details, "false") != 0) return gs_fail(error, GS_ERROR_ARGUMENT, "query", "details must be true or false");
    return GS_OK;
}

/* Waits here while the queue is full: trainers give up after a few refusals in a row. */
static gs_status accept(gs_service_jobs *jobs, const gs_service_request *request, gs_service_found *found, int64_t until, const gs_service_caller *caller, gs_error *error)
{
    gs_status status;
    while ((status = gs_service_jobs_accept(jobs, request, found, error)) == GS_ERROR_TIMEOUT && gs_clock_ns() < until && caller->pause(caller->self)) continue;
    return status;
}

/* The answer; NULL with *error: TIMEOUT with the field deadline_s if a reward is missing. */
static json_t *evaluate(gs_service_jobs *jobs, gs_service_adapter which, gs_service_completions *asked, const settings *s, const gs_service_caller *caller, gs_error *error)
{
    const int count = asked->request.count;
    const int64_t until = gs_clock_ns() + (int64_t)(s->deadline_s * 1e9);
    gs_service_found *const found = calloc((size_t)count + 1, sizeof *found);
    json_t **const results = calloc((size_t)count + 1, sizeof *results), *out = NULL;
    asked->request.expires = gs_service_jobs_expiry(s->deadline_s);
    gs_status status = found && results ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a request");
    if (status == GS_OK) status = accept(jobs, &asked->request, found, until, caller, error);
    if (status == GS_OK) {
        caller->wait(caller->self, found, count, until);
        for (int i = 0; i < count; i++) {
            results[i] = gs_service_reply_item(&asked->request.item[i], &found[i], s->kind, true, gs_service_jobs_stopping(jobs));
            gs_service_found_free(jobs, &found[i]);
        }
        out = gs_service_adapter_reply(which, asked, results, s->kind, s->has_unknown ? &s->unknown : NULL, s->details, error);
        for (int i = 0; i < count; i++) json_decref(results[i]);
    }
    free(found);
    free(results);
    return out;
}

int gs_service_trainer_answer(json_t **out, gs_service_jobs *jobs, gs_service_adapter which, const char *body, size_t size, const gs_service_terms *terms, const gs_service_caller *caller,
                         gs_error *error)
{
    settings s;
    gs_service_completions asked;
    *out = NULL;
    gs_status status = read_settings(&s, which, terms, caller, error);
    if (status == GS_OK) status = gs_service_adapter_parse(&asked, which, body, size, terms, error);
    if (status != GS_OK) return gs_service_reply_status(status);
    *out = evaluate(jobs, which, &asked, &s, caller, error);
    gs_service_completions_free(&asked);
    if (*out) return 200;
    return error->status == GS_ERROR_TIMEOUT && strcmp(error->field, "deadline_s") == 0 ? 503 : gs_service_reply_status(error->status);
}
