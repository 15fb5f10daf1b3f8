/* SPDX-License-Identifier: MIT
 * Splits PTX text into tokens: words (names and the first part of an opcode), directives, numbers, strings, single marks. */
#include "ptx/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

gs_status gs_ptx_fail(const gs_ptx_parser *p, int line, gs_status status, const char *format, ...)
{
    char message[256];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    if (p->unread) *p->unread = (gs_ptx_unread){p->external ? GS_PTX_UNREAD_EXTERNAL : GS_PTX_UNREAD_OTHER, line};
    return gs_fail(p->error, status, NULL, "line %d: %.64s%s%s", line, p->opcode ? p->opcode : "", p->opcode ? ": " : "", message);
}

gs_status gs_ptx_fail_as(const gs_ptx_parser *p, int line, gs_ptx_unread_kind kind, const char *message)
{
    const gs_status status = gs_ptx_fail(p, line, GS_ERROR_UNSUPPORTED, "%s", message);
    if (p->unread && !p->external) p->unread->kind = kind;
    return status;
}

gs_status gs_ptx_fail_directive(const gs_ptx_parser *p, const char *where)
{
    const bool calls = gs_ptx_word(p, ".func") || gs_ptx_word(p, ".callprototype") || gs_ptx_word(p, ".calltargets");
    const gs_ptx_unread_kind kind = calls ? GS_PTX_UNREAD_FUNCTION : gs_ptx_word(p, ".alias") ? GS_PTX_UNREAD_EXTERNAL
                                  : gs_ptx_word(p, ".attribute") ? GS_PTX_UNREAD_ATTRIBUTE : GS_PTX_UNREAD_OTHER;
    char message[128];
    snprintf(message, sizeof message, "%.*s%s%s is not supported%s", (int)GS_MIN(p->token.size, 40u), p->token.at, where ? " in " : "", where ? where : "",
             calls && !gs_ptx_word(p, ".func") ? ": an indirect call, call the function by its name" : "");
    return gs_ptx_fail_as(p, p->token.line, kind, message);
}

gs_status gs_ptx_no_memory(const gs_ptx_parser *p) { return gs_ptx_fail(p, p->line, GS_ERROR_MEMORY, "out of memory for the PTX text"); }

gs_status gs_ptx_unexpected(const gs_ptx_parser *p, const char *wanted)
{
    const gs_ptx_token *const t = &p->token;
    if (t->kind == GS_PTX_END) return gs_ptx_fail(p, t->line, GS_ERROR_PARSE, "the text ends where %s must stand", wanted);
    if (t->kind == GS_PTX_STRING) return gs_ptx_fail(p, t->line, GS_ERROR_PARSE, "a string stands where %s must stand", wanted);
    return gs_ptx_fail(p, t->line, GS_ERROR_PARSE, "\"%.*s\" stands where %s must stand", (int)GS_MIN(t->size, 40u), t->at, wanted);
}

/* ---- characters ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_inner(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }
static bool is_first(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%'; }

static char char_at(const gs_ptx_parser *p, const char *at) { return at < p->end ? *at : '\0'; }

static int hex_digit(char c) { return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99; }

static gs_status skip_comment(gs_ptx_parser *p)
{
    const int line = p->line;
    for (p->at += 2; p->end - p->at >= 2; p->at++) {
        if (p->at[0] == '*' && p->at[1] == '/') {
            p->at += 2;
            return GS_OK;
        }
        p->line += *p->at == '\n';
    }
    return gs_ptx_fail(p, line, GS_ERROR_PARSE, "a comment that is never closed");
}

/* Skips blanks and comments. */
static gs_status skip(gs_ptx_parser *p)
{
    while (p->at < p->end) {
        const char c = *p->at;
        if (c == '\n') {
            p->line++;
            p->at++;
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            p->at++;
        } else if (c == '/' && char_at(p, p->at + 1) == '/') {
            while (p->at < p->end && *p->at != '\n') p->at++;
        } else if (c == '/' && char_at(p, p->at + 1) == '*') {
            GS_TRY(skip_comment(p));
        } else {
            break;
        }
    }
    return GS_OK;
}

/* ---- tokens ---- */

