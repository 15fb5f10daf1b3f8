/* SPDX-License-Identifier: MIT
 * The side of the sandbox that asks, with a process in the sandbox's place that answers whatever a compiler that was taken over could make up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "sandbox/internal.h"
#include "sandbox/restrict.h"
#include "support/allocations.h"
#include "support/fork.h"
#include "support/interrupted_waits.h"
#include "support/memory_in_use.h"

static gs_error error;

/* ---- in the sandbox's place ---- */

/* Hears requests to their end, and answers each the same; with `ends`, only the first, and is gone. */
static _Noreturn void answer(int socket, const gs_sandbox_reply *reply, const void *bytes, size_t size, bool ends)
{
    gs_sandbox_request head;
    while (gs_sandbox_receive(socket, &head, sizeof head)) {
        char *const texts = malloc(head.bytes);
        if (!texts || !gs_sandbox_receive(socket, texts, head.bytes)) _exit(1);
        free(texts);
        if (write(socket, reply, sizeof *reply) != sizeof *reply || write(socket, bytes, size) != (ssize_t)size) _exit(1);
        if (ends) break;
    }
    _exit(0);
}

static gs_sandbox in_place_of(const gs_sandbox_reply *reply, const void *bytes, size_t size, bool ends)
{
    gs_sandbox sandbox = {.limit_s = 2};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    sandbox.pid = test_fork();
    if (sandbox.pid == 0) {
        close(pair[0]);
        answer(pair[1], reply, bytes, size, ends);
    }
    assert_true(sandbox.pid > 0);
    close(pair[1]);
    sandbox.socket = pair[0];
    return sandbox;
}

static gs_status ask(gs_sandbox *sandbox, bool ptx, gs_image *image)
{
    const gs_source source = {.name = "candidate.cu", .text = "int a;\n", .ptx = ptx};
    error = (gs_error){0};
    return gs_sandbox_compile(sandbox, "sm_90a", &source, image, &error);
}

