# SPDX-License-Identifier: MIT
"""gemmsmith from Python: the public C calls through ctypes, without any other dependency.

    import gemmsmith
    with gemmsmith.open() as context:
        plan = context.plan("f16:4096x4096x4096:tn")
        print(plan.why)
        plan.run(a, b, d)                 # device pointers, memory of the context, or anything with data_ptr() or __cuda_array_interface__

D[M x N] = alpha * A[M x K] * B + beta * C, all row-major; nn and nt have B stored K x N, tn and tt N x K; nn and tn have
A stored M x K, nt and tt K x M. A problem with ep= has a bias, an activation or both: plan("bf16:2048x11008x4096:tn:ep=bias+gelu")
computes gelu(A B + bias) in one kernel, plan.run(a, b, d, bias=bias). plan("bf16:16x14336x4096:tn:ep=silu+gate") takes torch.cat([gate, up]) as B and computes
silu(A gate^T) * (A up^T). For training plan("bf16:2048x11008x4096:tn:ep=bias+gelu+aux") leaves what gelu is applied to in run(..., aux=aux), and
plan("bf16:2048x11008x4096:nn:ep=dgelu") multiplies by gelu's slope there. Of an operand only the address is taken: shape, strides, type and device are the caller's to get
right. Nothing waits: synchronise the stream before the result is read.

What is made here is freed by close(), at the end of a with block, or with its context. To drop it frees nothing, because work that uses it may still be under way.

From a source tree: PYTHONPATH=python GEMMSMITH_LIBRARY=build/release/libgemmsmith.so python3. A library that cannot be found is
an OSError at the first call, whatever the library refuses is an Error.
"""
import ctypes as _c
import os as _os
import pathlib as _pathlib

__all__ = ["Context", "Error", "Plan", "Problem", "Sequence", "open", "version"]


# ---- the C structures of include/gemmsmith/*.h ----

class _Error(_c.Structure):
    _fields_ = [("status", _c.c_int), ("column", _c.c_int), ("field", _c.c_char * 32), ("text", _c.c_char * 416), ("reserved", _c.c_uint64 * 7)]


class _Problem(_c.Structure):
    _fields_ = [("size", _c.c_uint32), ("in_", _c.c_int), ("acc", _c.c_int), ("out", _c.c_int), ("layout", _c.c_int), ("scalars", _c.c_uint32),
                ("m", _c.c_int64), ("n", _c.c_int64), ("k", _c.c_int64),
                ("lda", _c.c_int64), ("ldb", _c.c_int64), ("ldc", _c.c_int64), ("ldd", _c.c_int64),
                ("batch", _c.c_int64), ("alpha", _c.c_float), ("beta", _c.c_float),
                ("activation", _c.c_int), ("bias", _c.c_int), ("residual", _c.c_uint32), ("gate", _c.c_uint32),
                ("stride_a", _c.c_int64), ("stride_b", _c.c_int64), ("stride_c", _c.c_int64), ("stride_d", _c.c_int64), ("stride_bias", _c.c_int64), ("groups", _c.c_int64),
                ("aux", _c.c_uint32), ("grouping", _c.c_uint32), ("ldaux", _c.c_int64), ("stride_aux", _c.c_int64), ("matrices", _c.c_uint32), ("scales", _c.c_uint32),
                ("invariant", _c.c_uint32), ("constant", _c.c_uint32), ("reserved", _c.c_uint32 * 2)]


class _Config(_c.Structure):
    _fields_ = [("size", _c.c_uint32), ("use_cublaslt", _c.c_int), ("use_ours", _c.c_int), ("dependent", _c.c_int),
                ("device", _c.c_char_p), ("tuned_path", _c.c_char_p), ("cache_path", _c.c_char_p),
                ("workspace_limit", _c.c_size_t), ("cached_plans", _c.c_size_t), ("log", _c.c_void_p), ("log_self", _c.c_void_p),
                ("log_level", _c.c_int), ("measure", _c.c_int), ("measure_ms", _c.c_int), ("measure_total_ms", _c.c_int), ("pack_path", _c.c_char_p),
                ("reserved", _c.c_uint64 * 6)]


