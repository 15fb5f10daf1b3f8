/* SPDX-License-Identifier: MIT
 * Proves that formulas compute and refuse what they should, that manifests round-trip, that their errors name line and column,
 * and that limits hold for manifests filled by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "problem/layout.h"

static const gs_formula_names names = {.m = 1000, .n = 257, .k = 64, .batch = 3, .lda = 65, .ldb = 66, .ldc = 67, .ldd = 68,
                                       .sms = 132};

static void formulas_compute(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t     value;
    } cases[] = {
        {"",                                          0},
        {"7",                                         7},
        {"m*n*4",                                     1028000},
        {"min(sms,cdiv(m,128)*cdiv(n,256))",          16},
        {"max(m,n)-min(m,n)",                         743},
        {"1+2*3",                                     7},
        {"(1+2)*3",                                   9},
        {"10-3-2",                                    5},
        {"100/7/2",                                   7},
        {"cdiv(0,128)",                               0},
        {"cdiv(128,128)",                             1},
        {"cdiv(129,128)",                             2},
        {"(n-m)/2+m",                                 629},
        {"lda+ldb*100+ldc*10000+ldd*1000000+batch",   68676668},
        {"((((((((((k))))))))))",                     64},
        {"9223372036854775807",                       INT64_MAX},
        {"(0-1)*(0-5)",                               5},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_formula formula;
        gs_error error = {0};
        int64_t value = -1;
        if (gs_formula_set(&formula, cases[i].text, &error) != GS_OK) fail_msg("'%s': %s", cases[i].text, error.text);
        assert_string_equal(formula.text, cases[i].text);
        assert_int_equal(gs_formula_value(&formula, &names, &value, NULL), GS_OK);
        if (value != cases[i].value) fail_msg("'%s' is %lld", cases[i].text, (long long)value);
    }
}

static void formulas_with_errors_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int         column;
    } cases[] = {
        {"m+", 3}, {"+m", 1}, {"m n", 2}, {"m + n", 2}, {"cdiv(m)", 7}, {"cdiv(m,n", 9}, {"cdiv", 5}, {"(m", 3}, {"m)", 2},
        {"q", 1}, {"mm", 1}, {"-1", 1}, {"M", 1}, {"m;n", 2}, {"m%n", 2}, {"min(m,n,k)", 8}, {"1x", 2}, {"batches", 1}, {"()", 2},
        {"m**n", 3}, {"sms(1)", 4},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_formula formula = {"m"};
        gs_error error = {0};
        assert_int_equal(gs_formula_set(&formula, cases[i].text, &error), GS_ERROR_PARSE);
        if (error.column != cases[i].column) fail_msg("'%s': column %d", cases[i].text, error.column);
        assert_string_equal(error.field, "formula");
        assert_string_equal(formula.text, "m");   /* unchanged */
        assert_int_equal(gs_formula_set(&formula, cases[i].text, NULL), GS_ERROR_PARSE);
    }
    gs_formula formula;
    char text[GS_FORMULA + 1];
    memset(text, '1', sizeof text);
    text[GS_FORMULA] = '\0';
    assert_int_equal(gs_formula_set(&formula, text, NULL), GS_ERROR_RANGE);      /* too long */
    assert_int_equal(gs_formula_set(&formula, "9223372036854775808", NULL), GS_ERROR_RANGE);
    memset(text, '(', sizeof text);
    text[GS_FORMULA - 1] = '\0';
    assert_int_equal(gs_formula_set(&formula, text, NULL), GS_ERROR_PARSE);      /* the deepest nesting that fits */
}

static void formulas_out_of_range_say_so(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "m/(n-257)", "cdiv(m,0)", "cdiv(m,0-1)", "n-m", "9223372036854775807+1", "9223372036854775807*2", "3037000500*3037000500",
        "0-9223372036854775807-2", "(0-9223372036854775807-1)/(0-1)", "(0-9223372036854775807-1)*(0-1)",
        "0-(0-9223372036854775807-1)",
    };
    for (size_t i = 0; i < GS_COUNT(texts); i++) {
        gs_formula formula;
        gs_error error = {0};
        int64_t value = 42;
        assert_int_equal(gs_formula_set(&formula, texts[i], NULL), GS_OK);
        if (gs_formula_value(&formula, &names, &value, &error) != GS_ERROR_RANGE)
            fail_msg("%s is %lld", texts[i], (long long)value);
        assert_int_equal(value, 42);
        assert_true(error.text[0] != '\0');
    }
}

