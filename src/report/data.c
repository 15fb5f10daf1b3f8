/* SPDX-License-Identifier: MIT
 * Filling a report from a store; figures of a set. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "device/device.h"
#include "plan/table.h"
#include "schedule/profile.h"

/* ---- lists that grow ---- */

/* list: the address of a pointer to elements of that size. */
static void *more(report *r, void *list, int *count, int *capacity, size_t size)
{
    char *elements;
    if (!gs_grow(list, *count, capacity, size)) {
        r->failed = true;
        return NULL;
    }
    memcpy(&elements, list, sizeof elements);
    return memset(elements + (size_t)(*count)++ * size, 0, size);
}

report_set *report_find_set(report *r, const char *gpu, const char *mode, bool predicted)
{
    for (int i = 0; i < r->set_count; i++)
        if (strcmp(r->sets[i].gpu, gpu) == 0 && strcmp(r->sets[i].mode, mode) == 0 && r->sets[i].predicted == predicted) return &r->sets[i];
    report_set *const set = more(r, &r->sets, &r->set_count, &r->set_capacity, sizeof *set);
    if (!set) return NULL;
    snprintf(set->gpu, sizeof set->gpu, "%s", gpu);
    snprintf(set->mode, sizeof set->mode, "%s", mode);
    set->predicted = predicted;
    set->dependent = strstr(*mode ? mode : gpu, GS_DEPENDENT_SUFFIX) != NULL;
    set->server = strncmp(mode, "server", 6) == 0;
    return set;
}

/* "f16:64x64x64:tn:acc=f16" is of the kind "f16 tn acc=f16". */
void report_name_point(report_point *point, const char *problem)
{
    const char *const extents = strchr(problem, ':'), *const rest = extents ? strchr(extents + 1, ':') : NULL;
    snprintf(point->problem, sizeof point->problem, "%s", problem);
    snprintf(point->kind, sizeof point->kind, "%.*s%s", extents ? (int)(extents - problem) : (int)strlen(problem), problem, rest ? rest : "");
    for (char *c = point->kind; *c; c++)
        if (*c == ':') *c = ' ';
}

report_point *report_find_point(report *r, report_set *set, const char *key, const gs_problem *parsed)
{
    for (int i = set->count - 1; i >= 0; i--)   /* rows of a problem come together */
        if (strcmp(set->list[i].key, key) == 0) return &set->list[i];
    report_point *const point = more(r, &set->list, &set->count, &set->capacity, sizeof *point);
    if (!point) return NULL;
    snprintf(point->key, sizeof point->key, "%s", key);
    report_name_point(point, key);
    point->parsed = *parsed;
    point->band = -1;
    point->us = point->library_us = point->ratio = point->low = point->high = point->floor_us = NAN;
    for (int i = 0; i < REPORT_PERCENTILES; i++) point->own[i] = point->reference[i] = NAN;
    return point;
}

static bool same_machine(const report_machine *a, const report_machine *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->driver, b->driver) == 0 && strcmp(a->cublaslt, b->cublaslt) == 0 &&
           strcmp(a->nvrtc, b->nvrtc) == 0 && strcmp(a->version, b->version) == 0 && strcmp(a->commit, b->commit) == 0 && a->sms == b->sms;
}

void report_add_machine(report *r, const report_machine *machine)
{
    int i = 0;
    while (i < r->machine_count && !same_machine(&r->machines[i], machine)) i++;
    if (i == r->machine_count) {
        report_machine *const added = more(r, &r->machines, &r->machine_count, &r->machine_capacity, sizeof *added);
        if (added) *added = *machine;
        return;
    }
    report_machine *const known = &r->machines[i];
    known->runs += machine->runs;
    if (strcmp(machine->from, known->from) < 0) memcpy(known->from, machine->from, sizeof known->from);
    if (strcmp(machine->to, known->to) > 0) memcpy(known->to, machine->to, sizeof known->to);
}

void report_free(report *r)
{
    for (int i = 0; i < r->set_count; i++) free(r->sets[i].list);
    for (int i = 0; i < r->curve_count; i++) {
        free(r->curves[i].points.x);
        free(r->curves[i].points.y);
    }
    free(r->sets);
    free(r->machines);
    free(r->curves);
    gs_text_free(&r->sources);
    *r = (report){0};
}

/* ---- from a store ---- */

