/* SPDX-License-Identifier: MIT
 * gemmsmith serve: the reward environment over HTTP, for training models. This file has the options and the order in which things are started and stopped. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "output.h"
#include "problems.h"
#include "service/service.h"
#include "session.h"
#include "tune/device_group.h"

enum { TOKEN_LEAST = 16, TOKEN_MOST = 512, FILES_BESIDE = 64, FILES_DEVICE = 32 };
#define LOOK_NS INT64_C(20000000)

typedef struct settings {
    cli_common  common;
    cli_asked   asked;
    const char *address, *token_file, *store, *device, *devices;
    int64_t     port, queue, connections, most_body, rounds, prepare;
    double      deadline, timeout, keep;
    bool        confirm, dependent, no_emulator, json;
} settings;

static const cli_option options[] = {
    CLI_ASKED_OPTIONS(settings, "layouts of B to offer; default: the one in the problem"),
    {"address",     0, CLI_TEXT,    offsetof(settings, address),     "ADDR", "address to listen on; default 127.0.0.1; others than loopback need a\ntoken"},
    {"port",        0, CLI_INT,     offsetof(settings, port),        "N",    "port to listen on; default 7811; 0: a free one, which is printed", 0, 65535},
    {"token-file",  0, CLI_TEXT,    offsetof(settings, token_file),  "FILE", "clients must send its first line as Authorization: Bearer TOKEN;\ndefault $GEMMSMITH_TOKEN"},
    {"queue",       0, CLI_INT,     offsetof(settings, queue),       "N",    "most candidates that wait or are evaluated; default 1024", 1, 1e6},
    {"connections", 0, CLI_INT,     offsetof(settings, connections), "N",    "most connections at once; default 256", 1, 10000},
    {"most-body",   0, CLI_INT,     offsetof(settings, most_body),   "KIB",  "largest request body in KiB; default 4096", 1, 65536},
    {"deadline",    0, CLI_SECONDS, offsetof(settings, deadline),    "TIME", "how long a request waits if it names no deadline; default 10m", 0.001, 86400},
    {"prepare",     0, CLI_INT,     offsetof(settings, prepare),     "N",    "processes that compile candidates and run user kernels on the emulated\ndevice while the GPU is busy; default: all cores but two per device;\n0: each device does it itself, one candidate after the other", 0, 128},
    {"confirm",     0, CLI_FLAG,    offsetof(settings, confirm),     NULL,   "measure every candidate again in a fresh process; that time counts"},
    {"no-emulator", 0, CLI_FLAG,    offsetof(settings, no_emulator), NULL,   "run user kernels on the GPU without the emulated device first"},
    {"rounds",      0, CLI_INT,     offsetof(settings, rounds),      "N",    "paired rounds of the first timing; default 31", 1, 1000},
    {"timeout",     0, CLI_SECONDS, offsetof(settings, timeout),     "TIME", "time limit of a compilation, a verification, a timing; time for the\n"
     "problem's size is added; default 60s (emulated device: ten times)", 0.1, 1e6},
    {"store",       0, CLI_TEXT,    offsetof(settings, store),       "FILE", "database of jobs, answers and trials; default: the user's store"},
    {"keep",        0, CLI_SECONDS, offsetof(settings, keep),        "TIME", "how long answers are kept; after that the same candidate is evaluated\nagain; default 720h, 0: for ever. Open jobs are never deleted", 0, 1e9},
    {"json",        0, CLI_FLAG,    offsetof(settings, json),        NULL,   "the line that says where it serves as a JSON object"},
    {"devices",     0, CLI_TEXT,    offsetof(settings, devices),     "LIST", "several GPUs of one model: cuda:0,cuda:1 or all"},
    CLI_DEPENDENT_OPTION(settings),
    CLI_DEVICE_OPTIONS(settings),
    {NULL},
};

/* ---- checks before the start ---- */

