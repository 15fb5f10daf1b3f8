/* SPDX-License-Identifier: MIT
 * Kernels written by a scripted model for a scripted worker: whose turn it is and what is developed, what the store keeps and how a run goes on from it, when
 * it ends, and that it ends well whatever the endpoint does. write_words.c has answers that talk to a reader, tests/author/emulated.c has real kernels. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "author/archive.h"
#include "write_run.h"

/* What the store has, as "island.number base candidate=verdict,..." with faults as "?". */
static bool tell_kept(void *self, const gs_turn *turn)
{
    gs_text *const text = self;
    char base[32], name[32];
    short_name(base, turn->base);
    gs_text_addf(text, "%d.%d %s%s", turn->island, turn->number, base, turn->fault[0] ? "?" : "");
    for (int i = 0; i < turn->count; i++) {
        short_name(name, turn->outcomes[i].candidate);
        gs_text_addf(text, " %s=%s", name, turn->outcomes[i].verdict);
    }
    gs_text_add(text, "; ");
    return true;
}

static char *kept(const bench *b)
{
    gs_text text = {0};
    assert_int_equal(gs_store_turns(b->store, NULL, PROBLEM, tell_kept, &text, &error), GS_OK);
    return gs_text_take(&text);
}

/* ---- kinds ---- */

static void kinds_of_kernels(void **state)
{
    (void)state;
    /* legend: source, what it multiplies with */
    static const struct {
        const char *source;
        gs_matrix   matrix;
    } sources[] = {
        {"#include \"common/wgmma.cuh\"\n", GS_MATRIX_WGMMA},
        {"asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16\");", GS_MATRIX_WGMMA},
        {"asm(\"mma.sync.aligned\");", GS_MATRIX_MMA},
        {"gs_mma_m16n8k16(a, b);", GS_MATRIX_MMA},
        {"#include \"common/mma_sync.cuh\"", GS_MATRIX_MMA},
        {"float summa = comma + gamma; // wgmma, mma.sync\n/* gs_wgmma_fence() */", GS_MATRIX_NONE},
        {"a / b; /* unfinished wgmma", GS_MATRIX_NONE},
        {"", GS_MATRIX_NONE},
    };
    char text[64];
    for (size_t i = 0; i < GS_COUNT(sources); i++) assert_int_equal(gs_kind_of(sources[i].source, SIMPLE_MANIFEST, i % 2 ? NULL : "", 32, 0).matrix, sources[i].matrix);
    gs_kind kind = gs_kind_of("wgmma", SIMPLE_MANIFEST, "registers 168\n", 168, 214016);
    assert_string_equal(gs_kind_text(&kind, text), "wgmma <=168 registers <=227 KiB <=256 threads");
    kind = gs_kind_of("", "no manifest", NULL, 255, 0);
    assert_string_equal(gs_kind_text(&kind, text), "none >168 registers <=48 KiB <=128 threads");
    /* what is counted says more than what is written */
    assert_int_equal(gs_kind_of("wgmma", SIMPLE_MANIFEST, "ptx_wgmma 0\nptx_mma 8\nptx_other 90\n", 32, 0).matrix, GS_MATRIX_MMA);
    assert_int_equal(gs_kind_of("wgmma", SIMPLE_MANIFEST, "ptx_wgmma 0\nptx_other 90", 32, 0).matrix, GS_MATRIX_NONE);
    assert_int_equal(gs_kind_of("", SIMPLE_MANIFEST, "ptx_wgmma 4\nptx_other 90", 32, 0).matrix, GS_MATRIX_WGMMA);
}

