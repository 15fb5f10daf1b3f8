/* SPDX-License-Identifier: MIT
 * The CUDA runtime calls of test programs, as they declare them, and what the fake cuBLAS asks the fake runtime. Enums are int in the ABI. */
#ifndef FAKE_CUDART_H
#define FAKE_CUDART_H

#include <stdbool.h>
#include <stddef.h>

enum { FAKE_TO_DEVICE = 1, FAKE_TO_HOST = 2 };                     /* cudaMemcpyKind */

int cudaMalloc(void **pointer, size_t bytes);
int cudaFree(void *pointer);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaStreamCreate(void **stream);
int cudaStreamDestroy(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaDeviceSynchronize(void);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);              /* the graph can be launched at once */
int cudaGraphLaunch(void *graph, void *stream);
int cudaGraphDestroy(void *graph);
const char *cudaGetErrorString(int error);

/* Whether the stream is being captured. The fake cuBLAS computes at once, so its work cannot be captured. */
bool fake_cudart_captures(void *stream);

#endif
