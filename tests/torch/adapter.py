# SPDX-License-Identifier: MIT
"""gemmsmith.torch against torch itself, on the emulated device in the place of a GPU: adapter.py SOURCE BUILD [CASE ...]. 77: no torch, or no compiler of CUDA."""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import warnings

SOURCE, BUILD = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "python"))
os.environ.setdefault("GEMMSMITH_TORCH_LIBRARY", str(BUILD / "libgemmsmith_torch.so"))
os.environ.setdefault("GEMMSMITH_LIBRARY", str(BUILD / "libgemmsmith.so"))
os.environ.setdefault("GEMMSMITH_CACHE", str(BUILD.parent / "check-cache"))
os.environ.setdefault("OMP_NUM_THREADS", "2")
EMULATED = "emu:h200,check=0"
try:
    import torch
except ImportError:
    print(f"skipped: {sys.executable} has no torch; name one that has with GS_TORCH_PYTHON")
    sys.exit(77)
import gemmsmith.torch as ours  # noqa: E402

OTHER_TYPES = "operands are not all f16 or all bf16"
HALVES = (torch.bfloat16, torch.float16)
CASES = []


def case(function):
    CASES.append(function)
    return function


def used():
    """How many calls were run by a kernel of the library, and how many were not, of those in f16 and bf16: what is expected is computed in f32."""
    lines = ours.why()
    return sum(line.calls for line in lines), sum(line.passed for line in lines if OTHER_TYPES not in line.reason)


class Expect:
    """Inside, so many calls are run by the library and so many are left to torch."""

    def __init__(self, calls, passed=0):
        self.wanted = calls, passed

    def __enter__(self):
        self.before = used()

    def __exit__(self, kind, *_):
        now = used()
        got = now[0] - self.before[0], now[1] - self.before[1]
        assert kind or got == self.wanted, f"{got[0]} calls were run and {got[1]} left to torch, not {self.wanted[0]} and {self.wanted[1]}: {ours.why()[-1]}"


def near(got, want, what=""):
    """want: computed in f32."""
    assert got.shape == want.shape, (what, got.shape, want.shape)
    bound = 2.0 ** (-7 if got.dtype == torch.bfloat16 else -10)
    wrong = (got.float() - want.float()).abs() > bound * (want.float().abs() + want.float().abs().max() * 0.25 + 1e-3)
    assert not wrong.any(), (what, got.float()[wrong][:3], want.float()[wrong][:3])


def alike(got, want, what=""):
    """Gradients behind several roundings to bf16."""
    assert got.shape == want.shape and (got.float() - want.float()).abs().max() < 0.02 * want.float().abs().max(), what


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape).to(dtype)


def variants(rows, cols, dtype, batch=()):
    """One matrix, or a batch of them, as programs have them in memory."""
    packed = random(*batch, rows, cols, dtype=dtype)
    yield "packed", packed
    yield "transposed", random(*batch, cols, rows, dtype=dtype).transpose(-1, -2)
    wide = random(*batch, rows, cols + 16, dtype=dtype)
    yield "part of wider rows", wide[..., 8:8 + cols]


def refused(function):
    """The text of torch's refusal."""
    try:
        function()
    except (RuntimeError, TypeError) as error:
        return str(error)
    raise AssertionError("nothing was refused")


@case
def values():
    for dtype in HALVES:
        for name_a, a in variants(24, 32, dtype):
            for name_b, b in variants(32, 40, dtype):
                with Expect(1):
                    got = torch.mm(a, b)
                near(got, a.float() @ b.float(), f"{name_a} x {name_b}")
                assert got.is_contiguous()


@case
def batches():
    for name_a, a in variants(8, 32, torch.bfloat16, (3,)):
        for name_b, b in variants(32, 24, torch.bfloat16, (3,)):
            with Expect(1):
                near(torch.bmm(a, b), torch.bmm(a.float(), b.float()), f"{name_a} x {name_b}")
    a, weight = random(3, 8, 32), random(32, 24)
    with Expect(1):   # one matrix for all
        near(torch.bmm(a, weight.expand(3, 32, 24)), torch.matmul(a.float(), weight.float()))
    q, k = random(8, 4, 32).transpose(0, 1), random(8, 4, 32).transpose(0, 1)   # heads side by side
    with Expect(1):
        near(q @ k.transpose(1, 2), q.float() @ k.float().transpose(1, 2))


