#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/internals/cublaslt.md: its problems are computed, on an emulated device; its names are those of cublasLt.h, where that is installed, each once; and
every row says yes or no.
Usage: cublaslt.py SOURCE_DIR PROGRAM"""
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = str(Path(sys.argv.pop(2)).resolve())
SOURCE = Path(sys.argv.pop(1)).resolve()
PAGE = (SOURCE / "docs/internals/cublaslt.md").read_text(encoding="utf-8")
PREFIXES = ("CUBLASLT_MATRIX_LAYOUT_", "CUBLASLT_MATMUL_DESC_", "CUBLASLT_EPILOGUE_")


def header():
    compiler = shutil.which("nvcc")
    folders = [Path(compiler).resolve().parents[1] / "include"] if compiler else []
    return next((f / "cublasLt.h" for f in [*folders, Path("/usr/local/cuda/include")] if (f / "cublasLt.h").exists()), None)


def rows(prefix):
    section = PAGE.split(f"(`{prefix}`)")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", section, re.M)


class Page(unittest.TestCase):
    def test_every_row_answers(self):
        for prefix in PREFIXES:
            found = rows(prefix)
            self.assertGreater(len(found), 8, prefix)
            self.assertEqual({answer for _, answer, _ in found}, {"yes", "no"}, prefix)
            self.assertEqual(len({name for name, _, _ in found}), len(found), prefix)

    def test_the_names_are_those_of_the_header(self):
        path = header()
        if not path:
            self.skipTest("no cublasLt.h")
        text = path.read_text(encoding="utf-8", errors="replace")
        for prefix in PREFIXES:
            names = re.findall(rf"^\s+{prefix}([A-Z_]+) = ", text, re.M)
            self.assertGreater(len(names), 8, prefix)
            self.assertEqual(sorted(set(names) - {"RESERVED"}), sorted(name for name, _, _ in rows(prefix)), prefix)

    def test_the_problems_are_computed(self):
        problems = sorted(set(re.findall(r"`(b?f16:\S+?)`", PAGE)))
        self.assertGreater(len(problems), 15)
        for problem in problems:
            done = subprocess.run([PROGRAM, "gemm", problem, "--device", "emu:h200"], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, (problem, done.stdout, done.stderr))
            self.assertIn("right: 0 of", done.stdout, problem)

    def test_answers_agree_with_problems(self):
        for prefix in PREFIXES:
            for name, answer, how in rows(prefix):
                self.assertFalse(answer == "no" and re.search(r"`b?f16:", how), name)


if __name__ == "__main__":
    unittest.main()
