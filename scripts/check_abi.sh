#!/bin/sh
# SPDX-License-Identifier: MIT
# The library exports exactly what cmake/gemmsmith.map names, under its node, needs nothing but the C library, and contains no
# emulated device, no PTX parser, no inspection of user kernels and no training; and what callers are
# compiled against (signatures, structs, enums of the public headers) fits programs of before: abidiff against cmake/gemmsmith.abi.
# Sizes and places of fields are tested too where abidiff is missing (tests/plan/abi.c). After a change that keeps compatibility, such as
# a new call, write the file anew: check_abi.sh --update. Usage: check_abi.sh [LIBRARY]; default: that of the release build
set -eu
cd "$(dirname "$0")/.."
symbols() { sed -n 's/^ *\(gs_[a-z_]*\);$/\1/p' cmake/gemmsmith.map | sort; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# a library without code whose variables have the types of the calls: the same whatever the real one was optimised to
describe() {
    {
        echo '#include <gemmsmith/gemmsmith.h>'
        symbols | sed 's/.*/extern __typeof__(\&&) abi_&; __typeof__(\&&) abi_&;/'
    } >"$work/abi.c"
    (cd "$work" && ${CC:-cc} -std=gnu17 -g -fdebug-prefix-map="$work=." -fdebug-prefix-map="$OLDPWD=." -I"$OLDPWD/include" -shared -fPIC -o abi.so abi.c)
}

if [ "${1:-}" = --update ]; then
    describe
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file cmake/gemmsmith.abi "$work/abi.so"
    exit
fi
library=${1:-build/release/libgemmsmith.so}
[ -e "$library" ] || { echo "there is no $library: build it (make build), or name another one"; exit 1; }
found=$(nm -D --defined-only "$library" | awk '$2 == "T" {sub(/@.*/, "", $3); print $3}' | sort)
if [ "$(symbols)" != "$found" ]; then
    echo "exported symbols differ from cmake/gemmsmith.map:"
    { symbols; echo "$found"; } | sort | uniq -u
    exit 1
fi
if nm -D --with-symbol-versions --defined-only "$library" | awk '$2 == "T" && $3 !~ /@@GEMMSMITH_[0-9.]+$/ {print; bad = 1} END {exit !bad}'; then
    echo "each exported symbol needs the node of its release"
    exit 1
fi
if readelf -d "$library" | grep NEEDED | grep -vE '\[(libc|libm|libpthread|libdl|ld-linux-x86-64|ld-linux-aarch64)\.so'; then
    echo "the library must not need more than the C library"
    exit 1
fi
if readelf -S "$library" | grep -q '\.symtab'; then
    if nm "$library" | grep -E ' gs_(emu|ptx|inspect|learner|train)(_|$)'; then
        echo "the library must not contain what the line above names"
        exit 1
    fi
    if ! nm "$library" | grep -q ' gs_emulator_find$'; then   # a name that must be there, or nothing was looked at
        echo "the symbols of the library cannot be read"
        exit 1
    fi
else
    echo "the library is stripped: what it contains cannot be checked"
    exit 1
fi
if command -v abidiff >/dev/null; then
    describe
    if ! abidiff --no-added-syms cmake/gemmsmith.abi "$work/abi.so"; then
        echo "the public headers break programs that were compiled before; if not, run scripts/check_abi.sh --update"
        exit 1
    fi
else
    echo "skipped: abidiff is missing (scripts/setup.sh tests)"
    exit 77
fi
