/* SPDX-License-Identifier: MIT
 * Descriptors of the installed cuBLASLt, which needs no GPU for them, as problems; and the time to look at them. Exit code 77: there is no cuBLASLt. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "cublas/cublas.h"
#include "shim/lt_describe.h"

static int (*desc_set)(void *, int, const void *, size_t);
static int (*layout_create)(void **, int, uint64_t, uint64_t, int64_t);
static int (*layout_set)(void *, int, const void *, size_t);

static void need(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "not ok: %s\n", what);
    exit(1);
}

static void take(void *library, const char *name, void *field)
{
    void *const address = dlsym(library, name);
    need(address != NULL, name);
    memcpy(field, &address, sizeof address);
}

static void expect(const gs_real_cublaslt *real, void *desc, void *a, void *b, void *c, void *d, gs_shim_reason reason, const char *problem)
{
    char text[GS_PROBLEM_TEXT] = "";
    for (int i = 0; i < 2; i++) {   /* the second time the descriptor is known */
        const gs_lt_asked *const asked = gs_lt_described(real, desc, a, b, c, d);
        if (asked->reason == reason && (reason != GS_SHIM_SERVED || strcmp(gs_problem_format(&asked->problem, text), problem) == 0)) continue;
        fprintf(stderr, "not ok: %s (%s), expected %s (%s)\n", gs_shim_reason_text(asked->reason), text, gs_shim_reason_text(reason), problem);
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);   /* CPU time, because the machine may be busy */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
    void *library = NULL, *desc, *w, *x, *y;
    const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.12"};
    for (size_t i = 0; i < GS_COUNT(names) && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return printf("skipped: there is no cuBLASLt\n"), 77;
    static const char rows = 0;   /* an address in this program */
    const gs_real_cublaslt *const real = gs_real_cublaslt_of((const void *)&rows);
    need(real && real->desc_create && real->layout_get && real->emulated == NULL, "the loaded library is found");
    take(library, "cublasLtMatmulDescSetAttribute", &desc_set);
    take(library, "cublasLtMatrixLayoutCreate", &layout_create);
    take(library, "cublasLtMatrixLayoutSetAttribute", &layout_set);

    /* y = x w^T + bias as in torch's addmm: 16 tokens, 512 to 1024 features */
    const int32_t op_t = 1, sm = 4, batch = 3, device = 1;
    const int64_t stride = 1024 * 512;
    uint32_t epilogue = GS_LT_EPILOGUE_BIAS;
    void *bias = (void *)(uintptr_t)4096;
    need(real->desc_create(&desc, GS_CUBLAS_COMPUTE_32F, GS_CUDA_R_32F) == 0, "cublasLtMatmulDescCreate");
    need(layout_create(&w, GS_CUDA_R_16BF, 512, 1024, 512) == 0 && layout_create(&x, GS_CUDA_R_16BF, 512, 16, 512) == 0 && layout_create(&y, GS_CUDA_R_16BF, 1024, 16, 1024) == 0, "layouts");
    expect(real, desc, w, x, y, y, GS_SHIM_LAYOUT, NULL);
    need(desc_set(desc, GS_LT_DESC_TRANSA, &op_t, 4) == 0, "transa");
    expect(real, desc, w, x, y, y, GS_SHIM_SERVED, "bf16:16x1024x512:tn");
    need(desc_set(desc, GS_LT_DESC_EPILOGUE, &epilogue, 4) == 0 && desc_set(desc, GS_LT_DESC_BIAS, &bias, 8) == 0, "bias");
    expect(real, desc, w, x, y, y, GS_SHIM_SERVED, "bf16:16x1024x512:tn:ep=bias");
    need(gs_lt_described(real, desc, w, x, y, y)->bias == bias, "where the bias is");
    epilogue = GS_LT_EPILOGUE_BIAS | GS_LT_EPILOGUE_GELU;
    need(desc_set(desc, GS_LT_DESC_EPILOGUE, &epilogue, 4) == 0, "gelu");
    expect(real, desc, w, x, y, y, GS_SHIM_SERVED, "bf16:16x1024x512:tn:ep=bias+gelu");

    const int rounds = 200000;
    const double start = now_ns();
    for (int i = 0; i < rounds; i++) need(gs_lt_described(real, desc, w, x, y, y)->reason == GS_SHIM_SERVED, "again");
    const double known = (now_ns() - start) / rounds, begin = now_ns();
    gs_lt_asked asked;
    for (int i = 0; i < rounds / 100; i++) gs_lt_describe(real, desc, w, x, y, y, &asked);
    printf("descriptors: %.0f ns known, %.0f ns new\n", known, (now_ns() - begin) / (rounds / 100));

    /* An attribute that we do not support, then a batch. */
    need(desc_set(desc, 15, &sm, 4) == 0, "SM_COUNT_TARGET");
    expect(real, desc, w, x, y, y, GS_SHIM_ATTRIBUTE, NULL);
    need(real->desc_destroy(desc) == 0 && real->desc_create(&desc, GS_CUBLAS_COMPUTE_32F, GS_CUDA_R_32F) == 0 && desc_set(desc, GS_LT_DESC_TRANSA, &op_t, 4) == 0, "another");
    need(layout_set(w, GS_LT_LAYOUT_BATCH_COUNT, &batch, 4) == 0, "batch");
    expect(real, desc, w, x, y, y, GS_SHIM_LAYOUT, NULL);
    need(layout_set(x, GS_LT_LAYOUT_BATCH_COUNT, &batch, 4) == 0 && layout_set(y, GS_LT_LAYOUT_BATCH_COUNT, &batch, 4) == 0, "batches");
    expect(real, desc, w, x, y, y, GS_SHIM_SIZES, NULL);   /* all matrices of D at the same address */
    const int64_t stride_y = 1024 * 16;
    need(layout_set(y, GS_LT_LAYOUT_BATCH_STRIDE, &stride_y, 8) == 0 && layout_set(w, GS_LT_LAYOUT_BATCH_STRIDE, &stride, 8) == 0, "strides");
    expect(real, desc, w, x, y, y, GS_SHIM_SERVED, "bf16:16x1024x512:tn:b=3:sa=0");
    need(desc_set(desc, 2, &device, 4) == 0, "pointer mode");
    expect(real, desc, w, x, y, y, GS_SHIM_SCALARS, NULL);
    return 0;
}
