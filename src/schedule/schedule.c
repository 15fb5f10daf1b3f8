/* SPDX-License-Identifier: MIT
 * Schedule strings: text, enumeration, and the dispatch of a family's rules. Everything here follows from the tables in grammar.c. */
#include "schedule/schedule.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "schedule/grammar.h"

static const char *const names[GS_FAMILIES] = {
#define GS_FAMILY(id, name, summary) name,
#include "schedule/families.def"
#undef GS_FAMILY
};

static const char *const summaries[GS_FAMILIES] = {
#define GS_FAMILY(id, name, summary) summary,
#include "schedule/families.def"
#undef GS_FAMILY
};

/* What families were called before; schedule strings with these names are still read. */
static const struct {
    const char *name;
    uint8_t     family;
} old_names[] = {{"sliced", GS_FAMILY_SLICEK}, {"wave", GS_FAMILY_SPLITK}, {"dot", GS_FAMILY_GEMV}};

typedef struct rules {
    gs_status    (*check)(const gs_schedule *, const gs_problem *, const gs_caps *, gs_error *);
    gs_resources (*resources)(const gs_schedule *, const gs_problem *, const gs_caps *);
} rules;

static const rules family_rules[GS_FAMILIES] = {
    [GS_FAMILY_SIMPLE] = {gs_check_simple, gs_resources_simple},
    [GS_FAMILY_MMA]    = {gs_check_mma,    gs_resources_mma},
    [GS_FAMILY_WS]     = {gs_check_ws,     gs_resources_ws},
    [GS_FAMILY_SLICEK] = {gs_check_slicek, gs_resources_slicek},
    [GS_FAMILY_SPLITK]   = {gs_check_splitk,   gs_resources_splitk},
    [GS_FAMILY_GEMV]    = {gs_check_gemv,    gs_resources_gemv},
};

const char    *gs_family_name(gs_family family) { return names[family]; }
const char    *gs_family_summary(gs_family family) { return summaries[family]; }
int            gs_family_slots(gs_family family) { return gs_grammars[family].slot_count; }
const gs_slot *gs_family_slot(gs_family family, int slot) { return &gs_grammars[family].slots[slot]; }

const int16_t *gs_schedule_value(const gs_schedule *schedule, int slot)
{
    return gs_grammars[schedule->family].slots[slot].words[schedule->word[slot]].value;
}

/* ---- text ---- */

/* "64x64x64 64x128x64": what could have stood there; "64x64x64 ... 32x128x128" where it is too much for a message. */
static void list_words(char *text, size_t size, const gs_slot *slot)
{
    const char *const last = slot->words[slot->count - 1].text;
    const size_t end = size - strlen(" ... ") - strlen(last) - 1;
    size_t have = 0;
    text[0] = '\0';
    for (int i = 0; i < slot->count; i++) {
        const char *const word = slot->words[i].text;
        if (i < slot->count - 1 && have + 1 + strlen(word) > end) {
            snprintf(text + have, size - have, " ... %s", last);
            return;
        }
        have += (size_t)snprintf(text + have, size - have, "%s%s", i ? " " : "", word);
    }
}

static void list_families(char *text, size_t size)
{
    size_t have = 0;
    text[0] = '\0';
    for (int i = 0; i < GS_FAMILIES && have < size; i++)
        have += (size_t)snprintf(text + have, size - have, "%s%s", i ? " " : "", names[i]);
}

static gs_status read_slot(gs_scan *scan, const gs_slot *slot, uint8_t *index, gs_error *error)
{
    char word[32] = "", possible[336];
    const bool separated = gs_scan_take(scan, "/");
    const int column = gs_scan_column(scan);
    if (separated && gs_scan_word(scan, word, sizeof word))
        for (int i = 0; i < slot->count; i++)
            if (strcmp(word, slot->words[i].text) == 0) {
                *index = (uint8_t)i;
                return GS_OK;
            }
    list_words(possible, sizeof possible, slot);
    if (!separated) return gs_fail_at(error, GS_ERROR_PARSE, column, slot->name, "expected '/' and one of: %s", possible);
    return gs_fail_at(error, GS_ERROR_PARSE, column, slot->name, "expected one of: %s", possible);
}

gs_status gs_schedule_parse(gs_schedule *schedule, const char *text, gs_error *error)
{
    gs_schedule read = {0};
    gs_scan scan = gs_scan_from(text);
    char word[32] = "", possible[336];
    gs_scan_word(&scan, word, sizeof word);
    while (read.family < GS_FAMILIES && strcmp(word, names[read.family]) != 0) read.family++;
    for (size_t i = 0; i < GS_COUNT(old_names); i++)
        if (strcmp(word, old_names[i].name) == 0) read.family = old_names[i].family;
    if (read.family == GS_FAMILIES) {
        list_families(possible, sizeof possible);
        return gs_fail_at(error, GS_ERROR_PARSE, 1, "family", "expected one of: %s", possible);
    }
    const gs_grammar *const grammar = &gs_grammars[read.family];
    for (int i = 0; i < grammar->slot_count; i++) GS_TRY(read_slot(&scan, &grammar->slots[i], &read.word[i], error));
    if (!gs_scan_end(&scan))
        return gs_fail_at(error, GS_ERROR_PARSE, gs_scan_column(&scan), names[read.family],
                          "expected the end: this family has %d slots", grammar->slot_count);
    *schedule = read;
    return GS_OK;
}

static bool valid_tokens(const gs_schedule *schedule)
{
    if (schedule->family >= GS_FAMILIES) return false;
    const gs_grammar *const grammar = &gs_grammars[schedule->family];
    for (int i = 0; i < grammar->slot_count; i++)
        if (schedule->word[i] >= grammar->slots[i].count) return false;
    return true;
}

char *gs_schedule_format(const gs_schedule *schedule, char text[GS_SCHEDULE_TEXT])
{
    if (!valid_tokens(schedule)) {
        snprintf(text, GS_SCHEDULE_TEXT, "?");
        return text;
    }
    const gs_grammar *const grammar = &gs_grammars[schedule->family];
    size_t have = (size_t)snprintf(text, GS_SCHEDULE_TEXT, "%s", names[schedule->family]);
    for (int i = 0; i < grammar->slot_count && have < GS_SCHEDULE_TEXT; i++)
        have += (size_t)snprintf(text + have, GS_SCHEDULE_TEXT - have, "/%s", grammar->slots[i].words[schedule->word[i]].text);
    return text;
}

/* ---- enumeration ---- */

gs_schedule gs_schedule_first(gs_family family) { return (gs_schedule){.family = (uint8_t)family}; }

bool gs_schedule_next(gs_schedule *schedule)
{
    const gs_grammar *const grammar = &gs_grammars[schedule->family];
    for (int i = grammar->slot_count - 1; i >= 0; i--) {
        if (++schedule->word[i] < grammar->slots[i].count) return true;
        schedule->word[i] = 0;
    }
    return false;
}

/* ---- rules ---- */

gs_status gs_schedule_check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    if (!valid_tokens(schedule)) return gs_fail(error, GS_ERROR_RANGE, "schedule", "its tokens are not of this grammar");
    return family_rules[schedule->family].check(schedule, problem, caps, error);
}

gs_resources gs_schedule_resources(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    return family_rules[schedule->family].resources(schedule, problem, caps);
}
