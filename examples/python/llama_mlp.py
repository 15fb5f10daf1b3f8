# SPDX-License-Identifier: MIT
"""The MLP of a Llama layer in two launches: SwiGLU of gate and up, which are one matrix, then down with the residual.

    python3 llama_mlp.py [DEVICE]         # "cuda:0", "emu:h200"; without torch's GPU the latter
"""
import sys

import torch
import torch.nn.functional as F

from products import check, open_products, place


def mlp(products, x, gate_up, down):
    """x + down(silu(gate(x)) * up(x)). gate_up: torch.cat([gate, up]), made once when the weights are loaded."""
    tokens, hidden = x.shape
    inner = down.shape[1]
    h = products(f"bf16:{tokens}x{inner}x{hidden}:tn:ep=silu+gate", x, gate_up)
    return products(f"bf16:{tokens}x{hidden}x{inner}:tn:beta=1", h, down, c=x)


def main(device=None, tokens=24, hidden=64, inner=176):
    products = open_products(device)
    torch.manual_seed(1)
    x, gate, up, down = (torch.randn(rows, columns, dtype=torch.float64) / columns ** 0.5
                         for rows, columns in ((tokens, hidden), (inner, hidden), (inner, hidden), (hidden, inner)))
    x, gate, up, down = (t.bfloat16().to(place(products)) for t in (x, gate, up, down))
    got = mlp(products, x, torch.cat([gate, up]), down)
    x, gate, up, down = (t.cpu().double() for t in (x, gate, up, down))
    return check("Llama MLP", got.cpu(), x + F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down))


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:2]))
