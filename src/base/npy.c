/* SPDX-License-Identifier: MIT
 * Reading and writing headers of .npy files. Format: the magic, two bytes of version, the header's length (2 bytes in
 * version 1, 4 from version 2 on, little endian), a Python dictionary in ASCII, padding up to a newline, then the elements. */
#include "base/npy.h"

#include <string.h>

#include "base/error.h"

#define MAGIC       "\x93NUMPY"
#define MAGIC_SIZE  6
#define HEADER_MOST 4096

static const struct {
    const char *descr;
    size_t      size;
} types[] = {
    [GS_NPY_F16] = {"<f2", 2},
    [GS_NPY_F32] = {"<f4", 4},
    [GS_NPY_U16] = {"<u2", 2},
};

bool gs_npy_is(const void *bytes, size_t size) { return size >= MAGIC_SIZE && memcmp(bytes, MAGIC, MAGIC_SIZE) == 0; }

/* A string in single or double quotes, without escapes. */
static bool scan_string(gs_scan *scan, char *word, size_t size)
{
    const char quote = *scan->at;
    if (quote != '\'' && quote != '"') return false;
    const char *const end = strchr(scan->at + 1, quote);
    if (!end || (size_t)(end - scan->at - 1) >= size) return false;
    const size_t length = (size_t)(end - scan->at - 1);
    memcpy(word, scan->at + 1, length);
    word[length] = '\0';
    scan->at = end + 1;
    return true;
}

static gs_status scan_descr(gs_scan *scan, gs_npy *npy, gs_error *error)
{
    char word[32];
    if (!scan_string(scan, word, sizeof word)) return gs_fail(error, GS_ERROR_UNSUPPORTED, "descr", "not a plain element type");
    for (size_t i = 0; i < GS_COUNT(types); i++) {
        if (strcmp(word, types[i].descr) != 0) continue;
        npy->type = (gs_npy_type)i;
        return GS_OK;
    }
    return gs_fail(error, GS_ERROR_UNSUPPORTED, "descr", "elements are %s, can be <f2, <f4 or <u2 (bf16 bits)", word);
}

static gs_status scan_order(gs_scan *scan, gs_error *error)
{
    if (gs_scan_take(scan, "False")) return GS_OK;
    if (gs_scan_take(scan, "True"))
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "fortran_order", "columns are stored first; save numpy.ascontiguousarray(x)");
    return gs_fail(error, GS_ERROR_CORRUPT, "fortran_order", "neither True nor False");
}

static gs_status scan_shape(gs_scan *scan, gs_npy *npy, gs_error *error)
{
    if (!gs_scan_take(scan, "(")) return gs_fail(error, GS_ERROR_CORRUPT, "shape", "not a tuple");
    for (npy->axes = 0;;) {
        gs_scan_space(scan);
        if (gs_scan_take(scan, ")")) break;
        int64_t value;
        if (npy->axes == GS_NPY_AXES) return gs_fail(error, GS_ERROR_UNSUPPORTED, "shape", "more than %d axes", GS_NPY_AXES);
        if (!gs_scan_int(scan, &value) || value < 0) return gs_fail(error, GS_ERROR_CORRUPT, "shape", "not a tuple of extents");
        npy->extent[npy->axes++] = value;
        gs_scan_space(scan);
        if (!gs_scan_take(scan, ",") && *scan->at != ')')
            return gs_fail(error, GS_ERROR_CORRUPT, "shape", "not a tuple of extents");
    }
    if (npy->axes == 0) return gs_fail(error, GS_ERROR_UNSUPPORTED, "shape", "a single number, not a matrix");
    return GS_OK;
}