static gs_status read_string(gs_ptx_parser *p)
{
    const char *const start = ++p->at;
    for (; p->at < p->end && *p->at != '"' && *p->at != '\n'; p->at++)
        if (*p->at == '\\' && p->end - p->at > 1 && p->at[1] != '\n') p->at++;
    if (char_at(p, p->at) != '"') return gs_ptx_fail(p, p->line, GS_ERROR_PARSE, "a string that is never closed");
    p->token.kind = GS_PTX_STRING;
    p->token.at = start;
    p->token.size = (size_t)(p->at++ - start);
    return GS_OK;
}

/* Reads all characters that could belong to a number; value_of() checks them. A sign belongs to a decimal exponent: "1.5e-3", but not "0x1e-3". */
static void read_number(gs_ptx_parser *p)
{
    bool decimal = true;
    for (; p->at < p->end; p->at++) {
        const char c = *p->at;
        const char last = p->at > p->token.at ? p->at[-1] : '\0';
        const bool sign = (c == '+' || c == '-') && decimal && (last == 'e' || last == 'E');
        if (!is_inner(c) && c != '.' && !sign) break;
        if (is_letter(c) && c != 'e' && c != 'E') decimal = false;
    }
}

static gs_status read_mark(gs_ptx_parser *p)
{
    const unsigned char c = (unsigned char)*p->at++;
    p->token.kind = GS_PTX_MARK;
    if (c < ' ' || c > '~') return gs_ptx_fail(p, p->line, GS_ERROR_PARSE, "a byte 0x%02x that no PTX text has here", c);
    return GS_OK;
}

gs_status gs_ptx_next(gs_ptx_parser *p)
{
    GS_TRY(skip(p));
    gs_ptx_token *const t = &p->token;
    *t = (gs_ptx_token){.kind = GS_PTX_END, .line = p->line, .at = p->at};
    if (p->at == p->end) return GS_OK;
    const char c = *p->at, after = char_at(p, p->at + 1);
    if (c == '"') return read_string(p);
    if (is_digit(c) || (c == '.' && is_digit(after))) {
        t->kind = GS_PTX_NUMBER;
        read_number(p);
    } else if ((is_first(c) && c != '%') || ((c == '%' || c == '.') && is_inner(after))) {
        t->kind = c == '.' ? GS_PTX_DIRECTIVE : GS_PTX_WORD;
        for (p->at++; p->at < p->end && is_inner(*p->at); p->at++) {}
    } else {
        GS_TRY(read_mark(p));
    }
    t->size = (size_t)(p->at - t->at);
    if (t->kind == GS_PTX_WORD && !(t->name = gs_ptx_intern(p, t->at, t->size))) return gs_ptx_no_memory(p);
    return GS_OK;
}

bool gs_ptx_mark(const gs_ptx_parser *p, char mark) { return p->token.kind == GS_PTX_MARK && *p->token.at == mark; }

bool gs_ptx_word(const gs_ptx_parser *p, const char *text)
{
    const gs_ptx_token *const t = &p->token;
    return (t->kind == GS_PTX_WORD || t->kind == GS_PTX_DIRECTIVE) && strlen(text) == t->size && memcmp(text, t->at, t->size) == 0;
}

gs_status gs_ptx_expect(gs_ptx_parser *p, char mark)
{
    const char wanted[] = {'"', mark, '"', '\0'};
    return gs_ptx_mark(p, mark) ? gs_ptx_next(p) : gs_ptx_unexpected(p, wanted);
}

/* ---- numbers ---- */

double gs_ptx_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint64_t gs_ptx_double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float gs_ptx_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint32_t gs_ptx_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static gs_status not_a_number(const gs_ptx_parser *p)
{
    return gs_ptx_fail(p, p->token.line, GS_ERROR_PARSE, "\"%.*s\" is no number", (int)GS_MIN(p->token.size, 40u), p->token.at);
}

/* The 64-bit integer that the digits have in this base. */
static gs_status whole(const gs_ptx_parser *p, const char *at, const char *end, unsigned base, uint64_t *out)
{
    uint64_t value = 0;
    if (at == end) return not_a_number(p);
    for (; at < end; at++) {
        const unsigned digit = (unsigned)hex_digit(*at);
        if (digit >= base) return not_a_number(p);
        if (value > (UINT64_MAX - digit) / base)
            return gs_ptx_fail(p, p->token.line, GS_ERROR_PARSE, "%.*s has more than 64 bits", (int)GS_MIN(p->token.size, 40u), p->token.at);
        value = value * base + digit;
    }
    *out = value;
    return GS_OK;
}

