/* SPDX-License-Identifier: MIT
 * Plans from packs: no compiler, no cache, no files but the mapped packs. */
#include "plan/plan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"

/* A copy with a terminating 0, which the PTX parser needs. NULL for size 0, or without memory. */
static void *copy_of(const void *bytes, size_t size)
{
    char *const copy = size ? malloc(size + 1) : NULL;
    if (!copy) return NULL;
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

static gs_status unlike(const gs_pack *pack, const gs_pack_entry *entry, gs_error *error)
{
    return gs_fail(error, GS_ERROR_CORRUPT, NULL, "pack %s has another kernel than it says, %s: make it again", gs_pack_name(pack), entry->choice);
}

/* A user kernel of a pack must have the source and manifest that the entry's name was made from. */
static gs_status check_user(const gs_pack *pack, const gs_pack_entry *entry, const gs_pack_kernel *kernel, gs_error *error)
{
    const char *const slash = strchr(entry->choice, '/');
    char *const source = copy_of(kernel->source, kernel->source_size);
    if (kernel->source_size && !source) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel of a pack");
    const bool same = source && slash && gs_pack_is_named(slash + 1, source, kernel->manifest);
    free(source);
    return same ? GS_OK : unlike(pack, entry, error);
}

/* An own kernel of a pack must be launched as its schedule says: entry points have the block size, cluster size and shared memory of the schedule's kernel. Other
 * parts of a manifest depend on the rows and the device and are not compared; nor can the code be. */
static gs_status check_own(const gs_plan *plan, const gs_pack *pack, const gs_pack_entry *entry, const gs_schedule *schedule, const gs_manifest *manifest, gs_error *error)
{
    gs_kernel kernel;
    int known = 0;
    GS_TRY(gs_kernel_build(&kernel, schedule, &plan->problem, &plan->device->caps, error));
    for (int i = 0; i < manifest->entry_count; i++)
        for (int j = 0; j < kernel.manifest.entry_count; j++) {
            const gs_entry *const a = &manifest->entry[i], *const b = &kernel.manifest.entry[j];
            if (strcmp(a->name, b->name) != 0) continue;
            if (memcmp(a->block, b->block, sizeof a->block) != 0 || memcmp(a->cluster, b->cluster, sizeof a->cluster) != 0 || strcmp(a->smem.text, b->smem.text) != 0) return unlike(pack, entry, error);
            known++;
        }
    return known ? GS_OK : unlike(pack, entry, error);
}

static gs_status use_kernel(gs_plan *plan, const gs_pack *pack, const gs_pack_entry *entry, gs_error *error)
{
    gs_pack_kernel kernel;
    gs_manifest manifest;
    gs_schedule schedule;
    GS_TRY(gs_pack_kernel_at(pack, entry->kernel, &kernel, error));
    GS_TRY(gs_manifest_parse(&manifest, kernel.manifest, error));
    if (kernel.user && plan->problem.invariant) return gs_fail(error, GS_ERROR_UNSUPPORTED, "inv", "a user kernel's order of summation may be its own");
    if (!kernel.user) {   /* another device of the same architecture may have smaller limits */
        GS_TRY(gs_schedule_parse(&schedule, entry->choice, error));
        GS_TRY(gs_schedule_check(&schedule, &plan->problem, &plan->device->caps, error));
        GS_TRY(check_own(plan, pack, entry, &schedule, &manifest, error));
    } else {
        GS_TRY(check_user(pack, entry, &kernel, error));
    }
    gs_image image = {.registers = kernel.registers, .spill_bytes = kernel.spill_bytes, .stack_bytes = kernel.stack_bytes, .static_smem = kernel.static_smem,
                      .user = kernel.user, .cached = true, .code = copy_of(kernel.code, kernel.code_size), .size = kernel.code_size,
                      .ptx = copy_of(kernel.ptx, kernel.ptx_size), .ptx_size = kernel.ptx_size};
    const bool copied = (image.code || !kernel.code_size) && (image.ptx || !kernel.ptx_size);
    const gs_status status = copied ? gs_plan_use_image(plan, &manifest, &image, error) : gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel of a pack");
    gs_image_free(&image);
    snprintf(plan->schedule, sizeof plan->schedule, "%s", entry->choice);
    return status;
}

static gs_status use_library(gs_plan *plan, const gs_pack_entry *entry, gs_error *error)
{
    if (!plan->context->config.use_cublaslt) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "the pack says cuBLASLt, which was not allowed");
    return gs_plan_use_cublaslt(plan, entry->cublaslt == gs_library_version(NULL) ? entry->suggestion : 0, error);
}

static void say_why(gs_plan *plan, const gs_pack *pack, const gs_pack_entry *entry)
{
    char figure[96] = ", nothing measured";
    if (entry->us > 0 && gs_gpu_emulated(entry->gpu)) snprintf(figure, sizeof figure, ", predicted %.2f us", entry->us);
    else if (entry->us > 0 && entry->suggestion) snprintf(figure, sizeof figure, ", %.2f us, faster than every own kernel", entry->us);
    else if (entry->us > 0 && entry->ratio > 0) snprintf(figure, sizeof figure, ", %.2f us, %.3f of cuBLASLt's speed", entry->us, entry->ratio);
    else if (entry->us > 0) snprintf(figure, sizeof figure, ", %.2f us", entry->us);
    snprintf(plan->why, sizeof plan->why, "pack %s: %s%s", gs_pack_name(pack), plan->schedule, figure);
}

gs_status gs_plan_use_pack(gs_plan *plan, gs_error *error)
{
    const gs_context *const context = plan->context;
    gs_pack_entry entry;
    gs_error lost = {0};   /* the first failure; reported if no other pack has the problem */
    for (int i = 0; i < context->pack_count; i++) {
        const gs_pack *const pack = context->pack[i];
        gs_error why = {0};
        if (!gs_pack_find(pack, &plan->problem, &entry)) continue;
        if ((entry.kernel < 0 ? use_library(plan, &entry, &why) : use_kernel(plan, pack, &entry, &why)) == GS_OK) {
            if (lost.status != GS_OK) gs_log(GS_LOG_WARNING, "%s; another pack has the problem", lost.text);
            say_why(plan, pack, &entry);
            plan->measured_chain = entry.chain;
            return GS_OK;
        }
        if (lost.status == GS_OK) lost = why;
    }
    if (lost.status == GS_OK) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "no pack has the problem");
    if (error) *error = lost;
    return lost.status;
}
