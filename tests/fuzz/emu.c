/* SPDX-License-Identifier: MIT
 * The emulated device under any PTX text. What must hold for any input: it ends soon, without a crash; a failure has a message and
 * one of the codes that the headers name; the same input gives the same results. Also the names of emulated devices, and profiles. */
#include "emu.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "device/device.h"
#include "emu/isa/isa.h"
#include "emu/run/run.h"
#include "schedule/profile.h"

#define REQUIRE(condition)                                                                        \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);        \
            abort();                                                                              \
        }                                                                                         \
    } while (0)

#define CAPACITY (8u << 20)   /* bytes of device memory */
#define BUFFER   16384u       /* bytes of each of the buffers that parameters point to */
#define BUFFERS  3            /* numbers, nothing written, nothing written */

typedef struct machine {
    const uint8_t *head;
    gs_emu_memory *memory;
    gs_ptx_module *module;
    gs_emu_code   *code;
    uint64_t      *address;   /* of the module's variables */
    uint8_t       *params;
    uint64_t       buffer[BUFFERS];
    gs_error       error;
} machine;

static void require_reason(gs_status status, const gs_error *error)
{
    REQUIRE(error->status == status);
    REQUIRE(error->text[0] != '\0');
}

/* ---- a launch ---- */

static gs_status place_buffers(machine *m)
{
    for (int i = 0; i < BUFFERS; i++) GS_TRY(gs_emu_memory_alloc(m->memory, BUFFER, &m->buffer[i], &m->error));
    const gs_emu_allocation *const a = gs_emu_memory_find(m->memory, m->buffer[0], BUFFER);
    for (uint32_t i = 0; i < BUFFER / 2; i++) memcpy(a->bytes + 2 * i, &(uint16_t){(uint16_t)(0x3000 + i % 0x1000)}, 2);
    gs_emu_memory_mark(a, m->buffer[0], BUFFER);
    return GS_OK;
}

/* As a device does when it loads a module. */
static gs_status place_variables(machine *m)
{
    m->address = calloc((size_t)m->module->variables + 1, sizeof *m->address);
    if (!m->address) return gs_fail(&m->error, GS_ERROR_MEMORY, NULL, "no memory");
    for (int i = 0; i < m->module->variables; i++) {
        const gs_ptx_variable *const v = &m->module->variable[i];
        if ((v->space != GS_PTX_GLOBAL && v->space != GS_PTX_CONST) || v->size == 0 || v->external) continue;
        GS_TRY(gs_emu_memory_alloc(m->memory, v->size, &m->address[i], &m->error));
        const gs_emu_allocation *const a = gs_emu_memory_find(m->memory, m->address[i], v->size);
        if (v->init) memcpy(a->bytes, v->init, v->size);
        gs_emu_memory_mark(a, m->address[i], v->size);
    }
    return GS_OK;
}

static gs_emu_map make_map(const machine *m)
{
    static const uint8_t elements[] = {2, 1, 4, 8}, swizzles[] = {0, 32, 64, 128};
    static const uint8_t types[] = {GS_PTX_F16, GS_PTX_BF16, GS_PTX_F32, GS_PTX_S32, GS_PTX_U64, GS_PTX_F64, GS_PTX_U8, GS_PTX_U32};
    static const uint16_t boxes[] = {64, 16, 8, 1, 32, 256, 0, 3};
    static const uint64_t strides[] = {128, 16, 0, 1024, 24, 1ull << 32, UINT64_MAX - 15, 4096};
    const uint8_t *const h = m->head;
    const int shape = h[FUZZ_MAP], type = h[FUZZ_MAP_TYPE];
    gs_emu_map map = {
        .magic = GS_EMU_MAP_MAGIC, .address = m->buffer[type >> 6 & 1] + (type & 128 ? 64 : 0), .dimensions = (uint8_t)(1 + (shape & 7) % 5),
        .element = elements[type & 3], .swizzle = swizzles[shape >> 3 & 3], .type = types[type >> 3 & 7], .fill_nan = shape >> 5 & 1,
    };
    for (int i = 0; i < map.dimensions; i++) {
        map.extent[i] = 1u + (h[FUZZ_MAP_EXTENT] >> i) % 100u;
        if (h[FUZZ_MAP_EXTENT] == 255) map.extent[i] = UINT32_MAX;
        map.box[i] = boxes[(h[FUZZ_MAP_BOX] >> i) & 7];
        if (i > 0) map.stride[i - 1] = strides[(h[FUZZ_MAP_STRIDE] >> i) & 7] << (i - 1);
    }
    return map;
}

