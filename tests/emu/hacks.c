/* SPDX-License-Identifier: MIT
 * The hack suite on the emulated device: every kernel of tests/hacks gets the verdict that stands at its head, as a candidate that somebody
 * else wrote: inspected, then verified. refused.cu and hacks.cu have those that must be caught, honest.cu odd ones that must pass.
 *
 *     test_emu_hacks [-v] [part of a name]      -v: the table of all */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "plan/contender.h"
#include "plan/inspect.h"
#include "texts.h"
#include "verify/verify.h"

#ifdef __SANITIZE_ADDRESS__
#define SHARE 6   /* of the kernels, one in so many: the release build has the others */
#else
#define SHARE 1
#endif

#define PLAIN  "f16:40x56x72:tn"
#define HEAD   "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\n"
#define SIMPLE "entry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\nblock 16 16 1\n"

typedef struct hack {
    char    name[120], right[120], problem[GS_PROBLEM_TEXT];
    gs_text source, manifest;
} hack;

static gs_device   *device;
static gs_verifier *verifier;
static bool         all;      /* print the whole table */
static const char  *only;

/* ---- reading a file of kernels ---- */

static char *read_text(const char *name)
{
    static char *text;   /* static: gcc takes what is read for a pointer to a local one */
    char path[512];
    size_t size;
    gs_error error;
    snprintf(path, sizeof path, "%s/tests/hacks/%s", GS_SOURCE_DIR, name);
    if (gs_file_read(path, 1u << 20, &text, &size, &error) != GS_OK) fail_msg("%s", error.text);
    return text;
}

/* Up to the next '|' or the end of the line, without the blanks around it. */
static const char *read_field(const char *at, char *out, size_t size)
{
    at += strspn(at, " ");
    const size_t length = strcspn(at, "|\n");
    size_t n = GS_MIN(length, size - 1);
    while (n > 0 && at[n - 1] == ' ') n--;
    memcpy(out, at, n);
    out[n] = '\0';
    return at + length + (at[length] == '|');
}

/* Where the next kernel's "//// " stands, or the end. */
static size_t find_hack(const char *text, size_t from)
{
    const char *const next = strstr(text + from, "\n//// ");
    return next ? (size_t)(next - text) + 1 : strlen(text);
}

/* The kernel at `at`, which stands at its "//// ". */
static void read_hack(const char *at, const char *plain, hack *h)
{
    *h = (hack){.source = {0}};
    at = read_field(at + 5, h->name, sizeof h->name);
    at = read_field(at, h->right, sizeof h->right);
    at = read_field(at, h->problem, sizeof h->problem);
    if (!h->problem[0]) snprintf(h->problem, sizeof h->problem, PLAIN);
    gs_text_add(&h->manifest, HEAD);
    gs_text_addf(&h->source, "%s#line 2 \"hack.cu\"\n", plain);
    const size_t head = h->manifest.size;
    at += *at == '\n';
    while (*at && strncmp(at, "//// ", 5) != 0) {
        const size_t length = strcspn(at, "\n");
        if (strncmp(at, "//: ", 4) == 0) gs_text_addf(&h->manifest, "%.*s\n", (int)length - 4, at + 4);
        gs_text_addf(&h->source, "%.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
    if (h->manifest.size == head) gs_text_add(&h->manifest, SIMPLE);
}

static void free_hack(hack *h)
{
    gs_text_free(&h->source);
    gs_text_free(&h->manifest);
}

/* ---- verdicts ---- */

/* "forbidden:state", "exact": what came of it, with the verdict's own words behind. */
static void judge(const hack *h, uint64_t seed, char got[64], char why[512])
{
    gs_kernel kernel = {.name = "hack.cu", .source = gs_text_string(&h->source)};
    gs_error error = {0};
    gs_contender contender;
    gs_verdict verdict;
    const gs_problem problem = problem_of(h->problem);
    if (gs_manifest_parse(&kernel.manifest, gs_text_string(&h->manifest), &error) != GS_OK) fail_msg("%s: %s: %s", h->name, error.field, error.text);
    assert_int_equal(gs_contender_kernel(&contender, device, h->name, &kernel, &error), GS_OK);
    const bool edges = strstr(h->right, "edge") != NULL;
    const gs_verify_options options = {.seed = seed, .parts = edges ? GS_PART_ALL : GS_PART_ALL & ~(uint32_t)GS_PART_EDGES};
    const gs_status status = gs_verify(verifier, &contender, &problem, &options, &verdict, &error);
    contender.destroy(&contender);
    if (status != GS_OK) fail_msg("%s: %s: %s", h->name, error.field, error.text);
    snprintf(why, 512, "%s", verdict.reason);
    snprintf(got, 64, "%s", gs_verdict_name(verdict.code));
    if (verdict.code != GS_VERDICT_FORBIDDEN) return;
    char reason[32] = "";
    assert_int_equal(sscanf(verdict.reason, "prepare: %31[a-z]", reason), 1);
    assert_true(gs_refusal_find(reason) != GS_REFUSALS);
    snprintf(got, 64, "forbidden:%s", reason);
}

static bool is_right(const char *right, const char *got)
{
    const size_t size = strlen(got);
    for (const char *at = right; (at = strstr(at, got)) != NULL; at += size)
        if ((at == right || at[-1] == ' ') && (at[size] == '\0' || at[size] == ' ')) return true;
    return false;
}

static void run_file(const char *name, int least)
{
    char *const text = read_text(name), *const plain = read_text("plain.cuh");
    int seen = 0, count = 0, missed = 0;
    for (size_t at = find_hack(text, 0); text[at]; at = find_hack(text, at + 1)) {
        hack h;
        char got[64], why[512];
        read_hack(text + at, plain, &h);
        if (only ? strstr(h.name, only) != NULL : seen++ % SHARE == 0) {
            judge(&h, 1 + (uint64_t)count, got, why);
            const bool right = is_right(h.right, got);
            if (!right || all) print_message("%s%-72s | %-40s | %-22s %s\n", right ? "" : "WRONG ", h.name, h.right, got, !right || all ? why : "");
            missed += !right;
            count++;
        }
        free_hack(&h);
    }
    free(text);
    free(plain);
    print_message("%s: %d kernels\n", name, count);
    assert_true(only || seen >= least);
    assert_int_equal(missed, 0);
}

static void test_hacks(void **state)
{
    (void)state;
    run_file("hacks.cu", 41);
}

static void test_refused(void **state)
{
    (void)state;
    run_file("refused.cu", 34);
}

static void test_honest(void **state)
{
    (void)state;
    run_file("honest.cu", 24);
}

int main(int argc, char **argv)
{
    gs_error error = {0};
    char text[512];
    if (!gs_compiler_version(&error)) {
        print_message("skipped: %s\n", error.text);
        return 77;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0) all = true;
        else only = argv[i];
    }
    gs_status status = gs_device_open(&device, "emu:h200,threads=1,seed=3", NULL, &error);
    if (status == GS_OK) status = gs_verifier_create(&verifier, device, &error);
    if (status != GS_OK) {
        print_error("%s\n", gs_error_format(&error, text, sizeof text));
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_hacks), cmocka_unit_test(test_honest)};
    const int failed = cmocka_run_group_tests_name("the hack suite", tests, NULL, NULL);
    gs_verifier_destroy(&verifier);
    gs_device_close(&device);
    return failed;
}
