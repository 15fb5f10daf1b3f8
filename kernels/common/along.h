/* SPDX-License-Identifier: MIT
 * Whether A and B are stored with K contiguous, from the problem's GS_LAYOUT (0 nn, 1 tn, 2 nt, 3 tt). Otherwise A is contiguous along M, B along N. */
#ifndef GS_COMMON_ALONG_H
#define GS_COMMON_ALONG_H

#define GS_A_ALONG_K (GS_LAYOUT < 2)
#define GS_B_ALONG_K (GS_LAYOUT % 2)

#endif