static void the_archive_keeps_the_best_of_a_kind(void **state)
{
    (void)state;
    gs_archive archive = {0};
    gs_random random = {1};
    const gs_kind one = {GS_MATRIX_MMA, 0, 0, 0}, two = {GS_MATRIX_MMA, 1, 0, 0};
    int drawn[3] = {0};
    assert_null(gs_archive_best(&archive));
    assert_null(gs_archive_draw(&archive, 0, true, &random));
    assert_int_equal(gs_archive_put(&archive, &(gs_elite){one, 0, 0, 0.5}, &error), GS_OK);
    assert_int_equal(gs_archive_put(&archive, &(gs_elite){one, 1, 1, 0.4}, &error), GS_OK);
    assert_int_equal(gs_archive_put(&archive, &(gs_elite){two, 2, 1, 0.3}, &error), GS_OK);
    assert_int_equal(archive.count, 2);
    assert_int_equal(gs_archive_best(&archive)->attempt, 0);
    assert_int_equal(gs_archive_put(&archive, &(gs_elite){one, 3, 1, 0.6}, &error), GS_OK);
    assert_int_equal(archive.count, 2);
    assert_int_equal(gs_archive_best(&archive)->attempt, 3);
    assert_null(gs_archive_draw(&archive, 0, true, &random));
    for (int i = 0; i < 64; i++) drawn[gs_archive_draw(&archive, 0, false, &random)->attempt - 2]++;
    assert_true(drawn[0] > 10 && drawn[1] > 10);
    gs_archive_sort(&archive);
    assert_int_equal(archive.list[1].attempt, 2);
    free(archive.list);
}

/* Those that are as good stand in the order in which they were tried, so that the same run prints the same list. */
static void the_archive_orders_ties(void **state)
{
    (void)state;
    /* legend: attempt, score; as they come, and as they are sorted */
    static const struct { int attempt; double score; } given[] = {{7, 0.5}, {3, 0.5}, {5, 0.8}, {1, 0.5}, {9, 0.8}, {2, 0.1}, {0, 0.1}};
    static const int sorted[] = {5, 9, 1, 3, 7, 0, 2};
    gs_archive archive = {0};
    for (size_t i = 0; i < GS_COUNT(given); i++)
        assert_int_equal(gs_archive_put(&archive, &(gs_elite){{GS_MATRIX_MMA, (int)i, 0, 0}, given[i].attempt, 0, given[i].score}, &error), GS_OK);
    gs_archive_sort(&archive);
    for (size_t i = 0; i < GS_COUNT(sorted); i++) assert_int_equal(archive.list[i].attempt, sorted[i]);
    /* and one that is only as good as what is there does not replace it */
    assert_int_equal(gs_archive_put(&archive, &(gs_elite){archive.list[0].kind, 11, 0, 0.8}, &error), GS_OK);
    assert_int_equal(archive.list[0].attempt, 5);
    assert_int_equal(gs_archive_best(&archive)->attempt, 5);
    free(archive.list);
}

/* ---- a line of development ---- */

/* Everything that an endpoint and a kernel may do, and behind it a good one. */
static void whatever_comes_the_good_one_is_found(void **state)
{
    bench *const b = *state;
    const said script[] = {
        REFUSES, REFUSES,                                                   /* 1 */
        SAYS_TEXT("I cannot think of a kernel."), takes(2 * lib(), "slow"), /* 2: the second question repairs */
        misbehaves("choke"), misbehaves("hang"), misbehaves("crash"), misbehaves("wrong"), misbehaves("timed"), misbehaves("fast"),   /* 3 to 8 */
        says_kernel("int x;\n", "manifest 1\nacc"), CUT_SHORT,              /* 9: not a manifest, nor whole */
        BUSY, takes(0.8 * lib(), "planted"),                                /* 10 */
        takes(0.9 * lib(), "later"),                                        /* 11 */
    };
    how.turns = 11;
    how.patience = 99;
    assert_int_equal(write_with(b, "", script, GS_COUNT(script)), GS_OK);
    has(told_text, "0.1 mma>unread; 0.2 mma>pass +!; ");
    has(told_text, ">compile; ");
    has(told_text, ">hang; ");
    has(told_text, ">fault; ");
    has(told_text, ">exact; ");
    has(told_text, ">timed; ");
    has(told_text, ">floor; ");
    has(told_text, ">unread; 0.10 ");
    has(told_text, ">pass +!; 0.11 ");
    assert_int_equal(result.end, GS_AUTHOR_DONE);
    assert_int_equal(result.judged, 9);
    assert_int_equal(result.passed, 3);
    assert_int_equal(result.unread, 2);
    assert_int_equal(result.turns, 11);
    assert_int_equal(server.requests, (int)GS_COUNT(script));
    assert_int_equal(result.count, 1);   /* one kind */
    has(result.elite[0].source, "planted");
    assert_float_equal(result.elite[0].us / (0.8 * lib()), 1, 0.01);
    assert_true(result.schedule[0] && result.schedule_us > 0 && result.library_us > 0);
    assert_int_equal(notes, 0);
    char *const text = kept(b);
    has(text, "0.1 mma?; 0.1 mma?; 0.2 mma?; 0.2 mma source:");
    has(text, "=compile; ");
    free(text);
}

