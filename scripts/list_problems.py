#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the problem lists that gemmsmith measures itself on, one problem per line, for --file.

    list_problems.py grid                    M, N, K in ten sizes: 1000 problems, f16
    list_problems.py models                  linear layers of language models, M tokens, bf16, with the layers' names
    list_problems.py layers                  the same layers as CSV: model, layer, n, k
"""
import itertools
import sys

SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384)
TOKENS = (1, 8, 16, 64, 128, 257, 512, 2048, 8192)

# model: hidden size, query heads, key and value heads, size of a head, size of the MLP, vocabulary (their config.json)
DENSE = {
    "llama-3-8b":  (4096, 32, 8, 128, 14336, 128256),
    "llama-3-70b": (8192, 64, 8, 128, 28672, 128256),
    "qwen2.5-7b":  (3584, 28, 4, 128, 18944, 152064),
    "qwen2.5-32b": (5120, 40, 8, 128, 27648, 152064),
}


def dense(hidden, heads, kv_heads, head, mlp, vocabulary):
    """Projections that engines fuse are one layer: q, k and v; gate and up."""
    return [("qkv", (heads + 2 * kv_heads) * head, hidden), ("o", hidden, heads * head), ("gate_up", 2 * mlp, hidden), ("down", hidden, mlp),
            ("lm_head", vocabulary, hidden)]


def deepseek_v3():
    """Latent attention: q and kv go through small ranks; 3 dense layers, then experts of which one is shared."""
    hidden, heads, q_rank, kv_rank, nope, rope, value = 7168, 128, 1536, 512, 128, 64, 128
    mlp, expert, vocabulary = 18432, 2048, 129280
    return [("q_a", q_rank, hidden), ("kv_a", kv_rank + rope, hidden), ("q_kv_a", q_rank + kv_rank + rope, hidden),
            ("q_b", heads * (nope + rope), q_rank), ("kv_b", heads * (nope + value), kv_rank), ("o", hidden, heads * value),
            ("dense_gate_up", 2 * mlp, hidden), ("dense_down", hidden, mlp), ("expert_gate_up", 2 * expert, hidden), ("expert_down", hidden, expert),
            ("shared_gate_up", 2 * expert, hidden), ("shared_down", hidden, expert), ("lm_head", vocabulary, hidden)]


def layers():
    for model, config in DENSE.items():
        for name, n, k in dense(*config):
            yield model, name, n, k
    for name, n, k in deepseek_v3():
        yield "deepseek-v3", name, n, k


def grid():
    for m, n, k in itertools.product(SIZES, repeat=3):
        yield f"f16:{m}x{n}x{k}:tn"


def models():
    """Every shape once, with all layers that have it."""
    names = {}
    for model, layer, n, k in layers():
        names.setdefault((n, k), []).append(f"{model} {layer}")
    for (n, k), users in names.items():
        for m in TOKENS:
            yield f"{f'bf16:{m}x{n}x{k}:tn':<28}  # {', '.join(users)}"


def main(arguments):
    if arguments == ["grid"]:
        lines = grid()
    elif arguments == ["models"]:
        lines = models()
    elif arguments == ["layers"]:
        lines = itertools.chain(["model,layer,n,k"], (",".join(map(str, layer)) for layer in layers()))
    else:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
