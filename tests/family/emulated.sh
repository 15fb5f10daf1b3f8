#!/bin/sh
# SPDX-License-Identifier: MIT
# Random problems of one family through the whole verification on the emulated device, checker on.
# Usage: families.sh PROGRAM FAMILY PROBLEMS LEAST: at least LEAST of the problems must be ones that the family takes, and pass.
program=$1 family=$2 problems=$3 least=$4
home=$(mktemp -d) || exit 1
trap 'rm -rf "$home"' EXIT
export HOME="$home" XDG_CACHE_HOME="$home/cache" XDG_DATA_HOME="$home/data"
"$program" doctor --device emu:h200 | grep -q '^ok *NVRTC' || { echo "skipped: no NVRTC"; exit 77; }
out=$("$program" verify --device emu:h200 --families "$family" --random "$problems" --seed 11)
code=$?
printf '%s\n' "$out" | grep -v '^pass'
passed=$(printf '%s\n' "$out" | sed -n 's/^\([0-9]*\) passed, 0 failed$/\1/p')
[ "$code" = 0 ] && [ "${passed:-0}" -ge "$least" ]
