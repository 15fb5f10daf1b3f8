/* SPDX-License-Identifier: MIT */
#include "torch/gate.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cublas/gate_gradients.h"
#include "problem/words.h"
#include "torch/choice.h"
#include "torch/small.h"

enum { TYPES = 2, ACTIVATIONS = GS_SILU + 1 };

static const char WORD[] = ":gate_gradients:";

typedef struct loaded {
    gs_torch_small    small;
    gs_gate_gradients gates;
} loaded;

static loaded all[GS_TORCH_DEVICES][TYPES][ACTIVATIONS];

static loaded *loaded_of(int number, gs_type type, gs_activation activation) { return number >= 0 && number < GS_TORCH_DEVICES ? &all[number][type][activation] : NULL; }

/* gate: NULL if the kernel is only prepared. */
typedef struct gate_call {
    loaded              *l;
    gs_type              type;
    gs_activation        activation;
    const gs_torch_gate *gate;
} gate_call;

static gs_status open_gates(void *self, gs_device *device, gs_error *error)
{
    const gate_call *const call = self;
    const gs_status status = gs_gate_gradients_open(&call->l->gates, device, call->type, call->activation, error);
    if (status != GS_OK) gs_gate_gradients_close(&call->l->gates);
    return status;
}

static gs_status launch_gates(const void *self, void *const at[], gs_stream stream, gs_error *error)
{
    const gate_call *const call = self;
    return gs_gate_gradients_run(&call->l->gates, call->gate->gradient->size[0], call->gate->gradient->size[1], at[0], at[1], at[2], stream, error);
}

static const gs_torch_small_kernel kernel = {"gradients of gates are", open_gates, launch_gates};

static bool is_packed(const gs_torch_tensor *t, int64_t rows, int64_t cols) { return t->dim == 2 && t->size[0] == rows && t->size[1] == cols && t->stride[1] == 1 && (rows == 1 || t->stride[0] == cols); }

static gs_torch_reason check(const gs_torch_gate *gate)
{
    const gs_torch_tensor *const operands[] = {gate->gradient, gate->kept, gate->result};
    for (int i = 0; i < 3; i++) {
        if (operands[i]->type != gate->result->type || (operands[i]->type != GS_F16 && operands[i]->type != GS_BF16)) return GS_TORCH_TYPE;
        if (!operands[i]->here) return GS_TORCH_DEVICE;
    }
    if (gate->gradient->dim != 2) return GS_TORCH_SHAPE;
    const int64_t m = gate->gradient->size[0], n = gate->gradient->size[1];
    if (m < 1 || n < 1 || m > GS_MAX_EXTENT || n > GS_MAX_EXTENT / 2) return GS_TORCH_SHAPE;
    for (int i = 0; i < 3; i++) {
        if (!is_packed(operands[i], m, i == 0 ? n : 2 * n)) return GS_TORCH_STRIDES;
        if (i < 2 && gs_torch_overlap(operands[i], gate->result)) return GS_TORCH_OVERLAP;
    }
    return GS_TORCH_FITS;
}

gs_torch_reason gs_torch_gate_run(int number, const gs_torch_gate *gate, gs_stream stream, bool emulated)
{
    gs_torch_reason reason = check(gate);
    gate_call call = {.type = (gs_type)gate->result->type, .activation = gate->activation, .gate = gate};
    if (reason == GS_TORCH_FITS && !(call.l = loaded_of(number, call.type, call.activation))) reason = GS_TORCH_NO_GPU;
    if (reason != GS_TORCH_FITS) {
        gs_torch_count_passed(reason);
        return reason;
    }
    const size_t half = (size_t)(gate->gradient->size[0] * gate->gradient->size[1]) * 2;
    gs_torch_staged_operand operands[] = {{gate->gradient->data, half, false, 0}, {gate->kept->data, 2 * half, false, 0}, {gate->result->data, 2 * half, true, 0}};
    return gs_torch_small_run(&call.l->small, &kernel, &call, number, operands, stream, emulated);
}

/* ---- by name ---- */

bool gs_torch_is_gate(const char *text) { return strstr(text, WORD) != NULL; }

static const char SAID[] = "one kernel for both gradients";

gs_status gs_torch_gate_prepare(int number, const char *gate, bool emulated, char *why, size_t size, gs_error *error)
{
    const char *const word = strstr(gate, WORD), *const applied = word ? word + strlen(WORD) : "";
    const int type = word ? gs_torch_small_place(gate, (size_t)(word - gate), gs_type_words, TYPES) : -1;
    const int activation = gs_torch_small_place(applied, strlen(applied), gs_activation_words, ACTIVATIONS);
    if (type < 0 || activation <= GS_ACTIVATION_NONE) return gs_fail(error, GS_ERROR_PARSE, "problem", "'%.60s': expected f16 or bf16, %s and relu, gelu, gelu_erf or silu", gate, WORD);
    loaded *const l = loaded_of(number, (gs_type)type, (gs_activation)activation);
    if (!l) return gs_fail(error, GS_ERROR_RANGE, "device", "%d: at most %d", number, GS_TORCH_DEVICES - 1);
    gate_call call = {l, (gs_type)type, (gs_activation)activation, NULL};
    gs_torch_small_prepare(&l->small, &kernel, &call, number, emulated, SAID, why, size);
    return GS_OK;
}

static bool report(int number, int type, int activation, int *line, char *text, size_t size)
{
    char name[48];
    snprintf(name, sizeof name, "%s%s%s", gs_type_words[type], WORD, gs_activation_words[activation]);
    return gs_torch_small_report(&all[number][type][activation].small, number, name, "gate_gradients", SAID, line, text, size);
}

bool gs_torch_gate_report(int *line, char *text, size_t size)
{
    for (int number = 0; number < GS_TORCH_DEVICES; number++)
        for (int type = 0; type < TYPES; type++)
            for (int activation = GS_RELU; activation < ACTIVATIONS; activation++)
                if (report(number, type, activation, line, text, size)) return true;
    return false;
}
