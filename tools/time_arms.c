/* SPDX-License-Identifier: MIT
 * Compares several ways of searching (arms) on problems without measurements; every proposal is timed when it is made:
 *
 *     time_arms DEVICE PROBLEMS SECONDS MOST ARM... > CURVES.csv
 *
 * PROBLEMS has one problem per line. An arm is one of
 *
 *     NAME=POLICY:SEED[:WEIGHTS]    a policy of `tune --policy` with these weights; it is told its times after 8, 12, 16, ... proposals
 *     NAME=plan:WEIGHTS             gs_weights_choose: the choice of a plan, and its further choices; it is told nothing
 *     NAME=list:FILE                proposals in the order of the file, rows "problem,schedule"
 *
 * and makes at most MOST proposals, or COUNT with "NAME=POLICY:SEED:WEIGHTS:COUNT", for a long search as a reference. A schedule that several arms propose
 * is timed once. The proposals of a round are timed in one run together with the very first schedule, by which runs are scaled. In the end the fastest
 * of each arm after 1, 4, 8, 16, ... proposals are timed again in one run of 25 rounds, whose times count. Rows are "policy,seed,problem,measured,said,share", as
 * report_regret.py reads them: policy is the arm's name, share the time of the fastest schedule of the last run divided by that of what the arm would have
 * kept. Nothing is verified. Stops before a problem once SECONDS are over. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "learn/weights.h"
#include "timing.h"
#include "tune/tune.h"

enum { LINE = 256, MOST_ARMS = 16, MOST_SAID = 128, FIRST = 8, ROUND = 4, MOST_KNOWN = 1024, ROUNDS = 7, LAST_ROUNDS = 25, FINALISTS = 24 };
static const int counts[] = {1, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128};

typedef struct arm {
    char        words[LINE];       /* holds the next four strings */
    const char *name, *kind, *seed, *file;   /* file: weights, or a list; NULL: the default weights */
    int         most;
    gs_policy   policy;
    gs_schedule said[MOST_SAID];   /* proposals for this problem */
    int         count, told;
    bool        ended;
} arm;

/* A timed schedule of this problem; all times are on one scale. again: its time in the last run. */
typedef struct known {
    timed  timed;
    double again;
} known;

typedef struct run {
    gs_device   *device;
    gs_verifier *verifier;
    gs_problem   problem;
    char         text[GS_PROBLEM_TEXT];
    arm          arms[MOST_ARMS];
    int          arm_count;
    known        known[MOST_KNOWN];
    int          known_count;
} run;

/* ---- arms ---- */

static bool read_arm(arm *a, const char *text, int most)
{
    char *save = NULL;
    snprintf(a->words, sizeof a->words, "%s", text);
    char *const equals = strchr(a->words, '=');
    if (!equals || strlen(text) >= sizeof a->words) return false;
    *equals = '\0';
    a->name = a->words;
    a->kind = strtok_r(equals + 1, ":", &save);
    if (!a->kind) return false;
    const bool searches = strcmp(a->kind, "plan") != 0 && strcmp(a->kind, "list") != 0;
    a->seed = searches ? strtok_r(NULL, ":", &save) : "1";
    a->file = strtok_r(NULL, ":", &save);
    const char *const count = strtok_r(NULL, ":", &save);
    a->most = count ? atoi(count) : most;
    return a->seed && (searches || a->file) && a->most >= 1 && a->most <= MOST_SAID && !strtok_r(NULL, ":", &save);
}

static gs_status choose(const run *r, arm *a, gs_error *error)
{
    gs_weights weights;
    GS_TRY(gs_weights_load(&weights, a->file, error));
    a->count = gs_weights_choose(&weights, &r->problem, &r->device->caps, 0, a->said, a->most);
    gs_weights_free(&weights);
    return GS_OK;
}

static gs_status read_list(const run *r, arm *a, gs_error *error)
{
    char line[2 * LINE];
    FILE *const file = fopen(a->file, "r");
    if (!file) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s: no such file", a->file);
    const size_t length = strlen(r->text);
    while (a->count < a->most && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (strncmp(line, r->text, length) != 0 || line[length] != ',') continue;
        gs_schedule schedule;
        if (gs_schedule_parse(&schedule, line + length + 1, NULL) == GS_OK && gs_schedule_check(&schedule, &r->problem, &r->device->caps, NULL) == GS_OK)
            a->said[a->count++] = schedule;   /* invalid lines are dropped, as a model's invalid proposals would be */
    }
    fclose(file);
    return GS_OK;
}

