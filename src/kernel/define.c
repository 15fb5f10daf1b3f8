/* SPDX-License-Identifier: MIT
 * Helpers for the families to build kernels: compiler options, and embedded sources by name. */
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "problem/layout.h"

/* If an option does not fit, option_count becomes too large, which gs_kernel_build refuses. */
void gs_kernel_define(gs_kernel *kernel, const char *name, int value)
{
    if (kernel->option_count >= GS_MAX_OPTIONS) {
        kernel->option_count = GS_MAX_OPTIONS + 1;
        return;
    }
    const int size = snprintf(kernel->option[kernel->option_count], GS_OPTION, "-D%s=%d", name, value);
    kernel->option_count = size < GS_OPTION ? kernel->option_count + 1 : GS_MAX_OPTIONS + 1;
}

uint32_t gs_args_taken(const gs_problem *problem, size_t found)
{
    if (found == GS_ARGS_BYTES || found == GS_ARGS_MORE_BYTES || found == GS_ARGS_EARLY_BYTES) return (uint32_t)found;
    return gs_problem_wants(problem) & GS_WANTS_MORE ? GS_ARGS_MORE_BYTES : GS_ARGS_BYTES;
}

void gs_kernel_define_problem(gs_kernel *kernel, const gs_problem *problem)
{
    gs_kernel_define(kernel, "GS_IN", (int)problem->in);
    gs_kernel_define(kernel, "GS_ACC", (int)problem->acc);
    gs_kernel_define(kernel, "GS_OUT", (int)problem->out);
    gs_kernel_define(kernel, "GS_LAYOUT", (int)problem->layout);
    gs_kernel_define(kernel, "GS_BETA", problem->beta != 0);
    if (gs_adds_bias(problem)) gs_kernel_define(kernel, "GS_BIAS", (int)problem->bias);
    if (problem->bias == GS_DBIAS) gs_kernel_define(kernel, "GS_DBIAS", problem->groups ? 3 : gs_dbias_vectors(problem) > 1 ? 2 : 1);
    if (problem->activation) gs_kernel_define(kernel, "GS_ACTIVATION", (int)problem->activation);
    if (problem->residual) gs_kernel_define(kernel, "GS_RESIDUAL", 1);
    const unsigned wants = gs_problem_wants(problem);
    if (wants & GS_WANTS_MORE) gs_kernel_define(kernel, "GS_MORE", 1);
    if (wants & GS_WANTS_STRIDES) gs_kernel_define(kernel, "GS_STRIDES", 1);
    const int same = (problem->stride_a == GS_SAME_MATRIX) + 2 * (problem->stride_b == GS_SAME_MATRIX);
    if (wants & GS_WANTS_STRIDES && same) gs_kernel_define(kernel, "GS_SAME", same);
    if (wants & GS_WANTS_K_GROUPS) {
        gs_kernel_define(kernel, "GS_SAME", 3);
        gs_kernel_define(kernel, "GS_K_GROUPS", 1);
    }
    if (wants & GS_WANTS_SCALARS) gs_kernel_define(kernel, "GS_SCALARS", 1);
    if (wants & GS_WANTS_GATE) gs_kernel_define(kernel, "GS_GATE", (int)problem->gate);
    if (problem->aux) gs_kernel_define(kernel, "GS_AUX", 1);
    if (wants & GS_WANTS_SCALES) gs_kernel_define(kernel, "GS_SCALES", (int)problem->scales);
    if (wants & GS_WANTS_GROUPS) gs_kernel_define(kernel, "GS_GROUPED", (int)problem->groups);
    if (wants & GS_WANTS_POINTERS) gs_kernel_define(kernel, "GS_POINTERS", 1);
    if (problem->grouping == GS_GROUPS_MASKED) gs_kernel_define(kernel, "GS_MASKED", 1);
}

void gs_kernel_define_early_b(gs_kernel *kernel, const gs_problem *problem)
{
    if (problem->constant != GS_CONSTANT_B) return;
    if (!(gs_problem_wants(problem) & GS_WANTS_MORE)) gs_kernel_define(kernel, "GS_MORE", 1);
    gs_kernel_define(kernel, "GS_EARLY_B", 1);
}

