/* SPDX-License-Identifier: MIT
 * Samples for training, from files of rows and from stores: what is taken, in which groups, what is held out, what cannot be read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "dataset/samples.h"
#include "leaks.h"
#include "schedule/profile.h"
#include "store/store.h"
#include "store_folder.h"
#include "train/train.h"

#define HEAD "group,problem,schedule,us\n"
#define MMA  "mma/64x64x64/w2x2/s3/g8"

static gs_status read_texts(gs_sample_set *set, const char *first, const char *second)
{
    char path[2][GS_PATH];
    char *const paths[] = {path[0], path[1]};
    const char *const text[] = {first, second};
    for (int i = 0; i < 2; i++)
        if (text[i]) CHECK(gs_file_write(path_of(path[i], i ? "b.csv" : "a.csv"), text[i], strlen(text[i]), &error));
    *set = (gs_sample_set){.caps = gs_caps_find("h200")};
    return gs_sample_set_read(set, DEVICE, paths, second ? 2 : 1, &error);
}

static void rows_in_groups(void **state)
{
    gs_sample_set set, again;
    char path[GS_PATH];
    char *const paths[] = {path};
    (void)state;
    CHECK(read_texts(&set, HEAD "7,f16:64x64x64:tn,simple,3\n7,f16:64x64x64:tn," MMA ",2\n7,f16:64x64x64:tn,gone/away,1\n8,f16:64x64x64:nn,simple,4\n", HEAD "7,f16:64x64x64:tn,simple,5\n"));
    assert_int_equal(set.count, 4);   /* a schedule that is none is left out */
    assert_true(set.list[0].group == set.list[1].group && set.list[1].group != set.list[2].group && set.list[2].group != set.list[3].group);   /* also of another file */
    CHECK(gs_sample_set_write(&set, path_of(path, "out.csv"), &error));
    again = (gs_sample_set){.caps = set.caps};
    CHECK(gs_sample_set_read(&again, DEVICE, paths, 1, &error));
    assert_int_equal(again.count, 4);
    for (int i = 0; i < 4; i++) assert_true(again.list[i].us == set.list[i].us && again.list[i].group == set.list[i].group);
    gs_sample_set_free(&again);
    gs_sample_set_free(&set);
    assert_null(set.list);
}

/* cuBLASLt's time is a row of its group: without a schedule, behind the others, and written as it was read. */
static void rows_of_cublaslt(void **state)
{
    gs_sample_set set, again;
    char path[GS_PATH];
    char *const paths[] = {path};
    (void)state;
    CHECK(read_texts(&set, HEAD "7,f16:64x64x64:tn,cublaslt/1,2.5\n7,f16:64x64x64:tn,simple,3\n7,f16:64x64x64:tn,cublaslt/2,1\n", NULL));
    CHECK(gs_sample_set_write(&set, path_of(path, "out.csv"), &error));
    again = (gs_sample_set){.caps = set.caps};
    CHECK(gs_sample_set_read(&again, DEVICE, paths, 1, &error));
    const gs_sample_set *const both[] = {&set, &again};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(both[i]->count, 2);   /* other suggestions are not what a plan takes */
        assert_true(!both[i]->list[0].library && both[i]->list[0].us == 3);
        assert_true(both[i]->list[1].library && both[i]->list[1].us == 2.5);
        assert_int_equal(both[i]->list[0].group, both[i]->list[1].group);
    }
    gs_sample_set_free(&again);
    gs_sample_set_free(&set);
}

static void what_passed_in_a_store(void **state)
{
    char path[GS_PATH];
    char *const paths[] = {path};
    gs_store *store;
    gs_session session = {.device = DEVICE, .command = "test", .version = "1"};
    gs_trial trial = {.problem = "f16:64x64x64:tn", .candidate = MMA, .verdict = "pass", .us = 5};
    gs_sample_set set = {.caps = gs_caps_find("h200")};
    (void)state;
    CHECK(gs_store_open(&store, path_of(path, "store.db"), &error));
    CHECK(gs_store_begin(store, &session, &error));
    CHECK(gs_store_put(store, &session, &trial, &error));
    snprintf(trial.verdict, sizeof trial.verdict, "exact");   /* wrong results are no samples */
    snprintf(trial.candidate, sizeof trial.candidate, "simple");
    CHECK(gs_store_put(store, &session, &trial, &error));
    gs_store_close(&store);
    CHECK(gs_sample_set_read(&set, DEVICE, paths, 1, &error));
    assert_int_equal(set.count, 1);
    assert_true(set.list[0].us == 5);
    gs_sample_set_free(&set);
    CHECK(gs_sample_set_read(&set, "nvidia-a100", paths, 1, &error));
    assert_int_equal(set.count, 0);
    gs_sample_set_free(&set);
}

static void what_is_held_out_comes_last(void **state)
{
    gs_sample_set set;
    gs_text text = {0};
    int kept;
    (void)state;
    gs_text_add(&text, HEAD);
    for (int i = 1; i <= 40; i++) gs_text_addf(&text, "%d,f16:%dx64x64:tn,simple,3\n", i, 16 * i);
    CHECK(read_texts(&set, gs_text_string(&text), NULL));
    CHECK(gs_sample_set_hold_out(&set, 4, &kept, &error));
    assert_true(set.count == 40 && kept > 20 && kept < 40);
    for (int i = 0; i < 40; i++) assert_int_equal(gs_train_held_out(&set.list[i].problem, 4), i >= kept);
    CHECK(gs_sample_set_hold_out(&set, 0, &kept, &error));
    assert_int_equal(kept, 40);
    gs_sample_set_free(&set);
    gs_text_free(&text);
}

