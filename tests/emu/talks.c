/* SPDX-License-Identifier: MIT
 * What decoding derives from an instruction. `talks`: the result may depend on the order of blocks, so one host thread runs all blocks of the kernel, in its own order.
 * `meets`: other blocks may see the effect, so in a kernel that talks other blocks may run after it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/error.h"
#include "emu.h"

/* d: an address in global memory, s: in shared memory. `e` is written to memory after the instruction, so a result in `e` is used; `c` and `f` are not. Nothing else here
 * talks or meets. */
#define HEAD                                                                                                                              \
    ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n"                                          \
    ".reg .pred p;\n.reg .b16 h;\n.reg .b32 a, c, e, s;\n.reg .f32 f;\n.reg .b64 d, x;\n.shared .align 128 .b8 buf[1024];\nld.param.u64 d, [data];\n" \
    "mov.u32 s, buf;\nmov.u32 a, 1;\nmov.u32 c, 0;\nmov.u32 e, 0;\nmov.b16 h, 1;\nmov.f32 f, 0f3f800000;\n"
#define TAIL "\nst.global.u32 [d+64], e;\nret;\n}\n"

static const struct { const char *text; bool talks, meets; } cases[] = {
    {"ld.global.u32 e, [d];", false, false},
    {"ld.volatile.global.u32 e, [d];", true, false},
    {"ld.relaxed.gpu.global.u32 e, [d];", true, false},
    {"ld.acquire.gpu.global.u32 e, [d];", true, false},
    {"ld.acquire.gpu.u32 e, [d];", true, false},
    {"ld.volatile.shared.u32 e, [s];", false, false},
    {"ld.acquire.cta.shared::cta.u32 e, [s];", false, false},
    {"st.global.u32 [d], a;", false, false},
    {"st.u32 [d], a;", false, false},
    {"st.volatile.global.u32 [d], a;", false, true},          /* visible to a block only through a load that talks */
    {"st.relaxed.gpu.global.u32 [d], a;", false, true},
    {"st.release.gpu.global.u32 [d], a;", false, true},
    {"st.volatile.u32 [d], a;", true, true},                  /* may be the shared memory of another block */
    {"st.relaxed.cluster.u32 [d], a;", true, true},
    {"st.release.cluster.u32 [d], a;", false, true},
    {"st.volatile.shared.u32 [s], a;", false, false},
    {"st.relaxed.cluster.shared::cluster.u32 [s], a;", true, true},
    {"st.relaxed.cta.shared::cta.u32 [s], a;", false, false},
    {"fence.acq_rel.gpu;", true, false},
    {"fence.sc.sys;", true, false},
    {"fence.acq_rel.cluster;", false, false},
    {"fence.acq_rel.cta;", false, false},
    {"fence.proxy.async.global;", false, false},
    {"membar.gl;", true, false},
    {"membar.sys;", true, false},
    {"membar.cta;", false, false},
    {"red.global.add.u32 [d], a;", false, true},              /* the sum is the same in any order */
    {"red.relaxed.gpu.global.max.u32 [d], a;", false, true},
    {"red.global.add.f32 [d], f;", true, true},
    {"red.global.add.noftz.f16 [d], h;", true, true},
    {"red.global.and.b32 [d], a;", false, true},
    {"red.global.inc.u32 [d], a;", true, true},
    {"red.global.dec.u32 [d], a;", true, true},
    {"red.shared.add.f32 [s], f;", false, false},
    {"red.shared::cluster.add.u32 [s], a;", false, false},
    {"atom.global.add.u32 e, [d], a;", true, true},           /* the old value depends on the order, ... */
    {"atom.global.add.u32 c, [d], a;", false, true},          /* ... but is not used */
    {"atom.global.exch.b32 c, [d], a;", true, true},
    {"atom.global.cas.b32 c, [d], a, a;", true, true},
    {"atom.global.add.f32 f, [d], f;", true, true},
    {"atom.shared.add.u32 e, [s], a;", false, false},
    {"atom.add.u32 e, [d], a;", true, true},
    {"cp.async.ca.shared.global [s], [d], 16;\ncp.async.wait_all;", false, false},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d], [s], 16;", false, false},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [d], [s], 16;", true, false},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32 [d], [s], 16;", true, false},
    {"cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [d, {a}], [s];", true, false},
    {"cp.async.bulk.global.shared::cta.bulk_group [d], [s], 16;", false, false},
};

static void what_talks_and_what_meets(void **state)
{
    (void)state;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[4096];
        emu_test t;
        snprintf(text, sizeof text, "%s%s%s", HEAD, cases[i].text, TAIL);
        if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s: %s", cases[i].text, t.error.text);
        bool meets = false;
        for (uint32_t op = 0; op < t.code->ops; op++) meets = meets || t.code->op[op].meets;
        if (t.code->talks != cases[i].talks) fail_msg("%s: it talks: %d", cases[i].text, t.code->talks);
        if (meets != cases[i].meets) fail_msg("%s: it meets: %d", cases[i].text, meets);
        emu_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_talks_and_what_meets)};
    return cmocka_run_group_tests_name("talks", tests, NULL, NULL);
}
