# SPDX-License-Identifier: MIT
"""One step of training for two linear layers with a bias and gelu between them: forward, the gradients of the input, the weights and the biases. gelu and its
gradient are part of the products beside them, which are in the layouts that the tensors have: nothing is transposed.

    python3 training_step.py [DEVICE]     # "cuda:0", "emu:h200"; without torch's GPU the latter
"""
import sys

import torch
import torch.nn.functional as F

from products import check, open_products, place


def forward(products, x, w1, b1, w2, b2):
    """gelu(x w1^T + b1) w2^T + b2; what gelu is applied to is kept for the gradients."""
    (tokens, width), inner, out = x.shape, w1.shape[0], w2.shape[0]
    z = x.new_empty(tokens, inner)
    h = products(f"bf16:{tokens}x{inner}x{width}:tn:ep=bias+gelu+aux", x, w1, bias=b1, aux=z)
    return z, h, products(f"bf16:{tokens}x{out}x{inner}:tn:ep=bias", h, w2, bias=b2)


def backward(products, dy, x, z, h, w1, w2):
    """Gradients of x, w1, b1, w2 and b2 from that of the result."""
    (tokens, width), inner, out = x.shape, w1.shape[0], w2.shape[0]
    dw2 = products(f"bf16:{out}x{inner}x{tokens}:nt", dy, h)   # dy^T h: both as they are stored
    dz = products(f"bf16:{tokens}x{inner}x{out}:nn:ep=dgelu", dy, w2, aux=z)
    dw1 = products(f"bf16:{inner}x{width}x{tokens}:nt", dz, x)
    dx = products(f"bf16:{tokens}x{width}x{inner}:nn", dz, w1)
    return dx, dw1, dz.float().sum(0), dw2, dy.float().sum(0)


def reference(tensors, target):
    """torch's own, in f64."""
    x, w1, b1, w2, b2 = (t.double().requires_grad_() for t in tensors)
    y = F.linear(F.gelu(F.linear(x, w1, b1), approximate="tanh"), w2, b2)
    F.mse_loss(y, target.double(), reduction="sum").backward()
    return y.detach(), [t.grad for t in (x, w1, b1, w2, b2)]


def main(device=None, tokens=48, width=40, inner=96, out=32):
    products = open_products(device)
    torch.manual_seed(3)
    tensors = [torch.randn(*shape).div(shape[-1] ** 0.5).bfloat16() for shape in ((tokens, width), (inner, width), (inner,), (out, inner), (out,))]
    target = torch.randn(tokens, out).bfloat16()
    x, w1, b1, w2, b2 = (t.to(place(products)) for t in tensors)
    z, h, y = forward(products, x, w1, b1, w2, b2)
    gradients = backward(products, 2 * (y - target.to(y.device)), x, z, h, w1, w2)
    want, wants = reference(tensors, target)
    right = check("training step, result", y.cpu(), want)
    for name, got, own in zip(("x", "w1", "b1", "w2", "b2"), gradients, wants):
        right &= check(f"training step, gradient of {name}", got.cpu(), own)
    return right


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:2]))
