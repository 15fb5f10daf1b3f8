/* SPDX-License-Identifier: MIT
 * One harness for every parser. The first byte chooses the parser, the rest is the text. What must hold for any text:
 * no crash; on failure an error with a message and a field or a column; on success text -> value -> text -> value -> text gives
 * the same text and the same value. Called by libFuzzer or by main.c. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/csv.h"
#include "kernel/manifest.h"
#include "learn/weights.h"
#include "llm/answer.h"
#include "llm/completion.h"
#include "llm/edit.h"
#include "llm/reply.h"
#include "inspect/inspect.h"
#include "table/table.h"
#include "schedule/schedule.h"
#include "service/adapter.h"
#include "service/prompt.h"
#include "service/reply.h"
#include "service/request.h"
#include "worker/metrics.h"
#include "dataset/dataset.h"
#include "redact/redact.h"
#include "report/training.h"
#include "programs.h"

#define REQUIRE(condition)                                                                        \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: does not hold: %s\ntext: %s\n", __FILE__, __LINE__, #condition, text); \
            abort();                                                                              \
        }                                                                                         \
    } while (0)

static void require_reason(const char *text, gs_status status, const gs_error *error)
{
    REQUIRE(error->status == status);
    REQUIRE(error->text[0] != '\0' && strchr(error->text, '\n') == NULL);
    REQUIRE(error->field[0] != '\0' || error->column > 0);
    REQUIRE(error->column >= 0 && error->column <= (int)strlen(text) + 1);
}

static void fuzz_problem(const char *text)
{
    gs_problem first, second;
    gs_error error = {0};
    const gs_status status = gs_problem_parse(&first, text, &error);
    if (status != GS_OK) {
        REQUIRE(status == GS_ERROR_PARSE || status == GS_ERROR_RANGE || status == GS_ERROR_UNSUPPORTED);
        require_reason(text, status, &error);
        return;
    }
    char once[GS_PROBLEM_TEXT], twice[GS_PROBLEM_TEXT];
    REQUIRE(gs_problem_parse(&second, gs_problem_format(&first, once), NULL) == GS_OK);
    REQUIRE(strcmp(once, gs_problem_format(&second, twice)) == 0);
    REQUIRE(memcmp(&first, &second, sizeof first) == 0);
    const gs_status valid = gs_problem_check(&first, &error);
    REQUIRE(valid == GS_OK || valid == GS_ERROR_RANGE || valid == GS_ERROR_UNSUPPORTED);
    for (char operand = 'a'; operand <= 'd'; operand++)
        REQUIRE(valid != GS_OK || gs_problem_bytes(&first, operand) <= (size_t)1 << 46);
}

static void fuzz_schedule(const char *text)
{
    gs_schedule first, second;
    gs_error error = {0};
    const gs_status status = gs_schedule_parse(&first, text, &error);
    if (status != GS_OK) {
        require_reason(text, status, &error);
        return;
    }
    char once[GS_SCHEDULE_TEXT];
    REQUIRE(strcmp(gs_schedule_format(&first, once), text) == 0);   /* a schedule string has one text */
    REQUIRE(gs_schedule_parse(&second, once, NULL) == GS_OK);
    REQUIRE(memcmp(&first, &second, sizeof first) == 0);
    const gs_problem problem = gs_problem_make(GS_F16, GS_TN, 500, 300, 72);
    if (gs_schedule_check(&first, &problem, gs_caps_find("h200"), &error) == GS_OK)
        REQUIRE(gs_schedule_predict(&first, &problem, gs_caps_find("h200")) > 0);
}

static void fuzz_manifest(const char *text)
{
    gs_manifest first, second;
    gs_error error = {0};
    const gs_status status = gs_manifest_parse(&first, text, &error);
    if (status != GS_OK) {
        require_reason(text, status, &error);
        REQUIRE(strncmp(error.field, "line ", 5) == 0);
        return;
    }
    gs_text once = {0}, twice = {0};
    REQUIRE(gs_manifest_check(&first, NULL) == GS_OK);
    gs_manifest_format(&first, &once);
    REQUIRE(gs_manifest_parse(&second, gs_text_string(&once), NULL) == GS_OK);
    gs_manifest_format(&second, &twice);
    REQUIRE(strcmp(gs_text_string(&once), gs_text_string(&twice)) == 0);
    gs_text_free(&once);
    gs_text_free(&twice);
}

