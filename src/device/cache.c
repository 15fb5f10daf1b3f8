/* SPDX-License-Identifier: MIT
 * File layout: a fixed head, the code, the log, the PTX if it was asked for, and a 64-bit checksum of everything before it. Native byte
 * order; the order mark rejects files from machines of the other byte order. */
#include "device/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

#define CACHE_VERSION 2
#define ORDER_MARK    0x01020304u
#define SIZE_LIMIT    ((size_t)64 << 20)   /* larger files are not ours */

typedef struct head {
    char     magic[8];
    uint32_t order, version;
    uint64_t key_low, key_high;
    uint64_t code_size, log_size, ptx_size;   /* lengths of texts without terminator */
    int32_t  registers, spill_bytes, stack_bytes, static_smem;
    uint32_t serialized;
    uint32_t zero;
} head;
_Static_assert(sizeof(head) == 80, "the file's head has no padding");

static const char magic[8] = {'g', 's', 'c', 'u', 'b', 'i', 'n', '\n'};

void gs_cache_choose(char path[GS_PATH], const char *cache)
{
    if (!cache) {
        if (!gs_user_path(path, 'c', "GEMMSMITH_CACHE", NULL)) path[0] = '\0';
    } else if ((size_t)snprintf(path, GS_PATH, "%s", cache) >= GS_PATH) {
        path[0] = '\0';
    }
}

/* ---- key ---- */

typedef struct chain {
    gs_hash so_far, next;
} chain;

static void link_bytes(chain *key, const void *bytes, size_t size)
{
    key->next = gs_hash_bytes(bytes, size);
    key->so_far = gs_hash_bytes(key, sizeof *key);
}

static void link_text(chain *key, const char *text) { link_bytes(key, text, strlen(text)); }

gs_hash gs_cache_key(const gs_source *source, const char *target, int compiler_version)
{
    const int32_t numbers[] = {CACHE_VERSION, compiler_version, source->option_count, source->header_count, source->ptx};
    chain key = {{0, 0}, {0, 0}};
    link_bytes(&key, numbers, sizeof numbers);
    link_text(&key, target);
    link_text(&key, source->text);
    for (int i = 0; i < source->option_count; i++) link_text(&key, source->options[i]);
    for (int i = 0; i < source->header_count; i++) {
        link_text(&key, source->header_names[i]);
        link_text(&key, source->header_texts[i]);
    }
    return key.so_far;
}

/* ---- file ---- */

static bool make_path(char path[GS_PATH], const char *directory, gs_hash key)
{
    char name[GS_HASH_TEXT];
    return (size_t)snprintf(path, GS_PATH, "%s/%s.cubin", directory, gs_hash_format(key, name)) < GS_PATH;
}

/* What is wrong with the file's content; NULL: nothing. */
static const char *find_damage(const char *data, size_t size, gs_hash key, head *top)
{
    uint64_t checksum;
    if (size < sizeof *top + sizeof checksum) return "cut short";
    memcpy(top, data, sizeof *top);
    if (memcmp(top->magic, magic, sizeof magic) != 0) return "not a file of this cache";
    if (top->order != ORDER_MARK) return "written by a machine of another byte order";
    if (top->version != CACHE_VERSION) return "of another format version";
    if (top->code_size > SIZE_LIMIT || top->log_size > SIZE_LIMIT || top->ptx_size > SIZE_LIMIT) return "sizes out of range";
    if (top->code_size == 0 || sizeof *top + top->code_size + top->log_size + top->ptx_size + sizeof checksum != size)
        return "cut short or too long";
    memcpy(&checksum, data + size - sizeof checksum, sizeof checksum);
    if (gs_hash64(data, size - sizeof checksum) != checksum) return "checksum does not match";
    if (top->key_low != key.low || top->key_high != key.high) return "of another key";
    return NULL;
}

static gs_status unpack(const char *data, const head *top, gs_image *image, gs_error *error)
{
    void *const code = malloc(top->code_size);
    char *const log = malloc(top->log_size + 1), *const ptx = top->ptx_size ? malloc(top->ptx_size + 1) : NULL;
    if (!code || !log || (top->ptx_size && !ptx)) {
        free(code);
        free(log);
        free(ptx);
        return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "no memory for the cached code");
    }
    memcpy(code, data + sizeof *top, top->code_size);
    memcpy(log, data + sizeof *top + top->code_size, top->log_size);
    log[top->log_size] = '\0';
    if (ptx) {
        memcpy(ptx, data + sizeof *top + top->code_size + top->log_size, top->ptx_size);
        ptx[top->ptx_size] = '\0';
    }
    *image = (gs_image){
        .code = code, .size = top->code_size, .ptx = ptx, .ptx_size = top->ptx_size, .log = log,
        .registers = top->registers, .spill_bytes = top->spill_bytes, .stack_bytes = top->stack_bytes, .static_smem = top->static_smem,
        .serialized = top->serialized != 0, .cached = true,
    };
    return GS_OK;
}

gs_status gs_cache_read(const char *directory, gs_hash key, gs_image *image, gs_error *error)
{
    char path[GS_PATH];
    char *data;
    size_t size;
    head top;
    gs_error cause;
    *image = (gs_image){0};
    if (!make_path(path, directory, key)) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "the cache's path is too long");
    const gs_status status = gs_file_read(path, SIZE_LIMIT, &data, &size, &cause);
    if (status != GS_OK) {
        if (status != GS_ERROR_NOT_FOUND) gs_log(GS_LOG_WARNING, "cached code is not used: %s", cause.text);
        return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s", cause.text);
    }
    const char *const damage = find_damage(data, size, key, &top);
    gs_status result;
    if (damage) {
        gs_log(GS_LOG_WARNING, "cached code is not used: %s: %s", path, damage);
        result = gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s: %s", path, damage);
    } else {
        result = unpack(data, &top, image, error);
    }
    free(data);
    return result;
}

gs_status gs_cache_write(const char *directory, gs_hash key, const gs_image *image, gs_error *error)
{
    char path[GS_PATH];
    const char *const log = image->log ? image->log : "";
    if (!make_path(path, directory, key)) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s: path too long", directory);
    head top = {
        .order = ORDER_MARK, .version = CACHE_VERSION, .key_low = key.low, .key_high = key.high,
        .code_size = image->size, .log_size = strlen(log), .ptx_size = image->ptx ? image->ptx_size : 0,
        .registers = image->registers, .spill_bytes = image->spill_bytes, .stack_bytes = image->stack_bytes, .static_smem = image->static_smem,
        .serialized = image->serialized,
    };
    memcpy(top.magic, magic, sizeof magic);
    if (image->size == 0 || sizeof top + image->size + top.log_size + top.ptx_size + sizeof(uint64_t) > SIZE_LIMIT)
        return gs_fail(error, GS_ERROR_RANGE, NULL, "code of %zu bytes is not cached", image->size);
    gs_text file = {0};
    gs_text_add_bytes(&file, &top, sizeof top);
    gs_text_add_bytes(&file, image->code, image->size);
    gs_text_add_bytes(&file, log, top.log_size);
    if (image->ptx) gs_text_add_bytes(&file, image->ptx, image->ptx_size);
    const uint64_t checksum = file.failed ? 0 : gs_hash64(file.data, file.size);
    gs_text_add_bytes(&file, &checksum, sizeof checksum);
    gs_status status = file.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the cached code") : gs_directory_make(directory, error);
    if (status == GS_OK) status = gs_file_write(path, file.data, file.size, error);
    gs_text_free(&file);
    return status;
}
