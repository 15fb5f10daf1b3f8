/* SPDX-License-Identifier: MIT
 * What programs leave behind and bring along: recorded files, lists of TunableOp, packs, rows of times. For the harness of parsers.c. */
#ifndef FUZZ_PROGRAMS_H
#define FUZZ_PROGRAMS_H

extern unsigned fuzz_parser;   /* which of the harness's parsers had the last text */

void fuzz_recorded(const char *text);
void fuzz_tunableop(const char *text);
void fuzz_pack(const char *text);   /* changes to a pack that is sound: four characters each, where and what */
void fuzz_rows(const char *text);
void fuzz_suggestions(const char *text);

#endif
