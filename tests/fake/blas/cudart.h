/* SPDX-License-Identifier: MIT
 * The calls of CUDA's runtime that test programs make, as they see them, and what a fake cuBLAS asks of the fake runtime. Enums are int in the ABI. */
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
int cudaStreamEndCapture(void *stream, void **graph);              /* graphs are executable at once */
int cudaGraphLaunch(void *graph, void *stream);
int cudaGraphDestroy(void *graph);
const char *cudaGetErrorString(int error);

/* Whether work on the stream is recorded: the fake cuBLAS computes at once and cannot be captured. */
bool fake_cudart_captures(void *stream);

#endif
