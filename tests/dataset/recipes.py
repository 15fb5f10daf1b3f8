#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recipes.py PROGRAM: the recipes of docs/howto/recipes make data with gemmsmith export. What trainers' packages make of them is in tests/service/packages.py."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECIPES = os.path.join(ROOT, "docs", "howto", "recipes")
PROGRAM = os.path.abspath(sys.argv[1])
TABLE = """gemmsmith-tuned 1
f16:4096x4096x4096:tn  ws/128x256x64/s4/c2x1/coop/g8  196.20  210  1.07  1.06  1.08  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
f16:512x512x512:tn     ws/64x64x64/s2/c1x1/coop/g1    4       5     1.25  1.2   1.3   1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
f16:512x512x512:nn     ws/64x64x64/s2/c1x1/coop/g1    4       3.9   0.97  0.96  0.98  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
"""


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        at = cls.folder.name
        environment = {**os.environ, "HOME": at, "PATH": os.path.join(at, "bin") + ":" + os.environ["PATH"], "LC_ALL": "C"}
        os.mkdir(os.path.join(at, "bin"))
        os.symlink(PROGRAM, os.path.join(at, "bin", "gemmsmith"))
        with open(os.path.join(at, "in.tuned"), "w", encoding="utf-8") as file:
            file.write(TABLE)
        with open(os.path.join(at, "problems.txt"), "w", encoding="utf-8") as file:
            file.write("f16:4096x4096x4096:tn\n" + "".join(f"bf16:{m}x256x256:tn\n" for m in range(64, 64 + 24 * 8, 8)))
        subprocess.run(["gemmsmith", "db", "import", "in.tuned", "--store", "s.db"], cwd=at, env=environment, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["sh", os.path.join(RECIPES, "data.sh"), "problems.txt", "data", "s.db"], cwd=at, env=environment, check=True, stderr=subprocess.DEVNULL)

    def test_words_that_are_missing(self):
        got = subprocess.run(["sh", os.path.join(RECIPES, "data.sh"), "problems.txt"], capture_output=True, text=True)
        self.assertEqual((got.returncode, got.stderr), (2, "usage: data.sh PROBLEMS OUT [STORE...]\n"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows(self, name):
        with open(os.path.join(self.folder.name, "data", name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_data(self):
        for mode in ("schedule", "source"):
            train, held_out = self.rows(mode + "-train.jsonl"), self.rows(mode + "-held_out.jsonl")
            self.assertEqual(len(train) + len(held_out), 25)
            self.assertTrue(held_out)
            self.assertEqual({row["split"] for row in train}, {"train"})
            self.assertEqual({row["split"] for row in held_out}, {"held_out"})
            self.assertFalse({(row["m"], row["n"], row["k"]) for row in train} & {(row["m"], row["n"], row["k"]) for row in held_out})
        self.assertEqual(len(self.rows("winners.jsonl")), 2)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