/* Addresses where a parameter has 64 bits, maps where it has 128 bytes, else numbers. In memory of exactly its size. */
static gs_status fill_params(machine *m)
{
    const gs_ptx_entry *const entry = m->code->entry;
    const gs_emu_map map = make_map(m);
    m->params = malloc(entry->parameter_bytes ? entry->parameter_bytes : 1);
    if (!m->params) return gs_fail(&m->error, GS_ERROR_MEMORY, NULL, "no memory");
    memset(m->params, m->head[FUZZ_NUMBER], entry->parameter_bytes);
    for (int i = 0; i < m->module->variables; i++) {
        const gs_ptx_variable *const v = &m->module->variable[i];
        if (v->space != GS_PTX_PARAM || v->entry != entry - m->module->entry || v->parameter < 0) continue;
        if (v->size == 8) memcpy(m->params + v->address, &m->buffer[(v->parameter + 2) % BUFFERS], 8);
        if (v->size == 128) memcpy(m->params + v->address, &map, sizeof map);
    }
    return GS_OK;
}

static gs_emu_launch make_launch(const machine *m)
{
    static const uint32_t blocks[] = {128, 32, 1, 64, 33, 256, 384, 1024};
    static const uint64_t steps[] = {400, 200, 4000, 100};
    const uint8_t *const h = m->head;
    static const uint32_t extents[] = {1, 1, 2, 1, 1, 1, 3, 1, 2, 3, 4, 5, 8, 1, 0, 70};
    const uint32_t cluster[] = {extents[h[FUZZ_CLUSTER] & 15], extents[h[FUZZ_CLUSTER] >> 4 & 7], h[FUZZ_CLUSTER] >> 7 ? 2 : 1};
    const bool small = h[FUZZ_FLAGS] & 8;
    return (gs_emu_launch){
        .code = m->code, .memory = m->memory, .params = m->params, .check = h[FUZZ_FLAGS] & 1, .seed = h[FUZZ_SEED], .threads = 1,
        .grid = {cluster[0] * extents[h[FUZZ_GRID_X] & 15] + (h[FUZZ_GRID_X] >> 7),
                 cluster[1] * extents[h[FUZZ_GRID_YZ] & 7], cluster[2] * extents[h[FUZZ_GRID_YZ] >> 4 & 7]},
        .block = {blocks[h[FUZZ_BLOCK] & 7] + (h[FUZZ_BLOCK] >> 6), extents[h[FUZZ_BLOCK_YZ] & 7], extents[h[FUZZ_BLOCK_YZ] >> 4 & 7]},
        .cluster = {cluster[0], cluster[1], cluster[2]},
        .smem = h[FUZZ_SMEM] * 256u, .step_limit = steps[h[FUZZ_STEPS] & 3], .sms = small ? 1 : 132,
        .smem_limit = small ? 4096 : 227 * 1024, .registers_sm = small ? 4096 : 65536,
    };
}

static uint64_t digest(const machine *m, const gs_emu_launch *launch)
{
    uint64_t sum = gs_hash64(&launch->counters, sizeof launch->counters) + (uint64_t)launch->findings + launch->findings_total;
    for (int i = 0; i < launch->findings; i++) sum = sum * 31 + gs_hash64(launch->finding[i].text, strlen(launch->finding[i].text));
    for (int i = 0; i < BUFFERS; i++) sum = sum * 31 + gs_hash64(gs_emu_memory_at(m->memory, m->buffer[i], BUFFER), BUFFER);
    return sum;
}

static gs_status launch(machine *m, uint64_t *sum)
{
    gs_emu_launch launch = make_launch(m);
    const gs_status status = gs_emu_run(&launch, &m->error);
    REQUIRE(status == GS_OK || status == GS_ERROR_FAULT || status == GS_ERROR_LAUNCH || status == GS_ERROR_MEMORY);
    REQUIRE(status == GS_ERROR_FAULT ? launch.findings > 0 : launch.findings == 0);
    for (int i = 0; i < launch.findings; i++) REQUIRE(launch.finding[i].text[0] && launch.finding[i].times > 0);
    *sum = digest(m, &launch);
    free(launch.finding);
    return status;
}

static gs_status execute(machine *m, const char *text, size_t size, uint64_t *sum)
{
    GS_TRY(gs_emu_memory_create(&m->memory, CAPACITY, m->head[FUZZ_FLAGS] & 1, &m->error));
    GS_TRY(gs_ptx_parse(&m->module, text, size, NULL, &m->error));
    GS_TRY(place_buffers(m));
    GS_TRY(place_variables(m));
    if (m->module->entries == 0) return GS_OK;
    const gs_ptx_entry *const entry = &m->module->entry[m->head[FUZZ_FLAGS] & 4 ? m->module->entries - 1 : 0];
    GS_TRY(gs_emu_code_create(&m->code, m->module, entry, m->address, 0, &m->error));
    GS_TRY(fill_params(m));
    return launch(m, sum);
}

static gs_status fuzz_once(const uint8_t *head, const char *text, size_t size, uint64_t *sum)
{
    machine m = {.head = head};
    const gs_status status = execute(&m, text, size, sum);
    if (getenv("FUZZ_PRINT")) fprintf(stderr, "-> %s %s\n", gs_status_name(status), m.error.text);
    if (status != GS_OK) require_reason(status, &m.error);
    free(m.params);
    free(m.address);
    gs_emu_code_free(&m.code);
    gs_ptx_free(&m.module);
    gs_emu_memory_destroy(&m.memory);
    return status;
}

