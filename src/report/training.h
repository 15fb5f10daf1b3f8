/* SPDX-License-Identifier: MIT
 * Training runs as curves, from the trainers' own logs: trainer_state.json of transformers and TRL (its log_history), the same entries as lines
 * (python/trained), and lines {"step", "data"} of verl's logger `file`. */
#ifndef GS_REPORT_TRAINING_H
#define GS_REPORT_TRAINING_H

#include <stdbool.h>

#include "report/curves.h"

/* Whether the text is such a log, and not rows of eval. */
bool gs_training_is(const char *text);

/* Adds a curve for each known figure in the log: series "training/reward", "training/entropy", ...; name: of the run. *unread: lines and entries that could
 * not be parsed. CORRUPT: none could; MEMORY. */
gs_status gs_training_read(gs_curves *curves, const char *name, const char *text, int *unread, gs_error *error);

/* The name of a run, from the path of its log: the file name without its extension; for trainer_state.json and log.jsonl the folder, skipping checkpoint
 * folders. */
void gs_training_name(char name[GS_CURVE_NAME], const char *path);

#endif
