#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles kernels of every family with the NVRTC of every release of CUDA 12 that is taken: check_compilers.sh BUILD [VERSION...]
#
# The compilers come from PyPI (nvidia-cuda-nvrtc-cu12, 20 to 90 MB each) and are kept in build/compilers. Without a GPU: packs for an H200 and an A100 are made of a
# sample of the tuned rows of each family and of problems with epilogues, batches, groups and gradients. A kernel that does not compile, or that spills, fails.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
[ $# -gt 0 ] || set -- 12.1.105 12.2.140 12.3.107 12.4.127 12.5.82 12.6.85 12.8.93 12.9.86
program=$build/gemmsmith top=$(mktemp -d) failed=0
trap 'rm -rf "$top"' EXIT

# Three rows of each family, layout and type, and every fifth of other problems.
sample() {
    grep -v '^#' tuned/nvidia-h200.tuned | awk 'NR > 1 && $2 ~ /[/]/ && $2 !~ /^(library|cublaslt)/ {split($1, p, ":"); split($2, s, "/"); if (seen[p[1] p[3] p[4] s[1]]++ < 3) print $1}'
    cat docs/performance/epilogues/*.txt docs/performance/batches/*.txt docs/performance/moe/moe.txt docs/performance/gradients/problems.txt | awk '/^[^#]/ && n++ % 5 == 0 {print $1}'
}
sample | sort -u > "$top/problems"

for version in "$@"; do
    folder=build/compilers/$version
    if [ ! -e "$folder/done" ]; then
        mkdir -p "$folder"
        python3 -m pip download -q --disable-pip-version-check --no-deps -d "$folder" "nvidia-cuda-nvrtc-cu12==$version"
        python3 -m zipfile -e "$folder"/*.whl "$folder"
        touch "$folder/done"
    fi
    for device in h200 a100; do
        GEMMSMITH_CACHE=$top/cache-$version GEMMSMITH_TUNED=tuned GEMMSMITH_NVRTC=$folder/nvidia/cuda_nvrtc/lib/libnvrtc.so.12 \
            "$program" pack --device $device --file "$top/problems" --out "$top/$device.pack" 2> "$top/said" || { cat "$top/said"; exit 1; }
        grep 'not used' "$top/said" > "$top/refused" || true
        spilled=$("$program" pack --list "$top/$device.pack" | grep -c spill || true)
        echo "CUDA $version, $device: $(grep -o '[0-9]* problems*, .*' "$top/said"); $(wc -l < "$top/refused") did not compile, $spilled spill"
        if [ -s "$top/refused" ] || [ "$spilled" -gt 0 ]; then
            head -n 3 "$top/refused"
            failed=1
        fi
    done
done
exit $failed
