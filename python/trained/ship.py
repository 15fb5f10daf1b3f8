#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stage 5, the model to ship: ship.py MODEL OUT [--most 16]. OUT gets model.safetensors in f16 (MB at most: --most), config.json and the tokens; every program that reads
models of transformers reads it, endpoint.py too."""
import argparse
from pathlib import Path

import torch

from model import load


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--most", type=float, default=16)
    asked = parser.parse_args()
    model, words = load(asked.model, torch.device("cpu"))
    model.half().save_pretrained(asked.out)
    words.save_pretrained(asked.out)
    size = (asked.out / "model.safetensors").stat().st_size / 1e6
    if size > asked.most:
        raise SystemExit(f"ship.py: {size:.1f} MB, and {asked.most:g} at most")
    print(f"{asked.out / 'model.safetensors'}: {size:.1f} MB")


if __name__ == "__main__":
    main()
