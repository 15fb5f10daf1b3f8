/* SPDX-License-Identifier: MIT
 * The dispatcher passes a kernel its arguments on a stack, the first at the lowest address, and the kernel leaves its results there. Calls that we do not serve go to
 * torch's own kernel, bypassing the dispatcher (aoti_torch_cuda_mm_out), so they cannot come back here. If that function refuses a call it prints the reason and
 * returns only a failure; so we check for such calls first and raise torch's own messages. Raising unwinds through this file: it is compiled for that, and frees what
 * it owns before raising. */
#include "torch/kernels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "torch/choice.h"
#include "torch/gate.h"
#include "torch/norm.h"

enum { MOST_DIM = 3, TEXT = 320 };

typedef struct operand {
    gs_torch_handle handle;
    gs_torch_tensor tensor;
} operand;

typedef enum product_kind { MM, BMM, ADDMM, BADDBMM } product_kind;

typedef struct product {
    product_kind kind;
    const char  *via;
    operand      a, b, c, out;   /* handle NULL: no such operand */
    double       alpha, beta;
    int32_t      dtype, index;   /* torch's type and device index, of a */
} product;

static const gs_torch_shim *torch;
static bool                 emulated;

void gs_torch_kernels_use(const gs_torch_shim *shim, bool is_emulated)
{
    torch = shim;
    emulated = is_emulated;
}

/* ---- looking at operands ---- */

static int type_of(int32_t dtype) { return dtype == torch->f16 ? GS_F16 : dtype == torch->bf16 ? GS_BF16 : dtype == torch->f32 ? GS_F32 : dtype == torch->i32 ? GS_TORCH_INT32 : GS_TORCH_OTHER_TYPE; }

static int32_t dtype_of(gs_torch_handle handle)
{
    int32_t dtype = -1;
    torch->get_dtype(handle, &dtype);
    return dtype;
}

static void look_at_shape(operand *o)
{
    int64_t *size = NULL;
    torch->get_dim(o->handle, &o->tensor.dim);
    torch->get_sizes(o->handle, &size);
    o->tensor.size = size;
}

static bool is_empty(const gs_torch_tensor *t)
{
    for (int64_t i = 0; i < t->dim; i++)
        if (t->size[i] == 0) return true;
    return false;
}

/* index: the call's device. A tensor on another kind of device has another index, or no data. */
static void look_at(operand *o, int32_t index)
{
    int32_t at = -1;
    int64_t *stride = NULL;
    void *data = NULL;
    gs_torch_tensor *const t = &o->tensor;
    look_at_shape(o);
    torch->get_strides(o->handle, &stride);
    torch->get_data_ptr(o->handle, &data);
    torch->get_device_index(o->handle, &at);
    t->stride = stride;
    t->data = data;
    t->type = type_of(dtype_of(o->handle));
    t->here = at == index && (data || is_empty(t));
}

static void drop(operand *o)
{
    if (o->handle) torch->delete_tensor_object(o->handle);
    o->handle = NULL;
}

/* Frees what the call owns and raises torch's RuntimeError; does not return. */
static void raise_error(product *p, const char *text)
{
    char kept[TEXT];
    snprintf(kept, sizeof kept, "%s", text);
    drop(&p->a);
    drop(&p->b);
    drop(&p->c);
    drop(&p->out);
    torch->check(false, "gemmsmith", __FILE__, __LINE__, kept);
}

/* ---- what torch refuses ---- */

static const char *kind_name(product_kind kind)
{
    static const char *const names[] = {"mm", "bmm", "addmm", "baddbmm"};
    return names[kind];
}

static int64_t dim_of(product_kind kind) { return kind == BMM || kind == BADDBMM ? 3 : 2; }

