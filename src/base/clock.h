/* SPDX-License-Identifier: MIT
 * The host's monotonic clock, and dates for provenance. */
#ifndef GS_BASE_CLOCK_H
#define GS_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define GS_DATE_TEXT 24

int64_t gs_clock_ns(void);                     /* monotonic, nanoseconds since an arbitrary point */
static inline double gs_clock_since(int64_t began_ns) { return (double)(gs_clock_ns() - began_ns) * 1e-9; }   /* seconds */
void    gs_clock_sleep_ns(int64_t ns);         /* sleeps at least that long; the last 100 us are spent polling */
int64_t gs_date_ms(void);                      /* now, milliseconds since 1970; the clock may be set */
char   *gs_date_format(char text[GS_DATE_TEXT]);   /* now, UTC: 2026-01-31T12:00:00Z; returns text */
bool    gs_date_valid(const char *text);           /* 2026-01-31, or with a time: 2026-01-31T12:00:00Z */
char   *gs_date_before(char text[GS_DATE_TEXT], double seconds);   /* now minus `seconds`, in the same format; not before 1970 */

#endif
