/* SPDX-License-Identifier: MIT
 * gemmsmith info: what is available. gemmsmith doctor: whether it is enough, and what to do. Both work without a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/version.h"
#include "command.h"
#include "device/device.h"
#include "learn/weights.h"
#include "output.h"
#include "cublas/library.h"
#include "table/table.h"
#include "schedule/schedule.h"
#include "session.h"
#include "store/store.h"
#include "sandbox/restrict.h"

typedef struct settings {
    cli_common  common;
    const char *device;
    bool        json;
} settings;

static const cli_option info_options[] = {
    CLI_DEVICE_OPTIONS(settings),
    {"json", 0, CLI_FLAG, offsetof(settings, json), NULL, "one JSON object"},
    {NULL},
};

/* ---- info ---- */

typedef struct paths {
    char store[GS_PATH], cache[GS_PATH], tuned[GS_PATH];
} paths;

static void find_paths(paths *p)
{
    const char *const tuned = getenv("GEMMSMITH_TUNED"), *const store = getenv("GEMMSMITH_STORE");
    *p = (paths){0};
    if (store && *store)
        snprintf(p->store, sizeof p->store, "%s", store);
    else if (!gs_user_path(p->store, 'd', NULL, "store.db"))
        p->store[0] = '\0';
    if (!gs_user_path(p->cache, 'c', "GEMMSMITH_CACHE", NULL)) p->cache[0] = '\0';
    if (tuned && *tuned)
        snprintf(p->tuned, sizeof p->tuned, "%s", tuned);
    else if (!gs_user_path(p->tuned, 'd', NULL, "tuned"))
        p->tuned[0] = '\0';
}

/* Name of device `index`: only the one asked for, else the GPUs and then the emulated devices. false after the last. */
static bool name_device(const char *asked, int gpus, int index, char name[GS_DEVICE_NAME])
{
    if (asked) {
        snprintf(name, GS_DEVICE_NAME, "%s", asked);
        return index == 0;
    }
    if (index >= gpus) return gs_device_emulated(index - gpus, name) != NULL;
    snprintf(name, GS_DEVICE_NAME, "cuda:%d", index);
    return true;
}

static bool device_json(gs_json *json, const char *name)
{
    gs_device *device;
    gs_error error;
    const gs_status status = gs_device_open(&device, name, "", &error);
    gs_json_begin(json, NULL, '{');
    gs_json_string(json, "device", name);
    gs_json_string(json, "status", gs_status_name(status));
    gs_json_string(json, "message", status == GS_OK ? "" : error.text);
    if (status == GS_OK) {
        gs_json_string(json, "name", device->caps.name);
        gs_json_string(json, "slug", device->caps.slug);
        gs_json_string(json, "uuid", device->caps.uuid);
        gs_json_string(json, "target", device->caps.target);
        gs_json_int(json, "sms", device->caps.sms);
        gs_json_int(json, "memory_bytes", (int64_t)device->caps.memory_bytes);
        gs_json_int(json, "driver", device->caps.driver);
        gs_json_bool(json, "emulated", device->caps.emulated);
        gs_device_close(&device);
    }
    gs_json_end(json, '}');
    return status == GS_OK;
}

static bool info_json(const paths *p, const char *asked, int count, const gs_error *why)
{
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    char name[GS_DEVICE_NAME];
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "version", gs_version());
    gs_json_int(&json, "nvrtc", gs_compiler_version(NULL));
    gs_json_int(&json, "cublaslt", gs_library_version(NULL));
    gs_json_begin(&json, "devices", '[');
    bool all = true;
    for (int i = 0; name_device(asked, count, i, name); i++) all &= device_json(&json, name);
    gs_json_end(&json, ']');
    gs_json_string(&json, "no_gpu", count > 0 ? NULL : why->text);
    gs_json_string(&json, "store", p->store);
    gs_json_string(&json, "cache", p->cache);
    gs_json_string(&json, "tuned", p->tuned);
    gs_json_begin(&json, "families", '[');
    for (int family = 0; family < GS_FAMILIES; family++) gs_json_string(&json, NULL, gs_family_name((gs_family_id)family));
    gs_json_end(&json, ']');
    gs_json_end(&json, '}');
    printf("%s\n", gs_text_string(&text));
    gs_text_free(&text);
    return all;
}

static bool print_device(const char *name)
{
    char driver[GS_CUDA_VERSION_TEXT];
    gs_device *device;
    gs_error error;
    if (gs_device_open(&device, name, "", &error) != GS_OK) {
        printf("%-10s %s\n", name, error.text);
        return false;
    }
    const gs_caps *const caps = &device->caps;
    printf("%-10s %s, %s, %d multiprocessors, %.1f GiB, ", name, caps->name, caps->target, caps->sms, (double)caps->memory_bytes / (1 << 30));
    if (caps->emulated) printf("times are predicted\n");
    else printf("driver CUDA %s\n", gs_format_cuda_version(caps->driver, driver));
    gs_device_close(&device);
    return true;
}

