#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Batch-invariant problems beside ordinary ones, torch.mm and a persistent Triton kernel with fixed blocks, on Llama-3-8B's and Qwen2.5-7B's layers (bf16, tn).

    GEMMSMITH_TUNED=tuned python3 scripts/measure_invariant.py build/release/libgemmsmith.so ROWS.jsonl [SECONDS=220] [M,M,...]

Interleaved rounds of CUDA graphs, each call with the next of enough operand sets to exceed four times the L2. One JSON line per case and contender; a summary at the end."""
import ctypes as c, json, math, statistics, sys, time
from concurrent.futures import ThreadPoolExecutor
import torch
try:
    import triton, triton.language as tl
except ImportError:
    triton = None

LIB, ROWS = sys.argv[1], open(sys.argv[2], "w")
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 220
MS = [int(m) for m in sys.argv[4].split(",")] if len(sys.argv) > 4 else [1, 4, 16, 64, 128, 512, 2048, 4096]
LAYERS = [("llama-3-8b", "qkv", 6144, 4096), ("llama-3-8b", "o", 4096, 4096), ("llama-3-8b", "gate_up", 28672, 4096), ("llama-3-8b", "down", 4096, 14336),
          ("qwen2.5-7b", "qkv", 4608, 3584), ("qwen2.5-7b", "o", 3584, 3584), ("qwen2.5-7b", "gate_up", 37888, 3584), ("qwen2.5-7b", "down", 3584, 18944)]
ROUNDS, START = 15, time.time()


class Args(c.Structure):
    _fields_ = [("size", c.c_uint32), ("flags", c.c_uint32)] + [(n, c.c_void_p) for n in ("a", "b", "c", "d", "workspace", "alpha", "beta", "bias", "offsets", "aux", "scale_m", "scale_n")] + \
               [("reserved", c.c_uint64)]


lib = c.CDLL(LIB)
lib.gs_plan_schedule.restype = lib.gs_plan_why.restype = c.c_char_p
for call in (lib.gs_plan_schedule, lib.gs_plan_why):
    call.argtypes = [c.c_void_p]
lib.gs_plan_run.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p]
torch.cuda.init()
torch.zeros(1, device="cuda")


def check(status, error):
    if status:
        raise RuntimeError(error.raw[40:456].split(b"\0")[0].decode())


def open_context():
    context, error = c.c_void_p(), c.create_string_buffer(512)
    check(lib.gs_open(c.byref(context), None, error), error)
    return context


def plan_of(context, text):
    problem, plan, error = c.create_string_buffer(200), c.c_void_p(), c.create_string_buffer(512)
    check(lib.gs_problem_read(problem, c.c_size_t(200), text.encode(), error), error)
    check(lib.gs_plan_create(context, problem, c.byref(plan), error), error)
    return plan


if triton:
    @triton.jit
    def persistent(a_ptr, w_ptr, d_ptr, M, N, K, SMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
        tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
        tiles, steps, per_group = tiles_m * tiles_n, tl.cdiv(K, BK), GROUP * tiles_n
        offs_k = tl.arange(0, BK)
        for tile in tl.range(tl.program_id(0), tiles, SMS, flatten=True):
            group = tile // per_group
            first = group * GROUP
            rows = min(tiles_m - first, GROUP)
            pm, pn = first + (tile % per_group) % rows, (tile % per_group) // rows
            rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
            rm_in, rn_in = tl.where(rm < M, rm, 0), tl.where(rn < N, rn, 0)
            rm_in, rn_in = tl.max_contiguous(tl.multiple_of(rm_in, BM), BM), tl.max_contiguous(tl.multiple_of(rn_in, BN), BN)
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for k in range(steps):
                ks = k * BK + offs_k
                a = tl.load(a_ptr + rm_in[:, None] * K + ks[None, :], mask=ks[None, :] < K, other=0.0)
                w = tl.load(w_ptr + rn_in[None, :] * K + ks[:, None], mask=ks[:, None] < K, other=0.0)
                acc = tl.dot(a, w, acc)
            d = d_ptr + rm[:, None] * N + rn[None, :]
            tl.store(d, acc.to(tl.bfloat16), mask=(rm[:, None] < M) & (rn[None, :] < N))


SMS = torch.cuda.get_device_properties(0).multi_processor_count
L2 = torch.cuda.get_device_properties(0).L2_cache_size


def triton_mm(a, w, d):
    m, k = a.shape
    n = w.shape[0]
    persistent[(min(SMS, triton.cdiv(m, 128) * triton.cdiv(n, 128)),)](a, w, d, m, n, k, SMS=SMS, BM=128, BN=128, BK=64, GROUP=8, num_warps=8, num_stages=3)


def ours(plan):
    def run(a, w, d):
        args = Args(size=c.sizeof(Args), a=a.data_ptr(), b=w.data_ptr(), d=d.data_ptr())
        status = lib.gs_plan_run(plan, c.byref(args), torch.cuda.current_stream().cuda_stream)
        if status:
            raise RuntimeError(f"gs_plan_run: {status}")
    return run


def torch_mm(a, w, d):
    torch.mm(a, w.t(), out=d)


def graph_of(run, sets, calls):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for s in sets[:2]:
            run(*s)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(calls):
            run(*sets[i % len(sets)])
    return graph


def time_us(graph):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def main():
    context = open_context()
    texts = [f"bf16:{m}x{n}x{k}:tn{inv}" for _, _, n, k in LAYERS for m in MS for inv in ("", ":inv=1")]
    with ThreadPoolExecutor(14) as pool:
        plans = dict(zip(texts, pool.map(lambda t: plan_of(context, t), texts)))
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__ if triton else None}; {len(plans)} plans in {time.time() - START:.0f} s", flush=True)
    ratios = []
    for model, layer, n, k in LAYERS:
        weight = None
        for m in MS:
            if time.time() - START > SECONDS:
                print("time is up")
                break
            used = 2 * (m * k + n * k + m * n)
            count = max(2, min(64, math.ceil(4 * L2 / used)))
            if weight is None or len(weight) < count:
                weight = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(count)]
            sets = [(torch.randn(m, k, device="cuda", dtype=torch.bfloat16), weight[i], torch.empty(m, n, device="cuda", dtype=torch.bfloat16)) for i in range(count)]
            plain, inv = plans[f"bf16:{m}x{n}x{k}:tn"], plans[f"bf16:{m}x{n}x{k}:tn:inv=1"]
            contenders = [("plan", ours(plain)), ("invariant", ours(inv)), ("torch.mm", torch_mm)] + ([("triton", triton_mm)] if triton else [])
            # results agree, before anything is timed
            want = torch.mm(sets[0][0].float(), sets[0][1].float().t())
            for name, run in contenders:
                run(*sets[0])
                torch.cuda.synchronize()
                worst = ((sets[0][2].float() - want).abs().max() / want.abs().max()).item()
                if worst > 0.02:
                    raise RuntimeError(f"{name} {m}x{n}x{k}: error {worst}")
            del want
            expected = max(used / 3.5e6, 2.0 * m * n * k / 6e8, 3)   # us
            calls = max(count, min(400, math.ceil(3000 / expected)))
            calls = (calls + count - 1) // count * count
            graphs = [(name, graph_of(run, sets, calls)) for name, run in contenders]
            times = {name: [] for name, _ in graphs}
            for r in range(ROUNDS + 2):
                for name, graph in graphs[r % len(graphs):] + graphs[:r % len(graphs)]:
                    us = time_us(graph) / calls
                    if r >= 2:
                        times[name].append(us)
            med = {name: statistics.median(t) for name, t in times.items()}
            row = {"model": model, "layer": layer, "m": m, "n": n, "k": k, "sets": count, "calls": calls, "us": {a: round(b, 3) for a, b in med.items()},
                   "rounds": {a: [round(x, 3) for x in b] for a, b in times.items()}, "plan": lib.gs_plan_schedule(plain).decode(), "invariant": lib.gs_plan_schedule(inv).decode(),
                   "why": lib.gs_plan_why(inv).decode(), "gpu": torch.cuda.get_device_name()}
            ROWS.write(json.dumps(row) + "\n")
            ROWS.flush()
            ratios.append((m, med["invariant"] / med["plan"], med["torch.mm"] / med["invariant"], med.get("triton", float("nan")) / med["invariant"]))
            print(f"{model} {layer:8} M {m:5}  " + "  ".join(f"{a} {b:8.2f}" for a, b in med.items()) + f"  cost {ratios[-1][1]:.3f}  torch/inv {ratios[-1][2]:.3f}  triton/inv {ratios[-1][3]:.3f}"
                  f"  {row['plan']} | {row['invariant']}", flush=True)
            del graphs, sets
            torch.cuda.empty_cache()
    mean = lambda v: math.exp(sum(math.log(x) for x in v) / len(v))
    for m in [None] + MS:
        part = [r for r in ratios if m is None or r[0] == m]
        if part:
            print(f"{'all' if m is None else 'M ' + str(m):8} {len(part)} cases: invariant/plan {mean([r[1] for r in part]):.4f} (arithmetic {statistics.mean(r[1] for r in part):.4f}), "
                  f"torch.mm/invariant {mean([r[2] for r in part]):.4f}, triton/invariant {mean([r[3] for r in part]):.4f}")
    print(f"{time.time() - START:.0f} s")


main()
