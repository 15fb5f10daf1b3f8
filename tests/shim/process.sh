#!/bin/sh
# SPDX-License-Identifier: MIT
# Processes: forks, threads, missing and failing drivers, other contexts, failing launches, no cuBLAS at all, and what passing on costs. The driver is a fake one: launches do
# nothing, so results are not looked at. Usage: process.sh LIBRARY PROGRAMS FAKE_CUDA
. "$(dirname "$0")/shared.sh"
fake=$3
process="$programs/shim_process"
host() { preloaded FAKE_CUDART=host GEMMSMITH_LIBCUDA="$fake" "$@"; }

host "$process" call
says "call: served" "on a driver"
host "$process" call fork call
says "call: served
child: passed on
call: served" "a fork after use"
[ "$(grep -c '^# gemmsmith blas' "$work/report")" = 2 ] || fail "two processes, two reports"
grep -qx 'cublasGemmEx	forked	1' "$work/report" || fail "the child's report"
counted cublasGemmEx served 2
# a report that cannot be written is a line in the log: the program ends by itself, with its own exit code
mkfifo "$work/pipe"
for path in "$work/pipe" "$work" /dev/full; do
    env LD_PRELOAD="$preload" FAKE_CUDART=host GEMMSMITH_LIBCUDA="$fake" GEMMSMITH_LOG=3 GEMMSMITH_BLAS_REPORT="$path" timeout 60 "$process" call > "$work/out" 2> "$work/log" || fail "a report to $path: exit $?"
    grep -q "GEMMSMITH_BLAS_REPORT: $path cannot be written" "$work/log" || { cat "$work/log"; fail "a report to $path"; }
done
host "$process" fork call
says "child: served
call: served" "a fork before use"
host "$process" library library
says "library: passed on
library: passed on" "a problem that is the library's"
counted cublasGemmEx cublaslt 2
host "$process" threads
says "threads: 0 failures" "threads"
counted cublasGemmEx served 160
host "$process" call context
says "call: served
without a context: passed on
with it again: served" "contexts"
counted cublasGemmEx context 1
host "$process" other
says "in another context: passed on
in the usual one: served" "a context of its own"
counted cublasGemmEx context 1

# another device, a context that was made anew: plans of their own
host FAKE_CUDA_DEVICES=2 "$process" call second second
says "call: served
second device: served
second device: served" "two devices"
[ "$(grep -c 'f16:32x64x64:nn:lda=256: served' "$work/log")" = 2 ] || { cat "$work/log"; fail "two devices, two plans"; }
host "$process" call reset call call
says "call: served
call: served
call: served" "a context that was made anew"
[ "$(grep -c 'f16:32x64x64:nn:lda=256: served' "$work/log")" = 2 ] || { cat "$work/log"; fail "a new context, a new plan"; }
# problems that are asked for once are left to the library
host GEMMSMITH_BLAS_AFTER=3 "$process" call call small call call
says "call: passed on
call: passed on
small: passed on
call: served
call: served" "plans at the third call"
counted cublasGemmEx waiting 3
host GEMMSMITH_BLAS_AFTER=often "$process" call
says "call: served" "GEMMSMITH_BLAS_AFTER that is no number"
grep -q '"often" is no number from 1 on' "$work/log" || fail "GEMMSMITH_BLAS_AFTER that is no number"
# a stream that waits for the default one is captured: no plan is made
host FAKE_CUDA_CAPTURED=1 "$process" call
says "call: passed on" "captured"
counted cublasGemmEx captured 1
# a plan with a workspace has one for each capture: nothing runs where the driver does not say which it is
host FAKE_CUDA_FAIL=cuStreamGetCaptureInfo:1 "$process" split split
says "split: passed on
split: served" "no word of the capture"
counted cublasGemmEx captured 1

# no driver, no device, one that is too old: the program's own way, one line
for no in GEMMSMITH_LIBCUDA=/nonexistent FAKE_CUDA_FAIL=cuDriverGetVersion FAKE_CUDA_CC=75; do
    preloaded FAKE_CUDART=host GEMMSMITH_LIBCUDA="$fake" $no "$process" call call
    says "call: passed on
call: passed on" "$no"
    if [ "$no" != FAKE_CUDA_CC=75 ]; then continue; fi
    [ "$(grep -c 'all calls are passed on' "$work/log")" = 1 ] || fail "$no: one line"
done

# the same of cuBLASLt
preloaded FAKE_CUDART=host GEMMSMITH_LIBCUDA=/nonexistent "$programs/shim_lt" usual
says "usual: passed on" "cuBLASLt without a driver"
counted cublasLtMatmul device 1

# each call of the driver fails once: status 0, and the next problem is served or passed on, never a crash
for what in cuCtxGetCurrent cuCtxGetDevice cuDeviceGetCount cuDevicePrimaryCtxGetState cuDevicePrimaryCtxRetain cuModuleLoadDataEx cuModuleGetFunction cuFuncSetAttribute cuMemAlloc_v2 \
    cuMemsetD32Async cuStreamIsCapturing cuStreamGetCaptureInfo cuThreadExchangeStreamCaptureMode cuTensorMapEncodeTiled; do
    for nth in 1 ${GS_PRELOAD:-2}; do   # with sanitizers once
        if [ "$nth" != 1 ] && [ "$nth" != 2 ]; then continue; fi
        if [ "$what:$nth" = cuDevicePrimaryCtxRetain:1 ]; then continue; fi   # the program's own
        host FAKE_CUDA_FAIL=$what:$nth "$process" call call small
        [ "$(grep -c -v -e ': served$' -e ': passed on$' "$work/out")" = 0 ] || { cat "$work/out"; fail "$what fails, $nth"; }
        [ "$(wc -l < "$work/out")" = 3 ] || fail "$what fails, $nth: lines"
    done
done
# no kernel, no library: no plan; no memory for a workspace: the next call finds some
host FAKE_CUDA_FAIL=cuModuleLoadDataEx GEMMSMITH_CUBLASLT=/nonexistent "$process" call call
says "call: passed on
call: passed on" "nothing can be loaded"
counted cublasGemmEx no_plan 2
host FAKE_CUDA_FAIL=cuMemAlloc_v2:2 "$process" split split
says "split: passed on
split: served" "no memory for a workspace"
counted cublasGemmEx memory 1
# a launch that fails is the real library's
host FAKE_CUDA_FAIL=cuLaunchKernelEx "$process" call call
says "call: passed on
call: passed on" "launches fail"
counted cublasGemmEx launch 2

# no cuBLAS in the process: as an uninitialised one, not a crash
cat > "$work/none.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    int (*call)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *, void *, int, int, int, int);
    void *const found = dlsym(RTLD_DEFAULT, "cublasGemmEx");
    if (!found) return 3;
    memcpy(&call, &found, sizeof call);
    printf("status %d\n", call(0, 0, 0, 8, 8, 8, 0, 0, 2, 8, 0, 2, 8, 0, 0, 2, 8, 68, 99));
    return 0;
}
END
if ${CC:-cc} "$work/none.c" -o "$work/none" -ldl 2> /dev/null; then
    preloaded "$work/none"
    says "status 1" "no cuBLAS"
else
    echo "left out: there is no compiler"
fi

# what passing on costs; the bound is for busy machines and sanitizers
host FAKE_BLAS_COMPUTES=0 MOST_NS="${GS_MOST_NS:-1000}" "$process" cost
sed -n '/^ns:/p' "$work/out"
grep -qx 'passing on: cheap' "$work/out" || { cat "$work/out"; fail "passing on is dear"; }
exit $bad
