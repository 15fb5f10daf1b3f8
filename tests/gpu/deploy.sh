#!/bin/sh
# SPDX-License-Identifier: MIT
# Record a program that calls cuBLAS, tune what it multiplies, pack that, and run the program where there is no NVRTC, no cache, and no disk to write to.
#
#     deploy.sh BUILD "OPTIONS OF TUNE" PROGRAM [ARGUMENT...]
#
# All that the program asks for must be served from the pack. Exit code 77: no mount namespace of its own can be had (it needs root), or there is no NVRTC.
set -eu
build=$(cd "$1" && pwd) options=$2
shift 2
library=$build/libgemmsmith_blas.so gemmsmith=$build/gemmsmith device=${GEMMSMITH_DEVICE:-cuda:0}
work=$(mktemp -d "${TMPDIR:-/tmp}/gemmsmith-deploy.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset GEMMSMITH_TUNED GEMMSMITH_PACK GEMMSMITH_RECORD GEMMSMITH_MEASURE GEMMSMITH_LOG GEMMSMITH_BLAS GEMMSMITH_BLAS_REPORT GEMMSMITH_CACHE 2> /dev/null || :
export GEMMSMITH_DEVICE="$device" XDG_CACHE_HOME="$work/cache" XDG_DATA_HOME="$work/data" GEMMSMITH_TUNED="$work/tuned"
mkdir "$work/tuned" "$work/out"
unshare -m mount -t tmpfs tmpfs "$work/out" 2> /dev/null || { echo "needs a mount namespace"; exit 77; }
bad=0
fail() { echo "not ok: $*"; bad=1; }

"$gemmsmith" record --quiet --out "$work/run" -- "$@" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$gemmsmith" record --quiet --merge "$work/run" > "$work/problems"
# shellcheck disable=SC2086
"$gemmsmith" tune "$work/problems" $options --tuned "$work/tuned/own.tuned" > "$work/log" 2>&1 || {
    ! grep -q 'NVRTC' "$work/log" || { tail -n 1 "$work/log"; exit 77; }
    cat "$work/log"
    exit 1
}
tail -n 3 "$work/log"
"$gemmsmith" pack "$work/run" --out "$work/model.pack" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$gemmsmith" pack --list "$work/model.pack" | tee "$work/packed"
rm -rf "$work/cache" "$work/data" "$work/tuned"
unset GEMMSMITH_TUNED

# NVRTC is no library any more, every file system is read-only but the kernel's own, and one in memory is for the report
cat > "$work/apart.sh" << 'APART'
set -eu
work=$1
shift
for file in $(find / \( -path /proc -o -path /sys \) -prune -o -name 'libnvrtc*.so*' -type f -print 2> /dev/null); do mount --bind /dev/null "$file"; done
mount -t tmpfs tmpfs "$work/out"
awk '$2 !~ "^/(proc|sys|dev)" { print $2 }' /proc/self/mounts | while read -r at; do
    [ "$at" = "$work/out" ] || mount -o remount,bind,ro "$at" 2> /dev/null || :
done
! touch "$work/written" 2> /dev/null || { echo "the disk can be written"; exit 1; }
status=0
"$@" > "$work/out/text" 2> "$work/out/log" || status=$?
cat "$work/out/text"
grep -o 'blas: .*' "$work/out/log" | sort -u > "$work/out/served" || :
sed 's/^/log: /' "$work/out/served"
cat "$work/out/report"
exit $status
APART
export GEMMSMITH_PACK="$work/model.pack" GEMMSMITH_BLAS_REPORT="$work/out/report" GEMMSMITH_LOG=3
unshare -m sh "$work/apart.sh" "$work" env LD_PRELOAD="$library" "$@" > "$work/last" 2>&1 || fail "the program"
cat "$work/last"
asked=$(awk -F'\t' '!/^#/ && NF == 3' "$work/problems" | wc -l)
faster=$(grep -c '^[a-z0-9]*:[^ ]*  cublaslt' "$work/packed" || :)   # the library's own, which the pack says so of: passed on
served=$(grep -c '^log: blas: .*: served: pack' "$work/last" || :)
[ "$asked" -gt 0 ] && [ "$((served + faster))" = "$asked" ] || fail "of $asked problems the pack serves $served and leaves $faster to cuBLASLt"

# the first plan of each problem, in a process that never saw it
cat > "$work/plans.py" << 'PLANS'
import os, sys, time
import gemmsmith
device = os.environ.pop("GEMMSMITH_DEVICE")
problems = [line.split("\t")[2].strip() for line in open(sys.argv[1]) if not line.startswith("#") and line.count("\t") == 2]
with gemmsmith.Context(device=device) as context:
    worst = 0
    for problem in problems:
        begun = time.perf_counter()
        plan = context.plan(problem)
        took = (time.perf_counter() - begun) * 1e3
        print(f"plan of {problem}: {took:.3f} ms, {plan.why}")
        assert "pack" in plan.why
        worst = max(worst, took)
    print(f"slowest first plan: {worst:.3f} ms")
PLANS
root=$(cd "$(dirname "$0")/../.." && pwd)
PYTHONPATH="$root/python" GEMMSMITH_LIBRARY="$build/libgemmsmith.so" GEMMSMITH_LOG=0 python3 "$work/plans.py" "$work/problems" || fail "plans"
exit $bad
