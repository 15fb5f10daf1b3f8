#!/bin/sh
# SPDX-License-Identifier: MIT
# whole.sh PROGRAM USER PROBLEM...: the commands of docs/howto/record.md as they stand there, with a user's program on the emulated device: it is recorded; what it multiplies is merged,
# tuned and packed; then all of it is served from the pack alone, where there is no compiler, no cache, no home and no writable folder. 77: no NVRTC here.
set -eu
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/howto/record.md
program=$1 user=$2
shift 2
folder=$(mktemp -d "${TMPDIR:-/tmp}/gemmsmith-recorded.XXXXXX")
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
fail() { echo "whole.sh: $*" >&2; exit 1; }
cd "$folder"
mkdir home bin
ln -s "$program" bin/gemmsmith
PATH=$folder/bin:$PATH HOME=$folder/home GEMMSMITH_CACHE=${GS_TEST_CACHE:-$folder/cache} GEMMSMITH_LIBCUDA=/nonexistent GEMMSMITH_BLAS=off
export PATH HOME GEMMSMITH_CACHE GEMMSMITH_LIBCUDA GEMMSMITH_BLAS
unset GEMMSMITH_TUNED GEMMSMITH_STORE GEMMSMITH_PACK GEMMSMITH_RECORD GEMMSMITH_DEVICE XDG_DATA_HOME 2> /dev/null || :

sed -n '/^    gemmsmith record --out run/,/^$/s/^    //p' "$page" |
    sed "s|python3 train.py\( --steps 20\)*|$user emu:h200 3 $*|; s/--time 2h/--device emu:h200 --candidates 1 --time 100s/; s/--device h200/--device emu:h200/" > commands
[ "$(grep -c . commands)" -eq 5 ] || fail "the page has other commands: $(cat commands)"
say() { sed -n "$1p" commands; }
step() { sh -c "$(say "$1")" > "out.$1" 2> "said.$1" || { echo "$(say "$1")" >&2; cat "out.$1" "said.$1" >&2; if grep -q NVRTC "said.$1"; then exit 77; else exit 1; fi; }; }

step 1
grep -q "^run: $# problems*, $((3 * $#)) calls, 1 file\$" said.1 || fail "not recorded: $(cat said.1)"
step 2
grep -q "^3	gs_gemm	$1\$" problems.txt || fail "counts: $(cat problems.txt)"
[ "$(wc -l < problems.txt)" -eq $(($# + 1)) ] || fail "problems: $(cat problems.txt)"
step 3
grep -q "^a run as recorded spends [0-9.]* [mu]*s in $# problem.* predicted\$" out.3 || fail "what is saved: $(cat out.3)"
step 4
grep -q "$# problems*, .* 0 without a row of their own\$" said.4 || fail "pack: $(cat said.4)"

rm -rf cache home bin
chmod a-w .
find . | sort > "${TMPDIR:-/tmp}/gemmsmith-before.$$"
trap 'chmod -R u+w "$folder"; rm -rf "$folder" "${TMPDIR:-/tmp}/gemmsmith-before.$$"' EXIT
served=
for try in 1 2 3 4 5; do   # the first may wait for pages of the program
    served=$(env -i PATH="$PATH" HOME="$folder/none" GEMMSMITH_COMPILE=off GEMMSMITH_NVRTC=/nonexistent GEMMSMITH_LIBCUDA=/nonexistent LSAN_OPTIONS="${LSAN_OPTIONS:-}" \
        sh -c "$(say 5)") || fail "the program failed"
    [ "$(echo "$served" | grep -c 'pack model.pack: ')" -eq $# ] || fail "not served from the pack: $served"
    first=$(echo "$served" | sed -n '1s/.*  \([0-9]*\) us .*/\1/p')
    [ "$first" -ge 1000 ] || break   # most of it is the emulated device's, which reads PTX
done
find . | sort | cmp -s - "${TMPDIR:-/tmp}/gemmsmith-before.$$" || fail "something was written"
echo "$served"
echo "the first plan took $first us of a processor"
[ "$first" -lt "${SLOW:-20000}" ] || fail "something was compiled"
