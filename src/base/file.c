/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

gs_status gs_file_read(const char *path, size_t limit, char **data, size_t *size, gs_error *error)
{
    *data = NULL;
    *size = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);   /* a pipe is refused below, not waited for */
    if (file < 0) {
        if (errno == ENOENT) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s: no such file", path);
        return gs_fail_errno(error, errno, path, "cannot be opened");
    }
    struct stat status;
    char *bytes = NULL;
    gs_status result = GS_OK;
    if (fstat(file, &status) != 0) {
        result = gs_fail_errno(error, errno, path, "cannot be examined");
    } else if (!S_ISREG(status.st_mode)) {
        result = gs_fail(error, GS_ERROR_IO, NULL, "%s: not a regular file", path);
    } else if ((size_t)status.st_size > limit) {
        result = gs_fail(error, GS_ERROR_RANGE, NULL, "%s: larger than %zu bytes", path, limit);
    } else if (!(bytes = malloc((size_t)status.st_size + 1))) {
        result = gs_fail(error, GS_ERROR_MEMORY, NULL, "%s: no memory for %lld bytes", path, (long long)status.st_size);
    }
    size_t have = 0;
    while (result == GS_OK && have < (size_t)status.st_size) {
        const ssize_t got = read(file, bytes + have, (size_t)status.st_size - have);
        if (got == 0) break;
        if (got > 0)
            have += (size_t)got;
        else if (errno != EINTR)
            result = gs_fail_errno(error, errno, path, "cannot be read");
    }
    close(file);
    if (result != GS_OK) {
        free(bytes);
        return result;
    }
    bytes[have] = '\0';
    *data = bytes;
    *size = have;
    return GS_OK;
}

gs_status gs_directory_make(const char *path, gs_error *error)
{
    char part[GS_PATH];
    const size_t size = strlen(path);
    if (size == 0 || size >= sizeof part) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "path too long or empty");
    memcpy(part, path, size + 1);
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p != '\0') continue;
        const char keep = *p;
        *p = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) return gs_fail_errno(error, errno, part, "directory cannot be made");
        *p = keep;
        if (keep == '\0') break;
    }
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return gs_fail(error, GS_ERROR_IO, NULL, "%s: not a directory", path);
    return GS_OK;
}

static gs_status write_all(int file, const char *data, size_t size, const char *path, gs_error *error)
{
    while (size > 0) {
        const ssize_t wrote = write(file, data, size);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return gs_fail_errno(error, errno, path, "cannot be written");
        data += wrote;
        size -= (size_t)wrote;
    }
    if (fsync(file) != 0 && errno != EINVAL) return gs_fail_errno(error, errno, path, "cannot be synced");
    return GS_OK;
}

gs_status gs_file_need_regular(const char *path, gs_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode)) return GS_OK;
    return gs_fail(error, GS_ERROR_IO, NULL, "%s: %s", path, S_ISDIR(status.st_mode) ? "is a directory" : "not a regular file");
}

gs_status gs_file_need_folder(const char *path, gs_error *error)
{
    char folder[GS_PATH];
    struct stat status;
    const char *const slash = strrchr(path, '/');
    if (!slash || slash == path) return GS_OK;
    if ((size_t)(slash - path) >= sizeof folder) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "path too long");
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (stat(folder, &status) == 0 && S_ISDIR(status.st_mode)) return GS_OK;
    return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s: there is no folder %s", path, folder);
}

/* The descriptor of standard output or error, if that is this file; else -1. Opened again, a regular one would be written from its beginning. */
static int own_output(const struct stat *status)
{
    for (int file = STDOUT_FILENO; file <= STDERR_FILENO; file++) {
        struct stat own;
        if (fstat(file, &own) == 0 && own.st_dev == status->st_dev && own.st_ino == status->st_ino) return file;
    }
    return -1;
}

static gs_status write_as_it_is(const char *path, const struct stat *status, const void *data, size_t size, gs_error *error)
{
    const int own = own_output(status);
    if (own >= 0) fflush(own == STDOUT_FILENO ? stdout : stderr);
    const int file = own >= 0 ? dup(own) : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return gs_fail_errno(error, errno, path, "cannot be opened to write");
    gs_status result = write_all(file, data, size, path, error);
    if (close(file) != 0 && result == GS_OK) result = gs_fail_errno(error, errno, path, "cannot be closed");
    return result;
}

static gs_status replace(const char *path, const void *data, size_t size, gs_error *error)
{
    char temporary[GS_PATH];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= sizeof temporary)
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s: path too long", path);
    int file = mkstemp(temporary);
    if (file < 0 && errno == ENOENT) {
        char directory[GS_PATH];
        snprintf(directory, sizeof directory, "%s", path);
        char *const slash = strrchr(directory, '/');
        if (slash && slash != directory) {
            *slash = '\0';
            GS_TRY(gs_directory_make(directory, error));
        }
        snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
        file = mkstemp(temporary);
    }
    if (file < 0) return gs_fail_errno(error, errno, path, "cannot be created");
    gs_status status = write_all(file, data, size, path, error);
    if (status == GS_OK && fchmod(file, 0644) != 0) status = gs_fail_errno(error, errno, path, "cannot be made readable");
    if (close(file) != 0 && status == GS_OK) status = gs_fail_errno(error, errno, path, "cannot be closed");
    if (status == GS_OK && rename(temporary, path) != 0) status = gs_fail_errno(error, errno, path, "cannot be replaced");
    if (status != GS_OK) unlink(temporary);
    return status;
}

gs_status gs_file_write(const char *path, const void *data, size_t size, gs_error *error)
{
    struct stat link, status;
    if (lstat(path, &link) != 0) return replace(path, data, size, error);   /* nothing is there; what else is wrong, replace says */
    if (S_ISREG(link.st_mode)) return replace(path, data, size, error);
    if (stat(path, &status) != 0) return gs_fail_errno(error, errno, path, "the symbolic link cannot be followed");
    if (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)) return write_as_it_is(path, &status, data, size, error);
    if (!S_ISREG(status.st_mode)) return gs_fail(error, GS_ERROR_IO, NULL, "%s: is %s: name a file", path, S_ISDIR(status.st_mode) ? "a directory" : "neither a file nor a pipe");
    if (own_output(&status) >= 0) return write_as_it_is(path, &status, data, size, error);
    char *const target = realpath(path, NULL);
    if (!target) return gs_fail_errno(error, errno, path, "the symbolic link cannot be followed");
    const gs_status result = replace(target, data, size, error);
    free(target);
    return result;
}

bool gs_file_exists(const char *path) { return access(path, F_OK) == 0; }

bool gs_user_path(char path[GS_PATH], char kind, const char *environment, const char *tail)
{
    const char *const set = environment ? getenv(environment) : NULL;
    const char *const xdg = getenv(kind == 'c' ? "XDG_CACHE_HOME" : "XDG_DATA_HOME");
    const char *const home = getenv("HOME");
    int size;
    if (set && *set)
        size = snprintf(path, GS_PATH, "%s", set);
    else if (xdg && *xdg == '/')
        size = snprintf(path, GS_PATH, "%s/gemmsmith", xdg);
    else if (home && *home)
        size = snprintf(path, GS_PATH, "%s/%s/gemmsmith", home, kind == 'c' ? ".cache" : ".local/share");
    else
        return false;
    if (size < 0 || size >= GS_PATH) return false;
    if (!tail) return true;
    const int more = snprintf(path + size, (size_t)(GS_PATH - size), "/%s", tail);
    return more >= 0 && more < GS_PATH - size;
}
