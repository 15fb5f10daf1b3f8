/* SPDX-License-Identifier: MIT
 * Concurrent questions: a thread per question waits for the answer. A thread uses only the asker, which must not change meanwhile, and its own question; the
 * store, the lineages and the device belong to the calling thread. */
#ifndef GS_AUTHOR_QUESTIONS_H
#define GS_AUTHOR_QUESTIONS_H

#include <pthread.h>

#include "author/prompt.h"
#include "llm/edit.h"
#include "policy/llm_ask.h"
#include "store/store.h"
#include "worker/contenders.h"

/* What a model answered. */
typedef struct gs_written {
    char *source, *manifest;           /* owned; NULL: the answer could not be parsed */
    bool  edited;
} gs_written;

/* How answers are parsed; the first argument of gs_author_read. */
typedef struct gs_reading {
    gs_parent  parent;                 /* the kernel that edits apply to; without texts only whole kernels are accepted */
    gs_edits   edits;
    gs_written written;
} gs_reading;

/* A gs_llm_read: parses the kernel of an answer, whole or as edits, and checks that its manifest can be parsed. */
gs_status gs_author_read(void *reading, const char *text, size_t size, gs_error *error);
void      gs_written_free(gs_written *written);

typedef struct gs_question {
    int       island, number;
    char      base[GS_CONTENDER_NAME], uid[GS_STORE_UID];
    bool      second;                  /* the repair question, after an answer that could not be parsed */
    gs_text   system, question;
    gs_text   parent_source, parent_manifest;
    /* results */
    gs_status  status;
    gs_error   error;
    gs_text    said;                   /* the answer, unchanged */
    char       reason[GS_LLM_REASON];  /* why it could not be parsed; "": it was */
    gs_reading reading;
    /* internal to questions.c */
    gs_llm_asker        asker;         /* a copy, with this question's limits */
    struct gs_questions *pool;
    struct gs_question  *next;
    pthread_t           thread;
} gs_question;

typedef struct gs_questions {
    pthread_mutex_t mutex;
    pthread_cond_t  ended;
    gs_question    *list;              /* answered and not taken yet */
    int             under_way;         /* begun and not taken yet */
} gs_questions;

void gs_questions_open(gs_questions *pool);
void gs_questions_close(gs_questions *pool);   /* no question may be under way */

/* Asks; seconds: time limit of the answer, 0: the asker's. On failure (MEMORY) the question is not under way. */
gs_status gs_questions_begin(gs_questions *pool, const gs_llm_asker *asker, gs_question *question, double seconds, gs_error *error);

/* Waits until one question is answered, and takes it. At least one must be under way. */
gs_question *gs_questions_end(gs_questions *pool);

gs_question *gs_question_create(gs_error *error);
void         gs_question_free(gs_question *question);   /* NULL: nothing */

#endif
