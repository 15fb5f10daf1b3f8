/* SPDX-License-Identifier: MIT
 * The prompt for a model that writes kernels: its parts, and the room for each. */
#include "author/prompt.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "llm/prompt.h"
#include "inspect/inspect.h"
#include "policy/llm_prompt.h"
#include "redact/redact.h"
#include "author/terms.h"
#include "author/wrappers.h"
#include "verify/verify.h"

enum {
    OTHER    = 12 << 10,   /* bytes of code shown of an example and of the last failure */
    NOTES    = 8 << 10,
    EXAMPLES = 5,          /* with code: the best, and one each from other buckets */
    LINES    = 12,         /* examples named on a line without code */
    FAILURES = 5,          /* of the last failures, a line each */
    METRICS  = 48          /* most metrics of an attempt */
};
static const double buckets[] = {1.03, 1.1, 1.3, 2, INFINITY};   /* upper ends, as multiples of the best time */

enum { TEXT, PROBLEM, GOAL, DEVICE, TARGET, ACCUMULATOR, REFUSALS, MANIFEST, WRAPPERS, RULES, EXAMPLE, NOTES_PART, BASE, TRIED, FAILURE, DIRECTION, FORM, PARTS };

static const char *const part_names[PARTS] = {
    [TEXT] = "text", [PROBLEM] = "problem", [GOAL] = "goal", [DEVICE] = "device", [TARGET] = "target", [ACCUMULATOR] = "accumulator", [REFUSALS] = "refusals",
    [MANIFEST] = "manifest", [WRAPPERS] = "wrappers", [RULES] = "rules", [EXAMPLE] = "example", [NOTES_PART] = "notes", [BASE] = "base", [TRIED] = "examples",
    [FAILURE] = "failure", [DIRECTION] = "direction", [FORM] = "form",
};

/* ---- an attempt ---- */

static const char *text_of(const char *string) { return string ? string : ""; }

/* A name is "source:<hash>", a family or a schedule, which consist of these characters; anything else is not shown. */
static void add_name(gs_text *out, const char *name)
{
    size_t size = 0;
    while (isalnum((unsigned char)name[size]) || (name[size] && strchr(":/._-", name[size]))) size++;
    if (size > 0 && !name[size] && size < 100) gs_text_add(out, name);
    else gs_text_add(out, "a kernel");
}

/* Shows valid lines "name value" and skips others. */
static void add_metrics(gs_text *out, const char *metrics)
{
    int shown = 0;
    for (const char *at = metrics; *at && shown < METRICS;) {
        const size_t line = strcspn(at, "\n");
        size_t name = 0;
        while (islower((unsigned char)at[name]) || isdigit((unsigned char)at[name]) || at[name] == '_') name++;
        char *end = NULL;
        const double value = name > 0 && name <= 40 && at[name] == ' ' ? strtod(at + name + 1, &end) : NAN;
        if (isfinite(value) && end == at + line) gs_text_addf(out, "%s%.*s %.6g", shown++ ? ", " : "Metrics: ", (int)name, at, value);
        at += line + (at[line] == '\n');
    }
    if (shown > 0) gs_text_add(out, ".\n");
}

bool gs_source_manifest(gs_text *out, const char *text)
{
    gs_manifest manifest;
    if (gs_manifest_parse(&manifest, text, NULL) != GS_OK) return false;
    gs_manifest_format(&manifest, out);
    return true;
}

static void add_manifest(gs_text *out, const char *text)
{
    gs_text canonical = {0};
    if (!gs_source_manifest(&canonical, text)) {
        gs_text_add(out, "Its manifest could not be read.\n");
        return;
    }
    gs_text_addf(out, "```text manifest\n%s```\n", gs_text_string(&canonical));
    if (canonical.failed) out->failed = true;
    gs_text_free(&canonical);
}

static gs_status add_code(gs_text *out, const gs_attempt *a, size_t limit, gs_source_shown *shown, gs_error *error)
{
    GS_TRY(gs_source_show(shown, text_of(a->source), limit, error));
    gs_text_addf(out, "```cuda kernel.cu\n%s```\n", gs_text_string(&shown->text));
    if (shown->cut) gs_text_add(out, "The rest of it is not shown.\n");
    add_manifest(out, text_of(a->manifest));
    return GS_OK;
}

