#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What dependent launches bring, by bands of the work: rows of `gemmsmith eval --contenders own@plain,own@dependent,cublaslt-autotuning --rows ROWS`.

    report_chains.py ROWS.csv[.gz] [--chosen TABLE]
    report_chains.py ROWS.csv[.gz] --every [--weights N,N,N,N,N,N] [--calls]

Markdown on standard output: our faster layout against the library's faster layout, geometric means; a problem that was not measured in all its layouts is left out.
--chosen: a tuned table of other runs. Then there is a third way, that of plans in a chain: launches are dependent where the table's ratio of dependent launches is above that of plain
ones. Of the problems alone that have dependent rows there for each layout that has a kernel of ours.
--every: also problems without a kernel of ours, which count as 1, and those that were not launched dependently, whose plain launches count; and a third way, the faster launch of each
layout. --weights: how many problems of each band there are; a last line has the mean over these.
--calls: the time of calls that the host issues back to back (rows of eval --call-time yes), in place of the device's.
"""
import argparse
import collections
import csv
import gzip
import math
import sys

from report_grid import BANDS, geomean

LIBRARY, SLOWER = "cublaslt-autotuning", 0.98


def opened(path):
    return gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")


def read_rows(path, column="device_us"):
    """{problem without its layout: {layout: {contender: us}}} and {problem: band}; contenders: plain, dependent, the library."""
    times, bands = collections.defaultdict(lambda: collections.defaultdict(dict)), {}
    with opened(path) as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            problem = row["problem"].replace(":" + row["layout"], "", 1)
            name = row["contender"].rpartition("@")[2] or row["contender"]
            if row[column]:
                times[problem][row["layout"]][name] = float(row[column])
            bands[problem] = int(row["band"])
    return times, bands


def read_table(path):
    """{(problem, layout): {"plain": ratio, "dependent": ratio}}"""
    ratios = collections.defaultdict(dict)
    with opened(path) as file:
        for line in file:
            fields = line.split()
            if len(fields) == 14 and not line.startswith("#"):
                kind, place, layout, *rest = fields[0].split(":")
                ratios[":".join([kind, place, *rest]), layout]["dependent" if "+dependent" in fields[13] else "plain"] = float(fields[4])
    return ratios


def way_of(own, ratios):
    """What a plan's launches take in a chain."""
    return own["dependent"] if ratios.get("dependent", 0) > ratios.get("plain", math.inf) else own["plain"]


WAYS = {
    "plain": lambda us, ratios: us["plain"],
    "dependent": lambda us, ratios: us.get("dependent", us["plain"]),
    "chosen": way_of,
    "faster": lambda us, ratios: min(us["plain"], us.get("dependent", math.inf)),
}


def gains(times, bands, table, every=False):
    """{way: {band: [the library's time over ours]}}; table: None, or what --chosen names; every: as --every."""
    out = {way: collections.defaultdict(list) for way in ("plain", "dependent") + (() if table is None else ("chosen",)) + (("faster",) if every else ())}
    needed = {"plain"} if every else {"plain", "dependent"}
    for problem, layouts in times.items():
        own = {layout: us for layout, us in layouts.items() if needed <= us.keys()}
        if not (own or every) or not all(LIBRARY in us for us in layouts.values()) or len(layouts) < 2:
            continue
        if table is not None and not all("dependent" in table.get((problem, layout), {}) for layout in own):
            continue
        library = min(us[LIBRARY] for us in layouts.values())
        for way, lists in out.items():
            best = min([WAYS[way](us, table.get((problem, layout), {}) if table else {}) for layout, us in own.items()], default=library)
            lists[bands[problem]].append(library / best)
    return out


def weighted(lists, counts):
    """The geometric mean over so many problems of each band, each like the mean of those that were measured."""
    return math.exp(sum(count * math.log(geomean(lists[band])) for band, count in enumerate(counts) if count) / sum(counts))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("--chosen", metavar="TABLE")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--weights", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--calls", action="store_true")
    asked = parser.parse_args(arguments)
    times, bands = read_rows(asked.rows, "call_us" if asked.calls else "device_us")
    found = gains(times, bands, read_table(asked.chosen) if asked.chosen else None, asked.every)
    if not any(found["plain"].values()):
        raise SystemExit(f"report_chains.py: {asked.rows}: no problem with own@plain, own@dependent and {LIBRARY} in two layouts")
    print("| work, us | problems | " + " | ".join(found) + f" | under {SLOWER} |\n" + "|---" * (3 + len(found)) + "|")
    for band in [*range(len(BANDS)), None]:
        lists = [[one for at, several in of.items() if band in (at, None) for one in several] for of in found.values()]
        if lists[0]:
            print(f"| {'all' if band is None else BANDS[band]} | {len(lists[0])} | " + " | ".join(f"{geomean(one):.3f}" for one in lists) + " | "
                  + ", ".join(str(sum(ratio < SLOWER for ratio in one)) for one in lists) + " |")
    if asked.weights:
        print(f"| by weight | {sum(asked.weights)} | " + " | ".join(f"{weighted(of, asked.weights):.3f}" for of in found.values()) + " | |")


if __name__ == "__main__":
    sys.exit(main())
