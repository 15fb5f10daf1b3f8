#!/bin/sh
# SPDX-License-Identifier: MIT
# pairs.sh BUILD: time_pairs counts launches of a problem with groups whose groups have all rows: as many bytes of D are stored as without groups.
set -u
program=$1/tools/time_pairs
[ -x "$program" ] || exit 77
rows=$(mktemp "${TMPDIR:-/tmp}/gemmsmith-pairs.XXXXXX") || exit 2
trap 'rm -f "$rows"' EXIT
cat >"$rows" <<'ROWS'
problem,schedule,measured_us,predicted_us,sm_mhz
f16:64x32x32:tn:g=4,simple,1.0,1.0,1000
f16:64x32x32:tn,simple,1.0,1.0,1000
f16:64x64x64:tn:g=4,ws/64x64x64/s4/c1x1/coop/g8,1.0,1.0,1000
ROWS
got=$("$program" count "$rows" 0 1 2>&1) || { case $got in *NVRTC*) echo "skipped: $got"; exit 77 ;; esac; echo "not ok: $got"; exit 1; }
stored=$(echo "$got" | sed -n '2,$s/.*,//p' | tr '\n' ' ')
[ "$stored" = "4096 4096 8192 " ] && echo "ok" && exit 0
echo "not ok: stored $stored"
exit 1
