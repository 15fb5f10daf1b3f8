/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/random.h"
#include "base/text.h"

gs_status gs_file_read(const char *path, size_t limit, char **data, size_t *size, gs_error *error)
{
    *data = NULL;
    *size = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);   /* non-blocking: opening a pipe must not hang; it is refused below */
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

gs_status gs_file_read_text(const char *path, size_t limit, char **text, gs_error *error)
{
    size_t size;
    GS_TRY(gs_file_read(path, limit, text, &size, error));
    return strlen(*text) == size ? GS_OK : gs_fail(error, GS_ERROR_PARSE, path, "must not contain a NUL: byte %zu is one", strlen(*text));
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

/* ---- folders ---- */

/* The folder that contains path; "" if that is the current or the root folder. */
static gs_status folder_of(const char *path, char folder[GS_PATH], gs_error *error)
{
    const char *const slash = strrchr(path, '/');
    const size_t size = slash ? (size_t)(slash - path) : 0;
    if (size >= GS_PATH) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "path too long");
    memcpy(folder, path, size);
    folder[size] = '\0';
    return GS_OK;
}

static gs_status need_unprotected(const char *path, gs_error *error)
{
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 || (errno != EACCES && errno != EROFS) || !gs_file_exists(path)) return GS_OK;
    return gs_fail(error, GS_ERROR_IO, NULL, "%s: is write-protected", path);
}

gs_status gs_file_need_writable(const char *path, gs_error *error)
{
    char folder[GS_PATH];
    if (gs_file_exists(path)) return need_unprotected(path, error);
    GS_TRY(folder_of(path, folder, error));
    if (faccessat(AT_FDCWD, *folder ? folder : *path == '/' ? "/" : ".", W_OK | X_OK, AT_EACCESS) == 0 || (errno != EACCES && errno != EROFS)) return GS_OK;
    return gs_fail_errno(error, errno, path, "cannot be created");
}

gs_status gs_file_need_folder(const char *path, gs_error *error)
{
    char folder[GS_PATH];
    struct stat status;
    GS_TRY(folder_of(path, folder, error));
    if (!*folder) return GS_OK;
    if (stat(folder, &status) == 0) return S_ISDIR(status.st_mode) ? GS_OK : gs_fail(error, GS_ERROR_IO, NULL, "%s: %s is no folder", path, folder);
    if (errno == ENOENT) return gs_fail(error, GS_ERROR_NOT_FOUND, NULL, "%s: there is no folder %s", path, folder);
    return gs_fail_errno(error, errno, path, "its folder cannot be examined");
}

static bool is_below(const char *folder, const char *top)
{
    const size_t size = strlen(top);
    return strncmp(folder, top, size) == 0 && (folder[size] == '/' || folder[size] == '\0');
}

static bool is_own(const char *folder)
{
    char data[GS_PATH], cache[GS_PATH];
    return (gs_user_path(data, 'd', NULL, NULL) && is_below(folder, data)) || (gs_user_path(cache, 'c', "GEMMSMITH_CACHE", NULL) && is_below(folder, cache));
}

gs_status gs_file_need_place(const char *path, gs_error *error)
{
    char folder[GS_PATH];
    GS_TRY(folder_of(path, folder, error));
    return is_own(folder) ? GS_OK : gs_file_need_folder(path, error);
}

gs_status gs_file_make_folder(const char *path, gs_error *error)
{
    char folder[GS_PATH];
    const gs_status there = gs_file_need_folder(path, error);
    if (there != GS_ERROR_NOT_FOUND) return there;
    GS_TRY(folder_of(path, folder, error));
    return is_own(folder) ? gs_directory_make(folder, error) : there;
}

gs_status gs_directory_add(const char *path, gs_error *error)
{
    char name[GS_PATH];
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') size--;
    if ((size_t)snprintf(name, sizeof name, "%.*s", (int)GS_MIN(size, sizeof name), path) >= sizeof name) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "path too long");
    GS_TRY(gs_file_need_folder(name, error));
    return gs_directory_make(name, error);
}

/* ---- output targets ---- */

static int claimed = -1;   /* the original standard output, once gs_file_claim_output has redirected the program's own prints to standard error */

gs_status gs_file_claim_output(gs_error *error)
{
    if (claimed >= 0) return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "only one file can be -, standard output");
    fflush(stdout);
    claimed = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (claimed < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return gs_fail_errno(error, errno, "-", "standard output cannot be used");
    return GS_OK;
}

