/* SPDX-License-Identifier: MIT
 * Opening and closing an emulated device: options in its name, memory, clocks, findings. */
#include "emu/emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "device/cache.h"

#define MOST_THREADS 1024

/* ---- names and options ---- */

typedef struct options {
    int64_t seed, check, threads, order, native;
} options;

/* legend: name, largest value, destination, meaning */
static const struct option {
    const char *name;
    int64_t     most;
    size_t      at;
    const char *variable;
} known[] = {
    {"seed",    INT64_MAX,    offsetof(options, seed),    "GEMMSMITH_EMU_SEED"},
    {"check",   1,            offsetof(options, check),   "GEMMSMITH_EMU_CHECK"},
    {"threads", MOST_THREADS, offsetof(options, threads), NULL},
    {"order",   1,            offsetof(options, order),   NULL},
    {"native",  1,            offsetof(options, native),  NULL},
};

static gs_status read_number(gs_scan *scan, const struct option *option, const char *field, int column, options *out, gs_error *error)
{
    int64_t value;
    if (!gs_scan_int(scan, &value) || value < 0 || value > option->most)
        return gs_fail_at(error, GS_ERROR_PARSE, column, field, "%s must be a whole number from 0 to %lld", option->name,
                          (long long)option->most);
    memcpy((char *)out + option->at, &value, sizeof value);
    return GS_OK;
}

static gs_status read_environment(options *out, gs_error *error)
{
    for (size_t i = 0; i < GS_COUNT(known); i++) {
        const char *const text = known[i].variable ? getenv(known[i].variable) : NULL;
        if (!text || !*text) continue;
        gs_scan scan = gs_scan_from(text);
        GS_TRY(read_number(&scan, &known[i], known[i].variable, 0, out, error));
        if (!gs_scan_end(&scan)) return gs_fail(error, GS_ERROR_PARSE, known[i].variable, "\"%.64s\" is no number", text);
    }
    return GS_OK;
}

/* Columns are counted from the beginning of the whole name, including "emu:". */
static int column_of(const gs_scan *scan) { return gs_scan_column(scan) + (int)sizeof "emu:" - 1; }

static gs_status read_option(gs_scan *scan, uint32_t *seen, options *out, gs_error *error)
{
    const int column = column_of(scan);
    for (size_t i = 0; i < GS_COUNT(known); i++) {
        if (!gs_scan_take(scan, known[i].name)) continue;
        if (!gs_scan_take(scan, "=")) return gs_fail_at(error, GS_ERROR_PARSE, column_of(scan), "device", "expected '='");
        if (*seen >> i & 1) return gs_fail_at(error, GS_ERROR_PARSE, column, "device", "%s stands there twice", known[i].name);
        *seen |= 1u << i;
        return read_number(scan, &known[i], "device", column_of(scan), out, error);
    }
    return gs_fail_at(error, GS_ERROR_PARSE, column, "device", "expected seed=, check=, threads=, order= or native=");
}

static gs_status find_profile(gs_scan *scan, const gs_profile **out, gs_error *error)
{
    char name[32] = "", names[128] = "";
    gs_scan_word(scan, name, sizeof name);
    *out = *name ? gs_profile_find(name) : NULL;
    if (*out) return GS_OK;
    size_t used = 0;
    for (int i = 0; gs_profile_name(i) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%semu:%s", i ? ", " : "", gs_profile_name(i));
    return gs_fail(error, *name ? GS_ERROR_NO_DEVICE : GS_ERROR_PARSE, "device", "\"emu:%.32s\" names no emulated device; there are %s", name, names);
}

static gs_status read_name(const char *rest, const gs_profile **profile, options *out, gs_error *error)
{
    gs_scan scan = gs_scan_from(rest);
    uint32_t seen = 0;
    *out = (options){.seed = 1, .check = 1, .native = 1};
    GS_TRY(find_profile(&scan, profile, error));
    GS_TRY(read_environment(out, error));
    while (gs_scan_take(&scan, ",")) GS_TRY(read_option(&scan, &seen, out, error));
    if (!gs_scan_end(&scan)) return gs_fail_at(error, GS_ERROR_PARSE, column_of(&scan), "device", "expected ',' or the end of the name");
    return GS_OK;
}

/* ---- memory ---- */

/* The device's memory, but at most half of this machine's. */
static size_t choose_capacity(size_t of_device)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0) return GS_MIN(of_device, (size_t)1 << 30);
    return GS_MIN(of_device, (size_t)pages / 2 * (size_t)size);
}

static gs_status device_alloc(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    *out = 0;
    if (bytes == 0) return GS_OK;
    pthread_mutex_lock(&emu->lock);
    const gs_status status = gs_emu_memory_alloc(emu->memory, bytes, out, error);
    pthread_mutex_unlock(&emu->lock);
    return status;
}

