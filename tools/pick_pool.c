/* SPDX-License-Identifier: MIT
 * Chooses what is measured to know the truth about held-out problems, without a device:
 *
 *     pick_pool problems SEED COUNT OF FLOOR_US > PROBLEMS        that are held out by `gemmsmith train --held_out OF`
 *     pick_pool others SEED COUNT OF FLOOR_US > PROBLEMS          that are not, to be learned from
 *     pick_pool pairs SEED MODEL LEARNED RANDOM < PROBLEMS > PAIRS
 *     pick_pool best MOST ROWS... > PAIRS                         the fastest MOST of every problem in rows of time_pairs
 *     pick_pool truth ROWS... > TIMES                             rows of time_pairs, later ones in place of earlier ones, as groups
 *
 * Half of the held-out problems have extents of the grid; all others have any. `pairs` writes "problem,schedule" of each problem: the first MODEL of the policy enumerate, the first
 * LEARNED of the policy learned (its weights: $GEMMSMITH_WEIGHTS), all neighbours of its first three, one value away, and RANDOM valid schedules. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "train/train.h"
#include "tune/tune.h"

enum { LINE = 512, MOST = 8192, PARENTS = 3, LEAST = 32 };

/* ---- problems ---- */

static int print_problems(uint64_t seed, int count, int of, double floor_us, bool held_out)
{
    static const int64_t grid[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384};
    gs_random random = {seed};
    for (int printed = 0; printed < count;) {
        char text[GS_PROBLEM_TEXT];
        gs_problem p = gs_train_problem(&random);
        if (held_out && printed % 2 == 0) {
            int64_t extent[3];
            for (int i = 0; i < 3; i++) extent[i] = grid[gs_random_below(&random, GS_COUNT(grid))];
            p = gs_problem_make(p.in, p.layout, extent[0], extent[1], extent[2]);
        }
        p.acc = GS_F32;
        if (gs_train_held_out(&p, of) != held_out || p.m < LEAST || p.n < LEAST || p.k < LEAST || gs_floor_us(&p, gs_caps_find("h200")) > floor_us) continue;
        printf("%s\n", gs_problem_format(&p, text));
        printed++;
    }
    return 0;
}

/* ---- pairs ---- */

typedef struct pool {
    gs_schedule list[MOST];
    int         count;
} pool;

static void add(pool *p, const gs_schedule *schedule)
{
    for (int i = 0; i < p->count; i++)
        if (memcmp(&p->list[i], schedule, sizeof *schedule) == 0) return;
    if (p->count < MOST) p->list[p->count++] = *schedule;
}

static bool add_proposed(pool *p, const char *name, uint64_t seed, const gs_problem *problem, int most)
{
    static gs_schedule said[MOST];
    gs_policy policy;
    gs_error error;
    if (gs_policy_create(&policy, name, seed, &error) != GS_OK) {
        fprintf(stderr, "pick_pool: %s\n", error.text);
        return false;
    }
    const int count = policy.propose(&policy, problem, gs_caps_find("h200"), said, GS_MIN(most, MOST));
    for (int i = 0; i < count; i++) add(p, &said[i]);
    policy.destroy(&policy);
    return true;
}

static void add_neighbours(pool *p, const gs_problem *problem, const gs_schedule *from)
{
    const gs_family_id family = (gs_family_id)from->family;
    for (int parameter = 0; parameter < gs_family_parameters(family); parameter++)
        for (int value = 0; value < gs_family_parameter(family, parameter)->count; value++) {
            gs_schedule next = *from;
            next.value[parameter] = (uint8_t)value;
            if (gs_schedule_check(&next, problem, gs_caps_find("h200"), NULL) == GS_OK) add(p, &next);
        }
}

static int print_pairs(uint64_t seed, int model, int learned, int random)
{
    static pool p;
    char line[LINE], text[GS_SCHEDULE_TEXT];
    while (fgets(line, sizeof line, stdin)) {
        gs_problem problem;
        line[strcspn(line, "\r\n")] = '\0';
        if (gs_problem_parse(&problem, line, NULL) != GS_OK) continue;
        p.count = 0;
        if (!add_proposed(&p, "learned", seed, &problem, learned)) return 1;
        for (int i = 0, parents = GS_MIN(PARENTS, p.count); i < parents; i++) {
            const gs_schedule from = p.list[i];
            add_neighbours(&p, &problem, &from);
        }
        if (!add_proposed(&p, "enumerate", seed, &problem, model) || !add_proposed(&p, "random", seed, &problem, random)) return 1;
        for (int i = 0; i < p.count; i++) printf("%s,%s\n", line, gs_schedule_format(&p.list[i], text));
    }
    return 0;
}

