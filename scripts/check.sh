#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test that needs no GPU. Ends with "N passed, N failed, N skipped"; exit 1 if any failed or none passed.
set -u
cd "$(dirname "$0")/.."
. build/deps/env
passed=0 failed=0 skipped=0

# Both builds compile the same kernels, with a compiler that is not ours: the second finds them in the first one's cache, whose names are
# hashes of all that goes into a kernel. It begins empty, and is not the user's.
GS_TEST_CACHE=$PWD/build/check-cache
GEMMSMITH_CACHE=$GS_TEST_CACHE   # what needs its own takes it
export GS_TEST_CACHE GEMMSMITH_CACHE
rm -rf "$GS_TEST_CACHE"

one() { # one NAME COMMAND...: a check that is a single command
    name=$1
    shift
    if output=$("$@" 2>&1); then
        passed=$((passed + 1))
        echo "ok       $name"
    else
        failed=$((failed + 1))
        echo "FAILED   $name"
        echo "$output" | tail -n 40
    fi
}

# What a test that passed left out of what it has, a line each: "cublas/library  no_library_no_plan". cmocka names them again behind its sums, Python only counts.
skipped_inside() {
    awk '/^[0-9]+\/[0-9]+ Testing: / { test = $3; sums = 0; left = "" }
         /^\[  SKIPPED \] [0-9]+ test\(s\)/ { sums = 1; next }
         /^\[  SKIPPED \]/ && !sums { left = left test "  " $4 "\n" }
         match($0, /^OK \(.*skipped=[0-9]+/) { n = substr($0, 1, RLENGTH); sub(/.*=/, "", n); for (i = 1; i <= n; i++) left = left test "  " i " of those that Python skipped\n" }
         /^Test Passed\./ { printf "%s", left }' "$1"
}

suite() { # suite PRESET: builds and runs a preset's tests with ctest
    if ! output=$(cmake --preset "$1" 2>&1 && cmake --build --preset "$1" 2>&1); then
        failed=$((failed + 1))
        echo "FAILED   build $1"
        echo "$output" | tail -n 60
        return
    fi
    passed=$((passed + 1))
    echo "ok       build $1"
    log=build/$1/ctest.log
    ctest --test-dir "build/$1" --output-on-failure --parallel 2 --timeout 1500 > "$log" 2>&1
    grep -E '^ *[0-9]+/[0-9]+ Test' "$log" | sed "s/^/         $1: /"
    p=$(grep -cE '^ *[0-9]+/[0-9]+ Test.* Passed ' "$log")
    s=$(grep -cE '^ *[0-9]+/[0-9]+ Test.*\*\*\*Skipped' "$log")
    all=$(grep -cE '^ *[0-9]+/[0-9]+ Test' "$log")
    inside=$(skipped_inside "build/$1/Testing/Temporary/LastTest.log")
    [ -z "$inside" ] || echo "$inside" | sed "s/^/         $1: skipped inside /"
    passed=$((passed + p))
    skipped=$((skipped + s + $(echo "$inside" | grep -c .)))
    failed=$((failed + all - p - s))
    [ "$all" -eq "$((p + s))" ] || awk '/^ *[0-9]+\/[0-9]+ Test/ { shown = /\*\*\*/ && !/\*\*\*Skipped/ } /^ *Start / { next } shown || /^Error/' "$log" | tail -n 120
    [ "$all" -gt 0 ] || failed=$((failed + 1))
}

one "dependency law" python3 scripts/check_law.py
one "docs" python3 scripts/check_docs.py
one "scripts parse" sh -c 'for f in scripts/*.sh .ci/run; do sh -n "$f" || exit 1; done; python3 -m compileall -q scripts python tools'
suite release
one "exported symbols" sh scripts/check_abi.sh build/release/libgemmsmith.so
one "headers from C++" sh -c 'for h in include/gemmsmith/*.h; do echo "#include <gemmsmith/${h##*/}>" | c++ -std=c++11 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ - || exit 1; done'
suite sanitize

# The fuzzers with libFuzzer, as `make fuzz` builds them, and a moment of each.
mkdir -p build/fuzz
fuzzers() {
    cmake --preset fuzz && cmake --build --preset fuzz --target fuzz_parsers_libfuzzer fuzz_emu_libfuzzer &&
        build/fuzz/tests/fuzz/fuzz_parsers_libfuzzer -seed=1 -runs=2000 -artifact_prefix=build/fuzz/ &&
        build/fuzz/tests/fuzz/fuzz_emu_libfuzzer -seed=1 -runs=200 -max_len=16384 -malloc_limit_mb=256 -artifact_prefix=build/fuzz/
}
if echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return data && size > 9; }' |
    clang -fsanitize=fuzzer -x c - -o build/fuzz/probe 2>/dev/null; then
    one "fuzzers" fuzzers
else
    skipped=$((skipped + 1))
    echo "skipped  fuzzers: there is no clang with libFuzzer"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
