/* SPDX-License-Identifier: MIT
 * Loads and stores of every state space. An op's list has the registers of a vector's elements; op->type2 has the size of an element in memory and in a register, and
 * whether it is sign-extended. */
#include "emu/isa/access.h"
#include "emu/isa/unseen.h"

#include <string.h>

/* ---- elements between registers and memory ---- */

/* Moves one element of each lane between at[lane] + offset and an array of registers. */
typedef void move_element(uint8_t *registers, uint8_t *const *at, uint32_t offset, uint32_t lanes);

#define EACH GS_EMU_ACCESS_EACH

#define MOVES(name, memory, wide)                                                                         \
    GS_EMU_WIDE static void get_##name(uint8_t *registers, uint8_t *const *at, uint32_t offset, uint32_t lanes) \
    {                                                                                                     \
        wide *const to = (wide *)(void *)registers;                                                       \
        EACH(l, lanes, memory value; memcpy(&value, at[l] + offset, sizeof value); to[l] = (wide)value);  \
    }                                                                                                     \
    GS_EMU_WIDE static void put_##name(uint8_t *registers, uint8_t *const *at, uint32_t offset, uint32_t lanes) \
    {                                                                                                     \
        const wide *const from = (const wide *)(const void *)registers;                                   \
        EACH(l, lanes, const memory value = (memory)from[l]; memcpy(at[l] + offset, &value, sizeof value)); \
    }

/* legend: name, type in memory, type in a register; the digits are log2 of their sizes */
MOVES(u01, uint8_t, uint16_t) MOVES(u02, uint8_t, uint32_t)  MOVES(u03, uint8_t, uint64_t)
MOVES(u11, uint16_t, uint16_t) MOVES(u12, uint16_t, uint32_t) MOVES(u13, uint16_t, uint64_t)
MOVES(u22, uint32_t, uint32_t) MOVES(u23, uint32_t, uint64_t) MOVES(u33, uint64_t, uint64_t)
MOVES(s01, int8_t, int16_t)  MOVES(s02, int8_t, int32_t)  MOVES(s03, int8_t, int64_t)
MOVES(s12, int16_t, int32_t) MOVES(s13, int16_t, int64_t) MOVES(s23, int32_t, int64_t)

typedef struct mover {
    move_element *get, *put;
} mover;

#define MOVER(name) {get_##name, put_##name}

/* Indexed by type2. */
static const mover movers[2][4][4] = {
    {{{0}, MOVER(u01), MOVER(u02), MOVER(u03)},
     {{0}, MOVER(u11), MOVER(u12), MOVER(u13)},
     {{0}, {0},        MOVER(u22), MOVER(u23)},
     {{0}, {0},        {0},        MOVER(u33)}},
    {{{0}, MOVER(s01), MOVER(s02), MOVER(s03)},
     {{0}, MOVER(u11), MOVER(s12), MOVER(s13)},
     {{0}, {0},        MOVER(u22), MOVER(s23)},
     {{0}, {0},        {0},        MOVER(u33)}},
};

static uint8_t pack(uint32_t memory_bytes, uint32_t register_bytes, bool is_signed)
{
    return (uint8_t)(__builtin_ctz(memory_bytes) | __builtin_ctz(register_bytes) << 2 | is_signed << 4);
}

static uint32_t size_of(const gs_emu_op *op) { return 1u << (op->type2 & 3); }
static const mover *mover_of(const gs_emu_op *op) { return &movers[op->type2 >> 4][op->type2 & 3][op->type2 >> 2 & 3]; }
static bool is_same_width(const gs_emu_op *op) { return (op->type2 & 3) == (op->type2 >> 2 & 3); }

/* Copies 32 adjacent elements. */
static void copy_row(uint8_t *to, const uint8_t *from, uint32_t size)
{
    switch (size) {
    case 2:  memcpy(to, from, 2 * GS_EMU_LANES); break;
    case 4:  memcpy(to, from, 4 * GS_EMU_LANES); break;
    default: memcpy(to, from, 8 * GS_EMU_LANES); break;
    }
}

/* ---- execution ---- */

/* Counts a load that may be polling: whether it returned the same value as the last time. */
static void count_poll(gs_emu_warp *w, const gs_emu_op *op, uint64_t address, const uint8_t *before)
{
    const uint32_t offset = w->code->list[op->list];
    const size_t row = (size_t)GS_EMU_LANES << (op->type2 >> 2 & 3);
    gs_emu_count_poll(w, address, offset == GS_EMU_NONE || memcmp(before, w->registers + offset, row) != 0);
}

static void keep_row(gs_emu_warp *w, const gs_emu_op *op, uint8_t *row)
{
    const uint32_t offset = w->code->list[op->list];
    if (offset != GS_EMU_NONE) memcpy(row, w->registers + offset, (size_t)GS_EMU_LANES << (op->type2 >> 2 & 3));
}

