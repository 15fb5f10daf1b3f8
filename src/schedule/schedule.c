/* SPDX-License-Identifier: MIT
 * Schedule strings: text, enumeration, and calling the families' rules, all based on gs_families. */
#include "schedule/schedule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "problem/layout.h"
#include "schedule/family.h"
#include "schedule/model.h"

const char         *gs_family_name(gs_family_id family) { return gs_families[family]->name; }
const char         *gs_family_summary(gs_family_id family) { return gs_families[family]->summary; }
int                 gs_family_parameters(gs_family_id family) { return gs_families[family]->parameter_count; }
const gs_parameter *gs_family_parameter(gs_family_id family, int parameter) { return &gs_families[family]->parameters[parameter]; }

const int16_t *gs_schedule_value(const gs_schedule *schedule, int parameter)
{
    return gs_parameter_numbers(gs_families[schedule->family]->parameters, schedule, parameter);
}

/* ---- text ---- */

/* The possible values, for error messages: "64x64x64 64x128x64"; "64x64x64 ... 32x128x128" if they are too long. */
static void list_values(char *text, size_t size, const gs_parameter *parameter)
{
    const char *const last = parameter->values[parameter->count - 1].text;
    const size_t end = size - strlen(" ... ") - strlen(last) - 1;
    size_t have = 0;
    text[0] = '\0';
    for (int i = 0; i < parameter->count; i++) {
        const char *const word = parameter->values[i].text;
        if (i < parameter->count - 1 && have + 1 + strlen(word) > end) {
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
        have += (size_t)snprintf(text + have, size - have, "%s%s", i ? " " : "", gs_families[i]->name);
}

static gs_status read_value(gs_scan *scan, const gs_parameter *parameter, uint8_t *index, gs_error *error)
{
    char word[32] = "", possible[336];
    const bool separated = gs_scan_take(scan, "/");
    const int column = gs_scan_column(scan);
    if (separated && gs_scan_word(scan, word, sizeof word))
        for (int i = 0; i < parameter->count; i++)
            if (strcmp(word, parameter->values[i].text) == 0) {
                *index = (uint8_t)i;
                return GS_OK;
            }
    list_values(possible, sizeof possible, parameter);
    if (!separated) return gs_fail_at(error, GS_ERROR_PARSE, column, parameter->name, "expected '/' and one of: %s", possible);
    return gs_fail_at(error, GS_ERROR_PARSE, column, parameter->name, "expected one of: %s", possible);
}

static bool is_called(const gs_family *family, const char *name)
{
    return strcmp(name, family->name) == 0 || (family->old_name && strcmp(name, family->old_name) == 0);
}

gs_status gs_schedule_parse(gs_schedule *schedule, const char *text, gs_error *error)
{
    gs_schedule read = {0};
    gs_scan scan = gs_scan_from(text);
    char word[32] = "", possible[336];
    gs_scan_word(&scan, word, sizeof word);
    while (read.family < GS_FAMILIES && !is_called(gs_families[read.family], word)) read.family++;
    if (read.family == GS_FAMILIES) {
        list_families(possible, sizeof possible);
        return gs_fail_at(error, GS_ERROR_PARSE, 1, "family", "expected one of: %s", possible);
    }
    const gs_family *const family = gs_families[read.family];
    for (int i = 0; i < family->parameter_count; i++) {
        if (family->parameters[i].optional && *scan.at != '/') break;
        GS_TRY(read_value(&scan, &family->parameters[i], &read.value[i], error));
    }
    if (!gs_scan_end(&scan))
        return gs_fail_at(error, GS_ERROR_PARSE, gs_scan_column(&scan), family->name,
                          "expected the end: this family has %d parameters", family->parameter_count);
    *schedule = read;
    return GS_OK;
}

static bool valid_tokens(const gs_schedule *schedule)
{
    if (schedule->family >= GS_FAMILIES) return false;
    const gs_family *const family = gs_families[schedule->family];
    for (int i = 0; i < family->parameter_count; i++)
        if (schedule->value[i] >= family->parameters[i].count) return false;
    return true;
}

char *gs_schedule_format(const gs_schedule *schedule, char text[GS_SCHEDULE_TEXT])
{
    if (!valid_tokens(schedule)) {
        snprintf(text, GS_SCHEDULE_TEXT, "?");
        return text;
    }
    const gs_family *const family = gs_families[schedule->family];
    size_t have = (size_t)snprintf(text, GS_SCHEDULE_TEXT, "%s", family->name);
    int count = family->parameter_count;
    while (count > 0 && family->parameters[count - 1].optional && schedule->value[count - 1] == 0) count--;
    for (int i = 0; i < count && have < GS_SCHEDULE_TEXT; i++)
        have += (size_t)snprintf(text + have, GS_SCHEDULE_TEXT - have, "/%s", family->parameters[i].values[schedule->value[i]].text);
    return text;
}

/* ---- enumeration ---- */

gs_schedule gs_schedule_first(gs_family_id family) { return (gs_schedule){.family = (uint8_t)family}; }

bool gs_schedule_next(gs_schedule *schedule)
{
    const gs_family *const family = gs_families[schedule->family];
    for (int i = family->parameter_count - 1; i >= 0; i--) {
        if (++schedule->value[i] < family->parameters[i].count) return true;
        schedule->value[i] = 0;
    }
    return false;
}

/* ---- rules ---- */

/* GS_WANTS_* in their order. */
static const struct {
    const char *field, *what;
} wishes[] = {{"stride", "strides of a batch"}, {"scalars", "alpha and beta in device memory"}, {"gate", "a gated activation"}, {"groups", "groups of rows"},
              {"aux", "an auxiliary matrix"}, {"dbias", "the gradient of a bias"}, {"gk", "groups along K"}, {"matrices", "pointers to the matrices of a batch"}, {"scales", "a factor for each row or column"},
              {"inv", "rows whose bits do not depend on M"}};

/* The rules that do not depend on parameters. */
static gs_status check_family(const gs_family *family, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    if (family->hopper && caps->cc != 90)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "family", "%s needs compute capability 9.0 (wgmma); this device has %d.%d", family->name,
                       caps->cc / 10, caps->cc % 10);
    if (gs_is_a_transposed(problem->layout) && !family->a_transposed)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "layout", "%s reads A stored M x K, not K x M as in %s", family->name, gs_layout_name(problem->layout));
    const unsigned not_taken = gs_problem_wants(problem) & ~family->takes;
    for (size_t i = 0; i < GS_COUNT(wishes); i++)
        if (not_taken & 1u << i) return gs_fail(error, GS_ERROR_UNSUPPORTED, wishes[i].field, "%s does not take %s", family->name, wishes[i].what);
    return GS_OK;
}

