/* SPDX-License-Identifier: MIT
 * Chooses what the time model is measured on, without a device:
 *
 *     pick_pairs problems SEED COUNT LEAST            random problems, one per line, no extent below LEAST
 *     pick_pairs pairs SEED FIRST RANDOM [ROWS.csv...] < PROBLEMS
 *
 * `pairs` writes "problem,schedule": the model's shortlist of FIRST schedules, and RANDOM valid ones of all families spread over the
 * predicted time. Pairs that stand in ROWS are left out. The same arguments and the same model give the same output. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/random.h"
#include "schedule/schedule.h"

enum { MOST = 65536, LINE = 256, SLOWEST = 40 };

typedef struct ranked {
    gs_schedule schedule;
    double      us;
} ranked;

typedef struct known {
    char (*line)[LINE];
    int    count, capacity;
} known;

/* ---- problems ---- */

static gs_problem random_problem(gs_random *random, int64_t least)
{
    static const int64_t sizes[] = {16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192};
    int64_t extent[3];
    for (int i = 0; i < 3; i++)
        do extent[i] = sizes[gs_random_below(random, GS_COUNT(sizes))];
        while (extent[i] < least);
    const gs_layout layout = gs_random_below(random, 2) ? GS_TN : GS_NN;
    const bool odd = gs_random_below(random, 8) == 0;   /* rows that no tensor copy takes */
    if (odd) extent[gs_random_below(random, 3)] += 1 + (int64_t)gs_random_below(random, 15);
    const gs_type in = gs_random_below(random, 4) == 0 ? GS_BF16 : GS_F16;
    gs_problem problem = gs_problem_make(in, layout, extent[0], extent[1], extent[2]);
    if (in == GS_F16 && gs_random_below(random, 5) == 0) problem.acc = GS_F16;
    if (gs_random_below(random, 6) == 0) problem.out = GS_F32;
    return problem;
}

static int print_problems(uint64_t seed, int count, int least)
{
    gs_random random = {seed};
    for (int i = 0; i < count; i++) {
        char text[GS_PROBLEM_TEXT];
        const gs_problem problem = random_problem(&random, least);
        printf("%s\n", gs_problem_format(&problem, text));
    }
    return 0;
}

/* ---- pairs ---- */

static int by_time(const void *left, const void *right)
{
    const double a = ((const ranked *)left)->us, b = ((const ranked *)right)->us;
    return (a > b) - (a < b);
}

static int rank_family(gs_family_id family, const gs_problem *problem, const gs_caps *caps, ranked *list)
{
    int count = 0;
    gs_schedule schedule = gs_schedule_first(family);
    do {
        if (gs_schedule_check(&schedule, problem, caps, NULL) != GS_OK) continue;
        if (count < MOST) list[count++] = (ranked){schedule, gs_schedule_predict(&schedule, problem, caps)};
    } while (gs_schedule_next(&schedule));
    qsort(list, (size_t)count, sizeof *list, by_time);
    return count;
}

static bool read_known(known *rows, const char *path)
{
    FILE *const file = fopen(path, "r");
    char line[LINE];
    while (file && fgets(line, sizeof line, file)) {
        if (!gs_grow(&rows->line, rows->count, &rows->capacity, LINE)) break;
        char *const comma = strchr(line, ',');
        char *const second = comma ? strchr(comma + 1, ',') : NULL;
        if (!second) continue;
        *second = '\0';
        memcpy(rows->line[rows->count++], line, LINE);
    }
    return file && fclose(file) == 0;
}

/* Prints a pair that was not printed or known before. */
static bool print_pair(known *rows, const char *problem, const gs_schedule *schedule)
{
    char pair[LINE], text[GS_SCHEDULE_TEXT];
    snprintf(pair, sizeof pair, "%s,%s", problem, gs_schedule_format(schedule, text));
    for (int i = 0; i < rows->count; i++)
        if (strcmp(rows->line[i], pair) == 0) return false;
    if (!gs_grow(&rows->line, rows->count, &rows->capacity, LINE)) return false;
    memcpy(rows->line[rows->count++], pair, LINE);
    printf("%s\n", pair);
    return true;
}

