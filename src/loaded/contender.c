/* SPDX-License-Identifier: MIT
 * Own kernels as contenders: a schedule by its text, or a kernel with its manifest. */
#include "loaded/contender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "loaded/loaded.h"

enum { KEPT = 8 };

/* Code that stays loaded for later problems: verification prepares dozens, many of them with the same options. */
typedef struct kept_code {
    gs_loaded_code *code;      /* NULL: there is none */
    const char     *source;    /* of the kernel; compared by its address */
    int             options;
    char            option[GS_MAX_OPTIONS][GS_OPTION];
} kept_code;

typedef struct own {
    gs_device       *device;
    const gs_kernel *kernel;      /* NULL: built from the schedule */
    bool             user;     /* the kernel is inspected */
    gs_schedule      schedule;
    gs_launch_mode   mode;
    gs_loaded       *loaded;
    gs_pointer       workspace;
    kept_code        kept[KEPT];
    int              oldest;      /* index of the one to replace next */
} own;

/* ---- code that is kept ---- */

static bool is_same(const kept_code *kept, const gs_kernel *kernel)
{
    if (!kept->code || kept->source != kernel->source || kept->options != kernel->option_count) return false;
    for (int i = 0; i < kept->options; i++)
        if (strcmp(kept->option[i], kernel->option[i]) != 0) return false;
    return true;
}

static void keep(own *self, const gs_kernel *kernel)
{
    kept_code *const kept = &self->kept[self->oldest++ % KEPT];
    gs_loaded_code_drop(&kept->code);
    kept->code = gs_loaded_share(self->loaded);
    kept->source = kernel->source;
    kept->options = kernel->option_count;
    memcpy(kept->option, kernel->option, sizeof kept->option);
}

static gs_status load(own *self, const gs_kernel *kernel, const gs_problem *problem, gs_error *error)
{
    for (int i = 0; i < KEPT; i++)
        if (is_same(&self->kept[i], kernel)) return gs_loaded_create_shared(&self->loaded, self->kept[i].code, &kernel->manifest, problem, error);
    GS_TRY(gs_loaded_create(&self->loaded, self->device, kernel, problem, error));
    keep(self, kernel);
    return GS_OK;
}

/* ---- the contender ---- */

static void release(own *self)
{
    gs_loaded_destroy(&self->loaded);
    if (self->workspace) self->device->ops->free(self->device, self->workspace);
    self->workspace = 0;
}

/* Tells which memory verification must leave alone or check, and the resources of a block. */
static void declare(gs_contender *contender, const own *self, const gs_problem *problem)
{
    contender->bitwise = gs_loaded_manifest(self->loaded)->bitwise;
    gs_manifest_alignment(gs_loaded_manifest(self->loaded), problem, contender->align);
    contender->zeroed = self->workspace;
    contender->zeroed_bytes = gs_loaded_zeroed(self->loaded);
    contender->scratch = self->workspace ? self->workspace + contender->zeroed_bytes : 0;
    contender->scratch_bytes = gs_loaded_workspace(self->loaded) - contender->zeroed_bytes;
    contender->registers = gs_loaded_image(self->loaded)->registers;
    contender->smem = gs_loaded_smem(self->loaded);
}

static gs_status prepare(gs_contender *contender, const gs_problem *problem, gs_error *error)
{
    own *const self = contender->self;
    release(self);
    contender->zeroed = contender->scratch = contender->zeroed_bytes = contender->scratch_bytes = 0;
    memset(contender->align, 0, sizeof contender->align);
    gs_kernel built;
    if (!self->kernel) {
        GS_TRY(gs_schedule_check(&self->schedule, problem, &self->device->caps, error));
        GS_TRY(gs_kernel_build(&built, &self->schedule, problem, &self->device->caps, error));
    }
    if (self->user) GS_TRY(gs_loaded_create_user(&self->loaded, self->device, self->kernel, problem, error));
    else GS_TRY(load(self, self->kernel ? self->kernel : &built, problem, error));
    GS_TRY(gs_loaded_set_mode(self->loaded, self->mode, error));
    GS_TRY(gs_loaded_alloc(self->loaded, &self->workspace, error));
    declare(contender, self, problem);
    snprintf(contender->detail, sizeof contender->detail, "%d registers", contender->registers);
    return GS_OK;
}

