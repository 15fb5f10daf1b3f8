/* SPDX-License-Identifier: MIT
 * Processes that do more than multiply: process WHAT... runs the steps in order. Each step prints a line. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "product.h"

static void  *handle;
static matrix a, b, c;

static int multiply(int m, int n, int k, int algo)
{
    const float alpha = 1, beta = 0;
    return cublasGemmEx(handle, OP_N, OP_N, m, n, k, &alpha, a.device, F16, a.ld, b.device, F16, b.ld, &beta, c.device, F16, c.ld, COMPUTE_32F, algo);
}

/* Prints "served", "passed on", or the status. */
static void call(const char *name, int m)
{
    const int before = fake_blas_calls(), status = multiply(m, 32, strcmp(name, "split") == 0 ? 256 : 64, 99);
    if (status) printf("%s: status %d\n", name, status);
    else printf("%s: %s\n", name, fake_blas_calls() == before ? "served" : "passed on");
    fflush(stdout);
}

static void in_child(const char *name)
{
    const pid_t child = fork();
    if (child == 0) {
        call(name, 64);
        exit(0);
    }
    int status;
    NEED(waitpid(child, &status, 0) != child);
    if (status) printf("%s: ended with %d\n", name, status);
}

/* Makes a call on the second device. */
static void second_device(void)
{
    void *const driver = dlopen(getenv("GEMMSMITH_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
    int (*retain)(void **, int), (*set_current)(void *);
    void *const found[] = {dlsym(driver, "cuDevicePrimaryCtxRetain"), dlsym(driver, "cuCtxSetCurrent")}, *context;
    memcpy(&retain, &found[0], sizeof retain);
    memcpy(&set_current, &found[1], sizeof set_current);
    NEED(retain(&context, 1));
    NEED(set_current(context));
    call("second device", 64);
}

/* Makes a call without a current context, like a thread that never used the device. */
static void without_context(void)
{
    void *const driver = dlopen(getenv("GEMMSMITH_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
    int (*get_current)(void **), (*set_current)(void *);
    void *const found[] = {dlsym(driver, "cuCtxGetCurrent"), dlsym(driver, "cuCtxSetCurrent")}, *context;
    memcpy(&get_current, &found[0], sizeof get_current);
    memcpy(&set_current, &found[1], sizeof set_current);
    NEED(get_current(&context));
    NEED(set_current(NULL));
    call("without a context", 64);
    NEED(set_current(context));
    call("with it again", 64);
}

/* Makes a call in a context that is not the device's primary one. */
static void other_context(void)
{
    void *const driver = dlopen(getenv("GEMMSMITH_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
    int (*get_current)(void **), (*set_current)(void *), (*make)(void **, unsigned int, int);
    void *const found[] = {dlsym(driver, "cuCtxGetCurrent"), dlsym(driver, "cuCtxSetCurrent"), dlsym(driver, "cuCtxCreate_v2")}, *usual, *context, *after;
    memcpy(&get_current, &found[0], sizeof get_current);
    memcpy(&set_current, &found[1], sizeof set_current);
    memcpy(&make, &found[2], sizeof make);
    NEED(get_current(&usual));
    NEED(make(&context, 0, 0));
    call("in another context", 64);
    NEED(get_current(&after));
    NEED(after != context);
    NEED(set_current(usual));
    call("in the usual one", 64);
}

enum { THREADS = 8, SIZES = 3, ROUNDS = 20 };

static pthread_barrier_t together;   /* all threads make their first call at the same time */

static void *many(void *failures)
{
    NEED(cudaDeviceSynchronize());
    pthread_barrier_wait(&together);
    for (int i = 0; i < ROUNDS; i++) *(int *)failures += multiply(8 * (1 + i % SIZES), 32, 64, 99) != 0;
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    int failures[THREADS] = {0}, sum = 0;
    NEED(pthread_barrier_init(&together, NULL, THREADS));
    for (int i = 0; i < THREADS; i++) NEED(pthread_create(&thread[i], NULL, many, &failures[i]));
    for (int i = 0; i < THREADS; i++) {
        NEED(pthread_join(thread[i], NULL));
        sum += failures[i];
    }
    printf("threads: %d failures\n", sum);
}

/* ---- the cost of passing a call on ---- */

typedef int gemm(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *, void *, int, int, int, int);

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);   /* CPU time, because the machine may be busy */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_of(gemm *function, int m, int algo, int mode)
{
    const float alpha = 1, beta = 0;
    double best = 1e9;
    NEED(cublasSetPointerMode_v2(handle, mode));
    for (int round = 0; round < 20; round++) {
        const double start = now_ns();
        for (int i = 0; i < 2000; i++) NEED(function(handle, OP_N, OP_N, m, 32, 64, &alpha, a.device, F16, a.ld, b.device, F16, b.ld, &beta, c.device, F16, c.ld, COMPUTE_32F, algo));
        best = fmin(best, (now_ns() - start) / 2000);
    }
    NEED(cublasSetPointerMode_v2(handle, 0));
    return best;
}

/* Compares the time of the real function with that of the function that the program finds under its name. */
static void cost(void)
{
    void *const library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_NOLOAD), *const found = dlsym(library, "cublasGemmEx");
    gemm *real;
    memcpy(&real, &found, sizeof real);
    if (!getenv("FAKE_BLAS_COMPUTES")) printf("FAKE_BLAS_COMPUTES=0 is missing\n");
    const double straight = time_of(real, 64, 99, 0), algorithm = time_of(cublasGemmEx, 64, 5, 0), scalars = time_of(cublasGemmEx, 64, 99, 1), planned = time_of(cublasGemmEx, 48, 99, 0);
    printf("ns: straight %.0f, passed on at once %.0f, after asking the handle %.0f, after finding the plan (two calls of the fake driver in it) %.0f\n", straight, algorithm - straight,
           scalars - straight, planned - straight);
    const double most = fmax(fmax(algorithm, scalars), planned) - straight;
    printf("passing on: %s\n", most < atof(getenv("MOST_NS") ? getenv("MOST_NS") : "1000") ? "cheap" : "dear");
}

int main(int count, char **words)
{
    a = make_matrix(F16, 64, 256, 64, 1, 1);
    b = make_matrix(F16, 256, 32, 256, 1, 2);
    c = make_matrix(F16, 64, 32, 64, 1, 3);
    NEED(cublasCreate_v2(&handle));
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "call") == 0) call("call", 64);
        else if (strcmp(words[i], "small") == 0) call("small", 32);
        else if (strcmp(words[i], "split") == 0) call("split", 64);   /* its plan needs a workspace */
        else if (strcmp(words[i], "library") == 0) call("library", 48);
        else if (strcmp(words[i], "second") == 0) second_device();
        else if (strcmp(words[i], "reset") == 0) setenv("FAKE_CUDA_RESETS", "1", 1);
        else if (strcmp(words[i], "fork") == 0) in_child("child");
        else if (strcmp(words[i], "context") == 0) without_context();
        else if (strcmp(words[i], "other") == 0) other_context();
        else if (strcmp(words[i], "threads") == 0) threads();
        else if (strcmp(words[i], "cost") == 0) cost();
        else return 2;
    }
    NEED(cublasDestroy_v2(handle));
    return 0;
}
