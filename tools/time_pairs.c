/* SPDX-License-Identifier: MIT
 * Measures (problem, schedule) pairs on a GPU, to fit and to evaluate the time model:
 *
 *     time_pairs compile PAIRS SHARD SHARDS     compiles for an H200 into the cubin cache; one process per shard, no GPU needed
 *     time_pairs time PAIRS SECONDS [ROUNDS] > ROWS.csv   default: 7 rounds
 *     time_pairs count ROWS.csv SHARD SHARDS    prints the rows of small problems again, with the counters of a launch on the emulated device
 *
 * PAIRS has lines "problem,schedule", those of a problem adjacent; the schedule "cublaslt/1" is cuBLASLt's first suggestion. Rows are
 * "problem,schedule,measured_us,predicted_us,sm_mhz": device time by docs/internals/protocol.md (offline, cold, interleaved), all schedules of a problem
 * in one run. Nothing is verified. Stops before a problem once SECONDS are over. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "emu/emu.h"
#include "launch_row.h"
#include "schedule/schedule.h"
#include "timing.h"
#include "tune/tune.h"
#include "routing/routing.h"
#include "operands/operands.h"

#define MOST_PRODUCTS 0.32e9   /* largest M N K for which launches are counted */

enum { LINE = 256, ROUNDS = 7 };

/* The schedules of one problem. */
typedef struct group {
    char        text[LINE];
    gs_problem  problem;
    int         count;
    gs_schedule schedule[GS_MAX_CONTENDERS];
    bool        library[GS_MAX_CONTENDERS];   /* cuBLASLt instead of the schedule */
} group;

typedef struct reader {
    FILE *file;
    char  line[LINE];   /* read ahead; empty: none */
} reader;

static void read_line(reader *in)
{
    in->line[0] = '\0';
    while (in->line[0] == '\0' && fgets(in->line, sizeof in->line, in->file)) in->line[strcspn(in->line, "\r\n")] = '\0';
}

/* Reads consecutive lines with the same problem. NOT_FOUND after the last. */
static gs_status next_group(reader *in, group *g, gs_error *error)
{
    g->count = 0;
    if (!in->line[0]) read_line(in);
    while (in->line[0] && g->count < GS_MAX_CONTENDERS) {
        char *const comma = strchr(in->line, ',');
        if (!comma) return gs_fail(error, GS_ERROR_PARSE, NULL, "%s: expected problem,schedule", in->line);
        *comma = '\0';
        if (g->count == 0) {
            memcpy(g->text, in->line, strlen(in->line) + 1);
            GS_TRY(gs_problem_parse(&g->problem, g->text, error));
        }
        if (strcmp(g->text, in->line) != 0) {
            *comma = ',';
            return GS_OK;
        }
        g->library[g->count] = strcmp(comma + 1, LIBRARY_TEXT) == 0;
        if (!g->library[g->count]) GS_TRY(gs_schedule_parse(&g->schedule[g->count], comma + 1, error));
        g->count++;
        read_line(in);
    }
    return g->count > 0 ? GS_OK : GS_ERROR_NOT_FOUND;
}

static gs_status compile(reader *in, group *g, int shard, int shards, gs_error *error)
{
    gs_status status;
    for (int i = 0; (status = next_group(in, g, error)) == GS_OK; i++) {
        int failed, own = 0;
        for (int j = 0; j < g->count; j++)
            if (!g->library[j]) g->schedule[own++] = g->schedule[j];
        g->count = own;
        if (i % shards == shard) GS_TRY(gs_precompile(gs_caps_find("h200"), &g->problem, g->schedule, g->count, 1, 0, NULL, &failed, error));
    }
    return status == GS_ERROR_NOT_FOUND ? GS_OK : status;
}

/* ---- timing ---- */

static gs_status time_group(gs_device *device, gs_verifier *verifier, const group *g, int rounds, gs_error *error)
{
    static timed list[GS_MAX_CONTENDERS];
    int mhz;
    for (int i = 0; i < g->count; i++) list[i] = (timed){g->schedule[i], g->library[i], 0};
    const gs_status status = time_schedules(device, verifier, &g->problem, list, g->count, rounds, &mhz, error);
    for (int i = 0; i < g->count; i++) {
        char text[GS_SCHEDULE_TEXT];
        if (!(list[i].us > 0)) continue;
        printf("%s,%s,%.4f,%.4f,%d\n", g->text, timed_text(&list[i], text), list[i].us,
               g->library[i] ? 0 : gs_schedule_predict(&g->schedule[i], &g->problem, &device->caps), mhz);
    }
    fflush(stdout);
    return status;
}

