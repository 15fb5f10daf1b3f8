/* SPDX-License-Identifier: MIT
 * wmma: products of all shapes, layouts and types compared with naive ones, from and to global and shared memory, with gaps between the lines; what is refused; and a
 * product that states another layout than its load. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "support/leaks.h"
#include "base/half.h"
#include "emu.h"

enum { DEPTH = 16, GAP = 8, BYTES = 8192 };

typedef struct wmma_case {
    const char *shape;
    int  m, n;
    bool bf16, half, a_columns, b_columns, d_columns, shared;
} wmma_case;

static float element(int i, int j) { return (float)((i * 7 + j * 13 + i * j) % 11 - 5); }

static uint16_t narrow(float value, bool bf16) { return bf16 ? gs_f32_to_bf16(value) : gs_f32_to_f16(value); }

static void list_of(char *text, size_t size, const char *letter, int count)
{
    size_t used = 0;
    for (int i = 0; i < count; i++) used += (size_t)snprintf(text + used, size - used, "%s%s%d", i ? ", " : "{", letter, i);
    snprintf(text + used, size - used, "}");
}

static void write_kernel(char *text, size_t size, const wmma_case *c, bool wrong_layout)
{
    char a[128], b[128], acc[128], head[1024];
    const char *const type = c->bf16 ? "bf16" : "f16", *const result = c->half ? "f16" : "f32";
    const char *const al = c->a_columns ? "col" : "row", *const bl = c->b_columns ? "col" : "row", *const dl = c->d_columns ? "col" : "row";
    const int lda = (c->a_columns ? c->m : DEPTH) + GAP, ldb = (c->b_columns ? DEPTH : c->n) + GAP, ldd = (c->d_columns ? c->m : c->n) + GAP;
    const int of_a = !c->bf16 || c->m == 32 ? 8 : c->m == 16 ? 4 : 2, of_b = !c->bf16 || c->n == 32 ? 8 : c->n == 16 ? 4 : 2;
    list_of(a, sizeof a, "a", of_a);
    list_of(b, sizeof b, "b", of_b);
    list_of(acc, sizeof acc, c->half ? "c" : "f", c->half ? 4 : 8);
    snprintf(head, sizeof head,
             ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n"
             ".reg .b32 a<8>, b<8>, c<4>, s, t, v;\n.reg .f32 f<8>;\n.reg .b64 x, y, z, d, o;\n.shared .align 32 .b8 buf[4096];\n"
             "ld.param.u64 x, [pa];\nld.param.u64 y, [pb];\nld.param.u64 z, [pc];\nld.param.u64 d, [pd];\nmov.u32 s, buf;\nmov.u32 t, %%tid.x;\n");
    const char *const types = c->bf16 ? "f32.bf16.bf16.f32" : c->half ? "f16.f16" : "f32.f32";
    snprintf(text, size,
             "%swmma.load.a.sync.aligned.%s.%s.global.%s %s, [x], %d;\nwmma.load.b.sync.aligned.%s.%s.%s %s, [y], %d;\n"
             "wmma.load.c.sync.aligned.%s.%s.global.%s %s, [z], %d;\n"
             "wmma.mma.sync.aligned.%s.%s.%s.%s %s, %s, %s, %s;\nwmma.store.d.sync.aligned.%s.%s.%s.%s [%s], %s, %d;\nret;\n}\n",
             head, al, c->shape, type, a, lda, bl, c->shape, type, b, ldb, dl, c->shape, result, acc, ldd, wrong_layout ? (c->a_columns ? "row" : "col") : al, bl,
             c->shape, types, acc, a, b, acc, dl, c->shape, c->shared ? "shared" : "global", result, c->shared ? "s" : "d", acc, ldd);
    if (!c->shared) return;
    char *const end = strstr(text, "ret;");
    snprintf(end, size - (size_t)(end - text),   /* copies the lines out, by one thread */
             "bar.warp.sync -1;\nmul.wide.u32 o, t, 4;\nadd.s64 o, o, d;\nshl.b32 t, t, 2;\nadd.u32 s, s, t;\n.reg .pred p;\nmov.u32 t, 0;\n"
             "L:\nld.shared.u32 v, [s];\nst.global.u32 [o], v;\nadd.u32 s, s, 128;\nadd.s64 o, o, 128;\nadd.u32 t, t, 1;\nsetp.lt.u32 p, t, 16;\n@p bra L;\nret;\n}\n");
}

