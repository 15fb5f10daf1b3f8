/* SPDX-License-Identifier: MIT
 * Arrays that grow by one element at a time. */
#ifndef GS_BASE_ARRAY_H
#define GS_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for one more element after `count` elements of `size` bytes. list: address of the pointer to the elements (NULL at first; release with free()). *capacity: number
 * of elements that are allocated. Returns false if there is no memory; nothing has changed then. */
bool gs_grow(void *list, int count, int *capacity, size_t size);

#endif
