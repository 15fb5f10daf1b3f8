/* SPDX-License-Identifier: MIT
 * Modifiers and operands common to memory instructions. */
#include "emu/isa/access.h"

#include <string.h>

/* ---- modifiers ---- */

typedef enum part_kind { PART_NOTHING, PART_SPACE, PART_FLAGS, PART_VECTOR, PART_HINT, PART_NOFTZ, PART_OPERATION } part_kind;

typedef struct part {
    const char *text;
    uint8_t     kind;     /* part_kind */
    uint8_t     on;       /* GS_EMU_ON_... */
    uint8_t     value;
    uint8_t     flags;    /* for op->flags */
} part;

#define LOAD   GS_EMU_ON_LOAD
#define STORE  GS_EMU_ON_STORE
#define ATOM   GS_EMU_ON_ATOM
#define RED    GS_EMU_ON_RED
#define BOTH   (LOAD | STORE)
#define ANY    (LOAD | STORE | ATOM | RED)
#define STRONG GS_EMU_ACCESS_STRONG

static const part known_parts[] = {
    {"global",          PART_SPACE,     ANY,         GS_PTX_GLOBAL, 0},
    {"shared",          PART_SPACE,     ANY,         GS_PTX_SHARED, 0},
    {"shared::cta",     PART_SPACE,     ANY,         GS_PTX_SHARED, 0},
    {"shared::cluster", PART_SPACE,     ANY,         GS_PTX_SHARED, GS_EMU_ACCESS_CLUSTER},
    {"local",           PART_SPACE,     BOTH,        GS_PTX_LOCAL,  0},
    {"param",           PART_SPACE,     LOAD,        GS_PTX_PARAM,  0},
    {"param::entry",    PART_SPACE,     LOAD,        GS_PTX_PARAM,  0},
    {"const",           PART_SPACE,     LOAD,        GS_PTX_CONST,  0},
    /* order: atomic operations use the host's strictest order */
    {"weak",     PART_NOTHING, BOTH,       0, 0},
    {"volatile", PART_FLAGS,   BOTH,       0, STRONG},
    {"mmio",     PART_FLAGS,   BOTH,       0, STRONG},
    {"relaxed",  PART_FLAGS,   ANY,        0, STRONG},
    {"acquire",  PART_FLAGS,   LOAD | ATOM | RED,  0, STRONG | GS_EMU_ACCESS_ACQUIRE},
    {"release",  PART_FLAGS,   STORE | ATOM | RED, 0, STRONG | GS_EMU_ACCESS_RELEASE},
    {"acq_rel",  PART_FLAGS,   ATOM | RED, 0, STRONG | GS_EMU_ACCESS_ACQUIRE | GS_EMU_ACCESS_RELEASE},
    {"cta",      PART_FLAGS,   ANY,        0, GS_EMU_ACCESS_IN_BLOCK},
    {"cluster",  PART_FLAGS,   ANY,        0, GS_EMU_ACCESS_IN_CLUSTER},
    {"gpu",      PART_NOTHING, ANY,        0, 0},
    {"sys",      PART_NOTHING, ANY,        0, 0},
    /* caches */
    {"ca", PART_NOTHING, LOAD, 0, 0}, {"cg", PART_NOTHING, BOTH, 0, 0},  {"cs", PART_NOTHING, BOTH, 0, 0}, {"cv", PART_NOTHING, LOAD, 0, 0},
    {"lu", PART_NOTHING, LOAD, 0, 0}, {"wb", PART_NOTHING, STORE, 0, 0}, {"wt", PART_NOTHING, STORE, 0, 0}, {"nc", PART_FLAGS, LOAD, 0, GS_EMU_ACCESS_CONSTANT},
    {"L1::evict_normal", PART_NOTHING, BOTH, 0, 0}, {"L1::evict_unchanged", PART_NOTHING, BOTH, 0, 0},
    {"L1::evict_first",  PART_NOTHING, BOTH, 0, 0}, {"L1::evict_last",      PART_NOTHING, BOTH, 0, 0},
    {"L1::no_allocate",  PART_NOTHING, BOTH, 0, 0}, {"L2::evict_normal",    PART_NOTHING, BOTH, 0, 0},
    {"L2::evict_first",  PART_NOTHING, BOTH, 0, 0}, {"L2::evict_last",      PART_NOTHING, BOTH, 0, 0},
    {"L2::64B",          PART_NOTHING, LOAD, 0, 0}, {"L2::128B",            PART_NOTHING, LOAD, 0, 0},
    {"L2::256B",         PART_NOTHING, LOAD, 0, 0}, {"L2::cache_hint",      PART_HINT,    ANY,  0, 0},
    /* types, vectors and operations */
    {"v2",    PART_VECTOR,    ANY,        2, 0}, {"v4", PART_VECTOR, ANY, 4, 0}, {"v8", PART_VECTOR, ANY, 8, 0},
    {"noftz", PART_NOFTZ,     ATOM | RED, 0, 0},
    {"add",   PART_OPERATION, ATOM | RED, GS_EMU_ATOMIC_ADD,  0},
    {"inc",   PART_OPERATION, ATOM | RED, GS_EMU_ATOMIC_INC,  0},
    {"dec",   PART_OPERATION, ATOM | RED, GS_EMU_ATOMIC_DEC,  0},
    {"min",   PART_OPERATION, ATOM | RED, GS_EMU_ATOMIC_MIN,  0},
    {"max",   PART_OPERATION, ATOM | RED, GS_EMU_ATOMIC_MAX,  0},
    {"and",   PART_OPERATION, ATOM | RED, GS_EMU_ATOMIC_AND,  0},
    {"or",    PART_OPERATION, ATOM | RED, GS_EMU_ATOMIC_OR,   0},
    {"xor",   PART_OPERATION, ATOM | RED, GS_EMU_ATOMIC_XOR,  0},
    {"exch",  PART_OPERATION, ATOM,       GS_EMU_ATOMIC_EXCH, 0},
    {"cas",   PART_OPERATION, ATOM,       GS_EMU_ATOMIC_CAS,  0},
};

