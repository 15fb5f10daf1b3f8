/* SPDX-License-Identifier: MIT
 * A PTX module: directives, entries and their bodies, source locations. */
#include "ptx/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- source locations ---- */

typedef struct place {
    uint64_t file, line, column;
} place;

/* The key of a location among the interned names; it begins with NUL, as no word does. */
static size_t place_key(const place *at, char key[25])
{
    key[0] = '\0';
    memcpy(key + 1, at, sizeof *at);
    return 1 + sizeof *at;
}

static gs_status read_place(gs_ptx_parser *p, place *out)
{
    GS_TRY(gs_ptx_integer(p, GS_PTX_FILES_MAX - 1, &out->file));
    GS_TRY(gs_ptx_integer(p, INT32_MAX, &out->line));
    return gs_ptx_integer(p, INT32_MAX, &out->column);
}

/* Follows inlining outwards from `at`, since the code at that place may itself have been inlined. Ends at a location that was inlined at several places, or nowhere. */
static void outermost(const gs_ptx_parser *p, const place *at, gs_ptx_location *out)
{
    char key[25];
    const gs_ptx_name *const name = gs_ptx_find(p, key, place_key(at, key));
    const bool further = name && name->place_entry == (int32_t)p->entries.count && !name->ambiguous && name->at_line > 0;
    out->at_file = further ? name->at_file : (int32_t)at->file;
    out->at_line = further ? name->at_line : (int32_t)at->line;
}

static gs_status remember(gs_ptx_parser *p, const place *here)
{
    char key[25];
    gs_ptx_name *const name = gs_ptx_intern(p, key, place_key(here, key));
    if (!name) return gs_ptx_no_memory(p);
    const bool again = name->place_entry == (int32_t)p->entries.count;
    const bool moved = name->at_file != p->location.at_file || name->at_line != p->location.at_line;
    name->ambiguous = again && (name->ambiguous || moved);
    name->place_entry = (int32_t)p->entries.count;
    name->at_file = p->location.at_file;
    name->at_line = p->location.at_line;
    return GS_OK;
}

/* .loc 1 12 3 [, function_name $L__info_string0 [+ 5], inlined_at 1 40 9] */
static gs_status read_loc(gs_ptx_parser *p)
{
    place here, at;
    uint64_t ignored;
    GS_TRY(gs_ptx_next(p));
    GS_TRY(read_place(p, &here));
    p->location = (gs_ptx_location){.file = (int32_t)here.file, .line = (int32_t)here.line};
    if (gs_ptx_mark(p, ',')) {
        GS_TRY(gs_ptx_next(p));
        if (!gs_ptx_word(p, "function_name")) return gs_ptx_unexpected(p, "function_name");
        GS_TRY(gs_ptx_next(p));
        if (p->token.kind != GS_PTX_WORD) return gs_ptx_unexpected(p, "a label");
        GS_TRY(gs_ptx_next(p));
        if (gs_ptx_mark(p, '+')) {
            GS_TRY(gs_ptx_next(p));
            GS_TRY(gs_ptx_integer(p, UINT64_MAX, &ignored));
        }
        GS_TRY(gs_ptx_expect(p, ','));
        if (!gs_ptx_word(p, "inlined_at")) return gs_ptx_unexpected(p, "inlined_at");
        GS_TRY(gs_ptx_next(p));
        GS_TRY(read_place(p, &at));
        outermost(p, &at, &p->location);
    }
    return remember(p, &here);
}

/* .file 1 "name" [, time, size] */
static gs_status read_file(gs_ptx_parser *p)
{
    uint64_t number, ignored;
    GS_TRY(gs_ptx_next(p));
    GS_TRY(gs_ptx_integer(p, GS_PTX_FILES_MAX - 1, &number));
    if (p->token.kind != GS_PTX_STRING) return gs_ptx_unexpected(p, "the name of a file");
    const char *const name = gs_ptx_copy(&p->kept, p->token.at, p->token.size);
    if (!name || !gs_ptx_reach(&p->files, sizeof name, number + 1)) return gs_ptx_no_memory(p);
    ((const char **)p->files.data)[number] = name;
    GS_TRY(gs_ptx_next(p));
    while (gs_ptx_mark(p, ',')) {
        GS_TRY(gs_ptx_next(p));
        GS_TRY(gs_ptx_integer(p, UINT64_MAX, &ignored));
    }
    return GS_OK;
}

/* ---- directives that are allowed in several places ---- */

/* .pragma "nounroll"; */
static gs_status read_pragma(gs_ptx_parser *p)
{
    do {
        GS_TRY(gs_ptx_next(p));
        if (p->token.kind != GS_PTX_STRING) return gs_ptx_unexpected(p, "a string");
        GS_TRY(gs_ptx_next(p));
    } while (gs_ptx_mark(p, ','));
    return gs_ptx_expect(p, ';');
}

