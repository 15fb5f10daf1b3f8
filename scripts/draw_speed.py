#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what the README opens with, docs/performance/speed.svg, from rows that were measured (docs/performance).

    draw_speed.py                  writes the picture
    draw_speed.py --check          exit 1 if the picture that is there is not what the rows say
    draw_speed.py --figures        prints what is drawn

Bars begin at 1, auto-tuned cuBLASLt. The picture follows the reader's light or dark mode."""
import argparse
import csv
import pathlib
import sys

sys.dont_write_bytecode = True
import report_grid
import report_search

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = "docs/performance/speed.svg"
GRID = ("docs/performance/grid/rows.csv.gz", "docs/performance/grid/rows_again.csv.gz")
LAYERS, MODELS = "docs/performance/models/layers.csv", ("docs/performance/models/rows.csv.gz", "docs/performance/models/rows_again.csv.gz")
SIZES = "docs/performance/sizes/choice.csv"
TOKENS = (1, 8, 16, 64, 128)
DECODERS = (("llama-3-8b", "Llama-3 8B", 32), ("qwen2.5-7b", "Qwen2.5 7B", 28), ("qwen2.5-32b", "Qwen2.5 32B", 64), ("llama-3-70b", "Llama-3 70B", 80))
ALIGNED = {"multiples of 64": "64", "multiples of 8": "8", "anything": "any"}


# ---- figures ----

def by_size(root):
    """(band of the least time in microseconds, geometric mean, problems)"""
    problems, _, _ = report_grid.read([root / path for path in GRID])
    bands = [[p.best() for (_, mode), p in problems.items() if mode == "offline" and p.band == band] for band in range(len(report_grid.BANDS))]
    return [(name, report_grid.geomean(values), len(values)) for name, values in zip(report_grid.BANDS, bands) if values]


