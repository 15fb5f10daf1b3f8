/* SPDX-License-Identifier: MIT
 * Inspection of a user kernel's PTX. It is a list of what is allowed: an instruction or a special register that is not listed is refused until somebody has judged it. */
#include "inspect/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTRUCTIONS_MAX (1 << 20)   /* per module */

static bool listed(const char *const *list, size_t count, const char *name)
{
    for (size_t n = 0; n < count; n++)
        if (strcmp(list[n], name) == 0) return true;
    return false;
}

#define LISTED(list, name) listed(list, GS_COUNT(list), name)

/* ---- special registers ---- */

/* Position of the thread and extents of the launch: the same in every launch. The other special registers give the time, or distinguish launches (%gridid counts them,
 * %current_graph_exec identifies a graph, %envreg and %pm are set from outside). */
static bool is_place(const char *name)
{
    static const char *const vectors[] = {"%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"};
    static const char *const scalars[] = {
        "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%is_explicit_cluster", "%cluster_ctarank", "%cluster_nctarank",
        "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%total_smem_size", "%aggr_smem_size",
        "%dynamic_smem_size", "WARP_SZ",
    };
    char text[32];
    if (LISTED(scalars, name)) return true;
    const char *const dot = strchr(name, '.');
    const size_t size = dot ? (size_t)(dot - name) : strlen(name);
    if (size >= sizeof text) return false;
    memcpy(text, name, size);
    text[size] = '\0';
    return LISTED(vectors, text);
}

static gs_status check_operand(const gs_inspector *i, const gs_ptx_instruction *at, const gs_ptx_operand *o)
{
    if (o->kind == GS_PTX_SPECIAL && !is_place(o->name)) return gs_inspect_refuse(i, GS_REFUSAL_CLOCK, at, "reads %.40s", o->name);
    return GS_OK;
}

static gs_status check_operands(const gs_inspector *i, const gs_ptx_instruction *at)
{
    for (int n = 0; n < at->operands; n++) {
        const gs_ptx_operand *const o = &i->entry->operand[at->operand + n];
        GS_TRY(check_operand(i, at, o));
        for (int c = 0; c < o->children; c++) GS_TRY(check_operand(i, at, &i->entry->operand[o->child + c]));
    }
    return GS_OK;
}

/* A register named like a special register is an ordinary register for this inspection, but perhaps not for the assembler. NVRTC never creates such names. */
static gs_status check_registers(const gs_inspector *i)
{
    static const char *const taken[] = {"%clock", "%globaltimer", "%gridid", "%pm", "%envreg", "%current_graph", "%reserved", "WARP_SZ"};
    for (int r = 0; r < i->entry->registers; r++) {
        const char *const name = i->entry->reg[r].name;
        for (size_t t = 0; t < GS_COUNT(taken); t++)
            if (strncmp(name, taken[t], strlen(taken[t])) == 0)
                return gs_inspect_refuse(i, GS_REFUSAL_CLOCK, NULL, "entry %.64s calls a register of its own %.40s", i->entry->name, name);
    }
    return GS_OK;
}

/* ---- opcodes ---- */

/* Not listed, and why: brkpt, pmevent (signal to the outside), nanosleep (waits for a time), discard (leaves memory undefined), .mmio (device registers), alloca,
 * stacksave, stackrestore (stacks are for spills), multimem (other GPUs), tensormap (maps come from the manifest), tex, surf and similar (no textures are bound),
 * tcgen05, clusterlaunchcontrol (instructions of other GPUs). trap is allowed as an assertion: if it is reached, the launch has faulted. createpolicy, applypriority
 * and prefetch are allowed: their effects do not outlast the data that timing rotates through, except evict_last (policy.c). */
