/* SPDX-License-Identifier: MIT
 * A program's own product, for comparison: column-major, f16, bf16 or f32, with constants of CUDA's values. */
#ifndef TESTS_SHIM_PRODUCT_H
#define TESTS_SHIM_PRODUCT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "fake/blas/cublas.h"
#include "fake/blas/cudart.h"

enum { F32 = 0, F16 = 2, BF16 = 14 };
enum { COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_32F_PEDANTIC = 69 };
enum { OP_N = 0, OP_T = 1 };

#define NEED(call)                                                                           \
    do {                                                                                     \
        const int status_ = (call);                                                          \
        if (status_ != 0) {                                                                  \
            fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, status_);     \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

static inline size_t size_of(int type) { return type == F32 ? 4 : 2; }

static inline void put(void *at, int type, int64_t i, double value)
{
    if (type == F32) ((float *)at)[i] = (float)value;
    else ((uint16_t *)at)[i] = type == F16 ? gs_f64_to_f16(value) : gs_f64_to_bf16(value);
}

static inline double get(const void *at, int type, int64_t i)
{
    if (type == F32) return ((const float *)at)[i];
    const uint16_t half = ((const uint16_t *)at)[i];
    return type == F16 ? gs_f16_to_f32(half) : gs_bf16_to_f32(half);
}

/* A matrix on host and device, column-major with leading dimension ld; its elements are small multiples of 1/8, exact in all types. */
typedef struct matrix {
    void   *host, *device;
    int     type, ld;
    int64_t count;
    size_t  bytes;
} matrix;

static inline matrix make_matrix(int type, int rows, int columns, int ld, int batch, unsigned seed)
{
    matrix m = {.type = type, .ld = ld, .count = (int64_t)ld * columns * batch};
    (void)rows;
    m.bytes = (size_t)m.count * size_of(type);
    m.host = malloc(m.bytes);
    for (int64_t i = 0; i < m.count; i++) {
        seed = seed * 1664525u + 1013904223u;
        put(m.host, type, i, ((int)(seed >> 24) % 17 - 8) / 8.0);
    }
    NEED(cudaMalloc(&m.device, m.bytes + 64));
    NEED(cudaMemcpy(m.device, m.host, m.bytes, FAKE_TO_DEVICE));
    return m;
}

static inline void free_matrix(matrix *m)
{
    NEED(cudaFree(m->device));
    free(m->host);
}

/* ---- a case as text: "m=64,op_a=1,alpha=0.5" ---- */

typedef struct named_number {
    const char *name;
    int        *to;
} named_number;

typedef struct named_flag {
    const char *name;
    bool       *to;
} named_flag;

/* Sets the fields that the text names and leaves the others. An unknown name ends the program. */
static inline void read_words(const char *text, const named_number *numbers, size_t number_count, const named_flag *flags, size_t flag_count, double *alpha, double *beta)
{
    char copy[256], *at = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, ",", &at); word; word = strtok_r(NULL, ",", &at)) {
        char *const value = strchr(word, '=');
        const double number = value ? strtod(value + 1, NULL) : 1;
        if (value) *value = '\0';
        bool known = true;
        if (strcmp(word, "alpha") == 0) *alpha = number;
        else if (strcmp(word, "beta") == 0) *beta = number;
        else if (strcmp(word, "usual") != 0) known = false;
        for (size_t i = 0; i < number_count; i++)
            if (strcmp(word, numbers[i].name) == 0) *numbers[i].to = (int)number, known = true;
        for (size_t i = 0; i < flag_count; i++)
            if (strcmp(word, flags[i].name) == 0) *flags[i].to = true, known = true;
        if (!known) {
            fprintf(stderr, "what is %s?\n", word);
            exit(2);
        }
    }
}

#endif
