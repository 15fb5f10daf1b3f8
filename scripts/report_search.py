#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables from what searches and scores printed: Markdown on standard output. A file that ends in .gz is read as such.

    report_search.py tune FILE...            of gemmsmith tune --json, a row per file: ours against the library, and what the time went into
    report_search.py scores FILE...          of gemmsmith score --json: mean and deviation of what each candidate got
    report_search.py written FILE            of the same with the keys run and file, of kernels beside schedules for the same problem
        --first N                            only the N that gain most over the schedules, and what the others lie between
        --table TABLE                        and what the row of a tuned table took, in another run
    report_search.py wide FILE               rows problem,schedule,us,said_by: choices of several searches, timed together
        --of NAME                            the one that the others are set against; default 160
    report_search.py rows TRUTH TABLE        rows problem,schedule,us of all that was measured of a problem, and a tuned table: what a row that stands for the
                                             problem is worth, its own, that of the other input type, or the nearest with other extents
    report_search.py sizes FILE              rows of gemmsmith eval: ours against the library by what N and K are multiples of, in each layout and best of both
    report_search.py taken FILE              rows of gemmsmith eval with the contenders plan, cublaslt-heuristic and cublaslt-autotuning: where a plan took its own
                                             kernel, and where it took a suggestion of cuBLASLt, beside the first suggestion there

A ratio is the library's time over ours, a mean over problems the geometric one. "Best of each" sets our faster layout against the library's, for the sizes that
have both. A problem that was searched again counts with its last line.
"""
import argparse
import csv
import dataclasses
import gzip
import json
import math
import re
import signal
import statistics
import sys
import zlib
from pathlib import Path

from list_problems import read_problem
from report_grid import EVEN, geomean, table, without_layout

SPENT = ("compile", "race", "verify", "confirm")
MOST = 1e30   # of any figure


# ---- reading ----

CUBLASLT = ("cublaslt", "library")   # the choice of cuBLASLt, and its name in files of older versions
OLD_FAMILIES = {"sliced": "slicek", "wave": "splitk", "dot": "gemv"}


def family_now(schedule):
    """The schedule string with the name that its family has now: rows that were kept earlier have the old ones."""
    family, slash, rest = schedule.partition("/")
    return OLD_FAMILIES.get(family, family) + slash + rest


def lines_of(path):
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
            yield from file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: {error}") from None


class Row:
    """What a line has under its keys; ValueError where that is not of its kind."""

    def __init__(self, values, where):
        self.values, self.where = values, where

    def text(self, key):
        value = self.values.get(key)
        if not isinstance(value, str):
            raise ValueError(f"{self.where}: {key} is missing")
        return value

    def figure(self, key, least=0):
        """A number, not under 0 unless said otherwise; None where the line has none. A time or a ratio of 0 says that there is none, too."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= MOST:
            raise ValueError(f"{self.where}: {key} is {value!r}")
        return value

    def needed(self, key):
        value = self.figure(key)
        if not value:
            raise ValueError(f"{self.where}: {key} is missing")
        return value


def rows_of(path, parse=json.loads):
    """At least one; ValueError names the line that is none."""
    count = 0
    for number, line in enumerate(lines_of(path), 1):
        where = f"{path} line {number}"
        if line.strip():
            try:
                values = parse(line)
            except (ValueError, csv.Error, RecursionError):
                values = None
            if not isinstance(values, dict):
                raise ValueError(f"{where} cannot be read")
            if "library_us" in values:   # the name of cublaslt_us in files of older versions
                values.setdefault("cublaslt_us", values["library_us"])
            yield Row(values, where)
            count += 1
    if count == 0:
        raise ValueError(f"{path} has no rows")


# ---- what searches found ----

def cell(value, form):
    return "" if value is None else format(value, form)


def mean_of(ratios):
    return f"{geomean(ratios):.3f}" if ratios else ""


def best_of_both(rows):
    """The library's least time over ours, for a size in both layouts; our time is the library's over the ratio, which is of paired rounds."""
    cublaslt = [us for us in (row.figure("cublaslt_us") for row in rows) if us]
    own = [row.needed("cublaslt_us") / ratio for row, ratio in ((row, row.figure("best_own_ratio")) for row in rows) if ratio]
    return min(cublaslt) / min(own) if len(cublaslt) == 2 and own else None


