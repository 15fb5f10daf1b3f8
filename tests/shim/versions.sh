#!/bin/sh
# SPDX-License-Identifier: MIT
# Two versions of cuBLAS in one process: each caller's calls go to its own. Usage: versions.sh LIBRARY PROGRAMS
. "$(dirname "$0")/shared.sh"
"$programs/shim_versions" > "$work/out"
says "12: passed on, passed on
13: passed on, passed on
12: passed on, passed on
13: passed on, passed on" "without us"
preloaded "$programs/shim_versions"
says "12: served, passed on
13: served, passed on
12: served, passed on
13: served, passed on" "with us"
preloaded GEMMSMITH_BLAS=off "$programs/shim_versions"
[ "$(grep -c refused "$work/out")" = 0 ] || { cat "$work/out"; fail "mode off"; }
# what we export is cuBLAS's names alone, and we need nothing but the C library
if command -v nm > /dev/null && command -v readelf > /dev/null; then
    if nm -D --defined-only "$library" | awk '{print $3}' | grep -v -E '^(cublas(GemmEx|GemmStridedBatchedEx|GemmBatchedEx|Hgemm|HgemmStridedBatched)(_64)?|cublasLtMatmul(AlgoGetHeuristic)?)$'; then fail "that is exported too"; fi
    if [ -z "${GS_PRELOAD:-}" ] && readelf -d "$library" | grep NEEDED | grep -vE '\[(libc|libm|libpthread|libdl|ld-linux-x86-64|ld-linux-aarch64)\.so'; then fail "that is needed too"; fi
fi
exit $bad
