#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A torch program that nobody changed, under LD_PRELOAD, on a GPU: counts, results, all modes, a captured graph, the cost of passing on; the C example.

    preload.py LIBRARY [--decoder PROGRAM] [--tuned FOLDER]

Prints a line for each check, PASS or FAIL, then figures; exit 77 without torch or GPU."""
import argparse
import collections
import ctypes
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time


def products(torch, out):
    """Every kind of product; results by name, on the host. The operations are counted by torch's own profiler."""
    torch.manual_seed(4711)
    device = torch.device("cuda")
    def normal(*shape, dtype=torch.bfloat16):
        return torch.randn(*shape, dtype=torch.float32).to(dtype).to(device)
    x16, x1, w, wide = normal(16, 4096), normal(1, 4096), normal(4096, 4096), normal(14336, 4096)
    bias, half, half_w = normal(4096), normal(64, 1024, dtype=torch.float16), normal(1024, 2048, dtype=torch.float16)
    batch_a, batch_b = normal(32, 128, 64, dtype=torch.float16), normal(32, 64, 128, dtype=torch.float16)
    odd_a, odd_b = normal(77, 333, dtype=torch.float16), normal(333, 129, dtype=torch.float16)
    linear = torch.nn.functional.linear
    side = torch.cuda.Stream()
    out["linear 16"] = linear(x16, w)
    out["linear 1"] = linear(x1, w)
    out["linear wide"] = linear(x16, wide)
    out["linear bias"] = linear(x16, w, bias)
    out["mm f16"] = half @ half_w
    out["mm odd"] = odd_a @ odd_b
    out["mm transposed"] = half.t().contiguous().t() @ half_w
    out["bmm"] = torch.bmm(batch_a, batch_b)
    out["baddbmm"] = torch.baddbmm(normal(32, 128, 128, dtype=torch.float16), batch_a, batch_b, beta=0.5, alpha=2)
    out["addmm"] = torch.addmm(normal(64, 2048, dtype=torch.float16), half, half_w, beta=0.5, alpha=0.25)
    out["mm f32"] = half.float() @ half_w.float()
    weight = half_w.clone().requires_grad_()
    (half @ weight).float().square().mean().backward()
    out["gradient"] = weight.grad
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out["side stream"] = linear(x16, w)
    torch.cuda.current_stream().wait_stream(side)
    large_a, large_b = normal(2048, 4096), normal(4096, 4096)
    out["mm large"] = large_a @ large_b
    torch.cuda.synchronize()
    return x16, w, bias


def graph(torch, out, x, w, bias):
    """Captured on a stream that never ran it, replayed between usual calls; the last layer's shape is new inside the capture."""
    linear = torch.nn.functional.linear
    captured, y = torch.cuda.CUDAGraph(), None
    with torch.cuda.graph(captured):
        y = linear(linear(x, w), w, bias)
        z = linear(x[:7], w)
    for i in range(3):
        x.mul_(0.5)
        beside = linear(x, w)
        captured.replay()
        out[f"graph {i}"], out[f"graph new {i}"], out[f"beside {i}"] = y.clone(), z.clone(), beside
    torch.cuda.synchronize()


def host_ns(function, rounds=40, calls=500, wait=None):
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter_ns() - start) / calls)
        wait()
    return best


def cost(path):
    """ns of a call of cublasGemmEx by ctypes: through whatever is preloaded, and straight into the library; the difference is what passing on costs."""
    import torch
    library = ctypes.CDLL("libcublas.so.13")   # torch's, which is loaded
    handle = ctypes.c_void_p(torch.cuda.current_blas_handle())
    a, b, c = (torch.zeros(64, 64, dtype=torch.float16, device="cuda") for _ in range(3))
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    def caller(of, algorithm):
        call = of.cublasGemmEx
        pointer = ctypes.c_void_p
        arguments = (handle, 0, 0, 64, 64, 64, ctypes.byref(one), pointer(a.data_ptr()), 2, 64, pointer(b.data_ptr()), 2, 64, ctypes.byref(zero), pointer(c.data_ptr()), 2, 64, 68, algorithm)
        return lambda: call(*arguments)
    ours, found = ctypes.CDLL(os.environ["LD_PRELOAD"].split(":")[-1]), {}
    for name, of, algorithm in (("straight", library, 5), ("algorithm", ours, 5), ("usual", ours, 99), ("straight again", library, 5)):   # another algorithm is passed on
        found[name] = host_ns(caller(of, algorithm), wait=torch.cuda.synchronize)
    pathlib.Path(path + ".json").write_text(json.dumps(found))


