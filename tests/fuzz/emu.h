/* SPDX-License-Identifier: MIT
 * What the fuzzer of the emulated device is made of: its input's form, the corpus, the changes.
 *   emu.c         one input: parse, decode, run          emu_corpus.c  programs, lines, words
 *   emu_mutate.c  changes that keep most of a text       emu_main.c    a fixed sequence, no fuzzer needed
 *   emu_libfuzzer.c  the changes as libFuzzer's own */
#ifndef GS_TESTS_FUZZ_EMU_H
#define GS_TESTS_FUZZ_EMU_H

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

#define FUZZ_EMU_MOST 16384   /* bytes of an input */

/* An input: these bytes, then a text. */
enum {
    FUZZ_KIND,       /* what the text is: fuzz_emu_kind, by remainder */
    FUZZ_FLAGS,      /* 1: checker, 2: run twice and compare, 4: the last entry instead of the first, 8: a smaller device,
                      * 16: only loaded, by a device */
    FUZZ_SEED,
    FUZZ_GRID_X, FUZZ_GRID_YZ,
    FUZZ_CLUSTER,
    FUZZ_BLOCK, FUZZ_BLOCK_YZ,
    FUZZ_SMEM,
    FUZZ_STEPS,
    FUZZ_MAP, FUZZ_MAP_TYPE, FUZZ_MAP_EXTENT, FUZZ_MAP_BOX, FUZZ_MAP_STRIDE,
    FUZZ_NUMBER,     /* of parameters that are no addresses */
    FUZZ_HEAD
};
typedef enum fuzz_emu_kind { FUZZ_NAME = 6, FUZZ_PROFILE, FUZZ_KINDS, FUZZ_PTX = 0 } fuzz_emu_kind;   /* below FUZZ_NAME: PTX */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- emu_corpus.c ---- */

extern const char *const fuzz_emu_head;        /* of every program: declarations, addresses in registers */
extern const char *const fuzz_emu_programs[];  /* behind the head; NULL at the end */
extern const char *const fuzz_emu_lines[];     /* single instructions, at least one of every form */
extern const char *const fuzz_emu_parts[];     /* of opcodes */
extern const char *const fuzz_emu_operands[];
extern const char *const fuzz_emu_names[];     /* of devices, behind "emu:" */

/* ---- emu_mutate.c ---- */

/* A new input: program number `which` as it is, or drawn if there is none of that number. Returns its size. */
size_t fuzz_emu_start(uint8_t *data, size_t most, size_t which, gs_random *random);
/* One change. Returns the new size. */
size_t fuzz_emu_mutate(uint8_t *data, size_t size, size_t most, gs_random *random);

#endif
