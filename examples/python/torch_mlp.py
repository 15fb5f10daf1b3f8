# SPDX-License-Identifier: MIT
"""An MLP of PyTorch with gemmsmith, by one line and with fused kernels: a step of training, and inference.

    python3 torch_mlp.py            on a GPU; without one, on the emulated device with small sizes
"""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import gemmsmith.torch  # noqa: E402


class Mlp(torch.nn.Module):
    """As transformers has it for Llama, Qwen and Mistral."""

    def __init__(self, features, hidden, **made):
        super().__init__()
        self.gate_proj = torch.nn.Linear(features, hidden, bias=False, **made)
        self.up_proj = torch.nn.Linear(features, hidden, bias=False, **made)
        self.down_proj = torch.nn.Linear(hidden, features, bias=False, **made)
        self.act_fn = torch.nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


def close(got, want):
    return ((got.float() - want.float()).abs().max() / want.float().abs().max()).item() < 0.03


def main():
    on_gpu = torch.cuda.is_available()
    made = {"device": "cuda" if on_gpu else "cpu", "dtype": torch.bfloat16}
    features, hidden, rows = (4096, 14336, 64) if on_gpu else (64, 128, 16)
    torch.manual_seed(1)
    model, x = torch.nn.Sequential(Mlp(features, hidden, **made)), torch.randn(rows, features, **made)
    want = model(x)

    # one line: forward and backward are served
    gemmsmith.torch.enable(emulated=None if on_gpu else "emu:h200")
    model(x).square().mean().backward()
    assert close(model(x), want)

    # two kernels in the place of three products, an activation and a product of both, and the residual in the second one
    assert gemmsmith.torch.fuse(model) == 1
    assert close(model(x), want)
    assert close(model[0](x, residual=x), want + x)
    model[0](x, residual=x).square().mean().backward()

    for line in gemmsmith.torch.why():
        print(line)
    print("ok")


main()
