/* SPDX-License-Identifier: MIT
 * The emulated machine: decoded code, and the state of a running launch: clusters, blocks, warps.
 *
 * An instruction is decoded once into a gs_emu_op with an `exec` function, and executed for one warp at a time. All operands, including immediates and special
 * registers, are offsets into the warp's register bytes, where each register has 32 adjacent lanes: a predicate is one 32-bit mask, 16-, 32- and 64-bit registers are
 * arrays of 32 elements. A cluster runs on one host thread; several clusters run at once. The folders, lowest layer first; nothing calls upwards:
 *   check/     the race checker, the kinds of findings
 *   machine/   operands.c  operands of instructions   tasks.c   asynchronous work, events     report.c     findings of a launch
 *              warp.c      fragments of a warp        memory.c  global memory                 dependent.c  dependent launches
 *   isa/       the instructions: for each group a decoding function and execution functions
 *   run/       decode.c    decoding of a kernel       flow.c    reconvergence of lanes        turn.c       turns of a warp
 *              run.c       launch, clusters           deadlock.c  description of deadlocks */
#ifndef GS_EMU_MACHINE_MACHINE_H
#define GS_EMU_MACHINE_MACHINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/random.h"
#include "emu/check/check.h"
#include "emu/machine/counters.h"
#include "emu/check/finding.h"
#include "emu/machine/memory.h"
#include "ptx/ptx.h"

#define GS_EMU_REACHES 12
#define GS_EMU_POLLED 4             /* places that a waiting warp may poll in alternation */

#define GS_EMU_NONE  0xffffffffu   /* no operand */
#define GS_EMU_LANES 32
#define GS_EMU_FULL  0xffffffffu

/* Generic addresses: windows of the spaces other than global. They do not begin at multiples of 4 GiB, so the lower half of a generic address is not a valid address
 * in its space. */
#define GS_EMU_WINDOWS       0x6a000000ull
#define GS_EMU_WINDOW_SIZE   0x100000000ull
#define GS_EMU_SHARED_WINDOW (GS_EMU_WINDOWS + GS_EMU_WINDOW_SIZE)       /* + shared::cluster address */
#define GS_EMU_LOCAL_WINDOW  (GS_EMU_WINDOWS + 2 * GS_EMU_WINDOW_SIZE)   /* + offset in the thread's local memory */
#define GS_EMU_PARAM_WINDOW  (GS_EMU_WINDOWS + 3 * GS_EMU_WINDOW_SIZE)   /* + offset in the parameter block */

/* Start of the window that contains the address, or another number if there is none. */
static inline uint64_t gs_emu_window_of(uint64_t address) { return GS_EMU_WINDOWS + (address - GS_EMU_WINDOWS) / GS_EMU_WINDOW_SIZE * GS_EMU_WINDOW_SIZE; }

/* shared::cluster addresses: below 1 << 24 an offset in the own block; (rank + 1) << 24 | offset is in a block of the cluster. A variable's address as a value
 * includes the own block's rank if the cluster has several blocks, since a GPU, too, encodes the block above bit 23. */
#define GS_EMU_RANK_SHIFT 24

typedef struct gs_emu_op      gs_emu_op;
typedef struct gs_emu_code    gs_emu_code;
typedef struct gs_emu_warp    gs_emu_warp;
typedef struct gs_emu_block   gs_emu_block;
typedef struct gs_emu_cluster gs_emu_cluster;
typedef struct gs_emu_launch  gs_emu_launch;

typedef enum gs_emu_result {
    GS_EMU_NEXT,      /* go on with the next instruction */
    GS_EMU_JUMPED,    /* the instruction has changed the fragments itself */
    GS_EMU_WAIT,      /* execute the same instruction again after an event in the cluster */
    GS_EMU_YIELD,     /* done; give other warps a turn */
    GS_EMU_FAILED     /* a fatal finding was reported: the launch ends */
} gs_emu_result;

/* Executes op for the lanes (never 0; the guard was applied). */
typedef gs_emu_result gs_emu_exec(gs_emu_warp *warp, const gs_emu_op *op, uint32_t lanes);

