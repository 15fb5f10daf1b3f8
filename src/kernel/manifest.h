/* SPDX-License-Identifier: MIT
 * A launch manifest: everything the host must know to launch a kernel, as data. Never host code.
 *
 * Text form (one field per line, this order, '#' starts a comment; optional lines in brackets; CRLF line ends and a leading byte order mark
 * are accepted):
 *
 *     manifest 1
 *     accumulator f32                       f32 | f16
 *     determinism bitwise                   bitwise: equal over repeats | none
 *     align a=16 b=16 c=2 d=16              alignment of each pointer in bytes
 *     [workspace m*n*4]                     bytes, a formula
 *     [zeroed 4*cdiv(m,64)]                 bytes at the workspace's start that are zero before a launch and that the kernel must leave zero;
 *                                           a multiple of 4, at most the workspace: checked when the formulas are evaluated
 *     [pack ab]                             a, b or ab: the first entry copies these operands into the workspace, see gs_manifest
 *     entry gs_ws                           then, for this entry:
 *     grid min(sms,cdiv(m,128)*cdiv(n,256)) 1 1
 *     block 384 1 1
 *     [cluster 2 1 1]
 *     [smem 214016]                         dynamic shared memory, bytes, a formula
 *     [dependent]                           programmatic dependent launch allowed
 *     [map a 64x128 sw128 [batch] [turn] [eighth 3]]   tensor map of an operand: inner x outer box in elements, swizzle span; batch: the matrix of the batch
 *                                           is a third dimension; turn: for B with a gate, eighth: every eighth row, see gs_map
 *     entry ...                             entries run in order on one stream
 *
 * A kernel entry takes its maps in order (const __grid_constant__, 128 bytes each), then a gs_kernel_args by value.
 * The tensor of a map is the operand as stored: inner extent and stride follow from the problem's layout; with `eighth` the stride is eight times as large.
 * Formulas know the integers m n k batch lda ldb ldc ldd sms, the operators + - * / (integer division) and parentheses,
 * and cdiv(a,b) min(a,b) max(a,b). No blanks inside a formula. A grid extent of 0: nothing is launched if the output is empty; with
 * K = 0 it is taken as 1, because D must still be written; else LAUNCH. */
#ifndef GS_KERNEL_MANIFEST_H
#define GS_KERNEL_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "base/text.h"
#include "problem/layout.h"

#define GS_MAX_ENTRIES 4
#define GS_MAX_MAPS    20
#define GS_FORMULA     112

/* Sizes of an entry's parameters in bytes: tensor map, gs_kernel_args (checked in checks/kernels.c). */
#define GS_MAP_BYTES  128u
#define GS_MAP_ALIGN  64u
#define GS_ARGS_BYTES 104u
#define GS_ARGS_MORE_BYTES 208u   /* for problems that need the fields after GS_MORE in args.h */
#define GS_ARGS_EARLY_BYTES 216u  /* with the fields after GS_EARLY_B: the whole struct */
#define GS_ARGS_ALIGN 8u

typedef struct gs_formula {
    char text[GS_FORMULA];    /* checked when parsed or set; "" is 0 */
} gs_formula;

/* Values of the names in formulas. */
typedef struct gs_formula_names {
    int64_t m, n, k, batch, lda, ldb, ldc, ldd, sms;
} gs_formula_names;

typedef struct gs_map {
    char operand;             /* 'a', 'b', 'c', 'd' */
    int  inner, outer;        /* box, elements */
    int  swizzle;             /* 0, 32, 64, 128 bytes */
    bool batch;               /* three-dimensional: a box lies in one matrix of the batch, which the third coordinate selects */
    bool turn;                /* only B stored N x K, with a gate: rows are read alternately, eight of the gate, then the matching eight of up, and so on. `outer` is a multiple
                                 of 16. Four dimensions: K, 8, 2, groups of eight; with a batch the matrix is the fifth */
    int  eighth;              /* 0: all rows. 1 to 8, only for a or b: every eighth row, starting at row eighth - 1, each from the 16-byte unit that contains its first
                                 element, so that rows may start at any element. The operand has at least eight rows and no batch */
} gs_map;

typedef struct gs_entry {
    char       name[64];      /* extern "C" kernel */
    gs_formula grid[3];
    gs_formula smem;
    int        block[3];
    int        cluster[3];    /* 1 1 1: none */
    bool       dependent;
    int        map_count;
    gs_map     map[GS_MAX_MAPS];
} gs_entry;

typedef struct gs_manifest {
    gs_type    accumulator;
    bool       bitwise;
    int        align[4];      /* a b c d, bytes, powers of two 1..256 */
    gs_formula workspace;
    gs_formula zeroed;
    bool       packed[2];     /* the maps of a or b describe a copy in the workspace that earlier entries make: the same rows, starting at multiples of 128 bytes; a's copy at
                                 the workspace's start, b's after it (kernels/common/pack.cuh) */
    int        entry_count;
    gs_entry   entry[GS_MAX_ENTRIES];
} gs_manifest;

/* The error names the line (as field "line 7: grid") and the column. */
gs_status gs_manifest_parse(gs_manifest *manifest, const char *text, gs_error *error);
void      gs_manifest_format(const gs_manifest *manifest, gs_text *text);   /* canonical; parses back to the same */

/* Bytes of the gs_kernel_args that an entry takes: 104, 208 with GS_MORE, or 216 with GS_EARLY_B. found: the size that the compiled kernel has; one of these three is used as
 * it is, since a launch fills all fields; for any other value the result is what the problem needs. */
uint32_t  gs_args_taken(const gs_problem *problem, size_t found);

int       gs_manifest_threads(const gs_manifest *manifest);                 /* of a block; the maximum over the entries */

/* Checks limits that do not depend on the problem: block <= 1024 threads, cluster <= 16, valid boxes of tensor maps, ... */
gs_status gs_manifest_check(const gs_manifest *manifest, gs_error *error);

/* Alignment in bytes that each operand's address needs, at least its element size. A to D: from the manifest. aux: as D if it is written, as C if it is read. */
void      gs_manifest_alignment(const gs_manifest *manifest, const gs_problem *problem, int align[GS_OPERANDS]);

/* Checks a text and sets the formula to it. error may be NULL. */
gs_status gs_formula_set(gs_formula *formula, const char *text, gs_error *error);

/* Value of a formula; RANGE on division by zero, overflow or a negative result. */
gs_status gs_formula_value(const gs_formula *formula, const gs_formula_names *names, int64_t *value, gs_error *error);

#endif
