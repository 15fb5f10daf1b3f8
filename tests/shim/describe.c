/* SPDX-License-Identifier: MIT
 * Calls and descriptors as problems, one field changed at a time: the problem of each, and the reason why others are left to the library. The descriptors are those of a
 * fake cuBLASLt; whole programs are tested in calls.sh and lt.sh. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cublas/cublas.h"
#include "shim/check.h"
#include "shim/lt_describe.h"
#include "support/fork.h"

/* ---- a fake cuBLASLt, with descriptors only ---- */

enum { ATTRIBUTES = 32, LAYOUT_ATTRIBUTES = 9 };
enum { FOREIGN = 15, LARGE = 21 };   /* FOREIGN: an attribute unknown to us; LARGE: an attribute of some libraries whose value is too large to be compared */

/* Size of each attribute's value in bytes; 0: the attribute does not exist. */
static uint8_t sizes[ATTRIBUTES] = {[0] = 4, [1] = 4, [2] = 4, [3] = 4, [4] = 4, [7] = 4, [8] = 8, [10] = 8, [11] = 8, [12] = 8, [13] = 8, [FOREIGN] = 4, [22] = 4, [26] = 4};
static const uint8_t layout_sizes[LAYOUT_ATTRIBUTES] = {4, 4, 8, 8, 8, 4, 8, 8, 4};

typedef struct descriptor { int64_t value[ATTRIBUTES]; } descriptor;         /* 256 bytes, the maximum of a descriptor */
typedef struct matrix { uint8_t bytes[64]; int64_t value[LAYOUT_ATTRIBUTES]; } matrix;   /* bytes: the part of a layout that is compared */

static int fails = -1, layout_fails = -1;   /* attributes that cannot be read */
static int asked, created;
static bool none_created, sized;   /* sized: the size of the unreadable attribute can still be read */

static int desc_create(void **out, int compute, int scale)
{
    if (none_created) return 3;
    descriptor *const d = calloc(1, sizeof *d);
    d->value[0] = compute, d->value[1] = scale, d->value[7] = 1, d->value[22] = d->value[26] = -1, d->value[FOREIGN] = 100;
    *out = d;
    created++;
    return 0;
}

static int desc_destroy(void *desc)
{
    free(desc);
    created--;
    return 0;
}

static int desc_get(void *desc, int attribute, void *value, size_t size, size_t *written)
{
    asked++;
    if (attribute >= ATTRIBUTES || sizes[attribute] == 0 || (attribute == fails && (size > 0 || !sized))) return 7;
    *written = sizes[attribute];
    if (size == 0) return 0;
    assert_int_equal(size, sizes[attribute]);
    memset(value, 0, size);
    memcpy(value, &((descriptor *)desc)->value[attribute], size < 8 ? size : 8);
    return 0;
}

static int layout_get(void *layout, int attribute, void *value, size_t size, size_t *written)
{
    assert_in_range(attribute, 0, LAYOUT_ATTRIBUTES - 1);
    if (attribute == layout_fails) return 7;
    assert_int_equal(size, layout_sizes[attribute]);
    *written = size;
    memcpy(value, &((matrix *)layout)->value[attribute], size);
    return 0;
}

static const gs_real_cublaslt real = {.desc_create = desc_create, .desc_destroy = desc_destroy, .desc_get = desc_get, .layout_get = layout_get};

/* D is 48 x 16, the product of 48 x 32 and 32 x 16, column-major; as a row-major problem 16 x 48 x 32. */
static struct call { descriptor *desc; matrix a, b, c, d; } usual(void)
{
    struct call call = {
        .a.value = {GS_CUDA_R_16F, 0, 48, 32, 48, 1}, .b.value = {GS_CUDA_R_16F, 0, 32, 16, 32, 1}, .c.value = {GS_CUDA_R_16F, 0, 48, 16, 48, 1}, .d.value = {GS_CUDA_R_16F, 0, 48, 16, 48, 1}};
    void *desc;
    desc_create(&desc, GS_CUBLAS_COMPUTE_32F, GS_CUDA_R_32F);
    call.desc = desc;
    return call;
}

