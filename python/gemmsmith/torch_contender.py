#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch.matmul against gemmsmith's plans: one process, the same tensors, CUDA graphs, cold operands, rotated rounds.

    python3 torch_contender.py f16:4096x4096x4096:tn 64_4096_64 --library build/libgemmsmith.so --json

Each problem is timed in both layouts, whatever its text says: torch-nn, torch-tn, gemmsmith-nn, gemmsmith-tn. Times are device
times (docs/internals/bench.md); ratios are torch's time over gemmsmith's for the same layout, and best against best.
Exit codes: 0 ok, 1 something failed or a result was wrong, 2 usage, 77 no torch or no GPU.
"""

import argparse
import ctypes
import json
import math
import os
import random
import statistics
import sys

TYPES = {0: "f16", 1: "bf16", 2: "f32"}
LAYOUTS = {"nn": 0, "tn": 1}
F16, F32 = 0, 2
MOST_CALLS = 2000


class Problem(ctypes.Structure):
    """gs_problem of include/gemmsmith/problem.h."""
    _fields_ = [(name, ctypes.c_int) for name in ("input", "acc", "out", "layout")] + \
               [(name, ctypes.c_int64) for name in ("m", "n", "k", "lda", "ldb", "ldc", "ldd", "batch")] + \
               [("alpha", ctypes.c_float), ("beta", ctypes.c_float), ("epilogue", ctypes.c_uint32), ("reserved", ctypes.c_uint32 * 9)]


class Error(ctypes.Structure):
    """gs_error of include/gemmsmith/status.h."""
    _fields_ = [("status", ctypes.c_int), ("column", ctypes.c_int), ("field", ctypes.c_char * 32), ("text", ctypes.c_char * 416)]


class Args(ctypes.Structure):
    """gs_args of include/gemmsmith/plan.h."""
    _fields_ = [(name, ctypes.c_void_p) for name in ("a", "b", "c", "d", "workspace")]


class Failure(Exception):
    pass


class Library:
    """The few calls of libgemmsmith that are needed."""

    def __init__(self, path):
        try:
            self.calls = ctypes.CDLL(path)
        except OSError as reason:
            raise Failure(f"{path} cannot be loaded ({reason}): give the built library with --library") from None
        self.calls.gs_plan_why.restype = ctypes.c_char_p
        self.calls.gs_plan_why.argtypes = [ctypes.c_void_p]
        self.calls.gs_version.restype = ctypes.c_char_p
        self.calls.gs_problem_make.restype = Problem
        self.calls.gs_plan_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Args), ctypes.c_void_p]
        self.context = None

    def must(self, status, error, what):
        if status != 0:
            raise Failure(f"{what}: {error.field.decode()} {error.text.decode()}".strip())

    def open(self):
        context, error = ctypes.c_void_p(), Error()
        self.must(self.calls.gs_open(ctypes.byref(context), None, ctypes.byref(error)), error, "gs_open")
        self.context = context

    def parse(self, text):
        problem, error = Problem(), Error()
        self.must(self.calls.gs_problem_parse(ctypes.byref(problem), text.encode(), ctypes.byref(error)), error, text)
        return problem

    def packed(self, problem, layout):
        """The problem in another layout, packed."""
        other = Problem.from_buffer_copy(problem)
        other.layout = LAYOUTS[layout]
        other.ldb = problem.n if layout == "nn" else problem.k
        return other

    def plan(self, problem):
        plan, error = ctypes.c_void_p(), Error()
        self.must(self.calls.gs_plan_create(self.context, ctypes.byref(problem), ctypes.byref(plan), ctypes.byref(error)), error, "gs_plan_create")
        return plan

    def run(self, plan, a, b, d, stream):
        args = Args(a=a.data_ptr(), b=b.data_ptr(), d=d.data_ptr())
        status = self.calls.gs_plan_run(plan, ctypes.byref(args), stream)
        if status != 0:
            raise Failure(f"gs_plan_run returned status {status}")

    def destroy(self, plan):
        self.calls.gs_plan_destroy(ctypes.byref(plan))

    def close(self):
        if self.context:
            self.calls.gs_close(ctypes.byref(self.context))


def check_supported(problem, text):
    packed = (problem.lda == problem.k and problem.ldc == problem.ldd == problem.n
              and problem.ldb == (problem.n if problem.layout == LAYOUTS["nn"] else problem.k))
    if problem.batch != 1 or problem.alpha != 1 or problem.beta != 0 or problem.epilogue or problem.out != problem.input or not packed:
        raise Failure(f"{text}: only packed problems without batch, scalars, epilogue or another output type are compared with torch.matmul")
    if min(problem.m, problem.n, problem.k) < 1:
        raise Failure(f"{text}: an extent is 0: there is nothing to time")


def set_accumulator(torch, problem):
    """f32 accumulation throughout, split-K partial sums included; f16 only if the problem says so and torch can."""
    matmul = torch.backends.cuda.matmul
    matmul.allow_fp16_reduced_precision_reduction = False
    matmul.allow_bf16_reduced_precision_reduction = False
    wanted = problem.acc == F16
    if hasattr(matmul, "allow_fp16_accumulation"):
        matmul.allow_fp16_accumulation = wanted
    elif wanted:
        raise Failure("this torch cannot accumulate in f16 (2.7 or newer can)")


class Sets:
    """Operands in more than four times the L2 in all; nn and tn hold the same matrices."""

    def __init__(self, torch, problem, seed):
        kind = {0: torch.float16, 1: torch.bfloat16}[problem.input]
        l2 = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0) or 64 << 20
        used = 2 * (problem.m * problem.k + problem.k * problem.n + problem.m * problem.n)
        each = used + 2 * problem.k * problem.n
        free, _ = torch.cuda.mem_get_info()
        self.count = max(2, min(4 * l2 // used + 1, MOST_CALLS, int(0.6 * free) // each))
        self.scratch = torch.empty(4 * l2, dtype=torch.uint8, device="cuda")
        generator = torch.Generator(device="cuda").manual_seed(seed)
        normal = lambda rows, columns: torch.randn(rows, columns, generator=generator, device="cuda", dtype=torch.float32).to(kind)
        self.a = [normal(problem.m, problem.k) for _ in range(self.count)]
        self.b = {"nn": [normal(problem.k, problem.n) for _ in range(self.count)]}
        self.b["tn"] = [b.t().contiguous() for b in self.b["nn"]]
        self.d = [torch.full((problem.m, problem.n), math.nan, dtype=kind, device="cuda") for _ in range(self.count)]


class Contender:
    def __init__(self, name, layout, call):
        self.name, self.layout, self.call = name, layout, call
        self.graph, self.us, self.wrong = None, [], False


def make_contenders(torch, library, problem, sets, plans):
    def with_torch(layout):
        def call(s):
            b = sets.b[layout][s]
            torch.matmul(sets.a[s], b if layout == "nn" else b.t(), out=sets.d[s])
        return call

    def with_plan(layout):
        def call(s):
            library.run(plans[layout], sets.a[s], sets.b[layout][s], sets.d[s], torch.cuda.current_stream().cuda_stream)
        return call

    return [Contender(f"{kind}-{layout}", layout, make(layout)) for layout in LAYOUTS for kind, make in (("torch", with_torch), ("gemmsmith", with_plan))]


def capture(torch, contender, sets, calls):
    contender.graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for s in range(min(3, sets.count)):
            contender.call(s)
        stream.synchronize()
        with torch.cuda.graph(contender.graph, stream=stream):
            for i in range(calls):
                contender.call(i % sets.count)
    torch.cuda.synchronize()


def replay(torch, contender, sets, calls):
    """Device time of a call in microseconds. The scratch fill makes the L2 cold and hides the launch of the graph."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    sets.scratch.zero_()
    start.record()
    contender.graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1000 / calls


