/* SPDX-License-Identifier: MIT
 * Decoding of cp.async.bulk, cp.reduce.async.bulk, their groups, and prefetches of tensor maps. Accepts the forms that the assembler of CUDA 13 accepts for sm_90a. */
#include "emu/isa/bulk.h"

#include <string.h>

#include "base/error.h"

/* ---- opcodes ---- */

static gs_emu_reduction reduction_of(const char *part)
{
    static const char *const names[] = {"", "add", "min", "max", "inc", "dec", "and", "or", "xor"};
    for (int i = 1; i < (int)GS_COUNT(names); i++)
        if (strcmp(part, names[i]) == 0) return (gs_emu_reduction)i;
    return GS_EMU_REDUCE_NONE;
}

/* The parts of an opcode. */
typedef struct form {
    const char *space[2];    /* destination, source */
    int         spaces, dimensions;
    bool        reduces, tensor, barrier, group, multicast, hint, noftz;
    gs_emu_reduction reduction;
    gs_ptx_type type;
} form;

static bool read_part(form *f, const char *part)
{
    const bool space = strcmp(part, "global") == 0 || strcmp(part, "shared::cta") == 0 || strcmp(part, "shared::cluster") == 0;
    if (space && f->spaces < 2) return f->space[f->spaces++] = part, true;
    if (strcmp(part, "mbarrier::complete_tx::bytes") == 0) return f->barrier = true;
    if (strcmp(part, "bulk_group") == 0) return f->group = true;
    if (strcmp(part, "multicast::cluster") == 0) return f->multicast = true;
    if (strcmp(part, "L2::cache_hint") == 0) return f->hint = true;
    if (f->tensor && strcmp(part, "tile") == 0) return true;
    if (f->tensor && !f->dimensions && part[0] >= '1' && part[0] <= '5' && strcmp(part + 1, "d") == 0) return f->dimensions = part[0] - '0', true;
    if (f->reduces && strcmp(part, "noftz") == 0) return f->noftz = true;
    if (f->reduces && !f->reduction) return (f->reduction = reduction_of(part)) != GS_EMU_REDUCE_NONE;
    if (f->reduces && !f->tensor && !f->type) return (f->type = gs_ptx_type_of(part)) != GS_PTX_NONE;
    return false;
}

/* Reads the parts from `at` on. */
static gs_status read_form(gs_emu_decoder *d, const gs_ptx_instruction *in, int at, form *f)
{
    for (; at < in->parts; at++)
        if (!read_part(f, in->part[at])) return gs_emu_unsupported(d, "unknown modifier .%s", in->part[at]);
    if (f->tensor && !f->dimensions) return gs_emu_unsupported(d, "the number of dimensions is missing");
    return GS_OK;
}

static bool moves(const form *f, const char *to, const char *from)
{
    return f->spaces == 2 && strcmp(f->space[0], to) == 0 && strcmp(f->space[1], from) == 0;
}

static void add_slot(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type)
{
    uint32_t first = 0;
    if (operand && operand->kind == GS_PTX_VECTOR) gs_emu_unsupported(d, "a vector is not expected here");
    gs_emu_sources(d, operand, type, &first);
    d->op->lists++;
}

static void add_nothing(gs_emu_decoder *d, int slots)
{
    const gs_ptx_operand zero = {.kind = GS_PTX_INTEGER};
    while (slots-- > 0) add_slot(d, &zero, GS_PTX_B64);
}

/* Adds base and displacement of an address, which must or must not have coordinates. */
static void add_address(gs_emu_decoder *d, const gs_ptx_operand *operand, int which, bool with_coordinates)
{
    if (operand && (operand->kind != GS_PTX_ADDRESS || (operand->children > 1) != with_coordinates)) {
        gs_emu_unsupported(d, "an address %s coordinates is expected", with_coordinates ? "with" : "without");
        return;
    }
    const gs_ptx_operand *const base = operand ? gs_emu_child(d, operand, 0) : NULL;
    if (!base) return;
    const gs_ptx_operand displacement = {.kind = GS_PTX_INTEGER, .bits = (uint64_t)operand->offset};
    const bool wide = base->kind != GS_PTX_REGISTER || gs_ptx_type_bits((gs_ptx_type)d->entry->reg[base->index].type) == 64;
    if (wide) d->op->flags |= (uint16_t)(1u << which / 2);
    add_slot(d, base, wide ? GS_PTX_B64 : GS_PTX_B32);
    add_slot(d, &displacement, GS_PTX_B64);
}

