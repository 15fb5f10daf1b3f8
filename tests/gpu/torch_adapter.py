#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gemmsmith.torch on a GPU: values, layouts, streams, threads, graphs, torch.compile, gradients, fusions, misuse, host time.

    torch_adapter.py BUILD [--cpu] [CASE ...]        --cpu: small, on the emulated device

A line of each case, PASS or FAIL, then why(); exit 77 without torch or GPU."""
import os
import pathlib
import sys
import threading
import time
import traceback

WORDS = [word for word in sys.argv[1:] if word != "--cpu"]
CPU = "--cpu" in sys.argv
REPO, BUILD = pathlib.Path(__file__).resolve().parents[2], pathlib.Path(WORDS[0]).resolve()
sys.path.insert(0, str(REPO / "python"))
os.environ.setdefault("GEMMSMITH_TORCH_LIBRARY", str(BUILD / "libgemmsmith_torch.so"))
os.environ.setdefault("GEMMSMITH_TUNED", str(REPO / "tuned"))
os.environ.setdefault("GEMMSMITH_WEIGHTS", str(REPO / "tuned" / "nvidia-h200.weights"))
try:
    import torch
except ImportError:
    print("skipped: python3 has no torch")
    sys.exit(77)
if not CPU and not torch.cuda.is_available():
    print("skipped: torch finds no GPU")
    sys.exit(77)
import gemmsmith.torch as ours  # noqa: E402

DEV = "cpu" if CPU else "cuda"
S = 16 if CPU else 1          # sizes are divided by it on the CPU
CASES = []
STARTED = time.time()


def case(f):
    CASES.append(f)
    return f


def rnd(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device=DEV, dtype=torch.float32).to(dtype)


def near(got, want, what=""):
    assert got.shape == want.shape, (what, got.shape, want.shape)
    bound = 2.0 ** (-7 if got.dtype == torch.bfloat16 else -10)
    error = (got.float() - want.float()).abs()
    limit = bound * (want.float().abs() + want.float().abs().max() * 0.25 + 1e-3)
    assert not (error > limit).any(), (what, error.max().item())


def served():
    return sum(l.calls for l in ours.why())


def sync():
    if not CPU:
        torch.cuda.synchronize()


SHAPES = [(m, n // S, k // S) for m in ((1, 16) if CPU else (1, 4, 16, 64, 128, 257, 2048)) for n, k in ((4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336))]


@case
def eager_values():
    for dtype in (torch.bfloat16, torch.float16):
        for m, n, k in SHAPES:
            if dtype == torch.float16 and m not in (16, 128):
                continue
            x, w = rnd(m, k, dtype=dtype), rnd(n, k, dtype=dtype)
            near(torch.nn.functional.linear(x, w), x.float() @ w.float().t(), (m, n, k))
            if m in (16, 257):
                near(x @ w.t().contiguous(), x.float() @ w.float().t(), ("nn", m, n, k))
    return f"{served()} served"


@case
def layouts():
    for m, n, k in ((64, 256, 512), (40, 136, 72)):
        for ta in (0, 1):
            for tb in (0, 1):
                for off in (0, 8):
                    a = (rnd(k, m + off)[:, off:].t() if ta else rnd(m, k + off)[:, off:])
                    b = (rnd(n, k + off)[:, off:].t() if tb else rnd(k, n + off)[:, off:])
                    near(a @ b, a.float() @ b.float(), (m, n, k, ta, tb, off))
                    d = torch.full((m, n + 16), 3, device=DEV, dtype=a.dtype)
                    torch.mm(a, b, out=d[:, 8:8 + n])
                    near(d[:, 8:8 + n], a.float() @ b.float())
                    assert (d[:, :8] == 3).all() and (d[:, 8 + n:] == 3).all()
    odd = rnd(33, 65)[:, 1:]   # little alignment
    near(odd @ rnd(64, 31) * 0, torch.zeros(33, 31, device=DEV))


@case
def added():
    a, b, bias, c = rnd(96, 256), rnd(512, 256).t(), rnd(512), rnd(96, 512)
    p = a.float() @ b.float()
    near(torch.addmm(bias, a, b), p + bias.float())
    near(torch.addmm(c, a, b, beta=-2, alpha=0.25), 0.25 * p - 2 * c.float())
    d = c.clone()
    torch.addmm(d, a, b, beta=0.5, out=d)
    near(d, p + 0.5 * c.float())
    near(torch.addmm(bias, a, b, beta=2), p + 2 * bias.float())
    q, k, m = rnd(4, 32, 64), rnd(4, 64, 48), rnd(4, 32, 48)
    near(torch.bmm(q, k), torch.bmm(q.float(), k.float()))
    near(torch.baddbmm(m, q, k, alpha=0.125), torch.baddbmm(m.float(), q.float(), k.float(), alpha=0.125))


@case
def streams():
    if CPU:
        return
    x, w = rnd(64, 4096), rnd(6144, 4096)
    want = x.float() @ w.float().t()
    s = [torch.cuda.Stream() for _ in range(4)]
    sync()
    outs = []
    for i in range(40):
        with torch.cuda.stream(s[i % 4]):
            outs.append(x @ w.t())
    sync()
    for o in outs:
        near(o, want)


@case
def threads():
    wrong = []
    x = {m: rnd(m, 4096 // S) for m in ((1, 7) if CPU else (1, 3, 7, 33, 65))}
    w = rnd(2048 // S, 4096 // S)
    def work():
        try:
            for _ in range(2 if CPU else 10):
                for m, t in x.items():
                    near(t @ w.t(), t.float() @ w.float().t(), m)
        except Exception as e:
            wrong.append(e)
    ts = [threading.Thread(target=work) for _ in range(4)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    assert not wrong, wrong[0]


@case
def devices():
    """Tensors on another GPU than the current one."""
    if CPU or torch.cuda.device_count() < 2:
        return "one device"
    x, w = rnd(16, 4096), rnd(4096, 4096)
    want = x.float() @ w.float().t()
    far = x.to("cuda:1"), w.to("cuda:1")
    for _ in range(3):
        near((far[0] @ far[1].t()).to("cuda:0"), want)
        near(x @ w.t(), want)
    with torch.cuda.device(1):
        near((far[0] @ far[1].t()).to("cuda:0"), want)
        near(x @ w.t(), want)
    assert {line.device for line in ours.why()} >= {0, 1}


@case
def autograd():
    for bias in (False, True):
        layer = torch.nn.Linear(1024 // S, 2048 // S, bias=bias, device=DEV, dtype=torch.bfloat16)
        x = rnd(64, 1024 // S).requires_grad_()
        layer(x).float().square().mean().backward()
        x2, plain = x.detach().float().requires_grad_(), torch.nn.Linear(1024 // S, 2048 // S, bias=bias, device=DEV)
        plain.load_state_dict({k: v.float() for k, v in layer.state_dict().items()})
        plain(x2).square().mean().backward()
        for got, want in ((x.grad, x2.grad), (layer.weight.grad, plain.weight.grad)):
            assert (got.float() - want).abs().max() < 0.03 * want.abs().max()


def captured(step):
    """A graph of the step, which ran once before on a stream of its own, and what it returned; how many calls of it were run by the library."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        step()
    torch.cuda.current_stream().wait_stream(side)
    sync()
    before, graph = served(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        result = step()
    return graph, result, served() - before


def mlp_weights(h, f):
    return rnd(f, h) * h ** -0.5, rnd(f, h) * h ** -0.5, rnd(h, f) * f ** -0.5


@case
def fusions():
    h, f = 4096 // S, 14336 // S
    g, u, d = mlp_weights(h, f)
    gu = ours.pack_swiglu(g, u)
    for m in ((1, 16) if CPU else (1, 4, 16, 64, 128, 300)):
        x, r = rnd(m, h), rnd(m, h)
        z = x.float()
        hid = torch.nn.functional.silu(z @ g.float().t()) * (z @ u.float().t())
        before = served()
        got = ours.swiglu(x, gu)
        near(got, hid, ("swiglu", m))
        near(ours.linear_residual(got, d, r), got.float() @ d.float().t() + r.float(), ("residual", m))
        for act, fn in (("relu", torch.relu), ("silu", torch.nn.functional.silu), ("gelu", torch.nn.functional.gelu), ("gelu_tanh", lambda t: torch.nn.functional.gelu(t, approximate="tanh"))):
            b = rnd(f)
            near(ours.linear(x, g, b, act), fn(z @ g.float().t() + b.float()), (act, m))
            near(ours.linear(got, d, None, act, r), fn(got.float() @ d.float().t()) + r.float(), (act, "residual", m))
        print("   ", m, "rows:", served() - before, "of 10 by one kernel")
    y = ours.swiglu(rnd(2, 3, h), gu)
    assert y.shape == (2, 3, f)


@case
def norms():
    for dtype in (torch.bfloat16, torch.float16):
        for shape in ((1, 4096 // S), (3, 5, 3584 // S), (2, 9001), (130, 128), (7, 33)):
            x, weight = rnd(*shape, dtype=dtype), rnd(shape[-1], dtype=dtype)
            y = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5)
            for rounded, plus_one in ((False, False), (True, False), (False, True)):
                near(ours.rms_norm(x, weight, 1e-5, rounded, plus_one), (y.to(dtype).float() if rounded else y) * (weight.float() + plus_one), (shape, rounded, plus_one))


@case
def experts():
    e, h, f, m = 8, 2048 // S, 4096 // S, (24 if CPU else 512)
    w, wg = rnd(e, f, h) * h ** -0.5, rnd(e, 2 * f, h) * h ** -0.5
    x = rnd(m, h)
    cuts = sorted(torch.randint(0, m, (e - 1,)).tolist())
    off = torch.tensor([0, *cuts, m - 3], device=DEV, dtype=torch.int32).clamp(max=m - 3)
    before = served()
    got, gated = ours.grouped(x, w, off), ours.grouped(x, wg, off, "silu", True)
    places = off.tolist()
    for i in range(e):
        a, b = places[i], places[i + 1]
        if b > a:
            near(got[a:b], x[a:b].float() @ w[i].float().t())
            near(gated[a:b], torch.nn.functional.silu(x[a:b].float() @ wg[i, :f].float().t()) * (x[a:b].float() @ wg[i, f:].float().t()))
    assert (got[m - 3:] == 0).all()
    return f"{served() - before} of 2 by one kernel"


@case
def fused_gradients():
    h, f = 512 // S, 1024 // S
    mlp = ours.SwiGLU(h, f, device=DEV, dtype=torch.bfloat16)
    x = rnd(32, h).requires_grad_()
    mlp(x, x).float().square().mean().backward()
    x2 = x.detach().float().requires_grad_()
    gu, dn = (p.detach().float().requires_grad_() for p in (mlp.gate_up, mlp.down))
    g, u = (x2 @ gu.t()).chunk(2, -1)
    (torch.nn.functional.silu(g) * u @ dn.t() + x2).square().mean().backward()
    for got, want in ((x.grad, x2.grad), (mlp.gate_up.grad, gu.grad), (mlp.down.grad, dn.grad)):
        assert (got.float() - want).abs().max() < 0.05 * want.abs().max()


@case
def graphs():
    if CPU:
        return
    for m in (1, 16, 64):
        h, f = 4096, 14336
        g, u, d = mlp_weights(h, f)
        gu = ours.pack_swiglu(g, u)
        x = rnd(m, h)
        def step():
            y = torch.nn.functional.silu(x @ g.t()) * (x @ u.t()) @ d.t()
            z = ours.linear_residual(ours.swiglu(x, gu), d, x)
            return y, z
        graph, (y, z), inside = captured(step)
        other, (y2, z2), _ = captured(step)
        for _ in range(3):
            x.copy_(rnd(m, h))
            want = torch.nn.functional.silu(x.float() @ g.float().t()) * (x.float() @ u.float().t()) @ d.float().t()
            s1, s2 = torch.cuda.Stream(), torch.cuda.Stream()
            sync()
            for _ in range(5):
                with torch.cuda.stream(s1):
                    graph.replay()
                with torch.cuda.stream(s2):
                    other.replay()
            sync()
            for t in (y, y2):
                assert (t.float() - want).abs().max() < 0.03 * want.abs().max()
            for t in (z, z2):
                assert (t.float() - want - x.float()).abs().max() < 0.03 * want.abs().max()
        print("   ", m, "rows:", inside, "of 5 products in a captured graph")


@case
def chains():
    """Norms between products in a graph, whose launches overlap: each reads what the one before wrote, and writes what the one before that read."""
    if CPU:
        return
    for m in (1, 16, 64):
        h, f = 4096, 14336
        g, u, d = mlp_weights(h, f)
        gu, scale, x, residual = ours.pack_swiglu(g, u), rnd(h), rnd(m, h), rnd(m, h)

        def step():
            y = x
            for _ in range(4):
                y = ours.linear_residual(ours.swiglu(ours.rms_norm(y, scale, 1e-5), gu), d, residual)
            return y

        def want():
            y = x
            for _ in range(4):
                z = (y.float() * torch.rsqrt(y.float().square().mean(-1, keepdim=True) + 1e-5) * scale.float()).bfloat16().float()
                z = (torch.nn.functional.silu(z @ g.float().t()) * (z @ u.float().t())).bfloat16().float()
                y = (z @ d.float().t() + residual.float()).bfloat16()
            return y.float()

        graph, got, inside = captured(step)
        assert inside == 12
        first = None
        for _ in range(30):
            graph.replay()
            sync()
            first = got.clone() if first is None else first
            assert torch.equal(got, first)   # whatever overlaps
        assert (got.float() - want()).abs().max() < 0.05 * want().abs().max()
        for _ in range(5):
            x.copy_(rnd(m, h))
            graph.replay()
            assert (got.float() - want()).abs().max() < 0.05 * want().abs().max()


@case
def graph_unplanned():
    """A problem that is first seen in a capture goes to torch, and the capture stands."""
    if CPU:
        return
    x, w, we, offsets = rnd(19, 4096), rnd(1000, 4096), rnd(2, 8, 4096), torch.tensor([0, 5, 19], device=DEV, dtype=torch.int32)
    sync()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x @ w.t()
        e = ours.grouped(x, we, offsets)
    graph.replay()
    sync()
    near(y, x.float() @ w.float().t())
    near(e[:5], x[:5].float() @ we[0].float().t())
    near(e[5:], x[5:].float() @ we[1].float().t())
    near(x @ w.t(), x.float() @ w.float().t())


OFF = None


@case
def compiled():
    layer = torch.nn.Sequential(torch.nn.Linear(1024 // S, 2048 // S), torch.nn.SiLU(), torch.nn.Linear(2048 // S, 512 // S, bias=False)).to(DEV).to(torch.bfloat16)
    mlp = ours.SwiGLU(1024 // S, 2048 // S, device=DEV, dtype=torch.bfloat16)
    x = rnd(32, 1024 // S)
    f = lambda t: layer(t)
    with torch.no_grad():
        want, want2 = f(x), mlp(x, x)
        for mode in (None,) if CPU else (None, "reduce-overhead"):
            torch._dynamo.reset()
            run, run2 = torch.compile(f, mode=mode), torch.compile(lambda t: mlp(t, t), mode=mode)
            for _ in range(3):
                got, got2 = run(x).clone(), run2(x).clone()
            before = served()
            got, got2 = run(x).clone(), run2(x).clone()
            assert (got.float() - want.float()).abs().max() < 0.05 * want.float().abs().max()
            assert (got2.float() - want2.float()).abs().max() < 0.05 * want2.float().abs().max()
            print("   ", mode, served() - before, "of 4 served in the last call (in a graph: 0)")


@case
def modes():
    x, w = rnd(24, 256), rnd(128, 256)
    want = x.float() @ w.float().t()
    with torch.inference_mode():
        near(x @ w.t(), want)
    with torch.autocast(DEV, torch.bfloat16):
        near(x.float() @ w.float().t(), want)
    near(torch.vmap(lambda t: t @ w.t())(x[None].expand(3, 24, 256)), want.expand(3, 24, 128))


@case
def misuse():
    a, b = rnd(6, 5), rnd(5, 4)
    for f in (lambda: a @ a, lambda: torch.mm(a, b.float()), lambda: torch.mm(a[0], b), lambda: torch.bmm(a, b), lambda: torch.addmm(rnd(3), a, b)) + (() if CPU else (lambda: torch.mm(a, b.cpu()), lambda: torch.mm(a.cpu(), b))):
        try:
            f()
        except RuntimeError as e:
            print("   ", str(e).splitlines()[0][:120])
        else:
            raise AssertionError("nothing was refused")
    near(a @ b, a.float() @ b.float())
    for t in (torch.float32, torch.float64):
        torch.testing.assert_close(torch.mm(a.to(t), b.to(t)), (a.to(t)[:, :, None] * b.to(t)).sum(1), rtol=1e-2, atol=1e-2)


@case
def forked():
    pid = os.fork()
    if pid == 0:
        try:
            x = torch.ones(4, 4, dtype=torch.bfloat16)
            ok = (x @ x).sum().item() == 64
            if not CPU:
                try:
                    torch.ones(2, 2, device="cuda")
                    ok = False
                except RuntimeError:
                    pass
            os._exit(0 if ok else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    near(rnd(4, 64) @ rnd(64, 8) * 0, torch.zeros(4, 8, device=DEV))


@case
def cost():
    """Host time of one call, with and without, of a product that is passed on (f32) and one that is served."""
    x, h, w = torch.randn(4, 4, device=DEV), rnd(16, 64), rnd(64, 64)
    def bench(f, n=200, rounds=20 if CPU else 300):
        f(); sync()
        best = 1e9
        for _ in range(rounds):
            t = time.perf_counter()
            for _ in range(n):
                f()
            best = min(best, time.perf_counter() - t)
            sync()
        return best / n * 1e6
    n = 5 if CPU else 200
    def all_of_them():
        return [bench(lambda: torch.mm(x, x)), bench(lambda: torch.mm(h, w), n), bench(lambda: torch.addmm(w[0], h, w), n), bench(lambda: torch.nn.functional.linear(h, w), n)]
    on = all_of_them()
    ours.disable()
    off = all_of_them()
    ours.enable(emulated="emu:h200,check=0" if CPU else None)
    for name, a, b in zip(("mm f32, passed on", "mm bf16", "addmm bf16", "linear bf16"), on, off):
        print(f"    {name:20} with {a:.3f} us, torch {b:.3f} us, {a - b:+.3f}")


def main():
    print(torch.__version__, "cpu" if CPU else torch.cuda.get_device_name())
    torch.manual_seed(1)
    if CPU:
        torch.set_num_threads(1)
    else:
        torch.backends.cuda.matmul.allow_tf32 = False
    assert ours.enable(emulated="emu:h200,check=0" if CPU else None)
    passed = failed = 0
    for f in CASES:
        if WORDS[1:] and f.__name__ not in WORDS[1:]:
            continue
        t = time.time()
        try:
            said = f()
            sync()
            passed += 1
            print(f"PASS {f.__name__} {time.time() - t:.1f} s {said or ''}", flush=True)
        except Exception as e:
            traceback.print_exc()
            print(f"FAIL {f.__name__} {time.time() - t:.1f} s: {e}", flush=True)
            failed += 1
    print(f"\n{time.time() - STARTED:.0f} s; why():")
    for line in ours.why():
        print(line)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
