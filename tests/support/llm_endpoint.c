/* SPDX-License-Identifier: MIT
 * Definitions of llm_endpoint.h, once for each test program. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "llm_endpoint.h"

endpoint server;
int      notes;
char     noted[512];

void note(const char *text)
{
    notes++;
    snprintf(noted, sizeof noted, "%s", text);
}

void unset_models(void)
{
    static const char *const names[] = {"OPENAI_API_KEY", "GEMMSMITH_LLM_URL", "GEMMSMITH_LLM_MODEL", "GEMMSMITH_LLM_KEY_ENV", "GEMMSMITH_LLM_BUDGET",
                                        "GEMMSMITH_LLM_PRICE", "GEMMSMITH_LLM_LEDGER"};
    for (size_t i = 0; i < GS_COUNT(names); i++) unsetenv(names[i]);
    setenv("GEMMSMITH_PROMPTS", GS_SOURCE_DIR "/share/prompts", 1);
}

void has(const char *text, const char *what)
{
    if (!strstr(text, what)) fail_msg("there is no '%s' in:\n%s", what, text);
}

void has_not(const char *text, const char *what)
{
    const char *const at = strstr(text, what);
    if (at) fail_msg("there is '%s' in:\n%.*s...", what, 300, at - GS_MIN(at - text, 150));
}
