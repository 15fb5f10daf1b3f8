# SPDX-License-Identifier: MIT
"""gemmsmith inside PyTorch (2.7 or newer).

    import gemmsmith.torch
    gemmsmith.torch.enable()              # mm, addmm, bmm, baddbmm and their .out on a GPU, in f16 and bf16
    ...
    for line in gemmsmith.torch.why():    # what was used for what, and why
        print(line)

Everything that calls these operators is served: torch.matmul, nn.Linear, autograd, torch.compile, CUDA graphs, vmap. A call that is not ours (another type, strides that no
leading dimension describes, a problem for which torch's own kernel is the best choice) goes to torch's own kernel. The plan of a problem is made by the first call that asks for it, in that
call; while a stream is captured nothing is made, so run the model once before a capture, or call prepare().

What torch has no operator for is in functions and modules: linear() with an activation and a residual in one kernel, swiglu(), grouped() for mixtures of experts, the modules Linear and SwiGLU, and
fuse(), which puts SwiGLU into models of transformers. They work without enable() too, and on tensors of any type and device, by torch's operators; gradients and torch.compile are supported.
"""
import atexit as _atexit
import ctypes as _c
import dataclasses as _dataclasses
import os as _os
import pathlib as _pathlib
import sys as _sys
import warnings as _warnings

import torch as _torch

import gemmsmith as _package

__all__ = ["Linear", "SwiGLU", "Used", "disable", "enable", "fuse", "grouped", "is_enabled", "linear", "linear_residual", "pack_swiglu", "prepare", "swiglu", "why"]

_FILE = "libgemmsmith_torch.so"
_LINE = 1024
_library = None    # ctypes
_key = None        # whose calls are taken: "CUDA", "CPU"
_routes = None     # torch.library.Library of what Python takes
_ops = None        # definitions of gemmsmith::; None: another copy of this module has them


# ---- the adapter ----

def _open():
    """The adapter, loaded once."""
    global _library
    if _ops is None:
        raise RuntimeError("gemmsmith.torch: another copy of it is loaded in this process, and serves")
    if _library is None:
        library = _package._opened(_FILE, "GEMMSMITH_TORCH_LIBRARY")
        for name, arguments in (("gs_torch_load", [_c.c_char_p, _c.c_char_p, _c.c_int, _c.c_char_p, _c.c_size_t]), ("gs_torch_route", [_c.c_int, _c.c_char_p, _c.c_size_t]),
                                ("gs_torch_invariant", [_c.c_int, _c.c_char_p, _c.c_size_t]),
                                ("gs_torch_constant", [_c.c_int, _c.c_char_p, _c.c_size_t]),
                                ("gs_torch_prepare_text", [_c.c_int, _c.c_char_p, _c.c_char_p, _c.c_size_t]), ("gs_torch_why", [_c.c_int, _c.c_char_p, _c.c_size_t])):
            call = getattr(library, name)
            call.restype, call.argtypes = _c.c_int, arguments
        library.gs_torch_version.restype = _c.c_char_p
        _library = library
    return _library


def _define():
    """The operators of the adapter and of this module. None where another copy of this module has defined them already."""
    if hasattr(_torch.ops.gemmsmith, "run"):
        return None
    library = _torch.library.Library("gemmsmith", "DEF")
    for name in ("addmm", "baddbmm"):
        library.define(f"{name}(Tensor self, Tensor a, Tensor b, float beta, float alpha) -> Tensor")
        library.define(f"{name}_out(Tensor self, Tensor a, Tensor b, float beta, float alpha, Tensor(a!) out) -> Tensor(a!)")
    library.define("run(Tensor(a!) d, Tensor x, Tensor weight, Tensor c, Tensor bias, Tensor offsets, int what) -> bool")
    tags = (_torch.Tag.pt2_compliant_tag, _torch.Tag.needs_fixed_stride_order)
    library.define("linear(Tensor x, Tensor weight, Tensor? bias, Tensor? residual, str activation) -> Tensor", tags=tags)
    library.define("swiglu(Tensor x, Tensor weight, str activation) -> Tensor", tags=tags)
    library.define("swiglu_kept(Tensor x, Tensor weight, str activation) -> (Tensor, Tensor, Tensor, Tensor)", tags=tags)
    library.define("grouped(Tensor x, Tensor weight, Tensor offsets, str activation, bool gate) -> Tensor", tags=tags)
    return library


