# SPDX-License-Identifier: MIT
# What the scripts of this folder share: sh NAME.sh LIBRARY PROGRAMS. $GS_PRELOAD: what must be loaded before everything, as the sanitizers' library.
set -eu
library=$1 programs=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/gemmsmith-shim.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset GEMMSMITH_TUNED GEMMSMITH_PACK GEMMSMITH_DEVICE GEMMSMITH_RECORD GEMMSMITH_MEASURE GEMMSMITH_LOG GEMMSMITH_BLAS GEMMSMITH_BLAS_REPORT GEMMSMITH_BLAS_AFTER FAKE_CUDART 2>/dev/null || :
export HOME="$work" XDG_DATA_HOME="$work/data" XDG_CONFIG_HOME="$work/config"
# tables of the emulated device and of the fake driver's: kernels that are chosen, not searched for
export GEMMSMITH_TUNED="$work/tests.tuned"
awk 'BEGIN { print "gemmsmith-tuned 1" }
    !/^#/ { for (i = 0; i < 2; i++) printf "%s %s 5.0 %s 90 132 %d 2026-11-20T12:00:00Z tune-1.0.0\n", $1, $2, i ? "6.0 1.2 1.1 1.3 1980 nvidia-h200" : "0 0.5 0.5 0.5 1980 emu-h200", 130100 }' \
    "$(dirname "$0")/rows.txt" > "$GEMMSMITH_TUNED"
preload="${GS_PRELOAD:+$GS_PRELOAD:}$library"
bad=0
fail() { echo "not ok: $*"; bad=1; }

# preloaded VARIABLES... PROGRAM ARGUMENTS...: its output in $work/out, its log in $work/log, its report in $work/report
preloaded() {
    rm -f "$work/report"
    env LD_PRELOAD="$preload" GEMMSMITH_BLAS_REPORT="$work/report" GEMMSMITH_LOG=3 "$@" > "$work/out" 2> "$work/log" || { cat "$work/out" "$work/log"; fail "$* failed"; }
    if grep -q 'cannot be opened.*nvrtc\|NVRTC cannot be' "$work/log"; then echo "there is no NVRTC here"; exit 77; fi
}
# says TEXT: the output is this
says() {
    printf '%s\n' "$1" | diff - "$work/out" || { cat "$work/log"; fail "$2"; }
}
# counted FUNCTION WHAT COUNT
counted() {
    grep -q "^$1	$2	$3\$" "$work/report" 2>/dev/null || { cat "$work/report" 2>/dev/null || echo "no report"; fail "not counted: $1 $2 $3"; }
}