def counted(torch, events):
    """Products of f16 and bf16 that torch gave to cuBLAS, by operation."""
    names = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}
    return sum(1 for e in events if e.name in names)


def work(path):
    import torch
    out = {}
    if not torch.cuda.is_available():
        sys.exit(77)
    products(torch, {})   # what is made at first sight, cuBLAS's own too
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profile:
        x, w, bias = products(torch, out)
    torch_calls = counted(torch, profile.events()) - 1   # mm f32 is another function
    kernels = collections.Counter(e.name for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA)
    graph(torch, out, x, w, bias)
    figures = {"torch_calls": torch_calls, "kernels": dict(kernels.most_common(40))}
    torch.save({name: value.cpu() for name, value in out.items()}, path + ".pt")
    pathlib.Path(path + ".json").write_text(json.dumps(figures))


good_count = bad = 0


def check(good, text):
    global good_count, bad
    good_count += bool(good)
    bad += not good
    print(("PASS  " if good else "FAIL  ") + text, flush=True)


def read_report(path):
    counts = collections.defaultdict(dict)
    if path.exists():
        for line in path.read_text().splitlines():
            if not line.startswith("#"):
                function, what, count = line.split("\t")
                counts[function][what] = counts[function].get(what, 0) + int(count)
    return counts


def total(counts, what, functions=None):
    return sum(of.get(what, 0) for function, of in counts.items() if function != "check" and (functions is None or function in functions))


