/* SPDX-License-Identifier: MIT
 * What a test may ask the fake libcuda, through dlsym on the library that GEMMSMITH_LIBCUDA names.
 *
 * Environment, read at every call:
 *     FAKE_CUDA_VERSION   CUDA version of the driver           13000
 *     FAKE_CUDA_DEVICES   number of devices                    1
 *     FAKE_CUDA_CC        compute capability times ten         90
 *     FAKE_CUDA_NAME      device name                          NVIDIA H200
 *     FAKE_CUDA_MEMORY    device memory, bytes                 1 GiB
 *     FAKE_CUDA_FAIL      symbol[:nth]: that call fails, or only its nth
 *     FAKE_CUDA_ERROR     the result it fails with             999
 *     FAKE_CUDA_RESETS    how often primary contexts were made anew                            0
 *     FAKE_CUDA_CAPTURED  1: a stream that waits for the default stream is being captured  0
 *     FAKE_CUDA_MAPS      that many parameters of a launch are tensor maps, at most 3          0
 *     FAKE_CUDA_ARGS      1: behind them stands a gs_kernel_args                               0
 *     FAKE_CUDA_THREADS   most threads of every function       1024
 *     FAKE_CUDA_STATIC    static shared memory of every function   0
 *     FAKE_CUDA_LAUNCH_US time that events see per launch      10 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

typedef struct fake_cuda_launch {
    unsigned int grid[3], block[3], cluster[3];   /* cluster 0 0 0: the attribute was not given */
    unsigned int smem;
    int          dependent, extensible;           /* extensible: through cuLaunchKernelEx */
    int          count;                           /* launches so far */
    const void  *addresses[3];                    /* of tensor maps among the first parameters, where FAKE_CUDA_MAPS says how many */
    const void  *pointers[5];                     /* a, b, c, d and workspace, where FAKE_CUDA_ARGS says that there are some, */
    float        alpha, beta;                     /* and the scalars, */
    int          early_b;                         /* and whether B may be read early */
    int          edges;                           /* programmatic ones of the graph that was captured last */
} fake_cuda_launch;

/* Contexts retained plus memory, modules, streams, events and graphs that have not been destroyed. */
typedef int fake_cuda_live_function(void);
int fake_cuda_live(void);

typedef const fake_cuda_launch *fake_cuda_last_function(void);
const fake_cuda_launch *fake_cuda_last(void);

/* The nodes of the graph that was launched last, in the order of their capture, as they were then: how many, and the first FAKE_CUDA_NODES of them;
 * what is no kernel is all zeros. */
#define FAKE_CUDA_NODES 16
typedef int fake_cuda_replayed_function(const fake_cuda_launch **launches);
int fake_cuda_replayed(const fake_cuda_launch **launches);

/* Calls of an entry since the library was loaded. */
typedef int fake_cuda_calls_function(const char *symbol);
int fake_cuda_calls(const char *symbol);

#endif