typedef struct filling {
    report     *r;
    const char *gpu;       /* NULL: all */
    gs_text     devices;   /* that have sessions: "name\n" of each */
    report_set *set;       /* winners */
    gs_caps     caps;
    bool        floors;    /* caps are the device's */
} filling;

/* Of the embedded profile, else of this machine's GPU if it is that one. */
static bool find_caps(const char *device, gs_caps *caps)
{
    char slug[96];
    gs_device *here;
    snprintf(slug, sizeof slug, "%s", device);
    char *const suffix = strstr(slug, GS_DEPENDENT_SUFFIX);
    if (suffix) *suffix = '\0';
    const bool emulated = gs_gpu_emulated(slug);
    for (int i = 0; gs_profile_name(i); i++) {
        const gs_profile *const profile = gs_profile_find(gs_profile_name(i));
        if (strcmp(emulated ? slug + strlen(GS_EMULATED_SLUG) : slug, emulated ? gs_profile_name(i) : profile->caps.slug) != 0) continue;
        *caps = profile->caps;
        return true;
    }
    if (emulated || gs_device_open(&here, "cuda:0", NULL, NULL) != GS_OK) return false;
    *caps = here->caps;
    gs_device_close(&here);
    return strcmp(caps->slug, slug) == 0;
}

static bool wanted(const filling *f, const char *device) { return !f->gpu || strcmp(f->gpu, device) == 0; }

static bool on_session(void *self, const gs_session *session, const char *date)
{
    filling *const f = self;
    char line[128];
    if (!*session->device || session->cc == 0 || !wanted(f, session->device)) return true;   /* without a device: nothing was measured */
    report_machine machine = {.sms = session->sms, .runs = 1};
    snprintf(machine.device, sizeof machine.device, "%s", session->device);
    if (session->driver > 0) cli_cuda_version(session->driver, machine.driver);
    if (session->cublaslt > 0) cli_library_version(session->cublaslt, machine.cublaslt);
    if (session->nvrtc > 0) cli_cuda_version(session->nvrtc, machine.nvrtc);
    snprintf(machine.version, sizeof machine.version, "%s", session->version);
    snprintf(machine.commit, sizeof machine.commit, "%s", session->commit);
    snprintf(machine.from, sizeof machine.from, "%s", date);
    snprintf(machine.to, sizeof machine.to, "%s", date);
    report_add_machine(f->r, &machine);
    snprintf(line, sizeof line, "\n%s\n", session->device);
    if (!strstr(gs_text_string(&f->devices), line)) gs_text_addf(&f->devices, f->devices.size > 0 ? "%s" : "\n%s", line + 1);
    return !f->r->failed;
}

static double known(double value) { return value > 0 ? value : NAN; }

static bool on_winner(void *self, const gs_trial *trial)
{
    filling *const f = self;
    gs_problem problem;
    if (gs_problem_parse(&problem, trial->problem, NULL) != GS_OK) {
        f->r->unread++;
        return true;
    }
    report_point *const p = report_find_point(f->r, f->set, trial->problem, &problem);
    if (!p) return false;
    p->library = gs_library_parse(trial->candidate) > 0;
    p->us = known(trial->us);
    p->library_us = known(trial->library_us);
    p->ratio = known(trial->ratio);
    p->low = known(trial->low);
    p->high = known(trial->high);
    if (p->library && !(p->ratio > 0)) p->ratio = 1;
    if (p->library && isnan(p->us)) p->us = p->library_us;
    if (f->floors) {
        p->floor_us = gs_floor_us(&problem, &f->caps);
        p->band = gs_floor_band(&problem, &f->caps);
    }
    snprintf(p->choice, sizeof p->choice, "%s", trial->candidate);
    snprintf(p->date, sizeof p->date, "%s", trial->date);
    return true;
}

/* A result's key begins "eval 1 nvidia-h200 ". */
static bool result_wanted(const filling *f, const char *key, const eval_row *row)
{
    char gpu[96];
    if (!f->gpu) return true;
    const char *const slug = key + strlen("eval 1 ");
    snprintf(gpu, sizeof gpu, "%.*s%s", (int)strcspn(slug, " "), slug, row->dependent ? GS_DEPENDENT_SUFFIX : "");
    return strcmp(gpu, f->gpu) == 0;
}

static bool on_result(void *self, const char *key, const char *value)
{
    filling *const f = self;
    eval_row *const row = calloc(1, sizeof *row);
    json_t *const json = json_loads(value, 0, NULL);
    if (!row) f->r->failed = true;
    if (!json) f->r->unread++;
    if (row && json && eval_row_read(row, json, NULL) == GS_OK) {
        if (result_wanted(f, key, row)) report_add_row(f->r, row);
        eval_row_free(row);
    } else if (row && json) {
        f->r->unread++;
    } else {
        json_decref(json);
    }
    free(row);
    return !f->r->failed;
}

