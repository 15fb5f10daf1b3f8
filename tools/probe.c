/* SPDX-License-Identifier: MIT
 * Microbenchmarks of the hardware, one small kernel (probe.cu) per question: the cost of a launch, when the first data
 * arrive, the bandwidth into a multiprocessor, from L2 to a GPC and between the blocks of a cluster, the latency of a ticket (an atomic counter), where
 * blocks are placed, and the cost of instruction fetch. docs/performance/grid and docs/internals/time-model.md give these quantities.
 *
 *     probe [--device cuda:0] [--quick] > ROWS.csv
 *
 * Rows are "probe,parameter,value,unit,min,max": the median of 21 launches, the least and the greatest; where each block gives a value,
 * over all blocks. A probe that the device does not support prints "probe,parameter,not supported by this device". --quick: three launches
 * with little data each, as a test. On an emulated device clocks count instructions: nothing is measured. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "bench/stats.h"
#include "loaded/loaded.h"

enum {
    REPEATS = 21, QUICK_REPEATS = 3,
    LAUNCHES = 1000, QUICK_LAUNCHES = 4,   /* in a graph */
    MOST_BLOCKS = 256,
    CODE = 1024,                           /* instructions of gs_probe_code */
    OUT_BYTES = 8 * (4 * MOST_BLOCKS + 32),
};

#define ONE_SM (128u << 10)   /* shared memory with which a block has its multiprocessor to itself */

extern const gs_embedded gs_embedded_probe[];   /* probe.cu */

typedef struct bench {
    gs_device *device;
    gs_module  module;     /* NULL: the device cannot load it */
    gs_queue   queue;
    gs_event   start, end;
    gs_pointer from, out;
    size_t     used;       /* bytes of from that were read already */
    double     mhz;        /* cycles per us, from the first probe */
    int        repeats;
    bool       quick;
} bench;

typedef uint64_t words[2];   /* written by a block */

/* The meaning of a block's two words, and the value computed from them. */
typedef enum meaning {
    NOTHING,                      /* the launch itself is timed, with events */
    CYCLES_AND_NS, CYCLES,        /* MHz; us */
    CYCLES_AND_BYTES,             /* bytes per clock */
    NUMBER,                       /* the first word itself */
    FIRST_PASS, SECOND_PASS       /* cycles per instruction, of the first or second pass */
} meaning;

typedef struct probe {
    const char *name, *what, *unit, *entry;
    meaning     means;
    uint32_t    blocks;                    /* 0: one per multiprocessor */
    uint32_t    threads, cluster, smem;
    uint32_t    size, count, group;        /* kernel arguments; group 0: all blocks */
    uint32_t    quick_size, quick_count;   /* for --quick; 0: the same */
    bool        together;                  /* one value for all blocks, from the slowest: clocks of different multiprocessors cannot be compared, but blocks start together */
    bool        cold;                      /* each block reads `size` bytes that were not read before */
    bool        rows;                      /* a row per block */
} probe;

/* ---- the probes; the clock is first because others need it ---- */

#define CLOCK    .name = "clock", .unit = "MHz", .entry = "gs_probe_clock", .means = CYCLES_AND_NS, .threads = 32, .count = 5000000, \
                 .quick_count = 2000
#define LAUNCH   .name = "launch", .unit = "us", .entry = "gs_probe_empty", .threads = 32
#define FIRST    .name = "first-data", .unit = "us", .entry = "gs_probe_first", .means = CYCLES, .threads = 32, .size = 4096, .cold = true
#define RATE     .unit = "bytes/clock", .means = CYCLES_AND_BYTES
#define COPIES   RATE, .entry = "gs_probe_copies", .threads = 32, .smem = ONE_SM, .size = 16384, .count = 272, .quick_size = 1024, .quick_count = 24
#define PORT     .name = "port", COPIES
#define GPC      .name = "gpc", COPIES, .together = true
#define EXCHANGE .name = "exchange", RATE, .entry = "gs_probe_exchange", .threads = 256, .cluster = 2, .smem = ONE_SM
#define TICKET   .name = "ticket", .unit = "us", .entry = "gs_probe_ticket", .means = CYCLES, .threads = 32, .together = true
#define PLACE    .name = "place", .unit = "sm", .entry = "gs_probe_place", .means = NUMBER, .threads = 32, .smem = ONE_SM, .count = 50000, \
                 .quick_count = 200, .rows = true
