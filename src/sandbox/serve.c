/* SPDX-License-Identifier: MIT
 * The sandbox's process, and its children, one per compilation. The process does not parse what a child writes: it only limits its size and time, and passes
 * it on. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "sandbox/restrict.h"
#include "sandbox/internal.h"

extern char **environ;

typedef struct texts {
    char          *bytes;
    const char    *target;
    const char   **list;       /* options, names and texts of headers */
    gs_source      source;
} texts;

static bool push(int to, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const ssize_t wrote = write(to, at, size);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        at += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

bool gs_sandbox_receive(int from, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        const ssize_t got = read(from, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

/* ---- the request ---- */

static void free_texts(texts *t)
{
    free(t->bytes);
    free(t->list);
    *t = (texts){0};
}

/* The parent is trusted; an inconsistent request ends this process, and the next caller starts another. */
static bool receive_texts(int socket, const gs_sandbox_request *head, texts *t)
{
    const int32_t count = 3 + head->options + 2 * head->headers;
    *t = (texts){.bytes = malloc(head->bytes + 1), .list = calloc((size_t)count, sizeof(char *))};
    if (!t->bytes || !t->list || !gs_sandbox_receive(socket, t->bytes, head->bytes)) return false;
    t->bytes[head->bytes] = '\0';
    const char *at = t->bytes;
    for (int32_t i = 0; i < count; i++) {
        t->list[i] = at;
        at += strlen(at) + 1;
    }
    if (at != t->bytes + head->bytes) return false;
    t->target = t->list[0];
    t->source = (gs_source){
        .name = t->list[1], .text = t->list[2], .options = t->list + 3, .option_count = head->options, .header_names = t->list + 3 + head->options,
        .header_texts = t->list + 3 + head->options + head->headers, .header_count = head->headers, .ptx = head->ptx != 0,
    };
    return true;
}

/* ---- the child ---- */

/* Restores default signal actions, because a sanitizer would print a report of its own. Also makes this process the OOM killer's first choice. */
static void be_the_first_to_go(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < GS_COUNT(fatal); i++) signal(fatal[i], SIG_DFL);
    const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0 && write(file, "1000", 4) != 4) errno = 0;   /* best effort; the file is closed with all others */
}

static _Noreturn void compile_here(const texts *t, double limit_s, int pipe, pid_t parent)
{
    gs_error error = {0};
    gs_image image = {0};
    gs_sandbox_result result = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    be_the_first_to_go();
    if (gs_restrict(pipe, (int)limit_s + 1, &error) != GS_OK) _exit(2);
    result.status = (int32_t)gs_compile_for(t->target, &t->source, &image, &error);
    result.compile_ms = image.compile_ms;
    memcpy(result.reason, error.text, sizeof result.reason);
    if (result.status == GS_OK) {
        result.code = image.size;
        result.ptx = image.ptx_size;
        result.log = strlen(image.log);
    }
    const bool sent = push(GS_RESTRICT_PIPE, &result, sizeof result) && push(GS_RESTRICT_PIPE, image.code, result.code) &&
                      push(GS_RESTRICT_PIPE, image.ptx, result.ptx) && push(GS_RESTRICT_PIPE, image.log, result.log);
    _exit(sent ? 0 : 3);
}

/* ---- the process ---- */

/* Reads what the child writes until it closes the pipe, exceeds the time limit, or writes too much. */
static gs_sandbox_end listen_to(int from, double limit_s, gs_text *out)
{
    static char bytes[1 << 16];
    const int64_t until = gs_clock_ns() + (int64_t)(limit_s * 1e9);
    for (;;) {
        const int64_t left = until - gs_clock_ns();
        if (left <= 0) return GS_SANDBOX_LATE;
        struct pollfd list = {from, POLLIN, 0};
        if (poll(&list, 1, (int)GS_MIN(left / 1000000 + 1, 1000)) <= 0) continue;
        const ssize_t got = read(from, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return GS_SANDBOX_RETURNED;
        if (out->size + (size_t)got > GS_SANDBOX_REPLY) return GS_SANDBOX_TOO_MUCH;
        gs_text_add_bytes(out, bytes, (size_t)got);
        if (out->failed) return GS_SANDBOX_TOO_MUCH;
    }
}

static gs_sandbox_reply run_child(const texts *t, double limit_s, gs_text *out)
{
    int ends[2], code = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return (gs_sandbox_reply){.end = GS_SANDBOX_UNABLE, .code = GS_ERROR_IO};
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) compile_here(t, limit_s, ends[1], parent);
    close(ends[1]);
    gs_sandbox_reply reply = {.end = pid > 0 ? listen_to(ends[0], limit_s, out) : GS_SANDBOX_UNABLE, .code = GS_ERROR_IO};
    close(ends[0]);
    if (pid < 0) return reply;
    if (reply.end != GS_SANDBOX_RETURNED) kill(pid, SIGKILL);
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR) continue;
    if (reply.end != GS_SANDBOX_RETURNED) return reply;
    if (WIFSIGNALED(code)) return (gs_sandbox_reply){.end = WTERMSIG(code) == SIGXCPU ? GS_SANDBOX_LATE : GS_SANDBOX_SIGNALLED, .code = WTERMSIG(code)};
    if (WEXITSTATUS(code) != 0) return (gs_sandbox_reply){.end = GS_SANDBOX_EXITED, .code = WEXITSTATUS(code)};
    return reply;
}

