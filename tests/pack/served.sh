#!/bin/sh
# SPDX-License-Identifier: MIT
# served.sh PROGRAM FAKE_CUDA: all problems of a pack are served where there is no compiler, no cache, no home and no writable folder. 77: no NVRTC here.
set -eu
program=$1 fake=$2
folder=$(mktemp -d "${TMPDIR:-/tmp}/gemmsmith-pack.XXXXXX")
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
HOME=$folder GEMMSMITH_CACHE=$folder/cache "$program" pack --device h200 f16:64x64x64:tn bf16:16x256x256:tn:ep=bias+gelu f16:16x16x16:nn:b=64 --out "$folder/some.pack" 2> "$folder/said" || {
    cat "$folder/said" >&2
    grep -q NVRTC "$folder/said" && exit 77
    exit 1
}
# without tables it says so; with them it does not
grep -q 'no tuned table has rows of nvidia-h200.*GEMMSMITH_TUNED names a table' "$folder/said" || { cat "$folder/said" >&2; exit 1; }
HOME=$folder GEMMSMITH_CACHE=$folder/cache GEMMSMITH_TUNED=$(dirname "$0")/../../tuned "$program" pack --device h200 f16:64x64x64:tn f16:72x64x64:tn --out "$folder/tuned.pack" 2> "$folder/said"
grep -q '1 without a row' "$folder/said" && ! grep -q 'no tuned table' "$folder/said" || { cat "$folder/said" >&2; exit 1; }
rm -rf "$folder/cache"
chmod a-w "$folder"
cd "$folder"
nowhere="env -i PATH=$PATH GEMMSMITH_LIBCUDA=$fake GEMMSMITH_NVRTC=/nonexistent LSAN_OPTIONS=${LSAN_OPTIONS:-}"
$nowhere FAKE_CUDA_NAME="NVIDIA H200" "$program" pack --verify some.pack > /dev/null 2> /dev/null
$nowhere FAKE_CUDA_NAME="NVIDIA H200" "$program" pack --verify some.pack | grep -q '^3 of 3 problems served, 3 of 3 kernels sound$'
for try in 1 2 3 4 5; do   # a busy machine may be slow once
    first=$($nowhere FAKE_CUDA_NAME="NVIDIA H200" "$program" pack --verify some.pack 2>&1 | sed -n 's/^the first plan took \([0-9]*\) us.*/\1/p')
    [ "$first" -ge 1000 ] || break
done
[ "$first" -lt "${SLOW:-1000}" ] || { echo "the first plan took $first us" >&2; exit 1; }
if $nowhere FAKE_CUDA_CC=80 "$program" pack --verify some.pack 2> /dev/null; then
    echo "a pack of another architecture was taken" >&2
    exit 1
fi
