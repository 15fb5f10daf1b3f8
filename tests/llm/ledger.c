/* SPDX-License-Identifier: MIT
 * Proves that no request is allowed beyond a budget, whoever shares the ledger and whenever a process dies, and that nothing that was spent is forgotten. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "llm/ledger.h"
#include "support/fork.h"
#include "support/leaks.h"

static char      path[GS_PATH];
static gs_error  error;

static int begin(void **state)
{
    (void)state;
    const char *const base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/gemmsmith-ledger-XXXXXX", base && *base ? base : "/tmp");
    const int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int end(void **state)
{
    (void)state;
    return unlink(path);
}

static gs_ledger *open_ledger(const char *where, gs_spent most)
{
    gs_ledger *ledger;
    const gs_ledger_options options = {.path = where, .price_in = 1, .price_out = 10, .most = most};
    if (gs_ledger_open(&ledger, &options, &error) != GS_OK) fail_msg("%s: %s", error.field, error.text);
    return ledger;
}

static gs_status ask(gs_ledger *ledger, int64_t in, int64_t out, double seconds, uint64_t *id)
{
    gs_ledger_use most = {in, out, seconds};
    error = (gs_error){0};
    return gs_ledger_ask(ledger, &most, id, &error);
}

static void set(const char *text) { assert_int_equal(gs_file_write(path, text, strlen(text), &error), GS_OK); }

static off_t size_of(void)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

static void budgets(void **state)
{
    (void)state;
    static const struct {
        gs_spent    most;
        const char *field;
        int         allowed;   /* requests of 300 and 700 tokens, 4 s */
    } cases[] = {
        {{.requests = 3}, "requests", 3},
        {{.tokens = 2999}, "tokens", 2},
        {{.tokens = 3000}, "tokens", 3},
        {{.cost = 0.0146}, "cost", 2},          /* 0.0073 each */
        {{.cost = 0.0145}, "cost", 1},
        {{.seconds = 10}, "seconds", 3},        /* the third is cut to 2 s */
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_ledger *ledger = open_ledger(NULL, cases[i].most);
        uint64_t id;
        int allowed = 0;
        while (allowed < 10 && ask(ledger, 300, 700, 4, &id) == GS_OK) allowed++;
        assert_int_equal(allowed, cases[i].allowed);
        assert_int_equal(error.status, GS_ERROR_RANGE);
        assert_string_equal(error.field, cases[i].field);
        assert_int_equal(gs_ledger_spent(ledger).requests, allowed);   /* what was refused is no request */
        gs_ledger_close(&ledger);
    }
}

static void settling(void **state)
{
    (void)state;
    gs_ledger *ledger = open_ledger(NULL, (gs_spent){.tokens = 1000});
    uint64_t first, second;
    assert_int_equal(ask(ledger, 500, 500, 9, &first), GS_OK);
    assert_int_equal(ask(ledger, 1, 1, 1, &second), GS_ERROR_RANGE);
    assert_int_equal(gs_ledger_settle(ledger, first, &(gs_ledger_use){100, 50, 2}, 200, &error), GS_OK);
    assert_int_equal(gs_ledger_spent(ledger).tokens, 150);
    assert_true(gs_ledger_spent(ledger).seconds == 2);
    assert_int_equal(gs_ledger_settle(ledger, first, &(gs_ledger_use){0}, 200, &error), GS_ERROR_ARGUMENT);
    assert_string_equal(error.field, "id");
    assert_int_equal(ask(ledger, 100, 100, 9, &second), GS_OK);
    assert_int_equal(gs_ledger_settle(ledger, second, &(gs_ledger_use){100, 5000, 2}, 200, &error), GS_OK);   /* heeded no limit */
    assert_int_equal(ask(ledger, 1, 1, 1, &second), GS_ERROR_RANGE);
    assert_int_equal(ask(ledger, 1, 0, 1, &second), GS_ERROR_ARGUMENT);   /* no bound */
    assert_string_equal(error.field, "max_tokens");
    assert_int_equal(ask(ledger, -1, 1, 1, &second), GS_ERROR_ARGUMENT);
    assert_int_equal(ask(ledger, 1, 1, 0.0 / 0.0, &second), GS_ERROR_ARGUMENT);
    gs_ledger_close(&ledger);
    gs_ledger_close(&ledger);
}