static gs_status not_supported(const gs_ptx_parser *p)
{
    if (p->token.kind != GS_PTX_DIRECTIVE) return gs_ptx_unexpected(p, "a directive");
    return gs_ptx_fail_directive(p, NULL);
}

/* .extern, .visible and similar; the next token is then a state space or, at module scope, .entry. */
static gs_status read_linking(gs_ptx_parser *p)
{
    p->external = gs_ptx_word(p, ".extern");
    if (p->external || gs_ptx_word(p, ".visible") || gs_ptx_word(p, ".weak") || gs_ptx_word(p, ".common")) return gs_ptx_next(p);
    return GS_OK;
}

static gs_status read_declaration(gs_ptx_parser *p)
{
    gs_ptx_space space;
    if (!gs_ptx_space_of(p, &space)) return not_supported(p);
    GS_TRY(space == GS_PTX_REG ? gs_ptx_read_registers(p) : gs_ptx_read_variables(p));
    p->external = false;
    return GS_OK;
}

/* ---- entries ---- */

static gs_status body_directive(gs_ptx_parser *p)
{
    if (gs_ptx_word(p, ".loc")) return read_loc(p);
    if (gs_ptx_word(p, ".file")) return read_file(p);
    if (gs_ptx_word(p, ".pragma")) return read_pragma(p);
    GS_TRY(read_linking(p));
    return read_declaration(p);
}

static gs_status statement(gs_ptx_parser *p);

/* Reads a call by inlining the function's text. */
static gs_status read_call(gs_ptx_parser *p, gs_ptx_instruction *made)
{
    gs_ptx_position back;
    GS_TRY(gs_ptx_enter_call(p, made, &back));
    while (!gs_ptx_mark(p, '}') || p->depth != p->floor) {
        if (p->token.kind == GS_PTX_END) return gs_ptx_unexpected(p, "the end of the function");
        GS_TRY(statement(p));
    }
    return gs_ptx_leave_call(p, &back);
}

static gs_status read_instruction(gs_ptx_parser *p)
{
    gs_ptx_instruction made;
    bool call;
    GS_TRY(gs_ptx_read_instruction(p, &made, &call));
    return call ? read_call(p, &made) : GS_OK;
}

static gs_status statement(gs_ptx_parser *p)
{
    const gs_ptx_token word = p->token;
    if (word.kind == GS_PTX_DIRECTIVE) return body_directive(p);
    if (gs_ptx_mark(p, '{')) {
        GS_TRY(gs_ptx_open(p));
        return gs_ptx_next(p);
    }
    if (gs_ptx_mark(p, '}')) {
        GS_TRY(gs_ptx_close(p));
        return gs_ptx_next(p);
    }
    if (word.kind != GS_PTX_WORD || !gs_ptx_is_label(p)) return read_instruction(p);
    GS_TRY(gs_ptx_declare(p, word.name, word.line, GS_PTX_IS_LABEL, GS_PTX_NONE, (int32_t)p->instructions.count));
    return gs_ptx_next(p);
}

/* 384, 1, 1: one to three numbers; missing ones are 1 */
static gs_status read_extent(gs_ptx_parser *p, uint32_t out[3])
{
    uint64_t value;
    out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        GS_TRY(gs_ptx_integer(p, UINT32_MAX, &value));
        out[i] = (uint32_t)value;
        if (!gs_ptx_mark(p, ',')) return GS_OK;
        if (i < 2) GS_TRY(gs_ptx_next(p));
    }
    return gs_ptx_unexpected(p, "the end of three numbers");
}

/* One directive between the parameters and the body. */
static gs_status performance(gs_ptx_parser *p, gs_ptx_entry *entry)
{
    static const struct {
        const char *name;
        int         numbers;
    } plain[] = {
        {".minnctapersm", 1}, {".maxnctapersm", 1}, {".maxnreg", 1}, {".maxclusterrank", 1},
        {".explicitcluster", 0}, {".noreturn", 0}, {".blocksareclusters", 0},
    };
    uint64_t value = 0;
    uint32_t *const extent = gs_ptx_word(p, ".maxntid") ? entry->maxntid : gs_ptx_word(p, ".reqntid") ? entry->reqntid
                           : gs_ptx_word(p, ".reqnctapercluster") ? entry->reqnctapercluster : NULL;
    if (extent) {
        GS_TRY(gs_ptx_next(p));
        return read_extent(p, extent);
    }
    if (gs_ptx_word(p, ".pragma")) return read_pragma(p);
    for (size_t i = 0; i < GS_COUNT(plain); i++)
        if (gs_ptx_word(p, plain[i].name)) {
            GS_TRY(gs_ptx_next(p));
            if (plain[i].numbers) GS_TRY(gs_ptx_integer(p, UINT32_MAX, &value));
            entry->explicitcluster = entry->explicitcluster || strcmp(plain[i].name, ".explicitcluster") == 0;
            entry->blocksareclusters = entry->blocksareclusters || strcmp(plain[i].name, ".blocksareclusters") == 0;
            if (strcmp(plain[i].name, ".maxclusterrank") == 0) entry->maxclusterrank = (uint32_t)value;
            return GS_OK;
        }
    return not_supported(p);
}

