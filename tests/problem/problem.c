/* SPDX-License-Identifier: MIT
 * Proves that problem texts round-trip, that every error names its field and column, and that hand-filled problems are checked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "problem/layout.h"
#include "problem/pool.h"
#include "texts.h"

/* legend: what is written, its canonical form */
static void texts_become_canonical(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {"f16:4096x4096x4096:tn",                               "f16:4096x4096x4096:tn"},
        {"64_4096_64",                                          "f16:64x4096x64:nn"},
        {"bf16:257x4096x4096:nn:d=f32:lda=4104:beta=1",         "bf16:257x4096x4096:nn:d=f32:lda=4104:beta=1"},
        {"f16:1x2x3:nn:acc=f32:d=f16:lda=3:ldb=2:ldc=2:ldd=2:b=1:alpha=1:beta=0", "f16:1x2x3:nn"},
        {"f16:1x2x3:tn:beta=0.50:alpha=2e0:b=8:ldd=5:ldc=4:ldb=9:lda=7:d=f32:acc=f16",
         "f16:1x2x3:tn:acc=f16:d=f32:lda=7:ldb=9:ldc=4:ldd=5:b=8:alpha=2:beta=0.5"},
        {"f16:0x0x0:tn",                                        "f16:0x0x0:tn"},
        {"bf16:4096x14336x4096:tn:alpha=2:g=8",                 "bf16:4096x14336x4096:tn:g=8:alpha=2"},
        {"f16:0x0x0:tn:lda=1:ldb=1",                            "f16:0x0x0:tn"},
        {"f16:2147483647x2147483647x2147483647:nn:ldd=68719476736", "f16:2147483647x2147483647x2147483647:nn:ldd=68719476736"},
        {"f16:1x1x1:nn:alpha=-0.1",                             "f16:1x1x1:nn:alpha=-0.1"},
        {"f16:1x1x1:nn:alpha=0.333333343267",                   "f16:1x1x1:nn:alpha=0.333333343"},
        {"f16:1x1x1:nn:alpha=-0",                               "f16:1x1x1:nn:alpha=0"},
        {"f16:1x1x1:nn:beta=-0",                                "f16:1x1x1:nn"},
        {"f16:1x1x1:nn:alpha=340282346638528859811704183484516925440", "f16:1x1x1:nn:alpha=3.40282347e+38"},
        {"bf16:1x1x1:nn:d=f16",                                 "bf16:1x1x1:nn:d=f16"},
        {"f16:0064x1x1:nn",                                     "f16:64x1x1:nn"},
        {"f16:2x3x4:tn:ep=bias",                                "f16:2x3x4:tn:ep=bias"},
        {"bf16:2x3x4:nn:ep=silu:beta=1",                        "bf16:2x3x4:nn:beta=1:ep=silu"},
        {"bf16:2x3x4:nn:ep=residual+gelu_erf+bias_m:beta=0.5",  "bf16:2x3x4:nn:beta=0.5:ep=bias_m+gelu_erf+residual"},
        {"f16:2x3x4:nn:ep=gelu+bias",                           "f16:2x3x4:nn:ep=bias+gelu"},
        {"f16:2x3x4:nn:b=5:sa=0:sb=12:sc=9:sd=7",               "f16:2x3x4:nn:b=5:sa=0:sc=9:sd=7"},   /* B's is that of packed matrices */
        {"f16:2x3x4:tn:ldd=15:b=5:sd=3:ep=bias:se=4",           "f16:2x3x4:tn:ldd=15:b=5:sd=3:se=4:ep=bias"},
        {"f16:2x3x4:tn:b=5:ep=bias:se=0",                       "f16:2x3x4:tn:b=5:ep=bias"},
        {"f16:2x3x4:tn:beta=1:scalars=device",                  "f16:2x3x4:tn:beta=1:scalars=device"},
        {"f16:2x3x4:tn:scalars=host",                           "f16:2x3x4:tn"},
        {"f16:2x3x4:tn:ep=bias:inv=1",                          "f16:2x3x4:tn:inv=1:ep=bias"},
        {"f16:2x3x4:tn:const=b:ep=bias:inv=1",                  "f16:2x3x4:tn:inv=1:const=b:ep=bias"},
        {"f16:2x3x4:tn:const=none",                             "f16:2x3x4:tn"},
        {"bf16:2x3x4:nn:inv=0:beta=1",                          "bf16:2x3x4:nn:beta=1"},
        {"f16:2x3x4:nn:ep=gate+silu",                           "f16:2x3x4:nn:ep=silu+gate"},
        {"bf16:6x3x4:nt:beta=1:gk=3:d=f32",                     "bf16:6x3x4:nt:d=f32:gk=3:beta=1"},
        {"f16:6x3x4:nt:gk=1",                                   "f16:6x3x4:nt:gk=1"},
        {"f16:6x3x4:tn:ep=silu:gm=2",                           "f16:6x3x4:tn:gm=2:ep=silu"},
        {"f16:2x3x4:tn:ep=gate+silu:g=2",                       "f16:2x3x4:tn:g=2:ep=silu+gate"},
        {"f16:2x3x4:nn:ep=aux+gelu+bias:ldaux=3",               "f16:2x3x4:nn:ep=bias+gelu+aux"},
        {"f16:2x3x4:nn:ep=aux+gate+gelu:ldaux=6",               "f16:2x3x4:nn:ep=gelu+gate+aux"},
        {"f16:2x3x4:nn:ep=aux+gate_i+gelu:ldaux=7:b=2:saux=14", "f16:2x3x4:nn:ldaux=7:b=2:ep=gelu+gate_i+aux"},
        {"bf16:2x3x4:tn:beta=1:b=2:ep=aux+relu+residual+bias_m:saux=9:ldaux=4", "bf16:2x3x4:tn:ldaux=4:b=2:saux=9:beta=1:ep=bias_m+relu+residual+aux"},
        {"f16:2x3x4:nn:b=2:saux=6:ep=drelu",                    "f16:2x3x4:nn:b=2:ep=drelu"},
        {"f16:2x3x4:nn:ldaux=10:b=2:saux=5:ep=dgelu",           "f16:2x3x4:nn:ldaux=10:b=2:saux=5:ep=dgelu"},
        {"f16:2x3x4:nn:g=3:ep=dgelu_erf:ldaux=7",               "f16:2x3x4:nn:ldaux=7:g=3:ep=dgelu_erf"},
        {"f16:2x3x4:nn:ep=bias+scale_n",                        "f16:2x3x4:nn:ep=scale_n+bias"},
        {"f16:2x3x4:nn:beta=1:ep=residual+gate+scale_n+silu+scale_m", "f16:2x3x4:nn:beta=1:ep=scale_m+scale_n+silu+gate+residual"},
        {"bf16:6x3x4:tn:gm=3:ep=scale_m",                       "bf16:6x3x4:tn:gm=3:ep=scale_m"},
        {"f16:2x3x4:nn:ep=dbias+dgelu",                         "f16:2x3x4:nn:ep=dgelu+dbias"},
        {"f16:2x3x4:nn:b=2:se=5:ep=dbias",                      "f16:2x3x4:nn:b=2:se=5:ep=dbias"},
        {"f16:2x3x4:nn:beta=2:ep=residual+dsilu",               "f16:2x3x4:nn:beta=2:ep=dsilu+residual"},
        {"f16:2x3x4:tn:matrices=pointers:beta=1:b=5:ep=bias_m+silu", "f16:2x3x4:tn:b=5:matrices=pointers:beta=1:ep=bias_m+silu"},
        {"f16:2x3x4:nt:matrices=pointers:lda=9",                "f16:2x3x4:nt:lda=9:matrices=pointers"},
        {"f16:2x3x4:nt:matrices=strided:b=2",                   "f16:2x3x4:nt:b=2"},
        {"f16:2x3x4:nn:ldb=6:ep=bias+relu+gate_i",              "f16:2x3x4:nn:ep=bias+relu+gate_i"},
        {"bf16:2x3x4:tn:ldb=5:beta=2:ep=residual+gate_i+gelu",  "bf16:2x3x4:tn:ldb=5:beta=2:ep=gelu+gate_i+residual"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[GS_PROBLEM_TEXT];
        const gs_problem first = problem_of(cases[i].text);
        assert_string_equal(gs_problem_format(&first, text), cases[i].canonical);
        const gs_problem second = problem_of(text);
        assert_memory_equal(&first, &second, sizeof first);
    }
}

