/* SPDX-License-Identifier: MIT
 * Sequences on a fake driver: which launches are dependent, what a change does to the nodes of the graph and what it costs, plans of cuBLASLt, drivers that know less,
 * and every call and every allocation that fails. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <gemmsmith/gemmsmith.h>

#include "allocations.h"
#include "base/error.h"
#include "device/device.h"
#include "fake/opened.h"
#include "folder.h"
#include "fork.h"
#include "plan/plan_internal.h"

#define OLD GS_BINARY_DIR "/tests/fake/libfake_cuda_old.so"

static char     folder[] = "/tmp/gemmsmith-sequence-XXXXXX";
static char     operand[1 << 17] __attribute__((aligned(256)));
static gs_error error;

#define OK(call)                                                                  \
    do {                                                                          \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)

static int (*fill)(unsigned long long to, unsigned value, size_t count, void *stream);   /* the driver's */

static void (**library_hook)(int algorithm, void *stream);

/* What the fake cuBLASLt leaves on a stream, as library_hook. */
static void library_work(int algorithm, void *stream)
{
    (void)algorithm;
    if (stream) fill((uintptr_t)operand, 0, 1, stream);
}

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    setenv("GEMMSMITH_CUBLASLT", GS_BINARY_DIR "/tests/fake/libfake_cublaslt.so", 1);
    setenv("GEMMSMITH_TUNED", folder, 1);
    setenv("GEMMSMITH_CACHE", folder, 1);
    setenv("FAKE_CUDA_NAME", "NVIDIA H200", 1);
    setenv("FAKE_CUBLASLT", "66:0 24:0", 1);
    put_function(open_fake(), "cuMemsetD32Async", &fill);
    void *const library = dlopen(getenv("GEMMSMITH_CUBLASLT"), RTLD_NOW | RTLD_LOCAL);
    if (!library) return -1;
    put_function(library, "fake_cublaslt_hook", &library_hook);
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    return remove_all(folder);
}

static void need_compiler(void)
{
    if (gs_compiler_version(&error) == 0) skip();
}

static gs_context *open_context(int dependent)
{
    gs_config config = gs_config_default();
    gs_context *context = NULL;
    config.dependent = dependent;
    OK(gs_open(&context, &config, &error));
    return context;
}

/* Plans of one problem: of kernels without and with tensor maps, of two launches, of cuBLASLt, and of a problem with nothing to compute. */
enum { SIMPLE, MAPS, PACKED, LIBRARY, EMPTY, PLANS };

typedef struct work {
    gs_context  *context;
    gs_plan     *plan[PLANS];
    gs_sequence *sequence;
} work;

static work begin(int dependent)
{
    static const char *const schedules[] = {[SIMPLE] = "simple", [MAPS] = "ws/128x128x64/s4/c1x1/coop/g8", [PACKED] = "ws/128x128x64/s4/c1x1/coop/g8/pack", [LIBRARY] = "cublaslt"};
    work w = {.context = open_context(dependent)};
    for (int i = 0; i < PLANS; i++) {
        const gs_problem p = i == EMPTY ? gs_problem_make(GS_F16, GS_TN, 0, 8, 8) : i == PACKED ? gs_problem_make(GS_F16, GS_TN, 64, 64, 65) : gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
        if (i == EMPTY) OK(gs_plan_create(w.context, &p, &w.plan[i], &error));
        else OK(gs_plan_create_schedule(w.context, &p, schedules[i], &w.plan[i], &error));
    }
    OK(gs_sequence_create(w.context, &w.sequence, &error));
    return w;
}

static void end(work *w)
{
    gs_sequence_destroy(&w->sequence);
    for (int i = 0; i < PLANS; i++) gs_plan_destroy(&w->plan[i]);
    gs_close(&w->context);
    assert_int_equal(live(), 0);
}

/* The operands of a member, at a place of their own. */
static gs_args args_at(int place)
{
    char *const at = operand + place * 256;
    return gs_args_make(at, at + 32768, NULL, at + 65536);
}

static int add(const work *w, int plan, int place)
{
    const gs_args args = args_at(place);
    int index = -1;
    OK(gs_sequence_add(w->sequence, w->plan[plan], &args, &index, &error));
    return index;
}

