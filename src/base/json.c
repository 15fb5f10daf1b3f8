/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Length of the well-formed UTF-8 sequence at p, 0 if there is none. */
static int utf8_length(const unsigned char *p)
{
    if (p[0] < 0x80) return 1;
    const int length = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : 0;
    for (int i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if (length == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))) return 0;
    if (length == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))) return 0;
    return length;
}

static void quote(gs_text *out, const char *string)
{
    gs_text_add(out, "\"");
    for (const unsigned char *p = (const unsigned char *)string; *p;) {
        const int length = utf8_length(p);
        if (length == 0) {
            gs_text_add(out, "\\ufffd");
            p++;
        } else {
            if (*p == '"' || *p == '\\')
                gs_text_addf(out, "\\%c", *p);
            else if (*p == '\n')
                gs_text_add(out, "\\n");
            else if (*p < 0x20)
                gs_text_addf(out, "\\u%04x", *p);
            else
                gs_text_add_bytes(out, p, (size_t)length);
            p += length;
        }
    }
    gs_text_add(out, "\"");
}

static void lead(gs_json *json, const char *name)
{
    if (json->comma) gs_text_add(json->out, ",");
    json->comma = true;
    if (name) {
        quote(json->out, name);
        gs_text_add(json->out, ":");
    }
}

void gs_json_begin(gs_json *json, const char *name, char bracket)
{
    lead(json, name);
    gs_text_add_bytes(json->out, &bracket, 1);
    json->comma = false;
}

void gs_json_end(gs_json *json, char bracket)
{
    gs_text_add_bytes(json->out, &bracket, 1);
    json->comma = true;
}

void gs_json_string(gs_json *json, const char *name, const char *value)
{
    lead(json, name);
    if (value)
        quote(json->out, value);
    else
        gs_text_add(json->out, "null");
}

void gs_json_int(gs_json *json, const char *name, int64_t value)
{
    lead(json, name);
    gs_text_addf(json->out, "%lld", (long long)value);
}

void gs_json_double(gs_json *json, const char *name, double value)
{
    static const int digits[] = {6, 9, 17};
    lead(json, name);
    if (!isfinite(value)) {
        gs_text_add(json->out, "null");
        return;
    }
    char text[40];
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%.*g", digits[i], value);
        if (strtod(text, NULL) == value) break;
    }
    gs_text_add(json->out, text);
}

void gs_json_bool(gs_json *json, const char *name, bool value)
{
    lead(json, name);
    gs_text_add(json->out, value ? "true" : "false");
}
