/* SPDX-License-Identifier: MIT
 * Packs: what was written is found again, every damage is told, and plans on the emulated device come from a pack without a compiler. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "device/device.h"
#include "inspect/inspect.h"
#include "pack/format.h"
#include "pack/pack.h"
#include "packing/packing.h"
#include "plan/made.h"

#define OK(call)                                                                    \
    do {                                                                            \
        if ((call) != GS_OK) fail_msg("%s: %s %s", #call, error.field, error.text); \
    } while (0)
#define MANIFEST "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=16 b=16 c=2 d=16\nentry k\ngrid 1 1 1\nblock 1 1 1\n"

static gs_error error;
static char     folder[] = "/tmp/gemmsmith-pack.XXXXXX", path[64], other[64];

static gs_problem parsed(const char *text)
{
    gs_problem problem;
    OK(gs_problem_parse(&problem, text, &error));
    return problem;
}

static const char *const texts[] = {"f16:64x64x64:tn", "bf16:64x64x64:nn:b=3", "f16:64x64x64:tn:ep=bias+gelu", "f16:64x64x64:tn:beta=1", "bf16:64x128x256:tn:gm=8:ep=bias+silu+gate"};

/* Three problems of one kernel, one of cuBLASLt, one of a user kernel. */
static char *written(size_t *size)
{
    const gs_pack_head head = {.target = "sm_90a", .gpu = "nvidia-h200", .nvrtc = 12080, .driver = 12000, .cc = 90, .sms = 132, .date = "2026-11-24T00:00:00Z"};
    gs_pack_writer *w;
    char *bytes;
    int index, user;
    bool added;
    OK(gs_pack_writer_create(&w, &error));
    const gs_pack_kernel own = {.manifest = MANIFEST, .code = "cubin of some bytes", .code_size = 19, .registers = 40};
    OK(gs_pack_put_kernel(w, &own, &index, &error));
    gs_pack_kernel other_kernel = own;
    other_kernel.user = true;
    other_kernel.source = "text";
    other_kernel.source_size = 4;
    OK(gs_pack_put_kernel(w, &other_kernel, &user, &error));
    assert_int_not_equal(index, user);
    int again;
    OK(gs_pack_put_kernel(w, &own, &again, &error));
    assert_int_equal(index, again);
    for (int i = 0; i < 5; i++) {
        const gs_problem problem = parsed(texts[i]);
        const gs_pack_entry entry = {.choice = i == 3 ? "cublaslt/3" : i == 4 ? "kernel/00112233445566778899aabbccddeeff" : "simple", .kernel = i == 3 ? -1 : i == 4 ? user : index,
                                     .suggestion = i == 3 ? 3 : 0, .cublaslt = 130100, .us = 1.5, .ratio = 1.25, .chain = i % 3 - 1, .gpu = "nvidia-h200", .date = "", .by = "tune-0"};
        OK(gs_pack_put(w, &problem, &entry, &added, &error));
        assert_true(added);
        OK(gs_pack_put(w, &problem, &entry, &added, &error));
        assert_false(added);
    }
    OK(gs_pack_finish(w, &head, &bytes, size, &error));
    gs_pack_writer_destroy(&w);
    gs_pack_writer_destroy(&w);   /* of nothing: nothing */
    gs_pack_writer_destroy(NULL);
    return bytes;
}

