/* SPDX-License-Identifier: MIT
 * Which plan serves a call, per device: a table from keys to plans that grows and never forgets, read without a lock. A plan is made by the first call that
 * asks for it, in that call's thread, never while its stream is being captured. */
#ifndef GS_TORCH_CHOICE_H
#define GS_TORCH_CHOICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <gemmsmith/plan.h>

#include "torch/form.h"

enum { GS_TORCH_DEVICES = 64 };

typedef struct gs_torch_settings {
    const char *emulated;      /* "emu:h200": every call goes there, operands are copied to and fro; NULL: the GPU of the call. Borrowed, must stay */
    int         most_plans;    /* of a device; what comes later is left to torch */
} gs_torch_settings;

/* What a key came to. Entries are never freed. */
typedef struct gs_torch_entry gs_torch_entry;

/* From now on; also forgets nothing: entries of before stay. Called before any other call here. */
void gs_torch_choice_set(const gs_torch_settings *settings);

/* Whether calls are invariant problems from now on (gs_problem.invariant). Off at first. */
void gs_torch_choice_invariant(bool on);

/* Whether the weights of calls are constant from now on (gs_problem.constant). Off at first. */
void gs_torch_choice_constant(bool on);
bool gs_torch_choice_is_constant(void);

/* The entry of a call's key; NULL: there is no memory for one. */
gs_torch_entry *gs_torch_find(int device, const gs_torch_key *key);

/* Runs the call on the stream if its entry has a plan, or gets one now. GS_TORCH_FITS: it is on the stream. Anything else: the call is torch's, and nothing was put there. via: for the record. */
gs_torch_reason gs_torch_run(int device, const gs_torch_key *key, const gs_torch_pointers *pointers, float alpha, float beta, gs_stream stream, const char *via);

/* Makes the plan of a problem's key now. Codes: those of gs_plan_create, UNSUPPORTED. *why says what is used. */
gs_status gs_torch_prepare(int device, const gs_problem *problem, char *why, size_t size, gs_error *error);

/* A device's own; NULL: it could not be opened. It stays open. An emulated one is for one thread at a time: between gs_torch_stage(true) and (false). */
struct gs_device *gs_torch_device(int device);
void gs_torch_stage(bool begin);

/* Whether this process is a fork of one that used the adapter: no GPU is there then. */
bool gs_torch_is_forked(void);

/* Counts a call that had no key. */
void gs_torch_count_passed(gs_torch_reason reason);

/* The report's line of this number: "DEVICE<TAB>CALLS<TAB>PASSED<TAB>PROBLEM<TAB>ORIGIN<TAB>KERNEL<TAB>WHY". Behind the entries there is one for each reason why calls had no key, without
 * device and problem. false: there are no more, and *line counts on from the end. */
bool gs_torch_report(int *line, char *text, size_t size);

#endif
