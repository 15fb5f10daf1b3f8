/* SPDX-License-Identifier: MIT
 * Memory of the PTX parser: all of it is allocated by one function here. Arenas, lists that grow, interned names. */
#include "ptx/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define CHUNK_BYTES   (64u << 10)
#define FIRST_ELEMENTS 16
#define FIRST_SLOTS    1024

struct gs_ptx_chunk {
    gs_ptx_chunk *older;
    size_t        used, size;
    _Alignas(max_align_t) unsigned char data[];
};

/* NULL: no memory, and the old block is unchanged. */
static void *resize(void *old, size_t size) { return realloc(old, size); }

/* ---- arenas ---- */

static void *take(gs_ptx_arena *arena, size_t size, size_t align)
{
    gs_ptx_chunk *chunk = arena->chunk;
    if (chunk) {
        const size_t at = (chunk->used + align - 1) / align * align;
        if (at <= chunk->size && size <= chunk->size - at) {
            chunk->used = at + size;
            return chunk->data + at;
        }
    }
    if (size > SIZE_MAX / 2) return NULL;
    const size_t room = GS_MAX(size, CHUNK_BYTES - sizeof *chunk);
    gs_ptx_chunk *const made = resize(NULL, sizeof *made + room);
    if (!made) return NULL;
    made->size = room;
    made->used = size;
    if (chunk && room == size) {   /* a large piece fills its own chunk; small ones continue in the previous chunk */
        made->older = chunk->older;
        chunk->older = made;
    } else {
        made->older = chunk;
        arena->chunk = made;
    }
    return made->data;
}

void *gs_ptx_take(gs_ptx_arena *arena, size_t size)
{
    void *const memory = take(arena, size, _Alignof(max_align_t));
    if (memory) memset(memory, 0, size);
    return memory;
}

char *gs_ptx_copy(gs_ptx_arena *arena, const char *text, size_t size)
{
    char *const copy = take(arena, size + 1, 1);
    if (!copy) return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

void *gs_ptx_keep(gs_ptx_arena *arena, const gs_ptx_list *list, size_t element)
{
    void *const copy = take(arena, list->count * element, _Alignof(max_align_t));
    if (copy && list->count) memcpy(copy, list->data, list->count * element);
    return copy;
}

void gs_ptx_release(gs_ptx_arena *arena)
{
    for (gs_ptx_chunk *chunk = arena->chunk, *older; chunk; chunk = older) {
        older = chunk->older;
        free(chunk);
    }
    arena->chunk = NULL;
}

/* ---- lists ---- */

bool gs_ptx_reach(gs_ptx_list *list, size_t element, size_t count)
{
    if (count > list->capacity) {
        const size_t capacity = GS_MAX(count, GS_MAX(2 * list->capacity, (size_t)FIRST_ELEMENTS));
        if (capacity > SIZE_MAX / 2 / element) return false;
        void *const data = resize(list->data, capacity * element);
        if (!data) return false;
        list->data = data;
        list->capacity = capacity;
    }
    if (count > list->count) {
        memset((unsigned char *)list->data + list->count * element, 0, (count - list->count) * element);
        list->count = count;
    }
    return true;
}

void *gs_ptx_add(gs_ptx_list *list, size_t element)
{
    return gs_ptx_reach(list, element, list->count + 1) ? (unsigned char *)list->data + (list->count - 1) * element : NULL;
}

void gs_ptx_list_free(gs_ptx_list *list)
{
    free(list->data);
    *list = (gs_ptx_list){0};
}

/* ---- names ---- */

/* The slot of the name, or the free slot for it. */
static gs_ptx_name **slot_of(const gs_ptx_names *names, const char *text, size_t size, uint64_t hash)
{
    for (size_t i = (size_t)hash & (names->capacity - 1);; i = (i + 1) & (names->capacity - 1)) {
        gs_ptx_name **const slot = &names->slot[i];
        if (!*slot || ((*slot)->hash == hash && (*slot)->size == size && memcmp((*slot)->text, text, size) == 0)) return slot;
    }
}

static bool grow(gs_ptx_names *names)
{
    gs_ptx_names wider = {.count = names->count, .capacity = names->capacity ? 2 * names->capacity : FIRST_SLOTS};
    wider.slot = resize(NULL, wider.capacity * sizeof *wider.slot);
    if (!wider.slot) return false;
    memset(wider.slot, 0, wider.capacity * sizeof *wider.slot);
    for (size_t i = 0; i < names->capacity; i++) {
        gs_ptx_name *const name = names->slot[i];
        if (name) *slot_of(&wider, name->text, name->size, name->hash) = name;
    }
    free(names->slot);
    *names = wider;
    return true;
}

gs_ptx_name *gs_ptx_find(const gs_ptx_parser *p, const char *text, size_t size)
{
    return p->names.capacity ? *slot_of(&p->names, text, size, gs_hash64(text, size)) : NULL;
}

gs_ptx_name *gs_ptx_intern(gs_ptx_parser *p, const char *text, size_t size)
{
    if (2 * p->names.count >= p->names.capacity && !grow(&p->names)) return NULL;
    const uint64_t hash = gs_hash64(text, size);
    gs_ptx_name **const slot = slot_of(&p->names, text, size, hash);
    if (*slot) return *slot;
    gs_ptx_name *const name = gs_ptx_take(&p->scratch, sizeof *name);
    const char *const copy = gs_ptx_copy(&p->kept, text, size);
    if (!name || !copy) return NULL;
    name->text = copy;
    name->size = (uint32_t)size;
    name->hash = hash;
    p->names.count++;
    return *slot = name;
}
