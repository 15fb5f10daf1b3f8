# SPDX-License-Identifier: MIT
"""The operators, functions and modules of gemmsmith.torch that fuse; they are used under that name. models.py puts the modules into models.

Each operator has kernels for CPU and CUDA, shapes for tracing, and gradients. They run on one kernel of the library where the adapter takes such tensors, else by torch's operators."""
import math as _math

import torch as _torch

__all__ = ["Linear", "RMSNorm", "SwiGLU", "grouped", "linear", "linear_residual", "pack_swiglu", "rms_norm", "swiglu"]

taken = None   # whose tensors the adapter takes: "CUDA", "CPU"; None: nobody's

_ACTIVATIONS = {"none": 0, "relu": 1, "gelu_tanh": 2, "gelu": 3, "silu": 4}   # gs_activation
WORDS = {"relu": "relu", "gelu_tanh": "gelu", "gelu": "gelu_erf", "silu": "silu"}   # in a problem's text
_GATE, _HAS_C, _HAS_BIAS, _HAS_OFFSETS, _HAS_AUX, _ALONG_K = 1 << 8, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20    # src/torch/kernels.c
HALVES = (_torch.float16, _torch.bfloat16)


def activate(z, activation):
    if activation == "none":
        return z
    if activation == "relu":
        return _torch.relu(z)
    if activation == "silu":
        return _torch.nn.functional.silu(z)
    return _torch.nn.functional.gelu(z, approximate="tanh" if activation == "gelu_tanh" else "none")


def _activate_backward(grad, z, activation):
    aten = _torch.ops.aten
    if activation == "none":
        return grad
    if activation == "relu":
        return aten.threshold_backward(grad, z, 0)
    if activation == "silu" and (_torch.is_grad_enabled() or _torch.autograd.forward_ad._current_level >= 0):   # torch has no gradient or tangent of silu_backward
        slope = _torch.sigmoid(z)
        return grad * (slope * (1 + z * (1 - slope)))
    if activation == "silu":
        return aten.silu_backward(grad, z)
    return aten.gelu_backward(grad, z, approximate="tanh" if activation == "gelu_tanh" else "none")


def _serves(x):
    """Whether the adapter takes such tensors."""
    return taken is not None and x.dtype in HALVES and x.is_cuda == (taken == "CUDA") and (x.is_cuda or x.is_cpu)


def _run(d, x, weight, what, c=None, bias=None, offsets=None, aux=None):
    """One kernel of the library, if there is one for it. aux: what the activation is applied to, and what a gate lets up, is written there."""
    for operand, bit in ((c, _HAS_C), (bias, _HAS_BIAS), (offsets, _HAS_OFFSETS), (aux, _HAS_AUX)):
        what |= bit if operand is not None else 0
    return _torch.ops.gemmsmith.run.default(d, x, weight, x if c is None else c, x if bias is None else bias, x if offsets is None else offsets, d if aux is None else aux, what)


def _rows(x):
    return x.reshape(_math.prod(x.shape[:-1]), x.shape[-1])


def _linear(x, weight, bias, residual, activation):
    if _serves(x):
        d = x.new_empty(x.shape[:-1] + weight.shape[:1])
        if _run(_rows(d), _rows(x), weight, _ACTIVATIONS[activation], None if residual is None else _rows(residual), bias):
            return d
    y = activate(_torch.nn.functional.linear(x, weight, bias), activation)
    return y if residual is None else y + residual


