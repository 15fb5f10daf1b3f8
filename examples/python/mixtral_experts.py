# SPDX-License-Identifier: MIT
"""The experts of a Mixtral layer: torch routes, gathers and scatters, two launches multiply all experts. How many rows an expert has stays on the device:
nothing waits for the router, and a CUDA graph may be replayed with another routing.

    python3 mixtral_experts.py [DEVICE]   # "cuda:0", "emu:h200"; without torch's GPU the latter
"""
import sys

import torch
import torch.nn.functional as F

from products import check, open_products, place


def route(x, router, experts, top):
    """Rows sorted by expert: which token each is of, its weight, and where each expert's rows begin."""
    weight, expert = F.linear(x.float(), router.float()).softmax(-1).topk(top)
    weight = weight / weight.sum(-1, keepdim=True)
    expert = expert.flatten()
    order = expert.argsort(stable=True)
    counts = torch.zeros(experts, dtype=torch.int64, device=x.device).scatter_add_(0, expert, torch.ones_like(expert))
    offsets = F.pad(counts.cumsum(0), (1, 0)).int()
    return order // top, weight.flatten()[order], offsets


def layer(products, x, router, gate_up, down, top=2):
    """gate_up: experts x 2 inner x hidden, gate first; down: experts x hidden x inner."""
    experts, hidden, inner = down.shape
    token, weight, offsets = route(x, router, experts, top)
    rows = x[token]
    m = len(token)
    h = products(f"bf16:{m}x{inner}x{hidden}:tn:g={experts}:ep=silu+gate", rows, gate_up, offsets=offsets)
    out = products(f"bf16:{m}x{hidden}x{inner}:tn:g={experts}", h, down, offsets=offsets)
    return torch.zeros_like(x, dtype=torch.float32).index_add_(0, token, out.float() * weight[:, None])


def plain(x, router, gate_up, down, top=2):
    """The same expert by expert, in f64; routed as above, by the router's values in f32."""
    y = torch.zeros(x.shape, dtype=torch.float64)
    token, weight, offsets = route(x, router, len(down), top)
    for i in range(len(down)):
        own = slice(int(offsets[i]), int(offsets[i + 1]))
        gate, up = F.linear(x[token[own]].double(), gate_up[i].double()).chunk(2, -1)
        y.index_add_(0, token[own], F.linear(F.silu(gate) * up, down[i].double()) * weight[own, None].double())
    return y


def main(device=None, tokens=20, experts=8, hidden=64, inner=112):
    products = open_products(device)
    torch.manual_seed(2)
    tensors = [torch.randn(*shape).div(shape[-1] ** 0.5).bfloat16()
               for shape in ((tokens, hidden), (experts, hidden), (experts, 2 * inner, hidden), (experts, hidden, inner))]
    got = layer(products, *(t.to(place(products)) for t in tensors))
    return check("Mixtral experts", got.cpu(), plain(*tensors))


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:2]))