/* Digits with an optional point and exponent. The point is removed by adjusting the exponent, so that the result does not depend on the locale. */
static gs_status decimal(const gs_ptx_parser *p, gs_ptx_value *out)
{
    enum { DIGITS_MAX = 64, EXPONENT_MAX = 100000 };
    char text[DIGITS_MAX + 16];
    const char *at = p->token.at, *const end = at + p->token.size;
    size_t digits = 0;
    int point = 0, exponent = 0;
    bool fraction = false;
    for (; at < end && (is_digit(*at) || (*at == '.' && !fraction)); at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        if (digits == DIGITS_MAX) return gs_ptx_fail(p, p->token.line, GS_ERROR_UNSUPPORTED, "a number of more than 64 digits");
        text[digits++] = *at;
        point += fraction;
    }
    if (at < end) {
        if (*at != 'e' && *at != 'E') return not_a_number(p);
        const bool negative = ++at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        if (at == end) return not_a_number(p);
        for (; at < end; at++) {
            if (!is_digit(*at)) return not_a_number(p);
            if (exponent < EXPONENT_MAX) exponent = exponent * 10 + (*at - '0');
        }
        exponent = negative ? -exponent : exponent;
    }
    snprintf(text + digits, sizeof text - digits, "e%d", exponent - point);
    *out = (gs_ptx_value){true, true, gs_ptx_double_bits(strtod(text, NULL))};
    return GS_OK;
}

/* The value of a NUMBER token. */
static gs_status value_of(const gs_ptx_parser *p, gs_ptx_value *out)
{
    const char *const at = p->token.at, *end = at + p->token.size;
    const char form = p->token.size > 1 && *at == '0' ? (char)(at[1] | 0x20) : '\0';
    *out = (gs_ptx_value){0};
    if (form == 'f' || form == 'd') {
        if (p->token.size != (form == 'f' ? 10u : 18u)) return not_a_number(p);
        out->real = true;
        out->wide = form == 'd';
        return whole(p, at + 2, end, 16, &out->bits);
    }
    if (form != 'x' && form != 'b')
        for (const char *c = at; c < end; c++)
            if (*c == '.' || *c == 'e' || *c == 'E') return decimal(p, out);
    if (end[-1] == 'U') end--;
    if (form == 'x') return whole(p, at + 2, end, 16, &out->bits);
    if (form == 'b') return whole(p, at + 2, end, 2, &out->bits);
    return whole(p, at, end, *at == '0' ? 8 : 10, &out->bits);
}

gs_status gs_ptx_number(gs_ptx_parser *p, gs_ptx_value *out)
{
    const bool negative = gs_ptx_mark(p, '-');
    if (negative || gs_ptx_mark(p, '+')) GS_TRY(gs_ptx_next(p));
    if (p->token.kind != GS_PTX_NUMBER) return gs_ptx_unexpected(p, "a number");
    GS_TRY(value_of(p, out));
    if (negative && out->real && (p->token.at[1] | 0x20) != 'f' && (p->token.at[1] | 0x20) != 'd') out->bits ^= 1ull << 63;
    else if (negative && out->real) return gs_ptx_fail(p, p->token.line, GS_ERROR_PARSE, "a sign before the bits of a float");
    else if (negative) out->bits = 0 - out->bits;
    return gs_ptx_next(p);
}

gs_status gs_ptx_integer(gs_ptx_parser *p, uint64_t most, uint64_t *out)
{
    gs_ptx_value value;
    if (p->token.kind != GS_PTX_NUMBER) return gs_ptx_unexpected(p, "a whole number");
    GS_TRY(value_of(p, &value));
    if (value.real) return gs_ptx_unexpected(p, "a whole number");
    if (value.bits > most)
        return gs_ptx_fail(p, p->token.line, GS_ERROR_RANGE, "%llu, and at most %llu is possible here", (unsigned long long)value.bits,
                           (unsigned long long)most);
    *out = value.bits;
    return gs_ptx_next(p);
}

/* ---- opcodes and labels ---- */