/* Why a formula is refused, when it is read or when it is computed. */
static void formulas_say_why(void **state)
{
    (void)state;
    static const struct { const char *text, *message; } cases[] = {
        {"cdiv",                    "expected '('"},
        {"cdiv(m)",                 "expected ',' and a second number"},
        {"cdiv(m,n",                "expected ')'"},
        {"(m",                      "expected ')'"},
        {"m n",                     "expected an operator or the end (no blanks inside a formula)"},
        {"q",                       "expected a number, m n k batch lda ldb ldc ldd sms, cdiv(a,b), min(a,b), max(a,b) or '('"},
        {"9223372036854775808",     "the number does not fit 64 bits"},
        {"m/(n-257)",               "divides by zero"},
        {"cdiv(m,0)",               "cdiv by a number below 1"},
        {"cdiv(m,0-1)",             "cdiv by a number below 1"},
        {"n-m",                     "n-m is negative: -743"},
        {"9223372036854775807+1",   "a sum overflows 64 bits"},
        {"0-9223372036854775807-2", "a sum overflows 64 bits"},
        {"0-(0-9223372036854775807-1)", "a sum overflows 64 bits"},
        {"9223372036854775807*2",   "a product overflows 64 bits"},
        {"(0-9223372036854775807-1)/(0-1)", "a product overflows 64 bits"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_formula formula;
        gs_error error = {0};
        int64_t value;
        if (gs_formula_set(&formula, cases[i].text, &error) == GS_OK) assert_int_equal(gs_formula_value(&formula, &names, &value, &error), GS_ERROR_RANGE);
        assert_string_equal(error.text, cases[i].message);
        assert_string_equal(error.field, "formula");
    }
    char text[GS_FORMULA + 1];
    gs_formula formula;
    gs_error error = {0};
    memset(text, '1', sizeof text);
    text[GS_FORMULA] = '\0';
    assert_int_equal(gs_formula_set(&formula, text, &error), GS_ERROR_RANGE);
    snprintf(text, sizeof text, "is longer than %d characters", GS_FORMULA - 1);
    assert_string_equal(error.text, text);
}

#define SIX "map a 8x8 sw0\nmap a 8x8 sw0\nmap a 8x8 sw0\nmap a 8x8 sw0\nmap a 8x8 sw0\nmap a 8x8 sw0\n"

static const char canonical[] =
    "manifest 1\n"
    "accumulator f32\n"
    "determinism bitwise\n"
    "align a=16 b=16 c=2 d=16\n"
    "workspace m*n*4\n"
    "zeroed 4*cdiv(m,64)\n"
    "entry gs_ws\n"
    "grid min(sms,cdiv(m,128)*cdiv(n,256)) 1 1\n"
    "block 384 1 1\n"
    "cluster 2 1 1\n"
    "smem 214016\n"
    "dependent\n"
    "map a 64x128 sw128\n"
    "map b 64x256 sw128 batch turn\n"
    "map d 32x64 sw0\n"
    "map b 64x16 sw128 eighth 3\n"
    "entry gs_reduce\n"
    "grid cdiv(m*n,256) 1 1\n"
    "block 256 1 1\n";

static void manifests_round_trip(void **state)
{
    (void)state;
    gs_manifest manifest, back;
    gs_error error = {0};
    if (gs_manifest_parse(&manifest, canonical, &error) != GS_OK) fail_msg("%s: %s", error.field, error.text);
    assert_int_equal(gs_manifest_check(&manifest, NULL), GS_OK);
    assert_int_equal(manifest.entry_count, 2);
    assert_int_equal(manifest.accumulator, GS_F32);
    assert_true(manifest.bitwise);
    assert_int_equal(manifest.align[2], 2);
    assert_string_equal(manifest.workspace.text, "m*n*4");
    assert_string_equal(manifest.zeroed.text, "4*cdiv(m,64)");
    const gs_entry *const e = &manifest.entry[0];
    assert_string_equal(e->name, "gs_ws");
    assert_int_equal(e->block[0], 384);
    assert_int_equal(e->cluster[0], 2);
    assert_true(e->dependent);
    assert_int_equal(e->map_count, 4);
    assert_int_equal(e->map[3].eighth, 3);
    assert_true(e->map[1].operand == 'b' && e->map[1].inner == 64 && e->map[1].outer == 256 && e->map[1].swizzle == 128 && e->map[1].batch && e->map[1].turn);
    assert_int_equal(manifest.entry[1].cluster[0], 1);
    assert_string_equal(manifest.entry[1].smem.text, "");

    gs_text text = {0};
    gs_manifest_format(&manifest, &text);
    assert_string_equal(gs_text_string(&text), canonical);
    assert_int_equal(gs_manifest_parse(&back, gs_text_string(&text), NULL), GS_OK);
    gs_text_clear(&text);
    gs_manifest_format(&back, &text);
    assert_string_equal(gs_text_string(&text), canonical);
    gs_text_free(&text);
}

static void comments_and_blanks_do_not_count(void **state)
{
    (void)state;
    static const char loose[] =
        "# a kernel\n\n  manifest\t1 # the version\n\naccumulator   f16\ndeterminism none\nalign a=1 b=2 c=256 d=4   \n"
        "#\nentry _k1#x\n\tgrid m n batch\nblock 1 1 1\ncluster 1 1 1\n   # end";
    gs_manifest manifest;
    gs_text text = {0};
    gs_error error = {0};
    if (gs_manifest_parse(&manifest, loose, &error) != GS_OK) fail_msg("%s column %d: %s", error.field, error.column, error.text);
    gs_manifest_format(&manifest, &text);
    assert_string_equal(gs_text_string(&text), "manifest 1\naccumulator f16\ndeterminism none\nalign a=1 b=2 c=256 d=4\n"
                                               "entry _k1\ngrid m n batch\nblock 1 1 1\n");
    gs_text_free(&text);
}

/* legend: a line of the canonical text, what it becomes (NULL: it goes), status, field, column */
/* As editors of other systems write a text: carriage returns before the ends of lines, a mark before the first. */
static void ends_of_lines_of_any_system(void **state)
{
    (void)state;
    static const char *const wrong[] = {"manifest 1\raccumulator f32\r", "\r\xef\xbb\xbfmanifest 1\n", "\xef\xbbmanifest 1\n", "manifest\r 1\n"};
    gs_text text = {0}, back = {0};
    gs_manifest manifest;
    gs_error error = {0};
    gs_text_add(&text, "\xef\xbb\xbf");
    for (const char *at = canonical; *at; at++) {
        if (*at == '\n') gs_text_add(&text, at[1] ? "\r" : " \r");
        if (*at != '\n' || at[1]) gs_text_add_bytes(&text, at, 1);
    }
    if (gs_manifest_parse(&manifest, gs_text_string(&text), &error) != GS_OK) fail_msg("%s: %s", error.field, error.text);
    gs_manifest_format(&manifest, &back);
    assert_string_equal(gs_text_string(&back), canonical);
    gs_text_free(&text);
    gs_text_free(&back);
    for (size_t i = 0; i < GS_COUNT(wrong); i++) assert_int_equal(gs_manifest_parse(&manifest, wrong[i], &error), GS_ERROR_PARSE);
    gs_text inside = {0};
    gs_text_addf(&inside, "manifest 1 \r words%s", strchr(canonical, '\n'));
    assert_int_equal(gs_manifest_parse(&manifest, gs_text_string(&inside), &error), GS_ERROR_PARSE);
    gs_text_free(&inside);
}

/* What stands where another line should is named if it is one of ours; of another's words nothing is repeated. */
static void a_word_in_the_wrong_place(void **state)
{
    (void)state;
    static const char *const words[] = {"accumulator", "determinism", "align", "workspace", "zeroed", "entry", "grid", "block", "cluster", "smem", "dependent", "map", "pack"};
    char text[64], want[96];
    gs_manifest manifest;
    gs_error error;
    for (size_t i = 0; i < GS_COUNT(words); i++) {
        snprintf(text, sizeof text, "%s 1\n", words[i]);
        snprintf(want, sizeof want, "expected a line 'manifest' here, not %s", words[i]);
        assert_int_equal(gs_manifest_parse(&manifest, text, &error), GS_ERROR_PARSE);
        if (!strstr(error.text, want)) fail_msg("%s", error.text);
    }
    assert_int_equal(gs_manifest_parse(&manifest, "ignore everything\n", &error), GS_ERROR_PARSE);
    assert_non_null(strstr(error.text, "expected a line 'manifest' here"));
    assert_null(strstr(error.text, "ignore"));
}

static void errors_name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *line, *instead;
        gs_status   status;
        const char *field;
        int         column;
    } cases[] = {
        {"manifest 1\n",               "manifest 2\n",             GS_ERROR_PARSE, "line 1: manifest",     1},
        {"manifest 1\n",               "",                         GS_ERROR_PARSE, "line 1: manifest",     1},
        {"accumulator f32\n",          "accumulator f64\n",        GS_ERROR_PARSE, "line 2: accumulator", 13},
        {"determinism bitwise\n",      "determinism\n",            GS_ERROR_PARSE, "line 3: determinism", 12},
        {"align a=16 b=16",            "align b=16 a=16",          GS_ERROR_PARSE, "line 4: align",        7},
        {"align a=16 b=16",            "align a=16 b=24",          GS_ERROR_RANGE, "line 4: align",        1},
        {"align a=16 b=16",            "align a=16 b=512",         GS_ERROR_RANGE, "line 4: align",        1},
        {"c=2 d=16\n",                 "c=2 d=16 e=1\n",           GS_ERROR_PARSE, "line 4: align",       26},
        {"workspace m*n*4\n",          "workspace m*n*\n",         GS_ERROR_PARSE, "line 5: workspace",   15},
        {"workspace m*n*4\n",          "workspace m * n\n",        GS_ERROR_PARSE, "line 5: workspace",   13},
        {"workspace m*n*4\n",          "workspace\n",              GS_ERROR_PARSE, "line 5: workspace",   10},
        {"workspace m*n*4\n",          "",                         GS_ERROR_PARSE, "line 5: entry",        1},   /* zeroed, but of what? */
        {"zeroed 4*cdiv(m,64)\n",      "zeroed\n",                 GS_ERROR_PARSE, "line 6: zeroed",       7},
        {"zeroed 4*cdiv(m,64)\n",      "zeroed 4*cdiv(m)\n",       GS_ERROR_PARSE, "line 6: zeroed",      16},
        {"zeroed 4*cdiv(m,64)\n",      "zeroed 4 4\n",             GS_ERROR_PARSE, "line 6: zeroed",      10},
        {"zeroed 4*cdiv(m,64)\n",      "zeroed 4\nzeroed 4\n",     GS_ERROR_PARSE, "line 7: entry",        1},
        {"entry gs_ws\n",              "entry 2ws\n",              GS_ERROR_RANGE, "line 7: entry",        1},
        {"entry gs_ws\n",              "entry\n",                  GS_ERROR_PARSE, "line 7: entry",        6},
        {"entry gs_ws\n",              "",                         GS_ERROR_PARSE, "line 7: entry",        1},
        {"grid min(sms,",              "grid min(SMS,",            GS_ERROR_PARSE, "line 8: grid",        10},
        {"block 384 1 1\n",            "block 384 1\n",            GS_ERROR_PARSE, "line 9: block",       12},
        {"block 384 1 1\n",            "block 1024 2 1\n",         GS_ERROR_RANGE, "line 9: block",        1},
        {"block 384 1 1\n",            "block 1 1 65\n",           GS_ERROR_RANGE, "line 9: block",        1},
        {"block 384 1 1\n",            "block 0 1 1\n",            GS_ERROR_RANGE, "line 9: block",        1},
        {"block 384 1 1\n",            "block 99999 99999 9\n",    GS_ERROR_RANGE, "line 9: block",        7},
        {"cluster 2 1 1\n",            "cluster 4 8 1\n",          GS_ERROR_RANGE, "line 10: cluster",      1},
        {"smem 214016\n",              "smem -1\n",                GS_ERROR_PARSE, "line 11: smem",        6},
        {"dependent\n",                "dependent yes\n",          GS_ERROR_PARSE, "line 12: dependent",  11},
        {"dependent\n",                "independent\n",            GS_ERROR_PARSE, "line 12: entry",       1},
        {"map a 64x128 sw128\n",       "map e 64x128 sw128\n",     GS_ERROR_PARSE, "line 13: map",         5},
        {"map a 64x128 sw128\n",       "map a 64 128 sw128\n",     GS_ERROR_PARSE, "line 13: map",         9},
        {"map a 64x128 sw128\n",       "map a 64x128 sw128 all\n", GS_ERROR_PARSE, "line 13: map",        20},
        {"map a 64x128 sw128\n",       "map a 64x257 sw128\n",     GS_ERROR_RANGE, "line 13: map",         1},
        {"map a 64x128 sw128\n",       "map a 64x128 sw48\n",      GS_ERROR_RANGE, "line 13: map",         1},
        {"map a 64x128 sw128\n",       "map a 64x128 sw64\n",      GS_ERROR_RANGE, "line 13: map",         1},
        {"map a 64x128 sw128\n",       "map a 60x128 sw128\n",     GS_ERROR_RANGE, "line 13: map",         1},
        {"map a 64x128 sw128\n",       "map c 64x128 sw128\n",     GS_ERROR_RANGE, "line 13: map",         1},   /* align c=2 */
        {"map d 32x64 sw0\n",          SIX SIX SIX, GS_ERROR_RANGE, "line 33: map", 1},
        {"block 256 1 1\n",            "",                         GS_ERROR_PARSE, "line 19: block",       1},
        {"block 256 1 1\n",            "block 256 1 1\nsmem 0\ncluster 1 1 1\n", GS_ERROR_PARSE, "line 21: entry", 1},
        {"block 256 1 1\n",            "block 256 1 1\n???\n",     GS_ERROR_PARSE, "line 20: entry",       1},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const char *const at = strstr(canonical, cases[i].line);
        assert_non_null(at);
        char text[1024];
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - canonical), canonical, cases[i].instead, at + strlen(cases[i].line));
        gs_manifest manifest, before;
        memset(&manifest, 0x5a, sizeof manifest);
        before = manifest;
        gs_error error = {0};
        const gs_status status = gs_manifest_parse(&manifest, text, &error);
        if (status != cases[i].status || strcmp(error.field, cases[i].field) != 0 || error.column != cases[i].column)
            fail_msg("'%s': status %d, '%s' column %d: %s", cases[i].instead, (int)status, error.field, error.column, error.text);
        assert_memory_equal(&manifest, &before, sizeof before);
        assert_int_equal(gs_manifest_parse(&manifest, text, NULL), status);
    }
    gs_manifest manifest;
    assert_int_equal(gs_manifest_parse(&manifest, "", NULL), GS_ERROR_PARSE);
}

