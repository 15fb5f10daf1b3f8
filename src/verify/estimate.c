/* SPDX-License-Identifier: MIT
 * Estimates how long an emulated device works on a problem on this machine, from measured rates of one core. Rough: it serves a warning beforehand and a watchdog that must not
 * fire too early. */
#include <math.h>
#include <sched.h>

#include "base/error.h"
#include "problem/layout.h"
#include "verify/verify.h"

#define MATRIX_RATE  1.5e9  /* multiply-adds per second and core: kernels on matrix units, with the checker */
#define SCALAR_RATE  1e8    /* the same for one thread per element: the simple family; the f64 reference is faster */
#define ELEMENT_RATE 3e7    /* elements per second and core that are generated, hashed and compared */
#define INVARIANT_ROWS 1306   /* rows of all launches of part 8 but those of the requested M, on average */
#define EDGES_S      1.5    /* part 5, all edge problems, one core */

int gs_emulated_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? GS_MAX(CPU_COUNT(&set), 1) : 1;
}

double gs_emulated_seconds(const gs_problem *p, double launches, double references)
{
    const double m = (double)p->m * (double)p->batch, n = (double)gs_columns_of_b(p), k = (double)p->k, products = m * n * k;
    const double elements = (launches + references) * (m * n + m * k + n * k * (double)p->batch);
    return (launches * products / MATRIX_RATE + references * products / SCALAR_RATE + elements / ELEMENT_RATE) / gs_emulated_cores();
}

double gs_verify_seconds(const gs_problem *problem, uint32_t parts, bool matrix)
{
    double launches = 0, references = 0;
    if (parts == 0) parts = GS_PART_ALL;
    for (uint32_t part = GS_PART_EXACT; part <= GS_PART_INDEX; part <<= 1) {
        if (!(parts & part) && !(part == GS_PART_EXACT && parts == GS_PART_MEMORY)) continue;
        launches += part == GS_PART_INDEX ? 3 : 2;   /* the third one has less aligned pointers */
        launches += part == GS_PART_EXACT && problem->beta != 0;   /* the launch with C and D the same matrix */
        references += part == GS_PART_INDEX ? 2 : 1;   /* its second launch has other data; the other parts' differ in a row and a column */
    }
    if ((parts & GS_PART_MEMORY) && (parts & GS_PART_EXACT || parts == GS_PART_MEMORY)) launches++;   /* the launch over old outputs */
    if (parts & (GS_PART_NORMAL | GS_PART_REPEAT)) {
        const bool uneven = parts & GS_PART_NORMAL && parts & GS_PART_REPEAT;   /* the launch with lines of different sizes */
        launches += (parts & GS_PART_REPEAT ? GS_VERIFY_REPEATS : 1) + uneven;
        references += 1 + uneven;
    }
    if (problem->invariant && parts & GS_PART_INVARIANT) launches += 4 + INVARIANT_ROWS / fmax((double)problem->m, 1);   /* invariant.c */
    return gs_emulated_seconds(problem, matrix ? launches : 0, references + (matrix ? 0 : launches)) + (parts & GS_PART_EDGES ? EDGES_S / gs_emulated_cores() : 0);
}