static int wrong_elements(const wmma_case *c, bool wrong_layout)
{
    static char text[8192];
    static uint8_t a[BYTES], b[BYTES], acc[BYTES];
    emu_test t;
    const int lda = (c->a_columns ? c->m : DEPTH) + GAP, ldb = (c->b_columns ? DEPTH : c->n) + GAP, ldd = (c->d_columns ? c->m : c->n) + GAP;
    write_kernel(text, sizeof text, c, wrong_layout);
    for (int i = 0; i < c->m; i++)
        for (int k = 0; k < DEPTH; k++) ((uint16_t *)(void *)a)[c->a_columns ? k * lda + i : i * lda + k] = narrow(element(i, k), c->bf16);
    for (int k = 0; k < DEPTH; k++)
        for (int j = 0; j < c->n; j++) ((uint16_t *)(void *)b)[c->b_columns ? j * ldb + k : k * ldb + j] = narrow(element(j, k + 3), c->bf16);
    for (int i = 0; i < c->m; i++)
        for (int j = 0; j < c->n; j++) {
            const int at = c->d_columns ? j * ldd + i : i * ldd + j;
            const float value = element(i + 1, j + 2);
            if (c->half) ((uint16_t *)(void *)acc)[at] = gs_f32_to_f16(value);
            else ((float *)(void *)acc)[at] = value;
        }
    if (emu_load(&t, text, NULL) != GS_OK) fail_msg("%s: %s", t.error.text, text);
    const uint64_t at[] = {emu_buffer(&t, a, BYTES), emu_buffer(&t, b, BYTES), emu_buffer(&t, acc, BYTES), emu_buffer(&t, acc, BYTES)};
    for (int i = 0; i < 4; i++) emu_param(&t, i, &at[i], sizeof at[i]);
    if (c->shared) t.launch.check = false;   /* gaps between lines are never written */
    if (emu_run(&t) != GS_OK) fail_msg("%s: %s", t.error.text, text);
    assert_int_equal(t.launch.counters.matrix_flops, 2 * c->m * c->n * DEPTH);
    const uint8_t *const d = emu_bytes(&t, at[3], BYTES);
    int wrong = 0;
    for (int i = 0; i < c->m; i++)
        for (int j = 0; j < c->n; j++) {
            const int where = c->d_columns ? j * ldd + i : i * ldd + j;
            float sum = element(i + 1, j + 2);
            for (int k = 0; k < DEPTH; k++) sum += element(i, k) * element(j, k + 3);
            wrong += c->half ? ((const uint16_t *)(const void *)d)[where] != gs_f32_to_f16(sum) : ((const float *)(const void *)d)[where] != sum;
        }
    emu_end(&t);
    return wrong;
}

static void test_products(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int m, n;
    } shapes[] = {{"m16n16k16", 16, 16}, {"m32n8k16", 32, 8}, {"m8n32k16", 8, 32}};
    for (size_t s = 0; s < GS_COUNT(shapes); s++)
        for (int bits = 0; bits < 16; bits++)
            for (int type = 0; type < 3; type++) {
                const wmma_case c = {shapes[s].name, shapes[s].m, shapes[s].n, type == 1, type == 2, bits & 1, bits & 2, bits & 4, (bits & 8) != 0 && type != 2};
                const int wrong = wrong_elements(&c, false);
                if (wrong) fail_msg("%s, type %d, layouts %#x: %d elements are wrong", c.shape, type, (unsigned)bits, wrong);
            }
}

/* A fragment is loaded row-major and multiplied as column-major. */
static void test_layouts_must_agree(void **state)
{
    (void)state;
    const wmma_case c = {"m16n16k16", 16, 16, false, false, false, true, false, false};
    assert_true(wrong_elements(&c, true) > 100);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "wmma.load.a.sync.aligned.row.m16n16k8.global.f16 {a, a, a, a, a, a, a, a}, [x], 16;",
        "wmma.load.a.sync.aligned.diag.m16n16k16.global.f16 {a, a, a, a, a, a, a, a}, [x], 16;",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a, a, a, a}, [x], 16;",
        "wmma.load.c.sync.aligned.row.m16n16k16.global.bf16 {a, a, a, a}, [x], 16;",
        "wmma.load.d.sync.aligned.row.m16n16k16.global.f16 {a, a, a, a}, [x], 16;",
        "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {a}, {a}, {a}, {a};",
        "wmma.store.d.sync.aligned.row.m16n16k16.local.f16 [x], {a, a, a, a}, 16;",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a, a, a, a, _, a, a, a}, [x], 16;",
        "wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {a, a, a, _}, [x], 16;",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {_, a, a, a}, {a, a, a, a, a, a, a, a}, {a, a, a, a, a, a, a, a}, {a, a, a, a};",
    };
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        char text[1024];
        emu_test t;
        snprintf(text, sizeof text, ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 a;\n.reg .b64 x;\nmov.u64 x, 0;\n%s\nret;\n}\n", wrong[i]);
        assert_int_equal(emu_load(&t, text, NULL), GS_ERROR_UNSUPPORTED);
        emu_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_layouts_must_agree), cmocka_unit_test(test_refused)};
    return run_without_leaks("wmma", tests, sizeof tests / sizeof *tests);
}
