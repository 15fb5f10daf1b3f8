/* SPDX-License-Identifier: MIT
 * The small problem, and what its outcome means for the candidate. */
#include "evaluate/emulate.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "device/device.h"
#include "kernel/manifest.h"
#include "problem/layout.h"
#include "worker/client.h"

#define TILE       256                     /* if the manifest does not tell */
#define MOST_TILE  1024
#define K_BLOCK    64
#define K_BLOCKS   8                       /* and a ninth: more than a pipeline has stages */
#define PRODUCTS   1e8                     /* multiply-adds that are emulated in a few seconds: smaller problems stay as they are */
#define MOST_STEPS 4096                    /* how many extents are tried to find a change of the grid */
#define WORKSPACE  ((int64_t)1 << 30)      /* bytes of the largest workspace that is emulated: it takes this machine's memory */
#define PARTS      (GS_PART_EXACT | GS_PART_EDGES | GS_EDGES_ONCE | GS_PART_MEMORY)   /* launch it and check its memory accesses; the GPU tests its numbers */

/* ---- the small problem ---- */

static int64_t greatest_divisor(int64_t a, int64_t b) { return b == 0 ? a : greatest_divisor(b, a % b); }

static int64_t together(int64_t a, int64_t b) { return a / greatest_divisor(a, b) * b; }

/* Blocks of the entry; -1 where a formula has no value. */
static int64_t blocks_of(const gs_entry *entry, const gs_problem *p, int sms)
{
    const gs_formula_names names = {p->m, p->n, p->k, p->batch, p->lda, p->ldb, p->ldc, p->ldd, sms};
    int64_t all = 1, value;
    for (int i = 0; i < 3; i++) {
        if (gs_formula_value(&entry->grid[i], &names, &value, NULL) != GS_OK || value > INT32_MAX || all > INT32_MAX) return -1;
        all *= GS_MAX(value, 1);
    }
    return all;
}

static int64_t *extent_of(gs_problem *p, char axis) { return axis == 'm' ? &p->m : axis == 'n' ? &p->n : &p->k; }

/* The size of a tile: the distance from one change of the entry's grid to the next, going down from the requested extent. 0: the grid does not change. */
static int64_t step_of(const gs_entry *entry, const gs_problem *asked, int sms, char axis)
{
    gs_problem p = *asked;
    int64_t *const extent = extent_of(&p, axis), first = *extent, before = 0;
    int64_t last = blocks_of(entry, &p, sms), changed = before;
    while (last >= 0 && *extent > 1 && first - *extent < 2 * MOST_STEPS) {
        --*extent;
        const int64_t now = blocks_of(entry, &p, sms);
        if (now == last) continue;
        if (now < 0) break;
        if (changed) return changed - *extent;
        changed = *extent;
        last = now;
    }
    return *extent == 1 ? changed : 0;   /* one change alone: the first tile ends there */
}

/* The longest box of a tensor map along K. */
static int64_t block_of(const gs_manifest *manifest, gs_layout layout)
{
    int64_t longest = 0;
    for (int e = 0; e < manifest->entry_count; e++)
        for (int i = 0; i < manifest->entry[e].map_count; i++) {
            const gs_map *const map = &manifest->entry[e].map[i];
            if (map->operand == 'a' || map->operand == 'b') longest = GS_MAX(longest, (map->operand == 'a' ? !gs_is_a_transposed(layout) : gs_is_b_transposed(layout)) ? map->inner : map->outer);
        }
    return longest;
}

static int64_t longest_step(const gs_manifest *manifest, const gs_problem *asked, int sms, char axis)
{
    int64_t longest = 0;
    for (int e = 0; e < manifest->entry_count; e++) longest = GS_MAX(longest, step_of(&manifest->entry[e], asked, sms, axis));
    return longest;
}