static gs_status scan_dictionary(gs_scan *scan, gs_npy *npy, gs_error *error)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    gs_scan_space(scan);
    if (!gs_scan_take(scan, "{")) return gs_fail(error, GS_ERROR_CORRUPT, "header", "not a dictionary");
    for (;;) {
        char key[32];
        gs_scan_space(scan);
        if (gs_scan_take(scan, "}")) break;
        if (!scan_string(scan, key, sizeof key))
            return gs_fail(error, GS_ERROR_CORRUPT, "header", "a key is missing at byte %d", gs_scan_column(scan));
        gs_scan_space(scan);
        if (!gs_scan_take(scan, ":")) return gs_fail(error, GS_ERROR_CORRUPT, "header", "no ':' after '%s'", key);
        gs_scan_space(scan);
        unsigned which = 0;
        while (which < GS_COUNT(keys) && strcmp(key, keys[which]) != 0) which++;
        if (which == GS_COUNT(keys)) return gs_fail(error, GS_ERROR_CORRUPT, "header", "unknown key '%s'", key);
        GS_TRY(which == 0 ? scan_descr(scan, npy, error) : which == 1 ? scan_order(scan, error) : scan_shape(scan, npy, error));
        seen |= 1u << which;
        gs_scan_space(scan);
        if (!gs_scan_take(scan, ",") && *scan->at != '}')
            return gs_fail(error, GS_ERROR_CORRUPT, "header", "no ',' after '%s'", key);
    }
    for (unsigned i = 0; i < GS_COUNT(keys); i++)
        if (!(seen & 1u << i)) return gs_fail(error, GS_ERROR_CORRUPT, keys[i], "missing");
    return GS_OK;
}

gs_status gs_npy_parse(gs_npy *npy, const void *bytes, size_t size, gs_error *error)
{
    const unsigned char *const at = bytes;
    if (!gs_npy_is(bytes, size)) return gs_fail(error, GS_ERROR_CORRUPT, "magic", "not a .npy file");
    if (size < MAGIC_SIZE + 2) return gs_fail(error, GS_ERROR_CORRUPT, "version", "the file is cut short");
    const int version = at[MAGIC_SIZE];
    if (version < 1 || version > 3)
        return gs_fail(error, GS_ERROR_UNSUPPORTED, "version", "%d.%d, can be 1.0 to 3.0", version, at[MAGIC_SIZE + 1]);
    const size_t width = version == 1 ? 2 : 4, start = MAGIC_SIZE + 2 + width;
    if (size < start) return gs_fail(error, GS_ERROR_CORRUPT, "header", "the file is cut short");
    size_t length = 0;
    for (size_t i = 0; i < width; i++) length |= (size_t)at[MAGIC_SIZE + 2 + i] << (8 * i);
    if (length > size - start) return gs_fail(error, GS_ERROR_CORRUPT, "header", "the file is cut short");
    if (length > HEADER_MOST) return gs_fail(error, GS_ERROR_UNSUPPORTED, "header", "longer than %d bytes", HEADER_MOST);

    char header[HEADER_MOST + 1];
    memcpy(header, at + start, length);
    header[length] = '\0';
    gs_scan scan = gs_scan_from(header);
    gs_npy read = {.data = start + length};
    GS_TRY(scan_dictionary(&scan, &read, error));

    uint64_t elements = 1;
    for (int i = 0; i < read.axes; i++) {
        const uint64_t extent = (uint64_t)read.extent[i];
        if (extent > 0 && elements > UINT64_MAX / extent) return gs_fail(error, GS_ERROR_CORRUPT, "shape", "too large");
        elements *= extent;
    }
    if (elements > (size - read.data) / types[read.type].size) {
        return gs_fail(error, GS_ERROR_CORRUPT, "shape",
                       "the file holds %zu bytes of elements, the shape asks for %llu of %zu bytes", size - read.data,
                       (unsigned long long)elements, types[read.type].size);
    }
    read.size = (size_t)elements * types[read.type].size;
    *npy = read;
    return GS_OK;
}

void gs_npy_header(gs_text *text, gs_npy_type type, const int64_t *extent, int axes)
{
    gs_text header = {0};
    gs_text_addf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", types[type].descr);
    for (int i = 0; i < axes; i++)
        gs_text_addf(&header, "%s%lld%s", i ? " " : "", (long long)extent[i], i < axes - 1 || axes == 1 ? "," : "");
    gs_text_add(&header, "), }");
    while ((MAGIC_SIZE + 4 + header.size + 1) % 64 != 0 && !header.failed) gs_text_add(&header, " ");
    gs_text_add(&header, "\n");
    const unsigned char start[4] = {1, 0, (unsigned char)(header.size & 255), (unsigned char)(header.size >> 8)};
    gs_text_add_bytes(text, MAGIC, MAGIC_SIZE);
    gs_text_add_bytes(text, start, sizeof start);
    gs_text_add_bytes(text, header.data, header.size);
    text->failed |= header.failed;
    gs_text_free(&header);
}
