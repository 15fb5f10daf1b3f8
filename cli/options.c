/* SPDX-License-Identifier: MIT
 * The parser over the option tables, and the help that is printed from them. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "output.h"

#define HELP_COLUMN 28

static const cli_option common_options[] = {
    {"quiet",   'q', CLI_FLAG,  offsetof(cli_common, quiet),   NULL, "errors and results only"},
    {"verbose", 'v', CLI_COUNT, offsetof(cli_common, verbose), NULL, "messages of level info on standard error; twice: of level debug"},
    {"help",    'h', CLI_FLAG,  offsetof(cli_common, help),    NULL, "print this help"},
    {NULL},
};

const char cli_family_words[] =
#define GS_FAMILY(ID, name) #name ","
#include "schedule/families.def"
#undef GS_FAMILY
    ;

/* ---- words of a choice: "cold|warm", "nn,tn" ---- */

static size_t word_length(const char *words) { return strcspn(words, "|,"); }

static int word_find(const char *words, const char *text, size_t length)
{
    for (int index = 0; *words; index++) {
        const size_t size = word_length(words);
        if (size == length && strncmp(words, text, length) == 0) return index;
        words += size + (words[size] != '\0');
    }
    return -1;
}

/* Length without the trailing comma of cli_family_words. */
static int shown_length(const cli_option *option)
{
    const size_t length = strlen(option->value);
    return (int)(length - (length > 0 && option->value[length - 1] == ','));
}

/* ---- values ---- */

static int refuse(const cli_command *command, const cli_option *option, const char *text, const char *want)
{
    return cli_usage(command, "--%s: '%s' is not %s", option->name, text, want);
}

static int within(const cli_command *command, const cli_option *option, const char *text, double value)
{
    if (option->low == 0 && option->high == 0) return -1;
    if (value >= option->low && value <= option->high) return -1;
    return cli_usage(command, "--%s: %s is not between %.15g and %.15g", option->name, text, option->low, option->high);
}

static int read_int(const cli_command *command, const cli_option *option, const char *text, int64_t *to)
{
    gs_scan scan = gs_scan_from(text);
    int64_t value;
    if (!gs_scan_int(&scan, &value) || !gs_scan_end(&scan)) return refuse(command, option, text, "a whole number");
    *to = value;
    return within(command, option, text, (double)value);
}

static int read_double(const cli_command *command, const cli_option *option, const char *text, double *to)
{
    gs_scan scan = gs_scan_from(text);
    double value;
    const bool seconds = option->kind == CLI_SECONDS;
    bool good = gs_scan_double(&scan, &value);
    if (good && seconds) {
        if (gs_scan_take(&scan, "m"))
            value *= 60;
        else if (gs_scan_take(&scan, "h"))
            value *= 3600;
        else
            gs_scan_take(&scan, "s");
    }
    if (!good || !gs_scan_end(&scan)) return refuse(command, option, text, seconds ? "a time like 90s, 10m, 2h or 90 (seconds)" : "a number");
    *to = value;
    return within(command, option, text, value);
}

static int read_choices(const cli_command *command, const cli_option *option, const char *text, uint32_t *to)
{
    uint32_t bits = 0;
    for (const char *at = text; *at || at == text;) {
        const size_t length = strcspn(at, ",");
        const int index = word_find(option->value, at, length);
        if (index < 0)
            return cli_usage(command, "--%s: '%.*s' is none of %.*s", option->name, (int)length, at, shown_length(option),
                             option->value);
        bits |= 1u << index;
        at += length + (at[length] != '\0');
    }
    *to = bits;
    return -1;
}

int cli_output_file(const cli_command *command, const char *path, bool kept)
{
    gs_error error;
    gs_status status = kept ? gs_file_check_kept(path, &error) : gs_file_check_output(path, &error);
    if (status == GS_OK && !kept && strcmp(path, "-") == 0) status = gs_file_claim_output(&error);
    return status == GS_OK ? -1 : cli_fail(command, NULL, &error);
}

