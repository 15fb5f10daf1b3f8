/* SPDX-License-Identifier: MIT
 * Control flow of a kernel: basic blocks, and for every op the place where lanes that diverge there reconverge. Post-dominators are found by the iterative method on
 * the reversed graph; the node after the last block is the exit. Lanes that exit do not prevent the others from reconverging: an edge to the exit is ignored if the
 * other successor continues. */
#include <stdlib.h>
#include <string.h>

#include "emu/isa/sync.h"
#include "emu/run/internal.h"

typedef struct graph {
    const gs_emu_code *code;
    int       blocks;      /* node `blocks` is the exit */
    uint32_t *first;       /* first op of each block; first[blocks] = ops */
    int      *block_of;    /* per op */
    int     (*next)[2];    /* successors, -1: none */
    int      *order;       /* nodes in postorder of the search on the reversed graph, the exit last */
    int      *number;      /* position of a node in that order, -1: it does not reach the exit */
    int      *parent;      /* immediate post-dominator, -1: not known yet */
    int      *from;        /* predecessors (of the forward graph), lists per node: from[start[n] .. start[n + 1]) */
    int      *start;
    int      *ends;        /* per node: a successor that leads to the exit and was removed from `next`; -1: none */
} graph;

static bool ends_block(const gs_emu_op *op) { return op->exec == gs_emu_branch || op->exec == gs_emu_exit; }

static void find_leaders(gs_emu_code *code)
{
    code->leader[0] = 1;
    for (uint32_t i = 0; i < code->ops; i++) {
        if (!ends_block(&code->op[i])) continue;
        if (code->op[i].exec == gs_emu_branch) code->leader[code->op[i].target] = 1;
        if (i + 1 < code->ops) code->leader[i + 1] = 1;
    }
}

static void find_successors(graph *g)
{
    const gs_emu_code *const code = g->code;
    int block = -1;
    for (uint32_t i = 0; i < code->ops; i++) {
        if (code->leader[i]) g->first[++block] = i;
        g->block_of[i] = block;
    }
    g->first[g->blocks] = code->ops;
    for (int b = 0; b < g->blocks; b++) {
        const gs_emu_op *const last = &code->op[g->first[b + 1] - 1];
        const bool guarded = last->guard != GS_EMU_NONE;
        g->next[b][0] = g->next[b][1] = -1;
        if (last->exec == gs_emu_branch) g->next[b][0] = g->block_of[last->target];
        if (last->exec == gs_emu_exit) g->next[b][0] = g->blocks;
        if (!ends_block(last) || guarded) g->next[b][1] = b + 1 < g->blocks ? b + 1 : g->blocks;
    }
    g->next[g->blocks][0] = g->next[g->blocks][1] = -1;
}

/* The exit, or a block that only exits. */
static bool is_exit(const graph *g, int node)
{
    if (node == g->blocks) return true;
    const gs_emu_op *const op = &g->code->op[g->first[node]];
    return op->exec == gs_emu_exit && op->guard == GS_EMU_NONE;
}

/* Removes the edges to the exit from blocks that can also continue. */
static void take_exits(graph *g)
{
    for (int b = 0; b <= g->blocks; b++) {
        g->ends[b] = -1;
        for (int i = 0; i < 2; i++) {
            const int end = g->next[b][i], other = g->next[b][1 - i];
            if (end < 0 || other < 0 || !is_exit(g, end) || is_exit(g, other)) continue;
            g->ends[b] = end;
            g->next[b][i] = -1;
        }
    }
}

/* Restores the edges of blocks that lead into a loop without another exit. */
static void give_back_exits(graph *g)
{
    for (int b = 0; b < g->blocks; b++) {
        const int at = g->next[b][0] < 0;
        if (g->ends[b] >= 0 && g->number[g->next[b][at]] < 0) g->next[b][1 - at] = g->ends[b];
    }
}

