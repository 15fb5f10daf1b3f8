/* SPDX-License-Identifier: MIT
 * Whole files, atomic replacement, directories and the user's paths. */
#ifndef GS_BASE_FILE_H
#define GS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <gemmsmith/status.h>

#define GS_PATH 1024

/* Reads a whole regular file of at most limit bytes. *data is NUL-terminated and owned by the caller (free()). NOT_FOUND if absent. */
gs_status gs_file_read(const char *path, size_t limit, char **data, size_t *size, gs_error *error);

/* The same for a text. PARSE if it contains a NUL, because everything after the NUL would be ignored silently. */
gs_status gs_file_read_text(const char *path, size_t limit, char **text, gs_error *error);

/* Writes to a temporary file beside path, syncs and renames it: readers see the old or the new content, never a part of it.
 * On failure the temporary file is removed and the old content stays. An existing file keeps its owner and permissions; a new file gets those of the umask.
 * Only regular files are replaced. Stores (SQLite files) and write-protected files are refused. For a symbolic link the target is replaced and the link stays; a dangling
 * link is refused. Pipes and character devices (/dev/null, /dev/stdout, a FIFO) are written to directly. If path is a pipe, device or link that is the program's own standard
 * output or error, the data goes there, after what the program has written. "-" is standard output. Directories, block devices and sockets are refused.
 * The folder must exist (see gs_file_make_folder). */
gs_status gs_file_write(const char *path, const void *data, size_t size, gs_error *error);

/* Opens a file for output in several writes, by the same rules, except that a regular file is not replaced but truncated, or with `append` appended to. */
gs_status gs_file_stream(FILE **out, const char *path, bool append, gs_error *error);

/* Fails where gs_file_write would refuse path, so that this is known before hours of work. NOT_FOUND: the folder does not exist. */
gs_status gs_file_check_output(const char *path, gs_error *error);

/* The same for a file that is also read and appended to, so that it must be regular. */
gs_status gs_file_check_kept(const char *path, gs_error *error);

/* Reserves standard output for the file "-": from now on everything that the program prints to standard output goes to standard error. Call it before threads start. ARGUMENT: a
 * second call. */
gs_status gs_file_claim_output(gs_error *error);

/* IO, with a message that says what path is, if path exists and is (links followed) no regular file. */
gs_status gs_file_need_regular(const char *path, gs_error *error);

/* IO if path is write-protected, or if path does not exist and no file can be created in its folder. */
gs_status gs_file_need_writable(const char *path, gs_error *error);

/* Checks the folder that contains path. NOT_FOUND, with a message that names the folder, if it does not exist; IO if it is no folder. */
gs_status gs_file_need_folder(const char *path, gs_error *error);

/* The same, but folders below the user's data and cache folders (gs_user_path) may be missing; gs_file_make_folder creates these, and no others. */
gs_status gs_file_need_place(const char *path, gs_error *error);
gs_status gs_file_make_folder(const char *path, gs_error *error);

gs_status gs_directory_make(const char *path, gs_error *error);   /* with its parents; it may exist already */
gs_status gs_directory_add(const char *path, gs_error *error);    /* only the last folder of path: NOT_FOUND if its parent is missing */
bool      gs_file_exists(const char *path);
bool      gs_file_same(const char *a, const char *b);   /* both exist and are the same file (device and inode) */

/* The names in a folder that end in `suffix` and do not begin with a dot, in byte order, whatever the locale. After IO or MEMORY the list is empty. */
gs_status gs_folder_list(const char *path, const char *suffix, char ***names, int *count, gs_error *error);
void      gs_folder_list_free(char ***names, int count);

/* $NAME if set and not empty, else $XDG_..._HOME/gemmsmith, else $HOME/.../gemmsmith; then "/" tail unless tail is NULL.
 * kind 'c': cache, 'd': data. Returns false if it does not fit or no home is known. */
bool gs_user_path(char path[GS_PATH], char kind, const char *environment, const char *tail);

/* All of standard input as a text; *out is owned by the caller (free()). RANGE: more than limit bytes; IO, MEMORY. */
gs_status gs_file_read_standard(size_t limit, char **out, gs_error *error);

#endif
