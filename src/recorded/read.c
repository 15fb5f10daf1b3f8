/* SPDX-License-Identifier: MIT
 * Reading recorded files and folders of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "record/record.h"
#include "recorded/recorded.h"

#define FILE_LIMIT (256u << 20)
#define FILE_START "recorded-"   /* prefix of the names of recorded files */

static const char magic[] = GS_RECORD_MAGIC;

bool gs_recorded_is(const char *text)
{
    const size_t length = sizeof magic - 1;
    return strncmp(text, magic, length) == 0 && (text[length] == '\n' || text[length] == '\r' || text[length] == '\0');
}

bool gs_recorded_is_path(const char *path)
{
    char start[sizeof magic + 1] = "";
    struct stat about;
    if (stat(path, &about) != 0) return false;
    if (S_ISDIR(about.st_mode)) return true;
    FILE *const file = S_ISREG(about.st_mode) ? fopen(path, "rb") : NULL;
    if (!file) return false;
    const size_t got = fread(start, 1, sizeof start - 1, file);
    fclose(file);
    start[got] = '\0';
    return gs_recorded_is(start);
}

/* Only digits, a value above 0. */
static bool read_count(const char *text, const char *end, uint64_t *count)
{
    uint64_t value = 0;
    if (text == end) return false;
    for (; text < end; text++) {
        const uint64_t digit = (uint64_t)(unsigned char)*text - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *count = value;
    return value > 0;
}

/* line: COUNT<TAB>VIA<TAB>PROBLEM */
static gs_status read_line(char *line, gs_recorded_row *row, gs_error *error)
{
    char *const via = strchr(line, '\t'), *const text = via ? strchr(via + 1, '\t') : NULL;
    if (!text) return gs_fail_at(error, GS_ERROR_PARSE, 1, NULL, "'%.40s' is not a count, a call and a problem with tabs between them", line);
    if (!read_count(line, via, &row->count)) return gs_fail_at(error, GS_ERROR_PARSE, 1, NULL, "'%.*s' is not a count of calls", (int)GS_MIN(via - line, 40), line);
    const size_t length = (size_t)(text - via - 1);
    if (length == 0 || length >= sizeof row->via) return gs_fail_at(error, GS_ERROR_PARSE, (int)(via - line) + 2, NULL, "the name of the call has %zu bytes, at most %d are allowed", length, GS_RECORDED_VIA - 1);
    for (size_t i = 0; i < length; i++)   /* the name is printed, also on terminals: no escape sequences */
        if ((unsigned char)via[1 + i] < ' ' || via[1 + i] == 0x7f) return gs_fail_at(error, GS_ERROR_PARSE, (int)(via - line) + 2 + (int)i, NULL, "the name of the call has a control character");
    memcpy(row->via, via + 1, length);
    row->via[length] = '\0';
    gs_status status = gs_problem_parse(&row->problem, text + 1, error);
    if (status == GS_OK) status = gs_problem_check(&row->problem, error);
    if (status != GS_OK && error && error->column > 0) error->column += (int)(text + 1 - line);
    return status;
}

void gs_recorded_at_line(gs_error *error, const char *name, int line)
{
    char place[32], text[sizeof error->text], field[sizeof error->field];
    if (!error) return;
    memcpy(text, error->text, sizeof text);
    memcpy(field, error->field, sizeof field);
    snprintf(place, sizeof place, "line %d", line);
    gs_fail_at(error, error->status, GS_MAX(error->column, 1), place, "%s: %s%s%s", name, field, field[0] ? ": " : "", text);
}

gs_status gs_recorded_read_text(gs_recorded *recorded, char *text, const char *name, gs_error *error)
{
    gs_recorded sum = {0};
    gs_status status = GS_OK;
    int number = 1;
    char *line = text, *end = strchr(text, '\n');
    if (!end) {   /* the first line was cut off */
        if (strncmp(magic, text, strlen(text)) != 0 && strcmp(text, magic) != 0) return gs_fail_at(error, GS_ERROR_PARSE, 1, "line 1", "%s is no recorded file: it does not begin with '%s'", name, magic);
        recorded->files++;
        recorded->cut += *text != '\0';
        return GS_OK;
    }
    if (!gs_recorded_is(text)) return gs_fail_at(error, GS_ERROR_PARSE, 1, "line 1", "%s is no recorded file: it does not begin with '%s'", name, magic);
    for (line = end + 1; status == GS_OK && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        gs_recorded_row row;
        number++;
        *end = '\0';
        if (end > line && end[-1] == '\r') end[-1] = '\0';
        if (*line == '\0' || *line == '#') continue;
        status = read_line(line, &row, error);
        if (status == GS_OK) status = gs_recorded_add(&sum, &row.problem, row.via, row.count, error);
        else gs_recorded_at_line(error, name, number);
    }
    for (int i = 0; i < sum.count && status == GS_OK; i++) status = gs_recorded_add(recorded, &sum.rows[i].problem, sum.rows[i].via, sum.rows[i].count, error);
    if (status == GS_OK) {
        recorded->files++;
        recorded->cut += *line != '\0';
    }
    gs_recorded_free(&sum);
    return status;
}

static gs_status read_file(gs_recorded *recorded, const char *path, gs_error *error)
{
    char *text;
    GS_TRY(gs_file_read_text(path, FILE_LIMIT, &text, error));
    const gs_status status = gs_recorded_read_text(recorded, text, path, error);
    free(text);
    return status;
}

static gs_status read_folder(gs_recorded *recorded, const char *path, gs_error *error)
{
    char **names, file[GS_PATH];
    int count, read = 0;
    GS_TRY(gs_folder_list(path, ".txt", &names, &count, error));
    gs_status status = GS_OK;
    for (int i = 0; i < count && status == GS_OK; i++) {
        if (strncmp(names[i], FILE_START, strlen(FILE_START)) != 0) continue;
        if (snprintf(file, sizeof file, "%s/%s", path, names[i]) >= (int)sizeof file) status = gs_fail(error, GS_ERROR_IO, NULL, "%s: the path is too long", path);
        else status = read_file(recorded, file, error);
        read++;
    }
    gs_folder_list_free(&names, count);
    if (status == GS_OK && read == 0) status = gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s: no file " FILE_START "*.txt is there: nothing was recorded", path);
    return status;
}

gs_status gs_recorded_read(gs_recorded *recorded, const char *path, gs_error *error)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode) ? read_folder(recorded, path, error) : read_file(recorded, path, error);
}