def _swiglu(x, weight, activation):
    if _serves(x):
        d = x.new_empty(x.shape[:-1] + (weight.shape[0] // 2,))
        if _run(_rows(d), _rows(x), weight, _ACTIVATIONS[activation] | _GATE):
            return d
    return gated_by_torch(x, weight, activation)


def gated_by_torch(x, weight, activation):
    gate, up = _torch.nn.functional.linear(x, weight).chunk(2, -1)
    return activate(gate, activation) * up


def _grouped(x, weight, offsets, activation, gate):
    if x.is_cpu:
        _pairs(offsets, x.shape[0])
    if _serves(x):
        d = x.new_zeros(x.shape[0], _width(weight, gate))   # rows behind the last group are 0
        if _run(d, x, weight, _ACTIVATIONS[activation] | (_GATE if gate else 0), offsets=offsets):
            return d
    return _grouped_by_torch(x, weight, offsets, activation, gate)


def _width(weight, gate):
    return weight.shape[1] // 2 if gate else weight.shape[1]


def _grouped_by_torch(x, weight, offsets, activation, gate):
    """Group by group. While a stream is captured nobody can know where they begin: then every row by every group, and those that count are taken."""
    def one(rows, expert):
        return gated_by_torch(rows, expert, activation) if gate else activate(_torch.nn.functional.linear(rows, expert), activation)

    if x.is_cuda and _torch.cuda.is_current_stream_capturing():
        d, place = x.new_zeros(x.shape[0], _width(weight, gate)), _torch.arange(x.shape[0], device=x.device)[:, None]
        for i in range(weight.shape[0]):
            d = _torch.where((place >= offsets[i]) & (place < offsets[i + 1]), one(x, weight[i]), d)
        return d
    pairs = _pairs(offsets, x.shape[0])
    parts = [one(x[start:end], weight[i]) for i, (start, end) in enumerate(pairs) if end > start]
    return _torch.cat([*parts, x.new_zeros(x.shape[0] - (pairs[-1][1] if pairs else 0), _width(weight, gate))])


def _pairs(offsets, rows):
    """Where each group begins and ends."""
    places = [int(place) for place in offsets] if _transformed() else offsets.tolist()   # torch 2.7 has no tolist() in torch.func
    _refuse(places[0] == 0 and places == sorted(places) and places[-1] <= rows, f"offsets do not ascend from 0 to at most {rows}")
    return list(zip(places[:-1], places[1:]))


def _rms_norm(x, weight, eps, rounded, plus_one):
    if _serves(x):
        result = x.new_empty(x.shape)
        if _torch.ops.gemmsmith.rms_norm_run.default(_rows(result), _rows(x), x if weight is None else weight, eps, (weight is not None) + 2 * rounded + 4 * plus_one):
            return result
    return norm_by_torch(x, weight, eps, rounded, plus_one).contiguous()   # as the kernel's result lies


def norm_by_torch(x, weight, eps, rounded, plus_one):
    if not rounded and not plus_one:
        return _torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps)
    wide = x.float() if x.dtype in HALVES else x
    y = wide * _torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    y = y.to(x.dtype) if rounded else y
    if weight is None:
        return y.to(x.dtype)
    return (y * (1.0 + weight.to(wide.dtype))).to(x.dtype) if plus_one else weight * y   # of another type: what torch makes of both, as in transformers


def _linear_setup(ctx, inputs, output):
    x, weight, bias, residual, activation = inputs
    ctx.save_for_backward(x, weight, bias)
    ctx.has_residual, ctx.activation = residual is not None, activation


def _linear_backward(ctx, grad):
    x, weight, bias = ctx.saved_tensors
    dz = grad
    if ctx.activation != "none":
        dz = _activate_backward(grad, _torch.nn.functional.linear(x, weight, bias), ctx.activation)
    needs = ctx.needs_input_grad
    return *_product_grads(dz, x, weight, needs), _rows(dz).sum(0) if bias is not None and needs[2] else None, grad if ctx.has_residual and needs[3] else None, None


def _product_grads(dz, x, weight, needs):
    """Those of x and weight, where they are asked for, from that of x @ weight.T."""
    rows = _rows(dz)
    return (rows @ weight).reshape(x.shape) if needs[0] else None, rows.t() @ _rows(x) if needs[1] else None


def _swiglu_setup(ctx, inputs, output):
    x, weight, ctx.activation = inputs
    ctx.save_for_backward(x, weight)


def _swiglu_grads(grad, x, weight, activation):
    gate, up = _torch.nn.functional.linear(x, weight).chunk(2, -1)
    dz = _rows(_torch.cat([_activate_backward(grad * up, gate, activation), grad * activate(gate, activation)], -1))
    return (dz @ weight).reshape(x.shape), dz.t() @ _rows(x)


def _swiglu_backward(ctx, grad):
    return *_swiglu_grads(grad, *ctx.saved_tensors, ctx.activation), None


def _linear_kept(x, weight, bias, activation):
    """The result, and what the activation is applied to, which its gradient needs."""
    z = x.new_empty(x.shape[:-1] + weight.shape[:1])
    if _serves(x):
        d = _torch.empty_like(z)
        if _run(_rows(d), _rows(x), weight, _ACTIVATIONS[activation], bias=bias, aux=_rows(z)):
            return d, z
    z = _torch.nn.functional.linear(x, weight, bias)
    return activate(z, activation), z


def _linear_kept_setup(ctx, inputs, output):
    x, weight, bias, ctx.activation = inputs
    ctx.save_for_backward(x, weight, bias, output[1])
    ctx.set_materialize_grads(False)   # of what is kept there is none


def _linear_kept_backward(ctx, grad, more):
    """more: comes with gradients of gradients alone, since this uses what was kept."""
    if grad is None and more is None:
        return None, None, None, None
    x, weight, bias, z = ctx.saved_tensors
    dz, needs = _sum(None if grad is None else _activate_backward(grad, z, ctx.activation), more), ctx.needs_input_grad
    return *_product_grads(dz, x, weight, needs), _rows(dz).sum(0) if bias is not None and needs[2] else None, None


def _linear_kept_shapes(x, weight, bias, activation):
    return tuple(x.new_empty(x.shape[:-1] + weight.shape[:1]) for _ in range(2))


def _swiglu_both(x, weight, activation):
    """The result, and gate and up side by side, which its gradients need, by one kernel."""
    kept = x.new_empty(x.shape[:-1] + weight.shape[:1])
    if _serves(x):
        d = x.new_empty(x.shape[:-1] + (weight.shape[0] // 2,))
        if _run(_rows(d), _rows(x), weight, _ACTIVATIONS[activation] | _GATE, aux=_rows(kept)):
            return d, kept
    kept = _torch.nn.functional.linear(x, weight)
    gate, up = kept.chunk(2, -1)
    return activate(gate, activation) * up, kept


def _swiglu_both_setup(ctx, inputs, output):
    x, weight, ctx.activation = inputs
    ctx.save_for_backward(x, weight, output[1])
    ctx.set_materialize_grads(False)


def _gate_gradients(grad, kept, activation):
    """Those of gate and up, side by side."""
    grad = grad.contiguous()
    if _serves(grad) and _is_last(grad):
        result = kept.new_empty(kept.shape)
        if _torch.ops.gemmsmith.gate_gradients.default(_rows(result), _rows(grad), _rows(kept), _ACTIVATIONS[activation]):
            return result
    gate, up = kept.chunk(2, -1)
    return _torch.cat([_activate_backward(grad * up, gate, activation), grad * activate(gate, activation)], -1)


def _is_last(grad):
    """Nobody asks for gradients or tangents of what is made of it, no batch of it is made, and nobody only traces it."""
    return type(grad) is _torch.Tensor and not _torch._C._functorch.is_legacy_batchedtensor(grad) and not _torch.is_grad_enabled() and not _transformed()


def _swiglu_both_backward(ctx, grad, more):
    if grad is None and more is None:
        return None, None, None
    x, weight, kept = ctx.saved_tensors
    dz = _sum(None if grad is None else _gate_gradients(grad, kept, ctx.activation), more)
    return *_product_grads(dz, x, weight, ctx.needs_input_grad), None


def _swiglu_both_shapes(x, weight, activation):
    return x.new_empty(x.shape[:-1] + (weight.shape[0] // 2,)), x.new_empty(x.shape[:-1] + weight.shape[:1])


def _swiglu_kept(x, weight, activation):
    """The result, and what its gradients need: the gate, up and the activated gate. Two products, so that each is a matrix without gaps: torch's operators take longer with gaps."""
    half = weight.shape[0] // 2
    gate, up = _torch.nn.functional.linear(x, weight[:half]), _torch.nn.functional.linear(x, weight[half:])
    activated = activate(gate, activation)
    return activated * up, gate, up, activated


def _swiglu_kept_setup(ctx, inputs, output):
    x, weight, ctx.activation = inputs
    ctx.save_for_backward(x, weight, *output[1:])
    ctx.set_materialize_grads(False)   # of the last three there are none


def _swiglu_kept_backward(ctx, grad, more_gate, more_up, more_activated):
    """What the last three results are used for is the first backward pass, so their gradients come with gradients of gradients alone."""
    if all(g is None for g in (grad, more_gate, more_up, more_activated)):
        return None, None, None
    x, weight, gate, up, activated = ctx.saved_tensors
    half, rows, dx, dw = weight.shape[0] // 2, _rows(x), None, None
    dactivated = _sum(None if grad is None else grad * up, more_activated)
    dgate = _sum(None if dactivated is None else _activate_backward(dactivated, gate, ctx.activation), more_gate)
    dup = _sum(None if grad is None else grad * activated, more_up)
    dgate, dup = (_rows(_torch.zeros_like(gate) if d is None else d) for d in (dgate, dup))
    if ctx.needs_input_grad[0]:
        dx = _torch.addmm(dgate @ weight[:half], dup, weight[half:]).reshape(x.shape)
    if ctx.needs_input_grad[1] and _torch.is_grad_enabled():
        dw = _torch.cat([dgate.t() @ rows, dup.t() @ rows])
    elif ctx.needs_input_grad[1]:
        dw = weight.new_empty(weight.shape)
        _torch.mm(dgate.t(), rows, out=dw[:half])
        _torch.mm(dup.t(), rows, out=dw[half:])
    return dx, dw, None


def _sum(a, b):
    """Either may be None: nothing."""
    return b if a is None else a if b is None else a + b


def _swiglu_kept_shapes(x, weight, activation):
    return tuple(x.new_empty(x.shape[:-1] + (weight.shape[0] // 2,)) for _ in range(4))


def _grouped_both(x, weight, offsets, activation, gate):
    """The result, and what the activation or the gate is applied to."""
    if x.is_cpu:
        _pairs(offsets, x.shape[0])
    kept = x.new_empty(x.shape[0], weight.shape[1])
    if _serves(x):
        d = x.new_zeros(x.shape[0], _width(weight, gate))
        if _run(d, x, weight, _ACTIVATIONS[activation] | (_GATE if gate else 0), offsets=offsets, aux=kept):
            return d, kept
    kept = _grouped(x, weight, offsets, "none", False)
    if not gate:
        return activate(kept, activation), kept
    own, up = kept.chunk(2, -1)
    return activate(own, activation) * up, kept


def _grouped_both_shapes(x, weight, offsets, activation, gate):
    return x.new_empty(x.shape[0], _width(weight, gate)), x.new_empty(x.shape[0], weight.shape[1])


def _grouped_setup(ctx, inputs, output):
    x, weight, offsets, ctx.activation, ctx.gate = inputs
    ctx.save_for_backward(x, weight, offsets, output[1] if isinstance(output, tuple) else None)
    ctx.set_materialize_grads(False)


def _grouped_backward(ctx, grad, more=None):
    """more, of what was kept, is None: with gradients of gradients everything is computed from x and weight."""
    if grad is None:
        return None, None, None, None, None
    x, weight, offsets, kept = ctx.saved_tensors
    if _torch.is_grad_enabled() or _torch.autograd.forward_ad._current_level >= 0:
        return *_grouped_grads_by_torch(grad, x, weight, offsets, ctx.activation, ctx.gate), None, None, None
    if kept is not None and _is_last(grad):
        return *_grouped_grads(grad, x, weight, offsets, ctx.activation, ctx.gate, kept, ctx.needs_input_grad), None, None, None
    # one operator, since nobody knows the offsets while this is traced; it has no gradients itself. Its form stays: Inductor keeps compiled graphs that call it
    return *_torch.ops.gemmsmith.grouped_grads.default(grad, x, weight, offsets, ctx.activation, ctx.gate), None, None, None


def _grouped_grads(grad, x, weight, offsets, activation, gate, kept=None, needs=(True, True)):
    """By kernels that read the offsets when they run, where there are any; else group by group. kept: None where nothing was. needs: whether that of x, of weight is asked for."""
    if _serves(x):
        x = x.contiguous()
        ready = activation == "none" or kept is not None
        if not ready:
            kept = x.new_empty(x.shape[0], weight.shape[1])
            ready = _run(kept, x, weight, 0, offsets=offsets)
        grad, dx, dw = grad.contiguous(), x.new_zeros(x.shape) if needs[0] else None, weight.new_empty(weight.shape) if needs[1] else None   # rows behind the last group are 0
        dz = None if not ready else _gate_gradients(grad, kept, activation) if gate else _activate_backward(grad, kept, activation)
        if ready and (dx is None or _run(dx, dz, weight.transpose(1, 2), 0, offsets=offsets)) and (dw is None or _run(dw, dz.t(), x.t(), _ALONG_K, offsets=offsets)):
            return dx, dw
    return _grouped_grads_by_torch(grad, x, weight, offsets, activation, gate)


def _grouped_grads_by_torch(grad, x, weight, offsets, activation, gate):
    dx, dw = _torch.zeros_like(x), _torch.zeros_like(weight)
    for i, (start, end) in enumerate(_pairs(offsets, x.shape[0])):
        if end == start:
            continue
        rows, dy = x[start:end], grad[start:end]
        if gate:
            dx[start:end], dw[i] = _swiglu_grads(dy, rows, weight[i], activation)
            continue
        dz = _activate_backward(dy, _torch.nn.functional.linear(rows, weight[i]), activation) if activation != "none" else dy
        dx[start:end], dw[i] = dz @ weight[i], dz.t() @ rows
    return dx, dw


def define(library):
    """Puts the operators into gemmsmith::, a torch.library.Library: their forms, kernels, shapes for tracing and gradients."""
    tags = (_torch.Tag.pt2_compliant_tag, _torch.Tag.needs_fixed_stride_order)
    library.define("linear(Tensor x, Tensor weight, Tensor? bias, Tensor? residual, str activation) -> Tensor", tags=tags)
    library.define("swiglu(Tensor x, Tensor weight, str activation) -> Tensor", tags=tags)
    library.define("linear_kept(Tensor x, Tensor weight, Tensor? bias, str activation) -> (Tensor, Tensor)", tags=tags)
    library.define("swiglu_both(Tensor x, Tensor weight, str activation) -> (Tensor, Tensor)", tags=tags)
    library.define("swiglu_kept(Tensor x, Tensor weight, str activation) -> (Tensor, Tensor, Tensor, Tensor)", tags=tags)
    library.define("grouped(Tensor x, Tensor weight, Tensor offsets, str activation, bool gate) -> Tensor", tags=tags)
    library.define("grouped_both(Tensor x, Tensor weight, Tensor offsets, str activation, bool gate) -> (Tensor, Tensor)", tags=tags)
    library.define("rms_norm(Tensor x, Tensor? weight, float eps, bool rounded, bool plus_one) -> Tensor", tags=tags)
    library.define("grouped_grads(Tensor grad, Tensor x, Tensor weight, Tensor offsets, str activation, bool gate) -> (Tensor, Tensor)", tags=tags)
    for name, kernel, fake, setup, backward in (
            ("linear", _linear, lambda x, weight, bias, residual, activation: x.new_empty(x.shape[:-1] + weight.shape[:1]), _linear_setup, _linear_backward),
            ("swiglu", _swiglu, lambda x, weight, activation: x.new_empty(x.shape[:-1] + (weight.shape[0] // 2,)), _swiglu_setup, _swiglu_backward),
            ("linear_kept", _linear_kept, _linear_kept_shapes, _linear_kept_setup, _linear_kept_backward),
            ("swiglu_both", _swiglu_both, _swiglu_both_shapes, _swiglu_both_setup, _swiglu_both_backward),
            ("swiglu_kept", _swiglu_kept, _swiglu_kept_shapes, _swiglu_kept_setup, _swiglu_kept_backward),
            ("grouped", _grouped, lambda x, weight, offsets, activation, gate: x.new_empty(x.shape[0], _width(weight, gate)), _grouped_setup, _grouped_backward),
            ("grouped_both", _grouped_both, _grouped_both_shapes, _grouped_setup, _grouped_backward),
            ("rms_norm", _rms_norm, lambda x, weight, eps, rounded, plus_one: x.new_empty(x.shape), None, None),
            ("grouped_grads", _grouped_grads, lambda grad, x, weight, offsets, activation, gate: (_torch.empty_like(x), _torch.empty_like(weight)), None, None)):
        for key in ("CPU", "CUDA"):
            library.impl(name, kernel, key)
        _torch.library.register_fake(f"gemmsmith::{name}", fake, lib=library)
        if backward:
            _torch.library.register_autograd(f"gemmsmith::{name}", backward, setup_context=setup, lib=library)


def _refuse(good, text):
    if not good:
        raise ValueError("gemmsmith.torch: " + text)


def _check_operands(x, weight, activation, dim):
    _refuse(activation in _ACTIVATIONS, f"activation is {activation!r}, not one of {', '.join(_ACTIVATIONS)}")
    _refuse(weight.dim() == dim, f"weight has {weight.dim()} dimensions, not {dim}")
    _refuse(x.dim() >= 1 and x.shape[-1] == weight.shape[-1], f"x ends with {x.shape[-1] if x.dim() else 'no'} elements, and weight has rows of {weight.shape[-1]}")
    _refuse(x.dtype == weight.dtype and x.device == weight.device, f"x is {x.dtype} on {x.device}, weight is {weight.dtype} on {weight.device}")


def _trains(*operands):
    """Whether gradients may be asked for. What goes into an activation is then kept."""
    return _torch.is_grad_enabled() and any(operand is not None and operand.requires_grad for operand in operands)


def _transformed():
    """Inside torch.func, vmap or forward-mode derivatives, which have no rules for operators of ours: they would take tangents for 0."""
    return not _torch.compiler.is_compiling() and (_torch._C._functorch.maybe_current_level() is not None or _torch.autograd.forward_ad._current_level >= 0)


def _cast(*operands):
    """What torch's own products do under autocast."""
    kind = operands[0].device.type
    if not _torch.is_autocast_enabled(kind):
        return operands
    dtype = _torch.get_autocast_dtype(kind)
    return tuple(o.to(dtype) if o is not None and o.is_floating_point() and o.dtype != _torch.float64 else o for o in operands)


def linear(x, weight, bias=None, activation="none", residual=None):
    """activation(x @ weight.T + bias) + residual, by one kernel. x: ... x K; weight: N x K; bias: N; residual: as the result, ... x N. All are of one type and on one device; autocast casts them.
    activation: "none", "relu", "gelu" (erf), "gelu_tanh", "silu".
    While gradients are recorded, what the activation is applied to is kept, by the same kernel; relu, and an activation with a residual besides, inside torch.func, or compiled, is torch's operator
    behind the product."""
    x, weight, bias, residual = _cast(x, weight, bias, residual)
    _check_operands(x, weight, activation, 2)
    for name, operand in (("bias", bias), ("residual", residual)):
        if operand is not None:
            _refuse(operand.dtype == x.dtype and operand.device == x.device, f"{name} is {operand.dtype} on {operand.device}, x is {x.dtype} on {x.device}")
    _refuse(bias is None or bias.shape == weight.shape[:1], "bias has another length than weight has rows")
    _refuse(residual is None or residual.shape == x.shape[:-1] + weight.shape[:1], "residual has another shape than the result")
    trains = activation != "none" and _trains(x, weight, bias)
    if trains and residual is None and activation != "relu" and _serves(x) and not _transformed() and not _torch.compiler.is_compiling():   # of relu torch keeps the result alone
        return _torch.ops.gemmsmith.linear_kept.default(x, weight, bias, activation)[0]
    if trains or _transformed():
        y = activate(_torch.nn.functional.linear(x, weight, bias), activation)
        return y if residual is None else y + residual
    return _torch.ops.gemmsmith.linear.default(x, weight, bias, residual, activation)


def linear_residual(x, weight, residual, bias=None):
    """x @ weight.T + bias + residual, by one kernel, rounded once."""
    return linear(x, weight, bias, "none", residual)


def pack_swiglu(gate, up):
    """The weight of swiglu() from those of a gate and of what it lets up, each N x K: both, one behind the other, 2N x K."""
    _refuse(gate.shape == up.shape and gate.dim() == 2, "the gate's and up's weights are two matrices of one shape")
    _refuse(gate.dtype == up.dtype and gate.device == up.device, f"the gate's weight is {gate.dtype} on {gate.device}, up's {up.dtype} on {up.device}")
    return _torch.cat([gate, up])


def swiglu(x, weight, activation="silu"):
    """activation(x @ gate.T) * (x @ up.T), by one kernel. x: ... x K; weight: pack_swiglu(gate, up), 2N x K; the result is ... x N.
    activation: "silu" (SwiGLU), "gelu", "gelu_tanh" (GeGLU), "relu".
    While gradients are recorded, gate and up are kept, by the same kernel, and their gradients are one kernel; where the library takes no such tensors it is two products and torch's operators,
    and inside torch.func these alone."""
    x, weight = _cast(x, weight)
    _check_operands(x, weight, activation, 2)
    _refuse(activation != "none", "a gate needs an activation")
    _refuse(weight.shape[0] % 2 == 0, "weight has an odd number of rows; the gate and up have as many each")
    if _transformed() or (_torch.compiler.is_compiling() and _trains(x, weight)):   # Inductor makes one kernel of what follows the product
        return gated_by_torch(x, weight, activation)
    if _trains(x, weight):
        return (_torch.ops.gemmsmith.swiglu_both if _serves(x) else _torch.ops.gemmsmith.swiglu_kept).default(x, weight, activation)[0]
    return _torch.ops.gemmsmith.swiglu.default(x, weight, activation)


def grouped(x, weight, offsets, activation="none", gate=False):
    """A mixture's experts, by one kernel: rows offsets[i] to offsets[i + 1] - 1 of the result are activation(those rows of x @ weight[i].T). x: M x K, sorted by expert; weight: experts x N x K;
    offsets: experts + 1 int32 on the device of x, ascending from 0, the last at most M; the kernel reads them when it runs. Rows behind the last group are 0.
    gate: weight is experts x 2N x K, pack_swiglu() of each, and the result is activation(gate) * up.
    Gradients are kernels that read the offsets when they run, too, so a training step that ran before can be captured; what the activation or the gate is applied to is kept."""
    x, weight = _cast(x, weight)
    _check_operands(x, weight, activation, 3)
    _refuse(x.dim() == 2, "x is not a matrix")
    _refuse(offsets.dtype == _torch.int32 and offsets.shape == (weight.shape[0] + 1,) and offsets.device == x.device, f"offsets are not {weight.shape[0] + 1} int32 on {x.device}")
    _refuse(not gate or (activation != "none" and weight.shape[1] % 2 == 0), "a gate needs an activation and an even number of rows of each weight")
    if _transformed():
        return _grouped_by_torch(x, weight, offsets, activation, bool(gate))
    if activation != "none" and _trains(x, weight) and _serves(x) and not _torch.compiler.is_compiling():
        return _torch.ops.gemmsmith.grouped_both.default(x, weight, offsets, activation, bool(gate))[0]
    return _torch.ops.gemmsmith.grouped.default(x, weight, offsets, activation, bool(gate))


def rms_norm(x, weight=None, eps=1e-6, rounded=False, plus_one=False):
    """x / sqrt(mean(x * x) + eps) * weight, computed in f32, each mean over the last dimension, by one kernel behind which the next may begin early, as torch's do not. x: ... x N; weight: N, or
    None for ones. rounded: what was divided is rounded to the type of x before it is multiplied by weight, as modules of transformers do; else the result alone is, as torch.nn.functional.rms_norm
    does. plus_one: it is multiplied by 1 + weight, as in Gemma. While gradients are recorded, and inside torch.func, it is torch's operators."""
    _refuse(x.dim() >= 1 and (weight is None or weight.shape == x.shape[-1:]), f"x ends with {x.shape[-1] if x.dim() else 'no'} elements, and weight is {None if weight is None else tuple(weight.shape)}")
    _refuse(weight is None or weight.device == x.device, f"x is on {x.device}, weight is on {None if weight is None else weight.device}")
    if _trains(x, weight) or _transformed() or (weight is not None and weight.dtype != x.dtype):
        return norm_by_torch(x, weight, eps, rounded, plus_one)
    return _torch.ops.gemmsmith.rms_norm.default(x, weight, eps, rounded, plus_one)


class Linear(_torch.nn.Linear):
    """nn.Linear with an activation, and with a residual where forward() is given one, by one kernel. Parameters and their names are those of nn.Linear."""

    def __init__(self, in_features, out_features, bias=True, activation="none", device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device, dtype)
        _refuse(activation in _ACTIVATIONS, f"activation is {activation!r}, not one of {', '.join(_ACTIVATIONS)}")
        self.activation = activation

    def forward(self, x, residual=None):
        return linear(x, self.weight, self.bias, self.activation, residual)

    def extra_repr(self):
        return f"{super().extra_repr()}, activation={self.activation}"


class SwiGLU(_torch.nn.Module):
    """The MLP of Llama and its kin: down(silu(gate(x)) * up(x)), plus a residual where forward() is given one. Two kernels.

    gate_up: 2 hidden x features, pack_swiglu() of both; down: features x hidden. load_state_dict() also takes gate_proj.weight, up_proj.weight and down_proj.weight; where as_parts is True, as
    after fuse(), state_dict() has these."""

    as_parts = False
    _PARTS = ("gate_proj.weight", "up_proj.weight", "down_proj.weight")

    def __init__(self, features, hidden, activation="silu", device=None, dtype=None):
        super().__init__()
        self._put(_torch.nn.Parameter(_torch.empty(2 * hidden, features, device=device, dtype=dtype)),
                  _torch.nn.Parameter(_torch.empty(features, hidden, device=device, dtype=dtype)), activation)
        self.reset_parameters()

    def _put(self, gate_up, down, activation):
        _refuse(activation in _ACTIVATIONS and activation != "none", f"activation is {activation!r}, not one of {', '.join(a for a in _ACTIVATIONS if a != 'none')}")
        self.gate_up, self.down, self.activation = gate_up, down, activation
        self.features, self.hidden = gate_up.shape[1], gate_up.shape[0] // 2

    @classmethod
    def of(cls, gate, up, down, activation="silu"):
        """From three nn.Linear without biases, whose weights are copied into one and shared, in this order."""
        _refuse(gate.bias is None and up.bias is None and down.bias is None, "a SwiGLU has no biases")
        gate_up = pack_swiglu(gate.weight.detach(), up.weight.detach())
        _refuse(down.in_features == gate.out_features and down.weight.dtype == gate_up.dtype and down.weight.device == gate_up.device,
                f"down takes {down.in_features} {down.weight.dtype} on {down.weight.device}, not {gate.out_features} {gate_up.dtype} on {gate_up.device}")
        self = cls.__new__(cls)
        _torch.nn.Module.__init__(self)
        self._put(_torch.nn.Parameter(gate_up, requires_grad=gate.weight.requires_grad), down.weight, activation)
        return self

    def reset_parameters(self):
        """As nn.Linear begins."""
        for weight in (self.gate_up, self.down):
            _torch.nn.init.kaiming_uniform_(weight, a=5 ** 0.5)

    def forward(self, x, residual=None):
        return linear(swiglu(x, self.gate_up, self.activation), self.down, residual=residual)

    def extra_repr(self):
        return f"features={self.features}, hidden={self.hidden}, activation={self.activation}"

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        if not self.as_parts:
            return super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, weight in zip(self._PARTS, (*self.gate_up.chunk(2), self.down)):
            destination[prefix + name] = weight if keep_vars else weight.detach()

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        if all(prefix + name in state_dict for name in self._PARTS):
            gate, up, state_dict[prefix + "down"] = (state_dict.pop(prefix + name) for name in self._PARTS)
            state_dict[prefix + "gate_up"] = pack_swiglu(gate, up)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class RMSNorm(_torch.nn.Module):
    """rms_norm() over the last dimension. Its one parameter is `weight`. In a compiled model it is torch's operators, which Inductor puts into one kernel with what stands around them."""

    def __init__(self, features, eps=1e-6, rounded=False, plus_one=False, device=None, dtype=None):
        super().__init__()
        self.weight = _torch.nn.Parameter((_torch.zeros if plus_one else _torch.ones)(features, device=device, dtype=dtype))
        self.eps, self.rounded, self.plus_one = eps, rounded, plus_one

    def forward(self, x):
        return (norm_by_torch if _torch.compiler.is_compiling() else rms_norm)(x, self.weight, self.eps, self.rounded, self.plus_one)

    def extra_repr(self):
        return f"{self.weight.shape[0]}, eps={self.eps}, rounded={self.rounded}, plus_one={self.plus_one}"