static bool fits_shape(const product *p, char text[TEXT])
{
    const int64_t *const a = p->a.tensor.size, *const b = p->b.tensor.size;
    const int64_t dim = dim_of(p->kind);
    if (p->a.tensor.dim != dim || p->b.tensor.dim != dim) {
        if (dim == 3) snprintf(text, TEXT, "%s must be a 3D tensor", p->a.tensor.dim != dim ? "batch1" : "batch2");
        else if (p->kind == MM) snprintf(text, TEXT, "%s must be a matrix", p->a.tensor.dim != dim ? "self" : "mat2");
        else snprintf(text, TEXT, "%s must be a matrix, got %" PRId64 "-D tensor", p->a.tensor.dim != dim ? "mat1" : "mat2", p->a.tensor.dim != dim ? p->a.tensor.dim : p->b.tensor.dim);
        return false;
    }
    if (dim == 2 && a[1] != b[0]) {
        snprintf(text, TEXT, "mat1 and mat2 shapes cannot be multiplied (%" PRId64 "x%" PRId64 " and %" PRId64 "x%" PRId64 ")", a[0], a[1], b[0], b[1]);
        return false;
    }
    if (dim == 3 && (a[0] != b[0] || a[2] != b[1])) {
        snprintf(text, TEXT, "Expected size for first two dimensions of batch2 tensor to be: [%" PRId64 ", %" PRId64 "] but got: [%" PRId64 ", %" PRId64 "].", a[0], a[2], b[0], b[1]);
        return false;
    }
    return true;
}

/* Whether the added tensor can be broadcast to the shape of the result. */
static bool fits_added(const product *p, char text[TEXT])
{
    const gs_torch_tensor *const c = &p->c.tensor;
    const int64_t dim = p->a.tensor.dim;
    const int64_t to[MOST_DIM] = {p->a.tensor.size[0], dim == 3 ? p->a.tensor.size[1] : p->b.tensor.size[1], dim == 3 ? p->b.tensor.size[2] : 0};
    bool good = c->dim <= dim;
    for (int64_t i = 0; good && i < c->dim; i++) good = c->size[c->dim - 1 - i] == 1 || c->size[c->dim - 1 - i] == to[dim - 1 - i];
    if (!good) snprintf(text, TEXT, "%s: the shape of what is added cannot be expanded to that of the product", kind_name(p->kind));
    return good;
}

static bool same_kind(const product *p, char text[TEXT])
{
    const operand *const all[] = {&p->b, &p->c, &p->out};
    for (int i = 0; i < 3; i++) {
        if (!all[i]->handle) continue;
        if (!all[i]->tensor.here) {
            snprintf(text, TEXT, "Expected all tensors to be on the same device, but found at least two devices (when checking arguments of %s)", kind_name(p->kind));
            return false;
        }
        if (dtype_of(all[i]->handle) != p->dtype) {
            snprintf(text, TEXT, "%s: expected all tensors to have the same dtype", kind_name(p->kind));
            return false;
        }
    }
    return true;
}

/* Raises the error that torch's kernel would raise; true: there is none. */
static bool check(product *p)
{
    char text[TEXT];
    if (fits_shape(p, text) && (!p->c.handle || fits_added(p, text)) && same_kind(p, text)) return true;
    raise_error(p, text);
    return false;
}

/* ---- running ---- */

static bool make_out(product *p)
{
    const int64_t *const a = p->a.tensor.size, *const b = p->b.tensor.size;
    const int64_t dim = p->a.tensor.dim;
    int64_t size[MOST_DIM], stride[MOST_DIM];
    if (dim == 2) {
        size[0] = a[0], size[1] = b[1];
        stride[0] = size[1] > 0 ? size[1] : 1, stride[1] = 1;
    } else {
        size[0] = a[0], size[1] = a[1], size[2] = b[2];
        stride[1] = size[2] > 0 ? size[2] : 1, stride[2] = 1;
        stride[0] = stride[1] * (size[1] > 0 ? size[1] : 1);
    }
    return torch->empty_strided(dim, size, stride, p->dtype, torch->device, p->index, &p->out.handle) == 0;
}

