/* SPDX-License-Identifier: MIT
 * The inspection of user kernels on short texts: which PTX and which includes are refused, and with which reason; limits; and what a candidate cannot request at all
 * because no manifest entry exists for it. Whole kernels are inspected in tests/evaluate/hacks.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/leaks.h"
#include "inspecting.h"
#include "verify/verify.h"

#define IN(body) TOP KERNEL REGS body "\nret;\n}\n"
#define WITH(variables, body) TOP variables "\n" KERNEL REGS body "\nret;\n}\n"

typedef struct sample {
    const char *ptx, *reason, *said;   /* reason, said: as in judge() */
} sample;

static void check_all(const sample *all, size_t count, const gs_manifest *manifest, const char *problem)
{
    for (size_t i = 0; i < count; i++) judge(all[i].ptx, strlen(all[i].ptx), manifest, problem, all[i].reason, all[i].said);
}

#define CHECK_ALL(all, manifest, problem) check_all(all, GS_COUNT(all), manifest, problem)

static void test_state(void **state)
{
    (void)state;
    static const sample all[] = {
        {WITH(".global .u32 g;", "mov.u32 %r0, 0;"), ""},
        {WITH(".global .u32 g;", "ld.global.u32 %r0, [g];"), ""},
        {WITH(".global .align 4 .b8 t[8] = {1,2,3,4,5,6,7,8};", "mov.u64 %rd0, t; cvta.global.u64 %rd1, %rd0; add.s64 %rd2, %rd1, %rd3; ld.u32 %r0, [%rd2+4];"), ""},
        {WITH(".const .align 4 .b8 t[8] = {1,2,3,4,5,6,7,8};", "mov.u64 %rd0, t; mad.wide.u32 %rd1, %r0, 4, %rd0; ld.const.f32 %f0, [%rd1]; st.global.f32 [%rd3], %f0;"), ""},
        {WITH(".extern .shared .align 16 .b8 s[];", "mov.u32 %r0, s; st.shared.u32 [%r0], 1;"), ""},
        {WITH(".shared .align 4 .u32 s;", "st.shared.u32 [s], 1; atom.shared.add.u32 %r0, [s], 1;"), ""},
        {WITH(".global .u32 g;", "st.global.u32 [g], 1;"), "state"},
        {WITH(".global .u32 g = 7;", "st.global.u32 [g+4], 1;"), "state"},
        {WITH(".global .u32 g;", "atom.global.add.u32 %r0, [g], 1;"), "state"},
        {WITH(".global .u32 g;", "red.global.add.u32 [g], 1;"), "state"},
        {WITH(".const .u32 c = 1;", "mov.u64 %rd0, c; cvta.const.u64 %rd1, %rd0; st.u32 [%rd1], 2;"), "state"},
        {IN(".global .u32 inside;\nst.global.u32 [inside], 1;"), "state"},
        /* the store precedes the definition of its address */
        {WITH(".global .u32 g;", "bra two;\none: st.global.u32 [%rd2], 1; ret;\ntwo: mov.u64 %rd1, g; xor.b64 %rd2, %rd1, 1; bra one;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; st.shared.u64 [%rd1], %rd0;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; mov.b64 {%r0, %r1}, %rd0; shfl.sync.idx.b32 %r2, %r0, 0, 31, -1;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; mov.b64 {%r0, %r1}, %rd0; mov.b64 %rd1, {%r0, %r1}; st.global.u32 [%rd1], 1;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; setp.eq.s64 %p0, %rd0, 8; @%p0 mov.u32 %r0, 1;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; setp.eq.s64 %p0, %rd0, 8; @!%p0 bra out; mov.u32 %r0, 1;\nout:"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; setp.eq.s64 %p0, %rd0, 8; selp.b64 %rd1, 1, 0, %p0; st.u32 [%rd1], 1;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; cp.async.ca.shared.global [%r0], [%rd0], 4;"), ""},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; cp.async.ca.shared.global [%rd0], [%rd1], 4;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%rd0], 16, [%r1];"), "state"},
        {WITH(".global .u32 g, h;", "mov.u64 %rd0, g; mov.u64 %rd1, h; selp.b64 %rd2, %rd0, %rd1, %p0; sub.s64 %rd3, %rd2, %rd4; mad.lo.s64 %rd3, %rd4, 4, %rd3; ld.u32 %r0, [%rd3];"), ""},
        {WITH(".global .u32 g;", "prefetch.global.L2 [g];"), ""},
        /* bits of the address, used as an index or through the carry flag */
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; and.b64 %rd1, %rd0, 255; ld.global.u8 %rs0, [%rd1];"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; shr.u64 %rd1, %rd0, 8;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; add.cc.u64 %rd1, %rd0, %rd2; addc.u64 %rd3, 0, 0;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; mov.u64 %rd1, g; add.s64 %rd2, %rd0, %rd1;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; sub.s64 %rd2, %rd1, %rd0;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; mad.lo.s64 %rd1, %rd0, 2, %rd2;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; mul.lo.s64 %rd1, %rd0, 2;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; min.u64 %rd1, %rd0, %rd2;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; cvt.u32.u64 %r0, %rd0;"), "state"},
        {WITH(".global .u32 g;", "mov.u32 %r0, g;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; bar.sync %rd0;"), "state"},
        {WITH(".global .u32 g;", "bar.sync g;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; mov.b64 {%r0, %r1}, %rd0;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; setp.lt.u64 %p0, %rd0, %rd1;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; ld.shared.u32 %r0, [%rd0];"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; mapa.u64 %rd1, %rd0, 1;"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0; ld.global.L2::cache_hint.u32 %r0, [%rd1], %rd0;"), "state"},
        {WITH(".global .align 4 .b8 g[65536];", "ld.global.u32 %r0, [g];"), ""},
        {WITH(".global .align 4 .b8 g[65532]; .const .u32 c[2];", "ld.global.u32 %r0, [g];"), "state"},
        {WITH(".global .attribute(.managed) .align 4 .u32 g;", ""), "state"},
        {IN(".local .align 4 .b8 kept[16];\nld.local.u32 %r0, [kept];"), "state"},
        {WITH(".extern .global .u32 g;", ""), "external"},
        {WITH(".extern .const .u32 g;", ""), "external"},
    };
    CHECK_ALL(all, &one_entry, PROBLEM);
}

