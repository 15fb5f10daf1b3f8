/* SPDX-License-Identifier: MIT
 * Proves that the cubin cache gives back what was put in, takes no damaged, foreign or half-written file for code, survives
 * concurrent writers, and that its key tells apart whatever changes the code. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "device/cache.h"
#include "support/fork.h"

static char folder[GS_PATH];
static const gs_hash key = {0x1122334455667788ull, 0x99aabbccddeeff00ull};

static int make_folder(void **state)
{
    (void)state;
    const char *const base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/gemmsmith-cache-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *const directory = opendir(folder);
    if (!directory) return -1;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char path[GS_PATH + 300];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') remove(path);
    }
    closedir(directory);
    return rmdir(folder);
}

static int count_files(void)
{
    DIR *const directory = opendir(folder);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void file_path(char path[GS_PATH])
{
    char name[GS_HASH_TEXT];
    assert_true(snprintf(path, GS_PATH, "%s/%s.cubin", folder, gs_hash_format(key, name)) < GS_PATH);
}

static char code[3000], log_text[] = "ptxas info    : Used 40 registers\n", ptx_text[] = ".version 9.0\n.target sm_90a\n";

static gs_image sample(int fill)
{
    for (size_t i = 0; i < sizeof code; i++) code[i] = (char)(fill + (int)(i % 7));
    return (gs_image){.code = code, .size = sizeof code, .log = log_text, .ptx = ptx_text, .ptx_size = sizeof ptx_text - 1, .registers = 40, .spill_bytes = 12, .stack_bytes = 8,
                      .static_smem = 512, .serialized = true, .compile_ms = 33};
}

static void assert_sample(const gs_image *image)
{
    assert_int_equal(image->size, sizeof code);
    assert_memory_equal(image->code, code, sizeof code);
    assert_string_equal(image->log, log_text);
    assert_string_equal(image->ptx, ptx_text);
    assert_int_equal(image->ptx_size, sizeof ptx_text - 1);
    assert_true(image->registers == 40 && image->spill_bytes == 12 && image->stack_bytes == 8 && image->static_smem == 512);
    assert_true(image->serialized && image->cached && image->compile_ms == 0);
}

static void put_file(const void *data, size_t size)
{
    char path[GS_PATH];
    file_path(path);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void assert_absent(void)
{
    gs_image image;
    gs_error error = {0};
    assert_int_equal(gs_cache_read(folder, key, &image, &error), GS_ERROR_NOT_FOUND);
    assert_null(image.code);
    assert_null(image.log);
    assert_true(error.text[0]);
}

/* The bytes of a good file; the caller frees them. */
static char *good_file(size_t *size)
{
    char path[GS_PATH], *data;
    const gs_image image = sample(1);
    assert_int_equal(gs_cache_write(folder, key, &image, NULL), GS_OK);
    file_path(path);
    assert_int_equal(gs_file_read(path, 1 << 20, &data, size, NULL), GS_OK);
    return data;
}

static void test_round_trip(void **state)
{
    (void)state;
    assert_absent();
    gs_image image = sample(3), back;
    assert_int_equal(gs_cache_write(folder, key, &image, NULL), GS_OK);
    assert_int_equal(gs_cache_read(folder, key, &back, NULL), GS_OK);
    assert_sample(&back);
    gs_image_free(&back);
    assert_null(back.code);
    image.log = image.ptx = NULL;
    assert_int_equal(gs_cache_write(folder, key, &image, NULL), GS_OK);
    assert_int_equal(gs_cache_read(folder, key, &back, NULL), GS_OK);
    assert_string_equal(back.log, "");
    assert_null(back.ptx);
    gs_image_free(&back);
    image.size = 0;
    assert_int_equal(gs_cache_write(folder, key, &image, NULL), GS_ERROR_RANGE);
    assert_int_equal(count_files(), 1);
}

static void test_every_flipped_byte_is_noticed(void **state)
{
    (void)state;
    size_t size;
    char *const data = good_file(&size);
    for (size_t i = 0; i < size; i++) {
        data[i] ^= 0x40;
        put_file(data, size);
        assert_absent();
        data[i] ^= 0x40;
    }
    put_file(data, size);
    gs_image back;
    assert_int_equal(gs_cache_read(folder, key, &back, NULL), GS_OK);
    assert_sample(&back);
    gs_image_free(&back);
    free(data);
}

static void test_truncated_and_extended(void **state)
{
    (void)state;
    size_t size;
    char *const data = good_file(&size);
    for (size_t keep = 0; keep < size; keep += keep < 200 || keep > size - 50 ? 1 : 97) {
        put_file(data, keep);
        assert_absent();
    }
    char *const longer = calloc(size + 8, 1);
    assert_non_null(longer);
    memcpy(longer, data, size);
    put_file(longer, size + 8);
    assert_absent();
    free(longer);
    free(data);
}