def search(path):
    problems, sizes, spent = {}, {}, dict.fromkeys(SPENT, 0)
    for row in rows_of(path):
        problem = row.text("problem")
        problems[problem] = row
        sizes.setdefault(without_layout(problem), {})[problem] = row
        costs = row.values.get("spent")
        for key in SPENT if isinstance(costs, dict) else ():
            spent[key] += Row(costs, row.where).figure(key) or 0
    own = [ratio for ratio in (row.figure("best_own_ratio") for row in problems.values()) if ratio]
    both = [ratio for ratio in (best_of_both(list(rows.values())) for rows in sizes.values()) if ratio]
    chosen = sum(str(row.values.get("choice")).split("/")[0] in CUBLASLT for row in problems.values())
    count = str(len(own)) if len(own) == len(problems) else f"{len(own)} of {len(problems)}"
    slower = sum(ratio < EVEN for ratio in own)
    return (re.sub(r"\.jsonl(\.gz)?$", "", Path(path).name), count, mean_of(own), str(len(both)), mean_of(both), str(slower), str(chosen),
            *(f"{spent[key]:.0f}" for key in SPENT))


def report_tune(asked):
    table(("rows", "problems", "over the library, same layout", "sizes in both layouts", "best of each", f"ours slower than {EVEN}",
           "the library chosen", *(f"{key}, s" for key in SPENT)), [search(path) for path in asked.files])


# ---- what candidates got ----

def report_scores(asked):
    scored = {}
    for path in asked.files:
        for row in rows_of(path):
            if "evaluations" not in row.values:   # its own sums
                scored.setdefault((row.text("problem"), row.text("candidate")), []).append(row)
    if not scored:
        raise ValueError(f"{', '.join(asked.files)}: no candidate was evaluated")
    rows = []
    for (problem, candidate), each in scored.items():
        passed = [row for row in each if row.figure("us")]
        cells = []
        for values in ([row.figure("ratio") for row in passed], [row.figure("reward", -MOST) for row in passed]):
            values = [value for value in values if value is not None]
            cells += [cell(statistics.fmean(values) if values else None, ".4f"), cell(statistics.stdev(values) if len(values) > 1 else None, ".4f")]
        rows.append((problem, candidate, f"{len(passed)} of {len(each)}", *cells))
    table(("problem", "candidate", "passed", "ratio, mean", "deviation", "reward, mean", "deviation"), rows)


class Written:
    """A kernel that was evaluated in one run, beside the best of the schedules for its problem there."""

    def __init__(self, kernel, schedules):
        self.problem, self.candidate, self.verdict = kernel.text("problem"), kernel.text("candidate"), kernel.text("verdict")
        self.us, self.ratio = (kernel.figure(key) if self.verdict == "pass" else None for key in ("us", "ratio"))
        self.own = min((row.needed("us") for row in schedules if row.text("verdict") == "pass"), default=None)
        self.gain = self.own / self.us if self.own and self.us else None


def written(path):
    """Of each file its evaluations, the latest first."""
    of_files, schedules = {}, {}
    for row in rows_of(path):
        run = row.needed("run")
        if row.text("candidate").startswith("source:"):
            of_files.setdefault(row.text("file"), []).append((run, row))
        else:
            schedules.setdefault((run, row.text("problem")), []).append(row)
    kernels = {}
    for file, rows in of_files.items():
        rows.sort(key=lambda one: one[0])
        kernels[file] = [Written(row, schedules.get((run, row.text("problem")), [])) for run, row in reversed(rows)]
    if not kernels:
        raise ValueError(f"{path}: no kernel was evaluated")
    return kernels


def report_written(asked):
    kernels, found = written(asked.file), tuned_rows(asked.table) if asked.table else None
    every = [one for each in kernels.values() for one in each]
    passed = sum(one.verdict == "pass" for one in every)
    print(f"{len(kernels)} kernels, {len(every)} evaluations, {passed} passed. In brackets: the previous evaluation of the same kernel.\n")
    rows = []
    order = sorted(kernels.items(), key=lambda item: -(item[1][0].gain or 0))
    for file, (last, *earlier) in order[:asked.first]:
        before = earlier[0] if earlier and earlier[0].candidate == last.candidate else None
        figures = [with_earlier(last, before, name, form) for name, form in (("us", ".2f"), ("ratio", ".3f"), ("own", ".2f"), ("gain", ".3f"))]
        row = [] if found is None else [cell(found.get(read_problem(last.problem), (None, None))[1], ".2f")]
        rows.append((re.sub(r"\.md$", "", file), last.problem, figures[0] or last.verdict, *figures[1:], *row))
    rest = [one for _, each in order[len(rows):] for one in each]
    if rest:
        rows.append((f"the other {len(order) - len(rows)}", "", "", between([one.ratio for one in rest]), "", between([one.gain for one in rest]), *([] if found is None else [""])))
    table(("kernel", "problem", "us", "over cuBLASLt", "our best schedule, us", "over that", *([] if found is None else ["the table's row, us"])), rows)


def with_earlier(last, before, name, form):
    text, earlier = cell(getattr(last, name), form), cell(getattr(before, name, None), form)
    return f"{text} ({earlier})" if text and earlier else text


