/* SPDX-License-Identifier: MIT */
#include "service/screen.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "kernel/manifest.h"
#include "problem/layout.h"

#define GIB 1073741824.0

/* A lower bound for verification: A, B, D, C if it is read, and a product in f64 to compare with. */
static double least_bytes(const gs_problem *p)
{
    const double product = 8.0 * (double)p->m * (double)gs_columns_of_b(p) * (double)p->batch;
    return (double)gs_problem_bytes(p, 'a') + (double)gs_problem_bytes(p, 'b') + (p->beta != 0 ? (double)gs_problem_bytes(p, 'c') : 0) + (double)gs_problem_bytes(p, 'd') + product;
}

gs_status gs_service_screen_problem(const gs_problem *problem, const gs_caps *caps, const char *field, gs_error *error)
{
    const double needs = least_bytes(problem);
    if (caps->memory_bytes == 0 || needs <= (double)caps->memory_bytes) return GS_OK;
    return gs_fail(error, GS_ERROR_RANGE, field, "needs at least %.1f GiB, and the device has %.1f GiB", needs / GIB, (double)caps->memory_bytes / GIB);
}

char *gs_service_answer(const char *problem, const gs_evaluation *got)
{
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    const gs_judged judged = {.passed = got->verdict == GS_VERDICT_PASS, .alone = got->predicted, .untrusted = got->untrusted[0] != '\0', .ratio = got->ratio,
                              .us = got->untrusted[0] ? got->untrusted_us : got->us,
                              .library_us = got->library_us, .floor_us = got->floor_us, .bytes = got->bytes, .l2_hit = got->l2_hit};
    gs_json_begin(&json, NULL, '{');
    gs_evaluation_put(&json, problem, got);
    gs_json_begin(&json, "rewards", '{');
    for (int kind = 0; kind < GS_REWARDS; kind++) gs_json_double(&json, gs_reward_name((gs_reward_kind)kind), gs_reward_of((gs_reward_kind)kind, &judged));
    gs_json_end(&json, '}');
    gs_json_end(&json, '}');
    char *const answer = text.failed ? NULL : gs_text_take(&text);
    gs_text_free(&text);
    return answer;
}

/* Gives the verdict that gs_evaluate would give for this text, without a worker. */
static gs_status judge(const gs_problem *problem, const gs_caps *caps, const char *schedule, const char *source, const char *manifest, gs_evaluation *out, gs_error *why)
{
    gs_schedule parsed;
    gs_manifest read;
    char name[GS_CONTENDER_NAME];
    if (!schedule) {
        snprintf(out->candidate, sizeof out->candidate, "%s", gs_submission_name(source, manifest, name));
        return gs_manifest_parse(&read, manifest, why);
    }
    GS_TRY(gs_schedule_parse(&parsed, schedule, why));
    gs_schedule_format(&parsed, out->candidate);
    return gs_schedule_check(&parsed, problem, caps, why);
}

gs_status gs_service_screen_candidate(char **answer, bool *refused, const gs_problem *problem, const gs_caps *caps, const char *schedule, const char *source, const char *manifest,
                                      gs_error *error)
{
    gs_evaluation got = {.step = GS_STEP_TEXT, .reward = -1, .l2_hit = -1, .floor_us = gs_floor_us(problem, caps), .predicted = caps->emulated};
    gs_error why = {0};
    char text[GS_PROBLEM_TEXT];
    const gs_status status = judge(problem, caps, schedule, source, manifest, &got, &why);
    got.verdict = status == GS_OK ? GS_VERDICT_UNKNOWN : gs_verdict_from_status(status);
    *refused = got.verdict != GS_VERDICT_UNKNOWN;
    if (!*refused) return GS_OK;   /* also if the text cannot be judged here: the evaluation will do that */
    gs_error_format(&why, got.reason, sizeof got.reason);
    *answer = gs_service_answer(gs_problem_format(problem, text), &got);
    return *answer ? GS_OK : gs_fail(error, GS_ERROR_MEMORY, "body", "no memory for an answer");
}