static void add_figures(gs_text *out, const gs_source_view *v, const gs_attempt *a)
{
    add_name(out, text_of(a->name));
    if (a->us > 0) {
        gs_text_addf(out, ": %.4g us, %.0f %% of the floor's speed", a->us, 100 * v->floor_us / a->us);
        if (a->ratio > 0 && !v->caps->emulated) gs_text_addf(out, ", %.3f times the speed of cuBLASLt", a->ratio);
        gs_text_addf(out, ", reward %.3f%s", a->reward, a->again ? ", measured twice" : "");
    } else {
        gs_text_addf(out, ": %s", gs_verdict_name(gs_verdict_find(text_of(a->verdict))));
    }
}

/* The base, with its time if it was tried for this problem. */
static void add_base_figures(gs_text *out, const gs_source_view *v, const char *base)
{
    add_name(out, base);
    for (int i = 0; i < v->count; i++)
        if (strcmp(text_of(v->attempts[i].name), base) == 0 && v->attempts[i].us > 0) {
            gs_text_addf(out, ", which takes %.4g us", v->attempts[i].us);
            return;
        }
}

/* Shows an attempt. code: bytes of code at most, 0: none. */
static gs_status add_attempt(gs_text *out, const gs_source_view *v, const gs_attempt *a, size_t code, gs_error *error)
{
    gs_source_shown shown = {0};
    gs_text text = {0};
    gs_status status = GS_OK;
    if (!*text_of(a->name)) {   /* a turn whose answer had no candidate */
        gs_text_add(out, "It could not be read: ");
        gs_reason_show(out, text_of(a->reason), NULL);
        gs_text_add(out, "\n");
        return GS_OK;
    }
    if (a->source && code > 0) status = add_code(&text, a, code, &shown, error);
    else if (a->source) status = gs_source_show(&shown, a->source, GS_INSPECT_SOURCE_MAX, error);   /* needed to resolve the reason's lines */
    if (status == GS_OK) {
        gs_text_add(out, "## ");
        add_figures(out, v, a);
        gs_text_add(out, "\n");
        if (a->base && *a->base) {
            gs_text_add(out, "Developed from ");
            add_base_figures(out, v, a->base);
            gs_text_add(out, ".\n");
        }
        if (a->registers > 0) gs_text_addf(out, "%d registers per thread, %d bytes of shared memory per block.\n", a->registers, a->smem);
        add_metrics(out, text_of(a->metrics));
        if (!(a->us > 0)) {
            const gs_verdict_code verdict = gs_verdict_find(text_of(a->verdict));
            if (verdict != GS_VERDICT_UNKNOWN) gs_text_addf(out, "The verdict: %s.\n", gs_verdict_text(verdict));
            gs_reason_show(out, text_of(a->reason), &shown);
            gs_text_add(out, "\n");
        }
        gs_text_add(out, gs_text_string(&text));
    }
    gs_source_shown_free(&shown);
    gs_text_free(&text);
    return status;
}

gs_status gs_attempt_show(gs_text *out, const gs_source_view *view, const gs_attempt *attempt, gs_error *error) { return add_attempt(out, view, attempt, 0, error); }

/* ---- where to begin ---- */

/* Whether the schedule's kernel can be written as a user kernel: without tensor maps of every eighth row, which manifests cannot express. */
static bool is_answer(const gs_schedule *schedule, const gs_source_view *v)
{
    gs_kernel *const kernel = malloc(sizeof *kernel);
    bool answers = kernel && gs_kernel_build(kernel, schedule, v->problem, v->caps, NULL) == GS_OK;
    for (int e = 0; answers && e < kernel->manifest.entry_count; e++)
        for (int i = 0; i < kernel->manifest.entry[e].map_count; i++) answers &= kernel->manifest.entry[e].map[i].eighth == 0;
    free(kernel);
    return answers;
}