#define SUGGESTED "problem,suggestion,measured_us,sm_mhz,id,tile,stages,splitk,reduction,swizzle,cluster,custom,waves,workspace\n"

static void times_of_suggestions(void **state)
{
    static const char *const text =
        SUGGESTED "f16:64x64x64:nn,1,2.5,1980,66,15,35,1,0,0,3,1,0.25,0\n"
                  "f16:64x64x64:nn,3,2.25,1980,24,20,7,4,2,0,0,0,1.5,4096\n"
                  "nonsense,1,2,1980,66,15,35,1,0,0,3,1,0.25,0\n"
                  "f16:64x64x64:nn,1,2.75,1980,66,15,35,1,0,0,3,1,0.25,0\n"   /* once more: a run of its own */
                  "bf16:64x64x128:tn,2,3,1980,66,15,35,1,0,0,3,1,0.25,0\n";
    gs_sample_set set;
    int kept;
    (void)state;
    CHECK(read_texts(&set, text, HEAD "1,f16:64x64x64:tn,simple,3\n"));
    assert_int_equal(set.count, 1);   /* rows of both kinds */
    const gs_suggestion_time *const list = set.suggestions.list;
    assert_true(set.suggestions.count == 4 && set.suggestions.kept == 4);
    assert_true(list[0].place == 0 && list[1].place == 2 && list[2].place == 0 && list[3].place == 1);
    assert_true(list[0].us == 2.5 && list[1].us == 2.25 && list[3].problem.k == 128);
    assert_true(list[0].group == list[1].group && list[1].group != list[2].group && list[2].group != list[3].group);
    const gs_suggestion *const s = &list[1].suggestion;
    assert_true(s->id == 24 && s->tile == 20 && s->stages == 7 && s->splitk == 4 && s->reduction == 2 && s->cluster == 0 && s->custom == 0 && s->waves == 1.5f && s->workspace == 4096);
    assert_true(s->can_choose && !s->apart && list[0].suggestion.cluster == 3 && list[0].suggestion.custom == 1);
    gs_ranker ranker = {.nets = 0};
    CHECK(gs_suggestion_set_learn(&set.suggestions, &ranker, set.caps, 1, &error));
    assert_int_equal(ranker.nets, GS_RANKER_NETS);
    assert_int_equal(gs_suggestion_set_judge(&set.suggestions, &ranker, set.caps).groups, 0);   /* none is held out */
    CHECK(gs_sample_set_hold_out(&set, 1, &kept, &error));   /* all of them */
    const float first = ranker.net[0].weights[0];
    CHECK(gs_suggestion_set_learn(&set.suggestions, &ranker, set.caps, 2, &error));   /* there is nothing to learn from */
    assert_true(ranker.nets == GS_RANKER_NETS && ranker.net[0].weights[0] == first);
    const gs_ranker_worth worth = gs_suggestion_set_judge(&set.suggestions, &ranker, set.caps);
    assert_true(worth.groups == 1 && worth.first > 0.899 && worth.first < 0.901);
    gs_ranker_free(&ranker);
    assert_true(set.suggestions.kept == 0 && set.suggestions.count == 4 && kept == 0);
    CHECK(gs_sample_set_hold_out(&set, 0, &kept, &error));
    assert_true(set.suggestions.kept == 4 && kept == 1);
    gs_sample_set_free(&set);
    assert_int_equal(set.suggestions.count, 0);
}

static void what_cannot_be_read(void **state)
{
    static const char *const bad[] = {HEAD "7,f16:64x64x64:tn,simple\n", HEAD "7,f16:64x64x64:tn,simple,0\n", HEAD "7,f16:64x64x64:tn,simple,x\n", HEAD "7,f16:64x64x64:tn,simple,inf\n",
                                      SUGGESTED "f16:64x64x64:nn,1,2.5,1980,66,15,35,1,0,0,3,1,0.25\n", SUGGESTED "f16:64x64x64:nn,0,2.5,1980,66,15,35,1,0,0,3,1,0.25,0\n",
                                      SUGGESTED "f16:64x64x64:nn,1,0,1980,66,15,35,1,0,0,3,1,0.25,0\n", SUGGESTED "f16:64x64x64:nn,1,2,1980,-66,15,35,1,0,0,3,1,0.25,0\n",
                                      SUGGESTED "f16:64x64x64:nn,1,2,1980,66,15,35,1,0,0,3,1,nan,0\n", SUGGESTED "f16:64x64x64:nn,1,2,1980,66,15,35,x,0,0,3,1,1,0\n"};
    gs_sample_set set = {.caps = gs_caps_find("h200")};
    char *const absent[] = {(char[]){"/nonexistent/rows.csv"}}, *const directory[] = {folder};
    (void)state;
    for (size_t i = 0; i < GS_COUNT(bad); i++) {
        assert_int_equal(read_texts(&set, bad[i], NULL), GS_ERROR_CORRUPT);
        assert_non_null(strstr(error.text, "line 2"));
        gs_sample_set_free(&set);
    }
    assert_int_equal(gs_sample_set_read(&set, DEVICE, absent, 1, &error), GS_ERROR_NOT_FOUND);
    assert_int_equal(gs_sample_set_read(&set, DEVICE, directory, 1, &error), GS_ERROR_IO);
    gs_sample_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_groups), cmocka_unit_test(rows_of_cublaslt), cmocka_unit_test(times_of_suggestions), cmocka_unit_test(what_passed_in_a_store),
        cmocka_unit_test(what_is_held_out_comes_last), cmocka_unit_test(what_cannot_be_read),
    };
    return run_group_without_leaks("dataset/samples", tests, GS_COUNT(tests), make_folder, remove_folder);
}
