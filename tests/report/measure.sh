#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/measure_grid.sh on the emulated device: two shares of a list, in pieces, and what stands in its folder afterwards.
# Usage: measure.sh SOURCE BUILD
set -u
source=$1 build=$2
"$build/gemmsmith" info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/gemmsmith-grid.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
unset GEMMSMITH_STORE GEMMSMITH_TUNED GEMMSMITH_DEVICE GEMMSMITH_WORKER
HOME=$work XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data
export HOME XDG_CACHE_HOME XDG_DATA_HOME
cd "$work" || exit 2
failed=0
expect() {   # expect WHAT WANTED GOT
    [ "$2" = "$3" ] && return
    echo "not ok: $1: expected $2, got $3"
    failed=1
}
measure() { sh "$source/scripts/measure_grid.sh" "$build" out list.txt --device emu:h200 --gpus 2 --candidates 1 "$@" > said.txt 2>&1; }

printf '64_64_64\nf16:16x64x64:tn   # a comment\nf16:16x16x64:nn\n' > list.txt
measure --seconds 4
expect "too little time" 75 $?
expect "what it says" 1 "$(grep -c 'more to do' said.txt)"
measure --tune "--families mma"
expect "the whole" 0 $?
expect "rows of the first share" 8 "$(grep -c '^"' out/rows.0.csv)"    # two problems, two layouts, ours and the library that is not there
expect "rows of the second share" 4 "$(grep -c '^"' out/rows.1.csv)"
expect "rows of the table" 6 "$(grep -c '^f16:' out/found.tuned)"
expect "other families" 0 "$(grep -c 'simple' out/found.tuned)"
expect "heads of the table" 1 "$(grep -c '^gemmsmith-tuned' out/found.tuned)"
expect "the report" 1 "$(grep -c '^| all | 3 |' out/report.md)"
expect "nothing is missing" 0 "$(grep -c 'Not measured' out/report.md)"
cp out/rows.0.csv before.csv
measure
expect "again" 0 $?
expect "rows that were there already" "$(grep -c '^"' before.csv)" "$(grep -c '^"' out/rows.0.csv)"
measure --again --layouts tn
expect "anew" 0 $?
expect "rows anew" 4 "$(grep -c '^"' out/rows.again.0.csv)"
echo 'f16:16x16x64:tn simple' > own.txt
measure --own own.txt --layouts tn --eval --again
expect "given schedules" 1 "$(grep -c ',own,simple,' out/rows.0.csv)"
measure --layouts
expect "wrong usage" 2 $?
measure --gpus none
expect "wrong usage" 2 $?
[ $failed = 0 ] && echo "ok"
exit $failed
