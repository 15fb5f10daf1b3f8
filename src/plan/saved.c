/* SPDX-License-Identifier: MIT
 * A plan as bytes: its problem, how it was chosen, its manifest and its compiled code.
 *
 *     "gsplan 1\n"  16 bytes: XXH3 of all that follows  8 bytes: total size  parts
 *
 * A part is its size in 8 bytes, then so many bytes. Numbers are little endian, as in memory. Parts, in this order: version of gemmsmith, compile target and whether
 * the device is emulated, problem, origin, schedule, why; for an own kernel also manifest, numbers of the image, code, PTX. */
#include "plan/plan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

static const char magic[9] = {'g', 's', 'p', 'l', 'a', 'n', ' ', '1', '\n'};
enum { HEAD = sizeof magic + sizeof(gs_hash) + sizeof(uint64_t), KIND_EMPTY = 0, KIND_OWN = 1, KIND_LIBRARY = 2 };

typedef struct saved_numbers {
    int32_t origin, kind, suggestion, align[GS_OPERANDS];
} saved_numbers;

typedef struct saved_image {
    int32_t registers, spill_bytes, stack_bytes, static_smem;
} saved_image;

/* ---- writing ---- */

static void put(gs_text *to, const void *bytes, size_t size)
{
    const uint64_t wide = size;
    gs_text_add_bytes(to, &wide, sizeof wide);
    gs_text_add_bytes(to, bytes, size);
}

static void put_string(gs_text *to, const char *string) { put(to, string, strlen(string)); }

static void target_of(const gs_device *device, char text[32])
{
    snprintf(text, 32, "%s%s", device->caps.target, device->caps.emulated ? " emulated" : "");
}

static void put_own(gs_text *to, const gs_loaded *loaded)
{
    const gs_image *const image = gs_loaded_image(loaded);
    const saved_image numbers = {image->registers, image->spill_bytes, image->stack_bytes, image->static_smem};
    gs_text manifest = {0};
    gs_manifest_format(gs_loaded_manifest(loaded), &manifest);
    to->failed = to->failed || manifest.failed;
    put_string(to, gs_text_string(&manifest));
    gs_text_free(&manifest);
    put(to, &numbers, sizeof numbers);
    put(to, image->code ? image->code : "", image->code ? image->size : 0);
    put(to, image->ptx ? image->ptx : "", image->ptx ? image->ptx_size : 0);
}

static void put_plan(gs_text *to, const gs_plan *plan)
{
    char target[32], problem[GS_PROBLEM_TEXT];
    const int suggestion = plan->library ? gs_library_chosen(plan->library) + 1 : 0;
    saved_numbers numbers = {.origin = plan->origin, .kind = plan->library ? KIND_LIBRARY : plan->loaded ? KIND_OWN : KIND_EMPTY, .suggestion = suggestion};
    for (int i = 0; i < GS_OPERANDS; i++) numbers.align[i] = plan->align[i];
    target_of(plan->device, target);
    put_string(to, GS_VERSION_TEXT);
    put_string(to, target);
    put_string(to, gs_problem_format(&plan->problem, problem));
    put(to, &numbers, sizeof numbers);
    put_string(to, plan->schedule);
    put_string(to, plan->why);
    if (plan->loaded) put_own(to, plan->loaded);
}

