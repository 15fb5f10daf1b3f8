/* SPDX-License-Identifier: MIT
 * Examines the write-ahead log that a killed process left. SQLite recovers frames up to the first one with a wrong checksum and silently drops the rest: rows
 * that were reported as stored may be lost. This warns of it. Format: sqlite.org/walformat.html. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/sql.h"

enum { HEADER = 32, FRAME = 24, LARGEST_PAGE = 65536 };

static uint32_t big_endian(const unsigned char *b) { return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]; }

typedef struct sum {
    uint32_t low, high;
    bool     big;
} sum;

static void add(sum *s, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint32_t word[2] = {big_endian(bytes + i), big_endian(bytes + i + 4)};
        if (!s->big) word[0] = __builtin_bswap32(word[0]), word[1] = __builtin_bswap32(word[1]);
        s->low += word[0] + s->high;
        s->high += word[1] + s->low;
    }
}

static bool is(const sum *s, const unsigned char *bytes) { return big_endian(bytes) == s->low && big_endian(bytes + 4) == s->high; }

/* The first frame (1, 2, ...) that is invalid though this log has frames from there on; 0: none; -1: the log's header is damaged. */
static int64_t find_damage(int file)
{
    static _Thread_local unsigned char frame[FRAME + LARGEST_PAGE];
    unsigned char head[HEADER];
    const ssize_t got = pread(file, head, sizeof head, 0);
    if (got <= 0) return 0;
    sum s = {.big = head[3] & 1};
    const uint32_t page = got == HEADER ? big_endian(head + 8) : 0;
    add(&s, head, 24);
    if (got < HEADER || (big_endian(head) | 1) != 0x377f0683 || page < 512 || page > LARGEST_PAGE || !is(&s, head + 24)) return -1;
    int64_t bad = 0;
    for (int64_t i = 1;; i++) {
        const ssize_t size = pread(file, frame, FRAME + page, HEADER + (i - 1) * (int64_t)(FRAME + page));
        if (size <= 0) return 0;
        const bool ours = size >= 16 && memcmp(frame + 8, head + 16, 8) == 0;
        add(&s, frame, 8);
        add(&s, frame + FRAME, page);
        const bool counts = size == (ssize_t)(FRAME + page) && ours && is(&s, frame + 16);
        if (!counts && bad == 0) bad = i;
        if (bad > 0 && ours) return bad;   /* a frame with this log's salt at or behind the bad one; leftovers of an older log have another salt */
    }
}

/* Tries three times: a frame that another process is writing is complete a moment later. */
void gs_log_examine(const char *path)
{
    char name[GS_PATH + 8];
    snprintf(name, sizeof name, "%s-wal", path);
    int64_t bad = 0;
    for (int i = 0; i < 3 && (i == 0 || bad != 0); i++) {
        if (i > 0) gs_clock_sleep_ns(20000000);
        const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        bad = file >= 0 ? find_damage(file) : 0;
        if (file >= 0) close(file);
    }
    if (bad < 0) gs_log(GS_LOG_WARNING, "%s is damaged at its head: what was in it is lost", gs_sql_tail(name));
    if (bad > 0) gs_log(GS_LOG_WARNING, "%s is damaged or was cut off at frame %lld: what was written from there on is lost", gs_sql_tail(name), (long long)bad);
}
