/* SPDX-License-Identifier: MIT
 * An emulated device fulfils the contract of device/device.h for code: from compilation to launch, refusals, faults, predicted times; and a plan runs on it. Without
 * NVRTC all of it is skipped and the exit code is 77. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "emu/emu.h"
#include "emu_device.h"
#include "kernel/inspector.h"
#include "launching.h"
#include "loaded/loaded.h"

/* Runs a kernel with 16 blocks and gets the reason why its time is not trusted. */
static void say_of(const work *w, const char *name, char why[160])
{
    gs_error error = {0};
    const gs_device_ops *const ops = w->device->ops;
    int zero[128] = {0};
    OK(ops->copy_in(w->device, w->memory, zero, sizeof zero, &error));
    gs_launch launch = plain(w, name, 32);
    launch.grid[0] = 16;
    ops->untrusted(w->device, w->queue, why, 160);
    if (ops->launch(w->device, &launch, w->queue, &error) != GS_OK) fail_msg("%s: %s", name, error.text);
    ops->untrusted(w->device, w->queue, why, 160);
}

/* The time of blocks that wait for each other is not trusted; that of blocks that only fetch work is. */
static void test_trust(void **state)
{
    (void)state;
    char why[160], again[160];
    need_compiler();
    work w = begin("emu:h200,seed=3");
    say_of(&w, "tickets", why);
    assert_string_equal(why, "");
    assert_int_equal(number(&w, 0), 32 + 16);
    say_of(&w, "small", why);
    assert_string_equal(why, "");
    say_of(&w, "chain", why);
    assert_int_equal(number(&w, 0), 16);
    if (!strstr(why, "chain: ") || !strstr(why, "flags")) fail_msg("\"%s\"", why);
    w.device->ops->untrusted(w.device, w.queue, again, sizeof again);
    assert_string_equal(again, "");
    end(&w);
}

static void test_launch(void **state)
{
    (void)state;
    need_compiler();
    static const char *const names[] = {"emu:h200", "emu:a100"};
    for (size_t device = 0; device < GS_COUNT(names); device++) {
        gs_error error = {0};
        work w = begin(names[device]);
        const gs_device_ops *const ops = w.device->ops;
        gs_function_info info;
        gs_function missing;
        numbers(&w);
        gs_pointer from = w.memory, to = w.memory + 2048;
        int count = 300;
        char more = -5;
        const gs_launch launch = {.function = find(&w, "add", &info), .grid = {3, 1, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1},
                                  .params = (void *[]){&to, &from, &count, &more}};
        assert_true(info.registers > 0 && info.max_threads == 1024 && info.static_smem == 0 && info.local_bytes == 0);
        assert_int_equal(info.parameters, 4);
        for (int i = 0; i < 4; i++) assert_int_equal(info.parameter_bytes[i], i < 2 ? 8 : i < 3 ? 4 : 1);
        OK(ops->launch(w.device, &launch, w.queue, &error));
        OK(ops->queue_wait(w.device, w.queue, &error));
        for (int i = 0; i < 512; i++) assert_int_equal(number(&w, 512 + i), i < 300 ? i - 5 : 512 + i);
        assert_int_equal(ops->function(w.device, w.module, "sub", &missing, NULL, &error), GS_ERROR_NOT_FOUND);
        assert_mentions(&error, "sub");
        assert_true(find(&w, "add", NULL) == launch.function);
        find(&w, "early", &info);
        assert_int_equal(info.static_smem, 256);
        find(&w, "small", &info);
        assert_int_equal(info.max_threads, 64);
        end(&w);
    }
}

static void test_variables(void **state)
{
    (void)state;
    need_compiler();
    gs_error error = {0};
    work w = begin("emu:h200");
    const gs_launch launch = plain(&w, "look", 32);
    for (int i = 0; i < 3; i++) {
        OK(w.device->ops->launch(w.device, &launch, NULL, &error));
        assert_int_equal(number(&w, 32), i);   /* without an initial value it is 0 */
    }
    for (int i = 0; i < 32; i++) assert_int_equal(number(&w, i), 10 * (i % 4 + 1));
    size_t before, between, behind, total;   /* variables are freed with their module */
    gs_module again;
    OK(w.device->ops->memory_info(w.device, &before, &total, &error));
    OK(w.device->ops->load(w.device, &image, &again, &error));
    OK(w.device->ops->memory_info(w.device, &between, &total, &error));
    w.device->ops->unload(w.device, again);
    OK(w.device->ops->memory_info(w.device, &behind, &total, &error));
    assert_true(between < before && behind == before);
    end(&w);
}

