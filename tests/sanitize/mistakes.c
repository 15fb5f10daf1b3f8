/* SPDX-License-Identifier: MIT
 * A mistake for each argument, of sorts that an optimizer may drop before the sanitizers see them: the sanitized build must stop at each.
 * Usage: mistakes NUMBER ZERO */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int *volatile kept;

/* n is 0, which the compiler does not know. */
static int make(int mistake, int n)
{
    enum { COUNT = 8 };
    int stack[COUNT] = {0}, *const heap = calloc(COUNT, sizeof *heap), result = 0;
    if (!heap) return -1;
    switch (mistake) {
    case 0: heap[n + COUNT] = 1; break;                         /* a store that nobody reads */
    case 1: result = stack[n + COUNT]; break;
    case 2: result = INT_MAX; result += n + 1; result = 0; break;   /* a sum that nobody uses */
    case 3: result = 1 << (n + 33); break;
    case 4: result = *(int *)((char *)heap + 1 + n); break;
    case 5: kept = heap; free(heap); return kept[n];
    default: break;
    }
    free(heap);
    return result;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    printf("not seen: %d\n", make(atoi(argv[1]), atoi(argv[2])));
    return 0;
}
