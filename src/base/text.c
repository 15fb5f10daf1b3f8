/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define DIGITS "0123456789"

static bool reserve(gs_text *text, size_t more)
{
    if (text->failed) return false;
    if (more > SIZE_MAX / 2 - text->size - 1) {
        text->failed = true;
        return false;
    }
    const size_t need = text->size + more + 1;
    if (need <= text->capacity) return true;
    const size_t capacity = need < 128 ? 128 : need + need / 2;
    char *const data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void gs_text_add_bytes(gs_text *text, const void *bytes, size_t size)
{
    if (!reserve(text, size)) return;
    if (size) memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void gs_text_add(gs_text *text, const char *string) { gs_text_add_bytes(text, string, strlen(string)); }

void gs_text_addf(gs_text *text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int size = vsnprintf(NULL, 0, format, values);
    va_end(values);
    if (size < 0 || !reserve(text, (size_t)size)) {
        text->failed = true;
        return;
    }
    va_start(values, format);
    vsnprintf(text->data + text->size, (size_t)size + 1, format, values);
    va_end(values);
    text->size += (size_t)size;
}

void gs_text_clear(gs_text *text)
{
    text->size = 0;
    text->failed = false;
    if (text->data) text->data[0] = '\0';
}

void gs_text_trim(gs_text *text, const char *ends)
{
    while (text->size > 0 && memchr(ends, text->data[text->size - 1], strlen(ends))) text->data[--text->size] = '\0';
}

void gs_text_free(gs_text *text)
{
    free(text->data);
    *text = (gs_text){0};
}

char *gs_text_take(gs_text *text)
{
    char *const data = text->failed ? NULL : text->data;
    if (text->failed) free(text->data);
    *text = (gs_text){0};
    return data;
}

const char *gs_text_string(const gs_text *text) { return text->data ? text->data : ""; }

bool gs_scan_take(gs_scan *scan, const char *literal)
{
    const size_t size = strlen(literal);
    if (strncmp(scan->at, literal, size) != 0) return false;
    scan->at += size;
    return true;
}

bool gs_scan_int(gs_scan *scan, int64_t *value)
{
    const char *const digits = scan->at + (*scan->at == '-');
    if (!isdigit((unsigned char)*digits)) return false;
    char *end;
    errno = 0;
    const long long read = strtoll(scan->at, &end, 10);
    if (errno == ERANGE) return false;
    *value = read;
    scan->at = end;
    return true;
}

static locale_t made_locale;

static void make_c_locale(void) { made_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

/* The "C" locale, whatever locale the program has set. */
static locale_t c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return made_locale;
}

/* The end of the number at p; NULL if there is none. strtod would accept more: blanks, hexadecimal numbers, "inf", "nan", ".5" and "3.". */
static const char *decimal_end(const char *p)
{
    if (*p == '-') p++;
    if (!isdigit((unsigned char)*p)) return NULL;
    p += strspn(p, DIGITS);
    if (*p == '.') {
        if (!isdigit((unsigned char)p[1])) return NULL;
        p += 1 + strspn(p + 1, DIGITS);
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '-' || p[1] == '+');
        if (!isdigit((unsigned char)*p)) return NULL;
        p += strspn(p, DIGITS);
    }
    return p;
}

bool gs_scan_double(gs_scan *scan, double *value)
{
    const char *const end = decimal_end(scan->at);
    if (!end) return false;
    char *read;
    const int before = errno;
    const double number = strtod_l(scan->at, &read, c_locale());
    errno = before;   /* overflow and underflow give infinity and 0, and are no errors */
    *value = read == end ? number : *scan->at == '-' ? -0.0 : 0.0;   /* of "0x10" only the 0 is read */
    scan->at = end;
    return true;
}

size_t gs_scan_word(gs_scan *scan, char *word, size_t size)
{
    size_t length = 0;
    while (isalnum((unsigned char)scan->at[length]) || (scan->at[length] && strchr("_.-", scan->at[length]))) length++;
    if (length == 0 || length >= size) return 0;
    memcpy(word, scan->at, length);
    word[length] = '\0';
    scan->at += length;
    return length;
}

void gs_scan_space(gs_scan *scan)
{
    while (*scan->at == ' ' || *scan->at == '\t') scan->at++;
}

/* ---- similar words ---- */

/* Edit distance: letters changed, inserted or deleted. LIKE or more: not similar. */
static int distance(const char *word, const char *typed, size_t length)
{
    enum { LONGEST = 32, LIKE = 3 };
    int row[LONGEST + 1];
    const size_t size = strlen(word);
    if (length > LONGEST || size > LONGEST) return LIKE;
    for (size_t k = 0; k <= length; k++) row[k] = (int)k;
    for (size_t i = 0; i < size; i++) {
        int corner = row[0];
        row[0] = (int)i + 1;
        for (size_t k = 0; k < length; k++) {
            const int same = corner + (word[i] != typed[k]);
            corner = row[k + 1];
            row[k + 1] = GS_MIN(same, GS_MIN(corner, row[k]) + 1);
        }
    }
    return row[length];
}

const char *gs_text_nearest(const char *const *words, const char *typed, size_t length)
{
    const char *nearest = NULL;
    int least = length < 4 ? 2 : 3;
    for (; *words; words++) {
        const int far = distance(*words, typed, length);
        if (far >= least) continue;
        least = far;
        nearest = *words;
    }
    return nearest;
}

char *gs_text_seconds(char text[GS_SECONDS_TEXT], double seconds)
{
    const double size = fabs(seconds);
    if (size >= 1 || size == 0) snprintf(text, GS_SECONDS_TEXT, "%.4g s", seconds);
    else if (size >= 1e-3) snprintf(text, GS_SECONDS_TEXT, "%.4g ms", 1e3 * seconds);
    else snprintf(text, GS_SECONDS_TEXT, "%.4g us", 1e6 * seconds);
    return text;
}