/* Rows or columns that a cluster computes, at most MOST_TILE; a multiple of 16, as vectors and tensor maps need it. */
static int64_t tile_of(const gs_manifest *manifest, const gs_problem *asked, int sms, char axis)
{
    int64_t tile = longest_step(manifest, asked, sms, axis), cluster = 1;
    if (tile == 0) return TILE;
    for (int e = 0; e < manifest->entry_count; e++)
        for (int i = 0; i < 3; i++) cluster = GS_MAX(cluster, manifest->entry[e].cluster[i]);
    tile = together(tile, 16);
    if (tile * cluster <= MOST_TILE) tile *= cluster;
    return tile <= MOST_TILE ? tile : TILE;
}

/* `whole` plus the remainder of the extent modulo `unit`, or plus a whole unit if there is no remainder; at most the extent. */
static int64_t shorten(int64_t extent, int64_t whole, int64_t unit)
{
    const int64_t left = extent % unit, small = whole + (left ? left : unit);
    return GS_MIN(small, extent);
}

static int64_t unit_of(const gs_manifest *manifest, gs_layout layout)
{
    const int64_t unit = block_of(manifest, layout);
    return unit < 16 || unit > MOST_TILE || unit % 16 ? K_BLOCK : unit;
}

static int64_t shorten_k(const gs_manifest *manifest, const gs_problem *asked, int sms)
{
    const int64_t step = longest_step(manifest, asked, sms, 'k'), unit = unit_of(manifest, asked->layout);
    const int64_t whole = K_BLOCKS * unit;
    if (step > 2 * unit && step <= MOST_STEPS) return shorten(asked->k, step * ((whole + step - 1) / step), step);   /* K is split */
    return shorten(asked->k, whole, 2 * unit);
}

static double products_of(const gs_problem *p) { return (double)p->m * (double)p->n * (double)p->k * (double)p->batch; }

gs_problem gs_small_problem(const gs_problem *asked, const gs_manifest *manifest, int sms)
{
    if (products_of(asked) <= PRODUCTS) return *asked;
    const int64_t m = tile_of(manifest, asked, sms, 'm'), n = tile_of(manifest, asked, sms, 'n');
    const int64_t rows = shorten(asked->m, m, m), groups = asked->grouping == GS_GROUPS_MASKED ? asked->groups : 1;   /* masked groups have the same room each */
    gs_problem small = gs_problem_resized(asked, (rows + groups - 1) / groups * groups, shorten(asked->n, n, n), asked->k);
    small.batch = GS_MIN(asked->batch, 2);
    return products_of(&small) > PRODUCTS ? gs_problem_resized(&small, small.m, small.n, shorten_k(manifest, asked, sms)) : small;
}

/* Replaces the name sms in the formula by a number. */
static void put_sms(gs_formula *formula, int sms)
{
    const gs_formula was = *formula;
    size_t used = 0;
    for (const char *at = was.text; *at;) {
        const size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyz"), length = word > 0 ? word : 1;
        if (word == 3 && strncmp(at, "sms", word) == 0) {
            used += (size_t)snprintf(formula->text + used, GS_FORMULA - used, "%d", sms);   /* never longer: a cluster has 16 blocks at most */
        } else {
            memcpy(formula->text + used, at, length);
            used += length;
        }
        at += length;
    }
    formula->text[used] = '\0';
}

int gs_crowd(gs_manifest *manifest, const gs_problem *problem, int sms)
{
    const gs_manifest was = *manifest;
    int few = 1;
    bool fewer = false;
    for (int e = 0; e < manifest->entry_count; e++) few = GS_MAX(few, manifest->entry[e].cluster[0] * manifest->entry[e].cluster[1] * manifest->entry[e].cluster[2]);
    put_sms(&manifest->workspace, few);
    put_sms(&manifest->zeroed, few);
    for (int e = 0; e < manifest->entry_count; e++) {
        gs_entry *const entry = &manifest->entry[e];
        for (int i = 0; i < 3; i++) put_sms(&entry->grid[i], few);
        put_sms(&entry->smem, few);
        const int64_t blocks = blocks_of(entry, problem, few);
        if (blocks < 0) return 0;
        fewer = fewer || blocks < blocks_of(&was.entry[e], problem, sms);
    }
    return fewer ? few : 0;
}

