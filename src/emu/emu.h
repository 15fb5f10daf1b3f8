/* SPDX-License-Identifier: MIT
 * The emulated device: a gs_device that executes a kernel's PTX on the CPU, with a checker, and predicts its time. Its state and the functions of its table, by file:
 * device.c opening and memory, load.c code, work.c launches and fills, queue.c queues, events and graphs. Private to src/device and its tests.
 *
 * All work is done synchronously: a launch returns when it has run. Its predicted time is added to the clock of its queue, which events read. A launch with a finding
 * returns FAULT, and so does the next wait for its queue; unlike a GPU, the device stays usable. */
#ifndef GS_EMU_EMU_H
#define GS_EMU_EMU_H

#include <pthread.h>

#include "base/file.h"
#include "device/device.h"
#include "emu/run/run.h"
#include "schedule/predict.h"

#define GS_EMU_KEPT 256   /* most findings kept */
#define GS_EMU_WHY  160   /* size of the text that says why a time cannot be trusted */

typedef struct gs_emu_function gs_emu_function;
struct gs_emu_function {
    gs_emu_code     *code;
    gs_function_info info;
    uint32_t         allowed;     /* dynamic shared memory limit, bytes */
    bool             large;       /* clusters of more than 8 blocks were requested */
    bool             user;        /* of a user kernel */
    gs_emu_function *next;
};

static inline uint32_t gs_emu_product(const uint32_t extent[3]) { return extent[0] * extent[1] * extent[2]; }

/* One piece of work: a launch or a fill. */
typedef struct gs_emu_work {
    gs_emu_function *function;        /* NULL: a fill */
    uint32_t         grid[3], block[3], cluster[3];
    uint32_t         smem;
    bool             dependent;       /* the kernel may be launched dependently; checked even if the device does not launch dependently */
    uint8_t         *params;          /* owned; as large as the entry's parameters */
    gs_memory_use    reach[GS_REACHES];
    gs_memory_range  constant;
    gs_pointer       to;
    uint32_t         pattern;
    size_t           bytes;
} gs_emu_work;

/* Results of the last launch. */
typedef struct gs_emu_last {
    char            kernel[64];
    uint32_t        grid[3], block[3], cluster[3];
    gs_launch_shape shape;            /* for the time model, with shared memory and registers */
    int             resident;         /* blocks resident per multiprocessor */
    gs_emu_counters counters;
    double          us;               /* predicted */
    char            untrusted[GS_EMU_WHY];   /* why the time may be wrong; "": no known reason */
} gs_emu_last;

typedef struct gs_emu_list {
    gs_emu_work *work;
    int          count, capacity;
} gs_emu_list;

typedef struct gs_emu_queue {
    struct gs_emu_queue *next;        /* list of the machine's queues */
    double      clock_us;             /* predicted time of all work on it so far */
    bool        capturing;
    gs_status   broken;               /* the error that makes the capture invalid; GS_OK: none */
    gs_emu_list captured;
    bool        faulted;              /* since the last wait */
    char        fault[416];
    char        untrusted[GS_EMU_WHY];   /* the first reason since the last query; "": none */
} gs_emu_queue;

/* One machine: its memory and everything on it. All gs_device handles that are opened with the same profile and options share one machine, as handles of a GPU share
 * its primary context, so that pointers and queues can be exchanged between them. */
typedef struct gs_emu_device {
    const gs_profile *profile;
    gs_caps           caps;
    char              name[GS_DEVICE_NAME];   /* of the first handle */
    int               users;
    gs_emu_memory    *memory;
    size_t            capacity;
    bool              check;
    uint64_t          seed;
    int               threads;          /* 0: all cores */
    bool              order;            /* check the order between blocks in every launch, not only where blocks seem to communicate */
    bool              native;           /* this process may access its memory directly: verification's own kernels are then not emulated */
    pthread_mutex_t   lock;             /* held while a launch runs, and for all state that launches change; launches may come from any thread */
    uint64_t          launches;         /* launches so far; each has its own seed */
    gs_emu_queue      own;              /* the default queue */
    gs_emu_queue     *queues;           /* all others */
    gs_emu_finding   *finding;          /* GS_EMU_KEPT findings; the first of each kind and place */
    int               findings;
    gs_emu_last       last;
    struct gs_emu_device *next;
} gs_emu_device;

typedef struct gs_emu_handle {
    gs_device      base;
    gs_emu_device *emu;
    char           cache[GS_PATH];      /* folder for compiled kernels; "": none */
} gs_emu_handle;

static inline gs_emu_device *gs_emu_of(gs_device *device) { return ((gs_emu_handle *)device)->emu; }

