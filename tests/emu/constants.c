/* SPDX-License-Identifier: MIT
 * Thousands of constants in a kernel, of several widths with the same bits: each has its value, however much space they need; and how instructions are counted by the
 * memory that they access. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/leaks.h"
#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "emu.h"

#define HEAD ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n.reg .pred p;\n.reg .b16 h, %h<4>;\n.reg .b32 a, e, s;\n.reg .f32 f;\n.reg .f64 g;\n.reg .b64 d, x;\n" \
             ".shared .align 16 .b8 buf[4096];\n.local .align 4 .b8 own[16];\nld.param.u64 d, [data];\nmov.u32 a, 0;\nmov.u64 x, 0;\nmov.u16 h, 0;\n"
#define TAIL "st.global.u64 [d], x;\nst.global.u32 [d+8], a;\nst.global.u16 [d+12], h;\nst.global.u32 [d+16], e;\nret;\n}\n"

static void each_is_what_it_says(void **state)
{
    (void)state;
    static const int counts[] = {1, 20, 300, 4000};
    for (size_t i = 0; i < GS_COUNT(counts); i++) {
        gs_text text = {0};
        gs_random random = {i};
        uint64_t x = 0;
        uint32_t a = 0, e = 0;
        uint16_t h = 0;
        gs_text_add(&text, HEAD "mov.u32 e, 0;\n");
        for (int j = 0; j < counts[i]; j++) {
            const uint64_t bits = gs_random_next(&random) >> gs_random_below(&random, 64);
            const uint32_t place = (uint32_t)gs_random_below(&random, 4000);
            x = x * 3 + bits, a = a * 3 + (uint32_t)bits, h = (uint16_t)(h * 3 + (uint16_t)bits);
            gs_text_addf(&text, "mad.lo.u64 x, x, 3, 0x%llx;\nmad.lo.u32 a, a, 3, 0x%x;\nmad.lo.u16 h, h, 3, 0x%x;\n", (unsigned long long)bits, (unsigned)bits, (unsigned)(uint16_t)bits);
            gs_text_addf(&text, "mov.u32 s, buf+%u;\nsub.u32 s, s, buf;\nmad.lo.u32 e, e, 5, s;\n", place);   /* addresses of shared memory are no constants */
            e = e * 5 + place;
        }
        gs_text_add(&text, TAIL);
        emu_test t;
        if (emu_load(&t, gs_text_string(&text), NULL) != GS_OK) fail_msg("%d: %s", counts[i], t.error.text);
        const uint64_t data = emu_buffer(&t, NULL, 64);
        emu_param(&t, 0, &data, sizeof data);
        t.launch.block[0] = 1;
        if (emu_run(&t) != GS_OK) fail_msg("%d: %s", counts[i], t.error.text);
        uint64_t words[3];
        memcpy(words, emu_bytes(&t, data, 24), 24);
        if (words[0] != x || (uint32_t)words[1] != a || (uint16_t)(words[1] >> 32) != h || (uint32_t)words[2] != e) fail_msg("%d constants", counts[i]);
        emu_end(&t);
        gs_text_free(&text);
    }
}

/* The same bits as numbers of every width and as predicates. */
static void widths_are_told_apart(void **state)
{
    (void)state;
    emu_test t;
    static const char text[] = HEAD "mov.u16 h, 1;\nmov.u32 a, 1;\nmov.u64 x, 1;\nmov.u32 e, 0;\nadd.u64 x, x, 1;\nadd.u32 a, a, 1;\nadd.u16 h, h, 1;\nand.pred p, 1, 1;\n@p add.u32 e, e, 1;\nand.pred p, 1, 0;\n@p add.u32 e, e, 100;\n"
        "or.pred p, 2, 0;\n@p add.u32 e, e, 10;\nxor.pred p, 1, 1;\n@!p add.u32 e, e, 1000;\nmov.f32 f, 0f3f800000;\nmov.f64 g, 0d3ff0000000000000;\nadd.f64 g, g, 0d3ff0000000000000;\ncvt.rzi.s32.f64 s, g;\nadd.u32 e, e, s;\n" TAIL;
    if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s", t.error.text);
    const uint64_t data = emu_buffer(&t, NULL, 64);
    emu_param(&t, 0, &data, sizeof data);
    t.launch.block[0] = 1;
    if (emu_run(&t) != GS_OK) fail_msg("%s", t.error.text);
    uint64_t words[3];
    memcpy(words, emu_bytes(&t, data, 24), 24);
    assert_true(words[0] == 2 && (uint32_t)words[1] == 2 && (uint16_t)(words[1] >> 32) == 2 && (uint32_t)words[2] == 1013);
    emu_end(&t);
}

static void classes_of_accesses(void **state)
{
    (void)state;
    static const struct { const char *text; gs_emu_class class; } cases[] = {
        {"ld.global.u32 a, [d];", GS_EMU_GLOBAL}, {"ld.u32 a, [d];", GS_EMU_GLOBAL}, {"st.global.u32 [d], a;", GS_EMU_GLOBAL}, {"st.u32 [d], a;", GS_EMU_GLOBAL}, {"ld.shared.u32 a, [s];", GS_EMU_SHARED},
        {"st.shared::cta.u32 [s], a;", GS_EMU_SHARED}, {"st.shared::cluster.u32 [s], a;", GS_EMU_SHARED}, {"ld.local.u32 a, [own];", GS_EMU_OTHER}, {"st.local.u32 [own], a;", GS_EMU_OTHER}, {"ld.param.u64 x, [data];", GS_EMU_OTHER},
        {"atom.global.add.u32 a, [d], 1;", GS_EMU_GLOBAL}, {"atom.add.u32 a, [d], 1;", GS_EMU_GLOBAL}, {"red.shared.add.u32 [s], 1;", GS_EMU_SHARED},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[2048];
        emu_test t;
        snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD, cases[i].text);
        if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s: %s", cases[i].text, t.error.text);
        const gs_emu_op *op = NULL;   /* the last instruction of this name */
        for (uint32_t j = 0; j < t.code->ops; j++)
            if (t.code->op[j].name && strncmp(cases[i].text, t.code->op[j].name, strlen(t.code->op[j].name)) == 0) op = &t.code->op[j];
        assert_non_null(op);
        if (op->class != cases[i].class) fail_msg("%s: class %d, not %d", cases[i].text, op->class, cases[i].class);
        emu_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_what_it_says), cmocka_unit_test(widths_are_told_apart), cmocka_unit_test(classes_of_accesses)};
    return run_without_leaks("constants", tests, GS_COUNT(tests));
}
