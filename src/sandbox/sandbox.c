/* SPDX-License-Identifier: MIT
 * The parent's side: sends sources to the sandbox and interprets how a child ended. A child's reply is not trusted: sizes must add up, texts must be
 * terminated, and its only error status is COMPILE. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "device/cuda/nvrtc.h"
#include "sandbox/restrict.h"
#include "sandbox/internal.h"

#define BLANKS_MOST 4    /* blanks kept in a quotation of a message */
#define WORDS_MOST  32   /* most characters after an unclosed quote */

static gs_status compile(void *self, const char *target, const gs_source *source, gs_image *out, gs_error *error)
{
    return gs_sandbox_compile(self, target, source, out, error);
}

gs_status gs_sandbox_start(gs_sandbox *sandbox, gs_error *error)
{
    int ends[2];
    *sandbox = (gs_sandbox){.compiler = {compile, sandbox}, .socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return gs_fail_errno(error, errno, NULL, "no socket for the sandbox");
    const pid_t parent = getpid(), pid = fork();
    const int why = errno;
    if (pid == 0) gs_sandbox_serve(ends[1], parent);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return gs_fail_errno(error, why, NULL, "no process for the sandbox");
    }
    sandbox->pid = pid;
    sandbox->socket = ends[0];
    return GS_OK;
}

/* The process has no state to save, and may be compiling, so it is killed. */
void gs_sandbox_stop(gs_sandbox *sandbox)
{
    if (sandbox->pid <= 0) return;
    close(sandbox->socket);
    kill(sandbox->pid, SIGKILL);
    while (waitpid(sandbox->pid, NULL, 0) < 0 && errno == EINTR) continue;
    sandbox->pid = 0;
    sandbox->socket = -1;
}

static gs_status lost(gs_sandbox *sandbox, gs_error *error)
{
    gs_sandbox_stop(sandbox);
    return gs_fail(error, GS_ERROR_IO, NULL, "the process in which user kernels are compiled is gone");
}

/* ---- asking ---- */

static void add_string(gs_text *text, const char *string) { gs_text_add_bytes(text, string, strlen(string) + 1); }

