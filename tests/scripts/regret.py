#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/report_regret.py on rows made up here, whose figures are worked out by hand.
Usage: regret.py SOURCE_DIR"""
import math
import re
import sys
import tempfile
import unittest
from pathlib import Path

from script import Script

SOURCE = Path(sys.argv.pop(1)).resolve()
SCRIPT = Script(SOURCE, "scripts/report_regret.py")
HEAD = "policy,seed,problem,measured,said,share"


class Regret(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def rows(self, *lines, name="rows.csv"):
        path = self.folder / name
        path.write_text("".join(line + "\n" for line in (HEAD, *lines)), encoding="utf-8")
        return str(path)

    def cells(self, *arguments):
        code, out, said = SCRIPT.run(*arguments)
        self.assertEqual((code, said), (0, ""), out)
        return {line.split(" | ")[0][2:]: [cell.strip(" |") for cell in line.split(" | ")[1:]] for line in out.splitlines() if line and line[2] not in "-p%"}

    def test_means(self):
        path = self.rows("a,1,f16:1x64x64:nn,1,1,0.5", "a,1,f16:1x64x64:nn,4,4,1", "a,1,f16:1x8x8:nn,1,1,0.98", "a,2,f16:1x64x64:nn,1,1,0.72",
                         "a,2,f16:1x8x8:nn,2,2,0.98")
        cells = self.cells(path)["a"]
        low, high = math.sqrt(0.5 * 0.98), 0.72   # the second problem of the second seed has nothing yet
        self.assertEqual(cells[:3], ["2", "2", f"{math.sqrt(low * high):.4f} ({low:.4f}-{high:.4f})"])
        low, high = math.sqrt(0.72 * 0.98), math.sqrt(0.98)
        self.assertEqual(cells[3:], [f"{math.sqrt(low * high):.4f} ({low:.4f}-{high:.4f})"] * 5)

    def test_classes(self):
        path = self.rows("a,1,f16:1x64x128:nn,1,1,0.5", "a,1,f16:1x64x72:tn,1,1,0.6", "a,1,bf16:1x9x64:nn:beta=1,1,1,0.7")
        for only, share in (("64", "0.5000"), ("8", "0.6000"), ("any", "0.7000")):
            self.assertEqual(self.cells(path, "--only", only)["a"][:3], ["1", "1", share])

    def test_against(self):
        """Each of 40 problems is 2 % faster, so the interval has no width; where half are 2 % slower instead, it contains 0."""
        problems = [f"f16:{m}x64x64:nn" for m in range(1, 41)]
        rows = [f"base,1,{p},1,1,0.9" for p in problems] + [f"fast,{s},{p},1,1,{0.9 * 1.02:.5f}" for s in (1, 2) for p in problems]
        rows += [f"mixed,1,{p},1,1,{0.9 * (1.02 if i % 2 else 1 / 1.02):.5f}" for i, p in enumerate(problems)]
        rows += ["other,1,f16:1x1x1:nn,1,1,1"]   # no problem of base
        code, out, _ = SCRIPT.run(self.rows(*rows), "--against", "base")
        self.assertEqual(code, 0)
        second = out.split("% faster than base")[1]
        self.assertIn("| fast | 40 | +2.00 (+2.00 to +2.00) |", second)
        low, high = map(float, re.search(r"\| mixed \| 40 \| [+-]0\.\d\d \((\S+) to (\S+)\) \|", second).groups())
        self.assertTrue(-1.2 < low < -0.2 and 0.2 < high < 1.2, (low, high))   # 1.96 times 2 % over the root of 40
        self.assertRegex(second, r"\| other \| 0 \|( +\|)+")
        code, _, said = SCRIPT.run(self.rows(*rows), "--against", "none")
        self.assertEqual((code, said), (1, "report_regret.py: no rows of none: base, fast, mixed, other\n"))

    def test_curves(self):
        curves = self.folder / "curves.csv"
        self.cells(self.rows("a,7,f16:1x64x64:nn,4,4,0.5", "a,7,f16:1x64x64:nn,8,8,0.75"), "--curves", curves)
        lines = curves.read_text(encoding="utf-8").splitlines()
        self.assertEqual([lines[0], lines[1], lines[5], len(lines)], ["series,name,x,y", "regret/a/7,mean,4,0.50000", "regret/a/7,mean,8,0.75000", 22])


if __name__ == "__main__":
    unittest.main()