/* legend: text, status, field (NULL: none), column */
static void errors_name_field_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        gs_status   status;
        const char *field;
        int         column;
    } cases[] = {
        {"",                                 GS_ERROR_PARSE, "in",     1},
        {"f32:1x1x1:nn",                     GS_ERROR_PARSE, "in",     1},
        {"f160:1x1x1:nn",                    GS_ERROR_PARSE, "in",     1},
        {"f16",                              GS_ERROR_PARSE, "m",      4},
        {"64x4096x64",                       GS_ERROR_PARSE, "in",     1},
        {"64x4096x64:nn",                    GS_ERROR_PARSE, "in",     1},
        {"f16:x1x1:nn",                      GS_ERROR_PARSE, "m",      5},
        {"f16:-1x1x1:nn",                    GS_ERROR_RANGE, "m",      5},
        {"f16:1x1:nn",                       GS_ERROR_PARSE, "k",      8},
        {"f16:1x2147483648x1:nn",            GS_ERROR_RANGE, "n",      7},
        {"f16:1x1x99999999999999999999:nn",  GS_ERROR_RANGE, "k",      9},
        {"f16:1x1x1",                        GS_ERROR_PARSE, "layout", 10},
        {"f16:1x1x1:na",                     GS_ERROR_PARSE, "layout", 11},
        {"f16:1x1x1:nn ",                    GS_ERROR_PARSE, "",       13},
        {"f16:1x1x1:nn:",                    GS_ERROR_PARSE, "field",  14},
        {"f16:1x1x1:nn:lde=4",               GS_ERROR_PARSE, "lde",    14},
        {"f16:1x1x1:nn:lda=4:lda=4",         GS_ERROR_PARSE, "lda",    20},
        {"f16:1x1x1:nn:lda",                 GS_ERROR_PARSE, "lda",    17},
        {"f16:1x1x8:nn:lda=7",               GS_ERROR_RANGE, "lda",    18},
        {"f16:1x9x8:tn:ldb=7",               GS_ERROR_RANGE, "ldb",    18},
        {"f16:1x9x8:nn:ldb=8",               GS_ERROR_RANGE, "ldb",    18},
        {"f16:1x9x8:nn:ldc=8",               GS_ERROR_RANGE, "ldc",    18},
        {"f16:1x9x8:nn:ldd=8",               GS_ERROR_RANGE, "ldd",    18},
        {"f16:0x0x0:nn:lda=0",               GS_ERROR_RANGE, "lda",    18},
        {"f16:1x1x1:nn:ldd=68719476737",     GS_ERROR_RANGE, "ldd",    18},
        {"f16:1x1x1:nn:matrices=array",      GS_ERROR_PARSE, "matrices", 23},
        {"f16:1x1x1:nn:matrices=pointers:sa=0", GS_ERROR_RANGE, "sa",  35},
        {"f16:1x1x1:nn:ep=bias:se=9:matrices=pointers", GS_ERROR_RANGE, "se", 25},
        {"f16:1x1x1:nn:g=2:matrices=pointers", GS_ERROR_RANGE, "matrices", 27},
        {"f16:1x1x1:nn:matrices=pointers:ep=relu+aux", GS_ERROR_RANGE, "matrices", 23},
        {"f16:1x1x1:nn:matrices=pointers:saux=9", GS_ERROR_RANGE, "saux", 37},
        {"f16:1x1x1:nn:g=0",                 GS_ERROR_RANGE, "g",      16},
        {"f16:1x1x1:nn:g=4097",              GS_ERROR_RANGE, "g",      16},
        {"f16:1x1x1:nn:g=2:b=2",             GS_ERROR_RANGE, "g",      16},
        {"f16:1x1x1:nn:gm=4097",             GS_ERROR_RANGE, "gm",     17},
        {"f16:9x1x1:nn:gm=2",                GS_ERROR_RANGE, "gm",     17},
        {"f16:2x1x1:nn:gm=2:b=2",            GS_ERROR_RANGE, "gm",     17},
        {"f16:2x1x1:nn:gm=2:g=2",            GS_ERROR_RANGE, "g",      21},
        {"f16:2x1x1:nt:gk=0",                GS_ERROR_RANGE, "gk",     17},
        {"f16:2x1x1:nt:gk=2:g=2",            GS_ERROR_RANGE, "g",      21},
        {"f16:2x1x1:nt:b=2:gk=2",            GS_ERROR_RANGE, "gk",     21},
        {"f16:2x1x1:nt:gk=2:sd=8",           GS_ERROR_RANGE, "sd",     22},
        {"f16:2x1x1:nt:gk=2:ep=relu",        GS_ERROR_RANGE, "ep",     22},
        {"f16:1x1x1:nn:b=0",                 GS_ERROR_RANGE, "b",      16},
        {"bf16:1x1x1:nn:acc=f16",            GS_ERROR_RANGE, "acc",    19},
        {"f16:1x1x1:nn:acc=bf16",            GS_ERROR_PARSE, "acc",    18},
        {"f16:1x1x1:nn:d=f64",               GS_ERROR_PARSE, "d",      16},
        {"f16:1x1x1:nn:alpha=nan",           GS_ERROR_PARSE, "alpha",  20},
        {"f16:1x1x1:nn:alpha=1e39",          GS_ERROR_RANGE, "alpha",  20},
        {"f16:1x1x1:nn:beta=.5",             GS_ERROR_PARSE, "beta",   19},
        {"f16:1x1x1:nn:ep=",                 GS_ERROR_PARSE, "ep",     17},
        {"f16:1x1x1:nn:ep=bias,relu",        GS_ERROR_PARSE, "",       21},
        {"f16:1x1x1:nn:ep=bias+",            GS_ERROR_PARSE, "ep",     22},
        {"f16:1x1x1:nn:ep=bias+swish",       GS_ERROR_PARSE, "ep",     22},
        {"f16:1x1x1:nn:ep=bias+bias_m",      GS_ERROR_PARSE, "ep",     22},
        {"f16:1x1x1:nn:ep=relu+gelu",        GS_ERROR_PARSE, "ep",     22},
        {"f16:1x1x1:nn:ep=relu:ep=bias",     GS_ERROR_PARSE, "ep",     22},
        {"f16:1x1x1:nn:ep=relu+residual",    GS_ERROR_RANGE, "ep",     17},
        {"f16:1x1x1:nn:ep=scale_n+bias+scale_n", GS_ERROR_PARSE, "ep", 30},
        {"f16:1x1x1:nn:ep=scale",            GS_ERROR_PARSE, "ep",     17},
        {"f16:2x1x1:nt:gk=2:ep=scale_m",     GS_ERROR_RANGE, "ep",     22},
        {"f16:1x1x1:nn:sa=-1",               GS_ERROR_RANGE, "sa",     17},
        {"f16:1x1x1:nn:sb=70368744177665",   GS_ERROR_RANGE, "sb",     17},
        {"f16:1x1x1:nn:sd=x",                GS_ERROR_PARSE, "sd",     17},
        {"f16:1x1x1:nn:b=2:se=1",            GS_ERROR_RANGE, "se",     21},
        {"f16:1x1x1:nn:scalars=here",        GS_ERROR_PARSE, "scalars", 22},
        {"f16:1x1x1:nn:inv=2",               GS_ERROR_RANGE, "inv",    18},
        {"f16:1x1x1:nn:inv=yes",             GS_ERROR_PARSE, "inv",    18},
        {"f16:1x1x1:nn:inv=1:inv=1",         GS_ERROR_PARSE, "inv",    20},
        {"f16:1x1x1:nn:const=a",             GS_ERROR_PARSE, "const",  20},
        {"f16:1x1x1:nn:gk=2:inv=1",          GS_ERROR_RANGE, "inv",    23},
        {"f16:1x1x1:nn:inv=1:ep=dbias",      GS_ERROR_RANGE, "inv",    18},
        {"f16:1x1x1:nn:beta=1:ep=bias+residual", GS_ERROR_RANGE, "ep", 24},
        {"f16:1x1x1:nn:ep=gate",             GS_ERROR_RANGE, "ep",     17},
        {"f16:1x1x1:nn:ep=bias_m+silu+gate", GS_ERROR_RANGE, "ep",     17},
        {"f16:1x1x1:nn:beta=1:ep=silu+gate", GS_ERROR_RANGE, "ep",     24},
        {"f16:1x1x1:nn:ep=silu+gate+gate_i", GS_ERROR_PARSE, "ep",     27},
        {"f16:1x1x1:nn:ep=aux",              GS_ERROR_RANGE, "ep",     17},
        {"f16:1x1x1:nn:ep=relu+aux+aux",     GS_ERROR_PARSE, "ep",     26},
        {"f16:1x9x1:nn:ldaux=17:ep=silu+gate+aux", GS_ERROR_RANGE, "ldaux", 20},
        {"f16:1x1x1:nn:ep=bias+drelu",       GS_ERROR_RANGE, "ep",     17},
        {"f16:1x1x1:nn:ep=bias+dbias",       GS_ERROR_PARSE, "ep",     22},
        {"f16:1x1x1:nn:ep=silu+gate+dbias",  GS_ERROR_RANGE, "ep",     17},
        {"f16:1x1x1:nn:ep=drelu+aux",        GS_ERROR_RANGE, "ep",     17},
        {"f16:1x1x1:nn:ep=dsilu+gate",       GS_ERROR_RANGE, "ep",     17},
        {"f16:1x1x1:nn:ep=relu+dsilu",       GS_ERROR_PARSE, "ep",     22},
        {"f16:1x9x1:nn:ldaux=8:ep=drelu",    GS_ERROR_RANGE, "ldaux",  20},
        {"f16:1x9x1:nn:ldaux=9:ep=relu",     GS_ERROR_RANGE, "ldaux",  20},
        {"f16:1x9x1:nn:b=2:saux=9:ep=relu",  GS_ERROR_RANGE, "saux",   23},
        {"f16:1x9x8:nn:ldb=17:ep=silu+gate", GS_ERROR_RANGE, "ldb",    18},
        {"64_4096",                          GS_ERROR_PARSE, "k",      8},
        {"64_4096_64:nn",                    GS_ERROR_PARSE, "",       11},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_problem problem, before;
        memset(&problem, 0x5a, sizeof problem);
        before = problem;
        gs_error error = {0};
        const gs_status status = gs_problem_parse(&problem, cases[i].text, &error);
        if (status != cases[i].status || error.status != status || strcmp(error.field, cases[i].field) != 0 ||
            error.column != cases[i].column)
            fail_msg("'%s': status %d field '%s' column %d: %s", cases[i].text, (int)status, error.field, error.column, error.text);
        assert_true(error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
        assert_memory_equal(&problem, &before, sizeof problem);
        assert_int_equal(gs_problem_parse(&problem, cases[i].text, NULL), status);
    }
}

