/* SPDX-License-Identifier: MIT
 * The device interface: where kernels run. One table of functions, one implementation per kind of device
 * (cuda/: driver API; emu/: an emulated device, which executes PTX on the CPU and predicts its time).
 *
 * An emulated device is used by one thread at a time, except for launch, which any thread may call; of a CUDA device any call but close
 * and clocks. Opening it, and every call but
 * launch, leaves its context current in the calling thread, as cudaSetDevice would. Synchronous copies do not wait for
 * queues: queue_wait first. An allocation of 0 bytes gives the address 0.
 * Every function returns a status and, where it has one, fills *error with a line that names the driver call and its result.
 * After FAULT or a timeout the device is lost for this process; an emulated device (caps.emulated) goes on after a FAULT. */
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
typedef void            *gs_capture;    /* what a graph was made of; its nodes are there as long as it is */
typedef void            *gs_node;       /* a launch of a capture; NULL is none */
typedef void            *gs_module;     /* loaded code */
typedef void            *gs_function;   /* an entry of a module */

/* 128 bytes, 64-byte aligned: what a kernel receives for a tensor map. */
typedef struct gs_tensor_map {
    _Alignas(64) uint64_t word[16];
} gs_tensor_map;

/* A tensor in device memory, described for bulk tensor copies: two-dimensional, or of three dimensions, so many matrices behind each other of which a box holds
 * one. In turn: rows are in two halves, and a box has eight of one, eight of the other, and so on: of four dimensions, or five. Out-of-bounds elements read as
 * zero. */
typedef struct gs_tensor {
    gs_pointer address;       /* multiple of 16 */
    int        element;       /* gs_type */
    uint64_t   extent[2];     /* inner, outer, elements, >= 1 */
    uint64_t   stride;        /* bytes from row to row, multiple of 16 */
    uint32_t   box[2];        /* inner, outer, elements, <= 256 */
    int        swizzle;       /* 0, 32, 64, 128 bytes */
    int        fetch;         /* bytes that a miss brings to L2: 128, else 256 */
    uint64_t   matrices;      /* 0: two-dimensional */
    uint64_t   step;          /* bytes from matrix to matrix, multiple of 16 */
    uint64_t   second;        /* in turn: bytes from the first half's first row to the second half's, a multiple of 16; extent[1] is a multiple of 16, box[1] as well.
                                 Rows of a half lie `stride` apart. 0: not in turn */
} gs_tensor;

/* The dimensions of a tensor's map: elements; bytes from the second on; elements of a box. Returns how many there are. */
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

/* Looks at user kernels before they are compiled and before they are loaded (kernel/inspector.h). */
struct gs_kernel_inspector;

/* Whoever compiles in the place of this process, as a contained one does user texts. Fills *out and *error as gs_compile_for. */
typedef struct gs_compiler {
    gs_status (*compile)(void *self, const char *target, const gs_source *source, gs_image *out, gs_error *error);
    void       *self;
} gs_compiler;

/* What the compiler is given: options are "-D..." only; an #include finds the headers named here, no folder is searched
 * (an absolute path is not stopped here: whoever accepts a user source looks for one). */
struct gs_source {
    const char        *name;
    const char        *text;
    const char *const *options;
    int                option_count;
    const char *const *header_names;
    const char *const *header_texts;
    int                header_count;
    bool               ptx;           /* keep the PTX too, with line numbers: what an emulated device executes */
    const gs_compiler *compiler;      /* NULL: NVRTC in this process */
    bool               kept_only;     /* what the cache does not have is not compiled: NO_COMPILER */
};

/* What the compiler gave. Owned by the caller: gs_image_free. */
struct gs_image {
    void  *code;              /* cubin */
    size_t size;
    char  *ptx;               /* terminated; NULL unless the source asked for it */
    size_t ptx_size;          /* without the terminator */
    char  *log;               /* compiler and assembler messages; "" if none */
    int    registers;         /* most registers per thread of any entry */
    int    spill_bytes;       /* spill stores plus loads of all entries */
    int    stack_bytes;
    int    static_smem;
    bool   serialized;        /* wgmma was serialised or setmaxnreg ignored (C7504, C7508, C7510, C7511, C7512, C7514, C7602) */
    bool   user;              /* a user kernel's, which was inspected: an emulated device holds its variables read only, and checks the order of its warps */
    bool   cached;            /* came from the cubin cache */
    double compile_ms;        /* 0 when cached */
};
void gs_image_free(gs_image *image);