static void device_free(gs_device *device, gs_pointer pointer)
{
    gs_emu_device *const emu = gs_emu_of(device);
    if (!pointer) return;
    pthread_mutex_lock(&emu->lock);
    gs_emu_memory_free(emu->memory, pointer);
    pthread_mutex_unlock(&emu->lock);
}

static gs_status copy_in(gs_device *device, gs_pointer to, const void *from, size_t bytes, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    if (bytes == 0) return GS_OK;
    pthread_mutex_lock(&emu->lock);
    gs_emu_memory_settle(emu->memory);   /* before the copy, all pending writes must be in memory */
    const gs_emu_allocation *const a = gs_emu_memory_find(emu->memory, to, bytes);
    if (a) {
        memcpy(a->bytes + (to - a->address), from, bytes);
        gs_emu_memory_mark(a, to, bytes);
    }
    const gs_status status = a ? GS_OK : gs_emu_outside(emu, to, bytes, "copy in", error);
    pthread_mutex_unlock(&emu->lock);
    return status;
}

static gs_status copy_out(gs_device *device, void *to, gs_pointer from, size_t bytes, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    if (bytes == 0) return GS_OK;
    pthread_mutex_lock(&emu->lock);
    gs_emu_memory_settle(emu->memory);
    const uint8_t *const at = gs_emu_memory_at(emu->memory, from, bytes);
    if (at) memcpy(to, at, bytes);
    const gs_status status = at ? GS_OK : gs_emu_outside(emu, from, bytes, "copy out", error);
    pthread_mutex_unlock(&emu->lock);
    return status;
}

static void *host(gs_device *device, gs_pointer at, size_t bytes, bool writes, gs_queue queue)
{
    gs_emu_device *const emu = gs_emu_of(device);
    uint8_t *found = NULL;
    if (!emu->native) return NULL;
    pthread_mutex_lock(&emu->lock);
    const gs_emu_queue *const on = gs_emu_queue_find(emu, queue);
    gs_emu_memory_settle(emu->memory);
    const gs_emu_allocation *const a = on && !on->capturing ? gs_emu_memory_find(emu->memory, at, bytes) : NULL;
    if (a) {
        found = a->bytes + (at - a->address);
        if (writes) gs_emu_memory_mark(a, at, bytes);
    }
    pthread_mutex_unlock(&emu->lock);
    return found;
}

static gs_status fill(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error)
{
    gs_emu_device *const emu = gs_emu_of(device);
    if (bytes % 4 != 0) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "a fill of %zu bytes: the size must be a multiple of 4", bytes);
    if (bytes == 0) return GS_OK;
    return gs_emu_work_submit(emu, queue, &(gs_emu_work){.to = to, .pattern = pattern, .bytes = bytes}, error);
}

static gs_status memory_info(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error)
{
    const gs_emu_device *const emu = gs_emu_of(device);
    (void)error;
    *total_bytes = emu->capacity;
    *free_bytes = emu->capacity - GS_MIN((size_t)gs_emu_memory_used(emu->memory), emu->capacity);
    return GS_OK;
}

/* ---- code, clocks, findings ---- */

static gs_status compile(gs_device *device, const gs_source *source, gs_image *out, gs_error *error)
{
    gs_source with = *source;
    with.ptx = true;
    return gs_compile_cached(device->caps.target, ((gs_emu_handle *)device)->cache, &with, out, error);
}

static gs_status clocks(gs_device *device, gs_clocks *out, gs_error *error)
{
    (void)error;
    *out = (gs_clocks){.sm_mhz = (int)device->caps.clock_mhz};
    return GS_OK;
}

int gs_emu_findings(gs_device *device, const gs_emu_finding **out)
{
    *out = gs_emu_of(device)->finding;
    return gs_emu_of(device)->findings;
}

void gs_emu_findings_clear(gs_device *device) { gs_emu_of(device)->findings = 0; }

/* ---- opening and closing ---- */

/* The open machines, and the lock for the list. */
static pthread_mutex_t  machines_lock = PTHREAD_MUTEX_INITIALIZER;
static gs_emu_device   *machines;

static void destroy(gs_emu_device *emu)
{
    gs_emu_memory_destroy(&emu->memory);
    free(emu->finding);
    pthread_mutex_destroy(&emu->lock);
    free(emu);
}

static void leave(gs_emu_device *emu)
{
    pthread_mutex_lock(&machines_lock);
    if (--emu->users == 0) {
        gs_emu_device **at = &machines;
        while (*at != emu) at = &(*at)->next;
        *at = emu->next;
        destroy(emu);
    }
    pthread_mutex_unlock(&machines_lock);
}

static void close_device(gs_device *device)
{
    leave(gs_emu_of(device));
    free(device);
}