static void fuzz_formula(const char *text)
{
    static const gs_formula_names names[] = {
        {0},
        {.m = 1000, .n = 257, .k = 64, .batch = 3, .lda = 64, .ldb = 257, .ldc = 257, .ldd = 257, .sms = 132},
        {.m = GS_MAX_EXTENT, .n = GS_MAX_EXTENT, .k = GS_MAX_EXTENT, .batch = GS_MAX_EXTENT, .lda = GS_MAX_LD, .ldd = GS_MAX_LD,
         .sms = 132},
    };
    gs_formula formula;
    gs_error error = {0};
    const gs_status status = gs_formula_set(&formula, text, &error);
    if (status != GS_OK) {
        require_reason(text, status, &error);
        return;
    }
    REQUIRE(strcmp(formula.text, text) == 0);
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        int64_t value = -1;
        const gs_status computed = gs_formula_value(&formula, &names[i], &value, &error);
        REQUIRE(computed == GS_OK ? value >= 0 : computed == GS_ERROR_RANGE && value == -1);
        if (computed != GS_OK) require_reason(text, computed, &error);
    }
}

static void fuzz_table(const char *text)
{
    gs_table *first = NULL, *second = NULL;
    gs_text once = {0}, twice = {0};
    gs_error error = {0};
    int skipped = 0;
    if (gs_table_create(&first) != GS_OK || gs_table_create(&second) != GS_OK) abort();
    const gs_status status = gs_table_read(first, text, NULL, &skipped, &error);
    if (status != GS_OK) REQUIRE(error.text[0] != '\0');   /* no table at all: there is no place to name */
    /* a broken checksum is the file's fault, not a row's */
    if (skipped > 0) REQUIRE(error.text[0] != '\0' && (error.status == GS_ERROR_CORRUPT || error.field[0] != '\0' || error.column > 0));
    if (status == GS_OK) {
        gs_table_format(first, &once);
        REQUIRE(gs_table_read(second, gs_text_string(&once), NULL, &skipped, NULL) == GS_OK);
        REQUIRE(skipped == 0);
        REQUIRE(gs_table_size(first) == gs_table_size(second));
        gs_table_format(second, &twice);
        REQUIRE(strcmp(gs_text_string(&once), gs_text_string(&twice)) == 0);
        for (int i = 0; i < gs_table_size(first); i++) REQUIRE(gs_table_find(second, &gs_table_row(first, i)->problem) != NULL);
    }
    gs_text_free(&once);
    gs_text_free(&twice);
    gs_table_destroy(&first);
    gs_table_destroy(&second);
}

/* No text is long enough to hold the data. */
static void fuzz_weights(const char *text)
{
    gs_weights weights;
    gs_error error = {0};
    const gs_status status = gs_weights_parse(&weights, text, strlen(text), &error);
    REQUIRE(status == GS_ERROR_CORRUPT);
    require_reason(text, status, &error);
}

/* Foreign code: accepted, or refused with one of the reasons, and the same the second time. */
static void require_judged(const char *text, gs_status status, const gs_error *error, gs_status again, const gs_error *second)
{
    REQUIRE(status == GS_OK || status == GS_ERROR_FORBIDDEN);
    REQUIRE(status == again);
    if (status == GS_OK) return;
    REQUIRE(gs_refusal_find(error->field) != GS_REFUSALS);
    REQUIRE(error->text[0] != '\0' && strchr(error->text, '\n') == NULL);
    REQUIRE(strcmp(error->text, second->text) == 0);
}

