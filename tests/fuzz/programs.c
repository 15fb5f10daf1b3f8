/* SPDX-License-Identifier: MIT */
#include "programs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dataset/samples.h"
#include "pack/format.h"
#include "pack/pack.h"
#include "recorded/import.h"
#include "recorded/recorded.h"
#include "schedule/caps.h"

#define REQUIRE(condition)                                                                        \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: does not hold: %s\ntext: %s\n", __FILE__, __LINE__, #condition, text); \
            abort();                                                                              \
        }                                                                                         \
    } while (0)

static char *copy_of(const char *text)
{
    char *const copy = strdup(text);
    if (!copy) abort();
    return copy;
}

/* A list that was read: sound problems, written and read again the same; buckets lose no call. */
static void require_list(const char *text, gs_recorded *r)
{
    gs_recorded again = {0};
    gs_text once = {0}, twice = {0};
    int merged = -1;
    for (int i = 0; i < r->count; i++) REQUIRE(r->rows[i].count > 0 && r->rows[i].via[0] != '\0' && gs_problem_check(&r->rows[i].problem, NULL) == GS_OK);
    gs_recorded_sort(r);
    for (int i = 1; i < r->count; i++) REQUIRE(gs_recorded_work(&r->rows[i - 1]) >= gs_recorded_work(&r->rows[i]));
    gs_recorded_format(r, &once);
    char *const copy = copy_of(gs_text_string(&once));
    REQUIRE(gs_recorded_read_text(&again, copy, "x", NULL) == GS_OK && again.cut == 0);
    gs_recorded_format(&again, &twice);
    REQUIRE(strcmp(gs_text_string(&once), gs_text_string(&twice)) == 0);
    const uint64_t calls = gs_recorded_calls(r);
    const int problems = gs_recorded_problems(r);
    REQUIRE(gs_recorded_bucket(r, &merged, NULL) == GS_OK && merged >= 0 && gs_recorded_problems(r) == problems - merged);
    REQUIRE(gs_recorded_calls(r) == calls);
    for (int i = 0; i < r->count; i++) REQUIRE(gs_problem_check(&r->rows[i].problem, NULL) == GS_OK);
    free(copy);
    gs_text_free(&once);
    gs_text_free(&twice);
    gs_recorded_free(&again);
}

static void require_refused(const char *text, const gs_recorded *r, gs_status status, const gs_error *error)
{
    REQUIRE(status == GS_ERROR_PARSE || status == GS_ERROR_RANGE || status == GS_ERROR_UNSUPPORTED);
    REQUIRE(r->count == 0 && r->files == 0 && error->status == status && error->text[0] != '\0');
    REQUIRE(strncmp(error->field, "line ", 5) == 0 && error->column > 0);
}

void fuzz_recorded(const char *text)
{
    gs_recorded r = {0};
    gs_error error = {0};
    char *const copy = copy_of(text);
    const gs_status status = gs_recorded_read_text(&r, copy, "x", &error);
    if (status == GS_OK) require_list(text, &r);
    else require_refused(text, &r, status, &error);
    gs_recorded_free(&r);
    free(copy);
}

void fuzz_tunableop(const char *text)
{
    gs_recorded r = {0};
    gs_import_others others = {0};
    gs_error error = {0};
    char *const copy = copy_of(text);
    const gs_status status = gs_import_tunableop_text(&r, &others, copy, "x", &error);
    int lines = others.beyond;
    for (int i = 0; i < others.count; i++) lines += others.list[i].lines;
    REQUIRE(lines == others.lines && others.count <= GS_IMPORT_OTHERS);
    if (status == GS_OK) require_list(text, &r);
    else require_refused(text, &r, status, &error);
    REQUIRE(status == GS_OK || others.lines == 0);
    gs_recorded_free(&r);
    free(copy);
}

/* ---- packs ---- */

#define MANIFEST "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=16 b=16 c=2 d=16\nentry k\ngrid 1 1 1\nblock 1 1 1\n"

/* Problems of a kernel, of a user kernel, of cuBLASLt. */
static char *sound_pack(size_t *size)
{
    static const char *const problems[] = {"f16:64x64x64:tn", "bf16:64x64x64:nn:b=3", "f16:64x64x64:tn:beta=1", "bf16:64x128x256:tn:ep=bias+silu"};
    const gs_pack_head head = {.target = "sm_90a", .gpu = "nvidia-h200", .nvrtc = 12080, .driver = 12000, .cc = 90, .sms = 132, .date = "2026-11-24T00:00:00Z"};
    const gs_pack_kernel kernels[] = {{.manifest = MANIFEST, .code = "cubin of some bytes", .code_size = 19}, {.manifest = MANIFEST, .code = "another", .code_size = 7, .source = "text", .source_size = 4, .user = true}};
    gs_pack_writer *writer;
    char *bytes;
    bool added;
    int index[2];
    if (gs_pack_writer_create(&writer, NULL) != GS_OK) abort();
    for (int i = 0; i < 2; i++)
        if (gs_pack_put_kernel(writer, &kernels[i], &index[i], NULL) != GS_OK) abort();
    for (int i = 0; i < 4; i++) {
        gs_problem problem;
        const gs_pack_entry entry = {.choice = i < 2 ? "simple" : i == 2 ? "cublaslt/3" : "kernel/00112233445566778899aabbccddeeff", .kernel = i < 2 ? index[0] : i == 2 ? -1 : index[1],
                                     .suggestion = i == 2 ? 3 : 0, .us = 1.5, .gpu = "nvidia-h200", .date = "", .by = "tune-0"};
        if (gs_problem_parse(&problem, problems[i], NULL) != GS_OK || gs_pack_put(writer, &problem, &entry, &added, NULL) != GS_OK) abort();
    }
    if (gs_pack_finish(writer, &head, &bytes, size, NULL) != GS_OK) abort();
    gs_pack_writer_destroy(&writer);
    return bytes;
}