/* So that a compromised compiler finds no keys in its memory. */
static void erase_environment(void)
{
    for (char **at = environ; at && *at; at++) memset(*at, 0, strlen(*at));
    clearenv();
}

/* NVRTC opens files when it is loaded and at its first compilation for a target, but not later. */
static gs_status warm_up(const char *target, bool *filters, gs_error *error)
{
    const gs_source empty = {.name = "empty.cu", .text = "extern \"C\" __global__ void gs_empty(int *p) { *p = (int)threadIdx.x; }\n", .ptx = true};
    gs_image image;
    GS_TRY(gs_restrict_probe(filters, error));
    const gs_status status = gs_compile_for(target, &empty, &image, error);
    gs_image_free(&image);
    return status == GS_ERROR_COMPILE ? GS_OK : status;   /* for an unknown target the child fails with the same error */
}

static bool answer(int socket, const gs_sandbox_request *head, bool *warm, bool *filters)
{
    texts t;
    gs_text out = {0};
    gs_error error = {0};
    bool sent = receive_texts(socket, head, &t);
    if (sent) {
        gs_sandbox_reply reply;
        const gs_status status = *warm ? GS_OK : warm_up(t.target, filters, &error);
        if (status == GS_OK) {
            if (!*warm) erase_environment();
            *warm = true;
            reply = run_child(&t, head->limit_s, &out);
        } else {
            reply = (gs_sandbox_reply){.end = GS_SANDBOX_UNABLE, .code = (int32_t)status};
            gs_text_add(&out, error.text);
        }
        if (reply.end != GS_SANDBOX_RETURNED && reply.end != GS_SANDBOX_UNABLE) gs_text_clear(&out);
        reply.filtered = *filters;
        reply.bytes = out.size;
        sent = push(socket, &reply, sizeof reply) && push(socket, gs_text_string(&out), out.size);
    }
    gs_text_free(&out);
    free_texts(&t);
    return sent;
}

/* Closes everything that the parent had open; descriptors 0, 1 and 2 become /dev/null. */
static bool leave_everything(int *socket)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return false;
    for (int i = 0; i < 3; i++)
        if (dup2(null, i) < 0) return false;
    if (*socket != 3 && dup2(*socket, 3) < 0) return false;
    *socket = 3;
    return close_range(4, ~0u, 0) == 0 && fcntl(3, F_SETFD, FD_CLOEXEC) == 0;
}

_Noreturn void gs_sandbox_serve(int socket, pid_t parent)
{
    gs_sandbox_request head;
    bool warm = false, filters = false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || !leave_everything(&socket)) _exit(1);
    while (gs_sandbox_receive(socket, &head, sizeof head) && answer(socket, &head, &warm, &filters)) continue;
    _exit(0);
}
