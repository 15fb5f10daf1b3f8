/* SPDX-License-Identifier: MIT
 * A scripted endpoint for tests of the llm policy: the endpoint, what the client logs, what a text contains, and an environment without the models
 * of whoever runs the tests. Included after cmocka. */
#ifndef TESTS_LLM_ENDPOINT_H
#define TESTS_LLM_ENDPOINT_H

#include "endpoint.h"
#include "texts.h"

static endpoint server;
static int      notes;
static char     noted[512];   /* the last one */

static inline void note(const char *text)
{
    notes++;
    snprintf(noted, sizeof noted, "%s", text);
}

static inline void unset_models(void)
{
    static const char *const names[] = {"OPENAI_API_KEY", "GEMMSMITH_LLM_URL", "GEMMSMITH_LLM_MODEL", "GEMMSMITH_LLM_KEY_ENV", "GEMMSMITH_LLM_BUDGET",
                                        "GEMMSMITH_LLM_PRICE", "GEMMSMITH_LLM_LEDGER"};
    for (size_t i = 0; i < GS_COUNT(names); i++) unsetenv(names[i]);
    setenv("GEMMSMITH_PROMPTS", GS_SOURCE_DIR "/share/prompts", 1);
}

static inline void has(const char *text, const char *what)
{
    if (!strstr(text, what)) fail_msg("there is no '%s' in:\n%s", what, text);
}

static inline void has_not(const char *text, const char *what)
{
    const char *const at = strstr(text, what);
    if (at) fail_msg("there is '%s' in:\n%.*s...", what, 300, at - GS_MIN(at - text, 150));
}

#endif