static void test_found(void **state)
{
    (void)state;
    size_t size;
    char *const bytes = written(&size);
    gs_pack *pack;
    gs_pack_entry entry;
    gs_pack_kernel kernel;
    OK(gs_pack_from(&pack, bytes, size, "x.pack", &error));
    for (int i = 0; i < 5; i++) {
        const gs_problem problem = parsed(texts[i]);
        assert_true(gs_pack_find(pack, &problem, &entry));
        assert_string_equal(entry.problem, texts[i]);
        assert_true(entry.us == 1.5 && entry.ratio == 1.25 && entry.chain == i % 3 - 1);
        if (entry.kernel >= 0) OK(gs_pack_kernel_at(pack, entry.kernel, &kernel, &error));
        if (entry.kernel >= 0) assert_memory_equal(kernel.code, "cubin of some bytes", 19);
    }
    gs_problem problem = parsed("f16:64x64x64:tn:alpha=2:ldc=99");   /* the same kernel */
    assert_true(gs_pack_find(pack, &problem, &entry));
    problem = parsed("bf16:64x128x256:tn:gm=8:alpha=2:ep=bias+silu+gate");   /* a user kernel was not proved for it */
    assert_false(gs_pack_find(pack, &problem, &entry));
    problem = parsed("f16:64x64x72:tn");
    assert_false(gs_pack_find(pack, &problem, &entry));
    gs_caps caps = *gs_caps_find("h200");
    OK(gs_pack_fits(pack, &caps, &error));
    snprintf(caps.target, sizeof caps.target, "sm_80");
    assert_int_equal(gs_pack_fits(pack, &caps, &error), GS_ERROR_UNSUPPORTED);
    caps = *gs_caps_find("h200");
    caps.driver = 11080;
    assert_int_equal(gs_pack_fits(pack, &caps, &error), GS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "525"));
    gs_pack_close(&pack);
    free(bytes);
}

/* 4000 damages: each is told by opening, or by asking for a kernel, and nothing reads outside. */
static void test_damage(void **state)
{
    (void)state;
    size_t size;
    char *const bytes = written(&size), *const hurt = malloc(size);
    uint64_t draw = 7;
    for (int i = 0; i < 4000; i++) {
        gs_pack *pack;
        gs_pack_entry entry;
        gs_pack_kernel kernel;
        memcpy(hurt, bytes, size);
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        const size_t at = (size_t)(draw >> 33) % size;
        const size_t left = i % 4 == 3 ? at : size;
        if (left == size) hurt[at] ^= (char)(1 << (draw >> 60) % 8);
        bool told = gs_pack_from(&pack, hurt, left, "x.pack", &error) != GS_OK;
        for (int k = 0; !told && gs_pack_entry_at(pack, k, &entry); k++)
            told = entry.kernel >= 0 && gs_pack_kernel_at(pack, entry.kernel, &kernel, &error) != GS_OK;
        if (!told) fail_msg("byte %zu of %zu", at, size);
        assert_true(error.text[0] != '\0');
        gs_pack_close(&pack);
    }
    free(hurt);
    free(bytes);
}

/* What a stranger could write: damaged, with a checksum that fits. Whatever is found lies within the file; the sanitized build sees to it. */
static void test_hostile(void **state)
{
    (void)state;
    size_t size, seen = 0;
    char *const bytes = written(&size);
    uint64_t draw = 11;
    int opened = 0;
    for (int i = 0; i < 20000; i++) {
        char *const hurt = malloc(size);   /* anew, so that nothing is behind it */
        gs_pack *pack;
        gs_pack_entry entry;
        gs_pack_kernel kernel;
        memcpy(hurt, bytes, size);
        for (int n = 0; n <= i % 3; n++) {
            draw = draw * 6364136223846793005u + 1442695040888963407u;
            const size_t at = GS_PACK_HASHED_FROM + (size_t)(draw >> 33) % (size - GS_PACK_HASHED_FROM);
            hurt[at] = (char)(draw >> 24);
        }
        gs_pack_top *const top = (gs_pack_top *)(void *)hurt;
        if (top->code > GS_PACK_HASHED_FROM && top->code <= size) top->hash = gs_hash_bytes(hurt + GS_PACK_HASHED_FROM, top->code - GS_PACK_HASHED_FROM);
        if (gs_pack_from(&pack, hurt, size, "x.pack", &error) == GS_OK) {
            opened++;
            for (int k = 0; gs_pack_entry_at(pack, k, &entry); k++) seen += strlen(entry.problem) + strlen(entry.choice) + strlen(entry.gpu) + strlen(entry.date) + strlen(entry.by);
            for (int k = 0; k < gs_pack_about(pack)->kernels; k++)
                if (gs_pack_kernel_at(pack, k, &kernel, &error) == GS_OK) seen += strlen(kernel.manifest) + kernel.code_size;
            const gs_problem problem = parsed(texts[i % 5]);
            gs_pack_find(pack, &problem, &entry);
            gs_pack_fits(pack, gs_caps_find("h200"), &error);
        }
        gs_pack_close(&pack);
        free(hurt);
    }
    assert_true(opened > 1000 && seen > 0);
    free(bytes);
}