/* MSG_NOSIGNAL: a sandbox that is gone is an error, not SIGPIPE. */
static bool push(int socket, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool ask(const gs_sandbox *sandbox, const char *target, const gs_source *source, double limit_s)
{
    gs_text text = {0};
    add_string(&text, target);
    add_string(&text, source->name);
    add_string(&text, source->text);
    for (int i = 0; i < source->option_count; i++) add_string(&text, source->options[i]);
    for (int i = 0; i < source->header_count; i++) add_string(&text, source->header_names[i]);
    for (int i = 0; i < source->header_count; i++) add_string(&text, source->header_texts[i]);
    const gs_sandbox_request head = {.bytes = text.size, .limit_s = limit_s, .options = source->option_count, .headers = source->header_count,
                                     .ptx = source->ptx};
    const bool sent = !text.failed && push(sandbox->socket, (const char *)&head, sizeof head) && push(sandbox->socket, text.data, text.size);
    gs_text_free(&text);
    return sent;
}

/* ---- reading ---- */

/* Truncates quotations in a message that may be prose: a quoted type has only a few words. */
static void shorten_quotes(char *line)
{
    for (char *from = strpbrk(line, "\"'"); from; from = strpbrk(from, "\"'")) {
        char *const to = strchr(from + 1, *from);
        if (!to) {
            from[strlen(from) > WORDS_MOST ? 1 : strlen(from)] = '\0';
            return;
        }
        int blanks = 0;
        for (const char *at = from; at < to; at++) blanks += *at == ' ';
        if (blanks > BLANKS_MOST) {
            memmove(from + 1, to, strlen(to) + 1);
            from += 2;
        } else {
            from = to + 1;
        }
    }
}

/* Removes text that the source put into a message: the words of #error and static_assert, which could address a model that reads the reason. The author can
 * find them by the line number. Replaces unprintable characters too. */
static void drop_words(char *line)
{
    static const char *const before[] = {"#error directive", "#warning directive", "static assertion failed", "declared deprecated"};
    for (size_t i = 0; i < GS_COUNT(before); i++) {
        char *const at = strstr(line, before[i]);
        if (at) at[strlen(before[i])] = '\0';
    }
    shorten_quotes(line);
    for (; *line; line++)
        if ((unsigned char)*line < ' ' || (unsigned char)*line >= 127) *line = '?';
}

static void *copy(const char *from, size_t size)
{
    char *const to = malloc(size + 1);
    if (!to) return NULL;
    memcpy(to, from, size);
    to[size] = '\0';
    return to;
}

static gs_status take_result(const char *bytes, size_t size, bool ptx, gs_image *out, gs_error *error)
{
    gs_sandbox_result result;
    if (size < sizeof result) return gs_fail(error, GS_ERROR_COMPILE, NULL, "the compiler ended without a result");
    memcpy(&result, bytes, sizeof result);
    result.reason[sizeof result.reason - 1] = '\0';
    drop_words(result.reason);
    if (result.status == GS_ERROR_MEMORY) return gs_fail(error, GS_ERROR_COMPILE, NULL, "the compiler ran out of memory (%zu GiB)", GS_RESTRICT_MEMORY >> 30);
    if (result.status != GS_OK) return gs_fail(error, GS_ERROR_COMPILE, NULL, "%s", *result.reason ? result.reason : "the compiler gives no reason");
    const size_t left = size - sizeof result;
    if (result.code == 0 || result.code > left || result.ptx > left - result.code || result.log != left - result.code - result.ptx || (ptx && result.ptx == 0))
        return gs_fail(error, GS_ERROR_COMPILE, NULL, "the compiler's result cannot be read");
    const char *const code = bytes + sizeof result, *const text = code + result.code, *const log = text + result.ptx;
    *out = (gs_image){.code = copy(code, result.code), .size = result.code, .ptx = ptx ? copy(text, result.ptx) : NULL, .log = copy(log, result.log),
                      .compile_ms = result.compile_ms};
    if (!out->code || !out->log || (ptx && !out->ptx)) {
        gs_image_free(out);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for what was compiled");
    }
    out->ptx_size = ptx ? strlen(out->ptx) : 0;
    gs_nvrtc_read_log(out);
    return GS_OK;
}

static gs_status take_reply(gs_sandbox *sandbox, const gs_sandbox_reply *reply, const char *bytes, double limit_s, bool ptx, gs_image *out, gs_error *error)
{
    sandbox->unfiltered = !reply->filtered;
    switch ((gs_sandbox_end)reply->end) {
    case GS_SANDBOX_RETURNED: return take_result(bytes, reply->bytes, ptx, out, error);
    case GS_SANDBOX_LATE:     return gs_fail(error, GS_ERROR_COMPILE, NULL, "the compiler takes too long: more than %.3g s", limit_s);
    case GS_SANDBOX_TOO_MUCH: return gs_fail(error, GS_ERROR_COMPILE, NULL, "the compiler gives more than %zu MiB", GS_SANDBOX_REPLY >> 20);
    case GS_SANDBOX_EXITED:   return gs_fail(error, GS_ERROR_COMPILE, NULL, "the compiler crashed (exit code %d)", reply->code);
    case GS_SANDBOX_SIGNALLED:
        if (reply->code == SIGKILL) return gs_fail(error, GS_ERROR_COMPILE, NULL, "the compiler was ended: it took too much memory or time");
        return gs_fail(error, GS_ERROR_COMPILE, NULL, "the compiler crashed (%s)", strsignal(reply->code));
    case GS_SANDBOX_UNABLE:   return gs_fail(error, (gs_status)reply->code, NULL, "%s", reply->bytes ? bytes : "no process for a compilation");
    }
    return lost(sandbox, error);
}

gs_status gs_sandbox_compile(gs_sandbox *sandbox, const char *target, const gs_source *source, gs_image *out, gs_error *error)
{
    gs_sandbox_reply reply;
    *out = (gs_image){0};
    const double limit_s = sandbox->limit_s > 0 ? sandbox->limit_s : GS_SANDBOX_S;
    if (sandbox->pid <= 0 || !ask(sandbox, target, source, limit_s) || !gs_sandbox_receive(sandbox->socket, &reply, sizeof reply) ||
        reply.bytes > GS_SANDBOX_REPLY)
        return lost(sandbox, error);
    char *const bytes = calloc(1, reply.bytes + 1);
    if (!bytes || !gs_sandbox_receive(sandbox->socket, bytes, reply.bytes)) {
        free(bytes);
        return lost(sandbox, error);
    }
    sandbox->compilations++;
    const gs_status status = take_reply(sandbox, &reply, bytes, limit_s, source->ptx, out, error);
    free(bytes);
    return status;
}