/* Index of each operand; -1: absent. */
typedef struct places {
    int shared, other, barrier, size, mask, hint, count;
} places;

static places place_operands(const form *f, bool load, bool prefetch)
{
    places p = {-1, -1, -1, -1, -1, -1, 0};
    if (load) p.shared = p.count++;
    p.other = p.count++;
    if (!load && !prefetch) p.shared = p.count++;
    if (!f->tensor) p.size = p.count++;
    if (load) p.barrier = p.count++;
    if (f->multicast) p.mask = p.count++;
    if (f->hint) p.hint = p.count++;
    return p;
}

static gs_status read_operands(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op, const form *f, const places *p)
{
    uint32_t ignored;
    if (in->operands != p->count) return gs_emu_unsupported(d, "%d operands where %d are expected", (int)in->operands, p->count);
    op->list = d->code->list_size;
    if (p->shared >= 0)
        add_address(d, gs_emu_operand(d, p->shared), GS_EMU_BULK_SHARED, false);
    else
        add_nothing(d, 2);
    const gs_ptx_operand *const other = gs_emu_operand(d, p->other);
    add_address(d, other, GS_EMU_BULK_OTHER, f->tensor);
    if (p->barrier >= 0)
        add_address(d, gs_emu_operand(d, p->barrier), GS_EMU_BULK_BARRIER, false);
    else
        add_nothing(d, 2);
    if (p->size >= 0)
        add_slot(d, gs_emu_operand(d, p->size), GS_PTX_B32);
    else
        add_nothing(d, 1);
    if (p->mask >= 0)
        add_slot(d, gs_emu_operand(d, p->mask), GS_PTX_B16);
    else
        add_nothing(d, 1);
    if (f->tensor && other && d->status == GS_OK && other->children != f->dimensions + 1)
        return gs_emu_unsupported(d, "%d coordinates where %d are expected", other->children - 1, f->dimensions);
    for (int i = 0; f->tensor && i < f->dimensions; i++) add_slot(d, gs_emu_child(d, other, 1 + i), GS_PTX_B32);
    if (p->hint >= 0) gs_emu_sources(d, gs_emu_operand(d, p->hint), GS_PTX_B64, &ignored);
    return d->status;
}

static gs_status decode_copy(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op, const form *f)
{
    const bool load = moves(f, "shared::cluster", "global") || moves(f, "shared::cta", "global"), store = moves(f, "global", "shared::cta");
    const bool between = !f->tensor && moves(f, "shared::cluster", "shared::cta");
    if (!load && !store && !between) return gs_emu_unsupported(d, "unknown state spaces");
    if (f->reduces && !store) return gs_emu_unsupported(d, "the emulated device has no reductions in shared memory");
    if (store ? !f->group || f->barrier : !f->barrier || f->group) return gs_emu_unsupported(d, "unknown way to complete");
    if (f->multicast && !moves(f, "shared::cluster", "global")) return gs_emu_unsupported(d, "multicast is for loads to the cluster");
    if (f->hint && between) return gs_emu_unsupported(d, "a cache hint is for global memory");
    const places p = place_operands(f, !store, false);
    if (moves(f, "shared::cta", "global")) op->flags |= GS_EMU_BULK_OWN;
    if (between) op->flags |= GS_EMU_BULK_FROM_BLOCK;
    if (f->multicast) op->flags |= GS_EMU_BULK_MULTICAST;
    op->exec = store ? gs_emu_bulk_exec_store : gs_emu_bulk_exec_load;
    return read_operands(d, in, op, f, &p);
}

static gs_status decode_reduce(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    form f = {.reduces = true, .tensor = in->parts > 4 && strcmp(in->part[4], "tensor") == 0};
    GS_TRY(read_form(d, in, f.tensor ? 5 : 4, &f));
    if (!f.reduction) return gs_emu_unsupported(d, "the operation is missing");
    if (!f.tensor && !gs_emu_reduction_exists(f.reduction, f.type)) return gs_emu_unsupported(d, "elements of this type do not have this reduction");
    const bool half_sum = f.reduction == GS_EMU_REDUCE_ADD && (f.type == GS_PTX_F16 || f.type == GS_PTX_BF16);
    if (f.noftz != half_sum) return gs_emu_unsupported(d, "noftz belongs to sums of f16 and bf16, and only to them");
    op->type = (uint8_t)f.type;
    op->type2 = (uint8_t)f.reduction;
    op->count = (uint8_t)f.dimensions;
    if (f.tensor) op->flags |= GS_EMU_BULK_TENSOR;
    return decode_copy(d, in, op, &f);
}