struct gs_emu_op {
    gs_emu_exec *exec;
    uint32_t guard;               /* predicate register; GS_EMU_NONE: unconditional */
    bool     guard_not;
    uint8_t  class;               /* gs_emu_class */
    uint8_t  type, type2;         /* gs_ptx_type; used by the decoding module */
    uint8_t  space;               /* gs_ptx_space */
    uint8_t  count;               /* elements of a vector access, ... */
    uint16_t flags;               /* defined by the decoding module */
    bool     stores;              /* to memory: st, atom, red, copies to global memory */
    bool     meets;               /* may interact with other blocks: an atomic operation, or a volatile, relaxed or stronger store, to global memory */
    uint32_t dst, dst2;           /* register offsets, GS_EMU_NONE if absent */
    uint32_t src[4];
    int64_t  immediate;           /* displacement, constant, ... */
    uint32_t list, list2;         /* first entry in code->list of longer operand lists */
    uint16_t lists, lists2;
    uint32_t target;              /* branches: op index */
    uint32_t reads, writes;       /* in code->list: registers read and written, for the check of wgmma registers */
    uint16_t read_count, write_count;
    int32_t  line;                /* of the PTX text */
    gs_ptx_location location;
    const char *name;             /* opcode, for messages */
};

/* Offsets of the special registers (32 lanes of 32 bits each), set when a warp starts; NONE: not used by the code. */
#define GS_EMU_SPECIALS(X)                                                                    \
    X(TID_X, "%tid.x") X(TID_Y, "%tid.y") X(TID_Z, "%tid.z")                                  \
    X(NTID_X, "%ntid.x") X(NTID_Y, "%ntid.y") X(NTID_Z, "%ntid.z")                            \
    X(CTAID_X, "%ctaid.x") X(CTAID_Y, "%ctaid.y") X(CTAID_Z, "%ctaid.z")                      \
    X(NCTAID_X, "%nctaid.x") X(NCTAID_Y, "%nctaid.y") X(NCTAID_Z, "%nctaid.z")                \
    X(LANEID, "%laneid") X(WARPID, "%warpid") X(NWARPID, "%nwarpid")                          \
    X(SMID, "%smid") X(NSMID, "%nsmid") X(WARP_SIZE, "WARP_SZ")                               \
    X(LANEMASK_EQ, "%lanemask_eq") X(LANEMASK_LT, "%lanemask_lt") X(LANEMASK_LE, "%lanemask_le") \
    X(LANEMASK_GT, "%lanemask_gt") X(LANEMASK_GE, "%lanemask_ge")                             \
    X(CLUSTER_CTAID_X, "%cluster_ctaid.x") X(CLUSTER_CTAID_Y, "%cluster_ctaid.y") X(CLUSTER_CTAID_Z, "%cluster_ctaid.z") \
    X(CLUSTER_NCTAID_X, "%cluster_nctaid.x") X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y") X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z") \
    X(CLUSTERID_X, "%clusterid.x") X(CLUSTERID_Y, "%clusterid.y") X(CLUSTERID_Z, "%clusterid.z") \
    X(NCLUSTERID_X, "%nclusterid.x") X(NCLUSTERID_Y, "%nclusterid.y") X(NCLUSTERID_Z, "%nclusterid.z") \
    X(CLUSTER_CTARANK, "%cluster_ctarank") X(CLUSTER_NCTARANK, "%cluster_nctarank")           \
    X(DYNAMIC_SMEM, "%dynamic_smem_size") X(TOTAL_SMEM, "%total_smem_size")
typedef enum gs_emu_special {
#define GS_EMU_SPECIAL(name, text) GS_EMU_##name,
    GS_EMU_SPECIALS(GS_EMU_SPECIAL)
#undef GS_EMU_SPECIAL
    GS_EMU_SPECIAL_COUNT
} gs_emu_special;

typedef struct gs_emu_shared_address {
    uint32_t offset;   /* of the register */
    bool     wide;     /* 64 bits */
} gs_emu_shared_address;

/* A range of register bytes. */
typedef struct gs_emu_bytes {
    uint32_t offset, bytes;
} gs_emu_bytes;

