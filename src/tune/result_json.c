/* SPDX-License-Identifier: MIT
 * The JSON of a result: what gemmsmith tune --json prints. */
#include <string.h>

#include "tune/tune.h"

/* There is no ratio on an emulated device, which has no library, nor if cuBLASLt has no correct algorithm. */
static void put_figures(gs_json *json, const gs_problem *problem, const gs_caps *caps, const gs_tune_result *result)
{
    const gs_row *const row = &result->row;
    if (!result->confirmed) {
        gs_json_string(json, "best_own", result->best_own);
        gs_json_double(json, "best_own_us", result->best_own_us);
        return;
    }
    gs_json_double(json, "us", row->us);
    if (gs_row_predicted(row)) {
        gs_json_bool(json, "predicted", true);
        gs_json_double(json, "floor_us", gs_floor_us(problem, caps));
        gs_json_string(json, "best_own", result->best_own);
        return;
    }
    if (gs_row_alone(row)) {
        gs_json_bool(json, "alone", true);
        gs_json_string(json, "why_alone", result->alone);
        gs_json_string(json, "best_own", result->best_own);
        return;
    }
    gs_json_double(json, "cublaslt_us", row->library_us);
    gs_json_double(json, "ratio", row->ratio);
    gs_json_double(json, "low", row->low);
    gs_json_double(json, "high", row->high);
    gs_json_string(json, "best_own", result->best_own);
    gs_json_double(json, "best_own_ratio", result->best_own_ratio);
}

void gs_tune_result_put(gs_json *json, const gs_problem *problem, const gs_session *session, const gs_caps *caps, const gs_tune_result *result)
{
    char text[GS_PROBLEM_TEXT], schedule[GS_SCHEDULE_TEXT];
    const gs_row *const row = &result->row;
    gs_json_string(json, "problem", gs_problem_format(problem, text));
    if (result->confirmed) gs_json_string(json, "choice", gs_row_choice(row, schedule));
    put_figures(json, problem, caps, result);
    gs_json_string(json, "gpu", caps->slug);
    if (strcmp(session->device, caps->slug) != 0) gs_json_bool(json, "dependent", true);
    if (result->confirmed) gs_json_int(json, "mhz", row->mhz);
    gs_json_int(json, "proposed", result->proposed);
    gs_json_int(json, "compiled", result->compiled);
    gs_json_int(json, "verified", result->verified);
    gs_json_int(json, "measured", result->measured);
    gs_json_int(json, "rejected", result->rejected);
    gs_json_bool(json, "resumed", result->resumed);
    gs_json_double(json, "seconds", result->seconds);
    gs_json_begin(json, "spent", '{');
    gs_json_double(json, "compile", result->spent.compile);
    gs_json_double(json, "race", result->spent.race);
    gs_json_double(json, "verify", result->spent.verify);
    gs_json_double(json, "confirm", result->spent.confirm);
    gs_json_end(json, '}');
}
