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
"""
import atexit as _atexit
import ctypes as _c
import dataclasses as _dataclasses
import os as _os
import pathlib as _pathlib
import warnings as _warnings

import torch as _torch

__all__ = ["Used", "disable", "enable", "is_enabled", "prepare", "why"]

_FILE = "libgemmsmith_torch.so"
_LINE = 1024
_library = None    # ctypes
_key = None        # whose calls are taken: "CUDA", "CPU"
_routes = None     # torch.library.Library of what Python takes
_ops = None        # definitions of gemmsmith::


# ---- the adapter ----

def _open():
    """The adapter, loaded once."""
    global _library, _ops
    if _library is None:
        named = _os.environ.get("GEMMSMITH_TORCH_LIBRARY")
        here = _pathlib.Path(__file__).parent
        beside = [p for p in (here / "lib" / _FILE, here / _FILE) if p.exists()]
        library = _c.CDLL(named or (str(beside[0]) if beside else _FILE))
        for name, arguments in (("gs_torch_load", [_c.c_char_p, _c.c_char_p, _c.c_int, _c.c_char_p, _c.c_size_t]), ("gs_torch_route", [_c.c_int, _c.c_char_p, _c.c_size_t]),
                                ("gs_torch_invariant", [_c.c_int, _c.c_char_p, _c.c_size_t]),
                                ("gs_torch_prepare_text", [_c.c_int, _c.c_char_p, _c.c_char_p, _c.c_size_t]), ("gs_torch_why", [_c.c_int, _c.c_char_p, _c.c_size_t])):
            call = getattr(library, name)
            call.restype, call.argtypes = _c.c_int, arguments
        library.gs_torch_version.restype = _c.c_char_p
        _library = library
        _ops = _define()
    return _library


def _define():
    """The operators of the adapter. Where another copy of this module has defined them already, an error says so."""
    if hasattr(_torch.ops, "gemmsmith") and hasattr(_torch.ops.gemmsmith, "run"):
        raise RuntimeError("another copy of gemmsmith.torch is loaded in this process")
    library = _torch.library.Library("gemmsmith", "DEF")
    for name in ("addmm", "baddbmm"):
        library.define(f"{name}(Tensor self, Tensor a, Tensor b, float beta, float alpha) -> Tensor")
        library.define(f"{name}_out(Tensor self, Tensor a, Tensor b, float beta, float alpha, Tensor(a!) out) -> Tensor(a!)")
    library.define("run(Tensor(a!) d, Tensor x, Tensor weight, Tensor c, Tensor bias, Tensor offsets, int what) -> bool")
    return library


def _call(function, *arguments):
    """Calls the adapter; its text, or a RuntimeError with it."""
    text = _c.create_string_buffer(_LINE)
    if function(*arguments, text, len(text)):
        raise RuntimeError("gemmsmith.torch: " + text.value.decode(errors="replace"))
    return text.value.decode(errors="replace")


def _load(emulated, plans):
    """Registers the adapter's operators for CUDA, or for CPU where an emulated device is asked for."""
    global _key
    key = "CPU" if emulated else "CUDA"
    _call(_open().gs_torch_load, key.encode(), emulated.encode() if emulated else None, plans)
    _key = key


# ---- what Python takes: the C interface of torch cannot read the scalars of these ----

def _scaled(name, product, out):
    """aten's addmm or baddbmm, as a function for torch.library."""
    own = getattr(_torch.ops.gemmsmith, name + ("_out" if out else "")).default

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

def enable(emulated=None, plans=512, invariant=None):
    """Takes the calls of mm, addmm, bmm, baddbmm and their .out, in every thread from now on. True: they are taken. False, with a warning: there is no GPU, or this torch has no CUDA; torch
    stays as it is. A second call changes nothing but `invariant`.

    plans: most plans of a device; problems that come later go to torch's own kernels.
    invariant: True: the bits of a row of a result depend neither on how many rows there are nor on the others, for every call that is taken (docs/internals/invariant.md); calls that are left
    to torch have torch's bits, and why() lists them. False: the fastest kernel is used. None: as before, at first False. A second call may change it.
    emulated: for tests without a GPU, "emu:h200": the calls of tensors on the CPU are taken instead, and computed by the kernels of the library on an emulated device, slowly.
    """
    global _routes
    if _routes is not None:
        if invariant is not None:
            _call(_library.gs_torch_invariant, int(invariant))
        return True
    if not emulated and not _torch.cuda.is_available():
        _warnings.warn("gemmsmith.torch: torch finds no GPU, its own kernels are used", stacklevel=2)
        return False
    _load(emulated, plans)
    if invariant is not None:
        _call(_library.gs_torch_invariant, int(invariant))
    with _warnings.catch_warnings():   # torch warns of the first operator that is taken, once; what Python takes comes first, because only there the warning can be silenced
        _warnings.simplefilter("ignore")
        routes = _take_scaled()
        try:
            _call(_library.gs_torch_route, 1)
        except RuntimeError:
            routes._destroy()
            raise
    _routes = routes
    return True


def disable():
    """Gives all calls back to torch. No other thread may be inside one of them. Plans are kept; enable() takes the calls again."""
    global _routes
    if _routes is None:
        return
    _routes._destroy()
    _routes = None
    _call(_library.gs_torch_route, 0)


def is_enabled():
    """Whether calls are taken."""
    return _routes is not None


def prepare(problems, device=None):
    """Makes plans now, so that a capture finds them: a problem's text or a list of them, "bf16:16x4096x14336:tn" for nn.Linear(14336, 4096) with 16 rows. Returns for each what is used.
    device: torch's number of it; None: the current one."""
    if _key is None:
        raise RuntimeError("gemmsmith.torch: enable() comes first")
    number = (_torch.cuda.current_device() if device is None else int(device)) if _key == "CUDA" else 0
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


_atexit.register(disable)   # before torch is torn down
