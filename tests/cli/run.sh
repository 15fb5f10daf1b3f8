#!/bin/sh
# SPDX-License-Identifier: MIT
# Golden tests of the command line: run.sh PROGRAM [CASE...]
#
# Every cases/NAME.sh runs in a scratch folder that is also its home, with PROGRAM in the path as `gemmsmith` and no GPU.
# Its standard output, standard error and exit code must be those of NAME.out, NAME.err and NAME.exit (absent: nothing, 0).
# NAME.out.glob and NAME.err.glob are patterns: '*' stands for any characters of a line, a line '...' for any lines.
# The list of all families stands as ALL,FAMILIES or ALL FAMILIES there, so that a new one changes no case.
# Exit code 77: skipped, and where nothing fails, run.sh ends with it too. $GEMMSMITH_FAKE_WORKER: a program to be used as the
# worker by the cases that need one.
# UPDATE=1 rewrites what differs, except patterns. JOBS=N: so many cases at a time (default: cores), but one with UPDATE=1.
set -u

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: run.sh PROGRAM [CASE...]" >&2; exit 2; }
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
[ -x "$program" ] || { echo "run.sh: $program is no program" >&2; exit 2; }
[ $# -gt 0 ] || set -- $(cd "$here/cases" && ls ./*.sh | sed 's,^\./,,; s,\.sh$,,')

top=$(mktemp -d "${TMPDIR:-/tmp}/gemmsmith-cli.XXXXXX") || exit 2
export GEMMSMITH_DATA="${GEMMSMITH_DATA:-$top/no_data}"   # no tables, no weights
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM

total() {
    echo "$passed passed, $failed failed$([ $skipped -eq 0 ] || echo ", $skipped skipped")"
    [ $failed -eq 0 ] || exit 1
    [ $skipped -eq 0 ] || exit 77
    exit 0
}

# Several cases: each in a run of its own, whose output is shown when it is complete.
jobs=${JOBS:-$(nproc)}
if [ $# -gt 1 ] && [ "$jobs" -gt 1 ] && [ "${UPDATE:-0}" != 1 ]; then
    printf '%s\n' "$@" | JOBS=1 xargs -P "$jobs" -I {} sh -c '
        sh "$0" "$1" "$2" > "$3/$2.said" 2>&1
        sed "\$d" "$3/$2.said"' "$here/run.sh" "$program" {} "$top" | tee "$top/said"
    passed=$(grep -c "^ok " "$top/said")
    skipped=$(grep -c '^skip ' "$top/said")
    failed=$(($# - passed - skipped))   # also one whose run was killed
    total
fi
mkdir -p "$top/bin" "$top/share/gemmsmith"   # a prefix without tables and weights, whatever is installed on this machine
ln "$program" "$top/bin/gemmsmith" 2>/dev/null || cp "$program" "$top/bin/gemmsmith"
for name in $(env | sed -n 's/^\(GEMMSMITH_[A-Z_]*\)=.*/\1/p'); do
    [ "$name" = GEMMSMITH_FAKE_WORKER ] || unset "$name"
done
unset FAKE_WORKER NO_COLOR CUDA_VISIBLE_DEVICES
PATH=$top/bin:$PATH
LC_ALL=C
TZ=UTC
CASES=$here/cases
GEMMSMITH_LIBCUDA=/nonexistent/libcuda.so.1
export PATH LC_ALL TZ CASES GEMMSMITH_LIBCUDA
families=$(sed -n 's/^GS_FAMILY([A-Z0-9]*, \([a-z0-9]*\))$/\1/p' "$here/../../src/schedule/families.def")
families=$(echo $families)

# neutral RAW: without what differs from run to run, and without the families' names
neutral() { sed "s,$scratch,SCRATCH,g; s/$(echo $families | tr ' ' ,)/ALL,FAMILIES/g; s/$families/ALL FAMILIES/g" "$1"; }

# matches PATTERNS FILE
matches() {
    awk '
        NR == FNR { pattern[++patterns] = $0; next }
        { line[++lines] = $0 }
        function glob(p, text,    star, i) {
            star = index(p, "*")
            if (!star) return p == text
            if (substr(p, 1, star - 1) != substr(text, 1, star - 1)) return 0
            p = substr(p, star + 1)
            for (i = star; i <= length(text) + 1; i++) if (glob(p, substr(text, i))) return 1
            return 0
        }
        function fits(p, l,    to) {
            if (p > patterns) return l > lines
            if (pattern[p] == "...") {
                for (to = l; to <= lines + 1; to++) if (fits(p + 1, to)) return 1
                return 0
            }
            return l <= lines && glob(pattern[p], line[l]) && fits(p + 1, l + 1)
        }
        END { exit !fits(1, 1) }' "$1" "$2"
}

# same EXPECTED ACTUAL: EXPECTED may be absent, or EXPECTED.glob be there instead
same() {
    if [ -f "$1.glob" ]; then
        matches "$1.glob" "$2"
    elif [ -f "$1" ]; then
        cmp -s "$1" "$2"
    else
        [ ! -s "$2" ]
    fi
}

update() {
    [ -f "$1.glob" ] && return
    if [ -s "$2" ]; then cp "$2" "$1"; else rm -f "$1"; fi
}

passed=0 failed=0 skipped=0
for name in "$@"; do
    scratch=$top/$name
    mkdir "$scratch"
    (
        cd "$scratch" || exit 2
        HOME=$scratch XDG_CACHE_HOME=$scratch/cache XDG_DATA_HOME=$scratch/data TMPDIR=$scratch
        export HOME XDG_CACHE_HOME XDG_DATA_HOME TMPDIR
        exec sh "$CASES/$name.sh"
    ) >"$top/out.raw" 2>"$top/err.raw" </dev/null
    code=$?
    neutral "$top/out.raw" >"$top/out"
    neutral "$top/err.raw" >"$top/err"
    if [ $code -eq 77 ]; then
        echo "skip $name: $(tail -n 1 "$top/out")"
        skipped=$((skipped + 1))
        continue
    fi
    want=0
    [ -f "$CASES/$name.exit" ] && want=$(cat "$CASES/$name.exit")
    if [ "$code" = "$want" ] && same "$CASES/$name.out" "$top/out" && same "$CASES/$name.err" "$top/err"; then
        echo "ok $name"
        passed=$((passed + 1))
        continue
    fi
    if [ "${UPDATE:-0}" = 1 ]; then
        update "$CASES/$name.out" "$top/out"
        update "$CASES/$name.err" "$top/err"
        if [ $code -eq 0 ]; then rm -f "$CASES/$name.exit"; else echo $code >"$CASES/$name.exit"; fi
        echo "updated $name"
    fi
    if ! { same "$CASES/$name.out" "$top/out" && same "$CASES/$name.err" "$top/err"; } || [ "${UPDATE:-0}" != 1 ]; then
        echo "not ok $name (exit code $code, expected $want)"
        for part in out err; do
            expected=$CASES/$name.$part
            [ -f "$expected.glob" ] && expected=$expected.glob
            [ -f "$expected" ] || expected=/dev/null
            same "$CASES/$name.$part" "$top/$part" || diff -u "$expected" "$top/$part" | sed 's/^/    /'
        done
        failed=$((failed + 1))
    fi
done
total
