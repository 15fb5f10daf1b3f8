/* SPDX-License-Identifier: MIT
 * The worker: a disposable child process, one per device, in which candidates run. The parent talks to it in lines of JSON over
 * a pipe, waits with a deadline, and replaces it when it hangs or dies. The parent never touches a device itself.
 *
 * One request object per line, one reply object per line. Fields in [] may be left out; the value shown is then used.
 *
 * {"op":"hello"}
 *   -> {"ok":true,"device":"cuda:0","cublaslt":130100,"nvrtc":13000,"caps":{every field of gs_caps by its name}}
 *      cublaslt and nvrtc are 0 where the library cannot be opened; cublaslt also for an emulated device.
 *
 * {"op":"compile","problem":P,"candidate":C,["kernel":KERNEL,"dependent":false]}
 *   -> {"ok":true,"registers":168,"smem":214016,"detail":"..."[,"unfiltered":true]}
 *      compiled, inspected if it is a user kernel, and loaded; nothing is launched. {"ok":false} says why not.
 *      unfiltered: the compiler of a user kernel ran under limits, but without a filter of system calls.
 *
 * {"op":"precompile","problem":P,"candidate":C,"caps":{as in hello's reply},["kernel":KERNEL,"edges":false]}
 *   -> {"ok":true}
 *      compiled into the cache for the device of these caps, which this worker need not have; nothing is loaded. edges: a schedule for the edge problems of
 *      verification instead; failures of these are ignored.
 *
 * {"op":"metrics","problem":P,"candidate":C,["kernel":KERNEL,"launch":false]}
 *   -> {"ok":true,"metrics":"registers 168\nsmem 214016\n"}
 *      lines of worker/metrics.h: of the kernel as it is compiled, or, on an emulated device, of one launch on zeros.
 *
 * {"op":"verify","problem":P,"candidate":C,["kernel":KERNEL,"parts":255,"seed":0,"repeats":0,"dependent":false]}
 *   -> {"ok":true,"verdict":"pass","part":0,"problem":P,"mismatches":0,"row":-1,"col":-1,"got":0,"want":0,"error":0,"limit":0,
 *       "reason":"...","detail":"...","cublaslt":false,"yardstick":true,"registers":168,"smem":214016,"seconds":1.2}
 *      problem: the one it failed on; cublaslt: a plan that chose cuBLASLt for it; yardstick: cuBLAS was available to compare with; registers and smem of a schedule, else 0.
 *
 * {"op":"bench","problem":P,"contenders":[C,...],["kernel":KERNEL,"reference":0,"mode":"offline","rounds":0,"warm":false,"warmup_s":-1,
 *   "budget_s":0,"replay_us":0,"target_qps":0,"call_time":false,"check":true,"narrow":false,"slow":0,"seed":0,"samples":false,
 *   "routing":"random","dependent":false,"behind":false]}
 *   -> {"ok":true,"reference":0,"mode":"offline",["predicted":true,]["dependent":true,]["behind":true,]["routing":"random",]"rounds":30,"calls":12,"sets":5,"seconds":0.8,
 *       "clocks":{"before":CLOCKS,"after":CLOCKS},"contenders":[ENTRY,...]}
 *      CLOCKS {"sm_mhz":1980,"memory_mhz":2619,"power_w":400,"temperature_c":40}
 *      ENTRY  {"name":"ws/...","layout":"tn","problem":P,"status":"GS_OK","message":"","detail":"...","suggestion":0,"wrong":false,
 *              "mismatches":0,["rounds":4,]"device_us":12.3,["untrusted":"...",]"device_ratio":RATIO,["device_samples":[...],]
 *              "call_us":14.1,"call_p50":14.1,"call_p95":14.9,"call_p99":15.2,"call_ratio":RATIO[,"call_samples":[...]]}
 *      RATIO  {"median":1.02,"low":1.01,"high":1.03,"verdict":"faster"}: time of the reference / time of this one
 *      A contender that could not be prepared or run has its status and message, and no figures; "wrong" has none either. What was
 *      not measured is left out. reference in the reply: the one that ratios refer to, -1 if the one asked for could not run.
 *      predicted: the device is emulated, device_us is no measurement. dependent: our launches that allow it were dependent.
 *      routing: of a problem with groups, random (every row to any group) or skewed.
 *      rounds of an entry: if it was timed in fewer than the run had, because it was dropped (narrow, slow).
 *
 * A contender C is "<layout>:<name>" or "<name>": layout nn or tn (nt or tt, if A is stored K x M) or empty (the problem's own); name cublas, cublaslt-heuristic,
 * cublaslt-autotuning, cublas-groups, cublaslt-groups, cublaslt-groups-8, plan (what the library would choose),
 * measured (the same by a race on the device), a schedule, or the name of the request's KERNEL, a user kernel:
 * {"name":"source:<hash>","source":"CUDA C","manifest":"manifest 1 ...",["compile_s":48]} (kernel/manifest.h); compile_s: time limit of one compilation
 * in the sandbox (sandbox/sandbox.h). For the other layout ldb keeps its padding.
 * Every request may carry "cache": the cubin cache directory; the one of the first request that opens the device counts.
 *
 * Any failure of the machine: {"ok":false,"status":"GS_ERROR_...","field":"...","column":0,"message":"..."}.
 * A reply that ends in ,"last":true} is the child's last one: the device is lost for it (a kernel faulted), it exits with
 * GS_WORKER_LOST by itself. */
