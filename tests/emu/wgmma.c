/* SPDX-License-Identifier: MIT
 * wgmma instructions of the emulated device: results for any timing, accumulators that are not available before their wait, and what the checker finds. All use
 * m64n8k16: A at 0 (64 x 16, K-major, no swizzle), B at 2048 (16 x 8). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/leaks.h"
#include "base/half.h"
#include "emu.h"

#define A_BYTES 2048
#define B_BYTES 256
#define SEEDS   24

#define A  "%rd10"
#define B  "%rd11"
#define D1 "{%f1, %f2, %f3, %f4}"
#define D2 "{%f5, %f6, %f7, %f8}"
#define AR "{%r11, %r12, %r13, %r14}"
#define FENCE     "wgmma.fence.sync.aligned;\n"
#define COMMIT    "wgmma.commit_group.sync.aligned;\n"
#define WAIT(n)   "wgmma.wait_group.sync.aligned " #n ";\n"
#define SET       "0"
#define ADD       "1"
#define OP        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
#define MMA(d, p)     OP d ", " A ", " B ", " p ", 1, 1, 0, 0;\n"
#define MMA_AR(d, p)  OP d ", " AR ", " B ", " p ", 1, 1, 0;\n"
#define CLEAR     "mov.f32 %f1, 0f00000000;\nmov.f32 %f2, 0f00000000;\nmov.f32 %f3, 0f00000000;\nmov.f32 %f4, 0f00000000;\n"
#define STORE(f, at) "st.global.f32 [%rd2+" #at "], " f ";\n"
#define STORE_1   STORE("%f1", 0) STORE("%f2", 512) STORE("%f3", 1024) STORE("%f4", 1536)
#define STORE_2   STORE("%f5", 2048) STORE("%f6", 2560) STORE("%f7", 3072) STORE("%f8", 3584)
#define PROXY     "fence.proxy.async.shared::cta;\n"
#define SYNC      "bar.sync 0;\n"

/* Copies the operands to shared memory; %r11.. get this thread's registers of A; results go to [%rd2]. */
static const char prologue[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n.visible .entry k(.param .u64 from, .param .u64 to)\n{\n"
    ".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .f32 %f<32>;\n.reg .b64 %rd<16>;\n"
    "ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, sm;\n"
    "mul.wide.u32 %rd3, %r1, 16;\nadd.s64 %rd4, %rd1, %rd3;\n"
    "shl.b32 %r3, %r1, 4;\nadd.u32 %r3, %r3, %r2;\nld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd4];\nst.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};\n"
    "setp.gt.u32 %p1, %r1, 15;\n@%p1 bra L1;\nld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd4+2048];\n"
    "st.shared.v4.u32 [%r3+2048], {%r4, %r5, %r6, %r7};\nL1:\n"
    "ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%rd4+2304];\n"
    "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd2, %rd2, %rd3;\n"
    "mov.u64 %rd10, 0x1000080000;\nmov.u64 %rd11, 0x1000080080;\n"
    "setp.lt.u32 %p2, %r1, 96;\nsetp.eq.u32 %p3, %r1, 0;\nsetp.eq.u32 %p4, %r1, %r1;\nsetp.ne.u32 %p5, %r1, %r1;\n";

typedef struct image {
    uint16_t a[A_BYTES / 2], b[B_BYTES / 2];
    uint32_t fragment[128][4];
} image;

static float a_of(int m, int k) { return (float)((m * 3 + k * 5) % 13 - 6); }
static float b_of(int k, int n) { return (float)((k * 7 + n) % 11 - 5); }

static float product(int m, int n)
{
    float sum = 0;
    for (int k = 0; k < 16; k++) sum += a_of(m, k) * b_of(k, n);
    return sum;
}

static void make_image(image *out)
{
    for (int m = 0; m < 64; m++)
        for (int k = 0; k < 16; k++) out->a[m / 8 * 128 + k / 8 * 64 + m % 8 * 8 + k % 8] = gs_f32_to_f16(a_of(m, k));
    for (int n = 0; n < 8; n++)
        for (int k = 0; k < 16; k++) out->b[k / 8 * 64 + n * 8 + k % 8] = gs_f32_to_f16(b_of(k, n));
    for (int thread = 0; thread < 128; thread++)
        for (int r = 0; r < 4; r++) {
            const int m = thread / 32 * 16 + thread % 32 / 4 + r % 2 * 8, k = thread % 4 * 2 + r / 2 * 8;
            out->fragment[thread][r] = gs_f32_to_f16(a_of(m, k)) | (uint32_t)gs_f32_to_f16(a_of(m, k + 1)) << 16;
        }
}

typedef struct run {
    emu_test t;
    uint64_t from, to;
    float    d[8][128];   /* register, thread */
} run;

static void start(run *r, const char *body)
{
    static char text[16384];
    image data;
    make_image(&data);
    snprintf(text, sizeof text, "%s%sret;\n}\n", prologue, body);
    if (emu_load(&r->t, text, NULL) != GS_OK) fail_msg("%s", r->t.error.text);
    r->from = emu_buffer(&r->t, &data, sizeof data);
    r->to = emu_buffer(&r->t, NULL, sizeof r->d);
    emu_param(&r->t, 0, &r->from, 8);
    emu_param(&r->t, 1, &r->to, 8);
    r->t.launch.block[0] = 128;
    r->t.launch.smem = 4096;
}

static gs_status go(run *r, uint64_t seed)
{
    r->t.launch.seed = seed;
    const gs_status status = emu_run(&r->t);
    memcpy(r->d, emu_bytes(&r->t, r->to, sizeof r->d), sizeof r->d);
    return status;
}

static void end(run *r) { emu_end(&r->t); }

/* Whether registers first to first + 3 hold `times` the product plus `plus` in all threads. */
static bool holds(const run *r, int first, float times, float plus)
{
    for (int thread = 0; thread < 128; thread++)
        for (int i = 0; i < 4; i++) {
            const int m = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8, n = thread % 4 * 2 + i % 2;
            if (r->d[first + i][thread] != times * product(m, n) + plus) return false;
        }
    return true;
}

/* Expects no finding and these registers, for any timing, with and without the checker. */
static void expect_product(const char *body, int first, float times, float plus)
{
    run r;
    start(&r, body);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        r.t.launch.check = seed % 4 != 0;
        if (go(&r, seed) != GS_OK) fail_msg("%s%s", body, r.t.error.text);
        if (!holds(&r, first, times, plus)) fail_msg("%sa wrong result", body);
    }
    end(&r);
}

static void expect_finding(const char *body, gs_emu_finding_kind kind)
{
    run r;
    start(&r, body);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        if (go(&r, seed) == GS_OK) fail_msg("%snothing was found", body);
        if (emu_found(&r.t, kind) == 0) fail_msg("%s%s instead of %s", body, r.t.error.text, gs_emu_finding_name(kind));
    }
    end(&r);
}