static void floats_read_back_exactly(void **state)
{
    (void)state;
    gs_random random = {1};
    for (int i = 0; i < 100000; i++) {
        gs_problem problem = gs_problem_make(GS_F16, GS_NN, 1, 1, 1), back;
        const uint32_t bits = (uint32_t)gs_random_next(&random);
        memcpy(&problem.alpha, &bits, sizeof bits);
        if (!isfinite(problem.alpha)) continue;
        char text[GS_PROBLEM_TEXT];
        gs_problem_format(&problem, text);
        assert_int_equal(gs_problem_parse(&back, text, NULL), GS_OK);
        if (back.alpha != problem.alpha)
            fail_msg("%.9g came back as %.9g from %s", (double)problem.alpha, (double)back.alpha, text);
    }
}

/* A locale with a decimal comma, for machines that have none: numbers as glibc keeps them. */
static bool set_own_locale(void)
{
    static const struct {
        uint32_t magic, count, offset[6];
        char     point[4], separator[4], grouping[4];
        uint32_t wide_point, wide_separator;
        char     set[8];
    } numbers = {0x20031115u ^ LC_NUMERIC, 6, {32, 36, 40, 44, 48, 52}, ",", "", "\x7f", ',', 0, "UTF-8"};
    char folder[] = "/tmp/gs-locale-XXXXXX", comma[64], file[64];
    assert_non_null(mkdtemp(folder));
    snprintf(comma, sizeof comma, "%s/comma", folder);
    snprintf(file, sizeof file, "%s/LC_NUMERIC", comma);
    assert_int_equal(mkdir(comma, 0700), 0);
    assert_int_equal(gs_file_write(file, &numbers, sizeof numbers, NULL), GS_OK);
    setenv("LOCPATH", folder, 1);
    const bool set = setlocale(LC_NUMERIC, "comma") != NULL;
    unsetenv("LOCPATH");
    unlink(file);
    rmdir(comma);
    rmdir(folder);
    return set;
}

