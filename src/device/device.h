/* SPDX-License-Identifier: MIT
 * The device interface: where kernels run. One table of functions with one implementation per kind of device
 * (cuda/: driver API; emu/: an emulated device, which executes PTX on the CPU and predicts its time).
 *
 * Threads: an emulated device is used by one thread at a time, except for launch, which any thread may call. On a CUDA device any thread may make any call but close
 * and clocks. Opening a CUDA device, and every call but launch, makes its context current in the calling thread, as cudaSetDevice would. Synchronous copies do not wait for
 * queues: call queue_wait first. An allocation of 0 bytes gives address 0.
 * Functions that can fail return a status and fill *error with a line that names the driver call and its result.
 * After FAULT or a timeout the device is lost for this process, except that an emulated device (caps.emulated) continues after FAULT. */
#ifndef GS_DEVICE_DEVICE_H
#define GS_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

#include "base/text.h"
#include "schedule/caps.h"

#define GS_DEVICE_NAME 64

typedef struct gs_device gs_device;
typedef struct gs_image gs_image;
typedef struct gs_source gs_source;
typedef uint64_t         gs_pointer;    /* device address; 0 is none */
typedef void            *gs_queue;      /* stream; NULL is the default stream */
typedef void            *gs_event;
typedef void            *gs_graph;      /* an instantiated graph */
typedef void            *gs_capture;    /* the captured graph from which an executable graph was instantiated; owns its nodes */
typedef void            *gs_node;       /* a launch in a capture; NULL: none */
typedef void            *gs_module;     /* loaded code */
typedef void            *gs_function;   /* an entry of a module */

/* The tensor map that a kernel receives: 128 bytes, 64-byte aligned. */
typedef struct gs_tensor_map {
    _Alignas(64) uint64_t word[16];
} gs_tensor_map;

/* A tensor in device memory for bulk tensor copies: a matrix, or a batch of `matrices` matrices of which a box covers one. With `second`, the rows form two halves, and a
 * box has eight rows of the first half, eight of the second, and so on (one dimension is split into three, so four or five in all). Out-of-bounds elements read as zero. */
typedef struct gs_tensor {
    gs_pointer address;       /* multiple of 16 */
    int        element;       /* gs_type */
    uint64_t   extent[2];     /* inner, outer, elements, >= 1 */
    uint64_t   stride;        /* bytes from row to row, multiple of 16 */
    uint32_t   box[2];        /* inner, outer, elements, <= 256 */
    int        swizzle;       /* 0, 32, 64, 128 bytes */
    int        fetch;         /* L2 promotion: 128 bytes, or 256 for any other value */
    uint64_t   matrices;      /* 0: two-dimensional */
    uint64_t   step;          /* bytes from one matrix to the next, multiple of 16 */
    uint64_t   second;        /* bytes from the first row of the first half to that of the second half, a multiple of 16; then extent[1] and box[1] are multiples of 16, and
                                 the rows of a half are `stride` apart. 0: no halves */
} gs_tensor;

/* The dimensions of a tensor's map: extents in elements, strides in bytes from the second dimension on, box in elements. Returns their number. */
static inline int gs_tensor_dimensions(const gs_tensor *tensor, uint64_t extent[5], uint64_t stride[4], uint32_t box[5])
{
    int count = 2;
    extent[0] = tensor->extent[0], box[0] = tensor->box[0], stride[0] = tensor->stride;
    extent[1] = tensor->extent[1], box[1] = tensor->box[1];
    if (tensor->second) {
        extent[1] = box[1] = 8;
        extent[2] = box[2] = 2, stride[1] = tensor->second;
        extent[3] = tensor->extent[1] / 16, box[3] = tensor->box[1] / 16, stride[2] = 8 * tensor->stride;
        count = 4;
    }
    if (tensor->matrices) {
        extent[count] = tensor->matrices, box[count] = 1, stride[count - 1] = tensor->step;
        count++;
    }
    return count;
}

/* Inspects user kernels before they are compiled and before they are loaded (kernel/inspector.h). */
struct gs_kernel_inspector;

/* A compiler outside this process, such as the sandboxed one for user kernels. Fills *out and *error as gs_compile_for does. */
typedef struct gs_compiler {
    gs_status (*compile)(void *self, const char *target, const gs_source *source, gs_image *out, gs_error *error);
    void       *self;
} gs_compiler;

/* Input of the compiler. Options may only be "-D...". An #include finds only the headers listed here; no folder is searched
 * (absolute paths are not blocked here: code that accepts user sources must reject them). */