static int32_t pass(const product *p)
{
    switch (p->kind) {
    case MM: return torch->mm_out(p->out.handle, p->a.handle, p->b.handle);
    case BMM: return torch->bmm_out(p->out.handle, p->a.handle, p->b.handle);
    case ADDMM: return torch->addmm_out(p->out.handle, p->c.handle, p->a.handle, p->b.handle, p->beta, p->alpha);
    default: return torch->baddbmm_out(p->out.handle, p->c.handle, p->a.handle, p->b.handle, p->beta, p->alpha);
    }
}

static void look_at_all(product *p)
{
    torch->get_device_index(p->a.handle, &p->index);
    look_at(&p->a, p->index);
    look_at(&p->b, p->index);
    if (p->c.handle) look_at(&p->c, p->index);
    if (p->out.handle) look_at(&p->out, p->index);
}

/* Runs torch's own kernel. */
static void leave_to_torch(product *p)
{
    if (pass(p) == 0) return;
    look_at_all(p);
    if (check(p)) raise_error(p, "torch's own kernel failed: what it said stands above");
}

static void need_out(product *p)
{
    if (!p->out.handle && !make_out(p)) raise_error(p, "no memory for the result of a product: what torch said of it stands above");
}

/* For types that are never ours: only checks the shapes, to allocate the result. */
static void multiply_other(product *p)
{
    char text[TEXT];
    gs_torch_count_passed(GS_TORCH_TYPE);
    look_at_shape(&p->a);
    look_at_shape(&p->b);
    if (!fits_shape(p, text)) raise_error(p, text);
    if (!p->out.handle) torch->get_device_index(p->a.handle, &p->index);
    need_out(p);
    leave_to_torch(p);
}

static void multiply_half(product *p)
{
    gs_torch_key key;
    gs_torch_pointers pointers;
    gs_stream stream = NULL;
    look_at_all(p);
    const bool given = p->out.handle != NULL;
    const gs_torch_call call = {.a = &p->a.tensor, .b = &p->b.tensor, .c = p->c.handle ? &p->c.tensor : NULL, .d = given ? &p->out.tensor : NULL,
                                .alpha = (float)p->alpha, .beta = (float)p->beta, .constant = (p->kind == MM || p->kind == ADDMM) && gs_torch_choice_is_constant()};
    gs_torch_reason reason = p->a.tensor.dim == dim_of(p->kind) ? gs_torch_form(&call, &key, &pointers) : GS_TORCH_SHAPE;
    const bool ours = reason == GS_TORCH_FITS;
    if (!ours) {
        gs_torch_count_passed(reason);
        check(p);
    }
    need_out(p);
    if (ours) {
        if (!given) torch->get_data_ptr(p->out.handle, &pointers.d);
        if (!emulated && torch->get_current_cuda_stream(p->index, &stream) != 0) reason = GS_TORCH_RUN;
        else reason = gs_torch_run(emulated ? 0 : p->index, &key, &pointers, call.alpha, call.beta, stream, p->via);
    }
    if (reason != GS_TORCH_FITS) leave_to_torch(p);
}

/* Common to all four operators. The result is in p->out; all other handles are freed. */
static void multiply(product *p)
{
    p->dtype = dtype_of(p->a.handle);
    if (p->dtype == torch->bf16 || p->dtype == torch->f16) multiply_half(p);
    else multiply_other(p);
    drop(&p->a);
    drop(&p->b);
    drop(&p->c);
}

static gs_torch_handle handle_at(const uint64_t *stack, int i)
{
    gs_torch_handle handle;
    memcpy(&handle, &stack[i], sizeof handle);
    return handle;
}

static double number_at(const uint64_t *stack, int i)
{
    double number;
    memcpy(&number, &stack[i], sizeof number);
    return number;
}

static void leave(uint64_t *stack, gs_torch_handle handle)
{
    stack[0] = 0;
    memcpy(&stack[0], &handle, sizeof handle);
}