static void locale_does_not_matter(void **state)
{
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    bool found = false;
    for (size_t i = 0; i < GS_COUNT(commas) && !found; i++) found = setlocale(LC_NUMERIC, commas[i]) != NULL;
    if (!found && !set_own_locale()) skip();   /* another C library */
    char text[GS_PROBLEM_TEXT], plain[8];
    snprintf(plain, sizeof plain, "%g", 1.5);
    const gs_problem problem = problem_of("f16:1x1x1:nn:alpha=0.5:beta=1.5");
    gs_problem_format(&problem, text);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(plain, "1,5");
    assert_string_equal(text, "f16:1x1x1:nn:alpha=0.5:beta=1.5");
}

/* What is forgotten most often is said with what belongs there. */
static void errors_say_what_to_write(void **state)
{
    (void)state;
    gs_problem problem;
    gs_error error = {0};
    gs_problem_read(&problem, sizeof problem, "f16:64x4096x64", &error);
    assert_string_equal(error.text, "expected ':' and a layout: nn, tn, nt or tt");
    gs_problem_read(&problem, sizeof problem, "64x4096x64", &error);
    assert_string_equal(error.text, "expected a type before M x N x K, as in f16:64x4096x64:nn, or 64_4096_64");
}

/* B and the bias have two columns for each of D. */
static void a_gate_doubles_b(void **state)
{
    (void)state;
    const gs_problem tn = problem_of("bf16:4x24x8:tn:b=3:ep=bias+silu+gate"), nn = problem_of("f16:4x24x8:nn:ep=gelu+gate_i");
    assert_int_equal(gs_problem_bytes(&tn, 'b'), 3 * 48 * 8 * 2);
    assert_int_equal(gs_problem_bytes(&tn, 'd'), 3 * 4 * 24 * 2);
    assert_int_equal(gs_problem_bytes(&tn, 'e'), 48 * 2);
    assert_int_equal(nn.ldb, 48);
    assert_int_equal(gs_problem_bytes(&nn, 'b'), 8 * 48 * 2);
    assert_true(gs_problem_flops(&nn) == 4.0 * 4 * 24 * 8);
    assert_int_equal(gs_place_in_b(&tn, 2, 3, 47), (2 * 48 + 47) * 8 + 3);
    const gs_problem sums = gs_problem_sums(&tn), larger = gs_problem_resized(&nn, 4, 25, 8);
    char text[GS_PROBLEM_TEXT];
    assert_string_equal(gs_problem_format(&sums, text), "bf16:4x48x8:tn:b=3");
    assert_int_equal(larger.ldb, 50);
}

