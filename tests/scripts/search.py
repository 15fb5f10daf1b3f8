#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/report_search.py: what it prints of the rows that are kept is what the pages beside them say, and rows made up here, whose figures were worked out
by hand; scripts/list_rows.py: rows to train with.
Usage: search.py SOURCE_DIR"""
import gzip
import json
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from script import Script

SOURCE = Path(sys.argv.pop(1))
SCRIPT = Script(SOURCE, "scripts/report_search.py")
ROWS = Script(SOURCE, "scripts/list_rows.py")
PERFORMANCE = SOURCE / "docs" / "performance"


class Pages(unittest.TestCase):
    def page(self, name, commands):
        """Each command stands in the page, and what it prints, line for line."""
        text = re.sub(r" \\\n +", " ", (PERFORMANCE / name / "README.md").read_text(encoding="utf-8"))   # long commands go on behind a \
        found = re.findall(rf"^ +python3 {re.escape(SCRIPT.name)} (.*)$", text, re.MULTILINE)
        self.assertEqual([command.split()[0] for command in found], commands)
        for command in found:
            code, out, said = SCRIPT.run_alone(*shlex.split(command))
            self.assertEqual((code, said), (0, ""), command)
            self.assertGreater(out.count("\n| "), 0, command)
            self.assertIn(f"{command}\n\n{out}", text, f"{command} prints something else than the page says")

    def test_learned(self):
        self.page("learned", ["rows", "tune", "wide", "scores", "tune"])

    def test_written(self):
        self.page("written", ["written"])

    def test_sizes(self):
        self.page("sizes", ["tune", "sizes", "taken", "sizes", "sizes", "tune", "tune", "sizes"])

    def test_sums_of_the_program(self):
        """Means and deviations beside those that gemmsmith score itself had printed at the end."""
        path = PERFORMANCE / "learned" / "score.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            sums = [row for row in map(json.loads, file) if "evaluations" in row]
        lines = SCRIPT.run("scores", path)[1].splitlines()
        self.assertEqual(len(sums), 5)
        for row in sums:
            spread = [f"{row[what][which]:.4f}" if what in row else "" for what in ("ratio", "reward") for which in ("mean", "deviation")]
            self.assertIn("| " + " | ".join((row["problem"], row["candidate"], f"{row['passed']} of {row['evaluations']}", *spread)) + " |", lines)


class RowsToTrainWith(unittest.TestCase):
    def test_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tune.jsonl.gz"
            rows = [{"problem": "f16:64x64x64:nn", "us": 2.0, "cublaslt_us": 3.0, "best_own": "simple", "best_own_ratio": 1.5},
                    {"problem": "f16:64x64x64:tn", "us": 3.0, "library_us": 3.0, "best_own": "mma/64x64x64/w2x2/s3/g8", "best_own_ratio": 0.75},
                    {"problem": "f16:8x8x8:tn", "us": 3.0, "best_own": "simple"},
                    {"problem": "f16:9x8x8:tn", "us": 3.0, "cublaslt_us": 3.0}]
            path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
            self.assertEqual(ROWS.run(path), (0, "group,problem,schedule,us\n1,f16:64x64x64:nn,simple,2\n1,f16:64x64x64:nn,cublaslt/1,3\n"
                                                 "2,f16:64x64x64:tn,mma/64x64x64/w2x2/s3/g8,4\n2,f16:64x64x64:tn,cublaslt/1,3\n", ""))
            path.write_bytes(gzip.compress(b"{\"problem\": 1}\n"))
            code, _, said = ROWS.run(path)
            self.assertEqual(code, 1)
            self.assertIn("line 1", said)
            self.assertEqual(ROWS.run(Path(folder) / "none.jsonl")[0], 1)
            self.assertEqual(ROWS.run()[0], 2)


class MadeUp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, rows):
        path = self.folder / name
        text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return str(path)

    def lines(self, *arguments):
        code, out, said = SCRIPT.run(*arguments)
        self.assertEqual((code, said), (0, ""), arguments)
        return out.rstrip("\n").split("\n")

    def fails(self, what, *arguments):
        code, out, said = SCRIPT.run(*arguments)
        self.assertEqual((code, out), (1, ""), arguments)
        self.assertRegex(said, rf"\Areport_search\.py: [^\n]*{what}[^\n]*\n\Z")

    def test_sizes(self):
        columns = "problem,layout,contender,ratio,is_best,best_ratio"
        path = self.file("rows.csv", [
            "# a machine", columns,
            '"f16:1x64x128:nn",nn,own,2,0,', '"f16:1x64x128:tn",tn,own,0.5,1,0.98', '"f16:1x64x128:tn",tn,cublaslt-autotuning,9,0,',
            '"f16:1x64x64:nn",nn,own,8,1,0.97',
            '"f16:1x64x72:nn",nn,own,3,1,3', '"f16:1x63x64:nn",nn,own,,1,4',      # cuBLASLt is wrong in this layout
        ])
        self.assertEqual(self.lines("sizes", path)[2:], [
            "| multiples of 64 | nn | 2 | 4.000 | 100 % | 2.000 |", "| multiples of 64 | tn | 1 | 0.500 | 0 % | 0.500 |",
            "| multiples of 64 | best of both | 2 | 0.975 | 50 % | 0.970 |", "| multiples of 8 | nn | 1 | 3.000 | 100 % | 3.000 |",
            "| multiples of 8 | best of both | 1 | 3.000 | 100 % | 3.000 |", "| anything | best of both | 1 | 4.000 | 100 % | 4.000 |"])
        path = self.file("measured.csv", [
            columns + ",verified,device_us",
            '"f16:1x64x64:nn",nn,measured,2,0,,ok,5', '"f16:1x64x64:nn",nn,cublaslt-autotuning,1,0,,ok,10', '"f16:1x64x64:nn",nn,own,7,1,7,ok,1',
            '"f16:1x64x64:tn",tn,measured,1,0,,ok,8', '"f16:1x64x64:tn",tn,cublaslt-autotuning,1,0,,ok,8', '"f16:1x8x8:tn",tn,measured,3,0,,ok,8',
        ])
        self.assertEqual(self.lines("sizes", path, "--contender", "measured")[2:], [
            "| multiples of 64 | nn | 1 | 2.000 | 100 % | 2.000 |", "| multiples of 64 | tn | 1 | 1.000 | 100 % | 1.000 |",
            "| multiples of 64 | best of both | 1 | 1.600 | 100 % | 1.600 |", "| multiples of 8 | tn | 1 | 3.000 | 100 % | 3.000 |"])
        self.fails("row 1 cannot be read", "sizes", self.file("bad.csv", [columns, '"f16:1x2",nn,own,1,0,']))
        self.fails("no rows of own", "sizes", self.file("none.csv", [columns, '"f16:1x64x64:nn",nn,cublas,1,0,']))

    def test_taken(self):
        columns = "problem,layout,contender,device_us,verified,algorithm"
        own, theirs = "no table entry: ws/a is the learned weights' choice, cuBLASLt 5 us", "no table entry: cuBLASLt, 5 us expected"
        path = self.file("rows.csv", [
            "# a machine", columns,
            f'"a:1x1x1:nn",nn,own,5,ok,"{own}"', '"a:1x1x1:nn",nn,cublaslt-heuristic,20,ok,', '"a:1x1x1:nn",nn,cublaslt-autotuning,10,ok,',
            f'"a:1x1x1:tn",tn,own,10,ok,"{theirs}"', '"a:1x1x1:tn",tn,cublaslt-heuristic,16,ok,', '"a:1x1x1:tn",tn,cublaslt-autotuning,8,ok,',
            f'"b:1x1x1:tn",tn,own,10,wrong,"{theirs}"', '"b:1x1x1:tn",tn,cublaslt-heuristic,16,ok,', '"b:1x1x1:tn",tn,cublaslt-autotuning,8,ok,',
        ])
        self.assertEqual(self.lines("taken", path)[2:], [
            "| an own kernel | 1 | 2.000 | 100 % | 2.000 | 0.500 | 0 % |", "| cuBLASLt | 1 | 0.800 | 0 % | 0.800 | 0.500 | 0 % |", "| both | 2 | 1.265 | 50 % | 0.800 | 0.500 | 0 % |"])
        self.fails("row 1 cannot be read", "taken", self.file("bad.csv", [columns, '"f16:1x2",nn,own,x,ok,']))
        self.fails("no problem with all three", "taken", self.file("none.csv", [columns, '"f16:1x64x64:nn",nn,own,1,ok,']))

    def test_tune(self):
        def row(problem, choice="splitk/a", **figures):
            return {"problem": problem, "choice": choice, **figures, "spent": {"compile": 0.25, "race": 1, "verify": 2, "confirm": 30}}
        rows = [
            row("f16:64x64x64:nn", cublaslt_us=9, best_own_ratio=9),                                # searched again below
            row("f16:64x64x64:tn", "cublaslt/3", cublaslt_us=4, best_own_ratio=0.5),                 # ours 8 us
            "",
            row("f16:64x64x64:nn", cublaslt_us=8, best_own_ratio=2),                                # ours 4 us, the library's best 4: 1
            row("f16:128x64x64:nn:acc=f16", cublaslt_us=16, best_own_ratio=8),                      # ours 2 us
            row("f16:128x64x64:tn:acc=f16", "cublaslt", cublaslt_us=8),                              # the library's best 8: 4
            row("f16:128x64x64:tn", cublaslt_us=20, best_own_ratio=4),                              # other sums, one layout
            {"problem": "f16:32x64x64:nn", "best_own": "splitk/a", "best_own_us": 3},                # unconfirmed
            row("f16:32x64x64:tn", cublaslt_us=5, best_own_ratio=1),
            row("f16:16x64x64:nn", "cublaslt", cublaslt_us=5, best_own_ratio=0),                     # 0: none of ours
            row("f16:16x64x64:tn", "cublaslt", cublaslt_us=5),
        ]
        # 2, 0.5, 8, 4, 1: product 32; 1 and 4 for the sizes
        figures = "| 5 of 9 | 2.000 | 2 | 2.000 | 1 | 4 | 2 | 9 | 18 | 270 |"
        head = ("| rows | problems | over the library, same layout | sizes in both layouts | best of each | ours slower than 0.99 | the library chosen"
                " | compile, s | race, s | verify, s | confirm, s |")
        plain, packed = self.file("plain.jsonl", rows), self.file("packed.jsonl.gz", rows)
        old = self.file("old.jsonl", [json.loads(json.dumps(row).replace('"cublaslt', '"library')) for row in rows if row])   # of an older version
        edge = self.file("edge", [row("f16:64x64x64:nn", cublaslt_us=1, best_own_ratio=0.99), row("f16:64x64x64:tn", cublaslt_us=1, best_own_ratio=0.98)])
        # sqrt 0.9702; 0.99 is not slower than 0.99
        self.assertEqual(self.lines("tune", plain, packed, old, edge), [head, "|---|---|---|---|---|---|---|---|---|---|---|", f"| plain {figures}",
                                                                   f"| packed {figures}", f"| old {figures}", "| edge | 2 | 0.985 | 1 | 0.990 | 1 | 0 | 0 | 2 | 4 | 60 |"])
        self.assertEqual(self.lines("tune", self.file("none", [rows[7]]))[2], "| none | 0 of 1 |  | 0 |  | 0 | 0 | 0 | 0 | 0 | 0 |")

    def test_scores(self):
        def row(candidate, **figures):
            return {"problem": "f16:64x64x64:tn", "candidate": candidate, **figures}
        rows = [*(row("splitk/a", us=2, ratio=ratio, reward=reward) for ratio, reward in ((1, -0.5), (1.1, 0), (1.2, 0.5))),
                row("splitk/b", verdict="wrong", reward=-1), row("splitk/b", us=3, ratio=0.9, reward=-0.25), row("source:0", verdict="hang", reward=-1),
                row("splitk/a", evaluations=3, passed=3, ratio={"mean": 7, "deviation": 7})]
        wanted = ["| f16:64x64x64:tn | splitk/a | 3 of 3 | 1.1000 | 0.1000 | 0.0000 | 0.5000 |", "| f16:64x64x64:tn | splitk/b | 1 of 2 | 0.9000 |  | -0.2500 |  |",
                  "| f16:64x64x64:tn | source:0 | 0 of 1 |  |  |  |  |"]
        self.assertEqual(self.lines("scores", self.file("rows", rows))[2:], wanted)
        self.assertEqual(self.lines("scores", self.file("one.gz", rows[:2]), self.file("two.gz", rows[2:]))[2:], wanted)   # one candidate in two files

    def test_written(self):
        problems = {"a.md": "f16:64x64x64:tn", "b.md": "f16:64x64x65:tn", "c.md": "f16:64x64x66:tn", "d.md": "f16:64x64x67:tn", "e.md": "f16:64x64x64:tn"}

        def rows(run, file, *evaluations):
            for candidate, verdict, us, ratio in evaluations:
                figures = {"us": us, "ratio": ratio} if us else {}
                yield {"run": run, "file": file, "problem": problems[file], "candidate": candidate, "verdict": verdict, **figures}
        path = self.file("rows", [
            *rows(2, "b.md", ("splitk/a", "pass", 4, 1), ("source:b2", "pass", 5, 1)),
            *rows(1, "a.md", ("splitk/a", "pass", 10, 1), ("", "launch", 0, 0), ("splitk/b", "pass", 8, 1), ("splitk/c", "wrong", 0, 0), ("source:a", "pass", 4, 3)),
            *rows(1, "b.md", ("splitk/a", "pass", 5, 1), ("source:b1", "pass", 10, 0.5)),
            *rows(2, "a.md", ("splitk/a", "pass", 6, 1), ("source:a", "pass", 4, 2.5)),
            *rows(2, "c.md", ("splitk/a", "pass", 3, 1), ("source:c", "wrong", 0, 0)),
            *rows(2, "d.md", ("splitk/a", "pass", 3, 1)),
            *rows(2, "e.md", ("source:e", "pass", 8, 2)),   # the schedule that was evaluated for a is for its problem
        ])
        head = ["4 kernels, 6 evaluations, 5 passed. In brackets: the previous evaluation of the same kernel.", "",
                "| kernel | problem | us | over cuBLASLt | our best schedule, us | over that |", "|---|---|---|---|---|---|"]
        best = "| a | f16:64x64x64:tn | 4.00 (4.00) | 2.500 (3.000) | 6.00 (8.00) | 1.500 (2.000) |"
        self.assertEqual(self.lines("written", path), [*head, best, "| b | f16:64x64x65:tn | 5.00 | 1.000 | 4.00 | 0.800 |", "| e | f16:64x64x64:tn | 8.00 | 2.000 | 6.00 | 0.750 |",
                                                       "| c | f16:64x64x66:tn | wrong |  | 3.00 |  |"])
        self.assertEqual(self.lines("written", path, "--first", "1"), [*head, best, "| the other 3 |  |  | 0.50 to 2.00 |  | 0.50 to 0.80 |"])
        tuned = self.file("tuned", ["gemmsmith-tuned 1", "f16:64x64x64:tn splitk/a 5.125", "f16:64x64x65:tn library 3"])
        self.assertEqual([line.split("|")[-2].strip() for line in self.lines("written", path, "--table", tuned)[2:]], ["the table's row, us", "---", "5.12", "", "5.12", ""])
        self.assertTrue(self.lines("written", path, "--table", tuned, "--first", "3")[-1].endswith("|  |"))
        self.fails("bad line 2: could not convert", "written", path, "--table", self.file("bad", ["gemmsmith-tuned 1", "f16:64x64x64:tn splitk/a fast"]))

    def test_wide(self):
        rows = ["problem,schedule,us,said_by", "p,splitk/a,2,grid+16", "p,splitk/b,3,160", "q,splitk/a,4,grid", '"q",splitk/b,2,16+160', "r,splitk/a,1,grid+16"]
        # 1.5 and 0.5: sqrt 0.75; 1.5 and 1: sqrt 1.5; nothing wide was said for r
        head = "| choice of | problems | time of 160's over its own, geometric mean | lowest | highest | the same choice |"
        self.assertEqual(self.lines("wide", self.file("rows.csv", rows)),
                         [head, "|---|---|---|---|---|---|", "| grid | 2 | 0.8660 | 0.500 | 1.500 | 0 |", "| 16 | 2 | 1.2247 | 1.000 | 1.500 | 1 |"])
        # 1, 2, 1 and 2/3, 2
        self.assertEqual(self.lines("wide", self.file("rows.csv.gz", rows), "--of", "grid")[2:],
                         ["| 16 | 3 | 1.2599 | 1.000 | 2.000 | 2 |", "| 160 | 2 | 1.1547 | 0.667 | 2.000 | 0 |"])

    def test_bad_files(self):
        good = {"problem": "f16:64x64x64:tn", "candidate": "splitk/a", "verdict": "pass", "us": 2, "run": 1, "file": "a.md"}
        packed = gzip.compress(json.dumps(good).encode())
        for kind in ("tune", "scores", "written", "wide"):
            self.fails("has no rows", kind, self.file("empty", []))
            self.fails("has no rows", kind, self.file("empty.gz", [""]))
            self.fails("absent", kind, str(self.folder / "absent"))
            (self.folder / "cut.gz").write_bytes(packed[:-9])
            self.fails("cut.gz", kind, str(self.folder / "cut.gz"))
            (self.folder / "plain.gz").write_text("{}\n")
            self.fails("plain.gz", kind, str(self.folder / "plain.gz"))
            if kind != "wide":
                for bad in ('{"problem": ', "[1]", "7", "\0", "[" * 100000):
                    self.fails("bad line 2 cannot be read", kind, self.file("bad", [good, bad]))
                self.fails("line 2: problem is missing", kind, self.file("bad", [good, {**good, "problem": None, "candidate": "source:a"}]))
        for key, value in (("best_own_ratio", "2"), ("cublaslt_us", -1), ("best_own_ratio", float("nan")), ("cublaslt_us", True), ("spent", {"race": "long"})):
            self.fails(f"line 1: {'race' if key == 'spent' else key} is ", "tune", self.file("bad", [{"problem": "p:nn", key: value}, {"problem": "p:tn"}]))
        self.fails("line 1: cublaslt_us is missing", "tune", self.file("bad", [{"problem": "p", "best_own_ratio": 2}, {"problem": "p:tn"}]))
        self.fails("line 1: ratio is ", "scores", self.file("bad", [{**good, "ratio": "fast"}]))
        self.fails("line 1: candidate is missing", "scores", self.file("bad", [{"problem": "p"}]))
        self.fails("no candidate was evaluated", "scores", self.file("bad", [{"evaluations": 3}]))
        self.fails("no kernel was evaluated", "written", self.file("bad", [good]))
        self.fails("line 1: run is missing", "written", self.file("bad", [{**good, "run": None}]))
        self.fails("line 1: us is missing", "written", self.file("bad", [{**good, "us": None}, {**good, "candidate": "source:a"}]))
        head = "problem,schedule,us,said_by"
        for row in ("p,splitk/a,fast,160", "p,splitk/a,-1,160", "p,splitk/a,0,160", "p,splitk/a,2", "p,splitk/a,2,160,more"):
            self.fails("bad line 2", "wide", self.file("bad", [head, row]))
        self.fails("line 2", "wide", self.file("bad", ["problem,us,said_by", "p,2,160"]))
        self.fails("nothing was said by 160", "wide", self.file("bad", [head]))

    def test_rows(self):
        truth = self.file("truth", ["problem,schedule,us", "f16:64x64x64:tn,splitk/a,2", "f16:64x64x64:tn,splitk/b,4", "bf16:64x64x64:tn,splitk/a,3", "bf16:64x64x64:tn,splitk/b,3.75",
                                    "f16:64x64x64:tn:acc=f16,splitk/a,1"])
        head = "gemmsmith-tuned 1"
        tuned = self.file("tuned", [head, "# a comment", "f16:64x64x64:tn:alpha=1 splitk/b 1", "bf16:64x64x64:tn library 1", "f16:64x128x128:tn splitk/a 1", "f16:512x64x64:tn splitk/b 1",
                                    "bf16:512x65x64:tn splitk/a 1", "f16:64x64x128:nn splitk/b 1", "f16:64x32x64:tn:acc=f16 splitk/c 1"])
        self.assertEqual(self.lines("rows", truth, tuned)[2:], [
            "| its own | 1 | 1 | 0.5000 | 0.500 |",                         # splitk/b takes 4 where splitk/a takes 2
            "| the other input type's | 1 | 1 | 0.8000 | 0.800 |",          # of bf16, f16's splitk/b; a row of the library is none
            "| the nearest with other extents | 2 | 1 | 1.0000 | 1.000 |"])   # of f16 splitk/a, a factor of 4 away; of f16 sums one that was not measured; of bf16 one too far
        self.fails("no tuned table", "rows", truth, truth)
        self.fails("is no problem", "rows", truth, self.file("bad", [head, "f16:64 splitk/a"]))
        self.fails("is no problem", "rows", self.file("bad", ["problem,schedule,us", "p,splitk/a,2"]), tuned)

    def test_reader_that_leaves(self):
        path = self.file("rows", [{"problem": "f16:64x64x64:tn"}])
        self.assertEqual(SCRIPT.run_unread("tune", path), "")
        self.assertEqual(SCRIPT.run_alone("tune", str(self.folder / "absent"))[0], 1)

    def test_usage(self):
        for arguments in ((), ("tune",), ("most", "rows"), ("written", "rows", "--first", "few")):
            self.assertEqual(SCRIPT.run(*arguments)[0], 2, arguments)


if __name__ == "__main__":
    unittest.main()