/* Files with a correct checksum that still are not ours: another byte order, sizes that overflow, another key. */
static void test_well_formed_but_foreign(void **state)
{
    (void)state;
    static const struct {
        size_t      at;
        uint64_t    value;
        size_t      size;
    } changes[] = {
        {8,  0x04030201u,             4},   /* byte order */
        {12, 999,                     4},   /* format version */
        {16, 1,                       8},   /* key */
        {32, UINT64_MAX - 100,        8},   /* code size */
        {32, 0,                       8},
        {40, UINT64_MAX - 3000 - 100, 8},   /* log size */
    };
    size_t size;
    char *const data = good_file(&size);
    char *const changed = malloc(size);
    assert_non_null(changed);
    for (size_t i = 0; i < GS_COUNT(changes); i++) {
        memcpy(changed, data, size);
        memcpy(changed + changes[i].at, &changes[i].value, changes[i].size);
        const uint64_t checksum = gs_hash64(changed, size - 8);
        memcpy(changed + size - 8, &checksum, 8);
        put_file(changed, size);
        assert_absent();
    }
    free(changed);
    free(data);
}

/* Parts whose sizes add up: there must be code, a byte of it is enough. */
static void test_code_of_few_bytes(void **state)
{
    (void)state;
    size_t size;
    char *const data = good_file(&size);
    for (uint64_t bytes = 0; bytes < 2; bytes++) {
        uint64_t sizes[2];
        memcpy(sizes, data + 32, sizeof sizes);   /* of the code, of the log */
        sizes[1] += sizes[0] - bytes;
        sizes[0] = bytes;
        memcpy(data + 32, sizes, sizeof sizes);
        const uint64_t checksum = gs_hash64(data, size - 8);
        memcpy(data + size - 8, &checksum, 8);
        put_file(data, size);
        if (bytes == 0) {
            assert_absent();
            continue;
        }
        gs_image image;
        assert_int_equal(gs_cache_read(folder, key, &image, NULL), GS_OK);
        assert_int_equal(image.size, 1);
        gs_image_free(&image);
    }
    free(data);
}

static void test_oversized_and_not_a_file(void **state)
{
    (void)state;
    char path[GS_PATH];
    file_path(path);
    put_file("x", 1);
    assert_int_equal(truncate(path, (off_t)65 << 20), 0);
    assert_absent();
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_absent();
    const gs_image image = sample(1);
    assert_int_not_equal(gs_cache_write(folder, key, &image, NULL), GS_OK);
    assert_int_equal(count_files(), 1);
    assert_int_equal(rmdir(path), 0);
}

/* Damage is said, absence is not. */
static void test_damage_is_logged(void **state)
{
    (void)state;
    char path[GS_PATH + 8], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/log", folder);
    fflush(stderr);
    const int saved = dup(STDERR_FILENO);
    assert_non_null(freopen(path, "w", stderr));
    gs_log_set_level(GS_LOG_WARNING);
    assert_absent();
    put_file("not a cubin", 11);
    assert_absent();
    gs_log_set_level(GS_LOG_OFF);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(gs_file_read(path, 10000, &text, &size, NULL), GS_OK);
    assert_non_null(strstr(text, "cut short"));
    assert_null(strchr(strchr(text, '\n') + 1, '\n'));
    free(text);
}

static void test_a_damaged_file_is_replaced(void **state)
{
    (void)state;
    put_file("rubbish", 7);
    assert_absent();
    const gs_image image = sample(5);
    gs_image back;
    assert_int_equal(gs_cache_write(folder, key, &image, NULL), GS_OK);
    assert_int_equal(gs_cache_read(folder, key, &back, NULL), GS_OK);
    assert_sample(&back);
    gs_image_free(&back);
}

/* Four processes write different content under one key while this one reads: it sees nothing or one of the four, whole. */
static void test_concurrent_writers(void **state)
{
    (void)state;
    pid_t child[4];
    for (int i = 0; i < 4; i++) {
        child[i] = test_fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            const gs_image image = sample(10 * (i + 1));
            int failed = 0;
            for (int n = 0; n < 25; n++) failed |= gs_cache_write(folder, key, &image, NULL) != GS_OK;
            _exit(failed);
        }
    }
    int running = 4, seen = 0;
    while (running > 0) {
        gs_image back;
        int status;
        if (gs_cache_read(folder, key, &back, NULL) == GS_OK) {
            const char first = ((const char *)back.code)[0];
            assert_true(first == 10 || first == 20 || first == 30 || first == 40);
            sample(first);
            assert_sample(&back);
            gs_image_free(&back);
            seen++;
        } else {
            assert_int_equal(seen, 0);
        }
        while (running > 0 && waitpid(-1, &status, WNOHANG) > 0) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            running--;
        }
    }
    assert_true(seen > 0);
    assert_int_equal(count_files(), 1);
}