def between(values):
    values = [value for value in values if value is not None]
    return f"{min(values):.2f} to {max(values):.2f}" if values else ""


def comma_rows(path):
    """Of a file whose first line names the columns; us is a number."""
    columns = None

    def parse(line):
        cells = next(csv.reader([line]))
        if columns and len(cells) != len(columns):
            raise ValueError
        return dict(zip(columns or cells, cells))
    for row in rows_of(path, parse):
        if columns is None:
            columns = list(row.values)
            continue
        try:
            row.values["us"] = float(row.text("us"))
        except ValueError:
            raise ValueError(f"{row.where}: no time") from None
        yield row


# ---- choices of several searches ----

def report_wide(asked):
    said = {}
    for row in comma_rows(asked.file):
        for name in row.text("said_by").split("+"):
            said.setdefault(name, {})[row.text("problem")] = (row.needed("us"), row.text("schedule"))
    if asked.of not in said:
        raise ValueError(f"{asked.file}: nothing was said by {asked.of}")
    rows = []
    for name, choices in said.items():
        pairs = [(said[asked.of][problem], choice) for problem, choice in choices.items() if problem in said[asked.of]]
        if name != asked.of and pairs:
            ratios = [wide[0] / own[0] for wide, own in pairs]
            alike = sum(wide == own for wide, own in pairs)
            rows.append((name, str(len(pairs)), f"{geomean(ratios):.4f}", f"{min(ratios):.3f}", f"{max(ratios):.3f}", str(alike)))
    table(("choice of", "problems", f"time of {asked.of}'s over its own, geometric mean", "lowest", "highest", "the same choice"), rows)


# ---- rows that stand for a problem ----

FAR = 3   # MAX_DISTANCE of src/table/table.c


def tuned_rows(path):
    """Schedules and their times by problem; what the library won is none."""
    found = {}
    for number, line in enumerate(lines_of(path)):
        words = line.split()
        if number == 0 and words != ["gemmsmith-tuned", "1"]:
            raise ValueError(f"{path}: no tuned table")
        if len(words) > 1 and not words[0].startswith("#") and number > 0 and words[1].split("/")[0] not in CUBLASLT:
            try:
                problem = read_problem(words[0])
                found[problem] = words[1], float(words[2])
            except (ValueError, IndexError) as error:
                raise ValueError(f"{path} line {number + 1}: {error}") from None
    return found


def distance(a, b):
    """Of two problems that differ in their extents alone; else None."""
    if dataclasses.replace(a, m=b.m, n=b.n, k=b.k) != b or a == b or 0 in (a.m, a.n, a.k, b.m, b.n, b.k):
        return None
    far = sum(abs(math.log2(one / other)) for one, other in ((a.m, b.m), (a.n, b.n), (a.k, b.k)))
    return far if far <= FAR else None


def twin(problem):
    """As gs_table_twin."""
    if problem.acc != "f32":
        return None
    other = "bf16" if problem.type == "f16" else "f16"
    return dataclasses.replace(problem, type=other, out=other if problem.out == problem.type else problem.out)


def report_rows(asked):
    truth, found = {}, {problem: family_now(schedule) for problem, (schedule, _) in tuned_rows(asked.table).items()}
    for row in comma_rows(asked.truth):
        truth.setdefault(read_problem(row.text("problem")), {})[family_now(row.text("schedule"))] = row.needed("us")

    def nearest(problem):
        near = [(far, schedule) for far, schedule in ((distance(problem, other), schedule) for other, schedule in found.items()) if far is not None]
        return min(near, key=lambda one: one[0])[1] if near else None
    ways = (("its own", found.get), ("the other input type's", lambda problem: found.get(twin(problem))), ("the nearest with other extents", nearest))
    rows = []
    for name, way in ways:
        stands = [(pool, way(problem)) for problem, pool in truth.items()]
        stands = [(pool, schedule) for pool, schedule in stands if schedule]
        shares = [min(pool.values()) / pool[schedule] for pool, schedule in stands if schedule in pool]
        rows.append((name, str(len(stands)), str(len(shares)), f"{geomean(shares):.4f}" if shares else "", f"{min(shares):.3f}" if shares else ""))
    table(("row", "problems that have one", "its schedule measured", "share of the fastest, geometric mean", "lowest"), rows)


# ---- sizes by alignment ----

CLASSES = ((64, "multiples of 64"), (8, "multiples of 8"), (1, "anything"))
FAST_ENOUGH = 0.98


def class_of(problem):
    return next(name for unit, name in CLASSES if problem.n % unit == 0 and problem.k % unit == 0)