static void options(void **state)
{
    (void)state;
    const gs_ledger_options wrong[] = {
        {.price_in = -1}, {.price_out = 0.0 / 0.0}, {.price_in = 1.0 / 0.0}, {.most.requests = -1}, {.most.tokens = -1},
        {.most.seconds = -1}, {.most.cost = 0.0 / 0.0}, {.most.cost = 1},
    };
    for (size_t i = 0; i < GS_COUNT(wrong); i++) {
        gs_ledger *ledger;
        assert_int_equal(gs_ledger_open(&ledger, &wrong[i], &error), GS_ERROR_ARGUMENT);
        assert_null(ledger);
    }
    gs_ledger *ledger;
    assert_int_equal(gs_ledger_open(&ledger, &(gs_ledger_options){.path = "/nowhere/ledger"}, &error), GS_ERROR_IO);
    assert_null(ledger);
}

static void goes_on(void **state)
{
    (void)state;
    const gs_spent most = {.tokens = 1000};
    gs_ledger *ledger = open_ledger(path, most);
    uint64_t first, second, third;
    assert_int_equal(ask(ledger, 100, 100, 1, &first), GS_OK);
    assert_int_equal(gs_ledger_spent(ledger).tokens, 200);
    assert_int_equal(ask(ledger, 300, 300, 5, &second), GS_OK);
    assert_int_equal(gs_ledger_settle(ledger, first, &(gs_ledger_use){10, 20, 0.5}, 200, &error), GS_OK);
    gs_ledger_close(&ledger);   /* as a crash would: the second was never settled */

    ledger = open_ledger(path, most);
    const gs_spent spent = gs_ledger_spent(ledger);
    assert_int_equal(spent.requests, 2);
    assert_int_equal(spent.tokens, 630);
    assert_true(spent.seconds == 5.5);
    assert_int_equal(ask(ledger, 200, 200, 1, &third), GS_ERROR_RANGE);
    assert_int_equal(ask(ledger, 200, 170, 1, &third), GS_OK);
    gs_ledger_close(&ledger);
}

static void unfinished_line(void **state)
{
    (void)state;
    gs_ledger *ledger = open_ledger(path, (gs_spent){0});
    uint64_t id;
    assert_int_equal(ask(ledger, 5, 5, 1, &id), GS_OK);
    const off_t whole = size_of();
    assert_int_equal(gs_ledger_settle(ledger, id, &(gs_ledger_use){1, 1, 1}, 200, &error), GS_OK);
    const off_t both = size_of();
    gs_ledger_close(&ledger);
    char *text;
    size_t size;
    assert_int_equal(gs_file_read(path, 1 << 20, &text, &size, &error), GS_OK);
    for (off_t cut = both; cut >= 0; cut--) {   /* wherever the last write ended */
        assert_int_equal(gs_file_write(path, text, (size_t)cut, &error), GS_OK);
        ledger = open_ledger(path, (gs_spent){0});
        const gs_spent spent = gs_ledger_spent(ledger);
        assert_int_equal(spent.requests, cut >= whole);
        assert_int_equal(spent.tokens, cut == both ? 2 : cut >= whole ? 10 : 0);
        assert_int_equal(size_of(), cut == both ? both : cut >= whole ? whole : 0);
        assert_int_equal(ask(ledger, 1, 1, 1, &id), GS_OK);
        gs_ledger_close(&ledger);
        ledger = open_ledger(path, (gs_spent){0});   /* what was added stands on a line of its own */
        assert_int_equal(gs_ledger_spent(ledger).requests, 1 + (cut >= whole));
        gs_ledger_close(&ledger);
    }
    free(text);
}