/* What is said of a text that is refused, and that nothing of it is taken. */
static void errors_say_why(void **state)
{
    (void)state;
    /* legend: a part of the canonical text, what it becomes, what is said */
    static const struct { const char *part, *instead, *message; } cases[] = {
        {"manifest 1\n",               "manifest 2\n",          "version 2 is not known; this library reads version 1"},
        {"manifest 1\n",               "manifest x\n",          "expected a whole number"},
        {"accumulator f32\n",          "accumulator f64\n",     "expected f32 or f16"},
        {"determinism bitwise\n",      "determinism all\n",     "expected none or bitwise"},
        {"align a=16 b=16",            "align b=16 a=16",       "expected a= b= c= d= in this order"},
        {"align a=16 b=16",            "align a=16 b=24",       "b=24 is no power of two from 1 to 256"},
        {"align a=16 b=16",            "align a=0 b=16",        "a=0 is no power of two from 1 to 256"},
        {"align a=16 b=16",            "align a=16 b=512",      "b=512 is no power of two from 1 to 256"},
        {"c=2 d=16\n",                 "c=2 d=16 e=1\n",        "expected the end of the line"},
        {"workspace m*n*4\n",          "workspace\n",           "expected a formula"},
        {"zeroed 4*cdiv(m,64)\n",      "pack b\n",              ""},   /* it is read */
        {"zeroed 4*cdiv(m,64)\n",      "zeroed 4\npack b\n",    "copies need a workspace that does not start with zeros"},
        {"zeroed 4*cdiv(m,64)\n",      "pack d\n",              "expected a, b or ab"},
        {"entry gs_ws\n",              "entry\n",               "expected the name of a kernel"},
        {"entry gs_ws\n",              "entry 2ws\n",           "the kernel's name must be a C identifier of at most 63 characters"},
        {"grid min(sms,",              "grd min(sms,",          "expected a line 'grid' here"},
        {"block 384 1 1\n",            "block 384 1\n",         "expected a whole number"},
        {"block 384 1 1\n",            "block 1025 1 1\n",      "1025 threads along x are not from 1 to 1024"},
        {"block 384 1 1\n",            "block 1 1 65\n",        "65 threads along z are not from 1 to 64"},
        {"block 384 1 1\n",            "block 1 0 1\n",         "0 threads along y are not from 1 to 1024"},
        {"block 384 1 1\n",            "block 512 3 1\n",       "more than 1024 threads"},
        {"block 384 1 1\n",            "block 512 1 3\n",       "more than 1024 threads"},
        {"block 384 1 1\n",            "block 65537 1 1\n",     "the number is too large or negative"},
        {"block 384 1 1\n",            "block -1 1 1\n",        "the number is too large or negative"},
        {"cluster 2 1 1\n",            "cluster 1 17 1\n",      "17 blocks along y are not from 1 to 16"},
        {"cluster 2 1 1\n",            "cluster 1 1 0\n",       "0 blocks along z are not from 1 to 16"},
        {"cluster 2 1 1\n",            "cluster 4 5 1\n",       "more than 16 blocks"},
        {"cluster 2 1 1\n",            "cluster 4 4 1\n",       ""},
        {"map a 64x128 sw128\n",       "map e 64x128 sw128\n",  "expected an operand: a, b, c or d"},
        {"map a 64x128 sw128\n",       "map a 64 128 sw128\n",  "expected a box such as 64x128"},
        {"map a 64x128 sw128\n",       "map a 64x128 128\n",    "expected sw0, sw32, sw64 or sw128"},
        {"map a 64x128 sw128\n",       "map a 64x257 sw128\n",  "a box of 64x257 is not from 1x1 to 256x256 elements"},
        {"map a 64x128 sw128\n",       "map a 0x1 sw128\n",     "a box of 0x1 is not from 1x1 to 256x256 elements"},
        {"map a 64x128 sw128\n",       "map a 64x128 sw16\n",   "the swizzle must be sw0, sw32, sw64 or sw128"},
        {"map a 64x128 sw128\n",       "map a 60x128 sw128\n",  "the box's inner extent 60 is no multiple of 8"},
        {"map a 64x128 sw128\n",       "map b 60x128 sw128\n",  "the box's inner extent 60 is no multiple of 8"},
        {"map d 32x64 sw0\n",          "map d 30x64 sw0\n",     "the box's inner extent 30 is no multiple of 4"},
        {"map d 32x64 sw0\n",          "map d 36x64 sw0\n",     ""},
        {"map a 64x128 sw128\n",       "map a 64x128 sw64\n",   "a box row of 64 elements is longer than the swizzle of 64 bytes"},
        {"map a 64x128 sw128\n",       "map a 32x128 sw64\n",   ""},
        {"map a 64x128 sw128\n",       "map a 16x128 sw32\n",   ""},
        {"map a 64x128 sw128\n",       "map a 64x128 sw0\n",    ""},
        {"map a 64x128 sw128\n",       "map a 64x128 sw128 turn\n", "only b is read in turn, sixteen rows at a time"},
        {"map b 64x256 sw128 batch turn\n", "map b 64x24 sw128 turn\n", "only b is read in turn, sixteen rows at a time"},
        {"map a 64x128 sw128\n",       "map a 64x16 sw128 eighth 8\n", ""},
        {"map a 64x128 sw128\n",       "map a 64x16 sw128 eighth 9\n", "every eighth row, from the first to the eighth on, is read of a or b alone, of one matrix, not in turn"},
        {"map a 64x128 sw128\n",       "map a 64x16 sw128 batch eighth 1\n", "every eighth row, from the first to the eighth on, is read of a or b alone, of one matrix, not in turn"},
        {"map b 64x256 sw128 batch turn\n", "map b 64x16 sw128 turn eighth 1\n", "every eighth row, from the first to the eighth on, is read of a or b alone, of one matrix, not in turn"},
        {"map d 32x64 sw0\n",          "map d 32x16 sw0 eighth 1\n", "every eighth row, from the first to the eighth on, is read of a or b alone, of one matrix, not in turn"},
        {"map a 64x128 sw128\n",       "map a 64x16 sw128 eighth 0\n", "expected a number from 1 to 8"},
        {"map a 64x128 sw128\n",       "map a 64x16 sw128 eighth\n", "expected a whole number"},
        {"map a 64x128 sw128\n",       "map c 64x128 sw128\n",  "a tensor map of c needs c=16 or more in the line align, which says 2"},
        {"map d 32x64 sw0\n",          SIX SIX SIX "map a 8x8 sw0\n", "an entry has at most 20 maps"},
        {"entry gs_reduce\n",          "entry b\ngrid 1 1 1\nblock 1 1 1\nentry gs_reduce\n", ""},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const char *const at = strstr(canonical, cases[i].part);
        char text[1024];
        gs_manifest manifest;
        gs_error error = {0};
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - canonical), canonical, cases[i].instead, at + strlen(cases[i].part));
        const gs_status status = gs_manifest_parse(&manifest, text, &error);
        if ((status == GS_OK) != !*cases[i].message || strcmp(error.text, cases[i].message) != 0) fail_msg("%s: %s", cases[i].instead, error.text);
        if (status == GS_OK) assert_int_equal(gs_manifest_check(&manifest, &error), GS_OK);
    }
    gs_text many = {0};
    for (int i = 0; i < 2; i++) {   /* as many entries as there may be, and one more */
        gs_text_clear(&many);
        gs_text_add(&many, canonical);
        for (int entry = 2; entry < GS_MAX_ENTRIES + i; entry++) gs_text_addf(&many, "entry e%d\ngrid 1 1 1\nblock 1 1 1\n", entry);
        gs_manifest read;
        gs_error why = {0};
        assert_int_equal(gs_manifest_parse(&read, gs_text_string(&many), &why), i ? GS_ERROR_RANGE : GS_OK);
        if (i) assert_non_null(strstr(why.text, "a manifest has at most "));
    }
    gs_text_free(&many);
    char lengthy[GS_FORMULA + 512];
    gs_manifest manifest;
    gs_error error = {0};
    snprintf(lengthy, sizeof lengthy, "manifest 1\naccumulator f32\ndeterminism none\nalign a=2 b=2 c=2 d=2\nworkspace %0*d\n", GS_FORMULA, 1);
    assert_int_equal(gs_manifest_parse(&manifest, lengthy, &error), GS_ERROR_RANGE);
    snprintf(lengthy, sizeof lengthy, "a formula may have %d characters", GS_FORMULA - 1);
    assert_string_equal(error.text, lengthy);
    assert_int_equal(error.column, 11);
}

