/* SPDX-License-Identifier: MIT */
#include "compare/rounds.h"

#include "base/error.h"

void gs_rounds_head(FILE *file) { fprintf(file, "problem,mode,cache,layout,contender,round,device_us,call_us\n"); }

static void csv_number(FILE *file, const json_t *list, size_t at)
{
    const json_t *const value = json_array_get(list, at);
    if (json_is_number(value)) fprintf(file, "%.9g", json_number_value(value));
}

void gs_rounds_row(FILE *file, const gs_result *row)
{
    const json_t *const entries = json_object_get(row->json, "contenders");
    char text[GS_PROBLEM_TEXT], mode[GS_RESULT_MODE];
    for (int i = 0; i < row->count; i++) {
        const json_t *const entry = json_array_get(entries, (size_t)i);
        const json_t *const device = json_object_get(entry, "device_samples");
        const json_t *const call = json_object_get(entry, "call_samples");
        const size_t rounds = GS_MAX(json_array_size(device), json_array_size(call));
        for (size_t round = 0; round < rounds; round++) {
            fprintf(file, "\"%s\",%s,%s,%s,%s,%zu,", gs_problem_format(&row->problem, text), gs_result_mode(row, mode),
                    json_string_value(json_object_get(row->json, "cache")), row->entry[i].layout, row->entry[i].name, round);
            csv_number(file, device, round);
            fputc(',', file);
            csv_number(file, call, round);
            fputc('\n', file);
        }
    }
    fflush(file);
}
