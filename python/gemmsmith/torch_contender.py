#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch.matmul against gemmsmith's plans: one process, the same tensors, CUDA graphs, cold operands, rotated rounds.

    python3 torch_contender.py f16:4096x4096x4096:tn 64_4096_64 --library build/libgemmsmith.so --json

Each problem is timed in both layouts, whatever its text says: torch-nn, torch-tn, gemmsmith-nn, gemmsmith-tn. Times are device
times (docs/internals/bench.md); ratios are torch's time over gemmsmith's for the same layout, and best against best.
Exit codes: 0 ok, 1 something failed or a result was wrong, 2 usage, 77 no torch or no GPU.
"""

import argparse
import json
import math
import os
import random
import statistics
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))   # run as a file: the package's folder, not its modules
import gemmsmith

LAYOUTS = ("nn", "tn")
MOST_CALLS = 2000


class Failure(Exception):
    pass


class Case:
    """A problem that torch.matmul can be asked too, in both layouts."""

    def __init__(self, text):
        problem = gemmsmith.Problem(text)
        kind, extents, layout, *fields = str(problem).split(":")
        if [field for field in fields if not field.startswith("acc=")]:
            raise Failure(f"{text}: only packed problems without batch, scalars, epilogue or another output type are compared with torch.matmul")
        if layout not in LAYOUTS:
            raise Failure(f"{text}: only layouts nn and tn are compared with torch.matmul")
        self.type, self.acc = kind, "f16" if "acc=f16" in fields else "f32"
        self.m, self.n, self.k = problem.m, problem.n, problem.k
        if min(self.m, self.n, self.k) < 1:
            raise Failure(f"{text}: an extent is 0: there is nothing to time")
        self.texts = {layout: ":".join([kind, extents, layout, *fields]) for layout in LAYOUTS}


def set_accumulator(torch, problem):
    """f32 accumulation throughout, split-K partial sums included; f16 only if the problem says so and torch can."""
    matmul = torch.backends.cuda.matmul
    matmul.allow_fp16_reduced_precision_reduction = False
    matmul.allow_bf16_reduced_precision_reduction = False
    wanted = problem.acc == "f16"
    if hasattr(matmul, "allow_fp16_accumulation"):
        matmul.allow_fp16_accumulation = wanted
    elif wanted:
        raise Failure("this torch cannot accumulate in f16 (2.7 or newer can)")


class Sets:
    """Operands in more than four times the L2 in all; nn and tn hold the same matrices."""

    def __init__(self, torch, problem, seed):
        kind = {"f16": torch.float16, "bf16": torch.bfloat16}[problem.type]
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


def make_contenders(torch, sets, plans):
    def with_torch(layout):
        def call(s):
            b = sets.b[layout][s]
            torch.matmul(sets.a[s], b if layout == "nn" else b.t(), out=sets.d[s])
        return call

    def with_plan(layout):
        def call(s):
            plans[layout].run(sets.a[s], sets.b[layout][s], sets.d[s], stream=torch.cuda.current_stream().cuda_stream)
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
    output = 2.0 ** -8 if problem.type == "bf16" else 2.0 ** -11
    accumulator = 2.0 ** -24 if problem.acc == "f32" else 2.0 ** -11
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


def time_problem(torch, context, text, rounds, replay_us):
    problem = Case(text)
    set_accumulator(torch, problem)
    plans = {}
    try:
        for layout in LAYOUTS:
            plans[layout] = context.plan(problem.texts[layout])
        sets = Sets(torch, problem, random.getrandbits(62))
        contenders = make_contenders(torch, sets, plans)
        calls = measure(torch, problem, sets, contenders, rounds, replay_us)
        result = {"problem": text, "type": problem.type, "acc": problem.acc, "m": problem.m, "n": problem.n, "k": problem.k,
                  "gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "gemmsmith": gemmsmith.version(),
                  "clock": "device", "rounds": rounds, "calls": calls, "sets": sets.count,
                  "contenders": {c.name: {"us": statistics.median(c.us), "samples": c.us, "wrong": c.wrong} for c in contenders},
                  "why": {layout: plans[layout].why for layout in LAYOUTS}}
        by_name = {c.name: c.us for c in contenders}
        result["ratio"] = {layout: ratio(by_name[f"torch-{layout}"], by_name[f"gemmsmith-{layout}"]) for layout in LAYOUTS}
        best = {kind: [min(pair) for pair in zip(by_name[f"{kind}-nn"], by_name[f"{kind}-tn"])] for kind in ("torch", "gemmsmith")}
        result["ratio"]["max"] = ratio(best["torch"], best["gemmsmith"])
        return result
    finally:
        torch.cuda.synchronize()
        for plan in plans.values():
            plan.close()


def print_line(result):
    times = "  ".join(f"{name} {c['us']:.2f}{' WRONG' if c['wrong'] else ''}" for name, c in result["contenders"].items())
    ratios = "  ".join(f"{layout} {r['median']:.4f} [{r['low']:.4f}, {r['high']:.4f}]" for layout, r in result["ratio"].items())
    print(f"{result['problem']}  device us: {times}  ratio: {ratios}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="torch.matmul against gemmsmith, device time, one process.")
    parser.add_argument("problems", nargs="+", metavar="PROBLEM", help="f16:4096x4096x4096:tn or M_N_K")
    parser.add_argument("--library", metavar="PATH", help="libgemmsmith.so to load; default: as `import gemmsmith` finds it")
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
    if options.library:
        os.environ["GEMMSMITH_LIBRARY"] = options.library
    failed = False
    try:
        with gemmsmith.open() as context:
            for text in options.problems:
                result = time_problem(torch, context, text, options.rounds, options.replay_us)
                failed = failed or any(c["wrong"] for c in result["contenders"].values())
                print(json.dumps(result), flush=True) if options.json else print_line(result)
    except (Failure, gemmsmith.Error, OSError) as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
