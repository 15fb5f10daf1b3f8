# SPDX-License-Identifier: MIT
"""Kernels to be edited, their variants, and how an edit is asked for and answered; Python alone.

The kernels are those of docs/performance/written that divide K among blocks. A variant of one has other values at some places of its text, such as the tile, the stages, the shares of K or the order of
tiles, and the manifest that belongs to them. A child of a variant is another variant of the same kernel; the edits that make it are in the format of docs/internals/write.md#edits, and the service applies
them. A model is not bound to these variants: what it answers is text, and the service says whether it is a kernel.
"""
import io
import math
import random
import re
import tarfile
from pathlib import Path

from common import extents, facts, number

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = ROOT / "docs/performance/written/answers.tar.gz"
FILES = {"coop": "43-coop64-512x512x8192-tn.md", "warps": "33-warps64-512x512x8192-tn.md", "pour": "13-pour-512x512x16384-nn.md"}
UNSEEN = "pour"                     # a kernel of which nothing is learned
MULTIPROCESSORS, SHARED = 132, 232448
TILES = ((64, 64), (128, 64), (128, 128), (128, 256))
BLOCKS = re.compile(r"```cuda kernel\.cu\n(.*?)```.*?```text manifest\n(.*?)```", re.S)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)

# Places: the value, and the line as it is with it. A kernel has those whose first line stands in its text.
DEFINED = {"BM": (64, 128, 192, 256), "BN": (32, 64, 96, 128, 192, 256), "SHARES": (1, 2, 3, 4, 5, 6, 8, 10, 12, 16), "STAGES": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), "PATIENCE": (1, 64, 4096)}
LINES = {
    "AHEAD": {"all": "#define AHEAD (SHARES * ROUNDS <= 48 ? SHARES : 16 / ROUNDS < 1 ? 1 : 16 / ROUNDS)", "1": "#define AHEAD 1", "2": "#define AHEAD 2", "4": "#define AHEAD 4"},
    "order": {"rows": "    const int m0 = tile / tiles_n * BM, n0 = tile % tiles_n * BN;", "columns": "    const int tiles_m = (p.m + BM - 1) / BM, m0 = tile % tiles_m * BM, n0 = tile / tiles_m * BN;"},
    "wait": {"1": "        gs_wgmma_wait<1>();", "0": "        gs_wgmma_wait<0>();"},
    "bounds": {"1": 'extern "C" __global__ void __launch_bounds__(THREADS, 1)', "2": 'extern "C" __global__ void __launch_bounds__(THREADS, 2)'},
}
CHOICES = {**DEFINED, **LINES}   # the values of a place


def bare(text):
    """Without comments and blank lines, as prompts show code."""
    return "".join(line.rstrip() + "\n" for line in COMMENT.sub("", text).split("\n") if line.strip())


def texts():
    """{kernel: (source, manifest)} as they were written."""
    with tarfile.open(ANSWERS) as archive:
        found = {kernel: BLOCKS.search(io.TextIOWrapper(archive.extractfile(f"./{name}"), encoding="utf-8").read()) for kernel, name in FILES.items()}
    return {kernel: (bare(match[1]), match[2]) for kernel, match in found.items()}


class Kernel:
    def __init__(self, name, source):
        self.name, self.source, self.values = name, source, {}
        lines = source.split("\n")
        self.lines = {}
        for place in DEFINED:
            for i, line in enumerate(lines):
                if (match := re.fullmatch(rf"#define {place}\s+(\d+)", line)):
                    self.lines[place], self.values[place] = i, int(match[1])
        for place, forms in LINES.items():
            at = [(i, value) for i, line in enumerate(lines) for value, form in forms.items() if line == form]
            if len(at) == 1:
                self.lines[place], self.values[place] = at[0]
        self.tn = next(i for i, line in enumerate(lines) if line.startswith("#define TN "))

    def line(self, place, value):
        return f"#define {place} {value}" if place in DEFINED else LINES[place][value]

    def text(self, values, layout):
        lines = self.source.split("\n")
        for place, i in self.lines.items():
            lines[i] = self.line(place, values[place])
        lines[self.tn] = f"#define TN {int(layout == 'tn')}"
        return "\n".join(lines)

    def manifest(self, values, layout):
        """Formulas in place of the numbers that were written, so that their parts are the values of places."""
        m, n, shares, stages = (values[name] for name in ("BM", "BN", "SHARES", "STAGES"))
        tiles = f"cdiv(m,{m})*cdiv(n,{n})"
        if self.name == "pour":
            work = zeroed = f"{tiles}*({m}*{n}*4+4)"
        else:
            counts = f"{m}/16*12" if self.name == "warps" else "12"
            work, zeroed = f"128+{tiles}*({counts}+{shares}*{m}*{n}*4)", f"{counts}*{tiles}"
        return (f"manifest 1\naccumulator f32\ndeterminism {'none' if self.name == 'pour' else 'bitwise'}\nalign a=16 b=16 c=2 d=4\nworkspace {work}\nzeroed {zeroed}\nentry {self.name}\n"
                f"grid {tiles} {shares} 1/(2-batch)\nblock {m // 64 * 128 + 32} 1 1\nsmem 1040+{stages}*(({m}+{n})*128+16)\nmap a 64x{m} sw128\nmap b 64x{n if layout == 'tn' else 64} sw128\n")

    def fits(self, values, layout):
        return shared(values) <= SHARED and (layout == "tn" or values["BN"] % 64 == 0)

    def drawn(self, source, layout, near=None, changes=(1, 3)):
        """Any variant; or one that differs from `near` in so many places."""
        while True:
            values = dict(near or {})
            for place in self.values if near is None else source.sample(list(self.values), source.randint(*changes)):
                values[place] = source.choice([one for one in CHOICES[place] if near is None or one != near[place]])
            if self.fits(values, layout):
                return values


