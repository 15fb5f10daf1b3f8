/* SPDX-License-Identifier: MIT
 * gs_text: a growable string. gs_scan: a cursor over a text, with its column.
 * A gs_text that cannot grow stays valid, keeps its content and sets `failed`: check that once, at the end. */
#ifndef GS_BASE_TEXT_H
#define GS_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

typedef struct gs_text {
    char  *data;      /* always terminated once non-NULL; owned */
    size_t size;      /* without the terminator */
    size_t capacity;
    bool   failed;    /* an allocation failed: the text is incomplete */
} gs_text;            /* zero-initialise */

void  gs_text_add(gs_text *text, const char *string);
void  gs_text_add_bytes(gs_text *text, const void *bytes, size_t size);
void  gs_text_addf(gs_text *text, const char *format, ...) GS_PRINTF(2, 3);
void  gs_text_trim(gs_text *text, const char *ends);  /* removes trailing characters that are in `ends` */
void  gs_text_clear(gs_text *text);              /* keeps the memory */
void  gs_text_free(gs_text *text);               /* back to zero */
char *gs_text_take(gs_text *text);               /* hands the memory to the caller (free()); NULL if failed or empty memory */
const char *gs_text_string(const gs_text *text); /* "" when empty */

typedef struct gs_scan {
    const char *start, *at;   /* at points into start..terminator */
} gs_scan;

static inline gs_scan gs_scan_from(const char *text) { return (gs_scan){text, text}; }
static inline int gs_scan_column(const gs_scan *scan) { return (int)(scan->at - scan->start) + 1; }
static inline bool gs_scan_end(const gs_scan *scan) { return *scan->at == '\0'; }

bool   gs_scan_take(gs_scan *scan, const char *literal);     /* consumes the literal if it is next */
bool   gs_scan_int(gs_scan *scan, int64_t *value);           /* [-]digits; if there are none or they exceed int64: false, and the cursor does not move */
bool   gs_scan_double(gs_scan *scan, double *value);         /* plain decimal notation in any locale, rounded to nearest; infinite beyond DBL_MAX */
size_t gs_scan_word(gs_scan *scan, char *word, size_t size); /* [A-Za-z0-9_.-]+, 0 if none or if it does not fit */
void   gs_scan_space(gs_scan *scan);                         /* skips blanks and tabs */

/* "2.67 us", "13 ms", "90 s", of any sign, to four digits. Returns text. */
#define GS_SECONDS_TEXT 32
char *gs_text_seconds(char text[GS_SECONDS_TEXT], double seconds);

/* The word of a NULL-terminated list with the smallest edit distance to `typed`; NULL: none is close. For "did you mean" messages. */
const char *gs_text_nearest(const char *const *words, const char *typed, size_t length);

#endif