#ifndef GS_WORKER_WORKER_H
#define GS_WORKER_WORKER_H

#include <stdbool.h>
#include <sys/types.h>
#include <gemmsmith/status.h>

#include "base/stop.h"
#include "base/text.h"
#include "schedule/caps.h"

#define GS_WORKER_LOST  70              /* exit code after the device was lost */
#define GS_WORKER_REPLY (64u << 20)     /* bytes of the longest reply */
#define GS_WORKER_DEVICE 64             /* bytes of a name of a device, as long as GS_DEVICE_NAME */

typedef struct gs_worker {
    char    device[GS_WORKER_DEVICE];
    char    program[1024];      /* argv[0] of the child; $GEMMSMITH_WORKER overrides it */
    pid_t   pid;                /* 0: not running */
    int     to, from;           /* pipe ends */
    int     errors;             /* the child's standard error; -1: inherited, at log level debug */
    char    tail[384];          /* the last bytes it wrote there */
    gs_text pending;            /* bytes of the line being read */
    int     started;            /* how many children so far */
    int     signal;             /* that ended the child during the last call; 0: none did */
    int64_t busy;               /* gs_clock_ns: when the last gs_worker_bench or gs_worker_verify ended; 0: there was none */
    int64_t until;              /* gs_clock_ns: a call that is not answered by then is given up, whatever its own timeout; 0: no limit */
    bool  (*unwanted)(void *self);   /* asked several times a second during a call; true gives the call up. NULL: never */
    void   *self;               /* of unwanted */
} gs_worker;

/* Remembers what to start; the child starts at the first call. program NULL: /proc/self/exe. The child runs
 * `program worker --device NAME`, in its own process group, and dies with the thread that started it.
 * Ignores SIGPIPE in this process: a child that died must not end its parent. */
void gs_worker_init(gs_worker *worker, const char *device, const char *program);

/* Sends one request line and waits for one reply line (*reply is the caller's, free()). WORKER_HUNG: no reply within
 * timeout_s, the child was killed. WORKER_DIED: it exited, was killed by a signal, could not be started or wrote a line that is
 * too long; *error says which. INTERRUPTED: gs_stop_requested was set before the call, or 10 s passed since it was set (a reply
 * that arrives within these 10 s is returned as usual); or worker->until has passed, or worker->unwanted said so: the child is
 * killed at once then. The next call starts a fresh child. */
gs_status gs_worker_call(gs_worker *worker, const char *request, double timeout_s, char **reply, gs_error *error);

/* Whether such a status says that the worker is gone, or its device with it. */
static inline bool gs_worker_lost(gs_status status)
{
    return status == GS_ERROR_WORKER_HUNG || status == GS_ERROR_WORKER_DIED || status == GS_ERROR_FAULT;
}

/* As gs_worker_call, with the reply parsed (a jansson object, json_decref) and {"ok":false} turned into its status and *error.
 * A line that is no JSON object is WORKER_DIED: the child is killed. */
struct json_t;
gs_status gs_worker_request(gs_worker *worker, const char *request, double timeout_s, struct json_t **reply, gs_error *error);

/* Ends the child (politely, then by force) and frees what the worker holds. It may be used again: the next call starts a child. */
void gs_worker_stop(gs_worker *worker);

/* Kills the child at once, without asking it to end. The worker may be used again likewise. */
void gs_worker_kill(gs_worker *worker);

/* The child's side: serves requests from standard input until it closes. Returns the exit code: 0, 1 (a pipe failed) or
 * GS_WORKER_LOST. Whatever else writes to standard output is sent to standard error. */
int gs_worker_serve(const char *device);

#endif
