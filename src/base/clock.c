/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <string.h>
#include <time.h>

int64_t gs_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void gs_clock_sleep_ns(int64_t ns)
{
    const int64_t end = gs_clock_ns() + ns;
    const int64_t rough = ns - 100000;   /* nanosleep overshoots by tens of microseconds */
    if (rough > 0) {
        const struct timespec time = {rough / 1000000000, rough % 1000000000};
        nanosleep(&time, NULL);
    }
    while (gs_clock_ns() < end) {
    }
}

static char *format(char text[GS_DATE_TEXT], time_t when)
{
    struct tm date;
    gmtime_r(&when, &date);
    strftime(text, GS_DATE_TEXT, "%Y-%m-%dT%H:%M:%SZ", &date);
    return text;
}

int64_t gs_date_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *gs_date_format(char text[GS_DATE_TEXT]) { return format(text, time(NULL)); }

char *gs_date_before(char text[GS_DATE_TEXT], double seconds)
{
    const time_t now = time(NULL);
    return format(text, seconds < (double)now ? now - (time_t)seconds : 0);
}

static bool number_between(const char *text, size_t digits, int low, int high)
{
    int value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = 10 * value + (text[i] - '0');
    }
    return value >= low && value <= high;
}

bool gs_date_valid(const char *text)
{
    const size_t size = strlen(text), day = sizeof "2026-01-31" - 1;
    if (size < day || text[4] != '-' || text[7] != '-') return false;
    if (!number_between(text, 4, 1970, 9998) || !number_between(text + 5, 2, 1, 12) || !number_between(text + 8, 2, 1, 31)) return false;
    if (size == day) return true;
    return size == sizeof "2026-01-31T12:00:00Z" - 1 && text[10] == 'T' && text[13] == ':' && text[16] == ':' && text[19] == 'Z' && number_between(text + 11, 2, 0, 23) &&
           number_between(text + 14, 2, 0, 59) && number_between(text + 17, 2, 0, 60);
}