/* A decoded kernel. Owned by its module; not changed by running. */
struct gs_emu_code {
    const gs_ptx_module *module;
    const gs_ptx_entry  *entry;
    gs_emu_op *op;
    uint32_t   ops;
    uint32_t  *list;                          /* operand lists: register offsets */
    uint32_t   list_size, list_capacity;
    uint32_t  *reconverge;                    /* per op: where its divergent lanes reconverge (op index), GS_EMU_NONE: at the exit */
    uint8_t   *leader;                        /* per op: 1 if it starts a basic block */
    uint8_t   *image;                         /* initial register bytes: the constants; garbage in all other registers */
    gs_emu_bytes *garbage;                    /* ranges of it: registers that may be read before they are written (run/start.c) */
    int        garbages;
    gs_emu_shared_address *shared_address;    /* constants that are addresses of shared variables, as offsets in the own block */
    int        shared_addresses;
    uint32_t   register_bytes, register_capacity;
    uint32_t   special[GS_EMU_SPECIAL_COUNT];
    uint32_t   reserved;                      /* bytes reserved at the beginning of shared memory */
    uint32_t   static_shared;                 /* bytes; dynamic shared memory follows, aligned as the extern variable asks */
    uint32_t   dynamic_offset;
    uint32_t   local_bytes;                   /* per thread */
    bool       talks;                         /* blocks may communicate through global memory: they take turns on one thread */
    int        registers;                     /* per thread, from the assembler's log; 0: not known */
    uint32_t  *offset_of;                     /* per PTX register: offset in the register bytes */
    struct gs_emu_wgmma_code *wgmma;          /* wgmma_registers.c: the watched registers; NULL: no wgmma */
};

/* ---- decoding ---- */

typedef struct gs_emu_decoder {
    gs_emu_code *code;
    const gs_ptx_module *module;
    const gs_ptx_entry  *entry;
    const gs_ptx_instruction *in;             /* the current instruction */
    gs_emu_op   *op;
    gs_error    *error;
    gs_status    status;                      /* first failure of the functions below */
    const uint64_t *global_address;           /* per module variable: device address of GLOBAL and CONST ones */
    const uint32_t *shared_offset;            /* per module variable: offset of SHARED and LOCAL ones */
    void        *constants;                   /* private to operands.c */
    uint32_t     carry;                       /* offset of the carry flag; 0: none yet */
} gs_emu_decoder;

/* Result of a decoding function: NOT_FOUND if the opcode's first part belongs to another one, UNSUPPORTED (by gs_emu_unsupported) if a modifier or an operand is
 * unknown. On entry op is zeroed except for guard, line, location, name; dst, dst2 and src are NONE. */
typedef gs_status gs_emu_decode(gs_emu_decoder *d, const gs_ptx_instruction *in, gs_emu_op *op);
/* "line 12: wgmma.mma_async...: unknown modifier .foo": fills d->error, returns UNSUPPORTED. */
gs_status gs_emu_unsupported(gs_emu_decoder *d, const char *format, ...) GS_PRINTF(2, 3);

const gs_ptx_operand *gs_emu_operand(gs_emu_decoder *d, int i);           /* operand i of d->in; if absent NULL, with status UNSUPPORTED */
const gs_ptx_operand *gs_emu_child(gs_emu_decoder *d, const gs_ptx_operand *operand, int i);
bool     gs_emu_part(const gs_ptx_instruction *in, const char *part);     /* whether the opcode has this part (not the first) */

/* Register offset of a source operand: a register with that many bits, an immediate (converted to `type`, e.g. an f32 literal for an f64 type), a special register, or
 * a variable's address. On failure sets d->status and returns 0. Records the read. */
uint32_t gs_emu_source(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type);
/* The same for a predicate; *negated is set for "!p". Integer 0 and 1 are constant predicates. */
uint32_t gs_emu_source_predicate(gs_emu_decoder *d, const gs_ptx_operand *operand, bool *negated);
/* A destination register with that many bits, GS_EMU_NONE for "_". Records the write. */
uint32_t gs_emu_destination(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type);
/* Address operand [base + offset]: op->src[slot] (register offset, NONE when absolute), op->immediate; sets GS_EMU_ADDRESS_64 in
 * op->flags when the base register has 64 bits. A variable's address is folded into op->immediate. */
#define GS_EMU_ADDRESS_64 0x8000
void gs_emu_address(gs_emu_decoder *d, const gs_ptx_operand *operand, int slot);
/* Elements of a vector operand (or the operand itself, as a list of one): *first is the index in code->list; returns the number. */
int  gs_emu_sources(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type, uint32_t *first);
int  gs_emu_destinations(gs_emu_decoder *d, const gs_ptx_operand *operand, gs_ptx_type type, uint32_t *first);
uint32_t gs_emu_carry(gs_emu_decoder *d);   /* offset of the carry flag of add.cc and similar instructions: an unnamed predicate register */