static const char *const opcodes[] = {
    "abs", "activemask", "add", "addc", "and", "applypriority", "atom", "bar", "barrier", "bfe", "bfi", "bfind", "bmsk", "bra", "brev", "brx",
    "clz", "cnot", "copysign", "cos", "cp", "createpolicy", "cvt", "cvta", "div", "dp2a", "dp4a", "elect", "ex2", "exit", "fence", "fma", "fns",
    "getctarank", "griddepcontrol", "isspacep", "ld", "ldmatrix", "ldu", "lg2", "lop3", "mad", "mad24", "madc", "mapa", "match", "max",
    "mbarrier", "membar", "min", "mma", "mov", "movmatrix", "mul", "mul24", "neg", "not", "or", "popc", "prefetch", "prefetchu", "prmt", "rcp",
    "red", "redux", "rem", "ret", "rsqrt", "sad", "selp", "set", "setmaxnreg", "setp", "shf", "shfl", "shl", "shr", "sin", "slct", "sqrt", "st",
    "stmatrix", "sub", "subc", "szext", "tanh", "testp", "trap", "vote", "wgmma", "wmma", "xor",
};

static gs_status check_opcode(const gs_inspector *i, const gs_ptx_instruction *at)
{
    if (LISTED(opcodes, at->part[0]) && !gs_inspect_has(at, "mmio")) return GS_OK;
    return gs_inspect_refuse(i, GS_REFUSAL_OPCODE, at, "%.64s", at->name);
}

/* ---- waits with a time limit ---- */

#define WAIT_LEAST 1000000   /* ns: longer than anything that is timed, so that a thread that sleeps so long gains nothing */

static bool is_timed_wait(const gs_ptx_instruction *at)
{
    return strcmp(at->part[0], "mbarrier") == 0 && strcmp(at->part[1], "try_wait") == 0 && at->operands >= 4;
}

typedef enum set_to { NOT_SET, LONG_TIMES, OTHERS } set_to;

/* Whether each register is set only to integer constants of at least WAIT_LEAST, or to something else. */
static void find_long_times(const gs_inspector *i, uint8_t *known)
{
    const gs_ptx_entry *const e = i->entry;
    for (int n = 0; n < e->instructions; n++) {
        const gs_ptx_instruction *const at = &e->instruction[n];
        const gs_ptx_operand *const o = &e->operand[at->operand];
        if (at->operands == 0) continue;
        const bool is_long = strcmp(at->part[0], "mov") == 0 && at->operands == 2 && o[1].kind == GS_PTX_INTEGER && (uint32_t)o[1].bits >= WAIT_LEAST;
        if (o->kind == GS_PTX_REGISTER && known[o->index] != OTHERS) known[o->index] = is_long ? LONG_TIMES : OTHERS;
        for (int c = 0; c < o->children && o->kind != GS_PTX_ADDRESS; c++)
            if (e->operand[o->child + c].kind == GS_PTX_REGISTER) known[e->operand[o->child + c].index] = OTHERS;
    }
}

/* With the optional last operand, mbarrier.try_wait sleeps at most that long; with a barrier that never completes it can serve as a clock. Honest code passes a
 * constant that means "long". */
static gs_status check_wait(const gs_inspector *i, const gs_ptx_instruction *at, const uint8_t *known)
{
    const gs_ptx_operand *const time = &i->entry->operand[at->operand + 3];
    if (time->kind == GS_PTX_INTEGER && (uint32_t)time->bits >= WAIT_LEAST) return GS_OK;
    if (time->kind == GS_PTX_REGISTER && known[time->index] == LONG_TIMES) return GS_OK;
    return gs_inspect_refuse(i, GS_REFUSAL_OPCODE, at, "%.64s with a time to sleep: leave the time out, or write a constant of at least %d ns", at->name, WAIT_LEAST);
}

static gs_status check_waits(const gs_inspector *i)
{
    uint8_t *known = NULL;
    gs_status status = GS_OK;
    for (int n = 0; n < i->entry->instructions && status == GS_OK; n++) {
        if (!is_timed_wait(&i->entry->instruction[n])) continue;
        if (!known) {
            known = calloc((size_t)i->entry->registers + 1, sizeof *known);
            if (!known) return gs_fail(i->error, GS_ERROR_MEMORY, NULL, "no memory to inspect %.64s", i->entry->name);
            find_long_times(i, known);
        }
        status = check_wait(i, &i->entry->instruction[n], known);
    }
    free(known);
    return status;
}

