/* SPDX-License-Identifier: MIT
 * Checks that the compiled code matches the manifest. The launcher copies as many bytes of parameters as the compiled entry declares, from memory sized by the
 * manifest, so the parameters must be the same. Block and cluster sizes that the code was compiled for must be those of the launch. */
#include "inspect/internal.h"

#define REFUSE(...) gs_inspect_refuse(i, GS_REFUSAL_MISMATCH, NULL, __VA_ARGS__)

static gs_status check_parameter(const gs_inspector *i, const gs_entry *declared, const gs_ptx_variable *given)
{
    const bool map = given->parameter < declared->map_count;
    const uint32_t size = map ? GS_MAP_BYTES : gs_args_taken(i->problem, given->size), align = map ? GS_MAP_ALIGN : GS_ARGS_ALIGN;
    if (given->size != size)
        return REFUSE("parameter %d of entry %.64s has %u bytes, what the manifest gives it has %u: %s", given->parameter, i->entry->name, given->size, size,
                      map ? "a tensor map" : "one gs_kernel_args by value");
    if (given->align < align)
        return REFUSE("parameter %d of entry %.64s is aligned to %u bytes, %s needs %u", given->parameter, i->entry->name, given->align, map ? "a tensor map" : "gs_kernel_args",
                      align);
    return GS_OK;
}

static gs_status check_parameters(const gs_inspector *i, const gs_entry *declared)
{
    const int index = (int)(i->entry - i->module->entry);
    if (i->entry->parameters != declared->map_count + 1)
        return REFUSE("entry %.64s takes %d parameters, the manifest gives it %d: %d tensor maps (its lines `map`) and gs_kernel_args by value", i->entry->name,
                      i->entry->parameters, declared->map_count + 1, declared->map_count);
    for (int v = 0; v < i->module->variables; v++) {
        const gs_ptx_variable *const variable = &i->module->variable[v];
        if (variable->space == GS_PTX_PARAM && variable->entry == index && variable->parameter >= 0) GS_TRY(check_parameter(i, declared, variable));
    }
    return GS_OK;
}

/* An extent that is missing or 0 counts as 1. */
static bool same(const uint32_t compiled[3], const int declared[3])
{
    for (int d = 0; d < 3; d++)
        if (GS_MAX(compiled[d], 1u) != (uint32_t)declared[d]) return false;
    return true;
}

static gs_status check_block(const gs_inspector *i, const gs_entry *declared)
{
    const uint32_t *const asked = i->entry->reqntid, *const most = i->entry->maxntid;
    const int *const block = declared->block;
    const uint64_t threads = (uint64_t)block[0] * (uint64_t)block[1] * (uint64_t)block[2], bound = (uint64_t)most[0] * GS_MAX(most[1], 1u) * GS_MAX(most[2], 1u);
    if (asked[0] && !same(asked, block))
        return REFUSE("entry %.64s is compiled for blocks of %u %u %u threads, the manifest declares %d %d %d", i->entry->name, asked[0], GS_MAX(asked[1], 1u), GS_MAX(asked[2], 1u),
                      block[0], block[1], block[2]);
    if (most[0] && threads > bound)
        return REFUSE("entry %.64s is compiled for at most %llu threads in a block (__launch_bounds__), the manifest declares %llu", i->entry->name, (unsigned long long)bound,
                      (unsigned long long)threads);
    return GS_OK;
}

static gs_status check_cluster(const gs_inspector *i, const gs_entry *declared)
{
    const gs_ptx_entry *const entry = i->entry;
    const uint32_t *const asked = entry->reqnctapercluster;
    const int *const cluster = declared->cluster;
    const int blocks = cluster[0] * cluster[1] * cluster[2];
    if (entry->blocksareclusters) return REFUSE("entry %.64s counts its grid in clusters (__block_size__), the manifest counts it in blocks", entry->name);
    if (asked[0] && !same(asked, cluster))
        return REFUSE("entry %.64s is compiled for clusters of %u %u %u blocks (__cluster_dims__), the manifest declares %d %d %d", entry->name, asked[0], GS_MAX(asked[1], 1u),
                      GS_MAX(asked[2], 1u), cluster[0], cluster[1], cluster[2]);
    if (entry->explicitcluster && !asked[0] && blocks == 1)
        return REFUSE("entry %.64s runs in clusters only (.explicitcluster), the manifest declares none", entry->name);
    if (entry->maxclusterrank && (uint32_t)blocks > entry->maxclusterrank)
        return REFUSE("entry %.64s is compiled for clusters of at most %u blocks (.maxclusterrank), the manifest declares %d", entry->name, entry->maxclusterrank, blocks);
    return GS_OK;
}

/* Dynamic shared memory that is used but not declared: the block would use memory that it was not given. */
static gs_status check_dynamic(const gs_inspector *i, const gs_entry *declared)
{
    if (declared->smem.text[0]) return GS_OK;
    for (int n = 0; n < i->entry->operands; n++) {
        const gs_ptx_operand *const o = &i->entry->operand[n];
        if (o->kind != GS_PTX_VARIABLE) continue;
        const gs_ptx_variable *const variable = &i->module->variable[o->index];
        if (variable->space == GS_PTX_SHARED && variable->external && variable->size == 0)
            return REFUSE("entry %.64s uses dynamic shared memory (%.64s), the manifest declares none: a line `smem`", i->entry->name, variable->name);
    }
    return GS_OK;
}

gs_status gs_inspect_agreement(const gs_inspector *i, const gs_entry *declared)
{
    GS_TRY(check_parameters(i, declared));
    GS_TRY(check_block(i, declared));
    GS_TRY(check_cluster(i, declared));
    return check_dynamic(i, declared);
}