class _PlanOptions(_c.Structure):
    _fields_ = [("size", _c.c_uint32), ("measure", _c.c_int), ("measure_ms", _c.c_int), ("reserved_int", _c.c_int), ("reserved", _c.c_uint64 * 6)]


class _Args(_c.Structure):
    _fields_ = [("size", _c.c_uint32), ("reserved_flags", _c.c_uint32)] + \
               [(name, _c.c_void_p) for name in ("a", "b", "c", "d", "workspace")] + \
               [("alpha", _c.POINTER(_c.c_float)), ("beta", _c.POINTER(_c.c_float)), ("bias", _c.c_void_p),
                ("offsets", _c.c_void_p), ("aux", _c.c_void_p), ("scale_m", _c.c_void_p), ("scale_n", _c.c_void_p), ("reserved", _c.c_uint64 * 1)]


_SequenceCall = _c.CFUNCTYPE(_c.c_int, _c.c_void_p, _c.c_void_p)
_P = _c.POINTER
_PROTOTYPES = {  # name: result, arguments
    "gs_version": (_c.c_char_p, []),
    "gs_status_string": (_c.c_char_p, [_c.c_int]),
    "gs_status_name": (_c.c_char_p, [_c.c_int]),
    "gs_problem_read": (_c.c_int, [_P(_Problem), _c.c_size_t, _c.c_char_p, _P(_Error)]),
    "gs_problem_format": (_c.c_char_p, [_P(_Problem), _c.c_char_p]),
    "gs_problem_check": (_c.c_int, [_P(_Problem), _P(_Error)]),
    "gs_problem_bytes": (_c.c_size_t, [_P(_Problem), _c.c_char]),
    "gs_problem_flops": (_c.c_double, [_P(_Problem)]),
    "gs_config_init": (None, [_P(_Config), _c.c_size_t]),
    "gs_open": (_c.c_int, [_P(_c.c_void_p), _P(_Config), _P(_Error)]),
    "gs_close": (None, [_P(_c.c_void_p)]),
    "gs_context_status": (_c.c_int, [_c.c_void_p, _P(_Error)]),
    "gs_memory_create": (_c.c_int, [_c.c_void_p, _c.c_size_t, _P(_c.c_void_p), _P(_Error)]),
    "gs_memory_write": (_c.c_int, [_c.c_void_p, _c.c_void_p, _c.c_void_p, _c.c_size_t, _P(_Error)]),
    "gs_memory_read": (_c.c_int, [_c.c_void_p, _c.c_void_p, _c.c_void_p, _c.c_size_t, _P(_Error)]),
    "gs_memory_destroy": (None, [_c.c_void_p, _c.c_void_p]),
    "gs_plan_create": (_c.c_int, [_c.c_void_p, _P(_Problem), _P(_c.c_void_p), _P(_Error)]),
    "gs_plan_options_init": (None, [_P(_PlanOptions), _c.c_size_t]),
    "gs_plan_create_with": (_c.c_int, [_c.c_void_p, _P(_Problem), _P(_PlanOptions), _P(_c.c_void_p), _P(_Error)]),
    "gs_plan_create_schedule": (_c.c_int, [_c.c_void_p, _P(_Problem), _c.c_char_p, _P(_c.c_void_p), _P(_Error)]),
    "gs_plan_run": (_c.c_int, [_c.c_void_p, _P(_Args), _c.c_void_p]),
    "gs_plan_check": (_c.c_int, [_c.c_void_p, _P(_Args), _P(_Error)]),
    "gs_plan_save": (_c.c_int, [_c.c_void_p, _c.c_void_p, _P(_c.c_size_t), _P(_Error)]),
    "gs_plan_load": (_c.c_int, [_c.c_void_p, _c.c_char_p, _c.c_size_t, _P(_c.c_void_p), _P(_Error)]),
    "gs_plan_destroy": (None, [_P(_c.c_void_p)]),
    "gs_gemm": (_c.c_int, [_c.c_void_p, _P(_Problem), _P(_Args), _c.c_void_p, _P(_Error)]),
    "gs_plan_why": (_c.c_char_p, [_c.c_void_p]),
    "gs_plan_schedule": (_c.c_char_p, [_c.c_void_p]),
    "gs_plan_origin": (_c.c_int, [_c.c_void_p]),
    "gs_plan_problem": (_P(_Problem), [_c.c_void_p]),
    "gs_plan_workspace": (_c.c_size_t, [_c.c_void_p]),
    "gs_plan_alignment": (_c.c_size_t, [_c.c_void_p, _c.c_char]),
    "gs_sequence_create": (_c.c_int, [_c.c_void_p, _P(_c.c_void_p), _P(_Error)]),
    "gs_sequence_add": (_c.c_int, [_c.c_void_p, _c.c_void_p, _P(_Args), _P(_c.c_int), _P(_Error)]),
    "gs_sequence_add_call": (_c.c_int, [_c.c_void_p, _SequenceCall, _c.c_void_p, _P(_Error)]),
    "gs_sequence_build": (_c.c_int, [_c.c_void_p, _P(_Error)]),
    "gs_sequence_set": (_c.c_int, [_c.c_void_p, _c.c_int, _P(_Args), _P(_Error)]),
    "gs_sequence_launch": (_c.c_int, [_c.c_void_p, _c.c_void_p]),
    "gs_sequence_dependent": (_c.c_int, [_c.c_void_p, _c.c_int]),
    "gs_sequence_destroy": (None, [_P(_c.c_void_p)]),
}
_PROBLEM_TEXT = 384
_SONAME = "libgemmsmith.so.1"
_CALL_RAISED = 10   # GS_ERROR_ARGUMENT: seen by nobody, what was raised is raised again
_ORIGINS = ("table", "nearest", "default", "cublaslt", "explicit", "empty", "measured", "pack")
_loaded = None


