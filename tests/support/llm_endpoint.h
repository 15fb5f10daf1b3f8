/* SPDX-License-Identifier: MIT
 * A scripted endpoint for tests of the llm policy: the endpoint, the client's log lines, checks of what a text contains, and an environment without the models that the
 * user has configured. Included after cmocka. */
#ifndef TESTS_LLM_ENDPOINT_H
#define TESTS_LLM_ENDPOINT_H

#include "endpoint.h"
#include "texts.h"

extern endpoint server;
extern int      notes;        /* logged lines since the test set it to 0 */
extern char     noted[512];   /* the last logged line */

void note(const char *text);   /* a log function */
void unset_models(void);       /* unsets the environment's models; prompts come from this source tree */
void has(const char *text, const char *what);
void has_not(const char *text, const char *what);

#endif