static gs_status filling_call(void *self, gs_stream stream)
{
    (void)self;
    return fill((uintptr_t)operand, 0, 1, stream) == 0 ? GS_OK : GS_ERROR_DEVICE;
}

/* Puts nothing on the stream. */
static gs_status silent_call(void *self, gs_stream stream)
{
    int *const calls_so_far = self;
    (void)stream;
    if (calls_so_far) ++*calls_so_far;
    return GS_OK;
}

/* ---- which launches are dependent ---- */

/* Builds members by letters: s, m, p, l, e as the plans above, c a call, n one that puts nothing on the stream. Expects for each member whether it is dependent (1), and returns the edges of the graph. */
static int edges_of(work *w, const char *members, const char *dependent)
{
    static const char letters[] = "smple";
    gs_sequence_destroy(&w->sequence);
    OK(gs_sequence_create(w->context, &w->sequence, &error));
    for (const char *at = members; *at; at++) {
        if (*at == 'c' || *at == 'n') OK(gs_sequence_add_call(w->sequence, *at == 'c' ? filling_call : silent_call, NULL, &error));
        else add(w, (int)(strchr(letters, *at) - letters), 0);
    }
    for (int i = 0; members[i]; i++) assert_false(gs_sequence_dependent(w->sequence, i));   /* nothing was captured yet */
    OK(gs_sequence_build(w->sequence, &error));
    for (int i = 0; members[i]; i++)
        if (gs_sequence_dependent(w->sequence, i) != dependent[i] - '0') fail_msg("%s: member %d is%s dependent", members, i, dependent[i] == '0' ? "" : " not");
    assert_false(gs_sequence_dependent(w->sequence, (int)strlen(members)));
    assert_false(gs_sequence_dependent(w->sequence, -1));
    return last_launch()->edges;
}

static void dependent_behind_own_kernels_alone(void **state)
{
    (void)state;
    need_compiler();
    *library_hook = library_work;
    for (int dependent = -1; dependent <= 1; dependent++) {
        work w = begin(dependent);
        if (dependent < 0) {
            assert_int_equal(edges_of(&w, "smspms", "000000"), 0);
        } else {   /* the switch of the device is for launches of their own */
            assert_int_equal(edges_of(&w, "s", "0"), 0);
            assert_int_equal(edges_of(&w, "sms", "011"), 2);
            assert_int_equal(edges_of(&w, "smcsm", "01001"), 2);
            assert_int_equal(edges_of(&w, "smnsm", "01011"), 3);
            assert_int_equal(edges_of(&w, "cs", "00"), 0);
            assert_int_equal(edges_of(&w, "lslsm", "00001"), 1);
            assert_int_equal(edges_of(&w, "esem", "0001"), 1);   /* a plan that launches nothing is not in between */
            assert_int_equal(edges_of(&w, "p", "0"), 1);         /* its second launch is behind its first */
            assert_int_equal(edges_of(&w, "ps", "01"), 2);
            assert_int_equal(edges_of(&w, "clp", "000"), 1);
        }
        end(&w);
    }
    *library_hook = NULL;
}

