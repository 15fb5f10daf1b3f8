/* SPDX-License-Identifier: MIT */
#include "loaded/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/inspector.h"

void gs_kernel_to_source(const gs_kernel *kernel, gs_kernel_source *out)
{
    int headers = 0;
    for (const gs_embedded *file = gs_embedded_files; file->name && headers < GS_MAX_HEADERS; file++) {
        if (!gs_kernel_includes(kernel->name, file->name)) continue;
        out->header_names[headers] = file->name;
        out->header_texts[headers++] = file->text;
    }
    for (int i = 0; i < kernel->option_count; i++) out->options[i] = kernel->option[i];
    out->source = (gs_source){
        .name = kernel->name, .text = kernel->source,
        .options = out->options, .option_count = kernel->option_count,
        .header_names = out->header_names, .header_texts = out->header_texts, .header_count = headers,
    };
}

/* Fails with the assembler's own line about it. Other lines of the log may come from the user's source. */
static gs_status serialized(const gs_kernel *kernel, const char *log, gs_error *error)
{
    size_t length = 0;
    for (const char *line = log; *line; line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        if (strncmp(line, "ptxas", 5) != 0 || (!memmem(line, length, "serialized", 10) && !memmem(line, length, "ignored", 7))) continue;
        return gs_fail(error, GS_ERROR_SERIALIZED, NULL, "%s: %.*s", kernel->name, (int)GS_MIN(length, 300), line);
    }
    return gs_fail(error, GS_ERROR_SERIALIZED, NULL, "%s", kernel->name);
}

gs_status gs_loaded_code_compile(gs_loaded_code *code, const gs_kernel *kernel, const gs_problem *problem, bool user, gs_error *error)
{
    gs_kernel_source source;
    gs_kernel_to_source(kernel, &source);
    gs_device *const device = code->device;
    source.source.ptx = user;
    source.source.kept_only = device->kept_only;
    source.source.compiler = user ? device->user_compiler : NULL;
    const gs_kernel_inspector *const inspector = user ? device->inspector : NULL;
    if (user && !inspector) return gs_fail(error, GS_ERROR_FORBIDDEN, NULL, "%s: nobody inspects user kernels here, so none is run", kernel->name);
    if (user) GS_TRY(inspector->source(kernel->name, kernel->source, error));
    gs_image *const image = &code->image;
    GS_TRY(device->ops->compile(device, &source.source, image, error));
    if (user) GS_TRY(inspector->ptx(image->ptx, image->ptx_size, &kernel->manifest, problem, error));
    if (image->serialized) return serialized(kernel, image->log, error);
    if (image->spill_bytes > 0) return gs_fail(error, GS_ERROR_SPILL, NULL, "%s: %d bytes spilled", kernel->name, image->spill_bytes);
    image->user = user;
    GS_TRY(device->ops->load(device, image, &code->module, error));
    if (user) {   /* the PTX stays, so that its instructions can be counted without compiling again */
        free(image->code);
        image->code = NULL;
    }
    return GS_OK;
}

gs_loaded_code *gs_loaded_code_new(gs_device *device, gs_error *error)
{
    gs_loaded_code *const code = calloc(1, sizeof *code);
    if (!code) {
        gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a loaded kernel");
        return NULL;
    }
    code->device = device;
    code->users = 1;
    return code;
}

void gs_loaded_code_drop(gs_loaded_code **code)
{
    gs_loaded_code *const c = *code;
    *code = NULL;
    if (!c || --c->users > 0) return;
    if (c->module) c->device->ops->unload(c->device, c->module);
    gs_image_free(&c->image);
    free(c);
}
