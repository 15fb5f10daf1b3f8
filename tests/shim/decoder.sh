#!/bin/sh
# SPDX-License-Identifier: MIT
# The example of llama.cpp's calls: right with and without us, and all of it is served. Usage: decoder.sh LIBRARY PROGRAMS
. "$(dirname "$0")/shared.sh"
"$programs/shim_decoder" 4 64 0 > "$work/out" || { cat "$work/out"; fail "without us"; }
preloaded "$programs/shim_decoder" 4 64 1
[ "$(grep -c ', right$' "$work/out")" = 3 ] || { cat "$work/out"; fail "with us"; }
counted cublasGemmEx served 4
counted cublasGemmEx calls 4
counted cublasGemmStridedBatchedEx served 2
exit $bad