/* ---- rows of time_pairs ---- */

typedef struct row {
    char   problem[GS_PROBLEM_TEXT], schedule[GS_SCHEDULE_TEXT];
    double us;
    int    place;   /* in the files: a later one is the better one */
} row;

typedef struct rows {
    row *list;
    int  count, capacity;
} rows;

static bool read_rows(rows *r, const char *path)
{
    FILE *const file = fopen(path, "r");
    char line[LINE];
    bool enough = true;
    while (file && fgets(line, sizeof line, file)) {
        char *const schedule = strchr(line, ','), *const us = schedule ? strchr(schedule + 1, ',') : NULL;
        if (!us || !(atof(us + 1) > 0)) continue;
        *schedule = *us = '\0';
        enough = gs_grow(&r->list, r->count, &r->capacity, sizeof *r->list);
        if (!enough) break;
        row *const next = &r->list[r->count];
        *next = (row){.us = atof(us + 1), .place = r->count};
        snprintf(next->problem, sizeof next->problem, "%s", line);
        snprintf(next->schedule, sizeof next->schedule, "%s", schedule + 1);
        r->count++;
    }
    return file && fclose(file) == 0 && enough;
}

static int by_schedule(const void *left, const void *right)
{
    const row *const a = left, *const b = right;
    const int problem = strcmp(a->problem, b->problem), schedule = strcmp(a->schedule, b->schedule);
    return problem ? problem : schedule ? schedule : b->place - a->place;
}

static int by_time(const void *left, const void *right)
{
    const row *const a = left, *const b = right;
    const int problem = strcmp(a->problem, b->problem);
    return problem ? problem : (a->us > b->us) - (a->us < b->us);
}

static void leave_last(rows *r)
{
    int kept = 0;
    if (r->count > 1) qsort(r->list, (size_t)r->count, sizeof *r->list, by_schedule);
    for (int i = 0; i < r->count; i++)
        if (kept == 0 || strcmp(r->list[i].problem, r->list[kept - 1].problem) != 0 || strcmp(r->list[i].schedule, r->list[kept - 1].schedule) != 0)
            r->list[kept++] = r->list[i];
    r->count = kept;
    if (kept > 1) qsort(r->list, (size_t)kept, sizeof *r->list, by_time);
}

static int print_rows(char **paths, int most)
{
    rows r = {0};
    for (; *paths; paths++)
        if (!read_rows(&r, *paths)) {
            fprintf(stderr, "pick_pool: %s cannot be read\n", *paths);
            free(r.list);
            return 1;
        }
    leave_last(&r);
    if (most == 0) printf("group,problem,schedule,us\n");
    for (int i = 0, group = 0, at = 0; i < r.count; i++, at++) {
        if (i == 0 || strcmp(r.list[i].problem, r.list[i - 1].problem) != 0) group++, at = 0;
        if (most == 0) printf("%d,%s,%s,%.5g\n", group, r.list[i].problem, r.list[i].schedule, r.list[i].us);
        if (at < most) printf("%s,%s\n", r.list[i].problem, r.list[i].schedule);
    }
    free(r.list);
    return 0;
}

int main(int argc, char **argv)
{
    const bool held_out = strcmp(argc > 1 ? argv[1] : "", "problems") == 0, others = strcmp(argc > 1 ? argv[1] : "", "others") == 0;
    if (argc == 6 && (held_out || others)) return print_problems(strtoull(argv[2], NULL, 10), atoi(argv[3]), atoi(argv[4]), atof(argv[5]), held_out);
    if (argc == 6 && strcmp(argv[1], "pairs") == 0) return print_pairs(strtoull(argv[2], NULL, 10), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
    if (argc >= 4 && strcmp(argv[1], "best") == 0) return print_rows(argv + 3, GS_MAX(atoi(argv[2]), 1));
    if (argc >= 3 && strcmp(argv[1], "truth") == 0) return print_rows(argv + 2, 0);
    fprintf(stderr, "usage: pick_pool problems|others SEED COUNT OF FLOOR_US\n       pick_pool pairs SEED MODEL LEARNED RANDOM < PROBLEMS\n"
                    "       pick_pool best MOST ROWS...\n       pick_pool truth ROWS...\n");
    return 2;
}
