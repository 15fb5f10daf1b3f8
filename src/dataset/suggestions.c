/* SPDX-License-Identifier: MIT */
#include "dataset/suggestions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "train/train.h"

enum { MOST_BYTES = 1 << 28, FIELDS = 14, NUMBERS = FIELDS - 1, MOST_SUGGESTIONS = 1000, EPOCHS = 80 };

#define HEAD "problem,suggestion,measured_us,sm_mhz,id,tile,stages,splitk,reduction,swizzle,cluster,custom,waves,workspace\n"

bool gs_suggestion_set_is(const char *path)
{
    char head[sizeof HEAD];
    FILE *const file = fopen(path, "r");
    const bool is = file && fgets(head, sizeof head, file) && strcmp(head, HEAD) == 0;
    if (file) fclose(file);
    return is;
}

/* The fields after the problem. false: one of them is not a number in its range. */
static bool take_numbers(gs_suggestion_time *time, char **field)
{
    double number[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        gs_scan scan = gs_scan_from(field[i + 1]);
        if (!gs_scan_double(&scan, &number[i]) || !gs_scan_end(&scan) || !(number[i] >= 0 && number[i] <= UINT32_MAX)) return false;
    }
    time->place = (int)fmin(number[0], MOST_SUGGESTIONS) - 1;
    time->us = number[1];
    time->suggestion = (gs_suggestion){
        .id = (uint32_t)number[3], .tile = (uint32_t)number[4], .stages = (uint32_t)number[5], .splitk = (uint32_t)number[6], .reduction = (uint32_t)number[7],
        .swizzle = (uint32_t)number[8], .cluster = (uint32_t)number[9], .custom = (uint32_t)number[10], .waves = (float)number[11], .workspace = (size_t)number[12],
        .can_choose = true,
    };
    return time->place >= 0 && time->us > 0;
}

gs_status gs_suggestion_set_parse(gs_suggestion_set *set, const char *name, char *text, gs_error *error)
{
    const char *last = "";   /* the problem's text on the previous line */
    int line = 1;
    if (strncmp(text, HEAD, strlen(HEAD)) != 0) return gs_fail(error, GS_ERROR_CORRUPT, "rows", "%.200s does not begin as times of suggestions do", name);
    for (char *at = text + strlen(HEAD), *row; (row = gs_csv_line(&at));) {
        char *field[FIELDS];
        gs_suggestion_time time = {.us = 0};
        line++;
        if (gs_csv_split(row, field, FIELDS) != FIELDS || !take_numbers(&time, field)) return gs_fail(error, GS_ERROR_CORRUPT, "rows", "%.200s, line %d: not a suggestion's time", name, line);
        if (gs_problem_parse(&time.problem, field[0], NULL) != GS_OK) continue;
        if (!gs_grow(&set->list, set->count, &set->capacity, sizeof *set->list)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for %d times", set->count);
        const gs_suggestion_time *const before = set->count > 0 ? &set->list[set->count - 1] : NULL;
        time.group = !before ? 0 : before->group + !(strcmp(last, field[0]) == 0 && before->place < time.place);
        last = field[0];
        set->list[set->count++] = time;
        set->kept = set->count;
    }
    return GS_OK;
}

gs_status gs_suggestion_set_read(gs_suggestion_set *set, const char *path, gs_error *error)
{
    char *text = NULL;
    size_t size;
    GS_TRY(gs_file_read(path, MOST_BYTES, &text, &size, error));
    const gs_status status = gs_suggestion_set_parse(set, path, text, error);
    free(text);
    return status;
}

gs_status gs_suggestion_set_hold_out(gs_suggestion_set *set, int of, gs_error *error)
{
    gs_suggestion_time *const sorted = malloc(((size_t)set->count + 1) * sizeof *sorted);
    if (!sorted) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to sort %d times", set->count);
    for (int pass = 0, at = 0; pass < 2; pass++) {
        for (int i = 0; i < set->count; i++)
            if (gs_train_held_out(&set->list[i].problem, of) == (pass == 1)) sorted[at++] = set->list[i];
        if (pass == 0) set->kept = at;
    }
    free(set->list);
    set->list = sorted;
    set->capacity = set->count + 1;
    return GS_OK;
}

gs_status gs_suggestion_set_learn(const gs_suggestion_set *set, gs_ranker *ranker, const gs_caps *caps, uint64_t seed, gs_error *error)
{
    if (set->kept == 0) return GS_OK;
    gs_ranker_free(ranker);
    GS_TRY(gs_ranker_create(ranker, seed, error));
    return gs_ranker_train(ranker, set->list, set->kept, caps, EPOCHS, seed, error);
}

gs_ranker_worth gs_suggestion_set_judge(const gs_suggestion_set *set, const gs_ranker *ranker, const gs_caps *caps)
{
    return gs_ranker_judge(ranker, set->list + set->kept, set->count - set->kept, caps);
}

void gs_suggestion_set_free(gs_suggestion_set *set)
{
    free(set->list);
    *set = (gs_suggestion_set){0};
}
