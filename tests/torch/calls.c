/* SPDX-License-Identifier: MIT
 * The PyTorch adapter without PyTorch: a torch of plain C calls its kernels, on a fake driver. Which calls are served, which go to torch, which raise; graphs,
 * workspaces, failures of torch's calls and of the driver, forks; and that no tensor handle leaks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "fake/fake_torch.h"
#include "fake/opened.h"
#include "support/fork.h"
#include "torch/adapter.h"
#include "torch/choice.h"

static char folder[] = "/tmp/gemmsmith-torch-XXXXXX";
static fake_torch_state *torch;
static fake_torch_kernel_function *kernel_of;
static void *driver;

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CUBLASLT", "/nonexistent", 1);
    setenv("GEMMSMITH_TUNED", folder, 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    unsetenv("GEMMSMITH_RECORD");
    driver = open_fake();
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void need_compiler(void)
{
    gs_error error;
    if (gs_compiler_version(&error) == 0) skip();
}

/* Torch makes the device's context current in each thread that uses it. */
static void make_current(void)
{
    int (*retain)(void **context, int device), (*set)(void *context);
    void *context = NULL;
    put_function(driver, "cuDevicePrimaryCtxRetain", &retain);
    put_function(driver, "cuCtxSetCurrent", &set);
    assert_int_equal(retain(&context, 0), 0);
    assert_int_equal(set(context), 0);
}

static void load_fakes(void)
{
    void *const cpu = dlopen(GS_BINARY_DIR "/tests/fake/torch/libtorch_cpu.so", RTLD_NOW | RTLD_LOCAL);
    fake_torch_state_function *find;
    assert_non_null(cpu);
    put_function(cpu, "fake_torch", &find);
    put_function(cpu, "fake_torch_find", &kernel_of);
    torch = find();
}

/* ---- calls ---- */

static int64_t places;

static void *handle_of(int32_t dtype, int32_t device, int64_t dim, const int64_t *size)
{
    static _Alignas(256) unsigned char memory[64][1 << 14];
    fake_tensor *const t = calloc(1, sizeof *t);
    assert_non_null(t);
    *t = (fake_tensor){.dim = dim, .dtype = dtype, .device = device, .index = device == FAKE_TORCH_CPU ? -1 : 0, .data = memory[places++ % 64]};
    int64_t step = 1;
    for (int64_t i = dim - 1; i >= 0; i--) {
        t->size[i] = size[i];
        t->stride[i] = step;
        step *= size[i];
    }
    torch->handles++;
    return t;
}

#define SIZE(...)                 ((const int64_t[]){__VA_ARGS__})
#define MATRIX(dtype, rows, cols) handle_of(dtype, FAKE_TORCH_CUDA_DEVICE, 2, SIZE(rows, cols))