#define STRAIGHT .name = "code", .unit = "cycles/instruction", .entry = "gs_probe_code", .threads = 32

static const probe probes[] = {
    {CLOCK, .blocks = 1},
    {LAUNCH, .blocks = 1},
    {LAUNCH},
    {FIRST, .blocks = 1},
    {FIRST, .blocks = 16},
    {FIRST, .blocks = 128},
    {PORT, .blocks = 1},
    {PORT, .what = "the same data"},
    {GPC, .what = "data of their own", .group = 1},
    {GPC, .what = "16 share their data", .group = 16},
    {EXCHANGE, .what = "32 KB", .blocks = 2, .size = 32768},
    {EXCHANGE, .what = "128 KB", .blocks = 2, .size = 131072},
    {EXCHANGE, .what = "32 KB", .size = 32768},
    {TICKET, .blocks = 4},
    {PLACE},
    {PLACE, .what = "of clusters of two", .cluster = 2},
    {STRAIGHT, .what = "first pass", .means = FIRST_PASS, .blocks = 1},
    {STRAIGHT, .what = "second pass", .means = SECOND_PASS, .blocks = 1},
};

static int blocks_of(const bench *b, const probe *p)
{
    const int cluster = GS_MAX((int)p->cluster, 1), all = GS_MIN(b->device->caps.sms, MOST_BLOCKS);
    return p->blocks ? (int)p->blocks : all / cluster * cluster;
}

/* ---- running ---- */

static double value_of(const bench *b, meaning means, uint64_t first, uint64_t second)
{
    switch (means) {
    case CYCLES_AND_NS:    return (double)first / (double)second * 1e3;
    case CYCLES:           return (double)first / b->mhz;
    case CYCLES_AND_BYTES: return (double)second / (double)first;
    case FIRST_PASS:       return (double)first / CODE;
    case SECOND_PASS:      return (double)second / CODE;
    default:               return (double)first;
    }
}

/* The values of one launch; returns their number. */
static int values_of(const bench *b, const probe *p, const words *out, int blocks, double *to)
{
    uint64_t slowest = 0, sum = 0;
    for (int i = 0; i < blocks; i++) {
        slowest = GS_MAX(slowest, out[i][0]);
        sum += out[i][1];
        if (!p->together) to[i] = value_of(b, p->means, out[i][0], out[i][1]);
    }
    if (p->together) to[0] = value_of(b, p->means, slowest, sum);
    return p->together ? 1 : blocks;
}

static gs_status find_entry(const bench *b, const probe *p, gs_launch *launch, gs_error *error)
{
    const gs_device_ops *const ops = b->device->ops;
    const uint32_t cluster = GS_MAX(p->cluster, 1u);
    if (!b->module || (cluster > 1 && b->device->caps.cc < 90) || (int)p->smem > b->device->caps.smem_block) return GS_ERROR_UNSUPPORTED;
    *launch = (gs_launch){.grid = {(uint32_t)blocks_of(b, p), 1, 1}, .block = {p->threads, 1, 1}, .cluster = {cluster, 1, 1}, .smem = p->smem};
    GS_TRY(ops->function(b->device, b->module, p->entry, &launch->function, NULL, error));
    return ops->function_smem(b->device, launch->function, p->smem, cluster, error);
}

