/* SPDX-License-Identifier: MIT
 * The order of global memory between blocks: which sequences of fences, barriers and flag operations order one block's writes before another block's reads or writes,
 * and which do not. Blocks are told apart by %ctaid; block 0 writes, the others read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "emu.h"

enum { SEEDS = 8, BYTES = 1 << 20 };

/* d: data, w: flags, both zero; b: this block, t: this thread, m: this thread's place in d; s: 16 bytes of shared memory for each thread. */
#define HEAD                                                                                                                        \
    ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u64 flags)\n{\n"                     \
    ".reg .pred p, q, r;\n.reg .b16 h;\n.reg .b32 a, b, c, e, s, t, n;\n.reg .f32 f;\n.reg .b64 d, w, m, x;\n.shared .align 16 .b8 buf[4096];\n" \
    "ld.param.u64 d, [data];\nld.param.u64 w, [flags];\nmov.u32 b, %ctaid.x;\nmov.u32 t, %tid.x;\nmul.wide.u32 m, t, 16;\nadd.s64 m, m, d;\n"  \
    "mov.u32 s, buf;\nmad.lo.u32 s, t, 16, s;\nmov.u32 a, 1;\nmov.f32 f, 0f3f800000;\nsetp.eq.u32 p, b, 0;\nsetp.eq.u32 q, t, 0;\n"
#define TAIL "\nDONE:\nret;\n}\n"

#define FENCE    "fence.acq_rel.gpu;\n"
#define SYNC     "bar.sync 0;\n"
#define WRITE    "@p st.global.u32 [m], a;\n"                               /* by all threads of block 0 */
#define GIVE     "@!p bra TAKE;\n@q red.global.add.u32 [w], 1;\nbra DONE;\nTAKE:\n"   /* block 0 sets the flag and ends; the others continue */
#define GIVE_RELEASE "@!p bra TAKE;\n@q red.release.gpu.global.add.u32 [w], 1;\nbra DONE;\nTAKE:\n"
#define GIVE_STORE "@!p bra TAKE;\n@q st.release.gpu.global.u32 [w], a;\nbra DONE;\nTAKE:\n"
#define SPIN(load) "@!q bra CAME;\nLOOP:\n" load " c, [w];\nsetp.eq.u32 r, c, 0;\n@r bra LOOP;\nCAME:\n"
#define TAKE     SPIN("ld.relaxed.gpu.global.u32")
#define TAKE_ACQUIRE SPIN("ld.acquire.gpu.global.u32")
#define TAKE_ATOM "@!q bra CAME;\nLOOP:\natom.global.or.b32 c, [w], 0;\nsetp.eq.u32 r, c, 0;\n@r bra LOOP;\nCAME:\n"
#define READ     "ld.global.u32 e, [m];\n"

typedef struct shape {
    uint32_t blocks, threads, cluster;
    bool     order, unchecked;
} shape;

/* Launches once; returns the address of the flags. */
static uint64_t run(emu_test *t, const char *body, shape of, uint64_t seed)
{
    static char text[16384];
    static uint8_t zero[4096];
    snprintf(text, sizeof text, "%s%s%s", HEAD, body, TAIL);
    if (emu_load(t, text, NULL) != GS_OK) fail_msg("%s: %s", body, t->error.text);
    const uint64_t data = emu_buffer(t, zero, sizeof zero), flags = emu_buffer(t, NULL, BYTES);
    memset(emu_bytes(t, flags, BYTES), 0, BYTES);
    gs_emu_memory_mark(gs_emu_memory_find(t->memory, flags, BYTES), flags, BYTES);
    emu_param(t, 0, &data, sizeof data);
    emu_param(t, 1, &flags, sizeof flags);
    t->launch.grid[0] = of.blocks;
    t->launch.block[0] = of.threads;
    t->launch.cluster[0] = of.cluster;
    t->launch.order = of.order;
    t->launch.check = !of.unchecked;
    t->launch.seed = seed;
    t->launch.step_limit = 4000000;
    const gs_status status = emu_run(t);
    if (status != GS_OK && status != GS_ERROR_FAULT) fail_msg("%s: %s", body, t->error.text);
    return flags;
}

/* The number of seeds with a finding of this kind. Other findings fail the test, and the text must contain `words`. */
static int unordered(const char *body, shape of, const char *words)
{
    int found = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        emu_test t;
        run(&t, body, of, seed);
        for (int i = 0; i < t.launch.findings; i++) {
            const gs_emu_finding *const finding = &t.launch.finding[i];
            if (finding->kind != GS_EMU_UNORDERED_FINDING || !strstr(finding->text, words)) fail_msg("%s: %s: %s", body, gs_emu_finding_name(finding->kind), finding->text);
        }
        found += t.launch.findings > 0;
        emu_end(&t);
    }
    return found;
}

