/* SPDX-License-Identifier: MIT
 * Files that the build embeds in the library (tools/embed.c), by their name relative to their folder. Each table ends with a NULL name. */
#ifndef GS_BASE_EMBEDDED_H
#define GS_BASE_EMBEDDED_H

typedef struct gs_embedded {
    const char *name;
    const char *text;
} gs_embedded;

extern const gs_embedded gs_embedded_files[];      /* kernels/ */
extern const gs_embedded gs_embedded_profiles[];   /* profiles/ */
extern const gs_embedded gs_embedded_prompts[];    /* share/prompts/; this one and the next three are in the tools, not in the installed library */
extern const gs_embedded gs_embedded_notes[];      /* share/notes/ */
extern const gs_embedded gs_embedded_headers[];    /* include/gemmsmith/, for the corpus (dataset/corpus.c) */
extern const gs_embedded gs_embedded_pages[];      /* docs/howto/ and docs/internals/, for the corpus */

#endif
