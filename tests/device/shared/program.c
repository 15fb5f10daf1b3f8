/* SPDX-License-Identifier: MIT
 * A program that is linked with libgemmsmith.so alone, as users' programs are: the emulated device is opened from its shared object,
 * only where the program names it, and what is wrong with that object is said in one line. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "device/emulator.h"

#define TEXT(value)  TEXT_(value)
#define TEXT_(value) #value
#define EMULATOR     "libgemmsmith-emu.so." TEXT(GS_VERSION_MAJOR)

static gs_status open_context(gs_context **out, const char *device, gs_error *error)
{
    gs_config config = gs_config_default();
    config.device = device;
    config.tuned_path = GS_SOURCE_DIR "/tests/device";   /* a folder without tables */
    config.cache_path = "";
    *error = (gs_error){0};
    return gs_open(out, &config, error);
}

/* It fails with one line that has this in it. */
static void refused(const char *device, gs_status expected, const char *part)
{
    gs_context *context;
    gs_error error;
    assert_int_equal(open_context(&context, device, &error), expected);
    assert_null(context);
    if (!strstr(error.text, part) || strchr(error.text, '\n')) fail_msg("\"%s\" says nothing of \"%s\"", error.text, part);
}

/* Before the object was opened once: afterwards it stays. */
static void test_missing(void **state)
{
    (void)state;
    setenv("GEMMSMITH_EMULATOR", "/nonexistent/" EMULATOR, 1);
    refused("emu:h200", GS_ERROR_NO_DEVICE, "emulated devices need " EMULATOR ", which cannot be opened (/nonexistent/");
    setenv("GEMMSMITH_EMULATOR", "/dev/null", 1);
    refused("emu:h200", GS_ERROR_NO_DEVICE, "/dev/null: not a regular file");
    setenv("GEMMSMITH_EMULATOR", NOT_A_DEVICE, 1);
    refused("emu:h200", GS_ERROR_NO_DEVICE, "is no emulated device");
    setenv("GEMMSMITH_EMULATOR", OTHER_VERSION, 1);
    refused("emu:h200", GS_ERROR_NO_DEVICE, "is of gemmsmith 0.0.9, this is " GS_VERSION_TEXT);
    setenv("GEMMSMITH_EMULATOR", OTHER_BUILD, 1);
    refused("emu:h200", GS_ERROR_NO_DEVICE, "is of another build");
    unsetenv("GEMMSMITH_EMULATOR");
}

static void test_environment_alone(void **state)
{
    (void)state;
    gs_context *context;
    gs_error error;
    setenv("GEMMSMITH_DEVICE", "emu:h200", 1);
    refused(NULL, GS_ERROR_ARGUMENT, "name it in gs_config.device");
    refused("", GS_ERROR_ARGUMENT, "name it in gs_config.device");
    assert_int_equal(gs_open(&context, NULL, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "GEMMSMITH_DEVICE");
    assert_int_equal(open_context(&context, "emu:a100", &error), GS_OK);   /* named: the variable is not read */
    gs_close(&context);
    unsetenv("GEMMSMITH_DEVICE");
}

/* A second handle on the machine that the context has opened, for memory: the object is the one that the library opened. */
static gs_device *open_handle(void)
{
    void *const object = dlopen(EMULATOR, RTLD_NOW | RTLD_NOLOAD);
    if (!object) fail_msg("%s", dlerror());
    const gs_emulator *const door = dlsym(object, GS_EMULATOR_SYMBOL);
    assert_non_null(door);
    gs_device *device;
    gs_error error;
    if (door->open(&device, "h200", "", &error) != GS_OK) fail_msg("%s", error.text);
    dlclose(object);
    return device;
}

static void test_multiply(void **state)
{
    (void)state;
    gs_context *context;
    gs_plan *plan;
    gs_error error;
    if (open_context(&context, "emu:h200", &error) != GS_OK) fail_msg("%s", error.text);
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 16, 16, 16);
    const gs_status status = gs_plan_create(context, &problem, &plan, &error);
    if (status == GS_ERROR_NO_COMPILER) {
        gs_close(&context);
        skip();
    }
    if (status != GS_OK) fail_msg("%s", error.text);
    gs_device *device = open_handle();
    gs_pointer memory;
    assert_int_equal(device->ops->alloc(device, 3 * 512, &memory, &error), GS_OK);
    assert_int_equal(device->ops->fill(device, memory, 0x3c003c00, 512, NULL, &error), GS_OK);         /* ones */
    assert_int_equal(device->ops->fill(device, memory + 512, 0x40004000, 512, NULL, &error), GS_OK);   /* twos */
    const gs_args args = gs_args_make((void *)(uintptr_t)memory, (void *)(uintptr_t)(memory + 512), NULL, (void *)(uintptr_t)(memory + 1024));
    assert_int_equal(gs_plan_run(plan, &args, NULL), GS_OK);
    uint16_t d[256];
    assert_int_equal(device->ops->copy_out(device, d, memory + 1024, sizeof d, &error), GS_OK);
    for (int i = 0; i < 256; i++) assert_int_equal(d[i], 0x5000);   /* 32 */
    gs_plan_destroy(&plan);
    gs_close(&context);
    device->ops->free(device, memory);
    device->ops->close(device);
}

static void keep_line(void *self, int level, const char *line)
{
    if (level == 2) snprintf(self, 256, "%s", line);
}

/* What the emulated device finds is logged from its shared object, to the callback of the context. */
static void test_log(void **state)
{
    (void)state;
    char line[256] = "";
    gs_config config = gs_config_default();
    config.device = "emu:h200";
    config.tuned_path = GS_SOURCE_DIR "/tests/device";
    config.cache_path = "";
    config.log = keep_line;
    config.log_self = line;
    gs_context *context;
    gs_plan *plan;
    gs_error error;
    if (gs_open(&context, &config, &error) != GS_OK) fail_msg("%s", error.text);
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 16, 16, 16);
    const gs_status status = gs_plan_create(context, &problem, &plan, &error);
    if (status == GS_OK) {
        void *const nowhere = (void *)(uintptr_t)0x100;
        const gs_args args = gs_args_make(nowhere, nowhere, NULL, nowhere);
        gs_plan_run(plan, &args, NULL);
        assert_non_null(strstr(line, "h200"));
        gs_plan_destroy(&plan);
    }
    gs_close(&context);
    if (status == GS_ERROR_NO_COMPILER) skip();
    assert_int_equal(status, GS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_environment_alone),
        cmocka_unit_test(test_multiply),
        cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