static int read_value(const cli_command *command, const cli_option *option, const char *text, void *settings)
{
    void *const to = (char *)settings + option->at;
    switch (option->kind) {
    case CLI_FLAG:    *(bool *)to = true; return -1;
    case CLI_COUNT:   ++*(int *)to; return -1;
    case CLI_TEXT:    *(const char **)to = text; return -1;
    case CLI_OUTPUT:  *(const char **)to = text; return cli_output_file(command, text, false);
    case CLI_KEPT:    *(const char **)to = text; return cli_output_file(command, text, true);
    case CLI_INT:     return read_int(command, option, text, to);
    case CLI_NUMBER:
    case CLI_SECONDS: return read_double(command, option, text, to);
    case CLI_CHOICES: return read_choices(command, option, text, to);
    case CLI_CHOICE: {
        const int index = word_find(option->value, text, strlen(text));
        if (index < 0) return cli_usage(command, "--%s: '%s' is none of %s", option->name, text, option->value);
        *(int *)to = index;
        return -1;
    }
    case CLI_LIST: {
        cli_list *const list = to;
        if (list->count == CLI_LIST_MAX) return cli_usage(command, "--%s: more than %d times", option->name, CLI_LIST_MAX);
        list->item[list->count++] = text;
        return -1;
    }
    }
    return CLI_USAGE;
}

/* ---- names ---- */

