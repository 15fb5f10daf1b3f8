# SPDX-License-Identifier: MIT
"""The functions and modules of gemmsmith.torch that fuse, against torch in f32: fusions.py SOURCE BUILD [CASE ...]. 77: no torch, or no compiler of CUDA."""
import copy
import sys

import adapter
from adapter import EMULATED, HALVES, Expect, alike, apart, near, ours, random, torch
from gemmsmith import fused

CASES = []
HIDDEN, FEATURES = 48, 32


def case(function):
    CASES.append(function)
    return function


def refused(function):
    """The text of this module's refusal."""
    try:
        function()
    except ValueError as error:
        assert str(error).startswith("gemmsmith.torch: "), error
        return str(error)
    raise AssertionError("nothing was refused")


ACTIVATIONS = {"none": lambda z: z, "relu": torch.relu, "silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu,
               "gelu_tanh": lambda z: torch.nn.functional.gelu(z, approximate="tanh")}


def swiglu_of(x, weight):
    gate, up = (x.float() @ weight.float().t()).chunk(2, -1)
    return torch.nn.functional.silu(gate) * up


@case
def activations():
    x, weight, bias, residual = random(12, FEATURES), random(HIDDEN, FEATURES), random(HIDDEN), random(12, HIDDEN)
    z = x.float() @ weight.float().t()
    for name, function in ACTIVATIONS.items():
        with Expect(3):
            near(ours.linear(x, weight, bias, name), function(z + bias.float()), name)
            near(ours.linear(x, weight, None, name, residual), function(z) + residual.float(), name)
            near(ours.linear(x, weight, bias, name, residual), function(z + bias.float()) + residual.float(), name)
    with Expect(1):
        y = ours.linear_residual(x.view(3, 4, FEATURES), weight, residual.view(3, 4, HIDDEN))
    near(y.view(12, HIDDEN), z + residual.float())


@case
def gates():
    gate, up, x = random(HIDDEN, FEATURES), random(HIDDEN, FEATURES), random(2, 5, FEATURES)
    with Expect(1):
        got = ours.swiglu(x, ours.pack_swiglu(gate, up))
    near(got, torch.nn.functional.silu(x.float() @ gate.float().t()) * (x.float() @ up.float().t()))
    strange = random(FEATURES, 2 * HIDDEN)[:, ::2].t()   # no leading dimension describes it: torch's operators
    with Expect(0, 2):
        near(ours.swiglu(x, strange), swiglu_of(x, strange))


def norm_of(x, weight, eps, rounded, plus_one=False):
    y = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
    return (y.to(x.dtype).float() if rounded else y) * (1 if weight is None else weight.float() + plus_one)


@case
def norms():
    """Whole pieces of 16 bytes, others, rows that lie apart, more than one piece for each thread, small numbers beside eps, and what goes to torch's operators."""
    for dtype in HALVES:
        for shape in ((1, 64), (3, 2, 40), (5, 7), (2, 1), (2, 9000), (70, 128)):
            x, weight = random(*shape, dtype=dtype), random(shape[-1], dtype=dtype)
            for rounded in (False, True):
                with Expect(2):
                    near(ours.rms_norm(x, weight, 1e-5, rounded), norm_of(x, weight, 1e-5, rounded), (shape, rounded))
                    near(ours.rms_norm(x, eps=1e-5, rounded=rounded), norm_of(x, None, 1e-5, rounded), (shape, rounded))
                near(ours.rms_norm(x, weight, 1e-5, rounded, True), norm_of(x, weight, 1e-5, rounded, True), (shape, rounded))
    x, weight = random(6, 48), random(40)
    with Expect(3):
        near(ours.rms_norm(x[:, 8:], weight), norm_of(x[:, 8:], weight, 1e-6, False))
        near(ours.rms_norm(x[:, 3:43], weight, 1.0), norm_of(x[:, 3:43], weight, 1.0, False))
        near(ours.rms_norm(1e-3 * x[::2, :40], weight, 1e-4), norm_of(1e-3 * x[::2, :40], weight, 1e-4, False))
    for x in (torch.zeros(2, 16), torch.full((2, 16), 3e38), torch.tensor([[float("inf")] + 15 * [1.0], [float("nan")] + 15 * [1.0]])):
        with Expect(1):
            torch.testing.assert_close(ours.rms_norm(x.bfloat16()), torch.nn.functional.rms_norm(x.bfloat16(), (16,), None, 1e-6), equal_nan=True)
    x, weight = torch.randn(4, 8), torch.randn(8)
    with Expect(0):   # f32
        torch.testing.assert_close(ours.rms_norm(x, weight, 1e-5), norm_of(x, weight, 1e-5, False))
        torch.testing.assert_close(ours.rms_norm(x.bfloat16(), weight), torch.nn.functional.rms_norm(x.bfloat16(), (8,), weight, 1e-6))
    run, result, x, weight = torch.ops.gemmsmith.rms_norm_run.default, torch.full((4, 16), 7.0, dtype=torch.bfloat16), random(4, 16), random(16)
    for given, by in ((random(4, 32)[:, ::2], weight), (random(4, 15), weight), (random(5, 16), weight), (x, random(17)), (x, random(32)[::2]), (x, weight.half()), (x.half(), weight), (x, weight[None]),
                      (result[:, :1].expand(4, 16), weight), (x, result[0])):
        assert not run(result, given, by, 1e-6, 1) and (result == 7).all()
    want = norm_of(x, weight, 1e-6, False)
    assert run(x, x, weight, 1e-6, 1)   # in place
    near(x, want)


