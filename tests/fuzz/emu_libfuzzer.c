/* SPDX-License-Identifier: MIT
 * libFuzzer's changes of bytes, and ours. */
#include "emu.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    gs_random random = {seed};
    if (most <= FUZZ_HEAD) return LLVMFuzzerMutate(data, size, most);
    if (size <= FUZZ_HEAD) return fuzz_emu_start(data, most, SIZE_MAX, &random);
    if (gs_random_below(&random, 16) == 0) return LLVMFuzzerMutate(data, size, most);
    for (uint64_t changes = 1 + gs_random_below(&random, 4); changes > 0; changes--) size = fuzz_emu_mutate(data, size, most, &random);
    return size;
}
