#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/measure_grid.sh on the emulated device: two shares of a list, in pieces, with and without --refine, and what stands in its
# folder afterwards.
# Usage: measure.sh SOURCE BUILD
set -u
source=$1 build=$2
"$build/gemmsmith" info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
. "$source/tests/scripts/folder.sh"
out=out
measure() { sh "$source/scripts/measure_grid.sh" "$build" $out list.txt --device emu:h200 --gpus 2 --candidates 1 "$@" > said.txt 2>&1; }

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
out=finer
measured() { sed 's/.*"measured":\([0-9]*\).*/\1/' "finer/tune.$1.jsonl" | paste -s -d ' ' -; }   # of each problem, in the order of the log
knows() { "$build/gemmsmith" db show "$2" --store "finer/store.$1.db" --gpu emu-h200 --json | grep -c '^{'; }
measure --refine 2000000
expect "so many are refused" 2 $?
expect "nothing was refined" 0 "$(ls finer | grep -c '^refined$')"
expect "so nothing is confirmed" 0 "$(ls finer | grep -c '^rows')"
measure --refine 4
expect "search, refine, eval" 0 $?
expect "the mark of refine" 1 "$(ls finer | grep -c '^refined$')"
expect "what the first share measured" "1 1 1 1 0 0 0 0 4 4 4 4" "$(measured 0)"
expect "what the second share measured" "1 1 0 0 4 4" "$(measured 1)"
expect "the first share has refined" 4 "$(knows 0 f16:64x64x64:tn)"
expect "the second share knows what was found before" 1 "$(knows 1 f16:64x64x64:tn)"
expect "rows of what was refined" 6 "$(grep -c '^f16:' finer/found.tuned)"
measure --refine 4
expect "refined before" 0 $?
expect "only the search looks again, and finds all in the store" "1 1 0 0 4 4 0 0" "$(measured 1)"
measure --refine few
expect "wrong usage" 2 $?
out=out
measure --layouts
expect "wrong usage" 2 $?
measure --gpus none
expect "wrong usage" 2 $?
[ $failed = 0 ] && echo "ok"
exit $failed
