/* SPDX-License-Identifier: MIT
 * Replays a policy on problems whose schedules have all been measured already, to see what it would have found:
 *
 *     replay POLICY SEED TIMES.csv MOST > CURVE.csv
 *
 * TIMES has rows "group,problem,schedule,us" as `gemmsmith train --rows` writes them, a group's rows adjacent. The policy is asked in rounds of 8, 4, 4, 4, ...,
 * until it has proposed MOST schedules of the group; schedules that were not measured are skipped and do not count. After every round it is told
 * the times. The policy "plan" is gs_weights_choose, the choice of a plan whose problem is in no table. Writes "policy,seed,problem,measured,said,share":
 * after `measured` schedules of the group, which were among the first `said` proposals, share is the fastest time of the group divided by their fastest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "learn/weights.h"
#include "tune/tune.h"

enum { LINE = 512, ROUND = 4, BATCH = 64, DRAWS = 200000 };

typedef struct measured {
    gs_schedule schedule;
    double      us;
} measured;

typedef struct group {
    char       name[32];
    gs_problem problem;
    measured  *list;
    int        count, capacity;
    double     best;
} group;

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, sizeof(gs_schedule)); }

static double time_of(const group *g, const gs_schedule *schedule)
{
    const measured *const found = bsearch(schedule, g->list, (size_t)g->count, sizeof *g->list, by_bytes);
    return found ? found->us : 0;
}

/* ---- reading ---- */

typedef struct reader {
    FILE *file;
    char  line[LINE];   /* read ahead; empty: none */
} reader;

static bool split(char *line, char *field[4])
{
    int fields = 0;
    field[fields++] = line;
    for (char *c = line; *c && fields < 4; c++)
        if (*c == ',') *c = '\0', field[fields++] = c + 1;
    return fields == 4;
}

/* Skips schedules that are not valid in this version's grammar. */
static bool take(group *g, const char *schedule, const char *us)
{
    measured m;
    gs_scan scan = gs_scan_from(us);
    if (!gs_scan_double(&scan, &m.us) || gs_schedule_parse(&m.schedule, schedule, NULL) != GS_OK) return true;
    if (gs_schedule_check(&m.schedule, &g->problem, gs_caps_find("h200"), NULL) != GS_OK) return true;
    if (!gs_grow(&g->list, g->count, &g->capacity, sizeof *g->list)) return false;
    g->list[g->count++] = m;
    return true;
}

/* *fine: the group could be parsed. A group may be empty if this grammar has none of its schedules. */
static bool next_group(reader *in, group *g, bool *fine)
{
    g->count = 0;
    g->name[0] = '\0';
    for (;;) {
        char copy[LINE], *field[4];
        if (!in->line[0] && !fgets(in->line, sizeof in->line, in->file)) break;
        in->line[strcspn(in->line, "\r\n")] = '\0';
        memcpy(copy, in->line, sizeof copy);
        if (split(copy, field) && strcmp(field[0], "group") != 0) {
            if (g->name[0] && strcmp(field[0], g->name) != 0) break;
            gs_error error = {.text = "no memory"};
            *fine = (g->name[0] || gs_problem_parse(&g->problem, field[1], &error) == GS_OK) && take(g, field[2], field[3]);
            if (!*fine) fprintf(stderr, "replay: %s: %s\n", field[1], error.text);
            if (!*fine) return false;
            snprintf(g->name, sizeof g->name, "%s", field[0]);
        }
        in->line[0] = '\0';
    }
    if (g->count > 1) qsort(g->list, (size_t)g->count, sizeof *g->list, by_bytes);
    g->best = INFINITY;
    for (int i = 0; i < g->count; i++) g->best = fmin(g->best, g->list[i].us);
    return g->name[0] != '\0';
}

/* ---- replaying ---- */

static void print(const char *policy, const char *seed, const group *g, int count, int said, double got)
{
    char text[GS_PROBLEM_TEXT];
    printf("%s,%s,%s,%d,%d,%.5f\n", policy, seed, gs_problem_format(&g->problem, text), count, said, g->best / got);
}

/* A plan's choices get no feedback. */
static bool replay_plan(const char *seed, const group *g, int most)
{
    enum { CHOICES = 32 };
    gs_weights weights;
    gs_schedule list[CHOICES];
    gs_error error;
    const char *const path = gs_weights_path();
    double got = INFINITY;
    if (!path || gs_weights_load(&weights, path, &error) != GS_OK) {
        fprintf(stderr, "replay: %s\n", path ? error.text : "there are no weights");
        return false;
    }
    const int count = gs_weights_choose(&weights, &g->problem, gs_caps_find("h200"), 0, list, CHOICES);
    for (int i = 0, taken = 0; i < count && taken < most; i++) {
        const double us = time_of(g, &list[i]);
        if (!(us > 0)) continue;
        got = fmin(got, us);
        print("plan", seed, g, ++taken, i + 1, got);
    }
    gs_weights_free(&weights);
    return true;
}

static bool replay(const char *name, const char *seed, const group *g, int most)
{
    gs_policy policy;
    gs_error error;
    gs_feedback told[BATCH];
    int count = 0, since = 0, round = 2 * ROUND, said = 0;
    double got = INFINITY;
    if (gs_policy_create(&policy, name, strtoull(seed, NULL, 10), &error) != GS_OK) {
        fprintf(stderr, "replay: %s\n", error.text);
        return false;
    }
    while (count < most && said < DRAWS) {
        gs_schedule next;
        if (policy.propose(&policy, &g->problem, gs_caps_find("h200"), &next, 1) < 1) break;
        said++;
        const double us = time_of(g, &next);
        if (!(us > 0)) continue;
        got = fmin(got, us);
        told[since++] = (gs_feedback){.schedule = next, .us = us, .reward = gs_reward_predicted(us, gs_floor_us(&g->problem, gs_caps_find("h200")))};
        print(name, seed, g, ++count, said, got);
        if (since < round) continue;
        if (policy.learn) policy.learn(&policy, &g->problem, gs_caps_find("h200"), told, since);
        since = 0;
        round = ROUND;
    }
    while (count < most && got < INFINITY) print(name, seed, g, ++count, said, got);
    policy.destroy(&policy);
    return true;
}

int main(int argc, char **argv)
{
    const int most = argc == 5 ? atoi(argv[4]) : 0;
    reader in = {.file = most > 0 ? fopen(argv[3], "r") : NULL};
    group g = {.count = 0};
    if (!in.file) {
        fprintf(stderr, "usage: replay POLICY SEED TIMES.csv MOST\n");
        return 2;
    }
    printf("policy,seed,problem,measured,said,share\n");
    bool fine = true;
    while (fine && next_group(&in, &g, &fine)) {
        if (g.count == 0) continue;
        fine = strcmp(argv[1], "plan") == 0 ? replay_plan(argv[2], &g, most) : replay(argv[1], argv[2], &g, most);
    }
    fclose(in.file);
    free(g.list);
    return fine ? 0 : 1;
}
