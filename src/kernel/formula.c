/* SPDX-License-Identifier: MIT
 * Formulas: a recursive-descent parser that checks the syntax or, if values are given, evaluates.
 * The length of the text bounds its depth. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "kernel/manifest.h"

#define FIELD "formula"

static const struct name {
    const char *text;
    size_t      offset;
} names[] = {
    {"m",     offsetof(gs_formula_names, m)},
    {"n",     offsetof(gs_formula_names, n)},
    {"k",     offsetof(gs_formula_names, k)},
    {"batch", offsetof(gs_formula_names, batch)},
    {"lda",   offsetof(gs_formula_names, lda)},
    {"ldb",   offsetof(gs_formula_names, ldb)},
    {"ldc",   offsetof(gs_formula_names, ldc)},
    {"ldd",   offsetof(gs_formula_names, ldd)},
    {"sms",   offsetof(gs_formula_names, sms)},
};

typedef struct walk {
    gs_scan                 scan;
    const gs_formula_names *values;   /* NULL: syntax only */
    gs_error               *error;
} walk;

static gs_status expression(walk *w, int64_t *value);

static gs_status wrong(const walk *w, const char *expected)
{
    return gs_fail_at(w->error, GS_ERROR_PARSE, gs_scan_column(&w->scan), FIELD, "expected %s", expected);
}

static gs_status add(const walk *w, int64_t a, int64_t b, int64_t *sum)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return gs_fail_at(w->error, GS_ERROR_RANGE, gs_scan_column(&w->scan), FIELD, "a sum overflows 64 bits");
    *sum = a + b;
    return GS_OK;
}

static gs_status multiply(const walk *w, int64_t a, int64_t b, int64_t *product)
{
    const uint64_t size_a = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    const uint64_t size_b = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (size_a != 0 && size_b > INT64_MAX / size_a)
        return gs_fail_at(w->error, GS_ERROR_RANGE, gs_scan_column(&w->scan), FIELD, "a product overflows 64 bits");
    *product = a * b;
    return GS_OK;
}

static gs_status divide(const walk *w, int64_t a, int64_t b, int64_t *quotient)
{
    if (b == 0) return gs_fail_at(w->error, GS_ERROR_RANGE, gs_scan_column(&w->scan), FIELD, "divides by zero");
    if (b == -1) return multiply(w, a, -1, quotient);
    *quotient = a / b;
    return GS_OK;
}

/* cdiv(a,b): the quotient rounded up; b must be positive. */
static gs_status divide_up(const walk *w, int64_t a, int64_t b, int64_t *quotient)
{
    if (b <= 0) return gs_fail_at(w->error, GS_ERROR_RANGE, gs_scan_column(&w->scan), FIELD, "cdiv by a number below 1");
    *quotient = a / b + (a % b > 0);
    return GS_OK;
}

static gs_status call(walk *w, const char *function, int64_t *value)
{
    int64_t a = 0, b = 0;
    if (!gs_scan_take(&w->scan, "(")) return wrong(w, "'('");
    GS_TRY(expression(w, &a));
    if (!gs_scan_take(&w->scan, ",")) return wrong(w, "',' and a second number");
    GS_TRY(expression(w, &b));
    if (!gs_scan_take(&w->scan, ")")) return wrong(w, "')'");
    if (!w->values) return GS_OK;
    if (strcmp(function, "cdiv") == 0) return divide_up(w, a, b, value);
    *value = strcmp(function, "min") == 0 ? GS_MIN(a, b) : GS_MAX(a, b);
    return GS_OK;
}

static gs_status factor(walk *w, int64_t *value)
{
    if (isdigit((unsigned char)*w->scan.at)) {
        if (gs_scan_int(&w->scan, value)) return GS_OK;
        return gs_fail_at(w->error, GS_ERROR_RANGE, gs_scan_column(&w->scan), FIELD, "the number does not fit 64 bits");
    }
    if (gs_scan_take(&w->scan, "(")) {
        GS_TRY(expression(w, value));
        return gs_scan_take(&w->scan, ")") ? GS_OK : wrong(w, "')'");
    }
    const gs_scan start = w->scan;
    char word[8];
    size_t size = 0;
    while (size + 1 < sizeof word && islower((unsigned char)w->scan.at[size])) size++;
    memcpy(word, w->scan.at, size);
    word[size] = '\0';
    w->scan.at += size;
    if (strcmp(word, "cdiv") == 0 || strcmp(word, "min") == 0 || strcmp(word, "max") == 0) return call(w, word, value);
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        if (strcmp(word, names[i].text) != 0) continue;
        if (w->values) memcpy(value, (const char *)w->values + names[i].offset, sizeof *value);
        return GS_OK;
    }
    w->scan = start;
    return wrong(w, "a number, m n k batch lda ldb ldc ldd sms, cdiv(a,b), min(a,b), max(a,b) or '('");
}

static gs_status term(walk *w, int64_t *value)
{
    GS_TRY(factor(w, value));
    for (;;) {
        const bool times = gs_scan_take(&w->scan, "*");
        if (!times && !gs_scan_take(&w->scan, "/")) return GS_OK;
        int64_t right = 0;
        GS_TRY(factor(w, &right));
        if (w->values) GS_TRY(times ? multiply(w, *value, right, value) : divide(w, *value, right, value));
    }
}

static gs_status expression(walk *w, int64_t *value)
{
    GS_TRY(term(w, value));
    for (;;) {
        const bool plus = gs_scan_take(&w->scan, "+");
        if (!plus && !gs_scan_take(&w->scan, "-")) return GS_OK;
        int64_t right = 0;
        GS_TRY(term(w, &right));
        if (w->values && !plus && right == INT64_MIN)   /* cannot be negated */
            return gs_fail_at(w->error, GS_ERROR_RANGE, gs_scan_column(&w->scan), FIELD, "a sum overflows 64 bits");
        if (w->values) GS_TRY(add(w, *value, plus ? right : -right, value));
    }
}

static gs_status whole(walk *w, int64_t *value)
{
    GS_TRY(expression(w, value));
    return gs_scan_end(&w->scan) ? GS_OK : wrong(w, "an operator or the end (no blanks inside a formula)");
}

gs_status gs_formula_set(gs_formula *formula, const char *text, gs_error *error)
{
    const size_t size = strlen(text);
    if (size >= sizeof formula->text)
        return gs_fail(error, GS_ERROR_RANGE, FIELD, "is longer than %d characters", (int)sizeof formula->text - 1);
    if (size > 0) {
        walk w = {gs_scan_from(text), NULL, error};
        int64_t unused = 0;
        GS_TRY(whole(&w, &unused));
    }
    memcpy(formula->text, text, size + 1);
    memset(formula->text + size + 1, 0, sizeof formula->text - size - 1);
    return GS_OK;
}

gs_status gs_formula_value(const gs_formula *formula, const gs_formula_names *values, int64_t *value, gs_error *error)
{
    int64_t result = 0;
    if (formula->text[0] != '\0') {
        walk w = {gs_scan_from(formula->text), values, error};
        GS_TRY(whole(&w, &result));
    }
    if (result < 0) return gs_fail(error, GS_ERROR_RANGE, FIELD, "%s is negative: %lld", formula->text, (long long)result);
    *value = result;
    return GS_OK;
}
