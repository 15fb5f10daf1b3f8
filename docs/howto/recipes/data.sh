#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the data of all stages into the folder OUT: data.sh PROBLEMS OUT [STORE...]. With EXAMPLES=yes in the
# environment prompts show earlier results for the problem, fast and slow. The same rule (one size in ten is held out) splits all files.
set -eu
[ $# -ge 2 ] || { echo "usage: data.sh PROBLEMS OUT [STORE...]" >&2; exit 2; }
problems=$1
out=$2
shift 2
stores= examples=
[ "${EXAMPLES:-no}" = no ] || examples=--examples
for store in "$@"; do stores="$stores --store $store"; done
mkdir -p "$out"
write() {   # write FILE EXPORT'S WORDS...
    echo "$out/$1:" >&2
    file=$1
    shift
    gemmsmith export "$@" > "$out/$file"
}
for mode in schedule source; do
    write $mode-train.jsonl tasks --file "$problems" --modes $mode --split train $examples $stores
    write $mode-held_out.jsonl tasks --file "$problems" --modes $mode --split held_out $examples $stores
done
write winners.jsonl pairs --kinds winners $stores
write repairs.jsonl pairs --kinds repairs $stores
write preferences.jsonl pairs --kinds preferences $stores
