/* SPDX-License-Identifier: MIT
 * Lines with priority evict_last survive the launch and everything that timing reads in between, so later calls would find operands in L2 that they would not find in
 * a real program. evict_last is refused by name, and a cache hint must be a policy made by createpolicy or a known constant. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "inspect/internal.h"

enum { COPIES = 8 };   /* most copies in a chain from createpolicy to the hint */
#define EVICT_FIRST  0x12f0000000000000ull   /* the values that createpolicy gives for all of an access */
#define EVICT_NORMAL 0x1000000000000000ull

/* Finds which registers hold a policy, by the instructions that set them. */
typedef struct holders {
    const gs_inspector *i;
    int32_t *set;      /* number of instructions that set the register */
    int32_t *right;    /* number of those that set it to a policy */
    bool    *holds;
} holders;

static bool is_policy(const holders *h, const gs_ptx_operand *o)
{
    if (o->kind == GS_PTX_INTEGER) return o->bits == EVICT_FIRST || o->bits == EVICT_NORMAL;
    return o->kind == GS_PTX_REGISTER && h->holds[o->index];
}

static void note(holders *h, const gs_ptx_operand *o, bool right)
{
    if (o->kind != GS_PTX_REGISTER) return;
    h->set[o->index]++;
    h->right[o->index] += right;
}

/* One pass over the instructions; follows chains of copies by one more copy. */
static void look_at_all(holders *h)
{
    const gs_ptx_entry *const e = h->i->entry;
    const size_t registers = (size_t)e->registers;
    memset(h->set, 0, registers * sizeof *h->set);
    memset(h->right, 0, registers * sizeof *h->right);
    for (int n = 0; n < e->instructions; n++) {
        const gs_ptx_instruction *const at = &e->instruction[n];
        const gs_ptx_operand *const o = &e->operand[at->operand];
        if (at->operands == 0) continue;
        const bool copied = strcmp(at->part[0], "mov") == 0 && at->operands == 2 && is_policy(h, &o[1]);
        note(h, o, copied || strcmp(at->part[0], "createpolicy") == 0);
        for (int c = 0; c < o->children && o->kind != GS_PTX_ADDRESS; c++) note(h, &e->operand[o->child + c], false);
    }
    for (size_t r = 0; r < registers; r++) h->holds[r] = h->set[r] > 0 && h->set[r] == h->right[r];
}

static gs_status check_hint(const holders *h, const gs_ptx_instruction *at)
{
    if (!gs_inspect_has(at, "L2::cache_hint") || at->operands == 0 || is_policy(h, &h->i->entry->operand[at->operand + at->operands - 1])) return GS_OK;
    return gs_inspect_refuse(h->i, GS_REFUSAL_STATE, at, "%.64s with a policy that is not from createpolicy: nobody sees which lines stay in L2", at->name);
}

static gs_status check_hints(const gs_inspector *i)
{
    const size_t registers = (size_t)i->entry->registers + 1;
    holders h = {i, malloc(registers * sizeof *h.set), malloc(registers * sizeof *h.right), calloc(registers, sizeof *h.holds)};
    gs_status status = h.set && h.right && h.holds ? GS_OK : gs_fail(i->error, GS_ERROR_MEMORY, NULL, "no memory to inspect %.64s", i->entry->name);
    for (int copy = 0; status == GS_OK && copy <= COPIES; copy++) look_at_all(&h);
    for (int n = 0; status == GS_OK && n < i->entry->instructions; n++) status = check_hint(&h, &i->entry->instruction[n]);
    free(h.set);
    free(h.right);
    free(h.holds);
    return status;
}

gs_status gs_inspect_policies(const gs_inspector *i)
{
    bool hints = false;
    for (int n = 0; n < i->entry->instructions; n++) {
        const gs_ptx_instruction *const at = &i->entry->instruction[n];
        if (gs_inspect_has(at, "L2::evict_last") || (strcmp(at->part[0], "createpolicy") == 0 && gs_inspect_has(at, "cvt")))
            return gs_inspect_refuse(i, GS_REFUSAL_STATE, at, "%.64s: lines that are evicted last stay in L2 for later launches", at->name);
        hints |= gs_inspect_has(at, "L2::cache_hint");
    }
    return hints ? check_hints(i) : GS_OK;
}
