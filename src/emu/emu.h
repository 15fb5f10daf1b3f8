/* SPDX-License-Identifier: MIT
 * The emulated device: a gs_device that executes a kernel's PTX on the CPU, with a checker, and whose time is predicted.
 * Its own state and the functions of its table, by file: device.c opening and memory, load.c code, work.c launches and fills,
 * queue.c queues, events and graphs. Private to src/device and its tests.
 *
 * Everything happens in the call that asks for it: a launch returns when it has run. What it would have taken on the device adds to
 * the clock of its queue, which events read. A launch with a finding is a FAULT, here and once more at the next wait for its queue;
 * unlike a GPU the device goes on. */
#ifndef GS_EMU_EMU_H
#define GS_EMU_EMU_H

#include <pthread.h>

#include "base/file.h"
#include "device/device.h"
#include "emu/run/run.h"
#include "schedule/predict.h"

#define GS_EMU_KEPT 256   /* findings that are kept */
#define GS_EMU_WHY  160   /* characters that say why a time is not to be trusted */

typedef struct gs_emu_function gs_emu_function;
struct gs_emu_function {
    gs_emu_code     *code;
    gs_function_info info;
    uint32_t         allowed;     /* dynamic shared memory */
    bool             large;       /* clusters of more than 8 were asked for */
    bool             user;        /* of a user kernel */
    gs_emu_function *next;
};

static inline uint32_t gs_emu_product(const uint32_t extent[3]) { return extent[0] * extent[1] * extent[2]; }

/* What a captured queue holds: a launch or a fill. */
typedef struct gs_emu_work {
    gs_emu_function *function;        /* NULL: a fill */
    uint32_t         grid[3], block[3], cluster[3];
    uint32_t         smem;
    bool             dependent;       /* the kernel allows it: checked whether or not the device's switch is on */
    uint8_t         *params;          /* owned; of the entry's size */
    gs_memory_use    reach[GS_REACHES];
    gs_memory_range  constant;
    gs_pointer       to;
    uint32_t         pattern;
    size_t           bytes;
} gs_emu_work;

/* What the last launch did. */
typedef struct gs_emu_last {
    char            kernel[64];
    uint32_t        grid[3], block[3], cluster[3];
    gs_launch_shape shape;            /* the same for the time model, with shared memory and registers */
    int             resident;         /* blocks that fit on a multiprocessor together */
    gs_emu_counters counters;
    double          us;               /* predicted */
    char            untrusted[GS_EMU_WHY];   /* why it may take another time; "": nothing speaks against it */
} gs_emu_last;

typedef struct gs_emu_list {
    gs_emu_work *work;
    int          count, capacity;
} gs_emu_list;

typedef struct gs_emu_queue {
    struct gs_emu_queue *next;        /* of the machine's */
    double      clock_us;             /* predicted time of everything that ran on it */
    bool        capturing;
    gs_status   broken;               /* why the capture is worth nothing; GS_OK while it is */
    gs_emu_list captured;
    bool        faulted;              /* since the last wait */
    char        fault[416];
    char        untrusted[GS_EMU_WHY];   /* of what ran since somebody asked, the first that speaks against it */
} gs_emu_queue;

/* One machine: its memory and everything on it. Every gs_device that is opened with the same profile and options is a handle on the
 * same one, as the devices of a GPU share its primary context, so that their pointers and queues can be exchanged. */
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
    bool              order;            /* the order between blocks is checked in every launch, not only where they seem to talk */
    bool              native;           /* this process may reach into its memory: then verification's own kernels are not emulated */
    pthread_mutex_t   lock;             /* launches come from any thread: held while one runs, and for what it changes */
    uint64_t          launches;         /* so far: each has its own seed */
    gs_emu_queue      own;              /* the default queue */
    gs_emu_queue     *queues;           /* all others */
    gs_emu_finding   *finding;          /* GS_EMU_KEPT; the first ones of their kind and place */
    int               findings;
    gs_emu_last       last;
    struct gs_emu_device *next;
} gs_emu_device;

typedef struct gs_emu_handle {
    gs_device      base;
    gs_emu_device *emu;
    char           cache[GS_PATH];      /* of compiled kernels; "": none */
} gs_emu_handle;

static inline gs_emu_device *gs_emu_of(gs_device *device) { return ((gs_emu_handle *)device)->emu; }

/* "emu:" has been read; rest is a profile's name and options: "h200", "a100,seed=7,check=0,threads=2,order=1,native=0". Each option at most once;
 * $GEMMSMITH_EMU_SEED and $GEMMSMITH_EMU_CHECK stand for seed and check where the name does not say. NO_DEVICE: no such profile;
 * PARSE: anything else that cannot be read. */
gs_status gs_emu_open(gs_device **out, const char *rest, const char *cache, gs_error *error);

/* What launches found since the device was opened, or since clear, each kind once at an instruction. *out: the device's, until the next launch. */
int  gs_emu_findings(gs_device *device, const gs_emu_finding **out);
void gs_emu_findings_clear(gs_device *device);

/* The launch that ran last without a fault, of any queue. false: none has. */
bool gs_emu_last_launch(gs_device *device, gs_emu_last *out);

/* Counters as the time model takes them. */
gs_launch_counts gs_emu_counts(const gs_emu_counters *counters);

/* Runs one piece of work on a queue, with the lock held. */
gs_status gs_emu_work_run(gs_emu_device *emu, gs_emu_queue *queue, const gs_emu_work *work, gs_error *error);
void      gs_emu_work_free(gs_emu_work *work);
/* The queue of a handle that may be anything, NULL where it is none of this machine. With the lock held. */
gs_emu_queue *gs_emu_queue_find(gs_emu_device *emu, gs_queue handle);
/* Runs the work, or puts it into the queue's capture; takes what work owns. ARGUMENT: it is no queue. */
gs_status gs_emu_work_submit(gs_emu_device *emu, gs_queue queue, gs_emu_work *work, gs_error *error);

/* The parts of gs_emu_work_run: launches and fills give the time that they take. */
gs_status gs_emu_launch_now(gs_emu_device *emu, const gs_emu_work *work, double *us, gs_error *error);
gs_status gs_emu_fill_now(gs_emu_device *emu, const gs_emu_work *work, double *us, gs_error *error);

gs_launch_shape gs_emu_shape_of(const gs_emu_work *work);   /* of a launch */
/* These bytes are not of one allocation. */
gs_status gs_emu_outside(const gs_emu_device *emu, gs_pointer at, size_t bytes, const char *what, gs_error *error);

/* The device's table. */
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