/* ---- the device ---- */

const char *gs_emulation_device(const gs_caps *caps, char name[GS_WORKER_DEVICE])
{
    char text[GS_DEVICE_NAME];
    for (int i = 0; gs_device_emulated(i, text); i++) {
        const gs_caps *const emulated = gs_caps_find(text + strlen("emu:"));
        if (!emulated || strcmp(emulated->target, caps->target) != 0) continue;
        snprintf(name, GS_WORKER_DEVICE, "%s", text);
        return name;
    }
    return NULL;
}

/* Asks the worker once. *there false: it has no emulated device of this target, and nothing is checked. */
static gs_status know(gs_emulation *e, const gs_caps *device, bool *there, gs_error *error)
{
    if (!e->known) {
        GS_TRY(gs_worker_hello(e->worker, &e->caps, NULL, NULL, error));
        e->known = true;
        if (!e->caps.emulated || strcmp(e->caps.target, device->target) != 0)
            gs_log(GS_LOG_INFO, "%s is no emulated device for %s: kernels reach it without having run on one", e->worker->device, device->target);
    }
    *there = e->caps.emulated && strcmp(e->caps.target, device->target) == 0;
    return GS_OK;
}

/* ---- the candidate ---- */

static bool about_the_text(gs_verdict_code code)
{
    return code == GS_VERDICT_COMPILE || code == GS_VERDICT_SPILL || code == GS_VERDICT_SERIALIZED || code == GS_VERDICT_FORBIDDEN;
}

static bool about_memory(gs_verdict_code code) { return code == GS_VERDICT_FAULT || code == GS_VERDICT_GUARD || code == GS_VERDICT_INPUT; }

static void put_note(char note[160], const char *where, const char *what) { snprintf(note, 160, "not checked at %.72s on the emulated device: %s", where, what); }

/* Applies the outcome of the emulated run to the candidate. where: the problem, and what else was different there. */
static gs_status conclude(gs_evaluator *e, gs_candidate *c, const gs_candidate *emulated, const char *where, gs_step *step, char note[160], gs_error *error)
{
    char reason[sizeof c->reason];
    const gs_verdict_code code = emulated->verdict;
    c->signal = emulated->signal;
    c->registers = emulated->registers;
    c->smem = emulated->smem;
    if (about_the_text(code)) {
        *step = GS_STEP_COMPILE;
        return gs_evaluator_reject(e, c, code, 0, emulated->reason, error);
    }
    if (about_memory(code)) {
        snprintf(reason, sizeof reason, "emulated %.100s: %s", where, emulated->reason);
        c->emulated = true;
        return gs_evaluator_reject(e, c, code, emulated->part, reason, error);
    }
    if (code == GS_VERDICT_HANG) put_note(note, where, "it took too long");
    else if (code == GS_VERDICT_LAUNCH || code == GS_VERDICT_UNSUPPORTED || code == GS_VERDICT_MEMORY) put_note(note, where, emulated->reason);
    return GS_OK;
}

/* This machine may have too little memory for the kernel, unlike the device: that is a note only. */
static gs_status excuse(gs_status status, const gs_error *why, const char *problem, char note[160], gs_error *error)
{
    if (status == GS_ERROR_MEMORY || status == GS_ERROR_DEVICE_MEMORY) {
        put_note(note, problem, why->text);
        return GS_OK;
    }
    if (status != GS_OK && error) *error = *why;
    return status;
}

static bool too_large(const gs_manifest *manifest, const gs_problem *p, int sms)
{
    const gs_formula_names names = {p->m, p->n, p->k, p->batch, p->lda, p->ldb, p->ldc, p->ldd, sms};
    int64_t bytes;
    return gs_formula_value(&manifest->workspace, &names, &bytes, NULL) == GS_OK && bytes > WORKSPACE;
}