static gs_status read_parameters(gs_ptx_parser *p)
{
    GS_TRY(gs_ptx_expect(p, '('));
    for (bool more = !gs_ptx_mark(p, ')'); more; ) {
        GS_TRY(gs_ptx_read_parameter(p));
        more = gs_ptx_mark(p, ',');
        if (more) GS_TRY(gs_ptx_next(p));
    }
    return gs_ptx_expect(p, ')');
}

/* Reads an entry after its name. */
static gs_status read_entry_parts(gs_ptx_parser *p)
{
    GS_TRY(gs_ptx_open(p));   /* parameters and body share one scope */
    if (gs_ptx_mark(p, '(')) GS_TRY(read_parameters(p));
    while (p->token.kind == GS_PTX_DIRECTIVE) GS_TRY(performance(p, p->entry));
    GS_TRY(gs_ptx_expect(p, '{'));
    while (p->depth > 0) {
        if (p->token.kind == GS_PTX_END) return gs_ptx_unexpected(p, "the end of the entry");
        GS_TRY(statement(p));
    }
    return GS_OK;
}

/* Copies the tables into the module at their exact sizes. */
static gs_status keep_entry(gs_ptx_parser *p, gs_ptx_entry *entry)
{
    entry->reg         = gs_ptx_keep(&p->kept, &p->registers, sizeof *entry->reg);
    entry->instruction = gs_ptx_keep(&p->kept, &p->instructions, sizeof *entry->instruction);
    entry->operand     = gs_ptx_keep(&p->kept, &p->operands, sizeof *entry->operand);
    if (!entry->reg || !entry->instruction || !entry->operand) return gs_ptx_no_memory(p);
    entry->registers    = (int)p->registers.count;
    entry->instructions = (int)p->instructions.count;
    entry->operands     = (int)p->operands.count;
    return GS_OK;
}

static gs_status read_entry(gs_ptx_parser *p)
{
    gs_ptx_entry entry = {.line = p->token.line};
    GS_TRY(gs_ptx_next(p));
    if (p->token.kind != GS_PTX_WORD) return gs_ptx_unexpected(p, "the name of the entry");
    entry.name = p->token.name->text;
    GS_TRY(gs_ptx_declare(p, p->token.name, p->token.line, GS_PTX_IS_LABEL, GS_PTX_NONE, -1));
    GS_TRY(gs_ptx_next(p));
    if (!gs_ptx_add(&p->entries, sizeof entry)) return gs_ptx_no_memory(p);
    p->registers.count = p->instructions.count = p->operands.count = 0;
    p->declared = 0;
    p->location = (gs_ptx_location){0};
    p->entry = &entry;
    GS_TRY(read_entry_parts(p));
    p->entry = NULL;
    GS_TRY(keep_entry(p, &entry));
    ((gs_ptx_entry *)p->entries.data)[p->entries.count - 1] = entry;
    return GS_OK;
}

/* ---- the module ---- */

/* .section .debug_str { ... }: for debuggers */
static gs_status read_section(gs_ptx_parser *p)
{
    GS_TRY(gs_ptx_next(p));
    if (p->token.kind != GS_PTX_DIRECTIVE && p->token.kind != GS_PTX_WORD) return gs_ptx_unexpected(p, "the name of a section");
    return gs_ptx_skip_block(p);
}

/* .version 9.0 */
static gs_status read_version(gs_ptx_parser *p)
{
    const gs_ptx_token *const t = &p->token;
    if (!gs_ptx_word(p, ".version")) return gs_ptx_unexpected(p, ".version");
    GS_TRY(gs_ptx_next(p));
    if (t->kind != GS_PTX_NUMBER || t->size != 3 || t->at[1] != '.' || t->at[0] < '0' || t->at[0] > '9' || t->at[2] < '0' || t->at[2] > '9')
        return gs_ptx_unexpected(p, "a version like 9.0");
    p->module->version = 10 * (t->at[0] - '0') + (t->at[2] - '0');
    if (p->module->version < 70)
        return gs_ptx_fail(p, t->line, GS_ERROR_UNSUPPORTED, "PTX ISA %.3s is not supported: 7.0 to 9.x are", t->at);
    return gs_ptx_next(p);
}

