/* SPDX-License-Identifier: MIT */
#include "eval_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/version.h"
#include "output.h"

void eval_print_head(const cli_session *session)
{
    char driver[GS_CUDA_VERSION_TEXT], cublaslt[GS_CUDA_VERSION_TEXT], nvrtc[GS_CUDA_VERSION_TEXT];
    if (session->caps.emulated) {
        printf("%s, NVRTC %s, gemmsmith %s\n%s\n", session->caps.name, gs_format_cuda_version(session->nvrtc, nvrtc), session->session.version,
               session->command);
        printf("times are predicted by %s, none is measured; cuBLAS and cuBLASLt, which need a GPU, are left out\n", session->worker.device);
        return;
    }
    printf("%s, driver CUDA %s, cuBLASLt %s, NVRTC %s, gemmsmith %s\n%s\n", session->caps.name,
           gs_format_cuda_version(session->caps.driver, driver), gs_format_library_version(session->cublaslt, cublaslt),
           gs_format_cuda_version(session->nvrtc, nvrtc), session->session.version, session->command);
    printf("ratio: time of " GS_RESULT_REFERENCE " in the same layout / this time, over 1 is faster; 95 %% interval\n");
}

static void print_ratio(const gs_ratio *ratio)
{
    const char *const colour = ratio->verdict == GS_FASTER ? cli_green() : ratio->verdict == GS_SLOWER ? cli_red() : "";
    printf("%s%.3f%s [%.3f, %.3f] %s", colour, ratio->median, *colour ? cli_plain() : "", ratio->low, ratio->high,
           gs_comparison_name(ratio->verdict));
}

/* A column of microseconds; "-" where nothing was measured. */
static void print_us(double us)
{
    if (isnan(us))
        printf("  %10s", "-");
    else
        printf("  %10.2f", us);
}

static void print_entry(const gs_result *row, const gs_result_entry *entry)
{
    printf("  %-32s %s", entry->name, entry->layout);
    if (!entry->ran) {
        printf("  not run: %s\n", entry->message);
        return;
    }
    if (entry->wrong) {
        printf("  %sWRONG RESULT%s in a timed run: no figures\n", cli_red(), cli_plain());
        return;
    }
    print_us(entry->device_us);
    if (row->server) {
        print_us(entry->p50);
        print_us(entry->p95);
        print_us(entry->p99);
    } else {
        if (isnan(entry->device_us))
            printf("  %8s  %7s", "-", "-");
        else
            printf("  %8.1f  %6.1f%%", gs_problem_flops(&row->problem) / entry->device_us * 1e-6,
                   100 * row->floor_us / entry->device_us);
        print_us(entry->call_us);
    }
    printf("  ");
    if (entry->compared) print_ratio(&entry->ratio);
    printf("\n");
}

/* torch.matmul: times and ratios of a run of its own. */
static void print_torch(const json_t *torch)
{
    static const char *const layouts[] = {"nn", "tn"};
    const char *const message = json_string_value(json_object_get(torch, "message"));
    if (message) printf("  torch.matmul not run: %s\n", message);
    const json_t *const contenders = json_object_get(torch, "contenders"), *const ratios = json_object_get(torch, "ratio");
    for (size_t i = 0; i < GS_COUNT(layouts) && contenders; i++) {
        char name[32];
        snprintf(name, sizeof name, "torch-%s", layouts[i]);
        const json_t *const theirs = json_object_get(contenders, name);
        snprintf(name, sizeof name, "gemmsmith-%s", layouts[i]);
        const json_t *const ours = json_object_get(contenders, name), *const ratio = json_object_get(ratios, layouts[i]);
        printf("  in a Python process, %s: torch.matmul %.2f us%s, plan %.2f us%s, ratio %.3f [%.3f, %.3f]\n", layouts[i],
               json_number_value(json_object_get(theirs, "us")), json_is_true(json_object_get(theirs, "wrong")) ? " WRONG" : "",
               json_number_value(json_object_get(ours, "us")), json_is_true(json_object_get(ours, "wrong")) ? " WRONG" : "",
               json_number_value(json_object_get(ratio, "median")), json_number_value(json_object_get(ratio, "low")),
               json_number_value(json_object_get(ratio, "high")));
    }
}

static void print_details(const gs_result *row)
{
    for (int i = 0; i < row->count; i++)
        if (row->entry[i].own && row->entry[i].ran && *row->entry[i].detail)
            printf("  %s %s: %s\n", row->entry[i].name, row->entry[i].layout, row->entry[i].detail);
    print_torch(json_object_get(row->json, "torch"));
}

/* What an emulated device says has one clock, no spread and nothing to be compared with. */
static void print_predicted(const gs_result *row)
{
    printf("\n%s  floor %.2f us (band %s)%s\n", row->title, row->floor_us, gs_result_bands[row->band], row->resumed ? "  (from the store)" : "");
    printf("  %-32s %s  %12s  %8s  %7s\n", "contender", "B ", "predicted us", "TFLOP/s", "% floor");
    for (int i = 0; i < row->count; i++) {
        const gs_result_entry *const entry = &row->entry[i];
        if (!entry->ran || entry->wrong || isnan(entry->device_us))
            print_entry(row, entry);
        else
            printf("  %-32s %s  %12.2f  %8.1f  %6.1f%%\n", entry->name, entry->layout, entry->device_us,
                   gs_problem_flops(&row->problem) / entry->device_us * 1e-6, 100 * row->floor_us / entry->device_us);
    }
    print_details(row);
}

