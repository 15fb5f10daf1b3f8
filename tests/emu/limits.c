/* SPDX-License-Identifier: MIT
 * Hostile kernels found by fuzzing: the emulated machine must refuse them instead of using up the host's memory or guessing what they mean. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "emu.h"

#define KERNEL(body)                                                                                                              \
    ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .pred %p<4>;\n.reg .b16 %rs<4>;\n" \
    ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<4>;\n.shared .align 128 .b8 buf[16384];\n.shared .align 8 .b8 bar[8];\n"    \
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n" body "\nret;\n}\n"

static emu_test test;

static void end(void)
{
    emu_end(&test);
    memset(&test, 0, sizeof test);
}

static int teardown(void **state)
{
    (void)state;
    end();
    return 0;
}

static void start(const char *ptx)
{
    end();
    if (emu_load(&test, ptx, NULL) != GS_OK) fail_msg("%s", test.error.text);
    const uint64_t out = emu_buffer(&test, NULL, 1 << 16);
    emu_param(&test, 0, &out, sizeof out);
}

static void refused(const char *body, gs_status status, const char *word)
{
    static const char frame[] = KERNEL("<>");
    const char *const at = strstr(frame, "<>");
    char text[4096];
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - frame), frame, body, at + 2);
    end();
    const gs_status got = emu_load(&test, text, NULL);
    if (got != status || !strstr(test.error.text, word)) fail_msg("%s: %s: \"%s\"", body, gs_status_name(got), test.error.text);
}

static void found(gs_emu_finding_kind kind, const char *word)
{
    assert_int_equal(emu_run(&test), GS_ERROR_FAULT);
    for (int i = 0; i < test.launch.findings; i++)
        if (test.launch.finding[i].kind == kind && strstr(test.launch.finding[i].text, word)) return;
    fail_msg("no %s with \"%s\", but %s", gs_emu_finding_name(kind), word, test.error.text);
}

/* ---- forms that were once taken for something else ---- */

static void results_need_a_register(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "cvta.shared.u64 _, %rd1;", "cvta.to.global.u64 _, %rd1;", "isspacep.global _, %rd1;", "mapa.shared::cluster.u32 _, %r1, 0;",
        "getctarank.shared::cluster.u32 _, %r1;", "createpolicy.fractional.L2::evict_first.b64 _;",
    };
    for (size_t i = 0; i < GS_COUNT(bodies); i++) refused(bodies[i], GS_ERROR_UNSUPPORTED, "the result has no register");
}

static void operands_of_another_form(void **state)
{
    (void)state;
    refused("ld.global.u32 %r2, [%rd1, {%r1}];", GS_ERROR_UNSUPPORTED, "without coordinates");
    refused("add.f16 %rs1, %rs2, 0f3F800000;", GS_ERROR_UNSUPPORTED, "32 or 64 bits");
    refused("fma.rn.bf16 %rs1, %rs2, 1.0, %rs3;", GS_ERROR_UNSUPPORTED, "32 or 64 bits");
    refused("add.f32 %f1, %f2, 1;", GS_ERROR_UNSUPPORTED, "an integer where");
    refused("mov.u32 %rd1, %clock64;", GS_ERROR_UNSUPPORTED, "another width");
}

