/* SPDX-License-Identifier: MIT
 * A file that the build put into the library (tools/embed.c): name relative to its folder, text. Tables end with a NULL name. */
#ifndef GS_BASE_EMBEDDED_H
#define GS_BASE_EMBEDDED_H

typedef struct gs_embedded {
    const char *name;
    const char *text;
} gs_embedded;

extern const gs_embedded gs_embedded_files[];      /* kernels/ */
extern const gs_embedded gs_embedded_profiles[];   /* profiles/ */
extern const gs_embedded gs_embedded_prompts[];    /* share/prompts/; of the tools, not of the library that ships */
extern const gs_embedded gs_embedded_notes[];      /* share/notes/; the same */
extern const gs_embedded gs_embedded_headers[];    /* include/gemmsmith/, for the corpus (dataset/corpus.c); the same */
extern const gs_embedded gs_embedded_pages[];      /* docs/howto/ and docs/internals/, likewise */

#endif
