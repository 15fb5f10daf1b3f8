/* SPDX-License-Identifier: MIT
 * Messages of the program. Results go to standard output, everything here to standard error. Progress is one line that overwrites itself, on a terminal only. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#include "command.h"

void cli_output_set(bool quiet, int verbose);   /* also sets the log's level */

/* The exit code of a status. */
int cli_exit_code(gs_status status);

/* "gemmsmith eval: ... (gemmsmith help eval)"; returns CLI_USAGE. */
int cli_usage(const cli_command *command, const char *format, ...) GS_PRINTF(2, 3);

/* "gemmsmith eval: WHAT: field, column 3: message (status)"; what may be NULL. Returns the status's exit code. */
int cli_fail(const cli_command *command, const char *what, const gs_error *error);

/* "needs an NVIDIA GPU" if the status means that no GPU was found and device is not emulated; otherwise `else_`. device: the value of --device. */
const char *cli_needs(gs_status status, const char *device, const char *else_);

/* Prints a line, unless quiet. */
void cli_note(const char *format, ...) GS_PRINTF(1, 2);

void cli_progress(const char *format, ...) GS_PRINTF(1, 2);
void cli_progress_clear(void);

/* "40 s", "12 min", "3.5 h": estimate of the remaining time at the average rate so far. Returns text. */
#define CLI_TIME_TEXT 24
char *cli_time_left(char text[CLI_TIME_TEXT], int64_t started_ns, double done, double total);
char *cli_time(char text[CLI_TIME_TEXT], double seconds);

/* Escape sequences for standard output; "" without colour. */
const char *cli_green(void);
const char *cli_red(void);
const char *cli_plain(void);

/* SIGINT and SIGTERM: the first signal requests a stop (gs_stop_requested), the second ends the program. */
void cli_signals(void);
int  cli_stopped(void);   /* exit code for the signal received; 0: none */

#endif
