/* SPDX-License-Identifier: MIT
 * gemmsmith train: trains weights for the policy "learned" from the data of stores, or from the same data as text (dataset/samples.h). Needs no GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemmsmith/gemmsmith.h>

#include "base/error.h"
#include "base/file.h"
#include "command.h"
#include "dataset/samples.h"
#include "output.h"
#include "report/curves.h"
#include "store/store.h"
#include "train/train.h"

typedef struct settings {
    cli_common  common;
    const char *gpu, *profile, *from, *rows, *store;
    int64_t     nets, epochs, problems, steps, held_out, seed;
    bool        json;
} settings;

static const cli_option options[] = {
    {"gpu",      0, CLI_TEXT, offsetof(settings, gpu),      "NAME", "GPU whose times are used, as in the name of a tuned table;\ndefault nvidia-h200"},
    {"profile",  0, CLI_TEXT, offsetof(settings, profile),  "NAME", "the device profile whose time model is corrected; default h200"},
    {"from",     0, CLI_TEXT, offsetof(settings, from),     "FILE", "start from these weights"},
    {"rows",     0, CLI_OUTPUT, offsetof(settings, rows),     "FILE", "also write the times that were read as rows of text, which can be\ngiven in place of the stores"},
    {"nets",     0, CLI_INT,  offsetof(settings, nets),     "N",    "networks of the surrogate, whose mean counts; default 4, 1 without\nmeasured times; not with --from", 1, GS_MOST_NETS},
    {"epochs",   0, CLI_INT,  offsetof(settings, epochs),   "N",    "passes over all measured times; default 12; 0: no passes and no\nimitation of the fastest", 0, 10000},
    {"problems", 0, CLI_INT,  offsetof(settings, problems), "N",    "number of random problems for which the actor imitates the\nsurrogate's choices; default 600 without measured times, else 0", 0, 10000000},
    {"steps",    0, CLI_INT,  offsetof(settings, steps),    "N",    "then N steps as in `tune --learn`: each on some times of one problem,\nkept near the earlier weights; default 0", 0, 10000000},
    {"held-out", 0, CLI_INT,  offsetof(settings, held_out), "N",    "hold one in N problem sizes out of training and print how well they\nare ranked and what the choices gain over cuBLASLt; default 0: none", 0, 1000000},
    {"store",    0, CLI_TEXT, offsetof(settings, store),    "FILE", "store for the training curves train/surrogate and train/distill;\ndefault: they are not stored"},
    {"seed",     0, CLI_INT,  offsetof(settings, seed),     "N",    "the same seed and data give the same weights; default 1", 1, 9e15},
    {"json",     0, CLI_FLAG, offsetof(settings, json),     NULL,   "one JSON object per line"},
    {NULL},
};

/* ---- printing and storing ---- */

typedef struct progress {
    const settings *s;
    const char     *name;      /* name of the curves: the file of weights */
    gs_curves      curves;
    gs_status       status;
    gs_error       *error;
} progress;

/* Stages without a value have no curve. */
static void note_point(progress *p, gs_train_stage stage, int done, double value)
{
    char series[GS_CURVE_NAME];
    if (!p->s->store || p->status != GS_OK || stage == GS_TRAIN_IMITATE || stage == GS_TRAIN_STEPS) return;
    snprintf(series, sizeof series, "train/%s", gs_train_stage_name(stage));
    p->status = gs_curves_add(&p->curves, series, p->name, done, value, p->error);
}

static bool on_progress(void *self, gs_train_stage stage, int done, int total, double value)
{
    progress *const p = self;
    const settings *const s = p->s;
    note_point(p, stage, done, value);
    if (s->json)
        printf("{\"stage\":\"%s\",\"done\":%d,\"total\":%d,\"value\":%.9g}\n", gs_train_stage_name(stage), done, total, value);
    else if (stage == GS_TRAIN_SURROGATE)
        cli_note("surrogate  %d of %d: error %.4f", done, total, value);
    else if (stage == GS_TRAIN_DISTILL)
        cli_note("distill    %d of %d: the actor's choices reach %.3f of the surrogate's", done, total, value);
    else if (stage == GS_TRAIN_STEPS) cli_note("steps      %d of %d", done, total);
    return !cli_stopped() && p->status == GS_OK;
}

/* The curves are stored for the GPU whose times were used; without times, for no device. */
static gs_status keep_curves(const progress *p, gs_store *store, bool measured, gs_error *error)
{
    gs_session session = {.command = "gemmsmith train", .version = gs_version(), .commit = GS_COMMIT, .device = measured ? p->s->gpu : ""};
    if (!store || p->curves.count == 0) return GS_OK;
    GS_TRY(gs_store_begin(store, &session, error));
    return gs_curves_keep(&p->curves, store, &session, error);
}