static const part *find_part(const char *text, int on)
{
    for (size_t i = 0; i < GS_COUNT(known_parts); i++)
        if (strcmp(known_parts[i].text, text) == 0) return known_parts[i].on & on ? &known_parts[i] : NULL;
    return NULL;
}

/* false: given twice. */
static bool take_part(const part *known, gs_emu_access_parts *out)
{
    bool twice = false;
    switch ((part_kind)known->kind) {
    case PART_SPACE:
        twice = out->spaced;
        out->spaced = true;
        out->space = (gs_ptx_space)known->value;
        break;
    case PART_VECTOR:
        twice = out->vector != 1;
        out->vector = known->value;
        break;
    case PART_OPERATION:
        twice = out->operation != GS_EMU_ATOMIC_NONE;
        out->operation = (gs_emu_atomic)known->value;
        break;
    case PART_HINT:    out->hint = true; break;
    case PART_NOFTZ:   out->noftz = true; break;
    case PART_FLAGS:
    case PART_NOTHING: break;
    }
    out->flags |= known->flags;
    return !twice;
}

gs_status gs_emu_access_parts_read(gs_emu_decoder *d, const gs_ptx_instruction *in, int on, gs_emu_access_parts *out)
{
    *out = (gs_emu_access_parts){.space = GS_PTX_GENERIC, .vector = 1};
    for (int i = 1; i < in->parts; i++) {
        const part *const known = find_part(in->part[i], on);
        const gs_ptx_type type = known ? GS_PTX_NONE : gs_ptx_type_of(in->part[i]);
        if (!known && type == GS_PTX_NONE) return gs_emu_unsupported(d, "unknown modifier .%s", in->part[i]);
        if (known ? !take_part(known, out) : out->type != GS_PTX_NONE)
            return gs_emu_unsupported(d, ".%s stands after another of its kind", in->part[i]);
        if (!known) out->type = type;
    }
    if (out->type == GS_PTX_NONE) return gs_emu_unsupported(d, "the type is missing");
    if (out->space == GS_PTX_GENERIC) out->flags |= GS_EMU_ACCESS_CLUSTER;
    return GS_OK;
}

gs_status gs_emu_access_operands(gs_emu_decoder *d, int least, int most)
{
    if (d->in->operands >= least && d->in->operands <= most) return GS_OK;
    return gs_emu_unsupported(d, "%d operands where %d to %d are expected", (int)d->in->operands, least, most);
}

void gs_emu_access_address(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_space space)
{
    const gs_ptx_operand *const base = operand && operand->kind == GS_PTX_ADDRESS ? gs_emu_child(d, operand, 0) : NULL;
    if (base && base->kind == GS_PTX_VARIABLE) {
        const gs_ptx_variable *const variable = &d->module->variable[base->index];
        if (variable->space != space && !(space == GS_PTX_GENERIC && variable->space == GS_PTX_GLOBAL))
            gs_emu_unsupported(d, "%s is in another state space", variable->name);
    }
    gs_emu_address(d, operand, 0);
}