#define SPOILT(change, expected)                                              \
    do {                                                                      \
        gs_manifest m;                                                        \
        gs_error error = {0};                                                 \
        assert_int_equal(gs_manifest_parse(&m, canonical, NULL), GS_OK);      \
        change;                                                               \
        assert_true(gs_manifest_check(&m, &error) != GS_OK);                  \
        assert_string_equal(error.field, expected);                           \
        assert_true(gs_manifest_check(&m, NULL) != GS_OK);                    \
    } while (0)

static void check_finds_what_no_device_can_launch(void **state)
{
    (void)state;
    SPOILT(m.accumulator = GS_BF16, "accumulator");
    SPOILT(m.align[3] = 0, "align");
    SPOILT(m.align[0] = -16, "align");
    SPOILT(m.align[0] = 8, "map");
    SPOILT(m.entry_count = 0, "entry");
    SPOILT(m.entry_count = GS_MAX_ENTRIES + 1, "entry");
    SPOILT(memset(m.entry[0].name, 'x', sizeof m.entry[0].name), "entry");
    SPOILT(m.entry[1].name[0] = '\0', "entry");
    SPOILT(m.entry[0].grid[2].text[0] = '\0', "grid");
    SPOILT(m.entry[0].grid[2].text[0] = '?', "grid");
    SPOILT(memset(m.entry[0].smem.text, '1', GS_FORMULA), "smem");
    SPOILT(m.workspace.text[0] = '*', "workspace");
    SPOILT(m.workspace.text[0] = '\0', "zeroed");
    SPOILT(m.zeroed.text[0] = '*', "zeroed");
    SPOILT(memset(m.zeroed.text, '1', GS_FORMULA), "zeroed");
    SPOILT(m.entry[0].block[2] = 0, "block");
    SPOILT(m.entry[0].block[1] = 1024, "block");
    SPOILT(m.entry[0].cluster[2] = 0, "cluster");
    SPOILT(m.entry[0].cluster[1] = 16, "cluster");
    SPOILT(m.entry[0].map_count = GS_MAX_MAPS + 1, "map");
    SPOILT(m.entry[0].map_count = -1, "map");
    SPOILT(m.entry[0].map[2].operand = 'w', "map");
    SPOILT(m.entry[0].map[2].outer = 0, "map");
    SPOILT(m.entry[0].map[2].swizzle = 16, "map");
}