static void fuzz_ptx(const char *text)
{
    gs_problem problem = gs_problem_make(GS_F16, GS_TN, 64, 64, 64);
    gs_manifest manifest = {.accumulator = GS_F32, .align = {2, 2, 2, 2}, .entry_count = 1, .entry = {{.name = "k", .block = {32, 1, 1}, .cluster = {1, 1, 1}}}};
    for (int way = 0; way < 3; way++) {
        gs_error error = {0}, second = {0};
        problem.in = way == 1 ? GS_BF16 : GS_F16;
        problem.acc = manifest.accumulator = way == 2 ? GS_F16 : GS_F32;
        manifest.entry[0].dependent = way == 1;
        const gs_status status = gs_inspect_ptx(text, strlen(text), &manifest, &problem, &error);
        require_judged(text, status, &error, gs_inspect_ptx(text, strlen(text), &manifest, &problem, &second), &second);
    }
}

static void fuzz_source(const char *text)
{
    gs_error error = {0}, second = {0};
    const gs_status status = gs_inspect_source("k.cu", text, &error);
    require_judged(text, status, &error, gs_inspect_source("k.cu", text, &second), &second);
    if (strstr(text, "#include \"/") || strstr(text, "#include </")) REQUIRE(status == GS_ERROR_FORBIDDEN);
}

/* Lines of values: what was split is written and split again, and is the same. */
static void fuzz_csv(const char *text)
{
    enum { MOST = 8 };
    char *const copy = strdup(text), *field[MOST], *again[MOST];
    REQUIRE(copy);
    for (char *at = copy, *line; (line = gs_csv_line(&at));) {
        REQUIRE(!strchr(line, '\n'));
        const char *const end = line + strlen(line) + 1;
        const int count = gs_csv_split(line, field, MOST);
        REQUIRE(count == -1 || (count >= 1 && count <= MOST));
        gs_text once = {0};
        for (int i = 0; i < count; i++) {
            REQUIRE(field[i] >= line && field[i] + strlen(field[i]) < end);
            if (i > 0) gs_text_add(&once, ",");
            gs_csv_put(&once, field[i]);
        }
        if (count > 0 && !strchr(field[count - 1], '\r')) {   /* one at the end is part of the line's end */
            char *const written = strdup(gs_text_string(&once));
            REQUIRE(written && gs_csv_split(written, again, MOST) == count);
            for (int i = 0; i < count; i++) REQUIRE(strcmp(field[i], again[i]) == 0);
            free(written);
        }
        gs_text_free(&once);
    }
    free(copy);
}

/* Reads a reply in pieces of so many bytes. */
static gs_status read_reply(const char *text, bool stream, size_t piece, gs_chat_answer *answer, gs_error *error)
{
    gs_reply reply = {.stream = stream};
    *answer = (gs_chat_answer){0};
    const size_t size = strlen(text);
    gs_status status = GS_OK;
    for (size_t at = 0; at < size && status == GS_OK; at += piece) status = gs_reply_feed(&reply, text + at, GS_MIN(piece, size - at), error);
    if (status == GS_OK) status = gs_reply_end(&reply, answer, error);
    gs_reply_free(&reply);
    return status;
}

/* An endpoint's reply: however it is cut into pieces, the same comes out. */
static void require_reply(const char *text, bool stream)
{
    gs_chat_answer whole, pieces;
    gs_error error = {0}, second = {0};
    const gs_status status = read_reply(text, stream, GS_MAX(strlen(text), 1), &whole, &error);
    REQUIRE(read_reply(text, stream, 3, &pieces, &second) == status);
    REQUIRE(whole.count == pieces.count && (status == GS_OK) == (whole.count > 0));
    for (int i = 0; i < whole.count; i++) {
        REQUIRE(whole.choice[i].text && strlen(whole.choice[i].text) == whole.choice[i].size);
        REQUIRE(strcmp(whole.choice[i].text, pieces.choice[i].text) == 0);
        REQUIRE(whole.choice[i].finish == pieces.choice[i].finish && whole.choice[i].reasoning == pieces.choice[i].reasoning);
        REQUIRE(!whole.choice[i].refusal || whole.choice[i].finish == GS_FINISH_REFUSAL);
    }
    REQUIRE(whole.prompt_tokens >= 0 && whole.completion_tokens >= 0 && whole.reasoning_tokens >= 0);
    if (status != GS_OK) {
        REQUIRE(status == GS_ERROR_PARSE || status == GS_ERROR_IO || status == GS_ERROR_ARGUMENT || status == GS_ERROR_NOT_FOUND);
        REQUIRE(strcmp(error.text, second.text) == 0);
        require_reason(text, status, &error);
    }
    gs_chat_answer_free(&whole);
    gs_chat_answer_free(&pieces);
}

