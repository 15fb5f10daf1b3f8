/* SPDX-License-Identifier: MIT
 * Reading packs. Opening verifies the checksum of everything but the code, and checks every offset, so that later functions may use them. */
#include "pack/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "kernel/manifest.h"
#include "pack/format.h"

struct gs_pack {
    const char           *bytes;
    size_t                size;
    bool                  mapped;
    const gs_pack_top    *top;
    const gs_pack_slot   *slots;
    const gs_pack_module *modules;
    const char           *texts;
    gs_pack_head          head;
    char                  name[64];
};

static gs_status damaged(const gs_pack *pack, const char *what, gs_error *error)
{
    return gs_fail(error, GS_ERROR_CORRUPT, NULL, "%s is no pack, or was cut or changed: %s; make it again", pack->name, what);
}

/* ---- validation ---- */

static bool terminated(const char *text, size_t size) { return memchr(text, 0, size) != NULL; }

static gs_status check_top(const gs_pack *pack, gs_error *error)
{
    const gs_pack_top *const top = pack->top;
    if (pack->size < sizeof top->magic || memcmp(top->magic, GS_PACK_MAGIC, 6) != 0) return damaged(pack, "it does not begin as one", error);
    if (memcmp(top->magic, GS_PACK_MAGIC, sizeof top->magic) != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "%s is a pack of another format: make it again", pack->name);
    if (pack->size < sizeof *top || top->size != pack->size) return damaged(pack, "it has another size than it says", error);
    if (top->head_bytes != sizeof *top || top->entry_bytes != sizeof(gs_pack_slot) || top->kernel_bytes != sizeof(gs_pack_module)) return damaged(pack, "its parts have other sizes", error);
    if (top->entries > GS_PACK_COUNT || top->kernels > GS_PACK_COUNT) return damaged(pack, "it says that it has too much", error);
    const uint64_t texts = sizeof *top + (uint64_t)top->entries * sizeof(gs_pack_slot) + (uint64_t)top->kernels * sizeof(gs_pack_module);
    if (top->texts != texts || top->code <= texts || top->code > pack->size) return damaged(pack, "its parts lie elsewhere", error);
    const gs_hash found = gs_hash_bytes(pack->bytes + GS_PACK_HASHED_FROM, top->code - GS_PACK_HASHED_FROM);
    if (gs_pack_order(&found, &top->hash) != 0) return damaged(pack, "its checksum is another one", error);
    if (pack->bytes[top->code - 1] != '\0' || !terminated(top->version, sizeof top->version) || !terminated(top->target, sizeof top->target) ||
        !terminated(top->gpu, sizeof top->gpu) || !terminated(top->date, sizeof top->date))
        return damaged(pack, "a text has no end", error);
    return GS_OK;
}

static gs_status check_parts(const gs_pack *pack, gs_error *error)
{
    const gs_pack_top *const top = pack->top;
    const uint64_t texts = top->code - top->texts;
    for (uint32_t i = 0; i < top->entries; i++) {
        const gs_pack_slot *const s = &pack->slots[i];
        if (s->problem >= texts || s->choice >= texts || s->gpu >= texts || s->date >= texts || s->by >= texts) return damaged(pack, "a text lies elsewhere", error);
        if (s->kernel != GS_PACK_NOTHING && s->kernel >= top->kernels) return damaged(pack, "a kernel is not there", error);
        if ((s->kernel == GS_PACK_NOTHING) != (s->suggestion > 0) || s->suggestion < 0) return damaged(pack, "a problem has no kernel", error);
        if (s->chain < -1 || s->chain > 1) return damaged(pack, "a launch is neither plain nor dependent", error);
        if (i > 0 && gs_pack_order(&pack->slots[i - 1].key, &s->key) >= 0) return damaged(pack, "its problems are not in order", error);
    }
    const uint64_t room = pack->size - top->code;
    for (uint32_t i = 0; i < top->kernels; i++) {
        const gs_pack_module *const m = &pack->modules[i];
        if (m->manifest >= texts) return damaged(pack, "a manifest lies elsewhere", error);
        if (m->at < top->code || m->at > pack->size || m->code_size > room || m->ptx_size > room || m->source_size > room ||
            m->code_size + m->ptx_size + m->source_size > pack->size - m->at)
            return damaged(pack, "code lies outside of it", error);
    }
    return GS_OK;
}