static const shape two = {2, 64, 1, false, false};

static void expect_right(const char *body, shape of)
{
    if (unordered(body, of, "") != 0) fail_msg("found: %s", body);
}

static void expect_wrong(const char *body, shape of, const char *words)
{
    const int found = unordered(body, of, words);
    if (found != SEEDS) fail_msg("found under %d of %d seeds: %s", found, SEEDS, body);
}

static void test_chains(void **state)
{
    (void)state;
    static const char *const right[] = {
        WRITE FENCE SYNC GIVE TAKE FENCE SYNC READ,
        WRITE SYNC FENCE GIVE TAKE SYNC FENCE READ,                  /* fenced by the thread that sets the flag, and by those that read */
        WRITE "membar.gl;\n" SYNC GIVE TAKE "membar.gl;\n" SYNC READ,
        WRITE "fence.sc.sys;\n" SYNC GIVE TAKE FENCE SYNC READ,
        WRITE SYNC GIVE_RELEASE TAKE_ACQUIRE SYNC READ,
        WRITE SYNC GIVE_STORE TAKE_ACQUIRE SYNC READ,
        WRITE FENCE SYNC GIVE TAKE_ATOM FENCE SYNC READ,
        WRITE FENCE SYNC GIVE TAKE SYNC "ld.volatile.global.u32 e, [m];\n",
        WRITE FENCE SYNC GIVE TAKE FENCE SYNC "ld.relaxed.cta.global.u32 e, [m];\n",
        WRITE FENCE SYNC GIVE TAKE FENCE SYNC "st.global.u32 [m], a;\n",
        WRITE SYNC "fence.release.gpu;\n" GIVE TAKE "fence.acquire.gpu;\n" SYNC READ,
    };
    static const struct {
        const char *body, *words;
    } wrong[] = {
        {WRITE SYNC GIVE TAKE FENCE SYNC READ,                                     "no fence (__threadfence), or no barrier"},
        {WRITE FENCE GIVE TAKE FENCE SYNC READ,                                    "no fence (__threadfence), or no barrier"},   /* the fence of the other warp is missing */
        {WRITE "@q " FENCE SYNC GIVE TAKE FENCE SYNC READ,                         "no fence (__threadfence), or no barrier"},
        {WRITE "fence.acq_rel.cta;\n" SYNC GIVE TAKE FENCE SYNC READ,              "no fence (__threadfence), or no barrier"},
        {WRITE "fence.acq_rel.cluster;\n" SYNC GIVE TAKE FENCE SYNC READ,          "no fence (__threadfence), or no barrier"},
        {FENCE WRITE SYNC GIVE TAKE FENCE SYNC READ,                               "no fence (__threadfence), or no barrier"},   /* before the store */
        {WRITE SYNC "fence.acquire.gpu;\n" GIVE TAKE FENCE SYNC READ,              "no fence (__threadfence), or no barrier"},
        {WRITE FENCE SYNC GIVE TAKE SYNC READ,                                     "but no fence (__threadfence) is between that and this"},
        {WRITE FENCE SYNC GIVE TAKE "fence.release.gpu;\n" SYNC READ,              "but no fence (__threadfence) is between that and this"},
        {WRITE SYNC GIVE_STORE TAKE SYNC READ,                                     "but no fence (__threadfence) is between that and this"},
        {WRITE FENCE SYNC GIVE TAKE SYNC "st.global.u32 [m], a;\n",                "write of"},
        {WRITE FENCE SYNC GIVE TAKE SYNC "ld.relaxed.cta.global.u32 e, [m];\n",      "does not reach that block"},
        {WRITE FENCE SYNC GIVE TAKE SYNC "ld.acquire.cluster.global.u32 e, [m];\n",  "does not reach that block"},
        {WRITE FENCE SYNC GIVE TAKE SYNC "atom.relaxed.cta.global.or.b32 e, [m], 0;\n", "does not reach that block"},
    };
    for (size_t i = 0; i < GS_COUNT(right); i++) expect_right(right[i], two);
    for (size_t i = 0; i < GS_COUNT(wrong); i++) expect_wrong(wrong[i].body, two, wrong[i].words);
}