@case
def results():
    a, b = random(24, 32), random(32, 40)
    want = a.float() @ b.float()
    with Expect(1):
        d = torch.empty(24, 40, dtype=a.dtype)
        assert torch.mm(a, b, out=d) is d
        near(d, want)
    with Expect(1):   # what lies between its rows stays
        wide = torch.full((24, 56), 7, dtype=a.dtype)
        torch.mm(a, b, out=wide[:, 8:48])
        near(wide[:, 8:48], want)
        assert (wide[:, :8] == 7).all() and (wide[:, 48:] == 7).all()
    with Expect(0, 1):   # column by column
        d = torch.empty(40, 24, dtype=a.dtype).t()
        torch.mm(a, b, out=d)
        near(d, want)
    with Expect(0, 1), warnings.catch_warnings():   # torch makes it larger
        warnings.simplefilter("ignore")
        d = torch.empty(0, dtype=a.dtype)
        torch.mm(a, b, out=d)
        near(d, want)
    with Expect(1):
        d = torch.empty(2, 8, 40, dtype=a.dtype)
        torch.bmm(a[:16].view(2, 8, 32), b.expand(2, 32, 40), out=d)
        near(d, want[:16].view(2, 8, 40))


@case
def added():
    a, b, bias, c = random(24, 32), random(32, 40), random(40), random(24, 40)
    product = a.float() @ b.float()
    with Expect(1):
        near(torch.addmm(bias, a, b), product + bias.float())
    with Expect(1):
        near(torch.addmm(bias, a, b, alpha=0.5), 0.5 * product + bias.float())
    with Expect(2):
        near(torch.addmm(c, a, b), product + c.float())
        near(torch.addmm(c, a, b, beta=-2, alpha=0.25), 0.25 * product - 2 * c.float())
    with Expect(1):   # what is not read may hold anything
        near(torch.addmm(torch.full_like(c, float("nan")), a, b, beta=0), product)
    with Expect(0, 3):
        near(torch.addmm(bias, a, b, beta=2), product + 2 * bias.float())
        near(torch.addmm(random(24, 1) * 0 + 1, a, b), product + 1)
        near(torch.addmm(torch.ones((), dtype=a.dtype), a, b), product + 1)
    with Expect(1):
        d = torch.empty_like(c)
        torch.addmm(bias, a, b, out=d)
        near(d, product + bias.float())
    with Expect(1):   # C in the place of D
        d = c.clone()
        torch.addmm(d, a, b, beta=0.5, out=d)
        near(d, product + 0.5 * c.float())
    x, weight = random(2, 12, 32), random(40, 32)
    with Expect(1):
        near(torch.nn.functional.linear(x, weight, bias), x.float() @ weight.float().t() + bias.float())
    q, k, mask = random(3, 8, 32), random(3, 32, 24), random(3, 8, 24)
    with Expect(2):
        near(torch.baddbmm(mask, q, k, alpha=0.125), torch.baddbmm(mask.float(), q.float(), k.float(), alpha=0.125))
        near(torch.baddbmm(mask[:1], q, k), torch.baddbmm(mask[:1].float(), q.float(), k.float()))
    with Expect(1):
        d = torch.empty_like(mask)
        torch.baddbmm(mask, q, k, beta=2, out=d)
        near(d, torch.baddbmm(mask.float(), q.float(), k.float(), beta=2))