struct gs_source {
    const char        *name;
    const char        *text;
    const char *const *options;
    int                option_count;
    const char *const *header_names;
    const char *const *header_texts;
    int                header_count;
    bool               ptx;           /* also return the PTX, with line numbers, which an emulated device executes */
    const gs_compiler *compiler;      /* NULL: NVRTC in this process */
    bool               kept_only;     /* only look in the cache; if it is not there: NO_COMPILER */
};

/* Output of the compiler. Owned by the caller: gs_image_free. */
struct gs_image {
    void  *code;              /* cubin */
    size_t size;
    char  *ptx;               /* NUL-terminated; NULL unless the source asked for it */
    size_t ptx_size;          /* without the terminator */
    char  *log;               /* compiler and assembler messages; "" if none */
    int    registers;         /* most registers per thread of any entry */
    int    spill_bytes;       /* bytes of spill stores plus loads, all entries */
    int    stack_bytes;
    int    static_smem;
    bool   serialized;        /* wgmma was serialised or setmaxnreg ignored (C7504, C7508, C7510, C7511, C7512, C7514, C7602) */
    bool   user;              /* an inspected user kernel: an emulated device makes its global variables read-only and checks the order of its warps */
    bool   cached;            /* came from the cubin cache */
    double compile_ms;        /* 0 when cached */
};
void gs_image_free(gs_image *image);

#define GS_FUNCTION_PARAMETERS 24   /* parameters whose sizes are reported */

typedef struct gs_function_info {
    int    registers, local_bytes, static_smem, max_threads;
    int    parameters;        /* -1: unknown (a driver reports the end of the list only by an error); at most GS_FUNCTION_PARAMETERS + 1, which means more */
    size_t parameter_bytes[GS_FUNCTION_PARAMETERS];
} gs_function_info;

/* Work that an implementation does once for launches that differ only in parameters and queue; see prepare. Used by one thread at a time. */
typedef struct gs_launch_ready {
    _Alignas(16) unsigned char bytes[256];
} gs_launch_ready;

#define GS_REACHES 12   /* 9 operands or arrays of pointers to them, alpha, beta, the workspace */

typedef struct gs_memory_range {
    gs_pointer at;
    size_t     bytes;         /* 0: nothing */
} gs_memory_range;

/* The memory that a kernel may access through one of its pointers. */
typedef struct gs_memory_use {
    gs_pointer at;            /* 0: ends a list */
    size_t     bytes;         /* 0: nothing */
    bool       written;       /* may be written, not only read */
    size_t     row, pitch;    /* writable bytes of each row, and bytes from one row to the next; 0: everything */
    size_t     part, period;  /* the same for matrices with gaps between them (if they lie side by side, for their rows together); the rows above lie within these */
} gs_memory_use;

/* Whether launches become programmatic dependent launches, if their kernels allow it. */
typedef enum gs_launch_mode {
    GS_LAUNCH_AS_DEVICE,      /* as gs_device.dependent says */
    GS_LAUNCH_PLAIN,          /* never */
    GS_LAUNCH_DEPENDENT       /* always */
} gs_launch_mode;

/* What a launch that is added to a queue now would follow. */
typedef enum gs_predecessor {
    GS_PREDECESSOR_UNKNOWN,   /* the queue is not being captured, so this cannot be known */
    GS_PREDECESSOR_ENDS,      /* a launch that does not let the next begin early, several launches, other work, or nothing */
    GS_PREDECESSOR_TRIGGERS   /* one launch that lets the next begin early: one of ours, or a dependent launch */
} gs_predecessor;

typedef struct gs_launch {
    gs_function function;
    uint32_t    grid[3], block[3], cluster[3];   /* cluster 1 1 1: none */
    uint32_t    smem;         /* dynamic shared memory, bytes */
    bool        dependent;    /* the kernel allows a programmatic dependent launch */
    gs_launch_mode mode;      /* whether it becomes a dependent launch if `dependent` allows it */
    void      **params;       /* addresses of the kernel's parameters, in order */
    gs_memory_use reach[GS_REACHES];   /* an emulated device reports accesses to other parts of these allocations. Ends at an element with at 0; empty: anything may be accessed */
    gs_memory_range constant; /* memory that a dependent launch may read before the preceding launch has ended: an emulated device does not report such reads */
    gs_launch_ready *ready;   /* NULL, or set by prepare from the fields above, which have not changed since */
} gs_launch;

typedef struct gs_clocks {
    int    sm_mhz, memory_mhz;   /* 0: not known */
    double power_w, temperature_c;
} gs_clocks;