static const gs_device_ops ops = {
    .close = close_device,
    .alloc = device_alloc,
    .free = device_free,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .host = host,
    .fill = fill,
    .memory_info = memory_info,
    .compile = compile,
    .load = gs_emu_load,
    .unload = gs_emu_unload,
    .function = gs_emu_function_get,
    .function_smem = gs_emu_function_smem,
    .max_clusters = gs_emu_max_clusters,
    .tensor_map = gs_emu_tensor_map,
    .launch = gs_emu_launch_put,
    .queue_create = gs_emu_queue_create,
    .queue_destroy = gs_emu_queue_destroy,
    .queue_wait = gs_emu_queue_wait,
    .event_create = gs_emu_event_create,
    .event_destroy = gs_emu_event_destroy,
    .event_record = gs_emu_event_record,
    .event_us = gs_emu_event_us,
    .untrusted = gs_emu_untrusted,
    .capturing = gs_emu_capturing,
    .capture_begin = gs_emu_capture_begin,
    .capture_end = gs_emu_capture_end,
    .capture_keep = gs_emu_capture_keep,
    .capture_node = gs_emu_capture_node,
    .capture_free = gs_emu_capture_free,
    .graph_launch = gs_emu_graph_launch,
    .graph_change = gs_emu_graph_change,
    .graph_destroy = gs_emu_graph_destroy,
    .clocks = clocks,
};

static void make_caps(gs_emu_device *emu, const char *rest)
{
    gs_caps *const caps = &emu->caps;
    *caps = emu->profile->caps;
    caps->emulated = true;
    caps->uuid[0] = '\0';
    caps->driver = 0;
    caps->memory_bytes = emu->capacity;
    snprintf(caps->name, sizeof caps->name, "emulated %.80s", emu->profile->caps.name);
    snprintf(caps->slug, sizeof caps->slug, GS_EMULATED_SLUG "%.*s", (int)GS_MIN(strcspn(rest, ","), 32u), rest);
}

static gs_status create(gs_emu_device **out, const char *rest, const gs_profile *profile, const options *asked, gs_error *error)
{
    gs_emu_device *const emu = calloc(1, sizeof *emu);
    if (!emu) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the device's state");
    pthread_mutex_init(&emu->lock, NULL);
    emu->profile = profile;
    emu->seed = (uint64_t)asked->seed;
    emu->check = asked->check != 0;
    emu->threads = (int)asked->threads;
    emu->order = asked->order != 0;
    emu->native = asked->native != 0;
    emu->capacity = choose_capacity(profile->caps.memory_bytes);
    snprintf(emu->name, sizeof emu->name, "emu:%s", rest);
    make_caps(emu, rest);
    emu->finding = calloc(GS_EMU_KEPT, sizeof *emu->finding);
    const gs_status status = emu->finding ? gs_emu_memory_create(&emu->memory, emu->capacity, emu->check, error)
                                          : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the device's findings");
    if (status == GS_OK) gs_emu_memory_scatter(emu->memory, emu->seed);
    if (status == GS_OK) *out = emu;
    else destroy(emu);
    return status;
}

/* Finds the machine with this profile and these options, or creates it. */
static gs_status enter(gs_emu_device **out, const char *rest, const gs_profile *profile, const options *asked, gs_error *error)
{
    gs_status status = GS_OK;
    pthread_mutex_lock(&machines_lock);
    gs_emu_device *emu = machines;
    while (emu && (emu->profile != profile || emu->seed != (uint64_t)asked->seed || emu->check != (asked->check != 0) ||
                   emu->threads != (int)asked->threads || emu->order != (asked->order != 0) || emu->native != (asked->native != 0)))
        emu = emu->next;
    if (!emu && (status = create(&emu, rest, profile, asked, error)) == GS_OK) {
        emu->next = machines;
        machines = emu;
    }
    if (status == GS_OK) emu->users++;
    pthread_mutex_unlock(&machines_lock);
    *out = emu;
    return status;
}

gs_status gs_emu_open(gs_device **out, const char *rest, const char *cache, gs_error *error)
{
    const gs_profile *profile;
    options asked;
    *out = NULL;
    GS_TRY(read_name(rest, &profile, &asked, error));
    gs_emu_handle *const handle = calloc(1, sizeof *handle);
    if (!handle) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the device's state");
    gs_status status = GS_OK;
    if ((size_t)snprintf(handle->base.name, sizeof handle->base.name, "emu:%s", rest) >= sizeof handle->base.name)
        status = gs_fail(error, GS_ERROR_PARSE, "device", "a name of more than %zu characters", sizeof handle->base.name - 1);
    if (status == GS_OK) status = enter(&handle->emu, rest, profile, &asked, error);
    if (status != GS_OK) {
        free(handle);
        return status;
    }
    gs_cache_choose(handle->cache, cache);
    handle->base.ops = &ops;
    handle->base.caps = handle->emu->caps;
    *out = &handle->base;
    return GS_OK;
}
