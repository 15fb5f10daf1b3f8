/* SPDX-License-Identifier: MIT
 * The types of PTX by name. */
#include <string.h>

#include "base/error.h"
#include "ptx/ptx.h"

static const struct {
    const char *name;
    int         bits;
} types[] = {
    [GS_PTX_NONE] = {NULL, 0},   [GS_PTX_PRED] = {"pred", 1},
    [GS_PTX_B8]   = {"b8", 8},   [GS_PTX_B16]  = {"b16", 16}, [GS_PTX_B32] = {"b32", 32}, [GS_PTX_B64] = {"b64", 64}, [GS_PTX_B128] = {"b128", 128},
    [GS_PTX_U8]   = {"u8", 8},   [GS_PTX_U16]  = {"u16", 16}, [GS_PTX_U32] = {"u32", 32}, [GS_PTX_U64] = {"u64", 64},
    [GS_PTX_S8]   = {"s8", 8},   [GS_PTX_S16]  = {"s16", 16}, [GS_PTX_S32] = {"s32", 32}, [GS_PTX_S64] = {"s64", 64},
    [GS_PTX_F16]  = {"f16", 16}, [GS_PTX_F16X2] = {"f16x2", 32}, [GS_PTX_BF16] = {"bf16", 16}, [GS_PTX_BF16X2] = {"bf16x2", 32},
    [GS_PTX_TF32] = {"tf32", 32}, [GS_PTX_F32] = {"f32", 32}, [GS_PTX_F64] = {"f64", 64},
};

gs_ptx_type gs_ptx_type_of(const char *part)
{
    for (size_t i = GS_PTX_PRED; i < GS_COUNT(types); i++)
        if (strcmp(types[i].name, part) == 0) return (gs_ptx_type)i;
    return GS_PTX_NONE;
}

int gs_ptx_type_bits(gs_ptx_type type) { return (size_t)type < GS_COUNT(types) ? types[type].bits : 0; }