/* Kernels whose manifests allow no dependent launch, or only of some: also of a chain within one kernel. */
static void kernels_that_allow_it(void **state)
{
    (void)state;
    need_compiler();
    static const struct { bool before, allows[2], dependent; gs_predecessor next; int edges; } cases[] = {
        {true, {true, true}, true, GS_PREDECESSOR_TRIGGERS, 1}, {true, {false, true}, false, GS_PREDECESSOR_TRIGGERS, 0}, {true, {true, false}, true, GS_PREDECESSOR_ENDS, 0},
        {false, {true, true}, false, GS_PREDECESSOR_TRIGGERS, 1}, {true, {false, false}, false, GS_PREDECESSOR_ENDS, 0},
    };
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 128, 64, 33);
    gs_device *device;
    OK(gs_device_open(&device, "cuda:0", folder, &error));
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_kernel kernel = {.name = "k.cu", .source = "#include \"common/args.h\"\nextern \"C\" __global__ void k(gs_kernel_args) {}", .manifest = {.accumulator = GS_F32, .align = {2, 2, 2, 2}, .entry_count = 2}};
        for (int j = 0; j < 2; j++) kernel.manifest.entry[j] = (gs_entry){.name = "k", .grid = {{"1"}, {"1"}, {"1"}}, .block = {32, 1, 1}, .cluster = {1, 1, 1}, .dependent = cases[i].allows[j]};
        const gs_args args = args_at(0);
        gs_loaded *loaded;
        gs_captured captured;
        gs_queue queue;
        gs_graph graph;
        OK(gs_loaded_create(&loaded, device, &kernel, &problem, &error));
        OK(device->ops->queue_create(device, &queue, &error));
        OK(device->ops->capture_begin(device, queue, &error));
        assert_int_equal(device->ops->predecessor(device, queue), GS_PREDECESSOR_ENDS);   /* nothing is there */
        if (cases[i].before) OK(device->ops->fill(device, (gs_pointer)(uintptr_t)operand, 0, 4, queue, &error));
        if (cases[i].before) device->ops->triggers(device, queue);   /* as a kernel that does would have it said */
        OK(gs_loaded_capture(loaded, &args, NULL, true, queue, &captured, &error));
        const gs_predecessor next = device->ops->predecessor(device, queue);
        OK(device->ops->capture_end(device, queue, &graph, &error));
        assert_int_equal(device->ops->predecessor(device, queue), GS_PREDECESSOR_UNKNOWN);   /* no longer captured */
        if (captured.dependent != cases[i].dependent || next != cases[i].next || last_launch()->edges != cases[i].edges) fail_msg("case %zu: %d %d %d", i, captured.dependent, next, last_launch()->edges);
        assert_true(captured.changeable && captured.node[0] && captured.node[1] && captured.node[0] != captured.node[1]);
        device->ops->graph_destroy(device, graph);
        device->ops->queue_destroy(device, queue);
        gs_loaded_destroy(&loaded);
    }
    gs_device_close(&device);
    assert_int_equal(live(), 0);
}

static void single_launches_keep_the_devices_mode(void **state)
{
    (void)state;
    need_compiler();
    const gs_args args = args_at(0);
    work w = begin(1);
    assert_int_equal(edges_of(&w, "s", "0"), 0);
    assert_int_equal(gs_plan_run(w.plan[SIMPLE], &args, NULL), GS_OK);
    assert_true(last_launch()->dependent);
    end(&w);
    w = begin(0);
    assert_int_equal(edges_of(&w, "ss", "01"), 1);
    assert_int_equal(gs_plan_run(w.plan[SIMPLE], &args, NULL), GS_OK);
    assert_false(last_launch()->dependent);
    end(&w);
}

/* ---- changes ---- */

static void launched(const work *w, int count)
{
    const fake_cuda_launch *seen;
    assert_int_equal(gs_sequence_launch(w->sequence, NULL), GS_OK);
    assert_int_equal(replayed(&seen), count);
}

static void expect_operands(int node, int place, float alpha)
{
    const fake_cuda_launch *seen;
    const gs_args args = args_at(place);
    assert_in_range(node, 0, replayed(&seen) - 1);
    assert_ptr_equal(seen[node].pointers[0], args.a);
    assert_ptr_equal(seen[node].pointers[1], args.b);
    assert_ptr_equal(seen[node].pointers[3], args.d);
    assert_true(seen[node].alpha == alpha);
}