/* Changes such as "7=36 a.2=64 *.5=3": an attribute of the descriptor, of one layout, of all four. */
static void change(struct call *call, const char *changes)
{
    matrix *const all[] = {&call->a, &call->b, &call->c, &call->d};
    while (*changes) {
        char which = 0;
        int attribute, length;
        long long value;
        if (sscanf(changes, "%c.%d=%lld%n", &which, &attribute, &value, &length) == 3 && changes[1] == '.') {
            for (int i = 0; i < 4; i++)
                if (which == '*' || which == "abcd"[i]) all[i]->value[attribute] = value;
        } else {
            assert_int_equal(sscanf(changes, "%d=%lld%n", &attribute, &value, &length), 2);
            call->desc->value[attribute] = value;
        }
        changes += length;
        while (*changes == ' ') changes++;
    }
}

static gs_lt_asked describe(const char *changes)
{
    struct call call = usual();
    gs_lt_asked out;
    change(&call, changes);
    gs_lt_describe(&real, call.desc, &call.a, &call.b, &call.c, &call.d, &out);
    desc_destroy(call.desc);
    return out;
}

/* The attributes of a fresh descriptor are read once, and again if that failed. If an attribute cannot be compared, no descriptor is served. */
static void what_a_library_has(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const pid_t child = test_fork();
        if (child == 0) {
            struct call call = usual();
            gs_lt_asked out;
            if (i == 0) sizes[LARGE] = 20;
            if (i == 1) sizes[LARGE] = 16;   /* the largest value that can be compared */
            if (i == 2) fails = FOREIGN, sized = true;
            none_created = i == 3;
            gs_lt_describe(&real, call.desc, &call.a, &call.b, &call.c, &call.d, &out);
            if (out.reason != (i == 1 ? GS_SHIM_SERVED : GS_SHIM_ATTRIBUTE)) _exit(1);
            fails = -1;
            none_created = false;
            gs_lt_describe(&real, call.desc, &call.a, &call.b, &call.c, &call.d, &out);
            _exit(out.reason == (i == 1 || i == 3 ? GS_SHIM_SERVED : GS_SHIM_ATTRIBUTE) ? 0 : 2);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0) fail_msg("library %d: %d", i, status);
    }
}

static gs_shim_reason described_by(const gs_real_cublaslt *library, const char *changes)
{
    struct call call = usual();
    gs_lt_asked out;
    change(&call, changes);
    gs_lt_describe(library, call.desc, &call.a, &call.b, &call.c, &call.d, &out);
    desc_destroy(call.desc);
    return out.reason;
}