static void refusals_name_what_is_wrong(void **state)
{
    (void)state;
    static const struct { const char *words, *body; } forms[] = {
        {"only shfl.sync.MODE.b32", "shfl.up.b32 %r1, %r2, 1, 0;"}, {"only shfl.sync.MODE.b32", "shfl.sync.up.b16 %r1, %r2, 1, 0, -1;"},
        {"unknown mode .left", "shfl.sync.left.b32 %r1, %r2, 1, 0, -1;"}, {"only vote.sync.MODE", "vote.any.pred %p1, %p2;"},
        {"only vote.sync.MODE", "vote.warp.any.pred %p1, %p2, -1;"}, {"unknown mode .most", "vote.sync.most.pred %p1, %p2, -1;"},
        {"unknown form", "match.any.b32 %r1, %r2, -1;"}, {"unknown form", "match.some.sync.b32 %r1, %r2, -1;"},
        {"unknown form", "match.any.warp.b32 %r1, %r2, -1;"}, {"unknown type .b16", "match.any.sync.b16 %r1, %r2, -1;"},
        {"unknown form", "redux.add.u32 %r1, %r2, -1;"}, {"unknown form", "redux.warp.add.u32 %r1, %r2, -1;"},
        {"unknown operation or type", "redux.sync.mul.u32 %r1, %r2, -1;"}, {"unknown operation or type", "redux.sync.add.f32 %r1, %r2, -1;"},
        {"only elect.sync d|p, mask", "elect.warp %r1|%p1, -1;"}, {"only elect.sync d|p, mask", "elect.sync %r1, -1;"},
        {"unknown modifier .warp", "bar.warp 0;"}, {"unknown form", "bar.cta 0;"}, {"unknown form", "bar.sync.arrive 0, 32;"},
        {"unknown form", "bar.sync.popc.u32 %r1, 0, %p1;"}, {"unknown form", "bar.red.u32 %r1, 0, %p1;"},
        {"unknown form", "bar.red.popc.pred %r1, 0, %p1;"}, {"unknown form", "bar.red.and.u32 %p1, 0, %p2;"},
        {"unknown form", "bar.red.and.or.pred %p1, 0, %p2;"}, {"arrive needs the number of threads", "bar.arrive 0;"},
        {"unknown modifier .sync", "barrier.cluster.sync;"}, {"neither .arrive nor .wait", "barrier.cluster.aligned;"},
        {"neither .arrive nor .wait", "barrier.cluster.arrive.wait;"}, {"no operands are expected", "fence.acq_rel.gpu %r1;"},
        {"does not know this fence", "fence.relaxed.gpu;"}, {"does not know this fence", "fence.acq_rel.warp;"},
        {"does not know this fence", "fence.acq_rel;"}, {"does not know this fence", "fence.acq_rel.gpu.cta;"},
        {"does not know this fence", "membar.warp;"}, {"only setmaxnreg.inc and .dec", "setmaxnreg.add.sync.aligned.u32 64;"},
        {"multiple of 8 from 24 to 256", "setmaxnreg.inc.sync.aligned.u32 16;"},
        {"multiple of 8 from 24 to 256", "setmaxnreg.inc.sync.aligned.u32 264;"},
        {"multiple of 8 from 24 to 256", "setmaxnreg.dec.sync.aligned.u32 36;"},
        {"multiple of 8 from 24 to 256", "setmaxnreg.dec.sync.aligned.u32 %r1;"}, {"only .wait and .launch_dependents", "griddepcontrol.begin;"},
        {"only .wait and .launch_dependents", "griddepcontrol.wait %r1;"},
    };
    for (size_t i = 0; i < GS_COUNT(forms); i++) refused(forms[i].body, GS_ERROR_UNSUPPORTED, forms[i].words);
}

/* Opcodes that exist only in some forms, each of which needs all its parts. */
static void forms_that_do_not_exist(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "fence.foo.gpu;", "fence.cluster.gpu;", "fence.mbarrier_init.release.cta;",
        "fence.proxy.async.shared;", "fence.proxy.async::global;", "fence.proxy.tensormap::generic.acquire [%rd1], 128;",
        "membar;", "membar.cluster;",
        "griddepcontrol;", "griddepcontrol.stop;", "setmaxnreg.inc.sync.u32 40;", "setmaxnreg.dec.sync.aligned 40;",
        "bar 0;", "bar.red.pred %p1, 0, %p2;",
        "bar.red.popc.pred %p1, 0, %p2;", "trap.uni;", "exit.foo;",
        "pmevent.foo 1;", "nanosleep 1;",
        "activemask %r1;", "bra.foo L; L:",
    };
    for (size_t i = 0; i < GS_COUNT(bodies); i++) refused(bodies[i], GS_ERROR_UNSUPPORTED, "line ");
    static const char exist[] = KERNEL("fence.sc.sys;\nfence.acquire.cta;\nfence.cluster;\nmembar.gl;\nfence.proxy.alias;\n"
                                       "fence.proxy.async.global;\n"
                                       "fence.proxy.async.shared::cluster;\nfence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n"
                                       "fence.proxy.tensormap::generic.release.gpu;\ngriddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n"
                                       "bar.cta.red.or.pred %p1, 0, %p2;\nbarrier.red.popc.aligned.u32 %r2, 1, %p1;\nnanosleep.u32 20;\npmevent 1;\n"
                                       "activemask.b32 %r2;\nmov.u64 %rd2, %clock64;\nbra.uni L;\nL:");
    start(exist);
    if (emu_run(&test) != GS_OK) fail_msg("%s", test.error.text);
}