/* Opens a device; "emu:" has been read. rest: a profile's name and options: "h200", "a100,seed=7,check=0,threads=2,order=1,native=0". Each option at most once;
 * $GEMMSMITH_EMU_SEED and $GEMMSMITH_EMU_CHECK are the defaults of seed and check. NO_DEVICE: no such profile; PARSE: any other error in the name. */
gs_status gs_emu_open(gs_device **out, const char *rest, const char *cache, gs_error *error);

/* The findings since the device was opened or cleared, each kind once per instruction. *out belongs to the device and is valid until the next launch. */
int  gs_emu_findings(gs_device *device, const gs_emu_finding **out);
void gs_emu_findings_clear(gs_device *device);

/* The last launch without a fault, on any queue. false: there is none. */
bool gs_emu_last_launch(gs_device *device, gs_emu_last *out);

/* Converts counters to the form that the time model takes. */
gs_launch_counts gs_emu_counts(const gs_emu_counters *counters);

/* Runs one piece of work on a queue. The caller holds the lock. */
gs_status gs_emu_work_run(gs_emu_device *emu, gs_emu_queue *queue, const gs_emu_work *work, gs_error *error);
void      gs_emu_work_free(gs_emu_work *work);
/* Checks an arbitrary handle; NULL if it is no queue of this machine. The caller holds the lock. */
gs_emu_queue *gs_emu_queue_find(gs_emu_device *emu, gs_queue handle);
/* Runs the work, or adds it to the queue's capture; takes over what work owns. ARGUMENT: not a queue. */
gs_status gs_emu_work_submit(gs_emu_device *emu, gs_queue queue, gs_emu_work *work, gs_error *error);

/* The two kinds of gs_emu_work_run. *us: predicted time. */
gs_status gs_emu_launch_now(gs_emu_device *emu, const gs_emu_work *work, double *us, gs_error *error);
gs_status gs_emu_fill_now(gs_emu_device *emu, const gs_emu_work *work, double *us, gs_error *error);

gs_launch_shape gs_emu_shape_of(const gs_emu_work *work);   /* the work must be a launch */
/* Fails with the message that these bytes are not inside one allocation. */
gs_status gs_emu_outside(const gs_emu_device *emu, gs_pointer at, size_t bytes, const char *what, gs_error *error);

/* Functions of the device's table. */
gs_status gs_emu_load(gs_device *device, const gs_image *image, gs_module *out, gs_error *error);
void      gs_emu_unload(gs_device *device, gs_module module);
gs_status gs_emu_function_get(gs_device *device, gs_module module, const char *name, gs_function *out, gs_function_info *info, gs_error *error);
gs_status gs_emu_function_smem(gs_device *device, gs_function function, uint32_t smem, uint32_t cluster, gs_error *error);
gs_status gs_emu_max_clusters(gs_device *device, const gs_launch *launch, int *out, gs_error *error);
gs_status gs_emu_tensor_map(gs_device *device, const gs_tensor *tensor, gs_tensor_map *out, gs_error *error);
gs_status gs_emu_launch_put(gs_device *device, const gs_launch *launch, gs_queue queue, gs_error *error);
gs_status gs_emu_graph_change(gs_device *device, gs_graph graph, gs_node node, const gs_launch *launch, gs_error *error);

gs_status gs_emu_queue_create(gs_device *device, gs_queue *out, gs_error *error);
void      gs_emu_queue_destroy(gs_device *device, gs_queue queue);
gs_status gs_emu_queue_wait(gs_device *device, gs_queue queue, gs_error *error);
gs_status gs_emu_event_create(gs_device *device, gs_event *out, gs_error *error);
void      gs_emu_event_destroy(gs_device *device, gs_event event);
gs_status gs_emu_event_record(gs_device *device, gs_event event, gs_queue queue, gs_error *error);
gs_status gs_emu_event_us(gs_device *device, gs_event start, gs_event end, double *us, gs_error *error);
void      gs_emu_untrusted(gs_device *device, gs_queue queue, char *why, size_t size);
gs_status gs_emu_capturing(gs_device *device, gs_queue queue, bool *out, gs_error *error);
gs_status gs_emu_capture_begin(gs_device *device, gs_queue queue, gs_error *error);
gs_status gs_emu_capture_end(gs_device *device, gs_queue queue, gs_graph *out, gs_error *error);
gs_status gs_emu_capture_keep(gs_device *device, gs_queue queue, gs_graph *out, gs_capture *capture, gs_error *error);
gs_status gs_emu_capture_node(gs_device *device, gs_queue queue, gs_node *out, gs_error *error);
void      gs_emu_capture_free(gs_device *device, gs_capture capture);
gs_status gs_emu_graph_launch(gs_device *device, gs_graph graph, gs_queue queue, gs_error *error);
void      gs_emu_graph_destroy(gs_device *device, gs_graph graph);

#endif