/* Variables that the inspection treats as tables: no instruction may write them, however it got the address. */
static void test_tables(void **state)
{
    (void)state;
    need_compiler();
    static const char *const writing[] = {"write", "look", "copy"};
    gs_error error = {0};
    for (int tables = 0; tables < 2; tables++) {
        image.user = tables;
        work w = begin("emu:h200");
        image.user = false;
        for (size_t i = 0; i < GS_COUNT(writing); i++)
            for (uint32_t threads = 1; threads <= 32; threads += 31) {
                numbers(&w);
                const gs_launch read = plain(&w, "read", 32), launch = plain(&w, writing[i], threads);
                if (tables == 0 && threads == 32 && i != 1) continue;   /* threads of a warp would write the same place */
                assert_int_equal(w.device->ops->launch(w.device, &launch, NULL, &error), tables ? GS_ERROR_FAULT : GS_OK);
                if (tables) assert_mentions(&error, "a variable of the module, which is read only");
                w.device->ops->queue_wait(w.device, NULL, &error);
                OK(w.device->ops->launch(w.device, &read, NULL, &error));
                for (int n = 0; tables && n < 4; n++) assert_int_equal(number(&w, n), 10 * (n + 1));
            }
        end(&w);
    }
}

static void refused(const work *w, const gs_launch *launch, const char *field, const char *why)
{
    gs_error error = {0};
    assert_int_equal(w->device->ops->launch(w->device, launch, w->queue, &error), GS_ERROR_LAUNCH);
    assert_string_equal(error.field, field);
    assert_mentions(&error, why);
}

/* Blocks that end at once also take time: a user kernel may have at most 2^26 blocks. */
static void test_user_blocks(void **state)
{
    (void)state;
    need_compiler();
    image.user = true;
    work w = begin("emu:h200");
    image.user = false;
    gs_launch launch = plain(&w, "small", 32);
    launch.grid[0] = 1024, launch.grid[1] = 1024, launch.grid[2] = 65;
    refused(&w, &launch, "grid", "more than 2^26 blocks");
    launch.grid[2] = 64;
    launch.smem = 50000;   /* checked next: this number of blocks is accepted */
    refused(&w, &launch, "smem", "more dynamic shared memory than was asked for");
    end(&w);
}

static void test_shared_memory(void **state)
{
    (void)state;
    need_compiler();
    gs_error error = {0};
    work w = begin("emu:h200");
    const gs_device_ops *const ops = w.device->ops;
    numbers(&w);
    gs_launch launch = plain(&w, "turn", 256);
    launch.smem = 1024;
    OK(ops->launch(w.device, &launch, w.queue, &error));
    for (int i = 0; i < 256; i++) assert_int_equal(number(&w, i), 255 - i);
    launch.smem = 50000;
    refused(&w, &launch, "smem", "more dynamic shared memory than was asked for");
    OK(ops->function_smem(w.device, launch.function, 100000, 1, &error));
    OK(ops->launch(w.device, &launch, w.queue, &error));
    assert_int_equal(ops->function_smem(w.device, launch.function, (uint32_t)w.device->caps.smem_block + 1, 1, &error), GS_ERROR_LAUNCH);
    end(&w);
}