/* The schedule whose kernel is the template; its family is GS_FAMILIES if the family does not accept the problem. */
static gs_status choose_template(const gs_source_view *v, gs_schedule *schedule, gs_error *error)
{
    enum { LOOKED_AT = 32 };
    const size_t size = strcspn(v->family, "/");
    uint32_t families = 0;
    if (v->family[size]) {
        gs_error why = {0};
        if (gs_schedule_parse(schedule, v->family, &why) != GS_OK) return gs_fail(error, GS_ERROR_PARSE, "family", "%s", why.text);
        if (gs_schedule_check(schedule, v->problem, v->caps, NULL) == GS_OK && is_answer(schedule, v)) return GS_OK;
    }
    for (int i = 0; i < GS_FAMILIES; i++)
        if (strlen(gs_family_name((gs_family_id)i)) == size && strncmp(gs_family_name((gs_family_id)i), v->family, size) == 0) families = 1u << i;
    if (families == 0) return gs_fail(error, GS_ERROR_PARSE, "family", "there is no family '%.40s'", v->family);
    if (v->best && strncmp(v->best, v->family, size) == 0 && (v->best[size] == '/' || !v->best[size]) && gs_schedule_parse(schedule, v->best, NULL) == GS_OK &&
        gs_schedule_check(schedule, v->problem, v->caps, NULL) == GS_OK && is_answer(schedule, v))
        return GS_OK;
    gs_schedule list[LOOKED_AT];
    const int count = gs_schedule_shortlist(v->problem, v->caps, families, list, LOOKED_AT);
    schedule->family = GS_FAMILIES;
    for (int i = count - 1; i >= 0; i--)
        if (is_answer(&list[i], v)) *schedule = list[i];
    return GS_OK;
}

/* A schedule's kernel is built for one problem: as an answer, its manifest must refuse other extents, by a grid formula that divides by zero. */
static gs_status refuse_others(gs_manifest *manifest, const gs_problem *problem, gs_error *error)
{
    const int64_t extents[] = {problem->m, problem->n, problem->k};
    for (int i = 0; i < 3; i++) {
        char text[2 * GS_FORMULA];
        const long long extent = (long long)extents[i];
        snprintf(text, sizeof text, "(%s)/(1-min(1,max(%c,%lld)-min(%c,%lld)))", manifest->entry[0].grid[i].text, "mnk"[i], extent, "mnk"[i], extent);
        GS_TRY(gs_formula_set(&manifest->entry[0].grid[i], text, error));
    }
    return GS_OK;
}

/* The kernel of a schedule in the form of an answer, with its compile options as #defines. */
static gs_status build_template(const gs_source_view *v, const gs_schedule *schedule, gs_text *source, gs_text *manifest, gs_error *error)
{
    gs_kernel *const kernel = malloc(sizeof *kernel);
    if (!kernel) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel");
    gs_status status = gs_kernel_build(kernel, schedule, v->problem, v->caps, error);
    if (status == GS_OK) status = refuse_others(&kernel->manifest, v->problem, error);
    if (status == GS_OK) {
        for (int i = 0; i < kernel->option_count; i++) {
            const char *const value = strchr(kernel->option[i], '=');
            gs_text_addf(source, "#define %.*s %s\n", (int)(value - kernel->option[i] - 2), kernel->option[i] + 2, value + 1);
        }
        gs_kernel_add_text(source, kernel);
        gs_manifest_format(&kernel->manifest, manifest);
    }
    free(kernel);
    return status;
}

gs_status gs_source_template(const gs_source_view *view, gs_text *source, gs_text *manifest, gs_error *error)
{
    gs_schedule schedule;
    if (!view->family) return GS_OK;
    GS_TRY(choose_template(view, &schedule, error));
    if (schedule.family == GS_FAMILIES) return GS_OK;
    GS_TRY(build_template(view, &schedule, source, manifest, error));
    return source->failed || manifest->failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a kernel") : GS_OK;
}

/* *code: there is a kernel to show. */
static gs_status add_template(gs_text *out, const gs_source_view *v, bool *code, gs_error *error)
{
    char name[GS_SCHEDULE_TEXT];
    gs_schedule schedule;
    gs_text source = {0}, manifest = {0};
    GS_TRY(choose_template(v, &schedule, error));
    if (schedule.family == GS_FAMILIES) {
        gs_text_addf(out, "From nothing: the family %s does not take this problem.\n", v->family);
        return GS_OK;
    }
    const gs_status status = build_template(v, &schedule, &source, &manifest, error);
    *code = status == GS_OK;
    if (status == GS_OK) {
        gs_schedule_format(&schedule, name);
        gs_text_addf(out, "The kernel of the schedule %s", name);
        if (v->best && strcmp(v->best, name) == 0 && v->best_us > 0) gs_text_addf(out, ", which takes %.4g us", v->best_us);
        gs_text_addf(out, ": it is right for this problem, and could be answered as it stands. It is built for this problem alone, so its manifest refuses other extents: there\n"
                          "the grid divides by zero. Its definitions at the top are what a schedule chooses; a kernel for one problem needs none of the others' cases.\n```cuda kernel.cu\n%s```\n```text manifest\n%s```\n", gs_text_string(&source), gs_text_string(&manifest));
        out->failed |= source.failed || manifest.failed;
    }
    gs_text_free(&source);
    gs_text_free(&manifest);
    return status;
}