#define FUNCTION ".func (.param .b64 back) f(.param .b64 in)\n{\n.reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
#define CALL     "{ .param .b64 p; st.param.b64 [p], %rd0; .param .b64 q; call (q), f, (p); ld.param.b64 %rd1, [q]; }"

#define BESIDE   "{ .param .align 8 .b8 p[24]; st.param.b64 [p], %rd2; st.param.b64 [p+8], %rd0; st.param.b64 [p+16], %rd2; "

/* The effects of a function are seen where it is called, and addresses are followed into and out of it. A value that nobody stored cannot be read. */
static void test_calls(void **state)
{
    (void)state;
    static const sample all[] = {
        {WITH(".global .u32 g;\n" FUNCTION "ld.param.u64 %rd0, [in]; st.param.u64 [back], %rd0; ret; }", "mov.u64 %rd0, g; " CALL " ld.u32 %r0, [%rd1];"), ""},
        {WITH(".global .u32 g;\n" FUNCTION "ld.param.u64 %rd0, [in]; ld.u32 %r0, [%rd0]; cvt.u64.u32 %rd1, %r0; st.param.u64 [back], %rd1; ret; }",
              "mov.u64 %rd0, g; " CALL " st.global.u64 [%rd2], %rd1;"), ""},
        {WITH(".global .u32 g;\n" FUNCTION "ld.param.u64 %rd0, [in]; st.param.u64 [back], %rd0; ret; }", "mov.u64 %rd0, g; " CALL " st.u32 [%rd1], 1;"), "state"},
        {WITH(".global .u32 g;\n" FUNCTION "ld.param.u64 %rd0, [in]; st.u32 [%rd0], 1; st.param.u64 [back], 1; ret; }", "mov.u64 %rd0, g; " CALL), "state"},
        {WITH(".global .u32 g;\n" FUNCTION "ld.param.u32 %r0, [in+4]; cvt.u64.u32 %rd0, %r0; st.param.u64 [back], %rd0; ret; }", "mov.u64 %rd0, g; " CALL), "state"},
        {WITH(".global .u32 g;\n" FUNCTION "ld.param.v2.u32 {%r0, %r1}, [in]; mov.b64 %rd0, {%r0, %r1}; st.param.u64 [back], %rd0; ret; }", "mov.u64 %rd0, g; " CALL), "state"},
        {WITH(".global .u32 g;\n" FUNCTION "ld.param.u64 %rd0, [in]; st.global.u64 [g], %rd0; st.param.u64 [back], 1; ret; }", CALL), "state"},
        {WITH(FUNCTION "ld.param.u64 %rd0, [in]; ret; }", CALL), "state"},
        {WITH(FUNCTION "ld.param.u64 %rd0, [in]; st.param.u32 [back], 1; ret; }", CALL), "state"},
        {WITH(FUNCTION "mov.u64 %rd0, %clock64; st.param.u64 [back], %rd0; ret; }", CALL), "clock"},
        {WITH(FUNCTION "nanosleep.u32 5; st.param.u64 [back], 1; ret; }", CALL), "opcode"},
        {WITH(FUNCTION ".local .u32 l; st.param.u64 [back], 1; ret; }", CALL), "state"},
        {WITH(FUNCTION "trap; }", "mov.u64 %rd0, f;"), "unreadable"},
        {IN("{ .param .b64 p; ld.param.b64 %rd1, [p]; }"), "state"},
        {IN("{ .param .b64 p; st.param.b64 [p], %rd0; ld.param.b64 %rd1, [p]; .param .b64 q; ld.param.b64 %rd1, [q]; }"), "state"},
        {IN("{ .param .align 8 .b8 p[16]; st.param.b64 [p], %rd0; ld.param.b64 %rd1, [p]; ld.param.u32 %r0, [p+4]; }"), ""},
        {IN("{ .param .align 8 .b8 p[16]; st.param.b64 [p], %rd0; ld.param.u32 %r0, [p+8]; }"), "state"},
        /* an address among other values: it must be read whole or not at all */
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; " BESIDE "ld.param.u32 %r0, [p+4]; ld.param.u32 %r1, [p+16]; ld.param.b64 %rd3, [p]; }"), ""},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; " BESIDE "ld.param.b64 %rd3, [p+8]; ld.u32 %r0, [%rd3]; }"), ""},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; " BESIDE "ld.param.b64 %rd3, [p+8]; st.u32 [%rd3], 1; }"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; " BESIDE "ld.param.u32 %r0, [p+8]; }"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; " BESIDE "ld.param.u32 %r0, [p+12]; }"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; " BESIDE "ld.param.u8 %rs0, [p+15]; }"), "state"},
        {WITH(".global .u32 g;", "mov.u64 %rd0, g; " BESIDE "ld.param.v2.u32 {%r0, %r1}, [p+8]; }"), "state"},
    };
    CHECK_ALL(all, &one_entry, PROBLEM);
}

