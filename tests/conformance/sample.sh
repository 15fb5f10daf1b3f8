#!/bin/sh
# SPDX-License-Identifier: MIT
# A few random combinations on the emulated device, checker on. Usage: sample.sh CONFORMANCE COUNT
program=$1 count=$2
home=$(mktemp -d) || exit 1
trap 'rm -rf "$home"' EXIT
export HOME="$home" XDG_CACHE_HOME="$home/cache" XDG_DATA_HOME="$home/data"
[ -z "${GS_TEST_CACHE:-}" ] || export GEMMSMITH_CACHE="$GS_TEST_CACHE"
# every value of every feature is drawn soon: what is verified below is a sample of that
"$program" --device emu:h200 --count 2000 --seed 2 --list > "$home/list" || { tail -n 1 "$home/list"; [ "$(head -c 7 "$home/list")" = skipped ] && exit 77; exit 1; }
awk '/^feature / {table = 1; next} /^all / {table = 0} table && substr($0, 28, 6) + 0 < 20 {print "rarely drawn: " $0; bad = 1} END {exit bad}' "$home/list" || exit 1
"$program" --device emu:h200 --count "$count" --seed 2 --edges 8 --largest 130 > "$home/out"
code=$?
grep -v '^pass' "$home/out"
exit $code
