/* SPDX-License-Identifier: MIT
 * The only symbol that libgemmsmith-emu.so exports (device/emulator.h). */
#include "emu/emu.h"

#include <gemmsmith/gemmsmith.h>

#include "base/log.h"
#include "emu/door.h"

static void (*log_line)(int level, const char *text);

static void forward(void *self, int level, const char *text)
{
    (void)self;
    log_line(level, text);
}

static void log_to(void (*line)(int level, const char *text))
{
    log_line = line;
    gs_log_set_sink(&log_line, forward, NULL, GS_LOG_DEBUG);
}

GS_API const gs_emulator gs_emulator_door = {
    .version = GS_VERSION_TEXT, .device_bytes = sizeof(gs_device), .ops_bytes = sizeof(gs_device_ops), .open = gs_emu_open,
    .log_to = log_to,
};
