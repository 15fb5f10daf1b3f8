/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "worker/worker.h"

static bool quiet_asked;
static bool progress_shown;
static volatile sig_atomic_t stop_signal;

void cli_output_set(bool quiet, int verbose)
{
    quiet_asked = quiet;
    if (quiet)
        gs_log_set_level(GS_LOG_ERROR);
    else if (verbose > 0)
        gs_log_set_level(verbose > 1 ? GS_LOG_DEBUG : GS_LOG_INFO);
    else if (!getenv("GEMMSMITH_LOG"))
        gs_log_set_level(GS_LOG_WARNING);
}

int cli_exit_code(gs_status status)
{
    switch (status) {
    case GS_OK:                   return CLI_OK;
    case GS_ERROR_ARGUMENT:
    case GS_ERROR_PARSE:
    case GS_ERROR_RANGE:          return CLI_USAGE;
    case GS_ERROR_NO_DRIVER:
    case GS_ERROR_DRIVER_TOO_OLD:
    case GS_ERROR_NO_DEVICE:
    case GS_ERROR_DEVICE_UNKNOWN: return CLI_NO_DEVICE;
    case GS_ERROR_VERIFY:         return CLI_VERIFY;
    case GS_ERROR_STORE:
    case GS_ERROR_STORE_CORRUPT:
    case GS_ERROR_STORE_BUSY:
    case GS_ERROR_STORE_VERSION:
    case GS_ERROR_DISK_FULL:      return CLI_STORE;
    case GS_ERROR_INTERRUPTED:    return cli_stopped() ? cli_stopped() : CLI_FAILED;
    default:                      return CLI_FAILED;
    }
}

int cli_usage(const cli_command *command, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    cli_progress_clear();
    fprintf(stderr, "gemmsmith %s: %s (gemmsmith help %s)\n", command->name, text, command->name);
    return CLI_USAGE;
}

int cli_fail(const cli_command *command, const char *what, const gs_error *error)
{
    char text[600];
    if (what && strncmp(error->text, what, strlen(what)) == 0) what = NULL;   /* the message names it already */
    cli_progress_clear();
    fprintf(stderr, "gemmsmith %s: %s%s%s\n", command->name, what ? what : "", what ? ": " : "",
            gs_error_format(error, text, sizeof text));
    return cli_exit_code(error->status);
}

const char *cli_needs(gs_status status, const char *device, const char *else_)
{
    if (!device || !*device) device = getenv("GEMMSMITH_DEVICE");
    return cli_exit_code(status) == CLI_NO_DEVICE && !(device && strncmp(device, "emu:", 4) == 0) ? "needs an NVIDIA GPU" : else_;
}

void cli_note(const char *format, ...)
{
    if (quiet_asked) return;
    cli_progress_clear();
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
}

/* ---- progress ---- */

static bool is_terminal(int file)
{
    const char *const term = getenv("TERM");
    return isatty(file) && !(term && strcmp(term, "dumb") == 0);
}

void cli_progress(const char *format, ...)
{
    if (quiet_asked || !is_terminal(STDERR_FILENO)) return;
    char text[512];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    struct winsize size;
    const int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
    fprintf(stderr, "\r\033[K%.*s", width, text);
    fflush(stderr);
    progress_shown = true;
}

void cli_progress_clear(void)
{
    if (!progress_shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress_shown = false;
}

char *cli_time(char text[CLI_TIME_TEXT], double seconds)
{
    if (!(seconds >= 0) || !isfinite(seconds))
        snprintf(text, CLI_TIME_TEXT, "?");
    else if (seconds < 90)
        snprintf(text, CLI_TIME_TEXT, "%.0f s", seconds);
    else if (seconds < 90 * 60)
        snprintf(text, CLI_TIME_TEXT, "%.0f min", seconds / 60);
    else
        snprintf(text, CLI_TIME_TEXT, "%.1f h", seconds / 3600);
    return text;
}

char *cli_time_left(char text[CLI_TIME_TEXT], int64_t started_ns, double done, double total)
{
    const double spent = 1e-9 * (double)(gs_clock_ns() - started_ns);
    return cli_time(text, done > 0 ? spent * (total - done) / done : NAN);
}

/* ---- colour ---- */

static const char *colour(const char *sequence)
{
    const char *const no_color = getenv("NO_COLOR");
    return is_terminal(STDOUT_FILENO) && !(no_color && *no_color) ? sequence : "";
}

const char *cli_green(void) { return colour("\033[32m"); }
const char *cli_red(void) { return colour("\033[31m"); }
const char *cli_plain(void) { return colour("\033[0m"); }

/* ---- signals ---- */

static void on_signal(int number)
{
    if (stop_signal) _exit(128 + number);
    stop_signal = number;
    gs_stop_requested = number;
}

/* No SA_RESTART: a blocking wait must return, so that the stop is noticed. */
void cli_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int cli_stopped(void) { return stop_signal ? 128 + stop_signal : 0; }