/* ---- plans ---- */

#define PROBLEM "f16:16x16x32:tn"

static void make_pack(void)
{
    gs_packing packing = {0};
    const gs_problem problem = parsed(PROBLEM);
    gs_config config = gs_config_default();
    size_t size;
    bool added;
    config.tuned_path = GS_SOURCE_DIR "/tests/plan";
    OK(gs_packing_device(&packing.device, "emu:h200", &error));
    OK(gs_context_open_on(&packing.context, &config, packing.device, &error));
    OK(gs_pack_writer_create(&packing.writer, &error));
    OK(gs_packing_add(&packing, &problem, &added, &error));
    assert_true(added);
    static const char *const others[] = {"f16:1x16x32:tn", "f16:16x1x32:tn", "f16:16x16x1:tn", "f16:0x16x32:tn", "f16:16x0x32:tn", "f16:16x16x0:tn"};   /* with an extent of 0 there is nothing to pack */
    for (size_t i = 0; i < GS_COUNT(others); i++) {
        const gs_problem other_one = parsed(others[i]);
        OK(gs_packing_add(&packing, &other_one, &added, &error));
        assert_int_equal(added, i < 3);
    }
    OK(gs_packing_write(&packing, path, &size, &error));
    gs_pack_writer_destroy(&packing.writer);
    gs_close(&packing.context);
}

static gs_context *with_packs(const char *packs)
{
    gs_context *context;
    gs_config config = gs_config_default();
    config.device = "emu:h200";
    config.tuned_path = GS_SOURCE_DIR "/tests/plan";
    config.cache_path = "";
    config.pack_path = packs;
    OK(gs_open(&context, &config, &error));
    return context;
}

static void test_plans(void **state)
{
    (void)state;
    gs_error why;
    if (gs_compiler_version(&why) == 0) skip();
    make_pack();
    setenv("GEMMSMITH_COMPILE", "off", 1);
    gs_context *context = with_packs(path);
    const gs_problem problem = parsed(PROBLEM), absent = parsed("f16:16x16x48:tn");
    gs_plan *plan;
    OK(gs_plan_create(context, &problem, &plan, &error));
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_PACK);
    assert_non_null(strstr(gs_plan_why(plan), "pack one.pack: "));
    gs_plan_destroy(&plan);
    assert_int_equal(gs_plan_create(context, &absent, &plan, &error), GS_ERROR_NO_COMPILER);   /* nothing is compiled */
    gs_close(&context);

    FILE *const file = fopen(other, "w");
    assert_non_null(file);
    fprintf(file, "gspack1\nnothing");
    fclose(file);
    char both[160];
    snprintf(both, sizeof both, "%s:%s:/nonexistent", other, path);
    context = with_packs(both);   /* what cannot be used is told, the next one serves */
    assert_int_equal(gs_context_status(context, &error), GS_ERROR_CORRUPT);
    OK(gs_plan_create(context, &problem, &plan, &error));
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_PACK);
    gs_plan_destroy(&plan);
    gs_close(&context);
    setenv("GEMMSMITH_COMPILE", "perhaps", 1);
    gs_config config = gs_config_default();
    config.device = "emu:h200";
    assert_int_equal(gs_open(&context, &config, &error), GS_ERROR_PARSE);
    unsetenv("GEMMSMITH_COMPILE");
    unlink(path);
    unlink(other);
}

/* ---- several packs, other pointers, a full disk ---- */

/* A pack with one schedule for the problem. */
static void make_pack_of(const char *schedule, const char *to)
{
    gs_packing packing = {0};
    const gs_problem problem = parsed(PROBLEM);
    gs_config config = gs_config_default();
    char table[80];
    size_t size;
    bool added;
    snprintf(table, sizeof table, "%s/made.tuned", folder);
    FILE *const file = fopen(table, "w");
    assert_non_null(file);
    fprintf(file, "gemmsmith-tuned 1\n" PROBLEM " %s 1.50 2.00 1.2500 1.2000 1.3000 1755 emu-h200 90 132 130100 2026-11-20T12:00:00Z predict-0\n", schedule);
    fclose(file);
    config.tuned_path = table;
    OK(gs_packing_device(&packing.device, "emu:h200", &error));
    OK(gs_context_open_on(&packing.context, &config, packing.device, &error));
    OK(gs_pack_writer_create(&packing.writer, &error));
    OK(gs_packing_add(&packing, &problem, &added, &error));
    OK(gs_packing_write(&packing, to, &size, &error));
    gs_pack_writer_destroy(&packing.writer);
    gs_close(&packing.context);
    unlink(table);
}

