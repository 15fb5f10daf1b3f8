/* SPDX-License-Identifier: MIT
 * torch.matmul next to our plan, timed by python/gemmsmith/torch_contender.py: a separate Python process that runs both in interleaved rounds. Its times can
 * be compared with each other only, not with those of the worker's run. */
#ifndef GS_COMPARE_TORCH_H
#define GS_COMPARE_TORCH_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

/* The script's result {"contenders":{"torch-nn":{"us":..},...},"ratio":{"nn":RATIO,"tn":RATIO,"max":RATIO},...}, or {"message":"..."} with the reason for
 * having none. dependent: our plan uses dependent launches. rounds 0: the script's default. The caller owns the reference. */
json_t *gs_torch_measure(const char *problem, const char *device, bool dependent, int64_t rounds);

#endif
