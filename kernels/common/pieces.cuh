/* SPDX-License-Identifier: MIT
 * Loads of 2, 4, 8 or 16 bytes from shared or from global memory into registers, so that the same code serves both (sm_80 and later).
 *
 * Like those of direct.cuh they are ordinary weak loads and, being volatile, are issued in the order in which they are written. */
#ifndef GS_COMMON_PIECES_CUH
#define GS_COMMON_PIECES_CUH

#include "common/early.cuh"

/* A load in the overloads below: the state space, and the constraint of an address in it. */
#define GS_PIECE_LOAD(space, address)                                                                                                  \
    if constexpr (BYTES == 16)                                                                                                         \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"       \
                     "@p ld." space ".v4.u32 {%0, %1, %2, %3}, [%4];\n}"                                                               \
                     : GS_EARLY(r[0]), GS_EARLY(r[1]), GS_EARLY(r[2]), GS_EARLY(r[3]) : address(from), "r"((int)on) : "memory");       \
    else if constexpr (BYTES == 8)                                                                                                     \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\n@p ld." space                            \
                     ".v2.u32 {%0, %1}, [%2];\n}" : GS_EARLY(r[0]), GS_EARLY(r[1]) : address(from), "r"((int)on) : "memory");          \
    else if constexpr (BYTES == 4)                                                                                                     \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\nmov.b32 %0, 0;\n@p ld." space ".u32 %0, [%1];\n}"                       \
                     : GS_EARLY(r[0]) : address(from), "r"((int)on) : "memory");                                                       \
    else                                                                                                                               \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\nmov.b32 %0, 0;\n@p ld." space ".u16 %0, [%1];\n}"                       \
                     : GS_EARLY(r[0]) : address(from), "r"((int)on) : "memory")

/* Loads BYTES from an address that is a multiple of BYTES; 2 bytes go to the lower half of a register. If `on` is false nothing is read and registers are 0. */
template <int BYTES> __device__ __forceinline__ void gs_load_piece(unsigned *r, const unsigned char *from, bool on)
{
    static_assert(BYTES == 16 || BYTES == 8 || BYTES == 4 || BYTES == 2, "sizes that loads have");
    GS_PIECE_LOAD("global", "l");
}
template <int BYTES> __device__ __forceinline__ void gs_load_piece(unsigned *r, unsigned from, bool on)
{
    static_assert(BYTES == 16 || BYTES == 8 || BYTES == 4 || BYTES == 2, "sizes that loads have");
    GS_PIECE_LOAD("shared", "r");
}

#undef GS_PIECE_LOAD

#endif