/* The next question shows what failed; what is developed is what was good. */
static void a_failure_is_shown_and_the_best_is_developed(void **state)
{
    bench *const b = *state;
    how.turns = 5;
    how.patience = 99;
    how.seed = 3;
    assert_int_equal(write_script(b, takes(2 * lib(), "first"), misbehaves("wrong"), takes(lib(), "third"), takes(3 * lib(), "fourth"),
                                  takes(4 * lib(), "fifth")), GS_OK);
    char third[32];
    has(told_text, "0.1 mma>pass +!; 0.2 source:");
    short_name(third, result.elite[0].candidate);
    char expected[64];
    snprintf(expected, sizeof expected, "0.4 %s>pass; ", third);
    has(told_text, expected);
    assert_int_equal(server.requests, 5);
    char wrong[GS_CONTENDER_NAME], source[128];
    snprintf(source, sizeof source, "// fake: wrong\n// fake: us=%g\n", library_us(PROBLEM, 1.1));
    gs_submission_name(source, SIMPLE_MANIFEST, wrong);
    has(server.request[0], "### ");                                  /* notes */
    has_not(server.request[0], "source:");
    has_not(server.request[1], wrong);
    has(server.request[2], wrong);
    has(server.request[3], third);
    char fourth[GS_CONTENDER_NAME];
    snprintf(source, sizeof source, "// fake: us=%g\n// fourth\n", 3 * lib());
    has(server.request[4], gs_submission_name(source, SIMPLE_MANIFEST, fourth));   /* neither developed nor failed: an example */
    for (int i = 0; i < 4; i++) has_not(server.request[i], "fake:");   /* comments */
}

static void the_same_kernel_is_judged_once(void **state)
{
    bench *const b = *state;
    how.turns = 3;
    assert_int_equal(write_script(b, takes(2 * lib(), "same")), GS_OK);
    has(told_text, "0.1 mma>pass +!; ");
    has(told_text, ">pass again; ");
    assert_int_equal(asked(b, "verify"), 2);   /* the schedule's, and this one's */
    char *const text = kept(b);
    assert_int_equal(result.judged, 3);
    const char *const at = strstr(text, "=pass; ");
    assert_true(at && strstr(at + 1, "=pass; ") && strstr(strstr(at + 1, "=pass; ") + 1, "=pass; "));
    free(text);
}

/* What jumps over all that is known is measured again: a prompt says so, also that of a run that goes on. */
static void second_figures_are_told(void **state)
{
    bench *const b = *state;
    how.turns = 3;
    assert_int_equal(write_script(b, takes(1.2 * lib(), "usual"), takes(0.5 * lib(), "jumps"), takes(1.1 * lib(), "behind it")), GS_OK);
    has_not(server.request[1], "measured twice");
    has(server.request[2], "measured twice");
    how.turns = 4;
    assert_int_equal(write_script(b, takes(1.15 * lib(), "later")), GS_OK);
    has(server.request[0], "measured twice");
}

/* ---- islands ---- */

