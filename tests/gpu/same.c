/* SPDX-License-Identifier: MIT
 * Timing the same kernel as two contenders gives "same": for 200 random problems at least 198 times. Writes one JSON row per
 * problem to the file named by the first argument, if there is one. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "bench/bench.h"
#include "schedule/schedule.h"

enum { PROBLEMS = 200, ALLOWED = 2 };

static int64_t extent(gs_random *random)
{
    static const int64_t base[] = {64, 128, 256, 512, 1024, 2048, 4096};
    const int64_t size = base[gs_random_below(random, GS_COUNT(base))];
    return gs_random_below(random, 3) ? size : size + (int64_t)gs_random_below(random, (uint64_t)size);
}

static gs_status compare(gs_device *device, gs_verifier *verifier, const gs_problem *problem, const char *schedule, uint64_t seed, gs_measurement **out, gs_error *error)
{
    gs_contender pair[2] = {{{0}}, {{0}}};
    const gs_problem problems[2] = {*problem, *problem};
    gs_status status = GS_OK;
    for (int i = 0; i < 2 && status == GS_OK; i++) {
        status = gs_contender_schedule(&pair[i], device, schedule, error);
        if (status == GS_OK) status = pair[i].prepare(&pair[i], problem, error);
    }
    gs_bench_options options = gs_bench_defaults();
    options.seed = seed;
    if (status == GS_OK) status = gs_bench(device, verifier, problems, pair, 2, &options, out, error);
    for (int i = 0; i < 2; i++)
        if (pair[i].destroy) pair[i].destroy(&pair[i]);
    return status;
}

int main(int argc, char **argv)
{
    gs_device *device;
    gs_verifier *verifier;
    gs_error error = {0};
    if (gs_device_open(&device, gs_device_gpu(), NULL, &error) != GS_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    FILE *const rows = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (gs_verifier_create(&verifier, device, &error) != GS_OK || (argc > 1 && !rows)) {
        printf("%s\n", rows ? error.text : "the file of rows cannot be written");
        return 1;
    }
    gs_random random = {1};
    int same = 0, broken = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        const int64_t m = extent(&random), n = extent(&random), k = extent(&random);
        const gs_problem problem = gs_problem_make(GS_F16, gs_random_below(&random, 2) ? GS_TN : GS_NN, m, n, k);
        gs_schedule schedule;
        char text[GS_SCHEDULE_TEXT], what[GS_PROBLEM_TEXT];
        if (gs_schedule_shortlist(&problem, &device->caps, 0, &schedule, 1) != 1) continue;
        gs_measurement *measured = NULL;
        const gs_status status = compare(device, verifier, &problem, gs_schedule_format(&schedule, text), (uint64_t)i + 1, &measured, &error);
        if (status != GS_OK || measured->samples[0].wrong || measured->samples[1].wrong) {
            printf("%s %s: %s\n", gs_problem_format(&problem, what), text, status ? error.text : "wrong result");
            broken++;
        } else {
            const gs_ratio *const ratio = &measured->samples[1].device;
            same += ratio->verdict == GS_SAME;
            if (ratio->verdict != GS_SAME)
                printf("%s %s: %.4f [%.4f, %.4f] %s\n", gs_problem_format(&problem, what), text, ratio->median, ratio->low, ratio->high, gs_comparison_name(ratio->verdict));
            if (rows)
                fprintf(rows, "{\"problem\":\"%s\",\"schedule\":\"%s\",\"device_us\":[%.4f,%.4f],\"ratio\":%.6f,\"low\":%.6f,\"high\":%.6f,\"verdict\":\"%s\",\"rounds\":%d,\"sm_mhz\":%d}\n",
                        gs_problem_format(&problem, what), text, measured->samples[0].device_median, measured->samples[1].device_median, ratio->median, ratio->low, ratio->high,
                        gs_comparison_name(ratio->verdict), measured->rounds, measured->after.sm_mhz);
        }
        gs_measurement_destroy(&measured);
    }
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    const bool good = same >= PROBLEMS - ALLOWED && broken == 0 && (!rows || fclose(rows) == 0);
    printf("{\"same\":%d,\"problems\":%d,\"broken\":%d}\n", same, PROBLEMS, broken);
    printf("%d passed, %d failed\n", good ? 1 : 0, good ? 0 : 1);
    return good ? 0 : 1;
}