static void fill_head(gs_pack *pack)
{
    const gs_pack_top *const top = pack->top;
    gs_pack_head *const head = &pack->head;
    *head = (gs_pack_head){.cc = top->cc, .sms = top->sms, .nvrtc = top->nvrtc, .driver = top->driver, .emulated = top->emulated != 0,
                           .problems = (int)top->entries, .kernels = (int)top->kernels};
    memcpy(head->version, top->version, sizeof head->version);
    memcpy(head->target, top->target, sizeof head->target);
    memcpy(head->gpu, top->gpu, sizeof head->gpu);
    memcpy(head->date, top->date, sizeof head->date);
}

static gs_status examine(gs_pack *pack, gs_error *error)
{
    pack->top = (const gs_pack_top *)(const void *)pack->bytes;
    GS_TRY(check_top(pack, error));
    pack->slots = (const gs_pack_slot *)(const void *)(pack->bytes + sizeof *pack->top);
    pack->modules = (const gs_pack_module *)(const void *)(pack->slots + pack->top->entries);
    pack->texts = pack->bytes + pack->top->texts;
    GS_TRY(check_parts(pack, error));
    fill_head(pack);
    return GS_OK;
}

/* ---- opening ---- */

static gs_pack *pack_new(const char *path, gs_error *error)
{
    gs_pack *const pack = calloc(1, sizeof *pack);
    if (!pack) {
        gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a pack");
        return NULL;
    }
    const char *const slash = strrchr(path, '/');
    snprintf(pack->name, sizeof pack->name, "%s", slash ? slash + 1 : path);
    return pack;
}

gs_status gs_pack_from(gs_pack **out, const void *bytes, size_t size, const char *name, gs_error *error)
{
    *out = NULL;
    gs_pack *pack = pack_new(name, error);
    if (!pack) return GS_ERROR_MEMORY;
    pack->bytes = bytes;
    pack->size = size;
    const gs_status status = examine(pack, error);
    if (status != GS_OK) gs_pack_close(&pack);
    *out = pack;
    return status;
}

static gs_status map(gs_pack *pack, const char *path, gs_error *error)
{
    struct stat about;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);   /* non-blocking: opening a pipe must not hang */
    if (file < 0 && errno == ENOENT) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%.300s is not there", path);
    if (file < 0) return gs_fail_errno(error, errno, path, "opening");
    gs_status status = fstat(file, &about) == 0 ? GS_OK : gs_fail_errno(error, errno, path, "looking at");
    if (status == GS_OK && !S_ISREG(about.st_mode)) status = gs_fail(error, GS_ERROR_IO, NULL, "%.300s is no regular file", path);
    if (status == GS_OK && about.st_size < (off_t)sizeof(gs_pack_top)) status = damaged(pack, "it is too short", error);
    if (status == GS_OK) {
        void *const bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes == MAP_FAILED) {
            status = gs_fail_errno(error, errno, path, "mapping");
        } else {
            pack->bytes = bytes;
            pack->size = (size_t)about.st_size;
            pack->mapped = true;
        }
    }
    close(file);
    return status;
}

gs_status gs_pack_open(gs_pack **out, const char *path, gs_error *error)
{
    *out = NULL;
    gs_pack *pack = pack_new(path, error);
    if (!pack) return GS_ERROR_MEMORY;
    gs_status status = map(pack, path, error);
    if (status == GS_OK) status = examine(pack, error);
    if (status != GS_OK) gs_pack_close(&pack);
    *out = pack;
    return status;
}

void gs_pack_close(gs_pack **pack)
{
    if (!pack || !*pack) return;
    if ((*pack)->mapped) munmap((void *)(uintptr_t)(*pack)->bytes, (*pack)->size);
    free(*pack);
    *pack = NULL;
}

bool gs_pack_is_named(const char *name, const char *source, const char *manifest)
{
    char hash[GS_HASH_TEXT];
    return strcmp(gs_hash_format(gs_hash_strings((const char *const[]){source, manifest}, 2), hash), name) == 0;
}

/* ---- compatibility ---- */

int gs_pack_driver_for(int nvrtc) { return nvrtc / 1000 * 1000; }

const char *gs_pack_driver_name(int driver) { return driver <= 12000 ? "525" : driver <= 13000 ? "580" : "newer than 580"; }

