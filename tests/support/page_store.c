/* SPDX-License-Identifier: MIT
 * Writes the store from which tests/report/page.py makes a report. Its times are formulas of the sizes, which the test computes too.
 * page_store STORE */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "evaluate/environment.h"
#include "store/store.h"

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if ((call) != GS_OK) return fprintf(stderr, "page_store: line %d: %s\n", __LINE__, error.text), 1; \
    } while (0)

static const int extents[] = {64, 1024, 8192};
static gs_error error;

static gs_session begin(const char *device, int cublaslt)
{
    return (gs_session){.command = "tune --secret", .version = "0.1.0+feed", .commit = "c0ffee", .device = device, .cc = 90, .sms = 132, .driver = 13000,
                        .cublaslt = cublaslt, .nvrtc = 12090};
}

/* A result for every size: our speedup over cuBLASLt is 1.5 ... 0.98; where K is 1024 and M is N cuBLASLt wins, once without a ratio. */
static int put_winners(gs_store *store)
{
    gs_session session = begin("nvidia-h200", 130100);
    CHECK(gs_store_begin(store, &session, &error));
    for (int i = 0; i < 27; i++) {
        const int m = i / 9, n = i / 3 % 3, k = i % 3;
        gs_trial t = {.verdict = "pass", .us = 10 * (i + 1), .ratio = 0.98 + 0.02 * i, .rounds = 30, .mhz = 1980, .stage = "confirm", .date = "2026-01-31T12:00:00Z"};
        snprintf(t.problem, sizeof t.problem, "f16:%dx%dx%d:tn", extents[m], extents[n], extents[k]);
        snprintf(t.candidate, sizeof t.candidate, "ws/%d", i);
        if (k == 1 && m == n) {
            snprintf(t.candidate, sizeof t.candidate, "cublaslt/%d", i + 1);
            t.ratio = m == 1 ? 0 : 1;
        }
        t.library_us = t.us * (t.ratio > 0 ? t.ratio : 1);
        t.low = t.ratio - 0.01;
        t.high = t.ratio + 0.01;
        CHECK(gs_store_win(store, &session, &t, &error));
    }
    gs_trial strange = {.problem = "bf16:64x64x64:nn:acc=f32", .candidate = "source:<img src=x onerror=alert(1)>&\"'", .us = 4, .library_us = 6, .ratio = 1.5};
    CHECK(gs_store_win(store, &session, &strange, &error));
    return 0;
}

static int put_predicted(gs_store *store)
{
    gs_session session = begin("emu-h200", 0);
    CHECK(gs_store_begin(store, &session, &error));
    for (int i = 0; i < 4; i++) {
        gs_trial t = {.verdict = "pass", .us = 2.4, .ratio = 0.5, .predicted_us = 2.4};
        snprintf(t.problem, sizeof t.problem, "f16:64x64x%d:tn", 64 * (i + 1));
        snprintf(t.candidate, sizeof t.candidate, "simple");
        CHECK(gs_store_win(store, &session, &t, &error));
    }
    return 0;
}

/* Results of eval --mode server: 14 problems, ours 20 + i us, cuBLASLt 50 + i us; the 95th and 99th percentiles are twice and three times as long. */
static int put_results(gs_store *store)
{
    gs_session session = begin("nvidia-h200", 130100);
    CHECK(gs_store_begin(store, &session, &error));
    for (int i = 0; i < 14; i++) {
        char key[128], value[2048];
        snprintf(key, sizeof key, "eval 1 nvidia-h200 sms=132 {%d}", i);
        snprintf(value, sizeof value,
                 "{\"mode\":\"server\",\"rounds\":50,\"problem\":\"f16:64x64x%d:tn\",\"title\":\"f16:64x64x%d:tn\",\"own\":\"own\",\"cache\":\"cold\",\"floor_us\":1.2,"
                 "\"band\":%d,\"gpu\":\"NVIDIA H200\",\"date\":\"2026-01-31T12:00:00Z\",\"contenders\":["
                 "{\"name\":\"simple\",\"own\":true,\"layout\":\"tn\",\"status\":\"GS_OK\",\"device_us\":2,\"call_us\":%d,\"call_p50\":%d,\"call_p95\":%d,\"call_p99\":%d,"
                 "\"ratio\":{\"median\":%.6f,\"low\":1.1,\"high\":3.1,\"verdict\":\"faster\"}},"
                 "{\"name\":\"cublaslt-autotuning\",\"layout\":\"tn\",\"status\":\"GS_OK\",\"device_us\":3,\"call_us\":%d,\"call_p50\":%d,\"call_p95\":%d,\"call_p99\":%d,"
                 "\"ratio\":{\"median\":1,\"low\":1,\"high\":1,\"verdict\":\"same\"}}]}",
                 64 * (i + 1), 64 * (i + 1), i / 7, 20 + i, 20 + i, 2 * (20 + i), 3 * (20 + i), (50.0 + i) / (20 + i), 50 + i, 50 + i, 2 * (50 + i), 3 * (50 + i));
        CHECK(gs_store_result_put(store, &session, key, value, &error));
    }
    CHECK(gs_store_result_put(store, &session, "eval 1 nvidia-h200 torn", "{\"mode\":", &error));
    return 0;
}

