#!/bin/sh
# SPDX-License-Identifier: MIT
# Captured streams: a plan that is there serves, with a workspace of the graph's own; none is made. Usage: graph.sh LIBRARY PROGRAMS
. "$(dirname "$0")/shared.sh"
preloaded GEMMSMITH_LOG=4 "$programs/shim_graph"
[ "$(sed -n 's/.*blas: a workspace of [0-9]* bytes for //p' "$work/log" | tr '\n' ,)" = "a stream,a captured stream," ] || { cat "$work/log"; fail "whose workspaces"; }
says "captured, known: served
captured, new: passed on
not run yet: right
three times: right" "capture"
counted cublasGemmEx captured 1
counted cublasGemmEx served 3
# nothing can be compared while a stream is captured
preloaded GEMMSMITH_BLAS=check "$programs/shim_graph"
says "captured, known: served
captured, new: passed on
not run yet: right
three times: right" "capture in mode check"
counted check compared 2
counted check wrong 0
exit $bad