/* Block 1 passes on what it learned from block 0. */
static void test_knowledge_is_passed_on(void **state)
{
    (void)state;
    static const char relay[] = WRITE FENCE SYNC GIVE
        "setp.eq.u32 p, b, 1;\n@!p bra THIRD;\n"
        "@!q bra DONE;\nONE:\nld.acquire.gpu.global.u32 c, [w];\nsetp.eq.u32 r, c, 0;\n@r bra ONE;\n%sred.%sglobal.add.u32 [w+4], 1;\nbra DONE;\n"
        "THIRD:\n@!q bra CAME;\nTWO:\nld.acquire.gpu.global.u32 c, [w+4];\nsetp.eq.u32 r, c, 0;\n@r bra TWO;\nCAME:\n" SYNC READ;
    const shape three = {3, 64, 1, false, false};
    char body[4096];
    snprintf(body, sizeof body, relay, "", "release.gpu.");
    expect_right(body, three);
    snprintf(body, sizeof body, relay, FENCE, "");
    expect_right(body, three);
}

static void test_what_does_not_conflict(void **state)
{
    (void)state;
    const shape told = {8, 64, 1, true, false}, one = {8, 32, 1, true, false};   /* one: one warp for each block */
    static const char *const right[] = {
        /* separate bytes of one word */
        "mad.wide.u32 x, b, 2, d;\ncvt.u16.u32 h, b;\nst.global.u16 [x], h;\nld.global.u16 h, [x];\n",
        "mad.wide.u32 x, b, 1, d;\nst.global.u8 [x], b;\n",
        /* accesses that allow for other blocks */
        "red.global.add.f32 [d], f;\n", "st.volatile.global.u32 [d], a;\nld.volatile.global.u32 c, [d];\n", "red.global.add.u32 [d], 1;\natom.global.add.u32 c, [d], 1;\n",
        "st.relaxed.gpu.global.u32 [d], a;\nld.relaxed.gpu.global.u32 c, [d];\n",
        /* lanes of a warp are not distinguished */
        "@p st.global.u32 [d], a;\n@p ld.global.u32 c, [d];\n",
        "ld.global.u32 c, [d];\n",
        /* a discarded line ends before the next word */
        "@p discard.global.L2 [d], 128;\n@!p ld.global.u32 c, [d+128];\n",
    };
    for (size_t i = 0; i < GS_COUNT(right); i++) expect_right(right[i], one);
    expect_wrong("@p st.global.u32 [d], a;\n", told, "no barrier is between");   /* two warps of a block */
    expect_right("@p st.volatile.global.u32 [d], a;\nbar.sync 0;\n@p ld.global.u32 c, [d];\n", told);
    expect_wrong("st.global.u32 [d], a;\n", told, "write of 4 bytes");
    expect_wrong("@p st.volatile.global.u32 [d], a;\n@!p ld.global.u32 c, [d];\n", told, "read of 4 bytes");
    expect_wrong("@p red.global.add.f32 [d], f;\n@!p ld.global.f32 f, [d];\n", told, "read of 4 bytes");
    expect_wrong("@p st.global.u32 [m], a;\n@!p st.u32 [m], a;\n", told, "write of");
    expect_wrong("@p discard.global.L2 [d], 128;\n@!p ld.global.u32 c, [d+124];\n", one, "read of 4 bytes");
    expect_wrong("st.global.u32 [d], a;\nred.global.add.f32 [d], f;\n", told, "of 4 bytes");
    /* Checked only if requested, or if blocks communicate. */
    expect_right("st.global.u32 [d], a;\n", (shape){8, 64, 1, false, false});
    expect_right("st.global.u32 [d], a;\n", (shape){8, 64, 1, true, true});
    expect_wrong("st.global.u32 [d], a;\n" FENCE, (shape){8, 64, 1, false, false}, "write of 4 bytes");
}

typedef struct width {
    int         bytes;
    const char *type, *from, *to;   /* from: the register that is stored; to: the register that is loaded */
} width;