static gs_status run(gs_contender *contender, const gs_args *args, gs_queue queue, gs_error *error)
{
    own *const self = contender->self;
    gs_args with = *args;
    if (!with.workspace) with.workspace = (void *)(uintptr_t)self->workspace;
    return gs_loaded_run(self->loaded, &with, queue, error);
}

static void destroy(gs_contender *contender)
{
    if (!contender->self) return;
    own *const self = contender->self;
    release(self);
    for (int i = 0; i < KEPT; i++) gs_loaded_code_drop(&self->kept[i].code);
    free(self);
    contender->self = NULL;
}

static gs_status create(gs_contender *out, gs_device *device, const char *name, gs_error *error)
{
    own *const self = calloc(1, sizeof *self);
    if (!self) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for contender %s", name);
    self->device = device;
    *out = (gs_contender){.bitwise = true, .self = self, .prepare = prepare, .run = run, .destroy = destroy};
    snprintf(out->name, sizeof out->name, "%s", name);
    return GS_OK;
}

const gs_loaded *gs_contender_loaded(const gs_contender *contender)
{
    const own *const self = contender->prepare == prepare ? contender->self : NULL;
    return self ? self->loaded : NULL;
}

static const char *const mode_names[] = {[GS_LAUNCH_AS_DEVICE] = "", [GS_LAUNCH_PLAIN] = "@plain", [GS_LAUNCH_DEPENDENT] = "@dependent"};

gs_status gs_contender_parse(const char *text, gs_schedule *schedule, gs_launch_mode *mode, gs_error *error)
{
    const char *const at = strchr(text, '@');
    char name[GS_CONTENDER_NAME];
    if (!at) {
        *mode = GS_LAUNCH_AS_DEVICE;
        return gs_schedule_parse(schedule, text, error);
    }
    *mode = strcmp(at, mode_names[GS_LAUNCH_PLAIN]) == 0 ? GS_LAUNCH_PLAIN : GS_LAUNCH_DEPENDENT;
    if (strcmp(at, mode_names[*mode]) != 0) return gs_fail(error, GS_ERROR_PARSE, "launch", "%.40s: behind '@' stands plain or dependent", text);
    snprintf(name, sizeof name, "%.*s", (int)(at - text), text);
    return gs_schedule_parse(schedule, name, error);
}

gs_status gs_contender_schedule(gs_contender *out, gs_device *device, const char *schedule, gs_error *error)
{
    gs_schedule parsed;
    gs_launch_mode mode;
    GS_TRY(gs_contender_parse(schedule, &parsed, &mode, error));
    char text[GS_SCHEDULE_TEXT], name[GS_CONTENDER_NAME];
    snprintf(name, sizeof name, "%s%s", gs_schedule_format(&parsed, text), mode_names[mode]);
    GS_TRY(create(out, device, name, error));
    ((own *)out->self)->schedule = parsed;
    ((own *)out->self)->mode = mode;
    return GS_OK;
}

gs_status gs_contender_kernel_own(gs_contender *out, gs_device *device, const char *name, const gs_kernel *kernel, gs_error *error)
{
    GS_TRY(create(out, device, name, error));
    ((own *)out->self)->kernel = kernel;
    return GS_OK;
}

gs_status gs_contender_kernel(gs_contender *out, gs_device *device, const char *name, const gs_kernel *kernel, gs_error *error)
{
    GS_TRY(gs_contender_kernel_own(out, device, name, kernel, error));
    ((own *)out->self)->user = true;
    out->fixed_groups = true;
    return GS_OK;
}