/* So has aux, and it is the product with all columns of B. */
static void a_gate_doubles_aux(void **state)
{
    (void)state;
    const gs_problem p = problem_of("bf16:4x24x8:tn:ldd=25:ldaux=50:b=3:saux=201:ep=scale_n+bias+silu+gate+aux"), packed = problem_of("f16:4x24x8:nn:beta=1:g=2:ep=bias+gelu+gate_i+residual+aux");
    char text[GS_PROBLEM_TEXT];
    assert_int_equal(gs_problem_bytes(&p, 'g'), (2 * 201 + 3 * 50 + 48) * 2);
    assert_int_equal(gs_problem_bytes(&packed, 'g'), 4 * 48 * 2);
    assert_true(gs_problem_wants(&p) & GS_WANTS_AUX && gs_problem_wants(&p) & GS_WANTS_GATE);
    gs_problem of = gs_problem_of_aux(&p);
    assert_string_equal(gs_problem_format(&of, text), "bf16:4x48x8:tn:ldd=50:b=3:sd=201:ep=scale_n+bias");
    assert_int_equal(gs_problem_check(&of, NULL), GS_OK);
    of = gs_problem_of_aux(&packed);
    assert_string_equal(gs_problem_format(&of, text), "f16:4x48x8:nn:g=2:ep=bias");
    assert_int_equal(gs_problem_check(&of, NULL), GS_OK);
    gs_problem larger = gs_problem_resized(&p, 5, 27, 8);
    assert_int_equal(larger.ldaux, 56);
    assert_int_equal(larger.stride_aux, 5 * 56 + 1);
    larger = gs_problem_resized(&packed, 5, 27, 8);
    assert_int_equal(larger.ldaux, 0);
    assert_int_equal(gs_problem_check(&larger, NULL), GS_OK);
}

/* The gradient of a bias: one of all matrices, one of each, one of each group. */
static void gradients_of_a_bias(void **state)
{
    (void)state;
    const gs_problem all = problem_of("f16:4x24x8:tn:b=3:ep=dbias"), each = problem_of("f16:4x24x8:tn:b=3:se=30:ep=dbias"), groups = problem_of("f16:6x24x8:tn:g=5:ep=dbias"),
                     masked = problem_of("f16:6x24x8:tn:gm=3:d=f32:ep=drelu+dbias");
    assert_true(gs_dbias_vectors(&all) == 1 && gs_dbias_vectors(&each) == 3 && gs_dbias_vectors(&groups) == 5 && gs_dbias_vectors(&masked) == 3);
    assert_true(gs_dbias_stride(&each) == 30 && gs_dbias_stride(&groups) == 24);
    assert_int_equal(gs_problem_bytes(&all, 'e'), 24 * 2);
    assert_int_equal(gs_problem_bytes(&each, 'e'), (2 * 30 + 24) * 2);
    assert_int_equal(gs_problem_bytes(&groups, 'e'), 5 * 24 * 2);
    assert_int_equal(gs_problem_bytes(&masked, 'e'), 3 * 24 * 4);
    assert_true(gs_is_written(&groups, 'e') && !gs_is_read(&groups, 'e'));
}

/* f32 whatever D is; the matrices of a batch share them, groups have a scale_n each. */
static void scales_are_vectors(void **state)
{
    (void)state;
    const gs_problem both = problem_of("bf16:4x24x8:tn:b=3:ep=scale_m+scale_n+silu+gate"), groups = problem_of("f16:4x24x8:tn:g=5:beta=1:ep=scale_m+scale_n"), one = problem_of("f16:4x24x8:tn:ep=scale_n");
    char text[GS_PROBLEM_TEXT];
    assert_int_equal(gs_problem_bytes(&both, 'h'), 4 * 4);
    assert_int_equal(gs_problem_bytes(&both, 'i'), 48 * 4);
    assert_int_equal(gs_problem_bytes(&groups, 'h'), 4 * 4);
    assert_int_equal(gs_problem_bytes(&groups, 'i'), 5 * 24 * 4);
    assert_int_equal(gs_problem_bytes(&one, 'h'), 0);
    assert_false(gs_is_read(&one, 'h'));
    assert_true(gs_is_read(&one, 'i') && !gs_is_written(&one, 'i'));
    assert_true(gs_problem_wants(&one) & GS_WANTS_SCALES && gs_has_epilogue(&one) && !gs_same_wishes(&one, &both));
    const gs_problem sums = gs_problem_sums(&groups);
    assert_string_equal(gs_problem_format(&sums, text), "f16:4x24x8:tn:g=5");
}

/* Another kernel is right for it: nothing takes one for the other. */
static void invariant_is_a_wish(void **state)
{
    (void)state;
    const gs_problem p = problem_of("bf16:4x24x8:tn:beta=1:inv=1:ep=bias"), plain = problem_of("bf16:4x24x8:tn:beta=1:ep=bias"), sums = gs_problem_sums(&p), packed = gs_problem_packed(&p);
    assert_int_equal(gs_problem_wants(&p), gs_problem_wants(&plain) | GS_WANTS_INVARIANT);
    assert_false(gs_same_wishes(&p, &plain));
    assert_true(gs_same_epilogue(&p, &plain));
    assert_true(sums.invariant && packed.invariant && gs_problem_resized(&p, 5, 6, 7).invariant && gs_problem_in_layout(&p, GS_NN).invariant);
}

/* A promise that a kernel may make use of: no other kernel is needed, and it stays with the problem. */
static void constant_is_a_promise(void **state)
{
    (void)state;
    const gs_problem p = problem_of("bf16:4x24x8:tn:beta=1:const=b:ep=bias"), plain = problem_of("bf16:4x24x8:tn:beta=1:ep=bias"), sums = gs_problem_sums(&p), packed = gs_problem_packed(&p);
    assert_int_equal(gs_problem_wants(&p), gs_problem_wants(&plain));
    assert_false(gs_same_wishes(&p, &plain));
    assert_true(sums.constant && packed.constant && gs_problem_resized(&p, 5, 6, 7).constant && gs_problem_in_layout(&p, GS_NN).constant);
}

