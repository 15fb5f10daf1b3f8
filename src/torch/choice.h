/* SPDX-License-Identifier: MIT
 * Chooses the plan for a call, per device: a table from keys to plans that only grows and is read without a lock. A plan is made by the first call that needs it, in
 * that call's thread, never while its stream is being captured. */
#ifndef GS_TORCH_CHOICE_H
#define GS_TORCH_CHOICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <gemmsmith/plan.h>

#include "torch/form.h"

enum { GS_TORCH_DEVICES = 64 };

typedef struct gs_torch_settings {
    const char *emulated;      /* "emu:h200": every call runs there, operands are copied in and out; NULL: the GPU of the call. Borrowed, must stay valid */
    int         most_plans;    /* most plans per device; calls that need more are left to torch */
} gs_torch_settings;

/* The state of one key: its plan, or why there is none. Entries are never freed. */
typedef struct gs_torch_entry gs_torch_entry;

/* Sets the settings. Call it before any other function here; entries that exist are kept. */
void gs_torch_choice_set(const gs_torch_settings *settings);

/* Whether later calls are batch-invariant problems (gs_problem.invariant). Initially off. */
void gs_torch_choice_invariant(bool on);

/* Whether the weights of later calls are constant (gs_problem.constant). Initially off. */
void gs_torch_choice_constant(bool on);
bool gs_torch_choice_is_constant(void);

/* The entry for a key; NULL: no memory. */
gs_torch_entry *gs_torch_find(int device, const gs_torch_key *key);

/* Runs the call on the stream if its entry has a plan or gets one now. GS_TORCH_FITS: it is on the stream. Any other reason: torch must compute the call; nothing was
 * launched. via: the name under which it is recorded. */
gs_torch_reason gs_torch_run(int device, const gs_torch_key *key, const gs_torch_pointers *pointers, float alpha, float beta, gs_stream stream, const char *via);

/* Makes the plan for a problem's key now. Codes: those of gs_plan_create, UNSUPPORTED. *why says what is used. */
gs_status gs_torch_prepare(int device, const gs_problem *problem, char *why, size_t size, gs_error *error);

/* The device; NULL: it could not be opened. It stays open. An emulated device admits one thread at a time: use it between gs_torch_stage(true) and
 * gs_torch_stage(false). */
struct gs_device *gs_torch_device(int device);
void gs_torch_stage(bool begin);

/* Whether this process is the child of one that used the adapter and forked: no GPU is usable there. */
bool gs_torch_is_forked(void);

/* Counts a call for which no key could be formed. */
void gs_torch_count_passed(gs_torch_reason reason);

/* Line number *line of the report: "DEVICE<TAB>CALLS<TAB>PASSED<TAB>PROBLEM<TAB>ORIGIN<TAB>KERNEL<TAB>WHY". After the entries, one line for each reason why calls had
 * no key, without device and problem. false: there are no more lines, and *line was reduced by the number of lines. */
bool gs_torch_report(int *line, char *text, size_t size);

#endif
