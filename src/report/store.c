/* SPDX-License-Identifier: MIT
 * Fills a report from a store: winners, results of eval, curves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/version.h"
#include "device/device.h"
#include "table/table.h"
#include "report/internal.h"
#include "schedule/profile.h"

typedef struct filling {
    gs_report  *r;
    const char *gpu;       /* NULL: all */
    gs_text     devices;   /* devices with sessions: "name\n" each */
    gs_report_set *set;       /* of winners */
    gs_caps     caps;
    bool        floors;    /* caps are known */
} filling;

/* From the embedded profile, or from this machine's GPU if it is that device. */
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
    if (!*session->device || session->cc == 0 || !wanted(f, session->device)) return true;   /* without a device nothing was measured */
    gs_report_machine machine = {.sms = session->sms, .runs = 1};
    snprintf(machine.device, sizeof machine.device, "%s", session->device);
    if (session->driver > 0) gs_format_cuda_version(session->driver, machine.driver);
    if (session->cublaslt > 0) gs_format_library_version(session->cublaslt, machine.cublaslt);
    if (session->nvrtc > 0) gs_format_cuda_version(session->nvrtc, machine.nvrtc);
    snprintf(machine.version, sizeof machine.version, "%s", session->version);
    snprintf(machine.commit, sizeof machine.commit, "%s", session->commit);
    snprintf(machine.from, sizeof machine.from, "%s", date);
    snprintf(machine.to, sizeof machine.to, "%s", date);
    gs_report_add_machine(f->r, &machine);
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
    gs_report_point *const p = gs_report_find_point(f->r, f->set, trial->problem, &problem);
    if (!p) return false;
    p->library = gs_library_parse(trial->candidate) > 0;
    p->us = known(trial->us);
    p->library_us = known(trial->library_us);
    p->ratio = known(trial->ratio);
    p->low = known(trial->low);
    p->high = known(trial->high);
    if (p->library && isnan(p->ratio)) p->ratio = 1;
    if (p->library && isnan(p->us)) p->us = p->library_us;
    if (f->floors) {
        p->floor_us = gs_floor_us(&problem, &f->caps);
        p->band = gs_floor_band(&problem, &f->caps);
    }
    snprintf(p->choice, sizeof p->choice, "%s", trial->candidate);
    snprintf(p->date, sizeof p->date, "%s", trial->date);
    return true;
}

/* A result's key begins with "eval 1 nvidia-h200 ". */
static bool result_wanted(const filling *f, const char *key, const gs_result *row)
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
    gs_result *const row = calloc(1, sizeof *row);
    json_t *const json = json_loads(value, 0, NULL);
    if (!row) f->r->failed = true;
    if (!json) f->r->unread++;
    if (row && json && gs_result_read(row, json, NULL) == GS_OK) {
        if (result_wanted(f, key, row)) gs_report_add_row(f->r, row);
        gs_result_free(row);
    } else if (row && json) {
        f->r->unread++;
    } else {
        json_decref(json);
    }
    free(row);
    return !f->r->failed;
}

static bool copy_points(gs_curve_points *to, const gs_curve *from)
{
    to->x = malloc(((size_t)from->count + 1) * sizeof *to->x);
    to->y = malloc(((size_t)from->count + 1) * sizeof *to->y);
    to->count = from->count;
    if (!to->x || !to->y) return false;
    memcpy(to->x, from->x, (size_t)from->count * sizeof *to->x);
    memcpy(to->y, from->y, (size_t)from->count * sizeof *to->y);
    return true;
}

/* Curves of a series and name come oldest first: the last one replaces the others. */
static bool on_curve(void *self, const gs_curve *curve)
{
    filling *const f = self;
    gs_report *const r = f->r;
    if (f->gpu && *curve->device && strcmp(f->gpu, curve->device) != 0) return true;
    int i = 0;
    while (i < r->curve_count && (strcmp(r->curves[i].points.series, curve->series) != 0 || strcmp(r->curves[i].points.name, curve->name) != 0 ||
                                  strcmp(r->curves[i].device, curve->device) != 0))
        i++;
    gs_report_curve *const to = i < r->curve_count ? &r->curves[i] : gs_report_more(r, &r->curves, &r->curve_count, &r->curve_capacity, sizeof *to);
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
        f->set = gs_report_find_set(f->r, name, "", gs_gpu_emulated(name));
        if (!f->set) break;
        GS_TRY(gs_store_winners(store, name, on_winner, f, error));
        if (f->set->count == 0) f->r->set_count--;   /* it was the last one created */
        if (f->r->training) GS_TRY(gs_report_add_found(f->r, store, name, error));
    }
    return GS_OK;
}

gs_status gs_report_add_store(gs_report *r, gs_store *store, const char *gpu, gs_error *error)
{
    filling f = {.r = r, .gpu = gpu};
    const char *const path = gs_store_path(store), *const slash = strrchr(path, '/');
    gs_text_addf(&r->sources, "store %s\n", slash ? slash + 1 : path);
    gs_status status = gs_store_sessions(store, on_session, &f, error);
    if (status == GS_OK && f.devices.size > 0) status = add_winners(&f, store, error);
    if (status == GS_OK) status = gs_store_results(store, "eval 1 ", on_result, &f, error);
    if (status == GS_OK) status = gs_store_curves(store, "", on_curve, &f, error);
    if (status == GS_OK) status = gs_report_add_lineages(r, store, gpu, error);
    gs_text_free(&f.devices);
    if (status == GS_OK && r->failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a report");
    return status;
}
