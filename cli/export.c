/* SPDX-License-Identifier: MIT
 * gemmsmith export: training data for language models from stores, as lines of JSON on standard output. Needs no GPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command.h"
#include "output.h"
#include "problems.h"
#include "schedule/profile.h"
#include "dataset/dataset.h"

typedef struct settings {
    cli_common  common;
    cli_asked   asked;
    cli_list    stores;
    const char *gpu, *profile, *prompts;
    uint32_t    modes, kinds;
    int64_t     held_out, lessons, seed;
    double      least, apart;
    int         split;
    bool        predicted, examples;
} settings;

static const cli_option options[] = {
    CLI_ASKED_OPTIONS(settings, "layouts of B; default: the one in the problem"),
    {"store",     0, CLI_LIST,    offsetof(settings, stores),    "FILE", "store to read (lessons: or rows of train --rows); may be repeated;\ndefault $GEMMSMITH_STORE, else the user's"},
    {"gpu",       0, CLI_TEXT,    offsetof(settings, gpu),       "NAME", "GPU whose times are used, as in the name of a tuned table;\ndefault: every GPU; for tasks the GPU of the profile"},
    {"profile",   0, CLI_TEXT,    offsetof(settings, profile),   "NAME", "tasks: the device that prompts describe; default h200"},
    {"modes",     0, CLI_CHOICES, offsetof(settings, modes),     "schedule,source", "schedule strings, sources of kernels; default: both"},
    {"kinds",     0, CLI_CHOICES, offsetof(settings, kinds),     "winners,repairs,preferences,edits", "pairs: kinds to write; default: all"},
    {"split",     0, CLI_CHOICE,  offsetof(settings, split),     "all|train|held_out", "side of the split; default: for tasks all, else train"},
    {"held-out",  0, CLI_INT,     offsetof(settings, held_out),  "N",    "one in N problem sizes is held out, the same as in train;\n0: none; default 10", 0, 1000000},
    {"least",     0, CLI_NUMBER,  offsetof(settings, least),     "RATIO", "pairs: least ratio to the library's speed of a winner (lower end of\nits interval); default 1.01", 0, 1e6},
    {"apart",     0, CLI_NUMBER,  offsetof(settings, apart),     "SHARE", "pairs: least distance between the intervals of the better and the\nworse candidate; default 0.02", 0, 1e6},
    {"each",      0, CLI_INT,     offsetof(settings, lessons),   "N",    "lessons: how many per problem of a search; default 8", 1, 1000},
    {"seed",      0, CLI_INT,     offsetof(settings, seed),      "N",    "lessons: what is shown and asked for; default 1", 0, INT64_MAX},
    {"examples",  0, CLI_FLAG,    offsetof(settings, examples),  NULL,   "tasks: show in the prompt what was tried for the problem"},
    {"predicted", 0, CLI_FLAG,    offsetof(settings, predicted), NULL,   "also write times that emulated devices predicted, marked as such"},
    {"prompts",   0, CLI_TEXT,    offsetof(settings, prompts),   "DIR",  "folder of prompts instead of share/prompts;\ndefault $GEMMSMITH_PROMPTS"},
    {NULL},
};

/* legend: word, function, default of the side */
static const struct action {
    const char *name;
    gs_status (*run)(const gs_dataset_options *, gs_dataset_counts *, gs_error *);
    gs_split    split;
} actions[] = {
    {"tasks",        gs_dataset_tasks,        GS_SPLIT_ALL},
    {"trajectories", gs_dataset_trajectories, GS_SPLIT_TRAIN},
    {"pairs",        gs_dataset_pairs,        GS_SPLIT_TRAIN},
    {"lessons",      gs_dataset_lessons,      GS_SPLIT_TRAIN},
    {"corpus",       gs_dataset_corpus,       GS_SPLIT_TRAIN},
};

static bool print_row(void *self, const char *text)
{
    (void)self;
    return fputs(text, stdout) >= 0 && !cli_stopped();
}

static void print_counts(const gs_dataset_counts *c)
{
    cli_note("%lld row%s", (long long)c->rows, c->rows == 1 ? "" : "s");
    if (c->other_side > 0) cli_note("on the other side of the split: %lld problem%s", (long long)c->other_side, c->other_side == 1 ? "" : "s");
    if (c->leaking > 0) cli_note("left out because they mention a held-out problem: %lld row%s", (long long)c->leaking, c->leaking == 1 ? "" : "s");
    if (c->unverified > 0) cli_note("left out because not verified: %lld candidate%s", (long long)c->unverified, c->unverified == 1 ? "" : "s");
    if (c->predictions) cli_note("times that emulated devices predicted were left out; --predicted includes them");
}