static void fuzz_events(const char *text) { require_reply(text, true); }

static void fuzz_reply(const char *text)
{
    require_reply(text, false);
    static const char *const secrets[] = {"0123456789", NULL};
    gs_reply reply = {.secrets = secrets};
    gs_error error = {0};
    if (gs_reply_feed(&reply, text, strlen(text), NULL) != GS_OK) abort();
    const gs_status status = gs_reply_refused(&reply, 400, &error);
    REQUIRE(status == GS_ERROR_ARGUMENT && strstr(error.text, secrets[0]) == NULL);
    require_reason(text, status, &error);
    gs_reply_free(&reply);
}

static void fuzz_answer(const char *text)
{
    static const char *const names[] = {"kernel.cu", "kernel.manifest", NULL};
    static gs_sentences schedule_strings;
    gs_answer answer;
    gs_error error = {0};
    const gs_status status = gs_answer_parse(&answer, text, strlen(text), names, &error);
    if (status == GS_OK) {
        REQUIRE(answer.blocks == 2 && *answer.analysis && *answer.plan);
        for (int i = 0; i < answer.blocks; i++) {
            REQUIRE(gs_answer_block(&answer, names[i]) != NULL);
            REQUIRE(strchr(answer.block[i].text, '\r') == NULL && answer.block[i].text[strlen(answer.block[i].text) - 1] == '\n');
        }
    } else {
        REQUIRE(status == GS_ERROR_PARSE || status == GS_ERROR_RANGE);
        require_reason(text, status, &error);
    }
    gs_answer_free(&answer);
    const gs_status read = gs_answer_sentences(&schedule_strings, text, strlen(text), 4, &error);
    REQUIRE((read == GS_OK) == (schedule_strings.count > 0) && schedule_strings.count <= 4);
    if (read != GS_OK) require_reason(text, read, &error);
    for (int i = 0; i < schedule_strings.count; i++)
        for (const char *c = schedule_strings.text[i]; *c; c++) REQUIRE(strchr("\"\\\n `<", *c) == NULL);
}

/* Lines of a ledger: sums that never go down but where a request is settled, and never below zero. */
static void fuzz_ledger(const char *text)
{
    gs_ledger *ledger;
    if (gs_ledger_open(&ledger, &(gs_ledger_options){0}, NULL) != GS_OK) abort();
    for (const char *at = text; *at;) {
        const size_t size = strcspn(at, "\n");
        gs_error error = {0};
        const gs_spent before = gs_ledger_spent(ledger);
        const gs_status status = gs_ledger_take(ledger, at, size, &error);
        const gs_spent after = gs_ledger_spent(ledger);
        REQUIRE(after.requests >= before.requests && after.tokens >= 0 && after.seconds >= 0 && after.cost >= 0);
        if (status != GS_OK) {
            REQUIRE(status == GS_ERROR_PARSE && memcmp(&before, &after, sizeof before) == 0);
            require_reason(text, status, &error);
        }
        at += size + (at[size] == '\n');
    }
    gs_ledger_close(&ledger);
}

