/* SPDX-License-Identifier: MIT
 * Files of weights: they come back, outlive changes of the grammar and of the numbers that networks see, and are refused where they are broken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "networks.h"

static char path[] = "/tmp/gemmsmith-learn-XXXXXX";

static void filled(gs_weights *weights)
{
    fresh(weights);
    random_weights(&weights->surrogate.net[0], 71);
    random_weights(&weights->actor.net, 72);
    snprintf(weights->about, sizeof weights->about, "a test");
}

static void weights_come_back(void **state)
{
    (void)state;
    gs_weights weights, back;
    gs_space space;
    filled(&weights);
    assert_int_equal(gs_weights_save(&weights, path, NULL), GS_OK);
    assert_int_equal(gs_weights_load(&back, path, NULL), GS_OK);
    assert_string_equal(back.about, "a test");
    space_of(&space, "f16:500x520x528:tn", 1u << GS_FAMILY_MMA | 1u << GS_FAMILY_WS);
    const gs_profile *const profile = gs_profile_find("h200");
    for (int i = 0; i < space.count; i += 1 + space.count / 200) {
        assert_true(gs_actor_log_probability(&weights.actor, &space.problem, h200(), &space.list[i]) == gs_actor_log_probability(&back.actor, &space.problem, h200(), &space.list[i]));
        assert_true(gs_surrogate_us(&weights.surrogate, &space.list[i], &space.problem, profile) ==
                    gs_surrogate_us(&back.surrogate, &space.list[i], &space.problem, profile));
    }
    gs_space_free(&space);
    gs_weights_free(&weights);
    gs_weights_free(&back);
    gs_error error;
    assert_int_equal(gs_weights_load(&back, "/nowhere/at/all", &error), GS_ERROR_NOT_FOUND);
}

/* An ensemble says the geometric mean of what its networks say, and comes back whole; a file of more networks than there can be is refused. */
static void ensembles_come_back(void **state)
{
    (void)state;
    static const char *const counts[] = {"nets 0", "nets 1", "nets 5", "nets x", "nets -4"};
    const gs_profile *const profile = gs_profile_find("h200");
    const gs_problem problem = problem_of("f16:500x520x528:tn");
    const gs_schedule schedule = schedule_of("ws/128x128x64/s4/c1x1/coop/g8");
    for (int nets = 2; nets <= GS_MOST_NETS; nets++) {
        gs_weights weights, back, single;
        double sum = 0;
        filled(&single);
        assert_int_equal(gs_weights_create(&weights, nets, 3, NULL), GS_OK);
        for (int i = 0; i < nets; i++) {
            random_weights(&weights.surrogate.net[i], (uint64_t)(81 + i));
            memcpy(single.surrogate.net[0].weights, weights.surrogate.net[i].weights, (size_t)single.surrogate.net[0].count * sizeof(float));
            sum += log(gs_surrogate_us(&single.surrogate, &schedule, &problem, profile));
        }
        random_weights(&weights.actor.net, 72);
        assert_float_equal(log(gs_surrogate_us(&weights.surrogate, &schedule, &problem, profile)), sum / nets, 1e-6);
        assert_int_equal(gs_weights_save(&weights, path, NULL), GS_OK);
        assert_int_equal(gs_weights_load(&back, path, NULL), GS_OK);
        assert_int_equal(back.surrogate.nets, nets);
        assert_true(gs_surrogate_us(&weights.surrogate, &schedule, &problem, profile) == gs_surrogate_us(&back.surrogate, &schedule, &problem, profile));
        assert_true(gs_actor_log_probability(&weights.actor, &problem, h200(), &schedule) == gs_actor_log_probability(&back.actor, &problem, h200(), &schedule));
        assert_true(gs_surrogate_library_us(&weights.surrogate, &problem, profile) == gs_surrogate_library_us(&back.surrogate, &problem, profile));
        gs_weights_free(&single);
        gs_weights_free(&back);

        char *data;
        size_t size;
        assert_int_equal(gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, NULL), GS_OK);
        char *const line = strstr(data, "\nnets ") + 1;
        for (size_t i = 0; i < GS_COUNT(counts); i++) {
            gs_text other = {0};
            gs_error error = {0};
            gs_text_add_bytes(&other, data, (size_t)(line - data));
            gs_text_add(&other, counts[i]);
            gs_text_add_bytes(&other, line + 6, size - (size_t)(line + 6 - data));
            assert_int_equal(gs_weights_parse(&back, other.data, other.size, &error), GS_ERROR_CORRUPT);
            assert_true(error.text[0] != '\0');
            gs_text_free(&other);
        }
        /* one that says fewer than it has is cut at the wrong place */
        if (nets > 2) {
            line[5] = '2';
            assert_int_equal(gs_weights_parse(&back, data, size, NULL), GS_ERROR_CORRUPT);
        }
        free(data);
        /* any of its networks may be the one that is not finite */
        weights.surrogate.net[nets - 1].weights[5] = NAN;
        assert_int_equal(gs_weights_save(&weights, path, NULL), GS_ERROR_CORRUPT);
        gs_weights_free(&weights);
    }
}

