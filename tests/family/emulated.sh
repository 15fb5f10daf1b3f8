#!/bin/sh
# SPDX-License-Identifier: MIT
# Random problems of one family through the verification on the emulated device, checker on.
# Usage: emulated.sh PROGRAM FAMILY PROBLEMS LEAST SEED: at least LEAST of the problems must be ones that the family takes, and pass. The seed is one
# of those, of many, whose problems and schedules have the most pairs of features.
# The edge problems of part 5 belong to the types and the layout of the problem, not to its sizes: each family has every pair of input type and
# layout among the first third of its problems, and only these go through part 5. It compiles three more kernels for each.
program=$1 family=$2 problems=$3 least=$4 seed=$5
home=$(mktemp -d) || exit 1
trap 'rm -rf "$home"' EXIT
export HOME="$home" XDG_CACHE_HOME="$home/cache" XDG_DATA_HOME="$home/data"
"$program" doctor --device emu:h200 | grep -q '^ok *NVRTC' || { echo "skipped: no NVRTC"; exit 77; }

passes() { # passes PROBLEMS LEAST PARTS
    out=$("$program" verify --device emu:h200 --families "$family" --random "$1" --seed "$seed" --parts "$3")
    code=$?
    printf '%s\n' "$out" | grep -v '^pass'
    passed=$(printf '%s\n' "$out" | sed -n 's/^\([0-9]*\) passed, 0 failed$/\1/p')
    [ "$code" = 0 ] && [ "${passed:-0}" -ge "$2" ]
}
types() { # the pairs of input type and way of storing B that passed
    printf '%s\n' "$out" | sed -n 's/^pass  *\([a-z0-9]*\):[0-9x]*:\([nt]\)[nt].*/\1 \2/p' | sort | uniq | wc -l
}
ways() { # the ways of storing A that passed
    printf '%s\n' "$out" | sed -n 's/^pass  *[a-z0-9]*:[0-9x]*:[nt]\([nt]\).*/\1/p' | sort | uniq | wc -l
}
wanted=1
case $family in simple | mma | ws | splitk | tiny) wanted=2 ;; esac   # nt and tt, too

edges=$(((problems + 2) / 3))
passes "$edges" 1 edges || exit 1
[ "$problems" -lt 10 ] || { [ "$(types)" = 4 ] && [ "$(ways)" = $wanted ]; } || { echo "not every type and layout is among the $edges edge problems"; exit 1; }
passes "$problems" "$least" exact,cancellation,index,normal,memory,repeat || exit 1

# gates whose B has its columns in turn in a packed copy: both orders of B, both ways of storing it, both operands of wgmma, rows of every alignment
case $family in
ws) schedules='ws/128x64x64/s3/c1x1/coop/g1/pack ws/64x128x64/s3/c1x1/pp/g1/pack ws/32x128x64/s3/c1x1/coop/g1/pack' ;;
splitk) schedules='splitk/64x64x64/s3/ab/c1x1/k1/any/pack splitk/64x64x64/s3/ba/c1x1/k1/any/pack' ;;
*) exit 0 ;;
esac
for schedule in $schedules; do
    for problem in bf16:61x56x134:nn:ep=silu+gate f16:40x104x129:nt:beta=1:ep=bias+gelu+gate_i+residual f16:97x40x129:tn:d=f32:ep=relu+gate f16:50x48x136:tt:ldb=145:ep=relu+gate_i; do
        out=$("$program" verify --device emu:h200 "$problem" --schedule "$schedule" --parts exact,index,normal,memory --seed 3)
        case $out in pass*) ;; *) printf '%s\n' "$out"; exit 1 ;; esac
    done
done