/* ---- entries ---- */

static const gs_entry *declared(const gs_inspector *i)
{
    for (int e = 0; e < i->manifest->entry_count; e++)
        if (strcmp(i->manifest->entry[e].name, i->entry->name) == 0) return &i->manifest->entry[e];
    return NULL;   /* it is never launched */
}

static gs_status check_entry(const gs_inspector *i)
{
    const gs_entry *const entry = declared(i);
    bool waits = false;
    GS_TRY(check_registers(i));
    if (entry) GS_TRY(gs_inspect_agreement(i, entry));
    for (int n = 0; n < i->entry->instructions; n++) {
        const gs_ptx_instruction *const at = &i->entry->instruction[n];
        GS_TRY(check_opcode(i, at));
        GS_TRY(check_operands(i, at));
        GS_TRY(gs_inspect_types(i, at));
        if (strcmp(at->part[0], "griddepcontrol") != 0) continue;
        if (!entry || !entry->dependent)
            return gs_inspect_refuse(i, GS_REFUSAL_DEPENDENT, at, "%.40s in entry %.64s, which the manifest does not call dependent", at->name, i->entry->name);
        waits = waits || gs_inspect_has(at, "wait");
    }
    if (entry && entry->dependent && !waits)
        return gs_inspect_refuse(i, GS_REFUSAL_DEPENDENT, NULL, "entry %.64s is declared dependent and never waits for the launch before it", entry->name);
    GS_TRY(check_waits(i));
    GS_TRY(gs_inspect_policies(i));
    gs_inspect_passed passed;
    gs_status status = gs_inspect_calls(i, &passed);
    if (status == GS_OK) status = gs_inspect_tables(i, &passed);
    gs_inspect_passed_free(&passed);
    return status;
}

/* ---- the module ---- */

/* Only dynamic shared memory may be defined elsewhere. Local memory is refused: it is in device memory and may hold what a thread of an earlier launch left there, and
 * reading that cannot be detected; fast kernels have no arrays there. */
static gs_status check_variables(const gs_inspector *i)
{
    uint64_t tables = 0;
    for (int v = 0; v < i->module->variables; v++) {
        const gs_ptx_variable *const variable = &i->module->variable[v];
        if (variable->space == GS_PTX_LOCAL && !variable->passed)
            return gs_inspect_refuse(i, GS_REFUSAL_STATE, NULL, "%.64s, %u bytes, is local memory: unroll the loops that index an array, so that it stays in registers, or make a constant one static",
                                     variable->name, variable->size);
        if (variable->external && variable->space != GS_PTX_SHARED)
            return gs_inspect_refuse(i, GS_REFUSAL_EXTERNAL, NULL, "%.64s is declared .extern", variable->name);
        if (variable->space == GS_PTX_GLOBAL || variable->space == GS_PTX_CONST) tables += variable->size;
    }
    if (tables > GS_INSPECT_TABLES_MAX)
        return gs_inspect_refuse(i, GS_REFUSAL_STATE, NULL, "variables of the module take %llu bytes, tables of %u bytes are allowed: larger memory is the manifest's workspace",
                                 (unsigned long long)tables, GS_INSPECT_TABLES_MAX);
    return GS_OK;
}

static gs_status check_module(gs_inspector *i)
{
    int64_t instructions = 0;
    for (int e = 0; e < i->module->entries; e++) instructions += i->module->entry[e].instructions;
    if (instructions > INSTRUCTIONS_MAX)
        return gs_inspect_refuse(i, GS_REFUSAL_SIZE, NULL, "%lld instructions, at most %d are looked at", (long long)instructions, INSTRUCTIONS_MAX);
    GS_TRY(check_variables(i));
    for (int e = 0; e < i->module->entries; e++) {
        i->entry = &i->module->entry[e];
        GS_TRY(check_entry(i));
    }
    return GS_OK;
}

