/* SPDX-License-Identifier: MIT */
#include "compare/contenders.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "problem/layout.h"
#include "schedule/schedule.h"

/* The launch suffix after "own" ("" or "@..."); NULL: another contender. */
static const char *own_launch(const char *name)
{
    const size_t length = strlen(GS_RESULT_OWN);
    return strncmp(name, GS_RESULT_OWN, length) == 0 && (name[length] == '@' || !name[length]) ? name + length : NULL;
}

gs_status gs_contender_names_read(gs_contender_names *out, const char *list, const char *schedule, char failed[GS_CONTENDER_NAME], gs_error *error)
{
    static const char *const known[] = {GS_RESULT_PLAN, GS_RESULT_MEASURED, GS_RESULT_OWN, "cublas", "cublaslt-heuristic", GS_RESULT_REFERENCE};
    out->count = 0;
    failed[0] = '\0';
    for (const char *at = list; *at;) {
        const int length = (int)strcspn(at, ",");
        char name[GS_CONTENDER_NAME];
        snprintf(name, sizeof name, "%.*s", length, at);
        at += length + (at[length] != '\0');
        if (schedule && strcmp(name, GS_RESULT_PLAN) == 0) snprintf(name, sizeof name, "%s", schedule);
        size_t which = 0;
        while (which < GS_COUNT(known) && strcmp(name, known[which]) != 0) which++;
        gs_schedule parsed;
        gs_launch_mode mode;
        const char *const launch = own_launch(name);
        if (which == GS_COUNT(known) && !launch && !strchr(name, '/') && strncmp(name, "simple", 6) != 0)
            return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "'%s' is none of " GS_RESULT_MEASURED "," GS_RESULT_OWN "," GS_CONTENDERS_DEFAULT ", and no schedule", name);
        if (which == GS_COUNT(known)) {
            memcpy(failed, name, sizeof name);
            char text[GS_CONTENDER_NAME + 8];
            snprintf(text, sizeof text, "%s%s", launch ? "simple" : "", launch ? launch : name);
            GS_TRY(gs_contender_parse(text, &parsed, &mode, error));
            failed[0] = '\0';
        }
        if (out->count == GS_CONTENDERS_MOST) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "more than %d", GS_CONTENDERS_MOST);
        memcpy(out->name[out->count++], name, sizeof name);
    }
    return out->count > 0 ? GS_OK : gs_fail(error, GS_ERROR_ARGUMENT, NULL, "the list is empty");
}

bool gs_contender_names_have(const gs_contender_names *names, const char *name)
{
    const bool own = strcmp(name, GS_RESULT_OWN) == 0;
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0 || (own && own_launch(names->name[i]))) return true;
    return false;
}

static const char *of_groups(const char *name)
{
    return strcmp(name, "cublas") == 0 ? GS_RESULT_CUBLAS_GROUPS : strcmp(name, GS_RESULT_REFERENCE) == 0 ? GS_RESULT_CUBLASLT_GROUPS : name;
}

static void add(gs_contender_list *out, gs_layout layout, const char *name)
{
    if (out->count == GS_RESULT_ENTRIES) return;
    snprintf(out->name[out->count], sizeof out->name[0], "%s:%s", gs_layout_name(layout), name);
    out->list[out->count] = out->name[out->count];
    out->count++;
}

void gs_contender_list_make(gs_contender_list *out, const gs_contender_names *names, const gs_problem *problem, uint32_t layouts, char (*own_in)[GS_SCHEDULE_TEXT])
{
    *out = (gs_contender_list){0};
    for (gs_layout b = GS_NN; b <= GS_TN; b++) {
        if (!(layouts & 1u << b)) continue;
        for (int i = 0; i < names->count; i++) {
            const char *const launch = own_launch(names->name[i]), *name = names->name[i];
            char own[GS_CONTENDER_NAME];
            if (launch) {
                if (!*own_in[b]) continue;
                snprintf(own, sizeof own, "%.*s%s", GS_CONTENDER_NAME - 16, own_in[b], launch);
                name = own;
            }
            const bool reference = strcmp(name, GS_RESULT_REFERENCE) == 0;
            if (problem->groups) name = of_groups(name);
            if (reference) out->reference = out->count;
            add(out, gs_layout_with_b(problem->layout, b), name);
            if (reference && problem->groups) add(out, gs_layout_with_b(problem->layout, b), GS_RESULT_CUBLASLT_AT_ONCE);
        }
    }
}
