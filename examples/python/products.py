# SPDX-License-Identifier: MIT
"""Products of torch tensors, for the examples beside this file: on a GPU by the binding, without one by the program on an emulated device, so that they
can be tried anywhere.

    products = open_products("cuda:0")                    # or "emu:h200"; None: the GPU that torch sees, else emu:h200
    y = products("bf16:16x4096x4096:tn:ep=bias+gelu", x, weight, bias=bias)
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import gemmsmith  # noqa: E402


class OnGpu:
    """This is what a program does: one context, whose gemm() keeps a plan for each problem, and tensors of torch on its stream."""

    def __init__(self, device):
        self.device = device
        self.context = gemmsmith.open(device)

    def __call__(self, problem, a, b, c=None, bias=None, offsets=None, aux=None):
        wanted = gemmsmith.Problem(problem)
        d = torch.empty(wanted.m, wanted.n, dtype=a.dtype, device=self.device)
        self.context.gemm(wanted, a, b, d, c, torch.cuda.current_stream().cuda_stream, bias=bias, offsets=offsets, aux=aux)
        return d


class Emulated:
    """The same kernels on the CPU, where nothing of torch's memory is the device's: operands go through files."""

    def __init__(self, device):
        self.device = device
        self.program = os.environ.get("GEMMSMITH_PROGRAM", "gemmsmith")

    def __call__(self, problem, a, b, c=None, bias=None, offsets=None, aux=None):
        wanted = gemmsmith.Problem(problem)
        with tempfile.TemporaryDirectory() as folder:
            command = [self.program, "gemm", problem, "--device", self.device, "--no-check", "--quiet", "--out", f"{folder}/d"]
            for name, tensor in (("a", a), ("b", b), ("c", c), ("bias", bias), ("offsets", offsets), ("aux", aux)):
                if tensor is None:
                    continue
                assert tensor.is_contiguous()
                pathlib.Path(folder, name).write_bytes(ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()))
                command += [f"--{name}", f"{folder}/{name}"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if aux is not None:   # it may have been written
                aux.copy_(read(f"{folder}/aux", aux.dtype, aux.shape))
            return read(f"{folder}/d", a.dtype, (wanted.m, wanted.n))


def read(path, dtype, shape):
    return torch.frombuffer(bytearray(pathlib.Path(path).read_bytes()), dtype=dtype).reshape(shape)


def open_products(device=None):
    device = device or ("cuda:0" if torch.cuda.is_available() else "emu:h200")
    return Emulated(device) if device.startswith("emu:") else OnGpu(device)


def place(products):
    """Where torch has the tensors."""
    return "cpu" if isinstance(products, Emulated) else products.device


def check(what, got, want, bound=0.02):
    """Compares with what torch computed in f64. The bound is on the norm: bf16 has 8 bits."""
    error = ((got.double() - want.double()).norm() / want.double().norm()).item()
    print(f"{what}: relative error {error:.2e}, {'right' if error < bound else 'WRONG'}")
    return error < bound
