/* SPDX-License-Identifier: MIT
 * The exact texts and numbers of findings: one kernel for each. That the faults are found in every order is tested with their instructions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/leaks.h"
#include "base/error.h"
#include "emu.h"

enum { WRITTEN = 2048 };

/* s: 16 bytes of shared memory for each thread; d: the same of global memory, of which WRITTEN bytes are written; t: this thread; p: thread 0; q: threads from 32 on. */
#define HEAD                                                                                                                                  \
    ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n"                                              \
    ".reg .pred p, q, r;\n.reg .b32 a, c, e, s, t, z;\n.reg .f32 %f<8>;\n.reg .b64 d, x;\n.shared .align 1024 .b8 buf[4096];\n.shared .align 8 .b64 bar[600];\n" \
    ".local .align 4 .b8 own[16];\nld.param.u64 d, [data];\nmov.u32 s, buf;\nmov.u32 z, bar;\nmov.u32 t, %tid.x;\nmov.u32 a, 1;\nmov.u32 c, 0;\nsetp.eq.u32 p, t, 0;\nsetp.ge.u32 q, t, 32;\n" \
    "mad.lo.u32 s, t, 16, s;\nmul.wide.u32 x, t, 16;\nadd.s64 d, d, x;\n"
#define TAIL "\nDONE:\nret;\n}\n"