static void options_that_do_not_fit_are_noticed(void **state)
{
    (void)state;
    gs_kernel kernel = {0};
    gs_kernel_define(&kernel, "GS_BM", 128);
    assert_string_equal(kernel.option[0], "-DGS_BM=128");
    const gs_problem problem = gs_problem_make(GS_BF16, GS_TN, 1, 1, 1);
    gs_kernel_define_problem(&kernel, &problem);
    assert_int_equal(kernel.option_count, 6);
    assert_string_equal(kernel.option[1], "-DGS_IN=1");
    assert_string_equal(kernel.option[4], "-DGS_LAYOUT=1");
    assert_string_equal(kernel.option[5], "-DGS_BETA=0");
    for (int i = 6; i < GS_MAX_OPTIONS; i++) gs_kernel_define(&kernel, "GS_X", i);
    assert_int_equal(kernel.option_count, GS_MAX_OPTIONS);
    gs_kernel_define(&kernel, "GS_ONE_TOO_MANY", 1);
    assert_true(kernel.option_count > GS_MAX_OPTIONS);
    gs_kernel other = {0};
    gs_kernel_define(&other, "GS_A_NAME_THAT_IS_MUCH_TOO_LONG_FOR_ONE_OPTION_OF_A_KERNEL", 1);
    assert_true(other.option_count > GS_MAX_OPTIONS);
}

