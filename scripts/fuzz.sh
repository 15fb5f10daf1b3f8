#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the two libFuzzer programs of a build folder side by side: fuzz.sh FOLDER; FUZZ_SECONDS each (default 60).
# FUZZ_PARSER=N: the parser that gets every input, by its number in tests/fuzz/parsers.c; without it an input's first byte says which.
# The parsers begin with the seeds that the test without libFuzzer has; what is found is kept in FOLDER/corpus for the next run.
# Exit code 0: nothing was found; else the input at fault is a file in FOLDER, which the program takes as its argument.
set -u
folder=${1:?usage: fuzz.sh FOLDER}
seconds=${FUZZ_SECONDS:-60}
programs=$folder/tests/fuzz
mkdir -p "$folder/corpus/parsers" "$folder/corpus/emu"
"$programs/fuzz_parsers" --seeds "$folder/corpus/parsers" || exit 1
"$programs/fuzz_emu_libfuzzer" -max_total_time="$seconds" -max_len=16384 -timeout=120 -malloc_limit_mb=256 -print_final_stats=1 -artifact_prefix="$folder/" \
    "$folder/corpus/emu" > "$folder/emu.log" 2>&1 &
emu=$!
trap 'kill $emu 2>/dev/null; exit 130' INT TERM
"$programs/fuzz_parsers_libfuzzer" -max_total_time="$seconds" -timeout=60 -print_final_stats=1 -artifact_prefix="$folder/" "$folder/corpus/parsers" > "$folder/parsers.log" 2>&1
parsers=$?
wait $emu
emu=$?
for name in parsers emu; do
    eval "code=\$$name"
    if [ "$code" -eq 0 ]; then
        echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log") inputs, none at fault"
    else
        tail -n 60 "$folder/$name.log"
        echo "$name: an input is at fault (exit code $code)"
    fi
done
[ $parsers -eq 0 ] && [ $emu -eq 0 ]