static void assert_served(const char *packs, const char *by)
{
    const gs_problem problem = parsed(PROBLEM);
    gs_plan *plan;
    gs_context *context = with_packs(packs);
    OK(gs_plan_create(context, &problem, &plan, &error));
    if (!strstr(gs_plan_why(plan), by)) fail_msg("%s, not %s", gs_plan_why(plan), by);
    gs_plan_destroy(&plan);
    gs_close(&context);
}

/* Of packs that have the same problem the first counts; where its kernel is damaged, the next one. */
static void test_two_packs(void **state)
{
    (void)state;
    char both[160], swapped[160];
    if (gs_compiler_version(NULL) == 0) skip();
    make_pack_of("simple", path);
    make_pack_of("gemv/16x8/w1/d1/r128/p0/k1/any", other);
    snprintf(both, sizeof both, "%s:%s", path, other);
    snprintf(swapped, sizeof swapped, "%s:%s", other, path);
    setenv("GEMMSMITH_COMPILE", "off", 1);
    assert_served(both, "pack one.pack: simple");
    assert_served(swapped, "pack bad.pack: gemv/");
    FILE *const file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -8, SEEK_END), 0);
    fputs("damaged", file);
    fclose(file);
    assert_served(both, "pack bad.pack: gemv/");
    const gs_problem problem = parsed(PROBLEM);
    gs_plan *plan;
    gs_context *context = with_packs(path);   /* alone: the next rung, and with nothing to compile it is none */
    assert_int_not_equal(gs_plan_create(context, &problem, &plan, &error), GS_OK);
    gs_close(&context);
    unsetenv("GEMMSMITH_COMPILE");
    unlink(path);
    unlink(other);
}

/* Pointers that the packed kernel cannot take: another kernel serves, or where nothing may be compiled one line says so. */
static void test_pointers(void **state)
{
    (void)state;
    const gs_problem problem = parsed(PROBLEM);
    gs_context *context;
    void *memory;
    if (gs_compiler_version(NULL) == 0) skip();
    make_pack();
    for (int compile = 1; compile >= 0; compile--) {
        char zeros[8192] = {0};
        setenv("GEMMSMITH_COMPILE", compile ? "on" : "off", 1);
        context = with_packs(path);
        OK(gs_memory_create(context, sizeof zeros, &memory, &error));
        OK(gs_memory_write(context, memory, zeros, sizeof zeros, &error));
        char *const at = memory;
        gs_args args = gs_args_make(at, at + 2048, NULL, at + 4096);
        OK(gs_gemm(context, &problem, &args, NULL, &error));
        args = gs_args_make(at + 2, at + 2048 + 2, NULL, at + 4096 + 2);
        const gs_status status = gs_gemm(context, &problem, &args, NULL, &error);
        if (status != (compile ? GS_OK : GS_ERROR_NO_COMPILER)) fail_msg("%s: %s", gs_status_name(status), error.text);
        OK(gs_memory_read(context, zeros, memory, sizeof zeros, &error));
        gs_memory_destroy(context, memory);
        gs_close(&context);
    }
    unsetenv("GEMMSMITH_COMPILE");
    unlink(path);
}

static gs_status write_again(gs_error *why)
{
    gs_packing packing = {0};
    gs_device *device;
    size_t size;
    OK(gs_packing_device(&device, "emu:h200", &error));
    packing.device = device;
    OK(gs_pack_writer_create(&packing.writer, &error));
    const gs_status status = gs_packing_write(&packing, path, &size, why);
    gs_pack_writer_destroy(&packing.writer);
    gs_device_close(&device);
    return status;
}

