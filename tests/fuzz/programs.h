/* SPDX-License-Identifier: MIT
 * What programs leave behind and bring along: recorded files, lists of TunableOp, packs. For the harness of parsers.c. */
#ifndef FUZZ_PROGRAMS_H
#define FUZZ_PROGRAMS_H

void fuzz_recorded(const char *text);
void fuzz_tunableop(const char *text);
void fuzz_pack(const char *text);   /* changes to a pack that is sound: four characters each, where and what */

#endif