static void test_refusals(void **state)
{
    (void)state;
    need_compiler();
    gs_error error = {0};
    work w = begin("emu:h200");
    const gs_device_ops *const ops = w.device->ops;
    int clusters;
    gs_launch launch = plain(&w, "small", 65);
    refused(&w, &launch, "block", "small: more threads than the kernel takes");
    launch.block[0] = 0;
    refused(&w, &launch, "grid", "an extent is 0");
    launch = plain(&w, "many", 1024);   /* each thread uses more than 64 registers */
    refused(&w, &launch, "block", "many: a block does not fit on a multiprocessor");
    launch = plain(&w, "small", 64);
    launch.grid[1] = 65536;
    refused(&w, &launch, "grid", "more than 65535 blocks in y or z");
    launch.grid[1] = 1;
    launch.cluster[0] = 2;
    refused(&w, &launch, "cluster", "the grid is no multiple of the cluster");
    launch.grid[0] = 3;
    refused(&w, &launch, "cluster", "the grid is no multiple of the cluster");
    launch.grid[0] = 4;
    OK(ops->max_clusters(w.device, &launch, &clusters, &error));
    assert_true(clusters >= 66);
    launch.cluster[0] = launch.grid[0] = 16;
    refused(&w, &launch, "cluster", "a larger cluster than was asked for");
    OK(ops->function_smem(w.device, launch.function, 0, 16, &error));
    OK(ops->launch(w.device, &launch, w.queue, &error));
    assert_int_equal(ops->function_smem(w.device, launch.function, 0, 17, &error), GS_ERROR_LAUNCH);
    OK(ops->queue_wait(w.device, w.queue, &error));   /* none of these was a fault */
    gs_module module;
    const gs_image empty = {.code = w.device, .size = 1};
    assert_int_equal(ops->load(w.device, &empty, &module, &error), GS_ERROR_ARGUMENT);
    char nonsense[] = ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { nonsense; }\n";
    const gs_image bad = {.ptx = nonsense, .ptx_size = sizeof nonsense - 1};
    gs_status status = ops->load(w.device, &bad, &module, &error);
    if (status == GS_OK) {   /* instructions are decoded only when a function is requested */
        gs_function function;
        status = ops->function(w.device, module, "k", &function, NULL, &error);
        ops->unload(w.device, module);
    }
    assert_int_equal(status, GS_ERROR_UNSUPPORTED);
    end(&w);

    w = begin("emu:a100");
    launch = plain(&w, "small", 64);
    launch.grid[0] = launch.cluster[0] = 2;
    refused(&w, &launch, "cluster", "the device has no clusters");
    const gs_tensor tensor = {.address = w.memory, .element = GS_F16, .extent = {16, 16}, .stride = 32, .box = {16, 16}};
    gs_tensor_map map;
    assert_int_equal(w.device->ops->tensor_map(w.device, &tensor, &map, &error), GS_ERROR_UNSUPPORTED);
    end(&w);
}

static void test_faults(void **state)
{
    (void)state;
    need_compiler();
    gs_error error = {0};
    work w = begin("emu:h200");
    const gs_device_ops *const ops = w.device->ops;
    const gs_emu_finding *found;
    const gs_launch wild = plain(&w, "wild", 1), early = plain(&w, "early", 64);
    assert_int_equal(gs_emu_findings(w.device, &found), 0);
    assert_int_equal(ops->launch(w.device, &wild, w.queue, &error), GS_ERROR_FAULT);
    assert_mentions(&error, "wild");
    assert_mentions(&error, "some.cu:13");
    assert_int_equal(gs_emu_findings(w.device, &found), 1);
    assert_int_equal(found[0].kind, GS_EMU_OUT_OF_BOUNDS_FINDING);

    gs_error again = {0};
    assert_int_equal(ops->queue_wait(w.device, w.queue, &again), GS_ERROR_FAULT);   /* a fault is reported once more to a program that did not look */
    assert_string_equal(again.text, error.text);
    OK(ops->queue_wait(w.device, w.queue, &error));
    OK(ops->queue_wait(w.device, NULL, &error));

    assert_int_equal(ops->launch(w.device, &wild, w.queue, &error), GS_ERROR_FAULT);
    assert_int_equal(gs_emu_findings(w.device, &found), 1);                         /* the same place again */
    assert_int_equal(found[0].times, 2);
    assert_int_equal(ops->launch(w.device, &early, NULL, &error), GS_ERROR_FAULT);  /* reads unwritten memory, and races */
    assert_true(gs_emu_findings(w.device, &found) > 1);
    assert_int_equal(ops->queue_wait(w.device, NULL, &error), GS_ERROR_FAULT);
    gs_emu_findings_clear(w.device);
    assert_int_equal(gs_emu_findings(w.device, &found), 0);

    numbers(&w);   /* the device still works */
    const gs_launch good = plain(&w, "small", 64);
    ops->queue_wait(w.device, w.queue, NULL);
    OK(ops->launch(w.device, &good, w.queue, &error));
    OK(ops->queue_wait(w.device, w.queue, &error));
    assert_int_equal(number(&w, 63), 0);
    assert_int_equal(number(&w, 64), 64);
    end(&w);

    w = begin("emu:h200,check=0");   /* without the checker only faults that end a launch are found */
    const gs_launch unchecked = plain(&w, "early", 64), still = plain(&w, "wild", 1);
    OK(w.device->ops->launch(w.device, &unchecked, w.queue, &error));
    assert_int_equal(w.device->ops->launch(w.device, &still, w.queue, &error), GS_ERROR_FAULT);
    end(&w);
}

