/* SPDX-License-Identifier: MIT
 * For tests: problems, schedules and manifest numbers from texts, whether a schedule suits a problem, and how two schedules differ. Unexpected values fail the test.
 * Included after cmocka. */
#ifndef TESTS_TEXTS_H
#define TESTS_TEXTS_H

#include <string.h>

#include "base/error.h"
#include "kernel/manifest.h"
#include "schedule/schedule.h"

static inline gs_problem problem_of(const char *text)
{
    gs_problem problem;
    gs_error error = {0};
    if (gs_problem_parse(&problem, text, &error) != GS_OK) fail_msg("%s: %s, column %d: %s", text, error.field, error.column, error.text);
    return problem;
}

static inline gs_schedule schedule_of(const char *text)
{
    gs_schedule schedule;
    gs_error error = {0};
    if (gs_schedule_parse(&schedule, text, &error) != GS_OK) fail_msg("%s: %s", text, error.text);
    return schedule;
}

static inline bool same(const gs_schedule *a, const gs_schedule *b) { return memcmp(a, b, sizeof *a) == 0; }

static inline bool is_among(const gs_schedule *schedule, const gs_schedule *list, int count)
{
    for (int i = 0; i < count; i++)
        if (same(&list[i], schedule)) return true;
    return false;
}

static inline int words_changed(const gs_schedule *a, const gs_schedule *b)
{
    int changed = a->family != b->family ? GS_MAX_PARAMETERS + 1 : 0;
    for (int parameter = 0; parameter < GS_MAX_PARAMETERS; parameter++) changed += a->value[parameter] != b->value[parameter];
    return changed;
}

/* On a device with 132 multiprocessors. */
static inline int64_t value_of(const gs_formula *formula, const gs_problem *p)
{
    const gs_formula_names names = {p->m, p->n, p->k, p->batch, p->lda, p->ldb, p->ldc, p->ldd, 132};
    int64_t value = -1;
    gs_error error = {0};
    if (gs_formula_value(formula, &names, &value, &error) != GS_OK) fail_msg("%s: %s", formula->text, error.text);
    return value;
}

static inline void allow(const char *schedule, const char *problem, const gs_caps *caps)
{
    const gs_schedule s = schedule_of(schedule);
    const gs_problem p = problem_of(problem);
    gs_error error = {0};
    if (gs_schedule_check(&s, &p, caps, &error) != GS_OK) fail_msg("%s %s: %s: %s", schedule, problem, error.field, error.text);
}

/* field: the schedule's parameter or the problem's field that the refusal must name */
static inline void refuse(const char *schedule, const char *problem, const gs_caps *caps, const char *field)
{
    const gs_schedule s = schedule_of(schedule);
    const gs_problem p = problem_of(problem);
    gs_error error = {0};
    if (gs_schedule_check(&s, &p, caps, &error) != GS_ERROR_UNSUPPORTED) fail_msg("%s %s is accepted", schedule, problem);
    if (strcmp(error.field, field) != 0) fail_msg("%s %s: %s, not %s: %s", schedule, problem, error.field, field, error.text);
    assert_true(error.text[0] != '\0');
}

#endif