static bool copy_points(cli_curve *to, const gs_curve *from)
{
    to->x = malloc(((size_t)from->count + 1) * sizeof *to->x);
    to->y = malloc(((size_t)from->count + 1) * sizeof *to->y);
    to->count = from->count;
    if (!to->x || !to->y) return false;
    memcpy(to->x, from->x, (size_t)from->count * sizeof *to->x);
    memcpy(to->y, from->y, (size_t)from->count * sizeof *to->y);
    return true;
}

/* Those of a series and a name come with the oldest first: the last one counts. */
static bool on_curve(void *self, const gs_curve *curve)
{
    filling *const f = self;
    report *const r = f->r;
    if (f->gpu && *curve->device && strcmp(f->gpu, curve->device) != 0) return true;
    int i = 0;
    while (i < r->curve_count && (strcmp(r->curves[i].points.series, curve->series) != 0 || strcmp(r->curves[i].points.name, curve->name) != 0 ||
                                  strcmp(r->curves[i].device, curve->device) != 0))
        i++;
    report_curve *const to = i < r->curve_count ? &r->curves[i] : more(r, &r->curves, &r->curve_count, &r->curve_capacity, sizeof *to);
    if (!to) return false;
    free(to->points.x);
    free(to->points.y);
    memcpy(to->points.series, curve->series, sizeof to->points.series);
    memcpy(to->points.name, curve->name, sizeof to->points.name);
    memcpy(to->device, curve->device, sizeof to->device);
    r->failed |= !copy_points(&to->points, curve);
    return !r->failed;
}

static gs_status add_winners(filling *f, gs_store *store, gs_error *error)
{
    char *rest = NULL;
    for (char *name = strtok_r(f->devices.data, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
        f->floors = find_caps(name, &f->caps);
        f->set = report_find_set(f->r, name, "", gs_gpu_emulated(name));
        if (!f->set) break;
        GS_TRY(gs_store_winners(store, name, on_winner, f, error));
        if (f->set->count == 0) f->r->set_count--;   /* it was the last one made */
    }
    return GS_OK;
}

gs_status report_add_store(report *r, gs_store *store, const char *gpu, gs_error *error)
{
    filling f = {.r = r, .gpu = gpu};
    const char *const path = gs_store_path(store), *const slash = strrchr(path, '/');
    gs_text_addf(&r->sources, "store %s\n", slash ? slash + 1 : path);
    gs_status status = gs_store_sessions(store, on_session, &f, error);
    if (status == GS_OK && f.devices.size > 0) status = add_winners(&f, store, error);
    if (status == GS_OK) status = gs_store_results(store, "eval 1 ", on_result, &f, error);
    if (status == GS_OK) status = gs_store_curves(store, "", on_curve, &f, error);
    gs_text_free(&f.devices);
    if (status == GS_OK && r->failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a report");
    return status;
}

/* ---- figures of a set ---- */

double report_ratio_of(const report_point *point) { return point->ratio; }
double report_share_of(const report_point *point) { return point->floor_us / point->us; }

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

report_numbers report_collect(const report_set *set, int band, report_value of)
{
    report_numbers numbers = {malloc(((size_t)set->count + 1) * sizeof *numbers.list), 0};
    for (int i = 0; i < set->count && numbers.list; i++) {
        const double value = of(&set->list[i]);
        if ((band < 0 || set->list[i].band == band) && isfinite(value) && value > 0) numbers.list[numbers.count++] = value;
    }
    if (numbers.count > 1) qsort(numbers.list, (size_t)numbers.count, sizeof *numbers.list, ascending);
    return numbers;
}

double report_quantile(const report_numbers *numbers, double share)
{
    if (numbers->count == 0) return NAN;
    const double at = share * (numbers->count - 1);
    const int below = (int)at, above = GS_MIN(below + 1, numbers->count - 1);
    return numbers->list[below] + (at - below) * (numbers->list[above] - numbers->list[below]);
}

double report_mean(const report_numbers *numbers)
{
    double sum = 0;
    for (int i = 0; i < numbers->count; i++) sum += log(numbers->list[i]);
    return numbers->count ? exp(sum / numbers->count) : NAN;
}
