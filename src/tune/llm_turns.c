/* SPDX-License-Identifier: MIT
 * Storing the turns of a language model: each before its outcomes are known, because the answer was paid for. */
#include <stdlib.h>

#include "base/error.h"
#include "tune/run.h"

static gs_status asked(void *self, const gs_llm_turn *turn, gs_error *error)
{
    gs_kept_turns *const k = self;
    char problem[GS_PROBLEM_TEXT];
    gs_store_uid(k->uid);
    const gs_turn kept = {
        .uid = k->uid, .problem = gs_problem_format(turn->problem, problem), .mode = "schedule", .model = turn->model, .number = turn->number,
        .system = turn->system, .ask = turn->ask, .answer = turn->answer, .fault = turn->fault,
    };
    return gs_store_turn_put(k->store, k->session, &kept, error);
}

static gs_status ended(void *self, const gs_feedback *outcomes, int count, gs_error *error)
{
    const gs_kept_turns *const k = self;
    gs_turn_outcome *const kept = calloc((size_t)count + 1, sizeof *kept);
    char(*const names)[GS_SCHEDULE_TEXT] = calloc((size_t)count + 1, sizeof *names);
    gs_status status = GS_OK;
    for (int i = 0; kept && names && i < count; i++) {
        const gs_feedback *const f = &outcomes[i];
        const double us = f->us > 0 ? f->us : 0;
        kept[i] = (gs_turn_outcome){.candidate = gs_schedule_format(&f->schedule, names[i]), .verdict = gs_verdict_word(f->verdict), .reason = f->reason,
                                    .us = us, .library_us = us * f->ratio, .ratio = f->ratio, .reward = f->reward};
    }
    status = kept && names ? gs_store_turn_end(k->store, k->uid, kept, count, error) : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a turn");
    free(kept);
    free(names);
    return status;
}

gs_llm_sink gs_kept_turns_sink(gs_kept_turns *turns) { return (gs_llm_sink){.self = turns, .asked = asked, .ended = ended}; }