/* What clients of gemmsmith serve send, one candidate and several: what is accepted is accepted again in its own words, under the same id. */
/* Of a service that knows its device: a candidate has a job or, where its text is at fault, an answer that can be read, with the lowest reward. */
static void require_screened(const char *text, bool batch)
{
    const gs_service_terms fitting = {.scope = {"a", "b"}, .deadline_s = 1, .caps = gs_caps_find("h200")};
    gs_service_request request;
    gs_error error = {0};
    if (gs_service_request_parse(&request, text, strlen(text), batch, &fitting, &error) != GS_OK) {
        REQUIRE(error.field[0] != '\0' && error.text[0] != '\0');
        return;
    }
    for (int i = 0; i < request.count; i++) {
        const gs_service_item *const item = &request.item[i];
        REQUIRE(!(item->request && item->answer));
        if (!item->answer) continue;
        json_t *const out = gs_service_reply_item(item, NULL, item->reward, true, false);
        REQUIRE(json_is_object(out) && json_number_value(json_object_get(out, "reward")) == -1 && json_is_null(json_object_get(out, "id")));
        REQUIRE(json_string_length(json_object_get(out, "verdict")) > 0 && json_string_length(json_object_get(out, "reason")) > 0);
        json_decref(out);
    }
    gs_service_request_free(&request);
}

static void fuzz_serve(const char *text)
{
    static const gs_problem offered[] = {{.in = GS_F16}};
    const gs_service_terms any = {.scope = {"a", "b"}, .deadline_s = 1}, some = {.scope = {"a", "b"}, .deadline_s = 1, .offered = offered, .offered_count = 1};
    gs_service_request request, again;
    for (int batch = 0; batch < 2; batch++) {
        gs_error error = {0};
        require_screened(text, batch);
        const gs_status status = gs_service_request_parse(&request, text, strlen(text), batch, &any, &error);
        if (status != GS_OK) {
            REQUIRE(error.status == status && error.field[0] != '\0' && error.text[0] != '\0');
            for (const char *at = error.text; *at; at++) REQUIRE(*at >= ' ' && *at < 127);
            for (const char *at = error.field; *at; at++) REQUIRE(*at >= ' ' && *at < 127);
            REQUIRE(request.item == NULL && request.count == 0);
            continue;
        }
        REQUIRE(request.count >= 1 && request.count <= GS_SERVICE_BATCH && request.deadline_s >= 0 && request.deadline_s <= GS_SERVICE_DEADLINE);
        for (int i = 0; i < request.count; i++) {
            const gs_service_item *const item = &request.item[i];
            REQUIRE(item->reward < GS_REWARDS && gs_problem_check(&item->problem, NULL) == GS_OK);
            if (!item->request) continue;   /* a completion without a candidate */
            REQUIRE(gs_service_id_valid(item->id));
            REQUIRE(gs_service_request_parse(&again, item->request, strlen(item->request), false, &any, NULL) == GS_OK);
            REQUIRE(strcmp(again.item[0].id, item->id) == 0 && strcmp(again.item[0].request, item->request) == 0);
            gs_service_request_free(&again);
        }
        gs_service_request_free(&request);
        REQUIRE(gs_service_request_parse(&request, text, strlen(text), batch, &some, &error) == GS_ERROR_UNSUPPORTED);
    }
    gs_service_token_equal("0123456789abcdef", text);
}

/* A candidate's text as another turn may see it: plain characters, short words, nothing that ends a fence or opens a template; once more, it is the same. */
static void require_plain(const char *text)
{
    size_t word = 0;
    for (const char *at = text; *at; at++) {
        REQUIRE((*at >= ' ' && *at < 127 && *at != '`') || *at == '\n');
        word = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' ? word + 1 : 0;
        REQUIRE(word <= GS_SOURCE_NAME);
    }
    REQUIRE(!strstr(text, "<|") && !strstr(text, "|>") && !strstr(text, "</") && !strstr(text, "//") && !strstr(text, "/*"));
}

/* Names of problems in a text: what is held out of some is held out of all, and no text before it hides one on a line of its own. */
static void fuzz_names(const char *text)
{
    static const char *const names[] = {"\nf16:8x16x24:nn", "\n8_16_24\n", "\nM x N x K = 8 x 16 x 24\n", "\\n8_16_24\\n"};
    gs_text longer = {0};
    REQUIRE(!gs_dataset_mentions_held_out(text, 0));
    for (int of = 2; of < 5; of++) REQUIRE(!gs_dataset_mentions_held_out(text, of) || gs_dataset_mentions_held_out(text, 1));
    for (size_t i = 0; i < GS_COUNT(names); i++) {
        gs_text_clear(&longer);
        gs_text_add(&longer, text);
        gs_text_add(&longer, names[i]);
        REQUIRE(longer.failed || gs_dataset_mentions_held_out(longer.data, 1));
    }
    gs_text_free(&longer);
}

