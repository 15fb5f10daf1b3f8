#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stage 4, what the proposals are worth where all of them were timed together.

    judge.py TIMES.csv ARM.SEED.csv... [--against imitation] [--at 1,4,8,16] [--alignment 64|8|1] [--rows SHARES.csv]

TIMES: rows "problem,schedule,us" of tools/time_pairs for the proposals of all arms; of several the median counts. ARM.SEED.csv: proposals of propose.py. Prints a table:
the geometric mean over problems of the fastest time over the fastest among the first 1, 4, 8, 16 proposals (the fastest of all that any arm proposed), and the difference to the
arm --against with its 95 % interval (bootstrap over problems, seeds averaged). --rows: rows of tools/replay, for scripts/report_regret.py.
"""
import argparse
import csv
import statistics
from pathlib import Path

from common import geometric, paired, read_times, share, shares
from data import alignment

AT = (1, 4, 8, 16)


def read_proposals(paths):
    """{arm: {seed: {problem: [schedule]}}}"""
    out = {}
    for path in paths:
        arm, _, seed = Path(path).name.removesuffix(".csv").rpartition(".")
        mine = out.setdefault(arm, {}).setdefault(seed, {})
        with open(path, newline="", encoding="utf-8") as file:
            for problem, schedule in csv.reader(file):
                mine.setdefault(problem, []).append(schedule)
    return out


def medians(path):
    return {problem: {one: statistics.median(values) for one, values in times.items()} for problem, times in read_times(path).items()}


def table(arms, times, against, at):
    yield "| arm | seeds | problems | " + " | ".join(f"@{n}" for n in at) + f" | over {against}: " + " | ".join(f"@{n}" for n in at) + " |"
    yield "|---|---|---|" + "---|" * (2 * len(at))
    for arm, seeds in arms.items():
        cells = [arm, str(len(seeds)), ""]
        differences = []
        for n in at:
            each = [shares(mine, times, n) for mine in seeds.values()]
            means = [geometric(one.values()) for one in each]
            cells[2] = str(len(each[0]))
            cells.append(f"{geometric(means):.4f}" + (f" ({min(means):.4f}-{max(means):.4f})" if len(means) > 1 else ""))
            other = [shares(mine, times, n) for mine in arms.get(against, {}).values()]
            found = paired(each, other) if other and arm != against else None
            differences.append("{:+.4f} ({:+.4f} to {:+.4f})".format(*found) if found else "")
        yield "| " + " | ".join(cells + differences) + " |"


def replayed(arms, times):
    """Rows of tools/replay: what ran counts as measured, and all that was proposed as said."""
    for arm, seeds in arms.items():
        for seed, mine in seeds.items():
            for problem, proposed in mine.items():
                known, measured = times.get(problem), 0
                if not known:
                    continue
                for said, one in enumerate(proposed, 1):
                    if one in known:
                        measured += 1
                        yield arm, seed, problem, measured, said, f"{share(proposed, known, min(known.values()), said):.5f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times")
    parser.add_argument("proposals", nargs="+")
    parser.add_argument("--against", default="imitation")
    parser.add_argument("--at", type=lambda text: tuple(map(int, text.split(","))), default=AT, help="numbers of proposals")
    parser.add_argument("--alignment", type=int, choices=(64, 8, 1), help="only problems whose N and K are both multiples of 64, of 8 but not of 64, or anything else")
    parser.add_argument("--rows")
    asked = parser.parse_args()
    arms, times = read_proposals(asked.proposals), medians(asked.times)
    if asked.alignment:
        times = {problem: own for problem, own in times.items() if alignment(problem) == asked.alignment}
        if not times:
            raise SystemExit(f"judge.py: no problem of alignment {asked.alignment} was timed")
    if asked.rows:
        with open(asked.rows, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(("policy", "seed", "problem", "measured", "said", "share"))
            out.writerows(replayed(arms, times))
    print("\n".join(table(arms, times, asked.against, asked.at)))


if __name__ == "__main__":
    main()
