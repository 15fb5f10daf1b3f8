/* SPDX-License-Identifier: MIT
 * A scripted endpoint for tests of the llm policy: the endpoint, what the client logs, what a text contains, and an environment without the models
 * of whoever runs the tests. Included after cmocka. */
#ifndef TESTS_LLM_ENDPOINT_H
#define TESTS_LLM_ENDPOINT_H

#include "endpoint.h"
#include "texts.h"

extern endpoint server;
extern int      notes;        /* lines that were logged since the test set this to 0 */
extern char     noted[512];   /* the last one */

void note(const char *text);   /* a log function */
void unset_models(void);       /* no model of the environment; the prompts of this tree */
void has(const char *text, const char *what);
void has_not(const char *text, const char *what);

#endif
