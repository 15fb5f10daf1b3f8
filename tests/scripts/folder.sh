# SPDX-License-Identifier: MIT
# What the tests of scripts share, to be sourced: a folder of their own that is also the home, the folder they stand in, and expect.
# Leaves $work; a test ends with [ "$failed" = 0 ].
work=$(mktemp -d "${TMPDIR:-/tmp}/gemmsmith-report.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
unset GEMMSMITH_STORE GEMMSMITH_TUNED GEMMSMITH_DEVICE GEMMSMITH_WORKER GEMMSMITH_CACHE GEMMSMITH_EMU_SEED GEMMSMITH_EMU_CHECK
HOME=$work XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data
[ -z "${GS_TEST_CACHE:-}" ] || GEMMSMITH_CACHE=$GS_TEST_CACHE   # make check: kernels compiled once for all its tests
export HOME XDG_CACHE_HOME XDG_DATA_HOME ${GEMMSMITH_CACHE:+GEMMSMITH_CACHE}
cd "$work" || exit 2
failed=0
fail() {
    echo "not ok: $*"
    failed=1
}
expect() { [ "$2" = "$3" ] || fail "$1: expected $2, got $3"; }   # expect WHAT WANTED GOT
