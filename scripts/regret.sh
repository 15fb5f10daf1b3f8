#!/bin/sh
# SPDX-License-Identifier: MIT
# What the policies find with so many measured schedules, where everything has been measured: trains weights without the held-out sizes, replays every
# policy on the truth, five seeds each (of the weights, too), and prints the table.
#
#     regret.sh BUILD TIMES.csv TRUTH.csv OUT [SEEDS]
#
# TIMES: rows of `gemmsmith train --rows`; TRUTH: rows of tools/pick_pairs truth, of sizes that `train --held_out 10` keeps from training. OUT gets weights.SEED, what
# training said (held_out.SEED.txt), rows of tools/replay (POLICY.SEED.csv), curves.csv for `gemmsmith db curves`, and table.md. Needs no GPU; minutes per seed.
set -eu
[ $# -ge 4 ] || { sed -n '/^#     regret/p' "$0" | sed 's/^# *//' >&2; exit 2; }
build=$1 times=$2 truth=$3 out=$4 seeds=${5:-"1 2 3 4 5"}
mkdir -p "$out"
for seed in $seeds; do
    [ -e "$out/weights.$seed" ] ||
        "$build/gemmsmith" train "$out/weights.$seed" "$times" --epochs 10 --problems 1200 --held_out 10 --seed "$seed" >"$out/held_out.$seed.txt"
    for policy in learned plan evolve random; do
        GEMMSMITH_WEIGHTS=$out/weights.$seed "$build/tools/replay" $policy "$seed" "$truth" 24 >"$out/$policy.$seed.csv"
    done
done
"$build/tools/replay" enumerate 1 "$truth" 24 >"$out/enumerate.1.csv"
python3 "$(dirname "$0")/report_regret.py" "$out"/*.[0-9].csv --curves "$out/curves.csv" >"$out/table.md"
cat "$out/table.md"