/* aten's mm and bmm. Stack: operands, then with .out the result. */
static void plain(uint64_t *stack, product_kind kind, const char *via, bool given)
{
    product p = {.kind = kind, .via = via, .a = {handle_at(stack, 0)}, .b = {handle_at(stack, 1)}, .out = {given ? handle_at(stack, 2) : NULL}, .alpha = 1.0};
    multiply(&p);
    leave(stack, p.out.handle);
}

/* gemmsmith's addmm and baddbmm. Stack: the added tensor, operands, beta, alpha as floating point numbers, then with _out the result. */
static void added(uint64_t *stack, product_kind kind, const char *via, bool given)
{
    product p = {.kind = kind, .via = via, .c = {handle_at(stack, 0)}, .a = {handle_at(stack, 1)}, .b = {handle_at(stack, 2)}, .beta = number_at(stack, 3),
                 .alpha = number_at(stack, 4), .out = {given ? handle_at(stack, 5) : NULL}};
    multiply(&p);
    leave(stack, p.out.handle);
}

#define KERNEL(name, call)                                               \
    static void name(uint64_t *stack, uint64_t arguments, uint64_t results) \
    {                                                                    \
        (void)arguments;                                                 \
        (void)results;                                                   \
        call;                                                            \
    }

KERNEL(mm,          plain(stack, MM, "torch.mm", false))
KERNEL(mm_out,      plain(stack, MM, "torch.mm", true))
KERNEL(bmm,         plain(stack, BMM, "torch.bmm", false))
KERNEL(bmm_out,     plain(stack, BMM, "torch.bmm", true))
KERNEL(addmm,       added(stack, ADDMM, "torch.addmm", false))
KERNEL(addmm_out,   added(stack, ADDMM, "torch.addmm", true))
KERNEL(baddbmm,     added(stack, BADDBMM, "torch.baddbmm", false))
KERNEL(baddbmm_out, added(stack, BADDBMM, "torch.baddbmm", true))

/* ---- epilogues and groups ---- */

/* Takes the tensors of one of our operators from the stack and looks at them; returns the device index of tensor on_device_of. */
static int32_t take_operands(operand *all, int count, const uint64_t *stack, int on_device_of)
{
    int32_t index = 0;
    torch->get_device_index(handle_at(stack, on_device_of), &index);
    for (int i = 0; i < count; i++) {
        all[i].handle = handle_at(stack, i);
        look_at(&all[i], index);
    }
    return index;
}

/* run(Tensor(a!) d, Tensor x, Tensor weight, Tensor c, Tensor bias, Tensor offsets, Tensor(b!) aux, int what) -> bool: whether it was run. what: activation, gate <<
 * 8, then bits: c is present (a residual), bias is present, offsets are present, aux is present, the offsets are along K. For an absent tensor the caller passes x,
 * for an absent aux d. */
enum { HAS_C = 1 << 16, HAS_BIAS = 1 << 17, HAS_OFFSETS = 1 << 18, HAS_AUX = 1 << 19, ALONG_K = 1 << 20 };

