/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* strtod would take hexadecimal numbers, "inf" and the locale's comma; the text forms know none of them. */
bool gs_scan_double(gs_scan *scan, double *value)
{
    const char *p = scan->at;
    if (*p == '-') p++;
    if (!isdigit((unsigned char)*p)) return false;
    double number = 0;
    int exponent = 0;
    for (; isdigit((unsigned char)*p); p++) number = number * 10 + (*p - '0');
    if (*p == '.') {
        if (!isdigit((unsigned char)p[1])) return false;
        for (p++; isdigit((unsigned char)*p); p++, exponent--) number = number * 10 + (*p - '0');
    }
    if (*p == 'e' || *p == 'E') {
        const bool negative = p[1] == '-';
        const char *e = p + 1 + (p[1] == '-' || p[1] == '+');
        if (!isdigit((unsigned char)*e)) return false;
        int written = 0;
        for (; isdigit((unsigned char)*e); e++)
            if (written < 10000) written = written * 10 + (*e - '0');
        exponent += negative ? -written : written;
        p = e;
    }
    for (; exponent > 0 && number != 0 && number < 1e308; exponent--) number *= 10;
    double scale = 1;
    for (; exponent < 0 && scale < 1e300; exponent++) scale *= 10;
    number /= scale;
    if (exponent < 0) number = 0;
    *value = *scan->at == '-' ? -number : number;
    scan->at = p;
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
