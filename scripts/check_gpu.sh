#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test that needs a GPU, with what was built in BUILD: the GPU test programs, random problems through verification, and
# compute-sanitizer on a sample of each family. Usage: check_gpu.sh BUILD [RANDOM_PROBLEMS]; 0: compute-sanitizer alone
# Ends with "N passed, N failed, N skipped". Without a GPU all of it counts as skipped.
set -u
build=$1
random=${2:-500}
[ ! -r build/deps/env ] || . build/deps/env
program=$build/gemmsmith
export GEMMSMITH_DEVICE="${GEMMSMITH_DEVICE:-cuda:0}"   # never the emulated device, unless it is asked for
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# count NAME LIMIT_S COMMAND...: adds cmocka's and gemmsmith's own counts; 77 is a skip; any other failure counts as one at least
count() {
    name=$1 limit=$2
    shift 2
    timeout "$limit" "$@" > "$log" 2>&1
    code=$?
    p=$(awk '/\[  PASSED  \] [0-9]+ test/ {n += $4} /^[0-9]+ passed, [0-9]+ failed/ {n += $1} END {print n + 0}' "$log")
    f=$(awk '/\[  FAILED  \] [0-9]+ test/ {n += $4} /^[0-9]+ passed, [0-9]+ failed/ {n += $3} END {print n + 0}' "$log")
    if [ "$code" = 77 ] || [ "$code" = 3 ]; then
        skipped=$((skipped + 1))
        echo "skipped  $name: $(tail -n 1 "$log")"
        return
    fi
    [ "$code" = 0 ] || [ "$f" -gt 0 ] || f=1
    passed=$((passed + p))
    failed=$((failed + f))
    if [ "$code" = 0 ]; then
        echo "ok       $name ($p)"
        grep '^{' "$log"
    else
        echo "FAILED   $name ($p passed, $f failed, exit $code)"
        grep -vE '^\[( RUN|       OK)' "$log" | tail -n 40
    fi
}

[ -z "${GEMMSMITH_ROWS:-}" ] || mkdir -p "$GEMMSMITH_ROWS"
[ "$random" = 0 ] || for test in "$build"/tests/test_gpu_*; do   # GEMMSMITH_ROWS: folder for the raw rows of those that have some, <test>.jsonl
    count "${test##*/test_}" 400 "$test" ${GEMMSMITH_ROWS:+"$GEMMSMITH_ROWS/${test##*/test_}.jsonl"}
done

# whole programs: one multiplication from files, the examples, the Python binding; each is one check
check() {
    name=$1
    shift
    if timeout 120 "$@" > "$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok       $name"
    elif [ $? = 77 ] || ! "$program" doctor > /dev/null 2>&1; then
        skipped=$((skipped + 1))
        echo "skipped  $name: $(tail -n 1 "$log")"
    else
        failed=$((failed + 1))
        echo "FAILED   $name"
        tail -n 20 "$log"
    fi
}
whole_programs() {
    check "gemm, random data" "$program" gemm bf16:257x512x320:tn
    check "gemm, beta"        "$program" gemm f16:100x200x300:nn:alpha=0.5:beta=2:d=f32
    check "example matmul"    "$build"/examples/example_matmul
    check "example graph"     "$build"/examples/example_graph
    check "Python binding"    env PYTHONPATH=python GEMMSMITH_LIBRARY="$build/libgemmsmith.so" python3 -c '
import gemmsmith
with gemmsmith.Context() as context:
    plan = context.plan("f16:64x128x256:tn")
    print(plan.why)'
}
[ "$random" = 0 ] || whole_programs
[ "$random" = 0 ] || count "torch, preloaded" 400 python3 tests/gpu/preload.py "$build"/libgemmsmith_blas.so --tuned tuned
deploy() {
    calls=$(mktemp)
    if cc examples/blas/decoder.c -o "$calls" -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -lcublas -lcudart -lm 2> /dev/null; then
        check "record, tune, pack, run apart" env GEMMSMITH_DEVICE="$GEMMSMITH_DEVICE" sh tests/gpu/deploy.sh "$build" "--time 30s" "$calls"
    else
        skipped=$((skipped + 1))
        echo "skipped  record, tune, pack, run apart: needs cuBLAS's headers"
    fi
    rm -f "$calls"
}
[ "$random" = 0 ] || deploy
[ "$random" = 0 ] || count "torch, adapter" 600 python3 tests/gpu/torch_adapter.py "$build"

[ "$random" = 0 ] || count "hack suite" 600 sh -c '
    "$1" doctor > /dev/null 2>&1 || { echo "needs a GPU"; exit 3; }
    exec python3 tests/service/hacks.py "$@"' hacks "$program" --device "$GEMMSMITH_DEVICE" ${GEMMSMITH_ROWS:+--rows "$GEMMSMITH_ROWS/hacks.jsonl"}

# verification is no timing: several processes may share the GPU, and compilation is most of the work
jobs=$(nproc)
[ "$jobs" -le 8 ] || jobs=8
[ "$random" = 0 ] || count "random problems" 900 sh -c '
    "$1" doctor > /dev/null 2>&1 || { echo "needs a GPU"; exit 3; }
    for job in $(seq "$2"); do "$1" verify --random $((($3 + $2 - 1) / $2)) --seed "$job" --quiet > "$4.$job" 2>&1 & done
    wait
    code=0
    for job in $(seq "$2"); do
        grep -vE "^(pass|skip) " "$4.$job"
        tail -n 1 "$4.$job" | grep -qE "^[0-9]+ passed, 0 failed" || code=1
        rm -f "$4.$job"
    done
    exit $code' verify "$program" "$jobs" "$random" "$log"

# combinations of everything that a problem may have, through every family, the plan and cuBLASLt's rung
[ "$random" = 0 ] || count "conformance" 900 "$build"/tests/conformance --device "$GEMMSMITH_DEVICE" --count "$random" --parallel "$jobs" --edges 8 --quiet

# one sample for each way that a family works, from its test: tool, problem, schedule. racecheck and synccheck follow threads, not tensor copies.
samples=$(sed -n 's/^ \* \(memcheck\|synccheck\|racecheck\) /\1 /p' tests/family/*.c)
sanitize() {   # PROBLEM SCHEDULE
    count "$tool $1 $2" 120 compute-sanitizer --tool "$tool" --target-processes all --error-exitcode 9 "$program" verify "$1" --schedule "$2" --parts exact
}
if command -v compute-sanitizer > /dev/null 2>&1 && "$program" doctor > /dev/null 2>&1; then
    while read -r tool problem schedule; do
        [ -z "$tool" ] || sanitize "$problem" "$schedule" < /dev/null
    done << END
$samples
END
else
    echo "skipped  compute-sanitizer: needs a GPU and compute-sanitizer"
    skipped=$((skipped + 1))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
