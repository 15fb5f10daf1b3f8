/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/stop.h"

gs_status gs_file_lock(const char *path, int *lock, gs_error *error)
{
    char name[GS_PATH];
    if ((size_t)snprintf(name, sizeof name, "%s.lock", path) >= sizeof name)
        return gs_fail(error, GS_ERROR_ARGUMENT, NULL, "%s: path too long", path);
    GS_TRY(gs_file_need_regular(path, error));   /* no lock files beside devices, for example in /dev */
    GS_TRY(gs_file_make_folder(path, error));
    *lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*lock < 0) return gs_fail_errno(error, errno, name, "cannot be opened");
    while (flock(*lock, LOCK_EX) != 0) {
        if (errno == EINTR && !gs_stop_requested) continue;
        const int why = errno;
        close(*lock);
        return gs_fail_errno(error, why, name, "cannot be locked");
    }
    return GS_OK;
}
