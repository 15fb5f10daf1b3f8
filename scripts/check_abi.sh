#!/bin/sh
# SPDX-License-Identifier: MIT
# The library exports exactly what cmake/gemmsmith.map names, needs nothing but the C library, and contains
# no emulated device, no PTX parser, no inspection of user kernels and no training. Usage: check_abi.sh LIBRARY
set -eu
cd "$(dirname "$0")/.."
wanted=$(sed -n 's/^ *\(gs_[a-z_]*\);$/\1/p' cmake/gemmsmith.map | sort)
found=$(nm -D --defined-only "$1" | awk '$2 == "T" {sub(/@.*/, "", $3); print $3}' | sort)
if [ "$wanted" != "$found" ]; then
    echo "exported symbols differ from cmake/gemmsmith.map:"
    printf '%s\n%s\n' "$wanted" "$found" | sort | uniq -u
    exit 1
fi
if readelf -d "$1" | grep NEEDED | grep -vE '\[(libc|libm|libpthread|libdl|ld-linux-x86-64|ld-linux-aarch64)\.so'; then
    echo "the library must not need more than the C library"
    exit 1
fi
if readelf -S "$1" | grep -q '\.symtab'; then
    if nm "$1" | grep -E ' gs_(emu|ptx|inspect|learner|train)(_|$)'; then
        echo "the library must not contain what the line above names"
        exit 1
    fi
    if ! nm "$1" | grep -q ' gs_emulator_find$'; then   # a name that must be there, or nothing was looked at
        echo "the symbols of the library cannot be read"
        exit 1
    fi
else
    echo "the library is stripped: what it contains cannot be checked"
    exit 1
fi
