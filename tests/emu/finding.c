/* SPDX-License-Identifier: MIT
 * Findings of the emulated device have names and the right text, whatever part of their place is known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/error.h"
#include "emu/check/finding.h"

static void names_are_unique_words(void **state)
{
    (void)state;
    for (int i = 0; i < GS_EMU_FINDING_KINDS; i++) {
        const char *const name = gs_emu_finding_name((gs_emu_finding_kind)i);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
        assert_true(strlen(name) > 3);
        for (int j = 0; j < i; j++) assert_string_not_equal(name, gs_emu_finding_name((gs_emu_finding_kind)j));
    }
    assert_string_equal(gs_emu_finding_name(GS_EMU_EARLY_READ_FINDING), "early-read");
    assert_string_equal(gs_emu_finding_name(GS_EMU_FINDING_KINDS), "?");
}

static void places_are_told_as_far_as_they_are_known(void **state)
{
    static const struct { gs_emu_finding finding; const char *text; } rows[] = {
        {{GS_EMU_EARLY_READ_FINDING, "gs_ws", 317, "/a/b/wgmma.cuh", 43, 128, "src/ws.cu", {1, 2, 3}, 4, 1, "too early"},
         "gs_ws, block 1 2 3, warp 4: early-read: too early (PTX line 317; wgmma.cuh:43, inlined at ws.cu:128)"},
        {{GS_EMU_EARLY_READ_FINDING, "gs_ws", 317, "wgmma.cuh", 43, 128, "", {0}, 4, 1, "too early"},
         "gs_ws, block 0 0 0, warp 4: early-read: too early (PTX line 317; wgmma.cuh:43, inlined at line 128)"},
        {{GS_EMU_RACE_FINDING, "k", 9, "k.cu", 7, 5, "w", {0}, 0, 1, "both"}, "k, block 0 0 0, warp 0: race: both (PTX line 9; k.cu:7, inlined at w:5)"},
        {{GS_EMU_RACE_FINDING, "k", 9, "k.cu", 7, 0, "", {0}, 0, 1, "both"}, "k, block 0 0 0, warp 0: race: both (PTX line 9; k.cu:7)"},
        {{GS_EMU_RACE_FINDING, "k", 9, "", 0, 5, "", {0}, 0, 1, "both"}, "k, block 0 0 0, warp 0: race: both (PTX line 9)"},
        {{GS_EMU_RACE_FINDING, "k", 0, "k.cu", 7, 0, "", {0}, 0, 1, "both"}, "k, block 0 0 0, warp 0: race: both (k.cu:7)"},
        {{GS_EMU_DEADLOCK_FINDING, "k", 0, "", 0, 0, "", {0}, -1, 1, "all wait"}, "k, block 0 0 0: deadlock: all wait"},
    };
    char text[256], cut[12];
    (void)state;
    for (size_t i = 0; i < GS_COUNT(rows); i++) {
        assert_ptr_equal(gs_emu_finding_format(&rows[i].finding, text, sizeof text), text);
        assert_string_equal(text, rows[i].text);
        gs_emu_finding_format(&rows[i].finding, cut, sizeof cut);
        assert_int_equal(strlen(cut), sizeof cut - 1);
        assert_memory_equal(cut, rows[i].text, sizeof cut - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_words),
        cmocka_unit_test(places_are_told_as_far_as_they_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
