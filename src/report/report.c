/* SPDX-License-Identifier: MIT
 * The lists of a report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "table/table.h"
#include "report/internal.h"

void *gs_report_more(gs_report *r, void *list, int *count, int *capacity, size_t size)
{
    char *elements;
    if (!gs_grow(list, *count, capacity, size)) {
        r->failed = true;
        return NULL;
    }
    memcpy(&elements, list, sizeof elements);
    return memset(elements + (size_t)(*count)++ * size, 0, size);
}

gs_report_set *gs_report_find_set(gs_report *r, const char *gpu, const char *mode, bool predicted)
{
    for (int i = 0; i < r->set_count; i++)
        if (strcmp(r->sets[i].gpu, gpu) == 0 && strcmp(r->sets[i].mode, mode) == 0 && r->sets[i].predicted == predicted) return &r->sets[i];
    gs_report_set *const set = gs_report_more(r, &r->sets, &r->set_count, &r->set_capacity, sizeof *set);
    if (!set) return NULL;
    snprintf(set->gpu, sizeof set->gpu, "%s", gpu);
    snprintf(set->mode, sizeof set->mode, "%s", mode);
    set->predicted = predicted;
    set->dependent = strstr(*mode ? mode : gpu, GS_DEPENDENT_SUFFIX) != NULL;
    set->server = strncmp(mode, "server", 6) == 0;
    return set;
}

/* The kind of "f16:64x64x64:tn:acc=f16" is "f16 tn acc=f16". */
void gs_report_name_point(gs_report_point *point, const char *problem)
{
    const char *const extents = strchr(problem, ':'), *const rest = extents ? strchr(extents + 1, ':') : NULL;
    snprintf(point->problem, sizeof point->problem, "%s", problem);
    snprintf(point->kind, sizeof point->kind, "%.*s%s", extents ? (int)(extents - problem) : (int)strlen(problem), problem, rest ? rest : "");
    for (char *c = point->kind; *c; c++)
        if (*c == ':') *c = ' ';
}

gs_report_point *gs_report_find_point(gs_report *r, gs_report_set *set, const char *key, const gs_problem *parsed)
{
    for (int i = set->count - 1; i >= 0; i--)   /* rows of a problem come together */
        if (strcmp(set->list[i].key, key) == 0) return &set->list[i];
    gs_report_point *const point = gs_report_more(r, &set->list, &set->count, &set->capacity, sizeof *point);
    if (!point) return NULL;
    snprintf(point->key, sizeof point->key, "%s", key);
    gs_report_name_point(point, key);
    point->parsed = *parsed;
    point->band = -1;
    point->us = point->library_us = point->ratio = point->low = point->high = point->floor_us = NAN;
    for (int i = 0; i < GS_REPORT_PERCENTILES; i++) point->own[i] = point->reference[i] = NAN;
    return point;
}

static bool same_machine(const gs_report_machine *a, const gs_report_machine *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->driver, b->driver) == 0 && strcmp(a->cublaslt, b->cublaslt) == 0 &&
           strcmp(a->nvrtc, b->nvrtc) == 0 && strcmp(a->version, b->version) == 0 && strcmp(a->commit, b->commit) == 0 && a->sms == b->sms;
}

void gs_report_add_machine(gs_report *r, const gs_report_machine *machine)
{
    int i = 0;
    while (i < r->machine_count && !same_machine(&r->machines[i], machine)) i++;
    if (i == r->machine_count) {
        gs_report_machine *const added = gs_report_more(r, &r->machines, &r->machine_count, &r->machine_capacity, sizeof *added);
        if (added) *added = *machine;
        return;
    }
    gs_report_machine *const known = &r->machines[i];
    known->runs += machine->runs;
    if (strcmp(machine->from, known->from) < 0) memcpy(known->from, machine->from, sizeof known->from);
    if (strcmp(machine->to, known->to) > 0) memcpy(known->to, machine->to, sizeof known->to);
}

void gs_report_take_curves(gs_report *r, gs_curves *curves, const char *device)
{
    for (int i = 0; i < curves->count; i++) {
        gs_report_curve *const to = gs_report_more(r, &r->curves, &r->curve_count, &r->curve_capacity, sizeof *to);
        if (!to) return;
        to->points = curves->list[i];
        snprintf(to->device, sizeof to->device, "%s", device);
        curves->list[i].x = curves->list[i].y = NULL;
    }
}

void gs_report_free(gs_report *r)
{
    for (int i = 0; i < r->set_count; i++) free(r->sets[i].list);
    for (int i = 0; i < r->curve_count; i++) {
        free(r->curves[i].points.x);
        free(r->curves[i].points.y);
    }
    for (int i = 0; i < r->lineage_count; i++) free(r->lineages[i].list);
    free(r->sets);
    free(r->lineages);
    free(r->machines);
    free(r->curves);
    gs_text_free(&r->sources);
    *r = (gs_report){0};
}

void gs_report_summary(gs_text *out, const gs_report *r, const char *path, int problems)
{
    gs_json json = gs_json_into(out);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "out", path);
    gs_json_int(&json, "problems", problems);
    gs_json_int(&json, "sets", r->set_count);
    gs_json_int(&json, "curves", r->curve_count);
    gs_json_int(&json, "lineages", r->lineage_count);
    gs_json_int(&json, "unread", r->unread);
    gs_json_end(&json, '}');
}
