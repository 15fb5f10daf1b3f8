/* SPDX-License-Identifier: MIT
 * Opening NVRTC, compiling a source to a cubin, reading the assembler's messages, and compiling through the cache. */
#include "device/cuda/nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/library.h"
#include "base/log.h"
#include "device/cache.h"

#define MAX_OPTIONS 64   /* including our own */

enum { LEAST_VERSION = 12010 };   /* CUDA 12.0 does not support st.async */

typedef struct compiler {
    int version;   /* 1000 * major + 10 * minor */
    gs_nvrtc_result (*get_version)(int *major, int *minor);
    const char *(*error_string)(gs_nvrtc_result result);
    gs_nvrtc_result (*create)(gs_nvrtc_program *program, const char *text, const char *name, int header_count,
                              const char *const *header_texts, const char *const *header_names);
    gs_nvrtc_result (*destroy)(gs_nvrtc_program *program);
    gs_nvrtc_result (*compile)(gs_nvrtc_program program, int option_count, const char *const *options);
    gs_nvrtc_result (*cubin_size)(gs_nvrtc_program program, size_t *size);
    gs_nvrtc_result (*cubin)(gs_nvrtc_program program, char *code);
    gs_nvrtc_result (*ptx_size)(gs_nvrtc_program program, size_t *size);
    gs_nvrtc_result (*ptx)(gs_nvrtc_program program, char *ptx);
    gs_nvrtc_result (*log_size)(gs_nvrtc_program program, size_t *size);
    gs_nvrtc_result (*log)(gs_nvrtc_program program, char *log);
} compiler;

/* ---- opening ---- */

static const struct {
    const char *symbol;
    size_t      offset;
} entries[] = {
    {"nvrtcVersion",           offsetof(compiler, get_version)},
    {"nvrtcGetErrorString",    offsetof(compiler, error_string)},
    {"nvrtcCreateProgram",     offsetof(compiler, create)},
    {"nvrtcDestroyProgram",    offsetof(compiler, destroy)},
    {"nvrtcCompileProgram",    offsetof(compiler, compile)},
    {"nvrtcGetCUBINSize",      offsetof(compiler, cubin_size)},
    {"nvrtcGetCUBIN",          offsetof(compiler, cubin)},
    {"nvrtcGetPTXSize",        offsetof(compiler, ptx_size)},
    {"nvrtcGetPTX",            offsetof(compiler, ptx)},
    {"nvrtcGetProgramLogSize", offsetof(compiler, log_size)},
    {"nvrtcGetProgramLog",     offsetof(compiler, log)},
};

static const char *const file_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

/* The running program's directory followed by /../lib; "" if unknown. */
static void beside_program(char path[GS_PATH])
{
    const ssize_t size = readlink("/proc/self/exe", path, GS_PATH - 16);
    path[size > 0 ? size : 0] = '\0';
    char *const slash = strrchr(path, '/');
    if (slash) strcpy(slash, "/../lib");
}

static void *open_in(const char *directory)
{
    char path[GS_PATH + 32];
    const char *why;
    void *library = NULL;
    for (size_t i = 0; !library && i < GS_COUNT(file_names); i++) {
        snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", file_names[i]);
        library = gs_library_open(path, &why);
    }
    return library;
}

/* why: set if $GEMMSMITH_NVRTC cannot be opened. */
static void *open_library(const char **why)
{
    const char *const set = getenv("GEMMSMITH_NVRTC");
    if (set && *set) return gs_library_open(set, why);
    void *library = open_in("");
    const char *const home = getenv("CUDA_HOME");
    char path[GS_PATH];
    if (!library && home && *home && (size_t)snprintf(path, sizeof path, "%s/lib64", home) < sizeof path) library = open_in(path);
    if (!library) library = open_in("/usr/local/cuda/lib64");
    if (!library) {
        beside_program(path);
        if (*path) library = open_in(path);
    }
    return library;
}