static void islands_take_turns_and_elites_migrate(void **state)
{
    bench *const b = *state;
    how.islands = 2;
    how.turns = 4;
    how.patience = 2;
    /* in turn: island 0 has luck twice, island 1 never */
    assert_int_equal(write_script(b, takes(2 * lib(), "a"), misbehaves("wrong"), takes(1.5 * lib(), "b"), misbehaves("wrong"), misbehaves("timed"),
                                  takes(1.4 * lib(), "c"), takes(1.45 * lib(), "d"), misbehaves("fast")), GS_OK);
    assert_int_equal(server.requests, 8);
    has(told_text, "0.1 mma>pass +!; 1.1 mma>exact; 0.2 source:");
    has(told_text, "1.2 mma>exact again; 0.3 source:");   /* island 0 has had luck */
    has_not(server.request[1], "source:");                /* what island 0 tried is its own */
    has(told_text, "1.3 source:");       /* what island 0 has found */
    has(told_text, ">pass +!; 0.4 ");
    has_not(told_text, "1.3 mma");
    assert_int_equal(result.elite[0].island, 1);
}

/* An island that is restarted from a worse kernel than it had is measured by that. */
static void a_restart_lowers_the_bar(void **state)
{
    bench *const b = *state;
    char source[128];
    snprintf(source, sizeof source, "int mma_x;\n// fake: us=%g\n", 3 * lib());   /* of another kind: the archive has both */
    how.islands = 2;
    how.turns = 4;
    how.patience = 1;
    how.seed = 4;   /* the line's best is developed, and no other elite of the island */
    assert_int_equal(write_script(b, takes(lib(), "good"), says_kernel(source, SIMPLE_MANIFEST), misbehaves("wrong"), misbehaves("hungry"),
                                  takes(2 * lib(), "from the worse"), misbehaves("timed"), takes(1.9 * lib(), "better"), misbehaves("fast")), GS_OK);
    char worse[GS_CONTENDER_NAME], expected[64], name[32];
    short_name(name, gs_submission_name(source, SIMPLE_MANIFEST, worse));
    snprintf(expected, sizeof expected, "0.3 %s>pass +; ", name);
    has(told_text, expected);
    snprintf(source, sizeof source, "// fake: us=%g\n// from the worse\n", 2 * lib());
    short_name(name, gs_submission_name(source, SIMPLE_MANIFEST, worse));
    snprintf(expected, sizeof expected, "0.4 %s>pass +; ", name);
    has(told_text, expected);
}

static void without_elites_an_island_begins_again(void **state)
{
    bench *const b = *state;
    how.turns = 4;
    how.patience = 2;
    how.from = GS_AUTHOR_NOTHING;
    assert_int_equal(write_script(b, misbehaves("wrong")), GS_OK);
    assert_string_equal(told_text, "0.1 >exact; 0.2 >exact again; 0.3 >exact again; 0.4 >exact again; ");
    assert_int_equal(result.count, 0);
    assert_int_equal(result.end, GS_AUTHOR_DONE);
}

static gs_trial make_trial(const char *schedule)
{
    gs_trial trial = {.us = 0.5, .ratio = 10, .verdict = "pass", .problem = PROBLEM};
    snprintf(trial.candidate, sizeof trial.candidate, "%s", schedule);
    return trial;
}

static void the_best_schedule_says_which_template(void **state)
{
    bench *const b = *state;
    char base[32];
    gs_trial old = make_trial("mma/64x64x64/w2x2/s3/g8");
    gs_session before = b->session;
    how.from = NULL;
    before.version = "older";                             /* its kernels were others */
    assert_int_equal(gs_store_begin(b->store, &before, &error), GS_OK);
    assert_int_equal(gs_store_put(b->store, &before, &old, &error), GS_OK);
    assert_int_equal(write_script(b, takes(lib(), "x")), GS_OK);
    snprintf(base, sizeof base, "0.1 %.*s>pass", (int)strcspn(result.schedule, "/"), result.schedule);
    has(told_text, base);
    assert_true(result.schedule_us > 2 * old.us);
}