static void nodes_are_changed(void **state)
{
    (void)state;
    need_compiler();
    setenv("FAKE_CUDA_ARGS", "1", 1);
    work w = begin(0);
    const float half = 0.5f;
    const fake_cuda_launch *seen;
    add(&w, SIMPLE, 1);
    add(&w, SIMPLE, 2);
    OK(gs_sequence_add_call(w.sequence, silent_call, NULL, &error));
    add(&w, SIMPLE, 3);
    OK(gs_sequence_build(w.sequence, &error));
    launched(&w, 3);
    for (int i = 0; i < 3; i++) expect_operands(i, i + 1, 1);
    const int before = allocations, memory = calls("cuMemAlloc_v2"), captures = calls("cuStreamBeginCapture_v2"), launches = last_launch()->count, changes = calls("cuGraphExecKernelNodeSetParams_v2");
    assert_true(before > 0);   /* the counter counts */
    gs_args args = args_at(7);
    args.alpha = &half;
    OK(gs_sequence_set(w.sequence, 1, &args, &error));
    for (int i = 0; i < 10; i++) launched(&w, 3);
    expect_operands(0, 1, 1);
    expect_operands(1, 7, 0.5f);
    expect_operands(2, 3, 1);
    args.alpha = NULL;
    args.workspace = operand;
    OK(gs_sequence_set(w.sequence, 3, &args, &error));
    launched(&w, 3);
    expect_operands(1, 7, 0.5f);
    expect_operands(2, 7, 1);
    replayed(&seen);
    assert_ptr_equal(seen[2].pointers[4], operand);
    assert_true(!seen[0].dependent && seen[1].dependent && seen[2].dependent);   /* as captured: the call put nothing in between */
    assert_int_equal(calls("cuGraphExecKernelNodeSetParams_v2"), changes + 2);
    assert_int_equal(allocations, before);   /* neither launches nor changes of our kernels allocate, capture or launch */
    assert_int_equal(calls("cuMemAlloc_v2"), memory);
    assert_int_equal(calls("cuStreamBeginCapture_v2"), captures);
    assert_int_equal(last_launch()->count, launches);
    end(&w);
    unsetenv("FAKE_CUDA_ARGS");
}

static void maps_are_encoded_anew(void **state)
{
    (void)state;
    need_compiler();
    setenv("FAKE_CUDA_MAPS", "3", 1);
    work w = begin(0);
    const fake_cuda_launch *seen;
    add(&w, MAPS, 1);
    OK(gs_sequence_build(w.sequence, &error));
    const gs_args args = args_at(5);
    const int before = allocations;
    OK(gs_sequence_set(w.sequence, 0, &args, &error));
    assert_int_equal(allocations, before);
    launched(&w, 1);
    replayed(&seen);
    assert_ptr_equal(seen[0].addresses[0], args.a);
    assert_ptr_equal(seen[0].addresses[1], args.b);
    assert_ptr_equal(seen[0].addresses[2], args.d);
    unsetenv("FAKE_CUDA_MAPS");
    end(&w);
}

/* cuBLASLt's launches are not ours: its member makes the sequence capture anew, with what the others have by now. */
static void members_of_cublaslt(void **state)
{
    (void)state;
    need_compiler();
    setenv("FAKE_CUDA_ARGS", "1", 1);
    work w = begin(0);
    int called = 0;
    add(&w, SIMPLE, 1);
    OK(gs_sequence_add_call(w.sequence, silent_call, &called, &error));
    const int library = add(&w, LIBRARY, 2);
    add(&w, SIMPLE, 3);
    OK(gs_sequence_build(w.sequence, &error));
    gs_args args = args_at(6);
    OK(gs_sequence_set(w.sequence, 0, &args, &error));
    const int alive = live(), captures = calls("cuStreamBeginCapture_v2");
    args = args_at(8);
    OK(gs_sequence_set(w.sequence, library, &args, &error));
    assert_int_equal(calls("cuStreamBeginCapture_v2"), captures + 1);
    assert_int_equal(called, 2);
    assert_int_equal(live(), alive);
    launched(&w, 2);
    expect_operands(0, 6, 1);
    expect_operands(1, 3, 1);
    args = args_at(9);
    OK(gs_sequence_set(w.sequence, 3, &args, &error));   /* the nodes are those of the new capture */
    launched(&w, 2);
    expect_operands(1, 9, 1);
    end(&w);
    unsetenv("FAKE_CUDA_ARGS");
}

