/* SPDX-License-Identifier: MIT
 * Compares measured rows with the time model's predictions. No device needed.
 *
 *     predict_rows report PROFILE ROWS.csv...    rank correlation and regret per problem, family and band
 *     predict_rows rows PROFILE ROWS.csv...      the rows again, with predicted_us by this profile
 *     predict_rows times PROFILE ROWS.csv...     for tools/fit_profile.py, which requests predictions for many sets of constants
 *
 * PROFILE is a file. Rows are those of time_pairs. If a row also has the shape and the counters of the emulated launch (the fields
 * of gs_launch_shape and gs_launch_counts in order), its time is predicted by gs_launch_us.
 *
 * `times` prints "rows N counted 0|1 constants K", N lines "index of the problem,measured_us" and K lines "name,value,least,most". Then, for every line of K numbers
 * that it reads, it writes the N predicted times in microseconds as native doubles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "launch_row.h"
#include "schedule/work.h"

enum { LINE = 1024, MOST_ROWS = 32000, MOST_PROBLEMS = 1000, FIRST = 8 };

typedef struct row {
    gs_schedule schedule;
    double      measured, predicted;
    int         sm_mhz;
    gs_launch_shape  shape;
    gs_launch_counts counts;
} row;

typedef struct group {
    char       text[GS_PROBLEM_TEXT];
    gs_problem problem;
    int        from, count;   /* range of rows */
    double     best;          /* the shortest measured time */
} group;

static row   rows[MOST_ROWS];
static group groups[MOST_PROBLEMS];
static int   row_count, group_count;
static bool  counted;   /* the rows have counters */

/* ---- rows ---- */

/* "grid,threads,cluster,smem,registers,counts...": the fields of both structs. */
static gs_status take_counts(row *r, char *at, gs_error *error)
{
    double shape[5], *const counts = (double *)(void *)&r->counts;
    const int count = (int)(sizeof r->counts / sizeof *counts);
    for (int i = 0; i < 5 + count; i++) {
        char *const from = at;
        *(i < 5 ? &shape[i] : &counts[i - 5]) = strtod(at, &at);
        if (at == from) return gs_fail(error, GS_ERROR_PARSE, NULL, "a row with counters must have %d numbers", 5 + count);
        at += *at == ',';
    }
    r->shape = (gs_launch_shape){shape[0], (int)shape[1], (int)shape[2], (int)shape[3], (int)shape[4]};
    return GS_OK;
}

static gs_status take_row(char *line, gs_error *error)
{
    char *field[5], *at = line;
    for (int i = 0; i < 5; i++) {
        field[i] = at;
        at += strcspn(at, ",\r\n");
        if (*at) *at++ = '\0';
    }
    row *const r = &rows[row_count];
    int g = 0;
    while (g < group_count && strcmp(groups[g].text, field[0]) != 0) g++;
    if (row_count == MOST_ROWS || g == MOST_PROBLEMS) return gs_fail(error, GS_ERROR_RANGE, NULL, "too many rows");
    if (g == group_count) {
        GS_TRY(gs_problem_parse(&groups[g].problem, field[0], error));
        snprintf(groups[g].text, sizeof groups[g].text, "%s", field[0]);
        groups[g].from = row_count;
        groups[g].best = INFINITY;
        group_count++;
    }
    GS_TRY(gs_schedule_parse(&r->schedule, field[1], error));
    r->measured = atof(field[2]);
    r->sm_mhz = atoi(field[4]);
    if (!(r->measured > 0)) return gs_fail(error, GS_ERROR_PARSE, NULL, "%s,%s: no time", field[0], field[1]);
    groups[g].best = fmin(groups[g].best, r->measured);
    counted = *at != '\0';
    if (counted) GS_TRY(take_counts(r, at, error));
    row_count++;
    return GS_OK;
}

/* Groups rows by problem; they may come from several files. */
static void sort_rows(const int *of)
{
    static row sorted[MOST_ROWS];
    int at = 0;
    for (int g = 0; g < group_count; g++) {
        groups[g].from = at;
        for (int i = 0; i < row_count; i++)
            if (of[i] == g) sorted[at++] = rows[i];
        groups[g].count = at - groups[g].from;
    }
    memcpy(rows, sorted, sizeof *rows * (size_t)row_count);
}

static gs_status read_rows(char **paths, gs_error *error)
{
    static int of[MOST_ROWS];
    char line[LINE], text[GS_PROBLEM_TEXT];
    for (; *paths; paths++) {
        FILE *const file = fopen(*paths, "r");
        if (!file) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s cannot be read", *paths);
        gs_status status = GS_OK;
        while (status == GS_OK && fgets(line, sizeof line, file)) {
            if (strncmp(line, "problem,", 8) == 0 || line[0] == '\n') continue;
            snprintf(text, sizeof text, "%.*s", (int)strcspn(line, ","), line);
            status = take_row(line, error);
            for (int g = 0; status == GS_OK && g < group_count; g++)
                if (strcmp(groups[g].text, text) == 0) of[row_count - 1] = g;
        }
        fclose(file);
        GS_TRY(status);
    }
    sort_rows(of);
    return GS_OK;
}

