#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test that needs no GPU, on all cores. Ends with "N passed, N failed, N skipped"; exit 1 if any failed or none passed.
#   check.sh          everything
#   check.sh quick    what one runs while working: the law, a release build, its tests without those labelled slow
# Results appear as tests end. GS_JOBS: tests and compilers at a time (default: cores). GS_TIMEOUT_FACTOR (default 4) is how many times
# slower than usual a machine may be before a test is killed; cmake reads it when it configures.
set -u
cd "$(dirname "$0")/.."
. build/deps/env
what=${1:-all}
jobs=${GS_JOBS:-$(nproc)}
passed=0 failed=0 skipped=0 names=
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# Kernels that tests compile are kept in the cache that the library has for its users: a file per source, headers, options, target and
# compiler version, with the compiler's log and what was read from it, which a test looks at as if it had just been compiled. A kernel that
# does not compile is not kept. The folder is named after the code that compiles, reads the log and keeps it: when that changes, it is empty.
compiling=$(cat src/device/cache.* src/device/cuda/nvrtc* src/sandbox/* 2>/dev/null | cksum | cut -d ' ' -f 1)
GS_TEST_CACHE=$PWD/build/check-cache/$compiling
GEMMSMITH_CACHE=$GS_TEST_CACHE   # what needs its own takes it
export GS_TEST_CACHE GEMMSMITH_CACHE
for old in build/check-cache/*; do
    [ "$old" = "build/check-cache/$compiling" ] || rm -rf "$old"
done
mkdir -p "$GS_TEST_CACHE"
find "$GS_TEST_CACHE" -type f -mtime +14 -delete

# What each emulated launch allocates and frees is kept by the process, not given back to the system: clearing these pages again would be a fifth of an emulation.
export MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=134217728

one() { # one NAME COMMAND...: a check that is a single command
    name=$1
    shift
    if "$@" > "$scratch/one" 2>&1; then
        passed=$((passed + 1))
        echo "ok       $name"
    else
        failed=$((failed + 1))
        names="$names
         $name"
        echo "FAILED   $name"
        tail -n 60 "$scratch/one"
    fi
}

# What a test that passed left out of what it has, a line each: "cublas/library  no_library_no_plan". cmocka names them again behind its sums,
# Python only counts.
skipped_inside() {
    awk '/^[0-9]+\/[0-9]+ Testing: / { test = $3; sums = 0; left = "" }
         /^\[  SKIPPED \] [0-9]+ test\(s\)/ { sums = 1; next }
         /^\[  SKIPPED \]/ && !sums { left = left test "  " $4 "\n" }
         match($0, /^OK \(.*skipped=[0-9]+/) { n = substr($0, 1, RLENGTH); sub(/.*=/, "", n); for (i = 1; i <= n; i++) left = left test "  " i " of those that Python skipped\n" }
         /^Test Passed\./ { printf "%s", left }' "$1"
}

build() { # build PRESET [OPTIONS]
    preset=$1
    shift
    cmake --preset "$preset" && cmake --build --preset "$preset" --parallel "$jobs" "$@"
}

suite() { # suite PRESET [CTEST OPTIONS]: runs the tests of what was built; a line as each ends, and behind it the output of one that failed
    preset=$1
    shift
    log=build/$preset/ctest.log
    ctest --test-dir "build/$preset" --output-on-failure --parallel "$jobs" "$@" 2>&1 | tee "$log" | {
        shown= lines=0
        while IFS= read -r line; do   # no awk: some read a pipe in large pieces, and nothing would appear for minutes
            case $line in
            *[0-9]/[0-9]*Test*"#"*)
                echo "         $preset: $line"
                lines=0
                case $line in *"***Skipped"*) shown= ;; *"***"*) shown=1 ;; *) shown= ;; esac ;;
            *" Start "*[0-9]": "*) ;;
            [0-9]*"% tests passed"*) shown= ;;
            Error*) printf '%s\n' "$line" ;;
            *) [ -z "$shown" ] || { lines=$((lines + 1)); [ "$lines" -gt 120 ] || printf '%s\n' "$line"; } ;;
            esac
        done
    }
    p=$(grep -cE '^ *[0-9]+/[0-9]+ Test.* Passed ' "$log")
    s=$(grep -cE '^ *[0-9]+/[0-9]+ Test.*\*\*\*Skipped' "$log")
    all=$(grep -cE '^ *[0-9]+/[0-9]+ Test' "$log")
    inside=$(skipped_inside "build/$preset/Testing/Temporary/LastTest.log")
    [ -z "$inside" ] || echo "$inside" | sed "s/^/         $preset: skipped inside /"
    passed=$((passed + p))
    skipped=$((skipped + s + $(echo "$inside" | grep -c .)))
    failed=$((failed + all - p - s))
    [ "$all" -eq $((p + s)) ] || names="$names
$(sed -nE '/ Passed |\*\*\*Skipped/!s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+).*/         '"$preset"': \1/p' "$log")"
    [ "$all" -gt 0 ] || { failed=$((failed + 1)); names="$names
         $preset"; echo "FAILED   $preset: no test ran"; tail -n 20 "$log"; }
}

finish() {   # failures once more by name: they may lie thousands of lines above
    [ -z "$names" ] || echo "FAILED:$names"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

one "the law of rooms" python3 scripts/check_law.py
one "the picture of rooms" python3 scripts/draw_rooms.py --check
one "docs" python3 scripts/check_docs.py

one "scripts parse" sh -c 'for f in scripts/*.sh .ci/run; do sh -n "$f" || exit 1; done; python3 -m compileall -q scripts python tools'
before=$failed
one "build release" build release
if [ "$what" = quick ]; then
    [ "$failed" -gt "$before" ] || suite release --label-exclude slow
    finish
fi

# The sanitized build goes on beside the tests of the release build, behind them: what they leave of the cores.
( nice -n 10 sh -c "cmake --preset sanitize && cmake --build --preset sanitize --parallel $jobs"; echo $? > "$scratch/sanitize.code" ) > "$scratch/sanitize.log" 2>&1 &
building=$!
trap 'kill $building 2>/dev/null; exit 130' INT TERM
if [ "$failed" -eq "$before" ]; then
    one "headers from C++" sh -c 'for h in include/gemmsmith/*.h; do echo "#include <gemmsmith/${h##*/}>" | c++ -std=c++11 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ - || exit 1; done'
    suite release
fi
wait "$building"
before=$failed
one "build sanitize" sh -c "cat '$scratch/sanitize.log'; exit \$(cat '$scratch/sanitize.code')"
[ "$failed" -gt "$before" ] || suite sanitize

# Threads of one process that meet, in a build with the sanitizer of these.
before=$failed
one "build threads" build threads --target threads
[ "$failed" -gt "$before" ] || suite threads --label-regex threads

# The fuzzers with libFuzzer, as `make fuzz` builds them but not optimized, a minute of both at once.
fuzz=build/fuzz-check
mkdir -p "$fuzz"
fuzzers() {
    cmake --preset fuzz -B "$fuzz" -DGS_FUZZ_LEVEL=-O0 && cmake --build "$fuzz" --parallel "$jobs" --target fuzz_parsers fuzz_parsers_libfuzzer fuzz_emu_libfuzzer &&
        FUZZ_SECONDS=${FUZZ_SECONDS:-60} sh scripts/fuzz.sh "$fuzz"
}
if echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return data && size > 9; }' |
    clang -fsanitize=fuzzer -x c - -o "$fuzz/probe" 2>/dev/null; then
    one "fuzzers" fuzzers
else
    skipped=$((skipped + 1))
    echo "skipped  fuzzers: there is no clang with libFuzzer"
fi
finish