/* ---- running ---- */

/* Lanes that execute together. */
typedef struct gs_emu_fragment {
    uint32_t pc;              /* op index */
    uint32_t lanes;           /* 0: unused */
    int32_t  scope;           /* innermost reconvergence scope, -1: none */
    bool     waiting;         /* since `event` of the cluster */
    uint64_t event;
    bool     impatient;        /* its try_wait continues to give up */
    uint32_t phase;           /* at a named barrier: generation in which it arrived, plus one; 0: it has not arrived */
    uint32_t pending;         /* shuffles, warp barriers: lanes that wait here for others */
} gs_emu_fragment;

typedef struct gs_emu_scope {
    uint32_t pc;              /* where its lanes reconverge, GS_EMU_NONE: nowhere */
    uint32_t expected;        /* lanes that have not exited */
    uint32_t arrived;
    int32_t  parent;
} gs_emu_scope;

/* An access of a warp's lanes to shared memory, for lanes.c. */
typedef struct gs_emu_lane_access {
    uint32_t address[GS_EMU_LANES];
    uint32_t lanes, size, low, end, op;
    uint64_t meetings;            /* number of instructions that synchronised lanes, until then */
} gs_emu_lane_access;

struct gs_emu_warp {
    gs_emu_block   *block;
    gs_emu_cluster *cluster;
    const gs_emu_code *code;
    uint8_t        *registers;    /* 64-byte aligned */
    uint8_t        *local;        /* 32 x code->local_bytes */
    int             index;        /* in the block */
    int             number;       /* in the cluster: block rank * warps + index; the checker's number */
    uint32_t        threads;      /* lanes that exist */
    uint32_t        alive;        /* lanes that have not exited */
    uint32_t        early;        /* dependent.c: lanes not known to be after the wait for the previous launch; 0: all are, or it is not checked */
    uint32_t        waited;       /* the warp's clock at its first such wait; 0: none yet */
    gs_emu_lane_access write[8], read[4];   /* the latest accesses to shared memory */
    uint32_t        writes, reads;   /* number of accesses since the start */
    uint32_t        pairs;        /* number of comparisons of accesses since the start */
    uint32_t        polls;        /* consecutive strong loads and atomics on few places that found nothing new */
    uint64_t        polled[GS_EMU_POLLED];   /* those places */
    uint32_t        polled_next;  /* index, modulo GS_EMU_POLLED, of the place to be replaced next */
    uint64_t        all_polls;    /* number of polls since the start */
    uint64_t        steps;        /* instructions executed */
    gs_emu_fragment fragment[GS_EMU_LANES];
    int             fragments;    /* used entries, without gaps */
    int             current;      /* index of the executing fragment */
    gs_emu_scope    scope[2 * GS_EMU_LANES];
    struct gs_emu_wgmma_state *wgmma;   /* wgmma.c */
    struct gs_emu_bulk_state  *bulk;    /* bulk.c: groups of bulk stores, per lane */
    struct gs_emu_copy_state  *copy;    /* cp_groups.c: groups of cp.async, per lane */
};

struct gs_emu_block {
    gs_emu_cluster *cluster;
    gs_emu_warp    *warp;
    int             warps;
    int             rank;             /* in the cluster */
    uint32_t        id[3];            /* %ctaid */
    uint32_t        threads;
    uint32_t        alive_warps;
    uint8_t        *shared;           /* launch->shared_bytes, 1024-byte aligned */
    struct gs_emu_barriers  *barriers;    /* barriers.c: the 16 named barriers */
    struct gs_emu_mbarriers *mbarriers;   /* mbarrier.c */
    struct gs_emu_unseen    *unseen;      /* unseen.c: stores that other blocks do not see yet; NULL: none */
    bool            exited;
    uint32_t       *remote;           /* per warp of the cluster: its clock at its last access from another block; 0: none. NULL without the checker */
    int             copies_in;        /* pending asynchronous work that will access this block's shared memory from outside */
};

/* Most pending asynchronous work of a cluster; an instruction that would add some waits, as with a full queue. */
#define GS_EMU_MOST_TASKS 1024