/* Every family's manifest passes the check and reads back as text. */
static void built_kernels_have_good_manifests(void **state)
{
    (void)state;
    static const char *const texts[] = {"f16:4096x4096x4096:tn", "bf16:300x500x64:nn:d=f32:beta=1", "f16:33x17x65:tn:acc=f16"};
    for (size_t i = 0; i < GS_COUNT(texts); i++)
        for (int family = 0; family < GS_FAMILIES; family++) {
            gs_problem problem;
            gs_schedule list[4];
            assert_int_equal(gs_problem_parse(&problem, texts[i], NULL), GS_OK);
            const int size = gs_schedule_shortlist(&problem, gs_caps_find("h200"), 1u << family, list, 4);
            for (int s = 0; s < size; s++) {
                gs_kernel kernel;
                gs_manifest back;
                gs_text text = {0}, again = {0};
                gs_error error = {0};
                if (gs_kernel_build(&kernel, &list[s], &problem, gs_caps_find("h200"), &error) != GS_OK)
                    fail_msg("%s: %s: %s", texts[i], error.field, error.text);
                gs_manifest_format(&kernel.manifest, &text);
                if (gs_manifest_parse(&back, gs_text_string(&text), &error) != GS_OK)
                    fail_msg("%s: %s\n%s", error.field, error.text, text.data);
                gs_manifest_format(&back, &again);
                assert_string_equal(gs_text_string(&again), gs_text_string(&text));
                assert_ptr_equal(kernel.source, gs_embedded_find(kernel.name));
                assert_non_null(kernel.source);
                gs_text_free(&text);
                gs_text_free(&again);
            }
        }
    gs_kernel kernel;
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 1, 1, 1);
    assert_int_equal(gs_kernel_build(&kernel, &(gs_schedule){.family = GS_FAMILIES}, &problem, gs_caps_find("h200"), NULL),
                     GS_ERROR_RANGE);
    assert_null(gs_embedded_find("no/such.cu"));
    assert_non_null(gs_embedded_find("common/args.h"));
}

