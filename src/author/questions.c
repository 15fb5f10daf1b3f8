/* SPDX-License-Identifier: MIT */
#include "author/questions.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/manifest.h"
#include "llm/answer.h"

/* ---- an answer ---- */

void gs_written_free(gs_written *written)
{
    free(written->source);
    free(written->manifest);
    *written = (gs_written){0};
}

static gs_status take_blocks(gs_reading *r, const gs_answer *answer, gs_error *error)
{
    gs_manifest manifest;
    gs_error why = {0};
    const gs_parent *const parent = r->parent.source ? &r->parent : NULL;
    const char *const source = gs_answer_block(answer, "kernel.cu"), *const its = gs_answer_block(answer, "manifest");
    if (parent && r->edits == GS_EDITS_ONLY && ((source && !gs_edit_is(source)) || (its && !gs_edit_is(its))))
        return gs_fail(error, GS_ERROR_PARSE, "code", "edits were asked for, and a block is a whole text");
    GS_TRY(gs_edit_kernel(&r->written.source, &r->written.manifest, &r->written.edited, parent, source, its, error));
    const gs_status status = gs_manifest_parse(&manifest, r->written.manifest, &why);
    if (status == GS_OK) return GS_OK;
    gs_written_free(&r->written);
    return gs_fail(error, status, "the block manifest", "%s%s%s", why.field, why.field[0] ? ": " : "", why.text);
}

gs_status gs_author_read(void *reading, const char *text, size_t size, gs_error *error)
{
    gs_reading *const r = reading;
    gs_answer answer = {0};
    gs_written_free(&r->written);
    GS_TRY(gs_answer_parse(&answer, text, size, r->parent.source ? gs_answer_edits : gs_answer_kernel, error));
    const gs_status status = take_blocks(r, &answer, error);
    gs_answer_free(&answer);
    return status;
}

/* ---- questions ---- */

gs_question *gs_question_create(gs_error *error)
{
    gs_question *const q = calloc(1, sizeof *q);
    if (!q) gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a question");
    return q;
}

void gs_question_free(gs_question *q)
{
    if (!q) return;
    gs_text_free(&q->system);
    gs_text_free(&q->question);
    gs_text_free(&q->parent_source);
    gs_text_free(&q->parent_manifest);
    gs_text_free(&q->said);
    gs_written_free(&q->reading.written);
    free(q);
}

void gs_questions_open(gs_questions *pool)
{
    *pool = (gs_questions){0};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->ended, NULL);
}

void gs_questions_close(gs_questions *pool)
{
    pthread_cond_destroy(&pool->ended);
    pthread_mutex_destroy(&pool->mutex);
}

static void *ask(void *self)
{
    gs_question *const q = self;
    const char *const shorter = q->reading.parent.source && q->reading.edits != GS_EDITS_NONE ? "analyse and plan in a few lines, and answer with edits"
                                                                                              : "analyse and plan in a few lines, and answer with the whole kernel";
    q->status = gs_llm_ask(&q->asker, gs_text_string(&q->system), gs_text_string(&q->question), shorter, gs_author_read, &q->reading, &q->said, q->reason, &q->error);
    pthread_mutex_lock(&q->pool->mutex);
    gs_question **last = &q->pool->list;   /* appended, in the order of completion */
    while (*last) last = &(*last)->next;
    *last = q;
    pthread_cond_signal(&q->pool->ended);
    pthread_mutex_unlock(&q->pool->mutex);
    return NULL;
}

gs_status gs_questions_begin(gs_questions *pool, const gs_llm_asker *asker, gs_question *q, double seconds, gs_error *error)
{
    q->pool = pool;
    q->next = NULL;
    q->asker = *asker;
    if (seconds > 0) q->asker.options.answer_s = seconds;
    gs_text_clear(&q->said);
    q->error = (gs_error){0};
    if (pthread_create(&q->thread, NULL, ask, q) != 0) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no thread for a question");
    pool->under_way++;
    return GS_OK;
}

gs_question *gs_questions_end(gs_questions *pool)
{
    pthread_mutex_lock(&pool->mutex);
    while (!pool->list) pthread_cond_wait(&pool->ended, &pool->mutex);
    gs_question *const q = pool->list;
    pool->list = q->next;
    pthread_mutex_unlock(&pool->mutex);
    pthread_join(q->thread, NULL);
    pool->under_way--;
    return q;
}
