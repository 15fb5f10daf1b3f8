#!/bin/sh
# SPDX-License-Identifier: MIT
# Which calls are served and which are passed on for which reason, in all modes, with right results. Usage: calls.sh LIBRARY PROGRAMS
. "$(dirname "$0")/shared.sh"
ours='usual type=14,out=14 type=14,out=0 beta=0.5,pad=8,alpha=2 compute=64,alpha=0.5 wide,op_a=1 op_b=1,op_a=1 stream,op_b=1 math=16 algo=-1 strided,batch=3 strided,wide,batch=2
hgemm,compute=64 hgemm,compute=64,wide hgemm,compute=64,strided,batch=2 hgemm,compute=64,strided,wide,batch=2,beta=1 strided'
theirs='compute=69,expected=15 type=0,out=0 algo=5 algo=101 device_scalars device_scalars,beta=1,compute=64 alpha=0 math=2 math=4 shift=2 m=0 n=0,wide k=0,beta=1 m=-1,expected=7
pointers pointers,wide,batch=2 no_handle,expected=1'
all="$ours $theirs"

each() { for one in $1; do echo "$one: $2"; done; }

# run: what is ours is served, what is not is passed on, all of it is right
preloaded "$programs/shim_calls" $ours $theirs
says "$(each "$ours" served; each "$theirs" 'passed on')" "mode run"
counted cublasGemmEx served 9
counted cublasGemmEx types 2
counted cublasGemmEx algorithm 2
counted cublasGemmEx scalars 3
counted cublasGemmEx math_mode 2
counted cublasGemmEx alignment 1
counted cublasGemmEx sizes 3
counted cublasGemmEx handle 1
counted cublasGemmEx calls 23
counted cublasGemmBatchedEx pointers 1
counted cublasGemmBatchedEx_64 pointers 1
counted cublasGemmEx_64 served 1
counted cublasGemmEx_64 sizes 1
counted cublasGemmStridedBatchedEx served 2
counted cublasGemmStridedBatchedEx_64 served 1
for name in cublasHgemm cublasHgemm_64 cublasHgemmStridedBatched cublasHgemmStridedBatched_64; do counted $name served 1; done
grep -q 'blas: cublasGemmEx f16:32x64x64:nn: served: ' "$work/log" || fail "the log does not say what serves a problem"
[ "$(grep -c 'cublasGemmEx f16:32x64x64:nn: served' "$work/log")" = 1 ] || fail "a problem is in the log more than once"

# off: nothing is ours, not even the count of places
preloaded GEMMSMITH_BLAS=off "$programs/shim_calls" $all
says "$(each "$all" 'passed on')" "mode off"
counted cublasGemmEx off 23
if grep -q 'served:' "$work/log"; then fail "mode off makes plans"; fi

# each function passes each of its arguments on at its place
functions='cublasGemmEx cublasGemmEx_64 cublasGemmBatchedEx cublasGemmBatchedEx_64 cublasGemmStridedBatchedEx cublasGemmStridedBatchedEx_64 cublasHgemm cublasHgemm_64 cublasHgemmStridedBatched cublasHgemmStridedBatched_64'
preloaded GEMMSMITH_BLAS=off "$programs/shim_arguments"
says "$(each "$functions" all)" "arguments"
for name in $functions; do counted $name off 1; done

# a mode that is none: off, and a line
preloaded GEMMSMITH_BLAS=fast "$programs/shim_calls" usual
says "usual: passed on" "an unknown mode"
grep -q '"fast" is none of run, off, record and check' "$work/log" || fail "an unknown mode is not named"
preloaded GEMMSMITH_LOG=0 GEMMSMITH_BLAS=fast "$programs/shim_calls" usual
grep -q '^gemmsmith: GEMMSMITH_BLAS: "fast" is none of run' "$work/log" || fail "an unknown mode is silent without a log"
preloaded GEMMSMITH_LOG=0 GEMMSMITH_BLAS=record "$programs/shim_calls" usual
grep -q '^gemmsmith: .*GEMMSMITH_RECORD names no folder' "$work/log" || fail "a record without a folder is silent"

# record: each problem with its count; what is no problem is left out
mkdir "$work/recorded"
preloaded GEMMSMITH_BLAS=record GEMMSMITH_RECORD="$work/recorded" "$programs/shim_calls" usual usual $all
says "$(each "usual usual $all" 'passed on')" "mode record"
counted cublasGemmEx recorded 13
cat "$work"/recorded/*.txt | awk -F'\t' 'NF == 3 { sum[$2 "\t" $3] += $1 } END { for (one in sum) print sum[one] "\t" one }' | sort > "$work/sums"
for line in '11	cublasGemmEx	f16:32x64x64:nn' '1	cublasGemmEx	bf16:32x64x64:nn:d=f32' '1	cublasHgemm	f16:32x64x64:nn:acc=f16' '1	cublasGemmStridedBatchedEx	f16:32x64x64:nn:b=3' \
    '1	cublasGemmEx	f16:32x64x64:nn:lda=72:ldb=72:ldc=72:ldd=72:beta=1' '1	cublasGemmEx_64	f16:32x64x64:tn' '1	cublasGemmBatchedEx_64	f16:32x64x64:nn:b=2:matrices=pointers'; do
    grep -qxF "$line" "$work/sums" || { cat "$work/sums"; fail "not recorded: $line"; }
done

# check: right results are silent, a wrong one is found, in the log and in the report
checked=$ours
[ -z "${GS_PRELOAD:-}" ] || checked='usual beta=0.5,pad=8,alpha=2 strided,batch=3 hgemm,compute=64'   # sanitizers are slow
preloaded GEMMSMITH_BLAS=check "$programs/shim_calls" $checked
says "$(each "$checked" 'passed on')" "mode check"   # the real function is called, elsewhere
counted check compared "$(echo $checked | wc -w)"
counted check wrong 0
preloaded GEMMSMITH_BLAS=check FAKE_BLAS_WRONG=65 "$programs/shim_calls" usual beta=1
counted check wrong 2
grep -q 'check: cublasGemmEx f16:32x64x64:nn: 1 elements differ, most row 1, column 1 of matrix 0: .*, the library has 1000$' "$work/log" || { cat "$work/log"; fail "where it is wrong"; }
exit $bad