@case
def norm_gradients():
    """While gradients are recorded, and in torch.func, a norm is torch's operators."""
    x, weight = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 6), (6,)))
    for rounded in (False, True):
        assert torch.autograd.gradcheck(lambda x, w, rounded=rounded: ours.rms_norm(x, w, 1e-3, rounded, rounded), (x, weight))
    x, weight = random(4, 16), random(16).requires_grad_()
    with Expect(0):
        ours.rms_norm(x, weight).float().sum().backward()
        got = torch.func.vmap(lambda row: ours.rms_norm(row, weight.detach()))(x)
    near(got, norm_of(x, weight.detach(), 1e-6, False))
    assert weight.grad.abs().sum() > 0


class LlamaRMSNorm(torch.nn.Module):
    """As transformers has it."""

    def __init__(self, features=FEATURES, eps=1e-5, dtype=torch.bfloat16):
        super().__init__()
        self.weight, self.variance_epsilon = torch.nn.Parameter(torch.ones(features, dtype=dtype)), eps

    def forward(self, x):
        kind = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * x.to(kind)


class GemmaRMSNorm(LlamaRMSNorm):
    """As transformers has it."""

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.variance_epsilon) * (1 + self.weight.float())).type_as(x)


class HalfRMSNorm(LlamaRMSNorm):
    def forward(self, x):
        return super().forward(x) / 2


@case
def fused_norms():
    model, x = torch.nn.Sequential(LlamaRMSNorm(), torch.nn.RMSNorm(FEATURES, 1e-5, dtype=torch.bfloat16), GemmaRMSNorm(), torch.nn.RMSNorm(FEATURES, dtype=torch.bfloat16), LlamaRMSNorm(dtype=torch.float32), HalfRMSNorm()), random(6, FEATURES)
    model.append(model[0])
    with torch.no_grad():
        for layer in model:
            layer.weight.copy_(torch.randn(FEATURES))
    want, names = [layer(x) for layer in model], list(model.state_dict())
    weight, plain = model[0].weight, model[0]
    assert ours.fuse(model, norms=False) == 0 and ours.fuse(model.eval()) == 3 and ours.fuse(model) == 0
    assert [type(layer) is ours.RMSNorm for layer in model] == [True, True, True, False, False, False, True] and model[0] is model[6] and model[0].weight is weight and not model[0].training
    assert model[0].rounded and not model[1].rounded and model[2].plus_one and not model[2].rounded and not model[0].plus_one and model[0].eps == 1e-5 and list(model.state_dict()) == names and "rounded=True" in repr(model[0])
    with torch.no_grad(), Expect(4):
        got = [layer(x) for layer in model]
    for g, w in zip(got, want):
        near(g, w)
    with Expect(0), torch.no_grad():
        near(torch.compile(model[0], backend="eager")(x), want[0])
        for rounded, plus_one in ((False, False), (True, False), (False, True)):   # rows that lie apart, which the operator has no kernel for
            apart = random(FEATURES, 6).t()
            got = torch.compile(lambda t, r=rounded, p=plus_one: ours.rms_norm(t.float(), weight.float(), 1e-5, r, p), backend="aot_eager")(apart)
            near(got, norm_of(apart.float(), weight, 1e-5, rounded, plus_one))
    for kind in (torch.float16, torch.float32):   # numbers of another type than the weight
        assert torch.equal(model[0](x.to(kind)), plain(x.to(kind))) and model[0](x.to(kind)).dtype == plain(x.to(kind)).dtype
    class DroppedRMSNorm(LlamaRMSNorm):
        def forward(self, x):
            return torch.nn.functional.dropout(super().forward(x), 0.5, self.training)

    class AddedRMSNorm(LlamaRMSNorm):
        def forward(self, x, residual=None):
            return super().forward(x if residual is None else x + residual)

    hooked, saved, patched, mlp = LlamaRMSNorm(), LlamaRMSNorm(), LlamaRMSNorm(), Mlp()
    hooked.register_forward_hook(lambda *_: None)
    saved._register_state_dict_hook(lambda *_: None)
    patched.forward, mlp.up_proj.forward = (lambda module: lambda x: type(module).forward(module, x))(patched), (lambda module: lambda x: type(module).forward(module, x))(mlp.up_proj)
    rest = torch.nn.Sequential(hooked, saved, patched, mlp, LlamaRMSNorm().to("meta"), DroppedRMSNorm(), DroppedRMSNorm().eval(), AddedRMSNorm())
    assert ours.fuse(rest) == 0 and [layer.training for layer in rest] == [True, True, True, True, True, True, False, True]
    said = ours.prepare(model)
    assert said == {"bf16:rms_norm:rounded": "one kernel; in a graph the next one may start before it ends", "bf16:rms_norm": "one kernel; in a graph the next one may start before it ends"}, said
    try:
        ours.prepare("f32:rms_norm")
        raise AssertionError("it was taken")
    except RuntimeError as error:
        assert "expected f16 or bf16" in str(error)


