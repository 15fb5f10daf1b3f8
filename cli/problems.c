/* SPDX-License-Identifier: MIT */
#include "problems.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "output.h"

static int read_shard(const cli_command *command, const char *text, cli_problems *out)
{
    if (!text) return -1;
    gs_scan scan = gs_scan_from(text);
    if (!gs_scan_int(&scan, &out->shard) || !gs_scan_take(&scan, "/") || !gs_scan_int(&scan, &out->shards) || !gs_scan_end(&scan))
        return cli_usage(command, "--shard: '%s' is not I/N", text);
    if (out->shards < 1 || out->shard < 0 || out->shard >= out->shards)
        return cli_usage(command, "--shard: of %s shards there is no shard %s; they are counted from 0", strchr(text, '/') + 1, text);
    return -1;
}

static int settle(const cli_command *command, const cli_problems *problems, gs_status status, const gs_error *error)
{
    return status == GS_OK ? -1 : cli_fail(command, problems->where[0] ? problems->where : NULL, error);
}

int cli_problems_add(const cli_command *command, cli_problems *problems, const gs_problem *problem)
{
    gs_error error;
    return settle(command, problems, gs_problem_list_add(problems, problem, 1, &error), &error);
}

int cli_problems_read(const cli_command *command, cli_problems *out, const cli_asked *asked, int count, char *const *words)
{
    gs_error error;
    gs_status status = GS_OK;
    *out = (cli_problems){.acc = asked->acc < 0 ? -1 : asked->acc <= 1 ? GS_F32 : GS_F16, .layouts = asked->layouts};
    int code = read_shard(command, asked->shard, out);
    if (code >= 0) return code;
    for (int i = 0; i < count && status == GS_OK; i++)
        status = gs_problem_list_add_word(out, words[i], &error);
    for (int i = 0; i < asked->mnk.count && status == GS_OK; i++) {
        char where[128];
        snprintf(where, sizeof where, "--mnk %s", asked->mnk.item[i]);
        status = gs_problem_list_add_text(out, asked->mnk.item[i], where, &error);
    }
    if (asked->file && status == GS_OK) status = gs_problem_list_add_file(out, asked->file, &error);
    code = settle(command, out, status, &error);
    if (code < 0 && out->cut > 0) cli_note("the last line of %d recorded file%s was cut off, because the process was killed, and is left out", out->cut, out->cut == 1 ? "" : "s");
    if (code < 0 && out->count == 0 && out->seen > 0) {   /* all problems are in other shards */
        cli_note("shard %s of %lld problem%s is empty", asked->shard, (long long)out->seen, out->seen == 1 ? "" : "s");
        code = CLI_OK;
    }
    if (code >= 0) cli_problems_free(out);
    return code;
}

void cli_problems_free(cli_problems *problems) { gs_problem_list_free(problems); }