static void print_path(const char *label, const char *path)
{
    printf("%-10s %s%s\n", label, gs_store_is_server(path) ? "a PostgreSQL database" : *path ? path : "none: no home directory",
           *path && !gs_store_may_be(path) ? " (not there yet)" : "");
}

static int run_info(const cli_command *command, int argc, char **argv)
{
    settings s = {0};
    paths p;
    gs_error error = {0};
    char version[GS_CUDA_VERSION_TEXT];
    int words;
    const int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    find_paths(&p);
    const int count = gs_device_count(&error);
    if (s.json) {
        return info_json(&p, s.device, count, &error) || !s.device ? CLI_OK : CLI_NO_DEVICE;
    }
    char name[GS_DEVICE_NAME];
    bool all = true;
    printf("gemmsmith  %s\n", gs_version());
    if (count == 0 && !s.device) printf("GPU        none: %s\n", error.text);
    for (int i = 0; name_device(s.device, count, i, name); i++) all &= print_device(name);
    printf("NVRTC      %s\n", gs_format_cuda_version(gs_compiler_version(NULL), version));
    printf("cuBLASLt   %s\n", gs_format_library_version(gs_library_version(NULL), version));
    print_path("store", p.store);
    print_path("cache", p.cache);
    print_path("tuned", p.tuned);
    printf("families\n");
    for (int family = 0; family < GS_FAMILIES; family++)
        printf("  %-8s %s\n", gs_family_name((gs_family_id)family), gs_family_summary((gs_family_id)family));
    return all || !s.device ? CLI_OK : CLI_NO_DEVICE;   /* the requested device is missing */
}

const cli_command cli_info = {
    .name     = "info",
    .summary  = "show versions, devices and paths",
    .about    = "Without --device: every GPU and every emulated device.",
    .options  = info_options,
    .run      = run_info,
};

/* ---- doctor ---- */

typedef struct checkup {
    const char *name;              /* device name; NULL: the default */
    bool       json;
    bool       device, emulated, failed;
    gs_text    text;
    gs_json    out;
} checkup;

/* word: "ok", "missing", or "wrong" for something present but bad. advice: may be NULL if the message says enough. */
static void say(checkup *c, const char *word, const char *what, const char *found, const char *advice)
{
    const bool ok = strcmp(word, "ok") == 0;
    if (c->json) {
        gs_json_begin(&c->out, NULL, '{');
        gs_json_string(&c->out, "check", what);
        gs_json_bool(&c->out, "ok", ok);
        gs_json_string(&c->out, "found", found);
        gs_json_string(&c->out, "advice", advice);
        gs_json_end(&c->out, '}');
    } else {
        printf("%s%-7s%s %-9s %s%s%s\n", ok ? cli_green() : cli_red(), word, cli_plain(), what, found,
               advice ? "; " : "", advice ? advice : "");
    }
}

static void check(checkup *c, bool ok, const char *what, const char *found, const char *advice) { say(c, ok ? "ok" : "missing", what, found, advice); }

static void check_device(checkup *c)
{
    gs_device *device;
    gs_error error;
    char text[sizeof error.text];
    const gs_status status = gs_device_open(&device, c->name, "", &error);
    if (status != GS_OK) {
        check(c, false, "device", error.text, NULL);
        return;
    }
    gs_clocks clocks;
    snprintf(text, sizeof text, "%s, %s%s", device->caps.name, device->caps.target, device->caps.emulated ? "; times are predicted" : "");
    check(c, true, "device", text, NULL);
    c->device = true;
    c->emulated = device->caps.emulated;
    if (c->emulated) {
        gs_device_close(&device);
        return;
    }
    if (device->ops->clocks(device, &clocks, &error) == GS_OK)
        check(c, true, "NVML", "clocks can be read", NULL);
    else
        check(c, false, "NVML", error.text, "results will have no clock frequencies");
    gs_device_close(&device);
}

static void check_libraries(checkup *c)
{
    gs_error error;
    char version[GS_CUDA_VERSION_TEXT];
    const int nvrtc = gs_compiler_version(&error);
    if (nvrtc > 0)
        check(c, true, "NVRTC", gs_format_cuda_version(nvrtc, version), NULL);
    else
        check(c, false, "NVRTC", error.text, NULL);
    if (nvrtc <= 0) c->failed = true;
    if (c->emulated) return;   /* cannot use cuBLAS and does not need it */
    const int cublaslt = gs_library_version(&error);
    if (cublaslt > 0)
        check(c, true, "cuBLASLt", gs_format_library_version(cublaslt, version), NULL);
    else
        check(c, false, "cuBLASLt", error.text, "tune and eval compare with it");
}