/* Block 0 stores at every place of 12 bytes, block 1 loads at every place: there must be a finding if, and only if, they share a byte. */
static void store_and_load(width store, width load)
{
    for (int at = 0; at < 12; at += store.bytes)
        for (int from = 0; from < 12; from += load.bytes) {
            const bool meet = at < from + load.bytes && from < at + store.bytes;
            char body[1024];
            emu_test t;
            snprintf(body, sizeof body, "mov.b16 h, 1;\nmov.b64 x, 1;\n@p st.global.%s [d+%d], %s;\n" GIVE TAKE "ld.global.%s %s, [d+%d];\n",
                     store.type, at, store.from, load.type, load.to, from);
            run(&t, body, (shape){2, 1, 1, true, false}, 1);
            if ((t.launch.findings > 0) != meet) fail_msg("found %d: %s", t.launch.findings, body);
            if (meet) assert_int_equal(t.launch.finding[0].kind, GS_EMU_UNORDERED_FINDING);
            emu_end(&t);
        }
}

/* The bytes of a word are distinguished, wherever an access begins and ends. */
static void test_bytes_of_a_word(void **state)
{
    (void)state;
    static const width widths[] = {{1, "u8", "a", "e"}, {2, "u16", "h", "h"}, {4, "u32", "a", "e"}, {8, "u64", "x", "x"}};
    for (size_t i = 0; i < GS_COUNT(widths); i++)
        for (size_t j = 0; j < GS_COUNT(widths); j++) store_and_load(widths[i], widths[j]);
}

/* In a cluster its barrier orders without a fence. */
static void test_clusters(void **state)
{
    (void)state;
    const shape pair = {2, 64, 2, true, false};
    expect_right(WRITE "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n@!p ld.global.u32 e, [m];\n", pair);
    expect_wrong(WRITE "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n@!p st.global.u32 [m], a;\n@p ld.global.u32 e, [m];\n", pair, "no barrier of the cluster");
}

#define BULK(wait) "@!p bra TAKE;\n@!q bra DONE;\nst.shared.v4.u32 [s], {a, a, a, a};\nfence.proxy.async.shared::cta;\n"                    \
                   "cp.async.bulk.global.shared::cta.bulk_group [m], [s], 16;\ncp.async.bulk.commit_group;\n" wait FENCE "red.global.add.u32 [w], 1;\n" \
                   "cp.async.bulk.wait_group 0;\nbra DONE;\nTAKE:\n"
#define BULK_READ  "@!q bra DONE;\nmbarrier.init.shared::cta.b64 [s+64], 1;\nfence.mbarrier_init.release.cluster;\n"                                \
                   "mbarrier.arrive.expect_tx.shared::cta.b64 _, [s+64], 16;\n"                                                                      \
                   "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [m], 16, [s+64];\n"                                      \
                   "AGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 r, [s+64], 0;\n@!r bra AGAIN;\n"

static void test_bulk_copies(void **state)
{
    (void)state;
    const shape one = {2, 32, 1, false, false};
    expect_right(BULK("cp.async.bulk.wait_group 0;\n") TAKE FENCE "@q ld.global.u32 e, [m];\n", one);
    expect_wrong(BULK("cp.async.bulk.wait_group.read 0;\n") TAKE FENCE "@q ld.global.u32 e, [m];\n", one, "");
    expect_wrong(BULK("") TAKE FENCE "@q ld.global.u32 e, [m];\n", one, "");
    expect_right(WRITE FENCE SYNC GIVE TAKE FENCE SYNC BULK_READ, one);
    expect_wrong(WRITE SYNC GIVE TAKE FENCE SYNC BULK_READ, one, "read of 16 bytes");
    expect_right(WRITE FENCE SYNC GIVE TAKE FENCE "cp.async.ca.shared.global [s], [m], 16;\ncp.async.wait_all;\n", (shape){2, 1, 1, false, false});
    expect_wrong(WRITE SYNC GIVE TAKE FENCE SYNC "cp.async.ca.shared.global [s], [m], 16, 4;\ncp.async.wait_all;\n", one, "read of 4 bytes");
}

/* A thread may overwrite by a weak store what it has seen by a strong load, but not the memory beside it. */
#define SEE "@p st.relaxed.gpu.global.v2.u32 [m], {a, a};\n@p bra DONE;\nLOOK:\nld.relaxed.gpu.global.u32 c, [m];\nsetp.eq.u32 r, c, 0;\n@r bra LOOK;\n"