/* The descriptor of standard output or error if it is this file, else -1. If it is a regular file, opening it again would overwrite it from its beginning. */
static int own_output(const struct stat *status)
{
    for (int file = STDOUT_FILENO; file <= STDERR_FILENO; file++) {
        struct stat own;
        if (fstat(file, &own) == 0 && own.st_dev == status->st_dev && own.st_ino == status->st_ino) return file;
    }
    return -1;
}

/* Whether the file is a SQLite database, i.e. a store: hours of measurements that a mistyped output path must not overwrite. */
static bool is_database(const char *path)
{
    static const char magic[16] = "SQLite format 3";
    char head[sizeof magic];
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is = file >= 0 && read(file, head, sizeof head) == (ssize_t)sizeof head && memcmp(head, magic, sizeof magic) == 0;
    if (file >= 0) close(file);
    return is;
}

/* How a path is written to. REPLACED: by a new file under its name. OPEN: through a descriptor that is already open. OPENED: the path is opened and written directly. */
typedef struct target {
    enum { REPLACED, OPEN, OPENED } how;
    int         file;      /* OPEN: borrowed, must not be closed */
    bool        linked;    /* REPLACED: the path is a symbolic link to the file */
} target;

static gs_status find_target(const char *path, target *to, gs_error *error)
{
    struct stat link, status;
    *to = (target){.how = REPLACED};
    if (strcmp(path, "-") == 0) {
        *to = (target){.how = OPEN, .file = claimed >= 0 ? claimed : STDOUT_FILENO};
        return GS_OK;
    }
    if (lstat(path, &link) != 0) return GS_OK;   /* does not exist; the write reports any other error */
    to->linked = S_ISLNK(link.st_mode);
    if (stat(path, &status) != 0) return gs_fail_errno(error, errno, path, "the symbolic link cannot be followed");
    if (S_ISREG(status.st_mode) && is_database(path)) return gs_fail(error, GS_ERROR_IO, NULL, "%s: is a store: it is not replaced", path);
    const int own = to->linked || !S_ISREG(status.st_mode) ? own_output(&status) : -1;
    if (own >= 0 && !S_ISDIR(status.st_mode))
        *to = (target){.how = OPEN, .file = own};
    else if (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode))
        *to = (target){.how = OPENED};
    else if (!S_ISREG(status.st_mode))
        return gs_fail(error, GS_ERROR_IO, NULL, "%s: is %s: name a file", path, S_ISDIR(status.st_mode) ? "a directory" : "neither a file nor a pipe");
    return GS_OK;
}

gs_status gs_file_check_output(const char *path, gs_error *error)
{
    target to;
    if (strcmp(path, "-") != 0) GS_TRY(gs_file_need_folder(path, error));
    GS_TRY(find_target(path, &to, error));
    return to.how == REPLACED ? gs_file_need_writable(path, error) : GS_OK;
}

gs_status gs_file_check_kept(const char *path, gs_error *error)
{
    GS_TRY(gs_file_need_folder(path, error));
    GS_TRY(gs_file_need_regular(path, error));
    return gs_file_need_writable(path, error);
}

static void flush_own(int file)
{
    if (file == STDOUT_FILENO || file == STDERR_FILENO) fflush(file == STDOUT_FILENO ? stdout : stderr);
}

