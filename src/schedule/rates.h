/* SPDX-License-Identifier: MIT
 * The constants of the time model for one device. Each is a line of the device's profile, which says where the value comes from. Cycles are SM clock
 * cycles; bytes per cycle are per multiprocessor. */
#ifndef GS_SCHEDULE_RATES_H
#define GS_SCHEDULE_RATES_H

/* legend: name, unit, least, greatest, what it is */
#define GS_RATES(X)                                                                                                                     \
    /* the machine */                                                                                                                   \
    X(sustained,       "share",       0.05, 1,     "of the peak matrix rate that the best kernels keep up for long: the floor")         \
    X(l2_kept,         "share",       0.05, 1,     "of L2 in which an operand survives until it is read again")                         \
    X(hbm_latency,     "cycles",      50,   10000, "from a request to its data, device memory, loaded machine")                         \
    X(l2_latency,      "cycles",      50,   10000, "from a request to its data, L2")                                                    \
    X(feed_bytes,      "bytes/cycle", 4,    1024,  "L2 to one multiprocessor")                                                          \
    X(gpc_bytes,       "bytes/cycle", 1,    8192,  "L2 to the multiprocessors of a GPC: what they ask for together counts once")        \
    X(pitch_feed,      "",            1,    8,     "factor on the bytes of tensor copies of rows that start 16 bytes past a multiple of 32")  \
    X(cpasync_feed,    "",            1,    8,     "factor on the bytes of rows that threads bring by cp.async")                                 \
    X(outside_rows,    "rows/cycle",  0.5,  1000,  "of tensor copies outside their matrix, whole chip")                                 \
    X(store_bytes,     "bytes/cycle", 1,    1024,  "one multiprocessor to L2")                                                          \
    X(port_bytes,      "bytes/cycle", 16,   1024,  "shared memory")                                                                     \
    X(issue_width,     "",            0.5,  16,    "warp instructions per cycle")                                                       \
    X(cluster3_share,  "share",       0.1,  1,     "of the multiprocessors that clusters of 3 or 6 blocks find room on")                \
    X(cluster4_share,  "share",       0.05, 1,     "of the multiprocessors that clusters of 4 to 8 blocks find room on")                \
    X(cluster16_share, "share",       0.05, 1,     "the same of larger ones")                                                           \
    X(block_start,     "cycles",      0,    10000, "of a multiprocessor per block: what starting a block takes from the others")        \
    /* ws */                                                                                                                            \
    X(wgmma_share,     "share",       0.05, 1,     "of the peak matrix rate inside a main loop of wgmma")                               \
    X(wgmma_issue,     "cycles",      0,    200,   "lost per wgmma: short N pays more")                                                 \
    X(ws_start,        "cycles",      0,    20000, "barriers, tensor maps, roles, before the first request")                            \
    X(ws_sync,         "cycles",      0,    2000,  "per k-block that two or more consumers cannot hide")                                \
    X(ws_sync_alone,   "cycles",      0,    2000,  "the same for one consumer")                                                         \
    X(ws_latency,      "cycles",      50,   10000, "from a free stage to its first data: barriers, tensor copy")                      \
    X(ws_held,         "k-blocks",    0,    4,     "computed until a stage that was read is free")                                      \
    X(ws_finish,       "cycles",      0,    20000, "of an epilogue, beside its chunks")                                                 \
    X(ws_chunk,        "cycles",      0,    5000,  "per 64 rows of 128 bytes of a consumer's epilogue")                                 \
    X(ws_direct,       "cycles",      0,    10000, "more per chunk when D is stored by threads")                                        \
    X(ws_read_c,       "cycles",      0,    10000, "more per chunk when C is read")                                                     \
    X(ws_stage,        "cycles",      0,    500,   "per stage of the ring: its set-up")                                                 \
    X(cluster_start,   "cycles",      0,    20000, "launch and barrier of a cluster")                                                   \
    X(cluster_sync,    "cycles",      0,    2000,  "more per k-block when a stage is freed across blocks")                              \
    X(multicast,       "share",       0,    1,     "of a multicast operand's bytes that a block of the cluster saves")                  \
    /* mma */                                                                                                                           \
    X(mma_share,       "share",       0.05, 1,     "of the peak matrix rate that mma reaches")                                          \
    X(mma_start,       "cycles",      0,    20000, "index arithmetic, before the first request")                                        \
    X(mma_sync,        "cycles",      0,    2000,  "per k-block: wait and barrier")                                                     \
    X(mma_warp_sync,   "cycles",      0,    500,   "more per k-block and warp of the block")                                            \
    X(mma_fragment,    "cycles",      0,    500,   "of a k-step of a warp at least: fragments, then mma")                                      \
    X(mma_step,        "cycles",      1,    200,   "per m16n8k16 of one warp")                                                          \
    X(mma_latency,     "cycles",      50,   10000, "from the issue of a k-block's copies to their data")                                \
    X(mma_held,        "k-blocks",    0,    4,     "computed before the copies of a later one are all issued")                          \
    X(copy_issue,      "slots",       0.1,  100,   "per copy instruction: address, predicate, copy")                                    \
    X(copy_chain,      "cycles",      0,    200,   "of the warp itself per copy instruction")                                           \
    X(copy_port,       "cycles",      0,    100,   "of the load unit per copy instruction of a warp")                                   \
    X(raw_port,        "cycles",      0,    100,   "the same for rows that do not start at multiples of 16 bytes")                      \
    X(word_port,       "cycles",      0,    100,   "a warp's load of single words from such rows in shared memory")                     \
    X(word_issue,      "slots",       0,    100,   "such a load, with what puts pairs together")                                        \
    X(mma_finish,      "cycles",      0,    20000, "of an epilogue, beside its slabs")                                                  \
    X(mma_slab,        "cycles",      0,    5000,  "dependent, per 16 rows of a warp's epilogue")                                       \
    X(mma_piece,       "cycles",      0,    500,   "dependent, per store instruction of a warp's slab")                                 \
    X(mma_store_port,  "cycles",      0,    200,   "of the load unit per store instruction of a warp")                                  \
    /* slicek and gemv: registers are the ring */                                                                                        \
    X(direct_start,    "cycles",      0,    20000, "what the shortest block takes beyond a launch")                                     \
    X(direct_latency,  "cycles",      50,   10000, "from the request of a step to its data")                                            \
    X(direct_load,     "cycles",      0,    200,   "of the warp itself per 16-byte load")                                               \
    X(direct_port,     "cycles",      0,    100,   "of the load unit per 16-byte load of a warp")                                       \
    X(direct_turn,     "cycles",      0,    200,   "per 8 x 8 matrix that is transposed between lanes")                                 \
    X(direct_finish,   "cycles",      0,    20000, "of an epilogue, beside its parts")                                                  \
    X(direct_sync,     "cycles",      0,    5000,  "more where warps share K: shared memory, a barrier")                                \
    X(direct_part,     "cycles",      0,    500,   "per part of K and element of a thread that is added")                               \
    /* K shared by blocks */                                                                                                            \
    X(split_start,     "cycles",      0,    20000, "launch of a cluster along K")                                                       \
    X(split_sync,      "cycles",      0,    20000, "exchange within a cluster: barriers, latency")                                      \
    X(split_bytes,     "bytes/cycle", 1,    1024,  "of partial tiles between the blocks of a cluster")                                  \
    X(ticket_sync,     "cycles",      0,    20000, "fence, ticket and the last block's first partial tile")                             \
    X(ticket_bytes,    "bytes/cycle", 1,    1024,  "of partial tiles that the last block adds")                                         \
    /* splitk */                                                                                                                          \
    X(splitk_start,      "cycles",      0,    20000, "what the shortest block takes beyond a launch")                                     \
    X(splitk_latency,    "cycles",      50,   10000, "from a free stage to its first data")                                               \
    X(splitk_sync,       "cycles",      0,    2000,  "per k-block that its consumers cannot hide")                                        \
    X(splitk_finish,     "cycles",      0,    20000, "of an epilogue, beside its elements")                                               \
    X(splitk_element,    "cycles",      0,    2000,  "per 16 bytes of D that a thread stores")                                            \
    /* simple */                                                                                                                        \
    X(simple_step,     "cycles",      1,    5000,  "dependent, per step along K of a thread")                                           \
    X(simple_step_f16, "cycles",      1,    5000,  "the same, accumulated in f16")                                                      \
    X(simple_port,     "cycles",      0.1,  500,   "of the load unit per step of a warp, B read along its rows")                        \
    X(simple_port_far, "cycles",      0.1,  500,   "the same, B read across its rows")                                                  \
    /* launches of unknown structure */                                                                                                 \
    X(launch_alu,      "cycles",      0,    100,   "dependent, per warp instruction of arithmetic, addresses, control")                 \
    X(launch_shared,   "cycles",      0,    500,   "dependent, per access to shared memory")                                            \
    X(launch_matrix,   "cycles",      0,    500,   "dependent, per mma of a warp")                                                      \
    X(launch_barrier,  "cycles",      0,    2000,  "dependent, per barrier or fence of a warp")                                         \
    X(launch_request,  "share",       0,    1,     "of the memory latency that a global load or a wait for a copy adds to a warp")      \
    X(launch_local,    "cycles",      0,    500,   "of the load unit per access to local memory or parameters")                          \
    X(launch_start,    "share",       0,    4,     "of ws_start or mma_start, by whether there are bulk copies, before the first request") \
    X(launch_filling,  "share",       0,    4,     "of ws_latency or mma_latency, each time that a block's shared memory was filled")

typedef struct gs_rates {
#define GS_RATE(name, unit, least, most, what) double name;
    GS_RATES(GS_RATE)
#undef GS_RATE
} gs_rates;

#endif
