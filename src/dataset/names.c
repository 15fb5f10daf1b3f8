/* SPDX-License-Identifier: MIT
 * Whether a text names a held-out problem. */
#include <string.h>

#include "base/text.h"
#include "train/train.h"
#include "dataset/dataset.h"

enum { LARGEST_TILE = 512 };   /* tile extents do not exceed this */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_part_of_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* Also in a line of JSON, where the n of an escape \n before a number is not part of a word. */
static bool begins_word(const char *text, const char *at)
{
    if (at == text || !is_part_of_word(at[-1])) return true;
    return at - text >= 2 && at[-2] == '\\' && at[-1] != '_' && !is_digit(at[-1]);
}

static bool extents(const char *at, const char *between, int64_t value[3], const char **end)
{
    gs_scan scan = gs_scan_from(at);
    for (int i = 0; i < 3; i++)
        if ((i > 0 && !gs_scan_take(&scan, between)) || !is_digit(*scan.at) || !gs_scan_int(&scan, &value[i])) return false;
    *end = scan.at;
    return true;
}

/* Whether a problem's extents begin at this digit. */
static bool names_problem(const char *text, const char *at, int64_t value[3])
{
    const char *end;
    const bool x = extents(at, "x", value, &end), apart = !x && extents(at, " x ", value, &end);
    if (x && at - text >= 4 && memcmp(at - 4, "f16:", 4) == 0) return true;
    if (apart && at - text >= 4 && memcmp(at - 4, "K = ", 4) == 0) return true;
    if (x || apart) return value[0] > LARGEST_TILE || value[1] > LARGEST_TILE || value[2] > LARGEST_TILE;
    return extents(at, "_", value, &end) && begins_word(text, at) && !is_part_of_word(*end);
}

bool gs_dataset_mentions_held_out(const char *text, int held_out)
{
    if (held_out <= 0) return false;
    for (const char *at = text; *at; at++) {
        int64_t value[3];
        if (!is_digit(*at) || (at > text && is_digit(at[-1])) || !names_problem(text, at, value)) continue;
        const gs_problem problem = gs_problem_make(GS_F16, GS_NN, value[0], value[1], value[2]);
        if (gs_train_held_out(&problem, held_out)) return true;
    }
    return false;
}
