/* SPDX-License-Identifier: MIT
 * Runs of a model that writes kernels (author/author.h), for tests: with a scripted endpoint, a scripted worker and a store. Included after cmocka. */
#ifndef TESTS_WRITE_RUN_H
#define TESTS_WRITE_RUN_H

#include "llm_endpoint.h"
#include "author/author.h"
#include "tuning.h"
#include "writing.h"

static gs_llm_options         llm;
static gs_environment_options rules;
static gs_author_options       how;
static gs_author_result        result;
static gs_error               error;

/* The reports of a run, each as "island.number base>verdict", with names of candidates cut to four digits. */
static char    told_text[4096];
static int     stop_after;   /* turns; 0: none */
static gs_text heard;        /* all texts that turns reported about their answers */

static inline void short_name(char out[32], const char *name)
{
    snprintf(out, 32, "%.*s", strncmp(name, "source:", 7) == 0 ? 11 : 31, name);
}

static inline void told(void *self, const gs_author_turn *turn)
{
    char base[32];
    const size_t size = strlen(told_text);
    (void)self;
    short_name(base, turn->base);
    snprintf(told_text + size, sizeof told_text - size, "%d.%d %s>%s%s%s%s; ", turn->island, turn->number, base, turn->got ? gs_verdict_word(turn->got->verdict) : "unread",
             turn->again ? " again" : "", turn->improved ? " +" : "", turn->best ? "!" : "");
    gs_text_addf(&heard, "%s\n%s\n%s\n%s\n", turn->base, turn->fault, turn->got ? turn->got->candidate : "", turn->got ? turn->reason : "");
    assert_true(turn->done <= turn->total);
    if (stop_after > 0 && --stop_after == 0) gs_stop_requested = 1;
}

static inline int begin(void **state)
{
    unset_models();
    llm = (gs_llm_options){.model = "tiny", .note = note, .wait_s = 0.01};
    rules = (gs_environment_options){.cache_path = "", .timeout_s = 1, .compile_s = 1, .seed = 5};
    how = (gs_author_options){.llm = &llm, .environment = &rules, .told = told, .islands = 1, .turns = 1, .from = "mma"};
    notes = stop_after = 0;
    told_text[0] = '\0';
    error = (gs_error){0};
    return start(state);
}

/* The endpoint answers with the script, then repeats its last reply. */
static inline gs_status write_with(bench *b, const char *worker, const said *script, int count)
{
    char text[512];
    const gs_problem problem = problem_of(PROBLEM);
    snprintf(text, sizeof text, "library=1.1;log=%s;%s", b->log_path, worker);
    setenv("FAKE_WORKER", text, 1);
    gs_worker_stop(&b->worker);
    gs_author_free(&result);
    told_text[0] = '\0';
    endpoint_start(&server, script, count);
    llm.url = server.url;
    const gs_status status = gs_author_run(b->store, &b->session, &b->worker, gs_caps_find("h200"), &problem, &how, &result, &error);
    endpoint_stop(&server);
    return status;
}

#define write_script(bench, ...) write_with(bench, "", (const said[]){__VA_ARGS__}, GS_COUNT(((const said[]){__VA_ARGS__})))

/* Time of cuBLASLt, us. */
static inline double lib(void) { return library_us(PROBLEM, 1.1); }

/* A reply with a kernel for the scripted worker that takes `us` microseconds, or that misbehaves according to `word`. */
static inline said takes(double us, const char *word)
{
    char source[128];
    snprintf(source, sizeof source, "// fake: us=%g\n// %s\n", us, word);
    return says_kernel(source, SIMPLE_MANIFEST);
}

static inline said misbehaves(const char *word)
{
    char source[128];
    snprintf(source, sizeof source, "// fake: %s\n// fake: us=%g\n", word, lib());
    return says_kernel(source, SIMPLE_MANIFEST);
}

static inline int end(void **state)
{
    gs_author_free(&result);
    gs_text_free(&heard);
    forget_said();
    return finish(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
