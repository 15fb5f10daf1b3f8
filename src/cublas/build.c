/* SPDX-License-Identifier: MIT */
#include "cublas/build.h"

#include <stdio.h>

#include "base/error.h"
#include "kernel/kernel.h"

enum { MOST_HEADERS = 8, MOST_DEFINITIONS = 16 };

gs_status gs_cublas_build(gs_device *device, const char *file, const char *const *headers, int header_count, const gs_definition *definitions, int definition_count, gs_module *module,
                          gs_error *error)
{
    const char *texts[MOST_HEADERS], *options[MOST_DEFINITIONS];
    char option[MOST_DEFINITIONS][GS_OPTION];
    if (header_count > MOST_HEADERS || definition_count > MOST_DEFINITIONS) return gs_fail(error, GS_ERROR_RANGE, file, "too many headers or definitions");
    for (int i = 0; i < header_count; i++) texts[i] = gs_embedded_find(headers[i]);
    for (int i = 0; i < definition_count; i++) {
        snprintf(option[i], sizeof option[i], "-D%s=%d", definitions[i].name, definitions[i].value);
        options[i] = option[i];
    }
    const gs_source source = {.name = file, .text = gs_embedded_find(file), .options = options, .option_count = definition_count,
                              .header_names = headers, .header_texts = texts, .header_count = header_count};
    if (!source.text) return gs_fail(error, GS_ERROR_NOT_FOUND, file, "kernel source is not part of this build");
    return gs_device_build(device, &source, module, error);
}