void eval_print_row(const gs_result *row)
{
    const json_t *const clocks = json_object_get(row->json, "clocks");
    const json_t *const before = json_object_get(json_object_get(clocks, "before"), "sm_mhz");
    const json_t *const after = json_object_get(json_object_get(clocks, "after"), "sm_mhz");
    const char *const cache = json_string_value(json_object_get(row->json, "cache"));
    if (row->predicted) {
        print_predicted(row);
        return;
    }
    printf("\n%s  floor %.2f us (band %s), %d %s, %s cache", row->title, row->floor_us, gs_result_bands[row->band],
           (int)json_integer_value(json_object_get(row->json, "rounds")), row->server ? "requests" : "rounds",
           cache ? cache : "?");
    if (row->dependent) printf(", dependent launches");
    if (json_integer_value(before) > 0)
        printf(", SM clock %d -> %d MHz", (int)json_integer_value(before), (int)json_integer_value(after));
    printf("%s\n", row->resumed ? "  (from the store)" : "");
    if (row->server)
        printf("  %-32s %s  %10s  %10s  %10s  %10s  %s\n", "contender", "B ", "device us", "call p50", "call p95", "call p99",
               "ratio of call time");
    else
        printf("  %-32s %s  %10s  %8s  %7s  %10s  %s\n", "contender", "B ", "device us", "TFLOP/s", "% floor", "call us",
               "ratio of device time");
    for (int i = 0; i < row->count; i++) print_entry(row, &row->entry[i]);
    if (row->best_compared) {
        const gs_result_entry *const own = &row->entry[row->best_own], *const reference = &row->entry[row->best_reference];
        printf("  best of both: ");
        print_ratio(&row->best);
        printf(" (%s %s against %s-max, %s)\n", own->name, own->layout, reference->name, reference->layout);
    }
    print_details(row);
}

/* ---- raw rows ---- */

void eval_csv_head(FILE *file) { fprintf(file, "problem,mode,cache,layout,contender,round,device_us,call_us\n"); }

static void csv_number(FILE *file, const json_t *list, size_t at)
{
    const json_t *const value = json_array_get(list, at);
    if (json_is_number(value)) fprintf(file, "%.9g", json_number_value(value));
}

void eval_csv_row(FILE *file, const gs_result *row)
{
    const json_t *const entries = json_object_get(row->json, "contenders");
    char text[GS_PROBLEM_TEXT];
    for (int i = 0; i < row->count; i++) {
        const json_t *const entry = json_array_get(entries, (size_t)i);
        const json_t *const device = json_object_get(entry, "device_samples");
        const json_t *const call = json_object_get(entry, "call_samples");
        const size_t rounds = GS_MAX(json_array_size(device), json_array_size(call));
        for (size_t round = 0; round < rounds; round++) {
            fprintf(file, "\"%s\",%s,%s,%s,%s,%zu,", gs_problem_format(&row->problem, text), gs_result_mode(row),
                    json_string_value(json_object_get(row->json, "cache")), row->entry[i].layout, row->entry[i].name, round);
            csv_number(file, device, round);
            fputc(',', file);
            csv_number(file, call, round);
            fputc('\n', file);
        }
    }
    fflush(file);
}

/* ---- over many problems ---- */

static void add_point(eval_totals *totals, int group, int band, const gs_ratio *ratio)
{
    if (!gs_grow(&totals->points, totals->count, &totals->capacity, sizeof *totals->points)) return;
    totals->points[totals->count++] = (eval_point){group, band, *ratio};
}

void eval_totals_add(eval_totals *totals, const gs_result *row)
{
    totals->problems++;
    totals->resumed += row->resumed;
    totals->server = row->server;
    for (int i = 0; i < row->count; i++) {
        const gs_result_entry *const entry = &row->entry[i];
        if (!entry->own) continue;
        if (entry->wrong) totals->wrong++;
        if (!entry->ran) totals->failed++;
        if (entry->compared) add_point(totals, strcmp(entry->layout, "tn") == 0, row->band, &entry->ratio);
    }
    if (row->best_compared) add_point(totals, 2, row->band, &row->best);
}

/* band -1: all of them. values has room for every point. */
static void print_group(const eval_totals *totals, const char *label, int group, int band, double *values)
{
    int count = 0, faster = 0, slower = 0;
    double worst = INFINITY;
    for (int i = 0; i < totals->count; i++) {
        const eval_point *const point = &totals->points[i];
        if (point->group != group || (band >= 0 && point->band != band)) continue;
        values[count++] = point->ratio.median;
        faster += point->ratio.verdict == GS_FASTER;
        slower += point->ratio.verdict == GS_SLOWER;
        worst = fmin(worst, point->ratio.median);
    }
    if (count == 0) return;
    const double mean = gs_geomean(values, count);
    printf("  %-22s %8d  %8.3f  %8.3f  %7.1f%%  %7.1f%%  %8.3f\n", label, count, mean, gs_median(values, count),
           100.0 * faster / count, 100.0 * slower / count, worst);
}

void eval_totals_print(const eval_totals *totals)
{
    double *const values = totals->count > 0 ? malloc((size_t)totals->count * sizeof *values) : NULL;
    if (!values) return;
    printf("\n%d problems against " GS_RESULT_REFERENCE ", ratios of %s time\n", totals->problems, totals->server ? "call" : "device");
    printf("  %-22s %8s  %8s  %8s  %8s  %8s  %8s\n", "", "problems", "geomean", "median", "faster", "slower", "worst");
    print_group(totals, "nn", 0, -1, values);
    print_group(totals, "tn", 1, -1, values);
    print_group(totals, "best of both", 2, -1, values);
    for (int band = 0; band < 6; band++) {
        char label[32];
        snprintf(label, sizeof label, "  floor %s us", gs_result_bands[band]);
        print_group(totals, label, 2, band, values);
    }
    free(values);
}

void eval_totals_free(eval_totals *totals)
{
    free(totals->points);
    *totals = (eval_totals){0};
}