static int write_rows(const cli_command *command, const struct action *action, const settings *s, const cli_problems *problems, const gs_caps *caps)
{
    gs_store *stores[CLI_LIST_MAX] = {NULL};
    gs_dataset_counts counts = {0};
    gs_error error = {0};
    gs_dataset_options how = {
        .stores = stores, .problems = problems->list, .problem_count = problems->count, .device = s->gpu, .caps = caps, .folder = s->prompts,
        .modes = s->modes, .kinds = s->kinds, .held_out = (int)s->held_out, .split = s->split >= 0 ? (gs_split)s->split : action->split,
        .predicted = s->predicted, .examples = s->examples, .least = s->least, .apart = s->apart, .line = print_row,
        .times = (char *const *)s->stores.item, .times_count = s->stores.count, .lessons = (int)s->lessons, .seed = (uint64_t)s->seed,
    };
    const bool lessons = action->run == gs_dataset_lessons, closed = action->run == gs_dataset_corpus || (lessons && s->stores.count > 0);
    gs_status status = closed ? GS_OK : gs_dataset_open(stores, &how.store_count, s->stores.item, s->stores.count, &error);
    if (status == GS_OK) status = action->run(&how, &counts, &error);
    if (status == GS_OK && fflush(stdout) != 0) status = gs_fail_errno(&error, errno, NULL, "standard output cannot be written");
    for (int i = 0; i < how.store_count; i++) gs_store_close(&stores[i]);
    if (cli_stopped()) return cli_stopped();
    if (status != GS_OK) return cli_fail(command, NULL, &error);
    print_counts(&counts);
    if (lessons && counts.rows + counts.other_side == 0) cli_note("no problem has enough schedules measured on %s for a lesson; --gpu names another GPU", s->gpu);
    return CLI_OK;
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.asked.acc = -1, .profile = "h200", .held_out = 10, .least = 1.01, .apart = 0.02, .split = -1, .lessons = 8, .seed = 1};
    cli_problems problems;
    int words;
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    if (words == 0) return cli_usage(command, "tasks, trajectories, pairs, lessons or corpus?");
    const struct action *action = actions;
    while (action < actions + GS_COUNT(actions) && strcmp(action->name, argv[1]) != 0) action++;
    if (action == actions + GS_COUNT(actions)) return cli_usage(command, "'%s' is none of tasks, trajectories, pairs, lessons, corpus", argv[1]);
    if (action->run == gs_dataset_corpus && (words > 1 || s.split == GS_SPLIT_HELD_OUT || s.stores.count > 0))
        return cli_usage(command, "corpus: it is of no problems and no stores, and has no held-out side");
    const gs_profile *const profile = gs_profile_find(s.profile);
    if (!profile) return cli_usage(command, "--profile: there is no device profile '%s'", s.profile);
    if (!s.gpu && (action->run == gs_dataset_tasks || action->run == gs_dataset_lessons)) s.gpu = profile->caps.slug;
    if (s.gpu && strncmp(s.gpu, GS_EMULATED_SLUG, strlen(GS_EMULATED_SLUG)) == 0 && !s.predicted)
        return cli_usage(command, "--gpu %s: its times are predictions, which need --predicted", s.gpu);
    cli_signals();
    code = cli_problems_read(command, &problems, &s.asked, words - 1, argv + 2);
    if (code >= 0) return code;
    if (problems.count == 0 && action->run == gs_dataset_tasks) code = cli_usage(command, CLI_NEEDS_PROBLEM);
    if (code < 0) code = write_rows(command, action, &s, &problems, &profile->caps);
    cli_problems_free(&problems);
    return code;
}

const cli_command cli_export = {
    .name     = "export",
    .words    = "tasks | trajectories | pairs | lessons | corpus [PROBLEM...]",
    .summary  = "data for training language models, from what was tried",
    .about    = "tasks         prompts of problems, with the columns that trainers look for\n"
                "trajectories  what models were asked and answered, what was tried, with verdicts, times, rewards\n"
                "pairs         winners, failed answers with the next one that passed, better with worse candidates\n"
                "lessons       prompts with some measured schedules, and the fastest of the others as the answer\n"
                "corpus        this project's kernels, headers, notes, pages and prompts\n"
                "Rows are lines of JSON; docs/howto/train-a-model.md shows how to convert them to Parquet.\n"
                "Problems of the same M, N, K are on the same side of the split.\nCandidates that did not pass verification have no time.",
    .options  = options,
    .examples = "  gemmsmith export tasks --file problems.txt --split train > train.jsonl\n"
                "  gemmsmith export tasks --file problems.txt --split held_out > held_out.jsonl\n"
                "  gemmsmith export trajectories --store a.db --store b.db > trajectories.jsonl\n"
                "  gemmsmith export pairs --kinds winners,repairs --gpu nvidia-h200 > warm-up.jsonl\n"
                "  gemmsmith export corpus > corpus.jsonl",
    .run      = run,
};