static gs_status add_base(gs_text *out, gs_text *direction, const gs_source_view *v, bool *code, gs_error *error)
{
    *code = v->parent && v->parent->source;
    if (v->parent) {
        gs_text_add(direction, "Develop the kernel under \"Where to begin\" further.");
        return add_attempt(out, v, v->parent, GS_SOURCE_PARENT_BYTES, error);
    }
    if (v->family) {
        gs_text_add(direction, "Begin with the kernel under \"Where to begin\": take out what this problem does not need, and change what holds it back.");
        return add_template(out, v, code, error);
    }
    gs_text_add(out, "From nothing.\n");
    gs_text_add(direction, "Choose the structure that suits the problem; a simple kernel that is right comes before a fast one.");
    return GS_OK;
}

/* ---- examples ---- */

static bool same_attempt(const gs_attempt *a, const gs_attempt *b) { return a == b || (a && b && strcmp(text_of(a->name), text_of(b->name)) == 0); }

/* Fastest first. */
static int by_us(const void *left, const void *right)
{
    const gs_attempt *const a = *(const gs_attempt *const *)left, *const b = *(const gs_attempt *const *)right;
    if (a->us != b->us) return (a->us > b->us) - (a->us < b->us);
    return strcmp(text_of(a->name), text_of(b->name));
}

/* One of list[from, to), preferably one that was measured again. */
static const gs_attempt *draw(const gs_attempt *const *list, int from, int to, gs_random *random)
{
    int again = 0;
    for (int i = from; i < to; i++) again += list[i]->again;
    uint64_t left = gs_random_below(random, (uint64_t)(again > 0 ? again : to - from));
    for (int i = from; i < to; i++)
        if ((again == 0 || list[i]->again) && left-- == 0) return list[i];
    return NULL;
}

