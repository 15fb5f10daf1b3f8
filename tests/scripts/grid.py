#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/report_grid.py on rows made up here, whose figures were worked out by hand; scripts/list_problems.py beside what it wrote.
Usage: grid.py SOURCE_DIR"""
import contextlib
import importlib.util
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1))
HEAD = ("problem,mode,cache,layout,contender,choice,device_us,ratio,low,high,is_best,best_ratio,best_low,best_high,verified,rounds,calls,mhz_before,"
        "mhz_after,floor_us,band,call_us,call_p50,call_p95,call_p99,algorithm,message,date")


def load():
    spec = importlib.util.spec_from_file_location("report_grid", SOURCE / "scripts" / "report_grid.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


report_grid = load()


def line(problem, layout, contender, us, ratio="", is_best=0, best="", choice="library/2", mode="offline", cache="cold", verified="ok", floor=1, band=1,
         call="", percentiles=("", "", ""), date="2026-01-02T00:00:00Z", message=""):
    kind, size, *rest = problem.split(":")
    name = ":".join((kind, size, layout, *rest))
    return (f'"{name}",{mode},{cache},{layout},{contender},{choice},{us},{ratio},{ratio},{ratio},{is_best},{best},{best},{best},{verified},21,100,1980,1980,'
            f'{floor},{band},{call},{",".join(map(str, percentiles))},"","{message}",{date}')


def problem(name, schedule, nn, tn, best, layout="nn", **more):
    """Ours is 10 us in the layout that is best, the library's best is in tn."""
    lines = []
    for which, ratio in (("nn", nn), ("tn", tn)):
        lines.append(line(name, which, "own", 10, ratio, int(which == layout), best, schedule, **more))
        lines.append(line(name, which, "cublaslt-autotuning", 10 * best, 1, int(which == "tn"), best, **more))
    return lines


