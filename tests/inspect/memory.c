/* SPDX-License-Identifier: MIT
 * Inspections that run out of memory, at each of their allocations; and entries that pass too much data to functions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "support/leaks.h"
#include "allocations.h"
#include "base/text.h"
#include "inspecting.h"

static void every_allocation_fails_once(void **state)
{
    (void)state;
    static const char text[] = TOP ".global .u32 g;\n.func (.param .b64 back) f(.param .b64 in)\n{\n.reg .b64 %rd<4>; .reg .b32 %r<4>;\nld.param.u64 %rd0, [in]; ld.u32 %r0, [%rd0]; cvt.u64.u32 %rd1, %r0; "
        "st.param.u64 [back], %rd1; ret; }\n" KERNEL REGS "mov.u64 %rd0, g; { .param .b64 p; st.param.b64 [p], %rd0; .param .b64 q; call (q), f, (p); ld.param.b64 %rd1, [q]; }\n"
        "st.global.u64 [%rd2], %rd1;\nmov.b32 %r2, 10000000; mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], %r1, %r2;\n"
        "createpolicy.fractional.L2::evict_first.b64 %rd4, 1.0;\nld.global.L2::cache_hint.u32 %r3, [%rd3], %rd4;\nret;\n}\n";
    const gs_problem problem = problem_of(PROBLEM);
    gs_error error = {0};
    fail_at = 0;
    allocations = 0;
    const gs_status status = gs_inspect_ptx(text, strlen(text), &one_entry, &problem, &error);
    const int all = allocations;
    if (status != GS_OK) fail_msg("%s: %s", error.field, error.text);
    assert_true(all > 10);
    for (int i = 1; i <= all; i++) {
        error = (gs_error){0};
        fail_at = i;
        const gs_status failed = gs_inspect_ptx(text, strlen(text), &one_entry, &problem, &error);
        fail_at = 0;
        if (failed != GS_ERROR_MEMORY || error.status != GS_ERROR_MEMORY || !strstr(error.text, "memory")) fail_msg("allocation %d of %d: %d, %s", i, all, (int)failed, error.text);
    }
}

/* An entry may pass at most 1 MiB to functions, over all calls. A single parameter has at most 32764 bytes. */
static void what_may_be_passed(void **state)
{
    (void)state;
    enum { FULL = 32764, PARAMETERS = 32 };
    static const struct { int last; bool refused; } cases[] = {{(1 << 20) - PARAMETERS * FULL, false}, {(1 << 20) - PARAMETERS * FULL + 1, true}, {FULL, true}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_text text = {0};
        gs_text_add(&text, TOP KERNEL REGS "mov.u32 %r0, 1;\n");
        for (int j = 0; j <= PARAMETERS; j++) gs_text_addf(&text, "{ .param .align 4 .b8 p[%d]; st.param.b8 [p], %%r0; }\n", j < PARAMETERS ? FULL : cases[i].last);
        gs_text_add(&text, "ret;\n}\n");
        judge(gs_text_string(&text), text.size, &one_entry, PROBLEM, cases[i].refused ? "size" : "", "calls in entry k pass more than 1048576 bytes");
        gs_text_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once), cmocka_unit_test(what_may_be_passed)};
    return run_without_leaks("inspection, memory", tests, sizeof tests / sizeof *tests);
}
