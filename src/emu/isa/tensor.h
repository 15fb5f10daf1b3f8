/* SPDX-License-Identifier: MIT
 * Tensor maps of the emulated device, and tiles: which bytes of shared and of global memory a bulk copy moves.
 *
 * Behaviour that is not in the PTX ISA was measured on an H200. A box row shorter than its swizzle occupies the swizzle's full width in shared memory; the bytes in
 * between are unchanged. Elements outside the tensor load as zero, or as halfwords 0x7ff7. A store or a reduction ends a row after the last 16-byte unit whose first
 * byte is inside the tensor, so it also writes bytes after the last element of that unit. */
#ifndef GS_EMU_ISA_TENSOR_H
#define GS_EMU_ISA_TENSOR_H

#include "device/device.h"
#include "emu/isa/isa.h"

/* Encodes a map for a kernel, under the driver's conditions. ARGUMENT names the condition that is not met. */
gs_status gs_emu_map_encode(const gs_tensor *tensor, gs_tensor_map *out, gs_error *error);

/* Whether a map found in memory is valid; otherwise text says why not. */
bool gs_emu_map_check(const gs_emu_map *map, char *text, size_t size);

/* Bytes per element of a map with this type; 0: no map can have it. */
uint32_t gs_emu_map_element(gs_ptx_type type);

/* A box as a bulk copy moves it: rows of contiguous bytes. A linear copy is a tile with adjacent rows. */
typedef struct gs_emu_tile {
    uint64_t address;          /* start of the tensor */
    int64_t  origin[5];        /* start of the box in the tensor: bytes, then rows of dimensions 1..4 */
    uint64_t extent[5];        /* of the tensor: bytes (ends of stored rows rounded up), then rows */
    uint64_t stride[5];        /* bytes; stride[0] is not used */
    uint32_t box[5];           /* bytes, then rows */
    int      dimensions;
    uint32_t shared;           /* offset of the box in the block's shared memory */
    uint32_t rows;
    uint32_t pitch;            /* bytes from one row to the next in shared memory */
    uint32_t swizzle;          /* mask of the address bits that are swizzled: 0, 0x10, 0x30, 0x70 */
    uint32_t first, end;       /* range of a row's bytes that is inside in the inner dimension */
    bool     fill_nan;
} gs_emu_tile;

/* A part of a row that is contiguous in both memories. */
typedef struct gs_emu_piece {
    uint32_t at;               /* offset in the row */
    uint32_t shared;           /* offset in the block's shared memory */
    uint32_t bytes;
    bool     inside;           /* false: outside the tensor, so it is filled, or not stored */
    uint64_t address;          /* global address; valid if inside */
} gs_emu_piece;

#define GS_EMU_PIECES 12       /* most per row */

/* The box at a coordinate (one per dimension of the map, in elements, innermost first; may be outside) of a valid map, at a shared offset that is a multiple of 128.
 * stored: rows end as those of a store do. */
void gs_emu_tile_box(gs_emu_tile *tile, const gs_emu_map *map, const int32_t *coordinate, uint32_t shared, bool stored);
/* A linear tile: `bytes`, a multiple of 16, from an address. */
void gs_emu_tile_line(gs_emu_tile *tile, uint64_t address, uint32_t bytes, uint32_t shared);

static inline uint32_t gs_emu_tile_bytes(const gs_emu_tile *tile) { return tile->box[0] * tile->rows; }   /* as an mbarrier counts them */
static inline uint32_t gs_emu_tile_span(const gs_emu_tile *tile) { return tile->pitch * tile->rows; }     /* in shared memory */

/* The part of a row inside the tensor, one range of global memory. false: none. */
bool gs_emu_tile_row(const gs_emu_tile *tile, uint32_t row, uint64_t *address, uint32_t *bytes);
/* The pieces of a row in order; returns their number. */
int gs_emu_tile_pieces(const gs_emu_tile *tile, uint32_t row, gs_emu_piece piece[GS_EMU_PIECES]);

/* Calls fn for a few long ranges of shared memory that cover the box's bytes, or those inside the tensor. */
typedef void gs_emu_range_fn(void *context, uint32_t offset, uint32_t bytes);
void gs_emu_tile_ranges(const gs_emu_tile *tile, bool inside, gs_emu_range_fn *fn, void *context);

/* Bytes of the 32-byte sectors of global memory that the tile accesses. */
uint64_t gs_emu_tile_sectors(const gs_emu_tile *tile);

/* Writes `bytes` bytes of the value that elements outside the tensor load as. */
void gs_emu_tile_fill(const gs_emu_tile *tile, uint8_t *to, uint32_t bytes);

#endif