@case
def experts():
    weight, gated, x = random(4, HIDDEN, FEATURES), random(4, 2 * HIDDEN, FEATURES), random(20, FEATURES)
    for places in ([0, 7, 7, 12, 18], [0, 0, 0, 0, 20], [0, 0, 0, 0, 0]):
        offsets = torch.tensor(places, dtype=torch.int32)
        with Expect(2):
            plain, silu = ours.grouped(x, weight, offsets), ours.grouped(x, gated, offsets, "silu", True)
        for i in range(4):
            rows = slice(places[i], places[i + 1])
            if places[i] < places[i + 1]:
                near(plain[rows], x[rows].float() @ weight[i].float().t())
                near(silu[rows], swiglu_of(x[rows], gated[i]))
        assert (plain[places[-1]:] == 0).all() and (silu[places[-1]:] == 0).all()
    offsets = torch.tensor([0, 7, 7, 12, 18], dtype=torch.int32)
    torch.testing.assert_close(ours.grouped(x.float(), gated.float(), offsets, "silu", True)[:18], ours.grouped(x, gated, offsets, "silu", True)[:18].float(), rtol=0.05, atol=0.2)


@case
def gradients():
    """In f64, where torch's own operators compute, by finite differences; and the same formulas in bf16."""
    def numbers(*shape):
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    offsets = torch.tensor([0, 2, 2, 5], dtype=torch.int32)
    for name in ACTIVATIONS:
        assert torch.autograd.gradcheck(lambda x, w, b, r: ours.linear(x, w, b, name, r), (numbers(2, 3, 4), numbers(5, 4), numbers(5), numbers(2, 3, 5)))
    for name in ("silu", "relu", "gelu_tanh"):
        assert torch.autograd.gradcheck(lambda x, w: ours.swiglu(x, w, name), (numbers(2, 3, 4), numbers(6, 4)))
    x, weight = numbers(3, 4), numbers(6, 4).detach()
    ours.swiglu(x, weight).sum().backward()   # a weight that is frozen
    assert weight.grad is None and x.grad is not None
    assert torch.autograd.gradcheck(lambda x, w: ours.grouped(x, w, offsets)[:5], (numbers(6, 4), numbers(3, 2, 4)))
    assert torch.autograd.gradcheck(lambda x, w: ours.grouped(x, w, offsets, "gelu", True)[:5], (numbers(6, 4), numbers(3, 6, 4)))
    assert torch.autograd.gradcheck(lambda x, w: ours.grouped(x, w, offsets, "silu")[:5], (numbers(6, 4), numbers(3, 2, 4)))
    x, weight, gated = random(8, FEATURES).requires_grad_(), random(HIDDEN, FEATURES).requires_grad_(), random(2 * HIDDEN, FEATURES).requires_grad_()
    for function, kernels in ((lambda: ours.linear(x, weight, None, "gelu"), 3), (lambda: ours.linear(x, weight, None, "gelu", random(8, HIDDEN)), 3), (lambda: ours.swiglu(x, gated), 4)):
        with Expect(kernels):   # one forward, two backward, and a gate's gradients: none is computed twice
            function().float().square().sum().backward()
    module = ours.SwiGLU(FEATURES, HIDDEN, dtype=torch.bfloat16)
    x = random(8, FEATURES).requires_grad_()
    module(x, x).float().square().sum().backward()
    exact, plain = ours.SwiGLU(FEATURES, HIDDEN), x.detach().float().requires_grad_()
    exact.load_state_dict({k: v.float() for k, v in module.state_dict().items()})
    exact(plain, plain).square().sum().backward()
    for got, want in ((x.grad, plain.grad), (module.gate_up.grad, exact.gate_up.grad), (module.down.grad, exact.down.grad)):
        assert (got.float() - want).abs().max() < 0.05 * want.abs().max()


