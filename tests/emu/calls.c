/* SPDX-License-Identifier: MIT
 * Functions on the emulated machine: arguments and results, lanes that return at different places, memory, races. The PTX looks like NVRTC's output. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/leaks.h"
#include "emu.h"

#define HEAD ".version 8.4\n.target sm_90a\n.address_size 64\n"
/* to[thread] = f(thread, 3) */
#define ENTRY(extra) ".visible .entry k(.param .u64 out)\n{\n.reg .pred p; .reg .b32 %r<4>; .reg .b64 %rd<4>;\nld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\n" \
    "setp.ge.u32 p, %r0, 60;\nmov.u32 %r1, 77;\n" extra                                                                                         \
    "@p bra L;\n{\n.param .align 8 .b8 a[8]; st.param.v2.b32 [a+0], {%r0, 3};\n.param .b32 b;\ncall.uni (b), f, (a);\nld.param.b32 %r1, [b+0];\n}\n" \
    "L: mul.wide.u32 %rd1, %r0, 4; add.s64 %rd1, %rd0, %rd1; st.global.u32 [%rd1], %r1; ret;\n}\n"
#define F ".func (.param .b32 back) f(.param .align 8 .b8 in[8])\n{\n.reg .pred p; .reg .b32 %r<8>; .reg .b64 %rd<4>;\nld.param.u32 %r0, [in+0]; ld.param.u32 %r1, [in+4];\n"

static gs_status run(const char *ptx, uint32_t words[64], emu_test *t)
{
    if (emu_load(t, ptx, NULL) != GS_OK) fail_msg("%s", t->error.text);
    const uint64_t out = emu_buffer(t, NULL, 256);
    emu_param(t, 0, &out, sizeof out);
    t->launch.block[0] = 64;
    const gs_status status = emu_run(t);
    memcpy(words, emu_bytes(t, out, 256), 256);
    return status;
}

static void clean(const char *ptx, uint32_t words[64])
{
    emu_test t;
    if (run(ptx, words, &t) != GS_OK) fail_msg("%s", t.error.text);
    emu_end(&t);
}

/* Lanes of one warp return at three places; the last lanes do not call. */
static void ways_back(void **state)
{
    (void)state;
    uint32_t words[64];
    clean(HEAD F "setp.lt.u32 p, %r0, 10; st.param.u32 [back+0], %r0; @p ret;\n"
          "setp.gt.u32 p, %r0, 50; @p bra B;\nadd.u32 %r0, %r0, %r1; st.param.u32 [back+0], %r0; ret;\n"
          "B: mul.lo.u32 %r0, %r0, %r1; st.param.u32 [back+0], %r0; ret;\n}\n" ENTRY(""), words);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(words[i], i < 10 ? i : i <= 50 ? i + 3 : i < 60 ? 3 * i : 77);
}

/* An array in the function's local memory; and a function that calls a function twice. */
static void nested(void **state)
{
    (void)state;
    uint32_t words[64];
    clean(HEAD ".func (.param .b32 back) twice(.param .b32 in)\n{\n.reg .b32 %r<4>; .local .align 4 .b8 depot[16]; .reg .b64 %rd<2>;\n"
          "ld.param.u32 %r1, [in]; mov.u64 %rd1, depot; st.local.u32 [%rd1+8], %r1; ld.local.u32 %r2, [%rd1+8]; add.u32 %r1, %r1, %r2; st.param.u32 [back], %r1; ret;\n}\n"
          F "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), twice, (a); ld.param.b32 %r0, [b]; }\n"
          "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), twice, (a); ld.param.b32 %r0, [b]; }\n"
          "st.param.u32 [back], %r0; ret;\n}\n" ENTRY(""), words);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(words[i], i < 60 ? 4 * i : 77);
}

/* A barrier inside a function is for all threads. A function's shared memory exists once for all callers; without the barrier there is a race. */
static void shared_memory(void **state)
{
    (void)state;
    static const char fill[] = ".func set(.param .b32 at)\n{\n.reg .b32 %r<6>; .shared .align 4 .b8 own[256];\n"
        "ld.param.u32 %r0, [at]; mov.u32 %r1, own; shl.b32 %r2, %r0, 2; add.s32 %r2, %r1, %r2; st.shared.u32 [%r2], %r0;\n%s"
        "xor.b32 %r2, %r2, 128; ld.shared.u32 %r3, [%r2]; bar.sync 0; ret;\n}\n"
        ".func (.param .b32 back) f(.param .align 8 .b8 in[8]) { .reg .b32 %r; ld.param.u32 %r, [in]; st.param.u32 [back], %r; ret; }\n" ENTRY("%s");
    static const char call[] = "{ .param .b32 a; st.param.b32 [a], %r0; call set, (a); }\n{ .param .b32 a; st.param.b32 [a], %r0; call set, (a); }\n";
    static char text[4096];
    uint32_t words[64];
    emu_test t;
    const char *const at = strstr(fill, "%s"), *const calls = strstr(at + 2, "%s");
    snprintf(text, sizeof text, HEAD "%.*sbar.sync 0;\n%.*s%s%s", (int)(at - fill), fill, (int)(calls - at - 2), at + 2, call, calls + 2);
    clean(text, words);
    assert_int_equal(words[5], 5);
    snprintf(text, sizeof text, HEAD "%.*s%.*s%s%s", (int)(at - fill), fill, (int)(calls - at - 2), at + 2, call, calls + 2);
    assert_int_equal(run(text, words, &t), GS_ERROR_FAULT);
    assert_true(emu_found(&t, GS_EMU_RACE_FINDING) + emu_found(&t, GS_EMU_UNINITIALIZED_FINDING) > 0);
    assert_int_equal(t.code->static_shared, 256);
    emu_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_back),
        cmocka_unit_test(nested),
        cmocka_unit_test(shared_memory),
    };
    return run_without_leaks("calls", tests, sizeof tests / sizeof *tests);
}