@case
def other_types():
    """Nothing of these is ours, and torch's results are what they were."""
    a, b = torch.randn(6, 5), torch.randn(5, 4)
    with Expect(0):
        torch.testing.assert_close(torch.mm(a, b), (a[:, :, None] * b).sum(1))
        z = torch.mm(a.to(torch.complex64), b.to(torch.complex64))
        torch.testing.assert_close(z.real, torch.mm(a, b))
        assert torch.mm(torch.ones(2, 3, dtype=torch.int64), torch.ones(3, 2, dtype=torch.int64)).tolist() == [[3, 3], [3, 3]]
    ca, cb, cc = (t.to(torch.complex64) for t in (a, b, torch.randn(6, 4)))
    torch.testing.assert_close(torch.addmm(cc, ca, cb, beta=2j, alpha=1j), 2j * cc + 1j * (ca @ cb))
    assert "without overflow" in refused(lambda: torch.addmm(random(6, 4), random(6, 5), random(5, 4), alpha=1j))
    assert torch.addmm(torch.ones(2, 2, dtype=torch.int64), *[torch.ones(2, 2, dtype=torch.int64)] * 2, beta=3).tolist() == [[5, 5], [5, 5]]
    with Expect(0, 3):   # empty, and rows that repeat
        assert torch.mm(random(0, 8), random(8, 4)).shape == (0, 4)
        assert (torch.mm(random(4, 0), random(0, 8)) == 0).all()
        row = random(1, 32)
        near(torch.mm(row.expand(4, 32), random(32, 8) * 0 + 1), row.float().sum() + torch.zeros(4, 8))


@case
def gradients():
    for bias in (False, True):
        layer = torch.nn.Linear(32, 40, bias=bias).to(torch.bfloat16)
        x = random(16, 32).requires_grad_()
        with Expect(3):
            layer(x).float().square().sum().backward()
        again, plain = x.detach().float().requires_grad_(), torch.nn.Linear(32, 40, bias=bias)
        plain.load_state_dict({k: v.float() for k, v in layer.state_dict().items()})
        plain(again).square().sum().backward()
        for got, want in ((x.grad, again.grad), (layer.weight.grad, plain.weight.grad)):
            assert (got.float() - want).abs().max() < 0.03 * want.abs().max()


@case
def modes():
    a, b = random(24, 32), random(32, 40)
    want = a.float() @ b.float()
    with Expect(1), torch.inference_mode():
        near(torch.mm(a, b), want)
    with Expect(1), torch.no_grad():
        near(a @ b, want)
    with Expect(1), torch.autocast("cpu", torch.bfloat16):
        near(a.float() @ b.float(), want)
    many = random(3, 24, 32)
    with Expect(1):
        near(torch.vmap(lambda m: torch.mm(m, b))(many), many.float() @ b.float())
    with Expect(0):
        assert torch.mm(a.to("meta"), b.to("meta")).shape == (24, 40)


@case
def compiled():
    if no_compiler():
        return
    layer = torch.nn.Sequential(torch.nn.Linear(32, 40), torch.nn.ReLU(), torch.nn.Linear(40, 16, bias=False)).to(torch.bfloat16)
    x = random(24, 32)
    want = layer.float()(x.float())
    layer.to(torch.bfloat16)
    with torch.no_grad():
        run = torch.compile(layer)
        run(x)
        with Expect(2):   # both products, through .out
            got = run(x)
    assert (got.float() - want).abs().max() < 0.05 * want.abs().max()


@case
def inductor():
    """What max-autotune chooses from: ATen alone while calls are taken, as before afterwards, and whatever the program has chosen."""
    early = f"import os\nEMULATED = {EMULATED!r}\n" + """
name = "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS"
os.environ.pop(name, None)   # of the process that started this one
ours.enable(emulated=EMULATED, inductor=False); assert name not in os.environ; ours.disable()
ours.enable(emulated=EMULATED); assert os.environ[name] == "ATEN"
import torch._inductor.config as config
assert config.max_autotune_gemm_backends == "ATEN"
ours.disable(); assert name not in os.environ and config.max_autotune_gemm_backends == "ATEN,TRITON,CPP", config.max_autotune_gemm_backends
ours.enable(emulated=EMULATED); assert config.max_autotune_gemm_backends == "ATEN"
ours.disable(); assert config.max_autotune_gemm_backends == "ATEN,TRITON,CPP"
config.max_autotune_gemm_backends = "TRITON"
ours.enable(emulated=EMULATED); assert config.max_autotune_gemm_backends == "TRITON"
ours.disable(); assert config.max_autotune_gemm_backends == "TRITON"
print("good")
"""
    assert "good" in apart(early)[0]