/* *token stays NULL if none is required; the caller frees it. */
static int read_token(const cli_command *command, const settings *s, char **token)
{
    const char *const environment = getenv("GEMMSMITH_TOKEN");
    gs_error error;
    size_t size;
    *token = NULL;
    if (s->token_file) {
        if (gs_file_read(s->token_file, 4096, token, &size, &error) != GS_OK) return cli_fail(command, NULL, &error);
        (*token)[strcspn(*token, "\r\n")] = '\0';
    } else if (environment && *environment) {
        *token = strdup(environment);
    }
    if (*token) {
        const size_t length = strlen(*token);
        bool good = length >= TOKEN_LEAST && length <= TOKEN_MOST;
        for (const char *at = *token; *at; at++) good &= *at > ' ' && *at < 127;
        if (!good) return cli_usage(command, "a token has from %d to %d characters, no blanks", TOKEN_LEAST, TOKEN_MOST);
    } else if (!gs_service_address_loopback(s->address)) {
        return cli_usage(command, "--address %s can be reached from elsewhere: set a token with --token-file or $GEMMSMITH_TOKEN", s->address);
    }
    return -1;
}

static int no_memory(const cli_command *command)
{
    gs_error error;
    gs_fail(&error, GS_ERROR_MEMORY, NULL, "no memory for the service");
    return cli_fail(command, NULL, &error);
}

static int preparers(const settings *s, const gs_device_group *group) { return s->prepare < 0 ? gs_jobs_preparers(GS_MAX(group->count, 1)) : (int)s->prepare; }

/* Each connection is an open file. Without a free file number no request can be answered and no worker started. */
static int allow_files(const cli_command *command, const settings *s, const gs_device_group *group)
{
    struct rlimit limit;
    const rlim_t need = (rlim_t)s->connections + FILES_BESIDE + FILES_DEVICE * (rlim_t)(GS_MAX(group->count, 1) + preparers(s, group));
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= need) return -1;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? need : GS_MIN(need, limit.rlim_max);
    if (limit.rlim_cur >= need && setrlimit(RLIMIT_NOFILE, &limit) == 0) return -1;
    return cli_usage(command, "--connections %lld needs %llu open files, and %llu are allowed (ulimit -n)", (long long)s->connections, (unsigned long long)need,
                     (unsigned long long)limit.rlim_max);
}

/* The options of the evaluation that results depend on, besides the device and the program. */
static void name_options(const settings *s, char *out, size_t size)
{
    snprintf(out, size, "rounds=%lld confirm=%d timeout=%g emulator=%d", (long long)s->rounds, s->confirm, s->timeout, !s->no_emulator);
}

/* ---- devices ---- */

/* The sessions of the evaluating threads. Errors of a device are reported when it is opened; code is then the exit code. */
typedef struct opened {
    const cli_command *command;
    const settings    *s;
    const char        *typed, *device[GS_SERVICE_DEVICES];
    cli_session        session[GS_SERVICE_DEVICES];
    int                code;
} opened;

static gs_status open_device(void *self, int index, gs_service_session *out, gs_error *error)
{
    opened *const o = self;
    cli_session *const session = &o->session[index];
    snprintf(session->command, sizeof session->command, "%s", o->typed);
    o->code = cli_session_open(o->command, session, o->device[index], o->s->dependent, true, o->s->store);
    if (o->code >= 0) return gs_fail(error, GS_ERROR_NO_DEVICE, NULL, "the device cannot be used");
    *out = (gs_service_session){.self = session, .worker = &session->worker, .emulator = o->s->no_emulator ? NULL : cli_session_emulator(session), .caps = &session->caps,
                                .store = session->store, .session = &session->session, .device = session->device, .version = session->version};
    return GS_OK;
}

static void close_device(gs_service_session *session) { cli_session_close(session->self); }

/* ---- start and stop ---- */

static int run_until_stopped(const settings *s, gs_service *service, bool any, const char *token)
{
    const int open = gs_service_open_jobs(service);
    const bool six = strchr(s->address, ':') != NULL;
    char url[300];
    snprintf(url, sizeof url, "http://%s%.250s%s:%d/v1", six ? "[" : "", s->address, six ? "]" : "", gs_service_port(service));
    if (s->json) {
        gs_text line = {0};
        gs_service_object(service, url, token != NULL, !any, &line);
        printf("%s\n", gs_text_string(&line));
        gs_text_free(&line);
    } else printf("serving %s on %s%s%s\n", url, gs_service_device_name(service), token ? ", with a token" : "", any ? "" : ", the listed problems only");
    if (open > 0 && !s->json) printf("continuing with %d candidates that were accepted before\n", open);
    fflush(stdout);
    while (!cli_stopped()) {
        gs_clock_sleep_ns(LOOK_NS);
        gs_service_tend(service);
    }
    const int left = gs_service_stop(service);
    if (left > 0) cli_note("%d accepted candidates are not done; run the same command again to continue", left);
    return cli_stopped();
}

