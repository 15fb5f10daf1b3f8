/* SPDX-License-Identifier: MIT
 * Text of findings. */
#include "emu/check/finding.h"

#include <stdio.h>
#include <string.h>

const char *gs_emu_finding_name(gs_emu_finding_kind kind)
{
    static const char *const names[] = {
#define NAME(name, text, meaning) text,
        GS_EMU_FINDINGS(NAME)
#undef NAME
    };
    return kind < GS_EMU_FINDING_KINDS ? names[kind] : "?";
}

static const char *base_name(const char *file)
{
    const char *const slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

/* " (PTX line 317; wgmma.cuh:43, inlined at ws.cu:128)": the parts that are known. */
static void format_place(const gs_emu_finding *f, char *text, size_t size)
{
    char ptx[32] = "", source[96] = "", inlined[112] = "";
    if (f->ptx_line > 0) snprintf(ptx, sizeof ptx, "PTX line %d", f->ptx_line);
    if (f->file[0]) snprintf(source, sizeof source, "%s:%d", base_name(f->file), f->line);
    if (f->file[0] && f->at_line > 0)
        snprintf(inlined, sizeof inlined, ", inlined at %s%s%d", f->at_file[0] ? base_name(f->at_file) : "line", f->at_file[0] ? ":" : " ",
                 f->at_line);
    *text = '\0';
    if (ptx[0] || source[0]) snprintf(text, size, " (%s%s%s%s)", ptx, ptx[0] && source[0] ? "; " : "", source, inlined);
}

char *gs_emu_finding_format(const gs_emu_finding *f, char *text, unsigned long size)
{
    char place[256], warp[24] = "";
    if (f->warp >= 0) snprintf(warp, sizeof warp, ", warp %d", f->warp);
    format_place(f, place, sizeof place);
    snprintf(text, size, "%s, block %u %u %u%s: %s: %s%s", f->kernel, f->block[0], f->block[1], f->block[2], warp,
             gs_emu_finding_name(f->kind), f->text, place);
    return text;
}