@case
def refusals():
    a, b = random(6, 5), random(5, 4)
    for function, words in ((lambda: torch.mm(a, a), "cannot be multiplied (6x5 and 6x5)"),
                            (lambda: torch.mm(a, b.float()), "same dtype"),
                            (lambda: torch.mm(a[0], b), "must be a matrix"),
                            (lambda: torch.mm(a, b, out=torch.empty(6, 4)), "dtype"),
                            (lambda: torch.bmm(a, b), "must be a 3D tensor"),
                            (lambda: torch.bmm(a[None], a[None]), "batch2"),
                            (lambda: torch.addmm(random(3), a, b), "expanded"),
                            (lambda: torch.addmm(random(4).float(), a, b), "dtype"),
                            (lambda: torch.ones(2, 2, dtype=torch.int32).requires_grad_(), "floating point")):
        text = refused(function)
        assert words in text, (words, text)
    with Expect(1):   # and it goes on
        near(torch.mm(a, b), a.float() @ b.float())


@case
def threads():
    a, b, wrong = random(16, 32), [random(32, 8 * (i + 1)) for i in range(3)], []

    def work():
        for i in range(6):
            try:
                near(torch.mm(a, b[i % 3]), a.float() @ b[i % 3].float())
            except AssertionError as error:
                wrong.append(error)

    all_of_them = [threading.Thread(target=work) for _ in range(4)]
    for thread in all_of_them:
        thread.start()
    for thread in all_of_them:
        thread.join()
    assert not wrong, wrong[0]


@case
def prepared():
    said = ours.prepare(["bf16:17x40x32:tn", "bf16:17x40x32:tn:ep=bias"])
    assert len(said) == 2 and all(said)
    line = [line for line in ours.why() if line.problem == "bf16:17x40x32:tn"][0]
    assert line.calls == 0 and line.kernel and str(line)
    with Expect(1):
        near(torch.mm(torch.ones(17, 32, dtype=torch.bfloat16), torch.ones(40, 32, dtype=torch.bfloat16).t()), torch.full((17, 40), 32.0))
    assert "no call of torch" in refused(lambda: ours.prepare("bf16:16x16x16:tn:d=f32"))
    assert "expected nn, tn" in refused(lambda: ours.prepare("bf16:16x16x16:xy"))


@case
def forks():
    a, b = random(16, 32), random(32, 8)
    torch.mm(a, b)
    child = os.fork()
    if child == 0:
        good = False
        try:
            before = used()
            good = torch.allclose(torch.mm(a, b).float(), a.float() @ b.float(), atol=0.2) and used()[1] == before[1] + 1 and torch.mm(a, random(32, 9)).shape == (16, 9)
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    with Expect(1):
        torch.mm(a, b)


@case
def beside():
    """The library itself in the same process, and a second copy of the module."""
    import gemmsmith
    with gemmsmith.open(EMULATED) as context:
        assert context.plan("bf16:16x16x16:tn").schedule
    near(torch.mm(random(16, 32) * 0 + 1, random(32, 8) * 0 + 1), torch.full((16, 8), 32.0))
    import importlib.util
    spec = importlib.util.spec_from_file_location("other_torch", SOURCE / "python" / "gemmsmith" / "torch.py")
    other = importlib.util.module_from_spec(spec)
    sys.modules["other_torch"] = other
    spec.loader.exec_module(other)
    assert "another copy" in refused(lambda: other.enable(emulated=EMULATED))
    importlib.reload(ours)
    assert ours.is_enabled() and ours.enable(emulated=EMULATED)
    with Expect(1):
        torch.mm(random(16, 32), random(32, 8))