/* Expects one of the findings to have these words. */
static void expect_words(const char *body, const char *words)
{
    run r;
    start(&r, body);
    bool found = false;
    go(&r, 1);
    for (int i = 0; i < r.t.launch.findings; i++) found = found || strstr(r.t.launch.finding[i].text, words);
    if (!found) fail_msg("%sno finding with \"%s\", but: %s", body, words, r.t.error.text);
    end(&r);
}

/* ---- results ---- */

static void products_and_scales(void **state)
{
    (void)state;
    expect_product(PROXY SYNC FENCE MMA(D1, SET) COMMIT WAIT(0) STORE_1, 0, 1, 0);
    expect_product(PROXY SYNC CLEAR FENCE MMA(D1, ADD) MMA(D1, "%p4") MMA(D1, "!%p5") COMMIT WAIT(0) "add.f32 %f1, %f1, 0f00000000;\n" STORE_1,
                   0, 3, 0);
    expect_product(PROXY SYNC "mov.f32 %f1, 0f40400000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\n" FENCE MMA_AR(D1, ADD) COMMIT
                   WAIT(0) STORE_1, 0, 1, 3);
    expect_product(PROXY SYNC FENCE OP D1 ", " A ", " B ", 0, -1, 1, 0, 0;\n" COMMIT WAIT(0) STORE_1, 0, -1, 0);
    expect_product(PROXY SYNC FENCE OP D1 ", " AR ", " B ", 0, -1, -1, 0;\n" COMMIT WAIT(0) STORE_1, 0, 1, 0);
}

