#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows for gemmsmith train, on standard output, of what gemmsmith tune --json printed (FILE..., one that ends in .gz is read as such): of each problem the
best own schedule with its time, and cuBLASLt's time beside it as that of cublaslt/1. Problems without both are left out.

    list_rows.py FILE... > rows.csv
    gemmsmith train my.weights rows.csv
"""
import sys

from report_search import rows_of


def main(files):
    if not files:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    group = 0
    print("group,problem,schedule,us")
    try:
        for path in files:
            for row in rows_of(path):
                problem, library, ratio = row.text("problem"), row.figure("cublaslt_us"), row.figure("best_own_ratio")
                if not row.values.get("best_own") or not library or not ratio or not row.figure("us"):
                    continue
                group += 1
                print(f"{group},{problem},{row.text('best_own')},{library / ratio:g}\n{group},{problem},cublaslt/1,{library:g}")
    except (OSError, ValueError) as error:
        print(f"list_rows.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
