/* SPDX-License-Identifier: MIT */
#include "problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "output.h"
#include "problem/layout.h"

#define FILE_LIMIT (64u << 20)
#define MARK "\xef\xbb\xbf"   /* that some editors put in front of a text in UTF-8 */

int cli_problems_add(const cli_command *command, cli_problems *problems, const gs_problem *problem)
{
    gs_error error;
    char text[GS_PROBLEM_TEXT], other[GS_PROBLEM_TEXT];
    gs_problem_format(problem, text);
    if (gs_problem_check(problem, &error) != GS_OK) return cli_fail(command, text, &error);
    for (int i = 0; i < problems->count; i++)
        if (strcmp(gs_problem_format(&problems->list[i], other), text) == 0) return -1;
    if (!gs_grow(&problems->list, problems->count, &problems->capacity, sizeof *problems->list)) {
        gs_fail(&error, GS_ERROR_MEMORY, NULL, "no room for %d problems", problems->count + 1);
        return cli_fail(command, NULL, &error);
    }
    problems->list[problems->count++] = *problem;
    return -1;
}

/* Which of the problems are asked for: those whose number leaves `index` when divided by `count`. */
typedef struct shard {
    int64_t index, count, seen;
} shard;

static int read_shard(const cli_command *command, const char *text, shard *out)
{
    *out = (shard){.count = 1};
    if (!text) return -1;
    gs_scan scan = gs_scan_from(text);
    if (!gs_scan_int(&scan, &out->index) || !gs_scan_take(&scan, "/") || !gs_scan_int(&scan, &out->count) || !gs_scan_end(&scan))
        return cli_usage(command, "--shard: '%s' is not I/N", text);
    if (out->count < 1 || out->index < 0 || out->index >= out->count)
        return cli_usage(command, "--shard: of %s shards there is no shard %s; they are counted from 0", strchr(text, '/') + 1, text);
    return -1;
}

/* where names the place for error messages: "--mnk 1_2_3", "problems.txt line 7". */
static int add_text(const cli_command *command, cli_problems *problems, const cli_asked *asked, shard *part, const char *text,
                    const char *where)
{
    gs_problem problem;
    gs_error error;
    if (gs_problem_parse(&problem, text, &error) != GS_OK) return cli_fail(command, where, &error);
    if (part->seen++ % part->count != part->index) return -1;
    if (asked->acc >= 0) problem.acc = asked->acc <= 1 ? GS_F32 : GS_F16;
    if (!asked->layouts) return cli_problems_add(command, problems, &problem);
    int code = -1;
    for (gs_layout layout = GS_NN; layout <= GS_TN && code < 0; layout++) {
        const gs_problem one = gs_problem_in_layout(&problem, layout);
        if (asked->layouts & 1u << layout) code = cli_problems_add(command, problems, &one);
    }
    return code;
}

static int add_file(const cli_command *command, cli_problems *problems, const cli_asked *asked, shard *part)
{
    gs_error error;
    char *data;
    size_t size;
    const bool standard = strcmp(asked->file, "-") == 0 || strcmp(asked->file, "/dev/stdin") == 0;
    if ((standard ? gs_file_read_standard(FILE_LIMIT, &data, &error) : gs_file_read(asked->file, FILE_LIMIT, &data, &size, &error)) != GS_OK) return cli_fail(command, NULL, &error);
    int code = -1, line = 0;
    bool recorded = false;   /* lines of COUNT, call and problem between tabs */
    for (char *rest = data + (strncmp(data, MARK, strlen(MARK)) == 0 ? strlen(MARK) : 0); rest && code < 0;) {
        char *text = rest;
        line++;
        rest = strchr(text, '\n');
        if (rest) *rest++ = '\0';
        text[strcspn(text, "#\r")] = '\0';
        text += strspn(text, " \t");
        for (size_t end = strlen(text); end > 0 && strchr(" \t", text[end - 1]); end--) text[end - 1] = '\0';
        gs_scan first = gs_scan_from(text);
        if (line == 1 && gs_scan_take(&first, "gemmsmith recorded 1")) recorded = true, *text = '\0';
        if (recorded && strrchr(text, '\t')) text = strrchr(text, '\t') + 1;
        if (!*text) continue;
        char where[GS_PATH + 32];
        snprintf(where, sizeof where, "%s line %d", standard ? "standard input" : asked->file, line);
        code = add_text(command, problems, asked, part, text, where);
    }
    free(data);
    return code;
}

int cli_problems_read(const cli_command *command, cli_problems *out, const cli_asked *asked, int count, char *const *words)
{
    shard part;
    int code = read_shard(command, asked->shard, &part);
    *out = (cli_problems){0};
    for (int i = 0; i < count && code < 0; i++) code = add_text(command, out, asked, &part, words[i], words[i]);
    for (int i = 0; i < asked->mnk.count && code < 0; i++) {
        char where[128];
        snprintf(where, sizeof where, "--mnk %s", asked->mnk.item[i]);
        code = add_text(command, out, asked, &part, asked->mnk.item[i], where);
    }
    if (asked->file && code < 0) code = add_file(command, out, asked, &part);
    if (code >= 0) cli_problems_free(out);
    return code;
}

void cli_problems_free(cli_problems *problems)
{
    free(problems->list);
    *problems = (cli_problems){0};
}
