/* SPDX-License-Identifier: MIT
 * The wrappers of kernels/common as a model sees them: comments, types and signatures without bodies, taken from the embedded headers, so that a changed
 * header changes the prompt. */
#include "author/wrappers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "kernel/kernel.h"

static const char *const left_out[] = {"common/check.h", "common/datagen.h", "common/placed.h",   /* used by verification only */
                                       "common/eighths.cuh"};                                    /* tensor maps that a user kernel cannot have */
#define SHAPES "common/wgmma_shapes.cuh"

static const char *const everywhere[] = {"static __device__ __forceinline__ ", "__device__ __forceinline__ ", "__device__ constexpr "};

static const char *skip_string(const char *at)
{
    const char quote = *at++;
    while (*at && *at != quote) at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

static const char *skip_comment(const char *at)
{
    const char *const end = at[1] == '*' ? strstr(at + 2, "*/") : strchr(at, '\n');
    return !end ? at + strlen(at) : at[1] == '*' ? end + 2 : end;
}

static bool at_comment(const char *at) { return at[0] == '/' && (at[1] == '*' || at[1] == '/'); }

/* The position after the brace that closes the one at `at`. */
static const char *skip_body(const char *at)
{
    int depth = 0;
    while (*at) {
        if (at_comment(at)) {
            at = skip_comment(at);
        } else if (*at == '"' || *at == '\'') {
            at = skip_string(at);
        } else {
            depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
            at++;
            if (depth == 0) break;
        }
    }
    return at;
}

static char last_of(const gs_text *out)
{
    size_t size = out->size;
    while (size > 0 && isspace((unsigned char)out->data[size - 1])) size--;
    return size > 0 ? out->data[size - 1] : '\0';
}

/* The length of a directive, with continuation lines. */
static size_t directive_size(const char *at)
{
    size_t size = 0;
    while (at[size] && !(at[size] == '\n' && at[size - 1] != '\\')) size++;
    return size;
}

/* Omits include guards, #include and macros of several lines. */
static bool is_shown(const char *at, size_t size, int conditions)
{
    if (strncmp(at, "#include", 8) == 0 || strncmp(at, "#undef", 6) == 0 || memchr(at, '\n', size)) return false;
    if (conditions == 1 && strncmp(at, "#define", 7) == 0) return memchr(at + 8, ' ', size - 8) != NULL;   /* an include guard has no value */
    return !(conditions == 1 && (strncmp(at, "#ifndef", 7) == 0 || strncmp(at, "#endif", 6) == 0));
}

static const char *add_directive(gs_text *out, const char *at, int *conditions)
{
    const size_t size = directive_size(at);
    if (strncmp(at, "#if", 3) == 0) ++*conditions;
    if (is_shown(at, size, *conditions)) gs_text_addf(out, "%.*s", (int)size, at);
    if (strncmp(at, "#endif", 6) == 0) --*conditions;
    return at + size;
}

/* Appends the declarations of a header in [at, end). */
static void add_declarations(gs_text *out, const char *at, const char *end, int conditions)
{
    while (at < end) {
        const char *const from = at;
        for (size_t i = 0; i < GS_COUNT(everywhere); i++)
            if (strncmp(at, everywhere[i], strlen(everywhere[i])) == 0) at += strlen(everywhere[i]);
        if (at > from) continue;
        if (at_comment(at)) {
            at = skip_comment(at);
            gs_text_add_bytes(out, from, (size_t)(at - from));
        } else if (*at == '#' && at[-1] == '\n') {
            at = add_directive(out, at, &conditions);
        } else if (*at == '{' && (last_of(out) == ')' || (out->size > 6 && strcmp(out->data + out->size - 6, "const ") == 0))) {
            at = skip_body(at);
            gs_text_trim(out, " \n");
            gs_text_add(out, ";");
        } else {
            if (!(*at == '\n' && out->size >= 2 && strcmp(out->data + out->size - 2, "\n\n") == 0)) gs_text_add_bytes(out, at, 1);
            at++;
        }
    }
}

/* The shapes differ only in N: the first one stands for all. */
static void add_shapes(gs_text *out, const char *text)
{
    const char *const first = strstr(text, "\ntemplate"), *const end = first ? strstr(first, "\n#endif") : NULL;
    if (!end) return;
    add_declarations(out, first, end, 1);
    gs_text_add(out, "\n/* The same for each N of:");
    int last = 0;
    for (const char *at = text; (at = strstr(at, "gs_wgmma_n")) != NULL; at++) {
        const int n = atoi(at + strlen("gs_wgmma_n"));
        if (n > last) gs_text_addf(out, " %d", n);
        last = GS_MAX(last, n);
    }
    gs_text_add(out, ". */\n");
}

static void add_header(gs_text *out, const gs_embedded *header)
{
    static const char licence[] = "/* SPDX-License-Identifier: MIT\n";
    const char *at = header->text;
    gs_text_addf(out, "// %s\n", header->name);
    if (strncmp(at, licence, strlen(licence)) == 0) {
        const char *const end = skip_comment(at);
        gs_text_addf(out, "/*%.*s", (int)(end - at - (ptrdiff_t)strlen(licence) - 2), at + strlen(licence) + 2);
        at = end;
    }
    if (strcmp(header->name, SHAPES) == 0) add_shapes(out, at);
    else add_declarations(out, at, at + strlen(at), 0);
    gs_text_trim(out, " \n");
    gs_text_add(out, "\n\n");
}

void gs_wrappers_add(gs_text *out)
{
    for (const gs_embedded *e = gs_embedded_files; e->name; e++) {
        bool shown = strncmp(e->name, "common/", 7) == 0;
        for (size_t i = 0; i < GS_COUNT(left_out); i++) shown = shown && strcmp(e->name, left_out[i]) != 0;
        if (shown) add_header(out, e);
    }
    gs_text_trim(out, " \n");
    gs_text_add(out, "\n");
}