@case
def second_gradients():
    """Gradients of gradients, also of several results of one operator, which the first backward pass read."""
    def numbers(*shape):
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    offsets = torch.tensor([0, 2, 2, 5], dtype=torch.int32)
    for name in ("silu", "gelu", "gelu_tanh"):
        assert torch.autograd.gradgradcheck(lambda x, w: ours.swiglu(x, w, name), (numbers(2, 4), numbers(6, 4)))
        assert torch.autograd.gradgradcheck(lambda x, w: ours.grouped(x, w, offsets, name, True)[:5], (numbers(6, 4), numbers(3, 6, 4)))
    assert torch.autograd.gradgradcheck(lambda x, w, b: ours.linear(x, w, b, "silu"), (numbers(2, 4), numbers(3, 4), numbers(3)))
    for operator in (torch.ops.gemmsmith.swiglu_kept, torch.ops.gemmsmith.swiglu_both):
        assert torch.autograd.gradcheck(lambda x, w: operator.default(x, w, "gelu"), (numbers(2, 4), numbers(6, 4)))
        assert torch.autograd.gradgradcheck(lambda x, w: operator.default(x, w, "silu")[0], (numbers(2, 4), numbers(6, 4)))
    for name in ("silu", "gelu"):
        assert torch.autograd.gradcheck(lambda x, w, b: torch.ops.gemmsmith.linear_kept.default(x, w, b, name), (numbers(2, 4), numbers(3, 4), numbers(3)))
        assert torch.autograd.gradgradcheck(lambda x, w, b: torch.ops.gemmsmith.linear_kept.default(x, w, b, name)[0], (numbers(2, 4), numbers(3, 4), numbers(3)))


@case
def kept():
    """What a kernel keeps for the gradients, the gradients of a gate by one kernel, and both where the library takes no such tensors."""
    for rows, width in ((12, HIDDEN), (3, 20), (1, 7)):   # whole pieces of 16 bytes, and others
        x, weight, bias, gated, grad = random(rows, FEATURES), random(width, FEATURES), random(width), random(2 * width, FEATURES), random(rows, width)
        for name in ("relu", "silu", "gelu", "gelu_tanh"):
            with Expect(2):
                y, z = torch.ops.gemmsmith.linear_kept.default(x, weight, bias, name)
                h, both = torch.ops.gemmsmith.swiglu_both.default(x, gated, name)
            near(z, x.float() @ weight.float().t() + bias.float())
            near(y, ACTIVATIONS[name](z.float()), name)
            near(both, x.float() @ gated.float().t())
            near(h, ACTIVATIONS[name](both[:, :width].float()) * both[:, width:].float(), name)
            result = torch.full_like(both, 7)
            assert torch.ops.gemmsmith.gate_gradients.default(result, grad, both, fused._ACTIVATIONS[name])
            gate, up = (part.float().detach().requires_grad_() for part in both.chunk(2, -1))
            (ACTIVATIONS[name](gate) * up).backward(grad.float())
            near(result, torch.cat([gate.grad, up.grad], -1), name)
    both, result = random(4, 16), torch.full((4, 16), 7.0, dtype=torch.bfloat16)
    run = torch.ops.gemmsmith.gate_gradients.default
    for grad, kept, activation in ((random(4, 16)[:, ::2], both, 4), (random(4, 9), both, 4), (random(5, 8), both, 4), (random(4, 8).half(), both, 4), (random(4, 8).float(), both, 4),
                                   (random(4, 8), both, 0), (random(4, 8), both, 5), (random(4, 8), random(4, 32)[:, :16], 4), (random(4, 8), result, 4)):
        assert not run(result, grad, kept, activation) and (result == 7).all()
    inside = random(6, 16)   # a gradient that lies in what is kept: nothing is written there
    assert run(result, inside.view(-1)[:32].view(4, 8), inside[2:], 4)


@case
def trained_experts():
    """Gradients of experts by kernels that read where the groups begin, of empty groups, and of rows behind the last one, which are 0."""
    x, offsets = random(24, FEATURES), torch.tensor([0, 9, 9, 20, 21], dtype=torch.int32)
    for name, gate, kernels in (("none", False, 3), ("gelu", False, 3), ("silu", True, 4), ("relu", True, 4)):
        weight, grad = random(4, 2 * HIDDEN if gate else HIDDEN, FEATURES), random(24, HIDDEN)
        got, want = ([t.clone().requires_grad_() for t in (x, weight)] for _ in range(2))
        with Expect(kernels):   # forward, of x, of the weights, of the gates
            ours.grouped(got[0], got[1], offsets, name, gate).backward(grad)
        fused._grouped_by_torch(want[0].float(), want[1].float(), offsets, name, gate).backward(grad.float())
        for g, w in zip(got, want):   # what is kept and the gradients of it are rounded to bf16
            alike(g.grad, w.grad, (name, gate))
        assert (got[0].grad[21:] == 0).all() and (got[1].grad[1] == 0).all()
    with Expect(3):   # nothing was kept: the product again, and the gradients of gates by torch, which somebody might differentiate
        again = torch.ops.gemmsmith.grouped_grads.default(grad, x, weight, offsets, name, gate)
    for g, w in zip(again, got):
        alike(g, w.grad)
    torch.library.opcheck(torch.ops.gemmsmith.grouped_both.default, (torch.randn(4, 3), torch.randn(2, 6, 3), torch.tensor([0, 1, 3], dtype=torch.int32), "silu", True), test_utils=("test_schema", "test_faketensor"))