/* A long chain of address copies, each from the next line: beyond some length it is refused instead of followed. */
static void test_long_chain(void **state)
{
    (void)state;
    gs_text text = {0};
    gs_text_add(&text, TOP ".global .u32 g;\n" KERNEL ".reg .b64 %rd<20001>;\n");
    for (int i = 0; i < 20000; i++) gs_text_addf(&text, "mov.u64 %%rd%d, %%rd%d;\n", i, i + 1);
    gs_text_add(&text, "mov.u64 %rd20000, g;\nret;\n}\n");
    judge(gs_text_string(&text), text.size, &one_entry, PROBLEM, "state", NULL);
    gs_text_free(&text);
}

static void test_clocks(void **state)
{
    (void)state;
    static const char *const refused[] = {"%clock", "%clock_hi", "%globaltimer_lo", "%globaltimer_hi", "%envreg3", "%pm0", "%reserved_smem_offset_begin"};
    static const char *const accepted[] = {"%tid.x", "%ntid.y", "%ctaid.z", "%nctaid.x", "%laneid", "%warpid", "%smid", "%cluster_ctarank", "%lanemask_lt", "WARP_SZ"};
    static const sample all[] = {
        {IN("mov.u64 %rd0, %clock64;"), "clock"},
        {IN("mov.u64 %rd0, %globaltimer;"), "clock"},
        {IN("mov.u64 %rd0, %gridid;"), "clock"},
        {IN("mov.u64 %rd0, %current_graph_exec;"), "clock"},
        {IN("mov.v4.u32 {%r0, %r1, %r2, %r3}, {%clock, %tid.x, 0, 0};"), "clock"},
        {IN("add.u32 %r0, %clock , 1;"), "clock"},
        {IN("bar.sync %clock;"), "clock"},
        {IN(".reg .b64 %clock64;\nmov.u64 %rd0, %clock64;"), "clock"},
        {IN(".reg .b64 %clock<70>;\nmov.u64 %rd0, %clock64;"), "clock"},
        {IN("mov.u64 %rd0, %clock63;"), "unreadable"},
        {IN("// %clock64\nmov.u64 %rd0, 1;"), ""},
    };
    CHECK_ALL(all, &one_entry, PROBLEM);
    char text[512];
    for (size_t i = 0; i < GS_COUNT(refused) + GS_COUNT(accepted); i++) {
        const bool bad = i < GS_COUNT(refused);
        snprintf(text, sizeof text, TOP KERNEL ".reg .b32 %%r<2>;\nmov.u32 %%r0, %s;\nret;\n}\n", bad ? refused[i] : accepted[i - GS_COUNT(refused)]);
        judge(text, strlen(text), &one_entry, PROBLEM, bad ? "clock" : "", NULL);
    }
}