/* As files were before they had a checksum of their head: the last word of the line "data" is left out. */
static void rankers_come_back(void **state)
{
    (void)state;
    static const char *const counts[] = {"suggestions 00", "suggestions 51", "suggestions xx", "suggestions -4"};
    const gs_suggestion list[] = {{.id = 66, .tile = 20, .waves = 1.5f, .can_choose = true}, {.id = 24, .tile = 15, .splitk = 4, .can_choose = true}, {.id = 23, .custom = 3, .can_choose = true}};
    int chosen[GS_COUNT(list)] = {0};
    gs_weights weights, back;
    filled(&weights);
    assert_int_equal(gs_ranker_create(&weights.ranker, 9, NULL), GS_OK);
    for (int i = 0; i < GS_RANKER_NETS; i++) random_weights(&weights.ranker.net[i], (uint64_t)(31 + i));
    assert_int_equal(gs_weights_save(&weights, path, NULL), GS_OK);
    assert_int_equal(gs_weights_load(&back, path, NULL), GS_OK);
    assert_int_equal(back.ranker.nets, GS_RANKER_NETS);
    for (int m = 1; m < 4000; m = 2 * m + 1) {
        const gs_problem problem = gs_problem_make(GS_F16, GS_TN, m, 520, 8 * m);
        const int place = gs_ranker_choose(&weights.ranker, &problem, h200(), list, GS_COUNT(list));
        assert_int_equal(gs_ranker_choose(&back.ranker, &problem, h200(), list, GS_COUNT(list)), place);
        chosen[place]++;
    }
    assert_true(chosen[0] < 12);   /* not always the first: something was compared */
    assert_memory_equal(weights.ranker.net[3].weights, back.ranker.net[3].weights, (size_t)back.ranker.net[3].count * sizeof(float));
    gs_weights_free(&back);

    char *data;
    size_t size;
    gs_error error = {0};
    assert_int_equal(gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, NULL), GS_OK);
    char *const line = strstr(data, "\nsuggestions ") + 1;
    for (size_t i = 0; i < GS_COUNT(counts); i++) {
        memcpy(line, counts[i], strlen(counts[i]));
        assert_int_equal(gs_weights_parse(&back, data, size, &error), GS_ERROR_CORRUPT);
        if (!strstr(error.text, i == 2 ? "number of tokens" : "other suggestions")) fail_msg("%s: %s", counts[i], error.text);   /* the head says so, before its checksum */
    }
    memcpy(line, "suggestions 50", 14);
    assert_int_equal(gs_weights_parse(&back, data, size, NULL), GS_OK);
    gs_weights_free(&back);
    assert_int_equal(gs_weights_parse(&back, data, size - 4, NULL), GS_ERROR_CORRUPT);
    free(data);
    weights.ranker.net[GS_RANKER_NETS - 1].weights[3] = INFINITY;
    assert_int_equal(gs_weights_save(&weights, path, &error), GS_ERROR_CORRUPT);
    assert_non_null(strstr(error.text, "some of the ranker's numbers are not finite"));
    gs_weights_free(&weights);
}

static void forget_head(char *data, size_t *size)
{
    char *const end = strchr(strstr(data, "\ndata ") + 1, '\n');
    memmove(end - 17, end, *size - (size_t)(end - data) + 1);
    *size -= 17;
}

