/* SPDX-License-Identifier: MIT
 * Blocks that wait for others, if the device holds fewer blocks than the grid has: a block that waits for one that has not started is reported; one that waits for a
 * block that started before it, or with it, is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "emu.h"

/* w: a flag, initially zero; b: this block; n: number of blocks; p: this is the first block; q: the last one. Only thread 0 acts. */
#define HEAD                                                                                                                 \
    ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 flags)\n{\n.reg .pred p, q, r, s;\n"     \
    ".reg .b32 a, b, c, n, t;\n.reg .b64 w;\nld.param.u64 w, [flags];\nmov.u32 b, %ctaid.x;\nmov.u32 n, %nctaid.x;\n"       \
    "mov.u32 t, %tid.x;\nsetp.ne.u32 s, t, 0;\n@s bra DONE;\nsetp.eq.u32 p, b, 0;\nadd.u32 c, b, 1;\nsetp.eq.u32 q, c, n;\n"
#define TAIL "\nDONE:\nbar.sync 0;\nret;\n}\n"

#define COME(who)  who " red.global.add.u32 [w], 1;\n"
#define LOOK_LOAD  "ld.volatile.global.u32 c, [w];\n"
#define LOOK_ATOM  "atom.global.or.b32 c, [w], 0;\n"
#define LOOK_SWAP  "atom.global.cas.b32 c, [w], 77, 77;\n"
#define UNTIL(who, look, count) who " bra WAIT;\nbra DONE;\nWAIT:\n" look "setp.lt.u32 r, c, " count ";\n@r bra WAIT;\n"

static gs_status run_blocks(const char *body, uint32_t blocks, uint32_t resident, uint64_t seed, char *text, size_t size)
{
    static char ptx[4096];
    emu_test t;
    const uint32_t zero[16] = {0};
    snprintf(ptx, sizeof ptx, "%s%s%s", HEAD, body, TAIL);
    if (emu_load(&t, ptx, NULL) != GS_OK) fail_msg("%s", t.error.text);
    const uint64_t flags = emu_buffer(&t, zero, sizeof zero);
    emu_param(&t, 0, &flags, sizeof flags);
    t.launch.grid[0] = blocks;
    t.launch.block[0] = 64;
    t.launch.resident = resident;
    t.launch.seed = seed;
    const gs_status status = emu_run(&t);
    snprintf(text, size, "%s", t.error.text);
    if (status == GS_ERROR_FAULT) assert_int_equal(t.launch.finding[0].kind, GS_EMU_DEADLOCK_FINDING);
    emu_end(&t);
    return status;
}

static void expect(const char *body, uint32_t blocks, uint32_t resident, const char *words)
{
    char text[512];
    for (uint64_t seed = 1; seed <= (blocks > 100 ? 1 : 3); seed++) {
        const gs_status status = run_blocks(body, blocks, resident, seed, text, sizeof text);
        if (status != (words ? GS_ERROR_FAULT : GS_OK)) fail_msg("%u of %u blocks: status %d: %s: %s", resident, blocks, (int)status, body, text);
        if (words && !strstr(text, words)) fail_msg("no \"%s\": %s", words, text);
    }
}

static void test_later_blocks(void **state)
{
    (void)state;
    static const char *const body[] = {
        COME("@q") UNTIL("@p", LOOK_LOAD, "1"), COME("@q") UNTIL("@p", LOOK_ATOM, "1"), COME("@q") UNTIL("@p", LOOK_SWAP, "1"),
    };
    for (size_t i = 0; i < GS_COUNT(body); i++) {
        expect(body[i], 40, 39, "waits for one that has not started: the device holds 39 of 40 blocks at once");
        expect(body[i], 40, 40, NULL);
        expect(body[i], 40, 0, NULL);
    }
}

static void test_earlier_blocks(void **state)
{
    (void)state;
    expect(COME("@p") UNTIL("@q", LOOK_LOAD, "1"), 40, 4, NULL);
    expect(COME("@p") UNTIL("@!p", LOOK_ATOM, "1"), 40, 1, NULL);
}

/* A barrier of a grid that is larger than the number of blocks that usually run at once. */
static void test_grid_barrier(void **state)
{
    (void)state;
    expect(COME("") UNTIL("", LOOK_LOAD, "300"), 300, 300, NULL);
    expect(COME("") UNTIL("", LOOK_LOAD, "300"), 300, 299, "has not started");
}

static void test_nobody_comes(void **state)
{
    (void)state;
    expect(UNTIL("", LOOK_LOAD, "1"), 3, 3, "all blocks that have not ended wait");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later_blocks), cmocka_unit_test(test_earlier_blocks), cmocka_unit_test(test_grid_barrier), cmocka_unit_test(test_nobody_comes),
    };
    return cmocka_run_group_tests_name("blocks that are resident together", tests, NULL, NULL);
}