/* .target sm_90a [, debug] */
static gs_status read_target(gs_ptx_parser *p)
{
    const gs_ptx_token *const t = &p->token;
    if (!gs_ptx_word(p, ".target")) return gs_ptx_unexpected(p, ".target");
    GS_TRY(gs_ptx_next(p));
    if (t->kind != GS_PTX_WORD || t->size >= sizeof p->module->target || strncmp(t->name->text, "sm_", 3) != 0)
        return gs_ptx_unexpected(p, "a target like sm_90a");
    memcpy(p->module->target, t->at, t->size);
    GS_TRY(gs_ptx_next(p));
    while (gs_ptx_mark(p, ',')) {
        GS_TRY(gs_ptx_next(p));
        if (t->kind != GS_PTX_WORD) return gs_ptx_unexpected(p, "an option of the target");
        GS_TRY(gs_ptx_next(p));
    }
    return GS_OK;
}

static gs_status read_address_size(gs_ptx_parser *p)
{
    uint64_t bits;
    const int line = p->token.line;
    GS_TRY(gs_ptx_next(p));
    GS_TRY(gs_ptx_integer(p, UINT64_MAX, &bits));
    return bits == 64 ? GS_OK : gs_ptx_fail(p, line, GS_ERROR_UNSUPPORTED, "addresses of other than 64 bits are not supported");
}

static gs_status module_directive(gs_ptx_parser *p)
{
    if (gs_ptx_word(p, ".address_size")) return read_address_size(p);
    if (gs_ptx_word(p, ".file")) return read_file(p);
    if (gs_ptx_word(p, ".section")) return read_section(p);
    if (gs_ptx_word(p, ".pragma")) return read_pragma(p);
    GS_TRY(read_linking(p));
    if (gs_ptx_word(p, ".entry") && !p->external) return read_entry(p);
    if (gs_ptx_word(p, ".func")) return gs_ptx_read_function(p);
    return read_declaration(p);
}

static gs_status read_module(gs_ptx_parser *p)
{
    GS_TRY(gs_ptx_next(p));
    GS_TRY(read_version(p));
    GS_TRY(read_target(p));
    while (p->token.kind != GS_PTX_END) GS_TRY(module_directive(p));
    gs_ptx_module *const m = p->module;
    m->entry    = gs_ptx_keep(&p->kept, &p->entries, sizeof *m->entry);
    m->variable = gs_ptx_keep(&p->kept, &p->variables, sizeof *m->variable);
    m->file     = gs_ptx_keep(&p->kept, &p->files, sizeof *m->file);
    if (!m->entry || !m->variable || !m->file) return gs_ptx_no_memory(p);
    m->entries   = (int)p->entries.count;
    m->variables = (int)p->variables.count;
    m->files     = (int)p->files.count;
    return GS_OK;
}

/* Frees the parser's own memory; `kept` remains. */
static void free_parser(gs_ptx_parser *p)
{
    gs_ptx_list *const lists[] = {&p->entries, &p->variables, &p->files, &p->init, &p->registers, &p->instructions, &p->operands};
    for (size_t i = 0; i < GS_COUNT(lists); i++) gs_ptx_list_free(lists[i]);
    free(p->names.slot);
    gs_ptx_release(&p->scratch);
}

gs_status gs_ptx_parse(gs_ptx_module **out, const char *text, size_t size, gs_ptx_unread *unread, gs_error *error)
{
    gs_ptx_parser p = {.at = text, .start = text, .line = 1, .unread = unread, .error = error};
    *out = NULL;
    if (unread) *unread = (gs_ptx_unread){0};
    if (!text) return gs_fail(error, GS_ERROR_PARSE, NULL, "line 1: no text");
    if (size > GS_PTX_TEXT_MAX) return gs_fail(error, GS_ERROR_RANGE, NULL, "a PTX text of more than %u bytes", GS_PTX_TEXT_MAX);
    if (size > 0 && text[size - 1] == '\0') size--;   /* NVRTC's size includes the terminating 0 */
    p.end = text + size;
    p.init_left = GS_PTX_INIT_SLACK + (size_t)GS_PTX_INIT_SHARE * size;
    p.scope[0].range_depth = -1;
    p.module = gs_ptx_take(&p.kept, sizeof *p.module);
    gs_status status = p.module ? gs_ptx_find_functions(&p) : gs_ptx_no_memory(&p);
    if (status == GS_OK) status = read_module(&p);
    free_parser(&p);
    if (status != GS_OK) {
        gs_ptx_release(&p.kept);
        return status;
    }
    p.module->memory = p.kept.chunk;
    *out = p.module;
    return GS_OK;
}

void gs_ptx_free(gs_ptx_module **module)
{
    if (!*module) return;
    gs_ptx_arena kept = {(*module)->memory};
    *module = NULL;
    gs_ptx_release(&kept);
}
