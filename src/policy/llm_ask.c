/* SPDX-License-Identifier: MIT
 * Options of a language model, and asking one question. Only its reader sees the content of an answer. */
#include "policy/llm_ask.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "llm/prompt.h"

enum { MAX_TOKENS = 16384, HEADERS_MOST = 64 << 10 };
#define ATTEMPT_S 300.0

/* ---- options ---- */

static const char *word_of(const char *given, const char *variable)
{
    const char *const word = given ? given : getenv(variable);
    return word && *word ? word : NULL;
}

static bool positive(gs_scan *scan, double most, double *value)
{
    return gs_scan_double(scan, value) && *value > 0 && *value <= most;
}

static gs_status read_budget(const char *text, gs_spent *most, gs_error *error)
{
    static const char *const names[] = {"requests=", "tokens=", "seconds=", "cost="};
    double value[GS_COUNT(names)] = {0};
    gs_scan scan = gs_scan_from(text);
    do {
        size_t i = 0;
        while (i < GS_COUNT(names) && !gs_scan_take(&scan, names[i])) i++;
        if (i == GS_COUNT(names))
            return gs_fail_at(error, GS_ERROR_ARGUMENT, gs_scan_column(&scan), "llm_budget", "expected requests=, tokens=, seconds= or cost=, with commas between them");
        if (value[i] > 0) return gs_fail_at(error, GS_ERROR_ARGUMENT, gs_scan_column(&scan), "llm_budget", "%s is there twice", names[i]);
        const int column = gs_scan_column(&scan);
        if (!positive(&scan, 1e12, &value[i]) || (i < 2 && value[i] != floor(value[i])))
            return gs_fail_at(error, GS_ERROR_ARGUMENT, column, "llm_budget", "expected a %snumber over 0", i < 2 ? "whole " : "");
    } while (gs_scan_take(&scan, ","));
    if (!gs_scan_end(&scan)) return gs_fail_at(error, GS_ERROR_ARGUMENT, gs_scan_column(&scan), "llm_budget", "expected a comma or the end");
    *most = (gs_spent){(int64_t)value[0], (int64_t)value[1], value[2], value[3]};
    return GS_OK;
}

static gs_status read_price(const char *text, double *in, double *out, gs_error *error)
{
    gs_scan scan = gs_scan_from(text);
    if (!gs_scan_double(&scan, in) || !gs_scan_take(&scan, ",") || !gs_scan_double(&scan, out) || !gs_scan_end(&scan) ||
        !(*in >= 0 && *out >= 0 && *in + *out > 0 && isfinite(*in + *out)))
        return gs_fail_at(error, GS_ERROR_ARGUMENT, gs_scan_column(&scan), "llm_price", "expected the prices of a million tokens of prompts and of answers: 0.5,2");
    return GS_OK;
}

gs_status gs_llm_open(gs_llm *out, const gs_llm_options *options, gs_error *error)
{
    static const gs_llm_options none = {0};
    const gs_llm_options *const o = options ? options : &none;
    const char *const budget = word_of(o->budget, "GEMMSMITH_LLM_BUDGET"), *const price = word_of(o->price, "GEMMSMITH_LLM_PRICE");
    gs_ledger_options ledger = {.path = word_of(o->ledger, "GEMMSMITH_LLM_LEDGER")};
    *out = (gs_llm){0};
    if (budget) GS_TRY(read_budget(budget, &ledger.most, error));
    if (price) GS_TRY(read_price(price, &ledger.price_in, &ledger.price_out, error));
    if (ledger.most.cost > 0 && !price)
        return gs_fail(error, GS_ERROR_ARGUMENT, "llm_budget", "a budget for cost needs the prices of tokens (llm_price, $GEMMSMITH_LLM_PRICE)");
    return gs_ledger_open(&out->ledger, &ledger, error);
}

void gs_llm_close(gs_llm *llm)
{
    gs_ledger_close(&llm->ledger);
    *llm = (gs_llm){0};
}

