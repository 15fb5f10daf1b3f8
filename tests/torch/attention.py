# SPDX-License-Identifier: MIT
"""fuse() of gemmsmith.torch makes q, k and v of self-attentions one product: attention.py SOURCE BUILD [CASE ...]. 77: no torch, or no compiler of CUDA."""
import copy
import sys

import adapter
from adapter import Expect, alike, near, ours, random, torch

CASES = []
FEATURES = 32


def case(function):
    CASES.append(function)
    return function


class Attention(torch.nn.Module):
    """Self-attention as transformers have it, with two heads and one of keys and values."""

    def __init__(self, bias=False, kv=FEATURES // 2):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (torch.nn.Linear(FEATURES, n, bias=bias, dtype=torch.bfloat16) for n in (FEATURES, kv, kv, FEATURES))

    def forward(self, hidden_states):
        shape = (*hidden_states.shape[:-1], -1, FEATURES // 2)
        q = self.q_proj(hidden_states).view(shape).transpose(-3, -2)
        k = self.k_proj(hidden_states).view(shape).transpose(-3, -2)
        v = self.v_proj(hidden_states).view(shape).transpose(-3, -2)
        return self.o_proj(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(-3, -2).flatten(-2))


@case
def fused_attention():
    """q, k and v are one product, with their gradients."""
    for bias in (False, True):
        plain, x, slope = Attention(bias), random(2, 6, FEATURES), random(2, 6, FEATURES)
        model = torch.nn.ModuleDict({"attention": copy.deepcopy(plain)})
        assert ours.fuse(copy.deepcopy(model), qkv=False) == 0 and ours.fuse(model) == 1 and ours.fuse(model) == 0
        fused_one = model["attention"]
        want, got = plain(x), fused_one(x)
        alike(got, want)
        want.backward(slope), got.backward(slope)
        alike(fused_one.q_proj.joined.weight.grad, torch.cat([getattr(plain, name).weight.grad for name in ("q_proj", "k_proj", "v_proj")]))
        if bias:
            alike(fused_one.q_proj.joined.bias.grad, torch.cat([getattr(plain, name).bias.grad for name in ("q_proj", "k_proj", "v_proj")]))
        with torch.no_grad(), Expect(2):
            alike(fused_one(x), want)
        with torch.inference_mode(), Expect(2):
            alike(fused_one(x + 0), want)
        said = ours.prepare(model, rows=5)
        assert sorted(said) == sorted(f"bf16:5x{rest}" + ":ep=bias" * bias for rest in ("64x32:tn", "32x32:tn")), said


@case
def inputs_of_joined_layers():
    """A result is taken over only for the same tensor, as it was, in the same mode."""
    plain = Attention()
    model = copy.deepcopy(plain)
    assert ours.fuse(torch.nn.Sequential(model)) == 1
    layers, same = ("q_proj", "k_proj", "v_proj"), lambda name, x: near(getattr(model, name)(x), x.float() @ getattr(plain, name).weight.float().t(), name)
    with torch.no_grad():
        x, y = random(4, FEATURES), random(4, FEATURES)
        with Expect(1):
            for name in layers:
                same(name, x)
        assert model.q_proj.joined._kept is None
        with Expect(3):   # in turn: each is a product again
            for name, z in (("q_proj", x), ("k_proj", y), ("v_proj", y), ("k_proj", x)):
                same(name, z)
        with Expect(1):
            same("v_proj", x)
            x.mul_(-2)
            same("q_proj", x)
        plain.k_proj.weight.mul_(3)
        with Expect(1):   # other weights
            model.k_proj.weight.mul_(3)
            same("k_proj", x)
        with Expect(1):   # the second time
            same("q_proj", x)
            same("q_proj", x)
    with Expect(1):
        assert model.k_proj(x).requires_grad   # what was kept has no gradients
    model.to(torch.float32)
    assert model.k_proj.weight.dtype == torch.float32 and model.k_proj(x.float()).dtype == torch.float32
    other = copy.deepcopy(model)
    assert other.q_proj.joined._kept is None and other.v_proj._joined[0] is other.q_proj.joined is not model.q_proj.joined


@case
def names_of_joined_layers():
    """What is saved has the names of before; each kind of model loads the other's."""
    plain = torch.nn.Sequential(Attention(bias=True))
    model, other, names = copy.deepcopy(plain), torch.nn.Sequential(Attention(bias=True)), list(plain.state_dict())
    assert ours.fuse(model) == 1 and list(model.state_dict()) == names
    other.load_state_dict(model.state_dict())
    for name, tensor in other.state_dict().items():
        assert torch.equal(tensor, plain.state_dict()[name]), name
    with torch.no_grad():
        model[0].q_proj.joined.weight.zero_()
    state = plain.state_dict()
    model.load_state_dict(state)
    assert torch.equal(model[0].v_proj.weight, plain[0].v_proj.weight) and torch.equal(model[0].k_proj.bias, plain[0].k_proj.bias)
    for change, word in ((lambda s: s.pop("0.k_proj.bias"), "Missing"), (lambda s: s.update({"0.q_proj.scale": s["0.k_proj.bias"]}), "Unexpected"),
                         (lambda s: s.update({"0.v_proj.weight": s["0.q_proj.weight"]}), "size mismatch for 0.v_proj.weight")):
        changed = dict(state)
        change(changed)
        try:
            model.load_state_dict(changed)
        except RuntimeError as error:
            assert word in str(error), error
        else:
            raise AssertionError(word)
        model.load_state_dict({name: tensor for name, tensor in changed.items() if tensor.shape == state.get(name, tensor).shape}, strict=False)
    assert "out_features=16" in repr(model) and len(list(model.parameters())) == 4


class CrossAttention(Attention):
    def forward(self, hidden_states, key_value_states):
        return self.q_proj(hidden_states), self.k_proj(key_value_states), self.v_proj(key_value_states)


class AssigningAttention(Attention):
    def forward(self, hidden_states):
        q, k = self.q_proj(hidden_states), self.k_proj(hidden_states)
        hidden_states = hidden_states + 1
        return q, k, self.v_proj(hidden_states)


class ChangingAttention(Attention):
    def forward(self, hidden_states):
        q, other, k = self.q_proj(hidden_states), hidden_states.view(-1).mul_(2), self.k_proj(hidden_states)
        return q, other, k, self.v_proj(hidden_states)


class FillingAttention(Attention):
    def forward(self, hidden_states):
        q = self.q_proj(hidden_states)
        hidden_states[0] = 0
        return q, self.k_proj(hidden_states), self.v_proj(hidden_states)


class AddingAttention(Attention):
    def forward(self, hidden_states):
        q, same = self.q_proj(hidden_states), hidden_states
        same += 1
        return q, self.k_proj(hidden_states), self.v_proj(hidden_states)


class OutAttention(Attention):
    def forward(self, hidden_states):
        q, _, k = self.q_proj(hidden_states), torch.neg(hidden_states, out=hidden_states), self.k_proj(hidden_states)
        return q, k, self.v_proj(hidden_states)


class LoopingAttention(Attention):
    def forward(self, hidden_states):
        return [layer(hidden_states) for layer in (self.q_proj, self.k_proj, self.v_proj)]


class TwiceAttention(Attention):
    def forward(self, hidden_states):
        return self.q_proj(hidden_states), self.k_proj(hidden_states), self.v_proj(hidden_states), self.q_proj(hidden_states)


@case
def attention_that_is_not_fused():
    hooked, mixed, frozen, partly, tied, shared, other = (Attention() for _ in range(7))
    hooked.k_proj.register_forward_hook(lambda *_: None)
    mixed.v_proj.float()
    frozen.q_proj.weight.requires_grad_(False)
    partly.q_proj.bias = torch.nn.Parameter(torch.zeros(FEATURES, dtype=torch.bfloat16))
    tied.v_proj.weight = tied.k_proj.weight
    shared.q_proj, adapted, patched = other.q_proj, Attention(), Attention()
    adapted.q_proj = torch.nn.Sequential(adapted.q_proj)
    patched.forward = lambda hidden_states: patched.q_proj(hidden_states)
    kinds = [kind() for kind in (CrossAttention, AssigningAttention, ChangingAttention, FillingAttention, AddingAttention, OutAttention, LoopingAttention, TwiceAttention)]
    for module in [hooked, mixed, frozen, partly, tied, torch.nn.Sequential(shared, other), adapted, patched, Attention().to("meta"), *kinds]:
        assert ours.fuse(torch.nn.Sequential(module)) == 0, type(module)
    assert type(other.v_proj) is torch.nn.Linear


@case
def compiled_attention():
    """Equal products of a graph become one."""
    if adapter.no_compiler():
        return
    plain, x = Attention(), random(2, 6, FEATURES)
    model = copy.deepcopy(plain)
    assert ours.fuse(torch.nn.Sequential(model)) == 1
    with torch.no_grad():
        want = plain(x)
        run = torch.compile(model, fullgraph=True)
        run(x)
        with Expect(2):
            alike(run(x), want)
    assert model.q_proj.joined._kept is None
    slope = torch.randn_like(want)
    plain(x).backward(slope)
    torch.compile(model, fullgraph=True)(x).backward(slope)
    alike(model.q_proj.joined.weight.grad, torch.cat([getattr(plain, name).weight.grad for name in ("q_proj", "k_proj", "v_proj")]))


if __name__ == "__main__":
    sys.exit(adapter.main(CASES))
