#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A decoder in PyTorch: steps, prefill and a training step with the dimensions of Llama-3-8B or Qwen2.5-7B, random weights in bf16 and few layers; torch alone, with
gemmsmith.torch.enable(), and with its fused operators.

    measure_decoder.py BUILD [--model llama] [--batches 1,4,16,64,128] [--prefill 2048] [--train [2048]] [--modes eager,graph,compile,compiled-graph] [--variants torch,ours,fused]
                             [--layers 8] [--rounds 3] [--seconds 520] [--rows FILE] [--hf] [--cpu] [--products]

A process of each variant, with a cache of Inductor of its own, makes a part ready; then they measure by turns, in rotated order. Each measurement is a row of the file: model, part (decode and a batch, prefill or train and
tokens: forward and backward of one layer), mode, variant, round, microseconds of a step, tokens per second. What does not fit into --seconds is left out and named; a part alone is --batches 16 --prefill 0.

--variants takes any of these with words behind it: "+pdl", Inductor's own kernels are launched dependently too (TORCHINDUCTOR_ENABLE_PDL); "+plain", ours never are; "+const", weights are
promised to be constant (enable(constant_weights=True)); "+norms", in `fused` norms are rms_norm() too; "+qkv", there q, k and v are one product.
modes: graph, the step captured as a CUDA graph; compile, torch.compile's max-autotune with Inductor's graphs; compiled-graph, max-autotune without them, captured as a whole.
--products: in `ours` and `fused` torch.compile keeps products of one row, which max-autotune makes a multiplication and a sum.
--hf: the class of transformers, with fuse() for `fused`. --cpu: tiny, on the emulated device; its times mean nothing."""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIMENSIONS = {"llama": dict(features=4096, hidden=14336, heads=32, kv=8, vocabulary=128256, bias=False),
              "qwen": dict(features=3584, hidden=18944, heads=28, kv=4, vocabulary=152064, bias=True)}


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--model", default="llama", choices=sorted(DIMENSIONS))
    parser.add_argument("--batches", default="1,4,16,64,128")
    parser.add_argument("--prefill", type=int, default=2048)
    parser.add_argument("--modes", default="eager,graph,compile")
    parser.add_argument("--variants", default="torch,ours,fused")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=520)
    parser.add_argument("--rows", default="decoder.tsv")
    parser.add_argument("--train", type=int, nargs="?", const=2048, default=0, metavar="TOKENS")
    for flag in ("--hf", "--cpu", "--products"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.dimensions = dict(DIMENSIONS[arguments.model])
    if arguments.cpu:
        heads = arguments.dimensions["heads"]
        arguments.dimensions.update(features=heads * 8, hidden=192, vocabulary=256)
        arguments.layers, arguments.context, arguments.prefill, arguments.train = 1, 16, min(arguments.prefill, 32), min(arguments.train, 32)
    return arguments


# ---- the parent ----

def words_of(variant):
    """(what computes, the words behind it)."""
    name, *words = variant.split("+")
    if name not in ("torch", "ours", "fused") or not set(words) <= {"pdl", "plain", "const", "norms", "qkv"}:
        raise SystemExit(f"measure_decoder: {variant}: no variant: torch, ours or fused, with +pdl, +plain, +const, +norms or +qkv behind it")
    return name, words


class Worker:
    def __init__(self, variant):
        _, words = words_of(variant)
        environment = dict(os.environ, TORCHINDUCTOR_ENABLE_PDL="1" if "pdl" in words else "0")
        if "plain" in words:
            environment["GEMMSMITH_DEPENDENT"] = "0"
        self.process = subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--worker", variant], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        if self._answer() is None:
            raise SystemExit(f"measure_decoder: the process of {variant} did not start")

    def _answer(self):
        for line in self.process.stdout:   # torch may write there too
            if line.startswith("{"):
                return json.loads(line)
        return None

    def ask(self, *words):
        """An answer, or {"error": ...}."""
        try:
            self.process.stdin.write(" ".join(words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": "the process has ended"}
        answer = self._answer()
        return {"error": "the process has ended"} if answer is None else answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def measure_part(workers, arguments, part, mode, rows):
    """variant -> times of the rounds."""
    times = {}
    for variant, worker in workers.items():
        said = worker.ask("make", part, mode)
        if "error" in said:
            print(f"{part} {mode} {variant}: {said['error']}", flush=True)
        else:
            times[variant] = []
    order = list(times)
    for turn in range(arguments.rounds):
        for variant in order[turn % max(len(order), 1):] + order[:turn % max(len(order), 1)]:
            said = workers[variant].ask("measure", part, mode)
            if "us" not in said:
                print(f"{part} {mode} {variant}: {said['error']}", flush=True)
                continue
            times[variant].append(said["us"])
            rows.write(f"{arguments.model}\t{part}\t{mode}\t{variant}\t{turn}\t{said['us']:.2f}\t{said['tokens'] / said['us'] * 1e6:.1f}\n")
            rows.flush()
    return {variant: found for variant, found in times.items() if found}


def report(part, mode, times):
    base = statistics.median(times["torch"]) if "torch" in times else 0
    for variant, found in times.items():
        middle = statistics.median(found)
        print(f"{part:12} {mode:14} {variant:6} {middle:10.1f} us ({min(found):.1f} to {max(found):.1f})" + (f"  {base / middle:.3f}" if base else ""), flush=True)


def report_best(part, medians):
    """Against the best that torch alone has in any mode."""
    alone = [time_ for (_, variant), time_ in medians.items() if variant.startswith("torch")]
    for name in sorted({variant for _, variant in medians if not variant.startswith("torch")}):
        if alone:
            mine = min(time_ for (_, variant), time_ in medians.items() if variant == name)
            print(f"{part:12} {'best of each':14} {name:6} {mine:10.1f} us  {min(alone) / mine:.3f} of torch's best, {min(alone):.1f} us", flush=True)


def parent(arguments):
    started = time.time()
    workers = {variant: Worker(variant) for variant in arguments.variants.split(",")}
    parts = [f"decode{batch}" for batch in arguments.batches.split(",") if batch] + ([f"prefill{arguments.prefill}"] if arguments.prefill else []) + ([f"train{arguments.train}"] if arguments.train else [])
    modes = [mode for mode in arguments.modes.split(",") if not (arguments.cpu and mode.endswith("graph"))]
    print(f"{arguments.model}: {arguments.layers} layers and the head, context {arguments.context}{', transformers' if arguments.hf else ''}; medians of {arguments.rounds} rounds, "
          "their spread, and torch's time in the mode over it")
    with open(arguments.rows, "a", encoding="utf-8") as rows:
        for part in parts:
            medians = {}
            for mode in modes:
                if time.time() - started > arguments.seconds:
                    print(f"left out: {part} {mode}")
                    continue
                times = measure_part(workers, arguments, part, mode, rows)
                report(part, mode, times)
                medians.update({(mode, variant): statistics.median(found) for variant, found in times.items()})
            report_best(part, medians)
    for variant, worker in workers.items():
        if not variant.startswith("torch"):
            worker.ask("why", "-", "-")
        worker.close()
    print(f"{time.time() - started:.0f} s, rows in {arguments.rows}")


# ---- a worker ----

def make_model(torch, ours, arguments, fused, norms, qkv):
    """The plain decoder. With `fused` the gate and up are one operator, and residuals are added by the products before them; with `norms` norms are ours, too, and with `qkv` q, k and v one product."""
    functional = torch.nn.functional
    dims, device = arguments.dimensions, "cpu" if arguments.cpu else "cuda"
    features, hidden, head = dims["features"], dims["hidden"], dims["features"] // dims["heads"]

    def linear(outputs, inputs, bias=False):
        layer = torch.nn.Linear(inputs, outputs, bias=bias, device=device, dtype=torch.bfloat16)
        torch.nn.init.normal_(layer.weight, std=inputs ** -0.5)
        return layer

    def scale():
        return torch.nn.Parameter(torch.ones(features, device=device, dtype=torch.bfloat16))

    def norm(x, weight):
        if norms:
            return ours.rms_norm(x, weight, 1e-5)
        return functional.rms_norm(x, (features,), weight, 1e-5)

    def rotate(x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.sizes, self.o = [features, dims["kv"] * head, dims["kv"] * head], linear(features, features)
            if qkv:
                self.qkv = linear(sum(self.sizes), features, dims["bias"])
            else:
                self.q, self.k, self.v = (linear(size, features, dims["bias"]) for size in self.sizes)
            self.norm1, self.norm2, self.down = scale(), scale(), linear(features, hidden)
            gate, up = linear(hidden, features), linear(hidden, features)
            if fused:
                self.gate_up = torch.nn.Parameter(ours.pack_swiglu(gate.weight.detach(), up.weight.detach()))
            else:
                self.gate, self.up = gate, up

        def forward(self, x, cos, sin, cache, place):
            batch, tokens, _ = x.shape
            y = norm(x, self.norm1)
            parts = ours.linear(y, self.qkv.weight, self.qkv.bias).split(self.sizes, -1) if qkv else (self.q(y), self.k(y), self.v(y))
            q, k, v = (part.view(batch, tokens, -1, head).transpose(1, 2) for part in parts)
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
            if cache is not None:
                cache[0].index_copy_(2, place, k)
                cache[1].index_copy_(2, place, v)
                k, v = cache
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=cache is None, enable_gqa=True).transpose(1, 2).reshape(batch, tokens, features)
            if fused:
                x = ours.linear_residual(y, self.o.weight, x)
                return ours.linear_residual(ours.swiglu(norm(x, self.norm2), self.gate_up), self.down.weight, x)
            x = x + self.o(y)
            y = norm(x, self.norm2)
            return x + self.down(functional.silu(self.gate(y)) * self.up(y))

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(dims["vocabulary"], features, device=device, dtype=torch.bfloat16)
            self.layers = torch.nn.ModuleList(Layer() for _ in range(arguments.layers))
            self.norm, self.head = scale(), linear(dims["vocabulary"], features)

        def forward(self, tokens, cos, sin, caches, place):
            x = self.embedding(tokens)
            for i, layer in enumerate(self.layers):
                x = layer(x, cos, sin, caches[i] if caches else None, place)
            return self.head(norm(x[:, -1:], self.norm))

    return Decoder()


def make_transformers(torch, ours, arguments, fused, norms, qkv):
    import transformers
    dims = arguments.dimensions
    config, model = {"llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM), "qwen": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM)}[arguments.model]
    made = config(hidden_size=dims["features"], intermediate_size=dims["hidden"], num_attention_heads=dims["heads"], num_key_value_heads=dims["kv"], vocab_size=dims["vocabulary"],
                  num_hidden_layers=arguments.layers, max_position_embeddings=4096, attn_implementation="sdpa")
    with torch.device("cpu" if arguments.cpu else "cuda"):
        decoder = model(made).to(torch.bfloat16).eval()
    if fused:
        ours.fuse(decoder, norms, qkv)
    return decoder


def angles(torch, arguments, tokens):
    angle = torch.rand(tokens, arguments.dimensions["features"] // arguments.dimensions["heads"] // 2, device="cpu" if arguments.cpu else "cuda")
    return angle.cos().bfloat16(), angle.sin().bfloat16()


def make_training(torch, arguments, model):
    tokens = arguments.train
    x = torch.randn(1, tokens, arguments.dimensions["features"], device="cpu" if arguments.cpu else "cuda", dtype=torch.bfloat16, requires_grad=True)
    slope, (cos, sin), layer = torch.randn_like(x), angles(torch, arguments, tokens), model.layers[0]

    def step():
        for parameter in layer.parameters():
            parameter.grad = None
        layer(x, cos, sin, None, None).backward(slope)

    return step, tokens


def make_step(torch, arguments, model, part):
    """A function without arguments, and how many tokens it takes."""
    if part.startswith("train"):
        return make_training(torch, arguments, model)
    dims, device = arguments.dimensions, "cpu" if arguments.cpu else "cuda"
    decodes = part.startswith("decode")
    batch, tokens = (int(part[6:]), 1) if decodes else (1, int(part[7:]))
    ids, place = torch.randint(0, dims["vocabulary"], (batch, tokens), device=device), torch.tensor([arguments.context - 1], device=device)
    if arguments.hf and not decodes:
        return lambda: model(ids, use_cache=False, logits_to_keep=1).logits, tokens
    if arguments.hf:
        import transformers
        cache = transformers.StaticCache(config=model.config, max_batch_size=batch, max_cache_len=arguments.context, device=device, dtype=torch.bfloat16)
        return lambda: model(ids, past_key_values=cache, cache_position=place, position_ids=place[None].expand(batch, 1), use_cache=True).logits, batch
    cos, sin = angles(torch, arguments, tokens)
    shape = (batch, dims["kv"], arguments.context, dims["features"] // dims["heads"])
    caches = [tuple(torch.randn(shape, device=device).bfloat16() for _ in range(2)) for _ in range(arguments.layers)] if decodes else None
    return lambda: model(ids, cos, sin, caches, place), batch * tokens


def capture(torch, step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def make_ready(torch, arguments, model, part, mode):
    step, tokens = make_step(torch, arguments, model, part)
    if mode.startswith("compile"):
        graphs = mode == "compile" and not part.startswith("train")
        step = torch.compile(step, mode=None if arguments.cpu else "max-autotune" if graphs else "max-autotune-no-cudagraphs")
    for _ in range(2 if arguments.cpu else 4):
        step()
        if not arguments.cpu:
            torch.cuda.synchronize()
    return capture(torch, step) if mode.endswith("graph") else step, tokens


def time_step(torch, arguments, step):
    """Microseconds: of the device, between two events around a quarter of a second of steps."""
    started = time.perf_counter()
    step()
    if arguments.cpu:
        return (time.perf_counter() - started) * 1e6
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    started = time.perf_counter()
    step()
    torch.cuda.synchronize()
    count = max(5, min(200, int(0.25 / (time.perf_counter() - started))))
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(count):
        step()
    last.record()
    torch.cuda.synchronize()
    return first.elapsed_time(last) * 1000 / count


def worker(arguments):
    variant, words = words_of(arguments.worker)
    sys.path.insert(0, str(ROOT / "python"))
    os.environ.setdefault("GEMMSMITH_TORCH_LIBRARY", str(arguments.build.resolve() / "libgemmsmith_torch.so"))
    if not os.environ.get("GEMMSMITH_TUNED"):
        os.environ["GEMMSMITH_TUNED"], os.environ["GEMMSMITH_WEIGHTS"] = str(ROOT / "tuned"), str(ROOT / "tuned/nvidia-h200.weights")
    folder = tempfile.TemporaryDirectory()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder.name
    import torch
    import gemmsmith.torch as ours
    if arguments.products and variant != "torch":
        import torch._inductor.decomposition as decomposition
        decomposition.decompositions.pop(torch.ops.aten.mm.default, None)
    torch.manual_seed(1)
    if arguments.cpu:
        torch.set_num_threads(1)
    if variant != "torch" and not ours.enable(emulated="emu:h200,check=0" if arguments.cpu else None, constant_weights="const" in words):
        raise SystemExit("measure_decoder: there is no GPU")
    model = (make_transformers if arguments.hf else make_model)(torch, ours, arguments, variant == "fused", "norms" in words, variant == "fused" and "qkv" in words)
    model.requires_grad_(arguments.train > 0)
    ready = (None, 0)
    print("{}", flush=True)
    for line in sys.stdin:
        word, part, mode = line.split()
        try:
            with contextlib.nullcontext() if part.startswith("train") else torch.no_grad():
                answer = {}
                if word == "make":
                    ready = (None, 0)   # frees what was
                    ready = make_ready(torch, arguments, model, part, mode)
                elif word == "measure":
                    answer = {"us": time_step(torch, arguments, ready[0]), "tokens": ready[1]}
                else:
                    print(f"-- {arguments.worker}", *ours.why(), sep="\n", file=sys.stderr)
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            answer = {"error": str(error)[:200] or type(error).__name__}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    read = read_arguments()
    worker(read) if read.worker else parent(read)