static void run(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    enum { D, X, WEIGHT, C, BIAS, OFFSETS, AUX, TENSORS };
    operand all[TENSORS];
    gs_torch_key key;
    gs_torch_pointers pointers;
    gs_stream stream = NULL;
    const uint64_t what = stack[TENSORS];
    const int32_t index = take_operands(all, TENSORS, stack, X);
    (void)arguments;
    (void)results;
    const gs_torch_call call = {.a = &all[X].tensor, .b = &all[WEIGHT].tensor, .c = what & HAS_C ? &all[C].tensor : NULL, .d = &all[D].tensor,
                                .bias = what & HAS_BIAS ? &all[BIAS].tensor : NULL, .offsets = what & HAS_OFFSETS ? &all[OFFSETS].tensor : NULL, .aux = what & HAS_AUX ? &all[AUX].tensor : NULL, .along_k = (what & ALONG_K) != 0,
                                .alpha = 1.0f, .beta = what & HAS_C ? 1.0f : 0.0f, .weight = true, .constant = gs_torch_choice_is_constant(), .activation = (int)(what & 0xff), .gate = (int)(what >> 8 & 0xff),
                                .residual = (what & HAS_C) != 0 && (what & 0xff) != 0};
    gs_torch_reason reason = gs_torch_form(&call, &key, &pointers);
    if (reason != GS_TORCH_FITS) gs_torch_count_passed(reason);
    else if (!emulated && torch->get_current_cuda_stream(index, &stream) != 0) reason = GS_TORCH_RUN;
    else reason = gs_torch_run(emulated ? 0 : index, &key, &pointers, 1.0f, 1.0f, stream, "gemmsmith");
    for (int i = 0; i < TENSORS; i++) drop(&all[i]);
    stack[0] = reason == GS_TORCH_FITS;
}

/* gate_gradients(Tensor(a!) result, Tensor gradient, Tensor kept, int activation) -> bool: whether it was run. */
static void gate_gradients(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    enum { RESULT, GRADIENT, KEPT, TENSORS };
    operand all[TENSORS];
    gs_stream stream = NULL;
    const int64_t activation = (int64_t)stack[TENSORS];
    const int32_t index = take_operands(all, TENSORS, stack, RESULT);
    (void)arguments;
    (void)results;
    const gs_torch_gate gate = {&all[GRADIENT].tensor, &all[KEPT].tensor, &all[RESULT].tensor, (gs_activation)activation};
    bool ran = activation >= GS_RELU && activation <= GS_SILU;
    if (ran && !emulated) ran = torch->get_current_cuda_stream(index, &stream) == 0;
    if (ran) ran = gs_torch_gate_run(emulated ? 0 : index, &gate, stream, emulated) == GS_TORCH_FITS;
    for (int i = 0; i < TENSORS; i++) drop(&all[i]);
    stack[0] = ran;
}

/* rms_norm_run(Tensor(a!) result, Tensor x, Tensor weight, float eps, int what) -> bool: whether it was run. what, bits: the weight is present (else x is passed for
 * it); the quotient is also rounded; 1 is added to the weight. */
enum { HAS_WEIGHT = 1, ROUNDS = 2, PLUS_ONE = 4 };

static void rms_norm_run(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    enum { RESULT, X, WEIGHT, TENSORS };
    operand all[TENSORS];
    gs_stream stream = NULL;
    const uint64_t what = stack[TENSORS + 1];
    const float eps = (float)number_at(stack, TENSORS);
    const int32_t index = take_operands(all, TENSORS, stack, RESULT);
    (void)arguments;
    (void)results;
    const gs_torch_norm norm = {&all[X].tensor, what & HAS_WEIGHT ? &all[WEIGHT].tensor : NULL, &all[RESULT].tensor, eps, what & PLUS_ONE ? 1.0f : 0.0f, (what & ROUNDS) != 0};
    bool ran = emulated || torch->get_current_cuda_stream(index, &stream) == 0;
    if (ran) ran = gs_torch_norm_run(emulated ? 0 : index, &norm, stream, emulated) == GS_TORCH_FITS;
    for (int i = 0; i < TENSORS; i++) drop(&all[i]);
    stack[0] = ran;
}

const gs_torch_named gs_torch_aten[] = {{"mm", mm}, {"mm.out", mm_out}, {"bmm", bmm}, {"bmm.out", bmm_out}, {NULL, NULL}};
const gs_torch_named gs_torch_own[] = {{"addmm", addmm}, {"addmm_out", addmm_out}, {"baddbmm", baddbmm}, {"baddbmm_out", baddbmm_out}, {"run", run}, {"gate_gradients", gate_gradients}, {"rms_norm_run", rms_norm_run}, {NULL, NULL}};