static void test_instructions(void **state)
{
    (void)state;
    static const sample all[] = {
        {IN("trap;"), ""},
        {IN("exit;"), ""},
        {IN("prefetch.global.L2 [%rd0];"), ""},
        {IN("brkpt;"), "opcode"},
        {IN("nanosleep.u32 100;"), "opcode"},
        {IN("pmevent 1;"), "opcode"},
        {IN("discard.global.L2 [%rd0], 128;"), "opcode"},
        {IN("ld.mmio.relaxed.sys.global.u32 %r0, [%rd0];"), "opcode"},
        {IN("multimem.red.global.add.u32 [%rd0], %r0;"), "opcode"},
        {IN("stacksave.u64 %rd0;"), "opcode"},
        {IN("alloca.u64 %rd0, 8;"), "opcode"},
        {IN("something.new %r0;"), "opcode"},
        {IN("Mov.u32 %r0, 1;"), "opcode"},
        {IN("call f;"), "call"},
        {IN("call (%r0), %rd0, (%r1), proto;"), "call"},
        {TOP ".func f() { call f; }\n.visible .entry k() { call f; }\n", "call"},
        {TOP ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n", "external"},
        {TOP ".extern .func f();\n", "external"},
        {TOP ".alias a, b;\n", "external"},
        {IN("griddepcontrol.launch_dependents;"), "dependent"},
        {IN("griddepcontrol.wait;"), "dependent"},
        {TOP ".global .texref t;\n", "unreadable"},
        {TOP "#include \"x\"\n", "unreadable"},
        {IN("// a\rtrap;"), "unreadable"},
        {IN(".pragma \"nounroll\\\"; mov.u64 %rd0, %clock64; .pragma \"x\";"), "unreadable"},
        {IN("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%f4, %f5}];"), "unreadable"},
        {"", "unreadable"},
        {".version 9.0\n.target sm_90a\n.entry k() {", "unreadable"},
        {IN("} } .global .u32 g;"), "unreadable"},
    };
    static const sample dependent[] = {
        {IN("griddepcontrol.wait; griddepcontrol.launch_dependents;"), ""},
        {IN("griddepcontrol.wait;"), ""},
        {IN("griddepcontrol.launch_dependents;"), "dependent"},
        {IN(""), "dependent"},
    };
    gs_manifest allowed = one_entry;
    allowed.entry[0].dependent = true;
    CHECK_ALL(all, &one_entry, PROBLEM);
    CHECK_ALL(dependent, &allowed, PROBLEM);
}

/* evict_last lines would outlast the launch, so every way to create such a policy is refused. */
static void test_policies(void **state)
{
    (void)state;
#define HINTED "ld.global.L2::cache_hint.u32 %r0, [%rd1], %rd0;"
    static const sample all[] = {
        {IN("createpolicy.fractional.L2::evict_first.b64 %rd0, 1.0; " HINTED), ""},
        {IN("createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %rd0, 0.5; " HINTED), ""},
        {IN("createpolicy.range.global.L2::evict_normal.L2::evict_first.b64 %rd0, [%rd1], 128, 256; " HINTED), ""},
        {IN("createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0; mov.b64 %rd3, %rd2; mov.b64 %rd0, %rd3; " HINTED), ""},
        {IN("mov.b64 %rd0, 0x12f0000000000000; " HINTED), ""},
        {IN("ld.global.L2::cache_hint.u32 %r0, [%rd1], 0x1000000000000000;"), ""},
        {IN("ld.global.L1::evict_last.u32 %r0, [%rd1];"), ""},
        {IN("prefetch.global.L2::evict_last [%rd0];"), "state"},
        {IN("applypriority.global.L2::evict_normal [%rd0], 128;"), ""},
        {IN("createpolicy.fractional.L2::evict_last.b64 %rd0, 1.0;"), "state"},
        {IN("createpolicy.range.global.L2::evict_first.L2::evict_last.b64 %rd0, [%rd1], 128, 256;"), "state"},
        {IN("createpolicy.cvt.L2.b64 %rd0, %rd1;"), "state"},
        {IN("mov.b64 %rd0, 0x14f0000000000000; " HINTED), "state"},
        {IN("mov.b64 %rd0, 0x12f0000000000000; add.u64 %rd0, %rd0, 0x200000000000000; " HINTED), "state"},
        {IN("ld.global.u64 %rd0, [%rd1]; " HINTED), "state"},
        {IN("createpolicy.fractional.L2::evict_first.b64 %rd0, 1.0; shl.b64 %rd0, %rd0, 1; " HINTED), "state"},
        {IN("mov.b64 %rd0, %rd2; mov.b64 %rd2, %rd0; " HINTED), "state"},
        {IN(HINTED), "state"},
        {IN("st.global.L2::cache_hint.u32 [%rd1], %r0, %rd0;"), "state"},
        {IN("mov.b64 {%r2, %r3}, %rd1; mov.b64 %rd0, {%r2, %r3}; " HINTED), "state"},
        {IN("createpolicy.fractional.L2::evict_first.b64 %rd0, 1.0; ld.global.v2.u64 {%rd0, %rd2}, [%rd1]; " HINTED), "state"},
        {IN(HINTED " mov.b64 %rd0, %rd3; mov.b64 %rd3, %rd2; createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;"), ""},
    };
    CHECK_ALL(all, &one_entry, PROBLEM);
}

#define MMA(types)   IN("mma.sync.aligned.m16n8k16.row.col." types " {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r0, %r1, %r2, %r3};")
#define WGMMA(types) IN("wgmma.mma_async.sync.aligned.m64n8k16." types " {%f0, %f1, %f2, %f3}, %rd0, %rd1, 1, 1, 1, 0, 0;")
#define WMMA(types)  IN("wmma.mma.sync.aligned.row.col.m16n16k16." types " {%f0, %f1}, {%r0, %r1}, {%r2, %r3}, {%f0, %f1};")

static void test_types(void **state)
{
    (void)state;
    static const sample f16[] = {
        {MMA("f32.f16.f16.f32"), ""}, {WGMMA("f32.f16.f16"), ""}, {WMMA("f32.f32"), ""},
        {MMA("f16.f16.f16.f16"), "accumulator"}, {MMA("f32.f16.f16.f16"), "accumulator"}, {WGMMA("f16.f16.f16"), "accumulator"}, {WMMA("f16.f16"), "accumulator"},
        {MMA("f32.bf16.bf16.f32"), "type"}, {WGMMA("f32.bf16.bf16"), "type"}, {WGMMA("f32.tf32.tf32"), "type"}, {WGMMA("f32.e4m3.e5m2"), "type"},
        {MMA("f32.e4m3.e4m3.f32"), "type"}, {MMA("s32.s8.s8.s32"), "type"}, {MMA("s32.b1.b1.s32.xor.popc"), "type"}, {WMMA("f32.bf16.bf16.f32"), "type"},
        {MMA("f64.f64.f64.f64"), "type"}, {MMA("f32.f16.f16"), "type"}, {MMA("f32.f16.f16.f32.f32"), "type"},
        {IN("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0}, {%r1}, {%r2}, {%r3}, %r4, 0;"), "type"},
        {IN("wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"), ""},
        {IN("fma.rn.f16 %rs0, %rs1, %rs2, %rs3;"), "accumulator"}, {IN("add.f16x2 %r0, %r1, %r2;"), "accumulator"}, {IN("mul.bf16 %rs0, %rs1, %rs2;"), "accumulator"},
        {IN("red.global.add.noftz.f16x2 [%rd0], %r0;"), "accumulator"}, {IN("atom.global.add.noftz.bf16 %rs0, [%rd0], %rs1;"), "accumulator"},
        {IN("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%rd0], [%r0], 64;"), "accumulator"},
        {IN("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd0], [%r0], 64;"), ""},
        {IN("fma.rn.f32 %f0, %f1, %f2, %f3; neg.f16 %rs0, %rs1; max.f16 %rs0, %rs1, %rs2;"), ""},
        {IN("cvt.rn.f16.f32 %rs0, %f0; cvt.f32.f16 %f1, %rs0; cvt.rn.f16x2.f32 %r0, %f0, %f1; cvt.rni.s32.f32 %r0, %f0;"), ""},
        {IN("cvt.rn.satfinite.e4m3x2.f32 %rs0, %f0, %f1;"), "type"}, {IN("cvt.rna.tf32.f32 %r0, %f0;"), "type"},
    };
    static const sample narrow[] = {
        {MMA("f16.f16.f16.f16"), ""}, {MMA("f32.f16.f16.f32"), ""}, {WGMMA("f16.f16.f16"), ""}, {IN("fma.rn.f16x2 %r0, %r1, %r2, %r3;"), ""},
        {WGMMA("bf16.bf16.bf16"), "type"}, {MMA("bf16.f16.f16.bf16"), "accumulator"},
    };
    static const sample bf16[] = {{MMA("f32.bf16.bf16.f32"), ""}, {WMMA("f32.bf16.bf16.f32"), ""}, {MMA("f32.f16.f16.f32"), "type"}, {WMMA("f32.f32"), "type"}};
    static const sample narrower[] = {{MMA("f16.f16.f16.f16"), "accumulator"}};   /* narrower than the manifest declares */
    static const sample empty[] = {{IN(""), "accumulator"}};                         /* wider than the problem needs, but the manifest declares less than the problem asks for */
    gs_manifest half = one_entry;
    half.accumulator = GS_F16;
    CHECK_ALL(f16, &one_entry, PROBLEM);
    CHECK_ALL(narrow, &half, PROBLEM ":acc=f16");
    CHECK_ALL(bf16, &one_entry, "bf16:64x64x64:tn");
    CHECK_ALL(narrower, &one_entry, PROBLEM ":acc=f16");
    CHECK_ALL(empty, &half, PROBLEM);
}

static void test_includes(void **state)
{
    (void)state;
    static const sample all[] = {
        {"", ""},
        {"#include \"common/args.h\"\n#include <common/convert.cuh>\n#define X 1\n#if X\n#endif\nint a = b % c ? d : e;\n", ""},
        {"// include is a word, # too\nint include = 1;\n", ""},
        {"// #include is not\n", "include"},
        {"#include \"/etc/passwd\"\n", "include"},
        {"#include </etc/passwd>\n", "include"},
        {"  #\tinclude /* */ \"/etc/passwd\"\n", "include"},
        {"/*\n*/#include \"/etc/passwd\"\n", "include"},
        {"#/* \n */include \"/etc/passwd\"\n", "include"},
        {"#inc\\\nlude \"/etc/passwd\"\n", "include"},
        {"#inc\\  \r\nlude \"/etc/passwd\"\n", "include"},
        {"#\\\n\\\ninclude \"/etc/passwd\"\n", "include"},
        {"%:include \"/etc/passwd\"\n", "include"},
        {"\?\?=include \"/etc/passwd\"\n", "include"},
        {"R\"(/*)\"\n#include \"/etc/passwd\"\n//*/\n", "include"},
        {"R\"(#/*)\"\n#include \"/etc/passwd\"\n//*/\n", "include"},
        {"#/**\\\n/include \"/etc/passwd\"\n", "include"},
        {"#/*\\\n*/include \"/etc/passwd\"\n", "include"},
        {"#inc\?\?/\nlude \"/etc/passwd\"\n", "include"},
        {"#/* short */ define X\n", ""},
        {"#define F \"/etc/passwd\"\n#include F\n", "include"},
        {"#include \"common/../../etc/passwd\"\n", "include"},
        {"#include \"args.h\"\n", "include"},
        {"#include <cuda_runtime.h>\n", "include"},
        {"#include_next \"common/args.h\"\n", "include"},
        {"#line 7 \"words for a reader\"\n", "include"},
        {"# 7 \"words for a reader\"\n", "include"},
        {"#line/**/7/**/\"a b\"\n", "include"},
        {"#line 2\n # line/**/5\n// # 12 reasons\n", ""},
        {"#line 2 \"hack.cu\"\n# 3 \"a_b-c.9\"/* */\n#line 4 \"x\"", ""},
        {"#line 2 \"hack.cu\" 1\n", "include"},
        {"#line 2 \"/etc\"\n", "include"},
        {"#line 2 \"a23456789b123456789c123456789d12\"\n", ""},
        {"#line 2 \"a23456789b123456789c123456789d123\"\n", "include"},
        {"# 3 \"a/b.cuh\"\n", "include"},
        {"#line L\n", "include"},
        {"#line 7 L\n", "include"},
        {"#line 7 \"open", "include"},
        {"#import \"common/args.h\"\n", "include"},
        {"#embed \"/etc/passwd\"\n", "include"},
        {"char c = __TIME__[7];\n", "clock"},
        {"char c = __DA\\\nTE__[7];\n", "clock"},
        {"/* __TIMESTAMP__ */\n", "clock"},
        {"#define PASTE(a, b) a##b\nchar c = PASTE(__TI, ME__)[7];\n", "clock"},
        {"%:define PASTE(a, b, c) a%:%:b\?\?=\?\?=c\nchar c = PASTE(__TIMEST, AMP_, _)[7];\n", "clock"},
        {"#define PASTE(a, b) a##b\nint PASTE(x, y), __line__;\n", ""},
        {"int E__, __, ME__;   // # once\n", ""},
        {"#if __has_include(\"/etc/passwd\")\n#endif\n", "include"},
        {"#if __has_in\\\nclude(\"/etc/passwd\")\n#endif\n", "include"},
        {"#include", "include"},
        {"#include \"common/", "include"},
        {"#include /*", "include"},
        {"#", ""}, {"\\", ""}, {"/*", ""}, {"%", ""}, {"\?\?", ""},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        gs_error error = {0};
        const gs_status status = gs_inspect_source("k.cu", all[i].ptx, &error);
        if (status != (*all[i].reason ? GS_ERROR_FORBIDDEN : GS_OK)) fail_msg("status %d: %s", (int)status, all[i].ptx);
        if (*all[i].reason) assert_string_equal(error.field, all[i].reason);
    }
    gs_error error = {0};
    char text[3000];
    for (int longer = 0; longer < 2; longer++) {
        snprintf(text, sizeof text, "#include \"common/%0*d\"\n", 95 - 7 + longer, 0);
        assert_int_equal(gs_inspect_source("k.cu", text, &error), longer ? GS_ERROR_FORBIDDEN : GS_OK);
    }
    memset(text, ' ', sizeof text);
    memcpy(text, "#/*", 3);
    snprintf(text + 2900, 100, "*/include \"/etc/passwd\"\n");
    assert_int_equal(gs_inspect_source("k.cu", text, &error), GS_ERROR_FORBIDDEN);
    assert_int_equal(gs_inspect_source("k.cu", "\n\n#include \"x\"\n", &error), GS_ERROR_FORBIDDEN);
    assert_non_null(strstr(error.text, "k.cu:3: "));
}

static void test_limits(void **state)
{
    (void)state;
    gs_error error = {0};
    char *const text = malloc(GS_INSPECT_SOURCE_MAX + 2);
    assert_non_null(text);
    memset(text, ' ', GS_INSPECT_SOURCE_MAX + 1);
    text[GS_INSPECT_SOURCE_MAX + 1] = '\0';
    assert_int_equal(gs_inspect_source("k.cu", text, &error), GS_ERROR_FORBIDDEN);
    assert_string_equal(error.field, "size");
    text[GS_INSPECT_SOURCE_MAX] = '\0';
    assert_int_equal(gs_inspect_source("k.cu", text, &error), GS_OK);
    free(text);
    const gs_problem p = problem_of(PROBLEM);
    assert_int_equal(gs_inspect_ptx("", GS_INSPECT_PTX_MAX + 1, &one_entry, &p, &error), GS_ERROR_FORBIDDEN);   /* refused without being read */
    assert_string_equal(error.field, "size");
    assert_int_equal(gs_inspect_ptx(NULL, 0, &one_entry, &p, &error), GS_ERROR_FORBIDDEN);
    assert_string_equal(error.field, "unreadable");
    static const char ended[] = IN("");   /* with its terminator */
    judge(ended, sizeof ended, &one_entry, PROBLEM, "", NULL);
    for (int more = 0; more < 2; more++) {
        gs_text many = {0};
        gs_text_add(&many, TOP KERNEL);
        for (int i = 0; i < (1 << 20) + more; i++) gs_text_add(&many, "ret;\n");
        gs_text_add(&many, "}\n");
        judge(gs_text_string(&many), many.size, &one_entry, PROBLEM, more ? "size" : "", NULL);
        gs_text_free(&many);
    }
}

/* Refusals name the line of the PTX, also if the text cannot be parsed. */
static void test_lines(void **state)
{
    (void)state;
    static const sample all[] = {
        {TOP "\r", "unreadable", "PTX line 4: a byte 0x0d"},
        {TOP "\n\n// \\\n", "unreadable", "PTX line 6: a byte 0x5c"},
        {TOP "\n.global .texref t;\n", "unreadable", "PTX line 5: "},
        {TOP "\n\n.extern .func f();\n", "external", ": .extern .func f();"},
        {IN("mov.u64 %rd0, 1;\nmov.u64 %rd0, %clock64;"), "clock", "PTX line 8: reads %clock64"},
    };
    CHECK_ALL(all, &one_entry, PROBLEM);
}

/* ---- what the manifest declares ---- */

#define ENTRY(parameters, directives, body) TOP ".extern .shared .align 16 .b8 dynamic[];\n.visible .entry k(" parameters ")\n" directives "\n{\n" REGS body "\nret;\n}\n"
#define ARGS ".param .align 8 .b8 a[104]"
#define MAP  ".param .align 64 .b8 t[128]"

/* The message names both numbers that differ. */
static void test_agreement(void **state)
{
    (void)state;
    static const struct {
        const char *ptx, *said;   /* "": accepted */
        int         maps, block[3], cluster[3];
        const char *smem;
    } all[] = {
        {ENTRY(ARGS, "", ""), "", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(".param .align 16 .b8 a[104]", "", ""), "", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(MAP ",\n" ARGS, "", ""), "", 1, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY("", "", ""), "takes 0 parameters, the manifest gives it 1", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, "", ""), "takes 1 parameters, the manifest gives it 2", 1, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS ", .param .align 8 .b8 b[104]", "", ""), "takes 2 parameters, the manifest gives it 1", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(".param .align 8 .b8 a[208]", "", ""), "", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(".param .align 8 .b8 a[2104]", "", ""), "parameter 0 of entry k has 2104 bytes, what the manifest gives it has 104", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(".param .align 8 .b8 a[88]", "", ""), "88 bytes, what the manifest gives it has 104", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(".param .align 4 .b8 a[104]", "", ""), "aligned to 4 bytes, gs_kernel_args needs 8", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS ", .param .align 64 .b8 t[128]", "", ""), "parameter 0 of entry k has 104 bytes, what the manifest gives it has 128", 1, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(".param .align 8 .b8 t[128], " ARGS, "", ""), "aligned to 8 bytes, a tensor map needs 64", 1, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".maxntid 1024, 1, 1", ""), "", 0, {32, 32, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".maxntid 128, 1, 1", ""), "at most 128 threads in a block (__launch_bounds__), the manifest declares 256", 0, {256, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".maxntid 4, 8, 2", ""), "", 0, {4, 8, 2}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".maxntid 4, 8, 2", ""), "", 0, {64, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".maxntid 4, 8, 2", ""), "at most 64 threads in a block (__launch_bounds__), the manifest declares 72", 0, {4, 9, 2}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".maxntid 4, 8", ""), "at most 32 threads in a block (__launch_bounds__), the manifest declares 33", 0, {33, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".reqntid 4, 2, 3", ""), "", 0, {4, 2, 3}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".reqntid 4, 2, 3", ""), "blocks of 4 2 3 threads, the manifest declares 4 3 2", 0, {4, 3, 2}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".reqntid 4, 2, 3", ""), "blocks of 4 2 3 threads, the manifest declares 4 2 1", 0, {4, 2, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".reqntid 64", ""), "", 0, {64, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".reqntid 64, 2, 1", ""), "blocks of 64 2 1 threads, the manifest declares 128 1 1", 0, {128, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".explicitcluster .reqnctapercluster 2, 1, 1", ""), "", 0, {32, 1, 1}, {2, 1, 1}, ""},
        {ENTRY(ARGS, ".reqnctapercluster 4, 1, 1", ""), "clusters of 4 1 1 blocks (__cluster_dims__), the manifest declares 1 1 1", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".reqnctapercluster 2, 1, 1", ""), "clusters of 2 1 1 blocks (__cluster_dims__), the manifest declares 1 2 1", 0, {32, 1, 1}, {1, 2, 1}, ""},
        {ENTRY(ARGS, ".explicitcluster", ""), "runs in clusters only", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, ".explicitcluster .maxclusterrank 8", ""), "", 0, {32, 1, 1}, {8, 1, 1}, ""},
        {ENTRY(ARGS, ".explicitcluster .reqnctapercluster 2, 2, 2", ""), "", 0, {32, 1, 1}, {2, 2, 2}, ""},
        {ENTRY(ARGS, ".explicitcluster .reqnctapercluster 2, 2, 2", ""), "clusters of 2 2 2 blocks (__cluster_dims__), the manifest declares 2 2 1", 0, {32, 1, 1}, {2, 2, 1}, ""},
        {ENTRY(ARGS, ".explicitcluster .maxclusterrank 8", ""), "at most 8 blocks (.maxclusterrank), the manifest declares 12", 0, {32, 1, 1}, {2, 3, 2}, ""},
        {ENTRY(ARGS, ".maxclusterrank 4", ""), "at most 4 blocks (.maxclusterrank), the manifest declares 8", 0, {32, 1, 1}, {8, 1, 1}, ""},
        {ENTRY(ARGS, ".blocksareclusters .reqntid 32, 1, 1 .reqnctapercluster 1, 1, 1", ""), "counts its grid in clusters", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, "", "mov.u32 %r0, dynamic;"), "uses dynamic shared memory (dynamic), the manifest declares none", 0, {32, 1, 1}, {1, 1, 1}, ""},
        {ENTRY(ARGS, "", "mov.u32 %r0, dynamic;"), "", 0, {32, 1, 1}, {1, 1, 1}, "1024"},
    };
    for (size_t i = 0; i < GS_COUNT(all); i++) {
        gs_manifest m = one_entry;
        m.entry[0].map_count = all[i].maps;
        m.entry[0].map[0] = (gs_map){.operand = 'a', .inner = 64, .outer = 64, .swizzle = 128};
        memcpy(m.entry[0].block, all[i].block, sizeof all[i].block);
        memcpy(m.entry[0].cluster, all[i].cluster, sizeof all[i].cluster);
        snprintf(m.entry[0].smem.text, sizeof m.entry[0].smem.text, "%s", all[i].smem);
        judge(all[i].ptx, strlen(all[i].ptx), &m, PROBLEM, *all[i].said ? "mismatch" : "", all[i].said);
    }
}

