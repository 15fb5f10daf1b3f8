/* SPDX-License-Identifier: MIT
 * An evaluation as JSON: the fields that score prints and serve answers with. */
#ifndef CLI_EVALUATION_H
#define CLI_EVALUATION_H

#include "base/json.h"
#include "evaluate/environment.h"

/* Within an object that is open. */
void cli_put_evaluation(gs_json *json, const char *problem, const gs_evaluation *got);

#endif
