#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the problem lists that gemmsmith measures itself on, one problem per line, for --file; and what of a list is in no tuned table yet.

    list_problems.py grid                    M, N, K in ten sizes: 1000 problems, f16
    list_problems.py models                  linear layers of language models, M tokens, bf16, with the layers' names
    list_problems.py gradients               gradients of these layers' weights, K tokens, bf16, layout nt
    list_problems.py layers                  the same layers as CSV: model, layer, n, k
    list_problems.py random --seed S --count N   sizes as they occur: M log-uniform from 1 to 8192, N and K from 64 to 32768, A, B and D together
                                             under 2 GB; in 40 % N and K are multiples of 64, in 35 % of 8, in 25 % anything, which stands behind
                                             each; layout and type at random. The same seed gives the same list, and a longer one begins with it
    list_problems.py FILE                    the problems of a list, each once, spelt as everywhere
        --layouts nn,tn --type bf16 --acc f16    in these layouts, of this type, with these sums instead of their own
        --missing TABLE                          only those that are in no row of the tuned table; of several, in none
        --apart FILE                             only those that share no two of M, N and K with a problem that the file names anywhere, also if
                                                 M and N are swapped: sizes that weights which learned from it cannot know. Any text, also .gz;
                                                 of several, with none

With --apart, `random` goes on until it has --count of them.

A row counts whatever device it is of, and if its problem differs in alpha, in a beta that is not 0, or in the rows of a C that is not read: the
library would take it all the same. One that cannot be read counts as none, and a line on standard error says how many there are.
"""
import argparse
import dataclasses
import gzip
import itertools
import math
import random
import re
import signal
import struct
import sys
from pathlib import Path

SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384)
TOKENS = (1, 8, 16, 64, 128, 257, 512, 2048, 8192)
TRAINED = (512, 2048, 8192, 16384)   # tokens of a step

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
    """As read_lines does."""
    for m, n, k in itertools.product(SIZES, repeat=3):
        yield f"f16:{m}x{n}x{k}:tn", "", ""


def shapes():
    """Every shape of a layer once, with all layers that have it."""
    names = {}
    for model, layer, n, k in layers():
        names.setdefault((n, k), []).append(f"{model} {layer}")
    return ((n, k, ", ".join(users)) for (n, k), users in names.items())


def models():
    for n, k, users in shapes():
        for m in TOKENS:
            yield f"bf16:{m}x{n}x{k}:tn", users, ""


def gradients():
    """Of a weight that is stored n x k: the outputs' gradient, tokens x n, transposed, times the inputs, tokens x k."""
    for n, k, users in shapes():
        for tokens in TRAINED:
            yield f"bf16:{n}x{k}x{tokens}:nt", users, ""


RANDOM_BYTES = 2 << 30
RANDOM_CLASSES = ((64, 0.40), (8, 0.35), (1, 0.25))   # what N and K are multiples of, and how often


def log_uniform(source, least, most):
    return math.exp(source.uniform(math.log(least), math.log(most)))


def random_sizes(seed):
    """Without end. Each problem from a generator of its own, so that the i-th does not depend on what is taken of the others."""
    for index in itertools.count():
        source = random.Random(f"{seed} {index}")
        unit = source.choices([unit for unit, _ in RANDOM_CLASSES], [share for _, share in RANDOM_CLASSES])[0]
        while True:
            m = round(log_uniform(source, 1, 8192))
            n, k = (max(round(log_uniform(source, 64, 32768) / unit), 1) * unit for _ in range(2))
            if 2 * (m * k + k * n + m * n) < RANDOM_BYTES:
                break
        yield f"{source.choice(TYPES)}:{m}x{n}x{k}:{source.choice(LAYOUTS)}", f"multiples of {unit}" if unit > 1 else "any", ""


# ---- problems, as src/problem/problem.c reads and spells them ----

TYPES, LAYOUTS, ROWS = ("f16", "bf16"), ("nn", "tn"), ("lda", "ldb", "ldc", "ldd")
WORD = "(scale_m|scale_n|bias|bias_m|dbias|d?relu|d?gelu(_erf)?|d?silu|residual|gate|gate_i|aux)"   # of an epilogue
WHOLE, DECIMAL = "[0-9]+", r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?"
SIZE = re.compile("(?:f16|bf16):([0-9]+)x([0-9]+)x([0-9]+):(?:nn|tn|nt|tt)")
PROBLEM = re.compile(r"(f16|bf16):([0-9]+)x([0-9]+)x([0-9]+):(nn|tn|nt|tt)((?::[a-z]+=[^:]+)*)")
MORE = {"ldaux": WHOLE, **dict.fromkeys(("sa", "sb", "sc", "sd", "se", "saux"), WHOLE), "matrices": "strided|pointers", "g": WHOLE, "gm": WHOLE, "gk": WHOLE, "scalars": "host|device",
        "inv": "[01]", "const": "none|b"}   # kept as they are said
