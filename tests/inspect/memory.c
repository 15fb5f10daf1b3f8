/* SPDX-License-Identifier: MIT
 * Inspections that run out of memory, at each of their allocations, and entries that pass too much to functions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/leaks.h"
#include "allocations.h"
#include "base/text.h"
#include "inspect/inspect.h"
#include "texts.h"

#define TOP     ".version 9.0\n.target sm_90a\n.address_size 64\n"
#define REGS    ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n"

static gs_manifest one_entry(void)
{
    gs_manifest m = {.accumulator = GS_F32, .bitwise = true, .align = {2, 2, 2, 2}, .entry_count = 1};
    m.entry[0] = (gs_entry){.name = "k", .grid = {{"1"}, {"1"}, {"1"}}, .smem = {"1024"}, .block = {32, 1, 1}, .cluster = {1, 1, 1}};
    return m;
}

static gs_status inspect(const char *text, gs_error *error)
{
    const gs_manifest manifest = one_entry();
    const gs_problem problem = problem_of("f16:64x64x64:tn");
    *error = (gs_error){0};
    return gs_inspect_ptx(text, strlen(text), &manifest, &problem, error);
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    static const char text[] = TOP ".global .u32 g;\n.func (.param .b64 back) f(.param .b64 in)\n{\n.reg .b64 %rd<4>; .reg .b32 %r<4>;\nld.param.u64 %rd0, [in]; ld.u32 %r0, [%rd0]; cvt.u64.u32 %rd1, %r0; "
        "st.param.u64 [back], %rd1; ret; }\n.visible .entry k(.param .align 8 .b8 a[104])\n{\n" REGS "mov.u64 %rd0, g; { .param .b64 p; st.param.b64 [p], %rd0; .param .b64 q; call (q), f, (p); ld.param.b64 %rd1, [q]; }\n"
        "st.global.u64 [%rd2], %rd1;\nmov.b32 %r2, 10000000; mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], %r1, %r2;\n"
        "createpolicy.fractional.L2::evict_first.b64 %rd4, 1.0;\nld.global.L2::cache_hint.u32 %r3, [%rd3], %rd4;\nret;\n}\n";
    gs_error error;
    fail_at = 0;
    allocations = 0;
    const gs_status status = inspect(text, &error);
    const int all = allocations;
    if (status != GS_OK) fail_msg("%s: %s", error.field, error.text);
    assert_true(all > 10);
    for (int i = 1; i <= all; i++) {
        fail_at = i;
        const gs_status failed = inspect(text, &error);
        fail_at = 0;
        if (failed != GS_ERROR_MEMORY || error.status != GS_ERROR_MEMORY || !strstr(error.text, "memory")) fail_msg("allocation %d of %d: %d, %s", i, all, (int)failed, error.text);
    }
}

/* What an entry passes to functions, of all its calls: 1 MiB. A parameter alone has 32764 bytes at most. */
static void what_may_be_passed(void **state)
{
    (void)state;
    enum { FULL = 32764, PARAMETERS = 32 };
    static const struct { int last; bool refused; } cases[] = {{(1 << 20) - PARAMETERS * FULL, false}, {(1 << 20) - PARAMETERS * FULL + 1, true}, {FULL, true}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_text text = {0};
        gs_error error;
        gs_text_add(&text, TOP ".visible .entry k(.param .align 8 .b8 a[104])\n{\n" REGS "mov.u32 %r0, 1;\n");
        for (int j = 0; j <= PARAMETERS; j++) gs_text_addf(&text, "{ .param .align 4 .b8 p[%d]; st.param.b8 [p], %%r0; }\n", j < PARAMETERS ? FULL : cases[i].last);
        gs_text_add(&text, "ret;\n}\n");
        const gs_status status = inspect(gs_text_string(&text), &error);
        if (status != (cases[i].refused ? GS_ERROR_FORBIDDEN : GS_OK)) fail_msg("%d: %d, %s: %s", cases[i].last, (int)status, error.field, error.text);
        if (cases[i].refused) assert_string_equal(error.field, "size");
        if (cases[i].refused) assert_non_null(strstr(error.text, "calls in entry k pass more than 1048576 bytes"));
        gs_text_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once), cmocka_unit_test(what_may_be_passed)};
    return run_without_leaks("inspection, memory", tests, sizeof tests / sizeof *tests);
}
