/* SPDX-License-Identifier: MIT
 * Removes a test's folder and everything in it. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static inline int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    return remove(path);
}

/* Returns 0, or -1 on failure. */
static inline int remove_all(const char *folder) { return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

#endif
