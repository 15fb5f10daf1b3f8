/* SPDX-License-Identifier: MIT
 * What a test can ask the fake libcuda, by dlsym in the library that GEMMSMITH_LIBCUDA names.
 *
 * Environment, read at every call:
 *     FAKE_CUDA_VERSION   CUDA version of the driver           13000
 *     FAKE_CUDA_DEVICES   number of devices                    1
 *     FAKE_CUDA_CC        compute capability times ten         90
 *     FAKE_CUDA_NAME      device name                          NVIDIA H200
 *     FAKE_CUDA_MEMORY    device memory, bytes                 1 GiB
 *     FAKE_CUDA_FAIL      symbol[:nth]: that call fails, or only its nth
 *     FAKE_CUDA_ERROR     the result it fails with             999
 *     FAKE_CUDA_RESETS    how often primary contexts were reset                               0
 *     FAKE_CUDA_CAPTURED  1: a stream that synchronises with the default stream is being captured  0
 *     FAKE_CUDA_MAPS      how many first parameters of a launch are tensor maps, at most 3      0
 *     FAKE_CUDA_ARGS      1: the next parameter is a gs_kernel_args                            0
 *     FAKE_CUDA_THREADS   maximum threads of every function    1024
 *     FAKE_CUDA_STATIC    static shared memory of every function   0
 *     FAKE_CUDA_LAUNCH_US duration of a launch, for events     10 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

typedef struct fake_cuda_launch {
    unsigned int grid[3], block[3], cluster[3];   /* cluster 0 0 0: no cluster attribute */
    unsigned int smem;
    int          dependent, extensible;           /* dependent: programmatic stream serialization; extensible: by cuLaunchKernelEx */
    int          count;                           /* launches so far */
    const void  *addresses[3];                    /* of the tensor maps among the first parameters, if FAKE_CUDA_MAPS is set */
    const void  *pointers[5];                     /* a, b, c, d and workspace, if FAKE_CUDA_ARGS is set, */
    float        alpha, beta;                     /* then also the scalars */
    int          early_b;                         /* and whether B may be read early */
    int          edges;                           /* programmatic edges of the graph captured last */
} fake_cuda_launch;

/* Retained contexts plus memory, modules, streams, events and graphs that were not destroyed. */
typedef int fake_cuda_live_function(void);
int fake_cuda_live(void);

typedef const fake_cuda_launch *fake_cuda_last_function(void);
const fake_cuda_launch *fake_cuda_last(void);

/* The nodes of the graph launched last, in the order of their capture, as they were at that launch: how many, and the first FAKE_CUDA_NODES of them. A node that is no
 * kernel is all zeros. */
#define FAKE_CUDA_NODES 16
typedef int fake_cuda_replayed_function(const fake_cuda_launch **launches);
int fake_cuda_replayed(const fake_cuda_launch **launches);

/* Calls of an entry point since the library was loaded. */
typedef int fake_cuda_calls_function(const char *symbol);
int fake_cuda_calls(const char *symbol);

#endif
