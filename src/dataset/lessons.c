/* SPDX-License-Identifier: MIT
 * Lessons: prompts that show some measured schedules of a problem, with the fastest of those not shown as the answer. Many lessons can be drawn from one
 * group of times: they differ in what is shown (nothing to most of the group) and in how many schedules are asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "dataset/rows.h"
#include "dataset/samples.h"
#include "policy/llm_prompt.h"
#include "schedule/profile.h"

enum {
    LEAST = 8,    /* times per group; of fewer the fastest means little */
    MOST  = 15,   /* schedules asked for at once, as in the policy `llm` */
    SHOWN = 40    /* schedules shown as tried */
};

/* A lesson drawn from a group. */
typedef struct lesson {
    gs_llm_tried tried[SHOWN];
    int          shown, asked;
    int          answer[MOST];
} lesson;

static int by_us(const void *left, const void *right)
{
    const gs_sample *const a = left, *const b = right;
    return (a->us > b->us) - (a->us < b->us);
}

/* A quarter of the lessons show nothing, half ask for one schedule. list: fastest first. */
static void draw(lesson *l, const gs_sample *list, int count, gs_random *random)
{
    const int most = GS_MIN(count / 2, SHOWN);
    const int show = gs_random_below(random, 4) == 0 ? 0 : 1 + (int)gs_random_below(random, (uint64_t)most);
    const int ask = gs_random_below(random, 2) == 0 ? 1 : 2 + (int)gs_random_below(random, MOST - 1);
    l->shown = l->asked = 0;
    for (int i = 0, left = show; i < count; i++) {
        const bool shown = left > 0 && gs_random_below(random, (uint64_t)(count - i)) < (uint64_t)left;
        if (shown) {
            l->tried[l->shown++] = (gs_llm_tried){.schedule = list[i].schedule, .us = list[i].us};
            left--;
        } else if (l->asked < ask) {
            l->answer[l->asked++] = i;
        }
    }
}

static void add_answer(gs_text *text, const lesson *l, const gs_sample *list)
{
    char name[GS_SCHEDULE_TEXT];
    gs_text_add(text, "```json\n[");
    for (int i = 0; i < l->asked; i++) gs_text_addf(text, "%s\"%s\"", i ? ", " : "", gs_schedule_format(&list[l->answer[i]].schedule, name));
    gs_text_add(text, "]\n```\n");
}

static gs_status add_lesson(gs_known *k, const lesson *l, const gs_sample *list, const gs_space *space, gs_random *random, gs_error *error)
{
    gs_text system = {0}, ask = {0}, answer = {0};
    char task[GS_PROBLEM_TEXT + 16], name[GS_SCHEDULE_TEXT];
    const gs_llm_view view = {k->options->folder, k->caps, space, l->tried, l->shown, "", l->asked};
    gs_status status = gs_llm_prompt(&view, random, &system, &ask, error);
    add_answer(&answer, l, list);
    if (status == GS_OK && (system.failed || ask.failed || answer.failed)) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    if (status == GS_OK) {
        const gs_message prompt[] = {{"system", gs_text_string(&system)}, {"user", gs_text_string(&ask)}}, completion = {"assistant", gs_text_string(&answer)};
        const char *const parts[] = {"lesson", prompt[0].content, prompt[1].content, completion.content};
        gs_json json = gs_row_begin(k, "lesson", parts, 4);
        gs_json_string(&json, "task", gs_task_name(k, "schedule", task));
        gs_json_string(&json, "mode", "schedule");
        gs_json_int(&json, "shown", l->shown);
        gs_json_int(&json, "asked", l->asked);
        gs_json_string(&json, "candidate", gs_schedule_format(&list[l->answer[0]].schedule, name));
        gs_json_double(&json, "us", list[l->answer[0]].us);
        gs_json_double(&json, "best_us", list[0].us);
        gs_row_messages(&json, "prompt", prompt, 2);
        gs_row_messages(&json, "completion", &completion, 1);
        status = gs_row_end(k, &json, error);
    }
    gs_text_free(&system);
    gs_text_free(&ask);
    gs_text_free(&answer);
    return status;
}

static gs_status add_group(gs_known *k, gs_sample *list, int count, gs_error *error)
{
    gs_space space;
    char text[GS_PROBLEM_TEXT];
    gs_problem_format(&k->problem, text);
    GS_TRY(gs_space_create(&space, &k->problem, k->caps, 0, error));
    qsort(list, (size_t)count, sizeof *list, by_us);
    gs_random random = {gs_hash64(text, strlen(text)) + k->options->seed * 0x9e3779b97f4a7c15ull + (uint64_t)list->group};
    gs_status status = GS_OK;
    lesson *const l = malloc(sizeof *l);
    if (!l) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a lesson");
    for (int i = 0; i < k->options->lessons && status == GS_OK; i++) {
        draw(l, list, count, &random);
        status = add_lesson(k, l, list, &space, &random, error);
    }
    free(l);
    gs_space_free(&space);
    return status;
}

gs_status gs_dataset_lessons(const gs_dataset_options *o, gs_dataset_counts *counts, gs_error *error)
{
    gs_sample_set set = {.caps = o->caps};
    char text[GS_PROBLEM_TEXT];
    *counts = (gs_dataset_counts){0};
    char usual[GS_PATH], *const store = usual;
    if (o->times_count == 0 && o->store_count == 0) return gs_fail(error, GS_ERROR_ARGUMENT, "store", "lessons need stores or rows of times");
    if (o->times_count == 0) snprintf(usual, sizeof usual, "%s", gs_store_path(o->stores[0]));
    gs_status status = o->times_count > 0 ? gs_sample_set_read(&set, o->device, o->times, o->times_count, error) : gs_sample_set_read(&set, o->device, &store, 1, error);
    for (int begin = 0, end; begin < set.count && status == GS_OK; begin = end) {
        gs_known known = {.options = o, .counts = counts, .caps = o->caps};
        end = gs_sample_group_end(set.list, set.count, begin);
        int own = end - begin;
        while (own > 0 && set.list[begin + own - 1].library) own--;   /* cuBLASLt's time comes last */
        if (own < LEAST || !gs_dataset_asked(o, gs_problem_format(&set.list[begin].problem, text))) continue;
        status = gs_known_read(&known, NULL, &set.list[begin].problem, error);
        known.device = o->device;
        if (status == GS_OK && !gs_dataset_wants(o, known.held_out)) counts->other_side++;
        else if (status == GS_OK) status = add_group(&known, &set.list[begin], own, error);
        gs_known_free(&known);
    }
    gs_sample_set_free(&set);
    return status;
}