/* Compiles and verifies the candidate as this manifest launches it. */
static gs_status try_it(gs_evaluator *e, gs_evaluator *trial, gs_emulation *emulation, gs_candidate *candidate, const char *manifest, const char *where, gs_step *step, char note[160],
                        gs_error *error)
{
    gs_error why = {0};
    gs_candidate emulated = {.source = candidate->source, .manifest = manifest};
    memcpy(emulated.text, candidate->text, sizeof emulated.text);
    gs_status status = gs_evaluator_prepare(trial, &emulated, emulation->compile_s, &why);
    if (status == GS_OK && !gs_candidate_out(&emulated)) status = gs_evaluator_prove(trial, &emulated, &why);
    if (status == GS_OK) status = conclude(e, candidate, &emulated, where, step, note, &why);
    return excuse(status, &why, where, note, error);
}

static gs_evaluator open_trial(const gs_evaluator *e, const gs_emulation *emulation, const gs_problem *problem, uint32_t parts)
{
    gs_evaluator_options options = e->options;
    options.seed = e->seed;
    gs_evaluator trial = gs_evaluator_open(NULL, NULL, emulation->worker, &emulation->caps, problem, &options);
    trial.compile_s = emulation->compile_s;
    trial.limit_s = emulation->limit_s > 0 ? emulation->limit_s : GS_EMULATE_S;
    trial.parts = parts;
    return trial;
}

/* At the small problem no block gets a second tile. If the grid depends on the number of multiprocessors, it is launched once more as if there were just enough for one cluster;
 * if the manifest allows, with a K of few blocks, since one cluster is one thread here. */
static gs_status try_crowded(gs_evaluator *e, gs_emulation *emulation, gs_candidate *candidate, const gs_manifest *manifest, const gs_problem *small, gs_step *step,
                             char note[160], gs_error *error)
{
    gs_manifest crowd = *manifest;
    const int64_t unit = unit_of(manifest, small->layout), k = shorten(small->k, 2 * unit, unit);
    gs_problem problem = gs_problem_resized(small, small->m, small->n, k);
    int sms = gs_crowd(&crowd, &problem, emulation->caps.sms);
    if (sms == 0) {
        crowd = *manifest;
        problem = *small;
        sms = gs_crowd(&crowd, &problem, emulation->caps.sms);
    }
    if (sms == 0) return GS_OK;
    gs_evaluator trial = open_trial(e, emulation, &problem, GS_PART_EXACT);   /* launches it once: only the checker matters */
    char where[100];
    gs_text text = {0};
    gs_manifest_format(&crowd, &text);
    snprintf(where, sizeof where, "%.60s, sms = %d", trial.text, sms);
    const gs_status status = text.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a manifest")
                                         : try_it(e, &trial, emulation, candidate, gs_text_string(&text), where, step, note, error);
    gs_text_free(&text);
    return status;
}

gs_status gs_evaluator_emulate(gs_evaluator *e, gs_emulation *emulation, gs_candidate *candidate, gs_step *step, char note[160], gs_error *error)
{
    gs_manifest manifest;
    bool there = false;
    *step = GS_STEP_EMULATOR;
    note[0] = '\0';
    if (!emulation->worker || e->caps->emulated || !candidate->source) return GS_OK;
    GS_TRY(know(emulation, e->caps, &there, error));
    if (!there) return GS_OK;
    GS_TRY(gs_manifest_parse(&manifest, candidate->manifest, error));
    const gs_problem small = gs_small_problem(e->problem, &manifest, e->caps->sms);
    gs_evaluator trial = open_trial(e, emulation, &small, PARTS);
    gs_status status = GS_OK;
    if (too_large(&manifest, &small, emulation->caps.sms))
        put_note(note, trial.text, "its workspace is larger than 1 GiB");
    else
        status = try_it(e, &trial, emulation, candidate, candidate->manifest, trial.text, step, note, error);
    if (status == GS_OK && !gs_candidate_out(candidate) && !note[0]) status = try_crowded(e, emulation, candidate, &manifest, &small, step, note, error);
    if (status == GS_OK && note[0]) gs_log(GS_LOG_INFO, "%s: %s", candidate->text, note);
    return status;
}