/* Reads the lines of a file except blank ones and comments (#). Messages must not quote them: they may contain keys. */
static gs_status read_headers(gs_llm_asker *asker, gs_error *error)
{
    int count = 0, number = 0;
    if (!asker->options.headers) return GS_OK;
    GS_TRY(gs_file_read(asker->options.headers, HEADERS_MOST, &asker->header_text, &asker->header_size, error));
    if (strlen(asker->header_text) != asker->header_size) return gs_fail(error, GS_ERROR_ARGUMENT, "llm_headers", "the file has a byte 0 in it");
    for (char *rest = asker->header_text, *line; (line = strsep(&rest, "\n"));) {
        number++;
        line[strcspn(line, "\r")] = '\0';
        if (!*line || *line == '#') continue;
        if (!gs_chat_header_valid(line)) return gs_fail(error, GS_ERROR_ARGUMENT, "llm_headers", "line %d: expected \"Name: value\" of a header that is not the program's own", number);
        if (count == GS_CHAT_HEADERS) return gs_fail(error, GS_ERROR_ARGUMENT, "llm_headers", "more than %d", GS_CHAT_HEADERS);
        asker->headers[count++] = line;
    }
    return GS_OK;
}

/* Checks the CA bundle early: if it is unreadable, every question would fail. */
static gs_status check_ca(const char *path, gs_error *error)
{
    if (!path || access(path, R_OK) == 0) return GS_OK;
    return gs_fail(error, GS_ERROR_ARGUMENT, "llm_ca", "%.200s cannot be read: %s", path, strerror(errno));
}