static void fuzz_shown(const char *text)
{
    gs_source_shown once = {0}, twice = {0};
    gs_text reason = {0};
    REQUIRE(gs_source_show(&once, text, 2000, NULL) == GS_OK);
    require_plain(gs_text_string(&once.text));
    REQUIRE(once.text.size <= 2000 && (once.text.size == 0 || once.text.data[once.text.size - 1] == '\n'));
    for (int i = 0; i < once.lines; i++) REQUIRE(once.line[i] >= 1 && (i == 0 || once.line[i] >= once.line[i - 1]));
    REQUIRE(gs_source_show(&twice, gs_text_string(&once.text), 2000, NULL) == GS_OK);
    require_plain(gs_text_string(&twice.text));
    gs_reason_show(&reason, text, &once);
    require_plain(gs_text_string(&reason));
    REQUIRE(reason.size <= GS_REASON_SHOWN);
    gs_text_clear(&reason);
    gs_reason_show(&reason, text, NULL);
    require_plain(gs_text_string(&reason));
    gs_text_free(&reason);
    gs_source_shown_free(&once);
    gs_source_shown_free(&twice);
}

/* The profiler's page: lines of names and numbers, or nothing. */
static void fuzz_metrics(const char *text)
{
    gs_text out = {0};
    gs_error error = {0};
    const gs_status status = gs_metrics_read_ncu(text, &out, &error);
    if (status != GS_OK) {
        REQUIRE(status == GS_ERROR_PARSE && out.size == 0);
        require_reason(text, status, &error);
    }
    for (const char *at = gs_text_string(&out); *at; at += strcspn(at, "\n") + 1) {
        char name[64];
        double value;
        REQUIRE(sscanf(at, "%63[a-z_0-9] %lf\n", name, &value) == 2 && value >= 0);
    }
    gs_text_free(&out);
}

/* What a model in training wrote: a candidate has its limits, and is found again where it stands alone. */
static void fuzz_completion(const char *text)
{
    gs_completion found, again;
    gs_text block = {0};
    REQUIRE(gs_completion_read(&found, text, strlen(text), NULL) == GS_OK);
    REQUIRE(!found.source == !found.manifest && !(found.schedule && found.source));
    if (found.schedule) {
        REQUIRE(found.schedule[0] != '\0' && strlen(found.schedule) <= GS_COMPLETION_SCHEDULE);
        gs_text_addf(&block, "``````````schedule\n%s\n``````````", found.schedule);
    } else if (found.source) {
        REQUIRE(strlen(found.source) <= GS_COMPLETION_SOURCE && strlen(found.manifest) <= GS_COMPLETION_MANIFEST);
        gs_text_addf(&block, "``````````text manifest\n%s``````````\n``````````cuda\n%s``````````<|im_end|>\n</s>", found.manifest, found.source);
    }
    if (block.size > 0 && !strstr(text, "``````````") && !strstr(text, "\r\r\n") && !strstr(text, "</think>")) {   /* CR CR LF becomes CR LF, which would become LF */
        REQUIRE(gs_completion_read(&again, gs_text_string(&block), block.size, NULL) == GS_OK);
        REQUIRE(found.schedule ? again.schedule && strcmp(found.schedule, again.schedule) == 0
                               : again.source && strcmp(found.source, again.source) == 0 && strcmp(found.manifest, again.manifest) == 0);
        gs_completion_free(&again);
    }
    gs_completion_free(&found);
    gs_text_free(&block);
}

