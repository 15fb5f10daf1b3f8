#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/probe on emulated devices: every probe prints its rows, with numbers that can be; a device without clusters says which it cannot run.
# Usage: probe.sh SOURCE BUILD
set -u
source=$1 build=$2
"$build/gemmsmith" info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
. "$source/tests/scripts/folder.sh"

cat > "$work/names" <<'END'
clock,1 block
launch,1 block
launch,132 blocks
first-data,1 block
first-data,16 blocks
first-data,128 blocks
port,1 block
port,132 blocks the same data
gpc,132 blocks data of their own
gpc,132 blocks 16 share their data
exchange,2 blocks 32 KB
exchange,2 blocks 128 KB
exchange,132 blocks 32 KB
ticket,4 blocks
code,1 block first pass
code,1 block second pass
END
for block in $(seq 0 131); do printf 'place,block%d\nplace,block%d of clusters of two\n' "$block" "$block"; done >> "$work/names"

"$build/tools/probe" --device emu:h200 --quick > "$work/h200.csv" 2> "$work/said.txt" || fail "emu:h200: $(cat "$work/said.txt")"
grep -q 'nothing is measured' "$work/said.txt" || fail "an emulated device goes as a real one"
[ "$(head -n 1 "$work/h200.csv")" = "probe,parameter,value,unit,min,max" ] || fail "the head of the rows"
cut -d , -f 1,2 "$work/h200.csv" | tail -n +2 | sort > "$work/printed"
sort "$work/names" | diff - "$work/printed" || fail "other rows than expected"
awk -F , '
    function number(text) { return text ~ /^[0-9]+([.][0-9]+)?(e[-+][0-9]+)?$/ }
    NR == 1 || $3 == "not supported by this device" && NF == 3 { next }
    NF != 6 || !number($3) || !number($5) || !number($6) || $5 + 0 > $3 + 0 || $3 + 0 > $6 + 0 || ($1 != "place" && $5 + 0 <= 0) { print; bad = 1 }
    END { exit bad }' "$work/h200.csv" || fail "these rows"

"$build/tools/probe" --device emu:a100 --quick > "$work/a100.csv" 2> "$work/said.txt" || fail "emu:a100: $(cat "$work/said.txt")"
[ "$(grep -c ',not supported by this device$' "$work/a100.csv")" = 8 ] || fail "what a device without clusters cannot run"
grep -q '^code,.*,cycles/instruction,' "$work/a100.csv" || fail "and what it can"
"$build/tools/probe" --devices > "$work/said.txt" 2>&1
[ $? = 2 ] || fail "wrong usage"
[ $failed = 0 ] && echo "ok"
exit $failed