/* A word that the grammar no longer has is dropped, one that the file does not know says nothing, the others stay. */
static void weights_outlive_words(void **state)
{
    (void)state;
    gs_weights weights, back;
    char *data;
    size_t size;
    filled(&weights);
    assert_int_equal(gs_weights_save(&weights, path, NULL), GS_OK);
    assert_int_equal(gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, NULL), GS_OK);
    char *const word = strstr(data, "\nws/stages/s2\n");
    assert_non_null(word);
    memcpy(word, "\nws/stages/q2\n", 14);
    assert_int_equal(gs_weights_parse(&back, data, size, NULL), GS_ERROR_CORRUPT);   /* nobody wrote that */
    forget_head(data, &size);
    assert_int_equal(gs_weights_parse(&back, data, size, NULL), GS_OK);
    const gs_problem problem = problem_of("f16:512x512x512:tn");
    const gs_schedule other = schedule_of("ws/128x128x64/s4/c1x1/coop/g8"), gone = schedule_of("ws/128x128x64/s2/c1x1/coop/g8");
    const gs_profile *const profile = gs_profile_find("h200");
    assert_true(gs_surrogate_us(&weights.surrogate, &other, &problem, profile) == gs_surrogate_us(&back.surrogate, &other, &problem, profile));
    assert_true(gs_surrogate_us(&weights.surrogate, &gone, &problem, profile) != gs_surrogate_us(&back.surrogate, &gone, &problem, profile));
    free(data);
    gs_weights_free(&weights);
    gs_weights_free(&back);
}

/* A file from before there were so many numbers: the first ones count, the others weigh nothing. */
static void weights_outlive_new_numbers(void **state)
{
    (void)state;
    enum { OLD_PROBLEM = 24, OLD_WORK = 28 };
    gs_weights weights, back;
    char *data, head[64];
    size_t size;
    filled(&weights);
    float *const surrogate = weights.surrogate.net[0].weights, *const actor = weights.actor.net.weights;
    memset(surrogate + OLD_PROBLEM * GS_HIDDEN, 0, (GS_PROBLEM_FEATURES - OLD_PROBLEM) * GS_HIDDEN * sizeof(float));
    memset(surrogate + (GS_PROBLEM_FEATURES + OLD_WORK) * GS_HIDDEN, 0, (GS_WORK_FEATURES - OLD_WORK) * GS_HIDDEN * sizeof(float));
    memset(actor + OLD_PROBLEM * GS_HIDDEN, 0, (GS_PROBLEM_FEATURES - OLD_PROBLEM) * GS_HIDDEN * sizeof(float));
    assert_int_equal(gs_weights_save(&weights, path, NULL), GS_OK);
    assert_int_equal(gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, NULL), GS_OK);
    char *const names = strstr(data, "\nhidden "), *const before = strstr(names, "\ndata ");
    const char *const floats = strchr(before + 1, '\n') + 1;
    const size_t row = GS_HIDDEN * sizeof(float), all = size - (size_t)(floats - data), tokens = (size_t)gs_token_count();
    const size_t first_net = ((size_t)GS_PROBLEM_FEATURES + GS_WORK_FEATURES + tokens) * row + row + GS_HIDDEN * row + row + row + sizeof(float);
    gs_text old = {0}, file = {0};
    gs_text_add_bytes(&old, floats, OLD_PROBLEM * row);
    gs_text_add_bytes(&old, floats + GS_PROBLEM_FEATURES * row, OLD_WORK * row);
    gs_text_add_bytes(&old, floats + (GS_PROBLEM_FEATURES + GS_WORK_FEATURES) * row, first_net - (GS_PROBLEM_FEATURES + GS_WORK_FEATURES) * row);
    gs_text_add_bytes(&old, floats + first_net, OLD_PROBLEM * row);
    gs_text_add_bytes(&old, floats + first_net + GS_PROBLEM_FEATURES * row, all - first_net - GS_PROBLEM_FEATURES * row);
    *before = '\0';
    snprintf(head, sizeof head, "\ndata %zu %016llx\n", old.size, (unsigned long long)gs_hash64(old.data, old.size));
    gs_text_addf(&file, "gemmsmith-weights 1\nabout a test\nnumbers %d %d%s%s", OLD_PROBLEM, OLD_WORK, names, head);
    gs_text_add_bytes(&file, old.data, old.size);
    assert_int_equal(gs_weights_parse(&back, file.data, file.size, NULL), GS_OK);
    assert_memory_equal(back.surrogate.net[0].weights, surrogate, ((size_t)GS_PROBLEM_FEATURES + GS_WORK_FEATURES + tokens) * row);
    gs_space space;
    space_of(&space, "f16:500x521x528:nn", 1u << GS_FAMILY_MMA);
    const gs_schedule *const some = &space.list[space.count / 2];
    assert_true(gs_surrogate_us(&weights.surrogate, some, &space.problem, gs_profile_find("h200")) == gs_surrogate_us(&back.surrogate, some, &space.problem, gs_profile_find("h200")));
    assert_true(gs_actor_log_probability(&weights.actor, &space.problem, h200(), some) == gs_actor_log_probability(&back.actor, &space.problem, h200(), some));
    gs_space_free(&space);
    gs_weights_free(&back);
    static const char *const numbers[] = {"23 28", "24 27", "99 28", "24 31", "24", "24 28 1", "-1 -1"};
    for (size_t i = 0; i < GS_COUNT(numbers); i++) {
        gs_error why = {0};
        gs_text other = {0};
        gs_text_addf(&other, "gemmsmith-weights 1\nabout a test\nnumbers %s%s%s", numbers[i], names, head);
        gs_text_add_bytes(&other, old.data, old.size);
        assert_int_equal(gs_weights_parse(&back, other.data, other.size, &why), GS_ERROR_CORRUPT);
        assert_string_equal(why.text, "the weights are for other numbers than this program's");
        gs_text_free(&other);
    }
    gs_text_free(&old);
    gs_text_free(&file);
    free(data);
    gs_weights_free(&weights);
}