@case
def rare_gradients():
    """What was kept comes back with other strides; gradients of many at once; tangents of gradients; no elements; weights stored the other way; experts that are frozen."""
    x, weight, offsets = random(2, 4, FEATURES).requires_grad_(), random(2 * HIDDEN, FEATURES), torch.tensor([0, 3, 3, 7], dtype=torch.int32)
    rows, experts = random(8, FEATURES), random(3, 2 * HIDDEN, FEATURES)

    def gradient(function, of, hooks=None):
        with torch.autograd.graph.saved_tensors_hooks(*hooks) if hooks else torch.enable_grad():
            y = function(of)
        return torch.autograd.grad(y, of, torch.ones_like(y))[0]

    plain = gradient(lambda t: ours.swiglu(t, weight), x)
    hooks = (lambda t: t.transpose(0, 1).contiguous() if t.dim() == 3 else t, lambda t: t.transpose(0, 1) if t.dim() == 3 else t)
    assert torch.equal(gradient(lambda t: ours.swiglu(t, weight), x, hooks), plain)
    r = rows.clone().requires_grad_()
    for function in (lambda t: ours.swiglu(t, weight), lambda t: ours.grouped(t, experts, offsets, "silu", True)):
        y, many = function(r), random(3, 8, HIDDEN)
        for got, one in zip(torch.autograd.grad(y, r, many, is_grads_batched=True, retain_graph=True)[0], many):
            alike(got, torch.autograd.grad(y, r, one, retain_graph=True)[0])
        tangent = random(8, HIDDEN)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(many[0], tangent)
            got = torch.autograd.forward_ad.unpack_dual(torch.autograd.grad(y, r, dual, retain_graph=True)[0]).tangent
        alike(got, torch.autograd.grad(y, r, tangent)[0])   # gradients are linear in what is given
    for shape, k in (((5, 0), 0), ((0, FEATURES), FEATURES)):
        none = random(*shape).requires_grad_()
        ours.linear(none, random(4, k), None, "gelu").sum().backward()
        ours.swiglu(none, random(4, k)).sum().backward()
        assert none.grad.shape == none.shape
    across = experts.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()
    with Expect(4):
        ours.grouped(r, across, offsets, "silu", True).sum().backward()
    straight = experts.clone().requires_grad_()
    ours.grouped(rows, straight, offsets, "silu", True).sum().backward()
    assert torch.equal(across.grad, straight.grad)
    with Expect(3):   # none of the weights
        gradient(lambda t: ours.grouped(t, experts, offsets, "silu", True), r)
    try:
        ours.grouped(r, experts, offsets + 1, "silu", True)
    except ValueError as error:
        assert "ascend" in str(error)
    else:
        raise AssertionError("offsets that do not begin at 0")


@case
def transformed():
    """torch.func, vmap and forward-mode derivatives, as of torch's own operators."""
    x, t, weight, gated, experts = (torch.randn(*shape) for shape in ((5, 4), (5, 4), (6, 4), (6, 4), (2, 6, 4)))
    offsets = torch.tensor([0, 2, 4], dtype=torch.int32)

    def by_torch(x, w):
        gate, up = torch.nn.functional.linear(x, w).chunk(2, -1)
        return torch.nn.functional.silu(gate) * up

    pairs = ((lambda x: ours.linear(x, weight, activation="gelu"), lambda x: torch.nn.functional.gelu(torch.nn.functional.linear(x, weight))),
             (lambda x: ours.swiglu(x, gated), lambda x: by_torch(x, gated)),
             (lambda x: ours.grouped(x, experts, offsets, "silu", True), lambda x: torch.cat([by_torch(x[:2], experts[0]), by_torch(x[2:4], experts[1]), torch.zeros(1, 3)])))
    for function, want in pairs:
        close = torch.testing.assert_close
        tangent = torch.func.jvp(want, (x,), (t,))[1]
        close(torch.func.jvp(function, (x,), (t,))[1], tangent)
        close(torch.func.jacrev(function)(x), torch.func.jacfwd(want)(x))
        close(torch.func.grad(lambda x: function(x).square().sum())(x), torch.func.grad(lambda x: want(x).square().sum())(x))
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, t)
            close(torch.autograd.forward_ad.unpack_dual(function(dual)).tangent, tangent)
    for function, want in pairs[:2]:
        close(torch.vmap(function)(x), torch.vmap(want)(x))


