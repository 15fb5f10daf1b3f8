/* SPDX-License-Identifier: MIT
 * Rates that the driver does not report, by compute capability, and the capabilities of embedded profiles. */
#include "schedule/caps.h"

#include "base/error.h"
#include "schedule/profile.h"

/* legend: cc, dense f16 FLOP per cycle and SM, L2 to SM bytes per cycle and SM, launch floor in us, attainable share of the nominal memory bandwidth.
 * FLOP: data sheets. L2: load-only kernels reach 46 of the 64 bytes of a port on Hopper; two thirds of the nominal rate are assumed elsewhere.
 * Memory: 4.4 of 4.81 TB/s were measured on an H200; a little less is assumed for other devices.
 * Launch: 1.2 us was measured on an H200 (dependent load and store kernel in a graph); 1.5 is assumed for older devices.
 * A device uses the last row whose cc is not above its own. */
static const struct rates {
    int    cc;
    double tensor_flops, l2_bytes, launch_us, memory_share;
} rates[] = {
    { 70, 1024, 32, 1.5, 0.895},
    { 80, 2048, 32, 1.5, 0.895},
    { 86, 1024, 32, 1.5, 0.895},
    { 89, 1024, 40, 1.5, 0.895},
    { 90, 4096, 46, 1.2, 0.914},
    {100, 8192, 46, 1.2, 0.895},
    {120, 1024, 40, 1.2, 0.895},
};

#define MEMORY_OF_L2 0.30   /* share of the L2 bandwidth, if the driver does not report the memory clock */

void gs_caps_rates(gs_caps *caps, double memory_clock_mhz, int memory_bus_bits)
{
    const struct rates *row = &rates[0];
    for (size_t i = 1; i < GS_COUNT(rates); i++)
        if (rates[i].cc <= caps->cc) row = &rates[i];
    caps->tensor_flops = row->tensor_flops;
    caps->launch_us = row->launch_us;
    caps->l2_gbs = row->l2_bytes * caps->sms * caps->clock_mhz * 1e-3;
    const double nominal = 2 * memory_clock_mhz * memory_bus_bits / 8 * 1e-3;   /* two transfers per clock */
    caps->memory_gbs = nominal > 0 ? nominal * row->memory_share : caps->l2_gbs * MEMORY_OF_L2;
}

const gs_caps *gs_caps_find(const char *name)
{
    const gs_profile *const profile = gs_profile_find(name);
    return profile ? &profile->caps : NULL;
}
