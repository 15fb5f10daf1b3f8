/* SPDX-License-Identifier: MIT
 * GS_LAYOUT, as a problem has it (0 nn, 1 tn, 2 nt, 3 tt): whether neighbours in memory of A and of B are neighbours along K, else along M or N. */
#ifndef GS_COMMON_ALONG_H
#define GS_COMMON_ALONG_H

#define GS_A_ALONG_K (GS_LAYOUT < 2)
#define GS_B_ALONG_K (GS_LAYOUT % 2)

#endif