/* ---- going on ---- */

static void nothing_is_asked_twice(void **state)
{
    bench *const b = *state;
    how.turns = 2;
    how.islands = 2;
    assert_int_equal(write_script(b, takes(2 * lib(), "a"), takes(2.1 * lib(), "b"), takes(1.9 * lib(), "c"), takes(1.8 * lib(), "d")), GS_OK);
    assert_int_equal(server.requests, 4);
    assert_int_equal(write_script(b, takes(lib(), "e")), GS_OK);
    assert_int_equal(server.requests, 0);
    assert_int_equal(result.before, 4);
    assert_int_equal(result.turns, 4);
    assert_float_equal(result.elite[0].us / (1.8 * lib()), 1, 0.01);
    how.turns = 3;
    assert_int_equal(write_script(b, takes(lib(), "e")), GS_OK);
    assert_int_equal(server.requests, 2);
    has(told_text, "0.3 ");
    has(told_text, "1.3 ");
    how.turns = 1;
    how.again = true;
    assert_int_equal(write_script(b, takes(lib(), "f")), GS_OK);
    assert_int_equal(server.requests, 2);
    has(told_text, "0.4 ");
    llm.model = "other";             /* which has not been asked; what the first one found is there */
    how.again = false;
    assert_int_equal(write_script(b, takes(1.2 * lib(), "g")), GS_OK);
    assert_int_equal(server.requests, 2);
    has(told_text, "0.5 source:");
}

/* A second question belongs to its turn. */
static void a_repair_is_no_turn(void **state)
{
    bench *const b = *state;
    how.turns = 2;
    assert_int_equal(write_script(b, SAYS_TEXT("no"), takes(2 * lib(), "a"), SAYS_TEXT("no")), GS_OK);
    assert_int_equal(server.requests, 4);
    how.turns = 3;
    assert_int_equal(write_script(b, takes(lib(), "b")), GS_OK);
    assert_int_equal(server.requests, 1);
    has(told_text, "0.3 source:");
}

/* A run that is stopped after each turn and goes on takes the same turns as one that is not. */
static void stopped_and_gone_on_is_the_same(void **state)
{
    bench *const b = *state;
    const said script[] = {takes(2 * lib(), "a"), misbehaves("wrong"), takes(1.5 * lib(), "b"), takes(1.9 * lib(), "c"), misbehaves("timed"), takes(1.6 * lib(), "d"),
                           takes(1.3 * lib(), "e"), takes(1.25 * lib(), "f")};
    how.islands = 2;
    how.turns = 4;
    how.patience = 1;
    assert_int_equal(write_with(b, "", script, GS_COUNT(script)), GS_OK);
    char *const whole = kept(b);
    assert_int_equal(finish(state), 0);
    assert_int_equal(start(state), 0);
    for (size_t i = 0; i < GS_COUNT(script); i++) {
        stop_after = 1;
        gs_stop_requested = 0;
        assert_int_equal(write_with(b, "", script + i, (int)(GS_COUNT(script) - i)), GS_OK);
        assert_int_equal(server.requests, 1);
        assert_int_equal(result.end, i + 1 < GS_COUNT(script) ? GS_AUTHOR_STOPPED : GS_AUTHOR_DONE);
    }
    gs_stop_requested = 0;
    char *const pieces = kept(b);
    assert_string_equal(pieces, whole);
    free(pieces);
    free(whole);
}