static void f16_accumulators(void **state)
{
    (void)state;
    run r;
    start(&r, PROXY SYNC "mov.b32 %r20, 0x3c003c00;\nmov.b32 %r21, %r20;\n" FENCE
              "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r20, %r21}, " A ", " B ", 1, 1, 1, 0, 0;\n" COMMIT WAIT(0)
              "st.global.u32 [%rd2], %r20;\nst.global.u32 [%rd2+512], %r21;\n");
    if (go(&r, 1) != GS_OK) fail_msg("%s", r.t.error.text);
    for (int thread = 0; thread < 128; thread++)
        for (int i = 0; i < 4; i++) {
            const int m = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8, n = thread % 4 * 2 + i % 2;
            const uint32_t word = gs_f32_bits(r.d[i / 2][thread]);
            assert_true(gs_f16_to_f32((uint16_t)(word >> 16 * (i % 2))) == product(m, n) + 1);
        }
    end(&r);
}

/* All of shared memory is 1, so a result is the depth of the product. */
static void other_types(void **state)
{
    (void)state;
    static const struct {
        const char *ones, *name, *transposed;
        float depth;
    } types[] = {{"0x3f803f80", "m64n8k16.f32.bf16.bf16", ", 0, 1", 16}, {"0x3f800000", "m64n8k8.f32.tf32.tf32", "", 8}};
    for (size_t i = 0; i < GS_COUNT(types); i++) {
        char body[2048];
        run r;
        snprintf(body, sizeof body,
                 "mov.b32 %%r4, %s;\nst.shared.v4.u32 [%%r3], {%%r4, %%r4, %%r4, %%r4};\nst.shared.v4.u32 [%%r3+2048], {%%r4, %%r4, %%r4, %%r4};\n%s"
                 "wgmma.mma_async.sync.aligned.%s {%%f1, %%f2, %%f3, %%f4}, %%rd10, %%rd11, 0, 1, 1%s;\n%s",
                 types[i].ones, PROXY SYNC FENCE, types[i].name, types[i].transposed, COMMIT WAIT(0) STORE_1);
        start(&r, body);
        if (go(&r, 1) != GS_OK) fail_msg("%s", r.t.error.text);
        for (int thread = 0; thread < 4 * 128; thread++) assert_true(r.d[thread / 128][thread % 128] == types[i].depth);
        assert_int_equal(r.t.launch.counters.matrix_flops, 2 * 64 * 8 * (int)types[i].depth);
        end(&r);
    }
}

/* B is K x N: read transposed, element (k, n) is what is stored as (n, k). */
static void counters_and_transposed_operands(void **state)
{
    (void)state;
    run r;
    start(&r, PROXY SYNC FENCE OP D1 ", " A ", " B ", 0, 1, 1, 0, 1;\n" COMMIT WAIT(0) STORE_1);
    if (go(&r, 1) != GS_OK) fail_msg("%s", r.t.error.text);
    for (int thread = 0; thread < 128; thread++)
        for (int i = 0; i < 4; i++) {
            const int m = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8, n = thread % 4 * 2 + i % 2;
            float sum = 0;   /* 8 x 8 blocks, each transposed */
            for (int k = 0; k < 16; k++) sum += a_of(m, k) * b_of(k / 8 * 8 + n, k % 8);
            assert_true(r.d[i][thread] == sum);
        }
    assert_int_equal(r.t.launch.counters.wgmma, 4);
    assert_int_equal(r.t.launch.counters.matrix_flops, 2 * 64 * 8 * 16);
    assert_int_equal(r.t.launch.counters.shared_load, A_BYTES + B_BYTES);
    const uint64_t with_a = r.t.launch.counters.shared_passes;
    end(&r);
    start(&r, PROXY SYNC FENCE COMMIT WAIT(0) STORE_1);
    if (go(&r, 1) != GS_OK) fail_msg("%s", r.t.error.text);
    assert_int_equal(with_a - r.t.launch.counters.shared_passes, 4 * 5);   /* each warp reads 512 bytes of A, and a quarter of B */
    end(&r);
}

