/* SPDX-License-Identifier: MIT
 * A language model for tests of the command line. fake_endpoint FILE ANSWER... writes its URL to FILE and replies with the answers in turn, then repeats the last one;
 * an answer of three digits is an HTTP status. It ends when it is killed, or after a minute. FILE.log gets the requests. */
#include <jansson.h>

#include "endpoint.h"

enum { MOST = 16 };

static said script[MOST];

static bool take_answer(said *to, const char *text)
{
    if (strlen(text) == 3 && strspn(text, "0123456789") == 3) {
        *to = (said){.http = atoi(text), .type = "application/json", .body = "{}"};
        return true;
    }
    json_t *const reply = json_pack("{s:[{s:{s:s},s:s}],s:{s:i,s:i}}", "choices", "message", "content", text, "finish_reason", "stop", "usage",
                                    "prompt_tokens", 100, "completion_tokens", 10);
    *to = (said){.http = 200, .type = "application/json", .body = reply ? json_dumps(reply, 0) : NULL};
    json_decref(reply);
    return to->body;
}

int main(int argc, char **argv)
{
    static endpoint server;
    char name[512];
    if (argc < 3 || argc - 2 > MOST) {
        fprintf(stderr, "usage: fake_endpoint FILE ANSWER...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        if (!take_answer(&script[i - 2], argv[i])) return 1;
    endpoint_start(&server, script, argc - 2);
    snprintf(name, sizeof name, "%s.log", argv[1]);
    FILE *const log = fopen(name, "w");
    snprintf(name, sizeof name, "%s.new", argv[1]);
    FILE *const file = fopen(name, "w");
    if (!log || !file || fprintf(file, "%s\n", server.url) < 0 || fclose(file) != 0 || rename(name, argv[1]) != 0) return 1;
    for (int look = 0, written = 0; look < 3000; look++) {
        usleep(20000);
        for (const int now = __atomic_load_n(&server.requests, __ATOMIC_SEQ_CST); written < now; written++) fprintf(log, "%s\n", server.request[written % ENDPOINT_KEPT]);
        fflush(log);
    }
    endpoint_stop(&server);
    return fclose(log) ? 1 : 0;
}
