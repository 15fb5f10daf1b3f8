/* SPDX-License-Identifier: MIT
 * Proves what is said of a write-ahead log that was left behind: which bytes of it count, in both orders of bytes and with the smallest and the
 * largest pages; tests/pages/pages.c has logs that SQLite wrote. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "leaks.h"
#include "store/sql.h"
#include "store_folder.h"

enum { HEAD = 32, FRAME = 24, FRAMES = 3, LARGEST = 131072 };

static unsigned char bytes[HEAD + FRAMES * (FRAME + LARGEST)];
static char          told[400];

static void take_line(void *self, int level, const char *text)
{
    assert_int_equal(level, GS_LOG_WARNING);
    assert_string_equal(self, "");
    const char *const name = strstr(text, "left.db-wal");
    snprintf(self, sizeof told, "%s", name ? name : text);
}

static void put_number(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* SQLite's checksum, as its description of the format has it. */
static void add(uint32_t sum[2], const unsigned char *from, size_t size, bool big)
{
    for (size_t i = 0; i < size; i += 8) {
        uint32_t word[2];
        for (int half = 0; half < 2; half++) {
            const unsigned char *const b = from + i + 4 * half;
            word[half] = big ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]
                             : (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
        }
        sum[0] += word[0] + sum[1];
        sum[1] += word[1] + sum[0];
    }
}

/* A whole log of some frames; its size. */
static size_t make(uint32_t magic, uint32_t page, int frames)
{
    const bool big = magic & 1;
    uint32_t sum[2] = {0, 0};
    size_t size = HEAD;
    for (size_t i = 0; i < HEAD + (size_t)frames * (FRAME + page); i++) bytes[i] = (unsigned char)(i * 37 + i / 251);
    put_number(bytes, magic);
    put_number(bytes + 8, page);
    add(sum, bytes, 24, big);
    put_number(bytes + 24, sum[0]);
    put_number(bytes + 28, sum[1]);
    for (int i = 0; i < frames; i++, size += FRAME + page) {
        memcpy(bytes + size + 8, bytes + 16, 8);
        add(sum, bytes + size, 8, big);
        add(sum, bytes + size + FRAME, page, big);
        put_number(bytes + size + 16, sum[0]);
        put_number(bytes + size + 20, sum[1]);
    }
    return size;
}

static const char *said(size_t size)
{
    char path[GS_PATH], log[GS_PATH + 8];
    snprintf(log, sizeof log, "%s-wal", path_of(path, "left.db"));
    FILE *const file = fopen(log, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    told[0] = '\0';
    gs_log_set_sink(told, take_line, told, GS_LOG_WARNING);
    gs_log_examine(path);
    gs_log_drop_sink(told);
    return told;
}

#define LOST_HEAD "left.db-wal is damaged at its head: what was in it is lost"

static const char *lost(int frame)
{
    static char text[128];
    snprintf(text, sizeof text, "left.db-wal is damaged or was cut off at frame %d: what was written from there on is lost", frame);
    return text;
}

static void heads(void **state)
{
    FILES_ONLY();
    (void)state;
    static const struct {
        uint32_t magic, page;
        bool     sound;
    } kinds[] = {
        {0x377f0682, 512, true}, {0x377f0683, 512, true}, {0x377f0682, 65536, true}, {0x377f0683, 65536, true}, {0x377f0682, 256, false}, {0x377f0683, 131072, false},
        {0x377f0684, 512, false}, {0x377f0681, 512, false}, {0x377e0683, 512, false}, {0x367f0683, 512, false}, {0x377f0783, 512, false}, {0x7f370683, 512, false},
    };
    for (size_t i = 0; i < GS_COUNT(kinds); i++) {
        const size_t size = make(kinds[i].magic, kinds[i].page, 1);
        assert_string_equal(said(size), kinds[i].sound ? "" : LOST_HEAD);
    }
    const size_t size = make(0x377f0683, 512, 1);
    static const size_t every[] = {3, 7, 11, 15, 16, 23, 24, 31};
    for (size_t i = 0; i < GS_COUNT(every); i++) {
        bytes[every[i]] ^= 16;
        assert_string_equal(said(size), LOST_HEAD);
        bytes[every[i]] ^= 16;
    }
    assert_string_equal(said(0), "");
    assert_string_equal(said(1), LOST_HEAD);
    assert_string_equal(said(HEAD - 1), LOST_HEAD);
    assert_string_equal(said(HEAD), "");
}

static void frames(void **state)
{
    FILES_ONLY();
    (void)state;
    enum { PAGE = 512, ONE = FRAME + PAGE };
    for (uint32_t magic = 0x377f0682; magic <= 0x377f0683; magic++) {
        const size_t size = make(magic, PAGE, FRAMES);
        static const size_t own[] = {0, 16, 20, FRAME, ONE - 1}, round[] = {8, 15};
        for (int frame = 1; frame <= (magic & 1 ? FRAMES : 1); frame++) {   /* a look at damage takes 40 ms */
            unsigned char *const at = bytes + HEAD + (frame - 1) * ONE;
            for (size_t i = 0; i < GS_COUNT(own); i++) {
                at[own[i]] ^= 16;
                assert_string_equal(said(size), lost(frame));
                at[own[i]] ^= 16;
            }
            for (size_t i = 0; i < GS_COUNT(round); i++) {   /* of another round: it counts as damage only if others of this one follow */
                at[round[i]] ^= 16;
                assert_string_equal(said(size), frame < FRAMES ? lost(frame) : "");
                at[round[i]] ^= 16;
            }
        }
        assert_string_equal(said(size), "");
        if (!(magic & 1)) continue;
        bytes[HEAD + 8] ^= 16, bytes[HEAD + ONE] ^= 16;   /* the first of the damaged ones is named */
        assert_string_equal(said(size), lost(1));
        bytes[HEAD + 8] ^= 16, bytes[HEAD + ONE] ^= 16;
        static const size_t left[] = {1, 15, 16, FRAME, ONE - 1};
        for (size_t i = 0; i < GS_COUNT(left); i++) assert_string_equal(said(size - ONE + left[i]), left[i] < 16 ? "" : lost(FRAMES));
        assert_string_equal(said(size - ONE), "");
    }
}

/* What is damaged is looked at again a while later, since another process may be writing it; what is not, at once. */
static void it_is_looked_at_again(void **state)
{
    FILES_ONLY();
    (void)state;
    const size_t size = make(0x377f0683, 512, 1);
    int64_t least = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        const int64_t begin = gs_clock_ns();
        assert_string_equal(said(size), "");
        least = GS_MIN(least, gs_clock_ns() - begin);
    }
    assert_true(least < 20000000);
    bytes[0] ^= 16;
    const int64_t begin = gs_clock_ns();
    assert_string_equal(said(size), LOST_HEAD);
    assert_true(gs_clock_ns() - begin >= 40000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(heads), cmocka_unit_test(frames), cmocka_unit_test(it_is_looked_at_again)};
    return run_group_without_leaks("store/log", tests, GS_COUNT(tests), make_folder, remove_folder);
}
