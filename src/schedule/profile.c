/* SPDX-License-Identifier: MIT
 * Device profiles: conversion between text and struct by a table of fields, and the embedded profiles. */
#include "schedule/profile.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"

enum { MOST_PROFILES = 8, MOST_FIELDS = 96, NAME = 32 };

typedef enum kind { TEXT, INTEGER, SIZE, NUMBER } kind;

typedef struct field {
    const char *name;
    kind        kind;
    size_t      offset, size;   /* size: of the array, for a text */
    double      least, most;
    const char *unit, *what;
} field;

#define CAPS(member) offsetof(gs_profile, caps.member), sizeof(((gs_profile *)0)->caps.member)

/* legend: name, kind, where, least, greatest, unit, what it is */
static const field fields[] = {
    {"name",         TEXT,    CAPS(name),         0,    0,      "",            "as the driver says it"},
    {"slug",         TEXT,    CAPS(slug),         0,    0,      "",            "file names of tuned tables"},
    {"target",       TEXT,    CAPS(target),       0,    0,      "",            "of the compiler"},
    {"cc",           INTEGER, CAPS(cc),           10,   999,    "",            "compute capability times ten"},
    {"sms",          INTEGER, CAPS(sms),          1,    4096,   "",            "multiprocessors"},
    {"smem_block",   INTEGER, CAPS(smem_block),   1024, 1 << 24, "bytes",      "dynamic shared memory that a block may ask for"},
    {"smem_sm",      INTEGER, CAPS(smem_sm),      1024, 1 << 24, "bytes",      "shared memory of a multiprocessor"},
    {"registers_sm", INTEGER, CAPS(registers_sm), 1024, 1 << 24, "",           "32-bit registers of a multiprocessor"},
    {"threads_sm",   INTEGER, CAPS(threads_sm),   32,   65536,  "",            "resident threads of a multiprocessor"},
    {"l2_bytes",     INTEGER, CAPS(l2_bytes),     1024, 2e9,    "bytes",       "L2"},
    {"memory_bytes", SIZE,    CAPS(memory_bytes), 1e6,  1e15,   "bytes",       "device memory"},
    {"driver",       INTEGER, CAPS(driver),       1000, 1e6,    "",            "CUDA version times 1000"},
    {"clock_mhz",    NUMBER,  CAPS(clock_mhz),    1,    1e5,    "MHz",         "highest SM clock"},
    {"tensor_flops", NUMBER,  CAPS(tensor_flops), 1,    1e6,    "flop/cycle",  "dense f16, per multiprocessor"},
    {"memory_gbs",   NUMBER,  CAPS(memory_gbs),   1,    1e6,    "1e9 bytes/s", "device memory bandwidth, attainable"},
    {"l2_gbs",       NUMBER,  CAPS(l2_gbs),       1,    1e7,    "1e9 bytes/s", "L2 to multiprocessors, whole chip, attainable"},
    {"launch_us",    NUMBER,  CAPS(launch_us),    0.01, 1000,   "us",          "device time of the shortest loading and storing kernel"},
#define GS_RATE(name, unit, least, most, what) {#name, NUMBER, offsetof(gs_profile, rates.name), 0, least, most, unit, what},
    GS_RATES(GS_RATE)
#undef GS_RATE
};
_Static_assert(GS_COUNT(fields) <= MOST_FIELDS, "seen[] of the parser is too small");

/* ---- text to profile ---- */

static gs_status fail(gs_error *error, int line, const char *name, const char *what)
{
    return gs_fail(error, GS_ERROR_PARSE, name, "line %d: %s", line, what);
}


static int find_field(const char *name)
{
    static const char before[] = "wave_";   /* former prefix of the constants of family splitk */
    char now[64];
    if (strncmp(name, before, sizeof before - 1) == 0) {
        snprintf(now, sizeof now, "splitk_%s", name + sizeof before - 1);
        name = now;
    }
    for (size_t i = 0; i < GS_COUNT(fields); i++)
        if (strcmp(fields[i].name, name) == 0) return (int)i;
    return -1;
}

/* Reads a text value: the rest of the line up to a comment, trimmed. */
static gs_status read_text(const field *f, gs_profile *profile, const char *at, size_t size, int line, gs_error *error)
{
    while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t' || at[size - 1] == '\r')) size--;
    if (size == 0 || size >= f->size) return fail(error, line, f->name, size ? "too long a text" : "a text is missing");
    char *const to = (char *)profile + f->offset;
    memset(to, 0, f->size);
    memcpy(to, at, size);
    return GS_OK;
}