void gs_kernel_define_sizes(gs_kernel *kernel, const gs_problem *problem)
{
    gs_kernel_define(kernel, "GS_FIXED", 1);
    gs_kernel_define(kernel, "GS_M", (int)problem->m);
    gs_kernel_define(kernel, "GS_N", (int)problem->n);
    gs_kernel_define(kernel, "GS_K", (int)problem->k);
    gs_kernel_define(kernel, "GS_LDA", (int)problem->lda);
    gs_kernel_define(kernel, "GS_LDB", (int)problem->ldb);
    gs_kernel_define(kernel, "GS_LDC", (int)problem->ldc);
    gs_kernel_define(kernel, "GS_LDD", (int)problem->ldd);
}

gs_status gs_kernel_add_column_sums(gs_kernel *kernel, const gs_problem *problem, int rows, int parts, gs_error *error)
{
    gs_manifest *const manifest = &kernel->manifest;
    gs_entry *const entry = &manifest->entry[manifest->entry_count++];
    char text[GS_FORMULA];
    *entry = (gs_entry){.block = {GS_SUM_COLUMNS, GS_SUM_LANES, 1}, .cluster = {1, 1, 1}, .dependent = manifest->entry[0].dependent};
    snprintf(entry->name, sizeof entry->name, "gs_column_sums");
    GS_TRY(gs_formula_set(&entry->grid[0], "cdiv(n,32)", error));
    snprintf(text, sizeof text, "%lld", (long long)problem->groups);
    GS_TRY(gs_formula_set(&entry->grid[1], problem->groups ? text : gs_dbias_vectors(problem) > 1 ? "min(batch,65535)" : "1", error));
    GS_TRY(gs_formula_set(&entry->grid[2], "1", error));
    snprintf(text, sizeof text, "%d*batch*cdiv(m,%d)*n", 4 * parts, rows);
    if (problem->groups) snprintf(text, sizeof text, "4*cdiv(m,%d)*n+%lld*n", rows, 4 * (long long)problem->groups);   /* groups may begin anywhere, so each may need one part more */
    return gs_formula_set(&manifest->workspace, text, error);
}

void gs_kernel_set_rows(gs_kernel *kernel, const gs_problem *problem)
{
    static const char *const names[] = {"-DGS_LDA=", "-DGS_LDB=", "-DGS_LDC=", "-DGS_LDD="};
    const int64_t rows[] = {problem->lda, problem->ldb, problem->ldc, problem->ldd};
    for (int i = 0; i < kernel->option_count; i++)
        for (int j = 0; j < 4; j++)
            if (strncmp(kernel->option[i], names[j], strlen(names[j])) == 0) snprintf(kernel->option[i], GS_OPTION, "%s%lld", names[j], (long long)rows[j]);
}

const char *gs_embedded_find(const char *name)
{
    for (const gs_embedded *file = gs_embedded_files; file->name; file++)
        if (strcmp(file->name, name) == 0) return file->text;
    return NULL;
}

static bool is_own(const char *kernel, const char *file)
{
    const size_t length = strcspn(kernel, ".");
    return strncmp(file, kernel, length) == 0 && file[length] == '/';
}

bool gs_kernel_includes(const char *kernel, const char *file) { return strncmp(file, "common/", 7) == 0 || is_own(kernel, file); }

/* Skips the licence line of a file that has one, and writes the start of the comment that it opens. */
static const char *begin_file(gs_text *out, const char *text)
{
    static const char licence[] = "/* SPDX-License-Identifier: MIT\n *";
    if (strncmp(text, licence, strlen(licence)) != 0) return text;
    gs_text_add(out, "/*");
    return text + strlen(licence);
}

void gs_kernel_add_text(gs_text *out, const gs_kernel *kernel)
{
    for (const char *line = begin_file(out, kernel->source); *line;) {
        const char *const end = line + strcspn(line, "\n"), *const next = *end ? end + 1 : end;
        char name[64];
        const char *const part = sscanf(line, "#include \"%63[^\"\n]", name) == 1 && is_own(kernel->name, name) ? gs_embedded_find(name) : NULL;
        if (part) gs_text_add(out, begin_file(out, part));
        else gs_text_add_bytes(out, line, (size_t)(next - line));
        line = next;
    }
}

char *gs_kernel_sources_id(char text[GS_SOURCES_ID])
{
    uint64_t id = 0;
    for (const gs_embedded *file = gs_embedded_files; file->name; file++)
        id = id * 31 + gs_hash64(file->name, strlen(file->name)) + gs_hash64(file->text, strlen(file->text));
    snprintf(text, GS_SOURCES_ID, "%08x", (unsigned)(id ^ id >> 32));
    return text;
}