static gs_status fill(compiler *nvrtc, void *library, gs_error *error)
{
    int major, minor;
    for (size_t i = 0; i < GS_COUNT(entries); i++) {
        void *const address = dlsym(library, entries[i].symbol);
        if (!address)
            return gs_fail(error, GS_ERROR_NO_COMPILER, NULL, "the NVRTC that was found has no %s: install CUDA 12.1 or newer", entries[i].symbol);
        memcpy((char *)nvrtc + entries[i].offset, &address, sizeof address);
    }
    if (nvrtc->get_version(&major, &minor) != GS_NVRTC_SUCCESS)
        return gs_fail(error, GS_ERROR_NO_COMPILER, NULL, "NVRTC does not tell its version");
    nvrtc->version = major * 1000 + minor * 10;
    if (nvrtc->version < LEAST_VERSION) return gs_fail(error, GS_ERROR_NO_COMPILER, NULL, "NVRTC is version %d.%d, needed is 12.1 or newer", major, minor);
    return GS_OK;
}

static gs_status no_library(const char *why, gs_error *error)
{
    const char *const set = getenv("GEMMSMITH_NVRTC");
    if (set && *set) return gs_fail(error, GS_ERROR_NO_COMPILER, NULL, "what GEMMSMITH_NVRTC names cannot be opened: %.300s", why ? why : set);
    return gs_fail(error, GS_ERROR_NO_COMPILER, NULL,
                   "libnvrtc.so.13 or .12 cannot be opened: install the CUDA toolkit's NVRTC or name the file in GEMMSMITH_NVRTC");
}

static gs_status load(const compiler **out, gs_error *error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static compiler nvrtc;
    static bool loaded;

    *out = NULL;
    pthread_mutex_lock(&lock);
    gs_status status = GS_OK;
    if (!loaded) {
        const char *why = NULL;
        void *const library = open_library(&why);
        if (!library)
            status = no_library(why, error);
        else if ((status = fill(&nvrtc, library, error)) != GS_OK)
            dlclose(library);
        loaded = status == GS_OK;
    }
    pthread_mutex_unlock(&lock);
    if (status == GS_OK) *out = &nvrtc;
    return status;
}

int gs_compiler_version(gs_error *error)
{
    const compiler *nvrtc;
    return load(&nvrtc, error) == GS_OK ? nvrtc->version : 0;
}

/* ---- reading the log ---- */

/* The integer right before `text` in the line: 4 for "4 bytes spill stores"; 0 if the text does not occur. */
static int number_before(const char *line, const char *end, const char *text)
{
    const char *const at = memmem(line, (size_t)(end - line), text, strlen(text));
    if (!at) return 0;
    const char *digit = at;
    while (digit > line && digit[-1] >= '0' && digit[-1] <= '9') digit--;
    return digit == at ? 0 : atoi(digit);
}

static bool serializes(const char *line, const char *end)
{
    static const char *const codes[] = {"C7504", "C7508", "C7510", "C7511", "C7512", "C7514", "C7602"};
    for (size_t i = 0; i < GS_COUNT(codes); i++)
        if (memmem(line, (size_t)(end - line), codes[i], strlen(codes[i]))) return true;
    return false;
}

void gs_nvrtc_read_log(gs_image *image)
{
    image->registers = image->spill_bytes = image->stack_bytes = image->static_smem = 0;
    image->serialized = false;
    for (const char *line = image->log; *line;) {
        const char *const end = line + strcspn(line, "\n");
        image->registers = GS_MAX(image->registers, number_before(line, end, " registers"));
        image->spill_bytes += number_before(line, end, " bytes spill stores") + number_before(line, end, " bytes spill loads");
        image->stack_bytes = GS_MAX(image->stack_bytes, number_before(line, end, " bytes stack frame"));
        image->static_smem = GS_MAX(image->static_smem, number_before(line, end, " bytes smem"));
        image->serialized = image->serialized || serializes(line, end);
        line = *end ? end + 1 : end;
    }
}

/* Most shared memory of a block that the assembler accepts, in bytes. */
static int shared_limit(const char *target)
{
    const int cc = strncmp(target, "sm_", 3) == 0 ? atoi(target + 3) : 0;
    if (cc == 80 || cc == 87) return 163 << 10;
    return cc >= 90 && cc < 120 ? 227 << 10 : 99 << 10;
}