def _call(function, *arguments):
    """Calls the adapter; its text, or a RuntimeError with it."""
    text = _c.create_string_buffer(_LINE)
    if function(*arguments, text, len(text)):
        raise RuntimeError("gemmsmith.torch: " + text.value.decode(errors="replace"))
    return text.value.decode(errors="replace")


def _find_nvrtc():
    """The file of the NVRTC that was installed with torch, which no loader's path names; None: there is none."""
    places = [_pathlib.Path(_torch.__file__).parents[1] / "nvidia", _pathlib.Path(_torch.__file__).parent / "lib"]
    files = [f for place in places for pattern in ("cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.1[23]", "libnvrtc.so.1[23]") for f in sorted(place.glob(pattern))]
    return str(files[0]) if files else None


def _load(emulated, plans):
    """Registers the adapter's operators for CUDA, or for CPU where an emulated device is asked for."""
    global _key
    key = "CPU" if emulated else "CUDA"
    nvrtc = None if _os.environ.get("GEMMSMITH_NVRTC") else _find_nvrtc()
    if nvrtc:
        _c.CDLL(nvrtc)   # the library finds what is loaded
    _call(_open().gs_torch_load, key.encode(), emulated.encode() if emulated else None, plans)
    _key = key


# ---- what Python takes: the C interface of torch cannot read the scalars of these ----

def _scaled(name, product, out):
    """aten's addmm or baddbmm, as a function for torch.library."""
    own = getattr(_torch.ops.gemmsmith, name + ("_out" if out else "")).default
    own = getattr(own, "_op", own)   # what it calls, 0.4 us sooner

    def complicated(self, a, b, beta, alpha):
        added = product(a, b) * alpha
        return added if beta == 0 else added + self * beta

    def plain(self, a, b, *, beta=1, alpha=1):
        if type(beta) is complex or type(alpha) is complex:
            return complicated(self, a, b, beta, alpha)
        return own(self, a, b, float(beta), float(alpha))

    def into(self, a, b, *, beta=1, alpha=1, out):
        if type(beta) is complex or type(alpha) is complex:
            return out.copy_(complicated(self, a, b, beta, alpha))
        return own(self, a, b, float(beta), float(alpha), out)

    return into if out else plain


def _take_scaled():
    library = _torch.library.Library("aten", "IMPL")
    for name, product in (("addmm", _torch.mm), ("baddbmm", _torch.bmm)):
        library.impl(name, _scaled(name, product, False), _key)
        library.impl(name + ".out", _scaled(name, product, True), _key)
    return library


# ---- the interface ----

_BACKENDS = "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS"
_inductor_was = None   # what disable() puts back: ("environment", None) or ("config", value)


def _set_inductor(on):
    """Whether max-autotune chooses among ATen's kernels alone, which are ours then. A choice that the program made stays."""
    global _inductor_was
    config = _sys.modules.get("torch._inductor.config")
    if on and _inductor_was is None and not _os.environ.get(_BACKENDS):
        if config is None:
            _os.environ[_BACKENDS], _inductor_was = "ATEN", ("environment", None)
        elif "TRITON" in config.max_autotune_gemm_backends and "ATEN" in config.max_autotune_gemm_backends:
            _inductor_was = ("config", config.max_autotune_gemm_backends)
            config.max_autotune_gemm_backends = "ATEN"
    elif not on and _inductor_was is not None:
        kind, value = _inductor_was
        _inductor_was = None
        if kind == "environment":
            _os.environ.pop(_BACKENDS, None)
            value = "ATEN,TRITON,CPP"
        if config is not None and config.max_autotune_gemm_backends == "ATEN":
            config.max_autotune_gemm_backends = value


def _set_modes(invariant, constant_weights):
    if invariant is not None:
        _call(_library.gs_torch_invariant, int(invariant))
    if constant_weights is not None:
        _call(_library.gs_torch_constant, int(constant_weights))


