/* SPDX-License-Identifier: MIT
 * Chooses what to measure, without a device: problems, or pairs of a problem and a schedule. The same arguments, model and weights give the same output.
 *
 *     pick_pairs random SEED COUNT LEAST                    any problems, no extent below LEAST
 *     pick_pairs held_out SEED COUNT OF FLOOR_US            problems that `gemmsmith train --held_out OF` keeps from training
 *     pick_pairs others SEED COUNT OF FLOOR_US              problems that it trains on
 *     pick_pairs spread SEED FIRST RANDOM [ROWS...] < PROBLEMS
 *     pick_pairs pool SEED MODEL LEARNED RANDOM < PROBLEMS
 *     pick_pairs choices SEED SPREAD CHOICES RANDOM < PROBLEMS
 *     pick_pairs best MOST ROWS...                          the fastest MOST of every problem
 *     pick_pairs truth ROWS...                              all rows, later ones replacing earlier ones, as groups with their times
 *
 * Problems are one per line, pairs "problem,schedule", ROWS files of time_pairs. Half of the held-out problems have extents of the grid; all others have any.
 * `spread` is for fitting a time model: its shortlist of FIRST schedules, and RANDOM valid ones of all families, spread over the predicted time, without pairs
 * in ROWS. `pool` is for finding the true optimum of a problem: the first MODEL of the policy enumerate, the first LEARNED of the policy
 * learned (its weights: $GEMMSMITH_WEIGHTS), all neighbours of its first three (one parameter changed), and RANDOM valid schedules. `choices` is for training the
 * choice of a plan: the first SPREAD of the policy spread, the first CHOICES of the weights in $GEMMSMITH_WEIGHTS, RANDOM valid schedules, and cuBLASLt's first suggestion. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/random.h"
#include "learn/weights.h"
#include "train/train.h"
#include "tune/tune.h"

enum { LINE = 512, RANKED_MOST = 65536, SLOWEST = 40, POOL_MOST = 8192, PARENTS = 3, LEAST = 32 };

/* ---- problems ---- */

static gs_problem random_problem(gs_random *random, int64_t least)
{
    static const int64_t sizes[] = {16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192};
    int64_t extent[3];
    for (int i = 0; i < 3; i++)
        do extent[i] = sizes[gs_random_below(random, GS_COUNT(sizes))];
        while (extent[i] < least);
    const gs_layout layout = gs_random_below(random, 2) ? GS_TN : GS_NN;
    const bool odd = gs_random_below(random, 8) == 0;   /* leading dimensions that no tensor map allows */
    if (odd) extent[gs_random_below(random, 3)] += 1 + (int64_t)gs_random_below(random, 15);
    const gs_type in = gs_random_below(random, 4) == 0 ? GS_BF16 : GS_F16;
    gs_problem problem = gs_problem_make(in, layout, extent[0], extent[1], extent[2]);
    if (in == GS_F16 && gs_random_below(random, 5) == 0) problem.acc = GS_F16;
    if (gs_random_below(random, 6) == 0) problem.out = GS_F32;
    return problem;
}

static int print_random_problems(uint64_t seed, int count, int least)
{
    gs_random random = {seed};
    for (int i = 0; i < count; i++) {
        char text[GS_PROBLEM_TEXT];
        const gs_problem problem = random_problem(&random, least);
        printf("%s\n", gs_problem_format(&problem, text));
    }
    return 0;
}

static int print_parted_problems(uint64_t seed, int count, int of, double floor_us, bool held_out)
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

/* ---- rows of time_pairs ---- */

typedef struct row {
    char   problem[GS_PROBLEM_TEXT], schedule[GS_SCHEDULE_TEXT];
    double us;
    int    place;   /* position in the files: later rows replace earlier ones */
} row;

typedef struct rows {
    row *list;
    int  count, capacity;
} rows;

static bool add_row(rows *r, const char *problem, const char *schedule, double us)
{
    if (!gs_grow(&r->list, r->count, &r->capacity, sizeof *r->list)) return false;
    row *const next = &r->list[r->count];
    *next = (row){.us = us, .place = r->count};
    snprintf(next->problem, sizeof next->problem, "%s", problem);
    snprintf(next->schedule, sizeof next->schedule, "%s", schedule);
    r->count++;
    return true;
}

