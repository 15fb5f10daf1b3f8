#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ways of searching find with so many measured schedules: a table from rows of tools/replay or tools/time_arms, and curves for `gemmsmith db curves`.

    report_regret.py CURVE.csv... [--against NAME] [--only CLASS] [--curves FILE]

Rows are "policy,seed,problem,measured,said,share". The table has the geometric mean of share over problems, the mean over seeds and, in brackets, the
lowest and the highest seed. A problem that ended early (everything measured was found) keeps its last share.

    --against NAME   a second table: how much faster or slower the others' finds are than NAME's, over the problems that both have (the mean over the seeds of
                     each), in percent, with the interval of 95 % of a paired bootstrap over problems
    --only CLASS     only problems whose N and K are multiples of 64, or of 8 but not both of 64, or anything else: 64, 8, any
"""
import argparse
import collections
import csv
import gzip
import math
import random
import re
import sys

AT = (1, 4, 8, 12, 16, 24)
DRAWS = 2000


def class_of(problem):
    n, k = map(int, re.match(r"\w+:\d+x(\d+)x(\d+):", problem).groups())
    return next((name for name, unit in (("64", 64), ("8", 8)) if n % unit == k % unit == 0), "any")


def read(paths, only=None):
    shares = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(dict)))
    for path in paths:
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if not only or class_of(row["problem"]) == only:
                    shares[row["policy"]][row["seed"]][row["problem"]][int(row["measured"])] = float(row["share"])
    return shares


def share_at(curve, measured):
    known = [n for n in curve if n <= measured]
    return curve[max(known)] if known else None


def mean(problems, measured):
    logs = [math.log(s) for s in (share_at(curve, measured) for curve in problems.values()) if s]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def logs_of(seeds, measured):
    """{problem: mean over seeds of the logarithm of the share}"""
    found = collections.defaultdict(list)
    for problems in seeds.values():
        for problem, curve in problems.items():
            if share_at(curve, measured):
                found[problem].append(math.log(share_at(curve, measured)))
    return {problem: sum(logs) / len(logs) for problem, logs in found.items()}


def paired(one, other, measured):
    """(percent, low, high, problems): how much faster `one` is than `other`."""
    left, right = logs_of(one, measured), logs_of(other, measured)
    gains = [left[problem] - right[problem] for problem in sorted(left.keys() & right.keys())]
    if not gains:
        return None
    source, count = random.Random(1), len(gains)
    means = sorted(sum(source.choices(gains, k=count)) / count for _ in range(DRAWS))
    return (*(100 * math.expm1(x) for x in (sum(gains) / count, means[round(0.025 * DRAWS)], means[round(0.975 * DRAWS) - 1])), count)


def print_table(shares):
    print("| policy | problems | seeds | " + " | ".join(str(n) for n in AT) + " |")
    print("|---|---|---|" + "---|" * len(AT))
    for policy, seeds in sorted(shares.items(), key=lambda item: -mean(next(iter(item[1].values())), 8)):
        cells = []
        for n in AT:
            each = [mean(problems, n) for problems in seeds.values()]
            middle = math.exp(sum(map(math.log, each)) / len(each))
            cells.append(f"{middle:.4f}" + (f" ({min(each):.4f}-{max(each):.4f})" if max(each) - min(each) > 5e-5 else ""))
        print(f"| {policy} | {len(next(iter(seeds.values())))} | {len(seeds)} | " + " | ".join(cells) + " |")


def print_against(shares, name):
    print(f"\n| % faster than {name} | problems | " + " | ".join(str(n) for n in AT) + " |")
    print("|---|---|" + "---|" * len(AT))
    for policy, seeds in shares.items():
        if policy != name:
            found = [paired(seeds, shares[name], n) for n in AT]
            cells = [f"{each[0]:+.2f} ({each[1]:+.2f} to {each[2]:+.2f})" if each else "" for each in found]
            print(f"| {policy} | {max((each[3] for each in found if each), default=0)} | " + " | ".join(cells) + " |")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", metavar="CURVE.csv")
    parser.add_argument("--against", metavar="NAME")
    parser.add_argument("--only", choices=("64", "8", "any"))
    parser.add_argument("--curves", metavar="FILE")
    asked = parser.parse_args(arguments)
    shares = read(asked.rows, asked.only)
    if asked.against and asked.against not in shares:
        print(f"report_regret.py: no rows of {asked.against}: {', '.join(sorted(shares))}", file=sys.stderr)
        return 1
    print_table(shares)
    if asked.against:
        print_against(shares, asked.against)
    if asked.curves:
        with open(asked.curves, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["series", "name", "x", "y"])
            for policy, seeds in sorted(shares.items()):
                for seed, problems in seeds.items():
                    for n in range(1, max(AT) + 1):
                        if not math.isnan(mean(problems, n)):
                            out.writerow([f"regret/{policy}/{seed}", "mean", n, f"{mean(problems, n):.5f}"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
