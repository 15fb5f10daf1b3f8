/* SPDX-License-Identifier: MIT
 * Changes to inputs of the emulated device's fuzzer: words for words of the same sort, lines, bytes, the launch. */
#include "emu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"

static size_t below(gs_random *random, size_t limit) { return (size_t)gs_random_below(random, limit); }

static const char *one_of(const char *const *list, gs_random *random)
{
    size_t count = 0;
    while (list[count]) count++;
    return list[below(random, count)];
}

/* ---- texts in place ---- */

typedef struct input {
    uint8_t *bytes;
    size_t   size, most;
} input;

/* Replaces `gone` bytes at `at`, as far as there is room. */
static void replace(input *in, size_t at, size_t gone, const char *with, size_t size)
{
    if (in->size - gone + size > in->most) return;
    memmove(in->bytes + at + size, in->bytes + at + gone, in->size - at - gone);
    memcpy(in->bytes + at, with, size);
    in->size = in->size - gone + size;
}

static bool is_word(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '%' || c == '$' || c == ':';
}

/* A place in the text, seldom in the part that all programs have. */
static size_t find_place(const input *in, gs_random *random)
{
    const size_t size = in->size - FUZZ_HEAD, common = strlen(fuzz_emu_head);
    const size_t from = size > common && gs_random_below(random, 16) ? common : 0;
    return FUZZ_HEAD + from + below(random, size - from);
}

/* The word at or behind a random place: no part of an opcode is longer than its dots. */
static bool find_word(const input *in, gs_random *random, size_t *start, size_t *size)
{
    size_t at = find_place(in, random);
    while (at < in->size && !is_word(in->bytes[at])) at++;
    if (at == in->size) return false;
    while (at > FUZZ_HEAD && is_word(in->bytes[at - 1])) at--;
    size_t end = at;
    while (end < in->size && is_word(in->bytes[end])) end++;
    *start = at;
    *size = end - at;
    return true;
}

/* The statement around a random place, up to its semicolon or the end of its line. */
static void find_line(const input *in, gs_random *random, size_t *start, size_t *size)
{
    size_t at = find_place(in, random), end = at;
    while (at > FUZZ_HEAD && in->bytes[at - 1] != '\n' && in->bytes[at - 1] != ';') at--;
    while (end < in->size && in->bytes[end] != '\n' && in->bytes[end] != ';') end++;
    *start = at;
    *size = GS_MIN(end + 1, in->size) - at;
}

/* ---- words ---- */

static void change_register(input *in, size_t at, size_t size, gs_random *random)
{
    static const char *const kinds[] = {"%r", "%r", "%rd", "%rs", "%f", "%fd", "%p"};
    char name[16];
    size_t letters = 1;
    while (letters < size && in->bytes[at + letters] >= 'a') letters++;
    const char *const kind = kinds[below(random, GS_COUNT(kinds))];
    const unsigned number = (unsigned)below(random, 16);
    if (gs_random_below(random, 4))
        snprintf(name, sizeof name, "%.*s%u", (int)GS_MIN(letters, 4u), (const char *)in->bytes + at, number % 8);
    else
        snprintf(name, sizeof name, "%s%u", kind, number);
    replace(in, at, size, name, strlen(name));
}

static void change_number(input *in, size_t at, size_t size, gs_random *random)
{
    char text[32];
    switch (gs_random_below(random, 4)) {
    case 0: snprintf(text, sizeof text, "%u", (unsigned)below(random, 300)); break;
    case 1: snprintf(text, sizeof text, "%lld", (long long)((1ull << below(random, 64)) - below(random, 2))); break;
    case 2: snprintf(text, sizeof text, "0x%llx", (unsigned long long)gs_random_next(random) >> below(random, 64)); break;
    default: snprintf(text, sizeof text, "%s", one_of(fuzz_emu_operands, random)); break;
    }
    replace(in, at, size, text, strlen(text));
}

static void change_part(input *in, size_t at, size_t size, gs_random *random)
{
    char text[64];
    const char *const part = one_of(fuzz_emu_parts, random);
    switch (gs_random_below(random, 5)) {
    case 0: replace(in, at - 1, size + 1, "", 0); break;
    case 1:
        snprintf(text, sizeof text, "%s.", part);
        replace(in, at, 0, text, strlen(text));
        break;
    default: replace(in, at, size, part, strlen(part)); break;
    }
}

/* The opcode up to its first dot becomes that of another line. */
static void change_opcode(input *in, size_t at, size_t size, gs_random *random)
{
    const char *line = one_of(fuzz_emu_lines, random);
    if (*line == '@') line = strchr(line, ' ') + 1;
    const size_t other = strcspn(line, ". ;");
    if (other > 0) replace(in, at, size, line, other);
}

static void change_word(input *in, gs_random *random)
{
    size_t at, size;
    if (!find_word(in, random, &at, &size)) return;
    const uint8_t first = in->bytes[at];
    const char *const operand = one_of(fuzz_emu_operands, random);
    if (in->bytes[at - 1] == '.') change_part(in, at, size, random);
    else if (at + size < in->size && in->bytes[at + size] == '.' && first >= 'a') change_opcode(in, at, size, random);
    else if (gs_random_below(random, 8) == 0) replace(in, at, size, operand, strlen(operand));
    else if (first == '%') change_register(in, at, size, random);
    else if (first >= '0' && first <= '9') change_number(in, at, size, random);
    else replace(in, at, size, operand, strlen(operand));
}