static void make_is_packed_and_valid(void **state)
{
    (void)state;
    const gs_problem nn = gs_problem_make(GS_BF16, GS_NN, 3, 5, 7), tn = gs_problem_make(GS_F16, GS_TN, 3, 5, 7);
    const gs_problem empty = gs_problem_make(GS_F16, GS_NN, 0, 0, 0);
    assert_int_equal(nn.lda, 7);
    assert_int_equal(nn.ldb, 5);
    assert_int_equal(nn.ldc, 5);
    assert_int_equal(nn.out, GS_BF16);
    assert_int_equal(tn.ldb, 7);
    assert_int_equal(empty.lda, 1);
    assert_int_equal(gs_problem_check(&nn, NULL), GS_OK);
    assert_int_equal(gs_problem_check(&tn, NULL), GS_OK);
    assert_int_equal(gs_problem_check(&empty, NULL), GS_OK);
    const gs_problem negative = gs_problem_make(GS_F16, GS_NN, -1, 5, 7);
    assert_int_equal(gs_problem_check(&negative, NULL), GS_ERROR_RANGE);
}

static void check_gives(gs_problem problem, gs_status status, const char *field)
{
    gs_error error = {0};
    assert_int_equal(gs_problem_check(&problem, &error), status);
    assert_string_equal(error.field, field);
}

#define WITH(change, status, field)                                   \
    do {                                                              \
        gs_problem p = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);    \
        change;                                                       \
        check_gives(p, status, field);                               \
    } while (0)

