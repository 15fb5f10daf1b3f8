#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/list_problems.py: how it reads and spells problems, what it finds missing from a tuned table, beside what the program says of the same, and that
the pages say what it prints. (What the lists are: grid.py.)
Usage: lists.py SOURCE_DIR PROGRAM"""
import gzip
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from script import Script

PROGRAM = str(Path(sys.argv.pop(2)).resolve())
SOURCE = Path(sys.argv.pop(1)).resolve()
SCRIPT = Script(SOURCE, "scripts/list_problems.py")
ROW = "{} {} 2.0 3.0 1.5 1.4 1.6 1980 nvidia-h200 90 132 130100 2026-01-02T00:00:00Z tune-0.1.0"
TABLE = "gemmsmith-tuned 1"


class Lists(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, *lines):
        path = self.folder / name
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return str(path)

    def lines(self, *arguments, said=""):
        code, out, heard = SCRIPT.run(*arguments)
        self.assertEqual((code, heard), (0, said), arguments)
        return out.splitlines()

    def fails(self, what, *arguments):
        code, _, said = SCRIPT.run(*arguments)
        self.assertEqual(code, 1, arguments)
        self.assertRegex(said, rf"\Alist_problems\.py: [^\n]*{what}[^\n]*\n\Z")

    def test_pages(self):
        text = (SOURCE / "docs/performance/learned/README.md").read_text(encoding="utf-8")
        found = re.findall(rf"^ +python3 {re.escape(SCRIPT.name)} (.* --missing .*)\| wc -l$", re.sub(r"\\\n +", "", text), re.MULTILINE)
        self.assertEqual(len(found), 5)
        for command in found:
            self.assertEqual(self.lines(*shlex.split(command)), [], command)

    def test_spelling(self):
        spelt = {
            "64_32_16": "f16:64x32x16:nn",
            "f16:064x32x16:nn:acc=f32:d=f16:lda=16:ldb=32:ldc=32:ldd=32:b=1:alpha=1.0:beta=-0": "f16:64x32x16:nn",
            "bf16:8x16x24:tn:ep=bias+gelu:beta=1": "bf16:8x16x24:tn:beta=1:ep=bias+gelu",
            "bf16:1x2x3:tn:beta=0.50:ldc=9:d=f32": "bf16:1x2x3:tn:d=f32:ldc=9:beta=0.5",
            "f16:1x2x3:tn:b=7:acc=f16": "f16:1x2x3:tn:acc=f16:b=7",
            "bf16:5x2x3:nt:lda=5:ldb=2": "bf16:5x2x3:nt",
            "f16:5x2x3:tt:lda=9:ldb=4": "f16:5x2x3:tt:lda=9:ldb=4",
            "f16:0x0x0:nn:lda=1:ldb=2:alpha=1e-7": "f16:0x0x0:nn:ldb=2:alpha=1e-07",
            "f16:1x2x3:nn:alpha=0.333333333:beta=1e10": "f16:1x2x3:nn:alpha=0.333333343:beta=1e+10",
            "f16:1x8x8:tn:const=b:inv=0:g=04": "f16:1x8x8:tn:g=4:const=b",
            "f16:1x8x8:tn:scalars=device:b=2:matrices=strided:sa=09": "f16:1x8x8:tn:b=2:sa=9:scalars=device",
            "bf16:4x8x8:tn:inv=1:ep=relu+aux:ldaux=9": "bf16:4x8x8:tn:ldaux=9:inv=1:ep=relu+aux",
        }
        self.assertEqual(self.lines(self.file("list.txt", "# all", *spelt, "", " f16:1x1x1:nn  # one ", "64_32_16")),
                         [*dict.fromkeys(spelt.values()), "f16:1x1x1:nn                  # one"])

    def test_no_problems(self):
        for text in ("f16", "f16:1x2x3", "f32:1x2x3:nn", "f16:1x2:nn", "f16:1x2x3:ta", "f16:1x2x-3:nn", "1_2_3:nn", "f16:1x2x3:nn:", "f16:1x2x3:nn simple",
                     *("f16:1x2x3:nn:" + field for field in ("acc", "acc=", "acc=bf16", "lda=2", "b=0", "b=2:b=2", "colour=2", "alpha=.5", "alpha=1e39", "alpha=inf",
                                                             "ep=", "ep=bias+", "ep=tanh"))):
            self.fails(f"list.txt line 2: '{re.escape(text)}' is no problem", self.file("list.txt", "64_32_16", text))
        for text in ("bf16:1x2x3:nn:acc=f16", "f16:1x2x3:nn:d=bf16"):
            self.fails("list.txt line 1: .* do not go with", self.file("list.txt", text))
        self.fails("absent", str(self.folder / "absent"))

    def test_asked(self):
        path = self.file("list.txt", "f16:64x32x16:nn:ldb=40:d=f32", "64_32_16 # plain", "f16:64x32x16:tn")
        # a row of B is 16 instead of 32, and 8 longer than its elements
        self.assertEqual(self.lines(path, "--layouts", "nn,tn", "--acc", "f16"),
                         ["f16:64x32x16:nn:acc=f16:d=f32:ldb=40", "f16:64x32x16:tn:acc=f16:d=f32:ldb=24", "f16:64x32x16:nn:acc=f16       # plain",
                          "f16:64x32x16:tn:acc=f16       # plain"])
        self.assertEqual(self.lines(path, "--layouts", "tn", "--type", "bf16"), ["bf16:64x32x16:tn:d=f32:ldb=24", "bf16:64x32x16:tn              # plain"])
        self.fails("bf16 inputs do not go with f16 sums", path, "--type", "bf16", "--acc", "f16")
        self.fails("bf16 inputs do not go with f16 sums", "models", "--acc", "f16")
        for arguments in ((), ("layers", "--layouts", "nn"), (path, "--layouts", "nt"), (path, "--type", "f32")):
            self.assertEqual(SCRIPT.run(*arguments)[0], 2, arguments)

    def test_random(self):
        """Within bounds, in the shares asked for; the same for a seed, and a longer list begins with a shorter one."""
        many = self.lines("random", "--seed", "5", "--count", "3000")
        self.assertEqual(self.lines("random", "--seed", "5", "--count", "40"), many[:40])
        self.assertNotEqual(self.lines("random", "--seed", "6", "--count", "40"), many[:40])
        self.assertEqual(self.lines("random", "--seed", "5", "--count", "0"), [])
        shares, layouts, types, rows = {"multiples of 64": 0, "multiples of 8": 0, "any": 0}, set(), set(), []
        for line in many:
            kind, m, n, k, layout, unit = re.fullmatch(r"(f16|bf16):(\d+)x(\d+)x(\d+):(nn|tn) +# (.*)", line).groups()
            m, n, k = int(m), int(n), int(k)
            self.assertTrue(1 <= m <= 8192 and 64 <= n <= 32768 and 64 <= k <= 32768 and 2 * (m * n + n * k + k * m) < 2 << 30, line)
            self.assertEqual(0, n % {"multiples of 64": 64, "multiples of 8": 8, "any": 1}[unit] + k % {"multiples of 64": 64, "multiples of 8": 8, "any": 1}[unit])
            shares[unit] += 1
            layouts.add(layout)
            types.add(kind)
            rows.append(m)
        for unit, share in (("multiples of 64", 0.40), ("multiples of 8", 0.35), ("any", 0.25)):
            self.assertAlmostEqual(shares[unit] / len(many), share, delta=0.04)
        self.assertEqual((layouts, types), ({"nn", "tn"}, {"f16", "bf16"}))
        self.assertAlmostEqual(sum(m < 91 for m in rows) / len(rows), 0.5, delta=0.04)   # the middle of 1 to 8192 by logarithm
        for arguments in (("random",), ("random", "--seed", "1"), ("grid", "--count", "3"), ("random", "--seed", "x", "--count", "1")):
            self.assertEqual(SCRIPT.run(*arguments)[0], 2, arguments)

    def test_apart(self):
        """Two extents at their places, or with M and N swapped, are too many; one is not, nor are two at other places."""
        rows = self.file("rows.csv", "group,problem,schedule,us", "1,f16:64x128x256:tn,simple,3.5", '2,"bf16:7x9x11:nn:beta=1",simple,1')
        apart = ["f16:64x1x2:nn", "f16:256x64x128:nn", "f16:128x256x64:tn", "bf16:9x11x7:nn"]
        near = ["f16:64x128x3:nn", "bf16:128x64x9:tn", "f16:64x5x256:nn", "f16:5x64x256:nn", "f16:128x5x256:nn", "f16:9x7x11:nn"]
        path = self.file("list.txt", *near, *apart)
        self.assertEqual(self.lines(path, "--apart", rows), apart)
        packed = self.folder / "rows.gz"
        packed.write_bytes(gzip.compress(b'{"problem": "f16:64x1x2:nn"}\n'))
        self.assertEqual(self.lines(path, "--apart", rows, "--apart", str(packed)), apart[1:])
        drawn = self.lines("random", "--seed", "5", "--count", "30")
        some = self.file("some.txt", *drawn[:7])
        self.assertEqual(self.lines("random", "--seed", "5", "--count", "12", "--apart", some), drawn[7:19])
        self.fails("names no problem", path, "--apart", self.file("none.txt", "nothing"))
        self.fails("none.gz", path, "--apart", str(self.folder / "none.gz"))

    def test_missing(self):
        different = ["f16:1x2x3:nn", *("f16:1x2x3:tn:" + field for field in ("acc=f16", "d=f32", "lda=4", "b=2", "beta=2"))]
        path = self.file("list.txt", "f16:3x2x1:tn   # not there", "f16:1x2x3:tn", "bf16:1x2x3:tn", *different, "f16:1x2x3:tn:ldc=4", "f16:1x2x3:tn:alpha=2",
                         "f16:9x9x9:tn")
        table = self.file("a.tuned", "", "# all", TABLE, "# problem schedule us", "\t" + ROW.format("f16:1x2x3:tn", "library/3"),
                          ROW.format("f16:9x9x9:tn", "simple") + " more", ROW.format("f16:3x2x1:ntn", "simple"), "# " + ROW.format("f16:3x2x1:tn", "simple"))
        said = f"list_problems.py: {table}: 2 rows cannot be read\n"
        self.assertEqual(self.lines(path, "--missing", table, said=said), ["f16:3x2x1:tn                  # not there", "bf16:1x2x3:tn", *different, "f16:9x9x9:tn"])
        # a constant B needs no row of its own, and its row is none of the problem alone; an invariant problem's row is its own
        some = self.file("c.tuned", TABLE, *(ROW.format(problem, "simple") for problem in ("f16:1x2x3:tn", "f16:3x2x1:tn:const=b", "f16:4x2x1:tn:inv=1")))
        asked = self.file("more.txt", "f16:1x2x3:tn:const=b", "f16:3x2x1:tn", "f16:3x2x1:tn:const=b", "f16:4x2x1:tn", "f16:4x2x1:tn:inv=1")
        self.assertEqual(self.lines(asked, "--missing", some), ["f16:3x2x1:tn", "f16:3x2x1:tn:const=b", "f16:4x2x1:tn"])
        # C is read with any beta that is not 0; then its rows count
        more = self.file("b.tuned", TABLE, *(ROW.format(problem, "simple") for problem in ("f16:3x2x1:tn:ldc=5", "f16:1x2x3:tn:beta=1", "bf16:1x2x3:tn:beta=1:ldc=5")))
        self.assertEqual(self.lines(path, "--missing", table, "--missing", more, said=said), ["bf16:1x2x3:tn", *different[:-1], "f16:9x9x9:tn"])
        self.assertEqual(self.lines(self.file("list.txt", "f16:1x2x3:tn"), "--missing", table, said=said), [])
        for name, lines in (("empty.tuned", []), ("other.tuned", ["gemmsmith-tuned 2"]), ("list.tuned", ["f16:1x2x3:tn"])):
            self.fails(f"{name}: no tuned table", path, "--missing", self.file(name, *lines))
        self.fails("absent", path, "--missing", str(self.folder / "absent"))

    def test_program_says_the_same(self):
        """gemmsmith db compare: the problems that only the first of two tables has."""
        chance = random.Random(7)

        def problem(plain):
            layout, (m, n, k) = chance.choice(("nn", "tn")), chance.choices((1, 2, 64), k=3)
            row = {"lda": k, "ldb": k if layout == "tn" else n, "ldc": n, "ldd": n}
            fields = [f"{name}={length + chance.choice((0, 0, 3))}" for name, length in row.items()]
            fields += [chance.choice(pair) for pair in (("acc=f32", "acc=f16"), ("d=f16", "d=f32"), ("b=1", "b=2"), ("beta=0", "beta=1"))]
            fields += ["alpha=1" if plain else "alpha=0.5"]
            chance.shuffle(fields)
            return ":".join([f"f16:{m}x{n}x{k}:{layout}", *fields])
        listed = [problem(True) for _ in range(1000)]
        known = [problem(False) for _ in range(3000)] + [text.replace("beta=1", "beta=-3.5") for text in listed[::3]]
        tables = [self.file(name, TABLE, *(ROW.format(text, "library") for text in texts)) for name, texts in (("a.tuned", listed), ("b.tuned", known))]
        done = subprocess.run([PROGRAM, "db", "compare", *tables, "--json"], capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(self.folder)})
        compared = [json.loads(line) for line in done.stdout.splitlines()]
        only = [row["problem"] for row in compared if "problem" in row and row["b"] is None]
        missing = self.lines(self.file("list.txt", *listed), "--missing", tables[1])
        # the table has one row where only the unread C's rows are different
        missing = [re.sub(r":ldc=\d+", "", text) if ":beta=" not in text else text for text in missing]
        self.assertGreater(len(only), 100)
        self.assertGreater(sum(row.get("b") is not None for row in compared), 300)
        self.assertEqual(sorted(set(missing)), sorted({re.sub(r":ldc=\d+", "", text) if ":beta=" not in text else text for text in only}))

    def test_gradients(self):
        """Each layer's weight in the place of D, tokens in the place of K; what --layouts changes is how B is stored."""
        lines = self.lines("gradients")
        self.assertIn("bf16:4096x14336x2048:nt       # llama-3-8b down", lines)
        self.assertEqual({line.split(":")[2].split()[0] for line in lines}, {"nt"})
        self.assertEqual(4 * len({line.split("x")[0] + "x" + line.split("x")[1] for line in lines}), len(lines))
        self.assertIn("bf16:4096x14336x2048:tt       # llama-3-8b down", self.lines("gradients", "--layouts", "tn"))

    def test_reader_that_leaves(self):
        for what in ("grid", "models", "gradients", "layers"):
            self.assertEqual(SCRIPT.run_unread(what), "", what)


if __name__ == "__main__":
    unittest.main()