/* A parent, and behind a line %% edits of it, which also is another parent's child: edits of what came out give it again. */
static void fuzz_edits(const char *text)
{
    const char *const cut = strstr(text, "\n%%\n");
    gs_text parent = {0}, child = {0}, edits = {0}, again = {0};
    gs_error error = {0};
    gs_completion found;
    gs_text_add_bytes(&parent, text, cut ? (size_t)(cut - text) + 1 : 0);
    const char *const rest = cut ? cut + 4 : text;
    const gs_status status = gs_edit_apply(&child, gs_text_string(&parent), rest, "kernel.cu", &error);
    if (status != GS_OK) {
        REQUIRE(status == GS_ERROR_PARSE || status == GS_ERROR_RANGE);
        REQUIRE(child.size == 0 && error.text[0] && error.field[0]);
        for (const char *at = error.text; *at; at++) REQUIRE(*at >= ' ' && *at < 127);
    }
    for (int i = 0; i < 2; i++) {
        const char *const want = i == 0 ? gs_text_string(&child) : rest;
        const gs_status made = gs_edit_make(&edits, gs_text_string(&parent), want, NULL);
        REQUIRE(made == GS_OK || (made == GS_ERROR_UNSUPPORTED && edits.size == 0));
        if (made == GS_OK) REQUIRE(gs_edit_apply(&again, gs_text_string(&parent), gs_text_string(&edits), "kernel.cu", NULL) == GS_OK && strcmp(gs_text_string(&again), want) == 0);
        gs_text_clear(&edits);
        gs_text_clear(&again);
    }
    REQUIRE(gs_completion_read_edit(&found, rest, strlen(rest), &(gs_parent){gs_text_string(&parent), "manifest 1\n"}, NULL) == GS_OK);
    REQUIRE(!found.source == !found.manifest && !(found.schedule && found.source) && !(found.fault.text[0] && (found.source || found.schedule)));
    gs_completion_free(&found);
    gs_text_free(&parent);
    gs_text_free(&child);
    gs_text_free(&edits);
    gs_text_free(&again);
}

/* What trainers send: every candidate is a request of its own, and every completion has an answer. */
static void fuzz_adapters(const char *text)
{
    const gs_service_terms any = {.scope = {"a", "b"}, .deadline_s = 1};
    for (int which = GS_SERVICE_OPENRLHF; which <= GS_SERVICE_SLIME; which++) {
        gs_error error = {0};
        gs_service_completions asked;
        gs_service_request again;
        const gs_status status = gs_service_adapter_parse(&asked, (gs_service_adapter)which, text, strlen(text), &any, &error);
        if (status != GS_OK) {
            REQUIRE(error.status == status && error.field[0] != '\0' && error.text[0] != '\0');
            for (const char *at = error.text; *at; at++) REQUIRE(*at >= ' ' && *at < 127);
            REQUIRE(asked.place == NULL && asked.count == 0 && asked.request.item == NULL);
            continue;
        }
        REQUIRE(asked.count >= 1 && asked.count <= GS_SERVICE_BATCH && asked.request.count <= asked.count);
        for (int i = 0; i < asked.request.count; i++) {
            const gs_service_item *const item = &asked.request.item[i];
            REQUIRE(gs_service_request_parse(&again, item->request, strlen(item->request), false, &any, NULL) == GS_OK);
            REQUIRE(strcmp(again.item[0].id, item->id) == 0 && strcmp(again.item[0].request, item->request) == 0);
            gs_service_request_free(&again);
        }
        json_t **const results = calloc((size_t)asked.request.count + 1, sizeof *results);
        if (!results) abort();
        for (int i = 0; i < asked.request.count; i++) results[i] = json_pack("{s:s, s:{s:f}}", "verdict", "pass", "rewards", "headroom", 0.5);
        json_t *const reply = gs_service_adapter_reply((gs_service_adapter)which, &asked, results, GS_REWARD_HEADROOM, NULL, false, &error);
        REQUIRE(which == GS_SERVICE_SLIME ? json_is_real(reply) : json_array_size(json_object_get(reply, "rewards")) == (size_t)asked.count);
        json_decref(reply);
        if (asked.request.count > 0) {   /* a result that could not be made is no bad candidate */
            json_decref(results[0]);
            results[0] = NULL;
            REQUIRE(gs_service_adapter_reply((gs_service_adapter)which, &asked, results, GS_REWARD_HEADROOM, NULL, false, &error) == NULL && error.status == GS_ERROR_MEMORY);
        }
        for (int i = 0; i < asked.request.count; i++) json_decref(results[i]);
        free(results);
        gs_service_completions_free(&asked);
    }
}

