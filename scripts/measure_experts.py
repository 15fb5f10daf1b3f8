#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The MLP of a mixture's experts in PyTorch, forward and backward: gate and up, SwiGLU, down, on rows that are sorted by expert.

    measure_experts.py BUILD [--experts 8] [--features 4096] [--hidden 14336] [--rows 8192] [--skewed] [--rounds 5] [--out FILE] [--cpu]

loop: torch's products, expert by expert; the host knows how many rows each has. torch: torch's grouped product (torch.nn.functional.grouped_mm, before torch 2.10 torch._grouped_mm), whose offsets
are on the device. ours: gemmsmith.torch.grouped. Each in one CUDA graph, by turns; microseconds of a step, of the device, the median of the rounds and their spread, and the loop's over it.
--skewed: half of the rows go to the first eighth of the experts. --out: a row per measurement is appended. --cpu: tiny, on the emulated device; its times mean nothing."""
import argparse
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    for name, value in (("experts", 8), ("features", 4096), ("hidden", 14336), ("rows", 8192), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--skewed", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    if arguments.cpu:
        arguments.experts, arguments.features, arguments.hidden, arguments.rows = 4, 32, 48, 40
    return arguments


def sizes_of(torch, arguments):
    """Rows of each expert."""
    generator, experts, few = torch.Generator().manual_seed(1), arguments.experts, max(arguments.experts // 8, 1)
    to = torch.randint(0, experts, (arguments.rows,), generator=generator)
    if arguments.skewed:
        to[::2] = torch.randint(0, few, (len(to[::2]),), generator=generator)
    return torch.bincount(to, minlength=experts).tolist()


def make_ways(torch, ours, arguments):
    """name -> a function from x and both weights to the result."""
    sizes, silu, linear = sizes_of(torch, arguments), torch.nn.functional.silu, torch.nn.functional.linear
    offsets = torch.tensor([0, *torch.tensor(sizes).cumsum(0).tolist()], dtype=torch.int32, device="cpu" if arguments.cpu else "cuda")
    product = getattr(torch.nn.functional, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)

    def gated(both):
        gate, up = both.chunk(2, -1)
        return silu(gate) * up

    def loop(x, gate_up, down):
        return torch.cat([linear(gated(linear(rows, gate_up[i])), down[i]) for i, rows in enumerate(x.split(sizes))])

    def by_torch(x, gate_up, down):
        return product(gated(product(x, gate_up.transpose(1, 2), offs=offsets[1:])), down.transpose(1, 2), offs=offsets[1:])

    def by_ours(x, gate_up, down):
        return ours.grouped(ours.grouped(x, gate_up, offsets, "silu", True), down, offsets)

    return {"loop": loop, "ours": by_ours} if arguments.cpu or not product else {"loop": loop, "torch": by_torch, "ours": by_ours}


def make_step(torch, way, operands, slope, cpu):
    """A step, and the gradients it left."""
    def step():
        for operand in operands:
            operand.grad = None
        way(*operands).backward(slope)

    for _ in range(2):
        step()
    if cpu:
        return step
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def time_step(torch, step, cpu):
    if cpu:
        started = time.perf_counter()
        step()
        return (time.perf_counter() - started) * 1e6
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    step()
    first.record()
    for _ in range(10):
        step()
    last.record()
    torch.cuda.synchronize()
    return first.elapsed_time(last) * 100


def main():
    arguments = read_arguments()
    sys.path.insert(0, str(ROOT / "python"))
    os.environ.setdefault("GEMMSMITH_TORCH_LIBRARY", str(arguments.build.resolve() / "libgemmsmith_torch.so"))
    if not os.environ.get("GEMMSMITH_TUNED"):
        os.environ["GEMMSMITH_TUNED"], os.environ["GEMMSMITH_WEIGHTS"] = str(ROOT / "tuned"), str(ROOT / "tuned/nvidia-h200.weights")
    import torch
    import gemmsmith.torch as ours
    torch.manual_seed(1)
    device, rows, features, hidden, experts = "cpu" if arguments.cpu else "cuda", arguments.rows, arguments.features, arguments.hidden, arguments.experts

    def random(*shape):
        return torch.randn(*shape, device=device, dtype=torch.bfloat16)

    operands = [t.requires_grad_() for t in (random(rows, features), random(experts, 2 * hidden, features) * features ** -0.5, random(experts, features, hidden) * hidden ** -0.5)]
    slope, steps, found = random(rows, features), {}, {}
    ways = make_ways(torch, ours, arguments)
    for name, way in ways.items():
        ours.disable()
        if name == "ours" and not ours.enable(emulated="emu:h200,check=0" if arguments.cpu else None):
            raise SystemExit("measure_experts: there is no GPU")
        steps[name] = make_step(torch, way, operands, slope, arguments.cpu)
        steps[name]()
        found[name] = [operand.grad.float().clone() for operand in operands]
    for name in ways:
        worst = max(((g - w).abs().max() / w.abs().max()).item() for g, w in zip(found[name], found["loop"]))
        if worst > 0.03:
            raise SystemExit(f"measure_experts: gradients of {name} are wrong by {worst:.3f}")
    times = {name: [] for name in ways}
    for turn in range(arguments.rounds):
        for name in list(ways)[turn % len(ways):] + list(ways)[:turn % len(ways)]:
            times[name].append(time_step(torch, steps[name], arguments.cpu))
    routing = "skewed" if arguments.skewed else "random"
    for name, all_of in times.items():
        print(f"{experts} x {features} x {hidden}, {rows} rows, {routing}: {name:6} {statistics.median(all_of):10.1f} us ({min(all_of):.1f} to {max(all_of):.1f})  "
              f"{statistics.median(times['loop']) / statistics.median(all_of):.3f}", flush=True)
        if arguments.out:
            with open(arguments.out, "a", encoding="utf-8") as file:
                file.writelines(f"{experts}\t{features}\t{hidden}\t{rows}\t{routing}\t{name}\t{turn}\t{us:.1f}\n" for turn, us in enumerate(all_of))
    print(*ours.why(), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