static gs_status write_as_it_is(const char *path, const target *to, const void *data, size_t size, gs_error *error)
{
    if (to->how == OPEN) flush_own(to->file);
    const int file = to->how == OPEN ? fcntl(to->file, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return gs_fail_errno(error, errno, path, "cannot be opened to write");
    gs_status result = write_all(file, data, size, path, error);
    if (close(file) != 0 && result == GS_OK) result = gs_fail_errno(error, errno, path, "cannot be closed");
    return result;
}

gs_status gs_file_stream(FILE **out, const char *path, bool append, gs_error *error)
{
    target to;
    GS_TRY(find_target(path, &to, error));
    if (to.how == OPEN) {
        flush_own(to.file);
        const int file = fcntl(to.file, F_DUPFD_CLOEXEC, 0);
        *out = file >= 0 ? fdopen(file, "w") : NULL;
        if (!*out && file >= 0) close(file);
    } else {
        *out = fopen(path, append ? "ae" : "we");
    }
    return *out ? GS_OK : gs_fail_errno(error, errno, path, "cannot be written");
}

/* ---- replacing ---- */

/* Creates a temporary file with a unique name beside path, with the permissions that the umask gives. */
static gs_status make_beside(int *file, const char *path, char temporary[GS_PATH], gs_error *error)
{
    for (int tries = 0; tries < 100; tries++) {
        if (snprintf(temporary, GS_PATH, "%s.%06llx", path, (unsigned long long)(gs_random_entropy() & 0xffffff)) >= GS_PATH)
            return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s: path too long", path);
        *file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (*file >= 0) return GS_OK;
        if (errno != EEXIST) break;
    }
    return gs_fail_errno(error, errno, path, "cannot be created");
}

/* Copies the permissions of the file that is replaced, and its owner and group if the process may change them. */
static gs_status keep_rights(int file, const char *path, gs_error *error)
{
    struct stat old, made;
    if (stat(path, &old) != 0) return GS_OK;
    if (fstat(file, &made) != 0) return gs_fail_errno(error, errno, path, "cannot be examined");
    const bool same = old.st_uid == made.st_uid && old.st_gid == made.st_gid;
    const bool kept = same || fchown(file, old.st_uid, old.st_gid) == 0;
    /* the old group's permissions are not given to a different group */
    if (fchmod(file, old.st_mode & (kept ? 0777u : 0707u)) != 0) return gs_fail_errno(error, errno, path, "cannot be given its rights");
    return GS_OK;
}

static gs_status replace(const char *path, const void *data, size_t size, gs_error *error)
{
    char temporary[GS_PATH];
    GS_TRY(need_unprotected(path, error));   /* rename() needs only a writable folder: it would replace a write-protected file */
    GS_TRY(gs_file_make_folder(path, error));
    int file = -1;
    GS_TRY(make_beside(&file, path, temporary, error));
    gs_status status = write_all(file, data, size, path, error);
    if (status == GS_OK) status = keep_rights(file, path, error);
    if (close(file) != 0 && status == GS_OK) status = gs_fail_errno(error, errno, path, "cannot be closed");
    if (status == GS_OK && rename(temporary, path) != 0) status = gs_fail_errno(error, errno, path, "cannot be replaced");
    if (status != GS_OK) unlink(temporary);
    return status;
}

gs_status gs_file_write(const char *path, const void *data, size_t size, gs_error *error)
{
    target to;
    GS_TRY(find_target(path, &to, error));
    if (to.how != REPLACED) return write_as_it_is(path, &to, data, size, error);
    if (!to.linked) return replace(path, data, size, error);
    char *const followed = realpath(path, NULL);
    if (!followed) return gs_fail_errno(error, errno, path, "the symbolic link cannot be followed");
    const gs_status result = replace(followed, data, size, error);
    free(followed);
    return result;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

gs_status gs_folder_list(const char *path, const char *suffix, char ***names, int *count, gs_error *error)
{
    int room = 0;
    bool lost = false;
    *names = NULL;
    *count = 0;
    DIR *const folder = opendir(path);
    if (!folder) return gs_fail_errno(error, errno, path, "directory cannot be read");
    for (const struct dirent *entry; !lost && (entry = readdir(folder));) {
        const size_t size = strlen(entry->d_name), tail = strlen(suffix);
        if (entry->d_name[0] == '.' || size <= tail || strcmp(entry->d_name + size - tail, suffix) != 0) continue;
        lost = !gs_grow(names, *count, &room, sizeof **names) || !((*names)[*count] = strdup(entry->d_name));
        *count += !lost;
    }
    closedir(folder);
    if (*count > 1) qsort(*names, (size_t)*count, sizeof **names, by_bytes);
    if (!lost) return GS_OK;
    gs_folder_list_free(names, *count);
    return gs_fail(error, GS_ERROR_MEMORY, NULL, "%s: no memory for the names of its files", path);
}

void gs_folder_list_free(char ***names, int count)
{
    for (int i = 0; i < count; i++) free((*names)[i]);
    free(*names);
    *names = NULL;
}

bool gs_file_exists(const char *path) { return access(path, F_OK) == 0; }

bool gs_file_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

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

/* ---- standard input ---- */

gs_status gs_file_read_standard(size_t limit, char **out, gs_error *error)
{
    gs_text text = {0};
    char bytes[4096];
    size_t got;
    gs_text_add(&text, "");
    while ((got = fread(bytes, 1, sizeof bytes, stdin)) > 0 && text.size + got <= limit) gs_text_add_bytes(&text, bytes, got);
    gs_status status = got > 0 ? gs_fail(error, GS_ERROR_RANGE, NULL, "standard input has more than %d MiB", (int)(limit >> 20)) : GS_OK;
    if (ferror(stdin)) status = gs_fail(error, GS_ERROR_IO, NULL, "standard input cannot be read");
    if (status == GS_OK && text.failed) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for standard input");
    if (status == GS_OK && !(*out = strdup(gs_text_string(&text)))) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for standard input");
    gs_text_free(&text);
    return status;
}