/* The log's first line with an error. If there is none, the cause is too much static shared memory, which the assembler only counts. */
static void first_error(const gs_image *image, const char *target, char *text, size_t size)
{
    for (const char *line = image->log; *line;) {
        const size_t length = strcspn(line, "\n");
        const bool fails = memmem(line, length, "error", 5) || memmem(line, length, "fatal", 5);
        if (fails && !memmem(line, length, "warning", 7)) {
            snprintf(text, size, "%.*s", (int)GS_MIN(length, size - 1), line);
            return;
        }
        line += length + (line[length] == '\n');
    }
    if (image->static_smem > shared_limit(target))
        snprintf(text, size, "%d bytes of static shared memory: a block of %s may have %d, static and dynamic together", image->static_smem, target, shared_limit(target));
    else
        snprintf(text, size, "%.*s", *image->log ? (int)GS_MIN(strcspn(image->log, "\n"), size - 1) : 99, *image->log ? image->log : "the compiler gives no reason");
}

/* ---- compiling ---- */

static gs_status make_options(const compiler *nvrtc, const char *architecture, const gs_source *source, const char **options, int *count, gs_error *error)
{
    /* the last option stops #include "file" from finding files in the current folder */
    const char *const ours[] = {architecture, "--std=c++17", "-default-device", "--ptxas-options=-v", "--no-source-include"};
    *count = 0;
    for (size_t i = 0; i < GS_COUNT(ours); i++) options[(*count)++] = ours[i];
    if (source->ptx) options[(*count)++] = "-lineinfo";
    /* NVRTC's own cache would be used with a GPU, and gives no log: registers and spills would be unknown */
    if (nvrtc->version >= 13000) options[(*count)++] = "--no-cache";
    if (source->option_count > MAX_OPTIONS - *count)
        return gs_fail(error, GS_ERROR_RANGE, "options", "%d options, at most %d are possible", source->option_count, MAX_OPTIONS - *count);
    for (int i = 0; i < source->option_count; i++) {
        if (strncmp(source->options[i], "-D", 2) != 0 || !source->options[i][2])
            return gs_fail(error, GS_ERROR_ARGUMENT, "options", "\"%.64s\": only -Dname or -Dname=value may be given", source->options[i]);
        options[(*count)++] = source->options[i];
    }
    return GS_OK;
}

static gs_status take_log(const compiler *nvrtc, gs_nvrtc_program program, gs_image *image, gs_error *error)
{
    size_t size = 0;
    if (nvrtc->log_size(program, &size) != GS_NVRTC_SUCCESS) size = 0;
    image->log = calloc(size + 1, 1);
    if (!image->log) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the compiler's log");
    if (size > 1 && nvrtc->log(program, image->log) != GS_NVRTC_SUCCESS) image->log[0] = '\0';
    gs_nvrtc_read_log(image);
    return GS_OK;
}

static gs_status take_code(const compiler *nvrtc, gs_nvrtc_program program, gs_image *image, gs_error *error)
{
    gs_nvrtc_result result = nvrtc->cubin_size(program, &image->size);
    if (result == GS_NVRTC_SUCCESS && image->size > 0) {
        image->code = malloc(image->size);
        if (!image->code) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %zu bytes of code", image->size);
        result = nvrtc->cubin(program, image->code);
        if (result == GS_NVRTC_SUCCESS) return GS_OK;
    }
    return gs_fail(error, GS_ERROR_COMPILE, NULL, "NVRTC gives no code: %s", nvrtc->error_string(result));
}

/* Takes the PTX, which NVRTC has also when it compiles to a cubin. */
static gs_status take_ptx(const compiler *nvrtc, gs_nvrtc_program program, gs_image *image, gs_error *error)
{
    size_t size = 0;
    gs_nvrtc_result result = nvrtc->ptx_size(program, &size);
    if (result == GS_NVRTC_SUCCESS && size > 1) {
        image->ptx = calloc(size + 1, 1);
        if (!image->ptx) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %zu bytes of PTX", size);
        result = nvrtc->ptx(program, image->ptx);
        image->ptx_size = strlen(image->ptx);
        if (result == GS_NVRTC_SUCCESS && image->ptx_size > 0) return GS_OK;
    }
    return gs_fail(error, GS_ERROR_COMPILE, NULL, "NVRTC gives no PTX: %s", nvrtc->error_string(result));
}