static gs_emu_result load(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    gs_emu_reach reach;
    const uint32_t size = size_of(op), total = size * op->count;
    if (gs_emu_reach_op(w, op, lanes, total, &reach) != GS_EMU_NEXT) return GS_EMU_FAILED;
    const bool lent = w->cluster->launch->unseen && gs_emu_unseen_lend(w, &reach, total);
    gs_emu_reach_touch(w, op, &reach, total, op->flags & GS_EMU_ACCESS_STRONG ? GS_EMU_STRONG_READ : GS_EMU_READ);
    if (op->space != GS_PTX_CONST) gs_emu_reach_count(w, &reach, total, false);
    const uint32_t *const list = w->code->list + op->list;
    uint8_t before[8 * GS_EMU_LANES];
    if (op->flags & GS_EMU_ACCESS_STRONG) keep_row(w, op, before);
    if (op->count == 1 && reach.straight && is_same_width(op)) {
        if (list[0] != GS_EMU_NONE) copy_row(w->registers + list[0], reach.at[0], size);
    } else {
        move_element *const get = mover_of(op)->get;
        for (uint32_t i = 0; i < op->count; i++)
            if (list[i] != GS_EMU_NONE) get(w->registers + list[i], reach.at, i * size, lanes);
    }
    if (lent) gs_emu_unseen_restore(w->block);
    if (op->flags & GS_EMU_ACCESS_STRONG) count_poll(w, op, reach.address[__builtin_ctz(lanes)], before);
    if (op->flags & GS_EMU_ACCESS_ACQUIRE) atomic_thread_fence(memory_order_acquire);
    return op->flags & GS_EMU_ACCESS_STRONG ? GS_EMU_YIELD : GS_EMU_NEXT;   /* it may spin until another thread stores */
}

/* A generic address may be in the parameters, which are read-only. */
static gs_emu_result check_writable(gs_emu_warp *w, const gs_emu_op *op, const gs_emu_reach *reach)
{
    for (uint32_t left = reach->space == GS_PTX_GENERIC ? reach->lanes : 0; left; left &= left - 1)
        if (reach->place[__builtin_ctz(left)].space == GS_PTX_PARAM)
            return gs_emu_report(w, op, GS_EMU_TRAP_FINDING, "lane %d: write to the kernel's parameters", __builtin_ctz(left));
    return GS_EMU_NEXT;
}

static gs_emu_result store(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    gs_emu_reach reach;
    const uint32_t size = size_of(op), total = size * op->count;
    if (gs_emu_reach_op(w, op, lanes, total, &reach) != GS_EMU_NEXT || check_writable(w, op, &reach) != GS_EMU_NEXT) return GS_EMU_FAILED;
    gs_emu_reach_touch(w, op, &reach, total, op->flags & GS_EMU_ACCESS_STRONG ? GS_EMU_STRONG_WRITE : GS_EMU_WRITE);
    gs_emu_reach_count(w, &reach, total, true);
    if (op->flags & GS_EMU_ACCESS_RELEASE) atomic_thread_fence(memory_order_release);
    uint8_t before[GS_EMU_LANES][GS_EMU_UNSEEN_BYTES];
    if (w->cluster->launch->unseen) gs_emu_unseen_release(w->block, op->flags);
    const bool unseen = w->cluster->launch->unseen && gs_emu_unseen_begin(w, op, &reach, total, before);
    const uint32_t *const list = w->code->list + op->list;
    if (op->count == 1 && reach.straight && is_same_width(op)) {
        copy_row(reach.at[0], w->registers + list[0], size);
    } else {
        move_element *const put = mover_of(op)->put;
        for (uint32_t i = 0; i < op->count; i++) put(w->registers + list[i], reach.at, i * size, lanes);
    }
    if (unseen) gs_emu_unseen_keep(w, &reach, total, before);
    w->cluster->quiet_steps = 0;
    return GS_EMU_NEXT;
}

/* ---- decoding ---- */

static uint32_t lane_bytes(gs_ptx_type type)
{
    const int bits = gs_ptx_type_bits(type);
    return bits <= 16 ? 2 : (uint32_t)bits / 8;
}

/* The type in which an operand's registers are accessed: the instruction's type, or a wider bit type. */
static gs_ptx_type carrier_of(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type)
{
    const int count = operand->kind == GS_PTX_VECTOR ? operand->children : 1;
    for (int i = 0; i < count; i++) {
        const gs_ptx_operand *const one = operand->kind == GS_PTX_VECTOR ? gs_emu_child(d, operand, i) : operand;
        uint32_t bytes;
        if (one->kind == GS_PTX_SPECIAL)
            bytes = 4;
        else if (one->kind == GS_PTX_REGISTER && d->entry->reg[one->index].type != GS_PTX_PRED)
            bytes = lane_bytes((gs_ptx_type)d->entry->reg[one->index].type);
        else
            continue;
        if (bytes <= lane_bytes(type)) return type;   /* a narrower register is refused later */
        return bytes == 4 ? GS_PTX_B32 : bytes == 8 ? GS_PTX_B64 : GS_PTX_B128;
    }
    return type;
}

