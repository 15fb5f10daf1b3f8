#!/bin/sh
# SPDX-License-Identifier: MIT
# whole.sh PROGRAM USER PROBLEM...: a user's program is recorded; what it multiplies is merged, tuned and packed; then all of it is served from the pack alone, where there is no compiler, no
# cache, no home and no writable folder. On the emulated device. 77: no NVRTC here.
set -eu
program=$1 user=$2
shift 2
folder=$(mktemp -d "${TMPDIR:-/tmp}/gemmsmith-recorded.XXXXXX")
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
fail() { echo "whole.sh: $*" >&2; exit 1; }
cd "$folder"
mkdir home
HOME=$folder/home GEMMSMITH_CACHE=$folder/cache GEMMSMITH_LIBCUDA=/nonexistent
export HOME GEMMSMITH_CACHE GEMMSMITH_LIBCUDA

# two processes, one of them twice through the list
"$program" record --out run -- sh -c '"$0" emu:h200 3 "$@" && "$0" emu:h200 2 "$1"' "$user" "$@" > said 2>&1 || {
    cat said >&2
    grep -q NVRTC said && exit 77
    exit 1
}
grep -q "^run: $# problems*, $((3 * $# + 2)) calls, 2 files\$" said || fail "not recorded: $(cat said)"
"$program" record --merge run --out problems.txt 2> said
grep -q "^5	gs_gemm	$1\$" problems.txt || fail "counts: $(cat problems.txt)"
[ "$(wc -l < problems.txt)" -eq $(($# + 1)) ] || fail "problems: $(cat problems.txt)"

"$program" tune problems.txt --device emu:h200 --store store.db --tuned some.tuned --candidates 1 --budget 100s > tuned.out 2> said || fail "tune: $(cat said)"
[ "$(grep -c '^[a-z0-9]*:' some.tuned)" -eq $# ] || fail "rows: $(cat some.tuned)"
GEMMSMITH_TUNED=$folder/some.tuned "$program" pack run --device emu:h200 --out some.pack 2> said || fail "pack: $(cat said)"
grep -q "$# problems, .* 0 without a row of their own\$" said || fail "pack: $(cat said)"

rm -rf cache home store.db some.tuned
chmod a-w .
served=
for try in 1 2 3 4 5; do   # the first may wait for pages of the program
    served=$(env -i PATH="$PATH" HOME=/nonexistent GEMMSMITH_PACK="$folder/some.pack" GEMMSMITH_COMPILE=off GEMMSMITH_NVRTC=/nonexistent GEMMSMITH_LIBCUDA=/nonexistent \
        LSAN_OPTIONS="${LSAN_OPTIONS:-}" "$user" emu:h200 1 "$@") || fail "the program failed"
    [ "$(echo "$served" | grep -c 'pack some.pack: ')" -eq $# ] || fail "not served from the pack: $served"
    first=$(echo "$served" | sed -n '1s/.*  \([0-9]*\) us .*/\1/p')
    [ "$first" -ge 1000 ] || break   # most of it is the emulated device's, which reads PTX
done
echo "$served"
echo "the first plan took $first us of a processor"
[ "$first" -lt "${SLOW:-20000}" ] || fail "something was compiled"