/* A wait with a time limit is a clock, unless the limit is longer than anything that is timed. */
static void test_waits(void **state)
{
    (void)state;
#define WAIT(time) "mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], %r1" time ";"
    static const sample all[] = {
        {IN(WAIT("")), ""},
        {IN(WAIT(", 1000000")), ""},
        {IN(WAIT(", 999999")), "opcode"},
        {IN(WAIT(", 20")), "opcode"},
        {IN("mov.b32 %r2, 10000000; " WAIT(", %r2")), ""},
        {IN("mov.b32 %r2, 10000000; mov.b32 %r2, 100; " WAIT(", %r2")), "opcode"},
        {IN("mov.b32 %r2, 10000000; shr.u32 %r2, %r2, 20; " WAIT(", %r2")), "opcode"},
        {IN("mov.b32 %r2, 10000000; mov.b64 {%r2, %r3}, %rd0; " WAIT(", %r2")), "opcode"},
        {IN("mov.b32 %r2, 10000000; mov.b64 {%r4, %r3}, %rd0; mov.b32 %r5, 1; " WAIT(", %r2")), ""},
        {IN("mov.b32 %r2, %r3; " WAIT(", %r2")), "opcode"},
        {IN(WAIT(", %r2")), "opcode"},
        {IN("mbarrier.try_wait.shared.b64 %p0, [%r0], %rd0, 50;"), "opcode"},
        {IN("mbarrier.test_wait.parity.shared::cta.b64 %p0, [%r0], %r1;"), ""},
    };
    CHECK_ALL(all, &one_entry, PROBLEM);
}