@case
def under_autocast():
    """Modules in f32 behind others, in bf16, as torch's own."""
    x, offsets = torch.randn(5, FEATURES), torch.tensor([0, 2, 5], dtype=torch.int32)
    layer, mlp, experts = ours.Linear(FEATURES, HIDDEN), ours.SwiGLU(HIDDEN, FEATURES), torch.randn(2, 6, FEATURES)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        y = layer(torch.nn.Linear(FEATURES, FEATURES)(x))
        z = mlp(y, y.float())
        grouped = ours.grouped(x, experts, offsets)
    assert y.dtype == z.dtype == grouped.dtype == torch.bfloat16
    near(grouped[:2], x[:2].bfloat16().float() @ experts[0].bfloat16().float().t())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer(x).float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32


@case
def traced():
    """What torch asks of operators: shapes for tracing, schemas, gradients in a traced graph."""
    x, weight = torch.randn(3, 4, requires_grad=True), torch.randn(6, 4, requires_grad=True)
    ops = torch.ops.gemmsmith
    torch.library.opcheck(ops.linear.default, (x, weight, torch.randn(6), torch.randn(3, 6), "silu"))
    torch.library.opcheck(ops.linear.default, (x, weight, None, None, "none"))
    torch.library.opcheck(ops.swiglu.default, (x, weight, "silu"))
    for operator in (ops.swiglu_kept, ops.swiglu_both):
        torch.library.opcheck(operator.default, (x, weight, "gelu"))
    torch.library.opcheck(ops.linear_kept.default, (x, weight, None, "gelu"))
    torch.library.opcheck(ops.grouped.default, (x, torch.randn(2, 6, 4), torch.tensor([0, 1, 3], dtype=torch.int32), "silu", True), test_utils=("test_schema", "test_faketensor"))


@case
def compiled():
    if adapter.no_compiler():
        return
    rows, experts, offsets = torch.randn(5, 4, requires_grad=True), torch.randn(2, 6, 4, requires_grad=True), torch.tensor([0, 2, 5], dtype=torch.int32)
    want = torch.autograd.grad(ours.grouped(rows, experts, offsets, "silu", True).square().sum(), (rows, experts))
    trained = torch.compile(lambda x, w, o: ours.grouped(x, w, o, "silu", True), fullgraph=True)
    for got, of in zip(torch.autograd.grad(trained(rows, experts, offsets).square().sum(), (rows, experts)), want):
        torch.testing.assert_close(got, of)
    module, x = ours.SwiGLU(FEATURES, HIDDEN, dtype=torch.bfloat16), random(8, FEATURES)
    with torch.no_grad():
        want = swiglu_of(x, module.gate_up) @ module.down.float().t() + x.float()
        run = torch.compile(lambda t: module(t, t), fullgraph=True)
        run(x)
        with Expect(2):
            got = run(x)
    assert (got.float() - want).abs().max() < 0.05 * want.abs().max()


class Mlp(torch.nn.Module):
    def __init__(self, bias=False, act_fn=None):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = (torch.nn.Linear(a, b, bias=bias, dtype=torch.bfloat16) for a, b in ((FEATURES, HIDDEN),) * 2 + ((HIDDEN, FEATURES),))
        self.act_fn = act_fn or torch.nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


@case
def fused_models():
    model = torch.nn.Sequential(Mlp(), torch.nn.ModuleDict({"mlp": Mlp(), "other": Mlp(bias=True)}))
    x = random(6, FEATURES)
    want = model[0](x).float(), model[1]["mlp"](x).float()
    assert ours.fuse(model) == 2
    assert type(model[0]) is ours.SwiGLU and type(model[1]["other"]) is Mlp
    with torch.no_grad(), Expect(4):
        got = model[0](x), model[1]["mlp"](x)
    with Expect(2):   # the parameters have gradients: gate and up are kept
        model[0](x)
    for g, w in zip(got, want):
        assert (g.float() - w).abs().max() < 0.05 * w.abs().max()
    layer = ours.Linear(FEATURES, HIDDEN, activation="gelu", dtype=torch.bfloat16)
    with Expect(1):
        near(layer(x), torch.nn.functional.gelu(torch.nn.functional.linear(x.float(), layer.weight.float(), layer.bias.float())))
    assert "activation=gelu" in repr(layer) and set(layer.state_dict()) == {"weight", "bias"}


