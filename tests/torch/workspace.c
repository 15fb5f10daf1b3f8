/* SPDX-License-Identifier: MIT
 * Each stream and each captured graph has its own workspace; a capture takes a spare one and allocates nothing; and what happens when no spare one is left. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "device/device.h"
#include "fake/opened.h"
#include "torch/workspace.h"

static gs_device *device;

static int setup(void **state)
{
    (void)state;
    setenv("GEMMSMITH_LIBCUDA", FAKE, 1);
    open_fake();
    return gs_device_open(&device, "cuda:0", "", NULL) == GS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    gs_device_close(&device);
    return 0;
}

/* Never freed: the adapter keeps a list of all of them. */
static gs_torch_workspaces *made(void)
{
    static gs_torch_workspaces *kept[4];
    static int count;
    gs_error error = {0};
    gs_torch_workspaces **const all = &kept[count++];
    assert_int_equal(gs_torch_workspaces_create(all, device, 1000, &error), GS_OK);
    return *all;
}

static bool take(gs_torch_workspaces *all, uintptr_t stream, uint64_t capture, void **out)
{
    if (!gs_torch_workspaces_take(all, (gs_stream)stream, capture, out)) return false;
    gs_torch_workspaces_leave(all);
    return true;
}

static void apart(void **state)
{
    (void)state;
    void *eager, *graph, *branch, *other, *again;
    size_t before, after, total;
    assert_int_equal(device->ops->memory_info(device, &before, &total, NULL), GS_OK);
    gs_torch_workspaces *const all = made();
    assert_int_equal(device->ops->memory_info(device, &after, &total, NULL), GS_OK);
    assert_int_equal(before - after, 1024);   /* 1000 bytes are rounded up */
    assert_true(take(all, 1, 0, &eager));
    assert_null(eager);   /* the plan's own workspace */
    const int allocations = calls("cuMemAlloc_v2");
    assert_true(take(all, 1, 7, &graph));
    assert_int_equal(calls("cuMemAlloc_v2"), allocations);
    assert_non_null(graph);
    assert_true(take(all, 1, 7, &again));
    assert_ptr_equal(again, graph);
    assert_false(take(all, 2, 7, &branch));   /* another stream of the same graph, but no spare workspace */
    assert_true(take(all, 1, 0, &again));     /* a call outside the capture makes a spare one */
    assert_null(again);
    assert_int_equal(calls("cuMemAlloc_v2"), allocations + 1);
    assert_true(take(all, 2, 7, &branch));
    assert_ptr_not_equal(branch, graph);
    assert_true(take(all, 2, 0, &other));
    assert_ptr_not_equal(other, branch);
    assert_ptr_not_equal(other, graph);
    assert_non_null(other);
}

static void full(void **state)
{
    (void)state;
    void *out;
    int streams = 0;
    gs_torch_workspaces *const all = made();
    while (streams < 100 && take(all, (uintptr_t)streams + 1, 0, &out)) streams++;
    assert_int_equal(streams, GS_TORCH_PLACES);
    assert_true(take(all, 1, 0, &out));
    assert_false(take(all, 1, 9, &out));
}

static void failures(void **state)
{
    (void)state;
    void *out;
    gs_error error = {0};
    gs_torch_workspaces *all = NULL;
    const char *const wrong[] = {"cuMemAlloc_v2", "cuMemsetD32Async", "cuStreamSynchronize"};
    for (int i = 0; i < 3; i++) {
        const int before = live();
        setenv("FAKE_CUDA_FAIL", wrong[i], 1);
        assert_int_not_equal(gs_torch_workspaces_create(&all, device, 1000, &error), GS_OK);
        unsetenv("FAKE_CUDA_FAIL");
        assert_null(all);
        assert_int_equal(live(), before);
    }
    all = made();
    assert_true(take(all, 1, 5, &out));
    assert_true(take(all, 2, 5, &out));
    setenv("FAKE_CUDA_FAIL", "cuMemAlloc_v2", 1);
    assert_false(take(all, 3, 0, &out));
    unsetenv("FAKE_CUDA_FAIL");
    assert_true(take(all, 3, 0, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(apart), cmocka_unit_test(full), cmocka_unit_test(failures)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
