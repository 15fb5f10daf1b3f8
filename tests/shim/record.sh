#!/bin/sh
# SPDX-License-Identifier: MIT
# gemmsmith record of a program that knows cuBLAS alone: every product that it asks for, as often as it does, by which call. Usage: record.sh LIBRARY PROGRAMS PROGRAM
. "$(dirname "$0")/shared.sh"
gemmsmith=$3
[ "$(dirname "$library")" = "$(dirname "$gemmsmith")" ] || { echo "the library is not beside the program"; exit 77; }
LD_PRELOAD=${GS_PRELOAD:-} "$gemmsmith" record --out "$work/run" -- "$programs/shim_decoder" 4 64 4 > "$work/out" 2> "$work/log" || { cat "$work/out" "$work/log"; fail "the program failed"; }
grep -q "not beside this program" "$work/log" && { cat "$work/log"; fail "not preloaded"; }
grep -q "^$work/run: 3 problems, 15 calls, 1 file\$" "$work/log" || { cat "$work/log"; fail "not all of it"; }
"$gemmsmith" record --merge "$work/run" --quiet > "$work/list"
[ "$(awk -F'\t' '$2 == "cublasGemmEx" { sum += $1 } END { print sum }' "$work/list")" = 10 ] || { cat "$work/list"; fail "cublasGemmEx"; }
[ "$(awk -F'\t' '$2 == "cublasGemmStridedBatchedEx" { sum += $1 } END { print sum }' "$work/list")" = 5 ] || { cat "$work/list"; fail "cublasGemmStridedBatchedEx"; }
exit $bad
