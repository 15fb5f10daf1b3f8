/* SPDX-License-Identifier: MIT
 * Nsight Compute's raw page as CSV, and its metrics under our names. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "worker/metrics.h"

enum { COLUMNS = 8192, STALLS = 64 };

void gs_metric_add(gs_text *out, const char *name, double value)
{
    if (isfinite(value)) gs_text_addf(out, "%s %.6g\n", name, value);
}

typedef enum unit_kind { PLAIN, BYTES, SECTORS, TIME } unit_kind;

/* legend: our name, what the profiler calls it, in what */
static const struct { const char *name, *metric; unit_kind kind; } known[] = {
    {"registers",      "launch__registers_per_thread",                                        PLAIN},
    {"threads",        "launch__block_size",                                                  PLAIN},
    {"launch_us",      "gpu__time_duration.sum",                                              TIME},
    {"instructions",   "smsp__inst_executed.sum",                                             PLAIN},
    {"device_load",    "dram__bytes_read.sum",                                                BYTES},
    {"device_store",   "dram__bytes_write.sum",                                               BYTES},
    {"l2_load",        "lts__t_sectors_op_read.sum",                                          SECTORS},
    {"l2_store",       "lts__t_sectors_op_write.sum",                                         SECTORS},
    {"shared_passes",  "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",                      PLAIN},
    {"bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",                  PLAIN},
    {"tensor_busy",    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",     PLAIN},
    {"sm_busy",        "sm__throughput.avg.pct_of_peak_sustained_elapsed",                    PLAIN},
    {"l1_busy",        "l1tex__throughput.avg.pct_of_peak_sustained_active",                  PLAIN},
    {"l2_busy",        "lts__throughput.avg.pct_of_peak_sustained_elapsed",                   PLAIN},
    {"memory_busy",    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",              PLAIN},
};

/* legend: what the profiler calls it, our name; what is not here is stall_other, "" is no wait */
static const struct { const char *stall, *name; } stalls[] = {
    {"long_scoreboard", "stall_memory"}, {"short_scoreboard", "stall_shared"}, {"barrier", "stall_barrier"}, {"gmma", "stall_wgmma"}, {"warpgroup_arrive", "stall_wgmma"},
    {"math_pipe_throttle", "stall_math"}, {"wait", "stall_wait"}, {"no_instruction", "stall_code"}, {"imc_miss", "stall_code"}, {"lg_throttle", "stall_queue"},
    {"mio_throttle", "stall_queue"}, {"tex_throttle", "stall_queue"}, {"selected", ""}, {"not_selected", ""},
};
static const char *const stall_names[] = {"stall_memory", "stall_shared", "stall_barrier", "stall_wgmma", "stall_math", "stall_wait", "stall_code", "stall_queue", "stall_other"};

/* Splits a line of quoted values in place; "" inside is a quote. Returns their number; -1: it is no such line. */
static int split(char *line, char **field, int most)
{
    int count = 0;
    for (char *at = line;;) {
        if (*at != '"' || count == most) return -1;
        char *to = ++at;
        field[count++] = to;
        for (; *at && !(*at == '"' && at[1] != '"'); at++) {
            if (*at == '"') at++;
            *to++ = *at;
        }
        if (!*at) return -1;
        const char next = *++at;
        *to = '\0';
        if (next == '\0' || next == '\r') return count;
        if (next != ',') return -1;
        at++;
    }
}

/* "5,730.5"; NaN: no number. */
static double number(const char *text)
{
    char plain[40], *end;
    size_t size = 0;
    for (; *text; text++) {
        if (*text == ',') continue;
        if (size + 1 == sizeof plain || !(isdigit((unsigned char)*text) || strchr("+-.eE", *text))) return NAN;
        plain[size++] = *text;
    }
    plain[size] = '\0';
    const double value = strtod(plain, &end);
    return size > 0 && *end == '\0' ? value : NAN;
}

/* The factor from this unit to bytes or microseconds; NaN: not known. */
static double scale_of(unit_kind kind, const char *unit)
{
    static const struct { const char *unit; double scale; } bytes[] = {
        {"byte", 1}, {"Kbyte", 1e3}, {"Mbyte", 1e6}, {"Gbyte", 1e9},
    }, times[] = {{"ns", 1e-3}, {"nsecond", 1e-3}, {"us", 1}, {"usecond", 1}, {"ms", 1e3}, {"msecond", 1e3}, {"s", 1e6}, {"second", 1e6}};
    if (kind == PLAIN) return 1;
    if (kind == SECTORS) return strcmp(unit, "sector") == 0 || !*unit ? 32 : strcmp(unit, "Ksector") == 0 ? 32e3 : NAN;
    for (size_t i = 0; kind == BYTES && i < GS_COUNT(bytes); i++)
        if (strcmp(unit, bytes[i].unit) == 0) return bytes[i].scale;
    for (size_t i = 0; kind == TIME && i < GS_COUNT(times); i++)
        if (strcmp(unit, times[i].unit) == 0) return times[i].scale;
    return NAN;
}

/* The stall reason in a name like "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio". false: another metric, or one that is part of another (not_issued). */
static bool stall_of(const char *metric, char *out, size_t size)
{
    static const char before[] = "issue_stalled_", behind[] = "_per_";
    const char *const from = strstr(metric, before);
    if (!from || strncmp(metric, "smsp__average_warp", 18) != 0 || strstr(metric, "not_issued") || strlen(metric) < 6 || strcmp(metric + strlen(metric) - 6, ".ratio") != 0) return false;
    const char *const name = from + strlen(before), *const end = strstr(name, behind);
    const size_t length = end ? (size_t)(end - name) : strcspn(name, ".");
    if (length == 0 || length >= size) return false;
    memcpy(out, name, length);
    out[length] = '\0';
    return true;
}

static void add_stalls(gs_text *out, char *const *names, char *const *values, int count)
{
    char kinds[STALLS][32];
    double share[GS_COUNT(stall_names)] = {0}, total = 0;
    int seen = 0;
    for (int i = 0; i < count && seen < STALLS; i++) {
        char what[32];
        const double value = number(values[i]);
        bool again = false;
        if (!stall_of(names[i], what, sizeof what) || !(value >= 0) || !isfinite(value)) continue;
        for (int k = 0; k < seen; k++) again = again || strcmp(kinds[k], what) == 0;
        if (again) continue;
        memcpy(kinds[seen++], what, sizeof what);
        const char *ours = "stall_other";
        for (size_t k = 0; k < GS_COUNT(stalls); k++)
            if (strcmp(stalls[k].stall, what) == 0) ours = stalls[k].name;
        for (size_t k = 0; k < GS_COUNT(stall_names); k++)
            if (strcmp(stall_names[k], ours) == 0) share[k] += value;
        total += value;
    }
    for (size_t k = 0; total > 0 && k < GS_COUNT(stall_names); k++) gs_metric_add(out, stall_names[k], 100 * share[k] / total);
}

static void add_known(gs_text *out, char *const *names, char *const *units, char *const *values, int count)
{
    for (size_t k = 0; k < GS_COUNT(known); k++)
        for (int i = 0; i < count; i++) {
            if (strcmp(names[i], known[k].metric) != 0) continue;
            const double value = number(values[i]) * scale_of(known[k].kind, units[i]);
            if (value >= 0) gs_metric_add(out, known[k].name, value);
            break;
        }
}

/* The table of a page: its first line has the names, its second the units, its last the kernel. */
static gs_status read_table(char *text, char **fields, gs_text *out, gs_error *error)
{
    char **const names = fields, **const units = fields + COLUMNS, **const values = fields + 2 * COLUMNS;
    int count = 0, lines = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        if (*line != '"') continue;
        char **const into = count == 0 ? names : lines == 1 ? units : values;
        const int got = split(line, into, COLUMNS);
        if (count == 0) {
            for (int i = 0; i < got; i++)
                if (strcmp(names[i], "Kernel Name") == 0) count = got;
            lines = count > 0;
        } else if (got == count) {
            lines++;
        } else {
            return gs_fail(error, GS_ERROR_PARSE, "ncu", "a line of %d values under %d names", got, count);
        }
    }
    if (lines < 3) return gs_fail(error, GS_ERROR_PARSE, "ncu", "no kernel was profiled");
    add_known(out, names, units, values, count);
    add_stalls(out, names, values, count);
    return GS_OK;
}

gs_status gs_metrics_read_ncu(const char *csv, gs_text *out, gs_error *error)
{
    char *const text = strdup(csv), **const fields = calloc(3 * COLUMNS, sizeof *fields);
    const gs_status status = text && fields ? read_table(text, fields, out, error) : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for metrics");
    free(fields);
    free(text);
    return status;
}
