/* SPDX-License-Identifier: MIT
 * Whether the program was asked to stop. Long loops check it and end with GS_ERROR_INTERRUPTED. */
#ifndef GS_BASE_STOP_H
#define GS_BASE_STOP_H

#include <signal.h>

/* Set by the program's signal handler, to the signal's number. */
extern volatile sig_atomic_t gs_stop_requested;

#endif