def child(arguments, folder, name, mode, program=None, does="--work"):
    """Runs this script, or a program, in one mode. None: without us."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    for variable in ("GEMMSMITH_BLAS", "GEMMSMITH_RECORD", "LD_PRELOAD"):
        environment.pop(variable, None)
    if arguments.tuned:
        environment["GEMMSMITH_TUNED"] = arguments.tuned
    if mode:
        environment.update(LD_PRELOAD=str(pathlib.Path(arguments.library).resolve()), GEMMSMITH_BLAS=mode, GEMMSMITH_LOG="3", GEMMSMITH_BLAS_REPORT=str(folder / f"{name}.report"))
    if mode == "record":
        (folder / "recorded").mkdir(exist_ok=True)
        environment["GEMMSMITH_RECORD"] = str(folder / "recorded")
    command = program or [sys.executable, __file__, does, str(folder / name)]
    start = time.time()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    (folder / f"{name}.log").write_text(done.stderr)
    print(f"      {name}: {time.time() - start:.1f} s, exit {done.returncode}", flush=True)
    if done.returncode not in (0, 77):
        print("\n".join((done.stdout + done.stderr).splitlines()[-15:]))
    return done


def compare(torch, folder, name, base):
    worst, where = 0.0, ""
    own = torch.load(folder / f"{name}.pt")
    for key, value in base.items():
        a, b = value.double(), own[key].double()
        error = ((a - b).norm() / a.norm()).item()
        if not error <= worst:
            worst, where = error, key
    check(len(own) == len(base) and worst < 6e-3, f"{name}: results of {len(own)} products as without us: worst relative difference {worst:.2e} ({where})")


def all_modes(arguments, folder):
    import torch
    done = child(arguments, folder, "none", None)
    if done.returncode == 77:
        print("skipped: no GPU")
        sys.exit(77)
    check(done.returncode == 0, "without us")
    base, figures = torch.load(folder / "none.pt"), {}
    for mode in ("off", "record", "run", "check"):
        done = child(arguments, folder, mode, mode)
        check(done.returncode == 0, f"{mode}: torch runs")
        if done.returncode == 0:
            compare(torch, folder, mode, base)
            figures[mode] = json.loads((folder / f"{mode}.json").read_text())
    counts = {mode: read_report(folder / f"{mode}.report") for mode in figures}
    for mode in counts:
        print(f"      {mode}: " + "; ".join(f"{f} " + " ".join(f"{w}={c}" for w, c in of.items()) for f, of in counts[mode].items()))
    expected = json.loads((folder / "none.json").read_text())["torch_calls"]
    for mode, of in counts.items():
        calls = total(of, "calls")   # twice in products, 2 + 1 in the capture, 3 beside
        check(calls == 2 * expected + 6, f"{mode}: {calls} calls, torch's profiler has {expected} in a pass: {2 * expected + 6} in two with the graph's")
    check(total(counts["off"], "off") == total(counts["off"], "calls"), "off: everything passed on")
    check(total(counts["record"], "recorded") > 0 and total(counts["record"], "served") == 0, "record: nothing served")
    recorded = sum(int(line.split("\t")[0]) for file in glob.glob(str(folder / "recorded" / "*.txt")) for line in open(file, encoding="utf-8").read().splitlines()[1:])
    check(recorded >= total(counts["record"], "recorded"), f"record: {recorded} calls written down, {total(counts['record'], 'recorded')} recorded")
    served, calls = total(counts["run"], "served"), total(counts["run"], "calls")
    check(served > 0, f"run: {served} of {calls} calls served")
    check(total(counts["run"], "launch") == 0 and total(counts["run"], "no_plan") == 0 and total(counts["run"], "device") == 0, "run: no launch failed, every plan was made")
    check(counts["check"].get("check", {}).get("compared", 0) > 0 and counts["check"]["check"].get("wrong") == 0, f"check: {counts['check'].get('check')}")
    for line in (folder / "run.log").read_text().splitlines():
        if "blas: " in line:
            print("      " + line.split("blas: ")[1][:200])
    for mode in ("off", "run"):
        if child(arguments, folder, f"cost {mode}", mode, does="--cost").returncode == 0:
            ns = json.loads((folder / f"cost {mode}.json").read_text())
            over = ns["algorithm"] - min(ns["straight"], ns["straight again"])
            check(over < 300, f"{mode}: passing on costs {over:.0f} ns; ns of a call by ctypes: " + ", ".join(f"{k} {v:.0f}" for k, v in ns.items()))
    print("      kernels without us: " + json.dumps(json.loads((folder / "none.json").read_text())["kernels"])[:1500])
    print("      kernels in mode run: " + json.dumps(figures["run"]["kernels"])[:1500])


def example(arguments, folder):
    for name, mode in (("decoder alone", None), ("decoder run", "run"), ("decoder check", "check"), ("decoder off", "off")):
        done = child(arguments, folder, name, mode, [arguments.decoder, "16", "4096", "20" if mode == "check" else "1000"])
        print("".join("      " + line + "\n" for line in done.stdout.splitlines()), end="")
        check(done.returncode == 0, name)
        report = read_report(folder / f"{name}.report")
        if mode:
            print(f"      {dict(report)}")
        if mode == "check":
            check(report.get("check", {}).get("wrong") == 0, "decoder check: none wrong")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", nargs="?")
    parser.add_argument("--decoder")
    parser.add_argument("--tuned")
    parser.add_argument("--work")
    parser.add_argument("--cost")
    arguments = parser.parse_args()
    if arguments.work:
        return work(arguments.work)
    if arguments.cost:
        return cost(arguments.cost)
    try:
        import torch  # noqa: F401
    except ImportError:
        print("skipped: there is no torch")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            all_modes(arguments, folder)
            if arguments.decoder:
                example(arguments, folder)
        finally:   # logs, reports and figures, not the results
            for file in folder.iterdir() if os.environ.get("OUT") else ():
                if file.suffix in (".log", ".report", ".json"):
                    shutil.copy(file, os.environ["OUT"])
    print(f"{good_count} passed, {bad} failed")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
