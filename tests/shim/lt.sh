#!/bin/sh
# SPDX-License-Identifier: MIT
# The same of cublasLtMatmul: descriptors, epilogues, algorithms. Usage: lt.sh LIBRARY PROGRAMS
. "$(dirname "$0")/shared.sh"
ours='usual algo=-1 type=14,out=14,op_a=1 type=14,out=0 compute=64,beta=0.5 beta=2,alpha=0.5 beta=1,apart,pad=8 apart,pad=8 batch=2,op_b=1 stream,again=3
epilogue=4 epilogue=6,type=14,out=14 epilogue=36 epilogue=2 epilogue=164 epilogue=160,pad=8 epilogue=192 epilogue=208 c_type=0,apart'
theirs='algo=1 algo=2,epilogue=4 compute=69,expected=15 type=0,out=0 device_scalars order=1 attribute=15 attribute=31 epilogue=130 epilogue=256 epilogue=136,no_aux beta=1,c_type=0,apart alpha=0'
each() { for one in $1; do echo "$one: $2"; done; }

preloaded "$programs/shim_lt" $ours $theirs
says "$(each "$ours" served; each "$theirs" 'passed on')" "mode run"
counted cublasLtMatmul served 22
counted cublasLtMatmul algorithm 2
counted cublasLtMatmul types 2
counted cublasLtMatmul scalars 2
counted cublasLtMatmul layout 2
counted cublasLtMatmul attribute 2
counted cublasLtMatmul epilogue 3
grep -q 'cublasLtMatmul f16:32x64x64:nn:ep=bias+gelu+aux: served' "$work/log" || fail "the epilogue in the log"

# descriptors that are not known by their bytes are read each time
preloaded FAKE_BLAS_APART=1 "$programs/shim_lt" usual epilogue=4 usual
says "$(each "usual epilogue=4 usual" served)" "descriptors of other libraries"

# one of its own, and no memory for others: what attributes it has is not known
for most in 1 2; do
    preloaded FAKE_BLAS_MOST=$most "$programs/shim_lt" usual
    says "usual: passed on" "memory for $most descriptors"
done

preloaded GEMMSMITH_BLAS=off "$programs/shim_lt" usual algo=1
says "$(each "usual algo=1" 'passed on')" "mode off"

mkdir "$work/recorded"
preloaded GEMMSMITH_BLAS=record GEMMSMITH_RECORD="$work/recorded" "$programs/shim_lt" stream,again=3 epilogue=36 algo=1
cat "$work"/recorded/*.txt | awk -F'\t' 'NF == 3 { sum[$2 "\t" $3] += $1 } END { for (one in sum) print sum[one] "\t" one }' | sort > "$work/sums"
printf '1\tcublasLtMatmul\tf16:32x64x64:nn:ep=bias+gelu\n5\tcublasLtMatmul\tf16:32x64x64:nn\n' | diff - "$work/sums" || fail "what was recorded"

preloaded GEMMSMITH_BLAS=check "$programs/shim_lt" usual beta=1,apart,pad=8 beta=2 epilogue=36 epilogue=6,type=14,out=14
says "$(each "usual beta=1,apart,pad=8 beta=2 epilogue=36 epilogue=6,type=14,out=14" 'passed on')" "mode check"
counted check compared 5
counted check wrong 0
preloaded GEMMSMITH_BLAS=check FAKE_BLAS_WRONG=65 "$programs/shim_lt" epilogue=36
counted check wrong 1
exit $bad
