/* SPDX-License-Identifier: MIT
 * What python/gemmsmith/torch.py calls, by ctypes: all that libgemmsmith_torch.so exports. Not a public interface; both are of one version. */
#ifndef GS_TORCH_ADAPTER_H
#define GS_TORCH_ADAPTER_H

#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

/* 0: good; else a gs_status, and text says in one line what is missing. */

/* Finds torch's calls and registers the operators of gemmsmith:: for the key, "CUDA" or "CPU"; the key CPU needs an emulated device, "emu:h200". Once. */
GS_API int gs_torch_load(const char *key, const char *emulated, int most_plans, char *text, size_t size);

/* Takes aten's mm and bmm of the key (on = 1), or gives them back (on = 0). No thread may be inside one of them then. */
GS_API int gs_torch_route(int on, char *text, size_t size);

/* Whether calls are invariant problems from now on, in all threads. */
GS_API int gs_torch_invariant(int on, char *text, size_t size);

/* Whether the weights of calls are constant from now on, in all threads. */
GS_API int gs_torch_constant(int on, char *text, size_t size);

/* Makes the plan of a problem, given as a text, on a device now. text: what is used, also where that is torch's own kernel. */
GS_API int gs_torch_prepare_text(int device, const char *problem, char *text, size_t size);

/* A line of the report (torch/choice.h). 0: there are no more. */
GS_API int gs_torch_why(int line, char *text, size_t size);

GS_API const char *gs_torch_version(void);

/* The number of the form of its operators: that of the Python module must be the same. It grows when the arguments of one change. */
GS_API int gs_torch_operators(void);

#endif
