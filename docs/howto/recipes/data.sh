#!/bin/sh
# SPDX-License-Identifier: MIT
# The data of all stages, into the folder OUT: data.sh PROBLEMS OUT [STORE...]. With EXAMPLES=yes in the
# environment prompts show what was tried for the problem, fast and slow. Both sides of the split are of the same rule (one size in ten), everywhere.
set -eu
[ $# -ge 2 ] || { echo "usage: data.sh PROBLEMS OUT [STORE...]" >&2; exit 2; }
problems=$1
out=$2
shift 2
stores= examples=
[ "${EXAMPLES:-no}" = no ] || examples=--examples
for store in "$@"; do stores="$stores --store $store"; done
mkdir -p "$out"
for mode in schedule source; do
    gemmsmith export tasks --file "$problems" --modes $mode --split train $examples $stores > "$out/$mode-train.jsonl"
    gemmsmith export tasks --file "$problems" --modes $mode --split held_out $examples $stores > "$out/$mode-held_out.jsonl"
done
gemmsmith export pairs --kinds winners $stores > "$out/winners.jsonl"
gemmsmith export pairs --kinds repairs $stores > "$out/repairs.jsonl"
gemmsmith export pairs --kinds preferences $stores > "$out/preferences.jsonl"
