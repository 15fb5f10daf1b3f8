/* SPDX-License-Identifier: MIT
 * torch.matmul next to our plan, timed by python/gemmsmith/torch_contender.py: a Python process of its own in which both run
 * in interleaved rounds. Its times are not to be compared with those of the worker's run, only with each other. */
#ifndef GS_COMPARE_TORCH_H
#define GS_COMPARE_TORCH_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

/* The script's result {"contenders":{"torch-nn":{"us":..},...},"ratio":{"nn":RATIO,"tn":RATIO,"max":RATIO},...}, or
 * {"message":"..."} that says why there is none. dependent: of our plan's launches. rounds 0: the script's default. The caller's reference. */
json_t *gs_torch_measure(const char *problem, const char *device, bool dependent, int64_t rounds);

#endif
