/* SPDX-License-Identifier: MIT
 * PTX texts that tests inspect, their manifest and problem, and the expected messages. Included after cmocka. */
#ifndef TESTS_INSPECT_INSPECTING_H
#define TESTS_INSPECT_INSPECTING_H

#include <stdlib.h>
#include <string.h>

#include "inspect/inspect.h"
#include "texts.h"

#define PROBLEM "f16:64x64x64:tn"
#define TOP     ".version 9.0\n.target sm_90a\n.address_size 64\n"
#define KERNEL  ".visible .entry k(.param .align 8 .b8 a[104])\n{\n"
#define REGS    ".reg .pred %p<4>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %fd<2>;\n"

static const gs_manifest one_entry = {
    .accumulator = GS_F32, .bitwise = true, .align = {2, 2, 2, 2}, .entry_count = 1,
    .entry = {{.name = "k", .grid = {{"1"}, {"1"}, {"1"}}, .smem = {"1024"}, .block = {32, 1, 1}, .cluster = {1, 1, 1}}}};

/* reason "": must be accepted; otherwise refused for that reason, with a message that contains `said` (NULL: any). The text is copied to a buffer of exactly its size, so
 * that a sanitizer sees a read beyond the end. */
static void judge(const char *ptx, size_t size, const gs_manifest *manifest, const char *problem, const char *reason, const char *said)
{
    gs_error error = {0};
    const gs_problem p = problem_of(problem);
    char *const copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, ptx, size);
    const gs_status status = gs_inspect_ptx(copy, size, manifest, &p, &error);
    free(copy);
    if (status != (*reason ? GS_ERROR_FORBIDDEN : GS_OK)) fail_msg("status %d, %s: %s\n%.2000s", (int)status, error.field, error.text, ptx);
    if (!*reason) return;
    if (strcmp(error.field, reason) != 0) fail_msg("%s, not %s: %s\n%.2000s", error.field, reason, error.text, ptx);
    if (!strstr(error.text, said ? said : "") || !*error.text) fail_msg("%s is not in: %s\n%.2000s", said ? said : "a reason", error.text, ptx);
}

#endif
