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

What torch has no operator for is in functions and modules: linear() with an activation and a residual in one kernel, swiglu(), grouped() for mixtures of experts, rms_norm() behind which the next
kernel may begin early, the modules Linear, SwiGLU and RMSNorm, and fuse(), which puts SwiGLU and RMSNorm into models of transformers
and makes q, k and v one product. They work without enable() too, and on tensors of any type and device, by torch's operators; gradients and torch.compile are supported.
"""
import atexit as _atexit
import ctypes as _c
import dataclasses as _dataclasses
import os as _os
import pathlib as _pathlib
import sys as _sys
import threading as _threading
import warnings as _warnings

import torch as _torch

import gemmsmith as _package
from gemmsmith import fused as _fused
from gemmsmith import models as _models
from gemmsmith.fused import Linear, RMSNorm, SwiGLU, grouped, linear, linear_residual, pack_swiglu, rms_norm, swiglu
from gemmsmith.models import fuse

__all__ = ["Linear", "RMSNorm", "SwiGLU", "Used", "disable", "enable", "fuse", "grouped", "is_enabled", "linear", "linear_residual", "pack_swiglu", "prepare", "rms_norm", "swiglu", "why"]

_FILE = "libgemmsmith_torch.so"
_LINE = 1024
_OPERATORS = 3   # gs_torch_operators() of the adapter that fits
if "_ops" not in globals():   # what importlib.reload() keeps
    _library = None    # ctypes
    _key = None        # whose calls are taken: "CUDA", "CPU"
    _routes = None     # torch.library.Library of what Python takes
    _alone = False     # enable() found no GPU
    _inductor_was = None   # what disable() puts back: ("environment", None) or ("config", value)
    _switching = _threading.Lock()   # held while they change
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
        if getattr(library, "gs_torch_operators", lambda: 1)() != _OPERATORS:
            raise RuntimeError(f"gemmsmith.torch: {library._name} is of another version, {library.gs_torch_version().decode()}: its operators have other arguments")
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
    library.define("run(Tensor(a!) d, Tensor x, Tensor weight, Tensor c, Tensor bias, Tensor offsets, Tensor(b!) aux, int what) -> bool")
    library.define("gate_gradients(Tensor(a!) result, Tensor gradient, Tensor kept, int activation) -> bool")
    library.define("rms_norm_run(Tensor(a!) result, Tensor x, Tensor weight, float eps, int what) -> bool")
    _fused.define(library)
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
    _key = _fused.taken = key


# ---- what Python takes: the C interface of torch cannot read the scalars of these ----

def _scaled(name, product, out):
    """aten's addmm or baddbmm, as a function for torch.library."""
    own = getattr(_torch.ops.gemmsmith, name + ("_out" if out else "")).default
    own = getattr(own, "_op", own)   # what it calls, 0.4 us sooner

    def complicated(self, a, b, beta, alpha):
        if not a.is_complex():
            raise RuntimeError("value cannot be converted to type float without overflow")   # torch's words
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
    global _alone
    with _switching:
        if _routes is None or emulated:
            _alone = not emulated and not _torch.cuda.is_available()
            if _alone:
                _warnings.warn("gemmsmith.torch: torch finds no GPU, its own kernels are used", stacklevel=2)
                return False
            _load(emulated, plans)
        _set_modes(invariant, constant_weights)
        if _routes is None:
            _route(inductor)
    return True


def _route(inductor):
    global _routes
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


def disable():
    """Gives all calls back to torch. No other thread may be inside one of them. Plans are kept; enable() takes the calls again."""
    global _routes
    with _switching:
        if _routes is None:
            return
        _routes._destroy()
        _routes = None
        _set_inductor(False)
        _call(_library.gs_torch_route, 0)


def is_enabled():
    """Whether calls are taken."""
    return _routes is not None