def by_alignment(root):
    """The same by what N and K are multiples of: sizes without a row in the table, plans that measure; the better layout of either side."""
    times = {}
    with open(root / SIZES, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if row["contender"] in ("measured", report_grid.REFERENCE) and row["verified"] == "ok":
                kind = report_search.class_of(report_search.read_problem(row["problem"]))
                pair = times.setdefault((kind, report_grid.without_layout(row["problem"])), {})
                pair[row["contender"]] = min(float(row["device_us"]), pair.get(row["contender"], float("inf")))
    figures = []
    for _, kind in report_search.CLASSES:
        ratios = [pair[report_grid.REFERENCE] / pair["measured"] for (known, _), pair in times.items() if known == kind and len(pair) == 2]
        figures.append((ALIGNED[kind], report_grid.geomean(ratios), len(ratios)))
    return figures


def by_step(root):
    """(tokens, [ratio of each model]): all linear layers of a step, cuBLASLt's time over ours."""
    problems, _, _ = report_grid.read([root / path for path in MODELS])
    with open(root / LAYERS, newline="", encoding="utf-8") as file:
        layers = list(csv.DictReader(file))

    def us(model, count, tokens, contender):
        return sum((1 if layer["layer"] == "lm_head" else count) *
                   float(problems[f"bf16:{tokens}x{layer['n']}x{layer['k']}", "offline"].row("tn", contender)["device_us"])
                   for layer in layers if layer["model"] == model)
    return [(tokens, [us(model, count, tokens, report_grid.REFERENCE) / us(model, count, tokens, "own") for model, _, count in DECODERS])
            for tokens in TOKENS]


# ---- drawing ----

# what is filled, and what is a line: light, dark
COLOURS = ((".paper", "#ffffff", "#0d1117"), ("text", "#1f2328", "#f0f6fc"), (".quiet", "#59636e", "#9198a1"), (".a", "#1f5fa8", "#58a6ff"),
           (".b", "#6ea8dc", "#a5cdf7"), (".c", "#b35f14", "#d9822b"), (".d", "#e5a657", "#f2c078"))
LINES = ((".line", "#d1d9e0", "#3d444d"), (".one", "#59636e", "#9198a1"))


def style():
    def rules(mode):
        return " ".join([f"{name} {{ fill: {colours[mode]} }}" for name, *colours in COLOURS] + [f"{name} {{ stroke: {colours[mode]} }}" for name, *colours in LINES])
    return f"<style>\n{rules(0)}\n@media (prefers-color-scheme: dark) {{ {rules(1)} }}\n</style>"


WIDTH, HEIGHT, BAR = 860, 520, 34


class Panel:
    """A chart of bars from 1 up or down, in a rectangle."""

    def __init__(self, x, y, width, height, low, high, ticks):
        self.x, self.y, self.width, self.height, self.low, self.high, self.out = x, y, width, height, low, high, []
        for tick in ticks:
            at = self.at(tick)
            self.out.append(f'<line x1="{x}" y1="{at}" x2="{x + width}" y2="{at}" class="{"one" if tick == 1 else "line"}"/>')
            self.text(x - 6, at + 4, f"{tick:g}", 'text-anchor="end" class="quiet"')

    def at(self, value):
        return round(self.y + self.height * (self.high - value) / (self.high - self.low), 1)

    def text(self, x, y, text, more=""):
        self.out.append(f'<text x="{round(x, 1):g}" y="{round(y, 1):g}" {more}>{text}</text>')

    def head(self, title, more):
        self.text(self.x - 24, self.y - 34, title, 'font-size="15" font-weight="600"')
        self.text(self.x - 24, self.y - 16, more, 'class="quiet"')

    def bar(self, middle, value, kind, width, size=12):
        top, bottom = sorted((self.at(value), self.at(1)))
        self.out.append(f'<rect x="{round(middle - width / 2, 1):g}" y="{top:g}" width="{width:g}" height="{max(bottom - top, 1):.1f}" class="{kind}"/>')
        self.text(middle, top - 4, f"{value:.2f}", f'text-anchor="middle" font-size="{size}"')

    def under(self, middle, *lines):
        for i, line in enumerate(lines):
            self.text(middle, self.y + self.height + 16 + 15 * i, line, f'text-anchor="middle"{" class=" + chr(34) + "quiet" + chr(34) if i else ""}')


def simple(panel, figures, kind):
    step = panel.width / len(figures)
    for i, (name, value, count) in enumerate(figures):
        middle = panel.x + step * (i + 0.5)
        panel.bar(middle, value, kind, BAR)
        panel.under(middle, name, f"{count} sizes")


def draw(root):
    size = Panel(40, 96, 460, 130, 1, 1.75, (1, 1.25, 1.5, 1.75))
    size.head("By size", "1000 sizes, by the least time that the product can take, microseconds")
    simple(size, by_size(root), "a")
    alignment = Panel(600, 96, 240, 130, 1, 1.75, (1, 1.25, 1.5, 1.75))
    alignment.head("By alignment of N and K", "sizes in no table, measured at first use")
    simple(alignment, by_alignment(root), "a")

    step = Panel(40, 352, 800, 110, 0.98, 1.12, (1, 1.05, 1.1))
    step.head("A decoder step", "all linear layers of a model, by tokens in the batch")
    at = 400
    for kind, (_, name, _) in zip("abcd", DECODERS):
        step.out.append(f'<rect x="{at}" y="{step.y - 44}" width="11" height="11" class="{kind}"/>')
        step.text(at + 16, step.y - 34, name)
        at += 112
    for i, (tokens, ratios) in enumerate(by_step(root)):
        middle = step.x + step.width / len(TOKENS) * (i + 0.5)
        for j, (kind, ratio) in enumerate(zip("abcd", ratios)):
            step.bar(middle + (j - 1.5) * (BAR + 2), ratio, kind, BAR, 11)
        step.under(middle, f"{tokens} token{'s' if tokens > 1 else ''}")
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
                      'font-size="12" role="img">',
                      "<title>Times as fast as auto-tuned cuBLASLt on an NVIDIA H200: by size, by alignment, in a decoder step</title>", style(),
                      f'<rect width="{WIDTH}" height="{HEIGHT}" class="paper"/>',
                      '<text x="16" y="26" font-size="16" font-weight="600">Times as fast as auto-tuned cuBLASLt, NVIDIA H200, geometric means</text>',
                      *size.out, *alignment.out, *step.out,
                      f'<text x="16" y="{HEIGHT - 14}" class="quiet">f16 and bf16 with f32 sums; device time, cold operands, interleaved rounds, '
                      "verified outputs. Rows: docs/performance</text>", "</svg>"]) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments.add_argument("--figures", action="store_true", help="print what is drawn")
    arguments.add_argument("--root", type=pathlib.Path, default=ROOT, help="the tree with the rows")
    options = arguments.parse_args()
    picture = options.root / PICTURE
    if options.figures:
        for name, value, count in by_size(options.root) + by_alignment(options.root):
            print(f"{name}: {value:.3f} ({count})")
        for tokens, ratios in by_step(options.root):
            print(f"{tokens} tokens: " + ", ".join(f"{name} {ratio:.3f}" for (_, name, _), ratio in zip(DECODERS, ratios)))
    elif not options.check:
        picture.write_text(draw(options.root), encoding="utf-8")
    elif not picture.exists() or picture.read_text(encoding="utf-8") != draw(options.root):
        print(f"{PICTURE} is not what the rows say: run python3 scripts/draw_speed.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