static void test_what_was_seen(void **state)
{
    (void)state;
    expect_right(SEE "st.global.u32 [m], t;\n", two);
    expect_right(SEE "ld.global.u32 c, [m];\n", two);
    expect_right(SEE SYNC "st.global.u32 [m], t;\n", two);
    expect_wrong(SEE "st.global.u32 [m+4], t;\n", two, "nothing that this block looked at");
    expect_right(WRITE FENCE SYNC "@!p bra TAKE;\n@q st.relaxed.gpu.global.u8 [w+3], 1;\nbra DONE;\nTAKE:\n@!q bra CAME;\nLOOP:\nld.relaxed.gpu.global.u8 c, [w+3];\n"
                 "setp.eq.u32 r, c, 0;\n@r bra LOOP;\nCAME:\n" FENCE SYNC READ "@q st.global.u8 [w+3], 0;\n", two);
}

/* The number of seeds with which two one-warp blocks leave both words at zero: the second block did not read the first one's store, or neither block saw the other's flag. */
static int stale(const char *body, uint32_t cluster)
{
    enum { LAUNCHES = 150 };
    int found = 0;
    for (uint64_t seed = 1; seed <= LAUNCHES; seed++) {
        emu_test t;
        uint32_t word[2];
        const uint64_t flags = run(&t, body, (shape){2, 32, cluster, false, true}, seed);
        memcpy(word, emu_bytes(&t, flags + 64, sizeof word), sizeof word);
        found += !word[0] && !word[1];
        emu_end(&t);
    }
    return found;
}

#define HAND(between, flag) "@!q bra DONE;\n@!p bra TAKE;\nst.relaxed.gpu.global.u32 [d], a;\n" between flag "bra DONE;\nTAKE:\nLOOP:\nld.relaxed.gpu.global.u32 c, [w];\n" \
    "setp.eq.u32 r, c, 0;\n@r bra LOOP;\n" FENCE "ld.relaxed.gpu.global.u32 e, [d];\nst.global.u32 [w+64], e;\n"
#define FLAG "st.relaxed.gpu.global.u32 [w], a;\n"
#define RED  "red.relaxed.gpu.global.add.u32 [w], 1;\n"
/* Each block sets its own flag and reads the other's. */
#define LOOK(set, between) "@!q bra DONE;\nshl.b32 c, b, 2;\nxor.b32 e, c, 4;\ncvt.u64.u32 m, c;\nadd.s64 m, m, w;\ncvt.u64.u32 x, e;\nadd.s64 x, x, w;\n" set between \
    "ld.acquire.gpu.global.u32 n, [x];\nst.global.u32 [m+64], n;\n"
/* Each block adds to one word and reads the sum: one of them sees both. */
#define SUM "@!q bra DONE;\nmad.wide.u32 m, b, 4, w;\nred.relaxed.gpu.global.add.u32 [w+128], 1;\nld.relaxed.gpu.global.u32 n, [w+128];\nsub.u32 n, n, 1;\nst.global.u32 [m+64], n;\n"
/* The same in a cluster, after its barrier: block 0 sees both. */
#define BOTH "@q red.relaxed.gpu.global.add.u32 [w+128], 1;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n@!p bra DONE;\n@!q bra DONE;\n" \
    "ld.relaxed.gpu.global.u32 n, [w+128];\nsub.u32 n, n, 1;\nst.global.u32 [w+64], n;\n"
#define SET  "st.release.gpu.global.u32 [m], a;\n"

/* Stores become visible late and in any order, unless something with a sufficient scope orders them. */
static void test_late_stores(void **state)
{
    (void)state;
    static const char *const right[] = {
        HAND(FENCE, FLAG), HAND("", "st.release.gpu.global.u32 [w], a;\n"), HAND("", "red.release.gpu.global.add.u32 [w], 1;\n"), HAND(FENCE, RED), LOOK(SET, "fence.sc.gpu;\n"), SUM,
        LOOK("atom.acq_rel.gpu.global.exch.b32 c, [m], a;\nadd.u32 c, c, c;\n", ""),   /* its result is used: an atomic operation is never late */
    };
    static const char *const wrong[] = {
        HAND("", FLAG), HAND("", RED), HAND("fence.acq_rel.cta;\n", FLAG), HAND("fence.acq_rel.cluster;\n", FLAG), HAND("", "st.release.cluster.global.u32 [w], a;\n"), LOOK(SET, ""),
        LOOK("red.release.gpu.global.add.u32 [m], 1;\n", ""),
    };
    for (size_t i = 0; i < GS_COUNT(right); i++)
        if (stale(right[i], 1) != 0) fail_msg("not seen: %s", right[i]);
    for (size_t i = 0; i < GS_COUNT(wrong); i++)
        if (stale(wrong[i], 1) == 0) fail_msg("always seen: %s", wrong[i]);
    if (stale(HAND("fence.acq_rel.cluster;\n", FLAG), 2) != 0) fail_msg("not seen within a cluster");
    if (stale(BOTH, 2) != 0) fail_msg("a sum that was released to the cluster is not seen");
}