/* A policy learns across problems, so each problem gets a new instance. */
static gs_status begin_arm(const run *r, arm *a, gs_error *error)
{
    a->count = a->told = 0;
    a->ended = true;
    if (strcmp(a->kind, "plan") == 0) return choose(r, a, error);
    if (strcmp(a->kind, "list") == 0) return read_list(r, a, error);
    a->ended = false;
    if (a->file) setenv("GEMMSMITH_WEIGHTS", a->file, 1);
    else unsetenv("GEMMSMITH_WEIGHTS");
    return gs_policy_create(&a->policy, a->kind, strtoull(a->seed, NULL, 10), error);
}

static known *find(run *r, const gs_schedule *schedule)
{
    for (int i = 0; i < r->known_count; i++)
        if (memcmp(&r->known[i].timed.schedule, schedule, sizeof *schedule) == 0) return &r->known[i];
    return NULL;
}

static void tell(run *r, arm *a)
{
    gs_feedback told[MOST_SAID];
    int count = 0;
    for (; a->told < a->count; a->told++) {
        const double us = find(r, &a->said[a->told])->timed.us;
        const double reward = us > 0 ? gs_reward_predicted(us, gs_floor_us(&r->problem, &r->device->caps)) : -1;
        told[count++] = (gs_feedback){.schedule = a->said[a->told], .us = us, .reward = reward};
    }
    if (count > 0 && a->policy.learn) a->policy.learn(&a->policy, &r->problem, &r->device->caps, told, count);
}

static void ask(run *r, arm *a)
{
    const int wanted = GS_MIN(a->count == 0 ? FIRST : ROUND, a->most - a->count);
    const int got = wanted > 0 ? a->policy.propose(&a->policy, &r->problem, &r->device->caps, a->said + a->count, wanted) : 0;
    a->ended = got < 1;
    a->count += GS_MAX(got, 0);
}

/* ---- timing ---- */

static gs_status compile(const run *r, const timed *list, int count, gs_error *error)
{
    static gs_schedule schedules[MOST_KNOWN];
    int failed;
    for (int i = 0; i < count; i++) schedules[i] = list[i].schedule;
    return gs_precompile(&r->device->caps, &r->problem, schedules, count, 0, 0, NULL, &failed, error);
}

/* Times `list` in runs of at most GS_MAX_CONTENDERS, each together with the first known schedule. */
static gs_status time_new(run *r, timed *list, int count, gs_error *error)
{
    GS_TRY(compile(r, list, count, error));
    for (int begin = 0, taken; begin < count; begin += taken) {
        timed together[GS_MAX_CONTENDERS];
        const int anchor = r->known_count > 0 && r->known[0].timed.us > 0;
        int mhz;
        taken = GS_MIN(count - begin, GS_MAX_CONTENDERS - 1);
        if (anchor) together[0] = r->known[0].timed;
        memcpy(together + anchor, list + begin, (size_t)taken * sizeof *list);
        GS_TRY(time_schedules(r->device, r->verifier, &r->problem, together, anchor + taken, ROUNDS, &mhz, error));
        const double scale = anchor && together[0].us > 0 ? r->known[0].timed.us / together[0].us : 1;
        for (int i = 0; i < taken && r->known_count < MOST_KNOWN; i++) {
            together[anchor + i].us *= scale;
            r->known[r->known_count++] = (known){together[anchor + i], 0};
        }
    }
    return GS_OK;
}

/* Times the proposals that were not timed yet. */
static gs_status time_said(run *r, gs_error *error)
{
    static timed list[MOST_KNOWN];
    int count = 0;
    for (int i = 0; i < r->arm_count; i++) {
        const arm *const a = &r->arms[i];
        for (int j = a->told; j < a->count && r->known_count + count < MOST_KNOWN; j++) {
            bool there = find(r, &a->said[j]) != NULL;
            for (int k = 0; k < count && !there; k++) there = memcmp(&list[k].schedule, &a->said[j], sizeof a->said[j]) == 0;
            if (!there) list[count++] = (timed){.schedule = a->said[j]};
        }
    }
    return count > 0 ? time_new(r, list, count, error) : GS_OK;
}

/* The best of the arm's first `count` proposals; NULL: none was timed. */
static known *kept(run *r, const arm *a, int count)
{
    known *best = NULL;
    for (int i = 0; i < GS_MIN(count, a->count); i++) {
        known *const k = find(r, &a->said[i]);
        if (k && k->timed.us > 0 && (!best || k->timed.us < best->timed.us)) best = k;
    }
    return best;
}

static int by_time(const void *left, const void *right)
{
    const double a = (*(known *const *)left)->timed.us, b = (*(known *const *)right)->timed.us;
    return (a > b) - (a < b);
}

static void add(known **list, int *count, known *one)
{
    for (int i = 0; i < *count; i++)
        if (list[i] == one) return;
    if (one && *count < GS_MAX_CONTENDERS) list[(*count)++] = one;
}