/* Called before a device is opened, because it forks. */
static void check_sandbox(checkup *c, bool limits, bool filters, const gs_error *why)
{
    if (filters) check(c, true, "sandbox", "user kernels are compiled without files, network and processes", NULL);
    else check(c, false, "sandbox", limits ? "no filter of system calls (seccomp)" : why->text, limits ? "user kernels are compiled under limits of time and memory alone" : NULL);
}

static void check_files(checkup *c)
{
    char path[GS_PATH], found[GS_PATH + 512];
    gs_error error;
    gs_store *store;
    if (gs_user_path(path, 'c', "GEMMSMITH_CACHE", NULL) && gs_directory_make(path, &error) == GS_OK && access(path, W_OK) == 0)
        check(c, true, "cache", path, NULL);
    else
        check(c, false, "cache", "no directory that can be written",
              "kernels are compiled anew in every process: set GEMMSMITH_CACHE");
    const gs_status opened = gs_store_open_read(&store, NULL, &error);
    if (opened == GS_OK) {
        check(c, true, "store", gs_store_path(store), NULL);
        gs_store_close(&store);
    } else if (opened == GS_ERROR_NOT_FOUND) {
        snprintf(found, sizeof found, "%.400s; the first command that writes to it creates it", error.text);
        check(c, true, "store", found, NULL);
    } else {
        say(c, "wrong", "store", error.text, NULL);
        c->failed = true;
    }
    bool named;
    if (gs_weights_check_named(&named, &error) != GS_OK) {
        check(c, false, "weights", error.text, "write them with gemmsmith train, or name others");
        c->failed = true;
    } else if (named) {
        check(c, true, "weights", getenv("GEMMSMITH_WEIGHTS"), NULL);
    }
    gs_table *table = NULL;
    const char *const set = getenv("GEMMSMITH_TUNED");
    int skipped = 0;
    if (set && *set)
        snprintf(path, sizeof path, "%s", set);
    else if (!gs_user_path(path, 'd', NULL, "tuned"))
        path[0] = '\0';
    error = (gs_error){0};
    const gs_status status = gs_table_create(&table) == GS_OK && *path ? gs_table_load(table, path, NULL, &skipped, &error)
                                                                       : GS_ERROR_NOT_FOUND;
    if (status != GS_OK && set && *set) {   /* the library would refuse to open a device with this setting */
        snprintf(found, sizeof found, "GEMMSMITH_TUNED: %.300s", error.text);
        check(c, false, "tuned", found, "write it with gemmsmith tune or db export, or name another one");
        c->failed = true;
    } else if (status == GS_ERROR_NOT_FOUND) {
        check(c, true, "tuned", "this user has no table yet", NULL);
    } else if (status != GS_OK || skipped > 0) {
        const bool changed = status == GS_OK && skipped == 1 && error.status == GS_ERROR_CORRUPT, named_there = strncmp(error.text, path, strlen(path)) == 0;
        snprintf(found, sizeof found, "%s%s%.300s", named_there ? "" : path, named_there ? "" : ": ", error.text);
        say(c, "wrong", "tuned", found, changed ? "its rows are used" : "rows that cannot be read are skipped: write the table again with gemmsmith db export");
    } else {
        snprintf(found, sizeof found, "%s: %d row%s", path, gs_table_size(table), gs_table_size(table) == 1 ? "" : "s");
        check(c, true, "tuned", found, NULL);
    }
    gs_table_destroy(&table);
}

static int run_doctor(const cli_command *command, int argc, char **argv)
{
    settings s = {0};
    int words;
    const int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    checkup c = {.json = s.json, .name = s.device};
    gs_error why = {0};
    bool filters;
    const bool limits = gs_restrict_probe(&filters, &why) == GS_OK;
    c.out = gs_json_into(&c.text);
    gs_json_begin(&c.out, NULL, '{');
    gs_json_begin(&c.out, "checks", '[');
    check_device(&c);
    check_libraries(&c);
    check_sandbox(&c, limits, filters, &why);
    check_files(&c);
    gs_json_end(&c.out, ']');
    gs_json_bool(&c.out, "usable", c.device && !c.failed);
    gs_json_end(&c.out, '}');
    if (s.json) printf("%s\n", gs_text_string(&c.text));
    gs_text_free(&c.text);
    return !c.device ? CLI_NO_DEVICE : c.failed ? CLI_FAILED : CLI_OK;
}

const cli_command cli_doctor = {
    .name    = "doctor",
    .summary = "check what gemmsmith needs, and print what is missing",
    .about   = "One line per requirement. Exit code 3 if no device can be used, 1 if something else that is needed\nis missing.",
    .options = info_options,
    .run     = run_doctor,
};