static bool same_name(const char *name, const char *typed, size_t length)
{
    if (strlen(name) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (name[i] != typed[i] && !(strchr("-_", name[i]) && strchr("-_", typed[i]))) return false;
    return true;
}

static const cli_option *find_in(const cli_option *options, const char *typed, size_t length, char letter)
{
    for (const cli_option *option = options; option && option->name; option++)
        if (letter ? option->letter == letter : same_name(option->name, typed, length)) return option;
    return NULL;
}

static const cli_option *find(const cli_command *command, const char *typed, size_t length, char letter)
{
    const cli_option *const own = find_in(command->options, typed, length, letter);
    return own ? own : find_in(common_options, typed, length, letter);
}

static int no_option(const cli_command *command, const char *typed, size_t length)
{
    enum { MOST = 96 };
    const char *names[MOST + 1];
    int count = 0;
    for (const cli_option *option = command->options; option && option->name && count < MOST; option++) names[count++] = option->name;
    for (const cli_option *option = common_options; option->name && count < MOST; option++) names[count++] = option->name;
    names[count] = NULL;
    const char *const nearest = gs_text_nearest(names, typed, length);
    if (nearest) return cli_usage(command, "no option --%.*s; did you mean --%s?", (int)length, typed, nearest);
    return cli_usage(command, "no option --%.*s", (int)length, typed);
}

/* One "--name", "--name=value" or "--name value"; *at advances over a separate value. */
static int read_long(const cli_command *command, int argc, char **argv, int *at, void *settings)
{
    const char *const typed = argv[*at] + 2;
    const size_t length = strcspn(typed, "=");
    const cli_option *const option = find(command, typed, length, 0);
    if (!option) return no_option(command, typed, length);
    if (!option->value) {
        if (typed[length] == '=') return cli_usage(command, "--%s takes no value", option->name);
        return read_value(command, option, NULL, settings);
    }
    if (typed[length] == '=') return read_value(command, option, typed + length + 1, settings);
    if (*at + 1 >= argc) return cli_usage(command, "--%s needs a value: %s", option->name, option->value);
    return read_value(command, option, argv[++*at], settings);
}

/* "-v", "-qv", "-o FILE", "-oFILE" */
static int read_short(const cli_command *command, int argc, char **argv, int *at, void *settings)
{
    for (const char *letter = argv[*at] + 1; *letter; letter++) {
        const cli_option *const option = find(command, NULL, 0, *letter);
        if (!option) return cli_usage(command, "no option -%c", *letter);
        if (option->value) {
            if (letter[1]) return read_value(command, option, letter + 1, settings);
            if (*at + 1 >= argc) return cli_usage(command, "-%c needs a value: %s", *letter, option->value);
            return read_value(command, option, argv[++*at], settings);
        }
        const int code = read_value(command, option, NULL, settings);
        if (code >= 0) return code;
    }
    return -1;
}

int cli_parse(const cli_command *command, int argc, char **argv, void *settings, int *words)
{
    const cli_common *const common = settings;
    bool only_words = false;
    *words = 0;
    for (int i = 1; i < argc; i++) {
        int code = -1;
        if (only_words || argv[i][0] != '-' || argv[i][1] == '\0')
            argv[++*words] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            only_words = true;
        else
            code = argv[i][1] == '-' ? read_long(command, argc, argv, &i, settings)
                                     : read_short(command, argc, argv, &i, settings);
        if (code >= 0) return code;
    }
    if (common->help) {
        cli_help_command(command);
        return CLI_OK;
    }
    if (*words > 0 && !command->words) return cli_usage(command, "takes no argument, but was given '%s'", argv[1]);
    cli_output_set(common->quiet, common->verbose);
    return -1;
}

/* ---- help ---- */

static void print_option(const cli_option *option)
{
    char left[128];
    const char *const value = option->value ? option->value : "";
    const int size = snprintf(left, sizeof left, "  %c%c%c --%s%s%.*s", option->letter ? '-' : ' ',
                              option->letter ? option->letter : ' ', option->letter ? ',' : ' ', option->name, *value ? " " : "",
                              option->value ? shown_length(option) : 0, value);
    if (size < HELP_COLUMN - 1)
        printf("%-*s", HELP_COLUMN, left);
    else
        printf("%s\n%*s", left, HELP_COLUMN, "");
    for (const char *line = option->help; *line;) {
        const size_t length = strcspn(line, "\n");
        printf("%.*s\n", (int)length, line);
        line += length;
        if (*line == '\n') printf("%*s", *++line ? HELP_COLUMN : 0, "");
    }
}

void cli_help_command(const cli_command *command)
{
    printf("gemmsmith %s: %s\n\nusage: gemmsmith %s [options]%s%s\n", command->name, command->summary, command->name,
           command->words ? " " : "", command->words ? command->words : "");
    if (command->about) printf("\n%s\n", command->about);
    printf("\noptions:\n");
    for (const cli_option *option = command->options; option && option->name; option++) print_option(option);
    for (const cli_option *option = common_options; option->name; option++) print_option(option);
    if (command->examples) printf("\nexamples:\n%s\n", command->examples);
}

void cli_help_program(const cli_command *const *commands)
{
    printf("gemmsmith: half-precision matrix multiplication with kernels found, proved and timed on your GPU\n\n"
           "usage: gemmsmith COMMAND [options] ...\n\ncommands:\n");
    for (const cli_command *const *command = commands; *command; command++)
        if (!(*command)->hidden) printf("  %-9s %s\n", (*command)->name, (*command)->summary);
    printf("\n"
           "A problem is written f16:4096x4096x4096:tn: the type, M x N x K, and how B and A are stored\n(nn, nt: B as K x N; tn, tt: as N x K; nn, tn: A as M x K; nt, tt: as K x M).\n"
           "More fields: acc=f16, d=f32, lda= ldb= ldc= ldd=, b=8 (batch), sa= sb= sc= sd= (strides of it),\n"
           "matrices=pointers (arrays of pointers to them), g=8 gm=8 gk=8 (groups), alpha= beta=,\nscalars=device, inv=1 (bits of a row depend neither on M nor on other rows),\nconst=b (B does not change while work is under way), ep=bias+gelu (epilogue).\n"
           "\n"
           "gemmsmith help COMMAND explains one command; gemmsmith --version prints the version.\n"
           "Exit codes: 0 ok, 1 failed, 2 usage, 3 no usable device, 4 verification failed, 5 store error or\n"
           "full disk, 75 the budget ended before the list, 77 skipped, 128 + signal interrupted.\n");
}
