/* SPDX-License-Identifier: MIT
 * Counts the allocations that our own objects make, and makes one of them fail. The test is linked with --wrap for malloc, calloc, realloc and the like, so allocations
 * inside the driver or the C library do not count. Include in one file of the test. */
#ifndef GS_TESTS_ALLOCATIONS_H
#define GS_TESTS_ALLOCATIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Atomic, because the objects under test may allocate in several threads at once. */
static atomic_int allocations;
static atomic_int fail_at;   /* countdown: the allocation that brings it to 0 fails; 0: none fails */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

/* Counts one allocation and returns whether it must fail. */
static int allocation_fails(void)
{
    allocations++;
    return fail_at > 0 && atomic_fetch_sub(&fail_at, 1) == 1;
}

/* Whether the allocation chosen to fail was reached. Also switches failing off. */
static inline bool allocation_failed(void) { return atomic_exchange(&fail_at, 0) <= 0; }

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return allocation_fails() ? NULL : __real_aligned_alloc(alignment, size);
}

#endif
