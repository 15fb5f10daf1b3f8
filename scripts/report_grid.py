#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables over many problems from the rows of gemmsmith eval --rows.

    report_grid.py ROWS.csv[.gz]... [--list PROBLEMS] [--layers LAYERS.csv] [--csv FILE] [--worst N]

Markdown on standard output. A ratio is the library's time over ours, the median of the rounds of one run: over 1, ours is faster. "Best of both"
sets our faster layout against the library's faster layout. Offline rows are compared by device time, server rows by call time, each apart where
our launches were dependent; predicted rows (an emulated device) are compared with the floor alone. Only a cold cache counts. A problem that was
measured again counts with its last run.
"""
import argparse
import csv
import gzip
import math
import re
import statistics
import sys
from pathlib import Path

WIN, EVEN = 1.01, 0.99
BANDS = ("under 1", "1-5", "5-20", "20-100", "100-1000", "over 1000")
NARROW = ((16, "to 16"), (64, "17-64"), (256, "65-256"), (1024, "257-1024"), (4096, "1025-4096"), (math.inf, "over 4096"))
DEEP = ((256, "K to 256"), (1024, "K 257-1024"), (4096, "K 1025-4096"), (math.inf, "K over 4096"))
REFERENCE = "cublaslt-autotuning"
MODES = ("offline", "offline+dependent", "server", "server+dependent", "predicted")


# ---- reading ----

def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def without_layout(problem):
    return re.sub(r":(nn|tn)(?=:|$)", "", problem)


class Problem:
    """One run of one problem: its rows by (layout, contender)."""

    def __init__(self, key, mode, date):
        self.key, self.mode, self.date, self.rows = key, mode, date, {}
        self.m, self.n, self.k = map(int, re.search(r":(\d+)x(\d+)x(\d+)", key).groups())

    def any(self):
        return next(iter(self.rows.values()))

    @property
    def band(self):
        return int(self.any()["band"])

    @property
    def floor_us(self):
        return number(self.any()["floor_us"])

    def row(self, layout, contender):
        return self.rows.get((layout, contender))

    def ratio(self, layout):
        """Ours against the library in one layout."""
        row = self.row(layout, "own")
        return number(row["ratio"]) if row else math.nan

    def best(self):
        return number(self.any()["best_ratio"])

    def best_row(self, contender):
        """The row of ours or of the library that the best ratio is about."""
        return next((row for (_, name), row in self.rows.items() if name == contender and row["is_best"] == "1"), None)

    def call_ratio(self):
        """Of medians, not of rounds: the faster layout of either side."""
        def least(contender):
            return min((number(row["call_us"]) for (_, name), row in self.rows.items() if name == contender and row["call_us"]), default=math.nan)
        return least(REFERENCE) / least("own")

    def faults(self):
        return [f"{layout} {row['choice'] or name}: {row['verified']} {row['message']}".strip() for (layout, name), row in self.rows.items()
                if row["verified"] != "ok" and not (self.mode == "predicted" and name != "own")]


def read(paths):
    """{(key, mode): Problem}, the comments of the files, and how many lines could not be read."""
    problems, comments, broken = {}, [], 0
    for path in paths:
        head = None
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", newline="", encoding="utf-8") as file:
            lines = []
            for line in file:
                if line.startswith("#"):
                    comments.append(line[1:].strip())
                else:
                    lines.append(line)
        for fields in csv.reader(lines):
            if fields and fields[0] == "problem":
                head = fields
                continue
            if head is None or len(fields) != len(head):
                broken += bool(fields)
                continue
            row = dict(zip(head, fields))
            if row["cache"] != "cold":
                continue
            key = (without_layout(row["problem"]), row["mode"])
            known = problems.get(key)
            if known is None or known.date < row["date"]:
                problems[key] = known = Problem(*key, row["date"])
            if known.date == row["date"]:
                known.rows[row["layout"], row["contender"]] = row
    return problems, comments, broken


# ---- figures ----

def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def share(values, least, strictly):
    return 100 * sum(v > least if strictly else v >= least for v in values) / len(values)


def figures(values):
    """Count, geometric mean, median, share of wins, share not slower, worst."""
    return (str(len(values)), f"{geomean(values):.3f}", f"{statistics.median(values):.3f}", f"{share(values, WIN, True):.1f} %",
            f"{share(values, EVEN, False):.1f} %", f"{min(values):.3f}")


HEAD = ("problems", "geometric mean", "median", "faster", "not slower", "worst")


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def grouped(label, groups, values_of):
    """A line for every group that has values."""
    rows = []
    for name, members in groups:
        values = [v for v in map(values_of, members) if math.isfinite(v)]
        if values:
            rows.append((name, *figures(values)))
    table((label, *HEAD), rows)


def class_of(value, classes):
    return next(name for most, name in classes if value <= most)


def by(members, key, order):
    return [(name, [p for p in members if key(p) == name]) for name in order]


def choice_of(row):
    return f"{row['layout']} {row['choice'] or row['contender']}"


def family(problem):
    row = problem.best_row("own")
    return row["choice"].split("/")[0] if row else ""


# ---- tables ----

def report_compared(members, clock, worst):
    compared = [p for p in members if math.isfinite(p.best())]
    print(f"## Against {REFERENCE}: {clock}\n")
    if not compared:
        print("Nothing was compared.\n")
        return
    print(f"Faster: over {WIN}; not slower: at least {EVEN}. {len(compared)} of {len(members)} problems were compared.\n")
    fallback = [max(p.best(), 1.0) for p in compared]
    rows = [("best of both", *figures([p.best() for p in compared]))]
    for layout in ("nn", "tn"):
        values = [v for v in (p.ratio(layout) for p in compared) if math.isfinite(v)]
        if values:
            rows.append((layout, *figures(values)))
    rows.append(("best of both, the library where it is faster", *figures(fallback)))
    table(("", *HEAD), rows)
    print("By theoretical minimum time, in microseconds (best of both):\n")
    grouped("floor", [(BANDS[i], [p for p in compared if p.band == i]) for i in range(len(BANDS))], Problem.best)
    print("By the family of our kernel (best of both):\n")
    grouped("family", by(compared, family, sorted({family(p) for p in compared})), Problem.best)
    print("By region, the smaller of M and N and K (best of both): geometric mean, share faster, problems.\n")
    region(compared)
    print(f"The {min(worst, len(compared))} worst (best of both):\n")
    rows = []
    for p in sorted(compared, key=Problem.best)[:worst]:
        own, reference = p.best_row("own"), p.best_row(REFERENCE)
        rows.append((p.key, f"{p.floor_us:.2f}", choice_of(own), f"{number(own['device_us']):.2f}", choice_of(reference),
                     f"{number(reference['device_us']):.2f}", f"{p.best():.3f} [{number(own['best_low']):.3f}, {number(own['best_high']):.3f}]"))
    table(("problem", "floor us", "ours", "us", "library", "us", "ratio"), rows)


def region(compared):
    narrow = [name for _, name in NARROW if any(class_of(min(p.m, p.n), NARROW) == name for p in compared)]
    deep = [name for _, name in DEEP if any(class_of(p.k, DEEP) == name for p in compared)]
    rows = []
    for side in narrow:
        cells = [side]
        for depth in deep:
            values = [p.best() for p in compared if class_of(min(p.m, p.n), NARROW) == side and class_of(p.k, DEEP) == depth]
            cells.append(f"{geomean(values):.3f}, {share(values, WIN, True):.0f} %, {len(values)}" if values else "")
        rows.append(cells)
    table(("min(M, N)", *deep), rows)


def report_calls(members):
    values = [v for v in (p.call_ratio() for p in members) if math.isfinite(v)]
    if values:
        print("## Call time back to back\n\nThe same calls issued to a stream by the host. Ratios of medians, best of both.\n")
        grouped("floor", [("all", members)] + [(BANDS[i], [p for p in members if p.band == i]) for i in range(len(BANDS))], Problem.call_ratio)


def report_server(members):
    rows = []
    for i in range(len(BANDS)):
        for name in ("own", REFERENCE):
            group = [row for p in members if p.band == i for (_, contender), row in p.rows.items() if contender == name and row["is_best"] == "1"]
            values = [[v for v in (number(row[f"call_p{q}"]) for row in group) if math.isfinite(v)] for q in (50, 95, 99)]
            if all(values):
                rows.append((BANDS[i], name, str(len(group)), *(f"{geomean(v):.2f}" for v in values)))
    if rows:
        print("Call time per request, geometric means of the percentiles, us:\n")
        table(("floor", "contender", "problems", "p50", "p95", "p99"), rows)


def report_predicted(members):
    print("## Predicted by an emulated device: nothing was measured, nothing is compared\n\nFloor over predicted time of our faster layout.\n")

    def of_floor(p):
        return p.floor_us / min((number(row["device_us"]) for (_, name), row in p.rows.items() if name == "own" and row["device_us"]), default=math.nan)
    rows = []
    for name, group in [("all", members)] + [(BANDS[i], [p for p in members if p.band == i]) for i in range(len(BANDS))]:
        values = [v for v in map(of_floor, group) if math.isfinite(v)]
        if values:
            rows.append((name, str(len(values)), f"{geomean(values):.3f}", f"{statistics.median(values):.3f}", f"{min(values):.3f}"))
    table(("floor", "problems", "geometric mean", "median", "worst"), rows)


def report_layers(members, path):
    """A row per layer, a column per number of tokens."""
    with open(path, newline="", encoding="utf-8") as file:
        layers = list(csv.DictReader(file))
    found = {(p.m, p.n, p.k): p for p in members if math.isfinite(p.best())}
    tokens = sorted({m for m, _, _ in found})
    print("## By layer: ratio for M tokens\n")
    for model in dict.fromkeys(layer["model"] for layer in layers):
        rows, seen = [], []
        for layer in (entry for entry in layers if entry["model"] == model):
            n, k = int(layer["n"]), int(layer["k"])
            cells = [found.get((m, n, k)) for m in tokens]
            seen += [p.best() for p in cells if p]
            if any(cells):
                rows.append((layer["layer"], str(n), str(k), *(f"{p.best():.3f}" if p else "" for p in cells)))
        if rows:
            print(f"{model}: geometric mean {geomean(seen):.3f}, faster {share(seen, WIN, True):.1f} %, not slower {share(seen, EVEN, False):.1f} %\n")
            table(("layer", "N", "K", *(f"M = {m}" for m in tokens)), rows)


def report_faults(members, missing, broken):
    faults = [(p.key, p.mode, fault) for p in members for fault in p.faults()]
    if missing:
        print(f"Not measured yet: {len(missing)} problems of the list, {', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}\n")
    if broken:
        print(f"{broken} lines could not be read.\n")
    if faults:
        print("## Wrong or failed\n")
        table(("problem", "mode", "what"), faults)


def write_csv(path, members):
    columns = ("problem", "mode", "floor_us", "band", "family", "own_layout", "own_schedule", "own_us", "library_layout", "library_choice", "library_us",
               "ratio", "low", "high", "nn_ratio", "tn_ratio")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for p in members:
            own, reference = p.best_row("own"), p.best_row(REFERENCE)
            if not own or not reference:
                continue
            nn, tn = (f"{v:.6g}" if math.isfinite(v) else "" for v in (p.ratio("nn"), p.ratio("tn")))
            writer.writerow((p.key, p.mode, p.any()["floor_us"], p.band, family(p), own["layout"], own["choice"], own["device_us"], reference["layout"],
                             reference["choice"], reference["device_us"], own["best_ratio"], own["best_low"], own["best_high"], nn, tn))


def not_measured(path, problems):
    wanted = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        name = re.sub(r"^(\d+)_(\d+)_(\d+)$", r"f16:\1x\2x\3", line.split("#")[0].strip())
        if name and without_layout(name) not in wanted:
            wanted.append(without_layout(name))
    have = {key for key, _ in problems}
    return [name for name in wanted if name not in have]


def main(arguments):
    parser = argparse.ArgumentParser(description="Tables from the rows of gemmsmith eval --rows")
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--list", help="problems that should be there")
    parser.add_argument("--layers", help="CSV of layers: model, layer, n, k")
    parser.add_argument("--csv", help="also write a line per problem")
    parser.add_argument("--worst", type=int, default=10)
    asked = parser.parse_args(arguments)
    problems, comments, broken = read(asked.rows)
    members = {mode: [p for (_, m), p in problems.items() if m == mode] for mode in MODES}
    for machine in dict.fromkeys(c.rsplit(", ", 1)[0] for c in comments if ", gemmsmith " in c):   # without the date
        print(f"{machine}  ")
    print()
    for mode in (mode for mode in MODES if members[mode]):
        how = ", dependent launches" if mode.endswith("+dependent") else ""
        if mode == "predicted":
            report_predicted(members[mode])
        elif mode.startswith("server"):
            report_compared(members[mode], "call time of single requests" + how, asked.worst)
            report_server(members[mode])
        else:
            report_compared(members[mode], "device time" + how, asked.worst)
            report_calls(members[mode])
            if asked.layers:
                report_layers(members[mode], asked.layers)
    report_faults(list(problems.values()), not_measured(asked.list, problems) if asked.list else [], broken)
    if asked.csv:
        write_csv(asked.csv, [p for mode in MODES if mode != "predicted" for p in members[mode]])
    return 0 if problems else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