/* Regret of two policies on three problems each, and a training curve. */
static int put_curves(gs_store *store, const char *device)
{
    double x[64], y[64];
    gs_session session = begin(device, 0);
    CHECK(gs_store_begin(store, &session, &error));
    for (int policy = 0; policy < 2; policy++)
        for (int problem = 0; problem < 3; problem++) {
            for (int i = 0; i < 64; i++) x[i] = i + 1, y[i] = (policy + 1) * (problem + 1) / x[i];
            char name[32];
            snprintf(name, sizeof name, "problem %d", problem);
            CHECK(gs_store_curve(store, &session, policy ? "regret/enumerate/7" : "regret/learned/7", name, x, y, 64, &error));
        }
    for (int i = 0; i < 12; i++) x[i] = i + 1, y[i] = i == 5 ? NAN : exp(-i);
    CHECK(gs_store_curve(store, &session, "train/surrogate", "</script><b>weights", x, y, 12, &error));
    return 0;
}

/* Kernels written by a model: 1 is made from the family ws; 2, which is wrong, and 3 from 1; 4, the best, from 3; 5, which does not compile, from nothing. */
static int put_turns(gs_store *store)
{
    static const struct {
        int         parent;   /* -1: base */
        const char *base, *verdict;
        double      us;
    } kernels[] = {{-1, "ws", "pass", 40}, {0, NULL, "exact", 0}, {0, NULL, "pass", 50}, {2, NULL, "pass", 20}, {-1, "", "compile", 0}};
    gs_session session = begin("nvidia-h200", 130100);
    char names[5][GS_CONTENDER_NAME], source[64];
    CHECK(gs_store_begin(store, &session, &error));
    for (int i = 0; i < 5; i++) {
        const double us = kernels[i].us, ratio = us > 0 ? 30 / us : 0;
        snprintf(source, sizeof source, "</script><b>source %d", i);
        gs_submission_name(source, "manifest 1\n", names[i]);
        const gs_turn_outcome outcome = {.candidate = names[i], .verdict = kernels[i].verdict, .us = us, .library_us = us > 0 ? 30 : 0, .ratio = ratio, .low = ratio, .high = ratio,
                                         .reward = us > 0 ? 0.5 : -1};
        const gs_turn turn = {.problem = "f16:1024x1024x1024:tn", .mode = "source", .model = "m", .island = i == 4, .number = i == 4 ? 1 : i + 1,
                              .base = kernels[i].parent < 0 ? kernels[i].base : names[kernels[i].parent], .system = "s", .ask = "</script>", .answer = "x", .outcomes = &outcome, .count = 1};
        CHECK(gs_store_source_put(store, names[i], source, "manifest 1\n", &error));
        CHECK(gs_store_turn_put(store, &session, &turn, &error));
    }
    return 0;
}

int main(int argc, char **argv)
{
    gs_store *store;
    if (argc != 2) return 2;
    CHECK(gs_store_open(&store, argv[1], &error));
    const int code = put_winners(store) || put_predicted(store) || put_results(store) || put_turns(store) || put_curves(store, "nvidia-h200") || put_curves(store, "emu-h200");
    gs_store_close(&store);
    return code;
}