def calibrate(torch, contenders, sets, replay_us):
    calls = 16
    for _ in range(3):
        for contender in contenders:
            capture(torch, contender, sets, calls)
        fastest = min(min(replay(torch, c, sets, calls) for _ in range(2)) for c in contenders)
        wanted = max(1, min(MOST_CALLS, math.ceil(1.1 * replay_us / fastest)))
        if wanted <= calls <= 4 * wanted:
            break
        calls = wanted
    else:
        for contender in contenders:
            capture(torch, contender, sets, calls)
    return calls


def check(torch, problem, sets, contender, s):
    """Compares D of one set with an f64 product; the bound is loose, it looks for wrong results."""
    want = sets.a[s].double() @ sets.b["nn"][s].double()
    output = 2.0 ** -8 if problem.out == 1 else 2.0 ** -11
    accumulator = 2.0 ** -24 if problem.acc == F32 else 2.0 ** -11
    growth = max(problem.k, problem.k ** 1.5 / 16)   # partial sums of normal data grow as sqrt(k); the units truncate at each step
    bound = 4 * (output * want.abs() + accumulator * growth)
    contender.wrong = not bool(((sets.d[s].double() - want).abs() <= bound).all())


def measure(torch, problem, sets, contenders, rounds, replay_us):
    calls = calibrate(torch, contenders, sets, replay_us)
    for _ in range(3):
        for contender in contenders:
            replay(torch, contender, sets, calls)
    checked = random.randrange(min(calls, sets.count))
    for r in range(rounds):
        for place in range(len(contenders)):
            contender = contenders[(r + place) % len(contenders)]
            if r == rounds - 1:
                for d in sets.d:
                    d.fill_(math.nan)
            contender.us.append(replay(torch, contender, sets, calls))
            if r == rounds - 1:
                check(torch, problem, sets, contender, checked)
    return calls


