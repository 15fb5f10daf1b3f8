#!/bin/sh
# SPDX-License-Identifier: MIT
# Code of the kernels that few schedules have, each with a small problem that reaches it, through the verification on the emulated device. Random problems
# (emulated.sh) find it too, some of the time and after minutes. Usage: chosen.sh PROGRAM
program=$1
home=$(mktemp -d) || exit 1
trap 'rm -rf "$home"' EXIT
export HOME="$home" XDG_CACHE_HOME="$home/cache" XDG_DATA_HOME="$home/data"
"$program" doctor --device emu:h200 | grep -q '^ok *NVRTC' || { echo "skipped: no NVRTC"; exit 77; }
bad=0
while read -r schedule problem; do
    case $schedule in '#' | '') continue ;; esac
    out=$("$program" verify --device emu:h200 "$problem" --schedule "$schedule" --parts exact --seed 1)
    case $out in pass*) ;; *) printf '%s\n' "$out"; bad=1 ;; esac
done <<'END'
# rows of A and of B that start anywhere, brought by threads and shifted, and a bias along them
ws/64x80x64/s3/c1x1/coop/g1/cpasync     f16:40x72x130:tn:lda=131:ldb=133:ep=bias
# the same by tensor copies of eighths of the rows, which are shifted on the way; rows that do not fill groups of eight
ws/64x112x64/s4/c1x1/coopf/g8/shift     f16:40x104x301:tn
# tiles of matrices one behind the other, two of each
ws/128x64x64/s3/c1x1/coop/g1            f16:136x72x64:tn:b=3
# more warps than units of tiles, whose sums are exchanged; rows of D that start anywhere
slicek/32x64/w1x1x8/d1/k1/any/f128      f16:64x66x256:tn
# sums of warps, and of the blocks of a cluster
slicek/16x32/w1x1x2/d1/k2/any/f128      f16:16x32x128:tn
END
exit $bad