/* ---- accumulators in flight ---- */

/* The compiler may copy accumulators between wgmmas: in hardware both are the same registers. */
static void moves_carry_accumulators(void **state)
{
    (void)state;
    static const char forth[] = "mov.f32 %f5, %f1;\nmov.b32 %f6, %f2;\nmov.f32 %f7, %f3;\nmov.f32 %f8, %f4;\n";
    static const char back[] = "mov.f32 %f1, %f5;\nmov.f32 %f2, %f6;\nmov.f32 %f3, %f7;\nmov.f32 %f4, %f8;\n";
    char body[4096];
    snprintf(body, sizeof body, "%s%s%s", PROXY SYNC FENCE MMA(D1, SET) COMMIT, forth, MMA(D2, ADD) COMMIT WAIT(0) STORE_2);
    expect_product(body, 4, 2, 0);
    snprintf(body, sizeof body, "%s%s%s%s%s", PROXY SYNC FENCE MMA(D1, SET) COMMIT, forth, FENCE MMA(D2, ADD) COMMIT WAIT(1), back,
             FENCE MMA(D1, ADD) COMMIT WAIT(0) STORE_1);
    expect_product(body, 0, 3, 0);
    /* A compiled loop: moves at its end make the accumulators those of the next iteration. */
    snprintf(body, sizeof body, "%s%s%s", PROXY SYNC CLEAR "mov.u32 %r20, 0;\nL2:\n" FENCE MMA(D1, ADD) COMMIT WAIT(1), forth,
             "mov.f32 %f1, %f5;\nmov.f32 %f2, %f6;\nmov.f32 %f3, %f7;\nmov.f32 %f4, %f8;\n"
             "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p6, %r20, 5;\n@%p6 bra L2;\n" WAIT(0) STORE_2);
    expect_product(body, 4, 5, 0);
}

static void a_wait_ends_what_it_covers(void **state)
{
    (void)state;
    run r;
    expect_product(PROXY SYNC FENCE MMA(D1, SET) COMMIT MMA(D2, SET) COMMIT WAIT(1) STORE_1 WAIT(0) STORE_2, 0, 1, 0);
    expect_product(PROXY SYNC FENCE MMA(D1, SET) COMMIT MMA(D2, SET) COMMIT WAIT(1) STORE_1 WAIT(0) STORE_2, 4, 1, 0);
    expect_product(PROXY SYNC FENCE MMA(D1, SET) COMMIT COMMIT COMMIT WAIT(2) STORE_1, 0, 1, 0);
    /* the same registers reused after the wait */
    expect_product(PROXY SYNC FENCE MMA(D1, SET) COMMIT WAIT(0) CLEAR FENCE MMA(D1, ADD) COMMIT WAIT(0) STORE_1, 0, 1, 0);
    /* A register that gets a new value leaves the group: the old value must not return. */
    start(&r, PROXY SYNC FENCE MMA(D1, SET) COMMIT "mov.f32 %f2, 0f40A00000;\n" WAIT(0) STORE_1);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(go(&r, seed), GS_OK);
        for (int thread = 0; thread < 128; thread++) assert_true(r.d[1][thread] == 5.0f);
    }
    end(&r);
}