/* With every seed the read must return 1, which the block has just stored. Block 1 reads a flag, so that blocks count as communicating. */
static void own_store(const char *store, const char *read)
{
    enum { LAUNCHES = 80 };
    for (uint64_t seed = 1; seed <= LAUNCHES; seed++) {
        char body[2048];
        emu_test t;
        uint32_t word;
        snprintf(body, sizeof body, "@!p ld.acquire.gpu.global.u32 c, [w+256];\n@!p bra DONE;\n@!q bra DONE;\n%s%sst.global.u32 [w+64], e;\n", store, read);
        const uint64_t flags = run(&t, body, (shape){2, 32, 1, false, true}, seed);
        memcpy(&word, emu_bytes(&t, flags + 64, sizeof word), sizeof word);
        if (word != 1) fail_msg("seed %d: %u: %s", (int)seed, (unsigned)word, body);
        emu_end(&t);
    }
}

/* A block sees its own stores at once, with every kind of read. */
static void test_own_stores(void **state)
{
    (void)state;
    static const char *const reads[] = {
        "ld.global.u32 e, [d];\n", "ld.relaxed.gpu.global.u32 e, [d];\n", "ld.u32 e, [d];\n", "atom.global.add.u32 e, [d], 0;\n", "atom.global.cas.b32 e, [d], 5, 6;\n",
        "ld.global.v4.u32 {e, c, c, c}, [d];\n", "ld.global.u8 e, [d];\n",
        "cp.async.ca.shared.global [s], [d], 4;\ncp.async.wait_all;\nld.shared.u32 e, [s];\n",
        "cp.async.ca.shared.global [s], [d], 16, 4;\ncp.async.wait_all;\nld.shared.u32 e, [s];\n",
        "cp.async.cg.shared.global [s], [d], 16, 2;\ncp.async.wait_all;\nld.shared.u16 h, [s];\ncvt.u32.u16 e, h;\n",
        "fence.proxy.async.global;\n" BULK_READ "ld.shared.u32 e, [s];\n",
    };
    static const char *const stores[] = {"st.relaxed.gpu.global.u32 [d], a;\n", "st.volatile.global.u32 [d], a;\n", "st.release.gpu.global.u32 [d], a;\n", "red.relaxed.gpu.global.add.u32 [d], 1;\n"};
    for (size_t i = 0; i < GS_COUNT(reads); i++)
        for (size_t j = 0; j < GS_COUNT(stores); j++) own_store(stores[j], reads[i]);
}

/* More flags than can be kept: nothing is found any more, and there are no false findings. */
static void test_too_many_flags(void **state)
{
    (void)state;
    expect_right("mov.u32 n, 0;\nmov.u64 x, w;\nLOOP:\natom.global.add.u32 c, [x], c;\nadd.s64 x, x, 4;\nadd.u32 n, n, 1;\nsetp.lt.u32 r, n, 200000;\n@r bra LOOP;\n"
                 "st.global.u32 [d], a;\n", (shape){1, 1, 1, true, false});
    expect_right("mov.u32 n, 0;\nmov.u64 x, w;\nLOOP:\natom.global.add.u32 c, [x], c;\nadd.s64 x, x, 4;\nadd.u32 n, n, 1;\nsetp.lt.u32 r, n, 100000;\n@r bra LOOP;\n"
                 "st.global.u32 [d], a;\n", (shape){2, 1, 1, true, false});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains), cmocka_unit_test(test_knowledge_is_passed_on), cmocka_unit_test(test_what_does_not_conflict), cmocka_unit_test(test_bytes_of_a_word),
        cmocka_unit_test(test_clusters), cmocka_unit_test(test_bulk_copies), cmocka_unit_test(test_too_many_flags), cmocka_unit_test(test_what_was_seen), cmocka_unit_test(test_late_stores), cmocka_unit_test(test_own_stores),
    };
    return cmocka_run_group_tests_name("order between blocks", tests, NULL, NULL);
}