@case
def invariant():
    """A row's bits depend neither on how many rows there are nor on the others, nor on where it stands."""
    weight, x, bias = random(48, 136), random(70, 136), random(48)
    assert ours.enable(invariant=True)
    try:
        ours.prepare("bf16:3x48x136:tn:inv=1")
        with Expect(14):
            whole, added = torch.mm(x, weight.t()), torch.addmm(bias, x, weight.t())
            for rows in (1, 2, 17, 33, 64, 69):
                order = torch.randperm(70)[:rows]
                assert torch.equal(torch.mm(x[order], weight.t()), whole[order]), rows
                assert torch.equal(torch.addmm(bias, x[order], weight.t()), added[order]), rows
        near(whole, x.float() @ weight.float().t())
        assert sum(":inv=1" in line.problem and line.calls > 0 for line in ours.why()) == 14
    finally:
        assert ours.enable(invariant=False)
    with Expect(1):
        torch.mm(x[:5], weight.t())
    assert not any(line.problem == "bf16:5x48x136:tn:inv=1" for line in ours.why())


@case
def constant_weights():
    """Of mm and addmm what is stored as a weight is, and of our own functions; a batch is not, nor what is stored K x N."""
    weight, x, other, bias = random(48, 136), random(7, 136), random(136, 48), random(48)
    batch, many = random(1, 7, 136), random(1, 48, 136)
    assert ours.enable(constant_weights=True)
    try:
        with Expect(4):
            near(torch.mm(x, weight.t()), x.float() @ weight.float().t())
            near(torch.addmm(bias, x, weight.t()), bias.float() + x.float() @ weight.float().t())
            near(torch.mm(x, other), x.float() @ other.float())
            near(torch.bmm(batch, many.transpose(1, 2)), batch.float() @ many.float().transpose(1, 2))
        near(ours.linear(x, weight), x.float() @ weight.float().t())
        said = {line.problem for line in ours.why() if line.calls > 0 and ":const=b" in line.problem}
        assert any(problem.startswith("bf16:7x48x136:tn:const=b") for problem in said), said
        assert all(":tn" in problem and ":b=" not in problem for problem in said), said
        assert any(line.problem == "bf16:7x48x136:tn" and line.calls > 0 for line in ours.why())   # of the batch of one
    finally:
        assert ours.enable(constant_weights=False)


@case
def switched():
    a, b = random(16, 32), random(32, 8)
    assert ours.enable(emulated=EMULATED) and ours.is_enabled()
    assert "taken already, by emu" in refused(lambda: ours.enable(emulated="emu:a100"))
    ours.disable()
    ours.disable()
    assert not ours.is_enabled()
    with Expect(0):
        near(torch.mm(a, b), a.float() @ b.float())
        near(torch.addmm(random(8) * 0, a, b), a.float() @ b.float())
    assert ours.enable(emulated=EMULATED)
    with Expect(1):
        torch.mm(a, b)