static gs_status time_again(run *r, gs_error *error)
{
    known *finalists[GS_MAX_CONTENDERS], *order[MOST_KNOWN];
    timed list[GS_MAX_CONTENDERS];
    int count = 0, timed_ones = 0, mhz;
    for (int i = 0; i < r->arm_count; i++)
        for (size_t j = 0; j < GS_COUNT(counts); j++) add(finalists, &count, kept(r, &r->arms[i], counts[j]));
    for (int i = 0; i < r->known_count; i++)
        if (r->known[i].timed.us > 0) order[timed_ones++] = &r->known[i];
    qsort(order, (size_t)timed_ones, sizeof *order, by_time);
    for (int i = 0; i < GS_MIN(timed_ones, FINALISTS); i++) add(finalists, &count, order[i]);
    for (int i = 0; i < count; i++) list[i] = finalists[i]->timed;
    GS_TRY(time_schedules(r->device, r->verifier, &r->problem, list, count, LAST_ROUNDS, &mhz, error));
    for (int i = 0; i < count; i++) finalists[i]->again = list[i].us;
    return GS_OK;
}

static void print_shares(run *r)
{
    double best = INFINITY;
    for (int i = 0; i < r->known_count; i++)
        if (r->known[i].again > 0) best = fmin(best, r->known[i].again);
    for (int i = 0; i < r->arm_count; i++) {
        const arm *const a = &r->arms[i];
        for (size_t j = 0; j < GS_COUNT(counts) && counts[j] <= a->most; j++) {
            const known *const k = kept(r, a, counts[j]);
            if (k && k->again > 0) printf("%s,%s,%s,%d,%d,%.5f\n", a->name, a->seed, r->text, counts[j], GS_MIN(counts[j], a->count), best / k->again);
        }
    }
    fflush(stdout);
}

static gs_status search(run *r, gs_error *error)
{
    gs_status status = GS_OK;
    bool more = true;
    while (more && status == GS_OK) {
        more = false;
        for (int i = 0; i < r->arm_count; i++)
            if (!r->arms[i].ended) ask(r, &r->arms[i]);
        status = time_said(r, error);
        for (int i = 0; i < r->arm_count && status == GS_OK; i++) {
            if (r->arms[i].policy.propose) tell(r, &r->arms[i]);
            more |= !r->arms[i].ended;
        }
    }
    if (status == GS_OK && r->known_count > 0) status = time_again(r, error);
    if (status == GS_OK) print_shares(r);
    return status;
}

static gs_status time_problem(run *r, const char *line, gs_error *error)
{
    GS_TRY(gs_problem_parse(&r->problem, line, error));
    gs_problem_format(&r->problem, r->text);
    r->known_count = 0;
    gs_status status = GS_OK;
    for (int i = 0; i < r->arm_count && status == GS_OK; i++) status = begin_arm(r, &r->arms[i], error);
    if (status == GS_OK) status = search(r, error);
    for (int i = 0; i < r->arm_count; i++) {
        if (r->arms[i].policy.destroy) r->arms[i].policy.destroy(&r->arms[i].policy);
        r->arms[i].policy = (gs_policy){0};
    }
    return status;
}

static gs_status time_problems(run *r, FILE *file, const char *device, double seconds, gs_error *error)
{
    char line[LINE];
    const int64_t end = gs_clock_ns() + (int64_t)(seconds * 1e9);
    GS_TRY(gs_device_open(&r->device, device, NULL, error));
    gs_status status = gs_verifier_create(&r->verifier, r->device, error);
    printf("policy,seed,problem,measured,said,share\n");
    while (status == GS_OK && gs_clock_ns() < end && fgets(line, sizeof line, file)) {
        line[strcspn(line, "# \r\n")] = '\0';
        if (line[0]) status = time_problem(r, line, error);
    }
    gs_verifier_destroy(&r->verifier);
    gs_device_close(&r->device);
    return status;
}

int main(int argc, char **argv)
{
    static run r;
    gs_error error = {0};
    const int most = argc > 5 ? atoi(argv[4]) : 0;
    bool fine = most >= 1 && argc - 5 <= MOST_ARMS;
    for (int i = 5; i < argc && fine; i++) fine = read_arm(&r.arms[r.arm_count++], argv[i], most);
    if (!fine) {
        fprintf(stderr, "usage: time_arms DEVICE PROBLEMS SECONDS MOST NAME=POLICY:SEED[:WEIGHTS[:COUNT]] | NAME=plan:WEIGHTS | NAME=list:FILE ...\n");
        return 2;
    }
    FILE *const file = fopen(argv[2], "r");
    if (!file) {
        perror(argv[2]);
        return 1;
    }
    const gs_status status = time_problems(&r, file, argv[1], atof(argv[3]), &error);
    fclose(file);
    if (status != GS_OK) fprintf(stderr, "%s\n", error.text);
    return status == GS_OK ? 0 : 1;
}