static void print_worth(const settings *s, const char *what, const gs_worth *worth)
{
    printf(s->json ? "{\"order\":\"%s\",\"groups\":%d,\"at_1\":%.4f,\"at_4\":%.4f,\"at_8\":%.4f,\"at_16\":%.4f}\n" : "%-12s %6d  %8.4f  %8.4f  %8.4f  %8.4f\n", what, worth->groups,
           worth->at[0], worth->at[1], worth->at[2], worth->at[3]);
}

static void print_beside(const settings *s, const char *const *names, const gs_worth *worths)   /* by size; all sizes last */
{
    static const char *const taken[] = {"own choice", "with the doubt", "the faster of both"};
    const gs_worth *const all = &worths[GS_TRAIN_ALL];
    if (all->beside == 0) return;
    printf(s->json ? "{\"beside_cublaslt\":%d,\"expected\":%.4f,\"deviation\":%.4f,\"doubts\":%d}\n"
                   : "%d groups have a time of cuBLASLt: the first choice is expected to gain %.3f times what it gains, deviation %.3f; %d are doubted\n", all->beside,
           all->expected, all->deviation, all->doubts);
    if (!s->json) printf("N and K      taken              groups   as fast     >=0.98     worst   (cuBLASLt's time over that of what is taken)\n");
    for (int i = 0; i <= GS_TRAIN_ALL; i++) {
        const gs_gain *const gains[] = {&worths[i].own, &worths[i].doubted, &worths[i].faster};
        for (int j = 0; j < 3 && worths[i].beside > 0; j++)
            printf(s->json ? "{\"sizes\":\"%s\",\"taken\":\"%s\",\"beside_cublaslt\":%d,\"times_as_fast\":%.4f,\"not_slower\":%.4f,\"worst\":%.4f}\n"
                           : "%-12s %-18s %6d  %8.4f  %8.4f  %8.4f\n", names[i], taken[j], worths[i].beside, gains[j]->mean, gains[j]->fine, gains[j]->worst);
    }
}

static void print_worths(const settings *s, const gs_weights *weights, const gs_sample *list, int count, const gs_profile *profile)
{
    static const char *const names[] = {"of 64", "of 8", "anything", "all"};
    enum { LEAST = 17, LEAST_BESIDE = 2 };   /* ranking needs more than the 16 schedules that are considered; the comparison with cuBLASLt needs only two */
    const gs_worth model = gs_train_worth(NULL, list, count, LEAST, GS_TRAIN_ALL, profile), learned = gs_train_worth(weights, list, count, LEAST, GS_TRAIN_ALL, profile);
    gs_worth beside[GS_TRAIN_ALL + 1];
    if (!s->json) printf("held out     groups  best of 1      of 4      of 8     of 16   (share of the fastest that was measured)\n");
    print_worth(s, "time model", &model);
    print_worth(s, "surrogate", &learned);
    for (int i = 0; i <= GS_TRAIN_ALL; i++) {
        const gs_worth of = gs_train_worth(weights, list, count, LEAST, (gs_train_sizes)i, profile);
        if (i < GS_TRAIN_ALL && of.groups > 0) print_worth(s, names[i], &of);
        beside[i] = gs_train_worth(weights, list, count, LEAST_BESIDE, (gs_train_sizes)i, profile);
    }
    print_beside(s, names, beside);
}

static void print_suggested(const settings *s, const gs_ranker_worth *worth)
{
    printf(s->json ? "{\"suggestions_of\":%d,\"first\":%.4f,\"first_fine\":%.4f,\"chosen\":%.4f,\"chosen_fine\":%.4f}\n"
                   : "cuBLASLt's suggestions for %d problems: the first has %.4f of the fastest one's speed (%.3f of them 0.98 or more), the one that is chosen %.4f (%.3f)\n",
           worth->groups, worth->first, worth->first_fine, worth->chosen, worth->chosen_fine);
}

/* ---- the command ---- */

