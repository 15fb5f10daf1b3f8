/* SPDX-License-Identifier: MIT */
#include "packing/packing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "device/paper.h"
#include "kernel/inspector.h"
#include "plan/made.h"

gs_status gs_packing_device(gs_device **out, const char *name, gs_error *error)
{
    const gs_caps *const caps = name ? gs_caps_find(name) : NULL;
    if (!caps && name && *name && !strchr(name, ':'))
        return gs_fail(error, GS_ERROR_PARSE, "device", "\"%.64s\" names no device; write \"h200\", \"cuda:0\" or \"" GS_DEVICE_WITHOUT_GPU "\"", name);
    return caps ? gs_paper_open(out, caps, NULL, error) : gs_device_open(out, name ? name : gs_device_gpu(), NULL, error);
}

const char *gs_packing_made_for(const gs_pack *pack, char name[GS_DEVICE_NAME])
{
    const gs_pack_head *const head = gs_pack_about(pack);
    const char *const environment = getenv("GEMMSMITH_DEVICE");
    if ((environment && *environment) || !head->emulated || strncmp(head->gpu, GS_EMULATED_SLUG, strlen(GS_EMULATED_SLUG)) != 0) return gs_device_gpu();
    snprintf(name, GS_DEVICE_NAME, "emu:%s", head->gpu + strlen(GS_EMULATED_SLUG));
    return name;
}

/* Stores a kernel: PTX for an emulated device, else the cubin. manifest: of a user kernel the original text, because its name is a hash of the texts. */
static gs_status put_kernel(gs_packing *p, const char *manifest, const gs_image *image, const char *source, int *index, gs_error *error)
{
    const bool emulated = p->device->caps.emulated;
    const gs_pack_kernel kernel = {.manifest = manifest, .code = image->code, .code_size = emulated ? 0 : image->size,
                                   .ptx = image->ptx, .ptx_size = emulated ? image->ptx_size : 0, .source = source, .source_size = source ? strlen(source) : 0,
                                   .registers = image->registers, .spill_bytes = image->spill_bytes, .stack_bytes = image->stack_bytes, .static_smem = image->static_smem,
                                   .user = source != NULL};
    return gs_pack_put_kernel(p->writer, &kernel, index, error);
}

static gs_status put_own(gs_packing *p, const gs_loaded *loaded, int *index, gs_error *error)
{
    gs_text text = {0};
    gs_manifest_format(gs_loaded_manifest(loaded), &text);
    const gs_status status = text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a manifest") : put_kernel(p, gs_text_string(&text), gs_loaded_image(loaded), NULL, index, error);
    gs_text_free(&text);
    return status;
}

/* ---- user kernels ---- */

/* Compiles a user kernel as at run time, with the source inspected before and the PTX after compilation. */
static gs_status compile_user(gs_packing *p, const char *source, const gs_manifest *manifest, const gs_problem *problem, gs_image *image, gs_error *error)
{
    const gs_kernel_inspector *const inspector = p->device->inspector;
    gs_kernel kernel = {.name = "kernel.cu", .source = source, .manifest = *manifest};
    gs_kernel_source as;
    if (!inspector) return gs_fail(error, GS_ERROR_FORBIDDEN, NULL, "nobody inspects user kernels here");
    GS_TRY(inspector->source(kernel.name, source, error));
    gs_kernel_to_source(&kernel, &as);
    as.source.ptx = true;
    as.source.compiler = p->device->user_compiler;
    GS_TRY(p->device->ops->compile(p->device, &as.source, image, error));
    GS_TRY(inspector->ptx(image->ptx, image->ptx_size, manifest, problem, error));
    if (image->serialized) return gs_fail(error, GS_ERROR_SERIALIZED, NULL, "the assembler serialised its wgmma");
    if (image->spill_bytes > 0) return gs_fail(error, GS_ERROR_SPILL, NULL, "%d bytes spilled", image->spill_bytes);
    return GS_OK;
}