/* A folder that cannot be made (its parent is a file) and, for other users than root, one that may not be written. */
static void test_unusable_folder(void **state)
{
    (void)state;
    char path[GS_PATH + 16];
    gs_error error = {0};
    const gs_image image = sample(1);
    gs_image back;
    snprintf(path, sizeof path, "%s/file", folder);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_not_equal(gs_cache_write(path, key, &image, &error), GS_OK);
    assert_true(error.text[0]);
    assert_int_equal(gs_cache_read(path, key, &back, NULL), GS_ERROR_NOT_FOUND);
    if (geteuid() != 0) {
        assert_int_equal(chmod(folder, 0500), 0);
        assert_int_not_equal(gs_cache_write(folder, key, &image, &error), GS_OK);
        assert_int_equal(chmod(folder, 0700), 0);
    }
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_not_equal(gs_cache_write(path, key, &image, &error), GS_OK);
    assert_int_equal(gs_cache_read(path, key, &back, NULL), GS_ERROR_NOT_FOUND);
}

/* A write that fails half way, as on a full disk (a file size limit stands in for it), leaves the old content and no rest. */
static void test_full_disk(void **state)
{
    (void)state;
    size_t size;
    free(good_file(&size));
    const pid_t child = test_fork();
    assert_true(child >= 0);
    if (child == 0) {
        const gs_image image = sample(9);
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
        _exit(gs_cache_write(folder, key, &image, NULL) == GS_OK);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(count_files(), 1);
    gs_image back;
    assert_int_equal(gs_cache_read(folder, key, &back, NULL), GS_OK);
    assert_int_equal(((const char *)back.code)[0], 1);
    gs_image_free(&back);
}

static void test_key(void **state)
{
    (void)state;
    const char *const options[] = {"-DA=1", "-DB"}, *const joined[] = {"-DA=1-DB", ""}, *const swapped[] = {"-DB", "-DA=1"};
    const char *const names[] = {"a.h"}, *const texts[] = {"int x;"}, *const other_names[] = {"b.h"},
                      *const other_texts[] = {"int y;"};
    const gs_source base = {.name = "k.cu", .text = "source", .options = options, .option_count = 2,
                            .header_names = names, .header_texts = texts, .header_count = 1};
    gs_source variant[10];
    for (size_t i = 0; i < GS_COUNT(variant); i++) variant[i] = base;
    variant[1].text = "source ";
    variant[2].options = joined;
    variant[3].options = swapped;
    variant[4].option_count = 1;
    variant[5].header_names = other_names;
    variant[6].header_texts = other_texts;
    variant[7].header_count = 0;
    variant[8].options = NULL;
    variant[8].option_count = 0;
    variant[9].ptx = true;
    gs_hash keys[GS_COUNT(variant) + 2];
    for (size_t i = 0; i < GS_COUNT(variant); i++) keys[i] = gs_cache_key(&variant[i], "sm_90a", 13000);
    keys[GS_COUNT(variant)] = gs_cache_key(&base, "sm_80", 13000);
    keys[GS_COUNT(variant) + 1] = gs_cache_key(&base, "sm_90a", 12080);
    for (size_t i = 0; i < GS_COUNT(keys); i++)
        for (size_t j = 0; j < i; j++) assert_true(keys[i].low != keys[j].low || keys[i].high != keys[j].high);
    gs_source renamed = base;
    renamed.name = "other.cu";
    const gs_hash again = gs_cache_key(&renamed, "sm_90a", 13000);
    assert_true(again.low == keys[0].low && again.high == keys[0].high);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_round_trip),
        IN_FOLDER(test_every_flipped_byte_is_noticed),
        IN_FOLDER(test_truncated_and_extended),
        IN_FOLDER(test_well_formed_but_foreign),
        IN_FOLDER(test_code_of_few_bytes),
        IN_FOLDER(test_oversized_and_not_a_file),
        IN_FOLDER(test_damage_is_logged),
        IN_FOLDER(test_a_damaged_file_is_replaced),
        IN_FOLDER(test_concurrent_writers),
        IN_FOLDER(test_unusable_folder),
        IN_FOLDER(test_full_disk),
        cmocka_unit_test(test_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