static void not_while_a_stream_is_captured(void **state)
{
    (void)state;
    need_compiler();
    work w = begin(0);
    gs_args args = args_at(1);
    const int library = add(&w, LIBRARY, 0), own = add(&w, SIMPLE, 0);
    setenv("FAKE_CUDA_CAPTURED", "1", 1);
    assert_int_equal(gs_sequence_build(w.sequence, &error), GS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "a stream is being captured"));
    unsetenv("FAKE_CUDA_CAPTURED");
    OK(gs_sequence_build(w.sequence, &error));
    setenv("FAKE_CUDA_CAPTURED", "1", 1);
    assert_int_equal(gs_sequence_set(w.sequence, library, &args, &error), GS_ERROR_ARGUMENT);
    OK(gs_sequence_set(w.sequence, own, &args, &error));
    assert_int_equal(gs_sequence_launch(w.sequence, NULL), GS_ERROR_ARGUMENT);
    unsetenv("FAKE_CUDA_CAPTURED");
    assert_int_equal(gs_sequence_launch(w.sequence, NULL), GS_OK);
    end(&w);
}

/* A call that waits for the stream spoils the capture; that is said, and nothing is left. */
static gs_status call_that_waits(void *self, gs_stream stream)
{
    gs_device *const device = ((const work *)self)->context->device;
    device->ops->queue_wait(device, stream, NULL);
    return GS_OK;
}

static void spoilt_captures(void **state)
{
    (void)state;
    need_compiler();
    for (int behind = 0; behind < 2; behind++) {   /* a member is behind the call, or nothing is */
        work w = begin(0);
        add(&w, SIMPLE, 0);
        OK(gs_sequence_add_call(w.sequence, call_that_waits, &w, &error));
        if (behind) add(&w, SIMPLE, 0);
        const int alive = live();
        assert_int_equal(gs_sequence_build(w.sequence, &error), GS_ERROR_DEVICE);
        if (behind) assert_non_null(strstr(error.text, "member 2: the capture has been spoilt"));
        assert_int_equal(live(), alive);
        end(&w);
    }
}

/* ---- drivers that know less ---- */

/* In a process of its own, since a driver is loaded once: exits with the number of the first line that is not as it should be. */
#define CHECK(condition)                   \
    do {                                   \
        if (!(condition)) _exit(__LINE__ % 251 + 1); \
    } while (0)

static void child(bool changeable, int dependent)
{
    static const gs_args first = {.size = sizeof first, .a = operand, .b = operand + 256, .d = operand + 512};
    const gs_problem p = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    gs_args args = first;
    gs_context *context;
    gs_plan *plan;
    gs_sequence *sequence;
    int called = 0;
    CHECK(gs_open(&context, NULL, NULL) == GS_OK);
    CHECK(gs_plan_create_schedule(context, &p, "simple", &plan, NULL) == GS_OK);
    CHECK(gs_sequence_create(context, &sequence, NULL) == GS_OK);
    CHECK(gs_sequence_add_call(sequence, silent_call, &called, NULL) == GS_OK);
    for (int i = 0; i < 2; i++) CHECK(gs_sequence_add(sequence, plan, &args, NULL, NULL) == GS_OK);
    CHECK(gs_sequence_build(sequence, NULL) == GS_OK && called == 1);
    CHECK(gs_sequence_dependent(sequence, 2) == dependent);
    args.a = operand + 1024;
    CHECK(gs_sequence_set(sequence, 1, &args, NULL) == GS_OK && called == (changeable ? 1 : 2));
    CHECK(gs_sequence_launch(sequence, NULL) == GS_OK);
    gs_sequence_destroy(&sequence);
    gs_plan_destroy(&plan);
    gs_close(&context);
    _exit(0);
}

static void drivers_that_know_less(void **state)
{
    (void)state;
    static const struct { const char *library, *version, *cc; bool changeable; int dependent; } cases[] = {
        {FAKE, "13000", "90", true, 1}, {FAKE, "12030", "90", true, 1}, {FAKE, "12020", "90", true, 0}, {FAKE, "13000", "80", true, 0}, {OLD, "12000", "90", false, 0},
    };
    need_compiler();
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        int status = 0;
        const pid_t pid = test_fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            setenv("GEMMSMITH_LIBCUDA", cases[i].library, 1);
            setenv("FAKE_CUDA_VERSION", cases[i].version, 1);
            setenv("FAKE_CUDA_CC", cases[i].cc, 1);
            child(cases[i].changeable, cases[i].dependent);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("case %zu: status %#x", i, (unsigned)status);
    }
}

