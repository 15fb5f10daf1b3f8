/* SPDX-License-Identifier: MIT
 * The mode, and counts per function: calls, served calls, and calls passed on by reason. */
#include "shim/shim.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

static const char *const symbols[] = {
#define GS_SHIM(name, symbol, library) #symbol,
#include "shim/functions.def"
#undef GS_SHIM
};
static const char *const words[] = {
#define GS_SHIM_REASON(name, word, text) #word,
#include "shim/reasons.def"
#undef GS_SHIM_REASON
};
static const char *const texts[] = {
#define GS_SHIM_REASON(name, word, text) text,
#include "shim/reasons.def"
#undef GS_SHIM_REASON
};
static const char *const modes[] = {[GS_SHIM_OFF] = "off", [GS_SHIM_RECORD] = "record", [GS_SHIM_RUN] = "run", [GS_SHIM_CHECK] = "check"};

static atomic_uint_fast64_t counts[GS_SHIM_FUNCTIONS][GS_SHIM_REASONS];
static atomic_uint_fast64_t checked, wrong;

const char *gs_shim_symbol(gs_shim_function function) { return symbols[function]; }
const char *gs_shim_reason_text(gs_shim_reason reason) { return texts[reason]; }

void gs_shim_count(gs_shim_function function, gs_shim_reason reason) { atomic_fetch_add_explicit(&counts[function][reason], 1, memory_order_relaxed); }

void gs_shim_count_check(bool good)
{
    atomic_fetch_add_explicit(&checked, 1, memory_order_relaxed);
    if (!good) atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
}

/* ---- the mode ---- */

static atomic_int mode = -1;

/* An invalid variable is always reported, even if logging is off. */
static void tell(const char *format, ...) GS_PRINTF(1, 2);
static void tell(const char *format, ...)
{
    char line[256];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (gs_log_level() >= GS_LOG_ERROR) gs_log(GS_LOG_ERROR, "%s", line);
    else fprintf(stderr, "gemmsmith: %s\n", line);
}

static gs_shim_mode read_mode(void)
{
    const char *const text = getenv("GEMMSMITH_BLAS"), *const folder = getenv("GEMMSMITH_RECORD");
    if (!text || !*text) return GS_SHIM_RUN;
    for (size_t i = 0; i < GS_COUNT(modes); i++) {
        if (strcmp(text, modes[i]) != 0) continue;
        if (i == GS_SHIM_RECORD && (!folder || !*folder)) tell("GEMMSMITH_BLAS=record, but GEMMSMITH_RECORD names no folder: nothing is written down");
        return (gs_shim_mode)i;
    }
    tell("GEMMSMITH_BLAS: \"%.32s\" is none of run, off, record and check; all calls are passed on", text);
    return GS_SHIM_OFF;
}

gs_shim_mode gs_shim_mode_now(void)
{
    int now = atomic_load_explicit(&mode, memory_order_relaxed);
    if (__builtin_expect(now < 0, 0)) atomic_store_explicit(&mode, now = (int)read_mode(), memory_order_relaxed);
    return (gs_shim_mode)now;
}

static atomic_uint_fast64_t after;   /* 0: not read yet */

static uint64_t read_after(void)
{
    const char *const text = getenv("GEMMSMITH_BLAS_AFTER");
    if (!text || !*text) return 1;
    gs_scan scan = gs_scan_from(text);
    int64_t value;
    if (gs_scan_int(&scan, &value) && gs_scan_end(&scan) && value >= 1) return (uint64_t)value;
    tell("GEMMSMITH_BLAS_AFTER: \"%.32s\" is no number from 1 on; plans are made at the first call", text);
    return 1;
}

uint64_t gs_shim_after_now(void)
{
    uint64_t now = atomic_load_explicit(&after, memory_order_relaxed);
    if (__builtin_expect(now == 0, 0)) atomic_store_explicit(&after, now = read_after(), memory_order_relaxed);
    return now;
}

/* ---- the report ---- */

static void add_function(gs_text *text, gs_shim_function f)
{
    uint64_t of[GS_SHIM_REASONS], calls = 0;
    for (int r = 0; r < GS_SHIM_REASONS; r++) calls += of[r] = atomic_load_explicit(&counts[f][r], memory_order_relaxed);
    if (calls == 0) return;
    gs_text_addf(text, "%s\tcalls\t%llu\n", symbols[f], (unsigned long long)calls);
    for (int r = 0; r < GS_SHIM_REASONS; r++)
        if (of[r]) gs_text_addf(text, "%s\t%s\t%llu\n", symbols[f], words[r], (unsigned long long)of[r]);
}

/* A forked process without calls writes no report. */
static bool is_empty(void)
{
    for (int f = 0; f < GS_SHIM_FUNCTIONS; f++)
        for (int r = 0; r < GS_SHIM_REASONS; r++)
            if (atomic_load_explicit(&counts[f][r], memory_order_relaxed)) return false;
    return true;
}

/* One string, written at once, so that the reports of processes that end together do not mix. */
static void make_report(gs_text *text)
{
    gs_text_addf(text, "# gemmsmith blas, process %ld, mode %s\n", (long)getpid(), modes[gs_shim_mode_now()]);
    for (int f = 0; f < GS_SHIM_FUNCTIONS; f++) add_function(text, (gs_shim_function)f);
    const uint64_t compared = atomic_load(&checked), bad = atomic_load(&wrong);
    if (compared) gs_text_addf(text, "check\tcompared\t%llu\ncheck\twrong\t%llu\n", (unsigned long long)compared, (unsigned long long)bad);
}

/* Opened so that it cannot block the end of the program: a pipe without a reader fails to open. */
static bool append(const char *path, const gs_text *text)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (file < 0) return false;
    const bool written = !text->failed && write(file, text->data, text->size) == (ssize_t)text->size;
    return close(file) == 0 && written;
}

__attribute__((destructor)) static void at_end(void)
{
    const char *const path = getenv("GEMMSMITH_BLAS_REPORT");
    if (!path || !*path || is_empty()) return;
    gs_text text = {0};
    make_report(&text);
    if (!append(path, &text)) gs_log(GS_LOG_ERROR, "GEMMSMITH_BLAS_REPORT: %s cannot be written", path);
    gs_text_free(&text);
}

/* The counts so far belong to the parent. */
static void in_child(void)
{
    for (int f = 0; f < GS_SHIM_FUNCTIONS; f++)
        for (int r = 0; r < GS_SHIM_REASONS; r++) atomic_store_explicit(&counts[f][r], 0, memory_order_relaxed);
    atomic_store(&checked, 0);
    atomic_store(&wrong, 0);
}

__attribute__((constructor)) static void at_start(void) { pthread_atfork(NULL, NULL, in_child); }