static bool is_gone(const gs_sandbox *sandbox)
{
    errno = 0;
    return sandbox->pid == 0 && sandbox->socket == -1 && waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

/* ---- how a compilation ends ---- */

static void every_end_has_its_reason(void **state)
{
    (void)state;
    static const struct {
        gs_sandbox_reply reply;
        const char      *bytes;
        gs_status        status;
        const char      *text;
    } cases[] = {
        {{.end = GS_SANDBOX_EXITED, .code = 3}, "", GS_ERROR_COMPILE, "the compiler crashed (exit code 3)"},
        {{.end = GS_SANDBOX_SIGNALLED, .code = SIGSEGV}, "", GS_ERROR_COMPILE, "the compiler crashed (Segmentation fault)"},
        {{.end = GS_SANDBOX_SIGNALLED, .code = SIGKILL}, "", GS_ERROR_COMPILE, "the compiler was ended: it took too much memory or time"},
        {{.end = GS_SANDBOX_LATE}, "", GS_ERROR_COMPILE, "the compiler takes too long: more than 2 s"},
        {{.end = GS_SANDBOX_TOO_MUCH}, "", GS_ERROR_COMPILE, "the compiler gives more than 96 MiB"},
        {{.end = GS_SANDBOX_UNABLE, .code = GS_ERROR_NO_COMPILER, .bytes = 16}, "no NVRTC is found", GS_ERROR_NO_COMPILER, "no NVRTC is foun"},
        {{.end = GS_SANDBOX_UNABLE, .code = GS_ERROR_IO}, "", GS_ERROR_IO, "no process for a compilation"},
        {{.end = GS_SANDBOX_RETURNED, .bytes = 5}, "short", GS_ERROR_COMPILE, "the compiler ended without a result"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        for (int filtered = 0; filtered < 2; filtered++) {
            gs_image image;
            gs_sandbox_reply reply = cases[i].reply;
            reply.filtered = filtered;
            gs_sandbox sandbox = in_place_of(&reply, cases[i].bytes, reply.bytes, false);
            assert_int_equal(ask(&sandbox, true, &image), cases[i].status);
            assert_string_equal(error.text, cases[i].text);
            assert_null(image.code);
            assert_true(sandbox.pid > 0 && sandbox.compilations == 1 && sandbox.unfiltered == !filtered);   /* it serves on */
            gs_sandbox_stop(&sandbox);
            assert_true(is_gone(&sandbox));
        }
    }
}

static void the_limit_that_is_said(void **state)
{
    (void)state;
    const gs_sandbox_reply late = {.end = GS_SANDBOX_LATE};
    gs_sandbox sandbox = in_place_of(&late, "", 0, false);
    gs_image image;
    sandbox.limit_s = 0;
    assert_int_equal(ask(&sandbox, true, &image), GS_ERROR_COMPILE);
    assert_string_equal(error.text, "the compiler takes too long: more than 48 s");
    sandbox.limit_s = 0.5;
    assert_int_equal(ask(&sandbox, true, &image), GS_ERROR_COMPILE);
    assert_string_equal(error.text, "the compiler takes too long: more than 0.5 s");
    assert_int_equal(sandbox.compilations, 2);
    interruptions = 2;
    gs_sandbox_stop(&sandbox);   /* it has ended then, whatever signals came */
    assert_int_equal(interruptions, 0);
    gs_sandbox_stop(&sandbox);   /* of nothing that runs: nothing */
    assert_true(is_gone(&sandbox));
}

/* Whoever says what cannot be, or no more, is no sandbox any longer: it is ended. */
static void who_says_nothing_sensible_is_ended(void **state)
{
    (void)state;
    static const struct {
        gs_sandbox_reply reply;
        size_t           sent;
        bool             ends;
    } cases[] = {
        {{.end = GS_SANDBOX_UNABLE + 1},                                  0, false},
        {{.end = -1},                                                     0, false},
        {{.end = GS_SANDBOX_RETURNED, .bytes = GS_SANDBOX_REPLY + 1},     0, false},   /* it would be waited for */
        {{.end = GS_SANDBOX_RETURNED, .bytes = 8},                        7, true},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_image image;
        gs_sandbox sandbox = in_place_of(&cases[i].reply, "sevenof", cases[i].sent, cases[i].ends);
        assert_int_equal(ask(&sandbox, true, &image), GS_ERROR_IO);
        assert_string_equal(error.text, "the process in which user kernels are compiled is gone");
        assert_null(image.code);
        assert_true(is_gone(&sandbox));
        assert_int_equal(ask(&sandbox, true, &image), GS_ERROR_IO);   /* and nobody is asked */
        assert_string_equal(error.text, "the process in which user kernels are compiled is gone");
    }
}

/* ---- what the child wrote ---- */

typedef struct written {
    gs_sandbox_result head;
    char              bytes[128];
} written;

static gs_status take(const written *what, size_t bytes, bool ptx, gs_image *image)
{
    const size_t size = sizeof what->head + bytes;
    const gs_sandbox_reply reply = {.end = GS_SANDBOX_RETURNED, .bytes = size};
    gs_sandbox sandbox = in_place_of(&reply, what, size, false);
    const gs_status status = ask(&sandbox, ptx, image);
    gs_sandbox_stop(&sandbox);
    return status;
}

#define USES "ptxas info    : Used 12 registers"

static void what_was_compiled(void **state)
{
    (void)state;
    written what = {.head = {.code = 4, .ptx = 7, .log = strlen(USES), .compile_ms = 2.5}, .bytes = "CODEptx\0ptx" USES};
    for (int ptx = 0; ptx < 2; ptx++) {
        gs_image image;
        assert_int_equal(take(&what, 11 + strlen(USES), ptx, &image), GS_OK);
        assert_true(image.size == 4 && memcmp(image.code, "CODE", 5) == 0 && image.compile_ms == 2.5 && image.registers == 12);
        assert_string_equal(image.log, USES);
        assert_int_equal(image.ptx_size, ptx ? 3 : 0);   /* up to where it ends */
        if (ptx) assert_string_equal(image.ptx, "ptx");
        if (!ptx) assert_null(image.ptx);
        gs_image_free(&image);
    }
}

static void sizes_must_add_up(void **state)
{
    (void)state;
    static const struct {
        uint64_t code, ptx, log;
        bool     wants_ptx;
        bool     good;
    } cases[] = {
        {4, 3, 3, true, true},   {4, 0, 6, false, true},  {10, 0, 0, false, true},
        {0, 5, 5, true, false},  {4, 0, 6, true, false},  {11, 0, 0, false, false},   {4, 7, 0, true, false}, {4, 3, 2, true, false}, {4, 3, 4, true, false},
        {UINT64_MAX, 8, 3, true, false}, {4, UINT64_MAX - 1, 8, true, false}, {4, 3, UINT64_MAX, true, false},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_image image;
        const written what = {.head = {.code = cases[i].code, .ptx = cases[i].ptx, .log = cases[i].log}, .bytes = "0123456789"};
        const gs_status status = take(&what, 10, cases[i].wants_ptx, &image);
        if (status != (cases[i].good ? GS_OK : GS_ERROR_COMPILE)) fail_msg("case %zu: %s", i, gs_status_name(status));
        if (!cases[i].good) assert_string_equal(error.text, "the compiler's result cannot be read");
        if (!cases[i].good) assert_null(image.code);
        gs_image_free(&image);
    }
}

/* There is one status for all that a compiler says, whatever it says. */
static void what_it_failed_with(void **state)
{
    (void)state;
    static const struct { int32_t status; const char *reason, *text; } cases[] = {
        {GS_ERROR_MEMORY,  "no memory",       "the compiler ran out of memory (4 GiB)"},
        {GS_ERROR_COMPILE, "",                "the compiler gives no reason"},
        {GS_ERROR_IO,      "a reason",        "a reason"},
        {-77,              "another",         "another"},
    };
    gs_image image;
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        written what = {.head.status = cases[i].status};
        snprintf(what.head.reason, sizeof what.head.reason, "%s", cases[i].reason);
        assert_int_equal(take(&what, 0, true, &image), GS_ERROR_COMPILE);
        assert_string_equal(error.text, cases[i].text);
        assert_null(image.code);
    }
    written endless = {.head.status = GS_ERROR_COMPILE};
    memset(endless.head.reason, 'x', sizeof endless.head.reason);
    memset(endless.bytes, 'y', sizeof endless.bytes);
    assert_int_equal(take(&endless, sizeof endless.bytes, true, &image), GS_ERROR_COMPILE);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_null(strchr(error.text, 'y'));
}

/* What a text could say through a message: what is quoted is a type of a few words, or not there. */
static void what_a_message_keeps(void **state)
{
    (void)state;
    static const struct { const char *reason, *text; } cases[] = {
        {"x(1): #error directive: go away",                    "x(1): #error directive"},
        {"x(1): #warning directive: go away",                  "x(1): #warning directive"},
        {"x(1): static assertion failed with \"go away\"",     "x(1): static assertion failed"},
        {"\"f\" was declared deprecated (\"go away\")",        "\"f\" was declared deprecated"},
        {"type \"const unsigned long int *\" is",              "type \"const unsigned long int *\" is"},        /* four blanks */
        {"type \"a b c d e f\" is 'g h i j k' or \"l\"",       "type \"\" is 'g h i j k' or \"l\""},
        {"\"a b c d e f\"'g h i j k l'\"m n o p q r\" x",      "\"\"''\"\" x"},
        {"\"a 'quote b' c\" d 'e",                             "\"a 'quote b' c\" d 'e"},
        {"a \"2345678901234567890123456789012",                "a \"2345678901234567890123456789012"},        /* 32 characters */
        {"a \"23456789012345678901234567890123",               "a \""},
        {"caf\xc3\xa9\t\x7f~ !",                               "caf????~ !"},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        gs_image image;
        written what = {.head.status = GS_ERROR_COMPILE};
        snprintf(what.head.reason, sizeof what.head.reason, "%s", cases[i].reason);
        assert_int_equal(take(&what, 0, true, &image), GS_ERROR_COMPILE);
        assert_string_equal(error.text, cases[i].text);
    }
}

/* ---- what is given back, and what there is not ---- */

static void nothing_is_kept(void **state)
{
    (void)state;
    const written good = {.head = {.code = 4, .ptx = 3, .log = strlen(USES)}, .bytes = "CODEptx" USES};
    const gs_sandbox_reply reply = {.end = GS_SANDBOX_RETURNED, .bytes = sizeof good.head + 7 + strlen(USES)};
    gs_sandbox sandbox = in_place_of(&reply, &good, reply.bytes, false);
    memory_watch watch = {0};
    for (int i = 0; i < MEMORY_ROUNDS; i++) {
        gs_image image;
        memory_round(&watch);
        assert_int_equal(ask(&sandbox, true, &image), GS_OK);
        gs_image_free(&image);
    }
    assert_false(memory_grows(&watch));
    gs_sandbox_stop(&sandbox);
    for (int i = 0; i < MEMORY_ROUNDS; i++) {   /* an answer that breaks off */
        gs_image image;
        sandbox = in_place_of(&reply, &good, 7, true);
        memory_round(&watch);
        assert_int_equal(ask(&sandbox, true, &image), GS_ERROR_IO);
    }
    assert_false(memory_grows(&watch));
}

/* Each allocation fails once; the last three are those of what was compiled. */
static void short_of_memory(void **state)
{
    (void)state;
    const written good = {.head = {.code = 4, .ptx = 3, .log = strlen(USES)}, .bytes = "CODEptx" USES};
    const gs_sandbox_reply reply = {.end = GS_SANDBOX_RETURNED, .bytes = sizeof good.head + 7 + strlen(USES)};
    gs_status status[16];
    int count = 0;
    do {
        gs_image image;
        gs_sandbox sandbox = in_place_of(&reply, &good, reply.bytes, false);
        assert_true(count < (int)GS_COUNT(status));
        fail_at = count + 1;
        status[count] = ask(&sandbox, true, &image);
        fail_at = 0;
        if (status[count] == GS_OK) gs_image_free(&image);
        assert_null(image.code);
        assert_true(status[count] == GS_ERROR_IO ? is_gone(&sandbox) : sandbox.pid > 0);
        if (status[count] == GS_ERROR_MEMORY) assert_string_equal(error.text, "no memory for what was compiled");
        gs_sandbox_stop(&sandbox);
    } while (status[count++] != GS_OK);
    assert_in_range(count, 6, 16);
    for (int i = 0; i < count - 1; i++) assert_int_equal(status[i], i < count - 4 ? GS_ERROR_IO : GS_ERROR_MEMORY);
}

static void on_alarm(int number) { (void)number; }

/* Signals that do not restart a call come while a long request is sent, and while its answer is waited for. */
static void signals_come_between(void **state)
{
    (void)state;
    const gs_sandbox_reply reply = {.end = GS_SANDBOX_EXITED, .code = 5};
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
    char *const text = malloc((size_t)4 << 20);
    gs_sandbox sandbox = {.limit_s = 2};
    gs_image image;
    int pair[2];
    assert_non_null(text);
    memset(text, ' ', (size_t)4 << 20);
    text[((size_t)4 << 20) - 1] = '\0';
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    sandbox.pid = test_fork();
    if (sandbox.pid == 0) {
        close(pair[0]);
        usleep(10000);
        gs_sandbox_request head;
        if (!gs_sandbox_receive(pair[1], &head, sizeof head) || !gs_sandbox_receive(pair[1], text, 4096)) _exit(1);
        for (size_t left = head.bytes - 4096; left > 0; left -= GS_MIN(left, 4096))
            if (!gs_sandbox_receive(pair[1], text, GS_MIN(left, 4096))) _exit(1);
        usleep(10000);
        _exit(write(pair[1], &reply, sizeof reply) == sizeof reply ? 0 : 1);
    }
    close(pair[1]);
    sandbox.socket = pair[0];
    const gs_source source = {.name = "candidate.cu", .text = text};
    struct sigaction before;
    assert_int_equal(sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm}, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    const gs_status status = gs_sandbox_compile(&sandbox, "sm_90a", &source, &image, &error);
    gs_sandbox_stop(&sandbox);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    free(text);
    assert_true(is_gone(&sandbox));
    assert_int_equal(status, GS_ERROR_COMPILE);
    assert_string_equal(error.text, "the compiler crashed (exit code 5)");
}

/* With so many descriptors and no more. */
static void allow_descriptors(rlim_t count, struct rlimit *before)
{
    assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){count, before->rlim_max}), 0);
}

