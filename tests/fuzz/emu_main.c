/* SPDX-License-Identifier: MIT
 * The fuzzer of the emulated device without a fuzzer: the corpus, programs drawn from a table, and changes of both, by a fixed random
 * sequence.
 *
 *     fuzz_emu [iterations [seed]]
 *
 * The same arguments try the same inputs. On a crash run again with FUZZ_PRINT=1: the last text is the one at fault; FUZZ_KEEP=FILE
 * keeps each input there before it is tried. A file's name instead of a number tries that input. */
#include "emu.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t data[FUZZ_EMU_MOST];

static void keep(const char *path, size_t size)
{
    FILE *const file = fopen(path, "wb");
    if (!file) return;
    fwrite(data, 1, size, file);
    fclose(file);
}

static bool try_file(const char *path)
{
    FILE *const file = fopen(path, "rb");
    if (!file) return false;
    const size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    printf("%s: not at fault\n", path);
    return true;
}

int main(int argc, char **argv)
{
    if (argc > 1 && try_file(argv[1])) return 0;
    const long iterations = argc > 1 ? atol(argv[1]) : 8000;
    gs_random random = {argc > 2 ? (uint64_t)atoll(argv[2]) : 1};
    const char *const path = getenv("FUZZ_KEEP");
    const bool print = getenv("FUZZ_PRINT") != NULL;
    for (long i = 0; i < iterations; i++) {
        size_t size = fuzz_emu_start(data, sizeof data, (size_t)i, &random);
        const size_t changes = i < 100 ? 0 : (size_t)gs_random_below(&random, 4);   /* the corpus itself comes first */
        for (size_t k = 0; k < changes; k++) size = fuzz_emu_mutate(data, size, sizeof data, &random);
        if (print) fprintf(stderr, "%ld: kind %d:\n%.*s\n", i, data[FUZZ_KIND] % FUZZ_KINDS, (int)(size - FUZZ_HEAD), (const char *)data + FUZZ_HEAD);
        if (path) keep(path, size);
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%ld inputs, none at fault\n", iterations);
    return 0;
}
