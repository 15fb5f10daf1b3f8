/* SPDX-License-Identifier: MIT
 * Shared by the tests of the PTX parser: parsing from a buffer of exactly the text's size, and the first entry's tables. Include after cmocka.h in one file of a test; a
 * test that replaces malloc defines PTX_MALLOC first. */
#ifndef GS_TESTS_PTX_H
#define GS_TESTS_PTX_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ptx/ptx.h"

#ifndef PTX_MALLOC
#define PTX_MALLOC malloc
#endif

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"   /* three lines */
#define KERNEL HEAD ".visible .entry k(.param .u64 a)\n{\n"       /* the body starts in line 6 */

static gs_ptx_module *module;
static const gs_ptx_entry *entry;   /* the module's first */

/* Parses a copy of exactly `size` bytes, so that a sanitizer sees a read beyond the end. */
static inline gs_status parse(const char *text, size_t size, gs_error *error)
{
    char *const copy = PTX_MALLOC(size ? size : 1);
    memcpy(copy, text, size);
    gs_ptx_free(&module);
    memset(error, 0, sizeof *error);
    const gs_status status = gs_ptx_parse(&module, copy, size, NULL, error);
    free(copy);
    assert_true((status == GS_OK) == (module != NULL));
    entry = module && module->entries ? module->entry : NULL;
    return status;
}

static inline void good(const char *text)
{
    gs_error error;
    if (parse(text, strlen(text), &error) != GS_OK) fail_msg("%s\nin\n%s", error.text, text);
}

static inline void body(const char *statements)
{
    char text[8192];
    assert_true(snprintf(text, sizeof text, KERNEL "%s\n}\n", statements) < (int)sizeof text);
    good(text);
    assert_non_null(entry);
}

static inline void bad(const char *text, gs_status status, const char *message)
{
    gs_error error;
    const gs_status got = parse(text, strlen(text), &error);
    if (got == status && error.status == status && strstr(error.text, message)) return;
    fail_msg("%s: \"%s\", and wanted %s: \"%s\", in\n%s", gs_status_name(got), error.text, gs_status_name(status), message, text);
}

static inline void bad_body(const char *statements, gs_status status, const char *message)
{
    char text[8192];
    assert_true(snprintf(text, sizeof text, KERNEL "%s\n}\n", statements) < (int)sizeof text);
    bad(text, status, message);
}

static inline int teardown(void **state)
{
    (void)state;
    gs_ptx_free(&module);
    return 0;
}

static inline const gs_ptx_instruction *at(int i)
{
    assert_in_range(i, 0, entry->instructions - 1);
    return &entry->instruction[i];
}

static inline const gs_ptx_operand *operand(int instruction, int i)
{
    assert_in_range(i, 0, at(instruction)->operands - 1);
    return &entry->operand[at(instruction)->operand + i];
}

static inline const gs_ptx_operand *child(const gs_ptx_operand *parent, int i)
{
    assert_in_range(i, 0, parent->children - 1);
    assert_in_range(parent->child + i, 0, entry->operands - 1);
    return &entry->operand[parent->child + i];
}

static inline const char *register_name(const gs_ptx_operand *o)
{
    assert_int_equal(o->kind, GS_PTX_REGISTER);
    assert_in_range(o->index, 0, entry->registers - 1);
    return entry->reg[o->index].name;
}

static inline const gs_ptx_variable *variable(const char *name)
{
    for (int i = 0; i < module->variables; i++)
        if (strcmp(module->variable[i].name, name) == 0) return &module->variable[i];
    fail_msg("no variable %s", name);
    return NULL;
}

static inline void is_integer(int instruction, int i, uint64_t bits)
{
    assert_int_equal(operand(instruction, i)->kind, GS_PTX_INTEGER);
    assert_true(operand(instruction, i)->bits == bits);
}

static inline void is_label(int instruction, int i, int target)
{
    assert_int_equal(operand(instruction, i)->kind, GS_PTX_LABEL);
    assert_int_equal(operand(instruction, i)->index, target);
}

#endif
