#!/bin/sh
# SPDX-License-Identifier: MIT
# Tunes and evaluates a file of problems, in both layouts, offline and server, and keeps every raw row.
# Usage: measure.sh PROBLEMS OUT [BUILD]. OUT gets tune.jsonl, found.tuned, and rows, results and tables of three evaluations:
# offline and server of what the library chooses, and own of the fastest own kernels, also where the library chose cuBLASLt.
set -eu
[ $# -ge 2 ] || { echo "usage: measure.sh PROBLEMS OUT [BUILD]" >&2; exit 2; }
command -v nvidia-smi > /dev/null || {
    echo "measure.sh: needs an NVIDIA GPU, but there is no nvidia-smi; without one gemmsmith tune and eval work on an emulated device" >&2
    exit 3
}
problems=$1 out=$2 build=${3:-build/release}
[ ! -r build/deps/env ] || . build/deps/env
program=$build/gemmsmith
mkdir -p "$out"
export GEMMSMITH_STORE="$out/store.db" GEMMSMITH_TUNED="$out/found.tuned"
"$program" info | grep -Ev '^(store|cache|tuned) ' > "$out/info.txt"   # without the user's paths
nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm,clocks.mem --format=csv >> "$out/info.txt"
"$program" tune --file "$problems" --layouts nn,tn --tuned "$GEMMSMITH_TUNED" --json > "$out/tune.jsonl"
"$program" eval --file "$problems" --mode offline --csv "$out/offline.csv" --json ${TORCH:+--torch} > "$out/offline.jsonl"
"$program" eval --file "$problems" --mode offline ${TORCH:+--torch} > "$out/offline.txt"
"$program" eval --file "$problems" --mode server --csv "$out/server.csv" --json > "$out/server.jsonl"
"$program" eval --file "$problems" --mode server > "$out/server.txt"

: > "$out/own.txt"
: > "$out/own.jsonl"
python3 -c '
import json, sys
best = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    best.setdefault(row["problem"].rsplit(":", 1)[0], []).append(row["best_own"])
for problem, schedules in best.items():
    print(problem, ",".join(dict.fromkeys(s for s in schedules if s)))' "$out/tune.jsonl" > "$out/own.list"
while read -r problem schedules; do
    "$program" eval "$problem:nn" --contenders "cublaslt-autotuning,$schedules" --csv "$out/own.csv.part" >> "$out/own.txt" < /dev/null
    "$program" eval "$problem:nn" --contenders "cublaslt-autotuning,$schedules" --json >> "$out/own.jsonl" < /dev/null   # from the store
    if [ -s "$out/own.csv" ]; then tail -n +2 "$out/own.csv.part"; else cat "$out/own.csv.part"; fi >> "$out/own.csv"   # one header
done < "$out/own.list"
rm -f "$out/own.csv.part" "$out/own.list"