def _file(name, variable):
    """One of our libraries: what the variable names, beside what GEMMSMITH_LIBRARY names, beside this file as in the wheel, in the prefix that this file is installed in, else as the
    loader finds it."""
    here = _pathlib.Path(__file__).resolve().parent
    named = _os.environ.get("GEMMSMITH_LIBRARY", "")
    places = ([_pathlib.Path(named).parent] if "/" in named else []) + [here / "lib", here]
    if here.parts[-4:-1] == ("share", "gemmsmith", "python"):
        prefix = here.parents[3]
        places += [prefix / "lib", prefix / "lib64", *sorted(prefix.glob("lib/*-linux-gnu"))]
    return _os.environ.get(variable) or next((str(place / name) for place in places if (place / name).exists()), name)


def _opened(name, variable):
    """One of our libraries, opened; an OSError says how to name it."""
    try:
        return _c.CDLL(_file(name, variable))
    except OSError as error:
        raise OSError(f"{error}; {variable} names the file") from None


def _lib():
    """The library, opened at first use."""
    global _loaded
    if _loaded is None:
        library = _opened(_SONAME, "GEMMSMITH_LIBRARY")
        for name, (result, arguments) in _PROTOTYPES.items():
            call = getattr(library, name)
            call.restype, call.argtypes = result, arguments
        _loaded = library
    return _loaded


class Error(Exception):
    """A call failed: .status is the number, .name the code ("GS_ERROR_PARSE"); .field and .column say what is at fault ("", 0: nothing
    in particular)."""

    def __init__(self, status, error=None):
        self.status = status
        self.name = _lib().gs_status_name(status).decode()
        self.field = error.field.decode() if error else ""
        self.column = error.column if error else 0
        place = f"{self.field}, column {self.column}: " if self.column else f"{self.field}: " if self.field else ""
        text = error.text.decode(errors="replace") if error else ""
        more = ": GEMMSMITH_LOG=2 prints what is known of it" if not text and self.name == "GS_ERROR_FAULT" else ""
        super().__init__(f"{place}{text or _lib().gs_status_string(status).decode()}{more}")


def _check(status, error=None):
    if status:
        raise Error(status, error)


def version():
    """Version of the library that is loaded."""
    return _lib().gs_version().decode()


