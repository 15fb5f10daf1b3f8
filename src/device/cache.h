/* SPDX-License-Identifier: MIT
 * The on-disk cubin cache: one file per compiled source, safe for several processes.
 * The key covers source, embedded headers, options, target and compiler version; each file contains a checksum.
 * A file that is unreadable, truncated or does not match its checksum is treated as absent and replaced. */
#ifndef GS_DEVICE_CACHE_H
#define GS_DEVICE_CACHE_H

#include "base/file.h"
#include "base/hash.h"
#include "device/device.h"

/* Chooses the cache directory. cache NULL: $GEMMSMITH_CACHE or the user's cache folder. path is "" (no cache) if cache is "", if it is too long, or if there is no such folder. */
void gs_cache_choose(char path[GS_PATH], const char *cache);

gs_hash gs_cache_key(const gs_source *source, const char *target, int compiler_version);

/* NOT_FOUND: absent or damaged (a damaged file is logged as a warning). On GS_OK image->cached is true. */
gs_status gs_cache_read(const char *directory, gs_hash key, gs_image *image, gs_error *error);

/* Writes atomically. The caller should only log a failure (read-only or full disk): compilation works without the cache. */
gs_status gs_cache_write(const char *directory, gs_hash key, const gs_image *image, gs_error *error);

#endif