static bool has_option(const gs_kernel *kernel, const char *option)
{
    for (int i = 0; i < kernel->option_count; i++)
        if (strcmp(kernel->option[i], option) == 0) return true;
    return false;
}

/* A kernel for odd rows is run with the real ones, which it may have as constants. */
static void rows_of_the_call(void **state)
{
    (void)state;
    gs_schedule fixed, any;
    gs_problem real = gs_problem_make(GS_F16, GS_TN, 256, 256, 1024), odd = real;
    odd.lda |= 1, odd.ldb |= 1, odd.ldc |= 1, odd.ldd |= 1;
    gs_kernel kernel, before;
    assert_int_equal(gs_schedule_parse(&fixed, "splitk/64x64x64/s4/ab/c1x1/k4/fixed/cpasync", NULL), GS_OK);
    assert_int_equal(gs_kernel_build(&kernel, &fixed, &odd, gs_caps_find("h200"), NULL), GS_OK);
    before = kernel;
    assert_true(has_option(&kernel, "-DGS_LDA=1025") && has_option(&kernel, "-DGS_LDD=257"));
    gs_kernel_set_rows(&kernel, &real);
    assert_true(has_option(&kernel, "-DGS_LDA=1024") && has_option(&kernel, "-DGS_LDB=1024") && has_option(&kernel, "-DGS_LDC=256") && has_option(&kernel, "-DGS_LDD=256"));
    assert_false(has_option(&kernel, "-DGS_LDA=1025"));
    assert_true(has_option(&kernel, "-DGS_FEED_A=2") && has_option(&kernel, "-DGS_VECTOR=0"));   /* what it relies on is as before */
    assert_int_equal(kernel.option_count, before.option_count);
    assert_int_equal(gs_schedule_parse(&any, "splitk/64x64x64/s4/ab/c1x1/k4/any/cpasync", NULL), GS_OK);
    assert_int_equal(gs_kernel_build(&kernel, &any, &odd, gs_caps_find("h200"), NULL), GS_OK);
    before = kernel;
    gs_kernel_set_rows(&kernel, &real);
    for (int i = 0; i < kernel.option_count; i++) assert_string_equal(kernel.option[i], before.option[i]);
}