/* ---- text that the parser skips ---- */

/* A line of the text, shortened and made printable; number 0: an empty string. */
static void line_of(const char *ptx, size_t size, int number, char out[96])
{
    const char *at = ptx, *const end = ptx + size;
    out[0] = '\0';
    if (number <= 0) return;
    while (--number > 0 && at < end) {
        const char *const next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    size_t n = 0;
    for (; at < end && *at != '\n' && n < 95; at++) out[n++] = *at >= ' ' && *at <= '~' ? *at : ' ';
    out[n] = '\0';
}

static gs_refusal refusal_of(gs_ptx_unread_kind kind)
{
    switch (kind) {
    case GS_PTX_UNREAD_EXTERNAL:  return GS_REFUSAL_EXTERNAL;
    case GS_PTX_UNREAD_FUNCTION:  return GS_REFUSAL_CALL;
    case GS_PTX_UNREAD_ATTRIBUTE: return GS_REFUSAL_STATE;
    case GS_PTX_UNREAD_OTHER:     break;
    }
    return GS_REFUSAL_UNREADABLE;
}

static gs_status unreadable(const char *ptx, size_t size, const gs_ptx_unread *what, const gs_error *why, gs_error *error)
{
    char line[96];
    line_of(ptx, size, what->line, line);
    return gs_fail(error, GS_ERROR_FORBIDDEN, gs_refusal_name(refusal_of(what->kind)), "PTX %.160s: %s", why->text, line);
}

/* Bytes that NVRTC never writes and that two parsers may interpret differently: a backslash in a string or at the end of a line, a carriage return after a comment.
 * The assembler must read the same text as this inspection. */
static gs_status check_bytes(const char *ptx, size_t size, gs_error *error)
{
    int line = 1;
    if (size > 0 && ptx[size - 1] == '\0') size--;   /* NVRTC's size includes the terminating 0 */
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)ptx[i];
        line += c == '\n';
        if ((c < ' ' && c != '\n' && c != '\t') || c == '\\' || c == 0x7f)
            return gs_fail(error, GS_ERROR_FORBIDDEN, gs_refusal_name(GS_REFUSAL_UNREADABLE), "PTX line %d: a byte 0x%02x", line, c);
    }
    return GS_OK;
}

gs_status gs_inspect_ptx(const char *ptx, size_t size, const gs_manifest *manifest, const gs_problem *problem, gs_error *error)
{
    gs_inspector i = {.manifest = manifest, .problem = problem, .error = error};
    gs_ptx_module *module = NULL;
    gs_ptx_unread what;
    gs_error why = {0};
    if (!ptx) return gs_fail(error, GS_ERROR_FORBIDDEN, gs_refusal_name(GS_REFUSAL_UNREADABLE), "the compiler gave no PTX");
    if (size > GS_INSPECT_PTX_MAX)
        return gs_fail(error, GS_ERROR_FORBIDDEN, gs_refusal_name(GS_REFUSAL_SIZE), "%zu bytes of PTX, at most %zu are read", size, GS_INSPECT_PTX_MAX);
    GS_TRY(check_bytes(ptx, size, error));
    if (problem->acc == GS_F32 && manifest->accumulator != GS_F32)
        return gs_inspect_refuse(&i, GS_REFUSAL_ACCUMULATOR, NULL, "the problem asks for f32 accumulators, the manifest declares f16");
    i.wide = problem->acc == GS_F32 || manifest->accumulator == GS_F32;
    gs_status status = gs_ptx_parse(&module, ptx, size, &what, &why);
    if (status == GS_ERROR_MEMORY) return gs_fail(error, status, NULL, "%s", why.text);
    if (status != GS_OK) return unreadable(ptx, size, &what, &why, error);
    i.module = module;
    status = check_module(&i);
    gs_ptx_free(&module);
    return status;
}

const gs_kernel_inspector gs_inspect_user_kernels = {.source = gs_inspect_source, .ptx = gs_inspect_ptx};
