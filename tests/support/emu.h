/* SPDX-License-Identifier: MIT
 * Running PTX text on the emulated machine in a test: memory, parse, decode, launch, in that order. */
#ifndef GS_TESTS_EMU_H
#define GS_TESTS_EMU_H

#include <stdlib.h>
#include <string.h>

#include "emu/isa/isa.h"
#include "emu/run/run.h"

typedef struct emu_test {
    gs_emu_memory *memory;
    gs_ptx_module *module;
    gs_emu_code   *code;
    gs_emu_launch  launch;      /* emu_run uses it as it is: seed, check, threads, smem and the like may be changed after emu_load */
    uint8_t        params[512];
    gs_error       error;
} emu_test;

/* Everything except the launch. entry NULL: the module's only entry. Global module variables are not supported here. */
static inline gs_status emu_load(emu_test *t, const char *ptx, const char *entry)
{
    memset(t, 0, sizeof *t);
    GS_TRY(gs_emu_memory_create(&t->memory, 1ull << 30, true, &t->error));
    GS_TRY(gs_ptx_parse(&t->module, ptx, strlen(ptx), NULL, &t->error));
    const gs_ptx_entry *found = NULL;
    for (int i = 0; i < t->module->entries; i++)
        if (!entry || strcmp(t->module->entry[i].name, entry) == 0) found = &t->module->entry[i];
    if (!found) return gs_fail(&t->error, GS_ERROR_NOT_FOUND, "entry", "no such kernel");
    GS_TRY(gs_emu_code_create(&t->code, t->module, found, NULL, 0, &t->error));
    t->launch = (gs_emu_launch){
        .code = t->code, .memory = t->memory, .grid = {1, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}, .params = t->params,
        .check = true, .seed = 1, .threads = 1, .sms = 132, .smem_limit = 227 * 1024, .registers_sm = 65536,
    };
    return GS_OK;
}

/* Device memory that holds `size` bytes of `data` (NULL: unwritten). */
static inline uint64_t emu_buffer(emu_test *t, const void *data, size_t size)
{
    uint64_t address = 0;
    if (gs_emu_memory_alloc(t->memory, size, &address, &t->error) != GS_OK) abort();
    if (!data) return address;
    const gs_emu_allocation *const a = gs_emu_memory_find(t->memory, address, size);
    memcpy(a->bytes, data, size);
    gs_emu_memory_mark(a, address, size);
    return address;
}

static inline void *emu_bytes(const emu_test *t, uint64_t address, size_t size) { return gs_emu_memory_at(t->memory, address, size); }

/* Parameter number i, in the kernel's order. */
static inline void emu_param(emu_test *t, int i, const void *value, size_t size)
{
    for (int v = 0; v < t->module->variables; v++) {
        const gs_ptx_variable *const variable = &t->module->variable[v];
        if (variable->space == GS_PTX_PARAM && variable->parameter == i && &t->module->entry[variable->entry] == t->code->entry)
            memcpy(t->params + variable->address, value, size);
    }
}

/* Runs the launch; a second call runs it again, with the findings of the second run only. */
static inline gs_status emu_run(emu_test *t)
{
    free(t->launch.finding);
    t->launch.finding = NULL;
    return gs_emu_run(&t->launch, &t->error);
}

/* Runs again from the start: counters and findings are cleared too. */
static inline gs_status emu_rerun(emu_test *t, uint64_t seed)
{
    t->launch.seed = seed;
    memset(&t->launch.counters, 0, sizeof t->launch.counters);
    t->launch.findings_total = 0;
    t->launch.findings = 0;
    return emu_run(t);
}

/* How often findings of this kind were reported in the last run. */
static inline uint64_t emu_found(const emu_test *t, gs_emu_finding_kind kind)
{
    uint64_t times = 0;
    for (int i = 0; i < t->launch.findings; i++)
        if (t->launch.finding[i].kind == kind) times += t->launch.finding[i].times;
    return times;
}

static inline void emu_end(emu_test *t)
{
    free(t->launch.finding);
    gs_emu_code_free(&t->code);
    gs_ptx_free(&t->module);
    gs_emu_memory_destroy(&t->memory);
}

#endif
