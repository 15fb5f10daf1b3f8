/* SPDX-License-Identifier: MIT
 * Random structured kernels on the emulated machine: nested branches and loops with a different trip count in each lane, breaks, continues and early exits, written like
 * compiler output. Each lane must compute what it computes alone. Where the source has all lanes together, the warp must be converged: aligned barriers are placed
 * there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "emu.h"

enum { PROGRAMS = 3000, SEEDS = 4, MOST_NODES = 160, MOST_DEPTH = 5, VALUES = 4, MOST_THREADS = 96, TEXT = 1 << 16 };

typedef enum kind { SET, GUARDED_SET, IF, LOOP, BREAK, CONTINUE, END, VOTE, BARRIER } kind;

/* The condition is: the top byte of value * multiplier + addend is less than `limit`. */
typedef struct node {
    kind     kind;
    int      form;                 /* variant of the generated PTX */
    int      a, b, c;              /* indices of values */
    uint32_t multiplier, addend, limit;
    int      body, other;          /* first node of each list, -1: empty */
    int      next;                 /* the next node */
} node;

typedef struct program {
    node      node[MOST_NODES];
    int       nodes, first;
    gs_random random;
    char      text[TEXT];
    size_t    size;
    int       labels;
} program;

static uint32_t below(program *p, uint32_t limit) { return (uint32_t)gs_random_below(&p->random, limit); }

/* ---- generation of a program ---- */

static int make_list(program *p, int depth, int loops);

static kind draw_kind(program *p, int depth, int loops)
{
    const uint32_t draw = below(p, 100);
    if (depth < MOST_DEPTH && draw < 26) return IF;
    if (depth < MOST_DEPTH && loops < 3 && draw < 38) return LOOP;
    if (loops > 0 && draw < 46) return BREAK;
    if (loops > 0 && draw < 53) return CONTINUE;
    if (depth > 0 && draw < 58) return END;
    if (draw < 64) return VOTE;
    if (depth == 0 && draw < 80) return BARRIER;
    return draw < 86 ? SET : GUARDED_SET;
}

static int make_node(program *p, int depth, int loops)
{
    const int at = p->nodes++;
    node n = {.kind = draw_kind(p, depth, loops), .form = (int)below(p, 4), .a = (int)below(p, VALUES), .b = (int)below(p, VALUES), .c = (int)below(p, VALUES),
              .multiplier = (uint32_t)gs_random_next(&p->random) | 1, .addend = (uint32_t)gs_random_next(&p->random), .body = -1, .other = -1, .next = -1};
    n.limit = n.kind == END ? 1 + below(p, 40) : below(p, 8) == 0 ? 256 * below(p, 2) : 30 + below(p, 200);
    if (n.kind == IF || n.kind == LOOP) n.body = make_list(p, depth + 1, loops + (n.kind == LOOP));
    if (n.kind == IF && n.form & 1) n.other = make_list(p, depth + 1, loops);
    p->node[at] = n;
    return at;
}

static int make_list(program *p, int depth, int loops)
{
    int first = -1, last = -1;
    for (int count = 1 + (int)below(p, depth ? 4 : 8); count > 0 && p->nodes < MOST_NODES - 2 * MOST_DEPTH; count--) {
        const int at = make_node(p, depth, loops);
        if (last >= 0) p->node[last].next = at;
        else first = at;
        last = at;
    }
    return first;
}

/* ---- one lane alone, on the host ---- */

typedef enum way { ON, BROKEN, CONTINUED, ENDED } way;

typedef struct lane {
    uint32_t value[VALUES];
    uint32_t out;
} lane;

static bool holds(const node *n, const lane *l) { return (l->value[n->a] * n->multiplier + n->addend) >> 24 < n->limit; }

static void set(const node *n, lane *l) { l->value[n->a] = (l->value[n->b] * n->multiplier + n->addend) ^ l->value[n->c]; }

static way run_list(const program *p, int at, lane *l);