USUAL = {("matrices", "strided"), ("scalars", "host"), ("inv", "0"), ("const", "none")}
FIELDS = {"acc": "f16|f32", "d": "f16|bf16|f32", **dict.fromkeys(ROWS, WHOLE), "b": "0*[1-9][0-9]*", "alpha": DECIMAL, "beta": DECIMAL, **MORE,
          "ep": rf"{WORD}(\+{WORD})*"}


@dataclasses.dataclass(frozen=True)
class Problem:
    type: str
    m: int
    n: int
    k: int
    layout: str
    acc: str
    out: str
    padding: tuple   # what the rows of A, B, C, D have beyond their elements
    batch: int
    alpha: float
    beta: float
    epilogue: str
    more: tuple = ()   # other fields, (name, value)

    @property
    def is_constant(self):
        return ("const", "b") in self.more

    def key(self):
        """What a tuned table finds it by. One with a constant B has what one without has."""
        a, b, c, d = self.padding
        return (self.type, self.m, self.n, self.k, self.layout, self.acc, self.out, a, b, c if self.beta else 0, d, self.batch, self.beta != 0, self.epilogue,
                tuple(field for field in self.more if field != ("const", "b")))

    def __str__(self):
        rows = row_lengths(self.m, self.n, self.k, self.layout)
        said = [[(name, dict(self.more).get(name, ""), "") for name in names] for names in (["ldaux"], ["sa", "sb", "sc", "sd", "se", "saux", "matrices", "g", "gm", "gk"], ["scalars", "inv", "const"])]
        fields = [("acc", self.acc, "f32"), ("d", self.out, self.type), *((name, row + more, row) for name, row, more in zip(ROWS, rows, self.padding)), *said[0],
                  ("b", self.batch, 1), *said[1], ("alpha", digits(self.alpha), "1"), ("beta", digits(self.beta), "0"), *said[2], ("ep", self.epilogue, "")]
        return f"{self.type}:{self.m}x{self.n}x{self.k}:{self.layout}" + "".join(f":{name}={value}" for name, value, usual in fields if value != usual)


def row_lengths(m, n, k, layout):
    """Elements of a row of A, B, C, D; one at least."""
    return [max(row, 1) for row in (m if layout[1] == "t" else k, k if layout[0] == "t" else n, n, n)]


def single(number):
    """The nearest float of 32 bits; there is one 0."""
    return struct.unpack("<f", struct.pack("<f", float(number)))[0] + 0.0


def digits(value):
    return f"{value:.6g}" if single(f"{value:.6g}") == value else f"{value:.9g}"


def retyped(problem, new, acc):
    """With other types; what is None stays, and D stays of the type of A and B."""
    new, acc = new or problem.type, acc or problem.acc
    out = new if problem.out == problem.type else problem.out
    if out not in (new, "f32") or (acc == "f16" and new != "f16"):
        raise ValueError(f"{problem}: {new} inputs do not go with {acc} sums and {out} outputs")
    return dataclasses.replace(problem, type=new, acc=acc, out=out)


def read_problem(text):
    whole = PROBLEM.fullmatch(re.sub("^([0-9]+)_([0-9]+)_([0-9]+)$", r"f16:\1x\2x\3:nn", text))
    fields = [word.split("=", 1) for word in whole[6].split(":")[1:]] if whole else []
    said = dict(fields)
    try:
        if not whole or len(said) < len(fields) or not all(re.fullmatch(FIELDS.get(name, "$"), value) for name, value in fields):
            raise ValueError
        shape = (*map(int, whole.group(2, 3, 4)), whole[5])
        padding = tuple(int(said.get(name, row)) - row for name, row in zip(ROWS, row_lengths(*shape)))
        if min(padding) < 0:
            raise ValueError
        numbers = int(said.get("b", 1)), single(said.get("alpha", 1)), single(said.get("beta", 0))
    except (ValueError, OverflowError):
        raise ValueError(f"'{text}' is no problem, such as f16:64x4096x64:nn is one") from None
    more = tuple((name, str(int(said[name])) if said[name].isdecimal() else said[name]) for name in MORE if name in said)
    return retyped(Problem(whole[1], *shape, said.get("acc", "f32"), said.get("d", whole[1]), padding, *numbers, said.get("ep", ""), tuple(field for field in more if field not in USUAL)),
                   None, None)