/* Asynchronous work. The machine calls `step` when the work is to advance; it returns true when the work is complete (it is then freed). Work with the same `order`
 * pointer (not NULL) advances in the order in which it was added. */
typedef struct gs_emu_task gs_emu_task;
struct gs_emu_task {
    bool       (*step)(gs_emu_cluster *cluster, gs_emu_task *task);
    void       (*drop)(gs_emu_task *task);   /* NULL, or frees what it owns, except itself, if a launch fails before its end */
    void       *order;
    uint64_t    serial;               /* set by gs_emu_task_add */
    /* the owner's fields follow: allocate a larger struct with malloc */
};

struct gs_emu_cluster {
    gs_emu_launch *launch;
    gs_emu_block  *block;
    int            blocks;
    uint32_t       id;                /* index of the cluster in the grid */
    gs_random      random;
    uint64_t       event;             /* incremented whenever something happens that a fragment may wait for */
    uint64_t       steps;             /* instructions executed */
    uint64_t       work;              /* the same, but stores count twice per lane: subject to the launch's limit */
    uint64_t       looked;            /* in a launch whose blocks communicate: the last turn in which it only polled */
    uint64_t       quiet_steps;       /* steps since the last event or write to memory */
    uint64_t       advanced;          /* steps at the last advance of asynchronous work */
    uint64_t       expired;           /* the event at which timed waits gave up because all others were waiting; 0: none */
    uint32_t       expiries;          /* how often in a row that did not help */
    gs_emu_task  **task;
    int            tasks, task_capacity;
    uint64_t       task_serial;
    uint32_t       laziness;          /* 0..255: how seldom asynchronous work advances while warps can run */
    gs_emu_check  *check;             /* NULL: checker off */
    struct gs_emu_cluster_order *order;   /* order.c; NULL: the order between blocks is not checked */
    uint32_t       copy_number;       /* number of bulk copies, for the checker */
    gs_emu_counters counters;
    gs_emu_counters began;            /* the counters at the start of this cluster */
    struct gs_emu_cluster_barrier *cluster_barrier;   /* barriers.c */
    uint32_t       told;              /* number of findings reported */
    bool           pauses;            /* it may have interacted with other clusters, which get a turn now */
    bool           failed;
};

/* The cluster whose longest warp executed the most instructions. */
typedef struct gs_emu_peak {
    gs_emu_counters counters;
    uint64_t        longest;          /* instructions of that warp */
    uint32_t        cluster;
    double          share;            /* that number relative to the average of its warps */
} gs_emu_peak;

/* A range of addresses [from, to); from == to: empty. */
typedef struct gs_emu_span {
    uint64_t from, to;
} gs_emu_span;

/* Memory that a kernel may access between two addresses, and store to; in strided rows only their elements. from == to: nothing. */
typedef struct gs_emu_use {
    uint64_t from, to;      /* from 0: end of a list */
    uint64_t row, pitch;    /* bytes of a row, and from one row to the next; 0: contiguous */
    uint64_t part, period;  /* bytes of a part with such rows, and from one part to the next */
    bool     written;
} gs_emu_use;

/* One launch. The caller sets the fields up to the results, then calls gs_emu_run. */
struct gs_emu_launch {
    const gs_emu_code *code;
    gs_emu_memory     *memory;
    uint32_t           grid[3], block[3], cluster[3];
    uint32_t           smem;          /* dynamic, bytes */
    const uint8_t     *params;        /* code->entry->parameter_bytes */
    bool               check;
    bool               order;         /* check the order of global memory between blocks even if they do not seem to communicate: on one thread */
    bool               dependent;     /* may start before the previous launch has ended: accesses before its wait are checked */
    uint64_t           seed;
    int                threads;       /* host threads, 0: all cores */
    int                sms;           /* for %nsmid and %smid */
    uint32_t           resident;      /* clusters resident on the device at the same time; 0: unlimited */
    bool               unseen;        /* strong stores to global memory become visible late (unseen.h) */
    uint64_t           step_limit;    /* limit of `work` per cluster; 0: the default */
    uint32_t           smem_limit;    /* static and dynamic bytes per block */
    int                registers_sm;  /* for setmaxnreg */
    gs_emu_use         reach[GS_EMU_REACHES];   /* all memory that may be accessed in the allocations that these are in */
    gs_emu_span        constant;      /* global memory that a dependent launch may read before its wait */
    /* ---- results ---- */
    gs_emu_counters    counters;
    gs_emu_peak        peak;
    uint64_t           polls;         /* polls of flags that found nothing new */
    gs_emu_finding    *finding;       /* owned: free() */
    int                findings;
    uint64_t           findings_total;
    /* ---- internal to the run ---- */
    uint32_t           shared_bytes;  /* static and dynamic, with the reserved bytes */
    struct gs_emu_pool *pool;
    struct gs_emu_unseen *left_behind; /* unseen.c: stores of ended clusters that others do not see yet */
};