static way run_loop(const program *p, const node *n, lane *l)
{
    uint32_t trips = (l->value[n->b] >> 13 & 3) + (n->form & 1);   /* odd form: the test is at the loop's end */
    while (trips > 0) {
        const way w = run_list(p, n->body, l);
        if (w == ENDED) return ENDED;
        if (w == BROKEN) break;
        trips--;
    }
    return ON;
}

static way run_node(const program *p, const node *n, lane *l)
{
    switch (n->kind) {
    case SET: set(n, l); break;
    case GUARDED_SET:
        if (holds(n, l)) set(n, l);
        break;
    case IF: return run_list(p, holds(n, l) ? n->body : n->other, l);
    case LOOP: return run_loop(p, n, l);
    case BREAK: return holds(n, l) ? BROKEN : ON;
    case CONTINUE: return holds(n, l) ? CONTINUED : ON;
    case END:
        if (!holds(n, l)) break;
        l->out = l->value[n->b] + 1;
        return ENDED;
    default: break;
    }
    return ON;
}

static way run_list(const program *p, int at, lane *l)
{
    for (; at >= 0; at = p->node[at].next) {
        const way w = run_node(p, &p->node[at], l);
        if (w != ON) return w;
    }
    return ON;
}

static uint32_t run_lane(const program *p, uint32_t thread)
{
    lane l = {.out = 0};
    for (uint32_t i = 0; i < VALUES; i++) l.value[i] = (thread + 1) * 2654435761u + i * 40503u;
    if (run_list(p, p->first, &l) != ENDED) l.out = l.value[0] ^ l.value[1] ^ l.value[2] ^ l.value[3];
    return l.out;
}

/* ---- as PTX ---- */

static void say(program *p, const char *format, ...) GS_PRINTF(2, 3);
static void say(program *p, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    p->size += (size_t)vsnprintf(p->text + p->size, TEXT - p->size, format, values);
    va_end(values);
    assert_true(p->size < TEXT);
}

/* Sets predicate p to the condition. */
static void say_condition(program *p, const node *n)
{
    say(p, "mad.lo.u32 x, v%d, %u, %u;\nshr.u32 x, x, 24;\nsetp.lt.u32 p, x, %u;\n", n->a, n->multiplier, n->addend, n->limit);
}

static void say_list(program *p, int at, int depth, int again, int out);

static void say_if(program *p, const node *n, int depth, int again, int out)
{
    const int other = p->labels++, end = p->labels++;
    say_condition(p, n);
    if (n->form & 2) {   /* the body comes after the other branch */
        say(p, "@p bra L%d;\n", other);
        say_list(p, n->other, depth, again, out);
        say(p, "bra.uni L%d;\nL%d:\n", end, other);
        say_list(p, n->body, depth, again, out);
    } else {
        say(p, "@!p bra L%d;\n", other);
        say_list(p, n->body, depth, again, out);
        if (n->other >= 0) say(p, "bra L%d;\n", end);
        say(p, "L%d:\n", other);
        say_list(p, n->other, depth, again, out);
    }
    say(p, "L%d:\n", end);
}

static void say_loop(program *p, const node *n, int depth)
{
    const int head = p->labels++, again = p->labels++, out = p->labels++;
    say(p, "shr.u32 c%d, v%d, 13;\nand.b32 c%d, c%d, 3;\n", depth, n->b, depth, depth);
    if (n->form & 1) say(p, "add.u32 c%d, c%d, 1;\n", depth, depth);
    say(p, "L%d:\n", head);
    if (!(n->form & 1)) say(p, "setp.eq.u32 p, c%d, 0;\n@p bra L%d;\n", depth, out);
    say_list(p, n->body, depth + 1, again, out);
    say(p, "L%d:\nsub.u32 c%d, c%d, 1;\n", again, depth, depth);
    if (n->form & 1)
        say(p, "setp.ne.u32 p, c%d, 0;\n@p bra L%d;\n", depth, head);
    else
        say(p, "bra L%d;\n", head);
    say(p, "L%d:\n", out);
}

