#!/bin/sh
# SPDX-License-Identifier: MIT
# What a shell proposes is what the program takes: commands, options, the values of an option. Usage: completion.sh SOURCE PROGRAM
set -eu
command -v bash >/dev/null || { echo "no bash"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
python3 "$1/scripts/make_completion.py" "$2" "$out"
cd "$out"
proposed() {   # of a line, its last word being typed
    bash -c 'source ./gemmsmith; COMP_WORDBREAKS=" :="; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gemmsmith; echo "${COMPREPLY[@]}"' bash "$@"
}
expect() { [ "$2" = "$3" ] || { echo "$1: '$3', not '$2'"; exit 1; }; }
expect commands "db doctor" "$(proposed gemmsmith d)"
expect "db's words" "seal show" "$(proposed gemmsmith db s | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//')"
expect options "--csv" "$(proposed gemmsmith eval --cs)"
expect values "nn tn" "$(proposed gemmsmith tune --layouts '')"
expect "values behind one blank" "offline server" "$(proposed gemmsmith eval --mode '')"
expect "policies" "learned llm" "$(proposed gemmsmith tune --policy l)"
expect "several values" "ws,mma ws,splitk" "$(proposed gemmsmith tune --families ws, | tr ' ' '\n' | grep -x -e ws,mma -e ws,splitk | tr '\n' ' ' | sed 's/ $//')"
expect "contenders" "plan,cublaslt-autotuning plan,cublaslt-heuristic" "$(proposed gemmsmith eval --contenders plan,cublaslt | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//')"
expect "contenders that are not usual" "own" "$(proposed gemmsmith eval --contenders ow)"
expect "devices" "emu:h200 emu:a100" "$(proposed gemmsmith gemm --device e)"
expect "devices, cut at the colon" "h200" "$(proposed gemmsmith gemm --device emu : h)"
expect "names with _" "--base-dir" "$(proposed gemmsmith eval --base_)"
expect "options of another command" "" "$(proposed gemmsmith gemm --llm)"
touch problems.txt profiles
expect "no files behind help" pack "$(proposed gemmsmith help p)"
expect "no files in place of db's words" "show seal" "$(proposed gemmsmith db s)"
expect "files behind db's words" "problems.txt profiles" "$(proposed gemmsmith db compare p)"
expect files problems.txt "$(proposed gemmsmith tune --file prob)"
for command in $("$2" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'); do
    for option in $(proposed gemmsmith "$command" --); do
        [ "$command" = help ] || "$2" help "$command" | grep -q -e "$option" || { echo "$command has no $option"; exit 1; }
    done
done
bash -n _gemmsmith
# fish's: the same words, read by fish where there is one
grep -qx "complete -c gemmsmith -n '__fish_seen_subcommand_from tune' -l layouts -x -a 'nn tn'" gemmsmith.fish || { echo "fish: values"; exit 1; }
grep -qx "complete -c gemmsmith -n '__fish_seen_subcommand_from tune' -l file -r -F" gemmsmith.fish || { echo "fish: files"; exit 1; }
grep -qx "complete -c gemmsmith -n '__fish_seen_subcommand_from db; and not __fish_seen_subcommand_from .*' -f -a '.*\<seal\>.*'" gemmsmith.fish || { echo "fish: words"; exit 1; }
if command -v fish >/dev/null; then
    expect "fish's values" "nn tn" "$(fish -c 'source gemmsmith.fish; complete -C "gemmsmith tune --layouts "' | tr '\n' ' ' | sed 's/ $//')"
fi