gs_status gs_schedule_check(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps, gs_error *error)
{
    if (!valid_tokens(schedule)) return gs_fail(error, GS_ERROR_RANGE, "schedule", "its tokens are not of this grammar");
    GS_TRY(check_family(gs_families[schedule->family], problem, caps, error));
    return gs_families[schedule->family]->check(schedule, problem, caps, error);
}

static bool is_valid(gs_valid *v)
{
    const gs_family *const family = gs_families[v->schedule.family];
    if (v->free < 0) return family->check(&v->schedule, v->problem, v->caps, NULL) == GS_OK;
    const uint64_t bit = 1ull << v->behind;
    if (v->schedule.value[v->free] == 0) v->passed = (v->passed & ~bit) | (family->check(&v->schedule, v->problem, v->caps, NULL) == GS_OK ? bit : 0);
    const bool passed = v->passed & bit;
    v->behind = (v->behind + 1) % v->of;
    if (v->behind == 0 && v->passed == 0)   /* invalid for every value of the free parameter: skip them all */
        for (int i = v->free; i < family->parameter_count; i++) v->schedule.value[i] = (uint8_t)(family->parameters[i].count - 1);
    return passed;
}

bool gs_valid_first(gs_valid *valid, gs_family_id family, const gs_problem *problem, const gs_caps *caps)
{
    const gs_family *const f = gs_families[family];
    *valid = (gs_valid){.schedule = gs_schedule_first(family), .problem = problem, .caps = caps, .free = -1, .of = 1};
    for (int i = f->parameter_count - 1; i >= 0 && valid->free < 0; i--) {
        if (f->parameters[i].free) valid->free = i;
        else valid->of *= f->parameters[i].count;
    }
    return check_family(f, problem, caps, NULL) == GS_OK && (is_valid(valid) || gs_valid_next(valid));
}

bool gs_valid_next(gs_valid *valid)
{
    while (gs_schedule_next(&valid->schedule))
        if (is_valid(valid)) return true;
    return false;
}

gs_resources gs_schedule_resources(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    return gs_families[schedule->family]->resources(schedule, problem, caps);
}

gs_work gs_schedule_work(const gs_schedule *schedule, const gs_problem *problem, const gs_profile *profile)
{
    const gs_problem sums = problem->gate ? gs_problem_sums(problem) : *problem;   /* the families' time models do not support gates */
    gs_work work = gs_families[schedule->family]->work(schedule, &sums, profile);
    work.floor_us = fmax(gs_roofline_us(problem, &profile->caps, &profile->rates), profile->caps.launch_us);
    return work;
}

double gs_schedule_predict(const gs_schedule *schedule, const gs_problem *problem, const gs_caps *caps)
{
    const gs_profile profile = gs_profile_of(caps);
    const gs_work work = gs_schedule_work(schedule, problem, &profile);
    return gs_work_us(&work, &profile);
}