gs_status gs_pack_fits(const gs_pack *pack, const gs_caps *caps, gs_error *error)
{
    const gs_pack_head *const head = &pack->head;
    if (strcmp(head->version, GS_VERSION_TEXT) != 0)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "pack %s was made by gemmsmith %s, this is %s: make it again", pack->name, head->version, GS_VERSION_TEXT);
    if (pack->top->args_bytes > GS_ARGS_EARLY_BYTES)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "pack %s was made by another build of gemmsmith %s: make it again", pack->name, head->version);
    if (strcmp(head->target, caps->target) != 0 || head->emulated != caps->emulated)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "pack %s is for %s%s, this device is %s%s: make one for it", pack->name, head->target, head->emulated ? ", emulated" : "",
                       caps->target, caps->emulated ? ", emulated" : "");
    if (!caps->emulated && head->driver > caps->driver)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "pack %s was made with CUDA %d.%d and needs NVIDIA driver %s or newer; this one supports CUDA %d.%d: install a newer one, or make the pack with an older NVRTC",
                       pack->name, head->nvrtc / 1000, head->nvrtc % 1000 / 10, gs_pack_driver_name(head->driver), caps->driver / 1000, caps->driver % 1000 / 10);
    return GS_OK;
}

const char         *gs_pack_name(const gs_pack *pack) { return pack->name; }
const gs_pack_head *gs_pack_about(const gs_pack *pack) { return &pack->head; }
size_t              gs_pack_bytes(const gs_pack *pack) { return pack->size; }

/* ---- contents ---- */

static void fill_entry(const gs_pack *pack, const gs_pack_slot *s, gs_pack_entry *out)
{
    *out = (gs_pack_entry){.problem = pack->texts + s->problem, .choice = pack->texts + s->choice, .kernel = s->kernel == GS_PACK_NOTHING ? -1 : (int)s->kernel,
                           .suggestion = s->suggestion, .cublaslt = s->cublaslt, .us = s->us, .library_us = s->library_us, .ratio = s->ratio, .low = s->low, .high = s->high,
                           .mhz = s->mhz, .chain = s->chain, .gpu = pack->texts + s->gpu, .date = pack->texts + s->date, .by = pack->texts + s->by};
}

static bool find(const gs_pack *pack, const gs_problem *problem, bool user, gs_pack_entry *out)
{
    char text[GS_PROBLEM_TEXT];
    const gs_hash wanted = gs_pack_hash(gs_pack_key(problem, user, text), user);
    uint32_t low = 0, high = pack->top->entries;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = gs_pack_order(&pack->slots[middle].key, &wanted);
        if (order == 0) {
            fill_entry(pack, &pack->slots[middle], out);
            const bool is_user = out->kernel >= 0 && pack->modules[out->kernel].user;
            return is_user == user && strcmp(out->problem, text) == 0;
        }
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}

bool gs_pack_find(const gs_pack *pack, const gs_problem *problem, gs_pack_entry *out)
{
    gs_problem other = *problem;
    if (find(pack, problem, true, out) || find(pack, problem, false, out)) return true;
    other.constant = GS_CONSTANT_NONE;   /* a kernel that does not use the promise of a constant B is also right */
    return problem->constant && (find(pack, &other, true, out) || find(pack, &other, false, out));
}

bool gs_pack_entry_at(const gs_pack *pack, int index, gs_pack_entry *out)
{
    if (index < 0 || index >= (int)pack->top->entries) return false;
    fill_entry(pack, &pack->slots[index], out);
    return true;
}

gs_status gs_pack_kernel_at(const gs_pack *pack, int index, gs_pack_kernel *out, gs_error *error)
{
    *out = (gs_pack_kernel){0};
    if (index < 0 || index >= (int)pack->top->kernels) return gs_fail(error, GS_ERROR_ARGUMENT, "kernel", "%s has no kernel %d", pack->name, index);
    const gs_pack_module *const m = &pack->modules[index];
    const char *const at = pack->bytes + m->at;
    const gs_hash found = gs_hash_bytes(at, m->code_size + m->ptx_size + m->source_size);
    if (gs_pack_order(&found, &m->hash) != 0) return damaged(pack, "the code of a kernel has another checksum", error);
    *out = (gs_pack_kernel){.manifest = pack->texts + m->manifest, .code = at, .code_size = m->code_size, .ptx = at + m->code_size, .ptx_size = m->ptx_size,
                            .source = at + m->code_size + m->ptx_size, .source_size = m->source_size, .registers = m->registers, .spill_bytes = m->spill_bytes,
                            .stack_bytes = m->stack_bytes, .static_smem = m->static_smem, .user = m->user != 0};
    return GS_OK;
}