static void check_finds_what_no_kernel_can_do(void **state)
{
    (void)state;
    WITH(p.in = GS_F32, GS_ERROR_RANGE, "in");
    WITH(p.in = (gs_type)77, GS_ERROR_RANGE, "in");
    WITH(p.acc = GS_BF16, GS_ERROR_RANGE, "acc");
    WITH((p.in = p.out = GS_BF16, p.acc = GS_F16), GS_ERROR_RANGE, "acc");
    WITH(p.out = (gs_type)3, GS_ERROR_RANGE, "d");
    WITH(p.out = GS_BF16, GS_ERROR_UNSUPPORTED, "d");
    WITH(p.in = GS_BF16, GS_ERROR_UNSUPPORTED, "d");
    WITH(p.layout = (gs_layout)4, GS_ERROR_RANGE, "layout");
    WITH((p.activation = GS_SILU, p.gate = GS_GATE_STACKED), GS_OK, "");
    WITH((p.activation = GS_SILU, p.gate = 3), GS_ERROR_RANGE, "gate");
    WITH(p.grouping = GS_GROUPS_MASKED, GS_ERROR_RANGE, "grouping");
    WITH((p.groups = 2, p.grouping = 9), GS_ERROR_RANGE, "grouping");
    WITH((p.grouping = GS_GROUPS_K, p.batch = 2), GS_OK, "");
    WITH((p.grouping = GS_GROUPS_K, p.groups = 2), GS_ERROR_RANGE, "gk");
    WITH((p.grouping = GS_GROUPS_K, p.batch = GS_MAX_GROUPS + 1), GS_ERROR_RANGE, "gk");
    WITH((p.grouping = GS_GROUPS_K, p.batch = 2, p.stride_a = 64 * 64), GS_ERROR_RANGE, "sa");
    WITH((p.grouping = GS_GROUPS_K, p.batch = 2, p.bias = GS_BIAS_N), GS_ERROR_RANGE, "gk");
    WITH((p.groups = 2, p.m = 9, p.grouping = GS_GROUPS_MASKED), GS_ERROR_RANGE, "gm");
    WITH((p.groups = 2, p.m = 8, p.grouping = GS_GROUPS_MASKED), GS_OK, "");
    WITH(p.gate = GS_GATE_STACKED, GS_ERROR_RANGE, "gate");
    WITH((p.activation = GS_SILU, p.gate = GS_GATE_STACKED, p.bias = GS_BIAS_M), GS_ERROR_RANGE, "gate");
    WITH((p.activation = GS_SILU, p.gate = GS_GATE_STACKED, p.beta = 1), GS_ERROR_RANGE, "gate");
    WITH((p.activation = GS_SILU, p.gate = GS_GATE_STACKED, p.n = 1 << 30), GS_ERROR_RANGE, "n");
    WITH(p.k = GS_MAX_EXTENT + 1, GS_ERROR_RANGE, "k");
    WITH(p.batch = 0, GS_ERROR_RANGE, "b");
    WITH(p.lda = 63, GS_ERROR_RANGE, "lda");
    WITH(p.ldb = GS_MAX_LD + 1, GS_ERROR_RANGE, "ldb");
    WITH(p.ldc = -1, GS_ERROR_RANGE, "ldc");
    WITH(p.ldd = 0, GS_ERROR_RANGE, "ldd");
    WITH(p.alpha = NAN, GS_ERROR_RANGE, "alpha");
    WITH(p.beta = INFINITY, GS_ERROR_RANGE, "beta");
    WITH((p.activation = GS_GELU, p.aux = 1), GS_OK, "");
    WITH((p.activation = GS_GELU, p.aux = 1, p.ldaux = 64), GS_OK, "");
    WITH((p.activation = GS_GELU, p.aux = 1, p.bias = GS_BIAS_M, p.beta = 1, p.residual = 1), GS_OK, "");
    WITH((p.activation = GS_GELU, p.aux = 2), GS_ERROR_RANGE, "aux");
    WITH(p.aux = 1, GS_ERROR_RANGE, "aux");
    WITH((p.activation = GS_GELU, p.aux = 1, p.gate = GS_GATE_STACKED), GS_OK, "");
    WITH((p.activation = GS_GELU, p.aux = 1, p.gate = GS_GATE_STACKED, p.ldaux = 127), GS_ERROR_RANGE, "ldaux");
    WITH((p.activation = GS_GELU, p.aux = 1, p.gate = GS_GATE_STACKED, p.ldaux = 128), GS_OK, "");
    WITH((p.aux = 1, p.gate = GS_GATE_STACKED), GS_ERROR_RANGE, "gate");
    WITH((p.activation = GS_GELU, p.aux = 1, p.ldaux = 63), GS_ERROR_RANGE, "ldaux");
    WITH((p.activation = GS_GELU, p.aux = 1, p.ldaux = GS_MAX_LD + 1), GS_ERROR_RANGE, "ldaux");
    WITH((p.activation = GS_GELU, p.aux = 1, p.batch = 2, p.stride_aux = 64 * 64 - 1), GS_ERROR_RANGE, "saux");
    WITH((p.activation = GS_GELU, p.aux = 1, p.batch = 2, p.stride_aux = GS_SAME_MATRIX), GS_ERROR_RANGE, "saux");
    WITH((p.activation = GS_GELU, p.aux = 1, p.batch = 2, p.ldaux = 128, p.stride_aux = 64), GS_OK, "");
    WITH((p.activation = GS_GELU, p.ldaux = 64), GS_ERROR_RANGE, "ldaux");
    WITH((p.activation = GS_GELU, p.stride_aux = 4096), GS_ERROR_RANGE, "saux");
    WITH((p.activation = GS_DGELU), GS_OK, "");
    WITH((p.activation = GS_DSILU, p.ldaux = 65, p.beta = 1, p.residual = 1), GS_OK, "");
    WITH((p.activation = GS_DSILU + 1), GS_ERROR_RANGE, "activation");
    WITH((p.activation = GS_DRELU, p.bias = GS_BIAS_N), GS_ERROR_RANGE, "aux");
    WITH((p.activation = GS_DRELU, p.aux = 1), GS_ERROR_RANGE, "aux");
    WITH((p.activation = GS_DRELU, p.gate = GS_GATE_INTERLEAVED), GS_ERROR_RANGE, "aux");
    WITH((p.bias = GS_DBIAS), GS_OK, "");
    WITH((p.bias = GS_DBIAS, p.activation = GS_DGELU), GS_OK, "");
    WITH((p.bias = GS_DBIAS, p.activation = GS_SILU, p.gate = GS_GATE_STACKED), GS_ERROR_RANGE, "aux");
    WITH((p.bias = GS_DBIAS, p.groups = 2), GS_OK, "");
    WITH((p.bias = GS_DBIAS, p.groups = 2, p.grouping = GS_GROUPS_MASKED), GS_OK, "");
    WITH((p.bias = GS_DBIAS, p.grouping = GS_GROUPS_K, p.batch = 2), GS_ERROR_RANGE, "gk");
    WITH((p.bias = GS_DBIAS, p.batch = 2, p.stride_bias = 63), GS_ERROR_RANGE, "se");
    WITH((p.bias = GS_DBIAS, p.batch = 2, p.stride_bias = 64), GS_OK, "");
    WITH((p.bias = GS_DBIAS + 1), GS_ERROR_RANGE, "bias");
    WITH((p.scales = GS_SCALE_M | GS_SCALE_N, p.bias = GS_DBIAS), GS_OK, "");
    WITH((p.scales = 4), GS_ERROR_RANGE, "scales");
    WITH((p.grouping = GS_GROUPS_K, p.batch = 2, p.scales = GS_SCALE_N), GS_ERROR_RANGE, "gk");
    WITH(p.reserved[0] = 1, GS_ERROR_UNSUPPORTED, "reserved");
    WITH(p.matrices = GS_MATRICES_POINTERS, GS_OK, "");
    WITH((p.matrices = GS_MATRICES_POINTERS, p.batch = 3, p.bias = GS_DBIAS, p.scalars = 1), GS_OK, "");
    WITH((p.matrices = GS_MATRICES_POINTERS, p.batch = 3, p.activation = GS_SILU, p.gate = GS_GATE_STACKED), GS_OK, "");
    WITH(p.matrices = GS_MATRICES_POINTERS + 1, GS_ERROR_RANGE, "matrices");
    WITH((p.matrices = GS_MATRICES_POINTERS, p.batch = 3, p.stride_a = GS_SAME_MATRIX), GS_ERROR_RANGE, "sa");
    WITH((p.matrices = GS_MATRICES_POINTERS, p.batch = 3, p.stride_d = 64 * 64), GS_ERROR_RANGE, "sd");
    WITH((p.matrices = GS_MATRICES_POINTERS, p.batch = 3, p.bias = GS_BIAS_N, p.stride_bias = 64), GS_ERROR_RANGE, "se");
    WITH((p.matrices = GS_MATRICES_POINTERS, p.groups = 3), GS_ERROR_RANGE, "matrices");
    WITH((p.matrices = GS_MATRICES_POINTERS, p.grouping = GS_GROUPS_K, p.batch = 3), GS_ERROR_RANGE, "matrices");
    WITH((p.matrices = GS_MATRICES_POINTERS, p.activation = GS_GELU, p.aux = 1), GS_ERROR_RANGE, "matrices");
    WITH((p.matrices = GS_MATRICES_POINTERS, p.activation = GS_DGELU), GS_ERROR_RANGE, "matrices");
    WITH(p.scalars = 1, GS_OK, "");
    WITH(p.scalars = 2, GS_ERROR_RANGE, "scalars");
    WITH((p.invariant = 1, p.groups = 3, p.bias = GS_BIAS_N), GS_OK, "");
    WITH(p.invariant = 2, GS_ERROR_RANGE, "inv");
    WITH(p.constant = GS_CONSTANT_B, GS_OK, "");
    WITH(p.constant = 2, GS_ERROR_RANGE, "const");
    WITH((p.invariant = 1, p.bias = GS_DBIAS), GS_ERROR_RANGE, "inv");
    WITH((p.invariant = 1, p.grouping = GS_GROUPS_K, p.batch = 3), GS_ERROR_RANGE, "inv");
    WITH(p.size = 0, GS_ERROR_ARGUMENT, "size");
    WITH(p.size = offsetof(gs_problem, reserved) - 1, GS_ERROR_ARGUMENT, "size");
    WITH(p.size = 1u << 20, GS_ERROR_ARGUMENT, "size");
    WITH((p.size = offsetof(gs_problem, reserved), p.reserved[0] = 1), GS_OK, "");   /* an older, smaller one: what follows is not its own */
    WITH((p.lda = GS_MAX_LD, p.m = GS_MAX_EXTENT), GS_ERROR_RANGE, "a");
    WITH((p.m = p.batch = GS_MAX_EXTENT, p.lda = GS_MAX_LD), GS_ERROR_RANGE, "a");
    WITH((p.batch = GS_MAX_EXTENT, p.m = p.k = p.lda = p.ldb = 1, p.n = 40000, p.ldc = p.ldd = 40000), GS_ERROR_RANGE, "b");
    WITH((p.m = 1, p.ldd = GS_MAX_LD), GS_OK, "");
    WITH((p.k = 0, p.n = 0), GS_OK, "");
    WITH((p.batch = 3, p.stride_a = GS_SAME_MATRIX, p.stride_b = 1, p.stride_c = GS_SAME_MATRIX), GS_OK, "");
    WITH((p.batch = 3, p.stride_a = -2), GS_ERROR_RANGE, "sa");
    WITH((p.batch = 3, p.stride_d = GS_SAME_MATRIX), GS_ERROR_RANGE, "sd");
    WITH((p.batch = 3, p.stride_d = p.ldd * p.m - 1), GS_ERROR_RANGE, "sd");
    WITH((p.batch = 3, p.stride_d = p.n, p.ldd = 3 * p.n - 1), GS_ERROR_RANGE, "sd");
    WITH((p.batch = 3, p.stride_d = p.n, p.ldd = 3 * p.n), GS_OK, "");
    WITH((p.batch = 3, p.stride_b = GS_MAX_STRIDE), GS_ERROR_RANGE, "b");
    WITH((p.batch = 3, p.stride_bias = 1), GS_ERROR_RANGE, "se");
    WITH((p.batch = 3, p.bias = GS_BIAS_N, p.stride_bias = 1), GS_OK, "");
}

