/* SPDX-License-Identifier: MIT
 * Making packs. Equal texts, code and kernels are stored once: many problems share a kernel, and many entries a device's name. */
#include "pack/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <gemmsmith/gemmsmith.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/manifest.h"
#include "pack/format.h"

typedef struct found_text {
    gs_hash  hash;
    uint32_t at;
} found_text;

struct gs_pack_writer {
    gs_pack_slot   *slots;
    gs_pack_module *modules;    /* `at`: offset from the first code */
    found_text     *known;      /* texts */
    int             slot_count, slot_capacity, module_count, module_capacity, known_count, known_capacity;
    gs_text         texts, code;
};

static gs_status no_memory(gs_error *error) { return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a pack"); }

gs_status gs_pack_writer_create(gs_pack_writer **out, gs_error *error)
{
    *out = calloc(1, sizeof **out);
    return *out ? GS_OK : no_memory(error);
}

void gs_pack_writer_destroy(gs_pack_writer **writer)
{
    if (!writer || !*writer) return;
    free((*writer)->slots);
    free((*writer)->modules);
    free((*writer)->known);
    gs_text_free(&(*writer)->texts);
    gs_text_free(&(*writer)->code);
    free(*writer);
    *writer = NULL;
}

/* Adds a text unless it exists; *at: its offset. */
static gs_status put_text(gs_pack_writer *w, const char *text, uint32_t *at, gs_error *error)
{
    const size_t size = text ? strlen(text) : 0;
    const gs_hash hash = gs_hash_bytes(text ? text : "", size);
    for (int i = w->known_count - 1; i >= 0; i--)   /* recent texts are the most likely matches */
        if (gs_pack_order(&w->known[i].hash, &hash) == 0) {
            *at = w->known[i].at;
            return GS_OK;
        }
    if (!gs_grow(&w->known, w->known_count, &w->known_capacity, sizeof *w->known)) return no_memory(error);
    *at = (uint32_t)w->texts.size;
    gs_text_add_bytes(&w->texts, text ? text : "", size);
    gs_text_add_bytes(&w->texts, "", 1);
    if (w->texts.failed || w->texts.size > UINT32_MAX / 2) return no_memory(error);
    w->known[w->known_count++] = (found_text){hash, *at};
    return GS_OK;
}

gs_status gs_pack_put_kernel(gs_pack_writer *w, const gs_pack_kernel *kernel, int *index, gs_error *error)
{
    gs_pack_module made = {.code_size = kernel->code_size, .ptx_size = kernel->ptx_size, .source_size = kernel->source_size, .registers = kernel->registers,
                           .spill_bytes = kernel->spill_bytes, .stack_bytes = kernel->stack_bytes, .static_smem = kernel->static_smem, .user = kernel->user};
    const size_t before = w->code.size;
    made.at = before;
    GS_TRY(put_text(w, kernel->manifest, &made.manifest, error));
    if (!gs_grow(&w->modules, w->module_count, &w->module_capacity, sizeof *w->modules)) return no_memory(error);
    if (kernel->code_size) gs_text_add_bytes(&w->code, kernel->code, kernel->code_size);
    if (kernel->ptx_size) gs_text_add_bytes(&w->code, kernel->ptx, kernel->ptx_size);
    if (kernel->source_size) gs_text_add_bytes(&w->code, kernel->source, kernel->source_size);
    if (w->code.failed) return no_memory(error);
    made.hash = gs_hash_bytes(w->code.size > before ? w->code.data + before : "", w->code.size - before);
    for (int i = 0; i < w->module_count; i++) {
        const gs_pack_module *const other = &w->modules[i];
        if (gs_pack_order(&other->hash, &made.hash) != 0 || other->code_size != made.code_size || other->ptx_size != made.ptx_size || other->source_size != made.source_size) continue;
        made.at = other->at;   /* the same code */
        w->code.size = before;
        if (other->manifest != made.manifest || other->user != made.user) continue;
        *index = i;
        return GS_OK;
    }
    *index = w->module_count;
    w->modules[w->module_count++] = made;
    return GS_OK;
}

gs_status gs_pack_put(gs_pack_writer *w, const gs_problem *problem, const gs_pack_entry *entry, bool *added, gs_error *error)
{
    char text[GS_PROBLEM_TEXT];
    *added = false;
    if (entry->kernel >= w->module_count || (entry->kernel < 0) != (entry->suggestion > 0)) return gs_fail(error, GS_ERROR_ARGUMENT, "kernel", "there is no kernel %d", entry->kernel);
    const bool user = entry->kernel >= 0 && w->modules[entry->kernel].user;
    gs_pack_slot made = {.key = gs_pack_hash(gs_pack_key(problem, user, text), user), .kernel = entry->kernel < 0 ? GS_PACK_NOTHING : (uint32_t)entry->kernel,
                         .suggestion = entry->suggestion, .cublaslt = entry->cublaslt, .mhz = entry->mhz, .chain = entry->chain, .us = entry->us, .library_us = entry->library_us,
                         .ratio = entry->ratio, .low = entry->low, .high = entry->high};
    for (int i = 0; i < w->slot_count; i++)
        if (gs_pack_order(&w->slots[i].key, &made.key) == 0) return GS_OK;
    GS_TRY(put_text(w, text, &made.problem, error));
    GS_TRY(put_text(w, entry->choice, &made.choice, error));
    GS_TRY(put_text(w, entry->gpu, &made.gpu, error));
    GS_TRY(put_text(w, entry->date, &made.date, error));
    GS_TRY(put_text(w, entry->by, &made.by, error));
    if (w->slot_count >= (int)GS_PACK_COUNT) return gs_fail(error, GS_ERROR_RANGE, NULL, "a pack has at most %u problems", GS_PACK_COUNT);
    if (!gs_grow(&w->slots, w->slot_count, &w->slot_capacity, sizeof *w->slots)) return no_memory(error);
    w->slots[w->slot_count++] = made;
    *added = true;
    return GS_OK;
}

static int by_key(const void *a, const void *b) { return gs_pack_order(&((const gs_pack_slot *)a)->key, &((const gs_pack_slot *)b)->key); }

gs_status gs_pack_finish(gs_pack_writer *w, const gs_pack_head *head, char **bytes, size_t *size, gs_error *error)
{
    uint32_t end;
    GS_TRY(put_text(w, "", &end, error));   /* so that there is at least one text */
    if (w->slot_count > 0) qsort(w->slots, (size_t)w->slot_count, sizeof *w->slots, by_key);
    gs_pack_top top = {.magic = GS_PACK_MAGIC, .head_bytes = sizeof top, .entry_bytes = sizeof(gs_pack_slot), .kernel_bytes = sizeof(gs_pack_module),
                       .args_bytes = GS_ARGS_EARLY_BYTES, .entries = (uint32_t)w->slot_count, .kernels = (uint32_t)w->module_count,
                       .cc = head->cc, .sms = head->sms, .nvrtc = head->nvrtc, .driver = head->driver, .emulated = head->emulated};
    const size_t slots = (size_t)w->slot_count * sizeof *w->slots, modules = (size_t)w->module_count * sizeof *w->modules;
    top.texts = sizeof top + slots + modules;
    top.code = top.texts + w->texts.size;
    top.size = top.code + w->code.size;
    snprintf(top.version, sizeof top.version, "%s", GS_VERSION_TEXT);
    snprintf(top.target, sizeof top.target, "%s", head->target);
    snprintf(top.gpu, sizeof top.gpu, "%s", head->gpu);
    snprintf(top.date, sizeof top.date, "%s", head->date);
    char *const made = malloc(top.size);
    if (!made) return no_memory(error);
    memcpy(made, &top, sizeof top);
    if (slots) memcpy(made + sizeof top, w->slots, slots);
    for (int i = 0; i < w->module_count; i++) {
        gs_pack_module module = w->modules[i];
        module.at += top.code;
        memcpy(made + sizeof top + slots + (size_t)i * sizeof module, &module, sizeof module);
    }
    memcpy(made + top.texts, w->texts.data, w->texts.size);
    if (w->code.size) memcpy(made + top.code, w->code.data, w->code.size);
    top.hash = gs_hash_bytes(made + GS_PACK_HASHED_FROM, top.code - GS_PACK_HASHED_FROM);
    memcpy(made + offsetof(gs_pack_top, hash), &top.hash, sizeof top.hash);
    *bytes = made;
    *size = top.size;
    return GS_OK;
}
