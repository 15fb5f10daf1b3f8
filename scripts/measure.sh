#!/bin/sh
# SPDX-License-Identifier: MIT
# Tunes and evaluates a file of problems, in both layouts, offline and server, and keeps every raw row.
# Usage: measure.sh PROBLEMS OUT [BUILD]. OUT gets tune.jsonl, NAME.tuned, offline.jsonl, offline.csv, server.jsonl, server.csv and the tables.
set -eu
problems=$1 out=$2 build=${3:-build/release}
[ ! -r build/deps/env ] || . build/deps/env
program=$build/gemmsmith
mkdir -p "$out"
export GEMMSMITH_STORE="$out/store.db" GEMMSMITH_TUNED="$out/found.tuned"
"$program" info > "$out/info.txt"
nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm,clocks.mem --format=csv >> "$out/info.txt"
"$program" tune --file "$problems" --layouts nn,tn --tuned "$GEMMSMITH_TUNED" --json > "$out/tune.jsonl"
"$program" eval --file "$problems" --mode offline --csv "$out/offline.csv" --json ${TORCH:+--torch} > "$out/offline.jsonl"
"$program" eval --file "$problems" --mode offline ${TORCH:+--torch} > "$out/offline.txt"
"$program" eval --file "$problems" --mode server --csv "$out/server.csv" --json > "$out/server.jsonl"
"$program" eval --file "$problems" --mode server > "$out/server.txt"