/* A disk that is full in the middle leaves the pack that was there, or none; nothing else stays in the folder, which its removal at the end proves. */
static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit before, small;
    gs_pack *pack;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    for (int there = 0; there < 2; there++) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const gs_status status = write_again(&error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_not_equal(status, GS_OK);
        assert_non_null(strstr(error.text, "one.pack"));
        assert_int_equal(gs_pack_open(&pack, path, NULL), there ? GS_OK : GS_ERROR_NOT_FOUND);
        gs_pack_close(&pack);
        if (!there) OK(write_again(&error));
    }
    unlink(path);
    char kept[sizeof path];
    strcpy(kept, path);
    strcpy(path, "/dev/full");
    assert_int_equal(write_again(&error), GS_ERROR_DISK_FULL);
    snprintf(path, sizeof path, "%s/none/one.pack", folder);
    assert_int_equal(write_again(&error), GS_ERROR_NOT_FOUND);
    strcpy(path, kept);
}

/* ---- user kernels ---- */

#define SOURCE  "#include \"common/args.h\"\nextern \"C\" __global__ void k(const gs_kernel_args args) { if (args.m < 0) ((int *)args.d)[0] = 0; }\n"
#define WRITTEN "# as it was written\n" MANIFEST   /* the hash is that of this text, not of what it says */

static char hash_of_user[GS_HASH_TEXT];

static gs_status source_of(void *self, const char *name, char **source, char **manifest, gs_error *why)
{
    (void)self;
    if (strncmp(name, "source:", 7) != 0 || strcmp(name + 7, hash_of_user) != 0) return gs_fail(why, GS_ERROR_NOT_FOUND, NULL, "not there");
    *source = strdup(SOURCE);
    *manifest = strdup(WRITTEN);
    return GS_OK;
}

/* Of a store that was changed. */
static gs_status other_source(void *self, const char *name, char **source, char **manifest, gs_error *why)
{
    gs_status status = source_of(self, name, source, manifest, why);
    if (status == GS_OK) (*source)[strlen(*source) - 1] = ' ';
    return status;
}

/* The only problem and kernel of a pack again, changed, with the right checksums: what a stranger could write. */
static void rewrite(const char *choice, const gs_pack_kernel *instead)
{
    gs_pack *pack;
    gs_pack_writer *w;
    gs_pack_entry entry;
    gs_pack_kernel kernel;
    char *bytes;
    size_t size;
    bool added;
    OK(gs_pack_open(&pack, path, &error));
    assert_true(gs_pack_entry_at(pack, 0, &entry));
    OK(gs_pack_kernel_at(pack, entry.kernel, &kernel, &error));
    if (instead && instead->manifest) kernel.manifest = instead->manifest;
    if (instead && instead->source) kernel.source = instead->source, kernel.source_size = strlen(instead->source);
    if (choice) entry.choice = choice;
    const gs_problem problem = parsed(entry.problem);
    OK(gs_pack_writer_create(&w, &error));
    OK(gs_pack_put_kernel(w, &kernel, &entry.kernel, &error));
    OK(gs_pack_put(w, &problem, &entry, &added, &error));
    OK(gs_pack_finish(w, gs_pack_about(pack), &bytes, &size, &error));
    OK(gs_file_write(other, bytes, size, &error));
    gs_pack_writer_destroy(&w);
    gs_pack_close(&pack);
    free(bytes);
}

static bool told;
static void hear(void *self, int level, const char *text)
{
    (void)self, (void)level;
    told |= strstr(text, "another kernel than it says") != NULL;
}

/* The other pack does not serve the problem, and a line says why; or it does. */
static void expect_told(bool expected)
{
    const gs_problem problem = parsed(PROBLEM);
    gs_plan *plan;
    gs_context *context = with_packs(other);
    told = false;
    gs_log_set_sink(&told, hear, NULL, GS_LOG_WARNING);
    const gs_status status = gs_plan_create(context, &problem, &plan, &error);
    gs_log_drop_sink(&told);
    if (told != expected || (status == GS_OK) == expected) fail_msg("%d: %s", (int)status, error.text);
    if (status == GS_OK) assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_PACK);
    gs_plan_destroy(&plan);
    gs_close(&context);
    unlink(other);
}

