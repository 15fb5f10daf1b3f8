/* SPDX-License-Identifier: MIT
 * Capabilities of a device, read from the driver or from a device profile. They decide which schedules are valid and feed the
 * time model. Plain data, filled by src/device. */
#ifndef GS_SCHEDULE_CAPS_H
#define GS_SCHEDULE_CAPS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gs_caps {
    char   name[96];          /* "NVIDIA H200" */
    char   slug[48];          /* "nvidia-h200": file names of tuned tables */
    char   uuid[48];          /* "GPU-..."; empty if not known */
    char   target[16];        /* "sm_90a": exact compile target */
    int    cc;                /* compute capability times ten: 80, 86, 89, 90, 100 */
    int    sms;               /* multiprocessors */
    int    smem_block;        /* bytes of dynamic shared memory that a block may ask for */
    int    smem_sm;           /* bytes of shared memory of a multiprocessor */
    int    registers_sm;      /* 32-bit registers of a multiprocessor */
    int    threads_sm;        /* resident threads of a multiprocessor */
    int    l2_bytes;
    size_t memory_bytes;
    int    driver;            /* CUDA version of the driver times 1000: 13000 */
    double clock_mhz;         /* highest SM clock */
    double tensor_flops;      /* dense f16 FLOP per cycle and SM */
    double memory_gbs;        /* device memory bandwidth, 1e9 bytes per second, attainable */
    double l2_gbs;            /* L2 to SM bandwidth of the whole chip, attainable */
    double launch_us;         /* device time of the shortest kernel that loads and stores, in a graph */
    bool   emulated;          /* kernels run on the CPU; every time is predicted; there is no cuBLAS */
} gs_caps;

#define GS_EMULATED_SLUG "emu-"   /* prefix of the slugs of emulated devices, and of no others */

/* Fills tensor_flops, memory_gbs, l2_gbs and launch_us from cc, sms, clock and the two memory attributes. */
void gs_caps_rates(gs_caps *caps, double memory_clock_mhz, int memory_bus_bits);

/* Lower bound of the problem's time on this device, in microseconds: max(flops / sustained rate, bytes / bandwidth, launch floor), each operand moved
 * once. Defined in schedule/model.c. */
struct gs_problem;
double gs_floor_us(const struct gs_problem *problem, const gs_caps *caps);

/* Index 0 to 5 of the floor's band: under 1, 1-5, 5-20, 20-100, 100-1000, over 1000 microseconds. The launch floor is not included. */
int gs_floor_band(const struct gs_problem *problem, const gs_caps *caps);

/* The capabilities of an embedded device profile ("h200", "a100"; schedule/profile.h), for tests and tools without a device. NULL if there is none. */
const gs_caps *gs_caps_find(const char *profile);

#endif
