/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

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