#define GS_FUNCTION_PARAMETERS 24   /* whose sizes are told */

typedef struct gs_function_info {
    int    registers, local_bytes, static_smem, max_threads;
    int    parameters;        /* -1: not known (a driver tells only by failing); else at most GS_FUNCTION_PARAMETERS + 1, which means more */
    size_t parameter_bytes[GS_FUNCTION_PARAMETERS];
} gs_function_info;

/* What an implementation works out once for launches that differ in parameters and queue only; see prepare. Used by one thread at a time. */
typedef struct gs_launch_ready {
    _Alignas(16) unsigned char bytes[256];
} gs_launch_ready;

#define GS_REACHES 12   /* operands, or the arrays of pointers to them, scalars, the workspace */

typedef struct gs_memory_range {
    gs_pointer at;
    size_t     bytes;         /* 0: nothing */
} gs_memory_range;

/* What a kernel may reach behind one of its pointers. */
typedef struct gs_memory_use {
    gs_pointer at;            /* 0: ends a list */
    size_t     bytes;         /* 0: nothing */
    bool       written;       /* to store to as well */
    size_t     row, pitch;    /* bytes of a row that may be stored to, and from one row to the next; 0: all */
    size_t     part, period;  /* the same of matrices that are apart, or, where they lie side by side, of their rows together: within these are the rows above */
} gs_memory_use;

/* Whether launches whose kernels allow it are dependent. */
typedef enum gs_launch_mode {
    GS_LAUNCH_AS_DEVICE,      /* as the device's switch says */
    GS_LAUNCH_PLAIN,          /* never */
    GS_LAUNCH_DEPENDENT       /* always */
} gs_launch_mode;

/* What a launch stands behind. */
typedef enum gs_predecessor {
    GS_PREDECESSOR_UNKNOWN,   /* the queue is not captured, so nobody knows */
    GS_PREDECESSOR_ENDS,      /* a launch that lets nothing begin before it ends, several launches, something else, or nothing */
    GS_PREDECESSOR_TRIGGERS   /* one launch that lets the next begin early: ours, or one that is dependent itself */
} gs_predecessor;

