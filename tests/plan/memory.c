/* SPDX-License-Identifier: MIT
 * Device memory of a context, on the emulated device and on a fake libcuda: what was written is read back, also in parts; errors of calls and of the device are
 * reported; and everything is freed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/clock.h"
#include "fake/fake_cuda.h"
#include "plan/plan_internal.h"

#define FAKE GS_BINARY_DIR "/tests/fake/libfake_cuda.so"

static gs_context *context;

static void open_on(const char *device)
{
    gs_error error = {0};
    gs_config config = gs_config_default();
    config.device = device;
    config.cache_path = "";
    if (gs_open(&context, &config, &error) != GS_OK) fail_msg("%s", error.text);
}

static void write_and_read(void)
{
    static const char text[] = "what a program writes, it reads";
    char back[sizeof text] = "";
    gs_error error = {0};
    void *memory = NULL, *other = NULL;
    assert_int_equal(gs_memory_create(context, sizeof text, &memory, &error), GS_OK);
    assert_int_equal(gs_memory_create(context, 0, &other, &error), GS_OK);   /* an allocation of 0 bytes has its own address too */
    assert_true(memory && other && memory != other);
    assert_int_equal((uintptr_t)memory % 256, 0);
    assert_int_equal(gs_memory_write(context, memory, text, sizeof text, &error), GS_OK);
    assert_int_equal(gs_memory_write(context, (char *)memory + 5, "b", 1, NULL), GS_OK);
    assert_int_equal(gs_memory_read(context, back, memory, sizeof text, &error), GS_OK);
    assert_string_equal(back, "what b program writes, it reads");
    assert_int_equal(gs_memory_read(context, back, (char *)memory + 7, 7, NULL), GS_OK);
    assert_memory_equal(back, "program", 7);
    assert_int_equal(gs_memory_write(context, NULL, NULL, 0, NULL), GS_OK);
    assert_int_equal(gs_memory_read(context, NULL, NULL, 0, NULL), GS_OK);
    gs_memory_destroy(context, memory);
    gs_memory_destroy(context, other);
    gs_memory_destroy(context, NULL);
    gs_memory_destroy(NULL, NULL);
}

static void wrong_calls(void)
{
    char byte = 0;
    gs_error error = {0};
    void *memory = &byte;
    assert_int_equal(gs_memory_create(NULL, 1, &memory, &error), GS_ERROR_ARGUMENT);
    assert_null(memory);
    assert_string_equal(error.field, "context");
    assert_int_equal(gs_memory_create(context, 1, NULL, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "out");
    memory = &byte;
    assert_int_equal(gs_memory_create(context, (size_t)1 << 50, &memory, &error), GS_ERROR_DEVICE_MEMORY);
    assert_null(memory);
    assert_int_equal(gs_memory_create(context, 1, &memory, &error), GS_OK);
    assert_int_equal(gs_memory_write(NULL, memory, &byte, 1, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_memory_write(context, NULL, &byte, 1, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "to");
    assert_int_equal(gs_memory_write(context, memory, NULL, 1, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "from");
    assert_int_equal(gs_memory_read(NULL, &byte, memory, 1, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_memory_read(context, NULL, memory, 1, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "to");
    assert_int_equal(gs_memory_read(context, &byte, NULL, 1, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "from");
    gs_memory_destroy(context, memory);
}

static void test_emulated(void **state)
{
    (void)state;
    char byte = 0;
    gs_error error = {0};
    void *memory = NULL;
    open_on("emu:h200");
    write_and_read();
    wrong_calls();
    assert_int_equal(gs_memory_create(context, 256, &memory, &error), GS_OK);
    assert_int_not_equal(gs_memory_read(context, &byte, (char *)memory + (1 << 20), 1, &error), GS_OK);   /* not allocated */
    assert_int_not_equal(gs_memory_write(context, &byte, &byte, 1, &error), GS_OK);                       /* host memory */
    gs_memory_destroy(context, memory);
    assert_int_not_equal(gs_memory_read(context, &byte, memory, 1, &error), GS_OK);                       /* freed */
    gs_close(&context);
}

static atomic_bool made;

static void *make_memory(void *memory)
{
    const gs_status status = gs_memory_create(context, 256, memory, NULL);
    made = true;
    return status == GS_OK ? memory : NULL;
}

/* An emulated device serves one thread at a time; other threads wait. */
static void test_emulated_waits(void **state)
{
    (void)state;
    pthread_t thread;
    void *memory = NULL, *came;
    open_on("emu:h200");
    gs_context_enter(context);
    assert_int_equal(pthread_create(&thread, NULL, make_memory, &memory), 0);
    gs_clock_sleep_ns(50000000);
    const bool waited = !made;
    gs_context_leave(context);
    pthread_join(thread, &came);
    assert_non_null(came);
    assert_true(waited);
    gs_memory_destroy(context, memory);
    gs_close(&context);
}

static void test_gpu(void **state)
{
    (void)state;
    static const struct {
        const char *fails;
        int         creates, writes, reads;
    } cases[] = {{"cuMemAlloc_v2", 0, 1, 1}, {"cuMemcpyHtoD_v2", 1, 0, 1}, {"cuMemcpyDtoH_v2", 1, 1, 0}, {"cuCtxSynchronize", 1, 1, 0}};
    fake_cuda_live_function *live = NULL;
    fake_cuda_calls_function *calls = NULL;
    void *memory = NULL, *other = NULL;
    char byte = 0;
    gs_error error = {0};
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    open_on("cuda:0");
    void *const driver = dlopen(FAKE, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(driver);
    *(void **)&live = dlsym(driver, "fake_cuda_live");
    *(void **)&calls = dlsym(driver, "fake_cuda_calls");
    const int before = live(), waited = calls("cuCtxSynchronize");
    write_and_read();
    wrong_calls();
    assert_int_equal(live(), before);
    assert_int_equal(calls("cuCtxSynchronize"), waited + 2);   /* one synchronisation for each read */
    assert_int_equal(gs_memory_create(context, 1, &memory, &error), GS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("FAKE_CUDA_FAIL", cases[i].fails, 1);
        other = NULL;
        if ((gs_memory_create(context, 1, &other, &error) == GS_OK) != cases[i].creates) fail_msg("%s: create", cases[i].fails);
        if ((gs_memory_write(context, memory, &byte, 1, &error) == GS_OK) != cases[i].writes) fail_msg("%s: write", cases[i].fails);
        if ((gs_memory_read(context, &byte, memory, 1, &error) == GS_OK) != cases[i].reads) fail_msg("%s: read", cases[i].fails);
        unsetenv("FAKE_CUDA_FAIL");
        gs_memory_destroy(context, other);
    }
    gs_memory_destroy(context, memory);
    assert_int_equal(live(), before);
    gs_close(&context);
    dlclose(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emulated),
        cmocka_unit_test(test_emulated_waits),
        cmocka_unit_test(test_gpu),
    };
    return cmocka_run_group_tests_name("plan/memory", tests, NULL, NULL);
}
