/* SPDX-License-Identifier: MIT
 * Launch modes of a contender: "@plain" and "@dependent" after a schedule override the device's setting, from the first run on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "fake/opened.h"
#include "loaded/contender.h"
#include "loaded/loaded.h"

static char folder[] = "/tmp/gemmsmith-modes-XXXXXX";

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    open_fake();
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void names(void **state)
{
    (void)state;
    static const struct {
        const char    *text;
        gs_status      status;
        gs_launch_mode mode;
    } cases[] = {
        {"simple", GS_OK, GS_LAUNCH_AS_DEVICE},        {"simple@plain", GS_OK, GS_LAUNCH_PLAIN},  {"mma/64x64x64/w2x2/s2/g1@dependent", GS_OK, GS_LAUNCH_DEPENDENT},
        {"simple@", GS_ERROR_PARSE, 0},                {"simple@plainly", GS_ERROR_PARSE, 0},     {"@plain", GS_ERROR_PARSE, 0},
        {"simple@plain@dependent", GS_ERROR_PARSE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_schedule schedule;
        gs_launch_mode mode;
        gs_error error;
        assert_int_equal(gs_contender_parse(cases[i].text, &schedule, &mode, &error), cases[i].status);
        if (cases[i].status == GS_OK) assert_int_equal(mode, cases[i].mode);
    }
}

static void launches(void **state)
{
    (void)state;
    static char operand[1 << 14] __attribute__((aligned(256)));
    static const struct {
        const char *text;
        bool        on;
        int         dependent;
    } cases[] = {{"simple", false, 0}, {"simple", true, 1}, {"simple@plain", true, 0}, {"simple@dependent", false, 1}};
    const gs_problem problem = gs_problem_make(GS_F16, GS_NN, 33, 35, 37);
    const gs_args args = gs_args_make(operand, operand, NULL, operand);
    gs_device *device;
    gs_error error = {0};
    if (gs_compiler_version(&error) == 0) skip();
    if (gs_device_open(&device, "cuda:0", folder, &error) != GS_OK) fail_msg("%s", error.text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_contender contender;
        device->dependent = cases[i].on;
        assert_int_equal(gs_contender_schedule(&contender, device, cases[i].text, &error), GS_OK);
        assert_string_equal(contender.name, cases[i].text);
        if (contender.prepare(&contender, &problem, &error) != GS_OK) fail_msg("%s", error.text);
        for (int run = 0; run < 2; run++) {
            assert_int_equal(contender.run(&contender, &args, NULL, &error), GS_OK);
            assert_int_equal(last_launch()->dependent, cases[i].dependent);
        }
        contender.destroy(&contender);
    }
    gs_device_close(&device);
    assert_int_equal(live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(launches)};
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
