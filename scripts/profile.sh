#!/bin/sh
# SPDX-License-Identifier: MIT
# Nsight Compute over a list of kernels: profile.sh BUILD OUT LIST
# LIST has a problem and a schedule per line. Each kernel runs once, on normal data that is not in L2, with the counters of one section set after
# another. OUT/N.csv is what ncu printed for the N-th of them (OUT/N.err where it failed), OUT/info.txt the machine, OUT/report.md the table (scripts/report_profile.py).
# Needs the right to read the counters; clocks are left as they are. Exit code 77 without ncu.
set -u
build=${1:?usage: profile.sh BUILD OUT LIST} out=${2:?usage: profile.sh BUILD OUT LIST} list=${3:?usage: profile.sh BUILD OUT LIST}
here=$(cd "$(dirname "$0")" && pwd)
ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2> /dev/null) || { echo "profile.sh: no ncu"; exit 77; }
mkdir -p "$out" || exit 2
{
    "$build/gemmsmith" info | grep -Ev '^(store|cache|tuned) '   # without the user's paths
    "$ncu" --version | tail -n 1
} > "$out/info.txt" 2>&1
rm -f "$out"/[0-9]*.csv "$out"/[0-9]*.err "$out/report.md"
failed=0 number=0
sed 's/#.*//' "$list" > "$out/list.txt"
while read -r problem schedule rest; do
    [ -n "$problem" ] || continue
    number=$((number + 1))
    [ -n "$schedule" ] && [ -z "$rest" ] || { echo "profile.sh: $problem $schedule $rest: a problem and a schedule are wanted"; exit 2; }
    printf '# %s %s\n' "$problem" "$schedule" > "$out/$number.csv"
    timeout "${GEMMSMITH_PROFILE_LIMIT:-120}" "$ncu" --clock-control none --target-processes all --kernel-name "regex:^gs_${schedule%%/*}" --launch-count 1 --csv --page raw \
        --section SpeedOfLight --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis --section WarpStateStats --section Occupancy --section LaunchStats \
        "$build/gemmsmith" verify "$problem" --schedule "$schedule" --parts normal --device cuda:0 --quiet < /dev/null >> "$out/$number.csv" 2> "$out/$number.err"
    code=$?
    if [ "$code" = 0 ] && grep -q '^"[0-9]' "$out/$number.csv"; then
        rm -f "$out/$number.err"
    else
        failed=$((failed + 1))
        [ "$code" != 0 ] || echo "no kernel was profiled" >> "$out/$number.err"
        echo "profile.sh: $problem $schedule: exit code $code: $(tail -n 2 "$out/$number.err" | tr '\n' ' ')"
        cat "$out/$number.csv" >> "$out/$number.err"
        rm -f "$out/$number.csv"
    fi
done < "$out/list.txt"
[ "$number" -gt 0 ] || { echo "profile.sh: no kernel in $list"; exit 2; }
[ "$failed" = "$number" ] || python3 "$here/report_profile.py" "$out"/[0-9]*.csv > "$out/report.md" || failed=$((failed + 1))
[ "$failed" = 0 ]