static uint64_t number(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Calls a kernel; NULL: it raised an error. The result's handle is deleted; the returned copy is valid until the next call. */
static const fake_tensor *call(const char *space, const char *name, const uint64_t *arguments, int count)
{
    static fake_tensor result;
    uint64_t stack[8] = {0};
    jmp_buf raised;
    const fake_torch_kernel kernel = kernel_of(space, name);
    assert_non_null(kernel);
    memcpy(stack, arguments, (size_t)count * sizeof *stack);
    torch->text[0] = '\0';
    torch->raised = &raised;
    if (setjmp(raised)) return NULL;
    kernel(stack, (uint64_t)count, 1);
    fake_tensor *out;
    memcpy(&out, stack, sizeof out);
    result = *out;
    free(out);
    torch->handles--;
    return &result;
}

#define CALL(space, name, ...) call(space, name, (const uint64_t[]){__VA_ARGS__}, (int)(sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)))
#define H(handle)              ((uint64_t)(uintptr_t)(handle))

static const fake_tensor *mm(int32_t dtype, int64_t m, int64_t n, int64_t k) { return CALL("aten", "mm", H(MATRIX(dtype, m, k)), H(MATRIX(dtype, k, n))); }

static void expect_raised(const fake_tensor *result, const char *words)
{
    assert_null(result);
    if (!strstr(torch->text, words)) fail_msg("\"%s\" has not \"%s\"", torch->text, words);
    assert_int_equal(torch->handles, 0);
}

/* Who computed the last product: 1 a launch of ours, 0 torch. */
static int launches, products;
static int served(void)
{
    const int launched = last_launch()->count - launches, own = torch->products - products;
    launches = last_launch()->count;
    products = torch->products;
    assert_true(launched + own > 0);
    assert_int_equal(torch->handles, 0);
    return own == 0;
}

/* ---- loading ---- */

static void nothing_to_load(void **state)
{
    (void)state;
    char text[512];
    assert_int_not_equal(gs_torch_load("CUDA", NULL, 8, text, sizeof text), GS_OK);
    assert_non_null(strstr(text, "import torch first"));
    assert_int_not_equal(gs_torch_route(1, text, sizeof text), GS_OK);
    assert_int_not_equal(gs_torch_load("CPU", NULL, 8, text, sizeof text), GS_OK);
    assert_non_null(strstr(text, "emulated device only"));
    char device[65];   /* one too long */
    memset(device, 'e', 64), device[64] = 0;
    assert_int_equal(gs_torch_load("CPU", device, 8, text, sizeof text), GS_ERROR_RANGE);
    assert_non_null(strstr(text, "a name is too long"));
    assert_int_not_equal(gs_torch_load("CPU", device + 1, 8, text, sizeof text), GS_OK);   /* there is no such device */
    assert_null(strstr(text, "a name is too long"));
    assert_int_equal(gs_torch_load("CPUCPUCP", "emu:h200", 8, text, sizeof text), GS_ERROR_RANGE);
    const pid_t child = test_fork();
    if (child == 0) {   /* an old torch */
        if (!dlopen(GS_BINARY_DIR "/tests/fake/torch/old/libtorch_cpu.so", RTLD_NOW | RTLD_LOCAL)) _exit(2);
        _exit(gs_torch_load("CPU", "emu:h200", 8, text, sizeof text) == GS_ERROR_UNSUPPORTED && strstr(text, "has no aoti_torch_cpu_mm_out: torch 2.7") ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    load_fakes();
    assert_int_not_equal(gs_torch_load("CUDA", NULL, 8, text, sizeof text), GS_OK);
    assert_non_null(strstr(text, "without CUDA"));
}

static void loading(void **state)
{
    (void)state;
    char text[512];
    assert_non_null(dlopen(GS_BINARY_DIR "/tests/fake/torch/libtorch_cuda.so", RTLD_NOW | RTLD_LOCAL));
    for (int i = 0; i < 2; i++) {
        torch->fail = i ? "run" : "library_init_impl";
        assert_int_equal(gs_torch_load("CUDA", NULL, 6, text, sizeof text), GS_ERROR_LIBRARY);
        assert_non_null(strstr(text, i ? "gemmsmith::run" : "no kernels for gemmsmith"));
        assert_int_equal(torch->libraries, 0);
    }
    torch->fail = NULL;
    assert_int_equal(gs_torch_load("CUDA", NULL, 6, text, sizeof text), GS_OK);
    assert_int_equal(gs_torch_load("CUDA", NULL, 6, text, sizeof text), GS_OK);
    assert_int_equal(gs_torch_load("CPU", "emu:h200", 6, text, sizeof text), GS_ERROR_UNSUPPORTED);
    torch->fail = "bmm.out";
    assert_int_equal(gs_torch_route(1, text, sizeof text), GS_ERROR_LIBRARY);
    assert_null(kernel_of("aten", "mm"));   /* all kernels are registered, or none */
    torch->fail = NULL;
    assert_int_equal(gs_torch_route(1, text, sizeof text), GS_OK);
    assert_int_equal(gs_torch_route(0, text, sizeof text), GS_OK);
    assert_null(kernel_of("aten", "mm"));
    assert_int_equal(gs_torch_route(1, text, sizeof text), GS_OK);
    make_current();
}

/* ---- products ---- */

static void passed_on(void **state)
{
    (void)state;
    const fake_tensor *d = mm(FAKE_TORCH_F32, 3, 4, 5);
    assert_non_null(d);
    assert_int_equal(d->size[0], 3);
    assert_int_equal(d->size[1], 4);
    assert_int_equal(d->stride[0], 4);
    assert_int_equal(served(), 0);
    assert_non_null(mm(FAKE_TORCH_BF16, 0, 4, 5));   /* empty */
    assert_int_equal(served(), 0);
    assert_non_null(CALL("gemmsmith", "addmm", H(MATRIX(FAKE_TORCH_BF16, 1, 1)), H(MATRIX(FAKE_TORCH_BF16, 3, 5)), H(MATRIX(FAKE_TORCH_BF16, 5, 4)), number(1), number(1)));
    assert_int_equal(served(), 0);
    assert_non_null(CALL("gemmsmith", "baddbmm_out", H(MATRIX(FAKE_TORCH_F32, 1, 1)), H(handle_of(FAKE_TORCH_F32, 1, 3, SIZE(2, 3, 5))), H(handle_of(FAKE_TORCH_F32, 1, 3, SIZE(2, 5, 4))),
                         number(1), number(1), H(handle_of(FAKE_TORCH_F32, 1, 3, SIZE(2, 3, 4)))));
    assert_int_equal(served(), 0);
}

static void raised(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const int32_t type = i ? FAKE_TORCH_F16 : FAKE_TORCH_F32;
        expect_raised(CALL("aten", "mm", H(MATRIX(type, 6, 5)), H(MATRIX(type, 6, 5))), "cannot be multiplied (6x5 and 6x5)");
        expect_raised(CALL("aten", "bmm", H(MATRIX(type, 6, 5)), H(MATRIX(type, 5, 6))), "must be a 3D tensor");
        expect_raised(CALL("aten", "mm", H(handle_of(type, 1, 1, SIZE(6))), H(MATRIX(type, 6, 5))), "self must be a matrix");
    }
    expect_raised(CALL("aten", "mm", H(MATRIX(FAKE_TORCH_F16, 6, 5)), H(MATRIX(FAKE_TORCH_BF16, 5, 6))), "same dtype");
    expect_raised(CALL("aten", "mm", H(MATRIX(FAKE_TORCH_F16, 6, 5)), H(handle_of(FAKE_TORCH_F16, FAKE_TORCH_CPU, 2, SIZE(5, 6)))), "same device");
    expect_raised(CALL("aten", "mm.out", H(MATRIX(FAKE_TORCH_F16, 6, 5)), H(MATRIX(FAKE_TORCH_F16, 5, 6)), H(MATRIX(FAKE_TORCH_F32, 6, 6))), "same dtype");
    expect_raised(CALL("gemmsmith", "addmm", H(MATRIX(FAKE_TORCH_F16, 1, 3)), H(MATRIX(FAKE_TORCH_F16, 6, 5)), H(MATRIX(FAKE_TORCH_F16, 5, 6)), number(1), number(1)), "cannot be expanded");
    for (int i = 0; i < 2; i++) {   /* elements without data, like torch's meta tensors; an empty tensor has no data either */
        fake_tensor *const none = MATRIX(FAKE_TORCH_F16, 5, i ? 0 : 6);
        none->data = NULL;
        if (i) assert_non_null(CALL("aten", "mm", H(MATRIX(FAKE_TORCH_F16, 6, 5)), H(none)));
        else expect_raised(CALL("aten", "mm", H(MATRIX(FAKE_TORCH_F16, 6, 5)), H(none)), "same device");
    }
    torch->fail = "mm_out";
    expect_raised(mm(FAKE_TORCH_F32, 3, 4, 5), "torch's own kernel failed");
    torch->fail = "empty_strided";
    expect_raised(mm(FAKE_TORCH_F32, 3, 4, 5), "no memory");
    expect_raised(mm(FAKE_TORCH_F16, 3, 4, 5), "no memory");
    torch->fail = NULL;
}

static void *stream_of(void)
{
    int (*create)(void **stream, unsigned int flags);
    void *stream = NULL;
    put_function(driver, "cuStreamCreate", &create);
    assert_int_equal(create(&stream, 0), 0);
    return stream;
}

static void capture(void *stream, bool begin)
{
    int (*start)(void *stream, int mode), (*end)(void *stream, void **graph), (*destroy)(void *graph);
    void *graph = NULL;
    put_function(driver, "cuStreamBeginCapture_v2", &start);
    put_function(driver, "cuStreamEndCapture", &end);
    put_function(driver, "cuGraphDestroy", &destroy);
    assert_int_equal(begin ? start(stream, 1) : end(stream, &graph), 0);
    if (graph) assert_int_equal(destroy(graph), 0);
}

static bool find_line(const char *words, char text[1024])
{
    for (int i = 0; gs_torch_why(i, text, 1024); i++)
        if (strstr(text, words)) return true;
    return false;
}

static void ours(void **state)
{
    (void)state;
    char text[1024];
    need_compiler();
    torch->stream = stream_of();
    capture(torch->stream, true);
    assert_non_null(mm(FAKE_TORCH_BF16, 16, 64, 64));   /* no plan is made during a capture */
    assert_int_equal(served(), 0);
    assert_true(find_line("0\t0\t1\tbf16:16x64x64:nn\ttorch\t\tno plan was there", text));
    capture(torch->stream, false);
    assert_non_null(mm(FAKE_TORCH_BF16, 16, 64, 64));
    assert_int_equal(served(), 1);
    capture(torch->stream, true);
    assert_non_null(mm(FAKE_TORCH_BF16, 16, 64, 64));   /* now the plan exists */
    assert_int_equal(served(), 1);
    capture(torch->stream, false);
    assert_true(find_line("0\t2\t1\tbf16:16x64x64:nn\t", text));
    assert_non_null(CALL("gemmsmith", "addmm", H(handle_of(FAKE_TORCH_BF16, 1, 1, SIZE(64))), H(MATRIX(FAKE_TORCH_BF16, 16, 64)), H(MATRIX(FAKE_TORCH_BF16, 64, 64)), number(1), number(0.5)));
    assert_int_equal(served(), 1);
    fake_tensor *const odd = MATRIX(FAKE_TORCH_BF16, 16, 64);   /* torch computes it, unless the kernel supports its alignment */
    odd->data = (char *)odd->data + 2;
    assert_non_null(CALL("aten", "mm", H(odd), H(MATRIX(FAKE_TORCH_BF16, 64, 64))));
    served();
    setenv("FAKE_CUDA_FAIL", "cuLaunchKernelEx", 1);
    assert_non_null(mm(FAKE_TORCH_BF16, 16, 64, 64));   /* the driver fails: torch takes over and may report it */
    unsetenv("FAKE_CUDA_FAIL");
    assert_int_equal(served(), 0);
    torch->fail = "get_current_cuda_stream";
    assert_non_null(mm(FAKE_TORCH_BF16, 16, 64, 64));
    torch->fail = NULL;
    assert_int_equal(served(), 0);
}

static void fused(void **state)
{
    (void)state;
    need_compiler();
    enum { TENSORS = 7 };
    uint64_t stack[TENSORS + 1];
    const fake_torch_kernel run = kernel_of("gemmsmith", "run");
    for (int wrong = 0; wrong < 2; wrong++) {
        void *const all[TENSORS] = {MATRIX(FAKE_TORCH_BF16, 16, 64), MATRIX(FAKE_TORCH_BF16, 16, 64), MATRIX(wrong ? FAKE_TORCH_F32 : FAKE_TORCH_BF16, 64, 64), MATRIX(FAKE_TORCH_BF16, 16, 64),
                                    MATRIX(FAKE_TORCH_BF16, 16, 64), MATRIX(FAKE_TORCH_BF16, 16, 64), MATRIX(FAKE_TORCH_BF16, 16, 64)};
        for (int i = 0; i < TENSORS; i++) stack[i] = H(all[i]);
        stack[TENSORS] = 4 | 1 << 16;   /* silu and a residual */
        run(stack, TENSORS + 1, 1);
        char text[1024];
        if (stack[0] != (uint64_t)!wrong) fail_msg("%s", find_line("silu", text) ? text : "there is no line");
        assert_int_equal(torch->handles, 0);
    }
    launches = last_launch()->count;
}

static const void *tensors_at[3];   /* of the last call: the result and its inputs */

/* Returns whether the kernel was run. */
static bool run_kernel(const char *name, fake_tensor *const all[3], uint64_t stack[], int count)
{
    for (int i = 0; i < 3; i++) {
        stack[i] = H(all[i]);
        tensors_at[i] = all[i]->data;
    }
    kernel_of("gemmsmith", name)(stack, (uint64_t)count, 1);
    assert_int_equal(torch->handles, 0);
    return stack[0] != 0;
}

static bool gate_gradients(int32_t dtype, int64_t rows, int64_t cols, int activation)
{
    fake_tensor *const all[3] = {MATRIX(dtype, rows, 2 * cols), MATRIX(dtype, rows, cols), MATRIX(dtype, rows, 2 * cols)};
    uint64_t stack[4] = {0, 0, 0, (uint64_t)activation};
    return run_kernel("gate_gradients", all, stack, 4);
}

static void gates(void **state)
{
    (void)state;
    need_compiler();
    const int before = last_launch()->count;
    assert_false(gate_gradients(FAKE_TORCH_F32, 24, 40, 4));
    assert_false(gate_gradients(FAKE_TORCH_BF16, 24, 40, 0));
    assert_false(gate_gradients(FAKE_TORCH_BF16, 24, 40, 5));
    assert_false(gate_gradients(FAKE_TORCH_BF16, 0, 40, 4));
    capture(torch->stream, true);
    assert_false(gate_gradients(FAKE_TORCH_BF16, 24, 40, 4));   /* nothing is compiled during a capture */
    capture(torch->stream, false);
    assert_int_equal(last_launch()->count, before);
    setenv("FAKE_CUDA_ARGS", "1", 1);
    assert_true(gate_gradients(FAKE_TORCH_BF16, 24, 44, 4));
    unsetenv("FAKE_CUDA_ARGS");
    const fake_cuda_launch *const l = last_launch();
    assert_int_equal(l->count, before + 1);
    assert_true(l->pointers[3] == tensors_at[0] && l->pointers[2] == tensors_at[1] && l->pointers[0] == tensors_at[2]);
    assert_true(l->grid[0] == 1 && l->grid[1] == 2 && l->grid[2] == 1 && l->block[0] == 8 && l->block[1] == 16);   /* 6 pieces of 16 bytes, 24 rows */
    capture(torch->stream, true);
    assert_true(gate_gradients(FAKE_TORCH_BF16, 300, 8, 4));   /* now it is compiled */
    capture(torch->stream, false);
    assert_true(last_launch()->grid[0] == 1 && last_launch()->grid[1] == 3 && last_launch()->block[0] == 1 && last_launch()->block[1] == 128);
    setenv("FAKE_CUDA_FAIL", "cuLaunchKernelEx", 1);
    assert_false(gate_gradients(FAKE_TORCH_BF16, 24, 40, 4));
    setenv("FAKE_CUDA_FAIL", "cuModuleLoadDataEx", 1);
    assert_false(gate_gradients(FAKE_TORCH_F16, 24, 40, 4));   /* a failed compilation is not repeated */
    unsetenv("FAKE_CUDA_FAIL");
    assert_false(gate_gradients(FAKE_TORCH_F16, 24, 40, 4));
    assert_true(gate_gradients(FAKE_TORCH_F16, 24, 40, 1));
    torch->fail = "get_current_cuda_stream";
    assert_false(gate_gradients(FAKE_TORCH_BF16, 24, 40, 4));
    torch->fail = NULL;
    launches = last_launch()->count;
}

/* Gate kernels by name: those of the test before, and one that is made now. */
static void named_gates(void **state)
{
    (void)state;
    char text[1024];
    need_compiler();
    assert_true(find_line("bf16:gate_gradients:silu", text));
    assert_string_equal(text, "0\t2\t2\tbf16:gate_gradients:silu\tdefault\tgate_gradients\tone kernel for both gradients");
    assert_true(find_line("f16:gate_gradients:silu\ttorch", text));
    assert_int_equal(strncmp(text, "0\t0\t2\tf16", 9), 0);
    assert_false(find_line("gelu_erf", text));
    assert_int_equal(gs_torch_prepare_text(0, "bf16:gate_gradients:gelu_erf", text, sizeof text), GS_OK);
    assert_string_equal(text, "one kernel for both gradients");
    assert_true(find_line("0\t0\t0\tbf16:gate_gradients:gelu_erf\tdefault", text));
    assert_int_equal(gs_torch_prepare_text(0, "f16:gate_gradients:silu", text, sizeof text), GS_OK);
    assert_int_equal(strncmp(text, "torch's own kernels: ", 21), 0);
    assert_int_equal(gs_torch_prepare_text(7, "bf16:gate_gradients:silu", text, sizeof text), GS_OK);   /* no such device */
    assert_int_equal(strncmp(text, "torch's own kernels: ", 21), 0);
    assert_int_equal(gs_torch_prepare_text(99, "bf16:gate_gradients:silu", text, sizeof text), GS_ERROR_RANGE);
    static const char *const wrong[] = {"f32:gate_gradients:silu", "bf16:gate_gradients:dsilu", "bf16:gate_gradients:", ":gate_gradients:silu", "bf16:gate_gradients:silu:g=2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_int_equal(gs_torch_prepare_text(0, wrong[i], text, sizeof text), GS_ERROR_PARSE);
    launches = last_launch()->count;
}

/* what: bit 0 there is a weight, bit 1 the quotient is rounded, bit 2 one is added to the weight. */
static bool rms_norm(int32_t dtype, int64_t rows, int64_t cols, uint64_t what)
{
    fake_tensor *const all[3] = {MATRIX(dtype, rows, cols), MATRIX(dtype, rows, cols), what & 1 ? handle_of(dtype, 1, 1, SIZE(cols)) : MATRIX(dtype, rows, cols)};
    uint64_t stack[5] = {0, 0, 0, number(1e-5), what};
    return run_kernel("rms_norm_run", all, stack, 5);
}

/* One block for each row, one thread for each piece of 16 bytes. */
static void norms(void **state)
{
    (void)state;
    char text[1024];
    need_compiler();
    const int before = last_launch()->count;
    assert_false(rms_norm(FAKE_TORCH_F32, 4, 64, 1));
    assert_false(rms_norm(FAKE_TORCH_BF16, 0, 64, 1));
    capture(torch->stream, true);
    assert_false(rms_norm(FAKE_TORCH_BF16, 4, 64, 1));   /* nothing is compiled during a capture */
    capture(torch->stream, false);
    assert_int_equal(last_launch()->count, before);
    setenv("FAKE_CUDA_ARGS", "1", 1);
    assert_true(rms_norm(FAKE_TORCH_BF16, 4, 520, 1));
    const fake_cuda_launch *const l = last_launch();
    assert_true(l->pointers[3] == tensors_at[0] && l->pointers[0] == tensors_at[1] && l->pointers[1] == tensors_at[2] && l->alpha == 1e-5f);
    assert_true(l->grid[0] == 4 && l->grid[1] == 1 && l->block[0] == 128 && l->block[1] == 1 && !l->dependent);
    assert_true(rms_norm(FAKE_TORCH_BF16, 1, 8000, 0));
    assert_true(last_launch()->pointers[1] == NULL && last_launch()->grid[0] == 1 && last_launch()->block[0] == 1024 && last_launch()->beta == 0);
    assert_true(rms_norm(FAKE_TORCH_BF16, 1, 64, 5));
    assert_true(last_launch()->beta == 1 && last_launch()->block[0] == 32);
    unsetenv("FAKE_CUDA_ARGS");
    assert_true(find_line("bf16:rms_norm\tdefault", text));
    assert_string_equal(text, "0\t3\t1\tbf16:rms_norm\tdefault\trms_norm\tone kernel; in a graph the next one may start before it ends");
    setenv("FAKE_CUDA_FAIL", "cuLaunchKernelEx", 1);
    assert_false(rms_norm(FAKE_TORCH_BF16, 1, 64, 0));
    setenv("FAKE_CUDA_FAIL", "cuModuleLoadDataEx", 1);
    assert_false(rms_norm(FAKE_TORCH_F16, 1, 64, 2));
    unsetenv("FAKE_CUDA_FAIL");
    assert_false(rms_norm(FAKE_TORCH_F16, 1, 64, 2));   /* a failed compilation is not repeated */
    assert_true(rms_norm(FAKE_TORCH_F16, 1, 64, 0));
    torch->fail = "get_current_cuda_stream";
    assert_false(rms_norm(FAKE_TORCH_BF16, 1, 64, 0));
    torch->fail = NULL;
    assert_int_equal(gs_torch_prepare_text(0, "f16:rms_norm:rounded", text, sizeof text), GS_OK);
    assert_int_equal(strncmp(text, "torch's own kernels: ", 21), 0);
    assert_int_equal(gs_torch_prepare_text(0, "bf16:rms_norm:rounded", text, sizeof text), GS_OK);
    assert_string_equal(text, "one kernel; in a graph the next one may start before it ends");
    assert_int_equal(gs_torch_prepare_text(64, "bf16:rms_norm", text, sizeof text), GS_ERROR_RANGE);
    static const char *const wrong[] = {"f32:rms_norm", "bf16:rms_norm:", ":rms_norm", "bf16:rms_norm:rounded:"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_int_equal(gs_torch_prepare_text(0, wrong[i], text, sizeof text), GS_ERROR_PARSE);
    launches = last_launch()->count;
}

/* In a captured stream, a launch after a norm starts early, and so does a norm after a launch that allows it; after anything else neither does. */
static void norms_in_chains(void **state)
{
    (void)state;
    need_compiler();
    assert_true(rms_norm(FAKE_TORCH_BF16, 1, 64, 0));
    assert_int_equal(last_launch()->dependent, 0);   /* the preceding launch is unknown */
    capture(torch->stream, true);
    assert_true(rms_norm(FAKE_TORCH_BF16, 1, 64, 0));
    assert_int_equal(last_launch()->dependent, 0);
    assert_true(rms_norm(FAKE_TORCH_BF16, 1, 64, 0));
    assert_int_equal(last_launch()->dependent, 1);
    assert_true(gate_gradients(FAKE_TORCH_F16, 24, 40, 1));   /* this kernel does not let the next one start early */
    assert_int_equal(last_launch()->dependent, 0);
    assert_true(rms_norm(FAKE_TORCH_BF16, 1, 64, 0));
    assert_int_equal(last_launch()->dependent, 0);
    capture(torch->stream, false);
    launches = last_launch()->count;
}

static void prepared(void **state)
{
    (void)state;
    char text[1024];
    need_compiler();
    assert_int_equal(gs_torch_prepare_text(0, "bf16:32x64x64:tn", text, sizeof text), GS_OK);
    assert_non_null(strstr(text, "choice"));
    assert_int_equal(gs_torch_prepare_text(0, "bf16:32x64x64:tn", text, sizeof text), GS_OK);
    assert_int_equal(gs_torch_prepare_text(0, "bf16:0x64x64:tn", text, sizeof text), GS_OK);   /* an empty product is left to torch */
    assert_non_null(strstr(text, "torch's own kernel: "));
    assert_int_not_equal(gs_torch_prepare_text(0, "bf16:32x64x64:tn:acc=f16", text, sizeof text), GS_OK);
    assert_int_not_equal(gs_torch_prepare_text(99, "bf16:32x64x64:tn", text, sizeof text), GS_OK);
    assert_int_not_equal(gs_torch_prepare_text(0, "nonsense", text, sizeof text), GS_OK);
    assert_int_equal(gs_torch_prepare_text(7, "bf16:32x64x64:tn", text, sizeof text), GS_OK);   /* no such device */
    assert_non_null(strstr(text, "torch's own kernel: cuda:7: the driver sees 1 device"));
    for (int64_t m = 40; m < 48; m++) assert_non_null(mm(FAKE_TORCH_BF16, m, 64, 64));
    assert_true(find_line("limit of plans", text));
    launches = last_launch()->count, products = torch->products;
}

static atomic_bool waiting, inside;

static void *enter_stage(void *unused)
{
    waiting = true;
    gs_torch_stage(true);
    inside = true;
    gs_torch_stage(false);
    return unused;
}

static void stage_for_one_thread(void **state)
{
    (void)state;
    pthread_t thread;
    gs_torch_stage(true);
    assert_int_equal(pthread_create(&thread, NULL, enter_stage, NULL), 0);
    while (!waiting) usleep(1000);
    for (int i = 0; i < 100 && !inside; i++) usleep(1000);
    const bool both = inside;
    gs_torch_stage(false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(both);
    assert_true(inside);
}

static void forked(void **state)
{
    (void)state;
    need_compiler();
    const pid_t child = test_fork();
    if (child == 0) {
        const int before = torch->products;
        const bool good = mm(FAKE_TORCH_BF16, 16, 64, 64) && mm(FAKE_TORCH_BF16, 17, 65, 66) && torch->products == before + 2;
        _exit(good ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_non_null(mm(FAKE_TORCH_BF16, 16, 64, 64));
    assert_int_equal(served(), 1);
}

static void unloading(void **state)
{
    (void)state;
    char text[512];
    torch->fail = "delete_library_object";
    assert_int_equal(gs_torch_route(0, text, sizeof text), GS_ERROR_LIBRARY);
    torch->fail = NULL;
    assert_int_equal(gs_torch_route(0, text, sizeof text), GS_OK);
    assert_int_equal(gs_torch_route(0, text, sizeof text), GS_OK);
    assert_null(kernel_of("aten", "mm"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_to_load), cmocka_unit_test(loading), cmocka_unit_test(passed_on), cmocka_unit_test(raised), cmocka_unit_test(ours),
                                       cmocka_unit_test(fused), cmocka_unit_test(gates), cmocka_unit_test(named_gates), cmocka_unit_test(norms), cmocka_unit_test(norms_in_chains), cmocka_unit_test(prepared), cmocka_unit_test(stage_for_one_thread), cmocka_unit_test(forked), cmocka_unit_test(unloading)};
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