/* timed: skip rows without a time. */
static bool read_rows(rows *r, const char *path, bool timed)
{
    FILE *const file = fopen(path, "r");
    char line[LINE];
    bool enough = true;
    while (file && fgets(line, sizeof line, file)) {
        char *const schedule = strchr(line, ','), *const us = schedule ? strchr(schedule + 1, ',') : NULL;
        if (!us || (timed && !(atof(us + 1) > 0))) continue;
        *schedule = *us = '\0';
        enough = add_row(r, line, schedule + 1, atof(us + 1));
        if (!enough) break;
    }
    return file && fclose(file) == 0 && enough;
}

/* ---- spread over the predicted time ---- */

typedef struct ranked {
    gs_schedule schedule;
    double      us;
} ranked;

static int by_prediction(const void *left, const void *right)
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
        if (count < RANKED_MOST) list[count++] = (ranked){schedule, gs_schedule_predict(&schedule, problem, caps)};
    } while (gs_schedule_next(&schedule));
    qsort(list, (size_t)count, sizeof *list, by_prediction);
    return count;
}

/* Prints a pair unless it was printed or known before. */
static bool print_pair(rows *known, const char *problem, const gs_schedule *schedule)
{
    char text[GS_SCHEDULE_TEXT];
    gs_schedule_format(schedule, text);
    for (int i = 0; i < known->count; i++)
        if (strcmp(known->list[i].problem, problem) == 0 && strcmp(known->list[i].schedule, text) == 0) return false;
    if (!add_row(known, problem, text, 0)) return false;
    printf("%s,%s\n", problem, text);
    return true;
}

/* Prints random schedules of a family, at predicted times drawn log-uniformly between the family's best and SLOWEST times that; every third within a factor
 * of 1.6 of the best. */
static void print_random(rows *known, const char *problem, const ranked *list, int count, int wanted, gs_random *random)
{
    const double best = count > 0 ? list[0].us : 0;
    for (int tries = 0, printed = 0; count > 0 && printed < wanted && tries < 20 * wanted; tries++) {
        const double reach = tries % 3 == 0 ? 1.6 : SLOWEST;
        const double us = best * exp(gs_random_unit(random) * log(reach));
        int at = 0;
        while (at < count - 1 && list[at].us < us) at++;
        while (at > 0 && list[at].us > SLOWEST * best) at--;
        const int from = at > 20 ? at - 20 : 0;
        printed += print_pair(known, problem, &list[from + (int)gs_random_below(random, (uint64_t)(at - from + 1))].schedule);
    }
}

static gs_status print_spread(rows *known, const char *text, int first, int wanted, ranked *list[GS_FAMILIES], gs_random *random, gs_error *error)
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
    for (int i = 0; i < size; i++) print_pair(known, text, &shortlist[i]);
    int families = 0;
    for (int family = 0; family < GS_FAMILIES; family++) families += family != GS_FAMILY_SIMPLE && count[family] > 0;
    for (int family = 0, left = wanted; family < GS_FAMILIES; family++) {
        if (family == GS_FAMILY_SIMPLE || count[family] == 0) continue;
        print_random(known, text, list[family], count[family], left / families, random);
        left -= left / families--;
    }
    if (wanted > 0 && list[GS_FAMILY_SIMPLE][0].us < SLOWEST * best) print_pair(known, text, &list[GS_FAMILY_SIMPLE][0].schedule);
    return GS_OK;
}

static int read_and_spread(uint64_t seed, int first, int wanted, char **paths)
{
    ranked *list[GS_FAMILIES];
    rows known = {0};
    gs_random random = {seed};
    gs_error error = {0};
    gs_status status = GS_OK;
    for (int i = 0; i < GS_FAMILIES; i++)
        if (!(list[i] = malloc(RANKED_MOST * sizeof **list))) status = GS_ERROR_MEMORY;
    for (; *paths && status == GS_OK; paths++)
        if (!read_rows(&known, *paths, false)) status = gs_fail(&error, GS_ERROR_NOT_FOUND, NULL, "%s cannot be read", *paths);
    char line[LINE];
    while (status == GS_OK && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line && *line != '#') status = print_spread(&known, line, first, wanted, list, &random, &error);
    }
    if (status != GS_OK) fprintf(stderr, "%s\n", error.text);
    for (int i = 0; i < GS_FAMILIES; i++) free(list[i]);
    free(known.list);
    return status != GS_OK;
}

