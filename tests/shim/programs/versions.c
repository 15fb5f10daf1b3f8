/* SPDX-License-Identifier: MIT
 * Two versions of cuBLAS in one process, in alternation: each refuses the other's handles. */
#include <stdio.h>

const char *plugin_12(int algo);
const char *plugin_13(int algo);

int main(void)
{
    for (int i = 0; i < 2; i++) printf("12: %s, %s\n13: %s, %s\n", plugin_12(99), plugin_12(5), plugin_13(99), plugin_13(5));
    return 0;
}