/* An answer that was paid for is judged by the next run. */
static void what_is_owed_is_settled(void **state)
{
    bench *const b = *state;
    char *const words = kernel_answer("// fake: us=50\n", SIMPLE_MANIFEST);
    const gs_turn turns[] = {
        {.problem = PROBLEM, .mode = "source", .model = "tiny", .number = 1, .base = "mma", .system = "s", .ask = "a", .answer = words},
        {.problem = PROBLEM, .mode = "source", .model = "tiny", .number = 2, .base = "mma", .system = "s", .ask = "a", .answer = "damaged"},
        {.problem = PROBLEM, .mode = "schedule", .model = "tiny", .number = 9, .system = "s", .ask = "a", .answer = words},
    };
    for (size_t i = 0; i < GS_COUNT(turns); i++) assert_int_equal(gs_store_turn_put(b->store, &b->session, &turns[i], &error), GS_OK);
    how.turns = 2;
    assert_int_equal(write_script(b, takes(lib(), "unasked")), GS_OK);
    assert_int_equal(server.requests, 0);
    assert_string_equal(told_text, "0.1 mma>pass +!; ");
    assert_int_equal(write_script(b, takes(lib(), "unasked")), GS_OK);
    assert_string_equal(told_text, "");
    assert_int_equal(result.count, 1);
    free(words);
}

/* A store may have been merged from anywhere: what is not what it says is not taken over, nor shown. */
static void what_another_store_claims(void **state)
{
    bench *const b = *state;
    const gs_turn_outcome claims[] = {{.candidate = "source:../../x", .verdict = "pass", .us = 1, .ratio = 9, .low = 9},
                                      {.candidate = "source:0123456789abcdef0123456789abcdef", .verdict = "pass", .us = 1, .ratio = 9, .low = 9}};
    const gs_turn turns[] = {
        {.problem = PROBLEM, .mode = "source", .model = "other", .number = 1, .base = "mma", .system = "s", .ask = "a", .answer = "x", .outcomes = claims, .count = 2},
        {.problem = PROBLEM, .mode = "source", .model = "other", .number = 2, .base = "source:\033[2J", .system = "s", .ask = "a", .answer = "x",
         .outcomes = claims, .count = 2},
        {.problem = PROBLEM, .mode = "source", .model = "other", .island = -1, .number = 2, .base = "mma", .system = "s", .ask = "a", .answer = "x"},
        {.problem = PROBLEM, .mode = "source", .model = "other", .island = 1 << 30, .number = 2, .base = "mma", .system = "s", .ask = "a", .answer = "x"},
        {.problem = PROBLEM, .mode = "source", .model = "other", .number = INT32_MAX, .base = "mma", .system = "s", .ask = "a", .answer = "x"},
    };
    for (size_t i = 0; i < GS_COUNT(claims); i++) assert_int_equal(gs_store_source_put(b->store, claims[i].candidate, "s", "m", &error), GS_OK);
    for (size_t i = 0; i < GS_COUNT(turns); i++) assert_int_equal(gs_store_turn_put(b->store, &b->session, &turns[i], &error), GS_OK);
    stop_after = 4;   /* a turn that never counts would be asked for for ever */
    assert_int_equal(write_script(b, takes(lib(), "x")), GS_OK);
    assert_string_equal(told_text, "0.2 mma>pass +!; ");
    assert_int_equal(result.count, 1);
}

/* A kernel after which not even the library runs is not tried again. */
static void the_machine_is_not_taken_down_twice(void **state)
{
    bench *const b = *state;
    how.turns = 2;
    /* the schedule first, while all is well */
    how.islands = 1;
    assert_int_equal(write_script(b, takes(2 * lib(), "first")), GS_OK);
    assert_int_equal(write_with(b, "mode=exit", &(said){0}, 1), GS_OK);   /* nothing to be asked: the worker is not needed */
    how.turns = 3;
    assert_int_not_equal(write_with(b, "mode=exit", (const said[]){misbehaves("crash")}, 1), GS_OK);
    assert_int_equal(error.status, GS_ERROR_WORKER_DIED);
    char *text = kept(b);
    has(text, "0.3 ");
    has(text, "=; ");
    free(text);
    assert_int_equal(write_with(b, "mode=exit", &(said){0}, 1), GS_OK);
    assert_int_equal(server.requests, 0);
}

/* ---- the end ---- */

