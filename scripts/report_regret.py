#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What policies find with so many measured schedules: a table from rows of tools/replay, and curves for `gemmsmith db curves`.

    report_regret.py CURVE.csv... [--curves FILE]

Rows are "policy,seed,problem,measured,said,share". The table has the geometric mean of share over problems, the mean over seeds and, in brackets, the
lowest and the highest seed. A problem that ended early (everything measured was found) keeps its last share.
"""
import collections
import csv
import math
import sys

AT = (1, 4, 8, 12, 16, 24)


def read(paths):
    shares = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(dict)))
    for path in paths:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                shares[row["policy"]][row["seed"]][row["problem"]][int(row["measured"])] = float(row["share"])
    return shares


def share_at(curve, measured):
    known = [n for n in curve if n <= measured]
    return curve[max(known)] if known else None


def mean(problems, measured):
    logs = [math.log(s) for s in (share_at(curve, measured) for curve in problems.values()) if s]
    return math.exp(sum(logs) / len(logs))


def main():
    arguments, curves = sys.argv[1:], None
    if "--curves" in arguments:
        at = arguments.index("--curves")
        curves = arguments[at + 1]
        del arguments[at:at + 2]
    if not arguments:
        sys.exit(__doc__.strip())
    shares = read(arguments)
    print("| policy | problems | seeds | " + " | ".join(str(n) for n in AT) + " |")
    print("|---|---|---|" + "---|" * len(AT))
    for policy, seeds in sorted(shares.items(), key=lambda item: -mean(next(iter(item[1].values())), 8)):
        cells = []
        for n in AT:
            each = [mean(problems, n) for problems in seeds.values()]
            middle = math.exp(sum(map(math.log, each)) / len(each))
            cells.append(f"{middle:.4f}" + (f" ({min(each):.4f}-{max(each):.4f})" if max(each) - min(each) > 5e-5 else ""))
        print(f"| {policy} | {len(next(iter(seeds.values())))} | {len(seeds)} | " + " | ".join(cells) + " |")
    if curves:
        with open(curves, "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["series", "name", "x", "y"])
            for policy, seeds in sorted(shares.items()):
                for seed, problems in seeds.items():
                    for n in range(1, max(AT) + 1):
                        out.writerow([f"regret/{policy}/{seed}", "mean", n, f"{mean(problems, n):.5f}"])


main()