/* ---- lines ---- */

static void new_line(input *in, size_t at, gs_random *random)
{
    static const char *const guards[] = {"@%p0 ", "@%p1 ", "@!%p2 ", "@%p7 ", "@!%p0 "};
    char text[2048];
    const char *const guard = gs_random_below(random, 4) ? "" : guards[below(random, GS_COUNT(guards))];
    snprintf(text, sizeof text, "%s%s\n", guard, one_of(fuzz_emu_lines, random));
    replace(in, at, 0, text, strlen(text));
}

static void change_lines(input *in, gs_random *random)
{
    char copy[256];
    size_t at, size, other, other_size;
    find_line(in, random, &at, &size);
    find_line(in, random, &other, &other_size);
    switch (gs_random_below(random, 8)) {
    case 0: replace(in, at, size, "", 0); break;
    case 1:   /* once more, somewhere else */
        other_size = GS_MIN(other_size, sizeof copy);
        memcpy(copy, in->bytes + other, other_size);
        replace(in, at, 0, copy, other_size);
        break;
    case 2:
        replace(in, at, size, "", 0);
        new_line(in, at, random);
        break;
    default: new_line(in, at, random); break;
    }
}

static void change_bytes(input *in, gs_random *random)
{
    static const char *const pieces[] = {"{", "}", "[", "]", "(", ")", ";", ",", "::", "|", "!",
                                         "-", "+", "@", "\"", "/*", "*/", "//", "\n", ".", "%", "_", "<", ">", "=", "0x", "\xff"};
    const size_t at = find_place(in, random), some = below(random, GS_MIN(in->size - at, 24u) + 1);
    const char *const piece = pieces[below(random, GS_COUNT(pieces))];
    switch (gs_random_below(random, 4)) {
    case 0: in->bytes[at] ^= (uint8_t)(1 << gs_random_below(random, 8)); break;
    case 1: in->bytes[at] = (uint8_t)gs_random_next(random); break;
    case 2: replace(in, at, some, "", 0); break;
    default: replace(in, at, 0, piece, strlen(piece)); break;
    }
}

size_t fuzz_emu_mutate(uint8_t *data, size_t size, size_t most, gs_random *random)
{
    input in = {data, size, most};
    if (size <= FUZZ_HEAD + 4) return fuzz_emu_start(data, most, SIZE_MAX, random);
    const uint64_t what = gs_random_below(random, 16);
    if (what < 8) change_word(&in, random);
    else if (what < 13) change_lines(&in, random);
    else if (what < 14) change_bytes(&in, random);
    else in.bytes[1 + below(random, FUZZ_HEAD - 1)] = (uint8_t)gs_random_next(random);
    return in.size;
}

/* ---- new inputs ---- */

/* A launch that most programs run in. */
static void plain_head(uint8_t *head)
{
    static const uint8_t plain[FUZZ_HEAD] = {
        [FUZZ_KIND] = FUZZ_PTX, [FUZZ_FLAGS] = 1 | 2, [FUZZ_CLUSTER] = 2, [FUZZ_SMEM] = 64,
        [FUZZ_MAP] = 1 | 3 << 3, [FUZZ_MAP_EXTENT] = 63, [FUZZ_MAP_BOX] = 0,
    };
    memcpy(head, plain, FUZZ_HEAD);
}

static void put(input *in, const char *text) { replace(in, in->size, 0, text, strlen(text)); }

/* Lines of any sort behind the head of all programs. */
static void draw_program(input *in, gs_random *random)
{
    put(in, fuzz_emu_head);
    for (size_t i = 0, lines = 1 + below(random, 12), loop = below(random, 8); i < lines || i <= loop; i++) {
        if (i == loop) put(in, "L:\n");
        if (i < lines) new_line(in, in->size, random);
    }
    put(in, "E:\nret;\n}\n");
    for (size_t changes = below(random, 3); changes > 0; changes--) change_word(in, random);
}

static void draw_other(input *in, gs_random *random)
{
    if (in->bytes[FUZZ_KIND] % FUZZ_KINDS == FUZZ_NAME) {
        put(in, one_of(fuzz_emu_names, random));
        return;
    }
    size_t profiles = 0;
    while (gs_embedded_profiles[profiles].name) profiles++;
    put(in, gs_embedded_profiles[below(random, profiles)].text);
}

size_t fuzz_emu_start(uint8_t *data, size_t most, size_t which, gs_random *random)
{
    input in = {data, FUZZ_HEAD, most};
    size_t programs = 0;
    while (fuzz_emu_programs[programs]) programs++;
    plain_head(data);
    if (which >= programs)
        for (size_t changes = below(random, 4); changes > 0; changes--) data[1 + below(random, FUZZ_HEAD - 1)] = (uint8_t)gs_random_next(random);
    if (which < programs || gs_random_below(random, 3) == 0) {
        put(&in, fuzz_emu_head);
        put(&in, fuzz_emu_programs[which < programs ? which : below(random, programs)]);
        return in.size;
    }
    if (gs_random_below(random, 16) == 0) {
        data[FUZZ_KIND] = (uint8_t)(FUZZ_NAME + below(random, 2));
        draw_other(&in, random);
        return in.size;
    }
    draw_program(&in, random);
    return in.size;
}
