/* SPDX-License-Identifier: MIT
 * Subcommands and their options as data. Parser and help both use one table of options per command. A command's settings are a struct that starts with cli_common;
 * each option has the offset of its value there. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_LIST_MAX 64

/* Exit codes of the program. An interrupted run ends with 128 plus the signal's number. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_NO_DEVICE = 3, CLI_VERIFY = 4, CLI_STORE = 5, CLI_MORE = 75, CLI_SKIPPED = 77 };

typedef enum cli_kind {
    CLI_FLAG,      /* bool */
    CLI_COUNT,     /* int, incremented at each use */
    CLI_TEXT,      /* const char * */
    CLI_OUTPUT,    /* const char *: a file to write, in a folder that exists; -: standard output */
    CLI_KEPT,      /* const char *: a file to read and write, in a folder that exists */
    CLI_LIST,      /* cli_list, an item is added at each use */
    CLI_INT,       /* int64_t within low..high */
    CLI_NUMBER,    /* double within low..high */
    CLI_SECONDS,   /* double within low..high, written 90, 90s, 10m or 2h */
    CLI_CHOICE,    /* int: index of the word in `value`, "cold|warm" */
    CLI_CHOICES    /* uint32_t: a bit for each word of `value`, "nn,tn" */
} cli_kind;

typedef struct cli_option {
    const char *name;       /* long name; '-' and '_' are equivalent in what the user types */
    char        letter;     /* short name or 0 */
    cli_kind    kind;
    size_t      at;         /* offsetof the value in the settings struct */
    const char *value;      /* NULL for flags; the words for choices; else the value's name in help */
    const char *help;       /* one or more lines */
    double      low, high;  /* both 0: no limits beyond the type's */
} cli_option;

typedef struct cli_list {
    const char *item[CLI_LIST_MAX];
    int         count;
} cli_list;

/* Common to all commands; the first member of their settings. */
typedef struct cli_common {
    bool help, quiet;
    int  verbose;
} cli_common;

typedef struct cli_command cli_command;
struct cli_command {
    const char       *name;
    const char       *words;      /* the other words of the command line, "PROBLEM..."; NULL: takes none */
    const char       *summary;    /* one line, in the list of commands */
    const char       *about;      /* paragraphs above the options */
    const cli_option *options;    /* ends with a NULL name; NULL: only the common options */
    const char       *examples;   /* lines; NULL: none */
    bool              hidden;
    int             (*run)(const cli_command *command, int argc, char **argv);   /* argv[0] is the command's name */
};

/* Options that several commands have. */
#define CLI_DEVICE_OPTIONS(settings)                                                                                         \
    {"device",        0, CLI_TEXT, offsetof(settings, device), "NAME", "cuda:0, cuda:1, ..., or an emulated device: emu:h200, emu:a100;\n" \
     "default $GEMMSMITH_DEVICE, else the first GPU, else emu:h200"}

#define CLI_DEPENDENT_OPTION(settings)                                                                                       \
    {"dependent",     0, CLI_FLAG, offsetof(settings, dependent), NULL, "programmatic dependent launch: a kernel may start before the one\n" \
     "before it has ended; default $GEMMSMITH_DEPENDENT"}

/* The words of --families, from the list of families; ends with a comma, which the parser ignores. */
extern const char cli_family_words[];

extern const cli_command cli_tune, cli_eval, cli_gemm, cli_verify, cli_score, cli_serve, cli_db, cli_record, cli_pack, cli_info, cli_doctor, cli_train, cli_export, cli_report, cli_worker;

/* Reads argv into settings and moves the other words to argv[1..*words]. Returns -1 to go on; else the exit code: help was requested and printed (0), or the usage was
 * wrong and one line reported it (2). */
int cli_parse(const cli_command *command, int argc, char **argv, void *settings, int *words);

/* Checks a word as a CLI_OUTPUT option, or with kept as CLI_KEPT. Returns -1 to go on, else the exit code after one line. */
int cli_output_file(const cli_command *command, const char *path, bool kept);

void cli_help_program(const cli_command *const *commands);   /* the list ends with NULL */
void cli_help_command(const cli_command *command);

#endif
