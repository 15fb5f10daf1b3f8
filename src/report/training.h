/* SPDX-License-Identifier: MIT
 * Runs of trainers as curves, from the logs that they keep themselves: trainer_state.json of transformers and TRL (its log_history), the same entries as lines
 * (python/trained), and lines {"step", "data"} of verl's logger `file`. */
#ifndef GS_REPORT_TRAINING_H
#define GS_REPORT_TRAINING_H

#include <stdbool.h>

#include "report/curves.h"

/* Whether the text is such a log, and no row of eval. */
bool gs_training_is(const char *text);

/* Adds a curve for each figure that the log has: series "training/reward", "training/entropy", ...; name: of the run. *unread: lines and entries that could not be
 * read. CORRUPT: nothing could; MEMORY. */
gs_status gs_training_read(gs_curves *curves, const char *name, const char *text, int *unread, gs_error *error);

/* What a run is called by the path of its log: the file without what is behind its dot; where that is trainer_state or log, the folder, without those of checkpoints. */
void gs_training_name(char name[GS_CURVE_NAME], const char *path);

#endif