def enable(emulated=None, plans=512, invariant=None, inductor=True, constant_weights=None):
    """Takes the calls of mm, addmm, bmm, baddbmm and their .out, in every thread from now on. True: they are taken. False, with a warning: there is no GPU, or this torch has no CUDA; torch
    stays as it is. A second call changes nothing but `invariant` and `constant_weights`.

    plans: most plans of a device; problems that come later go to torch's own kernels.
    invariant: True: the bits of a row of a result depend neither on how many rows there are nor on the others, for every call that is taken (docs/internals/invariant.md); calls that are left
    to torch have torch's bits, and why() lists them. False: the fastest kernel is used. None: as before, at first False. A second call may change it.
    inductor: True: torch.compile's max-autotune calls ATen, and so what is taken, instead of racing Triton's kernels against it. Its race counts about 8 us of the host for each call,
    which hides what is faster. False, or where the program has chosen max_autotune_gemm_backends: as torch does it. disable() puts it back.
    constant_weights: True: you promise that the second operand of mm and addmm, where it is stored N x K as the weight of a linear layer is, and the weights of this module's own functions,
    are written by nothing that is still under way when a call is made: inference. In captured graphs they may then be read before the kernel in front has ended, where that was measured to
    win (docs/internals/plan.md, "A constant B"). False: nothing is promised. None: as before, at first False. A second call may change it.
    emulated: for tests without a GPU, "emu:h200": the calls of tensors on the CPU are taken instead, and computed by the kernels of the library on an emulated device, slowly.
    """
    global _routes
    if _routes is not None:
        _set_modes(invariant, constant_weights)
        return True
    if not emulated and not _torch.cuda.is_available():
        _warnings.warn("gemmsmith.torch: torch finds no GPU, its own kernels are used", stacklevel=2)
        return False
    _load(emulated, plans)
    _set_modes(invariant, constant_weights)
    with _warnings.catch_warnings():   # torch warns of the first operator that is taken, once; what Python takes comes first, because only there the warning can be silenced
        _warnings.simplefilter("ignore")
        routes = _take_scaled()
        try:
            _call(_library.gs_torch_route, 1)
        except RuntimeError:
            routes._destroy()
            raise
    _routes = routes
    _set_inductor(inductor)
    return True


def disable():
    """Gives all calls back to torch. No other thread may be inside one of them. Plans are kept; enable() takes the calls again."""
    global _routes
    if _routes is None:
        return
    _routes._destroy()
    _routes = None
    _set_inductor(False)
    _call(_library.gs_torch_route, 0)


def is_enabled():
    """Whether calls are taken."""
    return _routes is not None