static void say_node(program *p, const node *n, int depth, int again, int out)
{
    switch (n->kind) {
    case GUARDED_SET:
        say_condition(p, n);
        say(p, "mad.lo.u32 x, v%d, %u, %u;\n@p xor.b32 v%d, x, v%d;\n", n->b, n->multiplier, n->addend, n->a, n->c);
        break;
    case SET: say(p, "mad.lo.u32 x, v%d, %u, %u;\nxor.b32 v%d, x, v%d;\n", n->b, n->multiplier, n->addend, n->a, n->c); break;
    case IF: say_if(p, n, depth, again, out); break;
    case LOOP: say_loop(p, n, depth); break;
    case BREAK:
    case CONTINUE:
        say_condition(p, n);
        say(p, "@p bra L%d;\n", n->kind == BREAK ? out : again);
        break;
    case END:
        say_condition(p, n);
        say(p, "add.u32 x, v%d, 1;\n@p st.global.u32 [o], x;\n@p %s;\n", n->b, n->form == 0 ? "ret" : n->form == 1 ? "exit" : "bra DONE");
        break;
    case VOTE:   /* among the lanes that happen to be converged; has no effect */
        say(p, "activemask.b32 m;\nvote.sync.ballot.b32 x, 1, m;\nxor.b32 x, x, m;\nadd.u32 v%d, v%d, x;\nbar.warp.sync m;\n", n->a, n->a);
        break;
    case BARRIER: say(p, n->form & 1 ? "bar.sync 0;\n" : "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"); break;
    }
}

static void say_list(program *p, int at, int depth, int again, int out)
{
    for (; at >= 0; at = p->node[at].next) say_node(p, &p->node[at], depth, again, out);
}

static void write_program(program *p)
{
    p->size = 0;
    p->labels = 0;
    say(p, ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .pred p;\n.reg .b32 v<4>, c<8>, x, m, t;\n.reg .b64 o, y;\n"
           "ld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nmul.wide.u32 y, t, 4;\nadd.s64 o, o, y;\nadd.u32 t, t, 1;\n");
    for (uint32_t i = 0; i < VALUES; i++) say(p, "mad.lo.u32 v%u, t, 2654435761, %u;\n", i, i * 40503u);
    say_list(p, p->first, 0, -1, -1);
    say(p, "bar.sync 0;\nxor.b32 v0, v0, v1;\nxor.b32 v0, v0, v2;\nxor.b32 v0, v0, v3;\nst.global.u32 [o], v0;\nDONE:\nret;\n}\n");
}

/* ---- the comparison ---- */

static void check_program(program *p, uint64_t number)
{
    static uint32_t zero[MOST_THREADS];
    emu_test t;
    uint64_t out;
    *p = (program){.random = {number * 7919}};
    p->first = make_list(p, 0, 0);
    write_program(p);
    if (emu_load(&t, p->text, NULL) != GS_OK) fail_msg("program %d: %s\n%s", (int)number, t.error.text, p->text);
    out = emu_buffer(&t, zero, sizeof zero);
    emu_param(&t, 0, &out, sizeof out);
    t.launch.block[0] = 1 + below(p, MOST_THREADS);
    t.launch.step_limit = 10000000;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t *const words = emu_bytes(&t, out, sizeof zero);
        memset(words, 0xff, sizeof zero);
        t.launch.seed = seed;
        if (emu_run(&t) != GS_OK) fail_msg("program %d, seed %d: %s\n%s", (int)number, (int)seed, t.error.text, p->text);
        for (uint32_t i = 0; i < t.launch.block[0]; i++)
            if (words[i] != run_lane(p, i)) fail_msg("program %d, seed %d: thread %u has %#x, not %#x\n%s", (int)number, (int)seed, i, words[i], run_lane(p, i), p->text);
    }
    emu_end(&t);
}

static void test_random_programs(void **state)
{
    static program p;
    (void)state;
    for (uint64_t number = 1; number <= PROGRAMS; number++) check_program(&p, number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
    return cmocka_run_group_tests_name("random control flow on the emulated machine", tests, NULL, NULL);
}