# ---- lists and tables ----

def read_lines(path):
    """What stands on each line, what is written behind it, and where that is."""
    for number, line in enumerate(Path(path).read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        text, _, comment = line.partition("#")
        if text.strip():
            yield text.strip(), comment.strip(), f"{path} line {number}: "


def wanted(lines, asked):
    """Each problem once, in every layout asked for, with its comment."""
    seen = set()
    for text, comment, where in lines:
        try:
            problem = retyped(read_problem(text), asked.type, asked.acc)
        except ValueError as error:
            raise ValueError(f"{where}{error}") from None
        for layout in LAYOUTS:   # of B; A stays as it is stored
            one = dataclasses.replace(problem, layout=layout[0] + problem.layout[1])
            if (layout in asked.layouts if asked.layouts else one.layout == problem.layout) and str(one) not in seen:
                seen.add(str(one))
                yield one, comment


def read_table(path):
    """The keys of the problems that have a row, and how many rows cannot be read."""
    keys, broken = set(), 0
    lines = [line.split() for line in Path(path).read_text(encoding="utf-8", errors="replace").split("\n")]
    lines = [words for words in lines if words and not words[0].startswith("#")]
    if not lines or lines[0] != ["gemmsmith-tuned", "1"]:
        raise ValueError(f"{path}: no tuned table, which begins with gemmsmith-tuned 1")
    for words in lines[1:]:
        try:
            if len(words) != 14:
                raise ValueError
            problem = read_problem(words[0])
            if not problem.is_constant:   # what is early in a chain is no row of the problem alone
                keys.add(problem.key())
        except ValueError:
            broken += 1
    return keys, broken


def pairs_of(m, n, k):
    return {("mn", m, n), ("mk", m, k), ("nk", n, k)}


def read_pairs(path):
    """What two extents of the problems that a file names are, in both orders of M and N."""
    sizes = set()
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
        for line in file:
            sizes.update(SIZE.findall(line))
    if not sizes:
        raise ValueError(f"{path}: names no problem, such as f16:64x4096x64:nn is one")
    return {pair for size in sizes for m, n, k in [map(int, size)] for pair in pairs_of(m, n, k) | pairs_of(n, m, k)}


def list_problems(asked):
    made = {"grid": grid, "models": models, "gradients": gradients, "random": lambda: random_sizes(asked.seed)}.get(asked.what)
    have, known, left = set(), set(), asked.count if asked.what == "random" else math.inf
    for path in asked.apart:
        known |= read_pairs(path)
    for path in asked.missing:
        keys, broken = read_table(path)
        have |= keys
        if broken:
            print(f"list_problems.py: {path}: {broken} rows cannot be read", file=sys.stderr)
    lines = made() if made else read_lines(asked.what)
    if asked.what == "random" and not known:
        lines, left = itertools.islice(lines, asked.count), math.inf
    for problem, comment in wanted(lines, asked):
        if left <= 0:
            break
        if problem.key() not in have and not known & pairs_of(problem.m, problem.n, problem.k):
            print(f"{str(problem):<28}  # {comment}" if comment else problem)
            left -= 1


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", metavar="grid | models | gradients | layers | random | FILE")
    parser.add_argument("--layouts", choices=("nn", "tn", "nn,tn"), metavar="nn,tn")
    parser.add_argument("--type", choices=TYPES)
    parser.add_argument("--acc", choices=("f16", "f32"))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("--missing", action="append", default=[], metavar="TABLE")
    parser.add_argument("--apart", action="append", default=[], metavar="FILE")
    asked = parser.parse_args(arguments)
    if {asked.seed is None, asked.count is None} != {asked.what != "random"}:
        parser.error("--seed and --count go with random, which needs both")
    if asked.what == "layers":
        if asked.layouts or asked.type or asked.acc or asked.missing or asked.apart:
            parser.error("layers are no problems: they take no options")
        for layer in itertools.chain([("model", "layer", "n", "k")], layers()):
            print(*layer, sep=",")
        return 0
    try:
        list_problems(asked)
    except (OSError, ValueError) as error:
        print(f"list_problems.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)   # whoever reads may have enough before the end
    sys.exit(main(sys.argv[1:]))