/* Through a device's table, up to a launch, which would have no limit of steps. */
static void fuzz_load(const uint8_t *head, const char *text, size_t size)
{
    gs_device *device = NULL;
    gs_module module = NULL;
    gs_function function = NULL;
    gs_function_info info = {0};
    gs_error error = {0};
    char *const copy = malloc(size + 1);
    if (!copy || gs_device_open(&device, "emu:h200,threads=1", "", &error) != GS_OK) abort();
    memcpy(copy, text, size);
    copy[size] = '\0';
    const gs_image image = {.ptx = copy, .ptx_size = size, .registers = head[FUZZ_NUMBER], .stack_bytes = head[FUZZ_SMEM]};
    gs_status status = device->ops->load(device, &image, &module, &error);
    REQUIRE((status == GS_OK) == (module != NULL));
    if (status == GS_OK) status = device->ops->function(device, module, "k", &function, &info, &error);
    if (status == GS_OK) {
        const gs_launch shape = {
            .function = function, .block = {1u + head[FUZZ_BLOCK] * 8u, 1, head[FUZZ_BLOCK_YZ] & 3},
            .cluster = {head[FUZZ_CLUSTER] & 31, 1, 1}, .smem = head[FUZZ_SMEM] * 1024u,
        };
        int clusters = -1;
        status = device->ops->function_smem(device, function, shape.smem, shape.cluster[0], &error);
        if (status == GS_OK) status = device->ops->max_clusters(device, &shape, &clusters, &error);
        REQUIRE(clusters >= -1 && info.static_smem >= 0 && info.max_threads > 0);
    }
    if (status != GS_OK) require_reason(status, &error);
    device->ops->unload(device, module);
    gs_device_close(&device);
    free(copy);
}

static void fuzz_ptx(const uint8_t *head, const char *text, size_t size)
{
    uint64_t first = 0, second = 0;
    if (head[FUZZ_FLAGS] & 16) {
        fuzz_load(head, text, size);
        return;
    }
    const gs_status status = fuzz_once(head, text, size, &first);
    if (!(head[FUZZ_FLAGS] & 2) || (status != GS_OK && status != GS_ERROR_FAULT)) return;
    REQUIRE(fuzz_once(head, text, size, &second) == status);
    REQUIRE(first == second);
}

/* ---- texts that are no PTX ---- */

static void fuzz_name(const uint8_t *head, const char *text, size_t size)
{
    char name[512];
    gs_device *device = NULL, *again = NULL;
    gs_error error = {0};
    (void)head;
    snprintf(name, sizeof name, "emu:%.*s", (int)GS_MIN(size, sizeof name), text);
    const gs_status status = gs_device_open(&device, name, "", &error);
    REQUIRE((status == GS_OK) == (device != NULL));
    if (status != GS_OK) {
        REQUIRE(status == GS_ERROR_PARSE || status == GS_ERROR_NO_DEVICE);
        require_reason(status, &error);
        return;
    }
    REQUIRE(strcmp(device->name, name) == 0);
    REQUIRE(gs_device_open(&again, device->name, "", &error) == GS_OK);
    gs_device_close(&again);
    gs_device_close(&device);
}

static void fuzz_profile(const uint8_t *head, const char *text, size_t size)
{
    gs_profile first = {0}, second = {0};
    gs_text once = {0}, twice = {0};
    gs_error error = {0};
    char *const copy = malloc(size + 1);
    (void)head;
    if (!copy) return;
    memcpy(copy, text, size);
    copy[size] = '\0';
    const gs_status status = gs_profile_parse(&first, copy, &error);
    free(copy);
    if (status != GS_OK) {
        REQUIRE(status == GS_ERROR_PARSE || status == GS_ERROR_RANGE);
        require_reason(status, &error);
        return;
    }
    gs_profile_format(&first, &once);
    REQUIRE(gs_profile_parse(&second, gs_text_string(&once), &error) == GS_OK);
    gs_profile_format(&second, &twice);
    REQUIRE(strcmp(gs_text_string(&once), gs_text_string(&twice)) == 0);
    gs_text_free(&once);
    gs_text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < FUZZ_HEAD) return 0;
    const size_t length = size - FUZZ_HEAD;
    char *const text = malloc(length ? length : 1);   /* exactly as long as the text: reading past its end is seen by the sanitizer */
    if (!text) return 0;
    memcpy(text, data + FUZZ_HEAD, length);
    const int kind = data[FUZZ_KIND] % FUZZ_KINDS;
    (kind == FUZZ_NAME ? fuzz_name : kind == FUZZ_PROFILE ? fuzz_profile : fuzz_ptx)(data, text, length);
    free(text);
    return 0;
}
