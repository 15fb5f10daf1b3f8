/* SPDX-License-Identifier: MIT
 * Races: the request {"problem":P,"race":[S,...],"alone":true} (alone: cuBLASLt is not timed), and its answer. */
#include <jansson.h>
#include <stdlib.h>

#include "base/text.h"
#include "jobs/internal.h"

const char **gs_service_race_list(const json_t *request, int *count)
{
    const json_t *const list = json_object_get(request, "race");
    const size_t size = json_array_size(list);
    const char **const out = size > 0 ? calloc(size, sizeof(char *)) : NULL;
    if (!out) return NULL;
    *count = (int)size;
    for (size_t i = 0; i < size; i++) {
        const char *const text = json_string_value(json_array_get(list, i));
        out[i] = text ? text : "";
    }
    return out;
}

static bool timed(const gs_evaluation *got) { return !gs_verdict_failed(got->verdict) && got->us > 0; }

/* For ranking: the ratio to cuBLASLt, which is timed in every group, or without cuBLASLt to the floor. */
static double speed_of(const gs_evaluation *got) { return got->ratio.median; }

static void put_rewards(gs_json *json, const gs_evaluation *got)
{
    const gs_judged judged = {.passed = !gs_verdict_failed(got->verdict), .alone = got->predicted || !(got->library_us > 0), .untrusted = got->untrusted[0] != '\0', .ratio = got->ratio,
                              .us = got->untrusted[0] ? got->untrusted_us : got->us, .library_us = got->library_us, .floor_us = got->floor_us, .bytes = got->bytes, .l2_hit = got->l2_hit};
    gs_json_begin(json, "rewards", '{');
    for (int kind = 0; kind < GS_REWARDS; kind++) gs_json_double(json, gs_reward_name((gs_reward_kind)kind), gs_reward_of((gs_reward_kind)kind, &judged));
    gs_json_end(json, '}');
}

static void put_one(gs_json *json, const gs_evaluation *got, double best, int rank)
{
    const bool failed = gs_verdict_failed(got->verdict);
    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "candidate", got->candidate);
    if (failed) {
        gs_json_string(json, "verdict", gs_verdict_word(got->verdict));
        gs_json_int(json, "part", got->part);
        gs_json_string(json, "reason", got->reason);
    }
    if (timed(got)) {
        gs_json_int(json, "rank", rank);
        gs_json_double(json, "relative", speed_of(got) / best);
        gs_json_double(json, "us", got->us);
        if (got->library_us > 0) gs_json_double(json, "cublaslt_us", got->library_us);
        gs_json_double(json, "ratio", got->ratio.median);
        gs_json_double(json, "low", got->ratio.low);
        gs_json_double(json, "high", got->ratio.high);
        gs_json_int(json, "rounds", got->rounds);
    }
    if (got->untrusted[0]) {
        gs_json_string(json, "untrusted", got->untrusted);
        gs_json_double(json, "untrusted_us", got->untrusted_us);
    }
    gs_evaluation_put_metrics(json, got);
    put_rewards(json, got);
    gs_json_end(json, '}');
}

char *gs_service_race_answer(const char *problem, const gs_evaluation *got, int count)
{
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    double best = 0;
    for (int i = 0; i < count; i++)
        if (timed(&got[i]) && speed_of(&got[i]) > best) best = speed_of(&got[i]);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "problem", problem);
    gs_json_double(&json, "floor_us", count > 0 ? got[0].floor_us : 0);
    gs_json_bool(&json, "predicted", count > 0 && got[0].predicted);
    gs_json_begin(&json, "race", '[');
    for (int i = 0; i < count; i++) {
        int rank = 1;
        for (int j = 0; j < count; j++) rank += timed(&got[j]) && speed_of(&got[j]) > speed_of(&got[i]);
        put_one(&json, &got[i], best, rank);
    }
    gs_json_end(&json, ']');
    gs_json_end(&json, '}');
    char *const answer = text.failed ? NULL : gs_text_take(&text);
    gs_text_free(&text);
    return answer;
}
