/* SPDX-License-Identifier: MIT
 * A kernel compiled and loaded for one problem on one device, with its launches filled in.
 * The generic launch: everything comes from the manifest. Used by plans, and by verification for its own kernels. */
#ifndef GS_LOADED_LOADED_H
#define GS_LOADED_LOADED_H

#include <gemmsmith/plan.h>

#include "device/device.h"
#include "kernel/kernel.h"

#define GS_MAX_HEADERS 48

/* A kernel as the compiler takes it. The strings are the kernel's and the embedded files' (common/, and the folder of a kernel's own: ws/ of ws.cu). */
typedef struct gs_kernel_source {
    gs_source   source;
    const char *options[GS_MAX_OPTIONS];
    const char *header_names[GS_MAX_HEADERS], *header_texts[GS_MAX_HEADERS];
} gs_kernel_source;
void gs_kernel_to_source(const gs_kernel *kernel, gs_kernel_source *out);

typedef struct gs_loaded gs_loaded;

/* Compiles (through the cache), loads, evaluates grids and the workspace, allows shared memory. Codes: COMPILE, SPILL, SERIALIZED (the
 * log is in *error, shortened), RANGE (a formula; more zeroed than workspace), LAUNCH (a cluster that cannot be resident), DEVICE_MEMORY. */
gs_status gs_loaded_create(gs_loaded **out, gs_device *device, const gs_kernel *kernel, const gs_problem *problem, gs_error *error);

/* The same for a user's kernel, which device->inspector inspects before it is loaded. Also FORBIDDEN: the inspection refused it, or
 * there is no inspector. */
gs_status gs_loaded_create_user(gs_loaded **out, gs_device *device, const gs_kernel *kernel, const gs_problem *problem, gs_error *error);

/* From compiled code and a manifest: needs no compiler. Owns the image afterwards, also on failure, unless the manifest is wrong. */
gs_status gs_loaded_create_image(gs_loaded **out, gs_device *device, const gs_manifest *manifest, gs_image *image, const gs_problem *problem, gs_error *error);

/* Code that several gs_loaded share. They run one at a time: each allows the kernels its own problem's shared memory. One thread shares, creates and destroys them. */
typedef struct gs_loaded_code gs_loaded_code;
gs_loaded_code *gs_loaded_share(const gs_loaded *loaded);   /* stays until it is dropped */
void            gs_loaded_code_drop(gs_loaded_code **code);

/* From code that is loaded already. Manifest and problem may differ from those it was made for, source text and options may not. Codes as of gs_loaded_create, but nothing is
 * compiled. */
gs_status gs_loaded_create_shared(gs_loaded **out, gs_loaded_code *code, const gs_manifest *manifest, const gs_problem *problem, gs_error *error);

void      gs_loaded_destroy(gs_loaded **loaded);

/* Sets whether launches are dependent where the kernels allow it; without this call, as the device says. Before the first run. MEMORY. */
gs_status gs_loaded_set_mode(gs_loaded *loaded, gs_launch_mode mode, gs_error *error);

/* A workspace for this kernel, its zeroed part filled with zeros; 0 if it needs none. The caller frees it. Waits. */
gs_status gs_loaded_alloc(const gs_loaded *loaded, gs_pointer *workspace, gs_error *error);

/* Launches every entry. Encodes tensor maps for pointers that this thread has not used recently. Any number of threads may
 * run it at once. A thread's first run allocates host memory, except for the thread that created it. args->workspace must be there if the
 * manifest asks for one, with its zeroed part zero before the first run; every run leaves it so. args->size is ignored. */
gs_status gs_loaded_run(gs_loaded *loaded, const gs_args *args, gs_queue queue, gs_error *error);

/* The same with this workspace in place of args->workspace. */
gs_status gs_loaded_run_in(gs_loaded *loaded, const gs_args *args, void *workspace, gs_queue queue, gs_error *error);

/* Launches that were captured, and how. */
typedef struct gs_captured {
    gs_node node[GS_MAX_ENTRIES];
    bool    changeable;       /* the nodes are known */
    bool    dependent;        /* the first launch is asked to be a dependent one */
} gs_captured;

/* gs_loaded_run_in into a queue that is being captured. dependent: a launch is dependent where its kernel allows it and the launch before it lets it begin early; kernels that wait for
 * the one before also trigger the next. out: NULL where nobody will change the launches. */
gs_status gs_loaded_capture(gs_loaded *loaded, const gs_args *args, void *workspace, bool dependent, gs_queue queue, gs_captured *out, gs_error *error);

/* Changes the arguments of captured launches that are changeable, for later launches of the graph. After a failure some may be changed: call it again with the previous
 * arguments. */
gs_status gs_loaded_change(gs_loaded *loaded, const gs_args *args, void *workspace, gs_graph graph, const gs_captured *captured, gs_error *error);

/* Bytes of workspace that a manifest asks for, before anything is compiled. */
gs_status gs_loaded_need(const gs_manifest *manifest, const gs_problem *problem, const gs_caps *caps, size_t *bytes, gs_error *error);

size_t             gs_loaded_workspace(const gs_loaded *loaded);   /* bytes */
size_t             gs_loaded_zeroed(const gs_loaded *loaded);      /* bytes at its start that every run leaves zero */
int                gs_loaded_smem(const gs_loaded *loaded);        /* bytes of a block, static and dynamic; most of any entry */
const gs_manifest *gs_loaded_manifest(const gs_loaded *loaded);
const gs_image    *gs_loaded_image(const gs_loaded *loaded);       /* registers, log, code; of a user kernel no code, but PTX */

#endif
