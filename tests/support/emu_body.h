/* SPDX-License-Identifier: MIT
 * Kernels around a few lines of PTX, for tests: one warp, a buffer to read, one to write, shared and local memory, a parameter block. */
#ifndef GS_TESTS_EMU_BODY_H
#define GS_TESTS_EMU_BODY_H

#include <stdio.h>

#include "emu.h"

enum { BYTES = 4096, SHARED = 4096, LANES = 32 };

/* A kernel around a body: %rd1 and %rd2 are the addresses of `in` and `out`, %r1 is the thread, %p1 is true in the first 19 threads. */
static inline void write_kernel(char *text, size_t size, const char *body)
{
    snprintf(text, size,
             ".version 8.6\n.target sm_90a\n.address_size 64\n"
             ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 blob[64])\n{\n"
             ".reg .pred %%p<8>;\n.reg .b16 %%rs<16>;\n.reg .b32 %%r<32>;\n.reg .f32 %%f<16>;\n.reg .b64 %%rd<32>;\n.reg .f64 %%fd<8>;\n"
             ".shared .align 128 .b8 smem[%d];\n.local .align 16 .b8 depot[64];\n"
             "ld.param.u64 %%rd1, [in];\nld.param.u64 %%rd2, [out];\nmov.u32 %%r1, %%tid.x;\nsetp.lt.u32 %%p1, %%r1, 19;\n%s\nret;\n}\n",
             SHARED, body);
}

typedef struct machine {
    emu_test t;
    uint64_t in, out;
    uint8_t *to, *from;      /* host addresses of out and in */
} machine;

/* `in` holds data, or 0, 1, 2, ... if data is NULL; every byte of `out` is 0xee. data NULL and size 0: `in` stays unwritten. */
static inline void open_machine(machine *m, const char *body, const void *data, size_t size)
{
    static char text[1 << 16];
    uint8_t fill[BYTES];
    write_kernel(text, sizeof text, body);
    if (emu_load(&m->t, text, NULL) != GS_OK) fail_msg("%s", m->t.error.text);
    for (int i = 0; i < BYTES; i++) fill[i] = (uint8_t)i;
    if (data) memcpy(fill, data, size);
    m->in = emu_buffer(&m->t, data || size ? fill : NULL, BYTES);
    memset(fill, 0xee, sizeof fill);
    m->out = emu_buffer(&m->t, fill, BYTES);
    emu_param(&m->t, 0, &m->in, sizeof m->in);
    emu_param(&m->t, 1, &m->out, sizeof m->out);
    m->from = emu_bytes(&m->t, m->in, BYTES);
    m->to = emu_bytes(&m->t, m->out, BYTES);
}

static inline void run_clean(machine *m)
{
    if (emu_run(&m->t) != GS_OK || m->t.launch.findings)
        fail_msg("%s %s", m->t.error.text, m->t.launch.findings ? m->t.launch.finding[0].text : "");
}

/* Opens the machine and runs it, expecting no finding. */
static inline void run_body(machine *m, const char *body, const void *data, size_t size)
{
    open_machine(m, body, data, size);
    run_clean(m);
}

static inline void close_machine(machine *m) { emu_end(&m->t); }

/* Runs and expects a finding of that kind whose text contains `words`. */
static inline void expect_finding(const char *body, gs_emu_finding_kind kind, const char *words)
{
    machine m;
    open_machine(&m, body, NULL, 1);
    const bool fatal = kind == GS_EMU_OUT_OF_BOUNDS_FINDING || kind == GS_EMU_MISALIGNED_FINDING || kind == GS_EMU_TRAP_FINDING;
    const gs_status status = emu_run(&m.t);
    if (fatal && status != GS_ERROR_FAULT) fail_msg("%s: %d", body, status);
    bool found = false;
    for (int i = 0; i < m.t.launch.findings; i++) found = found || (m.t.launch.finding[i].kind == kind && strstr(m.t.launch.finding[i].text, words));
    if (!found) fail_msg("%s: no finding \"%s\" but %s", body, words, m.t.launch.findings ? m.t.launch.finding[0].text : "none");
    close_machine(&m);
}

static inline uint64_t u64_at(const uint8_t *bytes, size_t index) { uint64_t v; memcpy(&v, bytes + 8 * index, 8); return v; }
static inline uint32_t u32_at(const uint8_t *bytes, size_t index) { uint32_t v; memcpy(&v, bytes + 4 * index, 4); return v; }
static inline float f32_at(const uint8_t *bytes, size_t index) { float v; memcpy(&v, bytes + 4 * index, 4); return v; }
static inline double f64_at(const uint8_t *bytes, size_t index) { double v; memcpy(&v, bytes + 8 * index, 8); return v; }

/* %rd3 and %rd4: addresses of the lane's element of 4 bytes in `in` and `out`. */
#define EACH_LANE "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd3, %rd2;\nadd.s64 %rd3, %rd3, %rd1;\n"

#endif
