/* SPDX-License-Identifier: MIT
 * Words of a problem's text form, indexed by enum value. */
#ifndef GS_PROBLEM_WORDS_H
#define GS_PROBLEM_WORDS_H

enum { GS_TYPE_WORDS = 3, GS_ACTIVATION_WORDS = 9 };

extern const char *const gs_type_words[GS_TYPE_WORDS];               /* by gs_type: "f16" */
extern const char *const gs_activation_words[GS_ACTIVATION_WORDS];   /* by gs_activation: "relu", gradients included; "" for none */

#endif
