/* SPDX-License-Identifier: MIT
 * For tests of comparisons: a session with a worker that answers from a file, in a temporary folder that is the working directory and holds store, worker and requests.
 * Included after cmocka. */
#ifndef TESTS_COMPARING_H
#define TESTS_COMPARING_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/text.h"
#include "evaluate/session.h"
#include "schedule/profile.h"

#define OWN       "ws/128x256x64/s4/c2x1/coop/g8"
#define REFERENCE "cublaslt-autotuning"

/* Answers every request with bench.json; a request that contains a line of the file `dies` ends the process instead. */
static const char worker_script[] =
    "#!/bin/sh\n"
    "while IFS= read -r line; do\n"
    "    printf '%s\\n' \"$line\" >>requests\n"
    "    if [ -s dies ] && printf '%s\\n' \"$line\" | grep -qFf dies; then exit 9; fi\n"
    "    cat bench.json\n"
    "done\n";

typedef struct bench {
    char              folder[64];
    gs_device_session session;
} bench;

static inline void write_text(const char *path, const char *text)
{
    gs_error error = {0};
    if (gs_file_write(path, text, strlen(text), &error) != GS_OK) fail_msg("%s", error.text);
}

static inline const char *read_text(const char *path)
{
    static char *data;
    size_t size;
    free(data);
    data = NULL;
    return gs_file_read(path, 1 << 20, &data, &size, NULL) == GS_OK ? data : "";
}

static inline int lines_of(const char *path)
{
    int lines = 0;
    for (const char *at = read_text(path); *at; at++) lines += *at == '\n';
    return lines;
}

static inline int start(void **state)
{
    static bench b;
    const char *const temporary = getenv("TMPDIR");
    gs_error error = {0};
    b = (bench){.session = {.command = "test", .device = "nvidia-h200", .version = "0+1", .cublaslt = 130100, .nvrtc = 13000}};
    snprintf(b.folder, sizeof b.folder, "%.40s/gs-compare-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(b.folder) || chdir(b.folder) != 0) return -1;
    setenv("GEMMSMITH_WEIGHTS", "none", 1);
    gs_stop_requested = 0;
    write_text("worker", worker_script);
    if (chmod("worker", 0755) != 0) return -1;
    gs_worker_init(&b.session.worker, "cuda:0", "./worker");
    b.session.caps = *gs_caps_find("h200");
    snprintf(b.session.caps.name, sizeof b.session.caps.name, "NVIDIA H200");
    b.session.session = (gs_session){.command = b.session.command, .version = b.session.version, .commit = "c0", .device = b.session.device, .cc = 90, .sms = 132, .cublaslt = 130100};
    if (gs_store_open(&b.session.store, "store.db", &error) != GS_OK || gs_store_begin(b.session.store, &b.session.session, &error) != GS_OK) return -1;
    *state = &b;
    return 0;
}

static inline int finish(void **state)
{
    bench *const b = *state;
    gs_stop_requested = 0;
    gs_device_session_close(&b->session);
    read_text("");   /* frees the buffer that it keeps */
    if (chdir("/") != 0) return -1;
    return remove_all(b->folder);
}

/* One entry of a reply: five rounds whose times are 0.1 % apart. */
static inline void put_entry(gs_text *text, const char *name, const char *layout, double us, bool wrong)
{
    gs_text_addf(text, "%s{\"name\":\"%s\",\"layout\":\"%s\",\"status\":\"GS_OK\",\"message\":\"\",\"detail\":\"\",\"wrong\":%s,\"mismatches\":0,\"device_us\":%g,\"device_samples\":[",
                 text->size > 0 && text->data[text->size - 1] == '}' ? "," : "", name, layout, wrong ? "true" : "false", us);
    for (int i = 0; i < 5; i++) gs_text_addf(text, "%s%.4f", i ? "," : "", us * (1 + (i - 2) / 1000.0));
    gs_text_addf(text, "],\"call_us\":%g,\"call_samples\":[%g]}", us + 4, us + 4);
}

/* Writes bench.json: our kernel and the reference, each in nn and tn. wrong: our kernel's result in nn is wrong. */
static inline void write_reply(const char *own, double own_us, double reference_us, bool wrong)
{
    gs_text text = {0};
    gs_text_add(&text, "{\"ok\":true,\"reference\":0,\"mode\":\"offline\",\"rounds\":5,\"calls\":3,\"clocks\":{\"before\":{\"sm_mhz\":1980},\"after\":{\"sm_mhz\":1755}},\"contenders\":[");
    put_entry(&text, own, "nn", own_us, wrong);
    put_entry(&text, REFERENCE, "nn", reference_us, false);
    put_entry(&text, own, "tn", own_us * 1.05, false);
    put_entry(&text, REFERENCE, "tn", reference_us * 1.02, false);
    gs_text_add(&text, "]}\n");
    write_text("bench.json", gs_text_string(&text));
    gs_text_free(&text);
}

#endif