static gs_status time_all(reader *in, group *g, double seconds, int rounds, gs_error *error)
{
    gs_device *device = NULL;
    gs_verifier *verifier = NULL;
    const int64_t end = gs_clock_ns() + (int64_t)(seconds * 1e9);
    GS_TRY(gs_device_open(&device, NULL, NULL, error));
    gs_status status = gs_verifier_create(&verifier, device, error);
    printf("problem,schedule,measured_us,predicted_us,sm_mhz\n");
    while (status == GS_OK && gs_clock_ns() < end && (status = next_group(in, g, error)) == GS_OK) status = time_group(device, verifier, g, rounds, error);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return status == GS_ERROR_NOT_FOUND ? GS_OK : status;
}

/* ---- counting ---- */

static gs_status count_launch(gs_device *device, const gs_problem *problem, const char *schedule, gs_emu_last *last, gs_error *error)
{
    gs_contender contender;
    gs_pointer operand[GS_OPERANDS] = {0};
    GS_TRY(gs_contender_schedule(&contender, device, schedule, error));
    gs_status status = contender.prepare(&contender, problem, error);
    for (int i = 0; i < gs_operand_count(problem) && status == GS_OK; i++) {
        const size_t bytes = (gs_problem_bytes(problem, GS_OPERAND_LETTERS[i]) + 3) / 4 * 4;
        status = device->ops->alloc(device, bytes, &operand[i], error);
        if (status == GS_OK && i != 3) status = device->ops->fill(device, operand[i], 0, bytes, NULL, error);
    }
    if (status == GS_OK) status = device->ops->queue_wait(device, NULL, error);
    if (status == GS_OK && problem->groups) status = gs_offsets_put(device, problem, GS_ROUTING_EVEN, 0, operand[5], error);   /* the same as when timed */
    const gs_args args = gs_operand_args(operand);
    if (status == GS_OK) status = contender.run(&contender, &args, NULL, error);
    if (status == GS_OK && !gs_emu_last_launch(device, last)) status = gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "nothing was launched");
    for (int i = 0; i < GS_OPERANDS; i++)
        if (operand[i]) device->ops->free(device, operand[i]);
    contender.destroy(&contender);
    return status;
}

/* A row of time_pairs: problem, schedule, measured, predicted, clock; further fields are ignored. */
static gs_status count_row(gs_device *device, char *line, gs_error *error)
{
    char *part[5] = {line};
    for (int i = 1; i < 5; i++) {
        if (!(part[i] = strchr(part[i - 1], ','))) return gs_fail(error, GS_ERROR_PARSE, NULL, "%s: expected a row of time_pairs", line);
        *part[i]++ = '\0';
    }
    part[4][strcspn(part[4], ",\r\n")] = '\0';
    gs_problem problem;
    gs_emu_last last;
    GS_TRY(gs_problem_parse(&problem, part[0], error));
    if (gs_problem_flops(&problem) / 2 > MOST_PRODUCTS) return GS_OK;
    GS_TRY(count_launch(device, &problem, part[1], &last, error));
    const gs_launch_counts counts = gs_emu_counts(&last.counters);
    printf("%s,%s,%s,%.4f,%s", part[0], part[1], part[2], last.us, part[4]);
    print_launch(&last.shape, &counts);
    putchar('\n');
    return GS_OK;
}

static gs_status count_all(FILE *file, int shard, int shards, gs_error *error)
{
    static char line[4096];
    gs_device *device = NULL;
    GS_TRY(gs_device_open(&device, "emu:h200,check=0,threads=1", NULL, error));
    gs_status status = GS_OK;
    if (shard == 0) printf("problem,schedule,measured_us,predicted_us,sm_mhz%s\n", LAUNCH_ROW_HEAD);
    for (int i = -1; status == GS_OK && fgets(line, sizeof line, file); i++)
        if (i >= 0 && i % shards == shard) status = count_row(device, line, error);
    gs_device_close(&device);
    return status;
}

int main(int argc, char **argv)
{
    static group g;
    const bool sharded = argc == 5, compiling = sharded && strcmp(argv[1], "compile") == 0, counting = sharded && strcmp(argv[1], "count") == 0;
    if (!compiling && !counting && !((argc == 4 || argc == 5) && strcmp(argv[1], "time") == 0)) {
        fprintf(stderr, "usage: time_pairs compile PAIRS SHARD SHARDS\n       time_pairs time PAIRS SECONDS [ROUNDS]\n       time_pairs count ROWS SHARD SHARDS\n");
        return 2;
    }
    reader in = {.file = fopen(argv[2], "r")};
    gs_error error = {0};
    if (!in.file) {
        perror(argv[2]);
        return 1;
    }
    const int shard = sharded ? atoi(argv[3]) : 0, shards = sharded ? GS_MAX(atoi(argv[4]), 1) : 1;
    const gs_status status = compiling  ? compile(&in, &g, shard, shards, &error)
                             : counting ? count_all(in.file, shard, shards, &error)
                                        : time_all(&in, &g, atof(argv[3]), argc == 5 ? GS_MAX(atoi(argv[4]), 1) : ROUNDS, &error);
    fclose(in.file);
    if (status != GS_OK) fprintf(stderr, "%s\n", error.text);
    return status == GS_OK ? 0 : 1;
}