static gs_status put_user(gs_packing *p, const gs_row *row, const gs_problem *problem, gs_pack_entry *entry, gs_error *error)
{
    char name[GS_HASH_TEXT + 16], *source = NULL, *text = NULL;
    gs_manifest manifest;
    gs_image image = {0};
    snprintf(name, sizeof name, "source:%s", row->kernel);
    if (!p->sources.get) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "the table names %s: name the store that has it", name);
    gs_status status = p->sources.get(p->sources.self, name, &source, &text, error);
    if (status == GS_OK && !gs_pack_is_named(row->kernel, source, text))
        status = gs_fail(error, GS_ERROR_CORRUPT, NULL, "what the store has as %s are the texts of another kernel", name);
    if (status == GS_OK) status = gs_manifest_parse(&manifest, text, error);
    if (status == GS_OK) status = compile_user(p, source, &manifest, problem, &image, error);
    if (status == GS_OK) status = put_kernel(p, text, &image, source, &entry->kernel, error);
    gs_image_free(&image);
    free(source);
    free(text);
    p->user += status == GS_OK;
    return status;
}

/* ---- choices of plans ---- */

static void take_figures(gs_pack_entry *entry, const gs_row *row)
{
    entry->us = row->us;
    entry->library_us = row->library_us;
    entry->ratio = row->ratio;
    entry->low = row->low;
    entry->high = row->high;
    entry->mhz = row->mhz;
    entry->gpu = row->gpu;
    entry->date = row->date;
    entry->by = row->by;
}

static gs_status put_planned(gs_packing *p, const gs_problem *problem, const gs_row *row, gs_pack_entry *entry, char choice[GS_SCHEDULE_TEXT], gs_error *error)
{
    gs_plan *plan;
    GS_TRY(gs_plan_create(p->context, problem, &plan, error));
    const gs_loaded *const loaded = gs_plan_loaded(plan);
    snprintf(choice, GS_SCHEDULE_TEXT, "%s", gs_plan_schedule(plan));
    gs_status status = GS_OK;
    if (loaded) {
        entry->chain = gs_plan_measured_chain(plan);
        status = put_own(p, loaded, &entry->kernel, error);
        if (!row || gs_plan_origin(plan) != GS_ORIGIN_TABLE) p->uncovered++;
        else take_figures(entry, row);
    } else {
        entry->suggestion = gs_library_parse(choice);
        if (row && row->library) {
            entry->suggestion = row->library;
            entry->cublaslt = row->cublaslt;
            gs_row_choice(row, choice);
            take_figures(entry, row);
        }
        if (entry->suggestion < 1) status = gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "there is no kernel for it");
        p->library += status == GS_OK;
    }
    gs_plan_destroy(&plan);
    return status;
}

gs_status gs_packing_add(gs_packing *p, const gs_problem *problem, bool *added, gs_error *error)
{
    char choice[GS_SCHEDULE_TEXT];
    gs_pack_entry entry = {.kernel = -1, .choice = choice};
    *added = false;
    GS_TRY(gs_problem_check(problem, error));
    if (problem->m == 0 || problem->n == 0 || problem->k == 0) return GS_OK;
    const gs_row *const row = gs_context_row(p->context, problem);
    if (row && row->kernel[0]) {
        gs_row_choice(row, choice);
        take_figures(&entry, row);
        GS_TRY(put_user(p, row, problem, &entry, error));
    } else {
        GS_TRY(put_planned(p, problem, row, &entry, choice, error));
    }
    return gs_pack_put(p->writer, problem, &entry, added, error);
}

gs_status gs_packing_write(gs_packing *p, const char *path, size_t *size, gs_error *error)
{
    const gs_caps *const caps = &p->device->caps;
    gs_pack_head head = {.cc = caps->cc, .sms = caps->sms, .nvrtc = gs_compiler_version(NULL), .emulated = caps->emulated};
    head.driver = caps->emulated ? 0 : gs_pack_driver_for(head.nvrtc);
    snprintf(head.target, sizeof head.target, "%s", caps->target);
    snprintf(head.gpu, sizeof head.gpu, "%s", caps->slug);
    gs_date_format(head.date);
    char *bytes;
    GS_TRY(gs_pack_finish(p->writer, &head, &bytes, size, error));
    const gs_status status = gs_file_write(path, bytes, *size, error);
    free(bytes);
    return status;
}