def apart(code, **environment):
    """A process of its own: its output."""
    text = f"import sys\nsys.path.insert(0, {str(SOURCE / 'python')!r})\nimport torch\nimport gemmsmith.torch as ours\n" + code
    done = subprocess.run([sys.executable, "-c", text], env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@case
def alone():
    """What a process has once: no GPU, no warning of torch, no adapter, a device that is not there."""
    said, warned = apart("print(ours.enable(), ours.why(), torch.mm(torch.ones(2, 2), torch.ones(2, 2)).sum().item())", CUDA_VISIBLE_DEVICES="")
    assert said.split() == ["False", "[]", "8.0"] and warned.count("finds no GPU") == 1, (said, warned)
    said, warned = apart(f"ours.enable(emulated={EMULATED!r})\nprint(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).sum().item())")
    assert said.strip() == "8.0" and not warned, warned
    said, warned = apart("try:\n    ours.enable(emulated='emu:h200')\nexcept OSError as error:\n    print('missing')", GEMMSMITH_TORCH_LIBRARY="/nonexistent.so")
    assert said.strip() == "missing"
    said, warned = apart(f"ours.enable(emulated={EMULATED!r})\nx = torch.ones(16, 16, dtype=torch.bfloat16)\nprint(torch.mm(x, x).sum().item(), ours.why()[0].origin)",
                         GEMMSMITH_COMPILE="off", GEMMSMITH_CACHE=tempfile.gettempdir() + "/gemmsmith-none")
    assert said.split() == ["4096.0", "torch"] and not warned, (said, warned)
    said, warned = apart("try:\n    ours.enable(emulated='emu:none')\nexcept RuntimeError as error:\n    print(error, ours.is_enabled())")
    assert "none" in said and said.endswith(" False\n"), said
    said, warned = apart("ours.enable()\nmodel = torch.nn.Linear(8, 8, dtype=torch.bfloat16)\nprint(ours.prepare('bf16:1x8x8:tn'), ours.prepare(model, rows=2))", CUDA_VISIBLE_DEVICES="")
    assert said.count("there is no GPU") == 2 and "bf16:2x8x8:tn:ep=bias" in said, said


@case
def at_once():
    """Many threads that enable it, and call at once."""
    said, _ = apart(f"import threading\nsys.setswitchinterval(1e-6)\nx, start, sums = torch.ones(16, 16, dtype=torch.bfloat16), threading.Barrier(8), []\n"
                    f"def each():\n    start.wait()\n    sums.append((ours.enable(emulated={EMULATED!r}), torch.mm(x, x).sum().item()))\n"
                    "threads = [threading.Thread(target=each) for _ in range(8)]\n"
                    "for thread in threads:\n    thread.start()\nfor thread in threads:\n    thread.join()\nprint(set(sums), len(sums))")
    assert said.strip() == "{(True, 4096.0)} 8", said


@case
def packed():
    """Plans of a pack, without a compiler and a cache."""
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([BUILD / "gemmsmith", "pack", "--device", "emu:h200", "bf16:16x64x64:tn", "bf16:16x64x64:tn:ep=bias", "--out", f"{folder}/a.pack"], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        said, _ = apart("ours.enable(emulated='emu:h200')\nx, w = torch.ones(16, 64, dtype=torch.bfloat16), torch.ones(64, 64, dtype=torch.bfloat16)\n"
                        "print((x @ w.t()).sum().item(), torch.nn.functional.linear(x, w, w[0]).sum().item(), *[line.origin for line in ours.why()])",
                        GEMMSMITH_PACK=f"{folder}/a.pack", GEMMSMITH_COMPILE="off", GEMMSMITH_CACHE=f"{folder}/none")
    assert said.split() == ["65536.0", "66560.0", "pack", "pack"], said


@case
def recorded():
    with tempfile.TemporaryDirectory() as folder:
        apart(f"ours.enable(emulated={EMULATED!r})\nx = torch.ones(16, 16, dtype=torch.bfloat16)\nfor _ in range(5):\n    torch.mm(x, x.t())\ntorch.addmm(x[0], x, x)\n", GEMMSMITH_RECORD=folder)
        counts = {}
        for path in pathlib.Path(folder).iterdir():
            for line in path.read_text().splitlines()[1:]:
                count, via, problem = line.split("\t")
                counts[via, problem] = counts.get((via, problem), 0) + int(count)
    assert counts == {("torch.mm", "bf16:16x16x16:tn"): 5, ("torch.addmm", "bf16:16x16x16:nn:ep=bias"): 1}, counts


def no_compiler():
    """Whether there is none for torch.compile, with a line that says so."""
    found = any(subprocess.run(["sh", "-c", f"command -v {c}"], capture_output=True).returncode == 0 for c in ("g++", "clang++"))
    if not found:
        print("left out: torch.compile needs a C++ compiler")
    return not found


def main(cases):
    library = ctypes.CDLL(os.environ["GEMMSMITH_TORCH_LIBRARY"])
    assert library.gs_torch_load
    torch.manual_seed(4711)
    torch.set_num_threads(1)   # a fork's child could not use the other threads
    assert ours.enable(emulated=EMULATED)
    torch.mm(random(16, 16), random(16, 16))
    first = ours.why()[0]
    if first.origin == "torch":
        print(f"skipped: {first.reason}")
        return 77 if "NVRTC" in first.reason else 1
    failed = 0
    for function in cases:
        if sys.argv[3:] and function.__name__ not in sys.argv[3:]:
            continue
        try:
            function()
            print(f"ok: {function.__name__}", flush=True)
        except Exception as error:  # noqa: BLE001
            import traceback
            traceback.print_exc()
            print(f"not ok: {function.__name__}: {error}", flush=True)
            failed = 1
    print(f"torch {torch.__version__}")
    return failed


if __name__ == "__main__":
    sys.exit(main(CASES))