static void a_result_is_not_there_before_its_wait(void **state)
{
    (void)state;
    run r;
    start(&r, PROXY SYNC CLEAR FENCE MMA(D1, ADD) COMMIT STORE_1 WAIT(0) STORE("%f1", 2048));
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(go(&r, seed), GS_ERROR_FAULT);
        assert_int_equal(emu_found(&r.t, GS_EMU_WGMMA_REGISTER_FINDING), 16);   /* four registers, four warps */
        assert_int_equal(r.t.launch.findings_total, 16);
        for (int thread = 0; thread < 128; thread++) assert_true(r.d[0][thread] == 0);
        assert_true(r.d[4][1] == product(0, 2));
    }
    assert_non_null(strstr(r.t.error.text, "%f1, an accumulator of the wgmma of line"));
    end(&r);
    /* A wait that leaves the group pending does not help, nor does one before the commit. */
    expect_finding(PROXY SYNC FENCE MMA(D1, SET) COMMIT WAIT(1) STORE_1 WAIT(0), GS_EMU_WGMMA_REGISTER_FINDING);
    expect_finding(PROXY SYNC FENCE MMA(D1, SET) WAIT(0) STORE_1 COMMIT WAIT(0), GS_EMU_WGMMA_REGISTER_FINDING);
    expect_finding(PROXY SYNC FENCE MMA(D1, SET) COMMIT "add.f32 %f9, %f2, %f2;\n" WAIT(0), GS_EMU_WGMMA_REGISTER_FINDING);
    expect_finding(PROXY SYNC FENCE MMA(D1, SET) COMMIT "@%p3 mov.f32 %f9, %f2;\n" WAIT(0), GS_EMU_WGMMA_REGISTER_FINDING);
    expect_finding(PROXY SYNC FENCE MMA(D1, SET) COMMIT "@%p3 mov.f32 %f2, 0f00000000;\n" WAIT(0), GS_EMU_WGMMA_REGISTER_FINDING);
    expect_finding(PROXY SYNC FENCE MMA(D1, SET) COMMIT, GS_EMU_WGMMA_REGISTER_FINDING);   /* nobody waits */
    expect_finding(PROXY SYNC FENCE MMA(D1, SET), GS_EMU_WGMMA_REGISTER_FINDING);
    /* Registers of a group in flight, in another order or mixed with others. */
    expect_finding(PROXY SYNC FENCE MMA(D1, SET) COMMIT MMA("{%f2, %f1, %f3, %f4}", ADD) COMMIT WAIT(0), GS_EMU_WGMMA_REGISTER_FINDING);
    expect_finding(PROXY SYNC FENCE MMA(D1, SET) COMMIT MMA("{%f1, %f2, %f5, %f6}", SET) COMMIT WAIT(0), GS_EMU_WGMMA_REGISTER_FINDING);
}

static void registers_of_a_are_held(void **state)
{
    (void)state;
    expect_product(PROXY SYNC FENCE MMA_AR(D1, SET) COMMIT WAIT(0) "mov.b32 %r11, 0;\n" STORE_1, 0, 1, 0);
    expect_finding(PROXY SYNC FENCE MMA_AR(D1, SET) COMMIT "add.u32 %r12, %r12, 1;\n" WAIT(0), GS_EMU_WGMMA_REGISTER_FINDING);
    expect_finding(PROXY SYNC FENCE MMA_AR(D1, SET) COMMIT "mov.b32 %r11, 0;\n" WAIT(0), GS_EMU_WGMMA_REGISTER_FINDING);
    expect_finding(PROXY SYNC FENCE MMA_AR(D1, SET) COMMIT MMA_AR(D2, SET) COMMIT WAIT(1) "mov.b32 %r11, 0;\n" WAIT(0),
                   GS_EMU_WGMMA_REGISTER_FINDING);
}

