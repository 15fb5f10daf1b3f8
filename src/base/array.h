/* SPDX-License-Identifier: MIT
 * Arrays that grow by one element at a time. */
#ifndef GS_BASE_ARRAY_H
#define GS_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Room for one more than count elements of `size` bytes. list: the address of the pointer to them, NULL at first, which free() takes; *capacity: of how many
 * there is room. false: no memory, and everything is as it was. */
bool gs_grow(void *list, int count, int *capacity, size_t size);

#endif
