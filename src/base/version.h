/* SPDX-License-Identifier: MIT
 * Version numbers of CUDA and its libraries as text. */
#ifndef GS_BASE_VERSION_H
#define GS_BASE_VERSION_H

#define GS_CUDA_VERSION_TEXT 24

/* "13.1.0" from 130100; "13.0" from 13000; "none" from 0. Both return text. */
char *gs_format_library_version(int version, char text[GS_CUDA_VERSION_TEXT]);
char *gs_format_cuda_version(int version, char text[GS_CUDA_VERSION_TEXT]);

#endif
