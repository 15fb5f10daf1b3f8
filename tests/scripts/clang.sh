#!/bin/sh
# SPDX-License-Identifier: MIT
# The programs of tools/ are C to clang too, with the project's warnings. Usage: clang.sh SOURCE
set -u
cd "$1" || exit 1
command -v clang > /dev/null || { echo "skipped: there is no clang"; exit 77; }
failed=0
for file in tools/*.c; do
    clang -std=c17 -D_GNU_SOURCE -Iinclude -Isrc -Ikernels -Wall -Wextra -Werror -Wno-unknown-warning-option -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
        -Wpointer-arith -Wwrite-strings -Wno-missing-field-initializers -fsyntax-only "$file" || failed=1
done
exit $failed
