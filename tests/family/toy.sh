#!/bin/sh
# SPDX-License-Identifier: MIT
# Adds the family of tests/family/toy by the steps of CONTRIBUTING.md, outside the tree, and runs it on the emulated device; then leaves
# out one step after the other and sees that it is noticed.
# Usage: toy.sh SOURCE BUILD CC LIBRARIES...: what the family's line changes is compiled again, the rest is BUILD's gemmsmith_all.
source=$1 build=$2 cc=$3
shift 3
toy=$source/tests/family/toy
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
"$build/gemmsmith" doctor --device emu:h200 | grep -q '^ok *NVRTC' || { echo "skipped: no NVRTC"; exit 77; }
export HOME="$top" XDG_CACHE_HOME="$top/cache"

# the rooms that know how many families there are; of those that a test of a kernel needs
rooms=
for room in base problem schedule learn kernel family ptx emu device cublas inspect plan baseline verify; do
    ! grep -rqE 'GS_FAMILIES|gs_families' "$source/src/$room" || rooms="$rooms $room"
done

# the tree with the family: its files, and its line at the end of families.def
mkdir -p "$top/src/schedule" "$top/kernels" "$top/objects"
cat "$source/src/schedule/families.def" "$toy/src/schedule/families.def" > "$top/src/schedule/families.def"
cp -r "$source"/kernels/. "$toy"/kernels/. "$top/kernels"
"$build/tools/gs_embed" "$top/embedded.c" gs_embedded_files "$top/kernels/" $(find "$top/kernels" -type f | LC_ALL=C sort) || exit 1

compile() {   # FILE...: one object each; two at a time
    for file in "$@"; do echo "$file"; done | GS_CC=$cc GS_TOP=$top xargs -P 2 -n 4 sh -c '
        for file; do
            $GS_CC -std=c17 -O0 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-missing-field-initializers -Wno-format-truncation -I"$GS_TOP/src" '"-I'$source/src' -I'$source/include' \
                -I'$source/kernels' -I'$source/tests' -I'$source/tests/support' -DGS_SOURCE_DIR='\"$source\"'"' -c "$file" \
                -o "$GS_TOP/objects/$(echo "${file#/}" | tr / _).o" || exit 255
        done' compile
}
files=$top/embedded.c
for room in $rooms; do files="$files $(find "$source/src/$room" -name '*.c')"; done
compile $files "$toy/src/family/toy.c" || exit 1
common=$(ls "$top"/objects/*.o)
compile "$toy/tests/family/toy.c" "$source/tests/family/families.c" || exit 1
link() { "$cc" -o "$top/$1" $common "$top"/objects/*tests_family_"$1".c.o "$build/libgemmsmith_all.a" $libraries -lcmocka; }
libraries=$*
link families && link toy || exit 1

"$top/toy" || exit 1
GS_EXTRA_FAMILIES="$toy" "$top/families" || exit 1

# each file left out
for step in $(cd "$toy" && find src/family kernels tests docs share -type f); do
    rm -rf "$top/less"
    cp -r "$toy" "$top/less"
    rm "$top/less/$step"
    if GS_EXTRA_FAMILIES="$top/less" "$top/families" > "$top/out" 2>&1; then
        echo "nobody notices that $step is missing"
        exit 1
    fi
    grep -q "family toy has no $step" "$top/out" || { cat "$top/out"; exit 1; }
done
# a member left out of the struct
sed '/\.work *= /d; s/^static gs_work work_of/gs_work work_of(const gs_schedule *, const gs_problem *, const gs_profile *);\ngs_work work_of/' "$toy/src/family/toy.c" > "$top/toy.c"
mkdir "$top/kept" && mv "$top"/objects/*tests_family_toy_src_family_toy.c.o "$top/kept"
compile "$top/toy.c" || exit 1
common=$(ls "$top"/objects/*.o | grep -v tests_family)
link families || exit 1
if GS_EXTRA_FAMILIES="$toy" "$top/families" > "$top/out" 2>&1; then
    echo "nobody notices that work is missing"
    exit 1
fi
grep -q 'toy lacks one of check, resources, work, build' "$top/out"
