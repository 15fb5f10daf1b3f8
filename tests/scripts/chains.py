#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/report_chains.py on rows made up here, whose figures were worked out by hand. Usage: chains.py SOURCE_DIR"""
import sys
import tempfile
import unittest
from pathlib import Path

from script import Script

SCRIPT = Script(Path(sys.argv.pop(1)), "scripts/report_chains.py")
HEAD = "problem,layout,contender,device_us,band\n"


def rows(problem, band, **layouts):
    """layouts: name: (plain, dependent, library); 0: none."""
    return "".join(f"{problem}:{layout},{layout},{name},{us or ''},{band}\n" for layout, own in layouts.items()
                   for name, us in zip(("mma/x@plain", "mma/x@dependent", "cublaslt-autotuning"), own, strict=True))


class Chains(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = Path(folder.name)
        self.rows = self.at / "rows.csv"
        self.rows.write_text("# a remark\n" + HEAD + rows("f16:1x64x64", 0, nn=(4, 2, 8), tn=(5, 5, 6))      # 6 / 4, 6 / 2
                             + rows("f16:2x64x64", 2, nn=(10, 20, 12), tn=(0, 0, 10))                        # 10 / 10, 10 / 20
                             + rows("f16:3x64x64", 2, nn=(1, 1, 9)), encoding="utf-8")                       # one layout alone

    def table(self, *lines):
        path = self.at / "x.tuned"
        path.write_text("gemmsmith-tuned 1\n" + "".join(f"{problem} mma/x 1 1 {ratio} 1 1 1755 g 90 132 1 - tune{by}-1\n" for problem, ratio, by in lines), encoding="utf-8")
        return path

    def printed(self, *arguments):
        code, out, said = SCRIPT.run_alone(str(self.rows), *map(str, arguments))
        self.assertEqual((code, said), (0, ""))
        return out.splitlines()[2:]

    def test_both_ways(self):
        self.assertEqual(self.printed(), ["| under 1 | 1 | 1.500 | 3.000 | 0, 0 |", "| 5-20 | 1 | 1.000 | 0.500 | 0, 1 |", "| all | 2 | 1.225 | 1.225 | 0, 1 |"])

    def test_what_a_table_chooses(self):
        table = self.table(("f16:1x64x64:nn", 1.1, ""), ("f16:1x64x64:nn", 1.2, "+dependent"), ("f16:1x64x64:tn", 1.1, ""), ("f16:1x64x64:tn", 1.0, "+dependent"), ("f16:2x64x64:nn", 1.1, ""), ("f16:2x64x64:nn", 1.0, "+dependent"))
        self.assertEqual(self.printed("--chosen", table)[-1], "| all | 2 | 1.225 | 1.225 | 1.732 | 0, 1, 0 |")   # 3 and 1

    def test_only_what_was_measured(self):
        table = self.table(("f16:2x64x64:nn", 1.1, ""), ("f16:2x64x64:nn", 1.0, "+dependent"))
        self.assertEqual(self.printed("--chosen", table), ["| 5-20 | 1 | 1.000 | 0.500 | 1.000 | 0, 1, 0 |", "| all | 1 | 1.000 | 0.500 | 1.000 | 0, 1, 0 |"])

    def test_every_problem(self):
        """One without a kernel of ours counts as 1, one that was not launched dependently as its plain launch."""
        with open(self.rows, "a", encoding="utf-8") as file:
            file.write(rows("f16:4x64x64", 2, nn=(0, 0, 9), tn=(0, 0, 7)) + rows("f16:5x64x64", 2, nn=(2, 0, 4), tn=(0, 0, 6)))
        self.assertEqual(self.printed("--every", "--weights", "1,0,1,0,0,0"), ["| under 1 | 1 | 1.500 | 3.000 | 3.000 | 0, 0, 0 |", "| 5-20 | 3 | 1.260 | 1.000 | 1.260 | 0, 1, 0 |",
                                                                               "| all | 4 | 1.316 | 1.316 | 1.565 | 0, 1, 0 |", "| by weight | 2 | 1.375 | 1.732 | 1.944 | |"])

    def test_calls(self):
        lines = self.rows.read_text(encoding="utf-8").splitlines()
        self.rows.write_text("problem,layout,contender,device_us,band,call_us\n" + "".join(f"{line},{2 if line.split(',')[2] == 'cublaslt-autotuning' else 1}\n" for line in lines[2:]), encoding="utf-8")
        self.assertEqual(self.printed("--every", "--calls")[-1], "| all | 2 | 2.000 | 2.000 | 2.000 | 0, 0, 0 |")

    def test_nothing_to_report(self):
        self.rows.write_text(HEAD, encoding="utf-8")
        code, out, said = SCRIPT.run_alone(str(self.rows))
        self.assertNotEqual(code, 0)
        self.assertIn("no problem with own@plain", said)


if __name__ == "__main__":
    unittest.main()