def _layers_of(model):
    """Of each linear layer, nn.Linear and of this module, and of several that are one product, in f16 and bf16: its weight, the number of its outputs, its bias, its activation and whether that is a gate."""
    for module in model.modules():
        if isinstance(module, _torch.nn.Linear):
            yield module.weight, module.weight.shape[0], module.bias is not None, getattr(module, "activation", "none"), False
        elif isinstance(module, _models.Joined):
            yield module.weight, module.weight.shape[0], module.bias is not None, "none", False
        elif isinstance(module, SwiGLU):
            yield module.gate_up, module.gate_up.shape[0] // 2, False, module.activation, True
            yield module.down, module.down.shape[0], False, "none", False


def _problems_of(model, rows, training):
    """The products of a model's linear layers, each once, and its norms."""
    found = {}
    for weight, outputs, bias, activation, gate in _layers_of(model):
        if weight.dtype not in _fused.HALVES:
            continue
        kind, (width, inputs), keeps = "f16" if weight.dtype == _torch.float16 else "bf16", weight.shape, training and (gate or activation not in ("none", "relu"))
        words = (["bias"] if bias else []) + ([_fused.WORDS[activation]] if activation != "none" and (keeps or not training) else []) + (["gate"] if gate else []) + (["aux"] if keeps else [])
        for count in rows:
            found[f"{kind}:{count}x{outputs}x{inputs}:tn" + (f":ep={'+'.join(words)}" if words else "")] = None
            if training:
                found.update(dict.fromkeys((f"{kind}:{count}x{inputs}x{width}:nn", f"{kind}:{width}x{inputs}x{count}:nt")))   # gradients of what goes in, and of the weight
        if training and gate:
            found[f"{kind}:gate_gradients:{_fused.WORDS[activation]}"] = None
    for module in [] if training else model.modules():
        if isinstance(module, RMSNorm) and module.weight is not None and module.weight.dtype in _fused.HALVES:
            found[f"{'f16' if module.weight.dtype == _torch.float16 else 'bf16'}:rms_norm{':rounded' if module.rounded else ''}"] = None
    return list(found)


def prepare(problems, device=None, rows=(1,), training=False):
    """Makes plans now, so that a capture finds them. problems: a problem's text or a list of them, "bf16:16x4096x14336:tn" for nn.Linear(14336, 4096) with 16 rows; or a model, whose linear layers
    are prepared for each number of rows (tokens of a call) in `rows`; training: for a training step with so many, not compiled: layers that keep what their gradients need, and these gradients, of
    every layer's input and weight. Returns what is used: a text, or for a list a list of them, or for a model a dict by problem. device: torch's number of it; None: the current one."""
    if _key is None and not _alone:
        raise RuntimeError("gemmsmith.torch: enable() comes first")
    number = (_torch.cuda.current_device() if device is None else int(device)) if _key == "CUDA" else 0
    if isinstance(problems, _torch.nn.Module):
        return {problem: prepare(problem, device) for problem in _problems_of(problems, [rows] if isinstance(rows, int) else rows, training)}
    many = [problems] if isinstance(problems, str) else list(problems)
    found = ["torch's own kernels: there is no GPU" if _key is None else _call(_library.gs_torch_prepare_text, number, problem.encode()) for problem in many]
    return found[0] if isinstance(problems, str) else found


@_dataclasses.dataclass(frozen=True)
class Used:
    """One line of why(): of the calls of this problem, `calls` were run by `kernel` and `passed` went to torch's own kernel. origin: where the kernel comes from ("table", "pack", "default",
    ...), or "torch". reason: in words. device is None and problem empty for calls that no problem describes. "bf16:gate_gradients:silu" is the kernel that makes both gradients of a gate, "bf16:rms_norm" that of
    a norm."""
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
    """What was used so far, in the order in which problems were first seen, gradients of gates and norms behind them: a list of Used."""
    lines, text = [], _c.create_string_buffer(_LINE)
    while _library is not None and _library.gs_torch_why(len(lines), text, len(text)):
        device, calls, passed, problem, origin, kernel, reason = text.value.decode(errors="replace").split("\t")
        lines.append(Used(int(device) if device else None, int(calls), int(passed), problem, origin, kernel, reason))
    return lines


_ops = _ops or _define()
_atexit.register(disable)   # before torch is torn down
