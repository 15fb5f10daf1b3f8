/* SPDX-License-Identifier: MIT
 * Whole files, atomic replacement, directories and the user's paths. */
#ifndef GS_BASE_FILE_H
#define GS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <gemmsmith/status.h>

#define GS_PATH 1024

/* Reads a whole regular file of at most limit bytes; *data is terminated and owned by the caller (free()). NOT_FOUND if absent. */
gs_status gs_file_read(const char *path, size_t limit, char **data, size_t *size, gs_error *error);

/* The same of a text. PARSE if it contains a NUL: what stands behind it would be read by nobody, and nobody would be told. */
gs_status gs_file_read_text(const char *path, size_t limit, char **text, gs_error *error);

/* Writes to a temporary file beside path, syncs and renames it: readers see the old or the new content, never a part.
 * On failure nothing is left behind and the old content stays. Its owner and rights stay, too; a new file has those that the user's umask allows.
 * Only a regular file is ever replaced, no store and none that is write-protected. Through a symbolic link its target is; the link stays, and one that leads nowhere is refused.
 * Pipes and character devices (/dev/null, /dev/stdout, a FIFO) are written to as they are; what is the program's own standard output or error goes
 * there, behind what it has written. "-" is standard output. Directories, block devices and sockets are refused.
 * The folder must be there (gs_file_make_folder). */
gs_status gs_file_write(const char *path, const void *data, size_t size, gs_error *error);

/* Opens what is written bit by bit, by the same rules; a regular file is emptied, with append written on. */
gs_status gs_file_stream(FILE **out, const char *path, bool append, gs_error *error);

/* Whether gs_file_write would refuse path, said before hours of work. NOT_FOUND: its folder is not there. */
gs_status gs_file_check_output(const char *path, gs_error *error);

/* The same of a file that is read again and added to: only a regular one will do. */
gs_status gs_file_check_kept(const char *path, gs_error *error);

/* From here on "-" is what standard output was, alone: what the program prints goes to standard error. Once; before there are threads. */
gs_status gs_file_claim_output(gs_error *error);

/* IO, with a line that says what it is, where path is there and, links followed, not a regular file. */
gs_status gs_file_need_regular(const char *path, gs_error *error);

/* IO, with a line that says so, where path is write-protected, or is not there and its folder takes no new files. */
gs_status gs_file_need_writable(const char *path, gs_error *error);

/* NOT_FOUND, with a line that names it, where the folder that a file of this path would be in is not there; IO where it is no folder. */
gs_status gs_file_need_folder(const char *path, gs_error *error);

/* The same, but the user's own folders of data and cache (gs_user_path) may be missing, since nobody typed their names: make_folder makes them. */
gs_status gs_file_need_place(const char *path, gs_error *error);
gs_status gs_file_make_folder(const char *path, gs_error *error);

gs_status gs_directory_make(const char *path, gs_error *error);   /* and its parents; an existing one is fine */
gs_status gs_directory_add(const char *path, gs_error *error);    /* the last folder of path alone: NOT_FOUND without the others */
bool      gs_file_exists(const char *path);
bool      gs_file_same(const char *a, const char *b);   /* both are there and are one, also by links */

/* The names in a folder that end so and do not begin with a dot, in the order of their bytes, which no locale changes. IO, MEMORY: none. */
gs_status gs_folder_list(const char *path, const char *suffix, char ***names, int *count, gs_error *error);
void      gs_folder_list_free(char ***names, int count);

/* $NAME if set and not empty, else $XDG_..._HOME/gemmsmith, else $HOME/.../gemmsmith; then "/" tail unless tail is NULL.
 * kind 'c': cache, 'd': data. Returns false if it does not fit or no home is known. */
bool gs_user_path(char path[GS_PATH], char kind, const char *environment, const char *tail);

/* All of standard input as a text, *out is the caller's. RANGE: more than limit bytes; IO, MEMORY. */
gs_status gs_file_read_standard(size_t limit, char **out, gs_error *error);

#endif
