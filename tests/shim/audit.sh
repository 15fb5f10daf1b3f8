#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that look cuBLAS's calls up, and those that are linked to it, under LD_AUDIT. Usage: audit.sh LIBRARY PROGRAMS AUDIT FAKE_BLAS
. "$(dirname "$0")/shared.sh"
audit=$3
export LD_LIBRARY_PATH="$4"
# audited ...: as preloaded, with nothing of ours preloaded
audited() {
    before=$preload
    preload=${GS_PRELOAD:-}
    preloaded LD_AUDIT="$audit" "$@"
    preload=$before
}

# preloading does not reach dlsym, only what the library calls of itself
preloaded "$programs/shim_opened"
if grep -q '^cublasGemmEx	' "$work/report"; then fail "preloading counted what it cannot see"; fi
audited "$programs/shim_opened"
says "opened: served, right" "dlsym"
counted cublasGemmEx served 2
audited GEMMSMITH_BLAS=off "$programs/shim_opened"
says "opened: passed on, right" "dlsym, mode off"
counted cublasGemmEx off 2
# bound at start and at the first call
for bind in 0 1; do
    audited ${bind:+LD_BIND_NOW=$bind} "$programs/shim_calls" usual beta=0.5,pad=8,alpha=2 algo=5
    says "usual: served
beta=0.5,pad=8,alpha=2: served
algo=5: passed on" "a program that is linked"
    counted cublasGemmEx calls 3
done
audited "$programs/shim_calls" strided,wide,batch=2,beta=0.5 strided,batch=2
says "strided,wide,batch=2,beta=0.5: served
strided,batch=2: served" "batches"
served='wide,pad=8 strided,batch=2 strided,wide,batch=2 hgemm,compute=64 hgemm,compute=64,wide hgemm,compute=64,strided,batch=2 hgemm,compute=64,strided,wide,batch=2,beta=1'
passed='pointers pointers,wide,batch=2'
audited "$programs/shim_calls" $served $passed
says "$(for one in $served; do echo "$one: served"; done; for one in $passed; do echo "$one: passed on"; done)" "every call"
audited "$programs/shim_lt" usual epilogue=36 algo=1
says "usual: served
epilogue=36: served
algo=1: passed on" "cuBLASLt"
# of two versions the first one is served
audited "$programs/shim_versions"
if grep -q refused "$work/out" || ! grep -q ': served' "$work/out"; then cat "$work/out"; fail "two versions"; fi
# both variables: one copy of the library, each call once
preloaded LD_AUDIT="$audit" "$programs/shim_calls" usual
says "usual: served" "both variables"
counted cublasGemmEx calls 1
preloaded LD_AUDIT="$audit" "$programs/shim_opened"
says "opened: served, right" "both variables, dlsym"
counted cublasGemmEx calls 2
# alone in its folder: one line, the real library
cp "$audit" "$work/alone.so"
audit=$work/alone.so
audited "$programs/shim_opened"
says "opened: passed on, right" "without the library beside it"
[ "$(grep -c 'libgemmsmith_blas.so.*all calls are passed on' "$work/log")" = 1 ] || { cat "$work/log"; fail "one line"; }
exit $bad