/* A refusal names the source line if the PTX contains it. */
static void test_places(void **state)
{
    (void)state;
    static const sample all[] = {
        {TOP ".file 1 \"mine.cu\"\n" KERNEL ".reg .b64 %rd<2>;\n.loc 1 12 3\nmov.u64 %rd0, %clock64;\nret;\n}\n", "clock", "mine.cu:12 (PTX line 9): reads %clock64"}};
    CHECK_ALL(all, &one_entry, PROBLEM);
    for (int i = 0; i < GS_REFUSALS; i++) {
        assert_int_equal(gs_refusal_find(gs_refusal_name((gs_refusal)i)), i);
        assert_true(gs_refusal_text((gs_refusal)i)[0] != '\0');
    }
    assert_int_equal(gs_refusal_find("nothing"), GS_REFUSALS);
    assert_int_equal(gs_verdict_from_status(GS_ERROR_FORBIDDEN), GS_VERDICT_FORBIDDEN);
}

/* Catalogue 4.1: streams, host code, library calls, limits of the L2 cache, hidden memory. A candidate is only a text for the device compiler and a manifest, and the
 * manifest has no entry for any of these. */
static void test_no_word_for_it(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "stream 1\n", "queue 2\n", "host main.c\n", "thread 1\n", "library cublas\n", "exec /bin/sh\n", "file /etc/passwd\n", "limit persisting_l2 1000000\n", "window a 1.0\n",
        "attribute 1 1\n", "graph 1\n", "alloc 1024\n", "cache 1\n", "option -I/etc\n", "event 1\n", "env LD_PRELOAD=x\n", "prepack b\n", "time 1us\n",
    };
    static const char head[] = "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\n", entry[] = "entry k\ngrid 1 1 1\nblock 32 1 1\n";
    for (size_t i = 0; i < GS_COUNT(lines); i++)
        for (int place = 0; place < 3; place++) {
            char text[512];
            gs_manifest m;
            gs_error error = {0};
            snprintf(text, sizeof text, "%s%s%s%s%s", place == 0 ? lines[i] : "", head, place == 1 ? lines[i] : "", entry, place == 2 ? lines[i] : "");
            if (gs_manifest_parse(&m, text, &error) == GS_OK) fail_msg("accepted: %s", lines[i]);
        }
    gs_manifest m;
    char text[512];
    snprintf(text, sizeof text, "%s%s", head, entry);
    assert_int_equal(gs_manifest_parse(&m, text, NULL), GS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_calls), cmocka_unit_test(test_long_chain), cmocka_unit_test(test_clocks), cmocka_unit_test(test_instructions), cmocka_unit_test(test_policies), cmocka_unit_test(test_types),
        cmocka_unit_test(test_includes), cmocka_unit_test(test_limits), cmocka_unit_test(test_lines), cmocka_unit_test(test_agreement), cmocka_unit_test(test_waits),
        cmocka_unit_test(test_places), cmocka_unit_test(test_no_word_for_it),
    };
    return run_without_leaks("inspection of user kernels", tests, sizeof tests / sizeof *tests);
}