static int serve(const cli_command *command, const settings *s, const char *typed, const gs_device_group *group, const cli_problems *tasks, bool any, const char *token)
{
    char scope[96];
    gs_error error;
    gs_service *service;
    opened *const o = calloc(1, sizeof *o);
    if (!o) return no_memory(command);
    *o = (opened){.command = command, .s = s, .typed = typed, .device = {s->device}, .code = -1};
    for (int i = 0; i < group->count; i++) o->device[i] = group->member[i].device;
    name_options(s, scope, sizeof scope);
    const gs_service_options how = {
        .jobs = {.opener = {.self = o, .open = open_device, .close = close_device}, .devices = GS_MAX(group->count, 1), .prepare = preparers(s, group), .store = s->store, .queue = (int)s->queue,
                 .keep_s = s->keep, .environment = {.confirm = s->confirm, .rounds = (int)s->rounds, .dependent = s->dependent, .compile_s = s->timeout, .timeout_s = s->timeout}},
        .scope = scope, .address = s->address, .port = (int)s->port, .token = token, .connections = (int)s->connections, .most_body = (size_t)s->most_body << 10,
        .deadline_s = s->deadline, .tasks = tasks->list, .task_count = tasks->count, .only_tasks = !any,
    };
    int code = -1;
    if (gs_service_start(&service, &how, &error) != GS_OK) code = o->code >= 0 ? o->code : cli_fail(command, NULL, &error);
    if (code < 0) code = run_until_stopped(s, service, any, token);
    if (service) gs_service_free(&service);
    free(o);
    return code;
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.asked.acc = -1, .address = "127.0.0.1", .port = 7811, .queue = 1024, .connections = 256, .most_body = 4096, .deadline = 600, .keep = 30 * 86400.0, .prepare = -1};
    cli_session typed = {0};
    gs_device_group group = {0};
    cli_problems tasks = {0};
    char *token = NULL;
    int words;
    signal(SIGXFSZ, SIG_IGN);   /* exceeding a file size limit is then answered like a full disk */
    cli_session_command(&typed, argc, argv);
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    if (s.device && s.devices) return cli_usage(command, "--device or --devices, not both");
    code = read_token(command, &s, &token);
    if (code < 0) code = cli_dependent(command, &s.dependent);
    if (code < 0) code = cli_problems_read(command, &tasks, &s.asked, words, argv + 1);
    const bool any = tasks.count == 0;
    if (code < 0 && any && !(tasks.list = gs_service_grid(&tasks.count))) code = no_memory(command);
    if (code < 0 && s.devices) code = cli_devices(command, &group, s.devices);
    if (code < 0) code = allow_files(command, &s, &group);
    if (code < 0) code = serve(command, &s, typed.command, &group, &tasks, any, token);
    gs_device_group_free(&group);
    cli_problems_free(&tasks);
    free(token);
    return code;
}

const cli_command cli_serve = {
    .name     = "serve",
    .words    = "[PROBLEM...]",
    .summary  = "evaluate candidates over HTTP: verdicts and rewards",
    .about    = "The evaluation of `score` over HTTP and JSON, for training models. Candidates are compiled by a pool\nof processes; each device verifies and times one at a time. Accepted candidates are kept in the\n"
                "store until they are answered; a candidate that was answered before is not evaluated again. With\nproblems, only these are evaluated; without, any problem is, and GET /v1/tasks lists a grid.\n"
                "docs/howto/serve.md describes the endpoints. Ctrl-C ends the service within ten seconds; open\ncandidates are continued by the next run.",
    .options  = options,
    .examples = "  gemmsmith serve\n"
                "  gemmsmith serve --file problems.txt --devices all --address 0.0.0.0 --token-file token\n"
                "  curl -H 'Content-Type: application/json' -d '{\"problem\":\"f16:512x512x512:tn\",\"schedule\":\"simple\"}' http://127.0.0.1:7811/v1/evaluate",
    .run      = run,
};