/* A schedule's kernel under the name of another one. */
static void test_other_schedule(void **state)
{
    (void)state;
    gs_error why;
    if (gs_compiler_version(&why) == 0) skip();
    make_pack_of("mma/32x32x64/w2x2/s3/g1", path);
    setenv("GEMMSMITH_COMPILE", "off", 1);
    rewrite(NULL, NULL);
    expect_told(false);
    rewrite("simple", NULL);
    expect_told(true);
    rewrite("mma/64x64x64/w2x4/s3/g1", NULL);   /* of the same family */
    expect_told(true);
    rewrite("mma/32x32x64/w2x2/s4/g1", NULL);   /* as many threads */
    expect_told(true);
    unsetenv("GEMMSMITH_COMPILE");
    unlink(path);
}

/* A row of a table names one: no plan has it by itself; one of a pack has, for exactly its problem. */
static void test_user_kernel(void **state)
{
    (void)state;
    gs_error why;
    if (gs_compiler_version(&why) == 0) skip();
    char table[80];
    snprintf(table, sizeof table, "%s/user.tuned", folder);
    FILE *const file = fopen(table, "w");
    assert_non_null(file);
    gs_hash_format(gs_hash_strings((const char *const[]){SOURCE, WRITTEN}, 2), hash_of_user);
    fprintf(file, "gemmsmith-tuned 1\n" PROBLEM " kernel/%s 2.5 0 1 1 1 0 emu-h200 90 132 0 2026-11-24T00:00:00Z predict-0.9.0\n", hash_of_user);
    fclose(file);
    gs_packing packing = {.sources = {source_of, NULL}};
    const gs_problem problem = parsed(PROBLEM), scaled = parsed(PROBLEM ":alpha=2");
    gs_config config = gs_config_default();
    size_t size;
    bool added;
    config.tuned_path = table;
    OK(gs_packing_device(&packing.device, "emu:h200", &error));
    OK(gs_context_open_on(&packing.context, &config, packing.device, &error));
    OK(gs_pack_writer_create(&packing.writer, &error));
    assert_int_equal(gs_packing_add(&packing, &problem, &added, &error), GS_ERROR_FORBIDDEN);   /* nobody inspects it */
    packing.device->inspector = &gs_inspect_user_kernels;
    packing.sources.get = other_source;
    assert_int_equal(gs_packing_add(&packing, &problem, &added, &error), GS_ERROR_CORRUPT);
    assert_non_null(strstr(error.text, "texts of another kernel"));
    packing.sources.get = source_of;
    OK(gs_packing_add(&packing, &problem, &added, &error));
    assert_true(added && packing.user == 1);
    OK(gs_packing_write(&packing, path, &size, &error));
    gs_pack_writer_destroy(&packing.writer);
    gs_plan *plan;
    OK(gs_plan_create(packing.context, &problem, &plan, &error));   /* the next choice */
    assert_int_not_equal(gs_plan_origin(plan), GS_ORIGIN_TABLE);
    gs_plan_destroy(&plan);
    gs_close(&packing.context);

    setenv("GEMMSMITH_COMPILE", "off", 1);
    gs_context *context = with_packs(path);
    OK(gs_plan_create(context, &problem, &plan, &error));
    assert_int_equal(gs_plan_origin(plan), GS_ORIGIN_PACK);
    assert_true(strncmp(gs_plan_schedule(plan), "kernel/", 7) == 0 && strcmp(gs_plan_schedule(plan) + 7, hash_of_user) == 0);
    gs_plan_destroy(&plan);
    assert_int_equal(gs_plan_create(context, &scaled, &plan, &error), GS_ERROR_NO_COMPILER);
    gs_close(&context);
    rewrite(NULL, NULL);
    expect_told(false);
    rewrite("kernel/00112233445566778899aabbccddeeff", NULL);
    expect_told(true);
    rewrite(NULL, &(gs_pack_kernel){.source = SOURCE " "});
    expect_told(true);
    rewrite(NULL, &(gs_pack_kernel){.manifest = MANIFEST});
    expect_told(true);
    unsetenv("GEMMSMITH_COMPILE");
    unlink(path);
    unlink(table);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/one.pack", folder);
    snprintf(other, sizeof other, "%s/bad.pack", folder);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_damage), cmocka_unit_test(test_hostile), cmocka_unit_test(test_plans), cmocka_unit_test(test_two_packs),
                                       cmocka_unit_test(test_pointers), cmocka_unit_test(test_full_disk), cmocka_unit_test(test_other_schedule), cmocka_unit_test(test_user_kernel)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