static void fences_are_asked_for(void **state)
{
    (void)state;
    expect_finding(PROXY SYNC MMA(D1, SET) COMMIT WAIT(0), GS_EMU_WGMMA_FENCE_FINDING);
    expect_finding(PROXY SYNC CLEAR FENCE "add.f32 %f3, %f3, %f3;\n" MMA(D1, ADD) COMMIT WAIT(0), GS_EMU_WGMMA_FENCE_FINDING);
    expect_finding(PROXY SYNC FENCE "add.u32 %r14, %r14, 0;\n" MMA_AR(D1, SET) COMMIT WAIT(0), GS_EMU_WGMMA_FENCE_FINDING);
    expect_finding(PROXY SYNC FENCE MMA(D1, SET) COMMIT WAIT(0) "add.f32 %f1, %f1, %f1;\n" MMA(D1, ADD) COMMIT WAIT(0), GS_EMU_WGMMA_FENCE_FINDING);
    expect_words(PROXY SYNC CLEAR FENCE "add.f32 %f4, %f4, %f4;\n" MMA_AR(D1, ADD) COMMIT WAIT(0), "%f4, of the accumulators, was written");
    expect_words(PROXY SYNC FENCE "add.u32 %r11, %r11, 0;\n" MMA_AR(D1, SET) COMMIT WAIT(0), "%r11, of A, was written");
    /* A move passes on the fence that its source needs. */
    expect_finding(PROXY SYNC CLEAR FENCE "add.f32 %f9, %f1, %f2;\nmov.f32 %f1, %f9;\n" MMA(D1, ADD) COMMIT WAIT(0), GS_EMU_WGMMA_FENCE_FINDING);
    expect_product(PROXY SYNC FENCE CLEAR MMA(D1, ADD) COMMIT WAIT(0) MMA(D1, ADD) COMMIT WAIT(0) STORE_1, 0, 2, 0);
}

/* ---- shared memory ---- */

static void reads_happen_at_any_time_until_the_wait(void **state)
{
    (void)state;
    run r;
    int sooner = 0, later = 0;
    static const char zero[] = "mov.b32 %r4, 0;\n@!%p1 st.shared.v4.u32 [%r3+2048], {%r4, %r4, %r4, %r4};\n";
    char body[2048];
    snprintf(body, sizeof body, "%s%s%s", PROXY SYNC FENCE MMA(D1, SET) COMMIT, zero, WAIT(0) STORE_1);
    start(&r, body);
    r.t.launch.check = false;
    for (uint64_t seed = 1; seed <= 8 * SEEDS; seed++) {
        assert_int_equal(go(&r, seed), GS_OK);
        const bool old = r.d[0][0] == product(0, 0);
        assert_true(old || r.d[0][0] == 0);
        *(old ? &sooner : &later) += 1;
    }
    assert_true(sooner > 0 && later > 0);
    end(&r);
    expect_finding(body, GS_EMU_OVERWRITE_FINDING);
    snprintf(body, sizeof body, "%s%s%s", PROXY SYNC FENCE MMA(D1, SET) COMMIT WAIT(0) SYNC, zero, STORE_1);
    expect_product(body, 0, 1, 0);
}

static void proxies_and_races(void **state)
{
    (void)state;
    expect_finding(SYNC FENCE MMA(D1, SET) COMMIT WAIT(0), GS_EMU_PROXY_FENCE_FINDING);
    expect_finding(PROXY FENCE MMA(D1, SET) COMMIT WAIT(0), GS_EMU_RACE_FINDING);
}

static void descriptors_are_checked(void **state)
{
    (void)state;
    expect_finding(PROXY SYNC "mov.u64 %rd10, 0x10000800f0;\n" FENCE MMA(D1, SET) COMMIT WAIT(0), GS_EMU_DESCRIPTOR_FINDING);    /* A ends at 5888 */
    expect_finding(PROXY SYNC "mov.u64 %rd11, 0x1000ff0000;\n" FENCE MMA(D1, SET) COMMIT WAIT(0), GS_EMU_DESCRIPTOR_FINDING);    /* B's second half */
    expect_finding(PROXY SYNC "or.b64 %rd10, %rd10, 0x10000000000000;\n" FENCE MMA(D1, SET) COMMIT WAIT(0), GS_EMU_DESCRIPTOR_FINDING);   /* bit 52 has no meaning */
    expect_finding(PROXY SYNC "@%p3 mov.u64 %rd11, 0x1000080000;\n" FENCE MMA(D1, SET) COMMIT WAIT(0), GS_EMU_DESCRIPTOR_FINDING);   /* in one lane */
    expect_finding(PROXY SYNC "@%p2 mov.u64 %rd11, 0x1000080000;\n" FENCE MMA(D1, SET) COMMIT WAIT(0), GS_EMU_DESCRIPTOR_FINDING);   /* in three warps */
}

/* ---- all threads together ---- */