/* store: where the curves go; NULL: they are not stored. */
static gs_status train(const settings *s, gs_weights *weights, gs_sample_set *data, const gs_profile *profile, const char *out, gs_store *store, gs_error *error)
{
    int kept;
    GS_TRY(gs_sample_set_hold_out(data, (int)s->held_out, &kept, error));
    const int problems = s->problems >= 0 ? (int)s->problems : kept + data->suggestions.kept > 0 ? 0 : 600;
    const char *const slash = strrchr(out, '/');
    progress heard = {.s = s, .name = slash && slash[1] ? slash + 1 : out, .error = error};
    const gs_train_options how = {.epochs = (int)s->epochs, .problems = problems, .steps = (int)s->steps, .seed = (uint64_t)s->seed, .progress = on_progress, .self = &heard};
    gs_status status = gs_train(weights, data->list, kept, profile, &how, error);
    if (status == GS_OK) status = gs_suggestion_set_learn(&data->suggestions, &weights->ranker, &profile->caps, (uint64_t)s->seed, error);
    if (status == GS_OK) status = heard.status;
    if (status == GS_OK) status = keep_curves(&heard, store, kept > 0, error);
    gs_curves_free(&heard.curves);
    GS_TRY(status);
    char before[128], learned[96];
    snprintf(before, sizeof before, "%.100s%s", s->from ? weights->about : "", s->from ? ", then " : "");
    if (kept == 0 && data->suggestions.kept > 0) snprintf(learned, sizeof learned, "%d times of cuBLASLt's suggestions", data->suggestions.kept);
    else snprintf(learned, sizeof learned, "%d times of %s, %d epochs, %d problems, %d steps", kept, s->gpu, (int)s->epochs, problems, (int)s->steps);
    snprintf(weights->about, sizeof weights->about, "%s%s, seed %d%s%s", before, learned, (int)s->seed, s->held_out ? ", some sizes held out" : "", cli_stopped() ? ", stopped before the end" : "");
    GS_TRY(gs_weights_save(weights, out, error));
    if (s->held_out > 0) print_worths(s, weights, data->list + kept, data->count - kept, profile);
    const gs_ranker_worth suggested = gs_suggestion_set_judge(&data->suggestions, &weights->ranker, &profile->caps);
    if (suggested.groups > 0) print_suggested(s, &suggested);
    if (!s->json) printf("%s: %s\n", out, weights->about);
    return GS_OK;
}

static int run(const cli_command *command, int argc, char **argv)
{
    settings s = {.gpu = "nvidia-h200", .profile = "h200", .epochs = 12, .problems = -1, .seed = 1};
    gs_sample_set data = {0};
    gs_weights weights;
    gs_error error = {0};
    int words;
    int code = cli_parse(command, argc, argv, &s, &words);
    if (code >= 0) return code;
    if (words < 1) return cli_usage(command, "give the file of weights to write, then stores or rows to learn from");
    code = cli_output_file(command, argv[1], false);
    if (code >= 0) return code;
    for (int i = 2; i <= words; i++)
        if (gs_file_same(argv[1], argv[i]) && gs_file_need_regular(argv[i], NULL) == GS_OK) return cli_usage(command, "%s: cannot be learned from and replaced", argv[i]);
    if (s.from && s.nets > 0) return cli_usage(command, "--nets: the weights of --from have their number of networks");
    cli_signals();
    const gs_profile *const profile = gs_profile_find(s.profile);
    if (!profile) return cli_usage(command, "--profile: there is no device profile '%s'", s.profile);
    data.caps = &profile->caps;
    gs_status status = gs_sample_set_read(&data, s.gpu, argv + 2, words - 1, &error);
    if (status == GS_OK && words > 1 && data.count + data.suggestions.count == 0) cli_note("no times of %s are there: the weights learn from the time model alone (--gpu names another)", s.gpu);
    if (status == GS_OK && s.rows) status = gs_sample_set_write(&data, s.rows, &error);
    gs_store *store = NULL;
    if (status == GS_OK && s.store) status = gs_store_open(&store, s.store, &error);
    if (status == GS_OK) status = s.from ? gs_weights_load(&weights, s.from, &error) : gs_weights_create(&weights, s.nets > 0 ? (int)s.nets : data.count > 0 ? GS_MOST_NETS : 1, (uint64_t)s.seed, &error);
    if (status == GS_OK && !s.from && data.count > 0) weights.surrogate.unknown = ~0u;   /* makes no prediction for families without times */
    if (status == GS_OK) {
        status = train(&s, &weights, &data, profile, argv[1], store, &error);
        gs_weights_free(&weights);
    }
    gs_store_close(&store);
    gs_sample_set_free(&data);
    if (status != GS_OK) return cli_fail(command, NULL, &error);
    return cli_stopped() ? cli_stopped() : CLI_OK;
}

const cli_command cli_train = {
    .name     = "train",
    .words    = "WEIGHTS [STORE|ROWS...]",
    .summary  = "learn from measured times which schedules are fast, for tune --policy learned",
    .about    = "The surrogate, a few small networks, learns from stores to correct the predictions of the\ntime model; the actor, another one, learns to propose schedules by imitating those that were\n"
                "fast. Without a store they learn from the time model alone, on random problems.\nFrom rows of tools/time_suggestions a third one learns which of cuBLASLt's\nsuggestions is fastest. No GPU is needed.",
    .options  = options,
    .examples = "  gemmsmith train h200.weights ~/.local/share/gemmsmith/store.db\n"
                "  gemmsmith train h200.weights OUT/store.*.db --held-out 10\n"
                "  GEMMSMITH_WEIGHTS=h200.weights gemmsmith tune f16:1000x3000x500:tn --policy learned",
    .run      = run,
};
