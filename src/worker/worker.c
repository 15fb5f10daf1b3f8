/* SPDX-License-Identifier: MIT
 * The parent's side of the worker: starting a child that may hang, die or write nonsense, talking to it with a deadline, and ending it. client.c knows what the lines mean. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

enum { EXIT_WAIT_MS = 2000, GONE_WAIT_MS = 1000, KILL_WAIT_MS = 20000, STOP_WAIT_S = 10, LONGEST_S = 1000000, MOST_READS = 64 };

void gs_worker_init(gs_worker *worker, const char *device, const char *program)
{
    *worker = (gs_worker){.to = -1, .from = -1, .errors = -1};
    const char *const other = getenv("GEMMSMITH_WORKER");
    snprintf(worker->device, sizeof worker->device, "%s", device ? device : "cuda:0");
    snprintf(worker->program, sizeof worker->program, "%s", other && *other ? other : program ? program : "/proc/self/exe");
    signal(SIGPIPE, SIG_IGN);
}

static void close_end(int *end)
{
    if (*end >= 0) close(*end);
    *end = -1;
}

/* ---- starting ---- */

typedef struct ends {
    int in[2], out[2], err[2], failed[2];   /* failed: carries errno of an exec that did not happen */
} ends;

static void close_ends(ends *e)
{
    for (int i = 0; i < 2; i++) {
        close_end(&e->in[i]);
        close_end(&e->out[i]);
        close_end(&e->err[i]);
        close_end(&e->failed[i]);
    }
}

/* Between fork and exec: async-signal-safe calls only. */
static _Noreturn void become(const gs_worker *worker, const ends *e, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    const char *const arguments[] = {worker->program, "worker", "--device", worker->device, NULL};
    if (dup2(e->in[0], STDIN_FILENO) >= 0 && dup2(e->out[1], STDOUT_FILENO) >= 0 &&
        (e->err[1] < 0 || dup2(e->err[1], STDERR_FILENO) >= 0))
        execvp(worker->program, (char *const *)arguments);
    const int why = errno;
    if (write(e->failed[1], &why, sizeof why) < 0) _exit(126);
    _exit(127);
}

static gs_status open_ends(ends *e, bool capture, gs_error *error)
{
    *e = (ends){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(e->in, O_CLOEXEC) == 0 && pipe2(e->out, O_CLOEXEC) == 0 && pipe2(e->failed, O_CLOEXEC) == 0 &&
        (!capture || pipe2(e->err, O_CLOEXEC) == 0))
        return GS_OK;
    const int why = errno;
    close_ends(e);
    return gs_fail_errno(error, why, NULL, "no pipes for the worker");
}

static gs_status start(gs_worker *worker, gs_error *error)
{
    ends e;
    GS_TRY(open_ends(&e, gs_log_level() < GS_LOG_DEBUG, error));
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) become(worker, &e, parent);
    if (pid < 0) {
        const int why = errno;
        close_ends(&e);
        return gs_fail_errno(error, why, NULL, "the worker cannot be forked");
    }
    setpgid(pid, pid);
    close_end(&e.failed[1]);
    int why = 0;
    ssize_t got;
    while ((got = read(e.failed[0], &why, sizeof why)) < 0 && errno == EINTR) continue;
    if (got > 0) {
        waitpid(pid, NULL, 0);
        close_ends(&e);
        return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker %s cannot be started: %s", worker->program, strerror(why));
    }
    worker->pid = pid;
    worker->to = e.in[1];
    worker->from = e.out[0];
    worker->errors = e.err[0];
    worker->tail[0] = '\0';
    worker->started++;
    gs_text_clear(&worker->pending);
    e.in[1] = e.out[0] = e.err[0] = -1;
    close_ends(&e);
    fcntl(worker->to, F_SETFL, O_NONBLOCK);
    fcntl(worker->from, F_SETFL, O_NONBLOCK);
    if (worker->errors >= 0) fcntl(worker->errors, F_SETFL, O_NONBLOCK);
    gs_log(GS_LOG_DEBUG, "worker %d of %s: process %d", worker->started, worker->device, (int)pid);
    return GS_OK;
}

/* ---- ending ---- */

static void keep_tail(gs_worker *worker)
{
    char bytes[4096];
    ssize_t got;
    /* bounded, so that a child that writes without pause cannot hold its parent beyond the deadline */
    for (int reads = 0; worker->errors >= 0 && (got = read(worker->errors, bytes, sizeof bytes)) != 0; reads++) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 || reads == MOST_READS) return;
        const size_t room = sizeof worker->tail - 1;
        size_t have = strlen(worker->tail), more = (size_t)got;
        const char *from = bytes;
        if (more > room) {
            from += more - room;
            more = room;
        }
        if (have + more > room) {
            const size_t drop = have + more - room;
            memmove(worker->tail, worker->tail + drop, have - drop);
            have -= drop;
        }
        for (size_t i = 0; i < more; i++) worker->tail[have + i] = from[i] ? from[i] : ' ';
        worker->tail[have + more] = '\0';
    }
    close_end(&worker->errors);
}