@case
def fused_gelus():
    """MLPs whose gate has another activation, under the names that programs use."""
    class GELUTanh(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.gelu(x, approximate="tanh")

    for function, name in ((torch.nn.GELU(), "gelu"), (torch.nn.GELU("tanh"), "gelu_tanh"), (GELUTanh(), "gelu_tanh"), (torch.nn.functional.gelu, "gelu")):
        mlp, x = Mlp(act_fn=function).eval(), 2 * random(6, FEATURES)
        model, want = torch.nn.Sequential(mlp), mlp(x).detach()
        assert ours.fuse(model) == 1 and model[0].activation == name
        with Expect(2), torch.no_grad():
            got = model[0](x)
        assert (got.float() - want.float()).abs().max() < 0.02 * want.float().abs().max(), name
    class GELU(torch.nn.Module):
        def forward(self, x):
            return x * torch.sigmoid(1.702 * x)

    assert ours.fuse(torch.nn.Sequential(Mlp(act_fn=torch.nn.ReLU()), Mlp(act_fn=GELU()), Mlp(act_fn=torch.nn.Softmax(-1)))) == 0


class Clamped(Mlp):
    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x).clamp(max=1)) * self.up_proj(x))


class Scaled(Mlp):
    def forward(self, x):
        return 0.5 * super().forward(x)


class Dropped(Mlp):
    def forward(self, x):
        return torch.nn.functional.dropout(super().forward(x), 0.5, self.training)


class Normed(Mlp):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.Identity()


class Paired(Mlp):
    def forward(self, x):
        return super().forward(x), None


@case
def what_is_not_fused():
    """What computes anything else, or would lose something."""
    for kind in (Clamped, Scaled, Dropped, Normed, Paired):
        model = torch.nn.Sequential(kind().eval())
        assert ours.fuse(model) == 0 and type(model[0]) is kind and not model[0].training, kind
    hooked, mixed, frozen, parameter = Mlp(), Mlp(), Mlp(), Mlp()
    hooked.up_proj.register_forward_hook(lambda *_: None)
    mixed.up_proj.float()
    frozen.gate_proj.weight.requires_grad_(False)
    parameter.scale = torch.nn.Parameter(torch.ones(1))
    assert ours.fuse(torch.nn.Sequential(hooked, mixed, frozen, parameter, Mlp().to("meta"))) == 0


@case
def names_after_fusing():
    """A module that stands in two places stays one; what is saved has the names of before, and is loaded by either kind of model."""
    plain = torch.nn.Sequential(Mlp().eval(), Mlp())
    plain.append(plain[0])
    fused, names = copy.deepcopy(plain), list(plain.state_dict())
    assert ours.fuse(fused) == 2 and fused[0] is fused[2] and not fused[0].training and fused[1].training
    assert list(fused.state_dict()) == names
    for name, tensor in fused.state_dict().items():
        assert torch.equal(tensor, plain.state_dict()[name]), name
    other = torch.nn.Sequential(Mlp(), Mlp())
    other.append(other[0])
    other.load_state_dict(fused.state_dict())
    assert torch.equal(other[1].up_proj.weight, plain[1].up_proj.weight)
    other = torch.nn.Sequential(ours.SwiGLU(FEATURES, HIDDEN, dtype=torch.bfloat16))
    assert set(other.state_dict()) == {"0.gate_up", "0.down"} and "hidden=48" in repr(other)
    for assign in (False, True):
        other[0].reset_parameters()
        other.load_state_dict({name: tensor for name, tensor in plain.state_dict().items() if name.startswith("0.")}, assign=assign)
        assert torch.equal(other[0].gate_up, fused[0].gate_up) and torch.equal(other[0].down, fused[0].down)


@case
def prepared():
    """Plans of all layers of a model, for several numbers of rows: its calls find them."""
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 56), ours.Linear(56, FEATURES, bias=False, activation="gelu"), ours.SwiGLU(FEATURES, 56, "gelu_tanh"), torch.nn.LayerNorm(FEATURES)).to(torch.bfloat16)
    said = ours.prepare(model, rows=(7, 9))
    assert sorted(said) == sorted(f"bf16:{rows}x{rest}" for rows in (7, 9) for rest in ("56x32:tn:ep=bias", "32x56:tn:ep=gelu_erf", "56x32:tn:ep=gelu+gate", "32x56:tn")), said
    before = {line.problem for line in ours.why()}
    with Expect(8), torch.no_grad():
        model(random(7, FEATURES))
        model(random(9, FEATURES))
    assert {line.problem for line in ours.why()} == before
    assert ours.prepare(torch.nn.Linear(4, 4)) == {}