static bool is_float(gs_ptx_type type) { return type >= GS_PTX_F16; }
static bool is_signed(gs_ptx_type type) { return type >= GS_PTX_S8 && type <= GS_PTX_S64; }

static gs_status decode_elements(gs_emu_decoder *d, const gs_emu_access_parts *parts, const gs_ptx_operand *operand, bool is_load)
{
    gs_emu_op *const op = d->op;
    const uint32_t size = (uint32_t)gs_ptx_type_bits(parts->type) / 8;
    if (parts->type == GS_PTX_PRED || parts->type == GS_PTX_TF32 || size > 8) return gs_emu_unsupported(d, "this type cannot be loaded or stored");
    if (size * (uint32_t)parts->vector > 32) return gs_emu_unsupported(d, "an access of more than 32 bytes");
    if (!operand) return d->status;
    const int elements = operand->kind == GS_PTX_VECTOR ? operand->children : 1;
    if (elements != parts->vector) return gs_emu_unsupported(d, "%d elements where %d are expected", elements, parts->vector);
    const gs_ptx_type carrier = carrier_of(d, operand, parts->type);
    const uint32_t width = lane_bytes(carrier);
    if (width > 8 || (is_float(parts->type) && width != size)) return gs_emu_unsupported(d, "registers of a width that does not fit");
    op->lists = (uint16_t)(is_load ? gs_emu_destinations(d, operand, carrier, &op->list) : gs_emu_sources(d, operand, carrier, &op->list));
    op->type = (uint8_t)parts->type;
    op->type2 = pack(size, width, is_signed(parts->type));
    op->count = (uint8_t)parts->vector;
    return d->status;
}

static uint8_t class_of(gs_ptx_space space)
{
    if (space == GS_PTX_SHARED) return GS_EMU_SHARED;
    return space == GS_PTX_GLOBAL || space == GS_PTX_GENERIC ? GS_EMU_GLOBAL : GS_EMU_OTHER;
}

static gs_status decode_load(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    gs_emu_access_parts parts;
    GS_TRY(gs_emu_access_parts_read(d, in, GS_EMU_ON_LOAD, &parts));
    GS_TRY(gs_emu_access_operands(d, 2 + parts.hint, 2 + parts.hint));
    op->exec = load;
    op->class = class_of(parts.space);
    op->space = (uint8_t)parts.space;
    op->flags = parts.flags | (strcmp(in->part[0], "ldu") == 0 ? GS_EMU_ACCESS_CONSTANT : 0);
    gs_emu_access_address(d, gs_emu_operand(d, 1), parts.space);
    if (parts.hint) gs_emu_source(d, gs_emu_operand(d, 2), GS_PTX_B64);
    return decode_elements(d, &parts, gs_emu_operand(d, 0), true);
}

static gs_status decode_store(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    gs_emu_access_parts parts;
    if (gs_emu_part(in, "async")) return gs_emu_decode_store_async(d, in, op);
    GS_TRY(gs_emu_access_parts_read(d, in, GS_EMU_ON_STORE, &parts));
    GS_TRY(gs_emu_access_operands(d, 2 + parts.hint, 2 + parts.hint));
    op->exec = store;
    op->class = class_of(parts.space);
    op->space = (uint8_t)parts.space;
    op->flags = parts.flags;
    gs_emu_access_address(d, gs_emu_operand(d, 0), parts.space);
    if (parts.hint) gs_emu_source(d, gs_emu_operand(d, 2), GS_PTX_B64);
    return decode_elements(d, &parts, gs_emu_operand(d, 1), false);
}

gs_status gs_emu_decode_access(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    static const struct {
        const char    *name;
        gs_emu_decode *decode;
    } table[] = {
        {"ld", decode_load}, {"ldu", decode_load}, {"st", decode_store},
        {"atom", gs_emu_decode_atomic}, {"red", gs_emu_decode_atomic}, {"cp", gs_emu_decode_copy},
        {"cvta", gs_emu_decode_address}, {"isspacep", gs_emu_decode_address}, {"mapa", gs_emu_decode_address},
        {"getctarank", gs_emu_decode_address}, {"prefetch", gs_emu_decode_address}, {"prefetchu", gs_emu_decode_address},
        {"applypriority", gs_emu_decode_address}, {"discard", gs_emu_decode_address}, {"createpolicy", gs_emu_decode_address},
    };
    for (size_t i = 0; i < GS_COUNT(table); i++)
        if (strcmp(in->part[0], table[i].name) == 0) return table[i].decode(d, in, op);
    return GS_ERROR_NOT_FOUND;
}