def report_sizes(asked):
    rows = list(csv.DictReader(line for line in lines_of(asked.file) if not line.startswith("#")))
    ratios, least = {}, {}   # least: by size, the times of another contender than ours and of cuBLASLt in the better layout: only ours has that ratio in the rows
    for number, row in enumerate(rows, 1):
        try:
            if row["contender"] not in (asked.contender, "cublaslt-autotuning"):
                continue
            kind = class_of(read_problem(row["problem"]))
            if row["contender"] == asked.contender and row["ratio"]:
                ratios.setdefault((kind, row["layout"]), []).append(float(row["ratio"]))
            if asked.contender != "own" and row["verified"] == "ok":
                pair = least.setdefault((kind, row["problem"].rsplit(":", 1)[0]), {})
                pair[row["contender"]] = min(float(row["device_us"]), pair.get(row["contender"], float("inf")))
            if row["contender"] == "own" == asked.contender and row["is_best"] == "1" and row["best_ratio"]:
                ratios.setdefault((kind, "best of both"), []).append(float(row["best_ratio"]))
        except (KeyError, ValueError):
            raise ValueError(f"{asked.file}: row {number} cannot be read") from None
    if not ratios:
        raise ValueError(f"{asked.file} has no rows of {asked.contender}")
    for (kind, _), pair in least.items():
        if len(pair) == 2:
            ratios.setdefault((kind, "best of both"), []).append(pair["cublaslt-autotuning"] / pair[asked.contender])
    table(("N and K", "layout", "problems", "times as fast as cuBLASLt", f"not slower than {FAST_ENOUGH}", "worst"),
          [(kind, layout, str(len(some)), f"{geomean(some):.3f}", f"{100 * sum(ratio >= FAST_ENOUGH for ratio in some) / len(some):.0f} %", f"{min(some):.3f}")
           for _, kind in CLASSES for layout in ("nn", "tn", "best of both") if (some := ratios.get((kind, layout)))])


def report_taken(asked):
    problems = {}
    for number, row in enumerate(csv.DictReader(line for line in lines_of(asked.file) if not line.startswith("#")), 1):
        try:
            if row["verified"] == "ok":
                took = "cuBLASLt" if "cuBLASLt" in row["algorithm"].removeprefix("no table entry: ")[:9] else "an own kernel"
                problems.setdefault((row["problem"], row["layout"]), {})[row["contender"]] = (float(row["device_us"]), took)
        except (KeyError, ValueError):
            raise ValueError(f"{asked.file}: row {number} cannot be read") from None
    taken = {}
    for known in problems.values():
        if {"own", "cublaslt-heuristic", "cublaslt-autotuning"} <= known.keys():
            (us, took), (first, _), (best, _) = known["own"], known["cublaslt-heuristic"], known["cublaslt-autotuning"]
            for what in (took, "both"):
                taken.setdefault(what, []).append((best / us, best / first))
    if not taken:
        raise ValueError(f"{asked.file} has no problem with all three")
    table(("the plan took", "problems", "times as fast as cuBLASLt", f"not slower than {FAST_ENOUGH}", "worst", "cuBLASLt's first suggestion there", f"not slower than {FAST_ENOUGH}"),
          [(what, str(len(some)), *(text for which in (0, 1) for text in
            (f"{geomean([one[which] for one in some]):.3f}", f"{100 * sum(one[which] >= FAST_ENOUGH for one in some) / len(some):.0f} %",
             *((f"{min(some)[0]:.3f}",) if which == 0 else ())))) for what in ("an own kernel", "cuBLASLt", "both") if (some := taken.get(what))])


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True, metavar="tune | scores | written | wide | rows | sizes | taken")
    for name, report in (("tune", report_tune), ("scores", report_scores)):
        kind = kinds.add_parser(name)
        kind.add_argument("files", nargs="+")
        kind.set_defaults(report=report)
    kind = kinds.add_parser("written")
    kind.add_argument("file")
    kind.add_argument("--first", type=int)
    kind.add_argument("--table")
    kind.set_defaults(report=report_written)
    kind = kinds.add_parser("wide")
    kind.add_argument("file")
    kind.add_argument("--of", default="160")
    kind.set_defaults(report=report_wide)
    kind = kinds.add_parser("rows")
    kind.add_argument("truth")
    kind.add_argument("table")
    kind.set_defaults(report=report_rows)
    kind = kinds.add_parser("sizes")
    kind.add_argument("file")
    kind.add_argument("--contender", default="own")
    kind.set_defaults(report=report_sizes)
    kind = kinds.add_parser("taken")
    kind.add_argument("file")
    kind.set_defaults(report=report_taken)
    asked = parser.parse_args(arguments)
    try:
        asked.report(asked)
    except (OSError, ValueError) as error:
        print(f"report_search.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)   # whoever reads may have enough before the end
    sys.exit(main(sys.argv[1:]))