static void a_budget_ends_it(void **state)
{
    bench *const b = *state;
    how.turns = 9;
    llm.budget = "requests=3";
    assert_int_equal(write_script(b, takes(2 * lib(), "a"), takes(1.9 * lib(), "b"), takes(1.8 * lib(), "c")), GS_OK);
    assert_int_equal(server.requests, 3);
    assert_int_equal(result.end, GS_AUTHOR_SILENT);
    assert_int_equal(result.judged, 3);
    assert_int_equal(notes, 1);
    has(noted, "requests");
    assert_float_equal(result.elite[0].us / (1.8 * lib()), 1, 0.01);
}

static void an_endpoint_that_is_none_ends_it(void **state)
{
    bench *const b = *state;
    how.turns = 9;
    assert_int_equal(write_script(b, {404, "application/json", .body = "{}"}), GS_OK);
    assert_int_equal(server.requests, 1);
    assert_int_equal(result.end, GS_AUTHOR_SILENT);
    assert_int_equal(result.count, 0);
    assert_int_equal(notes, 1);
    has(noted, "http 404");
}

static void time_ends_it(void **state)
{
    bench *const b = *state;
    how.turns = 9;
    how.budget_s = 1;
    assert_int_equal(write_script(b, {.mute = true}), GS_OK);
    assert_int_equal(result.end, GS_AUTHOR_TIME);
    assert_true(result.seconds < 20);
    assert_int_equal(notes, 0);
}

static void a_stop_ends_it(void **state)
{
    bench *const b = *state;
    gs_stop_requested = 1;
    assert_int_equal(write_script(b, takes(lib(), "unasked")), GS_OK);
    gs_stop_requested = 0;
    assert_int_equal(server.requests, 0);
    assert_int_equal(result.end, GS_AUTHOR_STOPPED);
}

static void wrong_options_are_told(void **state)
{
    bench *const b = *state;
    how.from = "poetry";
    assert_int_equal(write_script(b, takes(lib(), "x")), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "from");
    how.from = "mma";
    how.islands = GS_AUTHOR_ISLANDS + 1;
    assert_int_equal(write_script(b, takes(lib(), "x")), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "islands");
    how.islands = 1;
    llm.prompts = "/nonexistent";
    assert_int_equal(write_script(b, takes(lib(), "x")), GS_ERROR_NOT_FOUND);
    llm.prompts = NULL;
    llm.model = NULL;
    assert_int_equal(write_script(b, takes(lib(), "x")), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "llm_model");
    const gs_problem odd = problem_of("f16:63x63x63:tn"), empty = problem_of("f16:0x64x64:tn");
    llm.model = "tiny";
    llm.url = "http://127.0.0.1:1";
    how.from = "gemv";
    assert_int_equal(gs_author_run(b->store, &b->session, &b->worker, gs_caps_find("h200"), &odd, &how, &result, &error), GS_ERROR_UNSUPPORTED);
    assert_int_equal(gs_author_run(b->store, &b->session, &b->worker, gs_caps_find("h200"), &empty, &how, &result, &error), GS_ERROR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_kernels), cmocka_unit_test(the_archive_keeps_the_best_of_a_kind), cmocka_unit_test(the_archive_orders_ties), CASE(whatever_comes_the_good_one_is_found),
        CASE(a_failure_is_shown_and_the_best_is_developed), CASE(the_same_kernel_is_judged_once), CASE(second_figures_are_told), CASE(islands_take_turns_and_elites_migrate),
        CASE(without_elites_an_island_begins_again), CASE(a_restart_lowers_the_bar), CASE(the_best_schedule_says_which_template), CASE(nothing_is_asked_twice), CASE(a_repair_is_no_turn),
        CASE(stopped_and_gone_on_is_the_same), CASE(what_is_owed_is_settled), CASE(what_another_store_claims), CASE(the_machine_is_not_taken_down_twice), CASE(a_budget_ends_it),
        CASE(an_endpoint_that_is_none_ends_it), CASE(time_ends_it), CASE(a_stop_ends_it), CASE(wrong_options_are_told),
    };
    return cmocka_run_group_tests_name("author/author", tests, NULL, NULL);
}