static gs_status read_number(const field *f, gs_profile *profile, gs_scan *scan, const char *end, int line, gs_error *error)
{
    double value;
    if (!gs_scan_double(scan, &value) || scan->at > end) return fail(error, line, f->name, "expected a number");
    while (scan->at < end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r')) scan->at++;
    if (scan->at != end) return fail(error, line, f->name, "expected one number and nothing else");
    if (!(value >= f->least && value <= f->most))
        return gs_fail(error, GS_ERROR_PARSE, f->name, "line %d: must be %g to %g", line, f->least, f->most);
    if (f->kind != NUMBER && value != floor(value)) return fail(error, line, f->name, "must be a whole number");
    char *const to = (char *)profile + f->offset;
    if (f->kind == NUMBER) *(double *)(void *)to = value;
    else if (f->kind == INTEGER) *(int *)(void *)to = (int)value;
    else *(size_t *)(void *)to = (size_t)value;
    return GS_OK;
}

static gs_status read_line(gs_profile *profile, const char *at, const char *end, int line, bool *seen, gs_error *error)
{
    const char *const comment = memchr(at, '#', (size_t)(end - at));
    if (comment) end = comment;
    gs_scan scan = {at, at};
    gs_scan_space(&scan);
    if (scan.at >= end || *scan.at == '\r') return GS_OK;
    char name[NAME] = "";
    const size_t length = gs_scan_word(&scan, name, sizeof name);
    const int index = length > 0 && scan.at <= end ? find_field(name) : -1;
    if (index < 0) return fail(error, line, "name", "there is no such name");
    if (seen[index]) return fail(error, line, fields[index].name, "stands there twice");
    seen[index] = true;
    gs_scan_space(&scan);
    if (scan.at >= end) return fail(error, line, fields[index].name, "a value is missing");
    if (fields[index].kind == TEXT) return read_text(&fields[index], profile, scan.at, (size_t)(end - scan.at), line, error);
    return read_number(&fields[index], profile, &scan, end, line, error);
}

gs_status gs_profile_parse(gs_profile *profile, const char *text, gs_error *error)
{
    gs_profile read = {0};
    bool seen[MOST_FIELDS] = {false};
    int line = 1;
    for (const char *at = text; *at; line++) {
        const char *const newline = strchr(at, '\n');
        const char *const end = newline ? newline : at + strlen(at);
        GS_TRY(read_line(&read, at, end, line, seen, error));
        at = newline ? newline + 1 : end;
    }
    for (size_t i = 0; i < GS_COUNT(fields); i++)
        if (!seen[i]) return gs_fail(error, GS_ERROR_PARSE, fields[i].name, "line %d: the text ends without %s", line, fields[i].name);
    *profile = read;
    return GS_OK;
}

/* ---- profile to text ---- */

/* The shortest notation that reads back as the same number; 17 digits always do. */
static void add_number(gs_text *text, double value)
{
    char digits[40];
    for (int precision = 6; precision <= 17; precision++) {
        double again = NAN;
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        gs_scan scan = gs_scan_from(digits);
        if (gs_scan_double(&scan, &again) && again == value) break;
    }
    gs_text_add(text, digits);
}

void gs_profile_format(const gs_profile *profile, gs_text *text)
{
    for (size_t i = 0; i < GS_COUNT(fields); i++) {
        const field *const f = &fields[i];
        const char *const from = (const char *)profile + f->offset;
        gs_text_addf(text, "%s ", f->name);
        if (f->kind == TEXT) gs_text_add(text, from);
        else if (f->kind == INTEGER) gs_text_addf(text, "%d", *(const int *)(const void *)from);
        else if (f->kind == SIZE) gs_text_addf(text, "%zu", *(const size_t *)(const void *)from);
        else add_number(text, *(const double *)(const void *)from);
        gs_text_addf(text, " # %s%s%s\n", f->unit, *f->unit ? ": " : "", f->what);
    }
}

/* ---- the embedded ones ---- */

static struct {
    pthread_once_t once;
    int            count;
    char           name[MOST_PROFILES][NAME];
    gs_profile     profile[MOST_PROFILES];
} embedded = {.once = PTHREAD_ONCE_INIT};

/* Unreadable profiles are skipped; tests/schedule/profile.c checks that there are none. */
static void read_embedded(void)
{
    for (const gs_embedded *file = gs_embedded_profiles; file->name && embedded.count < MOST_PROFILES; file++) {
        const size_t length = strcspn(file->name, ".");
        if (length >= NAME || gs_profile_parse(&embedded.profile[embedded.count], file->text, NULL) != GS_OK) continue;
        memcpy(embedded.name[embedded.count++], file->name, length);
    }
}

const gs_profile *gs_profile_find(const char *name)
{
    pthread_once(&embedded.once, read_embedded);
    for (int i = 0; i < embedded.count; i++)
        if (strcmp(embedded.name[i], name) == 0) return &embedded.profile[i];
    return NULL;
}

const char *gs_profile_name(int index)
{
    pthread_once(&embedded.once, read_embedded);
    return index >= 0 && index < embedded.count ? embedded.name[index] : NULL;
}

const gs_rates *gs_rates_of(const gs_caps *caps)
{
    pthread_once(&embedded.once, read_embedded);
    const gs_profile *found = &embedded.profile[0];
    for (int i = 1; i < embedded.count; i++) {
        const gs_profile *const p = &embedded.profile[i];
        const bool fits = p->caps.cc <= caps->cc, fitted = found->caps.cc <= caps->cc;
        if (fits ? !fitted || p->caps.cc > found->caps.cc : !fitted && p->caps.cc < found->caps.cc) found = p;
    }
    return &found->rates;
}

gs_profile gs_profile_of(const gs_caps *caps) { return (gs_profile){*caps, *gs_rates_of(caps)}; }
