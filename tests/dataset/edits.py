#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""edits.py PROGRAM: python/trained/edits.py and variants.py, as far as they need nothing but Python: kernels, edits, lessons, and all stages without a model against a scripted service.
That the program applies the edits, and takes the manifests, is asked of the program itself."""
import contextlib
import csv
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(sys.argv.pop(1))
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python" / "trained"))
import common  # noqa: E402
import edits  # noqa: E402
import variants  # noqa: E402

TN, NN = "f16:512x512x8192:tn", "f16:512x256x4096:nn"


def any_variant(source, problem=TN, kernel="coop", near=None):
    own = edits.KERNELS[kernel]
    return variants.Variant(own, problem, own.drawn(source, problem[-2:], near))


class Kernels(unittest.TestCase):
    def test_as_they_were_written(self):
        """The values that a kernel has give its text, and a manifest with the numbers of the written one."""
        for name, (source, manifest) in variants.texts().items():
            kernel = edits.KERNELS[name]
            layout = "tn" if "#define TN 1\n" in source else "nn"
            self.assertEqual(kernel.text(kernel.values, layout), source)
            for ours, written in zip(kernel.manifest(kernel.values, layout).splitlines(), manifest.splitlines(), strict=True):
                words, number = ours.split(), None
                if words[0] in ("workspace", "zeroed", "smem"):   # formulas of m and n
                    cdiv = {"cdiv": lambda a, b: -(-a // b), "m": 1000, "n": 700}
                    number = [eval(text.split()[1].replace("/", "//"), {}, cdiv) for text in (ours, written)]
                    self.assertEqual(*number, (name, ours, written))
                else:
                    self.assertEqual(ours, written)

    def test_variants(self):
        source = random.Random(1)
        for name, kernel in edits.KERNELS.items():
            self.assertGreaterEqual(len(kernel.lines), 7, name)
            for problem in (TN, NN):
                for _ in range(200):
                    first = any_variant(source, problem, name)
                    self.assertLessEqual(variants.shared(first.values), variants.SHARED)
                    second = any_variant(source, problem, name, first.values)
                    self.assertIn(sum(first.values[one] != second.values[one] for one in first.values), (1, 2, 3))
                    self.assertEqual(variants.applied(first, variants.answer(first, second)).values, second.values)

    def test_the_program_applies_them(self):
        """gemmsmith serve makes the child of an answer, and it is right; an answer whose lines are not there is none."""
        kernel = edits.KERNELS["warps"]
        first = variants.Variant(kernel, "f16:128x64x256:tn", {**kernel.values, "BN": 32, "SHARES": 2})
        second = variants.Variant(kernel, first.problem, {**kernel.values, "BM": 64, "STAGES": 3, "order": "columns", "AHEAD": "1"})
        with tempfile.TemporaryDirectory() as at:
            service = subprocess.Popen([PROGRAM, "serve", "--device", "emu:h200", "--port", "0", "--store", os.path.join(at, "store.db")], stdout=subprocess.PIPE, text=True)
            try:
                url = re.search(r"http://[0-9.:]+", service.stdout.readline())[0]
                good, bad = edits.reward.evaluate([edits.edited(first, variants.answer(first, second)), edits.edited(second, variants.answer(first, second))], 250, url)
            finally:
                service.terminate()
                service.communicate()
        self.assertEqual((good["verdict"], bad["verdict"], bad["stage"]), ("pass", "text", "text"), good["reason"])

    def test_what_is_no_variant(self):
        first = any_variant(random.Random(3))
        text = variants.answer(first, any_variant(random.Random(4), near=first.values))
        for wrong in ("", "nothing", text.replace("SEARCH\n", "SEARCH\nx", 1), text.replace("=======\n", "=======\n1", 1), text + "more", variants.answer(first, first)):
            self.assertIsNone(variants.applied(first, wrong), wrong)

    def test_problems(self):
        tested = variants.problem_list(30, 1)
        test = common.Test(tested)
        learned = variants.problem_list(30, 2, test, 1024, 4096)
        self.assertFalse(any(map(test.near, learned)))
        for m, n, k in map(common.extents, learned):
            self.assertTrue(m <= 1024 and n <= 1024 and k <= 4096 and m % 64 == n % 64 == k % 64 == 0)
        self.assertEqual(tested, variants.problem_list(30, 1))

    def test_question(self):
        one = any_variant(random.Random(5), NN)
        (message,) = variants.question(one, 12.3456, 4.0)
        self.assertTrue(message["content"].startswith(NN + "\nfloor 4 us\nM 64 N 64 K 64\n64x64 0.24\n"))
        self.assertIn("coop: 12.35 us, ", message["content"])
        self.assertTrue(message["content"].endswith(one.manifest))
        for place, value in one.values.items():
            self.assertIn(one.kernel.line(place, value).strip() + "\n", message["content"])


class Service:
    """In place of gemmsmith serve: a kernel takes a microsecond more for each place in which it is not `best`, and some do not compile."""

    def __init__(self, best):
        self.best, self.asked = best, []

    def us(self, one):
        return 4.0 + sum(one.values[place] != value for place, value in self.best.items() if place in one.values)

    def judge(self, candidate):
        for kernel in edits.KERNELS.values():
            parent = candidate.get("parent", candidate)
            lines, values = parent["source"].split("\n"), {}
            for place, at in kernel.lines.items():
                values |= {place: value for value in variants.CHOICES[place] if at < len(lines) and kernel.line(place, value) == lines[at]}
            if len(values) == len(kernel.lines) and f"entry {kernel.name}\n" in parent["manifest"]:
                one = variants.Variant(kernel, candidate["problem"], values)
                one = variants.applied(one, candidate["completion"]) if "completion" in candidate else one
                return {"verdict": "pass", "us": self.us(one), "ratio": 8 / self.us(one), "floor_us": 2.0, "id": "i"} if one else {"verdict": "text", "reason": "none"}
        return {"verdict": "text", "reason": "none"}

    def evaluate(self, candidates, deadline_s=0, url=None):
        self.asked += candidates
        return [{"verdict": "compile", "reason": "no"} if len(self.asked) % 5 == i % 7 == 0 else self.judge(one) for i, one in enumerate(candidates)]


def asked_of(problem, text):
    """The parent of a question."""
    kernel = next(kernel for name, kernel in edits.KERNELS.items() if f"\n{name}: " in text)
    values = {place: value for place in kernel.lines for value in variants.CHOICES[place] if kernel.line(place, value).strip() + "\n" in text}
    return variants.Variant(kernel, problem, values)


def run_stage(*words):
    out, before = io.StringIO(), sys.argv
    sys.argv = ["edits.py", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out):
            edits.main()
    finally:
        sys.argv = before
    return out.getvalue()


class Stages(unittest.TestCase):
    run_stage = staticmethod(run_stage)

    def test_without_a_model(self):
        service = Service({"BM": 128, "BN": 64, "SHARES": 4, "STAGES": 8, "wait": "1", "bounds": "1"})
        evaluate, edits.reward.evaluate = edits.reward.evaluate, service.evaluate
        self.addCleanup(setattr, edits.reward, "evaluate", evaluate)
        with tempfile.TemporaryDirectory() as at:
            data = Path(at, "data")
            said = self.run_stage("gather", data, "--problems", 10, "--each", 12, "--tests", 4, "--unseen", 2, "--lessons", 30)
            self.assertRegex(said, r"^240 variants measured, \d+ pass; 6 parents in the test\n$")
            tested = {row["problem"] for row in common.rows(data / "test.jsonl")}
            self.assertEqual(sum(row["kernel"] == variants.UNSEEN for row in common.rows(data / "test.jsonl")), 2)
            learned = list(common.rows(data / "lessons.0.jsonl.gz"))
            checked = {row["problem"] for row in common.rows(data / "check.jsonl.gz")}
            test = common.Test(tested)
            self.assertGreater(len(learned), 100)
            self.assertTrue(checked)
            self.assertFalse(checked & {row["problem"] for row in learned})
            for row in learned:
                self.assertFalse(test.near(row["problem"]))
                self.assertNotIn(variants.UNSEEN + ": ", row["prompt"][0]["content"])
                self.assertRegex(row["completion"][0]["content"], r"^```cuda kernel\.cu\n<<<<<<< SEARCH\n")
            self.faster(learned, service)
            self.run_stage("form", data, "--lessons", 20)
            self.assertEqual(len(list(common.rows(data / "form" / "lessons.0.jsonl.gz"))), 20)
            names = [Path(at, name) for name in ("random.1.jsonl", "imitation.1.jsonl")]
            for seed, name in enumerate(names):
                self.assertEqual(self.run_stage("propose", data, "random", name, "--seed", seed), "48 edits of 6 parents\n")
            self.proposed(list(common.rows(names[0])))
            confirmed = Path(at, "confirmed.csv")
            confirmed.write_text(self.run_stage("confirm", data, *names), encoding="utf-8")
            with open(confirmed, newline="", encoding="utf-8") as file:
                self.assertEqual({row["file"] for row in csv.DictReader(file)}, {"start", "random.1.jsonl", "imitation.1.jsonl"})
            said = self.run_stage("judge", data, confirmed, *names)
            difference = r" [+-]0\.\d+ \([+-]0\.\d+ to [+-]0\.\d+\) \|"
            self.assertRegex(said, r"\| random \| 1 \| [456] \| 0\.\d+ \| 0\.\d+ \|" + 3 * r" \d\.\d+ \|" + 3 * difference + "\n")
            self.assertRegex(self.run_stage("judge", data, confirmed, *names, "--kernel", "unseen"), r"\| imitation \| 1 \| [12] \|")

    def faster(self, learned, service):
        """An answer of a lesson makes its parent faster."""
        for row in learned[:40]:
            parent = asked_of(row["problem"], row["prompt"][0]["content"])
            child = variants.applied(parent, row["completion"][0]["content"])
            self.assertLess(service.us(child), service.us(parent))

    def proposed(self, said):
        """Edits of the second turn are of the fastest so far."""
        best = {}
        for i, row in enumerate(said):
            if i % 8 == 0:
                self.assertEqual(row["parent"], row["start"])
                best = {json.dumps(row["start"]): row["start_ratio"]}
            if i % 8 == 4:
                self.assertEqual(json.dumps(row["parent"]), max(best, key=best.get))
            if row["verdict"] == "pass":
                child = variants.applied(variants.Variant(edits.KERNELS[row["kernel"]], row["problem"], row["parent"]), row["text"])
                best.setdefault(json.dumps(child.values), row["ratio"])

    def test_what_has_no_answer(self):
        group = edits.Group({"problem": TN, "kernel": "coop", "values": any_variant(random.Random(6)).values, "ratio": 0.5}, [("a", -2.0), ("b", -1.0), ("a", -2.0), ("c", -3.0)], 3)
        self.assertEqual(group.texts, ["b", "a", "c"])
        self.assertEqual((group.distinct, group.nats), (0.75, 2.0))
        self.assertTrue(group.judged([{"verdict": "memory"}, {"verdict": "pass", "ratio": 1.0}, {"verdict": "spill"}]))
        self.assertEqual((group.texts, group.rewards), (["a", "c"], [1.0, None]))
        self.assertFalse(group.judged([{"verdict": "spill"}, {"verdict": "compile"}]))

    def test_gains(self):
        said = {"p": [{"verdict": "pass", "ratio": 0.5, "start_ratio": 1.0}, {"verdict": "spill", "ratio": None, "start_ratio": 1.0}, {"verdict": "pass", "ratio": 1.5, "start_ratio": 1.0}]}
        self.assertEqual([edits.gains(said, count)["p"] for count in (1, 2, 3)], [1.0, 1.0, 1.5])
        self.assertEqual(edits.best_of(said["p"])["ratio"], 1.5)
        self.assertIsNone(edits.best_of(said["p"][:2]))


if __name__ == "__main__":
    unittest.main()