static gs_status accept_source(const char *name, const char *source, gs_error *error)
{
    (void)name;
    (void)source;
    (void)error;
    return GS_OK;
}

static gs_status accept_ptx(const char *ptx, size_t size, const gs_manifest *manifest, const gs_problem *problem, gs_error *error)
{
    (void)ptx;
    (void)size;
    (void)manifest;
    (void)problem;
    (void)error;
    return GS_OK;
}

/* A user kernel cannot write a variable even if the inspection accepted it; a family's kernel can. */
static void test_user_kernel(void **state)
{
    (void)state;
    need_compiler();
    static const gs_kernel_inspector blind = {.source = accept_source, .ptx = accept_ptx};
    const gs_kernel kernel = {.name = "k.cu", .source = "#include \"common/args.h\"\n__device__ int kept;\nextern \"C\" __global__ void k(gs_kernel_args p) { kept = p.m; }\n",
                              .manifest = {.accumulator = GS_F32, .align = {2, 2, 2, 2}, .entry_count = 1,
                                           .entry = {{.name = "k", .grid = {{"1"}, {"1"}, {"1"}}, .block = {1, 1, 1}, .cluster = {1, 1, 1}}}}};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 16, 16, 16);
    gs_device *device = open_device("emu:h200");
    device->inspector = &blind;
    for (int user = 0; user < 2; user++) {
        gs_loaded *loaded;
        gs_error error = {0};
        const gs_args args = {.size = sizeof args};
        OK((user ? gs_loaded_create_user : gs_loaded_create)(&loaded, device, &kernel, &problem, &error));
        assert_int_equal(gs_loaded_run(loaded, &args, NULL, &error), user ? GS_ERROR_FAULT : GS_OK);
        if (user) assert_mentions(&error, "a variable of the module, which is read only");
        gs_loaded_destroy(&loaded);
    }
    gs_kernel eighths = kernel;   /* a map that may start before its operand is for families only */
    eighths.source = "#include \"common/args.h\"\n#include \"common/tma.cuh\"\nextern \"C\" __global__ void k(const __grid_constant__ gs_tensor_map map, const gs_kernel_args p) { }\n";
    eighths.manifest.entry[0].map_count = 1;
    eighths.manifest.entry[0].map[0] = (gs_map){.operand = 'a', .inner = 64, .outer = 16, .swizzle = 128, .eighth = 1};
    for (int user = 0; user < 2; user++) {
        gs_loaded *loaded = NULL;
        gs_error error = {0};
        const gs_status status = (user ? gs_loaded_create_user : gs_loaded_create)(&loaded, device, &eighths, &problem, &error);
        assert_int_equal(status, user ? GS_ERROR_UNSUPPORTED : GS_OK);
        if (user) assert_mentions(&error, "every eighth row is for kernels of this library alone");
        gs_loaded_destroy(&loaded);
    }
    gs_device_close(&device);
}

static gs_status compile_serialized(gs_device *device, const gs_source *source, gs_image *out, gs_error *error)
{
    (void)device;
    (void)source;
    (void)error;
    *out = (gs_image){.serialized = true, .log = strdup("wgmma is serialized, says the source\nptxas info: 8 registers\nptxas warning: wgmma is serialized in k\nthe end\n")};
    return GS_OK;
}