/* One launch; out: what its blocks wrote. */
static gs_status launch_once(bench *b, const probe *p, gs_launch *launch, words *out, gs_error *error)
{
    const gs_device_ops *const ops = b->device->ops;
    gs_pointer from = b->from + (p->cold ? b->used : 0);
    uint32_t size = b->quick && p->quick_size ? p->quick_size : p->size, count = b->quick && p->quick_count ? p->quick_count : p->count;
    uint32_t group = p->group ? p->group : launch->grid[0];
    void *params[] = {&from, &b->out, &size, &count, &group};
    launch->params = params;
    if (p->cold) b->used += (size_t)launch->grid[0] * size;
    GS_TRY(ops->fill(b->device, b->out, 0, OUT_BYTES, b->queue, error));
    GS_TRY(ops->launch(b->device, launch, b->queue, error));
    GS_TRY(ops->queue_wait(b->device, b->queue, error));
    return ops->copy_out(b->device, out, b->out, launch->grid[0] * sizeof *out, error);
}

/* values: *each per launch. */
static gs_status run_cycles(bench *b, const probe *p, gs_launch *launch, double *values, int *each, gs_error *error)
{
    static words out[MOST_BLOCKS];
    for (int i = 0; i < b->repeats; i++) {
        GS_TRY(launch_once(b, p, launch, out, error));
        *each = values_of(b, p, (const words *)out, (int)launch->grid[0], values + i * *each);
    }
    return GS_OK;
}

static gs_status capture(bench *b, gs_launch *launch, int launches, gs_graph *graph, gs_error *error)
{
    const gs_device_ops *const ops = b->device->ops;
    uint32_t none = 0;
    void *params[] = {&b->from, &b->out, &none, &none, &none};
    launch->params = params;
    GS_TRY(ops->capture_begin(b->device, b->queue, error));
    gs_status status = GS_OK;
    for (int i = 0; i < launches && status == GS_OK; i++) status = ops->launch(b->device, launch, b->queue, error);
    const gs_status ended = ops->capture_end(b->device, b->queue, graph, status == GS_OK ? error : NULL);
    return status == GS_OK ? ended : status;
}

/* Times launches back to back in a graph, so that the host's speed does not matter. */
static gs_status run_launches(bench *b, gs_launch *launch, double *values, gs_error *error)
{
    const gs_device_ops *const ops = b->device->ops;
    const int launches = b->quick ? QUICK_LAUNCHES : LAUNCHES;
    gs_graph graph = NULL;
    gs_status status = capture(b, launch, launches, &graph, error);
    for (int i = 0; i < b->repeats && status == GS_OK; i++) {
        status = ops->event_record(b->device, b->start, b->queue, error);
        if (status == GS_OK) status = ops->graph_launch(b->device, graph, b->queue, error);
        if (status == GS_OK) status = ops->event_record(b->device, b->end, b->queue, error);
        if (status == GS_OK) status = ops->event_us(b->device, b->start, b->end, &values[i], error);
        values[i] /= launches;
    }
    if (graph) ops->graph_destroy(b->device, graph);
    return status;
}

/* ---- rows ---- */

/* "gpc,132 blocks 16 share their data,", "place,block7 of clusters of two,". block: for rows per block. */
static void print_head(const bench *b, const probe *p, int block)
{
    const int blocks = blocks_of(b, p);
    if (p->rows) printf("%s,block%d", p->name, block);
    else printf("%s,%d block%s", p->name, blocks, blocks == 1 ? "" : "s");
    printf("%s%s,", p->what ? " " : "", p->what ? p->what : "");
}

static double print_row(const bench *b, const probe *p, int block, double *values, int count)
{
    double least = INFINITY, greatest = 0;
    for (int i = 0; i < count; i++) {
        least = fmin(least, values[i]);
        greatest = fmax(greatest, values[i]);
    }
    const double median = gs_median(values, count);
    print_head(b, p, block);
    printf("%.6g,%s,%.6g,%.6g\n", median, p->unit, least, greatest);
    return median;
}

/* values: `each` per launch. */
static void print_blocks(const bench *b, const probe *p, const double *values, int each)
{
    double own[REPEATS];
    for (int i = 0; i < each; i++) {
        for (int j = 0; j < b->repeats; j++) own[j] = values[j * each + i];
        print_row(b, p, i, own, b->repeats);
    }
}

