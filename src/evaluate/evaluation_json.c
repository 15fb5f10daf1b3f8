/* SPDX-License-Identifier: MIT
 * The JSON of an evaluation: the fields that score prints and serve answers with. "again" is what the second measurement was called
 * when the fields got their names. */
#include "evaluate/environment.h"

void gs_evaluation_put(gs_json *json, const char *problem, const gs_evaluation *got)
{
    gs_json_string(json, "problem", problem);
    gs_json_string(json, "candidate", got->candidate);
    gs_json_string(json, "verdict", gs_verdict_word(got->verdict));
    gs_json_int(json, "part", got->part);
    gs_json_string(json, "reason", got->reason);
    gs_json_string(json, "stage", gs_step_name(got->step));
    if (got->note[0]) gs_json_string(json, "note", got->note);
    gs_json_double(json, "reward", got->reward);
    if (got->us > 0) {
        gs_json_double(json, "us", got->us);
        if (got->predicted) gs_json_bool(json, "predicted", true);
        else gs_json_double(json, "cublaslt_us", got->library_us);
        gs_json_double(json, "ratio", got->ratio.median);
        gs_json_double(json, "low", got->ratio.low);
        gs_json_double(json, "high", got->ratio.high);
        gs_json_int(json, "rounds", got->rounds);
        gs_json_int(json, "mhz", got->mhz);
    }
    if (got->untrusted[0]) {
        gs_json_string(json, "untrusted", got->untrusted);
        gs_json_double(json, "untrusted_us", got->untrusted_us);
    }
    gs_json_double(json, "floor_us", got->floor_us);
    if (got->l2_hit >= 0) gs_json_double(json, "l2_hit", got->l2_hit);
    gs_json_int(json, "registers", got->registers);
    gs_json_int(json, "smem", got->smem);
    gs_evaluation_put_metrics(json, got);
    if (got->second) {
        gs_json_bool(json, "jumped", got->jumped);
        gs_json_bool(json, "agreed", got->agreed);
        gs_json_double(json, "first_us", got->first_us);
    }
    gs_json_begin(json, "spent", '{');
    gs_json_double(json, "compile", got->spent.compile);
    gs_json_double(json, "emulator", got->spent.emulator);
    gs_json_double(json, "verify", got->spent.verify);
    gs_json_double(json, "time", got->spent.time);
    gs_json_double(json, "again", got->spent.second);
    gs_json_double(json, "all", got->spent.all);
    gs_json_end(json, '}');
}