class Problem:
    """What is multiplied, from its text form: "f16:4096x4096x4096:tn", "bf16:1x4096x4096:tn:d=f32", "64_4096_64". str() gives the
    canonical text."""

    def __init__(self, text):
        self._c = _Problem()
        error = _Error()
        if "\0" in text:
            raise ValueError(f"a problem has no NUL: {text!r}")
        _check(_lib().gs_problem_read(_c.byref(self._c), _c.sizeof(self._c), text.encode(), _c.byref(error)), error)
        _check(_lib().gs_problem_check(_c.byref(self._c), _c.byref(error)), error)

    m = property(lambda self: self._c.m)
    n = property(lambda self: self._c.n)
    k = property(lambda self: self._c.k)
    batch = property(lambda self: self._c.batch)
    groups = property(lambda self: self._c.groups)
    masked = property(lambda self: self._c.grouping == 1)
    along_k = property(lambda self: self._c.grouping == 2)
    flops = property(lambda self: _lib().gs_problem_flops(_c.byref(self._c)))

    def bytes(self, operand):
        """Bytes of operand "a", "b", "c" or "d", of the bias, "e", of the offsets or counts of groups, "f", of aux, "g", of scale_m, "h", or scale_n, "i"."""
        return _lib().gs_problem_bytes(_c.byref(self._c), operand.encode())

    def __str__(self):
        text = _c.create_string_buffer(_PROBLEM_TEXT)
        _lib().gs_problem_format(_c.byref(self._c), text)
        return text.value.decode()

    def __repr__(self):
        return f"Problem({str(self)!r})"

    def __eq__(self, other):
        return str(self) == str(other) if isinstance(other, Problem) else NotImplemented

    def __hash__(self):
        return hash(str(self))


def _problem(problem):
    return problem if isinstance(problem, Problem) else Problem(problem)


def _switch(value):
    """None, True or False as the settings have it."""
    return 0 if value is None else 1 if value else -1


def _pointer(value):
    """A device address: an int, None, or an object that has one."""
    if value is None or isinstance(value, int):
        return value
    if hasattr(value, "data_ptr"):
        return value.data_ptr()
    if isinstance(value, Memory):
        return value.pointer
    if hasattr(value, "__cuda_array_interface__"):
        return value.__cuda_array_interface__["data"][0]
    raise TypeError(f"no device pointer: {type(value).__name__}")


def _stream(value):
    """The handle of a stream: an int, None, or torch's Stream."""
    value = getattr(value, "cuda_stream", value)
    if value is not None and (not isinstance(value, int) or value < 0):
        raise TypeError(f"no stream: {value!r}")
    return value


def _scalar(value):
    """Of a number its place on the host, of a tensor (scalars=device) its memory."""
    if value is None:
        return None
    return _c.cast(_pointer(value), _c.POINTER(_c.c_float)) if hasattr(value, "data_ptr") else _c.pointer(_c.c_float(value))


def _args(a, b, d, c, workspace=None, alpha=None, beta=None, bias=None, offsets=None, aux=None, scale_m=None, scale_n=None):
    return _Args(_c.sizeof(_Args), 0, _pointer(a), _pointer(b), _pointer(c), _pointer(d), _pointer(workspace), _scalar(alpha), _scalar(beta), _pointer(bias), _pointer(offsets), _pointer(aux),
                 _pointer(scale_m), _pointer(scale_n))


def _problem_of(plan):
    text = _c.create_string_buffer(_PROBLEM_TEXT)
    _lib().gs_problem_format(_lib().gs_plan_problem(plan), text)
    return text.value.decode()


