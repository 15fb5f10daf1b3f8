/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

uint64_t gs_random_entropy(void)
{
    uint64_t value;
    if (getrandom(&value, sizeof value, 0) == (ssize_t)sizeof value) return value;
    return (uint64_t)gs_clock_ns() * 0x9e3779b97f4a7c15ull ^ (uint64_t)getpid();
}