static gs_status run_compiler(const compiler *nvrtc, gs_nvrtc_program program, const char *const *options, int count, const char *target,
                              bool ptx, gs_image *image, gs_error *error)
{
    char line[320];
    const int64_t start = gs_clock_ns();
    const gs_nvrtc_result result = nvrtc->compile(program, count, options);
    image->compile_ms = (double)(gs_clock_ns() - start) * 1e-6;
    GS_TRY(take_log(nvrtc, program, image, error));
    if (result == GS_NVRTC_SUCCESS) {
        GS_TRY(take_code(nvrtc, program, image, error));
        return ptx ? take_ptx(nvrtc, program, image, error) : GS_OK;
    }
    if (result == GS_NVRTC_ERROR_OUT_OF_MEMORY) return gs_fail(error, GS_ERROR_MEMORY, NULL, "NVRTC is out of memory");
    first_error(image, target, line, sizeof line);
    if (result == GS_NVRTC_ERROR_INVALID_OPTION)
        return gs_fail(error, GS_ERROR_COMPILE, NULL, "NVRTC %d.%d for target %s: %s", nvrtc->version / 1000,
                       nvrtc->version % 1000 / 10, target, line);
    if (result != GS_NVRTC_ERROR_COMPILATION)
        return gs_fail(error, GS_ERROR_COMPILE, NULL, "%s: %s", nvrtc->error_string(result), line);
    return gs_fail(error, GS_ERROR_COMPILE, NULL, "%s", line);
}

gs_status gs_compile_for(const char *target, const gs_source *source, gs_image *out, gs_error *error)
{
    const compiler *nvrtc;
    const char *options[MAX_OPTIONS];
    char architecture[64];
    int count;
    *out = (gs_image){0};
    GS_TRY(load(&nvrtc, error));
    if ((size_t)snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", target) >= sizeof architecture)
        return gs_fail(error, GS_ERROR_ARGUMENT, "target", "\"%.64s\" is no compile target", target);
    GS_TRY(make_options(nvrtc, architecture, source, options, &count, error));
    gs_nvrtc_program program = NULL;
    const bool marked = strncmp(source->text, "\xef\xbb\xbf", 3) == 0;   /* UTF-8 byte order mark, which NVRTC does not accept */
    const gs_nvrtc_result result =
        nvrtc->create(&program, source->text + (marked ? 3 : 0), source->name, source->header_count, source->header_texts, source->header_names);
    if (result == GS_NVRTC_ERROR_OUT_OF_MEMORY) return gs_fail(error, GS_ERROR_MEMORY, NULL, "NVRTC is out of memory");
    if (result != GS_NVRTC_SUCCESS) return gs_fail(error, GS_ERROR_COMPILE, NULL, "nvrtcCreateProgram: %s", nvrtc->error_string(result));
    const gs_status status = run_compiler(nvrtc, program, options, count, target, source->ptx, out, error);
    nvrtc->destroy(&program);
    return status;
}

static gs_status compile_where_asked(const char *target, const gs_source *source, gs_image *out, gs_error *error)
{
    const gs_compiler *const other = source->compiler;
    return other ? other->compile(other->self, target, source, out, error) : gs_compile_for(target, source, out, error);
}

gs_status gs_compile_cached(const char *target, const char *cache_directory, const gs_source *source, gs_image *out, gs_error *error)
{
    static atomic_flag complained = ATOMIC_FLAG_INIT;
    const compiler *nvrtc;
    gs_error refused;
    *out = (gs_image){0};
    GS_TRY(load(&nvrtc, error));
    const bool cached = cache_directory && *cache_directory;
    const gs_hash key = cached ? gs_cache_key(source, target, nvrtc->version) : (gs_hash){0, 0};
    if (cached && gs_cache_read(cache_directory, key, out, NULL) == GS_OK) return GS_OK;
    if (source->kept_only) return gs_fail(error, GS_ERROR_NO_COMPILER, NULL, "%s is in no cache, and GEMMSMITH_COMPILE=off", source->name);
    if (!cached) return compile_where_asked(target, source, out, error);
    GS_TRY(compile_where_asked(target, source, out, error));
    if (gs_cache_write(cache_directory, key, out, &refused) != GS_OK && !atomic_flag_test_and_set(&complained))
        gs_log(GS_LOG_WARNING, "compiled kernels are not kept: %s", refused.text);
    return GS_OK;
}