/* ---- a pool ---- */

typedef struct pool {
    gs_schedule list[POOL_MOST];
    int         count;
} pool;

static void add(pool *p, const gs_schedule *schedule)
{
    for (int i = 0; i < p->count; i++)
        if (memcmp(&p->list[i], schedule, sizeof *schedule) == 0) return;
    if (p->count < POOL_MOST) p->list[p->count++] = *schedule;
}

static bool add_proposed(pool *p, const char *name, uint64_t seed, const gs_problem *problem, int most)
{
    static gs_schedule said[POOL_MOST];
    gs_policy policy;
    gs_error error;
    if (gs_policy_create(&policy, name, seed, &error) != GS_OK) {
        fprintf(stderr, "pick_pairs: %s\n", error.text);
        return false;
    }
    const int count = policy.propose(&policy, problem, gs_caps_find("h200"), said, GS_MIN(most, POOL_MOST));
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

static int print_pool(uint64_t seed, int model, int learned, int random)
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

static int print_choices(uint64_t seed, int spread, int choices, int random)
{
    static pool p;
    gs_weights weights;
    gs_error error = {0};
    const gs_caps *const caps = gs_caps_find("h200");
    const char *const path = gs_weights_path();
    if (!path || gs_weights_load(&weights, path, &error) != GS_OK) {
        fprintf(stderr, "pick_pairs: %s\n", path ? error.text : "no weights: set GEMMSMITH_WEIGHTS");
        return 1;
    }
    char line[LINE], text[GS_SCHEDULE_TEXT];
    bool fine = true;
    while (fine && fgets(line, sizeof line, stdin)) {
        gs_problem problem;
        gs_schedule chosen[LEAST];
        line[strcspn(line, "\r\n")] = '\0';
        if (gs_problem_parse(&problem, line, NULL) != GS_OK) continue;
        p.count = gs_weights_choose(&weights, &problem, caps, 0, chosen, GS_MIN(choices, LEAST));
        memcpy(p.list, chosen, (size_t)p.count * sizeof *chosen);
        fine = (spread <= 0 || add_proposed(&p, "spread", seed, &problem, spread)) && (random <= 0 || add_proposed(&p, "random", seed, &problem, random));
        for (int i = 0; i < p.count; i++) printf("%s,%s\n", line, gs_schedule_format(&p.list[i], text));
        printf("%s,cublaslt/1\n", line);
    }
    gs_weights_free(&weights);
    return !fine;
}

/* ---- rows again ---- */

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
        if (!read_rows(&r, *paths, true)) {
            fprintf(stderr, "pick_pairs: %s cannot be read\n", *paths);
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
    const char *const what = argc > 1 ? argv[1] : "";
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    const bool held_out = strcmp(what, "held_out") == 0;
    if (argc == 5 && strcmp(what, "random") == 0) return print_random_problems(seed, atoi(argv[3]), GS_MIN(atoi(argv[4]), 8192));
    if (argc == 6 && (held_out || strcmp(what, "others") == 0)) return print_parted_problems(seed, atoi(argv[3]), atoi(argv[4]), atof(argv[5]), held_out);
    if (argc >= 5 && strcmp(what, "spread") == 0) return read_and_spread(seed, atoi(argv[3]), atoi(argv[4]), argv + 5);
    if (argc == 6 && strcmp(what, "pool") == 0) return print_pool(seed, atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
    if (argc == 6 && strcmp(what, "choices") == 0) return print_choices(seed, atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
    if (argc >= 4 && strcmp(what, "best") == 0) return print_rows(argv + 3, GS_MAX(atoi(argv[2]), 1));
    if (argc >= 3 && strcmp(what, "truth") == 0) return print_rows(argv + 2, 0);
    fprintf(stderr, "usage: pick_pairs random SEED COUNT LEAST\n       pick_pairs held_out|others SEED COUNT OF FLOOR_US\n"
                    "       pick_pairs spread SEED FIRST RANDOM [ROWS...] < PROBLEMS\n       pick_pairs pool SEED MODEL LEARNED RANDOM < PROBLEMS\n"
                    "       pick_pairs choices SEED SPREAD CHOICES RANDOM < PROBLEMS\n"
                    "       pick_pairs best MOST ROWS...\n       pick_pairs truth ROWS...\n");
    return 2;
}