/* The last line of the child's standard error, "" if it wrote none. */
static const char *last_words(gs_worker *worker)
{
    size_t size = strlen(worker->tail);
    while (size > 0 && (worker->tail[size - 1] == '\n' || worker->tail[size - 1] == ' ')) worker->tail[--size] = '\0';
    const char *const line = strrchr(worker->tail, '\n');
    return line ? line + 1 : worker->tail;
}

static bool wait_for_exit(pid_t pid, int wait_ms, int *code)
{
    for (int64_t until = gs_clock_ns() + wait_ms * 1000000ll;;) {
        const pid_t got = waitpid(pid, code, WNOHANG);
        if (got == pid) return true;
        if (got < 0 && errno != EINTR) {
            *code = 0;
            return true;
        }
        if (gs_clock_ns() >= until) return false;
        gs_clock_sleep_ns(2000000);
    }
}

/* Reaps what the child left behind: such processes become children of this one if it is the first of a container. */
static void reap_adopted(pid_t group)
{
    for (int64_t until = gs_clock_ns() + GONE_WAIT_MS * 1000000ll; gs_clock_ns() < until;) {
        const pid_t got = waitpid(-group, NULL, WNOHANG);
        if (got < 0 && errno != EINTR) return;
        if (got == 0) gs_clock_sleep_ns(2000000);
    }
}

/* Waits wait_ms for the child to exit by itself, then kills its process group. Returns its wait status, *killed if it had to be. */
static int reap(gs_worker *worker, int wait_ms, bool *killed)
{
    int code = 0;
    *killed = !wait_for_exit(worker->pid, wait_ms, &code);
    kill(-worker->pid, SIGKILL);   /* also whatever it left behind */
    if (*killed && !wait_for_exit(worker->pid, KILL_WAIT_MS, &code))
        gs_log(GS_LOG_WARNING, "worker %d of %s cannot be killed: the driver holds it", (int)worker->pid, worker->device);
    else
        reap_adopted(worker->pid);
    keep_tail(worker);
    close_end(&worker->to);
    close_end(&worker->from);
    close_end(&worker->errors);
    gs_text_clear(&worker->pending);
    worker->pid = 0;
    return code;
}

void gs_worker_stop(gs_worker *worker)
{
    if (worker->pid > 0) {
        bool killed;
        close_end(&worker->to);
        reap(worker, EXIT_WAIT_MS, &killed);
    }
    gs_text_free(&worker->pending);
}

void gs_worker_kill(gs_worker *worker)
{
    bool killed;
    if (worker->pid > 0) reap(worker, 0, &killed);
}

static gs_status died(gs_worker *worker, gs_error *error)
{
    bool killed;
    const int code = reap(worker, GONE_WAIT_MS, &killed);
    const char *const words = last_words(worker);
    const char *const colon = *words ? ": " : "";
    if (killed)
        return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s closed its pipe without a reply%s%s", worker->device,
                       colon, words);
    worker->signal = WIFSIGNALED(code) ? WTERMSIG(code) : 0;
    if (worker->signal)
        return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s was killed by signal %d (%s)%s%s", worker->device,
                       worker->signal, strsignal(worker->signal), colon, words);
    return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s exited with code %d%s%s", worker->device,
                   WEXITSTATUS(code), colon, words);
}

/* ---- talking ---- */

typedef struct sending {
    const char *at;
    size_t      left;      /* with the newline, which follows the request */
} sending;

/* false: the child does not read any more. */
static bool send_some(int to, sending *s)
{
    const ssize_t wrote = s->left > 1 ? write(to, s->at, s->left - 1) : write(to, "\n", 1);
    if (wrote < 0) return errno == EAGAIN || errno == EINTR;
    s->at += wrote;
    s->left -= (size_t)wrote;
    return true;
}

typedef enum heard { HEARD_PART, HEARD_LINE, HEARD_END, HEARD_TOO_MUCH, HEARD_NO_MEMORY } heard;

