/* SPDX-License-Identifier: MIT
 * Words of a problem's text, by their numbers. */
#ifndef GS_PROBLEM_WORDS_H
#define GS_PROBLEM_WORDS_H

enum { GS_TYPE_WORDS = 3, GS_ACTIVATION_WORDS = 9 };

extern const char *const gs_type_words[GS_TYPE_WORDS];               /* of a gs_type: "f16" */
extern const char *const gs_activation_words[GS_ACTIVATION_WORDS];   /* of a gs_activation: "relu", gradients as well; "" of none */

#endif
