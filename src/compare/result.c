/* SPDX-License-Identifier: MIT */
#include "compare/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "compare/json.h"

const char *const gs_result_bands[] = {"under 1", "1-5", "5-20", "20-100", "100-1000", "over 1000"};

bool gs_result_is_reference_of_groups(const char *name)
{
    return strcmp(name, GS_RESULT_CUBLAS_GROUPS) == 0 || strcmp(name, GS_RESULT_CUBLASLT_GROUPS) == 0 || strcmp(name, GS_RESULT_CUBLASLT_AT_ONCE) == 0;
}

bool gs_result_is_own(const json_t *entry, const char *own)
{
    const char *const name = gs_compare_string(entry, "name");
    const size_t length = strlen(own);
    return json_is_true(json_object_get(entry, "own")) || (strncmp(name, own, length) == 0 && (!name[length] || (length && name[length] == '@')));
}

static bool read_ratio(const json_t *from, gs_ratio *ratio)
{
    if (!json_is_object(from)) return false;
    *ratio = (gs_ratio){gs_compare_number(from, "median"), gs_compare_number(from, "low"), gs_compare_number(from, "high"), GS_UNCLEAR};
    for (gs_comparison c = GS_SAME; c < GS_UNCLEAR; c++)
        if (strcmp(gs_compare_string(from, "verdict"), gs_comparison_name(c)) == 0) ratio->verdict = c;
    return isfinite(ratio->median);
}

static void read_entry(const json_t *from, const char *own, gs_result_entry *entry)
{
    *entry = (gs_result_entry){
        .name = gs_compare_string(from, "name"),
        .layout = gs_compare_string(from, "layout"),
        .detail = gs_compare_string(from, "detail"),
        .untrusted = gs_compare_string(from, "untrusted"),
        .message = gs_compare_string(from, "message"),
        .ran = strcmp(gs_compare_string(from, "status"), "GS_OK") == 0,
        .wrong = json_is_true(json_object_get(from, "wrong")),
        .device_us = gs_compare_number(from, "device_us"),
        .call_us = gs_compare_number(from, "call_us"),
        .p50 = gs_compare_number(from, "call_p50"),
        .p95 = gs_compare_number(from, "call_p95"),
        .p99 = gs_compare_number(from, "call_p99"),
    };
    entry->own = gs_result_is_own(from, own);
    entry->reference = json_is_true(json_object_get(from, "reference")) || strcmp(entry->name, GS_RESULT_REFERENCE) == 0;
    entry->compared = read_ratio(json_object_get(from, "ratio"), &entry->ratio);
}

gs_status gs_result_read(gs_result *row, json_t *json, gs_error *error)
{
    *row = (gs_result){.json = json};
    const json_t *const entries = json_object_get(json, "contenders");
    const json_t *const band = json_object_get(json, "band");
    row->floor_us = gs_compare_number(json, "floor_us");
    row->title = gs_compare_string(json, "title");
    row->server = strcmp(gs_compare_string(json, "mode"), "server") == 0;
    row->predicted = json_is_true(json_object_get(json, "predicted"));
    row->dependent = !row->predicted && json_is_true(json_object_get(json, "dependent"));
    row->behind = json_is_true(json_object_get(json, "behind"));
    row->skewed = strcmp(gs_compare_string(json, "routing"), "skewed") == 0;
    row->band = (int)json_integer_value(band);
    row->count = (int)GS_MIN(json_array_size(entries), GS_RESULT_ENTRIES);
    if (!json_is_array(entries) || !json_is_integer(band) || row->band < 0 || row->band > 5 || !*row->title ||
        gs_problem_parse(&row->problem, gs_compare_string(json, "problem"), NULL) != GS_OK) {
        gs_result_free(row);
        return gs_fail(error, GS_ERROR_CORRUPT, NULL, "a result without the fields of one");
    }
    for (int i = 0; i < row->count; i++) read_entry(json_array_get(entries, (size_t)i), gs_compare_string(json, "own"), &row->entry[i]);
    const json_t *const best = json_object_get(json, "best");
    row->best_own = (int)json_integer_value(json_object_get(best, "own"));
    row->best_reference = (int)json_integer_value(json_object_get(best, "reference"));
    row->best_compared = read_ratio(best, &row->best) && row->best_own >= 0 && row->best_own < row->count &&
                         row->best_reference >= 0 && row->best_reference < row->count;
    return GS_OK;
}

void gs_result_free(gs_result *row)
{
    json_decref(row->json);
    *row = (gs_result){0};
}

const char *gs_result_mode(const gs_result *row, char text[GS_RESULT_MODE])
{
    snprintf(text, GS_RESULT_MODE, "%s%s%s%s", row->predicted ? "predicted" : row->server ? "server" : "offline", row->dependent && !row->predicted ? "+dependent" : "",
             row->skewed ? GS_RESULT_SKEWED : "", row->behind ? GS_RESULT_BEHIND : "");
    return text;
}