static heard receive_some(gs_worker *worker)
{
    char bytes[65536];
    const ssize_t got = read(worker->from, bytes, sizeof bytes);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? HEARD_PART : HEARD_END;
    if (got == 0) return HEARD_END;
    const char *const newline = memchr(bytes, '\n', (size_t)got);
    const size_t take = newline ? (size_t)(newline - bytes) : (size_t)got;   /* what follows a reply is ignored */
    if (worker->pending.size + take > GS_WORKER_REPLY) return HEARD_TOO_MUCH;
    gs_text_add_bytes(&worker->pending, bytes, take);
    if (worker->pending.failed) return HEARD_NO_MEMORY;
    return newline ? HEARD_LINE : HEARD_PART;
}

/* Whether the caller wants no answer any more: its time limit has passed, or unwanted() says so. */
static bool given_up(const gs_worker *worker, int64_t now)
{
    return (worker->until != 0 && now >= worker->until) || (worker->unwanted && worker->unwanted(worker->self));
}

static gs_status give_up(const gs_worker *worker, gs_error *error)
{
    return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "given up while the worker of %s was busy: %s", worker->device,
                   worker->until != 0 && gs_clock_ns() >= worker->until ? "the time limit of the whole work is reached" : "nobody wants the answer any more");
}

/* Sends the request and reads until a line is complete, the child is gone, or the time is up. */
static gs_status converse(gs_worker *worker, const char *request, double timeout_s, gs_error *error)
{
    sending s = {request, strlen(request) + 1};
    const double wait_s = timeout_s < LONGEST_S ? timeout_s : (double)LONGEST_S;   /* also for NaN */
    const int64_t until = gs_clock_ns() + (int64_t)(wait_s * 1e9);
    int64_t stop_until = 0;
    bool killed;
    for (;;) {
        const int64_t now = gs_clock_ns();
        if (gs_stop_requested && !stop_until) stop_until = now + STOP_WAIT_S * 1000000000ll;
        if (stop_until && now >= stop_until) {
            reap(worker, 0, &killed);
            return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped while the worker of %s was busy", worker->device);
        }
        if (given_up(worker, now)) {
            reap(worker, 0, &killed);
            return give_up(worker, error);
        }
        if (now >= until) {
            reap(worker, 0, &killed);
            return gs_fail(error, GS_ERROR_WORKER_HUNG, NULL, "the worker of %s did not answer within %.3g s and was killed",
                           worker->device, timeout_s);
        }
        struct pollfd list[3] = {{worker->from, POLLIN, 0}, {worker->errors, POLLIN, 0}, {s.left ? worker->to : -1, POLLOUT, 0}};
        const int64_t next = worker->until != 0 && worker->until < until ? worker->until : until, wait_ms = (next - now) / 1000000 + 1;
        if (poll(list, 3, wait_ms < 200 ? (int)wait_ms : 200) < 0 && errno != EINTR) {
            const int why = errno;
            reap(worker, 0, &killed);   /* or the next call would take this one's reply for its own */
            return gs_fail_errno(error, why, NULL, "poll failed");
        }
        if (list[1].revents) keep_tail(worker);
        if (list[2].revents && !send_some(worker->to, &s)) s.left = 0;   /* its last output may still be on the way */
        if (!list[0].revents) continue;
        switch (receive_some(worker)) {
        case HEARD_PART: break;
        case HEARD_LINE: return GS_OK;
        case HEARD_END:  return died(worker, error);
        case HEARD_TOO_MUCH:
            reap(worker, 0, &killed);
            return gs_fail(error, GS_ERROR_WORKER_DIED, NULL, "the worker of %s wrote a line of more than %u MiB and was killed",
                           worker->device, GS_WORKER_REPLY >> 20);
        case HEARD_NO_MEMORY:
            reap(worker, 0, &killed);
            return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the reply of the worker");
        }
    }
}

gs_status gs_worker_call(gs_worker *worker, const char *request, double timeout_s, char **reply, gs_error *error)
{
    static const char last[] = ",\"last\":true}";
    *reply = NULL;
    worker->signal = 0;
    if (strchr(request, '\n')) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "a request is one line");
    if (gs_stop_requested) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped");
    if (given_up(worker, gs_clock_ns())) return give_up(worker, error);
    int code;
    bool killed;
    /* It may have died between two calls. */
    if (worker->pid > 0 && waitpid(worker->pid, &code, WNOHANG) == worker->pid) reap(worker, 0, &killed);
    if (worker->pid == 0) GS_TRY(start(worker, error));
    gs_text_clear(&worker->pending);
    GS_TRY(converse(worker, request, timeout_s, error));
    const size_t size = worker->pending.size;
    const bool ends_here = size >= sizeof last - 1 &&
                           memcmp(worker->pending.data + size - (sizeof last - 1), last, sizeof last - 1) == 0;
    *reply = gs_text_take(&worker->pending);   /* not NULL, even if the line is empty */
    if (ends_here) reap(worker, EXIT_WAIT_MS, &killed);
    return GS_OK;
}
