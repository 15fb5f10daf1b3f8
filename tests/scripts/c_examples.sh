#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples in C without a GPU: matmul and sequence compute on the emulated device, graph says what it misses. Usage: c_examples.sh BUILD
set -u
build=$1
unset GEMMSMITH_DEVICE
export GEMMSMITH_LIBCUDA=/nonexistent/libcuda.so.1
said=$(GEMMSMITH_DEVICE=emu:h200 "$build/examples/example_matmul" 2>&1)
code=$?
case $said in *NVRTC*) echo "skipped: $said"; exit 77 ;; esac
echo "$said"
[ $code = 0 ] && echo "$said" | grep -q '^257 x 512 x 320: right (0 of ' || { echo "not ok: matmul on the emulated device: $code"; exit 1; }
said=$(GEMMSMITH_DEVICE=emu:h200 "$build/examples/example_sequence" 2>&1)
code=$?
echo "$said"
[ $code = 0 ] && echo "$said" | grep -q '^3 launches of three layers captured once: right (0 of ' || { echo "not ok: sequence on the emulated device: $code"; exit 1; }
for program in matmul graph sequence; do
    said=$("$build/examples/example_$program" 2>&1)
    code=$?
    [ $code = 77 ] || { echo "not ok: $program without a GPU: $code, $said"; exit 1; }
done
"$build/examples/example_matmul" | grep -q 'GEMMSMITH_DEVICE=emu:h200 runs this without a GPU' || { echo "not ok: no way out is named"; exit 1; }