bool gs_ptx_is_label(gs_ptx_parser *p)
{
    const char *const at = p->at;
    const int line = p->line;
    if (skip(p) == GS_OK && char_at(p, p->at) == ':' && char_at(p, p->at + 1) != ':') {
        p->at++;
        return true;
    }
    p->at = at;
    p->line = line;
    return false;
}

static gs_status split(gs_ptx_parser *p, gs_ptx_name *name, int line)
{
    gs_ptx_opcode *const opcode = gs_ptx_take(&p->scratch, sizeof *opcode);
    if (!opcode) return gs_ptx_no_memory(p);
    for (const char *at = name->text; at; ) {
        const char *const dot = strchr(at, '.');
        if (opcode->parts == GS_PTX_PARTS)
            return gs_ptx_fail(p, line, GS_ERROR_RANGE, "%.64s has more than %d parts", name->text, GS_PTX_PARTS);
        const gs_ptx_name *const part = gs_ptx_intern(p, at, dot ? (size_t)(dot - at) : strlen(at));
        if (!part) return gs_ptx_no_memory(p);
        opcode->part[opcode->parts++] = part->text;
        at = dot ? dot + 1 : NULL;
    }
    for (int i = opcode->parts; i < GS_PTX_PARTS; i++) opcode->part[i] = "";
    opcode->branch = strcmp(opcode->part[0], "bra") == 0;
    name->opcode = opcode;
    return GS_OK;
}

/* Appends the next piece of the opcode, up to its end or a blank. */
static gs_status add_piece(gs_ptx_parser *p, char *text, size_t *size)
{
    const char *const start = p->at;
    for (;;) {
        const int lead = char_at(p, p->at) == '.' ? 1 : char_at(p, p->at) == ':' && char_at(p, p->at + 1) == ':' ? 2 : 0;
        if (!lead || !is_inner(char_at(p, p->at + lead))) break;
        for (p->at += lead; p->at < p->end && is_inner(*p->at); p->at++) {}
    }
    const size_t piece = (size_t)(p->at - start);
    if (piece > GS_PTX_OPCODE_MAX - *size)
        return gs_ptx_fail(p, p->line, GS_ERROR_RANGE, "an opcode of more than %d characters", GS_PTX_OPCODE_MAX);
    memcpy(text + *size, start, piece);
    *size += piece;
    return GS_OK;
}

gs_status gs_ptx_opcode_of(gs_ptx_parser *p, const char *text, size_t size, int line, gs_ptx_name **out)
{
    *out = gs_ptx_intern(p, text, size);
    if (!*out) return gs_ptx_no_memory(p);
    return (*out)->opcode ? GS_OK : split(p, *out, line);
}

gs_status gs_ptx_read_opcode(gs_ptx_parser *p, gs_ptx_name **out)
{
    char text[GS_PTX_OPCODE_MAX];
    const int line = p->token.line;
    size_t size = 0;
    if (p->token.size > sizeof text) return gs_ptx_fail(p, line, GS_ERROR_RANGE, "an opcode of more than %d characters", GS_PTX_OPCODE_MAX);
    memcpy(text, p->token.at, size = p->token.size);
    do {
        GS_TRY(add_piece(p, text, &size));
        GS_TRY(skip(p));
    } while (char_at(p, p->at) == '.' && is_letter(char_at(p, p->at + 1)));   /* "add .s32" */
    GS_TRY(gs_ptx_opcode_of(p, text, size, line, out));
    p->opcode = (*out)->text;
    return gs_ptx_next(p);
}

/* ---- skipped text ---- */

gs_status gs_ptx_skip_block(gs_ptx_parser *p)
{
    const int line = p->token.line;
    size_t depth = 0;
    for (;;) {
        GS_TRY(skip(p));
        if (p->at == p->end) return gs_ptx_fail(p, line, GS_ERROR_PARSE, "a block that is never closed");
        const char c = *p->at;
        if (c == '"') {
            GS_TRY(read_string(p));
            continue;
        }
        p->at++;
        if (c == '{') depth++;
        if (c == '}' && depth == 0) return gs_ptx_fail(p, line, GS_ERROR_PARSE, "a block that is never opened");
        if (c == '}' && --depth == 0) break;
    }
    return gs_ptx_next(p);
}
