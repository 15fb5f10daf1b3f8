/* SPDX-License-Identifier: MIT
 * Where the matrices of a batch begin, in elements. Set by the builder: GS_STRIDES (1: the arguments have strides; else matrices are ld * rows apart), GS_SAME (1: all matrices share
 * one A, 2: one B, 3: both). GS_K_GROUPS: all matrices share A and B, and each has a range of K. GS_POINTERS: a, b, c and d are arrays of pointers to the matrices, which the
 * previous kernel may have written: to be read after gs_dependent_wait. Needs args.h and along.h. */
#ifndef GS_KERNELS_STRIDES_CUH
#define GS_KERNELS_STRIDES_CUH

#ifndef GS_STRIDES
#define GS_STRIDES 0
#endif
#ifndef GS_GATE
#define GS_GATE 0
#endif
#ifndef GS_K_GROUPS
#define GS_K_GROUPS 0
#endif
#ifndef GS_SAME
#define GS_SAME 0
#endif
#ifndef GS_POINTERS
#define GS_POINTERS 0
#endif

/* Tells the compiler that a pointer loaded from memory points to global memory: otherwise it uses generic accesses, slower ones. */
template <typename POINTER> static __device__ __forceinline__ POINTER gs_global(POINTER pointer)
{
    __builtin_assume(__isGlobal(pointer));
    return pointer;
}

/* The base of the offsets below; null if GS_POINTERS and the operand is not read. */
static __device__ __forceinline__ const void *gs_base_of(const void *operand, long long index, bool read)
{
    return !GS_POINTERS ? operand : read ? gs_global(((const void *const *)operand)[index]) : nullptr;
}
static __device__ __forceinline__ const void *gs_base_a(const gs_kernel_args &p, long long index) { return gs_base_of(p.a, index, p.k > 0); }
static __device__ __forceinline__ const void *gs_base_b(const gs_kernel_args &p, long long index) { return gs_base_of(p.b, index, p.k > 0); }
static __device__ __forceinline__ const void *gs_base_c(const gs_kernel_args &p, long long index) { return gs_base_of(p.c, index, GS_BETA); }
static __device__ __forceinline__ void       *gs_base_d(const gs_kernel_args &p, long long index) { return GS_POINTERS ? gs_global(((void *const *)p.d)[index]) : p.d; }

/* The arguments with the a, b, c and d of one matrix. */
static __device__ __forceinline__ gs_kernel_args gs_args_of_matrix(const gs_kernel_args &p, long long index)
{
    gs_kernel_args own = p;
    own.a = gs_base_a(p, index);
    own.b = gs_base_b(p, index);
    own.c = gs_base_c(p, index);
    own.d = gs_base_d(p, index);
    return own;
}

static __device__ __forceinline__ long long gs_begin_a(const gs_kernel_args &p, long long index)
{
#if GS_STRIDES
    return index * p.stride_a;
#elif GS_K_GROUPS || GS_POINTERS
    return 0;
#else
    return index * p.lda * (GS_A_ALONG_K ? p.m : p.k);
#endif
}

static __device__ __forceinline__ long long gs_begin_b(const gs_kernel_args &p, long long index)
{
#if GS_STRIDES
    return index * p.stride_b;
#elif GS_K_GROUPS || GS_POINTERS
    return 0;
#else
    return index * p.ldb * (GS_B_ALONG_K ? (GS_GATE ? 2LL * p.n : p.n) : p.k);
#endif
}

/* Offsets of a row of C and of D in matrix `index`. */
static __device__ __forceinline__ long long gs_row_of_c(const gs_kernel_args &p, long long index, long long row)
{
#if GS_STRIDES
    return index * p.stride_c + row * p.ldc;
#elif GS_POINTERS
    return row * p.ldc;
#else
    return (index * p.m + row) * p.ldc;
#endif
}

static __device__ __forceinline__ long long gs_row_of_d(const gs_kernel_args &p, long long index, long long row)
{
#if GS_STRIDES
    return index * p.stride_d + row * p.ldd;
#elif GS_POINTERS
    return row * p.ldd;
#else
    return (index * p.m + row) * p.ldd;
#endif
}

#endif