typedef struct gs_device_ops {
    void      (*close)(gs_device *device);

    gs_status (*alloc)(gs_device *device, size_t bytes, gs_pointer *out, gs_error *error);   /* 256-byte aligned */
    void      (*free)(gs_device *device, gs_pointer pointer);
    gs_status (*copy_in)(gs_device *device, gs_pointer to, const void *from, size_t bytes, gs_error *error);    /* synchronous */
    gs_status (*copy_out)(gs_device *device, void *to, gs_pointer from, size_t bytes, gs_error *error);         /* synchronous */
    void     *(*host)(gs_device *device, gs_pointer at, size_t bytes, bool writes, gs_queue queue);   /* host address of that memory, valid until it is freed. `writes`: the
                                                                    caller writes there, so it counts as written. Queued work has ended by then. NULL: not in one
                                                                    allocation, or the queue is captured. May be NULL: a GPU */
    gs_status (*fill)(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error);  /* bytes % 4 == 0 */
    gs_status (*memory_info)(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error);

    gs_status (*compile)(gs_device *device, const gs_source *source, gs_image *out, gs_error *error);   /* uses the cache; after COMPILE the log is in *out */
    gs_status (*load)(gs_device *device, const gs_image *image, gs_module *out, gs_error *error);
    void      (*unload)(gs_device *device, gs_module module);
    gs_status (*function)(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info, gs_error *error);
    gs_status (*function_smem)(gs_device *device, gs_function function, uint32_t smem, uint32_t cluster, gs_error *error);   /* allows so much shared memory, clusters above 8 */
    gs_status (*max_clusters)(gs_device *device, const gs_launch *launch, int *out, gs_error *error);   /* co-resident clusters on the whole device */
    gs_status (*tensor_map)(gs_device *device, const gs_tensor *tensor, gs_tensor_map *out, gs_error *error);
    void      (*prepare)(gs_device *device, gs_launch *launch, gs_launch_ready *ready);   /* sets launch->ready if possible; may be NULL */
    gs_status (*launch)(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error);

    gs_predecessor (*predecessor)(gs_device *device, gs_queue queue);   /* of a launch added to the queue now. Keeps the thread's context. May be NULL: UNKNOWN */
    void      (*triggers)(gs_device *device, gs_queue queue);   /* declares that the last launch on this captured queue lets the next one begin early; to be called by the thread
                                                                    that then asks for the `predecessor`. May be NULL */

    gs_status (*queue_create)(gs_device *device, gs_queue *out, gs_error *error);
    void      (*queue_destroy)(gs_device *device, gs_queue queue);
    gs_status (*queue_wait)(gs_device *device, gs_queue queue, gs_error *error);       /* FAULT if a kernel faulted */
    gs_status (*wait)(gs_device *device, gs_error *error);       /* waits for all queues; may be NULL if work is done in the call that queues it */
    gs_status (*event_create)(gs_device *device, gs_event *out, gs_error *error);
    void      (*event_destroy)(gs_device *device, gs_event event);
    gs_status (*event_record)(gs_device *device, gs_event event, gs_queue queue, gs_error *error);
    gs_status (*queue_follow)(gs_device *device, gs_queue queue, gs_event event, gs_error *error);   /* later work on the queue waits for the last record of the event; if the
                                                                    event's queue is captured, this queue joins the capture. May be NULL: unsupported */
    gs_status (*event_us)(gs_device *device, gs_event start, gs_event end, double *us, gs_error *error);   /* waits for end */
    void      (*untrusted)(gs_device *device, gs_queue queue, char *why, size_t size);   /* why the time of the work queued since the last call may differ from the
                                                                    prediction; "": no reason. May be NULL: times are not predicted */

    gs_status (*capturing)(gs_device *device, gs_queue queue, bool *out, gs_error *error);   /* whether work added to the queue is recorded, not run. For the default
                                                                    queue: whether a queue that waits for it is captured, as far as the driver reports that. May be NULL: never */
    gs_status (*capture_begin)(gs_device *device, gs_queue queue, gs_error *error);    /* thread-local capture */
    gs_status (*capture_end)(gs_device *device, gs_queue queue, gs_graph *out, gs_error *error);
    gs_status (*capture_keep)(gs_device *device, gs_queue queue, gs_graph *out, gs_capture *capture, gs_error *error);   /* capture_end for a graph whose launches will be
                                                                    changed; *capture is NULL after a failure. May be NULL, like the next two: unsupported */
    gs_status (*capture_node)(gs_device *device, gs_queue queue, gs_node *out, gs_error *error);   /* the last launch on a captured queue. UNSUPPORTED:
                                                                    the driver cannot tell, or cannot change launches */
    void      (*capture_free)(gs_device *device, gs_capture capture);
    gs_status (*graph_launch)(gs_device *device, gs_graph graph, gs_queue queue, gs_error *error);
    gs_status (*graph_change)(gs_device *device, gs_graph graph, gs_node node, const gs_launch *launch, gs_error *error);   /* changes a launch's parameters in later runs;
                                                                    function, sizes and mode must be those captured, and the capture must still exist. May be NULL */
    void      (*graph_destroy)(gs_device *device, gs_graph graph);

    gs_status (*clocks)(gs_device *device, gs_clocks *out, gs_error *error);           /* UNSUPPORTED without NVML */
} gs_device_ops;