gs_status gs_plan_save(const gs_plan *plan, void *buffer, size_t *size, gs_error *error)
{
    if (!plan || !size) return gs_fail(error, GS_ERROR_ARGUMENT, plan ? "size" : "plan", "must not be NULL");
    gs_text parts = {0};
    put_plan(&parts, plan);
    const size_t room = *size;
    const uint64_t need = HEAD + parts.size;
    gs_status status = GS_OK;
    if (parts.failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to save a plan");
    else *size = need;
    if (status == GS_OK && buffer && room < need)
        status = gs_fail(error, GS_ERROR_RANGE, "size", "the buffer has %zu bytes, %zu are needed", room, (size_t)need);
    if (status == GS_OK && buffer) {
        char *const at = buffer;
        memcpy(at, magic, sizeof magic);
        memcpy(at + sizeof magic + sizeof(gs_hash), &need, sizeof need);
        memcpy(at + HEAD, parts.data, parts.size);
        const gs_hash hash = gs_hash_bytes(at + sizeof magic + sizeof hash, need - sizeof magic - sizeof hash);
        memcpy(at + sizeof magic, &hash, sizeof hash);
    }
    gs_text_free(&parts);
    return status;
}

/* ---- reading ---- */

typedef struct reader {
    const char *at;
    size_t      left;
    bool        bad;
} reader;

static const char *get(reader *r, size_t *size)
{
    uint64_t wide = 0;
    *size = 0;
    if (r->left >= sizeof wide) memcpy(&wide, r->at, sizeof wide);
    if (r->bad || r->left < sizeof wide || wide > r->left - sizeof wide) {
        r->bad = true;
        return "";
    }
    const char *const part = r->at + sizeof wide;
    r->at = part + wide;
    r->left -= sizeof wide + (size_t)wide;
    *size = (size_t)wide;
    return part;
}

/* Reads a part that must have exactly this size. */
static void get_into(reader *r, void *to, size_t size)
{
    size_t have;
    const char *const part = get(r, &have);
    if (have == size) memcpy(to, part, size);
    else r->bad = true;
}

static void get_string(reader *r, char *to, size_t size)
{
    size_t have;
    const char *const part = get(r, &have);
    if (have >= size || memchr(part, 0, have)) r->bad = true;
    else memcpy(to, part, have);
    to[r->bad ? 0 : have] = '\0';
}

/* A copy with a terminating 0; NULL for an empty part or without memory. */
static char *get_copy(reader *r, size_t *size)
{
    const char *const part = get(r, size);
    char *const copy = *size ? malloc(*size + 1) : NULL;
    if (!copy) return NULL;
    memcpy(copy, part, *size);
    copy[*size] = '\0';
    return copy;
}

static gs_status corrupt(gs_error *error) { return gs_fail(error, GS_ERROR_CORRUPT, NULL, "this is no saved plan, or it was cut short or changed"); }

static gs_status check_head(const char *bytes, size_t size, gs_error *error)
{
    uint64_t whole;
    gs_hash hash;
    if (size < HEAD || memcmp(bytes, magic, sizeof magic) != 0) return corrupt(error);
    memcpy(&hash, bytes + sizeof magic, sizeof hash);
    memcpy(&whole, bytes + sizeof magic + sizeof hash, sizeof whole);
    if (whole != size) return corrupt(error);
    const gs_hash found = gs_hash_bytes(bytes + sizeof magic + sizeof hash, size - sizeof magic - sizeof hash);
    return found.low == hash.low && found.high == hash.high ? GS_OK : corrupt(error);
}

static gs_status load_own(gs_plan *plan, reader *r, gs_error *error)
{
    saved_image numbers = {0};
    gs_manifest manifest;
    size_t size;
    char *const text = get_copy(r, &size);
    get_into(r, &numbers, sizeof numbers);
    gs_image image = {.registers = numbers.registers, .spill_bytes = numbers.spill_bytes, .stack_bytes = numbers.stack_bytes, .static_smem = numbers.static_smem, .cached = true};
    image.code = get_copy(r, &image.size);
    image.ptx = get_copy(r, &image.ptx_size);
    gs_status status = r->bad || !text ? corrupt(error) : gs_manifest_parse(&manifest, text, error);
    if (status == GS_OK) status = gs_plan_use_image(plan, &manifest, &image, error);
    gs_image_free(&image);
    free(text);
    return status;
}

static gs_status load_plan(gs_context *context, reader *r, gs_plan **out, gs_error *error)
{
    char version[32], target[32], own[32], text[GS_PROBLEM_TEXT];
    gs_problem problem;
    saved_numbers numbers = {0};
    get_string(r, version, sizeof version);
    get_string(r, target, sizeof target);
    if (r->bad) return corrupt(error);
    target_of(context->device, own);
    if (strcmp(version, GS_VERSION_TEXT) != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the plan was saved by gemmsmith %s, this is %s: save it again", version, GS_VERSION_TEXT);
    if (strcmp(target, own) != 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the plan was saved for %s, this device is %s: save it again there", target, own);
    get_string(r, text, sizeof text);
    get_into(r, &numbers, sizeof numbers);
    if (r->bad || gs_problem_parse(&problem, text, NULL) != GS_OK) return corrupt(error);
    GS_TRY(gs_plan_begin(context, &problem, out, error));
    gs_plan *const plan = *out;
    get_string(r, plan->schedule, sizeof plan->schedule);
    get_string(r, plan->why, sizeof plan->why);
    for (int i = 0; i < GS_OPERANDS; i++) plan->align[i] = numbers.align[i];   /* an empty plan's: those of a kernel and of cuBLASLt follow from what is loaded */
    if (r->bad || numbers.kind < KIND_EMPTY || numbers.kind > KIND_LIBRARY || numbers.origin < GS_ORIGIN_TABLE || numbers.origin > GS_ORIGIN_PACK) return corrupt(error);
    if (numbers.kind == KIND_EMPTY && problem.m > 0 && problem.n > 0) return corrupt(error);   /* nothing would compute it */
    if (numbers.kind == KIND_OWN) GS_TRY(load_own(plan, r, error));
    if (numbers.kind == KIND_LIBRARY) GS_TRY(gs_plan_use_cublaslt(plan, numbers.suggestion, error));
    return gs_plan_finish(plan, (gs_origin)numbers.origin, error);
}

gs_status gs_plan_load(gs_context *context, const void *buffer, size_t size, gs_plan **out, gs_error *error)
{
    if (!out) return gs_fail(error, GS_ERROR_ARGUMENT, "out", "must not be NULL");
    *out = NULL;
    if (!context || !buffer) return gs_fail(error, GS_ERROR_ARGUMENT, context ? "buffer" : "context", "must not be NULL");
    GS_TRY(check_head(buffer, size, error));
    reader r = {(const char *)buffer + HEAD, size - HEAD, false};
    gs_context_enter(context);
    const gs_status status = load_plan(context, &r, out, error);
    gs_context_leave(context);
    if (status != GS_OK) gs_plan_destroy(out);
    return status;
}