static void require_inside(const char *text, gs_pack *pack)
{
    gs_pack_entry entry;
    gs_pack_kernel kernel;
    gs_problem problem;
    size_t seen = 0;
    int entries = 0;
    for (; gs_pack_entry_at(pack, entries, &entry); entries++) {
        seen += strlen(entry.problem) + strlen(entry.choice) + strlen(entry.gpu) + strlen(entry.date) + strlen(entry.by);
        REQUIRE(entry.kernel >= -1 && entry.kernel < gs_pack_about(pack)->kernels);
        if (gs_problem_parse(&problem, entry.problem, NULL) == GS_OK) gs_pack_find(pack, &problem, &entry);
    }
    REQUIRE(entries == gs_pack_about(pack)->problems);
    for (int i = 0; i < gs_pack_about(pack)->kernels; i++)
        if (gs_pack_kernel_at(pack, i, &kernel, NULL) == GS_OK) seen += strlen(kernel.manifest) + gs_hash64(kernel.code, kernel.code_size) % 2;
    gs_pack_fits(pack, gs_caps_find("h200"), NULL);
    REQUIRE(seen < (size_t)1 << 40);
}

void fuzz_pack(const char *text)
{
    static char  *sound;
    static size_t size;
    gs_error error = {0};
    gs_pack *pack;
    if (!sound) sound = sound_pack(&size);
    const size_t left = text[0] == 'c' ? size * (unsigned char)text[0 + (text[0] != '\0')] / 256 : size;   /* c: cut off */
    char *const hurt = malloc(left ? left : 1);   /* anew, so that nothing is behind it */
    if (!hurt) abort();
    memcpy(hurt, sound, left);
    for (const char *at = text; strlen(at) >= 4; at += 4) {
        const size_t where = (size_t)(unsigned char)at[0] * 61 + (unsigned char)at[1];
        if (where < left) hurt[where] = (char)(at[3] & 1 ? hurt[where] ^ at[2] : at[2] - '0');
    }
    gs_pack_top *const top = (gs_pack_top *)(void *)hurt;   /* a checksum that fits: what a stranger could write */
    if (left > sizeof *top && top->code > GS_PACK_HASHED_FROM && top->code <= left) top->hash = gs_hash_bytes(hurt + GS_PACK_HASHED_FROM, top->code - GS_PACK_HASHED_FROM);
    const gs_status status = gs_pack_from(&pack, hurt, left, "x.pack", &error);
    REQUIRE(status == GS_OK || (error.text[0] != '\0' && !pack));
    if (status == GS_OK) require_inside(text, pack);
    gs_pack_close(&pack);
    free(hurt);
}

/* ---- rows of times ---- */

/* Sound schedules with times, in the order of their groups. */
void fuzz_rows(const char *text)
{
    gs_sample_set set = {.caps = gs_caps_find("h200")};
    gs_error error = {0};
    char *const copy = copy_of(text);
    const gs_status status = gs_sample_set_parse(&set, "x", copy, &error);
    REQUIRE(status == GS_OK || (status == GS_ERROR_CORRUPT && error.text[0] != '\0'));
    for (int i = 0; i < set.count; i++) {
        const gs_sample *const s = &set.list[i];
        REQUIRE(s->us > 0 && isfinite(s->us) && gs_problem_check(&s->problem, NULL) == GS_OK);
        REQUIRE(s->library || gs_schedule_check(&s->schedule, &s->problem, set.caps, NULL) == GS_OK);
        REQUIRE(i == 0 || s->group == set.list[i - 1].group || s->group == set.list[i - 1].group + 1);
    }
    gs_sample_set_free(&set);
    free(copy);
}

/* What was read can be learned from and judged. */
void fuzz_suggestions(const char *text)
{
    const gs_caps *const caps = gs_caps_find("h200");
    gs_suggestion_set set = {0};
    gs_ranker ranker = {.nets = 0};
    gs_error error = {0};
    char *const copy = copy_of(text);
    const gs_status status = gs_suggestion_set_parse(&set, "x", copy, &error);
    REQUIRE(status == GS_OK || (status == GS_ERROR_CORRUPT && error.text[0] != '\0'));
    for (int i = 0; i < set.count; i++) REQUIRE(set.list[i].us > 0 && set.list[i].place >= 0 && gs_problem_check(&set.list[i].problem, NULL) == GS_OK);
    REQUIRE(set.kept == set.count);
    if (set.count > 0 && set.count < 8) {
        if (gs_ranker_create(&ranker, 1, &error) != GS_OK) abort();
        REQUIRE(gs_ranker_train(&ranker, set.list, set.count, caps, 1, 1, &error) == GS_OK);
        for (int i = 0; i < ranker.nets; i++) REQUIRE(gs_net_finite(&ranker.net[i]));
        const gs_ranker_worth worth = gs_ranker_judge(&ranker, set.list, set.count, caps);
        REQUIRE(worth.groups >= 0 && worth.chosen >= 0 && worth.chosen <= 1 && worth.first <= 1);
    }
    gs_ranker_free(&ranker);
    gs_suggestion_set_free(&set);
    free(copy);
}