static gs_status decode_group(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    if (strcmp(in->part[3], "commit_group") == 0) {
        if (in->parts != 4 || in->operands != 0) return gs_emu_unsupported(d, "unknown form");
        op->exec = gs_emu_bulk_exec_commit;
        return GS_OK;
    }
    const bool only_read = in->parts == 5 && strcmp(in->part[4], "read") == 0;
    if (in->parts != 4 && !only_read) return gs_emu_unsupported(d, "unknown modifier .%s", in->part[4]);
    const gs_ptx_operand *const pending = gs_emu_operand(d, 0);
    if (!pending) return d->status;
    if (in->operands != 1 || pending->kind != GS_PTX_INTEGER || pending->bits > UINT32_MAX)
        return gs_emu_unsupported(d, "the number of groups must be a constant");
    op->exec = gs_emu_bulk_exec_wait;
    op->class = GS_EMU_BARRIER;
    op->immediate = (int64_t)pending->bits;
    if (only_read) op->flags |= GS_EMU_BULK_ONLY_READ;
    return GS_OK;
}

static gs_status decode_prefetch(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    form f = {.tensor = in->parts > 4 && strcmp(in->part[4], "tensor") == 0};
    int at = f.tensor ? 5 : 4;
    if (f.tensor && at < in->parts && read_part(&f, in->part[at])) at++;   /* .2d */
    if (at >= in->parts || strcmp(in->part[at], "L2") != 0) return gs_emu_unsupported(d, "a prefetch into L2 is expected");
    GS_TRY(read_form(d, in, at + 1, &f));
    if (f.spaces != 1 || strcmp(f.space[0], "global") != 0 || f.barrier || f.group || f.multicast) return gs_emu_unsupported(d, "unknown form");
    const places p = place_operands(&f, false, true);
    op->exec = f.tensor ? gs_emu_bulk_exec_prefetch_map : gs_emu_bulk_exec_prefetch;
    return read_operands(d, in, op, &f, &p);
}

/* prefetch.tensormap, prefetch.param.tensormap, prefetch.const.tensormap */
static gs_status decode_prefetch_map(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    for (int i = 1; i < in->parts; i++) {
        if (strcmp(in->part[i], "param") == 0)
            op->space = GS_PTX_PARAM;
        else if (strcmp(in->part[i], "const") == 0)
            op->space = GS_PTX_CONST;
        else if (strcmp(in->part[i], "tensormap") != 0)
            return gs_emu_unsupported(d, "unknown modifier .%s", in->part[i]);
    }
    if (in->operands != 1) return gs_emu_unsupported(d, "%d operands where 1 is expected", (int)in->operands);
    op->class = GS_EMU_COPY;
    op->exec = gs_emu_bulk_exec_prefetch_map;
    op->list = d->code->list_size;
    add_nothing(d, 2);
    add_address(d, gs_emu_operand(d, 0), GS_EMU_BULK_OTHER, false);
    return d->status;
}

static bool begins(const gs_ptx_instruction *in, const char *first, const char *second, const char *third)
{
    return in->parts >= 4 && strcmp(in->part[0], first) == 0 && strcmp(in->part[1], second) == 0 && strcmp(in->part[2], third) == 0;
}

gs_status gs_emu_decode_bulk(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op)
{
    op->space = GS_PTX_GENERIC;
    if (strcmp(in->part[0], "tensormap") == 0) return gs_emu_unsupported(d, "the emulated device does not change tensor maps");
    if (strcmp(in->part[0], "prefetch") == 0 && gs_emu_part(in, "tensormap")) return decode_prefetch_map(d, in, op);
    if (begins(in, "cp", "reduce", "async")) {
        op->class = GS_EMU_COPY;
        return strcmp(in->part[3], "bulk") == 0 ? decode_reduce(d, in, op) : gs_emu_unsupported(d, "unknown form");
    }
    if (!begins(in, "cp", "async", "bulk")) return GS_ERROR_NOT_FOUND;
    op->class = GS_EMU_COPY;
    if (strcmp(in->part[3], "commit_group") == 0 || strcmp(in->part[3], "wait_group") == 0) return decode_group(d, in, op);
    if (strcmp(in->part[3], "prefetch") == 0) return decode_prefetch(d, in, op);
    form f = {.tensor = strcmp(in->part[3], "tensor") == 0};
    GS_TRY(read_form(d, in, f.tensor ? 4 : 3, &f));
    op->count = (uint8_t)f.dimensions;
    if (f.tensor) op->flags |= GS_EMU_BULK_TENSOR;
    return decode_copy(d, in, op, &f);
}