/* A second library may have an attribute that the first one lacks. Calls of a fifth library are passed on. */
static void each_library_has_its_own(void **state)
{
    (void)state;
    enum { LIBRARIES = 4, NEW = 31 };
    const pid_t child = test_fork();
    if (child == 0) {
        gs_real_cublaslt others[LIBRARIES];
        for (int i = 0; i < LIBRARIES; i++) others[i] = real;
        int wrong = described_by(&real, "") != GS_SHIM_SERVED;
        sizes[NEW] = 4;
        wrong += described_by(&others[0], "") != GS_SHIM_SERVED;
        wrong += described_by(&others[0], "31=1") != GS_SHIM_ATTRIBUTE;
        wrong += described_by(&real, "31=1") != GS_SHIM_SERVED;   /* its defaults were read before the attribute existed */
        for (int i = 1; i < LIBRARIES; i++) wrong += described_by(&others[i], "") != (i < LIBRARIES - 1 ? GS_SHIM_SERVED : GS_SHIM_ATTRIBUTE);
        _exit(wrong);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- mode check ---- */

static void two_results_of_an_element(void **state)
{
    (void)state;
    const double inf = INFINITY, nan = NAN;
    static const char f16[] = "f16:64x64x64:tn", half[] = "f16:64x64x64:tn:acc=f16", bf16[] = "bf16:64x64x64:tn", f32[] = "f16:64x64x64:tn:d=f32";
    const struct { const char *problem; double own, real, added, products; bool near; } cases[] = {
        {f16, 1, 1, 0, 8, true}, {f16, 1, 1 + 0x1p-10, 0, 8, true}, {f16, 1, 1 + 0x1p-8, 0, 8, false}, {f16, 0, 0x1p-23, 0, 0, true}, {f16, 0, 0x1p-21, 0, 0, false},
        {f32, 1, 1 + 0x1p-20, 0, 8, true}, {f32, 1, 1 + 0x1p-10, 0, 8, false}, {f32, 1, 1 + 0x1p-10, 1000, 8, true},
        {f16, inf, inf, 0, inf, true}, {f16, inf, -inf, 0, inf, false}, {f16, nan, nan, 0, nan, true}, {f16, nan, inf, 0, inf, false}, {f16, 1, nan, 0, nan, false},
        {f16, inf, 1, 0, 8, false}, {f16, 1, -inf, 0, inf, false}, {f16, inf, 65504, 0, 8, true}, {f16, 65472, inf, 0, 8, true}, {f16, inf, -65504, 0, 8, false}, {f16, inf, 60000, 0, 70000, false},
        {f16, inf, 1, inf, 8, false}, {bf16, inf, 0x1.fep127, 0, 8, true}, {bf16, inf, 65504, 0, 70000, false}, {f32, inf, 65504, 0, 8, false},
        {half, inf, 1, 0, 70000, true}, {half, nan, 1, 0, 70000, true}, {half, inf, -inf, 0, 70000, true}, {half, inf, 1, 0, 60000, false}, {half, 1, 9, 0, 70000, true}, {half, 1, 900, 0, 70000, false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_problem problem;
        assert_int_equal(gs_problem_parse(&problem, cases[i].problem, NULL), GS_OK);
        if (gs_shim_is_near(&problem, cases[i].own, cases[i].real, cases[i].added, cases[i].products) != cases[i].near) fail_msg("case %d: %g, %g", (int)i, cases[i].own, cases[i].real);
    }
}

#define BF16  "*.0=14"
#define BATCH "*.5=3 a.6=1536 b.6=512 c.6=768 d.6=768"

static void what_is_a_problem(void **state)
{
    (void)state;
    static const struct { const char *changes, *problem; } cases[] = {
        {"", "f16:16x48x32:nn"},
        {"3=1 a.2=32 a.3=48 a.4=32", "f16:16x48x32:tn"},
        {"3=2 a.2=32 a.3=48 a.4=32", "f16:16x48x32:tn"},                 /* conjugate transposed: the same for real numbers */
        {"4=1 b.2=16 b.3=32 b.4=16", "f16:16x48x32:nt"},
        {"3=1 a.2=32 a.3=48 a.4=32 4=2 b.2=16 b.3=32 b.4=16", "f16:16x48x32:tt"},
        {BF16, "bf16:16x48x32:nn"},
        {BF16 " d.0=0", "bf16:16x48x32:nn:d=f32"},
        {"0=64 1=2", "f16:16x48x32:nn:acc=f16"},
        {"a.4=56 b.4=40 c.4=72 d.4=64", "f16:16x48x32:nn:lda=40:ldb=56:ldc=72:ldd=64"},
        {BATCH, "f16:16x48x32:nn:b=3"},
        {BATCH " a.6=0", "f16:16x48x32:nn:b=3:sb=0"},
        {BATCH " b.6=0 c.6=1000 d.6=900", "f16:16x48x32:nn:b=3:sa=0:sc=1000:sd=900"},
        {BATCH " a.6=2000 b.6=600", "f16:16x48x32:nn:b=3:sa=600:sb=2000"},
        {BATCH " 3=1 a.2=32 a.3=48 a.4=40 a.6=1920", "f16:16x48x32:tn:ldb=40:b=3"},
        {"a.6=7 b.6=7 c.6=7 d.6=-7", "f16:16x48x32:nn"},                 /* with a single matrix, strides do not matter */
        {"7=4 8=4096", "f16:16x48x32:nn:ep=bias"},
        {"7=4 8=4096 26=2", "f16:16x48x32:nn:ep=bias"},
        {"7=2", "f16:16x48x32:nn:ep=relu"},
        {"7=6 8=4096", "f16:16x48x32:nn:ep=bias+relu"},
        {"7=32", "f16:16x48x32:nn:ep=gelu"},
        {"7=36 8=4096", "f16:16x48x32:nn:ep=bias+gelu"},
        {"7=160 11=8192 12=48", "f16:16x48x32:nn:ep=gelu+aux"},
        {"7=164 8=4096 11=8192 12=64 22=2", "f16:16x48x32:nn:ldaux=64:ep=bias+gelu+aux"},
        {"7=192 11=8192 12=64", "f16:16x48x32:nn:ldaux=64:ep=dgelu"},
        {"7=208 8=4096 11=8192 12=48", "f16:16x48x32:nn:ep=dgelu+dbias"},
        {BATCH " 7=4 8=4096", "f16:16x48x32:nn:b=3:ep=bias"},
        {BATCH " 7=4 8=4096 10=50", "f16:16x48x32:nn:b=3:se=50:ep=bias"},
        {"7=4 8=4096 10=50", "f16:16x48x32:nn:ep=bias"},
        {BATCH " 7=160 11=8192 12=48 13=768", "f16:16x48x32:nn:b=3:ep=gelu+aux"},
        {BATCH " 7=160 11=8192 12=48 13=800", "f16:16x48x32:nn:b=3:saux=800:ep=gelu+aux"},
        {"7=160 11=8192 12=48 13=800", "f16:16x48x32:nn:ep=gelu+aux"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        char text[GS_PROBLEM_TEXT];
        gs_lt_asked out = describe(cases[i].changes);
        if (out.reason != GS_SHIM_SERVED) fail_msg("%s: %s", cases[i].changes, gs_shim_reason_text(out.reason));
        out.problem.beta = strstr(cases[i].problem, "ldc=") || strstr(cases[i].problem, "sc=") ? 1 : 0;   /* with beta, C's layout is part of the problem */
        char wanted[GS_PROBLEM_TEXT + 8];
        const char *const epilogue = strstr(cases[i].problem, ":ep=");
        snprintf(wanted, sizeof wanted, "%.*s%s%s", epilogue ? (int)(epilogue - cases[i].problem) : (int)strlen(cases[i].problem), cases[i].problem, out.problem.beta != 0 ? ":beta=1" : "", epilogue ? epilogue : "");
        gs_problem_format(&out.problem, text);
        if (out.problem.beta == 0) {   /* without beta, C's layout does not matter */
            out.problem.ldc = out.problem.ldd, out.problem.stride_c = out.problem.stride_d;
            gs_problem_format(&out.problem, text);
        }
        if (strcmp(text, wanted) != 0) fail_msg("%s: %s, not %s", cases[i].changes, text, wanted);
        assert_int_equal(out.half, strstr(cases[i].problem, "acc=f16") != NULL);
        assert_int_equal((uintptr_t)out.bias, strstr(cases[i].changes, "8=4096") ? 4096 : 0);
        assert_int_equal((uintptr_t)out.aux, strstr(cases[i].changes, "11=8192") ? 8192 : 0);
    }
}

static void what_is_left_to_the_library(void **state)
{
    (void)state;
    static const struct { const char *changes; gs_shim_reason reason; } cases[] = {
        {"a.0=0", GS_SHIM_TYPES}, {"b.0=14", GS_SHIM_TYPES}, {"*.0=0", GS_SHIM_TYPES}, {"d.0=14", GS_SHIM_TYPES}, {"d.0=3", GS_SHIM_TYPES}, {"a.0=3 b.0=3", GS_SHIM_TYPES},
        {"0=69", GS_SHIM_TYPES}, {"1=2", GS_SHIM_TYPES}, {"0=64", GS_SHIM_TYPES}, {"0=64 1=2 d.0=0", GS_SHIM_TYPES}, {"0=64 1=2 " BF16, GS_SHIM_TYPES},
        {"a.1=1", GS_SHIM_LAYOUT}, {"b.1=1", GS_SHIM_LAYOUT}, {"c.1=1", GS_SHIM_LAYOUT}, {"d.1=1", GS_SHIM_LAYOUT}, {"a.7=1", GS_SHIM_LAYOUT}, {"d.8=1", GS_SHIM_LAYOUT},
        {"3=-1", GS_SHIM_LAYOUT}, {"3=3", GS_SHIM_LAYOUT}, {"4=-1", GS_SHIM_LAYOUT}, {"4=3", GS_SHIM_LAYOUT},
        {"a.2=49", GS_SHIM_LAYOUT}, {"a.3=33", GS_SHIM_LAYOUT}, {"b.2=33", GS_SHIM_LAYOUT}, {"b.3=17", GS_SHIM_LAYOUT}, {"d.2=49", GS_SHIM_LAYOUT}, {"d.3=17", GS_SHIM_LAYOUT},
        {"3=1", GS_SHIM_LAYOUT}, {"4=1", GS_SHIM_LAYOUT}, {"a.5=2", GS_SHIM_LAYOUT}, {"b.5=2", GS_SHIM_LAYOUT}, {"c.5=2", GS_SHIM_LAYOUT}, {"d.5=2", GS_SHIM_LAYOUT},
        {"a.2=2147483648 d.2=2147483648", GS_SHIM_LAYOUT}, {"b.3=2147483648 d.3=2147483648", GS_SHIM_LAYOUT},
        {"b.3=0 d.3=0", GS_SHIM_SIZES}, {"a.2=0 d.2=0", GS_SHIM_SIZES}, {"a.3=0 b.2=0", GS_SHIM_SIZES}, {"*.5=0", GS_SHIM_SIZES}, {"*.5=-1", GS_SHIM_SIZES},
        {BATCH " a.6=-1", GS_SHIM_SIZES}, {BATCH " b.6=-1", GS_SHIM_SIZES}, {BATCH " c.6=-1", GS_SHIM_SIZES}, {BATCH " d.6=-1", GS_SHIM_SIZES}, {BATCH " d.6=0", GS_SHIM_SIZES},
        {"7=130 11=8192 12=48", GS_SHIM_EPILOGUE}, {"7=256", GS_SHIM_EPILOGUE}, {"7=128 11=8192 12=48", GS_SHIM_EPILOGUE}, {"7=64", GS_SHIM_EPILOGUE}, {"7=16 8=4096", GS_SHIM_EPILOGUE},
        {"7=34", GS_SHIM_EPILOGUE}, {"7=48 8=4096", GS_SHIM_EPILOGUE}, {"7=196 8=4096 11=8192 12=48", GS_SHIM_EPILOGUE}, {"7=132 8=4096 11=8192 12=48", GS_SHIM_EPILOGUE}, {"7=0", GS_SHIM_EPILOGUE},
        {"7=4", GS_SHIM_EPILOGUE}, {"7=4 8=4096 26=14", GS_SHIM_EPILOGUE}, {"7=208 11=8192 12=48", GS_SHIM_EPILOGUE}, {BATCH " 7=4 8=4096 10=-1", GS_SHIM_EPILOGUE},
        {BATCH " 7=208 8=4096 11=8192 12=48 13=768", GS_SHIM_EPILOGUE},
        {"7=160 12=48", GS_SHIM_EPILOGUE}, {"7=160 11=8192 12=48 22=14", GS_SHIM_EPILOGUE}, {BATCH " 7=160 11=8192 12=48", GS_SHIM_EPILOGUE}, {BATCH " 7=160 11=8192 12=48 13=-1", GS_SHIM_EPILOGUE},
        {"2=1", GS_SHIM_SCALARS}, {"2=2", GS_SHIM_SCALARS}, {"15=101", GS_SHIM_ATTRIBUTE},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_lt_asked out = describe(cases[i].changes);
        if (out.reason != cases[i].reason) fail_msg("%s: %s", cases[i].changes, gs_shim_reason_text(out.reason));
    }
}

/* A C of another type or size is detected, for calls with a beta. */
static void what_c_is(void **state)
{
    (void)state;
    static const struct { const char *changes; bool differs; } cases[] = {{"", false}, {"c.0=0", true}, {"c.2=40", true}, {"c.3=8", true}, {"c.4=64", false}, {"c.0=0 d.0=0", false}};
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const gs_lt_asked out = describe(cases[i].changes);
        assert_int_equal(out.reason, GS_SHIM_SERVED);
        if (out.c_differs != cases[i].differs) fail_msg("%s: %d", cases[i].changes, out.c_differs);
    }
}

static void what_cannot_be_read(void **state)
{
    (void)state;
    static const int numbers[] = {2, 3, 4, 7, 8, 10, 11, 12, 13, 22, 26, FOREIGN};
    static const char everything[] = BATCH " 7=164 8=4096 10=48 11=8192 12=48 13=768";
    assert_int_equal(describe(everything).reason, GS_SHIM_SERVED);
    for (size_t i = 0; i < GS_COUNT(numbers); i++) {
        fails = numbers[i];
        const gs_shim_reason reason = describe(everything).reason;
        fails = -1;
        if (reason == GS_SHIM_SERVED) fail_msg("attribute %d is not missed", numbers[i]);
    }
    for (int i = 0; i < LAYOUT_ATTRIBUTES; i++) {   /* older libraries lack the batch mode attribute, and have a single mode */
        layout_fails = i;
        assert_int_equal(describe("").reason, i == GS_LT_LAYOUT_BATCH_MODE ? GS_SHIM_SERVED : GS_SHIM_LAYOUT);
        layout_fails = -1;
    }
    struct call call = usual();
    gs_lt_asked out;
    void *const all[] = {&call.a, &call.b, &call.c, &call.d};
    for (int i = 0; i < 4; i++) {
        void *some[4];
        memcpy(some, all, sizeof some);
        some[i] = NULL;
        gs_lt_describe(&real, call.desc, some[0], some[1], some[2], some[3], &out);
        assert_int_equal(out.reason, GS_SHIM_LAYOUT);
    }
    gs_lt_describe(&real, NULL, &call.a, &call.b, &call.c, &call.d, &out);
    assert_int_equal(out.reason, GS_SHIM_HANDLE);
    gs_real_cublaslt lacking = real;
    lacking.layout_get = NULL;
    gs_lt_describe(&lacking, call.desc, &call.a, &call.b, &call.c, &call.d, &out);
    assert_int_equal(out.reason, GS_SHIM_HANDLE);
    desc_destroy(call.desc);
    assert_int_equal(created, 0);
}

/* Known descriptors are not read again as long as every byte of the five is the same. */
static void what_was_seen(void **state)
{
    (void)state;
    struct call call = usual();
    uint8_t *const compared[] = {(uint8_t *)call.desc, call.a.bytes, call.b.bytes, call.c.bytes, call.d.bytes};
    for (int i = 0; i < 5; i++) {
        for (int again = 0; again < 3; again++) {
            asked = 0;
            const gs_lt_asked *const out = gs_lt_described(&real, call.desc, &call.a, &call.b, &call.c, &call.d);
            assert_int_equal(out->reason, GS_SHIM_SERVED);
            assert_int_equal(asked > 0, again == 0);
        }
        for (int at = 0; at < 64; at += i ? 7 : 64) {   /* of the descriptor: an attribute that does not matter without an epilogue */
            uint8_t *const byte = compared[i] + (i ? at : 12 * 8);
            ++*byte;
            asked = 0;
            gs_lt_described(&real, call.desc, &call.a, &call.b, &call.c, &call.d);
            assert_true(asked > 0);
            --*byte;
        }
        call.a.bytes[62]++;   /* different bytes for the next round */
    }
    gs_real_cublaslt other = real;   /* descriptors of a second library are read each time, like those without a layout */
    for (int again = 0; again < 2; again++) {
        asked = 0;
        assert_int_equal(gs_lt_described(&other, call.desc, &call.a, &call.b, &call.c, &call.d)->reason, GS_SHIM_SERVED);
        assert_true(asked > 0);
        assert_int_equal(gs_lt_described(&real, call.desc, &call.a, &call.b, &call.c, NULL)->reason, GS_SHIM_LAYOUT);
        assert_int_equal(gs_lt_described(&real, NULL, &call.a, &call.b, &call.c, &call.d)->reason, GS_SHIM_HANDLE);
    }
    desc_destroy(call.desc);
}

static void what_was_suggested(void **state)
{
    (void)state;
    gs_lt_algo algo = {0}, other = {0};
    memset(&other, 1, sizeof other);
    assert_false(gs_lt_is_suggested(&algo));
    gs_lt_suggested(&algo);
    assert_true(gs_lt_is_suggested(&algo) && !gs_lt_is_suggested(&other));
    gs_lt_suggested(&other);
    assert_true(gs_lt_is_suggested(&algo) && gs_lt_is_suggested(&other));
}

/* ---- calls of cuBLAS ---- */

static void calls_of_cublas(void **state)
{
    (void)state;
    enum { F16 = GS_CUDA_R_16F, BF16_TYPE = GS_CUDA_R_16BF, F32 = GS_CUDA_R_32F, SINGLE = GS_CUBLAS_COMPUTE_32F, HALF = GS_CUBLAS_COMPUTE_16F };
    static const struct { gs_shim_call call; gs_shim_reason reason; const char *problem; } cases[] = {
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 48, .n = 16, .k = 32, .lda = 50, .ldb = 40, .ldc = 64, .batch = 1}, GS_SHIM_SERVED, "f16:16x48x32:nn:lda=40:ldb=50:ldc=64:ldd=64:beta=1"},
        {{.op_a = 1, .type_a = BF16_TYPE, .type_b = BF16_TYPE, .type_c = F32, .compute = SINGLE, .algo = 99, .m = 48, .n = 16, .k = 32, .lda = 32, .ldb = 32, .ldc = 48, .batch = 1}, GS_SHIM_SERVED, "bf16:16x48x32:tn:d=f32:beta=1"},
        {{.op_b = 2, .type_a = F16, .type_b = F16, .type_c = F16, .compute = HALF, .algo = -1, .m = 48, .n = 16, .k = 32, .lda = 48, .ldb = 16, .ldc = 48, .batch = 1}, GS_SHIM_SERVED, "f16:16x48x32:nt:acc=f16:beta=1"},
        {{.op_a = 1, .op_b = 1, .type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 48, .n = 16, .k = 32, .lda = 32, .ldb = 16, .ldc = 48, .batch = 3, .stride_a = 1536, .stride_b = 0, .stride_c = 800}, GS_SHIM_SERVED,
         "f16:16x48x32:tt:b=3:sa=0:sc=800:sd=800:beta=1"},
        {{.op_b = 1, .type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 48, .n = 16, .k = 32, .lda = 48, .ldb = 16, .ldc = 48, .batch = 2, .stride_a = 2000, .stride_b = 512, .stride_c = 768}, GS_SHIM_SERVED, "f16:16x48x32:nt:b=2:sb=2000:beta=1"},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 48, .n = 16, .k = 32, .lda = 48, .ldb = 32, .ldc = 48, .batch = 2, .pointers = true, .stride_c = -1}, GS_SHIM_SERVED, "f16:16x48x32:nn:b=2:matrices=pointers:beta=1"},
        {{.type_a = F16, .type_b = BF16_TYPE, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_TYPES, NULL},
        {{.type_a = F32, .type_b = F32, .type_c = F32, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_TYPES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = BF16_TYPE, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_TYPES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = 3, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_TYPES, NULL},
        {{.type_a = BF16_TYPE, .type_b = BF16_TYPE, .type_c = BF16_TYPE, .compute = HALF, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_TYPES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F32, .compute = HALF, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_TYPES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = 77, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_TYPES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = 0, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_ALGORITHM, NULL},
        {{.op_a = 3, .type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_SIZES, NULL},
        {{.op_a = -1, .type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_SIZES, NULL},
        {{.op_b = 3, .type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_SIZES, NULL},
        {{.op_b = -1, .type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 1}, GS_SHIM_SIZES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 0, .n = 1, .k = 1, .batch = 1}, GS_SHIM_SIZES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 0, .k = 1, .batch = 1}, GS_SHIM_SIZES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 0, .batch = 1}, GS_SHIM_SIZES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 0}, GS_SHIM_SIZES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 2, .stride_c = 0}, GS_SHIM_SIZES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 2, .stride_a = -1, .stride_c = 1}, GS_SHIM_SIZES, NULL},
        {{.type_a = F16, .type_b = F16, .type_c = F16, .compute = SINGLE, .algo = -1, .m = 1, .n = 1, .k = 1, .batch = 2, .stride_b = -1, .stride_c = 1}, GS_SHIM_SIZES, NULL},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_problem problem;
        char text[GS_PROBLEM_TEXT];
        const gs_shim_reason reason = gs_shim_describe(&cases[i].call, true, &problem);
        if (reason != cases[i].reason) fail_msg("case %d: %s", (int)i, gs_shim_reason_text(reason));
        if (reason != GS_SHIM_SERVED) continue;
        assert_string_equal(gs_problem_format(&problem, text), cases[i].problem);
        gs_shim_describe(&cases[i].call, false, &problem);
        assert_true(problem.beta == 0 && problem.alpha == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_library_has), cmocka_unit_test(each_library_has_its_own), cmocka_unit_test(two_results_of_an_element), cmocka_unit_test(what_is_a_problem), cmocka_unit_test(what_is_left_to_the_library), cmocka_unit_test(what_c_is), cmocka_unit_test(what_cannot_be_read), cmocka_unit_test(what_was_seen),
        cmocka_unit_test(what_was_suggested), cmocka_unit_test(calls_of_cublas)};
    return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