# Best of both: 2, 0.5, 1.25, 0.8, 1.01, 0.99: product 0.9999, median between 0.99 and 1.01, two over 1.01, four not under 0.99.
ROWS = [
    "# NVIDIA H200, driver CUDA 13.0, gemmsmith 0.1.0+12345678 abc, 2026-01-02T00:00:00Z",
    "# gemmsmith eval --file grid.txt",
    HEAD,
    *problem("f16:64x64x64", "mma/16x16x64/w1x2/s2/g1", 9, 9, 9, floor=0.5, band=0, date="2026-01-01T00:00:00Z"),   # measured again below
    *problem("f16:64x64x64", "mma/16x16x64/w1x2/s2/g1", 4, 1, 2, floor=0.5, band=0, call=5),
    *problem("f16:64x64x4096", "ws/64x64x64/s4/c1x1/coop/g1", 0.5, 0.25, 0.5, floor=2),
    '"f16:96x64x64:nn",offline,co',   # cut off
    "# NVIDIA H200, driver CUDA 13.0, gemmsmith 0.1.0+12345678 abc, 2026-01-03T00:00:00Z",
    HEAD,
    *problem("f16:1024x64x512", "mma/16x16x64/w1x2/s2/g1", 1, 1.25, 1.25, "tn", floor=3),
    *problem("f16:4096x4096x4096", "ws/128x256x64/s4/c1x1/coop/g8", 0.8, 1, 0.8, floor=90, band=3),
    *problem("f16:8192x8192x8192", "ws/128x256x64/s4/c1x1/coop/g8", 1.01, 1, 1.01, floor=1500, band=5),
    *problem("f16:16384x8192x8192", "ws/128x256x64/s4/c1x1/coop/g8", 0.99, 0.98, 0.99, floor=3000, band=5),
    *problem("f16:64x64x64", "mma/16x16x64/w1x2/s2/g1", 7, 7, 7, cache="warm"),
    line("f16:128x64x64", "nn", "own", "", choice="simple", verified="wrong"),
    line("f16:128x64x64", "nn", "cublaslt-autotuning", 3, 1),
]


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, lines):
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)

    def report(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = report_grid.main(list(arguments))
        self.assertEqual(code, 0)
        return out.getvalue()

    def has(self, text, *lines):
        for wanted in lines:
            self.assertIn(wanted, text.splitlines(), text)

    def test_figures(self):
        text = self.report(self.file("rows.csv", ROWS))
        self.has(text,
                 "NVIDIA H200, driver CUDA 13.0, gemmsmith 0.1.0+12345678 abc  ",
                 "Faster: over 1.01; not slower: at least 0.99. 6 of 7 problems were compared.",
                 "| best of both | 6 | 1.000 | 1.000 | 33.3 % | 66.7 % | 0.500 |",
                 # 4, 0.5, 1, 0.8, 1.01, 0.99: product 1.59984
                 "| nn | 6 | 1.081 | 0.995 | 16.7 % | 66.7 % | 0.500 |",
                 # 1, 0.25, 1.25, 1, 1, 0.98: product 0.30625
                 "| tn | 6 | 0.821 | 1.000 | 16.7 % | 66.7 % | 0.250 |",
                 # 2, 1, 1.25, 1, 1.01, 1: product 2.525
                 "| best of both, the library where it is faster | 6 | 1.167 | 1.005 | 33.3 % | 100.0 % | 1.000 |")
        self.assertEqual(text.count("NVIDIA H200"), 1)
        self.assertIn("1 lines could not be read.", text)

    def test_groups(self):
        text = self.report(self.file("rows.csv", ROWS))
        self.has(text,
                 "| under 1 | 1 | 2.000 | 2.000 | 100.0 % | 100.0 % | 2.000 |",
                 "| 1-5 | 2 | 0.791 | 0.875 | 50.0 % | 50.0 % | 0.500 |",         # sqrt 0.625
                 "| 20-100 | 1 | 0.800 | 0.800 | 0.0 % | 0.0 % | 0.800 |",
                 "| over 1000 | 2 | 1.000 | 1.000 | 0.0 % | 100.0 % | 0.990 |",
                 "| mma | 2 | 1.581 | 1.625 | 100.0 % | 100.0 % | 1.250 |",        # sqrt 2.5
                 "| ws | 4 | 0.795 | 0.895 | 0.0 % | 50.0 % | 0.500 |",            # 0.39996 ^ 1/4
                 "| min(M, N) | K to 256 | K 257-1024 | K 1025-4096 | K over 4096 |",
                 "| 17-64 | 2.000, 100 %, 1 | 1.250, 100 %, 1 | 0.500, 0 %, 1 |  |",
                 "| 1025-4096 |  |  | 0.800, 0 %, 1 |  |",
                 "| over 4096 |  |  |  | 1.000, 0 %, 2 |")
        self.assertNotIn("| 5-20 |", text)

    def test_worst_and_faults(self):
        text = self.report(self.file("rows.csv", ROWS), "--worst", "2")
        lines = text.splitlines()
        at = lines.index("| problem | floor us | ours | us | library | us | ratio |")
        self.assertEqual(lines[at + 2], "| f16:64x64x4096 | 2.00 | nn ws/64x64x64/s4/c1x1/coop/g1 | 10.00 | tn library/2 | 5.00 | 0.500 [0.500, 0.500] |")
        self.assertTrue(lines[at + 3].startswith("| f16:4096x4096x4096 | 90.00 |"))
        self.assertEqual(lines[at + 4], "")
        self.has(text, "| f16:128x64x64 | offline | nn simple: wrong |")

    def test_calls(self):
        rows = [HEAD, line("f16:64x64x64", "nn", "own", 2, 1, 1, 1, "simple", call=5), line("f16:64x64x64", "tn", "own", 2, 1, 0, 1, "simple", call=8),
                line("f16:64x64x64", "nn", "cublaslt-autotuning", 2, 1, 1, 1, call=12), line("f16:64x64x64", "tn", "cublaslt-autotuning", 2, 1, 0, 1, call=10)]
        self.has(self.report(self.file("rows.csv", rows)), "## Call time back to back", "| all | 1 | 2.000 | 2.000 | 100.0 % | 100.0 % | 2.000 |")

    def test_server(self):
        rows = [HEAD]
        for name, own, other in (("f16:64x64x64", 2, 8), ("f16:64x64x128", 8, 8)):
            rows += [line(name, "tn", "own", 2, other / own, 1, other / own, "simple", "server", call=own, percentiles=(own, 2 * own, 3 * own)),
                     line(name, "tn", "cublaslt-autotuning", 2, 1, 1, other / own, mode="server", call=other, percentiles=(other, 2 * other, 3 * other))]
        text = self.report(self.file("rows.csv", rows))
        self.has(text, "## Against cublaslt-autotuning: call time of single requests", "| tn | 2 | 2.000 | 2.500 | 50.0 % | 100.0 % | 1.000 |",
                 "| 1-5 | own | 2 | 4.00 | 8.00 | 12.00 |", "| 1-5 | cublaslt-autotuning | 2 | 8.00 | 16.00 | 24.00 |")

    def test_dependent(self):
        rows = [HEAD, *problem("f16:64x64x64", "simple", 2, 1, 2), *problem("f16:64x64x64", "simple", 4, 1, 4, mode="offline+dependent")]
        text = self.report(self.file("rows.csv", rows))
        self.has(text, "## Against cublaslt-autotuning: device time", "| nn | 1 | 2.000 | 2.000 | 100.0 % | 100.0 % | 2.000 |",
                 "## Against cublaslt-autotuning: device time, dependent launches", "| nn | 1 | 4.000 | 4.000 | 100.0 % | 100.0 % | 4.000 |")

    def test_predicted(self):
        rows = [HEAD, line("f16:64x64x64", "nn", "own", 4, choice="simple", mode="predicted"), line("f16:64x64x64", "tn", "own", 2, choice="simple", mode="predicted"),
                line("f16:64x64x64", "tn", "cublaslt-autotuning", "", choice="", mode="predicted", verified="failed", message="emulated")]
        text = self.report(self.file("rows.csv", rows))
        self.has(text, "| all | 1 | 0.500 | 0.500 | 0.500 |")
        self.assertNotIn("Against", text)
        self.assertNotIn("Wrong", text)

    def test_layers(self):
        rows = [HEAD]
        for name, ratio in (("bf16:8x4096x4096", 1.2), ("bf16:64x4096x4096", 0.9), ("bf16:8x6144x4096", 1.0)):
            rows += [line(name, "tn", "own", 10, ratio, 1, ratio, "simple"), line(name, "tn", "cublaslt-autotuning", 10, 1, 1, ratio)]
        layers = self.file("layers.csv", ["model,layer,n,k", "small,qkv,6144,4096", "small,o,4096,4096", "large,o,8192,8192"])
        text = self.report(self.file("rows.csv", rows), "--layers", layers)
        self.has(text, "small: geometric mean 1.026, faster 33.3 %, not slower 66.7 %",   # 1.08 ^ 1/3
                 "| layer | N | K | M = 8 | M = 64 |", "| qkv | 6144 | 4096 | 1.000 |  |", "| o | 4096 | 4096 | 1.200 | 0.900 |")
        self.assertNotIn("large", text)

    def test_csv_and_list(self):
        out = self.folder / "best.csv"
        wanted = self.file("list.txt", ["# all", "f16:64x64x64:tn", "f16:7x64x64:nn   # new", "f16:7x64x64:tn", "128_64_64"])
        text = self.report(self.file("rows.csv", ROWS), "--csv", str(out), "--list", wanted)
        self.assertIn("Not measured yet: 1 problems of the list, f16:7x64x64", text)
        lines = out.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), 7)
        self.assertEqual(lines[1], "f16:64x64x64,offline,0.5,0,mma,nn,mma/16x16x64/w1x2/s2/g1,10,tn,library/2,20,2,2,2,4,1")

    def test_several_files(self):
        half = ROWS.index(HEAD, 3)
        text = self.report(self.file("0.csv", ROWS[:half]), self.file("1.csv", ROWS[half:]))
        self.has(text, "| best of both | 6 | 1.000 | 1.000 | 33.3 % | 66.7 % | 0.500 |")

    def test_lists(self):
        def listed(what):
            return subprocess.run([sys.executable, SOURCE / "scripts" / "list_problems.py", what], check=True, capture_output=True, text=True).stdout
        performance = SOURCE / "docs" / "performance"
        self.assertEqual(listed("grid"), (performance / "grid" / "problems.txt").read_text())
        self.assertEqual(listed("models"), (performance / "models" / "problems.txt").read_text())
        self.assertEqual(listed("layers"), (performance / "models" / "layers.csv").read_text())
        self.assertEqual(len(set(listed("grid").split())), 1000)


if __name__ == "__main__":
    unittest.main()