/* ---- failures ---- */

static void every_call_of_build_may_fail(void **state)
{
    (void)state;
    static const char *const failing[] = {"cuCtxGetCurrent", "cuStreamIsCapturing", "cuStreamBeginCapture_v2", "cuTensorMapEncodeTiled", "cuLaunchKernelEx", "cuStreamGetCaptureInfo_v3", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"};
    need_compiler();
    work w = begin(0);
    add(&w, SIMPLE, 1);
    add(&w, MAPS, 2);
    add(&w, PACKED, 3);
    const int alive = live();
    for (size_t i = 0; i < GS_COUNT(failing); i++) {
        int failures = 0;
        for (int nth = 1; nth < 40; nth++) {
            char text[64];
            snprintf(text, sizeof text, "%s:%d", failing[i], nth);
            setenv("FAKE_CUDA_FAIL", text, 1);
            const int before = calls(failing[i]);
            const gs_status status = gs_sequence_build(w.sequence, &error);
            const bool failed = calls(failing[i]) - before >= nth;
            unsetenv("FAKE_CUDA_FAIL");
            assert_int_equal(gs_sequence_launch(w.sequence, NULL), status == GS_OK ? GS_OK : GS_ERROR_ARGUMENT);
            if (status == GS_OK && !failed) break;
            if (status == GS_OK) {   /* it was not known what stands before, so a launch was plain */
                gs_sequence_destroy(&w.sequence);
                OK(gs_sequence_create(w.context, &w.sequence, &error));
                for (int j = 0; j < 3; j++) add(&w, j, 30 + nth);
                continue;
            }
            failures++;
            assert_int_equal(status, GS_ERROR_DEVICE);
            assert_int_equal(live(), alive);
        }
        if (failures == 0) fail_msg("%s fails nothing", failing[i]);
        gs_sequence_destroy(&w.sequence);   /* built by now: another one, with maps that were not encoded yet */
        OK(gs_sequence_create(w.context, &w.sequence, &error));
        add(&w, SIMPLE, 1);
        add(&w, MAPS, 10 + (int)i);
        add(&w, PACKED, 20 + (int)i);
    }
    end(&w);
}

static void every_call_of_create_and_launch_may_fail(void **state)
{
    (void)state;
    static const struct { const char *call; gs_status status; } launching[] = {{"cuStreamIsCapturing", GS_ERROR_DEVICE}, {"cuGraphLaunch", GS_ERROR_DEVICE}};
    need_compiler();
    work w = begin(0);
    gs_sequence *other = (gs_sequence *)&w;
    const int alive = live();
    setenv("FAKE_CUDA_FAIL", "cuStreamCreate", 1);
    assert_int_equal(gs_sequence_create(w.context, &other, &error), GS_ERROR_DEVICE);
    unsetenv("FAKE_CUDA_FAIL");
    assert_null(other);
    assert_int_equal(live(), alive);
    add(&w, SIMPLE, 1);
    OK(gs_sequence_build(w.sequence, &error));
    for (size_t i = 0; i < GS_COUNT(launching); i++) {
        setenv("FAKE_CUDA_FAIL", launching[i].call, 1);
        assert_int_equal(gs_sequence_launch(w.sequence, NULL), launching[i].status);
        unsetenv("FAKE_CUDA_FAIL");
        assert_int_equal(gs_sequence_launch(w.sequence, NULL), GS_OK);
    }
    end(&w);
}

static void changes_may_fail(void **state)
{
    (void)state;
    need_compiler();
    setenv("FAKE_CUDA_ARGS", "1", 1);
    work w = begin(0);
    gs_args args = args_at(4);
    add(&w, SIMPLE, 1);
    const int library = add(&w, LIBRARY, 2);
    OK(gs_sequence_build(w.sequence, &error));
    setenv("FAKE_CUDA_FAIL", "cuGraphExecKernelNodeSetParams_v2:1", 1);
    assert_int_equal(gs_sequence_set(w.sequence, 0, &args, &error), GS_ERROR_DEVICE);
    assert_non_null(strstr(error.text, "cuGraphExecKernelNodeSetParams"));
    unsetenv("FAKE_CUDA_FAIL");
    launched(&w, 1);
    expect_operands(0, 1, 1);   /* those of before */
    setenv("FAKE_CUDA_FAIL", "cuGraphInstantiateWithFlags", 1);
    const int alive = live();
    assert_int_equal(gs_sequence_set(w.sequence, library, &args, &error), GS_ERROR_DEVICE);
    unsetenv("FAKE_CUDA_FAIL");
    assert_int_equal(live(), alive);
    launched(&w, 1);
    expect_operands(0, 1, 1);
    setenv("FAKE_CUDA_FAIL", "cuGraphExecKernelNodeSetParams_v2", 1);   /* the way back fails too */
    assert_int_equal(gs_sequence_set(w.sequence, 0, &args, &error), GS_ERROR_DEVICE);
    unsetenv("FAKE_CUDA_FAIL");
    assert_int_equal(gs_sequence_launch(w.sequence, NULL), GS_ERROR_ARGUMENT);
    OK(gs_sequence_build(w.sequence, &error));
    launched(&w, 1);
    expect_operands(0, 1, 1);
    unsetenv("FAKE_CUDA_ARGS");
    end(&w);
}

/* Of two launches the second is not changed: the first is changed back. */
static void half_a_change_is_undone(void **state)
{
    (void)state;
    need_compiler();
    work w = begin(0);
    const fake_cuda_launch *seen;
    gs_args args = args_at(4);
    add(&w, PACKED, 1);
    OK(gs_sequence_build(w.sequence, &error));
    setenv("FAKE_CUDA_FAIL", "cuGraphExecKernelNodeSetParams_v2:2", 1);
    const int changes = calls("cuGraphExecKernelNodeSetParams_v2");
    assert_int_equal(gs_sequence_set(w.sequence, 0, &args, &error), GS_ERROR_DEVICE);
    unsetenv("FAKE_CUDA_FAIL");
    assert_int_equal(calls("cuGraphExecKernelNodeSetParams_v2"), changes + 4);
    assert_int_equal(gs_sequence_launch(w.sequence, NULL), GS_OK);
    assert_int_equal(replayed(&seen), 2);
    OK(gs_sequence_set(w.sequence, 0, &args, &error));
    end(&w);
}

/* Each allocation fails once. The driver's own are not counted. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    need_compiler();
    work w = begin(0);
    gs_sequence *other = NULL;
    const gs_args args = args_at(0);
    fail_at = 1;
    assert_int_equal(gs_sequence_create(w.context, &other, &error), GS_ERROR_MEMORY);
    assert_null(other);
    fail_at = 1;
    assert_int_equal(gs_sequence_add(w.sequence, w.plan[SIMPLE], &args, NULL, &error), GS_ERROR_MEMORY);
    for (int i = 0; i < 8; i++) add(&w, SIMPLE, i);
    fail_at = 1;
    assert_int_equal(gs_sequence_add_call(w.sequence, silent_call, NULL, &error), GS_ERROR_MEMORY);
    fail_at = 1;
    assert_int_equal(gs_sequence_build(w.sequence, &error), GS_ERROR_MEMORY);
    fail_at = 0;
    OK(gs_sequence_build(w.sequence, &error));
    launched(&w, 8);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_that_know_less),   /* first: this process has loaded no driver */
        cmocka_unit_test(dependent_behind_own_kernels_alone), cmocka_unit_test(kernels_that_allow_it), cmocka_unit_test(single_launches_keep_the_devices_mode), cmocka_unit_test(nodes_are_changed),
        cmocka_unit_test(maps_are_encoded_anew), cmocka_unit_test(members_of_cublaslt), cmocka_unit_test(not_while_a_stream_is_captured), cmocka_unit_test(spoilt_captures),
        cmocka_unit_test(every_call_of_build_may_fail), cmocka_unit_test(every_call_of_create_and_launch_may_fail), cmocka_unit_test(changes_may_fail),
        cmocka_unit_test(half_a_change_is_undone), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("sequence/driver", tests, group_setup, group_teardown);
}
