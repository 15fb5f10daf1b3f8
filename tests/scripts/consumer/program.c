/* SPDX-License-Identifier: MIT
 * A user's program: the version of the library is that of the headers, a context opens, and what it read of the installed tables is right.
 * program PART: what is wrong in a table must be said with this in it. */
#include <stdio.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

int main(int count, char **words)
{
    gs_error     error = {0};
    gs_context  *context;
    gs_problem   problem;
    gs_config    config = gs_config_default();
    if (strcmp(gs_version(), GS_VERSION_TEXT) != 0) {
        fprintf(stderr, "the library is %s, the headers are %s\n", gs_version(), GS_VERSION_TEXT);
        return 1;
    }
    if (gs_problem_read(&problem, sizeof problem, "f16:64x128x256:tn", &error) != GS_OK || gs_problem_flops(&problem) != 2.0 * 64 * 128 * 256) return 1;
    config.device = "emu:h200";
    config.cache_path = "";
    if (gs_open(&context, &config, &error) != GS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    const gs_status status = gs_context_status(context, &error);
    gs_close(&context);
    if (count > 1 ? status == GS_OK || !strstr(error.text, words[1]) : status != GS_OK) {
        fprintf(stderr, "tables: '%s'\n", error.text);
        return 1;
    }
    printf("gemmsmith %s\n", gs_version());
    return 0;
}
