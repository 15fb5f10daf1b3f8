/* SPDX-License-Identifier: MIT
 * Kernels are decoded and run, and each allocation fails once: decoding reports that there is no memory; a launch reports it or continues without that memory; nothing
 * leaks and no invalid memory is read, which the sanitizers check. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/leaks.h"
#include "allocations.h"
#include "base/error.h"
#include "emu.h"

#define HEAD                                                                                                                                 \
    ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n"                                             \
    ".reg .pred p, q;\n.reg .b32 a, c, e, s, t;\n.reg .f32 f, %f<16>;\n.reg .b64 d, x;\n.shared .align 1024 .b8 buf[8192];\n.shared .align 8 .b64 bar;\n" \
    ".local .align 4 .b8 own[64];\nld.param.u64 d, [data];\nmov.u32 s, buf;\nmov.u32 t, %tid.x;\nmov.u32 a, 1;\nmov.u32 c, 0;\nmov.f32 f, 0f3f800000;\nsetp.eq.u32 q, t, 0;\nmad.lo.u32 s, t, 16, s;\nmad.wide.u32 d, t, 16, d;\n"
#define TAIL "\nret;\n}\n"

static const struct { const char *text; uint32_t blocks, threads, cluster; bool order; } kernels[] = {
    {"st.local.u32 [own], a;\nld.local.u32 c, [own];\nmov.u64 x, bar;\nst.global.u32 [d], c;\n", 1, 64, 1, false},
    {"setp.lt.u32 p, t, 7;\n@p bra LEFT;\nadd.u32 c, c, 2;\nbra MEET;\nLEFT:\nadd.u32 c, c, 1;\nMEET:\nshfl.sync.bfly.b32 e, c, 1, 31, -1;\nst.shared.u32 [s], e;\nbar.sync 0;\n", 2, 96, 1, false},
    {"cp.async.ca.shared.global [s], [d], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n", 1, 32, 1, false},
    {"@q mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\nbar.sync 0;\n@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;\n"
     "@q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [d], 64, [bar];\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;\n@!p bra AGAIN;\n"
     "fence.proxy.async.shared::cta;\n@q cp.async.bulk.global.shared::cta.bulk_group [d], [s], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n", 2, 64, 1, false},
    {"st.shared.v4.u32 [s], {c, c, c, c};\nst.shared.v4.u32 [s+2048], {c, c, c, c};\nst.shared.v4.u32 [s+4096], {c, c, c, c};\nst.shared.v4.u32 [s+6144], {c, c, c, c};\n"
     "fence.proxy.async.shared::cta;\nbar.sync 0;\nwgmma.fence.sync.aligned;\nmov.u64 x, 0x4000004000010000;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, x, x, 0, 1, 1, 0, 0;\n"
     "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n", 1, 128, 1, false},
    {"barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nmov.u32 e, %cluster_ctarank;\nxor.b32 e, e, 1;\nmapa.shared::cluster.u32 e, s, e;\nst.shared::cluster.u32 [e], a;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n", 2, 32, 2, false},
    {"st.relaxed.gpu.global.u32 [d], a;\nfence.acq_rel.gpu;\natom.global.add.u32 c, [d+4], a;\nred.relaxed.gpu.global.add.u32 [d+8], c;\nld.acquire.gpu.global.u32 e, [d];\n", 3, 32, 1, true},
    {"@q mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\nbar.sync 0;\n@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4;\nmov.u32 e, bar;\n"
     "@q st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [s], a, [e];\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;\n@!p bra AGAIN;\n", 1, 32, 1, false},
    {"@q mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nmov.u32 c, bar;\nmov.u32 e, %cluster_ctarank;\nxor.b32 e, e, 1;\n"
     "mapa.shared::cluster.u32 e, c, e;\n@q mbarrier.arrive.release.cluster.shared::cluster.b64 _, [e];\nAGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [bar], 0;\n@!p bra AGAIN;\n"
     "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n", 2, 32, 2, false},
    {"bfind.u32 c, 0x1234;\nmul.f32 f, f, 0f40000000;\nadd.f32 f, f, f;\nadd.cc.u32 c, c, 1;\naddc.u32 e, e, 0;\nmov.b64 x, {c, e};\nst.global.u64 [d], x;\n", 1, 32, 1, false},
};

/* Decodes and runs a kernel; allocation number `failing` fails (0: none). of_decoding: allocations needed to decode it; ran: whether it was launched. */
static gs_status decode_and_run(size_t which, int failing, int *of_decoding, bool *ran)
{
    enum { BYTES = 4096 };
    char text[8192];
    emu_test t;
    snprintf(text, sizeof text, "%s%s%s", HEAD, kernels[which].text, TAIL);
    *ran = false;
    allocations = 0;
    fail_at = failing;
    gs_status status = emu_load(&t, text, NULL);
    *of_decoding = allocations;
    if (status == GS_OK) {
        uint64_t data = 0;
        status = gs_emu_memory_alloc(t.memory, BYTES, &data, &t.error);
        if (status == GS_OK) {
            const gs_emu_allocation *const a = gs_emu_memory_find(t.memory, data, BYTES);
            memset(a->bytes, 0, BYTES);
            gs_emu_memory_mark(a, data, BYTES);
            emu_param(&t, 0, &data, sizeof data);
            t.launch.grid[0] = kernels[which].blocks, t.launch.block[0] = kernels[which].threads, t.launch.cluster[0] = kernels[which].cluster;
            t.launch.order = kernels[which].order;
            *ran = true;
            status = emu_run(&t);
        }
    }
    fail_at = 0;
    if (status != GS_OK && !strstr(t.error.text, "no memory") && !strstr(t.error.text, "out of memory")) fail_msg("kernel %d, allocation %d: %s: %s", (int)which, failing, gs_status_name(status), t.error.text);
    emu_end(&t);
    return status;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(kernels); i++) {
        int of_decoding, failures = 0, last;
        bool ran;
        assert_int_equal(decode_and_run(i, 0, &of_decoding, &ran), GS_OK);
        const int all = allocations;
        assert_true(of_decoding > 10 && all > of_decoding);
        for (int failing = 1; failing <= all; failing++) {
            const gs_status status = decode_and_run(i, failing, &last, &ran);
            failures += status != GS_OK;
            if (failing <= of_decoding && (ran || status != GS_ERROR_MEMORY)) fail_msg("kernel %d: allocation %d of %d to decode it: %s", (int)i, failing, of_decoding, gs_status_name(status));
        }
        assert_true(failures > of_decoding);   /* some of the launch's allocations are required, too */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once)};
    return run_without_leaks("no memory", tests, sizeof tests / sizeof *tests);
}