typedef struct gs_launch {
    gs_function function;
    uint32_t    grid[3], block[3], cluster[3];   /* cluster 1 1 1: none */
    uint32_t    smem;         /* dynamic shared memory, bytes */
    bool        dependent;    /* the kernel allows a programmatic dependent launch */
    gs_launch_mode mode;      /* whether one that allows it becomes one */
    void      **params;       /* addresses of the kernel's parameters, in order */
    gs_memory_use reach[GS_REACHES];   /* an emulated device reports all else of the allocations that these lie in. One with at 0 ends them; none: everything may be reached */
    gs_memory_range constant; /* what a dependent launch may read before the launch in front has ended: an emulated device does not report that */
    gs_launch_ready *ready;   /* NULL, or what prepare made of the fields above, which have not changed since */
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
    void     *(*host)(gs_device *device, gs_pointer at, size_t bytes, bool writes, gs_queue queue);   /* where this process has that memory, until it is freed; if it `writes` there, it counts as
                                                                    written. What is on queues is done. NULL: no one allocation has all of it, or the queue is captured. May be NULL: a GPU */
    gs_status (*fill)(gs_device *device, gs_pointer to, uint32_t pattern, size_t bytes, gs_queue queue, gs_error *error);  /* bytes % 4 == 0 */
    gs_status (*memory_info)(gs_device *device, size_t *free_bytes, size_t *total_bytes, gs_error *error);

    gs_status (*compile)(gs_device *device, const gs_source *source, gs_image *out, gs_error *error);   /* through the cache; COMPILE with the log in *out */
    gs_status (*load)(gs_device *device, const gs_image *image, gs_module *out, gs_error *error);
    void      (*unload)(gs_device *device, gs_module module);
    gs_status (*function)(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info, gs_error *error);
    gs_status (*function_smem)(gs_device *device, gs_function function, uint32_t smem, uint32_t cluster, gs_error *error);   /* allow that much dynamic shared memory and, beyond 8, such clusters */
    gs_status (*max_clusters)(gs_device *device, const gs_launch *launch, int *out, gs_error *error);   /* co-resident clusters on the whole device */
    gs_status (*tensor_map)(gs_device *device, const gs_tensor *tensor, gs_tensor_map *out, gs_error *error);
    void      (*prepare)(gs_device *device, gs_launch *launch, gs_launch_ready *ready);   /* sets launch->ready if it can; may be NULL */
    gs_status (*launch)(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error);

    gs_predecessor (*predecessor)(gs_device *device, gs_queue queue);   /* of a launch that is put on the queue now. As a launch, it leaves the thread its context. May be NULL: UNKNOWN */
    void      (*triggers)(gs_device *device, gs_queue queue);   /* the launch that was put last on this captured queue lets the next begin early: said by the thread
                                                                    that asks for the `predecessor` next. May be NULL */

    gs_status (*queue_create)(gs_device *device, gs_queue *out, gs_error *error);
    void      (*queue_destroy)(gs_device *device, gs_queue queue);
    gs_status (*queue_wait)(gs_device *device, gs_queue queue, gs_error *error);       /* FAULT if a kernel faulted */
    gs_status (*wait)(gs_device *device, gs_error *error);       /* for all queues; may be NULL: work is done in the call that puts it there */
    gs_status (*event_create)(gs_device *device, gs_event *out, gs_error *error);
    void      (*event_destroy)(gs_device *device, gs_event event);
    gs_status (*event_record)(gs_device *device, gs_event event, gs_queue queue, gs_error *error);
    gs_status (*queue_follow)(gs_device *device, gs_queue queue, gs_event event, gs_error *error);   /* what is put on the queue from now on waits for the event, as it was
                                                                    recorded last; of a captured queue the other one is captured with it. May be NULL: not there */
    gs_status (*event_us)(gs_device *device, gs_event start, gs_event end, double *us, gs_error *error);   /* waits for end */
    void      (*untrusted)(gs_device *device, gs_queue queue, char *why, size_t size);   /* why what was put on the queue since the last time it was asked may take
                                                                    another time than it is predicted to take; "": nothing speaks against it. May be NULL: nothing is predicted */

    gs_status (*capturing)(gs_device *device, gs_queue queue, bool *out, gs_error *error);   /* whether work put there is recorded, not run. The default queue:
                                                                    whether a queue that waits for it is captured, as far as the driver tells. May be NULL: never */
    gs_status (*capture_begin)(gs_device *device, gs_queue queue, gs_error *error);    /* thread-local capture */
    gs_status (*capture_end)(gs_device *device, gs_queue queue, gs_graph *out, gs_error *error);
    gs_status (*capture_keep)(gs_device *device, gs_queue queue, gs_graph *out, gs_capture *capture, gs_error *error);   /* capture_end of a graph whose launches are to be
                                                                    changed; *capture is NULL after a failure. May be NULL, with the next two: none can be */
    gs_status (*capture_node)(gs_device *device, gs_queue queue, gs_node *out, gs_error *error);   /* of a captured queue: the launch that was put there last. UNSUPPORTED:
                                                                    the driver cannot say, or it can change none */
    void      (*capture_free)(gs_device *device, gs_capture capture);
    gs_status (*graph_launch)(gs_device *device, gs_graph graph, gs_queue queue, gs_error *error);
    gs_status (*graph_change)(gs_device *device, gs_graph graph, gs_node node, const gs_launch *launch, gs_error *error);   /* other parameters, for launches of the graph from now on:
                                                                    function, sizes and mode are those of the launch that was captured, whose capture is there. May be NULL */
    void      (*graph_destroy)(gs_device *device, gs_graph graph);

    gs_status (*clocks)(gs_device *device, gs_clocks *out, gs_error *error);           /* UNSUPPORTED without NVML */
} gs_device_ops;