/* What asks for a prompt: what is taken is a question that can be answered, what is not has its field. */
static void fuzz_question(const char *text)
{
    const gs_service_terms any = {.scope = {"a", "b"}, .deadline_s = 1};
    gs_service_question asked;
    gs_error error = {0};
    const gs_status status = gs_service_question_parse(&asked, text, strlen(text), &any, &error);
    if (status != GS_OK) {
        REQUIRE(error.status == status && error.field[0] != '\0' && error.text[0] != '\0');
        for (const char *at = error.text; *at; at++) REQUIRE(*at >= ' ' && *at < 127);
        for (const char *at = error.field; *at; at++) REQUIRE(*at >= ' ' && *at < 127);
        REQUIRE(asked.result == NULL);
        return;
    }
    REQUIRE(gs_problem_check(&asked.problem, NULL) == GS_OK && asked.mode < GS_SERVICE_MODES);
    REQUIRE(!asked.id[0] || (gs_service_id_valid(asked.id) && !asked.result));
    REQUIRE(!asked.result || json_is_string(json_object_get(asked.result, "verdict")));
    for (const char *at = asked.device; *at; at++) REQUIRE((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') || strchr("-+_", *at));
    gs_service_question_free(&asked);
}

/* A trainer's log: what counts as one is read or refused with a reason; points are finite, steps none below 0, and there are no more of a series than lines and braces. */
static void fuzz_training(const char *text)
{
    gs_curves curves = {0};
    gs_error error = {0};
    char name[GS_CURVE_NAME];
    int unread = 0, braces = 0;
    gs_training_name(name, text);
    REQUIRE(name[0] != '\0' && strlen(name) < sizeof name && !strchr(name, '\n'));
    const bool is = gs_training_is(text);
    const gs_status status = gs_training_read(&curves, name, text, &unread, &error);
    REQUIRE(status == GS_OK || status == GS_ERROR_CORRUPT);
    if (status != GS_OK) require_reason(text, status, &error);
    REQUIRE(status == GS_OK || curves.count == 0);
    REQUIRE(unread >= 0 && (!is || status == GS_OK || strstr(text, "log_history")));
    for (const char *c = text; *c; c++) braces += *c == '{';
    for (int i = 0; i < curves.count; i++) {
        REQUIRE(strcmp(curves.list[i].name, name) == 0 && curves.list[i].count <= braces);
        for (int k = 0; k < curves.list[i].count; k++) REQUIRE(isfinite(curves.list[i].x[k]) && curves.list[i].x[k] >= 0 && isfinite(curves.list[i].y[k]));
    }
    gs_curves_free(&curves);
}

unsigned fuzz_parser;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const parsers[])(const char *) = {fuzz_problem, fuzz_schedule, fuzz_manifest, fuzz_formula, fuzz_table, fuzz_weights, fuzz_ptx, fuzz_source, fuzz_csv,
                                                  fuzz_events, fuzz_reply, fuzz_answer, fuzz_ledger, fuzz_serve, fuzz_shown,
                                                  fuzz_metrics, fuzz_names, fuzz_completion, fuzz_adapters, fuzz_edits, fuzz_training, fuzz_question, fuzz_recorded, fuzz_tunableop, fuzz_pack, fuzz_rows,
                                                  fuzz_suggestions};
    if (size == 0) return 0;
    char *const text = malloc(size);   /* exactly as long as the text: reading past its end is seen by the sanitizer */
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    const char *const only = getenv("FUZZ_PARSER");   /* the number of one, which gets every input */
    fuzz_parser = (only ? (unsigned)atoi(only) : (uint8_t)(data[0] - '0')) % GS_COUNT(parsers);   /* '0' is the first, however many there are */
    parsers[fuzz_parser](text);
    free(text);
    return 0;
}
