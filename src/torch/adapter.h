/* SPDX-License-Identifier: MIT
 * The functions that python/gemmsmith/torch.py calls by ctypes: everything that libgemmsmith_torch.so exports. Not a public interface; both must have the same
 * version. */
#ifndef GS_TORCH_ADAPTER_H
#define GS_TORCH_ADAPTER_H

#include <stddef.h>
#include <stdint.h>
#include <gemmsmith/status.h>

/* These functions return 0 on success, else a gs_status with one line in text that says what is missing. */

/* Finds torch's functions and registers the operators gemmsmith:: for the dispatch key "CUDA" or "CPU"; "CPU" needs an emulated device, "emu:h200". Call it once. */
GS_API int gs_torch_load(const char *key, const char *emulated, int most_plans, char *text, size_t size);

/* Replaces aten's mm and bmm for the dispatch key (on = 1), or restores them (on = 0). No thread may be inside one of them meanwhile. */
GS_API int gs_torch_route(int on, char *text, size_t size);

/* Whether later calls, in all threads, are batch-invariant problems. */
GS_API int gs_torch_invariant(int on, char *text, size_t size);

/* Whether the weights of later calls, in all threads, are constant. */
GS_API int gs_torch_constant(int on, char *text, size_t size);

/* Makes the plan of a problem, given as text, on a device. text: what is used, also if that is torch's own kernel. */
GS_API int gs_torch_prepare_text(int device, const char *problem, char *text, size_t size);

/* One line of the report (torch/choice.h). 0: there are no more. */
GS_API int gs_torch_why(int line, char *text, size_t size);

GS_API const char *gs_torch_version(void);

/* Version of the operators' signatures, which the Python module compares with its own. It is increased when the arguments of an operator change. */
GS_API int gs_torch_operators(void);

#endif