/* Addresses wrap around. */
static void an_address_beyond_the_last(void **state)
{
    (void)state;
    start(KERNEL("ld.global.u32 %r2, [9223372036854775807+5];"));
    found(GS_EMU_OUT_OF_BOUNDS_FINDING, "0x8000000000000004");
}

/* ---- memory ---- */

static void local_memory(void **state)
{
    (void)state;
    refused(".local .b8 a[524289]; st.local.u8 [a], %r1;", GS_ERROR_RANGE, "does not fit");
    refused(".local .b8 a[300000]; .local .b8 b[300000]; st.local.u8 [a], %r1;", GS_ERROR_RANGE, "does not fit");
    start(KERNEL(".local .align 4 .b8 a[524288];\nst.local.u32 [a+524284], %r1;"));
    assert_int_equal(emu_run(&test), GS_OK);
    test.launch.block[0] = 1024;   /* 32 warps of 16 MiB, plus a little */
    assert_int_equal(emu_run(&test), GS_ERROR_LAUNCH);
    assert_non_null(strstr(test.error.text, "MiB for registers, local and shared memory"));
}

/* A block can have 512 mbarriers. */
static void many_mbarriers(void **state)
{
    (void)state;
    start(KERNEL("mov.u32 %r2, buf;\nshl.b32 %r3, %r1, 3;\nadd.u32 %r2, %r2, %r3;\nmbarrier.init.shared::cta.b64 [%r2], 1;\n"
                 "setp.ne.u32 %p1, %r1, 0;\n@%p1 exit;\nmbarrier.init.shared::cta.b64 [buf], 1;"));
    test.launch.block[0] = 512;
    assert_int_equal(emu_run(&test), GS_OK);
    test.launch.block[0] = 513;
    found(GS_EMU_TRAP_FINDING, "more than 512 mbarriers");
}

/* 32 lanes issue 320 copies each before any of them waits: the queue holds only some, the others wait for space. */
#define TURNS "setp.lt.u32 %p1, %r2, 320;\n@%p1 bra L;\n"
static const char *const queues[] = {
    KERNEL("mov.u32 %r2, 0;\nL:\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [buf], 4096;\ncp.async.bulk.commit_group;\n"
           "add.u32 %r2, %r2, 1;\n" TURNS "cp.async.bulk.wait_group 0;"),
    KERNEL("mov.u32 %r3, buf;\nshl.b32 %r4, %r1, 4;\nadd.u32 %r3, %r3, %r4;\nmov.u32 %r2, 0;\nL:\n"
           "cp.async.cg.shared.global [%r3], [%rd1], 16;\nadd.u32 %r2, %r2, 1;\n" TURNS "cp.async.wait_all;"),
};

static void a_full_queue(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(queues); i++)
        for (uint64_t seed = 1; seed <= 12; seed++) {
            start(queues[i]);
            test.launch.block[0] = i ? 1024 : 32;
            test.launch.seed = seed;
            test.launch.check = false;   /* nothing orders the copies; the test only needs all of them to arrive */
            if (emu_run(&test) != GS_OK) fail_msg("%s", test.error.text);
            assert_true(test.launch.counters.issued[GS_EMU_COPY] >= 320);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(results_need_a_register, teardown),
        cmocka_unit_test_teardown(operands_of_another_form, teardown),
        cmocka_unit_test_teardown(refusals_name_what_is_wrong, teardown),
        cmocka_unit_test_teardown(forms_that_do_not_exist, teardown),
        cmocka_unit_test_teardown(an_address_beyond_the_last, teardown),
        cmocka_unit_test_teardown(local_memory, teardown),
        cmocka_unit_test_teardown(many_mbarriers, teardown),
        cmocka_unit_test_teardown(a_full_queue, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