/* The best with code, then one of each other bucket while there is room; the others get a line. */
static gs_status add_examples(gs_text *out, const gs_source_view *v, const gs_attempt **list, int count, gs_random *random, size_t room, gs_error *error)
{
    const gs_attempt *chosen[EXAMPLES + 1];
    int picked = 0, at = 0, lines = 0;
    const size_t before = out->size;
    for (size_t bucket = 0; bucket < GS_COUNT(buckets) && picked < EXAMPLES; bucket++) {
        const int from = at;
        while (at < count && !(list[at]->us > buckets[bucket] * list[0]->us)) at++;
        if (from == at) continue;
        if (from == 0) chosen[picked++] = list[0];
        else chosen[picked++] = draw(list, from, at, random);
    }
    for (int i = 0; i < picked; i++) {
        gs_text text = {0};
        gs_status status = same_attempt(chosen[i], v->parent) ? GS_OK : add_attempt(&text, v, chosen[i], OTHER, error);
        if (status == GS_OK && text.failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
        const bool fits = out->size - before + text.size + 1024 <= room;
        if (status == GS_OK && fits) gs_text_add(out, gs_text_string(&text));
        gs_text_free(&text);
        GS_TRY(status);
    }
    for (int i = 0; i < count && lines < LINES && out->size - before + 320 <= room; i++, lines++) {
        gs_text_add(out, "- ");
        add_figures(out, v, list[i]);
        gs_text_add(out, "\n");
    }
    return GS_OK;
}

/* A line each for the last failures; the very last has a part of its own. */
static gs_status add_failures(gs_text *out, const gs_source_view *v, int failed, gs_error *error)
{
    int left = failed - FAILURES;   /* not shown: the first */
    for (int i = 0; i < v->count; i++) {
        const gs_attempt *const a = &v->attempts[i];
        gs_source_shown shown = {0};
        gs_text reason = {0};
        if (a->us > 0 || left-- > 0 || same_attempt(a, v->failure)) continue;
        const gs_status status = gs_source_show(&shown, text_of(a->source), GS_INSPECT_SOURCE_MAX, error);
        if (status == GS_OK) gs_reason_show(&reason, text_of(a->reason), &shown);
        gs_text_add(out, "- ");
        add_figures(out, v, a);
        gs_text_addf(out, ": %.*s\n", (int)GS_MIN(strcspn(gs_text_string(&reason), "\n"), 200), gs_text_string(&reason));
        if (reason.failed) out->failed = true;
        gs_text_free(&reason);
        gs_source_shown_free(&shown);
        GS_TRY(status);
    }
    return GS_OK;
}

static gs_status add_tried(gs_text *out, const gs_source_view *v, gs_random *random, size_t room, gs_error *error)
{
    const gs_attempt **const list = calloc((size_t)v->count + 1, sizeof *list);
    if (!list) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    int timed = 0, failed = 0;
    for (int i = 0; i < v->count; i++) {
        if (!(v->attempts[i].us > 0)) failed++;
        else list[timed++] = &v->attempts[i];
    }
    qsort(list, (size_t)timed, sizeof *list, by_us);
    if (timed + failed == 0) gs_text_add(out, "Nothing yet.\n");
    else gs_text_addf(out, "%d kernels: %d are right and were timed, %d failed.\n", timed + failed, timed, failed);
    gs_text failures = {0};
    gs_status status = add_failures(&failures, v, failed, error);
    if (status == GS_OK && timed > 0) {
        gs_text_add(out, "The best of the timed ones, and slower ones beside it:\n");
        status = add_examples(out, v, list, timed, random, room > failures.size ? room - failures.size : 0, error);
    }
    if (failures.failed) out->failed = true;
    if (status == GS_OK && failures.size < room) gs_text_add(out, gs_text_string(&failures));
    gs_text_free(&failures);
    free(list);
    return status;
}

/* ---- the other parts ---- */

static void add_goal(gs_text *out, const gs_source_view *v)
{
    if (v->library_us > 0) gs_text_addf(out, "cuBLASLt takes %.4g us: %.0f %% of the floor's speed.\n", v->library_us, 100 * v->floor_us / v->library_us);
    else gs_text_add(out, v->caps->emulated ? "cuBLASLt does not run on an emulated device: compare with the floor.\n" : "What cuBLASLt takes is not known yet.\n");
    if (!v->best) return;
    gs_text_add(out, "The best of this program's own families: ");
    add_name(out, v->best);
    if (v->best_us > 0) gs_text_addf(out, ", %.4g us", v->best_us);
    gs_text_add(out, ".\n");
}

static void add_refusals(gs_text *out)
{
    for (int i = 0; i < GS_REFUSALS; i++) gs_text_addf(out, "   - %s: %s\n", gs_refusal_name((gs_refusal)i), gs_refusal_text((gs_refusal)i));
    gs_text_trim(out, "\n");
}

static gs_status add_headers(gs_text *out, const gs_source_view *v, gs_error *error)
{
    gs_text headers = {0};
    gs_wrappers_add(&headers);
    const gs_prompt_field field = {"headers", gs_text_string(&headers)};
    const gs_status status = headers.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt")
                                            : gs_prompt_add(out, v->folder, "source-wrappers.md", &field, 1, error);
    gs_text_free(&headers);
    return status;
}

/* Asks for edits, if there is a kernel that they can apply to. */
static gs_status add_form(gs_text part[PARTS], const gs_source_view *v, bool code, gs_error *error)
{
    const gs_prompt_field which = {"which", v->edits == GS_EDITS_ONLY ? "Answer with" : "Instead of whole texts you may answer with"};
    if (v->edits == GS_EDITS_NONE || !code) return GS_OK;
    gs_text_add(&part[FORM], "\n\n");
    return gs_prompt_add(&part[FORM], v->folder, "source-edits.md", &which, 1, error);
}

static void add_terms(gs_text *out, const gs_problem *problem)
{
    gs_text terms = {0};
    gs_source_add_terms(&terms, problem);
    if (terms.size > 0) gs_text_addf(out, "\n\nBesides the plain product it asks for:\n\n%s", gs_text_string(&terms));
    out->failed |= terms.failed;
    gs_text_free(&terms);
}

/* All parts except the examples. */
static gs_status add_parts(gs_text part[PARTS], const gs_source_view *v, gs_error *error)
{
    char name[GS_PROBLEM_TEXT];
    gs_text_add(&part[TEXT], gs_problem_format(v->problem, name));
    gs_llm_add_problem(&part[PROBLEM], v->problem, v->caps);
    add_terms(&part[PROBLEM], v->problem);
    add_goal(&part[GOAL], v);
    gs_llm_add_device(&part[DEVICE], v->caps);
    gs_text_add(&part[TARGET], v->caps->target);
    gs_text_add(&part[ACCUMULATOR], v->problem->acc == GS_F32 ? "f32" : "f16 or f32");
    add_refusals(&part[REFUSALS]);
    GS_TRY(gs_prompt_add(&part[MANIFEST], v->folder, "source-manifest.md", NULL, 0, error));
    GS_TRY(add_headers(&part[WRAPPERS], v, error));
    GS_TRY(gs_prompt_add(&part[RULES], v->folder, v->caps->cc >= 90 ? "source-hopper.md" : "source-ampere.md", NULL, 0, error));
    GS_TRY(gs_prompt_add(&part[EXAMPLE], v->folder, "source-example.md", NULL, 0, error));
    gs_text_addf(&part[NOTES_PART], "%.*s", (int)NOTES, v->notes && *v->notes ? v->notes : "None.\n");
    bool code;
    GS_TRY(add_base(&part[BASE], &part[DIRECTION], v, &code, error));
    GS_TRY(add_form(part, v, code, error));
    if (!v->failure) gs_text_add(&part[FAILURE], "Nothing.\n");
    else GS_TRY(add_attempt(&part[FAILURE], v, v->failure, same_attempt(v->failure, v->parent) ? 0 : OTHER, error));
    return GS_OK;
}

static gs_status fill(const gs_source_view *v, gs_text part[PARTS], gs_text *system, gs_text *question, gs_error *error)
{
    gs_prompt_field fields[PARTS];
    for (int i = 0; i < PARTS; i++) {
        gs_text_trim(&part[i], "\n");
        if (part[i].failed) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
        fields[i] = (gs_prompt_field){part_names[i], gs_text_string(&part[i])};
    }
    GS_TRY(gs_prompt_add(system, v->folder, "source-system.md", fields, PARTS, error));
    return gs_prompt_add(question, v->folder, "source-ask.md", fields, PARTS, error);
}

/* Drops parts until there is room for examples; *room: bytes. */
static gs_status make_room(const gs_source_view *v, gs_text part[PARTS], size_t *room, gs_error *error)
{
    for (int way = 0; way < 3; way++) {
        gs_text system = {0}, question = {0};
        if (way == 1) gs_text_clear(&part[NOTES_PART]), gs_text_add(&part[NOTES_PART], "None.\n");
        if (way == 2 && v->failure) {
            gs_text_clear(&part[FAILURE]);
            GS_TRY(add_attempt(&part[FAILURE], v, v->failure, 0, error));
        }
        const gs_status status = fill(v, part, &system, &question, error);
        const size_t size = system.size + question.size + 256;
        gs_text_free(&system);
        gs_text_free(&question);
        GS_TRY(status);
        if (size <= GS_SOURCE_PROMPT_BYTES) {
            *room = GS_SOURCE_PROMPT_BYTES - size;
            return GS_OK;
        }
    }
    return gs_fail(error, GS_ERROR_RANGE, "prompts", "the texts alone are longer than %d bytes", (int)GS_SOURCE_PROMPT_BYTES);
}

static gs_status write_prompt(const gs_source_view *v, gs_random *random, gs_text part[PARTS], gs_text *system, gs_text *question, gs_error *error)
{
    size_t room = 0;
    GS_TRY(add_parts(part, v, error));
    GS_TRY(make_room(v, part, &room, error));
    GS_TRY(add_tried(&part[TRIED], v, random, room, error));
    gs_text to[2] = {{0}};
    const gs_status status = fill(v, part, &to[0], &to[1], error);
    if (status == GS_OK) {
        gs_text_add(system, gs_text_string(&to[0]));
        gs_text_add(question, gs_text_string(&to[1]));
    }
    gs_text_free(&to[0]);
    gs_text_free(&to[1]);
    if (status == GS_OK && (system->failed || question->failed)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt");
    return status;
}

gs_status gs_source_prompt(const gs_source_view *view, gs_random *random, gs_text *system, gs_text *question, gs_error *error)
{
    gs_text part[PARTS] = {{0}};
    const gs_status status = write_prompt(view, random, part, system, question, error);
    for (int i = 0; i < PARTS; i++) gs_text_free(&part[i]);
    return status;
}

gs_status gs_source_repair(const char *folder, const char *reason, gs_text *question, gs_error *error)
{
    gs_text plain = {0};
    for (const char *at = reason; *at && at < reason + 600; at++) gs_text_add_bytes(&plain, isprint((unsigned char)*at) && *at != '`' ? at : " ", 1);
    gs_text_add(&plain, "\n");
    const gs_prompt_field field = {"reason", gs_text_string(&plain)};
    const gs_status status = plain.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a prompt")
                                          : gs_prompt_add(question, folder, "source-repair.md", &field, 1, error);
    gs_text_free(&plain);
    return status;
}