/* If the log has several lines, the assembler's line about it is reported completely. */
static void test_serialized(void **state)
{
    (void)state;
    const gs_kernel kernel = {.name = "k.cu", .source = "", .manifest = {.accumulator = GS_F32, .align = {2, 2, 2, 2}, .entry_count = 1,
                                                                         .entry = {{.name = "k", .grid = {{"1"}, {"1"}, {"1"}}, .block = {1, 1, 1}, .cluster = {1, 1, 1}}}}};
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 16, 16, 16);
    gs_device *device = open_device("emu:h200");
    const gs_device_ops *const before = device->ops;
    gs_device_ops ops = *before;
    gs_loaded *loaded;
    gs_error error = {0};
    ops.compile = compile_serialized;
    device->ops = &ops;
    assert_int_equal(gs_loaded_create(&loaded, device, &kernel, &problem, &error), GS_ERROR_SERIALIZED);
    assert_string_equal(error.text, "k.cu: ptxas warning: wgmma is serialized in k");
    device->ops = before;
    gs_device_close(&device);
}

static double time_of(const work *w, const gs_launch *launch)
{
    gs_error error = {0};
    double us;
    const gs_device_ops *const ops = w->device->ops;
    OK(ops->event_record(w->device, w->start, w->queue, &error));
    OK(ops->launch(w->device, launch, w->queue, &error));
    OK(ops->event_record(w->device, w->end, w->queue, &error));
    OK(ops->event_us(w->device, w->start, w->end, &us, &error));
    return us;
}

static void test_predicted_time(void **state)
{
    (void)state;
    need_compiler();
    double first = 0;
    for (int i = 0; i < 2; i++) {
        work w = begin(i ? "emu:h200,threads=1" : "emu:h200");
        numbers(&w);
        gs_launch launch = plain(&w, "turn", 256);
        launch.smem = 1024;
        const double us = time_of(&w, &launch);
        assert_true(us >= w.device->caps.launch_us && us < 100);
        if (i == 0) first = us;
        assert_float_equal(us, first, 0);   /* the same launch takes the same time in every process and with any number of threads */
        end(&w);
    }
}

/* A program that uses the device through the library's public calls. */
static void test_plan(void **state)
{
    (void)state;
    need_compiler();
    gs_error error = {0};
    gs_device *device = open_device("emu:h200");
    const gs_device_ops *const ops = device->ops;
    gs_config config = gs_config_default();
    gs_context *context;
    gs_plan *plan;
    config.device = "emu:h200";
    config.tuned_path = GS_SOURCE_DIR "/tests/emu";   /* a folder without tables */
    config.cache_path = "";
    OK(gs_open(&context, &config, &error));
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 16, 16, 16);
    OK(gs_plan_create(context, &problem, &plan, &error));
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_DEFAULT);
    gs_pointer memory;
    OK(ops->alloc(device, 3 * 512, &memory, &error));
    OK(ops->fill(device, memory, 0x3c003c00, 2 * 512, NULL, &error));   /* ones */
    const gs_args args = {.size = sizeof args, .a = (void *)(uintptr_t)memory, .b = (void *)(uintptr_t)(memory + 512), .d = (void *)(uintptr_t)(memory + 1024)};
    OK(gs_plan_run(plan, &args, NULL));
    uint16_t d[256];
    OK(ops->copy_out(device, d, memory + 1024, sizeof d, &error));
    for (int i = 0; i < 256; i++) assert_int_equal(d[i], 0x4c00);   /* 16 */
    gs_plan_destroy(&plan);
    config.use_ours = 0;
    gs_close(&context);
    OK(gs_open(&context, &config, &error));
    assert_int_equal(gs_plan_create(context, &problem, &plan, &error), GS_ERROR_NO_LIBRARY);
    gs_close(&context);
    gs_device_close(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_user_kernel),
        cmocka_unit_test(test_serialized),
        cmocka_unit_test(test_user_blocks),
        cmocka_unit_test(test_predicted_time),
        cmocka_unit_test(test_plan),
    };
    return run_launching("launch", tests, GS_COUNT(tests));
}