class Plan:
    """A chosen, loaded kernel for one problem. Any number of threads may run it; made by Context.plan or Context.load.

    .why says in words where the kernel came from, .origin in one ("table", "nearest", "default", "cublaslt", "explicit", "empty",
    "measured", "pack"), .schedule is its text, .workspace its size in bytes."""

    def __init__(self, context, problem, schedule=None, saved=None, measure=None, measure_ms=0):
        self._context = context
        self._c = _c.c_void_p()
        error = _Error()
        if saved is not None:
            status = _lib().gs_plan_load(context._c, saved, len(saved), _c.byref(self._c), _c.byref(error))
            _check(status, error)
            problem = _problem_of(self._c)
        self.problem = _problem(problem)
        if saved is not None:
            status = 0
        elif schedule is None:
            options = _PlanOptions()
            _lib().gs_plan_options_init(_c.byref(options), _c.sizeof(options))
            options.measure, options.measure_ms = _switch(measure), measure_ms
            status = _lib().gs_plan_create_with(context._c, _c.byref(self.problem._c), _c.byref(options), _c.byref(self._c), _c.byref(error))
        else:
            status = _lib().gs_plan_create_schedule(context._c, _c.byref(self.problem._c), schedule.encode(),
                                                    _c.byref(self._c), _c.byref(error))
        _check(status, error)
        context._plans.add(self)

    def run(self, a, b, d, c=None, workspace=None, stream=0, alpha=None, beta=None, bias=None, offsets=None, aux=None, scale_m=None, scale_n=None):
        """Puts one multiplication on the stream (the handle as an int, or torch's Stream; 0: the default stream). c is needed where beta is not 0, bias
        (N or M elements of D's type, with groups groups x N) where the problem has one, offsets where
        it has groups, int32 on the device: groups + 1 of them with g= and gk=, with gm= groups counts,
        aux (M x N of D's type, with a gate M x 2N) where what the activation is applied to is written (ep=...+aux) or read (ep=dgelu). With ep=...+dbias
        the sums of D's columns are written to bias. scale_m (M float32) and scale_n (N, with a gate 2N, with groups a row of these
        for each) are the factors of ep=scale_m+scale_n.
        alpha, beta: other values than the problem's, beta 0 exactly where the problem's is; with scalars=device tensors of one f32 on
        the device, alpha always and beta where the problem's is not 0. The operands must stay alive until it
        has run. Where .workspace is not 0, threads that run the plan at once each need a workspace of their own."""
        self._open()
        arguments, error = _c.byref(_args(a, b, d, c, workspace, alpha, beta, bias, offsets, aux, scale_m, scale_n)), _Error()
        status = _lib().gs_plan_run(self._c, arguments, _stream(stream))
        if status:
            _lib().gs_plan_check(self._c, arguments, _c.byref(error))   # says which argument it was, if it was one
            _check(status, error if error.status else None)

    def save(self):
        """The plan as bytes, compiled code included, for Context.load."""
        self._open()
        size, error = _c.c_size_t(0), _Error()
        _check(_lib().gs_plan_save(self._c, None, _c.byref(size), _c.byref(error)), error)
        buffer = _c.create_string_buffer(size.value)
        _check(_lib().gs_plan_save(self._c, buffer, _c.byref(size), _c.byref(error)), error)
        return buffer.raw

    def _open(self):
        if not self._c:
            raise ValueError("the plan is closed")
        return self._c

    why = property(lambda self: _lib().gs_plan_why(self._open()).decode())
    schedule = property(lambda self: _lib().gs_plan_schedule(self._open()).decode())
    origin = property(lambda self: _ORIGINS[_lib().gs_plan_origin(self._open())])
    workspace = property(lambda self: _lib().gs_plan_workspace(self._open()))

    def alignment(self, operand):
        """Bytes that the pointer of operand "a" to "d" must be a multiple of."""
        return _lib().gs_plan_alignment(self._open(), operand.encode())

    def close(self):
        """Frees the plan; its work must have finished."""
        if self._c:
            self._context._plans.discard(self)
            _lib().gs_plan_destroy(_c.byref(self._c))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Sequence:
    """Several plans, and the caller's own work between them, captured once and launched by one call (Context.sequence). Members run one after the other; they have
    numbers from 0, calls included. One thread at a time.

        h = context.sequence()
        up = h.add(plan_up, x, w1, y)
        h.call(lambda stream: activate(y, stream))    # puts its work on that stream, each time that the sequence is captured
        h.add(plan_down, y, w2, z)
        h.build()
        h.set(up, other_x, w1, y)                     # other operands: no new capture, but with members of cuBLASLt
        h.launch(stream)

    Plans, operands and what the calls use must stay until the launches have run."""

    def __init__(self, context):
        self._context, self._c, self._kept, self._raised = context, _c.c_void_p(), [], None
        error = _Error()
        _check(_lib().gs_sequence_create(context._c, _c.byref(self._c), _c.byref(error)), error)
        context._sequences.add(self)

    def add(self, plan, a, b, d, c=None, **more):
        """Adds a plan with its operands, which are those of Plan.run without the stream: its number, for set."""
        index, error = _c.c_int(), _Error()
        _check(_lib().gs_sequence_add(self._open(), plan._open(), _c.byref(_args(a, b, d, c, **more)), _c.byref(index), _c.byref(error)), error)
        self._kept.append(plan)
        return index.value

    def call(self, function):
        """Adds work of the caller: function(stream) puts it on the stream, a handle as an int, while that is captured. It may wait for nothing. What it raises, build and
        set raise."""
        def capture(_, stream):
            try:
                function(stream or 0)
                return 0
            except BaseException as error:   # no exception passes through the library
                self._raised = error
                return _CALL_RAISED
        kept, error = _SequenceCall(capture), _Error()
        _check(_lib().gs_sequence_add_call(self._open(), kept, None, _c.byref(error)), error)
        self._kept.append(kept)

    def build(self):
        """Captures the members; never while another stream is being captured."""
        error = _Error()
        self._captured(_lib().gs_sequence_build(self._open(), _c.byref(error)), error)

    def set(self, index, a, b, d, c=None, **more):
        """Other operands and scalars for one member, all of them, for launches from now on."""
        error = _Error()
        self._captured(_lib().gs_sequence_set(self._open(), index, _c.byref(_args(a, b, d, c, **more)), _c.byref(error)), error)

    def launch(self, stream=0):
        """Puts all members on the stream (the handle as an int; 0: the default stream)."""
        _check(_lib().gs_sequence_launch(self._open(), _stream(stream)))

    def dependent(self, index):
        """Whether this member may begin before the one in front of it has ended: both are kernels of ours that can, and the sequence is built."""
        return bool(_lib().gs_sequence_dependent(self._open(), index))

    def _captured(self, status, error):
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        _check(status, error)

    def _open(self):
        if not self._c:
            raise ValueError("the sequence is closed")
        return self._c

    def close(self):
        """Frees the sequence; what was launched goes on."""
        if self._c:
            self._context._sequences.discard(self)
            _lib().gs_sequence_destroy(_c.byref(self._c))
            self._kept.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Memory:
    """Device memory of a context (Context.memory), for those who have no other, as on an emulated device. It may be an operand; .pointer is its address."""

    def __init__(self, context, size):
        if not 0 <= size < 1 << 63:
            raise ValueError(f"memory of {size} bytes")
        self._context, self.size, self._c = context, size, _c.c_void_p()
        error = _Error()
        _check(_lib().gs_memory_create(context._c, size, _c.byref(self._c), _c.byref(error)), error)
        context._memory.add(self)

    @property
    def pointer(self):
        if not self._c:
            raise ValueError("the memory is closed")
        return self._c.value

    def write(self, data, at=0):
        """Copies bytes, or what has a buffer, to it."""
        data = data if isinstance(data, bytes) else bytes(memoryview(data))
        self._within(at, len(data))
        error = _Error()
        _check(_lib().gs_memory_write(self._context._c, self.pointer + at, data, len(data), _c.byref(error)), error)

    def read(self, size=None, at=0):
        """Bytes of it, all by default, after waiting for all work of the device."""
        size = self.size - at if size is None else size
        self._within(at, size)
        data, error = _c.create_string_buffer(max(size, 1)), _Error()
        _check(_lib().gs_memory_read(self._context._c, data, self.pointer + at, size, _c.byref(error)), error)
        return data.raw[:size]

    def _within(self, at, size):
        if at < 0 or size < 0 or at + size > self.size:
            raise ValueError(f"bytes {at} to {at + size} of {self.size}")

    def close(self):
        if self._c:
            self._context._memory.discard(self)
            _lib().gs_memory_destroy(self._context._c, self._c)
            self._c = _c.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Context:
    """One device with its tuned tables. May be used by several threads."""

    def __init__(self, device=None, tuned=None, cache=None, cublaslt=True, ours=True, dependent=None, workspace_limit=None, measure=None,
                 measure_ms=0, measure_total_ms=0):
        """dependent: whether launches may start before the one before them has ended; None: $GEMMSMITH_DEPENDENT, else in
        captured streams where it pays.
        workspace_limit: most bytes of workspace that a plan may need.
        measure: whether a plan of a problem that no table has is chosen by a race on the device; None: $GEMMSMITH_MEASURE, else not.
        measure_ms, measure_total_ms: time of the device that one race, and all of this process, may take; 0: 100 and 10000."""
        self._c = _c.c_void_p()
        self._plans = set()
        self._memory = set()
        self._sequences = set()
        config = _Config()
        _lib().gs_config_init(_c.byref(config), _c.sizeof(config))
        config.device = device.encode() if device else None
        config.tuned_path = _os.fsencode(tuned) if tuned else None
        config.cache_path = _os.fsencode(cache) if cache else None
        config.use_cublaslt, config.use_ours = int(cublaslt), int(ours)
        config.dependent, config.measure = _switch(dependent), _switch(measure)
        config.measure_ms, config.measure_total_ms = measure_ms, measure_total_ms
        if workspace_limit is not None:
            config.workspace_limit = workspace_limit
        error = _Error()
        _check(_lib().gs_open(_c.byref(self._c), _c.byref(config), _c.byref(error)), error)

    def plan(self, problem, schedule=None, measure=None, measure_ms=0):
        """Chooses, compiles or loads a kernel; never while a stream is being captured. schedule: a schedule string,
        "cublaslt", or "cublaslt/3" for the third algorithm that cuBLASLt suggests. measure: whether this plan is measured, measure_ms: how
        long at most; None, 0: as the context says."""
        self._open()
        return Plan(self, problem, schedule, measure=measure, measure_ms=measure_ms)

    def memory(self, size):
        """Device memory of so many bytes: a Memory."""
        self._open()
        return Memory(self, size)

    def sequence(self):
        """Several plans as one launch: a Sequence without members."""
        self._open()
        return Sequence(self)

    def status(self):
        """None, or an Error (returned, not raised) of what the context works without: weights or a line of a table that could not be read."""
        error = _Error()
        self._open()
        status = _lib().gs_context_status(self._c, _c.byref(error))
        return Error(status, error) if status else None

    def load(self, saved):
        """A plan from what Plan.save gave: needs no compiler and no cache. An Error where it was saved by another version or for another GPU."""
        self._open()
        return Plan(self, None, saved=bytes(saved))

    def gemm(self, problem, a, b, d, c=None, stream=0, bias=None, offsets=None, aux=None, scale_m=None, scale_n=None):
        """Runs a problem with a plan that the context keeps; the first call for a problem makes it. Thread-safe."""
        error = _Error()
        self._open()
        _check(_lib().gs_gemm(self._c, _c.byref(_problem(problem)._c), _c.byref(_args(a, b, d, c, bias=bias, offsets=offsets, aux=aux, scale_m=scale_m, scale_n=scale_n)), _stream(stream),
                              _c.byref(error)), error)

    def _open(self):
        if not self._c:
            raise ValueError("the context is closed")

    def close(self):
        """Frees the context, and the sequences, plans and memory that are still open."""
        for sequence in list(self._sequences):
            sequence.close()
        for plan in list(self._plans):
            plan.close()
        for memory in list(self._memory):
            memory.close()
        if self._c:
            _lib().gs_close(_c.byref(self._c))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def open(device=None, tuned=None, cache=None, cublaslt=True, ours=True, dependent=None, workspace_limit=None, measure=None, measure_ms=0, measure_total_ms=0):
    """Opens a device ("cuda:0", "emu:h200"; None: $GEMMSMITH_DEVICE, which may name only a GPU here, else the first GPU). tuned: a table or a folder of them instead of
    $GEMMSMITH_TUNED and the user's, an error where it cannot be read; cache: the folder of compiled kernels; cublaslt, ours: whether plans may be cuBLASLt, or our kernels; dependent,
    workspace_limit, measure, measure_ms, measure_total_ms: as in Context."""
    return Context(device, tuned, cache, cublaslt, ours, dependent, workspace_limit, measure, measure_ms, measure_total_ms)