static const struct { const char *text; uint32_t threads, cluster; const char *said; } cases[] = {
    {"ld.global.u32 a, [d+4096];", 32, 1, "lane 0: read of 4 bytes at 0x700001000: 0x700001000 is the end of the allocation 0x700000000 of 4096 bytes"},
    {"st.global.u32 [d+4094], a;", 1, 1, "lane 0: write of 4 bytes at 0x700000ffe: 0x700000ffe is 2 bytes before the end of the allocation 0x700000000 of 4096 bytes"},
    {"ld.global.u32 a, [d+2];", 1, 1, "lane 0: read at 0x700000002, which must be a multiple of 4"},
    {"ld.global.u32 a, [d+2048];\nst.global.u32 [d], a;", 1, 1, "4 bytes that nothing wrote: 0x700000800 is 2048 bytes before the end of the allocation 0x700000000 of 4096 bytes"},
    {"ld.shared.u32 a, [s+12000];", 1, 1, "lane 0: read of 4 bytes at shared address 0x2ee0: the block has 8896 bytes of shared memory"},
    {"st.shared.v4.u32 [s+8], {a, a, a, a};", 1, 1, "lane 0: write at 0x8, which must be a multiple of 16"},
    {"ld.shared.u32 a, [s];\nst.global.u32 [d], a;", 1, 1, "read of 4 bytes at 0x0 by warp 0 of block 0; never written"},
    {"@!q st.shared.u32 [s], a;\n@q ld.shared.u32 c, [s+-512];\nst.global.u32 [d], c;", 64, 1, "read of 4 bytes at 0x0 by warp 1 of block 0; written by warp 0 of block 0 at PTX line 24 with no barrier between"},
    {"mov.u32 s, buf;\nst.shared.u32 [s], t;", 64, 1, "write of 4 bytes at 0x0 by warp 1 of block 0; written by warp 0 of block 0 at PTX line 25 with no barrier between"},
    {"ld.local.u32 a, [own+16];", 1, 1, "lane 0: read of 4 bytes at local address 0x10: the thread has 16 bytes of local memory"},
    {"bar.sync 1, 48;", 64, 1, "a barrier for 48 threads in a block of 64 (a multiple of 32 is needed)"},
    {"bar.sync a, c;\nmov.u32 e, 17;\nbar.sync e;", 32, 1, "there is no barrier 17"},
    {"@!q bar.sync 0;\n@q bar.sync 1, 64;", 64, 1, "nothing is under way and every warp waits: warp 0 lanes 0xffffffff: bar.sync at PTX line 24 (barrier 0: 32 of 64 threads came); warp 1 lanes 0xffffffff: bar.sync at PTX line 25 (barrier 1: 32 of 64 threads came)"},
    {"@p mbarrier.init.shared::cta.b64 [z+4], 1;", 32, 1, "lane 0: access at 0x1004, which must be a multiple of 8"},
    {"@p mbarrier.init.shared::cta.b64 [z], 0;", 32, 1, "an mbarrier cannot count to 0"},
    {"@p mbarrier.arrive.shared::cta.b64 _, [z];", 32, 1, "no mbarrier was initialised at 0x1000 of block 0 of the cluster"},
    {"@p mbarrier.init.shared::cta.b64 [z], 1;\n@p mbarrier.arrive.shared::cta.b64 _, [z], 2;", 32, 1, "2 arrivals at the mbarrier at 0x1000 of block 0, whose phase 0 expects 1 more (1 in all)"},
    {"mbarrier.test_wait.parity.shared::cta.b64 r, [z+16384], 0;", 32, 1, "lane 0: access of 8 bytes at shared address 0x5000: the block has 8896 bytes of shared memory"},
    {"AGAIN:\nsetp.lt.u32 r, c, 600;\n@!r bra DONE;\nmad.lo.u32 e, c, 8, z;\n@p mbarrier.init.shared::cta.b64 [e], 1;\nadd.u32 c, c, 1;\nbra AGAIN;", 32, 1, "more than 512 mbarriers in a block: the emulated device has no more"},
    {"st.shared::cluster.u32 [s+200000000], a;", 32, 2, "lane 0: write of 4 bytes at shared address 0xcebc200: names no block of the cluster, which has 2"},
    {"mapa.shared::cluster.u32 e, s, 2;\nst.shared::cluster.u32 [e], a;", 32, 2, "lane 0: write of 4 bytes at shared address 0xff000000: names no block of the cluster, which has 2"},
    {"@p mov.u64 x, 0x10000800f0;\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, x, x, 0, 1, 1, 0, 0;", 128, 1, "the lanes of the warp have different descriptors"},
    {"mov.u64 x, 0x0050003000020ff0;\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, x, x, 0, 1, 1, 0, 0;", 128, 1, "the descriptor of A has bits in no field: 0x50000000000000"},
    {"mov.u64 x, 0x4000005000030ff0;\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, x, x, 0, 1, 1, 0, 0;", 128, 1, "A reaches from 65376 to 67584, shared memory from 0 to 8896: start 65280, leading 48, stride 1280, 128-byte swizzle"},
    {"wgmma.wait_group.sync.aligned 0;\nwgmma.wait_group.sync.aligned 1;\n@p wgmma.commit_group.sync.aligned;", 128, 1, "lanes 0x1 execute it; it takes all threads of the warp"},   /* waiting for no group is right */
    {"wgmma.commit_group.sync.aligned;\n@!p wgmma.wait_group.sync.aligned 0;", 128, 1, "lanes 0xfffffffe execute it; it takes all threads of the warp"},
    {"@p wgmma.fence.sync.aligned;", 128, 1, "lanes 0x1 execute it; it takes all threads of the warp"},
    {"setp.lt.u32 r, t, 5;\n@r bra L;\nshfl.sync.idx.b32 e, a, 0, 31, 0xff;\nL:", 32, 1, "lanes 0xffffffe0 execute it, but its mask names 0xff"},
    {"bar.warp.sync 0xf0;", 4, 1, "lanes 0xf execute it, but its mask names 0xf0"},
    {"trap;", 32, 1, "the kernel stopped itself in lanes 0xffffffff"},
    {"cp.async.ca.shared.global [s], [d], 16, c;\ncp.async.ca.shared.global [s], [d], 4, 5;", 1, 1, "lane 0: a source of 5 bytes for a copy of 4"},
    {"cp.async.cg.shared.global [s+4], [d], 16;", 1, 1, "lane 0: access at 0x4, which must be a multiple of 16"},
    {"@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [d], 24, [z];", 32, 1, "a bulk copy of 24 bytes: the size must be a multiple of 16"},
    {"@p cp.async.bulk.global.shared::cta.bulk_group [d+4], [s], 16;", 32, 1, "lane 0: access at 0x700000004, which must be a multiple of 16"},
    {"@p cp.async.bulk.global.shared::cta.bulk_group [d], [s+8], 16;", 32, 1, "lane 0: access at 0x8, which must be a multiple of 16"},
    {"@p st.shared.u64 [s+4], x;", 32, 1, "lane 0: write at 0x4, which must be a multiple of 8"},
    {"atom.shared.add.u32 e, [s+2], 1;", 1, 1, "lane 0: atomic access at 0x2, which must be a multiple of 4"},
    {"red.global.add.u32 [d+4096], 1;", 1, 1, "lane 0: atomic access of 4 bytes at 0x700001000: 0x700001000 is the end of the allocation 0x700000000 of 4096 bytes"},
};

static void what_findings_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[4096];
        emu_test t;
        snprintf(text, sizeof text, "%s%s%s", HEAD, cases[i].text, TAIL);
        if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s: %s", cases[i].text, t.error.text);
        const uint64_t memory = emu_buffer(&t, NULL, 4096);
        memset(emu_bytes(&t, memory, WRITTEN), 0, WRITTEN);
        gs_emu_memory_mark(gs_emu_memory_find(t.memory, memory, WRITTEN), memory, WRITTEN);
        emu_param(&t, 0, &memory, sizeof memory);
        t.launch.block[0] = cases[i].threads;
        t.launch.grid[0] = t.launch.cluster[0] = cases[i].cluster;
        t.launch.step_limit = 100000;
        const gs_status status = emu_run(&t);
        const char *const said = t.launch.findings ? t.launch.finding[0].text : t.error.text;
        if (status == GS_OK && t.launch.findings == 0) fail_msg("nothing is found: %s", cases[i].text);
        if (strcmp(said, cases[i].said) != 0) fail_msg("%s\nsays: %s\nnot:  %s", cases[i].text, said, cases[i].said);
        emu_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_findings_say)};
    return run_without_leaks("texts", tests, GS_COUNT(tests));
}