struct gs_device {
    const gs_device_ops *ops;
    gs_caps              caps;
    char                 name[GS_DEVICE_NAME];   /* "cuda:0", "emu:h200,seed=7": opens the same device again */
    bool                 dependent;              /* launches that allow it become dependent; false when opened; to be set by the opener
                                                    before kernels are loaded */
    bool                 kept_only;              /* kernels are loaded only from the cache, never compiled; false when opened */
    bool                 paper;                  /* a device that only compiles (device/paper.h) */
    const gs_compiler   *user_compiler;                /* borrowed; compiles user kernels; NULL, as when opened: this process does */
    const struct gs_kernel_inspector *inspector;      /* borrowed; NULL, as when opened: user kernels are refused */
    /* followed by the implementation's fields */
};

/* Opens "cuda:N", or an emulated device by its profile: "emu:h200", with options "emu:h200,seed=7,check=0,threads=2" (emu/emu.h).
 * Emulated devices are in a shared object of their own (device/emulator.h).
 * NULL or "": $GEMMSMITH_DEVICE, else the first GPU, else, if the driver finds none, "emu:h200", with a warning in the log.
 * cache: directory of compiled kernels; NULL: $GEMMSMITH_CACHE or the user's; "": none. Codes: NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE,
 * DEVICE_UNKNOWN, DEVICE_MEMORY, DEVICE, PARSE (the name), MEMORY. */
gs_status gs_device_open(gs_device **out, const char *name, const char *cache, gs_error *error);
void      gs_device_close(gs_device **device);

/* Compiles and loads one of our own kernels. The caller owns the module and must unload it. Errors: those of compile and load. */
gs_status gs_device_build(gs_device *device, const gs_source *source, gs_module *out, gs_error *error);

/* Whether device and driver support programmatic dependent launches, also in graphs: launches may be captured at any time, and before CUDA 12.3 graphs cannot hold programmatic
 * edges. An emulated device runs one launch at a time. */
static inline bool gs_device_is_programmatic(const gs_device *device) { return !device->caps.emulated && device->caps.cc >= 90 && device->caps.driver >= 12030; }

/* Checks that kernel `name` accepts a launch: number and sizes of parameters (if known), block, shared memory. LAUNCH, with both numbers. */
gs_status gs_device_check(const gs_device *device, const char *name, const gs_function_info *info, const gs_launch *launch, const size_t *bytes, int parameters, gs_error *error);

/* For callers that choose a device themselves: whether a failure to open the first GPU means that there is none; the device to use
 * then; and the warning, whose %s is the failure's text. */
#define GS_DEVICE_WITHOUT_GPU "emu:h200"
#define GS_DEVICE_EMULATES    "no GPU found (%s): using the emulated device " GS_DEVICE_WITHOUT_GPU "; times are predicted (GEMMSMITH_DEVICE=" GS_DEVICE_WITHOUT_GPU " hides this line)"
bool gs_device_may_emulate(gs_status status);

/* $GEMMSMITH_DEVICE, else the first GPU; never falls back to an emulated device. */
const char *gs_device_gpu(void);

/* The same for gs_open without a device name. ARGUMENT if the environment names an emulated device: a program must ask for one itself. */
gs_status gs_device_for_library(const char **name, gs_error *error);

/* $GEMMSMITH_DEPENDENT, the default for dependent launches: *dependent is 1 for "1", -1 for "0", 0 if it is empty or not set. PARSE for other values. */
gs_status gs_device_dependent(int *dependent, gs_error *error);

/* Name of the emulated device number 0, 1, ...; NULL after the last. Returns text. */
const char *gs_device_emulated(int index, char text[GS_DEVICE_NAME]);

/* Number of GPUs; 0 with the reason in *error. */
int gs_device_count(gs_error *error);

/* NVRTC without a device and without the cache: compiles for a target ("sm_90a", "sm_80"). For tests and tools. gs_compiler_version: 1000 * major + 10 * minor (12080);
 * 0 if there is no NVRTC. */
gs_status gs_compile_for(const char *target, const gs_source *source, gs_image *out, gs_error *error);
int       gs_compiler_version(gs_error *error);

/* gs_compile_for with a cubin cache directory (NULL or "": none): what ops->compile of a CUDA device does, with the same keys, but without a device. Failing to write the
 * cache is logged, not an error. */
gs_status gs_compile_cached(const char *target, const char *cache_directory, const gs_source *source, gs_image *out, gs_error *error);

#endif