static void warps_go_together(void **state)
{
    (void)state;
    run r;
    expect_finding(PROXY SYNC FENCE "@%p2 bra L2;\n" MMA(D1, SET) "L2:\n" MMA(D1, SET) COMMIT WAIT(0), GS_EMU_DIVERGED_FINDING);
    expect_finding(PROXY SYNC FENCE "@!%p2 ret;\n" MMA(D1, SET) COMMIT WAIT(0) SYNC, GS_EMU_DIVERGED_FINDING);
    expect_finding(PROXY SYNC FENCE "@%p3 bra L2;\n" MMA(D1, SET) "L2:\n" COMMIT WAIT(0), GS_EMU_DIVERGED_FINDING);
    expect_finding(PROXY SYNC "@%p3 bra L2;\n" FENCE "L2:\n" MMA(D1, SET) COMMIT WAIT(0), GS_EMU_DIVERGED_FINDING);
    expect_finding(PROXY SYNC FENCE MMA(D1, "%p3") COMMIT WAIT(0), GS_EMU_DIVERGED_FINDING);
    expect_finding(PROXY SYNC FENCE MMA(D1, "%p2") COMMIT WAIT(0), GS_EMU_DIVERGED_FINDING);
    start(&r, PROXY SYNC FENCE MMA(D1, SET) COMMIT WAIT(0));
    r.t.launch.block[0] = 96;
    assert_int_equal(go(&r, 1), GS_ERROR_FAULT);
    assert_true(emu_found(&r.t, GS_EMU_DIVERGED_FINDING) > 0);
    r.t.launch.block[0] = 124;   /* whole warps next to a partial one */
    assert_int_equal(go(&r, 1), GS_ERROR_FAULT);
    bool whole = false;
    for (int i = 0; i < r.t.launch.findings; i++) whole = whole || strstr(r.t.launch.finding[i].text, "lanes 0xffffffff of warp");
    assert_true(whole);
    end(&r);
}

static void what_is_unknown_is_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " D1 ", " A ", " B ", %r1, 0, 1, 1, 1, 0, 0;\n",
        "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r1, %r2, %r3, %r4}, " A ", " B ", 1;\n",
        "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 " D1 ", " A ", " B ", 1, 1, 1, 0, 0;\n",
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16 {%r1, %r2}, " A ", " B ", 1, 1, 1, 0, 0;\n",
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " D1 ", " A ", " B ", 1, 1, 1, 0, 0;\n",
        OP D1 ", " A ", " B ", 1, 2, 1, 0, 0;\n",
        OP D1 ", " A ", " B ", 1, 1, 1, 0;\n",
        OP D1 ", {%r1, %r2}, " B ", 1, 1, 1, 0;\n",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16;\n",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D1 ";\n",
        "wgmma.wait_group.sync.aligned %r1;\n",
        "wgmma.fence.aligned;\n",
    };
    static char text[16384];
    for (size_t i = 0; i < GS_COUNT(bodies); i++) {
        emu_test t;
        snprintf(text, sizeof text, "%s%sret;\n}\n", prologue, bodies[i]);
        if (emu_load(&t, text, NULL) != GS_ERROR_UNSUPPORTED) fail_msg("%s", bodies[i]);
        assert_non_null(strstr(t.error.text, "wgmma"));
        emu_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_scales),
        cmocka_unit_test(f16_accumulators),
        cmocka_unit_test(other_types),
        cmocka_unit_test(counters_and_transposed_operands),
        cmocka_unit_test(moves_carry_accumulators),
        cmocka_unit_test(a_wait_ends_what_it_covers),
        cmocka_unit_test(a_result_is_not_there_before_its_wait),
        cmocka_unit_test(registers_of_a_are_held),
        cmocka_unit_test(fences_are_asked_for),
        cmocka_unit_test(reads_happen_at_any_time_until_the_wait),
        cmocka_unit_test(proxies_and_races),
        cmocka_unit_test(descriptors_are_checked),
        cmocka_unit_test(warps_go_together),
        cmocka_unit_test(what_is_unknown_is_refused),
    };
    return run_without_leaks("emu wgmma", tests, sizeof tests / sizeof *tests);
}
