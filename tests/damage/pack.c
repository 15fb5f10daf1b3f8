/* SPDX-License-Identifier: MIT
 * A plan's bytes in a file, for damage.py: "pack save FILE" makes a plan on the emulated H200 and writes it, "pack load FILE" makes a plan from the
 * file and prints what it is. A plan that cannot be made from it is an error that names the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/file.h"
#include "base/hash.h"

static int failed(const char *path, const gs_error *error)
{
    fprintf(stderr, "pack: %s: %s: %s\n", path, gs_status_name(error->status), error->text);
    return 1;
}

int main(int argc, char **argv)
{
    static char bytes[1 << 22];
    const char *const path = argc == 3 ? argv[2] : "";
    size_t size = sizeof bytes;
    gs_error error = {0};
    gs_problem problem;
    gs_context *context;
    gs_plan *plan;
    char *data, hash[GS_HASH_TEXT];
    gs_config config = gs_config_default();
    config.device = "emu:h200";
    if (argc != 3 || gs_open(&context, &config, &error) != GS_OK) return failed(path, &error);
    if (strcmp(argv[1], "save") == 0) {
        if (gs_problem_parse(&problem, "f16:16x16x32:tn", &error) != GS_OK || gs_plan_create(context, &problem, &plan, &error) != GS_OK ||
            gs_plan_save(plan, bytes, &size, &error) != GS_OK || gs_file_write(path, bytes, size, &error) != GS_OK)
            return failed(path, &error);
    } else {
        if (gs_file_read(path, sizeof bytes, &data, &size, &error) != GS_OK || gs_plan_load(context, data, size, &plan, &error) != GS_OK) return failed(path, &error);
        free(data);
        size = sizeof bytes;
        if (gs_plan_save(plan, bytes, &size, &error) != GS_OK) return failed(path, &error);
        printf("%s\n", gs_hash_format(gs_hash_bytes(bytes, size), hash));
    }
    gs_plan_destroy(&plan);
    gs_close(&context);
    return 0;
}