/* Copies of operands in the workspace. */
static void packed_operands(void **state)
{
    (void)state;
    static const char head[] = "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=16 c=2 d=16\n";
    static const char tail[] = "entry k\ngrid 1 1 1\nblock 32 1 1\nmap a 64x128 sw128\n";
    static const struct {
        const char *line;
        bool        a, b;
        gs_status   status;
    } cases[] = {
        {"workspace 1024\npack a\n", true, false, GS_OK},  {"workspace 1024\npack b\n", false, true, GS_ERROR_RANGE},   /* the map is of A */ {"workspace 1024\npack ab\n", true, true, GS_OK},
        {"workspace 1024\n", false, false, GS_ERROR_RANGE}, {"pack a\n", false, false, GS_ERROR_PARSE},      {"workspace 1024\npack c\n", false, false, GS_ERROR_PARSE},
        {"workspace 1024\npack ba\n", false, false, GS_ERROR_PARSE}, {"workspace 1024\nzeroed 4\npack a\n", false, false, GS_ERROR_RANGE},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[512];
        gs_manifest manifest;
        gs_text out = {0};
        snprintf(text, sizeof text, "%s%s%s", head, cases[i].line, tail);
        assert_int_equal(gs_manifest_parse(&manifest, text, NULL), cases[i].status);
        if (cases[i].status != GS_OK) continue;
        assert_true(manifest.packed[0] == cases[i].a && manifest.packed[1] == cases[i].b);
        gs_manifest_format(&manifest, &out);
        assert_string_equal(gs_text_string(&out), text);
        gs_text_free(&out);
    }
}

/* What a plan asks of addresses: the element's size at least; aux as D where it is written, as C where it is read. */
static void alignment_of_operands(void **state)
{
    (void)state;
    static const char text[] = "manifest 1\naccumulator f32\ndeterminism none\nalign a=16 b=32 c=8 d=64\nentry k\ngrid 1 1 1\nblock 32 1 1\n";
    static const struct { const char *problem; int align[GS_OPERANDS]; } cases[] = {   /* A, B, C, D, the bias, the offsets, aux, both scales */
        {"f16:8x16x32:tn", {16, 32, 8, 64, 2, 4, 2, 4, 4}},
        {"bf16:8x16x32:tn:d=f32:ep=bias", {16, 32, 8, 64, 4, 4, 4, 4, 4}},
        {"bf16:8x16x32:tn:ep=silu+aux", {16, 32, 8, 64, 2, 4, 64, 4, 4}},
        {"bf16:8x16x32:nn:ep=dsilu", {16, 32, 8, 64, 2, 4, 8, 4, 4}},
    };
    gs_manifest manifest;
    gs_error error = {0};
    if (gs_manifest_parse(&manifest, text, &error) != GS_OK) fail_msg("%s", error.text);
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_problem problem;
        int align[GS_OPERANDS];
        assert_int_equal(gs_problem_parse(&problem, cases[i].problem, NULL), GS_OK);
        gs_manifest_alignment(&manifest, &problem, align);
        for (int j = 0; j < GS_OPERANDS; j++)
            if (align[j] != cases[i].align[j]) fail_msg("%s: operand %c: %d, not %d", cases[i].problem, GS_OPERAND_LETTERS[j], align[j], cases[i].align[j]);
    }
    manifest.align[0] = manifest.align[2] = 1;   /* nothing was said */
    int align[GS_OPERANDS];
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 8, 16, 32);
    gs_manifest_alignment(&manifest, &problem, align);
    assert_true(align[0] == 2 && align[2] == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_compute),
        cmocka_unit_test(formulas_with_errors_are_refused),
        cmocka_unit_test(formulas_out_of_range_say_so),
        cmocka_unit_test(formulas_say_why), cmocka_unit_test(errors_say_why),
        cmocka_unit_test(manifests_round_trip),
        cmocka_unit_test(comments_and_blanks_do_not_count), cmocka_unit_test(ends_of_lines_of_any_system),
        cmocka_unit_test(errors_name_line_and_column), cmocka_unit_test(a_word_in_the_wrong_place),
        cmocka_unit_test(check_finds_what_no_device_can_launch),
        cmocka_unit_test(options_that_do_not_fit_are_noticed),
        cmocka_unit_test(built_kernels_have_good_manifests),
        cmocka_unit_test(rows_of_the_call),
        cmocka_unit_test(packed_operands),
        cmocka_unit_test(alignment_of_operands),
    };
    return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