/* An unsupported probe gives a row, not an error. */
static gs_status run_probe(bench *b, const probe *p, gs_error *error)
{
    static double values[REPEATS * MOST_BLOCKS];
    gs_launch launch = {0};
    int each = 1;
    gs_status status = find_entry(b, p, &launch, error);
    if (status == GS_OK) status = p->means ? run_cycles(b, p, &launch, values, &each, error) : run_launches(b, &launch, values, error);
    if (status == GS_ERROR_UNSUPPORTED || status == GS_ERROR_NOT_FOUND) {
        print_head(b, p, 0);
        puts("not supported by this device");
    } else if (status != GS_OK) {
        return status;
    } else if (p->rows) {
        print_blocks(b, p, values, each);
    } else {
        const double median = print_row(b, p, 0, values, each * b->repeats);
        if (p->means == CYCLES_AND_NS) b->mhz = median;
    }
    fflush(stdout);
    return GS_OK;
}

/* ---- the device ---- */

static gs_status load(bench *b, gs_error *error)
{
    static gs_kernel kernel;
    gs_kernel_source source;
    gs_image image = {0};
    kernel.name = gs_embedded_probe[0].name;
    kernel.source = gs_embedded_probe[0].text;
    gs_kernel_to_source(&kernel, &source);
    gs_status status = b->device->ops->compile(b->device, &source.source, &image, error);
    if (status == GS_OK) status = b->device->ops->load(b->device, &image, &b->module, error);
    gs_image_free(&image);
    return status == GS_ERROR_UNSUPPORTED ? GS_OK : status;
}

/* Allocates four times the size of L2 to read from: filling it evicts its beginning from L2. */
static gs_status prepare(bench *b, gs_error *error)
{
    const gs_device_ops *const ops = b->device->ops;
    const size_t bytes = b->quick ? (size_t)4 << 20 : GS_MAX((size_t)b->device->caps.l2_bytes * 4, (size_t)64 << 20) / 4 * 4;
    GS_TRY(load(b, error));
    GS_TRY(ops->queue_create(b->device, &b->queue, error));
    GS_TRY(ops->event_create(b->device, &b->start, error));
    GS_TRY(ops->event_create(b->device, &b->end, error));
    GS_TRY(ops->alloc(b->device, OUT_BYTES, &b->out, error));
    GS_TRY(ops->alloc(b->device, bytes, &b->from, error));
    return ops->fill(b->device, b->from, 0x3c003c00, bytes, b->queue, error);
}

static void release(bench *b)
{
    const gs_device_ops *const ops = b->device->ops;
    if (b->from) ops->free(b->device, b->from);
    if (b->out) ops->free(b->device, b->out);
    if (b->end) ops->event_destroy(b->device, b->end);
    if (b->start) ops->event_destroy(b->device, b->start);
    if (b->queue) ops->queue_destroy(b->device, b->queue);
    if (b->module) ops->unload(b->device, b->module);
    gs_device_close(&b->device);
}

static gs_status run(const char *name, bool quick, gs_error *error)
{
    bench b = {.quick = quick, .repeats = quick ? QUICK_REPEATS : REPEATS};
    GS_TRY(gs_device_open(&b.device, name, NULL, error));
    b.mhz = b.device->caps.clock_mhz;
    if (b.device->caps.emulated) fprintf(stderr, "%s is emulated: nothing is measured\n", b.device->name);
    gs_status status = prepare(&b, error);
    if (status == GS_OK) puts("probe,parameter,value,unit,min,max");
    for (size_t i = 0; i < GS_COUNT(probes) && status == GS_OK; i++) status = run_probe(&b, &probes[i], error);
    release(&b);
    return status;
}

int main(int argc, char **argv)
{
    const char *device = gs_device_gpu();
    bool quick = false, usage = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) quick = true;
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) device = argv[++i];
        else usage = true;
    }
    if (usage) {
        fprintf(stderr, "usage: probe [--device cuda:N|emu:h200] [--quick]\n");
        return 2;
    }
    gs_error error = {0};
    char text[512];
    if (run(device, quick, &error) == GS_OK) return 0;
    fprintf(stderr, "%s\n", gs_error_format(&error, text, sizeof text));
    return 1;
}
