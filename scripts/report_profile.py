#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A table from what scripts/profile.sh kept: how busy each unit was, and what warps waited for.

    report_profile.py OUT/N.csv...

Each file: a line "# PROBLEM SCHEDULE", then ncu's raw page as CSV: names, units, one line per kernel; what else was printed is skipped.
Shares are of what the unit can do in the time that the kernel took. Times under the profiler are longer than the times of record.
"""
import csv
import re
import sys
from pathlib import Path

# legend: heading, the first metric that matches
SHARES = (
    ("tensor", r"sm__pipe_tensor_cycles_active\.avg\.pct_of_peak_sustained_elapsed$"),
    ("SM", r"sm__throughput\.avg\.pct_of_peak_sustained_elapsed$"),
    ("L1, shared", r"l1tex__throughput\.avg\.pct_of_peak_sustained_(elapsed|active)$"),
    ("L2", r"lts__throughput\.avg\.pct_of_peak_sustained_elapsed$"),
    ("memory", r"(gpu__)?dram__?throughput\.avg\.pct_of_peak_sustained_elapsed$"),
)
STALL = re.compile(r"smsp__average_warps?_(?:latency_)?issue_stalled_(\w+?)(?:_per_\w+)?\.ratio$")
SCALE = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6}


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


class Profile:
    """The last kernel of a file."""

    def __init__(self, path):
        lines = Path(path).read_text().splitlines()
        self.problem, self.schedule = lines[0].lstrip("# ").split()
        table = list(csv.reader(line for line in lines[1:] if line.startswith('"')))
        if len(table) < 3 or "Kernel Name" not in table[0]:
            raise ValueError(f"{path}: no kernel was profiled")
        self.units = dict(zip(table[0], table[1]))
        self.values = dict(zip(table[0], table[-1]))

    def first(self, pattern):
        """The value of the first metric of that name, None if there is none."""
        found = (number(self.values[name]) for name in sorted(self.values) if re.match(pattern, name))
        return next((value for value in found if value is not None), None)

    def us(self):
        value = self.first(r"gpu__time_duration\.sum$")
        return None if value is None else value * SCALE[self.units["gpu__time_duration.sum"]]

    def stalls(self):
        """What warps waited for, the most frequent first: (name, share of all waiting and issuing)."""
        kinds = {}
        for name, text in self.values.items():
            match = STALL.match(name)
            if match and number(text) is not None and match.group(1) not in kinds and not match.group(1).endswith("not_issued"):   # part of the others
                kinds[match.group(1)] = number(text)
        total = sum(kinds.values())
        return sorted(((kind, value / total) for kind, value in kinds.items() if value > 0), key=lambda pair: (-pair[1], pair[0])) if total > 0 else []


def cell(value, form):
    return "" if value is None else form.format(value)


def main(paths):
    print("| problem | schedule | us, profiled | " + " | ".join(f"{heading}, %" for heading, _ in SHARES) + " | registers | warps wait for |")
    print("|---" * (len(SHARES) + 5) + "|")
    for path in sorted(paths, key=lambda text: int(re.sub(r"\D", "", Path(text).stem) or 0)):
        profile = Profile(path)
        stalls = ", ".join(f"{kind.replace('_', ' ')} {share:.0%}" for kind, share in profile.stalls()[:3])
        shares = " | ".join(cell(profile.first(pattern), "{:.0f}") for _, pattern in SHARES)
        print(f"| {profile.problem} | {profile.schedule} | {cell(profile.us(), '{:.2f}')} | {shares} | "
              f"{cell(profile.first(r'launch__registers_per_thread$'), '{:.0f}')} | {stalls} |")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1:])
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"report_profile.py: {error}")