static void predict_all(const gs_profile *profile)
{
    for (int g = 0; g < group_count; g++)
        for (int i = groups[g].from; i < groups[g].from + groups[g].count; i++) {
            const gs_work work = counted ? gs_launch_work(&rows[i].counts, &rows[i].shape, profile)
                                         : gs_schedule_work(&rows[i].schedule, &groups[g].problem, profile);
            rows[i].predicted = gs_work_us(&work, profile);
        }
}

/* ---- figures ---- */

static double value_of(int i, bool measured) { return measured ? rows[i].measured : rows[i].predicted; }

/* Mean rank of row i among the chosen rows. */
static double rank_of(int i, const int *chosen, int count, bool measured)
{
    double rank = 0;
    for (int j = 0; j < count; j++) {
        const double a = value_of(chosen[j], measured), b = value_of(i, measured);
        rank += a < b ? 1 : a == b ? 0.5 : 0;
    }
    return rank;
}

static double spearman(const int *chosen, int count)
{
    double xx = 0, yy = 0, xy = 0;
    for (int j = 0; j < count; j++) {
        const double x = rank_of(chosen[j], chosen, count, true) - count / 2.0, y = rank_of(chosen[j], chosen, count, false) - count / 2.0;
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* The best measured time among the FIRST rows that the model predicts to be fastest, divided by the best of all. */
static double regret_of(const group *g)
{
    double best = INFINITY;
    for (int i = g->from; i < g->from + g->count; i++) {
        int before = 0;
        for (int j = g->from; j < g->from + g->count; j++) before += rows[j].predicted < rows[i].predicted;
        if (before < FIRST) best = fmin(best, rows[i].measured);
    }
    return best / g->best;
}

/* The same for the model's own shortlist of FIRST; NAN unless all of it was measured. */
static double shortlist_regret(const group *g, const gs_profile *profile)
{
    gs_schedule list[FIRST];
    const int count = gs_shortlist(&g->problem, profile, 0, list, FIRST);
    double best = INFINITY;
    for (int k = 0; k < count; k++) {
        bool found = false;
        for (int i = g->from; i < g->from + g->count; i++)
            if (memcmp(&rows[i].schedule, &list[k], sizeof list[k]) == 0) {
                best = fmin(best, rows[i].measured);
                found = true;
            }
        if (!found) return NAN;
    }
    return best / g->best;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double quantile(double *values, int count, double share)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    if (count < 1) return NAN;
    const double at = share * (count - 1);
    const int low = (int)at, high = GS_MIN(low + 1, count - 1);
    return values[low] + (at - low) * (values[high] - values[low]);
}

/* Rank correlation over the problems of a band (-1: all) and the rows of a family (-1: all), and the error of predicted times. */
static void print_figures(const char *name, int family, int band, const gs_profile *profile)
{
    static double correlations[MOST_PROBLEMS], errors[MOST_ROWS];
    int chosen[MOST_ROWS], problems = 0, pairs = 0;
    for (int g = 0; g < group_count; g++) {
        int count = 0;
        if (band >= 0 && gs_floor_band(&groups[g].problem, &profile->caps) != band) continue;
        for (int i = groups[g].from; i < groups[g].from + groups[g].count; i++)
            if (family < 0 || rows[i].schedule.family == family) {
                chosen[count++] = i;
                errors[pairs++] = fabs(log(rows[i].predicted / rows[i].measured));
            }
        if (count >= 5) correlations[problems++] = spearman(chosen, count);
    }
    if (problems == 0) return;
    const double low = quantile(correlations, problems, 0.1), middle = quantile(correlations, problems, 0.5);
    printf("%-12s %8d %6d %8.3f %8.3f %10.1f %%\n", name, problems, pairs, middle, low, 100 * (exp(quantile(errors, pairs, 0.5)) - 1));
}

static void print_regret(const char *name, double *values, int count, double limit)
{
    int within = 0;
    for (int i = 0; i < count; i++) within += values[i] <= limit;
    if (count > 0)
        printf("%s: within %.0f %% for %d of %d problems; median %.3f, worst %.3f\n", name, 100 * (limit - 1), within, count,
               quantile(values, count, 0.5), quantile(values, count, 1));
}

static void report(const gs_profile *profile)
{
    static const char *const bands[] = {"< 1 us", "1-5 us", "5-20 us", "20-100 us", "100-1000 us", "> 1000 us"};
    static double regrets[MOST_PROBLEMS], listed[MOST_PROBLEMS];
    int chosen[MOST_ROWS], lists = 0;
    printf("%-36s %5s %8s %8s %8s %8s\n", "problem", "pairs", "spearman", "regret", "listed", "best us");
    for (int g = 0; g < group_count; g++) {
        for (int i = 0; i < groups[g].count; i++) chosen[i] = groups[g].from + i;
        regrets[g] = regret_of(&groups[g]);
        const double own = shortlist_regret(&groups[g], profile);
        printf("%-36s %5d %8.3f %8.3f %8.3f %8.2f\n", groups[g].text, groups[g].count, spearman(chosen, groups[g].count), regrets[g], own,
               groups[g].best);
        if (!isnan(own)) listed[lists++] = own;
    }
    printf("\n%-12s %8s %6s %8s %8s %12s\n", "", "problems", "pairs", "median", "tenth", "median error");
    print_figures("all", -1, -1, profile);
    for (int family = 0; family < GS_FAMILIES; family++) print_figures(gs_family_name((gs_family_id)family), family, -1, profile);
    for (int band = 0; band < (int)GS_COUNT(bands); band++) print_figures(bands[band], -1, band, profile);
    printf("\n");
    print_regret("best of the first eight measured", regrets, group_count, 1.1);
    print_regret("best of the shortlist of eight  ", listed, lists, 1.1);
}

/* ---- predictions with other constants ---- */

typedef struct knob {
    const char *name;
    size_t      offset;
    double      least, most;
} knob;

static const knob knobs[] = {
#define GS_RATE(name, unit, least, most, what) {#name, offsetof(gs_rates, name), least, most},
    GS_RATES(GS_RATE)
#undef GS_RATE
};

static double *constant(gs_profile *profile, int k) { return (double *)(void *)((char *)&profile->rates + knobs[k].offset); }

static gs_status serve_times(gs_profile *profile, gs_error *error)
{
    static double times[MOST_ROWS];
    const int constants = (int)GS_COUNT(knobs);
    printf("rows %d counted %d constants %d\n", row_count, counted, constants);
    for (int g = 0; g < group_count; g++)
        for (int i = groups[g].from; i < groups[g].from + groups[g].count; i++) printf("%d,%.17g\n", g, rows[i].measured);
    for (int k = 0; k < constants; k++) printf("%s,%.17g,%g,%g\n", knobs[k].name, *constant(profile, k), knobs[k].least, knobs[k].most);
    fflush(stdout);
    char line[64 * GS_COUNT(knobs)];
    while (fgets(line, sizeof line, stdin)) {
        gs_scan scan = gs_scan_from(line);
        for (int k = 0; k < constants; k++) {
            gs_scan_space(&scan);
            if (!gs_scan_double(&scan, constant(profile, k))) return gs_fail(error, GS_ERROR_PARSE, NULL, "expected %d numbers, not '%.60s'", constants, line);
        }
        predict_all(profile);
        for (int i = 0; i < row_count; i++) times[i] = rows[i].predicted;
        if (fwrite(times, sizeof *times, (size_t)row_count, stdout) != (size_t)row_count || fflush(stdout) != 0)
            return gs_fail(error, GS_ERROR_IO, NULL, "the times cannot be written");
    }
    return GS_OK;
}

/* ---- rows again ---- */

static void print_rows(const gs_profile *profile)
{
    predict_all(profile);
    printf("problem,schedule,measured_us,predicted_us,sm_mhz%s\n", counted ? LAUNCH_ROW_HEAD : "");
    for (int g = 0; g < group_count; g++)
        for (int i = groups[g].from; i < groups[g].from + groups[g].count; i++) {
            char text[GS_SCHEDULE_TEXT];
            printf("%s,%s,%.4f,%.4f,%d", groups[g].text, gs_schedule_format(&rows[i].schedule, text), rows[i].measured, rows[i].predicted,
                   rows[i].sm_mhz);
            if (counted) print_launch(&rows[i].shape, &rows[i].counts);
            printf("\n");
        }
}

int main(int argc, char **argv)
{
    const char *const what = argc >= 4 ? argv[1] : "";
    const bool reports = strcmp(what, "report") == 0, prints = strcmp(what, "rows") == 0, serves = strcmp(what, "times") == 0;
    if (!reports && !prints && !serves) {
        fprintf(stderr, "usage: predict_rows report|rows|times PROFILE ROWS.csv...\n");
        return 2;
    }
    gs_error error = {0};
    gs_profile profile;
    char *text = NULL;
    size_t size = 0;
    gs_status status = gs_file_read(argv[2], 1 << 20, &text, &size, &error);
    if (status == GS_OK) status = gs_profile_parse(&profile, text, &error);
    if (status == GS_OK) status = read_rows(argv + 3, &error);
    if (status == GS_OK && serves) {
        status = serve_times(&profile, &error);
    } else if (status == GS_OK && prints) {
        print_rows(&profile);
    } else if (status == GS_OK) {
        predict_all(&profile);
        report(&profile);
    }
    if (status != GS_OK) {
        char line[512];
        fprintf(stderr, "%s\n", gs_error_format(&error, line, sizeof line));
    }
    free(text);
    return status == GS_OK ? 0 : 1;
}