static void find_predecessors(graph *g)
{
    memset(g->start, 0, (size_t)(g->blocks + 2) * sizeof *g->start);
    for (int b = 0; b < g->blocks; b++)
        for (int i = 0; i < 2; i++)
            if (g->next[b][i] >= 0) g->start[g->next[b][i] + 1]++;
    for (int n = 0; n <= g->blocks; n++) g->start[n + 1] += g->start[n];
    int *const fill = g->order;   /* not used yet */
    memcpy(fill, g->start, (size_t)(g->blocks + 1) * sizeof *fill);
    for (int b = 0; b < g->blocks; b++)
        for (int i = 0; i < 2; i++)
            if (g->next[b][i] >= 0) g->from[fill[g->next[b][i]]++] = b;
}

/* Postorder of a depth-first search from the exit along the reversed edges, without recursion. */
static int find_order(graph *g, int *stack, int *position)
{
    int depth = 0, count = 0;
    for (int n = 0; n <= g->blocks; n++) g->number[n] = -1;
    stack[depth++] = g->blocks;
    g->number[g->blocks] = -2;   /* visited */
    position[g->blocks] = g->start[g->blocks];
    while (depth > 0) {
        const int node = stack[depth - 1];
        if (position[node] == g->start[node + 1]) {
            g->number[node] = count;
            g->order[count++] = node;
            depth--;
            continue;
        }
        const int other = g->from[position[node]++];
        if (g->number[other] != -1) continue;
        g->number[other] = -2;
        position[other] = g->start[other];
        stack[depth++] = other;
    }
    return count;
}

static int meet(const graph *g, int a, int b)
{
    while (a != b) {
        while (g->number[a] < g->number[b]) a = g->parent[a];
        while (g->number[b] < g->number[a]) b = g->parent[b];
    }
    return a;
}

static void find_parents(graph *g, int count)
{
    for (int n = 0; n <= g->blocks; n++) g->parent[n] = -1;
    g->parent[g->blocks] = g->blocks;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = count - 2; i >= 0; i--) {
            const int node = g->order[i];
            int best = -1;
            for (int j = 0; j < 2; j++) {
                const int next = g->next[node][j];
                if (next < 0 || g->number[next] < 0 || g->parent[next] < 0) continue;
                best = best < 0 ? next : meet(g, best, next);
            }
            if (best != g->parent[node]) g->parent[node] = best, changed = true;
        }
    }
}

static void fill_result(const graph *g, gs_emu_code *code)
{
    for (uint32_t i = 0; i < code->ops; i++) {
        const int parent = g->parent[g->block_of[i]];
        code->reconverge[i] = parent >= 0 && !is_exit(g, parent) ? g->first[parent] : GS_EMU_NONE;   /* lanes do not wait for others just to exit together */
    }
}

gs_status gs_emu_find_reconvergence(gs_emu_code *code, gs_error *error)
{
    graph g = {.code = code};
    code->leader = calloc(code->ops, 1);
    code->reconverge = malloc(code->ops * sizeof *code->reconverge);
    if (!code->leader || !code->reconverge) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the flow of a kernel");
    find_leaders(code);
    for (uint32_t i = 0; i < code->ops; i++) g.blocks += code->leader[i];

    const size_t nodes = (size_t)g.blocks + 2;
    int *const memory = calloc(nodes * 12 + code->ops, sizeof *memory);
    g.first = malloc(nodes * sizeof *g.first);
    if (!memory || !g.first) {
        free(memory);
        free(g.first);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the flow of a kernel");
    }
    g.next = (int (*)[2])(void *)memory;
    g.order = memory + 2 * nodes;
    g.number = g.order + nodes;
    g.parent = g.number + nodes;
    g.start = g.parent + nodes;
    g.from = g.start + nodes;          /* two successors per node */
    int *const stack = g.from + 2 * nodes;
    int *const position = stack + nodes;
    g.ends = position + nodes;
    g.block_of = g.ends + nodes;
    find_successors(&g);
    take_exits(&g);
    find_predecessors(&g);
    find_order(&g, stack, position);
    give_back_exits(&g);
    find_predecessors(&g);
    find_parents(&g, find_order(&g, stack, position));
    fill_result(&g, code);
    free(memory);
    free(g.first);
    return GS_OK;
}
