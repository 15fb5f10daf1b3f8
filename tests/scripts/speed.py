#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/draw_speed.py: the README's picture is what the rows say, and what their pages say; other rows are noticed; the drawing is sound.
Usage: speed.py SOURCE_DIR"""
import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "scripts"))
import draw_speed


def run(*words):
    return subprocess.run([sys.executable, SOURCE / "scripts/draw_speed.py", *map(str, words)], capture_output=True, text=True, check=False)


class Speed(unittest.TestCase):
    def test_the_picture_is_what_the_rows_say(self):
        done = run("--check")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_figures_are_those_of_the_pages(self):
        said = dict(re.findall(r"^(.*): (\d\.\d{3}) ", run("--figures").stdout, re.M))
        grid = (SOURCE / "docs/performance/grid/README.md").read_text(encoding="utf-8")
        bands = dict(re.findall(r"^\| (under 1|[\d-]+|over 1000) \| \d+ \| (\d\.\d{3}) \|", grid, re.M))
        self.assertEqual(len(bands), 6)
        for band, figure in bands.items():
            self.assertEqual(said[band], figure, band)
        sizes = (SOURCE / "docs/performance/sizes/README.md").read_text(encoding="utf-8").split("--contender measured")[1]
        for kind, name in draw_speed.ALIGNED.items():
            self.assertEqual(said[name], re.search(rf"^\| {kind} \| best of both \| \d+ \| (\S+) \|", sizes, re.M)[1], kind)

    def test_a_step_is_the_sum_of_its_layers(self):
        """One layer 1.5 times as slow in all models and numbers of tokens: what is drawn of steps is less, the rest is the same."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path in (*draw_speed.GRID, *draw_speed.MODELS, draw_speed.LAYERS, draw_speed.SIZES):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SOURCE / path, root / path)
            (root / draw_speed.PICTURE).write_text((SOURCE / draw_speed.PICTURE).read_text(encoding="utf-8"), encoding="utf-8")
            self.assertEqual(run("--check", "--root", root).returncode, 0)
            before = draw_speed.by_step(root)
            for path in draw_speed.MODELS:
                with gzip.open(root / path, "rt", encoding="utf-8") as file:
                    lines = file.read().split("\n")
                head = next(line for line in lines if line.startswith("problem,")).split(",")
                at = head.index("device_us")
                for i, line in enumerate(lines):
                    fields = line.split(",")
                    if ",own," in line and re.match(r'"?bf16:\d+x(28672|37888|55296|57344)x', line):
                        fields[at] = str(1.5 * float(fields[at]))
                        lines[i] = ",".join(fields)
                with gzip.open(root / path, "wt", encoding="utf-8") as file:
                    file.write("\n".join(lines))
            for (tokens, ratios), (_, then) in zip(draw_speed.by_step(root), before):
                for ratio, was in zip(ratios, then):
                    self.assertTrue(0.7 * was < ratio < 0.9 * was, (tokens, ratio, was))
            done = run("--check", "--root", root)
            self.assertEqual(done.returncode, 1)
            self.assertIn("is not what the rows say", done.stdout)
            (root / draw_speed.PICTURE).unlink()
            self.assertEqual(run("--check", "--root", root).returncode, 1)

    def test_the_drawing(self):
        text = (SOURCE / draw_speed.PICTURE).read_text(encoding="utf-8")
        root = xml.fromstring(text)
        _, _, width, height = map(float, root.get("viewBox").split())
        bars = [node for node in root.iter("{http://www.w3.org/2000/svg}rect") if node.get("height") not in ("11", str(int(height)))]
        self.assertEqual(len(bars), 6 + 3 + 5 * len(draw_speed.DECODERS))
        for node in bars:
            self.assertTrue(0 <= float(node.get("x")) <= width - float(node.get("width")) and 80 < float(node.get("y")) < height)
        light, dark = (re.findall(r"(\S+) \{ (?:fill|stroke): (#\w{6}) \}", part) for part in text.split("<style>")[1].split("@media (prefers-color-scheme: dark)"))
        self.assertEqual([name for name, _ in light], [name for name, _ in dark])
        for (name, one), (_, other) in zip(light, dark):
            self.assertNotEqual(one, other, name)


if __name__ == "__main__":
    unittest.main()
