/* SPDX-License-Identifier: MIT */
#include "base/stop.h"

volatile sig_atomic_t gs_stop_requested;