static gs_status complete(gs_llm_options *o, const char *needed, gs_error *error)
{
    o->url = word_of(o->url, GS_CHAT_URL);
    o->model = word_of(o->model, "GEMMSMITH_LLM_MODEL");
    o->key_variable = word_of(o->key_variable, "GEMMSMITH_LLM_KEY_ENV");
    o->headers = word_of(o->headers, "GEMMSMITH_LLM_HEADERS");
    o->ca = word_of(o->ca, "GEMMSMITH_LLM_CA");
    if (!o->url) return gs_fail(error, GS_ERROR_ARGUMENT, "llm_url", "which endpoint? Give --llm-url, or set $GEMMSMITH_LLM_URL");
    if (!o->model) return gs_fail(error, GS_ERROR_ARGUMENT, "llm_model", "which model? Give --llm-model, or set $GEMMSMITH_LLM_MODEL");
    if (o->key_variable && o->key_variable[strspn(o->key_variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")])   /* perhaps a key: must not be printed */
        return gs_fail(error, GS_ERROR_ARGUMENT, "llm_key_env", "expected the name of an environment variable, not a key");
    gs_text text = {0};
    const gs_prompt_field fields[] = {{"reason", ""}};
    const gs_status status = gs_prompt_add(&text, o->prompts, needed, fields, 1, error);   /* finds a missing folder early */
    gs_text_free(&text);
    return status;
}

gs_status gs_llm_asker_open(gs_llm_asker *out, const gs_llm_options *options, const char *text, gs_error *error)
{
    *out = (gs_llm_asker){0};
    if (options) out->options = *options;
    GS_TRY(complete(&out->options, text, error));
    GS_TRY(check_ca(out->options.ca, error));
    GS_TRY(read_headers(out, error));
    out->llm = out->options.shared ? out->options.shared : &out->own;
    return out->options.shared ? GS_OK : gs_llm_open(&out->own, &out->options, error);
}

void gs_llm_asker_close(gs_llm_asker *asker)
{
    gs_llm_close(&asker->own);
    if (asker->header_text) explicit_bzero(asker->header_text, asker->header_size);
    free(asker->header_text);
    *asker = (gs_llm_asker){0};
}

/* ---- a question ---- */

/* Advice for failures that are usually caused by an option rather than by the server. */
static void say_remedy(const gs_llm_options *o, const gs_error *why, char *text, size_t size)
{
    const char *const variable = o->key_variable ? o->key_variable : GS_CHAT_KEY;
    text[0] = '\0';
    if (strcmp(why->field, "connection") == 0) snprintf(text, size, "; is the endpoint up, and its URL right?");
    else if (strcmp(why->field, "key") == 0 && !o->headers)
        snprintf(text, size, word_of(NULL, variable) ? "; the key is that of $%.64s" : "; $%.64s has no key (--llm-key-env names another variable)", variable);
}

void gs_llm_give_up(gs_llm_asker *asker, const gs_error *why)
{
    char remedy[160], text[sizeof why->text + sizeof remedy + 128];
    asker->llm->silent = true;
    asker->llm->tally.unreachable = why->status != GS_ERROR_RANGE;   /* RANGE: a budget is used up */
    say_remedy(&asker->options, why, remedy, sizeof remedy);
    snprintf(text, sizeof text, "no more questions to the language model: %s%s%s%s", why->field, why->field[0] ? ": " : "", why->text, remedy);
    if (asker->options.note) asker->options.note(text);
    else gs_log(GS_LOG_WARNING, "%s", text);
}

void gs_llm_tally_format(const gs_llm_tally *m, bool predicted, gs_text *text)
{
    if (m->answered == 0) return;
    gs_text_addf(text, "language model: %d of %d questions answered, %d readable; %d schedules, %d of the grammar, %d valid and new; "
                       "of these %d compiled, %d timed, %d proved right, %d refused\n",
                 m->answered, m->asked, m->readable, m->strings, m->parsed, m->valid, m->compiled, m->timed, m->right, m->wrong);
    if (m->best_us > 0) gs_text_addf(text, "its fastest: %s, %s%.2f us\n", m->best, predicted ? "predicted " : "", m->best_us);
}

static gs_status judge(const gs_chat_choice *choice, int max_tokens, const char *shorter, gs_llm_read read, void *self, char reason[GS_LLM_REASON], gs_error *error)
{
    gs_error why = {0};
    gs_status status = GS_OK;
    if (choice->finish == GS_FINISH_LENGTH) {
        snprintf(reason, GS_LLM_REASON, "It was cut at %d tokens: %s.\n", max_tokens, shorter);
    } else if (choice->refusal || choice->finish == GS_FINISH_REFUSAL || choice->finish == GS_FINISH_FILTER) {
        snprintf(reason, GS_LLM_REASON, "It was no answer, but a refusal.\n");
    } else {
        status = read(self, choice->text, choice->size, &why);
        if (status != GS_OK && status != GS_ERROR_MEMORY) snprintf(reason, GS_LLM_REASON, "%s: %s.\n", why.field, why.text);
    }
    return status == GS_ERROR_MEMORY ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer") : GS_OK;
}

gs_status gs_llm_ask(const gs_llm_asker *asker, const char *system, const char *question, const char *shorter, gs_llm_read read, void *self, gs_text *answer,
                     char reason[GS_LLM_REASON], gs_error *error)
{
    gs_chat_answer got;
    const gs_llm_options *const o = &asker->options;
    const int max_tokens = o->max_tokens > 0 ? o->max_tokens : MAX_TOKENS;
    const double attempt_s = o->attempt_s > 0 ? o->attempt_s : ATTEMPT_S;
    const gs_chat_message messages[] = {{"system", system}, {"user", question}};
    const gs_chat_options how = {.url = o->url, .model = o->model, .key_variable = o->key_variable, .max_tokens = max_tokens, .wait_s = o->wait_s,
                                 .total_s = o->answer_s, .attempt_s = o->answer_s > 0 ? fmin(o->answer_s, attempt_s) : attempt_s, .retries = o->retries,
                                 .headers = asker->headers, .ca_path = o->ca, .stream = o->stream,
                                 .ledger = asker->llm->ledger, .stop = &gs_stop_requested};
    reason[0] = '\0';
    GS_TRY(gs_chat(&how, messages, 2, &got, error));
    const gs_chat_choice *const choice = &got.choice[0];
    const char *const text = choice->size == 0 && choice->refusal ? choice->refusal : choice->text;
    if (answer) gs_text_add_bytes(answer, text, strlen(text));
    gs_status status = answer && answer->failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for an answer") : GS_OK;
    if (status == GS_OK) status = judge(choice, max_tokens, shorter, read, self, reason, error);
    gs_chat_answer_free(&got);
    return status;
}
