/* SPDX-License-Identifier: MIT
 * Converts operands of PTX instructions to decoded ones. Owns the layout of registers and constants; the decoding functions of the instruction set read operands
 * through it. */
#include "emu/machine/operands.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REGISTER_BYTES (8u << 20)    /* per warp: PTX uses many more virtual registers than a thread has */
#define MOST_USES           1024          /* most registers in one instruction */

typedef struct constant {
    uint64_t bits;
    uint32_t key;      /* 0: free */
    uint32_t offset;
} constant;

/* The decoder's private state: constants by value, and the registers that the current instruction reads and writes. */
typedef struct constants {
    constant *table;
    uint32_t  used, capacity;   /* capacity: a power of two */
    uint32_t  read[MOST_USES], write[MOST_USES];
    int       reads, writes;
} constants;

/* ---- failures ---- */

gs_status gs_emu_unsupported(gs_emu_decoder *d, const char *format, ...)
{
    char what[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (d->status == GS_OK)
        d->status = gs_fail(d->error, GS_ERROR_UNSUPPORTED, "ptx", "line %d: %.120s: %s", d->in ? (int)d->in->line : 0, d->in ? d->in->name : "?", what);
    return d->status;
}

gs_status gs_emu_no_memory(gs_emu_decoder *d)
{
    if (d->status == GS_OK) d->status = gs_fail(d->error, GS_ERROR_MEMORY, NULL, "no memory for decoded code");
    return d->status;
}

/* ---- register bytes ---- */

static uint32_t lane_bytes(gs_ptx_type type) { return type == GS_PTX_PRED ? 0 : (uint32_t)gs_ptx_type_bits(type) <= 16 ? 2 : (uint32_t)gs_ptx_type_bits(type) / 8; }

/* A register that was never written holds an unlikely value: NaN as f16, 3.4e38 as f32, an invalid address. */
enum { UNWRITTEN = 0x7f };

/* Bytes of a register: a mask for a predicate, else 32 lanes; 8-bit registers use 16-bit lanes. */
uint32_t gs_emu_register_size(gs_ptx_type type) { return type == GS_PTX_PRED ? 4 : lane_bytes(type) * GS_EMU_LANES; }

static uint32_t take_bytes(gs_emu_decoder *d, uint32_t size)
{
    gs_emu_code *const code = d->code;
    const uint32_t align = GS_MIN(size, 64u);
    const uint32_t at = (code->register_bytes + align - 1) / align * align;
    if (at + size > MOST_REGISTER_BYTES) {
        gs_emu_unsupported(d, "the kernel needs more than %u MiB of registers per warp", MOST_REGISTER_BYTES >> 20);
        return 0;
    }
    if (at + size > code->register_capacity) {
        const uint32_t capacity = GS_MAX(2 * code->register_capacity, (at + size + 4095) / 4096 * 4096);
        uint8_t *const image = realloc(code->image, capacity);
        if (!image) {
            gs_emu_no_memory(d);
            return 0;
        }
        memset(image + code->register_capacity, UNWRITTEN, capacity - code->register_capacity);
        code->image = image;
        code->register_capacity = capacity;
    }
    code->register_bytes = at + size;
    return at;
}

static void note(uint32_t *list, int *size, uint32_t offset)
{
    if (offset != GS_EMU_NONE && *size < MOST_USES) list[(*size)++] = offset;
}

static void note_read(gs_emu_decoder *d, uint32_t offset)
{
    constants *const own = d->constants;
    note(own->read, &own->reads, offset);
}

static void note_write(gs_emu_decoder *d, uint32_t offset)
{
    constants *const own = d->constants;
    note(own->write, &own->writes, offset);
}

static void fill_lanes(uint8_t *at, uint32_t bytes, uint64_t bits)
{
    if (bytes == 0) {
        const uint32_t mask = bits & 1 ? GS_EMU_FULL : 0;
        memcpy(at, &mask, sizeof mask);
        return;
    }
    for (int lane = 0; lane < GS_EMU_LANES; lane++) memcpy(at + lane * bytes, &bits, bytes);   /* little-endian: the low bytes */
}

static bool grow_constants(constants *own)
{
    const uint32_t capacity = own->capacity ? 2 * own->capacity : 256;
    constant *const table = calloc(capacity, sizeof *table);
    if (!table) return false;
    for (uint32_t i = 0; i < own->capacity; i++) {
        if (!own->table[i].key) continue;
        uint32_t at = (uint32_t)(own->table[i].bits * 0x9e3779b97f4a7c15ull >> 40) & (capacity - 1);
        while (table[at].key) at = (at + 1) & (capacity - 1);
        table[at] = own->table[i];
    }
    free(own->table);
    own->table = table;
    own->capacity = capacity;
    return true;
}

/* Constants are distinguished by value, size and whether they are an address in shared memory, which differs between blocks. */
static uint32_t constant_of(gs_emu_decoder *d, gs_ptx_type type, uint64_t bits, bool shared)
{
    constants *const own = d->constants;
    const uint32_t bytes = lane_bytes(type);
    if (bytes == 0) bits &= 1;
    if (bytes > 0 && bytes < 8) bits &= (1ull << 8 * bytes) - 1;
    if (2 * own->used >= own->capacity && !grow_constants(own)) {
        gs_emu_no_memory(d);
        return 0;
    }
    const uint32_t key = bytes + 1 + (shared ? 16 : 0);   /* 1 for a predicate */
    uint32_t at = (uint32_t)(bits * 0x9e3779b97f4a7c15ull >> 40) & (own->capacity - 1);
    for (; own->table[at].key; at = (at + 1) & (own->capacity - 1))
        if (own->table[at].bits == bits && own->table[at].key == key) return own->table[at].offset;
    const uint32_t offset = take_bytes(d, gs_emu_register_size(type));
    if (d->status != GS_OK) return 0;
    fill_lanes(d->code->image + offset, bytes, bits);
    own->table[at] = (constant){bits, key, offset};
    own->used++;
    return offset;
}

/* Offset of a constant with 32 equal lanes. */
static uint32_t equal_lanes(gs_emu_decoder *d, gs_ptx_type type, uint64_t bits) { return constant_of(d, type, bits, false); }

/* The address of a shared variable as a value; added to code->shared_address, because a block's rank must be included at run time. */
static uint32_t shared_address(gs_emu_decoder *d, gs_ptx_type type, uint64_t bits)
{
    gs_emu_code *const code = d->code;
    const constants *const own = d->constants;
    const uint32_t used = own->used, offset = constant_of(d, type, bits, true);
    if (d->status != GS_OK || own->used == used) return offset;   /* it existed already */
    gs_emu_shared_address *const grown = realloc(code->shared_address, (size_t)(code->shared_addresses + 1) * sizeof *grown);
    if (!grown) {
        gs_emu_no_memory(d);
        return 0;
    }
    code->shared_address = grown;
    code->shared_address[code->shared_addresses++] = (gs_emu_shared_address){offset, lane_bytes(type) == 8};
    return offset;
}

uint32_t gs_emu_carry(gs_emu_decoder *d)
{
    if (!d->carry) d->carry = take_bytes(d, gs_emu_register_size(GS_PTX_PRED));
    return d->carry;
}

/* ---- operands ---- */

const gs_ptx_operand *gs_emu_operand(gs_emu_decoder *d, int i)
{
    if (i < d->in->operands) return &d->entry->operand[d->in->operand + i];
    gs_emu_unsupported(d, "operand %d is missing", i + 1);
    return NULL;
}

const gs_ptx_operand *gs_emu_child(gs_emu_decoder *d, const gs_ptx_operand *operand, int i)
{
    if (operand && i < operand->children) return &d->entry->operand[operand->child + i];
    gs_emu_unsupported(d, "an operand has too few elements");
    return NULL;
}

bool gs_emu_part(const gs_ptx_instruction *in, const char *part)
{
    for (int i = 1; i < in->parts; i++)
        if (strcmp(in->part[i], part) == 0) return true;
    return false;
}

/* A register gets its place at its first use, because declared ranges are generous. */
static uint32_t register_of(gs_emu_decoder *d, int32_t index, gs_ptx_type type)
{
    const gs_ptx_register *const reg = &d->entry->reg[index];
    if (lane_bytes((gs_ptx_type)reg->type) != lane_bytes(type)) {
        gs_emu_unsupported(d, "register %s has %d bits where %d are expected", reg->name, gs_ptx_type_bits((gs_ptx_type)reg->type), gs_ptx_type_bits(type));
        return 0;
    }
    uint32_t *const offset = &d->code->offset_of[index];
    if (*offset == GS_EMU_NONE) *offset = take_bytes(d, gs_emu_register_size(type));
    return d->status == GS_OK ? *offset : 0;
}

static const char *const special_names[] = {
#define GS_EMU_SPECIAL(name, text) text,
    GS_EMU_SPECIALS(GS_EMU_SPECIAL)
#undef GS_EMU_SPECIAL
};

static uint32_t special_of(gs_emu_decoder *d, const char *name, gs_ptx_type type)
{
    for (int i = 0; i < GS_EMU_SPECIAL_COUNT; i++) {
        if (strcmp(name, special_names[i]) != 0) continue;
        if (lane_bytes(type) != 4) {
            gs_emu_unsupported(d, "%s has 32 bits", name);
            return 0;
        }
        uint32_t *const offset = &d->code->special[i];
        if (*offset == GS_EMU_NONE) *offset = take_bytes(d, gs_emu_register_size(GS_PTX_B32));
        return d->status == GS_OK ? *offset : 0;
    }
    gs_emu_unsupported(d, "the emulated device has no special register %s", name);
    return 0;
}

static uint64_t float_bits(const gs_ptx_operand *operand, gs_ptx_type type)
{
    union { double d; uint64_t u; } wide = {.u = operand->bits};
    union { float f; uint32_t u; } narrow = {.u = (uint32_t)operand->bits};
    const bool want_wide = lane_bytes(type) == 8;
    if (operand->wide == want_wide) return operand->bits;
    if (want_wide) {
        wide.d = (double)narrow.f;
        return wide.u;
    }
    narrow.f = (float)wide.d;
    return narrow.u;
}

static uint64_t address_of(gs_emu_decoder *d, const gs_ptx_operand *operand)
{
    const gs_ptx_variable *const variable = &d->module->variable[operand->index];
    uint64_t base = 0;
    switch (variable->space) {
    case GS_PTX_PARAM:  base = variable->address; break;
    case GS_PTX_SHARED:
    case GS_PTX_LOCAL:  base = d->shared_offset[operand->index]; break;
    default:            base = d->global_address ? d->global_address[operand->index] : 0; break;
    }
    return base + (uint64_t)operand->offset;
}

uint32_t gs_emu_source(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type)
{
    uint32_t offset;
    if (!operand || d->status != GS_OK) return 0;
    if (operand->negated) {
        gs_emu_unsupported(d, "a negated operand is not expected here");
        return 0;
    }
    switch (operand->kind) {
    case GS_PTX_REGISTER: offset = register_of(d, operand->index, type); break;
    case GS_PTX_INTEGER:
        if (type != GS_PTX_F32 && type != GS_PTX_F64) return equal_lanes(d, type, operand->bits);
        gs_emu_unsupported(d, "an integer where a floating-point number is expected");
        return 0;
    case GS_PTX_FLOAT:
        if (lane_bytes(type) >= 4) return equal_lanes(d, type, float_bits(operand, type));
        gs_emu_unsupported(d, "a floating-point number has 32 or 64 bits");
        return 0;
    case GS_PTX_VARIABLE:
        if (d->module->variable[operand->index].space == GS_PTX_SHARED && lane_bytes(type) >= 4) return shared_address(d, type, address_of(d, operand));
        return equal_lanes(d, type, address_of(d, operand));
    case GS_PTX_SPECIAL:  offset = special_of(d, operand->name, type); break;
    default:
        gs_emu_unsupported(d, "an operand has a form that is not expected here");
        return 0;
    }
    note_read(d, offset);
    return offset;
}

uint32_t gs_emu_source_predicate(gs_emu_decoder *d, const gs_ptx_operand *operand, bool *negated)
{
    *negated = false;
    if (!operand || d->status != GS_OK) return 0;
    if (operand->kind == GS_PTX_INTEGER) return equal_lanes(d, GS_PTX_PRED, operand->bits != 0);
    gs_ptx_operand plain = *operand;
    plain.negated = false;
    *negated = operand->negated;
    return gs_emu_source(d, &plain, GS_PTX_PRED);
}

uint32_t gs_emu_destination(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type)
{
    if (!operand || d->status != GS_OK || operand->kind == GS_PTX_SINK) return GS_EMU_NONE;
    if (operand->kind == GS_PTX_REGISTER && !operand->negated) {
        const uint32_t offset = register_of(d, operand->index, type);
        note_write(d, offset);
        return offset;
    }
    gs_emu_unsupported(d, "the destination is no register");
    return GS_EMU_NONE;
}

void gs_emu_address(gs_emu_decoder *d, const gs_ptx_operand *operand, int slot)
{
    if (!operand || d->status != GS_OK) return;
    if (operand->kind != GS_PTX_ADDRESS || operand->children != 1) {
        gs_emu_unsupported(d, "an address in brackets%s is expected", operand->kind == GS_PTX_ADDRESS ? ", without coordinates," : "");
        return;
    }
    const gs_ptx_operand *const base = gs_emu_child(d, operand, 0);
    if (!base) return;
    d->op->src[slot] = GS_EMU_NONE;
    d->op->immediate = operand->offset;
    switch (base->kind) {
    case GS_PTX_VARIABLE: d->op->immediate = (int64_t)(address_of(d, base) + (uint64_t)operand->offset); return;
    case GS_PTX_INTEGER:  d->op->immediate = (int64_t)(base->bits + (uint64_t)operand->offset); return;
    case GS_PTX_REGISTER: break;
    default: gs_emu_unsupported(d, "an address has a form that is not expected"); return;
    }
    const gs_ptx_type type = gs_ptx_type_bits((gs_ptx_type)d->entry->reg[base->index].type) == 64 ? GS_PTX_B64 : GS_PTX_B32;
    if (type == GS_PTX_B64) d->op->flags |= GS_EMU_ADDRESS_64;
    d->op->src[slot] = gs_emu_source(d, base, type);
}

/* ---- lists of operands ---- */

static bool reserve_list(gs_emu_decoder *d, uint32_t more)
{
    gs_emu_code *const code = d->code;
    if (code->list_size + more <= code->list_capacity) return true;
    const uint32_t capacity = GS_MAX(2 * code->list_capacity, code->list_size + more + 1024);
    uint32_t *const list = realloc(code->list, capacity * sizeof *list);
    if (!list) {
        gs_emu_no_memory(d);
        return false;
    }
    code->list = list;
    code->list_capacity = capacity;
    return true;
}

static uint32_t append(gs_emu_decoder *d, const uint32_t *values, int count)
{
    const uint32_t first = d->code->list_size;
    if (count == 0 || !reserve_list(d, (uint32_t)count)) return first;
    memcpy(d->code->list + first, values, (size_t)count * sizeof *values);
    d->code->list_size += (uint32_t)count;
    return first;
}

static int elements(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type, uint32_t *first,
                    uint32_t (*one)(gs_emu_decoder *, const gs_ptx_operand *, gs_ptx_type))
{
    uint32_t values[MOST_USES];
    *first = d->code->list_size;
    if (!operand || d->status != GS_OK) return 0;
    const int count = operand->kind == GS_PTX_VECTOR ? operand->children : 1;
    if (count > MOST_USES) {
        gs_emu_unsupported(d, "%d elements in a vector", count);
        return 0;
    }
    for (int i = 0; i < count; i++) values[i] = one(d, operand->kind == GS_PTX_VECTOR ? gs_emu_child(d, operand, i) : operand, type);
    *first = append(d, values, count);
    return d->status == GS_OK ? count : 0;
}

int gs_emu_sources(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type, uint32_t *first)
{
    return elements(d, operand, type, first, gs_emu_source);
}

int gs_emu_destinations(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type, uint32_t *first)
{
    return elements(d, operand, type, first, gs_emu_destination);
}

/* ---- one instruction ---- */

void gs_emu_instruction_begin(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    constants *const own = d->constants;
    *op = (gs_emu_op){
        .guard = GS_EMU_NONE, .guard_not = in->guard_not, .dst = GS_EMU_NONE, .dst2 = GS_EMU_NONE,
        .src = {GS_EMU_NONE, GS_EMU_NONE, GS_EMU_NONE, GS_EMU_NONE}, .line = in->line, .location = in->location, .name = in->name,
    };
    d->in = in;
    d->op = op;
    own->reads = own->writes = 0;
    if (in->guard >= 0) op->guard = register_of(d, in->guard, GS_PTX_PRED);
}

gs_status gs_emu_instruction_end(gs_emu_decoder *d)
{
    const constants *const own = d->constants;
    d->op->read_count = (uint16_t)own->reads;
    d->op->write_count = (uint16_t)own->writes;
    d->op->reads = append(d, own->read, own->reads);
    d->op->writes = append(d, own->write, own->writes);
    return d->status;
}

/* ---- private memory of the decoder ---- */

gs_status gs_emu_operands_start(gs_emu_decoder *d)
{
    take_bytes(d, 64);   /* offset 0 stays unused */
    return d->status;
}

void *gs_emu_operands_create(void) { return calloc(1, sizeof(constants)); }

void gs_emu_operands_destroy(void *own)
{
    if (own) free(((constants *)own)->table);
    free(own);
}