def _problems_of(model, rows):
    """The products of a model's linear layers, each once: of nn.Linear and of this module's, in f16 and bf16."""
    found = {}
    for module in model.modules():
        if isinstance(module, _torch.nn.Linear):
            epilogue = "+".join((["bias"] if module.bias is not None else []) + [_WORDS[word] for word in [getattr(module, "activation", "none")] if word != "none"])
            weights = [(module.weight, module.weight.shape[0], epilogue)]
        elif isinstance(module, SwiGLU):
            weights = [(module.gate_up, module.gate_up.shape[0] // 2, f"{_WORDS[module.activation]}+gate"), (module.down, module.down.shape[0], "")]
        else:
            continue
        for weight, outputs, epilogue in weights:
            if weight.dtype in _HALVES:
                kind = "f16" if weight.dtype == _torch.float16 else "bf16"
                found.update({f"{kind}:{count}x{outputs}x{weight.shape[1]}:tn" + (f":ep={epilogue}" if epilogue else ""): None for count in rows})
    return list(found)


def prepare(problems, device=None, rows=(1,)):
    """Makes plans now, so that a capture finds them. problems: a problem's text or a list of them, "bf16:16x4096x14336:tn" for nn.Linear(14336, 4096) with 16 rows; or a model, whose linear layers
    are prepared for each number of rows (tokens of a call) in `rows`. Returns what is used: a text, or for a list a list of them, or for a model a dict by problem.
    device: torch's number of it; None: the current one."""
    if _key is None:
        raise RuntimeError("gemmsmith.torch: enable() comes first")
    number = (_torch.cuda.current_device() if device is None else int(device)) if _key == "CUDA" else 0
    if isinstance(problems, _torch.nn.Module):
        return {problem: prepare(problem, device) for problem in _problems_of(problems, rows)}
    many = [problems] if isinstance(problems, str) else list(problems)
    found = [_call(_library.gs_torch_prepare_text, number, problem.encode()) for problem in many]
    return found[0] if isinstance(problems, str) else found


@_dataclasses.dataclass(frozen=True)
class Used:
    """One line of why(): of the calls of this problem, `calls` were run by `kernel` and `passed` went to torch's own kernel. origin: where the kernel comes from ("table", "pack", "default",
    ...), or "torch". reason: in words. device is None and problem empty for calls that no problem describes."""
    device: "int | None"
    calls: int
    passed: int
    problem: str
    origin: str
    kernel: str
    reason: str

    def __str__(self):
        return f"{self.problem or '-':40} {self.calls:8} {self.passed:8} {self.origin:9} {self.kernel or '-'}: {self.reason}"


def why():
    """What was used so far, in the order in which problems were first seen: a list of Used."""
    lines, text = [], _c.create_string_buffer(_LINE)
    while _library is not None and _library.gs_torch_why(len(lines), text, len(text)):
        device, calls, passed, problem, origin, kernel, reason = text.value.decode(errors="replace").split("\t")
        lines.append(Used(int(device) if device else None, int(calls), int(passed), problem, origin, kernel, reason))
    return lines


# ---- fusions ----

_ACTIVATIONS = {"none": 0, "relu": 1, "gelu_tanh": 2, "gelu": 3, "silu": 4}   # gs_activation
_WORDS = {"relu": "relu", "gelu_tanh": "gelu", "gelu": "gelu_erf", "silu": "silu"}   # in a problem's text
_GATE, _HAS_C, _HAS_BIAS, _HAS_OFFSETS = 1 << 8, 1 << 16, 1 << 17, 1 << 18    # src/torch/kernels.c
_HALVES = (_torch.float16, _torch.bfloat16)


def _activate(z, activation):
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
    if activation == "silu":
        return aten.silu_backward(grad, z)
    return aten.gelu_backward(grad, z, approximate="tanh" if activation == "gelu_tanh" else "none")


def _serves(x):
    """Whether the adapter takes such tensors."""
    return _key is not None and x.dtype in _HALVES and x.is_cuda == (_key == "CUDA") and (x.is_cuda or x.is_cpu)


def _run(d, x, weight, what, c=None, bias=None, offsets=None):
    """One kernel of the library, if there is one for it."""
    what |= (_HAS_C if c is not None else 0) | (_HAS_BIAS if bias is not None else 0) | (_HAS_OFFSETS if offsets is not None else 0)
    return _torch.ops.gemmsmith.run.default(d, x, weight, x if c is None else c, x if bias is None else bias, x if offsets is None else offsets, what)


def _rows(x):
    return x.reshape(-1, x.shape[-1])


def _linear(x, weight, bias, residual, activation):
    if _serves(x):
        d = x.new_empty(x.shape[:-1] + weight.shape[:1])
        if _run(_rows(d), _rows(x), weight, _ACTIVATIONS[activation], None if residual is None else _rows(residual), bias):
            return d
    y = _activate(_torch.nn.functional.linear(x, weight, bias), activation)
    return y if residual is None else y + residual


def _swiglu(x, weight, activation):
    if _serves(x):
        d = x.new_empty(x.shape[:-1] + (weight.shape[0] // 2,))
        if _run(_rows(d), _rows(x), weight, _ACTIVATIONS[activation] | _GATE):
            return d
    gate, up = _torch.nn.functional.linear(x, weight).chunk(2, -1)
    return _activate(gate, activation) * up


def _grouped(x, weight, offsets, activation, gate):
    width = weight.shape[1] // 2 if gate else weight.shape[1]
    d = x.new_zeros(x.shape[0], width)   # rows behind the last group are 0
    if _serves(x) and _run(d, x, weight, _ACTIVATIONS[activation] | (_GATE if gate else 0), offsets=offsets):
        return d
    return _grouped_plain(d, x, weight, offsets, activation, gate)


def _grouped_plain(d, x, weight, offsets, activation, gate):
    """Group by group. While a stream is captured nobody can know where they begin: then every row by every group, and those that count are taken."""
    def one(rows, expert):
        return _swiglu(rows, expert, activation) if gate else _linear(rows, expert, None, None, activation)

    if x.is_cuda and _torch.cuda.is_current_stream_capturing():
        place = _torch.arange(x.shape[0], device=x.device)[:, None]
        for i in range(weight.shape[0]):
            d = _torch.where((place >= offsets[i]) & (place < offsets[i + 1]), one(x, weight[i]), d)
        return d
    for i, (start, end) in enumerate(_pairs(offsets)):
        if end > start:
            d[start:end] = one(x[start:end], weight[i])
    return d


def _pairs(offsets):
    places = offsets.tolist()
    return list(zip(places[:-1], places[1:]))


def _linear_setup(ctx, inputs, output):
    x, weight, bias, residual, activation = inputs
    ctx.save_for_backward(x, weight, bias)
    ctx.has_residual, ctx.activation = residual is not None, activation


def _linear_backward(ctx, grad):
    x, weight, bias = ctx.saved_tensors
    dz = grad
    if ctx.activation != "none":
        dz = _activate_backward(grad, _torch.nn.functional.linear(x, weight, bias), ctx.activation)
    rows, needs = _rows(dz), ctx.needs_input_grad
    return ((rows @ weight).reshape(x.shape) if needs[0] else None, rows.t() @ _rows(x) if needs[1] else None,
            rows.sum(0) if bias is not None and needs[2] else None, grad if ctx.has_residual and needs[3] else None, None)


def _swiglu_setup(ctx, inputs, output):
    x, weight, ctx.activation = inputs
    ctx.save_for_backward(x, weight)


def _swiglu_grads(grad, x, weight, activation):
    gate, up = _torch.nn.functional.linear(x, weight).chunk(2, -1)
    dz = _rows(_torch.cat([_activate_backward(grad * up, gate, activation), grad * _activate(gate, activation)], -1))
    return (dz @ weight).reshape(x.shape), dz.t() @ _rows(x)


def _swiglu_backward(ctx, grad):
    return *_swiglu_grads(grad, *ctx.saved_tensors, ctx.activation), None


def _swiglu_kept(x, weight, activation):
    """The result, and what its gradients need: the gate, up and the activated gate. Two products, so that each is a matrix without gaps."""
    half = weight.shape[0] // 2
    gate, up = _torch.nn.functional.linear(x, weight[:half]), _torch.nn.functional.linear(x, weight[half:])
    activated = _activate(gate, activation)
    return activated * up, gate, up, activated


def _swiglu_kept_setup(ctx, inputs, output):
    x, weight, ctx.activation = inputs
    ctx.save_for_backward(x, weight, *output[1:])
    ctx.set_materialize_grads(False)   # of the last three there are none


def _swiglu_kept_backward(ctx, grad, *_):
    if grad is None:
        return None, None, None
    x, weight, gate, up, activated = ctx.saved_tensors
    half, rows, dx, dw = weight.shape[0] // 2, _rows(x), None, None
    dgate, dup = _rows(_activate_backward(grad * up, gate, ctx.activation)), _rows(grad * activated)
    if ctx.needs_input_grad[0]:
        dx = _torch.addmm(dgate @ weight[:half], dup, weight[half:]).reshape(x.shape)
    if ctx.needs_input_grad[1] and _torch.is_grad_enabled():   # gradients of gradients
        dw = _torch.cat([dgate.t() @ rows, dup.t() @ rows])
    elif ctx.needs_input_grad[1]:
        dw = weight.new_empty(weight.shape)
        _torch.mm(dgate.t(), rows, out=dw[:half])
        _torch.mm(dup.t(), rows, out=dw[half:])
    return dx, dw, None


def _swiglu_kept_shapes(x, weight, activation):
    return tuple(x.new_empty(x.shape[:-1] + (weight.shape[0] // 2,)) for _ in range(4))


def _grouped_setup(ctx, inputs, output):
    x, weight, offsets, ctx.activation, ctx.gate = inputs
    ctx.save_for_backward(x, weight, offsets)


def _grouped_backward(ctx, grad):
    x, weight, offsets = ctx.saved_tensors
    dx, dw = _torch.zeros_like(x), _torch.zeros_like(weight)
    for i, (start, end) in enumerate(_pairs(offsets)):
        if end == start:
            continue
        rows, dy = x[start:end], grad[start:end]
        if ctx.gate:
            dx[start:end], dw[i] = _swiglu_grads(dy, rows, weight[i], ctx.activation)
            continue
        dz = _activate_backward(dy, _torch.nn.functional.linear(rows, weight[i]), ctx.activation) if ctx.activation != "none" else dy
        dx[start:end], dw[i] = dz @ weight[i], dz.t() @ rows
    return dx, dw, None, None, None


def _register():
    """Kernels, shapes for tracing, and gradients of this module's operators."""
    for name, kernel, fake, setup, backward in (
            ("linear", _linear, lambda x, weight, bias, residual, activation: x.new_empty(x.shape[:-1] + weight.shape[:1]), _linear_setup, _linear_backward),
            ("swiglu", _swiglu, lambda x, weight, activation: x.new_empty(x.shape[:-1] + (weight.shape[0] // 2,)), _swiglu_setup, _swiglu_backward),
            ("swiglu_kept", _swiglu_kept, _swiglu_kept_shapes, _swiglu_kept_setup, _swiglu_kept_backward),
            ("grouped", _grouped, lambda x, weight, offsets, activation, gate: x.new_empty(x.shape[0], weight.shape[1] // 2 if gate else weight.shape[1]), _grouped_setup, _grouped_backward)):
        for key in ("CPU", "CUDA"):
            _ops.impl(name, kernel, key)
        _torch.library.register_fake(f"gemmsmith::{name}", fake, lib=_ops)
        _torch.library.register_autograd(f"gemmsmith::{name}", backward, setup_context=setup, lib=_ops)


def _refuse(good, text):
    if not good:
        raise ValueError("gemmsmith.torch: " + text)


def _check_operands(x, weight, activation, dim):
    _refuse(activation in _ACTIVATIONS, f"activation is {activation!r}, not one of {', '.join(_ACTIVATIONS)}")
    _refuse(weight.dim() == dim, f"weight has {weight.dim()} dimensions, not {dim}")
    _refuse(x.dim() >= 1 and x.shape[-1] == weight.shape[-1], f"x ends with {x.shape[-1] if x.dim() else 'no'} elements, and weight has rows of {weight.shape[-1]}")
    _refuse(x.dtype == weight.dtype and x.device == weight.device, f"x is {x.dtype} on {x.device}, weight is {weight.dtype} on {weight.device}")


def _trains(*operands):
    """Whether gradients may be asked for. What goes into an activation is then kept, as torch keeps it; one kernel would have to compute it again in the backward pass."""
    return _torch.is_grad_enabled() and any(operand is not None and operand.requires_grad for operand in operands)


def linear(x, weight, bias=None, activation="none", residual=None):
    """activation(x @ weight.T + bias) + residual, by one kernel. x: ... x K; weight: N x K; bias: N; residual: as the result, ... x N.
    activation: "none", "relu", "gelu" (erf), "gelu_tanh", "silu".
    While gradients are recorded, an activation is torch's operator behind the product."""
    _check_operands(x, weight, activation, 2)
    _refuse(bias is None or bias.shape == weight.shape[:1], "bias has another length than weight has rows")
    _refuse(residual is None or residual.shape == x.shape[:-1] + weight.shape[:1], "residual has another shape than the result")
    if activation != "none" and _trains(x, weight, bias):
        y = _activate(_torch.nn.functional.linear(x, weight, bias), activation)
        return y if residual is None else y + residual
    return _torch.ops.gemmsmith.linear.default(x, weight, bias, residual, activation)


def linear_residual(x, weight, residual, bias=None):
    """x @ weight.T + bias + residual, by one kernel, rounded once."""
    return linear(x, weight, bias, "none", residual)


def pack_swiglu(gate, up):
    """The weight of swiglu() from those of a gate and of what it lets up, each N x K: both, one behind the other, 2N x K."""
    _refuse(gate.shape == up.shape and gate.dim() == 2, "the gate's and up's weights are two matrices of one shape")
    return _torch.cat([gate, up])


def swiglu(x, weight, activation="silu"):
    """activation(x @ gate.T) * (x @ up.T), by one kernel. x: ... x K; weight: pack_swiglu(gate, up), 2N x K; the result is ... x N.
    activation: "silu" (SwiGLU), "gelu", "gelu_tanh" (GeGLU), "relu".
    While gradients are recorded, by two products and torch's operators."""
    _check_operands(x, weight, activation, 2)
    _refuse(activation != "none", "a gate needs an activation")
    _refuse(weight.shape[0] % 2 == 0, "weight has an odd number of rows; the gate and up have as many each")
    if _trains(x, weight):
        if not _torch.compiler.is_compiling():
            return _torch.ops.gemmsmith.swiglu_kept.default(x, weight, activation)[0]
        gate, up = _torch.nn.functional.linear(x, weight).chunk(2, -1)   # Inductor makes one kernel of the rest
        return _activate(gate, activation) * up
    return _torch.ops.gemmsmith.swiglu.default(x, weight, activation)


def grouped(x, weight, offsets, activation="none", gate=False):
    """A mixture's experts, by one kernel: rows offsets[i] to offsets[i + 1] - 1 of the result are activation(those rows of x @ weight[i].T). x: M x K, sorted by expert; weight: experts x N x K;
    offsets: experts + 1 int32 on the device of x, ascending from 0, the last at most M; the kernel reads them when it runs. Rows behind the last group are 0.
    gate: weight is experts x 2N x K, pack_swiglu() of each, and the result is activation(gate) * up."""
    _check_operands(x, weight, activation, 3)
    _refuse(x.dim() == 2, "x is not a matrix")
    _refuse(offsets.dtype == _torch.int32 and offsets.shape == (weight.shape[0] + 1,) and offsets.device == x.device, f"offsets are not {weight.shape[0] + 1} int32 on {x.device}")
    _refuse(not gate or (activation != "none" and weight.shape[1] % 2 == 0), "a gate needs an activation and an even number of rows of each weight")
    return _torch.ops.gemmsmith.grouped.default(x, weight, offsets, activation, bool(gate))


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
    """The MLP of Llama and its kin: down(silu(gate(x)) * up(x)), plus a residual where forward() is given one. Two kernels."""

    def __init__(self, features, hidden, activation="silu", device=None, dtype=None):
        super().__init__()
        self.gate_up = _torch.nn.Parameter(_torch.empty(2 * hidden, features, device=device, dtype=dtype))
        self.down = _torch.nn.Parameter(_torch.empty(features, hidden, device=device, dtype=dtype))
        self.activation = activation
        for weight in (self.gate_up, self.down):
            _torch.nn.init.kaiming_uniform_(weight, a=5 ** 0.5)

    @classmethod
    def of(cls, gate, up, down, activation="silu"):
        """From three nn.Linear without biases, whose weights are copied into one and shared, in this order."""
        _refuse(gate.bias is None and up.bias is None and down.bias is None, "a SwiGLU has no biases")
        self = cls.__new__(cls)
        _torch.nn.Module.__init__(self)
        self.activation = activation
        self.gate_up = _torch.nn.Parameter(pack_swiglu(gate.weight.detach(), up.weight.detach()), requires_grad=gate.weight.requires_grad)
        self.down = down.weight
        return self

    def forward(self, x, residual=None):
        return linear(swiglu(x, self.gate_up, self.activation), self.down, residual=residual)


def fuse(model):
    """Puts a SwiGLU in the place of every MLP of a model that is made as those of transformers are: gate_proj, up_proj and down_proj without biases, and silu as act_fn. Returns how many there
    were. The weights of gate_proj and up_proj are copied, one MLP after the other; parameters have other names afterwards, so load weights before."""
    count = 0
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            projections = [getattr(child, part, None) for part in ("gate_proj", "up_proj", "down_proj")]
            if not all(type(p) is _torch.nn.Linear and p.bias is None for p in projections) or not _is_silu(getattr(child, "act_fn", None)):
                continue
            setattr(parent, name, SwiGLU.of(*projections))
            count += 1
    return count


def _is_silu(function):
    return function is _torch.nn.functional.silu or isinstance(function, _torch.nn.SiLU) or type(function).__name__ in ("SiLUActivation", "SiLU")


_ops = _define()
if _ops is not None:
    _register()
_atexit.register(disable)   # before torch is torn down
