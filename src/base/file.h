/* SPDX-License-Identifier: MIT
 * Whole files, atomic replacement, directories and the user's paths. */
#ifndef GS_BASE_FILE_H
#define GS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <gemmsmith/status.h>

#define GS_PATH 1024

/* Reads a whole regular file of at most limit bytes; *data is terminated and owned by the caller (free()). NOT_FOUND if absent. */
gs_status gs_file_read(const char *path, size_t limit, char **data, size_t *size, gs_error *error);

/* Writes to a temporary file beside path, syncs and renames it: readers see the old or the new content, never a part.
 * Missing directories are created. On failure nothing is left behind and the old content stays.
 * Only a regular file is ever replaced. Through a symbolic link its target is; the link stays, and one that leads nowhere is refused. Pipes and
 * character devices (/dev/null, /dev/stdout, a FIFO) are written to as they are; what is the program's own standard output or error goes there,
 * behind what it has written. Directories, block devices and sockets are refused. */
gs_status gs_file_write(const char *path, const void *data, size_t size, gs_error *error);

/* IO, with a line that says what it is, where path is there and, links followed, not a regular file. */
gs_status gs_file_need_regular(const char *path, gs_error *error);

/* NOT_FOUND, with a line that names it, where the folder that a file of this path would be in is not there. */
gs_status gs_file_need_folder(const char *path, gs_error *error);

gs_status gs_directory_make(const char *path, gs_error *error);   /* and its parents; an existing one is fine */
bool      gs_file_exists(const char *path);

/* $NAME if set and not empty, else $XDG_..._HOME/gemmsmith, else $HOME/.../gemmsmith; then "/" tail unless tail is NULL.
 * kind 'c': cache, 'd': data. Returns false if it does not fit or no home is known. */
bool gs_user_path(char path[GS_PATH], char kind, const char *environment, const char *tail);

#endif