def ratio(reference, candidate, seed=1):
    """Median of paired ratios with its 95 % bootstrap interval; over 1: the candidate is faster."""
    pairs = [x / y for x, y in zip(reference, candidate)]
    generator = random.Random(seed)
    medians = sorted(statistics.median(generator.choices(pairs, k=len(pairs))) for _ in range(1000))
    return {"median": statistics.median(pairs), "low": medians[25], "high": medians[974]}


def time_problem(torch, library, text, rounds, replay_us):
    problem = library.parse(text)
    check_supported(problem, text)
    set_accumulator(torch, problem)
    plans = {}
    try:
        for layout in LAYOUTS:
            plans[layout] = library.plan(library.packed(problem, layout))
        sets = Sets(torch, problem, random.getrandbits(62))
        contenders = make_contenders(torch, library, problem, sets, plans)
        calls = measure(torch, problem, sets, contenders, rounds, replay_us)
        result = {"problem": text, "type": TYPES[problem.input], "acc": TYPES[problem.acc], "m": problem.m, "n": problem.n, "k": problem.k,
                  "gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "gemmsmith": library.calls.gs_version().decode(),
                  "clock": "device", "rounds": rounds, "calls": calls, "sets": sets.count,
                  "contenders": {c.name: {"us": statistics.median(c.us), "samples": c.us, "wrong": c.wrong} for c in contenders},
                  "why": {layout: library.calls.gs_plan_why(plans[layout]).decode() for layout in LAYOUTS}}
        by_name = {c.name: c.us for c in contenders}
        result["ratio"] = {layout: ratio(by_name[f"torch-{layout}"], by_name[f"gemmsmith-{layout}"]) for layout in LAYOUTS}
        best = {kind: [min(pair) for pair in zip(by_name[f"{kind}-nn"], by_name[f"{kind}-tn"])] for kind in ("torch", "gemmsmith")}
        result["ratio"]["max"] = ratio(best["torch"], best["gemmsmith"])
        return result
    finally:
        torch.cuda.synchronize()
        for plan in plans.values():
            library.destroy(plan)


def print_line(result):
    times = "  ".join(f"{name} {c['us']:.2f}{' WRONG' if c['wrong'] else ''}" for name, c in result["contenders"].items())
    ratios = "  ".join(f"{layout} {r['median']:.4f} [{r['low']:.4f}, {r['high']:.4f}]" for layout, r in result["ratio"].items())
    print(f"{result['problem']}  device us: {times}  ratio: {ratios}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="torch.matmul against gemmsmith, device time, one process.")
    parser.add_argument("problems", nargs="+", metavar="PROBLEM", help="f16:4096x4096x4096:tn or M_N_K")
    parser.add_argument("--library", default="libgemmsmith.so", metavar="PATH", help="libgemmsmith.so to load")
    parser.add_argument("--rounds", type=int, default=30, help="interleaved rounds (30)")
    parser.add_argument("--replay-us", type=float, default=500, help="shortest replay of a graph in microseconds (500)")
    parser.add_argument("--json", action="store_true", help="one JSON object per problem and line")
    options = parser.parse_args()
    if options.rounds < 5:
        parser.error("--rounds: at least 5")
    try:
        import torch
    except ImportError:
        print("skipped: PyTorch is not installed (pip install torch)", file=sys.stderr)
        return 77
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no CUDA device", file=sys.stderr)
        return 77
    os.environ.setdefault("GEMMSMITH_DEVICE", "cuda:0")
    torch.cuda.init()
    library, failed = None, False
    try:
        library = Library(options.library)
        library.open()
        for text in options.problems:
            result = time_problem(torch, library, text, options.rounds, options.replay_us)
            failed = failed or any(c["wrong"] for c in result["contenders"].values())
            print(json.dumps(result), flush=True) if options.json else print_line(result)
    except Failure as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 1
    finally:
        if library:
            library.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