/* Reports a finding at an instruction of a warp. Returns FAILED if the kind is fatal, else NEXT. Without the checker only fatal kinds are reported. */
gs_emu_result gs_emu_report(gs_emu_warp *warp, const gs_emu_op *op, gs_emu_finding_kind kind, const char *format, ...) GS_PRINTF(4, 5);

void gs_emu_happened(gs_emu_cluster *cluster);                       /* wakes every waiting fragment of the cluster */
bool gs_emu_task_add(gs_emu_cluster *cluster, gs_emu_task *task);    /* takes ownership; false: no memory, and the task was freed */
static inline bool gs_emu_tasks_full(const gs_emu_cluster *cluster) { return cluster->tasks >= GS_EMU_MOST_TASKS; }
bool gs_emu_chance(gs_emu_cluster *cluster, uint32_t of_256);        /* true with that probability */

/* ---- registers ---- */

static inline uint32_t *gs_emu_mask(gs_emu_warp *w, uint32_t offset) { return (uint32_t *)(void *)(w->registers + offset); }
static inline uint16_t *gs_emu_u16(gs_emu_warp *w, uint32_t offset) { return (uint16_t *)(void *)(w->registers + offset); }
static inline uint32_t *gs_emu_u32(gs_emu_warp *w, uint32_t offset) { return (uint32_t *)(void *)(w->registers + offset); }
static inline uint64_t *gs_emu_u64(gs_emu_warp *w, uint32_t offset) { return (uint64_t *)(void *)(w->registers + offset); }
static inline float    *gs_emu_f32(gs_emu_warp *w, uint32_t offset) { return (float *)(void *)(w->registers + offset); }
static inline double   *gs_emu_f64(gs_emu_warp *w, uint32_t offset) { return (double *)(void *)(w->registers + offset); }
static inline uint32_t gs_emu_index(const gs_emu_warp *w, const gs_emu_op *op) { return (uint32_t)(op - w->code->op); }

/* ---- memory ---- */

typedef struct gs_emu_place {
    uint8_t      *bytes;       /* host address */
    gs_ptx_space  space;       /* GLOBAL, SHARED, LOCAL, PARAM */
    gs_emu_block *block;       /* SHARED: the block */
    uint32_t      offset;      /* SHARED: offset in the block */
    uint64_t      address;     /* GLOBAL */
    const gs_emu_allocation *allocation;   /* GLOBAL */
} gs_emu_place;

/* The address of one lane of an op decoded with gs_emu_address. */
static inline uint64_t gs_emu_lane_address(gs_emu_warp *w, const gs_emu_op *op, int slot, int lane)
{
    const uint32_t base = op->src[slot];
    if (base == GS_EMU_NONE) return (uint64_t)op->immediate;
    if (op->flags & GS_EMU_ADDRESS_64) return gs_emu_u64(w, base)[lane] + (uint64_t)op->immediate;
    return (uint32_t)(gs_emu_u32(w, base)[lane] + (uint32_t)op->immediate);
}

/* w accesses shared memory of another block, which may not end before it knows of that. */
void gs_emu_visit(gs_emu_warp *w, gs_emu_block *block);
/* ---- dependent launches, from dependent.c ---- */

/* These lanes access global memory, including the module's variables, but not constants. */
void gs_emu_early(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes);   /* called if some of them may not yet */
static inline void gs_emu_reach_out(gs_emu_warp *w, const gs_emu_op *op, uint32_t lanes)
{
    if (w->early & lanes) gs_emu_early(w, op, lanes);
}
void gs_emu_early_meet(gs_emu_warp *w, uint32_t lanes);                   /* bar.warp.sync of these lanes */
gs_emu_exec gs_emu_dependent_wait;                                         /* griddepcontrol.wait */

#endif