static void no_descriptors(void **state)
{
    (void)state;
    gs_sandbox sandbox = {.pid = 77, .socket = 77};
    struct rlimit before;
    bool filters = true;
    error = (gs_error){0};
    allow_descriptors(0, &before);
    const gs_status start = gs_sandbox_start(&sandbox, &error);
    const gs_error of_start = error;
    const gs_status probe = gs_restrict_probe(&filters, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(start, GS_ERROR_IO);
    assert_non_null(strstr(of_start.text, "no socket for the sandbox"));
    assert_true(sandbox.pid == 0 && sandbox.socket == -1);
    assert_int_equal(probe, GS_ERROR_IO);
    assert_non_null(strstr(error.text, "no pipe"));
    assert_false(filters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_has_its_reason), cmocka_unit_test(the_limit_that_is_said), cmocka_unit_test(who_says_nothing_sensible_is_ended),
        cmocka_unit_test(what_was_compiled), cmocka_unit_test(sizes_must_add_up), cmocka_unit_test(what_it_failed_with), cmocka_unit_test(what_a_message_keeps),
        cmocka_unit_test(nothing_is_kept), cmocka_unit_test(short_of_memory), cmocka_unit_test(signals_come_between), cmocka_unit_test(no_descriptors),
    };
    return cmocka_run_group_tests_name("sandbox/replies", tests, NULL, NULL);
}