static void broken_weights_are_refused(void **state)
{
    (void)state;
    gs_weights weights, back;
    gs_error error;
    char *data;
    size_t size;
    filled(&weights);
    assert_int_equal(gs_weights_save(&weights, path, NULL), GS_OK);
    assert_int_equal(gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, NULL), GS_OK);
    for (size_t cut = 0; cut < size; cut += 1 + size / 97) {
        assert_int_equal(gs_weights_parse(&back, data, cut, &error), GS_ERROR_CORRUPT);
        assert_string_equal(error.field, "weights");
    }
    assert_int_equal(gs_weights_parse(&back, data, size - 1, &error), GS_ERROR_CORRUPT);
    const size_t head = (size_t)(strstr(data, "\ndata ") - data);
    for (size_t at = 0; at < size; at += at < head ? 3 : 1 + size / 61) {
        data[at] ^= 0x15;
        if (gs_weights_parse(&back, data, size, &error) != GS_ERROR_CORRUPT) fail_msg("a change of byte %zu is not told", at);
        data[at] ^= 0x15;
    }
    assert_int_equal(gs_weights_parse(&back, data, size, &error), GS_OK);
    gs_weights_free(&back);
    forget_head(data, &size);
    assert_int_equal(gs_weights_parse(&back, data, size, &error), GS_OK);
    gs_weights_free(&back);
    free(data);
    gs_weights_free(&weights);
}

/* A number that is not finite is neither written over good weights nor read, though the hash of the data is right. */
static void weights_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 2 * GS_COUNT(bad); i++) {
        gs_weights weights, back;
        gs_error error = {0};
        char *data, head[64];
        size_t size;
        filled(&weights);
        assert_int_equal(gs_weights_save(&weights, path, NULL), GS_OK);
        gs_net *const net = i % 2 ? &weights.actor.net : &weights.surrogate.net[0];
        const float good = net->weights[0];
        net->weights[0] = bad[i / 2];
        assert_int_equal(gs_weights_save(&weights, path, &error), GS_ERROR_CORRUPT);
        assert_non_null(strstr(error.text, i % 2 ? "actor" : "surrogate"));
        assert_int_equal(gs_weights_load(&back, path, NULL), GS_OK);   /* those before are still there */
        assert_true((i % 2 ? back.actor.net : back.surrogate.net[0]).weights[0] == good);
        gs_weights_free(&back);

        assert_int_equal(gs_file_read(path, GS_WEIGHTS_BYTES, &data, &size, NULL), GS_OK);
        char *const line = strstr(data, "\ndata ") + 1;
        size_t bytes;
        assert_int_equal(sscanf(line, "data %zu", &bytes), 1);
        char *const floats = data + size - bytes;
        memcpy(i % 2 ? floats + bytes - sizeof *bad : floats, &bad[i / 2], sizeof *bad);
        snprintf(head, sizeof head, "data %zu %016llx", bytes, (unsigned long long)gs_hash64(floats, bytes));
        memcpy(line, head, strlen(head));
        assert_int_equal(gs_weights_parse(&back, data, size, &error), GS_ERROR_CORRUPT);
        assert_non_null(strstr(error.text, "not finite"));
        free(data);
        gs_weights_free(&weights);
    }
}

static int set_up(void **state)
{
    (void)state;
    const int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_come_back),
        cmocka_unit_test(ensembles_come_back),
        cmocka_unit_test(rankers_come_back),
        cmocka_unit_test(weights_outlive_words),
        cmocka_unit_test(weights_outlive_new_numbers),
        cmocka_unit_test(broken_weights_are_refused),
        cmocka_unit_test(weights_that_are_not_finite_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