/* Somebody's file without a line's end is not taken for a line that was cut, and a pipe is not waited for. */
static void what_is_no_ledger_stays(void **state)
{
    (void)state;
    gs_ledger *ledger;
    char *text;
    size_t size;
    set("a picture");
    assert_int_equal(gs_ledger_open(&ledger, &(gs_ledger_options){.path = path}, &error), GS_ERROR_CORRUPT);
    assert_non_null(strstr(error.text, path));
    assert_int_equal(gs_file_read(path, 100, &text, &size, &error), GS_OK);
    assert_string_equal(text, "a picture");
    free(text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(gs_ledger_open(&ledger, &(gs_ledger_options){.path = path}, &error), GS_ERROR_IO);
    assert_null(ledger);
}

static void damaged(void **state)
{
    (void)state;
#define ASK "{\"ask\":\"0123456789abcdef\",\"in\":1,\"out\":1,\"seconds\":1,\"cost\":0}\n"
    static const char *const lines[] = {
        "\n", "nonsense\n", "{}\n", "[]\n", ASK, "{\"ask\":\"0123\",\"in\":1,\"out\":1,\"seconds\":1,\"cost\":0}\n",
        "{\"ask\":\"0123456789abcdee\",\"in\":-1,\"out\":1,\"seconds\":1,\"cost\":0}\n", "{\"ask\":\"0123456789abcdee\",\"in\":1,\"out\":1e300,\"seconds\":1,\"cost\":0}\n",
        "{\"ask\":\"0123456789abcdee\",\"in\":1,\"out\":1,\"cost\":0}\n", "{\"settle\":\"0123456789abcdee\",\"in\":1,\"out\":1,\"seconds\":1,\"cost\":0}\n",
        "{\"ask\":\"0123456789abcdee\",\"settle\":\"0123456789abcdef\",\"in\":1,\"out\":1,\"seconds\":1,\"cost\":0}\n",
    };
    for (size_t i = 0; i < GS_COUNT(lines); i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s%s", ASK, lines[i], "tail");
        set(text);
        gs_ledger *ledger;
        if (gs_ledger_open(&ledger, &(gs_ledger_options){.path = path}, &error) != GS_ERROR_CORRUPT) fail_msg("%s is accepted", lines[i]);
        assert_null(ledger);
        assert_string_equal(error.field, "line 2");
        assert_int_equal(size_of(), strlen(text));   /* nobody mends what he does not understand */
    }
}

static void disk_full(void **state)
{
    (void)state;
    gs_ledger *ledger = open_ledger(path, (gs_spent){0});
    uint64_t id, other;
    assert_int_equal(ask(ledger, 5, 5, 1, &id), GS_OK);
    const off_t size = size_of();
    struct rlimit before, little;
    getrlimit(RLIMIT_FSIZE, &before);
    little = before;
    little.rlim_cur = (rlim_t)size + 10;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    const gs_status asked = ask(ledger, 5, 5, 1, &other), settled = gs_ledger_settle(ledger, id, &(gs_ledger_use){1, 1, 1}, 200, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(asked, GS_ERROR_DISK_FULL);
    assert_int_equal(settled, GS_ERROR_DISK_FULL);
    assert_int_equal(size_of(), size);
    assert_int_equal(gs_ledger_spent(ledger).requests, 1);
    assert_int_equal(gs_ledger_spent(ledger).tokens, 10);
    assert_int_equal(gs_ledger_settle(ledger, id, &(gs_ledger_use){1, 1, 1}, 200, &error), GS_OK);   /* there is room again */
    gs_ledger_close(&ledger);
}

static void shared(void **state)
{
    (void)state;
    enum { CHILDREN = 4, MOST = 60 };
    for (int i = 0; i < CHILDREN; i++) {
        const pid_t child = test_fork();
        if (child == 0) {
            gs_ledger *const ledger = open_ledger(path, (gs_spent){.requests = MOST});
            uint64_t id;
            int count = 0;
            while (ask(ledger, 3, 4, 0, &id) == GS_OK)
                if (count++ % 2 == 0 && gs_ledger_settle(ledger, id, &(gs_ledger_use){1, 1, 0}, 200, NULL) != GS_OK) _exit(1);
            _exit(error.status == GS_ERROR_RANGE ? 0 : 1);
        }
        assert_true(child > 0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = 1;
        wait(&status);
        assert_int_equal(status, 0);
    }
    gs_ledger *ledger = open_ledger(path, (gs_spent){0});
    assert_int_equal(gs_ledger_spent(ledger).requests, MOST);
    gs_ledger_close(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets),
        cmocka_unit_test(settling),
        cmocka_unit_test(options),
        cmocka_unit_test_setup_teardown(goes_on, begin, end),
        cmocka_unit_test_setup_teardown(unfinished_line, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_ledger_stays, begin, end),
        cmocka_unit_test_setup_teardown(damaged, begin, end),
        cmocka_unit_test_setup_teardown(disk_full, begin, end),
        cmocka_unit_test_setup_teardown(shared, begin, end),
    };
    return run_without_leaks("llm/ledger", tests, GS_COUNT(tests));
}