@case
def prepared_for_training():
    """All that a training step of a model asks for, and nothing else."""
    layers = [torch.nn.Linear(FEATURES, 88), ours.Linear(88, 72, bias=False, activation="gelu"), ours.Linear(72, FEATURES, activation="relu"), ours.SwiGLU(FEATURES, 104, "gelu_tanh")]
    model = torch.nn.Sequential(*layers).to(torch.bfloat16)
    said = ours.prepare(model, rows=10, training=True)
    assert "bf16:10x72x88:tn:ep=gelu_erf+aux" in said and said["bf16:gate_gradients:gelu"] == "one kernel for both gradients", said
    known = {line.problem: line.calls for line in ours.why()}
    assert set(said) <= set(known)
    x = random(10, FEATURES).requires_grad_()
    model(x).square().sum().backward()   # a gradient without strides of 0
    used = {line.problem for line in ours.why() if line.calls > known.get(line.problem, 0)}
    assert used == set(said), (used ^ set(said))
    try:
        assert not ours.prepare("bf16:gate_gradients:none")
    except RuntimeError as error:
        assert "expected f16 or bf16" in str(error)
    assert [line for line in ours.why() if line.problem == "bf16:gate_gradients:gelu"][0].kernel == "gate_gradients"


@case
def refusals():
    x, weight, offsets = random(6, FEATURES), random(HIDDEN, FEATURES), torch.tensor([0, 3, 6], dtype=torch.int32)
    for function, words in ((lambda: ours.linear(x, weight, activation="tanh"), "not one of none, relu"),
                            (lambda: ours.linear(x[:, 1:], weight), "rows of 32"),
                            (lambda: ours.linear(x, weight[0]), "1 dimensions, not 2"),
                            (lambda: ours.linear(x, weight.float()), "bfloat16"),
                            (lambda: ours.linear(x, weight, random(3)), "bias"),
                            (lambda: ours.linear(x, weight, residual=x), "residual"),
                            (lambda: ours.linear(x, weight, random(HIDDEN).float()), "bias is torch.float32"),
                            (lambda: ours.linear(x, weight, random(HIDDEN).to("meta")), "bias is torch.bfloat16 on meta"),
                            (lambda: ours.linear(x, weight, residual=random(6, HIDDEN).float()), "residual is torch.float32"),
                            (lambda: ours.swiglu(x, weight[1:]), "odd number"),
                            (lambda: ours.swiglu(x, weight, "none"), "a gate needs"),
                            (lambda: ours.rms_norm(x, x[0, 1:]), "weight is ("),
                            (lambda: ours.rms_norm(x[0, 0]), "x ends with no elements"),
                            (lambda: ours.pack_swiglu(weight, weight[1:]), "one shape"),
                            (lambda: ours.pack_swiglu(weight, weight.float()), "up's torch.float32"),
                            (lambda: ours.grouped(x, weight.view(2, -1, FEATURES), offsets.flip(0)), "ascend"),
                            (lambda: ours.grouped(x, weight.view(2, -1, FEATURES), offsets + 1), "ascend"),
                            (lambda: ours.SwiGLU(4, 4, activation="none"), "not one of relu"),
                            (lambda: ours.SwiGLU.of(*[torch.nn.Linear(4, 5, bias=False)] * 3), "down takes 4"),
                            (lambda: ours.grouped(x[0], weight.view(2, -1, FEATURES), offsets), "not a matrix"),
                            (lambda: ours.grouped(x, weight.view(2, -1, FEATURES), offsets.long()), "3 int32"),
                            (lambda: ours.grouped(x, weight.view(2, -1, FEATURES), offsets[1:]), "3 int32"),
                            (lambda: ours.grouped(x, weight.view(2, -1, FEATURES), offsets, "none", True), "a gate needs"),
                            (lambda: ours.Linear(4, 4, activation="tanh"), "not one of"),
                            (lambda: ours.SwiGLU.of(*[torch.nn.Linear(4, 4)] * 3), "no biases")):
        assert words in refused(function), words


@case
def alone():
    """Without enable(), and without the adapter, torch's operators compute all of it."""
    said, warned = apart("x, w = torch.ones(4, 8, dtype=torch.bfloat16), torch.ones(6, 8, dtype=torch.bfloat16)\n"
                         "print(ours.linear(x, w, residual=torch.ones(4, 6, dtype=torch.bfloat16)).sum().item(), ours.swiglu(x, w).shape, ours.is_enabled())", GEMMSMITH_TORCH_LIBRARY="/nonexistent.so")
    assert said.strip() == "216.0 torch.Size([4, 3]) False" and not warned, (said, warned)
    said, _ = apart(f"ours.enable(emulated={EMULATED!r})\nours.disable()\nx, w = torch.ones(4, 8, dtype=torch.bfloat16), torch.ones(6, 8, dtype=torch.bfloat16)\nours.swiglu(x, w)\nprint(ours.why()[0].calls)")
    assert said.strip() == "1"
    said, _ = apart(f"ours._OPERATORS += 1\ntry:\n    ours.enable(emulated={EMULATED!r})\nexcept RuntimeError as error:\n    print(error)")
    assert "of another version" in said, said


if __name__ == "__main__":
    sys.exit(adapter.main(CASES))