static void any_struct_can_be_formatted(void **state)
{
    (void)state;
    gs_problem p;
    char text[GS_PROBLEM_TEXT];
    memset(&p, 0xff, sizeof p);
    assert_true(strlen(gs_problem_format(&p, text)) < sizeof text);
    memset(&p, 0x80, sizeof p);
    assert_true(strlen(gs_problem_format(&p, text)) < sizeof text);
    p = problem_of("bf16:2147483647x2147483647x2147483647:tn:d=f32"
              ":lda=68719476736:ldb=68719476736:ldc=68719476736:ldd=68719476736:b=2147483647");
    p.alpha = p.beta = -1.17549435e-38f;
    const gs_problem back = problem_of(gs_problem_format(&p, text));   /* the longest valid text fits */
    assert_memory_equal(&p, &back, sizeof p);
}

/* What a later version's program gives: a larger struct. */
static void larger_structs(void **state)
{
    (void)state;
    struct {
        gs_problem known;
        uint64_t   later[3];
    } larger = {0};
    gs_error error = {0};
    gs_problem_init(&larger.known, sizeof larger, GS_F16, GS_TN, 8, 16, 24);
    assert_int_equal(larger.known.size, sizeof larger);
    assert_int_equal(gs_problem_check(&larger.known, &error), GS_OK);
    larger.later[2] = 1;
    assert_int_equal(gs_problem_check(&larger.known, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "size");
    assert_int_equal(gs_problem_read(&larger.known, sizeof larger, "bf16:8x16x24:nn", &error), GS_OK);
    assert_int_equal(larger.later[2], 0);
    assert_int_equal(larger.known.in, GS_BF16);
    for (size_t size = 0; size < offsetof(gs_problem, reserved); size += 9) {   /* too small for what has a name */
        memset(&larger, 0x55, sizeof larger);
        assert_int_equal(gs_problem_read(&larger.known, size, "64_64_64", &error), GS_ERROR_ARGUMENT);
        assert_string_equal(error.field, "size");
        assert_int_equal(larger.known.size, 0x55555555);
    }
    assert_int_equal(gs_problem_read(&larger.known, offsetof(gs_problem, reserved), "64_64_64", &error), GS_OK);
    assert_int_equal(gs_problem_read(NULL, sizeof larger.known, "64_64_64", &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_problem_read(&larger.known, sizeof larger.known, NULL, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_problem_check(NULL, &error), GS_ERROR_ARGUMENT);
    /* an older one: nothing is written behind it */
    memset(&larger, 0x55, sizeof larger);
    gs_problem_init(&larger.known, offsetof(gs_problem, reserved), GS_F16, GS_NN, 1, 2, 3);
    assert_int_equal(larger.known.k, 3);
    assert_int_equal(larger.known.reserved[0], 0x55555555);
    assert_int_equal(gs_problem_check(&larger.known, &error), GS_OK);
}

static void version_matches_header(void **state)
{
    (void)state;
    assert_string_equal(gs_version(), GS_VERSION_TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_canonical),
        cmocka_unit_test(errors_name_field_and_column),
        cmocka_unit_test(errors_say_what_to_write),
        cmocka_unit_test(floats_read_back_exactly),
        cmocka_unit_test(locale_does_not_matter),
        cmocka_unit_test(a_gate_doubles_b), cmocka_unit_test(a_gate_doubles_aux), cmocka_unit_test(gradients_of_a_bias), cmocka_unit_test(scales_are_vectors), cmocka_unit_test(invariant_is_a_wish), cmocka_unit_test(constant_is_a_promise), cmocka_unit_test(make_is_packed_and_valid),
        cmocka_unit_test(check_finds_what_no_kernel_can_do),
        cmocka_unit_test(any_struct_can_be_formatted),
        cmocka_unit_test(larger_structs),
        cmocka_unit_test(version_matches_header),
    };
    return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
