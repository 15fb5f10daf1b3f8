#!/bin/sh
# SPDX-License-Identifier: MIT
# suggestions.sh BUILD: tools/time_suggestions on a fake driver and a fake cuBLASLt: a row for each suggestion of each problem that cuBLASLt takes, with its numbers.
set -u
program=$1/tools/time_suggestions fake=$1/tests/fake
[ -x "$program" ] || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/gemmsmith-suggestions.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
fail() { echo "not ok: $*"; cat "$work/out" "$work/said"; exit 1; }
run()
{
    GEMMSMITH_LIBCUDA=$fake/libfake_cuda.so GEMMSMITH_CUBLASLT=$fake/libfake_cublaslt.so FAKE_CUDA_NAME="NVIDIA H200" FAKE_CUBLASLT="66:0 24:2 7:0" FAKE_CUBLASLT_MASKED="66:0" \
        GEMMSMITH_DEVICE=${device:-cuda:0} "$program" "$@" > "$work/out" 2> "$work/said"
}

head="problem,suggestion,measured_us,sm_mhz,id,tile,stages,splitk,reduction,swizzle,cluster,custom,waves,workspace"
printf 'f16:64x64x64:nn   # one\n\nf16:0x64x64:nn\nbf16:9x8x8:tn\n' > "$work/list"
run "$work/list" 60 3 || fail "exit code $?"
[ "$(sed -n 1p "$work/out")" = "$head" ] || fail "the head"
got=$(sed 1d "$work/out" | cut -d, -f1,2,5,9,13,14 | tr '\n' ' ')
[ "$got" = "f16:64x64x64:nn,1,66,0,1.0000,0 f16:64x64x64:nn,2,24,2,1.0000,0 f16:64x64x64:nn,3,7,0,1.0000,0 bf16:9x8x8:tn,1,66,0,1.0000,0 bf16:9x8x8:tn,2,24,2,1.0000,0 bf16:9x8x8:tn,3,7,0,1.0000,0 " ] || fail "$got"
grep -q '^f16:0x64x64:nn: cuBLASLt takes no extent of 0$' "$work/said" || fail "a problem that is left out is not named"

run "$work/list" 0 3 || fail "exit code $? without time"
[ "$(wc -l < "$work/out")" -eq 1 ] || fail "a problem after the time was over"
echo nonsense > "$work/bad"
run "$work/bad" 60; [ $? -eq 1 ] || fail "a list that cannot be read"
run "$work/none" 60; [ $? -eq 1 ] || fail "a list that is not there"
run "$work/list"; [ $? -eq 2 ] || fail "no time given"
device=emu:h200; run "$work/list" 60; [ $? -eq 1 ] || fail "an emulated device"
grep -q "emulated: NVIDIA's libraries cannot run there" "$work/said" || fail "the reason"
echo ok