/* Random schedules of a family, their predicted time drawn evenly on a log scale between its best and SLOWEST times that; every third
 * within a factor of 1.6. */
static void print_random(known *rows, const char *problem, const ranked *list, int count, int wanted, gs_random *random)
{
    const double best = count > 0 ? list[0].us : 0;
    for (int tries = 0, printed = 0; count > 0 && printed < wanted && tries < 20 * wanted; tries++) {
        const double reach = tries % 3 == 0 ? 1.6 : SLOWEST;
        const double us = best * exp(gs_random_unit(random) * log(reach));
        int at = 0;
        while (at < count - 1 && list[at].us < us) at++;
        while (at > 0 && list[at].us > SLOWEST * best) at--;
        const int from = at > 20 ? at - 20 : 0;
        printed += print_pair(rows, problem, &list[from + (int)gs_random_below(random, (uint64_t)(at - from + 1))].schedule);
    }
}

static gs_status print_pairs(known *rows, const char *text, int first, int wanted, ranked *list[GS_FAMILIES], gs_random *random, gs_error *error)
{
    gs_problem problem;
    GS_TRY(gs_problem_parse(&problem, text, error));
    gs_schedule shortlist[64];
    int count[GS_FAMILIES];
    double best = INFINITY;
    for (int family = 0; family < GS_FAMILIES; family++) {
        count[family] = rank_family((gs_family_id)family, &problem, gs_caps_find("h200"), list[family]);
        if (count[family] > 0) best = fmin(best, list[family][0].us);
    }
    const int size = gs_schedule_shortlist(&problem, gs_caps_find("h200"), 0, shortlist, GS_MIN(first, (int)GS_COUNT(shortlist)));
    for (int i = 0; i < size; i++) print_pair(rows, text, &shortlist[i]);
    int families = 0;
    for (int family = 0; family < GS_FAMILIES; family++) families += family != GS_FAMILY_SIMPLE && count[family] > 0;
    for (int family = 0, left = wanted; family < GS_FAMILIES; family++) {
        if (family == GS_FAMILY_SIMPLE || count[family] == 0) continue;
        print_random(rows, text, list[family], count[family], left / families, random);
        left -= left / families--;
    }
    if (wanted > 0 && list[GS_FAMILY_SIMPLE][0].us < SLOWEST * best) print_pair(rows, text, &list[GS_FAMILY_SIMPLE][0].schedule);
    return GS_OK;
}

static int read_and_print(uint64_t seed, int first, int wanted, char **paths)
{
    ranked *list[GS_FAMILIES];
    known rows = {0};
    gs_random random = {seed};
    gs_error error = {0};
    gs_status status = GS_OK;
    for (int i = 0; i < GS_FAMILIES; i++)
        if (!(list[i] = malloc(MOST * sizeof **list))) status = GS_ERROR_MEMORY;
    for (; *paths && status == GS_OK; paths++)
        if (!read_known(&rows, *paths)) status = gs_fail(&error, GS_ERROR_NOT_FOUND, NULL, "%s cannot be read", *paths);
    char line[LINE];
    while (status == GS_OK && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line && *line != '#') status = print_pairs(&rows, line, first, wanted, list, &random, &error);
    }
    if (status != GS_OK) fprintf(stderr, "%s\n", error.text);
    for (int i = 0; i < GS_FAMILIES; i++) free(list[i]);
    free(rows.line);
    return status != GS_OK;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "problems") == 0)
        return print_problems(strtoull(argv[2], NULL, 10), atoi(argv[3]), GS_MIN(atoi(argv[4]), 8192));
    if (argc >= 5 && strcmp(argv[1], "pairs") == 0) return read_and_print(strtoull(argv[2], NULL, 10), atoi(argv[3]), atoi(argv[4]), argv + 5);
    fprintf(stderr, "usage: pick_pairs problems SEED COUNT LEAST\n       pick_pairs pairs SEED FIRST RANDOM [ROWS.csv...] < PROBLEMS\n");
    return 2;
}