struct gs_device {
    const gs_device_ops *ops;
    gs_caps              caps;
    char                 name[GS_DEVICE_NAME];   /* "cuda:0", "emu:h200,seed=7": opens the same device again */
    bool                 dependent;              /* launches that allow it are dependent; off when opened, set by whoever opened it,
                                                    before kernels are loaded */
    bool                 kept_only;              /* nothing is compiled, only what the cache has is loaded; off when opened */
    bool                 paper;                  /* it compiles and runs nothing (device/paper.h) */
    const gs_compiler   *user_compiler;                /* borrowed: who compiles user kernels; NULL, as when opened: this process */
    const struct gs_kernel_inspector *inspector;      /* borrowed: NULL, as when opened: user kernels are refused */
    /* the implementation's fields follow */
};

/* Opens "cuda:N", or an emulated device by its profile: "emu:h200", with options "emu:h200,seed=7,check=0,threads=2" (emu/emu.h);
 * the emulated devices are in a shared object of their own (device/emulator.h).
 * NULL or "": $GEMMSMITH_DEVICE, else the first GPU, else, where the driver finds none, "emu:h200", with a warning in the log.
 * cache: directory of compiled kernels, NULL: $GEMMSMITH_CACHE or the user's, "" none. Codes: NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE,
 * DEVICE_UNKNOWN, DEVICE_MEMORY, DEVICE, PARSE (the name), MEMORY. */
gs_status gs_device_open(gs_device **out, const char *name, const char *cache, gs_error *error);
void      gs_device_close(gs_device **device);

/* Compiles a kernel of ours and loads it. The module is the caller's, to be unloaded, also where its functions turn out to be missing. Errors: those of compile and load. */
gs_status gs_device_build(gs_device *device, const gs_source *source, gs_module *out, gs_error *error);

/* Whether device and driver know dependent launches, captured ones too; an emulated device runs one launch at a time. Before CUDA 12.3 a graph cannot hold the
 * edge of one, and a launch may be captured at any time. */
static inline bool gs_device_is_programmatic(const gs_device *device) { return !device->caps.emulated && device->caps.cc >= 90 && device->caps.driver >= 12030; }

/* Whether the code of `name` takes what a launch is to give it: so many parameters of so many bytes, as far as that is known, the block and
 * the shared memory. Codes: LAUNCH, with both numbers. */
gs_status gs_device_check(const gs_device *device, const char *name, const gs_function_info *info, const gs_launch *launch, const size_t *bytes, int parameters, gs_error *error);

/* For those who choose a device by themselves: whether a failure to open the first GPU means that there is none, the device to be taken
 * then, and the line that says so, with the failure's text. */
#define GS_DEVICE_WITHOUT_GPU "emu:h200"
#define GS_DEVICE_EMULATES    "no GPU found (%s): using the emulated device " GS_DEVICE_WITHOUT_GPU "; times are predicted (GEMMSMITH_DEVICE=" GS_DEVICE_WITHOUT_GPU ": without this line)"
bool gs_device_may_emulate(gs_status status);

/* $GEMMSMITH_DEVICE, else the first GPU: for callers to whom an emulated device that nobody asked for is of no use. */
const char *gs_device_gpu(void);

/* The same for gs_open, whose caller gave no name: a program is not diverted to an emulated device by the environment. ARGUMENT: it would be. */
gs_status gs_device_for_library(const char **name, gs_error *error);

/* $GEMMSMITH_DEPENDENT, for those who are not told whether launches are to be dependent: 1 if it is 1, -1 if it is 0, 0 if it is empty or not set.
 * PARSE for anything else. */
gs_status gs_device_dependent(int *dependent, gs_error *error);

/* Names of the emulated devices, index 0, 1, ...; NULL after the last. Returns text. */
const char *gs_device_emulated(int index, char text[GS_DEVICE_NAME]);

/* Number of devices of the driver, 0 without one; *error says why. */
int gs_device_count(gs_error *error);

/* NVRTC without a device: compiles for a target ("sm_90a", "sm_80"), no cache. For tests and tools. Also the compiler's
 * version, 1000 * major + 10 * minor ("12080"); 0 if there is no NVRTC. */
gs_status gs_compile_for(const char *target, const gs_source *source, gs_image *out, gs_error *error);
int       gs_compiler_version(gs_error *error);

/* gs_compile_for through the cubin cache in a directory (NULL or "": no cache): what ops->compile of a CUDA device does, with the
 * same key, but without a device. A cache that cannot be written is logged, not an error. */
gs_status gs_compile_cached(const char *target, const char *cache_directory, const gs_source *source, gs_image *out, gs_error *error);

#endif
