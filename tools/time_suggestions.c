/* SPDX-License-Identifier: MIT
 * Measures all suggestions of cuBLASLt for problems on a GPU, to learn which of them is fastest:
 *
 *     time_suggestions PROBLEMS SECONDS [ROUNDS] > ROWS.csv    default: 7 rounds
 *
 * PROBLEMS has a problem at the beginning of each line; the rest of the line is ignored. Rows are "problem,suggestion,measured_us,sm_mhz" and the suggestion's
 * configuration, in cuBLASLt's own numbers (gs_suggestion): device time by docs/internals/protocol.md (offline, cold, interleaved), all suggestions for a problem in one
 * run. Nothing is verified. Stops before a problem once SECONDS are over. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "baseline/baseline.h"
#include "cublas/library.h"
#include "timing.h"

enum { LINE = 256, ROUNDS = 7 };

static gs_verifier *verifier;   /* for the callback gs_pick_function, which gets no context argument */
static int rounds = ROUNDS;

static gs_status print_rows(gs_device *device, const gs_problem *problem, gs_contender *list, int count, const double *us, int mhz, gs_error *error)
{
    char text[GS_PROBLEM_TEXT];
    gs_suggestion suggestions[GS_LIBRARY_MOST];
    gs_library *library = NULL;
    GS_TRY(gs_library_create(&library, device, problem, error));
    const int listed = gs_library_suggestions(library, suggestions);
    gs_library_destroy(&library);
    gs_problem_format(problem, text);
    for (int i = 0; i < count; i++) {
        const int index = atoi(list[i].name + strlen("cublaslt-")) - 1;
        if (!isfinite(us[i]) || index >= listed) continue;
        const gs_suggestion s = suggestions[index];
        printf("%s,%d,%.4f,%d,%u,%u,%u,%u,%u,%u,%u,%u,%.4f,%zu\n", text, index + 1, us[i], mhz, s.id, s.tile, s.stages, s.splitk, s.reduction, s.swizzle, s.cluster,
               s.custom, (double)s.waves, s.workspace);
    }
    fflush(stdout);
    return GS_OK;
}

static gs_status time_list(gs_device *device, const gs_problem *problem, gs_contender *list, int count, double *us, gs_error *error)
{
    static gs_problem problems[GS_MAX_CONTENDERS];
    int mhz = 0;
    count = GS_MIN(count, GS_MAX_CONTENDERS);
    for (int i = 0; i < count; i++) problems[i] = *problem;
    GS_TRY(time_contenders(device, verifier, problems, list, count, rounds, us, &mhz, error));
    return print_rows(device, problem, list, count, us, mhz, error);
}

static gs_status time_problem(gs_contender *all, char *line, gs_error *error)
{
    gs_problem problem;
    line[strcspn(line, " \t\r\n")] = '\0';
    if (!line[0]) return GS_OK;
    GS_TRY(gs_problem_parse(&problem, line, error));
    const gs_status status = all->prepare(all, &problem, error);
    if (status == GS_OK || status == GS_ERROR_FAULT || status == GS_ERROR_TIMEOUT) return status;
    fprintf(stderr, "%s: %s\n", line, error->text);   /* cuBLASLt does not support the problem, or it does not fit into memory */
    return GS_OK;
}

static gs_status time_all(FILE *file, double seconds, gs_error *error)
{
    char line[LINE];
    gs_device *device = NULL;
    gs_contender all = {{0}};
    const int64_t end = gs_clock_ns() + (int64_t)(seconds * 1e9);
    GS_TRY(gs_device_open(&device, NULL, NULL, error));
    gs_status status = gs_verifier_create(&verifier, device, error);
    if (status == GS_OK) status = gs_baseline_create(&all, device, "cublaslt-autotuning", time_list, error);
    printf("problem,suggestion,measured_us,sm_mhz,id,tile,stages,splitk,reduction,swizzle,cluster,custom,waves,workspace\n");
    while (status == GS_OK && gs_clock_ns() < end && fgets(line, sizeof line, file)) status = time_problem(&all, line, error);
    if (all.destroy) all.destroy(&all);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: time_suggestions PROBLEMS SECONDS [ROUNDS]\n");
        return 2;
    }
    gs_error error = {0};
    FILE *const file = fopen(argv[1], "r");
    if (!file) {
        perror(argv[1]);
        return 1;
    }
    if (argc == 4) rounds = GS_MAX(atoi(argv[3]), 1);
    const gs_status status = time_all(file, atof(argv[2]), &error);
    fclose(file);
    if (status != GS_OK) fprintf(stderr, "%s\n", error.text);
    return status == GS_OK ? 0 : 1;
}