def shared(values):
    return values["STAGES"] * (128 * (values["BM"] + values["BN"]) + 16) + 1040


def kernels():
    return {name: Kernel(name, source) for name, (source, _) in texts().items()}


class Variant:
    """A kernel's text and manifest for a problem."""

    def __init__(self, kernel, problem, values):
        layout = problem.split(":")[2]
        self.kernel, self.problem, self.values = kernel, problem, values
        self.source, self.manifest = kernel.text(values, layout), kernel.manifest(values, layout)

    def parent(self):
        return {"source": self.source, "manifest": self.manifest}

    def places(self):
        lines = self.source.split("\n")
        return "".join(lines[i].strip() + "\n" for _, i in sorted(self.kernel.lines.items(), key=lambda item: item[1]))


def question(variant, us, floor_us):
    """The messages for a small model: the lines that its lessons edit, and the manifest, in place of the whole kernel."""
    m, n, _ = extents(variant.problem)
    blocks = -(-m // variant.values["BM"]) * -(-n // variant.values["BN"]) * variant.values["SHARES"]
    return [{"role": "user", "content": f"{variant.problem}\nfloor {number(floor_us)} us\n{facts(variant.problem, MULTIPROCESSORS, TILES)}{variant.kernel.name}: {number(us)} us, "
             f"{blocks / MULTIPROCESSORS:.2f} blocks\n{variant.places()}{variant.manifest}"}]


def answer(parent, child):
    """Edits that make the child of the parent; its manifest whole, where it is another one."""
    edits = "".join(f"<<<<<<< SEARCH\n{parent.kernel.line(place, parent.values[place])}\n=======\n{child.kernel.line(place, child.values[place])}\n>>>>>>> REPLACE\n"
                    for place in parent.kernel.lines if parent.values[place] != child.values[place])
    return f"```cuda kernel.cu\n{edits}```\n" + (f"```text manifest\n{child.manifest}```\n" if child.manifest != parent.manifest else "")


EDIT = re.compile(r"<<<<<<< SEARCH\n(.*?)\n=======\n(.*?)\n>>>>>>> REPLACE\n", re.S)


def applied(parent, text):
    """The child that an answer means, where its edits are of places and to values of them and its manifest is the one that belongs to them; else None, which says nothing about whether the service takes it."""
    values, kernel = dict(parent.values), parent.kernel
    for searched, replaced in EDIT.findall(text):
        for place in kernel.lines:
            if kernel.line(place, values[place]).strip() == searched.strip():
                if place in DEFINED:
                    match = re.fullmatch(rf"#define {place} (\d+)", replaced.strip())
                    value = int(match[1]) if match else None
                else:
                    value = next((one for one, form in LINES[place].items() if form.strip() == replaced.strip()), None)
                if value is None:
                    return None
                values[place] = value
                break
        else:
            return None
    child = Variant(kernel, parent.problem, values)
    return child if values != parent.values and answer(parent, child).strip() == text.strip() else None


def problem_list(count, seed, test=None, extent=2048, depth=16384):
    """Problems for kernels that divide K, f16, nn and tn: M and N multiples of 64 up to `extent`, K up to `depth`; none near to the test."""
    source, out, used = random.Random(seed), [], set()
    while len(out) < count:
        m, n = (64 * round(2 ** source.uniform(0, math.log2(extent / 64))) for _ in range(2))
        k = 64 * round(2 ** source.uniform(math.log2(depth / 64) / 2, math.log2(depth / 64)))
        one = f"f16:{m}x{n}x{k}:{source.choice(('nn', 'tn'))}"
        if m * n > 1 << 20 or (m, n, k) in used or test is not None and test.near(one):
            continue
        used.add((m, n, k))
        out.append(one)
    return out
